// The engines NCCL and RCCL: operations are given to the native streams.
#include "nccl.h"
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>

#define CONFIG_MAGIC 0xcafebeefu
#define CONFIG_VERSION 21400u

// --- Results -----------------------------------------------------------------

int nccl_state_locked(struct comm *comm)
{
    int result = 0;
    if (comm->aborted)
        return NCCL_ENDED;
    return nccl_of(comm)->call.async_error(comm->nccl.comm, &result) == 0
               ? result
               : NCCL_UNHANDLED;
}

// Waits until the engine is done with a call that began in `comm`.
static int settle(struct comm *comm, int result, uint64_t deadline)
{
    while (result == NCCL_IN_PROGRESS && clock_ns() < deadline) {
        pthread_mutex_lock(&comm->lock);
        result = nccl_state_locked(comm);
        pthread_mutex_unlock(&comm->lock);
        if (result == NCCL_IN_PROGRESS)
            nap();
    }
    return result;
}

static rnl_status refuse(const struct comm *comm, int result,
                         const char *function, const char *what)
{
    char text[300];
    if (result == NCCL_ENDED)
        return report(RNL_ERROR_INVALID_STATE, function, "comm",
                      "%s: the communicator was aborted or released", what);
    if (result == NCCL_IN_PROGRESS)
        return report(RNL_ERROR_TIMED_OUT, function, NULL,
                      "%s: rank %d of %d waited for other ranks, and the time "
                      "limit passed",
                      what, comm->rank, comm->size);
    nccl_error(comm, result, text, sizeof text);
    return report(RNL_ERROR_DRIVER, function, NULL, "%s of rank %d of %d: %s",
                  what, comm->rank, comm->size, text);
}

// --- Creation ----------------------------------------------------------------

static rnl_status find_device(struct comm *comm)
{
    rnl_device device;
    rnl_device_info info = {.struct_size = sizeof info};
    rnl_status status = rnl_context_device(comm->context, &device);
    if (status == RNL_OK)
        status = rnl_device_get_info(device, &info);
    comm->nccl.device = (int)info.index;
    return status ? status
                  : rnl_context_native(comm->context, &comm->nccl.native);
}

static int begin_init(struct comm *comm, struct nccl_id id)
{
    const struct nccl_config config = {sizeof config, CONFIG_MAGIC,
                                       CONFIG_VERSION, 0};
    struct nccl_current before = nccl_enter(comm);
    int result = nccl_of(comm)->call.init(&comm->nccl.comm, comm->size, id,
                                          comm->rank, &config);
    nccl_leave(comm, before);
    return result;
}

static rnl_status end_init(struct comm *comm, int result, uint64_t deadline)
{
    result = settle(comm, result, deadline);
    if (result == 0)
        return RNL_OK;
    rnl_status status =
        refuse(comm, result, "rnl_comm_create", "ncclCommInitRankConfig");
    if (comm->nccl.comm)
        nccl_of(comm)->call.abort(comm->nccl.comm);
    comm->nccl.comm = NULL;
    return status;
}

static rnl_status make_id(const struct comm *comm, struct nccl_id *out_id)
{
    struct nccl_current before = nccl_enter(comm);
    int result = nccl_of(comm)->call.unique_id(out_id);
    nccl_leave(comm, before);
    return result ? refuse(comm, result, "rnl_comm_create", "ncclGetUniqueId")
                  : RNL_OK;
}

// Rank 0's id, by the place where the ranks meet.
static rnl_status share_met(const struct membership *members,
                            struct nccl_id *id)
{
    struct nccl_id *all = calloc((size_t)members->size, sizeof *all);
    if (!all)
        return report(RNL_ERROR_OUT_OF_MEMORY, "rnl_comm_create", NULL,
                      "there is no memory for %d ranks", members->size);
    rnl_status status = meet(members, id, sizeof *id, all);
    *id = all[0];
    free(all);
    return status;
}

static rnl_status create(struct comm *comm, const struct membership *members)
{
    bool meets = members->file || members->address;
    struct nccl_id id = {{0}};
    comm->rank = members->rank;
    comm->size = members->size;
    rnl_status status = find_device(comm);
    if (status == RNL_OK && !meets)
        status = mpi_find_rank(members, &comm->rank, &comm->size);
    if (status == RNL_OK && comm->rank == 0)
        status = make_id(comm, &id);
    if (status == RNL_OK)
        status = meets ? share_met(members, &id)
                       : mpi_share(members, &id, sizeof id);
    return status ? status
                  : end_init(comm, begin_init(comm, id), members->deadline);
}

static rnl_status create_all(struct comm *const *comms, size_t count,
                             uint64_t deadline)
{
    struct nccl_functions *call = &nccl_of(comms[0])->call;
    struct nccl_id id;
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < count && status == RNL_OK; i++)
        status = find_device(comms[i]);
    if (status != RNL_OK || (status = make_id(comms[0], &id)))
        return status;
    int result = call->group_start();
    for (size_t i = 0; i < count && result == 0; i++) {
        result = begin_init(comms[i], id);
        result = result == NCCL_IN_PROGRESS ? 0 : result;
    }
    int ended = call->group_end();
    result = result ? result : ended;
    for (size_t i = 0; i < count; i++) {
        rnl_status one = end_init(comms[i], result, deadline);
        status = status ? status : one;
    }
    for (size_t i = 0; i < count && status != RNL_OK; i++)
        if (comms[i]->nccl.comm)
            call->abort(comms[i]->nccl.comm);
    return status;
}

// --- Operations --------------------------------------------------------------

// A ncclDataType_t by rnl_element; 16 bits without a fraction are only moved.
static const int types[] = {
    [RNL_ELEMENT_INT8] = 0,    [RNL_ELEMENT_UINT8] = 1,
    [RNL_ELEMENT_INT16] = 6,   [RNL_ELEMENT_UINT16] = 6,
    [RNL_ELEMENT_INT32] = 2,   [RNL_ELEMENT_UINT32] = 3,
    [RNL_ELEMENT_INT64] = 4,   [RNL_ELEMENT_UINT64] = 5,
    [RNL_ELEMENT_FLOAT16] = 6, [RNL_ELEMENT_BFLOAT16] = 9,
    [RNL_ELEMENT_FLOAT32] = 7, [RNL_ELEMENT_FLOAT64] = 8,
};
// A ncclRedOp_t by rnl_reduction.
static const int operations[] = {0, 1, 3, 2, 4};

static rnl_status check(const struct comm_work *work, const char *function)
{
    rnl_element element = work->op.element;
    if (stream_is_captured(work->stream))
        return report(RNL_ERROR_CAPTURE_UNSUPPORTED, function, "stream",
                      "%s puts work on the native stream, which a capture of "
                      "Runnel does not see: capture what is before and behind, "
                      "and enqueue the operation between the graphs",
                      nccl_of(work->comm)->name);
    if (op_reduces(work->op.kind) &&
        (element == RNL_ELEMENT_INT16 || element == RNL_ELEMENT_UINT16))
        return report(RNL_ERROR_UNSUPPORTED, function, "data",
                      "%s reduces no integers of 16 bits",
                      nccl_of(work->comm)->name);
    return RNL_OK;
}

static int begin(const struct comm_work *work, void *native)
{
    const struct nccl_functions *call = &nccl_of(work->comm)->call;
    const struct comm_op *op = &work->op;
    void *comm = work->comm->nccl.comm, *receive = work->receive_address;
    const void *send = work->send_address;
    size_t own = op->kind == OP_ALL_GATHER
                     ? op->count * rnl_element_size(op->element) *
                           (size_t)work->comm->rank
                     : 0;
    int type = types[op->element];
    if (!send && op->kind != OP_RECEIVE)
        send = (const char *)receive + own;
    switch (op->kind) {
    case OP_ALL_REDUCE:
        return call->all_reduce(send, receive, op->count, type,
                                operations[op->reduction], comm, native);
    case OP_BROADCAST:
        return call->broadcast(send, receive, op->count, type, op->peer, comm,
                               native);
    case OP_REDUCE_SCATTER:
        return call->reduce_scatter(send, receive, op->count, type,
                                    operations[op->reduction], comm, native);
    case OP_ALL_GATHER:
        return call->all_gather(send, receive, op->count, type, comm, native);
    case OP_SEND:
        return call->send(send, op->count, type, op->peer, comm, native);
    default:
        return call->receive(receive, op->count, type, op->peer, comm, native);
    }
}

// The memory goes back only behind the operation.
static void keep_buffer(rnl_stream stream, rnl_buffer buffer)
{
    if (buffer && rnl_buffer_retain(buffer) == RNL_OK &&
        rnl_enqueue_buffer_release(stream, buffer) != RNL_OK)
        rnl_buffer_release(buffer);
}

static int by_number(const void *left, const void *right)
{
    uint64_t first = (*(struct comm *const *)left)->number;
    uint64_t second = (*(struct comm *const *)right)->number;
    return (first > second) - (first < second);
}

// Locks each communicator of a group once. All threads lock them in the order
// of their numbers.
static void lock_all(struct comm **comms, size_t count)
{
    qsort(comms, count, sizeof *comms, by_number);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || comms[i] != comms[i - 1])
            pthread_mutex_lock(&comms[i]->lock);
}

static void unlock_all(struct comm **comms, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (i == 0 || comms[i] != comms[i - 1])
            pthread_mutex_unlock(&comms[i]->lock);
}

// The first operation whose communicator has ended, or NULL.
static const struct comm_work *find_ended(const struct comm_work *works,
                                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (works[i].comm->aborted)
            return &works[i];
    return NULL;
}

// Begins all operations. The locks keep the communicators alive between the
// engine's calls of a group.
static int begin_locked(const struct comm_work *works, size_t count,
                        void *const *natives,
                        const struct comm_work **out_failed)
{
    struct nccl_functions *call = &nccl_of(works[0].comm)->call;
    if ((*out_failed = find_ended(works, count)))
        return NCCL_ENDED;
    int result = call->group_start(), ended;
    *out_failed = &works[0];
    for (size_t i = 0; i < count && result == 0; i++) {
        struct nccl_current before = nccl_enter(works[i].comm);
        *out_failed = &works[i];
        result = begin(&works[i], natives[i]);
        result = result == NCCL_IN_PROGRESS ? 0 : result;
        nccl_leave(works[i].comm, before);
    }
    ended = call->group_end();
    return result ? result : ended;
}

// The engine works on each communicator of a group by itself.
static int settle_all(const struct comm_work *works, size_t count, int began,
                      const struct comm_work **out_failed)
{
    int result = began;
    for (size_t i = 0; i < count && began == NCCL_IN_PROGRESS; i++) {
        *out_failed = &works[i];
        result = settle(works[i].comm, began,
                        clock_after(works[i].comm->timeout_ns));
        if (result != 0)
            break;
    }
    return result;
}

static rnl_status submit(const struct comm_work *works, size_t count,
                         void *const *natives, struct comm **comms,
                         const char *function)
{
    char what[160];
    const struct comm_work *failed;
    for (size_t i = 0; i < count; i++)
        comms[i] = works[i].comm;
    lock_all(comms, count);
    int result = begin_locked(works, count, natives, &failed);
    unlock_all(comms, count);
    result = settle_all(works, count, result, &failed);
    if (result == 0)
        return RNL_OK;
    op_describe(failed->comm, &failed->op, what, sizeof what);
    rnl_status status = refuse(failed->comm, result, function, what);
    for (size_t i = 0; i < count; i++)
        comm_abort(works[i].comm);
    return status;
}

static rnl_status prepare(const struct comm_work *work, void **out_native,
                          struct flight **out_flight, const char *function)
{
    rnl_status status = rnl_stream_query(work->stream);
    if (status != RNL_OK && status != RNL_NOT_READY)
        return status;
    status = rnl_stream_native(work->stream, out_native);
    if (status != RNL_OK)
        return status;
    *out_flight = flight_begin(work, function);
    return *out_flight ? RNL_OK : rnl_last_error()->status;
}

static rnl_status follow(const struct comm_work *works, size_t count,
                         struct flight **flights, const char *function)
{
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < count; i++) {
        keep_buffer(works[i].stream, works[i].send);
        keep_buffer(works[i].stream, works[i].receive);
        rnl_status one = flight_go(flights[i], function);
        flights[i] = NULL;
        status = status ? status : one;
    }
    return status;
}

static rnl_status enqueue(const struct comm_work *works, size_t count,
                          const char *function)
{
    void **natives = calloc(count, sizeof *natives);
    struct comm **comms = calloc(count, sizeof *comms);
    struct flight **flights = calloc(count, sizeof *flights);
    rnl_status status =
        natives && comms && flights
            ? RNL_OK
            : report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
                     "there is no memory for %zu operations", count);
    for (size_t i = 0; i < count && status == RNL_OK; i++)
        status = prepare(&works[i], &natives[i], &flights[i], function);
    if (status == RNL_OK)
        status = submit(works, count, natives, comms, function);
    if (status == RNL_OK)
        status = follow(works, count, flights, function);
    for (size_t i = 0; flights && i < count; i++)
        if (flights[i])
            flight_drop(flights[i]);
    free(flights);
    free(comms);
    free(natives);
    return status;
}

// --- End ---------------------------------------------------------------------

// Ends the engine's communicator by the call `end`. `aborted` is set, so that
// no thread uses it once the lock is free.
static void end_comm(struct comm *comm, int (*end)(void *))
{
    pthread_mutex_lock(&comm->lock);
    struct nccl_current before = nccl_enter(comm);
    end(comm->nccl.comm);
    nccl_leave(comm, before);
    comm->nccl.comm = NULL;
    pthread_mutex_unlock(&comm->lock);
}

// The streams fail before the operations end, so that no wait succeeds.
static void abort_comm(struct comm *comm)
{
    flights_fail(comm, RNL_ERROR_CANCELLED, "the communicator was aborted");
    end_comm(comm, nccl_of(comm)->call.abort);
}

static void release(struct comm *comm)
{
    uint64_t deadline = clock_after(comm->timeout_ns);
    while (!flights_are_done(comm) && !comm->aborted && clock_ns() < deadline)
        nap();
    // An abort gives the engine's communicator back, too.
    if (!atomic_exchange(&comm->aborted, true))
        end_comm(comm, nccl_of(comm)->call.destroy);
    comm_unpin(comm);
}

#define ENGINE(its_name, its_family)  \
    {                                 \
        .name = its_name,             \
        .version = its_family.version,\
        .family = &its_family,        \
        .load = nccl_load,            \
        .create = create,             \
        .create_all = create_all,     \
        .check = check,               \
        .enqueue = enqueue,           \
        .abort = abort_comm,          \
        .release = release,           \
    }

const struct engine nccl_engine = ENGINE("nccl", nccl);
const struct engine rccl_engine = ENGINE("rccl", rccl);
