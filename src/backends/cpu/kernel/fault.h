// Faults of kernels: a signal that a kernel's code brings on itself (a wild
// pointer, a full stack, a division by zero) fails its launch instead of ending
// the process.
//
// The handlers are the process's own, so whatever is not a kernel's is passed
// on to those that were there before. Nothing is installed under a sanitizer,
// which wants to see faults itself, or with RUNNEL_CONTAIN=0.
#pragma once

#include <runnel/status.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct runner;

enum fault_access {
    FAULT_ACCESS,  // read or write: the processor does not say
    FAULT_READ,
    FAULT_WRITE,
    FAULT_EXECUTE,
};

struct fault {
    int number;         // the signal; 0: none
    int code;           // si_code
    uintptr_t address;  // of the memory, or of the instruction
    enum fault_access access;
    uintptr_t instruction, stack;  // the registers; 0: not known
};

// Why a launch fails whose kernel has overwritten what lies above its frames.
extern const char fault_overwritten[];

// Installs the handlers, once in a process.
void fault_install(void);

// Why they are not installed; "" where they are.
const char *fault_unsupported_reason(void);

// Calls a handler that was there before, as the system would have.
struct sigaction;
void fault_call_former(const struct sigaction *action, int number,
                       siginfo_t *info, void *context);

// In a handler that interrupted the kernel of `runner`: when it returns, the
// thread is out of the kernel and its launch fails with `status`.
void fault_leave(struct runner *runner, rnl_status status, void *context);

// Gives the calling thread a stack for the handlers if it lacks one, because a
// handler cannot run on a stack that is full; and takes it back.
void fault_thread_begin(struct runner *runner);
void fault_thread_end(struct runner *runner);

// Back on the runner's native fiber: writes the failure's text if a fault was
// what led there.
void fault_report(struct runner *runner);
