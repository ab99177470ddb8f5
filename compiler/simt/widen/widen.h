// Room widen: the vector form of each instruction of a thread, at the place of
// an emitter's builder. Control flow and barriers are codegen's.
#pragma once

#include "simt/analysis/analysis.h"

// A value of the kernel as emitted. A uniform or affine value has the scalar of
// lane 0, and a vector once some code needs it.
struct lanes {
    LLVMValueRef scalar, vector;
};

// FULL: all lanes of a gang are there, and nothing needs a mask. PARTIAL: only
// the lanes of a mask, which shrinks as threads end.
enum version { FULL, PARTIAL, VERSIONS };

// The state of emitting the function of one kernel for one variant.
struct emitter {
    struct kernel *kernel;
    const struct variant *variant;
    struct shapes shapes;
    struct shapes block_shapes;    // of all threads of a block at once
    bool uniform_barriers;         // all gangs always go to the same barrier,
                                   // with all their threads
    bool unrolls;                  // each gang has code of its own
    unsigned width;
    bool compact;                  // divergent lanes are masked at once
    LLVMContextRef context;
    LLVMModuleRef module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMBasicBlockRef entry;       // holds all allocas
    LLVMMetadataRef line;          // of the function, or NULL: no debug lines
    LLVMTypeRef i1, i8, i32, i64, pointer, mask_type, void_type;

    // The launch
    LLVMValueRef run, arguments, block_size[3], grid_size[3];
    struct map shared;             // thread-local variables to addresses, or to
                                   // offsets in the memory of coarsened blocks
    LLVMBasicBlockRef begin;       // where the addresses are computed
    struct map argument_values;    // loaded there, by loads of the thread
    LLVMMetadataRef shared_scope;  // alias scope of shared memory
    bool nontemporal;              // there are non-temporal stores

    // Blocks that run together: see codegen/block_coarsening.c
    struct coarsening {
        bool used;
        bool rows;                 // blocks follow each other in each row
        unsigned shared_size;      // bytes of each block's shared variables
        LLVMValueRef most;         // blocks at most
        LLVMValueRef frames;       // bytes of all frames; shared memory follows
        LLVMValueRef first, count; // first block along the axis of lanes
        LLVMValueRef shared;       // shared memory of the current block
    } coarse;

    // The gang
    LLVMValueRef block_index[3];
    LLVMValueRef thread[3];        // of lane 0, or of all lanes (packed)
    LLVMValueRef first;            // linear index of lane 0's thread
    LLVMValueRef active;           // lanes that are threads of the block
    LLVMValueRef frame;            // memory of the gang, or NULL

    // The region: from a barrier (NONE: from the begin) to the next barriers
    int barrier;
    LLVMValueRef *slots;           // memory of simple slots: slot_memory
    LLVMValueRef begun;            // end of the code that zeroes slots
    unsigned scattered_count;      // gathers and scatters so far
    unsigned strided_count;        // loads of strided lanes so far
    unsigned quotient_count;       // 64-bit divisions by constants so far
    unsigned *rows_ahead;          // rows read outside of loops, in each loop
    LLVMValueRef sink;             // memory that masked-off lanes may write
    LLVMValueRef *private_memory;  // of complex slots, for all lanes
    LLVMValueRef *common_in;       // slots that are uniform in the block, with
    LLVMValueRef *common_out;      // uniform barriers: this phase, next phase
    unsigned *offsets;             // of each slot in a frame
    unsigned frame_size;
    unsigned frame_small, frame_small_end;  // free bytes of a shared line
    LLVMValueRef live;             // mask of the threads that have not ended
    LLVMBasicBlockRef *blocks[VERSIONS];
    struct { int block; enum version version; } *work;
    unsigned work_count;
    LLVMBasicBlockRef done;        // where regions go ...
    LLVMValueRef exit;             // ... with the barrier's number + 1, or 0
    struct set exits;              // all values of `exit`
    LLVMValueRef vote_count, vote_total;    // at the barrier ahead
    LLVMValueRef voted_count, voted_total;  // at the barrier behind

    // The current block
    LLVMValueRef mask;             // lanes that execute it; NULL: all
    bool in_chain;                 // other lanes may be in other blocks
    struct map values;             // instruction to struct lanes
};

// --- emitter.c ---------------------------------------------------------------

void emitter_types(struct emitter *e);
LLVMTypeRef blocks_type(struct emitter *e);  // of rnl_blocks_<n>
// Adds a function of a type; of blocks_type for NULL.
LLVMValueRef emitter_function(struct emitter *e, const char *name,
                              LLVMTypeRef type);
// An emitter for an outlined function, for code that is large and frequent.
struct emitter emitter_outlined(const struct emitter *e, const char *name,
                                LLVMTypeRef type);
// Number i of an array of 32-bit fields of the launch's rnl_cpu_block.
LLVMValueRef run_field(struct emitter *e, size_t offset, unsigned i);
LLVMBasicBlockRef append(struct emitter *e, const char *name);
void position(struct emitter *e, LLVMBasicBlockRef block);
// An alloca of the function's entry.
LLVMValueRef variable(struct emitter *e, LLVMTypeRef type, const char *name);
LLVMValueRef at_offset(struct emitter *e, LLVMValueRef base, uint64_t offset);
LLVMValueRef load32(struct emitter *e, LLVMValueRef base, uint64_t offset);
void store32(struct emitter *e, LLVMValueRef value, LLVMValueRef base,
             uint64_t offset);
LLVMTypeRef vector_type(struct emitter *e, LLVMTypeRef element);
LLVMValueRef splat(struct emitter *e, LLVMValueRef scalar);
// <0, stride, 2 * stride ...> of an integer type.
LLVMValueRef steps(struct emitter *e, LLVMTypeRef type, int64_t stride);
LLVMValueRef number32(struct emitter *e, uint64_t value);
LLVMValueRef number64(struct emitter *e, uint64_t value);
LLVMValueRef minimum(struct emitter *e, LLVMValueRef a, LLVMValueRef b);
LLVMValueRef extract(struct emitter *e, LLVMValueRef vector, LLVMValueRef lane);
LLVMValueRef call_intrinsic(struct emitter *e, const char *name,
                            LLVMTypeRef *overloads, unsigned overload_count,
                            LLVMValueRef *arguments, unsigned count);
// A mask of NULL stands for all lanes.
LLVMValueRef mask_all(struct emitter *e);
LLVMValueRef mask_none(struct emitter *e);
LLVMValueRef mask_or_all(struct emitter *e, LLVMValueRef mask);
LLVMValueRef mask_bits(struct emitter *e, LLVMValueRef mask);  // an integer
LLVMValueRef mask_bits32(struct emitter *e, LLVMValueRef mask);
LLVMValueRef mask_any(struct emitter *e, LLVMValueRef mask);
LLVMValueRef mask_is_full(struct emitter *e, LLVMValueRef mask);

// --- lane_values.c: values of lanes, and loops over lanes --------------------

LLVMValueRef lanes_scalar(struct emitter *e, LLVMValueRef value);
LLVMValueRef lanes_vector(struct emitter *e, LLVMValueRef value);
void lanes_set(struct emitter *e, LLVMValueRef value, LLVMValueRef scalar,
               LLVMValueRef vector);
bool lanes_uniform(struct emitter *e, LLVMValueRef value);
// Emits a value together with missing operands.
void lanes_make(struct emitter *e, LLVMValueRef value);
LLVMValueRef lanes_at(struct emitter *e, LLVMValueRef value, unsigned lane);
// True if loads of a slot rematerialize the value where lanes are needed.
bool lanes_are_lazy(const struct emitter *e, const struct slot *slot);
// Copies e->values in front of conditional code; assign the copy afterwards.
struct map lanes_save(struct emitter *e);
// Type and memory of a simple slot. The memory is made at the first use and
// zeroed at the region's begin, since not all lanes may store.
LLVMTypeRef slot_type(struct emitter *e, unsigned slot);
LLVMValueRef slot_memory(struct emitter *e, unsigned slot);
// A loop over the lanes of a mask; the builder is inside from begin to end.
struct lane_loop {
    LLVMBasicBlockRef head, end;
    LLVMValueRef lane, left;
    bool all;
    unsigned step;  // lanes per iteration, if all lanes are there
};
struct lane_loop lane_loop_begin(struct emitter *e, LLVMValueRef mask);
void lane_loop_end(struct emitter *e, struct lane_loop *loop);
// A vector in memory, from which a loop picks lanes.
LLVMValueRef lanes_spill(struct emitter *e, LLVMValueRef vector);
LLVMValueRef lanes_pick(struct emitter *e, LLVMTypeRef element,
                        LLVMValueRef memory, LLVMValueRef lane);
void lanes_put(struct emitter *e, LLVMValueRef value, LLVMValueRef memory,
               LLVMValueRef lane);

// --- debug_lines.c -----------------------------------------------------------

void debug_lines_begin(struct emitter *e);  // of the function
void debug_lines_at(struct emitter *e, LLVMValueRef at);
void debug_lines_finish(void);              // of all kernels

// --- instruction.c, call.c, warp_ops.c, atomic.c, division.c -----------------

void instruction_emit(struct emitter *e, LLVMValueRef at);
LLVMValueRef instruction_widen(struct emitter *e, LLVMValueRef at);
LLVMValueRef instruction_clone(struct emitter *e, LLVMValueRef at);
LLVMValueRef division_widen(struct emitter *e, LLVMValueRef at);
void call_emit(struct emitter *e, LLVMValueRef at);
LLVMValueRef kept_call_widen(struct emitter *e, LLVMValueRef call);
LLVMValueRef cold_call_widen(struct emitter *e, LLVMValueRef call);
void warp_emit(struct emitter *e, LLVMValueRef at);
void atomic_emit(struct emitter *e, LLVMValueRef at);
// atomic_reduction.c: does a reduced operation once, by a function that updates
// memory and returns the old value.
typedef LLVMValueRef reduction_update(struct emitter *e, LLVMValueRef at,
                                      bool shared, LLVMValueRef address,
                                      LLVMValueRef value);
void reduction_emit(struct emitter *e, LLVMValueRef at,
                    reduction_update *update);
// shared_memory.c: the address of a __shared__ variable.
LLVMValueRef shared_address(struct emitter *e, LLVMValueRef variable);

// --- memory_access.c and the files around ------------------------------------

void access_load(struct emitter *e, LLVMValueRef at);
void access_store(struct emitter *e, LLVMValueRef at);
// True if an access is of a row of values, or likely so.
bool access_is_row(struct emitter *e, LLVMValueRef at);
// Tests at run time whether lanes are `size` bytes apart; *base is lane 0's
// address.
LLVMValueRef access_are_consecutive(struct emitter *e, LLVMValueRef address,
                                    uint64_t size, LLVMValueRef *base);
// A load or store like `at`, a number of bytes further.
LLVMValueRef access_load_at(struct emitter *e, LLVMValueRef at,
                            LLVMTypeRef type, int64_t further);
void access_store_at(struct emitter *e, LLVMValueRef at, LLVMValueRef value,
                     int64_t further);
// Addresses a number of bytes behind those of a load. Masked-off lanes get an
// address where 64 bytes are readable.
LLVMValueRef access_addresses(struct emitter *e, LLVMValueRef at,
                              int64_t further);
unsigned alignment_at(LLVMValueRef at, int64_t further);
unsigned alignment_after(unsigned alignment, uint64_t further);
// struct_access.c: true if the access was made for its group, or, for a store,
// will be made by the group's last store.
bool struct_load(struct emitter *e, LLVMValueRef at);
bool struct_store(struct emitter *e, LLVMValueRef at);
// deinterleave.c: from units in memory order to one vector per unit of a lane,
// and back.
enum { UNITS_MOST = 16 };
void deinterleave(struct emitter *e, LLVMValueRef *units, unsigned count);
void interleave(struct emitter *e, LLVMValueRef *units, unsigned count);
// Lane i is element begin + i * step of two vectors.
LLVMValueRef pick_strided(struct emitter *e, LLVMValueRef one,
                          LLVMValueRef other, unsigned begin, unsigned step);
// half_access.c: a masked strided access by halves of 16 lanes: a gather, or a
// scatter of `value` unless it is NULL.
bool half_access_suits(struct emitter *e, LLVMValueRef address,
                       LLVMTypeRef type);
LLVMValueRef half_access(struct emitter *e, LLVMValueRef at, LLVMTypeRef type,
                         int64_t further, LLVMValueRef value);
// nontemporal.c: stores a row past the caches where that pays; the fence after
// all such stores.
struct row {
    LLVMValueRef at;              // one of the kernel's stores
    LLVMValueRef address;
    const LLVMValueRef *values;   // vectors of one type, in memory order
    unsigned count, alignment;
};
void row_store(struct emitter *e, const struct row *row);
void nontemporal_fence(struct emitter *e);
// prefetch.c: of llvm.prefetch; of the row that loads like `at` read next.
void prefetch_emit(struct emitter *e, LLVMValueRef at);
void prefetch_row(struct emitter *e, LLVMValueRef at, LLVMValueRef address,
                  uint64_t size);
// alias_scopes.c: marks an access of an address, and one of a frame.
void alias_mark(struct emitter *e, LLVMValueRef address, LLVMValueRef made);
void alias_mark_frame(struct emitter *e, LLVMValueRef made);
