// Non-temporal stores. A launch that writes more than a cache holds, over
// arrays that it does not read, evicts useful lines, and each line is read from
// memory before it is written. Whole lines can be written without the cache.
// That pays in a kernel that does little else and writes each address once.
#include "simt/widen/widen.h"
#include "simt/widen/tuning.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

enum { LINE = 64 };  // bytes of a cache line

// --- Arrays ------------------------------------------------------------------

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
               is_ignored_call(at) || is_pure_call(at);
    case LLVMStore:
        return is_plain_access(at);
    case LLVMLoad:
        break;
    default:
        return true;
    }
    LLVMValueRef address = LLVMGetOperand(at, 0);
    if (!is_plain_access(at))
        return false;
    if (map_get(&e->kernel->slot_of, address) ||
        slots_is_argument_load(e->kernel, at) ||
        address_is_shared(e->kernel, address, 0))
        return true;
    LLVMValueRef other = slots_argument_array(e->kernel, address);
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

// By how much a value changes with a iteration of a loop: 0 if not at all, or
// in another way than by adding; ANY_AMOUNT if by what is no constant.
#define ANY_AMOUNT UINT64_MAX

static uint64_t scaled(uint64_t amount, uint64_t by)
{
    uint64_t all;
    return __builtin_mul_overflow(amount, by, &all) ? ANY_AMOUNT : all;
}

static uint64_t magnitude(int64_t number)
{
    return number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
}

// The form of a sum or product, or of an address with one index. False for
// another value.
static bool form_of(const struct kernel *kernel, LLVMValueRef value,
                    struct linear_form *form)
{
    return LLVMGetNumOperands(value) == 2 &&
           linear_form_of(kernel->layout, value, form);
}

// The amount that a sum adds to its term number `k`.
static uint64_t added_beside(const struct kernel *kernel,
                             const struct linear_form *form, unsigned k)
{
    int64_t number = form->constant;
    if (form->count == 1)
        return magnitude(number);
    const struct linear_term *term = &form->terms[1 - k];
    return constant_of(slots_resolve(kernel, term->value), &number)
               ? scaled(magnitude(number), magnitude(term->times))
               : ANY_AMOUNT;
}

// The amount that the loop, not an inner loop, adds to a variable.
static uint64_t added_to(const struct kernel *kernel, int loop,
                         const struct slot *slot)
{
    for (unsigned i = 0; i < slot->store_count; i++) {
        LLVMValueRef store = slot->stores[i];
        LLVMValueRef sum = slots_resolve(kernel, LLVMGetOperand(store, 0));
        struct linear_form form;
        if (kernel->blocks[kernel_block_of(kernel, store)].loop != loop ||
            !LLVMIsAInstruction(sum) || !form_of(kernel, sum, &form))
            continue;
        // A number that is subtracted from comes back after two iterations.
        for (unsigned k = 0; k < form.count; k++)
            if (form.terms[k].times == 1 &&
                slots_loaded(kernel, slots_resolve(
                                         kernel, form.terms[k].value)) == slot)
                return added_beside(kernel, &form, k);
    }
    return 0;
}

static uint64_t moved_by(const struct kernel *kernel, int loop,
                         LLVMValueRef value, int depth)
{
    value = slots_resolve(kernel, value);
    if (depth > 8 || !LLVMIsAInstruction(value))
        return 0;
    const struct slot *slot = slots_loaded(kernel, value);
    if (slot)
        return added_to(kernel, loop, slot);
    uint64_t most = 0;
    struct linear_form form;
    if (form_of(kernel, value, &form)) {
        for (unsigned i = 0; i < form.count; i++) {
            uint64_t moved = scaled(
                moved_by(kernel, loop, form.terms[i].value, depth + 1),
                magnitude(form.terms[i].times));
            most = moved > most ? moved : most;
        }
        return most;
    }
    LLVMOpcode opcode = LLVMGetInstructionOpcode(value);
    switch (opcode) {
    case LLVMSExt: case LLVMZExt: case LLVMTrunc: case LLVMFreeze:
        return moved_by(kernel, loop, LLVMGetOperand(value, 0), depth + 1);
    case LLVMMul: case LLVMShl:
        for (unsigned i = 0; i < (opcode == LLVMMul ? 2 : 1); i++)
            if (moved_by(kernel, loop, LLVMGetOperand(value, i), depth + 1))
                most = ANY_AMOUNT;
        return most;
    default:
        return 0;
    }
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

// Instructions of a kernel but those that memory form is made of, of which a
// kernel with branches has many.
static unsigned size_of_work(const struct kernel *kernel)
{
    unsigned size = 0;
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at))
            size += !slots_loaded(kernel, at) &&
                    !(LLVMIsAStoreInst(at) &&
                      slots_simple(kernel, LLVMGetOperand(at, 1)));
    return size;
}

// True if memory limits the speed of a row's stores, of so many bytes, and each
// store has another address. Threads in loops are far from each other, so there
// one store has to write a whole line.
static bool is_brief(const struct kernel *kernel, LLVMValueRef at,
                     uint64_t row)
{
    int l = kernel->blocks[kernel_block_of(kernel, at)].loop;
    if (l == NONE)
        return kernel->loop_count == 0 && size_of_work(kernel) <= BRIEF_MOST;
    if (target_vector_bytes() < LINE ||
        size_of_loop(kernel, &kernel->loops[l]) > BRIEF_MOST)
        return false;
    for (; l != NONE; l = kernel->loops[l].parent)
        if (moved_by(kernel, l, LLVMGetOperand(at, 1), 0) < row)
            return false;
    return true;
}

// --- The stores --------------------------------------------------------------

static bool goes_past(struct emitter *e, LLVMValueRef at, uint64_t size)
{
    if (target_vector_bytes() == 0 || size % LINE != 0 ||
        !is_brief(e->kernel, at, size))
        return false;
    LLVMValueRef array = slots_argument_array(e->kernel, LLVMGetOperand(at, 1));
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

static void mark_past(struct emitter *e, LLVMValueRef store)
{
    unsigned kind = LLVMGetMDKindIDInContext(e->context, "nontemporal", 11);
    LLVMMetadataRef node = LLVMValueAsMetadata(number32(e, 1));
    node = LLVMMDNodeInContext2(e->context, &node, 1);
    LLVMSetMetadata(store, kind, LLVMMetadataAsValue(e->context, node));
}

static uint64_t size_of(struct emitter *e, LLVMValueRef value)
{
    return LLVMABISizeOfType(e->kernel->layout, LLVMTypeOf(value));
}

static void store_all(struct emitter *e, const struct row *row,
                      unsigned alignment, bool past)
{
    uint64_t size = size_of(e, row->values[0]);
    for (unsigned i = 0; i < row->count; i++) {
        LLVMValueRef store =
            LLVMBuildStore(e->builder, row->values[i],
                           at_offset(e, row->address, i * size));
        LLVMSetAlignment(store, alignment_after(alignment, i * size));
        LLVMSetVolatile(store, LLVMGetVolatile(row->at));
        alias_mark(e, LLVMGetOperand(row->at, 1), store);
        if (past)
            mark_past(e, store);
    }
}

static void store_past_or_near(struct emitter *e, const struct row *row,
                               uint64_t size)
{
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef past = append(e, "past"), into = append(e, "into");
    LLVMBasicBlockRef end = append(e, "stored");
    LLVMValueRef many = has_threads(e, KEPT_MOST * (uint64_t)e->width / size);
    LLVMBuildCondBr(b, LLVMBuildAnd(b, many, begins_line(e, row->address), ""),
                    past, into);
    position(e, past);
    store_all(e, row, LINE, true);
    LLVMBuildBr(b, end);
    position(e, into);
    store_all(e, row, row->alignment, false);
    LLVMBuildBr(b, end);
    position(e, end);
    e->nontemporal = true;
}

void row_store(struct emitter *e, const struct row *row)
{
    uint64_t size = size_of(e, row->values[0]) * row->count;
    if (goes_past(e, row->at, size))
        store_past_or_near(e, row, size);
    else
        store_all(e, row, row->alignment, false);
}

// Non-temporal stores become visible in any order, until here. The fence exists
// on all processors.
void nontemporal_fence(struct emitter *e)
{
    if (e->nontemporal)
        LLVMBuildFence(e->builder, LLVMAtomicOrderingSequentiallyConsistent, 0,
                       "");
}
