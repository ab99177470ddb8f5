// The instruction sets of the processor at hand.
#pragma once

#include <stdint.h>

// The name of a missing instruction set of an object's `processor`
// (<runnel/cpu_object.h>), or NULL.
const char *cpu_features_missing(uint64_t needed);
