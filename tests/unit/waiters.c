// cpu/scheduler/queue: waiters of a stream stand in the order of their targets.
#include "unit.h"

#include "backends/cpu/scheduler/queue.h"
#include "core/stream/op.h"

#include <sched.h>

enum { WAITERS = 6 };

static rnl_context context;
static rnl_stream target, opener, streams[WAITERS];
static rnl_event gate, points[WAITERS];

static struct queue *queue_of(rnl_stream handle)
{
    struct stream *stream = NULL;
    assert_ok(check_stream(handle, "stream", &stream));
    return stream_queue(stream);
}

static void begin(void)
{
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &target));
    assert_ok(rnl_stream_create(context, NULL, &opener));
    assert_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                               &gate));
    assert_ok(rnl_enqueue_wait_event(target, gate));
    rnl_buffer buffer = NULL;
    assert_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    for (int i = 0; i < WAITERS; i++) {
        assert_ok(rnl_stream_create(context, NULL, &streams[i]));
        assert_ok(rnl_event_create(context, NULL, &points[i]));
        assert_ok(rnl_enqueue_fill(target, buffer, 0, 64, 1, 1));
        assert_ok(rnl_enqueue_event_record(target, points[i]));
    }
    assert_ok(rnl_buffer_release(buffer));
}

static void end(void)
{
    for (int i = 0; i < WAITERS; i++) {
        assert_ok(rnl_stream_release(streams[i]));
        assert_ok(rnl_event_release(points[i]));
    }
    assert_ok(rnl_event_release(gate));
    assert_ok(rnl_stream_release(opener));
    assert_ok(rnl_stream_release(target));
    assert_ok(rnl_context_release(context));
}

// How many stand in the list, which is in order and ends at its last one.
static int waiters(void)
{
    struct queue *queue = queue_of(target);
    struct op *last = NULL;
    int count = 0;
    lock_take(&queue->lock);
    for (struct op *op = queue->waiters; op; op = op_wait(op)->next) {
        assert_true(!last || op_wait(last)->sequence <= op_wait(op)->sequence);
        last = op;
        count++;
    }
    assert_ptr_equal(queue->last_waiter, last);
    lock_give(&queue->lock);
    return count;
}

static void wait_for(int i, int point)
{
    int before = waiters();
    assert_ok(rnl_enqueue_wait_event(streams[i], points[point]));
    while (waiters() == before)
        sched_yield();
}

static void finish(void)
{
    assert_ok(rnl_enqueue_event_record(opener, gate));
    for (int i = 0; i < WAITERS; i++)
        assert_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
    assert_int_equal(waiters(), 0);
    end();
}

RNL_TEST(waiters_stand_in_order_however_they_come)
{
    static const int order[] = {2, 5, 0, 3, 3, 1};
    begin();
    for (int i = 0; i < WAITERS; i++)
        wait_for(i, order[i]);
    assert_int_equal(waiters(), WAITERS);
    finish();
}

static void withdraw(int i)
{
    int before = waiters();
    assert_ok(rnl_stream_cancel(streams[i]));
    while (waiters() == before)
        sched_yield();
    assert_ok(rnl_stream_reset_and_wait(streams[i]));
}

RNL_TEST(a_waiter_that_is_withdrawn_leaves_the_others_in_order)
{
    begin();
    for (int i = 0; i < 4; i++)
        wait_for(i, i);
    withdraw(3);  // the last
    wait_for(4, 5);
    withdraw(1);
    withdraw(0);  // the first
    wait_for(5, 0);
    withdraw(4);
    withdraw(2);
    withdraw(5);  // the only one
    assert_int_equal(waiters(), 0);
    wait_for(0, 4);
    finish();
}
