#include "backends/cpu/kernel/guarded.h"

#include "backends/cpu/kernel/tuning.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#if !defined(MADV_GUARD_INSTALL)
#define MADV_GUARD_INSTALL 102
#endif

static atomic_int mapped_count;

static size_t round_up(size_t size, size_t unit)
{
    return (size + unit - 1) / unit * unit;
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t guard_size(void)
{
    return round_up(GUARD_SIZE, page_size());
}

static void guard(char *memory, size_t size, bool costs)
{
    if (madvise(memory, size, MADV_GUARD_INSTALL) != 0 && costs)
        mprotect(memory, size, PROT_NONE);
}

size_t guarded_extent(size_t size)
{
    return round_up(size, page_size()) + 2 * guard_size();
}

// Maps memory whose lower guard ends `margin` bytes before it.
static char *map(size_t size, int flags, size_t margin)
{
    size_t beside = guard_size(), whole = guarded_extent(size);
    char *memory = mmap(NULL, whole, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    bool costs = atomic_fetch_add(&mapped_count, 1) < GUARDED_MOST;
    guard(memory, beside - margin, costs);
    guard(memory + whole - beside, beside, costs);
    return memory + beside;
}

void *guarded_map(size_t size, bool sparse)
{
    return map(size, sparse ? MAP_NORESERVE : 0, 0);
}

// The first read of a page makes it present, as a page of zeros.
static void make_present(char *memory, size_t size)
{
    for (size_t at = 0; at < size; at += page_size())
        (void)*(volatile char *)(memory + at);
}

void *guarded_map_present(size_t size)
{
    size_t margin = page_size();
    char *memory = map(size, 0, margin);
    if (!memory)
        return NULL;
    // Without a mapping to spare the page is a guard, too: slow, but safe.
    if (mprotect(memory - margin, margin, PROT_READ) != 0)
        guard(memory - margin, margin, false);
    else
        make_present(memory - margin, margin);
    make_present(memory, size);
    return memory;
}

void guarded_unmap(void *memory, size_t size)
{
    munmap((char *)memory - guard_size(), guarded_extent(size));
    atomic_fetch_sub(&mapped_count, 1);
}

enum guard_side guarded_side(const void *memory, size_t size, uintptr_t address)
{
    uintptr_t begin = (uintptr_t)memory, beside = guard_size();
    uintptr_t end = begin + round_up(size, page_size());
    if (!memory)
        return GUARD_NONE;
    if (address < begin && begin - address <= beside)
        return GUARD_BELOW;
    return address >= end && address - end < beside ? GUARD_ABOVE : GUARD_NONE;
}
