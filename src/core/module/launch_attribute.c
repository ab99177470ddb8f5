#include "core/backend.h"
#include "core/memory/host_memory.h"
#include "core/module/function.h"
#include "core/module/launch.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/stream/capture.h"
#include "core/stream/event.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <string.h>

// State while the attributes of a launch are read.
struct attribute_reading {
    struct context *context;
    struct op_kernel *kernel;
    const rnl_launch *launch;
    rnl_dim3 cluster;  // that was asked for, or zeros
    enum launch_way way;
    struct launch_extras *extras;
};

static rnl_status refuse(const char *what, int value)
{
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes", "%d is no %s",
                   value, what);
}

static bool heeds(const struct context *context, rnl_launch_attribute_id id)
{
    return context->launch_attributes & BACKEND_ATTRIBUTE(id);
}

// A limit of the device; 0 when it tells none.
static uint64_t limit_of(const struct attribute_reading *at, int number)
{
    int64_t value = 0;
    const struct device *device = at->context->device;
    if (!device->backend->device_attribute ||
        device->backend->device_attribute(
            device->index, (rnl_attribute)number, &value) != RNL_OK)
        return 0;
    return value > 0 ? (uint64_t)value : 0;
}

enum { MOST_WINDOW = 109, MOST_DOMAINS = 126 };  // as CUdevice_attribute has it

static void keep(struct launch_extras *extras, struct object *object)
{
    extras->kept[extras->kept_count++] = object;
}

void launch_extras_drop(struct launch_extras *extras)
{
    while (extras->kept_count > 0)
        object_unref(extras->kept[--extras->kept_count]);
}

// --- Clusters --------------------------------------------------------------

// The attribute is the launch's cluster, and no attribute any more.
static rnl_status read_cluster(struct attribute_reading *at, rnl_dim3 given)
{
    const rnl_dim3 *own = &at->cluster;
    if (given.x == 0)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                       "the x of RNL_LAUNCH_CLUSTER is zero; it has to be "
                       "given");
    given = dim_with_axes(&given);
    if (own->x > 0 && !dim_is_same(own, &given))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                       "RNL_LAUNCH_CLUSTER is %u x %u x %u, but the launch's "
                       "own cluster is %u x %u x %u; give one of them",
                       given.x, given.y, given.z, own->x, own->y, own->z);
    at->cluster = given;
    return RNL_OK;
}

// Once the cluster is known.
static rnl_status check_preferred(const struct attribute_reading *at,
                                  rnl_dim3 *given)
{
    const rnl_dim3 *c = &at->kernel->cluster, *grid = &at->kernel->grid;
    *given = dim_with_axes(given);
    bool fits = given->x > 0 && given->x % c->x == 0 &&
                given->y % c->y == 0 && given->z == c->z &&
                grid->x % given->x == 0 && grid->y % given->y == 0;
    if ((uint64_t)c->x * c->y * c->z == 1)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                       "RNL_LAUNCH_PREFERRED_CLUSTER needs a launch with a "
                       "cluster of more than one block");
    return fits ? RNL_OK
                : fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                          "the preferred cluster %u x %u x %u is no multiple "
                          "of the cluster %u x %u x %u in x and y that has "
                          "its z and divides the grid %u x %u x %u",
                          given->x, given->y, given->z, c->x, c->y, c->z,
                          grid->x, grid->y, grid->z);
}

// --- Windows ---------------------------------------------------------------

static rnl_status check_window(struct attribute_reading *at,
                               rnl_access_policy *policy)
{
    struct object *buffer = NULL;
    rnl_status status = access_policy_check(at->context, policy, "attributes");
    if (status != RNL_OK || policy->size == 0)
        return status;
    uint64_t most = heeds(at->context, RNL_LAUNCH_ACCESS_POLICY)
                        ? limit_of(at, MOST_WINDOW) : 0;
    if (most > 0 && policy->size > most)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, "attributes",
                       "the window has %zu bytes; the device can have %llu",
                       policy->size, (unsigned long long)most);
    if (!address_is_known(at->context, policy->base, policy->size, &buffer))
        return fail_at(RNL_ERROR_OUT_OF_RANGE, "attributes",
                       "the window of %zu bytes at %p is not inside of one "
                       "piece of memory that the context knows: a buffer, or "
                       "memory of rnl_host_allocate or rnl_host_register",
                       policy->size, policy->base);
    if (buffer && at->way == LAUNCH_INLINE)
        object_unref(buffer);  // a window is only a hint
    else if (buffer)
        keep(at->extras, buffer);
    return RNL_OK;
}

// --- Events ----------------------------------------------------------------

static rnl_status check_options(const struct event *event)
{
    const char *wrong = event->options.timing         ? ".timing"
                        : event->options.promise      ? ".promise"
                        : event->options.interprocess ? ".interprocess"
                                                      : NULL;
    if (!wrong)
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                   "an event that a launch records is made without %s", wrong);
}

static rnl_status read_event(struct attribute_reading *at,
                             rnl_launch_attribute *attribute)
{
    rnl_event handle = attribute->value.event.event;
    struct object *object = object_find_ref(handle, OBJECT_EVENT);
    rnl_status status = RNL_OK;
    if (!object)
        return object_refuse(handle, OBJECT_EVENT, "attributes");
    if (object->context != at->context)
        status = fail_at(RNL_ERROR_INVALID_HANDLE, "attributes",
                         "the event belongs to another context than the "
                         "stream");
    else if (at->way == LAUNCH_AS_NODE)
        status = fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                         "a node records no event by its launch: add a node "
                         "of RNL_NODE_EVENT_RECORD behind it");
    else
        status = check_options((const struct event *)object);
    if (status != RNL_OK) {
        object_unref(object);
        return status;
    }
    keep(at->extras, object);
    attribute->value.event.event = (rnl_event)(void *)object;
    return RNL_OK;
}

// --- Values ----------------------------------------------------------------

static rnl_status check_map(const struct attribute_reading *at,
                            const rnl_domain_map *map)
{
    uint64_t count = heeds(at->context, RNL_LAUNCH_DOMAIN_MAP)
                         ? limit_of(at, MOST_DOMAINS) : 0;
    if (count == 0 ||
        (map->default_domain < count && map->remote_domain < count))
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                   "the domain map is %u and %u; the device has domains 0 to "
                   "%llu",
                   map->default_domain, map->remote_domain,
                   (unsigned long long)count - 1);
}

static rnl_status check_carveout(int percent)
{
    return percent >= 0 && percent <= 100
               ? RNL_OK
               : fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                         "the carve-out is %d, not a percentage from 0 to 100",
                         percent);
}

static rnl_status check_updatable(bool updatable)
{
    return updatable
               ? fail_at(RNL_ERROR_UNSUPPORTED, "attributes",
                         "nodes that kernels update are not supported: the "
                         "driver's nodes are made anew with each "
                         "instantiation and update; change the node by "
                         "rnl_graph_exec_set_node")
               : RNL_OK;
}

static rnl_status check_range(const char *what, int value, int least, int most)
{
    return value >= least && value <= most ? RNL_OK : refuse(what, value);
}

static rnl_status read_value(struct attribute_reading *at,
                             rnl_launch_attribute *attribute)
{
    switch (attribute->id) {
    case RNL_LAUNCH_ACCESS_POLICY:
        return check_window(at, &attribute->value.access_policy);
    case RNL_LAUNCH_SYNC_POLICY:
        return check_range("rnl_sync_policy",
                           (int)attribute->value.sync_policy, RNL_SYNC_AUTO,
                           RNL_SYNC_BLOCKING);
    case RNL_LAUNCH_CLUSTER_SCHEDULING:
        return check_range("rnl_cluster_scheduling",
                           (int)attribute->value.cluster_scheduling,
                           RNL_CLUSTER_DEFAULT, RNL_CLUSTER_BALANCE);
    case RNL_LAUNCH_DOMAIN:
        return check_range("rnl_memory_domain", (int)attribute->value.domain,
                           RNL_DOMAIN_DEFAULT, RNL_DOMAIN_REMOTE);
    case RNL_LAUNCH_PROGRAMMATIC_EVENT:
    case RNL_LAUNCH_COMPLETION_EVENT:
        return read_event(at, attribute);
    case RNL_LAUNCH_PRIORITY:
        attribute->value.priority = stream_clamp_priority(
            &at->context->device->info, attribute->value.priority);
        return RNL_OK;
    case RNL_LAUNCH_DOMAIN_MAP:
        return check_map(at, &attribute->value.domain_map);
    case RNL_LAUNCH_UPDATABLE_NODE:
        return check_updatable(attribute->value.updatable_node);
    case RNL_LAUNCH_CARVEOUT:
        return check_carveout(attribute->value.carveout);
    default:
        return RNL_OK;
    }
}

// --- All -------------------------------------------------------------------

static bool is_attribute(rnl_launch_attribute_id id)
{
    return (unsigned)id < LAUNCH_ATTRIBUTES_ALL;
}

static rnl_status read_one(struct attribute_reading *at,
                           const rnl_launch_attribute *given, uint32_t *seen)
{
    struct op_kernel *kernel = at->kernel;
    rnl_launch_attribute *attribute =
        &at->extras->items[kernel->attribute_count];
    if (!is_attribute(given->id))
        return refuse("rnl_launch_attribute_id", (int)given->id);
    if (*seen & BACKEND_ATTRIBUTE(given->id))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                       "attribute %d is given twice", (int)given->id);
    if (given->id == RNL_LAUNCH_IGNORE)
        return RNL_OK;
    *seen |= BACKEND_ATTRIBUTE(given->id);
    if (given->id == RNL_LAUNCH_CLUSTER)
        return read_cluster(at, given->value.cluster);
    *attribute = *given;
    kernel->attribute_count++;
    return read_value(at, attribute);
}

static rnl_status read_all(struct attribute_reading *at)
{
    const rnl_launch *launch = at->launch;
    uint32_t seen = 0;
    if (launch->attribute_count > 0 && !launch->attributes)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "attributes",
                       "%zu attributes are announced, but 'attributes' is NULL",
                       launch->attribute_count);
    for (size_t i = 0; i < launch->attribute_count; i++) {
        rnl_status status = read_one(at, &launch->attributes[i], &seen);
        if (status != RNL_OK)
            return status;
    }
    return RNL_OK;
}

// Checks that need the final cluster.
static rnl_status check_together(struct attribute_reading *at)
{
    struct function *function = at->kernel->function;
    rnl_status status = cluster_take(function, &at->cluster, at->kernel);
    for (size_t i = 0; i < at->kernel->attribute_count && !status; i++) {
        rnl_launch_attribute *attribute = &at->extras->items[i];
        if (attribute->id == RNL_LAUNCH_PREFERRED_CLUSTER)
            status = check_preferred(at, &attribute->value.cluster);
        if (attribute->id == RNL_LAUNCH_COOPERATIVE &&
            attribute->value.cooperative &&
            !(status = context_need(at->context, RNL_FEATURE_COOPERATIVE_LAUNCH,
                                    "attributes", "cooperative launches are")))
            status = cooperative_check(function, at->kernel);
    }
    return status;
}

rnl_status launch_read_extras(struct op_kernel *kernel,
                              const rnl_launch *launch, enum launch_way way,
                              struct launch_extras *extras)
{
    struct attribute_reading at = {kernel->function->object.context,
                                   kernel,
                                   launch,
                                   launch->cluster,
                                   way,
                                   extras};
    extras->kept_count = 0;
    kernel->attributes = extras->items;
    if (at.cluster.x | at.cluster.y | at.cluster.z) {
        at.cluster = dim_with_axes(&at.cluster);
        at.cluster.x += at.cluster.x == 0;
    }
    rnl_status status = read_all(&at);
    if (status == RNL_OK)
        status = check_together(&at);
    if (status == RNL_OK && launch->constant_count > 0 && !launch->constants)
        status = fail_at(RNL_ERROR_INVALID_ARGUMENT, "constants",
                         "%zu constants are announced, but 'constants' is NULL",
                         launch->constant_count);
    if (status != RNL_OK)
        launch_extras_drop(extras);
    return status;
}

// --- Submitting ------------------------------------------------------------

#define EVENTS_MOST 2

// The op's references to events go to the caller.
static uint32_t take_events(struct op *op, struct event **events)
{
    uint32_t count = 0;
    size_t kept = 0;
    for (size_t i = 0; i < op->kept_count; i++) {
        if (op->kept[i]->class->kind == OBJECT_EVENT)
            events[count++] = (struct event *)op->kept[i];
        else
            op->kept[kept++] = op->kept[i];
    }
    op->kept_count = kept;
    return count;
}

// Removes the attributes whose events are recorded behind the launch.
static void forget_events(struct op *op)
{
    rnl_launch_attribute *items =
        (rnl_launch_attribute *)(uintptr_t)op->kernel.attributes;
    size_t left = 0;
    for (size_t i = 0; i < op->kernel.attribute_count; i++)
        if (!launch_attribute_records(&items[i]))
            items[left++] = items[i];
    op->kernel.attribute_count = left;
}

static bool can_record(const struct stream *stream, const struct op *op)
{
    uint32_t all = 0, heeded = stream_context(stream)->launch_attributes;
    for (size_t i = 0; i < op->kernel.attribute_count; i++)
        if (launch_attribute_records(&op->kernel.attributes[i]))
            all |= BACKEND_ATTRIBUTE(op->kernel.attributes[i].id);
    return (all & ~heeded) == 0;
}

// By the launch itself. LAUNCH_NEEDS_OP: that cannot be now, and nothing was
// done; otherwise the op is over.
static enum launch_result launch_recording(struct stream *stream, struct op *op)
{
    if (op->next || !stream->inline_launch || stream_is_captured(stream) ||
        !can_record(stream, op))
        return LAUNCH_NEEDS_OP;
    op->borrows = true;
    op->kind = OP_RECORDING;
    enum launch_result result = stream->inline_launch(stream, op);
    op->kind = OP_KERNEL;
    op->borrows = false;
    if (result != LAUNCH_DONE)
        op->sequence = 0;  // none of the stream's
    if (result == LAUNCH_NEEDS_OP)
        return result;
    for (size_t i = 0; i < op->kept_count; i++)
        op_unref(op, op->kept[i]);
    op->kept_count = 0;
    op_finish(op);
    return result;
}

static rnl_status submit_recording(struct stream *stream, struct op *first,
                                   struct op *op, struct event **events,
                                   uint32_t count)
{
    enum launch_result result = launch_recording(stream, first);
    rnl_status status = result == LAUNCH_FAILED ? fail_status() : RNL_OK;
    bool behind = result == LAUNCH_NEEDS_OP;
    if (behind) {
        forget_events(op);
        status = op_submit_list(first);
    }
    for (uint32_t i = 0; i < count && status == RNL_OK; i++) {
        if (behind)
            status = event_record_behind(events[i], stream);
        else
            event_note_record(events[i]);
    }
    return status;
}

rnl_status launch_submit_extras(struct stream *stream, struct op *first)
{
    struct event *events[EVENTS_MOST];
    struct op *op = first;
    while (op->next)
        op = op->next;
    uint32_t count = take_events(op, events);
    if (count == 0)
        return op_submit_list(first);
    rnl_status status = submit_recording(stream, first, op, events, count);
    for (uint32_t i = 0; i < count; i++)
        object_unref(&events[i]->object);
    return status;
}

// --- Effect ----------------------------------------------------------------

static const char *why_without_effect(struct context *context,
                                      rnl_launch_attribute_id id)
{
    const char *reason = NULL;
    switch (id) {
    case RNL_LAUNCH_IGNORE:
        return "RNL_LAUNCH_IGNORE stands for no attribute";
    case RNL_LAUNCH_SYNC_POLICY:
        return "how threads wait is the stream's: rnl_stream_set_attribute";
    case RNL_LAUNCH_UPDATABLE_NODE:
        return "the driver's nodes are made anew with each instantiation and "
               "update of a graph";
    case RNL_LAUNCH_COOPERATIVE:
        reason = context_lacks(context, RNL_FEATURE_COOPERATIVE_LAUNCH);
        return reason ? reason : "";
    case RNL_LAUNCH_CLUSTER:
        reason = context_lacks(context, RNL_FEATURE_CLUSTERS);
        return reason ? reason : "";
    default:
        return context->backend->feature_reason(context,
                                                BACKEND_LAUNCH_FEATURE(id));
    }
}

uint32_t launch_attributes_of(struct context *context)
{
    uint32_t heeded = 0;
    for (int id = 0; id < LAUNCH_ATTRIBUTES_ALL; id++)
        if (!why_without_effect(context, (rnl_launch_attribute_id)id)[0])
            heeded |= BACKEND_ATTRIBUTE(id);
    return heeded;
}

rnl_status rnl_launch_attribute_has_effect(rnl_context handle,
                                           rnl_launch_attribute_id id,
                                           bool *out_has_effect,
                                           const char **out_reason)
{
    struct context *context;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_pointer(out_has_effect, "out_has_effect")))
        return status;
    if (!is_attribute(id))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "id",
                       "%d is no rnl_launch_attribute_id", (int)id);
    const char *reason = why_without_effect(context, id);
    *out_has_effect = reason[0] == '\0';
    if (out_reason)
        *out_reason = reason;
    return RNL_OK;
}
