#include "backends/cudalike/timeline/marker.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"

static struct marker_list *list_of(struct gpu_context *gpu, bool timing)
{
    return &gpu->markers[timing];
}

static struct marker *take_kept(struct marker_list *list)
{
    lock_take(&list->lock);
    struct marker *marker = list->first;
    if (marker)
        list->first = marker->next;
    lock_give(&list->lock);
    return marker;
}

static struct marker *marker_new(struct context *context, bool timing)
{
    struct gpu_context *gpu = gpu_of(context);
    struct marker *marker = mem_allocate(sizeof *marker);
    if (!marker) {
        fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for an event");
        return NULL;
    }
    void *before = current_enter(gpu);
    int code = call_of(gpu)->event_create(
        &marker->event, timing ? 0 : DRIVER_EVENT_NO_TIMING);
    current_back(gpu, before);
    if (code != 0) {
        mem_release(marker, sizeof *marker);
        driver_fail(context, code, "to create an event");
        return NULL;
    }
    marker->timing = timing;
    marker->home = context;
    lock_set_rank(&marker->lock, RANK_LEAF);
    return marker;
}

struct marker *marker_take(struct context *context, bool timing)
{
    struct marker *marker = take_kept(list_of(gpu_of(context), timing));
    if (!marker)
        marker = marker_new(context, timing);
    if (!marker)
        return NULL;
    atomic_store_explicit(&marker->references, 1, memory_order_relaxed);
    marker_renew(marker);
    return marker;
}

struct marker *marker_record(struct stream *stream, int *out_code)
{
    struct context *context = stream_context(stream);
    struct marker *marker = marker_take(context, false);
    *out_code = marker ? call_of(gpu_of(context))->event_record(
                             marker->event, gpu_stream_of(stream)->handle)
                       : 0;
    if (*out_code == 0)
        return marker;
    marker_drop(context, marker);
    return NULL;
}

struct marker *marker_complete(struct context *context)
{
    struct marker *marker = marker_new(context, false);
    if (!marker)
        return NULL;
    atomic_store_explicit(&marker->references, 1, memory_order_relaxed);
    atomic_store_explicit(&marker->done, true, memory_order_relaxed);
    return marker;
}

struct marker *marker_share(struct marker *marker)
{
    ASSERT(atomic_load(&marker->references) > 0);
    atomic_fetch_add_explicit(&marker->references, 1, memory_order_relaxed);
    return marker;
}

void marker_drop(struct context *context, struct marker *marker)
{
    if (!marker || COUNT_DOWN(&marker->references) != 1)
        return;
    struct marker_list *list = list_of(gpu_of(context), marker->timing);
    lock_take(&list->lock);
    marker->next = list->first;
    list->first = marker;
    lock_give(&list->lock);
}

void marker_drop_kept(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->lock);
    struct marker *kept[] = {own->spares[false], own->spares[true], own->point};
    own->spares[false] = own->spares[true] = own->point = NULL;
    lock_give(&own->lock);
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        marker_drop(stream_context(stream), kept[i]);
}

rnl_status marker_query(struct context *context, struct marker *marker)
{
    struct gpu_context *gpu = gpu_of(context);
    if (atomic_load_explicit(&marker->done, memory_order_acquire))
        return RNL_OK;
    if (context_is_lost(context))
        return context_still_copies(context) ? RNL_NOT_READY : RNL_OK;
    if (atomic_load_explicit(&marker->pending, memory_order_acquire))
        return RNL_NOT_READY;
    void *before = handle_enter(gpu);
    int code = call_of(gpu)->event_query(marker->event);
    current_back(gpu, before);
    if (code == gpu->driver->not_ready)
        return RNL_NOT_READY;
    if (code != 0) {
        rnl_status status = driver_fail(context, code, "to look at an event");
        return context_still_copies(context) ? RNL_NOT_READY : status;
    }
    atomic_store_explicit(&marker->done, true, memory_order_release);
    return RNL_OK;
}

void markers_finish(struct gpu_context *gpu)
{
    for (int timing = 0; timing < 2; timing++) {
        struct marker *marker = gpu->markers[timing].first;
        while (marker) {
            struct marker *next = marker->next;
            call_of(gpu)->event_destroy(marker->event);
            mem_release(marker, sizeof *marker);
            marker = next;
        }
        gpu->markers[timing].first = NULL;
    }
}

bool stream_asks_captured(const struct stream *stream)
{
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    int status = 0;
    void *before = current_enter(gpu);
    int code = call_of(gpu)->stream_capturing(gpu_stream_of(stream)->handle,
                                              &status);
    current_back(gpu, before);
    return code == 0 ? status != 0 : code == gpu->driver->captures;
}

rnl_status stream_refuse_captured(const struct stream *stream)
{
    return stream_captured_by_others(stream)
               ? fail(RNL_ERROR_CAPTURE_UNSUPPORTED,
                      "others capture the stream, which has no end meanwhile")
               : RNL_OK;
}
