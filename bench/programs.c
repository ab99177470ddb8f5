// Small programs as somebody writes them who tunes nothing, beside OpenMP's
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

#define PROGRAM_PLAN(number, title, text)                             \
    {                                                                 \
        .name = "programs/" title, .what = text, .size = (number),    \
        .rounds = 9, .samples = 2, .warm = 1, .limit_ns = 3500000000u \
    }

static const bench_plan plans[] = {
    PROGRAM_PLAN(0, "bfs", "a level of a breadth-first search, 1 Mi nodes"),
    PROGRAM_PLAN(1, "bitonic", "a step of a bitonic sort, 8 Mi floats"),
    PROGRAM_PLAN(2, "columns", "1 Mi fields of 4 doubles, blocks of 1 x 256"),
    PROGRAM_PLAN(3, "floyd", "a step of Floyd and Warshall, 3072 nodes"),
    PROGRAM_PLAN(4, "front-loaded", "100,000 sums in a grid of 25 Mi threads"),
    PROGRAM_PLAN(5, "grey", "16 Mi pixels of 3 bytes to grey ones"),
    PROGRAM_PLAN(6, "heat", "5 points, 3072 x 3072 floats, 64-bit indices"),
    PROGRAM_PLAN(7, "ising", "half a sweep of 2048 x 2048 spins"),
    PROGRAM_PLAN(8, "kmeans", "the nearest of 16 centres, 1 Mi points"),
    PROGRAM_PLAN(9, "laplace",
                 "7 points, 192^3 floats, planes in shared tiles"),
    PROGRAM_PLAN(10, "murmur", "MurmurHash3 of 1 Mi records of 32 bytes"),
    PROGRAM_PLAN(11, "needleman", "8 Ki pairs of 32 letters, shared diagonals"),
    PROGRAM_PLAN(12, "pagerank", "a step for 512 Ki pages, uneven rows"),
    PROGRAM_PLAN(13, "particles", "256 Ki soft discs, cell lists"),
    PROGRAM_PLAN(14, "pi", "16 Mi points by xorshift generators"),
    PROGRAM_PLAN(15, "reverse-rows", "rows of own lengths, 4096 x 4096 floats"),
    PROGRAM_PLAN(16, "scan", "exclusive sums of 8 Mi ints, 256 a block"),
    PROGRAM_PLAN(17, "sha256", "SHA-256 of 32 Ki messages of 64 bytes"),
    PROGRAM_PLAN(18, "sobel", "4096 x 4096 bytes, 16 x 16 blocks"),
    PROGRAM_PLAN(19, "spmv", "64 Ki sparse rows of doubles, a warp a row"),
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
