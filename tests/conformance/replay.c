// Four ways to do the same work must leave the same bytes: at once, captured
// and launched, launched again, and launched after an update from a capture
// with other arguments. Every operation, and every layout of arguments.
#include "graphs.h"

enum { SIZE = 4096 };

// What one operation works on. `round` makes the arguments of a second capture
// differ from those of the first.
struct work {
    rnl_stream stream;
    rnl_buffer from, to;
    rnl_function function;
    const struct layout *layout;
    unsigned round;
    unsigned char host[2][2 * SIZE];
};

typedef void (*work_fn)(struct work *work);

// --- Operations ------------------------------------------------------------

static void do_fill(struct work *w)
{
    expect_ok(rnl_enqueue_fill(w->stream, w->to, 8 * w->round, 512,
                               0x0123456789abcdef + w->round, 8));
}

static void do_fill_region(struct work *w)
{
    expect_ok(rnl_enqueue_fill_region(
        w->stream, RNL_FILL(.to = {.buffer = w->to, .offset = w->round,
                                   .row_pitch = 40, .slice_pitch = 400},
                            .width = 7, .height = 5, .depth = 3,
                            .pattern = 0x5a + w->round, .pattern_size = 1)));
}

static void do_copy(struct work *w)
{
    expect_ok(rnl_enqueue_copy(w->stream, w->host[1], w->host[0] + w->round,
                               777));
}

static void do_copy_to(struct work *w)
{
    expect_ok(rnl_enqueue_copy_to_buffer(w->stream, w->to, 3 + w->round,
                                         w->host[0], 1001));
}

static void do_copy_from(struct work *w)
{
    expect_ok(rnl_enqueue_copy_from_buffer(w->stream, w->host[1], w->from,
                                           5 + w->round, 999));
}

static void do_copy_buffer(struct work *w)
{
    expect_ok(rnl_enqueue_copy_buffer(w->stream, w->to, w->round, w->from, 9,
                                      2000));
}

static rnl_copy region_of(struct work *w, size_t offset)
{
    return (rnl_copy){
        .struct_size = sizeof(rnl_copy),
        .to = {.buffer = w->to, .offset = offset + w->round, .row_pitch = 64},
        .from = {.buffer = w->from, .row_pitch = 96, .slice_pitch = 960},
        .width = 50, .height = 6, .depth = 2};
}

static void do_copy_region(struct work *w)
{
    rnl_copy copy = region_of(w, 100);
    expect_ok(rnl_enqueue_copy_region(w->stream, &copy));
}

static void do_copy_batch(struct work *w)
{
    rnl_copy copies[] = {region_of(w, 0), region_of(w, 1024),
                         region_of(w, 2048)};
    expect_ok(rnl_enqueue_copy_batch(w->stream, copies, 3));
}

static void count_bytes(rnl_status status, void *user_data)
{
    struct work *w = user_data;
    if (status == RNL_OK)
        for (size_t i = 0; i < SIZE; i++)
            w->host[1][i] = (unsigned char)(w->host[0][i] + 1);
}

static void do_host_function(struct work *w)
{
    expect_ok(rnl_enqueue_host_function(w->stream, count_bytes, w));
}

static void do_values(struct work *w)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    expect_ok(rnl_enqueue_write_value32(w->stream, w->to, 16, 70 + w->round));
    expect_ok(rnl_enqueue_wait_value32(w->stream, w->to, 16, 70,
                                       RNL_WAIT_GEQ));
    expect_ok(rnl_enqueue_write_value64(w->stream, w->to, 24,
                                        UINT64_C(1) << (40 + w->round)));
    expect_ok(rnl_enqueue_wait_value64(w->stream, w->to, 24,
                                       UINT64_C(1) << (40 + w->round),
                                       RNL_WAIT_EQ));
}

static void do_fork(struct work *w)
{
    rnl_stream fork = suite_new_stream();
    rnl_event event = NULL;
    expect_ok(rnl_enqueue_fill(w->stream, w->to, 0, 64, w->round, 4));
    expect_ok(rnl_enqueue_wait_stream(fork, w->stream));
    expect_ok(rnl_enqueue_copy_buffer(fork, w->to, 1024, w->to, 0, 64));
    expect_ok(rnl_enqueue_fill(w->stream, w->to, 2048, 64, 3, 4));
    expect_ok(rnl_enqueue_event(fork, NULL, &event));
    expect_ok(rnl_enqueue_wait_event(w->stream, event));
    expect_ok(rnl_enqueue_copy_buffer(w->stream, w->to, 3072, w->to, 1024,
                                      64));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_stream_release(fork));
}

static const struct {
    const char *name;
    work_fn run;
} operations[] = {
    {"fill", do_fill},
    {"fill region", do_fill_region},
    {"copy", do_copy},
    {"copy to buffer", do_copy_to},
    {"copy from buffer", do_copy_from},
    {"copy buffer", do_copy_buffer},
    {"copy region", do_copy_region},
    {"copy batch", do_copy_batch},
    {"host function", do_host_function},
    {"values", do_values},
    {"fork", do_fork},
};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

// --- Four ways -------------------------------------------------------------

// All that the work can change.
struct result {
    unsigned char from[SIZE], to[SIZE], host[2][2 * SIZE];
};

static void set_up(struct work *w, unsigned round)
{
    unsigned char bytes[SIZE];
    w->round = round;
    for (unsigned i = 0; i < SIZE; i++) {
        bytes[i] = (unsigned char)(i * 7 + i / 251);
        w->host[0][i] = (unsigned char)(i * 13 + i / 127);
        w->host[0][SIZE + i] = (unsigned char)(i * 11);
    }
    memset(w->host[1], 0, sizeof w->host[1]);
    suite_upload(w->from, bytes, SIZE);
    expect_ok(rnl_fill_and_wait(suite_stream(), w->to, 0, SIZE, 0xee, 1));
}

static void read_back(struct work *w, struct result *result)
{
    expect_ok(rnl_stream_synchronize(w->stream, RNL_FOREVER));
    suite_download(result->from, w->from, SIZE);
    suite_download(result->to, w->to, SIZE);
    memcpy(result->host, w->host, sizeof result->host);
}

static void do_eagerly(struct work *w, work_fn run, struct result *result)
{
    set_up(w, w->round);
    run(w);
    read_back(w, result);
}

static rnl_graph capture(struct work *w, work_fn run, unsigned round)
{
    rnl_graph graph = NULL;
    set_up(w, round);
    expect_ok(rnl_stream_begin_capture(w->stream, NULL));
    run(w);
    expect_ok(rnl_stream_end_capture(w->stream, &graph));
    return graph;
}

static void launch(struct work *w, rnl_graph_exec exec, unsigned round,
                   const struct result *expected, const char *name,
                   const char *way)
{
    static struct result result;
    set_up(w, round);
    expect_ok(rnl_enqueue_graph(w->stream, exec));
    read_back(w, &result);
    if (memcmp(&result, expected, sizeof result))
        fail_msg("%s: %s is not what it is at once", name, way);
}

static void compare(struct work *w, work_fn run, const char *name)
{
    static struct result first, second;
    rnl_graph_exec exec = NULL;
    w->round = 1;
    do_eagerly(w, run, &second);
    w->round = 0;
    do_eagerly(w, run, &first);
    rnl_graph graph = capture(w, run, 0), other = capture(w, run, 1);
    expect_ok(rnl_graph_instantiate(graph, &exec));
    launch(w, exec, 0, &first, name, "captured");
    launch(w, exec, 0, &first, name, "replayed");
    expect_ok(rnl_graph_exec_update(exec, other, NULL));
    launch(w, exec, 1, &second, name, "updated");
    launch(w, exec, 1, &second, name, "updated and replayed");
    expect_ok(rnl_graph_exec_update(exec, graph, NULL));
    launch(w, exec, 0, &first, name, "updated back");
    drop_both(graph, exec);
    expect_ok(rnl_graph_release(other));
}

static struct work *new_work(void)
{
    static struct work work;
    suite_need(RNL_FEATURE_CAPTURE);
    work = (struct work){.stream = suite_new_stream(),
                         .from = suite_new_buffer(SIZE),
                         .to = suite_new_buffer(SIZE)};
    return &work;
}

static void end_work(struct work *w)
{
    expect_ok(rnl_stream_release(w->stream));
    expect_ok(rnl_buffer_release(w->from));
    expect_ok(rnl_buffer_release(w->to));
    expect_ok(rnl_function_release(w->function));
}

RNL_TEST(every_operation_is_the_same_in_all_ways)
{
    struct work *w = new_work();
    for (size_t i = 0; i < OPERATIONS; i++)
        compare(w, operations[i].run, operations[i].name);
    end_work(w);
}

static void do_all(struct work *w)
{
    for (size_t i = 0; i < OPERATIONS; i++)
        operations[i].run(w);
}

RNL_TEST(operations_in_a_row_are_the_same_in_all_ways)
{
    struct work *w = new_work();
    compare(w, do_all, "all operations");
    end_work(w);
}

// --- Layouts of arguments --------------------------------------------------

// Behind the pointer to where all values go, one after the other.
struct layout {
    const char *name;
    struct {
        rnl_value_kind kind;
        uint32_t size, alignment;
    } values[16];
};

static const struct layout layouts[] = {
    {"1", {{RNL_VALUE_INTEGER, 1, 1}}},
    {"2", {{RNL_VALUE_INTEGER, 2, 2}}},
    {"4", {{RNL_VALUE_INTEGER, 4, 4}}},
    {"8", {{RNL_VALUE_INTEGER, 8, 8}}},
    {"16", {{RNL_VALUE_STRUCT, 16, 16}}},
    {"float and double", {{RNL_VALUE_FLOAT, 4, 4}, {RNL_VALUE_FLOAT, 8, 8}}},
    {"ever larger", {{RNL_VALUE_INTEGER, 1, 1}, {RNL_VALUE_INTEGER, 2, 2},
                     {RNL_VALUE_INTEGER, 4, 4}, {RNL_VALUE_INTEGER, 8, 8},
                     {RNL_VALUE_STRUCT, 16, 16}}},
    {"ever smaller", {{RNL_VALUE_STRUCT, 16, 16}, {RNL_VALUE_INTEGER, 8, 8},
                      {RNL_VALUE_INTEGER, 4, 4}, {RNL_VALUE_INTEGER, 2, 2},
                      {RNL_VALUE_INTEGER, 1, 1}}},
    {"gaps", {{RNL_VALUE_INTEGER, 1, 1}, {RNL_VALUE_STRUCT, 16, 16},
              {RNL_VALUE_INTEGER, 1, 1}, {RNL_VALUE_INTEGER, 8, 8},
              {RNL_VALUE_INTEGER, 1, 1}, {RNL_VALUE_INTEGER, 2, 2},
              {RNL_VALUE_INTEGER, 1, 1}, {RNL_VALUE_INTEGER, 4, 4}}},
    {"odd structs", {{RNL_VALUE_STRUCT, 1, 1}, {RNL_VALUE_STRUCT, 3, 1},
                     {RNL_VALUE_STRUCT, 6, 2}, {RNL_VALUE_STRUCT, 12, 4},
                     {RNL_VALUE_STRUCT, 24, 8}, {RNL_VALUE_STRUCT, 48, 16},
                     {RNL_VALUE_STRUCT, 7, 1}}},
    {"inline", {{RNL_VALUE_STRUCT, 100, 4}}},
    {"4 KiB", {{RNL_VALUE_STRUCT, 4088, 8}}},
    {"4 KiB in parts", {{RNL_VALUE_STRUCT, 1000, 8},
                        {RNL_VALUE_STRUCT, 1001, 1},
                        {RNL_VALUE_INTEGER, 4, 4},
                        {RNL_VALUE_STRUCT, 2000, 16}}},
};

static size_t value_count(const struct layout *layout)
{
    size_t count = 0;
    while (count < 16 && layout->values[count].size)
        count++;
    return count;
}

static rnl_status gather(const rnl_native_call *call)
{
    const struct work *w = call->user_data;
    unsigned char *to = *(unsigned char *const *)call->arguments[0];
    for (size_t i = 0; i < value_count(w->layout); i++) {
        size_t size = w->layout->values[i].size;
        if ((uintptr_t)call->arguments[i + 1] %
            w->layout->values[i].alignment)
            return RNL_ERROR_INTERNAL;
        memcpy(to, call->arguments[i + 1], size);
        to += size;
    }
    return RNL_OK;
}

static void do_launch(struct work *w)
{
    rnl_arg items[17] = {rnl_arg_of_buffer(w->to)};
    size_t count = value_count(w->layout);
    const unsigned char *bytes = w->host[0] + w->round;
    for (size_t i = 0; i < count; i++) {
        uint32_t size = w->layout->values[i].size;
        items[i + 1].kind = w->layout->values[i].kind;
        items[i + 1].size = size;
        if (items[i + 1].kind == RNL_VALUE_STRUCT)
            items[i + 1] = rnl_arg_of_struct(bytes, size);
        else
            memcpy(&items[i + 1].value, bytes, size);
        bytes += size;
    }
    const rnl_args args = {sizeof args, count + 1, items};
    expect_ok(rnl_enqueue_function(w->stream, w->function, one_thread(),
                                   &args));
}

static rnl_function gatherer(struct work *w)
{
    rnl_parameter parameters[17] = {{RNL_VALUE_POINTER, 8, 8, "void *"}};
    size_t count = value_count(w->layout);
    rnl_function function = NULL;
    for (size_t i = 0; i < count; i++)
        parameters[i + 1] =
            (rnl_parameter){w->layout->values[i].kind,
                            w->layout->values[i].size,
                            w->layout->values[i].alignment, "value"};
    expect_ok(rnl_function_create_native(
        suite_context(), "gather", gather,
        RNL_NATIVE_OPTIONS(.parameters = parameters,
                           .parameter_count = count + 1, .user_data = w),
        &function));
    return function;
}

RNL_TEST(every_layout_of_arguments_is_the_same_in_all_ways)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    struct work *w = new_work();
    for (size_t i = 0; i < sizeof layouts / sizeof layouts[0]; i++) {
        w->layout = &layouts[i];
        w->function = gatherer(w);
        compare(w, do_launch, layouts[i].name);
        expect_ok(rnl_function_release(w->function));
        w->function = NULL;
    }
    end_work(w);
}

// The same for compiled kernels, whose arguments are read by code of their own.
static void do_compiled(struct work *w)
{
    struct {
        char bytes[1000];
    } large;
    memcpy(large.bytes, w->host[0] + w->round, sizeof large.bytes);
    struct {
        _Alignas(16) int four[4];
    } four = {{1, 2, 3, (int)w->round}};
    expect_ok(rnl_enqueue_function(
        w->stream, w->function, RNL_LAUNCH(.grid = {3}, .block = {40}),
        RNL_ARGS(w->to, (char)(w->round + 1), (short)-2, 3, 4ll, 5.5f, 6.25,
                 RNL_ARG_STRUCT(four), RNL_ARG_STRUCT(large))));
}

RNL_TEST(compiled_kernels_are_the_same_in_all_ways)
{
    struct work *w = new_work();
    w->function = suite_compile(
        "struct large { char bytes[1000]; };\n"
        "extern \"C\" __global__ void put(double *to, char a, short b, int c,\n"
        "    long long d, float e, double f, int4 g, large h)\n"
        "{\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        "    to[i] = a + 2 * b + 4 * c + 8 * d + 16 * e + 32 * f + 64 * g.w\n"
        "            + 128 * h.bytes[i * 8];\n"
        "}\n", "put");
    compare(w, do_compiled, "a compiled kernel");
    end_work(w);
}
