// The buffers that a graph's nodes create and release, by buffer. Built on
// first use and updated for added nodes; the removal of such a node discards
// the table.
#include "base/hash.h"
#include "core/graph/graph.h"
#include "core/object/object.h"

struct buffer_use {
    const struct object *buffer;  // NULL: a free place
    bool created, released;
};

static struct buffer_use *place_of(struct buffer_use *uses, uint32_t room,
                                   const struct object *buffer)
{
    uint32_t at = (uint32_t)hash_64(&buffer, sizeof buffer) % room;
    while (uses[at].buffer && uses[at].buffer != buffer)
        at = (at + 1) % room;
    return &uses[at];
}

static bool make_room(struct graph *graph)
{
    uint32_t old = graph->use_room, room = old ? 2 * old : 16;
    if (2 * graph->use_count < old)
        return true;
    struct buffer_use *uses = mem_allocate(room * sizeof *uses);
    if (!uses)
        return false;
    for (uint32_t i = 0; i < old; i++)
        if (graph->uses[i].buffer)
            *place_of(uses, room, graph->uses[i].buffer) = graph->uses[i];
    mem_release(graph->uses, old * sizeof *uses);
    graph->uses = uses;
    graph->use_room = room;
    return true;
}

static bool is_use(const struct node *node)
{
    return node->kind == RNL_NODE_BUFFER_CREATE ||
           node->kind == RNL_NODE_BUFFER_RELEASE;
}

static bool note(struct graph *graph, const struct node *node)
{
    if (!is_use(node))
        return true;
    if (!make_room(graph))
        return false;
    struct buffer_use *use = place_of(graph->uses, graph->use_room,
                                      node->node_params->subject);
    graph->use_count += !use->buffer;
    use->buffer = node->node_params->subject;
    use->created |= node->kind == RNL_NODE_BUFFER_CREATE;
    use->released |= node->kind == RNL_NODE_BUFFER_RELEASE;
    return true;
}

void buffers_discard(struct graph *graph)
{
    mem_release(graph->uses, graph->use_room * sizeof *graph->uses);
    graph->uses = NULL;
    graph->use_count = graph->use_room = 0;
}

void buffers_added_locked(struct graph *graph, const struct node *node)
{
    ASSERT(lock_is_held(&graph->lock));
    if (graph->uses && !note(graph, node))
        buffers_discard(graph);
}

void buffers_removed_locked(struct graph *graph, const struct node *node)
{
    ASSERT(lock_is_held(&graph->lock));
    if (is_use(node))
        buffers_discard(graph);
}

static bool make(struct graph *graph)
{
    if (graph->uses)
        return true;
    bool fits = make_room(graph);
    for (uint32_t i = 0; fits && i < graph->count; i++)
        fits = note(graph, &graph->nodes[i]);
    if (!fits)
        buffers_discard(graph);
    return fits;
}

rnl_status node_check_release_locked(struct graph *graph,
                                     const struct object *buffer)
{
    ASSERT(lock_is_held(&graph->lock));
    if (!make(graph))
        return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a node");
    const struct buffer_use *use =
        place_of(graph->uses, graph->use_room, buffer);
    if (use->created && !use->released)
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "buffer",
                   use->created ? "the graph releases this buffer already"
                                : "the buffer was not created by a node of the "
                                  "graph");
}
