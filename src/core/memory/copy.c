#include "core/memory/copy.h"

#include "core/backend.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/pool_state.h"
#include "core/stream/capture.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <string.h>

// A resolved end of a copy or fill.
struct end {
    char *address;
    struct object *kept;      // a buffer, referenced
    struct context *context;  // of the buffer; NULL for a raw pointer
    bool host;                // a buffer of page-locked memory
    size_t row, slice;        // pitches, filled in
    size_t extent;            // bytes from first to last
};

// --- Checks ----------------------------------------------------------------

// Bytes from the first to the last one touched; false when that overflows.
static bool extent_of(const struct end *end, size_t width, size_t height,
                      size_t depth, size_t *out_extent)
{
    size_t slices, sum;
    size_t rows = (height - 1) * end->row;  // fewer than were packed
    if (__builtin_mul_overflow(depth - 1, end->slice, &slices) ||
        __builtin_add_overflow(rows, slices, &sum))
        return false;
    return !__builtin_add_overflow(sum, width, out_extent);
}

static rnl_status pitches(const rnl_place *place, const size_t size[3],
                          const char *name, struct end *end)
{
    size_t packed;
    end->row = place->row_pitch ? place->row_pitch : size[0];
    if (end->row < size[0])
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, name,
                       "the row pitch %zu of '%s' is less than the width %zu",
                       end->row, name, size[0]);
    if (!mem_array_size(size[1], end->row, &packed))
        return fail_at(RNL_ERROR_OUT_OF_RANGE, name,
                       "the size of '%s' overflows", name);
    end->slice = place->slice_pitch ? place->slice_pitch : packed;
    if (end->slice < packed)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, name,
                       "the slice pitch %zu of '%s' is less than its %zu rows "
                       "of %zu bytes",
                       end->slice, name, size[1], end->row);
    if (!extent_of(end, size[0], size[1], size[2], &end->extent))
        return fail_at(RNL_ERROR_OUT_OF_RANGE, name,
                       "the size of '%s' overflows", name);
    return RNL_OK;
}

static rnl_status resolve_buffer(struct stream *stream, const rnl_place *place,
                                 const char *name, struct end *end)
{
    struct object *object = object_find_ref(place->buffer, OBJECT_BUFFER);
    if (!object)
        return object_refuse(place->buffer, OBJECT_BUFFER, name);
    struct buffer *buffer = (struct buffer *)object;
    rnl_status status = RNL_OK;
    if (buffer->backend != stream->backend)
        status = fail_at(RNL_ERROR_INVALID_HANDLE, name,
                         "'%s' is a buffer of %s, the stream is of %s", name,
                         buffer->backend->api, stream->backend->api);
    else if (place->offset > buffer->size ||
             end->extent > buffer->size - place->offset)
        status = fail_at(RNL_ERROR_OUT_OF_RANGE, name,
                         "%zu bytes from %zu leave '%s', a buffer of %zu "
                         "bytes",
                         end->extent, place->offset, name, buffer->size);
    if (status != RNL_OK) {
        char text[160];
        fail_set_object("%s", object_describe(object, text, sizeof text));
        object_unref(object);
        return status;
    }
    end->kept = object;
    end->context = object->context;
    end->host = buffer->kind == RNL_MEMORY_HOST;
    end->address = (char *)buffer->memory.device + place->offset;
    return RNL_OK;
}

static rnl_status resolve_pointer(const rnl_place *place, const char *name,
                                  struct end *end)
{
    uintptr_t start, last;
    if (!place->pointer)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, name,
                       "'%s' has neither a buffer nor a pointer", name);
    if (__builtin_add_overflow((uintptr_t)place->pointer, place->offset,
                               &start) ||
        __builtin_add_overflow(start, end->extent, &last))
        return fail_at(RNL_ERROR_OUT_OF_RANGE, name,
                       "'%s' leaves the address space", name);
    end->address = (char *)start;
    return RNL_OK;
}

// On success the end holds a reference to its buffer.
static rnl_status resolve(struct stream *stream, const rnl_place *place,
                          const size_t size[3], const char *name,
                          struct end *end)
{
    *end = (struct end){0};
    if (place->buffer && place->pointer)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, name,
                       "'%s' has both a buffer and a pointer", name);
    rnl_status status = pitches(place, size, name, end);
    if (status != RNL_OK)
        return status;
    return place->buffer ? resolve_buffer(stream, place, name, end)
                         : resolve_pointer(place, name, end);
}

static void end_drop(struct end *end)
{
    if (end->kept)
        object_unref(end->kept);
}

// Rows of two regions with one pitch may interleave without touching.
static bool rows_interleave(const struct end *to, const struct end *from,
                            size_t width)
{
    if (to->row != from->row || to->slice != from->slice ||
        to->slice % to->row != 0)
        return false;
    size_t distance = to->address > from->address
                          ? (size_t)(to->address - from->address)
                          : (size_t)(from->address - to->address);
    size_t shift = distance % to->row;
    return shift >= width && to->row - shift >= width;
}

static rnl_status check_overlap(const struct end *to, const struct end *from,
                                size_t width)
{
    if (to->address + to->extent <= from->address ||
        from->address + from->extent <= to->address ||
        rows_interleave(to, from, width))
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "to",
                   "source and destination of the copy overlap");
}

// --- Copies ----------------------------------------------------------------

static void shape(size_t width, size_t height, size_t depth, size_t size[3])
{
    size[0] = width;
    size[1] = height ? height : 1;
    size[2] = depth ? depth : 1;
}

// A handle is checked even when there is nothing to copy.
static rnl_status check_empty_place(const rnl_place *place, const char *name)
{
    if (!place->buffer)
        return RNL_OK;
    struct object *object = object_find_ref(place->buffer, OBJECT_BUFFER);
    if (!object)
        return object_refuse(place->buffer, OBJECT_BUFFER, name);
    size_t size = ((struct buffer *)object)->size;
    object_unref(object);
    if (place->offset > size)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, name,
                       "the offset %zu leaves '%s', a buffer of %zu bytes",
                       place->offset, name, size);
    return RNL_OK;
}

static struct op *copy_op(struct stream *stream, const size_t size[3],
                          const struct end *to, const struct end *from)
{
    struct op *op = op_create(stream, OP_COPY, 0);
    if (!op)
        return NULL;
    op->copy = (struct op_copy){
        .to = to->address, .from = from->address,
        .width = size[0], .height = size[1], .depth = size[2],
        .to_row = to->row, .to_slice = to->slice,
        .from_row = from->row, .from_slice = from->slice,
        .to_context = to->context, .from_context = from->context,
        .to_host = to->host, .from_host = from->host,
    };
    if (to->kept)
        op->kept[op->kept_count++] = to->kept;
    if (from->kept)
        op->kept[op->kept_count++] = from->kept;
    return op;
}

rnl_status make_copy_op(struct stream *stream, const rnl_copy *copy,
                        struct op **out_op)
{
    size_t size[3], width = copy->width;
    struct end to, from;
    rnl_status status = RNL_OK;
    *out_op = NULL;
    if (__builtin_expect(width == RNL_WHOLE, 0) &&
        (status = whole_copy_width(copy, &width)))
        return status;
    if (width == 0) {
        status = check_empty_place(&copy->to, "to");
        return status ? status : check_empty_place(&copy->from, "from");
    }
    shape(width, copy->height, copy->depth, size);
    status = resolve(stream, &copy->to, size, "to", &to);
    if (status != RNL_OK)
        return status;
    status = resolve(stream, &copy->from, size, "from", &from);
    if (status != RNL_OK)
        goto drop_to;
    status = check_overlap(&to, &from, size[0]);
    if (status != RNL_OK)
        goto drop_from;
    *out_op = copy_op(stream, size, &to, &from);
    if (*out_op)
        return RNL_OK;
    status = RNL_ERROR_OUT_OF_MEMORY;

drop_from:
    end_drop(&from);
drop_to:
    end_drop(&to);
    return status;
}

static rnl_status stream_for_work(rnl_stream handle, struct stream **out)
{
    rnl_status status = check_stream(handle, "stream", out);
    return status ? status : stream_check_failure(*out);
}

// The rest of a call whose arguments are good; takes the op over, which may be
// NULL.
static rnl_status submit_work(struct stream *stream, rnl_stream handle,
                              struct op *op, bool wait)
{
    if (!wait)
        return op ? op_submit(op) : RNL_OK;
    rnl_status status = capture_check_stream(stream);
    if (status != RNL_OK && op)
        op_finish(op);
    if (status != RNL_OK)
        return status;
    return op ? op_submit_and_wait(op) : stream_wait_handle(handle);
}

static rnl_status enqueue_copy(rnl_stream handle, const rnl_copy *copy,
                               bool wait)
{
    struct stream *stream;
    struct op *op;
    CALL status = stream_for_work(handle, &stream);
    if (status != RNL_OK || (status = make_copy_op(stream, copy, &op)))
        return status;
    return submit_work(stream, handle, op, wait);
}

rnl_status copy_submit(struct stream *stream, void *to, const void *from,
                       size_t size)
{
    const size_t sizes[3] = {size, 1, 1};
    struct end ends[2] = {{.address = to, .row = size, .slice = size},
                          {.address = (char *)(uintptr_t)from,
                           .row = size,
                           .slice = size}};
    struct op *op = copy_op(stream, sizes, &ends[0], &ends[1]);
    return op ? op_submit(op) : RNL_ERROR_OUT_OF_MEMORY;
}

static rnl_copy plain_copy(rnl_place to, rnl_place from, size_t size)
{
    return (rnl_copy){
        .struct_size = sizeof(rnl_copy), .to = to, .from = from, .width = size};
}

static rnl_place at(const void *pointer)
{
    return (rnl_place){.pointer = (void *)(uintptr_t)pointer};
}

static rnl_place in(rnl_buffer buffer, size_t offset)
{
    return (rnl_place){.buffer = buffer, .offset = offset};
}

// A place of the buffer forms needs its buffer.
static rnl_status need_buffer(rnl_buffer buffer, const char *name)
{
    return buffer ? RNL_OK : object_refuse(buffer, OBJECT_BUFFER, name);
}

static rnl_status copy_pointers(rnl_stream stream, void *to, const void *from,
                                size_t size, bool wait)
{
    rnl_copy copy = plain_copy(at(to), at(from), size);
    return enqueue_copy(stream, &copy, wait);
}

static rnl_status copy_to_buffer(rnl_stream stream, rnl_place to,
                                 const void *from, size_t size, bool wait)
{
    rnl_copy copy = plain_copy(to, at(from), size);
    rnl_status status = need_buffer(to.buffer, "to");
    return status ? status : enqueue_copy(stream, &copy, wait);
}

static rnl_status copy_from_buffer(rnl_stream stream, void *to, rnl_place from,
                                   size_t size, bool wait)
{
    rnl_copy copy = plain_copy(at(to), from, size);
    rnl_status status = need_buffer(from.buffer, "from");
    return status ? status : enqueue_copy(stream, &copy, wait);
}

static rnl_status copy_buffer(rnl_stream stream, rnl_place to, rnl_place from,
                              size_t size, bool wait)
{
    rnl_copy copy = plain_copy(to, from, size);
    rnl_status status = need_buffer(to.buffer, "to");
    if (status != RNL_OK || (status = need_buffer(from.buffer, "from")))
        return status;
    return enqueue_copy(stream, &copy, wait);
}

static rnl_status copy_region(rnl_stream stream, const rnl_copy *given,
                              bool wait)
{
    rnl_copy copy;
    rnl_status status = check_pointer(given, "copy");
    if (status != RNL_OK ||
        (status = options_read(&copy, sizeof copy, given, "copy")))
        return status;
    return enqueue_copy(stream, &copy, wait);
}

// --- Public ----------------------------------------------------------------

rnl_status rnl_enqueue_copy(rnl_stream stream, void *to, const void *from,
                            size_t size)
{
    rnl_status status = ENTER();
    return status ? status : copy_pointers(stream, to, from, size, false);
}

rnl_status rnl_copy_and_wait(rnl_stream stream, void *to, const void *from,
                             size_t size)
{
    rnl_status status = ENTER();
    return status ? status : copy_pointers(stream, to, from, size, true);
}

rnl_status rnl_enqueue_copy_to_buffer(rnl_stream stream, rnl_buffer to,
                                      size_t offset, const void *from,
                                      size_t size)
{
    rnl_status status = ENTER();
    return status ? status
                  : copy_to_buffer(stream, in(to, offset), from, size, false);
}

rnl_status rnl_copy_to_buffer_and_wait(rnl_stream stream, rnl_buffer to,
                                       size_t offset, const void *from,
                                       size_t size)
{
    rnl_status status = ENTER();
    return status ? status
                  : copy_to_buffer(stream, in(to, offset), from, size, true);
}

rnl_status rnl_enqueue_copy_from_buffer(rnl_stream stream, void *to,
                                        rnl_buffer from, size_t offset,
                                        size_t size)
{
    rnl_status status = ENTER();
    return status ? status
                  : copy_from_buffer(stream, to, in(from, offset), size,
                                     false);
}

rnl_status rnl_copy_from_buffer_and_wait(rnl_stream stream, void *to,
                                         rnl_buffer from, size_t offset,
                                         size_t size)
{
    rnl_status status = ENTER();
    return status ? status
                  : copy_from_buffer(stream, to, in(from, offset), size, true);
}

rnl_status rnl_enqueue_copy_buffer(rnl_stream stream, rnl_buffer to,
                                   size_t to_offset, rnl_buffer from,
                                   size_t from_offset, size_t size)
{
    rnl_status status = ENTER();
    return status ? status
                  : copy_buffer(stream, in(to, to_offset),
                                in(from, from_offset), size, false);
}

rnl_status rnl_copy_buffer_and_wait(rnl_stream stream, rnl_buffer to,
                                    size_t to_offset, rnl_buffer from,
                                    size_t from_offset, size_t size)
{
    rnl_status status = ENTER();
    return status ? status
                  : copy_buffer(stream, in(to, to_offset),
                                in(from, from_offset), size, true);
}

rnl_status rnl_enqueue_copy_region(rnl_stream stream, const rnl_copy *copy)
{
    rnl_status status = ENTER();
    return status ? status : copy_region(stream, copy, false);
}

rnl_status rnl_copy_region_and_wait(rnl_stream stream, const rnl_copy *copy)
{
    rnl_status status = ENTER();
    return status ? status : copy_region(stream, copy, true);
}

// --- Constants -------------------------------------------------------------

rnl_status make_constant_op(struct stream *stream, struct function *function,
                            const rnl_constant *constant, struct op **out_op)
{
    struct memory memory;
    size_t size;
    if (!constant->symbol || (constant->size > 0 && !constant->data))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "constants",
                       "the '%s' of a constant is NULL",
                       constant->symbol ? "data" : "symbol");
    if (!function->module)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "constants",
                       "%s is a native function and has no constants",
                       function->name);
    struct module *module = function->module;
    rnl_status status = module->backend->module_global(
        module, constant->symbol, &memory, &size);
    if (status != RNL_OK)
        return fail_at(status, "constants",
                       "the module of %s has no variable '%s'", function->name,
                       constant->symbol);
    if (constant->size > size)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, "constants",
                       "%zu bytes do not fit into '%s', which has %zu",
                       constant->size, constant->symbol, size);
    // The symbol's name follows the bytes, for rnl_graph_get_node_params.
    struct op *op = op_create(stream, OP_COPY,
                              constant->size + strlen(constant->symbol) + 1);
    if (!op)
        return RNL_ERROR_OUT_OF_MEMORY;
    if (constant->size > 0)
        memcpy(op->payload, constant->data, constant->size);
    strcpy((char *)op->payload + constant->size, constant->symbol);
    op->copy = (struct op_copy){
        .to = memory.device, .from = op->payload, .width = constant->size,
        .height = 1, .depth = 1, .to_context = module->object.context,
    };
    object_ref(&module->object);
    op->kept[op->kept_count++] = &module->object;
    *out_op = op;
    return RNL_OK;
}

// --- Batch -----------------------------------------------------------------

// The array's stride is the caller's struct_size, so it can be of any version.
rnl_status rnl_enqueue_copy_batch(rnl_stream handle, const rnl_copy *copies,
                                  size_t count)
{
    struct stream *stream;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = stream_for_work(handle, &stream)) ||
        (count > 0 && (status = check_pointer(copies, "copies"))))
        return status;
    struct op *first = NULL, **last = &first;
    const char *given = (const char *)copies;
    for (size_t i = 0; i < count; i++) {
        rnl_copy copy;
        struct op *op = NULL;
        status = options_read(&copy, sizeof copy, given, "copies");
        if (status != RNL_OK || (status = make_copy_op(stream, &copy, &op))) {
            op_finish_list(first);
            return status;
        }
        given += copies->struct_size;
        *last = op;
        last = op ? &op->next : last;
    }
    return op_submit_list(first);
}

// --- Fills -----------------------------------------------------------------

static rnl_status check_pattern(const rnl_fill *fill, const size_t size[3])
{
    size_t unit = fill->pattern_size;
    if (unit != 1 && unit != 2 && unit != 4 && unit != 8)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "pattern_size",
                       "a pattern has 1, 2, 4 or 8 bytes, not %zu", unit);
    size_t slice = size[2] > 1 ? fill->to.slice_pitch : 0;
    bool steps = size[1] > 1 || (size[2] > 1 && slice == 0);
    size_t row = steps ? fill->to.row_pitch : 0;
    uintptr_t start = (uintptr_t)fill->to.pointer + fill->to.offset;
    if (size[0] % unit || row % unit || slice % unit || start % unit)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "pattern_size",
                       "offset, size and pitches of the fill are not all "
                       "multiples of the pattern's %zu bytes",
                       unit);
    return RNL_OK;
}

static struct op *fill_op(struct stream *stream, const rnl_fill *fill,
                          const size_t size[3], const struct end *to)
{
    struct op *op = op_create(stream, OP_FILL, 0);
    if (!op)
        return NULL;
    op->fill = (struct op_fill){
        .to = to->address,
        .width = size[0], .height = size[1], .depth = size[2],
        .row = to->row, .slice = to->slice,
        .pattern = fill->pattern, .pattern_size = fill->pattern_size,
    };
    if (to->kept)
        op->kept[op->kept_count++] = to->kept;
    return op;
}

rnl_status make_fill_op(struct stream *stream, const rnl_fill *fill,
                        struct op **out_op)
{
    struct end to;
    size_t size[3], width = fill->width;
    rnl_status status = RNL_OK;
    *out_op = NULL;
    if (__builtin_expect(width == RNL_WHOLE, 0) &&
        (status = whole_fill_width(fill, &width)))
        return status;
    shape(width, fill->height, fill->depth, size);
    status = check_pattern(fill, size);
    if (status != RNL_OK)
        return status;
    if (width == 0)
        return check_empty_place(&fill->to, "to");
    if ((status = resolve(stream, &fill->to, size, "to", &to)))
        return status;
    *out_op = fill_op(stream, fill, size, &to);
    if (*out_op)
        return RNL_OK;
    end_drop(&to);
    return RNL_ERROR_OUT_OF_MEMORY;
}

static rnl_status enqueue_fill(rnl_stream handle, const rnl_fill *fill,
                               bool wait)
{
    struct stream *stream;
    struct op *op;
    CALL status = stream_for_work(handle, &stream);
    if (status != RNL_OK || (status = make_fill_op(stream, fill, &op)))
        return status;
    return submit_work(stream, handle, op, wait);
}

rnl_status fill_submit(struct stream *stream, struct buffer *buffer,
                       size_t size)
{
    const size_t sizes[3] = {size, 1, 1};
    rnl_fill fill = {.pattern_size = 1};
    struct end to = {.address = buffer->memory.device, .row = size,
                     .slice = size, .kept = &buffer->object};
    struct op *op = fill_op(stream, &fill, sizes, &to);
    if (!op)
        return RNL_ERROR_OUT_OF_MEMORY;
    object_ref(&buffer->object);
    return op_submit(op);
}

// A fill of one line.
static rnl_fill plain_fill(rnl_place to, size_t size, uint64_t pattern,
                           size_t pattern_size)
{
    return (rnl_fill){.struct_size = sizeof(rnl_fill), .to = to, .width = size,
                      .pattern = pattern, .pattern_size = pattern_size};
}

static rnl_status fill_buffer(rnl_stream stream, const rnl_fill *fill,
                              bool wait)
{
    rnl_status status = need_buffer(fill->to.buffer, "to");
    return status ? status : enqueue_fill(stream, fill, wait);
}

rnl_status rnl_enqueue_fill(rnl_stream stream, rnl_buffer to, size_t offset,
                            size_t size, uint64_t pattern, size_t pattern_size)
{
    rnl_fill fill = plain_fill(in(to, offset), size, pattern, pattern_size);
    rnl_status status = ENTER();
    return status ? status : fill_buffer(stream, &fill, false);
}

rnl_status rnl_fill_and_wait(rnl_stream stream, rnl_buffer to, size_t offset,
                             size_t size, uint64_t pattern,
                             size_t pattern_size)
{
    rnl_fill fill = plain_fill(in(to, offset), size, pattern, pattern_size);
    rnl_status status = ENTER();
    return status ? status : fill_buffer(stream, &fill, true);
}

static rnl_status fill_region(rnl_stream stream, const rnl_fill *given,
                              bool wait)
{
    rnl_fill fill;
    rnl_status status = check_pointer(given, "fill");
    if (status != RNL_OK ||
        (status = options_read(&fill, sizeof fill, given, "fill")))
        return status;
    return enqueue_fill(stream, &fill, wait);
}

rnl_status rnl_enqueue_fill_region(rnl_stream stream, const rnl_fill *fill)
{
    rnl_status status = ENTER();
    return status ? status : fill_region(stream, fill, false);
}

rnl_status rnl_fill_region_and_wait(rnl_stream stream, const rnl_fill *fill)
{
    rnl_status status = ENTER();
    return status ? status : fill_region(stream, fill, true);
}
