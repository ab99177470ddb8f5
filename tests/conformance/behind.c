// Kernels behind kernels: each sees all that those before it wrote, however
// soon a device begins it.
#include "graphs.h"

#include <string.h>

// Loads that a device may take through caches which are not kept up to date.
static const char source[] =
    "extern \"C\" __global__ void turn(const int *__restrict__ from,\n"
    "                                int *__restrict__ to, int size) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < size) to[i] = from[(i + 33) % size] + 1;\n"
    "}\n"
    "extern \"C\" __global__ void add(const int *__restrict__ from,\n"
    "                               int *__restrict__ to, int size) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < size) to[i] += from[size - 1 - i] + __ldg(from + i);\n"
    "}\n";

enum { SIZE = 20001, BLOCK = 256, STEPS = 60, ROUNDS = 4 };

static rnl_module module;
static rnl_function turn, add;
static rnl_buffer buffers[3];
static int expected[3][SIZE];

static void begin(void)
{
    module = suite_module(source);
    expect_ok(rnl_module_function(module, "turn", &turn));
    expect_ok(rnl_module_function(module, "add", &add));
    for (int i = 0; i < 3; i++) {
        buffers[i] = suite_ints(SIZE, 0);
        memset(expected[i], 0, sizeof expected[i]);
    }
}

static void end(void)
{
    for (int i = 0; i < 3; i++)
        expect_ok(rnl_buffer_release(buffers[i]));
    expect_ok(rnl_function_release(turn));
    expect_ok(rnl_function_release(add));
    expect_ok(rnl_module_release(module));
}

static const rnl_launch whole = {.struct_size = sizeof(rnl_launch),
                                 .grid = {(SIZE + BLOCK - 1) / BLOCK},
                                 .block = {BLOCK}};

// Steps come in rounds of six: what the first writes is read two steps later,
// too, where it was read before it was written.
struct step {
    bool adds;
    int from, to;
};

static struct step step_of(int index)
{
    static const struct step round[] = {
        {true, 0, 1}, {false, 1, 0}, {true, 2, 1},
        {true, 0, 2}, {false, 2, 1}, {false, 1, 2},
    };
    return round[index % 6];
}

// In unsigned numbers, which may wrap.
static void perform(struct step step)
{
    static int from[SIZE];
    int *to = expected[step.to];
    memcpy(from, expected[step.from], sizeof from);
    for (int i = 0; i < SIZE; i++)
        to[i] = step.adds ? (int)((unsigned)to[i] + (unsigned)from[SIZE - 1 - i]
                                  + (unsigned)from[i])
                          : (int)((unsigned)from[(i + 33) % SIZE] + 1);
}

static void expect_all(void)
{
    static int ints[SIZE];
    for (int i = 0; i < 3; i++) {
        suite_download(ints, buffers[i], sizeof ints);
        assert_memory_equal(ints, expected[i], sizeof ints);
    }
}

static rnl_node step_node(rnl_graph graph, const rnl_node *after, size_t count,
                          struct step step)
{
    rnl_node node = NULL;
    rnl_status status = rnl_graph_add_node(
        graph, after, count,
        RNL_NODE(.kind = RNL_NODE_FUNCTION,
                 .function = step.adds ? add : turn, .launch = &whole,
                 .args = RNL_ARGS(buffers[step.from], buffers[step.to], SIZE)),
        &node);
    expect_ok(status);
    return node;
}

// One node behind the other.
static rnl_graph new_chain(rnl_node nodes[STEPS])
{
    rnl_graph graph = new_graph();
    for (int i = 0; i < STEPS; i++)
        nodes[i] = step_node(graph, nodes + i - (i > 0), i > 0, step_of(i));
    return graph;
}

RNL_TEST(a_stream_of_kernels_sees_what_each_wrote)
{
    rnl_stream stream = NULL;
    begin();
    expect_ok(rnl_stream_create(suite_context(),
                                RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
                                &stream));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < STEPS; i++) {
            struct step step = step_of(i);
            rnl_status status = rnl_enqueue_function(
                stream, step.adds ? add : turn, &whole,
                RNL_ARGS(buffers[step.from], buffers[step.to], SIZE));
            expect_ok(status);
            perform(step);
        }
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        expect_all();
    }
    expect_ok(rnl_stream_release(stream));
    end();
}

RNL_TEST(a_graph_of_kernels_sees_what_each_wrote)
{
    rnl_node nodes[STEPS];
    begin();
    rnl_graph graph = new_chain(nodes);
    rnl_graph_exec exec = instantiate(graph);
    for (int round = 0; round < ROUNDS; round++) {
        launch_and_wait(exec);
        for (int i = 0; i < STEPS; i++)
            perform(step_of(i));
        expect_all();
    }
    drop_both(graph, exec);
    end();
}

// Every third node does nothing, then every second, then none at all.
RNL_TEST(kernels_behind_disabled_ones_see_what_was_written_before)
{
    rnl_node nodes[STEPS];
    begin();
    rnl_graph graph = new_chain(nodes);
    rnl_graph_exec exec = instantiate(graph);
    for (int every = 3; every > 0; every--) {
        for (int i = 0; i < STEPS; i++)
            expect_ok(rnl_graph_exec_set_enabled(exec, nodes[i],
                                                 i % every != 0));
        launch_and_wait(exec);
        for (int i = 0; i < STEPS; i++)
            if (i % every != 0)
                perform(step_of(i));
        expect_all();
    }
    drop_both(graph, exec);
    end();
}

// Few come together, then many, all of which write the same; then something
// else is between.
RNL_TEST(kernels_behind_several_see_what_all_wrote)
{
    enum { FEW = 3, MANY = 12 };
    static const int counts[] = {FEW, MANY};
    begin();
    for (int which = 0; which < 2; which++) {
        rnl_graph graph = new_graph();
        rnl_node nodes[MANY], joined, behind;
        nodes[0] = step_node(graph, NULL, 0, (struct step){false, 0, 1});
        for (int i = 1; i < counts[which]; i++)
            nodes[i] = step_node(graph, nodes, 1, (struct step){false, 0, 2});
        joined = step_node(graph, nodes, (size_t)counts[which],
                           (struct step){true, 1, 0});
        behind = fill_node(graph, &joined, 1, buffers[1], which + 2);
        step_node(graph, &behind, 1, (struct step){true, 1, 0});
        rnl_graph_exec exec = instantiate(graph);
        for (int round = 0; round < ROUNDS; round++) {
            launch_and_wait(exec);
            perform((struct step){false, 0, 1});
            perform((struct step){false, 0, 2});
            perform((struct step){true, 1, 0});
            for (int i = 0; i < SIZE; i++)
                expected[1][i] = which + 2;
            perform((struct step){true, 1, 0});
            expect_all();
        }
        drop_both(graph, exec);
    }
    end();
}
