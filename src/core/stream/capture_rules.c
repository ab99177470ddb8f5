// Captures as the calls see them that add no nodes: the refusals, and the
// state.
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/object.h"
#include "core/stream/capture.h"
#include "core/stream/event.h"
#include "core/stream/stream.h"

#include <stdio.h>
#include <string.h>

const struct capture_recorder *capture_recorder;
struct lock capture_lock = LOCK_RANKED(RANK_CAPTURE);
struct capture *captures;

void capture_unref(struct capture *capture)
{
    if (COUNT_DOWN(&capture->references) != 1)
        return;
    mem_release(capture->members,
                capture->member_most * sizeof *capture->members);
    mem_release(capture, sizeof *capture);
}

void capture_forked(void)
{
    capture_lock = (struct lock)LOCK_RANKED(RANK_CAPTURE);
    captures = NULL;
    atomic_store(&read_mostly.capture_traces, 0);
}

// --- Threads ---------------------------------------------------------------

static _Thread_local rnl_capture_mode thread_mode = RNL_CAPTURE_GLOBAL;

rnl_status rnl_capture_exchange_mode(rnl_capture_mode *mode)
{
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = check_pointer(mode, "mode")))
        return status;
    if (*mode < RNL_CAPTURE_THREAD_LOCAL || *mode > RNL_CAPTURE_RELAXED)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "mode",
                       "%d is no rnl_capture_mode", (int)*mode);
    rnl_capture_mode old = thread_mode;
    thread_mode = *mode;
    *mode = old;
    return RNL_OK;
}

// --- Refusals --------------------------------------------------------------

void capture_invalidate_locked(struct capture *capture)
{
    ASSERT(lock_is_held(&capture_lock));
    if (!capture->invalid)
        snprintf(capture->culprit, sizeof capture->culprit, "%s",
                 thread_state.function);
    capture->invalid = true;
}

rnl_status capture_fail_invalid(const struct capture *capture)
{
    return fail_at(RNL_ERROR_CAPTURE_INVALIDATED, "stream",
                   "the capture was made invalid by a call of %s; end it",
                   capture->culprit);
}

rnl_status capture_refuse_locked(struct capture *capture)
{
    ASSERT(lock_is_held(&capture_lock));
    capture_invalidate_locked(capture);
    return fail_at(RNL_ERROR_CAPTURE_UNSUPPORTED, "stream",
                   "%s cannot be used on 'stream', which is being captured",
                   thread_state.function);
}

static rnl_status refuse_context_locked(struct capture *capture)
{
    ASSERT(lock_is_held(&capture_lock));
    capture_invalidate_locked(capture);
    return fail_at(RNL_ERROR_CAPTURE_UNSUPPORTED, "context",
                   "%s cannot be used on 'context', a stream of which is being "
                   "captured",
                   thread_state.function);
}

// May the calling thread disturb this capture?
static bool is_protected(const struct capture *capture, uint64_t thread)
{
    if (capture->mode == RNL_CAPTURE_RELAXED ||
        thread_mode == RNL_CAPTURE_RELAXED)
        return false;
    return capture->thread == thread ||
           (capture->mode == RNL_CAPTURE_GLOBAL &&
            thread_mode == RNL_CAPTURE_GLOBAL);
}

static rnl_status check_thread_locked(void)
{
    ASSERT(lock_is_held(&capture_lock));
    bool hit = false;
    uint64_t thread = thread_number();
    for (struct capture *at = captures; at; at = at->next) {
        if (!is_protected(at, thread))
            continue;
        capture_invalidate_locked(at);
        hit = true;
    }
    return hit ? fail(RNL_ERROR_CAPTURE_UNSUPPORTED,
                      "%s could disturb a capture under way; its mode forbids "
                      "that to this thread",
                      thread_state.function)
               : RNL_OK;
}

rnl_status capture_verify_stream(struct stream *stream)
{
    lock_take(&capture_lock);
    struct capture *capture = capture_of(stream);
    rnl_status status =
        capture ? capture_refuse_locked(capture) : check_thread_locked();
    lock_give(&capture_lock);
    return status;
}

rnl_status capture_fail_event(const struct event *event, bool over)
{
    char text[160];
    return fail_at(RNL_ERROR_CAPTURED_EVENT, "event",
                   "%s was recorded in a capture%s and stands for no work that "
                   "runs",
                   object_describe(&event->object, text, sizeof text),
                   over ? " that is over" : "");
}

rnl_status capture_verify_event(struct event *event)
{
    lock_take(&capture_lock);
    struct capture *capture = event->capture;
    rnl_status status;
    if (!capture) {
        status = check_thread_locked();
    } else {
        bool over = !capture->origin;
        if (!over)
            capture_invalidate_locked(capture);
        status = capture_fail_event(event, over);
    }
    lock_give(&capture_lock);
    return status;
}

rnl_status capture_refuse(struct stream *stream)
{
    if (!stream_is_captured(stream))
        return RNL_OK;
    lock_take(&capture_lock);
    struct capture *capture = capture_of(stream);
    rnl_status status = capture ? capture_refuse_locked(capture) : RNL_OK;
    lock_give(&capture_lock);
    return status;
}

rnl_status capture_check_context(struct context *context, bool waits)
{
    rnl_status status = RNL_OK;
    if (!capture_is_used())
        return RNL_OK;
    lock_take(&capture_lock);
    for (struct capture *at = captures; at; at = at->next)
        if (at->origin->object.context == context)
            status = refuse_context_locked(at);
    if (status == RNL_OK && waits)
        status = check_thread_locked();
    lock_give(&capture_lock);
    return status;
}

// --- Sets of nodes ----------------------------------------------------------

rnl_status capture_no_memory(void)
{
    return fail(RNL_ERROR_OUT_OF_MEMORY,
                "there is no memory to capture more");
}

bool set_reserve(struct node_set *set, size_t most)
{
    if (most <= set->most)
        return true;
    uint32_t *items = mem_grow(set->items, set->most * sizeof *items,
                               most * sizeof *items);
    if (!items)
        return false;
    set->items = items;
    set->most = (uint32_t)most;
    return true;
}

void set_finish(struct node_set *set)
{
    mem_release(set->items, set->most * sizeof *set->items);
    *set = (struct node_set){0};
}

static bool set_has(const struct node_set *set, uint32_t item)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (set->items[i] == item)
            return true;
    return false;
}

bool set_unite(struct node_set *set, const struct node_set *other)
{
    if (!set_reserve(set, (size_t)set->count + other->count))
        return false;
    for (uint32_t i = 0; i < other->count; i++)
        if (!set_has(set, other->items[i]))
            set->items[set->count++] = other->items[i];
    return true;
}

// --- Events -----------------------------------------------------------------

void capture_forget_locked(struct event *event)
{
    ASSERT(lock_is_held(&capture_lock));
    struct capture *capture = event->capture;
    event->capture = NULL;
    atomic_store(&event->captured, false);
    set_finish(&event->after);
    if (!capture)
        return;
    capture_unref(capture);
    COUNT_DOWN(&read_mostly.capture_traces);
}

void capture_forget_captured(struct event *event)
{
    lock_take(&capture_lock);
    capture_forget_locked(event);
    lock_give(&capture_lock);
}
