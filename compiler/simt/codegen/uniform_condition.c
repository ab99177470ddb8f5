// Whether all lanes of a gang agree on a condition, asked of a few numbers
// where vectors would have to be made and compared.
#include "simt/codegen/codegen.h"
#include "simt/codegen/tuning.h"
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"

// True for an integer with a constant positive stride between lanes, of a type
// wide enough that a gang's lanes do not wrap it often.
static bool grows(const struct emitter *e, LLVMValueRef value)
{
    struct shape shape = shape_of(&e->shapes, value);
    return shape.kind == SHAPE_AFFINE && shape.stride > 0 &&
           shape.stride <= 1 << 20 &&
           LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(LLVMTypeOf(value)) >= 32;
}

static LLVMValueRef span_of(struct emitter *e, LLVMValueRef value)
{
    struct shape shape = shape_of(&e->shapes, value);
    return LLVMConstInt(LLVMTypeOf(value),
                        (uint64_t)shape.stride * (e->width - 1), 0);
}

// Lane 0 and the last one tell about all the others where nothing wraps between
// them.
static struct uniform_test compare_ends(struct emitter *e, LLVMIntPredicate how,
                                  LLVMValueRef left, LLVMValueRef right)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef first = lanes_scalar(e, left), limit = lanes_scalar(e, right);
    LLVMValueRef last = LLVMBuildAdd(b, first, span_of(e, left), "");
    LLVMValueRef rises = LLVMBuildICmp(
        b, how >= LLVMIntSGT ? LLVMIntSLE : LLVMIntULE, first, last, "");
    LLVMValueRef one = LLVMBuildICmp(b, how, first, limit, "");
    LLVMValueRef other = LLVMBuildICmp(b, how, last, limit, "");
    LLVMValueRef either = LLVMBuildOr(b, one, other, "");
    return (struct uniform_test){
        LLVMBuildAnd(b, rises, LLVMBuildAnd(b, one, other, ""), ""),
        LLVMBuildAnd(b, rises, LLVMBuildNot(b, either, ""), "")};
}

// No lane has a number that is further from lane 0's than the last lane's is,
// and all of them never have the same one.
static struct uniform_test compare_place(struct emitter *e,
                                         LLVMIntPredicate how,
                                         LLVMValueRef left, LLVMValueRef right)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef away = LLVMBuildSub(b, lanes_scalar(e, right),
                                     lanes_scalar(e, left), "");
    LLVMValueRef beyond =
        LLVMBuildICmp(b, LLVMIntUGT, away, span_of(e, left), "");
    LLVMValueRef never = LLVMConstInt(e->i1, 0, 0);
    return how == LLVMIntEQ ? (struct uniform_test){never, beyond}
                            : (struct uniform_test){beyond, never};
}

static bool test_of(struct emitter *e, LLVMValueRef condition, int depth,
                struct uniform_test *test);

// Tests both sides of an `or` or `and`. A condition that is uniform because
// different sides decide in different lanes is not detected.
static bool test_both(struct emitter *e, LLVMValueRef left, LLVMValueRef right,
                     bool is_and, int depth, struct uniform_test *test)
{
    LLVMBuilderRef b = e->builder;
    struct uniform_test one, other;
    if (!test_of(e, left, depth + 1, &one) ||
        !test_of(e, right, depth + 1, &other))
        return false;
    test->all = is_and ? LLVMBuildAnd(b, one.all, other.all, "")
                         : LLVMBuildOr(b, one.all, other.all, "");
    test->none = is_and ? LLVMBuildOr(b, one.none, other.none, "")
                          : LLVMBuildAnd(b, one.none, other.none, "");
    return true;
}

static bool is_bool(LLVMValueRef value, bool wanted)
{
    return LLVMIsAConstantInt(value) &&
           (LLVMConstIntGetZExtValue(value) != 0) == wanted;
}

static bool test_compare(struct emitter *e, LLVMValueRef condition,
                        int depth, struct uniform_test *test)
{
    LLVMIntPredicate how = LLVMGetICmpPredicate(condition);
    LLVMValueRef left = LLVMGetOperand(condition, 0);
    LLVMValueRef right = LLVMGetOperand(condition, 1);
    if (!grows(e, left) || !lanes_uniform(e, right))
        return false;
    *test = how < LLVMIntUGT ? compare_place(e, how, left, right)
                               : compare_ends(e, how, left, right);
    if (depth > 0) {  // the other side may keep it from being looked at
        test->all = LLVMBuildFreeze(e->builder, test->all, "");
        test->none = LLVMBuildFreeze(e->builder, test->none, "");
    }
    return true;
}

static bool test_of(struct emitter *e, LLVMValueRef condition, int depth,
                struct uniform_test *test)
{
    if (depth > DEPTH_MOST)
        return false;
    if (lanes_uniform(e, condition)) {
        test->all = LLVMBuildFreeze(e->builder, lanes_scalar(e, condition),
                                      "");
        test->none = LLVMBuildNot(e->builder, test->all, "");
        return true;
    }
    if (LLVMIsAICmpInst(condition))
        return test_compare(e, condition, depth, test);
    if (!LLVMIsAInstruction(condition))
        return false;
    LLVMValueRef first = LLVMGetOperand(condition, 0);
    switch (LLVMGetInstructionOpcode(condition)) {
    case LLVMFreeze:
        return test_of(e, first, depth + 1, test);
    case LLVMAnd: case LLVMOr:
        return test_both(e, first, LLVMGetOperand(condition, 1),
                        LLVMGetInstructionOpcode(condition) == LLVMAnd, depth,
                        test);
    case LLVMSelect:
        if (is_bool(LLVMGetOperand(condition, 2), false))
            return test_both(e, first, LLVMGetOperand(condition, 1), true,
                            depth, test);
        if (is_bool(LLVMGetOperand(condition, 1), true))
            return test_both(e, first, LLVMGetOperand(condition, 2), false,
                            depth, test);
        return false;
    default:
        return false;
    }
}

bool uniform_condition(struct emitter *e, LLVMValueRef condition,
                 struct uniform_test *test)
{
    return test_of(e, condition, 0, test);
}
