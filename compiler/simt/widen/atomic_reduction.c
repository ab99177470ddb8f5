// Atomic operations of all lanes at one address: the lanes' values are reduced
// first, and the operation is done once, as if the lanes had come in order.
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"

// Replaces the values of masked-off lanes by the identity.
static LLVMValueRef values_of(struct emitter *e, LLVMValueRef at,
                              struct reduction reduction)
{
    LLVMTypeRef type = LLVMTypeOf(at);
    LLVMValueRef values = lanes_vector(e, LLVMGetOperand(at, 1)), none;
    if (!e->mask)
        return values;
    if (!reduction.identity) {
        none = LLVMConstReal(type, -0.0);
    } else {
        uint64_t sign = UINT64_C(1) << (LLVMGetIntTypeWidth(type) - 1);
        none = *reduction.identity == '1' ? LLVMConstAllOnes(type)
             : *reduction.identity == '-' ? LLVMConstInt(type, sign, 0)
             : *reduction.identity == '+' ? LLVMConstInt(type, sign - 1, 0)
                                         : LLVMConstNull(type);
    }
    return LLVMBuildSelect(e->builder, e->mask, values, splat(e, none), "");
}

// For each lane, the sum of the values of all earlier lanes.
static LLVMValueRef sums_before(struct emitter *e, LLVMValueRef values)
{
    LLVMValueRef sums = values, zero = LLVMConstNull(LLVMTypeOf(values));
    for (unsigned step = 1; step < e->width; step *= 2) {
        LLVMValueRef mask[64];
        for (unsigned i = 0; i < e->width; i++)
            mask[i] = number32(e, i >= step ? i - step : e->width);
        LLVMValueRef moved = LLVMBuildShuffleVector(
            e->builder, sums, zero, LLVMConstVector(mask, e->width), "");
        sums = LLVMBuildAdd(e->builder, sums, moved, "");
    }
    return LLVMBuildSub(e->builder, sums, values, "");
}

static LLVMValueRef sum_on(struct emitter *e, LLVMValueRef begin,
                           LLVMValueRef values)
{
    LLVMTypeRef type = LLVMTypeOf(values);
    LLVMValueRef arguments[] = {begin, values};
    return call_intrinsic(e, "llvm.vector.reduce.fadd", &type, 1, arguments, 2);
}

// Adds floats in the order of the lanes, and repeats if another thread has
// changed memory meanwhile.
static void add_floats(struct emitter *e, LLVMValueRef at, LLVMValueRef address,
                       LLVMValueRef values, bool shared)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = LLVMTypeOf(at);
    LLVMValueRef before = LLVMBuildLoad2(b, type, address, "");
    if (shared) {
        LLVMBuildStore(b, sum_on(e, before, values), address);
        return;
    }
    LLVMTypeRef bits = type == LLVMDoubleTypeInContext(e->context) ? e->i64
                                                                   : e->i32;
    LLVMSetOrdering(before, LLVMAtomicOrderingMonotonic);
    LLVMValueRef found = LLVMBuildBitCast(b, before, bits, "");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef again = append(e, "again"), end = append(e, "added");
    LLVMBuildBr(b, again);
    position(e, again);
    LLVMValueRef old = LLVMBuildPhi(b, bits, "");
    LLVMValueRef sum =
        sum_on(e, LLVMBuildBitCast(b, old, type, ""), values);
    LLVMValueRef pair = LLVMBuildAtomicCmpXchg(
        b, address, old, LLVMBuildBitCast(b, sum, bits, ""),
        LLVMAtomicOrderingMonotonic, LLVMAtomicOrderingMonotonic, 0);
    LLVMValueRef seen[] = {found, LLVMBuildExtractValue(b, pair, 0, "")};
    LLVMBasicBlockRef ways[] = {from, again};
    LLVMAddIncoming(old, seen, ways, 2);
    LLVMBuildCondBr(b, LLVMBuildExtractValue(b, pair, 1, ""), end, again);
    position(e, end);
}

void reduction_emit(struct emitter *e, LLVMValueRef at,
                    reduction_update *update)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = vector_type(e, LLVMTypeOf(at));
    struct reduction reduction = reduction_of(LLVMGetAtomicRMWBinOp(at));
    LLVMValueRef address = lanes_scalar(e, LLVMGetOperand(at, 0));
    bool shared = address_is_shared(e->kernel, LLVMGetOperand(at, 0), 0);
    LLVMValueRef values = values_of(e, at, reduction);
    LLVMValueRef old = LLVMGetFirstUse(at) ? variable(e, type, "old") : NULL;
    LLVMBasicBlockRef some = append(e, "some"), end = append(e, "none");
    if (e->mask)
        LLVMBuildCondBr(b, mask_any(e, e->mask), some, end);
    else
        LLVMBuildBr(b, some);
    position(e, some);
    if (!reduction.identity) {
        add_floats(e, at, address, values, shared);
    } else {
        LLVMValueRef all =
            call_intrinsic(e, reduction.name, &type, 1, &values, 1);
        LLVMValueRef first = update(e, at, shared, address, all);
        if (old)
            LLVMBuildStore(b, LLVMBuildAdd(b, splat(e, first),
                                           sums_before(e, values), ""), old);
    }
    LLVMBuildBr(b, end);
    position(e, end);
    if (old)
        lanes_set(e, at, NULL, LLVMBuildLoad2(b, type, old, ""));
}
