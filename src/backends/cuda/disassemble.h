// SASS, the text of a cubin's machine code, by the toolkit's nvdisasm.
#pragma once

#include "backends/cuda/nvrtc.h"

// Fills `out_code` with what nvdisasm makes of `cubin`, within `timeout_ns`. It
// is looked for each time. RNL_ERROR_UNSUPPORTED lists the folders where there
// is none, and says what went wrong where one does not understand the cubin.
rnl_status cuda_disassemble(const struct nvrtc_place *place,
                            uint64_t timeout_ns, const struct text *cubin,
                            struct text *out_code);
