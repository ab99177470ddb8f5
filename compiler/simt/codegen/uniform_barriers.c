// Whether all gangs of a block, or of several blocks, always go to the same
// barrier, with all their threads; and whether each of them gets its own code.
#include "simt/codegen/codegen.h"
#include "simt/codegen/tuning.h"
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

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
    struct set between = cfg_between(kernel, block->successors, 2,
                                       kernel->join_after[number]);
    for (unsigned i = 0; i < kernel->block_count; i++)
        if (set_has(&between, i) &&
            (kernel->blocks[i].barrier != NONE ||
             kernel->blocks[i].successor_count == 0))
            return true;
    return false;
}

static bool has_uniform_barriers(struct emitter *e, const struct variant *whole)
{
    e->block_shapes =
        (struct shapes){.kernel = e->kernel, .variant = whole};
    shapes_find(&e->block_shapes);
    for (unsigned i = 0; i < e->kernel->block_count; i++)
        if (e->block_shapes.divergent[i] && goes_apart(e, i))
            return false;
    return true;
}

bool uniform_barriers_find(struct emitter *e)
{
    static const struct variant block = {.width = 1024, .name = "block"};
    static const struct variant blocks = {.width = 1024, .blocks = true,
                                          .name = "blocks"};
    bool barriers = e->kernel->barrier_count > 0;
    e->coarse.used = (barriers || !e->kernel->strides) &&
                    coarsening_is_possible(e) &&
                    (!barriers || has_uniform_barriers(e, &blocks));
    if (!e->coarse.used) {
        e->coarse.rows = false;
        e->shared = (struct map){0};
    }
    return barriers && (e->coarse.used || has_uniform_barriers(e, &block));
}

// --- Code for each gang -----------------------------------------------------

static unsigned thread_count(const struct kernel *kernel)
{
    return kernel->fixed[0] * kernel->fixed[1] * kernel->fixed[2];
}

// The number of gangs in a block of the kernel's fixed size.
static unsigned gang_count(const struct emitter *e)
{
    const unsigned *size = e->kernel->fixed;
    unsigned row = e->variant->rows ? size[lanes_axis(e->variant)]
                                    : thread_count(e->kernel);
    unsigned rows = thread_count(e->kernel) / row;
    return (row + e->width - 1) / e->width * rows;
}

// Unrolling pays if a gang does little between two barriers.
bool gangs_are_unrolled(const struct emitter *e)
{
    const struct kernel *kernel = e->kernel;
    bool wide = target_vector_bytes() == 64;
    if (!kernel->fixed || kernel->barrier_count == 0)
        return false;
    if (!loops_have_barriers(kernel))
        return false;
    if (frame_keeps_slots(e) && thread_count(kernel) > UNROLL_THREADS)
        return false;
    return gang_count(e) <= (wide ? UNROLL_CHUNKS_WIDE : UNROLL_CHUNKS) &&
           kernel->size <=
               (wide ? UNROLL_INSTRUCTIONS_WIDE : UNROLL_INSTRUCTIONS);
}
