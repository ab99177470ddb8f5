// What the library's own threads still do on a device that is lost.
#include "loaded.h"

#include "base/thread.h"

#include <signal.h>
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
