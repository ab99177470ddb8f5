// The next launch of an executable graph comes after the last one, not after
// what that one's stream was given since, also when the graph was changed
// meanwhile: here that waits for a word that is written behind the next launch.
#include "graphs.h"
#include "words.h"

#define SECOND UINT64_C(1000000000)

// A fill adds nothing to the order, but to disable it is no change that a
// driver makes in place.
struct scene {
    struct words words;
    rnl_buffer data;
    rnl_stream first, second, other;
    rnl_graph graph;
    rnl_graph_exec exec;
    rnl_node fill;
};

static rnl_graph_exec new_exec(rnl_buffer data, rnl_graph *out_graph,
                               rnl_node *out_fill)
{
    rnl_graph graph = new_graph();
    rnl_node first = fill_node(graph, RNL_AT_START, data, 5);
    *out_fill = fill_node(graph, RNL_AFTER(first), data, 6);
    *out_graph = graph;
    return instantiate(graph);
}

static struct scene scene_begin(void)
{
    struct scene scene = {.words = new_words(8)};
    scene.data = suite_ints(1, 0);
    scene.first = suite_new_stream();
    scene.second = suite_new_stream();
    scene.other = suite_new_stream();
    scene.exec = new_exec(scene.data, &scene.graph, &scene.fill);
    return scene;
}

static void wait_for_word(rnl_stream stream, const struct scene *scene)
{
    expect_ok(rnl_enqueue_wait_value32(stream, scene->words.buffer, 0, 1,
                                       RNL_WAIT_GEQ));
}

// The graph is launched on the second stream; the word lets the first one on.
static void launch_changed(struct scene *scene)
{
    expect_ok(rnl_graph_exec_set_enabled(scene->exec, scene->fill, false));
    expect_ok(rnl_enqueue_graph(scene->second, scene->exec));
}

static void scene_end(struct scene *scene)
{
    expect_ok(rnl_enqueue_write_value32(scene->second, scene->words.buffer, 0,
                                        1));
    expect_ok(rnl_stream_synchronize(scene->second, 30 * SECOND));
    expect_ok(rnl_stream_synchronize(scene->first, 30 * SECOND));
    expect_ok(rnl_stream_synchronize(scene->other, 30 * SECOND));
    suite_expect_ints(scene->data, 1, 5);
    drop_both(scene->graph, scene->exec);
    expect_ok(rnl_stream_release(scene->first));
    expect_ok(rnl_stream_release(scene->second));
    expect_ok(rnl_stream_release(scene->other));
    expect_ok(rnl_buffer_release(scene->data));
    expect_ok(rnl_buffer_release(scene->words.buffer));
}

RNL_TEST(a_wait_for_a_word_is_not_waited_for)
{
    struct scene scene = scene_begin();
    expect_ok(rnl_enqueue_graph(scene.first, scene.exec));
    wait_for_word(scene.first, &scene);
    launch_changed(&scene);
    scene_end(&scene);
}

// … and changed again and again.
RNL_TEST(nor_by_a_graph_that_is_changed_often)
{
    struct scene scene = scene_begin();
    expect_ok(rnl_enqueue_graph(scene.first, scene.exec));
    wait_for_word(scene.first, &scene);
    for (int i = 0; i < 4; i++)
        expect_ok(rnl_graph_exec_set_enabled(scene.exec, scene.fill, i % 2));
    launch_changed(&scene);
    scene_end(&scene);
}

// One stream lets the other on, in turn.
RNL_TEST(nor_by_launches_on_two_streams_in_turn)
{
    struct scene scene = scene_begin();
    rnl_buffer words = scene.words.buffer;
    for (uint32_t i = 1; i <= 21; i++) {
        expect_ok(rnl_enqueue_graph(scene.first, scene.exec));
        expect_ok(rnl_enqueue_wait_value32(scene.first, words, 4, i,
                                           RNL_WAIT_GEQ));
        expect_ok(rnl_graph_exec_set_enabled(scene.exec, scene.fill, i % 2));
        expect_ok(rnl_enqueue_graph(scene.second, scene.exec));
        expect_ok(rnl_enqueue_write_value32(scene.second, words, 4, i));
    }
    launch_changed(&scene);
    scene_end(&scene);
}

static rnl_event record_on(rnl_stream stream)
{
    rnl_event event = NULL;
    expect_ok(rnl_event_create(suite_context(), NULL, &event));
    expect_ok(rnl_enqueue_event_record(stream, event));
    return event;
}

RNL_TEST(a_wait_for_an_event_behind_one_is_not_waited_for)
{
    struct scene scene = scene_begin();
    wait_for_word(scene.other, &scene);
    rnl_event event = record_on(scene.other);
    expect_ok(rnl_enqueue_graph(scene.first, scene.exec));
    expect_ok(rnl_enqueue_wait_event(scene.first, event));
    launch_changed(&scene);
    scene_end(&scene);
    expect_ok(rnl_event_release(event));
}

RNL_TEST(a_wait_for_a_stream_behind_one_is_not_waited_for)
{
    struct scene scene = scene_begin();
    wait_for_word(scene.other, &scene);
    expect_ok(rnl_enqueue_graph(scene.first, scene.exec));
    expect_ok(rnl_enqueue_wait_stream(scene.first, scene.other));
    launch_changed(&scene);
    scene_end(&scene);
}

RNL_TEST(a_wait_for_a_promise_is_not_waited_for)
{
    rnl_event promise = NULL;
    struct scene scene = scene_begin();
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.promise = true), &promise));
    expect_ok(rnl_enqueue_graph(scene.first, scene.exec));
    expect_ok(rnl_enqueue_wait_event(scene.first, promise));
    launch_changed(&scene);
    expect_ok(rnl_enqueue_event_record(scene.second, promise));
    scene_end(&scene);
    expect_ok(rnl_event_release(promise));
}

// A first launch, which does not wait.
static void launch_through(struct scene *scene, rnl_graph_exec exec)
{
    atomic_store(scene->words.w32, 1);
    expect_ok(rnl_enqueue_graph(scene->first, exec));
    synchronize(scene->first);
    atomic_store(scene->words.w32, 0);
}

// The other graph is launched behind the scene's.
static void end_behind(struct scene *scene, rnl_graph graph,
                       rnl_graph_exec other)
{
    expect_ok(rnl_enqueue_graph(scene->first, scene->exec));
    expect_ok(rnl_enqueue_graph(scene->first, other));
    launch_changed(scene);
    scene_end(scene);
    drop_both(graph, other);
}

RNL_TEST(another_graph_that_waits_is_not_waited_for)
{
    struct scene scene = scene_begin();
    const rnl_value_op wait = op_on(scene.words, RNL_WAIT_GEQ, 0, 1);
    rnl_graph graph = new_graph();
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, RNL_AT_START,
        RNL_NODE(.kind = RNL_NODE_VALUES, .values = &wait, .value_count = 1),
        &node));
    rnl_graph_exec waits = instantiate(graph);
    launch_through(&scene, waits);
    end_behind(&scene, graph, waits);
}

static void await_word(rnl_status status, void *word)
{
    while (status == RNL_OK && !atomic_load((_Atomic uint32_t *)word))
        sched_yield();
}

RNL_TEST(another_graph_that_calls_the_host_is_not_waited_for)
{
    struct scene scene = scene_begin();
    rnl_graph graph = new_graph();
    host_node(graph, RNL_AT_START, await_word, scene.words.pointer);
    rnl_graph_exec calls = instantiate(graph);
    launch_through(&scene, calls);
    end_behind(&scene, graph, calls);
}

RNL_TEST(another_graph_that_waits_for_an_event_is_not_waited_for)
{
    struct scene scene = scene_begin();
    rnl_graph graph = new_graph();
    rnl_event event = suite_new_event();
    event_node(graph, RNL_NODE_EVENT_WAIT, RNL_AT_START, event);
    rnl_graph_exec waits = instantiate(graph);
    launch_through(&scene, waits);
    wait_for_word(scene.other, &scene);
    expect_ok(rnl_enqueue_event_record(scene.other, event));
    end_behind(&scene, graph, waits);
    expect_ok(rnl_event_release(event));
}

// A loop that ends when the word is 0.
RNL_TEST(another_graph_that_loops_is_not_waited_for)
{
    struct scene scene = scene_begin();
    rnl_graph graph = new_graph(), body = NULL;
    rnl_buffer data = suite_ints(1, 0);
    struct words goes_on = new_words(4);
    body_node(graph, RNL_NODE_WHILE, RNL_AT_START, goes_on.buffer, &body);
    fill_node(body, RNL_AT_START, data, 1);
    rnl_graph_exec loops = instantiate(graph);
    expect_ok(rnl_enqueue_graph(scene.first, loops));
    synchronize(scene.first);
    atomic_store(goes_on.w32, 1);
    expect_ok(rnl_enqueue_graph(scene.first, scene.exec));
    expect_ok(rnl_enqueue_graph(scene.first, loops));
    expect_ok(rnl_graph_exec_set_enabled(scene.exec, scene.fill, false));
    expect_ok(rnl_enqueue_graph(scene.second, scene.exec));
    expect_ok(rnl_enqueue_write_value32(scene.second, goes_on.buffer, 0, 0));
    scene_end(&scene);
    drop_both(graph, loops);
    expect_ok(rnl_buffer_release(goes_on.buffer));
    expect_ok(rnl_buffer_release(data));
}

// The wait is given when the host function has returned.
RNL_TEST(a_wait_that_was_held_back_is_not_waited_for)
{
    struct scene scene = scene_begin();
    expect_ok(rnl_enqueue_graph(scene.first, scene.exec));
    struct gate *gate = gate_shut(scene.first);
    wait_for_word(scene.other, &scene);
    rnl_event event = record_on(scene.other), done = suite_new_event();
    expect_ok(rnl_enqueue_event_record(scene.first, done));
    expect_ok(rnl_enqueue_wait_event(scene.first, event));
    gate_open(gate);
    expect_ok(rnl_event_synchronize(done, RNL_FOREVER));
    launch_changed(&scene);
    scene_end(&scene);
    gate_free(gate);
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_event_release(done));
}

// That is, what it waits for on its own stream.
RNL_TEST(another_graph_that_comes_after_one_is_not_waited_for)
{
    struct scene scene = scene_begin();
    rnl_graph graph = NULL;
    rnl_node fill = NULL;
    rnl_buffer data = suite_ints(1, 0);
    rnl_graph_exec both = new_exec(data, &graph, &fill);
    wait_for_word(scene.other, &scene);
    expect_ok(rnl_enqueue_graph(scene.other, both));
    expect_ok(rnl_enqueue_graph(scene.first, scene.exec));
    expect_ok(rnl_enqueue_graph(scene.first, both));
    launch_changed(&scene);
    expect_ok(rnl_graph_exec_set_enabled(both, fill, false));
    expect_ok(rnl_enqueue_graph(scene.first, both));
    scene_end(&scene);
    drop_both(graph, both);
    expect_ok(rnl_buffer_release(data));
}

// Two graphs are launched before the wait, and both are changed.
RNL_TEST(a_wait_behind_several_graphs_is_not_waited_for)
{
    struct scene scene = scene_begin();
    rnl_graph graph = NULL;
    rnl_node fill = NULL;
    rnl_buffer data = suite_ints(1, 0);
    rnl_graph_exec also = new_exec(data, &graph, &fill);
    expect_ok(rnl_enqueue_graph(scene.first, also));
    expect_ok(rnl_enqueue_graph(scene.first, scene.exec));
    wait_for_word(scene.first, &scene);
    expect_ok(rnl_graph_exec_set_enabled(also, fill, false));
    expect_ok(rnl_enqueue_graph(scene.second, also));
    launch_changed(&scene);
    scene_end(&scene);
    drop_both(graph, also);
    expect_ok(rnl_buffer_release(data));
}

// What was given through the vendor's own handle is not known.
RNL_TEST(a_shared_stream_waits_for_the_host_behind_a_launch)
{
    struct scene scene = scene_begin();
    void *native = NULL;
    rnl_status status = rnl_stream_native(scene.first, &native);
    assert_true(status == RNL_OK || status == RNL_ERROR_UNSUPPORTED);
    expect_ok(rnl_enqueue_graph(scene.first, scene.exec));
    expect_ok(rnl_enqueue_host_function(scene.first, await_word,
                                        scene.words.pointer));
    expect_ok(rnl_enqueue_fill(scene.first, scene.data, 0, 4, 5, 4));
    launch_changed(&scene);
    scene_end(&scene);
}
