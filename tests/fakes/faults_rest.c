// Driver calls that fail, in what fewer programs do.
#include "round.h"

#include <stdatomic.h>

enum { SIZE = 256 };

static rnl_status open_buffer(struct round *round, rnl_memory_kind kind)
{
    rnl_status status = round_open(round);
    TRY(rnl_buffer_create(round->context, SIZE,
                          RNL_BUFFER_OPTIONS(.kind = kind, .zeroed = true),
                          &round->buffer));
    return status;
}

// --- Memory ---------------------------------------------------------------

// A copy goes on where the driver only refuses to say whether it is done: what
// it writes to outlives the round.
static rnl_status maps(struct round *round)
{
    static int back;
    int *ints = NULL;
    rnl_status status = open_buffer(round, RNL_MEMORY_DEVICE);
    TRY(rnl_buffer_map_and_wait(round->stream, round->buffer,
                                RNL_MAP_READ_WRITE, (void **)&ints));
    if (status == RNL_OK)
        ints[1] = 7;
    TRY(rnl_buffer_unmap_and_wait(round->stream, round->buffer));
    TRY(rnl_copy_from_buffer_and_wait(round->stream, &back, round->buffer, 4,
                                      4));
    if (status == RNL_OK)
        assert_int_equal(back, 7);
    return round_settle(round, status);
}

// Page-locked, and what becomes so.
static rnl_status locked_memory(struct round *round)
{
    static char ordinary[2 * 4096];
    void *locked = NULL;
    bool registered = false;
    rnl_status status = open_buffer(round, RNL_MEMORY_DEVICE);
    TRY(rnl_host_allocate(round->context, SIZE, &locked));
    TRY(rnl_host_register(round->context, ordinary, sizeof ordinary));
    registered = status == RNL_OK;
    TRY(rnl_enqueue_copy_from_buffer(round->stream, locked, round->buffer, 0,
                                     SIZE));
    TRY(rnl_enqueue_copy(round->stream, ordinary, locked, SIZE));
    TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    round_settle(round, status);
    if (registered)
        TRY(rnl_host_unregister(round->context, ordinary));
    if (locked)
        TRY(rnl_host_free(round->context, locked));
    return status;
}

static rnl_status managed(struct round *round)
{
    rnl_status status = open_buffer(round, RNL_MEMORY_MANAGED);
    TRY(rnl_buffer_advise(round->buffer, 0, SIZE,
                          RNL_ADVICE_PREFER_DEVICE));
    TRY(rnl_enqueue_prefetch(round->stream, round->buffer, 0, SIZE,
                             RNL_MEMORY_TO_DEVICE));
    TRY(rnl_enqueue_attach(round->stream, round->buffer, RNL_ATTACH_SINGLE));
    TRY(rnl_buffer_advise(round->buffer, 0, SIZE, RNL_ADVICE_NONE));
    TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    return round_settle(round, status);
}

// In the order of streams.
static rnl_status ordered(struct round *round)
{
    rnl_buffer slice = NULL, made = NULL;
    rnl_status status = open_buffer(round, RNL_MEMORY_DEVICE);
    TRY(rnl_stream_create(round->context, NULL, &round->other));
    TRY(rnl_enqueue_buffer_create(round->stream, SIZE,
                                  RNL_BUFFER_OPTIONS(.zeroed = true), &made));
    TRY(rnl_enqueue_wait_stream(round->other, round->stream));
    TRY(rnl_buffer_set_release_stream(made, round->other));
    TRY(rnl_enqueue_copy_buffer(round->other, made, 0, round->buffer, 0,
                                SIZE));
    TRY(rnl_buffer_slice(made, 64, 64, &slice));
    TRY(rnl_enqueue_fill(round->other, slice, 0, 64, 3, 4));
    assert_ok(rnl_buffer_release(slice));
    if (status == RNL_OK) {
        status = rnl_enqueue_buffer_release(round->other, made);
        if (status == RNL_OK)
            made = NULL;
    }
    assert_ok(rnl_buffer_release(made));
    TRY(rnl_context_synchronize(round->context, RNL_FOREVER));
    TRY(rnl_context_trim(round->context, 0));
    TRY(rnl_context_memory(round->context, &(size_t){0}, &(size_t){0}));
    return round_settle(round, status);
}

// --- Copies and fills -----------------------------------------------------

static rnl_status regions(struct round *round)
{
    static char rows[SIZE];
    rnl_copy copy = *RNL_COPY(.from = {.pointer = rows, .row_pitch = 32},
                              .width = 16, .height = 2, .depth = 2);
    rnl_fill fill = *RNL_FILL(.width = 8, .height = 3, .pattern = 5,
                              .pattern_size = 2);
    rnl_status status = open_buffer(round, RNL_MEMORY_DEVICE);
    copy.to.buffer = fill.to.buffer = round->buffer;
    fill.to.row_pitch = 16;
    TRY(rnl_enqueue_fill_region(round->stream, &fill));
    TRY(rnl_enqueue_copy_region(round->stream, &copy));
    const rnl_copy batch[] = {copy, copy};
    TRY(rnl_enqueue_copy_batch(round->stream, batch, 2));
    return round_settle(round, status);
}

static rnl_status blocking(struct round *round)
{
    static char rows[SIZE], back[SIZE];
    rnl_copy copy = *RNL_COPY(.to = {.pointer = back}, .width = 16,
                              .height = 2);
    rnl_fill fill = *RNL_FILL(.width = 8, .height = 3, .pattern_size = 2);
    rnl_status status = open_buffer(round, RNL_MEMORY_DEVICE);
    copy.from.buffer = fill.to.buffer = round->buffer;
    TRY(rnl_copy_region_and_wait(round->stream, &copy));
    TRY(rnl_fill_region_and_wait(round->stream, &fill));
    TRY(rnl_fill_and_wait(round->stream, round->buffer, 0, SIZE, 1, 8));
    TRY(rnl_copy_buffer_and_wait(round->stream, round->buffer, 64,
                                 round->buffer, 0, 64));
    TRY(rnl_copy_and_wait(round->stream, back, rows, SIZE));
    return round_settle(round, status);
}

// --- Order ----------------------------------------------------------------

static rnl_status fill_once(rnl_stream stream, size_t iteration, void *buffer)
{
    return rnl_enqueue_fill(stream, buffer, 0, 64, iteration, 4);
}

static rnl_status waits(struct round *round)
{
    uint64_t ns;
    rnl_status status = open_buffer(round, RNL_MEMORY_DEVICE);
    TRY(rnl_stream_create(round->context, NULL, &round->other));
    const rnl_value_op ops[] = {
        *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 64,
                      .buffer = round->buffer, .value = 1),
        *RNL_VALUE_OP(.action = RNL_WAIT_EQ, .width = 64,
                      .buffer = round->buffer, .value = 1)};
    TRY(rnl_enqueue_values(round->stream, ops, 2));
    TRY(rnl_enqueue_wait_value64(round->other, round->buffer, 0, 1,
                                 RNL_WAIT_GEQ));
    TRY(rnl_enqueue_wait_context(round->stream, round->context));
    TRY(rnl_time_and_wait(round->stream, 2, fill_once, round->buffer, &ns));
    TRY(rnl_stream_copy_attributes(round->other, round->stream));
    return round_settle(round, status);
}

// Native handles, and a stream of others.
static rnl_status strangers(struct round *round)
{
    void *native = NULL;
    rnl_status status = open_buffer(round, RNL_MEMORY_DEVICE);
    TRY(rnl_enqueue_event(round->stream, NULL, &round->event));
    TRY(rnl_event_native(round->event, &native));
    TRY(rnl_stream_native(round->stream, &native));
    TRY(rnl_stream_borrow(round->context, native, NULL, &round->other));
    TRY(rnl_enqueue_fill(round->other, round->buffer, 0, SIZE, 1, 4));
    TRY(rnl_enqueue_host_function(round->other, round_count, &round->calls));
    TRY(rnl_enqueue_wait_stream(round->stream, round->other));
    TRY(rnl_stream_synchronize(round->other, RNL_FOREVER));
    round_settle(round, status);
    if (status == RNL_OK)
        assert_int_equal(round->calls, 1);
    return status;
}

// The context of another, which the round adopts twice, and its own.
static rnl_status adopted(struct round *round)
{
    void *native = NULL;
    rnl_context *contexts = round->adopted;
    rnl_status status = round_open(round);
    TRY(rnl_context_native(round->context, &native));
    TRY(rnl_context_adopt(fake_api(), native, NULL, &contexts[0]));
    TRY(rnl_context_adopt(fake_api(), fake_foreign(), NULL, &contexts[1]));
    TRY(rnl_stream_create(contexts[1], NULL, &round->other));
    TRY(rnl_buffer_create(contexts[1], SIZE, NULL, &round->buffer));
    TRY(rnl_enqueue_fill(round->other, round->buffer, 0, SIZE, 1, 4));
    TRY(rnl_enqueue_wait_stream(round->stream, round->other));
    TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    return round_settle(round, status);
}

// --- Functions ------------------------------------------------------------

static rnl_status attributes(struct round *round)
{
    int64_t value;
    uint32_t threads;
    rnl_occupancy occupancy = {.struct_size = sizeof occupancy};
    rnl_status status = open_buffer(round, RNL_MEMORY_DEVICE);
    TRY(fake_module(round->context, &round->module));
    TRY(rnl_module_function(round->module, "add", &round->function));
    TRY(rnl_function_set_attribute(round->function, RNL_FUNCTION_CARVEOUT,
                                   50));
    TRY(rnl_function_set_attribute(round->function,
                                   RNL_FUNCTION_DYNAMIC_SHARED, 64 << 10));
    TRY(rnl_function_get_attribute(round->function, RNL_FUNCTION_CARVEOUT,
                                   &value));
    TRY(rnl_function_get_occupancy(round->function, 64, 0, &occupancy));
    TRY(rnl_function_suggest_block(round->function, 0, 0, &threads));
    TRY(rnl_enqueue_function(round->stream, round->function,
                             RNL_LAUNCH(.grid = {1}, .block = {4},
                                        .shared_size = 60 << 10),
                             RNL_ARGS(round->buffer, 5, 4)));
    TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    return round_settle(round, status);
}

// Of launches, with an event that the driver records or Runnel does.
static rnl_status launch_attributes(struct round *round)
{
    rnl_status status = open_buffer(round, RNL_MEMORY_DEVICE);
    TRY(fake_module(round->context, &round->module));
    TRY(rnl_module_function(round->module, "add", &round->function));
    TRY(rnl_event_create(round->context, NULL, &round->event));
    const rnl_launch_attribute both[] = {
        {RNL_LAUNCH_COMPLETION_EVENT, {.event = {round->event, false}}},
        {RNL_LAUNCH_ACCESS_POLICY,
         {.access_policy = {.buffer = round->buffer, .size = RNL_WHOLE}}}};
    for (int i = 0; i < 3; i++)
        TRY(rnl_enqueue_function(
            round->stream, round->function,
            RNL_LAUNCH(.grid = {1}, .block = {4}, .attributes = both,
                       .attribute_count = 2), RNL_ARGS(round->buffer, 5, 4)));
    TRY(rnl_event_synchronize(round->event, RNL_FOREVER));
    TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    return round_settle(round, status);
}

// --- Captures -------------------------------------------------------------

static rnl_status capture(struct round *round, uint32_t value,
                          rnl_graph *out_graph)
{
    rnl_status status = RNL_OK;
    TRY(rnl_stream_begin_capture(round->stream, NULL));
    TRY(rnl_enqueue_fill(round->stream, round->buffer, 0, SIZE, value, 4));
    TRY(rnl_enqueue_wait_stream(round->other, round->stream));
    TRY(rnl_enqueue_external_wait(round->other, round->event));
    TRY(rnl_enqueue_host_function(round->other, round_count, &round->calls));
    TRY(rnl_enqueue_external_record(round->other, round->event));
    TRY(rnl_enqueue_wait_stream(round->stream, round->other));
    rnl_status ended = rnl_stream_end_capture(round->stream, out_graph);
    return status ? status : ended;
}

static rnl_status captures(struct round *round)
{
    rnl_graph second = NULL;
    rnl_status status = open_buffer(round, RNL_MEMORY_DEVICE);
    TRY(rnl_stream_create(round->context, NULL, &round->other));
    TRY(rnl_event_create(round->context, NULL, &round->event));
    TRY(capture(round, 1, &round->graph));
    TRY(capture(round, 2, &second));
    TRY(rnl_graph_instantiate(round->graph, &round->exec));
    TRY(rnl_enqueue_graph(round->stream, round->exec));
    TRY(rnl_graph_exec_update(round->exec, second, NULL));
    TRY(rnl_enqueue_graph(round->stream, round->exec));
    TRY(rnl_event_synchronize(round->event, RNL_FOREVER));
    round_settle(round, status);
    assert_ok(rnl_graph_release(second));
    if (status == RNL_OK)
        assert_int_equal(round->calls, 2);
    return status;
}

// A graph is launched, and changed, on two streams in turn, of which one lets
// the other on; in the end the host does.
static rnl_status exchanges(struct round *round)
{
    rnl_fill *fill = RNL_FILL(.width = 4, .pattern = 3, .pattern_size = 4);
    uint32_t *word = NULL;
    rnl_node node = NULL;
    rnl_status status = open_buffer(round, RNL_MEMORY_HOST);
    TRY(rnl_stream_create(round->context, NULL, &round->other));
    TRY(rnl_buffer_host_pointer(round->buffer, (void **)&word));
    fill->to = (rnl_place){.buffer = round->buffer};
    TRY(rnl_graph_create(round->context, NULL, &round->graph));
    TRY(rnl_graph_add_node(round->graph, RNL_AT_START,
                           RNL_NODE(.kind = RNL_NODE_FILL, .fill = fill),
                           &node));
    TRY(rnl_graph_instantiate(round->graph, &round->exec));
    for (uint32_t i = 1; i <= 3; i++) {
        TRY(rnl_graph_exec_set_enabled(round->exec, node, true));
        TRY(rnl_enqueue_graph(round->stream, round->exec));
        TRY(rnl_enqueue_wait_value32(round->stream, round->buffer, 4 * i, 1,
                                     RNL_WAIT_EQ));
        TRY(rnl_graph_exec_set_enabled(round->exec, node, false));
        TRY(rnl_enqueue_graph(round->other, round->exec));
        TRY(rnl_enqueue_write_value32(round->other, round->buffer, 4 * i, 1));
    }
    for (uint32_t i = 1; word && i <= 3; i++)
        atomic_store((_Atomic uint32_t *)&word[i], 1);
    TRY(rnl_stream_synchronize(round->stream, RNL_FOREVER));
    return round_settle(round, status);
}

// --- The sweeps -----------------------------------------------------------

RNL_TEST(maps_survive_any_failing_call)
{
    round_sweep(maps);
}

RNL_TEST(locked_memory_survives_any_failing_call)
{
    round_sweep(locked_memory);
}

RNL_TEST(managed_memory_survives_any_failing_call)
{
    round_sweep(managed);
}

RNL_TEST(memory_in_stream_order_survives_any_failing_call)
{
    round_sweep(ordered);
}

RNL_TEST(regions_survive_any_failing_call)
{
    round_sweep(regions);
}

RNL_TEST(blocking_copies_survive_any_failing_call)
{
    round_sweep(blocking);
}

RNL_TEST(waits_survive_any_failing_call)
{
    round_sweep(waits);
}

RNL_TEST(native_handles_survive_any_failing_call)
{
    round_sweep(strangers);
}

RNL_TEST(launch_attributes_survive_any_failing_call)
{
    round_sweep(launch_attributes);
}

RNL_TEST(adopted_contexts_survive_any_failing_call)
{
    round_sweep(adopted);
}

RNL_TEST(attributes_survive_any_failing_call)
{
    round_sweep(attributes);
}

RNL_TEST(exchanged_graphs_survive_any_failing_call)
{
    round_waits_on = true;
    round_sweep(exchanges);
}

RNL_TEST(captures_survive_any_failing_call)
{
    round_sweep(captures);
}
