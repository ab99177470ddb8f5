// From PTX to code, by the driver's assembler.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// `ptx` ends in a zero. `*out` is empty before the call, and stays empty if the
// assembler fails.
void cuda_assemble(struct gpu_context *gpu, const char *ptx, struct text *out);
