// The way of a module through the SIMT compiler.
#include "ir.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Comdat.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Support.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <runnel/cpu_object.h>
#include <stdio.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED simt_version_fn runnel_simt_version;
EXPORTED simt_compile_fn runnel_simt_compile;

const char *runnel_simt_version(void)
{
    static char version[64];
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(version, sizeof version, "simt 1 llvm %u.%u.%u", major, minor,
             patch);
    return version;
}

static LLVMModuleRef read_module(const char *path, char **message)
{
    LLVMMemoryBufferRef buffer;
    LLVMModuleRef module;
    if (LLVMCreateMemoryBufferWithContentsOfFile(path, &buffer, message))
        return NULL;
    if (LLVMParseBitcode2(buffer, &module)) {
        *message = LLVMCreateMessage("the bitcode cannot be read");
        return NULL;
    }
    LLVMDisposeMemoryBuffer(buffer);
    return module;
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

static char *make_vectors(const struct simt_job *job, LLVMModuleRef module,
                          struct kernel *kernels, unsigned count)
{
    char *message = prepare_module(module);
    if (message)
        return message;
    for (unsigned i = 0; i < count; i++) {
        kernels[i] = (struct kernel){
            .number = i, .module = module,
            .context = LLVMGetModuleContext(module),
            .layout = LLVMGetModuleDataLayout(module),
            .function = thread_of(module, i)};
        kernel_split(&kernels[i]);
    }
    message = prepare_run(module, "function(reg2mem)");
    dump(job, module, "threads");
    for (unsigned i = 0; i < count && !message; i++)
        if (kernel_read(&kernels[i]))
            emit_kernel(&kernels[i]);
    lines_finish();
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

// No loop vectoriser: it miscompiles masked induction (llvm-project #156849).
static char *finish_vectors(LLVMModuleRef module, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        LLVMDeleteFunction(thread_of(module, i));
    prepare_hide_functions(module);
    return prepare_run(
        module,
        "globaldce,function(sroa,early-cse<memssa>," COMBINE ",simplifycfg,"
        "loop-simplify,lcssa,loop-mssa(licm),gvn,dse," COMBINE
        ",simplifycfg,adce)");
}

// --- Tier F ------------------------------------------------------------------

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
        if (LLVMIsAFunction(field))
            return field;  // the first function: run_threads
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

// Device functions that the kernels of tier B have copies of.
static void hide_functions(LLVMModuleRef module)
{
    size_t length;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) &&
            strncmp(LLVMGetValueName2(f, &length), "_Z", 2) == 0) {
            LLVMSetComdat(f, NULL);
            LLVMSetLinkage(f, LLVMInternalLinkage);
            LLVMSetVisibility(f, LLVMDefaultVisibility);
        }
}

// Without kernels nothing is left that is worth much time.
static char *optimise(LLVMModuleRef module, LLVMTargetMachineRef machine,
                      bool has_kernels)
{
    if (!has_kernels) {
        hide_functions(module);
        return prepare_run(module, "globaldce,always-inline,globaldce,"
                                   "function(sroa,early-cse,simplifycfg)");
    }
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
    LLVMPassBuilderOptionsSetLoopInterleaving(options, 0);
    LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
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

static char *emit_file(LLVMModuleRef module, LLVMTargetMachineRef machine,
                       const char *path, LLVMCodeGenFileType type)
{
    char *message = NULL;
    LLVMModuleRef copy = LLVMCloneModule(module);
    bool failed = LLVMTargetMachineEmitToFile(machine, copy, path, type,
                                              &message);
    LLVMDisposeModule(copy);
    return failed ? message : NULL;
}

// Whether some kernel is refused, which is tier F's then.
static bool report(const struct simt_job *job, const struct kernel *kernels,
                   unsigned count)
{
    bool refused = false;
    for (unsigned i = 0; i < count; i++) {
        refused |= kernels[i].refusal != NULL;
        if (!kernels[i].refusal)
            job->vectorised(job->user, i, kernels[i].barrier_count > 0 ||
                                              kernels[i].has_warp_ops);
        else
            job->refused(job->user, i, kernels[i].refusal);
    }
    return refused;
}

static char *vectorise(const struct simt_job *job, LLVMModuleRef module,
                       struct kernel *kernels, unsigned count,
                       LLVMModuleRef *made)
{
    *made = LLVMCloneModule(module);
    char *message = make_vectors(job, *made, kernels, count);
    if (message)
        return message;
    dump(job, *made, "vectors");
    if ((message = check(*made)))
        return message;
    message = finish_vectors(*made, count);
    dump(job, *made, "finished");
    return message;
}

// Whether a function jumps to labels by their addresses, which a copy of a
// module loses.
static bool has_label_addresses(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            if (LLVMIsAIndirectBrInst(LLVMGetBasicBlockTerminator(block)))
                return true;
    return false;
}

static char *compile(const struct simt_job *job)
{
    static const char *const words[] = {
        "runnel-simt", "-vectorize-loops=false", "-scalarize-load-store",
        "-disable-post-ra"};  // its time grows faster than blocks do
    LLVMParseCommandLineOptions(4, words, NULL);
    char *message = NULL;
    LLVMModuleRef module = read_module(job->bitcode, &message), vectors;
    if (!module)
        return message;
    if (has_label_addresses(module))
        return LLVMCreateMessage("a function jumps to addresses of labels");
    prepare_targets(module);
    LLVMTargetMachineRef machine =
        target_create(LLVMGetTarget(module), job->target, &message);
    if (!machine)
        return message;
    prepare_divisions(module);
    prepare_share_variables(module);
    dump(job, module, "source");
    unsigned count = count_kernels(module);
    struct kernel *kernels = simt_allocate(count * sizeof *kernels);
    if (job->scalar_only) {
        for (unsigned i = 0; i < count; i++)
            kernels[i].refusal = "tier F was asked for";
        vectors = NULL;
    } else if ((message = vectorise(job, module, kernels, count, &vectors))) {
        return message;
    }
    bool has_kernels = report(job, kernels, count);
    prepare_drop_used(module);
    drop_threads(module, kernels, count);
    if ((message = optimise(module, machine, has_kernels)))
        return message;
    if (vectors && LLVMLinkModules2(module, vectors))
        return LLVMCreateMessage("the vector code does not fit the rest");
    sections_set(module);
    message = emit_file(module, machine, job->object, LLVMObjectFile);
    if (!message && job->assembly)
        message = emit_file(module, machine, job->assembly, LLVMAssemblyFile);
    return message;
}

int runnel_simt_compile(const struct simt_job *job, char *message,
                        size_t message_size)
{
    char *said = compile(job);
    if (said)
        snprintf(message, message_size, "%s", said);
    return said ? -1 : 0;
}
