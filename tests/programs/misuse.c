#include "misuse.h"

#include <stdint.h>

// --- Handles ----------------------------------------------------------------

static void *dead_event(const struct misused *on)
{
    rnl_event event = NULL;
    if (rnl_event_create(on->context, NULL, &event) == RNL_OK)
        rnl_event_release(event);
    return event;
}

static void *dead_buffer(const struct misused *on)
{
    rnl_buffer buffer = NULL;
    if (rnl_buffer_create(on->context, 64, NULL, &buffer) == RNL_OK)
        rnl_buffer_release(buffer);
    return buffer;
}

static void *dead_graph(const struct misused *on)
{
    rnl_graph graph = NULL;
    if (rnl_graph_create(on->context, NULL, &graph) == RNL_OK)
        rnl_graph_release(graph);
    return graph;
}

static void *bad_handle(const struct misused *on, unsigned number)
{
    switch (number % 8) {
    case 0: return dead_event(on);
    case 1: return dead_buffer(on);
    case 2: return dead_graph(on);
    case 3: return on->context;  // of another kind than all below
    case 4: return (void *)(uintptr_t)16;
    case 5: return (void *)UINTPTR_MAX;
    case 6: return (void *)((uintptr_t)on->context ^ 1u << number / 8 % 32);
    default: return NULL;
    }
}

// With a handle in the place of another that is none of its kind.
static rnl_status call_with(const struct misused *on, void *bad, unsigned way)
{
    char byte[8] = {0};
    rnl_stream stream;
    rnl_graph_exec exec;
    rnl_node node;
    uint64_t ns;
    const rnl_node_params child = {.struct_size = sizeof child,
                                   .kind = RNL_NODE_CHILD, .child = bad};
    switch (way % 20) {
    case 0: return rnl_enqueue_event_record(bad, on->event);
    case 1: return rnl_enqueue_event_record(on->stream, bad);
    case 2: return rnl_enqueue_wait_event(on->stream, bad);
    case 3: return rnl_enqueue_wait_stream(on->stream, bad);
    case 4: return rnl_enqueue_wait_stream(bad, on->stream);
    case 5: return rnl_enqueue_copy_to_buffer(on->stream, bad, 0, byte, 8);
    case 6: return rnl_enqueue_copy_from_buffer(bad, byte, on->buffer, 0, 8);
    case 7: return rnl_enqueue_fill(on->stream, bad, 0, 8, 0, 1);
    case 8: return rnl_enqueue_function(on->stream, bad, NULL, NULL);
    case 9: return rnl_enqueue_graph(on->stream, bad);
    case 10: return rnl_stream_synchronize(bad, 0);
    case 11: return rnl_stream_query(bad);
    case 12: return rnl_event_query(bad);
    case 13: return rnl_event_elapsed(bad, bad, &ns);
    case 14: return rnl_graph_instantiate(bad, &exec);
    case 15: return rnl_graph_exec_update(on->exec, bad, NULL);
    case 16: return rnl_graph_add_node(on->graph, NULL, 0, &child, &node);
    case 17: return rnl_stream_reset_and_wait(bad);
    case 18: return rnl_enqueue_prefetch(on->stream, bad, 0, 8,
                                         RNL_MEMORY_TO_HOST);
    default: return rnl_context_default_stream(
        bad == on->context ? (rnl_context)on->stream : bad, &stream);
    }
}

// NULL may be released; what is dead or of another kind may not.
static rnl_status release(const struct misused *on, void *bad, unsigned way)
{
    if (!bad)
        bad = dead_event(on);
    switch (way % 7) {
    case 0: return rnl_event_release(bad);
    case 1: return rnl_buffer_release(bad);
    case 2: return rnl_stream_release(bad);
    case 3: return rnl_graph_release(bad);
    case 4: return rnl_graph_exec_release(bad);
    case 5: return rnl_enqueue_buffer_release(on->stream, bad);
    default: return rnl_function_release(bad);
    }
}

// --- Numbers ----------------------------------------------------------------

static rnl_status launch(const struct misused *on, size_t number,
                         unsigned way)
{
    const rnl_arg wrong = rnl_arg_of_integer(1, 2);
    const rnl_args args = {sizeof args, way % 2, &wrong};
    const rnl_launch launches[] = {
        {.struct_size = sizeof launches[0], .grid = {1, 1, 1}},
        {.struct_size = sizeof launches[0], .block = {1, 1, 1}},
        {.struct_size = sizeof launches[0], .grid = {1, 1, 1},
         .block = {(uint32_t)number | 1u << 30, 1, 1}},
        {.struct_size = number % sizeof(size_t), .grid = {1, 1, 1},
         .block = {1, 1, 1}},
        {.struct_size = sizeof launches[0], .grid = {1, 1, 1},
         .block = {1, 1, 1}},
    };
    return rnl_enqueue_function(
        on->stream, on->function,
        &launches[way / 2 % (sizeof launches / sizeof *launches)], &args);
}

// `over` is past the end of the buffer, and not far from it or very far.
static rnl_status reach_past(const struct misused *on, size_t over,
                             unsigned way)
{
    char bytes[8] = {0};
    const rnl_value_op op = {.struct_size = sizeof op,
                             .action = RNL_WRITE_VALUE, .width = 32,
                             .buffer = on->buffer, .offset = over};
    const rnl_copy copy = {.struct_size = sizeof copy,
                           .to = {.buffer = on->buffer, .offset = over},
                           .from = {.pointer = bytes}, .width = 8};
    const rnl_fill fill = {.struct_size = sizeof fill,
                           .to = {.buffer = on->buffer}, .width = over,
                           .pattern_size = 1};
    rnl_buffer slice;
    switch (way % 12) {
    case 0: return rnl_enqueue_fill(on->stream, on->buffer, over, 8, 0, 1);
    case 1: return rnl_enqueue_fill(on->stream, on->buffer, 0, over, 0, 1);
    case 2: return rnl_enqueue_fill(on->stream, on->buffer, 8, SIZE_MAX - 7,
                                    0, 1);
    case 3: return rnl_enqueue_fill(on->stream, on->buffer, 0, 8, 0, 3);
    case 4: return rnl_enqueue_copy_to_buffer(on->stream, on->buffer, over,
                                              bytes, 8);
    case 5: return rnl_enqueue_copy_from_buffer(on->stream, bytes, on->buffer,
                                                over, 8);
    case 6: return rnl_enqueue_copy_buffer(on->stream, on->buffer, 0,
                                           on->buffer, over, 8);
    case 7: return rnl_enqueue_values(on->stream, &op, 1);
    case 8: return rnl_enqueue_copy_region(on->stream, &copy);
    case 9: return rnl_enqueue_fill_region(on->stream, &fill);
    case 10: return rnl_buffer_slice(on->buffer, over, 8, &slice);
    default: return rnl_enqueue_write_value32(on->stream, on->buffer, 2, 0);
    }
}

static rnl_status call_null(const struct misused *on, unsigned way)
{
    switch (way % 10) {
    case 0: return rnl_enqueue_copy_to_buffer(on->stream, on->buffer, 0, NULL,
                                              8);
    case 1: return rnl_enqueue_function(on->stream, on->function, NULL, NULL);
    case 2: return rnl_enqueue_host_function(on->stream, NULL, NULL);
    case 3: return rnl_event_create(on->context, NULL, NULL);
    case 4: return rnl_buffer_create(on->context, 0, NULL, NULL);
    case 5: return rnl_graph_instantiate(on->graph, NULL);
    case 6: return rnl_graph_add_node(on->graph, NULL, 1, NULL, NULL);
    case 7: return rnl_enqueue_values(on->stream, NULL, 1);
    case 8: return rnl_enqueue_copy_batch(on->stream, NULL, 2);
    default: return rnl_stream_end_capture(on->stream, NULL);
    }
}

// --- All --------------------------------------------------------------------

static rnl_status make_call(const struct misused *on, uint64_t value)
{
    unsigned way = (unsigned)(value >> 8), number = (unsigned)(value >> 16);
    size_t over = on->size + (number % 2 ? number : SIZE_MAX - number);
    switch (value % 5) {
    case 0:
        return release(on, bad_handle(on, number), way);
    case 1:
        return launch(on, number, way);
    case 2:
        if (over <= on->size || over == RNL_WHOLE)
            over = on->size + 1;
        return reach_past(on, over, way);
    case 3:
        return call_null(on, way);
    default:
        return call_with(on, bad_handle(on, number), way);
    }
}

rnl_status misuse(const struct misused *on, uint64_t value)
{
    rnl_last_error_clear();
    rnl_status status = make_call(on, value);
    const rnl_error *error = rnl_last_error();
    if (status != RNL_OK && (error->status != status || !error->message[0]))
        return RNL_ERROR_INTERNAL;
    return status;
}
