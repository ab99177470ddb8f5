// The function that runs blocks of a kernel: launch, blocks, gangs, barriers.
#include "simt/codegen/codegen.h"
#include "simt/codegen/tuning.h"
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

#include <runnel/cpu_object.h>
#include <stddef.h>
#include <string.h>

// Most threads of a block along any axis.
enum { THREADS_MOST = 1024 };

// --- Loops -------------------------------------------------------------------

struct counting {
    LLVMValueRef memory, index;
    LLVMBasicBlockRef head, end;
};

// for (index = 0; index < limit; ...), the body at least once.
static struct counting count_begin(struct emitter *e)
{
    struct counting loop = {.memory = variable(e, e->i32, "index"),
                            .head = append(e, "each"),
                            .end = append(e, "each.end")};
    LLVMBuildStore(e->builder, number32(e, 0), loop.memory);
    LLVMBuildBr(e->builder, loop.head);
    position(e, loop.head);
    loop.index = LLVMBuildLoad2(e->builder, e->i32, loop.memory, "");
    return loop;
}

static void count_end(struct emitter *e, struct counting *loop, unsigned step,
                      LLVMValueRef limit)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef next = LLVMBuildLoad2(b, e->i32, loop->memory, "");
    next = LLVMBuildAdd(b, next, number32(e, step), "");
    LLVMBuildStore(b, next, loop->memory);
    LLVMValueRef more = LLVMBuildICmp(b, LLVMIntULT, next, limit, "");
    bool known = LLVMIsAConstantInt(limit);
    if (known && LLVMConstIntGetZExtValue(limit) <= step) {
        LLVMBuildBr(b, loop->end);
    } else {
        LLVMValueRef back = LLVMBuildCondBr(b, more, loop->head, loop->end);
        if (known && e->unrolls)
            loop_hint(back, "llvm.loop.unroll.full", 0);
    }
    position(e, loop->end);
}

// --- Gangs ------------------------------------------------------------------

static void find_packed_threads(struct emitter *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMTypeRef type = vector_type(e, e->i32);
    LLVMTypeRef real = vector_type(e, LLVMFloatTypeInContext(e->context));
    LLVMValueRef number = LLVMBuildAdd(b, splat(e, e->first),
                                       steps(e, e->i32, 1), "");
    // Numbers below 1024: exact in single precision, with half a step to spare.
    LLVMValueRef half = LLVMConstReal(LLVMFloatTypeInContext(e->context), 0.5);
    LLVMValueRef left = number;
    for (unsigned i = 0; i < 2; i++) {
        LLVMValueRef size = splat(e, e->block_size[i]);
        LLVMValueRef quotient = LLVMBuildFDiv(
            b, LLVMBuildFAdd(b, LLVMBuildUIToFP(b, left, real, ""),
                             splat(e, half), ""),
            LLVMBuildUIToFP(b, size, real, ""), "");
        quotient = LLVMBuildFPToSI(b, quotient, type, "");
        e->thread[i] = LLVMBuildSub(
            b, left, LLVMBuildMul(b, quotient, size, ""), "");
        left = quotient;
    }
    e->thread[2] = left;
}

// How many lanes of the gang from `first` on are among `count` threads.
static LLVMValueRef lanes_among(struct emitter *e, LLVMValueRef count,
                                LLVMValueRef first)
{
    LLVMValueRef width = number32(e, e->width);
    if (LLVMIsAConstantInt(count) &&
        LLVMConstIntGetZExtValue(count) % e->width == 0)
        return width;
    LLVMValueRef arguments[] = {LLVMBuildSub(e->builder, count, first, ""),
                                width};
    return call_intrinsic(e, "llvm.umin", &e->i32, 1, arguments, 2);
}

static void emit_region(struct emitter *e, int barrier)
{
    if (!e->variant->rows)
        find_packed_threads(e);
    region_linearize(e, barrier);
}

// Whether gangs differ in where they are, so that each has to remember.
static bool has_head(const struct emitter *e)
{
    return e->kernel->barrier_count > 0 && !e->uniform_barriers;
}

// The first region of a gang, whose lanes are described by `e`. Stores the
// values for later regions into the gang's frame.
static void emit_first_region(struct emitter *e, LLVMValueRef pending)
{
    LLVMBuilderRef b = e->builder;
    if (has_head(e)) {
        store32(e, e->active, e->frame, FRAME_ACTIVE);
        store32(e, e->first, e->frame, FRAME_FIRST);
        for (unsigned i = 0; i < 3 && e->variant->rows; i++)
            store32(e, e->thread[i], e->frame, FRAME_X + 4 * i);
    }
    LLVMValueRef frame = e->frame;
    emit_region(e, NONE);
    if (!has_head(e))
        return;
    LLVMValueRef exit = LLVMBuildLoad2(b, e->i32, e->exit, "");
    store32(e, exit, frame, FRAME_EXIT);
    LLVMValueRef all = LLVMBuildLoad2(b, e->i32, pending, "");
    LLVMBuildStore(b, LLVMBuildOr(b, all, exit, ""), pending);
}

struct gangs {
    LLVMValueRef count;    // memory: frames filled so far
    LLVMValueRef frames;  // memory of all of them, or NULL
    LLVMValueRef pending;  // memory: not 0 if any gang is at a barrier
};

static LLVMValueRef frame_at(struct emitter *e, const struct gangs *gangs,
                              LLVMValueRef index)
{
    LLVMBuilderRef b = e->builder;
    if (e->kernel->barrier_count == 0 || !gangs->frames)
        return gangs->frames;
    LLVMValueRef offset = LLVMBuildMul(b, LLVMBuildZExt(b, index, e->i64, ""),
                                       number64(e, e->frame_size), "");
    return LLVMBuildGEP2(b, e->i8, gangs->frames, &offset, 1, "");
}

static void place_private_memory(struct emitter *e)
{
    for (unsigned s = 0; s < e->kernel->slot_count; s++)
        if (e->kernel->slots[s].kind == SLOT_COMPLEX && e->frame &&
            e->offsets[s])
            e->private_memory[s] = at_offset(e, e->frame, e->offsets[s]);
}

static void next_frame(struct emitter *e, const struct gangs *gangs)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef index = LLVMBuildLoad2(b, e->i32, gangs->count, "");
    e->frame = frame_at(e, gangs, index);
    LLVMBuildStore(b, LLVMBuildAdd(b, index, number32(e, 1), ""),
                   gangs->count);
    place_private_memory(e);
}

// Runs a region for every gang of the block.
static void emit_rows(struct emitter *e, const struct gangs *gangs,
                      int barrier)
{
    LLVMBuilderRef b = e->builder;
    unsigned axis = lanes_axis(e->variant);
    bool across = e->variant->along == LANES_BLOCKS;
    struct counting z = count_begin(e), row = count_begin(e), block;
    if (e->coarse.rows || across) {
        block = count_begin(e);
        coarsen_use_block(e, block.index, gangs->frames);
    }
    struct counting lane = count_begin(e);
    e->thread[axis] = lane.index;
    e->thread[!axis] = row.index;
    e->thread[2] = z.index;
    e->active = lanes_among(e, e->block_size[axis], lane.index);
    LLVMValueRef number = LLVMBuildMul(b, z.index, e->block_size[1], "");
    number = LLVMBuildAdd(b, number, e->thread[1], "");
    e->first = LLVMBuildAdd(
        b, LLVMBuildMul(b, number, e->block_size[0], ""), e->thread[0], "");
    if (e->variant->row == e->width || e->variant->whole)
        e->active = number32(e, e->width);
    if (across)
        e->active = lanes_among(e, e->coarse.count, block.index);
    next_frame(e, gangs);
    if (barrier == NONE)
        emit_first_region(e, gangs->pending);
    else
        emit_region(e, barrier);
    count_end(e, &lane, e->width, e->block_size[axis]);
    if (e->coarse.rows || across)
        count_end(e, &block, across ? e->width : 1, e->coarse.count);
    count_end(e, &row, 1, e->block_size[!axis]);
    count_end(e, &z, 1, e->block_size[2]);
}

static LLVMValueRef block_threads(struct emitter *e)
{
    LLVMValueRef rows = LLVMBuildMul(e->builder, e->block_size[1],
                                     e->block_size[2], "");
    return LLVMBuildMul(e->builder, rows, e->block_size[0], "");
}

static void emit_packed(struct emitter *e, const struct gangs *gangs,
                        int barrier)
{
    LLVMValueRef threads = block_threads(e);
    struct counting t = count_begin(e);
    e->first = t.index;
    e->active = lanes_among(e, threads, t.index);
    next_frame(e, gangs);
    if (barrier == NONE)
        emit_first_region(e, gangs->pending);
    else
        emit_region(e, barrier);
    count_end(e, &t, e->width, threads);
}

static void emit_block(struct emitter *e, const struct gangs *gangs,
                       int barrier)
{
    if (e->variant->rows)
        emit_rows(e, gangs, barrier);
    else
        emit_packed(e, gangs, barrier);
}

static void emit_all(struct emitter *e, const struct gangs *gangs,
                     int barrier)
{
    LLVMBuildStore(e->builder, number32(e, 0), gangs->count);
    if (!e->coarse.used || e->coarse.rows) {
        emit_block(e, gangs, barrier);
        return;
    }
    struct counting block = count_begin(e);
    coarsen_use_block(e, block.index, gangs->frames);
    emit_block(e, gangs, barrier);
    count_end(e, &block, 1, e->coarse.count);
}

// --- Phases: from one barrier to the next ------------------------------------

// All votes have been cast; the next barrier's start from nothing.
static void begin_phase(struct emitter *e, const struct gangs *gangs)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef from[] = {e->vote_count, e->vote_total};
    LLVMValueRef to[] = {e->voted_count, e->voted_total};
    LLVMBuildStore(b, number32(e, 0), gangs->pending);
    for (unsigned i = 0; i < 2 && e->vote_count; i++) {
        LLVMBuildStore(b, LLVMBuildLoad2(b, e->i32, from[i], ""), to[i]);
        LLVMBuildStore(b, number32(e, 0), from[i]);
    }
}

// Runs a region for gangs `first` ... `end` - 1.
static void emit_phase_region(struct emitter *e, const struct gangs *gangs,
                              int barrier, LLVMValueRef first,
                              LLVMValueRef end)
{
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef head = append(e, "gang"), next = append(e, "gangs.end");
    LLVMValueRef memory = variable(e, e->i32, "gang");
    LLVMBuildStore(b, first, memory);
    LLVMBuildBr(b, head);
    position(e, head);
    LLVMValueRef index = LLVMBuildLoad2(b, e->i32, memory, "");
    LLVMValueRef frame = e->frame = frame_at(e, gangs, index);
    place_private_memory(e);
    e->active = load32(e, frame, FRAME_ACTIVE);
    e->first = load32(e, frame, FRAME_FIRST);
    for (unsigned i = 0; i < 3 && e->variant->rows; i++)
        e->thread[i] = load32(e, frame, FRAME_X + 4 * i);
    emit_region(e, barrier);
    LLVMValueRef exit = LLVMBuildLoad2(b, e->i32, e->exit, "");
    store32(e, exit, frame, FRAME_EXIT);
    LLVMValueRef all = LLVMBuildLoad2(b, e->i32, gangs->pending, "");
    LLVMBuildStore(b, LLVMBuildOr(b, all, exit, ""), gangs->pending);
    index = LLVMBuildAdd(b, LLVMBuildLoad2(b, e->i32, memory, ""),
                         number32(e, 1), "");
    LLVMBuildStore(b, index, memory);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, index, end, ""), head,
                    next);
    position(e, next);
}

// Where the gangs that are at the same barrier as gang `first` end.
static LLVMValueRef find_end(struct emitter *e, const struct gangs *gangs,
                             LLVMValueRef first, LLVMValueRef count,
                             LLVMValueRef exit)
{
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef test = append(e, "scan"), look = append(e, "look");
    LLVMBasicBlockRef end = append(e, "scanned");
    LLVMValueRef memory = variable(e, e->i32, "end");
    LLVMBuildStore(b, first, memory);
    LLVMBuildBr(b, test);
    position(e, test);
    LLVMValueRef index = LLVMBuildAdd(b, LLVMBuildLoad2(b, e->i32, memory, ""),
                                      number32(e, 1), "");
    LLVMBuildStore(b, index, memory);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, index, count, ""), look,
                    end);
    position(e, look);
    LLVMValueRef other = load32(e, frame_at(e, gangs, index), FRAME_EXIT);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, other, exit, ""), test,
                    end);
    position(e, end);
    return index;
}

static void emit_phase(struct emitter *e, const struct gangs *gangs)
{
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef head = append(e, "run"), next = append(e, "run.next");
    LLVMBasicBlockRef end = append(e, "round.end");
    LLVMValueRef memory = variable(e, e->i32, "first");
    LLVMValueRef count = LLVMBuildLoad2(b, e->i32, gangs->count, "");
    begin_phase(e, gangs);
    LLVMBuildStore(b, number32(e, 0), memory);
    LLVMBuildBr(b, head);
    position(e, head);
    LLVMValueRef first = LLVMBuildLoad2(b, e->i32, memory, "");
    LLVMValueRef exit =
        load32(e, frame_at(e, gangs, first), FRAME_EXIT);
    LLVMValueRef last = find_end(e, gangs, first, count, exit);
    LLVMBuildStore(b, last, memory);
    LLVMValueRef where =
        LLVMBuildSwitch(b, exit, next, e->kernel->barrier_count);
    for (unsigned i = 0; i < e->kernel->barrier_count; i++) {
        LLVMBasicBlockRef region = append(e, "region");
        LLVMAddCase(where, number32(e, i + 1), region);
        position(e, region);
        emit_phase_region(e, gangs, (int)i, first, last);
        LLVMBuildBr(b, next);
    }
    position(e, next);
    LLVMValueRef more = LLVMBuildICmp(b, LLVMIntULT, last, count, "");
    LLVMBuildCondBr(b, more, head, end);
    position(e, end);
}

static void emit_phases(struct emitter *e, const struct gangs *gangs)
{
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef test = append(e, "barrier"), phase = append(e, "round");
    LLVMBasicBlockRef end = append(e, "block.end");
    LLVMBuildBr(b, test);
    position(e, test);
    LLVMValueRef pending = LLVMBuildLoad2(b, e->i32, gangs->pending, "");
    LLVMValueRef any =
        LLVMBuildICmp(b, LLVMIntNE, pending, number32(e, 0), "");
    LLVMBuildCondBr(b, any, phase, end);
    position(e, phase);
    emit_phase(e, gangs);
    LLVMBuildBr(b, test);
    position(e, end);
}

// --- Phases with uniform barriers: all gangs together ------------------------

static void next_common(struct emitter *e)
{
    for (unsigned s = 0; s < e->kernel->slot_count; s++)
        if (e->common_in[s])
            LLVMBuildStore(e->builder,
                           LLVMBuildLoad2(e->builder, e->kernel->slots[s].type,
                                          e->common_out[s], ""),
                           e->common_in[s]);
}

// Leaves a phase: a single successor is reached by a plain branch, so that LLVM
// sees the order of regions.
static void end_phase(struct emitter *e, LLVMBasicBlockRef *regions)
{
    LLVMBuilderRef b = e->builder;
    unsigned count = e->kernel->barrier_count, ways = 0, way = 0;
    for (unsigned i = 0; i <= count; i++)
        if (set_has(&e->exits, i)) {
            ways++;
            way = i;
        }
    if (ways == 1) {
        LLVMBuildBr(b, regions[way]);
        return;
    }
    LLVMValueRef exit = LLVMBuildLoad2(b, e->i32, e->exit, "");
    LLVMValueRef where = LLVMBuildSwitch(b, exit, regions[0], count);
    for (unsigned i = 1; i <= count; i++)
        if (set_has(&e->exits, i))
            LLVMAddCase(where, number32(e, i), regions[i]);
}

// Region 0 is the end of the block.
static void emit_uniform_phases(struct emitter *e, const struct gangs *gangs)
{
    unsigned count = e->kernel->barrier_count;
    LLVMBasicBlockRef *regions = simt_allocate((count + 1) * sizeof *regions);
    for (unsigned i = 0; i <= count; i++)
        regions[i] = append(e, i > 0 ? "region" : "block.end");
    end_phase(e, regions);
    for (unsigned i = 1; i <= count; i++) {
        position(e, regions[i]);
        begin_phase(e, gangs);
        next_common(e);
        e->exits = set_create(count + 1);
        emit_all(e, gangs, (int)i - 1);
        end_phase(e, regions);
    }
    position(e, regions[0]);
}

// --- Frames -----------------------------------------------------------------

static bool needs_frame(const struct emitter *e)
{
    return has_head(e) || frame_keeps_slots(e);
}

static void place_on_stack(struct emitter *e)
{
    for (unsigned s = 0; s < e->kernel->slot_count; s++) {
        const struct slot *slot = &e->kernel->slots[s];
        if (slot->kind != SLOT_COMPLEX || e->offsets[s])
            continue;
        e->private_memory[s] =
            variable(e, LLVMArrayType2(slot->type, lanes_of_private_memory(e)),
                     "private");
        LLVMSetAlignment(e->private_memory[s], 64);
    }
}

// --- The function ------------------------------------------------------------

// The optimiser need not ask whether there is a iteration of a loop over gangs.
static LLVMValueRef read_block_size(struct emitter *e, unsigned axis)
{
    LLVMValueRef size = run_field(e, offsetof(rnl_cpu_block, block), axis);
    set_range(size, 1, THREADS_MOST + 1);
    return size;
}

static void read_launch(struct emitter *e)
{
    e->arguments = LLVMBuildLoad2(
        e->builder, e->pointer,
        at_offset(e, e->run, offsetof(rnl_cpu_block, arguments)), "");
    for (unsigned i = 0; i < 3; i++) {
        e->grid_size[i] = run_field(e, offsetof(rnl_cpu_block, grid), i);
        e->block_size[i] =
            e->kernel->fixed
                ? number32(e, e->kernel->fixed[i])
                : read_block_size(e, i);
    }
    // The shape that the variant is chosen for.
    if (e->variant->thin)
        e->block_size[0] = number32(e, 1);
    if (e->variant->row)
        e->block_size[lanes_axis(e->variant)] = number32(e, e->variant->row);
    if (e->variant->whole)
        e->block_size[0] = LLVMBuildAnd(e->builder, e->block_size[0],
                                        number32(e, ~(e->width - 1)), "");
}

static LLVMValueRef call_prelude(struct emitter *e, const char *name,
                                 LLVMValueRef *arguments, unsigned count)
{
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    if (!function) {
        e->kernel->refusal = "the prelude is not the one for vectors";
        return LLVMConstNull(e->pointer);
    }
    return LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(function),
                          function, arguments, count, "");
}

// Bytes that a block needs.
static LLVMValueRef frames_size(struct emitter *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef size = number32(e, needs_frame(e) ? e->frame_size : 0);
    if (!needs_frame(e) || e->kernel->barrier_count == 0)
        return size;
    unsigned axis = lanes_axis(e->variant);
    LLVMValueRef row = e->block_size[axis];
    LLVMValueRef rows =
        LLVMBuildMul(b, e->block_size[!axis], e->block_size[2], "");
    LLVMValueRef gangs = LLVMBuildUDiv(
        b, LLVMBuildAdd(b, row, number32(e, e->width - 1), ""),
        number32(e, e->width), "");
    return LLVMBuildMul(b, LLVMBuildMul(b, rows, gangs, ""), size, "");
}

// If each gang has code of its own, frames are variables of that code, which
// LLVM may keep in registers.
static LLVMValueRef frames_on_stack(struct emitter *e, uint64_t size)
{
    LLVMValueRef frames =
        variable(e, LLVMArrayType2(e->i8, size), "frames");
    LLVMSetAlignment(frames, 64);
    return frames;
}

static LLVMValueRef get_frames(struct emitter *e)
{
    LLVMValueRef size = frames_size(e);
    if (e->coarse.used)
        size = coarsen_find_most(e, block_threads(e), size);
    if (LLVMIsNull(size))
        return NULL;
    if (e->unrolls && !e->coarse.used &&
        LLVMConstIntGetZExtValue(size) <= FRAMES_MOST)
        return frames_on_stack(e, LLVMConstIntGetZExtValue(size));
    LLVMValueRef arguments[] = {
        e->run, LLVMBuildZExt(e->builder, size, e->i64, "")};
    return call_prelude(e, "rnl_scratch", arguments, 2);
}

// Ends the lifetime of the block's shared memory, so that LLVM may delete the
// last stores.
static void end_shared(struct emitter *e)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(e->module); g && !e->coarse.used;
         g = LLVMGetNextGlobal(g)) {
        LLVMValueRef address = map_get(&e->shared, g);
        if (!address || LLVMGetVisibility(g) != LLVMHiddenVisibility)
            continue;
        uint64_t size = LLVMABISizeOfType(e->kernel->layout,
                                          LLVMGlobalGetValueType(g));
        LLVMValueRef arguments[] = {number64(e, size), address};
        call_intrinsic(e, "llvm.lifetime.end", &e->pointer, 1, arguments, 2);
    }
}

static void emit_blocks(struct emitter *e)
{
    LLVMBuilderRef b = e->builder;
    LLVMBasicBlockRef head = append(e, "block"), end = append(e, "end");
    LLVMBasicBlockRef next = append(e, "advance");
    struct gangs gangs = {.count = variable(e, e->i32, "count"),
                            .pending = variable(e, e->i32, "pending")};
    LLVMValueRef left = variable(e, e->i64, "left");
    read_launch(e);
    if (lanes_axis(e->variant))
        block_index_transpose(e);
    gangs.frames = get_frames(e);
    LLVMBuildStore(b, LLVMGetParam(e->function, 1), left);
    e->begin = LLVMGetInsertBlock(b);
    LLVMBuildBr(b, head);
    position(e, head);
    for (unsigned i = 0; i < 3; i++)
        e->block_index[i] = run_field(e, offsetof(rnl_cpu_block, index), i);
    LLVMValueRef most = LLVMBuildLoad2(b, e->i64, left, "");
    LLVMValueRef count = number64(e, 1);
    bool several = e->coarse.used || e->variant->along == LANES_BLOCKS;
    if (several)
        count = coarsen_begin(e, most);
    LLVMBuildStore(b, number32(e, 0), gangs.pending);
    if (kernel_calls_prelude(e->kernel))
        call_prelude(e, "rnl_enter", &e->run, 1);
    e->exits = set_create(e->kernel->barrier_count + 1);
    emit_all(e, &gangs, NONE);
    if (e->uniform_barriers)
        emit_uniform_phases(e, &gangs);
    else if (e->kernel->barrier_count > 0)
        emit_phases(e, &gangs);
    end_shared(e);
    LLVMValueRef fewer = LLVMBuildSub(b, most, count, "");
    LLVMBuildStore(b, fewer, left);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntNE, fewer, number64(e, 0), ""),
                    next, end);
    position(e, next);
    if (several)
        coarsen_end(e);
    block_index_advance(e);
    LLVMBuildBr(b, head);
    position(e, end);
    nontemporal_fence(e);
    LLVMBuildRetVoid(b);
}

static void make_variables(struct emitter *e)
{
    unsigned slots = e->kernel->slot_count;
    e->slots = simt_allocate(slots * sizeof *e->slots);
    e->private_memory = simt_allocate(slots * sizeof *e->private_memory);
    e->exit = variable(e, e->i32, "exit");
    e->common_in = simt_allocate(slots * sizeof *e->common_in);
    e->common_out = simt_allocate(slots * sizeof *e->common_out);
    for (unsigned s = 0; s < slots; s++)
        if (e->kernel->slots[s].kept && slot_is_common(e, s)) {
            LLVMTypeRef type = e->kernel->slots[s].type;
            e->common_in[s] = variable(e, type, "common");
            e->common_out[s] = variable(e, type, "common.next");
        }
    place_on_stack(e);
    if (!kernel_counts_votes(e->kernel))
        return;
    LLVMValueRef *votes[] = {&e->vote_count, &e->vote_total, &e->voted_count,
                             &e->voted_total};
    for (unsigned i = 0; i < 4; i++) {
        *votes[i] = variable(e, e->i32, "votes");
        LLVMBuildStore(e->builder, number32(e, 0), *votes[i]);
    }
}

LLVMValueRef emit_variant(struct kernel *kernel, const struct variant *variant)
{
    struct emitter e = {.kernel = kernel, .variant = variant,
                        .width = variant->width, .compact = variant->compact,
                        .context = kernel->context, .module = kernel->module};
    e.shapes = (struct shapes){.kernel = kernel, .variant = variant};
    shapes_find(&e.shapes);
    emitter_types(&e);
    e.function = emitter_function(
        &e, simt_format("rnl_%s_%u", variant->name, kernel->number), NULL);
    LLVMSetLinkage(e.function, LLVMInternalLinkage);
    e.builder = LLVMCreateBuilderInContext(e.context);
    debug_lines_begin(&e);
    e.entry = append(&e, "entry");
    LLVMBasicBlockRef begin = append(&e, "begin");
    position(&e, begin);
    e.run = LLVMGetParam(e.function, 0);
    e.uniform_barriers = uniform_barriers_find(&e);
    frame_lay_out(&e);
    e.unrolls = e.uniform_barriers && gangs_are_unrolled(&e);
    make_variables(&e);
    emit_blocks(&e);
    position(&e, e.entry);
    LLVMBuildBr(e.builder, begin);
    LLVMDisposeBuilder(e.builder);
    return e.function;
}
