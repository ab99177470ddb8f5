// Memory of the host in graphs: ordinary, which a driver copies only for a
// caller who waits, and page-locked from one place to another. And what
// launches under way use, when the graph has something else by then.
#include "graphs.h"
#include "words.h"

enum { COUNT = 64, SIZE = COUNT * sizeof(int) };

static int given[COUNT], taken[COUNT], kept[COUNT];
static _Atomic int round_number;

static void give_round(rnl_status status, void *user_data)
{
    (void)user_data;
    if (status != RNL_OK)
        return;
    int number = atomic_fetch_add(&round_number, 1) + 1;
    for (int i = 0; i < COUNT; i++)
        given[i] = number * 100 + i;
}

static void expect_round(const int *of, int number)
{
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(of[i], number * 100 + i);
}

static void set_round(int *of, int number)
{
    for (int i = 0; i < COUNT; i++)
        of[i] = number * 100 + i;
}

static rnl_node copy_node(rnl_graph graph, const rnl_node *after, size_t count,
                          rnl_place to, rnl_place from)
{
    rnl_node node = NULL;
    expect_ok(rnl_graph_add_node(
        graph, after, count,
        RNL_NODE(.kind = RNL_NODE_COPY,
                 .copy = RNL_COPY(.to = to, .from = from, .width = SIZE)),
        &node));
    return node;
}

static rnl_place at(void *pointer)
{
    return (rnl_place){.pointer = pointer};
}

static rnl_place in(rnl_buffer buffer)
{
    return (rnl_place){.buffer = buffer};
}

static void *page_locked(void)
{
    void *pointer = NULL;
    expect_ok(rnl_host_allocate(suite_context(), SIZE, &pointer));
    return memset(pointer, 0, SIZE);
}

// given -> buffer -> taken, in a graph.
static rnl_graph_exec through(rnl_buffer buffer, rnl_node *out_to,
                              rnl_node *out_from)
{
    rnl_graph graph = new_graph();
    *out_to = copy_node(graph, RNL_AT_START, in(buffer), at(given));
    *out_from = copy_node(graph, RNL_AFTER(*out_to), at(taken), in(buffer));
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_release(graph));
    return exec;
}

// --- Order -----------------------------------------------------------------

RNL_TEST(a_graph_copies_what_its_host_functions_wrote)
{
    rnl_graph graph = new_graph();
    rnl_buffer buffer = suite_new_buffer(SIZE);
    rnl_node node = host_node(graph, RNL_AT_START, give_round, NULL);
    node = copy_node(graph, RNL_AFTER(node), in(buffer), at(given));
    node = copy_node(graph, RNL_AFTER(node), at(taken), in(buffer));
    copy_node(graph, RNL_AFTER(node), at(kept), at(taken));
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 1; i <= 3; i++) {
        launch_and_wait(exec);
        expect_round(taken, i);
        expect_round(kept, i);
    }
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_graph_copies_what_was_written_before_it)
{
    rnl_buffer buffer = suite_new_buffer(SIZE);
    rnl_node to, from;
    rnl_graph_exec exec = through(buffer, &to, &from);
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_host_function(suite_stream(), give_round, NULL));
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    expect_round(taken, 1);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_buffer_release(buffer));
}

// Whoever launches it may be the one that lets its stream on.
RNL_TEST(a_graph_that_copies_for_the_host_holds_nobody_up)
{
    rnl_graph graph = new_graph();
    int *one = page_locked(), *other = page_locked();
    rnl_buffer buffer = suite_new_buffer(SIZE);
    set_round(one, 7);
    rnl_node node = copy_node(graph, RNL_AT_START, at(other), at(one));
    node = copy_node(graph, RNL_AFTER(node), in(buffer), at(other));
    node = copy_node(graph, RNL_AFTER(node), at(taken), in(buffer));
    copy_node(graph, RNL_AFTER(node), at(kept), at(taken));
    rnl_graph_exec exec = instantiate(graph);
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    expect_round(other, 7);
    expect_round(kept, 7);
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_host_free(suite_context(), one));
    expect_ok(rnl_host_free(suite_context(), other));
}

// --- Shapes ----------------------------------------------------------------

enum { ROWS = 3, SLICES = 2, ROW = 16, PITCH = 24, SLICE = PITCH * (ROWS + 1) };

static void copy_box(rnl_graph graph, const rnl_node *after, size_t count,
                     const rnl_copy *places, rnl_node *out)
{
    rnl_copy copy = *places;
    copy.struct_size = sizeof copy;
    copy.width = ROW;
    copy.height = ROWS;
    copy.depth = SLICES;
    expect_ok(rnl_graph_add_node(
        graph, after, count, RNL_NODE(.kind = RNL_NODE_COPY, .copy = &copy),
        out));
}

RNL_TEST(boxes_of_ordinary_memory_are_copied_in_a_graph)
{
    static unsigned char from[SLICES * SLICE], to[SLICES * SLICE];
    for (int i = 0; i < SLICES * SLICE; i++)
        from[i] = (unsigned char)(i % 251);
    memset(to, 255, sizeof to);
    rnl_graph graph = new_graph();
    rnl_buffer buffer = suite_new_buffer(SLICES * ROWS * ROW);
    rnl_place pitched = {.row_pitch = PITCH, .slice_pitch = SLICE};
    rnl_copy there = {.to = in(buffer), .from = pitched};
    rnl_copy back = {.to = pitched, .from = in(buffer)};
    there.from.pointer = from;
    back.to.pointer = to;
    rnl_node node = NULL;
    copy_box(graph, RNL_AT_START, &there, &node);
    copy_box(graph, RNL_AFTER(node), &back, &node);
    launch_once(graph);
    for (int i = 0; i < SLICES * SLICE; i++) {
        bool inside = i % SLICE / PITCH < ROWS && i % PITCH < ROW;
        assert_int_equal(to[i], inside ? from[i] : 255);
    }
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(buffer));
}

// One node of several copies.
RNL_TEST(a_captured_batch_copies_ordinary_memory)
{
    rnl_buffer one = suite_new_buffer(SIZE), other = suite_ints(COUNT, 4);
    rnl_stream stream = new_captured_stream();
    const rnl_copy copies[] = {
        {.struct_size = sizeof *copies, .to = in(one), .from = at(given),
         .width = SIZE},
        {.struct_size = sizeof *copies, .to = at(taken), .from = in(other),
         .width = SIZE},
        {.struct_size = sizeof *copies, .to = at(kept), .from = at(given),
         .width = SIZE},
    };
    expect_ok(rnl_enqueue_copy_batch(stream, copies, 3));
    rnl_graph graph = end_capture(stream);
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 1; i <= 2; i++) {
        int there[COUNT];
        set_round(given, i);
        launch_and_wait(exec);
        suite_download(there, one, SIZE);
        expect_round(there, i);
        expect_round(kept, i);
        assert_int_equal(taken[COUNT - 1], 4);
    }
    drop_both(graph, exec);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(one));
    expect_ok(rnl_buffer_release(other));
}

// --- Changes ---------------------------------------------------------------

RNL_TEST(a_launch_copies_the_memory_that_its_node_had_then)
{
    static int others[COUNT];
    rnl_buffer buffer = suite_new_buffer(SIZE);
    rnl_node to, from;
    rnl_graph_exec exec = through(buffer, &to, &from);
    set_round(given, 1);
    set_round(others, 2);
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    expect_ok(rnl_graph_exec_set_node(
        exec, to,
        RNL_NODE(.kind = RNL_NODE_COPY,
                 .copy = RNL_COPY(.to = in(buffer), .from = at(others),
                                  .width = SIZE))));
    expect_ok(rnl_graph_exec_set_node(
        exec, from,
        RNL_NODE(.kind = RNL_NODE_COPY,
                 .copy = RNL_COPY(.to = at(kept), .from = in(buffer),
                                  .width = SIZE))));
    expect_ok(rnl_enqueue_graph(suite_stream(), exec));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
    expect_round(taken, 1);
    expect_round(kept, 2);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_buffer_release(buffer));
}

// As often as one likes, also while the device waits: nothing is made anew.
RNL_TEST(ordinary_memory_is_exchanged_while_the_stream_waits)
{
    enum { ROUNDS = 100 };
    static int memory[ROUNDS][COUNT];
    struct words word = new_words(4);
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_new_buffer(SIZE);
    rnl_node to, from;
    rnl_graph_exec exec = through(buffer, &to, &from);
    expect_ok(rnl_enqueue_wait_value32(stream, word.buffer, 0, 1,
                                       RNL_WAIT_EQ));
    expect_ok(rnl_stream_flush(stream));
    for (int i = 0; i < ROUNDS; i++) {
        set_round(memory[i], i);
        expect_ok(rnl_graph_exec_set_node(
            exec, to,
            RNL_NODE(.kind = RNL_NODE_COPY,
                     .copy = RNL_COPY(.to = in(buffer), .from = at(memory[i]),
                                      .width = SIZE))));
    }
    expect_ok(rnl_enqueue_graph(stream, exec));
    atomic_store(word.w32, 1);
    synchronize(stream);
    expect_round(taken, ROUNDS - 1);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(word.buffer));
}

RNL_TEST(a_copy_becomes_one_of_ordinary_memory_and_back)
{
    rnl_graph graph = new_graph();
    rnl_buffer one = suite_ints(COUNT, 5), other = suite_ints(COUNT, 6);
    rnl_node node = copy_node(graph, RNL_AT_START, in(other), in(one));
    rnl_graph_exec exec = instantiate(graph);
    set_round(given, 3);
    expect_ok(rnl_graph_exec_set_node(
        exec, node,
        RNL_NODE(.kind = RNL_NODE_COPY,
                 .copy = RNL_COPY(.to = in(other), .from = at(given),
                                  .width = SIZE))));
    launch_and_wait(exec);
    suite_download(taken, other, SIZE);
    expect_round(taken, 3);
    expect_ok(rnl_graph_exec_set_node(
        exec, node,
        RNL_NODE(.kind = RNL_NODE_COPY,
                 .copy = RNL_COPY(.to = in(other), .from = in(one),
                                  .width = SIZE))));
    launch_and_wait(exec);
    suite_expect_ints(other, COUNT, 5);
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(one));
    expect_ok(rnl_buffer_release(other));
}

RNL_TEST(copies_of_ordinary_memory_are_disabled_like_others)
{
    rnl_buffer buffer = suite_ints(COUNT, 9);
    rnl_node to, from;
    rnl_graph_exec exec = through(buffer, &to, &from);
    set_round(given, 1);
    expect_ok(rnl_graph_exec_set_enabled(exec, to, false));
    launch_and_wait(exec);
    assert_int_equal(taken[COUNT - 1], 9);
    expect_ok(rnl_graph_exec_set_enabled(exec, to, true));
    expect_ok(rnl_graph_exec_set_enabled(exec, from, false));
    launch_and_wait(exec);
    assert_int_equal(taken[COUNT - 1], 9);
    expect_ok(rnl_graph_exec_set_enabled(exec, from, true));
    launch_and_wait(exec);
    expect_round(taken, 1);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_buffer_release(buffer));
}

// --- Launches under way ----------------------------------------------------

// A graph that fills `first` and copies it to `second`, launched behind a word:
// not on the stream that releases memory.
struct held {
    rnl_stream stream;
    struct words word;
    rnl_buffer first, second;
    rnl_node fill;
    rnl_graph_exec exec;
};

static struct held launch_held(void)
{
    struct held held = {.stream = suite_new_stream(), .word = new_words(4)};
    held.first = suite_ints(COUNT, 0);
    held.second = suite_ints(COUNT, 0);
    rnl_graph graph = new_graph();
    held.fill = fill_node(graph, RNL_AT_START, held.first, 7);
    copy_node(graph, RNL_AFTER(held.fill), in(held.second), in(held.first));
    held.exec = instantiate(graph);
    expect_ok(rnl_graph_release(graph));
    synchronize(suite_stream());
    expect_ok(rnl_enqueue_wait_value32(held.stream, held.word.buffer, 0, 1,
                                       RNL_WAIT_EQ));
    expect_ok(rnl_enqueue_graph(held.stream, held.exec));
    expect_ok(rnl_stream_flush(held.stream));
    return held;
}

// Whatever is free now is others' when the launch goes on.
static void let_go_beside_others(struct held *held)
{
    enum { OTHERS = 32 };
    rnl_buffer others[OTHERS];
    for (int i = 0; i < OTHERS; i++)
        others[i] = suite_ints(COUNT, 1);
    atomic_store(held->word.w32, 1);
    synchronize(held->stream);
    for (int i = 0; i < OTHERS; i++) {
        suite_expect_ints(others[i], COUNT, 1);
        expect_ok(rnl_buffer_release(others[i]));
    }
    suite_expect_ints(held->second, COUNT, 7);
    expect_ok(rnl_stream_release(held->stream));
    expect_ok(rnl_buffer_release(held->second));
    expect_ok(rnl_buffer_release(held->word.buffer));
}

RNL_TEST(a_launch_keeps_its_memory_when_the_graph_is_gone)
{
    struct held held = launch_held();
    expect_ok(rnl_graph_exec_release(held.exec));
    expect_ok(rnl_buffer_release(held.first));
    let_go_beside_others(&held);
}

RNL_TEST(a_launch_keeps_its_memory_when_the_graph_has_other)
{
    struct held held = launch_held();
    rnl_buffer other = suite_new_buffer(SIZE);
    expect_ok(rnl_graph_exec_set_node(
        held.exec, held.fill,
        RNL_NODE(.kind = RNL_NODE_FILL,
                 .fill = RNL_FILL(.to = in(other), .width = SIZE,
                                  .pattern = 3, .pattern_size = 4))));
    rnl_graph graph = new_graph();
    rnl_node fill = fill_node(graph, RNL_AT_START, other, 3);
    copy_node(graph, RNL_AFTER(fill), in(other), in(held.second));
    expect_ok(rnl_graph_exec_update(held.exec, graph, NULL));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(held.first));
    let_go_beside_others(&held);
    expect_ok(rnl_graph_exec_release(held.exec));
    expect_ok(rnl_buffer_release(other));
}

static void count_deletion(void *pointer, size_t size, void *count)
{
    (void)pointer, (void)size;
    atomic_fetch_add((_Atomic int *)count, 1);
}

// Whatever other streams wait for.
RNL_TEST(a_launch_that_is_over_keeps_nothing)
{
    static _Atomic int deleted;
    struct words word = new_words(8);
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_buffer memory = suite_ints(COUNT, 0), wrapped;
    expect_ok(rnl_buffer_wrap(suite_context(), suite_address(memory), SIZE,
                              RNL_WRAP_OPTIONS(.deleter = count_deletion,
                                               .user_data = (void *)&deleted),
                              &wrapped));
    rnl_graph graph = new_graph();
    fill_node(graph, RNL_AT_START, wrapped, 7);
    rnl_graph_exec exec = instantiate(graph);
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(wrapped));
    for (int i = 0; i < 2; i++)
        expect_ok(rnl_enqueue_wait_value32(i ? other : stream, word.buffer,
                                           4 * (size_t)i, 1, RNL_WAIT_EQ));
    expect_ok(rnl_enqueue_graph(stream, exec));
    expect_ok(rnl_stream_flush(stream));
    expect_ok(rnl_stream_flush(other));
    expect_ok(rnl_graph_exec_release(exec));
    assert_int_equal(atomic_load(&deleted), 0);
    atomic_store(&word.w32[0], 1);
    synchronize(stream);
    while (!atomic_load(&deleted))
        sched_yield();
    expect_shut(other);
    atomic_store(&word.w32[1], 1);
    synchronize(other);
    suite_expect_ints(memory, COUNT, 7);
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_buffer_release(memory));
    expect_ok(rnl_buffer_release(word.buffer));
}

// Rows need other nodes of a driver: they come after the old ones, too.
RNL_TEST(a_launch_after_a_change_waits_for_the_one_before)
{
    struct held held = launch_held();
    rnl_stream stream = suite_new_stream();
    int there[COUNT];
    expect_ok(rnl_graph_exec_set_node(
        held.exec, held.fill,
        RNL_NODE(.kind = RNL_NODE_FILL,
                 .fill = RNL_FILL(.to = {.buffer = held.first,
                                         .row_pitch = SIZE / 2},
                                  .width = SIZE / 4, .height = 2,
                                  .pattern = 9, .pattern_size = 4))));
    expect_ok(rnl_enqueue_graph(stream, held.exec));
    expect_ok(rnl_stream_flush(stream));
    for (int i = 0; i < 20; i++)
        suite_download(there, held.first, SIZE);
    assert_int_equal(there[0], 0);
    expect_shut(stream);
    atomic_store(held.word.w32, 1);
    synchronize(stream);
    suite_download(there, held.second, SIZE);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(there[i], i % (COUNT / 2) < COUNT / 4 ? 9 : 7);
    synchronize(held.stream);
    expect_ok(rnl_graph_exec_release(held.exec));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_stream_release(held.stream));
    expect_ok(rnl_buffer_release(held.first));
    expect_ok(rnl_buffer_release(held.second));
    expect_ok(rnl_buffer_release(held.word.buffer));
}
