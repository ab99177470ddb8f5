// The files of a compilation.

#include "driver/driver.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Where the path of NAME=PATH begins. A name may have '=', too, so a path of
// the root is looked for first.
static char *path_of(char *header)
{
    char *equal = strstr(header, "=/");
    return (equal ? equal : strchr(header, '=')) + 1;
}

int write_headers(struct job *job)
{
    const struct list *headers = &job->options->headers;
    for (size_t i = 0; i < headers->count; i++) {
        char *path = path_of(headers->items[i]);
        path[-1] = 0;
        char name[4096];
        struct text text = {0};
        if (!is_inside(headers->items[i]))
            return report(CC_USAGE, "a header cannot be called %s",
                            headers->items[i]);
        if (!text_read_file(&text, path))
            return report_file("read", path);
        if (job->options->untrusted && text.data &&
            !embeds_check(headers->items[i], text.data, &job->log))
            return CC_NOT_COMPILED;
        snprintf(name, sizeof name, CC_HEADER_FOLDER "/%s", headers->items[i]);
        if (!write_file(name, text.data, text.size))
            return report_file("write", name);
        text_free(&text);
        path[-1] = '=';
    }
    return CC_OK;
}

// Whether the source may include files that runnel-cc has not read.
static bool has_folders(const struct job *job)
{
    for (size_t i = 0; i < job->flags.arguments.count; i++)
        if (strncmp(job->flags.arguments.items[i], "-I/", 3) == 0)
            return true;
    return job->flags.includes.count > 0;
}

// Collects the source and the given headers.
static void read_all(const struct job *job, struct text *seen)
{
    const struct list *headers = &job->options->headers;
    text_add_bytes(seen, job->source.data, job->source.size);
    for (size_t i = 0; i < headers->count; i++)
        text_read_file(seen, path_of(headers->items[i]));
}

// Whether a header may be included; macros may make its name of a shorter one.
static bool is_mentioned(const char *name, const char *seen)
{
    char stem[64];
    snprintf(stem, sizeof stem, "%.*s", (int)strcspn(name, "."), name);
    return strstr(seen, stem) != NULL;
}

// Whether a folder of -I is that of a CUDA toolkit, whose headers are for GPUs:
// the built-in ones of these names go before them.
static bool has_toolkit(const struct job *job)
{
    for (size_t i = 0; i < job->flags.arguments.count; i++) {
        const char *word = job->flags.arguments.items[i];
        char path[4200];
        if (strncmp(word, "-I/", 3) != 0)
            continue;
        snprintf(path, sizeof path, "%s/cuda_runtime_api.h", word + 2);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static int write_section_headers(const struct job *job, const char *seen)
{
    const bool all = has_folders(job), toolkit = has_toolkit(job);
    struct text name = {0}, text = {0};
    bool written = true;
    for (size_t i = 0; written && prelude_header(i, &name, &text); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s",
                 !toolkit || prelude_header_gives_way(name.data)
                     ? CC_STUB_FOLDER
                     : CC_PARTS_FOLDER,
                 name.data);
        if (all || is_mentioned(name.data, seen))
            written = write_file(path, text.data, text.size);
        text_free(&name);
        text_free(&text);
    }
    return written ? CC_OK : report_file("write", "a temporary file");
}

// Headers that kernel source often includes although all they offer is built
// in: empty files.
int write_stubs(const struct job *job)
{
    static const char *const names[] = {
        "cuda_runtime.h", "cuda_runtime_api.h", "cuda.h",
        "device_launch_parameters.h", "stddef.h", "cstddef", "assert.h",
        "cassert", "stdlib.h", "string.h", "cstring", "device_functions.h",
        "device_atomic_functions.h", "vector_types.h", "vector_functions.h",
        "utility", "new"};
    struct text seen = {0};
    if (!strstr(job->source.data, "include") &&
        job->options->headers.count + job->flags.includes.count == 0)
        return CC_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        snprintf(name, sizeof name, CC_STUB_FOLDER "/%s", names[i]);
        if (!write_file(name, "", 0))
            return report_file("write", name);
    }
    read_all(job, &seen);
    text_add(&seen, job->flags.defines.data ? job->flags.defines.data : "");
    int status = write_section_headers(job, seen.data);
    text_free(&seen);
    return status;
}

// The prelude, with what source and headers need of its optional sections: its
// core alone takes a millisecond less where nothing can ask for more.
int write_prelude(const struct job *job)
{
    struct text text = {0}, seen = {0}, after = {0};
    read_all(job, &seen);
    const bool known = !has_folders(job) || include_scan(&job->flags.arguments,
                                             job->flags.includes.count == 0 &&
                                                 !job->options->untrusted,
                                             &seen);
    prelude_ask(seen.data, job->all_sections || !known, &text);
    if (job->all_sections)
        prelude_ask_library(&text);
    bool core = text.size == 0 && !strstr(seen.data, "include");
    overrides_write(&job->overrides, &text, &after);
    if (core) {
        text_add_bytes(&text, cc_prelude, cc_prelude_core_size);
        text_add(&text, "#endif\n#pragma clang force_cuda_host_device end\n");
    } else {
        text_add_bytes(&text, cc_prelude, cc_prelude_size);
    }
    text_add_bytes(&text, after.data, after.size);
    if (job->choices.default_device)
        text_add(&text, "#pragma clang force_cuda_host_device begin\n");
    text_free(&after);
    bool written = write_file(CC_PRELUDE_FILE, text.data, text.size);
    text_free(&seen);
    text_free(&text);
    return written ? CC_OK : report_file("write", "a temporary file");
}
