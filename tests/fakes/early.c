// Kernels of source begin by waiting for what they come after, so that the
// driver may begin them early behind other kernels, in batches and in graphs.
#include "loaded.h"

#include <stdio.h>
#include <unistd.h>

#define KERNEL(name) \
    "extern \"C\" __global__ void " name "(int *sum, int value) {\n" \
    "    *sum = *sum * 3 + value;\n}\n"

enum { COUNT = 12, EDGES_MOST = 8 };

static rnl_context context;
static rnl_stream stream;
static rnl_buffer sum;
static rnl_module module;
static rnl_function add;

static void begin_with(const char *source, const char *option)
{
    const char *reason;
    fake_load();
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    if (rnl_context_supports(context, RNL_FEATURE_COMPILE, &reason) != RNL_OK)
        test_skip("%s", reason);
    assert_ok(rnl_stream_create(context,
                                RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
                                &stream));
    assert_ok(rnl_buffer_create(context, 4, RNL_BUFFER_OPTIONS(.zeroed = true),
                                &sum));
    assert_ok(rnl_module_compile(
        context, source,
        RNL_MODULE_OPTIONS(.options = &option, .option_count = option != NULL),
        &module));
    assert_ok(rnl_module_function(module, "add", &add));
}

static void end(void)
{
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_function_release(add));
    assert_ok(rnl_module_release(module));
    assert_ok(rnl_buffer_release(sum));
    assert_ok(rnl_context_release(context));
    fake_expect_empty();
}

static const rnl_launch one_thread = {
    .struct_size = sizeof(rnl_launch), .grid = {1}, .block = {1}};

static size_t early(void)
{
    return fake_calls("cuGraphAddNode");
}

static size_t plain(void)
{
    return fake_calls("cuGraphAddKernelNode");
}

// What the sum is after so many more.
static uint32_t after(uint32_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        value = value * 3 + (uint32_t)i;
    return value;
}

static void expect_sum(uint32_t expected)
{
    uint32_t value;
    assert_ok(rnl_copy_from_buffer_and_wait(stream, &value, sum, 0, 4));
    assert_int_equal(value, expected);
}

// --- Batches ----------------------------------------------------------------

// Two, since a graph is made the second time. A fill in the middle if asked.
static void give_batches(bool fill)
{
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < COUNT; i++) {
            assert_ok(rnl_enqueue_function(stream, add, &one_thread,
                                           RNL_ARGS(sum, i)));
            if (fill && i + 1 == COUNT / 2)
                assert_ok(rnl_enqueue_fill(stream, sum, 0, 4, 7, 4));
        }
        assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    }
}

static void expect_batches(size_t expected)
{
    size_t of_early = early(), of_plain = plain();
    give_batches(false);
    assert_int_equal(early() - of_early, expected);
    assert_int_equal(plain() - of_plain, COUNT - expected);
    expect_sum(after(after(0, COUNT), COUNT));
}

RNL_TEST(a_batch_of_kernels_lets_them_begin_early)
{
    begin_with(KERNEL("add"), NULL);
    expect_batches(COUNT - 1);
    end();
}

RNL_TEST(a_kernel_behind_a_fill_is_not_early)
{
    begin_with(KERNEL("add"), NULL);
    size_t before = early();
    give_batches(true);
    assert_int_equal(early() - before, COUNT - 2);
    uint32_t value = 7;
    for (uint32_t i = COUNT / 2; i < COUNT; i++)
        value = value * 3 + i;
    expect_sum(value);
    end();
}

// Constants come through caches that the wait does not speak of.
RNL_TEST(kernels_beside_constants_are_not_early)
{
    begin_with("__constant__ int more = 0;\n"
               "extern \"C\" __global__ void add(int *sum, int value) {\n"
               "    *sum = *sum * 3 + value + more;\n}\n", NULL);
    expect_batches(0);
    end();
}

// Options may mean something to NVRTC's own assembler.
RNL_TEST(options_that_are_not_of_the_source_leave_kernels_as_they_are)
{
    begin_with(KERNEL("add"), "-arch=sm_90");
    expect_batches(0);
    end();
    begin_with(KERNEL("add"), "--maxrregcount=32");
    expect_batches(0);
    end();
    begin_with(KERNEL("add"), "--fmad=false");
    expect_batches(0);
    end();
    begin_with(KERNEL("add"), "-DHARMLESS=1");
    expect_batches(COUNT - 1);
    end();
}

// A driver that links nothing, or knows no such edges.
RNL_TEST(what_the_driver_does_not_assemble_nvrtc_does)
{
    static const char *const names[] = {"cuLinkCreate", "cuLinkAddData",
                                        "cuLinkComplete"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char source[256];
        fake_load();
        fake_fail(names[i], 1, 218, 0);
        size_t before = fake_calls("nvrtcCompileProgram");
        // No cache has it.
        snprintf(source, sizeof source, "// %s %d\n%s", names[i],
                 (int)getpid(), KERNEL("add"));
        begin_with(source, NULL);
        assert_int_equal(fake_calls("nvrtcCompileProgram") - before, 2);
        expect_batches(0);
        end();
    }
}

RNL_TEST(an_older_driver_begins_nothing_early)
{
    static const char *const older[] = {"RUNNEL_FAKE_VERSION=12020", NULL};
    if (!fake_is_child()) {
        assert_int_equal(
            fake_spawn("an_older_driver_begins_nothing_early", older), 0);
        return;
    }
    begin_with(KERNEL("add"), NULL);
    assert_int_equal(fake_calls("cuLinkCreate"), 0);
    expect_batches(0);
    end();
}

// --- Graphs -----------------------------------------------------------------

static rnl_node add_node(rnl_graph graph, const rnl_node *behind, size_t count,
                         rnl_function function, int value)
{
    rnl_node node;
    assert_ok(rnl_graph_add_node(
        graph, behind, count,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = function,
                 .launch = &one_thread, .args = RNL_ARGS(sum, value)),
        &node));
    return node;
}

static rnl_graph_exec instantiate(rnl_graph graph)
{
    rnl_graph_exec exec;
    assert_ok(rnl_graph_instantiate(graph, &exec));
    return exec;
}

static void launch(rnl_graph_exec exec)
{
    assert_ok(rnl_enqueue_graph(stream, exec));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
}

static void drop(rnl_graph graph, rnl_graph_exec exec)
{
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_graph_release(graph));
}

static rnl_graph chain(rnl_node nodes[COUNT])
{
    rnl_graph graph;
    assert_ok(rnl_graph_create(context, NULL, &graph));
    for (int i = 0; i < COUNT; i++)
        nodes[i] = add_node(graph, nodes + i - (i > 0), i > 0, add, i);
    return graph;
}

RNL_TEST(a_graphs_kernels_begin_early_behind_kernels)
{
    rnl_node nodes[COUNT], joined;
    begin_with(KERNEL("add"), NULL);
    size_t of_early = early(), of_plain = plain();
    rnl_graph graph = chain(nodes);
    // Behind a few, too many, and something else.
    add_node(graph, nodes, EDGES_MOST, add, 0);
    add_node(graph, nodes, EDGES_MOST + 1, add, 0);
    assert_ok(rnl_graph_add_node(graph, nodes, 1,
                                 RNL_NODE(.kind = RNL_NODE_EMPTY), &joined));
    add_node(graph, &joined, 1, add, 0);
    rnl_graph_exec exec = instantiate(graph);
    assert_int_equal(early() - of_early, COUNT);
    assert_int_equal(plain() - of_plain, 3);
    drop(graph, exec);
    end();
}

RNL_TEST(a_child_and_a_body_begin_when_all_is_over)
{
    rnl_node nodes[COUNT], inner;
    rnl_graph body, child;
    begin_with(KERNEL("add"), NULL);
    rnl_graph graph = chain(nodes);
    child = chain(nodes);
    assert_ok(rnl_graph_add_node(
        graph, nodes, 0, RNL_NODE(.kind = RNL_NODE_CHILD, .child = child),
        &inner));
    assert_ok(rnl_graph_add_node(
        graph, &inner, 1,
        RNL_NODE(.kind = RNL_NODE_IF, .buffer = sum, .out_body = &body),
        &nodes[0]));
    nodes[0] = add_node(body, NULL, 0, add, 1);
    add_node(body, nodes, 1, add, 2);
    size_t of_early = early(), of_plain = plain();
    rnl_graph_exec exec = instantiate(graph);
    // With the condition, which is such a node, too.
    assert_int_equal(early() - of_early, 2 * (COUNT - 1) + 1);
    assert_int_equal(plain() - of_plain, 2 + 1 + 2);
    assert_ok(rnl_graph_release(child));
    drop(graph, exec);
    end();
}

// The fake complains of one that does not wait.
RNL_TEST(a_kernel_that_does_not_wait_takes_no_early_place)
{
    rnl_node nodes[COUNT];
    rnl_module other;
    rnl_function foreign;
    const char *option = "-arch=sm_90";
    begin_with(KERNEL("add"), NULL);
    assert_ok(rnl_module_compile(
        context, KERNEL("add"),
        RNL_MODULE_OPTIONS(.options = &option, .option_count = 1), &other));
    assert_ok(rnl_module_function(other, "add", &foreign));
    rnl_graph graph = chain(nodes);
    rnl_graph_exec exec = instantiate(graph);
    size_t made = fake_calls("cuGraphInstantiateWithFlags");
    for (int i = 0; i < 2; i++) {
        // The same kernel, but for the wait: in place only at the start.
        assert_ok(rnl_graph_exec_set_node(
            exec, nodes[i],
            RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = foreign,
                     .launch = &one_thread, .args = RNL_ARGS(sum, i))));
        launch(exec);
        assert_int_equal(fake_calls("cuGraphInstantiateWithFlags") - made, i);
    }
    expect_sum(after(after(0, COUNT), COUNT));
    drop(graph, exec);
    assert_ok(rnl_function_release(foreign));
    assert_ok(rnl_module_release(other));
    end();
}
