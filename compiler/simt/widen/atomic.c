// Atomic operations, lane by lane. Threads of a block never run at the same
// time, so on shared memory they need not be atomic.
#include "simt/widen/widen.h"
#include "simt/widen/tuning.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

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

// The operation of one lane. Returns the old value.
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
    bool reread;         // each lane reads what its index is made of again
};

// --- Indices that lanes read again -------------------------------------------

// Lanes that need their index one by one load the index from its original
// memory, where a vector of indices was loaded from.

// True if no instruction writes between a load and a later instruction of its
// block. Atomics on shared memory do not count: arguments do not point there.
static bool is_unchanged(struct emitter *e, LLVMValueRef load, LLVMValueRef at)
{
    for (load = LLVMGetNextInstruction(load); load && load != at;
         load = LLVMGetNextInstruction(load)) {
        LLVMValueRef written = NULL;
        if (LLVMIsACallInst(load) && !is_index_call(load) &&
            !is_ignored_call(load))
            return false;
        if (LLVMIsAStoreInst(load))
            written = LLVMGetOperand(load, 1);
        else if (LLVMIsAAtomicRMWInst(load) || LLVMIsAAtomicCmpXchgInst(load))
            written = LLVMGetOperand(load, 0);
        if (LLVMIsAFenceInst(load) ||
            (written && !slots_simple(e->kernel, written) &&
             !address_is_shared(e->kernel, written, 0)))
            return false;
    }
    return load != NULL;
}

// A row of an argument's array.
static bool is_row(struct emitter *e, LLVMValueRef value)
{
    if (!LLVMIsALoadInst(value) || !is_plain_access(value) ||
        slots_is_argument_load(e->kernel, value))
        return false;
    LLVMValueRef address = LLVMGetOperand(value, 0);
    struct shape shape = shape_of(&e->shapes, address);
    uint64_t size =
        LLVMABISizeOfType(e->kernel->layout, LLVMTypeOf(value));
    return shape.kind == SHAPE_AFFINE && shape.stride == (int64_t)size &&
           slots_argument_array(e->kernel, address);
}

// Another user of the load must not find another value, should memory change.
static bool can_reread(struct emitter *e, LLVMValueRef value, LLVMValueRef at,
                       unsigned depth)
{
    if (lanes_uniform(e, value)) {
        lanes_scalar(e, value);
        return true;
    }
    if (!has_one_use(value))
        return false;
    if (is_row(e, value)) {
        lanes_scalar(e, LLVMGetOperand(value, 0));
        return is_unchanged(e, value, at);
    }
    if (depth == 0 || !LLVMIsAInstruction(value) ||
        (!LLVMIsABinaryOperator(value) && !LLVMIsATruncInst(value) &&
         !LLVMIsAZExtInst(value) && !LLVMIsASExtInst(value)))
        return false;
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        if (!can_reread(e, LLVMGetOperand(value, (unsigned)i), at, depth - 1))
            return false;
    return true;
}

static LLVMValueRef reread(struct emitter *e, LLVMValueRef value,
                           LLVMValueRef lane)
{
    LLVMBuilderRef b = e->builder;
    if (lanes_uniform(e, value))
        return lanes_scalar(e, value);
    LLVMValueRef first = LLVMGetOperand(value, 0);
    if (LLVMIsALoadInst(value)) {
        LLVMTypeRef type = LLVMTypeOf(value);
        LLVMValueRef number = LLVMBuildZExt(b, lane, e->i64, "");
        LLVMValueRef load = LLVMBuildLoad2(
            b, type,
            LLVMBuildGEP2(b, type, lanes_scalar(e, first), &number, 1, ""), "");
        LLVMSetAlignment(load, LLVMGetAlignment(value));
        alias_mark(e, first, load);
        return load;
    }
    LLVMOpcode how = LLVMGetInstructionOpcode(value);
    LLVMValueRef made = reread(e, first, lane);
    if (!LLVMIsABinaryOperator(value))
        return LLVMBuildCast(b, how, made, LLVMTypeOf(value), "");
    return LLVMBuildBinOp(b, how, made,
                          reread(e, LLVMGetOperand(value, 1), lane), "");
}

// --- What lanes need ---------------------------------------------------------

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
    operand.reread = !e->mask && address_is_shared(e->kernel, source, 0) &&
                     has_one_use(operand.index) &&
                     can_reread(e, narrow, at, REREAD_DEPTH);
    if (!operand.reread)
        operand.memory = lanes_spill(e, lanes_vector(e, narrow));
    return operand;
}

static LLVMTypeRef narrow_type(const struct operand *operand)
{
    return LLVMTypeOf(LLVMGetOperand(operand->index, 0));
}

static LLVMValueRef address_at(struct emitter *e, const struct operand *operand,
                               LLVMValueRef index)
{
    LLVMValueRef source = operand->source;
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
    if (operand->reread)
        return address_at(
            e, operand,
            reread(e, LLVMGetOperand(operand->index, 0), lane));
    if (operand->index)
        return address_at(e, operand,
                          lanes_pick(e, narrow_type(operand), operand->memory,
                                     lane));
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
                        LLVMValueRef address, LLVMValueRef lane)
{
    LLVMValueRef before =
        update_one(e, u->at, u->shared, address, pick(e, &u->value, lane));
    if (u->old)
        lanes_put(e, before, u->old, lane);
}

// The address of one of four lanes, of which two have their indices in a word.
static LLVMValueRef pick_of_word(struct emitter *e,
                                 const struct operand *operand,
                                 LLVMValueRef lane, unsigned i,
                                 LLVMValueRef *word)
{
    LLVMBuilderRef b = e->builder;
    if (i % 2 == 0)
        *word = lanes_pick(e, e->i64, operand->memory,
                           LLVMBuildLShr(b, lane, number32(e, 1), ""));
    LLVMValueRef index =
        LLVMBuildLShr(b, *word, number64(e, i % 2 * 32), "");
    return address_at(e, operand, LLVMBuildTrunc(b, index, e->i32, ""));
}

// Four lanes per iteration: fewer iterations, and fewer loads beside the
// updates.
static void update_fours(struct emitter *e, const struct update *u)
{
    struct lane_loop loop = lane_loop_begin(e, NULL);
    LLVMValueRef word = NULL;
    loop.step = 4;
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef lane =
            LLVMBuildAdd(e->builder, loop.lane, number32(e, i), "");
        LLVMValueRef address =
            u->address.reread
                ? pick(e, &u->address, lane)
                : pick_of_word(e, &u->address, lane, i, &word);
        update_lane(e, u, address, lane);
    }
    lane_loop_end(e, &loop);
}

// Others are loops around a comparison and exchange.
static bool is_instruction(LLVMValueRef at)
{
    switch (LLVMGetAtomicRMWBinOp(at)) {
    case LLVMAtomicRMWBinOpXchg: case LLVMAtomicRMWBinOpAdd:
    case LLVMAtomicRMWBinOpSub:
        return true;
    case LLVMAtomicRMWBinOpAnd: case LLVMAtomicRMWBinOpOr:
    case LLVMAtomicRMWBinOpXor:
        return !LLVMGetFirstUse(at);
    default:
        return false;
    }
}

static void update_lanes(struct emitter *e, const struct update *u)
{
    // In a loop also without a mask: processors foresee by the place of a load
    // whether it waits for a store, and many places confuse them.
    if (e->mask || u->shared || !is_instruction(u->at)) {
        struct lane_loop loop = lane_loop_begin(e, e->mask);
        update_lane(e, u, pick(e, &u->address, loop.lane), loop.lane);
        lane_loop_end(e, &loop);
        return;
    }
    for (unsigned i = 0; i < e->width; i++) {
        LLVMValueRef lane = number32(e, i);
        update_lane(e, u, pick(e, &u->address, lane), lane);
    }
}

static void update(struct emitter *e, LLVMValueRef at)
{
    LLVMTypeRef type = vector_type(e, LLVMTypeOf(at));
    struct update u = {.at = at, .address = address_of(e, at),
                       .value = operand_of(e, at, 1)};
    u.shared = address_is_shared(e->kernel, u.address.source, 0);
    if (LLVMGetFirstUse(at))
        u.old = lanes_spill(e, LLVMConstNull(type));
    if (u.shared && !e->mask && u.address.index &&
        (u.address.reread || narrow_type(&u.address) == e->i32))
        update_fours(e, &u);
    else
        update_lanes(e, &u);
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
    else if (reduction_is_possible(&e->shapes, at))
        reduction_emit(e, at, update_one);
    else
        update(e, at);
}
