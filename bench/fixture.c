// The objects of Runnel that the cases need, made once.
#include "harness.h"
#include "native_kernels.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
    "extern \"C\" __global__ void empty() {}\n"
    "extern \"C\" __global__ void axpy(float a, const float *__restrict__ x,\n"
    "                                float *__restrict__ y, int count)\n"
    "{\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < count)\n"
    "        y[i] += a * x[i];\n"
    "}\n";

const char *bench_device_name(void)
{
    const char *name = getenv("RUNNEL_BENCH_DEVICE");
    return name && *name ? name : "cpu:0";
}

rnl_device bench_device(void)
{
    const char *name = bench_device_name(), *colon = strchr(name, ':');
    char api[BENCH_DEVICE_NAME];
    rnl_device device = NULL;
    snprintf(api, sizeof api, "%.*s", (int)strcspn(name, ":"), name);
    (void)rnl_device_get(api, colon ? strtoul(colon + 1, NULL, 10) : 0,
                         &device);
    return device;
}

static void explain(char *text, size_t size, const char *what)
{
    const rnl_error *error = rnl_last_error();
    snprintf(text, size, "%s: %s", what, error->message);
    text[strcspn(text, "\n")] = 0;
}

static bool open_context(bench_runnel *runnel)
{
    return !rnl_context_open("cpu", 0, NULL, &runnel->context) &&
           !rnl_stream_create(runnel->context, NULL, &runnel->stream) &&
           !rnl_stream_create(runnel->context, NULL, &runnel->other_stream);
}

static bool make_native(bench_runnel *runnel)
{
    return !rnl_function_create_native(runnel->context, "empty", native_empty,
                                       NULL, &runnel->native_empty) &&
           !rnl_function_create_native(
               runnel->context, "axpy", native_axpy,
               RNL_NATIVE_OPTIONS(.parameters = native_axpy_parameters,
                                  .parameter_count = 4),
               &runnel->native_axpy);
}

// Compiled as the peers are: for this machine, optimised.
static bool compile_source(bench_runnel *runnel)
{
    return !rnl_function_compile(runnel->context, source, "empty", NULL,
                                 &runnel->source_empty) &&
           !rnl_function_compile(runnel->context, source, "axpy", NULL,
                                 &runnel->source_axpy);
}

void bench_runnel_open(bench_runnel *runnel)
{
    if (!open_context(runnel)) {
        explain(runnel->no_native, sizeof runnel->no_native, "no context");
        memcpy(runnel->no_source, runnel->no_native,
               sizeof runnel->no_source);
        return;
    }
    if (!make_native(runnel))
        explain(runnel->no_native, sizeof runnel->no_native,
                "no native functions");
    if (!compile_source(runnel))
        explain(runnel->no_source, sizeof runnel->no_source,
                "no kernels from source");
}

double bench_runnel_compile(void)
{
    rnl_context context;
    rnl_function function;
    if (rnl_context_open("cpu", 0, NULL, &context))
        return -1;
    uint64_t start = bench_now_ns();
    bool good = !rnl_function_compile(context, source, "axpy", NULL,
                                      &function);
    double time = (double)(bench_now_ns() - start);
    if (good)
        rnl_function_release(function);
    rnl_context_release(context);
    return good ? time : -1;
}

// State that the threads of bench_runnel_compile_many share.
struct many {
    rnl_context context;
    _Atomic unsigned next;
    atomic_bool failed;
};

// Kernels that no cache can take for each other.
static void *compile_many(void *data)
{
    struct many *many = data;
    unsigned number;
    while ((number = atomic_fetch_add(&many->next, 1)) < BENCH_MANY_KERNELS) {
        char define[32];
        const char *const options[] = {define};
        rnl_function function;
        snprintf(define, sizeof define, "-DNUMBER=%u", number);
        if (rnl_function_compile(many->context, source, "axpy",
                                 RNL_MODULE_OPTIONS(.options = options,
                                                    .option_count = 1),
                                 &function))
            atomic_store(&many->failed, true);
        else
            rnl_function_release(function);
    }
    return NULL;
}

double bench_runnel_compile_many(bool two_threads)
{
    struct many many = {0};
    pthread_t other;
    if (rnl_context_open("cpu", 0, NULL, &many.context))
        return -1;
    uint64_t start = bench_now_ns();
    bool started = two_threads &&
                   !pthread_create(&other, NULL, compile_many, &many);
    compile_many(&many);
    if (started)
        pthread_join(other, NULL);
    double time = (double)(bench_now_ns() - start);
    rnl_context_release(many.context);
    return many.failed || started != two_threads ? -1 : time;
}

void bench_runnel_close(bench_runnel *runnel)
{
    rnl_function_release(runnel->source_axpy);
    rnl_function_release(runnel->source_empty);
    rnl_function_release(runnel->native_axpy);
    rnl_function_release(runnel->native_empty);
    rnl_stream_release(runnel->other_stream);
    rnl_stream_release(runnel->stream);
    rnl_context_release(runnel->context);
    memset(runnel, 0, sizeof *runnel);
}
