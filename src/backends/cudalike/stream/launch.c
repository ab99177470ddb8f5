#include "backends/cudalike/stream/launch.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/module/module.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/marker.h"
#include "backends/cudalike/timeline/op_history.h"
#include "backends/cudalike/timeline/retire.h"

#include "base/read_mostly.h"
#include "core/module/launch.h"

#include <string.h>

// --- Attributes ------------------------------------------------------------

void gpu_set_window(struct driver_launch_attribute *out,
                    const rnl_access_policy *policy)
{
    out->window.base = policy->base;
    out->window.size = policy->size;
    out->window.hit_ratio = policy->hit_ratio;
    out->window.hit = (int)policy->hit;
    out->window.miss = (int)policy->miss;
}

static void set_cluster(struct driver_launch_attribute *out,
                        const rnl_dim3 *cluster)
{
    out->cluster.x = cluster->x;
    out->cluster.y = cluster->y;
    out->cluster.z = cluster->z;
}

static void set_number(struct driver_launch_attribute *out, int id, int number)
{
    out->id = id;
    out->number = number;
}

// Returns the place for the markers of a recording launch: at most two, ended
// by NULL.
static struct marker **markers_of(struct op *op)
{
    return (struct marker **)(void *)op->backend;
}

static void set_record(struct driver_launch_attribute *out,
                       const rnl_launch_attribute *given,
                       struct marker *const *marker)
{
    bool programmatic = given->id == RNL_LAUNCH_PROGRAMMATIC_EVENT;
    out->id = programmatic ? DRIVER_LAUNCH_PROGRAMMATIC_EVENT
                           : DRIVER_LAUNCH_COMPLETION_EVENT;
    out->record.event = (*marker)->event;
    if (programmatic)
        out->record.at_block_start = given->value.event.at_block_start;
}

// False if the vendor has no such attribute for launches.
static bool translate(const rnl_launch_attribute *given,
                      struct driver_launch_attribute *out)
{
    *out = (struct driver_launch_attribute){0};
    switch (given->id) {
    case RNL_LAUNCH_ACCESS_POLICY:
        out->id = DRIVER_LAUNCH_ACCESS_POLICY;
        gpu_set_window(out, &given->value.access_policy);
        break;
    case RNL_LAUNCH_COOPERATIVE:
        set_number(out, DRIVER_LAUNCH_COOPERATIVE, given->value.cooperative);
        break;
    case RNL_LAUNCH_CLUSTER_SCHEDULING:
        set_number(out, DRIVER_LAUNCH_CLUSTER_SCHEDULING,
                   (int)given->value.cluster_scheduling);
        break;
    case RNL_LAUNCH_PROGRAMMATIC_SERIALIZATION:
        set_number(out, DRIVER_LAUNCH_PROGRAMMATIC_SERIALIZATION,
                   given->value.programmatic_serialization);
        break;
    case RNL_LAUNCH_PRIORITY:
        set_number(out, DRIVER_LAUNCH_PRIORITY, given->value.priority);
        break;
    case RNL_LAUNCH_DOMAIN_MAP:
        out->id = DRIVER_LAUNCH_DOMAIN_MAP;
        out->domain_map.default_domain =
            given->value.domain_map.default_domain;
        out->domain_map.remote_domain = given->value.domain_map.remote_domain;
        break;
    case RNL_LAUNCH_DOMAIN:
        set_number(out, DRIVER_LAUNCH_DOMAIN, (int)given->value.domain);
        break;
    case RNL_LAUNCH_PREFERRED_CLUSTER:
        out->id = DRIVER_LAUNCH_PREFERRED_CLUSTER;
        set_cluster(out, &given->value.cluster);
        break;
    case RNL_LAUNCH_CARVEOUT:
        set_number(out, DRIVER_LAUNCH_CARVEOUT, given->value.carveout);
        break;
    default:
        break;
    }
    return out->id != 0;
}

// True if the launch gets the attribute. Attributes without effect on this
// device are left out, because an old driver may refuse them.
static bool is_heeded(const struct op_kernel *kernel,
                      rnl_launch_attribute_id id)
{
    return kernel->function->object.context->launch_attributes &
           BACKEND_ATTRIBUTE(id);
}

unsigned gpu_launch_attributes(const struct op_kernel *kernel,
                               struct marker *const *markers,
                               struct driver_launch_attribute *out)
{
    struct driver_launch_attribute *next = out;
    const rnl_dim3 *cluster = &kernel->cluster;
    if ((uint64_t)cluster->x * cluster->y * cluster->z > 1) {
        *next = (struct driver_launch_attribute){.id = DRIVER_LAUNCH_CLUSTER};
        set_cluster(next++, cluster);
    }
    for (size_t i = 0; i < kernel->attribute_count; i++) {
        const rnl_launch_attribute *given = &kernel->attributes[i];
        if (next - out == LAUNCH_ATTRIBUTES_MOST ||
            !is_heeded(kernel, given->id))
            continue;
        bool records = launch_attribute_records(given);
        if (!records) {
            next += translate(given, next);
        } else if (markers) {
            *next = (struct driver_launch_attribute){0};
            set_record(next++, given, markers++);
        }
    }
    return (unsigned)(next - out);
}

// --- Launching -------------------------------------------------------------

// Packed values, which the driver's calls accept instead of the addresses of
// the values.
struct packed {
    size_t size;
    void *extra[5];
};

// Returns NULL if the values are not packed.
static inline void **extra_of(const struct gpu_context *gpu,
                              const struct op_kernel *kernel,
                              struct packed *packed)
{
    if (__builtin_expect(!kernel->packed, 1))
        return NULL;
    packed->size = kernel->function->values_size;
    packed->extra[0] = (void *)DRIVER_EXTRA_VALUES;
    packed->extra[1] = (void *)kernel->packed;
    packed->extra[2] = (void *)DRIVER_EXTRA_SIZE;
    packed->extra[3] = &packed->size;
    packed->extra[4] = (void *)gpu->driver->extra_end;
    return packed->extra;
}

static bool has_launch_with(const struct stream *stream)
{
    return call_of(gpu_of(stream_context(stream)))->launch_with != NULL;
}

static int launch_with(struct stream *stream, const struct op *op)
{
    const struct op_kernel *kernel = &op->kernel;
    struct driver_launch_attribute attributes[LAUNCH_ATTRIBUTES_MOST];
    struct gpu_function *function = gpu_function_of(kernel->function);
    struct driver_launch launch = {
        LAUNCH_SHAPE(kernel),
        .stream = gpu_stream_of(stream)->handle,
        .attributes = attributes,
        .attribute_count = gpu_launch_attributes(
            kernel, markers_of((struct op *)(uintptr_t)op), attributes),
    };
    struct packed packed;
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    void **extra = extra_of(gpu, kernel, &packed);
    void *before = current_enter(gpu);
    int code = call_of(gpu)->launch_with(
        &launch, function->handle, extra ? NULL : (void **)kernel->arguments,
        extra);
    current_back(gpu, before);
    return code;
}

// True if the plain call cannot express the launch.
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
        return launch_with(stream, op);
    void **extra = extra_of(gpu_of(stream_context(stream)), kernel, &packed);
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
    return hooks_of(op)->graph_launch(stream, op, &over);
}

// --- Immediate launches ----------------------------------------------------

// Returns 0, or the driver's code if nothing was submitted.
static inline int launch_locked(struct stream *stream, struct op *op,
                                struct op *keeper)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    void *before = stream_enter(stream);
    stream_note_submitted_locked(own, op);
    int code = __builtin_expect(op->kind == OP_KERNEL, 1)
                   ? launch(stream, op)
                   : launch_graph(stream, op);
    if (__builtin_expect(code == 0, 1)) {
        own->last = LAST_WORK;
        if (keeper)
            op_retire_locked(keeper);
        ASSERT(op->sequence >= atomic_load(&stream->enqueued));
        atomic_store_explicit(&stream->enqueued, op->sequence,
                              memory_order_release);
        stream_mark_locked(stream);
    } else {
        atomic_store(&timeline_of(own)->submitted, op->sequence - 1);
    }
    stream_leave(stream, before);
    return code;
}

// --- Launches that record events --------------------------------------------

// Takes a marker for each event that the launch records; NULL ends the list.
// False after recording the failure.
static bool take_markers(struct stream *stream, struct op *op)
{
    struct marker **next = markers_of(op);
    bool took = true;
    for (size_t i = 0; i < op->kernel.attribute_count && took; i++)
        if (launch_attribute_records(&op->kernel.attributes[i])) {
            *next = marker_take(stream_context(stream), false);
            took = *next != NULL;
            next += took;
        }
    *next = NULL;
    return took;
}

// The driver has recorded the markers, unless the driver refused the launch. An
// event may be complete before the launch is, so its marker does not tell how
// far the stream is.
static void put_markers(struct stream *stream, struct op *op, bool recorded)
{
    struct marker **marker = markers_of(op);
    for (size_t i = 0; i < op->kernel.attribute_count && *marker; i++) {
        const rnl_launch_attribute *given = &op->kernel.attributes[i];
        if (!launch_attribute_records(given))
            continue;
        if (recorded)
            gpu_event_stand_for(launch_attribute_event(given), *marker, stream,
                                op->sequence);
        else
            marker_drop(stream_context(stream), *marker);
        marker++;
    }
}

static enum launch_result launch_recording(struct stream *stream,
                                           struct op *op)
{
    op->kind = OP_KERNEL;
    enum launch_result result = take_markers(stream, op)
                                    ? gpu_stream_launch(stream, op)
                                    : LAUNCH_FAILED;
    put_markers(stream, op, result == LAUNCH_DONE);
    return result;
}

HOT enum launch_result gpu_stream_launch(struct stream *stream, struct op *op)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    struct op *keeper = NULL;
    if (__builtin_expect(op->kind != OP_KERNEL, 0)) {
        if (op->kind == OP_RECORDING)
            return launch_recording(stream, op);
        if (hooks_of(op)->graph_prepares(op))
            return LAUNCH_NEEDS_OP;
    }
    lock_take(&own->lock);
    const bool holds = atomic_load_explicit(&own->defers, memory_order_relaxed);
    const uint32_t changes = atomic_load_explicit(&stream->attribute_changes,
                                                  memory_order_relaxed);
    // Combined without jumps, because a jump costs time.
    const bool straight = own->watched & !holds & (own->applied == changes);
    op->sequence = atomic_load_explicit(&stream->enqueued,
                                        memory_order_relaxed) + 1;
    bool keeps = op->kept_count > 0 && op_must_outlive(stream, op);
    if (__builtin_expect(!straight, 0) ||
        (keeps && !(keeper = op_keeper(op)))) {
        lock_give(&own->lock);
        return straight ? LAUNCH_FAILED : LAUNCH_NEEDS_OP;
    }
    int code = launch_locked(stream, op, keeper);
    lock_give(&own->lock);
    if (__builtin_expect(code == 0, 1))
        return LAUNCH_DONE;
    if (keeper)
        op_finish(keeper);
    if (code == GRAPH_PREPARES)  // the plan was exchanged meanwhile
        return LAUNCH_NEEDS_OP;
    driver_fail(stream_context(stream), code, op_name(op));
    return LAUNCH_FAILED;
}
