// Limits the merging of conditional stores. LLVM merges stores to one address
// under conditions into one store at the end, of the last value whose condition
// holds. Over thousands of branches all conditions and values would stay live
// and be searched again at each branch, so stores are merged within pieces of
// such a function only.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/ir/ir.h"

#include <string.h>

static const char fence[] = "llvm.sideeffect";

// A call that touches no memory but that no store may pass.
static void put_fence(LLVMModuleRef module, LLVMBasicBlockRef block)
{
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(
        module, LLVMLookupIntrinsicID(fence, sizeof fence - 1), NULL, 0);
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    LLVMPositionBuilderBefore(b, first_non_phi(block));
    LLVMBuildCall2(b, LLVMGlobalGetValueType(function), function, NULL, 0, "");
    LLVMDisposeBuilder(b);
}

// Whether several blocks lead there, as after a branch.
static bool is_join(LLVMBasicBlockRef block)
{
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    return use && LLVMGetNextUse(use);
}

static void part(LLVMModuleRef module, LLVMValueRef function)
{
    unsigned count = LLVMCountBasicBlocks(function);
    if (count <= BLOCKS_SHORT)
        return;
    unsigned piece = count / PIECES_MOST, length = 0;
    piece = piece > PIECE_LEAST ? piece : PIECE_LEAST;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        if (++length > piece && is_join(block)) {
            put_fence(module, block);
            length = 0;
        }
}

void store_merge_limit(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        part(module, f);
}

void store_merge_release(LLVMModuleRef module)
{
    LLVMValueRef function = LLVMGetNamedFunction(module, fence);
    if (!function)
        return;
    for (LLVMUseRef use; (use = LLVMGetFirstUse(function));)
        LLVMInstructionEraseFromParent(LLVMGetUser(use));
    LLVMDeleteFunction(function);
}
