// The table of the cpu backend, its devices and contexts.

#include "backends/cpu/device_attribute.h"
#include "backends/cpu/jit/compile.h"
#include "backends/cpu/jit/find_compiler.h"
#include "backends/cpu/jit/module.h"
#include "backends/cpu/kernel/block.h"
#include "backends/cpu/kernel/stop.h"
#include "backends/cpu/machine/machine.h"
#include "backends/cpu/scheduler/event.h"
#include "backends/cpu/scheduler/graph_plan.h"
#include "backends/cpu/scheduler/pool.h"
#include "backends/cpu/scheduler/queue.h"
#include "core/backend.h"
#include "core/object/config.h"
#include "core/object/context_object.h"

static size_t device_count(const char **out_reason)
{
    if (out_reason)
        *out_reason = "";
    return config_get()->cpu_devices;
}

static rnl_status device_info(uint32_t index, rnl_device_info *info)
{
    (void)index;
    machine_info(info);
    info->driver_version = RNL_VERSION;
    info->warp_size = 32;
    info->max_block_threads = BLOCK_THREADS_MOST;
    info->max_block = (rnl_dim3){1024, 1024, 64};
    info->max_grid = (rnl_dim3){2147483647, 65535, 65535};
    info->max_cluster_blocks = BLOCK_COOPERATES ? CLUSTER_BLOCKS_MOST : 1;
    info->shared_per_block = 48 << 10;
    info->shared_per_block_max = RNL_CPU_DYNAMIC_LIMIT;
    info->constant_size = 64 << 10;
    info->priority_least = 0;
    info->priority_greatest = -(PRIORITIES - 1);
    return RNL_OK;
}

// --- Contexts --------------------------------------------------------------

static rnl_status context_init(struct context *context)
{
    struct cpu_context *cpu = context_native(context);
    const struct config *config = config_get();
    unsigned width = context->options.threads;
    if (width == 0)
        width = config->threads;
    if (width == 0)
        width = machine_cores();
    uint64_t limit = context->options.kernel_limit_ns;
    if (limit == 0)
        limit = config->kernel_limit_ns;
    if (stop_unsupported_reason()[0])
        limit = 0;
    return pool_create(width, config->spin_ns, limit, &cpu->pool);
}

static void context_finish(struct context *context)
{
    struct cpu_context *cpu = context_native(context);
    pool_destroy(cpu->pool);
}

static rnl_status context_memory(struct context *context, size_t *out_free,
                                 size_t *out_total)
{
    (void)context;
    machine_memory(out_free, out_total);
    return RNL_OK;
}

static const char *compiler_reason(void)
{
    char *path = mem_allocate(FIND_PATH_SIZE);
    bool found = path && find_compiler(path) == RNL_OK;
    mem_release(path, FIND_PATH_SIZE);
    return found
               ? ""
               : "the program runnel-cc was not found; RUNNEL_CC can name it";
}

static const char *launch_reason(int id)
{
    switch (id) {
    case RNL_LAUNCH_ACCESS_POLICY:
        return "a cpu's caches take no hints about ranges of memory";
    case RNL_LAUNCH_PROGRAMMATIC_SERIALIZATION:
        return "operations of a cpu stream run one behind the other";
    case RNL_LAUNCH_CLUSTER_SCHEDULING:
    case RNL_LAUNCH_PREFERRED_CLUSTER:
        return "a cpu has no multiprocessors to choose from for a cluster";
    case RNL_LAUNCH_DOMAIN_MAP:
    case RNL_LAUNCH_DOMAIN:
        return "fences of a cpu order all memory: it has one domain";
    case RNL_LAUNCH_CARVEOUT:
        return "shared memory of a cpu is ordinary memory, and no part of its "
               "caches";
    default:  // priority and events
        return "";
    }
}

static const char *feature_reason(struct context *context, rnl_feature feature)
{
    (void)context;
    if (feature >= BACKEND_LAUNCH_FEATURE(0))
        return launch_reason((int)feature - (int)BACKEND_LAUNCH_FEATURE(0));
    switch (feature) {
    case RNL_FEATURE_COMPILE:
        return compiler_reason();
    case RNL_FEATURE_CLUSTERS:
    case RNL_FEATURE_COOPERATIVE_LAUNCH:
        return BLOCK_COOPERATES ? ""
                                : "blocks take turns on x86-64 only";
    case RNL_FEATURE_MEMORY_HINTS:
        return "host and device share one memory on cpu: there is nowhere to "
               "move it";
    case RNL_FEATURE_NATIVE_HANDLES:
        return "the cpu has no vendor's driver whose handles these could be";
    case RNL_FEATURE_KERNEL_LIMIT:
        return stop_unsupported_reason();
    default:
        return "";
    }
}

static rnl_status peer_access(struct context *context, struct context *peer,
                              enum peer_call call)
{
    (void)context;
    (void)peer;
    (void)call;
    return RNL_OK;  // one address space
}

// --- Source ----------------------------------------------------------------

static rnl_status compiler_identity(struct context *context, char *text,
                                    size_t size, rnl_compiler_info *out_info)
{
    return out_info ? cpu_compiler_info(out_info)
                    : cpu_compiler_identity(context, text, size);
}

// --- The table -------------------------------------------------------------

#define HAS(feature) BACKEND_FEATURE(RNL_FEATURE_##feature)

extern const struct backend cpu_backend;
const struct backend cpu_backend = {
    .abi = BACKEND_ABI,
    .api = "cpu",
    .features = HAS(COMPILE) | HAS(NATIVE_FUNCTIONS) | HAS(MANAGED_MEMORY) |
                HAS(ZERO_COPY_MAP) | HAS(PRIORITIES) | HAS(EVENT_TIMING) |
                HAS(PROMISES) | HAS(PEER_ACCESS) | HAS(GRAPHS) | HAS(CAPTURE) |
                HAS(GRAPH_SWITCH) | HAS(GRAPH_BODIES) |
                HAS(MEMORY_OPERATIONS) | HAS(BATCHED_STREAMS) |
                HAS(HOST_FUNCTIONS) | HAS(CANCEL) | HAS(KERNEL_LIMIT) |
                HAS(INTERPROCESS) | HAS(INTERPROCESS_MEMORY) |
                (BLOCK_COOPERATES ? HAS(COOPERATIVE_LAUNCH) | HAS(CLUSTERS)
                                  : 0),
    .stream_attributes = BACKEND_ATTRIBUTE(RNL_STREAM_SYNC_POLICY) |
                         BACKEND_ATTRIBUTE(RNL_STREAM_PRIORITY),
    .context_size = sizeof(struct cpu_context),
    .stream_size = sizeof(struct queue),
    .event_size = sizeof(struct cpu_event),
    .module_size = sizeof(struct cpu_module),
    .function_size = sizeof(struct cpu_function),
    .exec_size = sizeof(struct cpu_exec),

    .device_count = device_count,
    .device_info = device_info,
    .device_attribute = cpu_device_attribute,

    .context_init = context_init,
    .context_finish = context_finish,
    .context_memory = context_memory,
    .feature_reason = feature_reason,
    .peer_access = peer_access,

    .stream_init = cpu_stream_init,
    .stream_finish = cpu_stream_finish,
    .stream_submit = cpu_stream_submit,
    .stream_query = cpu_stream_query,
    .stream_wait = cpu_stream_wait,
    .stream_join = cpu_stream_join,
    .stream_reset = cpu_stream_reset,
    .stream_cancel = cpu_stream_cancel,

    .event_init = cpu_event_init,
    .event_finish = cpu_event_finish,
    .event_record = cpu_event_record,
    .event_join = cpu_event_join,
    .event_query = cpu_event_query,
    .event_wait = cpu_event_wait,
    .event_elapsed = cpu_event_elapsed,
    .event_break = cpu_event_break,
    .event_share = cpu_event_share,

    .memory_allocate = cpu_memory_allocate,
    .memory_free = cpu_memory_free,
    .memory_share = cpu_memory_share,
    .host_register = cpu_host_register,

    .compiler_identity = compiler_identity,
    .module_compile = cpu_module_compile,
    .module_init = cpu_module_init,
    .module_finish = cpu_module_finish,
    .module_global = cpu_module_global,
    .module_kernel = cpu_module_kernel,
    .module_code = cpu_module_code,
    .function_init = cpu_function_init,
    .function_finish = cpu_function_finish,
    .exec_init = cpu_exec_init,
    .exec_finish = cpu_exec_finish,
    .exec_change = cpu_exec_change,
    .function_occupancy = cpu_function_occupancy,
};
