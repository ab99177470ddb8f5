// Settings of the host program for the library: an allocator and a log
// callback.
#ifndef RUNNEL_HOST_H
#define RUNNEL_HOST_H

#include <runnel/status.h>

// --- Log -------------------------------------------------------------------

// How much a message matters. The library prints nothing by itself: messages
// go to the callback, or to standard error when RUNNEL_LOG is set to `error`,
// `warning`, `info` or `debug`.
typedef enum rnl_log_level {
    RNL_LOG_ERROR = 1,    // an asynchronous failure, a device lost
    RNL_LOG_WARNING = 2,  // something is slower or poorer than it could be
    RNL_LOG_INFO = 3,     // rare facts: device opened, compiler found
    RNL_LOG_DEBUG = 4,    // every failing call, every compile, cache traffic
} rnl_log_level;

// Receives one message, without line end. Called on whatever thread the message
// is born on, never under a lock of the library; must not call Runnel.
typedef void (*rnl_log_fn)(rnl_log_level level, const char *message,
                           void *user_data);

RNL_BEGIN_DECLS

// Sends messages of `level` and more important ones to `log`; NULL restores the
// environment's choice. `user_data` must live until the callback is replaced
// and calls in progress on other threads have returned.
RNL_API rnl_status rnl_log_set(rnl_log_fn log, rnl_log_level level,
                               void *user_data);

// --- Allocator -------------------------------------------------------------

// Returns memory aligned to `alignment`, a power of two, or NULL. Called from
// any thread; must not call Runnel.
typedef void *(*rnl_allocate_fn)(size_t size, size_t alignment,
                                 void *user_data);

// Takes back what rnl_allocate_fn gave, with the same size. Called from any
// thread; must not call Runnel.
typedef void (*rnl_release_fn)(void *memory, size_t size, void *user_data);

// Host memory for the library's own objects (device and buffer memory comes
// from the backend).
typedef struct rnl_allocator {
    size_t struct_size;
    rnl_allocate_fn allocate;
    rnl_release_fn release;
    void *user_data;
} rnl_allocator;

#define RNL_ALLOCATOR(...) RNL_LITERAL(rnl_allocator, __VA_ARGS__)

// Replaces the allocator; NULL restores the C library's. Copied. Legal only
// while the library holds no memory (first thing in the program, or after
// rnl_trim with every object released), otherwise RNL_ERROR_INVALID_STATE.
RNL_API rnl_status rnl_allocator_set(const rnl_allocator *allocator);

// Gives memory back that the library keeps for reuse. Always succeeds; returns
// the bytes of host memory that it still holds through `out_held` (may be
// NULL): 0 when no object lives. While objects live, their memory is kept. No
// other thread may be inside the library. A context that was released with work
// in flight ends a moment after its last work.
RNL_API rnl_status rnl_trim(size_t *out_held);

RNL_END_DECLS

#endif
