// The engine MPI: an operation is a native function, so that the thread which
// waits for the stream runs the operation itself, and a graph can have it. In a
// group each operation is two launches: all begin, then all end.
#include "mpi.h"
#include "tuning.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum phase { PHASE_BEGIN = 1, PHASE_END = 2, PHASE_BOTH = 3 };

// The first argument of a launch.
struct step {
    struct comm_op op;
    enum phase phase;
    uint32_t slot;  // of a request between two launches
};

struct running {
    struct comm *comm;
    const struct step *step;
    const char *send;  // NULL: in place
    char *receive;
};

static size_t bytes_of(const struct comm_op *op)
{
    return op->count * rnl_element_size(op->element);
}

// --- Failing -----------------------------------------------------------------

static rnl_status fail_run(const struct running *run, rnl_status status,
                           bool keep, const char *why)
{
    char what[160], message[512];
    op_describe(run->comm, &run->step->op, what, sizeof what);
    snprintf(message, sizeof message, "%s: %s", what, why);
    comm_abort(run->comm);
    return rnl_native_fail(status, message, keep);
}

static rnl_status fail_mpi(const struct running *run, int code)
{
    char text[300];
    int class = 0;
    mpi_error(code, text, sizeof text);
    bool truncated = mpi.error_class(code, &class) == 0 &&
                     class == mpi_constants.error_truncate;
    return fail_run(run,
                    truncated ? RNL_ERROR_ARGUMENT_MISMATCH : RNL_ERROR_DRIVER,
                    false, text);
}

static rnl_status fail_late(const struct running *run)
{
    char why[120];
    snprintf(why, sizeof why,
             "not done within the time limit of %.3f s; some rank is gone, "
             "hangs or does something else",
             (double)run->comm->timeout_ns * 1e-9);
    return fail_run(run, RNL_ERROR_TIMED_OUT, true, why);
}

// --- Running -----------------------------------------------------------------

static int begin(const struct running *run, void **request)
{
    const struct comm_op *op = &run->step->op;
    int count = (int)op->count;
    void *comm = run->comm->mpi.comm, *type = mpi_constants.types[op->element];
    const void *send = run->send ? run->send : mpi_constants.in_place;
    void *reduction =
        op_reduces(op->kind) ? mpi_constants.operations[op->reduction] : NULL;
    switch (op->kind) {
    case OP_ALL_REDUCE:
        return mpi.all_reduce(send, run->receive, count, type, reduction, comm,
                              request);
    case OP_BROADCAST:
        return mpi.broadcast(run->receive, count, type, op->peer, comm,
                             request);
    case OP_REDUCE_SCATTER:
        return mpi.reduce_scatter(send, run->receive, count, type, reduction,
                                  comm, request);
    case OP_ALL_GATHER:
        return mpi.all_gather(send, count, type, run->receive, count, type,
                              comm, request);
    case OP_SEND:
        return mpi.send(send, count, type, op->peer, 0, comm, request);
    default:
        return mpi.receive(run->receive, count, type, op->peer, 0, comm,
                           request);
    }
}

static rnl_status check_received(const struct running *run, const void *status)
{
    const struct comm_op *op = &run->step->op;
    char why[120];
    int count = 0;
    if (op->kind != OP_RECEIVE ||
        (mpi.count(status, mpi_constants.types[op->element], &count) == 0 &&
         (size_t)count == op->count))
        return RNL_OK;
    snprintf(why, sizeof why, "%zu elements were expected and %d came",
             op->count, count);
    return fail_run(run, RNL_ERROR_ARGUMENT_MISMATCH, false, why);
}

static rnl_status end(const struct running *run, void **request)
{
    _Alignas(16) char status[64];  // of 20 bytes or 24
    uint64_t deadline = 0;
    for (unsigned round = 1;; round++) {
        int done = 0, code = mpi.test(request, &done, status);
        if (code != 0)
            return fail_mpi(run, code);
        if (done)
            return check_received(run, status);
        if (round % LOOK_ROUNDS != 0)
            continue;
        if (run->comm->aborted)
            return fail_run(run, RNL_ERROR_CANCELLED, true,
                            "the communicator was aborted");
        if (deadline == 0)
            deadline = clock_after(run->comm->timeout_ns);
        else if (clock_ns() > deadline)
            return fail_late(run);
        if (round > YIELD_ROUNDS)
            sched_yield();
    }
}

// Whether the engine's blocking call does the operation.
static bool blocks(const struct running *run)
{
    const struct comm_op *op = &run->step->op;
    return run->comm->timeout_ns == RNL_FOREVER && op_reduces(op->kind);
}

static rnl_status block(const struct running *run)
{
    const struct comm_op *op = &run->step->op;
    const void *send = run->send ? run->send : mpi_constants.in_place;
    int (*call)(const void *, void *, int, void *, void *, void *) =
        op->kind == OP_ALL_REDUCE ? mpi.all_reduce_now : mpi.reduce_scatter_now;
    int code = call(
        send, run->receive, (int)op->count, mpi_constants.types[op->element],
        mpi_constants.operations[op->reduction], run->comm->mpi.comm);
    return code == 0 ? RNL_OK : fail_mpi(run, code);
}

static rnl_status run_phases(const struct running *run)
{
    void *own = NULL;
    enum phase phase = run->step->phase;
    void **request =
        phase == PHASE_BOTH ? &own : &run->comm->requests[run->step->slot];
    if (run->comm->aborted)
        return fail_run(run, RNL_ERROR_CANCELLED, phase == PHASE_END,
                        "the communicator was aborted");
    if (phase == PHASE_BOTH && blocks(run))
        return block(run);
    if (phase & PHASE_BEGIN) {
        int code = begin(run, request);
        if (code != 0)
            return fail_mpi(run, code);
    }
    return phase & PHASE_END ? end(run, request) : RNL_OK;
}

static rnl_status run_step(const rnl_native_call *call)
{
    const struct step *step = call->arguments[0];
    struct running run = {.comm = comm_pin(step->op.comm), .step = step};
    if (!run.comm)
        return rnl_native_fail(RNL_ERROR_INVALID_STATE,
                               "the communicator of the graph was released",
                               false);
    run.send = *(const char *const *)call->arguments[1];
    run.receive = *(char *const *)call->arguments[2];
    if (run.send)
        run.send += step->op.send_offset;
    if (run.receive)
        run.receive += step->op.receive_offset;
    rnl_status status = run_phases(&run);
    comm_unpin(run.comm);
    return status;
}

// --- Enqueuing ---------------------------------------------------------------

rnl_status mpi_create_functions(struct comm *comm)
{
    static const rnl_parameter parameters[] = {
        {RNL_VALUE_STRUCT, sizeof(struct step), _Alignof(struct step),
         "struct step"},
        {RNL_VALUE_POINTER, sizeof(void *), _Alignof(void *), "void *"},
        {RNL_VALUE_POINTER, sizeof(void *), _Alignof(void *), "void *"},
    };
    for (int i = 0; i < 2; i++) {
        rnl_status status = rnl_function_create_native(
            comm->context, "communication", run_step,
            RNL_NATIVE_OPTIONS(.parameters = parameters, .parameter_count = 3,
                               .flags = RNL_NATIVE_WAITS |
                                        (i ? RNL_NATIVE_PROMPT : 0)),
            &comm->mpi.run[i]);
        if (status != RNL_OK)
            return status;
    }
    return RNL_OK;
}

rnl_status mpi_check(const struct comm_work *work, const char *function)
{
    const struct comm_op *op = &work->op;
    bool half = op->element == RNL_ELEMENT_FLOAT16 ||
                op->element == RNL_ELEMENT_BFLOAT16;
    if (op->count > INT_MAX)
        return report(RNL_ERROR_OUT_OF_RANGE, function, "data",
                      "MPI counts elements up to %d, not %zu", INT_MAX,
                      op->count);
    if (op_reduces(op->kind) && half)
        return report(RNL_ERROR_UNSUPPORTED, function, "data",
                      "MPI reduces no numbers of 16 bits with a fraction");
    if (op_reduces(op->kind) && op->reduction == RNL_REDUCE_AVERAGE)
        return report(RNL_ERROR_UNSUPPORTED, function, "reduction",
                      "MPI has no average: sum, and divide in a kernel");
    return RNL_OK;
}

static rnl_arg argument_of(rnl_buffer buffer)
{
    return buffer ? rnl_arg_of_buffer(buffer) : rnl_arg_of_pointer(NULL);
}

static rnl_status launch(const struct comm_work *work, enum phase phase,
                         size_t slot)
{
    static const char *const labels[] = {"all-reduce",     "broadcast",
                                         "reduce-scatter", "all-gather",
                                         "send",           "receive"};
    const struct step step = {work->op, phase, (uint32_t)slot};
    const rnl_arg items[] = {
        RNL_ARG_STRUCT(step),
        argument_of(work->send),
        argument_of(work->receive),
    };
    const rnl_args arguments = {sizeof arguments, 3, items};
    bool prompt = bytes_of(&work->op) >= PROMPT_BYTES;
    return rnl_enqueue_function(
        work->stream, work->comm->mpi.run[prompt],
        RNL_LAUNCH(.grid = {1}, .block = {1}, .label = labels[work->op.kind]),
        &arguments);
}

static rnl_status make_requests(struct comm *comm)
{
    pthread_mutex_lock(&comm->lock);
    if (!comm->requests)
        comm->requests = calloc(REQUESTS_MOST, sizeof *comm->requests);
    pthread_mutex_unlock(&comm->lock);
    return comm->requests ? RNL_OK : RNL_ERROR_OUT_OF_MEMORY;
}

rnl_status mpi_enqueue(const struct comm_work *works, size_t count,
                       const char *function)
{
    rnl_status status = RNL_OK;
    if (count == 1)
        return launch(works, PHASE_BOTH, 0);
    if (count > REQUESTS_MOST)
        return report(RNL_ERROR_OUT_OF_RANGE, function, NULL,
                      "a group of MPI has at most %d operations, not %zu",
                      REQUESTS_MOST, count);
    for (size_t i = 0; i < count && status == RNL_OK; i++)
        if (make_requests(works[i].comm) != RNL_OK)
            status = report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
                            "there is no memory for a group");
    for (size_t i = 0; i < count && status == RNL_OK; i++)
        status = launch(&works[i], PHASE_BEGIN, i);
    for (size_t i = 0; i < count && status == RNL_OK; i++)
        status = launch(&works[i], PHASE_END, i);
    return status;
}
