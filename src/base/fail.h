// The state of a thread inside the library: the current call, whether calls are
// allowed, and the details of the last failure.
#pragma once

#include <runnel/status.h>
#include <stdarg.h>
#include <stdatomic.h>

#define THREAD_LOOKUPS 12
#define THREAD_HAZARDS 4

// Small and hot, so it lives in the static block of thread-local storage.
struct thread_state {
    // Fields that a launch reads are together. Not aligned to a cache line: C
    // libraries that load this library late may have no room for the alignment.
    const char *function;   // the public function being called
    unsigned callback_depth;// inside host functions, native kernels, deleters;
                            // THREAD_NEW besides
    unsigned release_depth; // of these, inside those that may release
    bool end_noticed;       // its end will empty the cache
    _Atomic bool
        uses_hazards;  // other threads see its hazard pointers without a fence
                       // of its own
    const void *_Atomic hazards[THREAD_HAZARDS];  // must not end meanwhile
    const void
        *_Atomic lookups[THREAD_LOOKUPS];  // the last found of each kind, and
                                           // the object whose label is copied
    unsigned cached_ops;
    unsigned beside;                        // inside fail_beside
    unsigned held_count;
    void *held[THREAD_HAZARDS];              // what the call has references to
    uint64_t number;        // 0: none yet
    struct op *op_cache;
    struct thread_state *next;              // of all threads that made a call
    struct thread_state **_Atomic link;     // NULL: not listed
};

// In callback_depth, where it costs a call nothing: the thread made none yet.
#define THREAD_NEW (1u << 31)

extern _Thread_local struct thread_state thread_state
    __attribute__((tls_model("initial-exec")));

// First statement of every public call that no callback may make.
#define ENTER() enter_call(__func__)

// The first statement of calls that release, which some callbacks may make.
#define ENTER_RELEASE() enter_release(__func__)

rnl_status enter_first_or_refuse(const char *function);
rnl_status enter_release_or_refuse(const char *function);

static inline rnl_status enter_call(const char *function)
{
    if (__builtin_expect(thread_state.callback_depth != 0, 0))
        return enter_first_or_refuse(function);
    thread_state.function = function;
    return RNL_OK;
}

static inline rnl_status enter_release(const char *function)
{
    if (__builtin_expect(thread_state.callback_depth != 0, 0))
        return enter_release_or_refuse(function);
    thread_state.function = function;
    return RNL_OK;
}

static inline void callback_begin(void)
{
    thread_state.callback_depth++;
}

static inline void callback_end(void)
{
    thread_state.callback_depth--;
}

// callback_begin and callback_end for a host function, a destroy function or a
// deleter, which may release objects and may wait: the thread holds no lock.
// The end gets the result of the begin.
const char *releasing_callback_begin(void);
void releasing_callback_end(const char *function);

// Whether threads_visit visits this thread and asymmetric_fence_heavy reaches
// it: nearly always, and the same during a call.
static inline bool thread_has_hazards(void)
{
    return atomic_load_explicit(&thread_state.uses_hazards,
                                memory_order_relaxed);
}

// A number that no other thread ever has, and not 0.
uint64_t thread_choose_number(void);

static inline uint64_t thread_number(void)
{
    return __builtin_expect(thread_state.number != 0, 1)
               ? thread_state.number
               : thread_choose_number();
}

// Records a failure of this call: the first word of every error is here. Each
// returns `status`, so that a caller can return it in turn.
rnl_status fail(rnl_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The same, and names the parameter at fault.
rnl_status fail_at(rnl_status status, const char *parameter,
                   const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// The same with a compiler's output: the most telling line becomes part of the
// message, and the whole output the failure's log.
rnl_status fail_compiler(rnl_status status, const char *what,
                         const char *log);

// Whether a number is the status of an error.
static inline bool status_is_error(rnl_status status)
{
    return status >= RNL_ERROR_INVALID_ARGUMENT &&
           status <= RNL_ERROR_KERNEL_LIMIT;
}

// The status of the failure just recorded.
rnl_status fail_status(void);

// Adds to the failure just recorded.
void fail_set_object(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
void fail_set_function(const char *name);
void fail_set_native(int64_t code, const char *text);
void fail_set_log(const char *log);

// Calls `what` beside the call: failures there are recorded apart, as in a
// callback, and the failure of the call itself stays.
void fail_beside(void (*what)(void *argument), void *argument);

// Records a failure with every detail given; strings are copied, but for the
// function, which is the current call's. `site_file` is kept by pointer.
rnl_status fail_with(const rnl_error *details);

// Has `hook` called when a thread that passed through thread_notice_exit ends.
// One hook; set by the core.
void thread_set_exit_hook(void (*hook)(void));

// Makes sure that the calling thread's end is noticed; false when it cannot be.
bool thread_notice_exit(void);

// Tells all threads whether asymmetric_fence_light needs no instruction: called
// where the mode changes.
void threads_note_fences(void);

// Ensures that threads_visit visits the calling thread, also a thread of the
// library; false if this is impossible.
bool thread_is_visited(void);

// Visits every thread that made a call and has not ended, under a lock.
void threads_visit(void (*visit)(const struct thread_state *thread,
                                 void *argument), void *argument);
