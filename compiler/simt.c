// The SIMT compiler's side of runnel-cc. Its callbacks run in a child and reach
// the parent as lines: "r 3 why" and "v 3 1", and "! sentence" when it fails.
#include "cc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool simt_find(char path[4096])
{
    static const char name[] = "/librunnel-simt.so";
    ssize_t size = readlink("/proc/self/exe", path, 4096 - sizeof name);
    if (size <= 0 || (size_t)size >= 4096 - sizeof name)
        return false;
    path[size] = 0;
    char *slash = strrchr(path, '/');
    if (!slash)
        return false;
    strcpy(slash, name);
    return access(path, R_OK) == 0;
}

bool simt_load(struct simt *simt)
{
    char path[4096];
    *simt = (struct simt){0};
    if (!simt_find(path))
        return false;
    simt->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!simt->library)
        return false;
    simt_compile_fn *compile;
    simt_version_fn *version;
    *(void **)&compile = dlsym(simt->library, SIMT_SYMBOL);
    *(void **)&version = dlsym(simt->library, SIMT_VERSION_SYMBOL);
    if (!compile || !version)
        return false;
    simt->compile = compile;
    simt->version = version();
    return true;
}

// --- In the child ----------------------------------------------------------

struct call {
    const struct simt *simt;
    const struct simt_job *job;
};

static void on_refused(void *user, unsigned kernel, const char *why)
{
    (void)user;
    printf("r %u %.*s\n", kernel, (int)strcspn(why, "\n"), why);
}

static void on_vectorised(void *user, unsigned kernel, bool waits)
{
    (void)user;
    printf("v %u %d\n", kernel, waits);
}

static int call(void *argument)
{
    const struct call *call = argument;
    char message[1024] = "";
    int failed = call->simt->compile(call->job, message, sizeof message);
    if (failed)
        printf("! %.*s\n", (int)strcspn(message, "\n"), message);
    fflush(stdout);
    return failed ? CC_NOT_COMPILED : CC_OK;
}

// --- In the parent ---------------------------------------------------------

static void take_line(const char *line, struct simt_verdict *verdicts,
                      size_t count, struct text *message)
{
    unsigned kernel;
    int start = 0;
    if (line[0] == '!')
        text_add(message, line + 2);
    if (sscanf(line + 1, "%u %n", &kernel, &start) != 1 || kernel >= count)
        return;
    const char *rest = line + 1 + start;
    if (line[0] == 'r') {
        free(verdicts[kernel].why);
        verdicts[kernel].why = strdup(rest);
    } else if (line[0] == 'v') {
        verdicts[kernel].waits = rest[0] == '1';
    }
}

bool simt_compile(const struct simt *simt, struct simt_job *job,
                  struct simt_verdict *verdicts, size_t count,
                  struct text *message)
{
    struct process process;
    struct text output = {0};
    job->struct_size = sizeof *job;
    job->refused = on_refused;
    job->vectorised = on_vectorised;
    process_fork(call, &(struct call){simt, job}, &process);
    int status = process_finish(&process, &output, NULL);
    char *rest = output.data;
    for (char *line; rest && (line = strsep(&rest, "\n"));)
        if (line[0])
            take_line(line, verdicts, count, message);
    text_free(&output);
    if (status != CC_OK && message->size == 0)
        text_format(message, "the SIMT compiler crashed (status %d)", status);
    return status == CC_OK;
}
