// Streams, events and stream memory operations of the fake.
#include "fake.h"

#include <stdlib.h>
#include <string.h>

enum { VALUES_MOST = 256 };

int fake_stream_of(struct fake_context *context, void *handle,
                   rnl_stream *out_inner)
{
    if (fake_is_legacy(handle)) {
        *out_inner = context->stream;
        return FAKE_OK;
    }
    struct fake_stream *stream = fake_find(KIND_STREAM, handle);
    if (!stream || stream->object.context != context)
        return FAKE_INVALID_HANDLE;
    *out_inner = stream->inner;
    return FAKE_OK;
}

static struct fake_stream *stream_or_legacy(void *handle)
{
    return fake_is_legacy(handle) ? NULL : fake_find(KIND_STREAM, handle);
}

// Enters and finds the stream; 0 or a code.
static int enter_stream(enum fake_function function, void *handle,
                        struct fake_context **out_context,
                        rnl_stream *out_inner)
{
    int code = fake_enter(function, out_context);
    return code ? code : fake_stream_of(*out_context, handle, out_inner);
}

static int enter_by_stream(enum fake_function function, void *handle,
                           struct fake_context **out_context,
                           rnl_stream *out_inner)
{
    int code = fake_enter_for(function, KIND_STREAM, handle, out_context);
    return code ? code : fake_stream_of(*out_context, handle, out_inner);
}

// --- Streams --------------------------------------------------------------

int fake_stream_create(void **out_stream, unsigned flags, int priority)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_stream_create, &context);
    if (code)
        return code;
    if (!out_stream || flags & ~(unsigned)DRIVER_STREAM_NON_BLOCKING)
        return FAKE_INVALID_VALUE;
    struct fake_stream *stream =
        fake_new(KIND_STREAM, context, sizeof *stream);
    if (!stream)
        return FAKE_OUT_OF_MEMORY;
    rnl_status status = rnl_stream_create(
        context->inner, RNL_STREAM_OPTIONS(.priority = priority),
        &stream->inner);
    if (status != RNL_OK) {
        fake_delete(stream);
        return fake_code(context, status);
    }
    static _Atomic uint64_t last_id = 16;
    stream->queue = fake_queue_choose(context, priority);
    stream->flags = flags;
    stream->priority = priority;
    stream->id = atomic_fetch_add(&last_id, 1);
    fake_values_reset(&stream->attributes);
    *out_stream = stream;
    return FAKE_OK;
}

int fake_stream_destroy(void *handle)
{
    struct fake_context *context;
    int code = fake_enter_release(FAKE_stream_destroy, &context);
    if (!context)
        return code;
    struct fake_stream *stream = fake_find(KIND_STREAM, handle);
    if (!stream)
        return FAKE_INVALID_HANDLE;
    fake_queue_forget(stream->queue, stream->object.context, stream->inner);
    rnl_stream_release(stream->inner);
    fake_delete(stream);
    return code;
}

int fake_stream_query(void *handle)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_by_stream(FAKE_stream_query, handle, &context, &inner);
    if (code)
        return code;
    struct fake_stream *stream = stream_or_legacy(handle);
    if (stream && atomic_load(&stream->capture)) {
        atomic_store(&stream->capture, FAKE_CAPTURE_INVALID);
        return FAKE_CAPTURED;
    }
    fake_calls_pass(context);
    return fake_code(context, rnl_stream_query(inner));
}

int fake_stream_capturing(void *handle, int *out_status)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_stream(FAKE_stream_capturing, handle, &context, &inner);
    if (code)
        return code;
    struct fake_stream *stream = stream_or_legacy(handle);
    *out_status = stream ? atomic_load(&stream->capture) : FAKE_CAPTURE_NONE;
    return FAKE_OK;
}

int fake_stream_synchronize(void *handle)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_stream(FAKE_stream_synchronize, handle, &context, &inner);
    return code ? code : fake_wait_stream(context, inner);
}

int fake_stream_wait_event(void *handle, void *event_handle, unsigned flags)
{
    struct fake_context *context;
    rnl_stream inner;
    int code =
        enter_by_stream(FAKE_stream_wait_event, handle, &context, &inner);
    if (code)
        return code;
    struct fake_event *event = fake_find(KIND_EVENT, event_handle);
    if (!event)
        return FAKE_INVALID_HANDLE;
    if (FAKE_IS_HIP && flags)
        fake_misuse("hipStreamWaitEvent with flag %u ends the process", flags);
    if (flags & ~1u)
        return FAKE_INVALID_VALUE;
    if (rnl_event_query(event->inner) == RNL_OK)
        return FAKE_OK;  // and takes no place in a queue
    struct fake_turn turn;
    if ((code = fake_turn_take(context, handle, &turn)))
        return code;
    return fake_turn_give(&turn, true,
                          rnl_enqueue_wait_event(turn.inner, event->inner));
}

// --- What is known of them ---------------------------------------------------

int fake_stream_flags(void *handle, unsigned *out_flags)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_by_stream(FAKE_stream_flags, handle, &context, &inner);
    if (code)
        return code;
    const struct fake_stream *stream = stream_or_legacy(handle);
    *out_flags = stream ? stream->flags : 0;
    return FAKE_OK;
}

int fake_stream_priority(void *handle, int *out_priority)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_by_stream(FAKE_stream_priority, handle, &context, &inner);
    if (code)
        return code;
    const struct fake_stream *stream = stream_or_legacy(handle);
    *out_priority = stream ? stream->priority : 0;
    return FAKE_OK;
}

int fake_stream_context(void *handle, void **out_context)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_stream_context, &context);
    if (code)
        return code;
    const struct fake_stream *stream = stream_or_legacy(handle);
    if (!stream && !fake_is_legacy(handle))
        return FAKE_INVALID_HANDLE;
    *out_context = stream ? stream->object.context : context;
    return FAKE_OK;
}

int fake_stream_id(void *handle, uint64_t *out_id)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_by_stream(FAKE_stream_id, handle, &context, &inner);
    if (code)
        return code;
    const struct fake_stream *stream = stream_or_legacy(handle);
    *out_id = stream ? stream->id : 1;
    return FAKE_OK;
}

// As they are before anybody sets them: no policy, and domains 0 and 1.
void fake_values_reset(struct fake_values *values)
{
    memset(values, 0, sizeof *values);
    memset(values->of[3], 0xff, sizeof(int));
    values->of[9][1] = 1;
}

static struct fake_values *values_of(struct fake_context *context,
                                     void *handle)
{
    struct fake_stream *stream = stream_or_legacy(handle);
    return stream ? &stream->attributes : &context->legacy;
}

static bool is_attribute(int id)
{
    return id == 1 || id == 3 || id == 8 || id == 9 || id == 10;
}

int fake_stream_set_attribute(void *handle, int id, const void *value)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_stream(FAKE_stream_set_attribute, handle, &context,
                            &inner);
    if (code)
        return code;
    if (!is_attribute(id) || !value)
        return FAKE_INVALID_VALUE;
    memcpy(values_of(context, handle)->of[id], value, 64);
    return FAKE_OK;
}

int fake_stream_get_attribute(void *handle, int id, void *out_value)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_stream(FAKE_stream_get_attribute, handle, &context,
                            &inner);
    if (code)
        return code;
    if (!is_attribute(id))
        return FAKE_INVALID_VALUE;
    memcpy(out_value, values_of(context, handle)->of[id], 64);
    return FAKE_OK;
}

int fake_stream_attach(void *handle, uint64_t address, size_t size,
                       unsigned flags)
{
    struct fake_context *context;
    rnl_stream inner;
    struct fake_block block;
    int code = enter_stream(FAKE_stream_attach, handle, &context, &inner);
    if (code)
        return code;
    if (flags != 1 && flags != 2 && flags != 4)
        return FAKE_INVALID_VALUE;
    if (!fake_block_find(address, 1, &block) ||
        block.place != PLACE_MANAGED || block.start != address ||
        (size && size != block.size) || (flags == 4 && fake_is_legacy(handle)))
        return FAKE_INVALID_VALUE;
    return FAKE_OK;
}

// --- Events ---------------------------------------------------------------

static bool is_captured(void *handle)
{
    struct fake_stream *stream = stream_or_legacy(handle);
    return stream && atomic_load(&stream->capture);
}

int fake_event_create(void **out_event, unsigned flags)
{
    struct fake_context *context;
    int code = fake_enter(FAKE_event_create, &context);
    if (code)
        return code;
    if (!out_event || flags & ~7u || (flags & 4 && !(flags & 2)))
        return FAKE_INVALID_VALUE;
    struct fake_event *event = fake_new(KIND_EVENT, context, sizeof *event);
    if (!event)
        return FAKE_OUT_OF_MEMORY;
    event->timing = !(flags & DRIVER_EVENT_NO_TIMING);
    rnl_status status = rnl_event_create(
        context->inner, RNL_EVENT_OPTIONS(.timing = event->timing),
        &event->inner);
    if (status != RNL_OK) {
        fake_delete(event);
        return fake_code(context, status);
    }
    *out_event = event;
    return FAKE_OK;
}

int fake_event_destroy(void *handle)
{
    struct fake_context *context;
    int code = fake_enter_release(FAKE_event_destroy, &context);
    if (!context)
        return code;
    struct fake_event *event = fake_find(KIND_EVENT, handle);
    if (!event)
        return FAKE_INVALID_HANDLE;
    rnl_event_release(event->inner);
    fake_delete(event);
    return code;
}

int fake_event_record(void *handle, void *stream)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_by_stream(FAKE_event_record, stream, &context, &inner);
    if (code)
        return code;
    struct fake_event *event = fake_find(KIND_EVENT, handle);
    if (!event || event->object.context != context)
        return FAKE_INVALID_HANDLE;
    bool captured = is_captured(stream);
    atomic_store(&event->captured, captured);
    if (captured)
        return FAKE_OK;
    struct fake_turn turn;
    if ((code = fake_turn_take(context, stream, &turn)))
        return code;
    rnl_status status = rnl_enqueue_event_record(turn.inner, event->inner);
    if (status == RNL_OK)
        atomic_store(&event->recorded, true);
    return fake_turn_give(&turn, false, status);
}

int fake_record_inner(void *handle, rnl_stream inner)
{
    struct fake_event *event = fake_find(KIND_EVENT, handle);
    if (!event || rnl_enqueue_event_record(inner, event->inner) != RNL_OK)
        return FAKE_INVALID_HANDLE;
    atomic_store(&event->captured, false);
    atomic_store(&event->recorded, true);
    return FAKE_OK;
}

static int enter_event(enum fake_function function, void *handle,
                       struct fake_context **out_context,
                       struct fake_event **out_event)
{
    int code = fake_enter(function, out_context);
    if (code)
        return code;
    *out_event = fake_find(KIND_EVENT, handle);
    return *out_event ? FAKE_OK : FAKE_INVALID_HANDLE;
}

int fake_event_query(void *handle)
{
    struct fake_context *context;
    struct fake_event *event;
    int code =
        fake_enter_for(FAKE_event_query, KIND_EVENT, handle, &context);
    if (code)
        return code;
    if (!(event = fake_find(KIND_EVENT, handle)))
        return FAKE_INVALID_HANDLE;
    if (atomic_load(&event->captured))
        return FAKE_CAPTURED_EVENT;
    fake_calls_pass(context);
    return fake_code(context, rnl_event_query(event->inner));
}

int fake_event_synchronize(void *handle)
{
    struct fake_context *context;
    struct fake_event *event;
    int code = enter_event(FAKE_event_synchronize, handle, &context, &event);
    if (code)
        return code;
    rnl_status status;
    do {
        status = rnl_event_synchronize(event->inner, 5000000);
        code = atomic_load(&context->sticky);
    } while (status == RNL_ERROR_TIMED_OUT && !code);
    return code ? code : fake_code(context, status);
}

int fake_event_elapsed(float *out_ms, void *start, void *end)
{
    struct fake_context *context;
    struct fake_event *first, *last;
    int code = enter_event(FAKE_event_elapsed, start, &context, &first);
    if (code)
        return code;
    last = fake_find(KIND_EVENT, end);
    if (!last || !first->timing || !last->timing ||
        !atomic_load(&first->recorded) || !atomic_load(&last->recorded))
        return FAKE_INVALID_HANDLE;
    uint64_t ns = 0;
    rnl_status status = rnl_event_elapsed(first->inner, last->inner, &ns);
    float sign = 1;
    if (status == RNL_ERROR_INVALID_ARGUMENT) {
        status = rnl_event_elapsed(last->inner, first->inner, &ns);
        sign = -1;
    }
    if (status == RNL_OK)
        *out_ms = sign * (float)((double)ns / 1e6);
    return fake_code(context, status);
}

// --- Stream memory operations ---------------------------------------------

static int value_convert(struct fake_context *context,
                         const struct driver_value *from, rnl_value_op *to)
{
    static const rnl_value_action waits[] = {RNL_WAIT_GEQ, RNL_WAIT_EQ,
                                             RNL_WAIT_AND, RNL_WAIT_NOR};
    struct fake_block block;
    bool wide = from->operation == DRIVER_WAIT64 ||
                from->operation == DRIVER_WRITE64;
    bool waiting = from->operation == DRIVER_WAIT32 ||
                   from->operation == DRIVER_WAIT64;
    bool writing = from->operation == DRIVER_WRITE32 ||
                   from->operation == DRIVER_WRITE64;
    uint32_t width = wide ? 64 : 32;
    unsigned most = waiting ? 3u | (unsigned)DRIVER_WAIT_FLUSH
                            : (unsigned)DRIVER_WRITE_NO_BARRIER;
    if ((!waiting && !writing) || from->flags & ~most ||
        from->address % (width / 8) ||
        !fake_block_find(from->address, width / 8, &block))
        return FAKE_INVALID_VALUE;
    *to = (rnl_value_op){
        .struct_size = sizeof *to,
        .action = waiting ? waits[from->flags & 3] : RNL_WRITE_VALUE,
        .width = width,
        .buffer = context->memory,
        .offset = from->address - 4096,
        .value = wide ? from->value : (uint32_t)from->value,
    };
    return FAKE_OK;
}

int fake_values_convert(struct fake_context *context,
                        const struct driver_value *values, size_t count,
                        rnl_value_op *out)
{
    int code = FAKE_OK;
    for (size_t i = 0; i < count && code == FAKE_OK; i++)
        code = value_convert(context, &values[i], &out[i]);
    return code;
}

bool fake_values_wait(const struct driver_value *values, size_t count)
{
    bool waits = false;
    for (size_t i = 0; i < count; i++)
        waits |= values[i].operation == DRIVER_WAIT32 ||
                 values[i].operation == DRIVER_WAIT64;
    return waits;
}

static int submit_values(struct fake_context *context, void *handle,
                         const struct driver_value *values, size_t count)
{
    rnl_value_op ops[VALUES_MOST];
    struct fake_turn turn;
    if (count > VALUES_MOST)
        return FAKE_INVALID_VALUE;
    int code = fake_values_convert(context, values, count, ops);
    if (code)
        return code;
    bool waits = fake_values_wait(values, count);
    code = waits ? fake_turn_take(context, handle, &turn)
                 : fake_turn_take_to_write(context, handle, &turn);
    if (code)
        return code;
    return fake_turn_give(&turn, waits,
                          rnl_enqueue_values(turn.inner, ops, count));
}

int fake_stream_batch(void *handle, unsigned count,
                      struct driver_value *values, unsigned flags)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_stream(FAKE_stream_batch, handle, &context, &inner);
    if (code)
        return code;
    if (flags)
        return FAKE_INVALID_VALUE;
    return submit_values(context, handle, values, count);
}

int fake_stream_write32(void *handle, uint64_t address, uint32_t value,
                        unsigned flags)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_by_stream(FAKE_stream_write32, handle, &context, &inner);
    struct driver_value item = {DRIVER_WRITE32, address, value, flags, 0, 0};
    return code ? code : submit_values(context, handle, &item, 1);
}

int fake_stream_wait32(void *handle, uint64_t address, uint32_t value,
                       unsigned flags)
{
    struct fake_context *context;
    rnl_stream inner;
    int code = enter_stream(FAKE_stream_wait32, handle, &context, &inner);
    struct driver_value item = {DRIVER_WAIT32, address, value, flags, 0, 0};
    return code ? code : submit_values(context, handle, &item, 1);
}

// --- Work of other libraries -------------------------------------------------

struct host_work {
    void (*function)(void *argument);
    void *argument;
};

static void run_host_work(rnl_status status, void *user_data)
{
    struct host_work work = *(struct host_work *)user_data;
    (void)status;
    free(user_data);
    work.function(work.argument);
}

FAKE_EXPORT fake_host_fn fake_control_host;

int fake_control_host(void *handle, void (*function)(void *argument),
                      void *argument)
{
    struct fake_turn turn;
    struct fake_stream *stream = fake_find(KIND_STREAM, handle);
    struct host_work *work = malloc(sizeof *work);
    if (!stream || !work ||
        fake_turn_take(stream->object.context, handle, &turn) != FAKE_OK) {
        free(work);
        return FAKE_INVALID_HANDLE;
    }
    *work = (struct host_work){function, argument};
    rnl_status status =
        rnl_enqueue_host_function(turn.inner, run_host_work, work);
    return fake_turn_give(&turn, false, status);
}
