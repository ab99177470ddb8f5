// Accesses of the first lanes alone: once loops over gangs are unrolled, many
// masks are known. `if (t < 4)` then reads and writes vectors of four lanes,
// which later loads may be taken from: the steps of a tree in shared memory
// stay in registers.
#include "simt/transform/transform.h"
#include "simt/ir/ir.h"

// --- Lanes -------------------------------------------------------------------

static bool is_vector(LLVMValueRef value)
{
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
}

static unsigned lane_count(LLVMValueRef vector)
{
    return LLVMGetVectorSize(LLVMTypeOf(vector));
}

// The number of lanes of a mask that holds just the first lanes, a power of
// two; otherwise 0.
static unsigned first_lanes(LLVMValueRef mask)
{
    unsigned count = 0, width = lane_count(mask);
    bool ended = false;
    if (!LLVMIsConstant(mask) || LLVMIsNull(mask))
        return 0;
    for (unsigned i = 0; i < width; i++) {
        LLVMValueRef lane = LLVMGetAggregateElement(mask, i);
        if (!lane || !LLVMIsAConstantInt(lane))
            return 0;
        bool set = LLVMConstIntGetZExtValue(lane) != 0;
        if (set && ended)
            return 0;
        ended |= !set;
        count += set;
    }
    return count < width && (count & (count - 1)) == 0 ? count : 0;
}

// A mask for LLVMBuildShuffleVector: `count` lanes from `first` on, then `fill`
// up to `width`.
static LLVMValueRef lanes_from(LLVMContextRef context, unsigned first,
                               unsigned count, unsigned fill, unsigned width)
{
    LLVMTypeRef type = LLVMInt32TypeInContext(context);
    LLVMValueRef *lanes = simt_allocate(width * sizeof *lanes);
    for (unsigned i = 0; i < width; i++)
        lanes[i] = LLVMConstInt(type, i < count ? first + i : fill, 0);
    return LLVMConstVector(lanes, width);
}

static LLVMTypeRef type_of_lanes(LLVMValueRef vector, unsigned count)
{
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(vector));
    return count == 1 ? element : LLVMVectorType(element, count);
}

static LLVMValueRef take_lanes(LLVMBuilderRef b, LLVMValueRef vector,
                               unsigned first, unsigned count)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(vector));
    if (count == 1)
        return LLVMBuildExtractElement(
            b, vector,
            LLVMConstInt(LLVMInt32TypeInContext(context), first, 0), "");
    return LLVMBuildShuffleVector(
        b, vector, LLVMGetPoison(LLVMTypeOf(vector)),
        lanes_from(context, first, count, 0, count), "");
}

// --- Masks that are known ----------------------------------------------------

// The loaded value if the first lanes come from a load; otherwise NULL.
static LLVMValueRef loaded_lanes(LLVMValueRef vector, unsigned count)
{
    LLVMValueRef from = NULL;
    if (LLVMIsAShuffleVectorInst(vector))
        from = LLVMGetOperand(vector, 0);
    else if (LLVMIsAInsertElementInst(vector) && count == 1)
        from = LLVMGetOperand(vector, 1);
    if (!from || LLVMTypeOf(from) != type_of_lanes(vector, count))
        return NULL;
    for (unsigned i = 0; i < count && LLVMIsAShuffleVectorInst(vector); i++)
        if (LLVMGetMaskValue(vector, i) != (int)i)
            return NULL;
    return from;
}

// Where the whole load stands, as memory may change later.
static LLVMValueRef load_less(LLVMValueRef load, unsigned count)
{
    LLVMBuilderRef there =
        LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(load)));
    LLVMPositionBuilderBefore(there, load);
    LLVMValueRef less = LLVMBuildLoad2(there, type_of_lanes(load, count),
                                       LLVMGetOperand(load, 0), "");
    LLVMSetAlignment(less, LLVMGetAlignment(load));
    alias_copy(load, less);
    LLVMDisposeBuilder(there);
    return less;
}

// The first lanes of a vector, by arithmetic of that width where that was made
// for them alone.
static LLVMValueRef narrow(LLVMBuilderRef b, LLVMValueRef vector,
                           unsigned count)
{
    LLVMValueRef loaded = loaded_lanes(vector, count);
    if (loaded)
        return loaded;
    if (LLVMIsASelectInst(vector) && has_one_use(vector) &&
        is_vector(LLVMGetOperand(vector, 0)) &&
        first_lanes(LLVMGetOperand(vector, 0)) == count)
        return narrow(b, LLVMGetOperand(vector, 1), count);
    if (LLVMIsALoadInst(vector) && is_plain_access(vector) &&
        has_one_use(vector))
        return load_less(vector, count);
    if (!LLVMIsABinaryOperator(vector) || !has_one_use(vector))
        return take_lanes(b, vector, 0, count);
    LLVMValueRef left = narrow(b, LLVMGetOperand(vector, 0), count);
    LLVMValueRef right = narrow(b, LLVMGetOperand(vector, 1), count);
    LLVMValueRef made =
        LLVMBuildBinOp(b, LLVMGetInstructionOpcode(vector), left, right, "");
    if (LLVMCanValueUseFastMathFlags(vector) && LLVMIsAInstruction(made))
        LLVMSetFastMathFlags(made, LLVMGetFastMathFlags(vector));
    return made;
}

static void narrow_store(LLVMBuilderRef b, LLVMValueRef call)
{
    unsigned count = first_lanes(LLVMGetOperand(call, 3));
    if (count == 0)
        return;
    LLVMPositionBuilderBefore(b, call);
    LLVMValueRef store = LLVMBuildStore(
        b, narrow(b, LLVMGetOperand(call, 0), count), LLVMGetOperand(call, 1));
    LLVMSetAlignment(store, (unsigned)LLVMConstIntGetZExtValue(
                                LLVMGetOperand(call, 2)));
    alias_copy(call, store);
    LLVMInstructionEraseFromParent(call);
}

static void narrow_load(LLVMBuilderRef b, LLVMValueRef call)
{
    unsigned count = first_lanes(LLVMGetOperand(call, 2));
    LLVMValueRef others = LLVMGetOperand(call, 3);
    unsigned width = lane_count(call);
    if (count == 0 || !(LLVMIsUndef(others) || LLVMIsNull(others)))
        return;
    LLVMPositionBuilderBefore(b, call);
    LLVMValueRef load = LLVMBuildLoad2(b, type_of_lanes(call, count),
                                       LLVMGetOperand(call, 0), "");
    LLVMSetAlignment(load, (unsigned)LLVMConstIntGetZExtValue(
                               LLVMGetOperand(call, 1)));
    alias_copy(call, load);
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(call));
    LLVMValueRef wide =
        count == 1
            ? LLVMBuildInsertElement(
                  b, others, load,
                  LLVMConstInt(LLVMInt32TypeInContext(context), 0, 0), "")
            : LLVMBuildShuffleVector(
                  b, load,
                  LLVMIsNull(others) ? LLVMConstNull(LLVMTypeOf(load))
                                     : LLVMGetPoison(LLVMTypeOf(load)),
                  lanes_from(context, 0, count, count, width), "");
    LLVMReplaceAllUsesWith(call, wide);
    LLVMInstructionEraseFromParent(call);
}

static void narrow_access(LLVMBuilderRef b, LLVMValueRef at)
{
    if (!LLVMIsACallInst(at))
        return;
    if (is_intrinsic(at, "masked.store"))
        narrow_store(b, at);
    else if (is_intrinsic(at, "masked.load"))
        narrow_load(b, at);
}

// --- Vectors taken apart as numbers ------------------------------------------

// Where a number is some bits of a vector: which, and from which bit on.
static LLVMValueRef vector_of_bits(LLVMValueRef number, uint64_t *shift)
{
    *shift = 0;
    if (!LLVMIsATruncInst(number))
        return NULL;
    LLVMValueRef whole = LLVMGetOperand(number, 0);
    if (LLVMIsABinaryOperator(whole) &&
        LLVMGetInstructionOpcode(whole) == LLVMLShr &&
        LLVMIsAConstantInt(LLVMGetOperand(whole, 1))) {
        *shift = LLVMConstIntGetZExtValue(LLVMGetOperand(whole, 1));
        whole = LLVMGetOperand(whole, 0);
    }
    if (!LLVMIsABitCastInst(whole) || !is_vector(LLVMGetOperand(whole, 0)))
        return NULL;
    return LLVMGetOperand(whole, 0);
}

// The optimiser takes lanes of a stored vector as bits of a number of hundreds
// of bits, which no processor computes with.
static void take_as_lanes(LLVMBuilderRef b, LLVMTargetDataRef layout,
                          LLVMValueRef at)
{
    uint64_t shift;
    if (!LLVMIsABitCastInst(at))
        return;
    LLVMValueRef vector = vector_of_bits(LLVMGetOperand(at, 0), &shift);
    LLVMTypeRef element = is_vector(at) ? LLVMGetElementType(LLVMTypeOf(at))
                                        : LLVMTypeOf(at);
    uint64_t bits = LLVMSizeOfTypeInBits(layout, element);
    if (!vector || shift % bits != 0 ||
        LLVMGetTypeKind(element) == LLVMPointerTypeKind)
        return;
    uint64_t width = LLVMSizeOfTypeInBits(layout, LLVMTypeOf(vector)) / bits;
    LLVMPositionBuilderBefore(b, at);
    LLVMTypeRef type = LLVMVectorType(element, (unsigned)width);
    LLVMValueRef taken = take_lanes(b, LLVMBuildBitCast(b, vector, type, ""),
                                    (unsigned)(shift / bits),
                                    is_vector(at) ? lane_count(at) : 1);
    if (LLVMTypeOf(taken) != LLVMTypeOf(at))
        taken = LLVMBuildBitCast(b, taken, LLVMTypeOf(at), "");
    LLVMReplaceAllUsesWith(at, taken);
}

// --- All ---------------------------------------------------------------------

static void each_instruction(LLVMModuleRef module, bool accesses)
{
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef at = first_instruction(module), next; at; at = next) {
        next = next_instruction(at);
        if (accesses)
            narrow_access(b, at);
        else
            take_as_lanes(b, layout, at);
    }
    LLVMDisposeBuilder(b);
}

void narrow_accesses(LLVMModuleRef module)
{
    each_instruction(module, true);
}

void narrow_numbers(LLVMModuleRef module)
{
    each_instruction(module, false);
}
