// Behaviour that is easily lost: cycles of waits, failures that a reset must
// not wash away, what a thread may do while it waits, handles that die in use.
#include "suite.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static const rnl_status launch_failed = RNL_ERROR_LAUNCH_FAILED;
static const rnl_status io_failed = RNL_ERROR_IO;

static rnl_status break_down(const rnl_native_call *call)
{
    return *(const rnl_status *)call->user_data;
}

static rnl_status count_up(const rnl_native_call *call)
{
    atomic_fetch_add((_Atomic int *)call->user_data, 1);
    return RNL_OK;
}

static void launch(rnl_stream stream, rnl_function function)
{
    expect_ok(rnl_enqueue_function(stream, function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_NO_ARGS));
}

static rnl_event new_promise(void)
{
    suite_need(RNL_FEATURE_PROMISES);
    rnl_event promise = NULL;
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    return promise;
}

// --- Promises --------------------------------------------------------------

// The record would come behind the stream's own wait for it.
RNL_TEST(a_promise_is_not_recorded_behind_its_own_wait)
{
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_event promise = new_promise();
    for (int i = 0; i < 2; i++) {
        expect_ok(rnl_enqueue_wait_event(stream, promise));
        expect_error(rnl_enqueue_event_record(stream, promise),
                     RNL_ERROR_INVALID_STATE, "event");
        assert_non_null(strstr(rnl_last_error()->message, "for good"));
    }
    assert_status(rnl_event_query(promise), RNL_NOT_READY);
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    expect_ok(rnl_enqueue_event_record(other, promise));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_error(rnl_enqueue_event_record(stream, promise),
                 RNL_ERROR_INVALID_STATE, "event");
    assert_non_null(strstr(rnl_last_error()->message, "already"));
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}

// What is cancelled waits no more.
RNL_TEST(a_promise_is_recorded_where_its_wait_was_cancelled)
{
    suite_need(RNL_FEATURE_CANCEL);
    rnl_stream stream = suite_new_stream();
    rnl_event promise = new_promise();
    expect_ok(rnl_enqueue_wait_event(stream, promise));
    expect_ok(rnl_stream_cancel(stream));
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_enqueue_event_record(stream, promise));
    expect_ok(rnl_event_synchronize(promise, RNL_FOREVER));
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_promise_breaks_with_its_last_reference_only)
{
    rnl_event promise = new_promise();
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_event_retain(promise));
    expect_ok(rnl_enqueue_wait_event(stream, promise));
    expect_ok(rnl_event_release(promise));
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    expect_ok(rnl_enqueue_event_record(suite_stream(), promise));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_event_release(promise));
    expect_ok(rnl_stream_release(stream));
}

static uint64_t processor_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

enum { CYCLE_NS = 400000000 };

// Waiting for what cannot come ends in time and leaves the processor alone.
static void expect_idle_time_out(rnl_stream stream)
{
    uint64_t start = processor_time();
    expect_error(rnl_stream_synchronize(stream, CYCLE_NS),
                 RNL_ERROR_TIMED_OUT, NULL);
    uint64_t spent = processor_time() - start;
    if (spent >= CYCLE_NS / 2)
        fail_msg("waiting took %llu ns of processor time",
                 (unsigned long long)spent);
}

RNL_TEST(streams_that_wait_for_broken_promises_end)
{
    rnl_event promises[2] = {new_promise(), new_promise()};
    rnl_stream streams[2] = {suite_new_stream(), suite_new_stream()};
    for (int i = 0; i < 2; i++) {
        expect_ok(rnl_enqueue_wait_event(streams[i], promises[i]));
        expect_ok(rnl_enqueue_wait_stream(streams[i], streams[!i]));
    }
    expect_idle_time_out(streams[0]);
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_event_release(promises[i]));
    for (int i = 0; i < 2; i++) {
        expect_error(rnl_stream_synchronize(streams[i], RNL_FOREVER),
                     RNL_ERROR_DEPENDENCY_FAILED, NULL);
        expect_ok(rnl_stream_release(streams[i]));
    }
}

static void *wait_for_ever(void *stream)
{
    rnl_stream_synchronize(stream, RNL_FOREVER);
    return NULL;
}

// Nothing ends such a cycle but the end of the process.
SUITE_CHILD(child_makes_a_cycle_of_promises)
{
    pthread_t thread;
    rnl_event promises[2] = {new_promise(), new_promise()};
    rnl_stream streams[2] = {suite_new_stream(), suite_new_stream()};
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_enqueue_wait_event(streams[i], promises[i]));
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_enqueue_event_record(streams[i], promises[!i]));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_ever, streams[1]),
                     0);
    expect_idle_time_out(streams[0]);
    assert_status(rnl_event_query(promises[0]), RNL_NOT_READY);
    _exit(50);
}

RNL_TEST(a_cycle_of_promises_burns_no_processor_time)
{
    suite_need(RNL_FEATURE_PROMISES);
    assert_int_equal(suite_spawn("child_makes_a_cycle_of_promises", NULL), 50);
}

SUITE_CHILD(child_waits_for_a_promise_blocking)
{
    rnl_event promise = new_promise();
    rnl_stream stream = suite_new_stream();
    struct host_calls calls = {0, -1};
    expect_ok(rnl_enqueue_wait_event(stream, promise));
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    expect_ok(rnl_enqueue_event_record(suite_stream(), promise));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    // Without a synchronize: this is what the variable is for.
    _exit(calls.count == 1 ? 51 : 1);
}

RNL_TEST(a_wait_for_a_promise_does_not_block_a_blocking_library)
{
    suite_need(RNL_FEATURE_PROMISES);
    const char *const environment[] = {"RUNNEL_BLOCKING=1", NULL};
    assert_int_equal(
        suite_spawn("child_waits_for_a_promise_blocking", environment), 51);
}

// --- Failures --------------------------------------------------------------

// `known`: whether the failure is there before the other stream waits for it.
static void fail_behind_a_gate(bool known)
{
    _Atomic int runs = 0;
    rnl_function bad =
        suite_native("break_down", break_down, (void *)&launch_failed);
    rnl_function good = suite_native("count_up", count_up, &runs);
    rnl_stream first = suite_new_stream(), second = suite_new_stream();
    rnl_event event = suite_new_event();
    struct gate *gate = gate_shut(second);
    launch(first, bad);
    if (known)
        expect_error(rnl_stream_synchronize(first, RNL_FOREVER),
                     RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_ok(rnl_enqueue_event_record(first, event));
    expect_ok(rnl_enqueue_wait_event(second, event));
    launch(second, good);
    expect_ok(rnl_stream_reset_and_wait(first));
    expect_ok(rnl_stream_query(first));
    gate_open(gate);
    expect_error(rnl_stream_synchronize(second, RNL_FOREVER),
                 RNL_ERROR_DEPENDENCY_FAILED, NULL);
    assert_string_equal(rnl_last_error()->operation_name, "break_down");
    assert_int_equal(runs, 0);
    // The stream is well again; what was recorded before stays failed.
    launch(first, good);
    expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
    expect_error(rnl_event_query(event), RNL_ERROR_LAUNCH_FAILED, NULL);
    expect_error(rnl_event_synchronize(event, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_function_release(bad));
    expect_ok(rnl_function_release(good));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
}

RNL_TEST(a_reset_does_not_hide_a_failure_from_who_waits)
{
    fail_behind_a_gate(false);
}

RNL_TEST(a_reset_does_not_hide_a_failure_already_known)
{
    fail_behind_a_gate(true);
}

RNL_TEST(the_context_reports_one_of_two_failures_whole)
{
    rnl_function bad[2] = {
        suite_native("break_io", break_down, (void *)&io_failed),
        suite_native("break_launch", break_down, (void *)&launch_failed)};
    for (int order = 0; order < 2; order++) {
        rnl_stream streams[2] = {suite_new_stream(), suite_new_stream()};
        for (int i = 0; i < 2; i++)
            launch(streams[i], bad[i ^ order]);
        rnl_status status =
            rnl_context_synchronize(suite_context(), RNL_FOREVER);
        const rnl_error *error = rnl_last_error();
        assert_true(status == io_failed || status == launch_failed);
        assert_int_equal(error->status, status);
        assert_string_equal(error->operation_name, status == io_failed
                                                       ? "break_io"
                                                       : "break_launch");
        assert_string_equal(error->function, "rnl_context_synchronize");
        for (int i = 0; i < 2; i++) {
            expect_ok(rnl_stream_reset_and_wait(streams[i]));
            expect_ok(rnl_stream_release(streams[i]));
        }
        expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    }
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_function_release(bad[i]));
}

// --- Buffers ---------------------------------------------------------------

static void expect_zeros(rnl_stream stream, rnl_buffer buffer, size_t size)
{
    unsigned char *bytes = malloc(size);
    assert_non_null(bytes);
    expect_ok(rnl_copy_from_buffer_and_wait(stream, bytes, buffer, 0, size));
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            fail_msg("byte %zu of %zu is %d", i, size, bytes[i]);
    free(bytes);
}

RNL_TEST(a_zeroed_buffer_does_not_wait_for_the_default_stream)
{
    static const size_t sizes[] = {1, 64, 4096, 1 << 20};
    rnl_stream stream = suite_new_stream();
    for (int i = 0; i < 4; i++) {
        // Memory that comes back from an earlier owner is not zero.
        rnl_buffer dirty = suite_new_buffer(sizes[i]), buffer = NULL;
        expect_ok(rnl_fill_and_wait(stream, dirty, 0, sizes[i], 0xff, 1));
        expect_ok(rnl_buffer_release(dirty));
        struct gate *gate = gate_shut(suite_stream());
        expect_ok(rnl_buffer_create(suite_context(), sizes[i],
                                    RNL_BUFFER_OPTIONS(.zeroed = true),
                                    &buffer));
        expect_zeros(stream, buffer, sizes[i]);
        assert_status(rnl_stream_query(suite_stream()), RNL_NOT_READY);
        gate_open(gate);
        expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
        expect_zeros(stream, buffer, sizes[i]);
        gate_free(gate);
        expect_ok(rnl_buffer_release(buffer));
    }
    expect_ok(rnl_stream_release(stream));
}

static void expect_slice_of_kind(rnl_memory_kind kind)
{
    rnl_buffer buffer = NULL, slice = NULL, inner = NULL;
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_create(suite_context(), 256,
                                RNL_BUFFER_OPTIONS(.kind = kind), &buffer));
    expect_ok(rnl_buffer_slice(buffer, 64, 128, &slice));
    expect_ok(rnl_buffer_slice(slice, 64, 64, &inner));
    expect_ok(rnl_buffer_get_info(slice, &info));
    assert_int_equal(info.kind, kind);
    assert_ptr_equal(info.parent, buffer);
    expect_ok(rnl_buffer_get_info(inner, &info));
    assert_int_equal(info.kind, kind);
    if (kind != RNL_MEMORY_DEVICE)
        assert_non_null(info.host_pointer);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(inner));
}

RNL_TEST(a_slice_is_of_its_parents_kind)
{
    expect_slice_of_kind(RNL_MEMORY_DEVICE);
    expect_slice_of_kind(RNL_MEMORY_HOST);
    if (rnl_context_supports(suite_context(), RNL_FEATURE_MANAGED_MEMORY,
                             NULL) == RNL_OK)
        expect_slice_of_kind(RNL_MEMORY_MANAGED);
}

// --- Arguments -------------------------------------------------------------

static void refuse_unknown(uint32_t parameter_size, rnl_arg arg)
{
    const rnl_parameter parameter = {RNL_VALUE_UNKNOWN, parameter_size, 1, ""};
    const rnl_args args = {sizeof args, 1, &arg};
    _Atomic int runs = 0;
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(
        suite_context(), "unknown", count_up,
        RNL_NATIVE_OPTIONS(.parameters = &parameter, .parameter_count = 1,
                           .user_data = &runs), &function));
    expect_error(rnl_enqueue_function(suite_stream(), function,
                                      RNL_LAUNCH(.grid = {1}, .block = {1}),
                                      &args),
                 RNL_ERROR_ARGUMENT_MISMATCH, "args");
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(runs, 0);
    expect_ok(rnl_function_release(function));
}

// A value of more bytes than the struct has would be read from behind it.
RNL_TEST(values_of_absurd_size_are_refused)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    const uint32_t kinds[] = {RNL_VALUE_INTEGER, RNL_VALUE_FLOAT,
                              RNL_VALUE_POINTER, RNL_ARG_BUFFER,
                              RNL_VALUE_UNKNOWN, 99};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        refuse_unknown(4096, (rnl_arg){kinds[i], 4096, {0}});
        refuse_unknown(16, (rnl_arg){kinds[i], 16, {0}});
        refuse_unknown(4, (rnl_arg){kinds[i], 4096, {0}});
    }
    refuse_unknown(4, (rnl_arg){RNL_VALUE_POINTER, 4, {0}});
    refuse_unknown(4, (rnl_arg){RNL_ARG_BUFFER, 4, {0}});
    refuse_unknown(4, (rnl_arg){RNL_VALUE_UNKNOWN, 4, {0}});
}

// --- The default stream ----------------------------------------------------

RNL_TEST(a_retained_default_stream_outlives_its_context)
{
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL;
    rnl_stream_info info = {.struct_size = sizeof info};
    struct host_calls calls = {0, -1};
    expect_ok(rnl_context_default_stream(context, &stream));
    expect_ok(rnl_stream_retain(stream));
    expect_ok(rnl_context_release(context));
    for (int i = 0; i < 3; i++) {
        expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    }
    assert_int_equal(calls.count, 3);
    assert_int_equal(calls.status, RNL_OK);
    expect_ok(rnl_stream_get_info(stream, &info));
    assert_string_equal(info.label, "default");
    expect_ok(rnl_stream_query(stream));
    expect_ok(rnl_stream_release(stream));
    expect_error(rnl_stream_query(stream), RNL_ERROR_INVALID_HANDLE, NULL);
    expect_error(rnl_stream_release(stream), RNL_ERROR_INVALID_HANDLE, NULL);
}

// --- Who runs what ---------------------------------------------------------

static pthread_t caller;

static rnl_status note_the_caller(const rnl_native_call *call)
{
    if (pthread_equal(pthread_self(), caller))
        atomic_fetch_add((_Atomic int *)call->user_data, 1);
    return RNL_OK;
}

struct opener {
    struct gate *gate;
    sem_t done;
};

// A waiting thread may do the work it waits for, but need not: then nobody does
// while the worker is blocked, and the test must not hang.
static void *open_in_the_end(void *user_data)
{
    struct opener *opener = user_data;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 2;
    sem_timedwait(&opener->done, &end);
    gate_open(opener->gate);
    return NULL;
}

static rnl_function native_of(rnl_context context, rnl_native_fn native,
                              void *user_data)
{
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(
        context, "native", native, RNL_NATIVE_OPTIONS(.user_data = user_data),
        &function));
    return function;
}

// With the only worker blocked, the caller alone can run anything, and has to
// leave alone what is behind the event.
RNL_TEST(waiting_for_an_event_does_no_later_work)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    _Atomic int runs = 0, by_caller = 0;
    caller = pthread_self();
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.threads = 1));
    rnl_function first = native_of(context, count_up, &runs);
    rnl_function later = native_of(context, note_the_caller, &by_caller);
    rnl_stream stream = NULL, blocked = NULL;
    rnl_event event = NULL;
    pthread_t thread;
    expect_ok(rnl_context_default_stream(context, &blocked));
    expect_ok(rnl_stream_create(context, NULL, &stream));
    struct opener opener = {.gate = gate_block_workers(blocked, 1)};
    gate_wait_entered(opener.gate);
    sem_init(&opener.done, 0, 0);
    launch(stream, first);
    expect_ok(rnl_enqueue_event(stream, NULL, &event));
    for (int i = 0; i < 100; i++)
        launch(stream, later);
    assert_int_equal(pthread_create(&thread, NULL, open_in_the_end, &opener),
                     0);
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    assert_int_equal(runs, 1);
    assert_int_equal(by_caller, 0);
    sem_post(&opener.done);
    pthread_join(thread, NULL);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(blocked, RNL_FOREVER));
    gate_free(opener.gate);
    sem_destroy(&opener.done);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_function_release(first));
    expect_ok(rnl_function_release(later));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
}

// --- Handles that die while another thread uses them -----------------------

// One thread makes and releases handles, the other uses the latest.
struct race {
    void *(*make)(void);
    rnl_status (*release)(void *handle);
    rnl_status (*use)(void *handle);
    void *_Atomic handle;
    _Atomic bool stop;
    _Atomic int good, wrong;  // uses that succeeded; a status that may not be
};

static struct {
    rnl_stream stream;
    rnl_function function;
    _Atomic int runs;
} racers;

static void *use_again_and_again(void *user_data)
{
    struct race *race = user_data;
    while (!atomic_load(&race->stop)) {
        rnl_status status = race->use(atomic_load(&race->handle));
        if (status == RNL_OK)
            atomic_fetch_add(&race->good, 1);
        else if (status != RNL_ERROR_INVALID_HANDLE)
            atomic_store(&race->wrong, (int)status);
    }
    return NULL;
}

static void run_race(struct race *race, int rounds)
{
    pthread_t thread;
    rnl_status status = RNL_OK;
    race->handle = race->make();
    assert_int_equal(pthread_create(&thread, NULL, use_again_and_again, race),
                     0);
    for (int i = 0; i < rounds && status == RNL_OK; i++) {
        // The other thread shall get some use out of each.
        int before = atomic_load(&race->good);
        while (i % 8 == 0 && atomic_load(&race->good) == before &&
               atomic_load(&race->wrong) == 0)
            sched_yield();
        status = race->release(atomic_load(&race->handle));
        atomic_store(&race->handle, race->make());
    }
    atomic_store(&race->stop, true);
    pthread_join(thread, NULL);
    expect_ok(status);
    expect_ok(race->release(race->handle));
    assert_int_equal(race->wrong, 0);
    assert_true(race->good > 0);
}

static rnl_status launch_and_wait(rnl_stream stream, rnl_function function)
{
    rnl_status status = rnl_enqueue_function(
        stream, function, RNL_LAUNCH(.grid = {1}, .block = {1}), RNL_ARGS(1));
    return status ? status : rnl_stream_synchronize(stream, RNL_FOREVER);
}

static void *make_function(void)
{
    const rnl_parameter parameter = {RNL_VALUE_INTEGER, 4, 4, "int"};
    rnl_function function = NULL;
    rnl_function_create_native(
        suite_context(), "short-lived", count_up,
        RNL_NATIVE_OPTIONS(.parameters = &parameter, .parameter_count = 1,
                           .user_data = &racers.runs), &function);
    return function;
}

static rnl_status release_function(void *function)
{
    return rnl_function_release(function);
}

static rnl_status use_function(void *function)
{
    return launch_and_wait(racers.stream, function);
}

RNL_TEST(a_function_dies_while_it_is_launched)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    struct race race = {make_function, release_function, use_function,
                        NULL, false, 0, 0};
    racers.stream = suite_new_stream();
    run_race(&race, 2000);
    expect_ok(rnl_stream_release(racers.stream));
}

static rnl_module racing_module;

static void *take_function(void)
{
    rnl_function function = NULL;
    rnl_module_function(racing_module, "idle", &function);
    return function;
}

RNL_TEST(a_function_of_a_module_dies_while_it_is_launched)
{
    struct race race = {take_function, release_function, use_function,
                        NULL, false, 0, 0};
    racing_module = suite_module(
        "extern \"C\" __global__ void idle(int value) {}");
    racers.stream = suite_new_stream();
    run_race(&race, 2000);
    expect_ok(rnl_stream_release(racers.stream));
    expect_ok(rnl_module_release(racing_module));
}

static void *make_stream(void)
{
    rnl_stream stream = NULL;
    rnl_stream_create(suite_context(), NULL, &stream);
    return stream;
}

static rnl_status release_stream(void *stream)
{
    return rnl_stream_release(stream);
}

static rnl_status use_stream(void *stream)
{
    return launch_and_wait(stream, racers.function);
}

RNL_TEST(a_stream_dies_while_work_is_given_to_it)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    struct race race = {make_stream, release_stream, use_stream,
                        NULL, false, 0, 0};
    racers.function = make_function();
    run_race(&race, 2000);
    expect_ok(rnl_function_release(racers.function));
}

static void *make_buffer(void)
{
    rnl_buffer buffer = NULL;
    rnl_buffer_create(suite_context(), 256, NULL, &buffer);
    return buffer;
}

static rnl_status release_buffer(void *buffer)
{
    return rnl_buffer_release(buffer);
}

static rnl_status use_buffer(void *buffer)
{
    rnl_buffer slice = NULL;
    rnl_status status = rnl_buffer_slice(buffer, 64, 64, &slice);
    if (status != RNL_OK)
        return status;
    status = rnl_fill_and_wait(racers.stream, slice, 0, 64, 7, 4);
    rnl_status released = rnl_buffer_release(slice);
    return status ? status : released;
}

RNL_TEST(a_buffer_dies_while_it_is_sliced)
{
    struct race race = {make_buffer, release_buffer, use_buffer,
                        NULL, false, 0, 0};
    racers.stream = suite_new_stream();
    run_race(&race, 2000);
    expect_ok(rnl_stream_release(racers.stream));
}

static void *make_context(void)
{
    rnl_context context = NULL;
    rnl_context_open(suite_api(), suite_index(),
                     RNL_CONTEXT_OPTIONS(.threads = 1), &context);
    return context;
}

static rnl_status release_context(void *context)
{
    return rnl_context_release(context);
}

// Whatever the context made stays good when the context dies.
static rnl_status use_context(void *context)
{
    rnl_stream stream = NULL;
    rnl_event event = NULL;
    rnl_buffer buffer = NULL;
    rnl_status status = rnl_stream_create(context, NULL, &stream);
    if (status == RNL_OK)
        status = rnl_event_create(context, NULL, &event);
    if (status == RNL_OK)
        status = rnl_buffer_create(
            context, 64, RNL_BUFFER_OPTIONS(.zeroed = true), &buffer);
    if (status == RNL_OK)
        status = rnl_fill_and_wait(stream, buffer, 0, 64, 7, 4);
    rnl_status released[] = {rnl_buffer_release(buffer),
                             rnl_event_release(event),
                             rnl_stream_release(stream)};
    for (int i = 0; i < 3; i++)
        if (released[i] != RNL_OK)
            return RNL_ERROR_INTERNAL;
    return status;
}

RNL_TEST(a_context_dies_while_things_are_made_of_it)
{
    struct race race = {make_context, release_context, use_context,
                        NULL, false, 0, 0};
    run_race(&race, 200);
}
