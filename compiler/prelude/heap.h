// malloc, free, new and delete of device code: 8 MiB in each object, CUDA's
// default. Blocks have the sizes of a few classes, four per power of two; a
// freed block serves the next request of its class or of a smaller class.

// Nothing here waits for another thread: lanes of a warp run together, so one
// that spins for a lock would keep its holder from going on.

struct rnl_heap_block {
    unsigned long class_number;
    unsigned long next;  // while free: its place, in 16 bytes
};                       // the user's memory follows

static constexpr unsigned long rnl_heap_size = 8ul << 20;
static constexpr unsigned int rnl_heap_classes = 80;
alignas(16) static __device__ char rnl_heap_memory[16 + rnl_heap_size];
static __device__ unsigned long rnl_heap_used = 16;  // place 0 means none

// Offset of the first free block, with a count in the upper bits that tells
// apart two times with the same first block.
static __device__ unsigned long rnl_heap_free[rnl_heap_classes];
static constexpr unsigned long rnl_heap_place = 0xffffffff;

RNL_INLINE rnl_heap_block *rnl_heap_at(unsigned long head)
{
    return reinterpret_cast<rnl_heap_block *>(
        rnl_heap_memory + 16 * (head & rnl_heap_place));
}

// The class of the least blocks that hold `size` bytes, and the size of those.
RNL_INLINE unsigned int rnl_heap_class(unsigned long size, unsigned long *room)
{
    unsigned int number = 0;
    unsigned long step = 16;
    *room = 64;
    while (*room < size) {
        *room += step;
        step *= ++number % 4 == 0 ? 2 : 1;
    }
    return number;
}

RNL_INLINE rnl_heap_block *rnl_heap_pop(unsigned int number)
{
    unsigned long *head = rnl_heap_free + number;
    unsigned long old = __atomic_load_n(head, __ATOMIC_ACQUIRE);
    while (old & rnl_heap_place) {
        unsigned long next =
            __atomic_load_n(&rnl_heap_at(old)->next, __ATOMIC_RELAXED);
        next |= (old & ~rnl_heap_place) + rnl_heap_place + 1;
        if (__atomic_compare_exchange_n(head, &old, next, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return rnl_heap_at(old);
    }
    return nullptr;
}

// Memory that was never used.
RNL_INLINE rnl_heap_block *rnl_heap_fresh(unsigned int number,
                                          unsigned long room)
{
    unsigned long old = __atomic_load_n(&rnl_heap_used, __ATOMIC_RELAXED);
    while (room <= sizeof rnl_heap_memory - old) {
        if (!__atomic_compare_exchange_n(&rnl_heap_used, &old, old + room,
                                         false, __ATOMIC_RELAXED,
                                         __ATOMIC_RELAXED))
            continue;
        rnl_heap_at(old / 16)->class_number = number;
        return rnl_heap_at(old / 16);
    }
    return nullptr;
}

static __attribute__((noinline, unused)) void *rnl_heap_take(size_t size)
{
    if (size > rnl_heap_size - 16)
        return nullptr;
    unsigned long room;
    unsigned int number = rnl_heap_class(size + 16, &room);
    rnl_heap_block *found = rnl_heap_pop(number);
    if (!found)
        found = rnl_heap_fresh(number, room);
    while (!found && ++number < rnl_heap_classes)
        found = rnl_heap_pop(number);
    return found ? reinterpret_cast<char *>(found) + 16 : nullptr;
}

static __attribute__((noinline, unused)) void rnl_heap_give(void *memory)
{
    if (!memory)
        return;
    char *start = static_cast<char *>(memory) - 16;
    rnl_heap_block *block = reinterpret_cast<rnl_heap_block *>(start);
    unsigned long place =
        static_cast<unsigned long>(start - rnl_heap_memory) / 16;
    unsigned long *head = rnl_heap_free + block->class_number;
    unsigned long old = __atomic_load_n(head, __ATOMIC_RELAXED), next;
    do {
        __atomic_store_n(&block->next, old & rnl_heap_place,
                         __ATOMIC_RELAXED);
        next = ((old & ~rnl_heap_place) + rnl_heap_place + 1) | place;
    } while (!__atomic_compare_exchange_n(head, &old, next, false,
                                          __ATOMIC_ACQ_REL,
                                          __ATOMIC_RELAXED));
}

// Not the C library's, which compilers know too much about.
RNL_INLINE void *malloc(size_t size) { return rnl_heap_take(size); }
RNL_INLINE void free(void *memory) { rnl_heap_give(memory); }

#define alloca(size) __builtin_alloca(size)

// Objects in memory that is there.
inline void *operator new(size_t, void *place) noexcept { return place; }
inline void *operator new[](size_t, void *place) noexcept { return place; }

// For the device alone: clang declares the host's functions itself.
#pragma clang force_cuda_host_device end
#define RNL_RUNTIME __device__ __attribute__((weak))
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
#pragma clang force_cuda_host_device begin
