// The function of a kernel that the executor calls: it chooses a variant by the
// shape of the block.
#include "simt/codegen/codegen.h"
#include "simt/codegen/tuning.h"
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

#include <runnel/cpu_object.h>
#include <stddef.h>
#include <string.h>

// Rows lie along the axis that plan_axis() chose.
enum { ROWS, WHOLE, HALVES, QUARTERS, COLUMNS, ACROSS, PACKED, VARIANTS };

// --- Planning ----------------------------------------------------------------

// Instructions of the chains that branches of a complete gang begin: blocks
// inside several such branches are in several chains.
static unsigned chained_size(const struct shapes *shapes)
{
    const struct kernel *kernel = shapes->kernel;
    unsigned size = 0;
    for (unsigned i = 0; i < kernel->block_count; i++) {
        if (!shapes->divergent[i])
            continue;
        const struct block *block = &kernel->blocks[i];
        struct set blocks =
            cfg_between(kernel, block->successors, 2, kernel->join_after[i]);
        for (unsigned k = 0; k < kernel->block_count; k++)
            if (set_has(&blocks, k))
                size += kernel->blocks[k].size;
    }
    return size;
}

static bool is_used_in(const struct kernel *kernel, const struct slot *slot,
                       const struct loop *loop)
{
    for (unsigned i = 0; i < slot->load_count; i++)
        if (set_has(&loop->blocks,
                    (unsigned)kernel_block_of(kernel, slot->loads[i])))
            return true;
    return false;
}

// How many numbers a loop loads that are the same for all lanes.
static unsigned shared_loads(const struct shapes *shapes,
                             const struct loop *loop)
{
    const struct kernel *kernel = shapes->kernel;
    unsigned count = 0;
    for (unsigned i = 0; i < kernel->block_count; i++) {
        LLVMValueRef at = set_has(&loop->blocks, i)
                              ? LLVMGetFirstInstruction(kernel->blocks[i].ir)
                              : NULL;
        for (; at; at = LLVMGetNextInstruction(at))
            count += LLVMIsALoadInst(at) &&
                     !slots_simple(kernel, LLVMGetOperand(at, 0)) &&
                     !slots_is_argument_load(kernel, at) &&
                     shape_of(shapes, at).kind == SHAPE_UNIFORM;
    }
    return count;
}

// The most values that differ between lanes and live in one loop that loads at
// least `shared` numbers for all lanes.
static unsigned most_held(const struct shapes *shapes, unsigned shared)
{
    const struct kernel *kernel = shapes->kernel;
    unsigned most = 0;
    for (unsigned l = 0; l < kernel->loop_count; l++) {
        unsigned count = 0;
        if (shared > 0 && shared_loads(shapes, &kernel->loops[l]) < shared)
            continue;
        for (unsigned s = 0; s < kernel->slot_count; s++)
            count += kernel->slots[s].kind == SLOT_SIMPLE &&
                     shapes->slots[s].kind == SHAPE_VARYING &&
                     is_used_in(kernel, &kernel->slots[s], &kernel->loops[l]);
        most = count > most ? count : most;
    }
    return most;
}

// Whether a gang must be a warp.
static bool keeps_warps(const struct kernel *kernel)
{
    return kernel->has_warp_ops || is_warp_synchronous(kernel);
}

// Many lanes hide the cost of gangs and their loops; few lanes leave values in
// registers. A vector of 16 numbers is a memory operand of an AVX-512
// instruction; 32 numbers are loaded into registers first, which takes as long
// as a sum.
static unsigned choose_width(const struct kernel *kernel,
                             const struct shapes *shapes)
{
    if (keeps_warps(kernel))
        return 32;
    if (kernel->huge)
        return 8;
    bool narrow = kernel->compact ||
                  (target_vector_bytes() < 64
                       ? most_held(shapes, 0) > HELD_MOST
                       : most_held(shapes, SHARED_LEAST) > HELD_MOST_WIDE);
    return narrow ? 16 : 32;
}

static const struct variant rows_along[] = {
    {.width = 32, .rows = true, .along = LANES_X, .name = "rows"},
    {.width = 32, .rows = true, .along = LANES_Y, .name = "rows"},
};

static struct shapes shapes_of(const struct kernel *kernel,
                               const struct variant *variant)
{
    struct shapes shapes = {.kernel = kernel, .variant = variant};
    shapes_find(&shapes);
    return shapes;
}

static double cost_of(const struct kernel *kernel,
                      const struct variant *variant)
{
    struct shapes shapes = shapes_of(kernel, variant);
    return lanes_cost(&shapes);
}

// True if threads may be mapped to lanes, and blocks may follow each other, in
// any order. Blocks of a cluster read each other's memory, so they keep theirs.
static bool is_free(const struct kernel *kernel)
{
    return !keeps_warps(kernel) && !kernel->has_cluster_ops &&
           !kernel->strides;
}

// The axis of lanes: y where memory is contiguous along y, as in a[n * x + y].
static enum lanes_along plan_axis(const struct kernel *kernel)
{
    if (!kernel->uses_y || !is_free(kernel))
        return LANES_X;
    double x = cost_of(kernel, &rows_along[LANES_X]);
    double y = cost_of(kernel, &rows_along[LANES_Y]);
    return y < Y_GAINS * x ? LANES_Y : LANES_X;
}

// Chooses the axis of rows and the number of lanes.
void kernel_plan(struct kernel *kernel)
{
    kernel->axis = plan_axis(kernel);
    struct shapes shapes = shapes_of(kernel, &rows_along[kernel->axis]);
    kernel->compact =
        kernel->size > KERNEL_LARGE || chained_size(&shapes) > CHAINED_MOST;
    kernel->width = choose_width(kernel, &shapes);
}

void kernel_judge(struct kernel *kernel)
{
    struct shapes shapes = shapes_of(kernel, &rows_along[kernel->axis]);
    if (!lanes_are_profitable(&shapes) && !is_warp_synchronous(kernel))
        kernel->refusal = "its threads part so often, or are all over memory, "
                          "that they are faster one by one";
}

// --- Choosing ----------------------------------------------------------------

static void call_variant(struct emitter *e, LLVMValueRef variant)
{
    LLVMValueRef arguments[] = {LLVMGetParam(e->function, 0),
                                LLVMGetParam(e->function, 1)};
    LLVMValueRef call = LLVMBuildCall2(e->builder, blocks_type(e), variant,
                                       arguments, 2, "");
    LLVMSetTailCall(call, 1);
    LLVMBuildRetVoid(e->builder);
}

static void choose(struct emitter *e, LLVMValueRef condition,
                   LLVMValueRef variant)
{
    if (!variant)
        return;
    LLVMBasicBlockRef here = append(e, "this"), other = append(e, "other");
    LLVMBuildCondBr(e->builder, condition, here, other);
    position(e, here);
    call_variant(e, variant);
    position(e, other);
}

// Makes it the function of that name, which may have been declared.
static void give_name(LLVMValueRef function, const char *name)
{
    LLVMValueRef old =
        LLVMGetNamedFunction(LLVMGetGlobalParent(function), name);
    if (old) {
        LLVMReplaceAllUsesWith(old, function);
        LLVMDeleteFunction(old);
    }
    LLVMSetValueName2(function, name, strlen(name));
    LLVMSetLinkage(function, LLVMExternalLinkage);
    LLVMSetVisibility(function, LLVMHiddenVisibility);
}

// Code for one block size is in another module.
static void choose_fixed(struct emitter *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef same = LLVMConstInt(e->i1, 1, 0);
    if (!e->kernel->chosen)
        return;
    for (unsigned i = 0; i < 3; i++) {
        LLVMValueRef size = run_field(e, offsetof(rnl_cpu_block, block), i);
        LLVMValueRef asked = number32(e, e->kernel->chosen[i]);
        same = LLVMBuildAnd(b, same,
                            LLVMBuildICmp(b, LLVMIntEQ, size, asked, ""), "");
    }
    char *name = simt_format("rnl_fixed_%u", e->kernel->number);
    LLVMValueRef fixed = LLVMAddFunction(e->module, name, blocks_type(e));
    LLVMSetVisibility(fixed, LLVMHiddenVisibility);
    choose(e, same, fixed);
}

// Rows serve blocks of any shape, unless a warp must not end with a row.
// Kernels that use y or z gain from the other variants. If rows lie along y,
// blocks of few threads along y run rows along x in place of packed gangs.
struct variant_plan {
    struct variant variants[VARIANTS];
    bool wanted[VARIANTS];
    unsigned width;
    enum lanes_along along;  // of rows, halves and quarters
};

// The variant for blocks with one thread in x. In most arrays, the neighbours
// of an element in memory belong to neighbouring blocks of x: lanes along y are
// chosen only if they cost clearly less. A block of a single thread has no
// columns.
static int choose_thin(const struct kernel *kernel,
                       const struct variant_plan *plan, bool single)
{
    const struct variant *variants = plan->variants;
    int other = single ? ROWS : COLUMNS;
    return blocks_may_be_lanes(kernel) &&
                   (single || Y_GAINS * cost_of(kernel, &variants[ACROSS]) <
                                  cost_of(kernel, &variants[COLUMNS]))
               ? ACROSS : other;
}

// Whether it helps to know that blocks consist of complete warps: a number that
// is counted by warps is then the same for all lanes of a gang.
static bool gains_whole(const struct kernel *kernel,
                        const struct variant_plan *plan)
{
    const struct variant *variants = plan->variants;
    return keeps_warps(kernel) && !kernel->fixed &&
           kernel->size <= KERNEL_LARGE &&
           cost_of(kernel, &variants[WHOLE]) < cost_of(kernel, &variants[ROWS]);
}

static struct variant_plan plan_variants(struct kernel *kernel)
{
    enum lanes_along along = kernel->axis ? LANES_Y : LANES_X;
    unsigned width = kernel->width;
    bool compact = kernel->compact;
    bool gains = kernel->uses_yz && !compact;
    bool shorter = gains && !keeps_warps(kernel);
    bool small = shorter && kernel->size <= QUARTERS_MOST;
    bool packed_compact =
        compact || (!kernel->fixed && kernel->size > PACKED_MOST);
    struct variant_plan plan = {
        .width = width,
        .along = along,
        .variants =
            {{width, true, along, 0, "rows", compact},
             {width, true, along, 0, "whole", compact, .whole = true},
             {16, true, along, 16, "halves", compact},
             {8, true, along, 8, "quarters", compact},
             {width, true, LANES_Y, 0, "columns", compact, .thin = true},
             {width, true, LANES_BLOCKS, 1, "across", compact, .thin = true},
             {width, along == LANES_Y, LANES_X, 0, "packed", packed_compact}},
        .wanted = {true, false, shorter && width > 16, small && width > 8,
                   false, false,
                   gains || keeps_warps(kernel) || along == LANES_Y},
    };
    if (small && along == LANES_X && !kernel->fixed && is_free(kernel))
        plan.wanted[choose_thin(kernel, &plan, false)] = true;
    plan.wanted[WHOLE] = gains_whole(kernel, &plan);
    if (plan.wanted[ACROSS])
        kernel->across = blocks_across(kernel, width);
    return plan;
}

// Whether rows of so many threads gain from rows of lanes.
static LLVMValueRef suits_rows(struct emitter *e,
                               const struct variant_plan *plan, LLVMValueRef x)
{
    LLVMBuilderRef b = e->builder;
    if (!keeps_warps(e->kernel))
        return LLVMBuildICmp(b, LLVMIntUGT, x, number32(e, plan->width / 4),
                             "");
    LLVMValueRef rest = LLVMBuildAnd(b, x, number32(e, plan->width - 1), "");
    return LLVMBuildICmp(b, LLVMIntEQ, rest, number32(e, 0), "");
}

// Whether a row of the grid has enough blocks to fill half of the lanes.
static LLVMValueRef suits_across(struct emitter *e,
                                 const struct variant_plan *plan)
{
    LLVMValueRef blocks = run_field(e, offsetof(rnl_cpu_block, grid), 0);
    return LLVMBuildICmp(e->builder, LLVMIntUGE, blocks,
                         number32(e, plan->width / 2), "");
}

// Calls the variant for blocks with one thread in x; `thin`: the block has that
// shape.
static void choose_columns(struct emitter *e, const struct variant_plan *plan,
                           LLVMValueRef thin, LLVMValueRef *made)
{
    choose(e, thin, made[COLUMNS]);
    if (made[ACROSS])
        choose(e, LLVMBuildAnd(e->builder, thin, suits_across(e, plan), ""),
               made[ACROSS]);
}

// Begins the function `name`, which calls one of the variants.
static struct emitter begin_choice(struct kernel *kernel, const char *name)
{
    struct emitter e = {.kernel = kernel, .context = kernel->context,
                        .module = kernel->module};
    e.width = 32;
    emitter_types(&e);
    e.function = emitter_function(&e, "rnl_choice", NULL);
    give_name(e.function, name);
    e.builder = LLVMCreateBuilderInContext(e.context);
    position(&e, append(&e, "entry"));
    e.run = LLVMGetParam(e.function, 0);
    return e;
}

static void emit_choice(struct kernel *kernel, const struct variant_plan *plan,
                        LLVMValueRef *made)
{
    struct emitter e = begin_choice(
        kernel, simt_format("rnl_blocks_%u", kernel->number));
    choose_fixed(&e);
    LLVMBuilderRef b = e.builder;
    LLVMValueRef size[3];
    for (unsigned i = 0; i < 3; i++)
        size[i] = run_field(&e, offsetof(rnl_cpu_block, block), i);
    unsigned axis = plan->along;
    LLVMValueRef row = size[axis];
    LLVMValueRef rows = LLVMBuildMul(b, size[!axis], size[2], "");
    LLVMValueRef one_row =
        LLVMBuildICmp(b, LLVMIntEQ, rows, number32(&e, 1), "");
    for (int v = HALVES; v <= QUARTERS; v++) {
        LLVMValueRef asked = number32(&e, plan->variants[v].row);
        LLVMValueRef fits = LLVMBuildICmp(b, LLVMIntEQ, row, asked, "");
        choose(&e, LLVMBuildAnd(b, fits, LLVMBuildNot(b, one_row, ""), ""),
               made[v]);
    }
    LLVMValueRef single =
        LLVMBuildICmp(b, LLVMIntEQ, size[0], number32(&e, 1), "");
    choose_columns(&e, plan,
                   LLVMBuildAnd(b, single, suits_rows(&e, plan, size[1]), ""),
                   made);
    LLVMValueRef suits = suits_rows(&e, plan, row);
    choose(&e, suits, made[WHOLE]);
    if (made[PACKED])
        choose(&e, LLVMBuildOr(b, one_row, suits, ""), made[ROWS]);
    call_variant(&e, made[PACKED] ? made[PACKED] : made[ROWS]);
    LLVMDisposeBuilder(b);
}

// Rows of lanes for rows of threads, though up to half of them have nothing to
// do: what is packed reads all over memory.
static int choose_for(const struct kernel *kernel, struct variant_plan *plan)
{
    const unsigned *size = kernel->fixed, row = size[plan->along];
    bool one_row = size[!plan->along] * size[2] == 1;
    if (keeps_warps(kernel))
        return one_row || row % plan->width == 0 ? ROWS : PACKED;
    if (size[0] == 1 && (one_row || size[1] >= ROW_LEAST) &&
        plan->along == LANES_X && is_free(kernel))
        return choose_thin(kernel, plan, one_row);
    if (plan->wanted[PACKED] && !one_row && row < ROW_LEAST)
        return PACKED;
    for (int v = QUARTERS; v >= HALVES; v--) {
        struct variant *variant = &plan->variants[v];
        if (row > variant->width || variant->width >= plan->width)
            continue;
        if (row < variant->width)
            variant->row = 0;
        return v;
    }
    return ROWS;
}

// Makes the function that runs blocks as lanes, or calls `narrow` if the grid
// has too few blocks in x.
static void emit_fixed_choice(struct kernel *kernel,
                              const struct variant_plan *plan, const char *name,
                              LLVMValueRef across, LLVMValueRef narrow)
{
    struct emitter e = begin_choice(kernel, name);
    choose(&e, suits_across(&e, plan), across);
    call_variant(&e, narrow);
    LLVMDisposeBuilder(e.builder);
}

static bool emit_fixed(struct kernel *kernel)
{
    struct variant_plan plan = plan_variants(kernel);
    const unsigned *size = kernel->fixed;
    int chosen = choose_for(kernel, &plan);
    kernel->across =
        chosen == ACROSS ? blocks_across(kernel, plan.width) : 0;
    int other = size[1] * size[2] == 1 ? ROWS : COLUMNS;
    LLVMValueRef made = emit_variant(kernel, &plan.variants[chosen]);
    LLVMValueRef narrow = chosen == ACROSS && !kernel->refusal
                              ? emit_variant(kernel, &plan.variants[other])
                              : NULL;
    if (kernel->refusal) {
        LLVMDeleteFunction(made);
        if (narrow)
            LLVMDeleteFunction(narrow);
        return false;
    }
    const char *name = simt_format(kernel->alone ? "rnl_blocks_%u"
                                                 : "rnl_fixed_%u",
                                   kernel->number);
    if (chosen == ACROSS)
        emit_fixed_choice(kernel, &plan, name, made, narrow);
    else
        give_name(made, name);
    return true;
}

bool emit_kernel(struct kernel *kernel)
{
    if (kernel->fixed)
        return emit_fixed(kernel);
    LLVMValueRef made[VARIANTS] = {0};
    struct variant_plan plan = plan_variants(kernel);
    for (int v = 0; v < VARIANTS; v++)
        if (plan.wanted[v] && !kernel->refusal)
            made[v] = emit_variant(kernel, &plan.variants[v]);
    if (!kernel->refusal) {
        emit_choice(kernel, &plan, made);
        return true;
    }
    for (int v = 0; v < VARIANTS; v++)
        if (made[v])
            LLVMDeleteFunction(made[v]);
    return false;
}
