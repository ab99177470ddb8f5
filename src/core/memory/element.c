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

size_t rnl_element_size(rnl_element element)
{
    static const unsigned char sizes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4,
                                          8};
    return (unsigned)element <= RNL_ELEMENT_FLOAT64 ? sizes[element] : 0;
}

const char *element_name(rnl_element element)
{
    return names[element];
}
