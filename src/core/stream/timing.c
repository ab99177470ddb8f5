#include "core/object/check.h"
#include "core/stream/capture.h"
#include "core/stream/stream.h"

// Made of public calls, which know all about streams that are captured, batched
// or failed: only the name of the function is put right.
static rnl_status of_time_and_wait(rnl_status status)
{
    if (status != RNL_OK && status != RNL_NOT_READY)
        fail_set_function("rnl_time_and_wait");
    return status;
}

static rnl_status mark(rnl_stream stream, rnl_event *out_event)
{
    return of_time_and_wait(rnl_enqueue_event(
        stream, RNL_EVENT_OPTIONS(.timing = true), out_event));
}

static rnl_status finish(rnl_stream stream, rnl_event start, uint64_t *out_ns)
{
    rnl_event end;
    rnl_status status = mark(stream, &end);
    if (status != RNL_OK)
        return status;
    status = of_time_and_wait(rnl_event_synchronize(end, RNL_FOREVER));
    if (status == RNL_OK)
        status = of_time_and_wait(rnl_event_elapsed(start, end, out_ns));
    rnl_event_release(end);
    return status;
}

// The called function may have released the stream, or begun a capture.
static rnl_status check_still(rnl_stream stream)
{
    struct stream *checked;
    CALL status = enter_call("rnl_time_and_wait");
    if (status == RNL_OK)
        status = check_stream(stream, "stream", &checked);
    return status ? status : capture_check_stream(checked);
}

rnl_status rnl_time_and_wait(rnl_stream stream, size_t iterations,
                             rnl_time_fn function, void *user_data,
                             uint64_t *out_total_ns)
{
    rnl_event start;
    struct stream *checked;
    CALL status = ENTER();
    if (status != RNL_OK ||
        (status = check_stream(stream, "stream", &checked)))
        return status;
    if (!function)
        return check_pointer(NULL, "function");
    if ((status = check_pointer(out_total_ns, "out_total_ns")) ||
        (status = capture_check_stream(checked)) ||
        (status = stream_check_failure(checked)) ||
        (status = mark(stream, &start)))
        return status;
    for (size_t i = 0; i < iterations && status == RNL_OK; i++)
        status = function(stream, i, user_data);
    if (status == RNL_OK)
        status = check_still(stream);
    uint64_t total = 0;
    if (iterations > 0 && status == RNL_OK)
        status = finish(stream, start, &total);
    rnl_event_release(start);
    if (status == RNL_OK)
        *out_total_ns = total;
    return status;
}
