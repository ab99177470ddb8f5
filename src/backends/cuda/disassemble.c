#include "backends/cuda/disassemble.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/fail.h"
#include "base/file.h"
#include "base/scratch.h"
#include "base/spawn.h"
#include "core/module/dump.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 1024

// cuobjdump is no alternative: version 13.5 calls nvdisasm itself.
#define PROGRAM "nvdisasm"
#define CODE_ALONE "-c"

struct listing_search {
    char path[PATH_SIZE];
    struct text tried;  // the folders, for the error message
    struct scratch folder;
    char file[SCRATCH_PATH_SIZE + 32];  // the cubin in the folder
    struct spawn_result result;
};

// --- Finding nvdisasm --------------------------------------------------------

// Relative folders of PATH are skipped: the current folder may belong to
// another user.
static bool try_folder(struct listing_search *search, const char *folder,
                       size_t length, const char *below)
{
    struct stat facts;
    if (length == 0 || folder[0] != '/')
        return false;
    int size = snprintf(search->path, PATH_SIZE, "%.*s%s/" PROGRAM,
                        (int)length, folder, below);
    if (size > 0 && size < PATH_SIZE && stat(search->path, &facts) == 0 &&
        S_ISREG(facts.st_mode) && access(search->path, X_OK) == 0)
        return true;
    text_add(&search->tried, "%s%.*s%s", search->tried.length ? ", " : "",
             (int)length, folder, below);
    return false;
}

static bool try_list(struct listing_search *search, const char *list)
{
    while (list && *list) {
        size_t length = strcspn(list, ":");
        if (try_folder(search, list, length, ""))
            return true;
        list += length + (list[length] != '\0');
    }
    return false;
}

static bool try_toolkit(struct listing_search *search, const char *variable)
{
    const char *root = env_get(variable);
    return root && try_folder(search, root, strlen(root), "/bin");
}

// A toolkit has its libraries in lib64, a Python package in lib.
static bool try_beside(struct listing_search *search, const char *nvrtc)
{
    static const char *const below[] = {
        "/../bin", "/../../bin", "/../../../bin", "/../../cuda_nvcc/bin",
    };
    const char *slash = strrchr(nvrtc, '/');
    for (size_t i = 0; slash && i < sizeof below / sizeof below[0]; i++)
        if (try_folder(search, nvrtc, (size_t)(slash - nvrtc), below[i]))
            return true;
    return false;
}

static bool find(struct listing_search *search, const struct nvrtc_place *place)
{
    static const char *const usual[] = {"/usr/local/cuda/bin",
                                        "/opt/cuda/bin"};
    if (try_list(search, env_get("PATH")) ||
        try_toolkit(search, "CUDA_PATH") ||
        try_toolkit(search, "CUDA_HOME") || try_beside(search, place->path))
        return true;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (try_folder(search, usual[i], strlen(usual[i]), ""))
            return true;
    return false;
}

// --- Running nvdisasm --------------------------------------------------------

static rnl_status refuse(const struct listing_search *search, const char *what)
{
    const char *line, *said = text_get(&search->result.output);
    int length = text_first_error(said, &line);
    char why[PATH_SIZE + 640];
    snprintf(why, sizeof why, "%s %s%s%.*s", search->path, what,
             length ? ": " : "", length, line);
    dump_refuse("machine code", why);
    fail_set_log(said);
    return RNL_ERROR_UNSUPPORTED;
}

static rnl_status fail_errno(const char *what, const char *path, int error)
{
    rnl_status status = error == ENOMEM || error == EAGAIN
                            ? RNL_ERROR_OUT_OF_MEMORY : RNL_ERROR_IO;
    fail(status, "%s %s failed: %s", what, path, strerror(error));
    fail_set_native(error, strerror(error));
    return status;
}

static rnl_status judge(const struct listing_search *search)
{
    const struct spawn_result *result = &search->result;
    char what[64];
    if (result->output.failed)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for a disassembled module");
    if (result->read_error)
        return fail_errno("reading the output of", search->path,
                          result->read_error);
    if (result->end == SPAWN_TIMED_OUT)
        return refuse(search, "takes longer than the time limit");
    if (result->end == SPAWN_SIGNALLED)
        snprintf(what, sizeof what, "was killed by signal %d", result->code);
    else
        snprintf(what, sizeof what, "failed with exit code %d", result->code);
    if (result->end == SPAWN_SIGNALLED ||
        (result->end == SPAWN_EXITED && result->code != 0))
        return refuse(search, what);
    if (result->output.length >= SPAWN_OUTPUT_MAX)
        return refuse(search, "writes more than is kept");
    return RNL_OK;
}

static rnl_status run(struct listing_search *search, uint64_t timeout_ns,
                      const struct text *cubin)
{
    char *arguments[] = {search->path, (char *)CODE_ALONE, search->file, NULL};
    snprintf(search->file, sizeof search->file, "%s/kernels.cubin",
             search->folder.path);
    int error = file_write_path(search->file, cubin->data, cubin->length);
    if (error)
        return fail_errno("writing", search->file, error);
    error = spawn_run(arguments, search->folder.path,
                      clock_deadline(timeout_ns), NULL, &search->result);
    return error ? fail_errno("starting", search->path, error)
                 : judge(search);
}

static rnl_status perform(struct listing_search *search, uint64_t timeout_ns,
                          const struct text *cubin, struct text *out_code)
{
    int error = scratch_make(&search->folder, 32);
    if (error)
        return fail_errno("making the directory", search->folder.path, error);
    rnl_status status = run(search, timeout_ns, cubin);
    scratch_remove(&search->folder);
    if (status == RNL_OK) {
        *out_code = search->result.output;
        search->result.output = (struct text){0};
    }
    return status;
}

static rnl_status refuse_absent(const struct listing_search *search)
{
    struct text why = {0};
    text_add(&why, "the CUDA toolkit's " PROGRAM " is in none of %s",
             text_get(&search->tried));
    rnl_status status = dump_refuse("machine code", text_get(&why));
    text_finish(&why);
    return status;
}

rnl_status cuda_disassemble(const struct nvrtc_place *place,
                            uint64_t timeout_ns, const struct text *cubin,
                            struct text *out_code)
{
    struct listing_search *search = mem_allocate(sizeof *search);
    if (!search)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to look for a disassembler");
    rnl_status status = find(search, place)
                            ? perform(search, timeout_ns, cubin, out_code)
                            : refuse_absent(search);
    text_finish(&search->tried);
    text_finish(&search->result.output);
    mem_release(search, sizeof *search);
    return status;
}
