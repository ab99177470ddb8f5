// Splits long blocks. Code generation takes time with the square of a block's
// length: LLVM searches the whole block for uses of a value, for ordering
// constraints and for live values.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/ir/ir.h"

// A phi cannot begin a piece, and variables stay in the entry.
static bool is_bound(LLVMValueRef at)
{
    return LLVMIsAPHINode(at) || LLVMIsAAllocaInst(at);
}

// LLVM merges blocks joined by a branch, but not blocks joined by a switch.
static void cut_before(LLVMValueRef at)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(at);
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(at));
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(block_split(at));
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderBefore(builder, branch);
    LLVMBuildSwitch(builder, LLVMConstNull(LLVMInt32TypeInContext(context)),
                    block, 0);
    LLVMInstructionEraseFromParent(branch);
    LLVMDisposeBuilder(builder);
}

static void cut(LLVMBasicBlockRef block, unsigned length)
{
    unsigned piece = 0;
    for (LLVMValueRef at = LLVMGetFirstInstruction(block); length > PIECE;
         at = LLVMGetNextInstruction(at), length--)
        if (piece++ >= PIECE && !is_bound(at)) {
            cut_before(at);
            piece = 1;
        }
}

bool split_long_blocks(LLVMModuleRef module)
{
    bool any = false;
    for (LLVMBasicBlockRef block = first_block(module); block;
         block = next_block(block)) {
        unsigned length = block_size(block);
        if (length > BLOCK_MOST) {
            cut(block, length);
            any = true;
        }
    }
    return any;
}
