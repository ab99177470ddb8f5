// The instruction sets of the processor at hand.
#pragma once

#include <stdint.h>

// The name of one that is missing among those of an object's `processor`
// (<runnel/cpu_object.h>), or NULL.
const char *processor_lacks(uint64_t needed);
