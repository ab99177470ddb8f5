// The engines NCCL and RCCL, which have the same functions.
#pragma once

#include "comm_internal.h"

#define NCCL_UNHANDLED 1    // ncclUnhandledCudaError
#define NCCL_IN_PROGRESS 7  // ncclInProgress
#define NCCL_ENDED -1       // not the engine's: the communicator has ended

struct nccl_id {  // ncclUniqueId
    char bytes[128];
};

// ncclConfig_t as of 2.14; later versions take it by its size and version.
struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

struct nccl_functions {
#define SYMBOL(name, vendor, result, parameters) result(*name) parameters;
#include "nccl.def"
#undef SYMBOL
};

// NCCL with CUDA's driver, or RCCL with HIP.
struct nccl {
    const char *name, *variable, *const *libraries;
    const char *driver_variable, *driver;  // that Runnel has loaded already
    const char *get_name, *set_name;       // of the current context or device
    bool by_device;
    bool loaded;
    struct nccl_functions call;
    int (*get_context)(void **out_context);
    int (*get_device)(int *out_device);
    int (*set_context)(void *context);
    int (*set_device)(int device);
    int number;  // 22105 for 2.21.5
    char version[32];
};

extern struct nccl nccl, rccl;

struct nccl *nccl_of(const struct comm *comm);
rnl_status nccl_load(const struct engine *engine);

// Makes the communicator's device current, as NCCL's calls need; `before` is
// for nccl_leave.
struct nccl_current {
    void *context;
    int device;
};
struct nccl_current nccl_enter(const struct comm *comm);
void nccl_leave(const struct comm *comm, struct nccl_current before);

// Asks for the state of the last call, or returns NCCL_ENDED. The caller has
// the communicator's lock: each call of the engine for a communicator needs
// that lock, and that neither `aborted` nor `nccl.ended` is set. The last call,
// which ends the engine's communicator, needs no lock.
int nccl_state_locked(struct comm *comm);

// The engine's words for a result.
void nccl_error(const struct comm *comm, int result, char *text, size_t size);

// --- The end of communicators (nccl_end.c) -----------------------------------

// Ends the engine's communicator on a thread of its own.
void nccl_begin_abort(struct comm *comm);
// The same once its operations are done.
void nccl_begin_release(struct comm *comm);
// Waits until the engine does not use memory of the calling thread, which began
// work for the communicator, by the communicator's time limit at most.
void nccl_await_end(const struct comm *comm);
// At exit, the process waits a while for communicators that end.
void nccl_watch_exit(void);

// --- Operations in flight (nccl_watch.c) -------------------------------------

// An operation that a stream has: looked after until it is done.
struct flight {
    struct flight *next;    // of another stream
    struct flight *behind;  // of the same stream
    struct flight *last;    // of the same stream; for the first one
    struct comm *comm;      // pinned
    struct comm_op op;
    rnl_stream stream;
    rnl_event before, after;  // around it; `before` NULL without time limit
    uint64_t deadline;        // 0: it has not begun
    bool failed;              // its stream has failed for it
};

// Records the event before the operation, and has a thread that looks after
// it; NULL after a report.
struct flight *flight_begin(const struct comm_work *work, const char *function);
// Records the event behind and has the flight looked after. Otherwise the
// stream has failed, and the flight is dropped.
rnl_status flight_go(struct flight *flight);
void flight_drop(struct flight *flight);

// Fails the streams of all operations in flight of a communicator.
void flights_fail(struct comm *comm, rnl_status status, const char *why);
bool flights_are_done(const struct comm *comm);
