// Host memory of the library's own objects.
#pragma once

#include <runnel/host.h>
#include <stddef.h>
#include <stdint.h>

// Zeroed memory, or NULL. Never aborts.
void *mem_allocate(size_t size);
void *mem_allocate_aligned(size_t size, size_t alignment);

// Takes back what mem_allocate gave; NULL is fine.
void mem_release(void *memory, size_t size);

// A copy of `memory` with room for `new_size` bytes, zeroed behind the old
// `size`, in place of the old memory; NULL changes nothing.
void *mem_grow(void *memory, size_t size, size_t new_size);

// An array of `count` items of that size with room for one more, for `least` at
// first; `*most` is the capacity. NULL changes nothing.
void *mem_room(void *items, uint32_t count, uint32_t *most, size_t size,
               uint32_t least);

// A copy of `text`; released with text_release. NULL when memory is short.
char *text_copy(const char *text);
void text_release(char *text);

// False when the product does not fit.
bool mem_array_size(size_t count, size_t size, size_t *out_size);

// The next multiple of `alignment`, a power of two.
static inline size_t mem_align_up(size_t size, size_t alignment)
{
    return (size + alignment - 1) & ~(alignment - 1);
}

// Bytes that are allocated now.
size_t mem_held(void);

// False while the library holds memory.
bool mem_set_allocator(const rnl_allocator *allocator);
