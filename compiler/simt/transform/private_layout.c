// Interleaves private arrays as a GPU's local memory does: an element of all
// lanes is a row, so that lanes with a uniform index load and store vectors. An
// array that is accessed in several sizes, or whose address escapes, keeps one
// copy per lane.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

struct layout {
    const struct kernel *kernel;
    LLVMValueRef *addresses;  // made of the variable's, which is the first
    unsigned count;
    uint64_t size;            // of each element, or 0: not known yet
    unsigned lanes;
    bool fits;
};

// --- Finding -----------------------------------------------------------------

static void add_address(struct layout *w, LLVMValueRef address)
{
    w->addresses = simt_grow(w->addresses, w->count, sizeof *w->addresses);
    w->addresses[w->count++] = address;
}

static void see_access(struct layout *w, LLVMValueRef at)
{
    LLVMTypeRef type = accessed_type(at);
    uint64_t size = LLVMABISizeOfType(w->kernel->layout, type);
    w->fits &= is_element(w->kernel->layout, type) && is_plain_access(at) &&
               (w->size == 0 || w->size == size);
    w->size = size;
}

// An address that outlives its block. Stored once only, none comes back here.
static void see_kept(struct layout *w, LLVMValueRef store)
{
    const struct slot *slot =
        slots_simple(w->kernel, LLVMGetOperand(store, 1));
    w->fits &= slot && slot->store_count == 1;
    for (unsigned i = 0; w->fits && i < slot->load_count; i++)
        add_address(w, slot->loads[i]);
}

static bool is_set(LLVMValueRef at)
{
    return LLVMIsACallInst(at) && is_intrinsic(at, "memset") &&
           LLVMIsAConstantInt(LLVMGetOperand(at, 1)) &&
           LLVMIsAConstantInt(LLVMGetOperand(at, 2)) &&
           LLVMConstIntGetZExtValue(LLVMGetOperand(at, 3)) == 0;
}

static void see_use(struct layout *w, LLVMValueRef address, LLVMValueRef user)
{
    if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) == address)
        see_kept(w, user);
    else if (accessed_address(user))
        see_access(w, user);
    else if (LLVMIsAGetElementPtrInst(user))
        add_address(w, user);
    else
        w->fits &= is_set(user) ||
                   (LLVMIsACallInst(user) && is_ignored_call(user));
}

static void find_uses(struct layout *w)
{
    for (unsigned i = 0; i < w->count && w->fits; i++)
        for (LLVMUseRef use = LLVMGetFirstUse(w->addresses[i]); use;
             use = LLVMGetNextUse(use))
            see_use(w, w->addresses[i], LLVMGetUser(use));
    w->fits &= w->size > 0;
}

// --- Addresses ---------------------------------------------------------------

static bool counts_elements(const struct layout *w, LLVMValueRef address)
{
    struct linear_form form;
    bool whole = linear_form_of(w->kernel->layout, address, &form) &&
                 (uint64_t)form.constant % w->size == 0;
    for (unsigned i = 1; whole && i < form.count; i++)
        whole = (uint64_t)form.terms[i].times % w->size == 0;
    return whole;
}

static bool all_count_elements(const struct layout *w)
{
    for (unsigned i = 0; i < w->count; i++)
        if (LLVMIsAGetElementPtrInst(w->addresses[i]) &&
            !counts_elements(w, w->addresses[i]))
            return false;
    return true;
}

static LLVMTypeRef row_of(const struct layout *w)
{
    return LLVMArrayType2(LLVMInt8TypeInContext(w->kernel->context),
                          w->size * w->lanes);
}

// How many elements an address is behind its base.
static LLVMValueRef elements_of(const struct layout *w, LLVMBuilderRef b,
                                LLVMValueRef address)
{
    LLVMTypeRef wide = LLVMInt64TypeInContext(w->kernel->context);
    LLVMValueRef sum = NULL;
    struct linear_form form;
    linear_form_of(w->kernel->layout, address, &form);
    for (unsigned i = 1; i < form.count; i++) {
        uint64_t step = (uint64_t)form.terms[i].times / w->size;
        if (step == 0)
            continue;
        LLVMValueRef index = LLVMBuildIntCast2(b, form.terms[i].value, wide,
                                               true, "");
        if (step > 1)
            index = LLVMBuildMul(b, index, LLVMConstInt(wide, step, 0), "");
        sum = sum ? LLVMBuildAdd(b, sum, index, "") : index;
    }
    LLVMValueRef first = LLVMConstInt(
        wide, (uint64_t)(form.constant / (int64_t)w->size), 0);
    return sum ? LLVMBuildAdd(b, sum, first, "") : first;
}

// --- Rewriting ---------------------------------------------------------------

static void rewrite_address(const struct layout *w, LLVMBuilderRef b,
                            LLVMValueRef address)
{
    LLVMPositionBuilderBefore(b, address);
    LLVMValueRef elements = elements_of(w, b, address);
    LLVMValueRef made = LLVMBuildGEP2(
        b, row_of(w), LLVMGetOperand(address, 0), &elements, 1, "");
    LLVMReplaceAllUsesWith(address, made);
    LLVMInstructionEraseFromParent(address);
}

// Replaces a memset by stores of elements.
static void rewrite_set(const struct layout *w, LLVMBuilderRef b,
                        LLVMValueRef call)
{
    uint64_t byte = LLVMConstIntGetZExtValue(LLVMGetOperand(call, 1));
    uint64_t count = LLVMConstIntGetZExtValue(LLVMGetOperand(call, 2));
    LLVMTypeRef type = LLVMIntTypeInContext(w->kernel->context,
                                            (unsigned)w->size * 8);
    LLVMTypeRef wide = LLVMInt64TypeInContext(w->kernel->context);
    LLVMValueRef value =
        LLVMConstInt(type, byte * UINT64_C(0x0101010101010101), 0);
    LLVMPositionBuilderBefore(b, call);
    for (uint64_t i = 0; i < count / w->size; i++) {
        LLVMValueRef index = LLVMConstInt(wide, i, 0);
        LLVMValueRef place = LLVMBuildGEP2(
            b, row_of(w), LLVMGetOperand(call, 0), &index, 1, "");
        LLVMSetAlignment(LLVMBuildStore(b, value, place), (unsigned)w->size);
    }
    LLVMInstructionEraseFromParent(call);
}

static void rewrite_use(const struct layout *w, LLVMBuilderRef b,
                        LLVMValueRef user)
{
    if (LLVMIsALoadInst(user) || LLVMIsAStoreInst(user)) {
        if (LLVMGetAlignment(user) > w->size)
            LLVMSetAlignment(user, (unsigned)w->size);
    } else if (is_set(user)) {
        rewrite_set(w, b, user);
    }
}

static bool sets_few(const struct layout *w)
{
    for (unsigned i = 0; i < w->count; i++)
        for (LLVMUseRef use = LLVMGetFirstUse(w->addresses[i]); use;
             use = LLVMGetNextUse(use)) {
            LLVMValueRef user = LLVMGetUser(use);
            uint64_t bytes = is_set(user)
                ? LLVMConstIntGetZExtValue(LLVMGetOperand(user, 2)) : 0;
            if (bytes % w->size != 0 || bytes / w->size > SET_MOST)
                return false;
        }
    return true;
}

static void rewrite(const struct layout *w)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(w->kernel->context);
    for (unsigned i = 0; i < w->count; i++)
        for (LLVMUseRef use = LLVMGetFirstUse(w->addresses[i]), next; use;
             use = next) {
            next = LLVMGetNextUse(use);
            rewrite_use(w, b, LLVMGetUser(use));
        }
    for (unsigned i = 0; i < w->count; i++)
        if (LLVMIsAGetElementPtrInst(w->addresses[i]))
            rewrite_address(w, b, w->addresses[i]);
    LLVMDisposeBuilder(b);
}

bool private_layout(struct kernel *kernel, unsigned lanes)
{
    bool any = false;
    for (unsigned s = 0; s < kernel->slot_count; s++) {
        struct slot *slot = &kernel->slots[s];
        struct layout w = {.kernel = kernel, .lanes = lanes, .fits = true};
        if (slot->kind != SLOT_COMPLEX)
            continue;
        add_address(&w, slot->alloca);
        find_uses(&w);
        if (!w.fits || !all_count_elements(&w) || !sets_few(&w))
            continue;
        rewrite(&w);
        slot->element = (unsigned)w.size;
        kernel->private_lanes = lanes;
        any = true;
    }
    return any;
}
