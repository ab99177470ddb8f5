// The objects of the library as the core sees them. A backend's own part of an
// object follows the core's in the same memory: `stream_native(stream)`.
#pragma once

#include "core/memory_pool.h"
#include "core/object.h"

#include <runnel/runnel.h>

struct backend;
struct host_range;
struct named;
struct op;

// The first asynchronous failure of a stream, and whose fault it was. Counted:
// dependent streams share it.
struct failure {
    _Atomic uint32_t references;
    rnl_status status;
    uint64_t operation;  // 0 when nothing more is known
    const char *file;
    int line;
    char stream[160];
    char name[128];
    char label[128];
    char message[512];
};

struct device {
    struct object object;
    const struct backend *backend;
    uint32_t index;  // within its api
    rnl_device_info info;
};

// Host memory that a context allocated or was told of.
struct host_ranges {
    struct host_range *tree;
    struct host_range *_Atomic kept;  // freed, oldest first: work may use it
    struct host_range *last_kept;
};

struct context {
    struct object object;
    struct device *device;
    const struct backend *backend;
    uint32_t features;            // BACKEND_FEATURE bits
    uint32_t launch_attributes;   // BACKEND_ATTRIBUTE bits that have an effect
    struct failure *_Atomic lost; // set once: the context is unusable
    rnl_context_options options;  // `label` is in object.label
    void *adopted;                // the vendor's context, its owner's; or NULL
    uint32_t adopted_index;       // its device's, within the api
    // The newest one: its memory goes with the context.
    struct stream *_Atomic default_stream;
    _Atomic bool has_batched;     // a batched stream was created
    struct lock owned_lock;       // guards what goes with the caller's last
                                  // reference: default stream and pool
    struct lock lock;             // guards the lists below
    struct stream *streams;       // every stream that is not finished
    struct peer *peers;           // contexts whose memory it may use
    struct host_ranges host_ranges;
    struct compiled *compiled;        // rnl_function_compile's cache
    _Atomic uint64_t found_buffer;    // a handle: found last by address
    struct memory_pool pool;
    _Alignas(64) max_align_t native[];
};

// Those that can be set; sync_policy 0 stands for RNL_SYNC_AUTO.
struct stream_attributes {
    rnl_access_policy access_policy;
    rnl_sync_policy sync_policy;
    rnl_domain_map domain_map;
    rnl_memory_domain domain;
};

struct capture;

// Nodes of the graph of a capture, by index.
struct node_set {
    uint32_t *items;
    uint32_t count, most;
};

struct stream {
    struct object object;
    // What a launch looks at, and those who run it: nothing here is written
    // with each operation.
    const struct backend *backend;
    rnl_stream_flags flags;
    // The backend's stream_submit where it takes launches that borrow (op.h),
    // while the stream is not captured; else NULL.
    rnl_status (*launch_at_once)(struct stream *stream, struct op *op);
    struct failure *_Atomic failure;  // the first one; NULL while all is well
    _Atomic uint32_t attribute_changes; // how often they were set
    int priority;
    void *borrowed;                   // a vendor's stream, not ours to destroy;
                                      // maybe RNL_NATIVE_LEGACY
    _Atomic bool is_default;
    bool over;                        // a default stream: only its memory is
                                      // left. Guarded by context->owned_lock
    struct stream *next, **link;      // in context->streams
    // Of a batched stream: what is not submitted yet. The lock guards it, and
    // the order in which batches are submitted.
    struct lock batch_lock;
    bool batch_closed;                // nobody is left to submit what is added
    unsigned batch_growth;            // how often it was full since a flush
    _Atomic uint32_t batch_count;     // 0 only once `enqueued` has them
    struct op *batch, *batch_last;
    struct lock attribute_lock;       // guards the attributes
    struct stream_attributes attributes;
    _Atomic int sync_policy;          // the attribute once more, for waits
    // Operations are numbered from 1 on each stream. `enqueued` is written
    // only by the backend's submit, under its own lock.
    _Atomic uint64_t enqueued;
    // How far it got, where the backend knows; NULL: work is done when its
    // submission returns.
    const _Atomic uint64_t *_Atomic completed;
    struct lock failure_lock;         // guards `failure`
    _Atomic bool inherited;           // it is another stream's
    // Guarded by the lock in capture.c, as all of its kind.
    struct capture *_Atomic capture;  // NULL: not captured
    struct node_set after;            // what the next node comes after
    struct pool_waiting waiting;      // memory to be had when work is done
    _Alignas(64) max_align_t native[];
};

struct event {
    struct object object;
    // All that making and releasing one look at is here and in the head.
    const struct backend *backend;
    rnl_event_options options;
    struct pool_part *part;  // where it is kept once it is dead
    _Atomic bool recorded;   // at least once, on a stream that runs
    _Atomic bool captured;   // it stands for nodes of `capture`
    struct capture *capture; // referenced; guarded by the lock in capture.c
    struct node_set after;
    _Alignas(64) max_align_t native[];
};

// Neither a promise nor an interprocess event; told by one look at both.
static inline bool event_is_plain(const struct event *event)
{
    uint16_t both;
    _Static_assert(offsetof(rnl_event_options, promise) ==
                       offsetof(rnl_event_options, interprocess) + 1,
                   "the two are neighbours");
    __builtin_memcpy(&both,
                     (const char *)&event->options +
                         offsetof(rnl_event_options, interprocess),
                     sizeof both);
    return both == 0;
}

enum map_state {
    MAP_NONE,
    MAP_CHANGES,  // a call begins or ends the mapping
    MAP_DONE,
};

struct buffer {
    struct object object;
    const struct backend *backend;
    rnl_memory_kind kind;
    rnl_element element;           // with `memory` in what a launch reads
    size_t size;
    struct memory memory;
    bool borrowed;                 // not ours to free
    rnl_deleter_fn deleter;
    void *user_data;
    struct object *owner;          // referenced: a slice's whole, or the module
    rnl_buffer parent;             // of a slice: not referenced, may be dead
    struct stream *_Atomic release_stream; // referenced; NULL: the default one
    _Atomic uint64_t release_point; // how far that one was at the release
    struct pool_part *part;        // where its memory is kept; NULL: nowhere
    struct buffer *next_kept;
    size_t capacity;               // bytes that its memory has
    bool set_aside;                // the memory is the pool's own
    bool spent;                    // nothing of it is for another buffer
    rnl_attach_mode attach_mode;
    struct lock lock;              // guards attach_mode and the mapping
    enum map_state map_state;
    rnl_map_mode map_mode;
    void *map_shadow;              // host copy of a mapping, where needed
    _Alignas(64) max_align_t native[];
};

struct module {
    struct object object;
    const struct backend *backend;
    void *binary;
    size_t binary_size;
    char *log;
    const struct source *source;  // during module_init; NULL for binaries
    bool loaded;                // else only the binary is of use
    // Why not all names of kernels are known, by module_init; NULL: they are.
    const char *names_lack;
    _Alignas(64) max_align_t native[];
};

// Of how many arguments on launches have their values packed: drivers copy few
// as fast one by one; and up to how many bytes, which lie on the stack.
enum { PACKED_LEAST = 8, PACKED_MOST = 1000 };

// What a launch has to know of a parameter.
struct place {
    uint64_t shape;   // the first one of plain values that fit, with …
    uint32_t kinds;   // … so many, one behind the other; others: look closer
    uint32_t offset;  // of its value, where they are copied
};

static inline uint64_t value_shape(uint32_t kind, uint32_t size)
{
    return (uint64_t)size << 32 | kind;
}

static inline bool place_fits(const struct place *place, uint32_t kind,
                              uint32_t size)
{
    return value_shape(kind, size) - place->shape < place->kinds;
}

// Of a value that comes behind others, which end there.
size_t parameter_offset(const rnl_parameter *parameter, size_t end);

struct function {
    struct object object;
    // What a launch looks at, in the cache line in which the object ends.
    size_t parameter_count;
    struct place *places;       // one for each parameter
    _Atomic size_t shared_most; // dynamic, that a launch may ask for
    rnl_dim3 most_grid, most_block;  // the device's limits
    uint32_t most_threads;      // of a block
    bool is_usual;              // its static shared memory fits, and its source
                                // asks for no cluster
    bool takes_plain;           // each is a pointer or a number
    bool packs;                 // launches have them packed (op.h)
    const struct backend *backend;
    struct module *module;      // referenced; NULL for native functions
    char *name, *symbol;        // the name is the object's label
    rnl_parameter *parameters;  // `type` texts are owned, too
    // Of values that are copied one behind the other; a power of two, at most
    // 64.
    size_t values_size, values_alignment;
    rnl_function_info info;     // pointers in it point at the fields above
    _Atomic int carveout;       // percent; RNL_CARVEOUT_DEFAULT: as it likes
    struct named *_Atomic named;    // where the context's cache has it
    rnl_native_fn native_fn;    // NULL unless native
    void *user_data;
    _Alignas(64) max_align_t native[];
};

_Static_assert(offsetof(struct function, backend) <= 128,
               "what a launch looks at fits into that line");

#define CORE_NATIVE(type)                                     \
    static inline void *type##_native(struct type *object)    \
    {                                                         \
        return object->native;                                \
    }
CORE_NATIVE(context)
CORE_NATIVE(stream)
CORE_NATIVE(event)
CORE_NATIVE(buffer)
CORE_NATIVE(module)
CORE_NATIVE(function)
#undef CORE_NATIVE

// --- Checks: one per kind; each records the failure and names the parameter --
//
// What a check of a kind that is guarded (object.h) gives lives until the call
// ends, in whatever way. The call says so where it begins, which
// tools/check_calls.py looks after:
//
//     CALL status = ENTER();
//
// A device lives for ever. An event lives as long as others do not use it
// again: its own lock tells a call that it is dead by now.

// What the call guards may end from now on. One that was refused, inside a
// callback, leaves to the call around it what that guards.
static inline void call_end(const rnl_status *status)
{
    (void)status;
    if (__builtin_expect(thread_state.callback_depth != 0, 0))
        return;
    object_clear(GUARD_CONTEXT);  // one by one: no loop at the end of each call
    object_clear(GUARD_STREAM);
    object_clear(GUARD_CODE);
    object_clear(GUARD_OTHER);
    object_call_ends();
}

#define CALL __attribute__((cleanup(call_end))) rnl_status

#define CORE_CHECK_FOUND(name, type, KIND, found)                           \
    static inline rnl_status check_##name(rnl_##type handle,                \
                                          const char *parameter,            \
                                          struct type **out)                \
    {                                                                       \
        struct object *object = found;                                      \
        *out = (struct type *)object;                                       \
        return __builtin_expect(object != NULL, 1)                          \
                   ? RNL_OK                                                 \
                   : object_refuse(handle, KIND, parameter);                \
    }
#define CORE_CHECK_GUARDED(name, type, KIND, GUARD) \
    CORE_CHECK_FOUND(name, type, KIND, object_guard(handle, KIND, GUARD))
#define CORE_CHECK(type, KIND) \
    CORE_CHECK_FOUND(type, type, KIND, object_find(handle, KIND))
CORE_CHECK(device, OBJECT_DEVICE)
CORE_CHECK(event, OBJECT_EVENT)
CORE_CHECK_GUARDED(context, context, OBJECT_CONTEXT, GUARD_CONTEXT)
CORE_CHECK_GUARDED(stream, stream, OBJECT_STREAM, GUARD_STREAM)
CORE_CHECK_GUARDED(module, module, OBJECT_MODULE, GUARD_CODE)
CORE_CHECK_GUARDED(function, function, OBJECT_FUNCTION, GUARD_CODE)
// The second of a kind that a call is given.
CORE_CHECK_GUARDED(other_context, context, OBJECT_CONTEXT, GUARD_OTHER)
CORE_CHECK_GUARDED(other_stream, stream, OBJECT_STREAM, GUARD_OTHER)
#undef CORE_CHECK
#undef CORE_CHECK_GUARDED
#undef CORE_CHECK_FOUND

static inline struct context *stream_context(const struct stream *stream)
{
    return stream->object.context;
}

// Copies an options struct of any version into `options`, which has the
// defaults (zeros): a shorter one leaves the rest at its default, a longer one
// is refused if it asks for something this version does not know. `given` may
// be NULL.
rnl_status options_read(void *options, size_t size, const void *given,
                        const char *parameter);

// Checks an out-struct's struct_size, and copies as much as the caller has room
// for.
rnl_status info_check(const void *out, size_t size, const char *parameter);
rnl_status info_write(void *out, const void *info, size_t size,
                      const char *parameter);

// Records RNL_ERROR_INVALID_ARGUMENT for a NULL `parameter`.
__attribute__((cold)) rnl_status refuse_null(const char *parameter);
static inline rnl_status check_pointer(const void *pointer,
                                       const char *parameter)
{
    return __builtin_expect(pointer != NULL, 1) ? RNL_OK
                                                : refuse_null(parameter);
}

// --- Streams and failures --------------------------------------------------

// A batched stream submits what it has collected: before anything looks at how
// far the stream is, or goes past the core's op_submit. What the backend
// refuses becomes the stream's failure, which is returned.
rnl_status batch_flush(struct stream *stream);

static inline rnl_status stream_flush(struct stream *stream)
{
    return __builtin_expect(stream->flags & RNL_STREAM_BATCHED, 0)
               ? batch_flush(stream)
               : RNL_OK;
}

// Adds an op, which it takes over, and submits the batch when it is full.
rnl_status batch_add(struct op *op);

// The same as batch_flush, and from now on nothing is collected.
void batch_close(struct stream *stream);

// The attributes as they are now; sync_policy is never 0.
struct stream_attributes stream_get_attributes(struct stream *stream);

// RNL_OK, or records and returns the failure of the stream or its context.
rnl_status stream_tell_failure(struct stream *stream);

static inline rnl_status stream_check_failure(struct stream *stream)
{
    const struct failure *lost = atomic_load_explicit(
        &stream_context(stream)->lost, memory_order_acquire);
    const struct failure *own = atomic_load_explicit(&stream->failure,
                                                     memory_order_acquire);
    // In one: a jump is not free.
    const bool failed = (lost != NULL) | (own != NULL);
    return __builtin_expect(failed, 0) ? stream_tell_failure(stream) : RNL_OK;
}

// Keeps `failure` (whose reference it takes) unless there is an earlier one.
// `inherited`: it is of another stream, which this one waits for.
void stream_set_failure(struct stream *stream, struct failure *failure,
                        bool inherited);

// Forgets the failure: for backends' stream_reset.
void stream_clear_failure(struct stream *stream);

// Takes a reference to the stream's failure; NULL while there is none.
struct failure *stream_share_failure(struct stream *stream);
static inline struct failure *stream_get_failure(struct stream *stream)
{
    return atomic_load_explicit(&stream->failure, memory_order_acquire)
               ? stream_share_failure(stream)
               : NULL;
}

// Waits for the stream, by the rules of rnl_stream_synchronize.
rnl_status stream_wait_done(struct stream *stream, uint64_t timeout_ns);

// The same without limit, for a handle: keeps the stream meanwhile.
rnl_status stream_wait_handle(rnl_stream handle);

// Makes a failure of `op`, which is or belongs to operation `sequence` of the
// stream; never NULL (when memory is short, a static one).
struct failure *failure_create(struct stream *stream, uint64_t sequence,
                               const struct op *op, rnl_status status,
                               const char *message);
void failure_drop(struct failure *failure);
void failure_forked(void);

// The work that a failure is blamed on, where there is no op any more.
struct blame {
    uint64_t sequence;
    const char *file;
    int line;
    const char *name, *label;  // `label` may be NULL
};

// The same as failure_create.
struct failure *failure_blame(struct stream *stream, const struct blame *blame,
                              rnl_status status, const char *message);

// What the failure is for `stream`: its own status, or, when another stream
// failed, RNL_ERROR_DEPENDENCY_FAILED.
rnl_status failure_status(const struct failure *failure,
                          const struct stream *stream);

// Records `failure` as this call's and returns failure_status.
rnl_status failure_report(const struct failure *failure,
                          const struct stream *stream);

// --- Shared between the front door's files ---------------------------------

// Opens the library once: environment, fork handler, backends, devices.
rnl_status library_open(void);

// An unpublished buffer without memory. NULL after recording why.
struct buffer *buffer_new(struct context *context, rnl_memory_kind kind,
                          size_t size, const char *label);

// What a slice is of in the end; any other buffer itself.
struct buffer *buffer_whole(struct buffer *buffer);

// Frees the host copy of a mapping, where there is one.
void map_shadow_end(struct buffer *buffer);

// Memory that is freed in the order of this very stream can be given up as soon
// as the work is submitted: whoever gets it comes later.
static inline bool buffer_goes_with(const struct buffer *buffer,
                                    const struct stream *stream)
{
    if (buffer->kind != RNL_MEMORY_DEVICE || buffer->owner ||
        buffer->deleter)
        return false;
    struct stream *release = atomic_load(&buffer->release_stream);
    return release ? release == stream
                   : stream->is_default && buffer->object.context ==
                                               stream_context(stream);
}

// Its memory is free behind that operation at the earliest, where both go in
// the order of one stream.
void buffer_goes_behind(struct buffer *buffer, const struct op *op);

// Makes a number of RNL_WHOLE, and refuses a range that leaves the buffer.
rnl_status buffer_take_range(const struct buffer *buffer, size_t offset,
                             size_t *size, const char *parameter);

// A buffer, not yet published, that borrows `memory` and keeps `owner` alive.
rnl_status buffer_borrow(struct context *context, struct memory memory,
                         size_t size, struct object *owner, const char *label,
                         struct buffer **out_buffer);

// True when kernels of `context` may use memory of `owner`.
bool context_may_use(struct context *context, struct context *owner);

// Copies and fills of the library's own, already checked. A fill keeps the
// buffer; a copy keeps nothing.
rnl_status copy_submit(struct stream *stream, void *to, const void *from,
                       size_t size);
rnl_status fill_submit(struct stream *stream, struct buffer *buffer,
                       size_t size);

// Makes a stream and its handle, around the vendor's stream `borrowed` unless
// that is NULL.
rnl_status stream_create(struct context *context, void *borrowed,
                         const rnl_stream_options *options,
                         rnl_stream *out_stream);

// Makes a context's default stream.
rnl_status default_stream_create(struct context *context);
// Gives it up, in two steps: with owned_lock held, and without. NULL: it was.
struct stream *default_stream_take_locked(struct context *context);
void default_stream_release(struct stream *stream);
// Makes another where it was given up, and the caller has a reference again.
rnl_status default_stream_renew(struct context *context);
// False: the context is going away, and the stream's work is over.
bool default_stream_keep(struct context *context);

// Visits every stream of the context, which must be referenced; returns the
// first status that is not RNL_OK.
rnl_status context_each_stream(struct context *context,
                               rnl_status (*visit)(struct stream *, void *),
                               void *argument);

// The stream of that id, referenced; NULL: it is gone, or of another context,
// which must be referenced.
struct stream *context_find_stream(struct context *context, uint64_t id);

// Records the event on the stream, which may be captured; and notes that a
// launch has recorded it, on a stream that is not.
rnl_status event_record_behind(struct event *event, struct stream *stream);
void event_note_record(struct event *event);

// Clamps a priority to the device's range.
int stream_clamp_priority(const rnl_device_info *info, int priority);

// Checks the values of an access policy, and makes an address of its buffer.
rnl_status access_policy_check(struct context *context,
                               rnl_access_policy *policy,
                               const char *parameter);

// BACKEND_ATTRIBUTE bits of the launch attributes that have an effect there.
uint32_t launch_attributes_of(struct context *context);

// Records that the time limit passed before the event was `what`.
rnl_status event_timed_out(struct event *event, const char *what);

// The stream waits for the promise that it is to record.
rnl_status event_refuse_circle(const struct event *event,
                               const struct stream *stream);

// True when one allocated or registered range has all these bytes.
bool host_range_has(struct context *context, uintptr_t start, size_t size);

// The range that has the byte; false: none.
bool host_range_find(struct context *context, uintptr_t address,
                     uintptr_t *out_start, size_t *out_size,
                     bool *out_allocated);

// Frees host memory that the caller left to the context's end.
void host_ranges_finish(struct context *context);

// Frees what was kept for work that is done by now.
void host_ranges_collect(struct context *context);

// How far a stream is once all is done that it was given up to now, and whether
// it has come that far.
uint64_t stream_point(const struct stream *stream);
bool stream_has_passed(const struct stream *stream, uint64_t point);

// Frees what rnl_function_compile cached; called once, by the context's end.
void compiled_cache_finish(struct context *context);
