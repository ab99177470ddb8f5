// Where a run took place: without it no figure means anything.
#pragma once

#include <stddef.h>

typedef struct bench_machine {
    char cpu[128];
    long cores;            // that this process may use
    char kernel[128];
    char compiler[64];
    char huge_pages[128];  // the kernel's setting
    char settings[512];    // RUNNEL_, OMP_, GOMP_ and POCL_ variables
    double load;           // of the machine when the run began
} bench_machine;

void machine_describe(bench_machine *machine);

// True when other programs were using the cores: the figures are not to be
// quoted.
int machine_is_busy(const bench_machine *machine);
