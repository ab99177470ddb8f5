// Queries of a cpu's compiler and of the tier of each kernel.
#include "suite.h"

#include <stdio.h>

static const char quick[] =
    "extern \"C\" __global__ void quick(float *p) {\n"
    "    p[blockIdx.x * blockDim.x + threadIdx.x] *= 2;\n"
    "}\n";

#define WAITS(name) \
    "extern \"C\" __global__ void " name "(volatile int *p) {\n" \
    "    while (!*p) {}\n" \
    "    p[1] = 1;\n" \
    "}\n"

static const char waits_why[] =
    "it waits in a loop for what another thread does";

// Messages about tiers.
static struct {
    int count;
    rnl_log_level level;
    char last[1024];
} said;

static void on_log(rnl_log_level level, const char *message, void *user_data)
{
    (void)user_data;
    if (!strstr(message, "tier"))
        return;
    said.count++;
    said.level = level;
    snprintf(said.last, sizeof said.last, "%s", message);
}

static void need_tiers(void)
{
    suite_need(RNL_FEATURE_COMPILE);
    if (!suite_is_cpu())
        test_skip("a GPU has no tiers");
}

static void listen(void)
{
    said.count = 0;
    expect_ok(rnl_log_set(on_log, RNL_LOG_WARNING, NULL));
}

static void stop_listening(void)
{
    expect_ok(rnl_log_set(NULL, RNL_LOG_WARNING, NULL));
}

static rnl_module compile(rnl_context context, const char *source,
                          const char *option)
{
    rnl_module module = NULL;
    rnl_status status = rnl_module_compile(
        context, source,
        RNL_MODULE_OPTIONS(.name = "tiers.cu", .options = &option,
                           .option_count = option != NULL),
        &module);
    expect_ok(status);
    return module;
}

static void expect_tier(rnl_function function, const char *tier,
                        const char *reason)
{
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    assert_string_equal(info.tier, tier);
    assert_string_equal(info.tier_reason, reason);
}

static void expect_kernel(const char *source, const char *name,
                          const char *option, const char *tier,
                          const char *reason)
{
    rnl_function function = NULL;
    rnl_module module = compile(suite_context(), source, option);
    expect_ok(rnl_module_function(module, name, &function));
    // The strings are the function's.
    expect_ok(rnl_module_release(module));
    expect_tier(function, tier, reason);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_kernel_tells_its_tier_and_why)
{
    need_tiers();
    expect_kernel(quick, "quick", NULL, "B", "");
    expect_kernel(WAITS("k"), "k", NULL, "F", waits_why);
    expect_kernel(quick, "quick", "--tier=F", "F", "--tier=F was asked for");
    expect_kernel(quick, "quick", "-G", "F", "it is compiled for debugging");
}

RNL_TEST(each_kernel_of_a_module_tells_its_tier)
{
    need_tiers();
    rnl_module module = compile(
        suite_context(), "extern \"C\" __global__ void quick(int *p) "
        "{ p[threadIdx.x] = 1; }\n" WAITS("slow"), NULL);
    rnl_function functions[2] = {NULL, NULL};
    size_t count = 0;
    expect_ok(rnl_module_get_functions(module, functions, 2, &count));
    assert_int_equal(count, 2);
    expect_tier(functions[0], "B", "");
    expect_tier(functions[1], "F", waits_why);
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_function_release(functions[i]));
    expect_ok(rnl_module_release(module));
}

RNL_TEST(a_saved_binary_tells_tiers_too)
{
    need_tiers();
    rnl_module compiled = compile(suite_context(), WAITS("k"), NULL);
    rnl_module loaded = NULL;
    rnl_function function = NULL;
    const void *data;
    size_t size;
    expect_ok(rnl_module_binary(compiled, &data, &size));
    expect_ok(rnl_module_load(suite_context(), data, size, NULL, &loaded));
    expect_ok(rnl_module_release(compiled));
    expect_ok(rnl_module_function(loaded, "k", &function));
    expect_tier(function, "F", waits_why);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_module_release(loaded));
}

RNL_TEST(a_gpu_has_no_tiers)
{
    if (suite_is_cpu())
        test_skip("a cpu has tiers");
    rnl_function function = suite_compile(quick, "quick");
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    assert_null(info.tier);
    assert_null(info.tier_reason);
    expect_ok(rnl_function_release(function));
}

static rnl_status do_nothing(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

RNL_TEST(a_c_function_has_no_tier)
{
    rnl_function function = suite_native("nothing", do_nothing, NULL);
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    assert_null(info.tier);
    assert_null(info.tier_reason);
    expect_ok(rnl_function_release(function));
}

// --- The warning -----------------------------------------------------------

RNL_TEST(tier_f_that_nobody_asked_for_is_logged_once_for_a_context)
{
    need_tiers();
    rnl_context context = suite_open(NULL);
    listen();
    expect_ok(rnl_module_release(compile(context, WAITS("first"), NULL)));
    assert_int_equal(said.count, 1);
    assert_int_equal(said.level, RNL_LOG_WARNING);
    assert_non_null(strstr(said.last, "the kernel 'first' of tiers.cu"));
    assert_non_null(strstr(said.last, waits_why));
    assert_non_null(strstr(said.last, "--tier=F"));
    expect_ok(rnl_module_release(compile(context, WAITS("second"), NULL)));
    assert_int_equal(said.count, 1);
    // Another context has its own, also where a cache has the kernel.
    expect_ok(rnl_module_release(compile(suite_context(), WAITS("first"),
                                         NULL)));
    assert_int_equal(said.count, 2);
    stop_listening();
    expect_ok(rnl_context_release(context));
}

RNL_TEST(a_context_without_listeners_keeps_its_warning)
{
    need_tiers();
    expect_ok(rnl_module_release(compile(suite_context(), WAITS("k"), NULL)));
    listen();
    expect_ok(rnl_module_release(compile(suite_context(), WAITS("k"), NULL)));
    assert_int_equal(said.count, 1);
    stop_listening();
}

RNL_TEST(tier_b_and_tier_f_that_was_asked_for_are_not_logged)
{
    need_tiers();
    listen();
    expect_ok(rnl_module_release(compile(suite_context(), quick, NULL)));
    expect_ok(rnl_module_release(compile(suite_context(), WAITS("k"),
                                         "--tier=F")));
    expect_ok(rnl_module_release(compile(suite_context(), WAITS("k"), "-G")));
    assert_int_equal(said.count, 0);
    stop_listening();
}

RNL_TEST(a_binary_that_is_loaded_is_not_logged)
{
    need_tiers();
    rnl_module compiled = compile(suite_context(), WAITS("k"), NULL);
    rnl_module loaded = NULL;
    const void *data;
    size_t size;
    expect_ok(rnl_module_binary(compiled, &data, &size));
    listen();
    expect_ok(rnl_module_load(suite_context(), data, size, NULL, &loaded));
    assert_int_equal(said.count, 0);
    stop_listening();
    expect_ok(rnl_module_release(loaded));
    expect_ok(rnl_module_release(compiled));
}

// --- The compiler ----------------------------------------------------------

RNL_TEST(a_compiler_tells_what_it_is)
{
    static rnl_compiler_info info;
    suite_need(RNL_FEATURE_COMPILE);
    info = (rnl_compiler_info){.struct_size = sizeof info};
    rnl_status status = rnl_compiler_get_info(suite_context(), &info);
    if (status == RNL_ERROR_COMPILER_UNAVAILABLE)
        test_skip("there is no compiler");
    expect_ok(status);
    assert_int_equal(info.struct_size, sizeof info);
    assert_true(info.path[0] != '\0');
    assert_non_null(strstr(info.version, suite_is_cpu()   ? "runnel-cc "
                                         : suite_is_hip() ? "hiprtc "
                                                          : "NVRTC "));
    assert_null(strpbrk(info.version, "\n"));
    if (!suite_is_cpu())
        assert_true(strncmp(info.target, "sm_", 3) == 0 ||
                    strncmp(info.target, "gfx", 3) == 0);
    else if (!getenv("RUNNEL_CPU_TARGET"))
        assert_int_equal(strncmp(info.target, "native (", 8), 0);
}

RNL_TEST(compiler_info_of_another_size_is_refused_or_filled)
{
    static rnl_compiler_info info;
    suite_need(RNL_FEATURE_COMPILE);
    info = (rnl_compiler_info){.struct_size = 3};
    expect_error(rnl_compiler_get_info(suite_context(), &info),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
    expect_error(rnl_compiler_get_info(suite_context(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
}
