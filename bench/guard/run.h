// The common part of the programs for guard.sh:
//
//   PROGRAM OPERATION COUNT   runs the operation so many times
//   PROGRAM --list            names the operations
#pragma once

#include <runnel/runnel.h>

typedef struct setup setup;  // each program's own

typedef struct guard_operation {
    const char *name;
    rnl_status (*run)(const setup *);
    rnl_status (*before)(setup *), (*after)(setup *);  // or NULL
    bool second;  // on a thread of its own, when the first has done it, too
} guard_operation;

typedef struct guard_program {
    const guard_operation *operations;
    size_t count;
    setup *with;
    rnl_status (*open)(setup *);
    void (*close)(setup *);
} guard_program;

// Runs the program; returns the exit status of main.
int guard_main(const guard_program *program, int count, char **arguments);
