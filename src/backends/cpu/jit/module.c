#include "backends/cpu/jit/module.h"

#include "backends/cpu/jit/object_file.h"
#include "backends/cpu/jit/specialise.h"
#include "backends/cpu/kernel/block.h"
#include "backends/cpu/machine/machine.h"
#include "base/log.h"
#include "core/backend.h"
#include "core/module/function.h"
#include "core/module/module.h"
#include "core/object/context_object.h"
#include "core/object/pool_state.h"

#include <string.h>

static const rnl_cpu_object *table_of(struct module *module)
{
    struct cpu_module *native = module_native(module);
    return native->object.table;
}

// The first kernel that is of tier F although no option asked for that; NULL if
// there is none.
static const rnl_cpu_kernel *find_slow(const rnl_cpu_object *table)
{
    for (size_t i = 0; i < table->kernel_count; i++) {
        const rnl_cpu_kernel *kernel = object_file_kernel(table, i);
        if (!block_has_lanes(table, kernel) &&
            !(kernel->flags & RNL_CPU_KERNEL_ASKED) &&
            object_file_reason(table, kernel)[0])
            return kernel;
    }
    return NULL;
}

// Warns once per context, because a program may have many such kernels.
static void warn_of_tier(struct module *module)
{
    const rnl_cpu_object *table = table_of(module);
    struct cpu_context *context = context_native(module->object.context);
    const rnl_cpu_kernel *kernel =
        log_wants(RNL_LOG_WARNING) ? find_slow(table) : NULL;
    if (!kernel || atomic_exchange(&context->warned_of_tier, true))
        return;
    log_write(RNL_LOG_WARNING,
              "the kernel '%s' of %s is compiled to tier F, which runs its "
              "threads one after another instead of as lanes of vectors: %s. "
              "Change the kernel if it is too slow, or accept tier F with the "
              "option --tier=F. Other kernels of this context are not "
              "reported; rnl_function_get_info tells the tier of each",
              kernel->name, module->source->options->name,
              object_file_reason(table, kernel));
}

rnl_status cpu_module_init(struct module *module)
{
    struct cpu_module *native = module_native(module);
    rnl_status status =
        object_file_load(module->binary, module->binary_size, &native->object);
    if (status != RNL_OK || !module->source)
        return status;
    native->specialiser =
        specialiser_open(native->object.table, module->source);
    warn_of_tier(module);
    return RNL_OK;
}

void cpu_module_finish(struct module *module)
{
    struct cpu_module *native = module_native(module);
    specialiser_close(native->specialiser);
    object_file_unload(&native->object);
}

// --- Variables -------------------------------------------------------------

static rnl_status refuse_global(const rnl_cpu_object *table, const char *name)
{
    struct text names = {0};
    for (size_t i = 0; i < table->global_count; i++)
        name_add(&names, object_file_global(table, i)->name);
    return name_refuse("variable", name, &names, "any other in there");
}

rnl_status cpu_module_global(struct module *module, const char *name,
                             struct memory *out_memory, size_t *out_size)
{
    const rnl_cpu_object *table = table_of(module);
    for (size_t i = 0; i < table->global_count; i++) {
        const rnl_cpu_global *global = object_file_global(table, i);
        if (strcmp(global->name, name) != 0)
            continue;
        *out_memory = (struct memory){
            .device = global->address,
            .host = global->address,
        };
        *out_size = (size_t)global->size;
        return RNL_OK;
    }
    return refuse_global(table, name);
}

// --- Kernels ---------------------------------------------------------------

const char *cpu_module_kernel(struct module *module, size_t index)
{
    const rnl_cpu_object *table = table_of(module);
    return index < table->kernel_count ? object_file_kernel(table, index)->name
                                       : NULL;
}

rnl_status cpu_module_code(struct module *module, rnl_code_kind kind,
                           const void **out_data, size_t *out_size)
{
    if (kind != RNL_CODE_OBJECT)
        return code_refuse(module, kind, RNL_CODE_OBJECT, "");
    object_file_unwrap(module->binary, out_data, out_size);
    return RNL_OK;
}

// A name as in the source goes before a symbol that happens to be the same.
static const rnl_cpu_kernel *kernel_find(const rnl_cpu_object *table,
                                         const char *name)
{
    for (size_t i = 0; i < table->kernel_count; i++)
        if (strcmp(object_file_kernel(table, i)->name, name) == 0)
            return object_file_kernel(table, i);
    for (size_t i = 0; i < table->kernel_count; i++)
        if (strcmp(object_file_kernel(table, i)->symbol, name) == 0)
            return object_file_kernel(table, i);
    return NULL;
}

static bool parameters_make(struct cpu_function *native)
{
    size_t count = native->kernel->parameter_count;
    if (count == 0)
        return true;
    native->parameters = mem_allocate(count * sizeof *native->parameters);
    for (size_t i = 0; native->parameters && i < count; i++) {
        const rnl_cpu_parameter *from =
            object_file_parameter(native->object, native->kernel, i);
        native->parameters[i] = (rnl_parameter){
            .kind = from->kind <= RNL_VALUE_STRUCT ? (rnl_value_kind)from->kind
                                                   : RNL_VALUE_UNKNOWN,
            .size = from->size,
            .alignment = from->alignment,
            .type = from->type,
            .element = from->element <= RNL_ELEMENT_FLOAT64
                           ? (rnl_element)from->element : RNL_ELEMENT_UNKNOWN,
        };
    }
    return native->parameters != NULL;
}

// The kernel's __cluster_dims__; x is 0 without one.
static rnl_dim3 cluster_of(const rnl_cpu_object *object,
                           const rnl_cpu_kernel *kernel)
{
    size_t end = offsetof(rnl_cpu_kernel, cluster) + sizeof kernel->cluster;
    if (object->kernel_size < end || kernel->cluster[0] == 0)
        return (rnl_dim3){0, 0, 0};
    const uint32_t *size = kernel->cluster;
    return (rnl_dim3){size[0], size[1] + (size[1] == 0),
                      size[2] + (size[2] == 0)};
}

rnl_status cpu_function_init(struct function *function, const char *name,
                             struct function_facts *out_facts)
{
    struct cpu_function *native = function_native(function);
    const rnl_cpu_object *table = table_of(function->module);
    const rnl_cpu_kernel *kernel = kernel_find(table, name);
    if (!kernel)
        return RNL_ERROR_NOT_FOUND;
    if (kernel->form != RNL_CPU_FORM_THREADS &&
        kernel->form != RNL_CPU_FORM_BLOCKS)
        return fail(RNL_ERROR_INVALID_BINARY,
                    "the kernel '%s' has a form that this version cannot run",
                    name);
    if (object_file_fixed(table, kernel))
        return fail(RNL_ERROR_INVALID_BINARY,
                    "the kernel '%s' was compiled as a part of another module",
                    name);
    native->object = table;
    native->kernel = kernel;
    native->code = ((struct cpu_module *)module_native(function->module))
                       ->object.code;
    native->specialised = specialiser_find(
        ((struct cpu_module *)module_native(function->module))->specialiser,
        kernel);
    if (!parameters_make(native))
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for the function '%s'", name);
    uint32_t most =
        function->object.context->device->info.max_block_threads;
    *out_facts = (struct function_facts){
        .name = kernel->name,
        .symbol = kernel->symbol,
        .parameters = native->parameters,
        .parameter_count = kernel->parameter_count,
        .max_block_threads = kernel->max_block_threads < most
                                 ? kernel->max_block_threads
                                 : most,
        .shared_size = kernel->shared_size,
        .uses_barriers = kernel->flags & RNL_CPU_KERNEL_WAITS,
        .cluster = cluster_of(table, kernel),
        .tier = block_has_lanes(table, kernel) ? "B" : "F",
        .tier_reason = object_file_reason(table, kernel),
    };
    return RNL_OK;
}

void cpu_function_finish(struct function *function)
{
    struct cpu_function *native = function_native(function);
    if (native->parameters)
        mem_release(native->parameters, native->kernel->parameter_count *
                                            sizeof *native->parameters);
    native->parameters = NULL;
}

// A core runs a single block at a time. Blocks that wait for the grid keep
// their threads and memory meanwhile.
rnl_status cpu_function_occupancy(struct function *function,
                                  uint32_t block_threads, size_t shared_size,
                                  struct occupancy *out_occupancy)
{
    const struct cpu_function *native = function_native(function);
    uint64_t most = UINT64_MAX;
    if (!function->native_fn &&
        block_needs_grid(native->object, native->kernel)) {
        uint64_t memory = function->object.context->device->info.memory_size;
        uint64_t size = block_memory_size(native->object, shared_size);
        most = GRID_THREADS_MOST / block_threads;
        if (memory > 0 && size > 0 && most > memory / 2 / size)
            most = memory / 2 / size;
    }
    *out_occupancy = (struct occupancy){.blocks = 1, .cooperative = most};
    return RNL_OK;
}
