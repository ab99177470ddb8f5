// Room transform: passes from LLVM IR to LLVM IR. simt/pipeline/passes.c has
// their order, conditions and purposes. A pass that returns text returns a
// message to dispose of, or NULL.
#pragma once

#include "simt/analysis/analysis.h"

// --- Of the source module, before kernels are read ---------------------------

// lower_arithmetic.c: GPU semantics for division, shift, conversion and bool.
// With `zero_traps` a division by zero may also be a fault.
void lower_arithmetic(LLVMModuleRef module, bool zero_traps);
// loop_rotate.c: in huge functions. Returns the number of their loops.
unsigned rotate_loops(LLVMModuleRef module);
// tbaa.c: block and grid fields are constant for the scalar tier.
void tbaa_mark_state(LLVMModuleRef module);

// --- Of the threads of kernels -----------------------------------------------

// block_size.c
void specialize_block_size(LLVMModuleRef module, const unsigned size[3]);
// shared_callees.c
char *shared_callees_keep(LLVMModuleRef module);
void lane_functions_keep(LLVMModuleRef module);
bool lane_function_may_be_called(LLVMValueRef function);
void lane_functions_hide(LLVMModuleRef module);
// store_merge.c: limits merging of stores in huge functions until the release.
void store_merge_limit(LLVMModuleRef module);
void store_merge_release(LLVMModuleRef module);
// canonicalize.c
void unions_to_sums(LLVMModuleRef module);
void fold_estimates(LLVMModuleRef module);
void drop_scopes(LLVMModuleRef module);
// unroll_rows.c
char *unroll_rows(LLVMModuleRef module);
// loop_interchange.c: changes one grid-stride loop, after which the kernel has
// to be read again. True if there was one.
bool loop_interchange(struct kernel *kernel);
// private_layout.c: true if an array was interleaved.
bool private_layout(struct kernel *kernel, unsigned lanes);

// --- Of vector code ----------------------------------------------------------

// split_blocks.c: true if a block was long.
bool split_long_blocks(LLVMModuleRef module);
// unroll_phases.c: marks loops from barrier to barrier, to be unrolled. True if
// there are any.
bool mark_phases(LLVMModuleRef module);
// shared_forwarding.c: true if a variable is in registers now.
bool forward_shared(LLVMModuleRef module);
// narrow_masks.c: masks of the first lanes become short vectors; then scalars
// that were extracted from stored vectors become lanes again.
void narrow_accesses(LLVMModuleRef module);
void narrow_numbers(LLVMModuleRef module);
// tile_forwarding.c
void forward_tiles(LLVMModuleRef module);
// interleave_reductions.c
void interleave_reductions(LLVMModuleRef module);
// hoist_stores.c
void hoist_stores(LLVMModuleRef module);
// half_promotion.c
void promote_halves(LLVMModuleRef module);
// int16_narrowing.c
void narrow_to_int16(LLVMModuleRef module);
// demote_to_stack.c
void demote_to_stack(LLVMModuleRef module);
