// Objects and memory: made, counted, dropped.
#include "growth.h"

#include <stdio.h>

// --- Contexts, streams, events ---------------------------------------------

static void contexts(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_context_open("cpu", 0,
                                         RNL_CONTEXT_OPTIONS(.threads = 1),
                                         (rnl_context *)&with->items[i]));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_context_release(with->items[i]));
}

static void peers(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        growth_ok(with, rnl_context_open("cpu", 0,
                                         RNL_CONTEXT_OPTIONS(.threads = 1),
                                         (rnl_context *)&with->items[i]));
        growth_ok(with,
                  rnl_context_enable_peer(with->context, with->items[i]));
        growth_ok(with,
                  rnl_context_enable_peer(with->context, with->items[0]));
    }
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_context_release(with->items[i]));
}

static void streams(growth *with, size_t count)
{
    growth_make_streams(with, count);
    growth_drop_streams(with, count);
}

static void streams_backwards(growth *with, size_t count)
{
    growth_make_streams(with, count);
    while (count-- > 0)
        growth_ok(with, rnl_stream_release(with->items[count]));
}

static void streams_in_turn(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        streams(with, 1);
}

static void events(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_event_create(with->context, NULL,
                                         (rnl_event *)&with->items[i]));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_event_release(with->items[i]));
}

static void retains(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_stream_retain(with->stream));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_stream_release(with->stream));
}

static void functions(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_function_retain(with->function));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_function_release(with->function));
}

// Handles that are refused.
static void errors(growth *with, size_t count)
{
    (void)with;
    for (size_t i = 0; i < count; i++)
        rnl_buffer_retain(NULL);
    rnl_last_error_clear();
}

static void labels(growth *with, size_t count)
{
    char label[32];
    for (size_t i = 0; i < count; i++) {
        snprintf(label, sizeof label, "label %zu", i);
        growth_ok(with, rnl_buffer_create(with->context, 64,
                                          RNL_BUFFER_OPTIONS(.label = label),
                                          (rnl_buffer *)&with->items[i]));
    }
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_release(with->items[i]));
}

// --- Buffers ---------------------------------------------------------------

static void make_buffers(growth *with, size_t count, size_t size, size_t step)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_create(with->context, size + i * step, NULL,
                                          (rnl_buffer *)&with->items[i]));
}

static void buffers(growth *with, size_t count)
{
    make_buffers(with, count, 4096, 0);
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_release(with->items[i]));
}

static void buffers_of_all_sizes(growth *with, size_t count)
{
    make_buffers(with, count, 64, 1024);
    for (size_t i = count; i-- > 0;)
        growth_ok(with, rnl_buffer_release(with->items[i]));
    make_buffers(with, count, 64, 1000);
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_release(with->items[i]));
    growth_ok(with, rnl_context_trim(with->context, 0));
}

static void buffers_and_trims(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buffers(with, 1);
        growth_ok(with, rnl_context_trim(with->context, 0));
    }
}

// Released while their stream has work: later ones look for such memory.
static void buffers_behind_work(growth *with, size_t count)
{
    rnl_event gate = growth_gate(with, with->stream);
    for (size_t i = 0; i < count; i++) {
        growth_ok(with,
                  rnl_enqueue_buffer_create(with->stream, 4096, NULL,
                                            (rnl_buffer *)&with->items[i]));
        growth_ok(with, rnl_enqueue_fill(with->stream, with->items[i], 0, 64,
                                         1, 1));
    }
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_release(with->items[i]));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_create(with->context, 4096, NULL,
                                          (rnl_buffer *)&with->items[i]));
    growth_open_gate(with, gate);
    growth_synchronize(with, with->stream);
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_release(with->items[i]));
}

static void buffers_in_stream_order(growth *with, size_t count)
{
    rnl_event gate = growth_gate(with, with->stream);
    for (size_t i = 0; i < count; i++) {
        rnl_buffer buffer = NULL;
        growth_ok(with, rnl_enqueue_buffer_create(with->stream, 4096, NULL,
                                                  &buffer));
        growth_ok(with, rnl_enqueue_buffer_release(with->stream, buffer));
    }
    growth_open_gate(with, gate);
    growth_synchronize(with, with->stream);
}

static void wraps(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_wrap(with->context, with->bytes, 64, NULL,
                                        (rnl_buffer *)&with->items[i]));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_release(with->items[i]));
}

static void slices(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_slice(with->buffer, 0, 64,
                                         (rnl_buffer *)&with->items[i]));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_buffer_release(with->items[i]));
}

static void slices_of_slices(growth *with, size_t count)
{
    rnl_buffer window = with->buffer, next = NULL;
    for (size_t i = 0; i < count; i++, window = next) {
        growth_ok(with, rnl_buffer_slice(window, 0, 64, &next));
        if (window != with->buffer)
            growth_ok(with, rnl_buffer_release(window));
    }
    growth_ok(with, rnl_buffer_release(window));
}

static void maps(growth *with, size_t count)
{
    void *pointer;
    for (size_t i = 0; i < count; i++) {
        growth_ok(with, rnl_buffer_map_and_wait(with->stream, with->buffer,
                                                RNL_MAP_READ, &pointer));
        growth_ok(with, rnl_buffer_unmap_and_wait(with->stream, with->buffer));
    }
}

// --- Host memory -----------------------------------------------------------

static void host_allocations(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with,
                  rnl_host_allocate(with->context, 64, &with->items[i]));
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_host_free(with->context, with->items[i]));
}

static void host_ranges(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_host_register(with->context, with->bytes + 64 * i,
                                          64));
    for (size_t i = 0; i < count; i++)
        growth_ok(with,
                  rnl_host_unregister(with->context, with->bytes + 64 * i));
}

static void host_ranges_downwards(growth *with, size_t count)
{
    for (size_t i = count; i-- > 0;)
        growth_ok(with, rnl_host_register(with->context, with->bytes + 64 * i,
                                          64));
    for (size_t i = count; i-- > 0;)
        growth_ok(with,
                  rnl_host_unregister(with->context, with->bytes + 64 * i));
}

static const growth_call calls[] = {
    {"contexts", contexts, 4, 0},
    {"peers", peers, 4, 0},
    {"streams", streams, 256, 0},
    {"streams-backwards", streams_backwards, 64, 0},
    {"streams-in-turn", streams_in_turn, 64, 0},
    {"events", events, 256, 0},
    {"retains", retains, 256, 0},
    {"functions", functions, 256, 0},
    {"errors", errors, 256, 0},
    {"labels", labels, 256, 0},
    {"buffers", buffers, 256, 0},
    {"buffers-of-all-sizes", buffers_of_all_sizes, 64, 0},
    {"buffers-and-trims", buffers_and_trims, 64, 0},
    {"buffers-behind-work", buffers_behind_work, 256, 0},
    {"buffers-in-stream-order", buffers_in_stream_order, 256, 0},
    {"wraps", wraps, 256, 0},
    {"slices", slices, 256, 0},
    {"slices-of-slices", slices_of_slices, 256, 0},
    {"maps", maps, 128, 0},
    {"host-allocations", host_allocations, 256, 0},
    {"host-ranges", host_ranges, 256, 0},
    {"host-ranges-downwards", host_ranges_downwards, 256, 0},
};

const growth_list growth_objects = GROWTH_LIST(calls);
