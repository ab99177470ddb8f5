// Looks after the operations that streams of GPUs have: a thread notices an
// operation that is late or that the engine gave up, fails the stream, and then
// aborts the communicator. NCCL's kernels end by that, and work behind them
// runs.
#include "nccl.h"

#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct flight *flights;  // the first one of each stream; by the lock
static bool watched;

// --- Flights -----------------------------------------------------------------

void flight_drop(struct flight *flight)
{
    if (flight->before)
        rnl_event_release(flight->before);
    if (flight->after)
        rnl_event_release(flight->after);
    rnl_stream_release(flight->stream);
    comm_unpin(flight->comm);
    free(flight);
}

static void *watch(void *unused);

static bool start_watch(const char *function)
{
    pthread_t thread;
    pthread_mutex_lock(&lock);
    bool is = watched || pthread_create(&thread, NULL, watch, NULL) == 0;
    if (is && !watched)
        pthread_detach(thread);
    watched = is;
    pthread_mutex_unlock(&lock);
    if (!is)
        report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
               "there is no thread to look after operations");
    return is;
}

struct flight *flight_begin(const struct comm_work *work, const char *function)
{
    if (!start_watch(function))
        return NULL;
    struct flight *flight = calloc(1, sizeof *flight);
    if (!flight) {
        report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
               "there is no memory for an operation");
        return NULL;
    }
    flight->comm = comm_pin(work->comm);
    flight->op = work->op;
    flight->stream = work->stream;
    rnl_stream_retain(work->stream);
    if (flight->comm->timeout_ns != RNL_FOREVER &&
        rnl_enqueue_event(work->stream, NULL, &flight->before) != RNL_OK) {
        flight_drop(flight);
        return NULL;
    }
    return flight;
}

static bool is_done(const struct flight *flight)
{
    return rnl_event_query(flight->after) != RNL_NOT_READY;
}

bool flights_are_done(const struct comm *comm)
{
    bool done = true;
    pthread_mutex_lock(&lock);
    for (struct flight *first = flights; first; first = first->next)
        for (struct flight *one = first; one && done; one = one->behind)
            done = one->comm != comm || is_done(one);
    pthread_mutex_unlock(&lock);
    return done;
}

// --- Failing -----------------------------------------------------------------

// Calls functions of the program, which may take locks: the caller has none.
static void fail_op(const struct comm *comm, const struct comm_op *op,
                    rnl_stream stream, rnl_status status, const char *why)
{
    char what[160], message[500];
    op_describe(comm, op, what, sizeof what);
    snprintf(message, sizeof message, "%s: %s", what, why);
    rnl_stream_fail(stream, status, message);
}

// The next operation of a communicator whose stream is to fail; with a
// reference to the stream, since the flight may end.
static bool find_to_fail(const struct comm *comm, struct comm_op *out_op,
                         rnl_stream *out_stream)
{
    struct flight *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct flight *first = flights; first; first = first->next)
        for (struct flight *one = first; one && !found; one = one->behind)
            if (one->comm == comm && !one->failed && !is_done(one))
                found = one;
    if (found) {
        found->failed = true;
        *out_op = found->op;
        *out_stream = found->stream;
        rnl_stream_retain(found->stream);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void flights_fail(struct comm *comm, rnl_status status, const char *why)
{
    struct comm_op op;
    rnl_stream stream;
    while (find_to_fail(comm, &op, &stream)) {
        fail_op(comm, &op, stream, status, why);
        rnl_stream_release(stream);
    }
}

// --- Looking -----------------------------------------------------------------

// The engine's error in a communicator. A communicator that another thread uses
// is looked at the next time, so that this thread does not wait.
static int error_of(struct comm *comm)
{
    if (pthread_mutex_trylock(&comm->lock) != 0)
        return 0;
    int result = nccl_state_locked(comm);
    pthread_mutex_unlock(&comm->lock);
    return result == NCCL_IN_PROGRESS || result == NCCL_ENDED ? 0 : result;
}

// Whether an operation is late or lost, and why.
static rnl_status judge(struct flight *flight, char *why, size_t size)
{
    struct comm *comm = flight->comm;
    if (comm->aborted)
        return RNL_OK;
    int result = error_of(comm);
    if (result != 0) {
        nccl_error(comm, result, why, size);
        return RNL_ERROR_DRIVER;
    }
    if (!flight->before)
        return RNL_OK;
    if (flight->deadline == 0 &&
        rnl_event_query(flight->before) != RNL_NOT_READY)
        flight->deadline = clock_after(comm->timeout_ns);
    if (flight->deadline == 0 || clock_ns() < flight->deadline)
        return RNL_OK;
    snprintf(why, size,
             "not done within the time limit of %.3f s; some rank is gone, "
             "hangs or does something else",
             (double)comm->timeout_ns * 1e-9);
    return RNL_ERROR_TIMED_OUT;
}

// Takes the first operation of a stream out of the list, into `*out_done`.
static void take_locked(struct flight **link, struct flight **out_done)
{
    struct flight *done = *link, *behind = done->behind;
    *link = behind ? behind : done->next;
    if (behind) {
        behind->next = done->next;
        behind->last = done->last;
    }
    done->next = *out_done;
    *out_done = done;
}

struct watch_pass {
    struct flight *done;  // taken out of the list
    struct flight *lost;  // in the list, which only this thread shortens
    rnl_status status;
    char why[300];
};

// Looks at the first operation of each stream: later ones are not done before,
// and have not begun.
static void look_locked(struct watch_pass *pass)
{
    for (struct flight **link = &flights; *link && !pass->lost;) {
        struct flight *flight = *link;
        if (is_done(flight)) {
            take_locked(link, &pass->done);
            continue;
        }
        pass->status = judge(flight, pass->why, sizeof pass->why);
        if (pass->status != RNL_OK)
            pass->lost = flight;
        link = &flight->next;
    }
}

static void *watch(void *unused)
{
    (void)unused;
    for (;;) {
        struct watch_pass pass = {NULL};
        pthread_mutex_lock(&lock);
        while (!flights)
            pthread_cond_wait(&more, &lock);
        look_locked(&pass);
        pthread_mutex_unlock(&lock);
        if (pass.lost) {
            fail_op(pass.lost->comm, &pass.lost->op, pass.lost->stream,
                    pass.status, pass.why);
            comm_abort(pass.lost->comm);
        }
        while (pass.done) {
            struct flight *next = pass.done->next;
            flight_drop(pass.done);
            pass.done = next;
        }
        nap();
    }
    return NULL;
}

static void add_locked(struct flight *flight)
{
    struct flight *first = flights;
    while (first && first->stream != flight->stream)
        first = first->next;
    if (first) {
        first->last->behind = flight;
        first->last = flight;
    } else {
        flight->next = flights;
        flight->last = flight;
        flights = flight;
    }
    pthread_cond_signal(&more);
}

static rnl_status fail_unwatched(struct flight *flight, rnl_status status)
{
    char why[300];
    snprintf(why, sizeof why, "cannot be looked after: %s",
             rnl_last_error()->message);
    fail_op(flight->comm, &flight->op, flight->stream, status, why);
    flight_drop(flight);
    return report(status, "rnl_enqueue_event", NULL, "%s", why);
}

rnl_status flight_go(struct flight *flight)
{
    struct comm *comm = flight->comm;
    rnl_status status = rnl_enqueue_event(flight->stream, NULL, &flight->after);
    if (status != RNL_OK)
        return fail_unwatched(flight, status);
    pthread_mutex_lock(&lock);
    add_locked(flight);
    pthread_mutex_unlock(&lock);
    // An abort meanwhile did not find the flight. The caller pins `comm`.
    if (comm->aborted)
        flights_fail(comm, RNL_ERROR_CANCELLED, "the communicator was aborted");
    return RNL_OK;
}
