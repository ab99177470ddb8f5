// A device that failed: what is reported, and that everything ends. In a
// process of its own, since the context stays unusable.
#include "suite.h"

#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

static const char source[] =
    "extern \"C\" __global__ void stray(int *p) { p[threadIdx.x] = 1; }\n"
    "extern \"C\" __global__ void good(int *p) { p[threadIdx.x] = 1; }\n";

static void need_a_device_that_can_fail(void)
{
    if (suite_is_cpu())
        test_skip("a fault on the cpu fails one launch, not the device");
    test_need_faults();  // of the cpu that stands in for a GPU
    suite_need(RNL_FEATURE_COMPILE);
}

static rnl_status launch(rnl_stream stream, rnl_function function, void *where)
{
    return rnl_enqueue_function(
        stream, function,
        RNL_LAUNCH(.grid = {1}, .block = {32}, .label = "the culprit"),
        RNL_ARGS(where));
}

SUITE_CHILD(child_loses_its_device)
{
    struct host_calls calls = {0, -1};
    rnl_function stray = suite_compile(source, "stray");
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    struct gate *gate = gate_shut(stream);
    expect_ok(launch(stream, stray, (void *)16));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    gate_open(gate);
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    const rnl_error *error = rnl_last_error();
    assert_non_null(strstr(error->message, "the device is lost"));
    assert_non_null(strstr(error->message, "stray"));
    assert_true(error->native_code != 0 || error->operation != 0);
    while (atomic_load(&calls.count) == 0)
        sched_yield();
    assert_int_equal(calls.status, RNL_ERROR_DEVICE_LOST);
    assert_status(launch(stream, stray, (void *)16), RNL_ERROR_DEVICE_LOST);
    assert_status(rnl_stream_synchronize(other, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    assert_status(rnl_context_synchronize(suite_context(), RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    expect_ok(rnl_function_release(stray));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
    exit(51);
}

RNL_TEST(a_lost_device_is_reported_and_lets_the_process_end)
{
    need_a_device_that_can_fail();
    assert_int_equal(suite_spawn("child_loses_its_device", NULL), 51);
}

SUITE_CHILD(child_finds_the_launch_at_fault)
{
    rnl_function good = suite_compile(source, "good");
    rnl_function stray = suite_compile(source, "stray");
    rnl_buffer buffer = suite_new_buffer(128);
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_enqueue_function(suite_stream(), good,
                                       RNL_LAUNCH(.grid = {1}, .block = {32}),
                                       RNL_ARGS(buffer)));
    assert_status(launch(suite_stream(), stray, (void *)16),
                  RNL_ERROR_DEVICE_LOST);
    const rnl_error *error = rnl_last_error();
    assert_string_equal(error->operation_name, "stray");
    assert_string_equal(error->operation_label, "the culprit");
    assert_non_null(strstr(error->site_file, "lost.c"));
    _exit(52);
}

RNL_TEST(blocking_mode_names_the_launch_at_fault)
{
    static const char *const environment[] = {"RUNNEL_BLOCKING=1", NULL};
    need_a_device_that_can_fail();
    assert_int_equal(
        suite_spawn("child_finds_the_launch_at_fault", environment), 52);
}
