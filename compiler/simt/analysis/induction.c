// How a thread walks through the iterations of a loop: by how much a iteration
// increases numbers and addresses, and how long a iteration waits for the one
// before.
#include "simt/analysis/analysis.h"
#include "simt/analysis/tuning.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

enum { LINE = 64 };  // bytes of a cache line

struct induction {
    const struct kernel *kernel;
    int loop;
    unsigned looks;
};

static bool is_inside(const struct induction *w, LLVMValueRef instruction)
{
    int block = kernel_block_of(w->kernel, instruction);
    return block != NONE &&
           set_has(&w->kernel->loops[w->loop].blocks, (unsigned)block);
}

// --- Growth ------------------------------------------------------------------

static int64_t growth_of(struct induction *w, LLVMValueRef value);

// The difference between the number that a iteration stores in a slot and the
// number that the slot has before.
static int64_t growth_by_store(struct induction *w, const struct slot *slot,
                               LLVMValueRef store)
{
    int64_t added;
    LLVMValueRef next = slots_resolve(w->kernel, LLVMGetOperand(store, 0));
    LLVMValueRef last = linear_form_base(w->kernel->layout, next, &added);
    return last && slots_loaded(w->kernel,
                                slots_resolve(w->kernel, last)) == slot
               ? added : FAR;
}

static int64_t growth_of_slot(struct induction *w, const struct slot *slot)
{
    int64_t growth = 0;
    bool any = false;
    if (slot->store_count == 1)
        return growth_of(w, LLVMGetOperand(slot->stores[0], 0));
    for (unsigned i = 0; i < slot->store_count; i++) {
        if (!is_inside(w, slot->stores[i]))
            continue;
        int64_t one = growth_by_store(w, slot, slot->stores[i]);
        growth = any && one != growth ? FAR : one;
        any = true;
    }
    return growth;
}

static int64_t growth_of_form(struct induction *w,
                              const struct linear_form *form)
{
    int64_t all = 0;
    for (unsigned i = 0; i < form->count; i++)
        all = far_sum(all, far_product(growth_of(w, form->terms[i].value),
                                       form->terms[i].times));
    return all;
}

// A value does not grow if none of its operands grows.
static int64_t growth_of_other(struct induction *w, LLVMValueRef value)
{
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        if (growth_of(w, LLVMGetOperand(value, (unsigned)i)) != 0)
            return FAR;
    return LLVMIsALoadInst(value) && !slots_is_argument_load(w->kernel, value)
               ? FAR : 0;
}

static int64_t growth_of(struct induction *w, LLVMValueRef value)
{
    struct linear_form form;
    const struct slot *slot = slots_loaded(w->kernel, value);
    if (w->looks++ > GROWTH_LOOKS)
        return FAR;
    if (slot)
        return growth_of_slot(w, slot);
    if (!LLVMIsAInstruction(value) || !is_inside(w, value))
        return 0;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMSExt: case LLVMZExt: case LLVMTrunc: case LLVMFreeze:
        return growth_of(w, LLVMGetOperand(value, 0));
    case LLVMShl: case LLVMOr:
        return growth_of_other(w, value);
    default:
        return linear_form_of(w->kernel->layout, value, &form)
                   ? growth_of_form(w, &form) : growth_of_other(w, value);
    }
}

int64_t induction_step(const struct kernel *kernel, int loop,
                       LLVMValueRef value)
{
    struct induction induction = {.kernel = kernel, .loop = loop};
    int64_t growth = growth_of(&induction, value);
    return growth == FAR ? 0 : growth;
}

bool access_is_sequential(const struct kernel *kernel, LLVMValueRef at)
{
    struct induction induction = {
        .kernel = kernel,
        .loop = kernel->blocks[kernel_block_of(kernel, at)].loop};
    if (induction.loop == NONE)
        return false;
    int64_t growth = growth_of(&induction, accessed_address(at));
    return growth > -LINE && growth < LINE;
}

// --- Latency -----------------------------------------------------------------

// True if a product and the sum that uses it become one instruction (FMA).
static bool is_fused(LLVMValueRef product)
{
    LLVMUseRef use = LLVMGetFirstUse(product);
    if (!use || LLVMGetNextUse(use))
        return false;
    LLVMValueRef user = LLVMGetUser(use);
    return LLVMIsABinaryOperator(user) &&
           (LLVMGetInstructionOpcode(user) == LLVMFAdd ||
            LLVMGetInstructionOpcode(user) == LLVMFSub);
}

// Latency of an operation, in simple instructions done meanwhile.
static double latency_of(LLVMValueRef at)
{
    switch (LLVMGetInstructionOpcode(at)) {
    case LLVMFMul:
        return is_fused(at) ? 0 : 12;
    case LLVMFAdd: case LLVMFSub: case LLVMMul:
        return 12;
    case LLVMLoad:
        return 16;
    case LLVMUDiv: case LLVMSDiv: case LLVMURem: case LLVMSRem: case LLVMFDiv:
    case LLVMFRem: case LLVMCall:
        return 40;
    case LLVMGetElementPtr: case LLVMSExt: case LLVMZExt: case LLVMTrunc:
    case LLVMBitCast: case LLVMFreeze:
        return 0;
    default:
        return 4;
    }
}

// The latency of the operations that compute a value from the number that a
// slot has at the begin of a iteration; negative: the value does not depend on
// the slot.
static double chain_to(struct induction *w, const struct slot *slot,
                       LLVMValueRef value)
{
    value = slots_resolve(w->kernel, value);
    if (slots_loaded(w->kernel, value) == slot)
        return 0;
    if (!LLVMIsAInstruction(value) || !is_inside(w, value) ||
        slots_loaded(w->kernel, value) || w->looks++ > LATENCY_LOOKS)
        return NONE;
    double longest = NONE;
    for (int i = 0; i < LLVMGetNumOperands(value); i++) {
        double chain = chain_to(w, slot, LLVMGetOperand(value, (unsigned)i));
        longest = chain > longest ? chain : longest;
    }
    return longest < 0 ? NONE : longest + latency_of(value);
}

double recurrence_latency(const struct kernel *kernel, int loop)
{
    struct induction induction = {.kernel = kernel, .loop = loop};
    double longest = 0;
    for (unsigned s = 0; s < kernel->slot_count; s++) {
        const struct slot *slot = &kernel->slots[s];
        for (unsigned i = 0; i < slot->store_count; i++) {
            LLVMValueRef store = slot->stores[i];
            if (slot->kind != SLOT_SIMPLE || !is_inside(&induction, store))
                continue;
            double chain = chain_to(&induction, slot, LLVMGetOperand(store, 0));
            longest = chain > longest ? chain : longest;
        }
    }
    return longest;
}
