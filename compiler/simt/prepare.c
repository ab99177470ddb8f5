// Brings a module into the state that the analysis expects: each kernel one
// function, everything inlined but what is recursive, values in registers.
#include "ir.h"

#include <runnel/cpu_object.h>

#include <llvm-c/Comdat.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// --- What is said of functions ----------------------------------------------

static void say(LLVMValueRef function, LLVMAttributeRef attribute)
{
    LLVMAddAttributeAtIndex(function, (unsigned)LLVMAttributeFunctionIndex,
                            attribute);
}

static LLVMContextRef context_of(LLVMValueRef function)
{
    return LLVMGetModuleContext(LLVMGetGlobalParent(function));
}

void add_flag(LLVMValueRef function, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    say(function, LLVMCreateEnumAttribute(context_of(function), kind, 0));
}

void remove_flag(LLVMValueRef function, const char *name)
{
    LLVMRemoveEnumAttributeAtIndex(
        function, (unsigned)LLVMAttributeFunctionIndex,
        LLVMGetEnumAttributeKindForName(name, strlen(name)));
}

void add_attribute(LLVMValueRef function, const char *name, const char *value)
{
    say(function, LLVMCreateStringAttribute(
                      context_of(function), name, (unsigned)strlen(name),
                      value, (unsigned)strlen(value)));
}

static const char *name_of(LLVMValueRef value)
{
    size_t size;
    return LLVMGetValueName2(value, &size);
}

// --- All blocks and instructions of a module ---------------------------------

static LLVMBasicBlockRef first_from(LLVMValueRef function)
{
    LLVMBasicBlockRef block = NULL;
    for (; function && !block; function = LLVMGetNextFunction(function))
        block = LLVMGetFirstBasicBlock(function);
    return block;
}

LLVMBasicBlockRef first_block(LLVMModuleRef module)
{
    return first_from(LLVMGetFirstFunction(module));
}

LLVMBasicBlockRef next_block(LLVMBasicBlockRef block)
{
    LLVMBasicBlockRef next = LLVMGetNextBasicBlock(block);
    LLVMValueRef function = LLVMGetBasicBlockParent(block);
    return next ? next : first_from(LLVMGetNextFunction(function));
}

// Blocks that are still made may be empty.
static LLVMValueRef first_of(LLVMBasicBlockRef block)
{
    LLVMValueRef at = NULL;
    for (; block && !at; block = next_block(block))
        at = LLVMGetFirstInstruction(block);
    return at;
}

LLVMValueRef first_instruction(LLVMModuleRef module)
{
    return first_of(first_block(module));
}

LLVMValueRef next_instruction(LLVMValueRef at)
{
    LLVMValueRef next = LLVMGetNextInstruction(at);
    return next ? next : first_of(next_block(LLVMGetInstructionParent(at)));
}

unsigned block_size(LLVMBasicBlockRef block)
{
    unsigned size = 0;
    for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
         at = LLVMGetNextInstruction(at))
        size++;
    return size;
}

unsigned function_size(LLVMValueRef function)
{
    unsigned size = 0;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        size += block_size(block);
    return size;
}

LLVMValueRef first_behind_phis(LLVMBasicBlockRef block)
{
    LLVMValueRef at = LLVMGetFirstInstruction(block);
    while (LLVMIsAPHINode(at))
        at = LLVMGetNextInstruction(at);
    return at;
}

bool module_is_huge(LLVMModuleRef module)
{
    enum { HUGE_LEAST = 10000 };
    LLVMValueRef function = LLVMGetFirstFunction(module);
    while (function && function_size(function) <= HUGE_LEAST)
        function = LLVMGetNextFunction(function);
    return function != NULL;
}

void prepare_widest(LLVMValueRef function)
{
    add_attribute(function, "prefer-vector-width", "512");
}

// LLVM takes a millisecond for each other combination of these.
void prepare_targets(LLVMModuleRef module)
{
    static const char *const names[] = {"target-cpu", "target-features",
                                        "tune-cpu", "min-legal-vector-width"};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                                             names[i],
                                             (unsigned)strlen(names[i]));
        prepare_widest(f);
    }
}

// --- Variables ---------------------------------------------------------------

void prepare_share_variables(LLVMModuleRef module)
{
    // The record is completed after linking, so its initial values must not be
    // folded.
    LLVMValueRef object = LLVMGetNamedGlobal(module, RNL_CPU_OBJECT_SYMBOL);
    if (object)
        LLVMSetExternallyInitialized(object, 1);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g) && !LLVMIsGlobalConstant(g) &&
            LLVMGetLinkage(g) != LLVMAppendingLinkage) {
            LLVMSetComdat(g, NULL);
            LLVMSetLinkage(g, LLVMExternalLinkage);
            LLVMSetVisibility(g, LLVMHiddenVisibility);
        }
}

static void drop_global(LLVMModuleRef module, const char *name)
{
    LLVMValueRef global = LLVMGetNamedGlobal(module, name);
    if (global)
        LLVMDeleteGlobal(global);
}

void prepare_drop_used(LLVMModuleRef module)
{
    drop_global(module, "llvm.used");
    drop_global(module, "llvm.compiler.used");
}

// Variables are defined by the other module; what is constant may be twice, but
// for the object's table, of which one is completed after linking.
static void declare_variables(LLVMModuleRef module)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g)) {
        if (LLVMIsDeclaration(g))
            continue;
        LLVMSetComdat(g, NULL);
        if (LLVMIsGlobalConstant(g) &&
            strcmp(name_of(g), RNL_CPU_OBJECT_SYMBOL) != 0) {
            LLVMSetLinkage(g, LLVMInternalLinkage);
            LLVMSetVisibility(g, LLVMDefaultVisibility);
        } else {
            LLVMSetInitializer(g, NULL);
            LLVMSetLinkage(g, LLVMExternalLinkage);
        }
    }
}

// --- Functions ---------------------------------------------------------------

static bool is_kernel_thread(LLVMValueRef function, unsigned *number)
{
    char rest;
    return sscanf(name_of(function), "rnl_thread_%u%c", number, &rest) == 1;
}

// Functions that stay calls until vectors have been made.
static bool is_kept(LLVMValueRef function)
{
    static const char *const stems[] = {
        "rnl_thread_", "rnl_block_", "rnl_grid_size_", "rnl_sync", "rnl_warp",
        "rnl_spin", "rnl_yield", "rnl_trap", "rnl_enter", "rnl_scratch",
        "rnl_long_", "rnl_printf", "rnl_dynamic_size", "rnl_rsqrt_near",
        "rnl_seldom_", "rnl_lanes_", "rnl_cluster_"};
    const char *name = name_of(function);
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        if (strncmp(name, stems[i], strlen(stems[i])) == 0)
            return true;
    return strstr(name, "rnl_printf") != NULL;
}

// LLVM-C cannot delete an alias, but what nobody outside sees goes by itself.
void prepare_aliases(LLVMModuleRef module)
{
    for (LLVMValueRef alias = LLVMGetFirstGlobalAlias(module); alias;
         alias = LLVMGetNextGlobalAlias(alias)) {
        LLVMReplaceAllUsesWith(alias, LLVMAliasGetAliasee(alias));
        LLVMSetLinkage(alias, LLVMInternalLinkage);
    }
}

static void prepare_function(LLVMValueRef function)
{
    unsigned number;
    remove_flag(function, "optnone");
    if (is_kernel_thread(function, &number)) {
        remove_flag(function, "noinline");
        return;
    }
    // These are called by what is yet to be made.
    bool awaited = strcmp(name_of(function), "rnl_enter") == 0 ||
                   strcmp(name_of(function), "rnl_scratch") == 0 ||
                   callee_is_awaited(function);
    LLVMSetComdat(function, NULL);
    LLVMSetLinkage(function, awaited ? LLVMExternalLinkage
                                     : LLVMInternalLinkage);
    LLVMSetVisibility(function, LLVMDefaultVisibility);
    remove_flag(function, is_kept(function) ? "alwaysinline" : "noinline");
    add_flag(function, is_kept(function) ? "noinline" : "alwaysinline");
    if (strcmp(name_of(function), "rnl_rsqrt_near") == 0)
        add_flag(function, "speculatable");  // as roots and divisions are
}

// Of arguments that __restrict__ tells apart per thread only.
static void drop_scopes(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    unsigned kinds[] = {
        LLVMGetMDKindIDInContext(context, "alias.scope", 11),
        LLVMGetMDKindIDInContext(context, "noalias", 7)};
    for (LLVMValueRef at = first_instruction(module); at;
         at = next_instruction(at))
        for (unsigned k = 0; k < 2; k++)
            if (LLVMHasMetadata(at))
                LLVMSetMetadata(at, kinds[k], NULL);
}

void prepare_hide_functions(LLVMModuleRef module)
{
    static const char *const names[] = {"rnl_enter", "rnl_scratch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        LLVMValueRef function = LLVMGetNamedFunction(module, names[i]);
        if (function && !LLVMIsDeclaration(function))
            LLVMSetLinkage(function, LLVMInternalLinkage);
    }
    callees_hide(module);
}

// --- One block size ----------------------------------------------------------

void tell_range(LLVMValueRef at, unsigned first, unsigned end)
{
    LLVMTypeRef type = LLVMTypeOf(at);
    LLVMContextRef context = LLVMGetTypeContext(type);
    LLVMMetadataRef ends[] = {
        LLVMValueAsMetadata(LLVMConstInt(type, first, 0)),
        LLVMValueAsMetadata(LLVMConstInt(type, end, 0))};
    LLVMMetadataRef range = LLVMMDNodeInContext2(context, ends, 2);
    LLVMSetMetadata(at, LLVMGetMDKindIDInContext(context, "range", 5),
                    LLVMMetadataAsValue(context, range));
}

static void fix_index(LLVMValueRef call, const unsigned size[3])
{
    int axis = 0;
    enum primitive primitive = primitive_of(call, &axis);
    if (primitive == PRIMITIVE_BLOCK_SIZE)
        LLVMReplaceAllUsesWith(
            call, LLVMConstInt(LLVMTypeOf(call), size[axis], 0));
    else if (primitive == PRIMITIVE_THREAD && size[axis] == 1)
        LLVMReplaceAllUsesWith(call, LLVMConstNull(LLVMTypeOf(call)));
    else if (primitive == PRIMITIVE_THREAD)
        tell_range(call, 0, size[axis]);
}

void prepare_block_size(LLVMModuleRef module, const unsigned size[3])
{
    for (LLVMValueRef at = first_instruction(module); at;
         at = next_instruction(at))
        if (LLVMIsACallInst(at))
            fix_index(at, size);
}

char *prepare_run(LLVMModuleRef module, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, passes, NULL, options);
    LLVMDisposePassBuilderOptions(options);
    return error ? LLVMGetErrorMessage(error) : NULL;
}

#define COMBINE "instcombine<no-verify-fixpoint>"

// What is computed on one side of a branch and behind it must not become a
// value of either side: all lanes have the same, and nobody could see that.
#define NUMBER_VALUES "gvn<no-pre>"

// Sums are written as unions where their parts share no bits, which is known
// only at first: cut to fewer bits they would be unions of anything.
static void unions_to_sums(LLVMModuleRef module)
{
    LLVMBuilderRef builder =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef at = first_instruction(module), next; at; at = next) {
        next = next_instruction(at);
        if (LLVMGetInstructionOpcode(at) != LLVMOr || !LLVMGetIsDisjoint(at))
            continue;
        LLVMPositionBuilderBefore(builder, at);
        LLVMValueRef sum = LLVMBuildNUWAdd(builder, LLVMGetOperand(at, 0),
                                           LLVMGetOperand(at, 1), "");
        if (LLVMIsAInstruction(sum))
            LLVMSetNSW(sum, 1);
        LLVMReplaceAllUsesWith(at, sum);
        LLVMInstructionEraseFromParent(at);
    }
    LLVMDisposeBuilder(builder);
}

const char *combine_again(LLVMModuleRef module)
{
    return module_is_huge(module) ? "" : "," COMBINE;
}

// Where two numbers of a vector are chosen alike, combining chooses the vector,
// which then is taken apart again.
static char *simplify(LLVMModuleRef module, const char *combine)
{
    char *message = prepare_run(
        module, "globaldce,function(sroa),always-inline,globaldce,"
                "function(sroa,early-cse<memssa>,simplifycfg," COMBINE ")");
    if (message)
        return message;
    unions_to_sums(module);
    return prepare_run(
        module, simt_format(
        "function(loop-simplify,lcssa,loop(loop-rotate),"
        "loop(indvars,loop-unroll-full),sroa,scalarizer,early-cse<memssa>,"
        NUMBER_VALUES "," COMBINE ",scalarizer,simplifycfg,adce,lower-switch,"
        "loop-mssa(licm)%s,early-cse<memssa>,simplifycfg,lower-switch,"
        "fix-irreducible,adce),globaldce", combine));
}

// What rsqrtf(64) asks for, which no optimiser knows.
static void fold_estimates(LLVMModuleRef module)
{
    for (LLVMValueRef at = first_instruction(module), next; at; at = next) {
        next = next_instruction(at);
        if (!LLVMIsACallInst(at) ||
            strcmp(callee_name(at), "rnl_rsqrt_near") != 0 ||
            !LLVMIsAConstantFP(LLVMGetOperand(at, 0)))
            continue;
        LLVMBool loses;
        double x = LLVMConstRealGetDouble(LLVMGetOperand(at, 0), &loses);
        LLVMReplaceAllUsesWith(
            at, LLVMConstReal(LLVMTypeOf(at), 1 / sqrt(x)));
        LLVMInstructionEraseFromParent(at);
    }
}

char *prepare_module(LLVMModuleRef module)
{
    prepare_drop_used(module);
    declare_variables(module);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            prepare_function(f);
    const char *combine = combine_again(module);
    char *message = callees_keep(module);
    if (message)
        return message;
    merge_within_pieces(module);
    message = simplify(module, combine);
    merge_end(module);
    if (message)
        return message;
    callees_choose(module);
    fold_estimates(module);
    drop_scopes(module);
    return along_unroll(module);
}
