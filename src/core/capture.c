// While it is under way: what is captured, refused, and made invalid.
#include "core/capture_state.h"

#include <stdio.h>
#include <string.h>

struct lock capture_lock = LOCK_RANKED(RANK_CAPTURE);
struct capture *captures;

void capture_drop(struct capture *capture)
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
    atomic_store(&often.capture_traces, 0);
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

static rnl_status refuse_locked(struct capture *capture)
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

rnl_status capture_judge_stream(struct stream *stream)
{
    lock_take(&capture_lock);
    struct capture *capture = capture_of(stream);
    rnl_status status =
        capture ? refuse_locked(capture) : check_thread_locked();
    lock_give(&capture_lock);
    return status;
}

static rnl_status fail_event(const struct event *event, bool over)
{
    char text[160];
    return fail_at(RNL_ERROR_CAPTURED_EVENT, "event",
                   "%s was recorded in a capture%s and stands for no work that "
                   "runs",
                   object_describe(&event->object, text, sizeof text),
                   over ? " that is over" : "");
}

rnl_status capture_judge_event(struct event *event)
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
        status = fail_event(event, over);
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
    rnl_status status = capture ? refuse_locked(capture) : RNL_OK;
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

// --- What the next operation of a stream comes after -------------------------

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

// Adds a node behind all that the stream has so far.
static rnl_status add_locked(struct stream *stream, struct capture *capture,
                             struct new_node *node)
{
    ASSERT(lock_is_held(&capture_lock));
    uint32_t index;
    struct graph *graph = capture->graph;
    rnl_status status = RNL_OK;
    if (capture->invalid)
        status = capture_fail_invalid(capture);
    else if ((status = graph_check_kind(graph, node->kind,
                                        RNL_ERROR_CAPTURE_UNSUPPORTED,
                                        "stream")))
        capture_invalidate_locked(capture);
    else if (!set_reserve(&stream->after, 1))
        status = capture_no_memory();
    if (status == RNL_OK) {
        lock_take(&graph->lock);
        status = node_add_locked(graph, node, stream->after.items,
                                 stream->after.count, &index);
        lock_give(&graph->lock);
    }
    if (status != RNL_OK)
        return status;
    stream->after.items[0] = index;
    stream->after.count = 1;
    return RNL_OK;
}

// --- Operations ------------------------------------------------------------

static rnl_node_kind kind_of(const struct op *first)
{
    for (const struct op *op = first; op; op = op->next) {
        if (op->kind == OP_KERNEL)
            return RNL_NODE_FUNCTION;
        if (op->kind == OP_FILL)
            return RNL_NODE_FILL;
        if (op->kind == OP_HOST)
            return RNL_NODE_HOST_FUNCTION;
        if (op->kind == OP_VALUES)
            return RNL_NODE_VALUES;
        if (op->kind != OP_COPY)
            return 0;
    }
    return RNL_NODE_COPY;
}

// False when there is no capture any more to refuse for.
static bool refuse_ops(struct op *first, rnl_status *out_status)
{
    *out_status = capture_refuse(first->stream);
    if (*out_status == RNL_OK)
        return false;
    op_finish_list(first);
    return true;
}

// The capture was ended meanwhile.
static void give_back(struct recipe *recipe, struct stream *stream)
{
    for (struct op *op = recipe->ops; op; op = op->next) {
        op->stream = stream;
        if (op->label == recipe->label)
            op->label = NULL;
    }
    recipe->ops = NULL;
    recipe_drop(recipe);
}

bool capture_ops(struct op *first, rnl_status *out_status)
{
    struct stream *stream = first->stream;
    struct new_node node = {.kind = kind_of(first)};
    if (!node.kind)
        return refuse_ops(first, out_status);
    *out_status = recipe_of_ops(first, &node.recipe);
    if (*out_status != RNL_OK) {
        op_finish_list(first);
        return true;
    }
    lock_take(&capture_lock);
    struct capture *capture = capture_of(stream);
    if (capture)
        *out_status = add_locked(stream, capture, &node);
    lock_give(&capture_lock);
    if (!capture)
        give_back(node.recipe, stream);
    else if (*out_status != RNL_OK)
        recipe_drop(node.recipe);
    return capture != NULL;
}

static rnl_status add_object_locked(struct stream *stream,
                                    struct capture *capture,
                                    rnl_node_kind kind, struct object *object)
{
    ASSERT(lock_is_held(&capture_lock));
    struct new_node node = {.kind = kind};
    rnl_status status = recipe_of_object(object, &node.recipe);
    if (status == RNL_OK && (status = add_locked(stream, capture, &node)))
        recipe_drop(node.recipe);  // the caller has the object, too
    return status;
}

// --- Buffers ---------------------------------------------------------------

static rnl_status check_release_locked(struct graph *graph,
                                       const struct buffer *buffer)
{
    ASSERT(lock_is_held(&capture_lock));
    lock_take(&graph->lock);
    rnl_status status = node_check_release_locked(graph, &buffer->object);
    lock_give(&graph->lock);
    return status;
}

bool capture_buffer(struct stream *stream, struct buffer *buffer,
                    rnl_node_kind kind, rnl_status *out_status)
{
    if (!stream_is_captured(stream))
        return false;
    lock_take(&capture_lock);
    struct capture *capture = capture_of(stream);
    if (capture) {
        *out_status = kind == RNL_NODE_BUFFER_RELEASE && !capture->invalid
                          ? check_release_locked(capture->graph, buffer)
                          : RNL_OK;
        if (*out_status == RNL_OK)
            *out_status = add_object_locked(stream, capture, kind,
                                            &buffer->object);
    }
    lock_give(&capture_lock);
    return capture != NULL;
}

// --- Events ----------------------------------------------------------------

static void forget_locked(struct event *event)
{
    ASSERT(lock_is_held(&capture_lock));
    struct capture *capture = event->capture;
    event->capture = NULL;
    atomic_store(&event->captured, false);
    set_finish(&event->after);
    if (!capture)
        return;
    capture_drop(capture);
    COUNT_DOWN(&often.capture_traces);
}

void capture_forget_captured(struct event *event)
{
    lock_take(&capture_lock);
    forget_locked(event);
    lock_give(&capture_lock);
}

static rnl_status record_locked(struct stream *stream, struct event *event,
                                struct capture *capture)
{
    ASSERT(lock_is_held(&capture_lock));
    struct node_set set = {0};
    if (capture->invalid)
        return capture_fail_invalid(capture);
    if (event->options.promise || event->options.interprocess)
        return refuse_locked(capture);
    if (!set_unite(&set, &stream->after))
        return capture_no_memory();
    forget_locked(event);
    event->after = set;
    event->capture = capture;
    atomic_fetch_add(&capture->references, 1);
    atomic_fetch_add(&often.capture_traces, 1);
    atomic_store(&event->captured, true);
    return RNL_OK;
}

static rnl_status external_locked(struct stream *stream, struct event *event,
                                  struct capture *capture, rnl_node_kind kind)
{
    ASSERT(lock_is_held(&capture_lock));
    if (event->options.promise || event->options.interprocess)
        return refuse_locked(capture);
    return add_object_locked(stream, capture, kind, &event->object);
}

bool capture_record(struct stream *stream, struct event *event, bool external,
                    rnl_status *out_status)
{
    if (!stream_is_captured(stream)) {
        capture_forget(event);
        return false;
    }
    if ((*out_status = object_keep_for(&event->object, "event")))
        return true;
    lock_take(&capture_lock);
    struct capture *capture = capture_of(stream);
    if (capture)
        *out_status = external
                          ? external_locked(stream, event, capture,
                                            RNL_NODE_EVENT_RECORD)
                          : record_locked(stream, event, capture);
    else
        forget_locked(event);
    lock_give(&capture_lock);
    object_drop(&event->object);
    return capture != NULL;
}

static bool grow_locked(struct capture *capture)
{
    ASSERT(lock_is_held(&capture_lock));
    struct stream **members =
        mem_room(capture->members, capture->member_count,
                 &capture->member_most, sizeof *members, 4);
    if (members)
        capture->members = members;
    return members != NULL;
}

rnl_status capture_add_stream_locked(struct capture *capture,
                                    struct stream *stream)
{
    ASSERT(lock_is_held(&capture_lock));
    if (stream->borrowed == RNL_NATIVE_LEGACY)
        return fail_at(RNL_ERROR_CAPTURE_UNSUPPORTED, "stream",
                       "RNL_NATIVE_LEGACY cannot be captured, as with the "
                       "driver: what all blocking streams wait for is in no "
                       "graph. Capture a stream of rnl_stream_create");
    if (!grow_locked(capture))
        return capture_no_memory();
    rnl_status status = object_keep_for(&stream->object, "stream");
    if (status != RNL_OK)
        return status;
    capture->members[capture->member_count++] = stream;
    atomic_store(&stream->capture, capture);
    return RNL_OK;
}

static rnl_status join_locked(struct stream *stream, struct capture *capture,
                              const struct node_set *after)
{
    ASSERT(lock_is_held(&capture_lock));
    if (capture->invalid)
        return capture_fail_invalid(capture);
    if (stream->object.context != capture->graph->object.context)
        return fail_at(RNL_ERROR_CAPTURE_ISOLATION, "stream",
                       "a stream of another context cannot join the capture");
    if (!set_unite(&stream->after, after))
        return capture_no_memory();
    if (capture_of(stream))
        return RNL_OK;
    rnl_status status = capture_add_stream_locked(capture, stream);
    if (status != RNL_OK)
        set_finish(&stream->after);  // of a graph that is not the stream's
    return status;
}

static rnl_status merge_locked(struct capture *one, struct capture *other)
{
    ASSERT(lock_is_held(&capture_lock));
    capture_invalidate_locked(one);
    capture_invalidate_locked(other);
    return fail_at(RNL_ERROR_CAPTURE_MERGE, "stream",
                   "the stream and what it is to wait for are in two captures");
}

static rnl_status isolate_locked(struct capture *capture, const char *what)
{
    ASSERT(lock_is_held(&capture_lock));
    capture_invalidate_locked(capture);
    return fail_at(RNL_ERROR_CAPTURE_ISOLATION, what,
                   "'%s' stands for work outside of the capture", what);
}

// A captured stream, or a captured event, or both.
static rnl_status wait_locked(struct stream *stream, struct event *event,
                              struct capture *mine)
{
    ASSERT(lock_is_held(&capture_lock));
    struct capture *theirs = event->capture;
    if (mine && mine->invalid)
        return capture_fail_invalid(mine);
    if (theirs && !theirs->origin) {
        if (mine)
            capture_invalidate_locked(mine);
        return fail_event(event, true);
    }
    if (mine && theirs && mine != theirs)
        return merge_locked(mine, theirs);
    if (theirs)
        return join_locked(stream, theirs, &event->after);
    return event->options.promise || event->options.interprocess ||
                   atomic_load(&event->recorded)
               ? isolate_locked(mine, "event")
               : RNL_OK;
}

bool capture_wait(struct stream *stream, struct event *event, bool external,
                  rnl_status *out_status)
{
    if (!stream_is_captured(stream) && (external || !event_is_captured(event)))
        return false;
    if ((*out_status = object_keep_for(&event->object, "event")))
        return true;
    lock_take(&capture_lock);
    struct capture *mine = capture_of(stream);
    bool concerned = mine || (!external && event->capture);
    if (mine && external)
        *out_status = external_locked(stream, event, mine,
                                      RNL_NODE_EVENT_WAIT);
    else if (concerned)
        *out_status = wait_locked(stream, event, mine);
    lock_give(&capture_lock);
    object_drop(&event->object);
    return concerned;
}

bool capture_join(struct stream *stream, struct stream *other,
                  rnl_status *out_status)
{
    if (!stream_is_captured(stream) && !stream_is_captured(other))
        return false;
    lock_take(&capture_lock);
    struct capture *mine = capture_of(stream), *theirs = capture_of(other);
    if (mine && mine->invalid)
        *out_status = capture_fail_invalid(mine);
    else if (mine && theirs && mine != theirs)
        *out_status = merge_locked(mine, theirs);
    else if (theirs)
        *out_status = join_locked(stream, theirs, &other->after);
    else if (mine)
        *out_status = isolate_locked(mine, "other");
    lock_give(&capture_lock);
    return mine || theirs;
}
