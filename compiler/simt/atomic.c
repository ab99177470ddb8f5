// Atomic operations, lane by lane. Threads of a block never run at the same
// time, so on shared memory they need not be atomic.
#include "emit.h"

static LLVMValueRef combine(struct emitter *e, LLVMAtomicRMWBinOp how,
                            LLVMValueRef old, LLVMValueRef value)
{
    LLVMBuilderRef b = e->builder;
    LLVMIntPredicate less;
    switch (how) {
    case LLVMAtomicRMWBinOpXchg:
        return value;
    case LLVMAtomicRMWBinOpAdd:
        return LLVMBuildAdd(b, old, value, "");
    case LLVMAtomicRMWBinOpSub:
        return LLVMBuildSub(b, old, value, "");
    case LLVMAtomicRMWBinOpAnd:
        return LLVMBuildAnd(b, old, value, "");
    case LLVMAtomicRMWBinOpOr:
        return LLVMBuildOr(b, old, value, "");
    case LLVMAtomicRMWBinOpXor:
        return LLVMBuildXor(b, old, value, "");
    case LLVMAtomicRMWBinOpFAdd:
        return LLVMBuildFAdd(b, old, value, "");
    case LLVMAtomicRMWBinOpMax: less = LLVMIntSGT; break;
    case LLVMAtomicRMWBinOpMin: less = LLVMIntSLT; break;
    case LLVMAtomicRMWBinOpUMax: less = LLVMIntUGT; break;
    case LLVMAtomicRMWBinOpUMin: less = LLVMIntULT; break;
    default:
        return NULL;
    }
    return LLVMBuildSelect(b, LLVMBuildICmp(b, less, old, value, ""), old,
                           value, "");
}

// What one lane does. Returns the old value.
static LLVMValueRef update_one(struct emitter *e, LLVMValueRef at, bool shared,
                               LLVMValueRef address, LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(at);
    LLVMAtomicRMWBinOp how = LLVMGetAtomicRMWBinOp(at);
    if (shared) {
        LLVMValueRef old = LLVMBuildLoad2(e->builder, type, address, "");
        LLVMValueRef next = combine(e, how, old, value);
        if (next) {
            LLVMBuildStore(e->builder, next, address);
            return old;
        }
    }
    LLVMValueRef made = LLVMInstructionClone(at);
    LLVMSetOperand(made, 0, address);
    LLVMSetOperand(made, 1, value);
    LLVMInsertIntoBuilder(e->builder, made);
    return made;
}

struct operand {
    LLVMValueRef source, memory;
    LLVMValueRef index;  // what memory holds instead of addresses, or NULL
    unsigned place;      // of the index among the operands of the source
};

static struct operand operand_of(struct emitter *e, LLVMValueRef at, unsigned i)
{
    struct operand operand = {.source = LLVMGetOperand(at, i)};
    if (lanes_uniform(e, operand.source))
        lanes_scalar(e, operand.source);
    else
        operand.memory = lanes_spill(e, lanes_vector(e, operand.source));
    return operand;
}

// Indices are narrower than addresses.
static struct operand address_of(struct emitter *e, LLVMValueRef at)
{
    LLVMValueRef source = LLVMGetOperand(at, 0);
    struct operand operand = {.source = source};
    if (!LLVMIsAGetElementPtrInst(source) || !map_get(&e->values, source))
        return operand_of(e, at, 0);
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(source); i++) {
        LLVMValueRef index = LLVMGetOperand(source, i);
        if (lanes_uniform(e, index))
            continue;
        if (i == 0 || operand.index ||
            (!LLVMIsASExtInst(index) && !LLVMIsAZExtInst(index)))
            return operand_of(e, at, 0);
        operand.index = index;
        operand.place = i;
    }
    if (!operand.index)
        return operand_of(e, at, 0);
    LLVMValueRef narrow = LLVMGetOperand(operand.index, 0);
    operand.memory = lanes_spill(e, lanes_vector(e, narrow));
    return operand;
}

static LLVMValueRef pick_address(struct emitter *e,
                                 const struct operand *operand,
                                 LLVMValueRef lane)
{
    LLVMValueRef source = operand->source;
    LLVMValueRef index = lanes_pick(
        e, LLVMTypeOf(LLVMGetOperand(operand->index, 0)), operand->memory,
        lane);
    index = LLVMBuildCast(e->builder, LLVMGetInstructionOpcode(operand->index),
                          index, LLVMTypeOf(operand->index), "");
    LLVMValueRef clone = LLVMInstructionClone(source);
    for (unsigned i = 0; i < (unsigned)LLVMGetNumOperands(source); i++)
        LLVMSetOperand(clone, i,
                       i == operand->place
                           ? index
                           : lanes_scalar(e, LLVMGetOperand(source, i)));
    LLVMInsertIntoBuilder(e->builder, clone);
    return clone;
}

static LLVMValueRef pick(struct emitter *e, const struct operand *operand,
                         LLVMValueRef lane)
{
    if (operand->index)
        return pick_address(e, operand, lane);
    return operand->memory ? lanes_pick(e, LLVMTypeOf(operand->source),
                                        operand->memory, lane)
                           : lanes_scalar(e, operand->source);
}

struct update {
    LLVMValueRef at;
    struct operand address, value;
    bool shared;
    LLVMValueRef old;  // memory for the old values, or NULL if nobody asks
};

static void update_lane(struct emitter *e, const struct update *u,
                        LLVMValueRef lane)
{
    LLVMValueRef before =
        update_one(e, u->at, u->shared, pick(e, &u->address, lane),
                   pick(e, &u->value, lane));
    if (u->old)
        lanes_put(e, before, u->old, lane);
}

static void update(struct emitter *e, LLVMValueRef at)
{
    LLVMTypeRef type = vector_type(e, LLVMTypeOf(at));
    struct update u = {.at = at, .address = address_of(e, at),
                       .value = operand_of(e, at, 1)};
    u.shared = access_is_shared(e, u.address.source, 0);
    if (LLVMGetFirstUse(at))
        u.old = lanes_spill(e, LLVMConstNull(type));
    // In a loop also without a mask: processors foresee by the place of a load
    // whether it waits for a store, and many places confuse them.
    if (e->mask || u.shared) {
        struct lane_loop loop = lane_loop_begin(e, e->mask);
        update_lane(e, &u, loop.lane);
        lane_loop_end(e, &loop);
    } else {
        for (unsigned lane = 0; lane < e->width; lane++)
            update_lane(e, &u, number32(e, lane));
    }
    if (u.old)
        lanes_set(e, at, NULL, LLVMBuildLoad2(e->builder, type, u.old, ""));
}

// --- Compare and swap --------------------------------------------------------

// Gives two vectors: the scalar field holds the old values, the vector field
// whether they were as expected.
static void swap(struct emitter *e, LLVMValueRef at)
{
    struct operand address = address_of(e, at);
    struct operand compare = operand_of(e, at, 1), value = operand_of(e, at, 2);
    LLVMTypeRef element = LLVMTypeOf(compare.source);
    LLVMTypeRef type = vector_type(e, element);
    LLVMTypeRef bytes = vector_type(e, e->i8);
    LLVMValueRef old = lanes_spill(e, LLVMConstNull(type));
    LLVMValueRef equal = lanes_spill(e, LLVMConstNull(bytes));
    struct lane_loop loop = lane_loop_begin(e, e->mask);
    LLVMValueRef made = LLVMInstructionClone(at);
    LLVMSetOperand(made, 0, pick(e, &address, loop.lane));
    LLVMSetOperand(made, 1, pick(e, &compare, loop.lane));
    LLVMSetOperand(made, 2, pick(e, &value, loop.lane));
    LLVMInsertIntoBuilder(e->builder, made);
    lanes_put(e, LLVMBuildExtractValue(e->builder, made, 0, ""), old,
              loop.lane);
    LLVMValueRef flag = LLVMBuildExtractValue(e->builder, made, 1, "");
    lanes_put(e, LLVMBuildZExt(e->builder, flag, e->i8, ""), equal, loop.lane);
    lane_loop_end(e, &loop);
    LLVMValueRef flags = LLVMBuildLoad2(e->builder, bytes, equal, "");
    flags = LLVMBuildTrunc(e->builder, flags, e->mask_type, "");
    lanes_set(e, at, LLVMBuildLoad2(e->builder, type, old, ""), flags);
}

static void take_part(struct emitter *e, LLVMValueRef at)
{
    const struct lanes *pair = map_get(&e->values, LLVMGetOperand(at, 0));
    if (!pair) {
        e->kernel->refusal = "it keeps the result of a compare-and-swap";
        lanes_set(e, at, NULL, LLVMConstNull(vector_type(e, LLVMTypeOf(at))));
        return;
    }
    bool first = LLVMGetIndices(at)[0] == 0;
    lanes_set(e, at, NULL, first ? pair->scalar : pair->vector);
}

void atomic_emit(struct emitter *e, LLVMValueRef at)
{
    if (LLVMIsAExtractValueInst(at))
        take_part(e, at);
    else if (LLVMIsAAtomicCmpXchgInst(at))
        swap(e, at);
    else
        update(e, at);
}
