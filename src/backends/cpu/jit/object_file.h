// Finished cpu objects: checked, loaded, unloaded.
//
// Outside the library the ELF object is in an envelope with its size and
// checksum: a damaged file is detected before any page is mapped, because the
// dynamic loader trusts its input.
#pragma once

#include "backends/cpu/kernel/stop.h"
#include "core/backend.h"

#include <runnel/cpu_object.h>

// A loaded object: an instance with its own variables.
struct loaded_object {
    void *library;  // dlopen's
    const rnl_cpu_object *table;
    char *path;     // for debuggers; NULL if there is no file
    struct code_range code;
};

// Why these bytes are no ELF shared object of this machine, or NULL.
const char *object_file_fault(const void *elf, size_t size);

// The same object in an envelope, allocated.
rnl_status object_file_wrap(const void *elf, size_t size, void **out_data,
                       size_t *out_size);

// The object in an envelope that object_file_wrap made or object_file_load
// took.
void object_file_unwrap(const void *data, const void **out_elf,
                        size_t *out_size);

// Loads an object from its envelope. RNL_ERROR_INVALID_BINARY for any defect.
rnl_status object_file_load(const void *data, size_t size,
                       struct loaded_object *out_object);
void object_file_unload(struct loaded_object *object);

// Records of the object's tables, which step by the sizes that it was compiled
// with.
const rnl_cpu_kernel *object_file_kernel(const rnl_cpu_object *table,
                                         size_t index);
const rnl_cpu_parameter *object_file_parameter(const rnl_cpu_object *table,
                                          const rnl_cpu_kernel *kernel,
                                          size_t index);
// Whether the kernel is for blocks of one size only.
bool object_file_fixed(const rnl_cpu_object *table,
                       const rnl_cpu_kernel *kernel);
// Why the kernel has no `run_blocks`; "" if it has, or the object does not
// tell.
const char *object_file_reason(const rnl_cpu_object *table,
                          const rnl_cpu_kernel *kernel);
const rnl_cpu_global *object_file_global(const rnl_cpu_object *table,
                                         size_t index);
