// Whether all chunks of a block, or of several blocks, always go to the same
// barrier, with all their threads.
#include "emit.h"

// Whether a barrier stands where threads of the block may go apart, or threads
// may end before others come to one.
static bool goes_apart(const struct emitter *e, unsigned number)
{
    const struct kernel *kernel = e->kernel;
    const struct block *block = &kernel->blocks[number];
    bool ahead = false;  // behind the branch, not where its block begins
    for (unsigned i = 0; i < block->successor_count; i++)
        ahead |= kernel->blocks[block->successors[i]].reaches_barrier;
    if (!ahead)
        return false;
    struct set between = graph_between(kernel, block->successors, 2,
                                       kernel->join_after[number]);
    for (unsigned i = 0; i < kernel->block_count; i++)
        if (set_has(&between, i) &&
            (kernel->blocks[i].barrier != NONE ||
             kernel->blocks[i].successor_count == 0))
            return true;
    return false;
}

static bool is_steady_as(struct emitter *e, const struct variant *whole)
{
    e->block_shapes =
        (struct shapes){.kernel = e->kernel, .variant = whole};
    shapes_find(&e->block_shapes);
    for (unsigned i = 0; i < e->kernel->block_count; i++)
        if (e->block_shapes.divergent[i] && goes_apart(e, i))
            return false;
    return true;
}

bool steady_find(struct emitter *e)
{
    static const struct variant block = {.width = 1024, .name = "block"};
    static const struct variant blocks = {.width = 1024, .blocks = true,
                                          .name = "blocks"};
    if (e->kernel->barrier_count == 0)
        return false;
    e->group.used = group_is_possible(e) && is_steady_as(e, &blocks);
    if (e->group.used)
        return true;
    e->shared = (struct map){0};
    return is_steady_as(e, &block);
}
