// Block coarsening: several blocks of a grid run together. In a grid-stride
// loop (transform/loop_interchange.c), the next block's threads read the memory
// behind this block's in the same iteration: blocks of a row run each iteration
// one after another, so that memory is read in order. Blocks are independent,
// and all reach the same barriers, so that each barrier may be a barrier of all
// of them.
#include "simt/codegen/codegen.h"
#include "simt/codegen/tuning.h"
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

#include <runnel/cpu_object.h>

// --- Whether they can --------------------------------------------------------

bool blocks_may_be_lanes(const struct kernel *kernel)
{
    return kernel->barrier_count == 0 && !kernel->waits &&
           !kernel->has_shared && !kernel_calls_prelude(kernel);
}

// Gives a shared variable its offset in the memory of each coarsened block.
// False for dynamic shared memory, whose size belongs to the launch
// (export_variables), and for variables that the host wrote.
static bool add_shared(struct emitter *e, LLVMValueRef variable)
{
    uint64_t size =
        LLVMABISizeOfType(e->kernel->layout, LLVMGlobalGetValueType(variable));
    unsigned alignment = LLVMGetAlignment(variable);
    if (map_get(&e->shared, variable))
        return true;
    if (LLVMGetVisibility(variable) != LLVMHiddenVisibility || size == 0 ||
        alignment > RNL_CPU_MEMORY_ALIGNMENT ||
        variable == LLVMGetNamedGlobal(e->module, "rnl_state"))
        return false;
    unsigned *offset = simt_allocate(sizeof *offset);
    alignment = alignment ? alignment : RNL_CPU_MEMORY_ALIGNMENT;
    *offset = (e->coarse.shared_size + alignment - 1) / alignment * alignment;
    if (size > COARSE_BYTES || *offset > COARSE_BYTES)
        return false;
    e->coarse.shared_size = *offset + (unsigned)size;
    map_set(&e->shared, variable, offset);
    return true;
}

static bool place_shared(struct emitter *e)
{
    const struct kernel *kernel = e->kernel;
    int axis;
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at))
            if (primitive_of(at, &axis) == PRIMITIVE_TLS &&
                !add_shared(e, LLVMGetOperand(at, 0)))
                return false;
    unsigned unit = RNL_CPU_MEMORY_ALIGNMENT;
    e->coarse.shared_size = (e->coarse.shared_size + unit - 1) / unit * unit;
    return true;
}

// Whether a kernel has few accesses to shared memory for each access to other
// memory. Only kernels with many gain from shared memory in registers.
static bool shares_little(struct emitter *e)
{
    const struct kernel *kernel = e->kernel;
    unsigned shared = 0, other = 0;
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at)) {
            LLVMValueRef address = accessed_address(at);
            if (!address || slots_is_argument_load(kernel, at) ||
                map_get(&kernel->slot_of, slots_base(kernel, address)))
                continue;
            if (address_is_shared(e->kernel, address, 0))
                shared++;
            else
                other++;
        }
    return shared <= SHARED_MOST * other;
}

// True if rows of threads may continue from each block to the next one: a block
// of short rows reads single lines, in few sets of the cache if the width of an
// array is a power of two. A loop without a barrier reads the same memory for
// all rows of a block, so such blocks run one after another.
static bool has_short_rows(struct emitter *e)
{
    return e->variant->rows && e->variant->along != LANES_BLOCKS &&
           e->kernel->uses_y && loops_have_barriers(e->kernel) &&
           shares_little(e);
}

// Not where blocks reach each other's shared memory: addresses there are
// counted from the start of block memory, where a group's variables do not lie.
bool coarsening_is_possible(struct emitter *e)
{
    const struct kernel *kernel = e->kernel;
    e->coarse.rows = !kernel->strides && has_short_rows(e);
    return (kernel->strides || e->coarse.rows) &&
           !kernel_calls_prelude(kernel) && !kernel->has_cluster_ops &&
           !kernel_counts_votes(kernel) && place_shared(e);
}

// --- How many ----------------------------------------------------------------

// How often a number goes into a constant; at least once.
static LLVMValueRef share_of(struct emitter *e, unsigned whole,
                             LLVMValueRef part)
{
    LLVMValueRef times =
        LLVMBuildUDiv(e->builder, number32(e, whole), part, "");
    LLVMValueRef both[] = {times, number32(e, 1)};
    return call_intrinsic(e, "llvm.umax", &e->i32, 1, both, 2);
}

LLVMValueRef coarsen_find_most(struct emitter *e, LLVMValueRef threads,
                             LLVMValueRef frames)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef most =
        e->coarse.rows
            ? share_of(e, ROW_THREADS, e->block_size[lanes_axis(e->variant)])
            : share_of(e, COARSE_THREADS, threads);
    LLVMValueRef bytes =
        LLVMBuildAdd(b, frames, number32(e, e->coarse.shared_size), "");
    if (!LLVMIsNull(bytes))
        most = minimum(e, most, share_of(e, COARSE_BYTES, bytes));
    e->coarse.most = most;
    e->coarse.frames = LLVMBuildMul(b, frames, most, "");
    return LLVMBuildMul(b, bytes, most, "");
}

// The number of blocks that run together where lanes are blocks: one gang, or a
// long row, in which each thread runs before the next thread of any block.
unsigned blocks_across(const struct kernel *kernel, unsigned width)
{
    bool rows = kernel->uses_y && loops_have_barriers(kernel);
    return rows ? ROW_THREADS : width;
}

// Blocks of a group differ only in x, or in y where lanes lie along y.
LLVMValueRef coarsen_begin(struct emitter *e, LLVMValueRef left)
{
    LLVMBuilderRef b = e->builder;
    unsigned axis = lanes_axis(e->variant);
    if (e->variant->along == LANES_BLOCKS)
        e->coarse.most = number32(e, blocks_across(e->kernel, e->width));
    LLVMValueRef row =
        LLVMBuildSub(b, e->grid_size[axis], e->block_index[axis], "");
    LLVMValueRef most =
        LLVMBuildZExt(b, minimum(e, row, e->coarse.most), e->i64, "");
    LLVMValueRef count = minimum(e, most, left);
    e->coarse.first = e->block_index[axis];
    e->coarse.count = LLVMBuildTrunc(b, count, e->i32, "");
    return count;
}

// The block is the last one then.
void coarsen_end(struct emitter *e)
{
    LLVMValueRef beyond =
        LLVMBuildAdd(e->builder, e->coarse.first, e->coarse.count, "");
    e->block_index[lanes_axis(e->variant)] =
        LLVMBuildSub(e->builder, beyond, number32(e, 1), "");
}

void coarsen_use_block(struct emitter *e, LLVMValueRef number,
                     LLVMValueRef memory)
{
    LLVMBuilderRef b = e->builder;
    unsigned axis = lanes_axis(e->variant);
    e->block_index[axis] = LLVMBuildAdd(b, e->coarse.first, number, "");
    block_index_store(e, e->block_index[axis], axis);
    if (e->coarse.shared_size == 0)
        return;
    LLVMValueRef place =
        LLVMBuildMul(b, number, number32(e, e->coarse.shared_size), "");
    place = LLVMBuildAdd(b, place, e->coarse.frames, "");
    place = LLVMBuildZExt(b, place, e->i64, "");
    e->coarse.shared = LLVMBuildGEP2(b, e->i8, memory, &place, 1, "");
}

// Atomics are not: where they are many, processors go astray (lane_loop_end).
static bool is_unrolled(const struct kernel *kernel, const struct loop *loop)
{
    unsigned size = 0;
    for (unsigned i = 0; i < kernel->block_count; i++) {
        if (!set_has(&loop->blocks, i))
            continue;
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at), size++)
            if (LLVMIsAAtomicRMWInst(at) || LLVMIsAAtomicCmpXchgInst(at))
                return false;
    }
    return size <= UNROLLED_MOST;
}

void coarsen_unroll(struct emitter *e, int block)
{
    const struct kernel *kernel = e->kernel;
    int next = kernel->blocks[block].successors[0];
    int loop = next == NONE ? NONE : kernel->blocks[next].loop;
    if (interchanged_iterations(kernel, loop) > 1 &&
        kernel->loops[loop].header == next &&
        set_has(&kernel->loops[loop].blocks, (unsigned)block) &&
        is_unrolled(kernel, &kernel->loops[loop]))
        loop_hint(LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->builder)),
                  "llvm.loop.unroll.enable", 0);
}
