// Calls that come late: another thread has released what they found by then.
#include "core/backend.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"

#include "backends/cudalike/stream/event.h"
#include "backends/cudalike/stream/deferred.h"

#include "loaded.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 64 };

static rnl_context the_context;
static rnl_stream the_stream;
static rnl_event the_event;
static struct fake_gate gate;

static void begin(void)
{
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &the_context));
    assert_ok(rnl_stream_create(the_context, NULL, &the_stream));
    assert_ok(rnl_event_create(the_context, NULL, &the_event));
}

static void end(void)
{
    assert_ok(rnl_event_release(the_event));
    assert_ok(rnl_stream_release(the_stream));
    assert_ok(rnl_context_release(the_context));
    fake_expect_empty();
}

static struct stream *find_stream(void)
{
    return (struct stream *)object_find(the_stream, OBJECT_STREAM);
}

static struct event *find_event(void)
{
    return (struct event *)object_find(the_event, OBJECT_EVENT);
}

// --- Events ------------------------------------------------------------------

// What a thread that found the event before another one released it still
// calls: looks are refused, all else meets one that was never recorded. What it
// leaves there goes with the context, …
RNL_TEST(an_event_that_is_gone_takes_late_calls)
{
    begin();
    struct event *event = find_event();
    struct stream *stream = find_stream();
    assert_ok(rnl_enqueue_host_function(the_stream, fake_hold, &gate));
    assert_ok(rnl_enqueue_event_record(the_stream, the_event));
    assert_ok(rnl_enqueue_event_record(the_stream, the_event));
    assert_ok(rnl_event_release(the_event));
    assert_int_equal(event->backend->event_query(event),
                     RNL_ERROR_INVALID_HANDLE);
    assert_ok(event->backend->event_join(stream, event));
    assert_ok(event->backend->event_record(event, stream));
    assert_ok(event->backend->event_record(event, stream));
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(the_stream, RNL_FOREVER));
    assert_ok(rnl_event_create(the_context, NULL, &the_event));
    end();
}

// The next event in that memory.
static void create_in(const struct object *memory,
                      const rnl_event_options *options)
{
    for (int i = 0;; i++) {
        assert_true(i < 1000);
        assert_ok(rnl_event_create(the_context, options, &the_event));
        if (object_find(the_event, OBJECT_EVENT) == memory)
            break;
        assert_ok(rnl_event_release(the_event));
    }
}

// … or before the event's memory is another event's.
RNL_TEST(what_a_late_record_left_is_not_the_next_events)
{
    begin();
    struct object *event = object_find(the_event, OBJECT_EVENT);
    struct stream *stream = find_stream();
    assert_ok(rnl_enqueue_host_function(the_stream, fake_hold, &gate));
    assert_ok(rnl_event_release(the_event));
    assert_ok(stream->backend->event_record((struct event *)event, stream));
    create_in(event, NULL);
    assert_ok(rnl_event_query(the_event));
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(the_stream, RNL_FOREVER));
    end();
}

RNL_TEST(a_promise_that_is_gone_claims_no_other_one)
{
    const rnl_event_options *options = RNL_EVENT_OPTIONS(.promise = true);
    begin();
    struct stream *stream = find_stream();
    assert_ok(rnl_event_release(the_event));
    assert_ok(rnl_event_create(the_context, options, &the_event));
    struct event *gone = find_event();
    assert_ok(rnl_enqueue_event_record(the_stream, the_event));
    assert_ok(rnl_event_release(the_event));
    assert_int_equal(gone->backend->event_record(gone, stream),
                     RNL_ERROR_INVALID_STATE);
    create_in(&gone->object, options);
    assert_ok(rnl_enqueue_event_record(the_stream, the_event));
    assert_ok(rnl_event_synchronize(the_event, RNL_FOREVER));
    end();
}

// --- Streams -----------------------------------------------------------------

static void record_often(void)
{
    for (int i = 0; i < 3; i++)
        assert_ok(rnl_enqueue_event_record(the_stream, the_event));
    assert_ok(rnl_stream_synchronize(the_stream, RNL_FOREVER));
}

static bool has_spare(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->lock);
    bool has = own->spares[false] != NULL;
    lock_give(&own->lock);
    return has;
}

static void await_end(struct object *object, uint32_t generation)
{
    while (atomic_load(&object->generation) == generation)
        sched_yield();
}

// The service lets go of it when it has looked for the last time.
static void release_and_await_end(struct object *stream)
{
    uint32_t generation = atomic_load(&stream->generation);
    assert_ok(rnl_stream_release(the_stream));
    await_end(stream, generation);
}

// What the driver records with is the next stream's by then.
RNL_TEST(a_stream_that_is_gone_refuses_late_records)
{
    rnl_event other;
    void *first, *second;
    begin();
    struct stream *stream = find_stream();
    struct event *event = find_event();
    record_often();
    assert_true(has_spare(stream));
    release_and_await_end(&stream->object);
    assert_false(has_spare(stream));
    assert_int_equal(event->backend->event_record(event, stream),
                     RNL_ERROR_INVALID_HANDLE);
    assert_int_equal(object_references(&stream->object), 0);
    assert_ok(rnl_stream_create(the_context, NULL, &the_stream));
    assert_ok(rnl_event_create(the_context, NULL, &other));
    assert_ok(rnl_enqueue_event_record(the_stream, other));
    assert_ok(rnl_event_native(the_event, &first));
    assert_ok(rnl_event_native(other, &second));
    assert_ptr_not_equal(first, second);
    assert_ok(rnl_event_release(other));
    end();
}

static struct stream *open_gone(void)
{
    begin();
    struct stream *stream = find_stream();
    release_and_await_end(&stream->object);
    assert_ok(rnl_stream_create(the_context, NULL, &the_stream));
    return stream;
}

static void expect_untouched(struct stream *gone)
{
    assert_int_equal(object_references(&gone->object), 0);
    assert_ptr_equal(timeline_of(gpu_stream_of(gone)), &timeline_ended);
    assert_true(timeline_is_sound(&timeline_ended));
    assert_null(atomic_load(&gone->failure));
}

RNL_TEST(a_stream_that_is_gone_waits_for_no_promise)
{
    rnl_event promise;
    struct stream *gone = open_gone();
    assert_ok(rnl_event_create(the_context,
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    assert_int_equal(
        gone->backend->event_join(
            gone, (struct event *)object_find(promise, OBJECT_EVENT)),
        RNL_ERROR_INVALID_HANDLE);
    expect_untouched(gone);
    assert_ok(rnl_event_release(promise));
    end();
}

RNL_TEST(a_stream_that_is_gone_is_told_of_no_failures)
{
    rnl_buffer buffer;
    static char memory[SIZE];
    struct stream *gone = open_gone();
    struct event *event = find_event();
    assert_ok(rnl_buffer_create(the_context, SIZE, NULL, &buffer));
    assert_ok(rnl_enqueue_host_function(the_stream, fake_hold, &gate));
    assert_ok(rnl_enqueue_copy_to_buffer(the_stream, buffer, 0, memory,
                                         SIZE));
    assert_ok(rnl_enqueue_event_record(the_stream, the_event));
    struct event_point point = gpu_event_point(event);
    assert_true(timeline_depend(point.at, gone, 1));
    event_point_drop(event->object.context, &point);
    expect_untouched(gone);
    fake_fail("cuMemcpyAsync", 1, 2, 1);
    atomic_store(&gate.open, 1);
    assert_true(rnl_stream_synchronize(the_stream, RNL_FOREVER) != RNL_OK);
    fake_fail("cuMemcpyAsync", 0, 0, 0);
    assert_int_equal(gone->backend->event_join(gone, event),
                     RNL_ERROR_INVALID_HANDLE);
    expect_untouched(gone);
    assert_ok(rnl_stream_reset_and_wait(the_stream));
    assert_ok(rnl_buffer_release(buffer));
    end();
}

// The driver's stream may be another one by then.
RNL_TEST(a_stream_that_is_gone_is_not_waited_for)
{
    void *native;
    begin();
    struct stream *gone = find_stream();
    assert_ok(rnl_stream_native(the_stream, &native));
    release_and_await_end(&gone->object);
    assert_ok(rnl_stream_create(the_context, NULL, &the_stream));
    size_t before = fake_calls("*");
    assert_int_equal(gone->backend->stream_join(find_stream(), gone),
                     RNL_ERROR_INVALID_HANDLE);
    assert_int_equal(fake_calls("*"), before);
    end();
}

static sem_t inside, go_on;
static _Thread_local bool stops;  // at its next allocation or look

static void stop(void)
{
    if (!stops)
        return;
    stops = false;
    sem_post(&inside);
    sem_wait(&go_on);
}

static struct driver driver;  // the fake's, but for one function
static driver_stream_query_fn *query;

static void change_driver(void)
{
    struct gpu_context *gpu = gpu_of(stream_context(find_stream()));
    driver = *gpu->driver;
    gpu->driver = &driver;
}

static int stop_and_query(void *stream)
{
    stop();
    return query(stream);
}

static void *query_stopping(void *unused)
{
    rnl_stream stream = the_stream;
    stops = true;
    rnl_stream_query(stream);
    return unused;
}

// The driver is asked about it meanwhile.
RNL_TEST(a_stream_lives_while_it_is_looked_at)
{
    void *native;
    pthread_t thread;
    begin();
    struct object *stream = &find_stream()->object;
    change_driver();
    query = driver.call.stream_query;
    driver.call.stream_query = stop_and_query;
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
    assert_ok(rnl_stream_native(the_stream, &native));
    assert_int_equal(pthread_create(&thread, NULL, query_stopping, NULL), 0);
    sem_wait(&inside);
    size_t before = fake_calls("cuStreamDestroy");
    assert_ok(rnl_stream_release(the_stream));
    while (object_references(stream) > 1)
        sched_yield();
    assert_int_equal(object_references(stream), 1);
    assert_int_equal(fake_calls("cuStreamDestroy"), before);
    sem_post(&go_on);
    pthread_join(thread, NULL);
    assert_int_equal(object_references(stream), 0);
    assert_ok(rnl_stream_create(the_context, NULL, &the_stream));
    end();
}

static void *lent;  // the vendor's stream
static _Thread_local bool waits;
static atomic_bool asked, answered;

// The service comes back from the driver behind the one who waits.
static int query_and_stay(void *stream)
{
    int code = query(stream);
    if (stream != lent)
        return code;
    if (waits && code == 0) {
        sem_post(&go_on);
    } else if (!waits && !atomic_exchange(&asked, true)) {
        sem_post(&inside);
        sem_wait(&go_on);
        for (int i = 0; i < 1000; i++)
            sched_yield();
        atomic_store(&answered, true);
    }
    return code;
}

// Behind `wait` the owner may destroy the vendor's stream.
static void borrow_and_wait(void (*wait)(rnl_stream borrowed))
{
    rnl_stream borrowed, other;
    rnl_buffer word;
    begin();
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
    assert_ok(rnl_stream_native(the_stream, &lent));
    change_driver();
    query = driver.call.stream_query;
    driver.call.stream_query = query_and_stay;
    assert_ok(rnl_stream_borrow(the_context, lent, NULL, &borrowed));
    assert_ok(rnl_stream_create(the_context, NULL, &other));
    assert_ok(rnl_buffer_create(the_context, 4,
                                RNL_BUFFER_OPTIONS(.zeroed = true), &word));
    waits = true;
    assert_ok(rnl_enqueue_wait_value32(borrowed, word, 0, 1, RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_event_record(borrowed, the_event));
    sem_wait(&inside);
    assert_ok(rnl_enqueue_write_value32(other, word, 0, 1));
    wait(borrowed);
    assert_true(atomic_load(&answered));
    assert_ok(rnl_buffer_release(word));
    assert_ok(rnl_stream_release(borrowed));
    assert_ok(rnl_stream_release(other));
    end();
}

static void wait_once(rnl_stream borrowed)
{
    assert_ok(rnl_stream_synchronize(borrowed, RNL_FOREVER));
}

RNL_TEST(who_has_waited_for_a_borrowed_stream_may_destroy_it)
{
    borrow_and_wait(wait_once);
}

static void wait_for_what_is_done(rnl_stream borrowed)
{
    assert_ok(rnl_event_synchronize(the_event, RNL_FOREVER));
    sem_post(&go_on);
    assert_ok(rnl_stream_query(borrowed));
}

RNL_TEST(who_is_told_that_a_borrowed_stream_is_done_may_destroy_it)
{
    borrow_and_wait(wait_for_what_is_done);
}

// Others look at the promise before those who wait for it were told.
RNL_TEST(a_stream_that_is_gone_need_not_give_its_record)
{
    begin();
    struct stream *stream = find_stream();
    struct marker *marker = marker_take(stream_context(stream), false);
    marker_promise(marker);
    struct op *record = deferred_marker_op(stream, OP_TIMESTAMP, marker);
    deferred_marker_over(record, true);
    op_finish(record);
    release_and_await_end(&stream->object);
    uint32_t generation = atomic_load(&stream->object.generation);
    marker_submit(marker);
    assert_int_equal(atomic_load(&stream->object.generation), generation);
    marker_settle(marker, NULL);
    assert_ok(rnl_stream_create(the_context, NULL, &the_stream));
    marker_drop(stream_context(stream), marker);
    end();
}

static char called[3];

static void hold_and_note(rnl_status status, void *name)
{
    fake_hold(status, &gate);
    called[strlen(called)] = *(const char *)name;
}

static struct op *held_function(struct stream *stream, const char *name)
{
    struct op *op = op_create(stream, OP_HOST, 0);
    op->host.function = hold_and_note;
    op->host.user_data = (void *)name;
    return op;
}

// Something that the driver is not asked for, and two functions that it
// refuses, which the progress thread calls where no other is to be had.
static void *submit_refused(void *opaque)
{
    struct stream *stream = opaque;
    struct op *first = op_create(stream, OP_RELEASE, 0);
    first->next = held_function(stream, "a");
    first->next->next = held_function(stream, "b");
    assert_ok(stream->backend->stream_submit(stream, first));
    return NULL;
}

RNL_TEST(a_stream_lives_until_refused_functions_were_called)
{
    pthread_t thread;
    begin();
    struct stream *stream = find_stream();
    assert_ok(rnl_enqueue_event_record(the_stream, the_event));
    thread_fail_next(0, 1000);
    fake_fail("cuMemHostAlloc", 1, 2, 1);
    assert_int_equal(pthread_create(&thread, NULL, submit_refused, stream), 0);
    fake_await_entered(&gate);
    assert_ok(rnl_stream_release(the_stream));
    pthread_join(thread, NULL);
    assert_int_equal(object_references(&stream->object), 2);
    atomic_store(&gate.open, 1);
    while (object_references(&stream->object) > 0)
        sched_yield();
    assert_string_equal(called, "ab");
    thread_fail_next(0, 0);
    fake_fail("cuMemHostAlloc", 0, 0, 0);
    assert_ok(rnl_stream_create(the_context, NULL, &the_stream));
    end();
}

// --- Contexts ----------------------------------------------------------------

static void *allocate(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    stop();
    return aligned_alloc(alignment,
                         (size + alignment - 1) / alignment * alignment);
}

// A use after the end is seen.
static void release(void *memory, size_t size, void *user_data)
{
    (void)user_data;
    memset(memory, 0xA5, size);
    free(memory);
}

static void *wait_stopping(void *event)
{
    rnl_stream_query(the_stream);  // what a thread's first call allocates
    stops = true;
    assert_ok(rnl_enqueue_wait_event(the_stream, event));
    return NULL;
}

static void stop_allocations(void)
{
    assert_ok(rnl_allocator_set(
        RNL_ALLOCATOR(.allocate = allocate, .release = release)));
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
}

// The last one to keep it is its default stream, whose slot stays until the
// context's end.
static void end_context(rnl_context context)
{
    rnl_stream stream;
    assert_ok(rnl_context_default_stream(context, &stream));
    struct object *object = object_find(stream, OBJECT_STREAM);
    assert_ok(rnl_context_release(context));
    while (counts_references(atomic_load(&object->counts)) != OBJECT_ENDS)
        sched_yield();
}

RNL_TEST(a_context_lives_while_another_waits_for_its_event)
{
    rnl_context other;
    rnl_stream stream;
    rnl_event event;
    pthread_t thread;
    stop_allocations();
    begin();
    assert_ok(rnl_context_open("cuda", 0, NULL, &other));
    struct object *context = object_find(other, OBJECT_CONTEXT);
    assert_ok(rnl_context_default_stream(other, &stream));
    assert_ok(rnl_enqueue_host_function(stream, fake_hold, &gate));
    assert_ok(rnl_enqueue_event(stream, NULL, &event));
    assert_int_equal(pthread_create(&thread, NULL, wait_stopping, event), 0);
    sem_wait(&inside);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_event_release(event));
    end_context(other);
    while (object_references(context) > 1)
        sched_yield();
    assert_int_equal(object_references(context), 1);
    sem_post(&go_on);
    pthread_join(thread, NULL);
    assert_ok(rnl_stream_synchronize(the_stream, RNL_FOREVER));
    end();
}

static driver_event_query_fn *query_event;

static int stop_and_query_event(void *event)
{
    stop();
    return query_event(event);
}

static void *query_event_stopping(void *event)
{
    stops = true;
    assert_ok(rnl_event_query(event));
    return NULL;
}

static void *take_time_stopping(void *event)
{
    uint64_t ns;
    stops = true;
    assert_ok(rnl_event_elapsed(event, event, &ns));
    return NULL;
}

// The driver is asked about the event meanwhile.
static void end_context_during(void *(*look)(void *event))
{
    pthread_t thread;
    begin();
    sem_init(&inside, 0, 0);
    sem_init(&go_on, 0, 0);
    change_driver();
    query_event = driver.call.event_query;
    driver.call.event_query = stop_and_query_event;
    assert_ok(rnl_event_release(the_event));
    assert_ok(rnl_event_create(the_context, RNL_EVENT_OPTIONS(.timing = true),
                               &the_event));
    struct object *event = &find_event()->object;
    struct object *context = object_find(the_context, OBJECT_CONTEXT);
    assert_ok(rnl_enqueue_event_record(the_stream, the_event));
    assert_ok(rnl_stream_synchronize(the_stream, RNL_FOREVER));
    assert_int_equal(pthread_create(&thread, NULL, look, the_event), 0);
    sem_wait(&inside);
    assert_ok(rnl_event_release(the_event));
    assert_true(object_references(event) > 0);
    assert_ok(rnl_stream_release(the_stream));
    end_context(the_context);
    while (object_references(context) > 1)
        sched_yield();
    assert_int_equal(object_references(context), 1);
    sem_post(&go_on);
    pthread_join(thread, NULL);
    assert_int_equal(object_references(event), 0);
    fake_expect_empty();
}

RNL_TEST(a_context_lives_while_its_event_is_looked_at)
{
    end_context_during(query_event_stopping);
}

RNL_TEST(a_context_lives_while_a_time_between_its_events_is_taken)
{
    end_context_during(take_time_stopping);
}

// What the event stands for when the wait has begun is nothing to it.
RNL_TEST(a_wait_fails_with_what_it_waits_for)
{
    rnl_stream sick, well;
    rnl_buffer buffer;
    pthread_t thread;
    static char memory[SIZE];
    stop_allocations();
    begin();
    assert_ok(rnl_stream_create(the_context, NULL, &sick));
    assert_ok(rnl_stream_create(the_context, NULL, &well));
    assert_ok(rnl_buffer_create(the_context, SIZE, NULL, &buffer));
    assert_ok(rnl_enqueue_host_function(sick, fake_hold, &gate));
    assert_ok(rnl_enqueue_copy_to_buffer(sick, buffer, 0, memory, SIZE));
    assert_ok(rnl_enqueue_event_record(sick, the_event));
    assert_int_equal(pthread_create(&thread, NULL, wait_stopping, the_event),
                     0);
    sem_wait(&inside);
    assert_ok(rnl_enqueue_event_record(well, the_event));
    sem_post(&go_on);
    pthread_join(thread, NULL);
    fake_fail("cuMemcpyAsync", 1, 2, 1);
    atomic_store(&gate.open, 1);
    assert_status(rnl_stream_synchronize(the_stream, RNL_FOREVER),
                  RNL_ERROR_DEPENDENCY_FAILED);
    fake_fail("cuMemcpyAsync", 0, 0, 0);
    assert_ok(rnl_event_synchronize(the_event, RNL_FOREVER));
    assert_ok(rnl_stream_reset_and_wait(the_stream));
    assert_ok(rnl_stream_reset_and_wait(sick));
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_stream_release(sick));
    assert_ok(rnl_stream_release(well));
    end();
}

// --- Nodes of graphs ---------------------------------------------------------

static driver_graph_add_host_fn *add_host;
static struct driver_host_node added;

static int note_and_add(void **out_node, void *graph, void *const *after,
                        size_t count, const struct driver_host_node *host)
{
    added = *host;
    return add_host(out_node, graph, after, count, host);
}

// Behind a wait, so that the driver does not come to it.
static void launch_one_host_node(rnl_buffer word, struct fake_told *told)
{
    rnl_graph graph;
    rnl_graph_exec exec;
    rnl_node node;
    assert_ok(rnl_graph_create(the_context, NULL, &graph));
    assert_ok(rnl_graph_add_node(graph, RNL_AT_START,
                                 RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION,
                                          .host = fake_count,
                                          .user_data = told),
                                 &node));
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_enqueue_wait_value32(the_stream, word, 0, 1, RNL_WAIT_EQ));
    assert_ok(rnl_enqueue_graph(the_stream, exec));
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
}

// The driver was about to call it when the device was lost.
RNL_TEST(a_host_node_may_come_when_its_graph_is_gone)
{
    static struct fake_told told;
    rnl_buffer word;
    stop_allocations();
    begin();
    change_driver();
    add_host = driver.call.graph_add_host;
    driver.call.graph_add_host = note_and_add;
    assert_ok(rnl_buffer_create(the_context, SIZE,
                                RNL_BUFFER_OPTIONS(.zeroed = true), &word));
    launch_one_host_node(word, &told);
    fake_break(0, 700);
    assert_status(rnl_stream_synchronize(the_stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    assert_ok(rnl_buffer_release(word));
    end();
    added.function(added.user_data);
    assert_int_equal(told.count, 1);
}
