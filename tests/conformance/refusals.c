// What calls refuse at the edges of their arguments: sizes that wrap around,
// places that are named and not used, objects of another api.
#include "graphs.h"

#include <stdio.h>

#define HALF (SIZE_MAX / 2)

// --- Copies ----------------------------------------------------------------

RNL_TEST(a_copy_of_no_bytes_names_places_that_are_there)
{
    rnl_stream stream = suite_stream();
    rnl_buffer buffer = suite_new_buffer(64), dead = suite_new_buffer(64);
    expect_ok(rnl_buffer_release(dead));
    const struct {
        rnl_place place;
        rnl_status status;
    } rows[] = {
        {{.buffer = buffer}, RNL_OK},
        {{.buffer = buffer, .offset = 64}, RNL_OK},
        {{.buffer = buffer, .offset = 65}, RNL_ERROR_OUT_OF_RANGE},
        {{.buffer = buffer, .offset = SIZE_MAX}, RNL_ERROR_OUT_OF_RANGE},
        {{.buffer = dead}, RNL_ERROR_INVALID_HANDLE},
        {{.pointer = NULL}, RNL_OK},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rnl_copy *to = RNL_COPY(.to = rows[i].place);
        const rnl_copy *from = RNL_COPY(.from = rows[i].place);
        if (rows[i].status == RNL_OK) {
            expect_ok(rnl_enqueue_copy_region(stream, to));
            expect_ok(rnl_enqueue_copy_region(stream, from));
            expect_ok(rnl_copy_region_and_wait(stream, from));
            continue;
        }
        expect_error(rnl_enqueue_copy_region(stream, to), rows[i].status,
                     "to");
        expect_error(rnl_enqueue_copy_region(stream, from), rows[i].status,
                     "from");
        expect_error(rnl_copy_region_and_wait(stream, from), rows[i].status,
                     "from");
    }
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(regions_whose_size_wraps_around_are_refused)
{
    rnl_stream stream = suite_stream();
    char byte = 1, *last = (char *)UINTPTR_MAX;
    const rnl_copy rows[] = {
        // Rows, slices, their sum, the last row, the place's offset, its end.
        {.to = {.pointer = &byte, .row_pitch = HALF}, .width = 1, .height = 4},
        {.to = {.pointer = &byte, .slice_pitch = HALF}, .width = 1,
         .depth = 4},
        {.to = {.pointer = &byte, .row_pitch = HALF}, .width = 1,
         .height = 2, .depth = 2},
        {.to = {.pointer = &byte, .slice_pitch = SIZE_MAX}, .width = 2,
         .depth = 2},
        {.to = {.pointer = last, .offset = 1}, .width = 1},
        {.to = {.pointer = last}, .width = 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rnl_copy copy = rows[i];
        copy.struct_size = sizeof copy;
        copy.from.pointer = &byte;
        copy.from.row_pitch = copy.from.slice_pitch = 0;
        expect_error(rnl_enqueue_copy_region(stream, &copy),
                     RNL_ERROR_OUT_OF_RANGE, "to");
    }
    assert_int_equal(byte, 1);
}

RNL_TEST(rows_of_two_regions_interleave_only_with_the_same_pitches)
{
    rnl_stream stream = suite_stream();
    rnl_buffer buffer = suite_new_buffer(4096);
    const struct {
        size_t offset[2], row[2], slice[2], depth;
        bool is_legal;
    } rows[] = {
        {{0, 32}, {64, 64}, {0, 0}, 1, true},
        {{32, 0}, {64, 64}, {0, 0}, 1, true},
        {{0, 32}, {64, 64}, {512, 512}, 2, true},
        {{0, 8}, {64, 64}, {0, 0}, 1, false},    // the rows overlap
        {{0, 56}, {64, 64}, {0, 0}, 1, false},   // with those behind
        {{0, 32}, {64, 128}, {0, 0}, 1, false},
        {{0, 32}, {64, 64}, {256, 512}, 2, false},
        {{0, 32}, {64, 64}, {288, 288}, 2, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rnl_copy *copy = RNL_COPY(
            .to = {.buffer = buffer, .offset = rows[i].offset[0],
                   .row_pitch = rows[i].row[0],
                   .slice_pitch = rows[i].slice[0]},
            .from = {.buffer = buffer, .offset = rows[i].offset[1],
                     .row_pitch = rows[i].row[1],
                     .slice_pitch = rows[i].slice[1]},
            .width = 16, .height = 4, .depth = rows[i].depth);
        if (rows[i].is_legal)
            expect_ok(rnl_enqueue_copy_region(stream, copy));
        else
            expect_error(rnl_enqueue_copy_region(stream, copy),
                         RNL_ERROR_INVALID_ARGUMENT, "to");
    }
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_batch_skips_copies_of_no_bytes)
{
    rnl_buffer buffer = suite_ints(4, 1);
    int bytes[4] = {2, 3, 4, 5}, result[4] = {0};
    rnl_copy copies[5];
    for (size_t i = 0; i < 5; i++)
        copies[i] = (rnl_copy){
            .struct_size = sizeof(rnl_copy),
            .to = {.buffer = buffer, .offset = 4 * (i / 2)},
            .from = {.pointer = bytes + i / 2}, .width = i % 2 ? 4 : 0};
    expect_ok(rnl_enqueue_copy_batch(suite_stream(), copies, 5));
    suite_download(result, buffer, sizeof result);
    assert_int_equal(result[0], 2);
    assert_int_equal(result[1], 3);
    assert_int_equal(result[2], 1);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_fill_is_of_whole_patterns_in_every_direction)
{
    rnl_buffer buffer = suite_ints(64, 1);
    const struct {
        rnl_place to;
        size_t width, height, depth;
        bool is_legal;
    } rows[] = {
        {{.row_pitch = 18}, 16, 2, 1, false},
        {{.row_pitch = 18}, 16, 1, 1, true},       // no second row
        {{.row_pitch = 18, .slice_pitch = 64}, 16, 1, 2, true},
        {{.row_pitch = 18}, 16, 1, 2, false},      // the slices are packed
        {{.slice_pitch = 66}, 16, 1, 2, false},
        {{.slice_pitch = 66}, 16, 1, 1, true},     // no second slice
        {{.offset = 2}, 16, 1, 1, false},
        {{.offset = 4}, 18, 1, 1, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rnl_fill fill = {.struct_size = sizeof fill, .to = rows[i].to,
                         .width = rows[i].width, .height = rows[i].height,
                         .depth = rows[i].depth, .pattern = 1,
                         .pattern_size = 4};
        fill.to.buffer = buffer;
        if (rows[i].is_legal)
            expect_ok(rnl_enqueue_fill_region(suite_stream(), &fill));
        else
            expect_error(rnl_enqueue_fill_region(suite_stream(), &fill),
                         RNL_ERROR_INVALID_ARGUMENT, "pattern_size");
    }
    suite_expect_ints(buffer, 64, 1);
    expect_ok(rnl_buffer_release(buffer));
}

// --- Memory ----------------------------------------------------------------

RNL_TEST(raw_host_memory_of_no_bytes_is_null)
{
    rnl_context context = suite_context();
    void *pointer = &context;
    char byte = 0;
    expect_ok(rnl_host_allocate(context, 0, &pointer));
    assert_null(pointer);
    expect_ok(rnl_host_free(context, pointer));
    expect_ok(rnl_host_register(context, &byte, 0));
    expect_error(rnl_host_unregister(context, &byte),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
    expect_error(rnl_host_register(context, (void *)UINTPTR_MAX, 2),
                 RNL_ERROR_OUT_OF_RANGE, "size");
    expect_error(rnl_host_register(context, NULL, 2),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
}

static void delete_nothing(void *pointer, size_t size, void *user_data)
{
    (void)pointer, (void)size, (void)user_data;
}

RNL_TEST(a_release_stream_is_one_of_the_buffers_own)
{
    rnl_context other = suite_open(NULL);
    rnl_stream here = suite_new_stream(), next = suite_new_stream(), there;
    rnl_buffer buffer = suite_new_buffer(64), wrapped;
    char bytes[64] = {0};
    expect_ok(rnl_stream_create(other, NULL, &there));
    expect_ok(rnl_buffer_wrap(suite_context(), bytes, sizeof bytes,
                              RNL_WRAP_OPTIONS(.deleter = delete_nothing),
                              &wrapped));
    expect_error(rnl_buffer_set_release_stream(buffer, there),
                 RNL_ERROR_INVALID_HANDLE, "stream");
    expect_error(rnl_buffer_set_release_stream(wrapped, here),
                 RNL_ERROR_INVALID_ARGUMENT, "buffer");
    expect_ok(rnl_buffer_set_release_stream(buffer, here));
    expect_ok(rnl_enqueue_fill(here, buffer, 0, 64, 7, 1));
    expect_ok(rnl_buffer_set_release_stream(buffer, next));
    expect_error(rnl_buffer_set_release_stream(buffer, there),
                 RNL_ERROR_INVALID_HANDLE, "stream");
    expect_ok(rnl_buffer_release(wrapped));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(here));
    expect_ok(rnl_stream_release(next));
    expect_ok(rnl_stream_release(there));
    expect_ok(rnl_context_release(other));
}

static rnl_status break_down(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

RNL_TEST(a_failed_stream_makes_and_joins_nothing)
{
    rnl_function breaker = suite_native("break_down", break_down, NULL);
    rnl_stream stream = suite_new_stream();
    rnl_buffer made = NULL;
    rnl_event event = suite_new_event();
    expect_ok(rnl_enqueue_function(stream, breaker, one_thread(),
                                   RNL_NO_ARGS));
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_LAUNCH_FAILED);
    expect_error(rnl_enqueue_buffer_create(stream, 64, NULL, &made),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_error(rnl_enqueue_copy_batch(stream, NULL, 0),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_error(rnl_enqueue_wait_event(stream, event),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_error(rnl_enqueue_wait_context(stream, suite_context()),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    assert_null(made);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_function_release(breaker));
}

// --- Functions -------------------------------------------------------------

static const char templates[] =
    "template <typename T> __global__ void put(T *p) { *p = 7; }\n"
    "extern \"C\" __global__ void _plain9(int *p) { *p = 8; }\n";

// A name is asked for as it is, as one of the given expressions, or besides.
RNL_TEST(a_name_is_an_identifier_or_an_expression)
{
    suite_need(RNL_FEATURE_COMPILE);
    static const char *const given[] = {"put<float>", "put<int>"};
    const rnl_module_options *options = RNL_MODULE_OPTIONS(
        .name_expressions = given, .name_expression_count = 2);
    const struct {
        const char *name;
        const rnl_module_options *options;
        int value;
    } rows[] = {{"_plain9", NULL, 8},   {"_plain9", options, 8},
                {"put<int>", NULL, 7},  {"put<int>", options, 7},
                {"put<unsigned>", options, 7}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rnl_function function = NULL;
        rnl_buffer buffer = suite_ints(1, 0);
        expect_ok(rnl_function_compile(suite_context(), templates,
                                       rows[i].name, rows[i].options,
                                       &function));
        expect_ok(rnl_enqueue_function(suite_stream(), function, one_thread(),
                                       RNL_ARGS(buffer)));
        suite_expect_ints(buffer, 1, rows[i].value);
        expect_ok(rnl_buffer_release(buffer));
        expect_ok(rnl_function_release(function));
    }
    static const char *const absent[] = {"9plain", "absent", "put<absent>"};
    for (size_t i = 0; i < 3; i++) {
        rnl_function function = NULL;
        assert_true(rnl_function_compile(suite_context(), templates, absent[i],
                                         options, &function) != RNL_OK);
        assert_true(strlen(rnl_last_error()->message) >= 12);
        assert_null(function);
    }
}

RNL_TEST(a_constant_of_a_launch_is_named_and_fits)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_function function = suite_compile(
        "__constant__ int factor;\n"
        "extern \"C\" __global__ void get(int *p) { *p = factor; }\n", "get");
    rnl_buffer buffer = suite_ints(1, 0);
    int values[2] = {6, 7};
    const struct {
        rnl_constant constants[2];
        rnl_status status;
    } rows[] = {
        {{{"factor", values, 4}, {"factor", NULL, 0}}, RNL_OK},
        {{{"factor", values, 4}, {"factor", values + 1, 4}}, RNL_OK},
        {{{"factor", NULL, 4}}, RNL_ERROR_INVALID_ARGUMENT},
        {{{NULL, values, 4}}, RNL_ERROR_INVALID_ARGUMENT},
        {{{"factor", values, 4}, {NULL, NULL, 0}}, RNL_ERROR_INVALID_ARGUMENT},
        {{{"factor", values, 8}}, RNL_ERROR_OUT_OF_RANGE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rnl_launch launch = *one_thread();
        launch.constants = rows[i].constants;
        launch.constant_count = rows[i].constants[1].data || i == 0 || i == 4
                                    ? 2 : 1;
        rnl_status status = rnl_enqueue_function(suite_stream(), function,
                                                 &launch, RNL_ARGS(buffer));
        assert_status(status, rows[i].status);
        if (status != RNL_OK)
            assert_string_equal(rnl_last_error()->parameter, "constants");
        else
            suite_expect_ints(buffer, 1, i == 0 ? 6 : 7);
    }
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
}

// --- Memory that is used again ---------------------------------------------

RNL_TEST(the_smallest_large_block_that_fits_is_used_again)
{
    enum { BLOCKS = 5 };
    static const size_t mebibytes[BLOCKS] = {9, 5, 4, 5, 12};
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.threads = 1));
    void *address[BLOCKS];
    rnl_buffer buffers[BLOCKS], again = NULL;
    for (int i = 0; i < BLOCKS; i++) {
        expect_ok(rnl_buffer_create(context, mebibytes[i] << 20, NULL,
                                    &buffers[i]));
        address[i] = suite_address(buffers[i]);
    }
    for (int i = 0; i < BLOCKS; i++)
        expect_ok(rnl_buffer_release(buffers[i]));
    rnl_pool_stats stats = {.struct_size = sizeof stats};
    expect_ok(rnl_buffer_create(context, (size_t)4 << 20, NULL, &again));
    expect_ok(rnl_context_pool_stats(context, &stats));
    assert_int_equal(stats.hits, 1);
    assert_ptr_equal(suite_address(again), address[2]);
    expect_ok(rnl_buffer_release(again));
    expect_ok(rnl_context_release(context));
}

// --- Devices ---------------------------------------------------------------

RNL_TEST(an_absent_api_has_a_reason_and_a_present_one_has_none)
{
    static const char *const apis[] = {"cpu", "cuda", "hip", "gpu"};
    for (size_t i = 0; i < sizeof apis / sizeof *apis; i++) {
        size_t count = 0;
        const char *reason = NULL;
        expect_ok(rnl_device_count(apis[i], &count));
        expect_ok(rnl_api_reason(apis[i], &reason));
        assert_non_null(reason);
        if (count > 0)
            assert_string_equal(reason, "");
        else
            assert_true(strlen(reason) >= 12);
    }
}

RNL_TEST(the_other_attributes_agree_with_the_info)
{
    rnl_device_info info = {.struct_size = sizeof info};
    expect_ok(rnl_device_get_info(suite_device(), &info));
    const struct {
        rnl_attribute id;
        int64_t value;
    } rows[] = {
        {RNL_ATTRIBUTE_CLOCK_KHZ, info.clock_khz},
        {RNL_ATTRIBUTE_L2_SIZE, (int64_t)info.l2_size},
        {RNL_ATTRIBUTE_COMPUTE_MAJOR, info.compute_major},
        {RNL_ATTRIBUTE_COMPUTE_MINOR, info.compute_minor},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t value = -1;
        expect_ok(rnl_device_attribute(suite_device(), rows[i].id, &value));
        assert_int_equal(value, rows[i].value);
    }
}

// --- Two apis --------------------------------------------------------------

struct abroad {
    rnl_context context;
    rnl_stream stream;
    rnl_event event;
    rnl_buffer buffer;
};

// Objects of the cpu, where the device under test is another.
static struct abroad go_abroad(void)
{
    struct abroad a = {0};
    if (suite_is_cpu())
        test_skip("the cpu is the device under test itself");
    expect_ok(rnl_context_open("cpu", 0, NULL, &a.context));
    expect_ok(rnl_stream_create(a.context, NULL, &a.stream));
    expect_ok(rnl_event_create(a.context, RNL_EVENT_OPTIONS(.timing = true),
                               &a.event));
    expect_ok(rnl_buffer_create(a.context, 64, NULL, &a.buffer));
    return a;
}

RNL_TEST(objects_of_two_apis_do_not_meet)
{
    struct abroad a = go_abroad();
    rnl_stream stream = suite_stream();
    rnl_buffer buffer = suite_new_buffer(64);
    rnl_event event = NULL;
    bool can = true;
    uint64_t ns = 77;
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.timing = true), &event));
    expect_error(rnl_enqueue_wait_event(stream, a.event),
                 RNL_ERROR_UNSUPPORTED, "event");
    expect_error(rnl_enqueue_wait_stream(stream, a.stream),
                 RNL_ERROR_UNSUPPORTED, "other");
    expect_error(rnl_enqueue_wait_context(stream, a.context),
                 RNL_ERROR_UNSUPPORTED, "other");
    expect_error(rnl_enqueue_copy_buffer(stream, buffer, 0, a.buffer, 0, 64),
                 RNL_ERROR_INVALID_HANDLE, "from");
    expect_error(rnl_enqueue_copy_buffer(stream, a.buffer, 0, buffer, 0, 64),
                 RNL_ERROR_INVALID_HANDLE, "to");
    expect_error(rnl_event_elapsed(event, a.event, &ns),
                 RNL_ERROR_INVALID_HANDLE, "end");
    expect_error(rnl_enqueue_event_record(stream, a.event),
                 RNL_ERROR_INVALID_HANDLE, "event");
    expect_error(rnl_buffer_set_release_stream(buffer, a.stream),
                 RNL_ERROR_INVALID_HANDLE, "stream");
    expect_ok(rnl_context_can_access_peer(suite_context(), a.context, &can));
    assert_false(can);
    assert_int_equal(ns, 77);
    expect_ok(rnl_stream_query(a.stream));
    expect_ok(rnl_buffer_release(a.buffer));
    expect_ok(rnl_event_release(a.event));
    expect_ok(rnl_stream_release(a.stream));
    expect_ok(rnl_context_release(a.context));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_graph_takes_no_event_of_another_api)
{
    struct abroad a = go_abroad();
    rnl_graph graph = new_graph();
    rnl_node node = NULL;
    for (int kind = RNL_NODE_EVENT_RECORD; kind <= RNL_NODE_EVENT_WAIT; kind++)
        expect_error(rnl_graph_add_node(
                         graph, RNL_AT_START,
                         RNL_NODE(.kind = (rnl_node_kind)kind,
                                  .event = a.event), &node),
                     RNL_ERROR_INVALID_HANDLE, "event");
    expect_shape(graph, 0, 0);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(a.buffer));
    expect_ok(rnl_event_release(a.event));
    expect_ok(rnl_stream_release(a.stream));
    expect_ok(rnl_context_release(a.context));
}
