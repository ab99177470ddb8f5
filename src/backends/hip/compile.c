// From kernel source to a code object, by the program runnel-hip-cc, which has
// hiprtc compile. A program of its own, because LLVM in hiprtc ends the process
// for some sources (5.2.3: shared memory in an initializer), and hiprtc for an
// unknown architecture (up to 6.4).
#include "backends/hip/code_object.h"
#include "backends/hip/hip.h"
#include "backends/hip/hiprtc.h"
#include "base/file.h"
#include "base/hash.h"
#include "core/module/compiler_process.h"
#include "core/module/dump.h"
#include "core/object/config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PROGRAM "runnel-hip-cc"
#define FORMAT 1  // version of the output's form

// --- Targets -----------------------------------------------------------------

// Where hipDeviceProp_t has gcnArchName, before and from 6.0 on.
enum { ARCH_AT = 396, ARCH_AT_6 = 1160, PROPERTIES_SIZE = 4096 };

static rnl_status no_memory(void)
{
    return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory to compile");
}

rnl_status hip_target_of(int device, struct hip_target *out_target)
{
    size_t at = hip.device_properties_6 ? ARCH_AT_6 : ARCH_AT;
    char *properties = mem_allocate(PROPERTIES_SIZE);
    out_target->arch[0] = '\0';
    if (!properties)
        return no_memory();
    int code = hip.device_properties_6
                   ? hip.device_properties_6(properties, device)
                   : hip.device_properties(properties, device);
    if (code == 0)
        snprintf(out_target->arch, sizeof out_target->arch, "%.255s",
                 properties + at);
    mem_release(properties, PROPERTIES_SIZE);
    return RNL_OK;
}

// --- Identity ----------------------------------------------------------------

static rnl_status find_program_path(char path[FIND_PATH_SIZE])
{
    return find_program(PROGRAM, "RUNNEL_HIP_CC", config_get()->hip_compiler,
                        path);
}

static rnl_status find_library(const char **out_path)
{
    const char *reason;
    *out_path = hiprtc_find(&reason);
    return *out_path ? RNL_OK
                     : fail(RNL_ERROR_COMPILER_UNAVAILABLE, "%s", reason);
}

const char *hip_compile_reason(void)
{
    const char *reason;
    char *path = mem_allocate(FIND_PATH_SIZE);
    rnl_status status = path ? find_program_path(path)
                             : RNL_ERROR_OUT_OF_MEMORY;
    mem_release(path, FIND_PATH_SIZE);
    if (status == RNL_ERROR_OUT_OF_MEMORY)
        return "there is no memory to look for " PROGRAM;
    if (status != RNL_OK)
        return "the program " PROGRAM " was not found; RUNNEL_HIP_CC can name "
               "it";
    return hiprtc_find(&reason) ? "" : reason;
}

// A file's size and time stand for its contents.
static void add_file(struct text *text, const char *path)
{
    struct stat facts = {.st_size = 0};
    stat(path, &facts);
    text_add(text, "%s %llu %lld.%09ld;", path,
             (unsigned long long)facts.st_size,
             (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
}

rnl_status hip_identity(const struct hip_target *target, char *text,
                        size_t size)
{
    const char *library;
    struct text files = {0};
    char *path = mem_allocate(FIND_PATH_SIZE);
    rnl_status status = path ? find_library(&library) : no_memory();
    if (status == RNL_OK)
        status = find_program_path(path);
    if (status == RNL_OK) {
        add_file(&files, path);
        add_file(&files, library);
        add_file(&files, hiprtc_comgr());
        status = files.failed ? no_memory() : RNL_OK;
    }
    struct hash128 hash = hash_128(text_get(&files), files.length);
    if (status == RNL_OK)
        snprintf(text, size, "code objects %d, HIP %d, %s, compiler "
                 "%016llx%016llx", FORMAT, hip_version, target->arch,
                 (unsigned long long)hash.high, (unsigned long long)hash.low);
    text_finish(&files);
    mem_release(path, FIND_PATH_SIZE);
    return status;
}

rnl_status hip_compiler_info(const struct hip_target *target,
                             rnl_compiler_info *out_info)
{
    const char *library;
    rnl_status status = find_library(&library);
    if (status != RNL_OK)
        return status;
    snprintf(out_info->path, sizeof out_info->path, "%s", library);
    snprintf(out_info->version, sizeof out_info->version, "hiprtc %d.%d.%d",
             hip_version / 10000000, hip_version / 100000 % 100,
             hip_version % 100000);
    snprintf(out_info->target, sizeof out_info->target, "%.63s", target->arch);
    return RNL_OK;
}

// --- Output ------------------------------------------------------------------

// Takes the symbols of the name expressions: a line for each.
static rnl_status add_names(struct compiler_job *job,
                            struct image_maker *maker)
{
    const rnl_module_options *options = job->source->options;
    const char *path = compiler_file(job, "names");
    void *data = NULL;
    size_t size = 0;
    int error = file_read_path(path, COMPILER_OBJECT_MAX, &data, &size);
    if (error)
        return compiler_fail_file("reading", path, error);
    char *at = data, *end = at ? at + size : NULL;
    for (size_t i = 0; at < end && i < options->name_expression_count; i++) {
        char *line = memchr(at, '\n', (size_t)(end - at));
        if (!line)
            break;
        *line = '\0';
        image_add_alias(maker, options->name_expressions[i], at);
        at = line + 1;
    }
    mem_release(data, size);
    return RNL_OK;
}

static rnl_status make_image(struct compiler_job *job, void *code, size_t size,
                             struct compiled_binary *out_binary)
{
    struct image_maker maker = {.failed = false};
    enum image_form form;
    if (image_vendor_fault(&hip_image, code, size, &form) ||
        form != IMAGE_ELF)
        return compiler_refuse_crash(job, "wrote a damaged object");
    code_object_read(code, size, &maker);
    rnl_status status = add_names(job, &maker);
    if (status != RNL_OK)
        image_abandon(&maker);
    else if (!image_finish(&maker, code, size, &out_binary->data,
                           &out_binary->size))
        status = no_memory();
    return status;
}

static rnl_status take(struct compiler_job *job,
                       struct compiled_binary *out_binary)
{
    void *code;
    size_t size;
    rnl_status status = compiler_object(job, &code, &size);
    if (status != RNL_OK)
        return status;
    status = make_image(job, code, size, out_binary);
    mem_release(code, size);
    if (status == RNL_OK && job->result.output.length > 0)
        out_binary->log = text_copy(job->result.output.data);
    return status;
}

// --- All ---------------------------------------------------------------------

static rnl_status perform(struct compiler_job *job,
                          const struct hip_target *target, const char *library,
                          struct compiled_binary *out_binary)
{
    rnl_status status = compiler_source(job);
    compiler_pair(job, "--names", compiler_file(job, "names"));
    compiler_pair(job, "--library", library);
    compiler_pair(job, "--comgr", hiprtc_comgr());
    compiler_pair(job, "--arch", target->arch);
    if (status == RNL_OK)
        status = compiler_run(job, job->source->options->timeout_ns);
    if (status == RNL_OK)
        status = compiler_judge(job);
    return status == RNL_OK ? take(job, out_binary) : status;
}

rnl_status hip_compile(const struct hip_target *target,
                       const struct source *source,
                       struct compiled_binary *out_binary)
{
    const char *library;
    if (!target->arch[0])
        return fail(RNL_ERROR_COMPILER_UNAVAILABLE,
                    "the driver does not tell the architecture of the device, "
                    "for which hiprtc would compile: load a code object");
    if (source->dump.kinds)
        return dump_refuse(dump_wants(source, RNL_DUMP_IR) ? "LLVM IR"
                           : dump_wants(source, RNL_DUMP_ASSEMBLY)
                               ? "assembly" : "machine code",
                           "hiprtc keeps it to itself");
    struct compiler_job *job = mem_allocate(sizeof *job);
    if (!job)
        return no_memory();
    job->source = source;
    rnl_status status = find_library(&library);
    if (status == RNL_OK)
        status = find_program_path(job->program);
    if (status == RNL_OK)
        status = compiler_begin(job);
    if (status == RNL_OK) {
        status = perform(job, target, library, out_binary);
        compiler_end(job);
    }
    compiler_free(job);
    return status;
}
