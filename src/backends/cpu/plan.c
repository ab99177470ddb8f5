#include "backends/cpu/plan.h"

// Steps that take this long on average, in ticks, are worth handing out.
#define SHARE_TICKS 6000
#define NO_STEP UINT32_MAX
#define LOOKED_AT 8   // steps, one by one
#define CALLS_MOST 4  // … and then so many at once

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
    char message[REGION_MESSAGE];
    rnl_status status = RNL_OK;
    const struct op *op = step->recipe->ops;
    for (; op && status == RNL_OK; op = op->next)
        if ((status = op_perform(pool, plan->queue, op, message)))
            fail_plan(plan, op, status, message);
}

static __attribute__((noinline)) void
fail_call(struct plan *plan, const struct step *step, rnl_status status)
{
    char message[REGION_MESSAGE];
    status = op_call_failed(status, message);
    fail_plan(plan, step->recipe->ops, status, message);
}

// Runs a step and those behind it that are calls, too; returns how many.
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
    char message[REGION_MESSAGE];
    const struct kernel_run *failed, *at = &step->run;
    uint32_t count = 1;
    for (; at->next; at = at->next)
        count++;
    callback_begin();
    rnl_status status =
        block_run_list(&step->run, &failed, message, sizeof message);
    callback_end();
    if (status != RNL_OK)
        fail_plan(plan, step_of_run(failed)->recipe->ops, status,
                  message);
    return count;
}

static void run_single(struct plan *plan, const struct step *step)
{
    char message[REGION_MESSAGE];
    callback_begin();
    rnl_status status = block_run(&step->run, 0, 1, message, sizeof message);
    callback_end();
    if (status != RNL_OK)
        fail_plan(plan, step->recipe->ops, status, message);
}

static bool has_failed(const struct plan *plan)
{
    return atomic_load_explicit(&plan->failed, memory_order_relaxed);
}

static void run_body(struct plan *outer, const struct step *step);

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
            region_offer(stream_pool(stream), &plan->region, true);
        queue_call_host(plan->queue, step->recipe->ops);
        break;
    case STEP_RECORD:
        event_arrive((struct event *)step->recipe->subject,
                     op_launch(plan->op), has_failed(plan) ? stream : NULL,
                     plan->op->sequence);
        break;
    case STEP_OPS:
        if (!has_failed(plan))
            run_ops(plan, step);
        break;
    case STEP_IF:
    case STEP_WHILE:
        if (!has_failed(plan))
            run_body(plan, step);
        break;
    case STEP_WAIT:
    case STEP_VALUES:
        step->passed = false;
        break;
    default:
        break;
    }
}

// Bodies have no steps that wait, so they run in one go.
static void run_body(struct plan *outer, const struct step *step)
{
    struct plan *body = step->body;
    body->queue = outer->queue;
    body->op = outer->op;
    atomic_store(&body->failed, false);
    while (__atomic_load_n(step->recipe->word, __ATOMIC_ACQUIRE) != 0) {
        for (uint32_t i = 0; i < body->count; i++)
            run_step(body, &body->steps[i]);
        if (has_failed(body))
            atomic_store(&outer->failed, true);
        if (has_failed(body) || step->kind == STEP_IF)
            return;
    }
}

// --- Steps that wait -------------------------------------------------------

static void wait_reset(struct step *step)
{
    struct op *op = step->wait;
    while (op->kept_count > 0)
        object_drop(op->kept[--op->kept_count]);
    op->stream = NULL;
}

// Makes the step wait for what its event stood for at the launch. False when
// that is nothing.
static bool wait_begin(struct plan *plan, const struct step *step)
{
    const struct wait *point = &op_points(plan->op)[step->point];
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
    vain |= has_failed(plan) && !atomic_load(&wait->listed);
    if (!vain && !queue_wait_is_over(op))
        return false;
    wait_reset(step);
    if (atomic_load(&plan->queue->stream->failure))
        atomic_store(&plan->failed, true);
    return true;
}

static bool values_are_over(struct plan *plan, struct step *step)
{
    bool vain = has_failed(plan) && !atomic_load(&step->watch.listed);
    if (!vain && !watch_values(plan->queue, &step->recipe->ops->values,
                               &step->value, &step->watch))
        return false;
    step->value = 0;
    return true;
}

// --- Alone: in order -------------------------------------------------------

enum next {
    NEXT_GO,
    NEXT_WAIT,
    NEXT_WORKER,
};

static enum next may_run(struct plan *plan, struct step *step, bool worker)
{
    if (step->kind == STEP_HOST && !worker)
        return NEXT_WORKER;
    bool over = true;
    if (step->kind == STEP_WAIT)
        over = wait_is_over(plan, step);
    else if (step->kind == STEP_VALUES)
        over = values_are_over(plan, step);
    return over ? NEXT_GO : NEXT_WAIT;
}

// Notes how long steps took; true once it would pay to let others have some. A
// thread that lost its processor for a moment finds one of the times long, so
// it takes two in a row.
static bool worth_sharing(struct plan *plan, uint64_t ticks, uint32_t steps)
{
    plan->slow = ticks / steps > SHARE_TICKS ? plan->slow + 1 : 0;
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

// Runs the next step, and those that are linked behind it.
static void run_next(struct plan *plan)
{
    struct step *step = &plan->steps[plan->next];
    uint32_t done = 1;
    if (step->kind == STEP_CALL && !has_failed(plan))
        done = run_calls(plan, step, calls_at_once(plan));
    else if (step->kind == STEP_RUN && !has_failed(plan))
        done = run_chain(plan, step);
    else
        run_step(plan, step);
    plan->next += done;
}

// False when a step cannot run now (`*out_next`), or should not run alone.
static bool run_alone(struct plan *plan, bool worker, enum next *out_next)
{
    // With nobody to share with, times do not matter.
    bool untimed = plan->straight ||
                   stream_pool(plan->queue->stream)->width == 1;
    uint64_t start = untimed ? 0 : clock_ticks();
    uint32_t first = plan->next;
    while (plan->next < plan->count) {
        struct step *step = &plan->steps[plan->next];
        *out_next = may_run(plan, step, worker);
        if (*out_next != NEXT_GO ||
            (step->kind == STEP_HOST && !plan->straight))
            return false;
        run_next(plan);
        // The first ones are looked at singly: they may be long.
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

// --- Shared ----------------------------------------------------------------

static uint32_t slot_take(struct plan *plan)
{
    uint32_t taken = atomic_load(&plan->taken);
    do {
        if (taken >= atomic_load(&plan->given))
            return NO_STEP;
    } while (!atomic_compare_exchange_weak(&plan->taken, &taken, taken + 1));
    uint32_t step;
    while ((step = atomic_load(&plan->slots[taken])) == 0)
        cpu_relax();  // it is being filled this moment
    return step - 1;
}

static void slot_give(struct plan *plan, uint32_t step)
{
    uint32_t slot = atomic_fetch_add(&plan->given, 1);
    atomic_store(&plan->slots[slot], step + 1);
}

static void park(struct plan *plan, uint32_t step)
{
    lock_take(&plan->lock);
    plan->parked[plan->parked_count++] = step;
    lock_give(&plan->lock);
}

// Ends a step; returns a follower to go on with.
static uint32_t follow(struct plan *plan, const struct step *step)
{
    uint32_t next = NO_STEP;
    bool gave = false;
    for (uint32_t i = step->first; i < step->end; i++) {
        uint32_t follower = plan->followers[i];
        if (atomic_fetch_sub(&plan->left[follower], 1) != 1)
            continue;
        gave |= next != NO_STEP;
        if (next == NO_STEP)
            next = follower;
        else
            slot_give(plan, follower);
    }
    atomic_fetch_sub(&plan->unfinished, 1);
    if (gave)
        region_offer(stream_pool(plan->queue->stream), &plan->region, false);
    return next;
}

static bool waits(const struct step *step)
{
    return step->kind == STEP_WAIT || step->kind == STEP_VALUES;
}

static bool may_run_shared(const struct step *step, bool worker)
{
    return waits(step) ? step->passed : step->kind != STEP_HOST || worker;
}

// Runs a step that is ready, and what follows; false when there is none.
static bool take_step(struct region *region, bool worker)
{
    struct plan *plan = region->plan;
    uint32_t at = slot_take(plan);
    if (at == NO_STEP)
        return false;
    while (at != NO_STEP) {
        struct step *step = &plan->steps[at];
        if (!may_run_shared(step, worker)) {
            park(plan, at);
            break;
        }
        run_step(plan, step);
        at = follow(plan, step);
    }
    return true;
}

static bool any_step(const struct region *region)
{
    const struct plan *plan = region->plan;
    return atomic_load(&plan->taken) < atomic_load(&plan->given);
}

static void share(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->count; i++) {
        atomic_store_explicit(&plan->left[i], 0, memory_order_relaxed);
        atomic_store_explicit(&plan->slots[i], 0, memory_order_relaxed);
    }
    for (uint32_t i = plan->next; i < plan->count; i++)
        for (uint32_t k = plan->steps[i].first; k < plan->steps[i].end; k++)
            atomic_fetch_add_explicit(&plan->left[plan->followers[k]], 1,
                                      memory_order_relaxed);
    plan->taken = plan->given = 0;
    plan->unfinished = plan->count - plan->next;
    plan->parked_count = 0;
    plan->shared = true;
    struct pool *pool = stream_pool(plan->queue->stream);
    plan->region.queue = plan->queue;
    plan->region.plan = plan;
    plan->region.most = pool->width;
    plan->region.take = take_step;
    plan->region.any = any_step;
    atomic_store(&plan->region.participants, 1);
    for (uint32_t i = plan->next; i < plan->count; i++)
        if (plan->left[i] == 0)
            slot_give(plan, i);
    region_offer(pool, &plan->region, false);
}

// While nobody else is there, all slots have been taken: what was parked needs
// new ones.
static void empty_slots(struct plan *plan)
{
    for (uint32_t i = 0; i < plan->given; i++)
        atomic_store_explicit(&plan->slots[i], 0, memory_order_relaxed);
    plan->taken = plan->given = 0;
}

// Looks again at what is parked; true when something can go on.
static bool unpark(struct plan *plan, bool worker)
{
    bool any = false;
    uint32_t kept = 0;
    plan->needs_worker = false;
    empty_slots(plan);
    for (uint32_t i = 0; i < plan->parked_count; i++) {
        uint32_t at = plan->parked[i];
        enum next next = may_run(plan, &plan->steps[at], worker);
        plan->needs_worker |= next == NEXT_WORKER;
        if (next != NEXT_GO) {
            plan->parked[kept++] = at;
            continue;
        }
        any = true;
        plan->steps[at].passed = waits(&plan->steps[at]);
        slot_give(plan, at);
    }
    plan->parked_count = kept;
    return any;
}

static enum plan_outcome run_shared(struct plan *plan, bool worker)
{
    struct pool *pool = stream_pool(plan->queue->stream);
    for (;;) {
        while (take_step(&plan->region, worker)) {
        }
        if (!region_close(pool, &plan->region))
            continue;
        if (plan->unfinished == 0)
            return PLAN_DONE;
        if (unpark(plan, worker))
            continue;
        if (plan->needs_worker)
            return PLAN_NEEDS_WORKER;
        if (queue_block(plan->queue, NULL))
            return PLAN_BLOCKED;
    }
}

// --- The launch ------------------------------------------------------------

static void start(struct plan *plan, struct queue *queue, const struct op *op)
{
    plan->queue = queue;
    plan->op = op;
    plan->started = true;
    plan->shared = plan->needs_worker = false;
    plan->next = 0;
    plan->slow = 0;
    atomic_store(&plan->failed, atomic_load(&queue->stream->failure) != NULL);
}

static enum plan_outcome go_on(struct plan *plan, bool worker)
{
    enum next next = NEXT_GO;
    if (!plan->shared) {
        while (!run_alone(plan, worker, &next)) {
            if (!plan->straight) {
                share(plan);
                return run_shared(plan, worker);
            }
            plan->needs_worker = next == NEXT_WORKER;
            if (plan->needs_worker)
                return PLAN_NEEDS_WORKER;
            if (queue_block(plan->queue, NULL))
                return PLAN_BLOCKED;
        }
        return PLAN_DONE;
    }
    return run_shared(plan, worker);
}

enum plan_outcome plan_run(struct plan *plan, struct queue *queue,
                           const struct op *op, bool worker)
{
    if (!plan->started)
        start(plan, queue, op);
    enum plan_outcome outcome = go_on(plan, worker);
    if (outcome == PLAN_DONE)
        plan->started = plan->needs_worker = false;
    return outcome;
}

const struct step *plan_waiting(const struct plan *plan)
{
    const struct step *next = &plan->steps[plan->next];
    if (!plan->shared)
        return waits(next) ? next : NULL;
    for (uint32_t i = 0; i < plan->parked_count; i++)
        if (waits(&plan->steps[plan->parked[i]]))
            return &plan->steps[plan->parked[i]];
    return NULL;
}
