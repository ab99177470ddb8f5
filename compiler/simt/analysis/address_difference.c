// The difference of two addresses in bytes, as a sum of products of opaque
// values, which can be compared and computed elsewhere.
#include "simt/analysis/analysis.h"
#include "simt/analysis/tuning.h"
#include "simt/ir/ir.h"

#include <stdlib.h>

// Sums of sums can be as many as there are ways through them.
enum { FACTORS = 4, TERMS = 64 };

// A product; each number of 32 bits is widened with its sign.
struct term {
    uint64_t times;
    LLVMValueRef factors[FACTORS];
    unsigned count;
};

struct difference {
    LLVMTargetDataRef layout;
    struct term terms[TERMS];
    unsigned count, looks;
    bool failed;
};

static unsigned count_of(const struct term *term, LLVMValueRef factor)
{
    unsigned count = 0;
    for (unsigned i = 0; i < term->count; i++)
        count += term->factors[i] == factor;
    return count;
}

// Whether two products have the same factors, in any order.
static bool is_alike(const struct term *a, const struct term *b)
{
    bool alike = a->count == b->count;
    for (unsigned i = 0; alike && i < a->count; i++)
        alike = count_of(a, a->factors[i]) == count_of(b, a->factors[i]);
    return alike;
}

static void add_term(struct difference *d, const struct term *term)
{
    unsigned i = 0;
    while (i < d->count && !is_alike(&d->terms[i], term))
        i++;
    if (i == TERMS) {
        d->failed = true;
        return;
    }
    if (i == d->count)
        d->terms[d->count++] = *term;
    else
        d->terms[i].times += term->times;
    if (d->terms[i].times == 0)
        d->terms[i] = d->terms[--d->count];
}

static void add_factor(struct difference *d, LLVMValueRef value,
                       struct term term)
{
    if (term.count == FACTORS) {
        d->failed = true;
        return;
    }
    term.factors[term.count++] = value;
    add_term(d, &term);
}

static void add_value(struct difference *d, LLVMValueRef value,
                      struct term term);

static void add_product(struct difference *d, LLVMValueRef product,
                        struct term term)
{
    struct difference *left = simt_allocate(sizeof *left);
    left->layout = d->layout;
    left->looks = d->looks;
    add_value(left, LLVMGetOperand(product, 0), term);
    d->looks = left->looks;
    for (unsigned i = 0; i < left->count; i++)
        add_value(d, LLVMGetOperand(product, 1), left->terms[i]);
    d->failed |= left->failed;
    free(left);
}

static void add_times(struct difference *d, LLVMValueRef value,
                      struct term term, uint64_t times)
{
    term.times *= times;
    if (term.times != 0)
        add_value(d, value, term);
}

// False if the value is no sum or product.
static bool add_operation(struct difference *d, LLVMValueRef value,
                          struct term term)
{
    struct linear_form form;
    if (LLVMIsABinaryOperator(value) &&
        LLVMGetInstructionOpcode(value) == LLVMMul) {
        add_product(d, value, term);
        return true;
    }
    if (!linear_form_of(d->layout, value, &form))
        return false;
    for (unsigned i = 0; i < form.count; i++)
        add_times(d, form.terms[i].value, term, (uint64_t)form.terms[i].times);
    term.times *= (uint64_t)form.constant;
    if (term.times != 0)
        add_term(d, &term);
    return true;
}

static bool is_wide(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(type) == 64;
}

static bool is_widened(LLVMValueRef value)
{
    return LLVMIsASExtInst(value) ||
           (LLVMIsAZExtInst(value) && LLVMGetNNeg(value));
}

// A value other than a sum or product of 64 bits is a factor.
static void add_value(struct difference *d, LLVMValueRef value,
                      struct term term)
{
    int64_t number;
    d->failed |= ++d->looks > DIFFERENCE_LOOKS;
    if (d->failed)
        return;
    if (constant_of(value, &number)) {
        term.times *= (uint64_t)number;
        if (term.times != 0)
            add_term(d, &term);
    } else if (!(is_wide(value) || LLVMIsAGetElementPtrInst(value)) ||
               !add_operation(d, value, term)) {
        add_factor(d, is_wide(value) && is_widened(value)
                          ? LLVMGetOperand(value, 0) : value, term);
    }
}

struct difference *address_difference(LLVMTargetDataRef layout,
                                      LLVMValueRef from, LLVMValueRef to)
{
    struct difference *d = simt_allocate(sizeof *d);
    d->layout = layout;
    add_value(d, to, (struct term){.times = 1});
    add_times(d, from, (struct term){.times = 1}, UINT64_MAX);
    for (unsigned i = 0; i < d->count; i++)
        for (unsigned f = 0; f < d->terms[i].count; f++)
            d->failed |= LLVMGetTypeKind(LLVMTypeOf(
                             d->terms[i].factors[f])) != LLVMIntegerTypeKind;
    if (!d->failed)
        return d;
    free(d);
    return NULL;
}

bool difference_is_equal(const struct difference *a, const struct difference *b)
{
    struct difference *rest = simt_allocate(sizeof *rest);
    *rest = *a;
    for (unsigned i = 0; i < b->count; i++) {
        struct term term = b->terms[i];
        term.times = -term.times;
        add_term(rest, &term);
    }
    bool equal = !rest->failed && rest->count == 0;
    free(rest);
    return equal;
}

LLVMValueRef difference_add(const struct difference *d, LLVMBuilderRef b,
                             LLVMValueRef address)
{
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(address));
    LLVMTypeRef type = LLVMInt64TypeInContext(context);
    LLVMValueRef bytes = LLVMConstNull(type);
    for (unsigned i = 0; i < d->count; i++) {
        const struct term *term = &d->terms[i];
        LLVMValueRef product = LLVMConstInt(type, term->times, 0);
        for (unsigned f = 0; f < term->count; f++)
            product = LLVMBuildMul(
                b, LLVMBuildIntCast2(b, term->factors[f], type, 1, ""),
                product, "");
        bytes = LLVMBuildAdd(b, bytes, product, "");
    }
    return LLVMBuildGEP2(b, LLVMInt8TypeInContext(context), address, &bytes, 1,
                         "");
}

bool address_offset(LLVMTargetDataRef layout, LLVMValueRef at, int64_t *offset)
{
    int64_t added;
    if (!linear_form_base(layout, at, &added))
        return false;
    *offset += added;
    return true;
}
