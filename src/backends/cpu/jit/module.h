// Modules of the cpu backend.
#pragma once

#include "backends/cpu/kernel/launch_history.h"
#include "backends/cpu/jit/object_file.h"

// The backend's part of a module.
struct cpu_module {
    struct loaded_object object;
    struct specialiser *specialiser;  // or NULL
};

// The backend's part of a function; native ones have only the history.
struct cpu_function {
    const rnl_cpu_object *object;
    const rnl_cpu_kernel *kernel;
    struct code_range code;
    rnl_parameter *parameters;  // the kernel's, in the core's form
    struct specialised *specialised;    // code for one block size, or NULL
    struct launch_history history;
};

// Hooks, as in core/backend.h.
rnl_status cpu_module_init(struct module *module);
void cpu_module_finish(struct module *module);
rnl_status cpu_module_global(struct module *module, const char *name,
                             struct memory *out_memory, size_t *out_size);
const char *cpu_module_kernel(struct module *module, size_t index);
rnl_status cpu_module_code(struct module *module, rnl_code_kind kind,
                           const void **out_data, size_t *out_size);
rnl_status cpu_function_init(struct function *function, const char *name,
                             struct function_facts *out_facts);
void cpu_function_finish(struct function *function);
rnl_status cpu_function_occupancy(struct function *function,
                                  uint32_t block_threads, size_t shared_size,
                                  struct occupancy *out_occupancy);
