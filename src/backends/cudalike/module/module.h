// Modules and functions of the backend.
#pragma once

#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/image.h"

struct gpu_module {
    void *handle;
    struct image image;  // from the binary, or from `table`
    void *table;         // made for a foreign binary; or NULL
    size_t table_size;
};

struct gpu_function {
    void *handle;
    _Atomic uint32_t dynamic;   // dynamic shared memory allowed so far
    _Atomic int carveout;       // as the driver was told
    bool waits;                 // the kernel first waits for the work before
    rnl_parameter *parameters;  // the core has its own copy
    size_t parameter_count;
};

rnl_status gpu_module_init(struct module *module);
void gpu_module_finish(struct module *module);
rnl_status gpu_module_global(struct module *module, const char *name,
                             struct memory *out_memory, size_t *out_size);
const char *gpu_module_kernel(struct module *module, size_t index);
rnl_status gpu_module_code(struct module *module, rnl_code_kind kind,
                           const void **out_data, size_t *out_size);
rnl_status gpu_function_init(struct function *function, const char *name,
                             struct function_facts *out_facts);
void gpu_function_finish(struct function *function);
rnl_status gpu_function_occupancy(struct function *function,
                                  uint32_t block_threads, size_t shared_size,
                                  struct occupancy *out_occupancy);

static inline struct gpu_module *gpu_module_of(struct module *module)
{
    return module_native(module);
}

static inline struct gpu_function *gpu_function_of(struct function *function)
{
    return function_native(function);
}

// Allows the function that much dynamic shared memory. 0 or the driver's code.
int gpu_allow_shared(struct function *function, size_t size);
