// Work on the driver: what it is told, and what becomes of failures.
#include "loaded.h"

RNL_TEST(an_upload_is_told_to_the_driver)
{
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
    rnl_graph graph;
    rnl_graph_exec exec;
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    assert_ok(rnl_stream_begin_capture(stream, 0));
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, 64, 1, 4));
    assert_ok(rnl_stream_end_capture(stream, &graph));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    size_t before = fake_calls("cuGraphUpload");
    assert_ok(rnl_enqueue_graph_upload(stream, exec));
    assert_int_equal(fake_calls("cuGraphUpload"), before + 1);
    fake_fail("cuGraphUpload", 1, 1, 0);
    assert_int_equal(rnl_enqueue_graph_upload(stream, exec),
                     RNL_ERROR_INVALID_ARGUMENT);
    // It is over before what it has prepared goes.
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}
