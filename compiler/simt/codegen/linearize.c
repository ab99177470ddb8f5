// The control flow of a region. A branch with a uniform condition stays a
// branch. Behind a divergent branch, the blocks up to the reconvergence point
// run one after another, each under the mask of its active lanes (a chain).
#include "simt/codegen/codegen.h"
#include "simt/codegen/tuning.h"
#include "simt/widen/widen.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

#include <string.h>

// Blocks that lanes of a gang go through apart.
struct chain {
    int until;               // where they meet again, or NONE
    struct set blocks;
    struct set rejoined;     // those of them worth a copy without masks
    LLVMValueRef *masks;     // of each block: lanes that wait to enter it
    LLVMValueRef *again;     // of each loop's header: for the next iteration
    int *open;               // headers of the loops around the current block
    unsigned open_count;
    bool ends_threads;
};

static LLVMValueRef load_mask(struct emitter *e, LLVMValueRef memory)
{
    return LLVMBuildLoad2(e->builder, e->mask_type, memory, "");
}

static void add_to_mask(struct emitter *e, LLVMValueRef memory,
                        LLVMValueRef more)
{
    LLVMValueRef old = load_mask(e, memory);
    LLVMBuildStore(e->builder, LLVMBuildOr(e->builder, old, more, ""), memory);
}

static LLVMValueRef and_not(struct emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildAnd(e->builder, a, LLVMBuildNot(e->builder, b, ""), "");
}

static void leave(struct emitter *e, unsigned exit)
{
    set_add(&e->exits, exit);
    LLVMBuildStore(e->builder, number32(e, exit), e->exit);
    LLVMBuildBr(e->builder, e->done);
}

// --- Arriving at a barrier ---------------------------------------------------

static LLVMValueRef slot_address(struct emitter *e, unsigned slot)
{
    return at_offset(e, e->frame, e->offsets[slot]);
}

static bool is_kept(const struct emitter *e, int barrier, unsigned slot)
{
    return set_has(&e->kernel->live[barrier], slot) &&
           !e->kernel->slots[slot].remat;
}

// Has a slot wait for the next region.
static void keep(struct emitter *e, unsigned slot)
{
    LLVMValueRef value =
        LLVMBuildLoad2(e->builder, slot_type(e, slot), slot_memory(e, slot),
                       "");
    LLVMValueRef to = e->common_out[slot];
    alias_mark_frame(e, LLVMBuildStore(e->builder, value,
                                      to ? to : slot_address(e, slot)));
}

static void take_kept(struct emitter *e, unsigned slot)
{
    LLVMValueRef from = e->common_in[slot];
    LLVMValueRef value =
        LLVMBuildLoad2(e->builder, slot_type(e, slot),
                       from ? from : slot_address(e, slot), "");
    alias_mark_frame(e, value);
    LLVMBuildStore(e->builder, value, slot_memory(e, slot));
}

static void add_to(struct emitter *e, LLVMValueRef memory, LLVMValueRef mask)
{
    LLVMValueRef bits = mask_bits32(e, mask);
    LLVMValueRef count =
        call_intrinsic(e, "llvm.ctpop", &e->i32, 1, &bits, 1);
    LLVMValueRef old = LLVMBuildLoad2(e->builder, e->i32, memory, "");
    LLVMBuildStore(e->builder, LLVMBuildAdd(e->builder, old, count, ""),
                   memory);
}

static void count_votes(struct emitter *e, LLVMValueRef predicate)
{
    LLVMBuilderRef b = e->builder;
    if (!e->vote_count)
        return;
    LLVMValueRef vector = lanes_vector(e, predicate);
    LLVMValueRef yes = LLVMBuildICmp(b, LLVMIntNE, vector,
                                     LLVMConstNull(LLVMTypeOf(vector)), "");
    if (e->mask)
        yes = LLVMBuildAnd(b, LLVMBuildFreeze(b, yes, ""), e->mask, "");
    add_to(e, e->vote_count, yes);
    add_to(e, e->vote_total, e->mask);
}

static LLVMValueRef version_mask(struct emitter *e, enum version version)
{
    return version == PARTIAL ? load_mask(e, e->live) : NULL;
}

static void arrive(struct emitter *e, int number, enum version version)
{
    const struct block *block = &e->kernel->blocks[number];
    LLVMBuilderRef b = e->builder;
    map_clear(&e->values);
    e->in_chain = false;
    e->mask = version_mask(e, version);
    for (LLVMValueRef at = LLVMGetFirstInstruction(block->ir);
         at != block->barrier_call; at = LLVMGetNextInstruction(at))
        instruction_emit(e, at);
    count_votes(e, LLVMGetOperand(block->barrier_call, 1));
    for (unsigned s = 0; s < e->kernel->slot_count; s++)
        if (is_kept(e, block->barrier, s))
            keep(e, s);
    if (!e->uniform_barriers)
        LLVMBuildStore(b, mask_bits32(e, e->mask),
                       at_offset(e, e->frame, FRAME_LIVE));
    leave(e, (unsigned)block->barrier + 1);
}

// --- Going on ----------------------------------------------------------------

static LLVMBasicBlockRef block_for(struct emitter *e, int block,
                                   enum version version)
{
    LLVMBasicBlockRef *made = &e->blocks[version][block];
    if (!*made) {
        *made = append(e, version == FULL ? "full" : "partial");
        e->work = simt_grow(e->work, e->work_count, sizeof *e->work);
        e->work[e->work_count].block = block;
        e->work[e->work_count++].version = version;
    }
    return *made;
}

static void go_to(struct emitter *e, int block, enum version version)
{
    if (block == NONE || e->kernel->blocks[block].pure_return)
        leave(e, 0);
    else if (e->kernel->blocks[block].barrier != NONE)
        arrive(e, block, version);
    else
        LLVMBuildBr(e->builder, block_for(e, block, version));
}

// After some threads may have ended.
static void go_on_living(struct emitter *e, int block, enum version version)
{
    LLVMValueRef live = load_mask(e, e->live);
    LLVMBasicBlockRef some = append(e, "some"), none = append(e, "none");
    if (version == FULL) {
        LLVMBasicBlockRef all = append(e, "all"), fewer = append(e, "fewer");
        LLVMBuildCondBr(e->builder, mask_is_full(e, live), all, fewer);
        position(e, all);
        go_to(e, block, FULL);
        position(e, fewer);
    }
    LLVMBuildCondBr(e->builder, mask_any(e, live), some, none);
    position(e, none);
    leave(e, 0);
    position(e, some);
    go_to(e, block, PARTIAL);
}

// --- Chains ------------------------------------------------------------------

static bool is_open(const struct chain *chain, int block)
{
    for (unsigned i = 0; i < chain->open_count; i++)
        if (chain->open[i] == block)
            return true;
    return false;
}

static void end_threads(struct emitter *e, struct chain *chain,
                        LLVMValueRef mask)
{
    LLVMBuildStore(e->builder, and_not(e, load_mask(e, e->live), mask),
                   e->live);
    chain->ends_threads = true;
}

static void send(struct emitter *e, struct chain *chain, int to,
                 LLVMValueRef mask)
{
    if (to == chain->until)
        return;
    if (e->kernel->blocks[to].pure_return)
        end_threads(e, chain, mask);
    else
        add_to_mask(e, is_open(chain, to) ? chain->again[to]
                                          : chain->masks[to], mask);
}

static LLVMValueRef condition_of(struct emitter *e, const struct block *block)
{
    return LLVMBuildFreeze(e->builder, lanes_vector(e, block->condition), "");
}

static void leave_chain_block(struct emitter *e, struct chain *chain,
                              int number, LLVMValueRef mask)
{
    const struct block *block = &e->kernel->blocks[number];
    int meeting = e->kernel->reconvergence[number];
    LLVMValueRef sides[] = {mask, mask};
    if (block->successor_count == 0)
        end_threads(e, chain, mask);
    if (meeting != NONE && !reconvergence_is_done(e->kernel, number, meeting))
        send(e, chain, meeting, mask);
    if (block->successor_count == 2) {
        LLVMValueRef condition = condition_of(e, block);
        sides[0] = LLVMBuildAnd(e->builder, mask, condition, "");
        sides[1] = and_not(e, mask, condition);
    }
    for (unsigned s = 0; s < block->successor_count; s++)
        if (block->successors[s] != meeting &&
            !reconvergence_is_done(e->kernel, number, block->successors[s]))
            send(e, chain, block->successors[s], sides[s]);
}

static void emit_instructions(struct emitter *e, const struct block *block,
                              LLVMValueRef from)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block->ir);
    for (LLVMValueRef at = from; at != end; at = LLVMGetNextInstruction(at)) {
        debug_lines_at(e, at);
        instruction_emit(e, at);
    }
}

// Blocks that touch memory, which masks make slow.
static bool gains_without_mask(const struct block *block)
{
    unsigned count = 0, accesses = 0;
    for (LLVMValueRef at = LLVMGetFirstInstruction(block->ir); at;
         at = LLVMGetNextInstruction(at)) {
        LLVMValueRef address = accessed_address(at);
        accesses += address && !LLVMIsAAllocaInst(address);
        count++;
    }
    return accesses > 0 && count < UNMASKED_MOST;
}

static void emit_chain_body(struct emitter *e, struct chain *chain,
                            int number, LLVMValueRef mask,
                            LLVMBasicBlockRef next)
{
    const struct block *block = &e->kernel->blocks[number];
    map_clear(&e->values);
    e->mask = mask;
    e->in_chain = true;
    emit_instructions(e, block, LLVMGetFirstInstruction(block->ir));
    leave_chain_block(e, chain, number, mask_or_all(e, mask));
    LLVMBuildBr(e->builder, next);
}

static void emit_chain_block(struct emitter *e, struct chain *chain,
                             int number)
{
    const struct block *block = &e->kernel->blocks[number];
    LLVMBasicBlockRef body = append(e, "body"), next = append(e, "next");
    LLVMValueRef mask = load_mask(e, chain->masks[number]);
    LLVMBuildStore(e->builder, mask_none(e), chain->masks[number]);
    if (branch_side_is_short(e, number))
        LLVMBuildBr(e->builder, body);
    else
        LLVMBuildCondBr(e->builder, mask_any(e, mask), body, next);
    position(e, body);
    if (set_has(&chain->rejoined, (unsigned)number) &&
        gains_without_mask(block)) {
        LLVMBasicBlockRef all = append(e, "body.all");
        LLVMBasicBlockRef some = append(e, "body.some");
        LLVMBuildCondBr(e->builder, mask_is_full(e, mask), all, some);
        position(e, all);
        emit_chain_body(e, chain, number, NULL, next);
        position(e, some);
    }
    emit_chain_body(e, chain, number, mask, next);
    position(e, next);
}

static void emit_order(struct emitter *e, struct chain *chain,
                       const struct order *list);

static void emit_chain_loop(struct emitter *e, struct chain *chain,
                            const struct order *loop)
{
    int header = loop->block;
    LLVMBasicBlockRef iteration = append(e, "round"),
                      after = append(e, "after");
    LLVMBuildBr(e->builder, iteration);
    position(e, iteration);
    chain->open[chain->open_count++] = header;
    emit_chain_block(e, chain, header);
    emit_order(e, chain, loop->body);
    chain->open_count--;
    LLVMValueRef mask = load_mask(e, chain->again[header]);
    LLVMBuildStore(e->builder, mask, chain->masks[header]);
    LLVMBuildStore(e->builder, mask_none(e), chain->again[header]);
    LLVMBuildCondBr(e->builder, mask_any(e, mask), iteration, after);
    position(e, after);
}

static void emit_order(struct emitter *e, struct chain *chain,
                       const struct order *list)
{
    for (; list; list = list->next) {
        if (e->kernel->blocks[list->block].barrier != NONE)
            e->kernel->refusal =
                "a barrier stands where threads of a warp may go apart";
        else if (list->is_loop)
            emit_chain_loop(e, chain, list);
        else if (!e->kernel->blocks[list->block].pure_return)
            emit_chain_block(e, chain, list->block);
    }
}

static void make_masks(struct emitter *e, struct chain *chain)
{
    unsigned count = e->kernel->block_count;
    chain->masks = simt_allocate(count * sizeof *chain->masks);
    chain->again = simt_allocate(count * sizeof *chain->again);
    chain->open = simt_allocate(count * sizeof *chain->open);
    for (unsigned i = 0; i < count; i++) {
        if (!set_has(&chain->blocks, i))
            continue;
        chain->masks[i] = variable(e, e->mask_type, "mask");
        chain->again[i] = variable(e, e->mask_type, "again");
        LLVMBuildStore(e->builder, mask_none(e), chain->masks[i]);
        LLVMBuildStore(e->builder, mask_none(e), chain->again[i]);
    }
}

// The block where the order of a chain begins: lanes that start within a loop
// wait for each other at its header, so that they stay in the same iteration.
static int order_root(const struct emitter *e, const struct chain *chain,
                      int start)
{
    int root = start;
    for (int l = e->kernel->blocks[start].loop; l != NONE;
         l = e->kernel->loops[l].parent)
        if (set_has(&chain->blocks, (unsigned)e->kernel->loops[l].header))
            root = e->kernel->loops[l].header;
    return root;
}

// Blocks of a chain that all lanes may reach: the blocks that are reachable
// from each start.
static struct set find_rejoined(const struct kernel *kernel, const int *starts,
                                unsigned count, int until)
{
    struct set rejoined = cfg_between(kernel, starts, 1, until);
    for (unsigned i = 1; i < count; i++) {
        struct set other = cfg_between(kernel, &starts[i], 1, until);
        set_intersect(&rejoined, &other);
    }
    return rejoined;
}

static void emit_chain(struct emitter *e, const int *starts,
                       const LLVMValueRef *masks, unsigned count, int until,
                       enum version version)
{
    struct chain chain = {.until = until};
    int from[4];
    chain.blocks = cfg_between(e->kernel, starts, count, until);
    chain.rejoined = version == FULL && !e->compact
                         ? find_rejoined(e->kernel, starts, count, until)
                         : set_create(e->kernel->block_count);
    make_masks(e, &chain);
    for (unsigned i = 0; i < count; i++)
        send(e, &chain, starts[i], masks[i]);
    for (unsigned i = 0; i < count; i++) {
        from[i] = starts[i];
        from[count + i] = order_root(e, &chain, starts[i]);
    }
    emit_order(e, &chain,
               cfg_order(e->kernel, &chain.blocks, from, 2 * count));
    e->in_chain = false;
    if (chain.ends_threads)
        go_on_living(e, until, version);
    else
        go_to(e, until, version);
}

// --- Blocks that all living lanes go through ---------------------------------

// Where all lanes happen to go the same way, they need no masks.
static void go_together(struct emitter *e, const struct block *block)
{
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef sides[] = {append(e, "all"), append(e, "none")};
    LLVMBasicBlockRef more = append(e, "more"), apart = append(e, "apart");
    struct uniform_test test;
    if (!uniform_condition(e, block->condition, &test)) {
        LLVMValueRef bits = mask_bits(e, condition_of(e, block));
        LLVMTypeRef type = LLVMTypeOf(bits);
        test = (struct uniform_test){
            LLVMBuildICmp(b, LLVMIntEQ, bits, LLVMConstAllOnes(type), ""),
            LLVMBuildICmp(b, LLVMIntEQ, bits, LLVMConstNull(type), "")};
    }
    LLVMBuildCondBr(b, test.none, sides[1], more);
    position(e, more);
    LLVMBuildCondBr(b, test.all, sides[0], apart);
    for (unsigned s = 0; s < 2; s++) {
        position(e, sides[s]);
        go_to(e, block->successors[s], FULL);
    }
    position(e, apart);
}

static void leave_divergent(struct emitter *e, int number,
                            enum version version)
{
    const struct block *block = &e->kernel->blocks[number];
    if (version == FULL && !e->compact) {
        struct map values = lanes_save(e);
        go_together(e, block);
        e->values = values;
    }
    LLVMValueRef condition = condition_of(e, block);
    LLVMValueRef live = mask_or_all(e, version_mask(e, version));
    LLVMValueRef masks[] = {LLVMBuildAnd(e->builder, live, condition, ""),
                            and_not(e, live, condition)};
    for (unsigned side = 0; side < 2; side++) {
        int to = block->successors[!side];
        if (!e->kernel->blocks[block->successors[side]].pure_return)
            continue;
        LLVMBuildStore(e->builder, masks[!side], e->live);
        go_on_living(e, to, version);
        return;
    }
    emit_chain(e, block->successors, masks, 2, e->kernel->join_after[number],
               version);
}

static void leave_block(struct emitter *e, int number, enum version version)
{
    const struct block *block = &e->kernel->blocks[number];
    if (block->successor_count == 0) {
        leave(e, 0);
    } else if (block->successor_count == 1) {
        go_to(e, block->successors[0], version);
        coarsen_unroll(e, number);
    } else if (e->shapes.divergent[number]) {
        leave_divergent(e, number, version);
    } else {
        LLVMBasicBlockRef sides[] = {append(e, "then"), append(e, "else")};
        LLVMBuildCondBr(e->builder, lanes_scalar(e, block->condition),
                        sides[0], sides[1]);
        for (unsigned s = 0; s < 2; s++) {
            position(e, sides[s]);
            go_to(e, block->successors[s], version);
        }
    }
}

static void emit_block_from(struct emitter *e, int number, LLVMValueRef from,
                            enum version version)
{
    e->in_chain = false;
    e->mask = version_mask(e, version);
    emit_instructions(e, &e->kernel->blocks[number], from);
    leave_block(e, number, version);
}

// The outermost loop that a block heads and that lanes leave one after another.
static const struct loop *divergent_loop_at(struct emitter *e, int block)
{
    const struct kernel *kernel = e->kernel;
    const struct loop *found = NULL;
    for (int l = kernel->blocks[block].loop; l != NONE;
         l = kernel->loops[l].parent)
        if (kernel->loops[l].header == block && e->shapes.divergent_loop[l] &&
            !loop_has_barrier(kernel, &kernel->loops[l]))
            found = &kernel->loops[l];
    return found;
}

static void emit_block(struct emitter *e, int number, enum version version)
{
    // With all lanes there, iterations need no masks until lanes first
    // disagree.
    const struct loop *loop = version == FULL && !e->compact
                                  ? NULL : divergent_loop_at(e, number);
    map_clear(&e->values);
    if (!loop) {
        emit_block_from(e, number,
                        LLVMGetFirstInstruction(e->kernel->blocks[number].ir),
                        version);
        return;
    }
    int until = e->kernel->join_after[number];
    while (until != NONE && set_has(&loop->blocks, (unsigned)until))
        until = e->kernel->join_after[until];
    LLVMValueRef live = mask_or_all(e, version_mask(e, version));
    emit_chain(e, &number, &live, 1, until, version);
}

// --- Beginning ---------------------------------------------------------------

static void begin_slots(struct emitter *e)
{
    LLVMBasicBlockRef region = append(e, "region");
    memset(e->slots, 0, e->kernel->slot_count * sizeof *e->slots);
    e->begun = LLVMBuildBr(e->builder, region);
    position(e, region);
}

static void restore(struct emitter *e, const struct slot *slot, bool *ready);

// The slots that a value is made of.
static void restore_behind(struct emitter *e, LLVMValueRef value, bool *ready)
{
    if (!LLVMIsAInstruction(value) || map_get(&e->kernel->slot_of, value))
        return;
    const struct slot *slot = slots_loaded(e->kernel, value);
    if (slot)
        restore(e, slot, ready);
    for (int i = 0; !slot && i < LLVMGetNumOperands(value); i++)
        restore_behind(e, LLVMGetOperand(value, (unsigned)i), ready);
}

static void restore(struct emitter *e, const struct slot *slot, bool *ready)
{
    unsigned number = (unsigned)(slot - e->kernel->slots);
    if (ready[number])
        return;
    ready[number] = true;
    LLVMValueRef value = LLVMGetOperand(slot->stores[0], 0);
    restore_behind(e, value, ready);
    if (lanes_are_lazy(e, slot))
        return;
    lanes_make(e, value);
    instruction_emit(e, slot->stores[0]);
}

static void restore_slots(struct emitter *e, int barrier)
{
    unsigned count = e->kernel->slot_count;
    bool *ready = simt_allocate(count);
    map_clear(&e->values);
    e->mask = NULL;
    e->in_chain = false;
    for (unsigned s = 0; s < count; s++)
        if (is_kept(e, barrier, s))
            take_kept(e, s);
    for (unsigned s = 0; s < count; s++)
        if (set_has(&e->kernel->live[barrier], s) && e->kernel->slots[s].remat)
            restore(e, &e->kernel->slots[s], ready);
}

// Whether the gang's lanes are all there is known without a mask, unless some
// threads may have ended.
static LLVMValueRef is_complete(struct emitter *e, int barrier)
{
    LLVMBuilderRef b = e->builder;
    if (barrier == NONE || e->uniform_barriers)
        return LLVMBuildICmp(b, LLVMIntEQ, e->active, number32(e, e->width),
                             "complete");
    LLVMValueRef bits = load32(e, e->frame, FRAME_LIVE);
    uint64_t all = e->width < 32 ? (UINT64_C(1) << e->width) - 1 : UINT32_MAX;
    return LLVMBuildICmp(b, LLVMIntEQ, bits, number32(e, all), "complete");
}

static LLVMValueRef first_live(struct emitter *e, int barrier)
{
    LLVMBuilderRef b = e->builder;
    if (barrier == NONE || e->uniform_barriers)
        return LLVMBuildICmp(b, LLVMIntULT, steps(e, e->i32, 1),
                             splat(e, e->active), "");
    LLVMTypeRef type = LLVMIntTypeInContext(e->context, e->width);
    LLVMValueRef bits = load32(e, e->frame, FRAME_LIVE);
    if (e->width < 32)
        bits = LLVMBuildTrunc(b, bits, type, "");
    return LLVMBuildBitCast(b, bits, e->mask_type, "");
}

static LLVMValueRef barrier_result(struct emitter *e, LLVMValueRef call)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef flag;
    if (!e->voted_count)
        return number32(e, 0);
    LLVMValueRef count = LLVMBuildLoad2(b, e->i32, e->voted_count, "");
    LLVMValueRef total = LLVMBuildLoad2(b, e->i32, e->voted_total, "");
    switch (LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0))) {
    case 1:
        return count;
    case 2:
        flag = LLVMBuildICmp(b, LLVMIntEQ, count, total, "");
        return LLVMBuildZExt(b, flag, e->i32, "");
    case 3:
        flag = LLVMBuildICmp(b, LLVMIntNE, count, number32(e, 0), "");
        return LLVMBuildZExt(b, flag, e->i32, "");
    default:
        return number32(e, 0);
    }
}

// Goes on after a barrier, in the middle of the barrier's block.
static void emit_after_barrier(struct emitter *e, int barrier,
                               enum version version)
{
    int number = e->kernel->barrier_blocks[barrier];
    LLVMValueRef call = e->kernel->blocks[number].barrier_call;
    map_clear(&e->values);
    lanes_set(e, call, barrier_result(e, call), NULL);
    emit_block_from(e, number, LLVMGetNextInstruction(call), version);
}

static void begin_version(struct emitter *e, int barrier,
                          enum version version)
{
    if (barrier == NONE)
        go_to(e, 0, version);
    else
        emit_after_barrier(e, barrier, version);
}

void region_linearize(struct emitter *e, int barrier)
{
    unsigned count = e->kernel->block_count;
    e->done = append(e, "done");
    e->barrier = barrier;
    for (int v = 0; v < VERSIONS; v++)
        e->blocks[v] = simt_allocate(count * sizeof *e->blocks[v]);
    e->work = NULL;
    e->work_count = 0;
    e->live = variable(e, e->mask_type, "live");
    begin_slots(e);
    if (barrier != NONE)
        restore_slots(e, barrier);
    LLVMBasicBlockRef starts[] = {append(e, "begin.full"),
                                  append(e, "begin.partial")};
    enum version first = e->kernel->huge ? PARTIAL : FULL;
    LLVMValueRef complete = is_complete(e, barrier);
    bool always = first == FULL && LLVMIsAConstantInt(complete) &&
                  LLVMConstIntGetZExtValue(complete);
    LLVMBuildCondBr(e->builder, complete, starts[first], starts[PARTIAL]);
    if (first != FULL)
        LLVMDeleteBasicBlock(starts[FULL]);
    for (int v = first; v < VERSIONS; v++) {
        position(e, starts[v]);
        if (v == PARTIAL && always) {
            LLVMBuildUnreachable(e->builder);
            continue;
        }
        LLVMBuildStore(e->builder,
                       v == FULL ? mask_all(e) : first_live(e, barrier),
                       e->live);
        begin_version(e, barrier, (enum version)v);
    }
    while (e->work_count > 0) {
        int block = e->work[--e->work_count].block;
        enum version version = e->work[e->work_count].version;
        position(e, e->blocks[version][block]);
        emit_block(e, block, version);
        if (e->kernel->refusal)
            break;
    }
    position(e, e->done);
}
