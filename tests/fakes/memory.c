// Memory of the fake: all of it is the host's, and known by its address.
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { ALIGNMENT = 512, PAGE = 4096, BLOCK = 2 << 20, DIRTY_MOST = 65536 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct fake_block *blocks;  // by address
static size_t block_count, block_room;

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

// --- What is known --------------------------------------------------------

// The first block that starts behind `address`.
static size_t behind(uintptr_t address)
{
    size_t low = 0, high = block_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (blocks[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool fake_block_find(uint64_t address, size_t size, struct fake_block *out)
{
    pthread_rwlock_rdlock(&lock);
    size_t index = behind(address);
    bool found = index > 0;
    if (found) {
        *out = blocks[index - 1];
        size_t offset = address - out->start;
        found = offset < out->size && size <= out->size - offset;
    }
    pthread_rwlock_unlock(&lock);
    return found;
}

static bool grow_locked(void)
{
    if (block_count < block_room)
        return true;
    size_t room = block_room ? block_room * 2 : 64;
    struct fake_block *more = realloc(blocks, room * sizeof *more);
    if (!more)
        return false;
    blocks = more;
    block_room = room;
    return true;
}

// False when there is no memory, or the block overlaps another.
bool fake_block_add(const struct fake_block *block)
{
    pthread_rwlock_wrlock(&lock);
    size_t index = behind(block->start);
    bool fits =
        (index == 0 || blocks[index - 1].start + blocks[index - 1].size <=
                           block->start) &&
        (index == block_count ||
         block->start + block->size <= blocks[index].start) && grow_locked();
    if (fits) {
        memmove(&blocks[index + 1], &blocks[index],
                (block_count - index) * sizeof *blocks);
        blocks[index] = *block;
        block_count++;
    }
    pthread_rwlock_unlock(&lock);
    return fits;
}

static void remove_locked(size_t index)
{
    block_count--;
    memmove(&blocks[index], &blocks[index + 1],
            (block_count - index) * sizeof *blocks);
}

bool fake_block_take(uint64_t address, unsigned places, struct fake_block *out)
{
    pthread_rwlock_wrlock(&lock);
    size_t index = behind(address);
    bool found = index > 0 && blocks[index - 1].start == address &&
                 places >> blocks[index - 1].place & 1;
    if (found) {
        *out = blocks[index - 1];
        remove_locked(index - 1);
    }
    pthread_rwlock_unlock(&lock);
    return found;
}

static void release(const struct fake_block *block)
{
    fake_share_end(block);
    free((void *)block->start);
}

size_t fake_blocks_drop(struct fake_context *context)
{
    size_t dropped = 0;
    bool broken = atomic_load(&context->sticky) != 0;
    pthread_rwlock_wrlock(&lock);
    for (size_t i = block_count; i-- > 0;) {
        if (blocks[i].context != context)
            continue;
        dropped += blocks[i].place != PLACE_GLOBAL;
        bool own = blocks[i].place != PLACE_REGISTERED &&
                   blocks[i].place != PLACE_GLOBAL &&
                   blocks[i].place != PLACE_OPENED;
        if (own && broken)
            fake_strand((void *)blocks[i].start);
        else if (own)
            release(&blocks[i]);
        remove_locked(i);
    }
    pthread_rwlock_unlock(&lock);
    return dropped;
}

void fake_blocks_protect(void)
{
    pthread_rwlock_rdlock(&lock);
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i].place == PLACE_HOST)
            mprotect((void *)blocks[i].start, whole_pages(blocks[i].size),
                     PROT_NONE);
    pthread_rwlock_unlock(&lock);
}

void fake_blocks_count(size_t *out_blocks, size_t *out_bytes)
{
    *out_blocks = *out_bytes = 0;
    pthread_rwlock_rdlock(&lock);
    for (size_t i = 0; i < block_count; i++)
        if (blocks[i].place != PLACE_GLOBAL) {
            ++*out_blocks;
            *out_bytes += blocks[i].size;
        }
    pthread_rwlock_unlock(&lock);
}

// --- Taking and giving back -----------------------------------------------

static bool counts(enum fake_place place)
{
    return place == PLACE_DEVICE;
}

static int allocate(struct fake_context *context, enum fake_place place,
                    size_t size, uint64_t *out_address)
{
    if (size == 0 || !out_address)
        return FAKE_INVALID_VALUE;
    uint64_t total = fake_device_bytes();
    if (size > total ||
        (counts(place) &&
         atomic_fetch_add(&context->used, size) + size > total)) {
        if (size <= total)
            atomic_fetch_sub(&context->used, size);
        return FAKE_OUT_OF_MEMORY;
    }
    size_t alignment = place == PLACE_HOST || size >= BLOCK ? PAGE : ALIGNMENT;
    size_t room = place == PLACE_HOST ? whole_pages(size) : size;
    void *memory = NULL;
    if (posix_memalign(&memory, alignment, room) == 0) {
        memset(memory, 0xa5, size < DIRTY_MOST ? size : DIRTY_MOST);
        struct fake_block block = {(uintptr_t)memory, size, place, context};
        if (fake_block_add(&block)) {
            *out_address = (uintptr_t)memory;
            return FAKE_OK;
        }
        free(memory);
    }
    if (counts(place))
        atomic_fetch_sub(&context->used, size);
    return FAKE_OUT_OF_MEMORY;
}

// Work in flight that uses it is undefined: make it seen.
static void discard(const struct fake_block *block)
{
    memset((void *)block->start, 0x5a,
           block->size < DIRTY_MOST ? block->size : DIRTY_MOST);
    release(block);
}

static void uncount(const struct fake_block *block)
{
    if (counts(block->place))
        atomic_fetch_sub(&block->context->used, block->size);
}

// As the real driver, this waits for all that the device does. Of a broken
// device it frees nothing: what is stuck there may look at it.
static int give_back(enum fake_function function, uint64_t address,
                     unsigned places)
{
    struct fake_context *context;
    struct fake_block block;
    int code = fake_enter_release(function, &context);
    if (!context)
        return code;
    if (!fake_block_take(address, places, &block))
        return FAKE_INVALID_VALUE;
    uncount(&block);
    int waited = fake_wait_device(block.context);
    if (waited == FAKE_OK)
        discard(&block);
    else
        fake_strand((void *)block.start);
    return code ? code : waited;
}

int fake_memory_allocate(uint64_t *out_address, size_t size)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_memory_allocate, &context);
    return code ? code : allocate(context, PLACE_DEVICE, size, out_address);
}

int fake_memory_free(uint64_t address)
{
    return give_back(FAKE_memory_free, address,
                     1u << PLACE_DEVICE |
                         1u << PLACE_MANAGED);
}

int fake_managed_allocate(uint64_t *out_address, size_t size, unsigned flags)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_managed_allocate, &context);
    if (code)
        return code;
    if (flags != DRIVER_ATTACH_GLOBAL && flags != DRIVER_ATTACH_HOST)
        return FAKE_INVALID_VALUE;
    return allocate(context, PLACE_MANAGED, size, out_address);
}

int fake_host_allocate(void **out_pointer, size_t size, unsigned flags)
{
    struct fake_context *context;
    uint64_t address;
    int code = fake_enter(FAKE_host_allocate, &context);
    if (code)
        return code;
    if (flags & ~7u || !out_pointer)
        return FAKE_INVALID_VALUE;
    code = allocate(context, PLACE_HOST, size, &address);
    if (!code)
        *out_pointer = (void *)(uintptr_t)address;
    return code;
}

int fake_host_free(void *pointer)
{
    return give_back(FAKE_host_free, (uintptr_t)pointer, 1u << PLACE_HOST);
}

int fake_host_register(void *pointer, size_t size, unsigned flags)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_host_register, &context);
    if (code)
        return code;
    if (!pointer || !size || flags & ~15u)
        return FAKE_INVALID_VALUE;
    struct fake_block block = {(uintptr_t)pointer, size, PLACE_REGISTERED,
                               context};
    return fake_block_add(&block) ? FAKE_OK : FAKE_HOST_ALREADY;
}

int fake_host_unregister(void *pointer)
{
    struct fake_context *context;
    struct fake_block block;
    int code = fake_enter_release(FAKE_host_unregister, &context);
    if (!context)
        return code;
    if (!fake_block_take((uintptr_t)pointer, 1u << PLACE_REGISTERED, &block))
        return FAKE_HOST_NOT_REGISTERED;
    int waited = fake_wait_device(block.context);
    return code ? code : waited;
}

// As the driver does, says "nothing" of what it does not know.
static int tell_attribute(void *out_value, int attribute, uint64_t address,
                          const struct fake_block *block)
{
    bool host = block && (block->place == PLACE_HOST ||
                          block->place == PLACE_REGISTERED);
    switch (attribute) {
    case 1:
        *(void **)out_value = block ? block->context : NULL;
        return FAKE_OK;
    case DRIVER_POINTER_MEMORY_TYPE:
        *(unsigned *)out_value = !block ? 0 : host ? DRIVER_MEMORY_HOST : 2;
        return FAKE_OK;
    case 3:
    case 4:
        *(uint64_t *)out_value = block ? address : 0;
        return FAKE_OK;
    case 8:
        *(unsigned *)out_value = block && block->place == PLACE_MANAGED;
        return FAKE_OK;
    case 9:
        *(int *)out_value = block ? block->context->device : -2;
        return FAKE_OK;
    case DRIVER_POINTER_RANGE_START:
        *(uint64_t *)out_value = block ? block->start : 0;
        return FAKE_OK;
    case DRIVER_POINTER_RANGE_SIZE:
        *(size_t *)out_value = block ? block->size : 0;
        return FAKE_OK;
    default:
        return FAKE_NOT_SUPPORTED;
    }
}

int fake_pointer_attributes(unsigned count, int *attributes,
                            void **out_values, uint64_t address)
{
    struct fake_context *context;
    struct fake_block block;
    int code = fake_enter(FAKE_pointer_attributes, &context);
    if (code == 0 && (count == 0 || !attributes || !out_values))
        code = FAKE_INVALID_VALUE;
    bool known = code == 0 && fake_block_find(address, 1, &block);
    for (unsigned i = 0; i < count && code == 0; i++)
        code = tell_attribute(out_values[i], attributes[i], address,
                              known ? &block : NULL);
    return code;
}

// --- Frees in the order of a stream ---------------------------------------

static void discard_later(rnl_status status, void *user_data)
{
    struct fake_block *block = user_data;
    if (status == RNL_OK && !atomic_load(&block->context->sticky))
        discard(block);
    else
        fake_strand((void *)block->start);
    free(block);
}

// HIP's waits for the device, as its other calls that free do.
int fake_free_async(uint64_t address, void *stream)
{
    if (FAKE_IS_HIP)
        return give_back(FAKE_free_async, address, 1u << PLACE_DEVICE);
    struct fake_context *context;
    rnl_stream inner;
    int code = fake_enter_release(FAKE_free_async, &context);
    if (!context)
        return code;
    int found = fake_stream_of(context, stream, &inner);
    struct fake_block *block = malloc(sizeof *block);
    if (found || !block ||
        !fake_block_take(address, 1u << PLACE_DEVICE, block)) {
        free(block);
        return found ? found : FAKE_INVALID_VALUE;
    }
    uncount(block);
    // Of a broken device it is left alone.
    struct fake_turn turn;
    rnl_status status = RNL_ERROR_DEVICE_LOST;
    if (fake_turn_take(context, stream, &turn) == FAKE_OK) {
        status = rnl_enqueue_host_function(inner, discard_later, block);
        fake_turn_give(&turn, false, status);
    }
    if (status != RNL_OK)
        discard_later(status, block);
    return code;
}

// --- Hints ----------------------------------------------------------------

static int check_managed(uint64_t address, size_t size, int device)
{
    struct fake_block block;
    if (size == 0 || !fake_block_find(address, size, &block) ||
        block.place != PLACE_MANAGED)
        return FAKE_INVALID_VALUE;
    return device >= -1 && device < fake_device_count_now()
               ? FAKE_OK : FAKE_INVALID_DEVICE;
}

int fake_prefetch(uint64_t address, size_t size, int device, void *stream)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = fake_enter(FAKE_prefetch, &context);
    if (code || (code = fake_stream_of(context, stream, &inner)))
        return code;
    return check_managed(address, size, device);
}

int fake_advise(uint64_t address, size_t size, int advice, int device)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_advise, &context);
    if (code)
        return code;
    if (advice < 1 || advice > 6)
        return FAKE_INVALID_VALUE;
    return check_managed(address, size, device);
}
