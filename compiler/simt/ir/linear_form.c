// Linear forms: an instruction as a constant and operands times constants. Each
// analysis follows the terms through variables of the thread, which LLVM's
// scalar evolution does not see through, by rules of its own.
#include "simt/ir/ir.h"

// Indices are made with shorter shifts; a longer shift packs bits.
enum { SHIFT_MOST = 31 };

static bool add_term(struct linear_form *form, LLVMValueRef value,
                     int64_t times)
{
    int64_t number;
    if (constant_of(value, &number)) {
        form->constant = (int64_t)((uint64_t)form->constant +
                                   (uint64_t)number * (uint64_t)times);
        return true;
    }
    if (form->count == LINEAR_TERMS)
        return false;
    form->terms[form->count++] = (struct linear_term){value, times};
    return true;
}

static bool add_address(struct linear_form *form, LLVMTargetDataRef layout,
                        LLVMValueRef at)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(at);
    bool fits = add_term(form, LLVMGetOperand(at, 0), 1);
    for (int i = 1; fits && i < LLVMGetNumOperands(at); i++) {
        struct step step = address_step(layout, at, i, &type);
        if (step.index)
            fits = add_term(form, step.index, (int64_t)step.unit);
        else
            form->constant += (int64_t)step.unit;
    }
    return fits;
}

// A product keeps its term even if that is a constant.
static bool set_product(struct linear_form *form, LLVMValueRef value,
                        int64_t times)
{
    form->terms[form->count++] = (struct linear_term){value, times};
    return true;
}

bool linear_form_of(LLVMTargetDataRef layout, LLVMValueRef value,
                    struct linear_form *form)
{
    *form = (struct linear_form){0};
    if (LLVMIsAGetElementPtrInst(value))
        return add_address(form, layout, value);
    if (!LLVMIsABinaryOperator(value))
        return false;
    int64_t number;
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    LLVMValueRef left = LLVMGetOperand(value, 0);
    LLVMValueRef right = LLVMGetOperand(value, 1);
    switch (opcode) {
    case LLVMOr: case LLVMAdd: case LLVMSub:
        return (opcode != LLVMOr || LLVMGetIsDisjoint(value)) &&
               add_term(form, left, 1) &&
               add_term(form, right, opcode == LLVMSub ? -1 : 1);
    case LLVMMul:
        return constant_of(right, &number) && set_product(form, left, number);
    case LLVMShl:
        return constant_of(right, &number) && number >= 0 &&
               number <= SHIFT_MOST &&
               set_product(form, left, INT64_C(1) << number);
    default:
        return false;
    }
}

LLVMValueRef linear_form_base(LLVMTargetDataRef layout, LLVMValueRef value,
                              int64_t *added)
{
    struct linear_form form;
    if (!linear_form_of(layout, value, &form) || form.count != 1 ||
        form.terms[0].times != 1)
        return NULL;
    *added = form.constant;
    return form.terms[0].value;
}

bool linear_form_extends(LLVMValueRef value, LLVMOpcode cast)
{
    if (!cast)
        return LLVMGetIntTypeWidth(LLVMTypeOf(value)) >= 64;
    return LLVMGetInstructionOpcode(value) == LLVMOr ||
           (cast == LLVMSExt ? LLVMGetNSW(value) : LLVMGetNUW(value));
}
