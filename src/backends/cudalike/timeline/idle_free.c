// Frees that need an idle device: modules whose kernels may run, page-locked
// memory that a copy may still write. Such an object cannot retire with a
// stream, because the driver's calls to free the object wait for all streams.
//
// While these calls wait for the device to become idle, launches and copies of
// all threads block. CUDA 13.0 was seen to wait in cuMemFree, cuMemFreeHost,
// cuMemHostUnregister, cuModuleUnload and the loading of modules. The device
// may wait for work of just such a blocked thread. So the reaper makes these
// calls only while nothing runs on the device and nothing can be submitted.
#include "backends/cudalike/timeline/idle_free.h"

#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/reaper.h"

struct idle_free {
    struct idle_free *next;
    idle_release *release;
    void *subject;
};

// The backend's part of a context that has ended.
struct rest {
    struct rest *next;
    struct gpu_context gpu;
};

// Guards the next three.
static struct lock registry_lock = LOCK_RANKED(RANK_REGISTRY);
static struct gpu_context *contexts;   // the open ones
static struct rest *rests;
static struct rest *over;              // their deleters are still to be called

static bool idle_frees_run(void);

// --- Collecting --------------------------------------------------------------

static bool is_busy(struct stream *stream)
{
    return atomic_load(&stream_timeline(stream)->completed) <
           atomic_load(&stream->enqueued);
}

static void call_release(struct gpu_context *gpu, idle_release *release,
                         void *subject)
{
    void *before = current_enter(gpu);
    release(gpu, subject);
    current_back(gpu, before);
}

static void free_one(struct gpu_context *gpu, struct idle_free *one)
{
    call_release(gpu, one->release, one->subject);
    mem_release(one, sizeof *one);
}

static struct idle_free *take_all(struct gpu_context *gpu)
{
    lock_take(&gpu->lock);
    struct idle_free *all = gpu->idle_frees;
    gpu->idle_frees = NULL;
    lock_give(&gpu->lock);
    return all;
}

void free_when_idle(struct context *context, idle_release *release,
                    void *subject)
{
    struct gpu_context *gpu = gpu_of(context);
    struct idle_free *one = mem_allocate(sizeof *one);
    if (!one) {
        call_release(gpu, release, subject);  // the driver waits for the device
        return;
    }
    lock_take(&gpu->lock);
    *one = (struct idle_free){gpu->idle_frees, release, subject};
    gpu->idle_frees = one;  // the reaper may free `one` from now on
    lock_give(&gpu->lock);
    reaper_attend(idle_frees_run);
}

// --- Calls that wait for the device -----------------------------------------

static void free_waiting(struct gpu_context *gpu)
{
    for (struct idle_free *one = take_all(gpu), *next; one; one = next) {
        next = one->next;
        free_one(gpu, one);
    }
}

// No other thread knows the context any more.
static void finish_rest(struct gpu_context *gpu)
{
    void *before = current_enter(gpu);
    free_waiting(gpu);
    gpu->hooks->context_end(gpu);
    current_back(gpu, before);
    if (!gpu->foreign)
        call_of(gpu)->primary_release(gpu->device);
}

// The caller's function may wait, so no lock is held.
static void call_deleter(const struct gpu_context *gpu)
{
    if (!gpu->deleter)
        return;
    const char *around = releasing_callback_begin();
    gpu->deleter(gpu->handle, 0, gpu->user_data);
    releasing_callback_end(around);
}

static void call_deleters(struct rest *rest)
{
    for (struct rest *next; rest; rest = next) {
        next = rest->next;
        call_deleter(&rest->gpu);
        mem_release(rest, sizeof *rest);
    }
}

static bool same_device(const struct gpu_context *a,
                        const struct gpu_context *b)
{
    return a->driver == b->driver && a->device == b->device;
}

// Unlocks the streams of the context, up to and not including `end`.
static void let_go(struct gpu_context *gpu, const struct stream *end)
{
    for (struct stream *stream = gpu->owner->streams; stream != end;
         stream = stream->next)
        lock_give(&gpu_stream_of(stream)->lock);
    lock_give(&gpu->owner->lock);
}

// Locks the context's streams if all are idle.
static bool hold(struct gpu_context *gpu)
{
    lock_take(&gpu->owner->lock);
    struct stream *stream = gpu->owner->streams;
    for (; stream; stream = stream->next) {
        if (!lock_try(&gpu_stream_of(stream)->lock))
            break;
        if (is_busy(stream) && !context_is_lost(gpu->owner)) {
            lock_give(&gpu_stream_of(stream)->lock);
            break;
        }
    }
    if (!stream)
        return true;
    let_go(gpu, stream);
    return false;
}

static void let_go_all(const struct gpu_context *device,
                       const struct gpu_context *end)
{
    for (struct gpu_context *gpu = contexts; gpu != end; gpu = gpu->next)
        if (same_device(gpu, device))
            let_go(gpu, NULL);
}

static bool hold_all(const struct gpu_context *device)
{
    for (struct gpu_context *gpu = contexts; gpu; gpu = gpu->next) {
        if (!same_device(gpu, device) || hold(gpu))
            continue;
        let_go_all(device, gpu);
        return false;
    }
    return true;
}

// Makes all frees that wait for the device of `one`; false if the device is
// busy.
static bool empty_device(const struct gpu_context *one)
{
    struct gpu_context device = {.driver = one->driver,
                                 .device = one->device};
    if (!hold_all(&device))
        return false;
    for (struct gpu_context *gpu = contexts; gpu; gpu = gpu->next)
        if (same_device(gpu, &device))
            free_waiting(gpu);
    for (struct rest **link = &rests; *link;) {
        struct rest *rest = *link;
        if (!same_device(&rest->gpu, &device)) {
            link = &rest->next;
            continue;
        }
        *link = rest->next;
        finish_rest(&rest->gpu);
        rest->next = over;
        over = rest;
    }
    let_go_all(&device, NULL);
    return true;
}

static bool has_waiting(struct gpu_context *gpu)
{
    lock_take(&gpu->lock);
    bool found = gpu->idle_frees != NULL;
    lock_give(&gpu->lock);
    return found;
}

static bool idle_frees_run(void)
{
    bool left = false;
    lock_take(&registry_lock);
    for (struct gpu_context *gpu = contexts; gpu; gpu = gpu->next)
        if (has_waiting(gpu))
            left |= !empty_device(gpu);
    bool busy = false;
    while (rests && !busy)
        busy = !empty_device(&rests->gpu);
    struct rest *finished = over;
    over = NULL;
    lock_give(&registry_lock);
    call_deleters(finished);
    return left || busy;
}

// --- Contexts ---------------------------------------------------------------

void idle_frees_open(struct context *context)
{
    struct gpu_context *gpu = gpu_of(context);
    gpu->owner = context;
    lock_take(&registry_lock);
    gpu->next = contexts;
    contexts = gpu;
    lock_give(&registry_lock);
}

static void unlink_locked(struct gpu_context *gpu)
{
    ASSERT(lock_is_held(&registry_lock));
    struct gpu_context **link = &contexts;
    while (*link != gpu)
        link = &(*link)->next;
    *link = gpu->next;
}

void idle_frees_close(struct context *context)
{
    struct rest *rest = mem_allocate(sizeof *rest);
    struct gpu_context *gpu = gpu_of(context);
    lock_take(&registry_lock);
    unlink_locked(gpu);
    if (rest) {
        rest->gpu = *gpu;
        rest->next = rests;
        rests = rest;
    }
    lock_give(&registry_lock);
    if (rest) {
        reaper_attend(idle_frees_run);
        return;
    }
    finish_rest(gpu);
    call_deleter(gpu);
}
