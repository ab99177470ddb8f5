// Fills: patterns, offsets, two and three dimensions.
#include "suite.h"

// Fills bytes from `offset` on of 256 bytes of 0xee and compares with the
// same done by hand.
static void try_fill(size_t offset, size_t size, uint64_t pattern,
                     size_t pattern_size)
{
    unsigned char expected[256], read[256];
    memset(expected, 0xee, sizeof expected);
    for (size_t i = 0; i < size; i++)
        expected[offset + i] =
            (unsigned char)(pattern >> (i % pattern_size * 8));
    rnl_buffer buffer = suite_new_buffer(sizeof read);
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, sizeof read, 0xee,
                                1));
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, offset, size, pattern,
                                pattern_size));
    suite_download(read, buffer, sizeof read);
    assert_memory_equal(read, expected, sizeof read);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(fills_of_every_pattern_size)
{
    for (size_t pattern_size = 1; pattern_size <= 8; pattern_size *= 2) {
        uint64_t pattern = 0x1122334455667788;
        try_fill(0, 256, pattern, pattern_size);
        try_fill(8, 240, pattern, pattern_size);
        try_fill(pattern_size, pattern_size, pattern, pattern_size);
        try_fill(256 - pattern_size, pattern_size, pattern, pattern_size);
    }
    try_fill(3, 13, 0xab, 1);
    try_fill(6, 14, 0xabcd, 2);
}

// A row of `size` bytes, then two of half of it, in a slice from `start` on.
static void try_slice(size_t start, size_t size, uint64_t pattern,
                      size_t pattern_size)
{
    unsigned char expected[256] = {0}, read[256];
    for (size_t i = 0; i < size; i++)
        expected[start + i] = expected[start + 64 + i % (size / 2) +
                                       2 * i / size * 48] =
            (unsigned char)(pattern >> (i % pattern_size * 8));
    rnl_buffer buffer = suite_ints(64, 0), slice;
    expect_ok(rnl_buffer_slice(buffer, start, 256 - start, &slice));
    expect_ok(rnl_enqueue_fill(suite_stream(), slice, 0, size, pattern,
                               pattern_size));
    expect_ok(rnl_enqueue_fill_region(
        suite_stream(), RNL_FILL(.to = {.buffer = slice, .offset = 64,
                                        .row_pitch = 48},
                                 .width = size / 2, .height = 2,
                                 .pattern = pattern,
                                 .pattern_size = pattern_size)));
    suite_download(read, buffer, sizeof read);
    assert_memory_equal(read, expected, sizeof read);
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_slice_is_filled_wherever_it_begins)
{
    static const uint64_t patterns[] = {
        0x1122334455667788, 0x1122334411223344, 0x1122112211221122,
        0x1111111111111111};
    for (size_t start = 0; start <= 8; start++)
        for (size_t pattern_size = 1; pattern_size <= 8; pattern_size *= 2)
            for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
                try_slice(start, 32, patterns[i], pattern_size);
}

RNL_TEST(only_the_low_bytes_of_a_pattern_count)
{
    try_fill(0, 64, UINT64_MAX << 8 | 0x12, 1);
    try_fill(0, 64, UINT64_MAX << 16 | 0x1234, 2);
    try_fill(0, 64, UINT64_MAX << 32 | 0x12345678, 4);
}

RNL_TEST(fills_of_no_bytes_do_nothing)
{
    try_fill(0, 0, 1, 1);
    try_fill(256, 0, 1, 8);
}

RNL_TEST(a_large_fill_is_complete)
{
    size_t count = 3 * 1000 * 1000 + 1;
    rnl_buffer buffer = suite_ints(count, 77);
    suite_expect_ints(buffer, count, 77);
    expect_ok(rnl_buffer_release(buffer));
}

enum { PLACE = 1 << 16, LENGTHS = 10 };

// What a driver does with many short elements is not what it does with few,
// nor with those that are not aligned.
static rnl_fill next_fill(rnl_buffer buffer, size_t pattern_size, bool many)
{
    static uint32_t random = 1;
    random = random * 1664525 + 1013904223;
    size_t most = (many ? 12000 : 50) / pattern_size;
    size_t count = 1 + (random >> 8) % most;
    size_t offset = (random >> 12) % (PLACE / pattern_size - count + 1);
    return (rnl_fill){.struct_size = sizeof(rnl_fill),
                      .to = {.buffer = buffer,
                             .offset = offset * pattern_size},
                      .width = count * pattern_size,
                      .pattern = UINT64_C(0x1122334455667788) + random,
                      .pattern_size = pattern_size};
}

static void model_fill(unsigned char *bytes, const rnl_fill *fill)
{
    for (size_t i = 0; i < fill->width; i++)
        bytes[fill->to.offset + i] =
            (unsigned char)(fill->pattern >> i % fill->pattern_size * 8);
}

static void expect_place(rnl_buffer buffer, const unsigned char *expected)
{
    static unsigned char read[PLACE];
    suite_download(read, buffer, sizeof read);
    assert_memory_equal(read, expected, sizeof read);
}

// A batch may be the last one with other parameters.
RNL_TEST(the_same_fills_again_and_again_may_have_any_length)
{
    static unsigned char expected[PLACE];
    rnl_stream stream;
    suite_need(RNL_FEATURE_BATCHED_STREAMS);
    expect_ok(rnl_stream_create(
        suite_context(), RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
        &stream));
    rnl_buffer buffer = suite_ints(PLACE / 4, 0);
    for (unsigned round = 0; round < 8; round++) {
        for (unsigned i = 0; i < LENGTHS; i++) {
            rnl_fill fill = next_fill(buffer, (size_t)1 << i % 3, round % 2);
            expect_ok(rnl_enqueue_fill_region(stream, &fill));
            model_fill(expected, &fill);
        }
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        expect_place(buffer, expected);
    }
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(the_fills_of_a_graph_may_get_any_length)
{
    static unsigned char expected[PLACE];
    rnl_buffer buffer = suite_ints(PLACE / 4, 0);
    rnl_node nodes[LENGTHS];
    rnl_fill fills[LENGTHS];
    rnl_graph graph;
    rnl_graph_exec exec;
    expect_ok(rnl_graph_create(suite_context(), NULL, &graph));
    for (unsigned i = 0; i < LENGTHS; i++) {
        fills[i] = next_fill(buffer, (size_t)1 << i % 4, false);
        expect_ok(rnl_graph_add_node(
            graph, i > 0 ? &nodes[i - 1] : NULL, i > 0,
            RNL_NODE(.kind = RNL_NODE_FILL, .fill = &fills[i]), &nodes[i]));
    }
    expect_ok(rnl_graph_instantiate(graph, &exec));
    for (unsigned round = 0; round < 8; round++) {
        expect_ok(rnl_enqueue_graph(suite_stream(), exec));
        for (unsigned i = 0; i < LENGTHS; i++)
            model_fill(expected, &fills[i]);
        expect_place(buffer, expected);
        for (unsigned i = round % 3; i < LENGTHS; i += 3) {
            fills[i] = next_fill(buffer, (size_t)1 << i % 4, round % 2);
            expect_ok(rnl_graph_exec_set_node(
                exec, nodes[i],
                RNL_NODE(.kind = RNL_NODE_FILL, .fill = &fills[i])));
        }
    }
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_plane_is_filled_within_its_pitch)
{
    unsigned char read[160];
    rnl_buffer buffer = suite_new_buffer(sizeof read);
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, sizeof read, 0, 1));
    expect_ok(rnl_fill_region_and_wait(
        suite_stream(), RNL_FILL(.to = {.buffer = buffer, .offset = 4,
                                        .row_pitch = 32},
                                 .width = 8, .height = 5, .pattern = 0x0102,
                                 .pattern_size = 2)));
    suite_download(read, buffer, sizeof read);
    for (size_t i = 0; i < sizeof read; i++) {
        bool inside = i % 32 >= 4 && i % 32 < 12;
        assert_int_equal(read[i], inside ? (i % 2 ? 1 : 2) : 0);
    }
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_box_is_filled_within_its_pitches)
{
    unsigned char read[3 * 64];
    rnl_buffer buffer = suite_new_buffer(sizeof read);
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, sizeof read, 0, 1));
    expect_ok(rnl_enqueue_fill_region(
        suite_stream(), RNL_FILL(.to = {.buffer = buffer, .row_pitch = 16,
                                        .slice_pitch = 64},
                                 .width = 4, .height = 3, .depth = 3,
                                 .pattern = 9, .pattern_size = 4)));
    suite_download(read, buffer, sizeof read);
    for (size_t i = 0; i < sizeof read; i++) {
        bool inside = i % 16 < 4 && i % 64 / 16 < 3;
        assert_int_equal(read[i], inside && i % 4 == 0 ? 9 : 0);
    }
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_fill_is_asynchronous_and_in_order)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(8, 1);
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 32, 2, 4));
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 32, 3, 4));
    suite_expect_ints(buffer, 8, 1);
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    suite_expect_ints(buffer, 8, 3);
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

// --- Refused ---------------------------------------------------------------

RNL_TEST(patterns_of_other_sizes_are_refused)
{
    rnl_buffer buffer = suite_ints(16, 1);
    const size_t sizes[] = {0, 3, 5, 6, 7, 9, 16, SIZE_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        expect_error(rnl_enqueue_fill(suite_stream(), buffer, 0, 48, 1,
                                      sizes[i]),
                     RNL_ERROR_INVALID_ARGUMENT, "pattern_size");
        expect_error(rnl_fill_and_wait(suite_stream(), buffer, 0, 48, 1,
                                       sizes[i]),
                     RNL_ERROR_INVALID_ARGUMENT, "pattern_size");
        expect_error(rnl_enqueue_fill_region(
                         suite_stream(),
                         RNL_FILL(.to = {.buffer = buffer}, .width = 48,
                                  .pattern_size = sizes[i])),
                     RNL_ERROR_INVALID_ARGUMENT, NULL);
    }
    suite_expect_ints(buffer, 16, 1);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(fills_out_of_range_are_refused)
{
    rnl_buffer buffer = suite_ints(16, 1);
    const size_t rows[][2] = {{0, 65}, {64, 1}, {65, 1}, {1, 64},
                              {SIZE_MAX, 1}, {1, SIZE_MAX - 1},
                              {SIZE_MAX - 1, 2}, {SIZE_MAX, SIZE_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_error(rnl_enqueue_fill(suite_stream(), buffer, rows[i][0],
                                      rows[i][1], 0, 1),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
        expect_error(rnl_fill_and_wait(suite_stream(), buffer, rows[i][0],
                                       rows[i][1], 0, 1),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
    }
    suite_expect_ints(buffer, 16, 1);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(fills_off_the_pattern_grid_are_refused)
{
    rnl_buffer buffer = suite_ints(16, 1);
    expect_error(rnl_enqueue_fill(suite_stream(), buffer, 1, 4, 0, 4),
                 RNL_ERROR_INVALID_ARGUMENT, "pattern_size");
    expect_error(rnl_enqueue_fill(suite_stream(), buffer, 4, 8, 0, 8),
                 RNL_ERROR_INVALID_ARGUMENT, "pattern_size");
    expect_error(rnl_enqueue_fill(suite_stream(), buffer, 0, 5, 0, 4),
                 RNL_ERROR_INVALID_ARGUMENT, "pattern_size");
    expect_error(rnl_enqueue_fill(suite_stream(), buffer, 0, 7, 0, 2),
                 RNL_ERROR_INVALID_ARGUMENT, "pattern_size");
    expect_error(rnl_enqueue_fill_region(
                     suite_stream(),
                     RNL_FILL(.to = {.buffer = buffer}, .width = 6,
                              .pattern_size = 4)),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    // The slices are as far from each other as the row says.
    expect_error(rnl_enqueue_fill_region(
                     suite_stream(),
                     RNL_FILL(.to = {.buffer = buffer, .row_pitch = 9},
                              .width = 8, .depth = 2, .pattern_size = 4)),
                 RNL_ERROR_INVALID_ARGUMENT, "pattern_size");
    suite_expect_ints(buffer, 16, 1);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(fill_regions_out_of_range_are_refused)
{
    rnl_buffer buffer = suite_ints(16, 1);
    const rnl_fill fills[] = {
        {.width = 65, .pattern_size = 1},
        {.width = 8, .height = 9, .pattern_size = 1},
        {.width = 8, .height = 2, .depth = 5, .pattern_size = 1},
        {.to.offset = 60, .width = 8, .pattern_size = 1},
        {.to.offset = SIZE_MAX - 3, .width = 8, .pattern_size = 1},
        {.to.row_pitch = 33, .width = 32, .height = 2, .pattern_size = 1},
        {.width = 8, .height = SIZE_MAX, .pattern_size = 1},
        {.width = 8, .height = SIZE_MAX / 8 + 2, .pattern_size = 1},
        {.width = 8, .depth = SIZE_MAX / 4, .pattern_size = 1},
        {.to.row_pitch = SIZE_MAX, .width = 8, .height = 2,
         .pattern_size = 1},
        {.to.slice_pitch = SIZE_MAX / 2, .width = 8, .depth = 3,
         .pattern_size = 1},
    };
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        rnl_fill fill = fills[i];
        fill.struct_size = sizeof fill;
        fill.to.buffer = buffer;
        expect_error(rnl_enqueue_fill_region(suite_stream(), &fill),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
        expect_error(rnl_fill_region_and_wait(suite_stream(), &fill),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
    }
    suite_expect_ints(buffer, 16, 1);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(fill_pitches_too_small_are_refused)
{
    rnl_buffer buffer = suite_ints(16, 1);
    expect_error(rnl_enqueue_fill_region(
                     suite_stream(),
                     RNL_FILL(.to = {.buffer = buffer, .row_pitch = 7},
                              .width = 8, .height = 2, .pattern_size = 1)),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_error(rnl_enqueue_fill_region(
                     suite_stream(),
                     RNL_FILL(.to = {.buffer = buffer, .row_pitch = 8,
                                     .slice_pitch = 15},
                              .width = 8, .height = 2, .depth = 2,
                              .pattern_size = 1)),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    suite_expect_ints(buffer, 16, 1);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_fill_needs_a_struct_of_a_size_and_a_place)
{
    rnl_fill nothing = {.struct_size = 0, .width = 4, .pattern_size = 1};
    expect_error(rnl_enqueue_fill_region(suite_stream(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "fill");
    expect_error(rnl_fill_region_and_wait(suite_stream(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "fill");
    expect_error(rnl_enqueue_fill_region(suite_stream(), &nothing),
                 RNL_ERROR_INVALID_ARGUMENT, "fill");
    expect_error(rnl_enqueue_fill_region(
                     suite_stream(), RNL_FILL(.width = 4, .pattern_size = 1)),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
}
