// Modules and functions. The code of a function is loaded when the function is
// made and never at a launch. If the driver loads lazily, reading an attribute
// forces the loading.
#include "backends/cudalike/module/module.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/sync_gate.h"
#include "backends/cudalike/driver/image.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/idle_free.h"
#include "core/module/module.h"

#include <string.h>

#define LOG_SIZE 8192
#define FUNCTIONS_MAX 65536
#define PARAMETERS_MAX 4096

static struct gpu_context *gpu_of_module(const struct module *module)
{
    return gpu_of(module->object.context);
}

// --- Refusing ----------------------------------------------------------------

static rnl_status refuse_binary(const struct context *context,
                                const char *fault)
{
    return fail(RNL_ERROR_INVALID_BINARY, "the binary is none for %s: %s",
                context->backend->api, fault);
}

// A failure to load is the binary's fault, unless memory is short or the device
// is lost.
static rnl_status refuse_load(struct context *context, int code,
                              const char *log)
{
    const struct driver *driver = gpu_of(context)->driver;
    const char *name = NULL, *text = NULL;
    if (driver->is_sticky(code) ||
        driver->status(code) == RNL_ERROR_OUT_OF_MEMORY)
        return driver_fail(context, code, "to load a module");
    driver->call.error_name(code, &name);
    driver->call.error_text(code, &text);
    log += strspn(log, " \n");
    fail(RNL_ERROR_INVALID_BINARY,
         "the driver does not load the binary: %s (%s)%s%.*s",
         text ? text : "it does not say why", name ? name : "no name",
         *log ? ": " : "", (int)strcspn(log, "\n"), log);
    fail_set_native(code, name ? name : "");
    fail_set_log(log);
    return RNL_ERROR_INVALID_BINARY;
}

static rnl_status refuse_memory(void)
{
    return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a module");
}

// --- Loading -----------------------------------------------------------------

static rnl_status load_code(struct context *context, const void *data,
                            void **out_handle)
{
    struct gpu_context *gpu = gpu_of(context);
    char *log = mem_allocate(LOG_SIZE);
    if (!log)
        return refuse_memory();
    int options[] = {DRIVER_LOAD_ERROR_LOG, DRIVER_LOAD_ERROR_LOG_SIZE};
    void *values[] = {log, (void *)(uintptr_t)(LOG_SIZE - 1)};
    void *before = current_enter(gpu);
    sync_gate_enter(gpu);
    int code = call_of(gpu)->module_load(out_handle, data, 2, options, values);
    sync_gate_leave(gpu);
    rnl_status status = code ? refuse_load(context, code, log) : RNL_OK;
    current_back(gpu, before);
    mem_release(log, LOG_SIZE);
    return status;
}

// The driver gets no size, so the copy of the assembly ends in a zero.
static rnl_status load_assembly(struct module *module, const char *text,
                                size_t size, struct image_maker *maker)
{
    struct context *context = module->object.context;
    char *copy = mem_allocate(size + 1);
    if (!copy)
        return refuse_memory();
    memcpy(copy, text, size);
    if (maker)
        gpu_of(context)->driver->describe(IMAGE_ASSEMBLY, copy, size, maker);
    rnl_status status =
        load_code(context, copy, &gpu_module_of(module)->handle);
    mem_release(copy, size + 1);
    return status;
}

// `maker`: receives the facts that the image itself contains; or NULL.
static rnl_status load_vendor(struct module *module, const void *data,
                              size_t size, struct image_maker *maker)
{
    struct context *context = module->object.context;
    const struct driver *driver = gpu_of(context)->driver;
    enum image_form form;
    const char *fault = image_vendor_fault(driver->image, data, size, &form);
    if (fault)
        return refuse_binary(context, fault);
    // A fat binary may be compressed, so the search could miss vprintf.
    if (form == IMAGE_FATBIN || memmem(data, size, "vprintf", 7))
        atomic_store(&gpu_of(context)->prints, true);
    if (form == IMAGE_ASSEMBLY)
        return load_assembly(module, data, size, maker);
    if (maker)
        driver->describe(form, data, size, maker);
    return load_code(context, data, &gpu_module_of(module)->handle);
}

static bool add_functions(const struct driver_functions *call, void *handle,
                          unsigned count, struct image_maker *maker)
{
    void **functions = mem_allocate(count * sizeof *functions);
    bool known =
        functions && call->module_functions(functions, count, handle) == 0;
    for (unsigned i = 0; known && i < count; i++) {
        const char *name = NULL;
        if (call->function_name(&name, functions[i]) == 0 && name && *name)
            image_add(maker, IMAGE_KERNEL, NULL, name);
    }
    mem_release(functions, count * sizeof *functions);
    return known;
}

// Adds the kernels that the driver lists.
static void ask_driver(struct module *module, struct image_maker *maker)
{
    struct gpu_context *gpu = gpu_of_module(module);
    const struct driver_functions *call = call_of(gpu);
    void *handle = gpu_module_of(module)->handle;
    unsigned count = 0;
    if (!call->module_function_count || !call->module_functions ||
        !call->function_name)
        module->names_lack = gpu->driver->names_lack;
    else if (call->module_function_count(&count, handle) != 0 ||
             count > FUNCTIONS_MAX ||
             (count > 0 && !add_functions(call, handle, count, maker)))
        module->names_lack = "the driver did not tell them";
}

static rnl_status make_table(struct module *module, struct image_maker *maker)
{
    struct gpu_module *own = gpu_module_of(module);
    if (maker->entry_count == 0) {
        struct gpu_context *gpu = gpu_of_module(module);
        void *before = current_enter(gpu);
        ask_driver(module, maker);
        current_back(gpu, before);
    }
    if (!image_finish(maker, NULL, 0, &own->table, &own->table_size))
        return refuse_memory();
    const char *fault = image_open(own->table, own->table_size, &own->image);
    return fault ? fail(RNL_ERROR_INTERNAL, "the table of a module: %s", fault)
                 : RNL_OK;
}

static void unload(struct gpu_context *gpu, void *handle)
{
    call_of(gpu)->module_unload(handle);
}

static void drop_code(struct module *module)
{
    struct gpu_module *own = gpu_module_of(module);
    if (own->handle)
        free_when_idle(module->object.context, unload, own->handle);
    own->handle = NULL;
    mem_release(own->table, own->table_size);
    own->table = NULL;
}

static rnl_status init_foreign(struct module *module)
{
    struct image_maker maker = {0};
    rnl_status status =
        load_vendor(module, module->binary, module->binary_size, &maker);
    if (status == RNL_OK)
        return make_table(module, &maker);
    image_abandon(&maker);
    return status;
}

static rnl_status init_stored(struct module *module)
{
    struct gpu_module *own = gpu_module_of(module);
    const char *fault =
        image_open(module->binary, module->binary_size, &own->image);
    if (fault)
        return refuse_binary(module->object.context, fault);
    return load_vendor(module, own->image.vendor, own->image.vendor_size,
                       NULL);
}

rnl_status gpu_module_init(struct module *module)
{
    bool stored = image_is_stored(module->binary, module->binary_size);
    rnl_status status = stored ? init_stored(module) : init_foreign(module);
    if (status != RNL_OK)
        drop_code(module);
    return status;
}

// The module's kernels may still run.
void gpu_module_finish(struct module *module)
{
    drop_code(module);
}

// --- Names -------------------------------------------------------------------

const char *gpu_module_kernel(struct module *module, size_t index)
{
    const struct image *image = &gpu_module_of(module)->image;
    struct image_item item;
    for (size_t i = 0; image_item(image, i, &item); i++)
        if (item.kind == IMAGE_KERNEL && item.name[0] && index-- == 0)
            return item.name;
    return NULL;
}

// --- Code --------------------------------------------------------------------

// The vendor's code inside the binary. The binary was checked when loaded or
// made.
static void find_code(const struct module *module, const char **out_data,
                      size_t *out_size)
{
    struct image image;
    *out_data = module->binary;
    *out_size = module->binary_size;
    if (image_is_stored(module->binary, module->binary_size) &&
        !image_open(module->binary, module->binary_size, &image)) {
        *out_data = image.vendor;
        *out_size = image.vendor_size;
    }
}

static const char *advice_for(rnl_code_kind kind, enum image_form form)
{
    if (kind == RNL_CODE_PTX && form == IMAGE_ELF)
        return ": compile with -arch=compute_… for PTX alone, or have it "
               "dumped (RNL_DUMP_ASSEMBLY)";
    if (kind == RNL_CODE_CUBIN && form == IMAGE_ASSEMBLY)
        return ": the driver assembles PTX and keeps the outcome to itself; "
               "compile with -arch=sm_… for a cubin";
    return "";
}

rnl_status gpu_module_code(struct module *module, rnl_code_kind kind,
                           const void **out_data, size_t *out_size)
{
    static const rnl_code_kind kinds[] = {
        [IMAGE_ELF] = RNL_CODE_CUBIN,
        [IMAGE_FATBIN] = RNL_CODE_FATBIN,
        [IMAGE_ASSEMBLY] = RNL_CODE_PTX,
    };
    const char *data;
    size_t size;
    enum image_form form;
    find_code(module, &data, &size);
    image_vendor_fault(gpu_of_module(module)->driver->image, data, size, &form);
    if (kinds[form] != kind)
        return code_refuse(module, kind, kinds[form], advice_for(kind, form));
    while (form == IMAGE_ASSEMBLY && size > 0 && data[size - 1] == '\0')
        size--;
    *out_data = data;
    *out_size = size;
    return RNL_OK;
}

// --- Variables ---------------------------------------------------------------

// Finds the vendor's symbol for the name; the name itself if the table has
// none.
static bool find(struct module *module, enum image_kind kind,
                 const char *name, struct image_item *item)
{
    *item = (struct image_item){.kind = kind, .name = name, .symbol = name};
    return image_find(&gpu_module_of(module)->image, kind, name, item);
}

static rnl_status refuse_global(struct module *module, const char *name)
{
    struct text names = {0};
    struct image_item item;
    const struct image *image = &gpu_module_of(module)->image;
    for (size_t i = 0; image_item(image, i, &item); i++)
        if (item.kind == IMAGE_VARIABLE && item.name[0])
            name_add(&names, item.name);
    return name_refuse("variable", name, &names,
                       "is the name of any other known");
}

rnl_status gpu_module_global(struct module *module, const char *name,
                             struct memory *out_memory, size_t *out_size)
{
    struct gpu_context *gpu = gpu_of_module(module);
    struct image_item item;
    uint64_t address = 0;
    find(module, IMAGE_VARIABLE, name, &item);
    if (!item.symbol[0])  // the driver has no answer for ""
        return refuse_global(module, name);
    void *before = current_enter(gpu);
    int code = call_of(gpu)->module_global(
        &address, out_size, gpu_module_of(module)->handle, item.symbol);
    current_back(gpu, before);
    // The driver rejects some names as invalid instead of not found.
    rnl_status status = gpu->driver->status(code);
    if (status == RNL_ERROR_NOT_FOUND || status == RNL_ERROR_INVALID_ARGUMENT)
        return refuse_global(module, name);
    if (code != 0)
        return driver_fail(module->object.context, code,
                           "to find a variable");
    *out_memory = (struct memory){.device = (void *)(uintptr_t)address};
    return RNL_OK;
}

// --- Functions ---------------------------------------------------------------

static rnl_status allocate_parameters(struct gpu_function *own, size_t count)
{
    if (count == 0)
        return RNL_OK;
    own->parameters = mem_allocate(count * sizeof *own->parameters);
    if (!own->parameters)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for the parameters of a function");
    own->parameter_count = count;
    return RNL_OK;
}

static rnl_status table_parameters(struct gpu_function *own,
                                   const struct image *image,
                                   const struct image_item *item)
{
    rnl_status status = allocate_parameters(own, item->parameter_count);
    for (size_t i = 0; status == RNL_OK && i < own->parameter_count; i++)
        own->parameters[i] = image_parameter(image, item, i);
    return status;
}

// The largest power of 2 that divides both numbers. The true alignment may be
// smaller, but both give the same offset. An empty struct is at offset 0.
static uint32_t alignment_for(size_t size, size_t offset)
{
    size_t both = size | offset;
    return both ? (uint32_t)(both & -both) : 1;
}

// The driver knows only sizes and offsets.
static rnl_status driver_parameters(struct function *function,
                                    const char *name)
{
    struct gpu_context *gpu = gpu_of(function->object.context);
    struct gpu_function *own = gpu_function_of(function);
    driver_function_parameter_fn *ask = call_of(gpu)->function_parameter;
    size_t count = 0, offset, size;
    if (!ask)
        return fail(RNL_ERROR_UNSUPPORTED,
                    "what parameters '%s' has cannot be learned from this "
                    "binary: %s", name, gpu->driver->parameters_lack);
    while (count < PARAMETERS_MAX &&
           ask(own->handle, count, &offset, &size) == 0)
        count++;
    rnl_status status = allocate_parameters(own, count);
    for (size_t i = 0; status == RNL_OK && i < own->parameter_count; i++) {
        ask(own->handle, i, &offset, &size);
        own->parameters[i] = (rnl_parameter){
            .kind = RNL_VALUE_UNKNOWN, .size = (uint32_t)size,
            .alignment = alignment_for(size, offset), .type = ""};
    }
    return status;
}

// True if the driver has the values at the offsets that the library computes.
static bool offsets_agree(const struct function *function)
{
    const struct gpu_function *own = function_native((struct function *)
                                                     function);
    driver_function_parameter_fn *ask =
        call_of(gpu_of(function->object.context))->function_parameter;
    size_t end = 0, offset, size;
    for (size_t i = 0; i < own->parameter_count; i++) {
        const rnl_parameter *parameter = &own->parameters[i];
        if (!ask || ask(own->handle, i, &offset, &size) != 0 ||
            offset != parameter_offset(parameter, end) ||
            size != parameter->size)
            return false;
        end = offset + size;
    }
    return true;
}

static int get_attribute(const struct function *function, int attribute)
{
    const struct gpu_context *gpu = gpu_of(function->object.context);
    const struct gpu_function *own = function_native((struct function *)
                                                     function);
    int value = 0;
    int code = call_of(gpu)->function_get_attribute(&value, attribute,
                                                    own->handle);
    return code == 0 && value > 0 ? value : 0;
}

static void get_facts(struct function *function,
                      const struct image_item *item,
                      struct function_facts *out_facts)
{
    struct gpu_function *own = gpu_function_of(function);
    atomic_store(&own->carveout, RNL_CARVEOUT_DEFAULT);
    atomic_store(&own->dynamic, (uint32_t)get_attribute(
                                    function, DRIVER_FUNCTION_MAX_DYNAMIC));
    *out_facts = (struct function_facts){
        .name = item->name,
        .symbol = item->symbol,
        .parameters = own->parameters,
        .parameter_count = own->parameter_count,
        .max_block_threads = (uint32_t)get_attribute(
            function, DRIVER_FUNCTION_MAX_THREADS),
        .registers =
            (uint32_t)get_attribute(function, DRIVER_FUNCTION_REGISTERS),
        .shared_size = (size_t)get_attribute(function, DRIVER_FUNCTION_SHARED),
        .local_size = (size_t)get_attribute(function, DRIVER_FUNCTION_LOCAL),
        .constant_size =
            (size_t)get_attribute(function, DRIVER_FUNCTION_CONSTANT),
        .packs = offsets_agree(function),
    };
    if (function->object.context->device->info.max_cluster_blocks > 1)
        out_facts->cluster = (rnl_dim3){
            (uint32_t)get_attribute(function, DRIVER_FUNCTION_CLUSTER_X),
            (uint32_t)get_attribute(function, DRIVER_FUNCTION_CLUSTER_Y),
            (uint32_t)get_attribute(function, DRIVER_FUNCTION_CLUSTER_Z)};
}

// With the context current.
static rnl_status init_function(struct function *function, const char *name,
                                struct function_facts *out_facts)
{
    struct module *module = function->module;
    struct context *context = function->object.context;
    struct gpu_context *gpu = gpu_of(context);
    struct gpu_function *own = gpu_function_of(function);
    struct image_item item;
    find(module, IMAGE_KERNEL, name, &item);
    int code = call_of(gpu)->module_function(
        &own->handle, gpu_module_of(module)->handle, item.symbol);
    if (gpu->driver->status(code) == RNL_ERROR_NOT_FOUND)
        return RNL_ERROR_NOT_FOUND;
    if (code != 0)
        return driver_fail(context, code, "to find a function");
    own->waits = image_waits(&gpu_module_of(module)->image);
    rnl_status status =
        item.typed ? table_parameters(own, &gpu_module_of(module)->image,
                                      &item)
                   : driver_parameters(function, name);
    if (status == RNL_OK)
        get_facts(function, &item, out_facts);
    return status;
}

rnl_status gpu_function_init(struct function *function, const char *name,
                             struct function_facts *out_facts)
{
    struct gpu_context *gpu = gpu_of(function->object.context);
    void *before = current_enter(gpu);
    rnl_status status = init_function(function, name, out_facts);
    current_back(gpu, before);
    return status;
}

void gpu_function_finish(struct function *function)
{
    struct gpu_function *own = gpu_function_of(function);
    mem_release(own->parameters,
                own->parameter_count * sizeof *own->parameters);
    own->parameters = NULL;
}

// --- Occupancy ---------------------------------------------------------------

static int set_carveout(struct function *function)
{
    const struct gpu_context *gpu = gpu_of(function->object.context);
    struct gpu_function *own = gpu_function_of(function);
    int wanted = atomic_load(&function->carveout);
    if (atomic_load(&own->carveout) == wanted)
        return 0;
    int code = call_of(gpu)->function_set_attribute(
        own->handle, DRIVER_FUNCTION_CARVEOUT, wanted);
    if (code == 0)
        atomic_store(&own->carveout, wanted);
    return code;
}

rnl_status gpu_function_occupancy(struct function *function,
                                  uint32_t block_threads, size_t shared_size,
                                  struct occupancy *out_occupancy)
{
    struct context *context = function->object.context;
    struct gpu_context *gpu = gpu_of(context);
    struct gpu_function *own = gpu_function_of(function);
    int blocks = 0;
    void *before = current_enter(gpu);
    int code = set_carveout(function);
    if (code == 0)
        code = gpu_allow_shared(function, shared_size);
    if (code == 0)
        code = call_of(gpu)->occupancy(&blocks, own->handle,
                                       (int)block_threads, shared_size);
    current_back(gpu, before);
    if (code != 0)
        return driver_fail(context, code, "to tell what can be resident");
    out_occupancy->blocks = blocks > 0 ? (uint32_t)blocks : 0;
    out_occupancy->cooperative = (uint64_t)out_occupancy->blocks *
                                 context->device->info.multiprocessors;
    return RNL_OK;
}

int gpu_allow_shared(struct function *function, size_t size)
{
    const struct gpu_context *gpu = gpu_of(function->object.context);
    struct gpu_function *own = gpu_function_of(function);
    if (size <= atomic_load_explicit(&own->dynamic, memory_order_relaxed))
        return 0;
    void *before = current_enter(gpu);
    int code = call_of(gpu)->function_set_attribute(
        own->handle, DRIVER_FUNCTION_MAX_DYNAMIC, (int)size);
    current_back(gpu, before);
    if (code == 0)
        atomic_store_explicit(&own->dynamic, (uint32_t)size,
                              memory_order_relaxed);
    return code;
}
