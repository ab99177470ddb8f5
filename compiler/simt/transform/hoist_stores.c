// Moves stores of shared memory up as far as possible. Behind a barrier the
// stores of all gangs stand together, before the loads of the next iteration. A
// load of parts of two stores waits until both stores have left the store
// queue; a store right behind the last load of the overwritten bytes has left
// the queue by then.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/analysis/analysis.h"
#include "simt/ir/ir.h"

// Bytes of memory, counted from somewhere.
struct store_place {
    LLVMValueRef base;
    int64_t begin, end;
};

static LLVMValueRef address_of(LLVMValueRef at)
{
    if (LLVMIsACallInst(at) && is_intrinsic(at, "masked.load"))
        return LLVMGetOperand(at, 0);
    return accessed_address(at);
}

static struct store_place place_of(LLVMTargetDataRef layout, LLVMValueRef at)
{
    LLVMTypeRef type = LLVMIsACallInst(at) ? LLVMTypeOf(at) : accessed_type(at);
    struct store_place place = {.base = address_of(at)};
    while (LLVMIsAGetElementPtrInst(place.base) &&
           address_offset(layout, place.base, &place.begin))
        place.base = LLVMGetOperand(place.base, 0);
    place.end = place.begin + (int64_t)LLVMABISizeOfType(layout, type);
    return place;
}

static bool is_variable(LLVMValueRef base)
{
    return LLVMIsACallInst(base) && is_intrinsic(base, "threadlocal.address");
}

static bool may_overlap(struct store_place a, struct store_place b)
{
    if (a.base == b.base)
        return a.begin < b.end && b.begin < a.end;
    return !is_variable(a.base) || !is_variable(b.base) ||
           LLVMGetOperand(a.base, 0) == LLVMGetOperand(b.base, 0);
}

// Whether a store of shared memory has to stay behind an instruction.
static bool has_to_follow(LLVMTargetDataRef layout, LLVMValueRef store,
                          LLVMValueRef at)
{
    if (at == LLVMGetOperand(store, 0) || at == LLVMGetOperand(store, 1) ||
        LLVMIsAPHINode(at))
        return true;
    if (address_of(at) && (LLVMIsACallInst(at) || is_plain_access(at)))
        return !alias_is_array(at) &&
               may_overlap(place_of(layout, store), place_of(layout, at));
    if (LLVMIsACallInst(at))
        return is_intrinsic(at, "lifetime.start") ||
               is_intrinsic(at, "lifetime.end") ||
               (!is_ignored_call(at) && !is_pure_call(at));
    return LLVMIsALoadInst(at) || LLVMIsAStoreInst(at) ||
           LLVMIsAFenceInst(at) || LLVMIsAAtomicRMWInst(at) ||
           LLVMIsAAtomicCmpXchgInst(at) || LLVMIsAInvokeInst(at);
}

static bool is_shared_store(LLVMValueRef at)
{
    return LLVMIsAStoreInst(at) && is_plain_access(at) && alias_is_shared(at);
}

static void move_up(LLVMTargetDataRef layout, LLVMBuilderRef b,
                    LLVMValueRef store)
{
    LLVMValueRef first = store;
    for (LLVMValueRef at = LLVMGetPreviousInstruction(store);
         at && !has_to_follow(layout, store, at);
         at = LLVMGetPreviousInstruction(at))
        first = at;
    if (first == store)
        return;
    LLVMInstructionRemoveFromParent(store);
    LLVMPositionBuilderBefore(b, first);
    LLVMInsertIntoBuilder(b, store);
}

// --- Into the blocks before --------------------------------------------------

// Counts the predecessors of a block that have no other successor. 0 if another
// block or too many blocks lead there.
static unsigned find_before(LLVMBasicBlockRef block, LLVMBasicBlockRef *before)
{
    unsigned count = 0;
    LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block));
    for (; use; use = LLVMGetNextUse(use)) {
        LLVMValueRef end = LLVMGetUser(use);
        if (!LLVMIsATerminatorInst(end))
            continue;
        if (!LLVMIsABranchInst(end) || LLVMIsConditional(end) ||
            count == BEFORE_MOST)
            return 0;
        before[count++] = LLVMGetInstructionParent(end);
    }
    return count;
}

// The value in a predecessor for a value of a block; NULL for a value that is
// made in the block.
static LLVMValueRef value_before(LLVMValueRef value, LLVMBasicBlockRef block,
                                 LLVMBasicBlockRef before)
{
    if (!LLVMIsAInstruction(value) || LLVMGetInstructionParent(value) != block)
        return value;
    for (unsigned i = 0;
         LLVMIsAPHINode(value) && i < LLVMCountIncoming(value); i++)
        if (LLVMGetIncomingBlock(value, i) == before)
            return LLVMGetIncomingValue(value, i);
    return NULL;
}

static bool store_before(LLVMBuilderRef b, LLVMValueRef store,
                         LLVMBasicBlockRef before)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(store);
    LLVMValueRef made = LLVMInstructionClone(store);
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef value =
            value_before(LLVMGetOperand(store, i), block, before);
        if (!value) {
            LLVMDeleteInstruction(made);
            return false;
        }
        LLVMSetOperand(made, i, value);
    }
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(before));
    LLVMInsertIntoBuilder(b, made);
    return true;
}

static void move_before(LLVMBuilderRef b, LLVMBasicBlockRef block)
{
    LLVMBasicBlockRef before[BEFORE_MOST];
    unsigned count = find_before(block, before);
    LLVMValueRef at = first_non_phi(block), next;
    for (; count > 0 && at && is_shared_store(at); at = next) {
        next = LLVMGetNextInstruction(at);
        for (unsigned i = 0; i < count; i++)
            if (!store_before(b, at, before[i]))
                return;
        LLVMInstructionEraseFromParent(at);
    }
}

// --- All ---------------------------------------------------------------------

void hoist_stores(LLVMModuleRef module)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMBasicBlockRef block = first_block(module); block;
         block = next_block(block))
        move_before(b, block);
    for (LLVMValueRef at = first_instruction(module), next; at; at = next) {
        next = next_instruction(at);
        if (is_shared_store(at))
            move_up(layout, b, at);
    }
    LLVMDisposeBuilder(b);
}
