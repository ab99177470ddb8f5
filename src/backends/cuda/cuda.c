// The table of the cuda backend, and everything that only CUDA has.
#include "backends/cuda/compile.h"
#include "backends/cuda/cuda.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cuda/ptx.h"
#include "backends/cudalike/backend_hooks.h"
#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/image.h"

#include <dlfcn.h>
#include <pthread.h>

// --- Numbers ---------------------------------------------------------------

enum {
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NOT_INITIALIZED = 3,
    CUDA_DEINITIALIZED = 4,
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_IMAGE = 200,
    CUDA_NO_BINARY_FOR_GPU = 209,
    CUDA_INVALID_PTX = 218,
    CUDA_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_INVALID_SOURCE = 300,
    CUDA_INVALID_HANDLE = 400,
    CUDA_NOT_FOUND = 500,
    CUDA_NOT_READY = 600,
    CUDA_ILLEGAL_ADDRESS = 700,
    CUDA_LAUNCH_OUT_OF_RESOURCES = 701,
    CUDA_LAUNCH_TIMEOUT = 702,
    CUDA_PEER_ACCESS_ALREADY_ENABLED = 704,
    CUDA_ASSERT = 710,
    CUDA_HARDWARE_STACK_ERROR = 714,
    CUDA_LAUNCH_FAILED = 719,
    CUDA_COOPERATIVE_LAUNCH_TOO_LARGE = 720,
    CUDA_TENSOR_MEMORY_LEAK = 721,
    CUDA_NOT_SUPPORTED = 801,
    CUDA_MPS_CLIENT_TERMINATED = 810,
    CUDA_STREAM_CAPTURE_IMPLICIT = 906,
    CUDA_EXTERNAL_DEVICE = 911,
    CUDA_CONTAINED = 226,
};

static const struct driver_attributes attributes = {
    .max_block_threads = 1,
    .max_block_x = 2,
    .max_block_y = 3,
    .max_block_z = 4,
    .max_grid_x = 5,
    .max_grid_y = 6,
    .max_grid_z = 7,
    .shared_per_block = 8,
    .constant_size = 9,
    .warp_size = 10,
    .clock_khz = 13,
    .multiprocessors = 16,
    .l2_size = 38,
    .unified_addressing = 41,
    .pci_domain = 50,
    .compute_major = 75,
    .compute_minor = 76,
    .managed = 83,
    .concurrent_managed = 89,
    .cooperative = 95,
    .shared_optin = 97,
    .flush_writes = 98,
    .host_register = 99,
    .clusters = 120,
    .wait_value_nor = 123,
    .wait_value = -1,
};

// rnl_attribute follows CUdevice_attribute.
static int attribute_number(rnl_attribute id)
{
    return (int)id;
}

static bool is_sticky(int code)
{
    return code == CUDA_DEINITIALIZED || code == CUDA_CONTAINED ||
           code == CUDA_ILLEGAL_ADDRESS || code == CUDA_LAUNCH_TIMEOUT ||
           code == CUDA_ASSERT ||
           (code >= CUDA_HARDWARE_STACK_ERROR && code <= CUDA_LAUNCH_FAILED) ||
           code == CUDA_TENSOR_MEMORY_LEAK ||
           code == CUDA_MPS_CLIENT_TERMINATED || code == CUDA_EXTERNAL_DEVICE;
}

static rnl_status status_of(int code)
{
    switch (code) {
    case 0:
        return RNL_OK;
    case CUDA_OUT_OF_MEMORY:
        return RNL_ERROR_OUT_OF_MEMORY;
    case CUDA_INVALID_VALUE:
    case CUDA_LAUNCH_OUT_OF_RESOURCES:
    case CUDA_COOPERATIVE_LAUNCH_TOO_LARGE:
        return RNL_ERROR_INVALID_ARGUMENT;
    case CUDA_INVALID_IMAGE:
    case CUDA_NO_BINARY_FOR_GPU:
    case CUDA_INVALID_PTX:
    case CUDA_UNSUPPORTED_PTX_VERSION:
    case CUDA_INVALID_SOURCE:
        return RNL_ERROR_INVALID_BINARY;
    case CUDA_NOT_FOUND:
        return RNL_ERROR_NOT_FOUND;
    case CUDA_NOT_SUPPORTED:
        return RNL_ERROR_UNSUPPORTED;
    case CUDA_NO_DEVICE:
        return RNL_ERROR_NO_DEVICE;
    case CUDA_NOT_READY:
        return RNL_NOT_READY;
    default:
        return is_sticky(code) ? RNL_ERROR_DEVICE_LOST : RNL_ERROR_DRIVER;
    }
}

// --- Binaries --------------------------------------------------------------

static const struct image_vendor image = {
    .machine = 190,  // EM_CUDA
    .fatbin_magic = 0xBA55ED50,
    .assembly = ".version",
};

// Reads only PTX: cubins and fatbins are read by the driver.
static void describe(enum image_form form, const void *data, size_t size,
                     struct image_maker *maker)
{
    (void)size;
    if (form == IMAGE_ASSEMBLY)
        ptx_read(data, maker);
}

// --- The driver ------------------------------------------------------------

static struct driver driver = {
    .api = "cuda",
    .attributes = &attributes,
    .attribute_number = attribute_number,
    .image = &image,
    .describe = describe,
    .names_lack = "a binary from elsewhere is asked through the driver, from "
                  "12.4 on",
    .parameters_lack = "that needs a driver from 12.4 on",
    .conditions_lack = "the driver is too old for IF and WHILE nodes",
    .priority_least = 0,
    .priority_greatest = -5,
    .status = status_of,
    .is_sticky = is_sticky,
    .not_ready = CUDA_NOT_READY,
    .captures = CUDA_STREAM_CAPTURE_IMPLICIT,
    .out_of_memory = CUDA_OUT_OF_MEMORY,
    .peer_enabled = CUDA_PEER_ACCESS_ALREADY_ENABLED,
};

static void load(void)
{
    cuda_load(&driver);
}

static size_t device_count(const char **out_reason)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (out_reason)
        *out_reason = driver.reason;
    return driver.device_count;
}

static rnl_status device_info(uint32_t index, rnl_device_info *info)
{
    return gpu_device_info(&driver, index, info);
}

static rnl_status device_attribute(uint32_t index, rnl_attribute id,
                                   int64_t *out_value)
{
    return gpu_device_attribute(&driver, index, id, out_value);
}

static rnl_status context_init(struct context *context)
{
    return gpu_context_init(context, &driver);
}

// --- Source ----------------------------------------------------------------

static struct cuda_target target_of(struct context *context)
{
    const rnl_device_info *info = &context->device->info;
    struct cuda_target target = {
        .major = info->compute_major,
        .minor = info->compute_minor,
        .driver_version = driver.version,
        .assembler = driver.call.graph_add_node && info->compute_major >= 9
                         ? gpu_of(context)
                         : NULL,
    };
    Dl_info libcuda;
    if (dladdr((const void *)(uintptr_t)driver.call.init, &libcuda))
        target.beside = libcuda.dli_fname;
    return target;
}

static const char *compiler_reason(struct context *context)
{
    struct cuda_target target = target_of(context);
    struct nvrtc_place *place = mem_allocate(sizeof *place);
    rnl_status status =
        place ? nvrtc_find(target.driver_version, target.beside, place)
              : RNL_ERROR_OUT_OF_MEMORY;
    mem_release(place, sizeof *place);
    if (status == RNL_OK)
        return "";
    return status == RNL_ERROR_OUT_OF_MEMORY
               ? "there is no memory to look for NVRTC"
               : "NVRTC was not found, or is off; RUNNEL_NVRTC can name it";
}

static rnl_status compiler_identity(struct context *context, char *text,
                                    size_t size, rnl_compiler_info *out_info)
{
    struct cuda_target target = target_of(context);
    return out_info ? cuda_compiler_info(&target, out_info)
                    : cuda_identity(&target, text, size);
}

static rnl_status module_compile(struct context *context,
                                 const struct source *source,
                                 struct compiled_binary *out_binary)
{
    struct cuda_target target = target_of(context);
    return cuda_compile(&target, source, out_binary);
}

// --- Features --------------------------------------------------------------

// The least driver that has a launch attribute, and the least compute
// capability on which the attribute has an effect.
struct launch_need {
    int driver_version, compute;
    const char *driver_reason, *compute_reason;
};

static const struct launch_need launch_needs[] = {
    [RNL_LAUNCH_ACCESS_POLICY] = {
        11080, 80, "launch attributes need a driver of CUDA 11.8",
        "access windows need compute capability 8.0"},
    [RNL_LAUNCH_CLUSTER_SCHEDULING] = {
        11080, 90, "clusters need a driver of CUDA 11.8",
        "clusters need compute capability 9.0"},
    [RNL_LAUNCH_PROGRAMMATIC_SERIALIZATION] = {
        11080, 90, "programmatic launches need a driver of CUDA 11.8",
        "programmatic launches need compute capability 9.0"},
    [RNL_LAUNCH_PROGRAMMATIC_EVENT] = {
        11080, 90, "programmatic events need a driver of CUDA 11.8",
        "programmatic events need compute capability 9.0"},
    [RNL_LAUNCH_PRIORITY] = {
        11080, 0, "launch attributes need a driver of CUDA 11.8", ""},
    [RNL_LAUNCH_DOMAIN_MAP] = {
        12000, 90, "memory domains need a driver of CUDA 12.0",
        "devices before compute capability 9.0 have one memory domain"},
    [RNL_LAUNCH_DOMAIN] = {
        12000, 90, "memory domains need a driver of CUDA 12.0",
        "devices before compute capability 9.0 have one memory domain"},
    [RNL_LAUNCH_PREFERRED_CLUSTER] = {
        12080, 100, "preferred clusters need a driver of CUDA 12.8",
        "preferred clusters need compute capability 10.0"},
    [RNL_LAUNCH_COMPLETION_EVENT] = {
        12030, 0, "launch completion events need a driver of CUDA 12.3", ""},
    [RNL_LAUNCH_CARVEOUT] = {
        12050, 70, "the carve-out of a launch needs a driver of CUDA 12.5",
        "devices before compute capability 7.0 have no carve-out"},
};

static const char *launch_reason(const struct context *context, int id)
{
    const struct launch_need *need = &launch_needs[id];
    const rnl_device_info *info = &context->device->info;
    if (!driver.call.launch_with)
        return cuda_missing(&driver, "cuLaunchKernelEx");
    if (info->driver_version < need->driver_version)
        return need->driver_reason;
    return info->compute_major * 10 + info->compute_minor < need->compute
               ? need->compute_reason : "";
}

#define SWITCH_VERSION 12080

static const char *sharing_reason(struct context *context)
{
    static const char *const calls[] = {"cuIpcGetMemHandle",
                                        "cuIpcOpenMemHandle",
                                        "cuIpcCloseMemHandle"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const char *missing = cuda_missing(&driver, calls[i]);
        if (missing[0])
            return missing;
    }
    int unified = 0;
    driver.call.device_attribute(&unified, attributes.unified_addressing,
                                 gpu_of(context)->device);
    return unified ? "" : "the device has addresses of its own, which the "
                          "driver cannot share with other processes";
}

static const char *feature_reason(struct context *context, rnl_feature feature)
{
    if (feature >= BACKEND_LAUNCH_FEATURE(0))
        return launch_reason(context,
                             (int)feature - (int)BACKEND_LAUNCH_FEATURE(0));
    switch (feature) {
    case RNL_FEATURE_COMPILE:
        return compiler_reason(context);
    case RNL_FEATURE_NATIVE_FUNCTIONS:
        return "a GPU does not run C functions of the host";
    case RNL_FEATURE_ZERO_COPY_MAP:
        return "device memory is out of the host's reach";
    case RNL_FEATURE_CLUSTERS:
        return context->device->info.max_cluster_blocks > 1
                   ? cuda_missing(&driver, "cuLaunchKernelEx")
                   : "clusters need compute capability 9.0";
    case RNL_FEATURE_COOPERATIVE_LAUNCH:
        return cuda_missing(&driver, "cuLaunchKernelEx");
    case RNL_FEATURE_MEMORY_OPERATIONS:
    case RNL_FEATURE_PROMISES:
        return cuda_missing(&driver, "cuStreamBatchMemOp");
    case RNL_FEATURE_HOST_FUNCTIONS:
    case RNL_FEATURE_INTERPROCESS:
        return driver.call.stream_write32
                   ? cuda_missing(&driver, "cuStreamWaitValue32")
                   : cuda_missing(&driver, "cuStreamWriteValue32");
    case RNL_FEATURE_GRAPH_SWITCH:
        if (driver.version >= SWITCH_VERSION)
            return cuda_missing(&driver, "cuGraphAddNode");
        return "the driver is older than CUDA 12.8, which brought SWITCH and "
               "ELSE";
    case RNL_FEATURE_GRAPH_BODIES:
        return "the driver takes kernels, copies, fills, children and "
               "conditions in a body, and nothing else";
    case RNL_FEATURE_CANCEL:
        return "a driver takes back no work that it was given";
    case RNL_FEATURE_KERNEL_LIMIT:
        return "a driver ends a kernel that runs only together with its "
               "context";
    case RNL_FEATURE_INTERPROCESS_MEMORY:
        return sharing_reason(context);
    default:
        return "";
    }
}

// --- The table -------------------------------------------------------------

#define HAS(feature) BACKEND_FEATURE(RNL_FEATURE_##feature)

extern const struct backend cuda_backend;
const struct backend cuda_backend = {
    .abi = BACKEND_ABI,
    .api = "cuda",
    .accelerator = true,
    .unconfined = "NVRTC compiles inside this process, which cannot be confined "
                  "for it",
    .features = HAS(MANAGED_MEMORY) | HAS(PRIORITIES) | HAS(EVENT_TIMING) |
                HAS(PROMISES) | HAS(PEER_ACCESS) | HAS(MEMORY_OPERATIONS) |
                HAS(BATCHED_STREAMS) | HAS(CLUSTERS) | HAS(COOPERATIVE_LAUNCH) |
                HAS(MEMORY_HINTS) | HAS(COMPILE) | HAS(NATIVE_HANDLES) |
                HAS(GRAPHS) | HAS(GRAPH_SWITCH) | HAS(CAPTURE) |
                HAS(HOST_FUNCTIONS) | HAS(INTERPROCESS) |
                HAS(INTERPROCESS_MEMORY),
    .stream_attributes = BACKEND_ATTRIBUTE(RNL_STREAM_ACCESS_POLICY) |
                         BACKEND_ATTRIBUTE(RNL_STREAM_SYNC_POLICY) |
                         BACKEND_ATTRIBUTE(RNL_STREAM_PRIORITY) |
                         BACKEND_ATTRIBUTE(RNL_STREAM_DOMAIN_MAP) |
                         BACKEND_ATTRIBUTE(RNL_STREAM_DOMAIN),
    GPU_BACKEND_HOOKS,
    .device_count = device_count,
    .device_info = device_info,
    .device_attribute = device_attribute,
    .context_init = context_init,
    .feature_reason = feature_reason,
    .compiler_identity = compiler_identity,
    .module_compile = module_compile,
};
