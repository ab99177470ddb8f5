// Elements of buffers, and those that kernels take.
#pragma once

#include "core/core.h"

// Refuses a number that is no rnl_element.
rnl_status element_check(rnl_element element, const char *parameter);

// Refuses a buffer for the function's parameter `index` if the elements of both
// are known and do not fit.
rnl_status element_compare(const struct function *function, size_t index,
                           const struct buffer *buffer);
