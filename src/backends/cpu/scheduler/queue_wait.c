// Waiting for a queue, and the wait-for chain of streams in words when the wait
// timed out.
#include "backends/cpu/scheduler/graph_plan.h"
#include "backends/cpu/scheduler/parallel_for.h"
#include "backends/cpu/scheduler/pool.h"
#include "backends/cpu/scheduler/queue.h"
#include "backends/cpu/scheduler/tuning.h"
#include "backends/cpu/scheduler/value_waiters.h"
#include "base/clock.h"
#include "core/object/object.h"
#include "core/stream/event.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <stdio.h>
#include <string.h>

#define LINKS_MOST 8

// --- The chain -------------------------------------------------------------

// A stream whose first op waits, and for what: a stream, or an event that a
// record is still awaited of, or something that only words tell.
struct chain_link {
    struct stream *stream;
    uint64_t operation;      // the number of the wait
    struct stream *target;   // referenced, or NULL
    uint64_t sequence;       // of the target
    struct event *event;     // referenced, or NULL
    bool in_graph;           // a node waits
    char words[160];
};

static void look_at_wait(struct queue *queue, struct chain_link *link)
{
    struct wait *wait = op_wait(queue->batch);
    link->target = queue->blocked_on;
    // The rest of a wait for a promise is not settled before its record.
    if (link->target) {
        link->sequence = wait->sequence;
        object_ref(&link->target->object);
    } else {
        link->event = wait->promise;
        object_ref(&link->event->object);
    }
}

// A node's wait stores its target, which stays once set.
static void look_at_node(const struct step *step, struct chain_link *link)
{
    link->in_graph = true;
    if (step && step->kind == STEP_VALUES) {
        value_waiter_describe(&step->waiter, link->words, sizeof link->words);
    } else if (step) {
        struct wait *wait = op_wait(step->wait);
        link->target = atomic_load(&wait->target);
        link->event = link->target ? NULL : wait->promise;
        link->sequence = wait->sequence;
        object_ref(link->target ? &link->target->object
                                 : &link->event->object);
    } else {
        snprintf(link->words, sizeof link->words, "one of its nodes");
    }
}

static bool look(struct stream *stream, struct chain_link *link)
{
    struct queue *queue = stream_queue(stream);
    lock_take(&queue->lock);
    bool blocked = queue->state == QUEUE_BLOCKED;
    if (blocked) {
        struct op *op = queue->batch;
        *link =
            (struct chain_link){.stream = stream, .operation = op->sequence};
        if (op->kind == OP_WAIT)
            look_at_wait(queue, link);
        else if (op->kind == OP_MEMORY_OPS)
            value_waiter_describe(op_value_waiter(op), link->words,
                                  sizeof link->words);
        else
            look_at_node(plan_waiting(op_plan(op)), link);
    }
    lock_give(&queue->lock);
    return blocked;
}

static bool closes_circle(const struct chain_link *links, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (links[i].stream == links[count - 1].target)
            return true;
    return false;
}

// Locks a single queue at a time, so the chain may never have existed at once.
static size_t walk(struct stream *stream, struct chain_link *links)
{
    size_t count = 0;
    while (stream && count < LINKS_MOST && look(stream, &links[count])) {
        stream = links[count++].target;
        if (closes_circle(links, count))
            break;
    }
    return count;
}

static void drop(struct chain_link *links, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (links[i].target)
            object_unref(&links[i].target->object);
        if (links[i].event)
            object_unref(&links[i].event->object);
    }
}

// A circle whose every wait is found twice was whole in between.
static bool stays(const struct chain_link *links, size_t count)
{
    struct chain_link again[LINKS_MOST];
    size_t found = walk(links[0].stream, again);
    bool same = found == count;
    for (size_t i = 0; i < count && same; i++)
        same = again[i].stream == links[i].stream &&
               again[i].operation == links[i].operation &&
               again[i].target == links[i].target;
    drop(again, found);
    return same;
}

// --- Words -----------------------------------------------------------------

static const char *name_of(const struct object *object, char name[96])
{
    return object_describe(object, name, 96);
}

static void add_link(const struct chain_link *link, bool first, char *text,
                     size_t size)
{
    char name[96];
    int used = snprintf(text, size, "%s waits %sfor ",
                        first ? "; it" : ", which",
                        link->in_graph ? "in a graph " : "");
    if (used < 0 || (size_t)used >= size)
        return;
    text += used;
    size -= (size_t)used;
    if (link->words[0])
        snprintf(text, size, "%s", link->words);
    else if (link->event)
        snprintf(text, size, "the %s%s, which was not recorded",
                 link->event->options.promise ? "promise " : "",
                 name_of(&link->event->object, name));
    else
        snprintf(text, size, "%s (operation %llu)",
                 name_of(&link->target->object, name),
                 (unsigned long long)link->sequence);
}

static void add_end(const struct chain_link *links, size_t count, char *text,
                    size_t size)
{
    const struct chain_link *last = &links[count - 1];
    if (last->event || last->words[0])
        return;
    struct stream *target = last->target;
    if (closes_circle(links, count)) {
        if (stays(links, count))
            snprintf(text, size, ": they wait for each other for good");
    } else if (count == LINKS_MOST) {
        snprintf(text, size, ", and so on");
    } else {
        snprintf(text, size, ", which has done %llu of %llu operations",
                 (unsigned long long)atomic_load(
                     &stream_queue(target)->completed),
                 (unsigned long long)atomic_load(&target->enqueued));
    }
}

// As the end of a sentence; "" if the queue is not blocked. Not inlined, since
// the links would be on the stack beside the sentence.
static __attribute__((noinline)) void
describe_chain(struct queue *queue, char *text, size_t size)
{
    struct chain_link links[LINKS_MOST];
    size_t count = walk(queue->stream, links), used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        add_link(&links[i], i == 0, text + used, size - used);
        used += strlen(text + used);
    }
    if (count > 0)
        add_end(links, count, text + used, size - used);
    drop(links, count);
}

// --- Waiting ---------------------------------------------------------------

static bool is_done(struct queue *queue, uint64_t sequence)
{
    return atomic_load_explicit(&queue->completed, memory_order_acquire) >=
           sequence;
}

static bool has_limit(const struct helper *helper)
{
    return helper->deadline != RNL_FOREVER;
}

// The queue must be ready: then it has no owner, and gets none before the lock
// is given up.
static bool next_is_short(struct queue *queue)
{
    const struct op *next = NULL;
    lock_take(&queue->lock);
    if (queue->state == QUEUE_READY)
        next = queue->batch ? queue->batch : queue->head;
    bool is_short = next && op_is_short(next);
    lock_give(&queue->lock);
    return is_short;
}

// Takes over a ready queue if its head may run here.
static bool claim(struct queue *queue, const struct helper *helper)
{
    if (atomic_load_explicit(&queue->needs_worker, memory_order_relaxed) ||
        (has_limit(helper) && !next_is_short(queue)) ||
        !pool_take(stream_pool(queue->stream), queue))
        return false;
    lock_take(&queue->lock);
    ASSERT(queue->state == QUEUE_READY);
    queue->state = QUEUE_RUNNING;
    lock_give(&queue->lock);
    return true;
}

// The stream that a blocked queue waits for, referenced; NULL if not blocked.
static struct stream *blocked_on(struct queue *queue, uint64_t *out_sequence)
{
    lock_take(&queue->lock);
    struct stream *target =
        queue->state == QUEUE_BLOCKED ? queue->blocked_on : NULL;
    if (target) {
        object_ref(&target->object);
        *out_sequence = op_wait(queue->batch)->sequence;
    }
    lock_give(&queue->lock);
    return target;
}

// Does some of the work that this thread waits for; false when there is nothing
// that the thread can do now.
static bool help(struct queue *queue, struct helper helper)
{
    struct stream *held = NULL;
    bool helped = false;
    for (int hops = 0; hops < HOPS_MOST; hops++) {
        if (claim(queue, &helper)) {
            queue_run(queue, &helper);
            helped = true;
            if (op_has_surplus())
                pool_request_trim(stream_pool(queue->stream));
            break;
        }
        helped = !has_limit(&helper) &&
                 parallel_for_join(stream_pool(queue->stream), queue);
        struct stream *next = helped ? NULL : blocked_on(queue, &helper.until);
        if (!next) {
            helped |= value_poll(stream_pool(queue->stream), VALUE_POLL_IDLE);
            break;
        }
        if (held)
            object_unref(&held->object);
        held = next;
        queue = stream_queue(next);
        if (is_done(queue, helper.until))
            break;
    }
    if (held)
        object_unref(&held->object);
    return helped;
}

// True when it is time to look again.
static bool spin_for(struct queue *queue, uint64_t sequence, uint64_t deadline)
{
    struct pool *pool = stream_pool(queue->stream);
    uint64_t end = clock_now() + pool->spin_ns;
    end = end < deadline ? end : deadline;
    do {
        for (int i = 0; i < 32; i++) {
            if (is_done(queue, sequence) || value_poll(pool, VALUE_POLL_IDLE))
                return true;
            cpu_relax();
        }
    } while (clock_now() < end);
    return false;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void sleep_for(struct queue *queue, uint64_t sequence,
                      uint64_t deadline)
{
    struct pool *pool = stream_pool(queue->stream);
    atomic_fetch_add(&pool->waiting, 1);
    lock_take(&queue->lock);
    queue->sleepers++;
    atomic_fetch_add(&queue->attention, 1);
    uint32_t signal = atomic_load(&queue->signal);
    bool done = atomic_load(&queue->completed) >= sequence;
    lock_give(&queue->lock);
    if (!done) {
        pool_nudge(pool);
        // With every worker busy this thread has to look at words itself.
        if (pool_lacks_poller(pool))
            deadline = earlier(deadline, clock_now() + VALUE_POLL_NAP_NS);
        futex_wait(&queue->signal, signal, deadline);
    }
    lock_take(&queue->lock);
    ASSERT(queue->sleepers > 0);
    queue->sleepers--;
    COUNT_DOWN(&queue->attention);
    lock_give(&queue->lock);
    COUNT_DOWN(&pool->waiting);
}

// A waiter needs the op done, and no worker may be awake.
static void stay_awake(struct queue *queue, int policy)
{
    pool_nudge(stream_pool(queue->stream));
    if (policy == RNL_SYNC_YIELD)
        sched_yield();
}

static rnl_status timed_out(struct queue *queue, uint64_t sequence)
{
    char text[160], chain[800];
    object_describe(&queue->stream->object, text, sizeof text);
    describe_chain(queue, chain, sizeof chain);
    rnl_status status =
        fail(RNL_ERROR_TIMED_OUT,
             "the time limit passed: %s has done %llu of %llu operations%s",
             text, (unsigned long long)atomic_load(&queue->completed),
             (unsigned long long)sequence, chain);
    fail_set_object("%s", text);
    return status;
}

rnl_status queue_wait(struct queue *queue, uint64_t sequence,
                      uint64_t deadline, int policy)
{
    const struct helper helper = {sequence, deadline};
    const bool idly = policy == RNL_SYNC_BLOCKING;
    while (!is_done(queue, sequence)) {
        if (has_limit(&helper) && clock_now() >= deadline)
            return timed_out(queue, sequence);
        if (!idly && help(queue, helper))
            continue;
        // Small work waits for this thread's help, which does not come.
        if (idly || has_limit(&helper))
            pool_nudge(stream_pool(queue->stream));
        if (!idly && spin_for(queue, sequence, deadline))
            continue;
        if (policy == RNL_SYNC_SPIN || policy == RNL_SYNC_YIELD)
            stay_awake(queue, policy);
        else
            sleep_for(queue, sequence, deadline);
    }
    return RNL_OK;
}
