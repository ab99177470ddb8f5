// The cost of checking a handle.
//
// The cheapest public calls that check one handle, each less an empty function
// of the same shape; both are called through a pointer that the compiler
// cannot see through, in turn, in the same sample. The difference is the whole
// body of the call, so it is an upper bound of the check alone. "two handles"
// is a call that checks two less the call that checks one.
#include "harness.h"

enum { CALLS = 2000 };

typedef rnl_status (*one_handle_fn)(rnl_context, uint64_t *);
typedef rnl_status (*two_handles_fn)(rnl_context, rnl_context, bool *);

static rnl_status empty_function(rnl_context context, uint64_t *out_id)
{
    (void)context;
    *out_id = 1;
    return RNL_OK;
}

static one_handle_fn volatile empty_call = empty_function;
static one_handle_fn volatile one_call = rnl_context_id;
static two_handles_fn volatile two_call = rnl_context_can_access_peer;

static double time_one(one_handle_fn call, rnl_context context)
{
    uint64_t id = 0;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < CALLS; i++) {
        if (call(context, &id))
            return -1;
    }
    return (double)(bench_now_ns() - start) / CALLS;
}

static double time_two(two_handles_fn call, rnl_context context)
{
    bool can = false;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < CALLS; i++) {
        if (call(context, context, &can))
            return -1;
    }
    return (double)(bench_now_ns() - start) / CALLS;
}

// A difference that the clock's noise makes negative counts as nothing; a call
// that failed stays a failure.
static double difference(double more, double less)
{
    if (more < 0 || less < 0)
        return -1;
    return more > less ? more - less : 0;
}

static double check_sample(void *opaque)
{
    rnl_context context = ((const bench_run *)opaque)->runnel.context;
    double empty = time_one(empty_call, context);
    return difference(time_one(one_call, context), empty);
}

static double second_sample(void *opaque)
{
    rnl_context context = ((const bench_run *)opaque)->runnel.context;
    double one = time_one(one_call, context);
    return difference(time_two(two_call, context), one);
}

static double call_sample(void *opaque)
{
    return time_one(one_call, ((const bench_run *)opaque)->runnel.context);
}

static double empty_sample(void *opaque)
{
    return time_one(empty_call, ((const bench_run *)opaque)->runnel.context);
}

static void run(bench_run *bench, const bench_plan *plan)
{
    const char *absent =
        bench->runnel.context ? NULL : bench->runnel.no_native;
    bench_variant variants[] = {
        {"runnel", absent, NULL, check_sample, bench},
        {"two handles less one", absent, NULL, second_sample, bench},
        {"rnl_context_id", absent, NULL, call_sample, bench},
        {"empty call", NULL, NULL, empty_sample, bench},
    };
    bench_measure(bench, plan, variants, 4);
}

static const bench_plan plans[] = {
    {.name = "handle-check/one",
     .what = "rnl_context_id less an empty call: one handle checked",
     .samples = 20, .warm = 5},
};

const bench_case handle_check_case = {BENCH_PLANS(plans), run};
