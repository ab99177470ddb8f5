// Values of lanes: scalars, vectors, masks, and single lanes of vectors.
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

#include <string.h>

LLVMTypeRef slot_type(struct emitter *e, unsigned slot)
{
    LLVMTypeRef type = e->kernel->slots[slot].type;
    return e->shapes.slots[slot].kind == SHAPE_VARYING ? vector_type(e, type)
                                                       : type;
}

LLVMValueRef slot_memory(struct emitter *e, unsigned slot)
{
    if (e->slots[slot])
        return e->slots[slot];
    LLVMTypeRef type = slot_type(e, slot);
    e->slots[slot] = variable(e, type, "slot");
    LLVMBuilderRef b = LLVMCreateBuilderInContext(e->context);
    LLVMPositionBuilderBefore(b, e->begun);
    LLVMBuildStore(b, LLVMConstNull(type), e->slots[slot]);
    LLVMDisposeBuilder(b);
    return e->slots[slot];
}

// --- Values of the kernel ----------------------------------------------------

static struct lanes *lanes_of(struct emitter *e, LLVMValueRef value)
{
    struct lanes *lanes = map_get(&e->values, value);
    if (!lanes) {
        lanes = simt_allocate(sizeof *lanes);
        map_set(&e->values, value, lanes);
    }
    return lanes;
}

void lanes_set(struct emitter *e, LLVMValueRef value, LLVMValueRef scalar,
               LLVMValueRef vector)
{
    *lanes_of(e, value) = (struct lanes){scalar, vector};
}

bool lanes_uniform(struct emitter *e, LLVMValueRef value)
{
    enum shape_kind kind = shape_of(&e->shapes, value).kind;
    return kind == SHAPE_UNIFORM || kind == SHAPE_UNKNOWN;
}

struct map lanes_save(struct emitter *e)
{
    struct map saved = e->values;
    e->values = map_copy(&saved, sizeof(struct lanes));
    return saved;
}

bool lanes_are_lazy(const struct emitter *e, const struct slot *slot)
{
    return e->barrier != NONE && slot->remat &&
           e->shapes.slots[slot - e->kernel->slots].kind == SHAPE_VARYING;
}

// The slot that a load is of if it is computed anew.
static const struct slot *lazy_slot(struct emitter *e, LLVMValueRef value)
{
    const struct slot *slot = slots_loaded(e->kernel, value);
    return slot && lanes_are_lazy(e, slot) ? slot : NULL;
}

void lanes_make(struct emitter *e, LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value) || map_get(&e->values, value) ||
        map_get(&e->kernel->slot_of, value))
        return;
    const struct slot *slot = lazy_slot(e, value);
    if (slot) {
        LLVMValueRef stored = LLVMGetOperand(slot->stores[0], 0);
        lanes_make(e, stored);
        lanes_set(e, value, NULL, lanes_vector(e, stored));
        return;
    }
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        lanes_make(e, LLVMGetOperand(value, (unsigned)i));
    instruction_emit(e, value);
}

static bool lane_is_simple(LLVMValueRef at)
{
    switch (LLVMGetInstructionOpcode(at)) {
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMOr:
    case LLVMSExt: case LLVMZExt: case LLVMTrunc: case LLVMICmp:
    case LLVMSelect:
        return true;
    case LLVMGetElementPtr:
        return LLVMGetNumOperands(at) <= 8;
    case LLVMCall:
        return is_intrinsic(at, "smin") || is_intrinsic(at, "smax") ||
               is_intrinsic(at, "umin") || is_intrinsic(at, "umax") ||
               is_intrinsic(at, "usub.sat");
    default:
        return false;
    }
}

static LLVMValueRef clone_at(struct emitter *e, LLVMValueRef at, unsigned lane)
{
    unsigned count = LLVMIsACallInst(at) ? LLVMGetNumArgOperands(at)
                                         : (unsigned)LLVMGetNumOperands(at);
    LLVMValueRef operands[8];
    for (unsigned i = 0; i < count; i++)
        operands[i] = lanes_at(e, LLVMGetOperand(at, i), lane);
    LLVMValueRef clone = LLVMInstructionClone(at);
    for (unsigned i = 0; i < count; i++)
        LLVMSetOperand(clone, i, operands[i]);
    LLVMInsertIntoBuilder(e->builder, clone);
    return clone;
}

LLVMValueRef lanes_at(struct emitter *e, LLVMValueRef value, unsigned lane)
{
    struct shape shape = shape_of(&e->shapes, value);
    const struct slot *slot = lazy_slot(e, value);
    if (shape.kind == SHAPE_VARYING && slot)
        return lanes_at(e, LLVMGetOperand(slot->stores[0], 0), lane);
    bool known = LLVMIsAInstruction(value) && map_get(&e->values, value);
    if (shape.kind == SHAPE_VARYING && !known && lane_is_simple(value))
        return clone_at(e, value, lane);
    lanes_make(e, value);
    if (shape.kind == SHAPE_VARYING)
        return extract(e, lanes_vector(e, value), number32(e, lane));
    LLVMValueRef first = lanes_scalar(e, value);
    if (shape.kind != SHAPE_AFFINE || lane == 0)
        return first;
    LLVMTypeRef type = LLVMTypeOf(first);
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind)
        return at_offset(e, first, (uint64_t)(shape.stride * lane));
    return LLVMBuildAdd(e->builder, first,
                        LLVMConstInt(type, (uint64_t)(shape.stride * lane), 1),
                        "");
}

LLVMValueRef lanes_scalar(struct emitter *e, LLVMValueRef value)
{
    if (LLVMIsAArgument(value))
        return e->arguments;
    const struct slot *slot = map_get(&e->kernel->slot_of, value);
    if (slot)
        return e->private_memory[slot - e->kernel->slots];
    if (!LLVMIsAInstruction(value))
        return value;
    if (lazy_slot(e, value))
        lanes_make(e, value);
    struct lanes *lanes = lanes_of(e, value);
    if (!lanes->scalar && lanes->vector)
        lanes->scalar = extract(e, lanes->vector, number32(e, 0));
    if (!lanes->scalar)  // code that cannot be reached
        lanes->scalar = LLVMConstNull(LLVMTypeOf(value));
    return lanes->scalar;
}

// base + <0, stride, ...>, for numbers and addresses.
static LLVMValueRef progression(struct emitter *e, LLVMValueRef base,
                                int64_t stride)
{
    LLVMTypeRef type = LLVMTypeOf(base);
    if (LLVMGetTypeKind(type) == LLVMPointerTypeKind) {
        LLVMValueRef offsets = steps(e, e->i64, stride);
        return LLVMBuildGEP2(e->builder, e->i8, base, &offsets, 1, "");
    }
    return LLVMBuildAdd(e->builder, splat(e, base), steps(e, type, stride), "");
}

// Affine values are widened like varying ones, so that their vectors are right
// even where numbers wrap around.
static bool is_leaf(struct emitter *e, LLVMValueRef value)
{
    return LLVMIsALoadInst(value) || is_index_call(value) ||
           map_get(&e->kernel->slot_of, value);
}

LLVMValueRef lanes_vector(struct emitter *e, LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value))
        return splat(e, lanes_scalar(e, value));
    struct shape shape = shape_of(&e->shapes, value);
    if (map_get(&e->kernel->slot_of, value))
        return progression(e, lanes_scalar(e, value), shape.stride);
    if (lazy_slot(e, value))
        lanes_make(e, value);
    struct lanes *lanes = lanes_of(e, value);
    if (lanes->vector)
        return lanes->vector;
    if (shape.kind != SHAPE_AFFINE)
        lanes->vector = splat(e, lanes_scalar(e, value));
    else if (is_leaf(e, value))
        lanes->vector = progression(e, lanes_scalar(e, value), shape.stride);
    else {
        LLVMValueRef vector = instruction_widen(e, value);
        lanes = lanes_of(e, value);
        lanes->vector = vector;
    }
    return lanes->vector;
}

// --- One lane after another --------------------------------------------------

struct lane_loop lane_loop_begin(struct emitter *e, LLVMValueRef mask)
{
    struct lane_loop loop = {.head = append(e, "lane"),
                             .end = append(e, "lanes.done")};
    loop.left = variable(e, e->i32, "left");
    loop.all = !mask;
    loop.step = 1;
    LLVMBuildStore(e->builder, mask ? mask_bits32(e, mask) : number32(e, 0),
                   loop.left);
    if (mask)
        LLVMBuildCondBr(e->builder, mask_any(e, mask), loop.head, loop.end);
    else
        LLVMBuildBr(e->builder, loop.head);
    position(e, loop.head);
    LLVMValueRef left = LLVMBuildLoad2(e->builder, e->i32, loop.left, "");
    LLVMValueRef arguments[] = {left, LLVMConstInt(e->i1, 1, 0)};
    loop.lane = loop.all ? left : call_intrinsic(e, "llvm.cttz", &e->i32, 1,
                                                 arguments, 2);
    return loop;
}

void lane_loop_end(struct emitter *e, struct lane_loop *loop)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef left = LLVMBuildLoad2(b, e->i32, loop->left, "");
    LLVMValueRef step = number32(e, loop->step);
    if (loop->all)
        left = LLVMBuildAdd(b, left, step, "");
    else
        left = LLVMBuildAnd(b, left, LLVMBuildSub(b, left, step, ""), "");
    LLVMBuildStore(b, left, loop->left);
    LLVMValueRef more = LLVMBuildICmp(
        b, LLVMIntNE, left, number32(e, loop->all ? e->width : 0), "");
    // One memory location for all lanes: processors predict a load's dependence
    // on stores by the address of the load instruction.
    loop_hint(LLVMBuildCondBr(b, more, loop->head, loop->end),
              "llvm.loop.unroll.disable", 0);
    position(e, loop->end);
}

LLVMValueRef lanes_spill(struct emitter *e, LLVMValueRef vector)
{
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(vector));
    if (element == e->i1) {
        element = e->i8;
        vector = LLVMBuildZExt(e->builder, vector, vector_type(e, element), "");
    }
    LLVMValueRef memory = variable(e, LLVMTypeOf(vector), "spill");
    LLVMBuildStore(e->builder, vector, memory);
    return memory;
}

static LLVMValueRef lane_address(struct emitter *e, LLVMTypeRef element,
                                 LLVMValueRef memory, LLVMValueRef lane)
{
    LLVMValueRef index = LLVMBuildZExt(e->builder, lane, e->i64, "");
    return LLVMBuildGEP2(e->builder, element, memory, &index, 1, "");
}

LLVMValueRef lanes_pick(struct emitter *e, LLVMTypeRef element,
                        LLVMValueRef memory, LLVMValueRef lane)
{
    LLVMTypeRef stored = element == e->i1 ? e->i8 : element;
    LLVMValueRef value = LLVMBuildLoad2(
        e->builder, stored, lane_address(e, stored, memory, lane), "");
    return element == e->i1
               ? LLVMBuildTrunc(e->builder, value, e->i1, "") : value;
}

void lanes_put(struct emitter *e, LLVMValueRef value, LLVMValueRef memory,
               LLVMValueRef lane)
{
    LLVMBuildStore(e->builder, value,
                   lane_address(e, LLVMTypeOf(value), memory, lane));
}
