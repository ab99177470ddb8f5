// Loops that wait for another thread to change memory. Lanes run in lockstep:
// one that waited so for another of its warp would wait for ever. In tier F
// threads take turns, and have to be told where.
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

static bool is_in(const struct kernel *kernel, LLVMValueRef at, int loop)
{
    int block = kernel_block_of(kernel, at);
    return block != NONE &&
           set_has(&kernel->loops[loop].blocks, (unsigned)block);
}

static bool is_slot(LLVMValueRef address)
{
    return LLVMIsAAllocaInst(address) != NULL;
}

// --- From iteration to iteration ---------------------------------------------

static bool is_stored_in(const struct kernel *kernel, LLVMValueRef variable,
                         int loop)
{
    for (LLVMUseRef use = LLVMGetFirstUse(variable); use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (!LLVMIsALoadInst(user) && is_in(kernel, user, loop))
            return true;
    }
    return false;
}

// Whether a value is the same in all iterations of a loop.
static bool stays_alike(const struct kernel *kernel, LLVMValueRef value,
                        int loop, int depth)
{
    int axis;
    if (!LLVMIsAInstruction(value))
        return true;
    if (depth > 4)
        return false;
    if (LLVMIsALoadInst(value) && is_slot(LLVMGetOperand(value, 0)))
        return !is_stored_in(kernel, LLVMGetOperand(value, 0), loop);
    if (LLVMIsACallInst(value))
        return primitive_of(value, &axis) == PRIMITIVE_THREAD ||
               primitive_of(value, &axis) == PRIMITIVE_BLOCK;
    if (!LLVMIsABinaryOperator(value) && !LLVMIsACastInst(value))
        return false;
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        if (!stays_alike(kernel, LLVMGetOperand(value, (unsigned)i), loop,
                         depth + 1))
            return false;
    return true;
}

enum seen { SEEN_NEVER, SEEN_OPEN, SEEN_ALIKE };

struct search {
    const struct kernel *kernel;
    int loop;
    struct map seen;
};

static bool counts_on(struct search *search, LLVMValueRef value);

static bool slot_counts_on(struct search *search, LLVMValueRef slot)
{
    for (LLVMUseRef use = LLVMGetFirstUse(slot); use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 1) == slot &&
            is_in(search->kernel, user, search->loop) &&
            counts_on(search, LLVMGetOperand(user, 0)))
            return true;
    }
    return false;
}

// True if each iteration computes a value from its value in the iteration
// before.
static bool counts_on(struct search *search, LLVMValueRef value)
{
    if (!LLVMIsAInstruction(value))
        return false;
    enum seen seen = (enum seen)(intptr_t)map_get(&search->seen, value);
    if (seen != SEEN_NEVER)
        return seen == SEEN_OPEN;
    map_set(&search->seen, value, (void *)(intptr_t)SEEN_OPEN);
    bool counts = false;
    if (LLVMIsALoadInst(value))
        counts = is_slot(LLVMGetOperand(value, 0)) &&
                 slot_counts_on(search, LLVMGetOperand(value, 0));
    else if (LLVMIsABinaryOperator(value) || LLVMIsACastInst(value) ||
             LLVMIsAGetElementPtrInst(value))
        for (int i = 0; i < LLVMGetNumOperands(value) && !counts; i++)
            counts = counts_on(search, LLVMGetOperand(value, (unsigned)i));
    map_set(&search->seen, value, (void *)(intptr_t)SEEN_ALIKE);
    return counts;
}

// --- Locks -------------------------------------------------------------------

// Whether an instruction may give a lock back that is free as `free` says.
static bool gives_back(LLVMValueRef at, LLVMValueRef free)
{
    if (LLVMIsAStoreInst(at))
        return LLVMGetOperand(at, 0) == free && !is_slot(LLVMGetOperand(at, 1));
    if (LLVMIsAAtomicCmpXchgInst(at))
        return LLVMGetOperand(at, 2) == free;
    if (!LLVMIsAAtomicRMWInst(at))
        return false;
    LLVMAtomicRMWBinOp operation = LLVMGetAtomicRMWBinOp(at);
    LLVMValueRef operand = LLVMGetOperand(at, 1);
    return operation == LLVMAtomicRMWBinOpXchg
               ? operand == free || !LLVMIsAConstant(operand)
           : operation == LLVMAtomicRMWBinOpAdd
               ? LLVMIsAConstantInt(operand) &&
                     LLVMConstIntGetSExtValue(operand) < 0
               : operation == LLVMAtomicRMWBinOpSub ||
                     operation == LLVMAtomicRMWBinOpAnd;
}

static bool block_gives_back(const struct block *block, LLVMValueRef free)
{
    for (LLVMValueRef at = LLVMGetFirstInstruction(block->ir); at;
         at = LLVMGetNextInstruction(at))
        if (gives_back(at, free))
            return true;
    return false;
}

static bool is_given_back(const struct kernel *kernel, int from,
                          LLVMValueRef free, struct set *been)
{
    const struct block *block = &kernel->blocks[from];
    if (!set_add(been, (unsigned)from))
        return false;
    if (block_gives_back(block, free))
        return true;
    for (unsigned i = 0; i < block->successor_count; i++)
        if (is_given_back(kernel, block->successors[i], free, been))
            return true;
    return false;
}

// A place of a table that is searched for, and then kept, is no lock.
static bool finds_a_place(const struct kernel *kernel, LLVMValueRef exchange,
                          int loop)
{
    LLVMValueRef free = LLVMGetOperand(exchange, 1);
    struct search search = {.kernel = kernel, .loop = loop};
    struct set been = set_create(kernel->block_count);
    return LLVMIsAConstant(free) &&
           counts_on(&search, LLVMGetOperand(exchange, 0)) &&
           !is_given_back(kernel, kernel_block_of(kernel, exchange), free,
                          &been);
}

// A lock is taken by an exchange, or by a compare-and-swap that expects the
// same value each time. Other compare-and-swaps load the expected value first.
static bool takes_a_lock(const struct kernel *kernel, LLVMValueRef at, int loop)
{
    if (LLVMIsAAtomicCmpXchgInst(at))
        return stays_alike(kernel, LLVMGetOperand(at, 1), loop, 0) &&
               !finds_a_place(kernel, at, loop);
    return LLVMIsAAtomicRMWInst(at) &&
           LLVMGetAtomicRMWBinOp(at) == LLVMAtomicRMWBinOpXchg &&
           LLVMGetFirstUse(at) &&
           stays_alike(kernel, LLVMGetOperand(at, 1), loop, 0);
}

// --- Flags -------------------------------------------------------------------

// True if an instruction reads memory that other threads may change, and
// changes nothing. Atomic sums without effect have become an `or`.
static bool is_look(LLVMValueRef at)
{
    if (LLVMIsAAtomicRMWInst(at))
        return LLVMGetAtomicRMWBinOp(at) == LLVMAtomicRMWBinOpOr &&
               LLVMIsNull(LLVMGetOperand(at, 1));
    if (LLVMIsAAtomicCmpXchgInst(at))
        return LLVMGetOperand(at, 1) == LLVMGetOperand(at, 2);
    return LLVMIsALoadInst(at) && !is_slot(LLVMGetOperand(at, 0)) &&
           !is_plain_access(at);
}

static bool decides(struct search *search, LLVMValueRef value);

static bool use_decides(struct search *search, LLVMValueRef value,
                        LLVMValueRef user)
{
    if (!is_in(search->kernel, user, search->loop))
        return false;
    if (LLVMIsATerminatorInst(user))
        return true;
    if (!LLVMIsAStoreInst(user))
        return decides(search, user);
    LLVMValueRef address = LLVMGetOperand(user, 1);
    return address != value && is_slot(address) && decides(search, address);
}

// Whether the way through a loop depends on a value.
static bool decides(struct search *search, LLVMValueRef value)
{
    if (map_get(&search->seen, value))
        return false;
    map_set(&search->seen, value, value);
    for (LLVMUseRef use = LLVMGetFirstUse(value); use;
         use = LLVMGetNextUse(use))
        if (use_decides(search, value, LLVMGetUser(use)))
            return true;
    return false;
}

static bool stores_anything(const struct kernel *kernel, int loop)
{
    for (unsigned i = 0; i < kernel->block_count; i++) {
        if (!set_has(&kernel->loops[loop].blocks, i))
            continue;
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at))
            if (LLVMIsAAtomicCmpXchgInst(at) ||
                (LLVMIsAStoreInst(at) && !is_slot(LLVMGetOperand(at, 1))))
                return true;
    }
    return false;
}

// A loop waits for a flag if it loads memory that no instruction of the loop
// stores, and the loaded value decides whether the loop ends.
static bool awaits_a_flag(const struct kernel *kernel, LLVMValueRef at)
{
    if (!is_look(at))
        return false;
    for (int loop = kernel->blocks[kernel_block_of(kernel, at)].loop;
         loop != NONE; loop = kernel->loops[loop].parent) {
        struct search search = {.kernel = kernel, .loop = loop};
        if (!stores_anything(kernel, loop) && decides(&search, at))
            return true;
    }
    return false;
}

void spin_loops_refuse(struct kernel *kernel)
{
    for (unsigned i = 0; i < kernel->block_count; i++) {
        int loop = kernel->blocks[i].loop;
        if (loop == NONE)
            continue;
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at))
            if (takes_a_lock(kernel, at, loop) || awaits_a_flag(kernel, at))
                kernel->refusal =
                    "it waits in a loop for what another thread does";
    }
}

// --- Tier F ------------------------------------------------------------------

// Atomic loads come from the prelude, which repeats a failed load itself.
static bool may_wait(LLVMValueRef at)
{
    return is_look(at) && (!LLVMIsALoadInst(at) || LLVMGetVolatile(at));
}

char *spin_loops_yield(LLVMModuleRef module)
{
    LLVMValueRef spin = LLVMGetNamedFunction(module, "rnl_spin");
    if (!spin)
        return NULL;
    // The effect of an atomic function is visible once the call is inlined.
    LLVMSetLinkage(spin, LLVMExternalLinkage);
    char *message = run_passes(
        module, "always-inline,function(sroa,"
                "instcombine<no-verify-fixpoint>)");
    LLVMSetLinkage(spin, LLVMInternalLinkage);
    LLVMBuilderRef builder =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef at = first_instruction(module); at && !message;
         at = next_instruction(at)) {
        if (!may_wait(at))
            continue;
        LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(at));
        LLVMBuildCall2(builder, LLVMGlobalGetValueType(spin), spin, NULL, 0,
                       "");
    }
    LLVMDisposeBuilder(builder);
    return message;
}
