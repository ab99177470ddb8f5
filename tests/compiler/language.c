// Groups of threads, words as vectors, device memory, hints, and what is
// refused by name.
#include "build.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

static int in[MOST], out[MOST], want[MOST];
static struct built built;

static void begin(void)
{
    memset(out, 0, sizeof out);
    memset(want, 0, sizeof want);
    for (int i = 0; i < MOST; i++)
        in[i] = sample(i);
    if (!built.library)
        built_kernels(&built, "language.cu", "--option --tier=F");
}

static void run(const char *kernel, rnl_dim3 grid, rnl_dim3 block,
                size_t shared, int n, int count)
{
    built_run_ints(&built, kernel, grid, block, shared, out, in, n);
    for (int i = 0; i < count; i++)
        if (out[i] != want[i])
            fail_msg("%s: element %d is %d, not %d", kernel, i, out[i],
                     want[i]);
    memset(out, 0, sizeof out);
}

// --- Groups ----------------------------------------------------------------

RNL_TEST(ranks_in_groups)
{
    begin();
    for (int i = 0; i < 128; i++) {
        int t = i % 64, *w = want + 12 * i;
        int values[12] = {64, t, i / 64 * 100 + t / 16, 128, t % 8, t / 8, 8,
                          t % 4 + 10 * (t % 8 / 4) + 200, t + 8,
                          8 + 100 * (t % 8),
                          2 + 100 * (t % 2) + 1000 * (t / 2), 1};
        memcpy(w, values, sizeof values);
    }
    run("group_ranks", (rnl_dim3){2}, (rnl_dim3){16, 4}, 0, 0, 128 * 12);
    built_close(&built);
}

static void want_wide_tile(int t)
{
    int *w = want + 8 * t, tile = t & ~127, half = t & ~63;
    for (int i = tile; i < tile + 128; i++) {
        w[0] += in[i];
        w[1] += i >= half && i <= t ? in[i] : 0;
        w[2] += i < t ? in[i] : 0;
        w[6] = in[i] > w[6] ? in[i] : w[6];
    }
    w[3] = tile + 70;
    w[4] = (tile == 128) + 10 * (half == 0);
    w[5] = t % 64 + 100 * (t % 128 / 64) + 1000 * (t / 128) + 20000;
    w[7] = in[tile];
}

RNL_TEST(tiles_of_several_warps)
{
    begin();
    for (int t = 0; t < 512; t++)
        want_wide_tile(t);
    run("wide_tiles", (rnl_dim3){1}, (rnl_dim3){512}, 0, 0, 512 * 8);
    built_close(&built);
}

static void want_tile(int t)
{
    int *w = want + 12 * t, base = t & ~7, sum = 0, most = 0, odd = 0;
    int below = 0, any = 0, all = 1;
    for (int k = 0; k < 8; k++) {
        int v = in[base + k];
        sum += v, odd ^= v;
        most = v > most ? v : most;
        below += base + k < t ? v : 0;
        any |= v > 900;
        all &= v < 900;
        w[4] |= (v & 1) << k;
        w[6] |= ((v & 3) == (in[t] & 3)) << k;
    }
    w[0] = in[base + 3];
    w[1] = in[t % 8 >= 2 ? t - 2 : t];
    w[2] = in[t % 8 + 2 < 8 ? t + 2 : t];
    w[3] = in[t ^ 5];
    w[5] = any + 2 * all;
    w[7] = 255 + 1000;
    w[8] = 2 * in[base + 7] + 1 + base + 7;
    w[9] = in[base + 1] / 2;
    w[10] = sum * 2 + most;
    w[11] = (below + in[t]) * 2 + below + odd;
}

RNL_TEST(tiles_of_a_warp)
{
    begin();
    for (int t = 0; t < 64; t++)
        want_tile(t);
    run("group_tiles", (rnl_dim3){1}, (rnl_dim3){64}, 0, 0, 64 * 12);
    built_close(&built);
}

// What lane t of a warp whose lanes `in` divides gets.
static void want_coalesced(int t)
{
    int *w = want + 8 * t, size = 0, rank = 0, second = 0, sum = 0, last = -1;
    int alike = 0, before = 0, kinds[2] = {0}, side = 0, least = 1000;
    for (int l = 0; l < 32; l++) {
        int v = in[l];
        if (v % 3 == 0)
            continue;
        second = size == 1 ? v : second;
        w[4] |= (v & 1) << size;
        size++, sum += v;
        rank += l < t;
        last = l < t ? v : last;
        kinds[v & 1] = 1;
        alike += (v & 1) == (in[t] & 1);
        before += (v & 1) == (in[t] & 1) && l < t;
        if ((v > 500) == (in[t] > 500))
            side++, least = v < least ? v : least;
    }
    w[0] = size, w[1] = rank, w[2] = second, w[3] = sum;
    w[5] = rank ? last : in[t];
    w[6] = alike + 100 * before + 10000 * (kinds[0] + kinds[1]);
    w[7] = least + 1000 * side;
}

RNL_TEST(coalesced_groups)
{
    begin();
    for (int t = 0; t < 32; t++) {
        if (in[t] % 3 != 0)
            want_coalesced(t);
        else
            memset(want + 8 * t, -1, 8 * sizeof *want);
    }
    run("group_coalesced", (rnl_dim3){1}, (rnl_dim3){32}, 0, 0, 32 * 8);
    built_close(&built);
}

RNL_TEST(copies_by_groups)
{
    begin();
    for (int i = 0; i < 101; i++)
        want[i] = in[100 - i];
    run("group_copies", (rnl_dim3){1}, (rnl_dim3){48}, 404, 101, 101);
    built_close(&built);
}

// --- Words as vectors ------------------------------------------------------

static int clamp(int x, int low, int high)
{
    return x < low ? low : x > high ? high : x;
}

// One lane: s and u are its bits with and without a sign.
static int lane_model(int which, const int s[2], const int u[2], int bits)
{
    int high = (1 << (bits - 1)) - 1, ones = (1 << bits) - 1;
    int x = s[0], y = s[1], a = u[0], b = u[1];
    switch (which) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return clamp(x + y, -high - 1, high);
    case 3: return clamp(a + b, 0, ones);
    case 4: return clamp(x - y, -high - 1, high);
    case 5: return clamp(a - b, 0, ones);
    case 6: return (int)floor((x + y + (x + y >= 0)) / 2.0);
    case 7: return (a + b + 1) / 2;
    case 8: return (a + b) / 2;
    case 9: return x > y ? x : y;
    case 10: return a > b ? a : b;
    case 11: return x < y ? x : y;
    case 12: return a < b ? a : b;
    case 13: case 20: return abs(x - y);
    case 14: case 21: return abs(a - b);
    case 15: return a == b ? -1 : 0;
    case 16: return x > y ? -1 : 0;
    case 17: return a <= b ? -1 : 0;
    case 18: return a != b;
    case 19: return a < b;
    case 22: return abs(x);
    case 23: return clamp(abs(x), -high - 1, high);
    case 24: return -x;
    default: return clamp(-x, -high - 1, high);
    }
}

static void lane(uint32_t word, int place, int bits, int *s, int *u)
{
    *u = (int)(word >> place & ((1u << bits) - 1));
    *s = *u >> (bits - 1) ? *u - (1 << bits) : *u;
}

static uint32_t word_model(int which, uint32_t x, uint32_t y)
{
    int bits = which % 2 ? 8 : 16, s[2], u[2];
    uint32_t result = 0;
    for (int place = 0; place < 32; place += bits) {
        lane(x, place, bits, &s[0], &u[0]);
        lane(y, place, bits, &s[1], &u[1]);
        uint32_t one = (uint32_t)lane_model(which / 2, s, u, bits);
        if (which / 2 == 20 || which / 2 == 21)
            result += one;
        else
            result |= (one & ((1u << bits) - 1)) << place;
    }
    return result;
}

static uint32_t dot_model(int which, uint32_t x, uint32_t y)
{
    static const uint32_t start[] = {(uint32_t)-5, 7, 1, 1};
    int bits = which < 54 ? 8 : 16, s[2], u[2];
    uint32_t sum = start[which - 52];
    for (int k = 0; k < 32 / bits; k++) {
        lane(x, k * bits, bits, &s[0], &u[0]);
        lane(y, (k + (which == 55 ? 2 : 0)) * 8, 8, &s[1], &u[1]);
        sum += (uint32_t)(which % 2 ? u[0] * u[1] : s[0] * s[1]);
    }
    return sum;
}

RNL_TEST(words_as_vectors)
{
    uint32_t x[128], y[128], got[128], *from[] = {x, y}, *to = got;
    begin();
    for (uint32_t i = 0; i < 128; i++) {
        x[i] = i * 2654435761u ^ i << 7;
        y[i] = i % 4 == 0 ? x[i] : i % 4 == 1 ? x[i] ^ 0x00ff0100
                                              : i * 2246822519u + 77;
    }
    x[5] = 0x80008080, y[5] = 0x7fff7f7f;
    for (int which = 0; which < 56; which++) {
        const void *arguments[] = {&to, from, from + 1, &which};
        assert_int_equal(built_run(&built, "word_vectors", (rnl_dim3){1},
                                   (rnl_dim3){128}, 0, arguments), RNL_OK);
        for (int i = 0; i < 128; i++) {
            uint32_t expected = which < 52 ? word_model(which, x[i], y[i])
                                           : dot_model(which, x[i], y[i]);
            if (got[i] != expected)
                fail_msg("case %d of %08x, %08x is %08x, not %08x", which,
                         x[i], y[i], got[i], expected);
        }
    }
    built_close(&built);
}

// --- Memory ----------------------------------------------------------------

RNL_TEST(device_memory)
{
    begin();
    run("memory_many", (rnl_dim3){3}, (rnl_dim3){64}, 0, 0, 192);
    built_close(&built);
    begin();
    for (int i = 0; i < 7; i++)
        want[i] = 1;
    run("memory_limit", (rnl_dim3){1}, (rnl_dim3){1}, 0, 0, 7);
    built_close(&built);
}

RNL_TEST(hints_and_small_things)
{
    begin();
    for (int t = 0; t < 64; t++) {
        int sum = 0, *w = want + 16 * t;
        for (int i = 0; i < 6; i++)
            sum += 10 * in[t + i];
        int values[16] = {sum, in[t] > 500 ? 1 : 2, 3 * in[t], in[t], 42,
                          3 + 5 + 7, INT32_MAX - 4, 1, 6282,
                          abs(in[t] + 3) + 4 + 0 + 4, 1, 0x3ff00000 + 6, 3,
                          0, 7, 0};
        memcpy(w, values, sizeof values);
    }
    run("hints", (rnl_dim3){1}, (rnl_dim3){64}, 0, 5, 64 * 16);
    built_close(&built);
}

// The host's side of a program is left out, whatever it is made of.
RNL_TEST(whole_programs)
{
    int squares[8] = {0, 1, 4, 9, 16, 25, 36, 49}, sums[8] = {0};
    built_kernels(&built, "program.cu", "");
    assert_int_equal(built.table->kernel_count, 3);
    assert_int_equal(built.table->global_count, 0);
    assert_int_equal(built_kernel(&built, "bounded<48>")->max_block_threads,
                     96);
    assert_int_equal(built_kernel(&built, "stale")->parameter_count, 2);
    built_run_ints(&built, "k", (rnl_dim3){1}, (rnl_dim3){8}, 0, sums,
                   squares, 5);
    for (int i = 0; i < 8; i++)
        assert_int_equal(sums[i], i + 5 + 2 + i + 0 + 8 + 6);
    built_close(&built);
}

// Types are told as a program may check them.
RNL_TEST(types_of_parameters)
{
    static const char *const types[] = {
        "const float *__restrict", "double &", "n::pair", "unsigned long long"};
    built_write(&built, "k.cu",
                "namespace n { struct pair { int a, b; }; }\n"
                "using namespace n;\n"
                "typedef unsigned long long u64;\n"
                "__global__ void k(const float *__restrict__ in, double &sum,\n"
                "                  n::pair p, unsigned long long count) {}\n");
    built_make(&built, "--source @/k.cu");
    assert_string_equal(built.log, "");
    for (int i = 0; i < 4; i++)
        assert_string_equal(built_kernel(&built, "k")->parameters[i].type,
                            types[i]);
    built_close(&built);
}
