// Unrolls loops from barrier to barrier whose number of iterations is known,
// such as the steps of a scan or the diagonals of a table. Then each address in
// shared memory and each mask is a constant, and loads can be replaced by the
// lanes that were stored (shared_forwarding.c).
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/ir/ir.h"

// The address of a store, or the addresses of a scatter; otherwise NULL.
static LLVMValueRef stored_address(LLVMValueRef at)
{
    bool store = LLVMIsAStoreInst(at) ||
                 (LLVMIsACallInst(at) && (is_intrinsic(at, "masked.store") ||
                                          is_intrinsic(at, "masked.scatter")));
    return store ? LLVMGetOperand(at, 1) : NULL;
}

static bool is_shared(LLVMValueRef address)
{
    int axis;
    while (LLVMIsAGetElementPtrInst(address) || LLVMIsAFreezeInst(address) ||
           LLVMIsAShuffleVectorInst(address))
        address = LLVMGetOperand(address, 0);
    return primitive_of(address, &axis) == PRIMITIVE_TLS;
}

static bool stores_to_shared(LLVMBasicBlockRef block)
{
    for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
         at = LLVMGetNextInstruction(at))
        if (stored_address(at) && is_shared(stored_address(at)))
            return true;
    return false;
}

// Whether a branch compares with a constant.
static bool compares_constant(LLVMBasicBlockRef block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    LLVMValueRef test = LLVMIsABranchInst(end) && LLVMIsConditional(end)
                            ? LLVMGetCondition(end)
                            : NULL;
    return test && LLVMIsAICmpInst(test) &&
           (LLVMIsAConstantInt(LLVMGetOperand(test, 0)) ||
            LLVMIsAConstantInt(LLVMGetOperand(test, 1)));
}

// --- Loops -------------------------------------------------------------------

struct body {
    struct map blocks;
    unsigned size;
    bool stores, compares;
};

// Adds a block and those that lead there inside of the loop.
static void add_block(struct body *body, LLVMBasicBlockRef block)
{
    if (map_get(&body->blocks, block) || body->size > PHASE_MOST)
        return;
    map_set(&body->blocks, block, block);
    body->size += block_size(block);
    body->stores |= stores_to_shared(block);
    body->compares |= compares_constant(block);
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use;
         use = LLVMGetNextUse(use))
        if (LLVMIsATerminatorInst(LLVMGetUser(use)))
            add_block(body, LLVMGetInstructionParent(LLVMGetUser(use)));
}

// Whether a number that the loop changes is a constant before the loop.
static bool begins_constant(LLVMBasicBlockRef header, LLVMBasicBlockRef latch)
{
    for (LLVMValueRef phi = LLVMGetFirstInstruction(header);
         phi && LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
            if (LLVMGetIncomingBlock(phi, i) != latch &&
                LLVMIsAConstantInt(LLVMGetIncomingValue(phi, i)))
                return true;
    return false;
}

// Whether a loop stores to shared memory and may have a known number of
// iterations.
static bool is_wanted(LLVMBasicBlockRef header, LLVMBasicBlockRef latch)
{
    struct body body = {.size = block_size(header),
                        .stores = stores_to_shared(header),
                        .compares = compares_constant(header)};
    map_set(&body.blocks, header, header);
    add_block(&body, latch);
    return body.stores && body.compares && body.size <= PHASE_MOST &&
           begins_constant(header, latch);
}

static bool mark_loops(LLVMValueRef function)
{
    struct block_order order = block_order(function);
    bool any = false;
    for (unsigned i = 0; i < order.count; i++) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(order.blocks[i]);
        for (unsigned k = 0; k < LLVMGetNumSuccessors(end); k++) {
            LLVMBasicBlockRef next = LLVMGetSuccessor(end, k);
            if (block_order_place(&order, next) > i ||
                !is_wanted(next, order.blocks[i]))
                continue;
            loop_hint(end, "llvm.loop.unroll.full", 0);
            any = true;
        }
    }
    return any;
}

bool mark_phases(LLVMModuleRef module)
{
    bool any = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        any |= !LLVMIsDeclaration(f) && mark_loops(f);
    return any;
}
