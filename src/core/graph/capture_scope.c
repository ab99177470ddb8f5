// How captures begin and end.
#include "core/graph/graph.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"
#include "core/stream/capture.h"
#include "core/stream/stream.h"

// --- Begin -----------------------------------------------------------------

static rnl_status read_start(struct graph *graph,
                             const rnl_capture_options *options,
                             struct node_set *set)
{
    if (options->after_count == 0)
        return RNL_OK;
    if (!set_reserve(set, options->after_count))
        return capture_no_memory();
    rnl_status status =
        nodes_find_locked(graph, options->after, options->after_count, "after",
                          set->items);
    if (status == RNL_OK)
        set->count = (uint32_t)options->after_count;
    return status;
}

// The graph to capture into, referenced and marked.
static rnl_status take_graph(struct stream *stream, struct capture *capture,
                             const rnl_capture_options *options)
{
    struct graph *graph = NULL;
    if (!options->graph) {
        capture->graph = graph_new(stream_context(stream), options->label);
        return capture->graph ? RNL_OK : fail_status();
    }
    rnl_status status = graph_find(options->graph, "graph", &graph);
    if (status != RNL_OK)
        return status;
    lock_take(&graph->lock);
    if (graph->object.context != stream_context(stream))
        status = fail_at(RNL_ERROR_INVALID_HANDLE, "graph",
                         "'graph' belongs to another context than the stream");
    else if (graph->capture)
        status = fail_at(RNL_ERROR_INVALID_STATE, "graph",
                         "another capture is adding to the graph");
    else
        status = read_start(graph, options, &stream->after);
    if (status == RNL_OK)
        graph->capture = capture;
    capture->old_count = graph->count;
    lock_give(&graph->lock);
    capture->graph = graph;
    capture->into_existing = true;
    if (status != RNL_OK)
        object_unref(&graph->object);
    return status;
}

static rnl_status begin_locked(struct stream *stream,
                               const rnl_capture_options *options)
{
    ASSERT(lock_is_held(&capture_lock));
    if (capture_of(stream))
        return fail_at(RNL_ERROR_INVALID_STATE, "stream",
                       "the stream is being captured already");
    // Otherwise capture_stream_gone comes later and ends the capture begun
    // here.
    if (!object_handle(&stream->object))
        return fail_at(RNL_ERROR_INVALID_HANDLE, "stream",
                       "'stream' was released by another thread during the "
                       "call");
    struct capture *capture = mem_allocate(sizeof *capture);
    if (!capture)
        return capture_no_memory();
    atomic_init(&capture->references, 1);
    capture->mode = options->mode;
    capture->id = object_new_id();
    capture->thread = thread_number();
    rnl_status status = capture_add_stream_locked(capture, stream);
    if (status == RNL_OK && (status = take_graph(stream, capture, options))) {
        atomic_store(&stream->capture, NULL);
        object_unref(&stream->object);  // the caller has it, too
    }
    if (status != RNL_OK) {
        set_finish(&stream->after);
        capture_unref(capture);
        return status;
    }
    if (!capture->into_existing) {
        capture->graph->capture = capture;
        capture->graph->owned = true;
        object_publish(&capture->graph->object);
    }
    capture->origin = stream;
    capture->next = captures;
    captures = capture;
    atomic_fetch_add(&read_mostly.capture_traces, 1);
    return RNL_OK;
}

static rnl_status begin(struct stream *stream,
                        const rnl_capture_options *given)
{
    rnl_capture_options options;
    rnl_status status = options_read(&options, sizeof options, given,
                                     "options");
    if (status != RNL_OK || (status = stream_check_failure(stream)) ||
        (status = context_need(stream_context(stream), RNL_FEATURE_CAPTURE,
                               "stream", "capture is")))
        return status;
    if (options.mode < RNL_CAPTURE_THREAD_LOCAL ||
        options.mode > RNL_CAPTURE_RELAXED)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options",
                       "%d is no rnl_capture_mode", (int)options.mode);
    if (options.after_count > 0 && (!options.after || !options.graph ||
                                    options.after_count > UINT32_MAX / 8))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options",
                       "'after' needs its nodes, and the graph that has them");
    lock_take(&capture_lock);
    status = begin_locked(stream, &options);
    lock_give(&capture_lock);
    return status;
}

rnl_status rnl_stream_begin_capture(rnl_stream handle,
                                    const rnl_capture_options *options)
{
    struct stream *stream;
    CALL status = ENTER();
    if (status != RNL_OK || (status = check_stream(handle, "stream", &stream)))
        return status;
    return begin(stream, options);
}

// --- End -------------------------------------------------------------------

// Marks the nodes of `set` and all their predecessors, as far as the nodes are
// of this capture: nodes come after older nodes.
static void mark_locked(struct graph *graph, const struct node_set *set)
{
    ASSERT(lock_is_held(&graph->lock));
    for (uint32_t i = 0; i < graph->count; i++)
        graph->nodes[i].marked = false;
    for (uint32_t i = 0; i < set->count; i++)
        graph->nodes[set->items[i]].marked = true;
    for (uint32_t i = graph->count; i-- > 0;)
        for (uint32_t k = 0; k < graph->nodes[i].after_count; k++)
            graph->nodes[graph->nodes[i].after[k]].marked |=
                graph->nodes[i].marked;
}

static bool all_marked(const struct graph *graph, const struct node_set *set)
{
    for (uint32_t i = 0; i < set->count; i++)
        if (!graph->nodes[set->items[i]].marked)
            return false;
    return true;
}

// The stream with work that the origin's does not come after; NULL: none.
static struct stream *unjoined(const struct capture *capture)
{
    for (uint32_t i = 0; i < capture->member_count; i++)
        if (!all_marked(capture->graph, &capture->members[i]->after))
            return capture->members[i];
    return NULL;
}

static rnl_status check_joined(struct capture *capture)
{
    struct graph *graph = capture->graph;
    lock_take(&graph->lock);
    mark_locked(graph, &capture->origin->after);
    struct stream *stream = unjoined(capture);
    lock_give(&graph->lock);
    if (!stream)
        return RNL_OK;
    char text[160];
    return fail_at(RNL_ERROR_CAPTURE_UNJOINED, "stream",
                   "%s joined the capture, and its work was not waited for",
                   object_describe(&stream->object, text, sizeof text));
}

static void unlink_locked(struct capture *capture)
{
    ASSERT(lock_is_held(&capture_lock));
    struct capture **link = &captures;
    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    COUNT_DOWN(&read_mostly.capture_traces);
}

// Makes ordinary streams of the members, which the caller has to unref.
static void disband_locked(struct capture *capture)
{
    ASSERT(lock_is_held(&capture_lock));
    for (uint32_t i = 0; i < capture->member_count; i++) {
        atomic_store(&capture->members[i]->capture, NULL);
        set_finish(&capture->members[i]->after);
    }
    unlink_locked(capture);
    capture->origin = NULL;
}

// Removes captured nodes from the caller's graph, without any lock held,
// because an ending node may end further objects.
static void cut_nodes(struct graph *graph, uint32_t count)
{
    struct node removed;
    bool found;
    do {
        lock_take(&graph->lock);
        found = node_cut_locked(graph, count, &removed);
        lock_give(&graph->lock);
        if (found && removed.kind)
            node_finish(&removed);
    } while (found);
}

static void free_graph(struct capture *capture, rnl_status status)
{
    struct graph *graph = capture->graph;
    if (status != RNL_OK && capture->into_existing)
        cut_nodes(graph, capture->old_count);
    lock_take(&graph->lock);
    graph->capture = NULL;
    if (status == RNL_OK && !capture->into_existing)
        graph->owned = false;
    lock_give(&graph->lock);
}

// The caller's part of an ended capture, outside of the lock.
static rnl_status finish(struct capture *capture, rnl_status status,
                         rnl_graph *out_graph)
{
    struct graph *graph = capture->graph;
    free_graph(capture, status);
    for (uint32_t i = 0; i < capture->member_count; i++)
        object_unref(&capture->members[i]->object);
    rnl_graph handle = object_handle(&graph->object);
    if (status == RNL_OK &&
        capture->into_existing)  // a body's node may be gone
        status = object_retain(handle, OBJECT_GRAPH, "graph");
    if (status == RNL_OK)
        *out_graph = handle;
    else if (!capture->into_existing)
        graph_release_owned(graph);
    if (capture->into_existing)
        object_unref(&graph->object);
    capture_unref(capture);
    return status;
}

static rnl_status judge(struct capture *capture)
{
    if (capture->invalid)
        return capture_fail_invalid(capture);
    rnl_status status = check_joined(capture);
    if (status == RNL_OK && capture->mode != RNL_CAPTURE_RELAXED &&
        capture->thread != thread_number())
        status = fail_at(RNL_ERROR_CAPTURE_THREAD, "stream",
                         "another thread began the capture; it is over, and "
                         "its graph is lost");
    return status;
}

// `function_status`: unless RNL_OK, the capture is lost for that.
static rnl_status end(struct stream *stream, rnl_status function_status,
                      rnl_graph *out_graph)
{
    rnl_status status;
    lock_take(&capture_lock);
    struct capture *capture = capture_of(stream);
    if (!capture) {
        status = fail_at(RNL_ERROR_INVALID_STATE, "stream",
                         "the stream is not being captured");
    } else if (capture->origin != stream) {
        capture_invalidate_locked(capture);
        status = fail_at(RNL_ERROR_CAPTURE_UNMATCHED, "stream",
                         "the stream joined the capture; it has to be ended "
                         "where it began");
        capture = NULL;
    } else {
        status = function_status ? function_status : judge(capture);
        disband_locked(capture);
    }
    lock_give(&capture_lock);
    return capture ? finish(capture, status, out_graph) : status;
}

static rnl_status end_handle(rnl_stream handle, rnl_status function_status,
                             rnl_graph *out_graph)
{
    struct object *object = object_find_ref(handle, OBJECT_STREAM);
    if (!object)
        return object_refuse(handle, OBJECT_STREAM, "stream");
    rnl_status status =
        end((struct stream *)object, function_status, out_graph);
    object_unref(object);
    return status;
}

rnl_status rnl_stream_end_capture(rnl_stream handle, rnl_graph *out_graph)
{
    rnl_status status = ENTER();
    if (status == RNL_OK)
        status = check_pointer(out_graph, "out_graph");
    return status ? status : end_handle(handle, RNL_OK, out_graph);
}

// The caller's last reference to the stream is gone: ends the capture that
// began there, without a graph.
static void end_abandoned(struct stream *stream)
{
    lock_take(&capture_lock);
    struct capture *capture = capture_of(stream);
    bool origin = capture && capture->origin == stream;
    if (origin)
        disband_locked(capture);
    lock_give(&capture_lock);
    if (origin)
        finish(capture, RNL_ERROR_INVALID_STATE, NULL);
}

// --- In one go -------------------------------------------------------------

rnl_status rnl_stream_capture(rnl_stream handle,
                              const rnl_capture_options *options,
                              rnl_capture_fn function, void *user_data,
                              rnl_graph *out_graph)
{
    struct stream *stream;
    rnl_graph graph = NULL;
    CALL status = ENTER();
    if (status != RNL_OK || (status = check_pointer(out_graph, "out_graph")))
        return status;
    if (!function)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "function",
                       "'function' is NULL");
    if ((status = check_stream(handle, "stream", &stream)) ||
        (status = begin(stream, options)))
        return status;
    rnl_status function_status = function(handle, user_data);
    thread_state.function = __func__;  // the calls inside have other names
    rnl_status ended = end_handle(handle, function_status, &graph);
    if (ended == RNL_OK)
        *out_graph = graph;
    return function_status ? function_status : ended;
}

// --- Facts -----------------------------------------------------------------

rnl_status rnl_stream_get_capture_info(rnl_stream handle,
                                       rnl_capture_info *out_info)
{
    struct stream *stream;
    rnl_capture_info info = {0};
    CALL status = ENTER();
    if (status != RNL_OK || (status = check_stream(handle, "stream", &stream)))
        return status;
    lock_take(&capture_lock);
    struct capture *capture = capture_of(stream);
    if (capture) {
        info.status = capture->invalid ? RNL_CAPTURE_INVALIDATED
                                       : RNL_CAPTURE_ACTIVE;
        info.mode = capture->mode;
        info.id = capture->id;
        info.graph = object_handle(&capture->graph->object);
        info.node_count = stream->after.count;
    }
    lock_give(&capture_lock);
    return info_write(out_info, &info, sizeof info, "out_info");
}

const struct capture_recorder capture_graph_recorder = {
    .ops = capture_add_ops,
    .record = capture_add_record,
    .wait = capture_add_wait,
    .join = capture_add_join,
    .buffer = capture_add_buffer,
    .stream_gone = end_abandoned,
};
