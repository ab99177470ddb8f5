// Fibers: separate stacks, between which an OS thread switches by itself.
//
// A fiber belongs to its creating OS thread and runs nowhere else. The stack
// has guard pages on both sides, and the record lies elsewhere, out of reach of
// a stack overrun. All memory comes straight from the system, so a waiting
// fiber in a pool holds nothing of the library's allocator.
#pragma once

#include "backends/cpu/kernel/guarded.h"
#include "backends/cpu/kernel/tuning.h"

#include <runnel/cpu_object.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

enum { FIBER_KEPT_WORDS = 21 };

// Aligned, so that fibers of different OS threads share no cache line.
struct fiber {
    _Alignas(64) void *stack_pointer;  // while it does not run
    struct fiber *next;       // for its owner
    struct fiber *next_made;  // for its owner: all fibers of a thread
    bool busy;                // for its owner
    char *low;                // lowest usable byte; NULL for an OS thread
    size_t size;
    char *stack;              // its memory; NULL for an OS thread
    void (*run)(void *);
    void *argument;
    struct fiber_page *page;  // where this record lies
    uint64_t kept[FIBER_KEPT_WORDS];  // registers of kernel_call()
    void *fake_stack;         // of the address sanitizer
    void *tsan;               // of the thread sanitizer
#if !defined(__x86_64__) && !defined(__aarch64__)
    ucontext_t context;       // where it starts
#endif
};

// A fiber that will call run(argument), which must never return. NULL when
// memory is short.
struct fiber *fiber_create(void (*run)(void *), void *argument);

// Restarts the fiber from the beginning. The content of the stack is lost.
void fiber_reset(struct fiber *fiber, void (*run)(void *), void *argument);

// Not the one that runs.
void fiber_destroy(struct fiber *fiber);

// Makes `fiber` stand for the calling OS thread, to be switched from and to.
void fiber_init_native(struct fiber *fiber);

// Leaves `from`, which runs, and goes on with `to`. Returns when something
// switches to `from` again.
void fiber_switch(struct fiber *from, struct fiber *to);

// In a signal handler that interrupted `from` (`context` is the handler's third
// argument): leaves `from` for good and continues `to` when the handler
// returns. `from` must be reset before another run.
void fiber_abandon(struct fiber *from, struct fiber *to, void *context);

// The interrupted code's stack pointer and next instruction; 0 if unknown.
uintptr_t fiber_context_stack(const void *context);
uintptr_t fiber_context_instruction(const void *context);

// Which guard of the stack an address lies in.
enum guard_side fiber_guard(const struct fiber *fiber, uintptr_t address);

// Address space that a fiber takes.
size_t fiber_held(void);

// --- Calls of kernel code (kernel_call.c) ------------------------------------
//
// A kernel may overwrite all of its stack, so the values that the caller needs
// afterwards are in the fiber's record, out of the kernel's reach.

// run_blocks of a kernel, or run_threads, which does not look at the count.
typedef void kernel_function(void);

// Runs kernel(block, count) on `fiber`, which runs. False if the kernel has
// overwritten the stack above its own frames: the caller's variables are not to
// be trusted then.
bool kernel_call(struct fiber *fiber, kernel_function *kernel,
                 rnl_cpu_block *block, uint64_t count);

// Whether the stack above the frames of the kernel that `fiber` runs is as
// kernel_call left it.
bool kernel_call_is_intact(const struct fiber *fiber);
