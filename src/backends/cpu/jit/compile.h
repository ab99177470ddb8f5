// Kernel source to cpu object, by the program runnel-cc.
#pragma once

#include "core/backend.h"

// Hooks of core/backend.h by the same names; the first two are a single hook
// there.
rnl_status cpu_compiler_identity(struct context *context, char *text,
                                 size_t size);
rnl_status cpu_compiler_info(rnl_compiler_info *out_info);
rnl_status cpu_module_compile(struct context *context,
                              const struct source *source,
                              struct compiled_binary *out_binary);

// The same, given up once `*stop` is set, if `stop` is not NULL.
rnl_status compile_source(const struct source *source,
                          const atomic_bool *stop,
                          struct compiled_binary *out_binary);
