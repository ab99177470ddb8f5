// libamdhip64 and hiprtc over libcuda and NVRTC, so that the hip backend can
// run on an NVIDIA GPU: RUNNEL_HIP and RUNNEL_HIPRTC name this library.
// OVER_CUDA and OVER_NVRTC name other files than libcuda.so.1 and libnvrtc.so.
//
// hip_calls.c has what differs in shape. A code object is a cubin inside of an
// ELF file whose metadata is made of the PTX.
#include "fake.h"
#include "hip_dialect.h"
#include "over_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/nvrtc.h"
#include "backends/cuda/ptx.h"
#include "base/alloc.h"

enum { VERSION = 70253211, DEVICES = 16, OPTIONS_MOST = 256 };

// --- Loading -----------------------------------------------------------------

static void *open_first(const char *given, const char *const *names)
{
    void *library = given ? dlopen(given, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (; !given && !library && *names; names++)
        library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return library;
}

__attribute__((constructor)) static void load(void)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    static const struct {
        const char *name;
        void *to;
    } symbols[] = {
#define SYMBOL(name, vendor, suffix, version, need, why) \
    {#vendor suffix, (void *)&over_##name},
#include "backends/cuda/symbols.def"
#undef SYMBOL
    };
    void *library = open_first(getenv("OVER_CUDA"), names);
    for (size_t i = 0; library && i < sizeof symbols / sizeof *symbols; i++)
        *(void **)symbols[i].to = dlsym(library, symbols[i].name);
    if (over_init)
        over_init(0);
}

// --- What hip_calls.c asks of a fake -----------------------------------------

int fake_version(void)
{
    return VERSION;
}

void fake_enter_as(const char *name)
{
    (void)name;
}

int fake_enter_named(const char *name)
{
    (void)name;
    return FAKE_OK;
}

int fake_device_count_now(void)
{
    int count = 0;
    return over_device_count && over_device_count(&count) == 0 ? count : 0;
}

static struct fake_context contexts[DEVICES];
static void *handles[DEVICES];

struct fake_context *fake_context_of(int device)
{
    contexts[device].device = device;
    return &contexts[device];
}

struct fake_context *fake_current(void)
{
    void *handle = NULL;
    over_context_get(&handle);
    return handle;
}

bool fake_is_ordinary(const void *pointer)
{
    unsigned type = 0;
    int attribute = DRIVER_POINTER_MEMORY_TYPE;
    void *value = &type;
    over_pointer_attributes(1, &attribute, &value, (uintptr_t)pointer);
    return type == 0;
}

// There is no PTX here.
void *fake_condition_kernel(size_t *out_size, int *out_code)
{
    *out_size = 0;
    *out_code = FAKE_INVALID_IMAGE;
    return NULL;
}

const char *fake_arch(int device)
{
    enum { MAJOR = 75, MINOR = 76 };
    static _Thread_local char arch[32];
    int major = 0, minor = 0;
    over_device_attribute(&major, MAJOR, device);
    over_device_attribute(&minor, MINOR, device);
    snprintf(arch, sizeof arch, "sm_%d%d", major, minor);
    return arch;
}

// --- Functions that differ in more than shape --------------------------------

int fake_driver_version(int *out_version)
{
    *out_version = VERSION;
    return FAKE_OK;
}

int fake_device_count(int *out_count)
{
    *out_count = fake_device_count_now();
    return *out_count > 0 ? FAKE_OK : FAKE_NO_DEVICE;
}

int fake_device_attribute(int *out_value, int attribute, int device)
{
    int number = fake_attribute_of(attribute);
    return number ? over_device_attribute(out_value, number, device)
                  : FAKE_INVALID_VALUE;
}

// Each device once; hip_calls.c asks each time.
int fake_primary_retain(void **out_context, int device)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int code = FAKE_OK;
    pthread_mutex_lock(&lock);
    if (!handles[device])
        code = over_primary_retain(&handles[device], device);
    *out_context = handles[device];
    pthread_mutex_unlock(&lock);
    return code;
}

// A thread has a current device from its beginning on.
int fake_context_device(int *out_device)
{
    void *context;
    *out_device = 0;
    if (fake_current())
        return over_context_device(out_device);
    int code = fake_primary_retain(&context, 0);
    return code ? code : over_context_set(context);
}

int fake_stream_context(void *stream, void **out_context)
{
    void *context = NULL;
    int code = over_stream_context(stream, &context);
    for (int i = 0; i < DEVICES && !code; i++)
        if (handles[i] == context)
            *out_context = fake_context_of(i);
    return code;
}

int fake_module_load(void **out_module, const void *image, unsigned count,
                     int *options, void **values)
{
    size_t size;
    int code;
    void *cubin = fake_payload(image, &size, &code);
    (void)count, (void)options, (void)values;
    if (cubin)
        code = over_module_load(out_module, cubin, 0, NULL, NULL);
    free(cubin);
    return code;
}

// HIP needs no permission for more shared memory.
int fake_module_function(void **out_function, void *module, const char *name)
{
    enum { OPTIN = 97 };
    int most = 0, fixed = 0, device = 0;
    int code = over_module_function(out_function, module, name);
    if (code)
        return code;
    over_context_device(&device);
    over_device_attribute(&most, OPTIN, device);
    over_function_get_attribute(&fixed, DRIVER_FUNCTION_SHARED,
                                *out_function);
    return over_function_set_attribute(
        *out_function, DRIVER_FUNCTION_MAX_DYNAMIC, most - fixed);
}

// HIP's context is a number.
int fake_graph_add_values(void **out_node, void *graph, void *const *after,
                          size_t count, const struct driver_values_node *params)
{
    struct driver_values_node own = *params;
    own.context = fake_current();
    return over_graph_add_values(out_node, graph, after, count, &own);
}

int fake_exec_set_values(void *exec, void *node,
                         const struct driver_values_node *params)
{
    struct driver_values_node own = *params;
    own.context = fake_current();
    return over_exec_set_values(exec, node, &own);
}

// --- hiprtc ------------------------------------------------------------------

#define SYMBOL(name, vendor, type, parameters) \
    FAKE_EXPORT type rtc_##name parameters __asm__(#vendor);
#include "compiler/hiprtc_table.h"
#undef SYMBOL

static struct {
#define SYMBOL(name, vendor, need, type, parameters) type (*name) parameters;
#include "backends/cuda/nvrtc.def"
#undef SYMBOL
} nvrtc;

static void load_nvrtc(void)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12",
                                        "libnvrtc.so", NULL};
    void *library = open_first(getenv("OVER_NVRTC"), names);
    if (!library) {
        fputs("over_cuda: NVRTC was not found\n", stderr);
        abort();
    }
#define SYMBOL(name, vendor, need, type, parameters) \
    *(void **)&nvrtc.name = dlsym(library, #vendor);
#include "backends/cuda/nvrtc.def"
#undef SYMBOL
}

// The option for the toolkit's headers, beside NVRTC. NULL: there are none.
static const char *include_option(void)
{
    static char option[4200];
    Dl_info info;
    char path[4096];
    if (!dladdr(*(void **)&nvrtc.create, &info) ||
        !realpath(info.dli_fname, path))
        return NULL;
    char *end = strrchr(path, '/');
    *(end ? end : path) = 0;
    snprintf(option, sizeof option, "--include-path=%s/../include", path);
    return option;
}

const char *rtc_error_text(int status)
{
    return nvrtc.error_text ? nvrtc.error_text(status) : "";
}

int rtc_version(int *out_major, int *out_minor)
{
    *out_major = 9;  // as hiprtc always says
    *out_minor = 0;
    return 0;
}

int rtc_create(void **out_program, const char *source, const char *name,
               int count, const char *const *headers, const char *const *names)
{
    load_nvrtc();
    return nvrtc.create(out_program, hip_behind_prelude(source), name,
                        hip_own_headers(count, names), headers, names);
}

int rtc_destroy(void **program)
{
    return nvrtc.destroy(program);
}

int rtc_add_expression(void *program, const char *expression)
{
    return nvrtc.add_expression(program, expression);
}

int rtc_compile(void *program, int count, const char *const *options)
{
    const char *taken[OPTIONS_MOST + 1], *include = include_option();
    int kept = 0;
    for (int i = 0; i < count && kept < OPTIONS_MOST; i++) {
        const char *option = hip_starts(options[i], "--gpu-architecture=")
                                 ? options[i] : hip_option_of(options[i]);
        if (option)
            taken[kept++] = option;
    }
    if (include)
        taken[kept++] = include;
    return nvrtc.compile(program, kept, taken);
}

// As clang has it.
static int get_log(void *program, struct text *out_log)
{
    size_t size = 0;
    int code = nvrtc.log_size(program, &size);
    char *log = calloc(1, size + 1);
    if (!code)
        code = log ? nvrtc.log(program, log) : 1;
    if (!code)
        nvrtc_translate(log, out_log);
    free(log);
    return code;
}

int rtc_log_size(void *program, size_t *out_size)
{
    struct text log = {0};
    int code = get_log(program, &log);
    *out_size = log.length > 0 ? log.length + 1 : 0;
    text_finish(&log);
    return code;
}

int rtc_log(void *program, char *out)
{
    struct text log = {0};
    int code = get_log(program, &log);
    strcpy(out, text_get(&log));
    text_finish(&log);
    return code;
}

int rtc_lowered_name(void *program, const char *expression,
                     const char **out_name)
{
    return nvrtc.lowered_name(program, expression, out_name);
}

// The kernels of the PTX around the cubin.
static void *wrap(const char *ptx, const void *cubin, size_t size,
                  size_t *out_size)
{
    enum { KERNELS_MOST = 1024, PARAMETERS_MOST = 8192 };
    static struct fake_kernel kernels[KERNELS_MOST];
    static rnl_parameter parameters[PARAMETERS_MOST];
    struct image_maker maker = {.failed = false};
    struct image image;
    struct image_item item;
    void *table = NULL;
    size_t table_size = 0, count = 0, used = 0;
    ptx_read(ptx, &maker);
    if (!image_finish(&maker, NULL, 0, &table, &table_size) ||
        image_open(table, table_size, &image))
        return NULL;
    for (size_t i = 0; image_item(&image, i, &item) && count < KERNELS_MOST;
         i++) {
        if (item.kind != IMAGE_KERNEL)
            continue;
        kernels[count++] = (struct fake_kernel){
            .name = item.symbol,
            .parameters = parameters + used,
            .parameter_count = item.parameter_count,
        };
        for (size_t k = 0; k < item.parameter_count; k++)
            parameters[used++ % PARAMETERS_MOST] =
                image_parameter(&image, &item, k);
    }
    void *object = fake_code_object(cubin, size, kernels, count, out_size);
    mem_release(table, table_size);
    return object;
}

static int make_code(void *program, void **out_code, size_t *out_size)
{
    size_t ptx_size = 0, size = 0;
    int code = nvrtc.ptx_size(program, &ptx_size);
    if (!code)
        code = nvrtc.cubin_size(program, &size);
    char *ptx = calloc(1, ptx_size + 1), *cubin = malloc(size + 1);
    if (!code && (!ptx || !cubin))
        code = 1;
    if (!code)
        code = nvrtc.ptx(program, ptx);
    if (!code)
        code = nvrtc.cubin(program, cubin);
    *out_code = code ? NULL : wrap(ptx, cubin, size, out_size);
    free(ptx);
    free(cubin);
    return code ? code : *out_code ? 0 : 1;
}

int rtc_code_size(void *program, size_t *out_size)
{
    void *made;
    int code = make_code(program, &made, out_size);
    free(made);
    return code;
}

int rtc_code(void *program, char *out)
{
    void *made;
    size_t size;
    int code = make_code(program, &made, &size);
    if (!code)
        memcpy(out, made, size);
    free(made);
    return code;
}

FAKE_EXPORT int amd_comgr_get_isa_count(size_t *out_count);
FAKE_EXPORT int amd_comgr_get_isa_name(size_t index, const char **out_name);

int amd_comgr_get_isa_count(size_t *out_count)
{
    *out_count = (size_t)fake_device_count_now();
    return 0;
}

int amd_comgr_get_isa_name(size_t index, const char **out_name)
{
    static char name[64];
    snprintf(name, sizeof name, "amdgcn-amd-amdhsa--%s",
             fake_arch((int)index));
    *out_name = name;
    return 0;
}
