// Unrolls loops in which each lane walks along a row of memory of its own:
// every iteration would gather one number per lane. A few iterations become
// one, so that the loads of a lane form an access group
// (kernel/access_groups.c) and one long load.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/ir/ir.h"

// By how much a value grows from one iteration of a loop to the next, or from
// lane to lane in x; FAR: by something that is not known, or not always the
// same.
struct slopes {
    LLVMBasicBlockRef loop;       // of one block
    LLVMTargetDataRef layout;
    bool lanes;                   // else iterations
    struct map phis;              // elsewhere: whether they are FAR, or not yet
    unsigned looked_at;
};

static int64_t slope_of(struct slopes *s, LLVMValueRef value);

// 0 where nothing that it is made of grows.
static int64_t slope_of_any(struct slopes *s, LLVMValueRef value)
{
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        if (slope_of(s, LLVMGetOperand(value, (unsigned)i)) != 0)
            return FAR;
    return 0;
}

static int64_t slope_of_form(struct slopes *s, const struct linear_form *form)
{
    int64_t all = 0;
    for (unsigned i = 0; i < form->count; i++)
        all = far_sum(all, far_product(slope_of(s, form->terms[i].value),
                                       form->terms[i].times));
    return all;
}

// Elsewhere: made of other values, perhaps of itself.
static int64_t slope_of_distant_phi(struct slopes *s, LLVMValueRef phi)
{
    static char near, far;
    const char *known = map_get(&s->phis, phi);
    if (known)
        return known == &far ? FAR : 0;
    map_set(&s->phis, phi, &near);
    int64_t slope = slope_of_any(s, phi);
    if (slope == FAR)
        map_set(&s->phis, phi, &far);
    return slope;
}

// The amount that an iteration adds to a phi of the loop, in bytes for an
// address.
static int64_t added_to(struct slopes *s, LLVMValueRef phi, LLVMValueRef next)
{
    int64_t added;
    return linear_form_base(s->layout, next, &added) == phi ? added : FAR;
}

// In the loop: the growth from one iteration to the next, or between lanes in
// the first iteration.
static int64_t slope_of_phi(struct slopes *s, LLVMValueRef phi)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef value = LLVMGetIncomingValue(phi, i);
        bool is_next = LLVMGetIncomingBlock(phi, i) == s->loop;
        if (is_next != s->lanes)
            return s->lanes ? slope_of(s, value) : added_to(s, phi, value);
    }
    return FAR;
}

// A load gives the same to all if all load at one place, and nothing is stored
// in the loop.
static int64_t slope_of_other(struct slopes *s, LLVMValueRef value)
{
    int axis;
    if (!LLVMIsACallInst(value))
        return slope_of_any(s, value);
    if (primitive_of(value, &axis) == PRIMITIVE_THREAD)
        return axis == 0 && s->lanes;
    return is_index_call(value) ? 0 : slope_of_any(s, value);
}

static int64_t slope_of(struct slopes *s, LLVMValueRef value)
{
    struct linear_form form;
    if (!LLVMIsAInstruction(value) ||
        (!s->lanes && LLVMGetInstructionParent(value) != s->loop))
        return 0;
    if (s->looked_at++ > VALUES_MOST)
        return FAR;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMPHI:
        return LLVMGetInstructionParent(value) == s->loop
                   ? slope_of_phi(s, value) : slope_of_distant_phi(s, value);
    case LLVMSExt: case LLVMZExt:
        // A sum that is widened may wrap and forms no access group.
        return s->lanes || LLVMIsAPHINode(LLVMGetOperand(value, 0))
                   ? slope_of(s, LLVMGetOperand(value, 0))
                   : slope_of_any(s, value);
    case LLVMOr:
        return slope_of_any(s, value);
    default:
        return linear_form_of(s->layout, value, &form)
                   ? slope_of_form(s, &form) : slope_of_other(s, value);
    }
}

// --- Loops -------------------------------------------------------------------

// Whether a block is a loop of its own, which is left at its end.
static bool is_loop(LLVMBasicBlockRef block)
{
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(block);
    return LLVMIsABranchInst(branch) && LLVMIsConditional(branch) &&
           (LLVMGetSuccessor(branch, 0) == block) !=
               (LLVMGetSuccessor(branch, 1) == block);
}

// Whether nothing in it keeps loads of two iterations apart.
static bool only_loads(LLVMBasicBlockRef block)
{
    for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
         at = LLVMGetNextInstruction(at))
        switch (LLVMGetInstructionOpcode(at)) {
        case LLVMLoad:
            if (!is_plain_access(at))
                return false;
            break;
        case LLVMCall:
            if (!is_index_call(at) && !is_pure_call(at))
                return false;
            break;
        case LLVMStore: case LLVMAtomicRMW: case LLVMAtomicCmpXchg:
        case LLVMFence:
            return false;
        default:
            break;
        }
    return true;
}

// True if the number of iterations is known before the first one, and all lanes
// begin to count at the same number. Other lanes would diverge and take turns.
static bool is_counted(struct slopes *iterations)
{
    struct slopes lanes = {
        .loop = iterations->loop, .layout = iterations->layout, .lanes = true};
    LLVMValueRef test = LLVMGetCondition(
        LLVMGetBasicBlockTerminator(iterations->loop));
    if (!LLVMIsAICmpInst(test))
        return false;
    int64_t one = slope_of(iterations, LLVMGetOperand(test, 0));
    int64_t other = slope_of(iterations, LLVMGetOperand(test, 1));
    if (one == FAR || other == FAR || (one == 0) == (other == 0))
        return false;
    return slope_of(&lanes, LLVMGetOperand(test, one == 0)) == 0;
}

// The bytes from one iteration to the next if each lane loads from a row of its
// own. 0 if all lanes load one address or neighbouring ones, or the step is too
// long.
static unsigned step_along(struct slopes *iterations, LLVMValueRef load)
{
    struct slopes lanes = {
        .loop = iterations->loop, .layout = iterations->layout, .lanes = true};
    LLVMValueRef address = LLVMGetOperand(load, 0);
    int64_t step = slope_of(iterations, address);
    if (step == 0 || step > STEP_MOST || step < -STEP_MOST)
        return 0;
    int64_t apart = slope_of(&lanes, address);
    if (apart == 0 || apart == step || apart == -step ||
        lanes.looked_at > VALUES_MOST)
        return 0;
    return (unsigned)(step < 0 ? -step : step);
}

// The least such step of which nothing is left out, or 0.
static unsigned least_step(struct slopes *iterations)
{
    uint64_t used[STEP_MOST + 1] = {0};
    for (LLVMValueRef at = LLVMGetFirstInstruction(iterations->loop); at;
         at = LLVMGetNextInstruction(at))
        if (LLVMIsALoadInst(at))
            used[step_along(iterations, at)] +=
                LLVMABISizeOfType(iterations->layout, LLVMTypeOf(at));
    for (unsigned step = 1; step <= STEP_MOST; step++)
        if (used[step] >= step)
            return step;
    return 0;
}

// How many iterations become one; 0 for a loop that stays.
static unsigned count_of(LLVMTargetDataRef layout, LLVMBasicBlockRef block)
{
    unsigned size = block_size(block);
    struct slopes iterations = {.loop = block, .layout = layout};
    if (size > ITERATION_MOST || !only_loads(block) || !is_counted(&iterations))
        return 0;
    unsigned step = least_step(&iterations);
    if (step == 0)
        return 0;
    unsigned most = UNROLLED_MOST / size < COUNT_MOST ? UNROLLED_MOST / size
                                                      : COUNT_MOST;
    unsigned count = COUNT_LEAST;
    while (count * step < LOADED && 2 * count <= most)
        count *= 2;
    return count;
}

// --- Marks -------------------------------------------------------------------

// Other loops keep no wishes that the source may have had.
static bool mark_loops(LLVMModuleRef module, LLVMValueRef function)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    unsigned kind = LLVMGetMDKindIDInContext(context, "llvm.loop", 9);
    bool any = false, fits = function_size(function) <= KERNEL_LARGE;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block)) {
        LLVMValueRef back = LLVMGetBasicBlockTerminator(block);
        unsigned count =
            fits && is_loop(block)
                ? count_of(LLVMGetModuleDataLayout(module), block) : 0;
        if (count > 0)
            loop_hint(back, "llvm.loop.unroll.count", count);
        else
            LLVMSetMetadata(back, kind, NULL);
        any |= count > 0;
    }
    return any;
}

// --- Ends --------------------------------------------------------------------

// A number that a loop of one block counts.
struct counter {
    LLVMBasicBlockRef before;     // where threads come from
    LLVMValueRef first;
    int64_t step;
};

// Finds the counter behind a value for the next iteration. False for another
// value.
static bool find_counter(LLVMBasicBlockRef loop, LLVMValueRef next,
                         struct counter *counter)
{
    if (!LLVMIsABinaryOperator(next) ||
        LLVMGetInstructionOpcode(next) != LLVMAdd ||
        !constant_of(LLVMGetOperand(next, 1), &counter->step))
        return false;
    LLVMValueRef phi = LLVMGetOperand(next, 0);
    if (!LLVMIsAPHINode(phi) || LLVMGetInstructionParent(phi) != loop ||
        LLVMCountIncoming(phi) != 2)
        return false;
    unsigned back = LLVMGetIncomingBlock(phi, 1) == loop;
    counter->before = LLVMGetIncomingBlock(phi, !back);
    counter->first = LLVMGetIncomingValue(phi, !back);
    return LLVMGetIncomingValue(phi, back) == next;
}

// The value of a counter when another counter has reached its limit.
static LLVMValueRef last_of(LLVMBuilderRef b, const struct counter *one,
                            const struct counter *other, LLVMValueRef limit)
{
    LLVMTypeRef type = LLVMTypeOf(limit);
    uint64_t times = (uint64_t)(one->step / other->step);
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(one->before));
    LLVMValueRef counted = LLVMBuildMul(
        b, LLVMBuildSub(b, limit, other->first, ""),
        LLVMConstInt(type, times, 1), "");
    return LLVMBuildAdd(b, one->first, counted, "");
}

static void compute_lasts(LLVMBuilderRef b, LLVMBasicBlockRef loop,
                          const struct counter *counted, LLVMValueRef limit)
{
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(loop);
    LLVMBasicBlockRef exit =
        LLVMGetSuccessor(branch, LLVMGetSuccessor(branch, 0) == loop);
    for (LLVMValueRef phi = LLVMGetFirstInstruction(exit);
         phi && LLVMIsAPHINode(phi); phi = LLVMGetNextInstruction(phi))
        for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
            struct counter one;
            if (LLVMGetIncomingBlock(phi, i) == loop &&
                LLVMTypeOf(phi) == LLVMTypeOf(limit) &&
                find_counter(loop, LLVMGetIncomingValue(phi, i), &one) &&
                one.step % counted->step == 0)
                LLVMSetOperand(phi, i, last_of(b, &one, counted, limit));
        }
}

// Behind a loop, computes the counters from the limit. Lanes may leave a loop
// one after another, so values from inside would be varying, and the next loop,
// which continues there, would diverge.
static void replace_counters(LLVMBuilderRef b, LLVMBasicBlockRef loop)
{
    LLVMValueRef branch = LLVMGetBasicBlockTerminator(loop);
    LLVMValueRef test = LLVMGetCondition(branch);
    struct counter counted;
    if (!LLVMIsAICmpInst(test) ||
        LLVMGetICmpPredicate(test) !=
            (LLVMGetSuccessor(branch, 0) == loop ? LLVMIntNE : LLVMIntEQ) ||
        !find_counter(loop, LLVMGetOperand(test, 0), &counted) ||
        counted.step <= 0)
        return;
    LLVMValueRef limit = LLVMGetOperand(test, 1);
    if (!LLVMIsAInstruction(limit) || LLVMGetInstructionParent(limit) != loop)
        compute_lasts(b, loop, &counted, limit);
}

static char *unroll(LLVMModuleRef module)
{
    char *message = run_passes(module, "function(loop-unroll<O2;no-peeling;"
                                        "no-upperbound;full-unroll-max=0>)");
    if (message)
        return message;
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMBasicBlockRef block = first_block(module); block;
         block = next_block(block))
        if (is_loop(block))
            replace_counters(b, block);
    LLVMDisposeBuilder(b);
    return run_passes(module, "function(early-cse,simplifycfg,instsimplify,"
                               "adce)");
}

char *unroll_rows(LLVMModuleRef module)
{
    bool any = false;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        any |= mark_loops(module, f);
    return any ? unroll(module) : NULL;
}
