// Stores past the caches. A launch that writes more than a cache holds, over
// arrays that it does not read, only drives out what others need there; and
// each line is read from memory before it is written. Whole lines can be
// written without either. That gains where a kernel does little else and writes
// each place once.
#include "emit.h"

// Bytes that the threads of a launch write by one store, above which lines are
// not kept; bytes of a line; instructions for each store, of a kernel or a loop
// that memory holds up.
enum { KEPT_MOST = 16 << 20, LINE = 64, BRIEF_MOST = 80 };

// --- Arrays ------------------------------------------------------------------

LLVMValueRef stream_array(const struct kernel *kernel, LLVMValueRef address)
{
    address = slots_resolve(kernel, address);
    while (LLVMIsAGetElementPtrInst(address))
        address = slots_resolve(kernel, LLVMGetOperand(address, 0));
    return LLVMIsALoadInst(address) && slots_is_argument_load(kernel, address)
               ? address : NULL;
}

// Whether an instruction reads no array but others, and is no way to tell other
// blocks that something has been written, which these stores would miss.
static bool spares(const struct emitter *e, LLVMValueRef at, LLVMValueRef array)
{
    int axis;
    switch (LLVMGetInstructionOpcode(at)) {
    case LLVMFence: case LLVMAtomicRMW: case LLVMAtomicCmpXchg:
        return false;
    case LLVMCall:
        return primitive_of(at, &axis) != PRIMITIVE_NONE ||
               is_ignored_call(at) || calls_are_alike(at);
    case LLVMStore:
        return !LLVMGetVolatile(at) &&
               LLVMGetOrdering(at) == LLVMAtomicOrderingNotAtomic;
    case LLVMLoad:
        break;
    default:
        return true;
    }
    LLVMValueRef address = LLVMGetOperand(at, 0);
    if (LLVMGetVolatile(at) ||
        LLVMGetOrdering(at) != LLVMAtomicOrderingNotAtomic)
        return false;
    if (map_get(&e->kernel->slot_of, address) ||
        slots_is_argument_load(e->kernel, at) ||
        access_is_shared((struct emitter *)e, address, 0))
        return true;
    LLVMValueRef other = stream_array(e->kernel, address);
    return other && other != array;
}

static bool is_only_written(const struct emitter *e, LLVMValueRef array)
{
    const struct kernel *kernel = e->kernel;
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at))
            if (!spares(e, at, array))
                return false;
    return true;
}

// --- Loops -------------------------------------------------------------------

// Whether a value is made from what a variable holds.
static bool is_made_from(const struct kernel *kernel, LLVMValueRef value,
                         const struct slot *slot, int depth)
{
    value = slots_resolve(kernel, value);
    if (depth > 8 || !LLVMIsAInstruction(value))
        return false;
    if (LLVMIsALoadInst(value))
        return slots_loaded(kernel, value) == slot;
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        if (is_made_from(kernel, LLVMGetOperand(value, (unsigned)i), slot,
                         depth + 1))
            return true;
    return false;
}

// Whether the loop, and not one inside of it, counts a variable on.
static bool counts(const struct kernel *kernel, int loop,
                   const struct slot *slot)
{
    for (unsigned i = 0; i < slot->store_count; i++) {
        LLVMValueRef store = slot->stores[i];
        if (kernel->blocks[kernel_block_of(kernel, store)].loop == loop &&
            is_made_from(kernel, LLVMGetOperand(store, 0), slot, 0))
            return true;
    }
    return false;
}

// Whether a value is made from a variable that the loop counts on.
static bool is_counted(const struct kernel *kernel, int loop,
                       LLVMValueRef value, int depth)
{
    value = slots_resolve(kernel, value);
    if (depth > 8 || !LLVMIsAInstruction(value))
        return false;
    const struct slot *slot = slots_loaded(kernel, value);
    if (slot)
        return counts(kernel, loop, slot);
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        if (is_counted(kernel, loop, LLVMGetOperand(value, (unsigned)i),
                       depth + 1))
            return true;
    return false;
}

static unsigned size_of_loop(const struct kernel *kernel,
                             const struct loop *loop)
{
    unsigned size = 0;
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at && set_has(&loop->blocks, i); at = LLVMGetNextInstruction(at))
            size++;
    return size;
}

// Whether memory holds up what is done for each store, and each is to another
// place. In loops threads go far from each other: only where one store writes
// a whole line.
static bool is_brief(const struct kernel *kernel, LLVMValueRef at)
{
    int l = kernel->blocks[kernel_block_of(kernel, at)].loop;
    if (l == NONE)
        return kernel->loop_count == 0 && kernel->size <= BRIEF_MOST;
    if (target_vector_bytes() < LINE ||
        size_of_loop(kernel, &kernel->loops[l]) > BRIEF_MOST)
        return false;
    for (; l != NONE; l = kernel->loops[l].parent)
        if (!is_counted(kernel, l, LLVMGetOperand(at, 1), 0))
            return false;
    return true;
}

// --- The stores --------------------------------------------------------------

bool stream_fits(struct emitter *e, LLVMValueRef at, LLVMValueRef value)
{
    uint64_t size = LLVMABISizeOfType(e->kernel->layout, LLVMTypeOf(value));
    if (target_vector_bytes() == 0 || size % LINE != 0 ||
        !is_brief(e->kernel, at))
        return false;
    LLVMValueRef array = stream_array(e->kernel, LLVMGetOperand(at, 1));
    return array && is_only_written(e, array);
}

// Whether the launch has as many threads: found once.
static LLVMValueRef has_threads(struct emitter *e, uint64_t least)
{
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(e->begin));
    LLVMValueRef count = number64(e, 1);
    for (unsigned i = 0; i < 3; i++) {
        LLVMValueRef blocks = LLVMBuildZExt(b, e->grid_size[i], e->i64, "");
        LLVMValueRef threads = LLVMBuildZExt(b, e->block_size[i], e->i64, "");
        count = LLVMBuildMul(b, count, LLVMBuildMul(b, blocks, threads, ""),
                             "");
    }
    LLVMValueRef many =
        LLVMBuildICmp(b, LLVMIntUGE, count, number64(e, least), "");
    position(e, here);
    return many;
}

static LLVMValueRef begins_line(struct emitter *e, LLVMValueRef address)
{
    LLVMValueRef number =
        LLVMBuildPtrToInt(e->builder, address, e->i64, "");
    LLVMValueRef rest =
        LLVMBuildAnd(e->builder, number, number64(e, LINE - 1), "");
    return LLVMBuildICmp(e->builder, LLVMIntEQ, rest, number64(e, 0), "");
}

void stream_store(struct emitter *e, LLVMValueRef at, LLVMValueRef value,
                  LLVMValueRef address)
{
    LLVMBuilderRef b = e->builder;
    uint64_t size = LLVMABISizeOfType(e->kernel->layout, LLVMTypeOf(value));
    LLVMBasicBlockRef past = append(e, "past"), into = append(e, "into");
    LLVMBasicBlockRef end = append(e, "stored");
    LLVMValueRef many = has_threads(e, KEPT_MOST * (uint64_t)e->width / size);
    LLVMBuildCondBr(b, LLVMBuildAnd(b, many, begins_line(e, address), ""),
                    past, into);
    position(e, past);
    LLVMValueRef store = LLVMBuildStore(b, value, address);
    LLVMValueRef one = number32(e, 1);
    unsigned kind = LLVMGetMDKindIDInContext(e->context, "nontemporal", 11);
    LLVMMetadataRef node = LLVMValueAsMetadata(one);
    node = LLVMMDNodeInContext2(e->context, &node, 1);
    LLVMSetMetadata(store, kind, LLVMMetadataAsValue(e->context, node));
    LLVMSetAlignment(store, LINE);
    apart_mark(e, LLVMGetOperand(at, 1), store);
    LLVMBuildBr(b, end);
    position(e, into);
    store = LLVMBuildStore(b, value, address);
    LLVMSetAlignment(store, LLVMGetAlignment(at));
    apart_mark(e, LLVMGetOperand(at, 1), store);
    LLVMBuildBr(b, end);
    position(e, end);
    e->streams = true;
}

// Such stores become visible in any order, until here. The fence of all
// processors, so that nothing here is of one.
void stream_end(struct emitter *e)
{
    if (e->streams)
        LLVMBuildFence(e->builder, LLVMAtomicOrderingSequentiallyConsistent, 0,
                       "");
}
