// Host functions: order, threads, failures, and what they may not do.
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>

struct log {
    _Atomic int count;
    int order[64];
};

struct entry {
    struct log *log;
    int number;
};

static void note(rnl_status status, void *user_data)
{
    struct entry *entry = user_data;
    if (status == RNL_OK)
        entry->log->order[atomic_fetch_add(&entry->log->count, 1)] =
            entry->number;
}

RNL_TEST(host_functions_run_in_stream_order)
{
    struct log log = {0};
    struct entry entries[64];
    for (int i = 0; i < 64; i++) {
        entries[i] = (struct entry){&log, i};
        expect_ok(rnl_enqueue_host_function(suite_stream(), note,
                                            &entries[i]));
    }
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(log.count, 64);
    for (int i = 0; i < 64; i++)
        assert_int_equal(log.order[i], i);
}

// A function that blocks holds up its stream alone, and the functions of each
// other stream keep their order.
RNL_TEST(host_functions_of_other_streams_run_beside_one_that_blocks)
{
    enum { STREAMS = 8, FUNCTIONS = 32 };
    static struct log logs[STREAMS];
    static struct entry entries[STREAMS][FUNCTIONS];
    rnl_stream streams[STREAMS];
    struct gate *gates[STREAMS / 2];
    for (int i = 0; i < STREAMS; i++)
        expect_ok(rnl_stream_create(suite_context(), NULL, &streams[i]));
    for (int i = 0; i < STREAMS / 2; i++) {
        gates[i] = gate_shut(streams[i]);
        gate_wait_entered(gates[i]);
    }
    for (int i = 0; i < STREAMS; i++)
        for (int k = 0; k < FUNCTIONS; k++) {
            entries[i][k] = (struct entry){&logs[i], k};
            expect_ok(rnl_enqueue_host_function(streams[i], note,
                                                &entries[i][k]));
        }
    for (int i = STREAMS / 2; i < STREAMS; i++)
        expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
    for (int i = 0; i < STREAMS / 2; i++) {
        assert_int_equal(logs[i].count, 0);
        gate_open(gates[i]);
    }
    for (int i = 0; i < STREAMS; i++) {
        expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
        for (int k = 0; k < FUNCTIONS; k++)
            assert_int_equal(logs[i].order[k], k);
        expect_ok(rnl_stream_release(streams[i]));
    }
    for (int i = 0; i < STREAMS / 2; i++)
        gate_free(gates[i]);
}

struct sees {
    rnl_buffer buffer;
    int *host;
    int seen;
    pthread_t thread;
};

static void see(rnl_status status, void *user_data)
{
    struct sees *sees = user_data;
    sees->seen = status == RNL_OK ? *sees->host : -1;
    sees->thread = pthread_self();
}

RNL_TEST(a_host_function_sees_the_work_before_it)
{
    int host = 0;
    struct sees sees = {.host = &host};
    rnl_buffer buffer = suite_ints(1, 41);
    expect_ok(rnl_enqueue_copy_from_buffer(suite_stream(), &host, buffer, 0,
                                           4));
    expect_ok(rnl_enqueue_host_function(suite_stream(), see, &sees));
    expect_ok(rnl_enqueue_fill(suite_stream(), buffer, 0, 4, 42, 4));
    expect_ok(rnl_enqueue_copy_from_buffer(suite_stream(), &host, buffer, 0,
                                           4));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(sees.seen, 41);
    assert_int_equal(host, 42);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(host_functions_run_on_a_library_thread)
{
    int host = 0;
    for (int i = 0; i < 100; i++) {
        struct sees sees = {.host = &host};
        expect_ok(rnl_enqueue_host_function(suite_stream(), see, &sees));
        expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
        assert_false(pthread_equal(sees.thread, pthread_self()));
    }
}

RNL_TEST(later_work_waits_for_a_host_function)
{
    rnl_buffer buffer = suite_ints(4, 1);
    rnl_stream stream = suite_new_stream();
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 16, 2, 4));
    gate_wait_entered(gate);
    suite_expect_ints(buffer, 4, 1);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    suite_expect_ints(buffer, 4, 2);
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

static void nothing(rnl_status status, void *user_data)
{
    (void)status;
    assert_null(user_data);
}

RNL_TEST(user_data_may_be_null)
{
    expect_ok(rnl_enqueue_host_function(suite_stream(), nothing, NULL));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
}

RNL_TEST(a_host_function_may_not_be_null)
{
    expect_error(rnl_enqueue_host_function(suite_stream(), NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "function");
    expect_ok(rnl_stream_query(suite_stream()));
}

// --- Calls from inside ------------------------------------------------------

static struct {
    rnl_context context;
    rnl_stream stream;
    rnl_event event;
    rnl_buffer buffer;
    unsigned refused, calls;
    const char *accepted;
    bool details;
} inside;

#define TRY(call)                                                      \
    do {                                                               \
        inside.calls++;                                                \
        if ((call) != RNL_ERROR_NOT_PERMITTED)                         \
            inside.accepted = #call;                                   \
        else if (rnl_last_error()->status == RNL_ERROR_NOT_PERMITTED)  \
            inside.refused++;                                          \
    } while (0)

static void try_creations(void)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_event event = NULL;
    rnl_buffer buffer = NULL;
    rnl_device device = NULL;
    rnl_module module = NULL;
    rnl_function function = NULL;
    int memory[4];
    TRY(rnl_device_default(&device));
    TRY(rnl_context_open("cpu", 0, NULL, &context));
    TRY(rnl_stream_create(inside.context, NULL, &stream));
    TRY(rnl_event_create(inside.context, NULL, &event));
    TRY(rnl_buffer_create(inside.context, 16, NULL, &buffer));
    TRY(rnl_enqueue_buffer_create(inside.stream, 16, NULL, &buffer));
    TRY(rnl_buffer_wrap(inside.context, memory, 16, NULL, &buffer));
    TRY(rnl_buffer_slice(inside.buffer, 0, 4, &buffer));
    TRY(rnl_module_compile(inside.context, "", NULL, &module));
    TRY(rnl_module_load(inside.context, "", 1, NULL, &module));
    TRY(rnl_function_compile(inside.context, "", "f", NULL, &function));
}

static void try_enqueues(void)
{
    rnl_event event = NULL;
    int memory[4] = {0};
    TRY(rnl_enqueue_fill(inside.stream, inside.buffer, 0, 4, 0, 1));
    TRY(rnl_enqueue_fill_region(inside.stream, RNL_FILL(.width = 0)));
    TRY(rnl_enqueue_copy(inside.stream, memory, memory + 2, 4));
    TRY(rnl_enqueue_copy_to_buffer(inside.stream, inside.buffer, 0, memory,
                                   4));
    TRY(rnl_enqueue_copy_from_buffer(inside.stream, memory, inside.buffer, 0,
                                     4));
    TRY(rnl_enqueue_copy_buffer(inside.stream, inside.buffer, 0,
                                inside.buffer, 8, 4));
    TRY(rnl_enqueue_copy_region(inside.stream, RNL_COPY(.width = 0)));
    TRY(rnl_enqueue_copy_batch(inside.stream, NULL, 0));
    TRY(rnl_enqueue_event(inside.stream, NULL, &event));
    TRY(rnl_enqueue_event_record(inside.stream, inside.event));
    TRY(rnl_enqueue_wait_event(inside.stream, inside.event));
    TRY(rnl_enqueue_wait_stream(inside.stream, inside.stream));
    TRY(rnl_enqueue_wait_context(inside.stream, inside.context));
    TRY(rnl_enqueue_host_function(inside.stream, count_host_call, NULL));
    TRY(rnl_enqueue_buffer_release(inside.stream, inside.buffer));
    TRY(rnl_enqueue_function(inside.stream, NULL, NULL, NULL));
}

static void try_waits(void)
{
    void *pointer = NULL;
    int memory[4] = {0};
    TRY(rnl_stream_synchronize(inside.stream, RNL_FOREVER));
    TRY(rnl_stream_synchronize(inside.stream, 0));
    TRY(rnl_stream_query(inside.stream));
    TRY(rnl_stream_reset_and_wait(inside.stream));
    TRY(rnl_context_synchronize(inside.context, RNL_FOREVER));
    TRY(rnl_event_synchronize(inside.event, RNL_FOREVER));
    TRY(rnl_event_query(inside.event));
    TRY(rnl_copy_and_wait(inside.stream, memory, memory + 2, 4));
    TRY(rnl_fill_and_wait(inside.stream, inside.buffer, 0, 4, 0, 1));
    TRY(rnl_buffer_map_and_wait(inside.stream, inside.buffer, RNL_MAP_READ,
                                &pointer));
    TRY(rnl_host_allocate(inside.context, 64, &pointer));
    TRY(rnl_buffer_retain(inside.buffer));
    TRY(rnl_trim(NULL));
    TRY(rnl_log_set(NULL, RNL_LOG_ERROR, NULL));
    TRY(rnl_allocator_set(NULL));
}

static void call_everything(rnl_status status, void *user_data)
{
    (void)status;
    (void)user_data;
    try_creations();
    try_enqueues();
    try_waits();
    // These alone may be called anywhere.
    inside.details = rnl_version() == RNL_VERSION &&
                     !strcmp(rnl_status_name(RNL_OK), "OK") &&
                     rnl_status_text(RNL_OK) &&
                     strlen(rnl_last_error()->message) > 12;
    rnl_last_error_clear();
}

static void check_inside(void)
{
    if (inside.accepted)
        fail_msg("accepted inside a callback: %s", inside.accepted);
    assert_true(inside.calls >= 40);
    assert_int_equal(inside.refused, inside.calls);
    assert_true(inside.details);
    // Nothing was changed.
    expect_ok(rnl_stream_query(inside.stream));
    expect_ok(rnl_event_query(inside.event));
    suite_expect_ints(inside.buffer, 4, 1);
    expect_ok(rnl_buffer_release(inside.buffer));
    expect_ok(rnl_event_release(inside.event));
    expect_ok(rnl_stream_release(inside.stream));
}

static void prepare_inside(void)
{
    memset(&inside, 0, sizeof inside);
    inside.context = suite_context();
    inside.stream = suite_new_stream();
    inside.event = suite_new_event();
    inside.buffer = suite_ints(4, 1);
}

RNL_TEST(a_host_function_may_not_call_runnel)
{
    prepare_inside();
    expect_ok(rnl_enqueue_host_function(inside.stream, call_everything,
                                        NULL));
    expect_ok(rnl_stream_synchronize(inside.stream, RNL_FOREVER));
    check_inside();
}

static rnl_status call_everything_natively(const rnl_native_call *call)
{
    (void)call;
    call_everything(RNL_OK, NULL);
    return RNL_OK;
}

RNL_TEST(a_native_kernel_may_not_call_runnel)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    prepare_inside();
    rnl_function function =
        suite_native("nosy", call_everything_natively, NULL);
    expect_ok(rnl_enqueue_function(inside.stream, function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_NO_ARGS));
    expect_ok(rnl_stream_synchronize(inside.stream, RNL_FOREVER));
    // This thread may have run it: it is outside again.
    check_inside();
    expect_ok(rnl_function_release(function));
}

static void log_nosily(rnl_log_level level, const char *message,
                       void *user_data)
{
    (void)level;
    (void)message;
    if (*(int *)user_data == 0)
        *(int *)user_data = (int)rnl_device_count(NULL, user_data);
}

RNL_TEST(a_log_callback_may_not_call_runnel)
{
    static int status[2];
    memset(status, 0, sizeof status);
    size_t count;
    expect_ok(rnl_log_set(log_nosily, RNL_LOG_DEBUG, status));
    expect_error(rnl_device_count("vulcan", &count), RNL_ERROR_NOT_FOUND,
                 "api");
    expect_ok(rnl_log_set(NULL, RNL_LOG_ERROR, NULL));
    assert_int_equal(status[0], RNL_ERROR_NOT_PERMITTED);
}

// --- Failing the stream ------------------------------------------------------

static void refuse_work(rnl_status status, void *user_data)
{
    if (status == RNL_OK)
        *(rnl_status *)user_data = rnl_host_function_fail("no more today");
    rnl_host_function_fail("a second reason");
}

RNL_TEST(a_host_function_can_fail_its_stream)
{
    rnl_stream stream = suite_new_stream();
    struct host_calls behind = {0, -1};
    rnl_status answer = RNL_ERROR_INTERNAL;
    rnl_host_call call = {.struct_size = sizeof call,
                          .function = refuse_work,
                          .user_data = &answer,
                          .label = "the gate"};
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_host_call(stream, &call));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &behind));
    gate_open(gate);
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    assert_non_null(strstr(rnl_last_error()->message, "no more today"));
    assert_string_equal(rnl_last_error()->operation_label, "the gate");
    assert_int_equal(answer, RNL_OK);
    assert_int_equal(behind.count, 1);
    assert_int_equal(behind.status, RNL_ERROR_LAUNCH_FAILED);
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_host_function_of_a_graph_can_fail_the_stream)
{
    rnl_stream stream = suite_new_stream();
    rnl_status answer = RNL_ERROR_INTERNAL;
    struct host_calls behind = {0, -1};
    rnl_graph graph;
    rnl_graph_exec exec;
    rnl_node node;
    expect_ok(rnl_graph_create(suite_context(), NULL, &graph));
    expect_ok(
        rnl_graph_add_node(graph, RNL_AT_START,
                           RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION,
                                    .host = refuse_work, .user_data = &answer),
                           &node));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_graph(stream, exec));
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &behind));
    gate_open(gate);
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    assert_non_null(strstr(rnl_last_error()->message, "no more today"));
    assert_int_equal(answer, RNL_OK);
    assert_int_equal(behind.count, 1);
    assert_int_equal(behind.status, RNL_ERROR_LAUNCH_FAILED);
    expect_ok(rnl_stream_reset_and_wait(stream));
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
}

static void refuse_at_length(rnl_status status, void *user_data)
{
    (void)status, (void)user_data;
    char message[2000] = "";
    for (size_t i = 0; i < sizeof message - 2; i += 2)
        memcpy(message + i, "\xC3\xA4", 3);  // a letter of two bytes
    rnl_host_function_fail(message);
}

RNL_TEST(a_long_reason_is_cut_between_letters)
{
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_enqueue_host_function(stream, refuse_at_length, NULL));
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_LAUNCH_FAILED, NULL);
    const char *dots = strstr(rnl_last_error()->message, "\xC3\xA4...");
    assert_non_null(dots);
    expect_ok(rnl_stream_reset_and_wait(stream));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(only_a_host_function_fails_a_stream)
{
    expect_error(rnl_host_function_fail("nobody asked"),
                 RNL_ERROR_NOT_PERMITTED, NULL);
}
