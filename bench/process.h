// This program run once more as a child: for peers whose settings are read
// once a process (OMP_WAIT_POLICY), and for measuring a process's own CPU time
// without the threads of its peers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// --- OpenMP with OMP_WAIT_POLICY=passive -----------------------------------

typedef struct process_peer process_peer;

// The peer, or NULL and the reason.
process_peer *process_peer_start(const char **out_why);
void process_peer_stop(process_peer *peer);

// ns of one of `repeat` operations, timed in the child; negative: it is gone.
double process_peer_region(process_peer *peer, unsigned repeat);
double process_peer_axpy(process_peer *peer, size_t count, unsigned repeat);

// The child's part: answers until its parent goes. The program's exit status.
int process_serve(void);

// --- CPU time of an idle process -------------------------------------------

typedef struct process_child {
    pid_t id;
    int descriptor;  // of a socket to the child; negative: not started
} process_child;

// Starts a child that works a little with `what` ("runnel", "pocl", "openmp",
// "nothing"), then idles for `seconds`.
process_child process_idle_start(const char *what, unsigned seconds);

// Waits for the child: ns of CPU time that the child burnt while idle; negative
// if the work failed.
double process_idle_finish(process_child child);

// The child's part.
int process_idle(const char *what, unsigned seconds);

// --- Compiling in a new process --------------------------------------------

// ns from source to function in a child with `setting` ("NAME=value") in its
// environment; negative: it did not compile.
double process_compile_time(char *setting);

// ns to compile BENCH_MANY_KERNELS kernels in a child, without the caches.
double process_compile_many(bool two_threads);

// ns from source to function without Runnel in a child, on a GPU.
double process_compile_by_hand(void);

// The geometric mean of the times to compile each kernel of kernels.c, without
// cache, in a process of its own.
double process_compile_all(void);

// The child's part; 0 threads: one kernel; 3: all kernels; negative: by hand.
int process_compile(int threads);
