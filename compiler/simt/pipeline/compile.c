// The way of a module through the SIMT compiler.
#include "simt/pipeline/pipeline.h"
#include "simt/pipeline/tuning.h"
#include "simt/widen/widen.h"
#include "simt/transform/transform.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"
#include "simt/simt.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Support.h>
#include <runnel/cpu_object.h>
#include <stdio.h>
#include <string.h>

const char *simt_version(void)
{
    static char version[64];
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(version, sizeof version, "simt 1 llvm %u.%u.%u", major, minor,
             patch);
    return version;
}

// A dump of one pass replaces the dumps of stages.
static void dump(const struct compilation *c, LLVMModuleRef module,
                 const char *stage)
{
    if (!c->job->dump_after)
        dump_module(c->job, module, stage);
}

// --- Kernels -----------------------------------------------------------------

static char *make_vectors(struct compilation *c, LLVMModuleRef module)
{
    char *message = passes_run(c, module, STAGE_CANONICAL);
    if (!message)
        message = passes_run(c, module, STAGE_MEMORY_FORM);
    if (message)
        return message;
    dump(c, module, "threads");
    for (unsigned i = 0; i < c->count && !message; i++) {
        c->kernel = &c->kernels[i];
        if (c->kernel->function)
            message = passes_run(c, module, STAGE_KERNEL);
    }
    debug_lines_finish();
    return message;
}

static char *check(LLVMModuleRef module)
{
    char *message = NULL;
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
        return message;
    LLVMDisposeMessage(message);
    return NULL;
}

// --- Tier F ------------------------------------------------------------------

// The function run_threads of a kernel's record, which has one parameter. NULL
// if an earlier kernel with the same entry has removed the function.
static LLVMValueRef entry_of(LLVMModuleRef module, unsigned number)
{
    LLVMValueRef table = LLVMGetNamedGlobal(module, "rnl_kernels");
    LLVMValueRef record =
        table ? LLVMGetAggregateElement(LLVMGetInitializer(table), number)
              : NULL;
    for (unsigned i = 0; record; i++) {
        LLVMValueRef field = LLVMGetAggregateElement(record, i);
        if (!field)
            return NULL;
        if (LLVMIsAFunction(field) && LLVMCountParams(field) == 1)
            return field;
    }
    return NULL;
}

// Leaves tier F the entries of refused kernels only.
static void drop_entries_of_vectors(const struct compilation *c,
                                    LLVMModuleRef module)
{
    for (unsigned i = 0; i < c->count; i++) {
        LLVMDeleteFunction(thread_of(module, i));
        LLVMValueRef entry = entry_of(module, i);
        if (c->kernels[i].refusal || !entry)
            continue;
        LLVMReplaceAllUsesWith(entry, LLVMConstNull(LLVMTypeOf(entry)));
        LLVMDeleteFunction(entry);
    }
}

// --- All ---------------------------------------------------------------------

static unsigned count_kernels(LLVMModuleRef module)
{
    unsigned count = 0;
    while (thread_of(module, count))
        count++;
    return count;
}

// Generates code from a copy, since that changes the module. The copy also
// fixes the order of uses, which decides about the order of instructions.
static char *emit_file(LLVMModuleRef module, LLVMTargetMachineRef machine,
                       const char *path, LLVMCodeGenFileType type)
{
    char *message = NULL;
    // Comments in assembly mark the source's own assembly.
    LLVMSetTargetMachineAsmVerbosity(machine, type == LLVMAssemblyFile);
    bool failed = LLVMTargetMachineEmitToFile(machine, LLVMCloneModule(module),
                                              path, type, &message);
    return failed ? message : NULL;
}

static unsigned flags_of(const struct kernel *kernel)
{
    return (kernel->waits ? RNL_CPU_KERNEL_WAITS : 0) |
           (kernel->strides ? RNL_CPU_KERNEL_STRIDES : 0) |
           (kernel->across ? RNL_CPU_KERNEL_ACROSS : 0) |
           (kernel->across > 32 ? RNL_CPU_KERNEL_ROWS : 0) |
           (kernel->bounded ? RNL_CPU_KERNEL_SHORT : 0);
}

// Whether some kernel is refused, which is tier F's then.
static bool report(const struct compilation *c)
{
    const struct simt_job *job = c->job;
    bool refused = false;
    for (unsigned i = 0; i < c->count; i++) {
        const struct kernel *kernel = &c->kernels[i];
        if (job->only && i != job->kernel)
            continue;
        refused |= kernel->refusal != NULL;
        if (!kernel->refusal)
            job->vectorised(job->user, i, flags_of(kernel));
        else
            job->refused(job->user, i, kernel->refusal);
    }
    return refused;
}

// Verifies vector code for one block size and runs the passes of vector code.
static char *finish_fixed(struct compilation *c, LLVMModuleRef module,
                          char *message)
{
    dump(c, module, "fixed");
    if (!message)
        message = check(module);
    if (!message)
        message = passes_run(c, module, STAGE_VECTORS);
    dump(c, module, "fixed.finished");
    return message;
}

// Code for blocks of one size. Kernels with such code get `chosen` set.
static char *vectorise_fixed(const struct compilation *general,
                             LLVMModuleRef module)
{
    struct compilation c = *general;
    c.kernels = simt_allocate(c.count * sizeof *c.kernels);
    c.fixed = true;
    for (unsigned i = 0; i < c.count; i++)
        c.kernels[i].fixed = c.job->block_size;
    char *message = make_vectors(&c, module);
    for (unsigned i = 0; i < c.count && !message; i++)
        if (!c.kernels[i].refusal) {
            general->kernels[i].chosen = c.job->block_size;
            general->kernels[i].across = c.kernels[i].across;
        }
    return finish_fixed(&c, module, message);
}

static char *link_fixed(const struct compilation *c, LLVMModuleRef module,
                        LLVMModuleRef fixed)
{
    for (unsigned i = 0; i < c->count; i++) {
        LLVMValueRef unused =
            LLVMGetNamedFunction(fixed, simt_format("rnl_fixed_%u", i));
        if (c->kernels[i].refusal && unused)
            LLVMDeleteFunction(unused);
    }
    return LLVMLinkModules2(module, fixed)
               ? LLVMCreateMessage("code for one block size does not fit")
               : NULL;
}

// Modules with dumps, line tables, or code for one block size are compiled in
// one process.
static unsigned most_partitions(const struct simt_job *job,
                                LLVMModuleRef module)
{
    bool whole = job->dump || job->assembly || job->block_size[0] ||
                 LLVMGetNamedMetadataNumOperands(module, "llvm.dbg.cu") > 0;
    return whole || job->alone ? 1 : PARTITIONS_MOST;
}

static char *vectorise(struct compilation *c, LLVMModuleRef module,
                       struct partitions *partitions, LLVMModuleRef *made)
{
    LLVMModuleRef fixed = NULL;
    char *message = NULL;
    *made = LLVMCloneModule(module);
    if (c->job->block_size[0]) {
        fixed = LLVMCloneModule(module);
        message = vectorise_fixed(c, fixed);
    }
    if (!message)
        message = make_vectors(c, *made);
    if (message)
        return message;
    dump(c, *made, "vectors");
    if ((message = check(*made)))
        return message;
    partitions_start(partitions, *made, most_partitions(c->job, *made));
    message = passes_run(c, *made, STAGE_VECTORS);
    dump(c, *made, "finished");
    return message || !fixed ? message : link_fixed(c, *made, fixed);
}

// --- One kernel for one block size -------------------------------------------

static bool has_uses(LLVMValueRef value)
{
    return LLVMGetFirstUse(value) != NULL;
}

// Variables belong to the object that was there before.
static bool uses_variables(LLVMModuleRef module)
{
    size_t size;
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (LLVMIsDeclaration(g) && has_uses(g) && !LLVMIsThreadLocal(g) &&
            !strstr(LLVMGetValueName2(g, &size), "rnl_services"))
            return true;
    return false;
}

static void keep_one(LLVMModuleRef module, unsigned kernel, unsigned count)
{
    drop_used_list(module);
    for (unsigned i = 0; i < count; i++)
        if (i != kernel)
            LLVMDeleteFunction(thread_of(module, i));
}

static void make_empty(LLVMValueRef function)
{
    LLVMContextRef context =
        LLVMGetModuleContext(LLVMGetGlobalParent(function));
    LLVMValueRef fresh = LLVMAddFunction(
        LLVMGetGlobalParent(function), "rnl_entry_none",
        LLVMGlobalGetValueType(function));
    LLVMSetLinkage(fresh, LLVMInternalLinkage);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(context, fresh,
                                                              "entry"));
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
    LLVMReplaceAllUsesWith(function, fresh);
    LLVMDeleteFunction(function);
}

static char *vectorise_one(struct compilation *general, LLVMModuleRef module,
                           LLVMModuleRef *made)
{
    struct compilation c = *general;
    const unsigned number = c.job->kernel;
    struct kernel *kernel = &c.kernels[number];
    *made = LLVMCloneModule(module);
    keep_one(*made, number, c.count);
    c.fixed = true;
    kernel->fixed = c.job->block_size;
    kernel->alone = true;
    char *message = finish_fixed(&c, *made, make_vectors(&c, *made));
    if (!message && !kernel->refusal && uses_variables(*made))
        kernel->refusal = "it uses variables of its module";
    for (unsigned i = 0; i < c.count; i++)
        if (i != number)
            c.kernels[i].refusal = "it was not asked for";
    return message;
}

static void empty_other_entries(const struct compilation *c,
                                LLVMModuleRef module)
{
    for (unsigned i = 0; c->job->only && i < c->count; i++)
        if (i != c->job->kernel && entry_of(module, i))
            make_empty(entry_of(module, i));
}

static char *vectorise_all(struct compilation *c, LLVMModuleRef module,
                           struct partitions *partitions, LLVMModuleRef *made)
{
    if (!c->job->only)
        return vectorise(c, module, partitions, made);
    if (c->job->kernel >= c->count)
        return LLVMCreateMessage("there is no kernel of that name");
    return vectorise_one(c, module, made);
}

// Whether a function jumps to labels by their addresses, which a copy of a
// module loses.
static bool has_label_addresses(LLVMModuleRef module)
{
    for (LLVMBasicBlockRef block = first_block(module); block;
         block = next_block(block))
        if (LLVMIsAIndirectBrInst(LLVMGetBasicBlockTerminator(block)))
            return true;
    return false;
}

static void set_option(const char *option)
{
    const char *const words[] = {"runnel-simt", option};
    LLVMParseCommandLineOptions(2, words, NULL);
}

static bool has_huge(const struct kernel *kernels, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (kernels[i].huge)
            return true;
    return false;
}

// Thousands of constants that are loaded before a loop do not stay in registers
// anyway, and searching for equal constants takes long; so does strength
// reduction of thousands of addresses.
static void stay_in_loops(void)
{
    set_option("-disable-machine-licm");
    set_option("-disable-lsr");
}

// Inter-procedural register allocation: a call preserves the registers that its
// function does not use. The calling convention preserves no vector registers.
static void know_registers(LLVMModuleRef module)
{
    if (module_has_kept_functions(module))
        set_option("-enable-ipra");
}

// LLVM searches all earlier blocks for the store behind each load.
static void look_near(void)
{
    set_option("-memdep-block-number-limit=50");
}

// Block placement searches all cases for each block: time grows with the
// square of the number of cases.
static bool has_wide_switch(LLVMModuleRef module)
{
    for (LLVMBasicBlockRef block = first_block(module); block;
         block = next_block(block)) {
        LLVMValueRef last = LLVMGetBasicBlockTerminator(block);
        if (LLVMIsASwitchInst(last) &&
            LLVMGetNumSuccessors(last) > CASES_MOST)
            return true;
    }
    return false;
}

// Turns off parts of code generation whose time grows with the square of a
// kernel's size.
static void choose_options(const struct compilation *c, LLVMModuleRef module)
{
    know_registers(module);
    if (c->huge)
        stay_in_loops();
    if (has_wide_switch(module))
        set_option("-disable-block-placement");
    if (c->split)  // LLVM would join the pieces again
        set_option("-disable-cgp-branch-opts");
    if (c->huge || c->split)
        // LLVM would visit all blocks after each change of one.
        set_option("-cgpp-huge-func=0");
}

// The last passes before code generation.
static char *finish_code(struct compilation *c, LLVMModuleRef module)
{
    c->huge = has_huge(c->kernels, c->count);
    char *message = passes_run(c, module, STAGE_CODE);
    choose_options(c, module);
    return message ? message : passes_run(c, module, STAGE_DEMOTE);
}

static void set_options(void)
{
    static const char *const words[] = {
        "runnel-simt", "-vectorize-loops=false", "-scalarize-load-store",
        // The time that these take grows faster than blocks do.
        "-disable-post-ra",
#if defined(__x86_64__)
        "-disable-x86-domain-reassignment",
#endif
    };
    static bool set;
    if (!set)
        LLVMParseCommandLineOptions(sizeof words / sizeof *words, words, NULL);
    set = true;
}

// Generates the code of a child's partition and ends the process.
static void end_partition(struct compilation *c,
                          const struct partitions *partitions,
                          LLVMModuleRef module)
{
    char *path = partitions_path(partitions, c->job->object);
    bool made = !finish_code(c, module) &&
                !emit_file(module, c->machine, path, LLVMObjectFile);
    partitions_end(partitions, made);
}

// Compiles the scalar part of a module.
static char *compile_scalar(struct compilation *c, LLVMModuleRef module)
{
    c->has_scalar = report(c) || c->job->scalar_only;
    char *message = passes_run(c, module, STAGE_SCALAR_BEGIN);
    drop_entries_of_vectors(c, module);
    empty_other_entries(c, module);
    if (!message)
        message = passes_run(c, module, STAGE_SCALAR);
    if (!message && c->job->scalar_only)
        dump(c, module, "finished");
    return message;
}

static char *compile_module(struct compilation *c, LLVMModuleRef module,
                            struct partitions *partitions)
{
    char *message = NULL;
    LLVMModuleRef vectors = NULL;
    if (has_label_addresses(module))
        return LLVMCreateMessage("a function jumps to addresses of labels");
    if ((message = passes_run(c, module, STAGE_SOURCE)))
        return message;
    dump(c, module, "source");
    if ((message = passes_run(c, module, STAGE_ROTATE)))
        return message;
    if (module_is_huge(module))
        look_near();
    c->count = count_kernels(module);
    c->kernels = simt_allocate(c->count * sizeof *c->kernels);
    if (!c->job->scalar_only &&
        (message = vectorise_all(c, module, partitions, &vectors)))
        return message;
    if (partitions->mine > 0)
        end_partition(c, partitions, vectors);
    if ((message = compile_scalar(c, module)))
        return message;
    if (vectors && LLVMLinkModules2(module, vectors))
        return LLVMCreateMessage("the vector code does not fit the rest");
    return finish_code(c, module);
}

static char *compile(const struct simt_job *job, LLVMModuleRef module,
                     struct partitions *partitions)
{
    char *message = NULL;
    struct compilation c = {.job = job};
    c.machine = target_create(LLVMGetTarget(module), job->target, &message);
    if (!c.machine)
        return message;
    message = compile_module(&c, module, partitions);
    if (partitions->mine > 0)
        partitions_end(partitions, false);
    if (!message && job->assembly)
        message = emit_file(module, c.machine, job->assembly,
                            LLVMAssemblyFile);
    if (!message)
        message = emit_file(module, c.machine,
                            partitions_path(partitions, job->object),
                            LLVMObjectFile);
    if (!partitions_wait(partitions) && !message)
        message = LLVMCreateMessage("a process that generates code failed");
    return message;
}

int simt_compile(const struct simt_job *job, void *module, char *message,
                 size_t message_size)
{
    set_options();
    struct partitions partitions = {.count = 1};
    char *said = compile(job, module, &partitions);
    if (said)
        snprintf(message, message_size, "%s", said);
    return said ? -1 : (int)partitions.count;
}
