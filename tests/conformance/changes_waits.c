// Random programs that change executable graphs while launches of them are
// under way on five streams, which wait for each other and for the host,
// against a model.
//
// A launch of an executable graph comes behind the one before, on whatever
// stream, and does what the graph was changed to by then.
#include "graphs.h"

enum {
    STREAMS = 5,
    GRAPHS = 3,
    STEPS = 160,
    PROGRAMS = 60,
    GATES = 6,      // in a program
};

static const char source[] =
    "extern \"C\" __global__ void work(unsigned *word, unsigned a,\n"
    "                                unsigned b)\n"
    "{\n"
    "    *word = *word * a + b;\n"
    "}\n";

// A graph: word = word * a + b; and if it is enabled behind that, other = a.
struct line {
    rnl_graph graph;
    rnl_graph_exec exec;
    rnl_node step, fill;
    rnl_buffer word, other;
    uint32_t a, b, filled;
    bool fills;
    uint32_t expected_word, expected_other;
};

struct world {
    uint32_t random;
    rnl_function function;
    rnl_stream streams[STREAMS];
    rnl_event events[STREAMS];
    struct gate *gates[GATES];
    size_t shut, made;  // gates before `shut` were opened
    struct line lines[GRAPHS];
};

static uint32_t below(struct world *world, uint32_t most)
{
    world->random = world->random * 1664525 + 1013904223;
    return (world->random >> 8) % most;
}

static rnl_node step_node(struct world *world, struct line *line)
{
    rnl_node node = line->step;
    const rnl_node_params *params =
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = world->function,
                 .launch = one_thread(),
                 .args = RNL_ARGS(line->word, line->a, line->b));
    expect_ok(line->exec
                  ? rnl_graph_exec_set_node(line->exec, node, params)
                  : rnl_graph_add_node(line->graph, RNL_AT_START, params,
                                       &node));
    return node;
}

static void open_line(struct world *world, struct line *line)
{
    *line = (struct line){.graph = new_graph(), .a = 3, .b = 1,
                          .filled = 7, .fills = true};
    line->word = suite_ints(1, 0);
    line->other = suite_ints(1, 0);
    line->step = step_node(world, line);
    line->fill = fill_node(line->graph, RNL_AFTER(line->step), line->other,
                           (int)line->filled);
    line->exec = instantiate(line->graph);
}

static void check_line(const struct line *line)
{
    suite_expect_ints(line->word, 1, (int)line->expected_word);
    suite_expect_ints(line->other, 1, (int)line->expected_other);
}

static void close_line(struct line *line)
{
    drop_both(line->graph, line->exec);
    expect_ok(rnl_buffer_release(line->word));
    expect_ok(rnl_buffer_release(line->other));
}

// --- Steps -----------------------------------------------------------------

static void launch(struct world *world, struct line *line)
{
    rnl_stream stream = world->streams[below(world, STREAMS)];
    expect_ok(rnl_enqueue_graph(stream, line->exec));
    line->expected_word = line->expected_word * line->a + line->b;
    if (line->fills)
        line->expected_other = line->filled;
}

static void change(struct world *world, struct line *line)
{
    line->a = 2 * below(world, 100) + 1;
    line->b = below(world, 1000);
    step_node(world, line);
}

// Drivers may need another graph for a fill that is enabled or disabled.
static void toggle(struct line *line)
{
    line->fills = !line->fills;
    expect_ok(rnl_graph_exec_set_enabled(line->exec, line->fill, line->fills));
}

static void wait_for_another(struct world *world)
{
    uint32_t from = below(world, STREAMS), to = below(world, STREAMS);
    if (from == to)
        return;
    if (below(world, 2)) {
        expect_ok(rnl_enqueue_wait_stream(world->streams[to],
                                          world->streams[from]));
        return;
    }
    expect_ok(rnl_enqueue_event_record(world->streams[from],
                                       world->events[from]));
    expect_ok(rnl_enqueue_wait_event(world->streams[to], world->events[from]));
}

static void open_gates(struct world *world)
{
    for (; world->shut < world->made; world->shut++)
        gate_open(world->gates[world->shut]);
}

static void step(struct world *world)
{
    struct line *line = &world->lines[below(world, GRAPHS)];
    uint32_t choice = below(world, 16);
    if (choice < 6)
        launch(world, line);
    else if (choice < 9)
        change(world, line);
    else if (choice < 11)
        toggle(line);
    else if (choice < 14)
        wait_for_another(world);
    else if (choice < 15 && world->made < GATES)
        world->gates[world->made++] =
            gate_shut(world->streams[below(world, STREAMS)]);
    else if (below(world, 4) == 0)
        open_gates(world);
}

// The streams of a program are new; the graphs have been changed by the ones
// before.
static void run(struct world *world)
{
    world->shut = world->made = 0;
    for (int i = 0; i < STREAMS; i++) {
        world->streams[i] = suite_new_stream();
        world->events[i] = suite_new_event();
    }
    for (int i = 0; i < STEPS; i++)
        step(world);
    open_gates(world);
    for (int i = 0; i < STREAMS; i++)
        expect_ok(rnl_stream_synchronize(world->streams[i], RNL_FOREVER));
    for (int i = 0; i < GRAPHS; i++)
        check_line(&world->lines[i]);
    for (size_t i = 0; i < world->made; i++)
        gate_free(world->gates[i]);
    for (int i = 0; i < STREAMS; i++) {
        expect_ok(rnl_event_release(world->events[i]));
        expect_ok(rnl_stream_release(world->streams[i]));
    }
}

RNL_TEST(graphs_are_changed_while_five_streams_wait)
{
    static struct world world;
    suite_need(RNL_FEATURE_COMPILE);
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    world.function = suite_compile(source, "work");
    for (int i = 0; i < GRAPHS; i++)
        open_line(&world, &world.lines[i]);
    for (uint32_t i = 0; i < PROGRAMS; i++) {
        world.random = 7919 * i + 1;
        run(&world);
    }
    for (int i = 0; i < GRAPHS; i++)
        close_line(&world.lines[i]);
    expect_ok(rnl_function_release(world.function));
}
