// Copies and fills, while faults are injected.
#include "sweep.h"

static rnl_status copy_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_buffer a = NULL, b = NULL;
    // Static: a copy may still be in flight when the scenario gives up.
    static int from[64], to[64];
    memset(to, 0, sizeof to);
    for (int i = 0; i < 64; i++)
        from[i] = i;
    TRY(sweep_open(&context));
    TRY(rnl_context_default_stream(context, &stream));
    TRY(rnl_buffer_create(context, sizeof from, NULL, &a));
    TRY(rnl_buffer_create(context, sizeof from, NULL, &b));
    rnl_copy copies[40];
    for (size_t i = 0; i < 40; i++)
        copies[i] = *RNL_COPY(.to = {.buffer = b, .offset = i * 4},
                              .from = {.buffer = a, .offset = i * 4},
                              .width = 4);
    TRY(rnl_enqueue_copy_to_buffer(stream, a, 0, from, sizeof from));
    TRY(rnl_enqueue_copy_batch(stream, copies, 40));
    TRY(rnl_enqueue_copy_buffer(stream, b, 160, a, 160, 64));
    TRY(rnl_enqueue_copy_region(
        stream, RNL_COPY(.to = {.buffer = b, .offset = 224},
                         .from = {.buffer = a, .offset = 224}, .width = 8,
                         .height = 4)));
    TRY(rnl_enqueue_fill(stream, b, 0, 8, 7, 4));
    TRY(rnl_enqueue_fill_region(
        stream, RNL_FILL(.to = {.buffer = b, .offset = 8}, .width = 4,
                         .height = 2, .pattern = 8, .pattern_size = 4)));
    TRY(rnl_copy_from_buffer_and_wait(stream, to, b, 0, sizeof to));
    EXPECT(to[0] == 7 && to[1] == 7 && to[2] == 8 && to[3] == 8);
    EXPECT(memcmp(to + 4, from + 4, sizeof from - 16) == 0);
    RELEASE(rnl_buffer_release(a));
    RELEASE(rnl_buffer_release(b));
    RELEASE(rnl_context_release(context));
    return status;
}

static rnl_status regions(struct sweep_set *t)
{
    static char rows[256];
    static int back[64];
    rnl_status status = RNL_OK;
    memset(rows, 3, sizeof rows);
    TRY(rnl_enqueue_fill_region(
        t->stream, RNL_FILL(.to = {.buffer = t->buffer, .row_pitch = 16},
                            .width = 8, .height = 4, .depth = 2,
                            .pattern = 5, .pattern_size = 2)));
    TRY(rnl_enqueue_copy_region(
        t->stream, RNL_COPY(.to = {.buffer = t->host, .row_pitch = 32},
                            .from = {.buffer = t->buffer, .row_pitch = 16},
                            .width = 8, .height = 4)));
    TRY(rnl_enqueue_copy_region(
        t->stream,
        RNL_COPY(.to = {.buffer = t->buffer, .row_pitch = 16,
                        .slice_pitch = 64},
                 .from = {.pointer = rows, .row_pitch = 32,
                          .slice_pitch = 128},
                 .width = 16, .height = 4, .depth = 2)));
    TRY(rnl_copy_from_buffer_and_wait(t->stream, back, t->buffer, 0, 256));
    EXPECT(back[0] == 0x03030303 && back[31] == 0x03030303);
    return status;
}

static rnl_status blocking(struct sweep_set *t)
{
    static char from[256], back[256];
    rnl_status status = RNL_OK;
    TRY(rnl_fill_and_wait(t->stream, t->buffer, 0, 256, 1, 8));
    TRY(rnl_fill_region_and_wait(
        t->stream, RNL_FILL(.to = {.buffer = t->buffer}, .width = 8,
                            .height = 3, .pattern_size = 2)));
    TRY(rnl_copy_buffer_and_wait(t->stream, t->host, 64, t->buffer, 0, 64));
    TRY(rnl_copy_region_and_wait(
        t->stream, RNL_COPY(.to = {.pointer = back},
                            .from = {.buffer = t->host}, .width = 16,
                            .height = 2)));
    from[7] = 9;
    TRY(rnl_copy_and_wait(t->stream, back, from, 256));
    EXPECT(back[7] == 9);
    return status;
}

// Copies of ordinary memory, in order with fills, on two streams.
static rnl_status ordinary_memory(struct sweep_set *t)
{
    static int ints[2][4096];
    rnl_status status = RNL_OK;
    rnl_buffer large = NULL;
    ints[0][4095] = 77;
    TRY(rnl_buffer_create(t->context, sizeof ints[0], NULL, &large));
    for (int i = 0; i < 4; i++) {
        TRY(rnl_enqueue_copy_to_buffer(t->stream, large, 0, ints[0],
                                       sizeof ints[0]));
        TRY(rnl_enqueue_wait_stream(t->other, t->stream));
        TRY(rnl_enqueue_copy_from_buffer(t->other, ints[1], large, 0,
                                         sizeof ints[1]));
        TRY(rnl_enqueue_wait_stream(t->stream, t->other));
    }
    TRY(rnl_enqueue_copy(t->stream, ints[0], ints[1], 4096));
    TRY(rnl_context_synchronize(t->context, RNL_FOREVER));
    EXPECT(ints[1][4095] == 77);
    RELEASE(rnl_buffer_release(large));
    return status;
}

static rnl_status batches_of_regions(struct sweep_set *t)
{
    enum { COUNT = 60 };
    static int back[64];
    rnl_status status = RNL_OK;
    rnl_copy copies[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        copies[i] = *RNL_COPY(
            .to = {.buffer = t->host, .offset = 4 * i},
            .from = {.buffer = t->buffer, .offset = 4 * (i % 8)},
            .width = 4, .height = i % 2 + 1);
    TRY(rnl_fill_and_wait(t->stream, t->buffer, 0, 256, 4, 4));
    for (int i = 0; i < 6; i++)
        TRY(rnl_enqueue_copy_batch(t->stream, copies, COUNT));
    TRY(rnl_copy_from_buffer_and_wait(t->stream, back, t->host, 0, 256));
    EXPECT(back[0] == 4 && back[59] == 4);
    return status;
}

// Collected and flushed, also by what waits for the stream.
static rnl_status batched_copies(struct sweep_set *t)
{
    static int back[64];
    rnl_status status = RNL_OK;
    rnl_stream stream = NULL;
    TRY(rnl_stream_create(t->context,
                          RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
                          &stream));
    for (int i = 0; i < 40; i++) {
        TRY(rnl_enqueue_fill(stream, t->buffer, 0, 128, (uint64_t)i, 4));
        TRY(rnl_enqueue_copy_buffer(stream, t->host, 0, t->buffer, 0, 128));
        TRY(rnl_enqueue_write_value32(stream, t->buffer, 240, (uint32_t)i));
        if (i % 10 == 9)
            TRY(rnl_enqueue_event_record(stream, t->event));
        if (i % 16 == 15)
            TRY(rnl_enqueue_wait_stream(t->other, stream));
    }
    TRY(rnl_enqueue_copy_from_buffer(stream, back, t->host, 0, 256));
    TRY(rnl_stream_synchronize(stream, RNL_FOREVER));
    EXPECT(back[31] == 39);
    RELEASE(rnl_stream_release(stream));
    return status;
}

const struct scenario copy_scenarios[] = {
    {"copies and fills", copy_life, NULL, {0}},
    {"regions", NULL, regions, {0}},
    {"blocking copies", NULL, blocking, {0}},
    {"ordinary memory", NULL, ordinary_memory, {0}},
    {"batches of regions", NULL, batches_of_regions, {0}},
    {"batched copies", NULL, batched_copies,
     {RNL_FEATURE_BATCHED_STREAMS, RNL_FEATURE_MEMORY_OPERATIONS}},
    {0},
};
