// Walks over the blocks and instructions of a module, attributes of functions,
// and LLVM's pass manager.
#include "simt/ir/ir.h"

#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

// --- Attributes --------------------------------------------------------------

static void say(LLVMValueRef function, LLVMAttributeRef attribute)
{
    LLVMAddAttributeAtIndex(function, (unsigned)LLVMAttributeFunctionIndex,
                            attribute);
}

static LLVMContextRef context_of(LLVMValueRef function)
{
    return LLVMGetModuleContext(LLVMGetGlobalParent(function));
}

// Enters a block behind all blocks that it leads to; `blocks` fills from its
// end.
static void order_block(struct block_order *order, struct map *seen,
                        unsigned *left, LLVMBasicBlockRef block)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    if (map_get(seen, block))
        return;
    map_set(seen, block, block);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++)
        order_block(order, seen, left, LLVMGetSuccessor(end, i));
    order->blocks[--*left] = block;
}

struct block_order block_order(LLVMValueRef function)
{
    unsigned all = LLVMCountBasicBlocks(function), left = all;
    struct block_order order = {
        .blocks = simt_allocate(all * sizeof *order.blocks)};
    struct map seen = {0};
    order_block(&order, &seen, &left, LLVMGetEntryBasicBlock(function));
    order.blocks += left;
    order.count = all - left;
    for (uintptr_t i = 0; i < order.count; i++)
        map_set(&order.places, order.blocks[i], (void *)(i + 1));
    return order;
}

unsigned block_order_place(const struct block_order *order,
                           LLVMBasicBlockRef block)
{
    uintptr_t place = (uintptr_t)map_get(&order->places, block);
    return place ? (unsigned)place - 1 : order->count;
}

void add_flag(LLVMValueRef function, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    say(function, LLVMCreateEnumAttribute(context_of(function), kind, 0));
}

void remove_flag(LLVMValueRef function, const char *name)
{
    LLVMRemoveEnumAttributeAtIndex(
        function, (unsigned)LLVMAttributeFunctionIndex,
        LLVMGetEnumAttributeKindForName(name, strlen(name)));
}

void add_attribute(LLVMValueRef function, const char *name, const char *value)
{
    say(function, LLVMCreateStringAttribute(
                      context_of(function), name, (unsigned)strlen(name),
                      value, (unsigned)strlen(value)));
}

void prefer_wide_vectors(LLVMValueRef function)
{
    add_attribute(function, "prefer-vector-width", "512");
}

// --- Blocks and instructions -------------------------------------------------

static LLVMBasicBlockRef first_from(LLVMValueRef function)
{
    LLVMBasicBlockRef block = NULL;
    for (; function && !block; function = LLVMGetNextFunction(function))
        block = LLVMGetFirstBasicBlock(function);
    return block;
}

LLVMBasicBlockRef first_block(LLVMModuleRef module)
{
    return first_from(LLVMGetFirstFunction(module));
}

LLVMBasicBlockRef next_block(LLVMBasicBlockRef block)
{
    LLVMBasicBlockRef next = LLVMGetNextBasicBlock(block);
    LLVMValueRef function = LLVMGetBasicBlockParent(block);
    return next ? next : first_from(LLVMGetNextFunction(function));
}

// Blocks that are still made may be empty.
static LLVMValueRef first_of(LLVMBasicBlockRef block)
{
    LLVMValueRef at = NULL;
    for (; block && !at; block = next_block(block))
        at = LLVMGetFirstInstruction(block);
    return at;
}

LLVMValueRef first_instruction(LLVMModuleRef module)
{
    return first_of(first_block(module));
}

LLVMValueRef next_instruction(LLVMValueRef at)
{
    LLVMValueRef next = LLVMGetNextInstruction(at);
    return next ? next : first_of(next_block(LLVMGetInstructionParent(at)));
}

unsigned block_size(LLVMBasicBlockRef block)
{
    unsigned size = 0;
    for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
         at = LLVMGetNextInstruction(at))
        size++;
    return size;
}

unsigned function_size(LLVMValueRef function)
{
    unsigned size = 0;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        size += block_size(block);
    return size;
}

LLVMValueRef first_non_phi(LLVMBasicBlockRef block)
{
    LLVMValueRef at = LLVMGetFirstInstruction(block);
    while (LLVMIsAPHINode(at))
        at = LLVMGetNextInstruction(at);
    return at;
}

bool module_is_huge(LLVMModuleRef module)
{
    LLVMValueRef function = LLVMGetFirstFunction(module);
    while (function && function_size(function) <= HUGE_LEAST)
        function = LLVMGetNextFunction(function);
    return function != NULL;
}

static void redirect(LLVMValueRef function, LLVMBasicBlockRef from,
                     LLVMBasicBlockRef to)
{
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block)) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
        for (unsigned i = 0; end && i < LLVMGetNumSuccessors(end); i++)
            if (LLVMGetSuccessor(end, i) == from)
                LLVMSetSuccessor(end, i, to);
    }
}

LLVMBasicBlockRef block_split(LLVMValueRef before)
{
    LLVMBasicBlockRef block = LLVMGetInstructionParent(before);
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(before));
    LLVMBasicBlockRef head =
        LLVMInsertBasicBlockInContext(context, block, "head");
    redirect(LLVMGetBasicBlockParent(block), block, head);
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
    LLVMPositionBuilderAtEnd(builder, head);
    LLVMValueRef at;
    while ((at = LLVMGetFirstInstruction(block)) != before) {
        LLVMInstructionRemoveFromParent(at);
        LLVMInsertIntoBuilder(builder, at);
    }
    LLVMBuildBr(builder, block);
    LLVMDisposeBuilder(builder);
    return head;
}

// --- Passes ------------------------------------------------------------------

char *run_passes(LLVMModuleRef module, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, passes, NULL, options);
    LLVMDisposePassBuilderOptions(options);
    return error ? LLVMGetErrorMessage(error) : NULL;
}

const char *combine_again(LLVMModuleRef module)
{
    return module_is_huge(module) ? "" : ",instcombine<no-verify-fixpoint>";
}
