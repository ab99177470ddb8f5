// Drivers that are not there, old, or lack something.
#include "loaded.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// --- Without a driver -----------------------------------------------------

RNL_TEST(a_missing_library_is_named)
{
    fake_expect_absent(__func__, "RUNNEL_CUDA=/nonexistent/libcuda.so.1",
                       "/nonexistent/libcuda.so.1");
}

RNL_TEST(a_library_that_is_no_driver_is_refused)
{
    fake_expect_absent(__func__, "RUNNEL_CUDA=libc.so.6", "cuInit");
}

RNL_TEST(the_driver_can_be_switched_off)
{
    fake_expect_absent(__func__, "RUNNEL_CUDA=off", "RUNNEL_CUDA=off");
}

RNL_TEST(a_machine_without_devices_says_so)
{
    fake_expect_absent(__func__, "RUNNEL_FAKE_DEVICES=0",
                       "no CUDA-capable device");
}

RNL_TEST(a_driver_that_does_not_start_says_why)
{
    fake_expect_absent(__func__, "RUNNEL_FAKE_FAIL=cuInit:1:999",
                       "CUDA_ERROR_UNKNOWN");
}

RNL_TEST(a_driver_that_is_too_old_is_refused)
{
    fake_expect_absent(__func__, "RUNNEL_FAKE_VERSION=11020", "11.4");
}

RNL_TEST(a_required_symbol_that_is_missing_is_named)
{
    fake_expect_absent(__func__, "RUNNEL_FAKE_HIDE=cuLaunchKernel",
                       "cuLaunchKernel");
}

// --- Devices --------------------------------------------------------------

RNL_TEST(several_devices_are_filtered_and_ordered)
{
    if (!fake_is_child()) {
        const char *environment[] = {"RUNNEL_FAKE_DEVICES=3",
                                     "RUNNEL_DEVICES=cpu,cuda:2,cuda:0", NULL};
        assert_int_equal(fake_spawn(__func__, environment), 0);
        return;
    }
    size_t count = 0;
    rnl_device device;
    rnl_device_info info = {.struct_size = sizeof info};
    assert_ok(rnl_device_count("cuda", &count));
    assert_int_equal(count, 2);
    assert_ok(rnl_device_get(NULL, 1, &device));
    assert_ok(rnl_device_get_info(device, &info));
    assert_string_equal(info.api, "cuda");
    assert_int_equal(info.index, 2);
}

RNL_TEST(listing_devices_opens_nothing)
{
    fake_load();
    rnl_device device;
    rnl_device_info info = {.struct_size = sizeof info};
    assert_ok(rnl_device_get("cuda", 0, &device));
    assert_ok(rnl_device_get_info(device, &info));
    assert_int_equal(fake_calls("cuDevicePrimaryCtxRetain"), 0);
}

// --- Optional symbols -----------------------------------------------------

static const char *const optional[] = {
#define OPTIONAL 1
#define REQUIRED 0
#define SYMBOL(name, vendor, suffix, version, need, why) need ? #vendor : NULL,
#include "backends/cuda/symbols.def"
#undef SYMBOL
};
enum { SYMBOLS = sizeof optional / sizeof optional[0] };

static void ignore(rnl_status status, void *user_data)
{
    (void)status;
    (void)user_data;
}

// RNL_OK, or refused in words.
static void works_or_says_why(rnl_status status)
{
    if (status == RNL_OK)
        return;
    if (status != RNL_ERROR_UNSUPPORTED ||
        strlen(rnl_last_error()->message) < 12)
        fail_msg("%s: %s", rnl_status_name(status), rnl_last_error()->message);
}

// What a program may do, each by itself.
static void use_everything(void)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    rnl_module module = NULL;
    rnl_function function = NULL;
    int ints[16] = {0};
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_buffer_create(context, sizeof ints, NULL, &buffer));
    assert_ok(rnl_fill_and_wait(stream, buffer, 0, sizeof ints, 1, 4));
    works_or_says_why(
        rnl_copy_from_buffer_and_wait(stream, ints, buffer, 0, sizeof ints));
    works_or_says_why(rnl_enqueue_host_function(stream, ignore, NULL));
    works_or_says_why(rnl_enqueue_write_value32(stream, buffer, 0, 1));
    works_or_says_why(rnl_enqueue_write_value64(stream, buffer, 8, 1));
    works_or_says_why(
        rnl_enqueue_wait_value32(stream, buffer, 0, 1, RNL_WAIT_EQ));
    works_or_says_why(fake_module(context, &module));
    if (module)
        works_or_says_why(rnl_module_function(module, "add", &function));
    if (function)
        works_or_says_why(rnl_enqueue_function(
            stream, function,
            RNL_LAUNCH(.grid = {2}, .block = {8}, .cluster = {2}),
            RNL_ARGS(buffer, 1, 16)));
    assert_ok(rnl_context_synchronize(context, RNL_FOREVER));
    for (int f = RNL_FEATURE_COMPILE; f <= RNL_FEATURE_INTERPROCESS_MEMORY;
         f++) {
        const char *reason = NULL;
        if (rnl_context_supports(context, (rnl_feature)f, &reason) != RNL_OK &&
            strlen(reason) < 8)
            fail_msg("no reason for feature %d", f);
    }
    assert_ok(rnl_function_release(function));
    assert_ok(rnl_module_release(module));
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(context));
}

RNL_TEST(the_feature_query_tells_that_there_is_no_compiler)
{
    static const char *const environment[] = {"RUNNEL_NVRTC=off", NULL};
    rnl_context context;
    rnl_module module = NULL;
    const char *reason = NULL;
    fake_load();
    if (!fake_is_child()) {
        assert_int_equal(fake_spawn(__func__, environment), 0);
        return;
    }
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_int_equal(
        rnl_context_supports(context, RNL_FEATURE_COMPILE, &reason),
        RNL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(reason, "NVRTC"));
    assert_int_equal(rnl_module_compile(context, "", NULL, &module),
                     RNL_ERROR_COMPILER_UNAVAILABLE);
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}

RNL_TEST(any_optional_symbol_may_be_missing)
{
    fake_load();
    if (fake_is_child()) {
        use_everything();
        fake_expect_empty();
        return;
    }
    for (int i = 0; i < SYMBOLS; i++) {
        char setting[128];
        if (!optional[i])
            continue;
        snprintf(setting, sizeof setting, "RUNNEL_FAKE_HIDE=%s", optional[i]);
        const char *environment[] = {setting, NULL};
        if (fake_spawn(__func__, environment) != 0)
            fail_msg("without %s", optional[i]);
    }
}

RNL_TEST(every_version_of_the_driver_from_11_4_on_works)
{
    static const char *const versions[] = {
        "RUNNEL_FAKE_VERSION=11040", "RUNNEL_FAKE_VERSION=11060",
        "RUNNEL_FAKE_VERSION=11070", "RUNNEL_FAKE_VERSION=12000",
        "RUNNEL_FAKE_VERSION=12030", "RUNNEL_FAKE_VERSION=12040"};
    fake_load();
    if (fake_is_child()) {
        use_everything();
        fake_expect_empty();
        return;
    }
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        const char *environment[] = {versions[i], NULL};
        if (fake_spawn(__func__, environment) != 0)
            fail_msg("with %s", versions[i]);
    }
}

RNL_TEST(a_driver_before_12_8_has_neither_switch_nor_else)
{
    static const char *const environment[] = {"RUNNEL_FAKE_VERSION=12040",
                                              NULL};
    rnl_context context;
    rnl_buffer word;
    rnl_graph graph, bodies[2];
    rnl_node node;
    const char *reason = NULL;
    fake_load();
    if (!fake_is_child()) {
        assert_int_equal(fake_spawn(__func__, environment), 0);
        return;
    }
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_int_equal(
        rnl_context_supports(context, RNL_FEATURE_GRAPH_SWITCH, &reason),
        RNL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(reason, "12.8"));
    assert_ok(rnl_buffer_create(context, 4, NULL, &word));
    assert_ok(rnl_graph_create(context, NULL, &graph));
    for (size_t count = 1; count <= 2; count++)
        assert_int_equal(rnl_graph_add_node(
                             graph, RNL_AT_START,
                             RNL_NODE(.kind = RNL_NODE_IF, .buffer = word,
                                      .out_body = bodies, .body_count = count),
                             &node),
                         count == 1 ? RNL_OK : RNL_ERROR_UNSUPPORTED);
    assert_non_null(strstr(rnl_last_error()->message, "12.8"));
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_buffer_release(word));
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}

RNL_TEST(a_driver_without_a_way_to_ask_for_symbols_works)
{
    fake_load();
    if (fake_is_child()) {
        use_everything();
        fake_expect_empty();
        return;
    }
    const char *environment[] = {
        "RUNNEL_FAKE_HIDE=cuGetProcAddress,cuGetProcAddress_v2", NULL};
    assert_int_equal(fake_spawn(__func__, environment), 0);
}

static void try_values_node(rnl_context context, rnl_buffer buffer)
{
    rnl_graph graph;
    rnl_node node;
    const rnl_value_op write =
        *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 32, .buffer = buffer,
                      .value = 1);
    assert_ok(rnl_graph_create(context, NULL, &graph));
    assert_status(
        rnl_graph_add_node(graph, RNL_AT_START,
                           RNL_NODE(.kind = RNL_NODE_VALUES, .values = &write,
                                    .value_count = 1),
                           &node),
        RNL_ERROR_UNSUPPORTED);
    assert_ok(rnl_graph_release(graph));
}

// What cannot be as it was asked for is refused.
RNL_TEST(an_old_driver_says_what_it_has_not)
{
    fake_load();
    if (!fake_is_child()) {
        const char *environment[] = {"RUNNEL_FAKE_VERSION=11050", NULL};
        assert_int_equal(fake_spawn(__func__, environment), 0);
        return;
    }
    static const struct {
        rnl_feature feature;
        const char *need;
    } rows[] = {{RNL_FEATURE_CLUSTERS, "11.6"},
                {RNL_FEATURE_COOPERATIVE_LAUNCH, "11.6"},
                {RNL_FEATURE_MEMORY_OPERATIONS, "11.7"},
                {RNL_FEATURE_HOST_FUNCTIONS, "11.7"},
                {RNL_FEATURE_PROMISES, "11.7"}};
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_function nothing;
    rnl_event promise;
    struct fake_told told = {0};
    int filled = 0;
    fake_open(&context, &stream, RNL_STREAM_BATCHED, &buffer, 64);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *reason;
        assert_status(rnl_context_supports(context, rows[i].feature, &reason),
                      RNL_ERROR_UNSUPPORTED);
        assert_non_null(strstr(reason, rows[i].need));
    }
    assert_ok(rnl_function_compile(context,
                                   "extern \"C\" __global__ void nothing() {}",
                                   "nothing", NULL, &nothing));
    const rnl_launch_attribute cooperative = {RNL_LAUNCH_COOPERATIVE, {true}};
    assert_status(rnl_enqueue_function(
                      stream, nothing,
                      RNL_LAUNCH(.grid = {2}, .block = {1}, .cluster = {2}),
                      NULL),
                  RNL_ERROR_UNSUPPORTED);
    assert_status(rnl_enqueue_function(stream, nothing,
                                       RNL_LAUNCH(.grid = {2}, .block = {1},
                                                  .attributes = &cooperative,
                                                  .attribute_count = 1),
                                       NULL),
                  RNL_ERROR_UNSUPPORTED);
    assert_status(rnl_enqueue_write_value32(stream, buffer, 0, 1),
                  RNL_ERROR_UNSUPPORTED);
    assert_status(
        rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true), &promise),
        RNL_ERROR_UNSUPPORTED);
    // Also where others are collected before it.
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, 4, 1, 4));
    assert_status(rnl_enqueue_host_function(stream, fake_count, &told),
                  RNL_ERROR_UNSUPPORTED);
    assert_ok(rnl_copy_from_buffer_and_wait(stream, &filled, buffer, 0, 4));
    assert_int_equal(filled, 1);
    assert_int_equal(told.count, 0);
    try_values_node(context, buffer);
    assert_ok(rnl_function_release(nothing));
    fake_close(context, stream, buffer);
}
