#include "core/memory/memory_pool.h"

#include "base/poison.h"
#include "core/backend.h"
#include "core/memory/buffer.h"
#include "core/memory/host_memory.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/pool_part.h"
#include "core/object/pool_state.h"
#include "core/stream/stream.h"
#include "core/tuning.h"

#include <stdio.h>

// --- Sizes -----------------------------------------------------------------
//
// Memory comes in units of 256 bytes, as aligned as a GPU's. There are four
// sizes for each power of two; large blocks are whole huge pages of any number.

#define UNIT_BITS 8
#define HUGE_PAGE ((size_t)2 << 20)
#define SIZE_MOST ((size_t)1 << 47)  // more is refused by every backend

static unsigned bin_of(size_t size, size_t *out_capacity)
{
    size_t last = (size - 1) >> UNIT_BITS;  // the number of the last unit
    unsigned shift = last < 8 ? 0 : 61 - (unsigned)__builtin_clzll(last);
    last >>= shift;
    *out_capacity = (last + 1) << shift << UNIT_BITS;
    return 4 * shift + (unsigned)last;
}

static struct pool_request request_of(rnl_memory_kind kind, size_t size)
{
    struct pool_request request = {kind, size, size, POOL_BINS - 1};
    if (size >= SIZE_MOST)
        return request;
    if (size < HUGE_PAGE)
        request.bin = bin_of(size, &request.capacity);
    else
        request.capacity = mem_align_up(size, HUGE_PAGE);
    return request;
}

// The bin that keeps a large block, by its capacity.
static unsigned large_bin(size_t size)
{
    size_t capacity;
    unsigned bin = bin_of(size, &capacity);
    return bin < POOL_BINS ? bin : POOL_BINS - 1;
}

// --- Parts -----------------------------------------------------------------

static bool is_small(const struct pool_request *request)
{
    return request->capacity <= POOL_SMALL_MOST &&
           request->kind == RNL_MEMORY_DEVICE;
}

static struct pool_part *part_for(struct memory_pool *pool,
                                  const struct pool_request *request)
{
    return is_small(request) ? pool_part_of(pool, thread_number())
                             : &pool->large;
}

static struct buffer **bin_for(struct memory_pool *pool,
                               const struct buffer *buffer)
{
    size_t capacity;
    return buffer->part == &pool->large
               ? &pool->large_bins[buffer->kind][large_bin(buffer->capacity)]
               : &buffer->part->bins[bin_of(buffer->capacity, &capacity)];
}

static struct pool_part *part_at(struct memory_pool *pool, unsigned index)
{
    return index < POOL_PARTS ? &pool->parts[index] : &pool->large;
}

static void count_live_locked(struct pool_part *part, size_t size)
{
    ASSERT(biased_is_held(&part->lock));
    part->live += size;
    if (part->live > part->peak)
        part->peak = part->live;
}

// --- Finding ---------------------------------------------------------------

// Unlinks the smallest of the list that fits, if any.
static struct buffer *best_of(struct buffer **list,
                              const struct pool_request *request)
{
    struct buffer **best = NULL;
    unsigned looks = 0;
    for (struct buffer **at = list; *at && looks++ < POOL_LOOK_MOST;
         at = &(*at)->next_kept) {
        if (!pool_fits(*at, request) ||
            (best && (*best)->capacity <= (*at)->capacity))
            continue;
        best = at;
        if ((*at)->capacity == request->capacity)
            break;
    }
    struct buffer *found = best ? *best : NULL;
    if (found)
        *best = found->next_kept;
    return found;
}

static struct buffer *find_large_locked(struct memory_pool *pool,
                                        const struct pool_request *request)
{
    ASSERT(biased_is_held(&pool->large.lock));
    unsigned first = large_bin(request->capacity), last = first + 1;
    struct buffer **bins = pool->large_bins[request->kind];
    struct buffer *found = NULL;
    for (unsigned i = first; i <= last && i < POOL_BINS && !found; i++)
        found = best_of(&bins[i], request);
    return found;
}

static struct buffer *find_locked(struct memory_pool *pool,
                                  struct pool_part *part,
                                  const struct pool_request *request)
{
    ASSERT(biased_is_held(&part->lock));
    if (part == &pool->large)
        return find_large_locked(pool, request);
    struct buffer *found = part->bins[request->bin];
    if (found)
        part->bins[request->bin] = found->next_kept;
    return found;
}

// --- Keeping ---------------------------------------------------------------

static bool may_keep(struct memory_pool *pool, const struct buffer *buffer)
{
    return !buffer->spent &&
           (buffer->set_aside ||
            atomic_load_explicit(&pool->reserved, memory_order_relaxed) <=
                pool->threshold);
}

static void keep_locked(struct memory_pool *pool, struct buffer *buffer)
{
    ASSERT(biased_is_held(&buffer->part->lock));
    struct buffer **bin = bin_for(pool, buffer);
    if (buffer->memory.host)
        poison(buffer->memory.host, buffer->capacity);
    buffer->next_kept = *bin;
    *bin = buffer;
}

// Counts a buffer that is about to be discarded.
static void count_trimmed(struct memory_pool *pool, const struct buffer *buffer)
{
    ASSERT(buffer->set_aside ||
           atomic_load(&pool->reserved) >= buffer->capacity);
    if (!buffer->set_aside)
        atomic_fetch_sub(&pool->reserved, buffer->capacity);
    atomic_fetch_add(&pool->trims, 1);
}

static void push_trimmed(struct memory_pool *pool, struct buffer *buffer,
                         struct buffer **to)
{
    count_trimmed(pool, buffer);
    buffer->next_kept = *to;
    *to = buffer;
}

// Puts a list, linked by next_kept, where the next buffers are taken from. What
// the pool may not keep is added to `*out_gone`, for discard_list.
static void keep_list(struct memory_pool *pool, struct buffer *buffer,
                      struct buffer **out_gone)
{
    for (struct buffer *next; buffer; buffer = next) {
        struct pool_part *part = buffer->part;
        next = buffer->next_kept;
        if (!may_keep(pool, buffer)) {
            push_trimmed(pool, buffer, out_gone);
            continue;
        }
        biased_lock_take(&part->lock, thread_number(), BIASED_VISIT);
        keep_locked(pool, buffer);
        biased_lock_give(&part->lock, thread_number());
    }
}

// --- Memory from the backend -----------------------------------------------

static void count_reserved(struct memory_pool *pool, size_t size)
{
    size_t now = atomic_fetch_add(&pool->reserved, size) + size;
    size_t peak = atomic_load(&pool->reserved_peak);
    while (now > peak &&
           !atomic_compare_exchange_weak(&pool->reserved_peak, &peak, now))
        continue;
}

static size_t live_bytes(struct memory_pool *pool)
{
    size_t live = 0;
    for (unsigned i = 0; i <= POOL_PARTS; i++) {
        struct pool_part *part = part_at(pool, i);
        biased_lock_take(&part->lock, thread_number(), BIASED_RARELY);
        live += part->live;
        biased_lock_give(&part->lock, thread_number());
    }
    return live;
}

static rnl_status out_of_memory(struct context *context)
{
    struct memory_pool *pool = &context->pool;
    char why[256];
    snprintf(why, sizeof why, "%s", rnl_last_error()->message);
    return fail(RNL_ERROR_OUT_OF_MEMORY,
                "%s; buffers of this context have %zu and its pool has %zu in "
                "all, after giving back what it could",
                why, live_bytes(pool), atomic_load(&pool->reserved));
}

rnl_status memory_pool_allocate(struct context *context, rnl_memory_kind kind,
                                size_t size, struct memory *out_memory)
{
    const struct backend *backend = context->backend;
    rnl_status status =
        backend->memory_allocate(context, kind, size, out_memory);
    if (status != RNL_ERROR_OUT_OF_MEMORY)
        return status;
    atomic_fetch_add(&context->pool.retries, 1);
    memory_pool_trim(context, 0);
    status = backend->memory_allocate(context, kind, size, out_memory);
    return status == RNL_ERROR_OUT_OF_MEMORY ? out_of_memory(context) : status;
}

static bool take_set_aside(struct memory_pool *pool, rnl_memory_kind kind,
                           size_t size, struct memory *out_memory)
{
    if (kind != RNL_MEMORY_DEVICE || size > pool->set_aside_size)
        return false;
    size_t used = atomic_load(&pool->set_aside_used);
    do {
        if (size > pool->set_aside_size - used)
            return false;
    } while (!atomic_compare_exchange_weak(&pool->set_aside_used, &used,
                                           used + size));
    *out_memory = pool->set_aside;
    out_memory->device = (char *)out_memory->device + used;
    if (out_memory->host)
        out_memory->host = (char *)out_memory->host + used;
    return true;
}

static rnl_status fill_buffer(struct context *context, struct buffer *buffer,
                              size_t capacity)
{
    struct memory_pool *pool = &context->pool;
    buffer->capacity = capacity;
    buffer->set_aside =
        take_set_aside(pool, buffer->kind, capacity, &buffer->memory);
    if (buffer->set_aside)
        return RNL_OK;
    rnl_status status =
        memory_pool_allocate(context, buffer->kind, capacity, &buffer->memory);
    if (status == RNL_OK)
        count_reserved(pool, capacity);
    return status;
}

// A buffer without references ends here, and its memory goes back.
static void discard(struct context *context, struct buffer *buffer)
{
    if (buffer->memory.host)
        unpoison(buffer->memory.host, buffer->capacity);
    if (!buffer->set_aside)
        context->backend->memory_free(context, buffer->kind, buffer->memory,
                                      buffer->capacity);
    object_discard(&buffer->object);
}

// Not under a lock: streams may end.
static void discard_list(struct context *context, struct buffer *buffer)
{
    while (buffer) {
        struct buffer *next = buffer->next_kept;
        discard(context, buffer);
        buffer = next;
    }
}

// --- Collecting -------------------------------------------------------------

// Buffers that wait for nothing any more become anybody's or go back.
static void pool_collect(struct context *context)
{
    struct memory_pool *pool = &context->pool;
    struct buffer *gone = NULL;
    if (!pool_has_deferred(pool))
        return;
    lock_take(&pool->deferred_lock);
    struct stream *stream = pool->deferred_streams;
    while (stream) {
        struct stream *next = stream->deferred.next;
        keep_list(pool, pool_take_ready_locked(pool, stream, false), &gone);
        stream = next;
    }
    lock_give(&pool->deferred_lock);
    discard_list(context, gone);
}

static void collect_passed(struct context *context)
{
    if (context->pool.threshold != SIZE_MAX)
        pool_collect(context);
}

static void collect_stream(struct stream *stream)
{
    struct context *context = stream_context(stream);
    struct memory_pool *pool = &context->pool;
    struct buffer *gone = NULL;
    if (!atomic_load(&stream->deferred.first))
        return;
    lock_take(&pool->deferred_lock);
    keep_list(pool, pool_take_ready_locked(pool, stream, true), &gone);
    lock_give(&pool->deferred_lock);
    discard_list(context, gone);
}

// --- Taking and giving -----------------------------------------------------

// With new memory. The part was entered.
static struct buffer *take_new(struct context *context, struct pool_part *part,
                               const struct pool_request *request)
{
    struct buffer *buffer =
        buffer_new(context, request->kind, request->size, NULL);
    if (!buffer)
        goto leave;
    if (fill_buffer(context, buffer, request->capacity))
        goto abandon;
    buffer->part = part;
    object_unref(&context->object);  // the part holds it for all
    biased_lock_take(&part->lock, thread_number(), BIASED_OWN);
    part->misses++;
    count_live_locked(part, buffer->capacity);
    biased_lock_give(&part->lock, thread_number());
    return buffer;

abandon:
    object_abandon(&buffer->object);
leave:
    pool_part_leave(part, context);
    return NULL;
}

static struct buffer *use_again(struct buffer *buffer, uint64_t id, size_t size)
{
    object_revive(&buffer->object, id);
    buffer->size = size;
    buffer->memory.zeroed = false;
    buffer->map_state = MAP_NONE;
    buffer->attach_mode = RNL_ATTACH_GLOBAL;
    atomic_store_explicit(&buffer->release_point, 0, memory_order_relaxed);
    if (buffer->memory.host)
        unpoison(buffer->memory.host, size);
    return buffer;
}

// Enters the part and looks for a buffer there; false when the context is gone.
static bool enter(struct context *context, struct pool_part *part,
                  const struct pool_request *request,
                  struct buffer **out_buffer, uint64_t *out_id)
{
    const uint64_t me = thread_number();
    biased_lock_take(&part->lock, me, BIASED_OWN);
    bool alive = pool_part_enter_locked(part, context);
    *out_buffer = alive ? find_locked(&context->pool, part, request) : NULL;
    if (*out_buffer) {
        part->hits++;
        count_live_locked(part, (*out_buffer)->capacity);
        *out_id = pool_part_next_id_locked(part);
    }
    biased_lock_give(&part->lock, me);
    return alive;
}

// Nothing was there at once.
static struct buffer *take_slowly(struct context *context,
                                  struct stream *stream, struct pool_part *part,
                                  const struct pool_request *request)
{
    struct memory_pool *pool = &context->pool;
    struct buffer *found = pool_take_deferred(pool, stream, request);
    if (!found) {
        pool_collect(context);
        biased_lock_take(&part->lock, thread_number(), BIASED_OWN);
        found = find_locked(pool, part, request);
        biased_lock_give(&part->lock, thread_number());
    }
    if (!found)
        return take_new(context, part, request);
    // The buffer may be of a part that the caller has not entered.
    struct pool_part *home = found->part;
    biased_lock_take(&home->lock, thread_number(), BIASED_VISIT);
    pool_part_enter_locked(home, context);  // cannot fail: `part` holds the
                                            // context
    home->hits++;
    count_live_locked(home, found->capacity);
    uint64_t id = pool_part_next_id_locked(home);
    biased_lock_give(&home->lock, thread_number());
    pool_part_leave(part, context);
    return use_again(found, id, request->size);
}

struct buffer *memory_pool_take(struct context *context, struct stream *stream,
                                rnl_memory_kind kind, size_t size)
{
    struct pool_request request = request_of(kind, size);
    struct pool_part *part = part_for(&context->pool, &request);
    struct buffer *buffer;
    uint64_t id = 0;
    if (!enter(context, part, &request, &buffer, &id)) {
        pool_refuse_context();
        return NULL;
    }
    return buffer ? use_again(buffer, id, size)
                  : take_slowly(context, stream, part, &request);
}

void memory_pool_give(struct buffer *buffer, struct stream *stream)
{
    struct context *context = buffer->object.context;
    struct memory_pool *pool = &context->pool;
    struct pool_part *part = buffer->part;
    size_t capacity = buffer->capacity;
    if (!object_bump_generation(
            &buffer->object))  // no handle is left for another one
        buffer->spent = true;
    bool waits = pool_defer(buffer, stream);
    bool keep = !waits && may_keep(pool, buffer);
    if (!waits && !keep) {
        count_trimmed(pool, buffer);
        discard(context, buffer);
    }
    const uint64_t me = thread_number();
    biased_lock_take(&part->lock, me, BIASED_VISIT);
    if (keep)
        keep_locked(pool, buffer);
    part->live -= capacity;
    bool drop = pool_part_leave_locked(part, context);
    biased_lock_give(&part->lock, me);
    if (drop)
        object_unref(&context->object);
}

// --- The whole pool --------------------------------------------------------

// Moves trimmable buffers between lists; their bytes are no longer counted.
static void trim_list_locked(struct memory_pool *pool, struct buffer **list,
                             size_t keep, struct buffer **to)
{
    while (*list && atomic_load(&pool->reserved) > keep) {
        struct buffer *buffer = *list;
        if (buffer->set_aside) {
            list = &buffer->next_kept;
            continue;
        }
        *list = buffer->next_kept;
        push_trimmed(pool, buffer, to);
    }
}

static void trim_part(struct context *context, struct pool_part *part,
                      size_t keep)
{
    struct memory_pool *pool = &context->pool;
    struct buffer *gone = NULL;
    biased_lock_take(&part->lock, thread_number(), BIASED_RARELY);
    if (part == &pool->large) {
        for (unsigned i = POOL_KINDS * POOL_BINS; i-- > 0;)
            trim_list_locked(pool,
                             &pool->large_bins[i % POOL_KINDS][i / POOL_KINDS],
                             keep, &gone);
    } else {
        for (unsigned i = POOL_SMALL_BINS; i-- > 0;)
            trim_list_locked(pool, &part->bins[i], keep, &gone);
    }
    biased_lock_give(&part->lock, thread_number());
    discard_list(context, gone);
}

void memory_pool_trim(struct context *context, size_t keep)
{
    pool_poll_streams(context);
    pool_collect(context);
    for (unsigned i = POOL_PARTS + 1; i-- > 0;)
        trim_part(context, part_at(&context->pool, i), keep);
}

rnl_status memory_pool_init(struct context *context)
{
    struct memory_pool *pool = &context->pool;
    pool->passed = collect_passed;
    pool->stream_finish = collect_stream;
    size_t size = context->options.buffer_cache_size;
    lock_set_rank(&pool->deferred_lock, RANK_POOL_DEFERRED);
    for (unsigned i = 0; i <= POOL_PARTS; i++)
        biased_set_rank(&part_at(pool, i)->lock, RANK_POOL_PART);
    pool->threshold = context->options.pool_threshold;
    if (pool->threshold == 0)
        pool->threshold = SIZE_MAX;
    if (size == 0)
        return RNL_OK;
    rnl_status status = memory_pool_allocate(context, RNL_MEMORY_DEVICE, size,
                                             &pool->set_aside);
    if (status != RNL_OK)
        return status;
    if (pool->set_aside.host)
        poison(pool->set_aside.host, size);
    pool->set_aside.zeroed = false;  // MemorySanitizer takes it for unwritten
    pool->set_aside_size = size;
    count_reserved(pool, size);
    return RNL_OK;
}

void memory_pool_close(struct context *context)
{
    struct memory_pool *pool = &context->pool;
    atomic_store(&pool->closed, true);
    for (unsigned i = 0; i <= POOL_PARTS; i++) {
        struct pool_part *part = part_at(pool, i);
        biased_lock_take(&part->lock, thread_number(), BIASED_RARELY);
        bool drop = part->holds && part->live_count == 0;
        if (drop)
            part->holds = false;
        biased_lock_give(&part->lock, thread_number());
        if (drop)
            object_unref(&context->object);
    }
}

void memory_pool_open(struct context *context)
{
    atomic_store(&context->pool.closed, false);
}

void memory_pool_finish(struct context *context)
{
    struct memory_pool *pool = &context->pool;
    for (unsigned i = 0; i < POOL_PARTS; i++)
        for (unsigned j = 0; j < POOL_SMALL_BINS; j++)
            discard_list(context, pool->parts[i].bins[j]);
    for (unsigned i = 0; i < POOL_KINDS * POOL_BINS; i++)
        discard_list(context,
                          pool->large_bins[i / POOL_BINS][i % POOL_BINS]);
    if (pool->set_aside_size == 0)
        return;
    if (pool->set_aside.host)
        unpoison(pool->set_aside.host, pool->set_aside_size);
    context->backend->memory_free(context, RNL_MEMORY_DEVICE, pool->set_aside,
                                  pool->set_aside_size);
}

// --- Public ----------------------------------------------------------------

static void add_part(struct pool_part *part, rnl_pool_stats *stats)
{
    biased_lock_take(&part->lock, thread_number(), BIASED_RARELY);
    stats->live += part->live;
    stats->live_peak += part->peak;
    stats->hits += part->hits;
    stats->misses += part->misses;
    biased_lock_give(&part->lock, thread_number());
}

static void add_up(struct memory_pool *pool, rnl_pool_stats *stats)
{
    *stats = (rnl_pool_stats){
        .reserved = atomic_load(&pool->reserved),
        .reserved_peak = atomic_load(&pool->reserved_peak),
        .trims = atomic_load(&pool->trims),
        .retries = atomic_load(&pool->retries),
    };
    for (unsigned i = 0; i <= POOL_PARTS; i++)
        add_part(part_at(pool, i), stats);
}

rnl_status rnl_context_pool_stats(rnl_context handle, rnl_pool_stats *out_stats)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_CONTEXT);
    if (!object)
        return object_refuse(handle, OBJECT_CONTEXT, "context");
    rnl_pool_stats stats;
    pool_collect((struct context *)object);
    add_up(&((struct context *)object)->pool, &stats);
    object_unref(object);
    return info_write(out_stats, &stats, sizeof stats, "out_stats");
}

rnl_status rnl_context_trim(rnl_context handle, size_t keep)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    struct object *object = object_find_ref(handle, OBJECT_CONTEXT);
    if (!object)
        return object_refuse(handle, OBJECT_CONTEXT, "context");
    host_ranges_collect((struct context *)object);
    memory_pool_trim((struct context *)object, keep);
    object_unref(object);
    return RNL_OK;
}
