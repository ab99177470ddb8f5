// AMD's code objects: ELF files with a note that describes their kernels.
#pragma once

#include "backends/cudalike/driver/image.h"

// Adds the kernels of a code object and their parameters. Stops at what it does
// not understand. The sections lie within the bytes.
void code_object_read(const void *data, size_t size, struct image_maker *maker);
