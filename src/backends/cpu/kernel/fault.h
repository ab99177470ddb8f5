// Faults of kernels: a signal that a kernel's code raises (a wild pointer, a
// full stack, a division by zero) fails the launch instead of ending the
// process.
//
// The handlers are the process's own, so signals from outside of kernels go to
// the former handlers. Nothing is installed under a sanitizer, which handles
// faults itself, or with RUNNEL_CONTAIN=0.
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

// The failure text of a kernel that overwrote the stack above its frames.
extern const char fault_overwritten[];

// Installs the handlers, once in a process.
void fault_install(void);

// Why the handlers are not installed; "" if they are.
const char *fault_unsupported_reason(void);

// Calls a handler that was there before, as the system would have.
struct sigaction;
void fault_call_former(const struct sigaction *action, int number,
                       siginfo_t *info, void *context);

// In a handler that interrupted the kernel of `runner`: after the handler
// returns, the thread is out of the kernel and the launch fails with `status`.
void fault_leave(struct runner *runner, rnl_status status, void *context);

// Gives the calling thread a signal stack if it has none, because a handler
// cannot run on a full stack; and takes the signal stack back.
void fault_thread_begin(struct runner *runner);
void fault_thread_end(struct runner *runner);

// Back on the runner's native fiber: writes the failure's text if a fault ended
// the kernel.
void fault_report(struct runner *runner);
