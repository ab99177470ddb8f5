// The SIMT compiler: what its passes share. README.md tells the whole way.
#pragma once

#include "simt.h"

#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdint.h>

enum { NONE = -1 };

// Instructions beyond which a kernel's code is to be short rather than fast.
enum { KERNEL_LARGE = 600, KERNEL_HUGE = 2000 };

// --- memory.c: memory until the end of the job; maps and sets ----------------

// Zeroed. Ends the process when there is none: the caller runs the compiler in
// a process of its own.
void *simt_allocate(size_t size);
void *simt_grow(void *items, size_t count, size_t size);  // for one more item
char *simt_format(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

// From pointers to pointers.
struct map {
    struct map_entry *entries;
    size_t count, capacity;
};
void *map_get(const struct map *map, const void *key);
void map_set(struct map *map, const void *key, void *value);
void map_clear(struct map *map);
// With copies of the values, which have that size each.
struct map map_copy(const struct map *map, size_t size);

struct set {
    uint64_t *words;
    unsigned size;  // bits
};
struct set set_create(unsigned size);
struct set set_copy(const struct set *from);
bool set_has(const struct set *set, unsigned item);
bool set_add(struct set *set, unsigned item);  // true if it was not in
void set_remove(struct set *set, unsigned item);
void set_fill(struct set *set);
bool set_unite(struct set *to, const struct set *from);  // true if it grew
bool set_intersect(struct set *to, const struct set *from);
unsigned set_count(const struct set *set);

// --- The kernel: one thread of it, in memory form ----------------------------

struct block {
    LLVMBasicBlockRef ir;
    LLVMValueRef condition;       // of the branch; NULL if there is none
    int successors[2];            // [0] when the condition holds
    unsigned successor_count;     // 0: the thread ends here
    int *predecessors;
    unsigned predecessor_count;
    bool pure_return;             // does nothing but end the thread
    int barrier;                  // number of the barrier it begins with
    LLVMValueRef barrier_call;
    bool reaches_barrier;
    unsigned size;                // instructions
    int loop;                     // innermost loop around it, or NONE
};

struct loop {
    int header;
    int parent;
    struct set blocks;
};

// A variable of the thread. Values that outlive their block are slots, too.
enum slot_kind { SLOT_SIMPLE, SLOT_COMPLEX };
struct slot {
    LLVMValueRef alloca;
    LLVMTypeRef type;             // of a complex one: padded to its alignment
    enum slot_kind kind;          // simple: loaded and stored as a whole only
    LLVMValueRef *loads, *stores; // of a simple one
    unsigned load_count, store_count;
    unsigned element;             // bytes of one that lies beside those of the
                                  // other lanes (weave.c), or 0
    bool remat;                   // cheaper computed anew than kept
    bool steady;                  // a store needs no mask: see slots.c
    bool late;                    // lanes may read what an earlier round stored
    bool kept;                    // its value must outlive a barrier
};

struct kernel {
    unsigned number;
    LLVMModuleRef module;
    LLVMContextRef context;
    LLVMTargetDataRef layout;
    LLVMValueRef function;        // rnl_thread_<n>
    struct block *blocks;         // [0] is the entry; reverse post-order
    unsigned block_count;
    unsigned size;                // instructions
    uint64_t private_size;        // bytes of a thread's variables
    struct loop *loops;           // outer ones first
    unsigned loop_count;
    struct slot *slots;
    unsigned slot_count;
    struct map block_numbers;     // LLVMBasicBlockRef to number + 1
    struct map slot_of;           // alloca to slot
    struct map bundles;           // load or store to its bundle
    int *barrier_blocks;          // block of each barrier
    unsigned barrier_count;
    struct set *live;             // slots live after each barrier
    struct set *postdominators;   // of each block, without early exits
    int *join_after;              // nearest postdominator, or NONE
    int *meetings;                // where lanes of a branch are sure to meet
    struct set *sent;             // blocks that lanes of one were sent to
    bool uses_y;                  // of the thread's index
    bool uses_yz;                 // the y or z of it
    bool has_warp_ops;
    bool has_cluster_ops;
    bool has_shared;              // variables in shared memory
    bool waits;                   // for other threads, as the source says
    bool strides;                 // has loops over the grid, interchanged
    unsigned across;              // number of blocks run together by code
                                  // whose lanes are blocks; 0: no such code
    bool compact;                 // made into short code rather than fast
    bool huge;                    // and without a version for complete chunks
    unsigned woven;               // lanes that rows of elements are for
    bool wherever;                // lanes also where they do not gain
    const char *refusal;          // why it cannot be vectorised
    const unsigned *fixed;        // the block size it is made for; NULL: any
    bool alone;                   // no other code is there
    const unsigned *chosen;       // the one that other code is there for
};

// kernel.c: kernel_split makes every barrier begin a block; after reg2mem has
// brought the kernel into memory form, kernel_read reads it. False
// with kernel->refusal set, in either.
bool kernel_split(struct kernel *kernel);
bool kernel_read(struct kernel *kernel);
int kernel_block_of(const struct kernel *kernel, LLVMValueRef instruction);
// Makes a block begin with that instruction: what stands before moves to a new
// block in front, which the old block's predecessors then lead to.
LLVMBasicBlockRef block_split(LLVMValueRef before);

// graph.c: loops, postdominators.
void graph_analyse(struct kernel *kernel);
// meet.c: finds kernel->meetings and kernel->sent. Whether lanes that leave one
// block for another have been sent there when they parted.
void meetings_find(struct kernel *kernel);
bool meeting_was_sent(const struct kernel *kernel, int from, int to);
// The blocks that threads may go through between `from` and `until` (NONE: the
// end), in an order for lockstep: see struct order.
struct set graph_between(const struct kernel *kernel, const int *from,
                         unsigned from_count, int until);

// A weak topological order (Bourdoncle): blocks and loops of such orders.
struct order {
    int block;                    // the loop's header if `body` is not NULL
    struct order *body;           // of the loop, without the header
    struct order *next;
    bool is_loop;
};
struct order *graph_order(const struct kernel *kernel, const struct set *blocks,
                          const int *from, unsigned from_count);

// spin.c: refuses a kernel that waits in a loop for memory to change.
void spin_find(struct kernel *kernel);
// Lets other threads have their turn where code of tier F may wait for them.
char *spin_give_way(LLVMModuleRef module);

// slots.c
void slots_find(struct kernel *kernel);
void slots_live(struct kernel *kernel);
// The simple slot at an address, or that a load is of; NULL if there is none.
struct slot *slots_simple(const struct kernel *kernel, LLVMValueRef address);
struct slot *slots_loaded(const struct kernel *kernel, LLVMValueRef value);
// What a value is where it is the load of a slot with a single store.
LLVMValueRef slots_resolve(const struct kernel *kernel, LLVMValueRef value);
// What an address is counted from: a variable, an argument, what was loaded.
LLVMValueRef slots_base(const struct kernel *kernel, LLVMValueRef address);
// Step `i`, from 1 on, of an address computation. `type`, at first its source
// type, becomes what the step leads to.
struct step {
    LLVMValueRef index;           // NULL: a field
    uint64_t unit;                // bytes it counts, or from the start to it
};
struct step address_step(LLVMTargetDataRef layout, LLVMValueRef at, int i,
                         LLVMTypeRef *type);
// Differences between two values of a number. FAR: not known, or too large.
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
// Whether a call gives an index, a size or the place of a shared variable.
bool slots_is_index(LLVMValueRef call);
// Whether a load reads an argument of the kernel, which nothing changes.
bool slots_is_argument_load(const struct kernel *kernel, LLVMValueRef load);
// Lets loads of a slot that stand outside of some blocks load another one.
void slots_read_other(const struct kernel *kernel, struct slot *slot,
                      struct slot *other, const struct set *blocks);
// The mark of a variable of which lanes may read what an earlier round stored.
unsigned slots_late_kind(const struct kernel *kernel);

// weave.c: puts elements of arrays beside those of so many other lanes. Whether
// there are any.
bool weave_slots(struct kernel *kernel, unsigned lanes);

// bundle.c: accesses of one thread beside each other, of which the first loads
// for all, or the last stores; bytes that are sorted together.
enum { BUNDLE_MOST = 16, RECORD_MOST = 64 };
struct bundled {
    LLVMValueRef at;
    int64_t offset, end;          // bytes from somewhere
};
struct bundle {
    struct bundled *items;        // in the order of the program
    unsigned count;
    int64_t low, high;            // of all of them
};
void bundles_find(struct kernel *kernel);

// interchange.c: changes one loop that steps over the grid; what was read of
// the kernel is then out of date.
bool interchange_loops(struct kernel *kernel);
// How many rounds of such a loop a chunk takes before the next one has its
// turn; 0: it is no such loop.
unsigned interchange_rounds(const struct kernel *kernel, int loop);

// --- Shapes ------------------------------------------------------------------

// How a value differs between the lanes of a chunk.
enum shape_kind { SHAPE_UNKNOWN, SHAPE_UNIFORM, SHAPE_AFFINE, SHAPE_VARYING };
struct shape {
    enum shape_kind kind;
    int64_t stride;      // affine: value of lane i is that of lane 0 + i*stride
    int64_t guess;       // varying: it may well be affine with this stride
    bool rising;         // ... or less between some lanes: see rising.c
    bool far;            // varying: lanes likely have a row of a matrix each
    unsigned alignment;  // lane 0's value is a multiple of 2 to the power of it
};

// The lanes of a row are threads along x, threads along y, or blocks along x.
// For the latter, a block has one thread in x.
enum lanes_along { LANES_X, LANES_Y, LANES_BLOCKS };

// How the threads of a block are dealt out to chunks of `width` lanes.
struct variant {
    unsigned width;
    bool rows;           // chunks run along x, y or blocks; else along the
                         // thread's number
    enum lanes_along along;
    unsigned row;        // threads of a row, where only one count fits, or 0
    const char *name;
    bool compact;        // lanes that disagree are masked at once
    bool blocks;         // of several blocks of a grid
    bool thin;           // of blocks with one thread in x
    bool whole;          // rows of threads are multiples of the width
};

// The axis of rows, along which blocks follow each other, too.
static inline unsigned lanes_axis(const struct variant *variant)
{
    return variant->along == LANES_Y ? 1 : 0;
}

struct shapes {
    const struct kernel *kernel;
    const struct variant *variant;
    struct map values;            // instruction to struct shape
    struct shape *slots;
    bool *divergent;              // of each block's branch
    bool *divergent_loop;         // threads may leave it at different times
};
void shapes_find(struct shapes *shapes);
struct shape shape_of(const struct shapes *shapes, LLVMValueRef value);
bool constant_of(LLVMValueRef value, int64_t *number);  // of up to 64 bits

// wrap.c: whether an unsigned number of which this is the lane's grows without
// passing 2^32 inside a chunk; whether an affine one that this makes wider with
// its sign stays so where it matters.
bool shape_never_wraps(const struct shapes *shapes, LLVMValueRef value);
bool shape_widens_signed(const struct shapes *shapes, LLVMValueRef cast);

// reduce.c: whether all lanes do an atomic operation at one place that can be
// done once for them.
bool reduce_fits(const struct shapes *shapes, LLVMValueRef at);

// worth.c: whether lanes are faster than threads one by one; the estimated cost
// of a chunk, which can be compared with that of other variants.
bool lanes_gain(const struct shapes *shapes);
double lanes_cost(const struct shapes *shapes);

// walk.c: by how much a value grows from one round of a loop to the next, 0 if
// that is not known; whether a thread accesses the same line as a round before
// or the next one; how many simple instructions a processor could do while a
// round waits for what the last one computed.
int64_t walk_growth(const struct kernel *kernel, int loop, LLVMValueRef value);
bool walks_along(const struct kernel *kernel, LLVMValueRef at);
double walk_latency(const struct kernel *kernel, int loop);

// talk.c: whether lanes of a warp have to go in step.
bool lanes_talk(const struct kernel *kernel);

// rising.c
bool shape_rises(struct shape shape);
bool shape_limit_rises(const struct shapes *shapes, LLVMValueRef call);
bool shape_select_rises(const struct shapes *shapes, LLVMValueRef at);

// --- Names the prelude promises ----------------------------------------------

enum primitive {
    PRIMITIVE_NONE, PRIMITIVE_THREAD, PRIMITIVE_BLOCK, PRIMITIVE_BLOCK_SIZE,
    PRIMITIVE_GRID_SIZE, PRIMITIVE_SYNC, PRIMITIVE_WARP, PRIMITIVE_SPIN,
    PRIMITIVE_YIELD, PRIMITIVE_SYNC_GRID, PRIMITIVE_TRAP, PRIMITIVE_TLS,
    PRIMITIVE_CLUSTER_SIZE, PRIMITIVE_CLUSTER_MEMORY, PRIMITIVE_CLUSTER_STRIDE,
    PRIMITIVE_CLUSTER_MEET,
};
// What a call calls; *axis is 0..2 for the built-in variables.
enum primitive primitive_of(LLVMValueRef instruction, int *axis);
const char *callee_name(LLVMValueRef call);  // "" for pointers
bool is_intrinsic(LLVMValueRef call, const char *name);  // "llvm.<name>."
bool is_ignored_call(LLVMValueRef call);
bool is_limit_call(LLVMValueRef call);  // the less, the greater, and their like

// lower_arithmetic.c: divisions, shifts, conversions to integers and bools of
// memory do what they do on a GPU. With `zero_traps` a division by zero may
// also be a fault.
void lower_arithmetic(LLVMModuleRef module, bool zero_traps);

// prepare.c. Those that return text return a message to dispose of, or NULL.
// What has two names, like most constructors, is called by its own.
void prepare_aliases(LLVMModuleRef module);
void prepare_targets(LLVMModuleRef module);    // one processor for all
void prepare_widest(LLVMValueRef function);    // vectors that it may have
// Makes variables known to another module of the same object.
void prepare_share_variables(LLVMModuleRef module);
// For code that will only run with blocks of this size.
void prepare_block_size(LLVMModuleRef module, const unsigned size[3]);
// That a load or call gives a number from the first one to before the end.
void tell_range(LLVMValueRef at, unsigned first, unsigned end);
// state.c: tells the optimiser of tier F that stores leave alone what threads
// read of their block.
void state_mark(LLVMModuleRef module);
void prepare_drop_used(LLVMModuleRef module);  // nothing is kept for its name
char *prepare_module(LLVMModuleRef module);
LLVMBasicBlockRef first_block(LLVMModuleRef module);
LLVMBasicBlockRef next_block(LLVMBasicBlockRef block);  // NULL after the last
LLVMValueRef first_instruction(LLVMModuleRef module);
LLVMValueRef next_instruction(LLVMValueRef at);  // NULL after the last one
unsigned block_size(LLVMBasicBlockRef block);   // instructions, as the next
unsigned function_size(LLVMValueRef function);
LLVMValueRef first_behind_phis(LLVMBasicBlockRef block);
bool module_is_huge(LLVMModuleRef module);      // a function of it is
// A last combining of instructions, after another pass; empty where that takes
// long and finds nothing: in huge modules.
const char *combine_again(LLVMModuleRef module);
void prepare_hide_functions(LLVMModuleRef module);  // once vectors are made
char *prepare_run(LLVMModuleRef module, const char *passes);
void add_flag(LLVMValueRef function, const char *name);
void remove_flag(LLVMValueRef function, const char *name);
void add_attribute(LLVMValueRef function, const char *name, const char *value);

// variant.c: makes rnl_blocks_<n>, or rnl_fixed_<n> for one block size. False
// with kernel->refusal set.
bool emit_kernel(struct kernel *kernel);

// lines.c: completes the lines of all kernels.
void lines_finish(void);

// target.c: the processor; the widest vectors that the vector library takes,
// in bytes, or 0 if there is none.
LLVMTargetMachineRef target_create(const char *triple, const char *name,
                                   char **message);

unsigned target_vector_bytes(void);

// Whether it reads rows that go on and on faster by itself than asked to.
bool target_foresees_rows(void);

// How many long sums should take turns, to keep its units busy.
unsigned target_sums_in_turn(void);

// cut.c: cuts long blocks for code generation. Whether there were any.
bool cut_blocks(LLVMModuleRef module);

// share.c: divides the variants of a module among processes. A process works on
// share `mine`, the first one on share 0; each writes an object of its own.
enum { SHARES_MOST = 4 };
struct shares {
    unsigned count, mine;
    int ends[SHARES_MOST];  // pipes: of the children, or a child's own at [0]
};
void shares_start(struct shares *shares, LLVMModuleRef module, unsigned most);
char *shares_path(const struct shares *shares, const char *object);
// Ends a child and tells its parent whether the object was written.
_Noreturn void shares_end(const struct shares *shares, bool made);
// Waits for the children: true if all succeeded.
bool shares_wait(const struct shares *shares);

// demote.c: lets numbers that are used very often lie on the stack.
void demote_often_used(LLVMModuleRef module);

// merge.c: keeps stores of very large functions from being merged over all of
// them, until the end.
void merge_within_pieces(LLVMModuleRef module);
void merge_end(LLVMModuleRef module);

// rotate.c: puts the conditions of loops of very large functions at their ends.
// How many there are.
unsigned rotate_loops(LLVMModuleRef module);

// along.c: makes a few rounds one where each lane goes along memory by itself.
char *along_unroll(LLVMModuleRef module);

// sections.c: a section for each function and variable.
void sections_set(LLVMModuleRef module);

static inline bool has_one_use(LLVMValueRef value)
{
    LLVMUseRef use = LLVMGetFirstUse(value);
    return use && !LLVMGetNextUse(use);
}

// The address of a load or store; NULL for what is neither.
static inline LLVMValueRef accessed_address(LLVMValueRef at)
{
    if (LLVMIsALoadInst(at))
        return LLVMGetOperand(at, 0);
    return LLVMIsAStoreInst(at) ? LLVMGetOperand(at, 1) : NULL;
}

// What a load or store has there.
static inline LLVMTypeRef accessed_type(LLVMValueRef at)
{
    return LLVMTypeOf(LLVMIsALoadInst(at) ? at : LLVMGetOperand(at, 0));
}

// Whether it is a load or store that nobody else looks at.
static inline bool is_plain_access(LLVMValueRef at)
{
    return (LLVMIsALoadInst(at) || LLVMIsAStoreInst(at)) &&
           !LLVMGetVolatile(at) &&
           LLVMGetOrdering(at) == LLVMAtomicOrderingNotAtomic;
}

// Whether a type is all of 1, 2, 4 or 8 bytes.
static inline bool is_element(const struct kernel *kernel, LLVMTypeRef type)
{
    uint64_t size = LLVMABISizeOfType(kernel->layout, type);
    return (size == 1 || size == 2 || size == 4 || size == 8) &&
           LLVMSizeOfTypeInBits(kernel->layout, type) == 8 * size;
}

// hint.c: a node that is like no other: its first operand is itself. Tells the
// optimiser something about the loop that a branch leads back to, with a number
// unless that is 0.
LLVMMetadataRef distinct_node(LLVMContextRef context, LLVMMetadataRef more);
void loop_hint(LLVMValueRef back, const char *hint, unsigned number);
// Of a conditional branch whose first side is hardly ever taken.
void seldom_hint(LLVMValueRef branch);

// apart.c: marks an access like another one.
void apart_copy(LLVMValueRef from, LLVMValueRef to);
// Whether it is an access of shared memory; of anything but that.
bool apart_is_shared(LLVMValueRef at);
bool apart_is_array(LLVMValueRef at);

// distance.c: how many bytes the second address lies behind the first, to be
// freed, NULL where that is more than sums and products; whether two are equal;
// that many bytes behind an address.
struct distance;
struct distance *distance_between(LLVMTargetDataRef layout, LLVMValueRef from,
                                  LLVMValueRef to);
bool distance_is_equal(const struct distance *a, const struct distance *b);
LLVMValueRef distance_behind(const struct distance *d, LLVMBuilderRef b,
                             LLVMValueRef address);
// Adds the bytes from where an address counts to it. False if they are not
// constant.
bool address_offset(LLVMTargetDataRef layout, LLVMValueRef at, int64_t *offset);

// early.c: moves stores of shared memory before what they need not wait for.
void store_early(LLVMModuleRef module);

// through.c: has what was copied to shared memory, and nothing else was, read
// from where it came from.
void read_through(LLVMModuleRef module);

// narrow.c: makes accesses under masks that hold just the first lanes ones of
// short vectors; then, what the optimiser took from stored vectors lanes again.
void narrow_accesses(LLVMModuleRef module);
void narrow_numbers(LLVMModuleRef module);

// interleave.c: has long sums of several chunks take turns.
void interleave_sums(LLVMModuleRef module);

// range.c: the least and the greatest number of all lanes of a vector of 32-bit
// numbers: of one whose range is in the map, or of a constant; of one by the
// instruction that makes it. Any number where that is not known.
struct range {
    int64_t low, high;
};
struct range range_of(const struct map *known, LLVMValueRef vector);
struct range range_made(const struct map *known, LLVMValueRef at);
bool range_is_within(struct range range, int64_t low, int64_t high);
bool is_words(LLVMTypeRef type);                // a vector of 32-bit numbers
// The number that all lanes of a vector have; NULL where it is not made of one.
LLVMValueRef range_splat(LLVMValueRef vector);

// shorts.c: computes in 16 bits what fits into them.
void compute_in_shorts(LLVMModuleRef module);

// halves.c: has floats do what LLVM would do for halves lane by lane.
void widen_halves(LLVMModuleRef module);

// call.c: whether calls with the same arguments give the same and do nothing
// else.
bool calls_are_alike(LLVMValueRef call);
// Whether a call becomes one of vectors; of the vector library.
bool call_has_vectors(LLVMValueRef call);
bool call_is_of_library(LLVMValueRef call);

// callee.c: keeps functions that kernels call very often, which are not inlined
// then (a message or NULL); whether a call is to one; whether there are any.
char *callees_keep(LLVMModuleRef module);
// A function for lanes that takes the place of libm's where lanes differ:
// whether it is one that may; chooses, once all is simplified, those that do;
// lets those go that nothing calls.
bool callee_is_awaited(LLVMValueRef function);
void callees_choose(LLVMModuleRef module);
void callees_hide(LLVMModuleRef module);
bool callee_is_kept(LLVMValueRef call);
bool callees_are_kept(LLVMModuleRef module);
