#include "backends/cudalike/stream/copy.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/stream/lowering.h"
#include "backends/cudalike/stream/stream.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/tuning.h"

#include "core/memory/host_memory.h"

#include <string.h>

// --- Choice of the copier --------------------------------------------------

enum residence { ORDINARY, PAGE_LOCKED, DEVICE };

// `owner` is the context of the buffer, whose memory may be page-locked. NULL:
// a raw pointer.
static enum residence residence_of(struct context *context,
                                   const struct context *owner, bool host,
                                   const void *pointer, size_t size)
{
    if (owner)
        return host ? PAGE_LOCKED : DEVICE;
    if (host_range_has(context, (uintptr_t)pointer, size))
        return PAGE_LOCKED;
    int type = gpu_memory_type(gpu_of(context), pointer);
    return type == 0                    ? ORDINARY
           : type == DRIVER_MEMORY_HOST ? PAGE_LOCKED
                                        : DEVICE;
}

static size_t span(const struct op_copy *copy, size_t row, size_t slice)
{
    return (copy->depth - 1) * slice + (copy->height - 1) * row +
           copy->width;
}

// Copies of ordinary memory and copies within the host need the host's help.
// Otherwise, the driver would block the caller until the stream reaches the
// copy.
static enum host_part part_of(struct context *context,
                              const struct op_copy *copy)
{
    enum residence from =
        residence_of(context, copy->from_context, copy->from_host, copy->from,
                     span(copy, copy->from_row, copy->from_slice));
    enum residence to =
        residence_of(context, copy->to_context, copy->to_host, copy->to,
                     span(copy, copy->to_row, copy->to_slice));
    if (from != DEVICE && to != DEVICE)
        return HOST_COPIES;
    if (from == ORDINARY)
        return HOST_READS;
    return to == ORDINARY ? HOST_WRITES : HOST_NOTHING;
}

// Memory that belongs to the operation may be read at the launch already.
enum host_part gpu_host_part(struct context *context, const struct op *op)
{
    enum host_part part = op->kind == OP_COPY ? part_of(context, &op->copy)
                                              : HOST_NOTHING;
    return part == HOST_READS && op->copy.from == op->payload ? HOST_NOTHING
                                                              : part;
}

bool gpu_copy_is_taken_early(struct stream *stream, const struct op *op)
{
    const struct op_copy *copy = &op->copy;
    size_t size = span(copy, copy->from_row, copy->from_slice);
    return size <= PAYLOAD_MOST && copy->to_context && !copy->from_context &&
           (copy->from == op->payload ||
            atomic_load(&stream_timeline(stream)->completed) >=
                atomic_load(&stream->enqueued));
}

bool gpu_copy_needs_host(struct stream *stream, const struct op *op)
{
    struct context *context = stream_context(stream);
    const struct op_copy *copy = &op->copy;
    bool within_device = copy->from_context && !copy->from_host &&
                         copy->to_context && !copy->to_host;
    if (within_device || !host_queue_is_supported(gpu_of(context)))
        return false;  // without a host queue, the driver copies
    enum host_part part = part_of(context, copy);
    return part == HOST_READS ? !gpu_copy_is_taken_early(stream, op)
                              : part != HOST_NOTHING;
}

// --- Copies by the host ------------------------------------------------------

void copy_from_packed(struct op_copy *copy, const char *memory)
{
    copy->from = memory;
    copy->from_row = copy->width;
    copy->from_slice = copy->width * copy->height;
    copy->from_context = NULL;
}

void copy_to_packed(struct op_copy *copy, char *memory)
{
    copy->to = memory;
    copy->to_row = copy->width;
    copy->to_slice = copy->width * copy->height;
    copy->to_context = NULL;
}

void copy_by_host(const struct op_copy *copy)
{
    for (size_t z = 0; z < copy->depth; z++)
        for (size_t y = 0; y < copy->height; y++)
            memcpy(copy->to + z * copy->to_slice + y * copy->to_row,
                   copy->from + z * copy->from_slice + y * copy->from_row,
                   copy->width);
}

// --- Copies, fills and values ------------------------------------------------

// A native stream to which pieces are submitted.
struct taker {
    const struct driver_functions *call;
    void *handle;
    bool begun;  // the driver accepted a piece
};

static int give_row(const struct taker *to, const struct driver_fill_node *fill)
{
    switch (fill->element_size) {
    case 1:
        return to->call->fill8(fill->to, (unsigned char)fill->value,
                               fill->width, to->handle);
    case 2:
        return to->call->fill16(fill->to, (unsigned short)fill->value,
                                fill->width, to->handle);
    default:
        return to->call->fill32(fill->to, fill->value, fill->width,
                                to->handle);
    }
}

static int give_rows(const struct taker *to,
                     const struct driver_fill_node *fill)
{
    switch (fill->element_size) {
    case 1:
        return to->call->fill8_2d(fill->to, fill->pitch,
                                  (unsigned char)fill->value, fill->width,
                                  fill->height, to->handle);
    case 2:
        return to->call->fill16_2d(fill->to, fill->pitch,
                                   (unsigned short)fill->value, fill->width,
                                   fill->height, to->handle);
    default:
        return to->call->fill32_2d(fill->to, fill->pitch, fill->value,
                                   fill->width, fill->height, to->handle);
    }
}

static int give_one(const struct taker *to, struct piece *piece)
{
    switch (piece->kind) {
    case PIECE_COPY:
        return to->call->copy_3d(&piece->copy, to->handle);
    case PIECE_FILL:
        return piece->fill.height == 1 ? give_row(to, &piece->fill)
                                       : give_rows(to, &piece->fill);
    case PIECE_VALUES:
        return to->call->stream_batch(to->handle, piece->values.count,
                                      piece->values.values, 0);
    default:
        return 0;  // kernels are launched (launch.c)
    }
}

static int give_piece(struct piece *piece, void *argument)
{
    struct taker *to = argument;
    int code = give_one(to, piece);
    to->begun |= code == 0;
    return code;
}

int gpu_give(struct context *context, void *handle, const struct op *op,
             bool *out_begun)
{
    struct taker taker = {call_of(gpu_of(context)), handle, false};
    const struct op_copy *copy = &op->copy;
    *out_begun = false;
    if (op->kind == OP_COPY && copy->height == 1 && copy->depth == 1)
        return taker.call->copy((uint64_t)(uintptr_t)copy->to,
                                (uint64_t)(uintptr_t)copy->from, copy->width,
                                handle);
    int code = gpu_op_pieces(context, op, give_piece, &taker);
    *out_begun = taker.begun;
    return code;
}
