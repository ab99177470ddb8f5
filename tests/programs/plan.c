// From steps to calls and tasks: streams, events, promises.
#include "plan.h"

#include <string.h>

// --- Calls -----------------------------------------------------------------

struct call *plan_call(struct plan *plan, enum call_kind kind, int stream)
{
    struct call *call = &plan->program->calls[plan->program->call_count++];
    memset(call, 0, sizeof *call);
    call->kind = kind;
    call->stream = stream;
    call->tail = NONE;
    return call;
}

static bool is_known(const struct plan *plan, int task)
{
    return plan->host != NONE &&
           bit_has(plan->program->tasks[plan->host].before, task);
}

// Whether the host has waited for a failure that the stream still has.
static bool failure_is_known(const struct plan *plan, int stream)
{
    const struct program *program = plan->program;
    for (int i = plan->streams[stream].reset; i < program->task_count; i++)
        if (program->tasks[i].stream == stream && program->tasks[i].failed &&
            is_known(plan, i))
            return true;
    return false;
}

struct call *plan_enqueue(struct plan *plan, enum call_kind kind, int stream)
{
    struct call *call = plan_call(plan, kind, stream);
    if (plan_is_captured(plan, stream))
        return call;
    call->answer = ANSWER_ENQUEUE;
    call->tail = plan->streams[stream].tail;
    call->known = failure_is_known(plan, stream);
    return call;
}

struct task *plan_begin(struct plan *plan, int stream)
{
    struct task *task = model_begin(plan->program);
    task->stream = stream;
    task->call = plan->program->call_count - 1;
    model_edge(plan->program, plan->streams[stream].tail, EDGE_STREAM);
    model_edge(plan->program, plan->host, EDGE_HOST);
    return task;
}

int plan_end(struct plan *plan, int stream)
{
    return plan->streams[stream].tail = model_end(plan->program);
}

bool plan_is_captured(const struct plan *plan, int stream)
{
    return plan->streams[stream].capture != NONE;
}

bool plan_has_failed(const struct plan *plan, int stream)
{
    int tail = plan->streams[stream].tail;
    return tail != NONE && plan->program->tasks[tail].failed;
}

bool plan_is_blocked(const struct plan *plan, int stream)
{
    return model_awaits(plan->program, plan->streams[stream].tail, NONE);
}

bool plan_is_calm(const struct plan *plan)
{
    for (int i = 0; i < CAPTURES; i++)
        if (plan->captures[i].active && !plan->captures[i].relaxed)
            return false;
    return true;
}

static bool captures_nothing(const struct plan *plan)
{
    for (int i = 0; i < CAPTURES; i++)
        if (plan->captures[i].active)
            return false;
    return true;
}

// --- The host waits --------------------------------------------------------

static void host_knows(struct plan *plan, int task)
{
    if (task == NONE)
        return;
    struct program *program = plan->program;
    model_begin(program)->call = program->call_count - 1;
    model_edge(program, plan->host, EDGE_HOST);
    model_edge(program, task, EDGE_HOST);
    plan->host = model_end(program);
}

static void look_at(struct plan *plan, struct call *call, int task)
{
    call->tail = task;
    call->known = task == NONE || is_known(plan, task);
    call->blocked = model_awaits(plan->program, task, NONE);
}

static void query(struct plan *plan, int stream)
{
    if (plan_is_captured(plan, stream) || !plan_is_calm(plan))
        return;
    struct call *call = plan_call(plan, CALL_QUERY, stream);
    call->answer = ANSWER_QUERY;
    look_at(plan, call, plan->streams[stream].tail);
}

static void synchronize(struct plan *plan, int stream)
{
    if (plan_is_captured(plan, stream) || !plan_is_calm(plan))
        return;
    bool blocked = plan_is_blocked(plan, stream);
    if (blocked && plan->program->failures)
        return;
    struct call *call = plan_call(
        plan, blocked ? CALL_TIME_OUT : CALL_SYNCHRONIZE, stream);
    call->answer = blocked ? ANSWER_EXACT : ANSWER_WAIT;
    call->expected = RNL_ERROR_TIMED_OUT;
    look_at(plan, call, plan->streams[stream].tail);
    if (!blocked)
        host_knows(plan, plan->streams[stream].tail);
}

static bool reset(struct plan *plan, int stream)
{
    if (plan_is_captured(plan, stream) || !plan_is_calm(plan) ||
        plan_is_blocked(plan, stream))
        return false;
    plan_call(plan, CALL_RESET, stream);
    host_knows(plan, plan->streams[stream].tail);
    plan->streams[stream].reset = plan->program->task_count;
    plan->streams[stream].tail = NONE;
    plan_begin(plan, stream);
    plan_end(plan, stream);
    return true;
}

// --- Order between streams -------------------------------------------------

// A stream does not wait for itself, and does not fail again by what it did
// before it was reset.
static void wait_for(struct plan *plan, int stream, int task)
{
    if (task == NONE || plan->program->tasks[task].stream == stream)
        return;
    plan_begin(plan, stream);
    model_edge(plan->program, task, EDGE_WAIT);
    plan_end(plan, stream);
}

// With timing, which odd ones have, a record is work of its own.
static void record(struct plan *plan, int stream, int event)
{
    struct plan_event *at = &plan->events[event];
    if (plan_is_captured(plan, stream)) {
        plan_captured_record(plan, stream, event);
        return;
    }
    plan_call(plan, CALL_RECORD, stream)->event = event;
    if (event % 2) {
        plan_begin(plan, stream);
        plan_end(plan, stream);
    }
    *at = (struct plan_event){.recorded = true, .capture = NONE,
                              .task = plan->streams[stream].tail};
}

static void wait_event(struct plan *plan, int stream, int event)
{
    const struct plan_event *at = &plan->events[event];
    if (at->capture != NONE) {
        plan_captured_wait(plan, stream, event);
        return;
    }
    if (at->recorded && plan_is_captured(plan, stream))
        return;
    plan_enqueue(plan, CALL_WAIT, stream)->event = event;
    if (at->recorded)
        wait_for(plan, stream, at->task);
}

static void wait_stream(struct plan *plan, int stream, int other)
{
    if (stream == other)
        return;
    if (plan_is_captured(plan, stream) || plan_is_captured(plan, other)) {
        plan_captured_join(plan, stream, other);
        return;
    }
    plan_enqueue(plan, CALL_WAIT_STREAM, stream)->other = other;
    wait_for(plan, stream, plan->streams[other].tail);
}

static void wait_context(struct plan *plan, int stream)
{
    if (!captures_nothing(plan))
        return;
    plan_enqueue(plan, CALL_WAIT_CONTEXT, stream);
    plan_begin(plan, stream);
    for (int i = 0; i < STREAMS_ALL; i++)
        if (i != stream)
            model_edge(plan->program, plan->streams[i].tail, EDGE_WAIT);
    plan_end(plan, stream);
}

// Whatever is odd and even serves to do it in one way or the other.
static bool wait_for_writer(struct plan *plan, int stream, int task)
{
    int other = plan->program->tasks[task].stream;
    if (other == stream || plan_is_captured(plan, other))
        return false;
    if (plan_has_failed(plan, other))
        return reset(plan, other);
    if (task % 2) {
        record(plan, other, TEMPORARY);
        wait_event(plan, stream, TEMPORARY);
    } else {
        wait_stream(plan, stream, other);
    }
    return true;
}

// The newest task that the work would race with.
static int find_racer(const struct plan *plan, int stream,
                      const struct footprint *footprint, int exec)
{
    const struct program *program = plan->program;
    int tail = plan->streams[stream].tail;
    for (int i = program->task_count - 1; i >= 0; i--) {
        const struct task *task = &program->tasks[i];
        bool before = i == tail || is_known(plan, i) ||
                      (tail != NONE && bit_has(program->tasks[tail].before, i));
        if (!before && !task->failed &&
            (exec == NONE || task->exec != exec) &&
            footprints_conflict(footprint, &task->footprint))
            return i;
    }
    return NONE;
}

bool plan_make_room(struct plan *plan, int stream,
                    const struct footprint *footprint, int exec)
{
    for (int i = 0; i < 2 * STREAMS_ALL; i++) {
        if (plan_has_failed(plan, stream))
            return true;
        int task = find_racer(plan, stream, footprint, exec);
        if (task == NONE)
            return true;
        if (!wait_for_writer(plan, stream, task))
            return false;
    }
    return false;
}

static void enqueue_work(struct plan *plan, const struct step *step)
{
    struct footprint footprint = {0};
    int stream = step->a;
    if (plan_is_captured(plan, stream)) {
        plan_captured_work(plan, step);
        return;
    }
    work_footprint(&step->work, &footprint);
    if (!plan_make_room(plan, stream, &footprint, NONE))
        return;
    plan_enqueue(plan, CALL_WORK, stream)->added.work = step->work;
    struct task *task = plan_begin(plan, stream);
    task->work = step->work;
    task->footprint = footprint;
    plan_end(plan, stream);
}

// --- Events and the host ---------------------------------------------------

static void look_at_event(struct plan *plan, int event, bool wait)
{
    const struct plan_event *at = &plan->events[event];
    if (!plan_is_calm(plan) || at->capture != NONE)
        return;
    int task = at->recorded ? at->task : NONE;
    if (wait && model_awaits(plan->program, task, NONE))
        return;
    struct call *call = plan_call(
        plan, wait ? CALL_SYNCHRONIZE_EVENT : CALL_QUERY_EVENT, NONE);
    call->event = event;
    call->event_looked_at = true;
    call->answer = wait ? ANSWER_WAIT : ANSWER_QUERY;
    look_at(plan, call, task);
    if (wait)
        host_knows(plan, task);
}

// --- Promises --------------------------------------------------------------

static bool promise_make(struct plan *plan, int slot, bool word)
{
    if (plan->promise_count == PROMISES)
        return false;
    int promise = plan->promise_count++;
    plan->slots[slot] = promise;
    plan->program->promise_task[promise] = PROMISE_OPEN;
    plan->program->promise_is_word[promise] = word;
    if (!word)
        plan_call(plan, CALL_PROMISE_NEW, NONE)->promise = promise;
    return true;
}

// Words have slots of their own, behind those of promises.
static void promise_wait(struct plan *plan, int stream, int slot,
                         uint64_t value)
{
    bool word = slot >= SLOTS, fresh = value % 2;
    int promise = plan->slots[slot];
    if (plan_is_captured(plan, stream))
        return;
    int task = promise == NONE ? PROMISE_BROKEN
                               : plan->program->promise_task[promise];
    if ((task == PROMISE_BROKEN || (fresh && task != PROMISE_OPEN)) &&
        !promise_make(plan, slot, word))
        return;
    promise = plan->slots[slot];
    struct call *call = plan_enqueue(
        plan, word ? CALL_WORD_WAIT : CALL_PROMISE_WAIT, stream);
    call->promise = promise;
    call->value = value / 2;
    plan_begin(plan, stream)->promise = promise;
    plan_end(plan, stream);
}

static bool is_open(const struct plan *plan, int promise)
{
    return promise != NONE &&
           plan->program->promise_task[promise] == PROMISE_OPEN;
}

// Not where its own waiters come first: that would never end.
static void promise_record(struct plan *plan, int stream, int promise)
{
    struct program *program = plan->program;
    int tail = plan->streams[stream].tail;
    if (!is_open(plan, promise) || plan_is_captured(plan, stream) ||
        model_awaits(program, tail, promise))
        return;
    plan_call(plan, CALL_PROMISE_RECORD, stream)->promise = promise;
    if (tail == NONE) {
        plan_begin(plan, stream);
        tail = plan_end(plan, stream);
    }
    program->promise_task[promise] = tail;
    model_settle(program);
}

// What a stream that fails would write is written by the host instead, and what
// a stream collects is flushed: else somebody might wait for good.
static void word_write(struct plan *plan, int stream, int word, bool by_host)
{
    struct program *program = plan->program;
    if (!is_open(plan, word))
        return;
    if (by_host || program->failures || plan_is_captured(plan, stream) ||
        model_awaits(program, plan->streams[stream].tail, word)) {
        plan_call(plan, CALL_WORD_STORE, NONE)->promise = word;
        model_begin(program);
        model_edge(program, plan->host, EDGE_HOST);
        program->promise_task[word] = model_end(program);
    } else {
        plan_enqueue(plan, CALL_WORD_WRITE, stream)->promise = word;
        plan_begin(plan, stream);
        program->promise_task[word] = plan_end(plan, stream);
        plan_enqueue(plan, CALL_FLUSH, stream);
    }
    model_settle(program);
}

static void promise_break(struct plan *plan, int promise)
{
    if (!is_open(plan, promise))
        return;
    plan_call(plan, CALL_PROMISE_BREAK, NONE)->promise = promise;
    plan->program->promise_task[promise] = PROMISE_BROKEN;
    model_settle(plan->program);
}

static void flush(struct plan *plan, int stream)
{
    if (!plan_is_captured(plan, stream))
        plan_enqueue(plan, CALL_FLUSH, stream);
}

// Where something is captured, a wrong call may end that.
static void misuse(struct plan *plan, const struct step *step, int event)
{
    if (!captures_nothing(plan))
        return;
    struct call *call = plan_call(plan, CALL_MISUSE, step->a);
    call->event = event;
    call->other = step->c % BUFFERS;
    call->graph = step->b % GRAPHS;
    call->exec = step->c % EXECS;
    call->value = step->value;
    call->answer = ANSWER_REFUSED;
}

// --- Steps -----------------------------------------------------------------

static void do_step(struct plan *plan, const struct step *step)
{
    int stream = step->a, event = step->b % EVENTS, slot = step->b % SLOTS;
    switch (step->kind) {
    case STEP_WORK:
        enqueue_work(plan, step);
        break;
    case STEP_RECORD:
        record(plan, stream, event);
        break;
    case STEP_WAIT:
        wait_event(plan, stream, event);
        break;
    case STEP_WAIT_STREAM:
        wait_stream(plan, stream, step->b % STREAMS);
        break;
    case STEP_WAIT_CONTEXT:
        wait_context(plan, stream);
        break;
    case STEP_QUERY:
        query(plan, stream);
        break;
    case STEP_SYNCHRONIZE:
        synchronize(plan, stream);
        break;
    case STEP_RESET:
        reset(plan, stream);
        break;
    case STEP_QUERY_EVENT:
    case STEP_SYNCHRONIZE_EVENT:
        look_at_event(plan, event, step->kind == STEP_SYNCHRONIZE_EVENT);
        break;
    case STEP_PROMISE_WAIT:
        promise_wait(plan, stream, slot, step->value);
        break;
    case STEP_WORD_WAIT:
        promise_wait(plan, stream, SLOTS + slot, step->value);
        break;
    case STEP_WORD_WRITE:
        word_write(plan, stream, plan->slots[SLOTS + slot], step->value % 2);
        break;
    case STEP_FLUSH:
        flush(plan, stream);
        break;
    case STEP_PROMISE_RECORD:
        promise_record(plan, stream, plan->slots[slot]);
        break;
    case STEP_PROMISE_BREAK:
        promise_break(plan, plan->slots[slot]);
        break;
    case STEP_MISUSE:
        misuse(plan, step, event);
        break;
    default:
        plan_graph_step(plan, step);
    }
}

// There has to be room for the largest step, and for the end.
static bool has_room(const struct program *program)
{
    return program->task_count < TASKS - 200 &&
           program->edge_count < EDGES - 3000 &&
           program->call_count < CALLS - 150;
}

static void finish(struct plan *plan)
{
    for (int i = 0; i < CAPTURES; i++)
        if (plan->captures[i].active)
            plan_end_capture(plan, i, i);
    for (int i = 0; i < plan->promise_count; i++)
        if (plan->program->promise_is_word[i])
            word_write(plan, DRAIN, i, i % 2);
        else if (plan->program->failures && i % 2)
            promise_break(plan, i);
        else
            promise_record(plan, DRAIN, i);
    for (int i = 0; i < STREAMS_ALL; i++)
        synchronize(plan, i);
}

static void begin(struct plan *plan, struct program *program)
{
    memset(plan, 0, sizeof *plan);
    plan->program = program;
    plan->host = NONE;
    for (int i = 0; i < STREAMS_ALL; i++)
        plan->streams[i] = (struct plan_stream){.tail = NONE, .capture = NONE};
    for (int i = 0; i <= EVENTS; i++)
        plan->events[i] = (struct plan_event){.task = NONE, .capture = NONE};
    for (int i = 0; i < 2 * SLOTS; i++)
        plan->slots[i] = NONE;
    program->call_count = program->task_count = program->edge_count = 0;
    program->frozen_count = 0;
}

void program_plan(struct program *program)
{
    static struct plan plan;
    begin(&plan, program);
    for (int i = 0; i < program->step_count && has_room(program); i++)
        if (!program->steps[i].dropped)
            do_step(&plan, &program->steps[i]);
    finish(&plan);
    model_settle(program);
}
