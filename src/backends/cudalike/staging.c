// Copies between the device and ordinary host memory.
//
// The driver does them through one small page-locked buffer with one thread;
// here several threads carry pieces through buffers of their own, each on a
// stream of its own, so that copying in memory and over the bus overlap. Other
// streams and host functions are not held up.
#include "backends/cudalike/staging.h"

#include "base/clock.h"

#include <string.h>
#include <unistd.h>

#define PIECE ((size_t)1 << 20)
#define THREADS_MOST 8

struct slot {
    void *pinned, *event;
    char *waits_for;  // where the piece goes that is on its way into it
    size_t size;
};

// What one thread needs for a while. Belongs to a context.
struct lane {
    struct lane *next;
    void *stream;
    struct slot slots[2];
};

struct job {
    struct job *next;
    struct stream *stream;  // referenced
    struct op *op;
    bool to_device;
    size_t size;
    _Atomic size_t begun;   // bytes that some thread has taken on
    _Atomic int code;       // the driver's first refusal
    uint32_t threads;       // at work on it; under the lock
};

static struct lock jobs_lock;  // guards the next three
static struct job *jobs, **jobs_end = &jobs;
static unsigned threads_started;
static _Atomic uint32_t news;

// --- Lanes -----------------------------------------------------------------

static void lane_free(const struct driver_functions *call, struct lane *lane)
{
    for (int i = 0; i < 2; i++) {
        if (lane->slots[i].event)
            call->event_destroy(lane->slots[i].event);
        if (lane->slots[i].pinned)
            call->host_free(lane->slots[i].pinned);
    }
    if (lane->stream)
        call->stream_destroy(lane->stream);
    mem_release(lane, sizeof *lane);
}

static int lane_fill(const struct gpu_context *gpu, struct lane *lane)
{
    const struct driver_functions *call = call_of(gpu);
    int code = gpu_create_aside(gpu, &lane->stream);
    for (int i = 0; i < 2 && code == 0; i++) {
        code = call->host_allocate(&lane->slots[i].pinned, PIECE,
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
        lane_free(call_of(gpu), lane);
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

// The next piece that nobody has taken on; false when there is none.
static bool next_piece(struct job *job, size_t *out_offset, size_t *out_size)
{
    if (driver_use_ended())
        return false;
    size_t offset = atomic_fetch_add(&job->begun, PIECE);
    if (offset >= job->size || atomic_load(&job->code) != 0)
        return false;
    *out_offset = offset;
    *out_size = job->size - offset < PIECE ? job->size - offset : PIECE;
    return true;
}

// Until what is on its way through the slot is there.
static int slot_settle(const struct driver_functions *call, struct slot *slot)
{
    if (slot->size == 0)
        return 0;
    int code = call->event_synchronize(slot->event);
    if (code == 0 && slot->waits_for)
        memcpy(slot->waits_for, slot->pinned, slot->size);
    slot->size = 0;
    return code;
}

static int begin_piece(const struct driver_functions *call, struct job *job,
                       struct lane *lane, struct slot *slot, size_t offset,
                       size_t size)
{
    const struct op_copy *copy = &job->op->copy;
    uint64_t pinned = (uint64_t)(uintptr_t)slot->pinned;
    int code;
    if (job->to_device) {
        memcpy(slot->pinned, copy->from + offset, size);
        code = call->copy((uint64_t)(uintptr_t)(copy->to + offset), pinned,
                          size, lane->stream);
    } else {
        code = call->copy(pinned, (uint64_t)(uintptr_t)(copy->from + offset),
                          size, lane->stream);
    }
    slot->waits_for = job->to_device ? NULL : copy->to + offset;
    slot->size = size;
    return code ? code : call->event_record(slot->event, lane->stream);
}

static int carry(const struct driver_functions *call, struct job *job,
                 struct lane *lane)
{
    size_t offset, size;
    int code = 0;
    for (unsigned turn = 0; code == 0 && next_piece(job, &offset, &size);
         turn ^= 1) {
        struct slot *slot = &lane->slots[turn];
        code = slot_settle(call, slot);
        if (code == 0)
            code = begin_piece(call, job, lane, slot, offset, size);
    }
    // The older one is in either: both have to be waited for.
    for (int i = 0; i < 2; i++) {
        int last = slot_settle(call, &lane->slots[i]);
        code = code ? code : last;
    }
    return code;
}

static void work_on(struct job *job)
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

static void job_finish(struct job *job)
{
    struct stream *stream = job->stream;
    int code = atomic_load(&job->code);
    rnl_status status =
        code ? driver_fail(stream_context(stream), code, "to copy") : RNL_OK;
    service_item_done(stream, job->op, status);
    mem_release(job, sizeof *job);
    object_drop(&stream->object);
}

static bool is_taken(const struct job *job)
{
    return atomic_load(&job->begun) >= job->size ||
           atomic_load(&job->code) != 0;
}

// A job with something left to do, which the thread joins.
static struct job *join_locked(void)
{
    struct job *job = jobs;
    while (job && is_taken(job))
        job = job->next;
    if (job)
        job->threads++;
    return job;
}

// The last thread that leaves a job takes it out of the list.
static bool leave(struct job *job)
{
    lock_take(&jobs_lock);
    bool last = --job->threads == 0 && is_taken(job);
    struct job **link = &jobs;
    while (last && *link != job)
        link = &(*link)->next;
    if (last) {
        *link = job->next;
        if (!*link)
            jobs_end = link;
    }
    lock_give(&jobs_lock);
    return last;
}

static void *run(void *unused)
{
    for (;;) {
        uint32_t seen = atomic_load(&news);
        lock_take(&jobs_lock);
        struct job *job = join_locked();
        lock_give(&jobs_lock);
        if (!job) {
            op_trim();  // nobody would miss them here
            futex_wait(&news, seen, RNL_FOREVER);
            continue;
        }
        if (!driver_use_begin())
            driver_use_never();
        work_on(job);
        driver_use_end();
        if (driver_use_ended())
            driver_use_never();
        if (leave(job))
            job_finish(job);
    }
    return unused;
}

static unsigned threads_wanted(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 4 ? 1 : cores / 2 < THREADS_MOST ? (unsigned)(cores / 2)
                                                    : THREADS_MOST;
}

static bool start_threads_locked(void)
{
    pthread_t thread;
    while (threads_started < threads_wanted() &&
           thread_start(&thread, "rnl-staging", run, NULL)) {
        pthread_detach(thread);
        threads_started++;
    }
    return threads_started > 0;
}

bool staging_takes(const struct op *op)
{
    const struct op_copy *copy = &op->copy;
    return op->kind == OP_COPY && copy->height == 1 && copy->depth == 1 &&
           copy->width > PIECE / 4 &&
           (copy->from_context == NULL) != (copy->to_context == NULL);
}

bool staging_start(struct stream *stream, struct op *op)
{
    struct job *job = mem_allocate(sizeof *job);
    if (!job)
        return false;
    *job = (struct job){.stream = stream,
                        .op = op,
                        .to_device = op->copy.to_context != NULL,
                        .size = op->copy.width};
    lock_take(&jobs_lock);
    bool ok = start_threads_locked();
    if (ok) {
        object_keep(&stream->object);
        *jobs_end = job;
        jobs_end = &job->next;
    }
    lock_give(&jobs_lock);
    if (!ok) {
        mem_release(job, sizeof *job);
        return false;
    }
    atomic_fetch_add(&news, 1);
    futex_wake(&news, THREADS_MOST);
    return true;
}

// --- Small and other copies ------------------------------------------------

rnl_status staging_copy(struct stream *stream, const struct op_copy *copy)
{
    struct context *context = stream_context(stream);
    struct gpu_context *gpu = gpu_of(context);
    void *before = current_enter(gpu);
    int code = gpu_copy_on(gpu, gpu->copy_stream, copy);
    if (code == 0)
        code = call_of(gpu)->stream_synchronize(gpu->copy_stream);
    current_back(gpu, before);
    return code == 0 ? RNL_OK
                     : driver_fail(context, code, "to copy host memory");
}
