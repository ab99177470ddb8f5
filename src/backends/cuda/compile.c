// NVRTC runs inside the process and cannot be stopped: the source's time limit
// has no effect here.
#include "backends/cuda/compile.h"

#include "backends/cuda/assemble.h"
#include "backends/cuda/disassemble.h"
#include "backends/cuda/nvrtc.h"
#include "backends/cuda/ptx.h"
#include "base/hash.h"
#include "base/thread.h"
#include "core/module/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FORMAT 2  // version of the output's form

// NVRTC's statuses.
enum {
    NVRTC_OUT_OF_MEMORY = 1,
    NVRTC_INVALID_INPUT = 3,
    NVRTC_INVALID_OPTION = 5,
    NVRTC_COMPILATION = 6,
    NVRTC_BUILTIN = 7,
    NVRTC_NAME_NOT_VALID = 10,
};

// A compilation.
struct nvrtc_job {
    const struct source *source;
    const struct nvrtc *nvrtc;
    struct nvrtc_place place;
    void *program;
    const char **options;
    size_t option_count;
    char target[56];  // "--gpu-architecture=sm_90"
    char include[NVRTC_PATH_SIZE + 2], more[NVRTC_PATH_SIZE + 8];
    struct text log;
    int code;         // NVRTC's status for the source
    struct text ptx, image;         // `image` is empty if the output is PTX
    struct gpu_context *assembler;  // assembles the PTX; NULL: NVRTC does
    bool waits;       // the kernels begin by waiting
};

// --- Identity ----------------------------------------------------------------

static rnl_status no_memory(void)
{
    return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory to compile");
}

static void describe(const struct cuda_target *target,
                     const struct nvrtc_place *place, struct hash128 files,
                     char *text, size_t size)
{
    // The library's size and time stand for its contents.
    struct stat facts = {.st_size = 0};
    stat(place->path, &facts);
    snprintf(text, size,
             "images %d, compute %d.%d, driver %d, NVRTC %016llx%016llx %llu "
             "%lld.%09ld",
             FORMAT, target->major, target->minor,
             target->assembler ? target->driver_version : 0,
             (unsigned long long)files.high, (unsigned long long)files.low,
             (unsigned long long)facts.st_size,
             (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

rnl_status cuda_identity(const struct cuda_target *target, char *text,
                         size_t size)
{
    struct nvrtc_place *place = mem_allocate(sizeof *place);
    struct text files = {0};
    rnl_status status =
        place ? nvrtc_find(target->driver_version, target->beside, place)
              : no_memory();
    if (status == RNL_OK) {
        text_add(&files, "%s;%s", place->path, place->include);
        status = files.failed ? no_memory() : RNL_OK;
    }
    if (status == RNL_OK)
        describe(target, place, hash_128(files.data, files.length), text,
                 size);
    text_finish(&files);
    mem_release(place, sizeof *place);
    return status;
}

rnl_status cuda_compiler_info(const struct cuda_target *target,
                              rnl_compiler_info *out_info)
{
    struct nvrtc_place *place = mem_allocate(sizeof *place);
    const struct nvrtc *nvrtc = NULL;
    char word[32] = "";
    rnl_status status =
        place ? nvrtc_find(target->driver_version, target->beside, place)
              : no_memory();
    if (status == RNL_OK)
        status = nvrtc_load(place->path, &nvrtc);
    if (status == RNL_OK)
        status = nvrtc_target(nvrtc, target->major, target->minor, word);
    if (status == RNL_OK) {
        snprintf(out_info->path, sizeof out_info->path, "%s", place->path);
        snprintf(out_info->version, sizeof out_info->version, "NVRTC %d.%d",
                 nvrtc->major, nvrtc->minor);
        snprintf(out_info->target, sizeof out_info->target, "%s", word);
    }
    mem_release(place, sizeof *place);
    return status;
}

// --- Options -----------------------------------------------------------------

// True if `name` is the option's name, long or short, with or without a value.
static bool is_option(const char *option, const char *name)
{
    size_t length = strlen(name);
    return strncmp(option, name, length) == 0 &&
           (option[length] == '\0' || option[length] == '=');
}

static bool any_option(const char *option, const char *const *list)
{
    for (; *list; list++)
        if (is_option(option, *list))
            return true;
    return false;
}

// True if the option concerns only the source, so that the PTX tells the
// assembler all. -fmad is not in the list, because the assembler may fuse half
// operations of the headers. Further options might qualify but are not known to
// do so.
static bool is_of_source(const char *option)
{
    static const char *const names[] = {
        "define-macro", "undefine-macro", "include-path", "include",
        "pre-include", "no-source-include", "std", "use_fast_math", "ftz",
        "prec-sqrt", "prec-div", "restrict", "default-device",
        "device-as-default-execution-space", "w", "disable-warnings",
        "diag-error", "diag-suppress", "diag-warn", "builtin-move-forward",
        "builtin-initializer-list", NULL};
    return option[0] != '-' ||  // the value of the option before
           (option[1] && strchr("DUI", option[1])) ||
           any_option(option + strspn(option, "-"), names);
}

static bool chooses_target(const rnl_module_options *options)
{
    static const char *const names[] = {"-arch", "--gpu-architecture", NULL};
    for (size_t i = 0; i < options->option_count; i++)
        if (any_option(options->options[i], names))
            return true;
    return false;
}

static void add_option(struct nvrtc_job *job, const char *option)
{
    job->options[job->option_count++] = option;
}

#define WAIT_LEAST 90  // the least compute capability on which kernels can wait

// The driver assembles only PTX that is not newer than the driver.
static bool can_wait(const struct nvrtc_job *job,
                     const struct cuda_target *target, int capability)
{
    const rnl_module_options *options = job->source->options;
    int version = job->nvrtc->major * 1000 + job->nvrtc->minor * 10;
    for (size_t i = 0; i < options->option_count; i++)
        if (!is_of_source(options->options[i]))
            return false;
    return capability >= WAIT_LEAST && version <= target->driver_version;
}

static rnl_status add_target(struct nvrtc_job *job,
                             const struct cuda_target *target)
{
    char word[32] = "";
    rnl_status status =
        nvrtc_target(job->nvrtc, target->major, target->minor, word);
    if (status != RNL_OK)
        return status;
    const char *number = strchr(word, '_') + 1;
    if (!can_wait(job, target, atoi(number)))
        job->assembler = NULL;
    snprintf(job->target, sizeof job->target, "--gpu-architecture=%s%s",
             job->assembler ? "compute_" : "",
             job->assembler ? number : word);
    add_option(job, job->target);
    return RNL_OK;
}

static void add_includes(struct nvrtc_job *job)
{
    const char *include = job->place.include;
    struct stat facts;
    if (!include[0])
        return;
    snprintf(job->include, sizeof job->include, "-I%s", include);
    add_option(job, job->include);
    // From CUDA 13 on, the C++ standard library for kernels is here.
    snprintf(job->more, sizeof job->more, "-I%s/cccl", include);
    if (stat(job->more + 2, &facts) == 0)
        add_option(job, job->more);
}

#define OPTIONS_MORE 3

static rnl_status read_options(struct nvrtc_job *job,
                               const struct cuda_target *target)
{
    const rnl_module_options *options = job->source->options;
    size_t count = options->option_count;
    job->options =
        mem_allocate((count + OPTIONS_MORE) * sizeof(const char *));
    if (!job->options)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory for the compiler's options");
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < count; i++)
        add_option(job, options->options[i]);
    if (chooses_target(options))
        job->assembler = NULL;
    else
        status = add_target(job, target);
    // Behind the user's own folders, which take precedence.
    add_includes(job);
    return status;
}

// --- Failing -----------------------------------------------------------------

static const char *error_text(const struct nvrtc_job *job, int code)
{
    return job->nvrtc->error_text(code);
}

static rnl_status refuse(const struct nvrtc_job *job, rnl_status status,
                         int code, const char *what)
{
    fail_compiler(status, what, text_get(&job->log));
    fail_set_native(code, error_text(job, code));
    return status;
}

static rnl_status refuse_code(const struct nvrtc_job *job, int code)
{
    char what[128];
    switch (code) {
    case NVRTC_OUT_OF_MEMORY:
        return refuse(job, RNL_ERROR_OUT_OF_MEMORY, code,
                      "there is no memory for the kernel compiler");
    case NVRTC_INVALID_OPTION:
        return refuse(job, RNL_ERROR_INVALID_ARGUMENT, code,
                      "a compiler option is wrong");
    case NVRTC_INVALID_INPUT:
    case NVRTC_NAME_NOT_VALID:
    case NVRTC_COMPILATION:
        return refuse(job, RNL_ERROR_COMPILE_FAILED, code,
                      "the kernel source does not compile");
    case NVRTC_BUILTIN:
        return refuse(job, RNL_ERROR_COMPILER_UNAVAILABLE, code,
                      "NVRTC lacks a part of it, libnvrtc-builtins");
    default:
        snprintf(what, sizeof what, "NVRTC failed with %s",
                 error_text(job, code));
        return refuse(job, RNL_ERROR_COMPILER_CRASHED, code, what);
    }
}

static rnl_status refuse_memory(void)
{
    return fail(RNL_ERROR_OUT_OF_MEMORY,
                "there is no memory for what the compiler made");
}

// --- Compiling ---------------------------------------------------------------

static rnl_status create_program(struct nvrtc_job *job)
{
    const rnl_module_options *options = job->source->options;
    size_t count = options->header_count;
    const char **texts = mem_allocate((2 * count + 1) * sizeof(const char *));
    if (!texts)
        return refuse_memory();
    const char **names = texts + count;
    for (size_t i = 0; i < count; i++) {
        texts[i] = options->headers[i].source;
        names[i] = options->headers[i].name;
    }
    int code = job->nvrtc->create(&job->program, job->source->text,
                                  options->name, (int)count, texts, names);
    for (size_t i = 0; code == 0 && i < options->name_expression_count; i++)
        code = job->nvrtc->add_expression(job->program,
                                          options->name_expressions[i]);
    mem_release(texts, (2 * count + 1) * sizeof(const char *));
    return code ? refuse_code(job, code) : RNL_OK;
}

// A part of a message is worse than none, because the part may name the wrong
// place.
static rnl_status read_log(struct nvrtc_job *job)
{
    size_t size = 0;
    if (job->nvrtc->log_size(job->program, &size) != 0 || size <= 1)
        return RNL_OK;
    char *log = mem_allocate(size + 1);
    bool read = log && job->nvrtc->log(job->program, log) == 0;
    if (read)
        nvrtc_translate(log, &job->log);
    mem_release(log, size + 1);
    return read && !job->log.failed ? RNL_OK : refuse_memory();
}

static void *call_compiler(void *argument)
{
    struct nvrtc_job *job = argument;
    job->code = job->nvrtc->compile(job->program, (int)job->option_count,
                                    job->options);
    return NULL;
}

// NVRTC takes 94 KB of stack for a small kernel (13.0), and more for nested
// templates. The caller's stack may be smaller, and so may a thread's default
// stack.
#define STACK_SIZE ((size_t)16 << 20)

static rnl_status call_deep(void *(*function)(void *), struct nvrtc_job *job)
{
    pthread_t thread;
    if (!thread_start_sized(&thread, "rnl-nvrtc", STACK_SIZE, function, job))
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "no thread with a stack of 16 MiB could be started for "
                    "NVRTC");
    pthread_join(thread, NULL);
    return RNL_OK;
}

static rnl_status compile(struct nvrtc_job *job)
{
    rnl_status status = call_deep(call_compiler, job);
    if (status == RNL_OK)
        status = read_log(job);
    return status == RNL_OK && job->code ? refuse_code(job, job->code)
                                         : status;
}

// --- Output ------------------------------------------------------------------

// Leaves `out` empty if NVRTC has no output of the kind.
static rnl_status get_output(const struct nvrtc_job *job,
                             int (*get_size)(void *, size_t *),
                             int (*get)(void *, char *), struct text *out)
{
    size_t size = 0;
    if (!get_size || !get || get_size(job->program, &size) != 0 || size <= 1)
        return RNL_OK;
    char *data = mem_allocate(size + 1);
    if (!data)
        return refuse_memory();
    *out = (struct text){.data = data, .length = size, .capacity = size + 1};
    int code = get(job->program, data);
    return code ? refuse_code(job, code) : RNL_OK;
}

static rnl_status get_outputs(struct nvrtc_job *job)
{
    const struct nvrtc *nvrtc = job->nvrtc;
    rnl_status status =
        get_output(job, nvrtc->ptx_size, nvrtc->ptx, &job->ptx);
    return status == RNL_OK ? get_output(job, nvrtc->cubin_size, nvrtc->cubin,
                                         &job->image)
                            : status;
}

static rnl_status dump_code(struct nvrtc_job *job,
                            struct compiled_binary *binary)
{
    if (!job->image.data)
        return dump_refuse("machine code", "the options ask for PTX alone, "
                           "which the driver assembles when it is loaded");
    struct text code = {0};
    rnl_status status =
        cuda_disassemble(&job->place, job->source->options->timeout_ns,
                         &job->image, &code);
    if (status == RNL_OK)
        status = dump_add(binary, RNL_DUMP_MACHINE, "sass", code.data,
                          code.length);
    text_finish(&code);
    return status;
}

static rnl_status dump(struct nvrtc_job *job, struct compiled_binary *binary)
{
    const struct text *ptx = &job->ptx;
    rnl_status status = RNL_OK;
    if (dump_wants(job->source, RNL_DUMP_ASSEMBLY))
        status = dump_add(binary, RNL_DUMP_ASSEMBLY, "ptx", ptx->data,
                          ptx->data ? strlen(ptx->data) : 0);
    if (status == RNL_OK && dump_wants(job->source, RNL_DUMP_MACHINE))
        status = dump_code(job, binary);
    return status;
}

static rnl_status add_names(const struct nvrtc_job *job,
                            struct image_maker *maker)
{
    const rnl_module_options *options = job->source->options;
    for (size_t i = 0; i < options->name_expression_count; i++) {
        const char *name = options->name_expressions[i], *symbol = NULL;
        int code = job->nvrtc->lowered_name(job->program, name, &symbol);
        if (code)
            return refuse_code(job, code);
        image_add_alias(maker, name, symbol);
    }
    return RNL_OK;
}

static rnl_status make_image(struct nvrtc_job *job,
                             struct compiled_binary *out_binary)
{
    struct image_maker maker = {.waits = job->waits};
    const struct text *image = job->image.data ? &job->image : &job->ptx;
    if (job->ptx.data)
        ptx_read(job->ptx.data, &maker);
    rnl_status status = add_names(job, &maker);
    bool made = image_finish(&maker, image->data, image->length,
                             &out_binary->data, &out_binary->size);
    if (status == RNL_OK && !made)
        status = refuse_memory();
    if (status == RNL_OK && job->log.length > 0 &&
        !(out_binary->log = text_copy(job->log.data)))
        status = refuse_memory();
    if (status != RNL_OK && made) {
        mem_release(out_binary->data, out_binary->size);
        out_binary->data = NULL;
    }
    return status;
}

static rnl_status take(struct nvrtc_job *job,
                       struct compiled_binary *out_binary)
{
    rnl_status status = dump(job, out_binary);
    if (status == RNL_OK && !job->image.data && !job->ptx.data)
        status = refuse(job, RNL_ERROR_INVALID_ARGUMENT, 0,
                        "the options ask for nothing that can be loaded");
    return status == RNL_OK ? make_image(job, out_binary) : status;
}

// --- Kernels that wait -------------------------------------------------------

static void *call_assembler(void *argument)
{
    struct nvrtc_job *job = argument;
    struct text text = {0};
    job->waits = ptx_wait_first(job->ptx.data, &text);
    if (job->waits) {
        text_finish(&job->ptx);
        job->ptx = text;
        cuda_assemble(job->assembler, job->ptx.data, &job->image);
    } else {
        text_finish(&text);
    }
    return NULL;
}

static bool assemble(struct nvrtc_job *job)
{
    return job->ptx.data && call_deep(call_assembler, job) == RNL_OK &&
           job->image.data;
}

// --- All ---------------------------------------------------------------------

static void job_reset(struct nvrtc_job *job)
{
    size_t count = job->source->options->option_count + OPTIONS_MORE;
    if (job->program)
        job->nvrtc->destroy(&job->program);
    mem_release(job->options, count * sizeof(const char *));
    job->program = NULL;
    job->options = NULL;
    job->option_count = 0;
    job->waits = false;
    text_finish(&job->log);
    text_finish(&job->ptx);
    text_finish(&job->image);
}

static rnl_status build(struct nvrtc_job *job, const struct cuda_target *target)
{
    rnl_status status = read_options(job, target);
    if (status == RNL_OK)
        status = create_program(job);
    if (status == RNL_OK)
        status = compile(job);
    return status == RNL_OK ? get_outputs(job) : status;
}

// If the kernels cannot wait or the driver's assembler fails, NVRTC's own
// assembler is used. NVRTC finds the same faults as the driver, with better
// messages.
static rnl_status perform(struct nvrtc_job *job,
                          const struct cuda_target *target)
{
    rnl_status status =
        nvrtc_find(target->driver_version, target->beside, &job->place);
    if (status == RNL_OK)
        status = nvrtc_load(job->place.path, &job->nvrtc);
    if (status == RNL_OK)
        status = build(job, target);
    if (status == RNL_OK && job->assembler && !assemble(job)) {
        job_reset(job);
        job->assembler = NULL;
        status = build(job, target);
    }
    return status;
}

rnl_status cuda_compile(const struct cuda_target *target,
                        const struct source *source,
                        struct compiled_binary *out_binary)
{
    if (dump_wants(source, RNL_DUMP_IR))
        return dump_refuse("LLVM IR", "NVRTC keeps it to itself; its PTX is "
                                      "RNL_DUMP_ASSEMBLY");
    struct nvrtc_job *job = mem_allocate(sizeof *job);
    if (!job)
        return no_memory();
    job->source = source;
    job->assembler = target->assembler;
    rnl_status status = perform(job, target);
    if (status == RNL_OK)
        status = take(job, out_binary);
    job_reset(job);
    mem_release(job, sizeof *job);
    return status;
}
