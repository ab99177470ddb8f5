// The engine MPI: its functions and constants, of Open MPI or of MPICH.
#pragma once

#include "comm_internal.h"

struct mpi_functions {
#define SYMBOL(name, vendor, parameters) int(*name) parameters;
#include "mpi.def"
#undef SYMBOL
};

// Macros of mpi.h.
struct mpi_constants {
    void *world, *self, *comm_null, *request_null, *errors_return, *in_place;
    void *types[RNL_ELEMENT_FLOAT64 + 1];  // by rnl_element; for FLOAT16 and
                                           // BFLOAT16 a type of the same size
    void *operations[RNL_REDUCE_MAX + 1];  // by rnl_reduction
    bool misorders[RNL_ELEMENT_UINT64 + 1];  // by rnl_element: MIN and MAX take
                                             // it for a number with a sign
    bool handles_are_ints;
    int error_truncate;
};

extern struct mpi_functions mpi;
extern struct mpi_constants mpi_constants;

#define MPI_LEVEL_MULTIPLE 3  // MPI_THREAD_MULTIPLE, of both families

// Finds the library, once.
rnl_status mpi_load(const struct engine *engine);
extern char mpi_version[];  // once it is loaded
// Initialises MPI, once, if the program did not.
rnl_status mpi_begin(const struct membership *members);
// Some rank may never come: the process does not wait for MPI_Finalize at exit.
void mpi_give_up(void);
extern _Atomic int mpi_releases;  // communicators that end behind their work
// MPI_Finalize, by the program or at exit, waits for calls of MPI between
// mpi_enter and mpi_leave, for some seconds. If mpi_enter returns false, MPI is
// finalized, or about to be.
bool mpi_enter(void);
void mpi_leave(void);
bool mpi_is_ending(void);  // those calls end soon
// Ends a communicator of MPI, unless MPI has ended.
void mpi_free(void **comm);

// The sentence of MPI for a code.
void mpi_error(int code, char *text, size_t size);

// For another engine whose processes MPI started: the rank and size of this
// process, and rank 0's bytes for all.
rnl_status mpi_find_rank(const struct membership *members, int *out_rank,
                         int *out_size);
rnl_status mpi_share(const struct membership *members, void *bytes,
                     size_t size);

// --- Operations (mpi_run.c) --------------------------------------------------

rnl_status mpi_create_functions(struct comm *comm);
rnl_status mpi_check(const struct comm_work *work, const char *function);
rnl_status mpi_enqueue(const struct comm_work *works, size_t count,
                       const char *function);
