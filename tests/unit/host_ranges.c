// core/host_memory: which ranges a context knows, against a plain list.
#include "unit.h"

#include "core/backend.h"
#include "core/memory/host_memory.h"

#include <sched.h>
#include <stdlib.h>

enum { UNITS = 512, UNIT = 16, STEPS = 6000 };

static rnl_context handle;
static struct context *context;
static char memory[UNITS * UNIT];
static size_t size_at[UNITS];  // in units, of the range that begins there; 0

static uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525u + 1013904223u;
    return (*random >> 8) % below;
}

// Whether one of the ranges has all of these units, or any.
static bool has(size_t first, size_t size, bool all)
{
    for (size_t i = 0; i < UNITS; i++) {
        bool begins = size_at[i] > 0 && i < first + size;
        bool within = all ? i <= first && i + size_at[i] >= first + size
                          : i + size_at[i] > first;
        if (begins && within)
            return true;
    }
    return false;
}

static void add(size_t first, size_t size)
{
    bool meets = has(first, size, false);
    rnl_status status =
        rnl_host_register(handle, memory + first * UNIT, size * UNIT);
    assert_int_equal(status, meets ? RNL_ERROR_INVALID_ARGUMENT : RNL_OK);
    if (status == RNL_OK)
        size_at[first] = size;
}

static void take(size_t first)
{
    rnl_status status = rnl_host_unregister(handle, memory + first * UNIT);
    assert_int_equal(status, size_at[first] ? RNL_OK
                                            : RNL_ERROR_INVALID_ARGUMENT);
    size_at[first] = 0;
}

static void ask(size_t first, size_t size)
{
    bool known = host_range_has(context, (uintptr_t)(memory + first * UNIT),
                                size * UNIT);
    assert_int_equal(known, has(first, size, true));
}

static void begin(void)
{
    assert_ok(rnl_context_open("cpu", 0, NULL, &handle));
    assert_ok(check_context(handle, "context", &context));
}

RNL_TEST(host_ranges_are_those_of_a_plain_list)
{
    uint32_t random = 1;
    begin();
    for (int i = 0; i < STEPS; i++) {
        size_t first = draw(&random, UNITS);
        size_t most = UNITS - first < 9 ? UNITS - first : 9;
        size_t size = 1 + draw(&random, (uint32_t)most);
        if (draw(&random, 2))
            add(first, size);
        else
            take(first);
        ask(draw(&random, UNITS - 9), 1 + draw(&random, 9));
    }
    // The others are the context's to end.
    assert_ok(rnl_context_release(handle));
}

RNL_TEST(a_size_beyond_all_memory_is_in_no_range)
{
    begin();
    assert_ok(rnl_host_register(handle, memory, sizeof memory));
    uintptr_t start = (uintptr_t)memory;
    assert_true(host_range_has(context, start, sizeof memory));
    assert_false(host_range_has(context, start, sizeof memory + 1));
    assert_false(host_range_has(context, start + 1, SIZE_MAX));
    assert_false(host_range_has(context, start, SIZE_MAX - start + 2));
    assert_true(host_range_has(context, start + sizeof memory - 1, 1));
    assert_false(host_range_has(context, start + sizeof memory, 0));
    assert_ok(rnl_host_unregister(handle, memory));
    assert_ok(rnl_context_release(handle));
}

// --- Memory that is freed while work is in flight --------------------------

static bool is_short;  // of memory

static void *allocate(size_t size, size_t alignment, void *unused)
{
    (void)unused;
    size = (size + alignment - 1) / alignment * alignment;
    return is_short ? NULL : aligned_alloc(alignment, size);
}

static void give(void *block, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    free(block);
}

static void wait_until_open(rnl_status status, void *open)
{
    (void)status;
    while (!atomic_load((atomic_bool *)open))
        sched_yield();
}

// Where it cannot be noted what a range waits for, it holds up no other.
RNL_TEST(ranges_are_freed_behind_one_that_was_freed_without_memory)
{
    void *blocks[3];
    atomic_bool open = false;
    rnl_stream stream = NULL;
    assert_ok(rnl_allocator_set(
        RNL_ALLOCATOR(.allocate = allocate, .release = give)));
    begin();
    assert_ok(rnl_context_default_stream(handle, &stream));
    for (int i = 0; i < 3; i++)
        assert_ok(rnl_host_allocate(handle, 64, &blocks[i]));
    assert_ok(rnl_enqueue_host_function(stream, wait_until_open, &open));
    for (int i = 0; i < 3; i++) {
        is_short = i == 0;
        assert_ok(rnl_host_free(handle, blocks[i]));
    }
    assert_non_null(atomic_load(&context->host_ranges.kept));
    atomic_store(&open, true);
    assert_ok(rnl_context_synchronize(handle, RNL_FOREVER));
    assert_null(atomic_load(&context->host_ranges.kept));
    assert_ok(rnl_context_release(handle));
}
