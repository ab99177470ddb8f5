// Loops in which a thread steps over the whole grid,
//
//     for (i = its number; i < n; i += threads of the grid)
//
// run chunk by chunk: a chunk would go through all memory in steps of pages
// before the next one reads the bytes beside its own. This pass puts a barrier
// into such loops, in memory form, so that the chunks of a block take every
// round together and read what lies in a row:
//
//     for (base = i of thread 0; base < n; base += step) {
//         if (base + thread < n)
//             the body
//         barrier
//     }
#include "ir.h"

enum { ROUNDS_AHEAD = 4 };

// A loop of that form. Slots with one store stand for the value stored.
struct stride_loop {
    struct kernel *kernel;
    const struct loop *loop;
    int guard, before, header, latch, back;  // back: NONE if it is the latch
    int skipped, left;          // where threads go that have no round; at last
    LLVMValueRef compare;       // of the latch
    struct slot *index;
    LLVMValueRef limit, step;   // constants or loads of such slots
    LLVMValueRef first;         // index of the first round
    LLVMValueRef advance;       // the store of the next one's
    LLVMValueRef thread;        // the call that gives the thread's x
};

// --- Values ------------------------------------------------------------------

// What can be had again at any place.
static bool is_portable(const struct kernel *kernel, LLVMValueRef value)
{
    struct slot *slot = slots_loaded(kernel, value);
    return LLVMIsAConstantInt(value) || (slot && slot->store_count == 1);
}

// What a value may be made of: of anything that is the same in all threads of a
// block; of indices, sizes and small constants, so that it neither wraps nor
// shrinks; or of those and, once, the thread's x.
enum made_of { ALIKE, COUNTED, COUNTED_WITH_THREAD };

static bool is_made_of(const struct kernel *kernel, LLVMValueRef value,
                       enum made_of what, int depth);

static bool call_is_made_of(LLVMValueRef call, enum made_of what)
{
    int axis = 0;
    switch (primitive_of(call, &axis)) {
    case PRIMITIVE_THREAD:
        return what == COUNTED_WITH_THREAD && axis == 0;
    case PRIMITIVE_BLOCK: case PRIMITIVE_BLOCK_SIZE: case PRIMITIVE_GRID_SIZE:
        return what != COUNTED_WITH_THREAD;
    default:
        return false;
    }
}

static bool parts_are_made_of(const struct kernel *kernel, LLVMValueRef value,
                              enum made_of one, enum made_of other, int depth)
{
    return is_made_of(kernel, LLVMGetOperand(value, 0), one, depth + 1) &&
           is_made_of(kernel, LLVMGetOperand(value, 1), other, depth + 1);
}

static bool is_made_of(const struct kernel *kernel, LLVMValueRef value,
                       enum made_of what, int depth)
{
    value = slots_resolve(kernel, value);
    if (LLVMIsAConstantInt(value))
        return what == ALIKE ||
               (what == COUNTED && LLVMConstIntGetSExtValue(value) >= 0 &&
                LLVMConstIntGetSExtValue(value) < 1 << 20);
    if (depth > 8 || !LLVMIsAInstruction(value))
        return false;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMOr:
        if (!LLVMGetIsDisjoint(value))
            return false;
        // fall through
    case LLVMAdd:
        if (what != COUNTED_WITH_THREAD)
            return parts_are_made_of(kernel, value, what, what, depth);
        return parts_are_made_of(kernel, value, what, COUNTED, depth) ||
               parts_are_made_of(kernel, value, COUNTED, what, depth);
    case LLVMMul: case LLVMShl:
        return what != COUNTED_WITH_THREAD &&
               parts_are_made_of(kernel, value, what, what, depth);
    case LLVMSub:
        return what == ALIKE &&
               parts_are_made_of(kernel, value, what, what, depth);
    case LLVMSExt: case LLVMZExt:
        return is_made_of(kernel, LLVMGetOperand(value, 0), what, depth + 1);
    case LLVMLoad:
        return what == ALIKE && slots_is_argument_load(kernel, value);
    case LLVMCall:
        return call_is_made_of(value, what);
    default:
        return false;
    }
}

static LLVMValueRef thread_call(const struct kernel *kernel,
                                LLVMValueRef value)
{
    int axis = 0;
    value = slots_resolve(kernel, value);
    if (!LLVMIsAInstruction(value))
        return NULL;
    if (LLVMIsACallInst(value))
        return primitive_of(value, &axis) == PRIMITIVE_THREAD ? value : NULL;
    LLVMValueRef found = NULL;
    for (unsigned i = 0;
         !found && i < (unsigned)LLVMGetNumOperands(value); i++)
        found = thread_call(kernel, LLVMGetOperand(value, i));
    return found;
}

// --- Finding them ------------------------------------------------------------

static bool find_edges(struct stride_loop *l)
{
    const struct kernel *kernel = l->kernel;
    const struct block *header = &kernel->blocks[l->header];
    if (header->predecessor_count != 2)
        return false;
    bool first_inside =
        set_has(&l->loop->blocks, (unsigned)header->predecessors[0]);
    l->before = header->predecessors[first_inside];
    l->back = header->predecessors[!first_inside];
    l->latch = l->back;
    if (set_has(&l->loop->blocks, (unsigned)l->before) ||
        !set_has(&l->loop->blocks, (unsigned)l->back))
        return false;
    const struct block *back = &kernel->blocks[l->back];
    if (back->successor_count == 2)
        l->back = NONE;
    else if (back->predecessor_count == 1)
        l->latch = back->predecessors[0];
    const struct block *latch = &kernel->blocks[l->latch];
    if (latch->successor_count != 2 ||
        latch->successors[0] != (l->back == NONE ? l->header : l->back) ||
        set_has(&l->loop->blocks, (unsigned)latch->successors[1]))
        return false;
    l->left = latch->successors[1];
    return true;
}

// Whether all threads come to the guard, once.
static bool all_come(const struct kernel *kernel, int guard)
{
    int at = 0;
    for (unsigned i = 0; at != guard && i < kernel->block_count; i++) {
        if (kernel->blocks[at].successor_count != 1)
            return false;
        at = kernel->blocks[at].successors[0];
    }
    return at == guard && kernel->blocks[guard].loop == NONE;
}

static bool is_inside(const struct stride_loop *l, LLVMValueRef instruction)
{
    int block = kernel_block_of(l->kernel, instruction);
    return set_has(&l->loop->blocks, (unsigned)block);
}

// Whether a slot is read elsewhere than in the loop and one more block (NONE:
// no other).
static bool is_read_outside(const struct stride_loop *l,
                            const struct slot *slot, int block)
{
    for (unsigned i = 0; slot && i < slot->load_count; i++)
        if (!is_inside(l, slot->loads[i]) &&
            kernel_block_of(l->kernel, slot->loads[i]) != block)
            return true;
    return false;
}

static bool is_harmless(const struct stride_loop *l, int number,
                        LLVMValueRef at)
{
    const struct kernel *kernel = l->kernel;
    const struct slot *slot;
    switch (LLVMGetInstructionOpcode(at)) {
    case LLVMLoad:
        return slots_loaded(kernel, at) || slots_is_argument_load(kernel, at);
    case LLVMStore:
        slot = slots_simple(kernel, LLVMGetOperand(at, 1));
        return slot && !is_read_outside(l, slot, number);
    case LLVMCall:
        return slots_is_index(at) || is_ignored_call(at);
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMLShr:
    case LLVMAShr: case LLVMAnd: case LLVMOr: case LLVMXor: case LLVMSExt:
    case LLVMZExt: case LLVMTrunc: case LLVMBitCast: case LLVMICmp:
    case LLVMSelect: case LLVMGetElementPtr: case LLVMBr: case LLVMFAdd:
    case LLVMFSub: case LLVMFMul: case LLVMSIToFP: case LLVMUIToFP:
        return true;
    default:
        return false;
    }
}

// Whether a block may also run in threads, or rounds, that did not come to it.
static bool all_harmless(const struct stride_loop *l, int number)
{
    LLVMBasicBlockRef block = l->kernel->blocks[number].ir;
    for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
         at = LLVMGetNextInstruction(at))
        if (!is_harmless(l, number, at))
            return false;
    return true;
}

static bool find_guard(struct stride_loop *l)
{
    const struct kernel *kernel = l->kernel;
    const struct block *before = &kernel->blocks[l->before];
    if (before->successor_count != 1 || before->predecessor_count != 1 ||
        before->barrier != NONE || !all_harmless(l, l->before) ||
        (l->back != NONE && !all_harmless(l, l->back)))
        return false;
    l->guard = before->predecessors[0];
    const struct block *guard = &kernel->blocks[l->guard];
    l->skipped = guard->successor_count == 2 ? guard->successors[1] : NONE;
    return l->skipped != NONE && guard->successors[0] == l->before &&
           all_come(kernel, l->guard);
}

// i < n, or what does the same.
static bool read_compare(const struct kernel *kernel, LLVMValueRef condition,
                         LLVMValueRef *compare, LLVMIntPredicate *how)
{
    *compare = slots_resolve(kernel, condition);
    if (!LLVMIsAICmpInst(*compare))
        return false;
    *how = LLVMGetICmpPredicate(*compare);
    return *how == LLVMIntSLT || *how == LLVMIntSLE || *how == LLVMIntULT ||
           *how == LLVMIntULE;
}

// Can be had again at any place, and is there before the loop.
static bool is_known_before(const struct stride_loop *l, LLVMValueRef value)
{
    const struct slot *slot = slots_loaded(l->kernel, value);
    return is_portable(l->kernel, value) &&
           (!slot || !is_inside(l, slot->stores[0]));
}

static bool find_index(struct stride_loop *l)
{
    const struct kernel *kernel = l->kernel;
    LLVMIntPredicate how;
    if (!read_compare(kernel, kernel->blocks[l->latch].condition, &l->compare,
                      &how))
        return false;
    LLVMValueRef next = slots_resolve(kernel, LLVMGetOperand(l->compare, 0));
    l->limit = LLVMGetOperand(l->compare, 1);
    if (!LLVMIsAInstruction(next) ||
        LLVMGetInstructionOpcode(next) != LLVMAdd)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        l->index = slots_loaded(kernel, LLVMGetOperand(next, i));
        l->step = LLVMGetOperand(next, 1 - i);
        if (l->index && l->index->store_count == 2)
            break;
        l->index = NULL;
    }
    if (!l->index || !is_known_before(l, l->step) ||
        !is_known_before(l, l->limit) ||
        !is_made_of(kernel, l->step, COUNTED, 0) ||
        !is_made_of(kernel, l->limit, ALIKE, 0))
        return false;
    for (unsigned i = 0; i < 2; i++) {
        int block = kernel_block_of(kernel, l->index->stores[i]);
        LLVMValueRef stored = LLVMGetOperand(l->index->stores[i], 0);
        if (block == l->before)
            l->first = stored;
        else if (block == (l->back == NONE ? l->latch : l->back) &&
                 slots_resolve(kernel, stored) == next)
            l->advance = l->index->stores[i];
        else
            return false;
    }
    if (!l->first || !is_known_before(l, l->first) ||
        !is_made_of(kernel, l->first, COUNTED_WITH_THREAD, 0))
        return false;
    l->thread = thread_call(kernel, l->first);
    return l->thread != NULL;
}

// The guard asks of the first round what the latch asks of the next ones.
static bool guard_agrees(const struct stride_loop *l)
{
    const struct kernel *kernel = l->kernel;
    LLVMValueRef compare;
    LLVMIntPredicate how;
    return read_compare(kernel, kernel->blocks[l->guard].condition, &compare,
                        &how) &&
           how == LLVMGetICmpPredicate(l->compare) &&
           slots_resolve(kernel, LLVMGetOperand(compare, 0)) ==
               slots_resolve(kernel, l->first) &&
           slots_resolve(kernel, LLVMGetOperand(compare, 1)) ==
               slots_resolve(kernel, l->limit);
}

// One way out, no barriers, and memory of the grid is read or written.
static bool has_simple_body(const struct stride_loop *l)
{
    const struct kernel *kernel = l->kernel;
    bool reaches_memory = false;
    int axis;
    for (unsigned b = 0; b < kernel->block_count; b++) {
        const struct block *block = &kernel->blocks[b];
        if (!set_has(&l->loop->blocks, b))
            continue;
        for (unsigned i = 0; i < block->successor_count; i++)
            if ((int)b != l->latch &&
                !set_has(&l->loop->blocks, (unsigned)block->successors[i]))
                return false;
        for (LLVMValueRef at = LLVMGetFirstInstruction(block->ir); at;
             at = LLVMGetNextInstruction(at)) {
            enum primitive primitive = primitive_of(at, &axis);
            if (primitive == PRIMITIVE_SYNC || primitive == PRIMITIVE_WARP ||
                primitive == PRIMITIVE_SPIN || primitive == PRIMITIVE_YIELD)
                return false;
            if (LLVMIsALoadInst(at))
                reaches_memory |=
                    !map_get(&kernel->slot_of, LLVMGetOperand(at, 0)) &&
                    !slots_is_argument_load(kernel, at);
        }
        if (block->successor_count == 0)
            return false;
    }
    return reaches_memory;
}

static bool find_stride_loop(struct stride_loop *l)
{
    return l->loop->parent == NONE && find_edges(l) && find_guard(l) &&
           find_index(l) && guard_agrees(l) && has_simple_body(l) &&
           !is_read_outside(l, l->index, NONE) &&
           !is_read_outside(l, slots_loaded(l->kernel,
                                            LLVMGetOperand(l->compare, 0)),
                            NONE);
}

// --- Changing them -----------------------------------------------------------

struct builder {
    LLVMBuilderRef ir;
    const struct kernel *kernel;
    LLVMTypeRef type;           // of the index
};

static LLVMBasicBlockRef start(struct builder *b, const char *name)
{
    LLVMBasicBlockRef block = LLVMAppendBasicBlockInContext(
        b->kernel->context, b->kernel->function, name);
    LLVMPositionBuilderAtEnd(b->ir, block);
    return block;
}

static LLVMValueRef again(struct builder *b, LLVMValueRef portable)
{
    if (!LLVMIsALoadInst(portable))
        return portable;
    LLVMValueRef slot = LLVMGetOperand(portable, 0);
    return LLVMBuildLoad2(b->ir, LLVMTypeOf(portable), slot, "");
}

// An index made anew for the block's thread 0.
static LLVMValueRef without_thread(struct builder *b, LLVMValueRef value)
{
    int axis = 0;
    if (is_portable(b->kernel, value) &&
        is_made_of(b->kernel, value, COUNTED, 0))
        return again(b, value);
    value = slots_resolve(b->kernel, value);
    if (!LLVMIsAInstruction(value))
        return value;
    if (primitive_of(value, &axis) == PRIMITIVE_THREAD)
        return LLVMConstNull(LLVMTypeOf(value));
    LLVMValueRef parts[8];
    int count = LLVMIsACallInst(value) ? 0 : LLVMGetNumOperands(value);
    for (int i = 0; i < count; i++)
        parts[i] = without_thread(b, LLVMGetOperand(value, (unsigned)i));
    LLVMValueRef clone = LLVMInstructionClone(value);
    for (int i = 0; i < count; i++)
        LLVMSetOperand(clone, (unsigned)i, parts[i]);
    LLVMInsertIntoBuilder(b->ir, clone);
    return clone;
}

static LLVMValueRef thread_index(struct builder *b, const struct stride_loop *l)
{
    LLVMValueRef callee = LLVMGetCalledValue(l->thread);
    LLVMValueRef x = LLVMBuildCall2(b->ir, LLVMGlobalGetValueType(callee),
                                    callee, NULL, 0, "");
    return LLVMBuildZExtOrBitCast(b->ir, x, b->type, "");
}

static LLVMValueRef is_below(struct builder *b, const struct stride_loop *l,
                             LLVMValueRef index)
{
    return LLVMBuildICmp(b->ir, LLVMGetICmpPredicate(l->compare), index,
                         again(b, l->limit), "");
}

static void call_barrier(struct builder *b)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->kernel->context);
    LLVMTypeRef types[] = {i32, i32};
    LLVMTypeRef type = LLVMFunctionType(i32, types, 2, 0);
    LLVMValueRef function = LLVMGetNamedFunction(b->kernel->module, "rnl_sync");
    LLVMValueRef none[] = {LLVMConstNull(i32), LLVMConstNull(i32)};
    if (!function)
        function = LLVMAddFunction(b->kernel->module, "rnl_sync", type);
    LLVMBuildCall2(b->ir, type, function, none, 2, "");
}

static void lead(const struct kernel *kernel, int from, unsigned way,
                 LLVMBasicBlockRef to)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(kernel->blocks[from].ir);
    LLVMSetSuccessor(end, way, to);
}

static void always_lead(struct builder *b, int from, LLVMBasicBlockRef to)
{
    LLVMBasicBlockRef block = b->kernel->blocks[from].ir;
    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(block));
    LLVMPositionBuilderAtEnd(b->ir, block);
    LLVMBuildBr(b->ir, to);
}

// Of an address made from the loop's index: the place of the index among the
// operands, or 0.
static unsigned index_place(const struct stride_loop *l, LLVMValueRef address)
{
    if (!LLVMIsAGetElementPtrInst(address))
        return 0;
    unsigned place = (unsigned)LLVMGetNumOperands(address) - 1;
    LLVMValueRef index = LLVMGetOperand(address, place);
    if (LLVMIsASExtInst(index) || LLVMIsAZExtInst(index))
        index = LLVMGetOperand(index, 0);
    return slots_loaded(l->kernel, index) == l->index ? place : 0;
}

// Rounds are too far apart for processors to foresee where the next one reads.
static void ask_for_next_round(struct builder *b, const struct stride_loop *l,
                               LLVMValueRef load)
{
    LLVMValueRef address = LLVMGetOperand(load, 0);
    unsigned place = index_place(l, address);
    if (place == 0)
        return;
    LLVMPositionBuilderBefore(b->ir, load);
    LLVMValueRef wide = LLVMGetOperand(address, place);
    LLVMValueRef index = LLVMBuildLoad2(b->ir, b->type, l->index->alloca, "");
    LLVMValueRef ahead = LLVMBuildMul(
        b->ir, again(b, l->step), LLVMConstInt(b->type, ROUNDS_AHEAD, 0), "");
    index = LLVMBuildAdd(b->ir, index, ahead, "");
    if (LLVMTypeOf(wide) != b->type)
        index = LLVMBuildCast(b->ir, LLVMGetInstructionOpcode(wide), index,
                              LLVMTypeOf(wide), "");
    LLVMValueRef next = LLVMInstructionClone(address);
    LLVMSetOperand(next, place, index);
    LLVMInsertIntoBuilder(b->ir, next);
    LLVMTypeRef pointer = LLVMTypeOf(next);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(b->kernel->context);
    unsigned id = LLVMLookupIntrinsicID("llvm.prefetch", 13);
    LLVMValueRef function = LLVMGetIntrinsicDeclaration(b->kernel->module, id,
                                                        &pointer, 1);
    LLVMTypeRef type =
        LLVMIntrinsicGetType(b->kernel->context, id, &pointer, 1);
    LLVMValueRef arguments[] = {next, LLVMConstInt(i32, 0, 0),
                                LLVMConstInt(i32, 3, 0),
                                LLVMConstInt(i32, 1, 0)};
    LLVMBuildCall2(b->ir, type, function, arguments, 4, "");
}

static void ask_for_all(struct builder *b, const struct stride_loop *l)
{
    for (unsigned i = 0; i < l->kernel->block_count; i++) {
        if (!set_has(&l->loop->blocks, i))
            continue;
        LLVMBasicBlockRef block = l->kernel->blocks[i].ir;
        for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
             at = LLVMGetNextInstruction(at))
            if (LLVMIsALoadInst(at))
                ask_for_next_round(b, l, at);
    }
}

static bool is_stored_inside(const struct stride_loop *l,
                             const struct slot *slot)
{
    for (unsigned i = 0; i < slot->store_count; i++)
        if (is_inside(l, slot->stores[i]))
            return true;
    return false;
}

// All threads leave together now, but with what their own last round stored.
static void mark_late_slots(const struct stride_loop *l)
{
    const struct kernel *kernel = l->kernel;
    LLVMValueRef nothing = LLVMMetadataAsValue(
        kernel->context, LLVMMDNodeInContext2(kernel->context, NULL, 0));
    for (unsigned i = 0; i < kernel->slot_count; i++) {
        const struct slot *slot = &kernel->slots[i];
        if (slot->kind == SLOT_SIMPLE && is_stored_inside(l, slot) &&
            is_read_outside(l, slot, NONE))
            LLVMSetMetadata(slot->alloca, slots_late_kind(kernel), nothing);
    }
}

static void change(struct stride_loop *l)
{
    const struct kernel *kernel = l->kernel;
    struct builder b = {.ir = LLVMCreateBuilderInContext(kernel->context),
                        .kernel = kernel, .type = l->index->type};
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(kernel->function);
    LLVMPositionBuilderBefore(b.ir, LLVMGetFirstInstruction(entry));
    LLVMValueRef base = LLVMBuildAlloca(b.ir, b.type, "base");
    ask_for_all(&b, l);
    mark_late_slots(l);

    LLVMBasicBlockRef begin = start(&b, "stride.begin");
    LLVMBuildStore(b.ir, without_thread(&b, l->first), base);
    LLVMBasicBlockRef head = start(&b, "stride.head");
    LLVMBasicBlockRef round = start(&b, "stride.round");
    LLVMBasicBlockRef sync = start(&b, "stride.sync");
    LLVMBasicBlockRef end = start(&b, "stride.end");
    LLVMPositionBuilderAtEnd(b.ir, begin);
    LLVMBuildBr(b.ir, head);

    LLVMPositionBuilderAtEnd(b.ir, head);
    LLVMValueRef here = LLVMBuildLoad2(b.ir, b.type, base, "");
    LLVMBuildCondBr(b.ir, is_below(&b, l, here), round, end);

    LLVMPositionBuilderAtEnd(b.ir, round);
    here = LLVMBuildLoad2(b.ir, b.type, base, "");
    LLVMValueRef own = LLVMBuildAdd(b.ir, here, thread_index(&b, l), "");
    LLVMBuildStore(b.ir, own, l->index->alloca);
    LLVMBuildCondBr(b.ir, is_below(&b, l, own), kernel->blocks[l->header].ir,
                    sync);
    LLVMInstructionEraseFromParent(l->advance);

    LLVMPositionBuilderAtEnd(b.ir, sync);
    call_barrier(&b);
    here = LLVMBuildLoad2(b.ir, b.type, base, "");
    LLVMBuildStore(b.ir, LLVMBuildAdd(b.ir, here, again(&b, l->step), ""),
                   base);
    LLVMBuildBr(b.ir, head);

    // Threads leave by the way they would have left.
    LLVMPositionBuilderAtEnd(b.ir, end);
    LLVMBuildCondBr(b.ir, is_below(&b, l, again(&b, l->first)),
                    kernel->blocks[l->left].ir, kernel->blocks[l->skipped].ir);

    always_lead(&b, l->guard, kernel->blocks[l->before].ir);
    lead(kernel, l->before, 0, begin);
    if (l->back == NONE) {
        always_lead(&b, l->latch, sync);
    } else {
        always_lead(&b, l->latch, kernel->blocks[l->back].ir);
        lead(kernel, l->back, 0, sync);
    }
    LLVMDisposeBuilder(b.ir);
}

bool interchange_loops(struct kernel *kernel)
{
    for (unsigned i = 0; i < kernel->loop_count; i++) {
        struct stride_loop l = {.kernel = kernel, .loop = &kernel->loops[i],
                                .header = kernel->loops[i].header};
        if (find_stride_loop(&l)) {
            change(&l);
            return true;
        }
    }
    return false;
}
