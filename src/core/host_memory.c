// Raw page-locked memory and registered ranges: a context knows what it gave
// and what it was told.

#include "core/backend.h"

struct host_range {
    struct host_range *next;
    char *start;
    size_t size;
    struct memory memory;  // of an allocation
    bool allocated;        // else registered
};

static void range_free(struct context *context, struct host_range *range)
{
    if (range->allocated)
        context->backend->memory_free(context, RNL_MEMORY_HOST, range->memory,
                                      range->size);
    else
        context->backend->host_register(context, range->start, range->size,
                                        false);
    mem_release(range, sizeof *range);
}

void host_ranges_finish(struct context *context)
{
    while (context->host_ranges) {
        struct host_range *range = context->host_ranges;
        context->host_ranges = range->next;
        range_free(context, range);
    }
}

static bool overlaps_locked(struct context *context, const char *start,
                            size_t size)
{
    for (struct host_range *at = context->host_ranges; at; at = at->next)
        if (start < at->start + at->size && at->start < start + size)
            return true;
    return false;
}

bool host_range_has(struct context *context, uintptr_t start, size_t size)
{
    bool found = false;
    lock_take(&context->lock);
    for (struct host_range *at = context->host_ranges; at && !found;
         at = at->next) {
        uintptr_t offset = start - (uintptr_t)at->start;
        found = offset < at->size && size <= at->size - offset;
    }
    lock_give(&context->lock);
    return found;
}

// False when the range meets one that is there. Memory just allocated can only
// meet a registration that was forgotten when its memory went.
static bool range_add(struct context *context, struct host_range *range)
{
    lock_take(&context->lock);
    bool free = range->allocated ||
                !overlaps_locked(context, range->start, range->size);
    if (free) {
        range->next = context->host_ranges;
        context->host_ranges = range;
    }
    lock_give(&context->lock);
    return free;
}

static struct host_range *range_take(struct context *context,
                                     const void *start, bool allocated)
{
    lock_take(&context->lock);
    struct host_range **link = &context->host_ranges;
    while (*link &&
           ((*link)->start != start || (*link)->allocated != allocated))
        link = &(*link)->next;
    struct host_range *range = *link;
    if (range)
        *link = range->next;
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
    struct host_range *range = mem_allocate(sizeof *range);
    if (!range)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to keep track of host memory");
    status = memory_pool_allocate(context, RNL_MEMORY_HOST, size,
                                  &range->memory);
    if (status != RNL_OK) {
        mem_release(range, sizeof *range);
        return status;
    }
    range->start = range->memory.host;
    range->size = size;
    range->allocated = true;
    range_add(context, range);
    *out_pointer = range->start;
    return RNL_OK;
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
    range_free(context, range);
    return RNL_OK;
}

static rnl_status host_register(struct context *context, void *pointer,
                                size_t size)
{
    struct host_range *range = mem_allocate(sizeof *range);
    if (!range)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to keep track of host memory");
    range->start = pointer;
    range->size = size;
    if (!range_add(context, range)) {
        mem_release(range, sizeof *range);
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "pointer",
                       "%zu bytes at %p overlap memory that is already "
                       "page-locked",
                       size, pointer);
    }
    rnl_status status =
        context->backend->host_register(context, pointer, size, true);
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
