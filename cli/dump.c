// Texts that the compiler shows, each kind to a place of its own.
#include "dump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char *place_of(const struct dump *dump, rnl_dump_kind kind)
{
    switch (kind) {
    case RNL_DUMP_IR: return dump->ir;
    case RNL_DUMP_MACHINE: return dump->machine;
    default: return dump->assembly;
    }
}

static bool is_output(const char *place)
{
    return place && strcmp(place, "-") == 0;
}

static int print(const rnl_dump_text *text)
{
    // The stages of IR are told apart; a single stage goes on to programs.
    if (text->kind == RNL_DUMP_IR)
        printf("; --- %s\n", text->name);
    fwrite(text->text, 1, text->size, stdout);
    return 0;  // main looks at standard output
}

static int write_path(const char *path, const rnl_dump_text *text)
{
    FILE *file = fopen(path, "wb");
    if (!file)
        return errno;
    int error = fwrite(text->text, 1, text->size, file) == text->size
                    ? 0 : errno;
    if (fclose(file) != 0 && !error)
        error = errno;
    return error;
}

// The path of a stage is PREFIX.finished.ll.
static int write_stage(struct dump *dump, const char *place,
                       const rnl_dump_text *text)
{
    const char *suffix = text->kind == RNL_DUMP_IR ? text->name : "";
    size_t size = strlen(place) + strlen(suffix) + 2;
    char *path = malloc(size);
    if (!path)
        return ENOMEM;
    snprintf(path, size, "%s%s%s", place, *suffix ? "." : "", suffix);
    int error = write_path(path, text);
    if (error)
        dump->failed = path;
    else
        free(path);
    return error;
}

static bool on_text(const rnl_dump_text *text, void *user_data)
{
    struct dump *dump = user_data;
    const char *place = place_of(dump, text->kind);
    dump->error = is_output(place) ? print(text)
                                   : write_stage(dump, place, text);
    return dump->error == 0;
}

const rnl_dump *dump_ask(struct dump *dump)
{
    uint32_t kinds = (dump->assembly ? RNL_DUMP_ASSEMBLY : 0) |
                     (dump->ir ? RNL_DUMP_IR : 0) |
                     (dump->machine ? RNL_DUMP_MACHINE : 0);
    dump->asked = (rnl_dump){
        .struct_size = sizeof dump->asked,
        .kinds = kinds,
        .write = on_text,
        .user_data = dump,
    };
    return kinds ? &dump->asked : NULL;
}

bool dump_prints(const struct dump *dump)
{
    return is_output(dump->assembly) || is_output(dump->ir) ||
           is_output(dump->machine);
}

int dump_finish(struct dump *dump)
{
    int code = EXIT_OK;
    if (dump->error)
        code = complain("'%s' cannot be written: %s",
                        dump->failed ? dump->failed : "a dump",
                        strerror(dump->error));
    free(dump->failed);
    dump->failed = NULL;
    return code;
}
