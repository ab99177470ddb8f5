// backends/cpu/region: who runs which part of an op.
#include "unit.h"

#include "backends/cpu/cpu.h"

enum { UNITS = 1 << 16 };

static _Atomic uint64_t first_part, units_run;

static rnl_status run_slowly(const struct region *region, uint64_t first,
                             uint64_t count, char *message)
{
    uint64_t start = clock_ticks();
    (void)region, (void)message;
    if (first == 0)
        atomic_store(&first_part, count);
    atomic_fetch_add(&units_run, count);
    while (clock_ticks() - start < 10000)
        cpu_relax();
    return RNL_OK;
}

RNL_TEST(others_are_let_in_after_the_first_unit)
{
    struct pool *pool;
    struct region region = {.run = run_slowly, .total = UNITS};
    atomic_init(&region.participants, 1);
    assert_ok(pool_create(2, 30000, 0, &pool));
    assert_ok(region_run(pool, &region, false));
    assert_int_equal(atomic_load(&first_part), 1);
    assert_int_equal(atomic_load(&units_run), UNITS);
    pool_destroy(pool);
}
