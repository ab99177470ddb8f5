// Graphs of the fake, between graph.c, which makes them, and exec.c, which
// turns them into graphs of the library inside.
#pragma once

#include "fake.h"

#define FAKE_NODE_ATTRIBUTES 8
#define FAKE_BODIES 16

struct fake_condition {
    _Alignas(8) uint32_t word;
    uint32_t initial;
    bool assigns;
};

struct fake_graph {
    struct fake_object object;
    struct fake_node *first, *last;
    struct fake_node *owner;  // of a child's or a condition's
};

struct fake_node {
    struct fake_object object;
    struct fake_graph *graph;
    struct fake_node *next, **after;
    size_t after_count;
    bool early;                   // it may begin when others are not over
    enum fake_function function;  // FAKE_graph_add_…
    struct driver_kernel_node kernel;  // its values are in the payload
    struct driver_copy copy;
    struct driver_fill_node fill;
    struct driver_host_node host;
    void *event;
    unsigned value_count;         // the payload is so many driver_value
    struct fake_graph *graphs[FAKE_BODIES];  // a child, or bodies
    void *bodies[FAKE_BODIES];
    unsigned body_count;
    struct fake_condition *condition;
    int condition_type;
    struct driver_launch_attribute attributes[FAKE_NODE_ATTRIBUTES];
    size_t attribute_count;
    void *payload;
    size_t payload_size;
};

void fake_graph_free(struct fake_graph *graph);
struct fake_graph *fake_graph_clone(const struct fake_graph *graph,
                                    struct fake_node *owner);

// Check parameters and put a copy into the node; 0 or a code.
int fake_node_kernel(struct fake_node *node,
                     const struct driver_kernel_node *params);
int fake_node_copy(struct fake_node *node, const struct driver_copy *copy,
                   const void *context);
int fake_node_fill(struct fake_node *node,
                   const struct driver_fill_node *fill, const void *context);
int fake_node_values(struct fake_node *node,
                     const struct driver_values_node *params);

// A node of an executable graph, and what it is in the library inside.
struct fake_pair {
    const struct fake_node *node;
    rnl_node inner;
    rnl_copy copy;  // as it is now, where the node …
    bool takes;     // … reads ordinary memory: what there is at the launch
    bool holds;     // … or holds the launch up until it is over
    bool off;       // not enabled
};

struct fake_exec {
    struct fake_object object;
    rnl_graph graph;
    rnl_graph_exec inner;
    struct fake_pair *pairs;
    size_t pair_count;
    bool waits;  // some node does, or calls the host
    bool works;  // some node does
    bool launched;
    uint32_t room;  // that it takes
};

// fake_enter for a call that concerns an executable graph.
int fake_enter_exec(enum fake_function function, void *handle,
                    struct fake_context **out_context,
                    struct fake_exec **out_exec);
