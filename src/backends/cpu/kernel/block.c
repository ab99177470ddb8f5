#include "backends/cpu/kernel/block.h"

#include "backends/cpu/kernel/block_threads.h"
#include "backends/cpu/kernel/fault.h"
#include "backends/cpu/kernel/fiber.h"
#include "backends/cpu/kernel/float_mode.h"
#include "backends/cpu/kernel/guarded.h"
#include "backends/cpu/kernel/stop.h"
#include "backends/cpu/kernel/tuning.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

// Next to their own variables, kernels access block memory most.
static _Thread_local char *block_memory
    __attribute__((tls_model("initial-exec")));
static _Thread_local struct runner *thread_worker
    __attribute__((tls_model("initial-exec")));

// --- Scheduling ------------------------------------------------------------

static void run_blocks(void *argument);

static void resume(struct runner *runner, struct fiber *fiber)
{
    struct fiber *left = runner->current;
    if (fiber == left)
        return;
    runner->current = fiber;
    fiber_switch(left, fiber);
}

static void resume_waiter(struct runner *runner, struct block_waiter *waiter)
{
    runner->warps[waiter->thread / WARP_SIZE].suspended &=
        ~(UINT32_C(1) << waiter->thread % WARP_SIZE);
    resume(runner, waiter->fiber);
}

// A fiber for threads that have not begun; NULL when memory is short.
static struct fiber *take_idle(struct runner *runner)
{
    struct fiber *fiber = runner->idle;
    if (fiber) {
        runner->idle = fiber->next;
    } else {
        fiber = fiber_create(run_blocks, runner);
        if (!fiber)
            return NULL;
        fiber->next_made = runner->made;
        runner->made = fiber;
        runner->fiber_count++;
    }
    fiber->busy = true;
    return fiber;
}

static void put_idle(struct runner *runner, struct fiber *fiber)
{
    fiber->busy = false;
    fiber->next = runner->idle;
    runner->idle = fiber;
}

static uint32_t suspended_count(const struct runner *runner)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w * WARP_SIZE < runner->block.thread_count; w++)
        count += (uint32_t)__builtin_popcount(runner->warps[w].suspended);
    return count;
}

// Some spin, and no other thread of the block can go on.
static void release_yielded(struct runner *runner)
{
    // They may be waiting for another block on another OS thread.
    if (++runner->futile_yields % 64 == 0)
        sched_yield();
    if (runner->grid)
        grid_pass(runner);
    else
        waiter_queue_move(&runner->yielded, &runner->ready);
}

// No thread is ready and all have begun: lets go whom the rules allow to, or
// goes to another block of the grid.
static void release_some(struct runner *runner)
{
    if (warp_release_ended(runner))
        return;
    uint32_t suspended = suspended_count(runner);
    if (runner->barrier.count && runner->barrier.count == suspended)
        barrier_release(runner);
    else if (warp_release_active(runner))
        return;
    else if (runner->at_grid.count && runner->at_grid.count == suspended)
        grid_arrive(runner);
    else if (runner->at_cluster.count &&
             runner->at_cluster.count + runner->barrier.count == suspended)
        grid_meet(runner);
    else if (runner->yielded.first)
        release_yielded(runner);
    else
        barrier_fail(runner);
}

static bool has_begun_all(const struct runner *runner)
{
    return runner->block.next_thread >= runner->block.thread_count;
}

// Resumes any thread that can run: ready ones first, because they keep the
// number of stacks small. Returns when the caller is resumed.
static void run_another(struct runner *runner, uint32_t thread)
{
    if (!runner->ready.first && has_begun_all(runner))
        release_some(runner);
    if (runner->ready.first) {
        resume_waiter(runner, waiter_queue_take(&runner->ready));
        return;
    }
    struct fiber *fiber = take_idle(runner);
    if (!fiber)
        runner_fail(runner, RNL_ERROR_OUT_OF_MEMORY, thread,
                    "no memory for another stack; %zu threads have one",
                    runner->fiber_count);
    resume(runner, fiber);
}

void runner_wait(struct runner *runner, struct block_waiter *self)
{
    rnl_cpu_block *block = &runner->block;
    stop_here(runner, self->thread);
    self->fiber = runner->current;
    runner->warps[self->thread / WARP_SIZE].suspended |=
        UINT32_C(1) << self->thread % WARP_SIZE;
    block->epoch++;
    if (self->thread >= block->next_thread)
        block->next_thread = self->thread + 1;
    run_another(runner, self->thread);
}

// --- Blocks ----------------------------------------------------------------

static void start_block(struct runner *runner)
{
    runner->block.next_thread = 0;
    runner->futile_yields = 0;
}

static void next_block(struct runner *runner)
{
    rnl_cpu_block *block = &runner->block;
    runner->blocks_left--;
    for (int axis = 0; axis < 3; axis++) {
        if (++block->index[axis] < block->grid[axis])
            break;
        block->index[axis] = 0;
    }
    start_block(runner);
}

// All threads that this fiber could take have ended. Returns when there are
// threads to run again.
static void finish_threads(struct runner *runner)
{
    struct fiber *self = runner->current;
    bool more = suspended_count(runner) > 0 ||
                (runner->grid && grid_end(runner));
    if (more) {
        put_idle(runner, self);
        run_another(runner, runner->block.thread_count - 1);
    } else if (runner->blocks_left > 0) {
        next_block(runner);
    } else {
        put_idle(runner, self);
        resume(runner, &runner->native);
    }
}

bool block_needs_grid(const rnl_cpu_object *object,
                      const rnl_cpu_kernel *kernel)
{
    return kernel->flags & RNL_CPU_KERNEL_WAITS &&
           !block_has_lanes(object, kernel);
}

bool block_can_follow(const struct kernel_run *run,
                      const struct kernel_run *next)
{
    return block_has_lanes(run->object, run->kernel) &&
           block_has_lanes(next->object, next->kernel) && !run->cooperative &&
           !next->cooperative && run->object->flags == next->object->flags;
}

uint64_t block_cluster_size(const struct kernel_run *run)
{
    const rnl_dim3 *cluster = &run->cluster;
    return cluster->x ? (uint64_t)cluster->x * cluster->y * cluster->z : 1;
}

static bool begin_next(struct runner *runner);

// Not inlined: nothing that its caller has on the stack is to be trusted.
static _Noreturn __attribute__((noinline)) void fail_overwritten(void)
{
    runner_fail(runner_here(), RNL_ERROR_LAUNCH_FAILED, RUNNER_NO_THREAD, "%s",
                fault_overwritten);
}

static void run_kernel(struct runner *runner, kernel_function *kernel,
                       uint64_t count)
{
    if (!kernel_call(runner->current, kernel, &runner->block, count))
        fail_overwritten();
}

// Runs a resident block of a cooperative grid. To the scheduler all threads of
// the block have begun, and one may wait.
static void run_whole_block(struct runner *runner)
{
    runner->block.next_thread = runner->block.thread_count;
    run_kernel(runner, (kernel_function *)runner->run->kernel->run_blocks, 1);
    finish_threads(runner);
}

static void run_whole_blocks(struct runner *runner)
{
    do {
        const rnl_cpu_kernel *kernel = runner->run->kernel;
        run_kernel(runner, (kernel_function *)kernel->run_blocks,
                   runner->blocks_left + 1);
        runner->blocks_left = 0;
    } while (runner->run->next && begin_next(runner));
    put_idle(runner, runner->current);
    resume(runner, &runner->native);
}

// The main function of every fiber.
static void run_blocks(void *argument)
{
    struct runner *runner = argument;
    for (;;) {
        const rnl_cpu_kernel *kernel = runner->run->kernel;
        if (!block_has_lanes(runner->run->object, kernel)) {
            run_kernel(runner, (kernel_function *)kernel->run_threads, 0);
            finish_threads(runner);
        } else if (runner->grid) {
            run_whole_block(runner);
        } else {
            run_whole_blocks(runner);
        }
    }
}

// --- Memory ----------------------------------------------------------------

// Makes it at least `size` bytes. Old contents are of no use.
static bool reserve(char **memory, size_t *held, uint64_t size)
{
    if (size <= *held)
        return true;
    if (size > SIZE_MAX / 2)
        return false;
    size = (size + 65535) & ~(uint64_t)65535;
    char *larger = guarded_map_present(size);
    if (!larger)
        return false;
    if (*memory)
        guarded_unmap(*memory, *held);
    *memory = larger;
    *held = size;
    return true;
}

// --- Services --------------------------------------------------------------

struct runner *runner_check(const rnl_cpu_block *block, uint32_t thread)
{
    struct runner *runner = thread_worker;
    if (block != &runner->block || thread >= runner->block.thread_count)
        fail_overwritten();
    return runner;
}

static void *service_block_memory(void)
{
    return block_memory;
}

static int service_sync_at(rnl_cpu_block *block, uint32_t thread,
                           rnl_cpu_sync kind, int predicate, uint32_t line)
{
    struct runner *runner = runner_check(block, thread);
    struct block_waiter self = {
        .thread = thread, .sync = kind, .predicate = predicate, .line = line};
    waiter_queue_add(&runner->barrier, &self);
    runner_wait(runner, &self);
    return (int)self.result;
}

static int service_sync(rnl_cpu_block *block, uint32_t thread,
                        rnl_cpu_sync kind, int predicate)
{
    return service_sync_at(block, thread, kind, predicate, 0);
}

static void service_yield(rnl_cpu_block *block, uint32_t thread)
{
    struct runner *runner = runner_check(block, thread);
    struct block_waiter self = {.thread = thread};
    waiter_queue_add(&runner->yielded, &self);
    runner_wait(runner, &self);
}

static void service_trap(rnl_cpu_block *block, uint32_t thread,
                         const char *message, const char *file, int line)
{
    struct runner *runner = runner_check(block, thread);
    if (file)
        runner_fail(runner, RNL_ERROR_LAUNCH_FAILED, thread, "%s:%d: %s", file,
                    line, message);
    runner_fail(runner, RNL_ERROR_LAUNCH_FAILED, thread, "%s", message);
}

static void *service_scratch(rnl_cpu_block *block, uint64_t size)
{
    struct runner *runner = runner_check(block, 0);
    if (!reserve(&runner->scratch, &runner->scratch_size, size))
        runner_fail(runner, RNL_ERROR_OUT_OF_MEMORY, 0,
                    "no memory for %llu bytes that the kernel needs",
                    (unsigned long long)size);
    return runner->scratch;
}

enum { PRINT_STACK = 16 << 10 };

// Made in memory first, where a wild pointer among the arguments does no harm.
// A fault in the midst of writing could not be left: the stream is locked.
static int service_print(const char *format, va_list arguments)
{
    struct runner *runner = thread_worker;
    const char *here = __builtin_frame_address(0);
    char text[1024];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(text, sizeof text, format, again);
    va_end(again);
    if (here - runner->current->low < PRINT_STACK)
        runner_fail(runner, RNL_ERROR_LAUNCH_FAILED, RUNNER_NO_THREAD,
                    "stack overflow in printf");
    runner->inside = false;
    if (length >= (int)sizeof text)
        length = vprintf(format, arguments);
    else if (length > 0 && fwrite(text, (size_t)length, 1, stdout) != 1)
        length = -1;
    runner->inside = true;
    stop_here(runner, RUNNER_NO_THREAD);
    return length < 0 ? -1 : print_arguments(format);
}

const rnl_cpu_services *block_services(void)
{
    static const rnl_cpu_services services = {
        .struct_size = sizeof services,
        .abi = RNL_CPU_ABI,
        .block_memory = service_block_memory,
        .sync_threads = service_sync,
        .warp = warp_operate,
        .yield = service_yield,
        .trap = service_trap,
        .print = service_print,
        .scratch = service_scratch,
        .sync_grid = grid_sync,
        .sync_threads_at = service_sync_at,
        .sync_cluster = grid_sync_cluster,
    };
    return &services;
}

// --- The state of an OS thread ---------------------------------------------

static pthread_key_t worker_key;
static pthread_once_t worker_once = PTHREAD_ONCE_INIT;
static bool worker_key_made;

struct runner *runner_here(void)
{
    return thread_worker;
}

static void free_runner(void *memory)
{
    struct runner *runner = memory;
    stop_thread_end(runner);
    fault_thread_end(runner);
    struct fiber *next;
    for (struct fiber *fiber = runner->made; fiber; fiber = next) {
        next = fiber->next_made;
        fiber_destroy(fiber);
    }
    if (runner->memory)
        guarded_unmap(runner->memory, runner->memory_size);
    if (runner->scratch)
        guarded_unmap(runner->scratch, runner->scratch_size);
    grid_free_clusters(runner);
    guarded_unmap(runner, sizeof *runner);
    block_memory = NULL;
    thread_worker = NULL;
}

static void make_key(void)
{
    worker_key_made = pthread_key_create(&worker_key, free_runner) == 0;
}

// The calling thread's runner; NULL when memory is short.
static struct runner *take_runner(void)
{
    if (thread_worker)
        return thread_worker;
    pthread_once(&worker_once, make_key);
    if (!worker_key_made)
        return NULL;
    struct runner *runner = guarded_map(sizeof *runner, false);
    if (!runner)
        return NULL;
    if (pthread_setspecific(worker_key, runner) != 0) {
        guarded_unmap(runner, sizeof *runner);
        return NULL;
    }
    fiber_init_native(&runner->native);
    fault_thread_begin(runner);
    thread_worker = runner;
    return runner;
}

void block_thread_finish(void)
{
    if (!thread_worker)
        return;
    pthread_setspecific(worker_key, NULL);
    free_runner(thread_worker);
}

size_t block_thread_held(void)
{
    const struct runner *runner = thread_worker;
    size_t held = 0;
    if (!runner)
        return 0;
    for (const struct fiber *fiber = runner->made; fiber;
         fiber = fiber->next_made)
        held += fiber_held();
    return held + runner->memory_size + runner->scratch_size +
           grid_clusters_held(runner) + runner->signal_stack.ss_size +
           sizeof *runner;
}

void runner_use_memory(struct runner *runner, char *memory)
{
    runner->memory_here = memory;
    block_memory = memory;
}

uint64_t block_memory_size(const rnl_cpu_object *object, size_t shared_size)
{
    return object->dynamic_offset + shared_size;
}

bool runner_reserve_memory(struct runner *runner, uint64_t size)
{
    bool reserved = reserve(&runner->memory, &runner->memory_size, size);
    runner_use_memory(runner, runner->memory);
    return reserved;
}

static bool reserve_memory(struct runner *runner, const struct kernel_run *run)
{
    return runner_reserve_memory(
        runner, block_memory_size(run->object, run->shared_size));
}

// --- Running ---------------------------------------------------------------

// Runs the blocks on fibers until all have ended or one has failed.
static void run_all(struct runner *runner)
{
    bool flush = runner->run->object->flags & RNL_CPU_OBJECT_FLUSHES;
    uint64_t mode = flush ? float_mode_read() : 0;
    if (flush)
        float_mode_write(mode | FLOAT_MODE_FLUSHES);
    stop_begin(runner);
    runner->inside = true;
    fiber_switch(&runner->native, runner->current);
    runner->inside = false;
    stop_end(runner);
    if (flush)
        float_mode_write(mode);
}

// Fibers that were in the middle of a failed block start anew.
static void drop_threads(struct runner *runner)
{
    runner->idle = NULL;
    for (struct fiber *fiber = runner->made; fiber; fiber = fiber->next_made) {
        if (fiber->busy)
            fiber_reset(fiber, run_blocks, runner);
        put_idle(runner, fiber);
    }
    memset(runner->warps, 0, sizeof runner->warps);
}

// A grid may have needed more stacks than a block ever will.
static void trim_fibers(struct runner *runner, size_t most)
{
    struct fiber *next, *fiber = runner->made;
    runner->made = runner->idle = NULL;
    runner->fiber_count = 0;
    for (; fiber; fiber = next) {
        next = fiber->next_made;
        if (runner->fiber_count >= most) {
            fiber_destroy(fiber);
            continue;
        }
        fiber->next_made = runner->made;
        runner->made = fiber;
        runner->fiber_count++;
        put_idle(runner, fiber);
    }
}

static void begin(struct runner *runner, const struct kernel_run *run,
                  uint64_t first_block, uint64_t block_count)
{
    rnl_cpu_block *block = &runner->block;
    uint64_t row = first_block / run->grid.x;
    *block = (rnl_cpu_block){
        .struct_size = sizeof *block,
        .thread_count = run->block.x * run->block.y * run->block.z,
        .grid = {run->grid.x, run->grid.y, run->grid.z},
        .block = {run->block.x, run->block.y, run->block.z},
        .index = {(uint32_t)(first_block % run->grid.x),
                  (uint32_t)(row % run->grid.y), (uint32_t)(row / run->grid.y)},
        .flags = run->cooperative ? RNL_CPU_BLOCK_COOPERATIVE : 0,
        .arguments = run->arguments,
        .host = runner,
        .dynamic_size = run->shared_size,
    };
    runner->run = run;
    runner->grid = NULL;
    runner->blocks_left = block_count - 1;
    runner->status = RNL_OK;
    waiter_queue_clear(&runner->ready);
    waiter_queue_clear(&runner->yielded);
    waiter_queue_clear(&runner->barrier);
    waiter_queue_clear(&runner->at_grid);
    waiter_queue_clear(&runner->at_cluster);
    start_block(runner);
}

static uint64_t grid_blocks(const struct kernel_run *run)
{
    return (uint64_t)run->grid.x * run->grid.y * run->grid.z;
}

static rnl_status out_of_memory(char *failure, size_t size)
{
    snprintf(failure, size, "no memory for a stack or for shared memory");
    return RNL_ERROR_OUT_OF_MEMORY;
}

// Within a list. False when memory is short.
static bool begin_next(struct runner *runner)
{
    const struct kernel_run *next = runner->run->next;
    if (!reserve_memory(runner, next)) {
        runner->status = out_of_memory(runner->failure, runner->failure_size);
        return false;
    }
    begin(runner, next, 0, grid_blocks(next));
    return true;
}

// Runs the begun launch; the first stack exists.
static rnl_status run_begun(struct runner *runner, struct fiber *fiber)
{
    runner->current = fiber;
    run_all(runner);
    fault_report(runner);
    if (runner->status != RNL_OK)
        drop_threads(runner);
    return runner->status;
}

// All blocks of the grid at once, the begun one first.
static rnl_status run_grid(struct runner *runner, struct fiber *fiber,
                           uint64_t count)
{
    struct grid grid;
    if (!grid_open(&grid, runner, count)) {
        put_idle(runner, fiber);
        return out_of_memory(runner->failure, runner->failure_size);
    }
    runner->blocks_left = 0;
    rnl_status status = run_begun(runner, fiber);
    grid_close(&grid, runner);
    trim_fibers(runner, BLOCK_THREADS_MOST);
    return status;
}

// Runs clusters in a row, each with all its blocks resident.
static rnl_status run_clusters(struct runner *runner, struct fiber *fiber,
                               uint64_t first, uint64_t count)
{
    struct grid grid;
    if (!grid_open_clusters(&grid, runner, first, count)) {
        put_idle(runner, fiber);
        return out_of_memory(runner->failure, runner->failure_size);
    }
    runner->blocks_left = 0;
    rnl_status status = run_begun(runner, fiber);
    grid_close(&grid, runner);
    if (runner->fiber_count > CLUSTER_STACKS)
        trim_fibers(runner, CLUSTER_STACKS);
    return status;
}

static rnl_status enter(const struct kernel_run *run, uint64_t first_block,
                        uint64_t block_count, char *failure,
                        size_t failure_size)
{
    uint64_t threads = (uint64_t)run->block.x * run->block.y;
    if (threads > BLOCK_THREADS_MOST ||
        (threads *= run->block.z) > BLOCK_THREADS_MOST) {
        snprintf(failure, failure_size, "a block has more than %d threads",
                 BLOCK_THREADS_MOST);
        return RNL_ERROR_INVALID_ARGUMENT;
    }
    if (block_count == 0)
        return RNL_OK;
    struct runner *runner = take_runner();
    struct fiber *fiber = NULL;
    if (!runner || !reserve_memory(runner, run) ||
        !(fiber = take_idle(runner)))
        return out_of_memory(failure, failure_size);
    begin(runner, run, first_block, block_count);
    runner->failure = failure;
    runner->failure_size = failure_size;
    if (run->cooperative && block_needs_grid(run->object, run->kernel))
        return run_grid(runner, fiber, grid_blocks(run));
    if (block_cluster_size(run) > 1)
        return run_clusters(runner, fiber, first_block, block_count);
    return run_begun(runner, fiber);
}

rnl_status block_run(const struct kernel_run *run, uint64_t first_block,
                     uint64_t block_count, char *failure, size_t failure_size)
{
    struct kernel_run alone = *run;
    alone.next = NULL;
    rnl_status status =
        enter(&alone, first_block, block_count, failure, failure_size);
    if (thread_worker)
        thread_worker->run = NULL;
    return status;
}

rnl_status block_run_list(const struct kernel_run *first,
                          const struct kernel_run **out_failed, char *failure,
                          size_t failure_size)
{
    rnl_status status =
        enter(first, 0, grid_blocks(first), failure, failure_size);
    *out_failed = first;
    if (thread_worker) {
        *out_failed = thread_worker->run ? thread_worker->run : first;
        thread_worker->run = NULL;
    }
    return status;
}
