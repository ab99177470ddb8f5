// Calls: the built-in variables, functions that vectors have, and others, for
// one lane after another.
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"
#include "simt/ir/ir.h"

#include <runnel/cpu_object.h>
#include <stddef.h>
#include <string.h>

// --- Intrinsics that take vectors --------------------------------------------

static void keep_fast_math(LLVMValueRef from, LLVMValueRef made)
{
    if (LLVMCanValueUseFastMathFlags(from) &&
        LLVMCanValueUseFastMathFlags(made))
        LLVMSetFastMathFlags(made, LLVMGetFastMathFlags(from));
}

static LLVMValueRef call_elementwise(struct emitter *e, LLVMValueRef at,
                                     const struct elementwise *how)
{
    LLVMValueRef arguments[4];
    unsigned count = LLVMGetNumArgOperands(at);
    for (unsigned i = 0; i < count; i++)
        arguments[i] = (int)i == how->immediate
                           ? LLVMGetOperand(at, i)
                           : lanes_vector(e, LLVMGetOperand(at, i));
    LLVMTypeRef result = vector_type(e, LLVMTypeOf(at));
    LLVMTypeRef overloads[] = {result, LLVMTypeOf(arguments[0])};
    unsigned overload_count = 1 + (how->overload == BY_RESULT_AND_FIRST ||
                                   how->overload == BY_RESULT_AND_SECOND);
    if (how->overload == BY_RESULT_AND_SECOND)
        overloads[1] = LLVMTypeOf(arguments[1]);
    if (how->overload == BY_FIRST)
        overloads[0] = overloads[1];
    LLVMValueRef made =
        call_intrinsic(e, simt_format("llvm.%s", how->name), overloads,
                       overload_count, arguments, count);
    keep_fast_math(at, made);
    return made;
}

// --- Parts of vectors --------------------------------------------------------

// Elements of a vector; a vector that is too short repeats its elements.
static LLVMValueRef part_of(struct emitter *e, LLVMValueRef vector,
                            unsigned first, unsigned count)
{
    LLVMValueRef lanes[64];
    unsigned size = LLVMGetVectorSize(LLVMTypeOf(vector));
    for (unsigned i = 0; i < count; i++)
        lanes[i] = number32(e, (first + i) % size);
    return LLVMBuildShuffleVector(e->builder, vector,
                                  LLVMGetPoison(LLVMTypeOf(vector)),
                                  LLVMConstVector(lanes, count), "");
}

// Puts parts of equal sizes in a row; their number is a power of two.
static LLVMValueRef concatenate(struct emitter *e, LLVMValueRef *parts,
                                unsigned count)
{
    if (count == 1)
        return parts[0];
    LLVMValueRef one = concatenate(e, parts, count / 2);
    LLVMValueRef other = concatenate(e, parts + count / 2, count / 2);
    unsigned size = 2 * LLVMGetVectorSize(LLVMTypeOf(one));
    LLVMValueRef lanes[64];
    for (unsigned i = 0; i < size; i++)
        lanes[i] = number32(e, i);
    return LLVMBuildShuffleVector(e->builder, one, other,
                                  LLVMConstVector(lanes, size), "");
}

// --- Estimates ---------------------------------------------------------------

static LLVMValueRef estimate(struct emitter *e, LLVMValueRef whole)
{
    LLVMValueRef parts[4];
    LLVMTypeRef type =
        LLVMVectorType(LLVMGetElementType(LLVMTypeOf(whole)), 16);
    LLVMTypeRef mask = LLVMInt16TypeInContext(e->context);
    unsigned count = e->width > 16 ? e->width / 16 : 1;
    for (unsigned p = 0; p < count; p++) {
        LLVMValueRef arguments[] = {part_of(e, whole, p * 16, 16),
                                    LLVMConstNull(type),
                                    LLVMConstAllOnes(mask)};
        parts[p] = call_intrinsic(e, "llvm.x86.avx512.rsqrt14.ps.512", NULL, 0,
                                  arguments, 3);
    }
    return part_of(e, concatenate(e, parts, count), 0, e->width);
}

static LLVMValueRef fused(struct emitter *e, LLVMValueRef x, LLVMValueRef y,
                          LLVMValueRef z)
{
    LLVMTypeRef type = LLVMTypeOf(x);
    return call_intrinsic(e, "llvm.fma", &type, 1,
                          (LLVMValueRef[]){x, y, z}, 3);
}

// One Newton step. If the step multiplies zero by infinity, the estimate is
// already right. The multipliers are the bottleneck, not the adders: halving is
// a subtraction from the exponent.
static LLVMValueRef call_estimate(struct emitter *e, LLVMValueRef at)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef x = lanes_vector(e, LLVMGetOperand(at, 0));
    LLVMValueRef near = estimate(e, x);
    LLVMTypeRef type = LLVMTypeOf(x), whole = vector_type(e, e->i32);
    LLVMValueRef one = splat(e, LLVMConstReal(LLVMTypeOf(at), 1));
    LLVMValueRef less = LLVMBuildFNeg(b, LLVMBuildFMul(b, x, near, ""), "");
    LLVMValueRef rest = fused(e, less, near, one);
    LLVMValueRef half = LLVMBuildSub(
        b, LLVMBuildBitCast(b, near, whole, ""),
        splat(e, number32(e, 1 << 23)), "");
    LLVMValueRef better =
        fused(e, LLVMBuildBitCast(b, half, type, ""), rest, near);
    return LLVMBuildSelect(b, LLVMBuildFCmp(b, LLVMRealORD, rest, rest, ""),
                           better, near, "");
}

// For one number the exact root takes no longer.
static LLVMValueRef call_root(struct emitter *e, LLVMValueRef at)
{
    LLVMTypeRef type = LLVMTypeOf(at);
    LLVMValueRef x = lanes_scalar(e, LLVMGetOperand(at, 0));
    LLVMValueRef root = call_intrinsic(e, "llvm.sqrt", &type, 1, &x, 1);
    return LLVMBuildFDiv(e->builder, LLVMConstReal(type, 1), root, "");
}

// --- The vector library ------------------------------------------------------

// Which --use_fast_math allows functions of floats to be.
static bool is_approximate(LLVMValueRef call)
{
    return LLVMCanValueUseFastMathFlags(call) &&
           (LLVMGetFastMathFlags(call) & LLVMFastMathApproxFunc);
}

static LLVMValueRef library_symbol(struct emitter *e, const char *stem,
                                   unsigned arity, LLVMTypeRef vector)
{
    bool single =
        LLVMGetTypeKind(LLVMGetElementType(vector)) == LLVMFloatTypeKind;
    unsigned size = LLVMGetVectorSize(vector), bytes = size * (single ? 4 : 8);
    char *name = simt_format(
        "_ZGV%cN%u%s_%s%s", bytes == 64 ? 'e' : bytes == 32 ? 'd' : 'b', size,
        arity == 2 ? "vv" : "v", stem, single ? "f" : "");
    LLVMTypeRef types[] = {vector, vector};
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    return function ? function
                    : LLVMAddFunction(e->module, name,
                                      LLVMFunctionType(vector, types, arity,
                                                       0));
}

// Part by part, of so many bytes.
static LLVMValueRef call_parts(struct emitter *e, const char *stem,
                               unsigned arity, unsigned bytes,
                               const LLVMValueRef *whole)
{
    LLVMTypeRef element = LLVMGetElementType(LLVMTypeOf(whole[0]));
    bool single = LLVMGetTypeKind(element) == LLVMFloatTypeKind;
    unsigned size = bytes / (single ? 4 : 8);
    size = size < e->width ? size : e->width;
    LLVMValueRef function = library_symbol(e, stem, arity,
                                           LLVMVectorType(element, size));
    LLVMValueRef parts[16];
    for (unsigned p = 0; p < e->width / size; p++) {
        LLVMValueRef arguments[2];
        for (unsigned a = 0; a < arity; a++)
            arguments[a] = part_of(e, whole[a], p * size, size);
        parts[p] = LLVMBuildCall2(e->builder,
                                  LLVMGlobalGetValueType(function), function,
                                  arguments, arity, "");
    }
    return concatenate(e, parts, e->width / size);
}

static LLVMValueRef call_library(struct emitter *e, LLVMValueRef at,
                                 const struct library_function *found)
{
    bool exact_float =
        LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMFloatTypeKind &&
        !is_approximate(at);
    bool through_double = exact_float && found->rough & ROUGH_FLOAT;
    unsigned bytes = target_vector_bytes();  // what the processor takes at once
    if (bytes == 64 && exact_float && found->rough & ROUGH_WIDE)
        bytes = 32;
    LLVMTypeRef twice = LLVMVectorType(
        LLVMDoubleTypeInContext(e->context), e->width);
    LLVMValueRef whole[2] = {0};
    for (unsigned a = 0; a < found->arity; a++) {
        whole[a] = lanes_vector(e, LLVMGetOperand(at, a));
        if (through_double)
            whole[a] = LLVMBuildFPExt(e->builder, whole[a], twice, "");
    }
    LLVMValueRef made =
        call_parts(e, found->name, found->arity, bytes, whole);
    return through_double ? LLVMBuildFPTrunc(e->builder, made,
                                             vector_type(e, LLVMTypeOf(at)),
                                             "")
                          : made;
}

// --- Any function, lane by lane ----------------------------------------------

// Functions of the kernel may ask which thread they run for.
static void store_thread_index(struct emitter *e, LLVMValueRef lane)
{
    LLVMValueRef state = LLVMGetNamedGlobal(e->module, "rnl_state");
    LLVMValueRef index[3];
    LLVMBuilderRef b = e->builder;
    if (!state)
        return;
    if (e->variant->rows) {
        for (unsigned i = 0; i < 3; i++)
            index[i] = e->thread[i];
        LLVMValueRef *own = &index[lanes_axis(e->variant)];
        if (e->variant->along != LANES_BLOCKS)
            *own = LLVMBuildAdd(b, *own, lane, "");
    } else {
        LLVMValueRef number = LLVMBuildAdd(b, e->first, lane, "");
        LLVMValueRef row = LLVMBuildUDiv(b, number, e->block_size[0], "");
        index[0] = LLVMBuildURem(b, number, e->block_size[0], "");
        index[1] = LLVMBuildURem(b, row, e->block_size[1], "");
        index[2] = LLVMBuildUDiv(b, row, e->block_size[1], "");
    }
    LLVMValueRef address = shared_address(e, state);
    for (unsigned i = 0; i < 3; i++)
        LLVMBuildStore(b, index[i], at_offset(e, address, 4 * i));
}

static void call_per_lane(struct emitter *e, LLVMValueRef at)
{
    unsigned count = LLVMGetNumArgOperands(at);
    LLVMValueRef *spilled = simt_allocate((count + 1) * sizeof *spilled);
    LLVMTypeRef type = LLVMTypeOf(at);
    bool result = LLVMGetTypeKind(type) != LLVMVoidTypeKind;
    LLVMValueRef function = LLVMGetCalledValue(at);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(at, i);
        if (!lanes_uniform(e, operand))
            spilled[i] = lanes_spill(e, lanes_vector(e, operand));
        else
            lanes_scalar(e, operand);
    }
    LLVMTypeRef stored = type == e->i1 ? e->i8 : type;
    LLVMValueRef results = NULL;
    if (result)
        results = lanes_spill(e, LLVMConstNull(vector_type(e, stored)));
    struct lane_loop loop = lane_loop_begin(e, e->mask);
    if (!LLVMIsDeclaration(function))
        store_thread_index(e, loop.lane);
    LLVMValueRef made = LLVMInstructionClone(at);
    for (unsigned i = 0; i < count; i++) {
        LLVMValueRef operand = LLVMGetOperand(at, i);
        LLVMSetOperand(made, i,
                       spilled[i] ? lanes_pick(e, LLVMTypeOf(operand),
                                               spilled[i], loop.lane)
                                  : lanes_scalar(e, operand));
    }
    LLVMInsertIntoBuilder(e->builder, made);
    if (result) {
        if (type == e->i1)
            made = LLVMBuildZExt(e->builder, made, e->i8, "");
        lanes_put(e, made, results, loop.lane);
    }
    lane_loop_end(e, &loop);
    if (!result)
        return;
    LLVMValueRef vector =
        LLVMBuildLoad2(e->builder, vector_type(e, stored), results, "");
    if (type == e->i1)
        vector = LLVMBuildTrunc(e->builder, vector, e->mask_type, "");
    lanes_set(e, at, NULL, vector);
}

// --- Dispatch ----------------------------------------------------------------

static void emit_index(struct emitter *e, LLVMValueRef at,
                       enum primitive primitive, int axis)
{
    bool wide = primitive == PRIMITIVE_THREAD && !e->variant->rows;
    LLVMValueRef *from = primitive == PRIMITIVE_THREAD  ? e->thread
                         : primitive == PRIMITIVE_BLOCK ? e->block_index
                         : primitive == PRIMITIVE_BLOCK_SIZE ? e->block_size
                                                             : e->grid_size;
    lanes_set(e, at, wide ? NULL : from[axis], wide ? from[axis] : NULL);
}

// Fields of rnl_cpu_block that describe the block's cluster.
static void emit_cluster(struct emitter *e, LLVMValueRef at,
                         enum primitive primitive, int axis)
{
    size_t offset = primitive == PRIMITIVE_CLUSTER_MEMORY
                        ? offsetof(rnl_cpu_block, cluster_memory)
                        : offsetof(rnl_cpu_block, cluster_stride);
    lanes_set(e, at,
              primitive == PRIMITIVE_CLUSTER_SIZE
                  ? run_field(e, offsetof(rnl_cpu_block, cluster),
                              (unsigned)axis)
                  : LLVMBuildLoad2(e->builder, e->i64,
                                   at_offset(e, e->run, offset), ""),
              NULL);
}

static void emit_function(struct emitter *e, LLVMValueRef at)
{
    const struct elementwise *how = find_elementwise(at);
    const struct library_function *found = usable_library(at);
    enum shape_kind shape = shape_of(&e->shapes, at).kind;
    bool alike = LLVMGetTypeKind(LLVMTypeOf(at)) != LLVMVoidTypeKind &&
                 shape <= SHAPE_UNIFORM;
    if (alike && is_rsqrt_estimate(at))
        lanes_set(e, at, call_root(e, at), NULL);
    else if (alike)
        lanes_set(e, at, instruction_clone(e, at), NULL);
    else if (kept_function_of(at))
        lanes_set(e, at, NULL, kept_call_widen(e, at));
    else if (how)
        lanes_set(e, at, NULL, call_elementwise(e, at, how));
    else if (is_rsqrt_estimate(at))
        lanes_set(e, at, NULL, call_estimate(e, at));
    else if (is_cold_call(at))
        lanes_set(e, at, NULL, cold_call_widen(e, at));
    else if (found)
        lanes_set(e, at, NULL, call_library(e, at, found));
    else
        call_per_lane(e, at);
}

void call_emit(struct emitter *e, LLVMValueRef at)
{
    int axis = 0;
    enum primitive primitive = primitive_of(at, &axis);
    switch (primitive) {
    case PRIMITIVE_THREAD: case PRIMITIVE_BLOCK:
    case PRIMITIVE_BLOCK_SIZE: case PRIMITIVE_GRID_SIZE:
        emit_index(e, at, primitive, axis);
        return;
    case PRIMITIVE_CLUSTER_SIZE: case PRIMITIVE_CLUSTER_MEMORY:
    case PRIMITIVE_CLUSTER_STRIDE:
        emit_cluster(e, at, primitive, axis);
        return;
    case PRIMITIVE_TLS:
        lanes_set(e, at, shared_address(e, LLVMGetOperand(at, 0)), NULL);
        return;
    case PRIMITIVE_WARP:
        warp_emit(e, at);
        return;
    case PRIMITIVE_SPIN: case PRIMITIVE_YIELD: case PRIMITIVE_SYNC:
        return;
    default:
        break;
    }
    if (is_intrinsic(at, "prefetch"))
        prefetch_emit(e, at);
    else if (!is_ignored_call(at))
        emit_function(e, at);
}
