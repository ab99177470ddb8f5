// The buffer of an address is found by a walk through all handles, so that
// creating a buffer costs nothing extra. Programs reuse few addresses: the
// buffer that a context found last is checked first.
#include "core/memory/host_memory.h"
#include "core/object/buffer_object.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"

#define PEEKS __attribute__((no_sanitize("thread")))

struct address_range {
    struct context *context;
    uintptr_t start;
    size_t size;
};

// Another thread may be about to reuse the memory for a new buffer: the caller
// checks again once the buffer is referenced.
static PEEKS bool covers(const struct buffer *buffer,
                         const struct address_range *range)
{
    uintptr_t first = (uintptr_t)buffer->memory.device;
    return first && range->start >= first && range->size <= buffer->size &&
           range->start - first <= buffer->size - range->size;
}

static struct object *keep_if_found(uint64_t handle,
                                    const struct address_range *range)
{
    struct object *object = object_find_ref(
        (const void *)(uintptr_t)handle, OBJECT_BUFFER);
    if (!object)
        return NULL;
    struct buffer *buffer = (struct buffer *)object;
    if (covers(buffer, range) &&
        context_may_use(range->context, object->context)) {
        atomic_store(&range->context->found_buffer, handle);
        return object;
    }
    object_unref(object);
    return NULL;
}

static struct object *look_at(const struct object *object,
                              const struct address_range *range)
{
    if (object->class->kind != OBJECT_BUFFER)
        return NULL;
    uint64_t handle = atomic_load_explicit(&object->handle,
                                           memory_order_acquire);
    return handle && covers((const struct buffer *)object, range)
               ? keep_if_found(handle, range)
               : NULL;
}

// Looks at all slots, which are filled in order and keep their places.
static struct object *find(const struct address_range *range)
{
    struct object *found = NULL;
    for (uint32_t i = 0; i < OBJECT_CHUNKS; i++) {
        struct object_chunk *chunk = atomic_load(&object_chunks[i]);
        for (uint32_t at = 0; chunk && at < OBJECT_CHUNK_SIZE; at++) {
            const struct object *object = atomic_load_explicit(
                &chunk->slots[at], memory_order_acquire);
            if (!object || (found = look_at(object, range)))
                return found;
        }
        if (!chunk)
            break;
    }
    return NULL;
}

bool address_is_known(struct context *context, const void *start, size_t size,
                      struct object **out_buffer)
{
    const struct address_range range = {context, (uintptr_t)start, size};
    uint64_t last = atomic_load(&context->found_buffer);
    *out_buffer = last ? keep_if_found(last, &range) : NULL;
    if (*out_buffer || host_range_has(context, range.start, size))
        return true;
    *out_buffer = find(&range);
    return *out_buffer != NULL;
}
