// The warp functions of runnel-hip-cc's prelude on threads of the host: one for
// each active lane of a wave of 64. They meet where lanes exchange values.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <initializer_list>

#include "hip_wave.h"

namespace {

enum { LANES = 32 };

struct half_wave {
    pthread_barrier_t barrier;
    unsigned active;
    int words[LANES];
    unsigned votes[LANES];
};

half_wave halves[2];
thread_local unsigned wave_lane;

half_wave &own()
{
    return halves[wave_lane / LANES];
}

void meet()
{
    pthread_barrier_wait(&own().barrier);
}

// Lanes that are not active give 0; the address of a lane of the other half is
// none that the prelude may make.
int sim_bpermute(int address, int word)
{
    half_wave &half = own();
    half.words[wave_lane % LANES] = word;
    meet();
    unsigned from = (unsigned)address / 4;
    int result = from / LANES != wave_lane / LANES     ? -77
                 : half.active >> from % LANES & 1u ? half.words[from % LANES]
                                                    : 0;
    meet();
    return result;
}

// The other half of the wave votes yes.
unsigned long long sim_ballot(bool predicate)
{
    half_wave &half = own();
    half.votes[wave_lane % LANES] = predicate;
    meet();
    unsigned long long votes = 0;
    for (unsigned i = 0; i < LANES; i++)
        votes |= (unsigned long long)(half.votes[i] & half.active >> i & 1u)
                 << i;
    meet();
    return wave_lane < LANES ? votes | ~0ull << 32 : votes << 32 | 0xffffffffu;
}

#define RNL_INLINE static inline __attribute__((unused))
#define __builtin_amdgcn_mbcnt_lo(mask, more) ((void)(mask), (more))
#define __builtin_amdgcn_mbcnt_hi(mask, more) ((void)(mask), (more) + wave_lane)
#define __builtin_amdgcn_ds_bpermute sim_bpermute
#define __builtin_amdgcn_fence(order, scope) ((void)0)
#define __builtin_amdgcn_wave_barrier meet
#define __ballot sim_ballot
typedef unsigned int rnl_uint;
#include "hip/prelude/warp.h"

// --- What CUDA says ----------------------------------------------------------

template <class T> T value_of(unsigned seed, unsigned lane)
{
    T value;
    unsigned char bytes[sizeof(T)];
    for (unsigned i = 0; i < sizeof(T); i++)
        bytes[i] = (unsigned char)((lane * 37 + seed * 11 + i * 5) % 127);
    memcpy(&value, bytes, sizeof value);
    return value;
}

struct lane_run {
    unsigned lane, active, seed;
    int wrong;
};

// Only what active lanes give is defined.
template <class T>
void expect(lane_run &run, T got, unsigned from, const char *what)
{
    T wanted = value_of<T>(run.seed, from);
    if (!(run.active >> from & 1u) || memcmp(&got, &wanted, sizeof got) == 0)
        return;
    run.wrong++;
    fprintf(stderr, "%s in lane %u: not that of lane %u\n", what, run.lane,
            from);
}

void expect_number(lane_run &run, long long got, long long wanted,
                   const char *what)
{
    if (got == wanted)
        return;
    run.wrong++;
    fprintf(stderr, "%s in lane %u: %lld, not %lld\n", what, run.lane, got,
            wanted);
}

template <class T> void try_shuffles(lane_run &run)
{
    T own = value_of<T>(run.seed, run.lane);
    for (int width = 1; width <= LANES; width *= 2)
        for (int by : {0, 1, 2, 3, 7, 8, 13, 16, 31, 32}) {
            int first = (int)run.lane / width * width;
            int in = (int)run.lane - first;
            int other = (int)run.lane ^ by;
            expect(run, __shfl_sync(~0u, own, by, width),
                   (unsigned)(first + by % width), "shfl");
            expect(run, __shfl_up_sync(~0u, own, (unsigned)by, width),
                   in < by ? run.lane : run.lane - (unsigned)by, "shfl_up");
            expect(run, __shfl_down_sync(~0u, own, (unsigned)by, width),
                   in + by < width ? run.lane + (unsigned)by : run.lane,
                   "shfl_down");
            expect(run, __shfl_xor_sync(~0u, own, by, width),
                   other < first + width ? (unsigned)other : run.lane,
                   "shfl_xor");
        }
}

void try_votes(lane_run &run, unsigned mask)
{
    unsigned yes = 0, same = 0, all = run.active & mask;
    int mine = (int)(run.lane * run.seed % 3), agreed = -1;
    for (unsigned i = 0; i < LANES; i++) {
        yes |= (unsigned)(i * run.seed % 3 == 0) << i;
        same |= (unsigned)((int)(i * run.seed % 3) == mine) << i;
    }
    expect_number(run, __activemask(), run.active, "activemask");
    expect_number(run, __ballot_sync(mask, mine == 0), yes & all, "ballot");
    expect_number(run, __any_sync(mask, mine == 0), (yes & all) != 0, "any");
    expect_number(run, __all_sync(mask, mine == 0), (yes & all) == all, "all");
    expect_number(run, __match_any_sync(mask, mine), same & all, "match_any");
    unsigned found = __match_all_sync(mask, (double)mine, &agreed);
    expect_number(run, agreed, (same & all) == all, "match_all");
    expect_number(run, found, (same & all) == all ? all : 0, "match_all");
    __syncwarp(mask);
}

void try_reductions(lane_run &run, unsigned mask)
{
    int sum = 0, least = INT32_MAX, mine = (int)(run.lane * 7919 % 101) - 50;
    unsigned most = 0, both = ~0u, any = 0, odd = 0;
    for (unsigned i = 0; i < LANES; i++) {
        int value = (int)(i * 7919 % 101) - 50;
        if (!(run.active & mask) || !(run.active >> i & mask >> i & 1u))
            continue;
        sum += value;
        least = value < least ? value : least;
        most = (unsigned)value > most ? (unsigned)value : most;
        both &= (unsigned)value, any |= (unsigned)value;
        odd ^= (unsigned)value;
    }
    unsigned bits = (unsigned)mine;
    expect_number(run, __reduce_add_sync(mask, mine), sum, "reduce_add");
    expect_number(run, __reduce_min_sync(mask, mine), least, "reduce_min");
    expect_number(run, __reduce_max_sync(mask, bits), most, "reduce_max");
    expect_number(run, __reduce_and_sync(mask, bits), both, "reduce_and");
    expect_number(run, __reduce_or_sync(mask, bits), any, "reduce_or");
    expect_number(run, __reduce_xor_sync(mask, bits), odd, "reduce_xor");
}

struct wide {
    unsigned char bytes[20];
};

void *run_lane(void *argument)
{
    lane_run &run = *static_cast<lane_run *>(argument);
    wave_lane = run.lane;
    run.lane %= LANES;
    try_shuffles<int>(run);
    try_shuffles<double>(run);
    try_shuffles<unsigned char>(run);
    try_shuffles<wide>(run);
    try_votes(run, ~0u);
    try_reductions(run, ~0u);
    // Every active lane is in the mask that it gives, as CUDA demands.
    unsigned mask = run.lane % 2 ? 0xaaaaaaaau : 0x55555555u;
    if (run.active == ~0u)
        try_votes(run, mask);
    return nullptr;
}

} // namespace

int wave_check(uint64_t active, unsigned seed)
{
    pthread_t threads[2 * LANES];
    lane_run runs[2 * LANES];
    int wrong = 0;
    for (unsigned i = 0; i < 2; i++) {
        halves[i].active = (unsigned)(active >> i * LANES);
        unsigned count = (unsigned)__builtin_popcount(halves[i].active);
        pthread_barrier_init(&halves[i].barrier, nullptr, count ? count : 1);
    }
    for (unsigned i = 0; i < 2 * LANES; i++) {
        runs[i] = {i, halves[i / LANES].active, seed, 0};
        if (active >> i & 1u)
            pthread_create(&threads[i], nullptr, run_lane, &runs[i]);
    }
    for (unsigned i = 0; i < 2 * LANES; i++)
        if (active >> i & 1u) {
            pthread_join(threads[i], nullptr);
            wrong += runs[i].wrong;
        }
    for (half_wave &half : halves)
        pthread_barrier_destroy(&half.barrier);
    return wrong;
}
