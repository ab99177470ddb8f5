// Ends communicators of NCCL and RCCL. The engine's calls for that may block:
// an abort waits for the device, also for kernels of other communicators and
// for work that waits for a promise, and both calls may wait for other ranks of
// the host. So each end has a thread of its own, which pins the communicator.
#include "nccl.h"
#include "tuning.h"

#include <stdlib.h>
#include <unistd.h>

static _Atomic int ends;    // threads on their way
static _Atomic bool exits;  // no engine is called any more
static pid_t owner;         // the process that has the threads

// --- Threads -----------------------------------------------------------------

// If there is no thread, the caller does the work.
static void start(struct comm *comm, void *(*body)(void *comm))
{
    pthread_t thread;
    ends++;
    if (pthread_create(&thread, NULL, body, comm_pin(comm)) == 0)
        pthread_detach(thread);
    else
        body(comm);
}

static void finish(struct comm *comm)
{
    comm_unpin(comm);
    ends--;
}

// The exit handlers of the driver and of the engine come after this one, since
// they were registered before.
static void await_ends(void)
{
    uint64_t deadline = clock_after(EXIT_NS);
    if (owner != getpid())
        return;
    while (ends > 0 && clock_ns() < deadline)
        nap();
    exits = true;
}

void nccl_watch_exit(void)
{
    if (owner == 0)
        atexit(await_ends);
    owner = getpid();
}

// --- The engine --------------------------------------------------------------

// From 2.24 to 2.30 a destruction that fails leaves the thread in a group,
// where later calls of the thread would do nothing.
static void destroy(const struct comm *comm, void *handle)
{
    const struct nccl_functions *call = &nccl_of(comm)->call;
    if (call->destroy(handle) != 0)
        call->group_end();
}

// The first caller ends the engine's communicator. One that has an error cannot
// be destroyed.
static void end_engine(struct comm *comm, bool destroys)
{
    pthread_mutex_lock(&comm->lock);
    bool first = !comm->nccl.ended;
    bool is_sound = destroys && first && nccl_state_locked(comm) == 0;
    void *handle = comm->nccl.comm;
    comm->nccl.ended = true;
    pthread_mutex_unlock(&comm->lock);
    if (!first)
        return;
    if (handle && !exits) {
        struct nccl_current before = nccl_enter(comm);
        if (is_sound)
            destroy(comm, handle);
        else
            nccl_of(comm)->call.abort(handle);
        nccl_leave(comm, before);
    }
    comm->nccl.gone = true;
}

static void *run_abort(void *comm)
{
    end_engine(comm, false);
    finish(comm);
    return NULL;
}

static bool is_used(struct comm *comm)
{
    pthread_mutex_lock(&comm->lock);
    bool is = comm->nccl.busy;
    pthread_mutex_unlock(&comm->lock);
    return !comm->aborted && (is || !flights_are_done(comm));
}

// Each operation has its own time limit, and is aborted then.
static void *run_release(void *argument)
{
    struct comm *comm = argument;
    while (is_used(comm) && !exits)
        nap();
    end_engine(comm, true);
    finish(comm);
    return NULL;
}

void nccl_begin_abort(struct comm *comm)
{
    start(comm, run_abort);
}

void nccl_begin_release(struct comm *comm)
{
    comm->nccl.released = true;
    start(comm, run_release);
}

// Before 2.27 the engine's work for a group lies in memory of the thread that
// ended the group, and an abort uses that memory.
void nccl_await_end(const struct comm *comm)
{
    uint64_t deadline = clock_after(comm->timeout_ns);
    if (nccl_of(comm)->number >= 22700)
        return;
    while (!comm->nccl.gone && clock_ns() < deadline)
        nap();
}
