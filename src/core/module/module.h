// Modules and functions, between the files of the front door.
#pragma once

#include "base/text.h"
#include "core/backend.h"
#include "core/module/function.h"

// Makes a module of checked source, from the disk cache or by compiling. Not
// published; has one reference.
rnl_status module_build(struct context *context, const struct source *source,
                        struct module **out_module);

// The same, published, in a context that may be released meanwhile.
rnl_status module_compile_source(rnl_context context,
                                 const struct source *source,
                                 rnl_module *out_module);

// Makes a module of a copy of `data`; published.
rnl_status module_load_copy(rnl_context context, const void *data, size_t size,
                            const char *label, rnl_module *out_module);

// Refuses a context that has no modules.
rnl_status module_check_loads(struct context *context);

// Makes a function of the module's kernel `name`. Not published.
rnl_status function_build(struct module *module, const char *name,
                          struct function **out_function);

// Collects the names of the kernels or variables …
void name_add(struct text *names, const char *name);
// … and records that no `what` ("kernel") has the wanted name. Frees `names`;
// `nor`: the text if the list is empty.
rnl_status name_refuse(const char *what, const char *name, struct text *names,
                       const char *nor);

// Records that the module's native code is of another kind; `advice` begins
// with ": ", or is "".
rnl_status code_refuse(const struct module *module, rnl_code_kind wanted,
                       rnl_code_kind present, const char *advice);

// Resets a function's attributes to their initial values.
void function_reset(struct function *function);

// Ends a parked function (function_cache.h).
void function_discard(struct function *function);

// Finds and references the context: compiling takes so long that another thread
// may release the context meanwhile.
rnl_status context_find_ref(rnl_context handle, struct context **out);
