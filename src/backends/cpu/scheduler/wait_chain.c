// The wait-for chain of streams in words, for a wait that timed out.
#include "backends/cpu/scheduler/graph_plan.h"
#include "backends/cpu/scheduler/queue.h"
#include "backends/cpu/scheduler/value_waiters.h"
#include "core/object/object.h"
#include "core/stream/event.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <stdio.h>
#include <string.h>

#define LINKS_MOST 8

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

void wait_chain_describe(struct queue *queue, char *text, size_t size)
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
