// NVRTC and hiprtc of the fakes: the library inside compiles kernels for the
// cpu.
#include "fake.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "hip_dialect.h"

#include "backends/cpu/jit/module.h"
#include "base/text.h"
#include "core/backend.h"
#include "core/object/handle.h"
#include "core/object/object.h"

#ifdef FAKE_HIP
#define SYMBOL(name, vendor, type, parameters) \
    FAKE_EXPORT type rtc_##name parameters __asm__(#vendor);
#include "compiler/hiprtc_table.h"
#define CALLED(name) "hiprtc" name
#else
#define SYMBOL(name, vendor, need, type, parameters) \
    FAKE_EXPORT type rtc_##name parameters __asm__(#vendor);
#include "backends/cuda/nvrtc.def"
#define CALLED(name) "nvrtc" name
#endif
#undef SYMBOL

enum {
    OK = 0,
    NO_MEMORY = 1,
    INVALID_INPUT = 3,
    INVALID_PROGRAM = 4,
    INVALID_OPTION = 5,
    FAILED = 6,
    NO_NAMES_BEFORE = 9,
    UNKNOWN_NAME = 10,
};

enum { LIST_MOST = 256 };

// Strings of the program's own.
struct list {
    char *items[LIST_MOST];
    size_t count;
};

struct program {
    uint32_t magic;
    char *source, *name;
    struct list headers, header_names, expressions;
    bool wants_code;
    rnl_module module;
    char *log, *ptx;
    void *cubin;
    size_t cubin_size;
    struct list lowered;
};

#ifdef FAKE_HIP
// What the real one is made with.
int amd_comgr_get_isa_count(size_t *out_count);
int amd_comgr_get_isa_name(size_t index, const char **out_name);

const char *fake_arch(int device)
{
    const char *arch = getenv("RUNNEL_FAKE_ARCH");
    (void)device;
    return !arch                     ? "gfx90a:sramecc+:xnack-"
           : strcmp(arch, "none") == 0 ? ""
                                       : arch;
}

#endif

static const uint32_t magic = 0x6e767274;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static rnl_context compiler;

static bool list_add(struct list *list, const char *text)
{
    if (list->count == LIST_MOST)
        return false;
    char *copy = strdup(text);
    list->items[list->count] = copy;
    list->count += copy != NULL;
    return copy != NULL;
}

static void list_finish(struct list *list)
{
    while (list->count)
        free(list->items[--list->count]);
}

static struct program *program_of(void *handle)
{
    struct program *program = handle;
    return program && program->magic == magic ? program : NULL;
}

// --- Programs ---------------------------------------------------------------

const char *rtc_error_text(int status)
{
    static const char *const words[] = {
        "NVRTC_SUCCESS", "NVRTC_ERROR_OUT_OF_MEMORY",
        "NVRTC_ERROR_PROGRAM_CREATION_FAILURE", "NVRTC_ERROR_INVALID_INPUT",
        "NVRTC_ERROR_INVALID_PROGRAM", "NVRTC_ERROR_INVALID_OPTION",
        "NVRTC_ERROR_COMPILATION", "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE",
        "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
        "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
        "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
        "NVRTC_ERROR_INTERNAL_ERROR",
    };
    return status >= 0 && status < (int)(sizeof words / sizeof *words)
               ? words[status] : "NVRTC_ERROR unknown";
}

int rtc_version(int *out_major, int *out_minor)
{
    int code = fake_enter_named(CALLED("Version"));
    *out_major = FAKE_IS_HIP ? 9 : 13;  // hiprtc never says another one
    *out_minor = 0;
    return code;
}

#ifndef FAKE_HIP
// RUNNEL_FAKE_ARCH: the newest that it knows.
static int newest(void)
{
    const char *value = getenv("RUNNEL_FAKE_ARCH");
    return value ? atoi(value) : 90;
}

static const int known[] = {75, 80, 86, 87, 89, 90};

int rtc_target_count(int *out_count)
{
    int code = fake_enter_named(CALLED("GetNumSupportedArchs"));
    *out_count = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        *out_count += known[i] <= newest();
    return code;
}

int rtc_targets(int *out_targets)
{
    int code = fake_enter_named(CALLED("GetSupportedArchs")), count = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] <= newest())
            out_targets[count++] = known[i];
    return code;
}
#endif

static void program_free(struct program *program)
{
    list_finish(&program->headers);
    list_finish(&program->header_names);
    list_finish(&program->expressions);
    list_finish(&program->lowered);
    rnl_module_release(program->module);
    free(program->source);
    free(program->name);
    free(program->log);
    free(program->ptx);
    free(program->cubin);
    program->magic = 0;
    free(program);
}

// A compiler gets none of the environment's words, keeps nothing in the user's
// home and leaves no core behind.
static bool is_alone(void)
{
    struct rlimit core;
    const char *cache = getenv("AMD_COMGR_CACHE");
    return !getenv("HIPRTC_COMPILE_OPTIONS_APPEND") &&
           !getenv("HIPRTC_LINK_OPTIONS_APPEND") && cache &&
           strcmp(cache, "0") == 0 && getrlimit(RLIMIT_CORE, &core) == 0 &&
           core.rlim_cur == 0;
}

int rtc_create(void **out_program, const char *source, const char *name,
                 int count, const char *const *headers,
                 const char *const *names)
{
    int code = fake_enter_named(CALLED("CreateProgram"));
    if (code)
        return code;
    if (FAKE_IS_HIP && !is_alone())
        return INVALID_INPUT;
    struct program *program = calloc(1, sizeof *program);
    if (!program)
        return NO_MEMORY;
    program->magic = magic;
    program->source =
        strdup(FAKE_IS_HIP ? hip_behind_prelude(source) : source);
    program->name = strdup(name ? name : "default_program");
    bool made = program->source && program->name;
    if (FAKE_IS_HIP)
        count = hip_own_headers(count, names);
    for (int i = 0; i < count && made; i++)
        made = list_add(&program->headers, headers[i]) &&
               list_add(&program->header_names, names[i]);
    if (!made) {
        program_free(program);
        return NO_MEMORY;
    }
    *out_program = program;
    return OK;
}

int rtc_destroy(void **handle)
{
    int code = fake_enter_named(CALLED("DestroyProgram"));
    struct program *program = program_of(*handle);
    if (!program)
        return INVALID_PROGRAM;
    program_free(program);
    *handle = NULL;
    return code;
}

int rtc_add_expression(void *handle, const char *expression)
{
    int code = fake_enter_named(CALLED("AddNameExpression"));
    struct program *program = program_of(handle);
    if (code || !program)
        return code ? code : INVALID_PROGRAM;
    return list_add(&program->expressions, expression) ? OK : NO_MEMORY;
}

// --- Compiling --------------------------------------------------------------

static bool starts(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

#ifdef FAKE_HIP
// As hiprtc, which ends the process for an architecture that it does not know.
static void check_arch(const char *option)
{
    const char *arch = strchr(option, '=') + 1;
    size_t count = 0;
    const char *isa;
    amd_comgr_get_isa_count(&count);
    for (size_t i = 0; i < count; i++) {
        amd_comgr_get_isa_name(i, &isa);
        const char *name = strrchr(isa, '-') + 1;
        if (strncmp(arch, name, strlen(name)) == 0)
            return;
    }
    if (fake_version() < 70000000)
        abort();
}

static size_t take_options(struct program *program, int count,
                           const char *const *options, const char **taken)
{
    size_t kept = 0;
    program->wants_code = true;
    for (int i = 0; i < count; i++) {
        const char *option = hip_option_of(options[i]);
        if (starts(options[i], "--gpu-architecture="))
            check_arch(options[i]);
        if (option && kept < LIST_MOST)
            taken[kept++] = option;
    }
    return kept;
}
#else
// What is for NVRTC and its toolkit alone is left out: the target, and the
// toolkit's headers, which runnel-cc has its own of.
static bool is_for_nvrtc(const char *option)
{
    return starts(option, "--gpu-architecture") || starts(option, "-arch") ||
           starts(option, "-I/usr/local/cuda") || starts(option, "-I/opt/cuda");
}

static size_t take_options(struct program *program, int count,
                           const char *const *options, const char **taken)
{
    size_t kept = 0;
    program->wants_code = false;
    for (int i = 0; i < count; i++) {
        const char *option = options[i];
        if (!is_for_nvrtc(option) && kept < LIST_MOST) {
            taken[kept++] = option;
            continue;
        }
        if (!strchr(option, '=') && option[1] != 'I' && i + 1 < count)
            option = options[++i];
        program->wants_code |= strstr(option, "sm_") != NULL;
    }
    return kept;
}
#endif

static rnl_status open_compiler(void)
{
    rnl_status status = RNL_OK;
    pthread_mutex_lock(&lock);
    if (!compiler)
        status = rnl_context_open("cpu", 0, RNL_CONTEXT_OPTIONS(.threads = 1),
                                  &compiler);
    pthread_mutex_unlock(&lock);
    return status;
}

static rnl_status build(struct program *program, size_t option_count,
                        const char *const *options)
{
    rnl_header headers[LIST_MOST];
    for (size_t i = 0; i < program->headers.count; i++)
        headers[i] = (rnl_header){program->header_names.items[i],
                                  program->headers.items[i]};
    rnl_status status = open_compiler();
    if (status != RNL_OK)
        return status;
    return rnl_module_compile(
        compiler, program->source,
        RNL_MODULE_OPTIONS(
                .name = program->name,
                .options = options,
                .option_count = option_count,
                .headers = headers,
                .header_count = program->headers.count,
                .name_expressions =
                    (const char *const *)program->expressions.items,
                .name_expression_count = program->expressions.count),
        &program->module);
}

// --- What came of it --------------------------------------------------------

static const rnl_cpu_object *table_of(rnl_module module)
{
    struct object *object = object_find_ref(module, OBJECT_MODULE);
    const struct cpu_module *native = module_native((struct module *)object);
    const rnl_cpu_object *table = native->object.table;
    object_unref(object);
    return table;
}

#ifndef FAKE_HIP
static void write_parameter(struct text *text, const char *symbol, size_t index,
                            const rnl_cpu_parameter *parameter)
{
    const char *comma = index ? ",\n" : "\n";
    bool real = parameter->kind == RNL_VALUE_FLOAT;
    if (parameter->kind == RNL_VALUE_POINTER)
        text_add(text, "%s\t.param .u64 .ptr .align 1 %s_param_%zu", comma,
                 symbol, index);
    else if (parameter->kind == RNL_VALUE_STRUCT)
        text_add(text, "%s\t.param .align %u .b8 %s_param_%zu[%u]", comma,
                 parameter->alignment, symbol, index, parameter->size);
    else
        text_add(text, "%s\t.param .%s%u %s_param_%zu", comma,
                 real ? "f" : "u", parameter->size * 8, symbol, index);
}

static void write_kernel(struct text *text, const rnl_cpu_object *table,
                         const rnl_cpu_kernel *kernel)
{
    text_add(text, ".visible .entry %s(", kernel->symbol);
    for (size_t i = 0; i < kernel->parameter_count; i++)
        write_parameter(text, kernel->symbol, i,
                        object_file_parameter(table, kernel, i));
    text_add(text, "\n)\n{\n\tret;\n}\n\n");
}

static void write_head(struct text *text, const rnl_cpu_object *table)
{
    text_add(text, "//\n// Made by the fake NVRTC\n//\n\n.version 9.0\n"
                   ".target sm_90\n.address_size 64\n\n");
    for (size_t i = 0; i < table->global_count; i++) {
        const rnl_cpu_global *global = object_file_global(table, i);
        char symbol[512];
        fake_mangle(global->name, symbol, sizeof symbol);
        text_add(text, ".visible .%s .align %u .b8 %s[%llu];\n",
                 global->flags & RNL_CPU_GLOBAL_CONSTANT ? "const" : "global",
                 global->alignment, symbol, (unsigned long long)global->size);
    }
    for (size_t i = 0; i < table->kernel_count; i++)
        write_kernel(text, table, object_file_kernel(table, i));
}

static int take(struct program *program)
{
    const void *binary;
    size_t size;
    struct text head = {0};
    if (rnl_module_binary(program->module, &binary, &size) != RNL_OK)
        return NO_MEMORY;
    write_head(&head, table_of(program->module));
    program->ptx = fake_ptx(text_get(&head), binary, size);
    text_finish(&head);
    if (program->wants_code)
        program->cubin = fake_cubin(binary, size, false,
                                    &program->cubin_size);
    return program->ptx && (program->cubin || !program->wants_code)
               ? OK : NO_MEMORY;
}
#else
static int take(struct program *program)
{
    enum { KERNELS_MOST = 1024 };
    static struct fake_kernel kernels[KERNELS_MOST];
    static rnl_parameter parameters[KERNELS_MOST * 8];
    const void *binary;
    size_t size, used = 0;
    if (rnl_module_binary(program->module, &binary, &size) != RNL_OK)
        return NO_MEMORY;
    const rnl_cpu_object *table = table_of(program->module);
    for (size_t i = 0; i < table->kernel_count; i++) {
        const rnl_cpu_kernel *kernel = object_file_kernel(table, i);
        kernels[i] = (struct fake_kernel){
            .name = kernel->symbol,
            .parameters = parameters + used,
            .parameter_count = kernel->parameter_count,
        };
        for (size_t k = 0; k < kernel->parameter_count; k++) {
            const rnl_cpu_parameter *one =
                object_file_parameter(table, kernel, k);
            parameters[used++] = (rnl_parameter){
                .kind = (rnl_value_kind)one->kind,
                .size = one->size,
                .alignment = one->alignment,
            };
        }
    }
    program->cubin = fake_code_object(binary, size, kernels,
                                      table->kernel_count,
                                      &program->cubin_size);
    return program->cubin ? OK : NO_MEMORY;
}
#endif

static int code_of(rnl_status status)
{
    switch (status) {
    case RNL_OK:
        return OK;
    case RNL_ERROR_OUT_OF_MEMORY:
        return NO_MEMORY;
    case RNL_ERROR_INVALID_ARGUMENT:
        return INVALID_OPTION;
    case RNL_ERROR_COMPILE_FAILED:
        return FAILED;
    default:
        fprintf(stderr, "fake compiler: %s\n", rnl_last_error()->message);
        return 11;
    }
}

#ifdef FAKE_HIP
#define translate strdup
#else
// "    3 |   x = y;" and the line with the caret below become what NVRTC shows.
static bool add_shown(struct text *text, const char *log, size_t length)
{
    size_t bar = strspn(log, " 0123456789");
    if (bar + 1 >= length || log[bar] != '|' || log[bar + 1] != ' ')
        return false;
    const char *shown = log + bar + 2;
    length -= bar + 2;
    size_t blank = strspn(shown, " ");
    if (blank < length && shown[blank] == '^')
        length = blank + 1;
    text_add(text, "  %.*s\n", (int)length, shown);
    return true;
}

// "kernel.cu:3:12: error: …" becomes "kernel.cu(3): error: …", as NVRTC has it.
static char *translate(const char *log)
{
    struct text text = {0};
    for (; log && *log; log += strcspn(log, "\n"), log += *log == '\n') {
        size_t name = strcspn(log, ":\n"), length = strcspn(log, "\n");
        int line = 0, column = 0, read = 0;
        if (log[name] == ':' &&
            sscanf(log + name, ":%d:%d: %n", &line, &column, &read) == 2 &&
            read > 0)
            text_add(&text, "%.*s(%d): %.*s\n", (int)name, log, line,
                     (int)(length - name) - read, log + name + read);
        else if (!add_shown(&text, log, length))
            text_add(&text, "%.*s\n", (int)length, log);
    }
    char *copy = strdup(text_get(&text));
    text_finish(&text);
    return copy;
}
#endif

// As NVRTC for a small kernel (13.0).
void fake_use_stack(void)
{
    volatile char bytes[94 << 10];
    for (size_t i = 0; i < sizeof bytes; i += 1024)
        bytes[i] = 0;
}

int rtc_compile(void *handle, int count, const char *const *options)
{
    const char *taken[LIST_MOST];
    int code = fake_enter_named(CALLED("CompileProgram"));
    struct program *program = program_of(handle);
    if (code || !program)
        return code ? code : INVALID_PROGRAM;
    size_t kept = take_options(program, count, options, taken);
    fake_use_stack();
    rnl_status status = build(program, kept, taken);
    const char *log = status == RNL_OK ? "" : rnl_last_error()->log;
    if (status == RNL_OK)
        rnl_module_log(program->module, &log);
    else if (!log || !*log)
        log = rnl_last_error()->message;
    program->log = translate(log);
    return status == RNL_OK ? take(program) : code_of(status);
}

// --- Reading it -------------------------------------------------------------

int rtc_log_size(void *handle, size_t *out_size)
{
    int code = fake_enter_named(CALLED("GetProgramLogSize"));
    struct program *program = program_of(handle);
    if (code || !program)
        return code ? code : INVALID_PROGRAM;
    *out_size = program->log && *program->log ? strlen(program->log) + 1
                : FAKE_IS_HIP ? 0 : 1;
    return OK;
}

int rtc_log(void *handle, char *log)
{
    int code = fake_enter_named(CALLED("GetProgramLog"));
    struct program *program = program_of(handle);
    if (code || !program)
        return code ? code : INVALID_PROGRAM;
    strcpy(log, program->log ? program->log : "");
    return OK;
}

#ifndef FAKE_HIP
int rtc_ptx_size(void *handle, size_t *out_size)
{
    int code = fake_enter_named(CALLED("GetPTXSize"));
    struct program *program = program_of(handle);
    if (code || !program)
        return code ? code : INVALID_PROGRAM;
    *out_size = program->ptx ? strlen(program->ptx) + 1 : 0;
    return OK;
}

int rtc_ptx(void *handle, char *ptx)
{
    int code = fake_enter_named(CALLED("GetPTX"));
    struct program *program = program_of(handle);
    if (code || !program || !program->ptx)
        return code ? code : INVALID_PROGRAM;
    strcpy(ptx, program->ptx);
    return OK;
}
#endif

#ifdef FAKE_HIP
#define rtc_cubin_size rtc_code_size
#define rtc_cubin rtc_code
#define CUBIN "Code"
#else
#define CUBIN "CUBIN"
#endif
int rtc_cubin_size(void *handle, size_t *out_size)
{
    int code = fake_enter_named(CALLED("Get" CUBIN "Size"));
    struct program *program = program_of(handle);
    if (code || !program)
        return code ? code : INVALID_PROGRAM;
    *out_size = program->cubin_size;
    return OK;
}

int rtc_cubin(void *handle, char *cubin)
{
    int code = fake_enter_named(CALLED("Get" CUBIN));
    struct program *program = program_of(handle);
    if (code || !program || !program->cubin)
        return code ? code : INVALID_PROGRAM;
    memcpy(cubin, program->cubin, program->cubin_size);
    return OK;
}

static const char *kernel_symbol(const rnl_cpu_object *table, const char *name)
{
    for (size_t i = 0; i < table->kernel_count; i++)
        if (strcmp(object_file_kernel(table, i)->name, name) == 0)
            return object_file_kernel(table, i)->symbol;
    return NULL;
}

int rtc_lowered_name(void *handle, const char *expression,
                       const char **out_name)
{
    int code = fake_enter_named(CALLED("GetLoweredName"));
    struct program *program = program_of(handle);
    if (code || !program)
        return code ? code : INVALID_PROGRAM;
    if (!program->module)
        return NO_NAMES_BEFORE;
    const char *symbol = kernel_symbol(table_of(program->module), expression);
    if (!symbol)
        return UNKNOWN_NAME;
    if (!list_add(&program->lowered, symbol))
        return NO_MEMORY;
    *out_name = program->lowered.items[program->lowered.count - 1];
    return OK;
}
