// The common part of the calls of growth.h.
#include "growth.h"

const growth_list *const growth_lists[] = {&growth_objects, &growth_streams,
                                           &growth_graphs, NULL};

static rnl_status empty_kernel(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

bool growth_ok(growth *with, rnl_status status)
{
    if (!with->status)
        with->status = status;
    return !status;
}

bool growth_open(growth *with)
{
    return growth_ok(with, rnl_context_open("cpu", 0, NULL, &with->context)) &&
           growth_ok(with, rnl_stream_create(with->context, NULL,
                                             &with->stream)) &&
           growth_ok(with, rnl_stream_create(with->context, NULL,
                                             &with->other)) &&
           growth_ok(with, rnl_function_create_native(with->context, "empty",
                                                      empty_kernel, NULL,
                                                      &with->function)) &&
           growth_ok(with, rnl_buffer_create(
                               with->context, 16384,
                               RNL_BUFFER_OPTIONS(.zeroed = true),
                               &with->buffer));
}

void growth_close(growth *with)
{
    rnl_buffer_release(with->buffer);
    rnl_function_release(with->function);
    rnl_stream_release(with->other);
    rnl_stream_release(with->stream);
    rnl_context_release(with->context);
}

__attribute__((noinline)) void growth_run(growth *with, const growth_call *call,
                                          size_t count)
{
    call->run(with, count);
}

void growth_launch(growth *with, rnl_stream stream)
{
    growth_ok(with, rnl_enqueue_function(stream, with->function,
                                         RNL_LAUNCH(.grid = {1}, .block = {1}),
                                         RNL_NO_ARGS));
}

void growth_synchronize(growth *with, rnl_stream stream)
{
    growth_ok(with, rnl_stream_synchronize(stream, RNL_FOREVER));
}

rnl_event growth_gate(growth *with, rnl_stream stream)
{
    rnl_event gate = NULL;
    growth_ok(with, rnl_event_create(with->context,
                                     RNL_EVENT_OPTIONS(.promise = true),
                                     &gate));
    growth_ok(with, rnl_enqueue_wait_event(stream, gate));
    return gate;
}

void growth_open_gate(growth *with, rnl_event gate)
{
    growth_ok(with, rnl_enqueue_event_record(with->other, gate));
    growth_ok(with, rnl_event_release(gate));
}

void growth_make_streams(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_stream_create(with->context, NULL,
                                          (rnl_stream *)&with->items[i]));
}

void growth_drop_streams(growth *with, size_t count)
{
    for (size_t i = 0; i < count; i++)
        growth_ok(with, rnl_stream_release(with->items[i]));
}
