// Code generation takes time with the square of a block's length: it looks for
// the uses of a value, for what must stay in order and for what is alive in all
// of the block. Long blocks are cut into pieces for it.
#include "simt/transform/transform.h"
#include "simt/ir/ir.h"

enum { BLOCK_MOST = 2000, PIECE = 1000 };  // instructions

// What begins a block cannot begin a piece, and variables are the entry's.
static bool is_bound(LLVMValueRef at)
{
    return LLVMIsAPHINode(at) || LLVMIsAAllocaInst(at);
}

// What a branch joins becomes one block again, what a switch joins does not.
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
