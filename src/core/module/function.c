#include "core/module/function.h"

#include "core/backend.h"
#include "core/module/function_cache.h"
#include "core/module/launch.h"
#include "core/module/module.h"
#include "core/module/source.h"
#include "core/object/check.h"
#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"

#include <stdio.h>
#include <string.h>

#define PARAMETERS_MAX 1024

// --- The object ------------------------------------------------------------

static void free_parameters(struct function *function)
{
    for (size_t i = 0; function->parameters && i < function->parameter_count;
         i++)
        text_release((char *)function->parameters[i].type);
    mem_release(function->parameters,
                function->parameter_count * sizeof *function->parameters);
    mem_release(function->packed_parameters,
                function->parameter_count *
                    sizeof *function->packed_parameters);
    function->parameters = NULL;
    function->packed_parameters = NULL;
    function->parameter_count = 0;
}

static void free_parts(struct function *function)
{
    free_parameters(function);
    text_release(function->symbol);  // the name is the slot's
    function->name = function->symbol = NULL;
    if (function->module)
        object_unref(&function->module->object);
    function->module = NULL;
}

static void function_finish(struct object *object)
{
    struct function *function = (struct function *)object;
    if (function->module)
        function->backend->function_finish(function);
    free_parts(function);
}

void function_discard(struct function *function)
{
    object_await_unprotected(&function->object);  // a parked one may be
    function_finish(&function->object);
    object_discard(&function->object);
}

static bool function_park(struct object *object)
{
    return function_cache_park((struct function *)object);
}

static struct object_class *class_of(const struct backend *backend)
{
    static const struct object_class like = {.kind = OBJECT_FUNCTION,
                                             .finish = function_finish,
                                             .park = function_park};
    static struct object_class classes[BACKENDS_MAX];
    return object_class_of(&classes[backend_index(backend)], &like,
                           sizeof(struct function) + backend->function_size);
}

static struct function *create(struct context *context)
{
    struct function *function = (struct function *)object_create(
        class_of(context->backend), context, NULL);
    if (function)
        function->backend = context->backend;
    return function;
}

static void abandon(struct function *function)
{
    free_parts(function);
    object_abandon(&function->object);
}

// --- What it is ------------------------------------------------------------

// No machine needs more than its widest vector.
static size_t alignment_of(const rnl_parameter *parameter)
{
    size_t alignment = 1;
    while (alignment < parameter->alignment && alignment < 64)
        alignment *= 2;
    return alignment;
}

size_t parameter_offset(const rnl_parameter *parameter, size_t end)
{
    return mem_align_up(end, alignment_of(parameter));
}

_Static_assert(RNL_VALUE_POINTER + 1 == RNL_VALUE_INTEGER &&
                   RNL_VALUE_INTEGER + 1 == RNL_VALUE_FLOAT,
               "kinds of plain values follow each other");

static struct packed_parameter place_of(const rnl_parameter *parameter,
                                        size_t offset)
{
    uint32_t size = parameter->size, first = parameter->kind, kinds = 1;
    if (first == RNL_VALUE_UNKNOWN) {
        bool may_point = size == sizeof(void *);
        first = may_point ? RNL_VALUE_POINTER : RNL_VALUE_INTEGER;
        kinds = RNL_VALUE_FLOAT - first + 1;
    }
    bool is_plain = first == RNL_VALUE_POINTER
                        ? size == sizeof(void *)
                        : first != RNL_VALUE_STRUCT &&
                              size <= sizeof ((rnl_arg *)NULL)->value;
    return (struct packed_parameter){value_shape(first, size),
                                     is_plain ? kinds : 0, (uint32_t)offset};
}

static void place_values(struct function *function)
{
    size_t offset = 0, most = 1;
    function->takes_plain = true;
    for (size_t i = 0; i < function->parameter_count; i++) {
        const rnl_parameter *parameter = &function->parameters[i];
        size_t alignment = alignment_of(parameter);
        offset = parameter_offset(parameter, offset);
        function->packed_parameters[i] = place_of(parameter, offset);
        function->takes_plain &= function->packed_parameters[i].kinds > 0;
        offset += parameter->size;
        most = alignment > most ? alignment : most;
    }
    function->values_size = offset;
    function->values_alignment = most;
}

static bool copy_parameters(struct function *function,
                            const rnl_parameter *parameters, size_t count)
{
    function->values_alignment = 1;
    if (count == 0)
        return true;
    function->parameter_count = count;
    function->parameters = mem_allocate(count * sizeof *parameters);
    function->packed_parameters =
        mem_allocate(count * sizeof *function->packed_parameters);
    if (!function->parameters || !function->packed_parameters)
        return false;
    for (size_t i = 0; i < count; i++) {
        rnl_parameter *copy = &function->parameters[i];
        *copy = parameters[i];
        copy->type = text_copy(parameters[i].type ? parameters[i].type : "");
        if (!copy->type)
            return false;
    }
    place_values(function);
    return true;
}

void function_reset(struct function *function)
{
    atomic_store_explicit(&function->shared_most,
                          function_shared_limit(function),
                          memory_order_relaxed);
    atomic_store_explicit(&function->carveout, RNL_CARVEOUT_DEFAULT,
                          memory_order_relaxed);
}

static void set_limits(struct function *function)
{
    const rnl_device_info *device = &function->object.context->device->info;
    const rnl_function_info *own = &function->info;
    function->most_grid = device->max_grid;
    function->most_block = device->max_block;
    function->most_threads =
        own->max_block_threads > 0 &&
                own->max_block_threads < device->max_block_threads
            ? own->max_block_threads
            : device->max_block_threads;
    function->is_usual = own->shared_size <= device->shared_per_block_max &&
                         own->cluster.x == 0;
}

// Copies everything but the words about the tier, so that nothing else of the
// backend's is needed later.
static rnl_status set_facts(struct function *function, const char *name,
                            const struct function_facts *facts)
{
    // The label outlives the function, because failures may name it later.
    bool named = object_set_label(&function->object, name);
    function->name = function->object.label;
    function->symbol = text_copy(facts->symbol ? facts->symbol : name);
    if (!named || !function->symbol ||
        !copy_parameters(function, facts->parameters, facts->parameter_count))
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for the function '%s'", name);
    function->packs = facts->packs &&
                      function->parameter_count >= PACKED_LEAST &&
                      function->values_size <= PACKED_MOST;
    function->info = (rnl_function_info){
        .struct_size = sizeof function->info,
        .name = function->name,
        .symbol = function->symbol,
        .parameters = function->parameters,
        .parameter_count = function->parameter_count,
        .max_block_threads = facts->max_block_threads,
        .registers = facts->registers,
        .shared_size = facts->shared_size,
        .local_size = facts->local_size,
        .constant_size = facts->constant_size,
        .uses_barriers = facts->uses_barriers,
        .cluster = facts->cluster,
        .tier = facts->tier,
        .tier_reason = facts->tier_reason,
    };
    set_limits(function);
    function_reset(function);
    return RNL_OK;
}

static rnl_status refuse_name(struct module *module, const char *name)
{
    const struct backend *backend = module->backend;
    struct text names = {0};
    const char *known;
    for (size_t i = 0; (known = backend->module_kernel(module, i)); i++)
        name_add(&names, known);
    char described[192];
    rnl_status status =
        name_refuse("kernel", name, &names, "any other in there");
    fail_set_object("%s", object_describe(&module->object, described,
                                          sizeof described));
    return status;
}

rnl_status function_build(struct module *module, const char *name,
                          struct function **out_function)
{
    struct function *function = create(module->object.context);
    if (!function)
        return fail_status();
    struct function_facts facts = {0};
    rnl_status status = object_ref_for(&module->object, "module");
    if (status != RNL_OK)
        goto abandon;
    function->module = module;
    status = function->backend->function_init(function, name, &facts);
    if (status == RNL_ERROR_NOT_FOUND)
        refuse_name(module, name);
    if (status != RNL_OK)
        goto abandon;
    status = set_facts(function, name, &facts);
    if (status != RNL_OK)
        goto finish;
    *out_function = function;
    return RNL_OK;

finish:
    function->backend->function_finish(function);
abandon:
    abandon(function);
    return status;
}

// --- From source in one step -----------------------------------------------

static bool starts_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '$';
}

// A name that is no plain identifier must be given to the compiler.
static bool is_identifier(const char *name)
{
    if (!starts_identifier(*name))
        return false;
    while (starts_identifier(*name) || (*name >= '0' && *name <= '9'))
        name++;
    return *name == '\0';
}

static bool has_expression(const rnl_module_options *options, const char *name)
{
    for (size_t i = 0; i < options->name_expression_count; i++)
        if (strcmp(options->name_expressions[i], name) == 0)
            return true;
    return false;
}

// Whether the included files still have this hash; NULL: no files.
static bool files_are(const struct source *source, const struct hash128 *hash)
{
    struct hash128 now;
    return !hash || (source_hash_files(source, &now) && now.low == hash->low &&
                     now.high == hash->high);
}

// How the cache in memory keeps a source.
struct kept_under {
    const struct source_key *key;  // NULL: it does not
    const struct hash128 *files;   // which are in the key; NULL: none
};

// Finds or builds the module and makes the function of it.
static rnl_status build_function(struct context *context,
                                 const struct source *source,
                                 struct kept_under kept,
                                 struct module *module, const char *name,
                                 rnl_function *out_function)
{
    const struct source_key *key = kept.key;
    if (!module) {
        rnl_status status = module_build(context, source, &module);
        if (status != RNL_OK)
            return status;
        // The compiler may have read what was written meanwhile.
        if (key && !files_are(source, kept.files))
            key = NULL;
        if (key)
            function_cache_add(context, key, &module);
    }
    struct function *function;
    rnl_status status = function_build(module, name, &function);
    object_unref(&module->object);
    if (status != RNL_OK)
        return status;
    *out_function = object_publish(&function->object);
    if (key)
        function_cache_name(context, key, name, function);
    return RNL_OK;
}

// `files`: the hash of the files that an open source reads. NULL: the source is
// closed, or not known to be open.
static rnl_status compile_kept(struct context *context,
                               const struct source *source, const char *name,
                               const struct hash128 *files,
                               rnl_function *out_function);

// A closed source is found by its key alone, because the result depends on
// nothing else; no open source has such a key.
static rnl_status compile_missing(struct context *context,
                                  const struct source *source,
                                  const char *name, struct kept_under kept,
                                  rnl_function *out_function)
{
    struct hash128 files;
    if (kept.files || source_is_closed(source))
        return build_function(context, source, kept, NULL, name,
                              out_function);
    if (source_hash_files(source, &files))
        return compile_kept(context, source, name, &files, out_function);
    return build_function(context, source, (struct kept_under){0}, NULL, name,
                          out_function);
}

static rnl_status compile_kept(struct context *context,
                               const struct source *source, const char *name,
                               const struct hash128 *files,
                               rnl_function *out_function)
{
    struct source_key key;
    struct function_cache_hit hit;
    char prefix[48] = "";
    if (files)
        snprintf(prefix, sizeof prefix, "files %016llx%016llx",
                 (unsigned long long)files->high,
                 (unsigned long long)files->low);
    if (!source_key_make(&key, source, prefix))
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for the key of the source");
    const struct kept_under kept = {&key, files};
    rnl_status status = RNL_OK;
    function_cache_find(context, &key, name, &hit);
    if (hit.function)
        *out_function = hit.function;
    else if (hit.module)
        status = build_function(context, source, kept, hit.module, name,
                                out_function);
    else
        status = compile_missing(context, source, name, kept, out_function);
    source_key_finish(&key);
    return status;
}

static rnl_status compile_cached(struct context *context,
                                 const struct source *source, const char *name,
                                 rnl_function *out_function)
{
    // Whoever wants a dump wants the compiler to run.
    return source->dump.kinds
               ? build_function(context, source, (struct kept_under){0}, NULL,
                                name, out_function)
               : compile_kept(context, source, name, NULL, out_function);
}

// The same with the name among the expressions.
static rnl_status compile_expression(struct context *context,
                                     const struct source *source,
                                     const char *name,
                                     rnl_function *out_function)
{
    rnl_module_options options = *source->options;
    size_t count = options.name_expression_count;
    size_t size = (count + 1) * sizeof(const char *);
    const char **expressions = mem_allocate(size);
    if (!expressions)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for the name expressions");
    if (count > 0)
        memcpy(expressions, options.name_expressions,
               count * sizeof(const char *));
    expressions[count] = name;
    options.name_expressions = expressions;
    options.name_expression_count = count + 1;
    struct source extended = {source->text, &options, source->dump};
    rnl_status status = compile_cached(context, &extended, name, out_function);
    mem_release(expressions, size);
    return status;
}

static rnl_status compile(struct context *context, const char *text,
                          const char *name, const rnl_module_options *given,
                          rnl_function *out_function)
{
    rnl_module_options options;
    struct source source;
    rnl_status status = source_check(text, given, &options, &source);
    if (status != RNL_OK)
        return status;
    if (!name[0])
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "name", "'name' is empty");
    if (options.binary_only)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.binary_only",
                       "a function cannot be 'options.binary_only'");
    return is_identifier(name) || has_expression(&options, name)
               ? compile_cached(context, &source, name, out_function)
               : compile_expression(context, &source, name, out_function);
}

rnl_status rnl_function_compile(rnl_context context, const char *source,
                                const char *name,
                                const rnl_module_options *options,
                                rnl_function *out_function)
{
    struct context *kept;
    rnl_status status = ENTER();
    if (status || (status = check_pointer(name, "name")) ||
        (status = check_pointer(out_function, "out_function")) ||
        (status = check_pointer(source, "source")) ||
        (status = context_find_ref(context, &kept)))
        return status;
    rnl_function found =
        options ? NULL : function_cache_find_plain(kept, source, name);
    if (found)
        *out_function = found;
    else
        status = compile(kept, source, name, options, out_function);
    object_unref(&kept->object);
    return status;
}

// --- Native functions ------------------------------------------------------

// Sizes that a C value of the kind can have; others no argument would match.
static bool size_is_legal(const rnl_parameter *parameter)
{
    uint32_t size = parameter->size;
    switch (parameter->kind) {
    case RNL_VALUE_POINTER:
        return size == sizeof(void *);
    case RNL_VALUE_INTEGER:
        return size == 1 || size == 2 || size == 4 || size == 8;
    case RNL_VALUE_FLOAT:
        return size == 4 || size == 8;
    default:
        return size > 0;
    }
}

static rnl_status check_parameter(const rnl_parameter *parameter, size_t index)
{
    if ((unsigned)parameter->kind > RNL_VALUE_STRUCT)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.parameters",
                       "'options.parameters[%zu].kind' is %d, which is no "
                       "kind of value",
                       index, (int)parameter->kind);
    if (!size_is_legal(parameter))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.parameters",
                       "'options.parameters[%zu].size' cannot be %u", index,
                       parameter->size);
    if ((unsigned)parameter->element > RNL_ELEMENT_FLOAT64)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.parameters",
                       "'options.parameters[%zu].element' is %d, which is no "
                       "rnl_element",
                       index, (int)parameter->element);
    if (parameter->alignment & (parameter->alignment - 1))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.parameters",
                       "'options.parameters[%zu].alignment' is %u, which is "
                       "no power of two",
                       index, parameter->alignment);
    return RNL_OK;
}

static rnl_status check_parameters(const rnl_native_options *options)
{
    size_t count = options->parameter_count;
    if (count > PARAMETERS_MAX)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.parameter_count",
                       "'options.parameter_count' is %zu where at most %d are "
                       "possible",
                       count, PARAMETERS_MAX);
    if (count > 0 && !options->parameters)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.parameters",
                       "'options.parameters' is NULL though "
                       "'options.parameter_count' is %zu",
                       count);
    for (size_t i = 0; i < count; i++) {
        rnl_status status = check_parameter(&options->parameters[i], i);
        if (status != RNL_OK)
            return status;
    }
    return RNL_OK;
}

static rnl_status check_native(struct context *context,
                               rnl_native_options *options)
{
    const char *reason = context_lacks(context, RNL_FEATURE_NATIVE_FUNCTIONS);
    uint32_t most = context->device->info.max_block_threads;
    if (reason)
        return fail_at(RNL_ERROR_UNSUPPORTED, "context",
                       "a %s context cannot run C functions: %s",
                       context->backend->api, reason);
    if (options->max_block_threads > most)
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.max_block_threads",
                       "'options.max_block_threads' is %u where the device "
                       "has at most %u",
                       options->max_block_threads, most);
    if (options->flags & ~(RNL_NATIVE_WAITS | RNL_NATIVE_PROMPT))
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "options.flags",
                       "'options.flags' is %#x, which has unknown bits",
                       (unsigned)options->flags);
    if (options->max_block_threads == 0)
        options->max_block_threads = most;
    return check_parameters(options);
}

static rnl_status create_native(struct context *context, const char *name,
                                rnl_native_fn native,
                                const rnl_native_options *options,
                                rnl_function *out_function)
{
    struct function *function = create(context);
    if (!function)
        return fail_status();
    const struct function_facts facts = {
        .parameters = options->parameters,
        .parameter_count = options->parameter_count,
        .max_block_threads = options->max_block_threads,
    };
    rnl_status status = set_facts(function, name, &facts);
    if (status != RNL_OK) {
        abandon(function);
        return status;
    }
    function->native_fn = native;
    function->native_flags = options->flags;
    function->user_data = options->user_data;
    *out_function = object_publish(&function->object);
    return RNL_OK;
}

rnl_status rnl_function_create_native(rnl_context context, const char *name,
                                      rnl_native_fn native,
                                      const rnl_native_options *options,
                                      rnl_function *out_function)
{
    rnl_native_options read;
    struct context *checked = NULL;
    CALL status = ENTER();
    if (status || (status = check_context(context, "context", &checked)) ||
        (status = check_pointer(name, "name")) ||
        (status = check_pointer((const void *)(uintptr_t)native, "native")) ||
        (status = options_read(&read, sizeof read, options, "options")) ||
        (status = check_pointer(out_function, "out_function")) ||
        (status = check_native(checked, &read)))
        return status;
    if (!name[0])
        return fail_at(RNL_ERROR_INVALID_ARGUMENT, "name", "'name' is empty");
    return create_native(checked, name, native, &read, out_function);
}

// --- Counting and asking ---------------------------------------------------

rnl_status rnl_function_retain(rnl_function function)
{
    rnl_status status = ENTER();
    return status ? status
                  : object_retain(function, OBJECT_FUNCTION, "function");
}

rnl_status rnl_function_release(rnl_function function)
{
    rnl_status status = ENTER_RELEASE();
    return status ? status
                  : object_release(function, OBJECT_FUNCTION, "function");
}

rnl_status rnl_function_get_info(rnl_function function,
                                 rnl_function_info *out_info)
{
    struct function *checked = NULL;
    CALL status = ENTER();
    if (status ||
        (status = check_function(function, "function", &checked)))
        return status;
    return info_write(out_info, &checked->info, sizeof checked->info,
                      "out_info");
}
