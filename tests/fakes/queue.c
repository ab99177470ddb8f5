// Hardware queues of the fake. Streams of one priority share a few; what is
// first in a queue and cannot start holds up all that was submitted to it
// later, also of other streams. A queue that is full holds up who submits to
// it, and with him everybody who asks the driver anything.
#include "fake.h"

#include <stdlib.h>

#include "base/clock.h"

enum {
    DEPTH = 1024,                // items that a queue has room for, …
    STEP = DEPTH / FAKE_MARKS,   // … and how many one mark stands for
    FULL_STEP_NS = 1000000,
};

// --- Locks ------------------------------------------------------------------
//
// Whoever submits has `submission`; a call that waits for the device keeps it.
// Only values are written without it (H100). `queueing` guards the queues.
// `full` is only kept by who waits for room: then nobody may even ask.

void fake_calls_hold(struct fake_context *context)
{
    pthread_mutex_lock(&context->submission);
}

void fake_calls_free(struct fake_context *context)
{
    pthread_mutex_unlock(&context->submission);
}

void fake_calls_pass(struct fake_context *context)
{
    pthread_mutex_lock(&context->full);
    pthread_mutex_unlock(&context->full);
}

// --- Which queue -------------------------------------------------------------

static unsigned queue_count(void)
{
    const char *text = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
    long count = text ? strtol(text, NULL, 10) : 0;
    return count < 1 || count > FAKE_QUEUES ? 8 : (unsigned)count;
}

// In turn, streams of each priority by themselves. Lower is greater.
struct fake_queue *fake_queue_choose(struct fake_context *context,
                                     int priority)
{
    unsigned level = priority >= 0 ? 0 : (unsigned)-priority;
    if (level >= FAKE_PRIORITIES)
        level = FAKE_PRIORITIES - 1;
    pthread_mutex_lock(&context->queueing);
    unsigned index = context->next_queue[level]++ % queue_count();
    pthread_mutex_unlock(&context->queueing);
    return &context->queues[level][index];
}

// --- Taking turns ------------------------------------------------------------

static rnl_status mark(struct fake_context *context, rnl_stream inner,
                       rnl_event *event)
{
    rnl_status status =
        *event ? RNL_OK : rnl_event_create(context->inner, NULL, event);
    return status ? status : rnl_enqueue_event_record(inner, *event);
}

// Until the item that came DEPTH before this one has left the queue.
static int wait_for_room(struct fake_context *context, rnl_event oldest)
{
    int sticky = 0;
    if (!oldest || rnl_event_query(oldest) == RNL_OK)
        return FAKE_OK;
    pthread_mutex_lock(&context->full);
    while (!sticky &&
           rnl_event_synchronize(oldest, FULL_STEP_NS) ==
               RNL_ERROR_TIMED_OUT)
        sticky = atomic_load(&context->sticky);
    pthread_mutex_unlock(&context->full);
    return sticky;
}

// The item starts when all before it in the queue have started, and all before
// it in its stream are done.
static int line_up(struct fake_turn *turn)
{
    struct fake_context *context = turn->context;
    struct fake_queue *queue = turn->queue;
    rnl_event *oldest = &queue->marks[queue->items / STEP % FAKE_MARKS];
    bool marks = queue->items % STEP == 0;
    int code = marks ? wait_for_room(context, *oldest) : FAKE_OK;
    rnl_status status = RNL_OK;
    if (code)
        return code;
    if (queue->started && queue->last != turn->inner)
        status = rnl_enqueue_wait_event(turn->inner, queue->started);
    if (status == RNL_OK)
        status = mark(context, turn->inner, &queue->started);
    if (status == RNL_OK && marks)
        status = mark(context, turn->inner, oldest);
    if (status != RNL_OK)
        return fake_code(context, status);
    queue->last = turn->inner;
    queue->items++;
    return FAKE_OK;
}

static void turn_end(struct fake_turn *turn)
{
    pthread_mutex_unlock(&turn->context->queueing);
    if (turn->submits)
        fake_calls_free(turn->context);
}

static int turn_begin(struct fake_context *context, void *handle, bool submits,
                      struct fake_turn *out)
{
    *out = (struct fake_turn){.context = context,
                              .submits = submits,
                              .inner = context->stream,
                              .queue = &context->queues[0][0]};
    if (!fake_is_legacy(handle)) {
        struct fake_stream *stream = fake_find(KIND_STREAM, handle);
        if (!stream || stream->object.context != context)
            return FAKE_INVALID_HANDLE;
        out->inner = stream->inner;
        out->queue = stream->queue;
    }
    if (submits)
        fake_calls_hold(context);
    pthread_mutex_lock(&context->queueing);
    int code = line_up(out);
    if (code)
        turn_end(out);
    return code;
}

int fake_turn_take(struct fake_context *context, void *handle,
                   struct fake_turn *out)
{
    return turn_begin(context, handle, true, out);
}

int fake_turn_take_to_write(struct fake_context *context, void *handle,
                            struct fake_turn *out)
{
    return turn_begin(context, handle, false, out);
}

int fake_turn_give(struct fake_turn *turn, bool waits, rnl_status status)
{
    // What waits has started when it is over.
    if (status == RNL_OK && waits)
        status = mark(turn->context, turn->inner, &turn->queue->started);
    turn_end(turn);
    return fake_code(turn->context, status);
}

void fake_queue_forget(struct fake_queue *queue, struct fake_context *context,
                       rnl_stream inner)
{
    pthread_mutex_lock(&context->queueing);
    if (queue->last == inner)
        queue->last = NULL;
    pthread_mutex_unlock(&context->queueing);
}

// --- Contexts ----------------------------------------------------------------

static void queue_close(struct fake_queue *queue)
{
    rnl_event_release(queue->started);
    for (int i = 0; i < FAKE_MARKS; i++)
        rnl_event_release(queue->marks[i]);
    *queue = (struct fake_queue){0};
}

void fake_queues_close(struct fake_context *context)
{
    for (int level = 0; level < FAKE_PRIORITIES; level++) {
        for (int i = 0; i < FAKE_QUEUES; i++)
            queue_close(&context->queues[level][i]);
        context->next_queue[level] = 0;
    }
}

int fake_wait_device(struct fake_context *context)
{
    fake_calls_hold(context);
    int code = fake_wait_context(context);
    fake_calls_free(context);
    return code;
}
