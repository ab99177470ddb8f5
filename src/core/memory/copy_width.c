// RNL_WHOLE as the width of a copy or fill.
#include "core/memory/copy.h"
#include "core/object/buffer_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"

static rnl_status check_line(size_t height, size_t depth)
{
    return height <= 1 && depth <= 1
               ? RNL_OK
               : fail_at(RNL_ERROR_INVALID_ARGUMENT, "width",
                         "RNL_WHOLE is a size of one dimension; a copy or fill "
                         "of rows has a width in bytes");
}

// The bytes of the buffer behind the offset. `*has` says whether there is a
// buffer.
static rnl_status rest_of(const rnl_place *place, const char *name, bool *has,
                          size_t *out_rest)
{
    *out_rest = RNL_WHOLE;
    *has = place->buffer != NULL;
    if (!*has)
        return RNL_OK;
    struct object *object = object_find_ref(place->buffer, OBJECT_BUFFER);
    if (!object)
        return object_refuse(place->buffer, OBJECT_BUFFER, name);
    rnl_status status = buffer_take_range((struct buffer *)object,
                                          place->offset, out_rest, name);
    object_unref(object);
    return status;
}

static rnl_status refuse_pointers(void)
{
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, "size",
                   "RNL_WHOLE is the rest of a buffer, and none is given; a "
                   "size of raw pointers is a number of bytes");
}

rnl_status whole_copy_width(const rnl_copy *copy, size_t *out_width)
{
    bool to_buffer, from_buffer;
    size_t to, from;
    rnl_status status = check_line(copy->height, copy->depth);
    if (status != RNL_OK ||
        (status = rest_of(&copy->to, "to", &to_buffer, &to)) ||
        (status = rest_of(&copy->from, "from", &from_buffer, &from)))
        return status;
    if (!to_buffer && !from_buffer)
        return refuse_pointers();
    if (to_buffer && from_buffer && to != from)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "size",
                       "RNL_WHOLE needs rests of one size: behind its offset "
                       "'to' has %zu bytes and 'from' has %zu; give the "
                       "smaller number to copy that many",
                       to, from);
    *out_width = to_buffer ? to : from;
    return RNL_OK;
}

rnl_status whole_fill_width(const rnl_fill *fill, size_t *out_width)
{
    bool has;
    rnl_status status = check_line(fill->height, fill->depth);
    if (status != RNL_OK ||
        (status = rest_of(&fill->to, "to", &has, out_width)))
        return status;
    return has ? RNL_OK : refuse_pointers();
}
