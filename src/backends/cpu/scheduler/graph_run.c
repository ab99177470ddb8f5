#include "backends/cpu/kernel/block.h"
#include "backends/cpu/kernel/stop.h"
#include "backends/cpu/scheduler/event.h"
#include "backends/cpu/scheduler/graph_plan.h"
#include "backends/cpu/scheduler/parallel_for.h"
#include "backends/cpu/scheduler/pool.h"
#include "backends/cpu/scheduler/queue.h"
#include "backends/cpu/scheduler/tuning.h"
#include "backends/cpu/scheduler/value_waiters.h"
#include "base/clock.h"
#include "core/module/function.h"
#include "core/object/object.h"
#include "core/stream/event.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

#define NO_STEP UINT32_MAX

// --- One step --------------------------------------------------------------

static void fail_plan(struct plan *plan, const struct op *op,
                      rnl_status status, const char *message)
{
    queue_fail(plan->queue, plan->op->sequence, op, status, message);
    atomic_store(&plan->failed, true);
}

static void run_ops(struct plan *plan, const struct step *step)
{
    struct pool *pool = stream_pool(plan->queue->stream);
    char message[FAILURE_MESSAGE_SIZE];
    rnl_status status = RNL_OK;
    const struct op *op = step->node_params->ops;
    for (; op && status == RNL_OK; op = op->next)
        if ((status = op_perform(pool, plan->queue, op, message)))
            fail_plan(plan, op, status, message);
}

static void run_host(struct plan *plan, const struct step *step)
{
    const struct op *op = step->node_params->ops;
    rnl_status status = queue_call_host(plan->queue, op);
    if (status != RNL_OK)
        fail_plan(plan, op, status, rnl_last_error()->message);
}

static __attribute__((noinline)) void
fail_call(struct plan *plan, const struct step *step, rnl_status status)
{
    char message[FAILURE_MESSAGE_SIZE];
    const struct op *op = step->node_params->ops;
    status = op_call_failed(op, status, message);
    fail_plan(plan, op, status, message);
}

// Runs a step and the calls that follow directly; returns their number.
static uint32_t run_calls(struct plan *plan, const struct step *step,
                          uint32_t most)
{
    uint32_t count = 0;
    rnl_status status;
    callback_begin();
    do
        status = step[count].function(&step[count].call);
    while (status == RNL_OK && ++count < most &&
           step[count].kind == STEP_CALL);
    callback_end();
    if (status == RNL_OK)
        return count;
    fail_call(plan, &step[count], status);
    return count + 1;
}

static const struct step *step_of_run(const struct kernel_run *run)
{
    return (const struct step *)(const void *)(
        (const char *)run - offsetof(struct step, run));
}

// Runs a step and all that are linked behind it; returns how many.
static uint32_t run_chain(struct plan *plan, const struct step *step)
{
    char message[FAILURE_MESSAGE_SIZE];
    const struct kernel_run *failed, *at = &step->run;
    uint32_t count = 1;
    for (; at->next; at = at->next)
        count++;
    callback_begin();
    rnl_status status =
        block_run_list(&step->run, &failed, message, sizeof message);
    callback_end();
    if (status != RNL_OK)
        fail_plan(plan, step_of_run(failed)->node_params->ops, status,
                  message);
    return count;
}

static void run_single(struct plan *plan, const struct step *step)
{
    char message[FAILURE_MESSAGE_SIZE];
    callback_begin();
    rnl_status status = block_run(&step->run, 0, 1, message, sizeof message);
    callback_end();
    if (status != RNL_OK)
        fail_plan(plan, step->node_params->ops, status, message);
}

static bool has_failed(const struct plan *plan)
{
    return atomic_load_explicit(&plan->failed, memory_order_relaxed);
}

void plan_cancel_locked(struct plan *plan)
{
    ASSERT(lock_is_held(&plan->queue->lock));
    atomic_store(&plan->failed, true);
}

// Blames the graph unless a step was stopped. Not when the plan is cancelled: a
// thread may be about to leave a kernel, which is the one to name.
static void note_cancelled(struct plan *plan)
{
    if (queue_is_cancelled(plan->queue) &&
        !atomic_load(&plan->queue->stream->failure))
        fail_plan(plan, plan->op, RNL_ERROR_CANCELLED,
                  "the stream was cancelled before all of it was done");
}

static void wait_reset(struct step *step)
{
    struct op *op = step->wait;
    while (op->kept_count > 0)
        object_unref(op->kept[--op->kept_count]);
    op->stream = NULL;
}

static void run_step(struct plan *plan, struct step *step)
{
    struct stream *stream = plan->queue->stream;
    switch (step->kind) {
    case STEP_CALL:
        if (!has_failed(plan))
            run_calls(plan, step, 1);
        break;
    case STEP_RUN:
        if (!has_failed(plan))
            run_single(plan, step);
        break;
    case STEP_HOST:
        if (plan->shared)
            parallel_for_offer(stream_pool(stream), &plan->loop, true);
        note_cancelled(plan);
        run_host(plan, step);
        break;
    case STEP_RECORD:
        note_cancelled(plan);
        event_arrive((struct event *)step->node_params->subject,
                     op_launch(plan->op), has_failed(plan) ? stream : NULL,
                     plan->op->sequence);
        break;
    case STEP_OUTSIDE:
        if (plan->shared)
            parallel_for_offer(stream_pool(stream), &plan->loop, true);
        if (!has_failed(plan))
            run_ops(plan, step);
        break;
    case STEP_OPS:
        if (!has_failed(plan))
            run_ops(plan, step);
        break;
    case STEP_WAIT:
        step->passed = false;
        wait_reset(step);
        break;
    case STEP_VALUES:
        step->passed = false;
        step->value = 0;
        break;
    default:
        break;
    }
}

// --- Steps that wait -------------------------------------------------------

static bool waits(const struct step *step)
{
    return step->kind == STEP_WAIT || step->kind == STEP_VALUES;
}

// Makes the step wait for its event's target of the launch. False if there is
// none.
static bool wait_begin(struct plan *plan, const struct step *step)
{
    const struct wait *point = &op_wait_targets(plan->op)[step->point];
    struct op *op = step->wait;
    op->stream = plan->queue->stream;
    op->sequence = plan->op->sequence;
    *op_wait(op) = (struct wait){.target = point->target,
                                 .sequence = point->sequence,
                                 .promise = point->promise};
    return point->target || point->promise;
}

// True when the step's event is there, or nobody cares any more.
static bool wait_is_over(struct plan *plan, struct step *step)
{
    struct op *op = step->wait;
    struct wait *wait = op_wait(op);
    bool vain = !op->stream && !wait_begin(plan, step);
    if (queue_is_cancelled(plan->queue))
        queue_withdraw_wait(op);
    vain |= has_failed(plan) && !atomic_load(&wait->listed);
    if (!vain && !queue_wait_is_over(op))
        return false;
    if (atomic_load(&plan->queue->stream->failure))
        atomic_store(&plan->failed, true);
    return true;
}

static bool values_are_over(struct plan *plan, struct step *step)
{
    if (queue_is_cancelled(plan->queue) && atomic_load(&step->waiter.listed))
        value_waiter_withdraw(stream_pool(plan->queue->stream), &step->waiter);
    bool vain = has_failed(plan) && !atomic_load(&step->waiter.listed);
    return vain ||
           memory_ops_run(plan->queue, &step->node_params->ops->memory_ops,
                          &step->value, &step->waiter);
}

// For a step that waits.
static bool is_over(struct plan *plan, struct step *step)
{
    return step->kind == STEP_WAIT ? wait_is_over(plan, step)
                                   : values_are_over(plan, step);
}

// --- Alone: in order -------------------------------------------------------

enum next {
    NEXT_GO,
    NEXT_WAIT,
    NEXT_WORKER,
    NEXT_OVER,  // to another step than the next one
};

static enum next may_run(struct plan *plan, struct step *step, bool worker)
{
    if (step->kind < STEP_HOST)
        return NEXT_GO;
    if (step->kind >= STEP_DECIDE)
        return NEXT_OVER;
    if (step->kind == STEP_HOST && !worker)
        return NEXT_WORKER;
    return waits(step) && !is_over(plan, step) ? NEXT_WAIT : NEXT_GO;
}

// Notes how long steps took; true once sharing would pay. A preempted thread
// sees a single long time, so two in a row are needed.
static bool worth_sharing(struct plan *plan, uint64_t ticks, uint32_t steps)
{
    plan->slow = ticks / steps > GRAPH_SHARE_TICKS ? plan->slow + 1 : 0;
    return plan->slow >= 2;
}

// How many calls may be made in one go.
static uint32_t calls_at_once(const struct plan *plan)
{
    uint32_t left = plan->count - plan->next, most = CALLS_MOST;
    if (!plan->straight && plan->next < LOOKED_AT)
        return 1;
    return left < most ? left : most;
}

// Runs the next step with the steps linked behind.
static void run_next(struct plan *plan)
{
    struct step *step = &plan->steps[plan->next];
    uint32_t done = 1;
    if (step->kind == STEP_CALL && !has_failed(plan))
        done = run_calls(plan, step, calls_at_once(plan));
    else if (step->kind == STEP_RUN && !has_failed(plan) &&
             plan->scope.watchdog->limit_ns == 0)  // else each has its own
        done = run_chain(plan, step);
    else
        run_step(plan, step);
    plan->next += done;
}

// Runs steps up to number `end`. False if a step cannot run now (`*out_next`),
// or should be shared. Inlined, because a call costs each step an eighth more.
static inline __attribute__((always_inline)) bool
run_some(struct plan *plan, bool worker, uint32_t end, enum next *out_next)
{
    // With nobody to share with, times do not matter.
    bool untimed = plan->straight ||
                   stream_pool(plan->queue->stream)->width == 1;
    uint64_t start = untimed ? 0 : clock_ticks();
    uint32_t first = plan->next;
    while (plan->next < end) {
        struct step *step = &plan->steps[plan->next];
        *out_next = may_run(plan, step, worker);
        if (*out_next != NEXT_GO ||
            (step->kind == STEP_HOST && !plan->straight))
            return false;
        run_next(plan);
        // The first steps are timed singly, because they may be long.
        uint32_t steps = plan->next - first;
        if (untimed || (plan->next > LOOKED_AT && steps < CALLS_MOST))
            continue;
        uint64_t now = clock_ticks();
        if (worth_sharing(plan, now - start, steps))
            return false;
        start = now;
        first = plan->next;
    }
    return true;
}

static uint32_t more_steps(uint32_t steps, uint64_t *start)
{
    uint64_t now = clock_ticks(), spent = now - *start;
    *start = now;
    if (spent < GRAPH_SLICE_TICKS / 8)
        return steps > UINT32_MAX / 8 ? steps : 8 * steps;
    return spent < GRAPH_SLICE_TICKS || steps == 1 ? steps : steps / 2;
}

// The same for all of them.
static bool run_alone(struct plan *plan, bool worker, struct time_slice *turn,
                      enum next *out_next)
{
    struct pool *pool = stream_pool(plan->queue->stream);
    unsigned rank = pool_rank(plan->queue->stream->priority);
    uint64_t start = clock_ticks();
    for (uint32_t some = GRAPH_SLICE_STEPS, gone_over = 0;;) {
        uint32_t left = plan->count - plan->next;
        bool goes_on = run_some(
            plan, worker, plan->next + (left < some ? left : some), out_next);
        if (!goes_on && *out_next != NEXT_OVER)
            return false;
        if (!goes_on)
            plan->next = branch_choose(plan, &plan->steps[plan->next]);
        if (!goes_on && gone_over++ % GRAPH_SLICE_STEPS != 0)
            continue;
        if (plan->next >= plan->count)
            return true;
        some = more_steps(some, &start);
        time_slice_yield(pool, rank, turn, start);
    }
}

// --- Shared ----------------------------------------------------------------

static _Atomic uint32_t *slot_of(const struct plan *plan, uint64_t number)
{
    return &plan->slots[number < plan->count ? number : number % plan->count];
}

static uint32_t slot_take(struct plan *plan)
{
    uint64_t taken = atomic_load(&plan->taken);
    do {
        if (taken >= atomic_load(&plan->given))
            return NO_STEP;
    } while (!atomic_compare_exchange_weak(&plan->taken, &taken, taken + 1));
    uint32_t step;
    while ((step = atomic_exchange(slot_of(plan, taken), 0)) == 0)
        cpu_relax();  // it is being filled this moment
    return step - 1;
}

static void slot_give(struct plan *plan, uint32_t step)
{
    uint32_t empty = 0;
    uint64_t given = atomic_fetch_add(&plan->given, 1);
    while (!atomic_compare_exchange_weak(slot_of(plan, given), &empty,
                                         step + 1)) {
        empty = 0;
        cpu_relax();  // it is being emptied this moment
    }
}

// Ends a step; returns a follower to go on with.
static uint32_t follow(struct plan *plan, const struct step *step)
{
    uint32_t next = NO_STEP;
    bool gave = false;
    for (uint32_t i = step->first; i < step->end; i++) {
        uint32_t follower = plan->followers[i];
        if (COUNT_DOWN(&plan->left[follower]) != 1)
            continue;
        gave |= next != NO_STEP;
        if (next == NO_STEP)
            next = follower;
        else
            slot_give(plan, follower);
    }
    COUNT_DOWN(&plan->unfinished);
    if (gave)
        parallel_for_offer(stream_pool(plan->queue->stream), &plan->loop,
                           false);
    return next;
}

// Ends a deciding step and returns the step to continue with. All steps of a
// body are done when it is left, so their waits need no check meanwhile.
static uint32_t follow_choice(struct plan *plan, struct step *step)
{
    const struct step *decide = branch_decide(plan, step);
    uint32_t at = (uint32_t)(step - plan->steps), skipped = 0;
    uint32_t to = branch_choose(plan, step);
    if (step->kind == STEP_DECIDE) {
        skipped = decide->target - at - 1 - branch_size(plan, decide, to);
    } else if (to != decide->target) {
        branch_rearm(plan, to, at);
        atomic_fetch_add(&plan->unfinished, at - to + 1);
        slot_give(plan, to);  // in between this thread may look at others
        to = NO_STEP;
    }
    atomic_fetch_sub(&plan->unfinished, skipped + 1);
    return to;
}

// Each host function waits at most once at a time, so the queue's links can lie
// in the steps.
static void park_host(struct plan *plan, uint32_t step)
{
    lock_take(&plan->lock);
    plan->steps[step].next_host = NO_STEP;
    if (plan->host_count++ == 0)
        plan->first_host = step;
    else
        plan->steps[plan->last_host].next_host = step;
    plan->last_host = step;
    lock_give(&plan->lock);
    parallel_for_offer(stream_pool(plan->queue->stream), &plan->loop, true);
}

static uint32_t take_host(struct plan *plan)
{
    if (plan->host_count == 0)
        return NO_STEP;
    uint32_t step = NO_STEP;
    lock_take(&plan->lock);
    if (plan->host_count > 0) {
        step = plan->first_host;
        plan->first_host = plan->steps[step].next_host;
        ASSERT(plan->host_count > 0);
        plan->host_count--;
    }
    lock_give(&plan->lock);
    return step;
}

// True if the step's wait is over; else the step is parked.
static bool pass_or_park(struct plan *plan, uint32_t at)
{
    struct step *step = &plan->steps[at];
    lock_take(&plan->lock);
    bool over = step->passed || is_over(plan, step);
    if (!over)
        plan->parked[plan->parked_count++] = at;
    lock_give(&plan->lock);
    return over;
}

static bool may_run_shared(struct plan *plan, uint32_t at, bool worker)
{
    const struct step *step = &plan->steps[at];
    if (waits(step))
        return pass_or_park(plan, at);
    if (step->kind != STEP_HOST || worker)
        return true;
    park_host(plan, at);
    return false;
}

// Gives those that need not wait any more; returns how many.
static uint32_t look_at_parked(struct plan *plan)
{
    uint32_t kept = 0;
    lock_take(&plan->lock);
    const uint32_t count = plan->parked_count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t at = plan->parked[i];
        struct step *step = &plan->steps[at];
        step->passed = is_over(plan, step);
        if (step->passed)
            slot_give(plan, at);
        else
            plan->parked[kept++] = at;
    }
    plan->parked_count = kept;
    lock_give(&plan->lock);
    return count - kept;
}

// Runs a ready step, and its successors; false if no step is ready.
static bool take_step(struct parallel_for *loop, bool worker)
{
    struct plan *plan = loop->plan;
    // One is for this thread itself.
    if (atomic_load(&loop->poked) && atomic_exchange(&loop->poked, false) &&
        look_at_parked(plan) > 1)
        parallel_for_offer(stream_pool(plan->queue->stream), loop, false);
    uint32_t at = slot_take(plan);
    if (at == NO_STEP && worker)
        at = take_host(plan);
    if (at == NO_STEP)
        return false;
    while (at != NO_STEP && may_run_shared(plan, at, worker)) {
        struct step *step = &plan->steps[at];
        run_step(plan, step);
        at = step->kind >= STEP_DECIDE ? follow_choice(plan, step)
                                       : follow(plan, step);
    }
    return true;
}

static bool any_step(const struct parallel_for *loop, bool worker)
{
    const struct plan *plan = loop->plan;
    return atomic_load(&plan->taken) < atomic_load(&plan->given) ||
           atomic_load(&loop->poked) || (worker && plan->host_count > 0);
}

// With it, the queue's waits are told to the loop; NULL: no more.
static void set_shared(struct queue *queue, struct parallel_for *loop)
{
    lock_take(&queue->lock);
    queue->shared = loop;
    lock_give(&queue->lock);
}

// Threads that wait for something outside do not count.
static unsigned participants_most(const struct plan *plan)
{
    unsigned most = stream_pool(plan->queue->stream)->width;
    for (uint32_t i = plan->next; i < plan->count; i++)
        most += plan->steps[i].kind == STEP_OUTSIDE;
    return most;
}

static void share(struct plan *plan)
{
    branch_count_rest(plan);
    plan->taken = plan->given = 0;
    plan->shared = true;
    struct pool *pool = stream_pool(plan->queue->stream);
    plan->loop.queue = plan->queue;
    plan->loop.plan = plan;
    plan->loop.waits_outside = plan->waits_outside;
    plan->loop.most = participants_most(plan);
    plan->loop.rank = pool_rank(plan->queue->stream->priority);
    plan->loop.take = take_step;
    plan->loop.any = any_step;
    atomic_store(&plan->loop.participants, 1);
    // Before any thread joins: the thread that ends a step hands out the next
    // ones.
    for (uint32_t i = plan->next; i < plan->count; i = branch_ahead(plan, i))
        if (plan->left[i] == 0)
            slot_give(plan, i);
    set_shared(plan->queue, &plan->loop);
    parallel_for_offer(pool, &plan->loop, false);
}

static enum plan_outcome run_shared(struct plan *plan, bool worker,
                                    struct time_slice *turn)
{
    struct pool *pool = stream_pool(plan->queue->stream);
    // A queue that was blocked is no more because something is over.
    atomic_store(&plan->loop.poked, true);
    for (;;) {
        while (take_step(&plan->loop, worker))
            time_slice_yield(pool, plan->loop.rank, turn, clock_ticks());
        bool done = plan->unfinished == 0;
        if (done)
            set_shared(plan->queue, NULL);
        if (!parallel_for_close(pool, &plan->loop, worker))
            continue;
        if (done)
            return PLAN_DONE;
        plan->needs_worker = !worker && plan->host_count > 0;
        if (plan->needs_worker)
            return PLAN_NEEDS_WORKER;
        if (plan->unfinished > 0 && queue_block(plan->queue, NULL))
            return PLAN_BLOCKED;
    }
}

// --- The launch ------------------------------------------------------------

static void start(struct plan *plan, struct queue *queue, const struct op *op)
{
    if (plan->records)
        graph_await_launch(op);
    plan->queue = queue;
    plan->op = op;
    plan->scope = (struct stop_scope){
        .owner = queue, .watchdog = &stream_pool(queue->stream)->watchdog};
    plan->started = true;
    plan->shared = plan->needs_worker = false;
    plan->next = 0;
    plan->slow = 0;
    lock_take(&queue->lock);
    atomic_store(&plan->failed, atomic_load(&queue->stream->failure) != NULL ||
                                    queue_is_cancelled(queue));
    queue->plan = plan;
    lock_give(&queue->lock);
}

static void finish(struct plan *plan)
{
    struct queue *queue = plan->queue;
    lock_take(&queue->lock);
    queue->plan = NULL;
    lock_give(&queue->lock);
    note_cancelled(plan);
    plan->started = plan->needs_worker = false;
}

static enum plan_outcome go_on(struct plan *plan, bool worker,
                               struct time_slice *turn)
{
    enum next next = NEXT_GO;
    // Its branches go on while some wait.
    if (!plan->shared && plan->waits_outside && !plan->straight)
        share(plan);
    if (!plan->shared) {
        while (!run_alone(plan, worker, turn, &next)) {
            if (!plan->straight) {
                share(plan);
                return run_shared(plan, worker, turn);
            }
            plan->needs_worker = next == NEXT_WORKER;
            if (plan->needs_worker)
                return PLAN_NEEDS_WORKER;
            if (queue_block(plan->queue, NULL))
                return PLAN_BLOCKED;
        }
        return PLAN_DONE;
    }
    return run_shared(plan, worker, turn);
}

enum plan_outcome plan_run(struct plan *plan, struct queue *queue,
                           const struct op *op, bool worker)
{
    bool timed = !plan->started && plan->count > SMALL_STEPS;
    uint64_t begin = timed ? clock_ticks() : 0;
    if (!plan->started)
        start(plan, queue, op);
    struct pool *pool = stream_pool(queue->stream);
    struct time_slice turn = {0};
    enum plan_outcome outcome = go_on(plan, worker, &turn);
    time_slice_end(pool, &turn);  // which has this worker
    if (outcome != PLAN_DONE)
        return outcome;  // the plan may be another thread's, or gone
    finish(plan);
    bool brief = timed && clock_ticks() - begin <= BRIEF_TICKS;
    atomic_store_explicit(&plan->brief, brief, memory_order_relaxed);
    return outcome;
}

const struct step *plan_waiting(const struct plan *plan)
{
    const struct step *next = &plan->steps[plan->next];
    if (!plan->shared)
        return waits(next) ? next : NULL;
    return plan->parked_count > 0 ? &plan->steps[plan->parked[0]] : NULL;
}
