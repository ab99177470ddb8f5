#include "backends/cpu/machine/machine.h"
#include "core/backend.h"
#include "core/object/context_object.h"
#include "core/object/pool_state.h"
#include "core/object/interprocess_memory.h"

#include <stdlib.h>
#include <sys/mman.h>

// As on a GPU, so that alignment assumptions of kernels hold here, too.
#define ALIGNMENT 256
#define HUGE_PAGE ((size_t)2 << 20)

static rnl_status too_much(const struct context *context, size_t size)
{
    return fail(RNL_ERROR_OUT_OF_MEMORY,
                "%zu bytes are asked for; %s:%u has %llu in all", size,
                context->backend->api, context->device->index,
                (unsigned long long)context->device->info.memory_size);
}

// Large memory is a separate mapping, small memory is from the heap.
static bool is_large(size_t size)
{
    return size >= HUGE_PAGE;
}

// A mapping of whole huge pages. Only a larger mapping surely contains an
// aligned range; the surplus is unmapped at once. A system without huge pages
// refuses the advice and maps ordinary pages.
static void *map_large(size_t size)
{
    size = mem_align_up(size, HUGE_PAGE);
    char *start = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED)
        return NULL;
    size_t before = -(uintptr_t)start % HUGE_PAGE;
    char *memory = start + before;
    if (before > 0)
        munmap(start, before);
    munmap(memory + size, HUGE_PAGE - before);
    madvise(memory, size, MADV_HUGEPAGE);
    return memory;
}

static void *allocate_small(size_t size)
{
    void *memory;
    return posix_memalign(&memory, ALIGNMENT, size) ? NULL : memory;
}

// All kinds of memory are the same here. Stream order needs no help of the
// backend: memory is usable at once and freed when no work uses the memory.
rnl_status cpu_memory_allocate(struct context *context, rnl_memory_kind kind,
                               size_t size, struct memory *out_memory)
{
    (void)kind;
    bool large = is_large(size);
    // Linux would promise more than the machine has, and kill us later.
    if (size > context->device->info.memory_size)
        return too_much(context, size);
    void *memory = large ? map_large(size) : allocate_small(size);
    if (!memory)
        return too_much(context, size);
    *out_memory = (struct memory){memory, memory, .zeroed = large};
    return RNL_OK;
}

void cpu_memory_free(struct context *context, rnl_memory_kind kind,
                     struct memory memory, size_t size)
{
    (void)context;
    (void)kind;
    if (memory.cookie != 0)
        interprocess_memory_end(memory, size);
    else if (is_large(size))
        munmap(memory.host, mem_align_up(size, HUGE_PAGE));
    else
        free(memory.host);
}

rnl_status cpu_memory_share(struct context *context, bool opens, size_t size,
                            unsigned char *key, struct memory *out_memory)
{
    if (opens)
        return interprocess_memory_open(key, size, out_memory);
    return size > context->device->info.memory_size
               ? too_much(context, size)
               : interprocess_memory_make(size, key, out_memory);
}

rnl_status cpu_host_register(struct context *context, void *pointer,
                             size_t size, bool locked)
{
    (void)context;
    (void)pointer;
    (void)size;
    (void)locked;
    return RNL_OK;  // every page is as good as locked
}
