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

// The extent of a box, which mostly is a row, in units.
struct box {
    size_t width, height, depth;
};

static struct box some_box(struct world *world, size_t most)
{
    bool row = below(world, 8) > 0;
    struct box box = {.height = row ? 1 : 1 + below(world, 5),
                      .depth = row ? 1 : 1 + below(world, 3)};
    box.width = some(world, most / box.height / box.depth);
    return box;
}

// Puts a box somewhere into `room` units.
static void put_box(struct world *world, const struct box *box, size_t unit,
                    size_t room, rnl_place *place)
{
    size_t row = box->width + below(world, 20);
    size_t slice = row * (box->height + below(world, 2)) + below(world, 2);
    size_t span = slice * (box->depth - 1) + row * (box->height - 1) +
                  box->width;
    place->offset = below(world, room - span + 1) * unit;
    place->row_pitch = row * unit;
    place->slice_pitch = slice * unit;
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
    size_t unit = (size_t)1 << below(world, 4);
    struct box box = some_box(world, 20000 / unit);
    task->fill = (rnl_fill){.struct_size = sizeof task->fill,
                            .to = {.buffer = world->buffer},
                            .width = box.width * unit,
                            .height = box.height,
                            .depth = box.depth,
                            .pattern = below(world, 1 << 24) *
                                       UINT64_C(0x1000000010001),
                            .pattern_size = unit};
    put_box(world, &box, unit, SIZE / unit, &task->fill.to);
}

static void make_copy(struct world *world, struct task *task)
{
    struct box box = some_box(world, 20000);
    size_t half = below(world, 2) * HALF;
    task->copy = (rnl_copy){.struct_size = sizeof task->copy,
                            .to = {.buffer = world->buffer},
                            .from = {.buffer = world->buffer},
                            .width = box.width,
                            .height = box.height,
                            .depth = box.depth};
    put_box(world, &box, 1, HALF, &task->copy.to);
    put_box(world, &box, 1, HALF, &task->copy.from);
    task->copy.to.offset += half;
    task->copy.from.offset += HALF - half;
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
    for (size_t z = 0; z < fill->depth; z++)
        for (size_t y = 0; y < fill->height; y++)
            for (size_t i = 0; i < fill->width; i++)
                bytes[fill->to.offset + z * fill->to.slice_pitch +
                      y * fill->to.row_pitch + i] =
                    (unsigned char)(fill->pattern >>
                                    i % fill->pattern_size * 8);
}

static void model_copy(unsigned char *bytes, const rnl_copy *copy)
{
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            memcpy(bytes + copy->to.offset + z * copy->to.slice_pitch +
                       y * copy->to.row_pitch,
                   bytes + copy->from.offset + z * copy->from.slice_pitch +
                       y * copy->from.row_pitch,
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

// Now and then the same again, or some of it.
static void run(struct world *world, rnl_stream stream)
{
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
}

RNL_TEST(a_batch_does_what_came_this_time)
{
    struct world *world = world_open();
    rnl_stream stream;
    suite_need(RNL_FEATURE_BATCHED_STREAMS);
    expect_ok(rnl_stream_create(
        suite_context(), RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
        &stream));
    run(world, stream);
    expect_ok(rnl_stream_release(stream));
    world_close(world);
}

RNL_TEST(a_stream_does_what_comes)
{
    struct world *world = world_open();
    run(world, suite_stream());
    world_close(world);
}
