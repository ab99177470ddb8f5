// A CUDA driver without a GPU: the symbols of backends/cuda/symbols.def on top
// of a second, hidden copy of Runnel and its cpu backend. It is as strict as
// the real one about contexts, handles, order and sizes, and can be told to
// fail (fake_control.h).
//
// With FAKE_HIP it is libamdhip64 instead, from backends/hip/symbols.def:
// hip_calls.c has what HIP declares or does in another way.
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "backends/cudalike/driver/driver.h"
#include "fake_control.h"

#define FAKE_EXPORT __attribute__((visibility("default")))

// --- The functions, by the names of functions.def -------------------------

enum fake_function {
#define FUNCTION(name, parameters) FAKE_##name,
#include "backends/cudalike/driver/functions.def"
#undef FUNCTION
    FAKE_COUNT,
};

#ifdef FAKE_HIP
#define FAKE_IS_HIP true
#define FAKE_SYMBOLS "backends/hip/symbols.def"
#else
#define FAKE_IS_HIP false
#define FAKE_SYMBOLS "backends/cuda/symbols.def"
#endif

// fake_launch is what others know as cuLaunchKernel. The prototype is that of
// functions.def, so that the two cannot part.
#define SYMBOL(name, vendor, suffix, version, need, why) \
    FAKE_EXPORT driver_##name##_fn fake_##name __asm__(#vendor suffix);
#include FAKE_SYMBOLS
#undef SYMBOL

// What HIP has in another shape or not at all.
#define FUNCTION(name, parameters) driver_##name##_fn fake_##name;
#include "backends/cudalike/driver/functions.def"
#undef FUNCTION

// --- Codes ----------------------------------------------------------------

enum fake_code {
    FAKE_OK = 0,
    FAKE_INVALID_VALUE = 1,
    FAKE_OUT_OF_MEMORY = 2,
    FAKE_NOT_INITIALIZED = 3,
    FAKE_DEINITIALIZED = 4,
    FAKE_NO_DEVICE = 100,
    FAKE_INVALID_DEVICE = 101,
    FAKE_INVALID_IMAGE = 200,
    FAKE_INVALID_CONTEXT = 201,
    FAKE_INVALID_PTX = 218,
    FAKE_UNSUPPORTED_PTX = 222,
    FAKE_INVALID_HANDLE = 400,
    FAKE_NOT_FOUND = 500,
    FAKE_NOT_READY = 600,
    FAKE_ILLEGAL_ADDRESS = 700,
    FAKE_OUT_OF_RESOURCES = 701,
    FAKE_LAUNCH_TIMEOUT = 702,
    FAKE_PEER_ALREADY = 704,
    FAKE_PEER_NOT = 705,
    FAKE_DESTROYED = 709,
    FAKE_ASSERT = 710,
    FAKE_HOST_ALREADY = 712,
    FAKE_HOST_NOT_REGISTERED = 713,
    FAKE_LAUNCH_FAILED = 719,
    FAKE_COOPERATIVE_TOO_LARGE = 720,
    FAKE_NOT_PERMITTED = 800,
    FAKE_NOT_SUPPORTED = 801,
    FAKE_CAPTURED = 900,
    FAKE_CAPTURED_EVENT = 907,
    FAKE_INVALID_CLUSTER = 912,
    FAKE_UNKNOWN = 999,
};

// --- Objects --------------------------------------------------------------

enum fake_kind {
    KIND_STREAM = 1,
    KIND_EVENT,
    KIND_MODULE,
    KIND_FUNCTION,
    KIND_GRAPH,
    KIND_NODE,
    KIND_EXEC,
    KIND_LINK,
    KIND_COUNT,
};

struct fake_object {
    enum fake_kind kind;
    struct fake_context *context;
    struct fake_object *next;  // in its bucket
};

#define FAKE_DEVICES 8
#define FAKE_PRIORITIES 6
#define FAKE_QUEUES 32  // of a priority, at most
#define FAKE_MARKS 16

// A hardware queue. Guarded by its context's `queueing`.
struct fake_queue {
    rnl_stream last;    // of the newest item; NULL: gone
    rnl_event started;  // where the newest item has started
    rnl_event marks[FAKE_MARKS];  // likewise, for every so many
    uint64_t items;     // ever submitted
};

// Attributes of a stream, by number.
struct fake_values {
    unsigned char of[11][64];
};

struct fake_context {
    int device;
    uint64_t id;
    struct fake_values legacy;  // of its legacy default stream
    _Atomic size_t references;
    rnl_context inner;
    rnl_buffer memory;          // all addresses there are
    rnl_stream stream;          // the default stream
    _Atomic int sticky;
    _Atomic uint64_t used;      // bytes of the device
    _Atomic uint32_t execs;     // room that executable graphs take; exec.c
    _Atomic uint32_t exec_room;
    _Atomic uint32_t peers;     // bits of contexts that it may reach
    struct fake_kept *kept;     // freed with the context
    pthread_mutex_t submission, queueing, full;  // queue.c
    struct fake_queue queues[FAKE_PRIORITIES][FAKE_QUEUES];
    unsigned next_queue[FAKE_PRIORITIES];
};

enum fake_capture {
    FAKE_CAPTURE_NONE,
    FAKE_CAPTURE_ACTIVE,
    FAKE_CAPTURE_INVALID,
};

struct fake_stream {
    struct fake_object object;
    rnl_stream inner;
    struct fake_queue *queue;
    _Atomic int capture;  // as cuStreamIsCapturing says
    unsigned flags;
    int priority;
    uint64_t id;
    struct fake_values attributes;
};

// Handles of a context's legacy default stream.
static inline bool fake_is_legacy(const void *handle)
{
    return (uintptr_t)handle <= 1;
}

struct fake_event {
    struct fake_object object;
    rnl_event inner;
    bool timing;
    _Atomic bool recorded;
    _Atomic bool captured;  // recorded in a capture last
};

struct fake_module {
    struct fake_object object;
    rnl_module inner;                   // or, of C functions, …
    const struct fake_kernel *kernels;  // … these
    size_t kernel_count;
    bool waits;  // its kernels do, for what they come after
    struct fake_function_object *functions;  // made so far
};

struct fake_function_object {
    struct fake_object object;
    struct fake_module *module;
    struct fake_function_object *next;
    rnl_function inner;
    rnl_function_info info;
    int max_dynamic, carve_out;
};

// Registers an object; frees it. `kind` and `context` are set by fake_new.
void *fake_new(enum fake_kind kind, struct fake_context *context, size_t size);
void fake_delete(void *object);
void fake_values_reset(struct fake_values *values);
// NULL when `handle` is not a living object of the kind.
void *fake_find(enum fake_kind kind, const void *handle);
size_t fake_count(enum fake_kind kind);
// Some living object of the context, or NULL.
void *fake_any(struct fake_context *context, enum fake_kind kind);
void fake_delete_all(struct fake_context *context);
// Ends what the streams have under way.
void fake_cancel_streams(const struct fake_context *context);

// What work under way may look at. Some `size` zeroed bytes that go with the
// context: NULL when there is no memory.
void *fake_keep(struct fake_context *context, size_t size);
void fake_kept_free(struct fake_context *context);
// Of a broken device work may be stuck that looks at it for ever: it stays, and
// is not lost for those who look for leaks.
void fake_strand(void *memory);

struct fake_exec;
void fake_module_drop(struct fake_module *module);
void fake_exec_drop(struct fake_exec *exec);

// --- Entry ----------------------------------------------------------------

// Counts the call and gives the code that it must return, or 0 to go on.
// `out_context`: the current context, which is then required; or NULL.
int fake_enter(enum fake_function function, struct fake_context **out_context);
int fake_enter_named(const char *name);  // of NVRTC
const char *fake_arch(int device);  // of HIP: gcnArchName
void fake_use_stack(void);  // as compilers do

// The same for a function that ends something: it does so in any case, and
// then returns this code. Only a missing context stops it: *out_context NULL.
int fake_enter_release(enum fake_function function,
                       struct fake_context **out_context);

// The next function of this thread is called as this one, for its count, its
// failure and its version.
void fake_enter_as(const char *name);

// HIP's number of an attribute of devices as CUDA's; 0 if CUDA has none.
int fake_attribute_of(int attribute);

const char *fake_name_of(enum fake_function function);
int fake_version(void);

// The same for calls that do not need the object's context to be current.
int fake_enter_for(enum fake_function function, enum fake_kind kind,
                   const void *handle, struct fake_context **out_context);
int fake_device_count_now(void);
uint64_t fake_device_bytes(void);
FAKE_EXPORT fake_failed_fn fake_control_failed;
struct fake_context *fake_current(void);
struct fake_context *fake_context_of(int device);
void fake_reopen(int device);  // whole again, and nothing left of before
void fake_misuse(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

// The code for a status of the library inside.
int fake_code(struct fake_context *context, rnl_status status);
// Waits, in steps, as long as the context is not broken.
int fake_wait_stream(struct fake_context *context, rnl_stream stream);
int fake_wait_context(struct fake_context *context);

// The stream behind a handle, which must be of the current context; NULL is
// the default stream. 0 or a code.
int fake_stream_of(struct fake_context *context, void *handle,
                   rnl_stream *out_inner);

// --- Hardware queues --------------------------------------------------------

// What submits something to a stream does so between the two. Those of the
// context wait for each other, and while a queue is full.
struct fake_turn {
    struct fake_context *context;
    struct fake_queue *queue;
    rnl_stream inner;
    bool submits;
};
int fake_turn_take(struct fake_context *context, void *handle,
                   struct fake_turn *out);
// Also while another call waits for the device.
int fake_turn_take_to_write(struct fake_context *context, void *handle,
                            struct fake_turn *out);
// `waits`: what comes behind it in the queue starts when it is over. The code
// for `status`.
int fake_turn_give(struct fake_turn *turn, bool waits, rnl_status status);

struct fake_queue *fake_queue_choose(struct fake_context *context,
                                     int priority);
// The stream is about to go.
void fake_queue_forget(struct fake_queue *queue, struct fake_context *context,
                       rnl_stream inner);
void fake_queues_close(struct fake_context *context);

// Nobody submits anything meanwhile.
void fake_calls_hold(struct fake_context *context);
void fake_calls_free(struct fake_context *context);
// Returns when no queue is full.
void fake_calls_pass(struct fake_context *context);
// Waits for all that the device does, and holds up all others.
int fake_wait_device(struct fake_context *context);

// --- Memory ---------------------------------------------------------------

enum fake_place {
    PLACE_NONE,  // nothing that the driver knows: ordinary host memory
    PLACE_DEVICE,
    PLACE_MANAGED,
    PLACE_HOST,
    PLACE_REGISTERED,
    PLACE_GLOBAL,
    PLACE_OPENED,  // of another process
};

struct fake_block {
    uintptr_t start;
    size_t size;
    enum fake_place place;
    struct fake_context *context;
};

// The block that holds `size` bytes from `address`; false when there is none.
void fake_blocks_protect(void);  // those of the host, at the end
bool fake_block_find(uint64_t address, size_t size, struct fake_block *out);
bool fake_block_add(const struct fake_block *block);
// Takes the block that starts there out, if it is in one of `places` (bits).
bool fake_block_take(uint64_t address, unsigned places, struct fake_block *out);
// Takes all that is left of a context; how many there were.
size_t fake_blocks_drop(struct fake_context *context);
// A block is about to be freed: no other process can open it any more.
void fake_share_end(const struct fake_block *block);
void fake_blocks_count(size_t *out_blocks, size_t *out_bytes);

// Ordinary memory of the host; that, or page-locked.
bool fake_is_ordinary(const void *pointer);
bool fake_is_of_host(const void *pointer);

// Checks a copy and turns it into Runnel's. `*out_pageable`: one end is
// ordinary host memory.
int fake_copy_convert(const struct driver_copy *from, rnl_copy *to,
                      bool *out_pageable);
// The same for a fill of rows.
int fake_fill_convert(const struct driver_fill_node *from, rnl_fill *to);

// Checks operations; `out` has room for `count`.
int fake_values_convert(struct fake_context *context,
                        const struct driver_value *values, size_t count,
                        rnl_value_op *out);

// Whether one of them waits.
bool fake_values_wait(const struct driver_value *values, size_t count);

// --- Launches -------------------------------------------------------------

#define FAKE_ARGUMENTS 512

struct fake_call {
    rnl_launch launch;
    rnl_args args;
    rnl_launch_attribute attributes[4];
    rnl_arg items[FAKE_ARGUMENTS];
};

// Checks a launch and turns it into Runnel's; the values are read where they
// are.
int fake_launch_convert(struct fake_function_object *function,
                        const struct driver_launch *launch, void **arguments,
                        void **extra, struct fake_call *out);

// How many had their values packed.
extern _Atomic size_t fake_packed;

// What the last call of cuLaunchKernelEx had; written under the lock of its
// stream's turn, for tests that launch from one thread.
#define FAKE_ATTRIBUTES 16
extern struct driver_launch_attribute fake_attributes[FAKE_ATTRIBUTES];
extern unsigned fake_attribute_count;

// Records an event of a launch on what is behind its stream.
int fake_record_inner(void *event, rnl_stream inner);

// The symbol of a variable: "a::b" is _ZN1a1bE.
void fake_mangle(const char *name, char *out, size_t size);

// --- Images ---------------------------------------------------------------

// A cubin of the fake: an ELF file for CUDA whose one section is the payload,
// and whose flags say whether its kernels wait for what they come after.
void *fake_cubin(const void *payload, size_t size, bool waits,
                 size_t *out_size);
// A code object of AMD's, whose metadata describes the kernels.
void *fake_code_object(const void *payload, size_t size,
                       const struct fake_kernel *kernels, size_t count,
                       size_t *out_size);
bool fake_image_waits(const void *image);
// A PTX text that carries the payload in comments behind `head`.
char *fake_ptx(const char *head, const void *payload, size_t size);
// That of the kernel for conditions.
void *fake_condition_kernel(size_t *out_size, int *out_code);
// The payload of any image, to be freed; NULL with the code that tells why.
void *fake_payload(const void *image, size_t *out_size, int *out_code);
