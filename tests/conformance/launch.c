// Launch shapes and attributes: what is legal, and what each gives.
#include "suite.h"

#include <stdatomic.h>

static rnl_status count_blocks(const rnl_native_call *call)
{
    atomic_fetch_add((_Atomic int *)call->user_data, (int)call->block_count);
    return RNL_OK;
}

static _Atomic int blocks;

// A kernel without arguments on any device: a native one where there are
// native functions, otherwise from source.
static rnl_function make(void)
{
    blocks = 0;
    if (rnl_context_supports(suite_context(), RNL_FEATURE_NATIVE_FUNCTIONS,
                             NULL) == RNL_OK)
        return suite_native("count", count_blocks, &blocks);
    return suite_compile("extern \"C\" __global__ void count() {}", "count");
}

// `field` is the one at fault.
#define REFUSED(field, function, ...)                                      \
    expect_error(rnl_enqueue_function(suite_stream(), function,            \
                                      RNL_LAUNCH(__VA_ARGS__),             \
                                      RNL_NO_ARGS),                        \
                 RNL_ERROR_INVALID_ARGUMENT, field)

RNL_TEST(missing_axes_count_as_one)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_function function = make();
    const rnl_dim3 grids[] = {{6, 0, 0}, {6, 1, 0}, {6, 0, 1}, {6, 1, 1},
                              {3, 2, 0}, {1, 2, 3}};
    for (int i = 0; i < 6; i++) {
        blocks = 0;
        expect_ok(rnl_enqueue_function(
            suite_stream(), function,
            RNL_LAUNCH(.grid = grids[i], .block = {4}), RNL_NO_ARGS));
        expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
        assert_int_equal(blocks, 6);
    }
    expect_ok(rnl_function_release(function));
}

RNL_TEST(dimensions_of_zero_are_refused)
{
    rnl_function function = make();
    REFUSED("grid", function, .grid = {0}, .block = {1});
    REFUSED("block", function, .grid = {1}, .block = {0});
    REFUSED("grid", function, .grid = {0, 1, 1}, .block = {1});
    REFUSED("block", function, .grid = {1}, .block = {0, 32, 1});
    REFUSED("grid", function, .label = "nothing given");
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(blocks, 0);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(dimensions_beyond_the_device_are_refused)
{
    rnl_function function = make();
    rnl_device_info d = {.struct_size = sizeof d};
    expect_ok(rnl_device_get_info(suite_device(), &d));
    REFUSED("block", function, .grid = {1}, .block = {d.max_block_threads + 1});
    REFUSED("block", function, .grid = {1}, .block = {d.max_block_threads, 2});
    REFUSED("block", function, .grid = {1},
            .block = {1, d.max_block_threads, 2});
    REFUSED("block", function, .grid = {1}, .block = {1, 1, d.max_block.z + 1});
    REFUSED("block", function, .grid = {1}, .block = {UINT32_MAX});
    REFUSED("block", function, .grid = {1}, .block = {UINT32_MAX, UINT32_MAX,
                                             UINT32_MAX});
    // A product that is small only in 32 bits.
    REFUSED("block", function, .grid = {1}, .block = {65536, 65536});
    REFUSED("block", function, .grid = {1}, .block = {65537, 65536});
    if (d.max_grid.x < UINT32_MAX)
        REFUSED("grid", function, .grid = {d.max_grid.x + 1}, .block = {1});
    if (d.max_grid.y < UINT32_MAX)
        REFUSED("grid", function, .grid = {1, d.max_grid.y + 1}, .block = {1});
    if (d.max_grid.z < UINT32_MAX)
        REFUSED("grid", function, .grid = {1, 1, d.max_grid.z + 1},
                .block = {1});
    expect_ok(rnl_function_release(function));
}

RNL_TEST(the_largest_block_is_legal)
{
    rnl_function function = make();
    rnl_device_info d = {.struct_size = sizeof d};
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_device_get_info(suite_device(), &d));
    expect_ok(rnl_function_get_info(function, &info));
    assert_true(info.max_block_threads <= d.max_block_threads);
    expect_ok(rnl_enqueue_function(
        suite_stream(), function,
        RNL_LAUNCH(.grid = {2}, .block = {info.max_block_threads}),
        RNL_NO_ARGS));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(too_much_shared_memory_is_refused)
{
    rnl_function function = make();
    rnl_device_info d = {.struct_size = sizeof d};
    expect_ok(rnl_device_get_info(suite_device(), &d));
    size_t most = d.shared_per_block_max;
    REFUSED("shared_size", function, .grid = {1}, .block = {1},
            .shared_size = most + 1);
    REFUSED("shared_size", function, .grid = {1}, .block = {1},
            .shared_size = SIZE_MAX);
    REFUSED("shared_size", function, .grid = {1}, .block = {1},
            .shared_size = SIZE_MAX - 63);
    expect_ok(rnl_enqueue_function(
        suite_stream(), function,
        RNL_LAUNCH(.grid = {1}, .block = {1}, .shared_size = most),
        RNL_NO_ARGS));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_launch_needs_a_shape)
{
    rnl_function function = make();
    rnl_launch no_size = {.struct_size = 0, .grid = {1, 1, 1},
                          .block = {1, 1, 1}};
    expect_error(rnl_enqueue_function(suite_stream(), function, NULL,
                                      RNL_NO_ARGS),
                 RNL_ERROR_INVALID_ARGUMENT, "launch");
    expect_error(rnl_enqueue_function(suite_stream(), function, &no_size,
                                      RNL_NO_ARGS),
                 RNL_ERROR_INVALID_ARGUMENT, "launch");
    expect_ok(rnl_function_release(function));
}

RNL_TEST(clusters_are_refused_where_there_are_none)
{
    rnl_function function = make();
    if (rnl_context_supports(suite_context(), RNL_FEATURE_CLUSTERS, NULL) ==
        RNL_OK)
        test_skip("%s has clusters", test_device_name());
    expect_error(rnl_enqueue_function(suite_stream(), function,
                                      RNL_LAUNCH(.grid = {4}, .block = {1},
                                                 .cluster = {2}),
                                      RNL_NO_ARGS),
                 RNL_ERROR_UNSUPPORTED, "cluster");
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_cluster_of_one_is_no_cluster)
{
    rnl_function function = make();
    expect_ok(rnl_enqueue_function(suite_stream(), function,
                                   RNL_LAUNCH(.grid = {4}, .block = {1},
                                              .cluster = {1, 1, 1}),
                                   RNL_NO_ARGS));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_grid_that_its_cluster_does_not_divide_is_refused)
{
    suite_need(RNL_FEATURE_CLUSTERS);
    rnl_function function =
        suite_compile("extern \"C\" __global__ void k() {}", "k");
    REFUSED("cluster", function, .grid = {5}, .block = {1}, .cluster = {2});
    REFUSED("cluster", function, .grid = {4, 3}, .block = {1}, .cluster = {2, 2});
    expect_ok(rnl_function_release(function));
}

RNL_TEST(constants_need_a_module_that_has_them)
{
    rnl_function function = make();
    int value = 1;
    const rnl_constant rows[] = {{"missing", &value, 4}, {NULL, &value, 4},
                                 {"missing", NULL, 4}};
    for (int i = 0; i < 3; i++) {
        rnl_status status = rnl_enqueue_function(
            suite_stream(), function,
            RNL_LAUNCH(.grid = {1}, .block = {1}, .constants = &rows[i],
                       .constant_count = 1), RNL_NO_ARGS);
        assert_true(status == RNL_ERROR_INVALID_ARGUMENT ||
                    (status == RNL_ERROR_NOT_FOUND && i == 0 &&
                     !suite_is_cpu()));
        assert_int_equal(rnl_last_error()->status, status);
        assert_string_equal(rnl_last_error()->parameter, "constants");
        if (i > 0)
            assert_non_null(strstr(rnl_last_error()->message,
                                   i == 1 ? "'symbol'" : "'data'"));
    }
    REFUSED("constants", function, .grid = {1}, .block = {1}, .constants = NULL,
            .constant_count = 1);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(launches_are_asynchronous)
{
    rnl_stream stream = suite_new_stream();
    rnl_function function = make();
    struct gate *gate = gate_shut(stream);
    for (int i = 0; i < 100; i++)
        expect_ok(rnl_enqueue_function(stream, function,
                                       RNL_LAUNCH(.grid = {1}, .block = {1}),
                                       RNL_NO_ARGS));
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    assert_int_equal(blocks, 0);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_function_is_launched_in_its_own_context_only)
{
    rnl_context other = suite_open(NULL);
    rnl_stream stream = NULL;
    rnl_function function = make();
    expect_ok(rnl_context_default_stream(other, &stream));
    expect_error(rnl_enqueue_function(stream, function,
                                      RNL_LAUNCH(.grid = {1}, .block = {1}),
                                      RNL_NO_ARGS),
                 RNL_ERROR_INVALID_HANDLE, "function");
    expect_ok(rnl_stream_query(stream));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_context_release(other));
}
