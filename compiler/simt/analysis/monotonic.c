// Values that may be clamped: from lane to lane they grow by nothing or by
// their stride. If the last lane is as far from the first lane as the strides
// say, all lanes lie in a row between them, so two lanes suffice for the test.
//
// Numbers may wrap between lanes. The test stays right even then: the
// difference of the two ends would come out wrong.
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

enum { SMALL = 1 << 30, STRIDE_MOST = 1 << 16 };

bool shape_is_monotonic(struct shape shape)
{
    return shape.kind == SHAPE_UNIFORM ||
           (shape.kind == SHAPE_AFFINE && shape.stride > 0 &&
            shape.stride < STRIDE_MOST) ||
           (shape.kind == SHAPE_VARYING && shape.monotonic);
}

static bool is_small(int64_t number)
{
    return number > -SMALL && number < SMALL;
}

static bool small_constant(LLVMValueRef value, int64_t *number)
{
    return constant_of(value, number) && is_small(*number);
}

bool shape_limit_is_monotonic(const struct shapes *shapes, LLVMValueRef call)
{
    int64_t limit;
    LLVMValueRef value = LLVMGetOperand(call, 0);
    if (!shape_is_monotonic(shape_of(shapes, value)) ||
        !small_constant(LLVMGetOperand(call, 1), &limit))
        return false;
    if (is_intrinsic(call, "smin") || is_intrinsic(call, "smax"))
        return true;
    return limit >= 0 && shape_never_wraps(shapes, value) &&
           (is_intrinsic(call, "umin") || is_intrinsic(call, "umax") ||
            is_intrinsic(call, "usub.sat"));
}

// --- x < limit ? x + step : other --------------------------------------------

static bool is_same(const struct shapes *shapes, LLVMValueRef a,
                    LLVMValueRef b)
{
    const struct slot *slot = slots_loaded(shapes->kernel, a);
    return a == b || (slot && slot->store_count == 1 &&
                      slot == slots_loaded(shapes->kernel, b));
}

// Whether `value` is x plus a constant.
static bool is_step(const struct shapes *shapes, LLVMValueRef value,
                    LLVMValueRef x, int64_t *step)
{
    *step = 0;
    if (is_same(shapes, value, x))
        return true;
    LLVMValueRef base = linear_form_base(shapes->kernel->layout, value, step);
    return base && is_same(shapes, base, x) && is_small(*step);
}

// Whether it is the thread's index along the axis of the lanes.
static bool is_thread_index(const struct shapes *shapes, LLVMValueRef value)
{
    int axis = NONE;
    value = slots_resolve(shapes->kernel, value);
    return primitive_of(value, &axis) == PRIMITIVE_THREAD &&
           axis == (int)lanes_axis(shapes->variant);
}

// Whether a number is the least or the greatest that x can be: to be equal is
// then to be beyond all others.
static bool read_equal(const struct shapes *shapes, LLVMValueRef compare,
                       int64_t *limit, bool *opposite)
{
    const unsigned *fixed = shapes->kernel->fixed;
    bool equal = LLVMGetICmpPredicate(compare) == LLVMIntEQ;
    if (!is_thread_index(shapes, LLVMGetOperand(compare, 0)))
        return false;
    if (*limit == 0) {
        *limit = 1;
        *opposite = equal;
        return true;
    }
    *opposite = !equal;
    return fixed && *limit == (int64_t)fixed[lanes_axis(shapes->variant)] - 1;
}

// The condition as "x >= *limit", or its opposite.
static bool read_condition(const struct shapes *shapes, LLVMValueRef compare,
                           int64_t *limit, bool *opposite)
{
    if (!LLVMIsAICmpInst(compare) ||
        !small_constant(LLVMGetOperand(compare, 1), limit))
        return false;
    LLVMIntPredicate how = LLVMGetICmpPredicate(compare);
    if (how == LLVMIntEQ || how == LLVMIntNE)
        return read_equal(shapes, compare, limit, opposite);
    bool is_signed = how >= LLVMIntSGT;
    if (!is_signed &&
        (*limit < 0 || !shape_never_wraps(shapes, LLVMGetOperand(compare, 0))))
        return false;
    *opposite = how == LLVMIntSLT || how == LLVMIntSLE || how == LLVMIntULT ||
                how == LLVMIntULE;
    *limit += how == LLVMIntSGT || how == LLVMIntUGT || how == LLVMIntSLE ||
              how == LLVMIntULE;
    return how >= LLVMIntUGT;
}

bool shape_select_is_monotonic(const struct shapes *shapes, LLVMValueRef at)
{
    LLVMValueRef compare = LLVMGetOperand(at, 0);
    int64_t limit, number, step;
    bool opposite;
    if (!read_condition(shapes, compare, &limit, &opposite))
        return false;
    LLVMValueRef x = LLVMGetOperand(compare, 0);
    LLVMValueRef above = LLVMGetOperand(at, opposite ? 2 : 1);
    LLVMValueRef below = LLVMGetOperand(at, opposite ? 1 : 2);
    struct shape shape = shape_of(shapes, x);
    if (shape.kind != SHAPE_AFFINE || !shape_is_monotonic(shape))
        return false;
    // The size of the jump where the value changes between two sources.
    if (is_step(shapes, above, x, &step) && small_constant(below, &number))
        return limit + step - number == 0 || limit + step - number == 1;
    if (is_step(shapes, below, x, &step) && small_constant(above, &number))
        return number - limit - step == 0 || number - limit - step == -1;
    return false;
}
