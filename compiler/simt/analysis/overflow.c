// Where 32-bit numbers may wrap between the lanes of a gang, so that the
// widened numbers would not keep their stride. Lane 0, the base of all lanes,
// may be inactive.
#include "simt/analysis/analysis.h"
#include "simt/analysis/tuning.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

enum { BLOCK_MOST = 1024 };  // threads of a block

// --- Unsigned ----------------------------------------------------------------

// Made of indices and sizes by adding, and by multiplying with what does not
// lead 268 million threads beyond 32 bits.
static bool never_wraps(const struct shapes *shapes, LLVMValueRef value,
                        int depth, int64_t factor);

static bool both_never_wrap(const struct shapes *shapes, LLVMValueRef value,
                            int depth, int64_t factor)
{
    return never_wraps(shapes, LLVMGetOperand(value, 0), depth + 1, factor) &&
           never_wraps(shapes, LLVMGetOperand(value, 1), depth + 1, factor);
}

static bool is_block_index(const struct shapes *shapes, LLVMValueRef value)
{
    int axis;
    value = slots_resolve(shapes->kernel, value);
    return primitive_of(value, &axis) == PRIMITIVE_BLOCK;
}

// A block's index times a constant is taken for that times the block's size.
static bool product_never_wraps(const struct shapes *shapes,
                                LLVMValueRef value, int depth, int64_t factor)
{
    struct linear_form form;
    if (!linear_form_of(shapes->kernel->layout, value, &form))
        return LLVMGetInstructionOpcode(value) == LLVMMul &&
               both_never_wrap(shapes, value, depth, factor);
    const struct linear_term *term = &form.terms[0];
    if (term->times <= 0 || term->times > BLOCK_MOST)
        return false;
    return is_block_index(shapes, term->value) ||
           (factor * term->times <= FACTOR_MOST &&
            never_wraps(shapes, term->value, depth + 1, factor * term->times));
}

static bool never_wraps(const struct shapes *shapes, LLVMValueRef value,
                        int depth, int64_t factor)
{
    int64_t number;
    int axis;
    if (constant_of(value, &number))
        return number >= 0 && number <= OFFSET_MOST;
    if (depth > 12 || !LLVMIsAInstruction(value))
        return false;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMMul: case LLVMShl:
        return product_never_wraps(shapes, value, depth, factor);
    case LLVMAdd: case LLVMOr: case LLVMAnd:
        return both_never_wrap(shapes, value, depth, factor);
    case LLVMFreeze:
        return never_wraps(shapes, LLVMGetOperand(value, 0), depth + 1,
                           factor);
    case LLVMCall:
        switch (primitive_of(value, &axis)) {
        case PRIMITIVE_THREAD: case PRIMITIVE_BLOCK:
        case PRIMITIVE_BLOCK_SIZE: case PRIMITIVE_GRID_SIZE:
            return true;
        default:
            return false;
        }
    case LLVMLoad: {
        const struct slot *slot = slots_loaded(shapes->kernel, value);
        if (!slot || depth > 8)
            return false;
        for (unsigned i = 0; i < slot->store_count; i++)
            if (!never_wraps(shapes, LLVMGetOperand(slot->stores[i], 0),
                             slot->store_count > 1 ? depth + 4 : depth + 1,
                             factor))
                return false;
        return slot->store_count > 0;
    }
    default:
        return false;
    }
}

bool shape_never_wraps(const struct shapes *shapes, LLVMValueRef value)
{
    return never_wraps(shapes, value, 0, 1);
}

// --- Signed ------------------------------------------------------------------

static bool is_small(LLVMValueRef value)
{
    int64_t number;
    return constant_of(value, &number) && number >= -OFFSET_MOST &&
           number <= OFFSET_MOST;
}

// True if a widened number is used in addresses only. A wrapped number is no
// index, so the place of its wrap is irrelevant; a large addend could make it
// an index again.
static bool is_index_only(const struct shapes *shapes, LLVMValueRef value,
                          int depth)
{
    if (depth > 5)
        return false;
    for (LLVMUseRef use = LLVMGetFirstUse(value); use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        const struct slot *slot = NULL;
        switch (LLVMGetInstructionOpcode(user)) {
        case LLVMGetElementPtr:
            break;
        case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMOr:
            if (!is_small(LLVMGetOperand(user, 1)) ||
                !is_index_only(shapes, user, depth + 1))
                return false;
            break;
        case LLVMStore:
            slot = slots_simple(shapes->kernel, LLVMGetOperand(user, 1));
            if (!slot)
                return false;
            for (unsigned i = 0; i < slot->load_count; i++)
                if (!is_index_only(shapes, slot->loads[i], depth + 1))
                    return false;
            break;
        default:
            return false;
        }
    }
    return true;
}

static bool is_uniform(const struct shapes *shapes, LLVMValueRef value)
{
    return shape_of(shapes, value).kind == SHAPE_UNIFORM;
}

// Whether a number stays within 31 bits up to the last lane for which a thread
// computes it.
static bool stays_signed(const struct shapes *shapes, LLVMValueRef value,
                         int depth);

// True if lane 0's sum or product is in range whenever another lane's is: lane
// 0 begins with a number in range, and the lanes lead away from it.
static bool begins_in_range(const struct shapes *shapes, LLVMValueRef value,
                            int depth)
{
    LLVMValueRef a = LLVMGetOperand(value, 0), b = LLVMGetOperand(value, 1);
    int64_t number;
    if ((is_uniform(shapes, a) && shape_never_wraps(shapes, b)) ||
        (is_uniform(shapes, b) && shape_never_wraps(shapes, a)))
        return true;
    return LLVMGetInstructionOpcode(value) == LLVMAdd &&
           constant_of(b, &number) &&
           (number > 0) == (shape_of(shapes, a).stride > 0) &&
           stays_signed(shapes, a, depth + 1);
}

static bool stays_signed(const struct shapes *shapes, LLVMValueRef value,
                         int depth)
{
    if (is_uniform(shapes, value) || shape_never_wraps(shapes, value))
        return true;
    value = slots_resolve(shapes->kernel, value);
    if (depth > 6 || !LLVMIsABinaryOperator(value))
        return false;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMAdd:
        if (is_small(LLVMGetOperand(value, 1)) &&
            shape_never_wraps(shapes, LLVMGetOperand(value, 0)))
            return true;
        break;
    case LLVMSub: case LLVMMul:
        break;
    default:
        return false;
    }
    return LLVMGetNSW(value) && begins_in_range(shapes, value, depth);
}

// True if a thread uses the widened number as an index without a test between:
// the number is then in range, whatever later code adds to it.
static bool is_index_at_once(const struct shapes *shapes, LLVMValueRef cast)
{
    const struct kernel *kernel = shapes->kernel;
    LLVMValueRef at = cast;
    while ((at = LLVMGetNextInstruction(at))) {
        LLVMOpcode opcode = LLVMGetInstructionOpcode(at);
        if (opcode != LLVMLoad && opcode != LLVMStore)
            continue;
        LLVMValueRef address = LLVMGetOperand(at, opcode == LLVMStore);
        if (!LLVMIsAGetElementPtrInst(address) ||
            LLVMGetInstructionParent(address) != LLVMGetInstructionParent(at))
            continue;
        if (LLVMGetNumOperands(address) == 2 &&
            slots_resolve(kernel, LLVMGetOperand(address, 1)) == cast)
            return true;
    }
    return false;
}

bool shape_widens_signed(const struct shapes *shapes, LLVMValueRef cast)
{
    // With a negative stride, lane 0's number may have wrapped while lane 0 is
    // masked off.
    struct shape shape = shape_of(shapes, LLVMGetOperand(cast, 0));
    bool falls = shape.kind == SHAPE_AFFINE && shape.stride < 0;
    return (!falls && (is_index_only(shapes, cast, 0) ||
                       is_index_at_once(shapes, cast))) ||
           stays_signed(shapes, LLVMGetOperand(cast, 0), 0);
}
