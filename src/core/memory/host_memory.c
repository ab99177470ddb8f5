// Page-locked host memory and registered ranges, as a context knows them.
#include "core/memory/host_memory.h"

#include "core/backend.h"
#include "core/memory/memory_pool.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/pool_state.h"
#include "core/stream/release_point.h"
#include "core/stream/stream.h"

// Where a stream was when memory was freed.
struct host_point {
    uint64_t stream, point;
};

// A treap: a search tree by address and a heap by weight, so that the depth is
// that of a random tree for any order of insertions and removals.
struct host_range {
    char *start;
    size_t size;
    struct memory memory;  // of an allocation
    bool allocated;        // else registered
    struct host_range *left, *right;
    char *reach;           // largest end in this subtree
    struct host_range *next;    // of those kept
    struct host_point *points;  // by falling number of the stream
    uint32_t count, most;
    bool unknown;               // its release points were not noted
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
        stream->backend->stream_query(stream);
    return stream_has_passed(stream, point);
}

// Where memory is short, later calls try again.
static rnl_status note_stream(struct stream *stream, void *argument)
{
    struct host_range *range = argument;
    struct host_point new = {stream->object.id, stream_point(stream)}, *points;
    if (range->unknown || is_done(stream, new.point))
        return RNL_OK;
    points = mem_room(range->points, range->count, &range->most, sizeof *points,
                      4);
    if (!points) {
        range->unknown = true;
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

// True if work in flight may use the memory by its address: the range is kept.
static bool keep_for_work(struct context *context, struct host_range *range)
{
    range->count = 0;
    range->unknown = false;
    context_each_stream(context, note_stream, range);
    bool waits = range->count > 0 || range->unknown;
    if (waits)
        keep(context, range, false);
    return waits;
}

// True while the first stream, or the last stream noted now, has work left.
static bool keep_on(struct context *context, struct host_range *range)
{
    if (range->unknown)
        return keep_for_work(context, range);
    range->waits = false;
    context_each_stream(context, look_at_stream, range);
    if (range->waits)
        keep(context, range, true);
    return range->waits;
}

// Ranges are freed in order, so a call looks at a single waiting range.
void host_ranges_collect(struct context *context)
{
    struct host_range *range;
    while (atomic_load(&context->host_ranges.kept) &&
           (range = take_kept(context)) && !keep_on(context, range))
        range_free(context, range);
}

static void range_free_behind(struct context *context,
                              struct host_range *range)
{
    if (!keep_for_work(context, range))
        range_free(context, range);
}

// --- The tree --------------------------------------------------------------

// As good as drawn, and the same in each run but for the address. Addresses of
// ranges lie at equal distances, so every bit has to reach every other.
static uint64_t weight_of(const struct host_range *range)
{
    uint64_t number = (uint64_t)(uintptr_t)range;
    number = (number ^ number >> 32) * UINT64_C(0x9e3779b97f4a7c15);
    return (number ^ number >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
}

static char *end_of(const struct host_range *range)
{
    return range->start + range->size;
}

// Where an allocation and a registration begin together, that one comes first.
static bool comes_before(const struct host_range *range, const char *start,
                         bool allocated)
{
    return range->start != start ? range->start < start
                                 : !range->allocated && allocated;
}

static char *later(char *end, const struct host_range *below)
{
    return below && below->reach > end ? below->reach : end;
}

static void set_reach(struct host_range *range)
{
    range->reach = later(later(end_of(range), range->left), range->right);
}

// All of `left` come before all of `right`.
static struct host_range *merge(struct host_range *left,
                                struct host_range *right)
{
    if (!left || !right)
        return left ? left : right;
    if (weight_of(left) > weight_of(right)) {
        left->right = merge(left->right, right);
        set_reach(left);
        return left;
    }
    right->left = merge(left, right->left);
    set_reach(right);
    return right;
}

// Splits into the ranges before `range`, and all later ranges.
static void split(struct host_range *tree, const struct host_range *range,
                  struct host_range **left, struct host_range **right)
{
    if (!tree) {
        *left = *right = NULL;
    } else if (comes_before(tree, range->start, range->allocated)) {
        split(tree->right, range, &tree->right, right);
        set_reach(tree);
        *left = tree;
    } else {
        split(tree->left, range, left, &tree->left);
        set_reach(tree);
        *right = tree;
    }
}

static struct host_range *with(struct host_range *tree,
                               struct host_range *range)
{
    struct host_range *left, *right;
    split(tree, range, &left, &right);
    range->left = range->right = NULL;
    range->reach = end_of(range);
    return merge(merge(left, range), right);
}

// The tree without the range that begins there; NULL in `*taken`: none does.
static struct host_range *without(struct host_range *tree, const char *start,
                                  bool allocated, struct host_range **taken)
{
    if (!tree) {
        *taken = NULL;
    } else if (tree->start == start && tree->allocated == allocated) {
        *taken = tree;
        return merge(tree->left, tree->right);
    } else {
        struct host_range **below =
            comes_before(tree, start, allocated) ? &tree->right : &tree->left;
        *below = without(*below, start, allocated, taken);
        set_reach(tree);
    }
    return tree;
}

// A range that begins before `end` and contains the byte at `start` or later,
// and `size` bytes from there; NULL if none does.
static const struct host_range *find(const struct host_range *tree,
                                     const char *start, const char *end,
                                     size_t size)
{
    if (!tree || tree->reach <= start || (size_t)(tree->reach - start) < size)
        return NULL;
    const struct host_range *found = find(tree->left, start, end, size);
    if (found || tree->start >= end)
        return found;
    const char *own = end_of(tree);
    bool fits = own > start && (size_t)(own - start) >= size;
    return fits ? tree : find(tree->right, start, end, size);
}

// --- The context's ---------------------------------------------------------

void host_ranges_finish(struct context *context)
{
    struct host_range *range;
    while ((range = take_kept(context)))
        range_free(context, range);
    while ((range = context->host_ranges.tree)) {
        context->host_ranges.tree = merge(range->left, range->right);
        range_free(context, range);
    }
}

bool host_range_has(struct context *context, uintptr_t start, size_t size)
{
    const char *first = (const char *)start;
    lock_take(&context->lock);
    bool found = find(context->host_ranges.tree, first, first + 1, size);
    lock_give(&context->lock);
    return found;
}

bool host_range_find(struct context *context, uintptr_t address,
                     uintptr_t *out_start, size_t *out_size,
                     bool *out_allocated)
{
    // Any number may be asked for, so it is added to as a number.
    const char *first = (const char *)address;
    const char *end = (const char *)(address + 1);
    lock_take(&context->lock);
    const struct host_range *range =
        find(context->host_ranges.tree, first, end, 1);
    if (range) {
        *out_start = (uintptr_t)range->start;
        *out_size = range->size;
        *out_allocated = range->allocated;
    }
    lock_give(&context->lock);
    return range != NULL;
}

static rnl_status no_memory(void)
{
    return fail(RNL_ERROR_OUT_OF_MEMORY,
                "there is no memory to keep track of host memory");
}

// Memory just allocated can only meet a registration that was forgotten when
// its memory went.
static rnl_status range_add(struct context *context, struct host_range *range)
{
    lock_take(&context->lock);
    bool overlaps = !range->allocated &&
                    find(context->host_ranges.tree, range->start,
                         end_of(range), 1);
    if (!overlaps)
        context->host_ranges.tree = with(context->host_ranges.tree, range);
    lock_give(&context->lock);
    return overlaps
               ? fail_at(RNL_ERROR_INVALID_ARGUMENT, "pointer",
                         "%zu bytes at %p overlap memory that is already "
                         "page-locked",
                         range->size, (void *)range->start)
               : RNL_OK;
}

static struct host_range *range_take(struct context *context,
                                     const void *start, bool allocated)
{
    struct host_range *range;
    lock_take(&context->lock);
    context->host_ranges.tree =
        without(context->host_ranges.tree, start, allocated, &range);
    lock_give(&context->lock);
    return range;
}

rnl_status rnl_host_allocate(rnl_context handle, size_t size,
                             void **out_pointer)
{
    struct context *context;
    CALL status = ENTER();
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
    CALL status = ENTER();
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
    CALL status = ENTER();
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
    CALL status = ENTER();
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
