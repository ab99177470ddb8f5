// Whether lanes are profitable. Mostly they are, by far. But divergent lanes
// wait for each other, and scattered accesses gain nothing from vectors. The
// estimated cost of a gang is compared with the cost of its threads one after
// another.
#include "simt/analysis/analysis.h"
#include "simt/analysis/tuning.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

#include <string.h>

// Lanes of a gang; bytes of the vectors that costs are for; bytes of a lane
// that are loaded as one.
enum { LANES = 32, BYTES = 64, LONG = 16 };

// Classes of instructions by their cost for lanes.
enum effort {
    EFFORT_NONE,
    EFFORT_SIMPLE,
    EFFORT_UNIFORM,       // simple, and done once for all
    EFFORT_DIVISION,      // of integers
    EFFORT_ROOT,          // square, or a division of floats
    EFFORT_FUNCTION,      // of the vector library, or kept for lanes
    EFFORT_CALL,          // lane by lane
    EFFORT_ATOMIC,
    EFFORT_REDUCTION,     // an atomic operation of all at one place
    EFFORT_ROW,           // of structs, too
    EFFORT_APART,         // loads from a difference that is always the same
    EFFORT_LONG,          // one of some loads that are one of 16 bytes a lane
    EFFORT_GATHER,
    EFFORT_GATHER_PARTS,  // of words
    EFFORT_SCATTER,
    EFFORT_GATHER_OWN,    // from an array of the thread's own
    EFFORT_SCATTER_OWN,
    EFFORT_BRANCH,
    EFFORT_MASK,          // beginning a block where lanes are apart
    EFFORTS,
};

// Costs of a thread, relative to a simple instruction, and of a gang: fitted to
// measurements of 300 kernels in both tiers.
static const struct cost {
    double thread, gang;
} costs[EFFORTS] = {
    [EFFORT_SIMPLE] = {1, 2},           [EFFORT_UNIFORM] = {1, 6},
    [EFFORT_DIVISION] = {24, 560},      [EFFORT_ROOT] = {24, 80},
    [EFFORT_FUNCTION] = {40, 320},      [EFFORT_CALL] = {24, 1300},
    [EFFORT_ATOMIC] = {60, 1300},
    [EFFORT_REDUCTION] = {60, 200},     [EFFORT_ROW] = {6, 130},
    [EFFORT_APART] = {6, 110},          [EFFORT_LONG] = {6, 40},
    [EFFORT_GATHER] = {6, 300},         [EFFORT_GATHER_PARTS] = {6, 380},
    [EFFORT_SCATTER] = {6, 650},        [EFFORT_GATHER_OWN] = {6, 400},
    [EFFORT_SCATTER_OWN] = {6, 150},    [EFFORT_BRANCH] = {1, 0},
    [EFFORT_MASK] = {0, 12},
};

struct estimate {
    const struct shapes *shapes;
    const struct kernel *kernel;
    double *threads, *gangs;  // how often a thread, and a gang, is in a block
    double *iterations;            // of each loop
    double *in_loop;           // what a thread takes in it, not in inner ones
    bool *apart;               // blocks between where lanes part and meet
    double thread, gang;      // what all of it takes
};

// --- How often ---------------------------------------------------------------

static void find_apart(struct estimate *x)
{
    const struct kernel *kernel = x->kernel;
    for (unsigned i = 0; i < kernel->block_count; i++) {
        if (!x->shapes->divergent[i])
            continue;
        struct set between = cfg_between(
            kernel, kernel->blocks[i].successors, 2, kernel->join_after[i]);
        for (unsigned b = 0; b < kernel->block_count; b++)
            x->apart[b] |= set_has(&between, b);
    }
}

static bool loop_has(const struct kernel *kernel, int loop, int block)
{
    return set_has(&kernel->loops[loop].blocks, (unsigned)block);
}

static bool leaves_loop(const struct kernel *kernel, int from, int to)
{
    int loop = kernel->blocks[from].loop;
    return loop != NONE && !loop_has(kernel, loop, to);
}

// Whether a side of a branch leads to a loop, which likely has a iteration.
static bool enters_loop(const struct kernel *kernel, int from, int to)
{
    const struct block *block = &kernel->blocks[to];
    while (block->successor_count == 1 && block->predecessor_count == 1 &&
           block->loop == kernel->blocks[from].loop &&
           block->successors[0] > to) {
        to = block->successors[0];
        block = &kernel->blocks[to];
    }
    return block->loop != NONE && kernel->loops[block->loop].header == to &&
           !loop_has(kernel, block->loop, from);
}

// Iterations of a loop that counts up to a few bits of an earlier number, as an
// unrolled loop's remainder does; fewer if all lanes together count by more
// than one, as an unrolled loop does; else the likely number.
static double rounds_by(const struct estimate *x, int loop,
                        LLVMValueRef condition)
{
    const struct kernel *kernel = x->kernel;
    for (unsigned i = 0; LLVMIsAICmpInst(condition) && i < 2; i++) {
        int64_t bits;
        LLVMValueRef limit =
            slots_resolve(kernel, LLVMGetOperand(condition, i));
        if (LLVMIsABinaryOperator(limit) &&
            LLVMGetInstructionOpcode(limit) == LLVMAnd &&
            !loop_has(kernel, loop, kernel_block_of(kernel, limit)) &&
            constant_of(LLVMGetOperand(limit, 1), &bits) && bits > 0 &&
            bits < COST_ROUNDS)
            return (double)(bits + 1) / 2;
        int64_t step =
            induction_step(kernel, loop, LLVMGetOperand(condition, i));
        if (step > 1 && step < COST_ROUNDS && !x->shapes->divergent_loop[loop])
            return (double)COST_ROUNDS / (double)step;
    }
    return COST_ROUNDS;
}

static double rounds_of(const struct estimate *x, int loop)
{
    const struct kernel *kernel = x->kernel;
    double least = COST_ROUNDS;
    for (unsigned b = 0; b < kernel->block_count; b++) {
        const struct block *block = &kernel->blocks[b];
        if (block->loop != loop || block->successor_count != 2 ||
            (loop_has(kernel, loop, block->successors[0]) &&
             loop_has(kernel, loop, block->successors[1])))
            continue;
        double iterations = rounds_by(x, loop, block->condition);
        least = iterations < least ? iterations : least;
    }
    return least;
}

// The share of threads in a block that continue to one side: a loop is left
// once, and other sides are equally likely.
static double share_of(const struct estimate *x, int from, unsigned side)
{
    const struct kernel *kernel = x->kernel;
    const struct block *block = &kernel->blocks[from];
    int to = block->successors[side];
    double share = 1;
    for (int l = block->loop; l != NONE && !loop_has(kernel, l, to);
         l = kernel->loops[l].parent)
        share /= x->iterations[l];
    if (share < 1 || block->successor_count == 1)
        return share;
    int other = block->successors[!side];
    bool likely = leaves_loop(kernel, from, other) ||
                  enters_loop(kernel, from, to) ||
                  kernel->blocks[other].pure_return;
    return likely ? 1 : 0.5;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

// Where lanes part the gang goes both ways.
static void spread_from(struct estimate *x, int from)
{
    const struct block *block = &x->kernel->blocks[from];
    for (unsigned s = 0; s < block->successor_count; s++) {
        int to = block->successors[s];
        if (to <= from)
            continue;
        double share = share_of(x, from, s);
        bool both = share == 0.5 && x->shapes->divergent[from];
        x->threads[to] += x->threads[from] * share;
        x->gangs[to] += x->gangs[from] * (both ? 1 : share);
    }
}

// The longest of all lanes is likely twice as long as theirs on average.
static double rounds_of_chunk(const struct estimate *x, int loop)
{
    const struct loop *loops = x->kernel->loops;
    const bool *divergent = x->shapes->divergent_loop;
    if (!divergent[loop])
        return x->iterations[loop];
    for (int l = loops[loop].parent; l != NONE; l = loops[l].parent)
        if (divergent[l])
            return x->iterations[loop];
    return 2 * x->iterations[loop];
}

// Blocks are in reverse post-order: those before a block are done, but for ways
// back. None is gone through more often than its loop has iterations.
static void find_often(struct estimate *x)
{
    const struct kernel *kernel = x->kernel;
    for (int l = 0; l < (int)kernel->loop_count; l++)
        x->iterations[l] = rounds_of(x, l);
    x->threads[0] = x->gangs[0] = 1;
    for (int b = 0; b < (int)kernel->block_count; b++) {
        int loop = kernel->blocks[b].loop;
        int head = loop == NONE ? 0 : kernel->loops[loop].header;
        if (loop != NONE && head == b) {
            x->threads[b] *= x->iterations[loop];
            x->gangs[b] *= rounds_of_chunk(x, loop);
        } else {
            x->threads[b] = least(x->threads[b], x->threads[head]);
            x->gangs[b] = least(x->gangs[b], x->gangs[head]);
        }
        x->gangs[b] = least(x->gangs[b], x->threads[b] * LANES);
        spread_from(x, b);
    }
}

// --- What instructions are ---------------------------------------------------

static bool is_wide(LLVMTypeRef type)
{
    LLVMTypeKind kind = LLVMGetTypeKind(type);
    return kind == LLVMDoubleTypeKind || kind == LLVMPointerTypeKind ||
           (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) > 32);
}

// Bytes of what is loaded, or stored, together with an access, or 0.
static int64_t group_size(const struct kernel *kernel, LLVMValueRef at)
{
    const struct access_group *group = map_get(&kernel->access_groups, at);
    return group && group->count > 1 ? group->high - group->low : 0;
}

// Whether structs that lie this far apart are accessed as a row.
static bool is_row_of_structs(const struct kernel *kernel, LLVMValueRef at,
                              int64_t stride)
{
    int64_t size = group_size(kernel, at);
    return LLVMIsAStoreInst(at)
               ? size == stride
               : size > 0 && size <= stride && stride <= STRUCT_BYTES_MOST;
}

// Where each lane has a place of its own.
static enum effort effort_of_places(const struct kernel *kernel,
                                    LLVMValueRef at, int64_t size)
{
    bool stores = LLVMIsAStoreInst(at) != NULL;
    int64_t together = group_size(kernel, at);
    if (map_get(&kernel->slot_of,
                slots_base(kernel, accessed_address(at))))
        return stores ? EFFORT_SCATTER_OWN : EFFORT_GATHER_OWN;
    if (stores)
        return together ? EFFORT_GATHER : EFFORT_SCATTER;
    if (together >= LONG)
        return EFFORT_LONG;
    return together ? EFFORT_APART
                    : size < 4 ? EFFORT_GATHER_PARTS : EFFORT_GATHER;
}

static enum effort effort_of_access(const struct shapes *shapes,
                                    LLVMValueRef at)
{
    const struct kernel *kernel = shapes->kernel;
    bool stores = LLVMIsAStoreInst(at) != NULL;
    LLVMValueRef address = accessed_address(at);
    if (slots_simple(kernel, address) ||
        (!stores && slots_is_argument_load(kernel, at)))
        return EFFORT_NONE;
    int64_t size =
        (int64_t)LLVMABISizeOfType(kernel->layout, accessed_type(at));
    struct shape shape = shape_of(shapes, address);
    if (shape.kind == SHAPE_UNIFORM)
        return EFFORT_UNIFORM;
    if (shape.kind == SHAPE_AFFINE ? shape.stride == size
                                   : shape.guess == size && !shape.far)
        return EFFORT_ROW;
    int64_t apart = shape.kind == SHAPE_AFFINE ? shape.stride
                    : shape.far                ? 0
                                               : shape.guess;
    if (apart > 0 && is_row_of_structs(kernel, at, apart))
        return EFFORT_ROW;
    if (shape.kind == SHAPE_AFFINE && stores)
        return EFFORT_SCATTER;
    if (shape.kind == SHAPE_AFFINE && group_size(kernel, at) < LONG)
        return EFFORT_APART;
    return effort_of_places(kernel, at, size);
}

static enum effort effort_of_call(LLVMValueRef call)
{
    int axis;
    if (primitive_of(call, &axis) != PRIMITIVE_NONE || is_ignored_call(call))
        return EFFORT_NONE;
    if (call_is_of_library(call) || kept_function_of(call))
        return EFFORT_FUNCTION;
    if (is_intrinsic(call, "sqrt"))
        return EFFORT_ROOT;
    return call_has_vectors(call) ? EFFORT_SIMPLE : EFFORT_CALL;
}

static enum effort effort_of(const struct shapes *shapes, LLVMValueRef at)
{
    enum effort effort = EFFORT_SIMPLE;
    switch (LLVMGetInstructionOpcode(at)) {
    case LLVMAlloca: case LLVMBr: case LLVMRet: case LLVMGetElementPtr:
    case LLVMFreeze: case LLVMTrunc: case LLVMBitCast: case LLVMUnreachable:
    case LLVMExtractValue:
        return EFFORT_NONE;
    case LLVMLoad: case LLVMStore:
        return effort_of_access(shapes, at);
    case LLVMAtomicRMW:
        return reduction_is_possible(shapes, at) ? EFFORT_REDUCTION
                                                 : EFFORT_ATOMIC;
    case LLVMAtomicCmpXchg:
        return EFFORT_ATOMIC;
    case LLVMCall:
        effort = effort_of_call(at);
        break;
    case LLVMFDiv:
        effort = EFFORT_ROOT;
        break;
    case LLVMUDiv: case LLVMSDiv: case LLVMURem: case LLVMSRem:
        if (!LLVMIsConstant(LLVMGetOperand(at, 1)))
            effort = EFFORT_DIVISION;
        break;
    default:
        break;
    }
    bool alike = shape_of(shapes, at).kind != SHAPE_VARYING;
    return alike && effort != EFFORT_NONE && effort != EFFORT_CALL
               ? EFFORT_UNIFORM : effort;
}

// The cost of an instruction for a thread. If a thread walks along a row, most
// numbers are in its first cache.
static double thread_cost(const struct kernel *kernel, LLVMValueRef at,
                          enum effort effort)
{
    bool places = effort >= EFFORT_APART && effort <= EFFORT_SCATTER;
    return places && access_is_sequential(kernel, at) ? COST_WALK
                                                      : costs[effort].thread;
}

// --- All ---------------------------------------------------------------------

static void add_effort(struct estimate *x, unsigned block, enum effort effort)
{
    x->thread += x->threads[block] * costs[effort].thread;
    x->gang += x->gangs[block] * costs[effort].gang;
}

static void add_instruction(struct estimate *x, unsigned block,
                            LLVMValueRef at, enum effort effort)
{
    double thread = x->threads[block] * thread_cost(x->kernel, at, effort);
    int loop = x->kernel->blocks[block].loop;
    x->thread += thread;
    if (loop != NONE)
        x->in_loop[loop] += thread;
    x->gang += x->gangs[block] * costs[effort].gang;
}

// How often operations are repeated for vectors of another width: simple
// instructions, and parts of words, whose addresses are vectors.
static void add_more(struct estimate *x, unsigned block, LLVMValueRef at,
                     enum effort effort)
{
    double times = (double)BYTES / target_vector_bytes();
    if (effort != EFFORT_GATHER_PARTS && is_wide(LLVMTypeOf(at)))
        times *= 2;
    x->gang += x->gangs[block] * costs[effort].gang * (times - 1);
}

static void add_block(struct estimate *x, unsigned number)
{
    const struct block *block = &x->kernel->blocks[number];
    if (block->successor_count == 2)
        add_effort(x, number, EFFORT_BRANCH);
    if (x->apart[number])
        add_effort(x, number, EFFORT_MASK);
    for (LLVMValueRef at = LLVMGetFirstInstruction(block->ir); at;
         at = LLVMGetNextInstruction(at)) {
        enum effort effort = effort_of(x->shapes, at);
        add_instruction(x, number, at, effort);
        bool repeats = effort == EFFORT_SIMPLE || effort == EFFORT_ROOT ||
                       effort == EFFORT_GATHER_PARTS;
        if (repeats && target_vector_bytes() > 0)
            add_more(x, number, at, effort);
    }
}

// A iteration of a loop waits for the numbers of the iteration before. A thread
// waits by itself; a gang waits once for all of its lanes.
static void add_latency(struct estimate *x, int loop)
{
    double least = x->threads[x->kernel->loops[loop].header] *
                   recurrence_latency(x->kernel, loop);
    if (least > x->in_loop[loop])
        x->thread += least - x->in_loop[loop];
}

static struct estimate estimate_all(const struct shapes *shapes)
{
    const struct kernel *kernel = shapes->kernel;
    unsigned count = kernel->block_count;
    struct estimate x = {.shapes = shapes, .kernel = kernel,
                         .thread = COST_BEGIN};
    x.threads = simt_allocate(count * sizeof *x.threads);
    x.gangs = simt_allocate(count * sizeof *x.gangs);
    x.iterations = simt_allocate(kernel->loop_count * sizeof *x.iterations);
    x.in_loop = simt_allocate(kernel->loop_count * sizeof *x.in_loop);
    x.apart = simt_allocate(count * sizeof *x.apart);
    find_apart(&x);
    find_often(&x);
    for (unsigned i = 0; i < count; i++)
        add_block(&x, i);
    for (unsigned i = 0; i < kernel->loop_count; i++)
        add_latency(&x, (int)i);
    return x;
}

double lanes_cost(const struct shapes *shapes)
{
    return estimate_all(shapes).gang;
}

bool lanes_are_profitable(const struct shapes *shapes)
{
    if (shapes->kernel->waits)  // each thread would need a fiber
        return true;
    struct estimate x = estimate_all(shapes);
    // Branches of single threads are often mispredicted, so lanes get the
    // cases near the threshold.
    return 2 * x.gang <= 3 * x.thread * LANES;
}
