#include "process.h"

#include "cuda.h"
#include "harness.h"

#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

// --- Starting this program again -------------------------------------------

// The environment with `extra` in front, where it wins.
static char **environment_with(char *extra)
{
    size_t count = 0;
    while (environ[count])
        count++;
    char **result = malloc((count + 2) * sizeof *result);
    if (result) {
        result[0] = extra;
        memcpy(result + 1, environ, (count + 1) * sizeof *result);
    }
    return result;
}

// The child's standard input and output is the other end of the socket.
static process_child spawn_self(char *const *arguments, char *extra)
{
    process_child child = {.descriptor = -1};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return child;
    char **environment = environment_with(extra);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    int failed =
        !environment || posix_spawn(&child.id, "/proc/self/exe", &actions, NULL,
                                    arguments, environment);
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
    close(ends[1]);
    if (failed)
        close(ends[0]);
    else
        child.descriptor = ends[0];
    return child;
}

// Without its parent's end of the socket a child ends by itself.
static void reap(process_child child)
{
    close(child.descriptor);
    waitpid(child.id, NULL, 0);
}

// --- The passive OpenMP peer -----------------------------------------------

struct process_peer {
    process_child child;
};

typedef struct bench_request {
    size_t axpy_count;  // 0: an empty region
    unsigned repeat;
} bench_request;

static bool read_all(int descriptor, void *data, size_t size)
{
    return recv(descriptor, data, size, MSG_WAITALL) == (ssize_t)size;
}

static double ask(process_peer *peer, size_t axpy_count, unsigned repeat)
{
    bench_request question = {axpy_count, repeat};
    double answer;
    int socket = peer->child.descriptor;
    if (send(socket, &question, sizeof question, MSG_NOSIGNAL) !=
            (ssize_t)sizeof question ||
        !read_all(socket, &answer, sizeof answer))
        return -1;
    return answer;
}

process_peer *process_peer_start(const char **out_why)
{
    if (!openmp_peer_open(out_why))
        return NULL;
    char *arguments[] = {"runnel-bench", "--serve-openmp", NULL};
    process_child child = spawn_self(arguments, "OMP_WAIT_POLICY=passive");
    process_peer *peer = NULL;
    if (child.descriptor >= 0 && !(peer = malloc(sizeof *peer)))
        reap(child);
    *out_why = peer ? NULL : "the child process did not start";
    if (peer)
        peer->child = child;
    return peer;
}

void process_peer_stop(process_peer *peer)
{
    if (!peer)
        return;
    reap(peer->child);
    free(peer);
}

double process_peer_region(process_peer *peer, unsigned repeat)
{
    return ask(peer, 0, repeat);
}

double process_peer_axpy(process_peer *peer, size_t count, unsigned repeat)
{
    return ask(peer, count, repeat);
}

static double answer_to(const openmp_peer *openmp,
                        const bench_request *question, float *x, float *y)
{
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < question->repeat; i++) {
        if (question->axpy_count)
            openmp->axpy(1e-7f, x, y, question->axpy_count);
        else
            openmp->region();
    }
    return (double)(bench_now_ns() - start) / question->repeat;
}

int process_serve(void)
{
    const char *why;
    const openmp_peer *openmp = openmp_peer_open(&why);
    float *x = NULL, *y = NULL;
    size_t room = 0;
    bench_request question;
    while (openmp && read_all(STDIN_FILENO, &question, sizeof question)) {
        if (question.axpy_count > room) {
            free(x);
            free(y);
            room = question.axpy_count;
            x = bench_allocate(room * sizeof *x);
            y = bench_allocate(room * sizeof *y);
        }
        double answer = -1;
        if (!room || (x && y))
            answer = answer_to(openmp, &question, x, y);
        if (send(STDOUT_FILENO, &answer, sizeof answer, MSG_NOSIGNAL) < 0)
            break;
    }
    free(x);
    free(y);
    return 0;
}

// --- The idle child --------------------------------------------------------

process_child process_idle_start(const char *what, unsigned seconds)
{
    char name[32], time[16];
    snprintf(name, sizeof name, "%s", what);
    snprintf(time, sizeof time, "%u", seconds);
    char *arguments[] = {"runnel-bench", "--idle-child", name, time, NULL};
    // Something harmless: the other settings stay the user's.
    return spawn_self(arguments, "RUNNEL_BENCH_CHILD=1");
}

static double await_answer(process_child child)
{
    double answer;
    if (child.descriptor < 0)
        return -1;
    if (!read_all(child.descriptor, &answer, sizeof answer))
        answer = -1;
    reap(child);
    return answer;
}

double process_idle_finish(process_child child)
{
    return await_answer(child);
}

static bool work_with_runnel(bench_runnel *runnel)
{
    for (int i = 0; i < 1000 && runnel->native_empty; i++) {
        if (rnl_enqueue_function(runnel->stream, runnel->native_empty,
                                 RNL_LAUNCH(.grid = {64}, .block = {1}),
                                 RNL_NO_ARGS))
            return false;
    }
    return runnel->native_empty &&
           !rnl_stream_synchronize(runnel->stream, RNL_FOREVER);
}

static bool work_with_pocl(void)
{
    const char *why;
    const opencl_peer *pocl = opencl_peer_open(OPENCL_POCL, &why);
    for (int i = 0; i < 1000 && pocl; i++)
        pocl->enqueue_empty(pocl->state);
    return pocl && pocl->finish(pocl->state);
}

static bool work_with_openmp(void)
{
    const char *why;
    const openmp_peer *openmp = openmp_peer_open(&why);
    for (int i = 0; i < 1000 && openmp; i++)
        openmp->region();
    return openmp != NULL;
}

// With Runnel two contexts, as a program of two libraries has.
static bool idle_work(const char *what, bench_runnel *first,
                      bench_runnel *second)
{
    if (!strcmp(what, "pocl"))
        return work_with_pocl();
    if (!strcmp(what, "openmp"))
        return work_with_openmp();
    if (strcmp(what, "runnel"))
        return true;
    bench_runnel_open(first);
    bench_runnel_open(second);
    return work_with_runnel(first) && work_with_runnel(second);
}

static double process_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int process_idle(const char *what, unsigned seconds)
{
    bench_runnel first = {0}, second = {0};
    double answer = -1;
    if (idle_work(what, &first, &second)) {
        double before = process_cpu_ns();
        bench_sleep_ns((uint64_t)seconds * 1000000000u);
        answer = process_cpu_ns() - before;
    }
    bool sent = send(STDOUT_FILENO, &answer, sizeof answer, MSG_NOSIGNAL) > 0;
    bench_runnel_close(&second);
    bench_runnel_close(&first);
    return sent ? 0 : 1;
}

// --- The compiling child ---------------------------------------------------

double process_compile_time(char *setting)
{
    char *arguments[] = {"runnel-bench", "--compile-child", NULL};
    return await_answer(spawn_self(arguments, setting));
}

double process_compile_many(bool two_threads)
{
    char threads[] = "1";
    char *arguments[] = {"runnel-bench", "--compile-child", threads, NULL};
    threads[0] += two_threads;
    return await_answer(spawn_self(arguments, "RUNNEL_CACHE_DISABLE=1"));
}

double process_compile_all(void)
{
    char *arguments[] = {"runnel-bench", "--compile-child", "3", NULL};
    return await_answer(spawn_self(arguments, "RUNNEL_CACHE_DISABLE=1"));
}

double process_compile_by_hand(void)
{
    char *arguments[] = {"runnel-bench", "--compile-child", "-1", NULL};
    return await_answer(spawn_self(arguments, "RUNNEL_BENCH_CHILD=1"));
}

int process_compile(int threads)
{
    double answer;
    if (threads == 3)
        answer = bench_runnel_compile_all();
    else if (strncmp(bench_device_name(), "cpu", 3))
        answer = cuda_compile_once(threads < 0);
    else
        answer = threads ? bench_runnel_compile_many(threads == 2)
                         : bench_runnel_compile();
    return send(STDOUT_FILENO, &answer, sizeof answer, MSG_NOSIGNAL) > 0 ? 0
                                                                         : 1;
}
