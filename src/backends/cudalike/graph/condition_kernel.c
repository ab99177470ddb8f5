// The kernel in front of an IF, WHILE or SWITCH, and at the end of a WHILE's
// body. The kernel hands the number in memory to the driver, which cannot read
// that number by itself.
#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/sync_gate.h"
#include "backends/cudalike/graph/plan.h"

// PTX of an old version and target, which all devices with conditional nodes
// accept.
static const char source[] =
    ".version 6.0\n"
    ".target sm_50\n"
    ".address_size 64\n"
    ".extern .func cudaGraphSetConditional\n"
    "(.param .b64 handle, .param .b32 value);\n"
    ".visible .entry runnel_decide(.param .u64 handle, .param .u64 word)\n"
    "{\n"
    "    .reg .b32 %r<2>;\n"
    "    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [handle];\n"
    "    ld.param.u64 %rd2, [word];\n"
    "    ld.u32 %r1, [%rd2];\n"
    "    {\n"
    "    .param .b64 first;\n"
    "    .param .b32 second;\n"
    "    st.param.b64 [first], %rd1;\n"
    "    st.param.b32 [second], %r1;\n"
    "    call.uni cudaGraphSetConditional, (first, second);\n"
    "    }\n"
    "    ret;\n"
    "}\n";

// True if no thread has installed the module earlier.
static bool install(struct gpu_context *gpu, void *module, void *function)
{
    lock_take(&gpu->lock);
    bool first = !gpu->condition_module;
    if (first) {
        gpu->condition_module = module;
        atomic_store_explicit(&gpu->condition_kernel, function,
                              memory_order_release);
    }
    lock_give(&gpu->lock);
    return first;
}

static int load(struct gpu_context *gpu)
{
    const struct driver_functions *call = call_of(gpu);
    void *module, *function = NULL;
    int code = call->module_load(&module, source, 0, NULL, NULL);
    if (code != 0)
        return code;
    code = call->module_function(&function, module, "runnel_decide");
    if (code != 0 || !install(gpu, module, function))
        call->module_unload(module);
    return code;
}

int gpu_condition_kernel(struct context *context, void **out_function)
{
    struct gpu_context *gpu = gpu_of(context);
    *out_function =
        atomic_load_explicit(&gpu->condition_kernel, memory_order_acquire);
    if (*out_function)
        return 0;
    sync_gate_enter(gpu);
    int code = load(gpu);
    sync_gate_leave(gpu);
    *out_function =
        atomic_load_explicit(&gpu->condition_kernel, memory_order_acquire);
    return code;
}

void gpu_condition_kernel_finish(struct gpu_context *gpu)
{
    if (gpu->condition_module)
        call_of(gpu)->module_unload(gpu->condition_module);
}
