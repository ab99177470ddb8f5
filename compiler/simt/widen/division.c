// Division, for which vectors of integers have no instruction: by doubles where
// these are exact, by products where the divisor is a constant, and otherwise
// lane by lane.
#include "simt/widen/widen.h"
#include "simt/widen/tuning.h"
#include "simt/ir/ir.h"

static bool is_signed(LLVMOpcode opcode)
{
    return opcode == LLVMSDiv || opcode == LLVMSRem;
}

static LLVMValueRef shift_right(struct emitter *e, LLVMValueRef vector,
                                unsigned bits)
{
    return LLVMBuildLShr(e->builder, vector, splat(e, number64(e, bits)), "");
}

// --- By doubles --------------------------------------------------------------

// Masked-off lanes divide by one.
static LLVMValueRef safe_divisor(struct emitter *e, LLVMValueRef divisor)
{
    LLVMValueRef vector = lanes_vector(e, divisor);
    if (!e->mask)
        return vector;
    LLVMValueRef one = splat(e, LLVMConstInt(LLVMTypeOf(divisor), 1, 0));
    LLVMValueRef safe =
        LLVMBuildSelect(e->builder, e->mask, vector, one, "");
    if (LLVMIsAInstruction(divisor))
        lanes_set(e, divisor, lanes_uniform(e, divisor)
                                  ? lanes_scalar(e, divisor) : NULL, safe);
    return safe;
}

// Quotients of numbers of up to 32 bits are exact in double precision.
static LLVMValueRef quotient_of_doubles(struct emitter *e, LLVMValueRef up,
                                        LLVMValueRef down, bool with_sign)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = LLVMTypeOf(up);
    LLVMTypeRef real = vector_type(e, LLVMDoubleTypeInContext(e->context));
    LLVMOpcode to = with_sign ? LLVMSIToFP : LLVMUIToFP;
    LLVMTypeRef wide = type;
    // Handles INT_MIN / -1, and unsigned operands.
    if (!with_sign || LLVMGetIntTypeWidth(LLVMGetElementType(type)) == 32)
        wide = vector_type(e, e->i64);
    LLVMValueRef quotient =
        LLVMBuildFDiv(b, LLVMBuildCast(b, to, up, real, ""),
                      LLVMBuildCast(b, to, down, real, ""), "");
    quotient = LLVMBuildFPToSI(b, quotient, wide, "");
    return LLVMBuildIntCast2(b, quotient, type, with_sign, "");
}

// --- By constants of 64 bits -------------------------------------------------

// The upper half of products of 64 bits, from those of halves.
static LLVMValueRef upper_product(struct emitter *e, LLVMValueRef a,
                                  uint64_t factor)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef half = splat(e, number64(e, UINT32_MAX));
    LLVMValueRef low = splat(e, number64(e, factor & UINT32_MAX));
    LLVMValueRef high = splat(e, number64(e, factor >> 32));
    LLVMValueRef a_low = LLVMBuildAnd(b, a, half, "");
    LLVMValueRef a_high = shift_right(e, a, 32);
    LLVMValueRef middle = LLVMBuildAdd(
        b, LLVMBuildMul(b, a_high, low, ""),
        shift_right(e, LLVMBuildMul(b, a_low, low, ""), 32), "");
    LLVMValueRef other = LLVMBuildAdd(
        b, LLVMBuildMul(b, a_low, high, ""),
        LLVMBuildAnd(b, middle, half, ""), "");
    LLVMValueRef carried = LLVMBuildAdd(b, shift_right(e, middle, 32),
                                        shift_right(e, other, 32), "");
    return LLVMBuildAdd(b, LLVMBuildMul(b, a_high, high, ""), carried, "");
}

// 2^64 * part / whole, rounded down, of part < whole.
static uint64_t fraction(uint64_t part, uint64_t whole)
{
    uint64_t result = 0;
    for (int i = 0; i < 64; i++) {
        bool carry = part >> 63;
        part <<= 1;
        bool reaches = carry || part >= whole;
        if (reaches)
            part -= whole;
        result = result << 1 | reaches;
    }
    return result;
}

// Granlund and Montgomery: the reciprocal of the divisor has 65 bits, of which
// the highest is the number itself.
static LLVMValueRef unsigned_by(struct emitter *e, LLVMValueRef up,
                                uint64_t divisor)
{
    LLVMBuilderRef b = e->builder;
    unsigned bits = 64 - (unsigned)__builtin_clzll(divisor - 1);
    uint64_t power = bits < 64 ? UINT64_C(1) << bits : 0;  // 2^64 wraps
    LLVMValueRef part =
        upper_product(e, up, fraction(power - divisor, divisor) + 1);
    LLVMValueRef rest = shift_right(e, LLVMBuildSub(b, up, part, ""), 1);
    return shift_right(e, LLVMBuildAdd(b, part, rest, ""), bits - 1);
}

static LLVMValueRef signed_by(struct emitter *e, LLVMValueRef up,
                              int64_t divisor)
{
    LLVMBuilderRef b = e->builder;
    uint64_t size = divisor < 0 ? -(uint64_t)divisor : (uint64_t)divisor;
    LLVMValueRef sign =
        LLVMBuildAShr(b, up, splat(e, number64(e, 63)), "");
    up = LLVMBuildSub(b, LLVMBuildXor(b, up, sign, ""), sign, "");
    LLVMValueRef quotient = unsigned_by(e, up, size);
    if (divisor < 0)
        sign = LLVMBuildNot(b, sign, "");
    return LLVMBuildSub(b, LLVMBuildXor(b, quotient, sign, ""), sign, "");
}

static LLVMValueRef quotient_by(struct emitter *e, LLVMValueRef up,
                                LLVMValueRef divisor, bool with_sign)
{
    return with_sign
               ? signed_by(e, up, LLVMConstIntGetSExtValue(divisor))
               : unsigned_by(e, up, LLVMConstIntGetZExtValue(divisor));
}

// The same by a function, which takes less time to compile.
static LLVMValueRef call_quotient_by(struct emitter *e, LLVMValueRef up,
                                     LLVMValueRef divisor, bool with_sign)
{
    char *name = simt_format("rnl_quotient_%c%llu_%u", with_sign ? 's' : 'u',
                             LLVMConstIntGetZExtValue(divisor), e->width);
    LLVMTypeRef vector = LLVMTypeOf(up);
    LLVMTypeRef type = LLVMFunctionType(vector, &vector, 1, 0);
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    if (!function) {
        struct emitter inside = emitter_outlined(e, name, type);
        function = inside.function;
        LLVMBuildRet(inside.builder,
                     quotient_by(&inside, LLVMGetParam(function, 0), divisor,
                                 with_sign));
        LLVMDisposeBuilder(inside.builder);
    }
    return LLVMBuildCall2(e->builder, type, function, &up, 1, "");
}

// Not a power of two, which LLVM makes shifts of, nor the negative of one.
static bool is_product(LLVMValueRef divisor)
{
    if (!LLVMIsAConstantInt(divisor) ||
        LLVMGetIntTypeWidth(LLVMTypeOf(divisor)) != 64)
        return false;
    uint64_t value = LLVMConstIntGetZExtValue(divisor);
    return (value & (value - 1)) != 0 && (-value & (-value - 1)) != 0;
}

// --- Lane by lane ------------------------------------------------------------

static LLVMValueRef each_lane(struct emitter *e, LLVMValueRef at,
                              LLVMOpcode opcode)
{
    LLVMTypeRef element = LLVMTypeOf(at), type = vector_type(e, element);
    LLVMValueRef operands[2];
    for (unsigned i = 0; i < 2; i++)
        operands[i] = lanes_spill(e, lanes_vector(e, LLVMGetOperand(at, i)));
    LLVMValueRef result = lanes_spill(e, LLVMConstNull(type));
    struct lane_loop loop = lane_loop_begin(e, e->mask);
    LLVMValueRef made = LLVMBuildBinOp(
        e->builder, opcode, lanes_pick(e, element, operands[0], loop.lane),
        lanes_pick(e, element, operands[1], loop.lane), "");
    lanes_put(e, made, result, loop.lane);
    lane_loop_end(e, &loop);
    return LLVMBuildLoad2(e->builder, type, result, "");
}

// --- All ---------------------------------------------------------------------

LLVMValueRef division_widen(struct emitter *e, LLVMValueRef at)
{
    LLVMBuilderRef b = e->builder;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(at);
    LLVMValueRef divisor = LLVMGetOperand(at, 1);
    LLVMValueRef up = lanes_vector(e, LLVMGetOperand(at, 0)), down, quotient;
    bool constant = LLVMIsConstant(divisor);
    if (constant && !is_product(divisor))
        return LLVMBuildBinOp(b, opcode, up, lanes_vector(e, divisor), "");
    if (constant) {
        down = lanes_vector(e, divisor);
        quotient = (e->quotient_count++ < DIVISIONS_INLINE_MOST
                        ? quotient_by : call_quotient_by)(
            e, up, divisor, is_signed(opcode));
    } else if (LLVMGetIntTypeWidth(LLVMTypeOf(at)) <= 32) {
        down = safe_divisor(e, divisor);
        quotient = quotient_of_doubles(e, up, down, is_signed(opcode));
    } else {
        return each_lane(e, at, opcode);
    }
    if (opcode == LLVMUDiv || opcode == LLVMSDiv)
        return quotient;
    return LLVMBuildSub(b, up, LLVMBuildMul(b, quotient, down, ""), "");
}
