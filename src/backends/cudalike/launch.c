#include "backends/cudalike/launch.h"

#include "backends/cudalike/graph.h"
#include "backends/cudalike/pending.h"
#include "base/often.h"

#include <string.h>

int gpu_allow_shared(struct function *function, size_t size)
{
    const struct gpu_context *gpu = gpu_of(function->object.context);
    struct gpu_function *own = gpu_function_of(function);
    if (size <= atomic_load_explicit(&own->dynamic, memory_order_relaxed))
        return 0;
    void *before = current_enter(gpu);
    int code = call_of(gpu)->function_set_attribute(
        own->handle, DRIVER_FUNCTION_MAX_DYNAMIC, (int)size);
    current_back(gpu, before);
    if (code == 0)
        atomic_store_explicit(&own->dynamic, (uint32_t)size,
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

// What the driver's calls take instead of the addresses of values.
struct packed {
    size_t size;
    void *extra[5];
};

// NULL: the values are not packed.
static inline void **extra_of(const struct op_kernel *kernel,
                              struct packed *packed)
{
    if (__builtin_expect(!kernel->packed, 1))
        return NULL;
    packed->size = kernel->function->values_size;
    packed->extra[0] = (void *)DRIVER_EXTRA_VALUES;
    packed->extra[1] = (void *)kernel->packed;
    packed->extra[2] = (void *)DRIVER_EXTRA_SIZE;
    packed->extra[3] = &packed->size;
    packed->extra[4] = (void *)DRIVER_EXTRA_END;
    return packed->extra;
}

static bool has_launch_with(const struct stream *stream)
{
    return call_of(gpu_of(stream_context(stream)))->launch_with != NULL;
}

static int launch_with(struct stream *stream, const struct op_kernel *kernel)
{
    struct driver_launch_attribute attributes[LAUNCH_ATTRIBUTES_MOST];
    struct gpu_function *function = gpu_function_of(kernel->function);
    struct driver_launch launch = {
        LAUNCH_SHAPE(kernel),
        .stream = gpu_stream_of(stream)->handle,
        .attributes = attributes,
        .attribute_count = gpu_launch_attributes(kernel, attributes),
    };
    struct packed packed;
    void **extra = extra_of(kernel, &packed);
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    void *before = current_enter(gpu);
    int code = call_of(gpu)->launch_with(
        &launch, function->handle, extra ? NULL : (void **)kernel->arguments,
        extra);
    current_back(gpu, before);
    return code;
}

// Whether the plain call cannot express it.
static bool is_special(const struct op_kernel *kernel)
{
    const rnl_dim3 *cluster = &kernel->cluster;  // no axis is 0
    return kernel->attribute_count > 0 ||
           (cluster->x | cluster->y | cluster->z) > 1;
}

static inline int launch(struct stream *stream, const struct op *op)
{
    const struct op_kernel *kernel = &op->kernel;
    struct gpu_stream *own = gpu_stream_of(stream);
    struct gpu_function *function = gpu_function_of(kernel->function);
    struct packed packed;
    if (__builtin_expect(kernel->shared_size > 0, 0)) {
        int code = gpu_allow_shared(kernel->function, kernel->shared_size);
        if (code != 0)
            return code;
    }
    if (__builtin_expect(is_special(kernel), 0) && has_launch_with(stream))
        return launch_with(stream, kernel);
    void **extra = extra_of(kernel, &packed);
    return own->launch(function->handle, kernel->grid.x, kernel->grid.y,
                       kernel->grid.z, kernel->block.x, kernel->block.y,
                       kernel->block.z, (unsigned)kernel->shared_size,
                       own->handle,
                       extra ? NULL : (void **)kernel->arguments, extra);
}

int gpu_launch(struct stream *stream, struct op *op)
{
    return launch(stream, op);
}

static int launch_graph(struct stream *stream, struct op *op)
{
    bool over;
    return gpu_graph_launch(stream, op, &over);
}

// --- At once ---------------------------------------------------------------

// 0 or the driver's code; then nothing was submitted.
static inline int launch_locked(struct stream *stream, struct op *op,
                                struct op *keeper)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    void *before = stream_enter(stream);
    stream_note_given_locked(own, op);
    int code = __builtin_expect(op->kind == OP_KERNEL, 1)
                   ? launch(stream, op)
                   : launch_graph(stream, op);
    if (__builtin_expect(code == 0, 1)) {
        own->last = LAST_WORK;
        if (keeper)
            stream_pend(own, keeper);
        atomic_store_explicit(&stream->submitted, op->sequence,
                              memory_order_release);
        stream_mark_locked(stream);
    } else {
        atomic_store(&own->given, op->sequence - 1);
    }
    stream_leave(stream, before);
    return code;
}

RUN_OFTEN rnl_status gpu_stream_launch(struct stream *stream, struct op *op)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    struct op *keeper = NULL;
    if (__builtin_expect(op->kind == OP_GRAPH, 0) && gpu_graph_prepares(op))
        return RNL_NOT_READY;
    lock_take(&own->lock);
    const bool holds = atomic_load_explicit(&own->holds, memory_order_relaxed);
    const uint32_t changes = atomic_load_explicit(&stream->attribute_changes,
                                                  memory_order_relaxed);
    // In one: a jump is not free.
    const bool straight = own->listed & !holds & (own->applied == changes);
    op->sequence = atomic_load_explicit(&stream->submitted,
                                        memory_order_relaxed) + 1;
    bool keeps = op->kept_count > 0 && op_must_outlive(stream, op);
    if (__builtin_expect(!straight, 0) ||
        (keeps && !(keeper = op_keeper(op)))) {
        lock_give(&own->lock);
        return straight ? fail_status() : RNL_NOT_READY;
    }
    int code = launch_locked(stream, op, keeper);
    lock_give(&own->lock);
    if (__builtin_expect(code == 0, 1))
        return RNL_OK;
    if (keeper)
        op_finish(keeper);
    if (code == GRAPH_PREPARES)  // by now
        return RNL_NOT_READY;
    return driver_fail(stream_context(stream), code, op_name(op));
}
