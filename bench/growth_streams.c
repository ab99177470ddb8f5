// Work on streams: enqueued, waited for, captured.
#include "growth.h"

// --- Operations, all pending together --------------------------------------

static void behind_gate(growth *with, size_t count,
                        void (*enqueue)(growth *with, rnl_stream stream))
{
    rnl_event gate = growth_gate(with, with->stream);
    for (size_t i = 0; i < count; i++)
        enqueue(with, with->stream);
    growth_open_gate(with, gate);
    growth_synchronize(with, with->stream);
}

static void launches(growth *with, size_t count)
{
    behind_gate(with, count, growth_launch);
}

static void copy(growth *with, rnl_stream stream)
{
    growth_ok(with, rnl_enqueue_copy_buffer(stream, with->buffer, 64,
                                            with->buffer, 0, 64));
}

static void copies(growth *with, size_t count)
{
    behind_gate(with, count, copy);
}

static void fill(growth *with, rnl_stream stream)
{
    growth_ok(with, rnl_enqueue_fill(stream, with->buffer, 64, 64, 0, 1));
}

static void fills(growth *with, size_t count)
{
    behind_gate(with, count, fill);
}

static void ignore(rnl_status status, void *user_data)
{
    (void)status, (void)user_data;
}

static void host(growth *with, rnl_stream stream)
{
    growth_ok(with, rnl_enqueue_host_function(stream, ignore, NULL));
}

static void host_functions(growth *with, size_t count)
{
    behind_gate(with, count, host);
}

static void write_word(growth *with, rnl_stream stream)
{
    growth_ok(with, rnl_enqueue_write_value32(stream, with->buffer, 0, 0));
}

static void value_writes(growth *with, size_t count)
{
    behind_gate(with, count, write_word);
}

static void wait_other(growth *with, rnl_stream stream)
{
    growth_ok(with, rnl_enqueue_wait_stream(stream, with->other));
}

static void stream_waits(growth *with, size_t count)
{
    behind_gate(with, count, wait_other);
}

static void wait_recorded(growth *with, rnl_stream stream)
{
    rnl_event event = NULL;
    growth_ok(with, rnl_event_create(with->context, NULL, &event));
    growth_launch(with, with->other);
    growth_ok(with, rnl_enqueue_event_record(with->other, event));
    growth_ok(with, rnl_enqueue_wait_event(stream, event));
    growth_ok(with, rnl_event_release(event));
}

static void event_waits(growth *with, size_t count)
{
    behind_gate(with, count, wait_recorded);
}

static void events_of_time(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        growth_ok(with,
                  rnl_event_create(with->context,
                                   RNL_EVENT_OPTIONS(.timing = true),
                                   (rnl_event *)&with->items[i]));
        growth_launch(with, with->stream);
        growth_ok(with, rnl_enqueue_event_record(with->stream,
                                                 with->items[i]));
    }
    growth_synchronize(with, with->stream);
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_event_release(with->items[i]));
}

static void launches_and_synchronizes(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        growth_launch(with, with->stream);
        growth_synchronize(with, with->stream);
    }
}

static void queries(growth *with, size_t count)
{
    rnl_event gate = growth_gate(with, with->stream);
    for (size_t i = 0; i < count; i++) {
        growth_launch(with, with->stream);
        rnl_stream_query(with->stream);
    }
    growth_open_gate(with, gate);
    growth_synchronize(with, with->stream);
}

static void launches_in_batches(growth *with, size_t count)
{
    rnl_stream stream = NULL;
    growth_ok(with,
              rnl_stream_create(with->context,
                                RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
                                &stream));
    for (size_t i = 0; i < count; i++)
        growth_launch(with, stream);
    growth_synchronize(with, stream);
    growth_ok(with, rnl_stream_release(stream));
}

static void copy_batch(growth *with, size_t count)
{
    static rnl_copy copies[GROWTH_ITEMS];
    for (size_t i = 0; i < count; i++)
        copies[i] = *RNL_COPY(.to.buffer = with->buffer, .from.buffer =
                              with->buffer, .to.offset = 64, .width = 64);
    growth_ok(with, rnl_enqueue_copy_batch(with->stream, copies, count));
    growth_synchronize(with, with->stream);
}

static void value_batch(growth *with, size_t count)
{
    static rnl_value_op ops[GROWTH_ITEMS];
    for (size_t i = 0; i < count; i++)
        ops[i] = *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 32,
                               .buffer = with->buffer);
    growth_ok(with, rnl_enqueue_values(with->stream, ops, count));
    growth_synchronize(with, with->stream);
}

// --- Many streams ----------------------------------------------------------

static void synchronize_all(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_synchronize(with, with->items[i]);
}

static void launches_on_streams(growth *with, size_t count)
{
    growth_make_streams(with, count);
    for (size_t i = 0; i < count; i++)
        growth_launch(with, with->items[i]);
    synchronize_all(with, count);
    growth_drop_streams(with, count);
}

// Each waits for another launch of the same stream.
static void waits_for_one_stream(growth *with, size_t count)
{
    growth_make_streams(with, count);
    rnl_event gate = growth_gate(with, with->stream);
    for (size_t i = 0; i < count; i++) {
        growth_launch(with, with->stream);
        growth_ok(with,
                  rnl_enqueue_wait_stream(with->items[i], with->stream));
    }
    growth_open_gate(with, gate);
    synchronize_all(with, count);
    growth_drop_streams(with, count);
}

static void waits_for_one_promise(growth *with, size_t count)
{
    growth_make_streams(with, count);
    rnl_event gate = growth_gate(with, with->stream);
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_enqueue_wait_event(with->items[i], gate));
    growth_open_gate(with, gate);
    synchronize_all(with, count);
    growth_synchronize(with, with->stream);
    growth_drop_streams(with, count);
}

static void waits_for_promises(growth *with, size_t count)
{
    growth_make_streams(with, count);
    for (size_t i = 0; i < count; i++)
        with->more[i] = growth_gate(with, with->items[i]);
    for (size_t i = 0; i < count; i++)
        growth_open_gate(with, with->more[i]);
    synchronize_all(with, count);
    growth_drop_streams(with, count);
}

// One stream waits for all, as a join does.
static void waits_for_many_streams(growth *with, size_t count)
{
    growth_make_streams(with, count);
    for (size_t i = 0; i < count; i++) {
        growth_launch(with, with->items[i]);
        growth_ok(with,
                  rnl_enqueue_wait_stream(with->stream, with->items[i]));
    }
    growth_synchronize(with, with->stream);
    growth_drop_streams(with, count);
}

static void waits_in_a_chain(growth *with, size_t count)
{
    growth_make_streams(with, count);
    rnl_event gate = growth_gate(with, with->items[0]);
    for (size_t i = 1; i < count; i++)
        growth_ok(with, rnl_enqueue_wait_stream(with->items[i],
                                                with->items[i - 1]));
    growth_open_gate(with, gate);
    growth_synchronize(with, with->items[count - 1]);
    growth_drop_streams(with, count);
}

// Each waits for a word of its own.
static void value_waits(growth *with, size_t count)
{
    const size_t words = 4096;
    growth_make_streams(with, count);
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_enqueue_wait_value32(with->items[i], with->buffer,
                                                 4 * (i % words), 1,
                                                 RNL_WAIT_EQ));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_enqueue_write_value32(
                            with->stream, with->buffer, 4 * (i % words), 1));
    synchronize_all(with, count);
    growth_ok(with, rnl_fill_and_wait(with->stream, with->buffer, 0, 16384, 0,
                                      1));
    growth_drop_streams(with, count);
}

// --- Captures --------------------------------------------------------------

static rnl_graph end_capture(growth *with)
{
    rnl_graph graph = NULL;
    growth_ok(with, rnl_stream_end_capture(with->stream, &graph));
    return graph;
}

static void captures(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        growth_ok(with, rnl_stream_begin_capture(with->stream, NULL));
        growth_launch(with, with->stream);
        growth_ok(with, rnl_graph_release(end_capture(with)));
    }
}

static void captured_launches(growth *with, size_t count)
{
    growth_ok(with, rnl_stream_begin_capture(with->stream, NULL));
    for (size_t i = 0; i < count; i++)
        growth_launch(with, with->stream);
    growth_ok(with, rnl_graph_release(end_capture(with)));
}

// All from one node, and all joined by one.
static void captured_forks(growth *with, size_t count)
{
    growth_make_streams(with, count);
    growth_ok(with, rnl_stream_begin_capture(with->stream, NULL));
    growth_launch(with, with->stream);
    for (size_t i = 0; i < count; i++) {
        growth_ok(with,
                  rnl_enqueue_wait_stream(with->items[i], with->stream));
        growth_launch(with, with->items[i]);
    }
    for (size_t i = 0; i < count; i++)
        growth_ok(with,
                  rnl_enqueue_wait_stream(with->stream, with->items[i]));
    growth_launch(with, with->stream);
    growth_ok(with, rnl_graph_release(end_capture(with)));
    growth_drop_streams(with, count);
}

static void captured_records(growth *with, size_t count)
{
    growth_ok(with, rnl_stream_begin_capture(with->stream, NULL));
    for (size_t i = 0; i < count; i++) {
        rnl_event event = NULL;
        growth_launch(with, with->stream);
        growth_ok(with, rnl_event_create(with->context, NULL, &event));
        growth_ok(with, rnl_enqueue_event_record(with->stream, event));
        growth_ok(with, rnl_enqueue_wait_event(with->stream, event));
        growth_ok(with, rnl_event_release(event));
    }
    growth_ok(with, rnl_graph_release(end_capture(with)));
}

static void captured_buffers(growth *with, size_t count)
{
    growth_ok(with, rnl_stream_begin_capture(with->stream, NULL));
    for (size_t i = 0; i < count; i++) {
        rnl_buffer buffer = NULL;
        growth_ok(with, rnl_enqueue_buffer_create(with->stream, 4096, NULL,
                                                  &buffer));
        growth_ok(with, rnl_enqueue_buffer_release(with->stream, buffer));
    }
    growth_ok(with, rnl_graph_release(end_capture(with)));
}

static const growth_call calls[] = {
    {"launches", launches, 256, 0},
    {"copies", copies, 256, 0},
    {"fills", fills, 256, 0},
    {"host-functions", host_functions, 256, 0},
    {"value-writes", value_writes, 256, 0},
    {"stream-waits", stream_waits, 256, 0},
    {"event-waits", event_waits, 256, 0},
    {"events-of-time", events_of_time, 128, 0},
    {"launches-and-synchronizes", launches_and_synchronizes, 128, 0},
    {"queries", queries, 256, 0},
    {"launches-in-batches", launches_in_batches, 256, 0},
    {"copy-batch", copy_batch, 256, 0},
    {"value-batch", value_batch, 256, 0},
    {"launches-on-streams", launches_on_streams, 64, 0},
    {"waits-for-one-stream", waits_for_one_stream, 64, 0},
    {"waits-for-one-promise", waits_for_one_promise, 64, 0},
    {"waits-for-promises", waits_for_promises, 64, 0},
    {"waits-for-many-streams", waits_for_many_streams, 64, 0},
    {"waits-in-a-chain", waits_in_a_chain, 64, 0},
    {"value-waits", value_waits, 64, 0},
    {"captures", captures, 64, 0},
    {"captured-launches", captured_launches, 256, 0},
    {"captured-forks", captured_forks, 64, 0},
    {"captured-records", captured_records, 128, 0},
    {"captured-buffers", captured_buffers, 128, 0},
};

const growth_list growth_streams = GROWTH_LIST(calls);
