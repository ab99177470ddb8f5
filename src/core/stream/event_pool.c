#include "core/backend.h"
#include "core/object/context_object.h"
#include "core/object/object.h"
#include "core/object/pool_part.h"
#include "core/object/pool_state.h"
#include "core/object/quarantine.h"
#include "core/stream/capture.h"
#include "core/stream/event.h"

static bool park(struct object *object)
{
    struct event *event = (struct event *)object;
    capture_forget(event);
    event->backend->event_finish(event);
    event_pool_give(event);
    return true;
}

static struct object_class *class_of(const struct backend *backend)
{
    static const struct object_class like = {.kind = OBJECT_EVENT,
                                             .park = park};
    static struct object_class classes[BACKENDS_MAX];
    return object_class_of(&classes[backend_index(backend)], &like,
                           sizeof(struct event) + backend->event_size);
}

// The part was entered.
static __attribute__((noinline)) struct event *
take_new(struct context *context, struct pool_part *part, const char *label)
{
    struct event *event = (struct event *)object_create(
        class_of(context->backend), context, label);
    if (!event) {
        pool_part_leave(part, context);
        return NULL;
    }
    object_unref(&context->object);  // the part holds it for all
    event->backend = context->backend;
    event->part = part;
    return event;
}

static struct event *use_again(struct object *object, uint64_t id,
                               const char *label)
{
    struct event *event = (struct event *)object;
    if ((label || object->label) && !object_set_label(object, label)) {
        event_pool_give(event);
        return NULL;
    }
    object_revive(object, id);
    atomic_store_explicit(&event->recorded, false, memory_order_relaxed);
    return event;
}

struct event *event_pool_take(struct context *context, const char *label)
{
    const uint64_t me = thread_number();
    struct pool_part *part = pool_part_of(&context->pool, me);
    struct object *object = NULL;
    uint64_t id = 0;
    biased_lock_take(&part->lock, me, BIASED_OWN);
    bool alive = pool_part_enter_locked(part, context);
    if (alive)
        object = object_quarantine_take(&part->events, OBJECT_EVENT);
    if (object)
        id = pool_part_next_id_locked(part);
    biased_lock_give(&part->lock, me);
    if (!alive) {
        pool_refuse_context();
        return NULL;
    }
    return object ? use_again(object, id, label)
                  : take_new(context, part, label);
}

void event_pool_give(struct event *event)
{
    struct context *context = event->object.context;
    struct pool_part *part = event->part;
    const uint64_t me = thread_number();
    atomic_store_explicit(&event->object.counts, 0, memory_order_release);
    if (!object_bump_generation(&event->object)) {
        object_discard(&event->object);
        pool_part_leave(part, context);
        return;
    }
    biased_lock_take(&part->lock, me, BIASED_VISIT);
    object_quarantine_put(&part->events, &event->object);
    bool drop = pool_part_leave_locked(part, context);
    biased_lock_give(&part->lock, me);
    if (drop)
        object_unref(&context->object);
}

// A late call may have left state in a dead event. The next user of the memory
// clears the state.
static void empty(struct object *object)
{
    struct event *event = (struct event *)object;
    event->options = (rnl_event_options){0};
    if (event->backend->event_init(event) == RNL_OK)
        event->backend->event_finish(event);
}

void event_pool_finish(struct context *context)
{
    for (unsigned i = 0; i < POOL_PARTS; i++) {
        struct object_quarantine *quarantine = &context->pool.parts[i].events;
        for (struct object *at = quarantine->first; at; at = at->next_free)
            empty(at);
        while (quarantine->count > 0)
            object_discard(object_quarantine_take_first(quarantine));
        quarantine->clear_count = 0;
    }
}
