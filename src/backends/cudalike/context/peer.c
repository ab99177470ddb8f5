// Access of a vendor's context to memory of another. Contexts of the library
// that share a vendor's context share its access, too. The driver is told when
// the first of these contexts gets access and when the last gives up access.
#include "backends/cudalike/context/context.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"

struct peer_link {
    struct peer_link *next;
    const struct gpu_context *from;
    const void *to;  // the vendor's context
    bool ours;       // access was not enabled by foreign code
};

// Guards the list, and the driver's calls.
static struct lock links_lock = LOCK_RANKED(RANK_LEAF);
static struct peer_link *links;

// Another context's link between the same two vendor's contexts; or NULL.
static struct peer_link *find_like_locked(const struct gpu_context *from,
                                          const void *to)
{
    ASSERT(lock_is_held(&links_lock));
    struct peer_link *link = links;
    while (link && (link->from->handle != from->handle || link->to != to))
        link = link->next;
    return link;
}

static struct peer_link *take_locked(const struct gpu_context *from,
                                     const void *to)
{
    ASSERT(lock_is_held(&links_lock));
    for (struct peer_link **at = &links; *at; at = &(*at)->next) {
        struct peer_link *link = *at;
        if (link->from == from && (!to || link->to == to)) {
            *at = link->next;
            return link;
        }
    }
    return NULL;
}

void gpu_peers_forget(const struct gpu_context *gpu)
{
    struct peer_link *link;
    do {
        lock_take(&links_lock);
        link = take_locked(gpu, NULL);
        lock_give(&links_lock);
        mem_release(link, sizeof *link);
    } while (link);
}

static rnl_status enable(struct context *context, struct gpu_context *other)
{
    struct gpu_context *gpu = gpu_of(context);
    struct peer_link *link = mem_allocate(sizeof *link);
    if (!link)
        return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a peer");
    void *before = current_enter(gpu);
    lock_take(&links_lock);
    int code = call_of(gpu)->context_enable_peer(other->handle, 0);
    const struct peer_link *like = find_like_locked(gpu, other->handle);
    *link = (struct peer_link){.next = links,
                               .from = gpu,
                               .to = other->handle,
                               .ours = code == 0 || (like && like->ours)};
    if (code == gpu->driver->peer_enabled)
        code = 0;
    if (code == 0)
        links = link;
    lock_give(&links_lock);
    current_back(gpu, before);
    if (code == 0)
        return RNL_OK;
    mem_release(link, sizeof *link);
    return driver_fail(context, code, "access to a peer");
}

static rnl_status disable(struct context *context, struct gpu_context *other)
{
    struct gpu_context *gpu = gpu_of(context);
    int code = 0;
    void *before = current_enter(gpu);
    lock_take(&links_lock);
    struct peer_link *link = take_locked(gpu, other->handle);
    if (link && link->ours && !find_like_locked(gpu, other->handle))
        code = call_of(gpu)->context_disable_peer(other->handle);
    lock_give(&links_lock);
    current_back(gpu, before);
    mem_release(link, sizeof *link);
    return code == 0 ? RNL_OK
                     : driver_fail(context, code,
                                   "to give up access to a peer");
}

rnl_status gpu_peer_access(struct context *context, struct context *peer,
                           enum peer_call call)
{
    struct gpu_context *gpu = gpu_of(context), *other = gpu_of(peer);
    int can = 0;
    if (gpu->device == other->device)
        return RNL_OK;
    if (call == PEER_DISABLE)
        return disable(context, other);
    int code = call_of(gpu)->device_can_peer(&can, gpu->device, other->device);
    if (code != 0)
        return driver_fail(context, code, "to tell about peers");
    if (!can)
        return fail(RNL_ERROR_UNSUPPORTED,
                    "%s:%u cannot reach the memory of %s:%u",
                    context->backend->api, context->device->index,
                    context->backend->api, peer->device->index);
    return call == PEER_ENABLE ? enable(context, other) : RNL_OK;
}
