#include "block.h"

#include "fiber.h"
#include "float_mode.h"
#include "kernel/call.h"
#include "kernel/print.h"
#include "worker.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

// Block memory is what kernels reach most often outside their own variables.
static _Thread_local char *block_memory
    __attribute__((tls_model("initial-exec")));
static _Thread_local struct worker *thread_worker
    __attribute__((tls_model("initial-exec")));

// --- Scheduling ------------------------------------------------------------

static void run_blocks(void *argument);

static void resume(struct worker *worker, struct fiber *fiber)
{
    struct fiber *left = worker->current;
    if (fiber == left)
        return;
    worker->current = fiber;
    fiber_switch(left, fiber);
}

static void resume_waiter(struct worker *worker, struct waiter *waiter)
{
    worker->warps[waiter->thread / WARP_SIZE].suspended &=
        ~(UINT32_C(1) << waiter->thread % WARP_SIZE);
    resume(worker, waiter->fiber);
}

// A fiber for threads that have not begun; NULL when memory is short.
static struct fiber *take_idle(struct worker *worker)
{
    struct fiber *fiber = worker->idle;
    if (fiber) {
        worker->idle = fiber->next;
    } else {
        fiber = fiber_create(run_blocks, worker);
        if (!fiber)
            return NULL;
        fiber->next_made = worker->made;
        worker->made = fiber;
        worker->fiber_count++;
    }
    fiber->busy = true;
    return fiber;
}

static void put_idle(struct worker *worker, struct fiber *fiber)
{
    fiber->busy = false;
    fiber->next = worker->idle;
    worker->idle = fiber;
}

static uint32_t suspended_count(const struct worker *worker)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w * WARP_SIZE < worker->block.thread_count; w++)
        count += (uint32_t)__builtin_popcount(worker->warps[w].suspended);
    return count;
}

// Some spin, and no other thread of the block can go on.
static void release_yielded(struct worker *worker)
{
    // They may be waiting for another block on another OS thread.
    if (++worker->futile_yields % 64 == 0)
        sched_yield();
    if (worker->grid)
        grid_pass(worker);
    else
        queue_move(&worker->yielded, &worker->ready);
}

// No thread is ready and all have begun: lets go whom the rules allow to, or
// goes to another block of the grid.
static void release_some(struct worker *worker)
{
    if (warp_release_ended(worker))
        return;
    uint32_t suspended = suspended_count(worker);
    if (worker->barrier.count && worker->barrier.count == suspended)
        barrier_release(worker);
    else if (warp_release_active(worker))
        return;
    else if (worker->at_grid.count && worker->at_grid.count == suspended)
        grid_arrive(worker);
    else if (worker->at_cluster.count &&
             worker->at_cluster.count + worker->barrier.count == suspended)
        grid_meet(worker);
    else if (worker->yielded.first)
        release_yielded(worker);
    else
        barrier_fail(worker);
}

static bool has_begun_all(const struct worker *worker)
{
    return worker->block.next_thread >= worker->block.thread_count;
}

// Goes on with any thread that can: ready ones first, because they keep the
// number of stacks small. Returns when the caller's turn comes again.
static void run_another(struct worker *worker, uint32_t thread)
{
    if (!worker->ready.first && has_begun_all(worker))
        release_some(worker);
    if (worker->ready.first) {
        resume_waiter(worker, queue_take(&worker->ready));
        return;
    }
    struct fiber *fiber = take_idle(worker);
    if (!fiber)
        worker_fail(worker, RNL_ERROR_OUT_OF_MEMORY, thread,
                    "no memory for another stack; %zu threads have one",
                    worker->fiber_count);
    resume(worker, fiber);
}

void worker_wait(struct worker *worker, struct waiter *self)
{
    rnl_cpu_block *block = &worker->block;
    stop_here(worker, self->thread);
    self->fiber = worker->current;
    worker->warps[self->thread / WARP_SIZE].suspended |=
        UINT32_C(1) << self->thread % WARP_SIZE;
    block->epoch++;
    if (self->thread >= block->next_thread)
        block->next_thread = self->thread + 1;
    run_another(worker, self->thread);
}

// --- Blocks ----------------------------------------------------------------

static void start_block(struct worker *worker)
{
    worker->block.next_thread = 0;
    worker->futile_yields = 0;
}

static void next_block(struct worker *worker)
{
    rnl_cpu_block *block = &worker->block;
    worker->blocks_left--;
    for (int axis = 0; axis < 3; axis++) {
        if (++block->index[axis] < block->grid[axis])
            break;
        block->index[axis] = 0;
    }
    start_block(worker);
}

// All threads that this fiber could take have ended. Returns when there are
// threads to run again.
static void finish_threads(struct worker *worker)
{
    struct fiber *self = worker->current;
    bool more = suspended_count(worker) > 0 ||
                (worker->grid && grid_end(worker));
    if (more) {
        put_idle(worker, self);
        run_another(worker, worker->block.thread_count - 1);
    } else if (worker->blocks_left > 0) {
        next_block(worker);
    } else {
        put_idle(worker, self);
        resume(worker, &worker->native);
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

static bool begin_next(struct worker *worker);

// Not inlined: nothing that its caller has on the stack is to be trusted.
static _Noreturn __attribute__((noinline)) void fail_overwritten(void)
{
    worker_fail(worker_here(), RNL_ERROR_LAUNCH_FAILED, WORKER_NO_THREAD, "%s",
                fault_overwritten);
}

static void run_kernel(struct worker *worker, kernel_function *kernel,
                       uint64_t count)
{
    if (!kernel_call(worker->current, kernel, &worker->block, count))
        fail_overwritten();
}

// Runs a resident block of a cooperative grid. To the scheduler it is a block
// whose threads have all begun, and of which one may wait.
static void run_whole_block(struct worker *worker)
{
    worker->block.next_thread = worker->block.thread_count;
    run_kernel(worker, (kernel_function *)worker->run->kernel->run_blocks, 1);
    finish_threads(worker);
}

static void run_whole_blocks(struct worker *worker)
{
    do {
        const rnl_cpu_kernel *kernel = worker->run->kernel;
        run_kernel(worker, (kernel_function *)kernel->run_blocks,
                   worker->blocks_left + 1);
        worker->blocks_left = 0;
    } while (worker->run->next && begin_next(worker));
    put_idle(worker, worker->current);
    resume(worker, &worker->native);
}

// What every fiber does.
static void run_blocks(void *argument)
{
    struct worker *worker = argument;
    for (;;) {
        const rnl_cpu_kernel *kernel = worker->run->kernel;
        if (!block_has_lanes(worker->run->object, kernel)) {
            run_kernel(worker, (kernel_function *)kernel->run_threads, 0);
            finish_threads(worker);
        } else if (worker->grid) {
            run_whole_block(worker);
        } else {
            run_whole_blocks(worker);
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

struct worker *worker_check(const rnl_cpu_block *block, uint32_t thread)
{
    struct worker *worker = thread_worker;
    if (block != &worker->block || thread >= worker->block.thread_count)
        fail_overwritten();
    return worker;
}

static void *service_block_memory(void)
{
    return block_memory;
}

static int service_sync_at(rnl_cpu_block *block, uint32_t thread,
                           rnl_cpu_sync kind, int predicate, uint32_t line)
{
    struct worker *worker = worker_check(block, thread);
    struct waiter self = {.thread = thread, .sync = kind,
                          .predicate = predicate, .line = line};
    queue_add(&worker->barrier, &self);
    worker_wait(worker, &self);
    return (int)self.result;
}

static int service_sync(rnl_cpu_block *block, uint32_t thread,
                        rnl_cpu_sync kind, int predicate)
{
    return service_sync_at(block, thread, kind, predicate, 0);
}

static void service_yield(rnl_cpu_block *block, uint32_t thread)
{
    struct worker *worker = worker_check(block, thread);
    struct waiter self = {.thread = thread};
    queue_add(&worker->yielded, &self);
    worker_wait(worker, &self);
}

static void service_trap(rnl_cpu_block *block, uint32_t thread,
                         const char *message, const char *file, int line)
{
    struct worker *worker = worker_check(block, thread);
    if (file)
        worker_fail(worker, RNL_ERROR_LAUNCH_FAILED, thread, "%s:%d: %s", file,
                    line, message);
    worker_fail(worker, RNL_ERROR_LAUNCH_FAILED, thread, "%s", message);
}

static void *service_scratch(rnl_cpu_block *block, uint64_t size)
{
    struct worker *worker = worker_check(block, 0);
    if (!reserve(&worker->scratch, &worker->scratch_size, size))
        worker_fail(worker, RNL_ERROR_OUT_OF_MEMORY, 0,
                    "no memory for %llu bytes that the kernel needs",
                    (unsigned long long)size);
    return worker->scratch;
}

enum { PRINT_STACK = 16 << 10 };

// Made in memory first, where a wild pointer among the arguments does no harm.
// A fault in the midst of writing could not be left: the stream is locked.
static int service_print(const char *format, va_list arguments)
{
    struct worker *worker = thread_worker;
    const char *here = __builtin_frame_address(0);
    char text[1024];
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(text, sizeof text, format, again);
    va_end(again);
    if (here - worker->current->low < PRINT_STACK)
        worker_fail(worker, RNL_ERROR_LAUNCH_FAILED, WORKER_NO_THREAD,
                    "stack overflow in printf");
    worker->inside = false;
    if (length >= (int)sizeof text)
        length = vprintf(format, arguments);
    else if (length > 0 && fwrite(text, (size_t)length, 1, stdout) != 1)
        length = -1;
    worker->inside = true;
    stop_here(worker, WORKER_NO_THREAD);
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

struct worker *worker_here(void)
{
    return thread_worker;
}

static void free_worker(void *memory)
{
    struct worker *worker = memory;
    stop_thread_end(worker);
    fault_thread_end(worker);
    struct fiber *next;
    for (struct fiber *fiber = worker->made; fiber; fiber = next) {
        next = fiber->next_made;
        fiber_destroy(fiber);
    }
    if (worker->memory)
        guarded_unmap(worker->memory, worker->memory_size);
    if (worker->scratch)
        guarded_unmap(worker->scratch, worker->scratch_size);
    grid_free_clusters(worker);
    guarded_unmap(worker, sizeof *worker);
    block_memory = NULL;
    thread_worker = NULL;
}

static void make_key(void)
{
    worker_key_made = pthread_key_create(&worker_key, free_worker) == 0;
}

// The calling thread's worker; NULL when memory is short.
static struct worker *take_worker(void)
{
    if (thread_worker)
        return thread_worker;
    pthread_once(&worker_once, make_key);
    if (!worker_key_made)
        return NULL;
    struct worker *worker = guarded_map(sizeof *worker, false);
    if (!worker)
        return NULL;
    if (pthread_setspecific(worker_key, worker) != 0) {
        guarded_unmap(worker, sizeof *worker);
        return NULL;
    }
    fiber_init_native(&worker->native);
    fault_thread_begin(worker);
    thread_worker = worker;
    return worker;
}

void block_thread_finish(void)
{
    if (!thread_worker)
        return;
    pthread_setspecific(worker_key, NULL);
    free_worker(thread_worker);
}

size_t block_thread_held(void)
{
    const struct worker *worker = thread_worker;
    size_t held = 0;
    if (!worker)
        return 0;
    for (const struct fiber *fiber = worker->made; fiber;
         fiber = fiber->next_made)
        held += fiber_held();
    return held + worker->memory_size + worker->scratch_size +
           grid_clusters_held(worker) + worker->signal_stack.ss_size + sizeof *worker;
}

void worker_use_memory(struct worker *worker, char *memory)
{
    worker->memory_here = memory;
    block_memory = memory;
}

uint64_t block_memory_size(const rnl_cpu_object *object, size_t shared_size)
{
    return object->dynamic_offset + shared_size;
}

bool worker_reserve_memory(struct worker *worker, uint64_t size)
{
    bool reserved = reserve(&worker->memory, &worker->memory_size, size);
    worker_use_memory(worker, worker->memory);
    return reserved;
}

static bool reserve_memory(struct worker *worker, const struct kernel_run *run)
{
    return worker_reserve_memory(
        worker, block_memory_size(run->object, run->shared_size));
}

// --- Running ---------------------------------------------------------------

// Runs the blocks on their fibers, until all have ended or one has failed.
static void run_all(struct worker *worker)
{
    bool flush = worker->run->object->flags & RNL_CPU_OBJECT_FLUSHES;
    uint64_t mode = flush ? float_mode_read() : 0;
    if (flush)
        float_mode_write(mode | FLOAT_MODE_FLUSHES);
    stop_begin(worker);
    worker->inside = true;
    fiber_switch(&worker->native, worker->current);
    worker->inside = false;
    stop_end(worker);
    if (flush)
        float_mode_write(mode);
}

// Fibers that were in the middle of a failed block start anew.
static void drop_threads(struct worker *worker)
{
    worker->idle = NULL;
    for (struct fiber *fiber = worker->made; fiber; fiber = fiber->next_made) {
        if (fiber->busy)
            fiber_reset(fiber, run_blocks, worker);
        put_idle(worker, fiber);
    }
    memset(worker->warps, 0, sizeof worker->warps);
}

// A grid may have needed more stacks than a block ever will.
static void trim_fibers(struct worker *worker, size_t most)
{
    struct fiber *next, *fiber = worker->made;
    worker->made = worker->idle = NULL;
    worker->fiber_count = 0;
    for (; fiber; fiber = next) {
        next = fiber->next_made;
        if (worker->fiber_count >= most) {
            fiber_destroy(fiber);
            continue;
        }
        fiber->next_made = worker->made;
        worker->made = fiber;
        worker->fiber_count++;
        put_idle(worker, fiber);
    }
}

static void begin(struct worker *worker, const struct kernel_run *run,
                  uint64_t first_block, uint64_t block_count)
{
    rnl_cpu_block *block = &worker->block;
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
        .host = worker,
        .dynamic_size = run->shared_size,
    };
    worker->run = run;
    worker->grid = NULL;
    worker->blocks_left = block_count - 1;
    worker->status = RNL_OK;
    queue_clear(&worker->ready);
    queue_clear(&worker->yielded);
    queue_clear(&worker->barrier);
    queue_clear(&worker->at_grid);
    queue_clear(&worker->at_cluster);
    start_block(worker);
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
static bool begin_next(struct worker *worker)
{
    const struct kernel_run *next = worker->run->next;
    if (!reserve_memory(worker, next)) {
        worker->status = out_of_memory(worker->failure, worker->failure_size);
        return false;
    }
    begin(worker, next, 0, grid_blocks(next));
    return true;
}

// Runs what has been begun; the stack to begin on is there already.
static rnl_status run_begun(struct worker *worker, struct fiber *fiber)
{
    worker->current = fiber;
    run_all(worker);
    fault_report(worker);
    if (worker->status != RNL_OK)
        drop_threads(worker);
    return worker->status;
}

// All blocks of the grid at once, the begun one first.
static rnl_status run_grid(struct worker *worker, struct fiber *fiber,
                           uint64_t count)
{
    struct grid grid;
    if (!grid_open(&grid, worker, count)) {
        put_idle(worker, fiber);
        return out_of_memory(worker->failure, worker->failure_size);
    }
    worker->blocks_left = 0;
    rnl_status status = run_begun(worker, fiber);
    grid_close(&grid, worker);
    trim_fibers(worker, BLOCK_THREADS_MOST);
    return status;
}

// A launch runs its clusters by many calls: eight blocks of 256 threads keep
// their stacks from one to the next.
enum { CLUSTER_STACKS = 8 * 256 };

// Runs clusters one after another, each with all its blocks resident.
static rnl_status run_clusters(struct worker *worker, struct fiber *fiber,
                               uint64_t first, uint64_t count)
{
    struct grid grid;
    if (!grid_open_clusters(&grid, worker, first, count)) {
        put_idle(worker, fiber);
        return out_of_memory(worker->failure, worker->failure_size);
    }
    worker->blocks_left = 0;
    rnl_status status = run_begun(worker, fiber);
    grid_close(&grid, worker);
    if (worker->fiber_count > CLUSTER_STACKS)
        trim_fibers(worker, CLUSTER_STACKS);
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
    struct worker *worker = take_worker();
    struct fiber *fiber = NULL;
    if (!worker || !reserve_memory(worker, run) ||
        !(fiber = take_idle(worker)))
        return out_of_memory(failure, failure_size);
    begin(worker, run, first_block, block_count);
    worker->failure = failure;
    worker->failure_size = failure_size;
    if (run->cooperative && block_needs_grid(run->object, run->kernel))
        return run_grid(worker, fiber, grid_blocks(run));
    if (block_cluster_size(run) > 1)
        return run_clusters(worker, fiber, first_block, block_count);
    return run_begun(worker, fiber);
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
