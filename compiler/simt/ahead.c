// Memory that is asked for before it is read: docs/decisions/memory-ahead.md.
#include "emit.h"
#include "stride.h"

// How many bytes of memory are asked for ahead, of all rows that a chunk reads,
// and at least of each. Instructions of a kernel of which a processor sees
// enough at once to ask by itself.
enum {
    AHEAD = 8192,
    AHEAD_LEAST = 512,
    FORESEEN_MOST = 48,
    LINE = 64,
};

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

void access_prefetch(struct emitter *e, LLVMValueRef at)
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

// Whether that loop, and none in it, has this load of an argument's array. NONE
// is what is outside of loops.
static bool loop_reads(const struct kernel *kernel, int loop, LLVMValueRef at)
{
    return LLVMIsALoadInst(at) && loop_of(kernel, at) == loop &&
           !slots_is_argument_load(kernel, at) &&
           stream_array(kernel, LLVMGetOperand(at, 0));
}

// How many rows a loop reads. What chunks that go along several of them read
// beside an earlier one is of the same.
static unsigned rows_of(struct emitter *e, int loop)
{
    const struct kernel *kernel = e->kernel;
    if (e->rows_ahead)
        return e->rows_ahead[loop + 1];
    e->rows_ahead =
        simt_allocate((kernel->loop_count + 1) * sizeof *e->rows_ahead);
    for (unsigned i = 0; i < kernel->block_count; i++) {
        int own = kernel->blocks[i].loop;
        bool strides = interchange_rounds(kernel, own) > 0;
        for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[i].ir);
             at; at = LLVMGetNextInstruction(at))
            e->rows_ahead[own + 1] += loop_reads(kernel, own, at) &&
                                      (!strides || stride_is_row(kernel, at));
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

// Outside of loops chunks go along arrays one after another, with much to do
// between.
static uint64_t ahead_outside(struct emitter *e, LLVMValueRef at)
{
    const struct kernel *kernel = e->kernel;
    if (target_foresees_rows() || kernel->size <= FORESEEN_MOST ||
        kernel->compact || !loop_reads(kernel, NONE, at))
        return 0;
    return ahead_of_each(rows_of(e, NONE));
}

// How far ahead of a row memory is asked for, or 0. In most loops a thread may
// step far, so that nothing foresees where it reads; the next chunk reads
// beside this one, after all its rounds. In those over the grid chunks go along
// as many rows at once as they take rounds.
static uint64_t ahead_of(struct emitter *e, LLVMValueRef at, uint64_t row,
                         unsigned rounds)
{
    const struct kernel *kernel = e->kernel;
    int loop = loop_of(kernel, at);
    if (access_is_shared(e, LLVMGetOperand(at, 0), 0))
        return 0;
    if (loop == NONE)
        return ahead_outside(e, at);
    if (rounds > 0)
        return stride_is_row(kernel, at)
                   ? ahead_of_each(rows_of(e, loop) * rounds) : 0;
    return has_barrier(kernel, &kernel->loops[loop]) ? 0 : row;
}

// True if an earlier access of the same bundle prefetches the same lines.
static bool is_asked_for(struct emitter *e, LLVMValueRef at)
{
    const struct bundle *bundle = map_get(&e->kernel->bundles, at);
    return bundle && bundle->items[0].at != at;
}

void access_ask_ahead(struct emitter *e, LLVMValueRef at, LLVMValueRef address,
                      uint64_t size)
{
    if (is_asked_for(e, at))
        return;
    uint64_t row = size * e->width;
    unsigned rounds = interchange_rounds(e->kernel, loop_of(e->kernel, at));
    uint64_t ahead = ahead_of(e, at, row, rounds);
    if (ahead == 0)
        return;
    LLVMValueRef bytes = number64(e, ahead);
    if (rounds > 0)
        bytes = LLVMBuildMul(e->builder, group_ahead(e, ahead / size, rounds),
                             number64(e, size), "");
    prefetch(e, LLVMBuildGEP2(e->builder, e->i8, address, &bytes, 1, ""), 0,
             row);
}
