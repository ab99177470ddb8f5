// Access groups: accesses of a thread to neighbouring addresses, such as the
// members of a struct, without a conflicting access in between. Each access
// that lanes can make is in a group, perhaps alone.
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

// Numbers that are taken out of a sum.
enum { ADDED_MOST = 1 << 16 };

// --- Addresses ---------------------------------------------------------------

// base + index * unit + offset, where the index may be 0 (NULL), or be widened
// by a cast.
struct place {
    LLVMValueRef base, index;
    LLVMOpcode cast;
    uint64_t unit;
    int64_t offset;
};

static bool is_small(int64_t number)
{
    return number <= ADDED_MOST && number >= -ADDED_MOST;
}

// Takes constants out of a sum of which the cast (or none) is then taken.
static LLVMValueRef strip_sum(const struct kernel *kernel, LLVMValueRef value,
                              LLVMOpcode cast, int64_t *added)
{
    for (;;) {
        int64_t number;
        value = slots_resolve(kernel, value);
        LLVMValueRef base = linear_form_base(kernel->layout, value, &number);
        if (!base || !is_small(number) || (number < 0 && cast == LLVMZExt) ||
            !linear_form_extends(value, cast))
            return value;
        *added += number;
        value = base;
    }
}

static void add_index(const struct kernel *kernel, struct place *place,
                      LLVMValueRef index, uint64_t unit)
{
    int64_t added = 0;
    index = strip_sum(kernel, index, 0, &added);
    if (LLVMIsASExtInst(index) || LLVMIsAZExtInst(index)) {
        place->cast = LLVMGetInstructionOpcode(index);
        index = strip_sum(kernel, LLVMGetOperand(index, 0), place->cast,
                          &added);
    }
    place->index = index;
    place->unit = unit;
    place->offset += added * (int64_t)unit;
}

// Adds what an address computation does; false if that is not of this form.
static bool add_steps(const struct kernel *kernel, struct place *place,
                      LLVMValueRef at)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(at);
    for (int i = 1; i < LLVMGetNumOperands(at); i++) {
        struct step step = address_step(kernel->layout, at, i, &type);
        int64_t number = 1;
        bool known = !step.index || constant_of(step.index, &number);
        if (known && is_small(number))
            place->offset += number * (int64_t)step.unit;
        else if (!known && !place->index)
            add_index(kernel, place, step.index, step.unit);
        else
            return false;
    }
    return true;
}

static struct place place_of(const struct kernel *kernel, LLVMValueRef address)
{
    struct place place = {.base = slots_resolve(kernel, address)};
    while (LLVMIsAGetElementPtrInst(place.base)) {
        struct place more = place;
        if (!add_steps(kernel, &more, place.base))
            break;
        more.base = slots_resolve(kernel, LLVMGetOperand(place.base, 0));
        place = more;
    }
    return place;
}

static bool is_beside(const struct place *one, const struct place *other)
{
    return one->base == other->base && one->index == other->index &&
           one->cast == other->cast && one->unit == other->unit;
}

// --- Gathering ---------------------------------------------------------------

// The groups of a block that can still grow.
struct open {
    struct kernel *kernel;
    struct access_group *loads[8], *stores;
    struct place places[8], stored;
    unsigned count, next;
};

static int64_t size_of(const struct kernel *kernel, LLVMValueRef at)
{
    return (int64_t)LLVMABISizeOfType(kernel->layout, accessed_type(at));
}

// Whether it can be in a group. A thread's own arrays lie in another way than
// others.
static bool has_place(const struct kernel *kernel, LLVMValueRef at)
{
    LLVMTypeRef type = accessed_type(at);
    return LLVMGetTypeKind(type) != LLVMVectorTypeKind &&
           is_element(kernel->layout, type) &&
           !map_get(&kernel->slot_of,
                    slots_base(kernel, accessed_address(at)));
}

static struct access_group *group_begin(int64_t offset)
{
    struct access_group *group = simt_allocate(sizeof *group);
    group->low = group->high = offset;
    return group;
}

// False if it is too far off.
static bool group_add(struct open *open, struct access_group *group,
                       LLVMValueRef at, int64_t offset)
{
    int64_t end = offset + size_of(open->kernel, at);
    int64_t low = offset < group->low ? offset : group->low;
    int64_t high = end > group->high ? end : group->high;
    if (high - low > STRUCT_BYTES_MOST || group->count == GROUP_MOST)
        return false;
    group->low = low;
    group->high = high;
    group->items = simt_grow(group->items, group->count,
                              sizeof *group->items);
    group->items[group->count++] = (struct grouped_access){at, offset, end};
    map_set(&open->kernel->access_groups, at, group);
    return true;
}

static void close_loads(struct open *open)
{
    open->count = open->next = 0;
}

static void take_load(struct open *open, LLVMValueRef at)
{
    struct place place = place_of(open->kernel, LLVMGetOperand(at, 0));
    for (unsigned i = 0; i < open->count; i++)
        if (is_beside(&open->places[i], &place) &&
            group_add(open, open->loads[i], at, place.offset))
            return;
    const unsigned most = sizeof open->loads / sizeof *open->loads;
    unsigned i = open->next++ % most;
    open->count += open->count < most;
    open->places[i] = place;
    open->loads[i] = group_begin(place.offset);
    group_add(open, open->loads[i], at, place.offset);
}

// Stores over each other keep their order.
static bool overlaps(const struct access_group *group, int64_t begin,
                     int64_t end)
{
    for (unsigned i = 0; i < group->count; i++)
        if (begin < group->items[i].end && group->items[i].offset < end)
            return true;
    return false;
}

static void take_store(struct open *open, LLVMValueRef at)
{
    struct place place = place_of(open->kernel, LLVMGetOperand(at, 1));
    int64_t end = place.offset + size_of(open->kernel, at);
    close_loads(open);
    if (open->stores && is_beside(&open->stored, &place) &&
        !overlaps(open->stores, place.offset, end) &&
        group_add(open, open->stores, at, place.offset))
        return;
    open->stored = place;
    open->stores = group_begin(place.offset);
    group_add(open, open->stores, at, place.offset);
}

// Whether an instruction touches no memory but the thread's own values.
static bool is_apart(const struct kernel *kernel, LLVMValueRef at)
{
    switch (LLVMGetInstructionOpcode(at)) {
    case LLVMLoad:
        return slots_loaded(kernel, at) || slots_is_argument_load(kernel, at);
    case LLVMStore:
        return slots_simple(kernel, LLVMGetOperand(at, 1)) != NULL;
    case LLVMCall:
        return is_index_call(at) || is_ignored_call(at) || is_pure_call(at);
    case LLVMAtomicRMW: case LLVMAtomicCmpXchg: case LLVMFence:
        return false;
    default:
        return true;
    }
}

static void take(struct open *open, LLVMValueRef at)
{
    const struct kernel *kernel = open->kernel;
    if (is_apart(kernel, at))
        return;
    bool plain = is_plain_access(at), load = LLVMIsALoadInst(at) != NULL;
    bool fits = plain && has_place(kernel, at);
    if (!plain || !load)
        close_loads(open);
    if (!fits || load)
        open->stores = NULL;
    if (fits && load)
        take_load(open, at);
    else if (fits)
        take_store(open, at);
}

void access_groups_find(struct kernel *kernel)
{
    for (unsigned i = 0; i < kernel->block_count; i++) {
        struct open open = {.kernel = kernel};
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at))
            take(&open, at);
    }
}
