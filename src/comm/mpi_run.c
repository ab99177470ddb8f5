// The engine MPI: an operation is a native function, so that the thread which
// waits for the stream runs the operation itself, and a graph can have it. A
// group is one launch for each of its streams, which begins all operations and
// then tests all of them.
#include "mpi.h"
#include "tuning.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define ARGUMENTS_MOST 1024  // of a launch, as Runnel has it
#define ARGUMENTS_SINGLE 4   // of a launch of one operation

// An operation, and which arguments of the launch have what it uses. The first
// argument is an array of steps; 0 stands for no argument.
struct step {
    struct comm_op op;
    uint64_t number;  // of comm_work
    uint16_t comm, send, receive;
};

struct running {
    struct comm *comm;
    const struct comm_op *op;
    uint64_t number;
    const char *send;
    char *receive;
    void *request;      // MPI's null request: not begun, or done
    uint64_t deadline;  // 0: not known yet
    bool done;
};

// The operations of a launch.
struct comm_run {
    size_t count;
    struct running *all;
};

static size_t bytes_of(const struct comm_op *op)
{
    return op->count * rnl_element_size(op->element);
}

// --- Failing -----------------------------------------------------------------

// The other operations of the launch end as well, so that no communicator of
// the launch can be used again.
static rnl_status fail_run(const struct comm_run *run,
                           const struct running *failed, rnl_status status,
                           const char *why)
{
    char what[160], message[512];
    bool under_way = false;
    op_describe(failed->comm, failed->op, what, sizeof what);
    snprintf(message, sizeof message, "%s: %s", what, why);
    for (size_t i = 0; i < run->count; i++) {
        comm_abort(run->all[i].comm);
        under_way |= run->all[i].request != mpi_constants.request_null;
    }
    return rnl_native_fail(status, message, under_way);
}

static rnl_status fail_mpi(const struct comm_run *run,
                           const struct running *failed, int code)
{
    char text[300];
    int class = 0;
    mpi_error(code, text, sizeof text);
    bool truncated = mpi.error_class(code, &class) == 0 &&
                     class == mpi_constants.error_truncate;
    return fail_run(run, failed,
                    truncated ? RNL_ERROR_ARGUMENT_MISMATCH : RNL_ERROR_DRIVER,
                    text);
}

static rnl_status fail_late(const struct comm_run *run,
                            const struct running *late)
{
    char why[120];
    snprintf(why, sizeof why,
             "not done within the time limit of %.3f s; some rank is gone, "
             "hangs or does something else",
             (double)late->comm->timeout_ns * 1e-9);
    return fail_run(run, late, RNL_ERROR_TIMED_OUT, why);
}

static const char mpi_ends[] = "MPI is finalized in this process";

// --- Running -----------------------------------------------------------------

static int begin(struct running *one)
{
    const struct comm_op *op = one->op;
    int count = (int)op->count;
    void *comm = one->comm->mpi.comm, *type = mpi_constants.types[op->element];
    void **request = &one->request;
    const void *send = op->in_place ? mpi_constants.in_place : one->send;
    void *reduction =
        op_reduces(op->kind) ? mpi_constants.operations[op->reduction] : NULL;
    switch (op->kind) {
    case OP_ALL_REDUCE:
        return mpi.all_reduce(send, one->receive, count, type, reduction, comm,
                              request);
    case OP_BROADCAST:
        return mpi.broadcast(one->receive, count, type, op->peer, comm,
                             request);
    case OP_REDUCE_SCATTER:
        return mpi.reduce_scatter(send, one->receive, count, type, reduction,
                                  comm, request);
    case OP_ALL_GATHER:
        return mpi.all_gather(send, count, type, one->receive, count, type,
                              comm, request);
    case OP_SEND:
        return mpi.send(send, count, type, op->peer, 0, comm, request);
    default:
        return mpi.receive(one->receive, count, type, op->peer, 0, comm,
                           request);
    }
}

// Other ranks do what this rank skips, and would meet the next operation with
// an earlier one of theirs.
static rnl_status check_turn(const struct comm_run *run,
                             const struct running *one)
{
    char why[240];
    uint64_t before = one->number - 1;
    if (one->comm->aborted)
        return fail_run(run, one, RNL_ERROR_CANCELLED,
                        "the communicator was aborted");
    if (!one->number || atomic_compare_exchange_strong(&one->comm->begun,
                                                       &before, one->number))
        return RNL_OK;
    snprintf(why, sizeof why,
             "operation %llu of this rank was skipped, because its stream "
             "failed or was cancelled, and this is operation %llu: release "
             "the communicator and create another one on all ranks",
             (unsigned long long)before + 1, (unsigned long long)one->number);
    return fail_run(run, one, RNL_ERROR_INVALID_STATE, why);
}

static rnl_status begin_all(const struct comm_run *run)
{
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < run->count && status == RNL_OK; i++)
        status = check_turn(run, &run->all[i]);
    if (status != RNL_OK)
        return status;
    for (size_t i = 0; i < run->count; i++) {
        int code = begin(&run->all[i]);
        if (code != 0)
            return fail_mpi(run, &run->all[i], code);
    }
    return RNL_OK;
}

static rnl_status check_received(const struct comm_run *run,
                                 const struct running *one, const void *status)
{
    const struct comm_op *op = one->op;
    char why[120];
    int count = 0, code = 0;
    if (op->kind == OP_RECEIVE)
        code = mpi.count(status, mpi_constants.types[op->element], &count);
    if (code != 0)
        return fail_mpi(run, one, code);
    if (op->kind != OP_RECEIVE || (size_t)count == op->count)
        return RNL_OK;
    if (count < 0)  // MPI_UNDEFINED
        snprintf(why, sizeof why,
                 "%zu elements were expected, and the last one came in part",
                 op->count);
    else
        snprintf(why, sizeof why, "%zu elements were expected and %d came",
                 op->count, count);
    return fail_run(run, one, RNL_ERROR_ARGUMENT_MISMATCH, why);
}

// MPI_Test sets the request of an operation that is done to the null request.
static rnl_status test_all(const struct comm_run *run, size_t *out_left)
{
    _Alignas(16) char status[64];  // of 20 bytes or 24
    rnl_status checked = RNL_OK;
    *out_left = 0;
    for (size_t i = 0; i < run->count && checked == RNL_OK; i++) {
        struct running *one = &run->all[i];
        int done = 0, code = 0;
        if (one->done)
            continue;
        code = mpi.test(&one->request, &done, status);
        if (code != 0)
            return fail_mpi(run, one, code);
        one->done = done;
        if (done)
            checked = check_received(run, one, status);
        *out_left += !done;
    }
    return checked;
}

// Looks for an abort, for the end of MPI, and at the clock.
static rnl_status look(const struct comm_run *run)
{
    uint64_t now = clock_ns();
    for (size_t i = 0; i < run->count; i++) {
        struct running *one = &run->all[i];
        if (one->done)
            continue;
        if (mpi_is_ending())
            return fail_run(run, one, RNL_ERROR_INVALID_STATE, mpi_ends);
        if (one->comm->aborted)
            return fail_run(run, one, RNL_ERROR_CANCELLED,
                            "the communicator was aborted");
        if (one->deadline == 0)
            one->deadline = clock_after(one->comm->timeout_ns);
        else if (now > one->deadline)
            return fail_late(run, one);
    }
    return RNL_OK;
}

static rnl_status run_all(const struct comm_run *run)
{
    size_t left = run->count;
    if (!mpi_enter())
        return fail_run(run, run->all, RNL_ERROR_INVALID_STATE, mpi_ends);
    rnl_status status = begin_all(run);
    for (unsigned round = 1; status == RNL_OK && left > 0; round++) {
        status = test_all(run, &left);
        if (status == RNL_OK && left > 0 && round % LOOK_ROUNDS == 0)
            status = look(run);
        if (round > YIELD_ROUNDS && round % LOOK_ROUNDS == 0)
            sched_yield();
    }
    mpi_leave();
    return status;
}

static char *address_of(const rnl_native_call *call, uint16_t argument,
                        size_t offset)
{
    char *buffer = argument ? *(char *const *)call->arguments[argument] : NULL;
    return buffer ? buffer + offset : NULL;  // an empty one has no address
}

static struct running running_of(const rnl_native_call *call,
                                 const struct step *step)
{
    return (struct running){
        .comm = *(struct comm *const *)call->arguments[step->comm],
        .op = &step->op,
        .number = step->number,
        .send = address_of(call, step->send, step->op.send_offset),
        .receive = address_of(call, step->receive, step->op.receive_offset),
        .request = mpi_constants.request_null,
    };
}

static rnl_status run_single(const rnl_native_call *call)
{
    struct running one = running_of(call, call->arguments[0]);
    return run_all(&(struct comm_run){1, &one});
}

// `user_data` is the number of operations.
static rnl_status run_group(const rnl_native_call *call)
{
    const struct step *steps = call->arguments[0];
    struct comm_run run = {.count = (uintptr_t)call->user_data};
    run.all = malloc(run.count * sizeof *run.all);
    if (!run.all) {
        struct running first = running_of(call, steps);
        return fail_run(&(struct comm_run){1, &first}, &first,
                        RNL_ERROR_OUT_OF_MEMORY,
                        "there is no memory for the group");
    }
    for (size_t i = 0; i < run.count; i++)
        run.all[i] = running_of(call, &steps[i]);
    rnl_status status = run_all(&run);
    free(run.all);
    return status;
}

// --- Functions ---------------------------------------------------------------

static const rnl_parameter pointer_parameter = {
    RNL_VALUE_POINTER, sizeof(void *), _Alignof(void *), "void *"};

static rnl_status create_function(rnl_context context, size_t steps,
                                  size_t arguments, bool prompt,
                                  rnl_function *out_function)
{
    rnl_parameter parameters[ARGUMENTS_MOST] = {
        {RNL_VALUE_STRUCT, (uint32_t)(steps * sizeof(struct step)),
         _Alignof(struct step), "struct step"}};
    for (size_t i = 1; i < arguments; i++)
        parameters[i] = pointer_parameter;
    return rnl_function_create_native(
        context, "communication", steps == 1 ? run_single : run_group,
        RNL_NATIVE_OPTIONS(.parameters = parameters,
                           .parameter_count = arguments,
                           .user_data = (void *)(uintptr_t)steps,
                           .flags = RNL_NATIVE_WAITS |
                                    (prompt ? RNL_NATIVE_PROMPT : 0)),
        out_function);
}

rnl_status mpi_create_functions(struct comm *comm)
{
    rnl_status status = RNL_OK;
    for (int i = 0; i < 2 && status == RNL_OK; i++)
        status = create_function(comm->context, 1, ARGUMENTS_SINGLE, i,
                                 &comm->mpi.run[i]);
    return status;
}

static bool is_misordered(const struct comm_op *op)
{
    return (op->reduction == RNL_REDUCE_MIN ||
            op->reduction == RNL_REDUCE_MAX) &&
           op->element <= RNL_ELEMENT_UINT64 &&
           mpi_constants.misorders[op->element];
}

rnl_status mpi_check(const struct comm_work *work, const char *function)
{
    const struct comm_op *op = &work->op;
    bool half = op->element == RNL_ELEMENT_FLOAT16 ||
                op->element == RNL_ELEMENT_BFLOAT16;
    if (op->count > INT_MAX)
        return report(RNL_ERROR_OUT_OF_RANGE, function, "data",
                      "MPI counts elements up to %d, not %zu: split the "
                      "operation",
                      INT_MAX, op->count);
    // Open MPI before 4.1.4 has the elements of all ranks in an int.
    if ((op->kind == OP_ALL_GATHER || op->kind == OP_REDUCE_SCATTER) &&
        op->count * (size_t)work->comm->size > INT_MAX)
        return report(RNL_ERROR_OUT_OF_RANGE, function, "data",
                      "MPI counts elements of all %d ranks up to %d, and each "
                      "has %zu: split the operation",
                      work->comm->size, INT_MAX, op->count);
    if (op->kind == OP_REDUCE_SCATTER && op->in_place)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "data",
                      "'receive' is a part of 'send', and MPI does no "
                      "reduce-scatter in place: use another buffer");
    if (op_reduces(op->kind) && half)
        return report(RNL_ERROR_UNSUPPORTED, function, "data",
                      "MPI does not reduce FLOAT16 or BFLOAT16: convert to "
                      "FLOAT32 in a kernel");
    if (op_reduces(op->kind) && is_misordered(op))
        return report(RNL_ERROR_UNSUPPORTED, function, "data",
                      "this MPI takes %s for numbers with a sign when it looks "
                      "for the least or the greatest: use signed or wider "
                      "elements, or another MPI",
                      element_name(op->element));
    if (op_reduces(op->kind) && op->reduction == RNL_REDUCE_AVERAGE)
        return report(RNL_ERROR_UNSUPPORTED, function, "reduction",
                      "MPI has no average: sum, and divide in a kernel");
    return RNL_OK;
}

// --- Enqueuing ---------------------------------------------------------------

// A launch that is being put together.
struct comm_launch {
    size_t count, argument_count, most;
    struct step *steps;
    rnl_arg *arguments;
    bool prompt, full;
};

// Adds a buffer that is not among the arguments yet.
static uint16_t argument_of(struct comm_launch *launch, rnl_buffer buffer)
{
    size_t at = 1;
    if (!buffer)
        return 0;
    while (at < launch->argument_count &&
           launch->arguments[at].value.buffer != buffer)
        at++;
    if (at < launch->argument_count)
        return (uint16_t)at;
    if (at == launch->most) {
        launch->full = true;
        return 0;
    }
    launch->arguments[launch->argument_count++] = rnl_arg_of_buffer(buffer);
    return (uint16_t)at;
}

static void add(struct comm_launch *launch, const struct comm_work *work)
{
    struct step *step = &launch->steps[launch->count++];
    *step = (struct step){.op = work->op, .number = work->number};
    step->comm = argument_of(launch, work->comm->mpi.self);
    step->send = argument_of(launch, work->send);
    step->receive = argument_of(launch, work->receive);
    launch->prompt |= bytes_of(&work->op) >= PROMPT_BYTES;
}

static rnl_status submit(struct comm_launch *launch, rnl_stream stream,
                         rnl_function function, const char *label)
{
    launch->arguments[0] = rnl_arg_of_struct(
        launch->steps, (uint32_t)(launch->count * sizeof *launch->steps));
    return rnl_enqueue_function(
        stream, function, RNL_LAUNCH(.grid = {1}, .block = {1}, .label = label),
        &(rnl_args){sizeof(rnl_args), launch->argument_count,
                    launch->arguments});
}

static rnl_status enqueue_single(const struct comm_work *work)
{
    struct step step;
    rnl_arg arguments[ARGUMENTS_SINGLE];
    struct comm_launch launch = {.argument_count = 1,
                                 .most = ARGUMENTS_SINGLE,
                                 .steps = &step,
                                 .arguments = arguments};
    add(&launch, work);
    while (launch.argument_count < ARGUMENTS_SINGLE)
        arguments[launch.argument_count++] = rnl_arg_of_pointer(NULL);
    return submit(&launch, work->stream, work->comm->mpi.run[launch.prompt],
                  op_name(work->op.kind));
}

static rnl_status launch_group(struct comm_launch *launch,
                               const struct comm_work *first,
                               const char *function)
{
    rnl_function run;
    if (launch->full)
        return report(RNL_ERROR_OUT_OF_RANGE, function, NULL,
                      "the operations of a stream in a group have %d buffers "
                      "and communicators at most",
                      ARGUMENTS_MOST - 1);
    rnl_status status =
        create_function(first->comm->context, launch->count,
                        launch->argument_count, launch->prompt, &run);
    if (status != RNL_OK)
        return status;
    status = submit(launch, first->stream, run, "group");
    rnl_function_release(run);
    return status;
}

// The operations that go to the stream of the first one.
static rnl_status enqueue_stream(const struct comm_work *works, size_t count,
                                 const char *function)
{
    rnl_arg arguments[ARGUMENTS_MOST];
    struct comm_launch launch = {.argument_count = 1,
                                 .most = ARGUMENTS_MOST,
                                 .steps = malloc(count * sizeof *launch.steps),
                                 .arguments = arguments};
    if (!launch.steps)
        return report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
                      "there is no memory for a group");
    for (size_t i = 0; i < count; i++)
        if (works[i].stream == works[0].stream)
            add(&launch, &works[i]);
    rnl_status status = launch.count == 1
                            ? enqueue_single(works)
                            : launch_group(&launch, works, function);
    free(launch.steps);
    return status;
}

static bool is_first_of_stream(const struct comm_work *works, size_t at)
{
    size_t before = at;
    while (before > 0 && works[before - 1].stream != works[at].stream)
        before--;
    return before == 0;
}

rnl_status mpi_enqueue(const struct comm_work *works, size_t count,
                       const char *function)
{
    rnl_status status = RNL_OK;
    if (count == 1)
        return enqueue_single(works);
    for (size_t i = 0; i < count && status == RNL_OK; i++)
        if (is_first_of_stream(works, i))
            status = enqueue_stream(works + i, count - i, function);
    return status;
}
