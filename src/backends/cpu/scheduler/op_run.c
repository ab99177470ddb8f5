#include "backends/cpu/jit/module.h"
#include "backends/cpu/jit/specialise.h"
#include "backends/cpu/kernel/block.h"
#include "backends/cpu/kernel/stop.h"
#include "backends/cpu/scheduler/graph_plan.h"
#include "backends/cpu/scheduler/parallel_for.h"
#include "backends/cpu/scheduler/pool.h"
#include "backends/cpu/scheduler/queue.h"
#include "backends/cpu/scheduler/tuning.h"
#include "base/clock.h"
#include "base/fail.h"
#include "core/module/function.h"
#include "core/object/buffer_object.h"
#include "core/object/object.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MSAN_NOTES_WRITES
#include <sanitizer/msan_interface.h>
#endif

static uint64_t volume(const rnl_dim3 *dim)
{
    return (uint64_t)dim->x * dim->y * dim->z;
}

bool op_is_small(const struct op *op)
{
    switch (op->kind) {
    case OP_KERNEL:
        return volume(&op->kernel.grid) * volume(&op->kernel.block) <=
                   SMALL_THREADS &&
               !(op->kernel.function->native_flags & RNL_NATIVE_PROMPT);
    case OP_COPY:
        return op->copy.width * op->copy.height * op->copy.depth <=
               SMALL_BYTES;
    case OP_FILL:
        return op->fill.width * op->fill.height * op->fill.depth <=
               SMALL_BYTES;
    case OP_HOST:
        return false;  // only a worker may run it
    case OP_GRAPH:
        return plan_is_small(op_plan(op));
    default:
        return true;
    }
}

static bool kernel_is_short(const struct op_kernel *kernel)
{
    const struct cpu_function *function = function_native(kernel->function);
    return !kernel->function->native_fn &&
           function->kernel->flags & RNL_CPU_KERNEL_SHORT;
}

bool op_is_short(const struct op *op)
{
    if (op->kind == OP_KERNEL && !kernel_is_short(&op->kernel))
        return false;
    if (op->kind == OP_GRAPH)
        return plan_is_short(op_plan(op));
    // A deleter may take any time.
    return op_is_small(op) && (op->kind != OP_RELEASE || op_calls_nobody(op));
}

// --- Kernels ---------------------------------------------------------------

// A status that is no error of Runnel must look like neither error nor success.
rnl_status op_call_failed(const struct op *op, rnl_status status,
                          char *message)
{
    bool known = status_is_error(status);
    if (native_failure_take(op, status, message, FAILURE_MESSAGE_SIZE))
        return known ? status : RNL_ERROR_LAUNCH_FAILED;
    if (known)
        snprintf(message, FAILURE_MESSAGE_SIZE,
                 "the native function returned %s: %s", rnl_status_name(status),
                 rnl_status_text(status));
    else
        snprintf(message, FAILURE_MESSAGE_SIZE,
                 "the native function returned %d, which is no error of Runnel",
                 (int)status);
    return known ? status : RNL_ERROR_LAUNCH_FAILED;
}

static rnl_native_call native_call_of(const struct op_kernel *kernel)
{
    return (rnl_native_call){
        .struct_size = sizeof(rnl_native_call),
        .grid = kernel->grid, .block = kernel->block, .block_count = 1,
        .arguments = kernel->arguments, .shared_size = kernel->shared_size,
        .user_data = kernel->function->user_data,
    };
}

static __attribute__((noinline)) rnl_status
call_waiting(struct pool *pool, const struct function *function,
             const rnl_native_call *call)
{
    pool_block_begin(pool);
    rnl_status status = function->native_fn(call);
    pool_block_end(pool);
    return status;
}

// Inlined, because small functions are called often.
static inline __attribute__((always_inline)) rnl_status
call_native(struct pool *pool, const struct op *op,
            const rnl_native_call *call, char *message)
{
    const struct function *function = op->kernel.function;
    callback_begin();
    rnl_status status =
        __builtin_expect(function->native_flags & RNL_NATIVE_WAITS, 0)
            ? call_waiting(pool, function, call)
            : function->native_fn(call);
    callback_end();
    return status ? op_call_failed(op, status, message) : RNL_OK;
}

static rnl_status run_native(const struct parallel_for *loop, uint64_t first,
                             uint64_t count, char *message)
{
    const struct op_kernel *kernel = &loop->op->kernel;
    void *shared = NULL;
    if (kernel->shared_size > 0 &&
        posix_memalign(&shared, 64, kernel->shared_size) != 0) {
        snprintf(message, FAILURE_MESSAGE_SIZE,
                 "there is no memory for %zu bytes of shared memory",
                 kernel->shared_size);
        return RNL_ERROR_OUT_OF_MEMORY;
    }
    rnl_native_call call = native_call_of(kernel);
    call.first_block = first;
    call.block_count = count;
    call.shared = shared;
    rnl_status status = call_native(stream_pool(loop->queue->stream), loop->op,
                                    &call, message);
    free(shared);
    return status;
}

static void note_writes(const struct op *op)
{
#if MSAN_NOTES_WRITES
    for (size_t i = 0; i < op->kept_count; i++) {
        struct buffer *buffer = (struct buffer *)op->kept[i];
        if (buffer->object.class->kind == OBJECT_BUFFER)
            __msan_unpoison(buffer->memory.host, buffer->size);
    }
#endif
    (void)op;
}

static bool is_cooperative(const struct op_kernel *kernel)
{
    for (size_t i = 0; i < kernel->attribute_count; i++)
        if (kernel->attributes[i].id == RNL_LAUNCH_COOPERATIVE &&
            kernel->attributes[i].value.cooperative)
            return true;
    return false;
}

// The rank of a launch: its own priority, else its stream's. The launch begins
// in its stream's turn; then workers prefer it to launches of lower rank.
static unsigned rank_of(const struct op *op, const struct stream *stream)
{
    for (size_t i = 0;
         op->kind == OP_KERNEL && i < op->kernel.attribute_count; i++)
        if (op->kernel.attributes[i].id == RNL_LAUNCH_PRIORITY)
            return pool_rank(op->kernel.attributes[i].value.priority);
    return pool_rank(stream->priority);
}

// As it is without a specialised version and clusters.
static struct kernel_run kernel_run_of(const struct op_kernel *kernel)
{
    const struct cpu_function *function = function_native(kernel->function);
    return (struct kernel_run){
        .object = function->object, .kernel = function->kernel,
        .code = function->code,
        .grid = kernel->grid, .block = kernel->block,
        .shared_size = kernel->shared_size, .arguments = kernel->arguments,
        .cooperative = is_cooperative(kernel),
    };
}

static rnl_status run_blocks(const struct parallel_for *loop, uint64_t first,
                             uint64_t count, char *message)
{
    const struct op_kernel *kernel = &loop->op->kernel;
    const struct cpu_function *function = function_native(kernel->function);
    struct kernel_run run = kernel_run_of(kernel);
    if (loop->specialised)
        specialised_use(function->specialised, &run);
    run.scope = &loop->scope;
    run.cluster = kernel->cluster;
    callback_begin();
    rnl_status status =
        block_run(&run, first, count, message, FAILURE_MESSAGE_SIZE);
    callback_end();
    note_writes(loop->op);
    return status;
}

// Parts of rows of the grid as units: the blocks of a part are neighbours.
static rnl_status run_across(const struct parallel_for *loop, uint64_t first,
                             uint64_t count, char *message)
{
    uint64_t size = loop->unit, from = first * size;
    uint64_t left = volume(&loop->op->kernel.grid) - from;
    count *= size;
    return run_blocks(loop, from, count < left ? count : left, message);
}

// How many blocks are best run together where lanes are blocks: a row of the
// grid, or less of it, so that a small grid is shared.
static uint64_t blocks_across(const struct pool *pool, const rnl_dim3 *grid,
                              bool rows)
{
    uint64_t most = rows ? ACROSS_MOST : ACROSS_LEAST;
    uint64_t size = grid->x < most ? grid->x : most;
    while (size > ACROSS_LEAST &&
           volume(grid) / size < (uint64_t)ACROSS_UNITS * pool->width)
        size /= 2;
    return size;
}

// The grid as one unit.
static rnl_status run_grid(const struct parallel_for *loop, uint64_t first,
                           uint64_t count, char *message)
{
    uint64_t blocks = volume(&loop->op->kernel.grid);
    return run_blocks(loop, first * blocks, count * blocks, message);
}

static void plan_across(const struct pool *pool, struct parallel_for *loop,
                        const struct op_kernel *kernel, bool rows)
{
    if (kernel->block.x > 1 || kernel->grid.x < ACROSS_LEAST / 2 ||
        volume(&kernel->cluster) > 1 ||
        (!loop->specialised && kernel->block.y < ACROSS_TALL))
        return;
    loop->unit = blocks_across(pool, &kernel->grid, rows);
    loop->total = (loop->total + loop->unit - 1) / loop->unit;
    loop->run = run_across;
}

// The flags of the code to run; 0 for a C function.
static uint32_t flags_of(const struct parallel_for *loop,
                         const struct cpu_function *function)
{
    if (loop->run != run_blocks)
        return 0;
    return loop->specialised ? specialised_flags(function->specialised)
                           : function->kernel->flags;
}

static void plan_kernel(const struct pool *pool, struct parallel_for *loop,
                        const struct op_kernel *kernel)
{
    struct cpu_function *function = function_native(kernel->function);
    const rnl_dim3 *cluster = &kernel->cluster;
    loop->total = volume(&kernel->grid);
    loop->history = &function->history;
    loop->specialised =
        function->specialised &&
        specialised_is_ready(function->specialised, kernel->block);
    if ((cluster->x | cluster->y | cluster->z) > 1)
        loop->total /= volume(cluster);
    loop->run = kernel->function->native_fn ? run_native : run_blocks;
    uint32_t flags = flags_of(loop, function);
    loop->in_rows = flags & RNL_CPU_KERNEL_STRIDES;
    if (loop->run == run_blocks && is_cooperative(kernel) &&
        block_needs_grid(function->object, function->kernel)) {
        loop->total = 1;
        loop->run = run_grid;
    } else if (flags & RNL_CPU_KERNEL_ACROSS) {
        plan_across(pool, loop, kernel, flags & RNL_CPU_KERNEL_ROWS);
    }
}

// --- Kernels of one block --------------------------------------------------

bool op_quick_call(const struct op *op, rnl_native_call *out_call)
{
    if (op->kind != OP_KERNEL || !op->kernel.function->native_fn ||
        volume(&op->kernel.grid) != 1 || op->kernel.shared_size > 0)
        return false;
    *out_call = native_call_of(&op->kernel);
    return true;
}

bool op_quick_run(const struct op *op, struct kernel_run *out_run)
{
    if (MSAN_NOTES_WRITES || op->kind != OP_KERNEL ||
        op->kernel.function->native_fn || volume(&op->kernel.grid) != 1)
        return false;
    *out_run = kernel_run_of(&op->kernel);
    return block_can_follow(out_run, out_run);
}

// --- Copies and fills ------------------------------------------------------

static size_t unit_of(size_t size)
{
    return size >= 4 * UNIT_LARGE ? UNIT_LARGE : UNIT_SMALL;
}

// Bytes `first` … of `count` units of a one-dimensional range, cut to `size`.
static size_t unit_range(size_t size, uint64_t first, uint64_t count,
                         size_t *out_offset)
{
    size_t unit = unit_of(size);
    size_t offset = (size_t)first * unit;
    size_t left = size - offset;
    *out_offset = offset;
    return count * unit < left ? (size_t)count * unit : left;
}

static rnl_status copy_line(const struct parallel_for *loop, uint64_t first,
                            uint64_t count, char *message)
{
    (void)message;
    const struct op_copy *copy = &loop->op->copy;
    size_t offset;
    size_t size = unit_range(copy->width, first, count, &offset);
    memcpy(copy->to + offset, copy->from + offset, size);
    return RNL_OK;
}

static rnl_status copy_rows(const struct parallel_for *loop, uint64_t first,
                            uint64_t count, char *message)
{
    (void)message;
    const struct op_copy *copy = &loop->op->copy;
    for (uint64_t i = first; i < first + count; i++) {
        size_t z = (size_t)(i / copy->height), y = (size_t)(i % copy->height);
        memcpy(copy->to + z * copy->to_slice + y * copy->to_row,
               copy->from + z * copy->from_slice + y * copy->from_row,
               copy->width);
    }
    return RNL_OK;
}

static void fill_bytes(char *to, size_t size, uint64_t pattern, size_t unit)
{
    if (unit == 1 || pattern == 0) {
        memset(to, (int)(pattern & 0xff), size);
        return;
    }
    // Doubling the filled part keeps memcpy's speed for any pattern.
    memcpy(to, &pattern, unit);
    size_t done = unit, most = 32 << 10;
    while (done < size) {
        size_t part = done < most ? done : most;
        part = part < size - done ? part : size - done;
        memcpy(to + done, to, part);
        done += part;
    }
}

static uint64_t low_bytes(const struct op_fill *fill)
{
    return fill->pattern_size == 8
               ? fill->pattern
               : fill->pattern & ((UINT64_C(1) << fill->pattern_size * 8) - 1);
}

static rnl_status fill_line(const struct parallel_for *loop, uint64_t first,
                            uint64_t count, char *message)
{
    (void)message;
    const struct op_fill *fill = &loop->op->fill;
    size_t offset;
    size_t size = unit_range(fill->width, first, count, &offset);
    fill_bytes(fill->to + offset, size, low_bytes(fill), fill->pattern_size);
    return RNL_OK;
}

static rnl_status fill_rows(const struct parallel_for *loop, uint64_t first,
                            uint64_t count, char *message)
{
    (void)message;
    const struct op_fill *fill = &loop->op->fill;
    for (uint64_t i = first; i < first + count; i++)
        fill_bytes(fill->to + (i / fill->height) * fill->slice +
                       (i % fill->height) * fill->row,
                   fill->width, low_bytes(fill), fill->pattern_size);
    return RNL_OK;
}

// --- Which and how ---------------------------------------------------------

static uint64_t units_of(size_t width, uint64_t rows)
{
    return rows > 1 ? rows : (width + unit_of(width) - 1) / unit_of(width);
}

// Fills in `run` and `total`; true when the op should be shared from the start.
static bool plan(const struct pool *pool, struct parallel_for *loop,
                 const struct op *op)
{
    if (op->kind == OP_KERNEL) {
        plan_kernel(pool, loop, &op->kernel);
        return false;
    }
    bool copies = op->kind == OP_COPY;
    size_t width = copies ? op->copy.width : op->fill.width;
    uint64_t rows = copies ? op->copy.height * op->copy.depth
                           : op->fill.height * op->fill.depth;
    if (copies)
        loop->run = rows > 1 ? copy_rows : copy_line;
    else
        loop->run = rows > 1 ? fill_rows : fill_line;
    loop->total = units_of(width, rows);
    size_t unit = rows > 1 ? width : unit_of(width);
    loop->share_most = unit < SHARE_BYTES ? SHARE_BYTES / unit : 1;
    return width * rows >= PARALLEL_BYTES;
}

// NULL for small ops, whose time would not pay for a compilation.
static struct specialised *watched(const struct op *op)
{
    if (op->kind != OP_KERNEL || op->kernel.function->native_fn)
        return NULL;
    struct cpu_function *function = function_native(op->kernel.function);
    return function->specialised && specialised_waits(function->specialised) &&
                   !op_is_small(op)
               ? function->specialised
               : NULL;
}

rnl_status op_perform(struct pool *pool, struct queue *queue,
                      const struct op *op, char *message)
{
    rnl_native_call call;
    if (op_quick_call(op, &call))
        return call_native(pool, op, &call, message);
    struct parallel_for loop;
    struct watchdog *watchdog = &pool->watchdog;
    uint64_t limit = op->kind == OP_KERNEL ? watchdog->limit_ns : 0;
    loop.queue = queue;
    loop.op = op;
    loop.rank = rank_of(op, queue->stream);
    loop.share_most = 0;
    loop.scope = (struct stop_scope){
        queue, limit ? clock_deadline(limit) : 0, watchdog};
    loop.in_rows = false;
    loop.unit = 1;
    loop.open = false;
    loop.history = NULL;
    loop.take = NULL;
    loop.any = NULL;
    loop.waits_outside = false;
    loop.status = RNL_OK;
    atomic_init(&loop.taken, 0);
    atomic_init(&loop.participants, 1);
    atomic_init(&loop.failed, 0);
    atomic_init(&loop.spent, 0);
    atomic_init(&loop.long_ticks, 0);
    atomic_init(&loop.long_units, 0);
    bool parallel = plan(pool, &loop, op);
    struct specialised *specialised = watched(op);
    uint64_t start = specialised ? clock_now() : 0;
    rnl_status status = parallel_for_run(pool, &loop, parallel);
    if (specialised && status == RNL_OK)
        specialised_note(specialised, op->kernel.block, clock_now() - start);
    if (status != RNL_OK)
        memcpy(message, loop.message, FAILURE_MESSAGE_SIZE);
    return status;
}
