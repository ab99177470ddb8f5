// Kernels that store past the ends of a local array: whatever the distance, the
// launch succeeds, or fails with a sentence, and the process lives on. Every
// case is a process of its own.
#include "child.h"

#include <inttypes.h>

// `far` is how many elements beyond the array are overwritten.
#define KERNEL(name, before, store, after)                                   \
    "extern \"C\" __global__ void " name "(int *out, int far, int value) {\n" \
    "    " before "\n"                                                        \
    "    volatile int a[8];\n"                                                \
    "    volatile int *begin = a + (out[0] & 7);\n"                           \
    "    *begin = 0;\n"                                                       \
    "    " store "\n"                                                         \
    "    out[threadIdx.x] = a[out[0] & 7];\n"                                 \
    "    " after "\n"                                                         \
    "}\n"
#define UP "for (int i = 0; i < 8 + far; i++) begin[i] = value;"
#define DOWN "for (int i = 1; i <= far; i++) begin[-i] = value;"
#define SYNC "__syncthreads();"
#define SYNC_GRID "cooperative_groups::this_grid().sync();"
#define SYNC_CLUSTER "cooperative_groups::this_cluster().sync();"

static const char source[] =
    "#include <cooperative_groups.h>\n"
    KERNEL("up", "", UP, "")
    KERNEL("down", "", DOWN, "")
    KERNEL("up_between", SYNC, UP, SYNC)
    KERNEL("down_between", SYNC, DOWN, SYNC)
    KERNEL("up_between_grids", SYNC_GRID, UP, SYNC_GRID)
    KERNEL("up_between_clusters", SYNC_CLUSTER, UP, SYNC_CLUSTER)
    "__device__ __noinline__ int inside(int far, int value) {\n"
    "    volatile int a[8], *begin = a + (value & 8);\n"
    "    " UP "\n"
    "    return a[value & 7];\n"
    "}\n"
    "extern \"C\" __global__ void up_inside(int *out, int far, int v) {\n"
    "    out[threadIdx.x] = inside(far, v);\n"
    "}\n"
    "__device__ __noinline__ void walk(volatile int *begin, int far,\n"
    "                                  int value) {\n"
    "    " DOWN "\n"
    "}\n"
    KERNEL("down_inside", "", "walk(begin, far, value);", "")
    // Each word that a return could take is the address of the buffer.
    "extern \"C\" __global__ void pointers(int *out, int far, int) {\n"
    "    int *volatile a[4];\n"
    "    for (int i = 0; i < 4 + far; i++) a[i] = out;\n"
    "    *a[far & 3] = 0;\n"
    "}\n"
    "extern \"C\" __global__ void shared(int *out, int far, int value) {\n"
    "    __shared__ int all[64];\n"
    "    volatile int *begin = all + (out[0] & 7);\n"
    "    " SYNC "\n"
    "    " UP "\n"
    "    " SYNC "\n"
    "    out[threadIdx.x] = all[threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void fine(int *out, int, int) { out[1] = 7; }\n";

static const char *const kernels[] = {
    "up", "down", "up_between", "down_between", "up_between_grids",
    "up_between_clusters", "up_inside", "down_inside", "pointers",
};
enum { KERNEL_COUNT = sizeof kernels / sizeof *kernels };

// All small ones, and then these. From LARGE on an overrun leaves the stack.
enum { SMALL = 72, LARGE = 1 << 18 };
static const int large[] = {256, 1024, 16384, 65536, LARGE, 1 << 20};
enum { SIZE_COUNT = SMALL + sizeof large / sizeof *large };

static int size_of(int i)
{
    return i < SMALL ? i + 1 : large[i - SMALL];
}

struct scene {
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_module module;
    int value;
    uint64_t limit_ns;  // RNL_FOREVER: the waiting thread runs kernels itself
};

// Whether memory lies near an address with `value` as its lower half.
static bool is_near_memory(uint32_t value)
{
    enum { NEAR = 1 << 26 };
    uintptr_t begin, end;
    bool near = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fscanf(maps, "%" SCNxPTR "-%" SCNxPTR "%*[^\n]", &begin,
                          &end) == 2) {
        uintptr_t address = (begin & ~(uintptr_t)UINT32_MAX) | value;
        near |= address + NEAR > begin && address < end + NEAR;
    }
    if (maps)
        fclose(maps);
    return near;
}

// Of a pointer an overrun may replace one half, which must not make it one to
// memory of the process.
static int value_of_nothing(void)
{
    uint32_t value = 0x41414141;
    while (is_near_memory(value))
        value += 0x01010104;
    return (int)value;
}

static int open_scene(struct scene *scene, const char *option,
                      uint64_t limit_ns)
{
    const char *const options[] = {option};
    *scene = (struct scene){.limit_ns = limit_ns};
    CHECK(rnl_context_open("cpu", 0, RNL_CONTEXT_OPTIONS(.threads = 2),
                           &scene->context) == RNL_OK);
    CHECK(rnl_stream_create(scene->context, NULL, &scene->stream) == RNL_OK);
    CHECK(rnl_buffer_create(scene->context, 4096, NULL, &scene->buffer) ==
          RNL_OK);
    CHECK(rnl_enqueue_fill(scene->stream, scene->buffer, 0, 4096, 0, 4) ==
          RNL_OK);
    CHECK(rnl_module_compile(scene->context, source,
                             RNL_MODULE_OPTIONS(.options = options,
                                                .option_count = 1),
                             &scene->module) == RNL_OK);
    scene->value = value_of_nothing();
    return 0;
}

static int close_scene(struct scene *scene)
{
    CHECK(rnl_module_release(scene->module) == RNL_OK);
    CHECK(rnl_buffer_release(scene->buffer) == RNL_OK);
    CHECK(rnl_stream_release(scene->stream) == RNL_OK);
    return child_still_works(scene->context);
}

static int run(const struct scene *scene, const char *kernel, int far,
               rnl_status *out_status)
{
    rnl_function function = NULL;
    const rnl_launch_attribute cooperative = {
        RNL_LAUNCH_COOPERATIVE, {strcmp(kernel, "up_between_grids") == 0}};
    uint32_t cluster = strcmp(kernel, "up_between_clusters") == 0 ? 2 : 1;
    CHECK(rnl_module_function(scene->module, kernel, &function) == RNL_OK);
    CHECK(rnl_enqueue_function(
              scene->stream, function,
              RNL_LAUNCH(.grid = {2}, .block = {64}, .cluster = {cluster},
                         .attribute_count = 1,
                         .attributes = &cooperative),
              RNL_ARGS(scene->buffer, far, scene->value)) == RNL_OK);
    *out_status = rnl_stream_synchronize(scene->stream, scene->limit_ns);
    CHECK(rnl_function_release(function) == RNL_OK);
    return 0;
}

static int works(const struct scene *scene)
{
    rnl_status status = RNL_OK;
    int values[2] = {0};
    CHECK(run(scene, "fine", 0, &status) == 0 && status == RNL_OK);
    CHECK(rnl_copy_from_buffer_and_wait(scene->stream, values, scene->buffer,
                                        0, 8) == RNL_OK);
    CHECK(values[1] == 7);
    return 0;
}

// A pointer of which one half was replaced is a wild one like any other. So is
// where a replaced index leads to: optimised code has it in a register.
static bool tells(const char *message, int far, bool debuggable)
{
    return strstr(message, "stack") ||
           ((far < LARGE || debuggable) &&
            strstr(message, "which is not mapped"));
}

static int overrun(const struct scene *scene, const char *kernel, int far,
                   bool debuggable)
{
    rnl_status status = RNL_OK;
    CHECK(run(scene, kernel, far, &status) == 0);
    if (status == RNL_OK && far < LARGE)
        return 0;
    CHECK(status == RNL_ERROR_LAUNCH_FAILED);
    CHECK(strstr(rnl_last_error()->message, ": block ("));
    CHECK(tells(rnl_last_error()->message, far, debuggable));
    CHECK(rnl_stream_reset_and_wait(scene->stream) == RNL_OK);
    CHECK(rnl_enqueue_fill(scene->stream, scene->buffer, 0, 4096, 0, 4) ==
          RNL_OK);
    return works(scene);
}

static int overrun_all(const char *option, uint64_t limit_ns)
{
    struct scene scene;
    CHECK(open_scene(&scene, option, limit_ns) == 0);
    for (int k = 0; k < KERNEL_COUNT; k++)
        for (int i = 0; i < SIZE_COUNT; i++)
            CHECK(overrun(&scene, kernels[k], size_of(i),
                          strcmp(option, "-G") == 0) == 0);
    return close_scene(&scene);
}

static void contains(int (*body)(void))
{
    static const char *const environment[] = {"RUNNEL_CONTAIN", NULL};
    test_need_faults();
    child_compiler();
    child_run(body, environment);
}

// With a time limit the calling thread does not help.
#define IDLY_NS UINT64_C(20000000000)

static int as_lanes(void)
{
    return overrun_all("--tier=B-or-F", RNL_FOREVER);
}

RNL_TEST(lanes_that_overrun_an_array_are_contained)
{
    contains(as_lanes);
}

static int one_by_one(void)
{
    return overrun_all("--tier=F", RNL_FOREVER);
}

RNL_TEST(threads_that_overrun_an_array_are_contained)
{
    contains(one_by_one);
}

static int with_lines(void)
{
    return overrun_all("-G", RNL_FOREVER);
}

RNL_TEST(debuggable_kernels_that_overrun_an_array_are_contained)
{
    contains(with_lines);
}

static int on_a_worker(void)
{
    return overrun_all("--tier=auto", IDLY_NS);
}

RNL_TEST(an_overrun_on_a_worker_is_contained)
{
    contains(on_a_worker);
}

static int of_a_block(void)
{
    static const char *const options[] = {"--tier=B-or-F", "--tier=F", "-G"};
    for (int i = 0; i < 3; i++) {
        struct scene scene;
        rnl_status status = RNL_OK;
        CHECK(open_scene(&scene, options[i], RNL_FOREVER) == 0);
        CHECK(run(&scene, "shared", LARGE, &status) == 0);
        CHECK(status == RNL_ERROR_LAUNCH_FAILED);
        CHECK(strstr(rnl_last_error()->message,
                     "beside the shared memory of a block: a __shared__ array "
                     "was overrun"));
        CHECK(rnl_stream_reset_and_wait(scene.stream) == RNL_OK);
        CHECK(works(&scene) == 0);
        CHECK(close_scene(&scene) == 0);
    }
    return 0;
}

RNL_TEST(an_overrun_of_shared_memory_is_told)
{
    contains(of_a_block);
}
