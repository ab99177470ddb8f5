// The way of a module through the SIMT compiler.
#include "simt/pipeline/pipeline.h"
#include "simt/codegen/codegen.h"
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
#include <llvm-c/Transforms/PassBuilder.h>
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

static void dump(const struct simt_job *job, LLVMModuleRef module,
                 const char *stage)
{
    char *message = NULL;
    if (job->dump)
        LLVMPrintModuleToFile(module,
                              simt_format("%s.%s.ll", job->dump, stage),
                              &message);
    LLVMDisposeMessage(message);
}

// --- Kernels -----------------------------------------------------------------

static LLVMValueRef thread_of(LLVMModuleRef module, unsigned number)
{
    return LLVMGetNamedFunction(module, simt_format("rnl_thread_%u", number));
}

// With its loops over the grid interchanged, and read anew.
static bool read_kernel(struct kernel *kernel)
{
    struct kernel unread = *kernel;
    if (!kernel_read(kernel))
        return false;
    bool waits = kernel->barrier_count > 0 || kernel->has_warp_ops;
    while (kernel->size <= KERNEL_LARGE && loop_interchange(kernel)) {
        unread.strides = true;
        *kernel = unread;
        if (!kernel_read(kernel))
            return false;
    }
    kernel->waits = waits;
    return true;
}

// `kernels` says for each what is special about it.
static char *make_vectors(const struct simt_job *job, LLVMModuleRef module,
                          struct kernel *kernels, unsigned count)
{
    char *message = canonicalize_threads(module);
    if (message)
        return message;
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef thread = thread_of(module, i);
        if (!thread)
            continue;  // not asked for
        kernels[i] = (struct kernel){
            .number = i, .module = module,
            .context = LLVMGetModuleContext(module),
            .layout = LLVMGetModuleDataLayout(module),
            .function = thread, .force_vectors = job->force_vectors,
            .fixed = kernels[i].fixed, .across = kernels[i].across,
            .chosen = kernels[i].chosen, .alone = kernels[i].alone};
        if (!kernel_split(&kernels[i])) {
            kernels[i].function = NULL;
            LLVMDeleteFunction(thread);
        }
    }
    message = run_passes(module, "function(reg2mem)");
    dump(job, module, "threads");
    for (unsigned i = 0; i < count && !message; i++)
        if (kernels[i].function && read_kernel(&kernels[i]))
            emit_kernel(&kernels[i]);
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

#define COMBINE "instcombine<no-verify-fixpoint>"

// Gangs that are known by number need not ask where they are, nor again what
// the one before has asked.
static char *finish_fixed(LLVMModuleRef module)
{
    char *message = run_passes(
        module, "globaldce,function(sroa,early-cse<memssa>," COMBINE
                ",simplifycfg,loop-simplify,lcssa,loop-mssa(licm),"
                "loop(indvars,loop-unroll-full),sroa,jump-threading,"
                "simplifycfg)");
    narrow_accesses(module);
    forward_tiles(module);
    if (!message)
        message = run_passes(module, "function(gvn)");
    narrow_numbers(module);
    if (!message)
        message = run_passes(module, "function(dse," COMBINE
                                      ",dse,simplifycfg,adce)");
    interleave_reductions(module);
    hoist_stores(module);
    return message;
}

static char *finish_general(LLVMModuleRef module, const char *combine)
{
    return run_passes(
        module,
        simt_format("globaldce,function(sroa,early-cse<memssa>," COMBINE
                    ",simplifycfg,loop-simplify,lcssa,loop-mssa(licm),gvn,dse"
                    "%s,simplifycfg,adce)", combine));
}

// No loop vectoriser: it miscompiles masked induction (llvm-project #156849).
static char *finish_vectors(LLVMModuleRef module, unsigned count, bool fixed)
{
    for (unsigned i = 0; i < count; i++)
        if (thread_of(module, i))
            LLVMDeleteFunction(thread_of(module, i));
    internalize_functions(module);
    const char *combine = combine_again(module);
    // Each variable is searched for from the begin of its blocks.
    char *message = split_long_blocks(module)
                        ? run_passes(module, "function(sroa,simplifycfg)")
                        : NULL;
    if (message)
        return message;
    message = fixed ? finish_fixed(module)
                    : finish_general(module, combine);
    promote_halves(module);
    if (!message)
        narrow_to_int16(module);
    return message;
}

// --- Tier F ------------------------------------------------------------------

// The run_threads of a kernel's record: the function with one parameter, which
// is no longer there if another kernel of the same entry was here before.
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

static void drop_threads(LLVMModuleRef module, const struct kernel *kernels,
                         unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        LLVMDeleteFunction(thread_of(module, i));
        LLVMValueRef entry = entry_of(module, i);
        if (kernels[i].refusal || !entry)
            continue;
        LLVMReplaceAllUsesWith(entry, LLVMConstNull(LLVMTypeOf(entry)));
        LLVMDeleteFunction(entry);
    }
}

// Very large functions' loops, beyond which none is unrolled: each time all is
// gone over that follows from what a loop counts.
enum { LOOPS_MOST = 500 };

// A module without kernels for tier F has only short functions left, which few
// passes are enough for.
static char *optimise(LLVMModuleRef module, LLVMTargetMachineRef machine,
                      bool has_kernels, bool many_loops)
{
    if (!has_kernels)
        return run_passes(module, "globaldce,always-inline,globaldce,"
                                   "function(sroa,early-cse,simplifycfg)");
    char *message = spin_loops_yield(module);
    if (message)
        return message;
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
    LLVMPassBuilderOptionsSetLoopInterleaving(options, 0);
    LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
    LLVMPassBuilderOptionsSetLoopUnrolling(options, !many_loops);
    LLVMErrorRef error =
        LLVMRunPasses(module, "globaldce,always-inline,globaldce,default<O2>",
                      machine, options);
    LLVMDisposePassBuilderOptions(options);
    return error ? LLVMGetErrorMessage(error) : NULL;
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
    // Comments tell what of it is the source's own assembly.
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
           (kernel->across > 32 ? RNL_CPU_KERNEL_ROWS : 0);
}

// Whether some kernel is refused, which is tier F's then.
static bool report(const struct simt_job *job, const struct kernel *kernels,
                   unsigned count)
{
    bool refused = false;
    for (unsigned i = 0; i < count; i++) {
        if (job->only && i != job->kernel)
            continue;
        refused |= kernels[i].refusal != NULL;
        if (!kernels[i].refusal)
            job->vectorised(job->user, i, flags_of(&kernels[i]));
        else
            job->refused(job->user, i, kernels[i].refusal);
    }
    return refused;
}

// Code for blocks of one size. Kernels that have it get `chosen` set.
static char *vectorise_fixed(const struct simt_job *job, LLVMModuleRef module,
                             struct kernel *kernels, unsigned count)
{
    struct kernel *fixed = simt_allocate(count * sizeof *fixed);
    specialize_block_size(module, job->block_size);
    for (unsigned i = 0; i < count; i++)
        fixed[i].fixed = job->block_size;
    char *message = make_vectors(job, module, fixed, count);
    for (unsigned i = 0; i < count && !message; i++)
        if (!fixed[i].refusal) {
            kernels[i].chosen = job->block_size;
            kernels[i].across = fixed[i].across;
        }
    dump(job, module, "fixed");
    if (!message)
        message = check(module);
    if (!message)
        message = finish_vectors(module, count, true);
    dump(job, module, "fixed.finished");
    return message;
}

static char *link_fixed(LLVMModuleRef module, LLVMModuleRef fixed,
                        const struct kernel *kernels, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef unused =
            LLVMGetNamedFunction(fixed, simt_format("rnl_fixed_%u", i));
        if (kernels[i].refusal && unused)
            LLVMDeleteFunction(unused);
    }
    return LLVMLinkModules2(module, fixed)
               ? LLVMCreateMessage("code for one block size does not fit")
               : NULL;
}

// Modules that are dumped, have line tables, or are linked with code for one
// block size are compiled in one process.
static unsigned most_partitions(const struct simt_job *job,
                                LLVMModuleRef module)
{
    bool whole = job->dump || job->assembly || job->block_size[0] ||
                 LLVMGetNamedMetadataNumOperands(module, "llvm.dbg.cu") > 0;
    return whole || job->alone ? 1 : PARTITIONS_MOST;
}

static char *vectorise(const struct simt_job *job, LLVMModuleRef module,
                       struct kernel *kernels, unsigned count,
                       struct partitions *partitions, LLVMModuleRef *made)
{
    LLVMModuleRef fixed = NULL;
    char *message = NULL;
    *made = LLVMCloneModule(module);
    if (job->block_size[0]) {
        fixed = LLVMCloneModule(module);
        message = vectorise_fixed(job, fixed, kernels, count);
    }
    if (!message)
        message = make_vectors(job, *made, kernels, count);
    if (message)
        return message;
    dump(job, *made, "vectors");
    if ((message = check(*made)))
        return message;
    partitions_start(partitions, *made, most_partitions(job, *made));
    message = finish_vectors(*made, count, false);
    dump(job, *made, "finished");
    return message || !fixed ? message
                             : link_fixed(*made, fixed, kernels, count);
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

static char *vectorise_one(const struct simt_job *job, LLVMModuleRef module,
                           struct kernel *kernels, unsigned count,
                           LLVMModuleRef *made)
{
    struct kernel *kernel = &kernels[job->kernel];
    *made = LLVMCloneModule(module);
    keep_one(*made, job->kernel, count);
    specialize_block_size(*made, job->block_size);
    kernel->fixed = job->block_size;
    kernel->alone = true;
    char *message = make_vectors(job, *made, kernels, count);
    dump(job, *made, "fixed");
    if (!message)
        message = check(*made);
    if (!message)
        message = finish_vectors(*made, count, true);
    dump(job, *made, "fixed.finished");
    if (!message && !kernel->refusal && uses_variables(*made))
        kernel->refusal = "it uses variables of its module";
    for (unsigned i = 0; i < count; i++)
        if (i != job->kernel)
            kernels[i].refusal = "it was not asked for";
    return message;
}

static void drop_entries(const struct simt_job *job, LLVMModuleRef module,
                         unsigned count)
{
    for (unsigned i = 0; job->only && i < count; i++)
        if (i != job->kernel && entry_of(module, i))
            make_empty(entry_of(module, i));
}

static char *vectorise_all(const struct simt_job *job, LLVMModuleRef module,
                           struct kernel *kernels, unsigned count,
                           struct partitions *partitions, LLVMModuleRef *made)
{
    if (!job->only)
        return vectorise(job, module, kernels, count, partitions, made);
    if (job->kernel >= count)
        return LLVMCreateMessage("there is no kernel of that name");
    return vectorise_one(job, module, kernels, count, made);
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
// anyway, and to find equal ones takes long; so does it to choose among
// thousands of addresses those that a loop counts on.
static void stay_in_loops(void)
{
    set_option("-disable-machine-licm");
    set_option("-disable-lsr");
}

// What a call leaves in registers is what its function does not use, rather
// than what the convention says: of vectors, nothing.
static void know_registers(LLVMModuleRef module)
{
    if (module_has_kept_functions(module))
        set_option("-enable-ipra");
}

// What was stored is looked for in all blocks before, for each load.
static void look_near(void)
{
    set_option("-memdep-block-number-limit=50");
}

// A switch with more cases disables block placement.
enum { CASES_MOST = 500 };

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

// What code generation does that takes time with the square of a kernel's size.
static void choose_options(LLVMModuleRef module, bool huge)
{
    bool cut = split_long_blocks(module);
    know_registers(module);
    if (huge)
        stay_in_loops();
    if (has_wide_switch(module))
        set_option("-disable-block-placement");
    if (cut)  // the pieces would be joined again
        set_option("-disable-cgp-branch-opts");
    if (huge || cut) {
        // All blocks would be gone over whenever one has changed.
        set_option("-cgpp-huge-func=0");
        demote_to_stack(module);
    }
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
static void end_partition(const struct simt_job *job,
                          const struct partitions *partitions,
                          LLVMModuleRef module, LLVMTargetMachineRef machine,
                          bool huge)
{
    choose_options(module, huge);
    sections_set(module);
    partitions_end(partitions, !emit_file(module, machine,
                                  partitions_path(partitions, job->object),
                                  LLVMObjectFile));
}

static char *compile_module(const struct simt_job *job, LLVMModuleRef module,
                            LLVMTargetMachineRef machine,
                            struct partitions *partitions)
{
    char *message = NULL;
    LLVMModuleRef vectors = NULL;
    if (has_label_addresses(module))
        return LLVMCreateMessage("a function jumps to addresses of labels");
    resolve_aliases(module);
    unify_targets(module);
    lower_arithmetic(module, job->scalar_only);
    export_variables(module);
    dump(job, module, "source");
    bool many_loops = rotate_loops(module) > LOOPS_MOST;
    if (module_is_huge(module))
        look_near();
    unsigned count = count_kernels(module);
    struct kernel *kernels = simt_allocate(count * sizeof *kernels);
    if (!job->scalar_only &&
        (message = vectorise_all(job, module, kernels, count, partitions,
                                 &vectors)))
        return message;
    if (partitions->mine > 0)
        end_partition(job, partitions, vectors, machine,
                      has_huge(kernels, count));
    bool has_kernels = report(job, kernels, count) || job->scalar_only;
    tbaa_mark_state(module);
    drop_used_list(module);
    drop_threads(module, kernels, count);
    drop_entries(job, module, count);
    if ((message = optimise(module, machine, has_kernels, many_loops)))
        return message;
    if (job->scalar_only)
        dump(job, module, "finished");
    if (vectors && LLVMLinkModules2(module, vectors))
        return LLVMCreateMessage("the vector code does not fit the rest");
    choose_options(module, has_huge(kernels, count));
    sections_set(module);
    return NULL;
}

static char *compile(const struct simt_job *job, LLVMModuleRef module,
                     struct partitions *partitions)
{
    char *message = NULL;
    LLVMTargetMachineRef machine =
        target_create(LLVMGetTarget(module), job->target, &message);
    if (!machine)
        return message;
    message = compile_module(job, module, machine, partitions);
    if (partitions->mine > 0)
        partitions_end(partitions, false);
    if (!message && job->assembly)
        message = emit_file(module, machine, job->assembly, LLVMAssemblyFile);
    if (!message)
        message =
            emit_file(module, machine, partitions_path(partitions, job->object),
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
