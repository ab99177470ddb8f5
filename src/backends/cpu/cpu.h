// What the files of the cpu backend share.
//
// A pool of workers per context runs the streams. A stream is a queue of ops;
// whoever owns it (one worker, or the thread that waits for it) takes ops off
// its head. A large op is opened as a region, whose blocks other threads join
// in to run.
#pragma once

#include "backends/cpu/history.h"
#include "backends/cpu/kernel/stop.h"
#include "base/clock.h"
#include "core/backend.h"
#include "core/failure_history.h"
#include "core/values.h"

// Kernels are compiled apart: MemorySanitizer does not see what they write, and
// is told behind each, for the buffers that its op keeps.
#define NOTES_WRITES 0
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#undef NOTES_WRITES
#define NOTES_WRITES 1
#endif
#endif

// --- Streams ---------------------------------------------------------------

enum queue_state {
    QUEUE_IDLE,     // empty
    QUEUE_READY,    // in the pool's ready list
    QUEUE_RUNNING,  // some thread owns it
    QUEUE_BLOCKED,  // its head waits for another stream, a promise or a value
};

// Fields are grouped by who writes them: threads that submit, the owner, and
// hardly anyone; each group has its own cache lines.
struct queue {
    struct lock lock;  // guards the group
    enum queue_state state;
    struct stream *stream;
    struct op *head, *tail;    // submitted, not yet taken by an owner
    uint32_t untaken;          // how many those are
    struct queue *previous, *next;  // ready list; guarded by the pool's lock
    bool listed;

    _Alignas(64) struct op *batch;  // the owner's: taken, the first is running
    _Atomic uint64_t completed;     // number of the last op done
    _Atomic uint64_t cancelled;     // ops up to this number are to end

    // Waiters and sleepers are guarded by the lock. `attention` counts both, so
    // that completing an op need not look while nobody waits.
    _Alignas(64) _Atomic uint32_t attention;
    _Atomic uint32_t signal;   // futex of sleepers
    uint32_t sleepers;
    struct op *waiters, *last_waiter;  // WAIT ops of other streams, by what
                                       // they wait for
    struct stream *blocked_on; // kept by the WAIT op that is first in `batch`
    uint64_t failed_at;        // the op that failed first; 0: none
    struct failure_history history;
    _Atomic bool needs_worker; // only a worker can run what comes first
    bool poked;                // unblocked while it was running
    struct plan *plan;         // that is first in `batch` and has been begun
    struct region *shared;     // its own, if any
    struct stop_request stop;  // of its kernels, while it is being cancelled
};

// What a WAIT op waits for, in op->backend. While it is listed, it belongs to
// whoever will take it off the list.
struct wait {
    struct stream *_Atomic target;  // kept by the op; NULL: a record to come
    uint64_t sequence;      // of the target, or the launch that records it
    struct event *promise;  // kept by the op, or NULL
    struct op *next;        // in the target's or the promise's list
    _Atomic bool listed;    // in one of them
    bool order_only;        // a failure of what it waits for is not its own
};

_Static_assert(sizeof(struct wait) <= sizeof((struct op *)0)->backend,
               "a wait fits into its op");

static inline struct wait *op_wait(struct op *op)
{
    return (struct wait *)op->backend;
}

static inline struct queue *stream_queue(struct stream *stream)
{
    return stream_native(stream);
}

// For who runs the first op of the queue, or a part of it.
static inline bool queue_is_cancelled(const struct queue *queue)
{
    return atomic_load_explicit(&queue->cancelled, memory_order_relaxed) >
           atomic_load_explicit(&queue->completed, memory_order_relaxed);
}

// Appends a list of ops and sees to it that somebody will run them. Gives the
// number of the first in `out_sequence`, which may be NULL.
rnl_status queue_submit(struct queue *queue, struct op *first,
                        uint64_t *out_sequence);

// Runs ops of a queue that the caller owns (state RUNNING) until it is empty,
// blocked, or done with number `until`; then gives it up. Workers run host
// functions, other threads leave them to a worker.
void queue_run(struct queue *queue, bool worker, uint64_t until);

// Waits until op `sequence` is done; the calling thread helps when it may wait
// for ever. RNL_ERROR_TIMED_OUT is recorded. `policy` is an rnl_sync_policy, or
// 0 for the usual one; with RNL_SYNC_BLOCKING it neither helps nor spins.
rnl_status queue_wait(struct queue *queue, uint64_t sequence,
                      uint64_t deadline, int policy);

// What the queue waits for, and what that waits for, as the end of a sentence;
// "" when it is not blocked.
void chain_describe(struct queue *queue, char *text, size_t size);

// Somebody asks for the queue's work: sees to it that it goes on if it can.
void queue_nudge(struct queue *queue);

// Forgets the stream's failure, but for those who wait for what failed; only
// the last few are remembered.
void queue_reset(struct queue *queue);

// Forgets those, too.
void queue_forget(struct queue *queue);

// Something that the queue listed has happened: `*listed` is made false. A
// blocked queue is ready again; one that runs is poked, and its region, too.
void queue_unblock(struct queue *queue, _Atomic bool *listed);

// For the owner of a queue that has nothing to do before it is unblocked. False
// when it was poked: it looks again. Else it is no longer the owner's.
bool queue_block(struct queue *queue, struct stream *target);

// Puts a wait into the queue.
rnl_status queue_add_wait(struct stream *stream, const struct wait *wait);

// Unblocks the queues of a list of WAIT ops, linked by their waits.
void queue_release_waits(struct op *op);

// For the owner of a queue that is cancelled and has not failed, or its plan:
// takes a wait off the list that it is in. False when somebody else has done so
// and will unblock the queue.
bool queue_withdraw_wait(struct op *op);

// The same for its first op: true when that is not to run, and the stream has
// failed. Where it waits, it is in no list any more.
bool queue_cancel_first(struct queue *queue, struct op *op);

// What fails an op of a queue that is cancelled.
#define CANCELLED_TEXT "the stream was cancelled before it had begun"

// True when what the op waits for is over; otherwise its stream's queue will be
// unblocked. A failure becomes that of the op's stream.
bool queue_wait_is_over(struct op *op);

// `op`, or the graph whose node it is, was operation `sequence` and failed.
void queue_fail(struct queue *queue, uint64_t sequence, const struct op *op,
                rnl_status status, const char *message);

// Calls a host function on this worker.
void queue_call_host(struct queue *queue, const struct op *op);

// True with a reference to the failure in `*out` when the ops up to `sequence`
// contain a failed one.
bool queue_failed(struct queue *queue, uint64_t sequence,
                  struct failure **out);

// --- Events ----------------------------------------------------------------

// A launch that is to record an event, or was and is still waited for.
struct expected {
    uint64_t launch;
    uint32_t records;          // to come
    uint32_t waits;            // that mean this launch and are not over
    struct failure *failure;   // why its last record never came, or NULL
};

struct cpu_event {
    struct lock lock;          // guards all but the atomic
    bool recorded;
    bool broken;               // a promise released without being recorded
    bool gone;                 // its last reference went during a call
    struct stream *stream;     // referenced; what it stands for …
    uint64_t sequence;         // … up to here
    uint64_t time;             // of completion; 0: not yet
    uint64_t record;           // which record `time` is for
    uint64_t launch;           // that records it, or 0; …
    bool to_come;              // … and has yet to
    struct expected *expected; // by launch, oldest first
    uint32_t expected_first, expected_count, expected_most;
    uint32_t reserved;         // how many more have been promised a place
    struct op *waiters;        // WAIT ops on a record that is to come
    struct joined *joined;     // streams that were told to wait for a promise
    struct shared_event *shared;  // of an interprocess event
    _Atomic bool done;         // complete, without failure
    _Atomic uint32_t recorded_word;  // futex: a promise's record
};

static inline struct cpu_event *event_cpu(struct event *event)
{
    return event_native(event);
}

// In shared_event.c: what the functions without `shared_` do, for such events.
rnl_status cpu_shared_record(struct event *event, struct stream *stream);
rnl_status cpu_shared_join(struct stream *stream, struct event *event);
void cpu_shared_stamp(struct op *op);
rnl_status cpu_shared_query(struct event *event);
rnl_status cpu_shared_wait(struct event *event, uint64_t deadline);

// What the event stands for now, with a reference to its target; all zero:
// nothing. Ended by event_unpoint.
struct wait event_point(struct event *event);
void event_unpoint(const struct wait *point);

// Nobody waits for the event's record by this launch any more.
void event_unwait(struct event *event, uint64_t launch);

// Takes a WAIT op out of the event's list; false when it is not there.
bool event_withdraw(struct op *op);

// For a WAIT on a record that is to come: true with what the event stands for
// (no target: nothing), or with `*out_broken` when it will never be recorded;
// false when the op is in the event's list. `*out_lost`: the failure of the
// launch that was to record it, referenced, or NULL.
bool event_resolve(struct op *op, bool *out_broken, struct failure **out_lost);

// Makes sure that event_expect cannot fail, or undoes it. False after recording
// that memory is short.
bool event_reserve(struct event *event);
void event_unreserve(struct event *event);

// A launch under way will record the event, and does so now. `failed`: its
// stream, when the launch failed, as that operation of it; otherwise NULL.
void event_expect(struct event *event, uint64_t launch);
void event_arrive(struct event *event, uint64_t launch, struct stream *failed,
                  uint64_t sequence);

// Performs a STAMP op.
void event_stamp(struct op *op);

// --- Watches: words that blocked queues wait for ---------------------------

struct pool;

#define WATCH_BUCKETS 64
#define WATCH_NAP_NS 1000000  // at most, while waits are young

// In the op or node that waits.
struct watch {
    struct value value;
    struct queue *queue;  // blocked; unblocked once the value holds
    struct watch *next;
    _Atomic bool listed;
};

_Static_assert(sizeof(struct watch) <= sizeof((struct op *)0)->backend,
               "a watch fits into its op");

struct watches {
    _Alignas(64) _Atomic uint32_t count;
    _Atomic uint64_t looked, cost;  // clock_ticks of the last look at all
    _Alignas(64) struct lock lock;  // guards what follows
    uint64_t occupied;              // bit i: bucket i is not empty
    unsigned next;                  // where the sentinel goes on
    struct watch *buckets[WATCH_BUCKETS];  // by address
};

static inline struct watch *op_watch(struct op *op)
{
    return (struct watch *)op->backend;
}

// Makes the pool look at `watch` until its value holds; then the queue, which
// is the caller's, is unblocked. False when the value holds now: then nothing
// was added.
bool watch_add(struct pool *pool, struct watch *watch);

// Takes it off again; false when the queue is being unblocked.
bool watch_withdraw(struct pool *pool, struct watch *watch);

// Looks at the words at this address, after it was written. True when a queue
// was unblocked.
bool watch_look_at(struct pool *pool, const char *address);

// Writes and waits from number `*done` on, until one has to wait: then false,
// and the queue will be unblocked. A wait counts as done when it begins: who
// takes the watch off has seen its value, which may be another one by now.
bool watch_values(struct queue *queue, const struct op_values *values,
                  size_t *done, struct watch *watch);

// "it waits for …". The watch must be pending.
void watch_describe(const struct watch *watch, char *text, size_t size);

// How the sentinel behaves while words are watched and nothing happened for
// `idle` ns: how long it naps at most, and how many buckets it looks at after a
// nap if a look at all takes `cost` ticks.
uint64_t watch_nap_ns(uint64_t idle);
unsigned watch_share(uint64_t cost, uint64_t nap, uint64_t idle);

// Its look after a nap.
void watch_look_around(struct pool *pool, uint64_t nap, uint64_t idle);

// --- The pool --------------------------------------------------------------

#define PRIORITIES 3  // 0 normal, -1, -2

struct region;
struct plan;

// Grouped by cache lines, as the queue is.
struct pool {
    struct lock lock;  // guards the lists, the threads and `blocked`
    struct queue *ready[PRIORITIES], *ready_last[PRIORITIES];
    _Atomic uint32_t ready_count;
    _Atomic uint32_t activity;  // changes whenever something was submitted

    _Alignas(64) _Atomic uint32_t region_count;  // that can still be joined
    struct region *regions;

    struct watches watches;

    _Alignas(64) _Atomic uint32_t spinning;
    _Atomic uint32_t sleeping, waking;
    _Atomic uint32_t standing_by, lazy;  // of those who sleep
    _Atomic uint32_t napping;       // 0, or who is the sentinel, an even
                                    // number; odd: it dozes
    _Atomic uint32_t sentinels;     // how many there were, doubled
    _Atomic uint32_t waiting;       // host threads asleep in queue_wait
    _Atomic bool tended;            // a worker was told of surplus operations
    _Atomic uint32_t wake_word;     // futex of sleeping workers; odd: stopping
    _Atomic int waker_on;           // processor of who woke one last, or -1
    // Hardly ever written, and looked at after each share. By rank (0 normal,
    // higher is more urgent): ready queues, and regions that can be joined, of
    // a higher rank.
    _Alignas(64) _Atomic uint32_t ready_above[PRIORITIES];
    _Atomic uint32_t regions_above[PRIORITIES];
    unsigned width;         // how many threads may run kernels at once
    uint64_t spin_ns;
    pthread_t *threads;
    unsigned thread_count, thread_most;
    unsigned blocked;       // workers inside a host function, or replaced
    _Atomic uint32_t aside; // of those: at work on a long launch
    bool stopping;
    _Atomic uint32_t users;  // workers, and whoever will destroy it
    struct stop_watch watch;
};

// `limit_ns`: of each launch; 0: none.
rnl_status pool_create(unsigned width, uint64_t spin_ns, uint64_t limit_ns,
                       struct pool **out_pool);

// Stops and frees it, from any thread, its own workers included.
void pool_destroy(struct pool *pool);

// Lists a ready queue; with `notify` sees to it that a worker looks. Small work
// is not worth a wake-up of a worker that will look by itself soon.
void pool_push(struct pool *pool, struct queue *queue);
void pool_notify(struct pool *pool, bool small);

// Sees to it that a worker looks if there is anything to look at.
void pool_nudge(struct pool *pool);

// There are surplus operations (op.h): sees to it that a worker gives them back
// once there is no work.
void pool_tend(struct pool *pool);

// True when words are watched and no worker idles in a way that looks at them.
bool pool_unwatched(struct pool *pool);

// Sees to it that one does, unless all are busy.
void pool_guard(struct pool *pool);

// The calling thread, if it is no worker, is about to leave a word to workers.
void pool_watch_begin(struct pool *pool);

static inline bool watch_pending(struct pool *pool)
{
    return atomic_load_explicit(&pool->watches.count, memory_order_relaxed) >
           0;
}

bool watch_glance_now(struct pool *pool, unsigned pause);

// Looks at all watched words, unless the last look was less than `pause` times
// its own length ago or is going on. True when a queue was unblocked.
static inline bool watch_glance(struct pool *pool, unsigned pause)
{
    return __builtin_expect(watch_pending(pool), 0) &&
           watch_glance_now(pool, pause);
}

#define GLANCE_IDLE 4   // pauses: of who has nothing else to do …
#define GLANCE_BUSY 32  // … and between ops

// Takes this queue off the ready list; false when it is not there.
bool pool_take(struct pool *pool, struct queue *queue);

// True when a worker should leave its present queue for a better one.
bool pool_prefers_other(struct pool *pool, unsigned ops_done);

// A thread's turn at something long: when it began (0: when it was first asked
// about), and whether the pool has a worker more meanwhile.
struct turn {
    uint64_t since;
    bool aside;
};

static inline unsigned pool_rank(int priority)
{
    return priority >= 0 ? 0 : (unsigned)-priority;
}

// True when work of a higher rank is there, or a queue of the same one after a
// turn has lasted TURN_TICKS. `now` is clock_ticks.
bool pool_wants_turn(struct pool *pool, unsigned rank, uint64_t since,
                     uint64_t now);

// For a worker that cannot leave what it does: has another one take its place
// if one is wanted. turn_end gives that up.
void turn_pass(struct pool *pool, unsigned rank, struct turn *turn,
               uint64_t now);
void turn_end(struct pool *pool, struct turn *turn);

// A worker is about to be blocked by the host's code, or is back.
void pool_block_begin(struct pool *pool);
void pool_block_end(struct pool *pool);

// --- Regions: one op run by several threads --------------------------------

#define REGION_MESSAGE 512

struct region {
    struct region *next, **link;  // guarded by the pool's lock
    struct queue *queue;
    const struct op *op;
    // Runs units `first` … `first + count - 1`; on failure writes a sentence
    // of at most REGION_MESSAGE bytes.
    rnl_status (*run)(const struct region *region, uint64_t first,
                      uint64_t count, char *message);
    uint64_t total;
    uint64_t unit;                   // blocks, of a kernel whose lanes are some
    unsigned most;                   // threads that may take part
    uint64_t share;                  // units taken at once; 0: shrinking parts
    uint64_t share_most;             // the most of those; 0: any
    uint64_t first_most;             // units of the first share of each
    uint64_t limit, share_ticks;     // of any share: units, and about how long
    unsigned rank;                   // of its stream's priority
    struct stop_scope scope;
    struct launch_history *history;  // of the kernel; NULL: it is not kept
    _Atomic uint64_t spent;          // ticks, by all who have left
    uint64_t mean;                   // of the last launches; 0: not known
    _Atomic uint64_t long_ticks, long_units;  // of shares with long units
    bool in_rows;                    // many units in a row are best run at once
    // Code for the block's size runs all units, or none: each code has an order
    // of blocks of its own.
    bool special;
    // Of a plan, whose steps are not numbered: runs one; whether there is any.
    struct plan *plan;
    bool (*take)(struct region *region, bool worker);
    bool (*any)(const struct region *region, bool worker);
    _Atomic bool poked;              // what a step waits for may be over
    bool open;                       // listed; guarded by the pool's lock
    _Atomic uint64_t taken;
    _Atomic uint32_t participants;   // futex of the owner
    _Atomic uint32_t failed;
    rnl_status status;               // of the first failure
    char message[REGION_MESSAGE];
};

// Runs all of it: alone if it is short, otherwise with whoever joins. Returns
// region->status. `parallel` skips the try alone.
rnl_status region_run(struct pool *pool, struct region *region, bool parallel);

// Lets others in, of a plan's region: there is something to take. A pool of one
// thread does so only when that one `blocks`.
void region_offer(struct pool *pool, struct region *region, bool blocks);

// The same for what a step waits for. True when the pool is to be notified.
bool region_poke(struct pool *pool, struct region *region);

// For its owner, who found nothing to take: closes it and waits for the others.
// False as soon as there is something to take again.
bool region_close(struct pool *pool, struct region *region, bool worker);

// Joins some region of the pool, or of `queue` if not NULL; false when there is
// none to join.
bool region_join(struct pool *pool, struct queue *queue);

// --- Contexts and ops ------------------------------------------------------

struct cpu_context {
    struct pool *pool;
    atomic_bool warned_of_tier;  // a kernel was compiled to tier F
};

static inline struct pool *stream_pool(struct stream *stream)
{
    struct cpu_context *context = context_native(stream_context(stream));
    return context->pool;
}

// Performs a KERNEL, COPY or FILL op; on failure writes a sentence of at most
// REGION_MESSAGE bytes.
rnl_status op_perform(struct pool *pool, struct queue *queue,
                      const struct op *op, char *message);

// A kernel of one block that needs nothing but to be called: its C function, or
// block_run_list. False for all other ops.
struct kernel_run;
bool op_quick_call(const struct op *op, rnl_native_call *out_call);
bool op_quick_run(const struct op *op, struct kernel_run *out_run);

// What a C function returned, as an error, with a sentence in `message`.
rnl_status op_call_failed(rnl_status status, char *message);

// True when a worker need not be woken for it at once.
bool op_is_small(const struct op *op);

// --- Hooks by file ---------------------------------------------------------

rnl_status cpu_stream_init(struct stream *stream);
void cpu_stream_finish(struct stream *stream);
void cpu_stream_reset(struct stream *stream);
rnl_status cpu_stream_cancel(struct stream *stream);
rnl_status cpu_stream_submit(struct stream *stream, struct op *first);
rnl_status cpu_stream_wait(struct stream *stream, uint64_t deadline);
rnl_status cpu_stream_join(struct stream *stream, struct stream *other);

rnl_status cpu_event_init(struct event *event);
void cpu_event_finish(struct event *event);
rnl_status cpu_event_record(struct event *event, struct stream *stream);
rnl_status cpu_event_join(struct stream *stream, struct event *event);
rnl_status cpu_event_query(struct event *event);
rnl_status cpu_event_wait(struct event *event, uint64_t deadline);
rnl_status cpu_event_elapsed(struct event *start, struct event *end,
                             struct event **out_wrong, int64_t *out_ns);
void cpu_event_break(struct event *event);
rnl_status cpu_event_share(struct event *event, bool opens,
                           unsigned char *key);

rnl_status cpu_memory_allocate(struct context *context, rnl_memory_kind kind,
                               size_t size, struct memory *out_memory);
void cpu_memory_free(struct context *context, rnl_memory_kind kind,
                     struct memory memory, size_t size);
rnl_status cpu_memory_share(struct context *context, bool opens, size_t size,
                            unsigned char *key, struct memory *out_memory);
rnl_status cpu_host_register(struct context *context, void *pointer,
                             size_t size, bool locked);

// Facts about the machine, in machine.c.
unsigned machine_cores(void);  // by affinity and cgroup quota
void machine_memory(size_t *out_free, size_t *out_total);
void machine_info(rnl_device_info *info);

// Attributes that the info does not have (attribute.c).
rnl_status cpu_device_attribute(uint32_t index, rnl_attribute id,
                                int64_t *out_value);
