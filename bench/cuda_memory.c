// Memory of a GPU: allocations that the pool has, and copies between ordinary,
// page-locked and device memory. The peer makes the same calls by hand, on the
// same memory.
#include "cuda.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS = 256, POOL_THRESHOLD = 4, LITTLE = 1 << 20 };

// --- Allocations -----------------------------------------------------------

typedef struct pool_state {
    cuda_fixture *cuda;
    size_t size;
    bool ordered;
} pool_state;

static bool create(const pool_state *state, rnl_buffer *out)
{
    return state->ordered ? !rnl_enqueue_buffer_create(
                                state->cuda->stream, state->size, NULL, out)
                          : !rnl_buffer_create(state->cuda->context,
                                               state->size, NULL, out);
}

static double runnel_pool_sample(void *opaque)
{
    const pool_state *state = opaque;
    rnl_buffer buffer;
    uint64_t start = bench_now_ns();
    for (int i = 0; i < CALLS; i++)
        if (!create(state, &buffer) || rnl_buffer_release(buffer))
            return -1;
    double time = (double)(bench_now_ns() - start) / CALLS;
    return rnl_stream_synchronize(state->cuda->stream, RNL_FOREVER) ? -1
                                                                    : time;
}

static double raw_pool_sample(void *opaque)
{
    const pool_state *state = opaque;
    const cuda_peer *raw = &state->cuda->raw;
    int failed = 0;
    cuda_peer_enter(raw);
    uint64_t start = bench_now_ns();
    for (int i = 0; i < CALLS; i++) {
        uint64_t address = 0;
        failed |= raw->allocate(&address, state->size, raw->stream);
        failed |= raw->give_back(address, raw->stream);
    }
    double time = (double)(bench_now_ns() - start) / CALLS;
    failed |= raw->stream_synchronize(raw->stream);
    cuda_peer_leave(raw);
    return failed ? -1 : time;
}

// The driver's pool keeps its memory, as in a program that is tuned.
static const char *raw_pool_check(void *opaque)
{
    const pool_state *state = opaque;
    const cuda_peer *raw = &state->cuda->raw;
    uint64_t all = UINT64_MAX;
    void *pool = NULL;
    if (raw->pool_of_device(&pool, 0) ||
        raw->pool_set(pool, POOL_THRESHOLD, &all))
        return "the driver's pool does not keep memory";
    return NULL;
}

static void run_pool(bench_run *bench, const bench_plan *plan)
{
    pool_state state = {cuda_get(), plan->size, false};
    pool_state ordered = {cuda_get(), plan->size, true};
    const cuda_peer *raw = &state.cuda->raw;
    const char *why = bench_reason(state.cuda->no_runnel);
    const char *no_raw = cuda_no_raw(raw->allocate && raw->give_back &&
                                     raw->pool_of_device && raw->pool_set);
    bench_variant variants[] = {
        {"runnel, on a stream", why, NULL, runnel_pool_sample, &ordered},
        {"runnel", why, NULL, runnel_pool_sample, &state},
        {"cuMemAllocAsync", no_raw, raw_pool_check, raw_pool_sample, &ordered},
    };
    bench_measure(bench, plan, variants, 3);
}

// --- Copies ----------------------------------------------------------------

typedef struct copy_state {
    cuda_fixture *cuda;
    size_t size;
    rnl_buffer buffer, other;
    uint64_t address, other_address;
    void *host;  // of this variant: ordinary or page-locked
    bool raw;
    bool enqueued;  // and waited for by another call
    bool behind;    // a kernel that is launched before it
    int direction;  // as in the names below
} copy_state;

enum { TO_DEVICE, FROM_DEVICE, ON_DEVICE };

static bool runnel_launches(const copy_state *state)
{
    return !state->behind ||
           !rnl_enqueue_function(state->cuda->stream,
                                 state->cuda->functions[CUDA_ARGS0],
                                 RNL_LAUNCH(.grid = {1}, .block = {1}), NULL);
}

static bool raw_launches(const copy_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    return !state->behind ||
           !cuda_launch_raw(raw, state->cuda->raw_functions[CUDA_ARGS0],
                            raw->stream, NULL);
}

static bool enqueue_once(const copy_state *state)
{
    rnl_stream stream = state->cuda->stream;
    rnl_status status =
        state->direction == TO_DEVICE
            ? rnl_enqueue_copy_to_buffer(stream, state->buffer, 0,
                                         state->host, state->size)
            : rnl_enqueue_copy_from_buffer(stream, state->host, state->buffer,
                                           0, state->size);
    return !status && !rnl_stream_synchronize(stream, RNL_FOREVER);
}

static bool runnel_once(const copy_state *state)
{
    rnl_stream stream = state->cuda->stream;
    if (!runnel_launches(state))
        return false;
    if (state->enqueued)
        return enqueue_once(state);
    switch (state->direction) {
    case TO_DEVICE:
        return !rnl_copy_to_buffer_and_wait(stream, state->buffer, 0,
                                            state->host, state->size);
    case FROM_DEVICE:
        return !rnl_copy_from_buffer_and_wait(stream, state->host,
                                              state->buffer, 0, state->size);
    default:
        return !rnl_copy_buffer_and_wait(stream, state->other, 0,
                                         state->buffer, 0, state->size);
    }
}

static bool raw_once(const copy_state *state)
{
    const cuda_peer *raw = &state->cuda->raw;
    uint64_t host = (uint64_t)(uintptr_t)state->host;
    uint64_t to = state->direction == TO_DEVICE     ? state->address
                  : state->direction == FROM_DEVICE ? host
                                                    : state->other_address;
    uint64_t from = state->direction == TO_DEVICE ? host : state->address;
    return raw_launches(state) &&
           !raw->copy(to, from, state->size, raw->stream) &&
           !raw->stream_synchronize(raw->stream);
}

static double copy_sample(void *opaque)
{
    const copy_state *state = opaque;
    const cuda_peer *raw = &state->cuda->raw;
    if (state->raw)
        cuda_peer_enter(raw);
    uint64_t start = bench_now_ns();
    bool good = state->raw ? raw_once(state) : runnel_once(state);
    double time = (double)(bench_now_ns() - start);
    if (state->raw)
        cuda_peer_leave(raw);
    return good ? time : -1;
}

// A value in every word that says where it is, and which round this was.
static void mark(const copy_state *state, uint64_t round)
{
    uint64_t *words = state->host;
    for (size_t i = 0; i < state->size / 8; i++)
        words[i] = i * 2654435761u + round;
}

static bool is_marked(const copy_state *state, uint64_t round)
{
    const uint64_t *words = state->host;
    for (size_t i = 0; i < state->size / 8; i++)
        if (words[i] != i * 2654435761u + round)
            return false;
    return true;
}

// There and back; the way that is not the question by Runnel's plain call.
static const char *copy_check(void *opaque)
{
    static uint64_t round;
    copy_state *state = opaque;
    copy_state back = *state;
    int direction = state->direction;
    if (direction == ON_DEVICE)
        return NULL;
    mark(state, ++round);
    state->direction = TO_DEVICE;
    back.direction = FROM_DEVICE;
    bool good = copy_sample(state) >= 0;
    memset(state->host, 0xee, state->size);
    good = good && copy_sample(&back) >= 0;
    state->direction = direction;
    if (!good)
        return "failed when its result was checked";
    return is_marked(state, round) ? NULL : "gives a wrong result";
}

static bool allocate(copy_state *state, rnl_buffer *out, uint64_t *out_address)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    if (rnl_buffer_create(state->cuda->context, state->size, NULL, out) ||
        rnl_buffer_get_info(*out, &info))
        return false;
    *out_address = (uint64_t)(uintptr_t)info.device_address;
    return true;
}

static void measure_host(bench_run *bench, const bench_plan *plan,
                         copy_state *ordinary, copy_state *pinned,
                         const char *why)
{
    bool has = ordinary->cuda->raw.copy != NULL;
    const char *no_raw = why                ? why
                         : ordinary->behind ? cuda_no_raw_kernels(has)
                                            : cuda_no_raw(has);
    copy_state raw = *ordinary, raw_pinned = *pinned, enqueued = *ordinary;
    raw.raw = raw_pinned.raw = enqueued.enqueued = true;
    bench_variant variants[] = {
        {"runnel", why, copy_check, copy_sample, ordinary},
        {"driver", no_raw, copy_check, copy_sample, &raw},
        {"runnel, pinned", why, copy_check, copy_sample, pinned},
        {"driver, pinned", no_raw, copy_check, copy_sample, &raw_pinned},
        {"runnel, enqueued", why, copy_check, copy_sample, &enqueued},
    };
    bench_measure(bench, plan, variants, plan->size > LITTLE ? 4 : 5);
}

static void measure_device(bench_run *bench, const bench_plan *plan,
                           copy_state *state, const char *why)
{
    const char *no_raw =
        why ? why : cuda_no_raw(state->cuda->raw.copy != NULL);
    copy_state raw = *state;
    raw.raw = true;
    bench_variant variants[] = {
        {"runnel", why, NULL, copy_sample, state},
        {"driver", no_raw, NULL, copy_sample, &raw},
    };
    bench_measure(bench, plan, variants, 2);
}

static int direction_of(const bench_plan *plan)
{
    return strstr(plan->name, "from-device") ? FROM_DEVICE
           : strstr(plan->name, "to-device") ? TO_DEVICE
                                             : ON_DEVICE;
}

static void run_copy(bench_run *bench, const bench_plan *plan)
{
    copy_state state = {.cuda = cuda_get(), .size = plan->size,
                        .behind = strstr(plan->name, "behind") != NULL,
                        .direction = direction_of(plan)};
    bool between = state.direction == ON_DEVICE;
    const char *why = state.behind ? cuda_no_kernels()
                                   : bench_reason(state.cuda->no_runnel);
    void *pinned = NULL;
    copy_state locked;
    if (!why && (!allocate(&state, &state.buffer, &state.address) ||
                 (between && !allocate(&state, &state.other,
                                       &state.other_address)) ||
                 (!between && rnl_host_allocate(state.cuda->context,
                                                state.size, &pinned))))
        why = "no memory of this size";
    if (!between && !(state.host = bench_allocate(state.size)))
        why = "no memory of this size";
    locked = state;
    locked.host = pinned;
    if (between)
        measure_device(bench, plan, &state, why);
    else
        measure_host(bench, plan, &state, &locked, why);
    free(state.host);
    if (pinned)
        rnl_host_free(state.cuda->context, pinned);
    rnl_buffer_release(state.other);
    rnl_buffer_release(state.buffer);
}

// --- The rows --------------------------------------------------------------

#define MIB ((size_t)1 << 20)
#define COPY_ROW(name_, what_, size_)                                      \
    {.name = "cuda/copy/" name_, .what = what_, .size = (size_),          \
     .bytes = (double)(size_), .rounds = 9, .samples = 3, .warm = 1,      \
     .limit_ns = 6000000000u}
#define LITTLE_ROW(name_, what_, size_)                                    \
    {.name = "cuda/copy/" name_, .what = what_, .size = (size_),          \
     .bytes = (double)(size_), .rounds = 9, .samples = 50, .warm = 5}

static const bench_plan plans[] = {
    {.name = "cuda/allocate/4Ki",
     .what = "allocate and free 4 KiB that a pool has",
     .size = 4096, .samples = 20, .warm = 5},
    {.name = "cuda/allocate/1Mi",
     .what = "allocate and free 1 MiB that a pool has",
     .size = MIB, .samples = 20, .warm = 5},
    LITTLE_ROW("to-device/4Ki", "4 KiB of host memory to the device", 4096),
    LITTLE_ROW("to-device/1Mi", "1 MiB of host memory to the device", MIB),
    LITTLE_ROW("from-device/4Ki", "4 KiB of the device to host memory", 4096),
    LITTLE_ROW("from-device/1Mi", "1 MiB of the device to host memory", MIB),
    LITTLE_ROW("from-device/4Ki-behind",
               "4 KiB of the device to host memory, behind a kernel", 4096),
    COPY_ROW("to-device/64Mi", "64 MiB of host memory to the device",
             64 * MIB),
    COPY_ROW("to-device/256Mi", "256 MiB of host memory to the device",
             256 * MIB),
    COPY_ROW("to-device/1Gi", "1 GiB of host memory to the device",
             1024 * MIB),
    COPY_ROW("from-device/64Mi", "64 MiB of the device to host memory",
             64 * MIB),
    COPY_ROW("from-device/256Mi", "256 MiB of the device to host memory",
             256 * MIB),
    COPY_ROW("from-device/1Gi", "1 GiB of the device to host memory",
             1024 * MIB),
    COPY_ROW("device/256Mi", "256 MiB from device to device", 256 * MIB),
};

static void run(bench_run *bench, const bench_plan *plan)
{
    if (plan->bytes > 0)
        run_copy(bench, plan);
    else
        run_pool(bench, plan);
}

const bench_case cuda_memory_case = {BENCH_PLANS(plans), run};
