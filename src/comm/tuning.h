// Tuned constants of librunnel-comm: machine and date of each measurement, or
// "not measured".
#pragma once

// Bytes from which on a thread is woken for a message at once. The wake-up, and
// the thread beside that of the caller, cost a caller that synchronizes some 30
// us. Compared with 1 MiB, where messages had 0.86 to 0.93 of MPI's bandwidth;
// a virtual machine of 2 cores with 2 ranks, 2026-11-29 (0065).
#define PROMPT_BYTES ((size_t)4 << 20)

// Calls of MPI_Test between two looks at the clock and at an abort, and before
// the thread lets others run in between. Not measured, 2026-11-29.
#define LOOK_ROUNDS 64u
#define YIELD_ROUNDS 4096u

// Polls of NCCL for the begin of an operation that let other threads run in
// between, and later ones nap. An operation takes some 20 us to begin, and a
// connection some milliseconds to seconds. Not measured.
#define SETTLE_YIELDS 2000u

// How long a process waits at its exit for communicators of NCCL that end, of
// which a dead rank may keep the engine. Not measured.
#define EXIT_NS UINT64_C(5000000000)

// How long MPI_Finalize waits for communicators that end and for operations,
// and for communicators that nothing is under way of; and how long a process
// whose MPI does not end writes its files. Not measured.
#define FINALIZE_NS UINT64_C(3000000000)
#define QUIET_NS UINT64_C(100000000)
#define FLUSH_NS UINT64_C(1000000000)
