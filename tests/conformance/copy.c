// Copies: every form, every mix of ends, ranges, pitches, overlaps.
#include "suite.h"

#include <stdlib.h>

static unsigned char source[4096];

static void fill_source(void)
{
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (unsigned char)(i * 7 + i / 256);
}

static rnl_buffer zeros(size_t size)
{
    rnl_buffer buffer = NULL;
    expect_ok(rnl_buffer_create(suite_context(), size,
                                RNL_BUFFER_OPTIONS(.zeroed = true), &buffer));
    return buffer;
}

static void expect_zeros(rnl_buffer buffer, size_t size)
{
    suite_expect_ints(buffer, size / sizeof(int), 0);
}

RNL_TEST(bytes_go_there_and_back)
{
    unsigned char read[sizeof source] = {0};
    fill_source();
    rnl_buffer buffer = suite_new_buffer(sizeof source);
    expect_ok(rnl_enqueue_copy_to_buffer(suite_stream(), buffer, 0, source,
                                         sizeof source));
    expect_ok(rnl_enqueue_copy_from_buffer(suite_stream(), read, buffer, 0,
                                           sizeof read));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_memory_equal(read, source, sizeof source);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(the_waiting_forms_are_done_on_return)
{
    unsigned char read[sizeof source] = {0}, plain[64] = {0};
    fill_source();
    rnl_buffer a = suite_new_buffer(sizeof source);
    rnl_buffer b = suite_new_buffer(sizeof source);
    rnl_stream stream = suite_stream();
    expect_ok(rnl_copy_to_buffer_and_wait(stream, a, 0, source,
                                          sizeof source));
    expect_ok(rnl_stream_query(stream));
    expect_ok(rnl_copy_buffer_and_wait(stream, b, 0, a, 0, sizeof source));
    expect_ok(rnl_stream_query(stream));
    expect_ok(rnl_copy_from_buffer_and_wait(stream, read, b, 0, sizeof read));
    assert_memory_equal(read, source, sizeof source);
    expect_ok(rnl_copy_and_wait(stream, plain, source, sizeof plain));
    assert_memory_equal(plain, source, sizeof plain);
    expect_ok(rnl_copy_region_and_wait(
        stream, RNL_COPY(.to = {.pointer = plain},
                         .from = {.buffer = b, .offset = 64}, .width = 64)));
    assert_memory_equal(plain, source + 64, sizeof plain);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(offsets_hit_the_right_bytes)
{
    unsigned char read[64], expected[64] = {0};
    fill_source();
    rnl_buffer a = zeros(64), b = zeros(64);
    expect_ok(rnl_copy_to_buffer_and_wait(suite_stream(), a, 5, source, 21));
    expect_ok(rnl_copy_buffer_and_wait(suite_stream(), b, 40, a, 7, 13));
    expect_ok(rnl_copy_buffer_and_wait(suite_stream(), b, 63, a, 5, 1));
    memcpy(expected + 40, source + 2, 13);
    expected[63] = source[0];
    suite_download(read, b, sizeof read);
    assert_memory_equal(read, expected, sizeof read);
    expect_ok(rnl_copy_from_buffer_and_wait(suite_stream(), read, b, 41, 12));
    assert_memory_equal(read, source + 3, 12);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(a_device_address_is_a_raw_pointer_too)
{
    unsigned char read[64];
    fill_source();
    rnl_buffer a = zeros(64), b = zeros(64);
    expect_ok(rnl_copy_and_wait(suite_stream(), suite_address(a), source,
                                64));
    expect_ok(rnl_copy_and_wait(suite_stream(), suite_address(b),
                                suite_address(a), 64));
    expect_ok(rnl_copy_and_wait(suite_stream(), read, suite_address(b), 64));
    assert_memory_equal(read, source, 64);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(copies_within_one_buffer_that_do_not_overlap)
{
    unsigned char read[64];
    fill_source();
    rnl_buffer buffer = zeros(64);
    suite_upload(buffer, source, 64);
    expect_ok(rnl_copy_buffer_and_wait(suite_stream(), buffer, 32, buffer, 0,
                                       32));
    expect_ok(rnl_copy_buffer_and_wait(suite_stream(), buffer, 0, buffer, 16,
                                       16));
    suite_download(read, buffer, 64);
    assert_memory_equal(read, source + 16, 16);
    assert_memory_equal(read + 32, source, 32);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(copies_of_no_bytes_do_nothing)
{
    rnl_buffer buffer = zeros(64);
    rnl_stream stream = suite_stream();
    expect_ok(rnl_enqueue_copy(stream, NULL, NULL, 0));
    expect_ok(rnl_enqueue_copy_to_buffer(stream, buffer, 64, NULL, 0));
    expect_ok(rnl_enqueue_copy_from_buffer(stream, NULL, buffer, 64, 0));
    expect_ok(rnl_enqueue_copy_buffer(stream, buffer, 0, buffer, 0, 0));
    expect_ok(rnl_enqueue_copy_region(
        stream, RNL_COPY(.to = {.buffer = buffer}, .from = {.buffer = buffer},
                         .width = 0, .height = 9)));
    expect_ok(rnl_enqueue_copy_batch(stream, NULL, 0));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_zeros(buffer, 64);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_large_copy_is_complete)
{
    size_t size = 9 * 1000 * 1000 + 3;
    unsigned char *from = malloc(size), *to = calloc(1, size);
    assert_true(from && to);
    for (size_t i = 0; i < size; i++)
        from[i] = (unsigned char)(i ^ i >> 8 ^ i >> 16);
    rnl_buffer a = suite_new_buffer(size), b = suite_new_buffer(size);
    suite_upload(a, from, size);
    expect_ok(rnl_enqueue_copy_buffer(suite_stream(), b, 0, a, 0, size));
    suite_download(to, b, size);
    assert_int_equal(memcmp(from, to, size), 0);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
    free(from);
    free(to);
}

RNL_TEST(a_plane_is_copied_between_pitches)
{
    unsigned char read[128];
    fill_source();
    rnl_buffer buffer = zeros(sizeof read);
    expect_ok(rnl_copy_region_and_wait(
        suite_stream(),
        RNL_COPY(.to = {.buffer = buffer, .offset = 3, .row_pitch = 32},
                 .from = {.pointer = source, .row_pitch = 100},
                 .width = 10, .height = 4)));
    suite_download(read, buffer, sizeof read);
    for (size_t i = 0; i < sizeof read; i++) {
        size_t row = i / 32, x = i % 32;
        bool inside = x >= 3 && x < 13;
        assert_int_equal(read[i], inside ? source[row * 100 + x - 3] : 0);
    }
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_box_is_copied_between_pitches)
{
    unsigned char read[3 * 4 * 5] = {0};
    fill_source();
    rnl_buffer buffer = suite_new_buffer(sizeof source);
    suite_upload(buffer, source, sizeof source);
    // To packed rows and slices, from a pitched box.
    expect_ok(rnl_copy_region_and_wait(
        suite_stream(),
        RNL_COPY(.to = {.pointer = read},
                 .from = {.buffer = buffer, .offset = 17, .row_pitch = 20,
                          .slice_pitch = 400},
                 .width = 5, .height = 4, .depth = 3)));
    for (size_t z = 0; z < 3; z++)
        for (size_t y = 0; y < 4; y++)
            assert_memory_equal(read + z * 20 + y * 5,
                                source + 17 + z * 400 + y * 20, 5);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_region_may_end_where_its_buffer_ends)
{
    // The last row needs its width only, not a whole pitch.
    unsigned char read[16];
    fill_source();
    rnl_buffer buffer = zeros(32 * 3 + 8);
    expect_ok(rnl_copy_region_and_wait(
        suite_stream(),
        RNL_COPY(.to = {.buffer = buffer, .row_pitch = 32},
                 .from = {.pointer = source}, .width = 8, .height = 4)));
    expect_ok(rnl_copy_from_buffer_and_wait(suite_stream(), read, buffer,
                                            96, 8));
    assert_memory_equal(read, source + 24, 8);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_batch_does_all_its_copies)
{
    unsigned char read[96];
    fill_source();
    rnl_buffer buffer = zeros(sizeof read);
    rnl_copy copies[3];
    for (size_t i = 0; i < 3; i++)
        copies[i] = *RNL_COPY(.to = {.buffer = buffer, .offset = i * 32},
                              .from = {.pointer = source + i * 100},
                              .width = 16 + i);
    expect_ok(rnl_enqueue_copy_batch(suite_stream(), copies, 3));
    suite_download(read, buffer, sizeof read);
    for (size_t i = 0; i < 3; i++) {
        assert_memory_equal(read + i * 32, source + i * 100, 16 + i);
        assert_int_equal(read[i * 32 + 16 + i], 0);
    }
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_bad_batch_copies_nothing)
{
    fill_source();
    rnl_buffer buffer = zeros(64);
    rnl_copy copies[3];
    for (size_t i = 0; i < 3; i++)
        copies[i] = *RNL_COPY(.to = {.buffer = buffer, .offset = i * 16},
                              .from = {.pointer = source}, .width = 16);
    copies[2].to.offset = 49;
    expect_error(rnl_enqueue_copy_batch(suite_stream(), copies, 3),
                 RNL_ERROR_OUT_OF_RANGE, "to");
    copies[2].to.offset = 32;
    copies[1].struct_size = 0;
    expect_error(rnl_enqueue_copy_batch(suite_stream(), copies, 3),
                 RNL_ERROR_INVALID_ARGUMENT, "copies");
    expect_error(rnl_enqueue_copy_batch(suite_stream(), NULL, 3),
                 RNL_ERROR_INVALID_ARGUMENT, "copies");
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_zeros(buffer, 64);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_copy_is_asynchronous_and_in_order)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(4, 1);
    int host[4] = {0};
    int from[4] = {5, 6, 7, 8};
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_copy_to_buffer(stream, buffer, 0, from, 16));
    expect_ok(rnl_enqueue_copy_from_buffer(stream, host, buffer, 0, 16));
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    assert_int_equal(host[0], 0);
    // The memory behind the pointer is read when the copy runs.
    from[0] = 50;
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_int_equal(host[0], 50);
    assert_int_equal(host[3], 8);
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(pinned_and_managed_memory_copy_like_any_other)
{
    unsigned char read[256];
    fill_source();
    rnl_buffer device = zeros(256);
    for (int kind = RNL_MEMORY_HOST; kind <= RNL_MEMORY_MANAGED; kind++) {
        if (kind == RNL_MEMORY_MANAGED)
            suite_need(RNL_FEATURE_MANAGED_MEMORY);
        rnl_buffer buffer = NULL;
        expect_ok(rnl_buffer_create(
            suite_context(), 256,
            RNL_BUFFER_OPTIONS(.kind = (rnl_memory_kind)kind), &buffer));
        suite_upload(buffer, source + kind, 256);
        expect_ok(rnl_enqueue_copy_buffer(suite_stream(), device, 0, buffer,
                                          0, 256));
        suite_download(read, device, 256);
        assert_memory_equal(read, source + kind, 256);
        expect_ok(rnl_buffer_release(buffer));
    }
    expect_ok(rnl_buffer_release(device));
}

// --- Refused ---------------------------------------------------------------

// Offset and size pairs that leave a buffer of 64 bytes.
static const size_t outside[][2] = {
    {0, 65},       {64, 1},          {65, 1},      {1, 64},
    {SIZE_MAX, 1}, {SIZE_MAX - 1, 2}, {1, SIZE_MAX - 1}, {SIZE_MAX, SIZE_MAX},
    {SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1}, {SIZE_MAX - 15, 32}};
enum { OUTSIDE_COUNT = sizeof outside / sizeof outside[0] };

RNL_TEST(copies_to_a_buffer_out_of_range_are_refused)
{
    rnl_buffer buffer = zeros(64);
    for (int i = 0; i < OUTSIDE_COUNT; i++) {
        size_t offset = outside[i][0], size = outside[i][1];
        expect_error(rnl_enqueue_copy_to_buffer(suite_stream(), buffer,
                                                offset, source, size),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
        expect_error(rnl_copy_to_buffer_and_wait(suite_stream(), buffer,
                                                 offset, source, size),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
    }
    expect_zeros(buffer, 64);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(copies_from_a_buffer_out_of_range_are_refused)
{
    unsigned char read[64];
    memset(read, 0x5a, sizeof read);
    rnl_buffer buffer = zeros(64);
    for (int i = 0; i < OUTSIDE_COUNT; i++) {
        size_t offset = outside[i][0], size = outside[i][1];
        expect_error(rnl_enqueue_copy_from_buffer(suite_stream(), read,
                                                  buffer, offset, size),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
        expect_error(rnl_copy_from_buffer_and_wait(suite_stream(), read,
                                                   buffer, offset, size),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
    }
    for (size_t i = 0; i < sizeof read; i++)
        assert_int_equal(read[i], 0x5a);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(copies_between_buffers_out_of_range_are_refused)
{
    rnl_buffer a = zeros(64), b = zeros(64);
    for (int i = 0; i < OUTSIDE_COUNT; i++) {
        size_t offset = outside[i][0], size = outside[i][1];
        expect_error(rnl_enqueue_copy_buffer(suite_stream(), a, offset, b, 0,
                                             size),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
        expect_error(rnl_enqueue_copy_buffer(suite_stream(), a, 0, b, offset,
                                             size),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
        expect_error(rnl_copy_buffer_and_wait(suite_stream(), a, 0, b, offset,
                                              size),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
    }
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(overlapping_copies_are_refused)
{
    rnl_buffer buffer = zeros(64), slice = NULL;
    expect_ok(rnl_buffer_slice(buffer, 16, 32, &slice));
    const size_t rows[][3] = {{0, 0, 64}, {0, 16, 17}, {16, 0, 17},
                              {10, 11, 2}, {63, 63, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_error(rnl_enqueue_copy_buffer(suite_stream(), buffer,
                                             rows[i][0], buffer, rows[i][1],
                                             rows[i][2]),
                     RNL_ERROR_INVALID_ARGUMENT, NULL);
        expect_error(rnl_copy_buffer_and_wait(suite_stream(), buffer,
                                              rows[i][0], buffer, rows[i][1],
                                              rows[i][2]),
                     RNL_ERROR_INVALID_ARGUMENT, NULL);
    }
    expect_error(rnl_enqueue_copy_buffer(suite_stream(), slice, 0, buffer, 0,
                                         17),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_error(rnl_enqueue_copy(suite_stream(), source + 1, source, 2),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_error(rnl_copy_and_wait(suite_stream(), source, source, 1),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_ok(rnl_copy_buffer_and_wait(suite_stream(), slice, 0, buffer, 0,
                                       16));
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(regions_out_of_range_are_refused)
{
    rnl_buffer a = zeros(64), b = zeros(4096);
    const rnl_copy copies[] = {
        {.width = 65},
        {.width = 8, .height = 9},
        {.width = 8, .height = 2, .depth = 5},
        {.to.offset = 57, .width = 8},
        {.to.offset = SIZE_MAX - 3, .width = 8},
        {.to.offset = SIZE_MAX - 7, .width = 8},
        {.to.row_pitch = 57, .width = 8, .height = 2},
        {.to.row_pitch = 16, .to.slice_pitch = 57, .width = 8, .depth = 2},
        {.width = SIZE_MAX - 1},
        {.width = 8, .height = SIZE_MAX},
        {.width = 8, .height = SIZE_MAX / 8 + 2},
        {.width = 8, .height = 2, .depth = SIZE_MAX / 16 + 2},
        {.to.row_pitch = SIZE_MAX, .width = 8, .height = 2},
        {.to.row_pitch = SIZE_MAX / 2 + 1, .width = 8, .height = 3},
        {.to.slice_pitch = SIZE_MAX - 8, .width = 8, .depth = 2},
        {.from.offset = 4090, .width = 8},
        {.from.row_pitch = 4095, .width = 8, .height = 2},
        {.from.slice_pitch = SIZE_MAX / 2 + 1, .width = 8, .depth = 3},
    };
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        rnl_copy copy = copies[i];
        copy.struct_size = sizeof copy;
        copy.to.buffer = a;
        copy.from.buffer = b;
        expect_error(rnl_enqueue_copy_region(suite_stream(), &copy),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
        expect_error(rnl_copy_region_and_wait(suite_stream(), &copy),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
    }
    expect_zeros(a, 64);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(pitches_too_small_are_refused)
{
    rnl_buffer a = zeros(64), b = zeros(64);
    const rnl_copy copies[] = {
        {.to.row_pitch = 7, .width = 8, .height = 2},
        {.from.row_pitch = 7, .width = 8, .height = 2},
        {.to.row_pitch = 1, .width = 8, .height = 2},
        {.to.slice_pitch = 15, .width = 8, .height = 2, .depth = 2},
        {.from.slice_pitch = 15, .width = 8, .height = 2, .depth = 2},
        {.to.row_pitch = 16, .to.slice_pitch = 16, .width = 8, .height = 2,
         .depth = 2},
    };
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++) {
        rnl_copy copy = copies[i];
        copy.struct_size = sizeof copy;
        copy.to.buffer = a;
        copy.from.buffer = b;
        expect_error(rnl_enqueue_copy_region(suite_stream(), &copy),
                     RNL_ERROR_INVALID_ARGUMENT, NULL);
    }
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(overlapping_regions_are_refused)
{
    rnl_buffer buffer = zeros(256);
    expect_error(
        rnl_enqueue_copy_region(
            suite_stream(),
            RNL_COPY(.to = {.buffer = buffer, .offset = 33, .row_pitch = 32},
                     .from = {.buffer = buffer, .row_pitch = 32}, .width = 8,
                     .height = 4)),
        RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_error(
        rnl_enqueue_copy_region(
            suite_stream(), RNL_COPY(.to = {.pointer = source},
                                     .from = {.pointer = source}, .width = 8)),
        RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(null_memory_of_a_copy_is_refused)
{
    rnl_buffer buffer = zeros(64);
    rnl_stream stream = suite_stream();
    expect_error(rnl_enqueue_copy(stream, NULL, source, 8),
                 RNL_ERROR_INVALID_ARGUMENT, "to");
    expect_error(rnl_enqueue_copy(stream, source, NULL, 8),
                 RNL_ERROR_INVALID_ARGUMENT, "from");
    expect_error(rnl_copy_and_wait(stream, NULL, source, 8),
                 RNL_ERROR_INVALID_ARGUMENT, "to");
    expect_error(rnl_enqueue_copy_to_buffer(stream, buffer, 0, NULL, 8),
                 RNL_ERROR_INVALID_ARGUMENT, "from");
    expect_error(rnl_enqueue_copy_from_buffer(stream, NULL, buffer, 0, 8),
                 RNL_ERROR_INVALID_ARGUMENT, "to");
    expect_error(rnl_copy_to_buffer_and_wait(stream, buffer, 0, NULL, 8),
                 RNL_ERROR_INVALID_ARGUMENT, "from");
    expect_error(rnl_copy_from_buffer_and_wait(stream, NULL, buffer, 0, 8),
                 RNL_ERROR_INVALID_ARGUMENT, "to");
    expect_error(rnl_enqueue_copy_region(
                     stream, RNL_COPY(.to = {.buffer = buffer}, .width = 8)),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_error(rnl_enqueue_copy_region(
                     stream, RNL_COPY(.from = {.buffer = buffer}, .width = 8)),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_copy_region_needs_a_struct_of_a_size)
{
    rnl_copy nothing = {.struct_size = 0, .width = 4};
    expect_error(rnl_enqueue_copy_region(suite_stream(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "copy");
    expect_error(rnl_copy_region_and_wait(suite_stream(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "copy");
    expect_error(rnl_enqueue_copy_region(suite_stream(), &nothing),
                 RNL_ERROR_INVALID_ARGUMENT, "copy");
    expect_error(rnl_copy_region_and_wait(suite_stream(), &nothing),
                 RNL_ERROR_INVALID_ARGUMENT, "copy");
}

RNL_TEST(a_place_is_a_buffer_or_a_pointer_not_both)
{
    rnl_buffer buffer = zeros(64);
    expect_error(rnl_enqueue_copy_region(
                     suite_stream(),
                     RNL_COPY(.to = {.buffer = buffer, .pointer = source},
                              .from = {.pointer = source + 64}, .width = 8)),
                 RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_ok(rnl_buffer_release(buffer));
}

// Large enough that a backend may divide it among threads, which several such
// copies have to share.
RNL_TEST(large_copies_of_several_streams_at_once)
{
    enum { STREAMS = 4, WORDS = (9 << 20) / sizeof(uint32_t) + 5 };
    const size_t size = WORDS * sizeof(uint32_t);
    uint32_t *from[STREAMS], *to[STREAMS];
    rnl_stream streams[STREAMS];
    rnl_buffer buffers[STREAMS];
    for (uint32_t i = 0; i < STREAMS; i++) {
        from[i] = malloc(size);
        to[i] = calloc(1, size);
        assert_true(from[i] && to[i]);
        for (uint32_t k = 0; k < WORDS; k++)
            from[i][k] = k * 2654435761u + i;
        streams[i] = suite_new_stream();
        buffers[i] = suite_new_buffer(size);
    }
    for (int i = 0; i < STREAMS; i++) {
        expect_ok(rnl_enqueue_copy_to_buffer(streams[i], buffers[i], 0,
                                             from[i], size));
        expect_ok(rnl_enqueue_copy_from_buffer(streams[i], to[i], buffers[i],
                                               0, size));
    }
    for (int i = 0; i < STREAMS; i++) {
        expect_ok(rnl_stream_synchronize(streams[i], RNL_FOREVER));
        assert_memory_equal(from[i], to[i], size);
        expect_ok(rnl_buffer_release(buffers[i]));
        expect_ok(rnl_stream_release(streams[i]));
        free(from[i]);
        free(to[i]);
    }
}
