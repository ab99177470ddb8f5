// Where the lanes that a branch sends apart are sure to meet again. A chain can
// then send them there at once, and the mask of that place does not wait for
// what the sides of the branch compute: in a loop, the next round's loads need
// not wait for the square root that this round's branch depends on.
//
// Where each side of such a branch is one short block, lanes go through both
// without a test whether any lane is there: processors do not foresee what the
// lanes' numbers decide.
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

// Whether threads come to the blocks of a set from one block alone, and neither
// end there nor wait.
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

// Sets the place of one branch, if there is one, in the same round of all
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

