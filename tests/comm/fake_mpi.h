// Tests control the fake of MPI by this struct, and count its live objects.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

struct fake_mpi {
    _Atomic long calls;  // so far
    long fail_at;        // the number of the call that fails; 0: none
    const char *_Atomic failed;  // the name of the call that failed
    const char *_Atomic version;
    _Atomic int comms, groups;
    _Atomic int initialised, finalized;
    int tag;                  // of the last MPI_Comm_create_group
    _Atomic bool duplicating; // an MPI_Comm_idup is under way
    _Atomic long late_calls;  // that may not follow MPI_Finalize
    _Atomic int hangs;        // requests are not done meanwhile
    _Atomic int inits, init_hangs, finalize_hangs;
    int rank, size;           // size 0: 1
    int misorders;            // MAX takes numbers without sign for signed ones
    int inter;                // communicators are intercommunicators
    _Atomic int in_place;     // operations so far
    void (*at_end)(void);     // by MPI_Finalize, before all else
    void *_Atomic shared;     // where MPI_Ibcast or MPI_Comm_idup writes to
    _Atomic int received;     // elements of the last message that was sent
};

extern struct fake_mpi fake_mpi;

int MPI_Finalize(void);
