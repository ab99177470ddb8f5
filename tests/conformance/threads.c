// Several threads at once: every call is safe from any thread. Meant to run
// under ThreadSanitizer, too.
#include "suite.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 300 };

// Runs `body` on THREADS threads; each returns NULL when all was well.
static void on_threads(void *(*body)(void *), void *shared)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, body, shared), 0);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        if (result)
            fail_msg("a thread failed at: %s", (const char *)result);
    }
}

// Inside a thread, where cmocka's assertions may not be used.
#define CHECK(call)              \
    do {                         \
        if ((call) != RNL_OK)    \
            return (void *)#call; \
    } while (0)

static void *make_and_release(void *context)
{
    for (int i = 0; i < ROUNDS; i++) {
        rnl_stream stream = NULL;
        rnl_event event = NULL;
        rnl_buffer buffer = NULL;
        int read[4] = {0};
        CHECK(rnl_stream_create(context, NULL, &stream));
        CHECK(rnl_event_create(context, NULL, &event));
        CHECK(rnl_buffer_create(context, 16, NULL, &buffer));
        CHECK(rnl_enqueue_fill(stream, buffer, 0, 16, (uint64_t)i, 4));
        CHECK(rnl_enqueue_event_record(stream, event));
        CHECK(rnl_enqueue_copy_from_buffer(stream, read, buffer, 0, 16));
        CHECK(rnl_event_synchronize(event, RNL_FOREVER));
        CHECK(rnl_stream_synchronize(stream, RNL_FOREVER));
        if (read[3] != i)
            return "the copied value";
        CHECK(rnl_buffer_release(buffer));
        CHECK(rnl_event_release(event));
        CHECK(rnl_stream_release(stream));
    }
    return NULL;
}

RNL_TEST(threads_with_streams_of_their_own)
{
    on_threads(make_and_release, suite_context());
}

static void *open_and_close(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10; i++) {
        rnl_context context = NULL;
        rnl_stream stream = NULL;
        CHECK(rnl_context_open(suite_api(), suite_index(), NULL, &context));
        CHECK(rnl_context_default_stream(context, &stream));
        CHECK(rnl_stream_synchronize(stream, RNL_FOREVER));
        CHECK(rnl_context_release(context));
    }
    return NULL;
}

RNL_TEST(threads_open_contexts_at_once)
{
    on_threads(open_and_close, NULL);
}

struct shared {
    rnl_stream stream;
    rnl_event event;
    rnl_buffer buffer;
    struct host_calls calls;
};

static void *use_one_stream(void *user_data)
{
    struct shared *shared = user_data;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK(rnl_enqueue_fill(shared->stream, shared->buffer, 0, 64, 1, 4));
        CHECK(rnl_enqueue_host_function(shared->stream, count_host_call,
                                        &shared->calls));
        CHECK(rnl_enqueue_event_record(shared->stream, shared->event));
        CHECK(rnl_enqueue_wait_event(shared->stream, shared->event));
        if (i % 10 == 0)
            CHECK(rnl_stream_synchronize(shared->stream, RNL_FOREVER));
        rnl_status status = rnl_event_query(shared->event);
        if (status != RNL_OK && status != RNL_NOT_READY)
            return "rnl_event_query";
    }
    CHECK(rnl_stream_synchronize(shared->stream, RNL_FOREVER));
    return NULL;
}

RNL_TEST(threads_share_a_stream_and_an_event)
{
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    static struct shared shared;
    shared = (struct shared){suite_new_stream(), suite_new_event(),
                             suite_ints(16, 0), {0, 0}};
    on_threads(use_one_stream, &shared);
    assert_int_equal(shared.calls.count, THREADS * ROUNDS);
    assert_int_equal(shared.calls.status, RNL_OK);
    suite_expect_ints(shared.buffer, 16, 1);
    expect_ok(rnl_stream_release(shared.stream));
    expect_ok(rnl_event_release(shared.event));
    expect_ok(rnl_buffer_release(shared.buffer));
}

static void *retain_and_release(void *buffer)
{
    for (int i = 0; i < 20 * ROUNDS; i++) {
        CHECK(rnl_buffer_retain(buffer));
        CHECK(rnl_buffer_release(buffer));
    }
    return NULL;
}

RNL_TEST(counts_survive_threads)
{
    rnl_buffer buffer = suite_new_buffer(64);
    on_threads(retain_and_release, buffer);
    expect_ok(rnl_buffer_release(buffer));
    expect_error(rnl_buffer_release(buffer), RNL_ERROR_INVALID_HANDLE,
                 "buffer");
}

// Uses a handle that another thread releases at any moment: each call works or
// is refused, nothing else.
static _Atomic(rnl_buffer) racing;
static _Atomic bool racing_done;

static void *use_racing(void *stream)
{
    while (!atomic_load(&racing_done)) {
        rnl_buffer buffer = atomic_load(&racing);
        rnl_buffer_info info = {.struct_size = sizeof info};
        rnl_status status = rnl_enqueue_fill(stream, buffer, 0, 64, 1, 4);
        if (status != RNL_OK && status != RNL_ERROR_INVALID_HANDLE)
            return "rnl_enqueue_fill";
        status = rnl_buffer_get_info(buffer, &info);
        if (status != RNL_OK && status != RNL_ERROR_INVALID_HANDLE)
            return "rnl_buffer_get_info";
        if (status == RNL_OK && info.size != 64)
            return "the size";
    }
    return NULL;
}

RNL_TEST(a_release_that_races_with_a_use)
{
    rnl_stream stream = suite_new_stream();
    pthread_t thread;
    void *result = NULL;
    atomic_store(&racing_done, false);
    atomic_store(&racing, suite_new_buffer(64));
    assert_int_equal(pthread_create(&thread, NULL, use_racing, stream), 0);
    for (int i = 0; i < 5 * ROUNDS; i++) {
        rnl_buffer old = atomic_load(&racing);
        atomic_store(&racing, suite_new_buffer(64));
        expect_ok(rnl_buffer_release(old));
    }
    atomic_store(&racing_done, true);
    pthread_join(thread, &result);
    if (result)
        fail_msg("the racing thread failed at: %s", (const char *)result);
    expect_ok(rnl_buffer_release(atomic_load(&racing)));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_ok(rnl_stream_release(stream));
}

static void *wait_for_stream(void *stream)
{
    CHECK(rnl_stream_synchronize(stream, RNL_FOREVER));
    return NULL;
}

RNL_TEST(several_threads_wait_for_one_stream)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(16, 0);
    pthread_t threads[THREADS];
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 64, 2, 4));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, wait_for_stream,
                                        stream), 0);
    gate_wait_entered(gate);
    gate_open(gate);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        assert_null(result);
    }
    expect_ok(rnl_stream_query(stream));
    suite_expect_ints(buffer, 16, 2);
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

static void *release_waited(void *stream)
{
    CHECK(rnl_stream_release(stream));
    return NULL;
}

RNL_TEST(a_stream_may_be_released_while_a_thread_waits_for_it)
{
    rnl_stream stream = suite_new_stream();
    pthread_t waiter, releaser;
    void *result = NULL;
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_stream_retain(stream));
    assert_int_equal(pthread_create(&waiter, NULL, wait_for_stream, stream),
                     0);
    assert_int_equal(pthread_create(&releaser, NULL, release_waited, stream),
                     0);
    pthread_join(releaser, &result);
    assert_null(result);
    gate_open(gate);
    pthread_join(waiter, &result);
    assert_null(result);
    expect_ok(rnl_stream_release(stream));
    suite_end();
    gate_free(gate);
}

static const char source[] =
    "extern \"C\" __global__ void put(int *p, int v) { *p = v; }\n";

static void *compile_and_run(void *context)
{
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    rnl_function function = NULL;
    int read = 0;
    CHECK(rnl_stream_create(context, NULL, &stream));
    CHECK(rnl_buffer_create(context, 4, NULL, &buffer));
    CHECK(rnl_function_compile(context, source, "put", NULL, &function));
    CHECK(rnl_enqueue_function(stream, function,
                               RNL_LAUNCH(.grid = {1}, .block = {1}),
                               RNL_ARGS(buffer, 5)));
    CHECK(rnl_copy_from_buffer_and_wait(stream, &read, buffer, 0, 4));
    CHECK(rnl_function_release(function));
    CHECK(rnl_buffer_release(buffer));
    CHECK(rnl_stream_release(stream));
    return read == 5 ? NULL : "the value";
}

RNL_TEST(threads_compile_the_same_source_at_once)
{
    suite_need(RNL_FEATURE_COMPILE);
    on_threads(compile_and_run, suite_context());
}

// The thread that made things ends before they are used.
static void *make_stream(void *context)
{
    rnl_stream stream = NULL;
    return rnl_stream_create(context, NULL, &stream) == RNL_OK ? stream : NULL;
}

RNL_TEST(a_stream_outlives_the_thread_that_made_it)
{
    pthread_t thread;
    void *stream = NULL;
    rnl_buffer buffer = suite_ints(4, 0);
    assert_int_equal(pthread_create(&thread, NULL, make_stream,
                                    suite_context()), 0);
    pthread_join(thread, &stream);
    assert_non_null(stream);
    expect_ok(rnl_fill_and_wait(stream, buffer, 0, 16, 1, 4));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

// --- The host in graphs ----------------------------------------------------

// Streams that wait for each other and call the host, by graphs and without,
// while others keep the device's driver busy.
struct crowd {
    rnl_context context;
    rnl_stream streams[THREADS];
    rnl_event events[THREADS];
    rnl_graph graph;
    rnl_graph_exec exec;
    rnl_module module;
    atomic_int calls, asked, threads;
    atomic_bool over;
};

static void count_call(rnl_status status, void *crowd)
{
    atomic_fetch_add(&((struct crowd *)crowd)->calls, status == RNL_OK);
}

static void *call_the_host(void *opaque)
{
    struct crowd *crowd = opaque;
    uint32_t random =
        (uint32_t)atomic_fetch_add(&crowd->threads, 1) * 2654435761 + 1;
    for (int i = 0; i < 2 * ROUNDS; i++) {
        random = random * 1664525 + 1013904223;
        rnl_stream stream = crowd->streams[random >> 8 & 3];
        rnl_event event = crowd->events[random >> 12 & 3];
        switch ((random >> 16) % 5) {
        case 0:
            CHECK(rnl_enqueue_event_record(stream, event));
            break;
        case 1:
            CHECK(rnl_enqueue_wait_event(stream, event));
            break;
        case 2:
            CHECK(rnl_enqueue_graph(stream, crowd->exec));
            atomic_fetch_add(&crowd->asked, 1);
            break;
        default:
            CHECK(rnl_enqueue_host_function(stream, count_call, crowd));
            atomic_fetch_add(&crowd->asked, 1);
        }
    }
    return NULL;
}

static void crowd_make(struct crowd *crowd)
{
    *crowd = (struct crowd){.context = suite_context()};
    for (int i = 0; i < THREADS; i++) {
        crowd->streams[i] = suite_new_stream();
        crowd->events[i] = suite_new_event();
    }
    expect_ok(rnl_stream_begin_capture(crowd->streams[0], NULL));
    expect_ok(rnl_enqueue_host_function(crowd->streams[0], count_call, crowd));
    expect_ok(rnl_stream_end_capture(crowd->streams[0], &crowd->graph));
    expect_ok(rnl_graph_instantiate(crowd->graph, &crowd->exec));
}

// `meanwhile` runs on a thread of its own until the others are done.
static void crowd_call(struct crowd *crowd, void *(*meanwhile)(void *))
{
    pthread_t thread;
    void *result = NULL;
    assert_int_equal(pthread_create(&thread, NULL, meanwhile, crowd), 0);
    on_threads(call_the_host, crowd);
    atomic_store(&crowd->over, true);
    pthread_join(thread, &result);
    if (result)
        fail_msg("a thread failed at: %s", (const char *)result);
    expect_ok(rnl_context_synchronize(crowd->context, RNL_FOREVER));
    assert_int_equal(atomic_load(&crowd->calls), atomic_load(&crowd->asked));
    expect_ok(rnl_graph_exec_release(crowd->exec));
    expect_ok(rnl_graph_release(crowd->graph));
    for (int i = 0; i < THREADS; i++) {
        expect_ok(rnl_event_release(crowd->events[i]));
        expect_ok(rnl_stream_release(crowd->streams[i]));
    }
}

static void *load_code(void *opaque)
{
    struct crowd *crowd = opaque;
    const void *binary = NULL;
    size_t size = 0;
    CHECK(rnl_module_binary(crowd->module, &binary, &size));
    while (!atomic_load(&crowd->over)) {
        rnl_module module = NULL;
        CHECK(rnl_module_load(crowd->context, binary, size, NULL, &module));
        CHECK(rnl_module_release(module));
    }
    return NULL;
}

RNL_TEST(code_is_loaded_while_graphs_call_the_host)
{
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    suite_need(RNL_FEATURE_COMPILE);
    struct crowd crowd;
    crowd_make(&crowd);
    crowd.module = suite_module("extern \"C\" __global__ void nothing() {}");
    crowd_call(&crowd, load_code);
    expect_ok(rnl_module_release(crowd.module));
}

// More than a driver has room for, so that it waits for the device.
static void *instantiate_graphs(void *opaque)
{
    enum { GRAPHS = 100 };
    struct crowd *crowd = opaque;
    while (!atomic_load(&crowd->over)) {
        rnl_graph_exec execs[GRAPHS];
        for (int i = 0; i < GRAPHS; i++)
            CHECK(rnl_graph_instantiate(crowd->graph, &execs[i]));
        for (int i = 0; i < GRAPHS; i++)
            CHECK(rnl_graph_exec_release(execs[i]));
    }
    return NULL;
}

RNL_TEST(graphs_are_instantiated_while_graphs_call_the_host)
{
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    struct crowd crowd;
    crowd_make(&crowd);
    crowd_call(&crowd, instantiate_graphs);
}

// --- Deleters that wait ----------------------------------------------------

struct unlocking {
    rnl_context context;
    void *memory;
    atomic_bool begun, over;
};

static void *unlock(void *opaque)
{
    struct unlocking *unlocking = opaque;
    while (!atomic_load(&unlocking->begun))
        sched_yield();
    rnl_status status =
        rnl_host_unregister(unlocking->context, unlocking->memory);
    atomic_store(&unlocking->over, true);
    return status ? "rnl_host_unregister" : NULL;
}

static void await_unlocked(void *memory, size_t size, void *opaque)
{
    struct unlocking *unlocking = opaque;
    (void)memory;
    (void)size;
    atomic_store(&unlocking->begun, true);
    while (!atomic_load(&unlocking->over))
        sched_yield();
}

// As with a lock that both of them want.
RNL_TEST(a_deleter_may_wait_for_who_unlocks_memory)
{
    static _Alignas(4096) char memory[4096];
    // The deleter may look at it after all calls have returned.
    static struct unlocking unlocking;
    unlocking.context = suite_context();
    unlocking.memory = memory;
    rnl_buffer buffer = suite_new_buffer(64), wrapped = NULL;
    pthread_t thread;
    void *result = NULL;
    expect_ok(rnl_buffer_wrap(suite_context(), suite_address(buffer), 64,
                              RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_DEVICE,
                                               .deleter = await_unlocked,
                                               .user_data = &unlocking),
                              &wrapped));
    expect_ok(rnl_host_register(suite_context(), memory, sizeof memory));
    assert_int_equal(pthread_create(&thread, NULL, unlock, &unlocking), 0);
    expect_ok(rnl_enqueue_fill(suite_stream(), wrapped, 0, 64, 0, 4));
    expect_ok(rnl_buffer_release(wrapped));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    pthread_join(thread, &result);
    assert_null(result);
    expect_ok(rnl_buffer_release(buffer));
}

static void await_told(void *pointer, size_t size, void *told)
{
    (void)pointer;
    (void)size;
    while (sem_wait(told) != 0)
        continue;
}

static void tell(rnl_status status, void *told)
{
    (void)status;
    sem_post(told);
}

RNL_TEST(a_deleter_may_wait_for_what_waits_for_its_release)
{
    static sem_t told;
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_buffer buffer = suite_new_buffer(64), wrapped = NULL;
    assert_int_equal(sem_init(&told, 0, 0), 0);
    expect_ok(rnl_buffer_wrap(suite_context(), suite_address(buffer), 64,
                              RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_DEVICE,
                                               .deleter = await_told,
                                               .user_data = &told),
                              &wrapped));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_buffer_release(stream, wrapped));
    expect_ok(rnl_enqueue_wait_stream(other, stream));
    expect_ok(rnl_enqueue_host_function(other, tell, &told));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
}
