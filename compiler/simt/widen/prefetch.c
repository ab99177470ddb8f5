// Prefetches memory before the kernel reads it:
// docs/decisions/0027-prefetching.md.
#include "simt/widen/widen.h"
#include "simt/widen/tuning.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

enum { LINE = 64 };  // bytes of a cache line

static void prefetch(struct emitter *e, LLVMValueRef address, uint64_t begin,
                     uint64_t end)
{
    for (; begin < end; begin += LINE) {
        LLVMValueRef arguments[] = {at_offset(e, address, begin),
                                    number32(e, 0), number32(e, 3),
                                    number32(e, 1)};
        call_intrinsic(e, "llvm.prefetch", &e->pointer, 1, arguments, 4);
    }
}

void prefetch_emit(struct emitter *e, LLVMValueRef at)
{
    LLVMValueRef address = LLVMGetOperand(at, 0);
    struct shape shape = shape_of(&e->shapes, address);
    if (!e->mask && shape.kind == SHAPE_AFFINE && shape.stride > 0 &&
        shape.stride <= 16)
        prefetch(e, lanes_scalar(e, address), 0,
                 (uint64_t)shape.stride * e->width);
}

static int loop_of(const struct kernel *kernel, LLVMValueRef at)
{
    return kernel->blocks[kernel_block_of(kernel, at)].loop;
}

// True if the loop itself, not an inner loop, has this load of an argument's
// array. NONE stands for the code outside of loops.
static bool loop_reads(const struct kernel *kernel, int loop, LLVMValueRef at)
{
    return LLVMIsALoadInst(at) && loop_of(kernel, at) == loop &&
           !slots_is_argument_load(kernel, at) &&
           slots_argument_array(kernel, LLVMGetOperand(at, 0));
}

// The number of rows that a loop reads. A load beside an earlier load belongs
// to the same row.
static unsigned rows_of(struct emitter *e, int loop)
{
    const struct kernel *kernel = e->kernel;
    if (e->rows_ahead)
        return e->rows_ahead[loop + 1];
    e->rows_ahead =
        simt_allocate((kernel->loop_count + 1) * sizeof *e->rows_ahead);
    for (unsigned i = 0; i < kernel->block_count; i++) {
        int own = kernel->blocks[i].loop;
        bool strides = interchanged_iterations(kernel, own) > 0;
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at))
            e->rows_ahead[own + 1] += loop_reads(kernel, own, at) &&
                                      (!strides || is_first_of_row(kernel, at));
    }
    return e->rows_ahead[loop + 1];
}

// How far ahead each of so many rows is asked for: many of them are no longer
// worth it.
static uint64_t ahead_of_each(unsigned rows)
{
    uint64_t ahead = AHEAD / (rows ? rows : 1);
    return ahead >= AHEAD_LEAST ? ahead : 0;
}

// Outside of loops gangs go along arrays one after another, with much to do
// between.
static uint64_t ahead_outside(struct emitter *e, LLVMValueRef at)
{
    const struct kernel *kernel = e->kernel;
    if (target_foresees_rows() || kernel->size <= FORESEEN_MOST ||
        kernel->compact || !loop_reads(kernel, NONE, at))
        return 0;
    return ahead_of_each(rows_of(e, NONE));
}

// The distance in bytes to prefetch ahead of a row, or 0. In most loops a
// thread may take long steps, which no hardware prefetcher follows; the next
// gang reads beside this gang, after all iterations. In grid-stride loops gangs
// walk along as many rows at once as they take iterations.
static uint64_t ahead_of(struct emitter *e, LLVMValueRef at, uint64_t row,
                         unsigned iterations)
{
    const struct kernel *kernel = e->kernel;
    int loop = loop_of(kernel, at);
    if (address_is_shared(e->kernel, LLVMGetOperand(at, 0), 0))
        return 0;
    if (loop == NONE)
        return ahead_outside(e, at);
    if (iterations > 0)
        return is_first_of_row(kernel, at)
                   ? ahead_of_each(rows_of(e, loop) * iterations) : 0;
    return loop_has_barrier(kernel, &kernel->loops[loop]) ? 0 : row;
}

// True if an earlier access of the same group prefetches the same lines.
static bool is_asked_for(struct emitter *e, LLVMValueRef at)
{
    const struct access_group *group = map_get(&e->kernel->access_groups, at);
    return group && group->items[0].at != at;
}

// The next iterations begin where the coarsened blocks began, one row of the
// grid further per iteration. If the hardware prefetcher follows rows, a
// prefetch inside a row is not needed.
static LLVMValueRef elements_ahead(struct emitter *e, uint64_t ahead,
                                   unsigned iterations)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef threads = number32(e, ahead);
    if (!e->variant->rows)
        return number64(e, ahead);
    unsigned axis = lanes_axis(e->variant);
    LLVMValueRef own = e->thread[axis], row = e->block_size[axis];
    LLVMValueRef grid = LLVMBuildMul(b, e->grid_size[axis], row, "");
    if (e->coarse.used) {
        LLVMValueRef block =
            LLVMBuildSub(b, e->block_index[axis], e->coarse.first, "");
        own = LLVMBuildAdd(b, own, LLVMBuildMul(b, block, row, ""), "");
        row = LLVMBuildMul(b, e->coarse.count, row, "");
    }
    LLVMValueRef past = LLVMBuildSub(b, row, minimum(e, row, threads), "");
    LLVMValueRef next = LLVMBuildSub(
        b, LLVMBuildMul(b, grid, number32(e, iterations), ""), past, "");
    LLVMValueRef inside = LLVMBuildICmp(
        b, LLVMIntULT, LLVMBuildAdd(b, own, threads, ""), row, "");
    LLVMValueRef soon = target_foresees_rows() ? number32(e, 0) : threads;
    return LLVMBuildZExt(b, LLVMBuildSelect(b, inside, soon, next, ""), e->i64,
                         "");
}

void prefetch_row(struct emitter *e, LLVMValueRef at, LLVMValueRef address,
                      uint64_t size)
{
    if (is_asked_for(e, at))
        return;
    uint64_t row = size * e->width;
    unsigned iterations =
        interchanged_iterations(e->kernel, loop_of(e->kernel, at));
    uint64_t ahead = ahead_of(e, at, row, iterations);
    if (ahead == 0)
        return;
    LLVMValueRef bytes = number64(e, ahead);
    if (iterations > 0)
        bytes = LLVMBuildMul(e->builder,
                             elements_ahead(e, ahead / size, iterations),
                             number64(e, size), "");
    prefetch(e, LLVMBuildGEP2(e->builder, e->i8, address, &bytes, 1, ""), 0,
             row);
}
