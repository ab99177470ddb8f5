// Prefetch, advice and attachment: hints that change no results.
#include "suite.h"

static rnl_buffer managed(size_t size)
{
    rnl_buffer buffer;
    suite_need(RNL_FEATURE_MANAGED_MEMORY);
    expect_ok(rnl_buffer_create(
        suite_context(), size,
        RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_MANAGED), &buffer));
    return buffer;
}

static rnl_attach_mode mode_of(rnl_buffer buffer)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_get_info(buffer, &info));
    return info.attach_mode;
}

RNL_TEST(hints_change_no_bytes)
{
    rnl_stream stream = suite_stream();
    rnl_buffer buffer = managed(4096);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 4096, 7, 4));
    expect_ok(rnl_enqueue_prefetch(stream, buffer, 0, 4096,
                                   RNL_MEMORY_TO_HOST));
    for (int i = RNL_ADVICE_NONE; i <= RNL_ADVICE_USED_BY_HOST; i++)
        expect_ok(rnl_buffer_advise(buffer, 0, 4096, (rnl_memory_advice)i));
    expect_ok(rnl_enqueue_prefetch(stream, buffer, 1024, 512,
                                   RNL_MEMORY_TO_DEVICE));
    expect_ok(rnl_enqueue_attach(stream, buffer, RNL_ATTACH_SINGLE));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    suite_expect_ints(buffer, 1024, 7);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(whether_hints_do_anything_is_said)
{
    const char *reason = NULL;
    rnl_status status = rnl_context_supports(
        suite_context(), RNL_FEATURE_MEMORY_HINTS, &reason);
    assert_non_null(reason);
    assert_true(strlen(reason) > 0);
    if (suite_is_cpu())
        assert_int_equal(status, RNL_ERROR_UNSUPPORTED);
}

RNL_TEST(an_attachment_is_remembered)
{
    rnl_buffer buffer = managed(256);
    assert_int_equal(mode_of(buffer), RNL_ATTACH_GLOBAL);
    expect_ok(rnl_enqueue_attach(suite_stream(), buffer, RNL_ATTACH_HOST));
    assert_int_equal(mode_of(buffer), RNL_ATTACH_HOST);
    expect_ok(rnl_enqueue_attach(suite_stream(), buffer, RNL_ATTACH_SINGLE));
    assert_int_equal(mode_of(buffer), RNL_ATTACH_SINGLE);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_buffer_release(buffer));
    buffer = managed(256);
    assert_int_equal(mode_of(buffer), RNL_ATTACH_GLOBAL);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_refused_attachment_is_not_remembered)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_buffer buffer = managed(256);
    rnl_stream stream = suite_new_stream();
    rnl_graph graph = NULL;
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    expect_error(rnl_enqueue_attach(stream, buffer, RNL_ATTACH_HOST),
                 RNL_ERROR_CAPTURE_UNSUPPORTED, "stream");
    assert_int_equal(mode_of(buffer), RNL_ATTACH_GLOBAL);
    expect_error(rnl_stream_end_capture(stream, &graph),
                 RNL_ERROR_CAPTURE_INVALIDATED, NULL);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(hints_are_ordered_and_keep_their_buffer)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = managed(4096), next;
    rnl_buffer_info was = {.struct_size = sizeof was};
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_get_info(buffer, &was));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_prefetch(stream, buffer, 0, 4096,
                                   RNL_MEMORY_TO_DEVICE));
    expect_ok(rnl_enqueue_attach(stream, buffer, RNL_ATTACH_GLOBAL));
    assert_int_equal(rnl_stream_query(stream), RNL_NOT_READY);
    expect_ok(rnl_buffer_release(buffer));
    next = managed(4096);
    expect_ok(rnl_buffer_get_info(next, &info));
    assert_ptr_not_equal(info.device_address, was.device_address);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(next));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(hints_of_nothing_do_nothing)
{
    rnl_buffer empty = managed(0), buffer = managed(64);
    rnl_stream stream = suite_stream();
    expect_ok(rnl_enqueue_prefetch(stream, empty, 0, 0, RNL_MEMORY_TO_HOST));
    expect_ok(rnl_enqueue_attach(stream, empty, RNL_ATTACH_HOST));
    expect_ok(rnl_buffer_advise(empty, 0, 0, RNL_ADVICE_READ_MOSTLY));
    expect_ok(rnl_enqueue_prefetch(stream, buffer, 64, 0, RNL_MEMORY_TO_HOST));
    expect_ok(rnl_buffer_advise(buffer, 64, 0, RNL_ADVICE_READ_MOSTLY));
    expect_ok(rnl_buffer_release(empty));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(hints_stay_within_their_buffer)
{
    const size_t bad[][2] = {{0, 65}, {65, 0}, {1, 64}, {SIZE_MAX, 2},
                             {2, SIZE_MAX - 1}};
    rnl_buffer buffer = managed(128), slice;
    expect_ok(rnl_buffer_slice(buffer, 64, 64, &slice));
    expect_ok(rnl_buffer_advise(slice, 0, 64, RNL_ADVICE_PREFER_HOST));
    for (int i = 0; i < 5; i++) {
        expect_error(rnl_enqueue_prefetch(suite_stream(), slice, bad[i][0],
                                          bad[i][1], RNL_MEMORY_TO_HOST),
                     RNL_ERROR_OUT_OF_RANGE, "size");
        expect_error(rnl_buffer_advise(slice, bad[i][0], bad[i][1],
                                       RNL_ADVICE_NONE),
                     RNL_ERROR_OUT_OF_RANGE, "size");
    }
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(attaching_a_slice_attaches_the_whole)
{
    // No size that pools have.
    rnl_buffer buffer = managed(1000), slice, part;
    rnl_stream stream = suite_stream();
    expect_ok(rnl_buffer_slice(buffer, 500, 500, &slice));
    expect_ok(rnl_buffer_slice(slice, 100, 0, &part));
    expect_ok(rnl_enqueue_attach(stream, slice, RNL_ATTACH_SINGLE));
    assert_int_equal(mode_of(buffer), RNL_ATTACH_SINGLE);
    assert_int_equal(mode_of(part), RNL_ATTACH_SINGLE);
    expect_ok(rnl_enqueue_attach(stream, part, RNL_ATTACH_GLOBAL));
    assert_int_equal(mode_of(buffer), RNL_ATTACH_GLOBAL);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_buffer_release(part));
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
}

static uint64_t hits(void)
{
    return suite_pool_stats(suite_context()).hits;
}

RNL_TEST(advice_and_attachment_end_with_the_buffer)
{
    rnl_stream stream = suite_stream();
    const char *reason;
    bool heeded = rnl_context_supports(suite_context(),
                                       RNL_FEATURE_MEMORY_HINTS,
                                       &reason) == RNL_OK;
    for (int round = 0; round < 3; round++) {
        rnl_buffer buffer = managed(4096);
        if (round == 1)
            expect_ok(rnl_enqueue_attach(stream, buffer, RNL_ATTACH_HOST));
        if (round == 2)
            expect_ok(rnl_buffer_advise(buffer, 0, 64,
                                        RNL_ADVICE_PREFER_HOST));
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        expect_ok(rnl_buffer_release(buffer));
        uint64_t before = hits();
        buffer = managed(4096);
        assert_int_equal(hits() - before, round == 0 || !heeded);
        expect_ok(rnl_buffer_release(buffer));
    }
}

RNL_TEST(hints_know_their_values)
{
    rnl_buffer buffer = managed(64);
    const int bad[] = {-1, 99};
    for (int i = 0; i < 2; i++) {
        expect_error(rnl_enqueue_prefetch(suite_stream(), buffer, 0, 64,
                                          (rnl_memory_target)bad[i]),
                     RNL_ERROR_INVALID_ARGUMENT, "target");
        expect_error(rnl_enqueue_attach(suite_stream(), buffer,
                                        (rnl_attach_mode)bad[i]),
                     RNL_ERROR_INVALID_ARGUMENT, "mode");
        expect_error(rnl_buffer_advise(buffer, 0, 64,
                                       (rnl_memory_advice)bad[i]),
                     RNL_ERROR_INVALID_ARGUMENT, "advice");
    }
    assert_int_equal(mode_of(buffer), RNL_ATTACH_GLOBAL);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(hints_are_for_managed_memory)
{
    rnl_buffer buffer = suite_new_buffer(64);
    expect_error(rnl_enqueue_prefetch(suite_stream(), buffer, 0, 64,
                                      RNL_MEMORY_TO_HOST),
                 RNL_ERROR_INVALID_ARGUMENT, "buffer");
    expect_error(rnl_enqueue_attach(suite_stream(), buffer, RNL_ATTACH_HOST),
                 RNL_ERROR_INVALID_ARGUMENT, "buffer");
    expect_error(rnl_buffer_advise(buffer, 0, 64, RNL_ADVICE_NONE),
                 RNL_ERROR_INVALID_ARGUMENT, "buffer");
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_hint_is_for_a_stream_of_the_same_context)
{
    rnl_buffer buffer = managed(64);
    rnl_context other = suite_open(NULL);
    rnl_stream stream;
    expect_ok(rnl_context_default_stream(other, &stream));
    expect_error(rnl_enqueue_prefetch(stream, buffer, 0, 64,
                                      RNL_MEMORY_TO_HOST),
                 RNL_ERROR_INVALID_HANDLE, "buffer");
    expect_error(rnl_enqueue_attach(stream, buffer, RNL_ATTACH_HOST),
                 RNL_ERROR_INVALID_HANDLE, "buffer");
    expect_ok(rnl_context_release(other));
    expect_ok(rnl_buffer_release(buffer));
}
