// What of a function can be resident at once, and the attributes that it has.
#include "suite.h"

static const char source[] =
    "extern \"C\" __global__ void plain(int *p) {\n"
    "    extern __shared__ int own[];\n"
    "    own[threadIdx.x] = (int)threadIdx.x;\n"
    "    p[threadIdx.x] = own[threadIdx.x];\n"
    "}\n"
    "extern \"C\" __global__ void fixed(int *p) {\n"
    "    __shared__ int own[1024];\n"
    "    own[threadIdx.x] = 1;\n"
    "    __syncthreads();\n"
    "    p[threadIdx.x] = own[1023 - threadIdx.x];\n"
    "}\n";

static rnl_occupancy ask(rnl_function function, uint32_t threads,
                         size_t shared_size)
{
    rnl_occupancy occupancy = {.struct_size = sizeof occupancy};
    expect_ok(rnl_function_get_occupancy(function, threads, shared_size,
                                         &occupancy));
    return occupancy;
}

static rnl_device_info device_info(void)
{
    rnl_device_info info = {.struct_size = sizeof info};
    expect_ok(rnl_device_get_info(suite_device(), &info));
    return info;
}

static int64_t get(rnl_function function, rnl_function_attribute_id id)
{
    int64_t value = -100;
    expect_ok(rnl_function_get_attribute(function, id, &value));
    return value;
}

static rnl_status launch(rnl_function function, size_t shared_size)
{
    rnl_buffer buffer = suite_ints(32, 0);
    rnl_status status = rnl_enqueue_function(
        suite_stream(), function,
        RNL_LAUNCH(.grid = {1}, .block = {32}, .shared_size = shared_size),
        RNL_ARGS(buffer));
    expect_ok(rnl_buffer_release(buffer));
    return status;
}

RNL_TEST(a_small_block_can_be_resident)
{
    rnl_function function = suite_compile(source, "plain");
    rnl_occupancy occupancy = ask(function, 32, 128);
    assert_true(occupancy.blocks >= 1);
    assert_int_equal(occupancy.multiprocessors,
                     device_info().multiprocessors);
    assert_true(occupancy.cooperative_blocks >= occupancy.blocks);
    if (suite_is_cpu())
        assert_int_equal(occupancy.blocks, 1);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(larger_blocks_are_never_more)
{
    rnl_function function = suite_compile(source, "fixed");
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    uint32_t before = UINT32_MAX;
    for (uint32_t threads = 32; threads <= info.max_block_threads;
         threads *= 2) {
        rnl_occupancy occupancy = ask(function, threads, 0);
        assert_true(occupancy.blocks <= before);
        before = occupancy.blocks;
    }
    assert_true(ask(function, 32, 0).blocks >=
                ask(function, 32, 32 << 10).blocks);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(the_suggested_block_can_be_launched)
{
    rnl_function function = suite_compile(source, "fixed");
    rnl_function_info info = {.struct_size = sizeof info};
    uint32_t threads = 0;
    expect_ok(rnl_function_get_info(function, &info));
    expect_ok(rnl_function_suggest_block(function, 0, 0, &threads));
    assert_true(threads >= 1 && threads <= info.max_block_threads);
    assert_true(ask(function, threads, 0).blocks >= 1);
    rnl_buffer buffer = suite_ints(info.max_block_threads, 0);
    expect_ok(rnl_enqueue_function(suite_stream(), function,
                                   RNL_LAUNCH(.grid = {1}, .block = {threads}),
                                   RNL_ARGS(buffer)));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_buffer_release(buffer));
    // The caller's limit is heeded, also below a warp.
    static const uint32_t limits[] = {1, 7, 33, 100, 1000000};
    for (int i = 0; i < 5; i++) {
        expect_ok(
            rnl_function_suggest_block(function, 0, limits[i], &threads));
        assert_true(threads >= 1 && threads <= limits[i] &&
                    threads <= info.max_block_threads);
    }
    expect_ok(rnl_function_release(function));
}

static rnl_status nothing(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

RNL_TEST(a_native_function_has_an_occupancy)
{
    rnl_function function =
        suite_native("native", nothing, NULL);
    assert_int_equal(ask(function, 1, 0).blocks, 1);
    assert_true(ask(function, 1, 0).cooperative_blocks == UINT64_MAX);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_cooperative_launch_of_what_fits_fits)
{
    suite_need(RNL_FEATURE_COOPERATIVE_LAUNCH);
    const rnl_launch_attribute cooperative = {RNL_LAUNCH_COOPERATIVE,
                                              {true}};
    rnl_function function = suite_compile(
        "#include <cooperative_groups.h>\n"
        "extern \"C\" __global__ void meet(int *p) {\n"
        "    cooperative_groups::this_grid().sync();\n"
        "    if (threadIdx.x + blockIdx.x == 0) *p = 1;\n"
        "}\n", "meet");
    rnl_buffer buffer = suite_ints(1, 0);
    uint64_t most = ask(function, 256, 0).cooperative_blocks;
    assert_true(most > 0 && most < UINT32_MAX);
    // Each thread is a stack where they take turns: a few blocks have to do.
    uint32_t some = most < 4 ? (uint32_t)most : 4;
    expect_ok(rnl_enqueue_function(
        suite_stream(), function,
        RNL_LAUNCH(.grid = {some}, .block = {256},
                   .attributes = &cooperative, .attribute_count = 1),
        RNL_ARGS(buffer)));
    expect_error(
        rnl_enqueue_function(
            suite_stream(), function,
            RNL_LAUNCH(.grid = {(uint32_t)most + 1}, .block = {256},
                       .attributes = &cooperative, .attribute_count = 1),
            RNL_ARGS(buffer)),
        RNL_ERROR_INVALID_ARGUMENT, "grid");
    suite_expect_ints(buffer, 1, 1);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(blocks_that_cannot_be_have_no_occupancy)
{
    rnl_function function = suite_compile(source, "plain");
    rnl_occupancy occupancy = {.struct_size = sizeof occupancy};
    rnl_occupancy no_size = {.struct_size = 0};
    rnl_function_info info = {.struct_size = sizeof info};
    uint32_t threads = 77;
    expect_ok(rnl_function_get_info(function, &info));
    expect_error(rnl_function_get_occupancy(function, 0, 0, &occupancy),
                 RNL_ERROR_INVALID_ARGUMENT, "block_threads");
    expect_error(rnl_function_get_occupancy(
                     function, info.max_block_threads + 1, 0, &occupancy),
                 RNL_ERROR_INVALID_ARGUMENT, "block_threads");
    expect_error(
        rnl_function_get_occupancy(function, 1, SIZE_MAX, &occupancy),
        RNL_ERROR_INVALID_ARGUMENT, "shared_size");
    expect_error(rnl_function_get_occupancy(function, 1, 0, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_occupancy");
    expect_error(rnl_function_get_occupancy(function, 1, 0, &no_size),
                 RNL_ERROR_INVALID_ARGUMENT, "out_occupancy");
    expect_error(rnl_function_suggest_block(function, SIZE_MAX, 0, &threads),
                 RNL_ERROR_INVALID_ARGUMENT, "shared_size");
    expect_error(rnl_function_suggest_block(function, 0, 0, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_threads");
    assert_int_equal(occupancy.blocks, 0);
    assert_int_equal(threads, 77);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(attributes_have_defaults_and_are_kept)
{
    rnl_function function = suite_compile(source, "fixed");
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    assert_int_equal(get(function, RNL_FUNCTION_DYNAMIC_SHARED),
                     device_info().shared_per_block_max - info.shared_size);
    assert_int_equal(get(function, RNL_FUNCTION_CARVEOUT),
                     RNL_CARVEOUT_DEFAULT);
    for (int64_t value = RNL_CARVEOUT_DEFAULT; value <= 100; value += 101) {
        expect_ok(rnl_function_set_attribute(function, RNL_FUNCTION_CARVEOUT,
                                             value));
        assert_int_equal(get(function, RNL_FUNCTION_CARVEOUT), value);
    }
    expect_ok(launch(function, 0));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_limit_of_dynamic_shared_memory_is_heeded)
{
    rnl_function function = suite_compile(source, "plain");
    expect_ok(rnl_function_set_attribute(function,
                                         RNL_FUNCTION_DYNAMIC_SHARED, 256));
    assert_int_equal(get(function, RNL_FUNCTION_DYNAMIC_SHARED), 256);
    expect_ok(launch(function, 256));
    expect_error(launch(function, 257), RNL_ERROR_INVALID_ARGUMENT,
                 "shared_size");
    int64_t most = (int64_t)device_info().shared_per_block_max;
    expect_ok(rnl_function_set_attribute(function,
                                         RNL_FUNCTION_DYNAMIC_SHARED, most));
    expect_ok(launch(function, (size_t)most));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(attributes_that_cannot_be_are_refused)
{
    static const struct {
        rnl_function_attribute_id id;
        int64_t value;
        const char *parameter;
    } rows[] = {
        {RNL_FUNCTION_DYNAMIC_SHARED, -1, "value"},
        {RNL_FUNCTION_DYNAMIC_SHARED, INT64_MAX, "value"},
        {RNL_FUNCTION_DYNAMIC_SHARED, INT64_MIN, "value"},
        {RNL_FUNCTION_CARVEOUT, -2, "value"},
        {RNL_FUNCTION_CARVEOUT, 101, "value"},
        {RNL_FUNCTION_CARVEOUT, (int64_t)1 << 32, "value"},
        {(rnl_function_attribute_id)0, 0, "id"},
        {(rnl_function_attribute_id)3, 0, "id"},
    };
    rnl_function function = suite_compile(source, "plain");
    int64_t value = 77;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_error(rnl_function_set_attribute(function, rows[i].id,
                                                rows[i].value),
                     RNL_ERROR_INVALID_ARGUMENT, rows[i].parameter);
    expect_error(rnl_function_get_attribute(
                     function, (rnl_function_attribute_id)3, &value),
                 RNL_ERROR_INVALID_ARGUMENT, "id");
    expect_error(rnl_function_get_attribute(function, RNL_FUNCTION_CARVEOUT,
                                            NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_value");
    assert_int_equal(value, 77);
    assert_int_equal(get(function, RNL_FUNCTION_CARVEOUT),
                     RNL_CARVEOUT_DEFAULT);
    expect_ok(rnl_function_release(function));
}
