// Keeps shared variables in registers. Where all accesses of a shared variable
// are at constant addresses, under constant masks, it is known which lane of
// which vector each load reads: a shuffle of these vectors replaces the load,
// and the stores go. GPUs pass numbers between threads through shared memory;
// a CPU's loads that span several stores wait until these have left the core.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/ir/ir.h"

#include <string.h>

// A lane of a vector; lane 0 of a scalar. The value is NULL if unknown.
struct lane_source {
    LLVMValueRef value;
    unsigned lane;
};

// The content of a byte of the variable: byte `byte` of an element of `size`
// bytes.
struct cell {
    struct lane_source source;
    uint16_t byte, size;
};

// The vectors that a load is made of.
struct mix {
    LLVMValueRef values[SOURCES_MOST];  // NULL: constants
    unsigned count;
    int *of;  // the value of each lane, or NONE
};

// A load or store. Lanes that a mask leaves out have the offset FAR.
struct shared_access {
    LLVMValueRef at;
    bool store;
    unsigned count;  // of lanes
    unsigned size;   // of each, in bytes
    int64_t *offsets;
    struct lane_source *lanes;  // of a load: what it reads
    struct mix mix;
    LLVMValueRef made;  // of a load: what replaces it
};

struct variable {
    LLVMTargetDataRef layout;
    LLVMValueRef function;
    unsigned size;
    struct map accesses;          // by instruction
    struct shared_access **list;  // in the order of execution
    unsigned count, followed;
    struct map places;   // of addresses: an offset for each lane
    LLVMValueRef *ends;  // of its lifetime, which is that of the block
    unsigned end_count;
    bool failed;
    int saved, spent;  // costs of memory and of shuffles
};

static bool is_vector(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind;
}

static unsigned lane_count(LLVMTypeRef type)
{
    return is_vector(type) ? LLVMGetVectorSize(type) : 1;
}

static LLVMTypeRef element_of(LLVMTypeRef type)
{
    return is_vector(type) ? LLVMGetElementType(type) : type;
}

// --- Addresses ---------------------------------------------------------------

// The number that lane `lane` of a constant index holds. A poison lane is never
// accessed.
static bool index_at(LLVMValueRef index, unsigned lane, int64_t *number)
{
    if (is_vector(LLVMTypeOf(index)))
        index =
            LLVMIsConstant(index) ? LLVMGetAggregateElement(index, lane) : NULL;
    *number = FAR;
    return index && (LLVMIsUndef(index) || constant_of(index, number));
}

// Whether all indices of a getelementptr are constants; adds them up.
static bool add_indices(const struct variable *v, LLVMValueRef at,
                        unsigned lane, int64_t *offset)
{
    LLVMTypeRef type = LLVMGetGEPSourceElementType(at);
    for (int i = 1; i < LLVMGetNumOperands(at); i++) {
        if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind &&
            is_vector(LLVMTypeOf(LLVMGetOperand(at, (unsigned)i))))
            return false;
        struct step step = address_step(v->layout, at, i, &type);
        int64_t index = 1;
        if (step.index && !index_at(step.index, lane, &index))
            return false;
        *offset = far_sum(*offset, far_product(index, (int64_t)step.unit));
    }
    return true;
}

static int64_t *derive_places(const struct variable *v, LLVMValueRef at)
{
    const int64_t *from = map_get(&v->places, LLVMGetOperand(at, 0));
    unsigned count = lane_count(LLVMTypeOf(at));
    unsigned before = lane_count(LLVMTypeOf(LLVMGetOperand(at, 0)));
    int64_t *places = simt_allocate(count * sizeof *places);
    for (unsigned i = 0; from && i < count; i++) {
        if (LLVMIsAShuffleVectorInst(at)) {
            int lane = LLVMGetMaskValue(at, i);
            places[i] = lane < 0 || lane >= (int)before ? FAR : from[lane];
            continue;
        }
        places[i] = from[before == 1 ? 0 : i];
        if (LLVMIsAGetElementPtrInst(at) && !add_indices(v, at, i, &places[i]))
            return NULL;
    }
    return from ? places : NULL;
}

// --- Accesses ----------------------------------------------------------------

// The operands of masked accesses, of which memory intrinsics have few orders.
struct form {
    const char *name;
    bool store, vector;  // a vector of addresses
    unsigned address, mask, others;
};

static const struct form forms[] = {
    {"masked.load", false, false, 0, 2, 3},
    {"masked.store", true, false, 1, 3, 0},
    {"masked.gather", false, true, 0, 2, 3},
    {"masked.scatter", true, true, 1, 3, 0},
};

static const struct form *form_of(LLVMValueRef call)
{
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++)
        if (LLVMIsACallInst(call) && is_intrinsic(call, forms[i].name))
            return &forms[i];
    return NULL;
}

static LLVMValueRef mask_of(LLVMValueRef at)
{
    const struct form *form = form_of(at);
    return form ? LLVMGetOperand(at, form->mask) : NULL;
}

// The value of a load in lanes that its mask leaves out.
static LLVMValueRef others_of(LLVMValueRef at)
{
    const struct form *form = form_of(at);
    return form ? LLVMGetOperand(at, form->others) : NULL;
}

static LLVMValueRef accessed_value(const struct shared_access *access)
{
    return access->store ? LLVMGetOperand(access->at, 0) : access->at;
}

static bool place_lanes(struct variable *v, struct shared_access *access,
                        const int64_t *places, bool vector)
{
    LLVMValueRef mask = mask_of(access->at);
    access->offsets = simt_allocate(access->count * sizeof *access->offsets);
    for (unsigned i = 0; i < access->count; i++) {
        int64_t active = 1, offset = places[vector ? i : 0];
        if (mask && !index_at(mask, i, &active))
            return false;
        if (!vector)
            offset = far_sum(offset, (int64_t)i * access->size);
        access->offsets[i] = active == 0 ? FAR : offset;
        if (active != 0 &&
            (active == FAR || offset < 0 || offset + access->size > v->size))
            return false;
    }
    return true;
}

// False for an access that cannot be followed.
static bool add_access(struct variable *v, LLVMValueRef at,
                       LLVMValueRef address)
{
    const struct form *form = form_of(at);
    bool store = form ? form->store : LLVMIsAStoreInst(at) != NULL;
    struct shared_access *access = simt_allocate(sizeof *access);
    *access = (struct shared_access){.at = at, .store = store};
    if (form ? LLVMGetOperand(at, form->address) != address
             : !is_plain_access(at) || accessed_address(at) != address)
        return false;
    LLVMTypeRef type = LLVMTypeOf(accessed_value(access));
    LLVMTypeKind kind = LLVMGetTypeKind(element_of(type));
    if (!is_element(v->layout, element_of(type)) ||
        kind == LLVMPointerTypeKind || kind == LLVMStructTypeKind ||
        kind == LLVMArrayTypeKind)
        return false;
    access->count = lane_count(type);
    access->size = (unsigned)LLVMABISizeOfType(v->layout, element_of(type));
    map_set(&v->accesses, at, access);
    v->list = simt_grow(v->list, v->count++, sizeof *v->list);
    return place_lanes(v, access, map_get(&v->places, address),
                       form && form->vector);
}

// Follows all uses of an address. False if the address goes elsewhere.
static bool read_uses(struct variable *v, LLVMValueRef address)
{
    for (LLVMUseRef use = LLVMGetFirstUse(address); use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsAGetElementPtrInst(user) || LLVMIsAFreezeInst(user) ||
            LLVMIsAShuffleVectorInst(user)) {
            if (map_get(&v->places, user))
                continue;
            int64_t *places = derive_places(v, user);
            if (!places)
                return false;
            map_set(&v->places, user, places);
            if (!read_uses(v, user))
                return false;
        } else if (LLVMIsACallInst(user) &&
                   is_intrinsic(user, "lifetime.end")) {
            v->ends = simt_grow(v->ends, v->end_count, sizeof *v->ends);
            v->ends[v->end_count++] = user;
        } else if (!LLVMIsAInstruction(user) || !add_access(v, user, address)) {
            return false;
        }
    }
    return true;
}

// Follows the addresses of a variable. False if another function knows it.
static bool read_variable(struct variable *v, LLVMValueRef global)
{
    for (LLVMUseRef use = LLVMGetFirstUse(global); use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef call = LLVMGetUser(use);
        if (!LLVMIsACallInst(call) ||
            !is_intrinsic(call, "threadlocal.address") ||
            LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)) !=
                v->function)
            return false;
        map_set(&v->places, call, simt_allocate(sizeof(int64_t)));
        if (!read_uses(v, call))
            return false;
    }
    return true;
}

// --- Sources -----------------------------------------------------------------

static struct lane_source element_source(LLVMValueRef vector, unsigned lane)
{
    LLVMValueRef element = LLVMGetAggregateElement(vector, lane);
    return element ? (struct lane_source){element, 0}
                   : (struct lane_source){vector, lane};
}

// One step back from a lane to where it comes from; false at the first source,
// which may be a load that is made of several vectors.
static bool step_back(const struct variable *v, struct lane_source *source)
{
    LLVMValueRef value = source->value;
    const struct shared_access *load = map_get(&v->accesses, value);
    struct lane_source from = *source;
    int64_t lane;
    if (load && load->mix.count == 1) {
        from = load->lanes[source->lane];
    } else if (LLVMIsAShuffleVectorInst(value)) {
        int at = LLVMGetMaskValue(value, source->lane);
        LLVMValueRef first = LLVMGetOperand(value, 0);
        int width = (int)lane_count(LLVMTypeOf(first));
        if (at < 0)
            from = (struct lane_source){
                LLVMGetPoison(element_of(LLVMTypeOf(value))), 0};
        else
            from = at < width ? (struct lane_source){first, (unsigned)at}
                              : (struct lane_source){LLVMGetOperand(value, 1),
                                                     (unsigned)(at - width)};
    } else if (LLVMIsAInsertElementInst(value) &&
               constant_of(LLVMGetOperand(value, 2), &lane)) {
        from =
            lane == source->lane
                ? (struct lane_source){LLVMGetOperand(value, 1), 0}
                : (struct lane_source){LLVMGetOperand(value, 0), source->lane};
    } else if (LLVMIsAExtractElementInst(value) &&
               constant_of(LLVMGetOperand(value, 1), &lane)) {
        from = (struct lane_source){LLVMGetOperand(value, 0), (unsigned)lane};
    } else if (LLVMIsConstant(value) && is_vector(LLVMTypeOf(value))) {
        from = element_source(value, source->lane);
    }
    bool moved = from.value != value || from.lane != source->lane;
    *source = from;
    return moved;
}

static struct lane_source find_source(const struct variable *v,
                                      LLVMValueRef value, unsigned lane)
{
    struct lane_source source = {value, lane};
    while (step_back(v, &source))
        continue;
    return source;
}

// --- What memory holds -------------------------------------------------------

static void do_store(const struct variable *v, struct cell *cells,
                     const struct shared_access *access)
{
    for (unsigned i = 0; i < access->count; i++) {
        if (access->offsets[i] == FAR)
            continue;
        struct lane_source source =
            find_source(v, LLVMGetOperand(access->at, 0), i);
        for (unsigned byte = 0; byte < access->size; byte++)
            cells[access->offsets[i] + byte] =
                (struct cell){source, (uint16_t)byte, (uint16_t)access->size};
    }
}

static bool is_same(const struct cell *a, const struct cell *b)
{
    return a->source.value == b->source.value &&
           a->source.lane == b->source.lane && a->byte == b->byte &&
           a->size == b->size;
}

// The element at an offset, if the bytes there are those of one element.
static struct lane_source loaded_source(const struct cell *cells, unsigned size)
{
    for (unsigned byte = 0; byte < size; byte++)
        if (cells[byte].byte != byte || cells[byte].size != size ||
            cells[byte].source.value != cells[0].source.value ||
            cells[byte].source.lane != cells[0].source.lane)
            return (struct lane_source){0};
    return cells[0].source;
}

// False for a load of too many vectors.
static bool find_mix(struct shared_access *load)
{
    struct mix *mix = &load->mix;
    mix->of = simt_allocate(load->count * sizeof *mix->of);
    for (unsigned i = 0; i < load->count; i++) {
        LLVMValueRef value = load->lanes[i].value;
        unsigned k = 0;
        mix->of[i] = NONE;
        if (LLVMIsPoison(value))
            continue;
        if (LLVMIsConstant(value) && !is_vector(LLVMTypeOf(value)))
            value = NULL;
        while (k < mix->count && mix->values[k] != value)
            k++;
        if (k == SOURCES_MOST)
            return false;
        mix->values[k] = value;
        mix->count += k == mix->count;
        mix->of[i] = (int)k;
    }
    return true;
}

static void do_load(struct variable *v, const struct cell *cells,
                    struct shared_access *access)
{
    struct lane_source *lanes = simt_allocate(access->count * sizeof *lanes);
    for (unsigned i = 0; i < access->count; i++) {
        lanes[i] =
            access->offsets[i] == FAR
                ? find_source(v, others_of(access->at), i)
                : loaded_source(cells + access->offsets[i], access->size);
        v->failed |= !lanes[i].value;
    }
    access->lanes = lanes;
    v->failed |= v->failed || !find_mix(access);
}

// Where blocks meet, bytes are known that hold the same on all ways. A way back
// comes from a block that has no state yet.
static struct cell *state_before(const struct variable *v,
                                 struct cell *const *states,
                                 const struct block_order *order,
                                 LLVMBasicBlockRef block)
{
    struct cell *cells = simt_allocate(v->size * sizeof *cells);
    bool first = true;
    for (LLVMUseRef use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use;
         use = LLVMGetNextUse(use)) {
        if (!LLVMIsATerminatorInst(LLVMGetUser(use)))
            continue;
        unsigned from = block_order_place(
            order, LLVMGetInstructionParent(LLVMGetUser(use)));
        if (from == order->count)
            continue;
        if (!states[from]) {
            memset(cells, 0, v->size * sizeof *cells);
            return cells;
        }
        for (unsigned i = 0; i < v->size; i++)
            if (first)
                cells[i] = states[from][i];
            else if (!is_same(&cells[i], &states[from][i]))
                cells[i] = (struct cell){0};
        first = false;
    }
    return cells;
}

static void follow(struct variable *v)
{
    struct block_order order = block_order(v->function);
    struct cell **states = simt_allocate(order.count * sizeof *states);
    v->failed = order.count > STATES_MOST / (v->size * sizeof(struct cell));
    for (unsigned i = 0; i < order.count && !v->failed; i++) {
        struct cell *cells = state_before(v, states, &order, order.blocks[i]);
        for (LLVMValueRef at = LLVMGetFirstInstruction(order.blocks[i]);
             at && !v->failed; at = LLVMGetNextInstruction(at)) {
            struct shared_access *access = map_get(&v->accesses, at);
            if (!access)
                continue;
            v->list[v->followed++] = access;
            if (access->store)
                do_store(v, cells, access);
            else
                do_load(v, cells, access);
        }
        states[i] = cells;
    }
    v->failed |= v->followed != v->count;
}

// --- What it costs -----------------------------------------------------------

static bool is_whole(const struct shared_access *load)
{
    const struct mix *mix = &load->mix;
    if (mix->count != 1 || !mix->values[0] ||
        lane_count(LLVMTypeOf(mix->values[0])) != load->count)
        return false;
    for (unsigned i = 0; i < load->count; i++)
        if (mix->of[i] != NONE && load->lanes[i].lane != i)
            return false;
    return true;
}

static int registers_of(const struct shared_access *access)
{
    return (int)(access->count * access->size + 63) / 64;
}

// The cost of an access in memory. The processor gathers and scatters lane by
// lane.
static int memory_cost(const struct shared_access *access)
{
    const struct form *form = form_of(access->at);
    int lanes = 0;
    for (unsigned i = 0; i < access->count; i++)
        lanes += access->offsets[i] != FAR;
    if (form && form->vector)
        return 2 * lanes;
    return registers_of(access) * (access->mix.count > 1 ? SPAN_COST : 1);
}

static int shuffle_cost(const struct shared_access *load)
{
    const struct mix *mix = &load->mix;
    LLVMValueRef value = mix->values[0];
    if (mix->count == 0 || is_whole(load) || (mix->count == 1 && !value))
        return 0;
    if (load->count == 1)
        return is_vector(LLVMTypeOf(value)) ? EXTRACT_COST : 0;
    int shuffles = mix->count > 1 ? (int)mix->count - 1 : 1;
    for (unsigned i = 0; i < mix->count; i++)
        shuffles += mix->values[i] &&
                    lane_count(LLVMTypeOf(mix->values[i])) != load->count;
    return SHUFFLE_COST * shuffles * registers_of(load);
}

static bool is_worth_it(struct variable *v)
{
    for (unsigned i = 0; i < v->count; i++) {
        v->saved += memory_cost(v->list[i]);
        if (!v->list[i]->store)
            v->spent += shuffle_cost(v->list[i]);
    }
    return v->spent <= SHUFFLES_MOST * v->saved;
}

// --- Registers instead of memory ---------------------------------------------

// A value with elements of another type of that size.
static LLVMValueRef with_elements(LLVMBuilderRef b, LLVMValueRef value,
                                  LLVMTypeRef element)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMTypeRef wanted =
        is_vector(type) ? LLVMVectorType(element, lane_count(type)) : element;
    return LLVMBuildBitCast(b, value, wanted, "");
}

static LLVMValueRef shuffle(LLVMBuilderRef b, LLVMValueRef one,
                            LLVMValueRef other, const int *lanes,
                            unsigned count)
{
    LLVMTypeRef i32 =
        LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(one)));
    LLVMValueRef *mask = simt_allocate(count * sizeof *mask);
    for (unsigned i = 0; i < count; i++)
        mask[i] = lanes[i] == NONE ? LLVMGetPoison(i32)
                                   : LLVMConstInt(i32, (unsigned)lanes[i], 0);
    return LLVMBuildShuffleVector(b, one, other, LLVMConstVector(mask, count),
                                  "");
}

static LLVMValueRef constants_of(LLVMBuilderRef b,
                                 const struct shared_access *load, int k,
                                 LLVMTypeRef element)
{
    LLVMValueRef *lanes = simt_allocate(load->count * sizeof *lanes);
    for (unsigned i = 0; i < load->count; i++)
        lanes[i] = load->mix.of[i] == k
                       ? with_elements(b, load->lanes[i].value, element)
                       : LLVMGetPoison(element);
    return LLVMConstVector(lanes, load->count);
}

// The replacement of a load that is made of several vectors.
static LLVMValueRef made_of(const struct variable *v, LLVMValueRef value)
{
    const struct shared_access *load =
        value ? map_get(&v->accesses, value) : NULL;
    return load ? load->made : value;
}

// Value `k` as a vector as long as the load; `lanes`: where the lanes of the
// load are in the vector.
static LLVMValueRef extend(const struct variable *v, LLVMBuilderRef b,
                           const struct shared_access *load, int k, int *lanes)
{
    LLVMTypeRef element = element_of(LLVMTypeOf(load->at));
    LLVMValueRef value = made_of(v, load->mix.values[k]);
    for (unsigned i = 0; i < load->count; i++)
        lanes[i] = load->mix.of[i] != k ? NONE
                   : value              ? (int)load->lanes[i].lane
                                        : (int)i;
    if (!value)
        return constants_of(b, load, k, element);
    value = with_elements(b, value, element);
    LLVMTypeRef type = LLVMVectorType(element, load->count);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetTypeContext(type));
    if (!is_vector(LLVMTypeOf(value)))
        return LLVMBuildInsertElement(b, LLVMGetPoison(type), value,
                                      LLVMConstInt(i32, 0, 0), "");
    if (lane_count(LLVMTypeOf(value)) == load->count)
        return value;
    value =
        shuffle(b, value, LLVMGetPoison(LLVMTypeOf(value)), lanes, load->count);
    for (unsigned i = 0; i < load->count; i++)
        lanes[i] = lanes[i] == NONE ? NONE : (int)i;
    return value;
}

static LLVMValueRef build_vector(const struct variable *v, LLVMBuilderRef b,
                                 const struct shared_access *load)
{
    const struct mix *mix = &load->mix;
    LLVMTypeRef type = LLVMTypeOf(load->at);
    int *lanes = simt_allocate(load->count * sizeof *lanes);
    int *more = simt_allocate(load->count * sizeof *more);
    if (mix->count == 0)
        return LLVMGetPoison(type);
    LLVMValueRef all = extend(v, b, load, 0, lanes);
    if (mix->count == 1 && (is_whole(load) || !mix->values[0]))
        return all;
    for (unsigned k = 1; k < mix->count; k++) {
        LLVMValueRef next = extend(v, b, load, (int)k, more);
        for (unsigned i = 0; i < load->count; i++)
            if (more[i] != NONE)
                lanes[i] = (int)load->count + more[i];
        all = shuffle(b, all, next, lanes, load->count);
        for (unsigned i = 0; i < load->count; i++)
            lanes[i] = lanes[i] == NONE ? NONE : (int)i;
    }
    return mix->count > 1
               ? all
               : shuffle(b, all, LLVMGetPoison(type), lanes, load->count);
}

static LLVMValueRef build_scalar(const struct variable *v, LLVMBuilderRef b,
                                 const struct shared_access *load)
{
    LLVMTypeRef i32 =
        LLVMInt32TypeInContext(LLVMGetTypeContext(LLVMTypeOf(load->at)));
    LLVMValueRef value = made_of(v, load->lanes[0].value);
    if (is_vector(LLVMTypeOf(value)))
        value = LLVMBuildExtractElement(
            b, value, LLVMConstInt(i32, load->lanes[0].lane, 0), "");
    return with_elements(b, value, LLVMTypeOf(load->at));
}

static void forward(struct variable *v, LLVMModuleRef module)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (unsigned i = 0; i < v->count; i++) {
        struct shared_access *load = v->list[i];
        if (load->store)
            continue;
        LLVMPositionBuilderBefore(b, load->at);
        load->made = is_vector(LLVMTypeOf(load->at)) ? build_vector(v, b, load)
                                                     : build_scalar(v, b, load);
    }
    for (unsigned i = v->count; i-- > 0;) {
        if (!v->list[i]->store)
            LLVMReplaceAllUsesWith(v->list[i]->at, v->list[i]->made);
        LLVMInstructionEraseFromParent(v->list[i]->at);
    }
    for (unsigned i = 0; i < v->end_count; i++)
        LLVMInstructionEraseFromParent(v->ends[i]);
    LLVMDisposeBuilder(b);
}

// The function that uses a variable first; NULL without any.
static LLVMValueRef user_of(LLVMValueRef global)
{
    LLVMUseRef use = LLVMGetFirstUse(global);
    LLVMValueRef user = use ? LLVMGetUser(use) : NULL;
    return user && LLVMIsAInstruction(user)
               ? LLVMGetBasicBlockParent(LLVMGetInstructionParent(user))
               : NULL;
}

bool forward_shared(LLVMModuleRef module)
{
    bool any = false;
    LLVMTargetDataRef layout = LLVMGetModuleDataLayout(module);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module);
         g && target_vector_bytes() == 64; g = LLVMGetNextGlobal(g)) {
        LLVMValueRef function = LLVMIsThreadLocal(g) ? user_of(g) : NULL;
        uint64_t size =
            function ? LLVMABISizeOfType(layout, LLVMGlobalGetValueType(g)) : 0;
        struct variable v = {
            .layout = layout, .function = function, .size = (unsigned)size};
        if (size == 0 || size > BYTES_MOST || !read_variable(&v, g) ||
            v.end_count == 0 || v.count == 0)
            continue;
        follow(&v);
        if (v.failed || !is_worth_it(&v))
            continue;
        forward(&v, module);
        any = true;
    }
    return any;
}
