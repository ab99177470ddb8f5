#include "core/backend.h"
#include "core/context/library.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/object.h"

#include <string.h>

// --- Selecting by api ------------------------------------------------------

// True when the device counts for the word `api`, which is legal or NULL.
static bool device_is(const struct device *device, const char *api)
{
    if (!api)
        return true;
    if (strcmp(api, "gpu") == 0)
        return device->backend->accelerator;
    return strcmp(device->info.api, api) == 0;
}

static bool api_is_known(const char *api)
{
    // cuda and hip are words of the API also in a library built without them.
    return !api || strcmp(api, "gpu") == 0 || strcmp(api, "cuda") == 0 ||
           strcmp(api, "hip") == 0 || library_backend(api);
}

static rnl_status check_api(const char *api)
{
    rnl_status status = library_open();
    if (status != RNL_OK || api_is_known(api))
        return status;
    return fail_at(RNL_ERROR_NOT_FOUND, "api",
                   "'%.32s' is no api: there are cpu, cuda, hip, and gpu for "
                   "any accelerator",
                   api);
}

static size_t count_devices(const char *api)
{
    size_t count = 0;
    for (size_t i = 0; i < library_device_count(); i++)
        count += device_is(library_device(i), api);
    return count;
}

static const char *backend_reason(const struct backend *backend)
{
    const char *reason;
    backend->device_count(&reason);
    return reason;
}

static const char *gpu_reason(void)
{
    for (size_t i = 0; library_backend_at(i); i++)
        if (library_backend_at(i)->accelerator)
            return backend_reason(library_backend_at(i));
    return "this library was built without a backend for any accelerator";
}

static const char *api_reason(const char *api)
{
    if (count_devices(api) > 0)
        return "";
    if (strcmp(api, "gpu") == 0)
        return gpu_reason();
    const struct backend *backend = library_backend(api);
    if (!backend)
        return "this library was built without a backend for this api";
    const char *reason = backend_reason(backend);
    return reason[0] ? reason
                     : "RUNNEL_DEVICES hides every device of this api";
}

// --- Public ----------------------------------------------------------------

rnl_status rnl_api_name(size_t index, const char **out_name)
{
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = library_open()) ||
        (status = check_pointer(out_name, "out_name")))
        return status;
    const struct backend *backend = library_backend_at(index);
    if (!backend)
        return fail_at(RNL_ERROR_NOT_FOUND, "index",
                       "there is no api number %zu", index);
    *out_name = backend->api;
    return RNL_OK;
}

rnl_status rnl_device_count(const char *api, size_t *out_count)
{
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = check_api(api)) ||
        (status = check_pointer(out_count, "out_count")))
        return status;
    *out_count = count_devices(api);
    return RNL_OK;
}

rnl_status rnl_api_reason(const char *api, const char **out_reason)
{
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = check_pointer(api, "api")) ||
        (status = check_api(api)) ||
        (status = check_pointer(out_reason, "out_reason")))
        return status;
    *out_reason = api_reason(api);
    return RNL_OK;
}

rnl_status rnl_has_accelerator(bool *out_present)
{
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = library_open()) ||
        (status = check_pointer(out_present, "out_present")))
        return status;
    *out_present = count_devices("gpu") > 0;
    return RNL_OK;
}

static rnl_status no_device(const char *api, size_t index)
{
    size_t count = count_devices(api);
    const char *word = api ? api : "any api";
    if (count > 0)
        return fail_at(RNL_ERROR_NO_DEVICE, "index",
                       "there is no device %zu of %s, which has %zu", index,
                       word, count);
    return fail_at(RNL_ERROR_NO_DEVICE, "api", "there is no device of %s: %s",
                   word, api ? api_reason(api) : "RUNNEL_DEVICES hides all");
}

rnl_status device_get(const char *api, size_t index, rnl_device *out_device)
{
    rnl_status status = check_api(api);
    if (status != RNL_OK ||
        (status = check_pointer(out_device, "out_device")))
        return status;
    size_t left = index;
    for (size_t i = 0; i < library_device_count(); i++) {
        struct device *device = library_device(i);
        if (device_is(device, api) && left-- == 0) {
            *out_device = object_handle(&device->object);
            return RNL_OK;
        }
    }
    return no_device(api, index);
}

rnl_status rnl_device_get(const char *api, size_t index,
                          rnl_device *out_device)
{
    rnl_status status = ENTER();
    return status ? status : device_get(api, index, out_device);
}

rnl_status rnl_device_default(rnl_device *out_device)
{
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = library_open()) ||
        (status = check_pointer(out_device, "out_device")))
        return status;
    if (library_device_count() == 0)
        return no_device(NULL, 0);
    *out_device = object_handle(&library_device(0)->object);
    return RNL_OK;
}

rnl_status rnl_device_get_info(rnl_device handle, rnl_device_info *out_info)
{
    struct device *device;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = library_open()) ||
        (status = check_device(handle, "device", &device)))
        return status;
    return info_write(out_info, &device->info, sizeof device->info,
                      "out_info");
}

// Attributes that the info answers; false for all others.
static bool attribute_of_info(const rnl_device_info *info, rnl_attribute id,
                              int64_t *out_value)
{
    switch (id) {
#define CASE(name, field)                  \
    case RNL_ATTRIBUTE_##name:             \
        *out_value = (int64_t)info->field; \
        break;
        CASE(MAX_BLOCK_THREADS, max_block_threads)
        CASE(MAX_BLOCK_X, max_block.x)
        CASE(MAX_BLOCK_Y, max_block.y)
        CASE(MAX_BLOCK_Z, max_block.z)
        CASE(MAX_GRID_X, max_grid.x)
        CASE(MAX_GRID_Y, max_grid.y)
        CASE(MAX_GRID_Z, max_grid.z)
        CASE(SHARED_PER_BLOCK, shared_per_block)
        CASE(CONSTANT_SIZE, constant_size)
        CASE(WARP_SIZE, warp_size)
        CASE(CLOCK_KHZ, clock_khz)
        CASE(MULTIPROCESSORS, multiprocessors)
        CASE(L2_SIZE, l2_size)
        CASE(COMPUTE_MAJOR, compute_major)
        CASE(COMPUTE_MINOR, compute_minor)
        CASE(SHARED_OPTIN, shared_per_block_max)
        CASE(CLUSTERS, max_cluster_blocks > 1)
#undef CASE
    default:
        return false;
    }
    return true;
}

rnl_status rnl_device_attribute(rnl_device handle, rnl_attribute id,
                                int64_t *out_value)
{
    struct device *device;
    rnl_status status = ENTER();
    if (status != RNL_OK || (status = library_open()) ||
        (status = check_device(handle, "device", &device)) ||
        (status = check_pointer(out_value, "out_value")))
        return status;
    if (attribute_of_info(&device->info, id, out_value))
        return RNL_OK;
    if (device->backend->device_attribute)
        return device->backend->device_attribute(device->index, id, out_value);
    return fail_at(RNL_ERROR_UNSUPPORTED, "id",
                   "%s devices have no attribute %d", device->info.api,
                   (int)id);
}
