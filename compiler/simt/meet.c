// Where the lanes that a branch sends apart are sure to meet again. A chain can
// then send them there at once, and the mask of that place does not wait for
// what the sides of the branch compute: in a loop, the next round's loads need
// not wait for the square root that this round's branch depends on.
//
// Where each side of such a branch is one short block, lanes go through both
// without a test whether any lane is there: processors do not foresee what the
// lanes' numbers decide.
#include "emit.h"

// The most that a short side costs with vectors of 64 bytes (WIDEST), and what
// a division or a root costs.
enum { SHORT_MOST = 16, WIDEST = 64, ROOT_COST = 4, TOO_MUCH = 1000 };

// Whether threads come to the blocks of a set from one block alone, and neither
// end there nor wait.
static bool is_closed(const struct kernel *kernel, const struct set *blocks,
                      int from)
{
    for (unsigned i = 0; i < kernel->block_count; i++) {
        const struct block *block = &kernel->blocks[i];
        if (!set_has(blocks, i))
            continue;
        if (block->successor_count == 0 || block->pure_return ||
            block->barrier != NONE)
            return false;
        for (unsigned p = 0; p < block->predecessor_count; p++)
            if (block->predecessors[p] != from &&
                !set_has(blocks, (unsigned)block->predecessors[p]))
                return false;
    }
    return true;
}

// Sets the place of one branch, if there is one, in the same round of all
// loops, and marks the blocks whose lanes have been sent there.
static void find_meeting(struct kernel *kernel, unsigned number)
{
    const struct block *block = &kernel->blocks[number];
    int meeting = kernel->join_after[number];
    if (block->successor_count < 2 || meeting == NONE ||
        kernel->blocks[meeting].pure_return ||
        kernel->blocks[meeting].loop != block->loop)
        return;
    struct set between =
        graph_between(kernel, block->successors, 2, meeting);
    if (set_has(&between, number) ||
        !is_closed(kernel, &between, (int)number))
        return;
    kernel->meetings[number] = meeting;
    for (unsigned i = 0; i < kernel->block_count; i++)
        if (set_has(&between, i))
            set_add(&kernel->sent[i], (unsigned)meeting);
}

void meetings_find(struct kernel *kernel)
{
    unsigned count = kernel->block_count;
    kernel->meetings = simt_allocate(count * sizeof *kernel->meetings);
    kernel->sent = simt_allocate(count * sizeof *kernel->sent);
    for (unsigned i = 0; i < count; i++) {
        kernel->meetings[i] = NONE;
        kernel->sent[i] = set_create(count);
    }
    for (unsigned i = 0; i < count; i++)
        find_meeting(kernel, i);
}

bool meeting_was_sent(const struct kernel *kernel, int from, int to)
{
    return set_has(&kernel->sent[from], (unsigned)to);
}

// --- Short sides -------------------------------------------------------------

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

bool meeting_side_is_short(const struct emitter *e, int number)
{
    const struct kernel *kernel = e->kernel;
    const struct block *block = &kernel->blocks[number];
    if (block->predecessor_count != 1)
        return false;
    int branch = block->predecessors[0], meeting = kernel->meetings[branch];
    return meeting != NONE && number != meeting &&
           is_side(kernel, kernel->blocks[branch].successors[0], meeting) &&
           is_side(kernel, kernel->blocks[branch].successors[1], meeting) &&
           is_short(e, block);
}
