// What a text of PTX says about kernels and variables.
#pragma once

#include "backends/cudalike/image.h"

// Adds the kernels with their parameters, and the variables, of a PTX text that
// ends in a zero. A text that is not as it should be gives what was understood:
// the driver's assembler has the last word.
void ptx_read(const char *text, struct image_maker *maker);
