// The engines NCCL and RCCL: operations are given to the native streams.
#include "nccl.h"
#include "mpi.h"
#include "tuning.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define CONFIG_MAGIC 0xcafebeefu
#define CONFIG_VERSION 21400u

// --- Results -----------------------------------------------------------------

int nccl_state_locked(struct comm *comm)
{
    int result = 0;
    if (comm->aborted || comm->nccl.ended)
        return NCCL_ENDED;
    return nccl_of(comm)->call.async_error(comm->nccl.comm, &result) == 0
               ? result
               : NCCL_UNHANDLED;
}

// The usual operation begins after some microseconds.
static void pause_poll(unsigned *polls)
{
    if (++*polls < SETTLE_YIELDS)
        sched_yield();
    else
        nap();
}

// The state; when the call is done, the engine also frees what it keeps in
// memory of this thread for the call.
static int poll_locked(struct comm *comm)
{
    int size, result = nccl_state_locked(comm);
    return result == 0 ? nccl_of(comm)->call.count(comm->nccl.comm, &size)
                       : result;
}

// Waits until the engine is done with a call that this thread began in `comm`.
static int settle(struct comm *comm, int result, uint64_t deadline)
{
    unsigned polls = 0;
    while (result == NCCL_IN_PROGRESS && clock_ns() < deadline) {
        pthread_mutex_lock(&comm->lock);
        result = poll_locked(comm);
        pthread_mutex_unlock(&comm->lock);
        if (result == NCCL_IN_PROGRESS)
            pause_poll(&polls);
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

// Ends the communicator of a creation that failed.
static void undo_init(struct comm *comm)
{
    nccl_begin_abort(comm);
    nccl_await_end(comm);
}

static rnl_status end_init(struct comm *comm, int result, uint64_t deadline)
{
    result = settle(comm, result, deadline);
    return result == 0 ? RNL_OK
                       : refuse(comm, result, "rnl_comm_create",
                                "ncclCommInitRankConfig");
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
    if (status != RNL_OK)
        return status;
    status = end_init(comm, begin_init(comm, id), members->deadline);
    if (status != RNL_OK)
        undo_init(comm);
    return status;
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
    for (size_t i = 0; i < count && status == RNL_OK; i++)
        status = end_init(comms[i], result, deadline);
    for (size_t i = 0; i < count && status != RNL_OK; i++)
        nccl_begin_abort(comms[i]);
    for (size_t i = 0; i < count && status != RNL_OK; i++)
        nccl_await_end(comms[i]);
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

static rnl_status check_address(const struct comm_work *work, const char *side,
                                const void *address, const char *function)
{
    size_t size = rnl_element_size(work->op.element);
    return (uintptr_t)address % size == 0
               ? RNL_OK
               : report(RNL_ERROR_INVALID_ARGUMENT, function, "data",
                        "the offset of '%s' leads to an address that is no "
                        "multiple of the %zu bytes of an element",
                        side, size);
}

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
    rnl_status status =
        check_address(work, "send", work->send_address, function);
    return status ? status
                  : check_address(work, "receive", work->receive_address,
                                  function);
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

// The memory goes back only behind the operation. If the stream takes no
// release, the reference stays for good, since the engine uses the memory.
static void keep_buffer(rnl_stream stream, rnl_buffer buffer)
{
    if (buffer && rnl_buffer_retain(buffer) == RNL_OK)
        (void)rnl_enqueue_buffer_release(stream, buffer);
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

static uint64_t limit_of(const struct comm *comm, uint64_t start)
{
    return comm->timeout_ns < RNL_FOREVER - start ? start + comm->timeout_ns
                                                  : RNL_FOREVER;
}

static const struct comm *find_busy(struct comm *const *comms, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (comms[i]->nccl.busy && !comms[i]->aborted)
            return comms[i];
    return NULL;
}

// Locks the communicators of a group once no other thread begins operations of
// them, which the engine forbids. False without the locks when a time limit
// passed.
static bool take_all(struct comm **comms, size_t count, uint64_t start)
{
    unsigned polls = 0;
    const struct comm *busy;
    for (;;) {
        lock_all(comms, count);
        if (!(busy = find_busy(comms, count)))
            break;
        uint64_t limit = limit_of(busy, start);
        unlock_all(comms, count);
        if (clock_ns() >= limit)
            return false;
        pause_poll(&polls);
    }
    for (size_t i = 0; i < count; i++)
        comms[i]->nccl.busy = true;
    return true;
}

static void give_all(struct comm **comms, size_t count)
{
    lock_all(comms, count);
    for (size_t i = 0; i < count; i++)
        comms[i]->nccl.busy = false;
    unlock_all(comms, count);
}

// The first operation whose communicator has ended or will end, or NULL.
static const struct comm_work *find_ended(const struct comm_work *works,
                                          size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (works[i].comm->aborted || works[i].comm->nccl.released)
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
    const struct comm_work *over = find_ended(works, count);
    if (over) {
        *out_failed = over;
        return NCCL_ENDED;
    }
    int result = call->group_start(), ended;
    if (result != 0)
        return result;
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
static int settle_all(const struct comm_work *works, size_t count,
                      uint64_t start, const struct comm_work **out_failed)
{
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        *out_failed = &works[i];
        result = settle(works[i].comm, NCCL_IN_PROGRESS,
                        limit_of(works[i].comm, start));
    }
    return result;
}

static void abort_all(const struct comm_work *works, size_t count)
{
    for (size_t i = 0; i < count; i++)
        comm_abort(works[i].comm);
}

// Has the engine begin the operations. `*out_taken`: give_all is due.
static rnl_status submit(const struct comm_work *works, size_t count,
                         void *const *natives, struct comm **comms,
                         bool *out_taken, const char *function)
{
    char what[160];
    const struct comm_work *failed = &works[0];
    uint64_t start = clock_ns();
    int result = NCCL_IN_PROGRESS;
    for (size_t i = 0; i < count; i++)
        comms[i] = works[i].comm;
    *out_taken = take_all(comms, count, start);
    bool began = false;
    if (*out_taken) {
        result = begin_locked(works, count, natives, &failed);
        unlock_all(comms, count);
        began = result == NCCL_IN_PROGRESS;
    }
    if (began)
        result = settle_all(works, count, start, &failed);
    if (result == 0)
        return RNL_OK;
    abort_all(works, count);
    for (size_t i = 0; began && i < count; i++)
        nccl_await_end(works[i].comm);
    op_describe(failed->comm, &failed->op, what, sizeof what);
    return refuse(failed->comm, result, function, what);
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

// Has the operations looked after. An operation that nobody would look after
// aborts all, since the engine has taken them.
static rnl_status follow(const struct comm_work *works, size_t count,
                         struct flight **flights, const char *function)
{
    rnl_status status = RNL_OK;
    char why[300] = "";
    for (size_t i = 0; i < count; i++) {
        keep_buffer(works[i].stream, works[i].send);
        keep_buffer(works[i].stream, works[i].receive);
        rnl_status one = flight_go(flights[i]);
        flights[i] = NULL;
        if (one != RNL_OK && status == RNL_OK) {
            status = one;
            snprintf(why, sizeof why, "%s", rnl_last_error()->message);
        }
    }
    if (status == RNL_OK)
        return RNL_OK;
    abort_all(works, count);
    return report(status, function, NULL, "%s", why);
}

struct submission {
    void **natives;
    struct comm **comms;
    struct flight **flights;
};

static rnl_status enqueue_with(const struct comm_work *works, size_t count,
                               const struct submission *room,
                               const char *function)
{
    rnl_status status = RNL_OK;
    bool taken = false;
    for (size_t i = 0; i < count && status == RNL_OK; i++)
        status =
            prepare(&works[i], &room->natives[i], &room->flights[i], function);
    if (status == RNL_OK)
        status =
            submit(works, count, room->natives, room->comms, &taken, function);
    if (status == RNL_OK)
        status = follow(works, count, room->flights, function);
    if (taken)
        give_all(room->comms, count);
    return status;
}

static rnl_status enqueue(const struct comm_work *works, size_t count,
                          const char *function)
{
    struct submission room = {calloc(count, sizeof *room.natives),
                              calloc(count, sizeof *room.comms),
                              calloc(count, sizeof *room.flights)};
    rnl_status status =
        room.natives && room.comms && room.flights
            ? enqueue_with(works, count, &room, function)
            : report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
                     "there is no memory for %zu operations", count);
    for (size_t i = 0; room.flights && i < count; i++)
        if (room.flights[i])
            flight_drop(room.flights[i]);
    free(room.flights);
    free(room.comms);
    free(room.natives);
    return status;
}

// --- End ---------------------------------------------------------------------

// The streams fail before the operations end, so that no wait succeeds.
static void abort_comm(struct comm *comm)
{
    flights_fail(comm, RNL_ERROR_CANCELLED, "the communicator was aborted");
    nccl_begin_abort(comm);
}

static void release(struct comm *comm)
{
    nccl_begin_release(comm);
    comm_unpin(comm);
}

#define ENGINE(text, family_of)       \
    {                                 \
        .name = text,                 \
        .version = family_of.version, \
        .family = &family_of,         \
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
