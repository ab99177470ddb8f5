// Executable graphs: a graph as it was, made ready by the backend.

#include "core/backend.h"
#include "core/graph/graph.h"
#include "core/graph/node_params.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"
#include "core/stream/capture.h"
#include "core/stream/event.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

static void exec_finish(struct object *object)
{
    struct graph_exec *exec = (struct graph_exec *)object;
    exec->backend->exec_finish(exec);
    object_unref(&exec->snapshot->object);
}

static struct object_class *class_of(const struct backend *backend)
{
    static const struct object_class like = {.kind = OBJECT_GRAPH_EXEC,
                                             .finish = exec_finish};
    static struct object_class classes[BACKENDS_MAX];
    return object_class_of(&classes[backend_index(backend)], &like,
                           sizeof(struct graph_exec) + backend->exec_size);
}

static rnl_status exec_find(rnl_graph_exec handle, struct graph_exec **out)
{
    *out = (struct graph_exec *)object_find_ref(handle,
                                                     OBJECT_GRAPH_EXEC);
    return *out ? RNL_OK : object_refuse(handle, OBJECT_GRAPH_EXEC, "exec");
}

// --- Life ------------------------------------------------------------------

// Takes over the snapshot on success only.
static rnl_status exec_new(struct graph *graph, struct graph *snapshot,
                           struct graph_exec **out_exec)
{
    struct graph_exec *exec = (struct graph_exec *)object_create(
        class_of(graph->backend), graph->object.context, graph->object.label);
    if (!exec)
        return fail_status();
    exec->backend = graph->backend;
    exec->source = graph->number;
    exec->snapshot = snapshot;
    lock_set_rank(&exec->lock, RANK_EXEC);
    lock_set_rank(&exec->snapshot_lock, RANK_SNAPSHOT);
    rnl_status status = graph->backend->exec_init(exec);
    if (status != RNL_OK)
        object_abandon(&exec->object);
    else
        *out_exec = exec;
    return status;
}

static rnl_status instantiate(struct graph *graph, rnl_graph_exec *out_exec)
{
    struct graph_exec *exec = NULL;
    struct graph *snapshot = graph_copy(graph, true);
    if (!snapshot)
        return fail_status();
    rnl_status status = exec_new(graph, snapshot, &exec);
    if (exec)
        *out_exec = object_publish(&exec->object);
    else
        object_unref(&snapshot->object);
    return status;
}

rnl_status rnl_graph_instantiate(rnl_graph handle, rnl_graph_exec *out_exec)
{
    struct graph *graph;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_pointer(out_exec, "out_exec")) ||
        (status = graph_find(handle, "graph", &graph)))
        return status;
    status = instantiate(graph, out_exec);
    object_unref(&graph->object);
    return status;
}

rnl_status rnl_graph_exec_retain(rnl_graph_exec exec)
{
    rnl_status status = ENTER();
    return status ? status : object_retain(exec, OBJECT_GRAPH_EXEC, "exec");
}

rnl_status rnl_graph_exec_release(rnl_graph_exec exec)
{
    rnl_status status = ENTER_RELEASE();
    return status ? status : object_release(exec, OBJECT_GRAPH_EXEC, "exec");
}

// --- Launching -------------------------------------------------------------

static rnl_status foreign_exec(void)
{
    return fail_at(RNL_ERROR_INVALID_HANDLE, "exec",
                   "'exec' belongs to another context than the stream");
}

static void forget_captured(const struct graph *graph)
{
    for (uint32_t i = 0; graph->records && i < graph->count; i++) {
        const struct node *node = &graph->nodes[i];
        if (node->kind == RNL_NODE_EVENT_RECORD)
            capture_forget((struct event *)node->node_params->subject);
        if (node->inner)
            forget_captured(node->inner);
    }
}

// Events that the graph records stand for running work, whatever their capture
// before. A change of the graph may wait for the device; a launch must not.
static void note_records(struct graph_exec *exec)
{
    lock_take(&exec->snapshot_lock);
    forget_captured(exec->snapshot);
    lock_give(&exec->snapshot_lock);
}

// A launch that ends with the call.
static enum launch_result inline_launch(struct stream *stream,
                                        struct graph_exec *exec)
{
    struct op op;
    if (!stream->inline_launch || capture_is_used())
        return LAUNCH_NEEDS_OP;
    op.next = NULL;
    op.stream = stream;
    op.kind = OP_GRAPH;
    op.borrows = true;
    op.file = op.label = NULL;
    op.line = 0;
    op.kept_count = 0;
    op.graph.exec = exec;
    return stream->inline_launch(stream, &op);
}

// Takes over the reference to the exec.
static rnl_status launch_as_op(struct stream *stream, struct graph_exec *exec)
{
    struct op *op = op_create(stream, OP_GRAPH, 0);
    if (!op) {
        object_unref(&exec->object);
        return RNL_ERROR_OUT_OF_MEMORY;
    }
    bool notes = capture_is_used() && !stream_is_captured(stream);
    if (notes)
        object_ref(&exec->object);
    op->graph.exec = exec;
    op->kept[op->kept_count++] = &exec->object;
    rnl_status status = op_submit(op);
    if (notes && status == RNL_OK)
        note_records(exec);
    if (notes)
        object_unref(&exec->object);
    return status;
}

rnl_status rnl_enqueue_graph(rnl_stream handle, rnl_graph_exec exec_handle)
{
    struct stream *stream;
    struct graph_exec *exec = NULL;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(handle, "stream", &stream)) ||
        (status = exec_find(exec_handle, &exec)))
        return status;
    if (exec->object.context != stream_context(stream))
        status = foreign_exec();
    else if ((status = stream_check_failure(stream)) == RNL_OK) {
        enum launch_result result = inline_launch(stream, exec);
        if (result == LAUNCH_NEEDS_OP)
            return launch_as_op(stream, exec);
        status = result == LAUNCH_DONE ? RNL_OK : fail_status();
    }
    object_unref(&exec->object);
    return status;
}

rnl_status rnl_enqueue_graph_upload(rnl_stream handle,
                                    rnl_graph_exec exec_handle)
{
    struct stream *stream;
    struct graph_exec *exec = NULL;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(handle, "stream", &stream)) ||
        (status = exec_find(exec_handle, &exec)))
        return status;
    if (exec->object.context != stream_context(stream))
        status = foreign_exec();
    else if ((status = stream_check_failure(stream)) == RNL_OK &&
             (status = capture_refuse(stream)) == RNL_OK &&
             (status = stream_flush(stream)) == RNL_OK &&
             exec->backend->exec_upload)
        status = exec->backend->exec_upload(exec, stream);
    object_unref(&exec->object);
    return status;
}

// --- One node --------------------------------------------------------------

static void exchange(struct graph_exec *exec, struct node *node,
                     struct new_node *given)
{
    lock_take(&exec->snapshot_lock);
    node_exchange(node, given);
    exec->snapshot->records |= node->inner && node->inner->records;
    lock_give(&exec->snapshot_lock);
}

// Exchanges the work of the node and `*given`.
static rnl_status change_locked(struct graph_exec *exec, uint32_t index,
                                struct new_node *given)
{
    ASSERT(lock_is_held(&exec->lock));
    struct node *node = &exec->snapshot->nodes[index];
    rnl_status status = node_check_change(node, given->kind);
    if (status != RNL_OK)
        return status;
    exchange(exec, node, given);
    status = exec->backend->exec_change(exec, index);
    if (status != RNL_OK)
        exchange(exec, node, given);
    return status;
}

static rnl_status exec_set(struct graph_exec *exec, rnl_node handle,
                           const rnl_node_params *params)
{
    struct new_node made;
    uint32_t index;
    lock_take(&exec->lock);
    struct graph *snapshot = exec->snapshot;
    object_ref(&snapshot->object);  // an update may exchange the snapshot
    rnl_status status = node_find_locked(snapshot, exec->source, handle,
                                         "node", &index);
    if (status == RNL_OK)
        status = node_check_change(&snapshot->nodes[index], params->kind);
    lock_give(&exec->lock);
    if (status == RNL_OK)
        status = node_params_create(snapshot, params, &made);
    object_unref(&snapshot->object);
    if (status != RNL_OK)
        return status;
    lock_take(&exec->lock);
    status = change_locked(exec, index, &made);
    lock_give(&exec->lock);
    (status ? node_params_return_user : node_params_unref)(made.node_params);
    graph_drop_inner(made.inner);
    return status;
}

rnl_status rnl_graph_exec_set_node(rnl_graph_exec handle, rnl_node node,
                                   const rnl_node_params *given)
{
    struct graph_exec *exec = NULL;
    rnl_node_params params;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = node_read_params(&params, given)) ||
        (status = exec_find(handle, &exec)))
        return status;
    status = exec_set(exec, node, &params);
    object_unref(&exec->object);
    return status;
}

static rnl_status check_enabling(const struct node *node)
{
    if (node->kind == RNL_NODE_FUNCTION || node->kind == RNL_NODE_COPY ||
        node->kind == RNL_NODE_FILL || node->kind == RNL_NODE_HOST_FUNCTION)
        return RNL_OK;
    return fail_at(RNL_ERROR_UNSUPPORTED, "node",
                   "a node of kind '%s' is always enabled", node_what(node));
}

static rnl_status set_enabled_locked(struct graph_exec *exec, rnl_node handle,
                                     bool enabled)
{
    ASSERT(lock_is_held(&exec->lock));
    uint32_t index;
    rnl_status status = node_find_locked(exec->snapshot, exec->source, handle,
                                         "node", &index);
    if (status != RNL_OK)
        return status;
    struct node *node = &exec->snapshot->nodes[index];
    if ((status = check_enabling(node)) || node->enabled == enabled)
        return status;
    node->enabled = enabled;
    status = exec->backend->exec_change(exec, index);
    if (status != RNL_OK)
        node->enabled = !enabled;
    return status;
}

rnl_status rnl_graph_exec_set_enabled(rnl_graph_exec handle, rnl_node node,
                                      bool enabled)
{
    struct graph_exec *exec = NULL;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = exec_find(handle, &exec)))
        return status;
    lock_take(&exec->lock);
    status = set_enabled_locked(exec, node, enabled);
    lock_give(&exec->lock);
    object_unref(&exec->object);
    return status;
}

rnl_status rnl_graph_exec_is_enabled(rnl_graph_exec handle, rnl_node node,
                                     bool *out_enabled)
{
    struct graph_exec *exec = NULL;
    uint32_t index;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_pointer(out_enabled, "out_enabled")) ||
        (status = exec_find(handle, &exec)))
        return status;
    lock_take(&exec->lock);
    status = node_find_locked(exec->snapshot, exec->source, node, "node",
                              &index);
    if (status == RNL_OK)
        *out_enabled = exec->snapshot->nodes[index].enabled;
    lock_give(&exec->lock);
    object_unref(&exec->object);
    return status;
}
