// Room codegen: the functions of a kernel. Variants, loops over blocks and
// gangs, barriers, and the linearized control flow between them.
#pragma once

#include "simt/widen/widen.h"

// --- variant.c ---------------------------------------------------------------

// Chooses the axis and the number of lanes: kernel_plan before the layout of
// private arrays is changed.
void kernel_plan(struct kernel *kernel);
// Refuses a kernel whose scalar code is faster than code of lanes.
void kernel_judge(struct kernel *kernel);
// Makes rnl_blocks_<n>, or rnl_fixed_<n> for one block size. False with
// kernel->refusal set.
bool emit_kernel(struct kernel *kernel);

// --- emit.c ------------------------------------------------------------------

// The function that runs blocks by one variant.
LLVMValueRef emit_variant(struct kernel *kernel, const struct variant *variant);

// --- linearize.c -------------------------------------------------------------

// Emits the region that begins at a barrier (NONE: at the kernel's begin).
// A branch on a uniform condition stays a branch (leave_block). A divergent
// branch of a full gang stays a branch if all lanes go the same way, which
// go_together tests at run time; otherwise emit_chain emits both sides under
// masks. Partial gangs and compact code have no such test.
// e->exit tells where the region ended.
void region_linearize(struct emitter *e, int barrier);

// --- short_sides.c -----------------------------------------------------------

// True for a side of a branch so short that lanes go through without a test.
bool branch_side_is_short(const struct emitter *e, int block);

// --- uniform_condition.c -----------------------------------------------------

// Scalars that tell whether a condition is true for all lanes of a complete
// gang, and for none. Either may be false although all lanes are alike. Returns
// false if the condition has to be computed for each lane.
struct uniform_test {
    LLVMValueRef all, none;
};
bool uniform_condition(struct emitter *e, LLVMValueRef condition,
                       struct uniform_test *test);

// --- uniform_barriers.c ------------------------------------------------------

// True if all gangs always go to the same barrier. Finds e->block_shapes and
// e->coarse.used.
bool uniform_barriers_find(struct emitter *e);
// True if each gang of a kernel with uniform barriers gets code of its own.
bool gangs_are_unrolled(const struct emitter *e);

// --- frame_layout.c: what a gang keeps from one barrier to the next ----------

// The fixed head of a frame.
enum {
    FRAME_EXIT = 0, FRAME_X = 4, FRAME_Y = 8, FRAME_Z = 12,
    FRAME_ACTIVE = 16, FRAME_FIRST = 20, FRAME_LIVE = 24, FRAME_SMALL = 32,
    FRAME_BEGIN = 64,
};
void frame_lay_out(struct emitter *e);
bool frame_keeps_slots(const struct emitter *e);
// True if all gangs have a slot in common, so that frames need not keep it.
bool slot_is_common(const struct emitter *e, unsigned slot);
unsigned lanes_of_private_memory(const struct emitter *e);

// --- block_coarsening.c: several blocks together -----------------------------

bool coarsening_is_possible(struct emitter *e);
// True if lanes may be threads of several blocks.
bool blocks_may_be_lanes(const struct kernel *kernel);
// Blocks per call where lanes are blocks.
unsigned blocks_across(const struct kernel *kernel, unsigned width);
// Finds how many blocks may run together, given the threads and the frames'
// bytes of a block. Returns the bytes of all memory.
LLVMValueRef coarsen_find_most(struct emitter *e, LLVMValueRef threads,
                               LLVMValueRef frames);
// The number of blocks from the current block on, of those left.
LLVMValueRef coarsen_begin(struct emitter *e, LLVMValueRef left);
void coarsen_use_block(struct emitter *e, LLVMValueRef number,
                       LLVMValueRef memory);
void coarsen_end(struct emitter *e);  // the last block becomes current
// Unrolls an interchanged loop behind the block that leads back to its header:
// each iteration is to have loads of its own, since hardware prefetchers tell
// streams apart by the address of the load.
void coarsen_unroll(struct emitter *e, int block);

// --- block_order.c: block->index, which tells the host the running block -----

void block_index_store(struct emitter *e, LLVMValueRef index, unsigned axis);
void block_index_advance(struct emitter *e);    // to the next block
void block_index_transpose(struct emitter *e);  // of a call's first block
