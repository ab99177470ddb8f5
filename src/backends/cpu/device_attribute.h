// Device attributes of the cpu backend.
#pragma once

#include "core/backend.h"

extern const struct backend cpu_backend;

// Attributes that the info does not have (attribute.c).
rnl_status cpu_device_attribute(uint32_t index, rnl_attribute id,
                                int64_t *out_value);
