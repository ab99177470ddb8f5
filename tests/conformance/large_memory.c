// Large memory of the cpu: whole huge pages, untouched until they are used, of
// the size that was asked for and no more. And on every device: `zeroed` holds
// for memory that is new and for memory that was used before.
#include "graphs.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define HUGE_PAGE (2 * MIB)

static void need_cpu(void)
{
    if (!suite_is_cpu())
        test_skip("a driver has this memory");
}

static rnl_buffer new_zeroed(size_t size, bool interprocess)
{
    rnl_buffer buffer;
    expect_ok(rnl_buffer_create(
        suite_context(), size,
        RNL_BUFFER_OPTIONS(.zeroed = true, .interprocess = interprocess),
        &buffer));
    return buffer;
}

// --- Pages -----------------------------------------------------------------

static bool mapping_has(const char *line, uintptr_t address)
{
    unsigned long begin, end;
    return sscanf(line, "%lx-%lx ", &begin, &end) == 2 && address >= begin &&
           address < end;
}

// The flags of the mapping at `address`; skips where the system tells none.
static void find_flags(const void *address, char *flags, size_t size)
{
    char line[512];
    bool here = false, found = false;
    FILE *file = fopen("/proc/self/smaps", "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        here |= mapping_has(line, (uintptr_t)address);
        found = here && strncmp(line, "VmFlags:", 8) == 0;
    }
    if (file)
        fclose(file);
    if (!found)
        test_skip("the system does not tell the flags of mappings");
    snprintf(flags, size, "%s", line);
}

RNL_TEST(large_memory_asks_for_huge_pages)
{
    char flags[512];
    need_cpu();
    if (access("/sys/kernel/mm/transparent_hugepage/enabled", F_OK) != 0)
        test_skip("the system has no huge pages");
    rnl_buffer buffer = suite_new_buffer(5 * MIB + 1);
    uintptr_t address = (uintptr_t)suite_address(buffer);
    assert_int_equal(address % HUGE_PAGE, 0);
    find_flags((void *)address, flags, sizeof flags);
    assert_non_null(strstr(flags, " hg"));
    find_flags((void *)(address + 6 * MIB - 1), flags, sizeof flags);
    assert_non_null(strstr(flags, " hg"));
    expect_ok(rnl_buffer_release(buffer));
}

static size_t touched_pages(const void *memory, size_t size)
{
    static unsigned char pages[16 << 10];
    size_t count = size / (size_t)sysconf(_SC_PAGESIZE), touched = 0;
    assert_true(count <= sizeof pages);
    assert_int_equal(mincore((void *)memory, size, pages), 0);
    for (size_t i = 0; i < count; i++)
        touched += pages[i] & 1;
    return touched;
}

static void expect_untouched(rnl_buffer buffer, size_t size)
{
    const char *memory = suite_address(buffer);
    assert_int_equal(touched_pages(memory, size), 0);
    for (size_t i = 0; i < size; i += 4096)
        assert_int_equal(memory[i], 0);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(new_large_memory_is_zero_without_being_touched)
{
    rnl_buffer buffer;
    need_cpu();
    expect_untouched(new_zeroed(32 * MIB, false), 32 * MIB);
    expect_ok(rnl_enqueue_buffer_create(suite_stream(), 40 * MIB,
                                        RNL_BUFFER_OPTIONS(.zeroed = true),
                                        &buffer));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_untouched(buffer, 40 * MIB);
}

RNL_TEST(new_shared_memory_is_zero_without_being_touched)
{
    need_cpu();
    suite_need(RNL_FEATURE_INTERPROCESS_MEMORY);
    expect_untouched(new_zeroed(4 * MIB, true), 4 * MIB);
}

// --- How much of it --------------------------------------------------------

static size_t address_space(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        test_skip("there is no /proc");
    assert_int_equal(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

RNL_TEST(large_memory_takes_what_was_asked_for_and_goes_back)
{
    enum { COUNT = 256 };
    rnl_buffer buffers[COUNT];
    need_cpu();
    suite_context();
    size_t before = address_space();
    for (int i = 0; i < COUNT; i++)
        buffers[i] = suite_new_buffer(HUGE_PAGE);
    assert_true(address_space() - before < COUNT * HUGE_PAGE * 3 / 2);
    for (int i = 0; i < COUNT; i++)
        expect_ok(rnl_buffer_release(buffers[i]));
    expect_ok(rnl_context_trim(suite_context(), 0));
    assert_true(address_space() < before + COUNT * HUGE_PAGE / 2);
}

// --- Zeroed again ----------------------------------------------------------

static void expect_zero(rnl_buffer buffer, size_t size)
{
    char *bytes = malloc(size);
    assert_non_null(bytes);
    suite_download(bytes, buffer, size);
    assert_int_equal(bytes[0], 0);
    assert_memory_equal(bytes, bytes + 1, size - 1);
    free(bytes);
}

// With `stream` NULL zeroed when the call returns.
static void expect_zeroed_again(size_t size, rnl_stream stream)
{
    const rnl_buffer_options *options = RNL_BUFFER_OPTIONS(.zeroed = true);
    rnl_buffer buffer = new_zeroed(size, false);
    void *was = suite_address(buffer);
    expect_zero(buffer, size);
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, size, 7, 1));
    expect_ok(rnl_buffer_release(buffer));
    if (stream)
        expect_ok(rnl_enqueue_buffer_create(stream, size, options, &buffer));
    else
        buffer = new_zeroed(size, false);
    assert_ptr_equal(suite_address(buffer), was);
    if (stream)
        expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    expect_zero(buffer, size);
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(memory_that_was_used_is_zeroed_again)
{
    const size_t sizes[] = {1000, MIB, 3 * MIB, 24 * MIB};
    for (int i = 0; i < 4; i++) {
        expect_zeroed_again(sizes[i], NULL);
        expect_ok(rnl_context_trim(suite_context(), 0));
        expect_zeroed_again(sizes[i], suite_stream());
        expect_ok(rnl_context_trim(suite_context(), 0));
    }
}

// The memory is new when it is captured, and has been used at the next launch.
RNL_TEST(each_launch_of_a_graph_zeroes_its_large_memory)
{
    enum { COUNT = 1000 };
    rnl_buffer buffer, kept = suite_ints(COUNT, 5);
    rnl_stream stream = new_captured_stream();
    expect_ok(rnl_enqueue_buffer_create(stream, 3 * MIB,
                                        RNL_BUFFER_OPTIONS(.zeroed = true),
                                        &buffer));
    expect_ok(rnl_enqueue_copy_buffer(stream, kept, 0, buffer, 0, COUNT * sizeof(int)));
    expect_ok(rnl_enqueue_fill(stream, buffer, 0, COUNT * sizeof(int), 7, 4));
    expect_ok(rnl_buffer_release(buffer));
    rnl_graph graph = end_capture(stream);
    rnl_graph_exec exec = instantiate(graph);
    for (int i = 0; i < 2; i++) {
        launch_and_wait(exec);
        suite_expect_ints(kept, COUNT, 0);
    }
    drop_both(graph, exec);
    expect_ok(rnl_buffer_release(kept));
    expect_ok(rnl_stream_release(stream));
}
