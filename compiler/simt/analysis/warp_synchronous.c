// Finds warp-synchronous code, as written before Volta: threads of a warp
// communicate through shared memory without a barrier, so a store is followed
// by a load on some path. Only lanes in lockstep give the results that such
// code expects.
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

static bool is_of_block(const struct kernel *kernel, LLVMValueRef at)
{
    int axis;
    LLVMValueRef base = slots_base(kernel, accessed_address(at));
    return LLVMIsACallInst(base) && primitive_of(base, &axis) == PRIMITIVE_TLS;
}

static bool is_barrier(LLVMValueRef at)
{
    int axis;
    enum primitive kind = LLVMIsACallInst(at) ? primitive_of(at, &axis)
                                              : PRIMITIVE_NONE;
    return kind == PRIMITIVE_SYNC || kind == PRIMITIVE_WARP;
}

// Scans a block; `stored` tells whether there was a store since the last
// barrier. True for a load after a store.
static bool communicates_in(const struct kernel *kernel,
                            const struct block *block, bool *stored)
{
    *stored &= block->barrier == NONE;
    for (LLVMValueRef at = LLVMGetFirstInstruction(block->ir); at;
         at = LLVMGetNextInstruction(at)) {
        if (is_barrier(at))
            *stored = false;
        else if (LLVMIsAStoreInst(at) && !*stored)
            *stored = is_of_block(kernel, at);
        else if (LLVMIsALoadInst(at) && *stored && is_of_block(kernel, at))
            return true;
    }
    return false;
}

bool is_warp_synchronous(const struct kernel *kernel)
{
    const unsigned count = kernel->block_count;
    struct set stored = set_create(count);  // blocks that begin after a store
    bool communicates = false, grew = true;
    while (grew && !communicates) {
        grew = false;
        for (unsigned b = 0; b < count && !communicates; b++) {
            const struct block *block = &kernel->blocks[b];
            bool after = set_has(&stored, b);
            communicates = communicates_in(kernel, block, &after);
            for (unsigned s = 0; after && s < block->successor_count; s++)
                grew |= set_add(&stored, (unsigned)block->successors[s]);
        }
    }
    return communicates;
}
