// What a program runs on: RUNNEL_TEST_DEVICE, such as cuda:0, or the cpu.
#pragma once

#include "program.h"

enum { KERNELS = WORK_FAIL - WORK_ADD + 1 };

struct machine {
    rnl_context context;
    rnl_buffer buffers[BUFFERS];
    rnl_buffer words;            // of the host; one of 64 bits for each promise
                                 // that is one
    char *addresses[MEMORIES];   // what kernels see
    rnl_function kernels[KERNELS];
};

// False: the last error says why.
bool machine_open(struct machine *machine, uint32_t threads);
bool machine_read(struct machine *machine, uint8_t memory[MEMORIES][BYTES]);
void machine_close(struct machine *machine);
