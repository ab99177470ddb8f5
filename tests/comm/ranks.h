// The ranks of a test: each process runs the same test, started by mpirun.sh.
#pragma once

#include "test.h"

#include <runnel/comm.h>

#define SECOND UINT64_C(1000000000)

extern rnl_context context;
extern rnl_stream stream;
extern rnl_comm comm;  // of all processes
extern int rank, size;

// Opens all of them; the communicator has the options, which may be NULL.
void ranks_begin(const rnl_comm_options *options);
void ranks_end(void);

// Has MPI initialised, for creations with a time limit of milliseconds.
void ranks_begin_mpi(void);

#define expect_ok(call) test_status((call), RNL_OK, #call, __FILE__, __LINE__)

// The call fails so, and the message has the words.
#define expect_refused(call, status, words) \
    ranks_refused((call), (status), (words), #call, __FILE__, __LINE__)
void ranks_refused(rnl_status got, rnl_status status, const char *words,
                   const char *call, const char *file, int line);

// Waits for the stream, which fails so.
void ranks_fails(rnl_stream failing, rnl_status status, const char *words);

// A host function that fails its stream once the gate, its argument, is open.
struct ranks_gate {
    _Atomic bool is_open;
};
void ranks_fail_behind_gate(rnl_status status, void *gate);

// A buffer of ints, and its place in memory.
rnl_buffer ranks_ints(size_t count, int **out_ints);

// Enqueues an all-reduce of the first element of a buffer on `stream`.
rnl_status ranks_reduce(rnl_buffer buffer, rnl_element element,
                        rnl_reduction reduction);

// All ranks wait for each other, by another communicator.
void ranks_meet(rnl_comm other);
