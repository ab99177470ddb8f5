// Pieces: what the driver is given for an operation, as a node or on a stream.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"
#include "core/graph/graph.h"

// The driver's; 0 for ordinary memory of the host. With the context current.
int gpu_memory_type(const struct gpu_context *gpu, const void *pointer);

enum piece_kind {
    PIECE_KERNEL,
    PIECE_COPY,
    PIECE_FILL,
    PIECE_VALUES,
};

#define PIECE_VALUES_MOST 64

struct piece {
    enum piece_kind kind;
    const struct op *op;
    union {
        struct driver_kernel_node kernel;
        struct driver_copy copy;
        struct driver_fill_node fill;
        struct driver_values_node values;
    };
    struct driver_value items[PIECE_VALUES_MOST];
};

// Calls `visit` with each piece in its order, until one gives a code; so do
// others.
int gpu_op_pieces(struct context *context, const struct op *op,
                  int (*visit)(struct piece *, void *), void *argument);

// Two fills of one form can be changed into each other in place.
uint64_t gpu_fill_form(const struct driver_fill_node *fill);
// The forms of all that an op fills, as one number.
uint64_t gpu_fill_forms(const struct op *op);

// Where a node is added.
struct node_place {
    void *graph;
    void *const *after;
    size_t count;
    bool behind_kernels;  // and nothing else
};

// Adds the node of a kernel. Behind kernels it is early if it can be: the
// driver may begin it when their blocks have ended, and only what can be early
// may be set there later. 0 or the driver's code.
int gpu_add_kernel(struct context *context, const struct node_place *place,
                   const struct piece *piece, void **out_node,
                   bool *out_early);
// Whether it is a kernel, and has neither attributes nor clusters.
bool gpu_is_plain_kernel(const struct op *op);
// Whether it also waits by itself for what it comes after.
bool gpu_can_be_early(const struct op *op);

// The attributes that a FUNCTION's node gets; those of an executable graph
// cannot be changed.
unsigned gpu_node_attributes(const struct gpu_context *gpu,
                             const struct node_params *node_params,
                             struct driver_launch_attribute *out);
