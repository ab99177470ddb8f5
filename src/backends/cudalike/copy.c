#include "backends/cudalike/service.h"

#define PAYLOAD_MOST ((size_t)64 << 10)

// --- Who copies ------------------------------------------------------------

static bool is_ordinary(struct stream *stream, const void *pointer,
                        size_t size)
{
    struct context *context = stream_context(stream);
    struct gpu_context *gpu = gpu_of(context);
    unsigned type = 0;
    if (host_range_has(context, (uintptr_t)pointer, size))
        return false;
    return call_of(gpu)->pointer_attribute(&type, DRIVER_POINTER_MEMORY_TYPE,
                                           (uint64_t)(uintptr_t)pointer) != 0;
}

static size_t span(const struct op_copy *copy, size_t row, size_t slice)
{
    return (copy->depth - 1) * slice + (copy->height - 1) * row +
           copy->width;
}

bool gpu_copy_needs_service(struct stream *stream, const struct op *op)
{
    const struct op_copy *copy = &op->copy;
    struct gpu_stream *own = gpu_stream_of(stream);
    size_t size = span(copy, copy->from_row, copy->from_slice);
    if (!service_can_be_asked(gpu_of(stream_context(stream))))
        return false;  // the driver holds the caller up
    // The driver takes a copy of so little at once: of what was given with the
    // operation, and of what nothing before it can still change.
    bool early = !copy->from_context && size <= PAYLOAD_MOST &&
                 copy->to_context &&
                 (copy->from == op->payload ||
                  atomic_load(&own->completed) >=
                      atomic_load(&stream->submitted));
    if (!copy->from_context && is_ordinary(stream, copy->from, size))
        return !early;
    return !copy->to_context &&
           is_ordinary(stream, copy->to,
                       span(copy, copy->to_row, copy->to_slice));
}

// --- Copies ----------------------------------------------------------------

// What the driver does not know is ordinary memory of the host.
static int memory_type(const struct gpu_context *gpu, const void *pointer,
                       const struct context *owner)
{
    unsigned type;
    if (owner)
        return DRIVER_MEMORY_UNIFIED;
    int code = call_of(gpu)->pointer_attribute(
        &type, DRIVER_POINTER_MEMORY_TYPE, (uint64_t)(uintptr_t)pointer);
    return code == 0 ? DRIVER_MEMORY_UNIFIED : DRIVER_MEMORY_HOST;
}

static bool is_flat(const struct op_copy *copy)
{
    return copy->height == 1 && copy->depth == 1;
}

struct driver_copy gpu_describe_copy(const struct gpu_context *gpu,
                                     const struct op_copy *copy)
{
    struct driver_copy driver = {
        .from_type = memory_type(gpu, copy->from, copy->from_context),
        .from_host = copy->from,
        .from_device = (uint64_t)(uintptr_t)copy->from,
        .to_type = memory_type(gpu, copy->to, copy->to_context),
        .to_host = copy->to,
        .to_device = (uint64_t)(uintptr_t)copy->to,
        .width = copy->width,
        .height = copy->height,
        .depth = copy->depth,
    };
    if (is_flat(copy))
        return driver;
    driver.from_pitch = copy->from_row;
    driver.to_pitch = copy->to_row;
    if (copy->depth == 1)
        return driver;
    driver.from_height = copy->from_slice / copy->from_row;
    driver.to_height = copy->to_slice / copy->to_row;
    return driver;
}

// Where slices are no whole number of rows the driver copies them one by one.
static int copy_slices(const struct gpu_context *gpu, void *handle,
                       const struct op_copy *copy)
{
    struct op_copy slice = *copy;
    slice.depth = 1;
    int code = 0;
    for (size_t z = 0; z < copy->depth && code == 0; z++) {
        struct driver_copy driver = gpu_describe_copy(gpu, &slice);
        code = call_of(gpu)->copy_3d(&driver, handle);
        slice.from += copy->from_slice;
        slice.to += copy->to_slice;
    }
    return code;
}

int gpu_copy_on(const struct gpu_context *gpu, void *handle,
                const struct op_copy *copy)
{
    if (is_flat(copy))
        return call_of(gpu)->copy((uint64_t)(uintptr_t)copy->to,
                                  (uint64_t)(uintptr_t)copy->from,
                                  copy->width, handle);
    if (copy->depth > 1 && (copy->from_slice % copy->from_row ||
                            copy->to_slice % copy->to_row))
        return copy_slices(gpu, handle, copy);
    struct driver_copy driver = gpu_describe_copy(gpu, copy);
    return call_of(gpu)->copy_3d(&driver, handle);
}

int gpu_copy(struct stream *stream, struct op *op)
{
    return gpu_copy_on(gpu_of(stream_context(stream)),
                       gpu_stream_of(stream)->handle, &op->copy);
}

// --- Fills -----------------------------------------------------------------

static int fill_row(const struct driver_functions *call, void *handle,
                    const struct op_fill *fill, uint64_t to)
{
    size_t count = fill->width / fill->pattern_size;
    switch (fill->pattern_size) {
    case 1:
        return call->fill8(to, (unsigned char)fill->pattern, count, handle);
    case 2:
        return call->fill16(to, (unsigned short)fill->pattern, count, handle);
    default:
        return call->fill32(to, (unsigned)fill->pattern, count, handle);
    }
}

static int fill_rows(const struct driver_functions *call, void *handle,
                     const struct op_fill *fill, uint64_t to)
{
    size_t count = fill->width / fill->pattern_size;
    switch (fill->pattern_size) {
    case 1:
        return call->fill8_2d(to, fill->row, (unsigned char)fill->pattern,
                              count, fill->height, handle);
    case 2:
        return call->fill16_2d(to, fill->row, (unsigned short)fill->pattern,
                               count, fill->height, handle);
    default:
        return call->fill32_2d(to, fill->row, (unsigned)fill->pattern, count,
                               fill->height, handle);
    }
}

// No driver fills with 8 bytes: the two halves are columns of 4 bytes.
static int fill_wide(const struct driver_functions *call, void *handle,
                     const struct op_fill *fill, uint64_t to)
{
    size_t count = fill->width / 8;
    int code = 0;
    for (size_t y = 0; y < fill->height && code == 0; y++) {
        uint64_t row = to + y * fill->row;
        code = call->fill32_2d(row, 8, (unsigned)fill->pattern, 1, count,
                               handle);
        if (code == 0)
            code = call->fill32_2d(row + 4, 8, (unsigned)(fill->pattern >> 32),
                                   1, count, handle);
    }
    return code;
}

int gpu_fill_on(const struct driver_functions *call, void *handle,
                const struct op_fill *given)
{
    struct op_fill fill = *given;
    if (fill.pattern_size == 8 &&
        (uint32_t)fill.pattern == (uint32_t)(fill.pattern >> 32))
        fill.pattern_size = 4;
    int code = 0;
    for (size_t z = 0; z < fill.depth && code == 0; z++) {
        uint64_t to = (uint64_t)(uintptr_t)fill.to + z * fill.slice;
        if (fill.pattern_size == 8)
            code = fill_wide(call, handle, &fill, to);
        else if (fill.height == 1)
            code = fill_row(call, handle, &fill, to);
        else
            code = fill_rows(call, handle, &fill, to);
    }
    return code;
}

int gpu_fill(struct stream *stream, struct op *op)
{
    return gpu_fill_on(call_of(gpu_of(stream_context(stream))),
                       gpu_stream_of(stream)->handle, &op->fill);
}
