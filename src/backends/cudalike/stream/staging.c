// Copies between the device and ordinary host memory.
//
// The driver copies with one thread, through one small page-locked buffer.
// Here, several threads carry pieces, each through its own buffers and on its
// own native stream. So copies in memory and over the bus overlap. Other
// streams and host functions are not held up, and copies of several streams
// share the threads.
#include "backends/cudalike/stream/staging.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/wait.h"
#include "backends/cudalike/driver/worker_threads.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/idle_free.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/retire.h"
#include "backends/cudalike/tuning.h"

#include "base/clock.h"
#include "core/object/config.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#define STORES_LINES __builtin_cpu_supports("avx512f")
#else
#define STORES_LINES false
#endif

struct stage_slot {
    void *pinned, *event;
    char *waits_for;  // target of the piece on its way into `pinned`
    size_t size;
};

// The native stream and the buffers of one thread at a time. Belongs to a
// context.
struct lane {
    struct lane *next;
    void *stream;
    struct stage_slot slots[SLOTS_MOST];
};

// A thread's part in a job: as many pieces as the thread can take.
struct share {
    struct task task;
    struct copy_job *job;
};

struct copy_job {
    struct stream *stream;  // referenced
    struct op *op;          // NULL: the caller copies, and waits
    char *to;
    const char *from;
    bool to_device;
    _Atomic bool over;      // for the caller: all shares ended
    size_t size;
    _Atomic size_t begun;    // bytes that threads have taken
    _Atomic int code;        // the driver's first refusal
    _Atomic unsigned open;   // shares that have not ended
    struct share shares[THREADS_MOST];
};

// --- Tuning -----------------------------------------------------------------

// A piece is large enough to leave no gap on the bus between pieces, and small
// enough for the caches. The host reads data from the device only after the
// whole copy. So large copies bypass the caches, which would lose useful data
// otherwise.
static struct {
    unsigned threads, slots;
    size_t piece;
    size_t past;  // copies to the host: least size that bypasses the caches
    bool lines;   // the processor stores whole lines
} way = {0, 3, (size_t)2 << 20, (size_t)16 << 20, false};

static struct task_queue copying = {.thread_name = "rnl-staging",
                                    .lock = LOCK_RANKED(RANK_LEAF),
                                    .spin_ns = 50000};

static unsigned threads_wanted(void)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
    return cores < 4 ? 1 : cores < 16 ? (unsigned)cores / 2 : 8;
}

// Reads "threads:KiB of a piece:slots:KiB from which on copies bypass the
// caches", for measurements of the best values.
static void read_way(const char *text)
{
    unsigned threads, piece, slots, past;
    if (sscanf(text, "%u:%u:%u:%u", &threads, &piece, &slots, &past) != 4 ||
        threads < 1 || threads > THREADS_MOST || slots < 1 ||
        slots > SLOTS_MOST || (size_t)piece << 10 < PIECE_LEAST ||
        piece > 1u << 20)
        return;
    way.threads = threads;
    way.slots = slots;
    way.piece = (size_t)piece << 10;
    way.past = (size_t)past << 10;
}

static void choose_way(void)
{
    const char *text = config_get()->staging;
    way.threads = threads_wanted();
    way.lines = STORES_LINES;
    if (text)
        read_way(text);
    copying.most = way.threads;
}

// --- Lanes -----------------------------------------------------------------

static void lane_free(const struct driver_functions *call, struct lane *lane)
{
    for (int i = 0; i < SLOTS_MOST; i++) {
        if (lane->slots[i].event)
            call->event_destroy(lane->slots[i].event);
        if (lane->slots[i].pinned)
            call->host_free(lane->slots[i].pinned);
    }
    if (lane->stream)
        call->stream_destroy(lane->stream);
    mem_release(lane, sizeof *lane);
}

static void lane_release(struct gpu_context *gpu, void *lane)
{
    lane_free(call_of(gpu), lane);
}

static int lane_fill(const struct gpu_context *gpu, struct lane *lane)
{
    const struct driver_functions *call = call_of(gpu);
    int code = gpu_create_aside(gpu, &lane->stream);
    for (unsigned i = 0; i < way.slots && code == 0; i++) {
        code = call->host_allocate(&lane->slots[i].pinned, way.piece,
                                   DRIVER_HOST_PORTABLE);
        if (code == 0)
            code = call->event_create(&lane->slots[i].event,
                                      DRIVER_EVENT_NO_TIMING);
    }
    return code;
}

static struct lane *lane_take(struct gpu_context *gpu, int *code)
{
    lock_take(&gpu->lock);
    struct lane *lane = gpu->lanes;
    if (lane)
        gpu->lanes = lane->next;
    lock_give(&gpu->lock);
    if (lane)
        return lane;
    lane = mem_allocate(sizeof *lane);
    *code = lane ? lane_fill(gpu, lane) : gpu->driver->out_of_memory;
    if (*code != 0 && lane) {
        free_when_idle(gpu->owner, lane_release, lane);
        lane = NULL;
    }
    return lane;
}

static void lane_drop(struct gpu_context *gpu, struct lane *lane)
{
    lock_take(&gpu->lock);
    lane->next = gpu->lanes;
    gpu->lanes = lane;
    lock_give(&gpu->lock);
}

void staging_finish(struct gpu_context *gpu)
{
    while (gpu->lanes) {
        struct lane *lane = gpu->lanes;
        gpu->lanes = lane->next;
        lane_free(call_of(gpu), lane);
    }
}

// --- One thread's share ------------------------------------------------------

// Pieces are small at both ends of a copy: first to start the bus soon, last to
// leave no thread alone with much work.
static size_t piece_size(const struct copy_job *job, size_t offset)
{
    size_t left = job->size - offset;
    size_t rising = offset / way.threads, falling = left / way.threads / 2;
    size_t size = rising < falling ? rising : falling;
    size = size & ~(PIECE_LEAST - 1);
    if (size < PIECE_LEAST)
        size = PIECE_LEAST;
    if (size > way.piece)
        size = way.piece;
    return size < left ? size : left;
}

static bool is_taken(struct copy_job *job)
{
    return atomic_load(&job->begun) >= job->size ||
           atomic_load(&job->code) != 0;
}

// Takes the next free piece; false if no piece is left.
static bool next_piece(struct copy_job *job, size_t *out_offset,
                       size_t *out_size)
{
    *out_offset = atomic_load(&job->begun);
    do {
        if (*out_offset >= job->size || atomic_load(&job->code) != 0 ||
            driver_use_ended())
            return false;
        *out_size = piece_size(job, *out_offset);
    } while (!atomic_compare_exchange_weak(&job->begun, out_offset,
                                           *out_offset + *out_size));
    return true;
}

#if defined(__x86_64__)
static void lines_128(char *to, const char *from, size_t size)
{
    for (size_t at = 0; at < size; at += 64) {
        const __m128i *source = (const __m128i *)(const void *)(from + at);
        __m128i *target = (__m128i *)(void *)(to + at);
        __m128i a = _mm_loadu_si128(source);
        __m128i b = _mm_loadu_si128(source + 1);
        __m128i c = _mm_loadu_si128(source + 2);
        __m128i d = _mm_loadu_si128(source + 3);
        _mm_stream_si128(target, a);
        _mm_stream_si128(target + 1, b);
        _mm_stream_si128(target + 2, c);
        _mm_stream_si128(target + 3, d);
    }
}

__attribute__((target("avx512f"))) static void
lines_512(char *to, const char *from, size_t size)
{
    for (size_t at = 0; at < size; at += 64)
        _mm512_stream_si512((void *)(to + at),
                            _mm512_loadu_si512(from + at));
}

static void copy_past_caches(char *to, const char *from, size_t size)
{
    size_t head = -(uintptr_t)to & 63;
    if (head > size)
        head = size;
    size_t lines = (size - head) & ~(size_t)63, tail = head + lines;
    memcpy(to, from, head);
    (way.lines ? lines_512 : lines_128)(to + head, from + head, lines);
    memcpy(to + tail, from + tail, size - tail);
    _mm_sfence();
}
#else
static void copy_past_caches(char *to, const char *from, size_t size)
{
    memcpy(to, from, size);
}
#endif

// True if the copy bypasses the caches. On the way to the device, only the bus
// reads the page-locked memory. Fetching its lines first pays only if the lines
// are still in the caches. Only a large copy reuses the buffers often enough
// for that. Stores of less than a line fetch the line anyway.
static bool goes_past_caches(const struct copy_job *job)
{
    size_t pinned = way.threads * way.slots * way.piece;
    return job->to_device ? way.lines && job->size <= PINNED_TIMES * pinned
                          : job->size >= way.past;
}

static void carry_bytes(const struct copy_job *job, char *to, const char *from,
                        size_t size)
{
    if (goes_past_caches(job))
        copy_past_caches(to, from, size);
    else
        memcpy(to, from, size);
}

// Waits until the piece in the slot has arrived.
static int slot_settle(const struct driver_functions *call,
                       const struct copy_job *job, struct stage_slot *slot)
{
    if (slot->size == 0)
        return 0;
    int code = call->event_synchronize(slot->event);
    if (code == 0 && slot->waits_for)
        carry_bytes(job, slot->waits_for, slot->pinned, slot->size);
    slot->size = 0;
    return code;
}

static int begin_piece(const struct driver_functions *call,
                       struct copy_job *job, struct lane *lane,
                       struct stage_slot *slot, size_t offset, size_t size)
{
    uint64_t pinned = (uint64_t)(uintptr_t)slot->pinned;
    int code;
    if (job->to_device) {
        carry_bytes(job, slot->pinned, job->from + offset, size);
        code = call->copy((uint64_t)(uintptr_t)(job->to + offset), pinned,
                          size, lane->stream);
    } else {
        code = call->copy(pinned, (uint64_t)(uintptr_t)(job->from + offset),
                          size, lane->stream);
    }
    if (code != 0)
        return code;
    slot->waits_for = job->to_device ? NULL : job->to + offset;
    slot->size = size;
    return call->event_record(slot->event, lane->stream);
}

// Carries pieces until none is left, or until another copy waits for a turn.
static int carry(const struct driver_functions *call, struct copy_job *job,
                 struct lane *lane)
{
    size_t offset, size;
    unsigned turn = 0;
    int code = 0;
    while (code == 0 &&
           (turn < TURN_PIECES || !atomic_load(&copying.waiting)) &&
           next_piece(job, &offset, &size)) {
        struct stage_slot *slot = &lane->slots[turn++ % way.slots];
        code = slot_settle(call, job, slot);
        if (code == 0)
            code = begin_piece(call, job, lane, slot, offset, size);
    }
    // A piece without a recorded event may still be under way.
    if (code != 0)
        call->stream_synchronize(lane->stream);
    for (unsigned i = 0; i < way.slots; i++) {
        int last =
            slot_settle(call, job, &lane->slots[turn++ % way.slots]);
        code = code ? code : last;
    }
    return code;
}

static void work_on(struct copy_job *job)
{
    struct gpu_context *gpu = gpu_of(stream_context(job->stream));
    int code = 0, none = 0;
    void *before = current_enter(gpu);
    struct lane *lane = lane_take(gpu, &code);
    if (lane) {
        code = carry(call_of(gpu), job, lane);
        lane_drop(gpu, lane);
    }
    current_back(gpu, before);
    if (code != 0)
        atomic_compare_exchange_strong(&job->code, &none, code);
}

// --- Jobs ------------------------------------------------------------------

static void job_finish(struct copy_job *job)
{
    struct stream *stream = job->stream;
    if (!job->op) {
        atomic_store_explicit(&job->over, true, memory_order_release);
        return;
    }
    int code = atomic_load(&job->code);
    rnl_status status =
        code ? driver_fail(stream_context(stream), code, "to copy") : RNL_OK;
    host_queue_complete(stream, job->op, status);
    mem_release(job, sizeof *job);
    stream_drop(stream);
}

static void run_share(struct task *task)
{
    struct copy_job *job = ((struct share *)task)->job;
    if (!is_taken(job)) {
        if (!driver_use_begin())
            driver_use_never();
        work_on(job);
        driver_use_end();
        if (driver_use_ended())
            driver_use_never();
    }
    if (!is_taken(job))
        // This thread exists, so task_add cannot fail.
        task_add(&copying, task);
    else if (COUNT_DOWN(&job->open) == 1)
        job_finish(job);
}

bool staging_takes(const struct op *op)
{
    const struct op_copy *copy = &op->copy;
    return op->kind == OP_COPY && copy->height == 1 && copy->depth == 1 &&
           copy->width > PIECE_LEAST &&
           (copy->from_context == NULL) != (copy->to_context == NULL);
}

static size_t pieces_of(const struct copy_job *job)
{
    return (job->size + PIECE_LEAST - 1) / PIECE_LEAST;
}

static struct copy_job *job_new(struct stream *stream,
                                const struct op_copy *copy)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose_way);
    struct copy_job *job = mem_allocate(sizeof *job);
    if (!job)
        return NULL;
    job->stream = stream;
    job->to = copy->to;
    job->from = copy->from;
    job->to_device = copy->to_context != NULL;
    job->size = copy->width;
    return job;
}

// Adds the shares of a job; the last share to end finishes the job. The caller
// has a further share, which ends after all shares are added.
static unsigned add_shares(struct copy_job *job, size_t most)
{
    unsigned shares = most < way.threads ? (unsigned)most : way.threads;
    atomic_store(&job->open, shares + 1);
    unsigned added = 0;
    for (; added < shares; added++) {
        job->shares[added].task.run = run_share;
        job->shares[added].job = job;
        if (!task_add(&copying, &job->shares[added].task))
            break;
    }
    atomic_fetch_sub(&job->open, shares - added);
    return added;
}

bool staging_start(struct stream *stream, struct op *op)
{
    struct copy_job *job = job_new(stream, &op->copy);
    if (!job)
        return false;
    job->op = op;
    object_ref(&stream->object);  // kept by the progress thread
    if (add_shares(job, pieces_of(job)) == 0) {
        mem_release(job, sizeof *job);
        object_unref(&stream->object);
        return false;
    }
    if (COUNT_DOWN(&job->open) == 1)
        job_finish(job);
    return true;
}

static _Atomic unsigned callers;  // threads that wait for their copies

static rnl_status is_over(void *subject)
{
    struct copy_job *job = subject;
    return atomic_load_explicit(&job->over, memory_order_acquire)
               ? RNL_OK
               : RNL_NOT_READY;
}

rnl_status staging_copy_with(struct stream *stream, const struct op *op)
{
    bool takes = staging_takes(op) &&
                 !(op->copy.to_context && op->copy.width <= DRIVERS_MOST);
    struct copy_job *job = takes ? job_new(stream, &op->copy) : NULL;
    if (!job)
        return staging_copy(stream, op);
    struct waits waits = {.took_us = {LAST_PIECES_US}};
    bool alone = add_shares(job, pieces_of(job) - 1) == 0;
    // A caller that carries takes a lane, and lanes are kept. So the number of
    // carrying callers is limited.
    bool carries = atomic_fetch_add(&callers, 1) < way.threads || alone;
    if (carries && driver_use_begin()) {
        while (!is_taken(job) && !driver_use_ended())
            work_on(job);
        driver_use_end();
    }
    COUNT_DOWN(&callers);
    if (COUNT_DOWN(&job->open) == 1)
        job_finish(job);
    rnl_status status = gpu_poll(
        is_over, job,
        (rnl_sync_policy)atomic_load_explicit(&stream->sync_policy,
                                              memory_order_relaxed),
        RNL_FOREVER, &waits);
    if (status != RNL_OK)  // the process ends; threads may use the job
        return status;
    int code = atomic_load(&job->code);
    bool taken = is_taken(job);
    mem_release(job, sizeof *job);
    if (!taken)
        return driver_use_fail();
    return code == 0 ? RNL_OK
                     : driver_fail(stream_context(stream), code, "to copy");
}

// --- Small and other copies ------------------------------------------------

rnl_status staging_copy(struct stream *stream, const struct op *op)
{
    struct context *context = stream_context(stream);
    struct gpu_context *gpu = gpu_of(context);
    void *before = current_enter(gpu);
    bool begun;
    int code = gpu_give(context, gpu->copy_stream, op, &begun);
    if (code == 0 || begun) {
        int last = call_of(gpu)->stream_synchronize(gpu->copy_stream);
        code = code ? code : last;
    }
    current_back(gpu, before);
    return code == 0 ? RNL_OK
                     : driver_fail(context, code, "to copy host memory");
}
