#include "core/module/dump.h"

#include "base/file.h"
#include "base/text.h"
#include "core/backend.h"
#include "core/object/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KINDS_ALL \
    ((uint32_t)(RNL_DUMP_ASSEMBLY | RNL_DUMP_IR | RNL_DUMP_MACHINE))

// --- What is asked for -------------------------------------------------------

rnl_status dump_check(const rnl_dump *given, rnl_dump *out_dump)
{
    rnl_dump dump;
    rnl_status status =
        options_read(&dump, sizeof dump, given, "options.dump");
    if (status != RNL_OK)
        return status;
    if (dump.kinds & ~KINDS_ALL)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.dump.kinds",
                       "'options.dump.kinds' is 0x%x, which has bits that are "
                       "no rnl_dump_kind", dump.kinds);
    if (dump.path && !dump.path[0])
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.dump.path",
                       "'options.dump.path' is empty");
    if (!dump.path && !dump.to_stdout && !dump.write)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.dump",
                       "'options.dump' says nowhere to: set 'path', "
                       "'to_stdout' or 'write'");
    if (dump.kinds == 0)
        dump.kinds = RNL_DUMP_ASSEMBLY;
    *out_dump = dump;
    return RNL_OK;
}

rnl_status dump_refuse(const char *what, const char *why)
{
    return fail_at(RNL_ERROR_UNSUPPORTED, "options.dump.kinds",
                   "there is no %s to dump: %s", what, why);
}

// --- Collecting --------------------------------------------------------------

rnl_status dump_add(struct compiled_binary *binary, rnl_dump_kind kind,
                    const char *name, const void *text, size_t size)
{
    struct dumped *one = mem_allocate(sizeof *one + size + 1);
    if (!one)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for a dump of %zu bytes", size);
    one->kind = kind;
    snprintf(one->name, sizeof one->name, "%s", name);
    one->size = size;
    if (size > 0)
        memcpy(one->text, text, size);
    one->text[size] = '\0';
    struct dumped **end = &binary->dumped;
    while (*end)
        end = &(*end)->next;
    *end = one;
    return RNL_OK;
}

void dump_finish(struct compiled_binary *binary)
{
    while (binary->dumped) {
        struct dumped *one = binary->dumped;
        binary->dumped = one->next;
        mem_release(one, sizeof *one + one->size + 1);
    }
}

// --- Delivering --------------------------------------------------------------

static rnl_status refuse_write(const char *parameter, const char *where,
                               int error)
{
    fail_at(RNL_ERROR_IO, parameter, "%s cannot be written: %s", where,
            strerror(error));
    fail_set_native(error, strerror(error));
    return RNL_ERROR_IO;
}

// Whether the destination may get several texts.
static bool has_several(const rnl_dump *dump)
{
    return dump->kinds == RNL_DUMP_IR ||
           (dump->kinds & (dump->kinds - 1)) != 0;
}

static rnl_status write_file(const rnl_dump *dump, const struct dumped *one)
{
    struct text path = {0};
    text_add(&path, has_several(dump) ? "%s.%s" : "%s", dump->path, one->name);
    if (path.failed) {
        text_finish(&path);
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for the path of a dump");
    }
    int fd = open(path.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = fd < 0 ? errno : file_write(fd, one->text, one->size);
    if (fd >= 0 && close(fd) != 0 && error == 0)
        error = errno;
    rnl_status status =
        error ? refuse_write("options.dump.path", path.data, error) : RNL_OK;
    text_finish(&path);
    return status;
}

// A comment in the text's own language.
static const char *comment_of(const struct dumped *one)
{
    return one->kind == RNL_DUMP_IR          ? ";"
           : strcmp(one->name, "s") == 0 ? "#"
                                             : "//";
}

// After all output of the program so far. A closed pipe raises no signal
// (file_write).
static rnl_status print(const struct source *source, const struct dumped *one)
{
    struct text head = {0};
    if (has_several(&source->dump))
        text_add(&head, "%s --- %s: %s\n", comment_of(one),
                 source->options->name, one->name);
    if (head.failed) {
        text_finish(&head);
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for the head of a dump");
    }
    flockfile(stdout);
    int fd = fileno(stdout);
    int error = fflush(stdout) != 0 ? errno : 0;
    if (!error)
        error = file_write(fd, head.data, head.length);
    if (!error)
        error = file_write(fd, one->text, one->size);
    if (!error && one->size > 0 && one->text[one->size - 1] != '\n')
        error = file_write(fd, "\n", 1);
    funlockfile(stdout);
    text_finish(&head);
    return error ? refuse_write("options.dump.to_stdout", "standard output",
                                error)
                 : RNL_OK;
}

static rnl_status give(const rnl_dump *dump, const struct dumped *one)
{
    const rnl_dump_text text = {
        .struct_size = sizeof text,
        .kind = one->kind,
        .name = one->name,
        .text = one->text,
        .size = one->size,
    };
    callback_begin();
    bool goes_on = dump->write(&text, dump->user_data);
    callback_end();
    return goes_on ? RNL_OK
                   : fail_at(RNL_ERROR_IO, "options.dump.write",
                             "'options.dump.write' ended the dump");
}

rnl_status dump_deliver(const struct source *source,
                        const struct dumped *first)
{
    const rnl_dump *dump = &source->dump;
    rnl_status status = RNL_OK;
    for (const struct dumped *one = first; status == RNL_OK && one;
         one = one->next) {
        if (dump->path)
            status = write_file(dump, one);
        if (status == RNL_OK && dump->to_stdout)
            status = print(source, one);
        if (status == RNL_OK && dump->write)
            status = give(dump, one);
    }
    return status;
}
