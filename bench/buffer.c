// The cost of a buffer whose memory the pool has.
//
// Create and release on one thread, and on two at once; created and released
// in the order of a stream. The peers give memory alone, without an owner, a
// handle or any order: malloc, and posix_memalign with the same alignment.
// OpenCL is left out: an implementation may allocate at the first use.
#include "harness.h"

#include <pthread.h>
#include <stdlib.h>

enum { CALLS = 1000, ALIGNMENT = 256 };

typedef struct buffer_state {
    const bench_run *bench;
    size_t size;
    rnl_status (*create)(const struct buffer_state *, rnl_buffer *);
} buffer_state;

static rnl_status create_ready(const buffer_state *state, rnl_buffer *out)
{
    return rnl_buffer_create(state->bench->runnel.context, state->size, NULL,
                             out);
}

static rnl_status create_ordered(const buffer_state *state, rnl_buffer *out)
{
    return rnl_enqueue_buffer_create(state->bench->runnel.stream, state->size,
                                     NULL, out);
}

static const char *check(void *opaque)
{
    const buffer_state *state = opaque;
    rnl_pool_stats before = {.struct_size = sizeof before}, after = before;
    rnl_buffer buffer;
    for (int i = 0; i < 2; i++) {
        if (rnl_context_pool_stats(state->bench->runnel.context, &before) ||
            state->create(state, &buffer) || rnl_buffer_release(buffer) ||
            rnl_context_pool_stats(state->bench->runnel.context, &after))
            return "a buffer is not made";
    }
    return after.hits == before.hits + 1 ? NULL : "the pool has no memory";
}

static double runnel_sample(void *opaque)
{
    const buffer_state *state = opaque;
    rnl_buffer buffer;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < CALLS; i++) {
        if (state->create(state, &buffer) || rnl_buffer_release(buffer))
            return -1;
    }
    return (double)(bench_now_ns() - start) / CALLS;
}

// A compiler must not see through this call.
static void *(*volatile allocate)(size_t) = malloc;
static int (*volatile allocate_aligned)(void **, size_t, size_t) =
    posix_memalign;
static void (*volatile give_back)(void *) = free;

static double malloc_sample(void *opaque)
{
    const buffer_state *state = opaque;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < CALLS; i++)
        give_back(allocate(state->size));
    return (double)(bench_now_ns() - start) / CALLS;
}

static double memalign_sample(void *opaque)
{
    const buffer_state *state = opaque;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < CALLS; i++) {
        void *memory;
        if (allocate_aligned(&memory, ALIGNMENT, state->size))
            return -1;
        give_back(memory);
    }
    return (double)(bench_now_ns() - start) / CALLS;
}

// --- Two threads -----------------------------------------------------------

typedef struct other_thread {
    double (*sample)(void *);
    void *state;
    double time;
} other_thread;

static void *run_other(void *opaque)
{
    other_thread *other = opaque;
    other->time = other->sample(other->state);
    return NULL;
}

// The time of the slower thread: the difference to a thread alone is their cost
// to each other.
static double with_other(double (*sample)(void *), void *state)
{
    other_thread other = {sample, state, -1};
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_other, &other))
        return -1;
    double time = sample(state);
    pthread_join(thread, NULL);
    if (time < 0 || other.time < 0)
        return -1;
    return time > other.time ? time : other.time;
}

static double runnel_two(void *opaque)
{
    return with_other(runnel_sample, opaque);
}

static double malloc_two(void *opaque)
{
    return with_other(malloc_sample, opaque);
}

static double memalign_two(void *opaque)
{
    return with_other(memalign_sample, opaque);
}

static const bench_plan plans[] = {
    {.name = "buffer/hit/4Ki",
     .what = "buffer create+release of 4 KiB, pool hit",
     .size = 4096, .samples = 20, .warm = 5},
    {.name = "buffer/hit/1Mi",
     .what = "buffer create+release of 1 MiB, pool hit",
     .size = 1 << 20, .samples = 20, .warm = 5},
    {.name = "buffer/hit/2 threads",
     .what = "buffer create+release of 4 KiB, two threads, each",
     .size = 4096, .samples = 20, .warm = 5},
};

static void run(bench_run *bench, const bench_plan *plan)
{
    buffer_state state = {bench, plan->size, create_ready};
    buffer_state ordered = {bench, plan->size, create_ordered};
    bool two = plan == &plans[2];
    const char *why = bench->runnel.context ? NULL : "no context";
    bench_variant variants[] = {
        {"runnel", why, check, two ? runnel_two : runnel_sample, &state},
        {"runnel, on a stream", why, check,
         two ? runnel_two : runnel_sample, &ordered},
        {"malloc", NULL, NULL, two ? malloc_two : malloc_sample, &state},
        {"posix_memalign", NULL, NULL, two ? memalign_two : memalign_sample,
         &state},
    };
    bench_measure(bench, plan, variants, 4);
}

const bench_case buffer_case = {BENCH_PLANS(plans), run};
