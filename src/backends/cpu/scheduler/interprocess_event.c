// Events that several processes share, on the cpu: a record is an operation
// that writes its number, and waits are waits for that word.
#include "backends/cpu/machine/machine.h"
#include "backends/cpu/scheduler/cpu_op.h"
#include "backends/cpu/scheduler/event.h"
#include "backends/cpu/scheduler/pool.h"
#include "backends/cpu/scheduler/queue.h"
#include "backends/cpu/scheduler/tuning.h"
#include "backends/cpu/scheduler/value_waiters.h"
#include "base/clock.h"
#include "core/object/context_object.h"
#include "core/object/object.h"
#include "core/stream/event.h"
#include "core/stream/interprocess_event.h"
#include "core/stream/op.h"
#include "core/stream/stream.h"

rnl_status cpu_event_share(struct event *event, bool opens, unsigned char *key)
{
    struct shared_event **shared = &event_cpu(event)->shared;
    if (opens)
        return shared_event_open(key, shared);
    shared_event_get_key(*shared, key);
    return RNL_OK;
}

// --- Streams -----------------------------------------------------------------

// An op with `size` bytes of its own that keeps the event. NULL after recording
// the failure.
static struct op *make_op(struct event *event, struct stream *stream,
                          enum op_kind kind, size_t size)
{
    struct op *op = op_create(stream, kind, size);
    if (!op)
        return NULL;
    if (object_ref_for(&event->object, "event") != RNL_OK) {
        op_finish(op);
        return NULL;
    }
    op->kept[op->kept_count++] = &event->object;
    return op;
}

static struct op *make_timestamp(struct event *event, struct stream *stream,
                                 int what)
{
    struct op *op = make_op(event, stream, OP_TIMESTAMP, 0);
    if (op) {
        cpu_op_of(op)->interprocess.event = event;
        cpu_op_of(op)->interprocess.what = what;
    }
    return op;
}

static struct op *make_wait(struct event *event, struct stream *stream)
{
    struct op *op =
        make_op(event, stream, OP_MEMORY_OPS, sizeof(struct memory_op));
    if (op)
        op->memory_ops =
            (struct op_memory_ops){.items = op->payload, .count = 1};
    return op;
}

static void aim(struct op *wait, struct shared_event *shared, uint64_t record)
{
    *(struct memory_op *)wait->payload = (struct memory_op){
        .action = RNL_WAIT_GEQ, .width = 64, .value = record,
        .address = (char *)shared_event_word(shared, record)};
}

static void complete(struct shared_event *shared, uint64_t record,
                     uint64_t older, bool failed)
{
    shared_event_complete(shared, record, failed);
    if (older > 0)
        shared_event_end_wait(shared);
}

static rnl_status record_on(struct event *event, struct shared_event *shared,
                            struct stream *stream)
{
    uint64_t older;
    struct op *wait = make_wait(event, stream);
    struct op *timestamp =
        wait ? make_timestamp(event, stream, TIMESTAMP_RECORDS) : NULL;
    if (!timestamp) {
        if (wait)
            op_finish(wait);
        return fail_status();
    }
    // A place that an older record still has is waited for on the stream.
    uint64_t record = shared_event_claim(shared, &older);
    cpu_op_of(timestamp)->interprocess.record = record;
    cpu_op_of(timestamp)->interprocess.older = older;
    aim(wait, shared, older);
    wait->next = timestamp;
    if (older > 0)
        shared_event_begin_wait(shared);
    rnl_status status =
        queue_submit(stream_queue(stream), older ? wait : timestamp, NULL);
    if (status != RNL_OK) {
        complete(shared, record, older, true);
        op_finish(timestamp);
    }
    if (status != RNL_OK || older == 0)
        op_finish(wait);
    return status;
}

static rnl_status join(struct event *event, struct shared_event *shared,
                       struct stream *stream)
{
    uint64_t record = shared_event_last(shared);
    if (shared_event_state(shared, record) == RNL_OK)
        return RNL_OK;
    struct op *wait = make_wait(event, stream);
    struct op *timestamp =
        wait ? make_timestamp(event, stream, TIMESTAMP_WAITED) : NULL;
    if (!timestamp) {
        if (wait)
            op_finish(wait);
        return fail_status();
    }
    aim(wait, shared, record);
    cpu_op_of(timestamp)->interprocess.record = record;
    wait->next = timestamp;
    shared_event_begin_wait(shared);
    rnl_status status = queue_submit(stream_queue(stream), wait, NULL);
    if (status != RNL_OK) {
        shared_event_end_wait(shared);
        op_finish(timestamp);
        op_finish(wait);
    }
    return status;
}

typedef rnl_status use_fn(struct event *event, struct shared_event *shared,
                          struct stream *stream);

// Holds the event during `fn`: a caller may release the event, and with it the
// page, meanwhile.
static rnl_status use(struct event *event, struct stream *stream, use_fn *fn)
{
    rnl_status status = object_ref_for(&event->object, "event");
    if (status != RNL_OK)
        return status;
    struct shared_event *shared = event_cpu(event)->shared;
    status = shared ? fn(event, shared, stream)
                    : fail_at(RNL_ERROR_INVALID_HANDLE, "event",
                              "the event was released by another thread "
                              "during the call");
    object_unref(&event->object);
    return status;
}

rnl_status cpu_interprocess_record(struct event *event, struct stream *stream)
{
    return use(event, stream, record_on);
}

rnl_status cpu_interprocess_join(struct stream *stream, struct event *event)
{
    return use(event, stream, join);
}

void cpu_interprocess_timestamp(struct op *op)
{
    struct event *event = cpu_op_of(op)->interprocess.event;
    struct shared_event *shared = event_cpu(event)->shared;
    uint64_t record = cpu_op_of(op)->interprocess.record;
    bool failed = atomic_load(&op->stream->failure) != NULL;
    if (cpu_op_of(op)->interprocess.what == TIMESTAMP_RECORDS) {
        complete(shared, record, cpu_op_of(op)->interprocess.older, failed);
        value_waiters_check_at(stream_pool(op->stream),
                      (char *)shared_event_word(shared, record));
        return;
    }
    if (!failed &&
        shared_event_state(shared, record) == RNL_ERROR_DEPENDENCY_FAILED)
        queue_fail(stream_queue(op->stream), op->sequence, op,
                   RNL_ERROR_DEPENDENCY_FAILED,
                   shared_event_why(shared, record));
    shared_event_end_wait(shared);
}

// --- The host ----------------------------------------------------------------

static rnl_status look(struct event *event, uint64_t *record)
{
    struct cpu_event *cpu = event_cpu(event);
    rnl_status status = RNL_OK;
    lock_take(&cpu->lock);  // the page may go with the event's last reference
    if (cpu->shared)
        status = shared_event_query(cpu->shared, record);
    lock_give(&cpu->lock);
    return status;
}

rnl_status cpu_interprocess_query(struct event *event)
{
    uint64_t record = 0;
    return look(event, &record);
}

rnl_status cpu_interprocess_wait(struct event *event, uint64_t deadline)
{
    struct cpu_context *context = context_native(event->object.context);
    _Atomic uint32_t nobody = 0;
    uint64_t record = 0;
    rnl_status status;
    while ((status = look(event, &record)) == RNL_NOT_READY) {
        uint64_t now = clock_now(), next = now + EVENT_NAP_NS;
        if (deadline != RNL_FOREVER && now >= deadline)
            return event_timed_out(event, "complete");
        pool_nudge(context->pool);
        futex_wait(&nobody, 0, next < deadline ? next : deadline);
    }
    return status;
}
