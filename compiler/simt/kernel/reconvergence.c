// Reconvergence points: blocks where the lanes of a divergent branch are sure
// to meet. A chain sends lanes there at once, so that the mask of the block
// does not depend on the values computed in the sides of the branch: in a loop,
// the next iteration's loads need not wait for the square root that this
// iteration's branch depends on.
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

// True if threads enter a set of blocks from one block alone, and neither end
// nor wait inside.
static bool is_closed(const struct kernel *kernel, const struct set *blocks,
                      int from)
{
    for (unsigned i = 0; i < kernel->block_count; i++) {
        const struct block *block = &kernel->blocks[i];
        if (!set_has(blocks, i))
            continue;
        if (block->successor_count == 0 || block->pure_return ||
            block->barrier != NONE)
            return false;
        for (unsigned p = 0; p < block->predecessor_count; p++)
            if (block->predecessors[p] != from &&
                !set_has(blocks, (unsigned)block->predecessors[p]))
                return false;
    }
    return true;
}

// Finds the reconvergence point of a branch, in the same iteration of all
// loops, and marks the blocks whose lanes have been sent there.
static void find_reconvergence(struct kernel *kernel, unsigned number)
{
    const struct block *block = &kernel->blocks[number];
    int meeting = kernel->join_after[number];
    if (block->successor_count < 2 || meeting == NONE ||
        kernel->blocks[meeting].pure_return ||
        kernel->blocks[meeting].loop != block->loop)
        return;
    struct set between =
        cfg_between(kernel, block->successors, 2, meeting);
    if (set_has(&between, number) ||
        !is_closed(kernel, &between, (int)number))
        return;
    kernel->reconvergence[number] = meeting;
    for (unsigned i = 0; i < kernel->block_count; i++)
        if (set_has(&between, i))
            set_add(&kernel->sent[i], (unsigned)meeting);
}

void reconvergence_find(struct kernel *kernel)
{
    unsigned count = kernel->block_count;
    kernel->reconvergence =
        simt_allocate(count * sizeof *kernel->reconvergence);
    kernel->sent = simt_allocate(count * sizeof *kernel->sent);
    for (unsigned i = 0; i < count; i++) {
        kernel->reconvergence[i] = NONE;
        kernel->sent[i] = set_create(count);
    }
    for (unsigned i = 0; i < count; i++)
        find_reconvergence(kernel, i);
}

bool reconvergence_is_done(const struct kernel *kernel, int from, int to)
{
    return set_has(&kernel->sent[from], (unsigned)to);
}

