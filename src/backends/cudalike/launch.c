#include "backends/cudalike/launch.h"

#include <string.h>

int gpu_allow_shared(const struct driver_functions *call,
                     struct gpu_function *function, size_t size)
{
    if (size <= atomic_load_explicit(&function->dynamic,
                                     memory_order_relaxed))
        return 0;
    int code = call->function_set_attribute(
        function->handle, DRIVER_FUNCTION_MAX_DYNAMIC, (int)size);
    if (code == 0)
        atomic_store_explicit(&function->dynamic, (uint32_t)size,
                              memory_order_relaxed);
    return code;
}

// --- Attributes ------------------------------------------------------------

// True when the vendor has such an attribute for launches.
static bool translate(const rnl_launch_attribute *given,
                      struct driver_launch_attribute *out)
{
    static const int ids[] = {
        [RNL_LAUNCH_COOPERATIVE] = DRIVER_LAUNCH_COOPERATIVE,
        [RNL_LAUNCH_PRIORITY] = DRIVER_LAUNCH_PRIORITY,
        [RNL_LAUNCH_PROGRAMMATIC_SERIALIZATION] =
            DRIVER_LAUNCH_PROGRAMMATIC_SERIALIZATION,
    };
    int id = (size_t)given->id < sizeof ids / sizeof *ids ? ids[given->id] : 0;
    *out = (struct driver_launch_attribute){.id = id};
    out->number = (int)given->value;
    return id != 0;
}

unsigned gpu_launch_attributes(const struct op_kernel *kernel,
                               struct driver_launch_attribute *out)
{
    struct driver_launch_attribute *next = out;
    const rnl_dim3 *cluster = &kernel->cluster;
    if ((uint64_t)cluster->x * cluster->y * cluster->z > 1) {
        *next = (struct driver_launch_attribute){.id = DRIVER_LAUNCH_CLUSTER};
        next->cluster.x = cluster->x;
        next->cluster.y = cluster->y;
        next->cluster.z = cluster->z;
        next++;
    }
    for (size_t i = 0; i < kernel->attribute_count; i++)
        if (next - out < LAUNCH_ATTRIBUTES_MOST)
            next += translate(&kernel->attributes[i], next);
    return (unsigned)(next - out);
}

// --- Launching -------------------------------------------------------------

static int launch_with(struct stream *stream, const struct op_kernel *kernel,
                       const struct driver_functions *call)
{
    struct driver_launch_attribute attributes[LAUNCH_ATTRIBUTES_MOST];
    struct gpu_function *function = gpu_function_of(kernel->function);
    struct driver_launch launch = {
        LAUNCH_SHAPE(kernel),
        .stream = gpu_stream_of(stream)->handle,
        .attributes = attributes,
        .attribute_count = gpu_launch_attributes(kernel, attributes),
    };
    return call->launch_with(&launch, function->handle,
                             (void **)kernel->arguments, NULL);
}

// Whether the plain call cannot express it.
static bool is_special(const struct op_kernel *kernel)
{
    const rnl_dim3 *cluster = &kernel->cluster;  // no axis is 0
    return kernel->attribute_count > 0 ||
           (cluster->x | cluster->y | cluster->z) > 1;
}

int gpu_launch(struct stream *stream, struct op *op)
{
    const struct op_kernel *kernel = &op->kernel;
    const struct driver_functions *call =
        call_of(gpu_of(stream_context(stream)));
    struct gpu_stream *own = gpu_stream_of(stream);
    struct gpu_function *function = gpu_function_of(kernel->function);
    if (kernel->shared_size > 0) {
        int code = gpu_allow_shared(call, function, kernel->shared_size);
        if (code != 0)
            return code;
    }
    if (call->launch_with && is_special(kernel))
        return launch_with(stream, kernel, call);
    return call->launch(function->handle, kernel->grid.x, kernel->grid.y,
                        kernel->grid.z, kernel->block.x, kernel->block.y,
                        kernel->block.z, (unsigned)kernel->shared_size,
                        own->handle, (void **)kernel->arguments, NULL);
}
