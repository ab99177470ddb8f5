// Warp functions: operations across the lanes of a warp. A gang of 32 lanes is
// a warp.
#include "simt/widen/widen.h"
#include "simt/ir/ir.h"

#include <runnel/cpu_object.h>

// The operands of rnl_warp.
struct warp_op {
    LLVMValueRef at;
    unsigned kind;
    LLVMValueRef mask, value, argument, width;
};

static LLVMValueRef active_bits(struct emitter *e)
{
    return mask_bits32(e, e->mask);
}

static bool is_full_mask(LLVMValueRef mask)
{
    return LLVMIsAConstantInt(mask) &&
           (uint32_t)LLVMConstIntGetZExtValue(mask) == UINT32_MAX;
}

static void set_result32(struct emitter *e, LLVMValueRef at,
                         LLVMValueRef scalar, LLVMValueRef vector)
{
    LLVMBuilderRef b = e->builder;
    if (scalar)
        scalar = LLVMBuildZExt(b, scalar, e->i64, "");
    else
        vector = LLVMBuildZExt(b, vector, vector_type(e, e->i64), "");
    lanes_set(e, at, scalar, scalar ? NULL : vector);
}

// --- Shuffles ----------------------------------------------------------------

// Source lanes; as vectors of numbers, or as constants in `fixed`.
static bool fixed_sources(struct emitter *e, const struct warp_op *op,
                          unsigned *fixed)
{
    if (!LLVMIsAConstantInt(op->argument) || !LLVMIsAConstantInt(op->width))
        return false;
    unsigned argument = (unsigned)LLVMConstIntGetZExtValue(op->argument);
    unsigned width = (unsigned)LLVMConstIntGetZExtValue(op->width);
    width = width - 1 < 32 ? width : 32;
    for (unsigned lane = 0; lane < e->width; lane++) {
        unsigned base = lane & ~(width - 1), from = lane;
        if (op->kind == RNL_CPU_WARP_SHUFFLE)
            from = base | (argument & (width - 1));
        else if (op->kind == RNL_CPU_WARP_SHUFFLE_UP)
            from = argument <= lane - base ? lane - argument : lane;
        else if (op->kind == RNL_CPU_WARP_SHUFFLE_DOWN)
            from = argument < base + width - lane ? lane + argument : lane;
        else if ((lane ^ argument) < base + width)
            from = lane ^ argument;
        fixed[lane] = from;
    }
    return true;
}

static LLVMValueRef computed_sources(struct emitter *e,
                                     const struct warp_op *op)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef lane = steps(e, e->i32, 1);
    LLVMValueRef width = lanes_vector(e, op->width);
    LLVMValueRef argument = lanes_vector(e, op->argument);
    LLVMValueRef one = splat(e, number32(e, 1));
    LLVMValueRef inner = LLVMBuildSub(b, width, one, "");
    LLVMValueRef base = LLVMBuildAnd(b, lane, LLVMBuildNot(b, inner, ""), "");
    LLVMValueRef place = LLVMBuildSub(b, lane, base, ""), from, legal;
    switch (op->kind) {
    case RNL_CPU_WARP_SHUFFLE:
        return LLVMBuildOr(b, base, LLVMBuildAnd(b, argument, inner, ""), "");
    case RNL_CPU_WARP_SHUFFLE_UP:
        from = LLVMBuildSub(b, lane, argument, "");
        legal = LLVMBuildICmp(b, LLVMIntULE, argument, place, "");
        break;
    case RNL_CPU_WARP_SHUFFLE_DOWN:
        from = LLVMBuildAdd(b, lane, argument, "");
        legal = LLVMBuildICmp(b, LLVMIntULT, argument,
                              LLVMBuildSub(b, width, place, ""), "");
        break;
    default:
        from = LLVMBuildXor(b, lane, argument, "");
        legal = LLVMBuildICmp(b, LLVMIntULT, from,
                              LLVMBuildAdd(b, base, width, ""), "");
        break;
    }
    return LLVMBuildSelect(b, legal, from, lane, "");
}

static LLVMValueRef permute_fixed(struct emitter *e, LLVMValueRef vector,
                                  const unsigned *fixed)
{
    LLVMValueRef lanes[64];
    for (unsigned i = 0; i < e->width; i++)
        lanes[i] = number32(e, fixed[i]);
    return LLVMBuildShuffleVector(e->builder, vector,
                                  LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(lanes, e->width), "");
}

static LLVMValueRef permute_computed(struct emitter *e, LLVMValueRef vector,
                                     LLVMValueRef sources)
{
    LLVMTypeRef type = LLVMTypeOf(vector);
    LLVMTypeRef element = LLVMGetElementType(type);
    LLVMValueRef memory = lanes_spill(e, vector);
    LLVMValueRef index =
        LLVMBuildZExt(e->builder, sources, vector_type(e, e->i64), "");
    LLVMValueRef addresses =
        LLVMBuildGEP2(e->builder, element, memory, &index, 1, "");
    unsigned size = (unsigned)LLVMABISizeOfType(e->kernel->layout, element);
    LLVMTypeRef overloads[] = {type, LLVMTypeOf(addresses)};
    LLVMValueRef arguments[] = {addresses, number32(e, size), mask_all(e),
                                LLVMConstNull(type)};
    return call_intrinsic(e, "llvm.masked.gather", overloads, 2, arguments, 4);
}

// Lanes whose source takes no part keep their own value.
static LLVMValueRef is_there(struct emitter *e, const struct warp_op *op,
                             LLVMValueRef sources)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef bits = splat(e, active_bits(e));
    if (!is_full_mask(op->mask))
        bits = LLVMBuildAnd(b, bits, lanes_vector(e, op->mask), "");
    bits = LLVMBuildLShr(b, bits, sources, "");
    return LLVMBuildTrunc(b, bits, e->mask_type, "");
}

// Values of fewer than 64 bits come as such.
static LLVMValueRef narrow_value(struct emitter *e, LLVMValueRef value)
{
    LLVMValueRef from =
        LLVMIsAZExtInst(value) ? LLVMGetOperand(value, 0) : NULL;
    bool here = from && LLVMIsAInstruction(from) && map_get(&e->values, from);
    return here && LLVMTypeOf(from) == e->i32 ? lanes_vector(e, from)
                                              : lanes_vector(e, value);
}

static void shuffle(struct emitter *e, const struct warp_op *op)
{
    LLVMBuilderRef b = e->builder;
    unsigned fixed[64];
    LLVMValueRef value = narrow_value(e, op->value), result, sources;
    LLVMTypeRef wide = vector_type(e, e->i64);
    bool all_there = !e->mask && is_full_mask(op->mask);
    if (fixed_sources(e, op, fixed)) {
        LLVMValueRef lanes[64];
        for (unsigned i = 0; i < e->width; i++)
            lanes[i] = number32(e, fixed[i]);
        sources = LLVMConstVector(lanes, e->width);
        result = permute_fixed(e, value, fixed);
    } else {
        sources = computed_sources(e, op);
        LLVMValueRef last = splat(e, number32(e, e->width - 1));
        sources = LLVMBuildAnd(b, sources, last, "");
        result = permute_computed(e, value, sources);
    }
    if (!all_there)
        result = LLVMBuildSelect(b, is_there(e, op, sources), result, value,
                                 "");
    if (LLVMTypeOf(result) != wide)
        result = LLVMBuildZExt(b, result, wide, "");
    lanes_set(e, op->at, NULL, result);
}

// All lanes read from the same one.
static void broadcast(struct emitter *e, const struct warp_op *op)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef lane = LLVMBuildAnd(b, lanes_scalar(e, op->argument),
                                     number32(e, 31), "");
    LLVMValueRef value = extract(e, narrow_value(e, op->value), lane);
    if (LLVMTypeOf(value) != e->i64)
        value = LLVMBuildZExt(b, value, e->i64, "");
    lanes_set(e, op->at, value, NULL);
}

// --- Votes -------------------------------------------------------------------

static void vote(struct emitter *e, const struct warp_op *op)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef value = lanes_vector(e, op->value);
    LLVMValueRef yes = LLVMBuildICmp(b, LLVMIntNE, value,
                                     LLVMConstNull(LLVMTypeOf(value)), "");
    LLVMValueRef all = active_bits(e);
    yes = LLVMBuildFreeze(b, yes, "");
    yes = e->mask ? LLVMBuildAnd(b, yes, e->mask, "") : yes;
    LLVMValueRef bits = mask_bits32(e, yes);
    bool alike = lanes_uniform(e, op->mask);
    LLVMValueRef mask = alike ? lanes_scalar(e, op->mask)
                              : lanes_vector(e, op->mask);
    if (!alike) {
        bits = splat(e, bits);
        all = splat(e, all);
    }
    bits = LLVMBuildAnd(b, bits, mask, "");
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(bits)), flag = NULL;
    if (op->kind == RNL_CPU_WARP_ANY)
        flag = LLVMBuildICmp(b, LLVMIntNE, bits, zero, "");
    else if (op->kind == RNL_CPU_WARP_ALL)
        flag = LLVMBuildICmp(b, LLVMIntEQ, bits,
                             LLVMBuildAnd(b, all, mask, ""), "");
    if (flag)
        bits = LLVMBuildZExt(b, flag, LLVMTypeOf(bits), "");
    set_result32(e, op->at, alike ? bits : NULL, bits);
}

// --- Groups ------------------------------------------------------------------

static LLVMValueRef reduce(struct emitter *e, unsigned kind, LLVMValueRef group,
                           LLVMValueRef values)
{
    static const struct {
        const char *name;
        uint32_t neutral;
    } how[] = {
        [RNL_CPU_WARP_ADD] = {"llvm.vector.reduce.add", 0},
        [RNL_CPU_WARP_MIN] = {"llvm.vector.reduce.umin", UINT32_MAX},
        [RNL_CPU_WARP_MAX] = {"llvm.vector.reduce.umax", 0},
        [RNL_CPU_WARP_MIN_SIGNED] = {"llvm.vector.reduce.smin", INT32_MAX},
        [RNL_CPU_WARP_MAX_SIGNED] = {"llvm.vector.reduce.smax",
                                     (uint32_t)INT32_MIN},
        [RNL_CPU_WARP_AND] = {"llvm.vector.reduce.and", UINT32_MAX},
        [RNL_CPU_WARP_OR] = {"llvm.vector.reduce.or", 0},
        [RNL_CPU_WARP_XOR] = {"llvm.vector.reduce.xor", 0},
    };
    LLVMTypeRef type = vector_type(e, e->i32);
    values = LLVMBuildTrunc(e->builder, values, type, "");
    values = LLVMBuildSelect(e->builder, group, values,
                             splat(e, number32(e, how[kind].neutral)), "");
    return call_intrinsic(e, how[kind].name, &type, 1, &values, 1);
}

// The result of the lanes of `group` (a mask) for one of them.
static LLVMValueRef group_result(struct emitter *e, unsigned kind,
                                 LLVMValueRef group, LLVMValueRef values,
                                 LLVMValueRef own)
{
    LLVMBuilderRef b = e->builder;
    if (kind != RNL_CPU_WARP_MATCH_ANY && kind != RNL_CPU_WARP_MATCH_ALL)
        return reduce(e, kind, group, values);
    LLVMValueRef equal =
        LLVMBuildICmp(b, LLVMIntEQ, values, splat(e, own), "");
    LLVMValueRef bits = mask_bits32(e, LLVMBuildAnd(b, equal, group, ""));
    if (kind == RNL_CPU_WARP_MATCH_ANY)
        return bits;
    LLVMValueRef all = LLVMBuildICmp(b, LLVMIntEQ, bits, mask_bits32(e, group),
                                     "");
    return LLVMBuildSelect(b, all, bits, number32(e, 0), "");
}

static LLVMValueRef group_of(struct emitter *e, LLVMValueRef mask)
{
    LLVMValueRef bits = LLVMBuildAnd(e->builder, mask, active_bits(e), "");
    return LLVMBuildBitCast(e->builder, bits, e->mask_type, "");
}

static void together(struct emitter *e, const struct warp_op *op)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef values =
        LLVMBuildFreeze(b, lanes_vector(e, op->value), "");
    if (lanes_uniform(e, op->mask) && op->kind != RNL_CPU_WARP_MATCH_ANY) {
        LLVMValueRef group = group_of(e, lanes_scalar(e, op->mask));
        LLVMValueRef arguments[] = {mask_bits32(e, group),
                                    LLVMConstInt(e->i1, 0, 0)};
        LLVMValueRef first =
            call_intrinsic(e, "llvm.cttz", &e->i32, 1, arguments, 2);
        first = LLVMBuildAnd(b, first, number32(e, 31), "");
        set_result32(e, op->at,
                     group_result(e, op->kind, group, values,
                                  extract(e, values, first)), NULL);
        return;
    }
    LLVMValueRef masks = lanes_spill(e, lanes_vector(e, op->mask));
    LLVMValueRef own = lanes_spill(e, values);
    LLVMTypeRef type = vector_type(e, e->i32);
    LLVMValueRef results = lanes_spill(e, LLVMConstNull(type));
    struct lane_loop loop = lane_loop_begin(e, e->mask);
    LLVMValueRef group = group_of(e, lanes_pick(e, e->i32, masks, loop.lane));
    lanes_put(e, group_result(e, op->kind, group, values,
                              lanes_pick(e, e->i64, own, loop.lane)),
              results, loop.lane);
    lane_loop_end(e, &loop);
    set_result32(e, op->at, NULL, LLVMBuildLoad2(b, type, results, ""));
}

void warp_emit(struct emitter *e, LLVMValueRef at)
{
    struct warp_op op = {
        .at = at,
        .kind = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(at, 0)),
        .mask = LLVMGetOperand(at, 1), .value = LLVMGetOperand(at, 2),
        .argument = LLVMGetOperand(at, 3), .width = LLVMGetOperand(at, 4),
    };
    switch (op.kind) {
    case RNL_CPU_WARP_SYNC:
        lanes_set(e, at, number64(e, 0), NULL);
        return;
    case RNL_CPU_WARP_ACTIVE:
        set_result32(e, at, active_bits(e), NULL);
        return;
    case RNL_CPU_WARP_SHUFFLE:
        if (lanes_uniform(e, at)) {
            broadcast(e, &op);
            return;
        }
        shuffle(e, &op);
        return;
    case RNL_CPU_WARP_SHUFFLE_UP: case RNL_CPU_WARP_SHUFFLE_DOWN:
    case RNL_CPU_WARP_SHUFFLE_XOR:
        shuffle(e, &op);
        return;
    case RNL_CPU_WARP_BALLOT: case RNL_CPU_WARP_ANY: case RNL_CPU_WARP_ALL:
        vote(e, &op);
        return;
    default:
        together(e, &op);
        return;
    }
}
