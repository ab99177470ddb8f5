// backends/cpu/scheduler/graph_run: launches for which no worker is woken.
#include "unit.h"

#include "base/clock.h"
#include "backends/cpu/scheduler/graph_plan.h"

enum { FEW = 10, MANY = 100, TRIES = 100000 };

static rnl_context context;
static rnl_stream stream;
static _Atomic uint64_t length_ns;  // of each kernel

static rnl_status take_time(const rnl_native_call *call)
{
    (void)call;
    uint64_t length = atomic_load(&length_ns), begin = clock_now();
    while (length > 0 && clock_now() < begin + length)
        cpu_relax();
    return RNL_OK;
}

static void ignore(rnl_status status, void *user_data)
{
    (void)status, (void)user_data;
}

// Kernels one after the other, behind a host function if that is wanted.
static void add_nodes(rnl_graph graph, rnl_function function, int kernels,
                      bool host)
{
    rnl_node last = NULL;
    if (host)
        assert_ok(rnl_graph_add_node(
            graph, RNL_AT_START,
            RNL_NODE(.kind = RNL_NODE_HOST_FUNCTION, .host = ignore), &last));
    for (int i = 0; i < kernels; i++)
        assert_ok(rnl_graph_add_node(
            graph, &last, last != NULL,
            RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = function,
                     .launch = RNL_LAUNCH(.grid = {1}, .block = {1})),
            &last));
}

static rnl_graph_exec make(int kernels, bool host)
{
    rnl_graph graph = NULL;
    rnl_function function = NULL;
    rnl_graph_exec exec = NULL;
    assert_ok(rnl_graph_create(context, NULL, &graph));
    assert_ok(rnl_function_create_native(context, "take_time", take_time, NULL,
                                         &function));
    add_nodes(graph, function, kernels, host);
    assert_ok(rnl_graph_instantiate(graph, &exec));
    assert_ok(rnl_function_release(function));
    assert_ok(rnl_graph_release(graph));
    return exec;
}

static bool is_small(rnl_graph_exec handle)
{
    struct object *exec = object_find(handle, OBJECT_GRAPH_EXEC);
    struct cpu_exec *cpu = exec_native((struct graph_exec *)exec);
    return plan_is_small(cpu->plan);
}

static void launch(rnl_graph_exec exec, uint64_t length)
{
    atomic_store(&length_ns, length);
    assert_ok(rnl_enqueue_graph(stream, exec));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
}

static void begin(void)
{
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
}

static void end(rnl_graph_exec exec)
{
    assert_ok(rnl_graph_exec_release(exec));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(context));
}

RNL_TEST(a_graph_is_small_if_its_last_launch_was_brief)
{
    begin();
    rnl_graph_exec exec = make(MANY, false);
    assert_false(is_small(exec));
    // A thread that loses its processor finds that a launch took long.
    for (int i = 0; i < TRIES && !is_small(exec); i++)
        launch(exec, 0);
    assert_true(is_small(exec));
    launch(exec, 1000);
    assert_false(is_small(exec));
    end(exec);
}

RNL_TEST(a_graph_of_few_nodes_is_small)
{
    begin();
    rnl_graph_exec exec = make(FEW, false);
    assert_true(is_small(exec));
    launch(exec, 10000);
    assert_true(is_small(exec));
    end(exec);
}

RNL_TEST(a_graph_with_host_functions_is_not_small)
{
    begin();
    rnl_graph_exec exec = make(FEW, true);
    assert_false(is_small(exec));
    launch(exec, 0);
    assert_false(is_small(exec));
    end(exec);
}
