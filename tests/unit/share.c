// core/interprocess and core/shared_memory: handles whose check sum fits
// although their bytes were changed on purpose, as an attacker can do it.
#include "unit.h"

#include "core/memory/buffer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SIZE = 5000,
    AT_API = 8, AT_PROCESS = 24, AT_SIZE = 32, AT_PID = 40, AT_KIND = 44,
    AT_KEY = 56, AT_FD = 60, KEY_END = 80, AT_CHECK = 120,
};

static rnl_context context;
static rnl_buffer buffer;

// As if from another process: only so are the bytes behind it looked at.
static rnl_ipc_handle stranger(void)
{
    rnl_ipc_handle handle;
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_buffer_create(context, SIZE,
                                RNL_BUFFER_OPTIONS(.interprocess = true),
                                &buffer));
    assert_ok(rnl_buffer_export(buffer, &handle));
    handle.bytes[AT_PROCESS + 7] ^= 0x55;
    ipc_handle_seal(&handle);
    return handle;
}

static void finish(void)
{
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_context_release(context));
}

static rnl_status import(rnl_ipc_handle handle)
{
    rnl_buffer imported = NULL;
    ipc_handle_seal(&handle);
    rnl_status status = rnl_buffer_import(context, &handle, &imported);
    assert_true((status == RNL_OK) == (imported != NULL));
    if (imported)
        assert_ok(rnl_buffer_release(imported));
    return status;
}

static bool counts(unsigned at)
{
    return at < AT_PROCESS || (at >= AT_SIZE && at < AT_PID) ||
           (at >= AT_KIND && at < KEY_END);
}

// The number of a thread leads to the same descriptors as that of its process.
static bool is_a_thread_here(const rnl_ipc_handle *handle)
{
    char path[64];
    uint32_t pid;
    memcpy(&pid, handle->bytes + AT_KEY, sizeof pid);
    snprintf(path, sizeof path, "/proc/self/task/%u", pid);
    return access(path, F_OK) == 0;
}

RNL_TEST(no_bit_of_a_sealed_handle_can_harm)
{
    const rnl_ipc_handle handle = stranger();
    assert_ok(import(handle));
    for (unsigned bit = 0; bit < 8 * AT_CHECK; bit++) {
        rnl_ipc_handle changed = handle;
        changed.bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        // Of a name only what is before its end counts.
        bool unused = bit / 8 > AT_API + strlen("cpu") && bit / 8 < AT_PROCESS;
        rnl_status status = import(changed);
        if (bit / 8 >= AT_KEY && bit / 8 < AT_FD && is_a_thread_here(&changed))
            continue;
        if (counts(bit / 8) && !unused)
            assert_int_not_equal(status, RNL_OK);
        else
            assert_ok(status);
    }
    finish();
}

static rnl_status import_descriptor(rnl_ipc_handle handle, int fd)
{
    uint32_t number = (uint32_t)fd;
    memcpy(handle.bytes + AT_FD, &number, sizeof number);
    return import(handle);
}

RNL_TEST(a_key_reaches_nothing_but_shared_memory)
{
    int ends[2];
    const rnl_ipc_handle handle = stranger();
    assert_int_equal(pipe(ends), 0);
    const int others[] = {ends[0], ends[1], open("/", O_RDONLY | O_CLOEXEC),
                          open("/dev/zero", O_RDWR | O_CLOEXEC),
                          open("/proc/self/exe", O_RDONLY | O_CLOEXEC), -1};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(import_descriptor(handle, others[i]),
                         RNL_ERROR_NOT_FOUND);
        close(others[i]);
    }
    finish();
}

RNL_TEST(a_size_is_the_files_own)
{
    const uint64_t sizes[] = {0, 1, SIZE - 1, SIZE + 1, UINT64_C(1) << 40,
                              INT64_MAX, UINT64_MAX};
    rnl_ipc_handle handle = stranger();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memcpy(handle.bytes + AT_SIZE, &sizes[i], sizeof sizes[i]);
        assert_int_not_equal(import(handle), RNL_OK);
    }
    finish();
}
