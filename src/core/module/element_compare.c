// Whether a buffer's elements are what a parameter points to.
#include "core/memory/buffer.h"
#include "core/module/function.h"
#include "core/module/launch.h"
#include "core/object/buffer_object.h"
#include "core/object/object.h"

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
        index + 1, function->name, element_name(buffer->element),
        parameter->type[0] ? parameter->type : "of unnamed type",
        element_name(parameter->element),
        element_name(parameter->element));
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
