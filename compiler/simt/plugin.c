// Leaves every kernel to tier F.
#include "simt.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/Core.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED simt_version_fn runnel_simt_version;
EXPORTED simt_compile_fn runnel_simt_compile;

const char *runnel_simt_version(void)
{
    static char text[48];
    unsigned major, minor, patch;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(text, sizeof text, "simt 0 llvm %u.%u.%u", major, minor, patch);
    return text;
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

// The target machine says what the processor is, not each function.
static void strip_targets(LLVMModuleRef module)
{
    static const char *const names[] = {"target-cpu", "target-features",
                                        "tune-cpu"};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                                             names[i],
                                             (unsigned)strlen(names[i]));
}

static LLVMTargetMachineRef make_machine(LLVMModuleRef module,
                                         const char *target, char **message)
{
    LLVMTargetRef kind;
    const char *triple = LLVMGetTarget(module);
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMInitializeNativeAsmParser();
    if (LLVMGetTargetFromTriple(triple, &kind, message))
        return NULL;
    bool native = strcmp(target, "native") == 0;
    char *processor = native ? LLVMGetHostCPUName() : LLVMCreateMessage(target);
    char *features = native ? LLVMGetHostCPUFeatures() : LLVMCreateMessage("");
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
        kind, triple, processor, features, LLVMCodeGenLevelDefault,
        LLVMRelocPIC, LLVMCodeModelDefault);
    LLVMDisposeMessage(processor);
    LLVMDisposeMessage(features);
    return machine;
}

// What would be compiled for tier B alone.
static void drop_threads(LLVMModuleRef module, const struct simt_job *job)
{
    LLVMValueRef used = LLVMGetNamedGlobal(module, "llvm.used");
    char name[32];
    LLVMValueRef function;
    if (used)
        LLVMDeleteGlobal(used);
    used = LLVMGetNamedGlobal(module, "llvm.compiler.used");
    if (used)
        LLVMDeleteGlobal(used);
    for (unsigned n = 0;; n++) {
        snprintf(name, sizeof name, "rnl_thread_%u", n);
        if (!(function = LLVMGetNamedFunction(module, name)))
            return;
        LLVMDeleteFunction(function);
        if (job->refused)
            job->refused(job->user, n, "vectors are not made yet");
    }
}

// --- Sections --------------------------------------------------------------

static bool has_address(LLVMValueRef constant)
{
    if (LLVMIsAGlobalValue(constant))
        return true;
    int count = LLVMGetNumOperands(constant);
    for (int i = 0; i < count; i++)
        if (has_address(LLVMGetOperand(constant, (unsigned)i)))
            return true;
    return false;
}

static void set_section(LLVMValueRef global, const char *prefix)
{
    size_t length;
    const char *name = LLVMGetValueName2(global, &length);
    size_t size = strlen(prefix) + length + 1;
    char *section = malloc(size);
    if (!section || (LLVMGetSection(global) && *LLVMGetSection(global)))
        return free(section);
    snprintf(section, size, "%s%s", prefix, name);
    LLVMSetSection(global, section);
    free(section);
}

static void set_variable_section(LLVMValueRef global)
{
    LLVMValueRef value = LLVMGetInitializer(global);
    if (LLVMIsThreadLocal(global))
        set_section(global, LLVMIsNull(value) ? ".tbss." : ".tdata.");
    else if (has_address(value))
        set_section(global, LLVMIsGlobalConstant(global) ? ".data.rel.ro."
                                                         : ".data.");
}

// -ffunction-sections and -fdata-sections, where relocations show what a kernel
// reaches.
static void set_sections(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            set_section(f, ".text.");
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g))
            set_variable_section(g);
}

// --- Compiling -------------------------------------------------------------

static char *optimise(LLVMModuleRef module, LLVMTargetMachineRef machine)
{
    static const char *const words[] = {"runnel-simt",
                                        "-vectorize-loops=false"};
    LLVMParseCommandLineOptions(2, words, NULL);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopVectorization(options, 0);
    LLVMPassBuilderOptionsSetLoopInterleaving(options, 0);
    LLVMPassBuilderOptionsSetSLPVectorization(options, 1);
    LLVMErrorRef error =
        LLVMRunPasses(module, "always-inline,default<O2>", machine, options);
    LLVMDisposePassBuilderOptions(options);
    return error ? LLVMGetErrorMessage(error) : NULL;
}

static char *emit(LLVMModuleRef module, LLVMTargetMachineRef machine,
                  const char *path, LLVMCodeGenFileType type)
{
    char *message = NULL;
    LLVMModuleRef copy = LLVMCloneModule(module);
    bool failed = LLVMTargetMachineEmitToFile(machine, copy, path, type,
                                              &message);
    LLVMDisposeModule(copy);
    return failed ? message : NULL;
}

static char *compile(const struct simt_job *job)
{
    char *message = NULL;
    LLVMModuleRef module = read_module(job->bitcode, &message);
    if (!module)
        return message;
    strip_targets(module);
    LLVMTargetMachineRef machine = make_machine(module, job->target, &message);
    if (!machine)
        return message;
    drop_threads(module, job);
    if ((message = optimise(module, machine)))
        return message;
    set_sections(module);
    message = emit(module, machine, job->object, LLVMObjectFile);
    if (!message && job->assembly)
        message = emit(module, machine, job->assembly, LLVMAssemblyFile);
    LLVMDisposeTargetMachine(machine);
    LLVMDisposeModule(module);
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
