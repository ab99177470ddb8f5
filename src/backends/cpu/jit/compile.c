// runnel-cc is looked for anew each time, which costs microseconds: what was
// installed, replaced or removed a moment ago counts.
#include "backends/cpu/jit/compile.h"

#include "backends/cpu/jit/find_compiler.h"
#include "backends/cpu/jit/object_file.h"
#include "backends/cpu/jit/tuning.h"
#include "base/file.h"
#include "core/backend.h"
#include "core/module/compiler_process.h"
#include "core/module/dump.h"
#include "core/object/context_object.h"
#include "core/tuning.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Files of the job that are dumps; for IR the prefix of their names.
#define DUMP_ASSEMBLY "assembly"
#define DUMP_IR "ir"

// --- What came of it -------------------------------------------------------

static rnl_status read_object(struct compiler_job *job,
                              struct compiled_binary *out_binary)
{
    void *data;
    size_t size;
    rnl_status status = compiler_object(job, &data, &size);
    if (status != RNL_OK)
        return status;
    const char *fault = object_file_fault(data, size);
    if (fault)
        status = compiler_refuse_crash(job, "wrote a damaged object");
    else
        status =
            object_file_wrap(data, size, &out_binary->data, &out_binary->size);
    mem_release(data, size);
    return status;
}

// --- Dumps -----------------------------------------------------------------

static rnl_status check_dump(const struct source *source)
{
    return dump_wants(source, RNL_DUMP_MACHINE)
               ? dump_refuse("disassembled machine code", "on a cpu "
                             "RNL_DUMP_ASSEMBLY is what the machine runs")
               : RNL_OK;
}

// A stage that is not there is none that was made.
static rnl_status read_dump(struct compiler_job *job, rnl_dump_kind kind,
                            const char *file, const char *name,
                            struct compiled_binary *binary)
{
    void *data;
    size_t size;
    const char *path = compiler_file(job, file);
    int error = file_read_path(path, COMPILER_OBJECT_MAX, &data, &size);
    if (error == ENOENT)
        return kind == RNL_DUMP_IR ? RNL_OK
                                   : compiler_refuse_crash(
                                         job, "wrote no assembly");
    if (error)
        return compiler_fail_file("reading", path, error);
    rnl_status status = dump_add(binary, kind, name, data, size);
    mem_release(data, size);
    return status;
}

// The stages in the compiler's order; "fixed" is code for one block size.
static rnl_status read_stages(struct compiler_job *job,
                              struct compiled_binary *binary)
{
    static const char *const files[] = {
        DUMP_IR ".source.ll", DUMP_IR ".threads.ll", DUMP_IR ".vectors.ll",
        DUMP_IR ".finished.ll", DUMP_IR ".fixed.ll",
        DUMP_IR ".fixed.finished.ll",
    };
    rnl_status status = RNL_OK;
    for (size_t i = 0; status == RNL_OK && i < sizeof files / sizeof files[0];
         i++)
        status = read_dump(job, RNL_DUMP_IR, files[i],
                           files[i] + strlen(DUMP_IR "."), binary);
    if (status != RNL_OK || binary->dumped)
        return status;
    return compiler_refuse_crash(job, "wrote no LLVM IR");
}

static rnl_status read_dumps(struct compiler_job *job,
                             struct compiled_binary *binary)
{
    rnl_status status = RNL_OK;
    if (dump_wants(job->source, RNL_DUMP_IR))
        status = read_stages(job, binary);
    if (status == RNL_OK && dump_wants(job->source, RNL_DUMP_ASSEMBLY))
        status = read_dump(job, RNL_DUMP_ASSEMBLY, DUMP_ASSEMBLY, "s", binary);
    return status;
}

// --- All -------------------------------------------------------------------

static void add_own(struct compiler_job *job)
{
    if (dump_wants(job->source, RNL_DUMP_ASSEMBLY))
        compiler_pair(job, "--dump-assembly",
                      compiler_file(job, DUMP_ASSEMBLY));
    if (dump_wants(job->source, RNL_DUMP_IR))
        compiler_pair(job, "--dump-ir", compiler_file(job, DUMP_IR));
    if (job->source->options->untrusted)
        compiler_word(job, "--untrusted");
}

static rnl_status perform(struct compiler_job *job,
                          struct compiled_binary *out_binary)
{
    rnl_status status = compiler_source(job);
    add_own(job);
    if (status == RNL_OK)
        status = compiler_run(job, job->source->options->timeout_ns);
    if (status == RNL_OK)
        status = compiler_judge(job);
    if (status == RNL_OK)
        status = read_object(job, out_binary);
    if (status == RNL_OK)
        status = read_dumps(job, out_binary);
    if (status == RNL_OK && job->result.output.length > 0)
        out_binary->log = text_copy(job->result.output.data);
    return status;
}

// --- Compiler version ------------------------------------------------------

// From "runnel-cc 5 abi 1 … target native:0123456789abcdef (znver4)", takes the
// part before " target " and, without the hash, the part behind.
static void read_version(const struct compiler_job *job, const char *line,
                         rnl_compiler_info *out_info)
{
    static const char mark[] = " target ";
    const char *end = line + strcspn(line, "\n");
    const char *target = strstr(line, mark);
    if (!target || target > end)
        target = end;
    snprintf(out_info->path, sizeof out_info->path, "%s", job->program);
    snprintf(out_info->version, sizeof out_info->version, "%.*s",
             (int)(target - line), line);
    if (target == end)
        return;
    target += sizeof mark - 1;
    size_t name = strcspn(target, ": \n");
    const char *rest = target + name + strcspn(target + name, " \n");
    snprintf(out_info->target, sizeof out_info->target, "%.*s%.*s", (int)name,
             target, (int)(end - rest), rest);
}

static rnl_status ask_version(struct compiler_job *job,
                              rnl_compiler_info *out_info)
{
    compiler_word(job, job->program);
    compiler_word(job, "--identity");
    rnl_status status = compiler_run(job, VERSION_TIMEOUT_NS);
    const struct spawn_result *result = &job->result;
    bool told = (result->end == SPAWN_EXITED && result->code == 0) ||
                result->end == SPAWN_REAPED;
    if (status == RNL_OK && (!told || result->output.length == 0))
        status = compiler_refuse_crash(job, "does not tell its version");
    if (status == RNL_OK)
        read_version(job, result->output.data, out_info);
    return status;
}

rnl_status cpu_compiler_info(rnl_compiler_info *out_info)
{
    struct compiler_job *job = mem_allocate(sizeof *job);
    if (!job)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to ask the compiler");
    rnl_status status = find_compiler(job->program);
    if (status == RNL_OK)
        status = compiler_begin(job);
    if (status == RNL_OK) {
        status = ask_version(job, out_info);
        compiler_end(job);
    }
    compiler_free(job);
    return status;
}

// --- Compiling -------------------------------------------------------------

rnl_status cpu_module_compile(struct context *context,
                              const struct source *source,
                              struct compiled_binary *out_binary)
{
    (void)context;
    return compile_source(source, NULL, out_binary);
}

rnl_status compile_source(const struct source *source,
                          const atomic_bool *stop,
                          struct compiled_binary *out_binary)
{
    struct compiler_job *job = mem_allocate(sizeof *job);
    if (!job)
        return fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory to compile");
    job->source = source;
    job->stop = stop;
    rnl_status status = check_dump(source);
    if (status == RNL_OK)
        status = find_compiler(job->program);
    if (status == RNL_OK)
        status = compiler_begin(job);
    if (status == RNL_OK) {
        status = perform(job, out_binary);
        compiler_end(job);
    }
    compiler_free(job);
    return status;
}
