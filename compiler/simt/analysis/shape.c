// How every value of a kernel differs between the lanes of a gang: not at all,
// by a constant stride, or somehow. On memory form, to a fixpoint.
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

#include <runnel/cpu_object.h>
#include <string.h>

static const struct shape uniform = {.kind = SHAPE_UNIFORM};
static const struct shape varying = {.kind = SHAPE_VARYING};

static struct shape affine(int64_t stride)
{
    return stride ? (struct shape){.kind = SHAPE_AFFINE, .stride = stride}
                  : uniform;
}

static struct shape guess(int64_t stride)
{
    return (struct shape){.kind = SHAPE_VARYING, .guess = stride};
}

static struct shape monotonic(int64_t stride, bool proven)
{
    return (struct shape){.kind = SHAPE_VARYING, .guess = stride,
                          .monotonic = proven && stride > 0};
}

static int64_t likely_stride(struct shape shape)
{
    return shape.kind == SHAPE_VARYING ? shape.guess : shape.stride;
}

static bool same(struct shape a, struct shape b)
{
    return a.kind == b.kind && a.stride == b.stride && a.guess == b.guess &&
           a.alignment == b.alignment && a.monotonic == b.monotonic &&
           a.far == b.far;
}

// A varying shape with a mark of its parts: products of a varying and a uniform
// number, such as the begin of a matrix row.
static struct shape mark_far(struct shape shape, bool far)
{
    shape.far = far && shape.kind == SHAPE_VARYING;
    return shape;
}

// The shape of what may be either.
static struct shape join(struct shape a, struct shape b)
{
    if (a.kind == SHAPE_UNKNOWN || same(a, b))
        return b;
    if (b.kind == SHAPE_UNKNOWN)
        return a;
    if (a.kind == b.kind && a.kind != SHAPE_VARYING && a.stride == b.stride) {
        a.alignment = a.alignment < b.alignment ? a.alignment : b.alignment;
        return a;
    }
    int64_t one = likely_stride(a), other = likely_stride(b);
    return mark_far(guess(one ? one : other), a.far || b.far);
}

static struct shape shape_of_number(int64_t number)
{
    struct shape shape = uniform;
    shape.alignment = number ? (unsigned)__builtin_ctzll((uint64_t)number) : 64;
    return shape;
}

struct shape shape_of(const struct shapes *shapes, LLVMValueRef value)
{
    int64_t number;
    if (!LLVMIsAInstruction(value))  // a constant or an argument
        return constant_of(value, &number) ? shape_of_number(number) : uniform;
    const struct slot *slot = map_get(&shapes->kernel->slot_of, value);
    if (slot) {
        uint64_t size = LLVMABISizeOfType(shapes->kernel->layout, slot->type);
        return affine((int64_t)(slot->element ? slot->element : size));
    }
    const struct shape *shape = map_get(&shapes->values, value);
    return shape ? *shape : (struct shape){0};
}

static struct shape operand_shape(const struct shapes *shapes,
                                  LLVMValueRef value, unsigned i)
{
    return shape_of(shapes, LLVMGetOperand(value, i));
}

// --- Arithmetic --------------------------------------------------------------

static int64_t wrap(int64_t stride, LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
        return stride;
    unsigned width = LLVMGetIntTypeWidth(type);
    if (width >= 64)
        return stride;
    return (int64_t)((uint64_t)stride << (64 - width)) >> (64 - width);
}

// Strides wrap around as the numbers do.
static int64_t times(int64_t stride, int64_t factor)
{
    return (int64_t)((uint64_t)stride * (uint64_t)factor);
}

static int64_t plus(int64_t stride, int64_t other)
{
    return (int64_t)((uint64_t)stride + (uint64_t)other);
}

static struct shape add(struct shape a, struct shape b, int sign)
{
    if (a.kind == SHAPE_VARYING || b.kind == SHAPE_VARYING)
        return mark_far(
            monotonic(plus(likely_stride(a), times(likely_stride(b), sign)),
                   shape_is_monotonic(a) && shape_is_monotonic(b) &&
                       (sign > 0 || b.kind == SHAPE_UNIFORM)),
            a.far || b.far);
    struct shape sum = affine(plus(a.stride, times(b.stride, sign)));
    sum.alignment = a.alignment < b.alignment ? a.alignment : b.alignment;
    return sum;
}

static struct shape scale(struct shape a, int64_t factor)
{
    if (a.kind == SHAPE_VARYING)
        return mark_far(monotonic(times(a.guess, factor),
                               shape_is_monotonic(a) && factor < 65536), a.far);
    struct shape scaled = affine(times(a.stride, factor));
    scaled.alignment = a.alignment;
    if (factor != 0)
        scaled.alignment += (unsigned)__builtin_ctzll((uint64_t)factor);
    return scaled;
}

static struct shape shape_of_form(const struct shapes *shapes,
                                  const struct linear_form *form)
{
    struct shape sum = shape_of_number(form->constant);
    for (unsigned i = 0; i < form->count; i++) {
        int64_t factor = form->terms[i].times;
        struct shape shape = shape_of(shapes, form->terms[i].value);
        sum = factor < 0 ? add(sum, scale(shape, times(factor, -1)), -1)
                         : add(sum, scale(shape, factor), 1);
    }
    return sum;
}

// Whether a number is the size of a block in x, in a variant where that is 1.
static bool is_one(const struct shapes *shapes, LLVMValueRef value)
{
    int axis;
    value = slots_resolve(shapes->kernel, value);
    return shapes->variant->thin &&
           primitive_of(value, &axis) == PRIMITIVE_BLOCK_SIZE && axis == 0;
}

// The shape of a product without a constant factor.
static struct shape product_shape(const struct shapes *shapes,
                                  LLVMValueRef product)
{
    struct shape a = operand_shape(shapes, product, 0);
    struct shape b = operand_shape(shapes, product, 1);
    if (is_one(shapes, LLVMGetOperand(product, 0)))
        return b;
    if (is_one(shapes, LLVMGetOperand(product, 1)))
        return a;
    if (a.kind == SHAPE_UNIFORM && b.kind == SHAPE_UNIFORM) {
        a.alignment += b.alignment;
        return a;
    }
    return mark_far(varying, (a.kind == SHAPE_UNIFORM) !=
                                 (b.kind == SHAPE_UNIFORM));
}

// x & (2^k - 1), x >> k of a stride that stays inside an aligned group of 2^k.
static bool stays_inside(const struct shapes *shapes, struct shape a,
                         unsigned power)
{
    return a.kind == SHAPE_AFFINE && a.stride > 0 && power < 32 &&
           a.alignment >= power &&
           a.stride * (shapes->variant->width - 1) < INT64_C(1) << power;
}

static struct shape mask_shape(const struct shapes *shapes, struct shape a,
                               LLVMValueRef mask)
{
    int64_t bits;
    if (!constant_of(mask, &bits))
        return guess(likely_stride(a));
    if (bits >= 0 && (bits & (bits + 1)) == 0 &&
        stays_inside(shapes, a, (unsigned)__builtin_popcountll((uint64_t)bits)))
        return affine(a.stride);
    if (bits < 0 && (~bits & (~bits + 1)) == 0 &&
        stays_inside(shapes, a,
                     (unsigned)__builtin_popcountll(~(uint64_t)bits)))
        return uniform;
    return guess(likely_stride(a));
}

static struct shape binary_shape(const struct shapes *shapes,
                                 LLVMValueRef at, LLVMOpcode opcode)
{
    struct shape a = operand_shape(shapes, at, 0);
    LLVMValueRef second = LLVMGetOperand(at, 1);
    int64_t number;
    struct linear_form form;
    if (linear_form_of(shapes->kernel->layout, at, &form))
        return shape_of_form(shapes, &form);
    switch (opcode) {
    case LLVMMul:
        return product_shape(shapes, at);
    case LLVMShl:
        return mark_far(varying, shape_of(shapes, second).kind ==
                                     SHAPE_UNIFORM);
    case LLVMLShr: case LLVMAShr:
        if (constant_of(second, &number) && number >= 0 &&
            stays_inside(shapes, a, (unsigned)number))
            return uniform;
        return varying;
    case LLVMAnd:
        return mask_shape(shapes, a, second);
    case LLVMURem: case LLVMSRem:
        return guess(likely_stride(a));
    default:
        return varying;
    }
}

static struct shape cast_shape(const struct shapes *shapes, LLVMValueRef at,
                               LLVMOpcode opcode)
{
    struct shape a = operand_shape(shapes, at, 0);
    LLVMValueRef from = LLVMGetOperand(at, 0);
    unsigned width = LLVMGetTypeKind(LLVMTypeOf(from)) == LLVMIntegerTypeKind
                         ? LLVMGetIntTypeWidth(LLVMTypeOf(from)) : 64;
    switch (opcode) {
    case LLVMTrunc: case LLVMFreeze: case LLVMPtrToInt: case LLVMIntToPtr:
        return a;
    case LLVMSExt:
        if (width >= 32 && a.kind == SHAPE_AFFINE && a.stride < 65536 &&
            a.stride > -65536 && shape_widens_signed(shapes, at))
            return a;
        return mark_far(monotonic(likely_stride(a), shape_is_monotonic(a)),
                        a.far);
    case LLVMZExt:
        if (width >= 32 && a.kind == SHAPE_AFFINE && a.stride > 0 &&
            a.stride < 65536 && shape_never_wraps(shapes, from))
            return a;
        return mark_far(
            monotonic(likely_stride(a), width >= 32 && shape_is_monotonic(a)),
            a.far);
    default:
        return varying;
    }
}

// --- Addresses and memory ----------------------------------------------------

// Lanes that choose a row each are not likely to choose the same.
static bool is_woven(const struct kernel *kernel, LLVMValueRef address)
{
    const struct slot *slot =
        map_get(&kernel->slot_of, slots_base(kernel, address));
    return slot && slot->element;
}

static struct shape address_shape(const struct shapes *shapes,
                                  LLVMValueRef at)
{
    struct linear_form form;
    if (!linear_form_of(shapes->kernel->layout, at, &form))
        return varying;
    struct shape sum = shape_of_form(shapes, &form);
    sum.alignment = 0;
    return sum.kind == SHAPE_VARYING && is_woven(shapes->kernel, at)
               ? varying : sum;
}

static struct shape load_shape(const struct shapes *shapes, LLVMValueRef at)
{
    const struct slot *slot = slots_loaded(shapes->kernel, at);
    if (slot)
        return shapes->slots[slot - shapes->kernel->slots];
    struct shape address = operand_shape(shapes, at, 0);
    if (address.kind == SHAPE_UNKNOWN)
        return address;
    return address.kind == SHAPE_UNIFORM && is_plain_access(at) ? uniform
                                                                : varying;
}

// --- Calls -------------------------------------------------------------------

static struct shape warp_shape(const struct shapes *shapes, LLVMValueRef at)
{
    bool same_mask = operand_shape(shapes, at, 1).kind == SHAPE_UNIFORM;
    bool same_lane = operand_shape(shapes, at, 3).kind == SHAPE_UNIFORM;
    int64_t width;
    if (shapes->variant->width > 32)
        return varying;  // it is that of one warp
    switch (LLVMConstIntGetZExtValue(LLVMGetOperand(at, 0))) {
    case RNL_CPU_WARP_ACTIVE: case RNL_CPU_WARP_SYNC:
        return uniform;
    case RNL_CPU_WARP_SHUFFLE:
        return same_lane && constant_of(LLVMGetOperand(at, 4), &width) &&
               width == 32 ? uniform : varying;
    case RNL_CPU_WARP_SHUFFLE_UP: case RNL_CPU_WARP_SHUFFLE_DOWN:
    case RNL_CPU_WARP_SHUFFLE_XOR: case RNL_CPU_WARP_MATCH_ANY:
        return varying;
    default:
        return same_mask ? uniform : varying;
    }
}

static struct shape call_shape(const struct shapes *shapes, LLVMValueRef at)
{
    int axis = 0;
    struct shape row = affine(1), size = uniform;
    row.alignment = (unsigned)__builtin_ctz(shapes->variant->width);
    switch (primitive_of(at, &axis)) {
    case PRIMITIVE_BLOCK_SIZE:
        if (shapes->variant->whole && axis == 0)
            size.alignment = row.alignment;
        return size;
    case PRIMITIVE_THREAD:
        if (!shapes->variant->rows)
            return axis == 0 ? guess(1) : varying;
        return shapes->variant->along != LANES_BLOCKS &&
                       axis == (int)lanes_axis(shapes->variant)
                   ? row : uniform;
    case PRIMITIVE_WARP:
        return warp_shape(shapes, at);
    case PRIMITIVE_BLOCK:
        if (shapes->variant->along == LANES_BLOCKS)
            return axis == 0 ? affine(1) : uniform;
        return shapes->variant->blocks ? varying : uniform;
    case PRIMITIVE_TLS:
        return shapes->variant->blocks ? varying : uniform;
    case PRIMITIVE_NONE:
        break;
    default:
        return uniform;
    }
    struct shape all = uniform;
    for (unsigned i = 0; i < LLVMGetNumArgOperands(at); i++)
        all = join(all, operand_shape(shapes, at, i));
    if (is_limit_call(at) && all.kind != SHAPE_UNIFORM)
        return monotonic(likely_stride(all),
                         shape_limit_is_monotonic(shapes, at));
    bool pure = is_pure_call(at);
    return all.kind == SHAPE_UNIFORM && pure ? uniform : varying;
}

// --- Instructions ------------------------------------------------------------

static struct shape select_shape(const struct shapes *shapes, LLVMValueRef at)
{
    struct shape either = join(operand_shape(shapes, at, 1),
                               operand_shape(shapes, at, 2));
    if (operand_shape(shapes, at, 0).kind == SHAPE_UNIFORM)
        return either;
    return mark_far(monotonic(likely_stride(either),
                           shape_select_is_monotonic(shapes, at)), either.far);
}

static bool operands_known(const struct shapes *shapes, LLVMValueRef at,
                           bool *all_uniform)
{
    *all_uniform = true;
    for (int i = 0; i < LLVMGetNumOperands(at); i++) {
        LLVMValueRef operand = LLVMGetOperand(at, (unsigned)i);
        struct shape shape = shape_of(shapes, operand);
        if (shape.kind == SHAPE_UNKNOWN)
            return false;
        *all_uniform &= shape.kind == SHAPE_UNIFORM;
    }
    return true;
}

// Uniform operands give a uniform result; tracks the known alignment through
// arithmetic.
static struct shape uniform_shape(const struct shapes *shapes, LLVMValueRef at)
{
    struct shape shape = uniform;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(at);
    if (LLVMIsABinaryOperator(at))
        shape.alignment = binary_shape(shapes, at, opcode).alignment;
    else if (opcode == LLVMZExt || opcode == LLVMSExt || opcode == LLVMTrunc)
        shape.alignment = operand_shape(shapes, at, 0).alignment;
    return shape;
}

static struct shape instruction_shape(const struct shapes *shapes,
                                      LLVMValueRef at)
{
    bool all_uniform;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(at);
    if (opcode == LLVMLoad)
        return load_shape(shapes, at);
    if (!operands_known(shapes, at, &all_uniform))
        return (struct shape){0};
    switch (opcode) {
    case LLVMCall:
        return call_shape(shapes, at);
    case LLVMAtomicCmpXchg: case LLVMAtomicRMW: case LLVMExtractValue:
        return varying;
    default:
        break;
    }
    if (all_uniform)
        return uniform_shape(shapes, at);
    if (opcode == LLVMGetElementPtr)
        return address_shape(shapes, at);
    if (opcode == LLVMSelect)
        return select_shape(shapes, at);
    if (LLVMIsABinaryOperator(at))
        return binary_shape(shapes, at, opcode);
    if (LLVMIsACastInst(at) || opcode == LLVMFreeze)
        return cast_shape(shapes, at, opcode);
    return varying;
}

static bool set_shape(struct shapes *shapes, LLVMValueRef at,
                      struct shape found)
{
    struct shape *shape = map_get(&shapes->values, at);
    if (!shape) {
        shape = simt_allocate(sizeof *shape);
        map_set(&shapes->values, at, shape);
    }
    found.stride = wrap(found.stride, LLVMTypeOf(at));
    if (found.kind == SHAPE_AFFINE && found.stride == 0)
        found = uniform;
    found = join(*shape, found);
    if (found.kind == SHAPE_VARYING && LLVMIsAGetElementPtrInst(at) &&
        is_woven(shapes->kernel, at))
        found = varying;
    bool changed = !same(*shape, found);
    *shape = found;
    return changed;
}

// --- Control flow ------------------------------------------------------------

// Blocks where the lanes that a branch sent to different sides may meet.
static struct set joins_of(const struct kernel *kernel, int branch)
{
    const int *sides = kernel->blocks[branch].successors;
    int *label = simt_allocate(kernel->block_count * sizeof *label);
    struct set joins = set_create(kernel->block_count);
    for (unsigned i = 0; i < kernel->block_count; i++)
        label[i] = NONE;
    label[sides[0]] = sides[0];
    label[sides[1]] = sides[1];
    bool changed = true;
    while (changed) {
        changed = false;
        for (int i = 0; i < (int)kernel->block_count; i++) {
            const struct block *block = &kernel->blocks[i];
            int found = i == sides[0] || i == sides[1] ? i : NONE;
            bool is_join = set_has(&joins, (unsigned)i);
            for (unsigned p = 0; p < block->predecessor_count; p++) {
                int from = block->predecessors[p];
                if (from == branch || label[from] == NONE)
                    continue;
                is_join |= found != NONE && found != label[from];
                found = label[from];
            }
            if (is_join)
                found = i;
            if (is_join && set_add(&joins, (unsigned)i))
                changed = true;
            if (i == branch)
                continue;  // lanes that come here again are together again
            if (found != NONE && found != label[i]) {
                label[i] = found;
                changed = true;
            }
        }
    }
    return joins;
}

static bool make_varying(struct shapes *shapes, unsigned slot)
{
    struct shape *shape = &shapes->slots[slot];
    if (shape->kind == SHAPE_VARYING && !shape->monotonic)
        return false;
    *shape = mark_far(guess(likely_stride(*shape)), shape->far);
    return true;
}

static bool stored_between(const struct kernel *kernel,
                           const struct slot *slot, const struct set *blocks)
{
    for (unsigned i = 0; i < slot->store_count; i++)
        if (set_has(blocks,
                    (unsigned)kernel_block_of(kernel, slot->stores[i])))
            return true;
    return false;
}

static LLVMValueRef stored_in(const struct kernel *kernel,
                              const struct slot *slot, int block)
{
    for (unsigned i = 0; i < slot->store_count; i++)
        if (kernel_block_of(kernel, slot->stores[i]) == block)
            return LLVMGetOperand(slot->stores[i], 0);
    return NULL;
}

// True if lanes that a branch separated bring one value, from before the
// branch, to the join where the slot is loaded, and only other lanes bring
// another value. Only for joins where all of them meet: lanes that had parted
// earlier come to other joins.
static bool bring_the_same(const struct kernel *kernel,
                           const struct slot *slot, int branch,
                           const struct set *between)
{
    int place = kernel_block_of(kernel, slot->loads[0]);
    const struct block *join = &kernel->blocks[place];
    LLVMValueRef value = NULL;
    const struct slot *source = NULL;
    if (place != kernel->join_after[branch])
        return false;
    for (unsigned p = 0; p < join->predecessor_count; p++) {
        int from = join->predecessors[p];
        if (from == branch)
            return false;
        if (!set_has(between, (unsigned)from))
            continue;
        LLVMValueRef found = stored_in(kernel, slot, from);
        if (!found)
            return false;
        const struct slot *loaded = slots_loaded(kernel, found);
        if (value && (loaded != source || (!loaded && found != value)))
            return false;
        value = found;
        source = loaded;
    }
    if (source)
        return !stored_between(kernel, source, between);
    return value && LLVMIsConstant(value);
}

static bool spread_joins(struct shapes *shapes, int branch)
{
    const struct kernel *kernel = shapes->kernel;
    const struct block *block = &kernel->blocks[branch];
    struct set joins = joins_of(kernel, branch);
    struct set region = cfg_between(kernel, block->successors, 2,
                                      kernel->join_after[branch]);
    bool changed = false;
    for (unsigned i = 0; i < kernel->slot_count; i++) {
        const struct slot *slot = &kernel->slots[i];
        if (slot->kind != SLOT_SIMPLE || slot->store_count < 2)
            continue;
        // One load: a merged value, read where the paths meet.
        bool apart =
            slot->load_count == 1
                ? set_has(&joins, (unsigned)kernel_block_of(
                                      kernel, slot->loads[0])) &&
                      !bring_the_same(kernel, slot, branch, &region)
                : stored_between(kernel, slot, &region);
        changed |= apart && make_varying(shapes, i);
    }
    return changed;
}

static bool inside(const struct loop *loop, int block)
{
    return block != NONE && set_has(&loop->blocks, (unsigned)block);
}

static bool leaves_apart(const struct kernel *kernel, const struct loop *loop,
                         int branch)
{
    const struct block *block = &kernel->blocks[branch];
    bool ends[2];
    for (unsigned s = 0; s < 2; s++) {
        ends[s] = kernel->blocks[block->successors[s]].pure_return;
        if (!ends[s] && !inside(loop, block->successors[s]))
            return true;
    }
    // Threads that end leave no values behind.
    return ends[0] == ends[1] && !inside(loop, kernel->join_after[branch]);
}

// Values that leave a loop while lanes leave the loop one after another.
static bool spread_loop(struct shapes *shapes, int number)
{
    const struct kernel *kernel = shapes->kernel;
    const struct loop *loop = &kernel->loops[number];
    bool changed = false;
    for (unsigned i = 0; i < kernel->slot_count; i++) {
        const struct slot *slot = &kernel->slots[i];
        if (slot->kind != SLOT_SIMPLE ||
            !stored_between(kernel, slot, &loop->blocks))
            continue;
        for (unsigned l = 0; l < slot->load_count; l++)
            if (!inside(loop, kernel_block_of(kernel, slot->loads[l])))
                changed |= make_varying(shapes, i);
    }
    return changed;
}

static bool spread_branch(struct shapes *shapes, int branch)
{
    const struct kernel *kernel = shapes->kernel;
    const struct block *block = &kernel->blocks[branch];
    if (!block->condition || shapes->divergent[branch])
        return false;
    enum shape_kind kind = shape_of(shapes, block->condition).kind;
    if (kind == SHAPE_UNIFORM || kind == SHAPE_UNKNOWN)
        return false;
    shapes->divergent[branch] = true;
    spread_joins(shapes, branch);
    for (int l = block->loop; l != NONE; l = kernel->loops[l].parent)
        if (leaves_apart(kernel, &kernel->loops[l], branch)) {
            shapes->divergent_loop[l] = true;
            spread_loop(shapes, l);
        }
    return true;
}

// --- To a fixpoint -----------------------------------------------------------

// At once, so that later blocks need not wait for the next time around.
static bool spread_store(struct shapes *shapes, LLVMValueRef store)
{
    const struct kernel *kernel = shapes->kernel;
    const struct slot *slot = slots_simple(kernel, LLVMGetOperand(store, 1));
    if (!slot)
        return false;
    struct shape *shape = &shapes->slots[slot - kernel->slots];
    struct shape found = join(*shape, operand_shape(shapes, store, 0));
    if (slot->late && found.kind != SHAPE_UNKNOWN)
        found = guess(likely_stride(found));
    bool changed = !same(*shape, found);
    *shape = found;
    return changed;
}

static bool spread_block(struct shapes *shapes, const struct block *block)
{
    bool changed = false;
    for (LLVMValueRef at = LLVMGetFirstInstruction(block->ir); at;
         at = LLVMGetNextInstruction(at))
        if (LLVMIsAStoreInst(at))
            changed |= spread_store(shapes, at);
        else if (LLVMGetTypeKind(LLVMTypeOf(at)) != LLVMVoidTypeKind &&
                 !LLVMIsAAllocaInst(at))
            changed |= set_shape(shapes, at, instruction_shape(shapes, at));
    return changed;
}

static bool spread_once(struct shapes *shapes)
{
    const struct kernel *kernel = shapes->kernel;
    bool changed = false;
    for (unsigned i = 0; i < kernel->block_count; i++)
        changed |= spread_block(shapes, &kernel->blocks[i]);
    for (unsigned i = 0; i < kernel->block_count; i++)
        changed |= spread_branch(shapes, (int)i);
    return changed;
}

void shapes_find(struct shapes *shapes)
{
    const struct kernel *kernel = shapes->kernel;
    shapes->slots = simt_allocate(kernel->slot_count * sizeof(struct shape));
    shapes->divergent = simt_allocate(kernel->block_count);
    shapes->divergent_loop = simt_allocate(kernel->loop_count);
    for (unsigned i = 0; i < kernel->slot_count; i++)
        if (kernel->slots[i].store_count == 0)
            shapes->slots[i] = uniform;
    while (spread_once(shapes)) {
    }
}
