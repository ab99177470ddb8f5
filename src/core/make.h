// Operations from a caller's parameters: checked, with everything they need
// inside, for a stream to be given or a graph to keep.
#pragma once

#include "core/op.h"

// A shape of a launch: missing axes are 1, but x has to be given.
static inline rnl_dim3 dim_with_axes(const rnl_dim3 *given)
{
    rnl_dim3 dim = {given->x, given->y + (given->y == 0),
                    given->z + (given->z == 0)};
    return dim;
}

static inline bool dim_is_same(const rnl_dim3 *a, const rnl_dim3 *b)
{
    return a->x == b->x && a->y == b->y && a->z == b->z;
}

// A launch for a node: its constants, then the kernel, as a list.
rnl_status make_launch_ops(struct stream *stream, rnl_function function,
                           const rnl_launch *launch, const rnl_args *args,
                           struct op **out_first);

// Gives a launch, whose grid is checked, the cluster that was asked for: zeros
// stand for none, or for the function's own.
rnl_status cluster_take(const struct function *function, const rnl_dim3 *given,
                        struct op_kernel *kernel);

// Whether a cooperative launch, checked in all else, is small enough.
rnl_status cooperative_check(struct function *function,
                             const struct op_kernel *kernel);

// The dynamic shared memory that the device leaves to the function.
size_t function_shared_limit(const struct function *function);

// `*out_op` is NULL when there is nothing to copy or fill.
rnl_status make_copy_op(struct stream *stream, const rnl_copy *copy,
                        struct op **out_op);
rnl_status make_fill_op(struct stream *stream, const rnl_fill *fill,
                        struct op **out_op);

// How many bytes a width of RNL_WHOLE is.
__attribute__((cold)) rnl_status whole_copy_width(const rnl_copy *copy,
                                                  size_t *out_width);
__attribute__((cold)) rnl_status whole_fill_width(const rnl_fill *fill,
                                                  size_t *out_width);

// A copy of the bytes of a launch's constant, to come before the launch.
rnl_status make_constant_op(struct stream *stream, struct function *function,
                            const rnl_constant *constant, struct op **out_op);

rnl_status make_host_op(struct stream *stream, rnl_host_fn function,
                        void *user_data, struct op **out_op);

// A buffer for a graph, not yet published.
rnl_status make_graph_buffer(struct context *context, size_t size,
                             const rnl_buffer_options *options,
                             struct object **out_object);
