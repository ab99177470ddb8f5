// Small programs as written without any tuning, beside OpenMP's
// loops: as written, and with `omp simd`. Each loop is that of the faster of
// two compilers.
#include "programs/programs.h"

#include "kernel_rows.h"

#include <dlfcn.h>

static const kernel_spec *const specs[] = {
    &bfs_program,          &bitonic_program,      &columns_program,
    &floyd_program,        &front_loaded_program, &grey_program,
    &heat_program,         &ising_program,        &kmeans_program,
    &laplace_program,      &murmur_program,       &needleman_program,
    &pagerank_program,     &particles_program,    &pi_program,
    &reverse_rows_program, &scan_program,         &sha256_program,
    &sobel_program,        &spmv_program,
};

enum { PROGRAMS = sizeof specs / sizeof *specs };

static const bench_plan plans[] = {
    KERNEL_PLAN(0, "programs/bfs",
                "a level of a breadth-first search, 1 Mi nodes"),
    KERNEL_PLAN(1, "programs/bitonic", "a step of a bitonic sort, 8 Mi floats"),
    KERNEL_PLAN(2, "programs/columns",
                "1 Mi fields of 4 doubles, blocks of 1 x 256"),
    KERNEL_PLAN(3, "programs/floyd",
                "a step of Floyd and Warshall, 3072 nodes"),
    KERNEL_PLAN(4, "programs/front-loaded",
                "100,000 sums in a grid of 25 Mi threads"),
    KERNEL_PLAN(5, "programs/grey", "16 Mi pixels of 3 bytes to grey ones"),
    KERNEL_PLAN(6, "programs/heat",
                "5 points, 3072 x 3072 floats, 64-bit indices"),
    KERNEL_PLAN(7, "programs/ising", "half a sweep of 2048 x 2048 spins"),
    KERNEL_PLAN(8, "programs/kmeans", "the nearest of 16 centres, 1 Mi points"),
    KERNEL_PLAN(9, "programs/laplace",
                "7 points, 192^3 floats, planes in shared tiles"),
    KERNEL_PLAN(10, "programs/murmur",
                "MurmurHash3 of 1 Mi records of 32 bytes"),
    KERNEL_PLAN(11, "programs/needleman",
                "8 Ki pairs of 32 letters, shared diagonals"),
    KERNEL_PLAN(12, "programs/pagerank",
                "a step for 512 Ki pages, uneven rows"),
    KERNEL_PLAN(13, "programs/particles", "256 Ki soft discs, cell lists"),
    KERNEL_PLAN(14, "programs/pi", "16 Mi points by xorshift generators"),
    KERNEL_PLAN(15, "programs/reverse-rows",
                "rows of own lengths, 4096 x 4096 floats"),
    KERNEL_PLAN(16, "programs/scan",
                "exclusive sums of 8 Mi ints, 256 a block"),
    KERNEL_PLAN(17, "programs/sha256", "SHA-256 of 32 Ki messages of 64 bytes"),
    KERNEL_PLAN(18, "programs/sobel", "4096 x 4096 bytes, 16 x 16 blocks"),
    KERNEL_PLAN(19, "programs/spmv",
                "64 Ki sparse rows of doubles, a warp a row"),
    {.name = "programs/mean",
     .what = "geometric mean of the programs",
     .size = PROGRAMS,
     .rounds = 9,
     .samples = 1},
    {.name = "programs/lowest",
     .what = "the slowest beside OpenMP",
     .size = PROGRAMS + 1,
     .rounds = 9,
     .samples = 1},
    {.name = "programs/lowest-simd",
     .what = "the slowest beside omp simd",
     .size = PROGRAMS + 2,
     .rounds = 9,
     .samples = 1},
};

// The program with clang's loops, from the library that clang made of the same
// files; NULL without clang.
static const kernel_spec *by_clang(const kernel_spec *spec)
{
#ifdef BENCH_CLANG_PROGRAMS
    static void *library;
    char name[64];
    if (!library)
        library = dlopen(BENCH_CLANG_PROGRAMS, RTLD_NOW | RTLD_LOCAL);
    snprintf(name, sizeof name, "%s_program", spec->name);
    return library ? dlsym(library, name) : NULL;
#else
    (void)spec;
    return NULL;
#endif
}

static void run(bench_run *bench, const bench_plan *plan)
{
    static const kernel_group group = {
        .specs = specs,
        .plans = plans,
        .count = PROGRAMS,
        .ways = {{"runnel", KERNEL_GENERAL},
                 {"openmp", KERNEL_OPENMP},
                 {"openmp simd", KERNEL_SIMD},
                 {"runnel, fixed blocks", KERNEL_FIXED}},
        .way_count = 4,
        .other_compiler = by_clang,
    };
    kernel_group_run(bench, plan, &group);
}

const bench_case programs_case = {BENCH_PLANS(plans), run};
