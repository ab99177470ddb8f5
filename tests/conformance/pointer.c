// Whose memory an address is.
#include "suite.h"

static rnl_pointer_info info_of(const void *pointer)
{
    rnl_pointer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_pointer_get_info(pointer, &info));
    return info;
}

static void expect_unknown(const void *pointer)
{
    rnl_pointer_info info = info_of(pointer);
    assert_int_equal(info.kind, RNL_POINTER_UNKNOWN);
    assert_null(info.buffer);
    assert_null(info.context);
    assert_null(info.device);
    assert_null(info.base);
    assert_int_equal(info.size + info.offset, 0);
}

RNL_TEST(an_address_tells_its_buffer)
{
    rnl_buffer buffer = suite_new_buffer(1000);
    char *base = suite_address(buffer);
    const size_t offsets[] = {0, 1, 999};
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        rnl_pointer_info info = info_of(base + offsets[i]);
        assert_int_equal(info.kind, RNL_POINTER_BUFFER);
        assert_int_equal(info.memory_kind, RNL_MEMORY_DEVICE);
        assert_ptr_equal(info.buffer, buffer);
        assert_ptr_equal(info.context, suite_context());
        assert_non_null(info.device);
        assert_ptr_equal(info.base, base);
        assert_int_equal(info.size, 1000);
        assert_int_equal(info.offset, offsets[i]);
    }
    assert_ptr_not_equal(info_of(base + 1000).buffer, buffer);
    assert_ptr_not_equal(info_of(base - 1).buffer, buffer);
    expect_ok(rnl_buffer_release(buffer));
    assert_null(info_of(base).buffer);
}

RNL_TEST(an_address_in_a_slice_tells_the_whole)
{
    rnl_buffer buffer = suite_new_buffer(256), slice = NULL;
    char *base = suite_address(buffer);
    expect_ok(rnl_buffer_slice(buffer, 64, 64, &slice));
    rnl_pointer_info info = info_of(suite_address(slice));
    assert_ptr_equal(info.buffer, buffer);
    assert_int_equal(info.offset, 64);
    // The slice keeps the memory, whose handle is gone.
    expect_ok(rnl_buffer_release(buffer));
    info = info_of(base);
    assert_int_equal(info.kind, RNL_POINTER_BUFFER);
    assert_null(info.buffer);
    assert_ptr_equal(info.base, base);
    assert_int_equal(info.size, 256);
    expect_ok(rnl_buffer_release(slice));
}

RNL_TEST(an_address_tells_host_memory)
{
    static char memory[4096] __attribute__((aligned(4096)));
    void *pointer = NULL;
    expect_ok(rnl_host_allocate(suite_context(), 512, &pointer));
    rnl_pointer_info info = info_of((char *)pointer + 511);
    assert_int_equal(info.kind, RNL_POINTER_HOST_ALLOCATED);
    assert_int_equal(info.memory_kind, RNL_MEMORY_HOST);
    assert_ptr_equal(info.base, pointer);
    assert_int_equal(info.size, 512);
    assert_int_equal(info.offset, 511);
    assert_ptr_equal(info.context, suite_context());
    assert_null(info.buffer);
    expect_ok(rnl_host_free(suite_context(), pointer));
    expect_unknown(memory);
    expect_ok(rnl_host_register(suite_context(), memory, sizeof memory));
    assert_int_equal(info_of(memory).kind, RNL_POINTER_HOST_REGISTERED);
    expect_ok(rnl_host_unregister(suite_context(), memory));
    expect_unknown(memory);
}

RNL_TEST(any_number_may_be_asked_about)
{
    int local = 0;
    suite_context();
    expect_unknown(NULL);
    expect_unknown(&local);
    expect_unknown((void *)(uintptr_t)1);
    expect_unknown((void *)UINTPTR_MAX);
    expect_unknown((void *)(uintptr_t)0x8000000000000000);
    expect_error(rnl_pointer_get_info(&local, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
}

RNL_TEST(own_memory_comes_before_wrapped)
{
    rnl_buffer wrapped = NULL, alone = NULL;
    static char memory[256];
    rnl_buffer buffer = suite_new_buffer(256);
    expect_ok(rnl_buffer_wrap(suite_context(), suite_address(buffer), 256,
                              NULL, &wrapped));
    assert_ptr_equal(info_of(suite_address(buffer)).buffer, buffer);
    expect_ok(rnl_buffer_wrap(suite_context(), memory, sizeof memory,
                              RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST),
                              &alone));
    assert_ptr_equal(info_of(memory + 5).buffer, alone);
    expect_ok(rnl_buffer_release(alone));
    expect_ok(rnl_buffer_release(wrapped));
    expect_ok(rnl_buffer_release(buffer));
}
