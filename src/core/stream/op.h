// An operation: a piece of work as data. The front door checks and completes an
// op; the backend queues and performs the op. A node of a graph keeps ops, too.
#pragma once

#include "core/object/context_object.h"
#include "core/tuning.h"

enum op_kind {
    OP_KERNEL,  // op->kernel
    OP_COPY,    // op->copy
    OP_FILL,    // op->fill
    OP_HOST,    // op->host
    OP_MEMORY_OPS,  // op->memory_ops
    OP_WAIT,    // made by backends: wait for another stream
    OP_TIMESTAMP,   // made by backends: an event's time
    OP_RELEASE, // nothing but to keep something alive up to here
    OP_GRAPH,   // op->graph
    OP_PREFETCH,// op->hint; `what` is a rnl_memory_target
    OP_ATTACH,  // op->hint; `what` is a rnl_attach_mode
    OP_ATTRIBUTES, // made by backends: what the stream's next work has
    OP_RECORDING,  // op->kernel, which records events; it borrows
};

struct op_kernel {
    struct function *function;
    rnl_dim3 grid, block, cluster;
    size_t shared_size;
    // The address of each value, and the attributes. They are in the payload,
    // unless the op borrows.
    const void *const *arguments;
    // Where the function packs: the values themselves, at the offsets of its
    // places. A launch that borrows has no addresses then.
    const void *packed;
    // Checked, each at most once and none without a meaning of its own, windows
    // by address. Events (launch_attribute.h) only where the launch borrows.
    const rnl_launch_attribute *attributes;
    size_t attribute_count;
};

// Addresses are resolved; extents are at least 1 (no empty op is made); pitches
// are filled in. `payload` data (a launch's constants) may be the source.
struct op_copy {
    char *to;
    const char *from;
    size_t width, height, depth;
    size_t to_row, to_slice, from_row, from_slice;
    struct context *to_context, *from_context;  // NULL: a raw pointer
    bool to_host, from_host;  // a buffer of page-locked memory
    // For a copy that the caller waits for; else NULL. A backend that waits by
    // itself sets the flag: then the backend has taken over the op, also on
    // failure.
    bool *awaited;
};

struct op_fill {
    char *to;
    size_t width, height, depth, row, slice;
    uint64_t pattern;
    size_t pattern_size;
};

// For managed memory.
struct op_hint {
    void *address;
    size_t size;
    int what;
};

struct op_host {
    rnl_host_fn function;
    void *user_data;
};

struct op_graph {
    struct graph_exec *exec;  // kept
};

// A word of memory to write or to wait for; checked, the address resolved.
struct memory_op {
    rnl_value_action action;
    uint16_t width;  // 32 or 64
    uint16_t flags;  // RNL_VALUE_…
    char *address;
    uint64_t value;
};

struct op_memory_ops {
    const struct memory_op *items;  // in the payload
    size_t count;               // at least 1
    size_t done;                // the backend's: how many are behind it
};

#define OP_INLINE_PAYLOAD 192
#define OP_INLINE_KEPT 2
#define OP_BACKEND_WORDS 6

// How a launch that borrows ended.
enum launch_result {
    LAUNCH_DONE,      // the device has it
    LAUNCH_NEEDS_OP,  // nothing was done: only an op can do it
    LAUNCH_FAILED,    // the failure is recorded
};

struct op {
    struct op *next;  // for whoever holds the op
    struct stream *stream;
    uint64_t sequence;  // its number on the stream; set at submission
    enum op_kind kind;
    bool borrows;  // a launch: all is the caller's, the op itself as well, and
                   // only buffers are kept (backend.h, stream_launch)
    int line;
    const char *file;   // where it was enqueued; NULL when not known
    const char *label;  // in the payload like those, or NULL
    struct object **kept;  // references that end with the op
    size_t kept_count;
    void *payload;
    size_t payload_size;
    struct object *kept_inline[OP_INLINE_KEPT];
    union {
        struct op_kernel kernel;
        struct op_copy copy;
        struct op_fill fill;
        struct op_host host;
        struct op_graph graph;
        struct op_memory_ops memory_ops;
        struct op_hint hint;
    };
    uint64_t backend[OP_BACKEND_WORDS];  // the backend's own
    _Alignas(64) unsigned char inline_payload[OP_INLINE_PAYLOAD];
};

// Fetches the part of an op that every launch touches; NULL is fine.
static inline void op_prefetch(const struct op *op)
{
    uintptr_t first = (uintptr_t)op;  // a number: NULL has no neighbours
    __builtin_prefetch((const void *)first, 1);
    __builtin_prefetch((const void *)(first + 64), 1);
    __builtin_prefetch((const void *)(first + 128), 1);
}

// A new op for `stream` with `payload_size` bytes of payload, aligned to 64.
// NULL after recording RNL_ERROR_OUT_OF_MEMORY.
struct op *op_create(struct stream *stream, enum op_kind kind,
                     size_t payload_size);

void op_unref_released(const struct op *op, struct object *kept);

// Gives up a reference of an op that is submitted but not done. A release by
// another thread meanwhile has not seen the op; the op sees the release.
static inline void op_unref(const struct op *op, struct object *kept)
{
    uint64_t counts = atomic_load_explicit(&kept->counts,
                                           memory_order_relaxed);
    // Nearly always it has users, and this is not the last reference.
    if (__builtin_expect(counts_users(counts) == 0 ||
                             counts_references(counts) == 1, 0) ||
        !atomic_compare_exchange_strong_explicit(
            &kept->counts, &counts, counts - 1, memory_order_release,
            memory_order_relaxed))
        op_unref_released(op, kept);
}

// Drops memory that goes with the stream of an op which is submitted, and which
// nobody else has yet. Ends no object, so it may be called under locks.
void op_unref_ordered(struct op *op);

// Gives up the op's references and recycles the op. Called by the backend,
// outside its locks, once the op is done, or by the front door for an op never
// submitted.
void op_finish(struct op *op);

// Whether op_finish only gives memory back to a pool: a deleter may wait for
// what waits for the op.
bool op_calls_nobody(const struct op *op);

// "copy", "fill", …, or the kernel's name.
const char *op_name(const struct op *op);

// Gives the op to the stream's backend, or to the batch of a batched stream;
// waits for the op if RUNNEL_BLOCKING is set.
rnl_status op_submit(struct op *op);

// The same, and waits for the stream in any case. Takes the op over.
rnl_status op_submit_and_wait(struct op *op);

// op_finish and op_submit for a list linked by `next`, in order; may be empty.
void op_finish_list(struct op *op);
rnl_status op_submit_list(struct op *op);

// Frees the calling thread's and the common cache of ops.
void op_trim(void);

// Finished ops are kept for reuse, but at most 1 MiB of ops while the program
// is at rest: op_free_surplus frees surplus ops for at most 100 us and returns
// whether some are left.
extern _Atomic uint32_t op_batches;
static inline bool op_has_surplus(void)
{
    return __builtin_expect(atomic_load(&op_batches) > OP_BATCHES_AT_REST, 0);
}
bool op_free_surplus(void);

// In the child after fork: the common cache may have been half changed.
void op_forked(void);

// Calls a host function with `status`. If the function failed its stream, the
// result is that status, and the failure the thread's last one.
rnl_status host_function_call(const struct op_host *host, rnl_status status);

// The sentence for the failure `status` that the native function of `op`
// returned, if the function gave one with rnl_native_fail; keeps the op's
// buffers for good if the function asked for that.
bool native_failure_take(const struct op *op, rnl_status status,
                         char *message, size_t size);

// A call of a host function; not submitted.
rnl_status make_host_op(struct stream *stream, rnl_host_fn function,
                        void *user_data, struct op **out_op);
