#include "sweep.h"

#include <stdatomic.h>
#include <stdio.h>

enum { MOST_ALLOCATIONS = 5000 };

static _Atomic long countdown;  // allocations until the failing one
static _Atomic long live;       // bytes given and not taken back
static _Atomic bool armed, tripped, for_ever;
static long failing;            // the k of this round, for messages

static bool fails(void)
{
    if (!atomic_load(&armed))
        return false;
    long before = atomic_fetch_sub(&countdown, 1);
    if (before > 0)
        return false;
    if (before < 0 && !atomic_load(&for_ever))
        return false;
    atomic_store(&tripped, true);
    return true;
}

static void *give(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    if (fails())
        return NULL;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment < 16 ? 16 : alignment,
                       size ? size : 1))
        return NULL;
    atomic_fetch_add(&live, (long)size);
    // Dirty, since zeroing is the library's part.
    return memset(memory, 0xdd, size);
}

static void take(void *memory, size_t size, void *user_data)
{
    (void)user_data;
    atomic_fetch_sub(&live, (long)size);
    free(memory);
}

bool sweep_retries(void)
{
    return atomic_load(&armed) && !atomic_load(&for_ever);
}

void sweep_wrong(const char *what, const char *file, int line)
{
    atomic_store(&armed, false);
    print_error("with allocation %ld failing (%s): %s\n    last error: %s\n",
                failing, atomic_load(&for_ever) ? "for ever" : "once", what,
                rnl_last_error()->message);
    _fail(file, line);
}

rnl_status sweep_open(rnl_context *out_context)
{
    const char *name = test_device_name();
    char api[16];
    const char *colon = strchr(name, ':');
    snprintf(api, sizeof api, "%.*s", (int)strcspn(name, ":"), name);
    return rnl_context_open(api, colon ? strtoul(colon + 1, NULL, 10) : 0,
                            RNL_CONTEXT_OPTIONS(.threads = 2), out_context);
}

void sweep_expect_empty(void)
{
    size_t held = test_held(0);
    if (held > 0)
        fail_msg("%zu bytes are still held (allocation %ld failing, %s)", held,
                 failing, atomic_load(&for_ever) ? "for ever" : "once");
}

// One round; false when nothing had to fail any more.
static bool round_fails(rnl_status (*scenario)(void), long k)
{
    failing = k;
    atomic_store(&countdown, k);
    atomic_store(&tripped, false);
    atomic_store(&armed, true);
    rnl_status status = scenario();
    atomic_store(&armed, false);
    if (status != RNL_OK && status != RNL_ERROR_OUT_OF_MEMORY)
        fail_msg("with allocation %ld failing (%s): %s: %s", k,
                 atomic_load(&for_ever) ? "for ever" : "once",
                 rnl_status_name(status), rnl_last_error()->message);
    if (status != RNL_OK)
        assert_true(atomic_load(&tripped));
    sweep_expect_empty();
    assert_int_equal(atomic_load(&live), 0);
    return atomic_load(&tripped);
}

void sweep(rnl_status (*scenario)(void))
{
    sweep_expect_empty();
    assert_ok(rnl_allocator_set(
        RNL_ALLOCATOR(.allocate = give, .release = take)));
    for (int mode = 0; mode < 2; mode++) {
        atomic_store(&for_ever, mode == 1);
        long k = 0;
        while (round_fails(scenario, k))
            if (++k == MOST_ALLOCATIONS)
                fail_msg("the scenario never passes");
        printf("%s: %ld allocations\n", mode ? "for ever" : "once", k);
        assert_true(k > 0);
    }
    sweep_expect_empty();
    assert_ok(rnl_allocator_set(NULL));
}
