// The table of the hip backend, and everything that only HIP has.
#include "backends/hip/code_object.h"
#include "backends/hip/hip.h"
#include "backends/cudalike/backend_hooks.h"
#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/image.h"

#include <pthread.h>

// --- Numbers -----------------------------------------------------------------

// The same from HIP 5.2 to 7.2. Those from 10000 on are AMD's own.
static const struct driver_attributes attributes = {
    .max_block_threads = 56,
    .max_block_x = 26,
    .max_block_y = 27,
    .max_block_z = 28,
    .max_grid_x = 29,
    .max_grid_y = 30,
    .max_grid_z = 31,
    .shared_per_block = 74,
    .constant_size = 83,
    .warp_size = 87,
    .clock_khz = 5,
    .multiprocessors = 63,
    .l2_size = 19,
    .unified_addressing = 85,
    .pci_domain = 69,
    .compute_major = 23,
    .compute_minor = 61,
    .managed = 24,
    .concurrent_managed = 9,
    .cooperative = 10,
    .shared_optin = 75,
    .flush_writes = -1,
    .host_register = -1,
    .clusters = -1,
    .wait_value_nor = -1,
    .wait_value = 10013,  // CanUseStreamWaitValue, which 5.2 has too
};

// rnl_attribute has CUDA's numbers. -1: HIP has no such attribute.
static int attribute_number(rnl_attribute id)
{
    static const struct {
        rnl_attribute id;
        int number;
    } others[] = {
        {RNL_ATTRIBUTE_MAX_BLOCK_THREADS, 56},
        {RNL_ATTRIBUTE_MAX_BLOCK_X, 26},
        {RNL_ATTRIBUTE_MAX_BLOCK_Y, 27},
        {RNL_ATTRIBUTE_MAX_BLOCK_Z, 28},
        {RNL_ATTRIBUTE_MAX_GRID_X, 29},
        {RNL_ATTRIBUTE_MAX_GRID_Y, 30},
        {RNL_ATTRIBUTE_MAX_GRID_Z, 31},
        {RNL_ATTRIBUTE_SHARED_PER_BLOCK, 74},
        {RNL_ATTRIBUTE_CONSTANT_SIZE, 83},
        {RNL_ATTRIBUTE_WARP_SIZE, 87},
        {RNL_ATTRIBUTE_REGISTERS_PER_BLOCK, 71},
        {RNL_ATTRIBUTE_CLOCK_KHZ, 5},
        {RNL_ATTRIBUTE_MULTIPROCESSORS, 63},
        {RNL_ATTRIBUTE_INTEGRATED, 16},
        {RNL_ATTRIBUTE_CAN_MAP_HOST, 3},
        {RNL_ATTRIBUTE_CONCURRENT_KERNELS, 8},
        {RNL_ATTRIBUTE_L2_SIZE, 19},
        {RNL_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR, 57},
        {RNL_ATTRIBUTE_UNIFIED_ADDRESSING, 85},
        {RNL_ATTRIBUTE_COMPUTE_MAJOR, 23},
        {RNL_ATTRIBUTE_COMPUTE_MINOR, 61},
        {RNL_ATTRIBUTE_SHARED_PER_MULTIPROCESSOR, 76},
        {RNL_ATTRIBUTE_MANAGED_MEMORY, 24},
        {RNL_ATTRIBUTE_COOPERATIVE, 10},
        {RNL_ATTRIBUTE_SHARED_OPTIN, 75},
        {RNL_ATTRIBUTE_BLOCKS_PER_MULTIPROCESSOR, 25},
        {RNL_ATTRIBUTE_ACCESS_WINDOW_MAX, 1},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].id == id)
            return others[i].number;
    return -1;
}

static bool is_sticky(int code)
{
    return code == HIP_DEINITIALIZED || code == HIP_ILLEGAL_ADDRESS ||
           code == HIP_LAUNCH_TIMEOUT || code == HIP_ASSERT ||
           code == HIP_LAUNCH_FAILURE;
}

static rnl_status status_of(int code)
{
    switch (code) {
    case 0:
        return RNL_OK;
    case HIP_OUT_OF_MEMORY:
        return RNL_ERROR_OUT_OF_MEMORY;
    case HIP_INVALID_VALUE:
    case HIP_INVALID_CONFIGURATION:
    case HIP_LAUNCH_OUT_OF_RESOURCES:
    case HIP_COOPERATIVE_LAUNCH_TOO_LARGE:
        return RNL_ERROR_INVALID_ARGUMENT;
    case HIP_INVALID_DEVICE_FUNCTION:
    case HIP_INVALID_IMAGE:
    case HIP_NO_BINARY_FOR_GPU:
    case HIP_INVALID_KERNEL_FILE:
    case HIP_INVALID_SOURCE:
        return RNL_ERROR_INVALID_BINARY;
    case HIP_NOT_FOUND:
        return RNL_ERROR_NOT_FOUND;
    case HIP_NOT_SUPPORTED:
        return RNL_ERROR_UNSUPPORTED;
    case HIP_NO_DEVICE:
        return RNL_ERROR_NO_DEVICE;
    case HIP_NOT_READY:
        return RNL_NOT_READY;
    default:
        return is_sticky(code) ? RNL_ERROR_DEVICE_LOST : RNL_ERROR_DRIVER;
    }
}

// --- Binaries ----------------------------------------------------------------

// Code objects. Offload bundles, which hold several, are not taken yet.
const struct image_vendor hip_image = {
    .machine = 224,  // EM_AMDGPU
};

static void describe(enum image_form form, const void *data, size_t size,
                     struct image_maker *maker)
{
    if (form == IMAGE_ELF)
        code_object_read(data, size, maker);
}

// --- The driver --------------------------------------------------------------

static struct driver driver = {
    .api = "hip",
    .attributes = &attributes,
    .attribute_number = attribute_number,
    .image = &hip_image,
    .describe = describe,
    .names_lack = "the code object does not describe its kernels",
    .parameters_lack = "its metadata do not say so",
    .conditions_lack = "HIP has no IF and WHILE nodes",
    .priority_least = 1,
    .priority_greatest = -1,
    .status = status_of,
    .is_sticky = is_sticky,
    .not_ready = HIP_NOT_READY,
    .captures = HIP_STREAM_CAPTURE_IMPLICIT,
    .out_of_memory = HIP_OUT_OF_MEMORY,
    .extra_end = HIP_EXTRA_END,
    .peer_enabled = HIP_PEER_ACCESS_ALREADY_ENABLED,
};

static void load(void)
{
    hip_load(&driver);
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

// --- Source ------------------------------------------------------------------

static rnl_status compiler_identity(struct context *context, char *text,
                                    size_t size, rnl_compiler_info *out_info)
{
    struct hip_target target;
    rnl_status status = hip_target_of(gpu_of(context)->device, &target);
    if (status != RNL_OK)
        return status;
    return out_info ? hip_compiler_info(&target, out_info)
                    : hip_identity(&target, text, size);
}

static rnl_status module_compile(struct context *context,
                                 const struct source *source,
                                 struct compiled_binary *out_binary)
{
    struct hip_target target;
    rnl_status status = hip_target_of(gpu_of(context)->device, &target);
    return status == RNL_OK ? hip_compile(&target, source, out_binary) : status;
}

// --- Features ----------------------------------------------------------------

static const char *launch_reason(int id)
{
    if (id != RNL_LAUNCH_ACCESS_POLICY && id != RNL_LAUNCH_PRIORITY)
        return "HIP has no such launch attribute";
    return hip_missing("hipDrvLaunchKernelEx");
}

static const char *cooperative_reason(const struct context *context)
{
    int can = 0;
    if (!driver.call.device_attribute ||
        driver.call.device_attribute(
            &can, attributes.cooperative,
            gpu_of(context)->device) != 0 || !can)
        return "the device has no cooperative launches";
    return hip_missing("hipModuleLaunchCooperativeKernel");
}

static const char *sharing_reason(void)
{
    static const char *const calls[] = {"hipIpcGetMemHandle",
                                        "hipIpcOpenMemHandle",
                                        "hipIpcCloseMemHandle"};
    const char *missing = "";
    for (size_t i = 0; i < sizeof calls / sizeof *calls && !missing[0]; i++)
        missing = hip_missing(calls[i]);
    return missing;
}

static const char *values_reason(const struct context *context)
{
    return host_queue_is_supported(gpu_of(context))
               ? "" : "the device has no stream memory operations";
}

static const char *feature_reason(struct context *context, rnl_feature feature)
{
    if (feature >= BACKEND_LAUNCH_FEATURE(0))
        return launch_reason((int)feature - (int)BACKEND_LAUNCH_FEATURE(0));
    switch (feature) {
    case RNL_FEATURE_COMPILE:
        return hip_compile_reason();
    case RNL_FEATURE_NATIVE_FUNCTIONS:
        return "a GPU does not run C functions of the host";
    case RNL_FEATURE_ZERO_COPY_MAP:
        return "device memory is out of the host's reach";
    case RNL_FEATURE_CLUSTERS:
        return "HIP has no clusters up to 7.2";
    case RNL_FEATURE_COOPERATIVE_LAUNCH:
        return cooperative_reason(context);
    case RNL_FEATURE_MEMORY_OPERATIONS:
    case RNL_FEATURE_PROMISES:
    case RNL_FEATURE_HOST_FUNCTIONS:
    case RNL_FEATURE_INTERPROCESS:
        return values_reason(context);
    case RNL_FEATURE_GRAPH_SWITCH:
    case RNL_FEATURE_GRAPH_BODIES:
        return "HIP has no IF, WHILE and SWITCH nodes";
    case RNL_FEATURE_CANCEL:
        return "a driver takes back no work that it was given";
    case RNL_FEATURE_KERNEL_LIMIT:
        return "a driver ends a kernel that runs only together with its "
               "process";
    case RNL_FEATURE_INTERPROCESS_MEMORY:
        return sharing_reason();
    default:
        return "";
    }
}

// --- The table ---------------------------------------------------------------

#define HAS(feature) BACKEND_FEATURE(RNL_FEATURE_##feature)

extern const struct backend hip_backend;
const struct backend hip_backend = {
    .abi = BACKEND_ABI,
    .api = "hip",
    .accelerator = true,
    .unconfined = "hiprtc compiles in the process runnel-hip-cc, which is not "
                  "confined",
    .features = HAS(MANAGED_MEMORY) | HAS(PRIORITIES) | HAS(EVENT_TIMING) |
                HAS(PROMISES) | HAS(PEER_ACCESS) | HAS(MEMORY_OPERATIONS) |
                HAS(BATCHED_STREAMS) | HAS(COOPERATIVE_LAUNCH) |
                HAS(MEMORY_HINTS) | HAS(COMPILE) | HAS(NATIVE_HANDLES) |
                HAS(GRAPHS) | HAS(CAPTURE) | HAS(HOST_FUNCTIONS) |
                HAS(INTERPROCESS) | HAS(INTERPROCESS_MEMORY),
    .stream_attributes = BACKEND_ATTRIBUTE(RNL_STREAM_SYNC_POLICY) |
                         BACKEND_ATTRIBUTE(RNL_STREAM_PRIORITY),
    GPU_BACKEND_HOOKS,
    .device_count = device_count,
    .device_info = device_info,
    .device_attribute = device_attribute,
    .context_init = context_init,
    .feature_reason = feature_reason,
    .compiler_identity = compiler_identity,
    .module_compile = module_compile,
};
