// Whether lanes gain anything. Mostly they do, by far; but where each thread
// goes through an array of its own in a way of its own, as those do that sort,
// search or keep a stack there, lanes scatter and gather all the time, and what
// was scattered is not gathered before it has left the store buffer.
#include "ir.h"

// What a loop's instructions count for, against those around it, in how many
// loops; the most of what varies to one such access, and to one instruction of
// floating-point arithmetic.
enum { ROUNDS = 8, DEPTH_MOST = 4, VARYING_MOST = 10, FLOATING_MOST = 4 };

static uint64_t weight_of(const struct kernel *kernel,
                          const struct block *block)
{
    uint64_t weight = 1;
    int depth = 0;
    for (int l = block->loop; l != NONE && depth < DEPTH_MOST;
         l = kernel->loops[l].parent, depth++)
        weight *= ROUNDS;
    return weight;
}

// Whether an access is to another place of the thread's own array in each lane.
static bool is_own_place(const struct shapes *shapes, LLVMValueRef at)
{
    const struct kernel *kernel = shapes->kernel;
    LLVMValueRef address = LLVMGetOperand(at, LLVMIsAStoreInst(at) ? 1 : 0);
    const struct slot *slot =
        map_get(&kernel->slot_of, slots_base(kernel, address));
    return slot && slot->kind == SLOT_COMPLEX &&
           shape_of(shapes, address).kind == SHAPE_VARYING;
}

static bool is_floating(LLVMValueRef at)
{
    switch (LLVMGetInstructionOpcode(at)) {
    case LLVMFAdd: case LLVMFSub: case LLVMFMul: case LLVMFDiv: case LLVMFNeg:
        return true;
    case LLVMCall: {
        LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(at));
        return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
    }
    default:
        return false;
    }
}

bool lanes_gain(const struct shapes *shapes)
{
    const struct kernel *kernel = shapes->kernel;
    uint64_t own = 0, varying = 0, floating = 0;
    if (kernel->waits)  // each thread would need a fiber
        return true;
    for (unsigned i = 0; i < kernel->block_count; i++) {
        const struct block *block = &kernel->blocks[i];
        uint64_t weight = weight_of(kernel, block);
        for (LLVMValueRef at = LLVMGetFirstInstruction(block->ir); at;
             at = LLVMGetNextInstruction(at)) {
            if (LLVMIsALoadInst(at) || LLVMIsAStoreInst(at)) {
                if (block->loop != NONE && is_own_place(shapes, at))
                    own += weight;
            } else if (shape_of(shapes, at).kind == SHAPE_VARYING) {
                varying += weight;
                floating += is_floating(at) ? weight : 0;
            }
        }
    }
    return own * VARYING_MOST <= varying || floating * FLOATING_MOST > varying;
}
