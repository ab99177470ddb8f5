// What may be freed only when the work submitted so far is done: modules whose
// kernels may run, page-locked memory that a copy may still write.
//
// The driver's calls that free memory wait until the whole device is idle, and
// while they wait, launches and copies of other threads are held up (seen with
// CUDA 13.0: cuMemFree, cuMemFreeHost, cuMemHostUnregister, cuModuleUnload and
// the loading of modules). What they wait for may need the very thread that is
// held up. So they are only made while nothing runs on the device and nothing
// can be submitted, by the reaper.
#include "backends/cudalike/reaper.h"

struct trash {
    struct trash *next;
    trash_release *release;
    void *subject;
    bool waits;  // `release` is such a call
    struct point behind;
};

// The vendor's part of a context that is gone.
struct rest {
    struct rest *next;
    struct gpu_context gpu;
};

static struct lock registry_lock;      // guards the next three
static struct gpu_context *contexts;   // that are open
static struct gpu_context *asking;     // with trash that waits for streams
static struct rest *rests;
static struct rest *over;              // whose deleters are to be called

// --- Collecting --------------------------------------------------------------

static bool is_busy(struct stream *stream)
{
    return atomic_load(&timeline_of(gpu_stream_of(stream))->completed) <
           atomic_load(&stream->enqueued);
}

static bool is_passed(struct context *context, struct point point)
{
    return context_is_lost(context) || point_is_reached(point);
}

static void call_release(struct gpu_context *gpu, trash_release *release,
                         void *subject)
{
    void *before = current_enter(gpu);
    release(gpu, subject);
    current_back(gpu, before);
}

static void trash_free(struct gpu_context *gpu, struct trash *trash)
{
    call_release(gpu, trash->release, trash->subject);
    timeline_release(trash->behind.timeline);
    mem_release(trash, sizeof *trash);
}

static void put(struct gpu_context *gpu, struct trash *trash)
{
    lock_take(&gpu->lock);
    trash->next = gpu->trash;
    gpu->trash = trash;
    lock_give(&gpu->lock);
}

static struct trash *take_all(struct gpu_context *gpu)
{
    lock_take(&gpu->lock);
    struct trash *all = gpu->trash;
    gpu->trash = NULL;
    lock_give(&gpu->lock);
    return all;
}

// Has the reaper look at what the context has to be freed until none of it
// waits for streams. It keeps the context meanwhile.
static void ask(struct context *context)
{
    struct gpu_context *gpu = gpu_of(context);
    lock_take(&registry_lock);
    if (!gpu->asks) {
        object_keep(&context->object);
        gpu->asks = true;
        gpu->next_asking = asking;
        asking = gpu;
    }
    lock_give(&registry_lock);
}

static bool add(struct context *context, struct trash given)
{
    struct trash *trash = mem_allocate(sizeof *trash);
    if (!trash)
        return false;
    *trash = given;
    timeline_retain(given.behind.timeline);
    put(gpu_of(context), trash);  // from then on it may be freed
    if (!given.waits)
        ask(context);
    reaper_start();
    reaper_wake();
    return true;
}

bool trash_add(struct context *context, trash_release *release, void *subject,
               struct point behind)
{
    if (!is_passed(context, behind))
        return add(context, (struct trash){.release = release,
                                           .subject = subject,
                                           .behind = behind});
    call_release(gpu_of(context), release, subject);
    return true;
}

void trash_add_waiting(struct context *context, trash_release *release,
                       void *subject)
{
    if (!add(context, (struct trash){.release = release, .subject = subject,
                                     .waits = true}))
        call_release(gpu_of(context), release, subject);  // the driver waits
}

// What waits for a stream only is freed.
static void look(struct context *context)
{
    struct gpu_context *gpu = gpu_of(context);
    for (struct trash *trash = take_all(gpu), *next; trash; trash = next) {
        next = trash->next;
        if (!trash->waits && is_passed(context, trash->behind))
            trash_free(gpu, trash);
        else
            put(gpu, trash);
    }
}

static bool waits_for_streams(struct gpu_context *gpu)
{
    bool found = false;
    lock_take(&gpu->lock);
    for (const struct trash *trash = gpu->trash; trash; trash = trash->next)
        found |= !trash->waits;
    lock_give(&gpu->lock);
    return found;
}

static struct gpu_context *take_asking(void)
{
    lock_take(&registry_lock);
    struct gpu_context *all = asking;
    asking = NULL;
    lock_give(&registry_lock);
    return all;
}

// Looked at under the lock: what is added afterwards asks again.
static bool ask_again(struct gpu_context *gpu)
{
    lock_take(&registry_lock);
    bool asks = waits_for_streams(gpu);
    gpu->asks = asks;
    if (asks) {
        gpu->next_asking = asking;
        asking = gpu;
    }
    lock_give(&registry_lock);
    return asks;
}

static bool look_at_asking(void)
{
    bool left = false;
    for (struct gpu_context *gpu = take_asking(), *next; gpu; gpu = next) {
        struct context *context = gpu->owner;
        next = gpu->next_asking;
        look(context);
        if (ask_again(gpu))
            left = true;
        else
            object_drop(&context->object);
    }
    return left;
}

// --- Calls that wait for the device -----------------------------------------

static void free_waiting(struct gpu_context *gpu)
{
    for (struct trash *trash = take_all(gpu), *next; trash; trash = next) {
        next = trash->next;
        if (trash->waits)
            trash_free(gpu, trash);
        else
            put(gpu, trash);
    }
}

// Nobody else knows the context any more.
static void finish_rest(struct gpu_context *gpu)
{
    void *before = current_enter(gpu);
    for (struct trash *trash = take_all(gpu), *next; trash; trash = next) {
        next = trash->next;
        trash_free(gpu, trash);
    }
    context_rest_finish(gpu);
    current_back(gpu, before);
    if (!gpu->foreign)
        call_of(gpu)->primary_release(gpu->device);
}

// The caller's function may wait, so no lock is held.
static void call_deleter(const struct gpu_context *gpu)
{
    if (!gpu->deleter)
        return;
    callback_begin();
    gpu->deleter(gpu->handle, 0, gpu->user_data);
    callback_end();
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

// Lets the streams of the context go, up to and not including `end`.
static void let_go(struct gpu_context *gpu, const struct stream *end)
{
    for (struct stream *stream = gpu->owner->streams; stream != end;
         stream = stream->next)
        lock_give(&gpu_stream_of(stream)->lock);
    lock_give(&gpu->owner->lock);
}

// Holds the context's streams, if they are all idle.
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

// All that waits for the device of `one`; false when it is not idle.
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
    bool found = false;
    lock_take(&gpu->lock);
    for (const struct trash *trash = gpu->trash; trash; trash = trash->next)
        found |= trash->waits;
    lock_give(&gpu->lock);
    return found;
}

bool trash_empty(void)
{
    bool left = look_at_asking();
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

void trash_open(struct context *context)
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
    struct gpu_context **link = &contexts;
    while (*link != gpu)
        link = &(*link)->next;
    *link = gpu->next;
}

void trash_close(struct context *context)
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
        reaper_start();
        reaper_wake();
        return;
    }
    finish_rest(gpu);
    call_deleter(gpu);
}
