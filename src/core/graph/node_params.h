// The work of nodes, and their topological order.
#pragma once

#include "core/graph/graph.h"

// --- Order ------------------------------------------------------------------

// A graph's nodes in an order that its edges allow, urgent nodes first.
struct topological_order {
    uint32_t most;       // nodes of the graph, removed ones included
    uint32_t count;      // nodes in `indices`; fewer than live: a circle
    uint32_t *indices;
    uint32_t *first;     // followers of node i: follower[first[i]] …
    uint32_t *follower;  // … to follower[first[i + 1]], not included
    uint32_t edge_count;
};

// False after recording the reason. The caller finishes the order.
bool topological_order_init(struct topological_order *order,
                            const struct graph *graph);
void topological_order_finish(struct topological_order *order);

// --- Node params ------------------------------------------------------------

// Checks the parameters of a node of `graph` and makes the node_params and, for
// CHILD, IF, WHILE and SWITCH, the inner graphs.
rnl_status node_params_create(struct graph *graph,
                              const rnl_node_params *params,
                              struct new_node *out_node);

// The node_params of a list of ops, taken over on success only.
rnl_status node_params_of_ops(struct op *ops, struct node_params **out_params);

// The node_params of `subject` alone, which is referenced; may be NULL.
rnl_status node_params_of_object(struct object *subject,
                            struct node_params **out_params);

static inline struct node_params *
node_params_ref(struct node_params *node_params)
{
    atomic_fetch_add_explicit(&node_params->references, 1,
                              memory_order_relaxed);
    return node_params;
}

void node_params_unref(struct node_params *node_params);

// For a call that fails, with the only reference: the user data stays the
// program's.
void node_params_return_user(struct node_params *node_params);

// --- What a node was given (params_readback.c) ------------------------------

// The parameters of a node of a locked graph, from the objects in the node.
rnl_status node_read_back(struct node *node, rnl_node_params *params);

void readback_free(struct readback *readback);
