// NCCL and RCCL, as fakes on the fake drivers with two devices: one process
// with both, and two processes with one each.
#include "nccl_pair.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// --- One process with two devices --------------------------------------------

RNL_TEST(one_process_reduces_over_two_devices)
{
    begin_all(NULL);
    const struct {
        rnl_reduction reduction;
        float result;  // of 10 + 3 and 20 + 3
    } cases[] = {
        {RNL_REDUCE_SUM, 36}, {RNL_REDUCE_PRODUCT, 299}, {RNL_REDUCE_MIN, 13},
        {RNL_REDUCE_MAX, 23}, {RNL_REDUCE_AVERAGE, 18},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fill(0, 10);
        fill(1, 20);
        expect_ok(rnl_comm_group_begin());
        expect_ok(reduce(0, cases[i].reduction));
        expect_ok(reduce(1, cases[i].reduction));
        expect_ok(rnl_comm_group_end());
        assert_true(read_at(0, 3) == cases[i].result);
        assert_true(read_at(1, 3) == cases[i].result);
    }
    rnl_comm_info info = {.struct_size = sizeof info};
    expect_ok(rnl_comm_get_info(comms[1], &info));
    assert_int_equal(info.rank, 1);
    assert_int_equal(info.size, 2);
    assert_string_equal(info.engine_version, "2.21.5");
    end_all();
}

RNL_TEST(one_process_shares_parts_over_two_devices)
{
    begin_all(NULL);
    rnl_comm_data part[2], whole[2];
    for (int i = 0; i < 2; i++) {
        fill(i, 0);
        whole[i] = data_of(i);
        part[i] = (rnl_comm_data){sizeof(rnl_comm_data),
                                  buffers[i],
                                  0,
                                  buffers[i],
                                  (size_t)i * COUNT * sizeof(float),
                                  COUNT,
                                  RNL_ELEMENT_FLOAT32};
    }
    expect_ok(rnl_comm_group_begin());
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_enqueue_reduce_scatter(streams[i], comms[i], &part[i],
                                             RNL_REDUCE_SUM));
    expect_ok(rnl_comm_group_end());
    expect_ok(rnl_comm_group_begin());
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_enqueue_all_gather(streams[i], comms[i], &whole[i]));
    expect_ok(rnl_comm_group_end());
    for (int i = 0; i < 2; i++)
        for (int at = 0; at < 2 * COUNT; at++)
            assert_true(read_at(i, at) == 2 * (float)at);
    fill(1, 7);
    expect_ok(rnl_comm_group_begin());
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_enqueue_broadcast(streams[i], comms[i], &whole[i], 1));
    expect_ok(rnl_comm_group_end());
    assert_true(read_at(0, 5) == 12);
    end_all();
}

RNL_TEST(devices_send_to_each_other_in_a_group)
{
    begin_all(NULL);
    fill(0, 100);
    fill(1, 200);
    expect_ok(rnl_comm_group_begin());
    for (int i = 0; i < 2; i++) {
        expect_ok(
            rnl_enqueue_send(streams[i], comms[i],
                             RNL_COMM_DATA(.send = buffers[i], .count = 1,
                                           .element = RNL_ELEMENT_FLOAT32),
                             1 - i));
        expect_ok(rnl_enqueue_receive(
            streams[i], comms[i],
            RNL_COMM_DATA(.receive = buffers[i], .receive_offset = 8,
                          .count = 1, .element = RNL_ELEMENT_FLOAT32),
            1 - i));
    }
    expect_ok(rnl_comm_group_end());
    assert_true(read_at(0, 2) == 200);
    assert_true(read_at(1, 2) == 100);
    end_all();
}

RNL_TEST(operations_of_gpus_are_refused_in_a_capture)
{
    rnl_graph graph;
    begin_all(NULL);
    expect_ok(rnl_stream_begin_capture(streams[0], NULL));
    expect_refused(reduce(0, RNL_REDUCE_SUM), RNL_ERROR_CAPTURE_UNSUPPORTED,
                   "a capture of Runnel does not see");
    expect_ok(rnl_stream_end_capture(streams[0], &graph));
    expect_ok(rnl_graph_release(graph));
    end_all();
}

RNL_TEST(integers_of_16_bits_are_moved_and_not_reduced)
{
    begin_all(NULL);
    rnl_comm_data data = data_of(0);
    data.element = RNL_ELEMENT_INT16;
    expect_refused(
        rnl_enqueue_all_reduce(streams[0], comms[0], &data, RNL_REDUCE_SUM),
        RNL_ERROR_UNSUPPORTED, "no integers of 16 bits");
    fill(0, 3);
    fill(1, 8);
    expect_ok(rnl_comm_group_begin());
    for (int i = 0; i < 2; i++) {
        data.receive = buffers[i];
        data.count = 2;  // a float
        expect_ok(rnl_enqueue_broadcast(streams[i], comms[i], &data, 1));
    }
    expect_ok(rnl_comm_group_end());
    assert_true(read_at(0, 0) == 8);
    assert_true(read_at(0, 1) == 4);
    end_all();
}

// A buffer of COUNT threes on device 0.
static rnl_buffer make_threes(void)
{
    rnl_buffer made;
    expect_ok(
        rnl_buffer_create(contexts[0], COUNT * sizeof(float), NULL, &made));
    expect_ok(rnl_fill_and_wait(streams[0], made, 0, RNL_WHOLE, 0x40400000, 4));
    return made;
}

// Releases a buffer that an operation needs, and writes to the next buffer of
// its size, which would be in the same place.
static void release_and_reuse(rnl_buffer gone)
{
    rnl_stream other;
    rnl_buffer next;
    expect_ok(rnl_buffer_release(gone));
    expect_ok(
        rnl_buffer_create(contexts[0], COUNT * sizeof(float), NULL, &next));
    expect_ok(rnl_stream_create(contexts[0], NULL, &other));
    expect_ok(rnl_fill_and_wait(other, next, 0, RNL_WHOLE, 0, 4));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_buffer_release(next));
}

static rnl_status reduce_from(rnl_buffer send)
{
    return rnl_enqueue_all_reduce(
        streams[0], comms[0],
        RNL_COMM_DATA(.send = send, .receive = buffers[0], .count = COUNT,
                      .element = RNL_ELEMENT_FLOAT32),
        RNL_REDUCE_SUM);
}

RNL_TEST(a_buffer_lives_until_its_operation_is_done)
{
    begin_all(NULL);
    rnl_buffer gone = make_threes();
    fill(1, 0);
    expect_ok(reduce_from(gone));
    release_and_reuse(gone);
    expect_ok(reduce(1, RNL_REDUCE_SUM));
    assert_true(read_at(0, 4) == 7);
    end_all();
}

RNL_TEST(a_buffer_lives_until_its_group_is_done)
{
    begin_all(NULL);
    rnl_buffer gone = make_threes();
    fill(1, 0);
    expect_ok(rnl_comm_group_begin());
    expect_ok(reduce_from(gone));
    release_and_reuse(gone);
    expect_ok(reduce(1, RNL_REDUCE_SUM));
    expect_ok(rnl_comm_group_end());
    assert_true(read_at(0, 4) == 7);
    end_all();
}

RNL_TEST(offsets_between_elements_are_refused)
{
    begin_all(NULL);
    rnl_comm_data data = data_of(0);
    data.receive_offset = 2;
    expect_refused(
        rnl_enqueue_all_reduce(streams[0], comms[0], &data, RNL_REDUCE_SUM),
        RNL_ERROR_INVALID_ARGUMENT, "the offset of 'receive'");
    data = (rnl_comm_data){sizeof data, buffers[0], 6, NULL, 0, 1,
                           RNL_ELEMENT_FLOAT32};
    expect_refused(rnl_enqueue_send(streams[0], comms[0], &data, 1),
                   RNL_ERROR_INVALID_ARGUMENT, "the offset of 'send'");
    end_all();
}

// --- Failures ----------------------------------------------------------------

RNL_TEST(an_operation_that_is_late_fails_its_stream)
{
    begin_all(RNL_COMM_OPTIONS(.timeout_ns = SECOND / 5));
    expect_ok(reduce(0, RNL_REDUCE_SUM));  // rank 1 does not take part
    expect_failure(0, RNL_ERROR_TIMED_OUT,
                   "all-reduce of rank 0 of 2: not done within the time limit");
    expect_refused(reduce(0, RNL_REDUCE_SUM), RNL_ERROR_INVALID_STATE,
                   "aborted");
    end_all();
}

RNL_TEST(an_abort_ends_an_operation_of_a_gpu)
{
    begin_all(NULL);
    expect_ok(reduce(1, RNL_REDUCE_SUM));
    expect_ok(rnl_comm_abort(comms[1]));
    expect_failure(1, RNL_ERROR_CANCELLED,
                   "all-reduce of rank 1 of 2: the communicator was aborted");
    end_all();
}

// Ends communicator 0 between the calls of a group.
static void end_in_a_group(rnl_status end(rnl_comm))
{
    begin_all(NULL);
    expect_ok(rnl_comm_group_begin());
    expect_ok(reduce(0, RNL_REDUCE_SUM));
    expect_ok(reduce(1, RNL_REDUCE_SUM));
    expect_ok(end(comms[0]));
    expect_refused(rnl_comm_group_end(), RNL_ERROR_INVALID_STATE,
                   "all-reduce of rank 0 of 2: the communicator was aborted "
                   "or released");
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
    expect_comms(0);
}

RNL_TEST(an_abort_in_a_group_refuses_the_group)
{
    end_in_a_group(rnl_comm_abort);
    end_all();
}

RNL_TEST(a_release_in_a_group_refuses_the_group)
{
    end_in_a_group(rnl_comm_release);
    comms[0] = NULL;
    end_all();
}

// The fake's calls for a group are done after some polls of each communicator,
// and a call before that is a misuse.
RNL_TEST(each_communicator_of_a_group_is_waited_for)
{
    begin_all(NULL);
    for (int round = 0; round < 3; round++) {
        expect_ok(rnl_comm_group_begin());
        expect_ok(reduce(1, RNL_REDUCE_SUM));
        expect_ok(reduce(0, RNL_REDUCE_SUM));
        expect_ok(rnl_comm_group_end());
        assert_int_equal(control->misuses, 0);
    }
    end_all();
}

static pthread_t aborter;

static void *abort_first(void *unused)
{
    expect_ok(rnl_comm_abort(comms[0]));
    return unused;
}

// Gives the thread some time for the abort, which it must not use.
static void begin_abort(void)
{
    rnl_comm_info info = {.struct_size = sizeof info};
    assert_int_equal(pthread_create(&aborter, NULL, abort_first, NULL), 0);
    while (!info.aborted)
        expect_ok(rnl_comm_get_info(comms[0], &info));
    for (int i = 0; i < 50 && control->comms == 2; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

RNL_TEST(an_abort_waits_for_the_calls_of_a_group)
{
    begin_all(NULL);
    control->in_group = begin_abort;
    expect_ok(rnl_comm_group_begin());
    expect_ok(reduce(1, RNL_REDUCE_SUM));
    expect_ok(reduce(0, RNL_REDUCE_SUM));
    expect_refused(rnl_comm_group_end(), RNL_ERROR_INVALID_STATE,
                   "the communicator was aborted");
    pthread_join(aborter, NULL);
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
    end_all();
}

RNL_TEST(an_error_that_the_engine_tells_later_fails_the_stream)
{
    begin_all(NULL);
    expect_ok(reduce(0, RNL_REDUCE_SUM));
    control->async_error = 6;  // ncclRemoteError
    expect_failure(0, RNL_ERROR_DRIVER, "the fake was told to fail (6)");
    control->async_error = 0;
    end_all();
}

static rnl_status scenario(void)
{
    rnl_status status = rnl_comm_create_all(contexts, 2, NULL, comms);
    if (status != RNL_OK)
        return status;
    expect_ok(rnl_comm_group_begin());
    expect_ok(reduce(0, RNL_REDUCE_SUM));
    expect_ok(reduce(1, RNL_REDUCE_SUM));
    status = rnl_comm_group_end();
    for (int i = 0; i < 2; i++) {
        rnl_status later = rnl_stream_synchronize(streams[i], RNL_FOREVER);
        status = status ? status : later;
        if (later != RNL_OK)
            rnl_stream_reset_and_wait(streams[i]);
        expect_ok(rnl_comm_release(comms[i]));
        comms[i] = NULL;
    }
    return status;
}

// Fails each call of a function of the engine in turn.
static void sweep(const char *name, unsigned long least)
{
    snprintf(control->fail_name, sizeof control->fail_name, "%s", name);
    control->calls = 0;
    expect_ok(scenario());
    expect_comms(0);
    unsigned long calls = control->calls;
    unsigned failures = 0;
    for (unsigned long at = 1; at <= calls; at++) {
        control->calls = 0;
        control->fail_at = at;
        control->fail_code = 3;  // ncclInternalError
        failures += scenario() != RNL_OK;
        control->fail_at = 0;
        expect_comms(0);
        assert_int_equal(control->misuses, 0);
    }
    if (failures < least)
        fail_msg("%u of %lu calls of %s failed the scenario", failures, calls,
                 name);
}

RNL_TEST(every_call_of_the_engine_may_fail)
{
    find_control();
    open_device(0);
    open_device(1);
    sweep("ncclGetUniqueId", 1);
    sweep("ncclCommInitRankConfig", 2);
    sweep("ncclCommGetAsyncError", 4);  // of creation and group
    sweep("ncclCommCount", 4);
    sweep("ncclGroupStart", 2);
    sweep("ncclGroupEnd", 2);
    sweep("ncclAllReduce", 2);
    sweep("ncclCommDestroy", 0);
    expect_ok(scenario());
    end_all();
}

// --- Two processes -----------------------------------------------------------

// Runs rank 1 in a child, which `body` does after the communicator is made.
static pid_t begin_pair(rnl_comm_options options, void (*body)(void))
{
    pid_t child = test_fork();
    int index = child == 0;
    options.struct_size = sizeof options;
    options.rank = index;
    options.size = 2;
    find_control();
    open_device(index);
    expect_ok(rnl_comm_create(contexts[index], &options, &comms[index]));
    if (child == 0) {
        body();
        test_exit(0);
    }
    return child;
}

static void reduce_once(void)
{
    fill(1, 5);
    expect_ok(reduce(1, RNL_REDUCE_SUM));
    assert_true(read_at(1, 0) == 6);
    close_device(1);
}

static void pair_reduces(rnl_comm_options options)
{
    pid_t child = begin_pair(options, reduce_once);
    fill(0, 1);
    expect_ok(reduce(0, RNL_REDUCE_SUM));
    assert_true(read_at(0, 0) == 6);
    assert_int_equal(test_wait(child), 0);
    close_device(0);
    expect_comms(0);
}

static const char *temporary(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/runnel-comm-%d", (int)getpid());
    return path;
}

RNL_TEST(two_processes_meet_by_a_file)
{
    pair_reduces((rnl_comm_options){.file = temporary()});
}

static void leave(void)
{
    test_exit(0);
}

RNL_TEST(a_process_that_dies_ends_the_others_waits_in_time)
{
    pid_t child = begin_pair(
        (rnl_comm_options){.file = temporary(), .timeout_ns = 2 * SECOND},
        leave);
    assert_int_equal(test_wait(child), 0);
    uint64_t before = now_ns();
    expect_ok(reduce(0, RNL_REDUCE_SUM));
    expect_failure(0, RNL_ERROR_TIMED_OUT, "some rank is gone");
    assert_true(now_ns() - before < 20 * SECOND);
    close_device(0);
}

// --- The engine --------------------------------------------------------------

static void expect_no_engine(const char *path, rnl_status status,
                             const char *words)
{
    const char *variable =
        strcmp(api, "hip") == 0 ? "RUNNEL_RCCL" : "RUNNEL_NCCL";
    setenv(variable, path, 1);
    expect_refused(rnl_comm_create_all(contexts, 2, NULL, comms), status,
                   words);
}

RNL_TEST(other_libraries_do_not_see_the_engine)
{
    begin_all(NULL);
    assert_null(dlsym(RTLD_DEFAULT, "ncclCommAbort"));
    end_all();
}

RNL_TEST(an_engine_that_is_missing_or_too_old_is_refused)
{
    char path[512];
    find_control();
    snprintf(path, sizeof path, "%s", library());
    open_device(0);
    open_device(1);
    expect_no_engine("off", RNL_ERROR_NOT_FOUND, "switched off");
    expect_no_engine("/nowhere/libnccl.so", RNL_ERROR_NOT_FOUND,
                     "/nowhere/libnccl.so");
    expect_no_engine("libm.so.6", RNL_ERROR_UNSUPPORTED, "has no nccl");
    setenv("FAKE_NCCL_VERSION", "21806", 1);
    expect_no_engine(path, RNL_ERROR_UNSUPPORTED,
                     "2.18.6 is too old: 2.19 or later is needed");
    end_all();
}
