// Brings a module into the state that the analysis expects: each kernel one
// function, everything inlined but what is recursive, values in registers.
#include "simt/transform/transform.h"
#include "simt/ir/ir.h"

#include <math.h>
#include <string.h>

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

// Where two numbers of a vector are chosen alike, combining chooses the vector,
// which then is taken apart again.
static char *simplify(LLVMModuleRef module, const char *combine)
{
    char *message = run_passes(
        module, "globaldce,function(sroa),always-inline,globaldce,"
                "function(sroa,early-cse<memssa>,simplifycfg," COMBINE ")");
    if (message)
        return message;
    unions_to_sums(module);
    return run_passes(
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

char *canonicalize_threads(LLVMModuleRef module)
{
    drop_used_list(module);
    import_variables(module);
    set_inlining(module);
    const char *combine = combine_again(module);
    char *message = shared_callees_keep(module);
    if (message)
        return message;
    store_merge_limit(module);
    message = simplify(module, combine);
    store_merge_release(module);
    if (message)
        return message;
    lane_functions_keep(module);
    fold_estimates(module);
    drop_scopes(module);
    return unroll_rows(module);
}
