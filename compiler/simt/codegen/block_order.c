// The order of the blocks of one call. The host counts blocks along x first. If
// lanes lie along y, blocks follow each other along y, so that a block reads
// the memory behind the previous block's.
#include "simt/codegen/codegen.h"
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"

#include <runnel/cpu_object.h>
#include <stddef.h>

void block_index_store(struct emitter *e, LLVMValueRef index, unsigned axis)
{
    store32(e, index, e->run, offsetof(rnl_cpu_block, index) + 4 * axis);
}

// Converts block->index to that of the block which has the same number if
// blocks are counted along y first.
void block_index_transpose(struct emitter *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef size[2], index[2];
    for (unsigned i = 0; i < 2; i++) {
        index[i] = run_field(e, offsetof(rnl_cpu_block, index), i);
        index[i] = LLVMBuildZExt(b, index[i], e->i64, "");
        size[i] = LLVMBuildZExt(b, e->grid_size[i], e->i64, "");
    }
    LLVMValueRef number = LLVMBuildAdd(
        b, LLVMBuildMul(b, index[1], size[0], ""), index[0], "");
    LLVMValueRef x = LLVMBuildUDiv(b, number, size[1], "");
    LLVMValueRef y = LLVMBuildURem(b, number, size[1], "");
    block_index_store(e, LLVMBuildTrunc(b, x, e->i32, ""), 0);
    block_index_store(e, LLVMBuildTrunc(b, y, e->i32, ""), 1);
}

// Moves block->index to the next block.
void block_index_advance(struct emitter *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef carry = number32(e, 1);
    for (unsigned n = 0; n < 3; n++) {
        unsigned i = n < 2 && lanes_axis(e->variant) ? !n : n;
        LLVMValueRef next = LLVMBuildAdd(b, e->block_index[i], carry, "");
        LLVMValueRef wraps =
            LLVMBuildICmp(b, LLVMIntEQ, next, e->grid_size[i], "");
        if (i == 2)
            wraps = LLVMConstInt(e->i1, 0, 0);
        next = LLVMBuildSelect(b, wraps, number32(e, 0), next, "");
        block_index_store(e, next, i);
        carry = LLVMBuildZExt(b, wraps, e->i32, "");
    }
}
