#include "base/base.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MOST ((size_t)256 << 20)  // that is kept of what a child says

static volatile sig_atomic_t caught_signal;
static volatile sig_atomic_t children[2];

// The folder of the program that started this one and has ended.
static const char *orphaned_folder;

bool process_end_with(long parent)
{
    const char *folder = secure_getenv("TMPDIR");
    const char *name = folder ? strrchr(folder, '/') : NULL;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    // Only folders that the library makes are ever removed.
    if (name && (strncmp(name, "/runnel-own-", 12) == 0 ||
                 strncmp(name, "/runnel-new-", 12) == 0))
        orphaned_folder = folder;
    return getppid() == (pid_t)parent;
}

// Children are killed here; everything else is done by whoever waits for them.
static void on_signal(int number)
{
    caught_signal = number;
    for (int i = 0; i < 2; i++)
        if (children[i] > 0)
            kill((pid_t)children[i], SIGKILL);
}

static void replace_child(pid_t old, pid_t id)
{
    for (int i = 0; i < 2; i++)
        if (children[i] == old) {
            children[i] = id;
            return;
        }
}

void process_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);  // what cannot be written is told
}

void process_die_if_signalled(void)
{
    if (!caught_signal)
        return;
    work_folder_remove();
    if (orphaned_folder)
        folder_remove(orphaned_folder);
    signal(caught_signal, SIG_DFL);
    raise(caught_signal);
    _exit(CC_CRASHED);
}

static void enter_child(const int output[2], const int errors[2],
                        pid_t parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(CC_CRASHED);  // it ended before that could be said
    if (dup2(output[1], STDOUT_FILENO) < 0 ||
        dup2(errors[1], STDERR_FILENO) < 0)
        _exit(PROCESS_NOT_SET_UP);
    close(output[0]);
    close(output[1]);
    close(errors[0]);
    close(errors[1]);
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
}

// Reads from one end into `text`; false at the end of the data.
static bool take(int file, struct text *text)
{
    char block[16384];
    ssize_t got = read(file, block, sizeof block);
    if (got > 0 && text && text->size < OUTPUT_MOST)
        text_add_bytes(text, block, (size_t)got);
    return got > 0 || (got < 0 && errno == EINTR);
}

void process_listen(struct process *process, struct text *output,
                    struct text *errors)
{
    struct pollfd ends[2] = {{.fd = process->output, .events = POLLIN},
                             {.fd = process->errors, .events = POLLIN}};
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
        if (poll(ends, 2, -1) < 0) {
            if (errno == EINTR && !caught_signal)
                continue;
            break;
        }
        if (ends[0].revents && !take(process->output, output))
            ends[0].fd = -1;
        if (ends[1].revents && !take(process->errors, errors))
            ends[1].fd = -1;
    }
}

// A child with its output and errors in pipes. True in the child.
static bool split(struct process *process)
{
    int output[2], errors[2];
    *process = (struct process)PROCESS_NONE;
    if (pipe(output) != 0) {
        process->problem = errno;
        return false;
    }
    if (pipe(errors) != 0) {
        process->problem = errno;
        close(output[0]);
        close(output[1]);
        return false;
    }
    const pid_t parent = getpid();
    pid_t id = fork();
    if (id == 0) {
        enter_child(output, errors, parent);
        return true;
    }
    int problem = id < 0 ? errno : 0;
    replace_child(0, id);
    if (caught_signal && id > 0)
        kill(id, SIGKILL);
    close(output[1]);
    close(errors[1]);
    *process = (struct process){id, output[0], errors[0], problem};
    return false;
}

void process_start(int (*function)(void *), void *argument,
                   struct process *process)
{
    if (!split(process))
        return;
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    int status = PROCESS_NOT_SET_UP;
    if (chdir(work_folder()) != 0)
        dprintf(STDERR_FILENO, "%s: %s", work_folder(), strerror(errno));
    else if (!sandbox_enter())
        dprintf(STDERR_FILENO, "Landlock: %s%s", strerror(errno),
                errno == E2BIG ? "; a process is in 16 domains at most" : "");
    else
        status = function(argument);
    // A reader need not wait until the kernel has released all memory.
    fflush(stdout);
    close(STDOUT_FILENO);
    close(STDERR_FILENO);
    _exit(status);
}

int process_finish(struct process *process, struct text *output,
                   struct text *errors)
{
    pid_t id = process->id;
    if (process->output >= 0) {
        process_listen(process, output, errors);
        close(process->output);
        close(process->errors);
    }
    int status = -1, problem = process->problem;
    while (id > 0 && waitpid(id, &status, 0) < 0 && errno == EINTR)
        ;
    replace_child(id, 0);
    *process = (struct process)PROCESS_NONE;
    process_die_if_signalled();
    if (id < 0) {
        errno = problem;
        return -1;
    }
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int process_run(int (*function)(void *), void *argument, struct text *output,
                struct text *errors)
{
    struct process process;
    process_start(function, argument, &process);
    return process_finish(&process, output, errors);
}
