// malloc, free, new and delete of device code: 8 MiB in each object, as CUDA
// has by default. Blocks have the sizes of a few classes, four to each power of
// two; what is freed serves the next of its class or of a smaller one.

struct rnl_heap_block {
    unsigned long class_number;
    rnl_heap_block *next;  // while free
};                         // the user's memory follows

static constexpr unsigned long rnl_heap_size = 8ul << 20;
static constexpr unsigned int rnl_heap_classes = 80;
alignas(16) static char rnl_heap_memory[rnl_heap_size];
static unsigned long rnl_heap_used;
static rnl_heap_block *rnl_heap_free[rnl_heap_classes];
static char rnl_heap_locked;

// The class of the least blocks that hold `size` bytes, and the size of those.
RNL_INLINE unsigned int rnl_heap_class(unsigned long size, unsigned long *room)
{
    unsigned int number = 0;
    for (unsigned long step = 16, end = 64;; step *= 2, end *= 2)
        for (*room = end; *room < 2 * end; *room += step, number++)
            if (*room >= size)
                return number;
}

static __attribute__((noinline, unused)) void *rnl_heap_take(size_t size)
{
    if (size > rnl_heap_size - 16)
        return nullptr;
    unsigned long room;
    const unsigned int least = rnl_heap_class(size + 16, &room);
    void *found = nullptr;
    while (__atomic_test_and_set(&rnl_heap_locked, __ATOMIC_ACQUIRE)) {
    }
    unsigned int number = least;
    const bool fits = room <= rnl_heap_size - rnl_heap_used;
    while (number < rnl_heap_classes && !rnl_heap_free[number])
        number = fits ? rnl_heap_classes : number + 1;
    if (number < rnl_heap_classes) {
        found = rnl_heap_free[number];
        rnl_heap_free[number] = rnl_heap_free[number]->next;
    } else if (fits) {
        found = rnl_heap_memory + rnl_heap_used;
        rnl_heap_used += room;
        static_cast<rnl_heap_block *>(found)->class_number = least;
    }
    __atomic_clear(&rnl_heap_locked, __ATOMIC_RELEASE);
    return found ? static_cast<char *>(found) + 16 : nullptr;
}

static __attribute__((noinline, unused)) void rnl_heap_give(void *memory)
{
    if (!memory)
        return;
    rnl_heap_block *block = reinterpret_cast<rnl_heap_block *>(
        static_cast<char *>(memory) - 16);
    while (__atomic_test_and_set(&rnl_heap_locked, __ATOMIC_ACQUIRE)) {
    }
    block->next = rnl_heap_free[block->class_number];
    rnl_heap_free[block->class_number] = block;
    __atomic_clear(&rnl_heap_locked, __ATOMIC_RELEASE);
}

// Not the C library's, which compilers know too much about.
RNL_INLINE void *malloc(size_t size) { return rnl_heap_take(size); }
RNL_INLINE void free(void *memory) { rnl_heap_give(memory); }

#define RNL_RUNTIME __attribute__((weak))
RNL_RUNTIME void *operator new(size_t size) { return rnl_heap_take(size); }
RNL_RUNTIME void *operator new[](size_t size) { return rnl_heap_take(size); }
RNL_RUNTIME void operator delete(void *memory) noexcept
{
    rnl_heap_give(memory);
}
RNL_RUNTIME void operator delete[](void *memory) noexcept
{
    rnl_heap_give(memory);
}
RNL_RUNTIME void operator delete(void *memory, size_t) noexcept
{
    rnl_heap_give(memory);
}
RNL_RUNTIME void operator delete[](void *memory, size_t) noexcept
{
    rnl_heap_give(memory);
}
