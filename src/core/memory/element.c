#include "core/memory/buffer.h"
#include "base/fail.h"

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

const char *element_name(rnl_element element)
{
    return names[element];
}
