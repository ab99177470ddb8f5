// Small rewrites that bring the threads of kernels into the form that the
// analysis of kernels expects.
#include "simt/transform/transform.h"
#include "simt/ir/ir.h"

#include <math.h>
#include <string.h>

// Removes alias scopes: __restrict__ separates the arguments of one thread, not
// those of different lanes.
void drop_scopes(LLVMModuleRef module)
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

// Sums are written as unions where their parts share no bits, which is known
// only at first: cut to fewer bits they would be unions of anything.
void unions_to_sums(LLVMModuleRef module)
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

// Folds the estimate behind rsqrtf(64), which LLVM does not know.
void fold_estimates(LLVMModuleRef module)
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
