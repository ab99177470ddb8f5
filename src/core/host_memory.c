// Raw page-locked memory and registered ranges: a context knows what it gave
// and what it was told.

#include "core/backend.h"

#include <string.h>

// Where a stream was when memory was freed.
struct host_point {
    uint64_t stream, point;
};

struct host_range {
    char *start;
    size_t size;
    struct memory memory;  // of an allocation
    bool allocated;        // else registered
    char *reach;           // where it, or one that comes before it, ends last
    struct host_range *next;    // of those kept
    struct host_point *points;  // by falling number of the stream
    uint32_t count, most;
    bool for_good;              // until the context ends
    bool waits;                 // as looked at last
};

static void range_free(struct context *context, struct host_range *range)
{
    if (range->allocated)
        context->backend->memory_free(context, RNL_MEMORY_HOST, range->memory,
                                      range->size);
    else
        context->backend->host_register(context, range->start, range->size,
                                        false);
    mem_release(range->points, range->most * sizeof *range->points);
    mem_release(range, sizeof *range);
}

// --- Freed while work is in flight ------------------------------------------

static bool is_done(struct stream *stream, uint64_t point)
{
    if (!stream_has_passed(stream, point))
        stream->backend->stream_wait(stream, DEADLINE_LOOK);
    return stream_has_passed(stream, point);
}

// Where memory is short the range is kept until the context ends.
static rnl_status note_stream(struct stream *stream, void *argument)
{
    struct host_range *range = argument;
    struct host_point new = {stream->object.id, stream_point(stream)}, *points;
    if (range->for_good || is_done(stream, new.point))
        return RNL_OK;
    points = mem_room(range->points, range->count, &range->most, sizeof *points,
                      4);
    if (!points) {
        range->for_good = true;
        return RNL_OK;
    }
    range->points = points;
    uint32_t at = range->count++;
    for (; at > 0 && points[at - 1].stream < new.stream; at--)
        points[at] = points[at - 1];
    points[at] = new;
    return RNL_OK;
}

static rnl_status look_at_stream(struct stream *stream, void *argument)
{
    struct host_range *range = argument;
    uint32_t low = 0, high = range->waits ? 0 : range->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (range->points[middle].stream > stream->object.id)
            low = middle + 1;
        else
            high = middle;
    }
    if (!range->waits && low < range->count &&
        range->points[low].stream == stream->object.id)
        range->waits = !is_done(stream, range->points[low].point);
    return RNL_OK;
}

static void keep(struct context *context, struct host_range *range, bool first)
{
    struct host_ranges *ranges = &context->host_ranges;
    lock_take(&context->lock);
    struct host_range *head = atomic_load(&ranges->kept);
    range->next = first ? head : NULL;
    if (first || !head)
        atomic_store(&ranges->kept, range);
    else
        ranges->last_kept->next = range;
    if (!range->next)
        ranges->last_kept = range;
    lock_give(&context->lock);
}

static struct host_range *take_kept(struct context *context)
{
    lock_take(&context->lock);
    struct host_range *range = atomic_load(&context->host_ranges.kept);
    if (range)
        atomic_store(&context->host_ranges.kept, range->next);
    lock_give(&context->lock);
    return range;
}

// They go in the order in which they were freed, so that a call looks at one
// that still waits.
void host_ranges_collect(struct context *context)
{
    struct host_range *range = NULL;
    while (atomic_load(&context->host_ranges.kept) &&
           (range = take_kept(context))) {
        range->waits = range->for_good;
        context_each_stream(context, look_at_stream, range);
        if (range->waits)
            break;
        range_free(context, range);
        range = NULL;
    }
    if (range)
        keep(context, range, true);
}

// Work that is in flight may use the memory by its address.
static void range_free_behind(struct context *context,
                              struct host_range *range)
{
    context_each_stream(context, note_stream, range);
    if (range->count > 0 || range->for_good)
        keep(context, range, false);
    else
        range_free(context, range);
}

void host_ranges_finish(struct context *context)
{
    struct host_ranges *ranges = &context->host_ranges;
    struct host_range *kept;
    while ((kept = take_kept(context)))
        range_free(context, kept);
    while (ranges->count > 0)
        range_free(context, ranges->items[--ranges->count]);
    mem_release(ranges->items, ranges->most * sizeof *ranges->items);
}

// --- What there is ----------------------------------------------------------

// How many begin before an address.
static size_t count_before_locked(const struct host_ranges *ranges,
                                  const char *address)
{
    size_t low = 0, high = ranges->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges->items[middle]->start < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// The last one that begins before `end` and ends behind `start`, NULL if there
// is none. `at`: where to go on from, that one's index.
static struct host_range *meets_locked(const struct host_ranges *ranges,
                                       const char *start, size_t *at)
{
    while (*at > 0 && ranges->items[*at - 1]->reach > start) {
        struct host_range *range = ranges->items[--*at];
        if (range->start + range->size > start)
            return range;
    }
    return NULL;
}

static bool overlaps_locked(const struct host_ranges *ranges,
                            const char *start, size_t size)
{
    size_t at = count_before_locked(ranges, start + size);
    return meets_locked(ranges, start, &at) != NULL;
}

bool host_range_has(struct context *context, uintptr_t start, size_t size)
{
    const struct host_range *range;
    bool found = false;
    lock_take(&context->lock);
    size_t at = count_before_locked(&context->host_ranges,
                                    (const char *)start + 1);
    while (!found && (range = meets_locked(&context->host_ranges,
                                           (const char *)start, &at)))
        found = size <= (uintptr_t)range->start + range->size - start;
    lock_give(&context->lock);
    return found;
}

// From one on that came, or from where one went.
static void set_reach_locked(const struct host_ranges *ranges, size_t i)
{
    char *reach = i > 0 ? ranges->items[i - 1]->reach : NULL;
    for (; i < ranges->count; i++) {
        struct host_range *range = ranges->items[i];
        char *end = range->start + range->size;
        reach = reach > end ? reach : end;
        if (range->reach == reach)
            return;
        range->reach = reach;
    }
}

static bool grow_locked(struct host_ranges *ranges)
{
    struct host_range **items = mem_room(ranges->items, ranges->count,
                                         &ranges->most, sizeof *items, 8);
    if (items)
        ranges->items = items;
    return items != NULL;
}

static rnl_status no_memory(void)
{
    return fail(RNL_ERROR_OUT_OF_MEMORY,
                "there is no memory to keep track of host memory");
}

// Memory just allocated can only meet a registration that was forgotten when
// its memory went.
static rnl_status add_locked(struct host_ranges *ranges,
                             struct host_range *range)
{
    if (!range->allocated &&
        overlaps_locked(ranges, range->start, range->size))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "pointer",
                       "%zu bytes at %p overlap memory that is already "
                       "page-locked",
                       range->size, (void *)range->start);
    if (!grow_locked(ranges))
        return no_memory();
    size_t at = count_before_locked(ranges, range->start);
    memmove(ranges->items + at + 1, ranges->items + at,
            (ranges->count - at) * sizeof *ranges->items);
    ranges->items[at] = range;
    ranges->count++;
    range->reach = NULL;
    set_reach_locked(ranges, at);
    return RNL_OK;
}

static rnl_status range_add(struct context *context, struct host_range *range)
{
    lock_take(&context->lock);
    rnl_status status = add_locked(&context->host_ranges, range);
    lock_give(&context->lock);
    return status;
}

static struct host_range *take_locked(struct host_ranges *ranges,
                                      const char *start, bool allocated)
{
    for (size_t at = count_before_locked(ranges, start);
         at < ranges->count && ranges->items[at]->start == start; at++) {
        struct host_range *range = ranges->items[at];
        if (range->allocated != allocated)
            continue;
        ranges->count--;
        memmove(ranges->items + at, ranges->items + at + 1,
                (ranges->count - at) * sizeof *ranges->items);
        set_reach_locked(ranges, at);
        return range;
    }
    return NULL;
}

static struct host_range *range_take(struct context *context,
                                     const void *start, bool allocated)
{
    lock_take(&context->lock);
    struct host_range *range =
        take_locked(&context->host_ranges, start, allocated);
    lock_give(&context->lock);
    return range;
}

rnl_status rnl_host_allocate(rnl_context handle, size_t size,
                             void **out_pointer)
{
    struct context *context;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) ||
        (status = check_pointer(out_pointer, "out_pointer")))
        return status;
    if (size == 0) {
        *out_pointer = NULL;
        return RNL_OK;
    }
    host_ranges_collect(context);
    struct host_range *range = mem_allocate(sizeof *range);
    if (!range)
        return no_memory();
    status = memory_pool_allocate(context, RNL_MEMORY_HOST, size,
                                  &range->memory);
    if (status != RNL_OK) {
        mem_release(range, sizeof *range);
        return status;
    }
    range->start = range->memory.host;
    range->size = size;
    range->allocated = true;
    status = range_add(context, range);
    if (status != RNL_OK)
        range_free(context, range);
    else
        *out_pointer = range->start;
    return status;
}

rnl_status rnl_host_free(rnl_context handle, void *pointer)
{
    struct context *context;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) || !pointer)
        return status;
    struct host_range *range = range_take(context, pointer, true);
    if (!range)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "pointer",
                       "%p did not come from rnl_host_allocate of this "
                       "context, or was freed before",
                       pointer);
    host_ranges_collect(context);
    range_free_behind(context, range);
    return RNL_OK;
}

static rnl_status host_register(struct context *context, void *pointer,
                                size_t size)
{
    struct host_range *range = mem_allocate(sizeof *range);
    if (!range)
        return no_memory();
    range->start = pointer;
    range->size = size;
    rnl_status status = range_add(context, range);
    if (status != RNL_OK) {
        mem_release(range, sizeof *range);
        return status;
    }
    status = context->backend->host_register(context, pointer, size, true);
    if (status != RNL_OK)
        mem_release(range_take(context, pointer, false), sizeof *range);
    return status;
}

rnl_status rnl_host_register(rnl_context handle, void *pointer, size_t size)
{
    struct context *context;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)) || size == 0 ||
        (status = check_pointer(pointer, "pointer")))
        return status;
    if ((uintptr_t)pointer + size < (uintptr_t)pointer)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, "size",
                       "%zu bytes from %p leave the address space", size,
                       pointer);
    return host_register(context, pointer, size);
}

rnl_status rnl_host_unregister(rnl_context handle, void *pointer)
{
    struct context *context;
    rnl_status status = ENTER();
    if (status != RNL_OK ||
        (status = check_context(handle, "context", &context)))
        return status;
    struct host_range *range = range_take(context, pointer, false);
    if (!range)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "pointer",
                       "%p is not the start of a registered range", pointer);
    range_free(context, range);
    return RNL_OK;
}
