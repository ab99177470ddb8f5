// Launches of the fake.
#include "fake.h"

#include <string.h>

#include "backends/cpu/jit/module.h"

enum { EXTRA_END = FAKE_IS_HIP ? 3 : 0, EXTRA_BUFFER = 1, EXTRA_SIZE = 2 };

// --- Shape ----------------------------------------------------------------

static int check_shape(const struct fake_function_object *function,
                       const struct driver_launch *launch)
{
    if (!launch->grid_x || !launch->grid_y || !launch->grid_z ||
        !launch->block_x || !launch->block_y || !launch->block_z)
        return FAKE_INVALID_VALUE;
    uint64_t threads =
        (uint64_t)launch->block_x * launch->block_y * launch->block_z;
    if (launch->grid_x > 2147483647u || launch->grid_y > 65535 ||
        launch->grid_z > 65535 || launch->block_x > 1024 ||
        launch->block_y > 1024 || launch->block_z > 64 || threads > 1024 ||
        launch->shared_size > (unsigned)function->max_dynamic)
        return FAKE_INVALID_VALUE;
    return threads > function->info.max_block_threads ? FAKE_OUT_OF_RESOURCES
                                                      : FAKE_OK;
}

// --- Attributes -----------------------------------------------------------

// C functions that stand for kernels have no clusters.
static int convert_cluster(const struct fake_function_object *function,
                           const struct driver_launch *launch,
                           const struct driver_launch_attribute *attribute,
                           struct fake_call *out)
{
    unsigned x = attribute->cluster.x, y = attribute->cluster.y,
             z = attribute->cluster.z;
    if (!x || !y || !z)
        return FAKE_INVALID_VALUE;
    if (function->module->kernel_count == 0)
        out->launch.cluster = (rnl_dim3){x, y, z};
    return launch->grid_x % x || launch->grid_y % y || launch->grid_z % z ||
                   (uint64_t)x * y * z > 8
               ? FAKE_INVALID_CLUSTER : FAKE_OK;
}

static bool is_record(const struct driver_launch_attribute *attribute)
{
    return attribute->id == DRIVER_LAUNCH_PROGRAMMATIC_EVENT ||
           attribute->id == DRIVER_LAUNCH_COMPLETION_EVENT;
}

// What the real driver refuses.
static int check_attribute(const struct driver_launch_attribute *attribute)
{
    switch (attribute->id) {
    case DRIVER_LAUNCH_ACCESS_POLICY:
        return attribute->window.size <= 134217728 &&
                       attribute->window.hit_ratio >= 0 &&
                       attribute->window.hit_ratio <= 1 &&
                       attribute->window.miss != 2
                   ? FAKE_OK : FAKE_INVALID_VALUE;
    case DRIVER_LAUNCH_CLUSTER_SCHEDULING:
        return attribute->number >= 0 && attribute->number <= 2
                   ? FAKE_OK : FAKE_INVALID_VALUE;
    case DRIVER_LAUNCH_PROGRAMMATIC_EVENT:
    case DRIVER_LAUNCH_COMPLETION_EVENT:
        return attribute->record.flags == 0 &&
                       fake_find(KIND_EVENT, attribute->record.event)
                   ? FAKE_OK : FAKE_INVALID_VALUE;
    case DRIVER_LAUNCH_CARVEOUT:
        return attribute->number >= 0 && attribute->number <= 100
                   ? FAKE_OK : FAKE_INVALID_VALUE;
    default:
        return attribute->id < 0 || attribute->id > 20 ? FAKE_INVALID_VALUE
                                                       : FAKE_OK;
    }
}

static int convert_attribute(const struct fake_function_object *function,
                             const struct driver_launch *launch,
                             const struct driver_launch_attribute *attribute,
                             struct fake_call *out)
{
    int code = attribute->id == DRIVER_LAUNCH_CLUSTER
                   ? convert_cluster(function, launch, attribute, out)
                   : check_attribute(attribute);
    if (code)
        return code;
    if (attribute->id == DRIVER_LAUNCH_COOPERATIVE && attribute->number) {
        out->attributes[0] =
            (rnl_launch_attribute){RNL_LAUNCH_COOPERATIVE, {true}};
        out->launch.attribute_count = 1;
    }
    return FAKE_OK;
}

// More blocks than the device can have at once: on 32 multiprocessors as many
// threads as a grid of the cpu may have that waits.
static bool is_too_large(const struct fake_function_object *function,
                         const struct driver_launch *launch)
{
    unsigned threads = launch->block_x * launch->block_y * launch->block_z;
    size_t shared =
        launch->shared_size + function->info.shared_size + 1024;
    uint64_t most = 2048 / ((threads + 31) / 32 * 32);
    if (most > 233472 / shared)
        most = 233472 / shared;
    return (uint64_t)launch->grid_x * launch->grid_y * launch->grid_z >
           (most > 32 ? 32 : most) * 32;
}

// --- Arguments ------------------------------------------------------------

static rnl_arg argument_of(const rnl_parameter *parameter, const void *value)
{
    rnl_arg arg = {.kind = parameter->kind, .size = parameter->size};
    if (parameter->kind == RNL_VALUE_STRUCT ||
        parameter->kind == RNL_VALUE_UNKNOWN || parameter->size > 8) {
        arg.kind = RNL_VALUE_STRUCT;
        arg.value.pointer = value;
    } else {
        memcpy(&arg.value, value, parameter->size);
    }
    return arg;
}

_Atomic size_t fake_packed;
struct driver_launch_attribute fake_attributes[FAKE_ATTRIBUTES];
unsigned fake_attribute_count;

static int convert_packed(const rnl_function_info *info, void **extra,
                          rnl_arg *items)
{
    const char *buffer = NULL;
    size_t size = 0, at = 0;
    for (; *extra != (void *)EXTRA_END; extra += 2) {
        if (*extra == (void *)EXTRA_BUFFER)
            buffer = extra[1];
        else if (*extra == (void *)EXTRA_SIZE)
            size = *(size_t *)extra[1];
    }
    for (size_t i = 0; i < info->parameter_count; i++) {
        const rnl_parameter *parameter = &info->parameters[i];
        size_t alignment =
            parameter->alignment ? parameter->alignment : parameter->size;
        at = (at + alignment - 1) / alignment * alignment;
        if (!buffer || at + parameter->size > size)
            return FAKE_INVALID_VALUE;
        items[i] = argument_of(parameter, buffer + at);
        at += parameter->size;
    }
    return FAKE_OK;
}

static int convert_arguments(const rnl_function_info *info, void **arguments,
                             void **extra, rnl_arg *items)
{
    if (info->parameter_count > FAKE_ARGUMENTS || (arguments && extra))
        return FAKE_INVALID_VALUE;
    if (extra) {
        atomic_fetch_add(&fake_packed, 1);
        return convert_packed(info, extra, items);
    }
    if (info->parameter_count && !arguments)
        return FAKE_INVALID_VALUE;
    for (size_t i = 0; i < info->parameter_count; i++)
        items[i] = argument_of(&info->parameters[i], arguments[i]);
    return FAKE_OK;
}

int fake_launch_convert(struct fake_function_object *function,
                        const struct driver_launch *launch, void **arguments,
                        void **extra, struct fake_call *out)
{
    out->launch = (rnl_launch){
        .struct_size = sizeof out->launch,
        .grid = {launch->grid_x, launch->grid_y, launch->grid_z},
        .block = {launch->block_x, launch->block_y, launch->block_z},
        .shared_size = launch->shared_size,
        .attributes = out->attributes,
    };
    int code = check_shape(function, launch);
    for (unsigned i = 0; i < launch->attribute_count && !code; i++)
        code = convert_attribute(function, launch, &launch->attributes[i],
                                 out);
    if (!code && out->launch.attribute_count && is_too_large(function, launch))
        code = FAKE_COOPERATIVE_TOO_LARGE;
    if (!code)
        code = convert_arguments(&function->info, arguments, extra,
                                 out->items);
    out->args = (rnl_args){.struct_size = sizeof out->args,
                           .count = function->info.parameter_count,
                           .items = out->items};
    return code;
}

// --- Launches -------------------------------------------------------------

static void note_attributes(const struct driver_launch *launch)
{
    if (launch->attribute_count == 0 ||
        launch->attribute_count > FAKE_ATTRIBUTES)
        return;
    fake_attribute_count = launch->attribute_count;
    memcpy(fake_attributes, launch->attributes,
           launch->attribute_count * sizeof *launch->attributes);
}

// Blocks trigger an event when they begin, or else when they end.
static int record(const struct driver_launch *launch, rnl_stream inner,
                  bool begins)
{
    int code = FAKE_OK;
    for (unsigned i = 0; i < launch->attribute_count && !code; i++) {
        const struct driver_launch_attribute *attribute =
            &launch->attributes[i];
        bool early = attribute->id == DRIVER_LAUNCH_COMPLETION_EVENT ||
                     attribute->record.at_block_start;
        if (is_record(attribute) && early == begins)
            code = fake_record_inner(attribute->record.event, inner);
    }
    return code;
}

static int submit(enum fake_function which, void *handle,
                  const struct driver_launch *launch, void **arguments,
                  void **extra)
{
    struct fake_context *context;
    struct fake_turn turn;
    struct fake_call call;
    int code = which == FAKE_launch
                   ? fake_enter_for(which, KIND_STREAM, launch->stream,
                                    &context)
                   : fake_enter(which, &context);
    if (code)
        return code;
    struct fake_function_object *function = fake_find(KIND_FUNCTION, handle);
    if (!function || function->object.context != context)
        return FAKE_INVALID_HANDLE;
    if ((code = fake_launch_convert(function, launch, arguments, extra,
                                    &call)) ||
        (code = fake_turn_take(context, launch->stream, &turn)))
        return code;
    note_attributes(launch);
    code = record(launch, turn.inner, true);
    rnl_status status =
        code ? RNL_ERROR_DRIVER
             : rnl_enqueue_function(turn.inner, function->inner, &call.launch,
                                    &call.args);
    if (status == RNL_OK && record(launch, turn.inner, false))
        status = RNL_ERROR_DRIVER;
    return fake_turn_give(&turn, false, status);
}

int fake_launch(void *function, unsigned grid_x, unsigned grid_y,
                unsigned grid_z, unsigned block_x, unsigned block_y,
                unsigned block_z, unsigned shared_size, void *stream,
                void **arguments, void **extra)
{
    struct driver_launch launch = {grid_x, grid_y, grid_z, block_x, block_y,
                                   block_z, shared_size, stream, NULL, 0};
    return submit(FAKE_launch, function, &launch, arguments, extra);
}

int fake_launch_with(const struct driver_launch *launch, void *function,
                     void **arguments, void **extra)
{
    return submit(FAKE_launch_with, function, launch, arguments, extra);
}
