// Loads and stores: of one place, of neighbours, or of places all over.
#include "simt/widen/widen.h"
#include "simt/widen/tuning.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

// Bytes of a line.
enum { LINE = 64 };

static uint64_t size_of(struct emitter *e, LLVMTypeRef type)
{
    return LLVMABISizeOfType(e->kernel->layout, type);
}

static LLVMValueRef alignment_of(struct emitter *e, LLVMValueRef at)
{
    return number32(e, LLVMGetAlignment(at));
}

unsigned alignment_after(unsigned alignment, uint64_t further)
{
    while (further & (alignment - 1))
        alignment /= 2;
    return alignment;
}

unsigned alignment_at(LLVMValueRef at, int64_t further)
{
    return alignment_after(LLVMGetAlignment(at), (uint64_t)further);
}

// --- Slots -------------------------------------------------------------------

static void load_slot(struct emitter *e, LLVMValueRef at, unsigned slot)
{
    if (lanes_are_lazy(e, &e->kernel->slots[slot]))
        return;
    bool wide = e->shapes.slots[slot].kind == SHAPE_VARYING;
    LLVMValueRef value = LLVMBuildLoad2(e->builder, slot_type(e, slot),
                                        slot_memory(e, slot), "");
    lanes_set(e, at, wide ? NULL : value, wide ? value : NULL);
}

static void store_slot(struct emitter *e, LLVMValueRef value, unsigned slot)
{
    LLVMValueRef memory = slot_memory(e, slot);
    if (e->shapes.slots[slot].kind != SHAPE_VARYING) {
        LLVMBuildStore(e->builder, lanes_scalar(e, value), memory);
        return;
    }
    LLVMValueRef vector = lanes_vector(e, value);
    if (e->in_chain && e->mask && !e->kernel->slots[slot].maskless) {
        LLVMValueRef old =
            LLVMBuildLoad2(e->builder, LLVMTypeOf(vector), memory, "");
        vector = LLVMBuildSelect(e->builder, e->mask, vector, old, "");
    }
    LLVMBuildStore(e->builder, vector, memory);
}

// --- All over ----------------------------------------------------------------

// Without instructions for it, an access under a mask would become a branch for
// each lane. Lanes that are not in the mask rather use a place that is theirs.
static bool masks_are_native(struct emitter *e, LLVMTypeRef type)
{
    uint64_t size = size_of(e, type);
    return target_vector_bytes() >= 64 ||
           (target_vector_bytes() == 32 && (size == 4 || size == 8));
}

// Whether there are instructions for places all over, under a mask.
static bool places_are_native(struct emitter *e, LLVMTypeRef type)
{
    uint64_t size = size_of(e, type);
    return target_vector_bytes() >= 64 && (size == 4 || size == 8);
}

static LLVMValueRef nowhere(struct emitter *e)
{
    static const char name[] = "rnl_nowhere";
    LLVMValueRef place = LLVMGetNamedGlobal(e->module, name);
    if (place)
        return place;
    LLVMTypeRef type = LLVMArrayType2(e->i64, 8);
    place = LLVMAddGlobal(e->module, type, name);
    LLVMSetInitializer(place, LLVMConstNull(type));
    LLVMSetLinkage(place, LLVMInternalLinkage);
    LLVMSetGlobalConstant(place, true);
    LLVMSetAlignment(place, 64);
    return place;
}

static LLVMValueRef sink(struct emitter *e)
{
    if (!e->sink) {
        e->sink = variable(e, LLVMArrayType2(e->i64, 8), "sink");
        LLVMSetAlignment(e->sink, 64);
    }
    return e->sink;
}

// Addresses that all lanes may use; and the mask that is still needed.
static LLVMValueRef safe_addresses(struct emitter *e, LLVMTypeRef type,
                                   LLVMValueRef addresses, LLVMValueRef place,
                                   LLVMValueRef *mask)
{
    *mask = mask_or_all(e, e->mask);
    if (!e->mask || places_are_native(e, type))
        return addresses;
    *mask = mask_all(e);
    return LLVMBuildSelect(e->builder, e->mask, addresses, splat(e, place), "");
}

// The function of the module that makes such an access.
static LLVMValueRef accessor(struct emitter *e, const char *intrinsic,
                             LLVMTypeRef *overloads, LLVMValueRef *arguments,
                             LLVMTypeRef type, unsigned alignment)
{
    char *element = LLVMPrintTypeToString(overloads[0]);
    char *name = simt_format("rnl_%s_%s_%u", intrinsic, element, alignment);
    LLVMDisposeMessage(element);
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    if (function)
        return function;
    struct emitter inside = emitter_outlined(e, name, type);
    function = inside.function;
    LLVMValueRef all[4];
    unsigned variables = LLVMCountParams(function);
    for (unsigned i = 0; i < 4; i++)
        all[i] = i < variables ? LLVMGetParam(function, i) : arguments[i];
    LLVMValueRef value =
        call_intrinsic(&inside, intrinsic, overloads, 2, all, 4);
    if (variables == 1)
        LLVMBuildRet(inside.builder, value);
    else
        LLVMBuildRetVoid(inside.builder);
    LLVMDisposeBuilder(inside.builder);
    return function;
}

// Calls an intrinsic whose first `variables` arguments are not constants, by a
// function where there are many.
static LLVMValueRef call_masked(struct emitter *e, const char *intrinsic,
                                LLVMTypeRef *overloads,
                                LLVMValueRef *arguments, unsigned variables,
                                unsigned alignment)
{
    if (places_are_native(e, LLVMGetElementType(overloads[0])) ||
        e->scattered_count++ < ACCESSES_INLINE_MOST)
        return call_intrinsic(e, intrinsic, overloads, 2, arguments, 4);
    LLVMTypeRef result = variables == 1 ? overloads[0] : e->void_type;
    LLVMTypeRef types[] = {LLVMTypeOf(arguments[0]), LLVMTypeOf(arguments[1])};
    LLVMTypeRef type = LLVMFunctionType(result, types, variables, 0);
    LLVMValueRef function =
        accessor(e, intrinsic, overloads, arguments, type, alignment);
    return LLVMBuildCall2(e->builder, type, function, arguments, variables, "");
}

static LLVMValueRef gather(struct emitter *e, LLVMTypeRef element,
                           unsigned alignment, LLVMValueRef addresses)
{
    LLVMValueRef mask;
    LLVMTypeRef type = vector_type(e, element);
    LLVMTypeRef overloads[] = {type, LLVMTypeOf(addresses)};
    addresses = safe_addresses(e, element, addresses, nowhere(e), &mask);
    LLVMValueRef arguments[] = {addresses, number32(e, alignment), mask,
                                LLVMConstNull(type)};
    return call_masked(e, "llvm.masked.gather", overloads, arguments, 1,
                       alignment);
}

static void scatter(struct emitter *e, unsigned alignment, LLVMValueRef value,
                    LLVMValueRef addresses)
{
    LLVMValueRef mask;
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMTypeRef overloads[] = {type, LLVMTypeOf(addresses)};
    addresses = safe_addresses(e, LLVMGetElementType(type), addresses, sink(e),
                               &mask);
    LLVMValueRef arguments[] = {value, addresses, number32(e, alignment), mask};
    call_masked(e, "llvm.masked.scatter", overloads, arguments, 2, alignment);
}

// --- Neighbours --------------------------------------------------------------

static LLVMValueRef row_addresses(struct emitter *e, LLVMValueRef base,
                                  uint64_t size)
{
    LLVMValueRef offsets = steps(e, e->i64, (int64_t)size);
    return LLVMBuildGEP2(e->builder, e->i8, base, &offsets, 1, "");
}

// Strided lanes: processors load elements one by one faster than they gather.
static bool loads_apart(struct emitter *e, struct shape address)
{
    return address.kind == SHAPE_AFFINE && !e->mask && !e->in_chain &&
           !e->kernel->compact && e->strided_count < ACCESSES_INLINE_MOST;
}

static LLVMValueRef load_apart(struct emitter *e, LLVMValueRef at,
                               LLVMTypeRef type, int64_t further)
{
    LLVMValueRef address = LLVMGetOperand(at, 0);
    LLVMValueRef vector = LLVMGetPoison(vector_type(e, type));
    int64_t difference = shape_of(&e->shapes, address).stride;
    if (difference > 0 && difference <= LINE)
        prefetch_row(e, at, lanes_scalar(e, address), (uint64_t)difference);
    e->strided_count++;
    for (unsigned i = 0; i < e->width; i++) {
        LLVMValueRef from =
            at_offset(e, lanes_at(e, address, i), (uint64_t)further);
        LLVMValueRef load = LLVMBuildLoad2(e->builder, type, from, "");
        LLVMSetAlignment(load, alignment_at(at, further));
        LLVMSetVolatile(load, LLVMGetVolatile(at));
        alias_mark(e, address, load);
        vector = LLVMBuildInsertElement(e->builder, vector, load,
                                        number32(e, i), "");
    }
    return vector;
}

// Lanes a constant number of bytes apart are counted from the first one's
// place: processors add the distances themselves. That place is frozen, since
// LLVM would add the distances to what a loop does not change.
static LLVMValueRef addresses_at(struct emitter *e, LLVMValueRef address,
                                 int64_t further)
{
    struct shape shape = shape_of(&e->shapes, address);
    if (shape.kind == SHAPE_AFFINE) {
        LLVMValueRef offsets = steps(e, e->i64, shape.stride);
        LLVMValueRef first =
            at_offset(e, lanes_scalar(e, address), (uint64_t)further);
        first = LLVMBuildFreeze(e->builder, first, "");
        return LLVMBuildGEP2(e->builder, e->i8, first, &offsets, 1, "");
    }
    LLVMValueRef addresses = lanes_vector(e, address);
    return further ? at_offset(e, addresses, (uint64_t)further) : addresses;
}

LLVMValueRef access_addresses(struct emitter *e, LLVMValueRef at,
                              int64_t further)
{
    LLVMValueRef addresses =
        addresses_at(e, LLVMGetOperand(at, 0), further);
    return e->mask ? LLVMBuildSelect(e->builder, e->mask, addresses,
                                     splat(e, nowhere(e)), "")
                   : addresses;
}

LLVMValueRef access_load_at(struct emitter *e, LLVMValueRef at,
                            LLVMTypeRef type, int64_t further)
{
    LLVMValueRef address = LLVMGetOperand(at, 0);
    if (loads_apart(e, shape_of(&e->shapes, address)))
        return load_apart(e, at, type, further);
    if (half_access_suits(e, address, type))
        return half_access(e, at, type, further, NULL);
    return gather(e, type, alignment_at(at, further),
                  addresses_at(e, address, further));
}

void access_store_at(struct emitter *e, LLVMValueRef at, LLVMValueRef value,
                     int64_t further)
{
    LLVMValueRef address = LLVMGetOperand(at, 1);
    LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(value));
    if (half_access_suits(e, address, type))
        half_access(e, at, type, further, value);
    else
        scatter(e, alignment_at(at, further), value,
                addresses_at(e, address, further));
}

static LLVMValueRef load_row(struct emitter *e, LLVMValueRef at,
                             LLVMValueRef address)
{
    prefetch_row(e, at, address, size_of(e, LLVMTypeOf(at)));
    LLVMTypeRef type = vector_type(e, LLVMTypeOf(at));
    if (!e->mask) {
        LLVMValueRef load = LLVMBuildLoad2(e->builder, type, address, "");
        LLVMSetAlignment(load, LLVMGetAlignment(at));
        LLVMSetVolatile(load, LLVMGetVolatile(at));
        alias_mark(e, LLVMGetOperand(at, 0), load);
        return load;
    }
    if (!masks_are_native(e, LLVMTypeOf(at)))
        return gather(e, LLVMTypeOf(at), LLVMGetAlignment(at),
                      row_addresses(e, address, size_of(e, LLVMTypeOf(at))));
    LLVMTypeRef overloads[] = {type, e->pointer};
    LLVMValueRef arguments[] = {address, alignment_of(e, at), e->mask,
                                LLVMConstNull(type)};
    LLVMValueRef load =
        call_intrinsic(e, "llvm.masked.load", overloads, 2, arguments, 4);
    alias_mark(e, LLVMGetOperand(at, 0), load);
    return load;
}

static LLVMValueRef reverse(struct emitter *e, LLVMValueRef vector)
{
    LLVMValueRef lanes[32];
    for (unsigned i = 0; i < e->width; i++)
        lanes[i] = number32(e, e->width - 1 - i);
    return LLVMBuildShuffleVector(e->builder, vector, vector,
                                  LLVMConstVector(lanes, e->width), "");
}

// A row whose last lane comes first in memory.
static LLVMValueRef load_reversed_row(struct emitter *e, LLVMValueRef at)
{
    LLVMValueRef mask = e->mask;
    LLVMValueRef last = lanes_at(e, LLVMGetOperand(at, 0), e->width - 1);
    if (mask)
        e->mask = reverse(e, mask);
    LLVMValueRef row = load_row(e, at, last);
    e->mask = mask;
    return reverse(e, row);
}

static void store_row(struct emitter *e, LLVMValueRef at, LLVMValueRef value,
                      LLVMValueRef address)
{
    if (!e->mask) {
        row_store(e, &(struct row){.at = at, .address = address,
                                      .values = &value, .count = 1,
                                      .alignment = LLVMGetAlignment(at)});
        return;
    }
    if (!masks_are_native(e, accessed_type(at))) {
        scatter(e, LLVMGetAlignment(at), value,
                row_addresses(e, address, size_of(e, accessed_type(at))));
        return;
    }
    LLVMTypeRef overloads[] = {LLVMTypeOf(value), e->pointer};
    LLVMValueRef arguments[] = {value, address, alignment_of(e, at), e->mask};
    alias_mark(e, LLVMGetOperand(at, 1),
               call_intrinsic(e, "llvm.masked.store", overloads, 2, arguments,
                              4));
}

// The number of the last active lane. At least one lane is active.
static LLVMValueRef last_lane(struct emitter *e)
{
    LLVMBuilderRef b = e->builder;
    if (!e->mask)
        return number32(e, e->width - 1);
    LLVMValueRef arguments[] = {mask_bits32(e, e->mask),
                                LLVMConstInt(e->i1, 0, 0)};
    LLVMValueRef before =
        call_intrinsic(e, "llvm.ctlz", &e->i32, 1, arguments, 2);
    LLVMValueRef last = LLVMBuildSub(b, number32(e, 31), before, "");
    return LLVMBuildAnd(b, last, number32(e, e->width - 1), "");
}

// A store of all lanes at one address: the last active lane's value remains.
static void store_last(struct emitter *e, LLVMValueRef at, LLVMValueRef value,
                       LLVMValueRef address)
{
    LLVMValueRef store = LLVMBuildStore(
        e->builder, extract(e, value, last_lane(e)), address);
    LLVMSetAlignment(store, LLVMGetAlignment(at));
    LLVMSetVolatile(store, LLVMGetVolatile(at));
    alias_mark(e, LLVMGetOperand(at, 1), store);
}

LLVMValueRef access_are_consecutive(struct emitter *e, LLVMValueRef address,
                                   uint64_t size, LLVMValueRef *base)
{
    LLVMBuilderRef b = e->builder;
    if (!e->mask && shape_of(&e->shapes, address).monotonic) {
        LLVMValueRef last = lanes_at(e, address, e->width - 1);
        *base = lanes_at(e, address, 0);
        LLVMValueRef end = at_offset(e, *base, size * (e->width - 1));
        return LLVMBuildFreeze(b, LLVMBuildICmp(b, LLVMIntEQ, last, end, ""),
                               "");
    }
    LLVMValueRef addresses = lanes_vector(e, address);
    *base = extract(e, addresses, number32(e, 0));
    LLVMValueRef row = row_addresses(e, *base, size);
    LLVMValueRef equal = LLVMBuildICmp(b, LLVMIntEQ, row, addresses, "");
    if (e->mask)
        equal = LLVMBuildOr(b, equal, LLVMBuildNot(b, e->mask, ""), "");
    return mask_is_full(e, LLVMBuildFreeze(b, equal, ""));
}

// The two ways to load a likely row, and the block where they join.
struct ways {
    LLVMBasicBlockRef end;
    LLVMValueRef values[4];
    LLVMBasicBlockRef from[4];
    unsigned count;
};

static void end_way(struct emitter *e, struct ways *ways, LLVMValueRef value)
{
    ways->values[ways->count] = value;
    ways->from[ways->count++] = LLVMGetInsertBlock(e->builder);
    LLVMBuildBr(e->builder, ways->end);
}

// All but one lane of a row.
static LLVMValueRef load_row_but(struct emitter *e, LLVMValueRef at,
                                 LLVMValueRef base, unsigned lane,
                                 LLVMValueRef value)
{
    LLVMValueRef others[32];
    for (unsigned i = 0; i < e->width; i++)
        others[i] = LLVMConstInt(e->i1, i != lane, 0);
    e->mask = LLVMConstVector(others, e->width);
    LLVMValueRef row = load_row(e, at, base);
    e->mask = NULL;
    return LLVMBuildInsertElement(e->builder, row, value, number32(e, lane),
                                  "");
}

// A row that was clamped by one at an end: its first two lanes, or its last
// two, are at the same place.
static void load_clamped_rows(struct emitter *e, LLVMValueRef at,
                              struct ways *ways)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = LLVMTypeOf(at);
    LLVMValueRef address = LLVMGetOperand(at, 0);
    uint64_t size = size_of(e, type);
    unsigned most = e->width - 1;
    LLVMValueRef first = lanes_at(e, address, 0);
    LLVMValueRef last = lanes_at(e, address, most);
    LLVMValueRef end = at_offset(e, first, size * (most - 1));
    LLVMBasicBlockRef once = append(e, "clamped"), low = append(e, "low");
    LLVMBasicBlockRef high = append(e, "high"), neither = append(e, "neither");
    LLVMBasicBlockRef not_low = append(e, "not.low");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, last, end, ""), once,
                    neither);
    position(e, once);
    struct map known = lanes_save(e);
    LLVMValueRef second = lanes_at(e, address, 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, first, second, ""), low,
                    not_low);
    position(e, not_low);
    LLVMValueRef before = lanes_at(e, address, most - 1);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, last, before, ""), high,
                    neither);
    position(e, low);
    LLVMValueRef value = LLVMBuildLoad2(b, type, first, "");
    LLVMSetAlignment(value, LLVMGetAlignment(at));
    end_way(e, ways, load_row_but(e, at, at_offset(e, first, -size), 0, value));
    position(e, high);
    value = LLVMBuildLoad2(b, type, last, "");
    LLVMSetAlignment(value, LLVMGetAlignment(at));
    end_way(e, ways, load_row_but(e, at, first, most, value));
    e->values = known;
    position(e, neither);
}

static LLVMValueRef load_likely_row(struct emitter *e, LLVMValueRef at)
{
    LLVMValueRef address = LLVMGetOperand(at, 0), base;
    LLVMTypeRef type = LLVMTypeOf(at);
    LLVMBasicBlockRef row = append(e, "row"), apart = append(e, "apart");
    struct ways ways = {.end = append(e, "loaded")};
    bool monotonic = !e->mask && shape_of(&e->shapes, address).monotonic;
    LLVMValueRef test =
        access_are_consecutive(e, address, size_of(e, type), &base);
    LLVMBuildCondBr(e->builder, test, row, apart);
    position(e, row);
    end_way(e, &ways, load_row(e, at, base));
    position(e, apart);
    struct map known = lanes_save(e);
    if (monotonic && LLVMGetAlignment(at) >= size_of(e, type) &&
        masks_are_native(e, type))
        load_clamped_rows(e, at, &ways);
    end_way(e, &ways, access_load_at(e, at, type, 0));
    e->values = known;
    position(e, ways.end);
    LLVMValueRef phi =
        LLVMBuildPhi(e->builder, vector_type(e, type), "");
    LLVMAddIncoming(phi, ways.values, ways.from, ways.count);
    return phi;
}

static void store_likely_row(struct emitter *e, LLVMValueRef at,
                             LLVMValueRef value)
{
    LLVMValueRef address = LLVMGetOperand(at, 1);
    LLVMBasicBlockRef row = append(e, "row"), apart = append(e, "apart");
    LLVMBasicBlockRef end = append(e, "stored");
    LLVMValueRef base;
    LLVMValueRef test = access_are_consecutive(
        e, address, size_of(e, accessed_type(at)), &base);
    LLVMBuildCondBr(e->builder, test, row, apart);
    position(e, row);
    store_row(e, at, value, base);
    LLVMBuildBr(e->builder, end);
    position(e, apart);
    struct map known = lanes_save(e);
    access_store_at(e, at, value, 0);
    e->values = known;
    LLVMBuildBr(e->builder, end);
    position(e, end);
}

// --- Dispatch ----------------------------------------------------------------

// Whether lanes follow each other in memory, forwards or backwards (-1).
static bool has_stride(struct emitter *e, LLVMValueRef at,
                       struct shape address, int direction)
{
    LLVMTypeRef type = accessed_type(at);
    return address.kind == SHAPE_AFFINE && type != e->i1 &&
           address.stride == direction * (int64_t)size_of(e, type) &&
           size_of(e, type) == LLVMStoreSizeOfType(e->kernel->layout, type);
}

static bool may_have_stride(struct emitter *e, LLVMValueRef at,
                            struct shape address)
{
    LLVMTypeRef type = accessed_type(at);
    return !e->kernel->compact && address.kind == SHAPE_VARYING &&
           type != e->i1 && address.guess == (int64_t)size_of(e, type);
}

bool access_is_row(struct emitter *e, LLVMValueRef at)
{
    struct shape shape = shape_of(&e->shapes, accessed_address(at));
    return has_stride(e, at, shape, 1) || may_have_stride(e, at, shape);
}

static void promise_invariance(struct emitter *e, LLVMValueRef load)
{
    unsigned kind = LLVMGetMDKindIDInContext(e->context, "invariant.load", 14);
    LLVMValueRef nothing = LLVMMetadataAsValue(
        e->context, LLVMMDNodeInContext2(e->context, NULL, 0));
    LLVMSetMetadata(load, kind, nothing);
}

// Whether an argument is loaded once for all blocks. Addresses and integers are
// used by scalar instructions, while floats would take vector registers in all
// loops; kernels with barriers have more loops than registers.
static bool is_loaded_early(const struct kernel *kernel, LLVMValueRef load)
{
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMTypeOf(load));
    return slots_is_argument_load(kernel, load) && kernel->barrier_count == 0 &&
           (kind == LLVMPointerTypeKind || kind == LLVMIntegerTypeKind);
}

static void mark_load(struct emitter *e, LLVMValueRef at, LLVMValueRef made)
{
    if (slots_is_argument_load(e->kernel, at))
        promise_invariance(e, made);
    alias_mark(e, LLVMGetOperand(at, 0), made);
}

static LLVMValueRef clone_load(struct emitter *e, LLVMValueRef at)
{
    LLVMValueRef made = instruction_clone(e, at);
    mark_load(e, at, made);
    return made;
}

// An argument of the kernel, or a part of its address, loaded once where the
// function begins. Arguments can always be read, but LLVM does not know that,
// and leaves a load behind a condition inside of the loop over gangs.
static LLVMValueRef argument_at_begin(struct emitter *e, LLVMValueRef value)
{
    if (LLVMIsAArgument(value))
        return e->arguments;
    LLVMValueRef made = map_get(&e->argument_values, value);
    if (made)
        return made;
    LLVMValueRef from = LLVMGetOperand(value, 0);
    const struct slot *slot =
        LLVMIsALoadInst(value) ? slots_simple(e->kernel, from) : NULL;
    if (slot)
        return argument_at_begin(e, LLVMGetOperand(slot->stores[0], 0));
    made = LLVMInstructionClone(value);
    LLVMSetOperand(made, 0, argument_at_begin(e, from));
    LLVMBuilderRef b = LLVMCreateBuilderInContext(e->context);
    LLVMPositionBuilderBefore(b, LLVMGetBasicBlockTerminator(e->begin));
    LLVMSetCurrentDebugLocation2(b, LLVMGetCurrentDebugLocation2(e->builder));
    LLVMInsertIntoBuilder(b, made);
    LLVMDisposeBuilder(b);
    if (LLVMIsALoadInst(made))
        mark_load(e, value, made);
    map_set(&e->argument_values, value, made);
    return made;
}

void access_load(struct emitter *e, LLVMValueRef at)
{
    LLVMValueRef address = LLVMGetOperand(at, 0);
    struct slot *slot = slots_simple(e->kernel, address);
    if (slot) {
        load_slot(e, at, (unsigned)(slot - e->kernel->slots));
        return;
    }
    struct shape shape = shape_of(&e->shapes, address);
    LLVMValueRef vector;
    if (shape.kind <= SHAPE_UNIFORM) {
        LLVMValueRef made = is_loaded_early(e->kernel, at)
                                ? argument_at_begin(e, at)
                                : clone_load(e, at);
        bool alike = shape_of(&e->shapes, at).kind != SHAPE_VARYING;
        lanes_set(e, at, alike ? made : NULL, alike ? NULL : splat(e, made));
        return;
    }
    if (has_stride(e, at, shape, 1))
        vector = load_row(e, at, lanes_scalar(e, address));
    else if (has_stride(e, at, shape, -1))
        vector = load_reversed_row(e, at);
    else if (may_have_stride(e, at, shape))
        vector = load_likely_row(e, at);
    else if (struct_load(e, at))
        return;
    else
        vector = access_load_at(e, at, LLVMTypeOf(at), 0);
    lanes_set(e, at, NULL, vector);
}

void access_store(struct emitter *e, LLVMValueRef at)
{
    LLVMValueRef value = LLVMGetOperand(at, 0);
    LLVMValueRef address = LLVMGetOperand(at, 1);
    struct slot *slot = slots_simple(e->kernel, address);
    if (slot) {
        store_slot(e, value, (unsigned)(slot - e->kernel->slots));
        return;
    }
    struct shape shape = shape_of(&e->shapes, address);
    if (shape.kind <= SHAPE_UNIFORM && lanes_uniform(e, value))
        alias_mark(e, address, instruction_clone(e, at));
    else if (shape.kind <= SHAPE_UNIFORM)
        store_last(e, at, lanes_vector(e, value), lanes_scalar(e, address));
    else if (has_stride(e, at, shape, 1))
        store_row(e, at, lanes_vector(e, value), lanes_scalar(e, address));
    else if (may_have_stride(e, at, shape))
        store_likely_row(e, at, lanes_vector(e, value));
    else if (!struct_store(e, at))
        access_store_at(e, at, lanes_vector(e, value), 0);
}
