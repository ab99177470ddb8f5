// Lowering of an operation to pieces. A piece is a single request to the
// driver, as a node or on a stream.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"
#include "core/graph/graph.h"

// Returns the driver's type of the memory; 0 for ordinary memory of the host.
// The context is current.
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

// Calls `visit` with each piece in order, until a call returns a code. Later
// functions with a `visit` do the same.
int gpu_op_pieces(struct context *context, const struct op *op,
                  int (*visit)(struct piece *, void *), void *argument);

// Returns the form of a fill. A fill can be changed in place into any fill of
// the same form.
uint64_t gpu_fill_form(const struct driver_fill_node *fill);
// Returns the forms of all fills of an op, hashed into a single number.
uint64_t gpu_fill_forms(const struct op *op);

// The place of a new node in the driver's graph.
struct node_place {
    void *graph;
    void *const *after;
    size_t count;
    bool behind_kernels;  // all predecessors are kernels
};

// Adds the node of a kernel. Behind kernels, the node is early if possible: the
// driver may begin the node once the blocks of those kernels have ended. An
// early node accepts later only kernels that can be early. Returns 0 or the
// driver's code.
int gpu_add_kernel(struct context *context, const struct node_place *place,
                   const struct piece *piece, void **out_node,
                   bool *out_early);
// True if the op is a kernel with neither attributes nor clusters.
bool gpu_is_plain_kernel(const struct op *op);
// True if the kernel also waits for its predecessors by itself.
bool gpu_can_be_early(const struct op *op);

// Fills in the attributes of a FUNCTION's node. The attributes of a node in an
// executable graph cannot be changed.
unsigned gpu_node_attributes(const struct gpu_context *gpu,
                             const struct node_params *node_params,
                             struct driver_launch_attribute *out);
