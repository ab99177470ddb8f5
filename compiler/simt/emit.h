// What the parts of the emitter share: they make the function of one kernel for
// one variant.
#pragma once

#include "ir.h"

// A value of the kernel as emitted. Uniform and affine ones have the scalar of
// lane 0, and a vector once somebody needs it.
struct lanes {
    LLVMValueRef scalar, vector;
};

// Whether all lanes of a chunk are there, so that nothing needs a mask, or only
// those of a mask that changes as threads end.
enum version { FULL, PARTIAL, VERSIONS };

struct emitter {
    struct kernel *kernel;
    const struct variant *variant;
    struct shapes shapes;
    struct shapes block_shapes;    // of all threads of a block at once
    bool steady;                   // all chunks always go to the same barrier,
                                   // with all their threads
    bool unrolls;                  // code for each chunk
    unsigned width;
    bool compact;                  // lanes that disagree are masked at once
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMBasicBlockRef entry;       // holds all allocas
    LLVMMetadataRef line;          // of the function, or NULL: no lines
    LLVMTypeRef i1, i8, i32, i64, pointer, mask_type, void_type;

    // Of the launch
    LLVMValueRef run, arguments, block_size[3], grid_size[3];
    struct map shared;             // thread-local variables to addresses, or to
                                   // offsets in a group's memory
    LLVMBasicBlockRef begin;       // where their addresses are found
    LLVMMetadataRef shared_scope;  // of accesses to them: see apart.c

    bool streams;                  // there are stores past the caches

    // Of the blocks that go together: see group.c
    struct group {
        bool used;
        bool rows;                 // blocks follow each other in each row
        unsigned shared_size;      // bytes of each block's shared variables
        LLVMValueRef most;         // blocks of any group
        LLVMValueRef records;      // bytes of all records: then comes the rest
        LLVMValueRef first, count; // of this group: its first block along
                                   // the axis of lanes
        LLVMValueRef shared;       // memory of the block
    } group;

    // Of the chunk
    LLVMValueRef block_index[3];
    LLVMValueRef thread[3];        // of lane 0, or of all lanes (packed)
    LLVMValueRef first;            // number of lane 0's thread in the block
    LLVMValueRef active;           // lanes that are threads of the block
    LLVMValueRef record;           // memory of the chunk, or NULL

    // Of the region: from a barrier (or the begin: NONE) to the next ones
    int barrier;
    LLVMValueRef *slots;           // memory of the simple ones: slot_memory
    LLVMValueRef begun;            // the end of where they are zeroed
    unsigned place_count;          // accesses to places all over
    unsigned apart_count;          // loads of lanes at a distance
    unsigned quotient_count;       // by constants of 64 bits
    unsigned *rows_ahead;          // read outside of loops, then in each loop
    LLVMValueRef sink;             // where lanes that are not there may write
    LLVMValueRef *private_memory;  // of the complex ones, for all lanes
    LLVMValueRef *common_in;       // slots that all chunks of a steady kernel
    LLVMValueRef *common_out;      // have in common: of this round, of the next
    unsigned *offsets;             // of each slot in a record
    unsigned record_size;
    unsigned record_small, record_small_end;  // room for slots within a line
    LLVMValueRef live;             // mask of the threads that have not ended
    LLVMBasicBlockRef *blocks[VERSIONS];
    struct { int block; enum version version; } *work;
    unsigned work_count;
    LLVMBasicBlockRef done;        // where regions go ...
    LLVMValueRef exit;             // ... with the barrier's number + 1, or 0
    struct set exits;              // all that regions have gone with
    LLVMValueRef vote_count, vote_total;    // of the barrier arrived at
    LLVMValueRef voted_count, voted_total;  // of the one left

    // Of the block
    LLVMValueRef mask;             // lanes that execute it; NULL: all
    bool in_chain;                 // others of the chunk may be elsewhere
    struct map values;             // instruction to struct lanes
};

// The fixed head of a chunk's record.
enum {
    RECORD_EXIT = 0, RECORD_X = 4, RECORD_Y = 8, RECORD_Z = 12,
    RECORD_ACTIVE = 16, RECORD_FIRST = 20, RECORD_LIVE = 24, RECORD_SMALL = 32,
    RECORD_BEGIN = 64,
};

// Whether chunks keep slots in their records.
static inline bool record_keeps(const struct emitter *e)
{
    return e->record_size > RECORD_BEGIN || e->record_small > RECORD_SMALL;
}

// --- lanes.c -----------------------------------------------------------------

LLVMValueRef lanes_scalar(struct emitter *e, LLVMValueRef value);
LLVMValueRef lanes_vector(struct emitter *e, LLVMValueRef value);
void lanes_set(struct emitter *e, LLVMValueRef value, LLVMValueRef scalar,
               LLVMValueRef vector);
bool lanes_uniform(struct emitter *e, LLVMValueRef value);
// Emits what a value is made of, as far as it is not there, and the value.
void lanes_make(struct emitter *e, LLVMValueRef value);
// The value of one lane.
LLVMValueRef lanes_at(struct emitter *e, LLVMValueRef value, unsigned lane);
// Whether a slot's loads compute it anew, where its lanes are needed.
bool lanes_are_lazy(const struct emitter *e, const struct slot *slot);
// The values so far, before code that is not always run adds its own: assign
// what is returned to e->values after it.
struct map lanes_save(struct emitter *e);
LLVMTypeRef vector_type(struct emitter *e, LLVMTypeRef element);
LLVMValueRef splat(struct emitter *e, LLVMValueRef scalar);
// <0, stride, 2 * stride ...> of an integer type.
LLVMValueRef steps(struct emitter *e, LLVMTypeRef type, int64_t stride);
LLVMValueRef number32(struct emitter *e, uint64_t value);
LLVMValueRef number64(struct emitter *e, uint64_t value);
LLVMValueRef extract(struct emitter *e, LLVMValueRef vector, LLVMValueRef lane);
// An alloca of the function's entry.
LLVMValueRef variable(struct emitter *e, LLVMTypeRef type, const char *name);
// Of a simple slot: what it is of, and its memory in the region, made when
// somebody needs it and zeroed at the begin, for not all lanes may store it.
LLVMTypeRef slot_type(struct emitter *e, unsigned slot);
LLVMValueRef slot_memory(struct emitter *e, unsigned slot);
LLVMBasicBlockRef append(struct emitter *e, const char *name);
void position(struct emitter *e, LLVMBasicBlockRef block);
LLVMValueRef at_offset(struct emitter *e, LLVMValueRef base, uint64_t offset);
LLVMValueRef load32(struct emitter *e, LLVMValueRef base, uint64_t offset);
void store32(struct emitter *e, LLVMValueRef value, LLVMValueRef base,
             uint64_t offset);

// Masks: NULL stands for all lanes.
LLVMValueRef mask_all(struct emitter *e);
LLVMValueRef mask_none(struct emitter *e);
LLVMValueRef mask_or_all(struct emitter *e, LLVMValueRef mask);
LLVMValueRef mask_bits(struct emitter *e, LLVMValueRef mask);  // an integer
LLVMValueRef mask_bits32(struct emitter *e, LLVMValueRef mask);
LLVMValueRef mask_any(struct emitter *e, LLVMValueRef mask);
LLVMValueRef mask_is_full(struct emitter *e, LLVMValueRef mask);

// Tells the optimiser about the loop of a branch back.
LLVMValueRef call_intrinsic(struct emitter *e, const char *name,
                            LLVMTypeRef *overloads, unsigned overload_count,
                            LLVMValueRef *arguments, unsigned count);

// Code for each lane of the mask, one after another. Between begin and end the
// builder stands in the loop.
struct lane_loop {
    LLVMBasicBlockRef head, end;
    LLVMValueRef lane, left;
    bool all;
    unsigned step;  // from a lane to the next, for all lanes: 1, or as set
};
struct lane_loop lane_loop_begin(struct emitter *e, LLVMValueRef mask);
void lane_loop_end(struct emitter *e, struct lane_loop *loop);
// A value in memory, so that a loop can pick single lanes.
LLVMValueRef lanes_spill(struct emitter *e, LLVMValueRef vector);
LLVMValueRef lanes_pick(struct emitter *e, LLVMTypeRef element,
                        LLVMValueRef memory, LLVMValueRef lane);
void lanes_put(struct emitter *e, LLVMValueRef value, LLVMValueRef memory,
               LLVMValueRef lane);

// --- lines.c -----------------------------------------------------------------

// Gives the function its line, where the thread has lines.
void lines_begin(struct emitter *e);
// What is built next is of this instruction's line.
void lines_at(struct emitter *e, LLVMValueRef at);

// --- The others --------------------------------------------------------------

void instruction_emit(struct emitter *e, LLVMValueRef at);
LLVMValueRef instruction_widen(struct emitter *e, LLVMValueRef at);
LLVMValueRef instruction_clone(struct emitter *e, LLVMValueRef at);
// divide.c: a division of integers that differ between lanes.
LLVMValueRef divide_widen(struct emitter *e, LLVMValueRef at);

void access_load(struct emitter *e, LLVMValueRef at);
void access_prefetch(struct emitter *e, LLVMValueRef at);
void access_store(struct emitter *e, LLVMValueRef at);
bool access_is_shared(struct emitter *e, LLVMValueRef address, int depth);
// Whether an access is of a row of values, or likely one.
bool access_is_row(struct emitter *e, LLVMValueRef at);
// Whether the lanes' addresses happen to lie so many bytes apart, and the first
// lane's.
LLVMValueRef access_are_neighbours(struct emitter *e, LLVMValueRef address,
                                   uint64_t size, LLVMValueRef *base);
// A load of that type, and a store, as `at` makes it, whose place is so many
// bytes further.
LLVMValueRef access_load_at(struct emitter *e, LLVMValueRef at,
                            LLVMTypeRef type, int64_t further);
void access_store_at(struct emitter *e, LLVMValueRef at, LLVMValueRef value,
                     int64_t further);
// Places so many bytes after those of a load, or for lanes off the mask others,
// where all lanes may read up to 64 bytes; and their alignment.
LLVMValueRef access_places(struct emitter *e, LLVMValueRef at, int64_t further);
unsigned alignment_at(LLVMValueRef at, int64_t further);
unsigned alignment_after(unsigned alignment, uint64_t further);
// Asks for what a row of such loads reads next: lanes are `size` bytes apart.
void access_ask_ahead(struct emitter *e, LLVMValueRef at, LLVMValueRef address,
                      uint64_t size);

// sort.c: from units as they lie in memory, vectors of them that follow each
// other, to one vector for each of `count` units of a lane; and back.
enum { UNITS_MOST = 16 };
void sort_units(struct emitter *e, LLVMValueRef *units, unsigned count);
void weave_units(struct emitter *e, LLVMValueRef *units, unsigned count);
// Lane i is number begin + i * step of two vectors.
LLVMValueRef pick_steps(struct emitter *e, LLVMValueRef one,
                        LLVMValueRef other, unsigned begin, unsigned step);

// members.c: whether the access was made, together with others or, of a store,
// will be by the last one.
bool members_load(struct emitter *e, LLVMValueRef at);
bool members_store(struct emitter *e, LLVMValueRef at);

void call_emit(struct emitter *e, LLVMValueRef at);
// callee.c: a call to a function that is kept, of vectors.
LLVMValueRef callee_call(struct emitter *e, LLVMValueRef call);
// meet.c: whether a block is a side of a branch so short that chains need not
// ask whether any lane comes to it.
bool meeting_side_is_short(const struct emitter *e, int block);
// seldom.c: what the prelude asks for where a few lanes need more.
bool seldom_is(LLVMValueRef call);
LLVMValueRef seldom_call(struct emitter *e, LLVMValueRef call);
void warp_emit(struct emitter *e, LLVMValueRef at);
void atomic_emit(struct emitter *e, LLVMValueRef at);
// reduce.c: does once what all lanes do at one place (reduce_fits), by what
// updates a place and gives what was there.
typedef LLVMValueRef reduce_update(struct emitter *e, LLVMValueRef at,
                                   bool shared, LLVMValueRef address,
                                   LLVMValueRef value);
void reduce_emit(struct emitter *e, LLVMValueRef at, reduce_update *update);

// variant.c
void emitter_types(struct emitter *e);
// A function of a type, or (NULL) one like run_blocks.
LLVMValueRef emitter_function(struct emitter *e, const char *name,
                              LLVMTypeRef type);
// What emits a function beside that of `e`, for code that would stand there too
// often. It is not inlined.
struct emitter emitter_beside(const struct emitter *e, const char *name,
                              LLVMTypeRef type);

// emit.c: number i of an array of 32-bit numbers in what describes the blocks.
LLVMValueRef run_field(struct emitter *e, size_t offset, unsigned i);
// The function that runs blocks by one variant.
LLVMValueRef emit_variant(struct kernel *kernel, const struct variant *variant);

// steady.c: whether the kernel is steady; finds e->block_shapes, and whether
// its blocks go together.
bool steady_find(struct emitter *e);
// Whether each chunk of a steady kernel gets code of its own; whether all loops
// of a kernel have barriers.
bool steady_unrolls(const struct emitter *e);
bool steady_loops(const struct kernel *kernel);
// How many blocks go together where lanes are blocks (group.c).
unsigned blocks_across(const struct kernel *kernel, unsigned width);

// group.c: several blocks together. Whether a kernel lets them; how many there
// may be, given the threads and the bytes of a block's records: returns the
// bytes of all memory; how many there are from here on, of those left; what is
// one's own; and the last one.
bool group_is_possible(struct emitter *e);
// Whether the threads of a chunk may be of several blocks, in a kernel that
// does not depend on warps or on neighbouring blocks.
bool group_may_be_lanes(const struct kernel *kernel);
LLVMValueRef group_find_most(struct emitter *e, LLVMValueRef threads,
                             LLVMValueRef records);
LLVMValueRef group_begin(struct emitter *e, LLVMValueRef left);
void group_use_block(struct emitter *e, LLVMValueRef number,
                     LLVMValueRef memory);
void group_end(struct emitter *e);
LLVMValueRef group_shared(struct emitter *e, LLVMValueRef variable);
// How many indices further on a loop over the grid reads soon: so many, or,
// where the group ends before, as many of its next rounds.
LLVMValueRef group_ahead(struct emitter *e, uint64_t ahead, unsigned rounds);
// Where a block has led back to the next of such rounds: each is to have loads
// of its own, by whose places processors foresee the next ones.
void group_unroll(struct emitter *e, int block);
// Whether the kernel calls functions that ask which thread they run for, or
// barriers that count.
bool group_calls_prelude(const struct kernel *kernel);
bool group_counts_votes(const struct kernel *kernel);

// stream.c: stores a row, vectors of one type that follow each other in memory,
// past the caches where that pays; and what comes after all of those.
struct row {
    LLVMValueRef at;              // one of the kernel's stores
    LLVMValueRef address;
    const LLVMValueRef *values;
    unsigned count, alignment;
};
void stream_store(struct emitter *e, const struct row *row);
void stream_end(struct emitter *e);

// blocks.c: writes block->index, which tells the host which block runs: the
// index along one axis, the index of the next block, and that of a call's first
// block.
void blocks_tell(struct emitter *e, LLVMValueRef index, unsigned axis);
void blocks_advance(struct emitter *e);
void blocks_turn(struct emitter *e);
// The argument that an address is made from, as it was loaded, or NULL.
LLVMValueRef stream_array(const struct kernel *kernel, LLVMValueRef address);

// apart.c: tells the optimiser what an access of an address cannot touch; and
// one of what a chunk keeps in its record.
void apart_mark(struct emitter *e, LLVMValueRef address, LLVMValueRef made);
void apart_mark_kept(struct emitter *e, LLVMValueRef made);

// diagonal.c: whether an access under a mask goes by halves. That gathers what
// lies `further` from a load's places, or scatters `value` unless it is NULL.
bool diagonal_suits(struct emitter *e, LLVMValueRef address, LLVMTypeRef type);
LLVMValueRef diagonal_access(struct emitter *e, LLVMValueRef at,
                             LLVMTypeRef type, int64_t further,
                             LLVMValueRef value);

// record.c: lays out what a chunk keeps from one barrier to the next. Whether
// all chunks of a steady kernel have a slot in common; the lanes that have
// private memory.
void record_lay_out(struct emitter *e);
bool record_is_common(const struct emitter *e, unsigned slot);
unsigned record_private_lanes(const struct emitter *e);

// agree.c: whether a condition is true for all lanes of a complete chunk, and
// for none of them. Either may be false though it is so. Returns false if the
// condition has to be computed for each lane.
struct agreed {
    LLVMValueRef all, none;
};

bool lanes_agree(struct emitter *e, LLVMValueRef condition,
                 struct agreed *agreed);

// region.c: emits the region that begins at a barrier (NONE: at the kernel's
// begin) at the builder's place; e->exit tells where it ended.
void region_emit(struct emitter *e, int barrier);

bool has_barrier(const struct kernel *kernel, const struct loop *loop);

// call.c: the address of a thread-local, that is `__shared__`, variable.
LLVMValueRef call_shared(struct emitter *e, LLVMValueRef variable);
