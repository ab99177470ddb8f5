// Interchanges grid-stride loops
//
//     for (i = thread index; i < n; i += threads of the grid)
//
// with the loop over the gangs of a block: a gang alone would walk through all
// memory in steps of pages before the next gang reads the neighbouring bytes.
// The pass puts a barrier into such a loop, in memory form, so that the gangs
// of a block run every iteration together and read contiguous memory:
//
//     for (base = 0; base < n; base += step) {
//         if (thread index < n - base)
//             the body, with i = base + thread index
//         barrier, in every few iterations
//     }
//
// All blocks count alike, so that several blocks can run the loop together
// (codegen/block_coarsening.c). A few iterations follow each other between
// barriers: values that threads keep from one iteration to the next stay in
// registers, and memory is fastest when several rows are read at once. No sum
// here passes n, so no sum wraps.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

struct builder {
    LLVMBuilderRef ir;
    const struct kernel *kernel;
    LLVMTypeRef type;           // in which the index is compared
    LLVMValueRef limit;         // the variable that has it, or NULL
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

static LLVMValueRef widened(struct builder *b, const struct grid_stride *l,
                            LLVMValueRef value)
{
    return l->cast ? LLVMBuildCast(b->ir, l->cast, value, b->type, "") : value;
}

static LLVMValueRef limit_of(struct builder *b, const struct grid_stride *l)
{
    return b->limit ? LLVMBuildLoad2(b->ir, b->type, b->limit, "")
                    : again(b, l->limit);
}

// How far it is from the iteration's base, which is below, to the limit.
static LLVMValueRef room_above(struct builder *b, const struct grid_stride *l,
                               LLVMValueRef base)
{
    LLVMValueRef here = LLVMBuildLoad2(b->ir, b->type, base, "");
    return LLVMBuildSub(b->ir, limit_of(b, l), here, "");
}

static LLVMValueRef next_step(struct builder *b, const struct grid_stride *l)
{
    return widened(b, l, again(b, l->step));
}

// Whether there is a iteration after that of this base.
static LLVMValueRef is_another(struct builder *b, const struct grid_stride *l,
                               LLVMValueRef base)
{
    return LLVMBuildICmp(b->ir, l->how, next_step(b, l),
                         room_above(b, l, base), "");
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
    LLVMTypeRef types[] = {i32, i32, i32};
    LLVMTypeRef type = LLVMFunctionType(i32, types, 3, 0);
    LLVMValueRef function = LLVMGetNamedFunction(b->kernel->module, "rnl_sync");
    LLVMValueRef none[] = {LLVMConstNull(i32), LLVMConstNull(i32),
                           LLVMConstNull(i32)};
    if (!function)
        function = LLVMAddFunction(b->kernel->module, "rnl_sync", type);
    type = LLVMGlobalGetValueType(function);
    LLVMBuildCall2(b->ir, type, function, none, LLVMCountParamTypes(type), "");
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

static bool is_stored_inside(const struct grid_stride *l,
                             const struct slot *slot)
{
    for (unsigned i = 0; i < slot->store_count; i++)
        if (grid_stride_contains(l, slot->stores[i]))
            return true;
    return false;
}

// The variable that carries a value, which is computed in each iteration, to
// the next iteration, or NULL.
static struct slot *carrier_of(const struct grid_stride *l,
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

// True if a value depends on loaded memory and so differs between threads
// anyway.
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

// After the loop, sums are read from what carries them from iteration to
// iteration: barriers then keep them once.
static void read_carriers(const struct grid_stride *l)
{
    const struct kernel *kernel = l->kernel;
    for (unsigned i = 0; i < kernel->slot_count; i++) {
        struct slot *slot = &kernel->slots[i];
        if (slot->kind != SLOT_SIMPLE || slot->store_count != 1 ||
            !grid_stride_contains(l, slot->stores[0]) ||
            !is_live_out(l, slot) ||
            !is_of_memory(kernel, LLVMGetOperand(slot->stores[0], 0), 0))
            continue;
        struct slot *carrier = carrier_of(l, slot);
        if (carrier)
            slots_read_other(kernel, slot, carrier, &l->loop->blocks);
    }
}

static void mark_late(const struct kernel *kernel, LLVMValueRef variable)
{
    LLVMSetMetadata(variable, slots_late_kind(kernel),
                    LLVMMetadataAsValue(
                        kernel->context,
                        LLVMMDNodeInContext2(kernel->context, NULL, 0)));
}

// All threads leave together now, but with what their own last iteration
// stored.
static void mark_late_slots(const struct grid_stride *l)
{
    const struct kernel *kernel = l->kernel;
    for (unsigned i = 0; i < kernel->slot_count; i++) {
        const struct slot *slot = &kernel->slots[i];
        if (slot->kind == SLOT_SIMPLE && is_stored_inside(l, slot) &&
            is_live_out(l, slot))
            mark_late(kernel, slot->alloca);
    }
}

// The blocks of the new loop, and its variables.
struct changed {
    LLVMBasicBlockRef begin, set, iteration, done, again, sync, next, end;
    LLVMValueRef base, count;  // of the iteration; iterations since the barrier
};

static LLVMValueRef add_variable(struct builder *b, LLVMTypeRef type,
                                 const char *name)
{
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(b->kernel->function);
    LLVMPositionBuilderBefore(b->ir, LLVMGetFirstInstruction(entry));
    return LLVMBuildAlloca(b->ir, type, name);
}

static struct changed make_blocks(struct builder *b)
{
    struct changed c;
    c.base = add_variable(b, b->type, "base");
    c.count = add_variable(b, b->type, "count");
    c.begin = start(b, "stride.begin");
    c.set = start(b, "stride.set");
    c.iteration = start(b, "stride.round");
    c.done = start(b, "stride.done");
    c.again = start(b, "stride.again");
    c.sync = start(b, "stride.sync");
    c.next = start(b, "stride.next");
    c.end = start(b, "stride.end");
    return c;
}

// An index ends where its type does, where the limit may lie beyond.
static void cut_limit(struct builder *b, const struct grid_stride *l,
                      LLVMBasicBlockRef begin)
{
    if (!l->cast)
        return;
    b->limit = add_variable(b, b->type, "limit");
    LLVMPositionBuilderAtEnd(b->ir, begin);
    bool strict = l->how == LLVMIntSLT || l->how == LLVMIntULT;
    bool is_signed = l->how == LLVMIntSLT || l->how == LLVMIntSLE;
    unsigned bits = LLVMGetIntTypeWidth(l->index->type);
    uint64_t end = UINT64_C(1) << (bits - (l->cast == LLVMSExt));
    LLVMValueRef limit = again(b, l->limit);
    LLVMValueRef most = LLVMConstInt(b->type, end - !strict, 0);
    LLVMValueRef beyond = LLVMBuildICmp(
        b->ir, is_signed ? LLVMIntSGT : LLVMIntUGT, limit, most, "");
    LLVMBuildStore(b->ir, LLVMBuildSelect(b->ir, beyond, most, limit, ""),
                   b->limit);
}

// Whether there may be a iteration at all.
static LLVMValueRef is_one(struct builder *b, const struct grid_stride *l)
{
    LLVMValueRef zero = LLVMConstNull(b->type);
    LLVMValueRef one = LLVMBuildICmp(b->ir, l->how, zero, limit_of(b, l), "");
    if (!l->is_any_step)
        return one;
    LLVMValueRef up =
        LLVMBuildICmp(b->ir, LLVMIntSGT, next_step(b, l), zero, "");
    return LLVMBuildAnd(b->ir, one, up, "");
}

// From the begin to the body, which every thread leaves for `done`.
static void build_round(struct builder *b, const struct grid_stride *l,
                        const struct changed *c)
{
    LLVMValueRef zero = LLVMConstNull(b->type);
    cut_limit(b, l, c->begin);
    LLVMPositionBuilderAtEnd(b->ir, c->begin);
    LLVMBuildStore(b->ir, zero, c->base);
    LLVMBuildCondBr(b->ir, is_one(b, l), c->set, c->end);
    LLVMPositionBuilderAtEnd(b->ir, c->set);
    LLVMBuildStore(b->ir, zero, c->count);
    LLVMBuildBr(b->ir, c->iteration);
    LLVMPositionBuilderAtEnd(b->ir, c->iteration);
    LLVMValueRef own = again(b, l->first);
    LLVMValueRef base = LLVMBuildLoad2(b->ir, b->type, c->base, "");
    if (l->cast)
        base = LLVMBuildTrunc(b->ir, base, l->index->type, "");
    LLVMBuildStore(b->ir, LLVMBuildAdd(b->ir, base, own, ""),
                   l->index->alloca);
    LLVMValueRef inside =
        LLVMBuildICmp(b->ir, l->how, widened(b, l, own),
                      room_above(b, l, c->base), "");
    LLVMBuildCondBr(b->ir, inside, l->kernel->blocks[l->header].ir, c->done);
}

static void mark_rounds(const struct grid_stride *l, LLVMBasicBlockRef header,
                        LLVMValueRef iterations)
{
    LLVMContextRef context = l->kernel->context;
    LLVMMetadataRef number = LLVMValueAsMetadata(iterations);
    LLVMSetMetadata(LLVMGetBasicBlockTerminator(header),
                    interchanged_kind(l->kernel),
                    LLVMMetadataAsValue(
                        context, LLVMMDNodeInContext2(context, &number, 1)));
}

// Builds the code behind the body.
static void build_rest(struct builder *b, const struct grid_stride *l,
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
    mark_rounds(l, c->iteration, most);
    LLVMPositionBuilderAtEnd(b->ir, c->again);
    add(b, c->base, next_step(b, l), c->base);
    LLVMBuildBr(b->ir, c->iteration);
    LLVMPositionBuilderAtEnd(b->ir, c->sync);
    call_barrier(b);
    LLVMBuildCondBr(b->ir, is_another(b, l, c->base), c->next, c->end);
    LLVMPositionBuilderAtEnd(b->ir, c->next);
    add(b, c->base, next_step(b, l), c->base);
    LLVMBuildBr(b->ir, c->set);
    // Threads leave by the way they would have left.
    LLVMPositionBuilderAtEnd(b->ir, c->end);
    LLVMValueRef ran =
        LLVMBuildICmp(b->ir, l->how, widened(b, l, again(b, l->first)),
                      again(b, l->limit), "");
    LLVMBuildCondBr(b->ir, ran, l->kernel->blocks[l->left].ir,
                    l->kernel->blocks[l->skipped].ir);
}

static void change(struct grid_stride *l)
{
    const struct kernel *kernel = l->kernel;
    struct builder b = {.ir = LLVMCreateBuilderInContext(kernel->context),
                        .kernel = kernel, .type = LLVMTypeOf(l->limit)};
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

bool loop_interchange(struct kernel *kernel)
{
    for (unsigned i = 0; i < kernel->loop_count; i++) {
        struct grid_stride l = {.kernel = kernel, .loop = &kernel->loops[i],
                                .header = kernel->loops[i].header};
        if (grid_stride_find(&l)) {
            change(&l);
            return true;
        }
    }
    return false;
}
