// Computes an expression in 16 bits if all of its numbers fit. C widens bytes
// and shorts to int, so a vector has half of the possible lanes. The result is
// the same in each bit, because the range of each number
// (analysis/value_range.c) fits with or without sign.
#include "simt/transform/transform.h"
#include "simt/analysis/analysis.h"
#include "simt/ir/ir.h"

#include <string.h>

enum part_kind {
    PART_WIDENED,  // made of fewer bits, or of one number for all lanes
    PART_COMPUTED,
    PART_END,      // takes 32 bits, gives something else: a cut, a comparison
};

struct part {
    LLVMValueRef at;
    enum part_kind kind;
    struct range range;
    unsigned leader;       // of the expression, perhaps by way of others
    LLVMValueRef narrow;   // the same in 16 bits, once it is made
    int gain;              // of the leader: instructions that become shorter
    int cost;              // of the leader: results that are made wider again
};

struct parts {
    struct part *items;
    unsigned count;
    struct map numbers;    // of instructions, plus 1
    struct map ranges;     // of instructions, to struct range
};

static struct part *part_of(const struct parts *parts, LLVMValueRef value)
{
    uintptr_t number = (uintptr_t)map_get(&parts->numbers, value);
    return number ? &parts->items[number - 1] : NULL;
}

// Shortens the way to the leader for whoever asks next.
static struct part *leader_of(const struct parts *parts, struct part *part)
{
    while (&parts->items[part->leader] != part) {
        part->leader = parts->items[part->leader].leader;
        part = &parts->items[part->leader];
    }
    return part;
}

// --- What fits ---------------------------------------------------------------

static bool fits_signed(struct range r)
{
    return range_is_within(r, INT16_MIN, INT16_MAX);
}

static bool fits_unsigned(struct range r)
{
    return range_is_within(r, 0, UINT16_MAX);
}

static bool fits(struct range r)
{
    return fits_signed(r) || fits_unsigned(r);
}

// Whether numbers without a sign compare in 16 bits as they do in 32. Signed
// ones do so by comparisons of either kind.
static bool compare_alike(struct range a, struct range b, bool is_signed)
{
    return (fits_signed(a) && fits_signed(b)) ||
           (!is_signed && fits_unsigned(a) && fits_unsigned(b));
}

static bool compares_signed(LLVMValueRef at)
{
    if (LLVMIsAICmpInst(at))
        return LLVMGetICmpPredicate(at) >= LLVMIntSGT;
    return is_intrinsic(at, "smin") || is_intrinsic(at, "smax");
}

static bool is_operand(const struct parts *parts, LLVMValueRef value)
{
    const struct part *part = part_of(parts, value);
    if (part)
        return part->kind != PART_END;
    return LLVMIsConstant(value) && is_words(LLVMTypeOf(value)) &&
           fits(range_of(&parts->ranges, value));
}

// Where the two operands of an instruction begin; NONE if it does not compute
// with any.
static int first_operand(LLVMValueRef at)
{
    if (LLVMIsASelectInst(at))
        return 1;
    if (LLVMIsABinaryOperator(at) || LLVMIsAICmpInst(at))
        return 0;
    static const char *const names[] = {"smin", "smax", "umin", "umax",
                                        "usub.sat"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (LLVMIsACallInst(at) && is_intrinsic(at, names[i]))
            return 0;
    return NONE;
}

// Whether the low 16 bits of both operands, by which a sum is known, tell the
// result of another operation, too.
static bool low_bits_tell(LLVMOpcode how, struct range a, struct range b)
{
    switch (how) {
    case LLVMShl:
        return range_is_within(b, 0, 15);
    case LLVMLShr:
        return range_is_within(b, 0, 15) && fits_unsigned(a);
    case LLVMAShr:
        return range_is_within(b, 0, 15) && fits_signed(a);
    case LLVMUDiv:
        return fits_unsigned(a) && fits_unsigned(b);
    case LLVMSDiv:
        return fits_signed(a) && fits_signed(b);
    default:
        return true;
    }
}

static bool computes(const struct parts *parts, LLVMValueRef at)
{
    if (LLVMIsACallInst(at) && is_intrinsic(at, "abs"))
        return is_operand(parts, LLVMGetOperand(at, 0)) &&
               fits_signed(range_of(&parts->ranges, LLVMGetOperand(at, 0)));
    int first = first_operand(at);
    if (first == NONE)
        return false;
    LLVMValueRef left = LLVMGetOperand(at, (unsigned)first);
    LLVMValueRef right = LLVMGetOperand(at, (unsigned)first + 1);
    if (!is_operand(parts, left) || !is_operand(parts, right))
        return false;
    struct range a = range_of(&parts->ranges, left);
    struct range b = range_of(&parts->ranges, right);
    if (LLVMIsABinaryOperator(at))
        return low_bits_tell(LLVMGetInstructionOpcode(at), a, b);
    return LLVMIsASelectInst(at) || compare_alike(a, b, compares_signed(at));
}

static bool is_narrow_cut(LLVMValueRef at)
{
    return LLVMIsATruncInst(at) &&
           LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMVectorTypeKind &&
           LLVMGetIntTypeWidth(LLVMGetElementType(LLVMTypeOf(at))) <= 16;
}

// --- Expressions -------------------------------------------------------------

static void join(struct parts *parts, struct part *part, LLVMValueRef operand)
{
    struct part *other = part_of(parts, operand);
    if (!other || LLVMIsConstant(operand))
        return;
    struct part *one = leader_of(parts, part);
    leader_of(parts, other)->leader = (unsigned)(one - parts->items);
}

static void add(struct parts *parts, LLVMValueRef at, enum part_kind kind,
                struct range range)
{
    parts->items =
        simt_grow(parts->items, parts->count, sizeof *parts->items);
    struct part *part = &parts->items[parts->count];
    *part = (struct part){.at = at, .kind = kind, .range = range,
                          .leader = parts->count++};
    map_set(&parts->numbers, at, (void *)(uintptr_t)parts->count);
    int count = LLVMGetNumOperands(at);
    for (int i = 0; i < count && kind != PART_WIDENED; i++)
        join(parts, part, LLVMGetOperand(at, (unsigned)i));
}

static void know(struct parts *parts, LLVMValueRef at, struct range range)
{
    struct range *kept = simt_allocate(sizeof *kept);
    *kept = range;
    map_set(&parts->ranges, at, kept);
}

static void look_at(struct parts *parts, LLVMValueRef at)
{
    if (is_narrow_cut(at) && is_operand(parts, LLVMGetOperand(at, 0)))
        add(parts, at, PART_END, (struct range){0});
    if (LLVMIsAICmpInst(at) && computes(parts, at))
        add(parts, at, PART_END, (struct range){0});
    if (!is_words(LLVMTypeOf(at)))
        return;
    struct range range = range_made(&parts->ranges, at);
    if (range_is_within(range, INT32_MIN + 1, INT32_MAX))
        know(parts, at, range);
    if (!fits(range))
        return;
    if (computes(parts, at))
        add(parts, at, PART_COMPUTED, range);
    else if (LLVMIsAZExtInst(at) || LLVMIsASExtInst(at) || range_splat(at))
        add(parts, at, PART_WIDENED, range);
}

// True if all users of a number belong to the expression; otherwise the number
// is needed in 32 bits as well.
static bool is_used_inside(const struct parts *parts, LLVMValueRef value)
{
    for (LLVMUseRef use = LLVMGetFirstUse(value); use;
         use = LLVMGetNextUse(use)) {
        const struct part *user = part_of(parts, LLVMGetUser(use));
        if (!user || user->kind == PART_WIDENED)
            return false;
    }
    return true;
}

static void weigh(struct parts *parts)
{
    for (unsigned i = 0; i < parts->count; i++) {
        struct part *part = &parts->items[i];
        struct part *leader = leader_of(parts, part);
        if (part->kind == PART_END)
            leader->gain++;
        else if (is_used_inside(parts, part->at))
            leader->gain += !range_splat(part->at);
        else if (part->kind == PART_COMPUTED)
            leader->cost++;
        else
            leader->gain--;
    }
}

// Widening a result costs two instructions; an operation in 16 bits saves half
// of its cost.
static bool is_worth_it(const struct parts *parts, struct part *part)
{
    const struct part *leader = leader_of(parts, part);
    return leader->gain >= 2 && leader->gain > 3 * leader->cost;
}

// --- In 16 bits --------------------------------------------------------------

static LLVMTypeRef shorts_like(LLVMTypeRef words)
{
    return LLVMVectorType(LLVMInt16TypeInContext(LLVMGetTypeContext(words)),
                          LLVMGetVectorSize(words));
}

static LLVMValueRef narrow_of(const struct parts *parts, LLVMBuilderRef b,
                              LLVMValueRef words)
{
    const struct part *part = part_of(parts, words);
    if (part)
        return part->narrow;
    return LLVMBuildTrunc(b, words, shorts_like(LLVMTypeOf(words)), "");
}

static LLVMValueRef widened(LLVMBuilderRef b, LLVMValueRef at)
{
    LLVMTypeRef type = shorts_like(LLVMTypeOf(at));
    LLVMTypeRef one = LLVMGetElementType(type);
    LLVMValueRef number = range_splat(at);
    if (!number)
        return LLVMBuildIntCast2(b, LLVMGetOperand(at, 0), type,
                                 LLVMIsASExtInst(at) != NULL, "");
    LLVMTypeRef index = LLVMInt32TypeInContext(LLVMGetTypeContext(type));
    LLVMValueRef insert = LLVMBuildInsertElement(
        b, LLVMGetPoison(type), LLVMBuildTrunc(b, number, one, ""),
        LLVMConstNull(index), "");
    return LLVMBuildShuffleVector(
        b, insert, LLVMGetPoison(type),
        LLVMConstNull(LLVMVectorType(index, LLVMGetVectorSize(type))), "");
}

static LLVMValueRef called(const struct parts *parts, LLVMBuilderRef b,
                           LLVMValueRef at)
{
    LLVMTypeRef type = shorts_like(LLVMTypeOf(at));
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(
        LLVMGetGlobalParent(
            LLVMGetBasicBlockParent(LLVMGetInstructionParent(at))),
        LLVMGetIntrinsicID(LLVMGetCalledValue(at)), &type, 1);
    LLVMValueRef second = LLVMGetOperand(at, 1);
    bool flag = is_intrinsic(at, "abs");
    LLVMValueRef arguments[] = {
        narrow_of(parts, b, LLVMGetOperand(at, 0)),
        flag ? LLVMConstNull(LLVMTypeOf(second)) : narrow_of(parts, b, second),
    };
    return LLVMBuildCall2(b, LLVMGlobalGetValueType(function), function,
                          arguments, 2, "");
}

static LLVMValueRef computed(const struct parts *parts, LLVMBuilderRef b,
                             LLVMValueRef at)
{
    if (LLVMIsACallInst(at))
        return called(parts, b, at);
    int first = first_operand(at);
    LLVMValueRef left =
        narrow_of(parts, b, LLVMGetOperand(at, (unsigned)first));
    LLVMValueRef right =
        narrow_of(parts, b, LLVMGetOperand(at, (unsigned)first + 1));
    if (LLVMIsASelectInst(at))
        return LLVMBuildSelect(b, LLVMGetOperand(at, 0), left, right, "");
    if (LLVMIsAICmpInst(at))
        return LLVMBuildICmp(b, LLVMGetICmpPredicate(at), left, right, "");
    return LLVMBuildBinOp(b, LLVMGetInstructionOpcode(at), left, right, "");
}

// The old instruction stays for now: parts are found by it.
static void make(const struct parts *parts, LLVMBuilderRef b,
                 struct part *part)
{
    LLVMValueRef at = part->at;
    LLVMPositionBuilderBefore(b, at);
    if (part->kind == PART_WIDENED) {
        part->narrow = widened(b, at);
        return;
    }
    if (LLVMIsATruncInst(at))
        part->narrow = LLVMBuildIntCast2(
            b, narrow_of(parts, b, LLVMGetOperand(at, 0)), LLVMTypeOf(at),
            false, "");
    else
        part->narrow = computed(parts, b, at);
}

static LLVMValueRef replacement(LLVMBuilderRef b, const struct part *part)
{
    LLVMPositionBuilderBefore(b, part->at);
    if (part->kind == PART_END)
        return part->narrow;
    return LLVMBuildIntCast2(b, part->narrow, LLVMTypeOf(part->at),
                             fits_signed(part->range), "");
}

// Goes backwards, so that instructions without further uses disappear.
static void replace(LLVMBuilderRef b, const struct part *part)
{
    if (part->kind != PART_WIDENED && LLVMGetFirstUse(part->at))
        LLVMReplaceAllUsesWith(part->at, replacement(b, part));
    if (!LLVMGetFirstUse(part->at))
        LLVMInstructionEraseFromParent(part->at);
}

void narrow_to_int16(LLVMModuleRef module)
{
    struct parts parts = {0};
    for (LLVMValueRef at = first_instruction(module); at;
         at = next_instruction(at))
        look_at(&parts, at);
    weigh(&parts);
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (unsigned i = 0; i < parts.count; i++)
        if (is_worth_it(&parts, &parts.items[i]))
            make(&parts, b, &parts.items[i]);
    for (unsigned i = parts.count; i-- > 0;)
        if (parts.items[i].narrow)
            replace(b, &parts.items[i]);
    LLVMDisposeBuilder(b);
}
