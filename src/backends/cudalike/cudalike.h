// What cuda and hip do the same way, written against struct driver.
//
// Work goes to the vendor's stream at once. What the vendor cannot do by itself
// — host functions, copies of ordinary host memory — is done by a thread of the
// library, the service: the stream tells it by writing a word that it got
// there (service.h), and what comes behind is held back (held.h).
//
// An operation is over for the core as soon as the driver has it, but for what
// it keeps that must outlive the work (retire.h). How far a stream got is asked
// when somebody wants to know, never recorded per operation.
#pragma once

#include "backends/cudalike/driver.h"
#include "backends/cudalike/task.h"
#include "backends/cudalike/timeline.h"
#include "backends/cudalike/wait.h"
#include "core/backend.h"
#include "core/stream/failure.h"

struct marker;
struct service_words;

// Markers that are not in use: vendor events to be recorded again.
struct marker_list {
    struct lock lock;  // guards it
    struct marker *first;
};

struct gpu_context {
    const struct driver *driver;
    int device;
    void *handle;             // the device's primary context, or an adopted one
    bool foreign;             // that is not ours to release
    bool flushes;             // waits can flush remote writes
    _Atomic bool prints;      // kernels of it may
    void *own_stream;         // for frees that are in no stream's order
    void *copy_stream;        // for copies that the service does
    void *_Atomic decider;    // a kernel of the library's own (plan.h)
    struct context *owner;
    // Not in the cache line of what launches look at: it is written to.
    _Alignas(64) struct marker_list markers[2];  // without and with timing
    struct gpu_context *next;  // idle_free.c's: in the list of all
    struct lock lock;         // guards all below
    struct lane *lanes;       // for copies of ordinary memory, not in use
    struct bounce *bounces;   // the same for little
    struct idle_free *idle_frees;  // for when the device is idle
    struct service_page *pages;
    struct service_words *free_words;
    void *decider_module;
    rnl_deleter_fn deleter;   // of an adopted one, called when all is over
    void *user_data;
};

// What a failure report says of an operation. Written for each, so no text is
// copied without need: a kernel is known by its function's handle.
struct recent {
    const char *file;
    int line;
    bool labelled;
    const void *function;  // a handle; NULL for what is no kernel …
    const char *name;      // … and has a static name
    char label[40];        // when `labelled`
};

struct gpu_stream {
    // What a launch looks at, together.
    void *handle;
    driver_launch_fn *launch;    // the driver's, two steps nearer
    // Guards submission. Held while the driver is called, which blocks when
    // its queue is full: the service, which empties queues, only ever tries it.
    struct lock lock;
    bool listed;                 // the service looks, and keeps the stream
    _Atomic bool holds;          // false: `held` and `items` are empty
    _Atomic bool awaits;         // what it holds waits for others' records
    _Atomic bool mark_wanted;    // the service asks for `marker`
    _Atomic bool shared;         // others may give it work that nobody counts
    bool enters;                 // calls for it need the current context
    uint32_t applied;            // changes of attributes that the driver has
    enum last { LAST_WORK, LAST_COPY, LAST_HOST } last;  // what it was given
    struct recent_list *_Atomic recent;  // of the last ones; may be NULL
    struct timeline *_Atomic timeline;  // referenced
    struct waits waits;
    struct batches *batches;     // kept graphs (batch.c); may be NULL
    uint32_t asked;              // number of the newest item
    uint32_t waited;             // … and of the one that the driver waits for
    uint32_t told;               // number of which the device tells us last
    uint64_t solid;              // op before the items that come last
    uint64_t graph_at;           // last launch of a graph that has no mark
                                 // behind it (ends.h); 0: none
    const void *graph_of;        // whose all those launches are; or NULL
    struct op *held, *held_last; // not given to it yet (held.c)
    struct marker *spares[2];    // for the next records: without, with timing
    struct marker *point;        // the newest one recorded without timing
    // Set under the lock when NULL, cleared by the service when it is done.
    struct marker *_Atomic marker;
    struct service_words *words; // NULL until the first item
    struct lock list_lock;       // guards the lists; nothing is called under it
    struct op *items, *items_last;      // for the service, in order
    bool calls_host;                    // a thread calls its host functions
    struct marker *ends, *ends_last;    // of launches, oldest first (ends.h)
    uint64_t graphs_over;               // launches so far are over at least
    struct lock asking;                 // … the driver (borrowed ones)
    // The service's own.
    struct stream *next_listed;
    uint32_t idle_rounds;
    struct task drop;  // of the reference that is the last one (retire.c)
};

struct recent_list;

// Remembers an operation; its sequence is above 0. With the stream's lock held.
void recent_put_locked(struct gpu_stream *own, const struct op *op);
// What is known about it; false when it is too long ago.
bool recent_find(const struct gpu_stream *own, uint64_t sequence,
                 struct recent *out);
enum { RECENT_NAME = 128 };
void recent_name(const struct recent *recent, char name[RECENT_NAME]);
// Its number, and what it is and where it was submitted, if that is known.
void recent_describe(const struct gpu_stream *own, uint64_t sequence,
                     char *text, size_t size);
// Records that a wait for it took too long, with how far it is.
rnl_status stream_timed_out(const struct stream *stream);
void recent_finish(struct gpu_stream *own);

static inline struct gpu_context *gpu_of(const struct context *context)
{
    return (struct gpu_context *)context->native;
}

static inline struct gpu_stream *gpu_stream_of(const struct stream *stream)
{
    return (struct gpu_stream *)stream->native;
}

static inline struct timeline *timeline_of(const struct gpu_stream *own)
{
    return atomic_load_explicit(&own->timeline, memory_order_relaxed);
}

static inline struct timeline *stream_timeline(const struct stream *stream)
{
    return timeline_of(gpu_stream_of(stream));
}

static inline const struct driver_functions *
call_of(const struct gpu_context *gpu)
{
    return &gpu->driver->call;
}

// --- The current context: left as found ------------------------------------

// Makes the context current for this thread; gives what was before, for
// current_back.
void *current_enter(const struct gpu_context *gpu);
static inline void current_back(const struct gpu_context *gpu, void *before)
{
    if (before != gpu->handle)
        call_of(gpu)->context_set(before);
}

// The same around launches, records, waits for events and looks at streams and
// events, which newer drivers do whatever context is current: they know it by
// the handle. Making one current takes as long as half a record, and threads
// that do it at once wait for each other.
static inline void *handle_enter(const struct gpu_context *gpu)
{
    return gpu->driver->handles_suffice ? gpu->handle : current_enter(gpu);
}

// The same for a stream, and back.
static inline void *stream_enter(const struct stream *stream)
{
    return __builtin_expect(gpu_stream_of(stream)->enters, 0)
               ? current_enter(gpu_of(stream_context(stream)))
               : NULL;
}
static inline void stream_leave(const struct stream *stream, void *before)
{
    if (__builtin_expect(gpu_stream_of(stream)->enters, 0))
        current_back(gpu_of(stream_context(stream)), before);
}

// A stream for the library's own copies. Streams share the device's hardware
// queues (8, or CUDA_DEVICE_MAX_CONNECTIONS), where one that waits holds up
// those behind it, and users' streams wait for these copies: the priority keeps
// them apart.
int gpu_create_aside(const struct gpu_context *gpu, void **out_stream);

// --- Failing ---------------------------------------------------------------

// Records that the driver refused `what` with `code`, and returns the status. A
// code that means that the device is lost latches the context.
rnl_status driver_fail(struct context *context, int code, const char *what);

// The same where there is no context yet.
rnl_status driver_fail_early(const struct driver *driver, int code,
                             const char *what);

// Latches the context: every wait ends, every call reports the failure.
// `blamed`: the stream at which it was seen, or NULL.
void context_lose(struct context *context, struct stream *blamed, int code);

// Old drivers lack what streams need to ask the service.
static inline bool service_can_be_asked(const struct gpu_context *gpu)
{
    return call_of(gpu)->stream_write32 && call_of(gpu)->stream_wait32;
}

static inline bool context_is_lost(const struct context *context)
{
    return atomic_load_explicit(&context->lost, memory_order_acquire) != NULL;
}

// What kernels printed by now reaches standard output: the driver brings it
// there where it waits itself, which we do not have it do.
void context_show_prints(struct context *context);

// Of a lost device nothing is waited for but what the library's own threads
// still do with the callers' memory.
bool context_still_copies(const struct context *context);

// --- Markers: recorded points of streams ------------------------------------

struct marker {
    _Atomic uint32_t references;
    bool timing;
    bool promise;       // others wait for it before it is recorded
    _Atomic bool done;  // seen to be complete
    // What has to come first: that a stream gives its record to the driver, and
    // of a promise that it is kept or broken.
    _Atomic uint32_t held;
    struct stream *stream;  // that records it; NULL: not known, or at once
    struct lock lock;   // guards both once others know the marker
    struct context *home;
    void *event;
    uint64_t value;     // what its stream has done once it is done; set where
                        // somebody asks for that
    struct marker *next;
};

struct marker *marker_take(struct context *context, bool timing);
// A record of what the vendor's stream was given, of which others know nothing.
// NULL with the driver's code, or 0 if a failure is recorded.
struct marker *marker_record(struct stream *stream, int *out_code);
// One that was never recorded, which is complete to the driver, too.
struct marker *marker_complete(struct context *context);
// Nobody else has it, and it is to be recorded again.
static inline void marker_renew(struct marker *marker)
{
    atomic_store_explicit(&marker->done, false, memory_order_relaxed);
    atomic_store_explicit(&marker->held, 0, memory_order_relaxed);
    marker->promise = false;
    marker->stream = NULL;
}
void marker_drop(struct context *context, struct marker *marker);
// The same for the stream's own next records, with its lock held: events that
// are recorded again and again take no other's lock for that. Keeps what nobody
// else looks at; returns what is to be dropped.
static inline struct marker *marker_take_spare_locked(struct stream *stream,
                                                      bool timing)
{
    struct marker **spare = &gpu_stream_of(stream)->spares[timing];
    struct marker *marker = *spare;
    if (__builtin_expect(!marker, 0))
        return marker_take(stream_context(stream), timing);
    *spare = NULL;
    marker_renew(marker);
    return marker;
}
static inline struct marker *marker_keep_spare_locked(struct stream *stream,
                                                      struct marker *marker)
{
    if (!marker ||
        atomic_load_explicit(&marker->references, memory_order_acquire) > 1)
        return marker;
    struct marker **spare = &gpu_stream_of(stream)->spares[marker->timing];
    struct marker *other = *spare;
    *spare = marker;
    return other;
}
// For a stream that ends: a call that comes late finds none.
void marker_drop_kept(struct stream *stream);
struct marker *marker_share(struct marker *marker);
// RNL_OK, RNL_NOT_READY or a failure.
rnl_status marker_query(struct context *context, struct marker *marker);
void markers_finish(struct gpu_context *gpu);

// --- What is freed while the device is idle (idle_free.c) --------------------

typedef void idle_release(struct gpu_context *gpu, void *subject);

// Calls `release`, which waits for the whole device, once that is idle, with
// the context current.
void free_when_idle(struct context *context, idle_release *release,
                    void *subject);
// Frees on devices that are idle. By the reaper; true when some is left that it
// has to come back for.
bool idle_frees_run(void);
// A context is there; is gone, with all that has to be freed for it.
void idle_frees_open(struct context *context);
void idle_frees_close(struct context *context);
// Frees what the backend keeps of a context, which is current.
void context_rest_finish(struct gpu_context *gpu);

// Around a call that waits for the device and cannot be put off.
void quiet_enter(const struct gpu_context *gpu);
void quiet_leave(const struct gpu_context *gpu);
// The same for one that mostly does not wait, so it does not for copies.
void quiet_enter_now(const struct gpu_context *gpu);
// Around a copy of ordinary memory; false: not now.
bool quiet_copy_begin(const struct gpu_context *gpu);
void quiet_copy_end(const struct gpu_context *gpu);
// In any case: the host alone copies, and nothing of the device waits for it.
void quiet_copy_enter(const struct gpu_context *gpu);
// Whether one is under way, or about to be.
bool quiet_copies(const struct gpu_context *gpu);
// The same for one that the device is about to wait for: only a call that has
// begun is in its way.
bool quiet_copy_urgent(const struct gpu_context *gpu);
// Around what the service asks of the driver; NULL: not now.
struct quiet *quiet_look_begin(const struct gpu_context *gpu);
void quiet_look_end(struct quiet *quiet);
// Waits until no such call has begun.
void quiet_await(const struct gpu_context *gpu);

// --- Devices (device.c) ------------------------------------------------------

rnl_status gpu_device_info(const struct driver *driver, uint32_t index,
                           rnl_device_info *info);
rnl_status gpu_device_attribute(const struct driver *driver, uint32_t index,
                                rnl_attribute id, int64_t *out_value);

// --- Streams, between the files ----------------------------------------------

// What others gave to the vendor's stream is not counted: the driver knows.
static inline bool stream_is_done(const struct gpu_stream *own, uint64_t point)
{
    return atomic_load_explicit(&timeline_of(own)->completed,
                                memory_order_acquire) >= point &&
           !atomic_load_explicit(&own->shared, memory_order_relaxed);
}

// Others may capture what they do with their stream: a look at it would make
// that invalid, and what is recorded in it is never reached.
bool stream_asks_captured(const struct stream *stream);
static inline bool stream_is_captured(const struct stream *stream)
{
    return atomic_load_explicit(&gpu_stream_of(stream)->shared,
                                memory_order_relaxed) &&
           stream_asks_captured(stream);
}

// Who waits for a stream that others capture would wait for itself.
rnl_status stream_refuse_captured(const struct stream *stream);

// The driver was given one more operation. With the stream's lock held.
static inline void stream_count_locked(struct stream *stream)
{
    uint64_t number =
        atomic_load_explicit(&stream->enqueued, memory_order_relaxed) + 1;
    struct gpu_stream *own = gpu_stream_of(stream);
    atomic_store_explicit(&timeline_of(own)->submitted, number,
                          memory_order_relaxed);
    atomic_store_explicit(&stream->enqueued, number, memory_order_release);
}

// The driver is about to be given the op. With the stream's lock held, as is
// the next.
static inline void stream_note_submitted_locked(struct gpu_stream *own,
                                                const struct op *op)
{
    recent_put_locked(own, op);  // it may be over before this call is
    atomic_store_explicit(&timeline_of(own)->submitted, op->sequence,
                          memory_order_relaxed);
}

// Behind what was submitted: leaves a marker if the service asks for one.
void stream_mark_wanted_locked(struct stream *stream);

static inline void stream_mark_locked(struct stream *stream)
{
    const struct gpu_stream *own = gpu_stream_of(stream);
    if (__builtin_expect(atomic_load_explicit(&own->mark_wanted,
                                              memory_order_relaxed), 0))
        stream_mark_wanted_locked(stream);
}

rnl_status stream_record_marker(struct stream *stream, struct marker *marker);
// `*out_at`: the operation that waits; nothing on failure.
rnl_status stream_wait_marker(struct stream *stream, struct marker *marker,
                              uint64_t *out_at);
// Takes over the reference; NULL is fine.
void stream_inherit(struct stream *stream, struct failure *failure);
// timeline_depend; records the failure.
rnl_status stream_depend(struct stream *stream, struct point point,
                         uint64_t at);
// Whether the operation is left out, because it or one before it failed.
bool stream_leaves_out(struct stream *stream, uint64_t sequence);
// The driver refused the operation with the code, after its call returned.
void stream_refuse_late(struct stream *stream, const struct op *op, int code);
// Asks `query` again and again until it does not say RNL_NOT_READY (wait.c).
// `last`: kept with what is waited for.
rnl_status gpu_poll(rnl_status (*query)(void *), void *subject,
                    rnl_sync_policy policy, uint64_t deadline,
                    struct waits *last);

// --- Hooks -----------------------------------------------------------------

rnl_status gpu_context_init(struct context *context,
                            const struct driver *driver);
void gpu_context_finish(struct context *context);
rnl_status gpu_context_memory(struct context *context, size_t *out_free,
                              size_t *out_total);
rnl_status gpu_peer_access(struct context *context, struct context *peer,
                           enum peer_call call);
void gpu_peers_forget(const struct gpu_context *gpu);  // that is going

rnl_status gpu_native(struct object *object, void **out_native,
                      struct native_facts *out_facts);
// Reads what a borrowed stream is, which has to be of the context.
rnl_status gpu_stream_borrow(struct stream *stream);
// The driver's values of a stream's attributes; its context is current.
struct stream_attributes gpu_read_attributes(struct stream *stream);

rnl_status gpu_stream_init(struct stream *stream);
void gpu_stream_finish(struct stream *stream);
rnl_status gpu_stream_submit(struct stream *stream, struct op *first);
rnl_status gpu_stream_query(struct stream *stream);
rnl_status gpu_stream_wait(struct stream *stream, uint64_t deadline);
rnl_status gpu_stream_join(struct stream *stream, struct stream *other);
void gpu_stream_reset(struct stream *stream);

rnl_status gpu_event_init(struct event *event);
void gpu_event_finish(struct event *event);
rnl_status gpu_event_record(struct event *event, struct stream *stream);
rnl_status gpu_event_join(struct stream *stream, struct event *event);
rnl_status gpu_event_native(struct event *event, void **out_native);
rnl_status gpu_event_query(struct event *event);
rnl_status gpu_event_wait(struct event *event, uint64_t deadline);
rnl_status gpu_event_elapsed(struct event *start, struct event *end,
                             struct event **out_wrong, int64_t *out_ns);
void gpu_event_break(struct event *event);
rnl_status gpu_event_share(struct event *event, bool opens,
                           unsigned char *key);  // shared_event.c
// Lets the event stand for a marker that is given away, recorded on `stream`
// behind operation `value`.
void gpu_event_stand_for(struct event *event, struct marker *marker,
                         struct stream *stream, uint64_t value);

rnl_status gpu_memory_allocate(struct context *context, rnl_memory_kind kind,
                               size_t size, struct memory *out_memory);
rnl_status gpu_memory_share(struct context *context, bool opens, size_t size,
                            unsigned char *key, struct memory *out_memory);
void gpu_memory_free(struct context *context, rnl_memory_kind kind,
                     struct memory memory, size_t size);
rnl_status gpu_memory_advise(struct context *context, void *address,
                             size_t size, rnl_memory_advice advice);
rnl_status gpu_host_register(struct context *context, void *pointer,
                             size_t size, bool locked);

// --- Operations, each with the context current and the stream's lock held ----

// They give the driver's code; 0 is success.
int gpu_launch(struct stream *stream, struct op *op);  // launch.c
int gpu_hint(struct stream *stream, struct op *op);    // memory.c
// Copies, fills and values, on any of the vendor's streams. `*out_begun`: some
// of it runs, also where the driver refused the rest.
int gpu_give(struct context *context, void *handle, const struct op *op,
             bool *out_begun);                         // copy.c

// What the host has to do of a graph's node so that it reads and writes when it
// is its turn, and the driver holds nobody up.
enum host_part {
    HOST_NOTHING,
    HOST_CALLS,   // a function; no copy
    HOST_COPIES,  // all of it: it stays within the host
    HOST_READS,   // ordinary memory is read …
    HOST_WRITES,  // … or written
};
enum host_part gpu_host_part(struct context *context, const struct op *op);

// --- Modules (module.c) ----------------------------------------------------

struct gpu_module {
    void *handle;
    struct image image;  // of the binary, or of `table`
    void *table;         // made for what came without one; or NULL
    size_t table_size;
};

struct gpu_function {
    void *handle;
    _Atomic uint32_t dynamic;   // dynamic shared memory that it may have
    _Atomic int carveout;       // that the driver was told
    bool waits;                 // it begins by waiting for what comes before
    rnl_parameter *parameters;  // the core's copy is its own
    size_t parameter_count;
};

rnl_status gpu_module_init(struct module *module);
void gpu_module_finish(struct module *module);
rnl_status gpu_module_global(struct module *module, const char *name,
                             struct memory *out_memory, size_t *out_size);
const char *gpu_module_kernel(struct module *module, size_t index);
rnl_status gpu_module_code(struct module *module, rnl_code_kind kind,
                           const void **out_data, size_t *out_size);
rnl_status gpu_function_init(struct function *function, const char *name,
                             struct function_facts *out_facts);
void gpu_function_finish(struct function *function);
rnl_status gpu_function_occupancy(struct function *function,
                                  uint32_t block_threads, size_t shared_size,
                                  struct occupancy *out_occupancy);

static inline struct gpu_module *gpu_module_of(struct module *module)
{
    return module_native(module);
}

static inline struct gpu_function *gpu_function_of(struct function *function)
{
    return function_native(function);
}
