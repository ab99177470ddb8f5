// Reads one thread of a kernel: blocks, barriers, and instructions that lanes
// cannot execute.
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

#include <string.h>

// --- Splitting ---------------------------------------------------------------

// A pair cannot become vectors: its halves are taken where it is made.
static void split_pair(const struct kernel *kernel, LLVMValueRef pair)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(kernel->context);
    LLVMUseRef next;
    for (LLVMUseRef use = LLVMGetFirstUse(pair); use; use = next) {
        LLVMValueRef half = LLVMGetUser(use);
        next = LLVMGetNextUse(use);
        if (!LLVMIsAExtractValueInst(half))
            continue;
        LLVMInstructionRemoveFromParent(half);
        LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(pair));
        LLVMInsertIntoBuilder(builder, half);
    }
    LLVMDisposeBuilder(builder);
}

// A number that is not negative where it is used may be negative in inactive
// lanes: a row is then addressed from a lane 0 below zero.
static void extend_signed(const struct kernel *kernel, LLVMValueRef zext)
{
    LLVMBuilderRef builder = LLVMCreateBuilderInContext(kernel->context);
    LLVMPositionBuilderBefore(builder, zext);
    LLVMValueRef sext = LLVMBuildSExt(builder, LLVMGetOperand(zext, 0),
                                      LLVMTypeOf(zext), "");
    LLVMReplaceAllUsesWith(zext, sext);
    LLVMInstructionEraseFromParent(zext);
    LLVMDisposeBuilder(builder);
}

static bool is_not_negative(LLVMValueRef at)
{
    LLVMTypeRef type =
        LLVMIsAZExtInst(at) ? LLVMTypeOf(LLVMGetOperand(at, 0)) : NULL;
    return type && LLVMGetTypeKind(type) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(type) >= 32 && LLVMGetNNeg(at);
}

static void limit_blocks(struct kernel *kernel, unsigned count)
{
    if (count <= BLOCKS_MOST)
        return;
    kernel->huge = true;
    kernel->refusal = "it has so many branches that it would compile for too "
                      "long";
}

bool kernel_split(struct kernel *kernel)
{
    int axis;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(kernel->function);
         block; block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef at = LLVMGetFirstInstruction(block), next; at;
             at = next) {
            next = LLVMGetNextInstruction(at);
            if (primitive_of(at, &axis) == PRIMITIVE_SYNC)
                block_split(at);
            else if (LLVMIsAAtomicCmpXchgInst(at))
                split_pair(kernel, at);
            else if (is_not_negative(at))
                extend_signed(kernel, at);
        }
    limit_blocks(kernel, LLVMCountBasicBlocks(kernel->function));
    return !kernel->refusal;
}

// --- Blocks ------------------------------------------------------------------

int kernel_block_of(const struct kernel *kernel, LLVMValueRef instruction)
{
    return (int)(intptr_t)map_get(&kernel->block_numbers,
                                  LLVMGetInstructionParent(instruction)) - 1;
}

// True if a block does nothing but end the thread, or lead to such a block.
static bool is_pure_return(const struct kernel *kernel,
                           const struct block *block)
{
    LLVMValueRef first = LLVMGetFirstInstruction(block->ir);
    while (LLVMIsACallInst(first) && is_ignored_call(first))
        first = LLVMGetNextInstruction(first);
    return LLVMIsAReturnInst(first) ||
           (LLVMIsABranchInst(first) && block->successor_count == 1 &&
            kernel->blocks[block->successors[0]].pure_return);
}

// Post-order; `kernel->block_numbers` marks what was met.
static void visit(struct kernel *kernel, LLVMBasicBlockRef block,
                  LLVMBasicBlockRef **order)
{
    if (map_get(&kernel->block_numbers, block))
        return;
    map_set(&kernel->block_numbers, block, kernel);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    for (unsigned i = LLVMGetNumSuccessors(end); i > 0; i--)
        visit(kernel, LLVMGetSuccessor(end, i - 1), order);
    *order = simt_grow(*order, kernel->block_count, sizeof **order);
    (*order)[kernel->block_count++] = block;
}

static void read_edges(struct kernel *kernel, int number)
{
    struct block *block = &kernel->blocks[number];
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block->ir);
    bool branches = LLVMIsABranchInst(end) != NULL;
    if (!branches && !LLVMIsAReturnInst(end) && !LLVMIsAUnreachableInst(end))
        kernel->refusal = "it has a jump that depends on an address";
    if (!branches)
        return;
    if (LLVMIsConditional(end))
        block->condition = LLVMGetCondition(end);
    for (unsigned i = 0; i < LLVMGetNumSuccessors(end); i++) {
        int to = (int)(intptr_t)map_get(&kernel->block_numbers,
                                        LLVMGetSuccessor(end, i)) - 1;
        struct block *next = &kernel->blocks[to];
        block->successors[block->successor_count++] = to;
        next->predecessors =
            simt_grow(next->predecessors, next->predecessor_count, sizeof(int));
        next->predecessors[next->predecessor_count++] = number;
    }
    if (block->successor_count == 2 &&
        block->successors[0] == block->successors[1]) {
        block->successor_count = 1;
        block->condition = NULL;
    }
}

static void read_blocks(struct kernel *kernel)
{
    LLVMBasicBlockRef *order = NULL;
    visit(kernel, LLVMGetEntryBasicBlock(kernel->function), &order);
    kernel->blocks =
        simt_allocate(kernel->block_count * sizeof *kernel->blocks);
    for (unsigned i = 0; i < kernel->block_count; i++) {
        struct block *block = &kernel->blocks[i];
        block->ir = order[kernel->block_count - 1 - i];
        block->barrier = NONE;
        block->loop = NONE;
        map_set(&kernel->block_numbers, block->ir, (void *)(intptr_t)(i + 1));
    }
    for (unsigned i = 0; i < kernel->block_count; i++)
        read_edges(kernel, (int)i);
    for (unsigned i = kernel->block_count; i-- > 0;)
        kernel->blocks[i].pure_return =
            is_pure_return(kernel, &kernel->blocks[i]);
}

// --- Instructions ------------------------------------------------------------

// Calls that another thread may have to answer, down the call graph.
static bool waits(LLVMValueRef function, int depth)
{
    int axis;
    size_t size;
    const char *name = LLVMGetValueName2(function, &size);
    if (depth > 20)
        return true;
    if (strstr(name, "rnl_printf") || strcmp(name, "rnl_trap") == 0)
        return false;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
             at = LLVMGetNextInstruction(at)) {
            if (!LLVMIsACallInst(at))
                continue;
            enum primitive primitive = primitive_of(at, &axis);
            LLVMValueRef callee = LLVMGetCalledValue(at);
            if (primitive == PRIMITIVE_SYNC || primitive == PRIMITIVE_WARP ||
                primitive == PRIMITIVE_YIELD ||
                primitive == PRIMITIVE_SYNC_GRID ||
                primitive == PRIMITIVE_CLUSTER_MEET)
                return true;
            if (primitive == PRIMITIVE_NONE && callee != function &&
                (!LLVMIsAFunction(callee) || waits(callee, depth + 1)))
                return true;
        }
    return false;
}

static void read_barrier(struct kernel *kernel, int number, LLVMValueRef call)
{
    struct block *block = &kernel->blocks[number];
    if (!LLVMIsAConstantInt(LLVMGetOperand(call, 0)))
        kernel->refusal = "it chooses a kind of barrier at run time";
    block->barrier = (int)kernel->barrier_count;
    block->barrier_call = call;
    kernel->barrier_blocks = simt_grow(kernel->barrier_blocks,
                                       kernel->barrier_count, sizeof(int));
    kernel->barrier_blocks[kernel->barrier_count++] = number;
}

static void read_call(struct kernel *kernel, int number, LLVMValueRef call)
{
    int axis = 0;
    LLVMValueRef callee = LLVMGetCalledValue(call);
    switch (primitive_of(call, &axis)) {
    case PRIMITIVE_THREAD:
        kernel->uses_y |= axis == 1;
        kernel->uses_yz |= axis > 0;
        return;
    case PRIMITIVE_SYNC:
        read_barrier(kernel, number, call);
        return;
    case PRIMITIVE_WARP:
        kernel->has_warp_ops = true;
        if (!LLVMIsAConstantInt(LLVMGetOperand(call, 0)))
            kernel->refusal = "it chooses a warp function at run time";
        return;
    case PRIMITIVE_YIELD:
        kernel->refusal = "it waits for other threads by __nanosleep";
        return;
    case PRIMITIVE_SYNC_GRID:
        kernel->refusal = "it waits for the whole grid";
        return;
    case PRIMITIVE_CLUSTER_SIZE: case PRIMITIVE_CLUSTER_MEMORY:
    case PRIMITIVE_CLUSTER_STRIDE: case PRIMITIVE_CLUSTER_MEET:
        kernel->has_cluster_ops = true;
        return;
    case PRIMITIVE_TLS:
        kernel->has_shared = true;
        return;
    case PRIMITIVE_NONE:
        break;
    default:
        return;
    }
    if (LLVMIsAInlineAsm(callee))
        kernel->refusal = "it has inline assembly";
    else if (!LLVMIsAFunction(callee))
        kernel->refusal = "it calls a function through a pointer";
    else if (waits(callee, 0))
        kernel->refusal = "a function that is not inlined waits for other "
                          "threads";
}

static bool is_plain(LLVMTypeRef type)
{
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind: {
        unsigned width = LLVMGetIntTypeWidth(type);
        return width == 1 || (width >= 8 && width <= 128 &&
                              (width & (width - 1)) == 0);
    }
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind:
    case LLVMVoidTypeKind:
        return true;
    default:
        return false;
    }
}

// CUDA gives a thread 512 KiB at most.
static void add_private(struct kernel *kernel, LLVMValueRef variable)
{
    uint64_t size = LLVMABISizeOfType(kernel->layout,
                                      LLVMGetAllocatedType(variable));
    kernel->private_size += size < PRIVATE_MOST ? size : PRIVATE_MOST;
    if (kernel->private_size >= PRIVATE_MOST)
        kernel->refusal = "its variables take 512 KiB or more";
}

static void read_instruction(struct kernel *kernel, int number,
                             LLVMValueRef at)
{
    kernel->blocks[number].size++;
    kernel->size++;
    if (!is_plain(LLVMTypeOf(at)) && !LLVMIsAAtomicCmpXchgInst(at))
        kernel->refusal = "it has values of structure or vector type";
    if (LLVMIsAStoreInst(at) &&
        !is_plain(LLVMTypeOf(LLVMGetOperand(at, 0))))
        kernel->refusal = "it stores values of structure or vector type";
    if (LLVMIsAExtractValueInst(at) &&
        !LLVMIsAAtomicCmpXchgInst(LLVMGetOperand(at, 0)))
        kernel->refusal = "it has values of structure type";
    if (LLVMIsAAllocaInst(at))
        add_private(kernel, at);
    if (LLVMIsAAllocaInst(at) &&
        (number != 0 || !LLVMIsAConstantInt(LLVMGetOperand(at, 0))))
        kernel->refusal = "it has a variable whose size is not constant";
    if (LLVMIsACallInst(at))
        read_call(kernel, number, at);
}

bool kernel_read(struct kernel *kernel)
{
    kernel->context = LLVMGetModuleContext(kernel->module);
    read_blocks(kernel);
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at))
            read_instruction(kernel, (int)i, at);
    kernel->huge = kernel->size > KERNEL_HUGE;
    limit_blocks(kernel, kernel->block_count);
    if (kernel->refusal)
        return false;
    cfg_analyse(kernel);
    slots_find(kernel);
    slots_live(kernel);
    access_groups_find(kernel);
    return !kernel->refusal;
}

bool kernel_calls_prelude(const struct kernel *kernel)
{
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at)) {
            int axis;
            if (!LLVMIsACallInst(at))
                continue;
            enum primitive primitive = primitive_of(at, &axis);
            LLVMValueRef callee = LLVMGetCalledValue(at);
            if (primitive == PRIMITIVE_TRAP ||
                primitive == PRIMITIVE_CLUSTER_MEET ||
                (primitive == PRIMITIVE_NONE && !LLVMIsDeclaration(callee) &&
                 !is_pure_call(at)))
                return true;
        }
    return false;
}

static bool is_short_call(LLVMValueRef call)
{
    return is_index_call(call) || is_ignored_call(call) ||
           (is_pure_call(call) && LLVMIsDeclaration(LLVMGetCalledValue(call)));
}

bool kernel_is_bounded(const struct kernel *kernel)
{
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at))
            if (LLVMIsACallInst(at) && !is_short_call(at))
                return false;
    return kernel->loop_count == 0;
}

bool kernel_counts_votes(const struct kernel *kernel)
{
    for (unsigned i = 0; i < kernel->barrier_count; i++) {
        const struct block *block = &kernel->blocks[kernel->barrier_blocks[i]];
        if (!LLVMIsNull(LLVMGetOperand(block->barrier_call, 0)))
            return true;
    }
    return false;
}
