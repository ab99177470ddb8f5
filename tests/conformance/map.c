// Mapping buffers into the host's view.
#include "suite.h"

RNL_TEST(a_mapping_shows_what_the_stream_wrote)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(16, 1);
    void *pointer = NULL;
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, 64, 2, 4));
    expect_ok(rnl_buffer_map_and_wait(stream, buffer, RNL_MAP_READ, &pointer));
    for (int i = 0; i < 16; i++)
        assert_int_equal(((int *)pointer)[i], 2);
    expect_ok(rnl_buffer_unmap_and_wait(stream, buffer));
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(what_is_written_through_a_mapping_arrives)
{
    const rnl_map_mode modes[] = {RNL_MAP_READ_WRITE, RNL_MAP_WRITE};
    rnl_buffer buffer = suite_ints(16, 1);
    for (int m = 0; m < 2; m++) {
        void *pointer = NULL;
        expect_ok(rnl_buffer_map_and_wait(suite_stream(), buffer, modes[m],
                                          &pointer));
        for (int i = 0; i < 16; i++)
            ((int *)pointer)[i] = 10 + m;
        expect_ok(rnl_buffer_unmap_and_wait(suite_stream(), buffer));
        suite_expect_ints(buffer, 16, 10 + m);
    }
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(mapping_costs_no_copy_where_promised)
{
    suite_need(RNL_FEATURE_ZERO_COPY_MAP);
    rnl_buffer buffer = suite_ints(16, 1);
    rnl_buffer_info info = {.struct_size = sizeof info};
    void *pointer = NULL;
    expect_ok(rnl_buffer_get_info(buffer, &info));
    expect_ok(rnl_buffer_map_and_wait(suite_stream(), buffer, RNL_MAP_READ,
                                      &pointer));
    assert_ptr_equal(pointer, info.host_pointer);
    expect_ok(rnl_buffer_unmap_and_wait(suite_stream(), buffer));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(every_kind_of_buffer_can_be_mapped)
{
    const rnl_memory_kind kinds[] = {RNL_MEMORY_DEVICE, RNL_MEMORY_HOST,
                                     RNL_MEMORY_MANAGED};
    for (int i = 0; i < 3; i++) {
        rnl_buffer buffer = NULL;
        void *pointer = NULL;
        if (kinds[i] == RNL_MEMORY_MANAGED)
            suite_need(RNL_FEATURE_MANAGED_MEMORY);
        expect_ok(rnl_buffer_create(suite_context(), 64,
                                    RNL_BUFFER_OPTIONS(.kind = kinds[i],
                                                       .zeroed = true),
                                    &buffer));
        expect_ok(rnl_buffer_map_and_wait(suite_stream(), buffer,
                                          RNL_MAP_READ_WRITE, &pointer));
        assert_int_equal(((int *)pointer)[15], 0);
        ((int *)pointer)[15] = 5;
        expect_ok(rnl_buffer_unmap_and_wait(suite_stream(), buffer));
        expect_ok(rnl_buffer_release(buffer));
    }
}

RNL_TEST(a_slice_maps_its_window)
{
    rnl_buffer buffer = suite_ints(16, 1), slice = NULL;
    void *pointer = NULL;
    int read[16];
    expect_ok(rnl_buffer_slice(buffer, 8, 8, &slice));
    expect_ok(rnl_buffer_map_and_wait(suite_stream(), slice,
                                      RNL_MAP_READ_WRITE, &pointer));
    ((int *)pointer)[0] = 30;
    ((int *)pointer)[1] = 31;
    expect_ok(rnl_buffer_unmap_and_wait(suite_stream(), slice));
    suite_download(read, buffer, 64);
    assert_int_equal(read[1], 1);
    assert_int_equal(read[2], 30);
    assert_int_equal(read[3], 31);
    assert_int_equal(read[4], 1);
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_buffer_may_be_released_while_mapped)
{
    rnl_buffer buffer = suite_ints(16, 1);
    void *pointer = NULL;
    expect_ok(rnl_buffer_map_and_wait(suite_stream(), buffer, RNL_MAP_READ,
                                      &pointer));
    expect_ok(rnl_buffer_release(buffer));
    expect_error(rnl_buffer_unmap_and_wait(suite_stream(), buffer),
                 RNL_ERROR_INVALID_HANDLE, "buffer");
}

RNL_TEST(one_mapping_at_a_time)
{
    rnl_buffer buffer = suite_ints(16, 1);
    void *first = NULL, *second = NULL;
    expect_ok(rnl_buffer_map_and_wait(suite_stream(), buffer, RNL_MAP_READ,
                                      &first));
    expect_error(rnl_buffer_map_and_wait(suite_stream(), buffer, RNL_MAP_READ,
                                         &second),
                 RNL_ERROR_INVALID_STATE, "buffer");
    assert_null(second);
    expect_ok(rnl_buffer_unmap_and_wait(suite_stream(), buffer));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(unmapping_what_is_not_mapped_is_refused)
{
    rnl_buffer buffer = suite_ints(16, 1);
    void *pointer = NULL;
    expect_error(rnl_buffer_unmap_and_wait(suite_stream(), buffer),
                 RNL_ERROR_INVALID_STATE, "buffer");
    expect_ok(rnl_buffer_map_and_wait(suite_stream(), buffer, RNL_MAP_READ,
                                      &pointer));
    expect_ok(rnl_buffer_unmap_and_wait(suite_stream(), buffer));
    expect_error(rnl_buffer_unmap_and_wait(suite_stream(), buffer),
                 RNL_ERROR_INVALID_STATE, "buffer");
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(map_arguments_are_checked)
{
    rnl_buffer buffer = suite_ints(16, 1);
    void *pointer = NULL;
    expect_error(rnl_buffer_map_and_wait(suite_stream(), buffer, RNL_MAP_READ,
                                         NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_pointer");
    const int modes[] = {-1, 3, 99};
    for (int i = 0; i < 3; i++)
        expect_error(rnl_buffer_map_and_wait(suite_stream(), buffer,
                                             (rnl_map_mode)modes[i],
                                             &pointer),
                     RNL_ERROR_INVALID_ARGUMENT, "mode");
    assert_null(pointer);
    // A refused mapping is no mapping.
    expect_error(rnl_buffer_unmap_and_wait(suite_stream(), buffer),
                 RNL_ERROR_INVALID_STATE, "buffer");
    expect_ok(rnl_buffer_release(buffer));
}
