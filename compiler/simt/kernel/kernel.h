// Room kernel: the model of a kernel's one thread, in memory form (after
// reg2mem): control flow, variables, and accesses that belong together.
#pragma once

#include "simt/kernel/tuning.h"
#include "simt/ir/ir.h"

struct block {
    LLVMBasicBlockRef ir;
    LLVMValueRef condition;       // of the branch, or NULL
    int successors[2];            // [0] when the condition holds
    unsigned successor_count;     // 0: the thread ends here
    int *predecessors;
    unsigned predecessor_count;
    bool pure_return;             // does nothing but end the thread
    int barrier;                  // number of the barrier at its begin
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

// A variable of the thread. A value that outlives its block is a slot, too.
enum slot_kind { SLOT_SIMPLE, SLOT_COMPLEX };
struct slot {
    LLVMValueRef alloca;
    LLVMTypeRef type;             // of a complex slot: padded to its alignment
    enum slot_kind kind;          // simple: loaded and stored as a whole only
    LLVMValueRef *loads, *stores; // of a simple slot
    unsigned load_count, store_count;
    unsigned element;             // bytes of an element that is interleaved
                                  // with the other lanes' elements, or 0
    bool remat;                   // cheaper to rematerialize than to keep
    bool maskless;                // a store needs no mask: see slots.c
    bool late;                    // lanes may load an earlier iteration's store
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
    struct loop *loops;           // outer loops first
    unsigned loop_count;
    struct slot *slots;
    unsigned slot_count;
    struct map block_numbers;     // LLVMBasicBlockRef to number + 1
    struct map slot_of;           // alloca to slot
    struct map access_groups;     // load or store to its access group
    int *barrier_blocks;          // block of each barrier
    unsigned barrier_count;
    struct set *live;             // slots live after each barrier
    struct set *postdominators;   // of each block, without early exits
    int *join_after;              // nearest postdominator, or NONE
    int *reconvergence;           // where all lanes of a branch meet, or NONE
    struct set *sent;             // reconvergence points of a block's lanes
    bool uses_y;                  // of the thread's index
    bool uses_yz;                 // the y or z of the thread's index
    bool has_warp_ops;
    bool has_cluster_ops;
    bool has_shared;              // variables in shared memory
    bool waits;                   // for other threads, as the source says
    bool bounded;                 // the work of a thread is, as the source says
    bool strides;                 // has interchanged grid-stride loops
    unsigned across;              // blocks per call of code whose lanes are
                                  // blocks; 0: no such code
    bool compact;                 // short code rather than fast code
    bool huge;                    // and no version for complete gangs
    unsigned private_lanes;       // lanes that private arrays interleave
    bool force_vectors;           // lanes also where threads would be faster
    unsigned axis, width;         // of lanes: 0 or 1 for x or y; their number
    const char *refusal;          // why it cannot be vectorised, or NULL
    const unsigned *fixed;        // the only block size of its code, or NULL
    bool alone;                   // there is no code for other block sizes
    const unsigned *chosen;       // block size that has code of its own
};

// --- kernel.c ----------------------------------------------------------------

// Makes every barrier begin a block. False with kernel->refusal set.
bool kernel_split(struct kernel *kernel);
// Reads a kernel after reg2mem. False with kernel->refusal set.
bool kernel_read(struct kernel *kernel);
int kernel_block_of(const struct kernel *kernel, LLVMValueRef instruction);
// True if the kernel calls functions that ask for the index of their thread.
bool kernel_calls_prelude(const struct kernel *kernel);
// True if the kernel has no loops, and calls nothing of unknown length.
bool kernel_is_bounded(const struct kernel *kernel);
// True if the kernel has barriers that count votes.
bool kernel_counts_votes(const struct kernel *kernel);

// --- cfg.c: loops and postdominators -----------------------------------------

void cfg_analyse(struct kernel *kernel);
// The blocks on paths from `from` to `until` (NONE: the end).
struct set cfg_between(const struct kernel *kernel, const int *from,
                       unsigned from_count, int until);
// A weak topological order (Bourdoncle): blocks and loops of such orders.
struct order {
    int block;                    // the loop's header if `body` is not NULL
    struct order *body;           // of the loop, without the header
    struct order *next;
    bool is_loop;
};
struct order *cfg_order(const struct kernel *kernel, const struct set *blocks,
                        const int *from, unsigned from_count);
bool loop_has_barrier(const struct kernel *kernel, const struct loop *loop);
bool loops_have_barriers(const struct kernel *kernel);  // all of them

// --- reconvergence.c ---------------------------------------------------------

// Finds kernel->reconvergence and kernel->sent.
void reconvergence_find(struct kernel *kernel);
// True if lanes were sent to block `to` before they came to block `from`.
bool reconvergence_is_done(const struct kernel *kernel, int from, int to);

// --- spin_loops.c ------------------------------------------------------------

// Refuses a kernel with a loop that waits for another thread's store.
void spin_loops_refuse(struct kernel *kernel);
// Scalar tier: lets other threads run where the code may wait for a store.
char *spin_loops_yield(LLVMModuleRef module);

// --- slots.c -----------------------------------------------------------------

void slots_find(struct kernel *kernel);
void slots_live(struct kernel *kernel);
// The simple slot at an address, or of a load; NULL if there is none.
struct slot *slots_simple(const struct kernel *kernel, LLVMValueRef address);
struct slot *slots_loaded(const struct kernel *kernel, LLVMValueRef value);
// Follows loads of slots with a single store to the stored value.
LLVMValueRef slots_resolve(const struct kernel *kernel, LLVMValueRef value);
// The base of an address: a variable, an argument, or a loaded pointer.
LLVMValueRef slots_base(const struct kernel *kernel, LLVMValueRef address);
// The load of the pointer argument that an address is made from, or NULL.
LLVMValueRef slots_argument_array(const struct kernel *kernel,
                                  LLVMValueRef address);
// True if a load reads an argument of the kernel, which never changes.
bool slots_is_argument_load(const struct kernel *kernel, LLVMValueRef load);
// Redirects the loads of a slot outside of some blocks to another slot.
void slots_read_other(const struct kernel *kernel, struct slot *slot,
                      struct slot *other, const struct set *blocks);
// Metadata kind of variables that lanes may load after an earlier iteration's
// store.
unsigned slots_late_kind(const struct kernel *kernel);
// True if an address points to shared memory.
bool address_is_shared(const struct kernel *kernel, LLVMValueRef address,
                       int depth);

// --- access_groups.c: neighbouring accesses of a thread ----------------------

// The first access of a group loads for all, or the last one stores for all.
enum { GROUP_MOST = 16 };
struct grouped_access {
    LLVMValueRef at;
    int64_t offset, end;          // bytes from a common base
};
struct access_group {
    struct grouped_access *items; // in program order
    unsigned count;
    int64_t low, high;            // range of all items
};
void access_groups_find(struct kernel *kernel);
