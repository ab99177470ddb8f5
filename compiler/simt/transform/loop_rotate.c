// Moves the conditions of loops to their ends while variables are in memory.
// LLVM rotates all loops; for each loop, LLVM visits all dependents of the
// counter and all later blocks, which takes most of the time in kernels of
// thousands of loops.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/ir/ir.h"

struct rotation {
    LLVMBuilderRef b;
    unsigned loop_kind;           // of the marks of branches back
};

// True if a block ends with a branch on values that are computed and used only
// in the block, without calls.
static bool is_condition(LLVMBasicBlockRef header)
{
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(header);
    if (!LLVMIsABranchInst(branch) || !LLVMIsConditional(branch) ||
        block_size(header) > HEADER_MOST)
        return false;
    for (LLVMValueRef at = LLVMGetFirstInstruction(header); at;
         at = LLVMGetNextInstruction(at)) {
        if (LLVMIsAPHINode(at) || LLVMIsACallInst(at) || LLVMIsAAllocaInst(at))
            return false;
        for (LLVMUseRef use = LLVMGetFirstUse(at); use;
             use = LLVMGetNextUse(use))
            if (LLVMGetInstructionParent(LLVMGetUser(use)) != header)
                return false;
    }
    return true;
}

// The blocks that lead to `block` without passing by a loop's header.
static void find_body(struct map *body, LLVMBasicBlockRef block)
{
    if (map_get(body, block))
        return;
    map_set(body, block, block);
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use;
         use = LLVMGetNextUse(use))
        if (LLVMIsATerminatorInst(LLVMGetUser(use)))
            find_body(body, LLVMGetInstructionParent(LLVMGetUser(use)));
}

// Whether a branch leads out of the loop on one side.
static bool leaves(LLVMBasicBlockRef header, LLVMBasicBlockRef latch)
{
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(header);
    struct map body = {0};
    map_set(&body, header, header);
    find_body(&body, latch);
    bool inside[2];
    for (unsigned i = 0; i < 2; i++)
        inside[i] = map_get(&body, LLVMGetSuccessor(branch, i));
    map_clear(&body);
    return inside[0] != inside[1];
}

// In the place of a branch there.
static void copy_block(LLVMBuilderRef b, LLVMBasicBlockRef block,
                       LLVMValueRef branch)
{
    struct map copies = {0};
    LLVMPositionBuilderBefore(b, branch);
    for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
         at = LLVMGetNextInstruction(at)) {
        LLVMValueRef copy = LLVMInstructionClone(at);
        for (int i = 0; i < LLVMGetNumOperands(at); i++) {
            LLVMValueRef made =
                map_get(&copies, LLVMGetOperand(at, (unsigned)i));
            if (made)
                LLVMSetOperand(copy, (unsigned)i, made);
        }
        LLVMInsertIntoBuilder(b, copy);
        map_set(&copies, at, copy);
    }
    map_clear(&copies);
    LLVMInstructionEraseFromParent(branch);
}

static bool rotate(struct rotation *rotation, LLVMBasicBlockRef latch)
{
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(latch);
    if (!LLVMIsABranchInst(branch) || LLVMIsConditional(branch))
        return false;
    LLVMValueRef mark = LLVMGetMetadata(branch, rotation->loop_kind);
    LLVMBasicBlockRef header = LLVMGetSuccessor(branch, 0);
    if (!mark || !is_condition(header) || !leaves(header, latch))
        return false;
    copy_block(rotation->b, header, branch);
    LLVMSetMetadata(LLVMGetBasicBlockTerminator(latch), rotation->loop_kind,
                    mark);
    return true;
}

unsigned rotate_loops(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    struct rotation rotation = {
        .b = LLVMCreateBuilderInContext(context),
        .loop_kind = LLVMGetMDKindIDInContext(context, "llvm.loop", 9)};
    unsigned count = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        if (LLVMCountBasicBlocks(f) <= BLOCKS_SHORT)
            continue;
        for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(f); block;
             block = LLVMGetNextBasicBlock(block))
            count += rotate(&rotation, block);
    }
    LLVMDisposeBuilder(rotation.b);
    return count;
}
