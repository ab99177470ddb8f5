// Clusters: blocks that run together and reach each other's shared memory.
#include "suite.h"

#include <stdio.h>

#define INCLUDE                             \
    "#include <cooperative_groups.h>\n"     \
    "namespace cg = cooperative_groups;\n"

static const char source[] = INCLUDE
    // What each thread has goes `n` blocks on, in both kinds of shared
    // memory.
    "extern \"C\" __global__ void ring(int *out, const int *in, int n) {\n"
    "    __shared__ int cell[128];\n"
    "    extern __shared__ int more[];\n"
    "    cg::cluster_group cluster = cg::this_cluster();\n"
    "    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n"
    "    int next = (cluster.block_rank() + 1) % cluster.num_blocks();\n"
    "    int *theirs = cluster.map_shared_rank(cell, next);\n"
    "    int *other = cluster.map_shared_rank(more + 1, next);\n"
    "    int a = in[i], b = -a;\n"
    "    for (int k = 0; k < n; k++) {\n"
    "        cluster.sync();\n"
    "        theirs[t] = a;\n"
    "        other[t] = b;\n"
    "        cluster.sync();\n"
    "        a = cell[t];\n"
    "        b = more[t + 1];\n"
    "    }\n"
    "    cluster.sync();\n"
    "    out[i] = a == -b ? a : -1;\n"
    "}\n"
    // Bins are spread over the blocks of a cluster.
    "extern \"C\" __global__ void histogram(int *bins, const int *in,\n"
    "                                       int count, int per_block) {\n"
    "    extern __shared__ int own[];\n"
    "    cg::cluster_group cluster = cg::this_cluster();\n"
    "    int t = threadIdx.x, first = blockIdx.x * blockDim.x + t;\n"
    "    for (int i = t; i < per_block; i += blockDim.x) own[i] = 0;\n"
    "    cluster.sync();\n"
    "    int all = gridDim.x * blockDim.x;\n"
    "    for (int i = first; i < count; i += all) {\n"
    "        int *to = cluster.map_shared_rank(own, in[i] / per_block);\n"
    "        atomicAdd(to + in[i] % per_block, 1);\n"
    "    }\n"
    "    cluster.sync();\n"
    "    int *to = bins + cluster.block_rank() * per_block;\n"
    "    for (int i = threadIdx.x; i < per_block; i += blockDim.x)\n"
    "        atomicAdd(&to[i], own[i]);\n"
    "}\n"
    "__device__ int number(dim3 index, dim3 size) {\n"
    "    return index.x + size.x * (index.y + size.y * index.z);\n"
    "}\n"
    "extern \"C\" __global__ void places(int *out) {\n"
    "    __shared__ int mine;\n"
    "    cg::cluster_group cluster = cg::this_cluster();\n"
    "    cg::grid_group grid = cg::this_grid();\n"
    "    int n = cluster.num_blocks(), rank = cluster.block_rank(), seen = 0;\n"
    "    mine = rank;\n"
    "    cluster.sync();\n"
    "    for (int i = 0; i < n; i++) {\n"
    "        int *theirs = cluster.map_shared_rank(&mine, i);\n"
    "        int found = cluster.query_shared_rank(theirs);\n"
    "        seen += *theirs == i && found == i;\n"
    "    }\n"
    "    int *to = out + 16 * grid.thread_rank();\n"
    "    to[0] = rank;\n"
    "    to[1] = n;\n"
    "    to[2] = number(cluster.block_index(), cluster.dim_blocks());\n"
    "    to[3] = number(cluster.dim_blocks(), dim3(100, 100, 100));\n"
    "    to[4] = number(cluster.dim_threads(), dim3(100, 100, 100));\n"
    "    to[5] = number(cluster.thread_index(), cluster.dim_threads());\n"
    "    to[6] = cluster.thread_rank();\n"
    "    to[7] = cluster.num_threads();\n"
    "    to[8] = cluster.size();\n"
    "    to[9] = number(grid.dim_clusters(), dim3(100, 100, 100));\n"
    "    to[10] = grid.num_clusters();\n"
    "    to[11] = grid.cluster_rank();\n"
    "    to[12] = number(grid.cluster_index(), grid.dim_clusters());\n"
    "    to[13] = seen;\n"
    "    to[14] = __clusterRelativeBlockRank();\n"
    "    to[15] = number(__clusterIdx(), __clusterGridDimInClusters());\n"
    "    cluster.barrier_wait(cluster.barrier_arrive());\n"
    "}\n"
    // Each block adds up what all of its cluster wrote before.
    "extern \"C\" __global__ void order(int *out, int *memory, int rounds) {\n"
    "    cg::cluster_group cluster = cg::this_cluster();\n"
    "    int n = cluster.num_blocks(), first = blockIdx.x / n * n, sum = 0;\n"
    "    for (int k = 0; k < rounds; k++) {\n"
    "        if (threadIdx.x == 0) memory[blockIdx.x] = k + blockIdx.x;\n"
    "        auto token = cluster.barrier_arrive();\n"
    "        cluster.barrier_wait(static_cast<decltype(token) &&>(token));\n"
    "        for (int i = 0; i < n; i++)\n"
    "            sum += ((volatile int *)memory)[first + i];\n"
    "        cluster.sync();\n"
    "    }\n"
    "    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;\n"
    "}\n"
    "extern \"C\" __global__ void __cluster_dims__(2, 2, 1) fixed(int *out) {\n"
    "    int block = blockIdx.x + gridDim.x * blockIdx.y;\n"
    "    cg::cluster_group cluster = cg::this_cluster();\n"
    "    out[block] = 10 * cluster.num_blocks() + cluster.block_rank();\n"
    "}\n"
    "extern \"C\" __global__ void leaves(int *out, int n) {\n"
    "    __shared__ int count;\n"
    "    cg::cluster_group cluster = cg::this_cluster();\n"
    "    int rank = cluster.block_rank();\n"
    "    if (rank >= n || threadIdx.x == 3) return;\n"
    "    count = 0;\n"
    "    cluster.sync();\n"
    "    atomicAdd(cluster.map_shared_rank(&count, 0), 1);\n"
    "    cluster.sync();\n"
    "    if (rank == 0 && threadIdx.x == 0) out[blockIdx.x] = count;\n"
    "}\n"
    "extern \"C\" __global__ void traps(int *out, int n) {\n"
    "    if (int(blockIdx.x) == n) __trap();\n"
    "    cg::this_cluster().sync();\n"
    "    out[blockIdx.x] = 0;\n"
    "}\n"
    "extern \"C\" __global__ void spins(int *out, volatile int *word) {\n"
    "    if (blockIdx.x == 1) while (*word == 0) {}\n"
    "    cg::this_cluster().sync();\n"
    "    out[blockIdx.x] = 0;\n"
    "}\n"
    "extern \"C\" __global__ void both(int *out, int *memory) {\n"
    "    __shared__ int mine;\n"
    "    cg::cluster_group cluster = cg::this_cluster();\n"
    "    cg::grid_group grid = cg::this_grid();\n"
    "    int n = cluster.num_blocks(), rank = cluster.block_rank();\n"
    "    if (threadIdx.x == 0) mine = blockIdx.x;\n"
    "    cluster.sync();\n"
    "    int *theirs = cluster.map_shared_rank(&mine, n - 1 - rank);\n"
    "    if (threadIdx.x == 0) memory[blockIdx.x] = *theirs;\n"
    "    cluster.sync();\n"
    "    grid.sync();\n"
    "    int sum = 0;\n"
    "    for (int i = 0; i < int(gridDim.x); i++) sum += memory[i] * (i + 1);\n"
    "    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;\n"
    "}\n";

// The ways in which a cpu compiles; a GPU has one.
enum { MODES = 4 };
static const char *const modes[MODES] = {NULL, "--tier=F", "-G",
                                         "--block-size=64"};

static int mode_count(void)
{
    return suite_is_cpu() ? MODES : 1;
}

static rnl_function make_in(const char *name, int mode)
{
    suite_need(RNL_FEATURE_CLUSTERS);
    suite_need(RNL_FEATURE_COMPILE);
    rnl_function function = NULL;
    rnl_status status = rnl_function_compile(
        suite_context(), source, name,
        RNL_MODULE_OPTIONS(.options = &modes[mode],
                           .option_count = modes[mode] != NULL),
        &function);
    if (status != RNL_OK && rnl_last_error()->log)
        print_error("%s\n", rnl_last_error()->log);
    expect_ok(status);
    return function;
}

static rnl_function make(const char *name)
{
    return make_in(name, 0);
}

static void finish(rnl_buffer buffer, int *values, size_t count)
{
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    suite_download(values, buffer, count * sizeof *values);
    expect_ok(rnl_buffer_release(buffer));
}

static rnl_buffer upload(const int *values, size_t count)
{
    rnl_buffer buffer = suite_new_buffer(count * sizeof *values);
    suite_upload(buffer, values, count * sizeof *values);
    return buffer;
}

// Numbers that look random, the same in each run.
static unsigned random_state;

static unsigned random_below(unsigned end)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % end;
}

// --- Distributed shared memory ---------------------------------------------

static void check_ring(rnl_function function, uint32_t cluster,
                       uint32_t clusters, uint32_t threads, int rounds)
{
    static int in[8192], out[8192];
    size_t count = (size_t)cluster * clusters * threads;
    for (size_t i = 0; i < count; i++)
        in[i] = 1 + (int)random_below(100000);
    rnl_buffer from = upload(in, count), to = suite_ints(count, 0);
    expect_ok(rnl_enqueue_function(
        suite_stream(), function,
        RNL_LAUNCH(.grid = {cluster * clusters}, .block = {threads},
                   .cluster = {cluster},
                   .shared_size = (threads + 1) * sizeof(int)),
        RNL_ARGS(to, from, rounds)));
    finish(to, out, count);
    for (size_t i = 0; i < count; i++) {
        size_t block = i / threads, base = block / cluster * cluster;
        size_t rank = (block - base + cluster - (size_t)rounds % cluster) %
                      cluster;
        int want = in[(base + rank) * threads + i % threads];
        if (out[i] != want)
            fail_msg("%u x %u blocks of %u, %d rounds: %zu is %d, not %d",
                     clusters, cluster, threads, rounds, i, out[i], want);
    }
    expect_ok(rnl_buffer_release(from));
}

RNL_TEST(values_go_round_the_blocks_of_a_cluster)
{
    for (int mode = 0; mode < mode_count(); mode++) {
        rnl_function function = make_in("ring", mode);
        random_state = 1;
        check_ring(function, 1, 3, 64, 2);
        check_ring(function, 2, 1, 64, 1);
        check_ring(function, 8, 3, 64, 3);
        check_ring(function, 8, 8, 128, 9);
        check_ring(function, 4, 1, 1, 5);
        for (int time = 0; time < 12; time++)
            check_ring(function, 1 + random_below(8), 1 + random_below(8),
                       1 + random_below(128), (int)random_below(10));
        expect_ok(rnl_function_release(function));
    }
}

static void check_histogram(rnl_function function, uint32_t cluster,
                            uint32_t clusters, uint32_t threads, int per_block)
{
    enum { COUNT = 3000, MOST = 8 * 64 };
    static int in[COUNT], bins[MOST], want[MOST];
    size_t all = cluster * (size_t)per_block;
    memset(want, 0, sizeof want);
    for (int i = 0; i < COUNT; i++)
        want[in[i] = (int)random_below((unsigned)all)]++;
    rnl_buffer from = upload(in, COUNT), to = suite_ints(all, 0);
    expect_ok(rnl_enqueue_function(
        suite_stream(), function,
        RNL_LAUNCH(.grid = {cluster * clusters}, .block = {threads},
                   .cluster = {cluster},
                   .shared_size = (size_t)per_block * sizeof(int)),
        RNL_ARGS(to, from, (int)COUNT, per_block)));
    finish(to, bins, all);
    for (size_t i = 0; i < all; i++)
        if (bins[i] != want[i])
            fail_msg("%u x %u blocks of %u, %d bins: bin %zu has %d, not %d",
                     clusters, cluster, threads, per_block, i, bins[i],
                     want[i]);
    expect_ok(rnl_buffer_release(from));
}

RNL_TEST(a_histogram_is_spread_over_a_cluster)
{
    for (int mode = 0; mode < mode_count(); mode++) {
        rnl_function function = make_in("histogram", mode);
        random_state = 2;
        check_histogram(function, 2, 2, 64, 32);
        for (int time = 0; time < 12; time++)
            check_histogram(function, 1 + random_below(8), 1 + random_below(5),
                            1 + random_below(200), 1 + (int)random_below(64));
        expect_ok(rnl_function_release(function));
    }
}

// --- Places ----------------------------------------------------------------

static int number(rnl_dim3 index, rnl_dim3 size)
{
    return (int)(index.x + size.x * (index.y + size.y * index.z));
}

static rnl_dim3 times(rnl_dim3 a, rnl_dim3 b)
{
    return (rnl_dim3){a.x * b.x, a.y * b.y, a.z * b.z};
}

static rnl_dim3 coordinates(uint32_t n, rnl_dim3 size)
{
    return (rnl_dim3){n % size.x, n / size.x % size.y, n / size.x / size.y};
}

static void expect_place(const int *is, uint32_t thread, rnl_dim3 clusters,
                         rnl_dim3 cluster, rnl_dim3 block)
{
    const rnl_dim3 hundred = {100, 100, 100};
    uint32_t threads = block.x * block.y * block.z;
    uint32_t blocks = cluster.x * cluster.y * cluster.z;
    rnl_dim3 all = times(cluster, block);
    rnl_dim3 b = coordinates(thread / threads, times(clusters, cluster));
    rnl_dim3 t = coordinates(thread % threads, block);
    rnl_dim3 c = {b.x / cluster.x, b.y / cluster.y, b.z / cluster.z};
    rnl_dim3 i = {b.x % cluster.x, b.y % cluster.y, b.z % cluster.z};
    rnl_dim3 at = {i.x * block.x + t.x, i.y * block.y + t.y,
                   i.z * block.z + t.z};
    int rank = number(i, cluster);
    const int want[16] = {
        rank, (int)blocks, rank, number(cluster, hundred),
        number(all, hundred), number(at, all),
        rank * (int)threads + (int)(thread % threads), (int)(blocks * threads),
        (int)(blocks * threads), number(clusters, hundred),
        (int)(clusters.x * clusters.y * clusters.z), number(c, clusters),
        number(c, clusters), (int)blocks, rank, number(c, clusters)};
    for (int k = 0; k < 16; k++)
        if (is[k] != want[k])
            fail_msg("thread %u, number %d is %d, not %d", thread, k, is[k],
                     want[k]);
}

RNL_TEST(threads_know_their_places_in_a_cluster)
{
    static int out[16 * 4096];
    static const rnl_dim3 shapes[][3] = {
        {{3, 1, 1}, {4, 1, 1}, {5, 1, 1}}, {{2, 3, 1}, {2, 2, 1}, {33, 1, 1}},
        {{1, 2, 3}, {2, 2, 2}, {3, 4, 2}}, {{2, 1, 2}, {1, 3, 2}, {1, 7, 1}},
        {{2, 2, 2}, {1, 1, 1}, {8, 4, 1}}, {{2, 1, 1}, {8, 1, 1}, {64, 1, 1}}};
    for (int mode = 0; mode < mode_count(); mode++) {
        rnl_function function = make_in("places", mode);
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            const rnl_dim3 *shape = shapes[s];
            rnl_dim3 all = times(times(shape[0], shape[1]), shape[2]);
            uint32_t threads = all.x * all.y * all.z;
            rnl_buffer to = suite_ints((size_t)16 * threads, -1);
            expect_ok(rnl_enqueue_function(
                suite_stream(), function,
                RNL_LAUNCH(.grid = times(shape[0], shape[1]),
                           .block = shape[2], .cluster = shape[1]),
                RNL_ARGS(to)));
            finish(to, out, (size_t)16 * threads);
            for (uint32_t t = 0; t < threads; t++)
                expect_place(out + 16 * t, t, shape[0], shape[1], shape[2]);
        }
        expect_ok(rnl_function_release(function));
    }
}

// --- The barrier -----------------------------------------------------------

static void check_order(rnl_function function, uint32_t cluster,
                        uint32_t clusters, uint32_t threads, int rounds)
{
    static int out[8192];
    uint32_t blocks = cluster * clusters;
    rnl_buffer memory = suite_ints(blocks, 0);
    rnl_buffer to = suite_ints(blocks * threads, -1);
    expect_ok(rnl_enqueue_function(
        suite_stream(), function,
        RNL_LAUNCH(.grid = {blocks}, .block = {threads}, .cluster = {cluster}),
        RNL_ARGS(to, memory, rounds)));
    finish(to, out, blocks * threads);
    for (uint32_t i = 0; i < blocks * threads; i++) {
        int n = (int)cluster, first = (int)(i / threads / cluster * cluster);
        int want = rounds * (rounds - 1) / 2 * n +
                   rounds * (first * n + n * (n - 1) / 2);
        if (out[i] != want)
            fail_msg("%u x %u blocks of %u: %u is %d, not %d", clusters,
                     cluster, threads, i, out[i], want);
    }
    expect_ok(rnl_buffer_release(memory));
}

RNL_TEST(the_barrier_of_a_cluster_orders_its_blocks)
{
    for (int mode = 0; mode < mode_count(); mode++) {
        rnl_function function = make_in("order", mode);
        random_state = 3;
        check_order(function, 8, 2, 64, 4);
        for (int time = 0; time < 8; time++)
            check_order(function, 1 + random_below(8), 1 + random_below(6),
                        1 + random_below(150), (int)random_below(6));
        expect_ok(rnl_function_release(function));
    }
}

RNL_TEST(blocks_and_threads_that_ended_count_as_there_in_a_cluster)
{
    if (!suite_is_cpu())
        test_skip("undefined on a gpu");
    for (int mode = 0; mode < mode_count(); mode++) {
        rnl_function function = make_in("leaves", mode);
        for (int n = 0; n <= 4; n++) {
            int out[8];
            rnl_buffer to = suite_ints(8, 0);
            expect_ok(rnl_enqueue_function(
                suite_stream(), function,
                RNL_LAUNCH(.grid = {8}, .block = {64}, .cluster = {4}),
                RNL_ARGS(to, n)));
            finish(to, out, 8);
            for (int i = 0; i < 8; i++)
                assert_int_equal(out[i], i % 4 == 0 ? n * 63 : 0);
        }
        expect_ok(rnl_function_release(function));
    }
}

RNL_TEST(clusters_of_a_cooperative_launch_wait_for_the_grid)
{
    static const rnl_launch_attribute cooperative = {RNL_LAUNCH_COOPERATIVE,
                                                     {true}};
    suite_need(RNL_FEATURE_COOPERATIVE_LAUNCH);
    rnl_function function = make("both");
    for (uint32_t cluster = 1; cluster <= 4; cluster++) {
        enum { CLUSTERS = 5, THREADS = 33 };
        static int out[4 * CLUSTERS * THREADS];
        uint32_t blocks = CLUSTERS * cluster;
        rnl_buffer memory = suite_ints(blocks, 0);
        rnl_buffer to = suite_ints(blocks * THREADS, -1);
        expect_ok(rnl_enqueue_function(
            suite_stream(), function,
            RNL_LAUNCH(.grid = {blocks}, .block = {THREADS},
                       .cluster = {cluster}, .attributes = &cooperative,
                       .attribute_count = 1),
            RNL_ARGS(to, memory)));
        finish(to, out, blocks * THREADS);
        int want = 0;
        for (uint32_t i = 0; i < blocks; i++) {
            uint32_t first = i / cluster * cluster;
            want += (int)((first + cluster - 1 - (i - first)) * (i + 1));
        }
        for (uint32_t i = 0; i < blocks * THREADS; i++)
            assert_int_equal(out[i], want);
        expect_ok(rnl_buffer_release(memory));
    }
    expect_ok(rnl_function_release(function));
}

// --- Graphs ----------------------------------------------------------------

RNL_TEST(clusters_are_captured_and_replayed)
{
    enum { BLOCKS = 12, THREADS = 40 };
    static int in[BLOCKS * THREADS], out[BLOCKS * THREADS];
    rnl_function function = make("ring");
    rnl_stream stream = suite_new_stream();
    rnl_graph graph;
    rnl_graph_exec exec;
    for (int i = 0; i < BLOCKS * THREADS; i++)
        in[i] = i + 1;
    rnl_buffer from = upload(in, BLOCKS * THREADS);
    rnl_buffer to = suite_ints(BLOCKS * THREADS, 0);
    expect_ok(rnl_stream_begin_capture(stream, NULL));
    expect_ok(rnl_enqueue_function(
        stream, function,
        RNL_LAUNCH(.grid = {BLOCKS}, .block = {THREADS}, .cluster = {4},
                   .shared_size = (THREADS + 1) * sizeof(int)),
        RNL_ARGS(to, from, 1)));
    expect_ok(rnl_enqueue_function(
        stream, function,
        RNL_LAUNCH(.grid = {BLOCKS}, .block = {THREADS}, .cluster = {6},
                   .shared_size = (THREADS + 1) * sizeof(int)),
        RNL_ARGS(from, to, 5)));
    expect_ok(rnl_stream_end_capture(stream, &graph));
    expect_ok(rnl_graph_instantiate(graph, &exec));
    for (int time = 0; time < 3; time++)
        expect_ok(rnl_enqueue_graph(stream, exec));
    expect_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    for (int time = 0; time < 3; time++) {
        for (int i = 0; i < BLOCKS * THREADS; i++) {
            int block = i / THREADS, base = block / 4 * 4;
            out[i] = in[(base + (block + 3) % 4) * THREADS + i % THREADS];
        }
        for (int i = 0; i < BLOCKS * THREADS; i++) {
            int block = i / THREADS, base = block / 6 * 6;
            in[i] = out[(base + (block - base + 1) % 6) * THREADS +
                        i % THREADS];
        }
    }
    finish(from, out, BLOCKS * THREADS);
    assert_memory_equal(out, in, sizeof in);
    expect_ok(rnl_graph_exec_release(exec));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_buffer_release(to));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_function_release(function));
}

// --- What is refused -------------------------------------------------------

static void refused(rnl_function function, const rnl_launch *launch,
                    const rnl_args *args, rnl_status status, const char *words)
{
    expect_error(rnl_enqueue_function(suite_stream(), function, launch, args),
                 status, "cluster");
    if (!strstr(rnl_last_error()->message, words))
        fail_msg("%s", rnl_last_error()->message);
}

RNL_TEST(a_cluster_that_is_too_large_is_refused)
{
    rnl_function function = make("places");
    rnl_device_info info = {.struct_size = sizeof info};
    char words[64];
    expect_ok(rnl_device_get_info(suite_device(), &info));
    uint32_t most = info.max_cluster_blocks;
    assert_true(most >= 8);
    snprintf(words, sizeof words, "the device can have %u", most);
    rnl_buffer buffer = suite_ints(1, 0);
    refused(function,
            RNL_LAUNCH(.grid = {2 * most}, .block = {1}, .cluster = {2 * most}),
            RNL_ARGS(buffer), RNL_ERROR_INVALID_ARGUMENT, words);
    refused(function,
            RNL_LAUNCH(.grid = {most, 2}, .block = {1}, .cluster = {most, 2}),
            RNL_ARGS(buffer), RNL_ERROR_INVALID_ARGUMENT, words);
    refused(function, RNL_LAUNCH(.grid = {6}, .block = {1}, .cluster = {4}),
            RNL_ARGS(buffer), RNL_ERROR_INVALID_ARGUMENT, "not divisible");
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_source_may_say_how_large_its_clusters_are)
{
    rnl_function function = make("fixed"), free = make("places");
    rnl_function_info info = {.struct_size = sizeof info};
    expect_ok(rnl_function_get_info(free, &info));
    assert_int_equal(info.cluster.x, 0);
    expect_ok(rnl_function_get_info(function, &info));
    assert_int_equal(info.cluster.x, 2);
    assert_int_equal(info.cluster.y, 2);
    assert_int_equal(info.cluster.z, 1);
    for (int given = 0; given < 2; given++) {
        int out[16];
        rnl_buffer to = suite_ints(16, -1);
        expect_ok(rnl_enqueue_function(
            suite_stream(), function,
            RNL_LAUNCH(.grid = {4, 4}, .block = {32},
                       .cluster = {given ? 2 : 0, given ? 2 : 0}),
            RNL_ARGS(to)));
        finish(to, out, 16);
        for (int i = 0; i < 16; i++)
            assert_int_equal(out[i], 40 + i % 2 + 2 * (i / 4 % 2));
    }
    rnl_buffer buffer = suite_ints(16, 0);
    refused(function,
            RNL_LAUNCH(.grid = {4, 4}, .block = {1}, .cluster = {4}),
            RNL_ARGS(buffer), RNL_ERROR_INVALID_ARGUMENT,
            "fixed is made for 2 x 2 x 1 by its __cluster_dims__");
    refused(function,
            RNL_LAUNCH(.grid = {4, 4}, .block = {1}, .cluster = {1}),
            RNL_ARGS(buffer), RNL_ERROR_INVALID_ARGUMENT, "__cluster_dims__");
    refused(function, RNL_LAUNCH(.grid = {4, 3}, .block = {1}),
            RNL_ARGS(buffer), RNL_ERROR_INVALID_ARGUMENT, "not divisible");
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(free));
    expect_ok(rnl_function_release(function));
}

static rnl_status nothing(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

RNL_TEST(c_functions_have_no_clusters)
{
    suite_need(RNL_FEATURE_CLUSTERS);
    rnl_function function = suite_native("nothing", nothing, NULL);
    refused(function, RNL_LAUNCH(.grid = {4}, .block = {1}, .cluster = {2}),
            RNL_NO_ARGS, RNL_ERROR_UNSUPPORTED,
            "nothing is a C function, whose blocks do not run together");
    expect_ok(rnl_function_release(function));
}

// --- What ends a cluster ---------------------------------------------------

RNL_TEST(a_trap_in_one_block_fails_a_cluster)
{
    if (!suite_is_cpu())
        test_skip("a trap breaks the context");
    for (int mode = 0; mode < mode_count(); mode++) {
        rnl_function function = make_in("traps", mode);
        rnl_function after = make_in("ring", mode);
        rnl_stream stream = suite_new_stream();
        rnl_buffer buffer = suite_ints(16, 1);
        expect_ok(rnl_enqueue_function(
            stream, function,
            RNL_LAUNCH(.grid = {16}, .block = {64}, .cluster = {4}),
            RNL_ARGS(buffer, 6)));
        expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                     RNL_ERROR_LAUNCH_FAILED, NULL);
        if (!strstr(rnl_last_error()->message,
                    "block (6, 0, 0), thread (0, 0, 0): __trap() was called"))
            fail_msg("%s", rnl_last_error()->message);
        random_state = 4;
        check_ring(after, 4, 4, 64, 3);
        expect_ok(rnl_buffer_release(buffer));
        expect_ok(rnl_stream_release(stream));
        expect_ok(rnl_function_release(after));
        expect_ok(rnl_function_release(function));
    }
}

// Two blocks of a cluster: one waits for the other, which never comes.
static rnl_stream launch_spins(rnl_context context, rnl_function function,
                               rnl_buffer *out_buffer)
{
    rnl_stream stream;
    expect_ok(rnl_stream_create(context, NULL, &stream));
    expect_ok(rnl_buffer_create(context, 64, NULL, out_buffer));
    expect_ok(rnl_enqueue_fill(stream, *out_buffer, 0, 64, 0, 4));
    expect_ok(rnl_enqueue_function(
        stream, function,
        RNL_LAUNCH(.grid = {2}, .block = {32}, .cluster = {2}),
        RNL_ARGS(*out_buffer, *out_buffer)));
    return stream;
}

RNL_TEST(a_time_limit_stops_a_cluster)
{
    suite_need(RNL_FEATURE_CLUSTERS);
    suite_need(RNL_FEATURE_KERNEL_LIMIT);
    for (int mode = 0; mode < 2; mode++) {
        rnl_context context = suite_open(
            RNL_CONTEXT_OPTIONS(.kernel_limit_ns = 30 * 1000 * 1000));
        rnl_function function;
        rnl_buffer buffer;
        expect_ok(rnl_function_compile(
            context, source, "spins",
            RNL_MODULE_OPTIONS(.options = &modes[mode],
                               .option_count = modes[mode] != NULL),
            &function));
        rnl_stream stream = launch_spins(context, function, &buffer);
        expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                     RNL_ERROR_KERNEL_LIMIT, NULL);
        expect_ok(rnl_buffer_release(buffer));
        expect_ok(rnl_stream_release(stream));
        expect_ok(rnl_function_release(function));
        expect_ok(rnl_context_release(context));
    }
}

RNL_TEST(a_cancelled_stream_stops_a_cluster)
{
    suite_need(RNL_FEATURE_CANCEL);
    suite_need(RNL_FEATURE_KERNEL_LIMIT);  // what runs can be stopped
    rnl_function function = make("spins");
    rnl_buffer buffer;
    rnl_stream stream = launch_spins(suite_context(), function, &buffer);
    expect_ok(rnl_stream_cancel(stream));
    expect_error(rnl_stream_synchronize(stream, RNL_FOREVER),
                 RNL_ERROR_CANCELLED, NULL);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
    expect_ok(rnl_function_release(function));
}
