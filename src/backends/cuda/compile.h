// Kernel source to what the driver loads, by NVRTC.
#pragma once

#include "core/backend.h"

// For whom source is compiled.
struct cuda_target {
    int major, minor;     // compute capability
    int driver_version;   // 12080
    const char *beside;   // the driver's file, or NULL
    struct gpu_context *assembler;  // whose driver can begin kernels early, if
                                    // they wait by themselves; or NULL
};

// What the outcome depends on besides the source.
rnl_status cuda_identity(const struct cuda_target *target, char *text,
                         size_t size);

// Loads NVRTC and describes it: path, version and target.
rnl_status cuda_compiler_info(const struct cuda_target *target,
                              rnl_compiler_info *out_info);

// Compiles to what image.h describes.
rnl_status cuda_compile(const struct cuda_target *target,
                        const struct source *source,
                        struct compiled_binary *out_binary);
