// Random graphs and batches whose operations are changed between launches, of
// lengths from a byte to many thousands, against a model.
//
// Drivers do such things in many ways, which depend on lengths and alignments,
// and not all of them do what they should.
#include "graphs.h"

enum {
    SIZE = 1 << 17,  // bytes; copies are from one half to the other
    HALF = SIZE / 2,
    MOST = 10,       // operations
    GRAPHS = 12,
    ROUNDS = 6,
};

static const char source[] =
    "extern \"C\" __global__ void work(unsigned *words, unsigned at,\n"
    "                                unsigned count, unsigned a, unsigned b)\n"
    "{\n"
    "    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    for (; i < count; i += gridDim.x * blockDim.x)\n"
    "        words[at + i] = words[at + i] * a + b;\n"
    "}\n";

struct world {
    rnl_function function;
    rnl_buffer buffer;
    unsigned char expected[SIZE], read[SIZE];
    uint32_t random;
};

// One operation.
struct task {
    rnl_node_kind kind;
    bool disabled;
    uint32_t at, count, a, b, blocks;  // a kernel's
    rnl_fill fill;
    rnl_copy copy;
};

static uint32_t below(struct world *world, size_t most)
{
    world->random = world->random * 1664525 + 1013904223;
    return (uint32_t)((world->random >> 8) % most);
}

// --- Tasks -----------------------------------------------------------------

static size_t some(struct world *world, size_t most)
{
    size_t limit = below(world, 3) == 0 ? most : most < 40 ? most : 40;
    return 1 + below(world, limit);
}

static size_t some_rows(struct world *world)
{
    return below(world, 8) ? 1 : 1 + below(world, 5);
}

static void make_kernel(struct world *world, struct task *task)
{
    task->count = (uint32_t)some(world, 9000);
    task->at = below(world, SIZE / 4 - task->count + 1);
    task->a = 2 * below(world, 1000) + 1;
    task->b = below(world, 1000);
    task->blocks = 1 + below(world, 9);
}

static void make_fill(struct world *world, struct task *task)
{
    size_t unit = (size_t)1 << below(world, 4), rows = some_rows(world);
    size_t width = some(world, 20000 / unit / rows);
    size_t pitch = width + below(world, 20);
    size_t span = pitch * (rows - 1) + width;
    task->fill = (rnl_fill){.struct_size = sizeof task->fill,
                            .width = width * unit,
                            .height = rows,
                            .pattern = below(world, 1 << 24) *
                                       UINT64_C(0x1000000010001),
                            .pattern_size = unit};
    task->fill.to.buffer = world->buffer;
    task->fill.to.offset = below(world, SIZE / unit - span + 1) * unit;
    task->fill.to.row_pitch = pitch * unit;
}

static void make_copy(struct world *world, struct task *task)
{
    size_t rows = some_rows(world), width = some(world, 20000 / rows);
    size_t first = below(world, 2) * HALF;
    task->copy = (rnl_copy){.struct_size = sizeof task->copy,
                            .width = width,
                            .height = rows};
    rnl_place *places[] = {&task->copy.to, &task->copy.from};
    for (int i = 0; i < 2; i++) {
        size_t pitch = width + below(world, 50);
        size_t span = pitch * (rows - 1) + width;
        places[i]->buffer = world->buffer;
        places[i]->row_pitch = pitch;
        places[i]->offset =
            (i == 0 ? first : HALF - first) + below(world, HALF - span + 1);
    }
}

// Of the kind that it has, or of any.
static void make(struct world *world, struct task *task)
{
    static const rnl_node_kind kinds[] = {RNL_NODE_FUNCTION, RNL_NODE_FILL,
                                          RNL_NODE_COPY};
    if (!task->kind)
        task->kind = kinds[below(world, 3)];
    if (task->kind == RNL_NODE_FUNCTION)
        make_kernel(world, task);
    else if (task->kind == RNL_NODE_FILL)
        make_fill(world, task);
    else
        make_copy(world, task);
}

static void model_fill(unsigned char *bytes, const rnl_fill *fill)
{
    for (size_t y = 0; y < fill->height; y++)
        for (size_t i = 0; i < fill->width; i++)
            bytes[fill->to.offset + y * fill->to.row_pitch + i] =
                (unsigned char)(fill->pattern >> i % fill->pattern_size * 8);
}

static void model_copy(unsigned char *bytes, const rnl_copy *copy)
{
    for (size_t y = 0; y < copy->height; y++)
        memcpy(bytes + copy->to.offset + y * copy->to.row_pitch,
               bytes + copy->from.offset + y * copy->from.row_pitch,
               copy->width);
}

static void model(struct world *world, const struct task *task)
{
    unsigned char *bytes = world->expected;
    if (task->kind == RNL_NODE_FILL)
        model_fill(bytes, &task->fill);
    else if (task->kind == RNL_NODE_COPY)
        model_copy(bytes, &task->copy);
    for (uint32_t i = 0; task->kind == RNL_NODE_FUNCTION && i < task->count;
         i++) {
        uint32_t word;
        memcpy(&word, bytes + (task->at + i) * 4, 4);
        word = word * task->a + task->b;
        memcpy(bytes + (task->at + i) * 4, &word, 4);
    }
}

// --- Giving them -----------------------------------------------------------

static void enqueue(struct world *world, rnl_stream stream,
                    const struct task *task)
{
    if (task->kind == RNL_NODE_FILL)
        expect_ok(rnl_enqueue_fill_region(stream, &task->fill));
    else if (task->kind == RNL_NODE_COPY)
        expect_ok(rnl_enqueue_copy_region(stream, &task->copy));
    else
        expect_ok(rnl_enqueue_function(
            stream, world->function,
            RNL_LAUNCH(.grid = {task->blocks}, .block = {64}),
            RNL_ARGS(world->buffer, task->at, task->count, task->a,
                     task->b)));
}

// Sets the node of the executable graph, or adds one to the graph behind it.
static void give(struct world *world, const struct task *task,
                 rnl_graph graph, rnl_graph_exec exec, const rnl_node *behind,
                 rnl_node *node)
{
    const rnl_node_params *params = RNL_NODE(
        .kind = task->kind, .fill = &task->fill, .copy = &task->copy,
        .function = world->function,
        .launch = RNL_LAUNCH(.grid = {task->blocks}, .block = {64}),
        .args = RNL_ARGS(world->buffer, task->at, task->count, task->a,
                         task->b));
    rnl_status status =
        exec ? rnl_graph_exec_set_node(exec, *node, params)
             : rnl_graph_add_node(graph, behind, behind != NULL, params, node);
    expect_ok(status);
}

// --- Whole programs --------------------------------------------------------

static struct world *world_open(void)
{
    static struct world world;
    suite_need(RNL_FEATURE_COMPILE);
    world = (struct world){.random = 1};
    world.function = suite_compile(source, "work");
    world.buffer = suite_ints(SIZE / 4, 0);
    return &world;
}

static void world_close(struct world *world)
{
    expect_ok(rnl_buffer_release(world->buffer));
    expect_ok(rnl_function_release(world->function));
}

static void look(struct world *world)
{
    suite_download(world->read, world->buffer, SIZE);
    assert_memory_equal(world->read, world->expected, SIZE);
}

static void change(struct world *world, rnl_graph_exec exec,
                   struct task *tasks, rnl_node *nodes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (below(world, 3) == 0) {
            make(world, &tasks[i]);
            give(world, &tasks[i], NULL, exec, NULL, &nodes[i]);
        }
        if (below(world, 4) == 0) {
            tasks[i].disabled = !tasks[i].disabled;
            expect_ok(rnl_graph_exec_set_enabled(exec, nodes[i],
                                                 !tasks[i].disabled));
        }
    }
}

static void launch(struct world *world, rnl_graph_exec exec,
                   const struct task *tasks, size_t count)
{
    for (size_t times = 1 + below(world, 3); times > 0; times--) {
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
        for (size_t i = 0; i < count; i++)
            if (!tasks[i].disabled)
                model(world, &tasks[i]);
    }
}

RNL_TEST(a_graph_does_what_it_was_changed_to)
{
    struct world *world = world_open();
    for (int i = 0; i < GRAPHS; i++) {
        struct task tasks[MOST] = {0};
        rnl_node nodes[MOST];
        rnl_graph graph = new_graph();
        size_t count = 1 + below(world, MOST);
        for (size_t k = 0; k < count; k++) {
            make(world, &tasks[k]);
            give(world, &tasks[k], graph, NULL, k > 0 ? &nodes[k - 1] : NULL,
                 &nodes[k]);
        }
        rnl_graph_exec exec = instantiate(graph);
        for (int round = 0; round < ROUNDS; round++) {
            if (round > 0)
                change(world, exec, tasks, nodes, count);
            launch(world, exec, tasks, count);
            if (below(world, 2))
                look(world);
        }
        look(world);
        drop_both(graph, exec);
    }
    world_close(world);
}

RNL_TEST(a_batch_does_what_came_this_time)
{
    struct world *world = world_open();
    rnl_stream stream;
    suite_need(RNL_FEATURE_BATCHED_STREAMS);
    expect_ok(rnl_stream_create(
        suite_context(), RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
        &stream));
    for (int i = 0; i < GRAPHS; i++) {
        struct task tasks[2 * MOST] = {0};
        size_t count = MOST + below(world, MOST);
        for (int round = 0; round < ROUNDS; round++) {
            for (size_t k = 0; k < count; k++) {
                if (round == 0 || below(world, 3) == 0)
                    make(world, &tasks[k]);
                enqueue(world, stream, &tasks[k]);
                model(world, &tasks[k]);
            }
            expect_ok(rnl_stream_flush(stream));
        }
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        look(world);
    }
    expect_ok(rnl_stream_release(stream));
    world_close(world);
}
