// Memory that is kept but not in use, as the sanitizers see it.
#pragma once

#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON_ADDRESSES 1
#endif
#if __has_feature(memory_sanitizer)
#define POISON_VALUES 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define POISON_ADDRESSES 1
#endif

#if defined(POISON_ADDRESSES)
#include <sanitizer/asan_interface.h>
#elif defined(POISON_VALUES)
#include <sanitizer/msan_interface.h>
#endif

// A use of it is an error from here on.
static inline void poison(void *memory, size_t size)
{
#if defined(POISON_ADDRESSES)
    __asan_poison_memory_region(memory, size);
#elif defined(POISON_VALUES)
    __msan_poison(memory, size);
#else
    (void)memory;
    (void)size;
#endif
}

// The first `size` bytes may be used, as if they had just been allocated.
static inline void unpoison(void *memory, size_t size)
{
#if defined(POISON_ADDRESSES)
    __asan_unpoison_memory_region(memory, size);
#elif defined(POISON_VALUES)
    __msan_allocated_memory(memory, size);
#else
    (void)memory;
    (void)size;
#endif
}
