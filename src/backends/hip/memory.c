// Memory, copies and fills.
#include "backends/hip/hip.h"

// --- Memory ------------------------------------------------------------------

static int host_allocate(void **out_pointer, size_t size, unsigned flags)
{
    return hip.host_allocate(out_pointer, size, flags | HIP_HOST_COHERENT);
}

#define VERSION_TYPES 60000000  // renumbered the kinds of memory

// The table's kind of memory; 0 for memory that the driver does not know.
static unsigned kind_of(unsigned type)
{
    enum { HOST = 1, DEVICE = 2, UNIFIED = 4 };
    static const unsigned char older[] = {HOST, DEVICE, 0, UNIFIED, UNIFIED};
    if (hip_version < VERSION_TYPES)
        return type < sizeof older ? older[type] : 0;
    if (type == HOST || type == DEVICE)
        return type;
    return type == 3 || type == 11 ? UNIFIED : 0;
}

// HIP 5 has no number for unknown memory, which it refuses instead.
static int pointer_attributes(unsigned count, int *attributes,
                              void **out_values, uint64_t address)
{
    int code = hip.pointer_attributes(count, attributes, out_values, address);
    for (unsigned i = 0; i < count && code == 0; i++)
        if (attributes[i] == DRIVER_POINTER_MEMORY_TYPE) {
            unsigned *type = out_values[i];
            *type = kind_of(*type);
        }
    return code;
}

// HIP 5 has no flags here.
static int memory_open(uint64_t *out_address, struct driver_share key,
                       unsigned flags)
{
    return hip.memory_open(out_address, key,
                           hip_version < VERSION_TYPES ? 0 : flags);
}

// --- Copies ------------------------------------------------------------------

static int copy(uint64_t to, uint64_t from, size_t size, void *stream)
{
    return hip.copy(to, from, size, HIP_COPY_DEFAULT, stream);
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

struct hip_copy hip_copy_of(const struct driver_copy *copy)
{
    bool from_host = copy->from_type == DRIVER_MEMORY_HOST;
    bool to_host = copy->to_type == DRIVER_MEMORY_HOST;
    return (struct hip_copy){
        .from_x = copy->from_x,
        .from_y = copy->from_y,
        .from_z = copy->from_z,
        .from = {(void *)(from_host ? (uintptr_t)copy->from_host
                                    : (uintptr_t)copy->from_device),
                 larger(copy->from_pitch, copy->width), copy->width,
                 larger(copy->from_height, copy->height)},
        .to_x = copy->to_x,
        .to_y = copy->to_y,
        .to_z = copy->to_z,
        .to = {(void *)(to_host ? (uintptr_t)copy->to_host
                                : (uintptr_t)copy->to_device),
               larger(copy->to_pitch, copy->width), copy->width,
               larger(copy->to_height, copy->height)},
        .width = copy->width,
        .height = copy->height,
        .depth = copy->depth ? copy->depth : 1,
        .kind = HIP_COPY_DEFAULT,
    };
}

static int copy_3d(const struct driver_copy *copy, void *stream)
{
    struct hip_copy other = hip_copy_of(copy);
    return hip.copy_3d(&other, stream);
}

// --- Fills of rows -----------------------------------------------------------

static driver_fill16_fn *fill16;  // hipMemsetD16Async
static driver_fill32_fn *fill32;  // hipMemsetD32Async

static int fill8_2d(uint64_t to, size_t pitch, unsigned char value,
                    size_t width, size_t height, void *stream)
{
    return hip.fill8_2d(to, pitch, value, width, height, stream);
}

static int fill16_2d(uint64_t to, size_t pitch, unsigned short value,
                     size_t width, size_t height, void *stream)
{
    int code = 0;
    for (size_t y = 0; y < height && code == 0; y++)
        code = fill16(to + y * pitch, value, width, stream);
    return code;
}

static int fill32_2d(uint64_t to, size_t pitch, unsigned value, size_t width,
                     size_t height, void *stream)
{
    int code = 0;
    for (size_t y = 0; y < height && code == 0; y++)
        code = fill32(to + y * pitch, value, width, stream);
    return code;
}

void hip_adapt_memory(struct driver_functions *call)
{
    fill16 = call->fill16;
    fill32 = call->fill32;
    call->host_allocate = host_allocate;
    call->pointer_attributes = pointer_attributes;
    if (hip.memory_open)
        call->memory_open = memory_open;
    call->copy = copy;
    call->copy_3d = copy_3d;
    call->fill8_2d = fill8_2d;
    call->fill16_2d = fill16_2d;
    call->fill32_2d = fill32_2d;
}
