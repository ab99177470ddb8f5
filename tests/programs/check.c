// Compares what a run found with what the model says.
#include "model.h"

#include <string.h>

// --- Answers ---------------------------------------------------------------

// The failure that calls about `tail` report; RNL_OK: none.
static rnl_status failure_of(const struct program *program,
                             const struct call *call)
{
    const struct task *task =
        call->tail == NONE ? NULL : &program->tasks[call->tail];
    return task && task->failed ? task->status : RNL_OK;
}

// An event's failure is reported as the stream's, or as one that it inherited.
static bool is_failure(const struct call *call, rnl_status answer,
                       rnl_status failure)
{
    if (call->event_looked_at && failure != RNL_OK)
        return answer == RNL_ERROR_IO || answer == RNL_ERROR_DEPENDENCY_FAILED;
    return answer == failure;
}

static bool query_is_right(const struct program *program,
                           const struct call *call, rnl_status answer)
{
    rnl_status failure = failure_of(program, call);
    // An event behind nothing takes a moment, too, where others do the work.
    if (call->known && (call->tail != NONE || machine_is_cpu()))
        return is_failure(call, answer, failure);
    if (call->blocked && !program->failures)
        return answer == RNL_NOT_READY;
    return answer == RNL_NOT_READY || is_failure(call, answer, failure);
}

static bool is_right(const struct program *program, const struct call *call,
                     rnl_status answer)
{
    rnl_status failure = failure_of(program, call);
    switch (call->answer) {
    case ANSWER_OK:
        return answer == RNL_OK;
    case ANSWER_ENQUEUE:
        return answer == failure || (answer == RNL_OK && !call->known);
    case ANSWER_QUERY:
        return query_is_right(program, call, answer);
    case ANSWER_WAIT:
        return is_failure(call, answer, failure);
    case ANSWER_EXACT:
        return answer == call->expected;
    case ANSWER_REFUSED:
        return answer != RNL_OK && answer != RNL_NOT_READY &&
               answer != RNL_ERROR_INTERNAL;
    }
    return false;
}

static bool check_answers(struct program *program)
{
    for (int i = 0; i < program->call_count; i++) {
        const struct call *call = &program->calls[i];
        rnl_status answer = program->answers[i];
        if (!is_right(program, call, answer))
            return problem(program,
                           "call %d answers %s; it is about a task that %s%s%s",
                           i, rnl_status_name(answer),
                           failure_of(program, call) ? "failed with " : "is",
                           failure_of(program, call)
                               ? rnl_status_name(failure_of(program, call))
                               : " fine",
                           call->known ? ", as is known" : "");
    }
    return true;
}

// --- Memory ----------------------------------------------------------------

struct memory {
    uint8_t bytes[MEMORIES][BYTES];
    bool unknown[MEMORIES][BYTES];
    bool broken;
};

static void load(const struct memory *memory, int at, int offset,
                 uint64_t *value, bool *unknown)
{
    memcpy(value, &memory->bytes[at][offset], 8);
    for (int i = 0; i < 8; i++)
        *unknown |= memory->unknown[at][offset + i];
}

static void do_cells(struct memory *memory, const struct work *work)
{
    for (int i = 0; i < work->size; i += 8) {
        uint64_t to, from = 0;
        bool unknown = false;
        load(memory, work->to, work->to_offset + i, &to, &unknown);
        if (work->kind == WORK_MIX)
            load(memory, work->from, work->from_offset + i, &from, &unknown);
        to = work_cell(work, to, from);
        memcpy(&memory->bytes[work->to][work->to_offset + i], &to, 8);
        memset(&memory->unknown[work->to][work->to_offset + i], unknown, 8);
    }
}

static void do_copy(struct memory *memory, const struct work *work)
{
    memcpy(&memory->bytes[work->to][work->to_offset],
           &memory->bytes[work->from][work->from_offset], work->size);
    memcpy(&memory->unknown[work->to][work->to_offset],
           &memory->unknown[work->from][work->from_offset], work->size);
}

static void do_work(struct memory *memory, const struct work *work)
{
    switch (work->kind) {
    case WORK_NOTHING:
    case WORK_FAIL:
        break;
    case WORK_FILL:
        for (int i = 0; i < work->size; i++)
            memory->bytes[work->to][work->to_offset + i] =
                (uint8_t)(work->value >> i % work->pattern_size * 8);
        memset(&memory->unknown[work->to][work->to_offset], 0, work->size);
        break;
    case WORK_COPY:
        do_copy(memory, work);
        break;
    case WORK_WRITE:
        memcpy(&memory->bytes[work->to][work->to_offset], &work->value,
               work->size);
        memset(&memory->unknown[work->to][work->to_offset], 0, work->size);
        break;
    default:
        do_cells(memory, work);
    }
}

static void forget(struct memory *memory, const struct footprint *footprint)
{
    for (int i = 0; i < MEMORIES; i++)
        for (int k = 0; k < BYTES; k++)
            if ((footprint->write[i] | footprint->add[i]) >> k & 1)
                memory->unknown[i][k] = true;
}

static void do_body(struct memory *memory, const struct task *task,
                    const struct work *word)
{
    for (int turn = 0; turn < 8; turn++) {
        uint64_t value;
        bool unknown = false;
        load(memory, word->to, word->to_offset, &value, &unknown);
        if (unknown) {
            forget(memory, &task->footprint);
            return;
        }
        if ((uint32_t)value == 0)
            return;
        for (int i = 0; i < task->body_count; i++)
            do_work(memory, &task->body[i]);
        if (task->kind == RNL_NODE_IF)
            return;
    }
}

static void do_task(struct memory *memory, const struct task *task)
{
    if (task->failed || (memory->broken && task->work.kind == WORK_MIX))
        return;
    if (task->maybe)
        forget(memory, &task->footprint);
    else if (task->kind)
        do_body(memory, task, &task->word);
    else
        do_work(memory, &task->work);
}

static bool check_memory(struct program *program)
{
    static struct memory memory;
    int order[TASKS];
    memset(&memory, 0, sizeof memory);
    memory.broken = program->broken;
    for (int i = 0; i < MEMORIES; i++)
        for (int k = 0; k < BYTES; k++)
            memory.bytes[i][k] = memory_start(i, k);
    model_order(program, order);
    for (int i = 0; i < program->task_count; i++)
        do_task(&memory, &program->tasks[order[i]]);
    for (int i = 0; i < MEMORIES; i++)
        for (int k = 0; k < BYTES; k++)
            if (!memory.unknown[i][k] &&
                memory.bytes[i][k] != program->memory[i][k])
                return problem(program,
                               "byte %d of %s %d is 0x%02x, not 0x%02x", k,
                               i < BUFFERS ? "buffer" : "host",
                               i < BUFFERS ? i : i - BUFFERS,
                               program->memory[i][k], memory.bytes[i][k]);
    return true;
}

// --- Host functions --------------------------------------------------------

static bool is_called(const struct program *program, const struct task *task,
                      int id)
{
    return task->work.kind == WORK_HOST && task->work.id == id &&
           program->answers[task->call] == RNL_OK;
}

// The calls of one host function, and where in the log each task's is; NONE
// where several have no order among themselves.
static bool match_calls(struct program *program, int id, int *places)
{
    int task = 0, last = NONE;
    bool ordered = true;
    for (int i = 0; i < program->host_call_count; i++) {
        if (program->host_calls[i].id != id)
            continue;
        while (task < program->task_count &&
               !is_called(program, &program->tasks[task], id))
            task++;
        if (task == program->task_count)
            return problem(program, "host function %d is called too often",
                           id);
        places[task] = i;
        ordered &= last == NONE || bit_has(program->tasks[task].before, last);
        last = task++;
    }
    for (; task < program->task_count; task++)
        if (is_called(program, &program->tasks[task], id))
            return problem(program, "host function %d is not called", id);
    for (int i = 0; !ordered && i < program->task_count; i++)
        if (is_called(program, &program->tasks[i], id))
            places[i] = NONE;
    return true;
}

static bool check_status(struct program *program, int index, int place)
{
    const struct task *task = &program->tasks[index];
    const struct host_call *call = &program->host_calls[place];
    rnl_status expected = task->failed ? task->status : RNL_OK;
    if (task->maybe || call->status == expected)
        return true;
    return problem(program, "host function %d is called with %s, not %s",
                   call->id, rnl_status_name(call->status),
                   rnl_status_name(expected));
}

static bool check_places(struct program *program, const int *places)
{
    for (int i = 0; i < program->task_count; i++) {
        if (places[i] == NONE)
            continue;
        if (!check_status(program, i, places[i]))
            return false;
        for (int k = 0; k < program->task_count; k++)
            if (places[k] > places[i] &&
                bit_has(program->tasks[i].before, k))
                return problem(program,
                               "host function %d is called before %d",
                               program->tasks[i].work.id,
                               program->tasks[k].work.id);
    }
    return true;
}

static bool check_host_calls(struct program *program)
{
    static int places[TASKS];
    for (int i = 0; i < TASKS; i++)
        places[i] = NONE;
    for (int id = 1; id <= STEPS; id++)
        if (!match_calls(program, id, places))
            return false;
    return check_places(program, places);
}

bool program_check(struct program *program)
{
    if (program->host_call_count > HOST_CALLS)
        return problem(program, "far too many host functions are called");
    return check_answers(program) && check_host_calls(program) &&
           check_memory(program);
}
