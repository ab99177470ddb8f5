// Native functions: C functions as kernels of a cpu context.
#include "suite.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static const rnl_launch *one_block(void)
{
    static rnl_launch launch = {.struct_size = sizeof launch,
                                .grid = {1, 0, 0}, .block = {1, 0, 0}};
    return &launch;
}

static rnl_function make(const char *name, rnl_native_fn native,
                         const rnl_native_options *options)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(suite_context(), name, native,
                                         options, &function));
    return function;
}

static void run(rnl_function function, const rnl_launch *launch,
                const rnl_args *args)
{
    expect_ok(rnl_enqueue_function(suite_stream(), function, launch, args));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
}

static rnl_status axpy(const rnl_native_call *call)
{
    float *y = *(float *const *)call->arguments[0];
    const float *x = *(const float *const *)call->arguments[1];
    float a = *(const float *)call->arguments[2];
    int n = *(const int *)call->arguments[3];
    uint64_t per_block = call->block.x;
    for (uint64_t b = 0; b < call->block_count; b++)
        for (uint64_t t = 0; t < per_block; t++) {
            uint64_t i = (call->first_block + b) * per_block + t;
            if (i < (uint64_t)n)
                y[i] += a * x[i];
        }
    return RNL_OK;
}

static const rnl_parameter axpy_parameters[] = {
    {RNL_VALUE_POINTER, 8, 8, "float *"},
    {RNL_VALUE_POINTER, 8, 8, "const float *"},
    {RNL_VALUE_FLOAT, 4, 4, "float"},
    {RNL_VALUE_INTEGER, 4, 4, "int"},
};

static rnl_function make_axpy(void)
{
    return make("axpy", axpy,
                RNL_NATIVE_OPTIONS(.parameters = axpy_parameters,
                                   .parameter_count = 4));
}

RNL_TEST(a_native_function_computes)
{
    enum { COUNT = 100003 };
    static float x[COUNT], y[COUNT];
    rnl_function function = make_axpy();
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)(i % 1000);
        y[i] = 1;
    }
    rnl_buffer xs = suite_new_buffer(sizeof x), ys = suite_new_buffer(sizeof y);
    suite_upload(xs, x, sizeof x);
    suite_upload(ys, y, sizeof y);
    run(function, RNL_LAUNCH(.grid = {(COUNT + 255) / 256}, .block = {256}),
        RNL_ARGS(ys, xs, 2.0f, COUNT));
    suite_download(y, ys, sizeof y);
    for (int i = 0; i < COUNT; i++)
        assert_true(y[i] == 1 + 2.0f * x[i]);
    expect_ok(rnl_buffer_release(xs));
    expect_ok(rnl_buffer_release(ys));
    expect_ok(rnl_function_release(function));
}

// --- Failing and waiting -----------------------------------------------------

static rnl_status say_more(const rnl_native_call *call)
{
    return rnl_native_fail(RNL_ERROR_TIMED_OUT, "rank 1 is silent",
                           *(const int *)call->arguments[1] != 0);
}

static const rnl_parameter kept_parameters[] = {
    {RNL_VALUE_POINTER, sizeof(void *), _Alignof(void *), "void *"},
    {RNL_VALUE_INTEGER, sizeof(int), _Alignof(int), "int"},
};

RNL_TEST(a_native_function_says_more_of_its_failure)
{
    rnl_function function =
        make("say_more", say_more,
             RNL_NATIVE_OPTIONS(.parameters = kept_parameters,
                                .parameter_count = 2));
    rnl_buffer buffer = suite_new_buffer(64);
    rnl_stream stream = suite_new_stream();
    rnl_graph graph;
    rnl_graph_exec exec;
    for (int captured = 0; captured < 2; captured++) {
        if (captured)
            expect_ok(rnl_stream_begin_capture(stream, NULL));
        expect_ok(rnl_enqueue_function(stream, function,
                                       RNL_LAUNCH(.grid = {1}, .block = {1}),
                                       RNL_ARGS(buffer, 0)));
        if (captured) {
            expect_ok(rnl_stream_end_capture(stream, &graph));
            expect_ok(rnl_graph_instantiate(graph, &exec));
            expect_ok(rnl_enqueue_graph(stream, exec));
            expect_ok(rnl_graph_exec_release(exec));
            expect_ok(rnl_graph_release(graph));
        }
        assert_int_equal(rnl_stream_synchronize(stream, RNL_FOREVER),
                         RNL_ERROR_TIMED_OUT);
        assert_non_null(strstr(rnl_last_error()->message, "rank 1 is silent"));
        assert_int_equal(rnl_stream_reset_and_wait(stream), RNL_OK);
    }
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
}

static void say_in_a_host_function(rnl_status status, void *user_data)
{
    (void)status;
    *(rnl_status *)user_data = rnl_native_fail(RNL_ERROR_TIMED_OUT, "", false);
}

RNL_TEST(a_host_function_is_no_native_function)
{
    rnl_status got = RNL_OK;
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    expect_ok(rnl_enqueue_host_call(
        suite_stream(), RNL_HOST_CALL(.function = say_in_a_host_function,
                                      .user_data = &got)));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(got, RNL_ERROR_NOT_PERMITTED);
}

static void note_end(void *pointer, size_t size, void *user_data)
{
    (void)pointer;
    (void)size;
    atomic_store((_Atomic bool *)user_data, true);
}

// Whether the buffer of a launch that failed ends with the launch.
static bool buffer_ends(int kept)
{
    static _Atomic bool ended;
    static int word;
    rnl_context context = suite_open(NULL);
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_function function;
    ended = false;
    expect_ok(rnl_function_create_native(
        context, "say_more", say_more,
        RNL_NATIVE_OPTIONS(.parameters = kept_parameters, .parameter_count = 2),
        &function));
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_buffer_wrap(
        context, &word, sizeof word,
        RNL_WRAP_OPTIONS(.deleter = note_end, .user_data = (void *)&ended),
        &buffer));
    expect_ok(rnl_enqueue_function(stream, function, one_block(),
                                   RNL_ARGS(buffer, kept)));
    assert_int_equal(rnl_stream_synchronize(stream, RNL_FOREVER),
                     RNL_ERROR_TIMED_OUT);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_context_release(context));
    while (!kept && !ended)
        sched_yield();
    return ended;
}

RNL_TEST(a_native_function_keeps_the_buffers_that_others_write_to)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    assert_false(buffer_ends(1));
    assert_true(buffer_ends(0));
    // Memory that is kept for good is no leak of this test.
    quick_exit(0);
}

// Whether the stream uses the memory of a buffer again that was released behind
// a launch that failed and keeps its buffers.
static bool memory_is_used_again(rnl_stream stream, rnl_native_flags flags)
{
    enum { SIZE = 1 << 20 };
    rnl_function function =
        make("say_more", say_more,
             RNL_NATIVE_OPTIONS(.parameters = kept_parameters,
                                .parameter_count = 2, .flags = flags));
    rnl_buffer buffer = suite_buffer_on(stream, SIZE);
    void *address = suite_address(buffer);
    expect_ok(rnl_enqueue_function(stream, function, one_block(),
                                   RNL_ARGS(buffer, 1)));
    assert_int_equal(rnl_stream_synchronize(stream, RNL_FOREVER),
                     RNL_ERROR_TIMED_OUT);
    assert_int_equal(rnl_stream_reset_and_wait(stream), RNL_OK);
    expect_ok(rnl_buffer_release(buffer));
    rnl_buffer other = suite_buffer_on(stream, SIZE);
    bool again = suite_address(other) == address;
    expect_ok(rnl_buffer_release(other));
    expect_ok(rnl_function_release(function));
    return again;
}

RNL_TEST(memory_in_the_order_of_a_stream_is_kept_as_well)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    assert_true(memory_is_used_again(suite_stream(), 0));
    assert_false(memory_is_used_again(suite_stream(), RNL_NATIVE_WAITS));
    quick_exit(0);
}

RNL_TEST(unknown_flags_and_failures_out_of_place_are_refused)
{
    rnl_function function = make("f", say_more, NULL);
    expect_ok(rnl_function_release(function));
    expect_error(rnl_function_create_native(suite_context(), "f", say_more,
                                            RNL_NATIVE_OPTIONS(.flags = 8),
                                            &function),
                 RNL_ERROR_INVALID_ARGUMENT, "options.flags");
    expect_error(rnl_native_fail(RNL_ERROR_TIMED_OUT, "why", false),
                 RNL_ERROR_NOT_PERMITTED, NULL);
}

// --- What a call is given --------------------------------------------------

enum { MAX_BLOCKS = 6 * 5 * 4 };

struct cover {
    _Atomic int blocks[MAX_BLOCKS];
    _Atomic int wrong;
};

static rnl_status cover(const rnl_native_call *call)
{
    struct cover *seen = call->user_data;
    bool right = call->struct_size >= sizeof *call && call->grid.x == 6 &&
                 call->grid.y == 5 && call->grid.z == 4 &&
                 call->block.x == 8 && call->block.y == 1 &&
                 call->block.z == 1 && call->block_count > 0 &&
                 call->first_block + call->block_count <= MAX_BLOCKS;
    if (!right)
        atomic_fetch_add(&seen->wrong, 1);
    for (uint64_t i = 0; right && i < call->block_count; i++)
        atomic_fetch_add(&seen->blocks[call->first_block + i], 1);
    return RNL_OK;
}

RNL_TEST(every_block_is_covered_once)
{
    struct cover seen = {0};
    rnl_function function = suite_native("cover", cover, &seen);
    run(function, RNL_LAUNCH(.grid = {6, 5, 4}, .block = {8}), RNL_NO_ARGS);
    assert_int_equal(seen.wrong, 0);
    for (int i = 0; i < MAX_BLOCKS; i++)
        assert_int_equal(seen.blocks[i], 1);
    expect_ok(rnl_function_release(function));
}

static rnl_status count_blocks(const rnl_native_call *call)
{
    atomic_fetch_add((_Atomic uint64_t *)call->user_data, call->block_count);
    return RNL_OK;
}

RNL_TEST(a_grid_of_a_billion_blocks_is_counted_right)
{
    _Atomic uint64_t blocks = 0;
    rnl_function function = suite_native("count", count_blocks, &blocks);
    rnl_device_info info = {.struct_size = sizeof info};
    expect_ok(rnl_device_get_info(suite_device(), &info));
    uint32_t y = info.max_grid.y < 60000 ? info.max_grid.y : 60000;
    run(function, RNL_LAUNCH(.grid = {20000, y}, .block = {1}), RNL_NO_ARGS);
    assert_int_equal(blocks, (uint64_t)20000 * y);
    expect_ok(rnl_function_release(function));
}

struct shared_seen {
    _Atomic int calls, wrong;
    size_t size;
};

static rnl_status use_shared(const rnl_native_call *call)
{
    struct shared_seen *seen = call->user_data;
    atomic_fetch_add(&seen->calls, 1);
    if (call->shared_size != seen->size ||
        (seen->size && !call->shared)) {
        atomic_fetch_add(&seen->wrong, 1);
        return RNL_OK;
    }
    // Its own: no other call may write over it.
    unsigned char mark = (unsigned char)(call->first_block | 1);
    for (int round = 0; round < 50; round++) {
        memset(call->shared, mark, seen->size);
        for (size_t i = 0; i < seen->size; i += 97)
            if (((volatile unsigned char *)call->shared)[i] != mark)
                atomic_fetch_add(&seen->wrong, 1);
    }
    return RNL_OK;
}

RNL_TEST(dynamic_shared_memory_is_a_calls_own)
{
    struct shared_seen seen = {.size = 20000};
    rnl_function function = suite_native("use_shared", use_shared, &seen);
    run(function, RNL_LAUNCH(.grid = {64}, .block = {1}, .shared_size = 20000),
        RNL_NO_ARGS);
    assert_true(seen.calls > 0);
    assert_int_equal(seen.wrong, 0);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_native_function_knows_itself)
{
    rnl_function function = make_axpy();
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    assert_string_equal(info.name, "axpy");
    assert_int_equal(info.parameter_count, 4);
    assert_int_equal(info.parameters[2].kind, RNL_VALUE_FLOAT);
    assert_int_equal(info.parameters[2].size, 4);
    assert_string_equal(info.parameters[1].type, "const float *");
    assert_true(info.max_block_threads >= 256);
    assert_int_equal(info.shared_size, 0);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(the_signature_is_copied)
{
    char type[] = "int";
    rnl_parameter parameters[] = {{RNL_VALUE_INTEGER, 4, 4, type}};
    rnl_function function = make("copied", axpy,
                                 RNL_NATIVE_OPTIONS(.parameters = parameters,
                                                    .parameter_count = 1));
    parameters[0] = (rnl_parameter){RNL_VALUE_FLOAT, 8, 8, "double"};
    type[0] = 'X';
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    assert_int_equal(info.parameters[0].kind, RNL_VALUE_INTEGER);
    assert_string_equal(info.parameters[0].type, "int");
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_native_limit_on_block_size_is_kept)
{
    rnl_function function =
        make("narrow", axpy, RNL_NATIVE_OPTIONS(.max_block_threads = 64));
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(function, &info));
    assert_int_equal(info.max_block_threads, 64);
    expect_error(rnl_enqueue_function(suite_stream(), function,
                                      RNL_LAUNCH(.grid = {1}, .block = {65}),
                                      RNL_NO_ARGS),
                 RNL_ERROR_INVALID_ARGUMENT, "block");
    expect_error(rnl_enqueue_function(
                     suite_stream(), function,
                     RNL_LAUNCH(.grid = {1}, .block = {8, 9}), RNL_NO_ARGS),
                 RNL_ERROR_INVALID_ARGUMENT, "block");
    expect_ok(rnl_function_release(function));
}

static rnl_status add_one(const rnl_native_call *call)
{
    (void)call;
    *(int *)call->user_data += 1;
    return RNL_OK;
}

RNL_TEST(a_released_function_still_runs_what_was_launched)
{
    int count = 0;
    rnl_stream stream = suite_new_stream();
    rnl_function function = suite_native("add_one", add_one, &count);
    struct gate *gate = gate_shut(stream);
    for (int i = 0; i < 10; i++)
        expect_ok(rnl_enqueue_function(stream, function, one_block(),
                                       RNL_NO_ARGS));
    expect_ok(rnl_function_release(function));
    expect_error(rnl_enqueue_function(stream, function, one_block(),
                                      RNL_NO_ARGS),
                 RNL_ERROR_INVALID_HANDLE, "function");
    assert_int_equal(count, 0);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(count, 10);
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(argument_values_are_copied_at_the_call)
{
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    rnl_stream stream = suite_new_stream();
    rnl_function function = make_axpy();
    rnl_buffer xs = suite_new_buffer(sizeof x), ys = suite_new_buffer(sizeof y);
    suite_upload(xs, x, sizeof x);
    suite_upload(ys, y, sizeof y);
    rnl_arg items[] = {rnl_arg_of_buffer(ys), rnl_arg_of_buffer(xs),
                       rnl_arg_of_float(3), rnl_arg_of_integer(4, 4)};
    rnl_args args = {sizeof args, 4, items};
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_function(stream, function,
                                   RNL_LAUNCH(.grid = {1}, .block = {4}),
                                   &args));
    memset(items, 0xff, sizeof items);
    memset(&args, 0xff, sizeof args);
    expect_ok(rnl_buffer_release(xs));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    suite_download(y, ys, sizeof y);
    for (int i = 0; i < 4; i++)
        assert_true(y[i] == 3 * x[i]);
    gate_free(gate);
    expect_ok(rnl_buffer_release(ys));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_stream_release(stream));
}

// --- Refused ---------------------------------------------------------------

RNL_TEST(native_functions_need_a_name_a_function_and_a_result)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_function function = NULL;
    expect_error(rnl_function_create_native(suite_context(), NULL, axpy, NULL,
                                            &function),
                 RNL_ERROR_INVALID_ARGUMENT, "name");
    expect_error(rnl_function_create_native(suite_context(), "f", NULL, NULL,
                                            &function),
                 RNL_ERROR_INVALID_ARGUMENT, "native");
    expect_error(rnl_function_create_native(suite_context(), "f", axpy, NULL,
                                            NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_function");
    rnl_native_options options = {.struct_size = 0};
    expect_error(rnl_function_create_native(suite_context(), "f", axpy,
                                            &options, &function),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    assert_null(function);
}

RNL_TEST(impossible_native_signatures_are_refused)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_function function = NULL;
    const rnl_parameter rows[] = {
        {(rnl_value_kind)99, 4, 4, ""},
        {RNL_VALUE_INTEGER, 0, 4, ""},
        {RNL_VALUE_INTEGER, 3, 1, ""},
        {RNL_VALUE_FLOAT, 5, 4, ""},
        {RNL_VALUE_POINTER, 4, 4, ""},
        {RNL_VALUE_STRUCT, 16, 3, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_error(rnl_function_create_native(
                         suite_context(), "f", axpy,
                         RNL_NATIVE_OPTIONS(.parameters = &rows[i],
                                            .parameter_count = 1), &function),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_error(rnl_function_create_native(
                     suite_context(), "f", axpy,
                     RNL_NATIVE_OPTIONS(.parameters = NULL,
                                        .parameter_count = 2), &function),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_error(rnl_function_create_native(
                     suite_context(), "f", axpy,
                     RNL_NATIVE_OPTIONS(.parameters = rows,
                                        .parameter_count = SIZE_MAX),
                     &function),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    assert_null(function);
}

RNL_TEST(native_functions_are_refused_where_there_are_none)
{
    rnl_function function = NULL;
    if (rnl_context_supports(suite_context(), RNL_FEATURE_NATIVE_FUNCTIONS,
                             NULL) == RNL_OK)
        test_skip("%s has native functions", test_device_name());
    expect_error(rnl_function_create_native(suite_context(), "f", axpy, NULL,
                                            &function),
                 RNL_ERROR_UNSUPPORTED, NULL);
    assert_null(function);
}
