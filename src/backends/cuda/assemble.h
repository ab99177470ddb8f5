// PTX to code, by the driver's assembler.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// `ptx` ends in a zero. *out, which is empty, stays so when that fails.
void cuda_assemble(struct gpu_context *gpu, const char *ptx, struct text *out);
