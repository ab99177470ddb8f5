// Released memory that work may still use by its address: it waits for its
// release stream also where the pool does not keep it, or its context is gone.
#include "suite.h"

#define SIZE ((size_t)3 << 20)  // in whole huge pages from here on

static void fill_by_address(rnl_stream stream, void *pointer)
{
    expect_ok(rnl_enqueue_fill_region(
        stream, RNL_FILL(.to = {.pointer = pointer}, .width = 4096,
                         .pattern = 3, .pattern_size = 4)));
}

// --- Above the threshold ---------------------------------------------------

static void expect_freed_behind(rnl_stream_flags flags)
{
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.pool_threshold = 1));
    rnl_stream stream;
    expect_ok(rnl_stream_create(context, RNL_STREAM_OPTIONS(.flags = flags),
                                &stream));
    rnl_buffer buffer = suite_buffer_on(stream, SIZE);
    struct gate *gate = gate_shut(stream);
    fill_by_address(stream, suite_address(buffer));
    expect_ok(rnl_buffer_release(buffer));
    assert_int_equal(suite_pool_stats(context).live, 0);
    assert_true(suite_pool_stats(context).reserved >= SIZE);
    assert_int_equal(suite_pool_stats(context).trims, 0);
    expect_ok(rnl_context_trim(context, 0));
    assert_true(suite_pool_stats(context).reserved >= SIZE);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    assert_int_equal(suite_pool_stats(context).reserved, 0);
    assert_int_equal(suite_pool_stats(context).trims, 1);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
}

RNL_TEST(what_is_not_kept_waits_for_work_by_address)
{
    expect_freed_behind(0);
}

RNL_TEST(what_is_not_kept_waits_for_what_a_batch_has_collected)
{
    suite_need(RNL_FEATURE_BATCHED_STREAMS);
    expect_freed_behind(RNL_STREAM_BATCHED);
}

RNL_TEST(what_is_not_kept_may_be_used_again_while_it_waits)
{
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.pool_threshold = 1));
    rnl_stream stream;
    expect_ok(rnl_stream_create(context, NULL, &stream));
    rnl_buffer first = suite_buffer_on(stream, SIZE);
    void *was = suite_address(first);
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_buffer_release(first));
    rnl_buffer second = suite_buffer_on(stream, SIZE);
    assert_ptr_equal(suite_address(second), was);
    gate_open(gate);
    expect_ok(rnl_context_synchronize(context, RNL_FOREVER));
    gate_free(gate);
    assert_int_equal(suite_pool_stats(context).hits, 1);
    assert_int_equal(suite_pool_stats(context).trims, 0);
    expect_ok(rnl_buffer_release(second));
    assert_int_equal(suite_pool_stats(context).reserved, 0);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
}

RNL_TEST(what_is_not_kept_goes_back_with_its_stream)
{
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.pool_threshold = 1));
    rnl_stream stream;
    expect_ok(rnl_stream_create(context, NULL, &stream));
    rnl_buffer buffer = suite_buffer_on(stream, SIZE);
    struct gate *gate = gate_shut(stream);
    fill_by_address(stream, suite_address(buffer));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
    gate_open(gate);
    suite_expect_empty();
    gate_free(gate);
}

// --- Contexts that are gone ------------------------------------------------

// A context with a stream besides its default one, and a buffer that goes with
// that one.
struct two_streams {
    rnl_context context;
    rnl_stream stream, last;
    rnl_buffer buffer;
};

static struct two_streams open_two(size_t threshold)
{
    struct two_streams two;
    two.context = suite_open(RNL_CONTEXT_OPTIONS(.pool_threshold = threshold));
    expect_ok(rnl_stream_create(two.context, NULL, &two.stream));
    expect_ok(rnl_context_default_stream(two.context, &two.last));
    expect_ok(rnl_buffer_create(two.context, 4096, NULL, &two.buffer));
    return two;
}

// The context is gone before its buffer.
static void release_both(const struct two_streams *two)
{
    expect_ok(rnl_context_release(two->context));
    expect_ok(rnl_buffer_release(two->buffer));
}

// Memory that waits for the default stream of a released context is nobody's
// before that stream has got there.
static void expect_behind_default(size_t threshold)
{
    struct two_streams two = open_two(threshold);
    rnl_stream stream = two.stream, last = two.last;
    expect_ok(rnl_stream_retain(last));
    void *was = suite_address(two.buffer);
    struct gate *gate = gate_shut(last);
    fill_by_address(last, was);
    release_both(&two);
    rnl_buffer other = suite_buffer_on(stream, 4096);
    rnl_buffer same = suite_buffer_on(last, 4096);
    assert_ptr_not_equal(suite_address(other), was);
    assert_ptr_equal(suite_address(same), was);
    expect_ok(rnl_buffer_release(same));
    expect_ok(rnl_fill_and_wait(stream, other, 0, 4096, 1, 4));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(last, RNL_FOREVER));
    gate_free(gate);
    int ints[1024];
    expect_ok(rnl_copy_from_buffer_and_wait(stream, ints, other, 0, 4096));
    assert_int_equal(ints[0], 1);
    expect_ok(rnl_buffer_release(other));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(last));
}

RNL_TEST(memory_waits_for_the_default_stream_of_a_released_context)
{
    expect_behind_default(0);
}

RNL_TEST(what_is_not_kept_waits_for_it_as_well)
{
    expect_behind_default(1);
}

// Nobody but its own work holds the default stream.
RNL_TEST(a_default_stream_may_end_while_memory_waits_for_it)
{
    struct two_streams two = open_two(0);
    struct gate *gate = gate_shut(two.last);
    fill_by_address(two.last, suite_address(two.buffer));
    release_both(&two);
    expect_ok(rnl_stream_release(two.stream));
    gate_open(gate);
    suite_expect_empty();
    gate_free(gate);
}

RNL_TEST(a_default_stream_that_is_gone_holds_nothing_back)
{
    struct two_streams two = open_two(0);
    void *was = suite_address(two.buffer);
    expect_ok(rnl_enqueue_fill(two.last, two.buffer, 0, 4096, 1, 4));
    expect_ok(rnl_stream_synchronize(two.last, RNL_FOREVER));
    release_both(&two);
    rnl_buffer again = suite_buffer_on(two.stream, 4096);
    assert_ptr_equal(suite_address(again), was);
    expect_ok(rnl_buffer_release(again));
    expect_ok(rnl_stream_release(two.stream));
}

// --- Points of releases ----------------------------------------------------

// How far the old release stream was says nothing of the new one.
RNL_TEST(a_release_counts_for_the_stream_of_its_time)
{
    rnl_stream old = suite_new_stream(), other = suite_new_stream();
    rnl_buffer buffer = suite_buffer_on(old, 4096), slice;
    void *was = suite_address(buffer);
    for (int i = 0; i < 4; i++)
        expect_ok(rnl_enqueue_fill(old, buffer, 0, 4096, 1, 4));
    expect_ok(rnl_stream_synchronize(old, RNL_FOREVER));
    expect_ok(rnl_buffer_slice(buffer, 0, 64, &slice));
    expect_ok(rnl_buffer_retain(buffer));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_set_release_stream(buffer, other));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_stream_synchronize(old, RNL_FOREVER));
    buffer = suite_new_buffer(4096);
    assert_ptr_equal(suite_address(buffer), was);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(old));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(a_slices_release_stream_is_the_wholes)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_stream old = suite_new_stream(), other = suite_new_stream();
    rnl_buffer word = suite_ints(1, 0), buffer = suite_buffer_on(old, 4096);
    rnl_buffer slice;
    void *was = suite_address(buffer);
    expect_ok(rnl_stream_synchronize(old, RNL_FOREVER));
    expect_ok(rnl_buffer_slice(buffer, 0, 64, &slice));
    expect_ok(rnl_enqueue_wait_value32(other, word, 0, 1, RNL_WAIT_EQ));
    expect_ok(rnl_buffer_set_release_stream(slice, other));
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
    buffer = suite_buffer_on(old, 4096);
    assert_ptr_not_equal(suite_address(buffer), was);
    expect_ok(rnl_enqueue_write_value32(old, word, 0, 1));
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_stream_release(old));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(memory_waits_for_what_its_old_streams_batch_has_collected)
{
    suite_need(RNL_FEATURE_BATCHED_STREAMS);
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_stream old, other = suite_new_stream();
    expect_ok(rnl_stream_create(
        suite_context(), RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
        &old));
    rnl_buffer word = suite_ints(1, 0), buffer = suite_buffer_on(old, 4096);
    void *was = suite_address(buffer);
    expect_ok(rnl_enqueue_wait_value32(old, word, 0, 1, RNL_WAIT_EQ));
    fill_by_address(old, was);
    expect_ok(rnl_buffer_set_release_stream(buffer, other));
    expect_ok(rnl_buffer_release(buffer));
    rnl_buffer fresh = suite_buffer_on(other, 4096);
    assert_ptr_not_equal(suite_address(fresh), was);
    expect_ok(rnl_enqueue_write_value32(other, word, 0, 1));
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(old, RNL_FOREVER));
    expect_ok(rnl_buffer_release(fresh));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_stream_release(old));
    expect_ok(rnl_stream_release(other));
}
