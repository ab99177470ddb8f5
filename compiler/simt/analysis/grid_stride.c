// Finds loops in which a thread steps over the whole grid.
#include "simt/analysis/analysis.h"
#include "simt/analysis/tuning.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

// --- Values ------------------------------------------------------------------

// True for a value that can be recomputed anywhere.
static bool is_portable(const struct kernel *kernel, LLVMValueRef value)
{
    struct slot *slot = slots_loaded(kernel, value);
    return LLVMIsAConstantInt(value) || (slot && slot->store_count == 1);
}

// Constants below it leave products of indices and sizes within 32 bits.
enum { SMALL_BITS = 12, SMALL = 1 << SMALL_BITS };

// The ingredients of a number. Without the last two, the number consists of
// indices, sizes and small constants, so that it neither wraps nor shrinks.
enum {
    OF_THREAD = 1 << 0,   // the thread's index
    OF_BLOCK = 1 << 1,    // the block's
    OF_ANY = 1 << 2,      // it may be any number, but is the same for the grid
    OF_OTHER = 1 << 3,    // all else
};

static unsigned parts_of(const struct kernel *kernel, LLVMValueRef value,
                         int depth);

static unsigned parts_of_operands(const struct kernel *kernel,
                                  LLVMValueRef value, int depth)
{
    unsigned parts = 0, count = (unsigned)LLVMGetNumOperands(value);
    count -= LLVMIsACallInst(value) != NULL;
    for (unsigned i = 0; i < count && !(parts & OF_OTHER); i++)
        parts |= parts_of(kernel, LLVMGetOperand(value, i), depth + 1);
    return parts;
}

static unsigned parts_of_call(const struct kernel *kernel, LLVMValueRef call,
                              int depth)
{
    int axis;
    switch (primitive_of(call, &axis)) {
    case PRIMITIVE_THREAD:
        return OF_THREAD;
    case PRIMITIVE_BLOCK:
        return OF_BLOCK;
    case PRIMITIVE_BLOCK_SIZE: case PRIMITIVE_GRID_SIZE:
        return 0;
    default:
        return is_limit_call(call)
                   ? OF_ANY | parts_of_operands(kernel, call, depth) : OF_OTHER;
    }
}

static unsigned width_of(LLVMValueRef value)
{
    return LLVMGetIntTypeWidth(LLVMTypeOf(value));
}

// Whether what is left of a number of indices and sizes may be any.
static bool may_lose_bits(LLVMValueRef value)
{
    if (LLVMIsATruncInst(value))
        return width_of(value) < 32;
    LLVMValueRef amount = LLVMGetOperand(value, 1);
    return LLVMGetInstructionOpcode(value) == LLVMShl &&
           !(LLVMIsAConstantInt(amount) &&
             LLVMConstIntGetZExtValue(amount) < SMALL_BITS);
}

static unsigned parts_of(const struct kernel *kernel, LLVMValueRef value,
                         int depth)
{
    value = slots_resolve(kernel, value);
    if (LLVMIsAConstantInt(value))
        return width_of(value) <= 64 &&
                       LLVMConstIntGetSExtValue(value) >= 0 &&
                       LLVMConstIntGetSExtValue(value) < SMALL
                   ? 0 : OF_ANY;
    if (LLVMIsAConstant(value))
        return OF_ANY;
    if (depth > 12 || !LLVMIsAInstruction(value))
        return OF_OTHER;
    switch (LLVMGetInstructionOpcode(value)) {
    case LLVMOr:
        return (LLVMGetIsDisjoint(value) ? 0 : OF_ANY) |
               parts_of_operands(kernel, value, depth);
    case LLVMAdd: case LLVMMul: case LLVMSExt: case LLVMZExt:
        return parts_of_operands(kernel, value, depth);
    case LLVMShl: case LLVMTrunc:
        return (may_lose_bits(value) ? OF_ANY : 0) |
               parts_of_operands(kernel, value, depth);
    case LLVMSub: case LLVMLShr: case LLVMAShr: case LLVMAnd: case LLVMXor:
    case LLVMUDiv: case LLVMSDiv: case LLVMURem: case LLVMSRem: case LLVMICmp:
    case LLVMSelect: case LLVMFreeze:
        return OF_ANY | parts_of_operands(kernel, value, depth);
    case LLVMLoad:
        return slots_is_argument_load(kernel, value) ? OF_ANY : OF_OTHER;
    case LLVMCall:
        return parts_of_call(kernel, value, depth);
    default:
        return OF_OTHER;
    }
}

// Whether all threads of the grid have the same.
static bool is_alike(const struct kernel *kernel, LLVMValueRef value)
{
    return !(parts_of(kernel, value, 0) & ~(unsigned)OF_ANY);
}

// --- Edges -------------------------------------------------------------------

static bool is_in_loop(const struct grid_stride *l, int block)
{
    return set_has(&l->loop->blocks, (unsigned)block);
}

bool grid_stride_contains(const struct grid_stride *l, LLVMValueRef instruction)
{
    return is_in_loop(l, kernel_block_of(l->kernel, instruction));
}

bool is_live_out(const struct grid_stride *l,
                            const struct slot *slot)
{
    for (unsigned i = 0; slot && i < slot->load_count; i++)
        if (!grid_stride_contains(l, slot->loads[i]))
            return true;
    return false;
}

// Threads leave where the loop's condition stands, and nowhere else.
static bool find_edges(struct grid_stride *l)
{
    const struct kernel *kernel = l->kernel;
    const struct block *header = &kernel->blocks[l->header];
    if (header->predecessor_count != 2)
        return false;
    bool first_inside = is_in_loop(l, header->predecessors[0]);
    l->before = header->predecessors[first_inside];
    l->back = header->predecessors[!first_inside];
    l->latch = l->back;
    if (is_in_loop(l, l->before) || !is_in_loop(l, l->back))
        return false;
    const struct block *back = &kernel->blocks[l->back];
    if (back->successor_count == 2)
        l->back = NONE;
    else if (back->predecessor_count == 1)
        l->latch = back->predecessors[0];
    const struct block *latch = &kernel->blocks[l->latch];
    if (latch->successor_count != 2)
        return false;
    l->way = is_in_loop(l, latch->successors[1]);
    l->left = latch->successors[1 - l->way];
    return latch->successors[l->way] == (l->back == NONE ? l->header
                                                         : l->back) &&
           !is_in_loop(l, l->left);
}

// The blocks from which some way leads to `to`, or to the end of the thread if
// that is NONE, without passing `but`.
static struct set blocks_leading(const struct kernel *kernel, int to, int but)
{
    struct set leading = set_create(kernel->block_count);
    bool grew = true;
    while (grew) {
        grew = false;
        for (unsigned i = kernel->block_count; i-- > 0;) {
            const struct block *block = &kernel->blocks[i];
            bool leads = (int)i == to ||
                         (to == NONE && block->successor_count == 0);
            for (unsigned s = 0; s < block->successor_count; s++)
                leads |= set_has(&leading, (unsigned)block->successors[s]);
            grew |= leads && (int)i != but && set_add(&leading, i);
        }
    }
    return leading;
}

// Whether all threads of the grid come to the guard, once, or none does.
static bool all_come(const struct kernel *kernel, int guard)
{
    struct set past = blocks_leading(kernel, NONE, guard);
    struct set leading = blocks_leading(kernel, guard, NONE);
    for (unsigned i = 0; i < kernel->block_count; i++)
        if (kernel->blocks[i].condition && set_has(&past, i) &&
            set_has(&leading, i) &&
            !is_alike(kernel, kernel->blocks[i].condition))
            return false;
    return kernel->blocks[guard].loop == NONE;
}

// --- What may run more often -------------------------------------------------

// Others may stop the processor, where a condition that is left out now said
// that they cannot.
static bool is_safe_divisor(LLVMValueRef divisor)
{
    return LLVMIsAConstantInt(divisor) &&
           width_of(divisor) <= 64 &&
           LLVMConstIntGetSExtValue(divisor) != 0 &&
           LLVMConstIntGetSExtValue(divisor) != -1;
}

static bool is_harmless(const struct grid_stride *l, bool once,
                        LLVMValueRef at)
{
    const struct kernel *kernel = l->kernel;
    const struct slot *slot;
    switch (LLVMGetInstructionOpcode(at)) {
    case LLVMLoad:
        return slots_loaded(kernel, at) || slots_is_argument_load(kernel, at);
    case LLVMStore:
        slot = slots_simple(kernel, LLVMGetOperand(at, 1));
        return slot && ((once && slot->store_count == 1) ||
                        !is_live_out(l, slot));
    case LLVMCall:
        return is_index_call(at) || is_ignored_call(at) || is_limit_call(at);
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMLShr:
    case LLVMAShr: case LLVMAnd: case LLVMOr: case LLVMXor: case LLVMSExt:
    case LLVMZExt: case LLVMTrunc: case LLVMBitCast: case LLVMICmp:
    case LLVMSelect: case LLVMGetElementPtr: case LLVMBr: case LLVMFAdd:
    case LLVMFSub: case LLVMFMul: case LLVMSIToFP: case LLVMUIToFP:
    case LLVMFDiv: case LLVMFNeg: case LLVMFPExt: case LLVMFPTrunc:
    case LLVMFreeze:
        return true;
    case LLVMUDiv: case LLVMSDiv: case LLVMURem: case LLVMSRem:
        return is_safe_divisor(LLVMGetOperand(at, 1));
    default:
        return false;
    }
}

// True if a block may also run in threads that did not reach the block
// (`once`), or in one more iteration.
static bool all_harmless(const struct grid_stride *l, int number, bool once)
{
    LLVMBasicBlockRef block = l->kernel->blocks[number].ir;
    for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
         at = LLVMGetNextInstruction(at))
        if (!is_harmless(l, once, at))
            return false;
    return true;
}

static bool find_guard(struct grid_stride *l)
{
    const struct kernel *kernel = l->kernel;
    const struct block *before = &kernel->blocks[l->before];
    if (before->successor_count != 1 || before->predecessor_count != 1 ||
        before->barrier != NONE || !all_harmless(l, l->before, true) ||
        (l->back != NONE && !all_harmless(l, l->back, false)))
        return false;
    l->guard = before->predecessors[0];
    const struct block *guard = &kernel->blocks[l->guard];
    if (guard->successor_count != 2)
        return false;
    l->skipped = guard->successors[guard->successors[0] == l->before];
    return all_come(kernel, l->guard);
}

// --- Conditions --------------------------------------------------------------

// That a number is below a limit, or the limit itself.
struct bound {
    LLVMIntPredicate how;       // <, <=, signed or not
    LLVMValueRef number, limit;
    LLVMOpcode cast;            // that widens the number, or 0
};

static LLVMIntPredicate inverse(LLVMIntPredicate how)
{
    switch (how) {
    case LLVMIntSLT: return LLVMIntSGE;
    case LLVMIntSLE: return LLVMIntSGT;
    case LLVMIntSGT: return LLVMIntSLE;
    case LLVMIntSGE: return LLVMIntSLT;
    case LLVMIntULT: return LLVMIntUGE;
    case LLVMIntULE: return LLVMIntUGT;
    case LLVMIntUGT: return LLVMIntULE;
    case LLVMIntUGE: return LLVMIntULT;
    default: return how;
    }
}

static LLVMIntPredicate turned(LLVMIntPredicate how)
{
    switch (how) {
    case LLVMIntSGT: return LLVMIntSLT;
    case LLVMIntSGE: return LLVMIntSLE;
    case LLVMIntUGT: return LLVMIntULT;
    case LLVMIntUGE: return LLVMIntULE;
    default: return how;
    }
}

static LLVMIntPredicate without_sign(LLVMIntPredicate how)
{
    return how == LLVMIntSLT ? LLVMIntULT
                             : how == LLVMIntSLE ? LLVMIntULE : how;
}

// A condition that holds where a block is left by that successor.
static bool read_bound(const struct kernel *kernel, int block, unsigned way,
                       struct bound *bound)
{
    LLVMValueRef compare =
        slots_resolve(kernel, kernel->blocks[block].condition);
    if (!LLVMIsAICmpInst(compare))
        return false;
    LLVMIntPredicate how = LLVMGetICmpPredicate(compare);
    if (how == LLVMIntEQ || how == LLVMIntNE)
        return false;
    how = way == 0 ? how : inverse(how);
    bool turns = turned(how) != how;
    *bound = (struct bound){.how = turned(how),
                            .number = LLVMGetOperand(compare, turns),
                            .limit = LLVMGetOperand(compare, !turns)};
    return true;
}

static LLVMOpcode widening_of(LLVMValueRef value)
{
    LLVMOpcode opcode =
        LLVMIsAInstruction(value) ? LLVMGetInstructionOpcode(value) : 0;
    return opcode == LLVMSExt || opcode == LLVMZExt ? opcode : 0;
}

// Takes off by what the number was widened, if its value is known.
static void take_off_cast(const struct kernel *kernel, struct bound *bound)
{
    bound->number = slots_resolve(kernel, bound->number);
    bound->cast = widening_of(bound->number);
    if (bound->cast)
        bound->number =
            slots_resolve(kernel, LLVMGetOperand(bound->number, 0));
}

// The limit before a cast to its type, or NULL.
static LLVMValueRef narrow_limit(LLVMValueRef limit, LLVMOpcode cast,
                                 LLVMTypeRef type)
{
    if (widening_of(limit) == cast) {
        LLVMValueRef from = LLVMGetOperand(limit, 0);
        return LLVMTypeOf(from) == type ? from : NULL;
    }
    if (!LLVMIsAConstantInt(limit) ||
        width_of(limit) > 64)
        return NULL;
    LLVMValueRef narrow =
        LLVMConstInt(type, LLVMConstIntGetZExtValue(limit), 0);
    bool same = cast == LLVMSExt
                    ? LLVMConstIntGetSExtValue(narrow) ==
                          LLVMConstIntGetSExtValue(limit)
                    : LLVMConstIntGetZExtValue(narrow) ==
                          LLVMConstIntGetZExtValue(limit);
    return same ? narrow : NULL;
}

// Compares in the narrowest type that says the same.
static void narrow(const struct kernel *kernel, struct bound *bound)
{
    LLVMValueRef limit = slots_resolve(kernel, bound->limit);
    if (!bound->cast)
        take_off_cast(kernel, bound);
    while (bound->cast &&
           (limit = narrow_limit(limit, bound->cast,
                                 LLVMTypeOf(bound->number)))) {
        bound->limit = limit = slots_resolve(kernel, limit);
        if (bound->cast == LLVMZExt)
            bound->how = without_sign(bound->how);
        take_off_cast(kernel, bound);
    }
    bound->limit = slots_resolve(kernel, bound->limit);
}

// The guard asks of the first iteration what the latch asks of the next ones.
static bool guard_agrees(const struct grid_stride *l)
{
    const struct kernel *kernel = l->kernel;
    const struct block *guard = &kernel->blocks[l->guard];
    struct bound asked;
    struct bound first = {.how = l->how, .limit = l->limit, .cast = l->cast,
                          .number = slots_resolve(kernel, l->first)};
    if (!read_bound(kernel, l->guard, guard->successors[1] == l->before,
                    &asked))
        return false;
    narrow(kernel, &asked);
    narrow(kernel, &first);
    return asked.how == first.how && asked.cast == first.cast &&
           asked.number == first.number && asked.limit == first.limit;
}

// --- The index ---------------------------------------------------------------

// Can be had again at any place, and is there before the loop.
static bool is_known_before(const struct grid_stride *l, LLVMValueRef value)
{
    const struct slot *slot = slots_loaded(l->kernel, value);
    return is_portable(l->kernel, value) &&
           (!slot || !grid_stride_contains(l, slot->stores[0]));
}

// The variable of the loop: it begins with `first` and goes on with `next`.
static bool is_index(struct grid_stride *l, struct slot *slot,
                     LLVMValueRef next)
{
    const struct kernel *kernel = l->kernel;
    l->index = slot;
    l->first = l->advance = NULL;
    if (!slot || slot->store_count != 2)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        int block = kernel_block_of(kernel, slot->stores[i]);
        LLVMValueRef stored = LLVMGetOperand(slot->stores[i], 0);
        if (block == l->before)
            l->first = stored;
        else if (block == (l->back == NONE ? l->latch : l->back) &&
                 slots_resolve(kernel, stored) == next)
            l->advance = slot->stores[i];
    }
    return l->first && l->advance;
}

// The step is positive, or a signed index overflows, if there is any iteration.
// A thread of a later block that begins further on must not end earlier: all
// blocks count from 0.
static bool counts_up(struct grid_stride *l, LLVMValueRef next)
{
    unsigned step = parts_of(l->kernel, l->step, 0);
    unsigned first = parts_of(l->kernel, l->first, 0);
    unsigned limit = parts_of(l->kernel, l->limit, 0);
    bool is_signed = l->how == LLVMIntSLT || l->how == LLVMIntSLE;
    l->is_any_step = step & OF_ANY;
    if (is_signed && LLVMGetNSW(next))
        step &= ~(unsigned)OF_ANY;
    limit &= ~(unsigned)OF_ANY;
    return step == 0 && (first & OF_THREAD) &&
           !(first & ~(unsigned)(OF_THREAD | OF_BLOCK)) &&
           (limit == 0 || (limit == OF_BLOCK && !(first & OF_BLOCK)));
}

static bool find_index(struct grid_stride *l)
{
    const struct kernel *kernel = l->kernel;
    struct bound bound;
    if (!read_bound(kernel, l->latch, l->way, &bound))
        return false;
    l->how = bound.how;
    l->limit = bound.limit;
    take_off_cast(kernel, &bound);
    l->cast = bound.cast;
    LLVMValueRef next = bound.number;
    if (!LLVMIsAInstruction(next) ||
        LLVMGetInstructionOpcode(next) != LLVMAdd)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef old = slots_resolve(kernel, LLVMGetOperand(next, i));
        l->step = LLVMGetOperand(next, 1 - i);
        if (is_index(l, slots_loaded(kernel, old), next))
            return is_known_before(l, l->first) &&
                   is_known_before(l, l->step) &&
                   is_known_before(l, l->limit) && counts_up(l, next);
    }
    return false;
}

// --- The body ----------------------------------------------------------------

static bool is_memory(const struct kernel *kernel, LLVMValueRef at)
{
    LLVMValueRef address = accessed_address(at);
    return address && !map_get(&kernel->slot_of, address) &&
           !slots_is_argument_load(kernel, at);
}

bool loads_memory(const struct kernel *kernel, LLVMValueRef at)
{
    return LLVMIsALoadInst(at) && is_memory(kernel, at);
}

// Arrays of a thread's own would lie in memory from one barrier to the next,
// for each thread of the blocks that go together.
static bool is_private(const struct kernel *kernel, LLVMValueRef at)
{
    LLVMValueRef address = accessed_address(at);
    while (address && LLVMIsAGetElementPtrInst(address))
        address = slots_resolve(kernel, LLVMGetOperand(address, 0));
    return address && LLVMIsAAllocaInst(address) &&
           !slots_simple(kernel, address);
}

// Where the structure begins that an access is in.
static LLVMValueRef structure_of(const struct kernel *kernel, LLVMValueRef at)
{
    int64_t offset;
    LLVMValueRef address, base = accessed_address(at);
    do {
        address = base;
        base = address ? linear_form_base(kernel->layout, address, &offset)
                       : NULL;
    } while (base && offset > -NEAR && offset < NEAR);
    return address;
}

bool is_first_of_row(const struct kernel *kernel, LLVMValueRef at)
{
    if (!is_memory(kernel, at))
        return false;
    LLVMValueRef before = LLVMGetPreviousInstruction(at);
    while (before && (LLVMGetInstructionOpcode(before) !=
                          LLVMGetInstructionOpcode(at) ||
                      structure_of(kernel, before) !=
                          structure_of(kernel, at)))
        before = LLVMGetPreviousInstruction(before);
    return !before;
}

// The body has a single exit, no barriers, and accesses to global memory.
static bool has_simple_body(struct grid_stride *l)
{
    const struct kernel *kernel = l->kernel;
    int axis;
    l->rows = 0;
    for (unsigned b = 0; b < kernel->block_count; b++) {
        const struct block *block = &kernel->blocks[b];
        if (!is_in_loop(l, (int)b))
            continue;
        for (unsigned i = 0; i < block->successor_count; i++)
            if ((int)b != l->latch && !is_in_loop(l, block->successors[i]))
                return false;
        for (LLVMValueRef at = LLVMGetFirstInstruction(block->ir); at;
             at = LLVMGetNextInstruction(at)) {
            enum primitive primitive = primitive_of(at, &axis);
            if (primitive == PRIMITIVE_SYNC || primitive == PRIMITIVE_WARP ||
                primitive == PRIMITIVE_SPIN || primitive == PRIMITIVE_YIELD ||
                is_private(kernel, at))
                return false;
            l->rows += is_first_of_row(kernel, at);
        }
        if (block->successor_count == 0)
            return false;
    }
    return l->rows > 0;
}

bool grid_stride_find(struct grid_stride *l)
{
    return l->loop->parent == NONE && find_edges(l) && find_guard(l) &&
           find_index(l) && guard_agrees(l) && has_simple_body(l);
}

// Marks the loop of the iterations between two barriers with their number.
unsigned interchanged_kind(const struct kernel *kernel)
{
    return LLVMGetMDKindIDInContext(kernel->context, "rnl.rounds", 10);
}

unsigned interchanged_iterations(const struct kernel *kernel, int loop)
{
    if (loop == NONE)
        return 0;
    const struct block *header = &kernel->blocks[kernel->loops[loop].header];
    LLVMValueRef mark = LLVMGetMetadata(
        LLVMGetBasicBlockTerminator(header->ir), interchanged_kind(kernel));
    LLVMValueRef iterations;
    if (!mark)
        return 0;
    LLVMGetMDNodeOperands(mark, &iterations);
    return (unsigned)LLVMConstIntGetZExtValue(iterations);
}
