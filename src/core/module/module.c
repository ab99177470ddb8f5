#include "core/module/module.h"

#include "base/file.h"
#include "core/backend.h"
#include "core/memory/buffer.h"
#include "core/module/disk_cache.h"
#include "core/module/dump.h"
#include "core/module/function.h"
#include "core/module/source.h"
#include "core/object/buffer_object.h"
#include "core/object/check.h"
#include "core/object/config.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/pool_state.h"
#include "core/object/release.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BINARY_SIZE_MAX ((size_t)1 << 30)
#define IDENTITY_SIZE 512

rnl_status context_find_ref(rnl_context handle, struct context **out)
{
    struct object *object = object_find_ref(handle, OBJECT_CONTEXT);
    if (!object)
        return object_refuse(handle, OBJECT_CONTEXT, "context");
    *out = (struct context *)object;
    return RNL_OK;
}

void name_add(struct text *names, const char *name)
{
    text_add(names, names->length ? ", '%s'" : "'%s'", name);
}

rnl_status name_refuse(const char *what, const char *name, struct text *names,
                       const char *nor)
{
    bool some = names->length > 0;
    fail_at(RNL_ERROR_NOT_FOUND, "name", "there is no %s '%s'%s%s", what, name,
            some ? "; there is " : ", nor ", some ? text_get(names) : nor);
    text_finish(names);
    return RNL_ERROR_NOT_FOUND;
}

// --- The object ------------------------------------------------------------

static void free_parts(struct module *module)
{
    mem_release(module->binary, module->binary_size);
    text_release(module->log);
    module->binary = NULL;
    module->log = NULL;
}

static void module_finish(struct object *object)
{
    struct module *module = (struct module *)object;
    if (module->loaded)
        module->backend->module_finish(module);
    free_parts(module);
}

// Backends have the module hooks all or none.
rnl_status module_check_loads(struct context *context)
{
    if (context->backend->module_init)
        return RNL_OK;
    return fail_at(RNL_ERROR_UNSUPPORTED, "context",
                   "a %s context has no modules", context->backend->api);
}

static struct object_class *class_of(const struct backend *backend)
{
    static const struct object_class like = {.kind = OBJECT_MODULE,
                                             .finish = module_finish};
    static struct object_class classes[BACKENDS_MAX];
    return object_class_of(&classes[backend_index(backend)], &like,
                           sizeof(struct module) + backend->module_size);
}

// Makes the object around `binary`, which it takes in any case.
static rnl_status create_unloaded(struct context *context, const char *label,
                                  struct compiled_binary *binary,
                                  struct module **out_module)
{
    struct object *object =
        object_create(class_of(context->backend), context, label);
    if (!object) {
        mem_release(binary->data, binary->size);
        text_release(binary->log);
        return fail_status();
    }
    struct module *module = (struct module *)object;
    module->backend = context->backend;
    module->binary = binary->data;
    module->binary_size = binary->size;
    module->log = binary->log;
    *out_module = module;
    return RNL_OK;
}

// The same, and loads it.
static rnl_status create(struct context *context, const char *label,
                         const struct source *source,
                         struct compiled_binary *binary,
                         struct module **out_module)
{
    struct module *module = NULL;
    rnl_status status = create_unloaded(context, label, binary, &module);
    if (status != RNL_OK)
        return status;
    module->source = source;
    status = module->backend->module_init(module);
    module->source = NULL;
    if (status != RNL_OK) {
        free_parts(module);
        object_abandon(&module->object);
        return status;
    }
    module->loaded = true;
    *out_module = module;
    return RNL_OK;
}

// --- From source -----------------------------------------------------------

// A missing compiler is reported only by a compilation, because caches may have
// the kernel.
static rnl_status check_compiles(struct context *context)
{
    const char *reason = context_lacks(context, RNL_FEATURE_COMPILE);
    return reason ? fail_at(RNL_ERROR_UNSUPPORTED, "context",
                            "a %s context cannot compile source: %s",
                            context->backend->api, reason)
                  : RNL_OK;
}

static rnl_status check_confines(struct context *context,
                                 const struct source *source)
{
    const struct backend *backend = context->backend;
    if (!source->options->untrusted || !backend->unconfined)
        return RNL_OK;
    return fail_at(RNL_ERROR_UNSUPPORTED, "options.untrusted",
                   "%s: compile untrusted source in a process of its own, and "
                   "confine that", backend->unconfined);
}

static rnl_status compile(struct context *context, const struct source *source,
                          struct module **out_module)
{
    struct compiled_binary binary = {0};
    rnl_status status =
        context->backend->module_compile(context, source, &binary);
    if (status == RNL_OK)
        status = dump_deliver(source, binary.dumped);
    dump_finish(&binary);
    if (status != RNL_OK) {
        mem_release(binary.data, binary.size);
        text_release(binary.log);
        return status;
    }
    const char *label = source->options->label;
    return source->options->binary_only
               ? create_unloaded(context, label, &binary, out_module)
               : create(context, label, source, &binary, out_module);
}

// `*out_module` is NULL when the cache has none. A binary that is whole but
// does not load any more is made again; where memory is short or the device
// lost, that would be no better.
static rnl_status load_cached(struct context *context,
                              const struct source *source,
                              const struct source_key *key,
                              struct module **out_module)
{
    struct compiled_binary binary = {0};
    *out_module = NULL;
    if (!disk_cache_load(key->data, key->size, &binary.data, &binary.size))
        return RNL_OK;
    rnl_status status =
        create(context, source->options->label, source, &binary, out_module);
    if (status != RNL_ERROR_INVALID_BINARY)
        return status;
    disk_cache_remove(key->data, key->size);
    return RNL_OK;
}

static rnl_status build_cached(struct context *context,
                               const struct source *source,
                               struct module **out_module)
{
    char prefix[IDENTITY_SIZE + 64];
    int start = snprintf(prefix, sizeof prefix, "runnel %d %s ", RNL_VERSION,
                         context->backend->api);
    rnl_status status = context->backend->compiler_identity(
        context, prefix + start, IDENTITY_SIZE, NULL);
    if (status != RNL_OK)
        return status;
    struct source_key key;
    if (!source_key_make(&key, source, prefix))
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for the key of the source");
    status = load_cached(context, source, &key, out_module);
    if (status == RNL_OK && !*out_module) {
        status = compile(context, source, out_module);
        if (status == RNL_OK)
            disk_cache_store(key.data, key.size, (*out_module)->binary,
                        (*out_module)->binary_size);
    }
    source_key_finish(&key);
    return status;
}

rnl_status module_build(struct context *context, const struct source *source,
                        struct module **out_module)
{
    rnl_status status = check_compiles(context);
    if (status == RNL_OK)
        status = source_check_options(source, context->backend);
    if (status == RNL_OK)
        status = check_confines(context, source);
    if (status != RNL_OK)
        return status;
    // Only a compiler that runs writes a dump and a log, and only it reads
    // files.
    if (config_get()->cache_disabled || source->dump.kinds ||
        source->options->binary_only || !source_is_closed(source))
        return compile(context, source, out_module);
    return build_cached(context, source, out_module);
}

rnl_status module_compile_source(rnl_context context,
                                 const struct source *source,
                                 rnl_module *out_module)
{
    struct context *kept = NULL;
    struct module *module;
    rnl_status status = context_find_ref(context, &kept);
    if (status != RNL_OK)
        return status;
    status = module_build(kept, source, &module);
    if (status == RNL_OK)
        *out_module = object_publish(&module->object);
    object_unref(&kept->object);
    return status;
}

rnl_status rnl_module_compile(rnl_context context, const char *source,
                              const rnl_module_options *options,
                              rnl_module *out_module)
{
    rnl_status status = ENTER();
    rnl_module_options read;
    struct source checked;
    if (status == RNL_OK)
        status = check_pointer(out_module, "out_module");
    if (status == RNL_OK)
        status = source_check(source, options, &read, &checked);
    return status == RNL_OK
               ? module_compile_source(context, &checked, out_module)
               : status;
}

static rnl_status ask_compiler(struct context *context,
                               rnl_compiler_info *out_info)
{
    rnl_status status = check_compiles(context);
    // Callers may have little stack.
    rnl_compiler_info *info = mem_allocate(sizeof *info);
    if (status == RNL_OK && !info)
        status = fail(RNL_ERROR_OUT_OF_MEMORY,
                      "there is no memory to describe the compiler");
    if (status == RNL_OK)
        status = context->backend->compiler_identity(context, NULL, 0, info);
    if (status == RNL_OK)
        info->struct_size = sizeof *info;
    if (status == RNL_OK)
        status = info_write(out_info, info, sizeof *info, "out_info");
    mem_release(info, sizeof *info);
    return status;
}

rnl_status rnl_compiler_get_info(rnl_context context,
                                 rnl_compiler_info *out_info)
{
    struct context *kept = NULL;
    rnl_status status = ENTER();
    if (status == RNL_OK)
        status = info_check(out_info, sizeof *out_info, "out_info");
    if (status == RNL_OK)
        status = context_find_ref(context, &kept);
    if (status != RNL_OK)
        return status;
    status = ask_compiler(kept, out_info);
    object_unref(&kept->object);
    return status;
}

// --- From a binary ---------------------------------------------------------

// Takes `data`, which mem_allocate gave.
static rnl_status load(rnl_context context, void *data, size_t size,
                       const char *label, rnl_module *out_module)
{
    struct compiled_binary binary = {.data = data, .size = size};
    struct context *kept = NULL;
    struct module *module;
    rnl_status status = context_find_ref(context, &kept);
    if (status != RNL_OK) {
        mem_release(data, size);
        return status;
    }
    status = create(kept, label, NULL, &binary, &module);
    if (status == RNL_OK)
        *out_module = object_publish(&module->object);
    object_unref(&kept->object);
    return status;
}

rnl_status module_load_copy(rnl_context context, const void *data, size_t size,
                            const char *label, rnl_module *out_module)
{
    if (size == 0 || size > BINARY_SIZE_MAX)
        return fail_at(RNL_ERROR_INVALID_BINARY, "size",
                       "a binary of %zu bytes cannot be", size);
    void *copy = mem_allocate(size);
    if (!copy)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for a binary of %zu bytes", size);
    memcpy(copy, data, size);
    return load(context, copy, size, label, out_module);
}

rnl_status rnl_module_load(rnl_context context, const void *data, size_t size,
                           const char *label, rnl_module *out_module)
{
    CALL status = ENTER();
    struct context *checked = NULL;
    if (status == RNL_OK)
        status = check_context(context, "context", &checked);
    if (status == RNL_OK)
        status = module_check_loads(checked);
    if (status == RNL_OK)
        status = check_pointer(data, "data");
    if (status == RNL_OK)
        status = check_pointer(out_module, "out_module");
    if (status != RNL_OK)
        return status;
    return module_load_copy(context, data, size, label, out_module);
}

static rnl_status refuse_file(const char *path, int error)
{
    rnl_status status =
        error == ENOMEM ? RNL_ERROR_OUT_OF_MEMORY : RNL_ERROR_IO;
    fail_at(status, "path", "%s cannot be read: %s", path, strerror(error));
    fail_set_native(error, strerror(error));
    return status;
}

rnl_status rnl_module_load_file(rnl_context context, const char *path,
                                rnl_module *out_module)
{
    CALL status = ENTER();
    struct context *checked = NULL;
    if (status == RNL_OK)
        status = check_context(context, "context", &checked);
    if (status == RNL_OK)
        status = module_check_loads(checked);
    if (status == RNL_OK)
        status = check_pointer(path, "path");
    if (status == RNL_OK)
        status = check_pointer(out_module, "out_module");
    if (status != RNL_OK)
        return status;
    void *data;
    size_t size;
    int error = file_read_path(path, BINARY_SIZE_MAX, &data, &size);
    if (error)
        return refuse_file(path, error);
    if (size == 0)
        return fail_at(RNL_ERROR_INVALID_BINARY, "path", "%s is empty", path);
    const char *slash = strrchr(path, '/');
    return load(context, data, size, slash ? slash + 1 : path, out_module);
}

// --- Counting and asking ---------------------------------------------------

rnl_status rnl_module_retain(rnl_module module)
{
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    return object_retain(module, OBJECT_MODULE, "module");
}

rnl_status rnl_module_release(rnl_module module)
{
    rnl_status status = ENTER_RELEASE();
    if (status != RNL_OK)
        return status;
    return object_release(module, OBJECT_MODULE, "module");
}

rnl_status rnl_module_binary(rnl_module module, const void **out_data,
                             size_t *out_size)
{
    CALL status = ENTER();
    struct module *checked = NULL;
    if (status == RNL_OK)
        status = check_module(module, "module", &checked);
    if (status == RNL_OK)
        status = check_pointer(out_data, "out_data");
    if (status == RNL_OK)
        status = check_pointer(out_size, "out_size");
    if (status != RNL_OK)
        return status;
    *out_data = checked->binary;
    *out_size = checked->binary_size;
    return RNL_OK;
}

static const char *code_name(rnl_code_kind kind)
{
    switch (kind) {
    case RNL_CODE_OBJECT: return "an object";
    case RNL_CODE_PTX: return "PTX";
    case RNL_CODE_CUBIN: return "a cubin";
    case RNL_CODE_FATBIN: return "a fat binary";
    default: return NULL;
    }
}

rnl_status rnl_module_native_code(rnl_module module, rnl_code_kind kind,
                                  const void **out_data, size_t *out_size)
{
    CALL status = ENTER();
    struct module *checked = NULL;
    if (status == RNL_OK)
        status = check_module(module, "module", &checked);
    if (status == RNL_OK && !code_name(kind))
        status = fail_at(RNL_ERROR_INVALID_ARGUMENT, "kind",
                         "'kind' is %d, which is no rnl_code_kind", (int)kind);
    if (status == RNL_OK)
        status = check_pointer(out_data, "out_data");
    if (status == RNL_OK)
        status = check_pointer(out_size, "out_size");
    return status == RNL_OK ? checked->backend->module_code(checked, kind,
                                                            out_data, out_size)
                            : status;
}

rnl_status code_refuse(const struct module *module, rnl_code_kind wanted,
                       rnl_code_kind present, const char *advice)
{
    return fail_at(RNL_ERROR_UNSUPPORTED, "kind",
                   "the module holds %s for %s, not %s%s", code_name(present),
                   module->backend->api, code_name(wanted), advice);
}

rnl_status rnl_module_log(rnl_module module, const char **out_log)
{
    CALL status = ENTER();
    struct module *checked = NULL;
    if (status == RNL_OK)
        status = check_module(module, "module", &checked);
    if (status == RNL_OK)
        status = check_pointer(out_log, "out_log");
    if (status == RNL_OK)
        *out_log = checked->log ? checked->log : "";
    return status;
}

static rnl_status check_loaded(const struct module *module)
{
    if (module->loaded)
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_STATE, "module",
                   "the module was compiled with .binary_only: it is not "
                   "loaded");
}

static rnl_status check_name(const char *name)
{
    rnl_status status = check_pointer(name, "name");
    if (status == RNL_OK && !name[0])
        status = fail_at(RNL_ERROR_INVALID_ARGUMENT, "name",
                         "'name' is empty");
    return status;
}

rnl_status rnl_module_function(rnl_module module, const char *name,
                               rnl_function *out_function)
{
    CALL status = ENTER();
    struct module *checked = NULL;
    struct function *function;
    if (status == RNL_OK)
        status = check_module(module, "module", &checked);
    if (status == RNL_OK)
        status = check_name(name);
    if (status == RNL_OK)
        status = check_pointer(out_function, "out_function");
    if (status == RNL_OK)
        status = check_loaded(checked);
    if (status == RNL_OK)
        status = function_build(checked, name, &function);
    if (status == RNL_OK)
        *out_function = object_publish(&function->object);
    return status;
}

static size_t count_kernels(struct module *module)
{
    size_t count = 0;
    while (module->backend->module_kernel(module, count))
        count++;
    return count;
}

// All or none. Nothing refers to functions that were never published but their
// creator.
static rnl_status build_functions(struct module *module,
                                  struct function **functions, size_t count)
{
    rnl_status status = RNL_OK;
    size_t made = 0;
    for (; status == RNL_OK && made < count; made++)
        status = function_build(module,
                                module->backend->module_kernel(module, made),
                                &functions[made]);
    if (status == RNL_OK)
        return RNL_OK;
    for (size_t i = 0; i + 1 < made; i++)
        object_unref(&functions[i]->object);
    return status;
}

static rnl_status list_functions(struct module *module, rnl_function *out,
                                 size_t capacity, size_t *out_count)
{
    size_t count = count_kernels(module);
    size_t taken = count < capacity ? count : capacity;
    size_t size = (taken + 1) * sizeof(struct function *);
    struct function **functions = mem_allocate(size);
    if (!functions)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to list %zu kernels", taken);
    rnl_status status = build_functions(module, functions, taken);
    for (size_t i = 0; status == RNL_OK && i < taken; i++)
        out[i] = object_publish(&functions[i]->object);
    if (status == RNL_OK)
        *out_count = count;
    mem_release(functions, size);
    return status;
}

rnl_status rnl_module_get_functions(rnl_module module,
                                    rnl_function *out_functions,
                                    size_t capacity, size_t *out_count)
{
    CALL status = ENTER();
    struct module *checked = NULL;
    if (status == RNL_OK)
        status = check_module(module, "module", &checked);
    if (status == RNL_OK && capacity > 0)
        status = check_pointer(out_functions, "out_functions");
    if (status == RNL_OK)
        status = check_pointer(out_count, "out_count");
    if (status == RNL_OK)
        status = check_loaded(checked);
    if (status == RNL_OK && checked->names_lack)
        status = fail_at(RNL_ERROR_UNSUPPORTED, "module",
                         "the names of the module's kernels are not known: %s",
                         checked->names_lack);
    return status == RNL_OK ? list_functions(checked, out_functions, capacity,
                                             out_count)
                            : status;
}

rnl_status rnl_module_global(rnl_module module, const char *name,
                             rnl_buffer *out_buffer)
{
    CALL status = ENTER();
    struct module *checked = NULL;
    struct memory memory = {0};
    size_t size;
    if (status == RNL_OK)
        status = check_module(module, "module", &checked);
    if (status == RNL_OK)
        status = check_name(name);
    if (status == RNL_OK)
        status = check_pointer(out_buffer, "out_buffer");
    if (status == RNL_OK)
        status = check_loaded(checked);
    if (status == RNL_OK)
        status = checked->backend->module_global(checked, name, &memory,
                                                 &size);
    if (status != RNL_OK)
        return status;
    struct buffer *buffer;
    status = buffer_borrow(checked->object.context, memory, size,
                           &checked->object, name, &buffer);
    if (status == RNL_OK)
        *out_buffer = object_publish(&buffer->object);
    return status;
}
