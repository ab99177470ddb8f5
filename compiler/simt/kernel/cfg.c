// The control flow of a kernel: loops, postdominators, and orders in which the
// lanes of a gang can run blocks together.
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

// --- Meeting again -----------------------------------------------------------

static void find_barriers_ahead(struct kernel *kernel)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned i = kernel->block_count; i-- > 0;) {
            struct block *block = &kernel->blocks[i];
            bool reaches = block->barrier != NONE;
            for (unsigned s = 0; s < block->successor_count; s++)
                reaches |= kernel->blocks[block->successors[s]].reaches_barrier;
            changed |= reaches != block->reaches_barrier;
            block->reaches_barrier = reaches;
        }
    }
}

// Whether the threads that take this edge never come back to the others: they
// are about to end. Nobody has to wait for them.
static bool is_early_exit(const struct kernel *kernel,
                          const struct block *block, unsigned side)
{
    if (block->successor_count < 2)
        return false;
    const struct block *to = &kernel->blocks[block->successors[side]];
    const struct block *other = &kernel->blocks[block->successors[!side]];
    if (to->pure_return)
        return !other->pure_return;
    return other->reaches_barrier && !to->reaches_barrier;
}

// The last block outside of `ends`, preferably a block where threads may end:
// most loops are left at their bottom.
static int last_stuck(const struct kernel *kernel, const struct set *ends)
{
    int found = NONE;
    bool exits = false;
    for (unsigned i = 0; i < kernel->block_count; i++) {
        const struct block *block = &kernel->blocks[i];
        bool exit = is_early_exit(kernel, block, 0) ||
                    is_early_exit(kernel, block, 1);
        if (set_has(ends, i) || (exits && !exit))
            continue;
        found = (int)i;
        exits = exit;
    }
    return found;
}

// Blocks without a way to an end of the kernel get an edge to it.
static void find_ends(const struct kernel *kernel, bool *is_end)
{
    struct set ends = set_create(kernel->block_count);
    for (;;) {
        bool changed = true;
        while (changed) {
            changed = false;
            for (unsigned i = kernel->block_count; i-- > 0;) {
                const struct block *block = &kernel->blocks[i];
                bool reaches = block->successor_count == 0 || is_end[i];
                for (unsigned s = 0; s < block->successor_count; s++)
                    reaches |= !is_early_exit(kernel, block, s) &&
                               set_has(&ends, (unsigned)block->successors[s]);
                changed |= reaches && set_add(&ends, i);
            }
        }
        int stuck = last_stuck(kernel, &ends);
        if (stuck == NONE)
            return;
        is_end[stuck] = true;
    }
}

static void find_postdominators(struct kernel *kernel)
{
    unsigned count = kernel->block_count;
    bool *is_end = simt_allocate(count);
    find_ends(kernel, is_end);
    struct set *post = simt_allocate(count * sizeof *post);
    for (unsigned i = 0; i < count; i++) {
        post[i] = set_create(count);
        set_fill(&post[i]);
    }
    bool changed = true;
    while (changed) {
        changed = false;
        for (unsigned i = count; i-- > 0;) {
            const struct block *block = &kernel->blocks[i];
            struct set all = set_create(count);
            if (block->successor_count > 0 && !is_end[i])
                set_fill(&all);
            for (unsigned s = 0; s < block->successor_count; s++)
                if (!is_early_exit(kernel, block, s))
                    set_intersect(&all, &post[block->successors[s]]);
            set_add(&all, i);
            changed |= set_intersect(&post[i], &all);
        }
    }
    kernel->postdominators = post;
}

static void find_joins(struct kernel *kernel)
{
    kernel->join_after = simt_allocate(kernel->block_count * sizeof(int));
    for (unsigned i = 0; i < kernel->block_count; i++) {
        kernel->join_after[i] = NONE;
        unsigned most = 0;
        for (unsigned p = 0; p < kernel->block_count; p++) {
            if (p == i || !set_has(&kernel->postdominators[i], p))
                continue;
            unsigned size = set_count(&kernel->postdominators[p]);
            if (size > most) {
                most = size;
                kernel->join_after[i] = (int)p;
            }
        }
    }
}

struct set cfg_between(const struct kernel *kernel, const int *from,
                         unsigned from_count, int until)
{
    struct set found = set_create(kernel->block_count);
    int *stack = simt_allocate((kernel->block_count * 2 + from_count + 2) *
                               sizeof *stack);
    unsigned depth = 0;
    for (unsigned i = 0; i < from_count; i++)
        stack[depth++] = from[i];
    while (depth > 0) {
        int at = stack[--depth];
        if (at == until || !set_add(&found, (unsigned)at))
            continue;
        const struct block *block = &kernel->blocks[at];
        for (unsigned s = 0; s < block->successor_count; s++)
            stack[depth++] = block->successors[s];
    }
    return found;
}

// --- Orders ------------------------------------------------------------------

// Bourdoncle's algorithm: strongly connected components within components.
struct ordering {
    const struct kernel *kernel;
    const struct set *blocks;
    unsigned *depth_first;        // 0: not met; UINT_MAX: done
    unsigned number;
    int *stack;
    unsigned stack_size;
};

static unsigned order_visit(struct ordering *o, int at, struct order **list);

static void order_push(struct order **list, struct order *item)
{
    item->next = *list;
    *list = item;
}

static bool order_takes(const struct ordering *o, int block)
{
    return set_has(o->blocks, (unsigned)block);
}

static struct order *order_component(struct ordering *o, int header)
{
    struct order *body = NULL;
    const struct block *block = &o->kernel->blocks[header];
    for (unsigned s = 0; s < block->successor_count; s++) {
        int to = block->successors[s];
        if (order_takes(o, to) && o->depth_first[to] == 0)
            order_visit(o, to, &body);
    }
    struct order *loop = simt_allocate(sizeof *loop);
    *loop = (struct order){.block = header, .body = body, .is_loop = true};
    return loop;
}

static unsigned order_visit(struct ordering *o, int at, struct order **list)
{
    o->stack[o->stack_size++] = at;
    unsigned head = o->depth_first[at] = ++o->number;
    bool loop = false;
    const struct block *block = &o->kernel->blocks[at];
    for (unsigned s = 0; s < block->successor_count; s++) {
        int to = block->successors[s];
        if (!order_takes(o, to))
            continue;
        unsigned least = o->depth_first[to] ? o->depth_first[to]
                                            : order_visit(o, to, list);
        if (least <= head) {
            head = least;
            loop = true;
        }
    }
    if (head != o->depth_first[at])
        return head;
    o->depth_first[at] = UINT32_MAX;
    int element = o->stack[--o->stack_size];
    if (!loop) {
        struct order *item = simt_allocate(sizeof *item);
        item->block = at;
        order_push(list, item);
        return head;
    }
    while (element != at) {
        o->depth_first[element] = 0;
        element = o->stack[--o->stack_size];
    }
    order_push(list, order_component(o, at));
    return head;
}

struct order *cfg_order(const struct kernel *kernel, const struct set *blocks,
                          const int *from, unsigned from_count)
{
    struct ordering o = {
        .kernel = kernel, .blocks = blocks,
        .depth_first = simt_allocate(kernel->block_count * sizeof(unsigned)),
        .stack = simt_allocate((kernel->block_count + 1) * sizeof(int)),
    };
    struct order *list = NULL;
    for (unsigned i = from_count; i-- > 0;)
        if (order_takes(&o, from[i]) && o.depth_first[from[i]] == 0)
            order_visit(&o, from[i], &list);
    return list;
}

// --- Loops -------------------------------------------------------------------

static void add_loops(struct kernel *kernel, const struct order *list,
                      int parent)
{
    for (; list; list = list->next) {
        if (!list->is_loop) {
            kernel->blocks[list->block].loop = parent;
            continue;
        }
        kernel->loops = simt_grow(kernel->loops, kernel->loop_count,
                                  sizeof *kernel->loops);
        int number = (int)kernel->loop_count++;
        kernel->loops[number] = (struct loop){
            .header = list->block, .parent = parent,
            .blocks = set_create(kernel->block_count)};
        kernel->blocks[list->block].loop = number;
        add_loops(kernel, list->body, number);
    }
}

static void find_loops(struct kernel *kernel)
{
    struct set all = set_create(kernel->block_count);
    set_fill(&all);
    int entry = 0;
    add_loops(kernel, cfg_order(kernel, &all, &entry, 1), NONE);
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (int l = kernel->blocks[i].loop; l != NONE;
             l = kernel->loops[l].parent)
            set_add(&kernel->loops[l].blocks, i);
}

void cfg_analyse(struct kernel *kernel)
{
    find_loops(kernel);
    spin_loops_refuse(kernel);
    find_barriers_ahead(kernel);
    find_postdominators(kernel);
    find_joins(kernel);
    reconvergence_find(kernel);
}

bool loop_has_barrier(const struct kernel *kernel, const struct loop *loop)
{
    for (unsigned i = 0; i < kernel->barrier_count; i++)
        if (set_has(&loop->blocks, (unsigned)kernel->barrier_blocks[i]))
            return true;
    return false;
}

bool loops_have_barriers(const struct kernel *kernel)
{
    for (unsigned l = 0; l < kernel->loop_count; l++)
        if (!loop_has_barrier(kernel, &kernel->loops[l]))
            return false;
    return true;
}
