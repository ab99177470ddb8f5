// The variables of a thread (after reg2mem: all that outlives its block),
// which of them barriers must preserve, and which are better computed anew.
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

static void add_use(LLVMValueRef **list, unsigned *count, LLVMValueRef use)
{
    *list = simt_grow(*list, *count, sizeof **list);
    (*list)[(*count)++] = use;
}

static bool is_whole(const struct slot *slot, LLVMTypeRef type,
                     LLVMValueRef access)
{
    return type == slot->type && !LLVMGetVolatile(access);
}

// The copies of all lanes lie in a row, each aligned as the variable is.
static void pad(const struct kernel *kernel, struct slot *slot)
{
    uint64_t size = LLVMABISizeOfType(kernel->layout, slot->type);
    uint64_t beyond = size % LLVMGetAlignment(slot->alloca);
    if (beyond == 0)
        return;
    LLVMTypeRef parts[] = {
        slot->type, LLVMArrayType2(LLVMInt8TypeInContext(kernel->context),
                                   LLVMGetAlignment(slot->alloca) - beyond)};
    slot->type = LLVMStructTypeInContext(kernel->context, parts, 2, false);
}

static void read_uses(struct kernel *kernel, struct slot *slot)
{
    for (LLVMUseRef use = LLVMGetFirstUse(slot->alloca); use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (kernel_block_of(kernel, user) == NONE)
            continue;  // cannot be reached
        if (LLVMIsALoadInst(user) && is_whole(slot, LLVMTypeOf(user), user))
            add_use(&slot->loads, &slot->load_count, user);
        else if (LLVMIsAStoreInst(user) &&
                 LLVMGetOperand(user, 1) == slot->alloca &&
                 LLVMGetOperand(user, 0) != slot->alloca &&
                 is_whole(slot, LLVMTypeOf(LLVMGetOperand(user, 0)), user))
            add_use(&slot->stores, &slot->store_count, user);
        else
            slot->kind = SLOT_COMPLEX;
    }
    LLVMTypeKind type = LLVMGetTypeKind(slot->type);
    if (type == LLVMStructTypeKind || type == LLVMArrayTypeKind ||
        type == LLVMVectorTypeKind)
        slot->kind = SLOT_COMPLEX;
    if (slot->kind == SLOT_COMPLEX)
        pad(kernel, slot);
}

struct slot *slots_simple(const struct kernel *kernel, LLVMValueRef address)
{
    struct slot *slot = map_get(&kernel->slot_of, address);
    return slot && slot->kind == SLOT_SIMPLE ? slot : NULL;
}

struct slot *slots_loaded(const struct kernel *kernel, LLVMValueRef value)
{
    return LLVMIsALoadInst(value)
               ? slots_simple(kernel, LLVMGetOperand(value, 0)) : NULL;
}

LLVMValueRef slots_resolve(const struct kernel *kernel, LLVMValueRef value)
{
    const struct slot *slot;
    while ((slot = slots_loaded(kernel, value)) && slot->store_count == 1)
        value = LLVMGetOperand(slot->stores[0], 0);
    return value;
}

LLVMValueRef slots_base(const struct kernel *kernel, LLVMValueRef address)
{
    address = slots_resolve(kernel, address);
    while (LLVMIsAGetElementPtrInst(address))
        address = slots_resolve(kernel, LLVMGetOperand(address, 0));
    return address;
}

void slots_read_other(const struct kernel *kernel, struct slot *slot,
                      struct slot *other, const struct set *blocks)
{
    unsigned count = 0;
    for (unsigned i = 0; i < slot->load_count; i++) {
        LLVMValueRef load = slot->loads[i];
        if (set_has(blocks, (unsigned)kernel_block_of(kernel, load))) {
            slot->loads[count++] = load;
            continue;
        }
        LLVMSetOperand(load, 0, other->alloca);
        add_use(&other->loads, &other->load_count, load);
    }
    slot->load_count = count;
}

// --- Computing anew ----------------------------------------------------------

static bool is_cheap(LLVMOpcode opcode)
{
    switch (opcode) {
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMLShr:
    case LLVMAShr: case LLVMAnd: case LLVMOr: case LLVMXor: case LLVMTrunc:
    case LLVMZExt: case LLVMSExt: case LLVMICmp: case LLVMGetElementPtr:
    case LLVMSelect: case LLVMBitCast: case LLVMFreeze: case LLVMPtrToInt:
    case LLVMIntToPtr:
        return true;
    default:
        return false;
    }
}

static bool has_constant_indices(LLVMValueRef at)
{
    int i = 1;
    while (i < LLVMGetNumOperands(at) &&
           LLVMIsAConstantInt(LLVMGetOperand(at, (unsigned)i)))
        i++;
    return i == LLVMGetNumOperands(at);
}

// An argument of the kernel: loads from the array of their addresses, and from
// those addresses.
static bool is_argument(const struct kernel *kernel, LLVMValueRef address,
                        int depth)
{
    if (depth > 4)
        return false;
    if (LLVMIsAArgument(address))
        return true;
    if (LLVMIsAGetElementPtrInst(address) && has_constant_indices(address))
        return is_argument(kernel, LLVMGetOperand(address, 0), depth);
    if (!LLVMIsALoadInst(address))
        return false;
    LLVMValueRef from = LLVMGetOperand(address, 0);
    const struct slot *slot = map_get(&kernel->slot_of, from);
    if (slot)
        return slot->kind == SLOT_SIMPLE && slot->store_count == 1 &&
               is_argument(kernel, LLVMGetOperand(slot->stores[0], 0),
                           depth + 1);
    return depth == 0 && is_argument(kernel, from, depth + 3);
}

bool slots_is_argument_load(const struct kernel *kernel, LLVMValueRef load)
{
    return is_argument(kernel, LLVMGetOperand(load, 0), 0);
}

// Counts the instructions behind a value; negative when it cannot be had again.
static int cost_of(const struct kernel *kernel, LLVMValueRef value, int left)
{
    if (left < 0 || !LLVMIsAInstruction(value))
        return left;
    if (LLVMIsALoadInst(value)) {
        const struct slot *slot =
            map_get(&kernel->slot_of, LLVMGetOperand(value, 0));
        if (slot)
            return slot->kind == SLOT_SIMPLE && slot->store_count == 1
                       ? cost_of(kernel, LLVMGetOperand(slot->stores[0], 0),
                                 left - 1)
                       : NONE;
        if (!slots_is_argument_load(kernel, value))
            return NONE;
        return cost_of(kernel, LLVMGetOperand(value, 0), left - 1);
    }
    bool limit = LLVMIsACallInst(value) && is_limit_call(value);
    if (LLVMIsACallInst(value) && !limit)
        return is_index_call(value) ? left - 1 : NONE;
    if (!limit && !is_cheap(LLVMGetInstructionOpcode(value)))
        return NONE;
    left--;
    for (int i = 0; i < LLVMGetNumOperands(value); i++)
        left = cost_of(kernel, LLVMGetOperand(value, (unsigned)i), left);
    return left;
}

// --- Stores that need no mask ------------------------------------------------

static bool loop_has(const struct kernel *kernel, int loop, int block)
{
    return loop == NONE ||
           set_has(&kernel->loops[loop].blocks, (unsigned)block);
}

// True if each load follows the only store in the same iteration of all loops:
// inactive lanes never load the slot, so the store needs no mask.
static bool needs_no_mask(const struct kernel *kernel, const struct slot *slot)
{
    if (slot->store_count != 1)
        return false;
    int block = kernel_block_of(kernel, slot->stores[0]);
    for (unsigned i = 0; i < slot->load_count; i++)
        if (!loop_has(kernel, kernel->blocks[block].loop,
                      kernel_block_of(kernel, slot->loads[i])))
            return false;
    // A variable of the source may be read before it is written.
    return LLVMGetInstructionOpcode(slot->stores[0]) == LLVMStore &&
           slot->load_count > 0;
}

unsigned slots_late_kind(const struct kernel *kernel)
{
    return LLVMGetMDKindIDInContext(kernel->context, "rnl.late", 8);
}

void slots_find(struct kernel *kernel)
{
    LLVMValueRef at;
    for (at = LLVMGetFirstInstruction(kernel->blocks[0].ir); at;
         at = LLVMGetNextInstruction(at))
        kernel->slot_count += LLVMIsAAllocaInst(at) != NULL;
    kernel->slots = simt_allocate(kernel->slot_count * sizeof *kernel->slots);
    unsigned number = 0;
    for (at = LLVMGetFirstInstruction(kernel->blocks[0].ir); at;
         at = LLVMGetNextInstruction(at)) {
        if (!LLVMIsAAllocaInst(at))
            continue;
        struct slot *slot = &kernel->slots[number++];
        slot->alloca = at;
        slot->late = LLVMGetMetadata(at, slots_late_kind(kernel)) != NULL;
        slot->type = LLVMGetAllocatedType(at);
        map_set(&kernel->slot_of, at, slot);
        read_uses(kernel, slot);
    }
    for (number = 0; number < kernel->slot_count; number++) {
        struct slot *slot = &kernel->slots[number];
        if (slot->kind != SLOT_SIMPLE)
            continue;
        slot->maskless = needs_no_mask(kernel, slot);
        slot->remat = slot->store_count == 1 &&
                      cost_of(kernel, LLVMGetOperand(slot->stores[0], 0),
                              REMAT_MOST) >= 0;
    }
}

// --- Liveness ----------------------------------------------------------------

static struct slot *simple_slot(const struct kernel *kernel,
                                LLVMValueRef address)
{
    struct slot *slot = map_get(&kernel->slot_of, address);
    return slot && slot->kind == SLOT_SIMPLE ? slot : NULL;
}

// Goes backwards from the end of a block to `until` (NULL: its begin).
static void live_backwards(const struct kernel *kernel,
                           const struct block *block, LLVMValueRef until,
                           struct set *live)
{
    for (LLVMValueRef at = LLVMGetLastInstruction(block->ir);
         at && at != until; at = LLVMGetPreviousInstruction(at)) {
        struct slot *slot = NULL;
        if (LLVMIsAStoreInst(at) &&
            (slot = simple_slot(kernel, LLVMGetOperand(at, 1))))
            set_remove(live, (unsigned)(slot - kernel->slots));
        else if (LLVMIsALoadInst(at) &&
                 (slot = simple_slot(kernel, LLVMGetOperand(at, 0))))
            set_add(live, (unsigned)(slot - kernel->slots));
    }
}

static struct set live_at_end(const struct kernel *kernel,
                              const struct block *block, struct set *at_begin)
{
    struct set live = set_create(kernel->slot_count);
    for (unsigned s = 0; s < block->successor_count; s++)
        set_unite(&live, &at_begin[block->successors[s]]);
    return live;
}

void slots_live(struct kernel *kernel)
{
    if (kernel->barrier_count == 0)
        return;
    struct set *at_begin =
        simt_allocate(kernel->block_count * sizeof *at_begin);
    for (unsigned i = 0; i < kernel->block_count; i++)
        at_begin[i] = set_create(kernel->slot_count);
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned i = kernel->block_count; i-- > 0;) {
            const struct block *block = &kernel->blocks[i];
            struct set live = live_at_end(kernel, block, at_begin);
            live_backwards(kernel, block, NULL, &live);
            changed |= set_unite(&at_begin[i], &live);
        }
    }
    kernel->live = simt_allocate(kernel->barrier_count * sizeof(struct set));
    for (unsigned b = 0; b < kernel->barrier_count; b++) {
        const struct block *block = &kernel->blocks[kernel->barrier_blocks[b]];
        struct set live = live_at_end(kernel, block, at_begin);
        live_backwards(kernel, block, block->barrier_call, &live);
        kernel->live[b] = live;
        for (unsigned s = 0; s < kernel->slot_count; s++)
            kernel->slots[s].kept |= set_has(&live, s) &&
                                     !kernel->slots[s].remat;
    }
}

LLVMValueRef slots_argument_array(const struct kernel *kernel,
                                  LLVMValueRef address)
{
    address = slots_base(kernel, address);
    return LLVMIsALoadInst(address) && slots_is_argument_load(kernel, address)
               ? address : NULL;
}

bool address_is_shared(const struct kernel *kernel, LLVMValueRef address,
                       int depth)
{
    int axis;
    if (depth > 8 || !LLVMIsAInstruction(address))
        return false;
    if (LLVMIsAGetElementPtrInst(address))
        return address_is_shared(kernel, LLVMGetOperand(address, 0), depth + 1);
    if (primitive_of(address, &axis) == PRIMITIVE_TLS)
        return true;
    if (!LLVMIsALoadInst(address))
        return false;
    const struct slot *slot = slots_loaded(kernel, address);
    return slot && slot->store_count == 1 &&
           address_is_shared(kernel, LLVMGetOperand(slot->stores[0], 0),
                             depth + 1);
}
