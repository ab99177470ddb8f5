// Ranks that hang, die, abort, or do something else than the others.
#include "ranks.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const rnl_comm_data *one_int(rnl_buffer buffer)
{
    static rnl_comm_data data;
    data =
        (rnl_comm_data){sizeof data, NULL, 0, buffer, 0, 1, RNL_ELEMENT_INT32};
    return &data;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

// Has `comm` replaced by one with a time limit, and returns the one before.
static rnl_comm begin_tight(uint64_t timeout_ns)
{
    ranks_begin(NULL);
    rnl_comm calm = comm;
    ranks_meet(calm);
    expect_ok(rnl_comm_create(
        context, RNL_COMM_OPTIONS(.timeout_ns = timeout_ns, .label = "tight"),
        &comm));
    return calm;
}

// The last rank does not take part until the others have given up.
RNL_TEST(a_rank_that_hangs_ends_the_others_waits_in_time)
{
    int *ints;
    char words[80];
    rnl_comm calm = begin_tight(SECOND / 5);
    uint64_t start = now_ns();
    rnl_buffer buffer = ranks_ints(1, &ints);
    if (rank != size - 1) {
        expect_ok(rnl_enqueue_all_reduce(stream, comm, one_int(buffer),
                                         RNL_REDUCE_SUM));
        snprintf(words, sizeof words,
                 "all-reduce of rank %d of %d in 'tight': not done within the "
                 "time limit of 0.200 s",
                 rank, size);
        ranks_fails(stream, RNL_ERROR_TIMED_OUT, words);
        assert_true(now_ns() - start < 10 * SECOND / 5);
        rnl_comm_info info = {.struct_size = sizeof info};
        expect_ok(rnl_comm_get_info(comm, &info));
        assert_true(info.aborted);
        expect_refused(rnl_enqueue_all_reduce(stream, comm, one_int(buffer),
                                              RNL_REDUCE_SUM),
                       RNL_ERROR_INVALID_STATE, "aborted");
    }
    ranks_meet(calm);
    expect_ok(rnl_comm_release(calm));
    expect_ok(rnl_buffer_release(buffer));
    rnl_stream_reset_and_wait(stream);
    ranks_end();
}

// Open MPI's launcher ends all ranks when one dies; MPICH's is told not to.
RNL_TEST(a_rank_that_dies_ends_the_others_waits_in_time)
{
    int *ints;
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        test_skip("the launcher of Open MPI ends all ranks");
    rnl_comm calm = begin_tight(SECOND);
    rnl_buffer buffer = ranks_ints(1, &ints);
    expect_ok(
        rnl_enqueue_all_reduce(stream, comm, one_int(buffer), RNL_REDUCE_SUM));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    if (rank == size - 1)
        _exit(0);
    uint64_t start = now_ns();
    expect_ok(
        rnl_enqueue_all_reduce(stream, comm, one_int(buffer), RNL_REDUCE_SUM));
    rnl_status status = rnl_stream_synchronize(stream, RNL_FOREVER);
    // The engine may notice by itself.
    assert_true(status == RNL_ERROR_TIMED_OUT || status == RNL_ERROR_DRIVER);
    assert_non_null(strstr(rnl_last_error()->message, "all-reduce of rank"));
    assert_true(now_ns() - start < 10 * SECOND);
    expect_ok(rnl_comm_release(calm));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// Rank 0's second operation does not meet the first one of the others.
RNL_TEST(a_rank_that_skips_an_operation_gives_no_other_data)
{
    int *ints;
    struct ranks_gate gate = {false};
    rnl_comm calm = begin_tight(SECOND);
    rnl_buffer buffer = ranks_ints(1, &ints);
    *ints = 1;
    if (rank == 0)
        expect_ok(
            rnl_enqueue_host_function(stream, ranks_fail_behind_gate, &gate));
    expect_ok(
        rnl_enqueue_all_reduce(stream, comm, one_int(buffer), RNL_REDUCE_SUM));
    gate.is_open = true;
    if (rank == 0) {
        ranks_fails(stream, RNL_ERROR_LAUNCH_FAILED, "told to fail");
        rnl_stream_reset_and_wait(stream);
        expect_ok(rnl_enqueue_all_reduce(stream, comm, one_int(buffer),
                                         RNL_REDUCE_SUM));
        ranks_fails(stream, RNL_ERROR_INVALID_STATE,
                    "operation 1 of this rank was skipped");
    } else {
        ranks_fails(stream, RNL_ERROR_TIMED_OUT, "not done within");
    }
    ranks_meet(calm);
    expect_ok(rnl_comm_release(calm));
    expect_ok(rnl_buffer_release(buffer));
    rnl_stream_reset_and_wait(stream);
    ranks_end();
}

RNL_TEST(an_abort_ends_what_is_in_flight)
{
    int *ints;
    rnl_comm calm;
    ranks_begin(NULL);
    expect_ok(rnl_comm_create(context, NULL, &calm));
    rnl_buffer buffer = ranks_ints(1, &ints);
    expect_ok(
        rnl_enqueue_receive(stream, comm, one_int(buffer), (rank + 1) % size));
    expect_ok(rnl_comm_abort(comm));
    expect_ok(rnl_comm_abort(comm));
    ranks_fails(stream, RNL_ERROR_CANCELLED, "the communicator was aborted");
    expect_refused(rnl_enqueue_receive(stream, comm, one_int(buffer), 0),
                   RNL_ERROR_INVALID_STATE, "aborted");
    ranks_meet(calm);
    expect_ok(rnl_comm_release(calm));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

// Rank 0 sends two elements: rank 1 has room for fewer, or expects more.
static void send_two_for(size_t expected)
{
    int *ints;
    rnl_comm calm;
    ranks_begin(NULL);
    expect_ok(rnl_comm_create(context, NULL, &calm));
    rnl_buffer buffer = ranks_ints(8, &ints);
    if (rank == 0) {
        expect_ok(rnl_enqueue_send(stream, comm,
                                   RNL_COMM_DATA(.send = buffer, .count = 2,
                                                 .element = RNL_ELEMENT_INT32),
                                   1));
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    }
    if (rank == 1) {
        expect_ok(rnl_enqueue_receive(
            stream, comm,
            RNL_COMM_DATA(.receive = buffer, .count = expected,
                          .element = RNL_ELEMENT_INT32),
            0));
        ranks_fails(stream, RNL_ERROR_ARGUMENT_MISMATCH, "from rank 0");
    }
    ranks_meet(calm);
    expect_ok(rnl_comm_release(calm));
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
}

RNL_TEST(a_message_that_is_too_long_fails_the_receiver)
{
    send_two_for(1);
}

RNL_TEST(a_message_that_is_too_short_fails_the_receiver)
{
    send_two_for(4);
}

// --- Meeting -----------------------------------------------------------------

static const char *folder_file(const char *name)
{
    static char path[300];
    const char *folder = getenv("COMM_TEST_FOLDER");
    assert_non_null(folder);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int world_rank(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_RANK");
    return atoi(text ? text : getenv("PMI_RANK"));
}

static int world_size(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_SIZE");
    return atoi(text ? text : getenv("PMI_SIZE"));
}

// The ranks are those asked for: the other way round than MPI's.
static void expect_order(void)
{
    int *ints;
    assert_int_equal(rank, world_size() - 1 - world_rank());
    assert_int_equal(size, world_size());
    rnl_buffer buffer = ranks_ints((size_t)size, &ints);
    ints[rank] = world_rank();
    expect_ok(
        rnl_enqueue_all_gather(stream, comm,
                               RNL_COMM_DATA(.receive = buffer, .count = 1,
                                             .element = RNL_ELEMENT_INT32)));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    for (int i = 0; i < size; i++)
        assert_int_equal(ints[i], size - 1 - i);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(ranks_meet_by_a_file)
{
    const char *path = folder_file("meet");
    ranks_begin(RNL_COMM_OPTIONS(.rank = world_size() - 1 - world_rank(),
                                 .size = world_size(), .file = path));
    expect_order();
    if (rank == 0)
        assert_int_not_equal(access(path, F_OK), 0);
    ranks_end();
}

// A port that is kept for this process, which may listen there.
static int free_port(void)
{
    int on = 1;
    struct sockaddr_in place = {.sin_family = AF_INET,
                                .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof place;
    int own = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(setsockopt(own, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on),
                     0);
    assert_int_equal(bind(own, (struct sockaddr *)&place, length), 0);
    assert_int_equal(getsockname(own, (struct sockaddr *)&place, &length), 0);
    return ntohs(place.sin_port);
}

RNL_TEST(ranks_meet_by_an_address)
{
    char address[40];
    int *port;
    ranks_begin(NULL);
    rnl_buffer buffer = ranks_ints(1, &port);
    if (rank == 0)
        *port = free_port();
    expect_ok(rnl_enqueue_broadcast(stream, comm, one_int(buffer), 0));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    snprintf(address, sizeof address, "localhost:%d", *port);
    expect_ok(rnl_buffer_release(buffer));
    ranks_end();
    ranks_begin(RNL_COMM_OPTIONS(.rank = world_size() - 1 - world_rank(),
                                 .size = world_size(), .address = address));
    expect_order();
    ranks_end();
}

RNL_TEST(ranks_that_do_not_come_are_named)
{
    rnl_comm other;
    ranks_begin(NULL);
    if (rank == 0) {
        expect_refused(
            rnl_comm_create(context,
                            RNL_COMM_OPTIONS(.size = size,
                                             .file = folder_file("late"),
                                             .timeout_ns = SECOND / 10),
                            &other),
            RNL_ERROR_TIMED_OUT, "waited at");
        assert_non_null(strstr(rnl_last_error()->message, "for ranks 1"));
        expect_refused(
            rnl_comm_create(context,
                            RNL_COMM_OPTIONS(.rank = 1, .size = size,
                                             .address = "localhost:1",
                                             .timeout_ns = SECOND / 10),
                            &other),
            RNL_ERROR_TIMED_OUT, "waited for rank 0 at 'localhost:1'");
    }
    ranks_meet(comm);
    ranks_end();
}
