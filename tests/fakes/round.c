#include "round.h"

#include "base/poison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 3000 };

void round_count(rnl_status status, void *count)
{
    (void)status;
    ++*(int *)count;
}

rnl_status round_open_with(struct round *round,
                           const rnl_stream_options *options)
{
    rnl_status status = RNL_OK;
    TRY(rnl_context_open(fake_api(), 0, NULL, &round->context));
    TRY(rnl_stream_create(round->context, options, &round->stream));
    return status;
}

rnl_status round_open(struct round *round)
{
    return round_open_with(round, NULL);
}

rnl_status round_settle(struct round *round, rnl_status status)
{
    if (round->context)
        rnl_context_synchronize(round->context, RNL_FOREVER);
    assert_ok(rnl_graph_exec_release(round->exec));
    assert_ok(rnl_graph_release(round->graph));
    return status;
}

// The other stream may be borrowed from the first one.
void round_finish(struct round *round)
{
    if (round->other)
        rnl_stream_synchronize(round->other, RNL_FOREVER);
    assert_ok(rnl_function_release(round->function));
    assert_ok(rnl_module_release(round->module));
    assert_ok(rnl_event_release(round->event));
    assert_ok(rnl_buffer_release(round->buffer));
    assert_ok(rnl_buffer_release(round->host));
    assert_ok(rnl_stream_release(round->other));
    assert_ok(rnl_stream_release(round->stream));
    for (int i = 0; i < 2; i++)
        assert_ok(rnl_context_release(round->adopted[i]));
    assert_ok(rnl_context_release(round->context));
}

// A round's faults: the k-th call and, if `gap` is not 0, the one so many
// behind it; or all from the k-th on.
struct failing {
    size_t k, gap;
    int code;
    bool for_ever;
};

// False when nothing had to fail any more.
static bool sweep_round(rnl_status (*scenario)(struct round *),
                        const struct failing *failing)
{
    struct round round = {0};
    size_t before = fake_failed();
    fake_fail("*", failing->k, failing->code,
              failing->for_ever ? 1 : -(int)failing->gap);
    rnl_status status = scenario(&round);
    bool failed = fake_failed() > before;
    if (status != RNL_OK && !failed)
        fail_msg("nothing failed, but call %zu was to: %s: %s", failing->k,
                 rnl_status_name(status), rnl_last_error()->message);
    if (status != RNL_OK && strlen(rnl_last_error()->message) < 12)
        fail_msg("call %zu failing with %d: no sentence for %s", failing->k,
                 failing->code, rnl_status_name(status));
    fake_fail("*", 0, 0, 0);
    round_finish(&round);
    fake_expect_empty();
    // A device of HIP that is lost stays so until the process ends.
    if (fake_is_hip())
        fake_break(0, 0);
    return failed;
}

static bool full(void)
{
    const char *value = getenv("RUNNEL_SWEEP");
    return value && strcmp(value, "full") == 0;
}

// Codes of a lost device end a context, which each call must survive once.
enum { ILLEGAL_ADDRESS = 700 };

// The first codes are swept whole, the others sampled unless all is asked for.
static void sweep_code(rnl_status (*scenario)(struct round *), int code,
                       bool whole)
{
    struct failing failing = {.code = code};
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool each = whole || (code == ILLEGAL_ADDRESS && !for_ever);
        failing.for_ever = for_ever;
        failing.k = 1;
        while (sweep_round(scenario, &failing))
            if ((failing.k += each ? 1 : 1 + 2 * failing.k) >= MOST_CALLS)
                fail_msg("the scenario never passes");
    }
}

bool round_waits_on;

// There, a wait for a value that the library's own thread gave to a device that
// is lost reads memory that was given back, and AddressSanitizer sees it.
static bool can_sweep(int code)
{
#if defined(POISON_ADDRESSES)
    return !round_waits_on ||
           (code != ILLEGAL_ADDRESS && code != 702 && code != 719);
#else
    return code != 0;
#endif
}

// Two calls of a scenario fail: any first one, and several of the next.
static size_t sweep_pairs(rnl_status (*scenario)(struct round *))
{
    size_t pairs = 0;
    struct failing failing = {.code = 2};
    bool whole = full();
    for (failing.k = 1; failing.k < MOST_CALLS; failing.k++) {
        for (failing.gap = 1; failing.gap < (whole ? 12 : 2); failing.gap++) {
            if (!sweep_round(scenario, &failing))
                return pairs;
            pairs++;
        }
        failing.k += whole ? 0 : failing.k / 3;
    }
    fail_msg("the scenario never passes");
    return pairs;
}

void round_sweep(rnl_status (*scenario)(struct round *))
{
    // Out of memory, a bad value, unknown; then no context, a bad handle, not
    // supported, the system, no device, resources, unavailable, and three that
    // lose the device.
    static const int codes[] = {2,   1,   999, 201, 400, 801, 304,
                                101, 701, 46,  700, 719, 702};
    struct round round = {0};
    fake_load();
    rnl_status first = scenario(&round);
    round_finish(&round);
    if (first == RNL_ERROR_UNSUPPORTED)
        test_skip("the backend does not do it");
    assert_ok(first);
    fake_expect_empty();
    size_t before = fake_failed();
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const char *only = getenv("RUNNEL_SWEEP_CODE");
        char id[16];
        if (!can_sweep(codes[i]) || (only && atoi(only) != codes[i]))
            continue;
        snprintf(id, sizeof id, "%d", codes[i]);
        sweep_code(scenario, codes[i], i < 3 || full());
        test_member("driver-codes", id);
    }
    test_figure("driver-call-pairs", (long)sweep_pairs(scenario));
    test_figure("failed-driver-calls", (long)(fake_failed() - before));
    struct failing none = {.k = MOST_CALLS * 10, .code = 2};
    if (sweep_round(scenario, &none))
        fail_msg("a scenario has too many calls");
}
