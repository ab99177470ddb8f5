// What may be freed only when the work submitted so far is done: modules whose
// kernels may run, page-locked memory that a copy may still write.
//
// The driver's calls that free memory wait until the whole device is idle, and
// while they wait, launches and copies of other threads are held up (seen with
// CUDA 13.0: cuMemFree, cuMemFreeHost, cuMemHostUnregister, cuModuleUnload and
// the loading of modules). What they wait for may need the very thread that is
// held up. So they are only made while nothing runs on the device and nothing
// can be submitted, by the service.
#include "backends/cudalike/service.h"

// How far one stream has to get. Streams that are gone have got there.
struct point {
    uint64_t stream_id, sequence;
};

struct trash {
    struct trash *next;
    trash_release *release;
    void *subject;
    bool waits;  // `release` is such a call
    size_t count, most;
    struct point points[];
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

// --- Collecting --------------------------------------------------------------

// What is being submitted was given before it is counted.
static uint64_t last_of(struct stream *stream)
{
    uint64_t submitted = atomic_load(&stream->submitted);
    uint64_t given = atomic_load(&gpu_stream_of(stream)->given);
    return given > submitted ? given : submitted;
}

static bool is_busy(struct stream *stream)
{
    return atomic_load(&gpu_stream_of(stream)->completed) < last_of(stream);
}

static rnl_status count_stream(struct stream *stream, void *argument)
{
    *(size_t *)argument += is_busy(stream);
    return RNL_OK;
}

static rnl_status add_point(struct stream *stream, void *argument)
{
    struct trash *trash = argument;
    if (!is_busy(stream))
        return RNL_OK;
    if (trash->count == trash->most)
        return RNL_NOT_READY;
    trash->points[trash->count++] =
        (struct point){stream->object.id, last_of(stream)};
    return RNL_OK;
}

static rnl_status has_passed(struct stream *stream, void *argument)
{
    const struct trash *trash = argument;
    for (size_t i = 0; i < trash->count; i++)
        if (trash->points[i].stream_id == stream->object.id &&
            trash->points[i].sequence >
                atomic_load(&gpu_stream_of(stream)->completed) &&
            is_busy(stream))  // or it was given in vain
            return RNL_NOT_READY;
    return RNL_OK;
}

static bool may_go(struct context *context, struct trash *trash)
{
    if (trash->count > 0 && !context_is_lost(context) &&
        context_each_stream(context, has_passed, trash) != RNL_OK)
        return false;
    trash->count = 0;
    return true;
}

static size_t size_of(size_t most)
{
    return sizeof(struct trash) + most * sizeof(struct point);
}

static void trash_free(struct gpu_context *gpu, struct trash *trash)
{
    void *before = current_enter(gpu);
    trash->release(gpu, trash->subject);
    current_back(gpu, before);
    mem_release(trash, size_of(trash->most));
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

// Has the service look at what the context has to be freed until none of it
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

// With the points of all streams that are busy; NULL: there is no memory.
static struct trash *trash_new(struct context *context)
{
    size_t busy = 0;
    context_each_stream(context, count_stream, &busy);
    for (size_t most = busy + 4;; most *= 2) {
        struct trash *trash = mem_allocate(size_of(most));
        if (!trash)
            return NULL;
        trash->most = most;
        if (context_each_stream(context, add_point, trash) == RNL_OK)
            return trash;
        mem_release(trash, size_of(most));  // others became busy meanwhile
    }
}

static bool add(struct context *context, trash_release *release,
                void *subject, bool waits)
{
    struct gpu_context *gpu = gpu_of(context);
    struct trash *trash = trash_new(context);
    if (!trash)
        return false;
    trash->release = release;
    trash->subject = subject;
    trash->waits = waits;
    if (!waits && may_go(context, trash)) {
        trash_free(gpu, trash);
        return true;
    }
    bool asks = trash->count > 0;
    put(gpu, trash);
    if (asks)
        ask(context);
    service_start();
    service_wake();
    return true;
}

bool trash_add(struct context *context, trash_release *release, void *subject)
{
    return add(context, release, subject, false);
}

void trash_add_waiting(struct context *context, trash_release *release,
                       void *subject)
{
    struct gpu_context *gpu = gpu_of(context);
    if (add(context, release, subject, true))
        return;
    void *before = current_enter(gpu);
    release(gpu, subject);  // the driver itself waits
    current_back(gpu, before);
}

// What waits for streams only is freed; of the rest it is noted that it may go.
static void look(struct context *context)
{
    struct gpu_context *gpu = gpu_of(context);
    for (struct trash *trash = take_all(gpu), *next; trash; trash = next) {
        next = trash->next;
        if (may_go(context, trash) && !trash->waits)
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
        found |= trash->count > 0;
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
        if (trash->waits && trash->count == 0)
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
    call_of(gpu)->primary_release(gpu->device);
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
        mem_release(rest, sizeof *rest);
    }
    let_go_all(&device, NULL);
    return true;
}

static bool has_waiting(struct gpu_context *gpu)
{
    bool found = false;
    lock_take(&gpu->lock);
    for (const struct trash *trash = gpu->trash; trash; trash = trash->next)
        found |= trash->waits && trash->count == 0;
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
    lock_give(&registry_lock);
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
        service_start();
        service_wake();
        return;
    }
    finish_rest(gpu);
}
