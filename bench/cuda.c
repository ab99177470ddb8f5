#include "cuda.h"

#include <string.h>

static const char *const names[CUDA_KERNELS] = {
    "args0", "args3", "args16", "args64", "add", "spin",
};

static cuda_fixture fixture;
static bool opened;

// --- Kernels ---------------------------------------------------------------

// One that does nothing, with parameters of three kinds in turn.
static size_t write_empty(char *text, size_t size, int count)
{
    static const char *const types[] = {"const float *", "int ", "float "};
    size_t used = (size_t)snprintf(
        text, size, "extern \"C\" __global__ void args%d(", count);
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%sp%d",
                                 i ? ", " : "", types[i % 3], i);
    return used + (size_t)snprintf(text + used, size - used, ") {}\n");
}

const char *cuda_source(void)
{
    static char text[4096];
    static const int counts[] = {0, 3, 16, 64};
    size_t used = 0;
    if (*text)
        return text;
    for (int i = 0; i < 4; i++)
        used += write_empty(text + used, sizeof text - used, counts[i]);
    snprintf(text + used, sizeof text - used,
             "extern \"C\" __global__ void add(unsigned long long *sum,\n"
             "                               int value, int ignored)\n"
             "{ *sum += value; }\n"
             "extern \"C\" __global__ void spin(volatile int *done,\n"
             "                                long long ticks)\n"
             "{\n"
             "    long long start = clock64();\n"
             "    while (clock64() - start < ticks) ;\n"
             "    *done = 1;\n"
             "    __threadfence_system();\n"
             "}\n");
    return text;
}

// --- The fixture -----------------------------------------------------------

static void explain(char *text, size_t size, const char *what)
{
    snprintf(text, size, "%s: %s", what, rnl_last_error()->message);
    text[strcspn(text, "\n")] = 0;
}

static bool open_runnel(cuda_fixture *cuda)
{
    rnl_device device = bench_device();
    if (device && !rnl_context_create(device, NULL, &cuda->context) &&
        // As the peer's.
        !rnl_stream_create(cuda->context,
                           RNL_STREAM_OPTIONS(.flags = RNL_STREAM_NON_BLOCKING),
                           &cuda->stream) &&
        !rnl_stream_create(cuda->context, NULL, &cuda->other_stream))
        return true;
    explain(cuda->no_runnel, sizeof cuda->no_runnel, "no context");
    return false;
}

static void open_batched(cuda_fixture *cuda)
{
    if (rnl_stream_create(cuda->context,
                          RNL_STREAM_OPTIONS(.flags = RNL_STREAM_NON_BLOCKING |
                                             RNL_STREAM_BATCHED),
                          &cuda->batched))
        explain(cuda->no_batched, sizeof cuda->no_batched,
                "no batched stream");
}

static void open_kernels(cuda_fixture *cuda)
{
    bool good = !rnl_module_compile(cuda->context, cuda_source(), NULL,
                                    &cuda->module);
    for (int i = 0; good && i < CUDA_KERNELS; i++)
        good = !rnl_module_function(cuda->module, names[i],
                                    &cuda->functions[i]);
    if (!good)
        explain(cuda->no_kernels, sizeof cuda->no_kernels, "no kernels");
}

static bool is_cuda(void)
{
    return strncmp(bench_device_name(), "cuda:", 5) == 0;
}

static void open_raw(cuda_fixture *cuda)
{
    void *native = NULL;
    const char *why = "Runnel does not give out the driver's handles";
    bool good = !rnl_context_native(cuda->context, &native);
    if (good)
        why = is_cuda() ? cuda_peer_open(&cuda->raw, native)
                        : "the peer is libcuda, which does not know the "
                          "handles of other drivers";
    for (int i = 0; good && !why && !*cuda->no_kernels && i < CUDA_KERNELS;
         i++)
        if (rnl_function_native(cuda->functions[i], &cuda->raw_functions[i]))
            why = "Runnel does not give out the driver's functions";
    if (why)
        snprintf(cuda->no_raw, sizeof cuda->no_raw, "%s", why);
}

cuda_fixture *cuda_get(void)
{
    if (opened)
        return &fixture;
    opened = true;
    if (open_runnel(&fixture)) {
        open_batched(&fixture);
        open_kernels(&fixture);
        open_raw(&fixture);
        return &fixture;
    }
    char *const others[] = {fixture.no_batched, fixture.no_kernels,
                            fixture.no_raw};
    for (int i = 0; i < 3; i++)
        memcpy(others[i], fixture.no_runnel, sizeof fixture.no_runnel);
    return &fixture;
}

void cuda_close(void)
{
    cuda_peer_close(&fixture.raw);
    for (int i = 0; i < CUDA_KERNELS; i++)
        rnl_function_release(fixture.functions[i]);
    rnl_module_release(fixture.module);
    rnl_stream_release(fixture.batched);
    rnl_stream_release(fixture.other_stream);
    rnl_stream_release(fixture.stream);
    rnl_context_release(fixture.context);
    memset(&fixture, 0, sizeof fixture);
    opened = false;
}

// --- Reasons ---------------------------------------------------------------

const char *cuda_no_raw(bool has)
{
    const cuda_fixture *cuda = cuda_get();
    if (*cuda->no_raw)
        return cuda->no_raw;
    return has ? NULL : "this driver lacks the function";
}

const char *cuda_no_raw_kernels(bool has)
{
    const char *why = cuda_no_kernels();
    return why ? why : cuda_no_raw(has);
}

const char *cuda_no_kernels(void)
{
    return bench_reason(cuda_get()->no_kernels);
}

const char *cuda_no_batched(void)
{
    const char *why = cuda_no_kernels();
    return why ? why : bench_reason(cuda_get()->no_batched);
}

// --- Compiling, in a process of its own ------------------------------------

double cuda_compile_once(bool by_hand)
{
    rnl_device_info info = {.struct_size = sizeof info};
    rnl_context context = NULL;
    rnl_function function = NULL;
    cuda_peer raw = {0};
    void *native = NULL;
    double time = -1;
    if (rnl_device_get_info(bench_device(), &info) ||
        rnl_context_create(bench_device(), NULL, &context))
        return -1;
    if (by_hand) {
        if (!rnl_context_native(context, &native) &&
            !cuda_peer_open(&raw, native))
            time = cuda_peer_compile(
                &raw, cuda_source(), "add",
                info.compute_major * 10 + info.compute_minor);
        cuda_peer_close(&raw);
    } else {
        uint64_t start = bench_now_ns();
        if (!rnl_function_compile(context, cuda_source(), "add", NULL,
                                  &function))
            time = (double)(bench_now_ns() - start);
        rnl_function_release(function);
    }
    rnl_context_release(context);
    return time;
}
