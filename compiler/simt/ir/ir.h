// Room ir: LLVM's C interface made handy, and the names that the prelude
// promises. Nothing here knows what a kernel is.
#pragma once

#include "simt/ir/tuning.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// No block, loop, barrier or number.
enum { NONE = -1 };

// --- arena.c: memory until the end of the process; maps and sets -------------

// Zeroed memory. A lack of memory ends the process, which compiles one source.
void *simt_allocate(size_t size);
// Makes room for item number `count` of an array.
void *simt_grow(void *items, size_t count, size_t size);
char *simt_format(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

// A map from pointers to pointers.
struct map {
    struct map_entry *entries;
    size_t count, capacity;
};
void *map_get(const struct map *map, const void *key);
void map_set(struct map *map, const void *key, void *value);
void map_clear(struct map *map);
// Copies a map together with its values, of `size` bytes each.
struct map map_copy(const struct map *map, size_t size);

// A set of small numbers: a bit vector.
struct set {
    uint64_t *words;
    unsigned size;  // bits
};
struct set set_create(unsigned size);
struct set set_copy(const struct set *from);
bool set_has(const struct set *set, unsigned item);
bool set_add(struct set *set, unsigned item);  // true for a new item
void set_remove(struct set *set, unsigned item);
void set_fill(struct set *set);
bool set_unite(struct set *to, const struct set *from);  // true if `to` grew
bool set_intersect(struct set *to, const struct set *from);
unsigned set_count(const struct set *set);

// --- module.c: walks over modules, attributes, LLVM's pass manager -----------

LLVMBasicBlockRef first_block(LLVMModuleRef module);
LLVMBasicBlockRef next_block(LLVMBasicBlockRef block);  // NULL after the last
LLVMValueRef first_instruction(LLVMModuleRef module);
LLVMValueRef next_instruction(LLVMValueRef at);         // NULL after the last
LLVMValueRef first_non_phi(LLVMBasicBlockRef block);
// Sizes are counted in instructions.
unsigned block_size(LLVMBasicBlockRef block);
unsigned function_size(LLVMValueRef function);
// True if a function of the module has more than 10,000 instructions.
bool module_is_huge(LLVMModuleRef module);
// Splits a block in front of an instruction: the instructions above move to a
// new block, which takes over the predecessors and leads to the old block.
LLVMBasicBlockRef block_split(LLVMValueRef before);
// The blocks of a function in reverse postorder, without unreachable ones. An
// edge to a block of the same place or an earlier one closes a loop.
struct block_order {
    LLVMBasicBlockRef *blocks;
    unsigned count;
    struct map places;  // of blocks, plus 1
};
struct block_order block_order(LLVMValueRef function);
// The place of a block; `count` for an unreachable one.
unsigned block_order_place(const struct block_order *order,
                           LLVMBasicBlockRef block);
void add_flag(LLVMValueRef function, const char *name);
void remove_flag(LLVMValueRef function, const char *name);
void add_attribute(LLVMValueRef function, const char *name, const char *value);
// Allows a function vectors of 512 bits.
void prefer_wide_vectors(LLVMValueRef function);
// Runs a pipeline of LLVM. Returns a message to dispose of, or NULL.
char *run_passes(LLVMModuleRef module, const char *passes);
// A last instcombine for the end of a pipeline. The text is empty for a huge
// module, where the pass takes long and finds nothing.
const char *combine_again(LLVMModuleRef module);

// --- intrinsics.c: what a call or an operand is ------------------------------

enum primitive {
    PRIMITIVE_NONE, PRIMITIVE_THREAD, PRIMITIVE_BLOCK, PRIMITIVE_BLOCK_SIZE,
    PRIMITIVE_GRID_SIZE, PRIMITIVE_SYNC, PRIMITIVE_WARP, PRIMITIVE_SPIN,
    PRIMITIVE_YIELD, PRIMITIVE_SYNC_GRID, PRIMITIVE_TRAP, PRIMITIVE_TLS,
    PRIMITIVE_CLUSTER_SIZE, PRIMITIVE_CLUSTER_MEMORY, PRIMITIVE_CLUSTER_STRIDE,
    PRIMITIVE_CLUSTER_MEET,
};
// The primitive of the prelude that an instruction calls. For a built-in
// variable *axis becomes 0, 1 or 2.
enum primitive primitive_of(LLVMValueRef instruction, int *axis);
const char *callee_name(LLVMValueRef call);  // "" for a pointer
bool is_intrinsic(LLVMValueRef call, const char *name);  // "llvm.<name>."
bool is_ignored_call(LLVMValueRef call);
bool is_limit_call(LLVMValueRef call);  // minimum, maximum, saturation, abs
// True if a call yields an index, a size or the address of a shared variable.
bool is_index_call(LLVMValueRef call);
// True if a call is pure: equal arguments give equal results, without effects.
bool is_pure_call(LLVMValueRef call);
bool constant_of(LLVMValueRef value, int64_t *number);  // of up to 64 bits

// Index number `i`, from 1 on, of a getelementptr. `type` is the source element
// type at first and becomes the type that the index leads to.
struct step {
    LLVMValueRef index;           // NULL: a field of a struct
    uint64_t unit;                // bytes per index, or the field's offset
};
struct step address_step(LLVMTargetDataRef layout, LLVMValueRef at, int i,
                         LLVMTypeRef *type);

// --- linear_form.c: sums of operands times constants -------------------------

// constant + the sum of times * value, modulo 2 to the power of the width of
// the instruction; bytes for a getelementptr, whose first term is its base.
enum { LINEAR_TERMS = 8 };
struct linear_form {
    struct linear_term {
        LLVMValueRef value;
        int64_t times;
    } terms[LINEAR_TERMS];
    unsigned count;
    int64_t constant;
};
// Reads an add, sub or disjoint or, a mul or shl by a constant, or a
// getelementptr. False for another value, and for too many terms. Terms are in
// the order of operands and may be alike; no term of a sum is a constant.
bool linear_form_of(LLVMTargetDataRef layout, LLVMValueRef value,
                    struct linear_form *form);
// Reads an instruction that adds a constant to an operand. Returns the operand,
// or NULL for another value.
LLVMValueRef linear_form_base(LLVMTargetDataRef layout, LLVMValueRef value,
                              int64_t *added);
// Whether the cast of a number that has a form is the form of the casts of its
// terms. An index without a cast (0) is widened by its getelementptr unless the
// index has 64 bits.
bool linear_form_extends(LLVMValueRef value, LLVMOpcode cast);

// Sums and products of differences. FAR stands for unknown or too large.
#define FAR INT64_MAX
static inline int64_t far_sum(int64_t one, int64_t other)
{
    int64_t all;
    return one == FAR || other == FAR ||
           __builtin_add_overflow(one, other, &all) ? FAR : all;
}
static inline int64_t far_product(int64_t one, int64_t other)
{
    int64_t all;
    return one == FAR || __builtin_mul_overflow(one, other, &all) ? FAR : all;
}

static inline bool has_one_use(LLVMValueRef value)
{
    LLVMUseRef use = LLVMGetFirstUse(value);
    return use && !LLVMGetNextUse(use);
}

// The address of a load or store, or NULL.
static inline LLVMValueRef accessed_address(LLVMValueRef at)
{
    if (LLVMIsALoadInst(at))
        return LLVMGetOperand(at, 0);
    return LLVMIsAStoreInst(at) ? LLVMGetOperand(at, 1) : NULL;
}

// The type that a load or store accesses.
static inline LLVMTypeRef accessed_type(LLVMValueRef at)
{
    return LLVMTypeOf(LLVMIsALoadInst(at) ? at : LLVMGetOperand(at, 0));
}

// True for a load or store that is neither volatile nor atomic.
static inline bool is_plain_access(LLVMValueRef at)
{
    return (LLVMIsALoadInst(at) || LLVMIsAStoreInst(at)) &&
           !LLVMGetVolatile(at) &&
           LLVMGetOrdering(at) == LLVMAtomicOrderingNotAtomic;
}

// True for a type of 1, 2, 4 or 8 bytes without padding.
static inline bool is_element(LLVMTargetDataRef layout, LLVMTypeRef type)
{
    uint64_t size = LLVMABISizeOfType(layout, type);
    return (size == 1 || size == 2 || size == 4 || size == 8) &&
           LLVMSizeOfTypeInBits(layout, type) == 8 * size;
}

// --- metadata.c: hints for LLVM's passes -------------------------------------

// A node that is equal to no other: its first operand is the node itself.
LLVMMetadataRef distinct_node(LLVMContextRef context, LLVMMetadataRef more);
// Attaches a hint to the loop of a back edge; a number of 0 is left out.
void loop_hint(LLVMValueRef back, const char *hint, unsigned number);
// Marks the first side of a conditional branch as unlikely.
void unlikely_hint(LLVMValueRef branch);
// Promises that a load or call yields a number in [first, end).
void set_range(LLVMValueRef at, unsigned first, unsigned end);
// Alias scopes separate shared memory from the arrays of arguments: marks an
// access with a scope, copies marks, and asks for them.
unsigned alias_kind(LLVMContextRef context, bool shared);
void alias_copy(LLVMValueRef from, LLVMValueRef to);
bool alias_is_shared(LLVMValueRef at);
bool alias_is_array(LLVMValueRef at);

// --- target.c: the processor -------------------------------------------------

LLVMTargetMachineRef target_create(const char *triple, const char *name,
                                   char **message);
// Bytes of the widest vectors that the vector library takes; 0 without library.
unsigned target_vector_bytes(void);
// True if the hardware prefetcher follows a long row better than instructions.
bool target_foresees_rows(void);
// The number of independent reductions that keep the units busy.
unsigned target_sums_in_turn(void);

// --- sections.c --------------------------------------------------------------

// Gives each function and variable a section of its own.
void sections_set(LLVMModuleRef module);
