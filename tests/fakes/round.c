#include "round.h"

#include <stdio.h>
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
    TRY(rnl_context_open("cuda", 0, NULL, &round->context));
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
    assert_ok(rnl_context_release(round->context));
}

// False when nothing had to fail any more.
static bool sweep_round(rnl_status (*scenario)(struct round *), size_t k,
                        int code, bool for_ever)
{
    struct round round = {0};
    size_t before = fake_failed();
    fake_fail("*", k, code, for_ever);
    rnl_status status = scenario(&round);
    bool failed = fake_failed() > before;
    if (status != RNL_OK && !failed)
        fail_msg("nothing failed, but call %zu was to: %s: %s", k,
                 rnl_status_name(status), rnl_last_error()->message);
    if (status != RNL_OK && strlen(rnl_last_error()->message) < 12)
        fail_msg("call %zu failing with %d: no sentence for %s", k, code,
                 rnl_status_name(status));
    fake_fail("*", 0, 0, 0);
    round_finish(&round);
    fake_expect_empty();
    return failed;
}

void round_sweep(rnl_status (*scenario)(struct round *))
{
    static const int codes[] = {2, 1, 999};
    struct round round = {0};
    fake_load();
    rnl_status first = scenario(&round);
    round_finish(&round);
    if (first == RNL_ERROR_UNSUPPORTED)
        test_skip("the backend does not do it");
    assert_ok(first);
    fake_expect_empty();
    for (size_t i = 0; i < 3; i++)
        for (int for_ever = 0; for_ever < 2; for_ever++) {
            size_t k = 1;
            while (sweep_round(scenario, k, codes[i], for_ever))
                if (++k == MOST_CALLS)
                    fail_msg("the scenario never passes");
            printf("code %d, %s: %zu calls\n", codes[i],
                   for_ever ? "for ever" : "once", k - 1);
        }
}
