// Sweeps of faults: a scenario runs again and again with its first, second,
// third … fault of a kind injected, until it passes without any.
//
// `Once`: only that one fails; the call that reports it is made again and must
// then succeed, which shows that the failure changed nothing. `For ever`: all
// behind it fails, too; the scenario ends at the first failure and must still
// be able to release all it has. Pairs: the k-th and one behind it.
//
// RUNNEL_SWEEP=full injects all; without it long sweeps are sampled.
// RUNNEL_SWEEP_TRACE=1 tells each round before it begins.
#pragma once

#include "fault.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

// What most scenarios work with: buffers of 256 zeroed bytes and a C function
// that does nothing.
struct sweep_set {
    rnl_context context;
    rnl_stream stream, other;
    rnl_event event;
    rnl_buffer buffer, host, made;  // nobody makes `made` at first
    rnl_function function;
};

// A scenario returns RNL_OK or the first failure, and leaves nothing behind.
// `with` is given things, which are made before and released behind.
struct scenario {
    const char *name;
    rnl_status (*run)(void);
    rnl_status (*with)(struct sweep_set *things);
    rnl_feature needs[2];   // skipped if the device lacks one; 0: none
    void (*prepare)(void);  // called without faults at first; may be NULL
};

// The scenarios of a file, ended by one without a name.
extern const struct scenario object_scenarios[], memory_scenarios[],
    copy_scenarios[], work_scenarios[], graph_scenarios[],
    capture_scenarios[], module_scenarios[], query_scenarios[];

void sweep_memory(const struct scenario *scenarios);
void sweep_threads(const struct scenario *scenarios);
void sweep_system(const struct scenario *scenarios);
void sweep_pairs(const struct scenario *scenarios);

// True if the call that failed met a fault, and is to be made again. `met`
// counts faults as of the last attempt.
bool sweep_again(long *met);

// A step of a scenario: `status` is the variable that ends it.
#define TRY(call)                                                     \
    do {                                                              \
        long met_before = fault_met();                                \
        if (status == RNL_OK)                                         \
            do                                                        \
                status = (call);                                      \
            while (status != RNL_OK && sweep_again(&met_before));     \
    } while (0)

// What must hold once all steps succeeded.
#define EXPECT(condition)                                             \
    do {                                                              \
        if (status == RNL_OK && !(condition))                         \
            sweep_wrong(#condition, __FILE__, __LINE__);              \
    } while (0)
void sweep_wrong(const char *what, const char *file, int line);

// A release, which never fails.
#define RELEASE(call)                                                 \
    do {                                                              \
        if ((call) != RNL_OK)                                         \
            sweep_wrong(#call, __FILE__, __LINE__);                   \
    } while (0)

// The device under test, opened with two threads.
rnl_status sweep_open(rnl_context *out_context);

// Waits until the library holds nothing.
void sweep_expect_empty(void);
