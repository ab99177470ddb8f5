// Ranges of 32-bit numbers in vectors: which numbers the lanes can hold, told
// from the instruction that makes them and the ranges of its operands. A range
// is of signed numbers. An operation that may wrap gives any number.
#include "simt/analysis/analysis.h"
#include "simt/ir/ir.h"

static const struct range any = {INT32_MIN, INT32_MAX};

bool range_is_within(struct range r, int64_t low, int64_t high)
{
    return r.low >= low && r.high <= high;
}

bool is_words(LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) != LLVMVectorTypeKind)
        return false;
    LLVMTypeRef element = LLVMGetElementType(type);
    return LLVMGetTypeKind(element) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(element) == 32;
}

static struct range no_wrap(int64_t low, int64_t high)
{
    struct range r = {low, high};
    return range_is_within(r, any.low, any.high) ? r : any;
}

static struct range united(struct range a, struct range b)
{
    return (struct range){a.low < b.low ? a.low : b.low,
                          a.high > b.high ? a.high : b.high};
}

static struct range single(LLVMValueRef constant)
{
    int64_t number = LLVMConstIntGetSExtValue(constant);
    return (struct range){number, number};
}

static struct range of_constant(LLVMValueRef vector)
{
    struct range r = any;
    unsigned width = LLVMGetVectorSize(LLVMTypeOf(vector));
    for (unsigned i = 0; i < width; i++) {
        LLVMValueRef lane = LLVMGetAggregateElement(vector, i);
        if (!lane || !LLVMIsAConstantInt(lane))
            return any;
        r = i == 0 ? single(lane) : united(r, single(lane));
    }
    return r;
}

// The range of a number that is made wider.
static struct range of_cast(LLVMValueRef cast)
{
    LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(cast, 0));
    if (LLVMGetTypeKind(from) == LLVMVectorTypeKind)
        from = LLVMGetElementType(from);
    unsigned bits = LLVMGetIntTypeWidth(from);
    if (LLVMIsAZExtInst(cast))
        return no_wrap(0, (INT64_C(1) << bits) - 1);
    int64_t half = INT64_C(1) << (bits - 1);
    return no_wrap(-half, half - 1);
}

LLVMValueRef range_splat(LLVMValueRef vector)
{
    if (!LLVMIsAShuffleVectorInst(vector))
        return NULL;
    LLVMValueRef insert = LLVMGetOperand(vector, 0);
    unsigned width = LLVMGetVectorSize(LLVMTypeOf(vector));
    for (unsigned i = 0; i < width; i++)
        if (LLVMGetMaskValue(vector, i) != 0)
            return NULL;
    if (!LLVMIsAInsertElementInst(insert) ||
        !LLVMIsAConstantInt(LLVMGetOperand(insert, 2)) ||
        LLVMConstIntGetZExtValue(LLVMGetOperand(insert, 2)) != 0)
        return NULL;
    return LLVMGetOperand(insert, 1);
}

struct range range_of(const struct map *known, LLVMValueRef vector)
{
    const struct range *found = map_get(known, vector);
    if (found)
        return *found;
    return LLVMIsConstant(vector) && is_words(LLVMTypeOf(vector))
               ? of_constant(vector)
               : any;
}

static struct range product(struct range a, struct range b)
{
    int64_t all[] = {a.low * b.low, a.low * b.high, a.high * b.low,
                     a.high * b.high};
    struct range r = {all[0], all[0]};
    for (unsigned i = 1; i < 4; i++)
        r = united(r, (struct range){all[i], all[i]});
    return no_wrap(r.low, r.high);
}

static struct range shifted(LLVMOpcode how, struct range a, struct range by)
{
    if (by.low != by.high || by.low < 0 || by.low > 31)
        return any;
    if (how == LLVMShl)
        return no_wrap(a.low * (INT64_C(1) << by.low),
                       a.high * (INT64_C(1) << by.low));
    if (how == LLVMLShr && a.low < 0)
        return any;
    return (struct range){a.low >> by.low, a.high >> by.low};
}

static struct range divided(LLVMOpcode how, struct range a, struct range by)
{
    if (by.low != by.high || by.low < 1 || (how == LLVMUDiv && a.low < 0))
        return any;
    return (struct range){a.low / by.low, a.high / by.low};
}

static struct range of_bits(LLVMOpcode how, struct range a, struct range b)
{
    if (how == LLVMAnd && (a.low >= 0 || b.low >= 0)) {
        int64_t high = a.low < 0 || (b.low >= 0 && b.high < a.high)
                           ? b.high
                           : a.high;
        return (struct range){0, high};
    }
    int64_t end = 1;
    struct range both = united(a, b);
    while (!range_is_within(both, -end, end - 1))
        end *= 2;
    return (struct range){both.low < 0 ? -end : 0, end - 1};
}

static struct range of_binary(LLVMOpcode how, struct range a, struct range b)
{
    switch (how) {
    case LLVMAdd:
        return no_wrap(a.low + b.low, a.high + b.high);
    case LLVMSub:
        return no_wrap(a.low - b.high, a.high - b.low);
    case LLVMMul:
        return product(a, b);
    case LLVMShl:
    case LLVMLShr:
    case LLVMAShr:
        return shifted(how, a, b);
    case LLVMUDiv:
    case LLVMSDiv:
        return divided(how, a, b);
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
        return of_bits(how, a, b);
    default:
        return any;
    }
}

static struct range absolute(struct range a)
{
    if (a.low >= 0)
        return a;
    int64_t high = -a.low > a.high ? -a.low : a.high;
    return no_wrap(a.high < 0 ? -a.high : 0, high);
}

static struct range limited(struct range a, struct range b, bool least)
{
    bool low = least == (a.low < b.low), high = least == (a.high < b.high);
    return (struct range){low ? a.low : b.low, high ? a.high : b.high};
}

static struct range of_call(LLVMValueRef call, struct range a, struct range b)
{
    bool positive = a.low >= 0 && b.low >= 0;
    if (is_intrinsic(call, "abs"))
        return absolute(a);
    if (is_intrinsic(call, "smin") || (positive && is_intrinsic(call, "umin")))
        return limited(a, b, true);
    if (is_intrinsic(call, "smax") || (positive && is_intrinsic(call, "umax")))
        return limited(a, b, false);
    if (positive && is_intrinsic(call, "usub.sat"))
        return (struct range){a.low > b.high ? a.low - b.high : 0,
                              a.high > b.low ? a.high - b.low : 0};
    return any;
}

struct range range_made(const struct map *known, LLVMValueRef at)
{
    LLVMValueRef number = range_splat(at);
    if (number)
        at = number;
    if (LLVMIsAZExtInst(at) || LLVMIsASExtInst(at))
        return of_cast(at);
    unsigned first = LLVMIsASelectInst(at) ? 1 : 0;
    if (number || LLVMGetNumOperands(at) < (int)first + 2)
        return any;
    struct range a = range_of(known, LLVMGetOperand(at, first));
    struct range b = range_of(known, LLVMGetOperand(at, first + 1));
    if (LLVMIsABinaryOperator(at))
        return of_binary(LLVMGetInstructionOpcode(at), a, b);
    if (LLVMIsASelectInst(at))
        return united(a, b);
    return LLVMIsACallInst(at) ? of_call(at, a, b) : any;
}
