// A thread that waits with a time limit runs work itself whose time is bounded,
// and no other work. The only worker is held meanwhile.
#include "graphs.h"

#define LIMIT_LONG UINT64_C(20000000000)
#define LIMIT_SHORT UINT64_C(1000000)

static const char source[] =
    "extern \"C\" __global__ void add(int *p, int value) {\n"
    "    p[threadIdx.x] += value;\n"
    "}\n"
    "extern \"C\" __global__ void root(float *p) {\n"
    "    p[threadIdx.x] = sqrtf(fabsf(p[threadIdx.x])) + expf(1);\n"
    "}\n"
    "extern \"C\" __global__ void loop(int *p, int count) {\n"
    "    for (int i = 0; i < count; i++)\n"
    "        p[threadIdx.x] = p[threadIdx.x] * 5 + i;\n"
    "}\n"
    "extern \"C\" __global__ void meet(int *p, int value) {\n"
    "    __shared__ int sum[64];\n"
    "    sum[threadIdx.x] = p[threadIdx.x];\n"
    "    __syncthreads();\n"
    "    p[threadIdx.x] = sum[63 - threadIdx.x] + value;\n"
    "}\n"
    "extern \"C\" __global__ void tell(int *p, int value) {\n"
    "    if (p[threadIdx.x] == value)\n"
    "        printf(\"%d\", value);\n"
    "}\n";

static struct {
    rnl_context context;
    rnl_stream held, stream;
    rnl_module module;
    rnl_buffer buffer;
    struct gate *gate;
} at;

static void hold_the_worker(void)
{
    suite_need(RNL_FEATURE_COMPILE);
    if (!suite_is_cpu())
        test_skip("a GPU runs all work itself");
    at.context = suite_open(RNL_CONTEXT_OPTIONS(.threads = 1));
    expect_ok(rnl_stream_create(at.context, NULL, &at.held));
    expect_ok(rnl_stream_create(at.context, NULL, &at.stream));
    expect_ok(rnl_module_compile(at.context, source, NULL, &at.module));
    expect_ok(
        rnl_buffer_create(at.context, 64 * sizeof(int), NULL, &at.buffer));
    expect_ok(
        rnl_enqueue_fill(at.stream, at.buffer, 0, 64 * sizeof(int), 0, 4));
    expect_ok(rnl_stream_synchronize(at.stream, RNL_FOREVER));
    at.gate = gate_block_workers(at.held, 1);
    gate_wait_entered(at.gate);
}

static void let_go(void)
{
    gate_open(at.gate);
    expect_ok(rnl_stream_synchronize(at.stream, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(at.held, RNL_FOREVER));
    gate_free(at.gate);
    expect_ok(rnl_buffer_release(at.buffer));
    expect_ok(rnl_module_release(at.module));
    expect_ok(rnl_stream_release(at.stream));
    expect_ok(rnl_stream_release(at.held));
    expect_ok(rnl_context_release(at.context));
}

static void launch(const char *name, int value, uint32_t blocks)
{
    rnl_function function = NULL;
    expect_ok(rnl_module_function(at.module, name, &function));
    bool one = strcmp(name, "root") == 0;
    expect_ok(rnl_enqueue_function(
        at.stream, function, RNL_LAUNCH(.grid = {blocks}, .block = {64}),
        one ? RNL_ARGS(at.buffer) : RNL_ARGS(at.buffer, value)));
    expect_ok(rnl_function_release(function));
}

static void expect_done(void)
{
    expect_ok(rnl_stream_synchronize(at.stream, LIMIT_LONG));
}

static void expect_not_done(void)
{
    assert_status(rnl_stream_synchronize(at.stream, LIMIT_SHORT),
                  RNL_ERROR_TIMED_OUT);
}

RNL_TEST(a_wait_with_a_limit_runs_bounded_work_itself)
{
    int data[64];
    rnl_event event = NULL;
    hold_the_worker();
    for (int i = 0; i < 100; i++)
        launch("add", i, 1);
    expect_done();
    expect_ok(rnl_copy_from_buffer_and_wait(at.stream, data, at.buffer, 0,
                                            sizeof data));
    assert_int_equal(data[0], 4950);
    assert_int_equal(data[63], 4950);
    launch("root", 0, 1);
    expect_done();
    expect_ok(rnl_event_create(at.context, NULL, &event));
    expect_ok(rnl_enqueue_fill(at.stream, at.buffer, 0, sizeof data, 7, 4));
    expect_ok(rnl_enqueue_event_record(at.stream, event));
    expect_ok(rnl_event_synchronize(event, LIMIT_LONG));
    launch("add", 1, 1);
    expect_ok(rnl_context_trim(at.context, 0));
    expect_ok(rnl_event_release(event));
    let_go();
}

RNL_TEST(a_wait_with_a_limit_runs_graphs_of_bounded_work)
{
    rnl_graph graph = NULL;
    rnl_graph_exec exec = NULL;
    hold_the_worker();
    for (int loops = 0; loops < 2; loops++) {
        expect_ok(rnl_stream_begin_capture(at.stream, NULL));
        launch("add", 1, 1);
        expect_ok(rnl_enqueue_fill(at.stream, at.buffer, 0, 4, 7, 4));
        if (loops)
            launch("loop", 1, 1);
        expect_ok(rnl_stream_end_capture(at.stream, &graph));
        expect_ok(rnl_graph_instantiate(graph, &exec));
        expect_ok(rnl_enqueue_graph(at.stream, exec));
        if (loops)
            expect_not_done();
        else
            expect_done();
        expect_ok(rnl_graph_exec_release(exec));
        expect_ok(rnl_graph_release(graph));
    }
    let_go();
}

// Each of these could go on for long, for all that is known.
RNL_TEST(a_wait_with_a_limit_runs_nothing_else)
{
    static const char *const names[] = {"loop", "meet", "tell"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hold_the_worker();
        launch("add", 1, 1);
        launch(names[i], 3, 1);
        launch("add", 1, 1);
        expect_not_done();
        expect_not_done();
        let_go();
    }
    hold_the_worker();
    launch("add", 1, 1000);  // 64,000 threads
    expect_not_done();
    let_go();
}
