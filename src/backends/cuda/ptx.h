// Kernels and variables in the text of PTX, and kernels that wait.
#pragma once

#include "backends/cudalike/driver/image.h"

// Adds the kernels with their parameters, and the variables, of a PTX text that
// ends in a zero. From a faulty text the function adds all that is understood;
// the driver's assembler reports the fault.
void ptx_read(const char *text, struct image_maker *maker);

// Writes the text with kernels that begin by waiting until all work before
// their launch is over and visible. Launches of these kernels may begin early.
// False if the wait would be wrong or slow.
bool ptx_wait_first(const char *text, struct text *out);
