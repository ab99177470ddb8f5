// The pool of a context: what is used again, when, and what it counts.
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static rnl_pool_stats stats(void)
{
    return suite_pool_stats(suite_context());
}

static rnl_buffer of_kind(rnl_memory_kind kind, size_t size)
{
    rnl_buffer buffer;
    expect_ok(rnl_buffer_create(suite_context(), size,
                                RNL_BUFFER_OPTIONS(.kind = kind), &buffer));
    return buffer;
}

// Creates and releases one; returns where it was.
static void *visit(size_t size)
{
    rnl_buffer buffer = suite_new_buffer(size);
    void *was = suite_address(buffer);
    expect_ok(rnl_buffer_release(buffer));
    return was;
}

// --- What is used again ----------------------------------------------------

RNL_TEST(a_released_buffers_memory_is_used_again)
{
    const size_t sizes[] = {1, 512, 1000, 64 * KIB, 64 * KIB + 1, MIB, 5 * MIB};
    for (int i = 0; i < 7; i++) {
        rnl_pool_stats before = stats();
        void *was = visit(sizes[i]);
        assert_ptr_equal(visit(sizes[i]), was);
        assert_int_equal(stats().misses, before.misses + 1);
        assert_int_equal(stats().hits, before.hits + 1);
    }
}

RNL_TEST(sizes_about_the_same_share_memory)
{
    void *small = visit(1100), *large = visit(5 * MIB);
    assert_ptr_equal(visit(1280), small);
    assert_ptr_not_equal(visit(1281), small);
    assert_ptr_equal(visit(4 * MIB + 1), large);
    assert_ptr_not_equal(visit(2 * MIB), large);
    assert_ptr_not_equal(visit(7 * MIB), large);
}

RNL_TEST(the_best_fit_of_large_memory_is_taken)
{
    rnl_buffer twelve = suite_new_buffer(12 * MIB);
    rnl_buffer ten = suite_new_buffer(10 * MIB);
    void *best = suite_address(ten);
    expect_ok(rnl_buffer_release(ten));
    expect_ok(rnl_buffer_release(twelve));
    assert_ptr_equal(visit(10 * MIB - 5), best);
}

RNL_TEST(kinds_of_memory_are_kept_apart)
{
    suite_need(RNL_FEATURE_MANAGED_MEMORY);
    const rnl_memory_kind kinds[] = {RNL_MEMORY_DEVICE, RNL_MEMORY_HOST,
                                     RNL_MEMORY_MANAGED};
    for (int i = 0; i < 3; i++)
        expect_ok(rnl_buffer_release(of_kind(kinds[i], 4096)));
    assert_int_equal(stats().misses, 3);
    for (int i = 0; i < 3; i++)
        expect_ok(rnl_buffer_release(of_kind(kinds[i], 4096)));
    assert_int_equal(stats().misses, 3);
    assert_int_equal(stats().hits, 3);
}

RNL_TEST(what_was_a_buffer_leaves_nothing_to_the_next)
{
    rnl_buffer old, buffer;
    rnl_buffer_info was = {.struct_size = sizeof was};
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_create(suite_context(), 4096,
                                RNL_BUFFER_OPTIONS(.label = "first"), &old));
    expect_ok(rnl_buffer_get_info(old, &was));
    expect_ok(rnl_enqueue_fill(suite_stream(), old, 0, 4096, 0xab, 1));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_buffer_release(old));
    expect_ok(rnl_buffer_create(suite_context(), 4000,
                                RNL_BUFFER_OPTIONS(.zeroed = true), &buffer));
    expect_ok(rnl_buffer_get_info(buffer, &info));
    assert_ptr_equal(info.device_address, was.device_address);
    assert_ptr_not_equal(buffer, old);
    assert_int_not_equal(info.id, was.id);
    assert_int_equal(info.size, 4000);
    assert_string_equal(info.label, "");
    suite_expect_ints(buffer, 1000, 0);
    expect_error(rnl_buffer_release(old), RNL_ERROR_INVALID_HANDLE, "buffer");
    expect_error(rnl_buffer_retain(old), RNL_ERROR_INVALID_HANDLE, "buffer");
    expect_error(rnl_buffer_get_info(old, &was), RNL_ERROR_INVALID_HANDLE,
                 "buffer");
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(memory_is_used_again_when_the_last_slice_is_gone)
{
    rnl_buffer buffer = suite_new_buffer(4096), first, second;
    void *was = suite_address(buffer);
    expect_ok(rnl_buffer_slice(buffer, 0, 64, &first));
    expect_ok(rnl_buffer_slice(first, 32, 32, &second));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(first));
    assert_ptr_not_equal(visit(4096), was);
    expect_ok(rnl_buffer_release(second));
    assert_ptr_equal(visit(4096), was);
}

static void count_deletion(void *pointer, size_t size, void *user_data)
{
    (void)pointer;
    (void)size;
    ++*(int *)user_data;
}

RNL_TEST(foreign_memory_is_not_kept)
{
    static char memory[4096];
    int deletions = 0;
    void *raw;
    rnl_buffer owned, borrowed;
    expect_ok(rnl_buffer_wrap(suite_context(), memory, 4096,
                              RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST,
                                               .deleter = count_deletion,
                                               .user_data = &deletions),
                              &owned));
    expect_ok(rnl_buffer_wrap(suite_context(), memory, 4096,
                              RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST),
                              &borrowed));
    expect_ok(rnl_host_allocate(suite_context(), 4096, &raw));
    expect_ok(rnl_buffer_release(owned));
    assert_int_equal(deletions, 1);
    expect_ok(rnl_buffer_release(borrowed));
    expect_ok(rnl_host_free(suite_context(), raw));
    rnl_buffer host = of_kind(RNL_MEMORY_HOST, 4096);
    assert_ptr_not_equal(suite_address(host), memory);
    assert_int_equal(stats().misses, 1);
    assert_int_equal(stats().hits, 0);
    expect_ok(rnl_buffer_release(host));
}

// --- Numbers and limits ----------------------------------------------------

RNL_TEST(the_pool_counts_bytes)
{
    rnl_pool_stats none = stats();
    assert_int_equal(none.live + none.reserved + none.hits + none.misses, 0);
    rnl_buffer a = suite_new_buffer(4096), b = suite_new_buffer(8192);
    rnl_pool_stats two = stats();
    assert_int_equal(two.live, 12288);
    assert_int_equal(two.reserved, 12288);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
    rnl_buffer c = suite_new_buffer(4000);
    rnl_pool_stats one = stats();
    assert_int_equal(one.live, 4096);
    assert_int_equal(one.reserved, 12288);
    assert_int_equal(one.live_peak, 12288);
    assert_int_equal(one.reserved_peak, 12288);
    assert_int_equal(one.trims, 0);
    expect_ok(rnl_buffer_release(c));
}

RNL_TEST(buffers_without_bytes_are_not_counted)
{
    rnl_buffer buffer = suite_new_buffer(0);
    expect_ok(rnl_buffer_release(buffer));
    assert_int_equal(stats().misses, 0);
}

RNL_TEST(trimming_keeps_what_is_asked_for_and_what_is_in_use)
{
    rnl_buffer used = suite_new_buffer(4096);
    visit(8192);
    visit(4 * MIB);
    expect_ok(rnl_context_trim(suite_context(), 5 * MIB));
    assert_int_equal(stats().reserved, 4 * MIB + 12288);
    expect_ok(rnl_context_trim(suite_context(), MIB));
    assert_int_equal(stats().reserved, 12288);
    expect_ok(rnl_context_trim(suite_context(), 0));
    assert_int_equal(stats().reserved, 4096);
    assert_int_equal(stats().live, 4096);
    assert_int_equal(stats().trims, 2);
    assert_int_equal(stats().reserved_peak, 4 * MIB + 12288);
    expect_ok(rnl_buffer_release(used));
}

RNL_TEST(above_its_threshold_the_pool_keeps_nothing)
{
    rnl_context context =
        suite_open(RNL_CONTEXT_OPTIONS(.pool_threshold = 8192));
    rnl_buffer a, b;
    expect_ok(rnl_buffer_create(context, 4096, NULL, &a));
    expect_ok(rnl_buffer_create(context, 8192, NULL, &b));
    expect_ok(rnl_buffer_release(b));
    assert_int_equal(suite_pool_stats(context).reserved, 4096);
    expect_ok(rnl_buffer_release(a));
    assert_int_equal(suite_pool_stats(context).reserved, 4096);
    assert_int_equal(suite_pool_stats(context).live, 0);
    assert_int_equal(suite_pool_stats(context).trims, 1);
    expect_ok(rnl_context_release(context));
}

RNL_TEST(memory_may_be_set_aside_when_a_context_is_opened)
{
    rnl_context context =
        suite_open(RNL_CONTEXT_OPTIONS(.buffer_cache_size = 64 * KIB));
    rnl_buffer a, b, large;
    assert_int_equal(suite_pool_stats(context).reserved, 64 * KIB);
    expect_ok(rnl_buffer_create(context, 32 * KIB, NULL, &a));
    expect_ok(rnl_buffer_create(context, 16 * KIB, NULL, &b));
    assert_int_equal(suite_pool_stats(context).reserved, 64 * KIB);
    assert_int_equal(suite_pool_stats(context).live, 48 * KIB);
    assert_ptr_equal((char *)suite_address(a) + 32 * KIB, suite_address(b));
    expect_ok(rnl_buffer_create(context, 32 * KIB, NULL, &large));
    assert_int_equal(suite_pool_stats(context).reserved, 96 * KIB);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
    expect_ok(rnl_buffer_release(large));
    expect_ok(rnl_context_trim(context, 0));
    assert_int_equal(suite_pool_stats(context).reserved, 64 * KIB);
    expect_ok(rnl_buffer_create(context, 16 * KIB, NULL, &b));
    assert_int_equal(suite_pool_stats(context).hits, 1);
    expect_ok(rnl_buffer_release(b));
    expect_ok(rnl_context_release(context));
}

RNL_TEST(a_context_that_cannot_set_memory_aside_is_not_opened)
{
    rnl_context context;
    expect_error(rnl_context_create(
                     suite_device(),
                     RNL_CONTEXT_OPTIONS(.buffer_cache_size = SIZE_MAX / 4),
                     &context),
                 RNL_ERROR_OUT_OF_MEMORY, NULL);
}

RNL_TEST(memory_that_is_kept_is_given_up_before_a_buffer_fails)
{
    rnl_buffer used = suite_new_buffer(4096), buffer = NULL;
    visit(MIB);
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX / 2, (size_t)1 << 60};
    for (int i = 0; i < 3; i++) {
        expect_error(rnl_buffer_create(suite_context(), sizes[i], NULL,
                                       &buffer),
                     RNL_ERROR_OUT_OF_MEMORY, NULL);
        assert_null(buffer);
        assert_non_null(strstr(rnl_last_error()->message, "4096"));
        assert_int_equal(stats().reserved, 4096);
        assert_int_equal(stats().live, 4096);
        assert_int_equal(stats().retries, i + 1);
    }
    expect_ok(rnl_buffer_release(used));
}

RNL_TEST(pool_statistics_want_a_struct)
{
    rnl_pool_stats bad = {.struct_size = 3};
    expect_error(rnl_context_pool_stats(suite_context(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_stats");
    expect_error(rnl_context_pool_stats(suite_context(), &bad),
                 RNL_ERROR_INVALID_ARGUMENT, "out_stats");
}

// --- Order -----------------------------------------------------------------

RNL_TEST(memory_waits_for_its_release_stream)
{
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_buffer first = suite_buffer_on(stream, 4096);
    void *was = suite_address(first);
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_buffer_release(first));
    assert_int_equal(stats().live, 0);

    rnl_buffer now = suite_new_buffer(4096);
    rnl_buffer there = suite_buffer_on(other, 4096);
    assert_ptr_not_equal(suite_address(now), was);
    assert_ptr_not_equal(suite_address(there), was);
    rnl_buffer here = suite_buffer_on(stream, 4096);
    assert_ptr_equal(suite_address(here), was);

    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(here));
    expect_ok(rnl_buffer_release(there));
    expect_ok(rnl_buffer_release(now));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
    assert_int_equal(stats().misses, 3);
}

RNL_TEST(memory_released_in_order_waits_for_the_work_before)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_buffer word = suite_ints(1, 0), first = suite_buffer_on(stream, 4096);
    void *was = suite_address(first);
    expect_ok(rnl_enqueue_wait_value32(stream, word, 0, 1, RNL_WAIT_EQ));
    expect_ok(rnl_enqueue_fill(stream, first, 0, 4096, 7, 4));
    expect_ok(rnl_enqueue_buffer_release(stream, first));
    rnl_buffer there = suite_buffer_on(other, 4096);
    assert_ptr_not_equal(suite_address(there), was);
    expect_ok(rnl_enqueue_write_value32(other, word, 0, 1));
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    rnl_buffer later = suite_buffer_on(other, 4096);
    assert_ptr_equal(suite_address(later), was);
    expect_ok(rnl_buffer_release(later));
    expect_ok(rnl_buffer_release(there));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(memory_is_anybodys_once_the_release_stream_passed)
{
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    const size_t sizes[] = {4096, 3 * MIB};
    for (int i = 0; i < 2; i++) {
        rnl_buffer first = suite_buffer_on(stream, sizes[i]);
        void *was = suite_address(first);
        struct gate *gate = gate_shut(stream);
        expect_ok(rnl_buffer_release(first));
        gate_open(gate);
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        gate_free(gate);
        rnl_buffer there = suite_buffer_on(other, sizes[i]);
        assert_ptr_equal(suite_address(there), was);
        expect_ok(rnl_buffer_release(there));
    }
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

// A graph of the stream's may run beside what the stream still has to do.
RNL_TEST(memory_that_waits_for_a_stream_is_not_a_graphs)
{
    suite_need(RNL_FEATURE_CAPTURE);
    rnl_stream stream = suite_new_stream();
    rnl_graph graph = NULL;
    rnl_buffer first = suite_buffer_on(stream, 4096);
    void *was = suite_address(first);
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_buffer_release(first));
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    rnl_buffer captured = suite_buffer_on(stream, 4096);
    expect_ok(rnl_stream_end_capture(stream, &graph));
    assert_ptr_not_equal(suite_address(captured), was);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(captured));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(memory_waits_for_what_a_batch_has_collected)
{
    suite_need(RNL_FEATURE_BATCHED_STREAMS);
    rnl_stream stream = NULL, other = suite_new_stream();
    struct host_calls calls = {0, -1};
    expect_ok(rnl_stream_create(
        suite_context(), RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
        &stream));
    rnl_buffer first = suite_buffer_on(stream, 4096);
    void *was = suite_address(first);
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    expect_ok(rnl_buffer_release(first));
    rnl_buffer second = suite_buffer_on(other, 4096);
    assert_ptr_not_equal(suite_address(second), was);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    rnl_buffer third = suite_buffer_on(other, 4096);
    assert_ptr_equal(suite_address(third), was);
    assert_int_equal(calls.count, 1);
    expect_ok(rnl_buffer_release(second));
    expect_ok(rnl_buffer_release(third));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(the_release_stream_may_be_changed)
{
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_buffer first = suite_buffer_on(stream, 4096);
    void *was = suite_address(first);
    expect_ok(rnl_buffer_set_release_stream(first, other));
    struct gate *gate = gate_shut(other);
    expect_ok(rnl_buffer_release(first));

    rnl_buffer here = suite_buffer_on(stream, 4096);
    rnl_buffer there = suite_buffer_on(other, 4096);
    assert_ptr_not_equal(suite_address(here), was);
    assert_ptr_equal(suite_address(there), was);

    gate_open(gate);
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(here));
    expect_ok(rnl_buffer_release(there));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(without_a_release_stream_the_default_stream_is_it)
{
    rnl_buffer first = suite_new_buffer(4096);
    void *was = suite_address(first);
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_buffer_release(first));
    rnl_buffer second = suite_new_buffer(4096);
    assert_ptr_not_equal(suite_address(second), was);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    rnl_buffer third = suite_new_buffer(4096);
    assert_ptr_equal(suite_address(third), was);
    expect_ok(rnl_buffer_release(second));
    expect_ok(rnl_buffer_release(third));
}

RNL_TEST(work_after_the_release_does_not_hold_memory_back)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_buffer_on(stream, 4096);
    void *was = suite_address(buffer);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 4096, 1, 4));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_buffer_release(buffer));
    struct gate *gate = gate_shut(stream);
    buffer = suite_new_buffer(4096);
    assert_ptr_equal(suite_address(buffer), was);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

// A loop of temporaries takes the memory of one, however far it runs ahead.
RNL_TEST(memory_is_used_again_on_its_stream_while_work_is_pending)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_buffer word = suite_ints(1, 0), sums = suite_ints(16, 0), buffer;
    void *was = NULL;
    expect_ok(rnl_enqueue_wait_value32(stream, word, 0, 1, RNL_WAIT_EQ));
    for (uint32_t i = 0; i < 16; i++) {
        buffer = suite_buffer_on(stream, 1 << 20);
        was = was ? was : suite_address(buffer);
        assert_ptr_equal(suite_address(buffer), was);
        expect_ok(rnl_enqueue_fill(stream, buffer, 0, 1 << 20, i, 4));
        expect_ok(rnl_enqueue_copy_buffer(stream, sums, i * 4, buffer, 64, 4));
        if (i % 2)
            expect_ok(rnl_enqueue_buffer_release(stream, buffer));
        else
            expect_ok(rnl_buffer_release(buffer));
    }
    // Another stream has no part in it.
    buffer = suite_buffer_on(other, 1 << 20);
    assert_ptr_not_equal(suite_address(buffer), was);
    expect_ok(rnl_enqueue_write_value32(other, word, 0, 1));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    int32_t seen[16];
    expect_ok(rnl_copy_from_buffer_and_wait(stream, seen, sums, 0, 64));
    for (int i = 0; i < 16; i++)
        assert_int_equal(seen[i], i);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(sums));
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(memory_in_use_on_another_stream_is_not_used_again)
{
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_buffer first = suite_buffer_on(stream, 4096);
    void *was = suite_address(first);
    struct gate *gate = gate_shut(other);
    expect_ok(rnl_enqueue_fill(other, first, 0, 4096, 1, 4));
    expect_ok(rnl_buffer_release(first));

    rnl_buffer here = suite_buffer_on(stream, 4096);
    assert_ptr_not_equal(suite_address(here), was);
    expect_ok(rnl_enqueue_fill(stream, here, 0, 4096, 2, 4));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));

    gate_open(gate);
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    gate_free(gate);
    suite_expect_ints(here, 1024, 2);
    expect_ok(rnl_buffer_release(here));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(a_stream_may_end_while_memory_waits_for_it)
{
    rnl_context context = suite_open(NULL);
    rnl_stream stream;
    rnl_buffer buffer;
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_enqueue_buffer_create(stream, 4096, NULL, &buffer));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
    gate_open(gate);
    suite_expect_empty();
    gate_free(gate);
}

RNL_TEST(a_context_may_end_before_its_buffers)
{
    rnl_context context = suite_open(NULL);
    rnl_stream stream;
    rnl_buffer buffers[4];
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_buffer_create(context, 64, NULL, &buffers[0]));
    expect_ok(rnl_buffer_create(context, 3 * MIB, NULL, &buffers[1]));
    expect_ok(rnl_context_release(context));
    expect_ok(rnl_buffer_release(buffers[0]));
    for (int i = 2; i < 4; i++)
        expect_ok(rnl_enqueue_buffer_create(stream, 64, NULL, &buffers[i]));
    expect_ok(rnl_buffer_release(buffers[2]));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(buffers[1]));
    expect_ok(rnl_enqueue_fill(suite_stream(), buffers[3], 0, 64, 0, 1));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_buffer_release(buffers[3]));
}

// --- Threads and processes -------------------------------------------------

#define THREADS 4
#define ROUNDS 2000

static rnl_context shared;
static rnl_buffer _Atomic slots[64];
static _Atomic long released, made;

static void give_up(rnl_buffer buffer)
{
    if (buffer && rnl_buffer_release(buffer) == RNL_OK)
        atomic_fetch_add(&released, 1);
}

// Every thread releases what it replaces, and what it sees elsewhere: one
// buffer is often released by several, of which exactly one succeeds.
static void *trade(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument * 2654435761u;
    for (int i = 0; i < ROUNDS; i++) {
        seed = seed * 1664525u + 1013904223u;
        size_t size = seed >> 31 ? 512 : (size_t)100 << 10;
        rnl_buffer buffer;
        if (rnl_buffer_create(shared, size, NULL, &buffer))
            continue;
        atomic_fetch_add(&made, 1);
        rnl_buffer old = atomic_exchange(&slots[seed >> 8 & 63], buffer);
        give_up(old);
        give_up(slots[seed >> 16 & 63]);
    }
    return NULL;
}

RNL_TEST(threads_release_each_others_buffers_once)
{
    pthread_t threads[THREADS];
    shared = suite_context();
    released = made = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, trade,
                                        (void *)(uintptr_t)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 64; i++)
        give_up(atomic_exchange(&slots[i], NULL));
    assert_int_equal(made, THREADS * ROUNDS);
    assert_int_equal(released, made);
    assert_int_equal(stats().live, 0);
    assert_int_equal(stats().hits + stats().misses, THREADS * ROUNDS);
}

static int use_pool_in_child(void)
{
    rnl_context context;
    rnl_buffer buffer;
    rnl_pool_stats child = {.struct_size = sizeof child};
    if (rnl_context_pool_stats(shared, &child) != RNL_ERROR_FORKED ||
        rnl_context_open(suite_api(), suite_index(), NULL, &context))
        return 1;
    for (int i = 0; i < 2; i++)
        if (rnl_buffer_create(context, 4096, NULL, &buffer) ||
            rnl_buffer_release(buffer))
            return 2;
    if (rnl_context_pool_stats(context, &child))
        return 3;
    return child.hits == 1 && child.misses == 1 ? 0 : 4;
}

RNL_TEST(a_forked_childs_pool_is_fresh)
{
    if (!suite_is_cpu())
        test_skip("only cpu contexts can be opened after fork");
    shared = suite_context();
    visit(4096);
    assert_int_equal(suite_fork(use_pool_in_child), 0);
}
