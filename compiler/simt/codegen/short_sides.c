// Sides of a branch that are one short block each: lanes go through both
// without a test whether any lane is there, since processors cannot predict a
// branch that depends on the lanes' data.
#include "simt/codegen/codegen.h"
#include "simt/codegen/tuning.h"
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

// Costs are for vectors of this many bytes; a cost above all others.
enum { WIDEST = 64, TOO_MUCH = 1000 };

// Cost of the vector form of an instruction, in simple 32-bit operations.
// TOO_MUCH if an empty mask forbids the instruction, or the cost is too high.
static unsigned cost_of(const struct emitter *e, LLVMValueRef at)
{
    const struct slot *slot;
    switch (LLVMGetInstructionOpcode(at)) {
    case LLVMBr:
        return 0;
    case LLVMLoad:
        return slots_loaded(e->kernel, at) ? 0 : TOO_MUCH;
    case LLVMStore:
        slot = slots_simple(e->kernel, LLVMGetOperand(at, 1));
        return slot && e->shapes.slots[slot - e->kernel->slots].kind ==
                           SHAPE_VARYING
                   ? 1 : TOO_MUCH;
    case LLVMFDiv:
        return ROOT_COST;
    case LLVMCall:
        return is_intrinsic(at, "sqrt") ? ROOT_COST
               : is_limit_call(at) || is_intrinsic(at, "fabs") ||
                       is_intrinsic(at, "fma") || is_intrinsic(at, "fmuladd")
                   ? 1 : TOO_MUCH;
    case LLVMUDiv: case LLVMSDiv: case LLVMURem: case LLVMSRem: case LLVMFRem:
        return TOO_MUCH;
    case LLVMFNeg: case LLVMICmp: case LLVMFCmp: case LLVMSelect:
    case LLVMFreeze:
        return 1;
    default:
        return LLVMIsABinaryOperator(at) || LLVMIsACastInst(at) ? 1 : TOO_MUCH;
    }
}

static unsigned bits_of(LLVMValueRef at)
{
    LLVMTypeRef type = LLVMTypeOf(at);
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type);
    case LLVMDoubleTypeKind: case LLVMPointerTypeKind:
        return 64;
    default:
        return 32;
    }
}

static bool is_short(const struct emitter *e, const struct block *block)
{
    unsigned cost = 0, most = SHORT_MOST * target_vector_bytes() / WIDEST;
    for (LLVMValueRef at = LLVMGetFirstInstruction(block->ir);
         at && cost <= most; at = LLVMGetNextInstruction(at)) {
        unsigned times = bits_of(at) > 32 ? 2 : 1;
        cost += times * cost_of(e, at);
    }
    return cost <= most;
}

// Whether a successor of a branch leads to the meeting, or is it.
static bool is_side(const struct kernel *kernel, int to, int meeting)
{
    const struct block *block = &kernel->blocks[to];
    return to == meeting ||
           (block->predecessor_count == 1 && block->successor_count == 1 &&
            block->successors[0] == meeting);
}

bool branch_side_is_short(const struct emitter *e, int number)
{
    const struct kernel *kernel = e->kernel;
    const struct block *block = &kernel->blocks[number];
    if (block->predecessor_count != 1)
        return false;
    int branch = block->predecessors[0],
        meeting = kernel->reconvergence[branch];
    return meeting != NONE && number != meeting &&
           is_side(kernel, kernel->blocks[branch].successors[0], meeting) &&
           is_side(kernel, kernel->blocks[branch].successors[1], meeting) &&
           is_short(e, block);
}
