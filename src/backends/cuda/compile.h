// From kernel source to an image that the driver loads, by NVRTC.
#pragma once

#include "core/backend.h"

// The device for which source is compiled.
struct cuda_target {
    int major, minor;     // compute capability
    int driver_version;   // for example 12080
    const char *beside;   // the driver's file, or NULL
    struct gpu_context *assembler;  // whose driver can start a waiting kernel
                                    // early; or NULL
};

// All that the output depends on besides the source, as text.
rnl_status cuda_identity(const struct cuda_target *target, char *text,
                         size_t size);

// Loads NVRTC and describes the library: path, version and target.
rnl_status cuda_compiler_info(const struct cuda_target *target,
                              rnl_compiler_info *out_info);

// Compiles to a binary as in image.h. NVRTC gets the options as given;
// read_options adds the architecture, unless an option names a target, and the
// toolkit's include folders. The core has refused all options outside of
// compiler/option_table.h before (core/module/module_option.c).
rnl_status cuda_compile(const struct cuda_target *target,
                        const struct source *source,
                        struct compiled_binary *out_binary);
