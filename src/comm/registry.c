// Communicators by their handles: numbers that are never reused.
#include "comm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMS_MOST 1024
// No handle of librunnel has these bits.
#define MARK (UINT64_C(0xC033) << 48)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct comm *comms[COMMS_MOST];  // by number modulo COMMS_MOST
static uint64_t last_number;
static _Atomic uint32_t forks;  // from the first process down to this one
static _Atomic bool is_child;   // of a process that used communicators
static _Atomic bool is_used;

static void forked(void)
{
    forks++;
    is_child = is_used;
    pthread_mutex_init(&lock, NULL);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forked);
}

rnl_status comm_check_process(const char *function)
{
    return is_child ? report(RNL_ERROR_FORKED, function, NULL,
                             "the parent process used communicators, which a "
                             "child cannot use")
                    : RNL_OK;
}

static uint64_t next_number_locked(void)
{
    for (int i = 0; i < COMMS_MOST; i++)
        if (!comms[++last_number % COMMS_MOST])
            return last_number | MARK;
    return 0;
}

static struct comm *find_locked(uint64_t number)
{
    struct comm *comm = comms[number % COMMS_MOST];
    return comm && comm->number == number ? comm : NULL;
}

static struct comm *refuse_new(const char *why)
{
    report(RNL_ERROR_OUT_OF_MEMORY, "rnl_comm_create", NULL, "%s", why);
    return NULL;
}

struct comm *comm_new(const struct engine *engine, rnl_context context,
                      const rnl_comm_options *options)
{
    struct comm *comm = calloc(1, sizeof *comm);
    if (!comm)
        return refuse_new("there is no memory for another communicator");
    comm->engine = engine;
    comm->context = context;
    comm->timeout_ns = options->timeout_ns;
    snprintf(comm->label, sizeof comm->label, "%s",
             options->label ? options->label : "");
    pthread_mutex_init(&comm->lock, NULL);
    pthread_mutex_init(&comm->order, NULL);
    comm->pins = 1;
    comm->dead = true;
    comm->forks = forks;
    is_used = true;
    pthread_mutex_lock(&lock);
    comm->number = next_number_locked();
    if (comm->number)
        comms[comm->number % COMMS_MOST] = comm;
    pthread_mutex_unlock(&lock);
    if (!comm->number) {
        comm_delete(comm);
        return refuse_new("this process has 1024 communicators, and no more "
                          "are possible: release some");
    }
    rnl_context_retain(context);
    return comm;
}

rnl_comm comm_publish(struct comm *comm)
{
    pthread_mutex_lock(&lock);
    comm->dead = false;
    pthread_mutex_unlock(&lock);
    return (rnl_comm)(uintptr_t)comm->number;
}

static rnl_status refuse(bool is_parents, rnl_comm handle, const char *function)
{
    if (is_parents)
        return report(RNL_ERROR_FORKED, function, "comm",
                      "the communicator belongs to the parent process");
    return report(RNL_ERROR_INVALID_HANDLE, function, "comm",
                  handle ? "'comm' is not a live communicator"
                         : "'comm' is NULL");
}

struct comm *comm_find(rnl_comm handle, const char *function,
                       rnl_status *out_status)
{
    pthread_mutex_lock(&lock);
    struct comm *comm = find_locked((uint64_t)(uintptr_t)handle);
    bool live = comm && !comm->dead;
    bool is_parents = live && comm->forks != forks;
    bool usable = live && !is_parents;
    if (usable)
        comm->pins++;
    pthread_mutex_unlock(&lock);
    *out_status = usable ? RNL_OK : refuse(is_parents, handle, function);
    return usable ? comm : NULL;
}

struct comm *comm_pin(struct comm *comm)
{
    pthread_mutex_lock(&lock);
    comm->pins++;
    pthread_mutex_unlock(&lock);
    return comm;
}

void comm_unpin(struct comm *comm)
{
    pthread_mutex_lock(&lock);
    bool last = --comm->pins == 0;
    if (last)
        comms[comm->number % COMMS_MOST] = NULL;
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    if (comm->last_stream)
        rnl_stream_release(comm->last_stream);
    rnl_context context = comm->context;
    if (comm->engine->finish)
        comm->engine->finish(comm);
    else
        comm_delete(comm);
    rnl_context_release(context);
}

void comm_delete(struct comm *comm)
{
    pthread_mutex_destroy(&comm->lock);
    pthread_mutex_destroy(&comm->order);
    free(comm);
}

bool comm_bury(struct comm *comm)
{
    pthread_mutex_lock(&lock);
    bool first = !comm->dead;
    comm->dead = true;
    pthread_mutex_unlock(&lock);
    return first;
}

void comm_abort(struct comm *comm)
{
    if (!atomic_exchange(&comm->aborted, true))
        comm->engine->abort(comm);
}

// --- Order -------------------------------------------------------------------

bool stream_is_captured(rnl_stream stream)
{
    rnl_capture_info info = {.struct_size = sizeof info};
    return rnl_stream_get_capture_info(stream, &info) == RNL_OK &&
           info.status != RNL_CAPTURE_NONE;
}

static rnl_status follow_locked(struct comm *comm, rnl_stream stream,
                                const char *function)
{
    if (comm->last_stream && stream_is_captured(comm->last_stream))
        return report(RNL_ERROR_CAPTURE_ISOLATION, function, "stream",
                      "the operation before was on a stream that is captured "
                      "now, and cannot be waited for");
    rnl_status status = comm->last_stream
                            ? rnl_enqueue_wait_stream(stream, comm->last_stream)
                            : RNL_OK;
    if (status != RNL_OK)
        return status;
    rnl_stream_retain(stream);
    if (comm->last_stream)
        rnl_stream_release(comm->last_stream);
    comm->last_stream = stream;
    return RNL_OK;
}

rnl_status comm_order_locked(struct comm *comm, struct comm_work *work,
                             const char *function)
{
    if (stream_is_captured(work->stream))
        return RNL_OK;
    rnl_status status = comm->last_stream == work->stream
                            ? RNL_OK
                            : follow_locked(comm, work->stream, function);
    if (status == RNL_OK)
        work->number = ++comm->enqueued;
    return status;
}
