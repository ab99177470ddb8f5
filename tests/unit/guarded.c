// backends/cpu/kernel/guarded: memory that vectors may reach beyond.
#include "unit.h"

#include "backends/cpu/kernel/guarded.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGES = 16 };

// The system reads or writes for the test, and returns an error where a load or
// a store would be a fault.
static bool is_readable(const char *address)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    bool readable = write(ends[1], address, 1) == 1;
    assert_true(readable || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return readable;
}

static bool is_writable(char *address)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "x", 1), 1);
    bool writable = read(ends[0], address, 1) == 1;
    assert_true(writable || errno == EFAULT);
    close(ends[0]);
    close(ends[1]);
    return writable;
}

RNL_TEST(memory_for_vectors_is_present_with_a_page_below)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
    char *memory = guarded_map_present(size);
    assert_non_null(memory);
    unsigned char present[PAGES + 1] = {0};
    assert_int_equal(mincore(memory - page, page + size, present), 0);
    for (int i = 0; i <= PAGES; i++)
        assert_true(present[i] & 1);
    guarded_unmap(memory, size);
}

RNL_TEST(below_memory_for_vectors_stores_are_faults_and_loads_near_it_are_not)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = PAGES * page;
    char *memory = guarded_map_present(size);
    assert_non_null(memory);
    assert_true(is_writable(memory));
    assert_true(is_writable(memory + size - 1));
    assert_true(is_readable(memory - 1));
    assert_false(is_writable(memory - 1));
    assert_false(is_readable(memory - page - 1));
    assert_false(is_readable(memory + size));
    assert_int_equal(guarded_side(memory, size, (uintptr_t)memory - 1),
                     GUARD_BELOW);
    guarded_unmap(memory, size);
}
