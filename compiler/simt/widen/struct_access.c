// Structs: the accesses of a group, such as the members of a struct, lie
// interleaved in memory for all lanes. Where structs follow each other, all
// structs are loaded or stored as one row and the members deinterleaved;
// elsewhere members that share a word are loaded or stored as one number.
#include "simt/widen/widen.h"
#include "simt/widen/tuning.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

// Some of a group's accesses, from a first one on.
struct aggregate {
    LLVMValueRef at;              // the access whose address is used
    LLVMValueRef address;
    LLVMValueRef base;            // of lane 0, where that has been found
    int64_t place;                // of it, as the group counts
    const struct grouped_access *items[GROUP_MOST];
    unsigned count;
    int64_t low, high;
    uint64_t stride;              // from lane to lane, where they are a row
    unsigned unit, units;         // bytes of a unit, and units to the next lane
};

static uint64_t size_of(const struct grouped_access *item)
{
    return (uint64_t)(item->end - item->offset);
}

static bool is_made(struct emitter *e, LLVMValueRef at)
{
    const struct lanes *lanes = map_get(&e->values, at);
    return lanes && lanes->vector;
}

// Whether an access is made by itself: of a row of numbers, or of one place.
static bool is_single(struct emitter *e, LLVMValueRef at)
{
    return access_is_row(e, at) ||
           shape_of(&e->shapes, accessed_address(at)).kind <= SHAPE_UNIFORM;
}

static void add_item(struct aggregate *aggregate,
                     const struct grouped_access *item)
{
    if (aggregate->count == 0 || item->offset < aggregate->low)
        aggregate->low = item->offset;
    if (aggregate->count == 0 || item->end > aggregate->high)
        aggregate->high = item->end;
    aggregate->items[aggregate->count++] = item;
}

static void use_address(struct aggregate *aggregate,
                        const struct grouped_access *item)
{
    aggregate->at = item->at;
    aggregate->address = accessed_address(item->at);
    aggregate->place = item->offset;
}

// The members that can still be loaded together with `at`.
static struct aggregate
loads_from(struct emitter *e, const struct access_group *group, LLVMValueRef at)
{
    struct aggregate aggregate = {.count = 0};
    bool reached = false;
    for (unsigned i = 0; i < group->count; i++) {
        const struct grouped_access *item = &group->items[i];
        reached |= item->at == at;
        if (item->at == at)
            use_address(&aggregate, item);
        if (reached && !is_single(e, item->at) && !is_made(e, item->at))
            add_item(&aggregate, item);
    }
    return aggregate;
}

// The members that are stored together with the group's last store.
static struct aggregate stores_of(struct emitter *e,
                                  const struct access_group *group)
{
    struct aggregate aggregate = {.count = 0};
    for (unsigned i = 0; i < group->count; i++)
        if (!is_single(e, group->items[i].at))
            add_item(&aggregate, &group->items[i]);
    use_address(&aggregate, aggregate.items[aggregate.count - 1]);
    return aggregate;
}

// --- Units -------------------------------------------------------------------

// Each is inside of a unit, or is one or two of them.
static bool is_made_of(const struct aggregate *aggregate, uint64_t unit)
{
    for (unsigned i = 0; i < aggregate->count; i++) {
        uint64_t at = (uint64_t)(aggregate->items[i]->offset - aggregate->low);
        uint64_t size = size_of(aggregate->items[i]);
        if (size <= unit ? at / unit != (at + size - 1) / unit
                         : at % unit != 0 || size != 2 * unit)
            return false;
    }
    return true;
}

static uint64_t used_by(const struct aggregate *aggregate)
{
    uint64_t used = 0;
    for (unsigned i = 0; i < aggregate->count; i++)
        used += size_of(aggregate->items[i]);
    return used;
}

// Finds units of words, or of the greatest member if that is more, or smaller
// ones. The last lane's aggregate ends where its last member does.
static bool find_unit(struct aggregate *aggregate, unsigned width)
{
    uint64_t span = (uint64_t)(aggregate->high - aggregate->low), unit = 4;
    for (unsigned i = 0; i < aggregate->count; i++)
        if (size_of(aggregate->items[i]) > unit)
            unit = size_of(aggregate->items[i]);
    for (; unit > 0; unit /= 2)
        if (aggregate->stride % unit == 0 && span % unit == 0 &&
            is_made_of(aggregate, unit))
            break;
    if (unit == 0 || aggregate->stride / unit > UNITS_MOST ||
        (aggregate->stride - span) / unit >= width)
        return false;
    aggregate->unit = (unsigned)unit;
    aggregate->units = (unsigned)(aggregate->stride / unit);
    return true;
}

static bool is_row_of_records(struct emitter *e, struct aggregate *aggregate)
{
    struct shape shape = shape_of(&e->shapes, aggregate->address);
    if (e->mask || shape.kind != SHAPE_AFFINE || shape.stride <= 0 ||
        shape.stride > STRUCT_BYTES_MOST ||
        aggregate->high - aggregate->low > shape.stride)
        return false;
    aggregate->stride = (uint64_t)shape.stride;
    return find_unit(aggregate, e->width);
}

// Whether the aggregates may well be a row, which a test at run time tells.
static bool is_likely_row(struct emitter *e, struct aggregate *aggregate)
{
    struct shape shape = shape_of(&e->shapes, aggregate->address);
    if (e->mask || e->kernel->compact || shape.kind != SHAPE_VARYING ||
        shape.far || shape.guess <= 0 || shape.guess > STRUCT_BYTES_MOST ||
        aggregate->high - aggregate->low > shape.guess)
        return false;
    aggregate->stride = (uint64_t)shape.guess;
    return find_unit(aggregate, e->width);
}

static LLVMTypeRef units_type(struct emitter *e,
                              const struct aggregate *aggregate)
{
    return vector_type(e,
                       LLVMIntTypeInContext(e->context, 8 * aggregate->unit));
}

// --- Members -----------------------------------------------------------------

static LLVMValueRef as(struct emitter *e, LLVMValueRef bits, LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMPointerTypeKind
               ? LLVMBuildIntToPtr(e->builder, bits, vector_type(e, type), "")
               : LLVMBuildBitCast(e->builder, bits, vector_type(e, type), "");
}

static LLVMValueRef bits_of(struct emitter *e, LLVMValueRef value,
                            uint64_t size)
{
    LLVMTypeRef type =
        vector_type(e, LLVMIntTypeInContext(e->context, 8 * (unsigned)size));
    LLVMTypeKind kind = LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(value)));
    return kind == LLVMPointerTypeKind
               ? LLVMBuildPtrToInt(e->builder, value, type, "")
               : LLVMBuildBitCast(e->builder, value, type, "");
}

// A vector of twice as many numbers of half the size, or back.
static LLVMValueRef halves(struct emitter *e, LLVMValueRef bits, unsigned unit)
{
    LLVMTypeRef type = LLVMVectorType(
        LLVMIntTypeInContext(e->context, 8 * unit), 2 * e->width);
    return LLVMBuildBitCast(e->builder, bits, type, "");
}

static LLVMValueRef half_of(struct emitter *e, LLVMValueRef bits,
                            unsigned unit, unsigned number)
{
    LLVMValueRef all = halves(e, bits, unit);
    return pick_strided(e, all, LLVMGetPoison(LLVMTypeOf(all)), number, 2);
}

static LLVMValueRef joined(struct emitter *e, LLVMValueRef low,
                           LLVMValueRef high, unsigned unit)
{
    LLVMValueRef mask[64];
    for (unsigned i = 0; i < 2 * e->width; i++)
        mask[i] = number32(e, i / 2 + i % 2 * e->width);
    LLVMValueRef both = LLVMBuildShuffleVector(
        e->builder, low, high, LLVMConstVector(mask, 2 * e->width), "");
    LLVMTypeRef type = LLVMIntTypeInContext(e->context, 16 * unit);
    return LLVMBuildBitCast(e->builder, both, vector_type(e, type), "");
}

// The bits of a member that begins so many bytes after the first unit.
static LLVMValueRef member_of(struct emitter *e, const LLVMValueRef *units,
                              unsigned unit, uint64_t offset, uint64_t size)
{
    LLVMValueRef bits = units[offset / unit];
    unsigned rest = (unsigned)(offset % unit);
    if (size == unit)
        return bits;
    if (size > unit)
        return joined(e, bits, units[offset / unit + 1], unit);
    if (unit == 8 && size == 4 && rest % 4 == 0)
        return half_of(e, bits, 4, rest / 4);
    LLVMValueRef by =
        splat(e, LLVMConstInt(LLVMGetElementType(LLVMTypeOf(bits)),
                              8 * rest, 0));
    LLVMTypeRef type = LLVMIntTypeInContext(e->context, 8 * (unsigned)size);
    bits = LLVMBuildLShr(e->builder, bits, by, "");
    return LLVMBuildTrunc(e->builder, bits, vector_type(e, type), "");
}

// Inserts the bits of a member. NULL stands for no bits so far.
static void put_member(struct emitter *e, LLVMValueRef *units, unsigned unit,
                       uint64_t offset, LLVMValueRef bits, uint64_t size)
{
    LLVMValueRef *to = &units[offset / unit];
    if (size == unit) {
        *to = bits;
        return;
    }
    if (size > unit) {
        to[0] = half_of(e, bits, unit, 0);
        to[1] = half_of(e, bits, unit, 1);
        return;
    }
    LLVMTypeRef type = LLVMIntTypeInContext(e->context, 8 * unit);
    bits = LLVMBuildZExt(e->builder, bits, vector_type(e, type), "");
    bits = LLVMBuildShl(e->builder, bits,
                        splat(e, LLVMConstInt(type, 8 * (offset % unit), 0)),
                        "");
    *to = *to ? LLVMBuildOr(e->builder, *to, bits, "") : bits;
}

static void set_members(struct emitter *e, const struct aggregate *aggregate,
                        const LLVMValueRef *units, unsigned unit, int64_t low)
{
    for (unsigned i = 0; i < aggregate->count; i++) {
        const struct grouped_access *item = aggregate->items[i];
        LLVMValueRef bits = member_of(e, units, unit,
                                      (uint64_t)(item->offset - low),
                                      size_of(item));
        lanes_set(e, item->at, NULL, as(e, bits, LLVMTypeOf(item->at)));
    }
}

static void put_members(struct emitter *e, const struct aggregate *aggregate,
                        LLVMValueRef *units, unsigned unit, int64_t low)
{
    for (unsigned i = 0; i < aggregate->count; i++) {
        const struct grouped_access *item = aggregate->items[i];
        LLVMValueRef value =
            lanes_vector(e, LLVMGetOperand(item->at, 0));
        put_member(e, units, unit, (uint64_t)(item->offset - low),
                   bits_of(e, value, size_of(item)), size_of(item));
    }
}

// --- Rows of aggregates ------------------------------------------------------

static unsigned alignment_of(const struct aggregate *aggregate)
{
    unsigned alignment = aggregate->unit;
    for (unsigned i = 0; i < aggregate->count; i++)
        if (aggregate->items[i]->offset == aggregate->low)
            alignment = LLVMGetAlignment(aggregate->items[i]->at);
    return alignment;
}

static LLVMValueRef row_address(struct emitter *e,
                                const struct aggregate *aggregate)
{
    LLVMValueRef base =
        aggregate->base ? aggregate->base : lanes_scalar(e, aggregate->address);
    return at_offset(e, base, (uint64_t)(aggregate->low - aggregate->place));
}

// Vector `number` of the row. The last vector may reach too far and then begins
// earlier.
static LLVMValueRef load_units(struct emitter *e,
                               const struct aggregate *aggregate,
                               LLVMValueRef address, unsigned number)
{
    LLVMTypeRef type = units_type(e, aggregate);
    unsigned used =
        (unsigned)(aggregate->high - aggregate->low) / aggregate->unit;
    unsigned early =
        number == aggregate->units - 1 ? aggregate->units - used : 0;
    uint64_t from = ((uint64_t)number * e->width - early) * aggregate->unit;
    LLVMValueRef load = LLVMBuildLoad2(e->builder, type,
                                       at_offset(e, address, from), "");
    LLVMSetAlignment(load, alignment_after(alignment_of(aggregate), from));
    alias_mark(e, aggregate->address, load);
    if (early == 0)
        return load;
    return pick_strided(e, load, LLVMGetPoison(type), early, 1);
}

static void load_row(struct emitter *e, struct aggregate aggregate)
{
    LLVMValueRef units[UNITS_MOST], address = row_address(e, &aggregate);
    prefetch_row(e, aggregate.at, address, aggregate.stride);
    for (unsigned i = 0; i < aggregate.units; i++)
        units[i] = load_units(e, &aggregate, address, i);
    deinterleave(e, units, aggregate.units);
    set_members(e, &aggregate, units, aggregate.unit, aggregate.low);
}

static void store_row(struct emitter *e, struct aggregate aggregate)
{
    LLVMValueRef units[UNITS_MOST] = {NULL},
                 address = row_address(e, &aggregate);
    put_members(e, &aggregate, units, aggregate.unit, aggregate.low);
    interleave(e, units, aggregate.units);
    struct row row = {.at = aggregate.at, .address = address, .values = units,
                      .count = aggregate.units,
                      .alignment = alignment_of(&aggregate)};
    row_store(e, &row);
}

// --- Words -------------------------------------------------------------------

static bool is_in(const struct grouped_access *item, int64_t low, int64_t high)
{
    return item->offset >= low && item->end <= high;
}

// The members within a number of bytes from item `first` on: two or more, which
// for a store also begin and end within these bytes.
static bool find_word(const struct aggregate *aggregate, unsigned first,
                      int64_t size, struct aggregate *word)
{
    bool stores = LLVMIsAStoreInst(aggregate->at) != NULL;
    int64_t low = aggregate->items[first]->offset;
    *word = (struct aggregate){.at = aggregate->at,
                               .address = aggregate->address,
                               .place = aggregate->place,
                               .low = low,
                               .high = low + size,
                               .unit = (unsigned)size};
    if (low + size > aggregate->high)
        return false;
    for (unsigned i = 0; i < aggregate->count; i++)
        if (is_in(aggregate->items[i], low, low + size))
            word->items[word->count++] = aggregate->items[i];
    return word->count > 1 &&
           (!stores || used_by(word) == (uint64_t)size);
}

static void remove_word(struct aggregate *aggregate,
                        const struct aggregate *word)
{
    unsigned count = 0;
    for (unsigned i = 0; i < aggregate->count; i++)
        if (!is_in(aggregate->items[i], word->low, word->high))
            aggregate->items[count++] = aggregate->items[i];
    aggregate->count = count;
}

static unsigned lowest_of(const struct aggregate *aggregate)
{
    unsigned lowest = 0;
    for (unsigned i = 1; i < aggregate->count; i++)
        if (aggregate->items[i]->offset < aggregate->items[lowest]->offset)
            lowest = i;
    return lowest;
}

// The next word of a struct and its members, of 16 bytes if the word may be
// long. False after the last word.
static bool take_word(struct aggregate *aggregate, bool longs,
                      struct aggregate *word)
{
    while (aggregate->count > 0) {
        unsigned first = lowest_of(aggregate);
        bool found = (longs && find_word(aggregate, first, 16, word) &&
                      is_made_of(word, 4) && used_by(word) > 8) ||
                     find_word(aggregate, first, 8, word) ||
                     find_word(aggregate, first, 4, word);
        if (found) {
            remove_word(aggregate, word);
            return true;
        }
        aggregate->items[first] = aggregate->items[--aggregate->count];
    }
    return false;
}

static bool has_item(const struct aggregate *aggregate, LLVMValueRef at)
{
    for (unsigned i = 0; i < aggregate->count; i++)
        if (aggregate->items[i]->at == at)
            return true;
    return false;
}

// The units of each lane, lane after lane, as `count` lanes have them.
static LLVMValueRef load_each(struct emitter *e, const struct aggregate *word,
                               LLVMValueRef places, unsigned lane,
                               unsigned count)
{
    if (count == 1) {
        LLVMTypeRef type = LLVMIntTypeInContext(e->context, 8 * word->unit);
        LLVMValueRef load = LLVMBuildLoad2(
            e->builder, LLVMVectorType(type, word->units),
            extract(e, places, number32(e, lane)), "");
        LLVMSetAlignment(load,
                         alignment_at(word->at, word->low - word->place));
        alias_mark(e, word->address, load);
        return load;
    }
    LLVMValueRef low = load_each(e, word, places, lane, count / 2);
    LLVMValueRef high =
        load_each(e, word, places, lane + count / 2, count / 2);
    LLVMValueRef mask[64];
    for (unsigned i = 0; i < word->units * count; i++)
        mask[i] = number32(e, i);
    return LLVMBuildShuffleVector(
        e->builder, low, high,
        LLVMConstVector(mask, word->units * count), "");
}

// A vector of 16 bytes from each lane: that is faster than several gathers.
static void load_long_word(struct emitter *e, struct aggregate *word)
{
    LLVMValueRef units[UNITS_MOST];
    LLVMValueRef places =
        access_addresses(e, word->at, word->low - word->place);
    word->unit = is_made_of(word, 8) && size_of(word->items[0]) == 8 ? 8 : 4;
    word->units = 16 / word->unit;
    unsigned count = e->width / word->units;
    for (unsigned i = 0; i < word->units; i++)
        units[i] = load_each(e, word, places, i * count, count);
    deinterleave(e, units, word->units);
    set_members(e, word, units, word->unit, word->low);
}

static void load_word(struct emitter *e, struct aggregate *word)
{
    if (word->unit == 16) {
        load_long_word(e, word);
        return;
    }
    LLVMTypeRef type = LLVMIntTypeInContext(e->context, 8 * word->unit);
    LLVMValueRef bits =
        access_load_at(e, word->at, type, word->low - word->place);
    set_members(e, word, &bits, word->unit, word->low);
}

static void store_word(struct emitter *e, const struct aggregate *word)
{
    LLVMValueRef bits = NULL;
    put_members(e, word, &bits, word->unit, word->low);
    access_store_at(e, word->at, bits, word->low - word->place);
}

// --- Likely rows -------------------------------------------------------------

// For scattered lanes: word by word, and otherwise member by member.
static void load_places(struct emitter *e, struct aggregate aggregate)
{
    struct aggregate rest = aggregate, word;
    while (take_word(&rest, !e->kernel->compact, &word)) {
        load_word(e, &word);
        remove_word(&aggregate, &word);
    }
    for (unsigned i = 0; i < aggregate.count; i++) {
        LLVMValueRef at = aggregate.items[i]->at;
        lanes_set(e, at, NULL,
                  access_load_at(e, aggregate.at, LLVMTypeOf(at),
                                 aggregate.items[i]->offset - aggregate.place));
    }
}

static void store_places(struct emitter *e, struct aggregate aggregate)
{
    struct aggregate rest = aggregate, word;
    while (take_word(&rest, false, &word)) {
        store_word(e, &word);
        remove_word(&aggregate, &word);
    }
    for (unsigned i = 0; i < aggregate.count; i++) {
        LLVMValueRef value = LLVMGetOperand(aggregate.items[i]->at, 0);
        access_store_at(e, aggregate.at, lanes_vector(e, value),
                        aggregate.items[i]->offset - aggregate.place);
    }
}

// A way to access a aggregate: its code, the members that it loads, and its
// end.
struct way {
    LLVMBasicBlockRef begin, end;
    LLVMValueRef members[GROUP_MOST];
};

static void load_way(struct emitter *e, const struct aggregate *aggregate,
                     struct way *way,
                     void (*load)(struct emitter *, struct aggregate))
{
    position(e, way->begin);
    struct map known = lanes_save(e);
    load(e, *aggregate);
    for (unsigned i = 0; i < aggregate->count; i++)
        way->members[i] = lanes_vector(e, aggregate->items[i]->at);
    e->values = known;
    way->end = LLVMGetInsertBlock(e->builder);
}

// Asks whether the aggregates are a row; the builder is nowhere then.
static void test_row(struct emitter *e, struct aggregate *aggregate,
                     struct way *ways)
{
    ways[0].begin = append(e, "aggregates");
    ways[1].begin = append(e, "apart");
    LLVMValueRef test = access_are_consecutive(
        e, aggregate->address, aggregate->stride, &aggregate->base);
    LLVMBuildCondBr(e->builder, test, ways[0].begin, ways[1].begin);
}

static void load_likely_row(struct emitter *e, struct aggregate *aggregate)
{
    struct way ways[2];
    LLVMBasicBlockRef end = append(e, "loaded");
    test_row(e, aggregate, ways);
    load_way(e, aggregate, &ways[0], load_row);
    LLVMBuildBr(e->builder, end);
    load_way(e, aggregate, &ways[1], load_places);
    LLVMBuildBr(e->builder, end);
    position(e, end);
    for (unsigned i = 0; i < aggregate->count; i++) {
        LLVMValueRef at = aggregate->items[i]->at;
        LLVMValueRef phi =
            LLVMBuildPhi(e->builder, vector_type(e, LLVMTypeOf(at)), "");
        for (unsigned w = 0; w < 2; w++)
            LLVMAddIncoming(phi, &ways[w].members[i], &ways[w].end, 1);
        lanes_set(e, at, NULL, phi);
    }
}

// Both ways store the same values, which are computed before the branch.
static void store_likely_row(struct emitter *e, struct aggregate *aggregate)
{
    struct way ways[2];
    LLVMBasicBlockRef end = append(e, "stored");
    for (unsigned i = 0; i < aggregate->count; i++)
        lanes_vector(e, LLVMGetOperand(aggregate->items[i]->at, 0));
    test_row(e, aggregate, ways);
    for (unsigned w = 0; w < 2; w++) {
        position(e, ways[w].begin);
        struct map known = lanes_save(e);
        (w ? store_places : store_row)(e, *aggregate);
        e->values = known;
        LLVMBuildBr(e->builder, end);
    }
    position(e, end);
}

// --- Dispatch ----------------------------------------------------------------

// Whether sorting all is better than loading lane by lane.
static bool is_dense(const struct aggregate *aggregate)
{
    return aggregate->units <= SMALL_UNITS ||
           used_by(aggregate) * UNUSED_MOST >= aggregate->stride;
}

bool struct_load(struct emitter *e, LLVMValueRef at)
{
    const struct access_group *group = map_get(&e->kernel->access_groups, at);
    if (!group || is_single(e, at))
        return false;
    if (is_made(e, at))
        return true;
    struct aggregate aggregate = loads_from(e, group, at), word;
    if (is_row_of_records(e, &aggregate) && is_dense(&aggregate)) {
        load_row(e, aggregate);
        return true;
    }
    if (is_likely_row(e, &aggregate) && is_dense(&aggregate)) {
        load_likely_row(e, &aggregate);
        return true;
    }
    while (take_word(&aggregate, !e->kernel->compact, &word))
        load_word(e, &word);
    return is_made(e, at);
}

bool struct_store(struct emitter *e, LLVMValueRef at)
{
    const struct access_group *group = map_get(&e->kernel->access_groups, at);
    if (!group || is_single(e, at))
        return false;
    struct aggregate aggregate = stores_of(e, group), word;
    bool last = aggregate.at == at, together = false;
    if (is_row_of_records(e, &aggregate) &&
        used_by(&aggregate) == aggregate.stride) {
        if (last)
            store_row(e, aggregate);
        return true;
    }
    if (is_likely_row(e, &aggregate) &&
        used_by(&aggregate) == aggregate.stride) {
        if (last)
            store_likely_row(e, &aggregate);
        return true;
    }
    while (take_word(&aggregate, false, &word)) {
        together |= has_item(&word, at);
        if (last)
            store_word(e, &word);
    }
    return together;
}
