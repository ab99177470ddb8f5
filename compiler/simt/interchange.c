// Loops in which a thread steps over the whole grid,
//
//     for (i = its number; i < n; i += threads of the grid)
//
// run chunk by chunk: a chunk would go through all memory in steps of pages
// before the next one reads the bytes beside its own. This pass puts a barrier
// into such loops, in memory form, so that the chunks of a block take every
// round together and read what lies in a row:
//
//     for (base = 0; base < n; base += step) {
//         if (its number < n - base)
//             the body, with i = base + its number
//         barrier, in every few rounds
//     }
//
// All blocks count alike, so that several can go through it together (group.c).
// A few rounds at a time, because what threads keep from one round to the next
// then stays in registers, and because memory is fastest when it is read in
// several places at once. No sum here passes n, so none wraps.
#include "ir.h"

// Rows of memory that a chunk goes along at once, as processors can follow.
enum { ROWS_MOST = 4 };

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
    unsigned rows;              // loads and stores of memory in a round
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
    return l->first && is_known_before(l, l->first) &&
           is_made_of(kernel, l->first, COUNTED_WITH_THREAD, 0);
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

static bool loads_memory(const struct kernel *kernel, LLVMValueRef at)
{
    return LLVMIsALoadInst(at) &&
           !map_get(&kernel->slot_of, LLVMGetOperand(at, 0)) &&
           !slots_is_argument_load(kernel, at);
}

static bool stores_memory(const struct kernel *kernel, LLVMValueRef at)
{
    return LLVMIsAStoreInst(at) &&
           !map_get(&kernel->slot_of, LLVMGetOperand(at, 1));
}

// One way out, no barriers, and memory of the grid is read.
static bool has_simple_body(struct stride_loop *l)
{
    const struct kernel *kernel = l->kernel;
    int axis;
    bool loads = false;
    l->rows = 0;
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
            loads |= loads_memory(kernel, at);
            l->rows += loads_memory(kernel, at) || stores_memory(kernel, at);
        }
        if (block->successor_count == 0)
            return false;
    }
    return loads;
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

static LLVMValueRef is_below(struct builder *b, const struct stride_loop *l,
                             LLVMValueRef index, LLVMValueRef limit)
{
    return LLVMBuildICmp(b->ir, LLVMGetICmpPredicate(l->compare), index, limit,
                         "");
}

// How far it is from the round's base, which is below, to the limit.
static LLVMValueRef room_above(struct builder *b, const struct stride_loop *l,
                               LLVMValueRef base)
{
    LLVMValueRef here = LLVMBuildLoad2(b->ir, b->type, base, "");
    return LLVMBuildSub(b->ir, again(b, l->limit), here, "");
}

// Whether there is a round after that of this base.
static LLVMValueRef is_another(struct builder *b, const struct stride_loop *l,
                               LLVMValueRef base)
{
    return is_below(b, l, again(b, l->step), room_above(b, l, base));
}

static void add(struct builder *b, LLVMValueRef variable, LLVMValueRef number,
                LLVMValueRef to)
{
    LLVMValueRef value = LLVMBuildLoad2(b->ir, b->type, variable, "");
    LLVMBuildStore(b->ir, LLVMBuildAdd(b->ir, value, number, ""), to);
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

static bool is_stored_inside(const struct stride_loop *l,
                             const struct slot *slot)
{
    for (unsigned i = 0; i < slot->store_count; i++)
        if (is_inside(l, slot->stores[i]))
            return true;
    return false;
}

// The variable that carries a value, which is computed in each round, to the
// next round, or NULL.
static struct slot *carrier_of(const struct stride_loop *l,
                               const struct slot *computed)
{
    const struct kernel *kernel = l->kernel;
    int back = l->back == NONE ? l->latch : l->back;
    for (unsigned i = 0; i < kernel->slot_count; i++) {
        struct slot *slot = &kernel->slots[i];
        if (slot->kind != SLOT_SIMPLE || slot->store_count != 2)
            continue;
        bool first_is_back =
            kernel_block_of(kernel, slot->stores[0]) == back;
        LLVMValueRef start = slot->stores[first_is_back];
        LLVMValueRef next = LLVMGetOperand(slot->stores[!first_is_back], 0);
        if (kernel_block_of(kernel, start) == l->before &&
            kernel_block_of(kernel, slot->stores[!first_is_back]) == back &&
            slots_loaded(kernel, next) == computed)
            return slot;
    }
    return NULL;
}

// Whether a value is made of what lies in memory, so that it differs between
// threads anyway.
static bool is_of_memory(const struct kernel *kernel, LLVMValueRef value,
                         int depth)
{
    value = slots_resolve(kernel, value);
    if (depth > 8 || !LLVMIsAInstruction(value))
        return false;
    if (loads_memory(kernel, value))
        return true;
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        if (is_of_memory(kernel, LLVMGetOperand(value, (unsigned)i),
                         depth + 1))
            return true;
    return false;
}

// After the loop, sums are read from what carries them from round to round:
// barriers then keep them once.
static void read_carriers(const struct stride_loop *l)
{
    const struct kernel *kernel = l->kernel;
    for (unsigned i = 0; i < kernel->slot_count; i++) {
        struct slot *slot = &kernel->slots[i];
        if (slot->kind != SLOT_SIMPLE || slot->store_count != 1 ||
            !is_inside(l, slot->stores[0]) || !is_read_outside(l, slot, NONE) ||
            !is_of_memory(kernel, LLVMGetOperand(slot->stores[0], 0), 0))
            continue;
        struct slot *carrier = carrier_of(l, slot);
        if (carrier)
            slots_read_other(kernel, slot, carrier, &l->loop->blocks);
    }
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

// The blocks of the new loop, and its variables.
struct changed {
    LLVMBasicBlockRef begin, set, round, done, again, sync, next, end;
    LLVMValueRef base, count;  // of the round; rounds since the barrier
};

static struct changed make_blocks(struct builder *b)
{
    struct changed c;
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(b->kernel->function);
    LLVMPositionBuilderBefore(b->ir, LLVMGetFirstInstruction(entry));
    c.base = LLVMBuildAlloca(b->ir, b->type, "base");
    c.count = LLVMBuildAlloca(b->ir, b->type, "count");
    c.begin = start(b, "stride.begin");
    c.set = start(b, "stride.set");
    c.round = start(b, "stride.round");
    c.done = start(b, "stride.done");
    c.again = start(b, "stride.again");
    c.sync = start(b, "stride.sync");
    c.next = start(b, "stride.next");
    c.end = start(b, "stride.end");
    return c;
}

// From the begin to the body, which every thread leaves for `done`.
static void build_round(struct builder *b, const struct stride_loop *l,
                        const struct changed *c)
{
    LLVMValueRef zero = LLVMConstNull(b->type);
    LLVMPositionBuilderAtEnd(b->ir, c->begin);
    LLVMBuildStore(b->ir, zero, c->base);
    LLVMBuildCondBr(b->ir, is_below(b, l, zero, again(b, l->limit)), c->set,
                    c->end);
    LLVMPositionBuilderAtEnd(b->ir, c->set);
    LLVMBuildStore(b->ir, zero, c->count);
    LLVMBuildBr(b->ir, c->round);
    LLVMPositionBuilderAtEnd(b->ir, c->round);
    LLVMValueRef own = again(b, l->first);
    add(b, c->base, own, l->index->alloca);
    LLVMBuildCondBr(b->ir, is_below(b, l, own, room_above(b, l, c->base)),
                    l->kernel->blocks[l->header].ir, c->done);
}

// Marks the loop of the rounds between two barriers with their number.
static unsigned rounds_kind(const struct kernel *kernel)
{
    return LLVMGetMDKindIDInContext(kernel->context, "rnl.rounds", 10);
}

static void mark_rounds(const struct stride_loop *l, LLVMBasicBlockRef header,
                        LLVMValueRef rounds)
{
    LLVMContextRef context = l->kernel->context;
    LLVMMetadataRef number = LLVMValueAsMetadata(rounds);
    LLVMSetMetadata(LLVMGetBasicBlockTerminator(header),
                    rounds_kind(l->kernel),
                    LLVMMetadataAsValue(
                        context, LLVMMDNodeInContext2(context, &number, 1)));
}

// What comes after the body.
static void build_rest(struct builder *b, const struct stride_loop *l,
                       const struct changed *c)
{
    LLVMValueRef most =
        LLVMConstInt(b->type, l->rows < ROWS_MOST ? ROWS_MOST / l->rows : 1, 0);
    LLVMPositionBuilderAtEnd(b->ir, c->done);
    add(b, c->count, LLVMConstInt(b->type, 1, 0), c->count);
    LLVMValueRef count = LLVMBuildLoad2(b->ir, b->type, c->count, "");
    LLVMValueRef fewer = LLVMBuildICmp(b->ir, LLVMIntULT, count, most, "");
    LLVMValueRef both =
        LLVMBuildAnd(b->ir, fewer, is_another(b, l, c->base), "");
    LLVMBuildCondBr(b->ir, both, c->again, c->sync);
    mark_rounds(l, c->round, most);
    LLVMPositionBuilderAtEnd(b->ir, c->again);
    add(b, c->base, again(b, l->step), c->base);
    LLVMBuildBr(b->ir, c->round);
    LLVMPositionBuilderAtEnd(b->ir, c->sync);
    call_barrier(b);
    LLVMBuildCondBr(b->ir, is_another(b, l, c->base), c->next, c->end);
    LLVMPositionBuilderAtEnd(b->ir, c->next);
    add(b, c->base, again(b, l->step), c->base);
    LLVMBuildBr(b->ir, c->set);
    // Threads leave by the way they would have left.
    LLVMPositionBuilderAtEnd(b->ir, c->end);
    LLVMValueRef ran = is_below(b, l, again(b, l->first), again(b, l->limit));
    LLVMBuildCondBr(b->ir, ran, l->kernel->blocks[l->left].ir,
                    l->kernel->blocks[l->skipped].ir);
}

static void change(struct stride_loop *l)
{
    const struct kernel *kernel = l->kernel;
    struct builder b = {.ir = LLVMCreateBuilderInContext(kernel->context),
                        .kernel = kernel, .type = l->index->type};
    read_carriers(l);
    mark_late_slots(l);
    struct changed c = make_blocks(&b);
    build_round(&b, l, &c);
    build_rest(&b, l, &c);
    LLVMInstructionEraseFromParent(l->advance);
    always_lead(&b, l->guard, kernel->blocks[l->before].ir);
    lead(kernel, l->before, 0, c.begin);
    if (l->back == NONE) {
        always_lead(&b, l->latch, c.done);
    } else {
        always_lead(&b, l->latch, kernel->blocks[l->back].ir);
        lead(kernel, l->back, 0, c.done);
    }
    LLVMDisposeBuilder(b.ir);
}

unsigned interchange_rounds(const struct kernel *kernel, int loop)
{
    if (loop == NONE)
        return 0;
    const struct block *header = &kernel->blocks[kernel->loops[loop].header];
    LLVMValueRef mark = LLVMGetMetadata(
        LLVMGetBasicBlockTerminator(header->ir), rounds_kind(kernel));
    LLVMValueRef rounds;
    if (!mark)
        return 0;
    LLVMGetMDNodeOperands(mark, &rounds);
    return (unsigned)LLVMConstIntGetZExtValue(rounds);
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
