// The harness: runs every variant of a case in turn, round after round, in one
// process, so that a drift of the machine hits all of them alike.
#pragma once

#include <runnel/runnel.h>

#include "peer_openmp.h"
#include "peer_opencl.h"
#include "process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { BENCH_MAX_SERIES = 8 };

// One row of the table: a question with one answer for each variant.
typedef struct bench_plan {
    const char *name;   // "axpy/1Ki"; what --filter looks at
    const char *what;   // one line for the reader
    size_t size;        // of the problem, for the case's own use
    double bytes;       // moved by one operation; 0: the time is the answer
    unsigned rounds;    // of a full run; 0 takes the usual number
    unsigned samples;   // timed samples a turn
    unsigned warm;      // untimed ones before them
    uint64_t pause_ns;  // sleep before each sample
    uint64_t limit_ns;  // no further round after this time; 0: none
} bench_plan;

// One way of doing it.
typedef struct bench_variant {
    const char *name;
    const char *absent;  // why the variant cannot run, or NULL
    const char *(*check)(
        void *state);               // the fault of its result, or NULL
    double (*sample)(void *state);  // ns an operation; negative: failed
    void *state;
    const char *with;  // the owner of the code, or NULL
} bench_variant;

// The figures of one variant.
typedef struct bench_series {
    char name[32];
    char with[32];   // the owner of the code; "" when plain
    char note[200];  // why the series has no figures, or ""
    bool wrong;      // ran, but with a wrong result
    double *samples;
    size_t sample_count;
    double *rounds;  // the median of each round
    size_t round_count;
} bench_series;

typedef struct bench_row {
    const bench_plan *plan;
    bench_series series[BENCH_MAX_SERIES];
    size_t series_count;
} bench_row;

// The objects of Runnel that the cases need. A handle that failed is NULL, and
// the text says why.
typedef struct bench_runnel {
    rnl_context context;
    rnl_stream stream, other_stream;
    rnl_function native_empty, native_axpy;
    rnl_function source_empty, source_axpy;
    char no_native[200];
    char no_source[200];
} bench_runnel;

typedef struct bench_run {
    bool quick, progress;
    bool check;   // results of bench_measure are checked, not timed
    bool on_cpu;  // the rows are those of the cpu, and their peers are here
    const char *filter, *row;
    bench_runnel runnel;
    const opencl_peer *pocl, *intel;  // NULL: absent
    const char *no_pocl, *no_intel;
    const openmp_peer *openmp;
    const char *no_openmp;
    process_peer *passive;  // OpenMP with sleeping workers, a process beside us
    const char *no_passive;
    bench_row *rows;
    size_t row_count;
} bench_run;

// A file of this folder: the rows that it can measure, one at a time.
typedef struct bench_case {
    const bench_plan *plans;
    size_t plan_count;
    void (*run)(bench_run *bench, const bench_plan *plan);
} bench_case;

extern const bench_case enqueue_case, launch_sync_case, axpy_case, event_case,
    host_function_case, copy_case, idle_case, handle_check_case, kernels_case,
    programs_case, compile_case, compile_all_case, graph_case, streams_case,
    value_wait_case, buffer_case, turns_case, shares_case, growth_case,
    cuda_launch_case,
    cuda_graph_case, cuda_memory_case, cuda_event_case, cuda_compile_case;

// A constant array and its length, for a bench_case.
#define BENCH_PLANS(array) \
    .plans = (array), .plan_count = sizeof(array) / sizeof *(array)

// --- For the cases ---------------------------------------------------------

uint64_t bench_now_ns(void);
void bench_sleep_ns(uint64_t ns);

// Waits until this process is quiet.
void bench_settle(void);

// One step of a spinning wait.
static inline void bench_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Measures all `variants` of `plan` and keeps the row.
void bench_measure(bench_run *bench, const bench_plan *plan,
                   const bench_variant *variants, size_t count);

// For a case that measures by itself: a row, a series in it, a round in that.
bench_row *bench_add_row(bench_run *bench, const bench_plan *plan);
bench_series *bench_add_series(bench_row *row, const char *name);
void bench_add_round(bench_series *series, const double *samples, size_t count);

unsigned bench_rounds(const bench_run *bench, const bench_plan *plan);

// One line on the terminal, replaced by the next; NULL removes it.
void bench_progress(const bench_run *bench, const char *name,
                    const char *variant, unsigned percent);

// `size` bytes on pages that are really there: memory that was never written
// maps to one zero page and reads as fast as a cache.
void *bench_allocate(size_t size);

// The reason, or NULL when the text is empty.
const char *bench_reason(const char *text);

// The device of --device, also in the children. NULL, and the library has a
// reason, without a device.
enum { BENCH_DEVICE_NAME = 32 };
const char *bench_device_name(void);
rnl_device bench_device(void);

// --- For main --------------------------------------------------------------

void bench_runnel_open(bench_runnel *runnel);
void bench_runnel_close(bench_runnel *runnel);

// ns from the source of axpy to its function, in a context of its own;
// negative without a compiler.
double bench_runnel_compile(void);

// ns for many kernels like it, by one thread or two.
enum { BENCH_MANY_KERNELS = 100 };
double bench_runnel_compile_many(bool two_threads);
double bench_runnel_compile_all(void);  // compile_all.c

void bench_free_rows(bench_run *bench);
