#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/gpu_context.h"

#include <stdio.h>

static int64_t number(const struct driver *driver, int device, int attribute)
{
    int value = 0;
    if (attribute < 0 ||
        driver->call.device_attribute(&value, attribute, device) != 0)
        return 0;
    return value;
}

static void read_limits(const struct driver *driver, int device,
                        rnl_device_info *info)
{
    const struct driver_attributes *a = driver->attributes;
#define READ(attribute) number(driver, device, a->attribute)
    info->compute_major = (int)READ(compute_major);
    info->compute_minor = (int)READ(compute_minor);
    info->multiprocessors = (uint32_t)READ(multiprocessors);
    info->clock_khz = (uint32_t)READ(clock_khz);
    info->warp_size = (uint32_t)READ(warp_size);
    info->max_block_threads = (uint32_t)READ(max_block_threads);
    info->max_block = (rnl_dim3){(uint32_t)READ(max_block_x),
                                 (uint32_t)READ(max_block_y),
                                 (uint32_t)READ(max_block_z)};
    info->max_grid = (rnl_dim3){(uint32_t)READ(max_grid_x),
                                (uint32_t)READ(max_grid_y),
                                (uint32_t)READ(max_grid_z)};
    // Every device with clusters supports eight blocks.
    info->max_cluster_blocks = READ(clusters) ? 8 : 1;
    info->shared_per_block = (uint64_t)READ(shared_per_block);
    info->shared_per_block_max = (uint64_t)READ(shared_optin);
    if (info->shared_per_block_max < info->shared_per_block)
        info->shared_per_block_max = info->shared_per_block;
    info->constant_size = (uint64_t)READ(constant_size);
    info->l2_size = (uint64_t)READ(l2_size);
#undef READ
}

rnl_status gpu_device_info(const struct driver *driver, uint32_t index,
                           rnl_device_info *info)
{
    int device;
    size_t memory = 0;
    int code = driver->call.device_get(&device, (int)index);
    if (code == 0)
        code = driver->call.device_name(info->name, sizeof info->name, device);
    if (code == 0)
        code = driver->call.device_memory(&memory, device);
    if (code != 0)
        return driver_fail_early(driver, code, "to describe a device");
    info->memory_size = memory;
    info->driver_version = driver->version;
    driver->call.device_pci(info->pci, sizeof info->pci, device);
    if (driver->call.device_uuid)
        driver->call.device_uuid(info->uuid, device);
    read_limits(driver, device, info);
    info->priority_least = driver->priority_least;
    info->priority_greatest = driver->priority_greatest;
    return RNL_OK;
}

rnl_status gpu_device_attribute(const struct driver *driver, uint32_t index,
                                rnl_attribute id, int64_t *out_value)
{
    int device, value = 0, attribute = driver->attribute_number(id);
    int code = driver->call.device_get(&device, (int)index);
    if (code == 0 && attribute >= 0)
        code = driver->call.device_attribute(&value, attribute, device);
    if (code != 0 || attribute < 0)
        return fail_at(RNL_ERROR_UNSUPPORTED, "id",
                       "the driver knows no attribute %d of its devices",
                       (int)id);
    *out_value = value;
    return RNL_OK;
}
