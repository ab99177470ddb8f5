// What the library's own threads still do on a device that is lost, and whom
// failures name.
#include "loaded.h"

#include "base/thread.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SIZE = 1 << 20, PAGE = 4096 };

static _Atomic uint32_t is_held, may_go;

static void hold(void)
{
    atomic_store(&is_held, 1);
    futex_wake(&is_held, 1);
    while (!atomic_load(&may_go))
        futex_wait(&may_go, 0, RNL_FOREVER);
}

static void let_go(void)
{
    atomic_store(&may_go, 1);
    futex_wake(&may_go, 1);
}

// The caller may free the memory once a wait says that the device is lost.
RNL_TEST(no_wait_ends_before_copies_of_a_lost_device_do)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    rnl_event event = NULL;
    char *memory = malloc(SIZE);
    assert_non_null(memory);
    memset(memory, 7, SIZE);
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_buffer_create(context, SIZE, NULL, &buffer));
    thread_hold_next("rnl-staging", hold);
    assert_ok(rnl_enqueue_copy_from_buffer(stream, memory, buffer, 0, SIZE));
    assert_ok(rnl_enqueue_event(stream, NULL, &event));
    while (!atomic_load(&is_held))
        futex_wait(&is_held, 0, RNL_FOREVER);
    fake_break(0, 700);
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    assert_status(rnl_stream_synchronize(stream, 20000000),
                  RNL_ERROR_TIMED_OUT);
    assert_status(rnl_event_synchronize(event, 1000), RNL_ERROR_TIMED_OUT);
    assert_status(rnl_context_synchronize(context, 1000),
                  RNL_ERROR_TIMED_OUT);
    let_go();
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    free(memory);
    assert_status(rnl_event_synchronize(event, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    rnl_event_release(event);
    rnl_buffer_release(buffer);
    rnl_stream_release(stream);
    rnl_context_release(context);
    fake_expect_empty();
}

// Waits for what nobody will record.
static void fail_by_promise(rnl_context context, rnl_stream stream)
{
    rnl_event event = NULL;
    assert_ok(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                               &event));
    assert_ok(rnl_enqueue_wait_event(stream, event));
    rnl_event_release(event);
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
}

// A failure that the stream inherited earlier does not hide the loss.
RNL_TEST(a_stream_that_inherited_a_failure_tells_that_the_device_is_lost)
{
    rnl_context context = NULL;
    rnl_stream streams[2] = {NULL};
    rnl_buffer buffer = NULL;
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_buffer_create(context, PAGE, NULL, &buffer));
    for (int i = 0; i < 2; i++) {
        assert_ok(rnl_stream_create(context, NULL, &streams[i]));
        fail_by_promise(context, streams[i]);
    }
    assert_ok(rnl_stream_reset_and_wait(streams[0]));
    assert_ok(rnl_enqueue_fill(streams[0], buffer, 0, PAGE, 0, 1));
    fake_break(0, 700);
    for (int i = 0; i < 2; i++)
        assert_status(rnl_stream_synchronize(streams[i], RNL_FOREVER),
                      RNL_ERROR_DEVICE_LOST);
    for (int i = 0; i < 2; i++)
        assert_status(rnl_enqueue_fill(streams[i], buffer, 0, PAGE, 0, 1),
                      RNL_ERROR_DEVICE_LOST);
    rnl_buffer_release(buffer);
    rnl_stream_release(streams[0]);
    rnl_stream_release(streams[1]);
    rnl_context_release(context);
    fake_expect_empty();
}

// The same of one that a graph's host node does, which stops at its first byte.
static void *page;

static void stop_at_page(int signal)
{
    (void)signal;
    hold();
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

RNL_TEST(no_wait_ends_before_the_copies_of_a_graph_do)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    rnl_node node = NULL;
    void *locked = NULL;
    const struct sigaction stop = {.sa_handler = stop_at_page};
    assert_int_equal(sigaction(SIGSEGV, &stop, NULL), 0);
    page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_host_allocate(context, PAGE, &locked));
    assert_ok(rnl_graph_create(context, NULL, &graph));
    assert_ok(rnl_graph_add_node(
        graph, NULL, 0,
        RNL_NODE(.kind = RNL_NODE_COPY,
                 .copy = RNL_COPY(.to = {.pointer = page},
                                  .from = {.pointer = locked},
                                  .width = PAGE)),
        &node));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_enqueue_graph(stream, exec));
    while (!atomic_load(&is_held))
        futex_wait(&is_held, 0, RNL_FOREVER);
    fake_break(0, 700);
    assert_status(rnl_stream_synchronize(stream, 20000000),
                  RNL_ERROR_TIMED_OUT);
    let_go();
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    munmap(page, PAGE);
    rnl_graph_exec_release(exec);
    rnl_graph_release(graph);
    rnl_host_free(context, locked);
    rnl_stream_release(stream);
    rnl_context_release(context);
    fake_expect_empty();
}

// --- Names -----------------------------------------------------------------

enum { NAME_SIZE = 60000, NAME_ROUNDS = 60 };

static char long_name[NAME_SIZE];
static struct fake_gate kernel_gate;
static atomic_bool tells;

static rnl_status hold_kernel(const rnl_native_call *call)
{
    (void)call;
    fake_hold(RNL_OK, &kernel_gate);
    return RNL_OK;
}

static bool is_told(const char *message)
{
    const char *name = strstr(message, "to operation 1 (");
    if (!name)
        return strstr(message, "was not done") != NULL;
    name += strlen("to operation 1 (");
    return strncmp(name, long_name, 40) == 0 ||
           strncmp(name, "a function that was", 19) == 0;
}

// Describes what the stream waits for, again and again.
static void *tell_names(void *stream)
{
    void *wrong = NULL;
    while (!wrong && atomic_load(&tells))
        if (rnl_stream_synchronize(stream, 0) == RNL_ERROR_TIMED_OUT &&
            !is_told(rnl_last_error()->message))
            wrong = stream;
    return wrong;
}

static rnl_function new_held(rnl_context context, void **out_image)
{
    static struct fake_kernel kernel = {long_name, hold_kernel, 0, NULL};
    size_t size = 0;
    rnl_module module = NULL;
    rnl_function function = NULL;
    *out_image = fake_image(&kernel, 1, &size);
    assert_non_null(*out_image);
    assert_ok(rnl_module_load(context, *out_image, size, NULL, &module));
    assert_ok(rnl_module_function(module, long_name, &function));
    assert_ok(rnl_module_release(module));
    return function;
}

// Nobody holds the function of an operation that is told of.
RNL_TEST(a_function_may_end_while_it_is_named)
{
    rnl_context context = NULL;
    memset(long_name, 'k', sizeof long_name - 1);
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    for (int round = 0; round < NAME_ROUNDS; round++) {
        rnl_stream stream = NULL;
        pthread_t thread;
        void *image = NULL, *wrong = NULL;
        rnl_function function = new_held(context, &image);
        atomic_store(&kernel_gate.entered, 0);
        atomic_store(&kernel_gate.open, 0);
        assert_ok(rnl_stream_create(context, NULL, &stream));
        assert_ok(rnl_enqueue_function(stream, function,
                                       RNL_LAUNCH(.grid = {1}, .block = {1}),
                                       RNL_NO_ARGS));
        fake_await_entered(&kernel_gate);
        atomic_store(&tells, true);
        assert_int_equal(pthread_create(&thread, NULL, tell_names, stream),
                         0);
        for (int i = 0; i < round / 4; i++)
            sched_yield();
        assert_ok(rnl_function_release(function));
        for (int i = 0; i < 4; i++)
            sched_yield();
        atomic_store(&tells, false);
        assert_int_equal(pthread_join(thread, &wrong), 0);
        assert_null(wrong);
        atomic_store(&kernel_gate.open, 1);
        assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        assert_ok(rnl_stream_release(stream));
        free(image);
    }
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}
