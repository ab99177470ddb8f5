// Kernels that fault on a cpu context: the launch fails with a sentence, and
// the process lives on. What is not a kernel's fault goes where it always went.
// Every case is a process of its own, because handlers belong to a process.
#include "child.h"

#include <fenv.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

static const char source[] =
    "#include <cooperative_groups.h>\n"
    "extern \"C\" __global__ void fine(int *out, int) { *out = 7; }\n"
    "extern \"C\" __global__ void reads(int *out, int) {\n"
    "    *out = *(volatile int *)0x1230;\n"
    "}\n"
    "extern \"C\" __global__ void writes(int *, int) {\n"
    "    *(volatile int *)nullptr = 1;\n"
    "}\n"
    "extern \"C\" __global__ void calls(int *, int) {\n"
    "    void (*volatile nowhere)() = (void (*)())0x4560;\n"
    "    nowhere();\n"
    "}\n"
    "extern \"C\" __global__ void far_out(int *out, int) {\n"
    "    if (blockIdx.x == 2) out[1ll << 44] = 1;\n"
    "}\n"
    "extern \"C\" __global__ void impossible(int *out, int) {\n"
    "    *out = *(volatile int *)0x7fff000000000000ll;\n"
    "}\n"
    "extern \"C\" __global__ void divides(int *out, int zero) {\n"
    "    *out = threadIdx.x / zero;\n"
    "}\n"
    "extern \"C\" __global__ void traps(int *, int) { __builtin_trap(); }\n"
    "extern \"C\" __global__ void traps_late(int *, int) {\n"
    "    if (blockIdx.x == 1 && threadIdx.x == 40) __builtin_trap();\n"
    "}\n"
    "extern \"C\" __global__ void between(int *out, int) {\n"
    "    __syncthreads();\n"
    "    if (blockIdx.x == 3 && threadIdx.x > 40) out[1ll << 44] = 1;\n"
    "    __syncthreads();\n"
    "}\n"
    "extern \"C\" __global__ void between_grids(int *out, int) {\n"
    "    cooperative_groups::this_grid().sync();\n"
    "    if (blockIdx.x == 2 && threadIdx.x > 40) out[1ll << 44] = 1;\n"
    "    cooperative_groups::this_grid().sync();\n"
    "}\n"
    "__device__ __noinline__ int deep(volatile int *p, int n) {\n"
    "    volatile int kept[100];\n"
    "    kept[n % 100] = n;\n"
    "    int below = *p ? deep(p, n + 1) : 0;\n"
    "    return below + kept[n % 100];\n"
    "}\n"
    "extern \"C\" __global__ void recurses(int *out, int) {\n"
    "    *out = 1;\n"
    "    *out = deep(out, 0);\n"
    "}\n"
    "extern \"C\" __global__ void recurses_later(int *out, int) {\n"
    "    *out = 1;\n"
    "    __syncthreads();\n"
    "    if (threadIdx.x == 3) *out = deep(out, 0);\n"
    "    __syncthreads();\n"
    "}\n"
    "__device__ __noinline__ void print(int n) {\n"
    "    volatile char kept[3000];\n"
    "    kept[n] = 0;\n"
    "    printf(\"\");\n"
    "    print(n + 1);\n"
    "    kept[n] = 1;\n"
    "}\n"
    "extern \"C\" __global__ void prints_deep(int *, int n) { print(n); }\n"
    "extern \"C\" __global__ void prints_wild(int *, int) {\n"
    "    printf(\"%s\", (const char *)0x10);\n"
    "}\n"
    "extern \"C\" __global__ void large_frame(int *out, int n) {\n"
    "    volatile int kept[200000];\n"
    "    for (int i = 0; i < n + 10; i++) kept[i] = i;\n"
    "    *out = kept[n + 5];\n"
    "}\n"
    // One thread of one block goes wrong.
    "#define THERE (blockIdx.x == 2 && threadIdx.x == 37)\n"
    "extern \"C\" __global__ void reads_there(int *out, int) {\n"
    "    if (THERE) *out = *(volatile int *)0x1230;\n"
    "}\n"
    "extern \"C\" __global__ void writes_there(int *, int) {\n"
    "    if (THERE) *(volatile int *)0x1230 = 1;\n"
    "}\n"
    "extern \"C\" __global__ void recurses_there(int *out, int) {\n"
    "    *out = 1;\n"
    "    if (THERE) *out = deep(out, 0);\n"
    "}\n"
    "extern \"C\" __global__ void divides_there(int *out, int zero) {\n"
    "    if (THERE) *out = (int)(threadIdx.x + 1) / zero;\n"
    "}\n"
    // Holds numbers in registers that calls expect to be empty.
    "extern \"C\" __global__ void long_sum(int *out, int n) {\n"
    "    long double a = *out, b = a * 3 + n, c = b * a, d = c - b + n;\n"
    "    *out = (int)(a + b * c + d * *(volatile int *)(n + 0x10l));\n"
    "}\n"
    "extern \"C\" __global__ void meets(int *out, int) {\n"
    "    atomicAdd(out, 1);\n"
    "    for (long i = 0; i < 100000000 && *(volatile int *)out < 2; i++) {}\n"
    "    *(volatile int *)0x8 = 1;\n"
    "}\n";

struct scene {
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_module module;
};

// Compiles the kernels again for one tier.
static int use_tier(struct scene *scene, const char *option)
{
    const char *const options[] = {option};
    if (scene->module)
        CHECK(rnl_module_release(scene->module) == RNL_OK);
    CHECK(rnl_module_compile(scene->context, source,
                             RNL_MODULE_OPTIONS(.options = options,
                                                .option_count = 1),
                             &scene->module) == RNL_OK);
    return 0;
}

static int open_scene(struct scene *scene, unsigned threads)
{
    const char *tier = getenv("TEST_TIER");
    *scene = (struct scene){0};
    CHECK(rnl_context_open("cpu", 0, RNL_CONTEXT_OPTIONS(.threads = threads),
                           &scene->context) == RNL_OK);
    CHECK(rnl_stream_create(scene->context, NULL, &scene->stream) == RNL_OK);
    CHECK(rnl_buffer_create(scene->context, 4096, NULL, &scene->buffer) ==
          RNL_OK);
    CHECK(rnl_enqueue_fill(scene->stream, scene->buffer, 0, 4096, 0, 4) ==
          RNL_OK);
    return use_tier(scene, tier && strcmp(tier, "F") == 0 ? "--tier=F"
                                                          : "--tier=auto");
}

static int close_scene(struct scene *scene)
{
    CHECK(rnl_module_release(scene->module) == RNL_OK);
    CHECK(rnl_buffer_release(scene->buffer) == RNL_OK);
    CHECK(rnl_stream_release(scene->stream) == RNL_OK);
    return child_still_works(scene->context);
}

static int start(const struct scene *scene, rnl_stream stream,
                 const char *kernel, unsigned threads)
{
    rnl_function function = NULL;
    CHECK(rnl_module_function(scene->module, kernel, &function) == RNL_OK);
    const rnl_launch_attribute cooperative = {
        RNL_LAUNCH_COOPERATIVE, {strcmp(kernel, "between_grids") == 0}};
    CHECK(rnl_enqueue_function(
              stream, function,
              RNL_LAUNCH(.grid = {4}, .block = {threads}, .label = "bad",
                         .attributes = &cooperative, .attribute_count = 1),
              RNL_ARGS(scene->buffer, 0)) == RNL_OK);
    CHECK(rnl_function_release(function) == RNL_OK);
    return 0;
}

// A launch on the same stream after a reset, and one on another stream.
static int goes_on(const struct scene *scene)
{
    rnl_stream other = NULL;
    int value = 0;
    CHECK(rnl_stream_create(scene->context, NULL, &other) == RNL_OK);
    CHECK(start(scene, other, "fine", 8) == 0);
    CHECK(rnl_stream_synchronize(other, RNL_FOREVER) == RNL_OK);
    CHECK(rnl_stream_release(other) == RNL_OK);
    CHECK(rnl_stream_reset_and_wait(scene->stream) == RNL_OK);
    CHECK(start(scene, scene->stream, "fine", 8) == 0);
    CHECK(rnl_copy_from_buffer_and_wait(scene->stream, &value, scene->buffer,
                                        0, 4) == RNL_OK);
    CHECK(value == 7);
    return 0;
}

static int fails(const struct scene *scene, const char *kernel,
                 unsigned threads, const char *words)
{
    CHECK(start(scene, scene->stream, kernel, threads) == 0);
    CHECK(rnl_stream_synchronize(scene->stream, RNL_FOREVER) ==
          RNL_ERROR_LAUNCH_FAILED);
    const rnl_error *error = rnl_last_error();
    CHECK(!strcmp(error->operation_name, kernel));
    CHECK(!strcmp(error->operation_label, "bad"));
    CHECK(strstr(error->message, kernel));
    CHECK(strstr(error->message, ": block ("));
    CHECK(strstr(error->message, words));
    return goes_on(scene);
}

static void need_signals(void)
{
    test_need_faults();
    child_compiler();
}

static void run(int (*body)(void), const char *variable)
{
    need_signals();
    const char *const environment[] = {variable, NULL};
    child_run(body, environment);
}

// Runs `body` in a process that signal `number` must end.
static void run_to_death(int (*body)(void), int number, const char *variable)
{
    need_signals();
    pid_t pid = test_fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        if (strchr(variable, '='))
            putenv((char *)variable);
        _exit(body());
    }
    assert_int_equal(test_wait(pid), -number);
}

// --- What kernels do wrong -------------------------------------------------

static int many_ways(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 2) == 0);
    for (int round = 0; round < 3; round++) {
        CHECK(fails(&scene, "reads", 1, "address 0x1230, which is not mapped")
              == 0);
        CHECK(fails(&scene, "writes", 64, "of address 0x0, which") == 0);
        CHECK(fails(&scene, "calls", 64, "of address 0x4560, which") == 0);
        CHECK(fails(&scene, "far_out", 64, "block (2, 0, 0)") == 0);
        CHECK(fails(&scene, "impossible", 64, "address") == 0);
        CHECK(fails(&scene, "traps", 5, "illegal instruction") == 0);
        CHECK(fails(&scene, "traps_late", 64, "block (1, 0, 0)") == 0);
        CHECK(fails(&scene, "between", 64, "block (3, 0, 0)") == 0);
    }
    return close_scene(&scene);
}

RNL_TEST(a_wild_pointer_fails_the_launch)
{
    run(many_ways, "RUNNEL_CONTAIN");
}

#if defined(__x86_64__)
static int while_blocks_wait(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 2) == 0);
    for (int round = 0; round < 3; round++)
        CHECK(fails(&scene, "between_grids", 64, "block (2, 0, 0)") == 0);
    return close_scene(&scene);
}

RNL_TEST(a_wild_pointer_fails_a_grid_that_waits)
{
    run(while_blocks_wait, "RUNNEL_CONTAIN");
}

static int kinds_of_access(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 1) == 0);
    CHECK(fails(&scene, "reads", 1, "thread (0, 0, 0): read of") == 0);
    CHECK(fails(&scene, "writes", 1, "thread (0, 0, 0): write of") == 0);
    CHECK(fails(&scene, "calls", 1, "execution of") == 0);
    // Lanes divide by what never traps.
    CHECK(use_tier(&scene, "--tier=F") == 0);
    CHECK(fails(&scene, "divides", 8, "integer division by zero") == 0);
    return close_scene(&scene);
}

RNL_TEST(the_kind_of_access_is_told)
{
    run(kinds_of_access, "RUNNEL_CONTAIN");
}
#endif

#if defined(__x86_64__)
static int fails_there(const struct scene *scene, const char *kernel,
                       const char *thread, const char *what)
{
    char words[128];
    snprintf(words, sizeof words, "block (2, 0, 0)%s: %s", thread, what);
    return fails(scene, kernel, 64, words);
}

// Whether kernels become vectors where they can.
static bool makes_vectors(const struct scene *scene)
{
    static const char *const option = "--tier=B";
    rnl_module module = NULL;
    bool made = rnl_module_compile(
                    scene->context, "__global__ void k(int *p) { *p = 1; }",
                    RNL_MODULE_OPTIONS(.options = &option, .option_count = 1),
                    &module) == RNL_OK;
    rnl_module_release(module);
    return made;
}

static int of_one_thread(const char *option, const char *thread, bool divides)
{
    struct scene scene;
    CHECK(open_scene(&scene, 2) == 0);
    CHECK(use_tier(&scene, option) == 0);
    CHECK(fails_there(&scene, "reads_there", thread,
                      "read of address 0x1230") == 0);
    CHECK(fails_there(&scene, "writes_there", thread,
                      "write of address 0x1230") == 0);
    CHECK(fails_there(&scene, "recurses_there", thread, "stack overflow") ==
          0);
    // Lanes divide by what never traps.
    if (divides || !makes_vectors(&scene)) {
        CHECK(fails_there(&scene, "divides_there", thread,
                          "integer division by zero") == 0);
    } else {
        CHECK(start(&scene, scene.stream, "divides_there", 64) == 0);
        CHECK(rnl_stream_synchronize(scene.stream, RNL_FOREVER) == RNL_OK);
    }
    return close_scene(&scene);
}

static int one_of_a_debuggable_kernel(void)
{
    return of_one_thread("-G", ", thread (37, 0, 0)", true);
}

RNL_TEST(a_debuggable_kernel_tells_block_and_thread)
{
    run(one_of_a_debuggable_kernel, "RUNNEL_CONTAIN");
}

static int one_of_tier_f(void)
{
    return of_one_thread("--tier=F", "", true);
}

RNL_TEST(threads_of_tier_f_tell_the_block)
{
    run(one_of_tier_f, "RUNNEL_CONTAIN");
}

static int one_of_lanes(void)
{
    return of_one_thread("--tier=auto", "", false);
}

RNL_TEST(lanes_tell_the_block)
{
    run(one_of_lanes, "RUNNEL_CONTAIN");
}
#endif

static int full_stacks(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 2) == 0);
    for (int round = 0; round < 3; round++) {
        CHECK(fails(&scene, "recurses", 1, "stack overflow") == 0);
        CHECK(fails(&scene, "recurses_later", 64, "stack overflow") == 0);
        CHECK(fails(&scene, "prints_deep", 64, "stack overflow") == 0);
    }
    return close_scene(&scene);
}

RNL_TEST(a_full_stack_fails_the_launch)
{
    run(full_stacks, "RUNNEL_CONTAIN");
}

#if defined(__x86_64__)
static int large_frame(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 1) == 0);
    // As lanes the threads have their variables elsewhere.
    CHECK(use_tier(&scene, "--tier=F") == 0);
    CHECK(fails(&scene, "large_frame", 1, "stack overflow") == 0);
    return close_scene(&scene);
}

RNL_TEST(a_frame_larger_than_the_stack_fails_the_launch)
{
    run(large_frame, "RUNNEL_CONTAIN");
}
#endif

static int wild_text(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 1) == 0);
    CHECK(fails(&scene, "prints_wild", 4, "of address 0x10, which") == 0);
    printf("the stream is not locked\n");
    return close_scene(&scene);
}

RNL_TEST(a_wild_text_for_printf_fails_the_launch)
{
    run(wild_text, "RUNNEL_CONTAIN");
}

// --- Who ran it ------------------------------------------------------------

// With a time limit the calling thread does not help.
static rnl_status wait_idly(rnl_stream stream)
{
    return rnl_stream_synchronize(stream, 20000000000ull);
}

static int on_a_worker(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 1) == 0);
    for (int i = 0; i < 50; i++) {
        CHECK(start(&scene, scene.stream, i % 2 ? "recurses" : "writes", 64) ==
              0);
        CHECK(wait_idly(scene.stream) == RNL_ERROR_LAUNCH_FAILED);
        CHECK(goes_on(&scene) == 0);
    }
    return close_scene(&scene);
}

RNL_TEST(a_worker_survives)
{
    run(on_a_worker, "RUNNEL_CONTAIN");
}

static _Atomic int worker_entered, worker_may_go;

static rnl_status hold_worker(const rnl_native_call *call)
{
    (void)call;
    atomic_store(&worker_entered, 1);
    while (!atomic_load(&worker_may_go))
        usleep(100);
    return RNL_OK;
}

static int on_the_waiting_thread(void)
{
    struct scene scene;
    rnl_function hold = NULL;
    rnl_stream busy = NULL;
    stack_t before = {0}, after = {0};
    static char own[16384];
    CHECK(open_scene(&scene, 1) == 0);
    CHECK(rnl_stream_create(scene.context, NULL, &busy) == RNL_OK);
    CHECK(rnl_function_create_native(scene.context, "hold", hold_worker, NULL,
                                     &hold) == RNL_OK);
    CHECK(rnl_enqueue_function(busy, hold,
                               RNL_LAUNCH(.grid = {1}, .block = {1}),
                               RNL_NO_ARGS) == RNL_OK);
    while (!atomic_load(&worker_entered))
        usleep(100);
    // A signal stack that the program has is left alone.
    before = (stack_t){.ss_sp = own, .ss_size = sizeof own};
    CHECK(sigaltstack(&before, NULL) == 0);
    CHECK(fesetround(FE_UPWARD) == 0);
    for (int i = 0; i < 10; i++) {
        CHECK(fails(&scene, "recurses", 64, "stack overflow") == 0);
        CHECK(fails(&scene, "writes", 64, "not mapped") == 0);
        CHECK(fails(&scene, "long_sum", 64, "not mapped") == 0);
        volatile long double one = 1, three = 3;
        CHECK(one / three * three >= one);
    }
    CHECK(fegetround() == FE_UPWARD);
    CHECK(sigaltstack(NULL, &after) == 0 && after.ss_sp == own);
    atomic_store(&worker_may_go, 1);
    CHECK(rnl_stream_synchronize(busy, RNL_FOREVER) == RNL_OK);
    CHECK(rnl_stream_release(busy) == RNL_OK);
    CHECK(rnl_function_release(hold) == RNL_OK);
    return close_scene(&scene);
}

RNL_TEST(the_waiting_thread_survives)
{
    run(on_the_waiting_thread, "RUNNEL_CONTAIN");
}

static int two_at_once(void)
{
    struct scene scene;
    rnl_stream other = NULL;
    CHECK(open_scene(&scene, 2) == 0);
    CHECK(rnl_stream_create(scene.context, NULL, &other) == RNL_OK);
    for (int i = 0; i < 20; i++) {
        CHECK(rnl_enqueue_fill(scene.stream, scene.buffer, 0, 4, 0, 4) ==
              RNL_OK);
        CHECK(wait_idly(scene.stream) == RNL_OK);
        CHECK(start(&scene, scene.stream, "meets", 1) == 0);
        CHECK(start(&scene, other, "meets", 1) == 0);
        CHECK(wait_idly(scene.stream) == RNL_ERROR_LAUNCH_FAILED);
        CHECK(wait_idly(other) == RNL_ERROR_LAUNCH_FAILED);
        CHECK(rnl_stream_reset_and_wait(other) == RNL_OK);
        CHECK(goes_on(&scene) == 0);
    }
    CHECK(rnl_stream_release(other) == RNL_OK);
    return close_scene(&scene);
}

RNL_TEST(two_threads_fault_at_once)
{
    run(two_at_once, "RUNNEL_CONTAIN");
}

// --- What is not a kernel's ------------------------------------------------

static sigjmp_buf back;
static volatile sig_atomic_t handled;

static void on_fault(int number)
{
    handled = number;
    siglongjmp(back, 1);
}

static void on_fault_with_facts(int number, siginfo_t *info, void *context)
{
    handled = context && info->si_addr == (void *)0x20 ? number : -1;
    siglongjmp(back, 1);
}

static void touch(uintptr_t address)
{
    volatile uintptr_t hidden = address;
    if (sigsetjmp(back, 1) == 0)
        *(volatile int *)hidden = 1;
}

static int earlier_handler(void)
{
    struct scene scene;
    struct sigaction action = {.sa_sigaction = on_fault_with_facts,
                               .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    CHECK(open_scene(&scene, 2) == 0);
    for (int i = 0; i < 3; i++) {
        handled = 0;
        CHECK(fails(&scene, "writes", 8, "not mapped") == 0);
        CHECK(handled == 0);
        touch(0x20);
        CHECK(handled == SIGSEGV);
    }
    return close_scene(&scene);
}

RNL_TEST(a_handler_from_before_gets_what_is_the_programs)
{
    run(earlier_handler, "RUNNEL_CONTAIN");
}

static int later_handler(void)
{
    struct scene scene;
    struct sigaction action = {.sa_handler = on_fault}, ours;
    CHECK(open_scene(&scene, 2) == 0);
    CHECK(sigaction(SIGSEGV, &action, &ours) == 0);
    touch(0x20);
    CHECK(handled == SIGSEGV);
    CHECK(sigaction(SIGSEGV, &ours, NULL) == 0);
    CHECK(fails(&scene, "writes", 8, "not mapped") == 0);
    return close_scene(&scene);
}

RNL_TEST(a_handler_from_later_replaces_runnels)
{
    run(later_handler, "RUNNEL_CONTAIN");
}

static int ignored_signal(void)
{
    struct scene scene;
    CHECK(signal(SIGFPE, SIG_IGN) != SIG_ERR);
    CHECK(open_scene(&scene, 2) == 0);
    CHECK(raise(SIGFPE) == 0);
    return close_scene(&scene);
}

RNL_TEST(a_signal_that_is_ignored_stays_so)
{
    run(ignored_signal, "RUNNEL_CONTAIN");
}

static void fault_in_host_function(rnl_status status, void *user_data)
{
    (void)status;
    *(volatile int *)user_data = 1;
}

static int bad_host_function(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 2) == 0);
    CHECK(fails(&scene, "writes", 8, "not mapped") == 0);
    CHECK(rnl_enqueue_host_function(scene.stream, fault_in_host_function,
                                    (void *)0x20) == RNL_OK);
    rnl_stream_synchronize(scene.stream, RNL_FOREVER);
    return 2;
}

RNL_TEST(a_host_functions_fault_ends_the_process)
{
    run_to_death(bad_host_function, SIGSEGV, "RUNNEL_CONTAIN");
}

static int sent_signal(void)
{
    struct scene scene;
    CHECK(open_scene(&scene, 2) == 0);
    raise(SIGSEGV);
    return 2;
}

RNL_TEST(a_signal_that_is_sent_ends_the_process)
{
    run_to_death(sent_signal, SIGSEGV, "RUNNEL_CONTAIN");
}

static int not_contained(void)
{
    struct scene scene;
    struct sigaction action;
    CHECK(open_scene(&scene, 2) == 0);
    CHECK(sigaction(SIGSEGV, NULL, &action) == 0);
    CHECK(action.sa_handler == SIG_DFL);
    CHECK(start(&scene, scene.stream, "writes", 8) == 0);
    rnl_stream_synchronize(scene.stream, RNL_FOREVER);
    return 2;
}

RNL_TEST(containment_can_be_turned_off)
{
    run_to_death(not_contained, SIGSEGV, "RUNNEL_CONTAIN=0");
}
