// The engine MPI when its calls fail or are never done, on a fake of one rank.
#include "fake_mpi.h"
#include "ranks.h"

#include <string.h>

static int *ints;
static rnl_buffer buffer;

static void open_device(void)
{
    expect_ok(rnl_context_open("cpu", 0, NULL, &context));
    expect_ok(rnl_stream_create(context, NULL, &stream));
    buffer = ranks_ints(4, &ints);
}

static void close_device(void)
{
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
}

// Waits for the communicator's end, which is behind its last operation.
static rnl_status let_go(void)
{
    rnl_status status = rnl_stream_synchronize(stream, RNL_FOREVER);
    if (status != RNL_OK)
        rnl_stream_reset_and_wait(stream);
    expect_ok(rnl_comm_release(comm));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    return status;
}

static rnl_status enqueue_all(void)
{
    const rnl_comm_data in = {sizeof in,        NULL, 0, buffer, 0, 2,
                              RNL_ELEMENT_INT32};
    const rnl_comm_data both = {sizeof both, buffer,           0, buffer, 8,
                                2,           RNL_ELEMENT_INT32};
    const rnl_comm_data out = {sizeof out, buffer,           0, NULL, 0,
                               2,          RNL_ELEMENT_INT32};
    rnl_status status;
    expect_ok(rnl_comm_group_begin());
    if ((status = rnl_enqueue_send(stream, comm, &out, 0)) ||
        (status = rnl_enqueue_receive(stream, comm, &in, 0))) {
        rnl_comm_group_end();
        return status;
    }
    if ((status = rnl_comm_group_end()) ||
        (status = rnl_enqueue_all_reduce(stream, comm, &in, RNL_REDUCE_SUM)) ||
        (status = rnl_enqueue_broadcast(stream, comm, &in, 0)) ||
        (status =
             rnl_enqueue_reduce_scatter(stream, comm, &both, RNL_REDUCE_MAX)))
        return status;
    return rnl_enqueue_all_gather(stream, comm, &both);
}

static rnl_status scenario(const rnl_comm_options *options)
{
    rnl_status status = rnl_comm_create(context, options, &comm);
    if (status != RNL_OK)
        return status;
    status = enqueue_all();
    rnl_status later = let_go();
    return status ? status : later;
}

// Fails each call of MPI in turn: the scenario fails, or can do without it.
static void sweep(const rnl_comm_options *options)
{
    open_device();
    unsigned failures = 0;
    bool passed = false;
    for (long at = 1; !passed; at++) {
        fake_mpi.calls = 0;
        fake_mpi.fail_at = at;
        fake_mpi.comms = fake_mpi.groups = 0;
        rnl_status status = scenario(options);
        passed = fake_mpi.calls < at;
        assert_true(status == RNL_OK || status == RNL_ERROR_DRIVER ||
                    status == RNL_ERROR_INVALID_STATE ||
                    status == RNL_ERROR_ARGUMENT_MISMATCH);
        if (status != RNL_OK)
            assert_true(strlen(rnl_last_error()->message) > 0);
        failures += status != RNL_OK;
        assert_int_equal(fake_mpi.groups, 0);
    }
    fake_mpi.fail_at = 0;
    assert_true(failures >= 8);
    fake_mpi.comms = 0;
    expect_ok(scenario(options));
    assert_int_equal(fake_mpi.comms, 0);
    close_device();
}

RNL_TEST(every_call_of_mpi_may_fail)
{
    sweep(NULL);
}

RNL_TEST(every_call_of_mpi_without_time_limit_may_fail)
{
    sweep(RNL_COMM_OPTIONS(.timeout_ns = RNL_FOREVER));
}

RNL_TEST(every_call_of_mpi_may_fail_for_ranks_that_meet)
{
    sweep(RNL_COMM_OPTIONS(.size = 1, .file = "alone"));
}

RNL_TEST(the_failure_of_a_call_has_the_words_of_mpi)
{
    const rnl_comm_data in = {sizeof in,        NULL, 0, NULL, 0, 1,
                              RNL_ELEMENT_INT32};
    rnl_comm_data data = in;
    open_device();
    data.receive = buffer;
    expect_ok(rnl_comm_create(context, NULL, &comm));
    fake_mpi.calls = 0;
    fake_mpi.fail_at = 1;
    expect_ok(rnl_enqueue_all_reduce(stream, comm, &data, RNL_REDUCE_SUM));
    ranks_fails(stream, RNL_ERROR_DRIVER,
                "all-reduce of rank 0 of 1: the fake was told to fail (12)");
    fake_mpi.fail_at = 0;
    rnl_stream_reset_and_wait(stream);
    expect_ok(rnl_comm_release(comm));
    close_device();
}

// The engine may still write to the buffers of an operation that was ended.
RNL_TEST(buffers_of_an_operation_that_was_ended_stay)
{
    open_device();
    expect_ok(rnl_comm_create(
        context, RNL_COMM_OPTIONS(.timeout_ns = SECOND / 50), &comm));
    fake_mpi.hangs = 1;
    expect_ok(
        rnl_enqueue_all_reduce(stream, comm,
                               RNL_COMM_DATA(.receive = buffer, .count = 1,
                                             .element = RNL_ELEMENT_INT32),
                               RNL_REDUCE_SUM));
    ranks_fails(stream, RNL_ERROR_TIMED_OUT, "not done within");
    expect_ok(rnl_comm_release(comm));
    close_device();
    size_t held = 0;
    expect_ok(rnl_trim(&held));
    assert_true(held > 0);
    ints[0] = 1;  // as the engine may do
}
