// Operations: checked here, done by engines.
#include "comm_internal.h"

#include <stdlib.h>

#define GROUP_MOST 65536

// The group of this thread; `works` grows.
struct group {
    bool open;
    size_t count, most;
    struct comm_work *works;
};

static _Thread_local struct group group;

// --- Checks ------------------------------------------------------------------

// One side of an operation: its buffer and how many elements it has there.
struct side {
    const char *name;
    rnl_buffer buffer;
    size_t offset, elements;
};

// Reports why an object cannot be asked, such as "'send' is not a live buffer".
static rnl_status refuse_object(rnl_status status, const char *function,
                                const char *parameter, const char *name,
                                const char *kind)
{
    return status == RNL_ERROR_INVALID_HANDLE
               ? report(status, function, parameter, "'%s' is not a live %s",
                        name, kind)
               : report(status, function, parameter, "%s",
                        rnl_last_error()->message);
}

static bool is_byte(rnl_element element)
{
    return element <= RNL_ELEMENT_UINT8;
}

// <runnel/base.h> has the rules: the signed and the unsigned integer of a size
// have numbers 2n - 1 and 2n.
static bool elements_fit(rnl_element one, rnl_element other)
{
    return one == other || is_byte(one) || is_byte(other) ||
           (one <= RNL_ELEMENT_UINT64 && (one + 1) / 2 == (other + 1) / 2);
}

static rnl_status check_range(const struct comm_work *work,
                              const struct side *side, size_t room,
                              const char *function)
{
    size_t size = rnl_element_size(work->op.element), bytes;
    if (__builtin_mul_overflow(side->elements, size, &bytes) ||
        side->offset > room || bytes > room - side->offset)
        return report(RNL_ERROR_OUT_OF_RANGE, function, "data",
                      "%zu elements of %zu bytes from byte %zu on leave '%s', "
                      "which has %zu bytes",
                      side->elements, size, side->offset, side->name, room);
    return RNL_OK;
}

static rnl_status check_side(const struct comm_work *work,
                             const struct side *side, const char *function,
                             void **out_address)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    rnl_status status = rnl_buffer_get_info(side->buffer, &info);
    if (status != RNL_OK)
        return refuse_object(status, function, "data", side->name, "buffer");
    if (info.context != work->comm->context)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "data",
                      "'%s' is a buffer of another context than the "
                      "communicator's",
                      side->name);
    if (!elements_fit(info.element, work->op.element))
        return report(RNL_ERROR_ARGUMENT_MISMATCH, function, "data",
                      "'%s' is a buffer of %s, and the operation has elements "
                      "of %s",
                      side->name, element_name(info.element),
                      element_name(work->op.element));
    *out_address = info.device_address
                       ? (char *)info.device_address + side->offset
                       : NULL;
    return check_range(work, side, info.size, function);
}

// Elements for a count; SIZE_MAX if there are more.
static size_t times(size_t count, int size)
{
    size_t product;
    return __builtin_mul_overflow(count, (size_t)size, &product) ? SIZE_MAX
                                                                 : product;
}

static rnl_status refuse_data(const char *function, const char *why)
{
    return report(RNL_ERROR_INVALID_ARGUMENT, function, "data", "%s", why);
}

// An operation is in place if it sends and receives a rank's elements at one
// place. Other bytes that both sides have are an error.
static rnl_status check_overlap(struct comm_work *work, const struct side *send,
                                const struct side *receive,
                                const char *function)
{
    size_t width = rnl_element_size(work->op.element);
    size_t before = (size_t)work->comm->rank * work->op.count * width;
    uintptr_t from = (uintptr_t)work->send_address;
    uintptr_t to = (uintptr_t)work->receive_address;
    if (!from || !to || from >= to + receive->elements * width ||
        to >= from + send->elements * width)
        return RNL_OK;
    switch (work->op.kind) {
    case OP_ALL_GATHER:
        to += before;
        break;
    case OP_REDUCE_SCATTER:
        from += before;
        break;
    default:
        break;
    }
    work->op.in_place = from == to;
    return work->op.in_place
               ? RNL_OK
               : refuse_data(function,
                             "the bytes of 'send' and 'receive' overlap: use "
                             "another buffer, or 'send' NULL where the "
                             "operation can be done in place");
}

static rnl_status check_data(struct comm_work *work, const rnl_comm_data *data,
                             const char *function)
{
    enum comm_kind kind = work->op.kind;
    int size = work->comm->size;
    const struct side send = {
        "send", data->send, data->send_offset,
        kind == OP_REDUCE_SCATTER ? times(data->count, size) : data->count};
    const struct side receive = {
        "receive", data->receive, data->receive_offset,
        kind == OP_ALL_GATHER ? times(data->count, size) : data->count};
    bool sends = kind != OP_BROADCAST && kind != OP_RECEIVE;
    bool in_place = kind == OP_ALL_REDUCE || kind == OP_ALL_GATHER;
    rnl_status status = RNL_OK;
    if (!sends && data->send)
        return refuse_data(function, "the operation takes no 'send'");
    if (kind == OP_SEND && data->receive)
        return refuse_data(function, "the operation takes no 'receive'");
    if (sends && !data->send && !in_place)
        return refuse_data(function, "'send' is NULL, and the operation cannot "
                                     "be done in place");
    work->op.in_place = sends && !data->send;
    if (data->send)
        status = check_side(work, &send, function, &work->send_address);
    if (status == RNL_OK && kind != OP_SEND)
        status = check_side(work, &receive, function, &work->receive_address);
    if (status == RNL_OK && data->send && kind != OP_SEND)
        status = check_overlap(work, &send, &receive, function);
    return status;
}

static rnl_status check_stream(struct comm_work *work, const char *function)
{
    rnl_stream_info info = {.struct_size = sizeof info};
    rnl_status status = rnl_stream_get_info(work->stream, &info);
    if (status != RNL_OK)
        return refuse_object(status, function, "stream", "stream", "stream");
    return info.context == work->comm->context
               ? RNL_OK
               : report(RNL_ERROR_INVALID_ARGUMENT, function, "stream",
                        "'stream' is a stream of another context than the "
                        "communicator's");
}

static rnl_status check_numbers(const struct comm_work *work,
                                const char *function)
{
    const struct comm_op *op = &work->op;
    const char *peer = op->kind == OP_BROADCAST ? "root" : "peer";
    if (op->peer < 0 || op->peer >= work->comm->size)
        return report(RNL_ERROR_OUT_OF_RANGE, function, peer,
                      "'%s' is %d in a communicator of %d ranks", peer,
                      op->peer, work->comm->size);
    if (op->reduction < RNL_REDUCE_SUM || op->reduction > RNL_REDUCE_AVERAGE)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "reduction",
                      "'reduction' is %d, which is no rnl_reduction",
                      (int)op->reduction);
    if (rnl_element_size(op->element) == 0)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "data",
                      "the element of 'data' is %d, which has no size",
                      (int)op->element);
    if (work->comm->aborted)
        return report(RNL_ERROR_INVALID_STATE, function, "comm",
                      "the communicator was aborted, and rank %d of %d cannot "
                      "enqueue operations any more: release it and create "
                      "another one on all ranks",
                      work->comm->rank, work->comm->size);
    return RNL_OK;
}

static rnl_status check(struct comm_work *work, const rnl_comm_data *given,
                        const char *function)
{
    rnl_comm_data data;
    rnl_status status =
        given ? read_options(&data, sizeof data, given, function, "data")
              : refuse_data(function, "'data' is NULL");
    if (status != RNL_OK)
        return status;
    struct comm_op *op = &work->op;
    op->element = data.element;
    op->count = data.count;
    op->send_offset = data.send_offset;
    op->receive_offset = data.receive_offset;
    work->send = data.send;
    work->receive = data.receive;
    if ((status = check_numbers(work, function)) ||
        (status = check_stream(work, function)) ||
        (status = check_data(work, &data, function)))
        return status;
    return work->comm->engine->check(work, function);
}

// --- Groups ------------------------------------------------------------------

static rnl_status add(const struct comm_work *work, const char *function)
{
    if (group.count == group.most) {
        size_t most = group.most ? 2 * group.most : 16;
        struct comm_work *works =
            most > GROUP_MOST ? NULL
                              : realloc(group.works, most * sizeof *works);
        if (!works)
            return report(RNL_ERROR_OUT_OF_MEMORY, function, NULL,
                          "a group of more than %zu operations does not fit",
                          group.most);
        group.works = works;
        group.most = most;
    }
    group.works[group.count++] = *work;
    // The caller may release them before the group ends.
    rnl_stream_retain(work->stream);
    if (work->send)
        rnl_buffer_retain(work->send);
    if (work->receive)
        rnl_buffer_retain(work->receive);
    return RNL_OK;
}

static rnl_status enqueue_one(struct comm_work *work, const char *function)
{
    struct comm *comm = work->comm;
    pthread_mutex_lock(&comm->order);
    rnl_status status = comm_order_locked(comm, work, function);
    if (status == RNL_OK)
        status = comm->engine->enqueue(work, 1, function);
    // With RUNNEL_BLOCKING an enqueue can fail although the operation has
    // begun: when another thread cancels the stream behind the operation.
    if (status != RNL_OK && work->number && comm->begun < work->number)
        comm->enqueued--;
    pthread_mutex_unlock(&comm->order);
    return status;
}

// Gives up what `add` keeps for an operation.
static void drop(const struct comm_work *work)
{
    rnl_buffer_release(work->send);
    rnl_buffer_release(work->receive);
    rnl_stream_release(work->stream);
    comm_unpin(work->comm);
}

static rnl_status enqueue(rnl_stream stream, rnl_comm handle,
                          const rnl_comm_data *data, struct comm_op op,
                          const char *function)
{
    rnl_status status;
    struct comm_work work = {.op = op, .stream = stream};
    work.comm = comm_find(handle, function, &status);
    if (!work.comm)
        return status;
    status = check(&work, data, function);
    if (status == RNL_OK && group.open) {
        status = add(&work, function);
        if (status == RNL_OK)
            return RNL_OK;  // pinned until the group ends
    } else if (status == RNL_OK) {
        status = enqueue_one(&work, function);
    }
    comm_unpin(work.comm);
    return status;
}

rnl_status rnl_comm_group_begin(void)
{
    rnl_status status = comm_check_process(__func__);
    if (status != RNL_OK)
        return status;
    if (group.open)
        return report(RNL_ERROR_INVALID_STATE, __func__, NULL,
                      "this thread has begun a group already");
    group.open = true;
    return RNL_OK;
}

// Whether an operation goes to the same stream as the one before of its
// communicator.
static bool is_on_one_stream(const struct comm_work *work)
{
    const struct comm_work *before = work;
    while (before > group.works && before[-1].comm != work->comm)
        before--;
    return before == group.works || before[-1].stream == work->stream;
}

// The communicator of the group with the least number above `number`.
static struct comm *next_comm(uint64_t number)
{
    struct comm *next = NULL;
    for (size_t i = 0; i < group.count; i++) {
        struct comm *comm = group.works[i].comm;
        if (comm->number > number && (!next || comm->number < next->number))
            next = comm;
    }
    return next;
}

static rnl_status enqueue_group_locked(const char *function)
{
    rnl_status status = RNL_OK;
    const struct engine *engine =
        group.count ? group.works[0].comm->engine : NULL;
    for (size_t i = 0; i < group.count && status == RNL_OK; i++) {
        struct comm_work *work = &group.works[i];
        if (work->comm->engine != engine)
            status = report(RNL_ERROR_INVALID_ARGUMENT, function, NULL,
                            "the group has operations of two engines: use "
                            "one group for each");
        else if (!is_on_one_stream(work))
            status = report(RNL_ERROR_INVALID_ARGUMENT, function, "stream",
                            "operations of one communicator in a group go to "
                            "one stream");
        else
            status = comm_order_locked(work->comm, work, function);
    }
    if (status == RNL_OK && group.count)
        status = engine->enqueue(group.works, group.count, function);
    return status;
}

static rnl_status enqueue_group(const char *function)
{
    struct comm *comm;
    for (comm = next_comm(0); comm; comm = next_comm(comm->number))
        pthread_mutex_lock(&comm->order);
    rnl_status status = enqueue_group_locked(function);
    for (comm = next_comm(0); comm; comm = next_comm(comm->number))
        pthread_mutex_unlock(&comm->order);
    return status;
}

rnl_status rnl_comm_group_end(void)
{
    rnl_status status = comm_check_process(__func__);
    if (status != RNL_OK)
        return status;
    if (!group.open)
        return report(RNL_ERROR_INVALID_STATE, __func__, NULL,
                      "this thread has begun no group");
    status = enqueue_group(__func__);
    for (size_t i = 0; i < group.count; i++) {
        if (status != RNL_OK)
            comm_abort(group.works[i].comm);
        drop(&group.works[i]);
    }
    free(group.works);
    group = (struct group){.open = false};
    return status;
}

// --- The operations ----------------------------------------------------------

rnl_status rnl_enqueue_all_reduce(rnl_stream stream, rnl_comm comm,
                                  const rnl_comm_data *data,
                                  rnl_reduction reduction)
{
    return enqueue(
        stream, comm, data,
        (struct comm_op){.kind = OP_ALL_REDUCE, .reduction = reduction},
        __func__);
}

rnl_status rnl_enqueue_broadcast(rnl_stream stream, rnl_comm comm,
                                 const rnl_comm_data *data, int root)
{
    return enqueue(stream, comm, data,
                   (struct comm_op){.kind = OP_BROADCAST, .peer = root},
                   __func__);
}

rnl_status rnl_enqueue_reduce_scatter(rnl_stream stream, rnl_comm comm,
                                      const rnl_comm_data *data,
                                      rnl_reduction reduction)
{
    return enqueue(
        stream, comm, data,
        (struct comm_op){.kind = OP_REDUCE_SCATTER, .reduction = reduction},
        __func__);
}

rnl_status rnl_enqueue_all_gather(rnl_stream stream, rnl_comm comm,
                                  const rnl_comm_data *data)
{
    return enqueue(stream, comm, data, (struct comm_op){.kind = OP_ALL_GATHER},
                   __func__);
}

rnl_status rnl_enqueue_send(rnl_stream stream, rnl_comm comm,
                            const rnl_comm_data *data, int peer)
{
    return enqueue(stream, comm, data,
                   (struct comm_op){.kind = OP_SEND, .peer = peer}, __func__);
}

rnl_status rnl_enqueue_receive(rnl_stream stream, rnl_comm comm,
                               const rnl_comm_data *data, int peer)
{
    return enqueue(stream, comm, data,
                   (struct comm_op){.kind = OP_RECEIVE, .peer = peer},
                   __func__);
}
