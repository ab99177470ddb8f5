// Modules, attributes of functions, and launches with attributes.
#include "backends/hip/hip.h"

#include "backends/cudalike/stream/launch.h"

#include <string.h>

// HIP ignores the options, among them the buffer for messages.
static int module_load(void **out_module, const void *image, unsigned count,
                       int *options, void **values)
{
    (void)count, (void)options, (void)values;
    return hip.module_load(out_module, image);
}

// hipFuncSetAttribute takes a function of the host. A kernel of a module may
// have all shared memory of the device without being allowed to, and its
// carve-out is fixed.
static int set_attribute(void *function, int attribute, int value)
{
    (void)function, (void)value;
    return attribute == DRIVER_FUNCTION_MAX_DYNAMIC ||
                   attribute == DRIVER_FUNCTION_CARVEOUT
               ? 0 : HIP_NOT_SUPPORTED;
}

struct driver_launch_attribute
hip_attribute_of(const struct driver_launch_attribute *attribute)
{
    struct driver_launch_attribute other = *attribute;
    if (attribute->id != DRIVER_LAUNCH_ACCESS_POLICY)
        return other;
    struct hip_window window = {
        .base = attribute->window.base,
        .hit = attribute->window.hit,
        .hit_ratio = attribute->window.hit_ratio,
        .miss = attribute->window.miss,
        .size = attribute->window.size,
    };
    memset(other.bytes, 0, sizeof other.bytes);
    memcpy(other.bytes, &window, sizeof window);
    return other;
}

static int launch_attributed(const struct driver_launch *launch,
                             void *function, void **arguments, void **extra)
{
    struct driver_launch_attribute attributes[LAUNCH_ATTRIBUTES_MOST];
    struct driver_launch other = *launch;
    if (launch->attribute_count > LAUNCH_ATTRIBUTES_MOST)
        return HIP_INVALID_VALUE;
    for (unsigned i = 0; i < launch->attribute_count; i++)
        attributes[i] = hip_attribute_of(&launch->attributes[i]);
    other.attributes = attributes;
    return hip.launch_with(&other, function, arguments, extra);
}

static bool is_cooperative(const struct driver_launch *launch)
{
    return launch->attribute_count == 1 &&
           launch->attributes[0].id == DRIVER_LAUNCH_COOPERATIVE &&
           launch->attributes[0].number != 0;
}

static driver_launch_fn *launch_plain;  // hipModuleLaunchKernel

// Before 7.0 attributes without effect have been left out, and the cooperative
// call takes no packed arguments.
static int launch_with(const struct driver_launch *launch, void *function,
                       void **arguments, void **extra)
{
    if (is_cooperative(launch) && hip.launch_cooperative && !extra)
        return hip.launch_cooperative(
            function, launch->grid_x, launch->grid_y, launch->grid_z,
            launch->block_x, launch->block_y, launch->block_z,
            launch->shared_size, launch->stream, arguments);
    if (!hip.launch_with && launch->attribute_count == 0)
        return launch_plain(function, launch->grid_x, launch->grid_y,
                            launch->grid_z, launch->block_x, launch->block_y,
                            launch->block_z, launch->shared_size,
                            launch->stream, arguments, extra);
    return hip.launch_with
               ? launch_attributed(launch, function, arguments, extra)
               : HIP_NOT_SUPPORTED;
}

void hip_adapt_modules(struct driver_functions *call)
{
    launch_plain = call->launch;
    call->module_load = module_load;
    call->function_set_attribute = set_attribute;
    call->launch_with = launch_with;
}
