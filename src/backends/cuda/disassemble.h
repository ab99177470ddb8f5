// SASS, the text of a cubin's machine code, by the toolkit's nvdisasm.
#pragma once

#include "backends/cuda/nvrtc.h"

// Fills `out_code` with nvdisasm's output for `cubin`, within `timeout_ns`.
// Each call looks for nvdisasm again. If no folder has nvdisasm,
// RNL_ERROR_UNSUPPORTED lists the folders; if nvdisasm fails on the cubin, the
// error gives the reason.
rnl_status cuda_disassemble(const struct nvrtc_place *place,
                            uint64_t timeout_ns, const struct text *cubin,
                            struct text *out_code);
