// A corpus of kernels, each against a model in C.
#include "build.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 4096 };

static int in[MOST], out[MOST], want[MOST];
static struct built built;

static void begin(const char *file)
{
    memset(out, 0, sizeof out);
    memset(want, 0, sizeof want);
    for (int i = 0; i < MOST; i++)
        in[i] = sample(i);
    if (!built.library)
        built_kernels(&built, file, "");
}

// Runs a kernel of (int *, const int *, int) and compares `count` results with
// `want`.
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

RNL_TEST(indices_of_one_dimension)
{
    begin("index.cu");
    for (int i = 0; i < 1000; i++)
        want[i] = in[i] + i;
    run("index_1d", (rnl_dim3){8}, (rnl_dim3){128}, 0, 1000, 1024);
    run("index_1d", (rnl_dim3){1000}, (rnl_dim3){1}, 0, 1000, 1024);
    run("index_1d", (rnl_dim3){1}, (rnl_dim3){1024}, 0, 1000, 1024);
    run("index_1d", (rnl_dim3){31}, (rnl_dim3){33}, 0, 1000, 1024);
    built_close(&built);
}

RNL_TEST(indices_of_two_dimensions)
{
    begin("index.cu");
    for (int i = 0; i < 15 * 14; i++)
        want[i] = i / 15 * 1000 + i % 15;
    run("index_2d", (rnl_dim3){3, 2}, (rnl_dim3){5, 7}, 0, 15, 300);
    built_close(&built);
}

// Blocks at the far end in y have threads that do nothing.
static void run_columns(rnl_dim3 g, rnl_dim3 b)
{
    int across = (int)(g.x * b.x), up = (int)(g.y * b.y);
    int count = across * up * (int)(g.z * b.z), height = up - up / 3;
    for (int shared = 0; shared < 2; shared++) {
        for (int i = 0; i < count; i++) {
            int y = i % up, first = i - y % (int)b.y;
            int from = shared ? first + (int)b.y - 1 - y % (int)b.y : i;
            want[i] = y < height ? in[from] + i / up % across * 1000 + y +
                                       i / up / across * 100000
                                 : 0;
        }
        run(shared ? "index_columns_shared" : "index_columns", g, b, 0, height,
            count);
    }
}

RNL_TEST(indices_of_what_is_contiguous_along_y)
{
    begin("index.cu");
    run_columns((rnl_dim3){3, 2, 1}, (rnl_dim3){16, 16, 1});
    run_columns((rnl_dim3){2, 5, 2}, (rnl_dim3){8, 8, 1});
    run_columns((rnl_dim3){2, 3, 1}, (rnl_dim3){4, 40, 2});
    run_columns((rnl_dim3){5, 3, 2}, (rnl_dim3){5, 7, 3});
    run_columns((rnl_dim3){2, 7, 1}, (rnl_dim3){256, 1, 1});
    run_columns((rnl_dim3){7, 2, 1}, (rnl_dim3){1, 256, 1});
    run_columns((rnl_dim3){3, 1, 4}, (rnl_dim3){32, 2, 1});
    run_columns((rnl_dim3){2, 1, 3}, (rnl_dim3){3, 100, 1});
    built_close(&built);
}

RNL_TEST(indices_along_y_in_code_for_one_block_size)
{
    built_kernels(&built, "index.cu", "--option --block-size=16x16");
    begin("index.cu");
    run_columns((rnl_dim3){3, 2, 1}, (rnl_dim3){16, 16, 1});
    run_columns((rnl_dim3){3, 2, 1}, (rnl_dim3){16, 12, 1});
    built_close(&built);
    built_kernels(&built, "index.cu", "--option --block-size=5x7x3");
    begin("index.cu");
    run_columns((rnl_dim3){5, 3, 2}, (rnl_dim3){5, 7, 3});
    built_close(&built);
}

// A row of threads is run in all blocks of a group before the next row begins.
RNL_TEST(rows_of_threads_go_on_in_the_next_block)
{
    enum { WIDTH = 64 };
    if (!built_may_be_tier_b())
        skip();
    begin("index.cu");
    built_run_ints(&built, "index_order", (rnl_dim3){4, 2},
                   (rnl_dim3){16, 16}, 0, out, in, WIDTH);
    for (int i = 0; i < WIDTH * 32; i++)
        assert_int_equal(out[1 + i], i);
    built_close(&built);
}

static void run_planes(rnl_dim3 g, rnl_dim3 b)
{
    enum { PLANES = 3 };
    int width = (int)(g.x * b.x), height = (int)(g.y * b.y);
    for (int i = 0; i < width * height * PLANES; i++) {
        int x = i % width, y = i / width % height;
        int back_x = (int)b.x - 1 - 2 * (x % (int)b.x);
        int back_y = (int)b.y - 1 - 2 * (y % (int)b.y);
        int before = i - width * height;
        want[i] = in[i + back_x + back_y * width] * 2 +
                  (before < 0 ? 0 : in[before] - x);
    }
    run("index_planes", g, b, 0, PLANES, width * height * PLANES);
}

RNL_TEST(blocks_of_short_rows_go_from_barrier_to_barrier_together)
{
    begin("index.cu");
    run_planes((rnl_dim3){5, 1}, (rnl_dim3){16, 16});
    run_planes((rnl_dim3){3, 4}, (rnl_dim3){8, 8});
    run_planes((rnl_dim3){2, 7}, (rnl_dim3){16, 4});
    run_planes((rnl_dim3){4, 3}, (rnl_dim3){7, 9});
    built_close(&built);
    built_kernels(&built, "index.cu", "--option --block-size=16x16");
    run_planes((rnl_dim3){5, 1}, (rnl_dim3){16, 16});
    built_close(&built);
}

static void want_3d(rnl_dim3 g, rnl_dim3 b, bool barrier)
{
    int i = 0;
    for (uint32_t block = 0; block < g.x * g.y * g.z; block++)
        for (uint32_t t = 0; t < b.x * b.y * b.z; t++) {
            uint32_t thread = t % b.x + 10 * (t / b.x % b.y) +
                              100 * (t / b.x / b.y);
            uint32_t place = block % g.x * 1000 + block / g.x % g.y * 10000 +
                             block / g.x / g.y * 100000;
            want[i++] = (int)(barrier ? thread + b.x * b.y * b.z * 1000000
                                      : thread + place);
        }
}

RNL_TEST(indices_of_three_dimensions)
{
    rnl_dim3 grid = {2, 3, 2}, block = {7, 5, 3};
    begin("index.cu");
    want_3d(grid, block, false);
    run("index_3d", grid, block, 0, 0, 12 * 105);
    want_3d(grid, block, true);
    run("index_3d_barrier", grid, block, 0, 0, 12 * 105);
    want_3d((rnl_dim3){1, 1, 1}, (rnl_dim3){1, 1, 9}, true);
    run("index_3d_barrier", (rnl_dim3){1}, (rnl_dim3){1, 1, 9}, 0, 0, 9);
    built_close(&built);
}

RNL_TEST(dimensions_of_the_launch)
{
    static const int dims[] = {5, 6, 7, 2, 3, 4, 32, 1};
    begin("index.cu");
    memcpy(want, dims, sizeof dims);
    run("index_dims", (rnl_dim3){5, 6, 7}, (rnl_dim3){2, 3, 4}, 0, 0, 8);
    built_close(&built);
}

// --- Barriers --------------------------------------------------------------

RNL_TEST(barriers_order_shared_memory)
{
    begin("barrier.cu");
    for (int i = 0; i < 1024; i++)
        want[i] = in[i / 256 * 256 + 255 - i % 256];
    run("barrier_reverse", (rnl_dim3){4}, (rnl_dim3){256}, 0, 0, 1024);
    built_close(&built);
}

RNL_TEST(barriers_in_loops)
{
    begin("barrier.cu");
    for (int i = 0, sum = 0; i < 1024; i++)
        want[i] = sum += in[i];
    run("barrier_scan", (rnl_dim3){1}, (rnl_dim3){1024}, 0, 0, 1024);
    run("barrier_scan", (rnl_dim3){1}, (rnl_dim3){77}, 0, 0, 77);
    run("barrier_scan", (rnl_dim3){1}, (rnl_dim3){1}, 0, 0, 1);
    for (int t = 0; t < 50; t++)
        want[t] = 700 + t;
    run("barrier_do_while", (rnl_dim3){1}, (rnl_dim3){50}, 0, 7, 50);
    built_close(&built);
}

RNL_TEST(threads_that_ended_are_not_waited_for)
{
    begin("barrier.cu");
    for (int i = 0; i < 50; i++)
        want[i] = in[49 - i];
    run("barrier_early_return", (rnl_dim3){1}, (rnl_dim3){128}, 0, 50, 128);
    memset(want, 0, sizeof want);
    run("barrier_early_return", (rnl_dim3){1}, (rnl_dim3){128}, 0, 0, 128);
    built_close(&built);
}

RNL_TEST(barriers_that_vote)
{
    begin("barrier.cu");
    int odd = 0;
    for (int i = 0; i < 100; i++)
        odd += in[i] & 1;
    for (int i = 0; i < 100; i++)
        want[i] = odd * 16 + 8 + 2;
    run("barrier_predicates", (rnl_dim3){2}, (rnl_dim3){100}, 0, 100, 100);
    built_close(&built);
}

RNL_TEST(barriers_in_functions)
{
    begin("barrier.cu");
    memcpy(want, in, 64 * sizeof *in);
    for (int d = 1; d < 64; d *= 2) {
        int old[64];
        memcpy(old, want, sizeof old);
        for (int t = 0; t < 64; t++)
            want[t] += 3 * old[t ^ d];
    }
    run("barrier_in_function", (rnl_dim3){1}, (rnl_dim3){64}, 0, 0, 64);
    built_close(&built);
}

RNL_TEST(private_arrays_live_across_barriers)
{
    begin("barrier.cu");
    for (int t = 0; t < 96; t++) {
        int mine[8];
        for (int k = 0; k < 8; k++)
            mine[k * 5 & 7] = in[(t + k) % 96] * k;
        for (int k = 0; k < 8; k++)
            want[t] = want[t] * 3 + mine[k];
    }
    run("barrier_local_array", (rnl_dim3){1}, (rnl_dim3){96}, 0, 0, 96);
    built_close(&built);
}

// --- Shared memory ---------------------------------------------------------

RNL_TEST(dynamic_shared_memory)
{
    begin("shared.cu");
    for (int t = 0; t < 200; t++)
        want[t] = in[199 - t] + 2 * in[(t + 1) % 200];
    run("shared_dynamic", (rnl_dim3){3}, (rnl_dim3){200}, 1600, 200, 200);
    for (int t = 0; t < 64; t++)
        want[t] = in[(t + 1) % 64] * 10 + 6 + 100000;
    run("shared_both", (rnl_dim3){3}, (rnl_dim3){64}, 256, 64, 64);
    built_close(&built);
}

RNL_TEST(more_than_48_kb_of_shared_memory)
{
    static int large[50000], *to = large;
    int n = 50000;
    const int *from = in;
    begin("shared.cu");
    const void *arguments[] = {&to, &from, &n};
    assert_int_equal(built_run(&built, "shared_large", (rnl_dim3){2},
                               (rnl_dim3){128}, 200000, arguments), RNL_OK);
    for (int i = 0; i < n; i++)
        assert_int_equal(large[i], (n - 1 - i) * 3);
    assert_true(built.table->dynamic_limit >= 200000);
    built_close(&built);
}

RNL_TEST(the_last_of_many_threads_stores_at_their_place)
{
    static const int sizes[] = {16, 32, 100, 1};
    begin("shared.cu");
    for (int n = 0; n < 4; n++)
        for (int s = 0; s < 4; s++) {
            int place = -1;
            for (int t = 0; t < sizes[s]; t++)
                place = in[t] % 3 == n ? in[t] + 2 * t : place;
            for (int t = 0; t < sizes[s]; t++)
                want[t] = place;
            run("shared_one_place", (rnl_dim3){1},
                (rnl_dim3){(uint32_t)sizes[s]}, 0, n, sizes[s]);
        }
    built_close(&built);
}

RNL_TEST(warps_go_in_step_in_blocks_of_any_shape)
{
    static const rnl_dim3 shapes[] = {
        {32, 1, 1}, {1, 32, 1}, {8, 4, 1}, {16, 2, 1},
        {1, 8, 4}, {2, 4, 4},  {1, 1, 32}, {4, 8, 1}};
    if (!built_may_be_tier_b())
        skip();
    for (int fixed = 0; fixed < 2; fixed++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            char option[64] = "";
            if (fixed)
                snprintf(option, sizeof option,
                         "--option --block-size=%ux%ux%u", shapes[i].x,
                         shapes[i].y, shapes[i].z);
            built_kernels(&built, "shared.cu", option);
            begin("shared.cu");
            int sum = 0;
            for (int t = 0; t < 32; t++)
                sum += in[t];
            for (int t = 0; t < 32; t++)
                want[t] = sum;
            run("shared_talk", (rnl_dim3){1}, shapes[i], 0, 0, 32);
            built_close(&built);
        }
}

static void run_diagonals(int n)
{
    unsigned table[17][17] = {{0}};  // sums may wrap around
    for (int t = 0; t < 16; t++) {
        table[0][t + 1] = (unsigned)t;
        table[t + 1][0] = -(unsigned)t;
    }
    for (int row = 0; row < 16; row++)
        for (int column = 0; column < 16; column++)
            table[row + 1][column + 1] = table[row][column + 1] +
                                         table[row + 1][column] +
                                         (unsigned char)in[row + n];
    memcpy(want, table[16] + 1, 16 * sizeof *want);
    run("shared_diagonals", (rnl_dim3){1}, (rnl_dim3){16}, 0, n, 16);
}

static void run_scan(int n)
{
    int sum = 0;
    for (int t = 0; t < 64; t++)
        want[t] = sum += t < n ? in[t] : 0;
    run("shared_scan", (rnl_dim3){1}, (rnl_dim3){64}, 0, n, 64);
}

// Code for one block size keeps such tables in registers.
RNL_TEST(tables_that_are_filled_from_barrier_to_barrier)
{
    for (int fixed = 0; fixed < 2; fixed++) {
        built_kernels(&built, "shared.cu",
                      fixed ? "--option --block-size=16" : "");
        begin("shared.cu");
        for (int n = 0; n < 3; n++)
            run_diagonals(n);
        built_close(&built);
        built_kernels(&built, "shared.cu",
                      fixed ? "--option --block-size=64" : "");
        begin("shared.cu");
        for (int n = 10; n <= 64; n += 27)
            run_scan(n);
        built_close(&built);
    }
}

RNL_TEST(static_shared_memory)
{
    begin("shared.cu");
    for (int t = 0; t < 32; t++)
        want[t] = in[31 - t] * 5 + 1;
    run("shared_struct", (rnl_dim3){1}, (rnl_dim3){32}, 0, 0, 32);
    for (int t = 0; t < 64; t++)
        want[t] = in[(t + 1) % 64] + in[(t + 1) % 64] / 2 + (t + 1) % 64;
    run("shared_template", (rnl_dim3){2}, (rnl_dim3){64}, 0, 0, 64);
    for (int t = 0; t < 48; t++)
        want[t] = in[47 - t] + (47 - t) + 1 + (47 - t);
    run("shared_aligned", (rnl_dim3){1}, (rnl_dim3){48}, 48 * 16, 48, 48);
    for (int i = 0; i < 80; i++)
        want[i] = i / 10;
    run("shared_private", (rnl_dim3){8}, (rnl_dim3){10}, 0, 0, 80);
    for (int t = 0; t < 32; t++)
        want[t] = in[(t + 1) % 32] + 3;
    run("shared_rows", (rnl_dim3){2}, (rnl_dim3){32}, 0, 0, 32);
    assert_int_equal(built_kernel(&built, "shared_both")->shared_size, 768);
    assert_int_equal(built_kernel(&built, "shared_private")->shared_size, 4);
    assert_int_equal(built_kernel(&built, "shared_template")->shared_size, 768);
    built_close(&built);
}

// --- Warps -----------------------------------------------------------------

RNL_TEST(shuffles)
{
    begin("warp.cu");
    for (int t = 0; t < 32; t++) {
        int *w = want + t * 8, base8 = t & ~7, base4 = t & ~3;
        w[0] = in[5];
        w[1] = in[(t + 3) % 32];
        w[2] = in[t >= 2 ? t - 2 : t];
        w[3] = in[t + 3 < 32 ? t + 3 : t];
        w[4] = in[t ^ 1];
        w[5] = in[base8 + 1];
        w[6] = in[t - 1 >= base4 ? t - 1 : t];
        w[7] = in[(t ^ 9) < base8 + 8 ? t ^ 9 : t];
    }
    run("warp_shuffles", (rnl_dim3){1}, (rnl_dim3){32}, 0, 0, 256);
    for (int t = 0; t < 32; t++)
        want[t] = 5 * in[t ^ 1];
    run("warp_types", (rnl_dim3){1}, (rnl_dim3){32}, 0, 0, 32);
    built_close(&built);
}

RNL_TEST(shuffles_with_partial_masks)
{
    begin("warp.cu");
    for (int t = 0; t < 32; t++)
        want[t] = t % 2 == 0 ? in[t ^ 2] : in[31] + in[t + 2 < 32 ? t + 2 : t];
    run("warp_partial", (rnl_dim3){1}, (rnl_dim3){32}, 0, 0, 32);
    built_close(&built);
}

RNL_TEST(sums_by_shuffle)
{
    begin("warp.cu");
    for (int i = 0; i < 2048; i++)
        want[i / 32] += in[i];
    run("warp_sum", (rnl_dim3){8}, (rnl_dim3){256}, 0, 0, 64);
    built_close(&built);
}

RNL_TEST(votes)
{
    begin("warp.cu");
    uint32_t ballot = 0;
    for (int t = 0; t < 32; t++)
        ballot |= (uint32_t)(in[t] > 400) << t;
    for (int t = 0; t < 32; t++) {
        want[2 * t] = (int)ballot;
        want[2 * t + 1] = 3;
    }
    run("warp_votes", (rnl_dim3){1}, (rnl_dim3){32}, 0, 400, 64);
    built_close(&built);
}

RNL_TEST(lanes_that_ended_are_not_waited_for)
{
    begin("warp.cu");
    for (int t = 0; t < 48; t++)
        if (t % 32 < 16)
            want[t] = 0xffff + t / 32 * 32;
    run("warp_ended", (rnl_dim3){1}, (rnl_dim3){48}, 0, 0, 48);
    for (int t = 32; t < 40; t++)
        want[t] = 0xff + 32;
    run("warp_ended", (rnl_dim3){1}, (rnl_dim3){40}, 0, 0, 40);
    built_close(&built);
}

RNL_TEST(matches)
{
    begin("warp.cu");
    for (int t = 0; t < 32; t++) {
        uint32_t same = 0;
        for (int l = 0; l < 32; l++)
            same |= (uint32_t)(l % 3 == t % 3) << l;
        want[t] = (int)(same + 1 + 1);
    }
    run("warp_match", (rnl_dim3){1}, (rnl_dim3){32}, 0, 0, 32);
    built_close(&built);
}

RNL_TEST(warp_reductions)
{
    begin("warp.cu");
    int sum = 0, low = 10000, high = -1, all = -1, some = 0, odd = 0;
    for (int t = 0; t < 32; t++) {
        sum += in[t] - 100;
        low = in[t] < low ? in[t] : low;
        high = in[t] > high ? in[t] : high;
        all &= in[t] | 64;
        some |= in[t];
        odd ^= in[t];
    }
    for (int t = 0; t < 32; t++) {
        int *w = want + 8 * t;
        w[0] = sum, w[1] = low - 100, w[2] = high - 100, w[3] = all;
        w[4] = some, w[5] = odd, w[6] = high, w[7] = low;
    }
    run("warp_reduce", (rnl_dim3){1}, (rnl_dim3){32}, 0, 0, 256);
    built_close(&built);
}

RNL_TEST(active_lanes)
{
    begin("warp.cu");
    uint32_t mask = 0;
    int leader = -1, odd = 0;
    for (int t = 31; t >= 0; t--)
        if (in[t] % 3 == 0)
            mask |= UINT32_C(1) << t, leader = t;
    for (int t = 0; t < 32; t++)
        want[t] = in[t] % 3 == 0 ? (int)mask + leader : -1;
    run("warp_active", (rnl_dim3){1}, (rnl_dim3){32}, 0, 0, 32);
    memset(want, 0, sizeof want);
    for (int t = 0; t < 128; t++)
        odd += in[t] & 1;
    want[0] = odd;
    for (int i = 0; i < odd; i++)
        want[1 + i] = 1;
    run("warp_aggregated", (rnl_dim3){1}, (rnl_dim3){128}, 0, 0, 200);
    built_close(&built);
}

RNL_TEST(warps_and_barriers_in_turn)
{
    begin("warp.cu");
    int sum = 0;
    for (int t = 0; t < 512; t++)
        sum += in[t];
    for (int t = 0; t < 512; t++)
        want[t] = sum + t;
    run("warp_block_sum", (rnl_dim3){2}, (rnl_dim3){512}, 0, 0, 512);
    built_close(&built);
}

RNL_TEST(warps_agree_on_either_side_of_a_barrier)
{
    begin("warp.cu");
    for (int t = 0; t < 128; t++) {
        uint32_t votes = 0;
        for (int lane = 0; lane < 32; lane++)
            votes |= (uint32_t)(in[t / 32 * 32 + lane] & 1) << lane;
        want[t] = (int)votes ^ (in[t / 32 * 32] + (t < 32 ? 1000 : 0));
    }
    run("warp_then_block", (rnl_dim3){1}, (rnl_dim3){128}, 0, 0, 128);
    built_close(&built);
}
