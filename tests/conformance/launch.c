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

// --- Launches that count threads -------------------------------------------

static const char mark_source[] =
    "extern \"C\" __global__ void mark(int *p, int n, int *shape) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) p[i] = i;\n"
    "    if (i == 0) { shape[0] = gridDim.x; shape[1] = blockDim.x; }\n"
    "}\n"
    "extern \"C\" __global__ void __launch_bounds__(100) narrow(\n"
    "    int *p, int n, int *shape) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) p[i] = i;\n"
    "    if (i == 0) { shape[0] = gridDim.x; shape[1] = blockDim.x; }\n"
    "}\n";

// Launches for `count` threads, and checks that each ran, in a grid of
// `blocks` blocks of `threads`.
static void expect_shape(rnl_function function, const rnl_launch *launch,
                         int count, int blocks_wanted, int threads)
{
    enum { MOST = 1000 };
    static int values[MOST];
    int shape[2] = {0, 0};
    rnl_buffer buffer = suite_ints(MOST, -1), other = suite_ints(2, 0);
    expect_ok(rnl_enqueue_function(suite_stream(), function, launch,
                                   RNL_ARGS(buffer, count, other)));
    suite_download(values, buffer, sizeof values);
    suite_download(shape, other, sizeof shape);
    for (int i = 0; i < MOST; i++)
        assert_int_equal(values[i], i < count ? i : -1);
    assert_int_equal(shape[0], blocks_wanted);
    assert_int_equal(shape[1], threads);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(other));
}

RNL_TEST(a_launch_of_n_threads_chooses_grid_and_block)
{
    rnl_function mark = suite_compile(mark_source, "mark");
    expect_shape(mark, RNL_LAUNCH_FOR(1), 1, 1, 256);
    expect_shape(mark, RNL_LAUNCH_FOR(256), 256, 1, 256);
    expect_shape(mark, RNL_LAUNCH_FOR(257), 257, 2, 256);
    expect_shape(mark, RNL_LAUNCH_FOR(1000), 1000, 4, 256);
    expect_shape(mark, RNL_LAUNCH_FOR(0), 0, 1, 256);
    expect_shape(mark, RNL_LAUNCH(.block = {100}, .threads = 1000), 1000, 10,
                 100);
    expect_shape(mark, RNL_LAUNCH(.block = {100, 1, 1}, .threads = 901), 901,
                 10, 100);
    expect_ok(rnl_function_release(mark));
    // Whole warps of those that the function can have.
    rnl_function narrow = suite_compile(mark_source, "narrow");
    expect_shape(narrow, RNL_LAUNCH_FOR(97), 97, 2, 96);
    expect_ok(rnl_function_release(narrow));
}

RNL_TEST(a_grid_of_n_threads_is_whole_clusters)
{
    suite_need(RNL_FEATURE_CLUSTERS);
    rnl_function mark = suite_compile(mark_source, "mark");
    expect_shape(mark, RNL_LAUNCH(.cluster = {4}, .threads = 257), 257, 4,
                 256);
    expect_ok(rnl_function_release(mark));
}

RNL_TEST(a_launch_of_too_many_threads_is_refused)
{
    rnl_function function = make();
    REFUSED("threads", function, .threads = UINT64_MAX);
    REFUSED("threads", function, .threads = (uint64_t)UINT32_MAX * 1024 * 256);
    REFUSED("threads", function, .grid = {1}, .threads = 10);
    REFUSED("threads", function, .grid = {0, 2}, .threads = 10);
    REFUSED("threads", function, .block = {8, 8}, .threads = 10);
    REFUSED("block", function, .block = {1 << 20}, .threads = 10);
    int negative = -1;
    expect_error(rnl_enqueue_function(suite_stream(), function,
                                      RNL_LAUNCH_FOR((uint64_t)negative),
                                      RNL_NO_ARGS),
                 RNL_ERROR_INVALID_ARGUMENT, "threads");
    assert_non_null(strstr(rnl_last_error()->message, "beyond the device's"));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(blocks, 0);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_node_of_n_threads_has_a_grid)
{
    rnl_graph graph = NULL;
    rnl_node node = NULL;
    rnl_function function = make();
    rnl_node_params params = {.struct_size = sizeof params};
    expect_ok(rnl_graph_create(suite_context(), NULL, &graph));
    expect_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = RNL_NODE_FUNCTION,
                                          .function = function,
                                          .launch = RNL_LAUNCH_FOR(1000)),
                                 &node));
    expect_ok(rnl_graph_get_node_params(graph, node, &params));
    assert_int_equal(params.launch->grid.x, 4);
    assert_int_equal(params.launch->block.x, 256);
    assert_int_equal(params.launch->threads, 0);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_function_release(function));
}
