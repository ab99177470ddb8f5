#include "peer_opencl.h"

#ifdef BENCH_HAVE_OPENCL

#define CL_TARGET_OPENCL_VERSION 120

#include "harness.h"
#include "stats.h"

#include <CL/cl.h>

#include <stdatomic.h>
#include <string.h>

enum { MAX_EVENTS = 1024 };

struct opencl_state {
    cl_device_id device;
    cl_context context;
    cl_command_queue queue, other;
    cl_kernel empty, axpy;
    cl_mem x, y, target;
    size_t count, local;  // of the axpy; local 0: OpenCL's choice
    bool wait_for_event;
    cl_event events[MAX_EVENTS];
    struct {
        cl_kernel kernel;
        cl_mem arrays[OPENCL_ARRAYS];
        size_t global[2], local[2];  // local[0] 0: OpenCL's choice
    } any;                           // a kernel of the caller
    opencl_peer peer;
    bool opened;
    char version[200];
    char why[128];  // the peer is absent, or ""
};

// No `if (i < count)`, since the global size is exact: with the check, PoCL's
// compiler does not vectorise the loop, which then takes three times as long.
static const char source[] =
    "__kernel void empty(void) {}\n"
    "__kernel void axpy(float a, __global const float *restrict x,\n"
    "                   __global float *restrict y)\n"
    "{\n"
    "    size_t i = get_global_id(0);\n"
    "    y[i] += a * x[i];\n"
    "}\n";

// --- Launches --------------------------------------------------------------

static bool launch(opencl_state *cl, cl_kernel kernel, size_t global,
                   size_t local, cl_event *event)
{
    return clEnqueueNDRangeKernel(cl->queue, kernel, 1, NULL, &global,
                                  local ? &local : NULL, 0, NULL,
                                  event) == CL_SUCCESS;
}

static bool finish(opencl_state *cl)
{
    return clFinish(cl->queue) == CL_SUCCESS;
}

static bool launch_and_wait(opencl_state *cl, cl_kernel kernel, size_t global,
                            size_t local)
{
    if (!cl->wait_for_event)
        return launch(cl, kernel, global, local, NULL) && finish(cl);
    cl_event event;
    if (!launch(cl, kernel, global, local, &event))
        return false;
    bool good = clWaitForEvents(1, &event) == CL_SUCCESS;
    return clReleaseEvent(event) == CL_SUCCESS && good;
}

static bool enqueue_empty(opencl_state *cl)
{
    return launch(cl, cl->empty, 1, 1, NULL);
}

static bool empty_and_wait(opencl_state *cl)
{
    return launch_and_wait(cl, cl->empty, 1, 1);
}

static bool axpy_and_wait(opencl_state *cl)
{
    return launch_and_wait(cl, cl->axpy, cl->count, cl->local);
}

// The shortest of some runs: what this way can do.
static uint64_t shortest(opencl_state *cl, bool (*run)(opencl_state *cl),
                         unsigned runs)
{
    uint64_t best = UINT64_MAX;
    for (unsigned i = 0; i < runs; i++) {
        uint64_t start = bench_now_ns();
        if (!run(cl))
            return UINT64_MAX;
        uint64_t time = bench_now_ns() - start;
        best = time < best ? time : best;
    }
    return best;
}

// --- axpy ------------------------------------------------------------------

static void axpy_release(opencl_state *cl)
{
    if (cl->x)
        clReleaseMemObject(cl->x);
    if (cl->y)
        clReleaseMemObject(cl->y);
    cl->x = cl->y = NULL;
}

static void choose_local_size(opencl_state *cl)
{
    static const size_t sizes[] = {0, 64, 128, 256, 512, 1024, 4096};
    uint64_t best = UINT64_MAX;
    size_t chosen = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cl->local = sizes[i];
        uint64_t time =
            shortest(cl, axpy_and_wait, cl->count > 1u << 20 ? 5 : 50);
        if (time < best) {
            best = time;
            chosen = sizes[i];
        }
    }
    cl->local = chosen;
}

static bool axpy_prepare(opencl_state *cl, float a, float *x, float *y,
                         size_t count)
{
    size_t size = count * sizeof *x;
    cl->count = count;
    cl->x = clCreateBuffer(cl->context, CL_MEM_READ_ONLY | CL_MEM_USE_HOST_PTR,
                           size, x, NULL);
    cl->y = clCreateBuffer(cl->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                           size, y, NULL);
    bool good = cl->x && cl->y && !clSetKernelArg(cl->axpy, 0, sizeof a, &a) &&
                !clSetKernelArg(cl->axpy, 1, sizeof cl->x, &cl->x) &&
                !clSetKernelArg(cl->axpy, 2, sizeof cl->y, &cl->y);
    if (good)
        choose_local_size(cl);
    else
        axpy_release(cl);
    return good;
}

// --- Events ----------------------------------------------------------------

static double stop(opencl_state *cl, uint64_t start, unsigned count,
                   unsigned made)
{
    double time = (double)(bench_now_ns() - start) / count;
    bool good =
        finish(cl) && clFinish(cl->other) == CL_SUCCESS && made == count;
    for (unsigned i = 0; i < made; i++)
        clReleaseEvent(cl->events[i]);
    return good ? time : -1;
}

static bool marker(opencl_state *cl, cl_event *event)
{
    return !clEnqueueMarkerWithWaitList(cl->queue, 0, NULL, event);
}

static double markers(opencl_state *cl, unsigned count)
{
    unsigned made = 0;
    uint64_t start = bench_now_ns();
    while (made < count && marker(cl, &cl->events[made]))
        made++;
    return stop(cl, start, count, made);
}

static double markers_and_waits(opencl_state *cl, unsigned count)
{
    unsigned made = 0;
    uint64_t start = bench_now_ns();
    while (made < count && marker(cl, &cl->events[made]) &&
           !clEnqueueBarrierWithWaitList(cl->other, 1, &cl->events[made], NULL))
        made++;
    return stop(cl, start, count, made);
}

static double queries(opencl_state *cl, unsigned count)
{
    cl_event event;
    if (!marker(cl, &event) || !finish(cl))
        return -1;
    cl_int status = CL_COMPLETE;
    uint64_t start = bench_now_ns();
    for (unsigned i = 0; i < count && status == CL_COMPLETE; i++)
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                       &status, NULL);
    double time = (double)(bench_now_ns() - start) / count;
    clReleaseEvent(event);
    return status == CL_COMPLETE ? time : -1;
}

// --- Many queues -----------------------------------------------------------

static bool queue_step(opencl_state *cl, cl_command_queue queue,
                       cl_event *event)
{
    cl_event before = *event;
    size_t one = 1;
    bool fits =
        (!before || !clEnqueueBarrierWithWaitList(queue, 1, &before, NULL)) &&
        !clEnqueueNDRangeKernel(queue, cl->empty, 1, NULL, &one, &one, 0, NULL,
                                event);
    if (before && fits)
        clReleaseEvent(before);
    clFlush(queue);
    return fits;
}

static double queues(opencl_state *cl, size_t count)
{
    cl_command_queue *all = calloc(count, sizeof *all);
    cl_event event = NULL;
    size_t made = 0, run = 0;
    while (all && made < count &&
           (all[made] = clCreateCommandQueue(cl->context, cl->device, 0, NULL)))
        made++;
    uint64_t start = bench_now_ns();
    while (run < made && queue_step(cl, all[run], &event))
        run++;
    for (size_t i = 0; i < run; i++)
        clFinish(all[i]);
    double time = (double)(bench_now_ns() - start) / (double)count;
    if (event)
        clReleaseEvent(event);
    for (size_t i = 0; i < made; i++)
        clReleaseCommandQueue(all[i]);
    free(all);
    return run == count ? time : -1;
}

// --- Host code behind the queue's work -------------------------------------

static _Atomic uint64_t called_at;

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *data)
{
    (void)event, (void)status, (void)data;
    atomic_store(&called_at, bench_now_ns());
}

static void CL_CALLBACK native(void *data)
{
    (void)data;
    atomic_store(&called_at, bench_now_ns());
}

static double latency_since(uint64_t start)
{
    uint64_t end;
    while (!(end = atomic_load(&called_at)))
        bench_relax();
    return (double)(end - start);
}

static double callback(opencl_state *cl)
{
    cl_event event;
    atomic_store(&called_at, 0);
    uint64_t start = bench_now_ns();
    if (!marker(cl, &event) || clFlush(cl->queue) ||
        clSetEventCallback(event, CL_COMPLETE, on_complete, NULL))
        return -1;
    double time = latency_since(start);
    finish(cl);
    clReleaseEvent(event);
    return time;
}

static double native_kernel(opencl_state *cl)
{
    atomic_store(&called_at, 0);
    int unused = 0;
    uint64_t start = bench_now_ns();
    if (clEnqueueNativeKernel(cl->queue, native, &unused, sizeof unused, 0,
                              NULL, NULL, 0, NULL, NULL) ||
        clFlush(cl->queue))
        return -1;
    double time = latency_since(start);
    return finish(cl) ? time : -1;
}

// --- Copies ----------------------------------------------------------------

static bool copy_prepare(opencl_state *cl, void *to, size_t size)
{
    cl->target = clCreateBuffer(
        cl->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size, to, NULL);
    return cl->target != NULL;
}

static bool copy(opencl_state *cl, const void *from, size_t size)
{
    return !clEnqueueWriteBuffer(cl->queue, cl->target, CL_TRUE, 0, size, from,
                                 0, NULL, NULL);
}

static void copy_release(opencl_state *cl)
{
    if (cl->target)
        clReleaseMemObject(cl->target);
    cl->target = NULL;
}

// --- Kernels of the caller -------------------------------------------------

static bool kernel_and_wait(opencl_state *cl)
{
    cl_event event;
    if (clEnqueueNDRangeKernel(cl->queue, cl->any.kernel, 2, NULL,
                               cl->any.global,
                               cl->any.local[0] ? cl->any.local : NULL, 0, NULL,
                               cl->wait_for_event ? &event : NULL))
        return false;
    if (!cl->wait_for_event)
        return finish(cl);
    bool good = clWaitForEvents(1, &event) == CL_SUCCESS;
    return clReleaseEvent(event) == CL_SUCCESS && good;
}

static void kernel_release(opencl_state *cl)
{
    for (size_t i = 0; i < OPENCL_ARRAYS; i++) {
        if (cl->any.arrays[i])
            clReleaseMemObject(cl->any.arrays[i]);
        cl->any.arrays[i] = NULL;
    }
    if (cl->any.kernel)
        clReleaseKernel(cl->any.kernel);
    cl->any.kernel = NULL;
}

static cl_kernel build_kernel(opencl_state *cl, const opencl_kernel *kernel)
{
    const char *text = kernel->source;
    cl_program program =
        clCreateProgramWithSource(cl->context, 1, &text, NULL, NULL);
    if (!program)
        return NULL;
    cl_kernel result = NULL;
    if (!clBuildProgram(program, 1, &cl->device, kernel->options, NULL, NULL))
        result = clCreateKernel(program, kernel->name, NULL);
    clReleaseProgram(program);
    return result;
}

static bool set_arguments(opencl_state *cl, const opencl_kernel *kernel)
{
    cl_kernel own = cl->any.kernel;
    cl_uint at = 0;
    bool good = true;
    if (kernel->factor != 0)
        good =
            !clSetKernelArg(own, at++, sizeof kernel->factor, &kernel->factor);
    for (size_t i = 0; i < kernel->array_count && good; i++) {
        cl_mem *array = &cl->any.arrays[i];
        *array =
            clCreateBuffer(cl->context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR,
                           kernel->sizes[i], kernel->arrays[i], NULL);
        good = *array && !clSetKernelArg(own, at++, sizeof *array, array);
    }
    return good && !clSetKernelArg(own, at, sizeof kernel->n, &kernel->n);
}

static void choose_shape(opencl_state *cl)
{
    static const size_t shapes[][2] = {{0, 0},    {64, 1}, {256, 1},
                                       {1024, 1}, {32, 8}, {16, 16}};
    uint64_t best = UINT64_MAX;
    size_t chosen = 0;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (cl->any.global[1] < shapes[i][1])
            continue;
        memcpy(cl->any.local, shapes[i], sizeof shapes[i]);
        kernel_and_wait(cl);  // compiles it for this shape
        uint64_t time = shortest(cl, kernel_and_wait, 3);
        if (time < best) {
            best = time;
            chosen = i;
        }
    }
    memcpy(cl->any.local, shapes[chosen], sizeof shapes[chosen]);
}

static bool kernel_prepare(opencl_state *cl, const opencl_kernel *kernel)
{
    kernel_release(cl);
    memcpy(cl->any.global, kernel->global, sizeof cl->any.global);
    memcpy(cl->any.local, kernel->local, sizeof cl->any.local);
    cl->any.kernel = build_kernel(cl, kernel);
    bool good = cl->any.kernel && set_arguments(cl, kernel);
    if (good && kernel->any_shape)
        choose_shape(cl);
    if (!good)
        kernel_release(cl);
    return good;
}

// --- Opening ---------------------------------------------------------------

static const struct {
    const char *platform;  // part of its name
    const char *title;
} known[OPENCL_PEERS] = {
    [OPENCL_POCL] = {"Portable Computing Language", "PoCL"},
    [OPENCL_INTEL] = {"Intel(R) OpenCL", "Intel's CPU runtime"},
};

static bool find_device(opencl_state *cl, const char *wanted)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    if (clGetPlatformIDs(16, platforms, &count))
        return false;
    for (cl_uint i = 0; i < count && i < 16; i++) {
        char name[128] = "";
        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name,
                          NULL);
        if (strstr(name, wanted) &&
            !clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &cl->device,
                            NULL))
            return true;
    }
    return false;
}

static bool build_kernels(opencl_state *cl)
{
    const char *text = source;
    cl_program program =
        clCreateProgramWithSource(cl->context, 1, &text, NULL, NULL);
    if (!program || clBuildProgram(program, 1, &cl->device, "", NULL, NULL))
        return false;
    cl->empty = clCreateKernel(program, "empty", NULL);
    cl->axpy = clCreateKernel(program, "axpy", NULL);
    clReleaseProgram(program);
    return cl->empty && cl->axpy;
}

static void choose_wait_way(opencl_state *cl)
{
    shortest(cl, empty_and_wait, 100);
    double times[2][15];
    for (int i = 0; i < 30; i++) {
        cl->wait_for_event = i & 1;
        uint64_t start = bench_now_ns();
        for (int k = 0; k < 50; k++)
            empty_and_wait(cl);
        times[i & 1][i / 2] = (double)(bench_now_ns() - start);
    }
    cl->wait_for_event =
        stats_quantile(times[1], 15, 0.5) < stats_quantile(times[0], 15, 0.5);
}

static void describe(opencl_state *cl)
{
    cl_device_exec_capabilities abilities = 0;
    clGetDeviceInfo(cl->device, CL_DEVICE_EXECUTION_CAPABILITIES,
                    sizeof abilities, &abilities, NULL);
    char version[128] = "", driver[64] = "";
    clGetDeviceInfo(cl->device, CL_DEVICE_VERSION, sizeof version, version,
                    NULL);
    clGetDeviceInfo(cl->device, CL_DRIVER_VERSION, sizeof driver, driver, NULL);
    snprintf(cl->version, sizeof cl->version, "%s, driver %s", version, driver);
    cl->peer = (opencl_peer){
        cl,
        enqueue_empty,
        finish,
        empty_and_wait,
        axpy_prepare,
        axpy_and_wait,
        axpy_release,
        markers,
        queries,
        markers_and_waits,
        queues,
        callback,
        native_kernel,
        copy_prepare,
        copy,
        copy_release,
        kernel_prepare,
        kernel_and_wait,
        kernel_release,
        cl->version,
        cl->wait_for_event ? "clWaitForEvents" : "clFinish",
        abilities & CL_EXEC_NATIVE_KERNEL,
    };
}

// NULL, or what the platform lacks.
static const char *open_platform(opencl_state *cl, const char *platform)
{
    if (!find_device(cl, platform))
        return "is not installed";
    cl->context = clCreateContext(NULL, 1, &cl->device, NULL, NULL, NULL);
    if (!cl->context)
        return "makes no context";
    cl->queue = clCreateCommandQueue(cl->context, cl->device, 0, NULL);
    cl->other = clCreateCommandQueue(cl->context, cl->device, 0, NULL);
    if (!cl->queue || !cl->other)
        return "makes no command queue";
    if (!build_kernels(cl))
        return "does not build the kernels";
    choose_wait_way(cl);
    describe(cl);
    return NULL;
}

const opencl_peer *opencl_peer_open(opencl_platform which, const char **out_why)
{
    static opencl_state states[OPENCL_PEERS];
    opencl_state *cl = &states[which];
    if (!cl->opened) {
        const char *lack = open_platform(cl, known[which].platform);
        if (lack)
            snprintf(cl->why, sizeof cl->why, "%s %s", known[which].title,
                     lack);
    }
    cl->opened = true;
    *out_why = bench_reason(cl->why);
    return *out_why ? NULL : &cl->peer;
}

#else

const opencl_peer *opencl_peer_open(opencl_platform which, const char **out_why)
{
    (void)which;
    *out_why = "built without OpenCL";
    return NULL;
}

#endif
