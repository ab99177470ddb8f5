// Copies and fills of the fake.
#include "fake.h"

#include <stdlib.h>
#include <string.h>

enum { STAGED_MOST = 65536 };

// --- Copies ---------------------------------------------------------------

struct side {
    int type;
    const void *host;
    uint64_t device;
    size_t x, y, z, pitch, height, level;
};

static struct side from_of(const struct driver_copy *copy)
{
    return (struct side){copy->from_type, copy->from_host, copy->from_device,
                         copy->from_x, copy->from_y, copy->from_z,
                         copy->from_pitch, copy->from_height,
                         copy->from_level};
}

static struct side to_of(const struct driver_copy *copy)
{
    return (struct side){copy->to_type, copy->to_host, copy->to_device,
                         copy->to_x, copy->to_y, copy->to_z, copy->to_pitch,
                         copy->to_height, copy->to_level};
}

// Bytes from the first to the last one touched.
static size_t extent_of(const struct driver_copy *copy, const rnl_place *place)
{
    return (copy->depth - 1) * place->slice_pitch +
           (copy->height - 1) * place->row_pitch + copy->width;
}

static int side_convert(const struct driver_copy *copy,
                        const struct side *side, rnl_place *out,
                        bool *out_pageable)
{
    struct fake_block block;
    uint64_t base = side->type == DRIVER_MEMORY_HOST ? (uintptr_t)side->host
                                                     : side->device;
    if ((side->type != 1 && side->type != 2 && side->type != 4) ||
        side->level || !base)
        return FAKE_INVALID_VALUE;
    size_t pitch = side->pitch ? side->pitch : side->x + copy->width;
    size_t rows = side->height ? side->height : side->y + copy->height;
    if (pitch < side->x + copy->width ||
        (copy->depth > 1 && rows < side->y + copy->height))
        return FAKE_INVALID_VALUE;
    uint64_t start =
        base + side->z * pitch * rows + side->y * pitch + side->x;
    *out = (rnl_place){.pointer = (void *)start,
                       .row_pitch = pitch,
                       .slice_pitch = pitch * rows};
    if (out->slice_pitch < pitch * copy->height)
        out->slice_pitch = pitch * copy->height;
    bool known = fake_block_find(start, 1, &block);
    if (known && !fake_block_find(start, extent_of(copy, out), &block))
        return FAKE_INVALID_VALUE;
    bool device = side->type == 2;
    if (device && !known)
        return FAKE_INVALID_VALUE;
    *out_pageable = !known;
    return FAKE_OK;
}

bool fake_is_ordinary(const void *pointer)
{
    struct fake_block block;
    return !fake_block_find((uintptr_t)pointer, 1, &block);
}

bool fake_is_of_host(const void *pointer)
{
    struct fake_block block;
    return !fake_block_find((uintptr_t)pointer, 1, &block) ||
           block.place == PLACE_HOST || block.place == PLACE_REGISTERED;
}

int fake_copy_convert(const struct driver_copy *from, rnl_copy *to,
                      bool *out_pageable)
{
    bool from_pageable, to_pageable;
    struct side source = from_of(from), target = to_of(from);
    *to = (rnl_copy){.struct_size = sizeof *to,
                     .width = from->width,
                     .height = from->height,
                     .depth = from->depth};
    *out_pageable = false;
    if (!from->width || !from->height || !from->depth) {
        to->width = 0;
        return FAKE_OK;
    }
    int code = side_convert(from, &source, &to->from, &from_pageable);
    if (!code)
        code = side_convert(from, &target, &to->to, &to_pageable);
    if (!code)
        *out_pageable = from_pageable || to_pageable;
    return code;
}

static void drop_staged(rnl_status status, void *user_data)
{
    // What failed may still be read by nobody knows whom.
    if (status == RNL_OK)
        free(user_data);
    else
        fake_strand(user_data);
}

// A small copy from ordinary memory is taken along at the call.
static rnl_status submit_staged(rnl_stream inner, rnl_copy *copy)
{
    void *staged = malloc(copy->width);
    if (!staged)
        return RNL_ERROR_OUT_OF_MEMORY;
    memcpy(staged, copy->from.pointer, copy->width);
    copy->from.pointer = staged;
    rnl_status status = rnl_enqueue_copy_region(inner, copy);
    if (status != RNL_OK) {
        free(staged);
        return status;
    }
    status = rnl_enqueue_host_function(inner, drop_staged, staged);
    if (status != RNL_OK)
        fake_strand(staged);
    return status;
}

static bool is_staged(const rnl_copy *copy)
{
    return copy->height == 1 && copy->depth == 1 &&
           copy->width <= STAGED_MOST && !fake_is_ordinary(copy->to.pointer) &&
           fake_is_ordinary(copy->from.pointer);
}


// Otherwise the driver holds the caller up while a copy touches ordinary
// memory, and while one goes from the host to the host.
static int submit_copy(struct fake_context *context, void *handle,
                       const struct driver_copy *copy)
{
    struct fake_turn turn;
    rnl_stream inner;
    rnl_copy converted;
    bool pageable;
    int code = fake_stream_of(context, handle, &inner);
    if (code || (code = fake_copy_convert(copy, &converted, &pageable)) ||
        converted.width == 0 ||
        (code = fake_turn_take(context, handle, &turn)))
        return code;
    bool within = fake_is_of_host(converted.from.pointer) &&
                  fake_is_of_host(converted.to.pointer);
    bool staged = pageable && !within && is_staged(&converted);
    bool at_once = pageable || within;
    code = fake_turn_give(&turn, false,
                          staged ? submit_staged(inner, &converted)
                                 : rnl_enqueue_copy_region(inner, &converted));
    return code || staged || !at_once ? code
                                      : fake_wait_stream(context, inner);
}

int fake_copy_3d(const struct driver_copy *copy, void *stream)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_copy_3d, &context);
    return code ? code : submit_copy(context, stream, copy);
}

int fake_copy(uint64_t to, uint64_t from, size_t size, void *stream)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_copy, &context);
    struct driver_copy copy = {
        .from_type = DRIVER_MEMORY_UNIFIED,
        .from_device = from,
        .to_type = DRIVER_MEMORY_UNIFIED,
        .to_device = to,
        .width = size,
        .height = 1,
        .depth = 1,
    };
    return code ? code : submit_copy(context, stream, &copy);
}

// --- Fills ----------------------------------------------------------------

int fake_fill_convert(const struct driver_fill_node *from, rnl_fill *to)
{
    struct fake_block block;
    size_t width = from->width * from->element_size;
    size_t pitch = from->height > 1 ? from->pitch : width;
    *to = (rnl_fill){.struct_size = sizeof *to,
                     .to = {.pointer = (void *)from->to, .row_pitch = pitch},
                     .width = width,
                     .height = from->height,
                     .depth = 1,
                     .pattern = from->value,
                     .pattern_size = from->element_size};
    if (from->element_size != 1 && from->element_size != 2 &&
        from->element_size != 4)
        return FAKE_INVALID_VALUE;
    if (width == 0 || from->height == 0) {
        to->width = 0;
        return FAKE_OK;
    }
    if (from->to % from->element_size || pitch < width ||
        pitch % from->element_size ||
        !fake_block_find(from->to, (from->height - 1) * pitch + width, &block))
        return FAKE_INVALID_VALUE;
    return FAKE_OK;
}

static int fill(enum fake_function function,
                const struct driver_fill_node *node, void *stream)
{
    struct fake_context *context;
    struct fake_turn turn;
    rnl_stream inner;
    rnl_fill converted;
    int code = fake_enter(function, &context);
    if (code || (code = fake_stream_of(context, stream, &inner)) ||
        (code = fake_fill_convert(node, &converted)) ||
        converted.width == 0 ||
        (code = fake_turn_take(context, stream, &turn)))
        return code;
    return fake_turn_give(&turn, false,
                          rnl_enqueue_fill_region(inner, &converted));
}

static struct driver_fill_node row(uint64_t to, unsigned value, unsigned size,
                                   size_t count)
{
    return (struct driver_fill_node){to, 0, value, size, count, 1};
}

int fake_fill8(uint64_t to, unsigned char value, size_t count, void *stream)
{
    struct driver_fill_node node = row(to, value, 1, count);
    return fill(FAKE_fill8, &node, stream);
}

int fake_fill16(uint64_t to, unsigned short value, size_t count, void *stream)
{
    struct driver_fill_node node = row(to, value, 2, count);
    return fill(FAKE_fill16, &node, stream);
}

int fake_fill32(uint64_t to, unsigned value, size_t count, void *stream)
{
    struct driver_fill_node node = row(to, value, 4, count);
    return fill(FAKE_fill32, &node, stream);
}

int fake_fill8_2d(uint64_t to, size_t pitch, unsigned char value, size_t width,
                  size_t height, void *stream)
{
    struct driver_fill_node node = {to, pitch, value, 1, width, height};
    return fill(FAKE_fill8_2d, &node, stream);
}

int fake_fill16_2d(uint64_t to, size_t pitch, unsigned short value,
                   size_t width, size_t height, void *stream)
{
    struct driver_fill_node node = {to, pitch, value, 2, width, height};
    return fill(FAKE_fill16_2d, &node, stream);
}

int fake_fill32_2d(uint64_t to, size_t pitch, unsigned value, size_t width,
                   size_t height, void *stream)
{
    struct driver_fill_node node = {to, pitch, value, 4, width, height};
    return fill(FAKE_fill32_2d, &node, stream);
}
