// The SIMT compiler's side of runnel-cc. Its callbacks run in a child and reach
// the parent as lines: "r 3 why" and "v 3 1", "! sentence" when it fails, and
// "." when it does not.
#include "cc.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct library {
    simt_compile_fn *compile;
    simt_prepare_fn *prepare;
    simt_version_fn *version;
};

static bool load(struct library *library)
{
    char path[4096];
    void *handle = NULL;
    if (find_beside(SIMT_LIBRARY, path))
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return false;
    *(void **)&library->compile = dlsym(handle, SIMT_SYMBOL);
    *(void **)&library->prepare = dlsym(handle, SIMT_PREPARE_SYMBOL);
    *(void **)&library->version = dlsym(handle, SIMT_VERSION_SYMBOL);
    return library->compile && library->prepare && library->version;
}

const char *simt_version(void)
{
    struct library library;
    return load(&library) ? library.version() : NULL;
}

// --- In the child ----------------------------------------------------------

struct call {
    struct simt_job *job;
    int go[2];
};

static void on_refused(void *user, unsigned kernel, const char *why)
{
    (void)user;
    printf("r %u %.*s\n", kernel, (int)strcspn(why, "\n"), why);
}

static void on_vectorised(void *user, unsigned kernel, unsigned flags)
{
    (void)user;
    printf("v %u %u\n", kernel, flags);
}

static int compile(const struct library *library, struct simt_job *job)
{
    char message[1024] = "";
    job->struct_size = sizeof *job;
    job->refused = on_refused;
    job->vectorised = on_vectorised;
    int failed = library->compile(job, message, sizeof message);
    if (failed)
        printf("! %.*s\n", (int)strcspn(message, "\n"), message);
    else
        puts(".");
    return failed ? CC_NOT_COMPILED : CC_OK;
}

// Whether a processor would do nothing else.
static bool is_idle(void)
{
    struct text load = {0};
    int running = 0;
    bool known = text_read_file(&load, "/proc/loadavg") &&
                 sscanf(load.data, "%*f %*f %*f %d", &running) == 1;
    text_free(&load);
    return known && running <= sysconf(_SC_NPROCESSORS_ONLN);
}

static int work(void *argument)
{
    const struct call *call = argument;
    struct library library;
    char byte;
    int status = CC_NOT_COMPILED;
    close(call->go[1]);
    bool loaded = load(&library);
    if (loaded && is_idle())
        library.prepare(call->job);
    if (read(call->go[0], &byte, 1) == 1 && loaded)
        status = compile(&library, call->job);
    else if (!loaded)
        puts("! librunnel-simt.so cannot be loaded");
    fflush(stdout);
    return status;
}

// --- In the parent ---------------------------------------------------------

void simt_start(struct simt_worker *worker, struct simt_job *job)
{
    struct call call = {.job = job};
    *worker = (struct simt_worker)SIMT_NO_WORKER;
    if (pipe2(call.go, O_CLOEXEC) != 0)
        return;
    process_fork(work, &call, &worker->process);
    close(call.go[0]);
    worker->input = call.go[1];
}

void simt_go(struct simt_worker *worker)
{
    if (worker->input < 0)
        return;
    ssize_t told = write(worker->input, "", 1);
    (void)told;  // a child that has died says so when it is listened to
    close(worker->input);
    worker->input = -1;
}

// True for the line that tells that there is an object.
static bool take_line(const char *line, struct simt_verdict *verdicts,
                      size_t count, struct text *message)
{
    unsigned kernel;
    int start = 0;
    if (line[0] == '!')
        text_add(message, line + 2);
    if (sscanf(line + 1, "%u %n", &kernel, &start) != 1 || kernel >= count)
        return line[0] == '.';
    const char *rest = line + 1 + start;
    if (line[0] == 'r') {
        free(verdicts[kernel].why);
        verdicts[kernel].why = strdup(rest);
    } else if (line[0] == 'v') {
        verdicts[kernel].flags = (uint32_t)strtoul(rest, NULL, 10);
    }
    return false;
}

bool simt_read(struct text *output, struct simt_verdict *verdicts,
               size_t count, struct text *message)
{
    bool made = false;
    char *rest = output->data;
    for (char *line; rest && (line = strsep(&rest, "\n"));)
        if (line[0])
            made |= take_line(line, verdicts, count, message);
    if (!made && message->size == 0)
        text_add(message, "the SIMT compiler crashed");
    return made;
}

bool simt_listen(struct simt_worker *worker, struct simt_verdict *verdicts,
                 size_t count, struct text *message)
{
    struct text output = {0};
    simt_go(worker);
    process_listen(&worker->process, &output, NULL, -1);
    bool made = simt_read(&output, verdicts, count, message);
    text_free(&output);
    return made;
}

void simt_finish(struct simt_worker *worker)
{
    if (worker->input >= 0)
        close(worker->input);
    worker->input = -1;
    process_finish(&worker->process, NULL, NULL);
}
