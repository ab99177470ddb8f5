// Several blocks of a grid together. Where a loop steps over the whole grid
// (interchange.c), the next block's threads read beside this one's in the same
// round: blocks in a row take each round one after the other, so that memory is
// walked in order. Blocks are independent, and all go from one barrier to the
// next alike, so each barrier may as well be one of all of them.
#include "emit.h"

#include <runnel/cpu_object.h>

// Threads of a group, and bytes of what its blocks keep and share, which are to
// stay in a cache. Instructions of a round that is unrolled.
enum { GROUP_THREADS = 1 << 16, GROUP_BYTES = 128 << 10, UNROLLED_MOST = 80 };

// Threads of a row of a group's blocks: a few of such rows stay in a core's
// caches, and each is so long that processors foresee where it goes on.
enum { ROW_THREADS = 4096 };

// Accesses to shared memory for each access to other memory.
enum { SHARED_MOST = 4 };

// --- Whether they can --------------------------------------------------------

bool group_calls_prelude(const struct kernel *kernel)
{
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at)) {
            int axis;
            if (!LLVMIsACallInst(at))
                continue;
            enum primitive primitive = primitive_of(at, &axis);
            LLVMValueRef callee = LLVMGetCalledValue(at);
            if (primitive == PRIMITIVE_TRAP ||
                primitive == PRIMITIVE_CLUSTER_MEET ||
                (primitive == PRIMITIVE_NONE && !LLVMIsDeclaration(callee) &&
                 !calls_are_alike(at)))
                return true;
        }
    return false;
}

bool group_counts_votes(const struct kernel *kernel)
{
    for (unsigned i = 0; i < kernel->barrier_count; i++) {
        const struct block *block = &kernel->blocks[kernel->barrier_blocks[i]];
        if (!LLVMIsNull(LLVMGetOperand(block->barrier_call, 0)))
            return true;
    }
    return false;
}

bool group_may_be_lanes(const struct kernel *kernel)
{
    return kernel->barrier_count == 0 && !kernel->waits &&
           !kernel->has_shared && !group_calls_prelude(kernel);
}

// Gives a shared variable its place in the memory that each block of a group
// has of its own. False for one whose size is the launch's, which is not of the
// object (prepare_share_variables), and for what the host wrote.
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
    *offset = (e->group.shared_size + alignment - 1) / alignment * alignment;
    if (size > GROUP_BYTES || *offset > GROUP_BYTES)
        return false;
    e->group.shared_size = *offset + (unsigned)size;
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
    e->group.shared_size = (e->group.shared_size + unit - 1) / unit * unit;
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
            if (access_is_shared(e, address, 0))
                shared++;
            else
                other++;
        }
    return shared <= SHARED_MOST * other;
}

// Whether rows of threads may go on from each block to the next one: a block of
// short rows reads a line here and there, in few sets of the cache where an
// array is a power of two wide. A loop without a barrier reads the same memory
// for all rows of a block, so that such blocks run one after another.
static bool has_short_rows(struct emitter *e)
{
    return e->variant->rows && e->variant->along != LANES_BLOCKS &&
           e->kernel->uses_y && steady_loops(e->kernel) &&
           shares_little(e);
}

// Not where blocks reach each other's shared memory: addresses there are
// counted from the start of block memory, where a group's variables do not lie.
bool group_is_possible(struct emitter *e)
{
    const struct kernel *kernel = e->kernel;
    e->group.rows = !kernel->strides && has_short_rows(e);
    return (kernel->strides || e->group.rows) &&
           !group_calls_prelude(kernel) && !kernel->has_cluster_ops &&
           !group_counts_votes(kernel) && place_shared(e);
}

// --- How many ----------------------------------------------------------------

static LLVMValueRef less(struct emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMValueRef both[] = {a, b};
    return call_intrinsic(e, "llvm.umin", &type, 1, both, 2);
}

// How often a number goes into a constant; at least once.
static LLVMValueRef share_of(struct emitter *e, unsigned whole,
                             LLVMValueRef part)
{
    LLVMValueRef times =
        LLVMBuildUDiv(e->builder, number32(e, whole), part, "");
    LLVMValueRef both[] = {times, number32(e, 1)};
    return call_intrinsic(e, "llvm.umax", &e->i32, 1, both, 2);
}

LLVMValueRef group_find_most(struct emitter *e, LLVMValueRef threads,
                             LLVMValueRef records)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef most =
        e->group.rows
            ? share_of(e, ROW_THREADS, e->block_size[lanes_axis(e->variant)])
            : share_of(e, GROUP_THREADS, threads);
    LLVMValueRef bytes =
        LLVMBuildAdd(b, records, number32(e, e->group.shared_size), "");
    if (!LLVMIsNull(bytes))
        most = less(e, most, share_of(e, GROUP_BYTES, bytes));
    e->group.most = most;
    e->group.records = LLVMBuildMul(b, records, most, "");
    return LLVMBuildMul(b, bytes, most, "");
}

// How many blocks go together where they are lanes: a chunk of them, or a long
// row, of which each thread runs before the next one of any block.
unsigned blocks_across(const struct kernel *kernel, unsigned width)
{
    bool rows = kernel->uses_y && steady_loops(kernel);
    return rows ? ROW_THREADS : width;
}

// Blocks of a group differ only in x, or in y where lanes lie along y.
LLVMValueRef group_begin(struct emitter *e, LLVMValueRef left)
{
    LLVMBuilderRef b = e->builder;
    unsigned axis = lanes_axis(e->variant);
    if (e->variant->along == LANES_BLOCKS)
        e->group.most = number32(e, blocks_across(e->kernel, e->width));
    LLVMValueRef row =
        LLVMBuildSub(b, e->grid_size[axis], e->block_index[axis], "");
    LLVMValueRef most =
        LLVMBuildZExt(b, less(e, row, e->group.most), e->i64, "");
    LLVMValueRef count = less(e, most, left);
    e->group.first = e->block_index[axis];
    e->group.count = LLVMBuildTrunc(b, count, e->i32, "");
    return count;
}

// The block is the last one then.
void group_end(struct emitter *e)
{
    LLVMValueRef beyond =
        LLVMBuildAdd(e->builder, e->group.first, e->group.count, "");
    e->block_index[lanes_axis(e->variant)] =
        LLVMBuildSub(e->builder, beyond, number32(e, 1), "");
}

void group_use_block(struct emitter *e, LLVMValueRef number,
                     LLVMValueRef memory)
{
    LLVMBuilderRef b = e->builder;
    unsigned axis = lanes_axis(e->variant);
    e->block_index[axis] = LLVMBuildAdd(b, e->group.first, number, "");
    blocks_tell(e, e->block_index[axis], axis);
    if (e->group.shared_size == 0)
        return;
    LLVMValueRef place =
        LLVMBuildMul(b, number, number32(e, e->group.shared_size), "");
    place = LLVMBuildAdd(b, place, e->group.records, "");
    place = LLVMBuildZExt(b, place, e->i64, "");
    e->group.shared = LLVMBuildGEP2(b, e->i8, memory, &place, 1, "");
}

LLVMValueRef group_shared(struct emitter *e, LLVMValueRef variable)
{
    const unsigned *offset = map_get(&e->shared, variable);
    return at_offset(e, e->group.shared, *offset);
}

// The next rounds begin where the group did, as many rows of the grid further
// on as it takes rounds. For a processor that foresees rows, what is asked for
// inside a row is what is read anyway.
LLVMValueRef group_ahead(struct emitter *e, uint64_t ahead, unsigned rounds)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef threads = number32(e, ahead);
    if (!e->variant->rows)
        return number64(e, ahead);
    unsigned axis = lanes_axis(e->variant);
    LLVMValueRef own = e->thread[axis], row = e->block_size[axis];
    LLVMValueRef grid = LLVMBuildMul(b, e->grid_size[axis], row, "");
    if (e->group.used) {
        LLVMValueRef block =
            LLVMBuildSub(b, e->block_index[axis], e->group.first, "");
        own = LLVMBuildAdd(b, own, LLVMBuildMul(b, block, row, ""), "");
        row = LLVMBuildMul(b, e->group.count, row, "");
    }
    LLVMValueRef past = LLVMBuildSub(b, row, less(e, row, threads), "");
    LLVMValueRef next = LLVMBuildSub(
        b, LLVMBuildMul(b, grid, number32(e, rounds), ""), past, "");
    LLVMValueRef inside = LLVMBuildICmp(
        b, LLVMIntULT, LLVMBuildAdd(b, own, threads, ""), row, "");
    LLVMValueRef soon = target_foresees_rows() ? number32(e, 0) : threads;
    return LLVMBuildZExt(b, LLVMBuildSelect(b, inside, soon, next, ""), e->i64,
                         "");
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

void group_unroll(struct emitter *e, int block)
{
    const struct kernel *kernel = e->kernel;
    int next = kernel->blocks[block].successors[0];
    int loop = next == NONE ? NONE : kernel->blocks[next].loop;
    if (interchange_rounds(kernel, loop) > 1 &&
        kernel->loops[loop].header == next &&
        set_has(&kernel->loops[loop].blocks, (unsigned)block) &&
        is_unrolled(kernel, &kernel->loops[loop]))
        loop_hint(LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->builder)),
                  "llvm.loop.unroll.enable", 0);
}
