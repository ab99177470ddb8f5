// RNL_WHOLE: the rest of a buffer as a size.
#include "graphs.h"

enum { INTS = 16, BYTES = INTS * 4 };

static int host[INTS];

static rnl_status and_wait(rnl_status status)
{
    return status ? status : rnl_stream_synchronize(suite_stream(),
                                                    RNL_FOREVER);
}

static void number_host(int first)
{
    for (int i = 0; i < INTS; i++)
        host[i] = first + i;
}

static void expect_range(rnl_buffer buffer, int first, int last, int value)
{
    int got[INTS];
    suite_download(got, buffer, BYTES);
    for (int i = first; i < last; i++)
        assert_int_equal(got[i], value + i - first);
}

RNL_TEST(a_copy_to_a_buffer_fills_its_rest)
{
    rnl_buffer buffer = suite_ints(INTS, 7);
    number_host(100);
    expect_ok(rnl_enqueue_copy_to_buffer(suite_stream(), buffer, 0, host,
                                         RNL_WHOLE));
    expect_range(buffer, 0, INTS, 100);
    number_host(200);
    expect_ok(rnl_copy_to_buffer_and_wait(suite_stream(), buffer, 24, host,
                                          RNL_WHOLE));
    expect_range(buffer, 0, 6, 100);
    expect_range(buffer, 6, INTS, 200);
    expect_ok(rnl_copy_to_buffer_and_wait(suite_stream(), buffer, BYTES, host,
                                          RNL_WHOLE));  // nothing is left
    expect_range(buffer, 6, INTS, 200);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_copy_from_a_buffer_takes_its_rest)
{
    rnl_buffer buffer = suite_new_buffer(BYTES);
    number_host(100);
    suite_upload(buffer, host, BYTES);
    memset(host, 0, sizeof host);
    expect_ok(and_wait(rnl_enqueue_copy_from_buffer(suite_stream(), host,
                                                    buffer, 40, RNL_WHOLE)));
    assert_int_equal(host[0], 110);
    assert_int_equal(host[5], 115);
    assert_int_equal(host[6], 0);
    expect_ok(rnl_copy_from_buffer_and_wait(suite_stream(), host, buffer, 0,
                                            RNL_WHOLE));
    assert_int_equal(host[INTS - 1], 115);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(rests_of_two_buffers_have_one_size)
{
    rnl_buffer from = suite_new_buffer(BYTES), to = suite_ints(INTS, 0), small;
    number_host(100);
    suite_upload(from, host, BYTES);
    expect_ok(rnl_buffer_slice(to, 0, 32, &small));
    expect_ok(rnl_enqueue_copy_buffer(suite_stream(), to, 0, from, 0,
                                      RNL_WHOLE));
    expect_range(to, 0, INTS, 100);
    expect_ok(rnl_copy_buffer_and_wait(suite_stream(), small, 16, from, 48,
                                       RNL_WHOLE));
    expect_range(to, 4, 8, 112);
    expect_error(rnl_enqueue_copy_buffer(suite_stream(), to, 4, from, 0,
                                         RNL_WHOLE),
                 RNL_ERROR_INVALID_ARGUMENT, "size");
    expect_error(rnl_copy_buffer_and_wait(suite_stream(), small, 0, from, 0,
                                          RNL_WHOLE),
                 RNL_ERROR_INVALID_ARGUMENT, "size");
    expect_error(rnl_enqueue_copy_buffer(suite_stream(), to, BYTES + 1, from, 0,
                                         RNL_WHOLE),
                 RNL_ERROR_OUT_OF_RANGE, "to");
    expect_error(rnl_enqueue_copy_buffer(suite_stream(), to, 0, from, BYTES + 1,
                                         RNL_WHOLE),
                 RNL_ERROR_OUT_OF_RANGE, "from");
    expect_range(to, 0, 4, 100);
    expect_ok(rnl_buffer_release(small));
    expect_ok(rnl_buffer_release(to));
    expect_ok(rnl_buffer_release(from));
}

RNL_TEST(raw_pointers_have_no_rest)
{
    expect_error(rnl_enqueue_copy(suite_stream(), host, host + 8, RNL_WHOLE),
                 RNL_ERROR_INVALID_ARGUMENT, "size");
    expect_error(rnl_copy_and_wait(suite_stream(), host, host + 8, RNL_WHOLE),
                 RNL_ERROR_INVALID_ARGUMENT, "size");
    expect_error(rnl_enqueue_fill_region(
                     suite_stream(),
                     RNL_FILL(.to = {.pointer = host}, .width = RNL_WHOLE,
                              .pattern_size = 4)),
                 RNL_ERROR_INVALID_ARGUMENT, "size");
}

RNL_TEST(a_fill_is_of_the_rest)
{
    rnl_buffer buffer = suite_ints(INTS, 3);
    expect_ok(rnl_enqueue_fill(suite_stream(), buffer, 8, RNL_WHOLE, 5, 4));
    int got[INTS];
    suite_download(got, buffer, BYTES);
    assert_int_equal(got[1], 3);
    assert_int_equal(got[2], 5);
    assert_int_equal(got[INTS - 1], 5);
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, RNL_WHOLE, 6, 4));
    suite_expect_ints(buffer, INTS, 6);
    expect_error(rnl_enqueue_fill(suite_stream(), buffer, 2, RNL_WHOLE, 5, 4),
                 RNL_ERROR_INVALID_ARGUMENT, "pattern_size");
    expect_error(rnl_enqueue_fill(suite_stream(), buffer, BYTES + 4, RNL_WHOLE,
                                  5, 4),
                 RNL_ERROR_OUT_OF_RANGE, "to");
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(only_lines_have_a_rest)
{
    rnl_buffer buffer = suite_ints(INTS, 3);
    number_host(1);
    expect_ok(rnl_copy_region_and_wait(
        suite_stream(), RNL_COPY(.to = {.buffer = buffer, .offset = 32},
                                 .from = {.pointer = host}, .width = RNL_WHOLE,
                                 .height = 1)));
    expect_range(buffer, 8, INTS, 1);
    expect_error(rnl_enqueue_copy_region(
                     suite_stream(),
                     RNL_COPY(.to = {.buffer = buffer},
                              .from = {.pointer = host}, .width = RNL_WHOLE,
                              .height = 2)),
                 RNL_ERROR_INVALID_ARGUMENT, "width");
    expect_error(rnl_enqueue_fill_region(
                     suite_stream(),
                     RNL_FILL(.to = {.buffer = buffer}, .width = RNL_WHOLE,
                              .depth = 2, .pattern_size = 1)),
                 RNL_ERROR_INVALID_ARGUMENT, "width");
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(dead_buffers_have_no_rest)
{
    rnl_buffer buffer = suite_new_buffer(BYTES);
    expect_ok(rnl_buffer_release(buffer));
    expect_error(rnl_enqueue_copy_to_buffer(suite_stream(), buffer, 0, host,
                                            RNL_WHOLE),
                 RNL_ERROR_INVALID_HANDLE, "to");
    expect_error(rnl_enqueue_fill(suite_stream(), buffer, 0, RNL_WHOLE, 0, 1),
                 RNL_ERROR_INVALID_HANDLE, "to");
}

RNL_TEST(a_slice_may_be_the_rest)
{
    rnl_buffer buffer = suite_new_buffer(BYTES), slice = NULL;
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_slice(buffer, 20, RNL_WHOLE, &slice));
    expect_ok(rnl_buffer_get_info(slice, &info));
    assert_int_equal(info.size, BYTES - 20);
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_slice(buffer, BYTES, RNL_WHOLE, &slice));
    expect_ok(rnl_buffer_get_info(slice, &info));
    assert_int_equal(info.size, 0);
    expect_ok(rnl_buffer_release(slice));
    expect_error(rnl_buffer_slice(buffer, BYTES + 1, RNL_WHOLE, &slice),
                 RNL_ERROR_OUT_OF_RANGE, "size");
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(hints_may_be_of_the_rest)
{
    suite_need(RNL_FEATURE_MANAGED_MEMORY);
    rnl_buffer buffer = NULL;
    expect_ok(rnl_buffer_create(suite_context(), BYTES,
                                RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_MANAGED),
                                &buffer));
    expect_ok(rnl_enqueue_prefetch(suite_stream(), buffer, 4, RNL_WHOLE,
                                   RNL_MEMORY_TO_DEVICE));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_buffer_advise(buffer, 4, RNL_WHOLE,
                                RNL_ADVICE_READ_MOSTLY));
    expect_error(rnl_enqueue_prefetch(suite_stream(), buffer, BYTES + 1,
                                      RNL_WHOLE, RNL_MEMORY_TO_DEVICE),
                 RNL_ERROR_OUT_OF_RANGE, "size");
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(captures_and_nodes_have_the_size_of_the_call)
{
    rnl_buffer buffer = suite_ints(INTS, 0);
    rnl_stream stream = new_captured_stream();
    rnl_copy copy = *RNL_COPY(.to = {.buffer = buffer, .offset = 16},
                              .from = {.pointer = host}, .width = RNL_WHOLE);
    rnl_node node = NULL;
    expect_ok(rnl_enqueue_fill(stream, buffer, 8, RNL_WHOLE, 9, 4));
    rnl_graph captured = end_capture(stream), built = new_graph();
    launch_once(captured);
    expect_range(buffer, 0, 1, 0);
    expect_range(buffer, 2, 3, 9);
    expect_range(buffer, INTS - 1, INTS, 9);
    expect_ok(rnl_graph_add_node(
        built, NULL, 0, RNL_NODE(.kind = RNL_NODE_COPY, .copy = &copy), &node));
    number_host(50);
    launch_once(built);
    expect_range(buffer, 4, INTS, 50);
    expect_range(buffer, 2, 3, 9);
    expect_ok(rnl_graph_release(built));
    expect_ok(rnl_graph_release(captured));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(buffer));
}
