// Modules, attributes of functions, and launches with attributes.
#include "backends/hip/hip.h"

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
               ? hip.launch_with(launch, function, arguments, extra)
               : HIP_NOT_SUPPORTED;
}

void hip_adapt_modules(struct driver_functions *call)
{
    launch_plain = call->launch;
    call->module_load = module_load;
    call->function_set_attribute = set_attribute;
    call->launch_with = launch_with;
}
