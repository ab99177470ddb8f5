// The parts of a context's pool, one for each of a few threads.
#pragma once

#include "core/object/context_object.h"

static inline struct pool_part *pool_part_of(struct memory_pool *pool,
                                             uint64_t thread)
{
    // As a sum, or gcc computes the place again for each of its fields.
    return pool->parts + thread % POOL_PARTS;
}

// With the part's lock held.
static inline uint64_t pool_part_next_id_locked(struct pool_part *part)
{
    ASSERT(biased_is_held(&part->lock));
    const uint64_t batch = 64;
    if (part->next_id == part->end_id) {
        part->next_id = object_new_ids(batch);
        part->end_id = part->next_id + batch;
    }
    return part->next_id++;
}

// One more is in use, or about to be. False when the context is gone.
static inline bool pool_part_enter_locked(struct pool_part *part,
                                     struct context *context)
{
    ASSERT(biased_is_held(&part->lock));
    if (!part->holds && !object_ref_if_alive(&context->object))
        return false;
    part->holds = true;
    part->live_count++;
    return true;
}

// One less; true when the caller has to drop the context.
static inline bool pool_part_leave_locked(struct pool_part *part,
                                     struct context *context)
{
    ASSERT(biased_is_held(&part->lock));
    ASSERT(part->live_count > 0);
    part->live_count--;
    if (part->live_count > 0 ||
        !atomic_load_explicit(&context->pool.closed, memory_order_acquire))
        return false;
    part->holds = false;
    return true;
}

// The same, without the lock.
void pool_part_leave(struct pool_part *part, struct context *context);

// Records why nothing could be had of a context that is gone.
void pool_refuse_context(void);
