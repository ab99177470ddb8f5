// What a text of PTX says about kernels and variables, and kernels that wait.
#pragma once

#include "backends/cudalike/driver/image.h"

// Adds the kernels with their parameters, and the variables, of a PTX text that
// ends in a zero. A text that is not as it should be gives what was understood:
// the driver's assembler has the last word.
void ptx_read(const char *text, struct image_maker *maker);

// Writes the text with kernels that begin by waiting until all is over, and to
// be seen, that their launch comes after: such a launch may begin early. False
// where that would be wrong or slow.
bool ptx_wait_first(const char *text, struct text *out);
