// Communicators together with what processes of one machine share: buffers,
// events and words that streams wait for; and with promises.
#include "ranks.h"

#include <string.h>

enum { COUNT = 1000 };

// All ranks get the bytes that rank 0 has.
static void tell(void *bytes, size_t length)
{
    rnl_buffer buffer;
    void *at;
    expect_ok(rnl_buffer_create(context, length, NULL, &buffer));
    expect_ok(rnl_buffer_host_pointer(buffer, &at));
    memcpy(at, bytes, length);
    expect_ok(rnl_enqueue_broadcast(
        stream, comm,
        RNL_COMM_DATA(.receive = buffer, .count = length,
                      .element = RNL_ELEMENT_UINT8),
        0));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    memcpy(bytes, at, length);
    expect_ok(rnl_buffer_release(buffer));
}

// A buffer of rank 0 that all ranks have.
static rnl_buffer share_buffer(size_t length)
{
    rnl_buffer buffer = NULL;
    rnl_ipc_handle handle = {{0}};
    if (rank == 0) {
        expect_ok(rnl_buffer_create(
            context, length,
            RNL_BUFFER_OPTIONS(.interprocess = true, .zeroed = true),
            &buffer));
        expect_ok(rnl_buffer_export(buffer, &handle));
    }
    tell(&handle, sizeof handle);
    if (rank != 0)
        expect_ok(rnl_buffer_import(context, &handle, &buffer));
    return buffer;
}

// An event of rank 0 that all ranks have.
static rnl_event share_event(void)
{
    rnl_event event = NULL;
    rnl_ipc_handle handle = {{0}};
    if (rank == 0) {
        expect_ok(rnl_event_create(
            context, RNL_EVENT_OPTIONS(.interprocess = true), &event));
        expect_ok(rnl_event_export(event, &handle));
    }
    tell(&handle, sizeof handle);
    if (rank != 0)
        expect_ok(rnl_event_import(context, &handle, &event));
    return event;
}

static rnl_event new_promise(void)
{
    rnl_event promise;
    expect_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                               &promise));
    return promise;
}

// By a stream of its own, at once.
static void keep(rnl_event promise)
{
    rnl_stream other;
    expect_ok(rnl_stream_create(context, NULL, &other));
    expect_ok(rnl_enqueue_event_record(other, promise));
    expect_ok(rnl_stream_flush(other));
    expect_ok(rnl_stream_release(other));
}

// Adds up COUNT ints of all ranks.
static void enqueue_sum(rnl_comm by, rnl_buffer send, rnl_buffer sums)
{
    expect_ok(
        rnl_enqueue_all_reduce(stream, by,
                               RNL_COMM_DATA(.send = send, .receive = sums,
                                             .count = COUNT,
                                             .element = RNL_ELEMENT_INT32),
                               RNL_REDUCE_SUM));
}

static void expect_ints(const int *ints, int expected)
{
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(ints[i], expected);
}

// Rank 0 writes the word that lets the other ranks read its bytes. Until then
// no rank's sum is done.
RNL_TEST(a_word_of_one_rank_releases_operations_of_others)
{
    enum { WORD = COUNT * sizeof(int) };
    int *sum, *zero;
    rnl_stream writer;
    ranks_begin(NULL);
    rnl_buffer shared = share_buffer(WORD + sizeof(uint32_t));
    rnl_buffer sums = ranks_ints(COUNT, &sum), own = ranks_ints(COUNT, &zero);
    expect_ok(rnl_stream_create(context, NULL, &writer));
    if (rank != 0)
        expect_ok(
            rnl_enqueue_wait_value32(stream, shared, WORD, 1, RNL_WAIT_EQ));
    enqueue_sum(comm, rank == 0 ? own : shared, sums);
    if (rank == 0) {
        assert_int_equal(rnl_stream_query(stream), RNL_NOT_READY);
        expect_ok(rnl_enqueue_fill(writer, shared, 0, WORD, 7, sizeof(int)));
        expect_ok(rnl_enqueue_write_value32(writer, shared, WORD, 1));
        expect_ok(rnl_stream_flush(writer));
    }
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ints(sum, 7 * (size - 1));
    expect_ok(rnl_stream_synchronize(writer, RNL_FOREVER));
    expect_ok(rnl_stream_release(writer));
    expect_ok(rnl_buffer_release(own));
    expect_ok(rnl_buffer_release(sums));
    expect_ok(rnl_buffer_release(shared));
    ranks_end();
}

// The record of the event stands behind a promise, until all ranks wait for it.
RNL_TEST(an_event_of_one_rank_releases_operations_of_others)
{
    int *sum, recorded = 1;
    rnl_comm calm;
    rnl_stream writer;
    ranks_begin(NULL);
    expect_ok(rnl_comm_create(context, NULL, &calm));
    rnl_buffer shared = share_buffer(COUNT * sizeof(int));
    rnl_event event = share_event(), promise = new_promise();
    rnl_buffer sums = ranks_ints(COUNT, &sum);
    expect_ok(rnl_stream_create(context, NULL, &writer));
    if (rank == 0) {
        expect_ok(rnl_enqueue_wait_event(writer, promise));
        expect_ok(
            rnl_enqueue_fill(writer, shared, 0, RNL_WHOLE, 5, sizeof(int)));
        expect_ok(rnl_enqueue_event_record(writer, event));
        expect_ok(rnl_stream_flush(writer));
    }
    tell(&recorded, sizeof recorded);
    expect_ok(rnl_enqueue_wait_event(stream, event));
    enqueue_sum(comm, shared, sums);
    assert_int_equal(rnl_stream_query(stream), RNL_NOT_READY);
    ranks_meet(calm);
    keep(promise);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ints(sum, 5 * size);
    expect_ok(rnl_stream_synchronize(writer, RNL_FOREVER));
    expect_ok(rnl_stream_release(writer));
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(sums));
    expect_ok(rnl_buffer_release(shared));
    expect_ok(rnl_comm_release(calm));
    ranks_end();
}

// Another rank's record that fails: the operation behind the wait is not begun,
// and the ranks that began theirs end by the time limit.
RNL_TEST(an_event_that_fails_ends_the_operations_of_all_ranks)
{
    int *sum, recorded = 1;
    rnl_comm tight, calm;
    rnl_stream writer;
    ranks_begin(NULL);
    expect_ok(rnl_comm_create(
        context, RNL_COMM_OPTIONS(.timeout_ns = 2 * SECOND), &tight));
    expect_ok(rnl_comm_create(context, NULL, &calm));
    rnl_event event = share_event(), promise = new_promise();
    rnl_buffer sums = ranks_ints(COUNT, &sum);
    expect_ok(rnl_stream_create(context, NULL, &writer));
    if (rank == 0) {
        expect_ok(rnl_enqueue_wait_event(writer, promise));
        expect_ok(rnl_enqueue_event_record(writer, event));
        expect_ok(rnl_stream_flush(writer));
    }
    tell(&recorded, sizeof recorded);
    if (rank == 1)
        expect_ok(rnl_enqueue_wait_event(stream, event));
    enqueue_sum(tight, NULL, sums);
    ranks_meet(calm);
    expect_ok(rnl_event_release(promise));  // broken
    ranks_fails(stream,
                rank == 1 ? RNL_ERROR_DEPENDENCY_FAILED : RNL_ERROR_TIMED_OUT,
                rank == 1 ? "" : "all-reduce");
    ranks_meet(calm);
    if (rank == 0)
        ranks_fails(writer, RNL_ERROR_DEPENDENCY_FAILED, "");
    rnl_stream_reset_and_wait(stream);
    rnl_stream_reset_and_wait(writer);
    expect_ok(rnl_stream_release(writer));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_buffer_release(sums));
    expect_ok(rnl_comm_release(calm));
    expect_ok(rnl_comm_release(tight));
    ranks_end();
}

RNL_TEST(an_operation_behind_a_promise_keeps_all_ranks_waiting)
{
    int *sum;
    ranks_begin(NULL);
    rnl_event promise = new_promise();
    rnl_buffer sums = ranks_ints(COUNT, &sum);
    for (int i = 0; i < COUNT; i++)
        sum[i] = rank;
    if (rank == 0)
        expect_ok(rnl_enqueue_wait_event(stream, promise));
    enqueue_sum(comm, NULL, sums);
    if (rank == 0) {
        assert_int_equal(rnl_stream_query(stream), RNL_NOT_READY);
        keep(promise);
    }
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ints(sum, size * (size - 1) / 2);
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_buffer_release(sums));
    ranks_end();
}
