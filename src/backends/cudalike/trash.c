// What may be freed only when the work submitted so far is done: modules whose
// kernels may run, page-locked memory that a copy may still write.
//
// The driver's calls that free these wait until the whole device is idle, and
// what it waits for may need the service, or the caller. So a thread of their
// own makes them, the reaper.
#include "backends/cudalike/service.h"
#include "backends/cudalike/task.h"

struct task_queue reaper = {.thread_name = "rnl-reaper"};

// How far one stream has to get. Streams that are gone have got there.
struct point {
    uint64_t stream_id, sequence;
};

struct trash {
    struct task task;         // first: for the reaper
    struct trash *next;
    struct context *context;  // referenced once the reaper has it
    void (*release)(struct gpu_context *, void *subject);
    void *subject;
    size_t count, most;
    struct point points[];
};

static bool is_busy(struct stream *stream)
{
    return atomic_load(&gpu_stream_of(stream)->completed) <
           atomic_load(&stream->submitted);
}

static rnl_status count_stream(struct stream *stream, void *argument)
{
    *(size_t *)argument += is_busy(stream);
    return RNL_OK;
}

static rnl_status add_point(struct stream *stream, void *argument)
{
    struct trash *trash = argument;
    if (is_busy(stream) && trash->count < trash->most)
        trash->points[trash->count++] = (struct point){
            stream->object.id, atomic_load(&stream->submitted)};
    return RNL_OK;
}

static rnl_status drop_points(struct stream *stream, void *argument)
{
    struct trash *trash = argument;
    for (size_t i = 0; i < trash->count; i++)
        if (trash->points[i].stream_id == stream->object.id &&
            trash->points[i].sequence >
                atomic_load(&gpu_stream_of(stream)->completed))
            return RNL_NOT_READY;
    return RNL_OK;
}

static bool may_go(struct context *context, struct trash *trash)
{
    return context_is_lost(context) || trash->count == 0 ||
           context_each_stream(context, drop_points, trash) == RNL_OK;
}

static void trash_free(struct gpu_context *gpu, struct trash *trash)
{
    void *before = current_enter(gpu);
    trash->release(gpu, trash->subject);
    current_back(gpu, before);
    mem_release(trash, sizeof *trash + trash->most * sizeof *trash->points);
}

static void reap(struct task *task)
{
    struct trash *trash = (struct trash *)task;
    struct context *context = trash->context;
    trash_free(gpu_of(context), trash);
    object_drop(&context->object);
}

static void hand_over(struct context *context, struct trash *trash)
{
    trash->context = context;
    trash->task.run = reap;
    object_keep(&context->object);
    if (!task_add(&reaper, &trash->task))
        reap(&trash->task);
}

static void put_back(struct gpu_context *gpu, struct trash *trash)
{
    lock_take(&gpu->lock);
    trash->next = gpu->trash;
    gpu->trash = trash;
    lock_give(&gpu->lock);
}

void trash_add(struct context *context,
               void (*release)(struct gpu_context *, void *subject),
               void *subject)
{
    size_t busy = 0;
    context_each_stream(context, count_stream, &busy);
    size_t most = busy + 4;  // others may become busy meanwhile
    struct trash *trash =
        mem_allocate(sizeof *trash + most * sizeof *trash->points);
    if (!trash) {
        // The driver itself waits, where it has to.
        void *before = current_enter(gpu_of(context));
        release(gpu_of(context), subject);
        current_back(gpu_of(context), before);
        return;
    }
    trash->most = most;
    trash->release = release;
    trash->subject = subject;
    context_each_stream(context, add_point, trash);
    if (may_go(context, trash)) {
        hand_over(context, trash);
        return;
    }
    put_back(gpu_of(context), trash);
    service_wake();
}

void trash_look(struct context *context)
{
    struct gpu_context *gpu = gpu_of(context);
    if (!gpu->trash)
        return;
    lock_take(&gpu->lock);
    struct trash *trash = gpu->trash;
    gpu->trash = NULL;
    lock_give(&gpu->lock);
    while (trash) {
        struct trash *next = trash->next;
        if (may_go(context, trash))
            hand_over(context, trash);
        else
            put_back(gpu, trash);
        trash = next;
    }
}

void trash_finish(struct gpu_context *gpu)
{
    while (gpu->trash) {
        struct trash *trash = gpu->trash;
        gpu->trash = trash->next;
        trash_free(gpu, trash);
    }
}
