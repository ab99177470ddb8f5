// Graphs as text for Graphviz.
#include "base/file.h"
#include "base/text.h"
#include "core/graph/graph.h"
#include "core/object/check.h"
#include "core/object/object.h"
#include "core/stream/op.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

// Inside of a quoted string.
static void add_quoted(struct text *text, const char *words)
{
    for (; *words; words++)
        if (*words == '"' || *words == '\\')
            text_add(text, "\\%c", *words);
        else if (*words == '\n')
            text_add(text, "\\n");
        else
            text_add_bytes(text, words, 1);
}

static const char *shape_of(rnl_node_kind kind)
{
    switch (kind) {
    case RNL_NODE_FUNCTION:
        return "box";
    case RNL_NODE_HOST_FUNCTION:
        return "octagon";
    case RNL_NODE_IF:
    case RNL_NODE_WHILE:
    case RNL_NODE_SWITCH:
        return "diamond";
    case RNL_NODE_EMPTY:
        return "point";
    default:
        return "ellipse";
    }
}

static void add_size(struct text *text, const struct node *node)
{
    const struct op *op = node->node_params->ops;
    while (op && op->next)
        op = op->next;
    if (!op)
        return;
    const rnl_dim3 *grid = &op->kernel.grid, *block = &op->kernel.block;
    if (op->kind == OP_KERNEL)
        text_add(text, "\\n%u x %u x %u, %u x %u x %u", grid->x, grid->y,
                 grid->z, block->x, block->y, block->z);
    else if (op->kind == OP_COPY)
        text_add(text, "\\n%zu bytes",
                 op->copy.width * op->copy.height * op->copy.depth);
    else if (op->kind == OP_FILL)
        text_add(text, "\\n%zu bytes",
                 op->fill.width * op->fill.height * op->fill.depth);
}

// The number of the graph, and the index of the node.
#define NAME "n%" PRIu64 "_%" PRIu32

static void add_graph(struct text *text, struct graph *graph);

// The condition of the body, if the node has several.
static void add_choice(struct text *text, const struct node *node,
                       uint32_t number)
{
    if (node->kind == RNL_NODE_SWITCH)
        text_add(text, ", label=\"%" PRIu32 "\"", number);
    else if (node->inner->sibling)
        text_add(text, ", label=\"%s\"", number == 0 ? "then" : "else");
}

// Draws a graph inside a node, with a line from the node into it.
static void add_inner(struct text *text, const struct graph *graph,
                      uint32_t index, struct graph *inner, uint32_t number)
{
    text_add(text, "subgraph cluster_%" PRIu64 " {\n", inner->number);
    add_graph(text, inner);
    text_add(text, "}\n");
    lock_take(&inner->lock);
    for (uint32_t i = 0; i < inner->count; i++) {
        if (!inner->nodes[i].kind || inner->nodes[i].after_count)
            continue;
        text_add(text, NAME " -> " NAME " [style=dotted", graph->number, index,
                 inner->number, i);
        add_choice(text, &graph->nodes[index], number);
        text_add(text, "];\n");
    }
    lock_give(&inner->lock);
}

static void add_node(struct text *text, const struct graph *graph,
                     uint32_t index)
{
    const struct node *node = &graph->nodes[index];
    text_add(text, NAME " [shape=%s, label=\"", graph->number, index,
             shape_of(node->kind));
    if (node->node_params->label[0]) {
        add_quoted(text, node->node_params->label);
        text_add(text, "\\n");
    }
    add_quoted(text, node_what(node));
    add_size(text, node);
    text_add(text, "\"%s];\n", node->enabled ? "" : ", style=dashed");
    uint32_t number = 0;
    for (struct graph *inner = node->inner; inner; inner = inner->sibling)
        add_inner(text, graph, index, inner, number++);
}

static void add_graph(struct text *text, struct graph *graph)
{
    text_add(text, "label=\"");
    add_quoted(text, graph->object.label ? graph->object.label : "");
    text_add(text, "\";\n");
    lock_take(&graph->lock);
    for (uint32_t i = 0; i < graph->count; i++)
        if (graph->nodes[i].kind)
            add_node(text, graph, i);
    for (uint32_t i = 0; i < graph->count; i++)
        for (uint32_t k = 0; k < graph->nodes[i].after_count; k++)
            text_add(text, NAME " -> " NAME ";\n", graph->number,
                     graph->nodes[i].after[k], graph->number, i);
    lock_give(&graph->lock);
}

static rnl_status draw(rnl_graph handle, struct text *text)
{
    struct graph *graph;
    rnl_status status = graph_find(handle, "graph", &graph);
    if (status != RNL_OK)
        return status;
    text_add(text, "digraph runnel {\n");
    add_graph(text, graph);
    text_add(text, "}\n");
    object_unref(&graph->object);
    return text->failed ? fail(RNL_ERROR_OUT_OF_MEMORY,
                               "there is no memory to draw the graph")
                        : RNL_OK;
}

// No lock is held, because the callback may take long.
static rnl_status write_parts(const struct text *text, rnl_write_fn write,
                              void *user_data)
{
    const size_t most = 4096;
    for (size_t at = 0; at < text->length; at += most) {
        size_t left = text->length - at;
        callback_begin();
        bool goes_on = write(text->data + at, left < most ? left : most,
                             user_data);
        callback_end();
        if (!goes_on)
            return fail_at(RNL_ERROR_IO, "write", "'write' ended the writing");
    }
    return RNL_OK;
}

rnl_status rnl_graph_write_dot(rnl_graph graph, rnl_write_fn write,
                               void *user_data)
{
    struct text text = {0};
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    if (!write)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "write", "'write' is NULL");
    status = draw(graph, &text);
    if (status == RNL_OK)
        status = write_parts(&text, write, user_data);
    text_finish(&text);
    return status;
}

static rnl_status save(const struct text *text, const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int error = file < 0 ? errno : file_write(file, text->data, text->length);
    if (file >= 0 && close(file) != 0 && error == 0)
        error = errno;
    if (error == 0)
        return RNL_OK;
    fail_at(RNL_ERROR_IO, "path", "'%s' could not be written: %s", path,
            strerror(error));
    fail_set_native(error, strerror(error));
    return RNL_ERROR_IO;
}

rnl_status rnl_graph_save_dot(rnl_graph graph, const char *path)
{
    struct text text = {0};
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = check_pointer(path, "path")))
        return status;
    status = draw(graph, &text);
    if (status == RNL_OK)
        status = save(&text, path);
    text_finish(&text);
    return status;
}
