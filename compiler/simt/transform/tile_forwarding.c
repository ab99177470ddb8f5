// Forwards tiles: shared variables that only hold copies of arrays. A kernel
// copies a tile of an array to shared memory before a barrier and reads the
// tile behind the barrier, once per iteration. GPUs need the copy; on a CPU the
// copy costs stores and loads, while the array's lines are in the caches. If
// all loads of a variable read rows that the preceding blocks have copied from
// arrays, the loads read the arrays, and the stores are deleted.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/analysis/analysis.h"
#include "simt/ir/ir.h"

#include <stdlib.h>

// A load or store of the variable.
struct access {
    LLVMValueRef at;
    int64_t begin, end;         // bytes of the variable
    struct tile_row *row;       // of a load: what it reads of
};

// Bytes that each of the blocks before has copied by one store.
struct tile_row {
    unsigned number;
    const struct access **stores;  // by blocks before
    LLVMValueRef address;          // where the array has them
};

struct tile {
    LLVMBuilderRef b;
    LLVMTargetDataRef layout;
    LLVMBasicBlockRef reader;   // the block that reads it
    LLVMBasicBlockRef *before;  // those that lead there, each of which copies
    unsigned before_count;
    struct access *loads, *stores;
    unsigned load_count, store_count;
    struct tile_row **rows;  // in the order of their first loads
    unsigned row_count;
};

// --- What is known of the variable -------------------------------------------

static bool add_access(struct tile *t, LLVMValueRef at, int64_t begin)
{
    bool store = LLVMIsAStoreInst(at);
    unsigned *count = store ? &t->store_count : &t->load_count;
    struct access **all = store ? &t->stores : &t->loads;
    LLVMTypeRef type = accessed_type(at);
    int64_t size = (int64_t)LLVMABISizeOfType(t->layout, type);
    if (!is_plain_access(at) ||
        LLVMSizeOfTypeInBits(t->layout, type) != 8 * (uint64_t)size)
        return false;
    *all = simt_grow(*all, *count, sizeof **all);
    (*all)[(*count)++] = (struct access){at, begin, begin + size, NULL};
    return true;
}

// All that is done with an address. False if that is more than loads and
// stores of known bytes.
static bool read_uses(struct tile *t, LLVMValueRef address, int64_t begin)
{
    for (LLVMUseRef use = LLVMGetFirstUse(address); use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        int64_t offset = begin;
        if (accessed_address(user) == address) {
            if (LLVMIsAStoreInst(user) && LLVMGetOperand(user, 0) == address)
                return false;
            if (!add_access(t, user, begin))
                return false;
        } else if (LLVMIsAGetElementPtrInst(user)) {
            if (!address_offset(t->layout, user, &offset) ||
                !read_uses(t, user, offset))
                return false;
        } else if (!LLVMIsACallInst(user) ||
                   !is_intrinsic(user, "lifetime.end")) {
            return false;
        }
    }
    return true;
}

// --- Blocks ------------------------------------------------------------------

static bool is_before(const struct tile *t, LLVMBasicBlockRef block)
{
    for (unsigned i = 0; i < t->before_count; i++)
        if (t->before[i] == block)
            return true;
    return false;
}

// False for the second way from one block.
static bool add_before(struct tile *t, LLVMBasicBlockRef block)
{
    if (is_before(t, block))
        return false;
    t->before = simt_grow(t->before, t->before_count, sizeof *t->before);
    t->before[t->before_count++] = block;
    return true;
}

static bool find_blocks(struct tile *t)
{
    t->reader = LLVMGetInstructionParent(t->loads[0].at);
    for (unsigned i = 0; i < t->load_count; i++)
        if (LLVMGetInstructionParent(t->loads[i].at) != t->reader)
            return false;
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(t->reader));
         use; use = LLVMGetNextUse(use))
        if (LLVMIsATerminatorInst(LLVMGetUser(use)) &&
            !add_before(t, LLVMGetInstructionParent(LLVMGetUser(use))))
            return false;
    for (unsigned i = 0; i < t->store_count; i++)
        if (!is_before(t, LLVMGetInstructionParent(t->stores[i].at)))
            return false;
    return t->before_count > 0 && !is_before(t, t->reader);
}

// True if an instruction does not change the arrays of arguments.
static bool keeps_arrays(LLVMValueRef at)
{
    if (LLVMIsAStoreInst(at))
        return is_plain_access(at) && alias_is_shared(at);
    if (LLVMIsALoadInst(at))
        return is_plain_access(at);
    if (LLVMIsACallInst(at))
        return is_ignored_call(at) || is_pure_call(at);
    return !LLVMIsAFenceInst(at) && !LLVMIsAAtomicRMWInst(at) &&
           !LLVMIsAAtomicCmpXchgInst(at) && !LLVMIsAInvokeInst(at);
}

static bool keep_arrays(LLVMValueRef from)
{
    for (; from; from = LLVMGetNextInstruction(from))
        if (!keeps_arrays(from))
            return false;
    return true;
}

// --- Copies ------------------------------------------------------------------

// The load that a store copies; NULL if the array may have changed since.
static LLVMValueRef copied(LLVMValueRef store)
{
    LLVMValueRef value = LLVMGetOperand(store, 0);
    return LLVMIsALoadInst(value) && is_plain_access(value) &&
                   alias_is_array(value) &&
                   LLVMGetInstructionParent(value) ==
                       LLVMGetInstructionParent(store) &&
                   keep_arrays(value)
               ? value : NULL;
}

static const struct access *access_of(const struct tile *t, LLVMValueRef at)
{
    for (unsigned i = 0; i < t->store_count; i++)
        if (t->stores[i].at == at)
            return &t->stores[i];
    return NULL;
}

// The last store of a block that writes any byte of a load. NULL if the store
// writes only some of the bytes, or stores no copy.
static const struct access *find_store(const struct tile *t,
                                       const struct access *load,
                                       LLVMBasicBlockRef block)
{
    const struct access *store = NULL;
    LLVMValueRef at = LLVMGetLastInstruction(block);
    for (; at && !store; at = LLVMGetPreviousInstruction(at)) {
        store = LLVMIsAStoreInst(at) ? access_of(t, at) : NULL;
        if (store && (store->end <= load->begin || load->end <= store->begin))
            store = NULL;
    }
    return store && store->begin <= load->begin && load->end <= store->end &&
                   copied(store->at)
               ? store : NULL;
}

static bool is_row(const struct tile *t, const struct tile_row *row,
                   const struct access *const *stores)
{
    for (unsigned i = 0; i < t->before_count; i++)
        if (row->stores[i] != stores[i])
            return false;
    return true;
}

static struct tile_row *find_row(struct tile *t, const struct access *load)
{
    const struct access **stores =
        simt_allocate(t->before_count * sizeof *stores);
    for (unsigned i = 0; i < t->before_count; i++) {
        stores[i] = find_store(t, load, t->before[i]);
        if (!stores[i] || stores[i]->begin != stores[0]->begin)
            return NULL;
    }
    for (unsigned i = 0; i < t->row_count; i++)
        if (is_row(t, t->rows[i], stores))
            return t->rows[i];
    struct tile_row *made = simt_allocate(sizeof *made);
    *made = (struct tile_row){.stores = stores, .number = t->row_count};
    t->rows = simt_grow(t->rows, t->row_count, sizeof *t->rows);
    return t->rows[t->row_count++] = made;
}

// Whether numbers of a row are read together. A variable that is written along
// rows and read along columns is there because caches are not good at these.
static bool reads_rows(const struct tile *t)
{
    const struct tile_row *before = NULL;
    unsigned count = 0, changes = 0;
    for (unsigned i = 0; i < t->load_count; i++) {
        const struct access *load = &t->loads[i];
        const struct access *store = load->row->stores[0];
        if (load->end - load->begin == store->end - store->begin)
            continue;
        count++;
        changes += load->row != before;
        before = load->row;
    }
    return count == 0 || changes * LEAST_OF_ROW <= count;
}

// Loads as they stand, each with its row. False if any is of none.
static bool find_rows(struct tile *t)
{
    unsigned count = 0;
    for (LLVMValueRef at = LLVMGetFirstInstruction(t->reader); at;
         at = LLVMGetNextInstruction(at)) {
        unsigned i = count;
        while (i < t->load_count && t->loads[i].at != at)
            i++;
        if (i == t->load_count)
            continue;
        struct access load = t->loads[i];
        t->loads[i] = t->loads[count];
        load.row = find_row(t, &load);
        t->loads[count++] = load;
        if (!load.row)
            return false;
    }
    return reads_rows(t);
}

// --- Reading the arrays ------------------------------------------------------

// The address that a row is copied from in a block before.
static LLVMValueRef address_in(const struct tile_row *row, unsigned block)
{
    return LLVMGetOperand(copied(row->stores[block]->at), 0);
}

// How far a row lies behind another one, to be freed; NULL where that differs.
static struct difference *find_difference(const struct tile *t,
                                          const struct tile_row *from,
                                          const struct tile_row *to)
{
    struct difference *first =
        address_difference(t->layout, address_in(from, 0), address_in(to, 0));
    for (unsigned i = 1; first && i < t->before_count; i++) {
        struct difference *other = address_difference(
            t->layout, address_in(from, i), address_in(to, i));
        if (!other || !difference_is_equal(first, other)) {
            free(first);
            first = NULL;
        }
        free(other);
    }
    return first;
}

static LLVMValueRef carry_address(const struct tile *t,
                                  const struct tile_row *row)
{
    LLVMPositionBuilderBefore(t->b, LLVMGetFirstInstruction(t->reader));
    LLVMValueRef phi =
        LLVMBuildPhi(t->b, LLVMTypeOf(address_in(row, 0)), "");
    for (unsigned i = 0; i < t->before_count; i++) {
        LLVMValueRef from = address_in(row, i);
        LLVMAddIncoming(phi, &from, &t->before[i], 1);
    }
    return phi;
}

// Where a row is, before a load of it: mostly at a difference from another row
// that is the same in all iterations. Each address by itself would take a
// register.
static LLVMValueRef find_address(const struct tile *t,
                                 const struct tile_row *row, LLVMValueRef load)
{
    for (unsigned i = row->number; i-- > 0;) {
        struct difference *difference = find_difference(t, t->rows[i], row);
        if (!difference)
            continue;
        LLVMPositionBuilderBefore(t->b, load);
        LLVMValueRef address =
            difference_add(difference, t->b, t->rows[i]->address);
        free(difference);
        return address;
    }
    return carry_address(t, row);
}

// The alignment of an address a number of bytes further.
static unsigned alignment_behind(unsigned alignment, int64_t bytes)
{
    while (bytes % alignment != 0)
        alignment /= 2;
    return alignment;
}

static void read_array(struct tile *t, const struct access *load)
{
    struct tile_row *row = load->row;
    LLVMTypeRef type = LLVMTypeOf(load->at);
    LLVMContextRef context = LLVMGetTypeContext(type);
    int64_t bytes = load->begin - row->stores[0]->begin;
    if (!row->address)
        row->address = find_address(t, row, load->at);
    LLVMPositionBuilderBefore(t->b, load->at);
    LLVMValueRef offset = LLVMConstInt(LLVMInt64TypeInContext(context),
                                       (uint64_t)bytes, 0);
    LLVMValueRef made = LLVMBuildLoad2(
        t->b, type, LLVMBuildGEP2(t->b, LLVMInt8TypeInContext(context),
                                  row->address, &offset, 1, ""), "");
    unsigned alignment = UINT32_MAX / 2 + 1;
    for (unsigned i = 0; i < t->before_count; i++) {
        LLVMValueRef from = copied(row->stores[i]->at);
        unsigned own = alignment_behind(LLVMGetAlignment(from), bytes);
        alignment = own < alignment ? own : alignment;
        alias_copy(from, made);
    }
    LLVMSetAlignment(made, alignment);
    LLVMReplaceAllUsesWith(load->at, made);
}

static void change(struct tile *t)
{
    t->b = LLVMCreateBuilderInContext(
        LLVMGetTypeContext(LLVMTypeOf(t->loads[0].at)));
    for (unsigned i = 0; i < t->load_count; i++)
        read_array(t, &t->loads[i]);
    for (unsigned i = 0; i < t->load_count; i++)
        LLVMInstructionEraseFromParent(t->loads[i].at);
    for (unsigned i = 0; i < t->store_count; i++)
        LLVMInstructionEraseFromParent(t->stores[i].at);
    LLVMDisposeBuilder(t->b);
}

// --- All ---------------------------------------------------------------------

void forward_tiles(LLVMModuleRef module)
{
    for (LLVMValueRef at = first_instruction(module); at;
         at = next_instruction(at)) {
        struct tile t = {.layout = LLVMGetModuleDataLayout(module)};
        if (LLVMIsACallInst(at) && is_intrinsic(at, "threadlocal.address") &&
            has_one_use(LLVMGetOperand(at, 0)) && read_uses(&t, at, 0) &&
            t.load_count > 0 && find_blocks(&t) &&
            keep_arrays(LLVMGetFirstInstruction(t.reader)) && find_rows(&t))
            change(&t);
    }
}
