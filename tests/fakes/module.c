// Modules and launches of the fake: a kernel is one of the cpu backend, or a C
// function.
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/jit/module.h"
#include "base/text.h"
#include "core/backend.h"
#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"

enum { SHARED_OPTIN = 232448, SHARED_DEFAULT = 49152 };

// --- Modules --------------------------------------------------------------

// The linker's options that the fake heeds.
enum { OPTION_ERROR_LOG = 5, OPTION_ERROR_LOG_SIZE = 6 };

static void write_log(unsigned count, const int *options, void **values,
                      const char *text)
{
    char *log = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == OPTION_ERROR_LOG)
            log = values[i];
        if (options[i] == OPTION_ERROR_LOG_SIZE)
            size = (uintptr_t)values[i];
    }
    size_t length = strlen(text) < size ? strlen(text) : size ? size - 1 : 0;
    if (log && size) {
        memcpy(log, text, length);
        log[length] = '\0';
    }
    for (unsigned i = 0; i < count; i++)
        if (options[i] == OPTION_ERROR_LOG_SIZE)
            values[i] = (void *)(uintptr_t)length;
}

static bool globals_add(struct fake_module *module);

static int load(struct fake_module *module, const void *payload, size_t size)
{
    struct {
        char magic[8];
        uint64_t kernels, count;
    } native;
    if (size == sizeof native && memcmp(payload, "FAKENATV", 8) == 0) {
        memcpy(&native, payload, sizeof native);
        module->kernels = (const struct fake_kernel *)native.kernels;
        module->kernel_count = native.count;
        return FAKE_OK;
    }
    struct fake_context *context = module->object.context;
    rnl_status status = rnl_module_load(context->inner, payload, size, NULL,
                                        &module->inner);
    if (status == RNL_ERROR_INVALID_BINARY)
        return FAKE_INVALID_IMAGE;
    if (status == RNL_OK && !globals_add(module)) {
        rnl_module_release(module->inner);
        return FAKE_OUT_OF_MEMORY;
    }
    return fake_code(context, status);
}

int fake_module_load(void **out_module, const void *image, unsigned count,
                     int *options, void **values)
{
    struct fake_context *context;
    size_t size;
    int code = fake_enter(FAKE_module_load, &context);
    if (code)
        return code;
    if (!out_module || !image)
        return FAKE_INVALID_VALUE;
    void *payload = fake_payload(image, &size, &code);
    if (!payload) {
        write_log(count, options, values,
                  code == FAKE_INVALID_PTX
                      ? "ptxas application ptx input, line 1; fatal   : "
                        "Missing .version directive at start of file"
                      : "");
        return code;
    }
    // As the real driver: when nothing runs, and nobody can submit anything.
    fake_wait_device(context);
    struct fake_module *module = fake_new(KIND_MODULE, context, sizeof *module);
    code = module ? load(module, payload, size) : FAKE_OUT_OF_MEMORY;
    if (!code)
        module->waits = fake_image_waits(image);
    free(payload);
    if (code && module)
        fake_delete(module);
    if (!code) {
        *out_module = module;
        write_log(count, options, values, "");
    }
    return code;
}

static const rnl_cpu_object *table_of(const struct fake_module *module)
{
    if (!module->inner)
        return NULL;
    struct object *object = object_find_ref(module->inner, OBJECT_MODULE);
    const struct cpu_module *native = module_native((struct module *)object);
    const rnl_cpu_object *table = native->object.table;
    object_unref(object);
    return table;
}

static bool globals_add(struct fake_module *module)
{
    const rnl_cpu_object *table = table_of(module);
    for (size_t i = 0; i < table->global_count; i++) {
        const rnl_cpu_global *global = object_file_global(table, i);
        struct fake_block block = {(uintptr_t)global->address, global->size,
                                   PLACE_GLOBAL, module->object.context};
        if (global->size && !fake_block_add(&block))
            return false;
    }
    return true;
}

static void globals_drop(struct fake_module *module)
{
    const rnl_cpu_object *table = table_of(module);
    struct fake_block block;
    for (size_t i = 0; table && i < table->global_count; i++)
        fake_block_take((uintptr_t)object_file_global(table, i)->address,
                        1u << PLACE_GLOBAL, &block);
}

void fake_module_drop(struct fake_module *module)
{
    globals_drop(module);
    while (module->functions) {
        struct fake_function_object *function = module->functions;
        module->functions = function->next;
        rnl_function_release(function->inner);
        fake_delete(function);
    }
    rnl_module_release(module->inner);
    fake_delete(module);
}

// What still runs of it is undefined with the real driver; a graph that has its
// kernels may stay. After a failure that was injected Runnel may think that
// nothing runs any more.
static bool is_used(const struct fake_module *module)
{
    bool used = false;
    if (rnl_context_synchronize(module->object.context->inner, 0) !=
        RNL_ERROR_TIMED_OUT)
        return false;
    for (const struct fake_function_object *function = module->functions;
         function && !used; function = function->next) {
        struct object *object =
            object_find_ref(function->inner, OBJECT_FUNCTION);
        used = object && object_references(object) > 2;
        if (object)
            object_unref(object);
    }
    return used;
}

int fake_module_unload(void *handle)
{
    struct fake_context *context;
    int code = fake_enter_release(FAKE_module_unload, &context);
    if (!context)
        return code;
    struct fake_module *module = fake_find(KIND_MODULE, handle);
    if (!module)
        return FAKE_INVALID_HANDLE;
    if (!atomic_load(&context->sticky) && !fake_control_failed() &&
        is_used(module))
        fake_misuse("a module is unloaded while its kernels run");
    fake_wait_context(context);
    fake_module_drop(module);
    return code;
}

// --- Functions ------------------------------------------------------------

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static rnl_status function_inner(struct fake_module *module, const char *name,
                                 rnl_function *out_inner)
{
    if (!module->kernels)
        return rnl_module_function(module->inner, name, out_inner);
    for (size_t i = 0; i < module->kernel_count; i++) {
        const struct fake_kernel *kernel = &module->kernels[i];
        if (strcmp(kernel->name, name) == 0)
            return rnl_function_create_native(
                module->object.context->inner, name, kernel->function,
                RNL_NATIVE_OPTIONS(.parameters = kernel->parameters,
                                   .parameter_count = kernel->parameter_count),
                out_inner);
    }
    return RNL_ERROR_NOT_FOUND;
}

static const char *symbol_of(const struct fake_function_object *function)
{
    return function->module->kernels ? function->info.name
                                     : function->info.symbol;
}

static int function_make(struct fake_module *module, const char *name,
                         struct fake_function_object **out_function)
{
    struct fake_function_object *function =
        fake_new(KIND_FUNCTION, module->object.context, sizeof *function);
    if (!function)
        return FAKE_OUT_OF_MEMORY;
    function->module = module;
    function->carve_out = -1;
    function->info.struct_size = sizeof function->info;
    rnl_status status = function_inner(module, name, &function->inner);
    if (status == RNL_OK)
        status = rnl_function_get_info(function->inner, &function->info);
    // The driver knows symbols, and no names as in the source.
    if (status == RNL_OK && strcmp(symbol_of(function), name) != 0)
        status = RNL_ERROR_NOT_FOUND;
    if (status != RNL_OK) {
        rnl_function_release(function->inner);
        fake_delete(function);
        return fake_code(module->object.context, status);
    }
    // HIP needs no permission for more.
    int room = (FAKE_IS_HIP ? SHARED_OPTIN : SHARED_DEFAULT) -
               (int)function->info.shared_size;
    function->max_dynamic = room > 0 ? room : 0;
    function->next = module->functions;
    module->functions = function;
    *out_function = function;
    return FAKE_OK;
}

// The same function has the same handle.
static int function_get(struct fake_module *module, const char *name,
                        void **out_function)
{
    int code = FAKE_OK;
    pthread_mutex_lock(&lock);
    struct fake_function_object *function = module->functions;
    while (function && strcmp(symbol_of(function), name) != 0)
        function = function->next;
    if (!function)
        code = function_make(module, name, &function);
    if (!code)
        *out_function = function;
    pthread_mutex_unlock(&lock);
    return code;
}

static int enter_module(enum fake_function function, void *handle,
                        struct fake_module **out_module)
{
    struct fake_context *context;
    int code = fake_enter(function, &context);
    if (code)
        return code;
    *out_module = fake_find(KIND_MODULE, handle);
    return *out_module && (*out_module)->object.context == context
               ? FAKE_OK : FAKE_INVALID_HANDLE;
}

int fake_module_function(void **out_function, void *handle, const char *name)
{
    struct fake_module *module;
    int code = enter_module(FAKE_module_function, handle, &module);
    return code ? code : function_get(module, name, out_function);
}

// "a::b" is _ZN1a1bE; a name without a namespace stays.
void fake_mangle(const char *name, char *out, size_t size)
{
    struct text text = {0};
    bool inside = strstr(name, "::") != NULL;
    text_add(&text, "%s", inside ? "_ZN" : name);
    while (inside && *name) {
        size_t length = strcspn(name, ":");
        text_add(&text, "%zu%.*s", length, (int)length, name);
        name += length;
        name += strspn(name, ":");
    }
    text_add(&text, "%s", inside ? "E" : "");
    snprintf(out, size, "%s", text_get(&text));
    text_finish(&text);
}

int fake_module_global(uint64_t *out_address, size_t *out_size, void *handle,
                       const char *name)
{
    struct fake_module *module;
    int code = enter_module(FAKE_module_global, handle, &module);
    if (code)
        return code;
    const rnl_cpu_object *table = table_of(module);
    for (size_t i = 0; table && i < table->global_count; i++) {
        const rnl_cpu_global *global = object_file_global(table, i);
        char symbol[512];
        fake_mangle(global->name, symbol, sizeof symbol);
        if (strcmp(symbol, name) != 0)
            continue;
        if (out_address)
            *out_address = (uintptr_t)global->address;
        if (out_size)
            *out_size = global->size;
        return FAKE_OK;
    }
    return FAKE_NOT_FOUND;
}

int fake_module_function_count(unsigned *out_count, void *handle)
{
    struct fake_module *module;
    int code = enter_module(FAKE_module_function_count, handle, &module);
    if (!code)
        *out_count = (unsigned)(module->kernels
                                    ? module->kernel_count
                                    : table_of(module)->kernel_count);
    return code;
}

static const char *kernel_symbol(struct fake_module *module, size_t index)
{
    return module->kernels
               ? module->kernels[index].name
               : object_file_kernel(table_of(module), index)->symbol;
}

int fake_module_functions(void **out_functions, unsigned count, void *handle)
{
    struct fake_module *module;
    unsigned all = 0;
    int code = enter_module(FAKE_module_functions, handle, &module);
    if (code)
        return code;
    all = (unsigned)(module->kernels ? module->kernel_count
                                     : table_of(module)->kernel_count);
    if (count > all)
        return FAKE_INVALID_VALUE;
    for (unsigned i = 0; i < count && !code; i++)
        code = function_get(module, kernel_symbol(module, i),
                            &out_functions[i]);
    return code;
}

// --- What functions are ---------------------------------------------------

static int enter_function(enum fake_function function, void *handle,
                          struct fake_context **out_context,
                          struct fake_function_object **out_function)
{
    int code = fake_enter(function, out_context);
    if (code)
        return code;
    *out_function = fake_find(KIND_FUNCTION, handle);
    return *out_function && (*out_function)->object.context == *out_context
               ? FAKE_OK : FAKE_INVALID_HANDLE;
}

int fake_function_name(const char **out_name, void *handle)
{
    struct fake_context *context;
    struct fake_function_object *function;
    int code = enter_function(FAKE_function_name, handle, &context, &function);
    if (!code)
        *out_name = symbol_of(function);
    return code;
}

static size_t offset_of(const rnl_function_info *info, size_t index)
{
    size_t offset = 0;
    for (size_t i = 0; i <= index; i++) {
        size_t alignment = info->parameters[i].alignment;
        alignment = alignment ? alignment : info->parameters[i].size;
        offset = (offset + alignment - 1) / alignment * alignment;
        offset += i < index ? info->parameters[i].size : 0;
    }
    return offset;
}

static size_t size_of(const rnl_parameter *parameter)
{
    return strcmp(parameter->type, FAKE_NO_BYTES) == 0 ? 0 : parameter->size;
}

int fake_function_parameter(void *handle, size_t index, size_t *out_offset,
                            size_t *out_size)
{
    struct fake_context *context;
    struct fake_function_object *function;
    int code = enter_function(FAKE_function_parameter, handle, &context,
                              &function);
    if (code)
        return code;
    if (index >= function->info.parameter_count || !out_offset)
        return FAKE_INVALID_VALUE;
    *out_offset = offset_of(&function->info, index);
    if (out_size)
        *out_size = size_of(&function->info.parameters[index]);
    return FAKE_OK;
}

int fake_function_get_attribute(int *out_value, int attribute, void *handle)
{
    struct fake_context *context;
    struct fake_function_object *function;
    int code = enter_function(FAKE_function_get_attribute, handle, &context,
                              &function);
    if (code)
        return code;
    if (attribute < 0 || attribute > 15)
        return FAKE_INVALID_VALUE;
    int values[16] = {
        [0] = (int)function->info.max_block_threads,
        [1] = (int)function->info.shared_size,
        [4] = 32,
        [5] = 90,
        [6] = 90,
        [8] = function->max_dynamic,
        [9] = function->carve_out,
        [11] = (int)function->info.cluster.x,
        [12] = (int)function->info.cluster.y,
        [13] = (int)function->info.cluster.z,
    };
    *out_value = values[attribute];
    return FAKE_OK;
}

int fake_function_set_attribute(void *handle, int attribute, int value)
{
    struct fake_context *context;
    struct fake_function_object *function;
    int code = enter_function(FAKE_function_set_attribute, handle, &context,
                              &function);
    if (code)
        return code;
    int most = SHARED_OPTIN - (int)function->info.shared_size;
    if (attribute == 8 && value >= 0 && value <= most)
        function->max_dynamic = value;
    else if (attribute == 9 && value >= -1 && value <= 100)
        function->carve_out = value;
    else if (attribute != 14)
        return FAKE_INVALID_VALUE;
    return FAKE_OK;
}

int fake_occupancy(int *out_blocks, void *handle, int threads,
                   size_t shared_size)
{
    struct fake_context *context;
    struct fake_function_object *function;
    int code = enter_function(FAKE_occupancy, handle, &context, &function);
    if (code)
        return code;
    if (threads < 1 || !out_blocks)
        return FAKE_INVALID_VALUE;
    size_t shared = shared_size + function->info.shared_size + 1024;
    int by_threads = 2048 / ((threads + 31) / 32 * 32);
    int by_shared = (int)(233472 / shared);
    if (threads > (int)function->info.max_block_threads ||
        shared_size > (size_t)function->max_dynamic)
        by_threads = 0;
    *out_blocks = by_threads < by_shared ? by_threads : by_shared;
    if (*out_blocks > 32)
        *out_blocks = 32;
    return FAKE_OK;
}
