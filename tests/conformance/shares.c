// Work is shared evenly: if the last launches of a kernel were long, the blocks
// of the next one are run by all workers from the first block on.
#include "suite.h"

#include <stdatomic.h>
#include <time.h>

enum { BLOCKS = 8, PATIENCE_S = 30 };

static atomic_uint blocks_run[BLOCKS];
static atomic_bool holds, came_too_late;

static void take_time(void)
{
    struct timespec begin, now;
    timespec_get(&begin, TIME_UTC);
    do {
        timespec_get(&now, TIME_UTC);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec -
                 begin.tv_nsec <
             300000);
}

static bool others_are_done(void)
{
    for (int i = 1; i < BLOCKS; i++)
        if (atomic_load(&blocks_run[i]) == 0)
            return false;
    return true;
}

// The first block ends when all others have been run.
static void hold(void)
{
    time_t end = time(NULL) + PATIENCE_S;
    while (!others_are_done() && !atomic_load(&came_too_late))
        if (time(NULL) > end)
            atomic_store(&came_too_late, true);
}

static rnl_status run_blocks(const rnl_native_call *call)
{
    for (uint64_t i = 0; i < call->block_count; i++) {
        if (!atomic_load(&holds))
            take_time();
        else if (call->first_block + i == 0)
            hold();
        atomic_fetch_add(&blocks_run[call->first_block + i], 1);
    }
    return RNL_OK;
}

static void launch(rnl_stream stream, rnl_function function)
{
    for (int i = 0; i < BLOCKS; i++)
        atomic_store(&blocks_run[i], 0);
    expect_ok(rnl_enqueue_function(stream, function,
                                   RNL_LAUNCH(.grid = {BLOCKS}, .block = {1}),
                                   RNL_NO_ARGS));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    for (int i = 0; i < BLOCKS; i++)
        assert_int_equal(atomic_load(&blocks_run[i]), 1);
}

RNL_TEST(others_run_all_blocks_while_the_first_one_is_held)
{
    if (!suite_is_cpu())
        test_skip("only the cpu's blocks can be held by the test");
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(.threads = 2));
    rnl_stream stream = NULL;
    rnl_function function = NULL;
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_function_create_native(context, "held", run_blocks, NULL,
                                         &function));
    atomic_store(&holds, false);
    atomic_store(&came_too_late, false);
    launch(stream, function);
    launch(stream, function);
    atomic_store(&holds, true);
    launch(stream, function);
    assert_false(atomic_load(&came_too_late));
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_context_release(context));
}
