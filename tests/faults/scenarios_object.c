// Contexts, streams and events, while faults are injected.
#include "sweep.h"

#include <stdatomic.h>
#include <stdio.h>

static _Atomic int calls;

static void count_call(rnl_status status, void *user_data)
{
    (void)user_data;
    if (status == RNL_OK)
        atomic_fetch_add(&calls, 1);
}

static rnl_status context_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL, second = NULL;
    rnl_stream stream = NULL;
    rnl_device device = NULL;
    TRY(sweep_open(&context));
    TRY(rnl_context_device(context, &device));
    TRY(rnl_context_create(device, RNL_CONTEXT_OPTIONS(.label = "second"),
                           &second));
    TRY(rnl_context_default_stream(second, &stream));
    TRY(rnl_context_enable_peer(context, second));
    TRY(rnl_context_synchronize(context, RNL_FOREVER));
    TRY(rnl_context_disable_peer(context, second));
    TRY(rnl_stream_synchronize(stream, RNL_FOREVER));
    RELEASE(rnl_context_release(second));
    RELEASE(rnl_context_release(context));
    return status;
}

// Retained again by a handle that a stream gives.
static rnl_status context_again(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL, again = NULL;
    rnl_stream stream = NULL, other = NULL;
    rnl_stream_info info = {.struct_size = sizeof info};
    TRY(sweep_open(&context));
    TRY(rnl_stream_create(context, NULL, &stream));
    RELEASE(rnl_context_release(context));
    if (stream)
        TRY(rnl_stream_get_info(stream, &info));
    TRY(rnl_context_retain(info.context));
    again = status == RNL_OK ? info.context : NULL;
    TRY(rnl_context_default_stream(again, &other));
    TRY(rnl_enqueue_wait_stream(other, stream));
    TRY(rnl_stream_synchronize(other, RNL_FOREVER));
    RELEASE(rnl_context_release(again));
    RELEASE(rnl_stream_release(stream));
    return status;
}

static rnl_status stream_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream streams[4] = {0};
    TRY(sweep_open(&context));
    for (int i = 0; i < 4; i++)
        TRY(rnl_stream_create(context,
                              RNL_STREAM_OPTIONS(.priority = i - 2,
                                                 .label = "a stream"),
                              &streams[i]));
    for (int i = 1; i < 4; i++)
        TRY(rnl_enqueue_wait_stream(streams[i], streams[i - 1]));
    TRY(rnl_enqueue_wait_context(streams[0], context));
    TRY(rnl_stream_synchronize(streams[3], RNL_FOREVER));
    TRY(rnl_stream_reset_and_wait(streams[0]));
    for (int i = 0; i < 4; i++)
        RELEASE(rnl_stream_release(streams[i]));
    RELEASE(rnl_context_release(context));
    return status;
}

static rnl_status batched_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_buffer buffer = NULL;
    TRY(sweep_open(&context));
    TRY(rnl_stream_create(context,
                          RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED),
                          &stream));
    TRY(rnl_buffer_create(context, 64, NULL, &buffer));
    calls = 0;
    TRY(rnl_enqueue_host_function(stream, count_call, NULL));
    for (int i = 0; i < 20; i++)
        TRY(rnl_enqueue_fill(stream, buffer, 0, 64, 1, 4));
    EXPECT(calls == 0);
    TRY(rnl_stream_flush(stream));
    TRY(rnl_enqueue_host_function(stream, count_call, NULL));
    TRY(rnl_stream_synchronize(stream, RNL_FOREVER));
    EXPECT(calls == 2);
    TRY(rnl_enqueue_fill(stream, buffer, 0, 64, 2, 4));
    RELEASE(rnl_buffer_release(buffer));
    RELEASE(rnl_stream_release(stream));
    RELEASE(rnl_context_release(context));
    return status;
}

static rnl_status enqueue_call(rnl_stream stream, size_t iteration,
                               void *user_data)
{
    (void)iteration;
    rnl_status status = RNL_OK;
    TRY(rnl_enqueue_host_function(stream, count_call, user_data));
    return status;
}

static rnl_status timing_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    uint64_t ns = 0;
    TRY(sweep_open(&context));
    TRY(rnl_stream_create(context, NULL, &stream));
    TRY(rnl_stream_set_attribute(
        stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_SYNC_POLICY,
                                     .value = {.sync_policy =
                                                   RNL_SYNC_BLOCKING})));
    TRY(rnl_time_and_wait(stream, 3, enqueue_call, NULL, &ns));
    EXPECT(ns > 0);
    RELEASE(rnl_stream_release(stream));
    RELEASE(rnl_context_release(context));
    return status;
}

static rnl_status event_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream first = NULL, second = NULL;
    rnl_event plain = NULL, timed = NULL, both = NULL;
    uint64_t ns = 0;
    TRY(sweep_open(&context));
    TRY(rnl_stream_create(context, NULL, &first));
    TRY(rnl_stream_create(context, NULL, &second));
    TRY(rnl_event_create(context, RNL_EVENT_OPTIONS(.label = "plain"),
                         &plain));
    TRY(rnl_event_create(context, RNL_EVENT_OPTIONS(.timing = true), &timed));
    TRY(rnl_enqueue_event_record(first, timed));
    TRY(rnl_enqueue_event_record(first, plain));
    TRY(rnl_enqueue_wait_event(second, plain));
    TRY(rnl_enqueue_event(second, RNL_EVENT_OPTIONS(.timing = true), &both));
    TRY(rnl_event_synchronize(both, RNL_FOREVER));
    TRY(rnl_event_elapsed(timed, both, &ns));
    TRY(rnl_event_query(plain));
    RELEASE(rnl_event_release(plain));
    RELEASE(rnl_event_release(timed));
    RELEASE(rnl_event_release(both));
    RELEASE(rnl_stream_release(first));
    RELEASE(rnl_stream_release(second));
    RELEASE(rnl_context_release(context));
    return status;
}

static rnl_status promise_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream first = NULL, second = NULL;
    rnl_event promise = NULL;
    TRY(sweep_open(&context));
    TRY(rnl_stream_create(context, NULL, &first));
    TRY(rnl_stream_create(context, NULL, &second));
    TRY(rnl_event_create(context, RNL_EVENT_OPTIONS(.promise = true),
                         &promise));
    TRY(rnl_enqueue_wait_event(second, promise));
    calls = 0;
    TRY(rnl_enqueue_host_function(second, count_call, NULL));
    EXPECT(calls == 0);
    TRY(rnl_enqueue_event_record(first, promise));
    TRY(rnl_stream_synchronize(second, RNL_FOREVER));
    EXPECT(calls == 1);
    RELEASE(rnl_event_release(promise));
    RELEASE(rnl_stream_release(first));
    RELEASE(rnl_stream_release(second));
    RELEASE(rnl_context_release(context));
    return status;
}

static rnl_status labels(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_stream stream = NULL;
    rnl_event event = NULL;
    rnl_buffer buffer = NULL;
    rnl_stream_info info = {.struct_size = sizeof info};
    char label[300];
    memset(label, 'x', sizeof label - 1);
    label[sizeof label - 1] = '\0';
    TRY(rnl_stream_create(t->context, RNL_STREAM_OPTIONS(.label = label),
                          &stream));
    TRY(rnl_event_create(t->context, RNL_EVENT_OPTIONS(.label = label),
                         &event));
    TRY(rnl_buffer_create(t->context, 64, RNL_BUFFER_OPTIONS(.label = label),
                          &buffer));
    TRY(rnl_stream_get_info(stream, &info));
    EXPECT(info.label && strncmp(info.label, label, 16) == 0);
    RELEASE(rnl_buffer_release(buffer));
    RELEASE(rnl_event_release(event));
    RELEASE(rnl_stream_release(stream));
    return status;
}

// Refused calls, whose sentences need memory and come all the same.
static rnl_status refusals(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_buffer slice = NULL;
    for (int i = 0; i < 6; i++) {
        rnl_status refused = rnl_buffer_slice(t->buffer, 200, 100, &slice);
        EXPECT(refused == RNL_ERROR_OUT_OF_RANGE);
        EXPECT(strlen(rnl_last_error()->message) > 12);
        refused = rnl_enqueue_fill(t->stream, t->buffer, 0, 512, 0, 4);
        EXPECT(refused == RNL_ERROR_OUT_OF_RANGE);
        rnl_last_error_clear();
    }
    return status;
}

static rnl_status attributes(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_stream_attribute attribute = {.struct_size = sizeof attribute};
    TRY(rnl_stream_set_attribute(
        t->stream,
        RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_DOMAIN,
                             .value = {.domain = RNL_DOMAIN_REMOTE})));
    TRY(rnl_stream_copy_attributes(t->other, t->stream));
    TRY(rnl_stream_get_attribute(t->other, RNL_STREAM_DOMAIN, &attribute));
    EXPECT(attribute.value.domain == RNL_DOMAIN_REMOTE);
    return status;
}

// More of each kind than there is room for at first.
static rnl_status crowds(struct sweep_set *t)
{
    enum { COUNT = 70 };
    rnl_status status = RNL_OK;
    rnl_stream streams[COUNT] = {0};
    rnl_event events[COUNT] = {0};
    for (int i = 0; i < COUNT; i++) {
        TRY(rnl_stream_create(t->context, NULL, &streams[i]));
        TRY(rnl_enqueue_event(streams[i], NULL, &events[i]));
        TRY(rnl_enqueue_wait_event(t->stream, events[i]));
    }
    TRY(rnl_enqueue_wait_context(t->other, t->context));
    TRY(rnl_stream_synchronize(t->other, RNL_FOREVER));
    for (int i = 0; i < COUNT; i++) {
        RELEASE(rnl_event_release(events[i]));
        RELEASE(rnl_stream_release(streams[i]));
    }
    return status;
}

static rnl_status peers(void)
{
    rnl_status status = RNL_OK;
    rnl_context contexts[2] = {0};
    rnl_stream streams[2] = {0};
    rnl_buffer buffers[2] = {0};
    static int back[16];
    const char *name = test_device_name();
    char api[16];
    snprintf(api, sizeof api, "%.*s", (int)strcspn(name, ":"), name);
    for (size_t i = 0; i < 2; i++) {
        TRY(rnl_context_open(api, i, RNL_CONTEXT_OPTIONS(.threads = 1),
                             &contexts[i]));
        TRY(rnl_stream_create(contexts[i], NULL, &streams[i]));
        TRY(rnl_buffer_create(contexts[i], 64, NULL, &buffers[i]));
    }
    TRY(rnl_context_enable_peer(contexts[0], contexts[1]));
    TRY(rnl_enqueue_fill(streams[1], buffers[1], 0, 64, 5, 4));
    TRY(rnl_enqueue_wait_stream(streams[0], streams[1]));
    TRY(rnl_enqueue_copy_buffer(streams[0], buffers[0], 0, buffers[1], 0, 64));
    TRY(rnl_enqueue_wait_context(streams[0], contexts[1]));
    TRY(rnl_copy_from_buffer_and_wait(streams[0], back, buffers[0], 0, 64));
    EXPECT(back[15] == 5);
    TRY(rnl_context_synchronize(contexts[0], RNL_FOREVER));
    TRY(rnl_context_disable_peer(contexts[0], contexts[1]));
    for (int i = 0; i < 2; i++) {
        RELEASE(rnl_buffer_release(buffers[i]));
        RELEASE(rnl_stream_release(streams[i]));
        RELEASE(rnl_context_release(contexts[i]));
    }
    return status;
}

static rnl_status native_handles(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_stream borrowed = NULL;
    rnl_event event = NULL;
    void *native = NULL;
    TRY(rnl_enqueue_event(t->stream, NULL, &event));
    TRY(rnl_event_native(event, &native));
    TRY(rnl_context_native(t->context, &native));
    TRY(rnl_stream_native(t->stream, &native));
    TRY(rnl_stream_borrow(t->context, native, NULL, &borrowed));
    TRY(rnl_enqueue_fill(borrowed, t->buffer, 0, 256, 1, 4));
    TRY(rnl_enqueue_wait_stream(t->other, borrowed));
    TRY(rnl_stream_synchronize(t->other, RNL_FOREVER));
    TRY(rnl_stream_synchronize(borrowed, RNL_FOREVER));
    RELEASE(rnl_event_release(event));
    RELEASE(rnl_stream_release(borrowed));
    return status;
}

// Recorded again and again, waited for by several.
static rnl_status recorded_again(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    for (int i = 0; i < 24; i++) {
        TRY(rnl_enqueue_event_record(i % 2 ? t->stream : t->other, t->event));
        TRY(rnl_enqueue_wait_event(i % 2 ? t->other : t->stream, t->event));
        if (i % 8 == 7)
            TRY(rnl_event_synchronize(t->event, RNL_FOREVER));
    }
    TRY(rnl_context_synchronize(t->context, RNL_FOREVER));
    return status;
}

// Waits for a promise that nobody keeps: they fail, by the documented status.
static rnl_status broken_promise(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_event promise = NULL;
    TRY(rnl_event_create(t->context, RNL_EVENT_OPTIONS(.promise = true),
                         &promise));
    TRY(rnl_enqueue_wait_event(t->stream, promise));
    bool waits = status == RNL_OK;
    TRY(rnl_enqueue_fill(t->stream, t->buffer, 0, 256, 1, 4));
    RELEASE(rnl_event_release(promise));
    if (waits && rnl_stream_synchronize(t->stream, RNL_FOREVER) == RNL_OK)
        sweep_wrong("a broken promise fails", __FILE__, __LINE__);
    TRY(rnl_stream_reset_and_wait(t->stream));
    return status;
}

const struct scenario object_scenarios[] = {
    {"contexts", context_life, NULL, {0}},
    {"contexts retained again", context_again, NULL, {0}},
    {"streams", stream_life, NULL, {0}},
    {"batched streams", batched_life, NULL, {RNL_FEATURE_BATCHED_STREAMS}},
    {"timing", timing_life, NULL, {0}},
    {"events", event_life, NULL, {0}},
    {"promises", promise_life, NULL, {RNL_FEATURE_PROMISES}},
    {"broken promises", NULL, broken_promise, {RNL_FEATURE_PROMISES}},
    {"events recorded again", NULL, recorded_again, {0}},
    {"labels", NULL, labels, {0}},
    {"refusals", NULL, refusals, {0}},
    {"attributes of streams", NULL, attributes, {0}},
    {"crowds", NULL, crowds, {0}},
    {"peers", peers, NULL, {RNL_FEATURE_PEER_ACCESS}},
    {"native handles", NULL, native_handles, {RNL_FEATURE_NATIVE_HANDLES}},
    {0},
};
