// Injected faults: allocations through the library's allocator, and calls of
// the C library that librunnel makes, which this program's own functions of the
// same names stand in for. Calls that others make always pass.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum fault_kind {
    FAULT_MEMORY = 1,  // the allocator, and memory taken from libc directly
    FAULT_THREAD = 2,  // pthread_create
    FAULT_SYSTEM = 4,  // files, mappings, processes, libraries
    FAULT_ANY = 7,
    FAULT_WAIT = 8,    // system calls that wait: interrupted, once only
};

// Faults are numbered from 0 as they become due, over all kinds of the plan.
struct fault_plan {
    unsigned kinds;
    long first;     // this one fails,
    long second;    // and the one so many behind it; 0: none
    bool for_ever;  // and all behind the first
    int error;      // errno of failed system calls; 0: read and write end early
};

void fault_arm(const struct fault_plan *plan);

// Returns how many have failed since fault_arm.
long fault_disarm(void);
long fault_met(void);

// True in a plan whose failures end, so that a call may be made again.
bool fault_ends(void);
bool fault_is_armed(void);

// How many faults of a kind this process has injected.
long fault_total(enum fault_kind kind);

// For allocators of tests: true if this allocation is to fail.
bool fault_of_memory(void);

// Prints the places in the library whose system calls have failed, as members.
void fault_print_sites(void);
