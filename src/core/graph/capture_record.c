// Recording: calls on captured streams become nodes.

#include "core/graph/graph.h"
#include "core/graph/node_params.h"
#include "core/object/buffer_object.h"
#include "core/object/object.h"
#include "core/stream/capture.h"
#include "core/stream/event.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <stdio.h>
#include <string.h>

// --- What the next operation of a stream comes after -------------------------

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
        if (op->kind == OP_MEMORY_OPS)
            return RNL_NODE_VALUES;
        if (op->kind != OP_COPY)
            return 0;
    }
    return RNL_NODE_COPY;
}

// False when the capture has ended meanwhile.
static bool refuse_ops(struct op *first, rnl_status *out_status)
{
    *out_status = capture_refuse(first->stream);
    if (*out_status == RNL_OK)
        return false;
    op_finish_list(first);
    return true;
}

// The capture was ended meanwhile.
static void give_back(struct node_params *node_params, struct stream *stream)
{
    for (struct op *op = node_params->ops; op; op = op->next) {
        op->stream = stream;
        if (op->label == node_params->label)
            op->label = NULL;
    }
    node_params->ops = NULL;
    node_params_unref(node_params);
}

bool capture_add_ops(struct op *first, rnl_status *out_status)
{
    struct stream *stream = first->stream;
    struct new_node node = {.kind = kind_of(first)};
    if (!node.kind)
        return refuse_ops(first, out_status);
    *out_status = node_params_of_ops(first, &node.node_params);
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
        give_back(node.node_params, stream);
    else if (*out_status != RNL_OK)
        node_params_unref(node.node_params);
    return capture != NULL;
}

static rnl_status add_object_locked(struct stream *stream,
                                    struct capture *capture,
                                    rnl_node_kind kind, struct object *object)
{
    ASSERT(lock_is_held(&capture_lock));
    struct new_node node = {.kind = kind};
    rnl_status status = node_params_of_object(object, &node.node_params);
    if (status == RNL_OK && (status = add_locked(stream, capture, &node)))
        node_params_unref(node.node_params);  // the caller has the object, too
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

bool capture_add_buffer(struct stream *stream, struct buffer *buffer,
                        rnl_node_kind kind, rnl_status *out_status)
{
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

static rnl_status record_locked(struct stream *stream, struct event *event,
                                struct capture *capture)
{
    ASSERT(lock_is_held(&capture_lock));
    struct node_set set = {0};
    if (capture->invalid)
        return capture_fail_invalid(capture);
    if (event->options.promise || event->options.interprocess)
        return capture_refuse_locked(capture);
    if (!set_unite(&set, &stream->after))
        return capture_no_memory();
    capture_forget_locked(event);
    event->after = set;
    event->capture = capture;
    atomic_fetch_add(&capture->references, 1);
    atomic_fetch_add(&read_mostly.capture_traces, 1);
    atomic_store(&event->captured, true);
    return RNL_OK;
}

static rnl_status external_locked(struct stream *stream, struct event *event,
                                  struct capture *capture, rnl_node_kind kind)
{
    ASSERT(lock_is_held(&capture_lock));
    if (event->options.promise || event->options.interprocess)
        return capture_refuse_locked(capture);
    return add_object_locked(stream, capture, kind, &event->object);
}

bool capture_add_record(struct stream *stream, struct event *event,
                        bool external, rnl_status *out_status)
{
    if (!stream_is_captured(stream)) {
        capture_forget(event);
        return false;
    }
    if ((*out_status = object_ref_for(&event->object, "event")))
        return true;
    lock_take(&capture_lock);
    struct capture *capture = capture_of(stream);
    if (capture)
        *out_status = external
                          ? external_locked(stream, event, capture,
                                            RNL_NODE_EVENT_RECORD)
                          : record_locked(stream, event, capture);
    else
        capture_forget_locked(event);
    lock_give(&capture_lock);
    object_unref(&event->object);
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
    rnl_status status = object_ref_for(&stream->object, "stream");
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
        return capture_fail_event(event, true);
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

bool capture_add_wait(struct stream *stream, struct event *event, bool external,
                      rnl_status *out_status)
{
    if (!stream_is_captured(stream) && (external || !event_is_captured(event)))
        return false;
    if ((*out_status = object_ref_for(&event->object, "event")))
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
    object_unref(&event->object);
    return concerned;
}

bool capture_add_join(struct stream *stream, struct stream *other,
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
