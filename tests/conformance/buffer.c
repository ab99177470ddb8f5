// Buffers: kinds, facts, slices, foreign memory, release in stream order.
#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>

static rnl_buffer_info info_of(rnl_buffer buffer)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_get_info(buffer, &info));
    return info;
}

static rnl_buffer make(size_t size, const rnl_buffer_options *options)
{
    rnl_buffer buffer = NULL;
    expect_ok(rnl_buffer_create(suite_context(), size, options, &buffer));
    return buffer;
}

RNL_TEST(a_buffer_says_what_it_is)
{
    rnl_buffer buffer = make(100, RNL_BUFFER_OPTIONS(.label = "weights"));
    rnl_buffer_info info = info_of(buffer);
    assert_int_equal(info.size, 100);
    assert_ptr_equal(info.context, suite_context());
    assert_int_equal(info.kind, RNL_MEMORY_DEVICE);
    assert_non_null(info.device_address);
    assert_false(info.borrowed);
    assert_null(info.parent);
    assert_string_equal(info.label, "weights");
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(buffers_have_different_ids_and_addresses)
{
    rnl_buffer a = make(64, NULL), b = make(64, NULL);
    assert_true(info_of(a).id != info_of(b).id);
    assert_ptr_not_equal(info_of(a).device_address, info_of(b).device_address);
    expect_ok(rnl_buffer_release(a));
    expect_ok(rnl_buffer_release(b));
}

RNL_TEST(device_addresses_are_aligned)
{
    for (size_t size = 1; size < 5000; size = size * 3 + 1) {
        rnl_buffer buffer = make(size, NULL);
        assert_int_equal((uintptr_t)info_of(buffer).device_address % 64, 0);
        expect_ok(rnl_buffer_release(buffer));
    }
}

RNL_TEST(a_buffer_of_no_bytes_is_legal)
{
    rnl_buffer buffer = make(0, NULL);
    assert_int_equal(info_of(buffer).size, 0);
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, 0, 1, 1));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(zeroed_buffers_are_zero)
{
    rnl_buffer dirty = suite_ints(1024, 0x55555555);
    expect_ok(rnl_buffer_release(dirty));
    rnl_buffer buffer = make(4096, RNL_BUFFER_OPTIONS(.zeroed = true));
    suite_expect_ints(buffer, 1024, 0);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_host_buffer_is_reached_from_both_sides)
{
    rnl_buffer buffer = make(64, RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST));
    void *pointer = NULL;
    int read[16];
    expect_ok(rnl_buffer_host_pointer(buffer, &pointer));
    assert_ptr_equal(pointer, info_of(buffer).host_pointer);
    for (int i = 0; i < 16; i++)
        ((int *)pointer)[i] = i;
    suite_download(read, buffer, 64);
    assert_memory_equal(read, pointer, 64);
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, 64, 9, 4));
    assert_int_equal(((int *)pointer)[15], 9);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_managed_buffer_has_one_address)
{
    suite_need(RNL_FEATURE_MANAGED_MEMORY);
    rnl_buffer buffer =
        make(64, RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_MANAGED));
    void *pointer = NULL;
    expect_ok(rnl_buffer_host_pointer(buffer, &pointer));
    assert_ptr_equal(pointer, info_of(buffer).device_address);
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, 64, 3, 4));
    assert_int_equal(((int *)pointer)[15], 3);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_device_buffer_has_a_host_pointer_only_on_cpu)
{
    rnl_buffer buffer = make(64, NULL);
    void *pointer = NULL;
    if (suite_is_cpu()) {
        expect_ok(rnl_buffer_host_pointer(buffer, &pointer));
        assert_non_null(pointer);
    } else {
        expect_error(rnl_buffer_host_pointer(buffer, &pointer),
                     RNL_ERROR_UNSUPPORTED, NULL);
        assert_null(pointer);
    }
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_buffer_made_in_stream_order_is_usable_behind)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = NULL;
    int read[8] = {0};
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_buffer_create(stream, 32, NULL, &buffer));
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 32, 5, 4));
    expect_ok(rnl_enqueue_copy_from_buffer(stream, read, buffer, 0, 32));
    expect_ok(rnl_enqueue_buffer_release(stream, buffer));
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    for (int i = 0; i < 8; i++)
        assert_int_equal(read[i], 5);
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_zeroed_buffer_in_stream_order_is_zero_behind)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = NULL;
    int read[256];
    memset(read, 0xff, sizeof read);
    expect_ok(rnl_enqueue_buffer_create(
        stream, sizeof read, RNL_BUFFER_OPTIONS(.zeroed = true), &buffer));
    expect_ok(rnl_copy_from_buffer_and_wait(stream, read, buffer, 0,
                                            sizeof read));
    for (int i = 0; i < 256; i++)
        assert_int_equal(read[i], 0);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_released_buffer_lives_until_its_work_is_done)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(1024, 1);
    int read[1024] = {0};
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 4096, 7, 4));
    expect_ok(rnl_enqueue_copy_from_buffer(stream, read, buffer, 0, 4096));
    expect_ok(rnl_buffer_release(buffer));
    expect_error(rnl_enqueue_fill(stream, buffer, 0, 4096, 8, 4),
                 RNL_ERROR_INVALID_HANDLE, "to");
    // New buffers while the old one is in flight must not get its memory.
    rnl_buffer others[8];
    for (int i = 0; i < 8; i++)
        others[i] = suite_ints(1024, 100);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    for (int i = 0; i < 1024; i++)
        assert_int_equal(read[i], 7);
    for (int i = 0; i < 8; i++) {
        suite_expect_ints(others[i], 1024, 100);
        expect_ok(rnl_buffer_release(others[i]));
    }
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_release_in_stream_order_kills_the_handle_at_once)
{
    rnl_buffer buffer = make(64, NULL);
    struct gate *gate = gate_shut(suite_stream());
    expect_ok(rnl_enqueue_buffer_release(suite_stream(), buffer));
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_error(rnl_buffer_get_info(buffer, &info), RNL_ERROR_INVALID_HANDLE,
                 "buffer");
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    gate_free(gate);
}

RNL_TEST(the_release_stream_can_be_changed)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = make(64, NULL);
    expect_ok(rnl_buffer_set_release_stream(buffer, stream));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_buffer_release(buffer));
}

// --- Slices ----------------------------------------------------------------

RNL_TEST(a_slice_is_a_window)
{
    rnl_buffer buffer = suite_ints(16, 0), slice = NULL;
    int read[16];
    expect_ok(rnl_buffer_slice(buffer, 16, 32, &slice));
    rnl_buffer_info info = info_of(slice);
    assert_int_equal(info.size, 32);
    assert_ptr_equal(info.parent, buffer);
    assert_ptr_equal((char *)info.device_address,
                     (char *)info_of(buffer).device_address + 16);
    expect_ok(rnl_fill_and_wait(suite_stream(), slice, 0, 32, 1, 4));
    suite_download(read, buffer, 64);
    for (int i = 0; i < 16; i++)
        assert_int_equal(read[i], i >= 4 && i < 12);
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_slice_keeps_its_buffer)
{
    rnl_buffer buffer = suite_ints(16, 6), slice = NULL, inner = NULL;
    expect_ok(rnl_buffer_slice(buffer, 16, 32, &slice));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_slice(slice, 8, 16, &inner));
    expect_ok(rnl_buffer_release(slice));
    suite_expect_ints(inner, 4, 6);
    expect_ok(rnl_buffer_release(inner));
}

RNL_TEST(slices_out_of_range_are_refused)
{
    rnl_buffer buffer = suite_ints(16, 6), slice = NULL, inner = NULL;
    const size_t rows[][2] = {
        {0, 65}, {64, 1}, {65, 0}, {60, 8}, {SIZE_MAX, 1},
        {1, SIZE_MAX - 1},
        {SIZE_MAX, SIZE_MAX}, {SIZE_MAX - 3, 8}, {SIZE_MAX / 2 + 1,
                                                  SIZE_MAX / 2 + 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_error(rnl_buffer_slice(buffer, rows[i][0], rows[i][1], &slice),
                     RNL_ERROR_OUT_OF_RANGE, NULL);
    assert_null(slice);
    expect_ok(rnl_buffer_slice(buffer, 32, 16, &slice));
    expect_error(rnl_buffer_slice(slice, 8, 9, &inner),
                 RNL_ERROR_OUT_OF_RANGE, NULL);
    expect_error(rnl_enqueue_fill(suite_stream(), slice, 16, 1, 0, 1),
                 RNL_ERROR_OUT_OF_RANGE, NULL);
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_slice(buffer, 64, 0, &slice));
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
}

// --- Foreign memory --------------------------------------------------------

struct deletion {
    _Atomic int count;
    void *pointer;
    size_t size;
    rnl_status inside;
};

static void note_deletion(void *pointer, size_t size, void *user_data)
{
    struct deletion *deletion = user_data;
    deletion->pointer = pointer;
    deletion->size = size;
    deletion->inside = rnl_device_count(NULL, &size);
    atomic_fetch_add(&deletion->count, 1);
}

static void wait_for_count(_Atomic int *count, int value)
{
    while (atomic_load(count) < value)
        sched_yield();
}

RNL_TEST(borrowed_memory_is_used_in_place)
{
    static int memory[16];
    rnl_buffer buffer = NULL;
    expect_ok(rnl_host_register(suite_context(), memory, sizeof memory));
    expect_ok(rnl_buffer_wrap(suite_context(), memory, sizeof memory,
                              RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST,
                                               .label = "mine"), &buffer));
    rnl_buffer_info info = info_of(buffer);
    assert_true(info.borrowed);
    assert_ptr_equal(info.host_pointer, memory);
    assert_string_equal(info.label, "mine");
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, sizeof memory, 4,
                                4));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_host_unregister(suite_context(), memory));
    for (int i = 0; i < 16; i++)
        assert_int_equal(memory[i], 4);
}

RNL_TEST(the_deleter_runs_once_after_the_last_work)
{
    static int memory[16];
    struct deletion deletion = {0};
    rnl_buffer buffer = NULL, slice = NULL;
    rnl_stream stream = suite_new_stream();
    expect_ok(rnl_host_register(suite_context(), memory, sizeof memory));
    expect_ok(rnl_buffer_wrap(
        suite_context(), memory, sizeof memory,
        RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST, .deleter = note_deletion,
                         .user_data = &deletion), &buffer));
    assert_false(info_of(buffer).borrowed);
    expect_ok(rnl_buffer_slice(buffer, 0, 32, &slice));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_fill(stream, slice, 0, 32, 4, 4));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_buffer_release(slice));
    assert_int_equal(deletion.count, 0);
    gate_open(gate);
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    wait_for_count(&deletion.count, 1);
    expect_ok(rnl_host_unregister(suite_context(), memory));
    assert_ptr_equal(deletion.pointer, memory);
    assert_int_equal(deletion.size, sizeof memory);
    assert_int_equal(deletion.inside, RNL_ERROR_NOT_PERMITTED);
    assert_int_equal(memory[7], 4);
    assert_int_equal(memory[8], 0);
    gate_free(gate);
    expect_ok(rnl_stream_release(stream));
    suite_end();
    assert_int_equal(deletion.count, 1);
}

static rnl_buffer wrap_int(rnl_buffer memory, size_t index,
                           struct deletion *deletion)
{
    rnl_buffer buffer = NULL;
    char *address = info_of(memory).device_address;
    expect_ok(rnl_buffer_wrap(suite_context(), address + index * sizeof(int),
                              sizeof(int),
                              RNL_WRAP_OPTIONS(.deleter = note_deletion,
                                               .user_data = deletion),
                              &buffer));
    return buffer;
}

// Of any number: the launch is behind a wait of the device's, not held back.
RNL_TEST(the_deleters_run_after_a_launch_that_waits)
{
    suite_need(RNL_FEATURE_MEMORY_OPERATIONS);
    enum { MOST = 4 };
    struct deletion deletions[MOST] = {{0}};
    rnl_buffer memory = suite_ints(MOST, 5), word = suite_ints(1, 0);
    rnl_buffer buffers[MOST];
    rnl_stream stream = suite_new_stream(), other = suite_new_stream();
    rnl_function function = suite_compile(
        "extern \"C\" __global__ void add(int *a, int *b, int *c, int *d)"
        "{ *a += *b + *c + *d; }", "add");
    for (size_t i = 0; i < MOST; i++)
        buffers[i] = wrap_int(memory, i, &deletions[i]);
    expect_ok(rnl_enqueue_wait_value32(stream, word, 0, 1, RNL_WAIT_EQ));
    expect_ok(rnl_enqueue_function(
        stream, function, RNL_LAUNCH(.grid = {1}, .block = {1}),
        RNL_ARGS(buffers[0], buffers[1], buffers[2], buffers[3])));
    expect_ok(rnl_function_release(function));
    for (size_t i = 0; i < MOST; i++) {
        expect_ok(rnl_buffer_release(buffers[i]));
        assert_int_equal(deletions[i].count, 0);
    }
    expect_ok(rnl_enqueue_write_value32(other, word, 0, 1));
    expect_ok(rnl_stream_synchronize(other, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    for (size_t i = 0; i < MOST; i++)
        wait_for_count(&deletions[i].count, 1);
    suite_expect_ints(memory, 1, 20);
    expect_ok(rnl_buffer_release(word));
    expect_ok(rnl_buffer_release(memory));
    expect_ok(rnl_stream_release(other));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(a_refused_wrap_does_not_delete)
{
    int memory[4];
    struct deletion deletion = {0};
    rnl_buffer buffer = NULL;
    expect_error(rnl_buffer_wrap(
                     suite_context(), NULL, 16,
                     RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST,
                                      .deleter = note_deletion,
                                      .user_data = &deletion), &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
    expect_error(rnl_buffer_wrap(
                     suite_context(), memory, 16,
                     RNL_WRAP_OPTIONS(.kind = (rnl_memory_kind)9,
                                      .deleter = note_deletion,
                                      .user_data = &deletion), &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    assert_null(buffer);
    assert_int_equal(deletion.count, 0);
}

RNL_TEST(a_wrap_past_the_end_of_the_address_space_is_refused)
{
    rnl_buffer buffer = NULL;
    expect_error(rnl_buffer_wrap(suite_context(), &buffer, SIZE_MAX,
                                 RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST),
                                 &buffer),
                 RNL_ERROR_OUT_OF_RANGE, NULL);
    assert_null(buffer);
}

// --- Raw page-locked memory ------------------------------------------------

RNL_TEST(raw_host_memory_can_be_used_and_freed)
{
    void *pointer = NULL;
    rnl_buffer buffer = suite_ints(16, 8);
    expect_ok(rnl_host_allocate(suite_context(), 64, &pointer));
    assert_non_null(pointer);
    suite_download(pointer, buffer, 64);
    assert_int_equal(((int *)pointer)[15], 8);
    expect_ok(rnl_host_free(suite_context(), pointer));
    expect_ok(rnl_host_free(suite_context(), NULL));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(freeing_what_is_not_raw_host_memory_is_refused)
{
    int local;
    void *pointer = NULL;
    expect_ok(rnl_host_allocate(suite_context(), 64, &pointer));
    expect_error(rnl_host_free(suite_context(), &local),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
    expect_error(rnl_host_free(suite_context(), (char *)pointer + 8),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
    rnl_context other = suite_open(NULL);
    expect_error(rnl_host_free(other, pointer), RNL_ERROR_INVALID_ARGUMENT,
                 "pointer");
    expect_ok(rnl_context_release(other));
    expect_ok(rnl_host_free(suite_context(), pointer));
    expect_error(rnl_host_free(suite_context(), pointer),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
}

RNL_TEST(ordinary_memory_can_be_registered)
{
    static int memory[4096];
    rnl_buffer buffer = suite_ints(16, 8);
    expect_ok(rnl_host_register(suite_context(), memory, sizeof memory));
    suite_download(memory, buffer, 64);
    assert_int_equal(memory[15], 8);
    expect_ok(rnl_host_unregister(suite_context(), memory));
    expect_ok(rnl_host_register(suite_context(), memory, sizeof memory));
    expect_ok(rnl_host_unregister(suite_context(), memory));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(overlapping_registrations_are_refused)
{
    static char memory[64 * 1024];
    expect_ok(rnl_host_register(suite_context(), memory + 16384, 16384));
    const size_t rows[][2] = {{16384, 16384}, {0, 16385}, {32767, 1},
                              {0, 65536}, {20000, 100}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_error(rnl_host_register(suite_context(), memory + rows[i][0],
                                       rows[i][1]),
                     RNL_ERROR_INVALID_ARGUMENT, NULL);
    expect_ok(rnl_host_unregister(suite_context(), memory + 16384));
}

// With a search through all of them for each that takes a minute.
RNL_TEST(many_ranges_are_registered)
{
    enum { COUNT = 300000, SIZE = 64 };
    static char memory[COUNT][SIZE];
    if (!suite_is_cpu())
        test_skip("a driver locks pages, which takes longer");
    for (int i = 0; i < COUNT; i++)
        expect_ok(rnl_host_register(suite_context(), memory[i], SIZE - 1));
    for (int i = 0; i < COUNT; i += 100)
        expect_error(rnl_host_register(suite_context(), memory[i] + SIZE - 2,
                                       2),
                     RNL_ERROR_INVALID_ARGUMENT, "pointer");
    for (int i = COUNT - 1; i >= 0; i--)
        expect_ok(rnl_host_unregister(suite_context(), memory[i]));
    expect_error(rnl_host_unregister(suite_context(), memory[0]),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
}

RNL_TEST(unregistering_what_was_not_registered_is_refused)
{
    static char memory[8192];
    expect_error(rnl_host_unregister(suite_context(), memory),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
    expect_error(rnl_host_unregister(suite_context(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
    expect_ok(rnl_host_register(suite_context(), memory, sizeof memory));
    expect_error(rnl_host_unregister(suite_context(), memory + 1),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
    expect_error(rnl_host_free(suite_context(), memory),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
    expect_ok(rnl_host_unregister(suite_context(), memory));
    expect_error(rnl_host_unregister(suite_context(), memory),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
}

// --- Refused ---------------------------------------------------------------

RNL_TEST(buffers_larger_than_any_memory_are_out_of_memory)
{
    rnl_buffer buffer = NULL;
    void *pointer = NULL;
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2 + 1,
                            (size_t)1 << 60};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        expect_error(rnl_buffer_create(suite_context(), sizes[i], NULL,
                                       &buffer),
                     RNL_ERROR_OUT_OF_MEMORY, NULL);
        expect_error(rnl_buffer_create(
                         suite_context(), sizes[i],
                         RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST), &buffer),
                     RNL_ERROR_OUT_OF_MEMORY, NULL);
        expect_error(rnl_host_allocate(suite_context(), sizes[i], &pointer),
                     RNL_ERROR_OUT_OF_MEMORY, NULL);
    }
    assert_null(buffer);
    assert_null(pointer);
}

RNL_TEST(an_unknown_memory_kind_is_refused)
{
    rnl_buffer buffer = NULL;
    const int kinds[] = {-1, 3, 99};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        rnl_memory_kind kind = (rnl_memory_kind)kinds[i];
        expect_error(rnl_buffer_create(suite_context(), 64,
                                       RNL_BUFFER_OPTIONS(.kind = kind),
                                       &buffer),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
        expect_error(rnl_enqueue_buffer_create(
                         suite_stream(), 64, RNL_BUFFER_OPTIONS(.kind = kind),
                         &buffer),
                     RNL_ERROR_INVALID_ARGUMENT, "options");
    }
    assert_null(buffer);
}

RNL_TEST(buffer_options_of_no_size_are_refused)
{
    int memory[4];
    rnl_buffer buffer = NULL;
    rnl_buffer_options options = {.struct_size = 0};
    rnl_wrap_options wrap = {.struct_size = 0};
    rnl_buffer_info info = {.struct_size = 0};
    expect_error(rnl_buffer_create(suite_context(), 64, &options, &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_error(rnl_enqueue_buffer_create(suite_stream(), 64, &options,
                                           &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_error(rnl_buffer_wrap(suite_context(), memory, 16, &wrap, &buffer),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    assert_null(buffer);
    buffer = make(4, NULL);
    expect_error(rnl_buffer_get_info(buffer, &info),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(buffer_results_may_not_be_null)
{
    int memory[4];
    rnl_buffer buffer = make(64, NULL);
    expect_error(rnl_buffer_create(suite_context(), 64, NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_buffer");
    expect_error(rnl_enqueue_buffer_create(suite_stream(), 64, NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_buffer");
    expect_error(rnl_buffer_wrap(suite_context(), memory, 16, NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_buffer");
    expect_error(rnl_buffer_slice(buffer, 0, 4, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_slice");
    expect_error(rnl_buffer_get_info(buffer, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
    expect_error(rnl_buffer_host_pointer(buffer, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_pointer");
    expect_error(rnl_host_allocate(suite_context(), 64, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_pointer");
    expect_error(rnl_host_register(suite_context(), NULL, 64),
                 RNL_ERROR_INVALID_ARGUMENT, "pointer");
    expect_ok(rnl_buffer_release(buffer));
}
