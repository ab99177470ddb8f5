// Any object may be released at any moment: one scenario, in which each object
// is released before each step, once. What comes later and needs it is refused;
// what was enqueued is done; nothing is held in the end.
#include "graphs.h"
#include "words.h"

struct world {
    rnl_context context;
    rnl_stream stream, other, captured, joined;
    rnl_event event, promise, inside;
    rnl_buffer buffer, slice, made;
    rnl_function function;
    rnl_graph graph, child, clone, recording;
    rnl_graph_exec exec, second;
    rnl_node node;   // the last of `graph`
    rnl_graph body;  // of a node: not the test's to release
};

// Holds `stream` shut while it is 0. The test's own, so that it can be opened
// whatever was released.
static _Atomic uint32_t word;

// --- The steps -------------------------------------------------------------

#define STEP(name, call)                        \
    static rnl_status name(struct world *w)     \
    {                                           \
        return call;                            \
    }

static rnl_status add_one(const rnl_native_call *call)
{
    _Atomic int *const *sum = call->arguments[0];
    atomic_fetch_add(*sum, 1);  // several streams may be at it
    return RNL_OK;
}

static const rnl_value_op *until_open(void)
{
    static rnl_value_op op = {.struct_size = sizeof op,
                              .action = RNL_WAIT_EQ, .width = 32,
                              .pointer = &word, .value = 1};
    return &op;
}

static rnl_status add_to_graph(struct world *w, const rnl_node_params *params)
{
    return w->node ? rnl_graph_add_node(w->graph, RNL_AFTER(w->node), params,
                                        &w->node)
                   : rnl_graph_add_node(w->graph, RNL_AT_START, params,
                                        &w->node);
}

static rnl_status run_in(rnl_graph graph, rnl_function function,
                         rnl_buffer buffer)
{
    rnl_node node;
    return rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = function,
                 .launch = one_thread(), .args = RNL_ARGS(buffer)), &node);
}

static rnl_status run_on(rnl_stream stream, rnl_function function,
                         rnl_buffer buffer)
{
    return rnl_enqueue_function(stream, function, one_thread(),
                                RNL_ARGS(buffer));
}

static rnl_status open_word(struct world *w)
{
    (void)w;
    atomic_store(&word, 1);
    return RNL_OK;
}

static rnl_status look(struct world *w)
{
    rnl_status status = rnl_stream_query(w->other);
    return status == RNL_NOT_READY ? RNL_OK : status;
}

STEP(shut, rnl_enqueue_values(w->stream, until_open(), 1))
STEP(cut, rnl_buffer_slice(w->buffer, 16, 16, &w->slice))
STEP(run, run_on(w->stream, w->function, w->buffer))
STEP(run_slice, run_on(w->stream, w->function, w->slice))
STEP(run_in_child, run_in(w->child, w->function, w->slice))
STEP(run_in_body, run_in(w->body, w->function, w->buffer))
STEP(record, rnl_enqueue_event_record(w->stream, w->event))
STEP(wait, rnl_enqueue_wait_event(w->other, w->event))
STEP(wait_promise, rnl_enqueue_wait_event(w->other, w->promise))
STEP(join_stream, rnl_enqueue_wait_stream(w->other, w->stream))
STEP(make, rnl_enqueue_buffer_create(w->other, 64, NULL, &w->made))
STEP(fill_made, rnl_enqueue_fill(w->other, w->made, 0, 64, 0, 4))
STEP(add_child, add_to_graph(w, RNL_NODE(.kind = RNL_NODE_CHILD,
                                         .child = w->child)))
STEP(add_record, add_to_graph(w, RNL_NODE(.kind = RNL_NODE_EVENT_RECORD,
                                          .event = w->event)))
STEP(add_wait, add_to_graph(w, RNL_NODE(.kind = RNL_NODE_EVENT_WAIT,
                                        .event = w->event)))
STEP(add_branch, add_to_graph(w, RNL_NODE(.kind = RNL_NODE_IF,
                                          .buffer = w->buffer,
                                          .out_body = &w->body)))
STEP(copy_graph, rnl_graph_clone(w->graph, &w->clone))
STEP(prepare, rnl_graph_instantiate(w->graph, &w->exec))
STEP(launch, rnl_enqueue_graph(w->stream, w->exec))
STEP(launch_other, rnl_enqueue_graph(w->other, w->exec))
STEP(update, rnl_graph_exec_update(w->exec, w->clone, NULL))
STEP(begin, rnl_stream_begin_capture(w->captured, NULL))
STEP(run_captured, run_on(w->captured, w->function, w->buffer))
STEP(fork_out, rnl_enqueue_event_record(w->captured, w->inside))
STEP(fork_in, rnl_enqueue_wait_event(w->joined, w->inside))
STEP(run_joined, run_on(w->joined, w->function, w->slice))
STEP(join_out, rnl_enqueue_event_record(w->joined, w->inside))
STEP(join_in, rnl_enqueue_wait_event(w->captured, w->inside))
STEP(end, rnl_stream_end_capture(w->captured, &w->recording))
STEP(prepare_second, rnl_graph_instantiate(w->recording, &w->second))
STEP(launch_second, rnl_enqueue_graph(w->captured, w->second))
STEP(keep_promise, rnl_enqueue_event_record(w->stream, w->promise))
STEP(give_back, rnl_buffer_set_release_stream(w->made, w->captured))
STEP(launch_again, rnl_enqueue_graph(w->joined, w->second))

static rnl_status (*const steps[])(struct world *w) = {
    shut, cut, run, run_slice, record, wait, wait_promise, join_stream, make,
    fill_made, run_in_child, add_child, add_record, add_wait, add_branch,
    run_in_body, copy_graph, prepare, launch, launch_other, update, begin,
    run_captured, fork_out, fork_in, run_joined, join_out, join_in, end,
    prepare_second, launch_second, keep_promise, give_back, look, open_word,
    launch_again, look,
};
enum { STEPS = sizeof steps / sizeof steps[0] };

// --- The objects -----------------------------------------------------------

#define OBJECT(member, release_it)                                      \
    static void *member##_of(const struct world *w)                     \
    {                                                                   \
        return w->member;                                               \
    }                                                                   \
    static rnl_status member##_release(const struct world *w)           \
    {                                                                   \
        return release_it(w->member);                                   \
    }

OBJECT(context, rnl_context_release)
OBJECT(stream, rnl_stream_release)
OBJECT(other, rnl_stream_release)
OBJECT(captured, rnl_stream_release)
OBJECT(joined, rnl_stream_release)
OBJECT(event, rnl_event_release)
OBJECT(promise, rnl_event_release)
OBJECT(inside, rnl_event_release)
OBJECT(buffer, rnl_buffer_release)
OBJECT(slice, rnl_buffer_release)
OBJECT(made, rnl_buffer_release)
OBJECT(function, rnl_function_release)
OBJECT(graph, rnl_graph_release)
OBJECT(child, rnl_graph_release)
OBJECT(clone, rnl_graph_release)
OBJECT(recording, rnl_graph_release)
OBJECT(exec, rnl_graph_exec_release)
OBJECT(second, rnl_graph_exec_release)

#define ENTRY(member) {#member, member##_of, member##_release}
static const struct {
    const char *name;
    void *(*get)(const struct world *w);
    rnl_status (*release)(const struct world *w);
} objects[] = {
    ENTRY(context), ENTRY(stream), ENTRY(other), ENTRY(captured),
    ENTRY(joined), ENTRY(event), ENTRY(promise), ENTRY(inside), ENTRY(buffer),
    ENTRY(slice), ENTRY(made), ENTRY(function), ENTRY(graph), ENTRY(child),
    ENTRY(clone), ENTRY(recording), ENTRY(exec), ENTRY(second),
};
enum { OBJECTS = sizeof objects / sizeof objects[0] };

static void set_up(struct world *w)
{
    *w = (struct world){.context = suite_open(NULL)};
    atomic_store(&word, 0);
    expect_ok(rnl_host_register(w->context, &word, sizeof word));
    rnl_stream *streams[] = {&w->stream, &w->other, &w->captured, &w->joined};
    for (int i = 0; i < 4; i++)
        expect_ok(rnl_stream_create(w->context, NULL, streams[i]));
    expect_ok(rnl_event_create(w->context, NULL, &w->event));
    expect_ok(rnl_event_create(w->context, NULL, &w->inside));
    expect_ok(rnl_event_create(w->context, RNL_EVENT_OPTIONS(.promise = true),
                               &w->promise));
    expect_ok(rnl_buffer_create(
        w->context, 64, RNL_BUFFER_OPTIONS(.zeroed = true), &w->buffer));
    static const rnl_parameter sum = {RNL_VALUE_POINTER, 8, 8,
                                      "int *"};
    expect_ok(rnl_function_create_native(
        w->context, "add_one", add_one,
        RNL_NATIVE_OPTIONS(.parameters = &sum, .parameter_count = 1),
        &w->function));
    expect_ok(rnl_graph_create(w->context, NULL, &w->graph));
    expect_ok(rnl_graph_create(w->context, NULL, &w->child));
}

// --- The sweep -------------------------------------------------------------

// What a step may say once something that it needs was released.
static bool may_be(rnl_status status)
{
    return status == RNL_OK || status == RNL_ERROR_INVALID_HANDLE ||
           status == RNL_ERROR_INVALID_STATE ||
           status == RNL_ERROR_CAPTURE_UNJOINED ||
           status == RNL_ERROR_CAPTURED_EVENT ||
           status == RNL_ERROR_GRAPH_UPDATE ||
           status == RNL_ERROR_DEPENDENCY_FAILED;
}

static void expect_step(rnl_status status, int step, int moment, int object)
{
    const char *name = object < OBJECTS ? objects[object].name : "nothing";
    bool before = object == OBJECTS || step < moment;
    if (before ? status != RNL_OK : !may_be(status))
        fail_msg("%s released before step %d: step %d says %s: %s", name,
                 moment, step, rnl_status_name(status),
                 rnl_last_error()->message);
}

static void tear_down(const struct world *w, int released)
{
    for (int i = 0; i < OBJECTS; i++) {
        if (i == released)
            expect_error(objects[i].release(w), RNL_ERROR_INVALID_HANDLE,
                         NULL);
        else
            expect_ok(objects[i].release(w));
    }
    atomic_store(&word, 1);
    suite_expect_empty();
}

// Without a release when the object is not there yet.
static void try_moment(int object, int moment)
{
    struct world world;
    bool released = false;
    set_up(&world);
    for (int step = 0; step < STEPS; step++) {
        if (step == moment && object < OBJECTS && objects[object].get(&world)) {
            expect_ok(objects[object].release(&world));
            released = true;
        }
        expect_step(steps[step](&world), step, moment, object);
    }
    tear_down(&world, released ? object : OBJECTS);
}

static void need_all(void)
{
    suite_need(RNL_FEATURE_GRAPHS);
    suite_need(RNL_FEATURE_CAPTURE);
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    suite_need(RNL_FEATURE_PROMISES);
    suite_end();
}

// Each object from `first` to `last`.
static void sweep(const char *first, const char *last)
{
    int object = 0;
    need_all();
    while (strcmp(objects[object].name, first) != 0)
        object++;
    for (bool more = true; more; object++) {
        for (int moment = 0; moment < STEPS; moment++)
            try_moment(object, moment);
        more = strcmp(objects[object].name, last) != 0;
    }
}

RNL_TEST(the_scenario_runs_when_all_is_released_at_its_end)
{
    need_all();
    try_moment(OBJECTS, 0);
}

RNL_TEST(contexts_and_streams_may_be_released_at_any_moment)
{
    sweep("context", "joined");
}

RNL_TEST(events_may_be_released_at_any_moment)
{
    sweep("event", "inside");
}

RNL_TEST(memory_and_functions_may_be_released_at_any_moment)
{
    sweep("buffer", "function");
}

RNL_TEST(graphs_may_be_released_at_any_moment)
{
    sweep("graph", "second");
}
