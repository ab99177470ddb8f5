// Operations of ranks that MPI started, with their results.
#include "ranks.h"

#include <dlfcn.h>
#include <string.h>

static rnl_status all_reduce(rnl_buffer send, rnl_buffer receive, size_t count,
                             rnl_reduction reduction)
{
    return rnl_enqueue_all_reduce(
        stream, comm,
        RNL_COMM_DATA(.send = send, .receive = receive, .count = count,
                      .element = RNL_ELEMENT_INT32),
        reduction);
}

// The reduction of rank + 1 over all ranks.
static int reduced(rnl_reduction reduction)
{
    int value = 1;
    for (int i = 2; i <= size; i++)
        switch (reduction) {
        case RNL_REDUCE_SUM:
            value += i;
            break;
        case RNL_REDUCE_PRODUCT:
            value *= i;
            break;
        case RNL_REDUCE_MAX:
            value = i;
            break;
        default:
            break;
        }
    return value;
}

// Small and large messages, in place and from another buffer.
static void reduce_all(void)
{
    const size_t counts[] = {1, 1000, 100000};
    int *from, *to;
    rnl_buffer send = ranks_ints(100000, &from);
    rnl_buffer receive = ranks_ints(100000, &to);
    for (int reduction = RNL_REDUCE_SUM; reduction <= RNL_REDUCE_MAX;
         reduction++)
        for (size_t c = 0; c < 9; c++) {
            size_t count = counts[c / 3];
            // NULL stands for the same buffer.
            rnl_buffer sides[] = {send, NULL, receive};
            for (size_t i = 0; i < count; i++)
                from[i] = to[i] = rank + 1;
            expect_ok(all_reduce(sides[c % 3], receive, count,
                                 (rnl_reduction)reduction));
            expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
            for (size_t i = 0; i < count; i++)
                assert_int_equal(to[i], reduced((rnl_reduction)reduction));
        }
    expect_ok(rnl_buffer_release(send));
    expect_ok(rnl_buffer_release(receive));
}

RNL_TEST(all_reduce_combines_the_elements_of_all_ranks)
{
    ranks_begin(NULL);
    reduce_all();
    ranks_end();
}

RNL_TEST(reductions_without_time_limit_give_the_same)
{
    ranks_begin(RNL_COMM_OPTIONS(.timeout_ns = RNL_FOREVER));
    reduce_all();
    ranks_end();
}

RNL_TEST(broadcast_gives_all_ranks_the_elements_of_the_root)
{
    int *ints;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(10, &ints);
    for (int root = 0; root < size; root++) {
        ints[3] = 100 * rank;
        expect_ok(rnl_enqueue_broadcast(
            stream, comm,
            RNL_COMM_DATA(.receive = buffer, .receive_offset = 3 * sizeof(int),
                          .count = 1, .element = RNL_ELEMENT_INT32),
            root));
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        assert_int_equal(ints[3], 100 * root);
    }
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

RNL_TEST(reduce_scatter_and_all_gather_share_parts)
{
    enum { COUNT = 5 };
    int *whole, *part;
    ranks_begin(NULL);
    rnl_buffer all = ranks_ints((size_t)size * COUNT, &whole);
    rnl_buffer own = ranks_ints(COUNT, &part);
    const rnl_comm_data scatter = {sizeof scatter,   all, 0, own, 0, COUNT,
                                   RNL_ELEMENT_INT32};
    const rnl_comm_data gather = {sizeof gather,    own, 0, all, 0, COUNT,
                                  RNL_ELEMENT_INT32};
    for (int i = 0; i < size * COUNT; i++)
        whole[i] = i;
    expect_ok(
        rnl_enqueue_reduce_scatter(stream, comm, &scatter, RNL_REDUCE_SUM));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(part[i], size * (rank * COUNT + i));
    expect_ok(rnl_enqueue_all_gather(stream, comm, &gather));
    // In place, once more, by NULL and by address.
    rnl_comm_data again = {sizeof again,     NULL, 0, all, 0, COUNT,
                           RNL_ELEMENT_INT32};
    expect_ok(rnl_enqueue_all_gather(stream, comm, &again));
    again.send = all;
    again.send_offset = (size_t)rank * COUNT * sizeof(int);
    expect_ok(rnl_enqueue_all_gather(stream, comm, &again));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    for (int i = 0; i < size * COUNT; i++)
        assert_int_equal(whole[i], size * i);
    expect_ok(rnl_buffer_release(all));
    expect_ok(rnl_buffer_release(own));
    ranks_end();
}

// Each rank sends to the next one before it receives; large messages, which an
// engine does not keep meanwhile.
static void pass_round(int times)
{
    enum { COUNT = 1 << 20 };
    int *out, *in;
    rnl_buffer send = ranks_ints(COUNT, &out), receive = ranks_ints(COUNT, &in);
    for (int i = 0; i < times; i++) {
        for (int at = 0; at < COUNT; at++)
            out[at] = rank * COUNT + at + i;
        expect_ok(rnl_comm_group_begin());
        expect_ok(rnl_enqueue_send(stream, comm,
                                   RNL_COMM_DATA(.send = send, .count = COUNT,
                                                 .element = RNL_ELEMENT_INT32),
                                   (rank + 1) % size));
        expect_ok(rnl_enqueue_receive(
            stream, comm,
            RNL_COMM_DATA(.receive = receive, .count = COUNT,
                          .element = RNL_ELEMENT_INT32),
            (rank + size - 1) % size));
        expect_ok(rnl_comm_group_end());
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        int from = (rank + size - 1) % size;
        for (int at = 0; at < COUNT; at++)
            assert_int_equal(in[at], from * COUNT + at + i);
    }
    expect_ok(rnl_buffer_release(send));
    expect_ok(rnl_buffer_release(receive));
}

RNL_TEST(a_group_sends_and_receives_at_once)
{
    ranks_begin(NULL);
    pass_round(3);
    ranks_end();
}

RNL_TEST(operations_are_captured_and_replayed)
{
    int *ints, *sum;
    rnl_graph graph;
    rnl_graph_exec exec;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(4, &ints), sums = ranks_ints(4, &sum);
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, RNL_WHOLE,
                               (uint64_t)(rank + 1), sizeof(int)));
    expect_ok(all_reduce(NULL, buffer, 4, RNL_REDUCE_SUM));
    expect_ok(rnl_comm_group_begin());
    expect_ok(all_reduce(buffer, sums, 3, RNL_REDUCE_SUM));
    expect_ok(rnl_enqueue_broadcast(
        stream, comm,
        RNL_COMM_DATA(.receive = sums, .receive_offset = 3 * sizeof(int),
                      .count = 1, .element = RNL_ELEMENT_INT32),
        size - 1));
    expect_ok(rnl_comm_group_end());
    expect_ok(rnl_stream_end_capture(stream, &graph));
    assert_int_equal(ints[0], 0);
    expect_ok(rnl_graph_instantiate(graph, &exec));
    // The graph keeps the communicator.
    expect_ok(rnl_comm_release(comm));
    comm = NULL;
    for (int i = 0; i < 3; i++) {
        sum[0] = sum[2] = 0;
        sum[3] = 10 * rank + i;
        expect_ok(rnl_enqueue_graph(stream, exec));
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        assert_int_equal(ints[3], reduced(RNL_REDUCE_SUM));
        assert_int_equal(sum[0], size * reduced(RNL_REDUCE_SUM));
        assert_int_equal(sum[2], size * reduced(RNL_REDUCE_SUM));
        assert_int_equal(sum[3], 10 * (size - 1) + i);
    }
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(sums));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// Two groups of one communicator, under way at once. The order of their
// messages is any, so a message may come in the other group.
RNL_TEST(captured_groups_are_launched_on_two_streams)
{
    enum { GROUPS = 2, ROUNDS = 20, COUNT = 1 << 14 };
    int *ints[2 * GROUPS];
    rnl_buffer buffers[2 * GROUPS];
    rnl_stream streams[GROUPS];
    rnl_graph graph;
    rnl_graph_exec execs[GROUPS];
    ranks_begin(NULL);
    for (int i = 0; i < 2 * GROUPS; i++)
        buffers[i] = ranks_ints(COUNT, &ints[i]);
    for (int i = 0; i < GROUPS; i++) {
        expect_ok(rnl_stream_create(context, NULL, &streams[i]));
        expect_ok(rnl_stream_begin_capture(stream, NULL));
        expect_ok(rnl_comm_group_begin());
        expect_ok(rnl_enqueue_send(stream, comm,
                                   RNL_COMM_DATA(.send = buffers[2 * i],
                                                 .count = COUNT,
                                                 .element = RNL_ELEMENT_INT32),
                                   (rank + 1) % size));
        expect_ok(rnl_enqueue_receive(
            stream, comm,
            RNL_COMM_DATA(.receive = buffers[2 * i + 1], .count = COUNT,
                          .element = RNL_ELEMENT_INT32),
            (rank + size - 1) % size));
        expect_ok(rnl_comm_group_end());
        expect_ok(rnl_stream_end_capture(stream, &graph));
        expect_ok(rnl_graph_instantiate(graph, &execs[i]));
        expect_ok(rnl_graph_release(graph));
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < GROUPS; i++)
            ints[2 * i][COUNT - 1] = 1000 * i + 10 * round + rank;
        for (int i = 0; i < GROUPS; i++)
            expect_ok(rnl_enqueue_graph(streams[i], execs[i]));
        for (int i = 0; i < GROUPS; i++)
            expect_ok(rnl_stream_flush(streams[i]));
        for (int i = 0; i < GROUPS; i++)
            expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
        int first = 10 * round + (rank + size - 1) % size;
        int one = ints[1][COUNT - 1], other = ints[3][COUNT - 1];
        assert_true(one == first || one == first + 1000);
        assert_int_equal(one + other, 2 * first + 1000);
    }
    for (int i = 0; i < GROUPS; i++) {
        expect_ok(rnl_graph_exec_release(execs[i]));
        expect_ok(rnl_stream_release(streams[i]));
    }
    for (int i = 0; i < 2 * GROUPS; i++)
        expect_ok(rnl_buffer_release(buffers[i]));
    ranks_end();
}

// Without time limit; a collective operation in a group has the peer of one
// that is in none.
RNL_TEST(a_group_meets_operations_outside_of_groups)
{
    int *ints;
    ranks_begin(RNL_COMM_OPTIONS(.timeout_ns = RNL_FOREVER));
    rnl_buffer buffer = ranks_ints(2, &ints);
    const rnl_comm_data second = {
        sizeof second, buffer, sizeof(int), NULL, 0, 1, RNL_ELEMENT_INT32};
    ints[0] = ints[1] = rank + 1;
    if (rank == 0)
        expect_ok(rnl_comm_group_begin());
    expect_ok(all_reduce(NULL, buffer, 1, RNL_REDUCE_SUM));
    if (rank == 0)
        expect_ok(rnl_enqueue_send(stream, comm, &second, 1));
    if (rank == 1)
        expect_ok(rnl_enqueue_receive(
            stream, comm,
            RNL_COMM_DATA(.receive = buffer, .receive_offset = sizeof(int),
                          .count = 1, .element = RNL_ELEMENT_INT32),
            0));
    if (rank == 0)
        expect_ok(rnl_comm_group_end());
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(ints[0], reduced(RNL_REDUCE_SUM));
    assert_int_equal(ints[1], rank == 1 ? 1 : rank + 1);
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// On many streams, in the order of the calls.
RNL_TEST(a_communicator_keeps_the_order_of_calls_over_streams)
{
    enum { STREAMS = 5, ROUNDS = 40 };
    int *ints;
    rnl_stream streams[STREAMS];
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(ROUNDS, &ints);
    for (int i = 0; i < STREAMS; i++)
        expect_ok(rnl_stream_create(context, NULL, &streams[i]));
    for (int i = 0; i < ROUNDS; i++)
        ints[i] = i;
    for (int i = 0; i < ROUNDS; i++)
        expect_ok(rnl_enqueue_all_reduce(
            streams[i % STREAMS], comm,
            RNL_COMM_DATA(.receive = buffer,
                          .receive_offset = (size_t)i * sizeof(int), .count = 1,
                          .element = RNL_ELEMENT_INT32),
            RNL_REDUCE_SUM));
    expect_ok(rnl_context_synchronize(context, RNL_FOREVER));
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(ints[i], size * i);
    for (int i = 0; i < STREAMS; i++)
        expect_ok(rnl_stream_release(streams[i]));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// Work of other communicators goes on meanwhile: a stand-in for each thread.
RNL_TEST(operations_that_wait_keep_no_thread_of_the_pool)
{
    enum { COMMS = 6 };
    int *ints;
    rnl_comm comms[COMMS];
    rnl_stream streams[COMMS];
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(COMMS, &ints);
    for (int i = 0; i < COMMS; i++) {
        expect_ok(rnl_comm_create(context, NULL, &comms[i]));
        expect_ok(rnl_stream_create(context, NULL, &streams[i]));
    }
    // Even ranks begin at one end and odd ranks at the other one.
    for (int i = 0; i < COMMS; i++) {
        int at = rank % 2 ? COMMS - 1 - i : i;
        expect_ok(rnl_enqueue_all_reduce(
            streams[at], comms[at],
            RNL_COMM_DATA(.receive = buffer,
                          .receive_offset = (size_t)at * sizeof(int),
                          .count = 1, .element = RNL_ELEMENT_INT32),
            RNL_REDUCE_SUM));
    }
    for (int i = 0; i < COMMS; i++) {
        expect_ok(rnl_stream_synchronize(streams[i], 20 * SECOND));
        expect_ok(rnl_comm_release(comms[i]));
        expect_ok(rnl_stream_release(streams[i]));
    }
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

RNL_TEST(numbers_of_16_bits_are_moved_and_not_reduced)
{
    int *ints;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &ints);
    ints[0] = rank == 0 ? 0x1234abcd : 0;
    const rnl_comm_data halves = {sizeof halves,       NULL, 0, buffer, 0, 2,
                                  RNL_ELEMENT_BFLOAT16};
    expect_ok(rnl_enqueue_broadcast(stream, comm, &halves, 0));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(ints[0], 0x1234abcd);
    expect_refused(
        rnl_enqueue_all_reduce(stream, comm, &halves, RNL_REDUCE_SUM),
        RNL_ERROR_UNSUPPORTED, "MPI does not reduce");
    expect_refused(all_reduce(NULL, buffer, 1, RNL_REDUCE_AVERAGE),
                   RNL_ERROR_UNSUPPORTED, "average");
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

RNL_TEST(a_communicator_of_the_program_is_duplicated)
{
    rnl_comm own;
    rnl_comm_info info = {.struct_size = sizeof info};
    ranks_begin(NULL);
    // MPI_COMM_WORLD, as either family has it.
    int number = 0x44000000;
    void *pointer = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
    expect_ok(rnl_comm_create(
        context,
        RNL_COMM_OPTIONS(.mpi_comm = pointer ? (const void *)&pointer
                                             : (const void *)&number),
        &own));
    expect_ok(rnl_comm_get_info(own, &info));
    assert_int_equal(info.rank, rank);
    assert_int_equal(info.size, size);
    ranks_meet(own);
    expect_ok(rnl_comm_release(own));
    ranks_end();
}
