#include "core/memory/buffer.h"
#include "core/module/function.h"
#include "core/module/launch.h"
#include "core/object/buffer_object.h"
#include "core/object/object.h"

#include <stdio.h>

static const char *const names[] = {
    "unknown elements", "int8_t", "uint8_t", "int16_t", "uint16_t",
    "int32_t", "uint32_t", "int64_t", "uint64_t", "half", "bfloat16", "float",
    "double",
};

rnl_status element_check(rnl_element element, const char *parameter)
{
    return (unsigned)element <= RNL_ELEMENT_FLOAT64
               ? RNL_OK
               : fail_at(RNL_ERROR_INVALID_ARGUMENT, parameter,
                         "'%s.element' is %d, which is no rnl_element",
                         parameter, (int)element);
}

static bool is_free(rnl_element element)
{
    return element <= RNL_ELEMENT_UINT8;
}

// Integers of a size form a group; each further kind forms its own group.
static unsigned group_of(rnl_element element)
{
    return element <= RNL_ELEMENT_UINT64 ? (element + 1) & ~1u : element;
}

static rnl_status refuse(const struct function *function, size_t index,
                         const struct buffer *buffer)
{
    const rnl_parameter *parameter = &function->parameters[index];
    char described[192];
    rnl_status status = fail_at(
        RNL_ERROR_ARGUMENT_MISMATCH, "args",
        "argument %zu of %s is a buffer of %s, but the parameter (%s) points "
        "to %s: pass a buffer of %s, or make this one with "
        "RNL_ELEMENT_UNKNOWN if its bytes are meant",
        index + 1, function->name, names[buffer->element],
        parameter->type[0] ? parameter->type : "of unnamed type",
        names[parameter->element], names[parameter->element]);
    fail_set_object("%s", object_describe(&buffer->object, described,
                                          sizeof described));
    return status;
}

rnl_status element_compare(const struct function *function, size_t index,
                           const struct buffer *buffer)
{
    const rnl_element wanted = function->parameters[index].element;
    return is_free(wanted) || is_free(buffer->element) ||
                   group_of(wanted) == group_of(buffer->element)
               ? RNL_OK
               : refuse(function, index, buffer);
}
