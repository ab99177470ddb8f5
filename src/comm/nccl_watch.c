// Looks after the operations that streams of GPUs have: a thread notices an
// operation that is late or that the engine gave up, fails the stream, and then
// aborts the communicator. NCCL's kernels end by that, and work behind them
// runs.
#include "nccl.h"

#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static struct flight *flights;  // guarded by the lock
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

struct flight *flight_begin(const struct comm_work *work, const char *function)
{
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

static void fail_flight(const struct flight *flight, rnl_status status,
                        const char *why)
{
    char what[160], message[500];
    op_describe(flight->comm, &flight->op, what, sizeof what);
    snprintf(message, sizeof message, "%s: %s", what, why);
    rnl_stream_fail(flight->stream, status, message);
}

void flights_fail(struct comm *comm, rnl_status status, const char *why)
{
    pthread_mutex_lock(&lock);
    for (struct flight *flight = flights; flight; flight = flight->next)
        if (flight->comm == comm && !is_done(flight))
            fail_flight(flight, status, why);
    pthread_mutex_unlock(&lock);
}

bool flights_are_done(const struct comm *comm)
{
    bool done = true;
    pthread_mutex_lock(&lock);
    for (struct flight *flight = flights; flight; flight = flight->next)
        done &= flight->comm != comm || is_done(flight);
    pthread_mutex_unlock(&lock);
    return done;
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

// Fails the stream of an operation that is late or lost.
static bool is_lost(struct flight *flight)
{
    struct comm *comm = flight->comm;
    char why[300];
    if (comm->aborted)
        return false;
    int result = error_of(comm);
    if (result != 0) {
        nccl_error(comm, result, why, sizeof why);
        fail_flight(flight, RNL_ERROR_DRIVER, why);
        return true;
    }
    if (!flight->before)
        return false;
    if (flight->deadline == 0 &&
        rnl_event_query(flight->before) != RNL_NOT_READY)
        flight->deadline = clock_after(comm->timeout_ns);
    if (flight->deadline == 0 || clock_ns() < flight->deadline)
        return false;
    snprintf(why, sizeof why,
             "not done within the time limit of %.3f s; some rank is gone, "
             "hangs or does something else",
             (double)comm->timeout_ns * 1e-9);
    fail_flight(flight, RNL_ERROR_TIMED_OUT, why);
    return true;
}

// Takes what is done out of the list. Returns the communicator, pinned, of an
// operation that is lost.
static struct comm *look_locked(struct flight **out_done)
{
    for (struct flight **link = &flights; *link;) {
        struct flight *flight = *link;
        if (is_done(flight)) {
            *link = flight->next;
            flight->next = *out_done;
            *out_done = flight;
        } else if (is_lost(flight)) {
            return comm_pin(flight->comm);
        } else {
            link = &flight->next;
        }
    }
    return NULL;
}

static void *watch(void *unused)
{
    (void)unused;
    for (;;) {
        struct flight *done = NULL;
        pthread_mutex_lock(&lock);
        while (!flights)
            pthread_cond_wait(&more, &lock);
        struct comm *lost = look_locked(&done);
        pthread_mutex_unlock(&lock);
        while (done) {
            struct flight *next = done->next;
            flight_drop(done);
            done = next;
        }
        if (lost) {
            comm_abort(lost);
            comm_unpin(lost);
        }
        nap();
    }
    return NULL;
}

rnl_status flight_go(struct flight *flight, const char *function)
{
    pthread_t thread;
    rnl_status status = rnl_enqueue_event(flight->stream, NULL, &flight->after);
    pthread_mutex_lock(&lock);
    if (status == RNL_OK && !watched) {
        watched = pthread_create(&thread, NULL, watch, NULL) == 0;
        if (watched)
            pthread_detach(thread);
        else
            status = report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
                            "there is no thread to look after operations");
    }
    if (status == RNL_OK) {
        flight->next = flights;
        flights = flight;
        // flights_fail of an abort meanwhile did not find the flight.
        if (flight->comm->aborted && !is_done(flight))
            fail_flight(flight, RNL_ERROR_CANCELLED,
                        "the communicator was aborted");
        pthread_cond_signal(&more);
    }
    pthread_mutex_unlock(&lock);
    if (status != RNL_OK)
        flight_drop(flight);
    return status;
}
