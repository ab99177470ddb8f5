// Kernels compiled once more for their block size, through the public
// functions, by the real kernel compiler or by scripts that stand before it.
#include "backends/cpu/kernel/fiber.h"
#include "backends/cpu/jit/specialise.h"
#include "base/thread.h"
#include "folder.h"
#include "test.h"  // its `fail` would hide ours

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCKS 64
#define COUNT (BLOCKS * 256)

static const char source[] =
    "__device__ int seen;\n"
    "extern \"C\" __global__ void sums(int *out)\n"
    "{\n"
    "    __shared__ int part[256];\n"
    "    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n"
    "    part[t] = out[i];\n"
    "    __syncthreads();\n"
    "    for (int half = blockDim.x / 2; half > 0; half /= 2) {\n"
    "        if (t < half)\n"
    "            part[t] += part[t + half];\n"
    "        __syncthreads();\n"
    "    }\n"
    "    out[i] = part[0] + t;\n"
    "}\n"
    "extern \"C\" __global__ void counts(int *out)\n"
    "{\n"
    "    if (threadIdx.x + blockIdx.x == 0)\n"
    "        out[0] = ++seen;\n"
    "}\n";

static rnl_context context;
static rnl_stream stream;
static rnl_module module;
static rnl_buffer buffer;
static unsigned messages;
static char message[512];

static void on_log(rnl_log_level level, const char *text, void *user_data)
{
    (void)level;
    (void)user_data;
    if (!strstr(text, "for its block size"))
        return;
    messages++;
    snprintf(message, sizeof message, "%s", text);
}

static const char *compiler(void)
{
    const char *path = getenv("RUNNEL_CC");
    return path && *path ? path : "runnel-cc";
}

static void need_vectors(void)
{
    char command[4200], line[1024] = "";
    snprintf(command, sizeof command, "%s --identity 2>&1", compiler());
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    bool read = fgets(line, sizeof line, pipe);
    pclose(pipe);
    if (!read || !strstr(line, " simt ") || strstr(line, " no simt "))
        test_skip("there is no kernel compiler");
}

// A script in front of the compiler; `first` sees what is asked in "$*".
static void begin(const char *first)
{
    char script[8400];
    need_vectors();
    snprintf(script, sizeof script, "#!/bin/sh\n%s\nexec %s \"$@\"\n", first,
             compiler());
    test_script("cc", script);
    setenv("RUNNEL_CC", test_path("cc"), 1);
    setenv("RUNNEL_CACHE_DIR", test_path("cache"), 1);
    setenv("RUNNEL_SPECIALISE", "now", 1);
    assert_ok(rnl_log_set(on_log, RNL_LOG_INFO, NULL));
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_context_default_stream(context, &stream));
    assert_ok(rnl_module_compile(context, source, NULL, &module));
    assert_ok(rnl_buffer_create(context, COUNT * sizeof(int), NULL, &buffer));
}

static void end(void)
{
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_module_release(module));
    assert_ok(rnl_context_release(context));
    assert_ok(rnl_log_set(NULL, RNL_LOG_INFO, NULL));
    rnl_last_error_clear();
    assert_int_equal(test_held(0), 0);
}

static void launch(const char *name, unsigned block, int *out)
{
    rnl_function function;
    assert_ok(rnl_module_function(module, name, &function));
    assert_ok(rnl_enqueue_function(
        stream, function,
        RNL_LAUNCH(.grid = {COUNT / block}, .block = {block}),
        RNL_ARGS(buffer)));
    assert_ok(rnl_copy_from_buffer_and_wait(stream, out, buffer, 0,
                                            COUNT * sizeof(int)));
    assert_ok(rnl_function_release(function));
}

static void check_sums(unsigned block)
{
    static int in[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = i * 7 % 1000;
    assert_ok(rnl_copy_to_buffer_and_wait(stream, buffer, 0, in, sizeof in));
    launch("sums", block, out);
    for (unsigned first = 0; first < COUNT; first += block) {
        int sum = 0;
        for (unsigned t = 0; t < block; t++)
            sum += in[first + t];
        for (unsigned t = 0; t < block; t++)
            assert_int_equal(out[first + t], sum + (int)t);
    }
}

RNL_TEST(a_kernel_gets_code_for_its_block_size)
{
    begin("case \"$*\" in *--only-kernel*) echo 1 >>$0.runs;; esac");
    check_sums(256);
    assert_int_equal(specialiser_drain(), 1);
    check_sums(256);
    check_sums(64);  // the general code
    check_sums(256);
    assert_int_equal(specialiser_drain(), 1);
    assert_int_equal(messages, 0);
    assert_int_equal(test_line_count("cc.runs"), 1);
    // Once more, from the disk cache.
    assert_ok(rnl_module_release(module));
    assert_ok(rnl_module_compile(context, source, NULL, &module));
    check_sums(256);
    assert_int_equal(specialiser_drain(), 2);
    check_sums(256);
    assert_int_equal(test_line_count("cc.runs"), 1);
    end();
}

RNL_TEST(kernels_with_variables_keep_theirs)
{
    static int out[COUNT];
    begin("");
    launch("counts", 256, out);
    assert_int_equal(out[0], 1);
    assert_int_equal(specialiser_drain(), 0);
    launch("counts", 256, out);
    assert_int_equal(out[0], 2);
    assert_int_equal(messages, 1);
    assert_non_null(strstr(message, "'counts'"));
    assert_non_null(strstr(message, "variables of its module"));
    end();
}

RNL_TEST(a_compiler_that_is_gone_is_said_once)
{
    begin("");
    assert_int_equal(unlink(test_path("cc")), 0);
    for (int i = 0; i < 3; i++) {
        check_sums(256);
        assert_int_equal(specialiser_drain(), 0);
    }
    assert_int_equal(messages, 1);
    end();
}

static void no_thread(void *argument)
{
    (void)argument;
}

RNL_TEST(a_thread_that_does_not_start_is_said_once)
{
    begin("");
    // The first fiber asks to be told of forks, which would fail, too.
    fiber_destroy(fiber_create(no_thread, NULL));
    static int out[COUNT];
    assert_ok(rnl_copy_from_buffer_and_wait(stream, out, buffer, 0,
                                            sizeof out));
    thread_fail_next(0, 1000);
    for (int i = 0; i < 3; i++)
        check_sums(256);
    thread_fail_next(0, 0);
    assert_int_equal(specialiser_drain(), 0);
    assert_int_equal(messages, 1);
    assert_non_null(strstr(message, "no thread can be started"));
    end();
}

RNL_TEST(a_compiler_that_is_at_work_is_not_waited_for)
{
    begin("case \"$*\" in *--only-kernel*) exec sleep 1000;; esac");
    check_sums(256);
    check_sums(256);
    end();
    assert_int_equal(specialiser_drain(), 0);
    assert_int_equal(messages, 0);
}

// Blocks with one thread in x: the code for all sizes counts them along x, that
// for one size along y. Each block adds one to a number of its own.
static const char turns[] =
    "extern \"C\" __global__ void turns(int *runs, float *to,\n"
    "                                 const float *from, int n)\n"
    "{\n"
    "    int y = blockIdx.y * blockDim.y + threadIdx.y, x = blockIdx.x;\n"
    "    float sum = from[y * gridDim.x + x];\n"
    "    for (int i = 0; i < n; i++)\n"
    "        sum = sum * 1.0001f + 0.5f;\n"
    "    to[y * gridDim.x + x] = sum;\n"
    "    if (threadIdx.y == 0)\n"
    "        atomicAdd(&runs[blockIdx.y * gridDim.x + x], 1);\n"
    "}\n";

enum { TURNS_X = 8, TURNS_Y = 64, TURNS = TURNS_X * TURNS_Y };

static void enqueue_turns(rnl_function function, rnl_buffer runs,
                          const rnl_buffer *numbers, int rounds)
{
    assert_ok(rnl_enqueue_function(
        stream, function,
        RNL_LAUNCH(.grid = {TURNS_X, TURNS_Y}, .block = {1, 256}),
        RNL_ARGS(runs, numbers[0], numbers[1], rounds)));
}

static void *wait_for_turns(void *unused)
{
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    return unused;
}

// The code comes while the second launch is under way.
RNL_TEST(a_launch_keeps_the_code_that_it_began_with)
{
    static const unsigned char ready = 1;
    static int seen[TURNS];
    rnl_function function;
    rnl_buffer runs, numbers[2];
    pthread_t waiter;
    begin("case \"$*\" in *--only-kernel*)"
          " while [ ! -e $0.go ]; do sleep 0.01; done;; esac");
    assert_ok(rnl_function_compile(context, turns, "turns", NULL, &function));
    assert_ok(rnl_buffer_create(context, sizeof seen,
                                RNL_BUFFER_OPTIONS(.zeroed = true), &runs));
    for (int i = 0; i < 2; i++)
        assert_ok(rnl_buffer_create(context, TURNS * 256 * sizeof(float),
                                    RNL_BUFFER_OPTIONS(.zeroed = true),
                                    &numbers[i]));
    enqueue_turns(function, runs, numbers, 2);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    enqueue_turns(function, runs, numbers, 400000);
    assert_int_equal(pthread_create(&waiter, NULL, wait_for_turns, NULL), 0);
    test_write("cc.go", &ready, sizeof ready);
    assert_int_equal(specialiser_drain(), 1);
    pthread_join(waiter, NULL);
    enqueue_turns(function, runs, numbers, 2);
    assert_ok(rnl_copy_from_buffer_and_wait(stream, seen, runs, 0,
                                            sizeof seen));
    for (int i = 0; i < TURNS; i++)
        assert_int_equal(seen[i], 3);
    for (int i = 0; i < 2; i++)
        assert_ok(rnl_buffer_release(numbers[i]));
    assert_ok(rnl_buffer_release(runs));
    assert_ok(rnl_function_release(function));
    end();
}

RNL_TEST(a_block_size_can_be_asked_for_ahead)
{
    static const char *const options[] = {"--block-size=256"};
    begin("case \"$*\" in *--only-kernel*) echo 1 >>$0.runs;; esac");
    assert_ok(rnl_module_release(module));
    assert_ok(rnl_module_compile(
        context, source,
        RNL_MODULE_OPTIONS(.options = options, .option_count = 1), &module));
    check_sums(256);
    check_sums(128);
    assert_int_equal(specialiser_drain(), 0);
    static const char *const wrong[] = {"--block-size=32x64"};
    rnl_module other;
    assert_int_equal(rnl_module_compile(
                         context, source,
                         RNL_MODULE_OPTIONS(.options = wrong,
                                            .option_count = 1), &other),
                     RNL_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(rnl_last_error()->message, "1024 at most"));
    end();
}

// --- Forks -------------------------------------------------------------------

static _Atomic uint32_t held, let_go;

// Called under the lock of the thread that compiles.
static void hold_lock(void)
{
    atomic_store(&held, 1);
    futex_wake(&held, 1);
    while (!atomic_load(&let_go))
        futex_wait(&let_go, 0, RNL_FOREVER);
}

static void *ask_for_code(void *unused)
{
    check_sums(256);
    return unused;
}

static void check_child(void)
{
    pid_t child = test_fork();
    // Takes the lock, which nobody in the child has.
    if (child == 0)
        _exit(specialiser_drain() == 0 ? 7 : 8);
    assert_int_equal(test_wait(child), 7);
}

RNL_TEST(a_fork_while_another_thread_has_the_lock)
{
    pthread_t thread;
    begin("");
    check_child();
    thread_hold_next("runnel-compile", hold_lock);
    assert_int_equal(pthread_create(&thread, NULL, ask_for_code, NULL), 0);
    while (!atomic_load(&held))
        futex_wait(&held, 0, RNL_FOREVER);
    check_child();
    atomic_store(&let_go, 1);
    futex_wake(&let_go, 1);
    assert_int_equal(pthread_join(thread, NULL), 0);
    // The parent's code is made as if nothing had been.
    assert_int_equal(specialiser_drain(), 1);
    check_sums(256);
    end();
}

static int use_own_code(const char *real_compiler)
{
    setenv("RUNNEL_CC", real_compiler, 1);
    begin("");
    check_sums(256);
    if (specialiser_drain() == 0)
        return 1;
    check_sums(256);
    return 7;
}

// The thread that compiles is the parent's; the child starts one of its own.
RNL_TEST(a_fork_while_a_kernel_is_compiled)
{
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    test_skip("in a child, ThreadSanitizer loses track of the parent's fibers");
#endif
#endif
    char real[4096];
    snprintf(real, sizeof real, "%s", compiler());
    begin("case \"$*\" in *--only-kernel*) exec sleep 1000;; esac");
    check_sums(256);
    pid_t child = test_fork();
    if (child == 0)
        _exit(use_own_code(real));
    assert_int_equal(test_wait(child), 7);
    end();
}
