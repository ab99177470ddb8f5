#include "core/object/check.h"

#include <string.h>

#define STRUCT_SIZE_MAX 65536  // more than any struct will ever have

rnl_status refuse_null(const char *parameter)
{
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter, "'%s' is NULL",
                   parameter);
}

static rnl_status refuse_size(const char *parameter, size_t given, size_t known)
{
    return fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter,
                   "'%s' has a struct_size of %zu where this library knows "
                   "%zu bytes: make it with its macro or set struct_size",
                   parameter, given, known);
}

rnl_status options_read(void *options, size_t size, const void *given,
                        const char *parameter)
{
    size_t given_size = 0;
    if (given)
        memcpy(&given_size, given, sizeof given_size);
    if (given_size == size) {  // the usual case
        memcpy(options, given, size);
        return RNL_OK;
    }
    memset(options, 0, size);
    memcpy(options, &size, sizeof size);
    if (!given)
        return RNL_OK;
    if (given_size < sizeof given_size || given_size > STRUCT_SIZE_MAX)
        return refuse_size(parameter, given_size, size);
    const unsigned char *bytes = given;
    for (size_t i = size; i < given_size; i++)
        if (bytes[i] != 0)
            return fail_at(RNL_ERROR_UNSUPPORTED, parameter,
                           "'%s' asks for something that is newer than this "
                           "library",
                           parameter);
    memcpy(options, given, given_size < size ? given_size : size);
    memcpy(options, &size, sizeof size);
    return RNL_OK;
}

rnl_status info_check(const void *out, size_t size, const char *parameter)
{
    size_t room;
    rnl_status status = check_pointer(out, parameter);
    if (status != RNL_OK)
        return status;
    memcpy(&room, out, sizeof room);
    return room < sizeof room || room > STRUCT_SIZE_MAX
               ? refuse_size(parameter, room, size)
               : RNL_OK;
}

rnl_status info_write(void *out, const void *info, size_t size,
                      const char *parameter)
{
    size_t room;
    rnl_status status = info_check(out, size, parameter);
    if (status != RNL_OK)
        return status;
    memcpy(&room, out, sizeof room);
    size_t filled = room < size ? room : size;
    memcpy(out, info, filled);
    memset((char *)out + filled, 0, room - filled);
    memcpy(out, &filled, sizeof filled);
    return RNL_OK;
}
