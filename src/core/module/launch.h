// Reads the attributes of a launch: checks them, replaces buffers by addresses
// and handles of events by objects, and moves the cluster to the kernel's
// dimensions.
#pragma once

#include "core/stream/op.h"

#define LAUNCH_ATTRIBUTES_ALL (RNL_LAUNCH_CARVEOUT + 1)

// Where a launch goes.
enum launch_way {
    LAUNCH_INLINE,  // nothing can be kept for it
    LAUNCH_AS_OPS,
    LAUNCH_AS_NODE,  // it has no stream
};

// The attributes of a kernel that is being made, on the caller's stack, and
// references for its op: to events and the buffer of a window.
struct launch_extras {
    uint32_t kept_count;
    struct object *kept[3];
    rnl_launch_attribute items[LAUNCH_ATTRIBUTES_ALL];
};

// Reads the cluster and the attributes into `kernel`, whose remaining
// dimensions are read. On failure nothing is kept.
rnl_status launch_read_extras(struct op_kernel *kernel,
                              const rnl_launch *launch, enum launch_way way,
                              struct launch_extras *extras);
void launch_extras_drop(struct launch_extras *extras);

static inline bool launch_attribute_records(const rnl_launch_attribute *given)
{
    return given->id == RNL_LAUNCH_PROGRAMMATIC_EVENT ||
           given->id == RNL_LAUNCH_COMPLETION_EVENT;
}

// The attribute's event object, which replaces the handle once the attributes
// are read. The op references the event.
static inline struct event *
launch_attribute_event(const rnl_launch_attribute *attribute)
{
    return (struct event *)(void *)attribute->value.event.event;
}

// Submits a list whose last op is a launch with attributes, and records its
// events: by the launch itself if the backend can, otherwise after the launch.
// Takes the list over.
rnl_status launch_submit_extras(struct stream *stream, struct op *first);

// --- Ops and checks of launches ----------------------------------------------

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

// Chooses the grid, and a missing block, of a launch that counts threads.
rnl_status launch_take_threads(const rnl_launch *launch,
                               struct op_kernel *kernel);

// Whether a cooperative launch, checked in all else, is small enough.
rnl_status cooperative_check(struct function *function,
                             const struct op_kernel *kernel);

// The dynamic shared memory that the device leaves to the function.
size_t function_shared_limit(const struct function *function);

// BACKEND_ATTRIBUTE bits of the launch attributes that have an effect there.
uint32_t launch_attributes_of(struct context *context);

// Refuses a buffer for the function's parameter `index` if the elements of both
// are known and do not fit.
rnl_status element_compare(const struct function *function, size_t index,
                           const struct buffer *buffer);
