#include "base/alloc.h"

#include <stdatomic.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

static void *libc_allocate(size_t size, size_t alignment, void *user_data)
{
    (void)user_data;
    if (alignment <= alignof(max_align_t))
        return malloc(size);
    size_t rounded = mem_align_up(size, alignment);
    return rounded < size ? NULL : aligned_alloc(alignment, rounded);
}

static void libc_release(void *memory, size_t size, void *user_data)
{
    (void)size;
    (void)user_data;
    free(memory);
}

static const rnl_allocator libc_allocator = {
    .struct_size = sizeof(rnl_allocator),
    .allocate = libc_allocate,
    .release = libc_release,
};

static rnl_allocator current = {
    .struct_size = sizeof(rnl_allocator),
    .allocate = libc_allocate,
    .release = libc_release,
};
static _Atomic size_t held;

void *mem_allocate_aligned(size_t size, size_t alignment)
{
    void *memory = current.allocate(size, alignment, current.user_data);
    if (!memory)
        return NULL;
    atomic_fetch_add_explicit(&held, size, memory_order_relaxed);
    return memset(memory, 0, size);
}

void *mem_allocate(size_t size)
{
    return mem_allocate_aligned(size, alignof(max_align_t));
}

void mem_release(void *memory, size_t size)
{
    if (!memory)
        return;
    current.release(memory, size, current.user_data);
    // A thread that finds nothing held may exchange the allocator just used.
    atomic_fetch_sub_explicit(&held, size, memory_order_release);
}

void *mem_grow(void *memory, size_t size, size_t new_size)
{
    void *larger = mem_allocate(new_size);
    if (!larger)
        return NULL;
    if (size > 0)
        memcpy(larger, memory, size);
    mem_release(memory, size);
    return larger;
}

void *mem_room(void *items, uint32_t count, uint32_t *most, size_t size,
               uint32_t least)
{
    if (count < *most)
        return items;
    uint32_t more = *most ? 2 * *most : least;
    void *grown = mem_grow(items, *most * size, more * size);
    if (grown)
        *most = more;
    return grown;
}

char *text_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = mem_allocate(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

void text_release(char *text)
{
    if (text)
        mem_release(text, strlen(text) + 1);
}

bool mem_array_size(size_t count, size_t size, size_t *out_size)
{
    return !__builtin_mul_overflow(count, size, out_size);
}

size_t mem_held(void)
{
    return atomic_load_explicit(&held, memory_order_acquire);
}

bool mem_set_allocator(const rnl_allocator *allocator)
{
    if (mem_held() != 0)
        return false;
    current = allocator ? *allocator : libc_allocator;
    return true;
}
