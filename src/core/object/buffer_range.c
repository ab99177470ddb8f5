// Ranges of buffers.
#include "core/object/buffer_object.h"

rnl_status buffer_take_range(const struct buffer *buffer, size_t offset,
                             size_t *size, const char *parameter)
{
    if (offset <= buffer->size && *size == RNL_WHOLE)
        *size = buffer->size - offset;
    if (offset <= buffer->size && *size <= buffer->size - offset)
        return RNL_OK;
    if (*size == RNL_WHOLE)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, parameter,
                       "the offset %zu leaves the buffer of %zu bytes, which "
                       "has no rest from there",
                       offset, buffer->size);
    return fail_at(RNL_ERROR_OUT_OF_RANGE, parameter,
                   "%zu bytes from %zu leave the buffer of %zu bytes", *size,
                   offset, buffer->size);
}
