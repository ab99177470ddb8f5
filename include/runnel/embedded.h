// Kernels that a program carries in itself.
//
// The CMake function runnel_add_kernels(program scale.cu) makes a constant
// `program_scale` of this type from a kernel file, adds it to the program, and
// declares it in "program_kernels.h":
//
//   #include "program_kernels.h"
//   rnl_module_load_embedded(context, &program_scale, &module);
//   rnl_module_function(module, "scale", &function);
//
// By hand, or by another build system, it is filled in like any struct.
//
// Memory: what the struct points to is read during the call only.
#ifndef RUNNEL_EMBEDDED_H
#define RUNNEL_EMBEDDED_H

#include <runnel/module.h>

// A ready binary of a kernel file, as `runnel compile` makes it.
typedef struct rnl_embedded_object {
    const char *target;  // the processor, as in --target: "x86-64-v3"
    const void *data;
    size_t size;
} rnl_embedded_object;

// A kernel file: its source, its objects, or both.
typedef struct rnl_embedded {
    size_t struct_size;
    const char *name;            // file name in diagnostics, and label
    const char *source;          // NULL: the objects have to fit
    // Options of the compiler, for the source.
    const char *const *options;
    size_t option_count;
    // Texts that the source may include.
    const rnl_header *headers;
    size_t header_count;
    // The first object that fits is taken: the most demanding target comes
    // first.
    const rnl_embedded_object *objects;
    size_t object_count;
    // C++ expressions that name kernels of the source, as in
    // rnl_module_options.
    const char *const *name_expressions;
    size_t name_expression_count;
} rnl_embedded;

#define RNL_EMBEDDED(...) RNL_LITERAL(rnl_embedded, __VA_ARGS__)

RNL_BEGIN_DECLS

// Loads the first object that this device can run. If none is, compiles the
// source as rnl_module_compile does, from the disk cache where that has it: so
// on a GPU, which has no use for objects of a cpu. Without source:
// RNL_ERROR_INVALID_BINARY, with the targets there are and what the device
// lacks. RNL_ERROR_INVALID_ARGUMENT for neither source nor objects. Stands for
// cuModuleLoadFatBinary.
RNL_API rnl_status rnl_module_load_embedded(rnl_context context,
                                            const rnl_embedded *embedded,
                                            rnl_module *out_module);

RNL_END_DECLS

#endif
