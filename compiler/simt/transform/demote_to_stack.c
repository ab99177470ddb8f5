// Puts 32-bit numbers with thousands of uses, mostly indices, on the stack;
// each block loads such a number once. Code generation joins the copy for each
// use with all earlier copies, and extracts the number from a widened one use
// by use.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/ir/ir.h"

// By other blocks.
static unsigned count_uses(LLVMValueRef value)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(value);
    unsigned count = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(value); use;
         use = LLVMGetNextUse(use))
        count += LLVMGetInstructionParent(LLVMGetUser(use)) != block;
    return count;
}

static bool is_number(LLVMValueRef at)
{
    return LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(LLVMTypeOf(at)) == 32;
}

struct demoted {
    LLVMBuilderRef b;
    LLVMValueRef value, variable;
    LLVMBasicBlockRef block;      // where the value is made
    struct map loads;             // of other blocks
};

static LLVMValueRef load_in(struct demoted *d, LLVMBasicBlockRef block)
{
    LLVMValueRef load = map_get(&d->loads, block);
    if (!load) {
        LLVMPositionBuilderBefore(d->b, first_non_phi(block));
        load = LLVMBuildLoad2(d->b, LLVMTypeOf(d->value), d->variable, "");
        map_set(&d->loads, block, load);
    }
    return load;
}

static void replace_in(struct demoted *d, LLVMValueRef user)
{
    for (int i = 0; i < LLVMGetNumOperands(user); i++) {
        if (LLVMGetOperand(user, (unsigned)i) != d->value)
            continue;
        LLVMBasicBlockRef block =
            LLVMIsAPHINode(user) ? LLVMGetIncomingBlock(user, (unsigned)i)
                                 : LLVMGetInstructionParent(user);
        if (block != d->block)  // a phi may take it on an edge from there
            LLVMSetOperand(user, (unsigned)i, load_in(d, block));
    }
}

// A replaced use moves from one list of uses to another.
static void replace_all(struct demoted *d, unsigned count)
{
    LLVMValueRef *users = simt_allocate(count * sizeof *users);
    unsigned found = 0;
    for (LLVMUseRef use = LLVMGetFirstUse(d->value); use;
         use = LLVMGetNextUse(use))
        if (LLVMGetInstructionParent(LLVMGetUser(use)) != d->block)
            users[found++] = LLVMGetUser(use);
    for (unsigned i = 0; i < count; i++)
        replace_in(d, users[i]);
}

static void demote(LLVMBuilderRef b, LLVMValueRef value, unsigned use_count)
{
    struct demoted d = {.b = b, .value = value,
                        .block = LLVMGetInstructionParent(value)};
    LLVMValueRef function = LLVMGetBasicBlockParent(d.block);
    LLVMPositionBuilderBefore(
        b, first_non_phi(LLVMGetEntryBasicBlock(function)));
    d.variable = LLVMBuildAlloca(b, LLVMTypeOf(value), "");
    replace_all(&d, use_count);
    LLVMPositionBuilderBefore(b, LLVMIsAPHINode(value)
                                     ? first_non_phi(d.block)
                                     : LLVMGetNextInstruction(value));
    LLVMBuildStore(b, value, d.variable);
}

void demote_to_stack(LLVMModuleRef module)
{
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef at = first_instruction(module); at;
         at = next_instruction(at)) {
        unsigned use_count = is_number(at) ? count_uses(at) : 0;
        if (use_count > USES_MOST)
            demote(b, at, use_count);
    }
    LLVMDisposeBuilder(b);
}
