// Kernels whose blocks run in clusters, in each tier.
#include "build.h"

#include <string.h>

enum { MOST = 8192 };

static int in[MOST], out[MOST], want[MOST];
static struct built built;

static void begin(const char *options)
{
#if !defined(__x86_64__)
    test_skip("blocks take turns on x86-64 only");
#endif
    for (int i = 0; i < MOST; i++)
        in[i] = sample(i);
    built_kernels(&built, "cluster.cu", options);
    memset(out, 0, sizeof out);
}

static void run(const char *kernel, uint32_t cluster, uint32_t clusters,
                uint32_t threads, int n)
{
    built.cluster = (rnl_dim3){cluster, 1, 1};
    memset(out, 0, sizeof out);
    built_run_ints(&built, kernel, (rnl_dim3){cluster * clusters},
                   (rnl_dim3){threads}, 64, out, in, n);
}

static void expect(const char *kernel, uint32_t cluster, uint32_t clusters,
                   uint32_t threads, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (out[i] != want[i])
            fail_msg("%s, %u x %u blocks of %u: %u is %d, not %d", kernel,
                     clusters, cluster, threads, i, out[i], want[i]);
}

static void run_thin(const char *options)
{
    enum { ACROSS = 4, UP = 4, THREADS = 64 };
    begin(options);
    for (int i = 0; i < ACROSS * UP * THREADS; i++)
        want[i] = (i / THREADS ^ 1) * 100 + i % THREADS;
    built.cluster = (rnl_dim3){2, 1, 1};
    built_run_ints(&built, "cluster_thin", (rnl_dim3){ACROSS, UP},
                   (rnl_dim3){1, THREADS}, 0, out, in, 0);
    for (int i = 0; i < ACROSS * UP * THREADS; i++)
        assert_int_equal(out[i], want[i]);
    built_close(&built);
}

RNL_TEST(thin_blocks_stay_in_their_clusters)
{
    run_thin("");
    run_thin("--option --block-size=1x64");
}

// --- Against plain C -------------------------------------------------------

static void check_sum(uint32_t cluster, uint32_t clusters, uint32_t threads,
                      int n)
{
    uint32_t all = cluster * clusters * threads;
    for (uint32_t c = 0; c < clusters; c++) {
        int sum = 0;
        for (int i = 0; i < n; i++)
            if ((uint32_t)i % all / threads / cluster == c)
                sum += in[i];
        for (uint32_t i = 0; i < cluster * threads; i++)
            want[c * cluster * threads + i] = sum;
    }
    run("cluster_sum", cluster, clusters, threads, n);
    expect("cluster_sum", cluster, clusters, threads, all);
}

static void check_keeps(uint32_t cluster, uint32_t clusters, uint32_t threads,
                        int rounds)
{
    static int kept[MOST][24], cell[MOST];
    uint32_t all = cluster * clusters * threads;
    for (uint32_t i = 0; i < all; i++)
        for (int k = 0; k < 24; k++)
            kept[i][k] = in[i] * (k + 1);
    for (int round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < all; i++)
            cell[i] = kept[i][(i % threads + (uint32_t)round) % 24];
        for (uint32_t i = 0; i < all; i++) {
            uint32_t t = i % threads, block = i / threads;
            uint32_t first = block / cluster * cluster;
            uint32_t next = first + (block - first + 1) % cluster;
            kept[i][round % 24] += cell[next * threads + threads - 1 - t];
        }
    }
    for (uint32_t i = 0; i < all; i++) {
        uint32_t sum = 0;
        for (uint32_t k = 0; k < 24; k++)
            sum = sum * 3 + (uint32_t)kept[i][(k + i % threads) % 24];
        want[i] = (int)sum;
    }
    run("cluster_keeps", cluster, clusters, threads, rounds);
    expect("cluster_keeps", cluster, clusters, threads, all);
}

static uint32_t shape(uint32_t i, uint32_t most)
{
    return 1 + (uint32_t)sample((int)i) % most;
}

static void check_all(const char *options)
{
    begin(options);
    check_sum(8, 1, 1024, MOST);
    check_keeps(8, 1, 1024, 5);
    check_keeps(2, 2, 256, 30);
    for (uint32_t i = 0; i < 12; i++) {
        uint32_t threads = shape(4 * i, 200);
        check_sum(shape(4 * i + 1, 8), shape(4 * i + 2, 5), threads,
                  (int)shape(4 * i + 3, 7000));
        check_keeps(shape(4 * i + 1, 8), shape(4 * i + 2, 5), threads,
                    (int)shape(4 * i + 3, 20));
    }
    built_close(&built);
}

RNL_TEST(blocks_read_and_write_what_others_share)
{
    check_all("");
    check_all("--option -G");
    check_all("--option --block-size=256");
    if (built_may_be_tier_b())
        check_all("--option --tier=B-or-F");
}

RNL_TEST(clusters_are_made_into_vectors)
{
    if (!built_may_be_tier_b())
        test_skip("there is no tier B");
    begin("--option --tier=B-or-F");
    static const char *const names[] = {"cluster_sum", "cluster_keeps",
                                        "cluster_leave", "cluster_names"};
    for (int i = 0; i < 4; i++)
        if (!built_kernel(&built, names[i])->run_blocks)
            fail_msg("%s is of tier F", names[i]);
    built_close(&built);
}

// --- Ends, and what waits for ever -----------------------------------------

RNL_TEST(a_cluster_does_not_wait_for_who_has_ended)
{
    begin("");
    for (uint32_t cluster = 1; cluster <= 8; cluster++)
        for (int n = 0; n <= 64; n += 16) {
            run("cluster_leave", cluster, 3, 64, n);
            for (int c = 0; c < 3; c++)
                assert_int_equal(
                    out[c], (64 - n) * (int)(cluster > 1 ? cluster - 1 : 1));
        }
    built_close(&built);
}

RNL_TEST(blocks_of_a_cluster_spin_for_each_other)
{
    begin("");
    run("cluster_spin", 8, 3, 40, 0);
    for (int i = 0; i < 24; i++)
        assert_int_equal(out[i], i % 8 + 1);
    built_close(&built);
}

RNL_TEST(everything_that_a_cluster_has_a_name_for)
{
    begin("");
    for (uint32_t cluster = 1; cluster <= 8; cluster++) {
        run("cluster_names", cluster, 2, 33, 0);
        for (uint32_t i = 0; i <= 2 * cluster; i++)
            assert_int_equal(out[i], i < 2 * cluster ? 1 : 2);
    }
    built_close(&built);
}

static void fails(const char *kernel, uint32_t cluster, uint32_t clusters,
                  uint32_t threads, int n, const char *failure)
{
    int *to = out;
    const int *from = in;
    const void *arguments[] = {&to, &from, &n};
    built.cluster = (rnl_dim3){cluster, 1, 1};
    memset(out, 0, sizeof out);
    assert_int_equal(built_run(&built, kernel, (rnl_dim3){cluster * clusters},
                               (rnl_dim3){threads}, 0, arguments),
                     RNL_ERROR_LAUNCH_FAILED);
    assert_string_equal(built.failure, failure);
}

RNL_TEST(a_trap_ends_a_cluster)
{
    begin("");
    size_t held = 0;
    for (int time = 0; time < 3; time++) {
        fails("cluster_trap", 4, 3, 40, 6 * 40 + 7,
              "block (6, 0, 0), thread (7, 0, 0): __trap() was called");
        check_keeps(4, 2, 40, 3);
        assert_true(time == 0 || held == block_thread_held());
        held = block_thread_held();
    }
    built_close(&built);
}

RNL_TEST(a_cluster_barrier_that_some_threads_miss_fails)
{
    begin("--option --tier=F");
    fails("cluster_divergent", 2, 1, 40, 35,
          "block (0, 0, 0), thread (35, 0, 0): waits for ever at the barrier "
          "in line 102, while thread (0, 0, 0) waits at the barrier in line "
          "100: two different barriers");
    check_sum(4, 2, 40, 1000);
    built_close(&built);
}

RNL_TEST(a_cluster_does_not_wait_for_blocks_at_the_barrier_of_the_grid)
{
    begin("");
    built.cooperative = true;
    fails("cluster_or_grid", 2, 2, 40, 3,
          "block (2, 0, 0), thread (0, 0, 0): waits for ever at "
          "cluster_group::sync(), while other blocks of its cluster wait at "
          "grid_group::sync()");
    fails("cluster_or_grid", 2, 2, 40, 0,
          "block (1, 0, 0), thread (0, 0, 0): waits for ever at "
          "cluster_group::sync(), while other blocks of its cluster wait at "
          "grid_group::sync()");
    built.cooperative = false;
    fails("cluster_or_grid", 2, 2, 40, 0,
          "block (0, 0, 0), thread (0, 0, 0): grid_group::sync() in a launch "
          "that is not cooperative: it needs the attribute "
          "RNL_LAUNCH_COOPERATIVE");
    check_sum(4, 2, 40, 1000);
    built_close(&built);
}
