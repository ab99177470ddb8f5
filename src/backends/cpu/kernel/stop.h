// Kernels that must end early: a stream was cancelled, or a launch has reached
// its time limit.
//
// A signal (SIGURG) makes an OS thread leave its kernel. The handler acts only
// during the meant run, and only in the kernel's own code, where the thread
// holds no lock of any library. Elsewhere (printf, a function of the C library)
// a watchdog signals the thread again a little later, and services check before
// they return.
//
// As for faults (fault.h), the process owns the signal: signals not sent from
// here go to the former handler. The default action of SIGURG is none, so a
// late signal is harmless.
#pragma once

#include "base/thread.h"

#include <runnel/status.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct runner;

enum stop_reason {
    STOP_CANCELLED = 1,
    STOP_LIMIT,
};

// Where the code of a loaded object lies.
struct code_range {
    uintptr_t low, high;
};

// Asks for the end of all that is done for `owner`, again and again until
// `*done` is at least `*until`.
struct stop_request {
    struct stop_request *next;
    const void *owner;
    const _Atomic uint64_t *done;
    const _Atomic uint64_t *until;
    bool listed;                    // guarded by the watchdog's lock
};

// The watchdog of a pool's requests and time limit: a thread that is started on
// demand.
struct watchdog {
    uint64_t limit_ns;              // of each launch; 0: none
    struct lock lock;               // guards the next three
    struct stop_request *requests;
    bool started, stopping;
    pthread_t thread;
    _Atomic uint32_t word;          // futex of the thread
    atomic_bool asleep;             // until something happens
};

// The owner and limit of a run.
struct stop_scope {
    const void *owner;
    uint64_t deadline;              // 0: the limit, from when the run begins
    struct watchdog *watchdog;
};

// An OS thread that runs kernels.
struct stop_thread {
    struct stop_thread *next, **link;
    uint32_t process;               // which the list was for; 0: in none
    pid_t id;
    const void *_Atomic owner;
    _Atomic uint64_t deadline;
    _Atomic uint64_t turn;          // odd while a kernel runs
    _Atomic uint64_t asked;         // the turn that is to end
    _Atomic int reason;
};

// Why running kernels cannot be stopped here; "" where they can.
const char *stop_unsupported_reason(void);

// Installs the handler, once in a process.
void stop_install(void);

// Around a run of the calling thread's; `runner->run` is set.
void stop_begin(struct runner *runner);
void stop_end(struct runner *runner);

// The thread ends.
void stop_thread_end(struct runner *runner);

// Leaves the kernel if that was asked for. For services.
void stop_here(struct runner *runner, uint32_t thread);

// For the signal's number as a fault's, whose code is the reason.
void stop_describe(const struct runner *runner, char *text, size_t size);
bool stop_is_fault(int number);

// The same as a sentence about a launch of which some blocks have not begun.
void stop_describe_launch(enum stop_reason reason, uint64_t limit_ns,
                          char *text, size_t size);

rnl_status stop_status(enum stop_reason reason);

// A watchdog is all zeros before, but for the limit. Starting it fails with
// RNL_ERROR_OUT_OF_MEMORY, recorded, if the system gives no thread.
rnl_status watchdog_start(struct watchdog *watchdog);
void watchdog_finish(struct watchdog *watchdog);

// Adds a request, or checks a listed request again. The watchdog is started.
void watchdog_add(struct watchdog *watchdog, struct stop_request *request);

// Removes a listed request.
void watchdog_remove(struct watchdog *watchdog, struct stop_request *request);
