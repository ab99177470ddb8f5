#include "base/spawn.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/env.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

// Between looks at a child that is silent, or has closed its output.
#define PAUSE_LEAST_NS UINT64_C(50000)
#define PAUSE_MOST_NS UINT64_C(20000000)

// --- Starting --------------------------------------------------------------

// Our environment, if trusted (base/env.h), with TMPDIR=`folder`, in one
// allocation. NULL when memory is short.
struct environment {
    size_t size;
    char *variables[];
};

static struct environment *environment_make(const char *folder)
{
    bool believed = environ && env_is_trusted();
    size_t count = 0;
    while (believed && environ[count])
        count++;
    size_t table = sizeof(struct environment) + (count + 2) * sizeof(char *);
    size_t text = strlen("TMPDIR=") + strlen(folder) + 1;
    struct environment *made = mem_allocate(table + text);
    if (!made)
        return NULL;
    made->size = table + text;
    char *own = (char *)made + table;
    snprintf(own, text, "TMPDIR=%s", folder);
    size_t used = 0;
    made->variables[used++] = own;
    for (size_t i = 0; i < count && environ[i]; i++)
        if (strncmp(environ[i], "TMPDIR=", strlen("TMPDIR=")) != 0)
            made->variables[used++] = environ[i];
    return made;
}

// A program starts with default signals, none blocked, in a group of its own
// that can be killed as a whole.
static int attributes_make(posix_spawnattr_t *attributes)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_init(attributes);
    if (error)
        return error;
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setpgroup(attributes, 0);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
                                             POSIX_SPAWN_SETSIGDEF |
                                             POSIX_SPAWN_SETPGROUP);
    return 0;
}

static int actions_make(posix_spawn_file_actions_t *actions, int input,
                        int output)
{
    int error = posix_spawn_file_actions_init(actions);
    if (error)
        return error;
    error = posix_spawn_file_actions_adddup2(actions, input, 0);
    if (!error)
        error = posix_spawn_file_actions_adddup2(actions, output, 1);
    if (!error)
        error = posix_spawn_file_actions_adddup2(actions, output, 2);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    // Descriptors that the host forgot to mark are not the child's.
    if (!error)
        error = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
    if (error)
        posix_spawn_file_actions_destroy(actions);
    return error;
}

static int start(char *const arguments[], char *const environment[],
                 int input, int output, pid_t *out_child)
{
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    int error = attributes_make(&attributes);
    if (error)
        return error;
    error = actions_make(&actions, input, output);
    if (!error) {
        error = posix_spawn(out_child, arguments[0], &actions, &attributes,
                            arguments, environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    posix_spawnattr_destroy(&attributes);
    return error;
}

// Above the standard streams, which the host may have closed: what the child
// has as 0 must not be the pipe. Takes `file`; -1 with errno set.
static int raise_file(int file)
{
    if (file < 0 || file > 2)
        return file;
    int high = fcntl(file, F_DUPFD_CLOEXEC, 3), error = errno;
    close(file);
    errno = error;
    return high;
}

static int pipe_make(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        return errno;
    ends[0] = raise_file(ends[0]);
    int error = errno;
    ends[1] = raise_file(ends[1]);
    if (ends[0] < 0 || ends[1] < 0) {
        error = ends[1] < 0 ? errno : error;
        close(ends[0] < 0 ? ends[1] : ends[0]);
        return error;
    }
    // The child writes at any time; we read the bytes present.
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return 0;
}

// Has nothing to read. There may be no /dev.
static int nothing_make(void)
{
    int file = memfd_create("runnel-nothing", MFD_CLOEXEC);
    if (file < 0 && errno == ENOSYS)
        file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return raise_file(file);
}

// --- Waiting ---------------------------------------------------------------

// Reads the bytes present, at most `blocks` blocks, so that a child that never
// stops writing does not keep us from the clock. False at the end of the output
// and on errors.
static bool drain(int fd, int blocks, struct spawn_result *result)
{
    struct text *output = &result->output;
    char block[1024];  // callers may have little stack
    while (blocks-- > 0) {
        ssize_t got = read(fd, block, sizeof block);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno != EAGAIN)
            result->read_error = errno;
        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        if (output->length < SPAWN_OUTPUT_MAX)
            text_add_bytes(output, block, (size_t)got);
    }
    return true;
}

// True once the child has ended.
static bool look(pid_t child, int options, struct spawn_result *result)
{
    int status;
    pid_t got;
    do
        got = waitpid(child, &status, options);
    while (got < 0 && errno == EINTR);
    if (got == 0)
        return false;
    if (got < 0) {
        // SIGCHLD is ignored, or a handler of the host's was faster.
        result->end = SPAWN_REAPED;
    } else if (WIFEXITED(status)) {
        result->end = SPAWN_EXITED;
        result->code = WEXITSTATUS(status);
    } else {
        result->end = SPAWN_SIGNALLED;
        result->code = WTERMSIG(status);
    }
    return true;
}

// Sleeps until there is output, but not longer than `pause` or the deadline.
static void doze(int fd, uint64_t pause, uint64_t deadline)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    uint64_t now = clock_now();
    uint64_t left = now < deadline ? deadline - now : 0;
    struct timespec limit = {
        .tv_nsec = (long)(left < pause ? left : pause),
    };
    ppoll(&ready, 1, &limit, NULL);
}

// The end of the output is nearly the end of the child. But a grandchild may
// hold the pipe open, and a child may close the pipe and go on, so we watch
// both.
static bool wait_for(pid_t child, int fd, uint64_t deadline,
                     const atomic_bool *stop, struct spawn_result *result)
{
    bool open = true;
    uint64_t pause = PAUSE_LEAST_NS;
    while (!look(child, WNOHANG, result)) {
        if (clock_now() >= deadline || (stop && atomic_load(stop)))
            return false;
        doze(open ? fd : -1, open ? PAUSE_MOST_NS : pause, deadline);
        if (open)
            open = drain(fd, 1024, result);
        else if (pause < PAUSE_MOST_NS)
            pause *= 2;
    }
    // A group in which somebody still has our pipe is still that group.
    if (open && drain(fd, 4096, result))
        kill(-child, SIGKILL);
    return true;
}

static void supervise(pid_t child, int fd, uint64_t deadline,
                      const atomic_bool *stop, struct spawn_result *result)
{
    if (wait_for(child, fd, deadline, stop, result))
        return;
    // Not waited for yet, so the number still is this child's.
    kill(-child, SIGKILL);
    kill(child, SIGKILL);
    look(child, 0, result);
    drain(fd, 4096, result);
    result->end = SPAWN_TIMED_OUT;
}

int spawn_run(char *const arguments[], const char *folder, uint64_t deadline,
              const atomic_bool *stop, struct spawn_result *out_result)
{
    *out_result = (struct spawn_result){0};
    struct environment *environment = environment_make(folder);
    if (!environment)
        return ENOMEM;
    int ends[2], input = nothing_make();
    pid_t child;
    int error = input < 0 ? errno : pipe_make(ends);
    if (!error) {
        error = start(arguments, environment->variables, input, ends[1],
                      &child);
        close(ends[1]);
        if (!error)
            supervise(child, ends[0], deadline, stop, out_result);
        close(ends[0]);
    }
    if (input >= 0)
        close(input);
    mem_release(environment, environment->size);
    return error;
}
