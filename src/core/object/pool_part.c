#include "core/object/pool_part.h"

#include "core/object/context_object.h"
#include "core/object/object.h"
#include "core/object/pool_state.h"

void pool_refuse_context(void)
{
    fail_at(RNL_ERROR_INVALID_HANDLE, "context",
            "the context was released by another thread during the call");
}

void pool_part_leave(struct pool_part *part, struct context *context)
{
    biased_lock_take(&part->lock, thread_number(), BIASED_VISIT);
    bool drop = pool_part_leave_locked(part, context);
    biased_lock_give(&part->lock, thread_number());
    if (drop)
        object_unref(&context->object);
}
