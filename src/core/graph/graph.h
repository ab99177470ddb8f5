// Graphs as the core and the backends see them.
#pragma once

#include "core/backend.h"

// A node's handle is the number of its graph and its index there. Numbers and
// indices are never reused; an exhausted range is refused.
#define GRAPH_INDEX_BITS 26
#define GRAPH_NODES_MOST (1u << GRAPH_INDEX_BITS)
#define GRAPH_NUMBER_MOST                                                      \
    ((UINT64_C(1) << (OBJECT_KIND_SHIFT - GRAPH_INDEX_BITS)) - 1)
#define GRAPH_DEPTH_MOST 64       // inner graphs are visited recursively

// The work of a node. Immutable: graphs, copies and executable graphs share it.
struct node_params {
    _Atomic uint32_t references;
    int priority;
    struct op *ops;         // FUNCTION, COPY, FILL, HOST_FUNCTION, VALUES:
                            // linked by `next`, in their order; no stream
    struct object *subject; // referenced: the event or the buffer
    const uint32_t *word;   // IF, WHILE, SWITCH: the deciding word
    struct object *user;    // referenced: the node's user data; NULL: not ours
    struct readback *readback;  // for the caller (params_readback.c); NULL: not
                                // requested. Guarded by the lock there
    char label[];
};

struct node {
    rnl_node_kind kind;     // 0: removed
    bool enabled;           // in executable graphs
    bool marked;            // by the holder of the lock
    struct node_params *node_params;
    struct graph *inner;    // referenced: a CHILD's copy, the first body
    uint32_t *after;        // indices of its predecessors, in order
    uint32_t after_count;
    uint32_t after_most, after_free;  // places from `after` on, and before it
    uint32_t before_count;  // number of successors
    uint32_t later;         // last successor, if still there
    uint64_t visit;         // number of the last visit
    int64_t rank;           // predecessors have lower ranks
};

struct graph {
    struct object object;
    const struct backend *backend;
    uint64_t number;       // in the handles of its nodes; 0: no handles
    uint64_t copied_from;  // number of the copied graph
    bool owned;            // by a node or a capture: not the user's to release
    bool body;             // or in one: some kinds are refused
    struct graph *sibling; // for a body: the node's next body; referenced
    rnl_graph *handles;    // for a first body: handles of all bodies, for
    uint32_t handle_count; // the caller; NULL: not asked for
    uint32_t depth;        // nesting depth
    struct lock lock;      // guards all below; an inner graph's comes after
    struct capture *capture;  // that adds nodes; NULL: none
    struct node *nodes;       // removed nodes keep their index
    uint32_t count, most;
    uint32_t live_count, edge_count;
    uint64_t visits;          // of nodes, numbered from 1 on
    struct buffer_use *uses;  // uses of buffers by nodes; NULL: unknown
    uint32_t use_count, use_room;
    struct followers *followers;  // NULL: not known
    bool records;             // a copy: nodes record events, inner ones as well
};

struct graph_exec {
    struct object object;
    const struct backend *backend;
    uint64_t source;         // number of the instantiated graph
    struct lock lock;        // guards the snapshot, and changes of the plan
    // Guards the snapshot, too, for threads that must not wait for the driver:
    // changes hold both.
    struct lock snapshot_lock;
    struct graph *snapshot;  // never published; referenced
    _Alignas(64) max_align_t native[];
};

static inline bool node_has_bodies(rnl_node_kind kind)
{
    return kind == RNL_NODE_IF || kind == RNL_NODE_WHILE ||
           kind == RNL_NODE_SWITCH;
}

// How many graphs are inside of a node.
static inline uint32_t node_inner_count(const struct node *node)
{
    uint32_t count = 0;
    for (const struct graph *inner = node->inner; inner;
         inner = inner->sibling)
        count++;
    return count;
}

static inline void *exec_native(struct graph_exec *exec)
{
    return exec->native;
}

// --- Graphs ----------------------------------------------------------------

extern _Atomic uint64_t graph_last_number;

// A graph that has no handle yet; NULL after recording why.
struct graph *graph_new(struct context *context, const char *label);

// A copy with its inner graphs, unpublished. Refused while a capture adds
// nodes. `hidden`: nobody will ever ask for the copy's nodes.
struct graph *graph_copy(struct graph *graph, bool hidden);

// Gives handles to a new inner graph and all inside of it.
void graph_publish_inner(struct graph *inner);

// Ends a graph that belonged to a node or a capture, and its siblings.
void graph_release_owned(struct graph *graph);

// The same for unpublished graphs; NULL is fine.
void graph_drop_inner(struct graph *inner);

// The handles of a node's graphs; NULL after recording that memory is short.
const rnl_graph *graph_handles_locked(struct graph *inner,
                                      uint32_t *out_count);

// Whether the graph, possibly a body, can have such a node. `parameter` is at
// fault.
rnl_status graph_check_kind(const struct graph *graph, rnl_node_kind kind,
                            rnl_status refusal, const char *parameter);

// Finds and references; the caller gives the reference up.
rnl_status graph_find(rnl_graph handle, const char *parameter,
                      struct graph **out_graph);

// A graph that is being captured into is the capture's alone.
rnl_status graph_check_free_locked(const struct graph *graph);

// --- Nodes: of a locked graph ----------------------------------------------

// A node before its insertion into a graph.
struct new_node {
    rnl_node_kind kind;
    struct node_params *node_params;  // both are taken over on success
    struct graph *inner;
};

// Adds a node after `count` checked nodes.
rnl_status node_add_locked(struct graph *graph, const struct new_node *node,
                           const uint32_t *after, size_t count,
                           uint32_t *out_index);

// The node that a handle means, in a graph that carries `number`.
rnl_status node_find_locked(const struct graph *graph, uint64_t number,
                            rnl_node handle, const char *parameter,
                            uint32_t *out_index);

// The same for many, into `indices`.
rnl_status nodes_find_locked(const struct graph *graph, const rnl_node *nodes,
                             size_t count, const char *parameter,
                             uint32_t *indices);

// Refuses to release a buffer that no node creates, or that a node releases.
rnl_status node_check_release_locked(struct graph *graph,
                                     const struct object *buffer);

// For that: a node was added, or is being removed; the graph ends.
void buffers_added_locked(struct graph *graph, const struct node *node);
void buffers_removed_locked(struct graph *graph, const struct node *node);
void buffers_discard(struct graph *graph);

// The successors of node `index`, and some former ones; NULL when memory is
// short. An added edge discards the list, and so does the graph's end.
const uint32_t *followers_locked(struct graph *graph, uint32_t index,
                                 uint32_t *out_count);
void followers_discard(struct graph *graph);

// Removes the last node, which has no successors, if there are more than
// `count` nodes; else false. The caller finishes the node, without the lock,
// unless the node was removed before (kind 0).
bool node_cut_locked(struct graph *graph, uint32_t count,
                     struct node *out_removed);

rnl_node node_handle(const struct graph *graph, uint32_t index);

// True for a present or former node of a graph that carries `number`.
bool node_is_of(rnl_node handle, uint64_t number);

// Copies the caller's parameters of an existing kind.
rnl_status node_read_params(rnl_node_params *params,
                            const rnl_node_params *given);

// Refuses parameters of another kind, and kinds that cannot be changed.
rnl_status node_check_change(const struct node *node, rnl_node_kind kind);

// Exchanges the work of the node and `*given`.
void node_exchange(struct node *node, struct new_node *given);

void node_finish(struct node *node);
void node_free_edges(struct node *node);

const char *node_kind_name(rnl_node_kind kind);

// The function's name, "copy", "fill", …
const char *node_what(const struct node *node);

// Prepares ranks for an edge. Refuses an edge that closes a cycle, without a
// change.
rnl_status rank_edge_locked(struct graph *graph, uint32_t from, uint32_t to);

// The rank of a new node: above all nodes that were not moved up.
static inline int64_t rank_new(uint32_t index)
{
    return (int64_t)index << 20;
}

// --- Captures ----------------------------------------------------------------

// The stream's work belongs to the capture from now on.
rnl_status capture_add_stream_locked(struct capture *capture,
                                     struct stream *stream);

// Functions of capture_graph_recorder.
bool capture_add_ops(struct op *first, rnl_status *out_status);
bool capture_add_buffer(struct stream *stream, struct buffer *buffer,
                        rnl_node_kind kind, rnl_status *out_status);
bool capture_add_record(struct stream *stream, struct event *event,
                        bool external, rnl_status *out_status);
bool capture_add_wait(struct stream *stream, struct event *event, bool external,
                      rnl_status *out_status);
bool capture_add_join(struct stream *stream, struct stream *other,
                      rnl_status *out_status);
