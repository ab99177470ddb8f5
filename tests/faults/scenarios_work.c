// Values, host functions and launches, while faults are injected.
#include "sweep.h"

#include <stdatomic.h>

static _Atomic int calls;

static void count_call(rnl_status status, void *user_data)
{
    (void)user_data;
    if (status == RNL_OK)
        atomic_fetch_add(&calls, 1);
}

// Whatever fails, the host releases the wait in the end.
static rnl_status value_life(void)
{
    static _Atomic uint32_t host[4];
    static uint32_t results[40];
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream first = NULL, second = NULL;
    rnl_buffer words = NULL;
    rnl_value_op ops[40];
    memset((void *)host, 0, sizeof host);
    TRY(sweep_open(&context));
    TRY(rnl_stream_create(context, NULL, &first));
    TRY(rnl_stream_create(context, NULL, &second));
    TRY(rnl_buffer_create(context, sizeof results, NULL, &words));
    TRY(rnl_host_register(context, (void *)host, sizeof host));
    for (size_t i = 0; i < 40; i++)
        ops[i] = *RNL_VALUE_OP(.action = RNL_WRITE_VALUE, .width = 32,
                               .buffer = words, .offset = i * 4,
                               .value = i + 1);
    ops[20] = *RNL_VALUE_OP(.action = RNL_WAIT_EQ, .width = 32,
                            .pointer = (void *)host, .value = 7);
    TRY(rnl_enqueue_values(first, ops, 40));
    TRY(rnl_enqueue_wait_value64(second, words, 24 * 4,
                                 UINT64_C(26) << 32 | 25, RNL_WAIT_EQ));
    atomic_store(host, 7);
    TRY(rnl_stream_synchronize(first, RNL_FOREVER));
    TRY(rnl_enqueue_write_value32(second, words, 0, 9));
    TRY(rnl_copy_from_buffer_and_wait(second, results, words, 0,
                                      sizeof results));
    EXPECT(results[0] == 9 && results[19] == 20 && results[39] == 40);
    RELEASE(rnl_buffer_release(words));
    RELEASE(rnl_stream_release(first));
    RELEASE(rnl_stream_release(second));
    RELEASE(rnl_context_release(context));
    return status;
}

static _Atomic int ends;

static void count_end(void *user_data)
{
    (void)user_data;
    ends++;
}

// A failed enqueue must have enqueued nothing, and a successful one once.
static rnl_status host_function_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    int accepted = 0;
    TRY(sweep_open(&context));
    TRY(rnl_context_default_stream(context, &stream));
    calls = ends = 0;
    for (int i = 0; i < 100 && status == RNL_OK; i++) {
        TRY(rnl_enqueue_host_function(stream, count_call, NULL));
        accepted += status == RNL_OK;
    }
    int plain = accepted;
    for (int i = 0; i < 10 && status == RNL_OK; i++) {
        TRY(rnl_enqueue_host_call(
            stream, RNL_HOST_CALL(.function = count_call,
                                  .destroy = count_end, .label = "call")));
        accepted += status == RNL_OK;
    }
    rnl_status waited = stream ? rnl_stream_synchronize(stream, RNL_FOREVER)
                               : RNL_OK;
    if (waited == RNL_OK && calls != accepted)
        sweep_wrong("each accepted host function runs once", __FILE__,
                    __LINE__);
    if (ends > accepted - plain)
        sweep_wrong("data of an accepted call ends once", __FILE__, __LINE__);
    RELEASE(rnl_context_release(context));
    return status == RNL_OK ? waited : status;
}

static rnl_status add_all(const rnl_native_call *call)
{
    _Atomic int *sum = call->user_data;
    const unsigned char *large = call->arguments[32];
    for (int i = 0; i < 32; i++)
        atomic_fetch_add(sum, *(const int *)call->arguments[i]);
    atomic_fetch_add(sum, large[3999]);
    return RNL_OK;
}

struct large {
    unsigned char bytes[4000];
};

static rnl_status launch_life(void)
{
    static _Atomic int sum;
    static struct large large;
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_function function = NULL;
    rnl_function_info info = {.struct_size = sizeof info};
    rnl_parameter parameters[33];
    rnl_arg items[33];
    for (int i = 0; i < 32; i++) {
        parameters[i] = (rnl_parameter){RNL_VALUE_INTEGER, 4, 4, "int"};
        items[i] = rnl_arg_of_integer((uint64_t)i, 4);
    }
    large.bytes[3999] = 4;
    sum = 0;
    parameters[32] = (rnl_parameter){RNL_VALUE_STRUCT, 4000, 1, "large"};
    items[32] = rnl_arg_of_struct(&large, sizeof large);
    const rnl_args args = {sizeof args, 33, items};
    TRY(sweep_open(&context));
    TRY(rnl_context_default_stream(context, &stream));
    TRY(rnl_function_create_native(
        context, "add_all", add_all,
        RNL_NATIVE_OPTIONS(.parameters = parameters, .parameter_count = 33,
                           .user_data = &sum), &function));
    TRY(rnl_function_get_info(function, &info));
    for (int i = 0; i < 3; i++)
        TRY(rnl_enqueue_function(
            stream, function,
            RNL_LAUNCH(.grid = {1}, .block = {1}, .shared_size = 1000,
                       .label = "a label"), &args));
    // Dead already, and used all the same.
    RELEASE(rnl_function_release(function));
    TRY(rnl_stream_synchronize(stream, RNL_FOREVER));
    EXPECT(sum == 3 * (31 * 32 / 2 + 4));
    RELEASE(rnl_context_release(context));
    return status;
}

// A kernel fails, so that failures and their attribution need memory, too.
static rnl_status fail_now(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

static rnl_status failure_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream first = NULL, second = NULL;
    rnl_function function = NULL;
    TRY(sweep_open(&context));
    TRY(rnl_stream_create(context, NULL, &first));
    TRY(rnl_stream_create(context, NULL, &second));
    TRY(rnl_function_create_native(context, "fail_now", fail_now, NULL,
                                   &function));
    TRY(rnl_enqueue_function(first, function,
                             RNL_LAUNCH(.grid = {1}, .block = {1}), NULL));
    TRY(rnl_enqueue_wait_stream(second, first));
    if (status == RNL_OK) {
        rnl_status failed = rnl_stream_synchronize(first, RNL_FOREVER);
        if (failed != RNL_ERROR_LAUNCH_FAILED)
            sweep_wrong("the first stream fails", __FILE__, __LINE__);
        if (rnl_last_error()->status != RNL_ERROR_LAUNCH_FAILED)
            sweep_wrong("the failure is recorded", __FILE__, __LINE__);
        failed = rnl_stream_synchronize(second, RNL_FOREVER);
        if (failed != RNL_ERROR_DEPENDENCY_FAILED)
            sweep_wrong("the second stream fails, too", __FILE__, __LINE__);
    }
    TRY(rnl_stream_reset_and_wait(first));
    TRY(rnl_stream_reset_and_wait(second));
    RELEASE(rnl_function_release(function));
    RELEASE(rnl_stream_release(first));
    RELEASE(rnl_stream_release(second));
    RELEASE(rnl_context_release(context));
    return status;
}

static rnl_status query_launch(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_occupancy occupancy = {.struct_size = sizeof occupancy};
    rnl_function_info info = {.struct_size = sizeof info};
    uint32_t threads = 0;
    int64_t value = 0;
    TRY(rnl_function_get_info(t->function, &info));
    TRY(rnl_function_set_attribute(t->function, RNL_FUNCTION_DYNAMIC_SHARED,
                                   4096));
    TRY(rnl_function_get_attribute(t->function, RNL_FUNCTION_DYNAMIC_SHARED,
                                   &value));
    EXPECT(value == 4096);
    TRY(rnl_function_get_occupancy(t->function, 64, 4096, &occupancy));
    TRY(rnl_function_suggest_block(t->function, 0, 128, &threads));
    EXPECT(threads > 0 && threads <= 128);
    TRY(rnl_enqueue_function(t->stream, t->function,
                             RNL_LAUNCH(.grid = {2}, .block = {threads}),
                             NULL));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    return status;
}

// Attributes and a label at the launch; the grid is large enough to be shared.
static rnl_status attributed_launches(struct sweep_set *t)
{
    static const rnl_launch_attribute attributes[] = {
        {RNL_LAUNCH_COOPERATIVE, {true}},
        {RNL_LAUNCH_PRIORITY, {.priority = 0}},
        {RNL_LAUNCH_SYNC_POLICY, {.sync_policy = RNL_SYNC_BLOCKING}},
    };
    rnl_status status = RNL_OK;
    for (size_t i = 0; i < 3; i++)
        TRY(rnl_enqueue_function(
            t->stream, t->function,
            RNL_LAUNCH(.grid = {2}, .block = {32},
                       .attributes = attributes + i, .attribute_count = 1,
                       .label = "with an attribute"), NULL));
    const rnl_launch_attribute kept[] = {
        {RNL_LAUNCH_COMPLETION_EVENT, {.event = {t->event, false}}},
        {RNL_LAUNCH_ACCESS_POLICY,
         {.access_policy = {.buffer = t->buffer, .size = RNL_WHOLE}}}};
    for (int i = 0; i < 2; i++)
        TRY(rnl_enqueue_function(t->stream, t->function,
                                 RNL_LAUNCH(.grid = {2}, .block = {32},
                                            .attributes = kept,
                                            .attribute_count = 2), NULL));
    TRY(rnl_event_synchronize(t->event, RNL_FOREVER));
    TRY(rnl_enqueue_function(t->stream, t->function,
                             RNL_LAUNCH(.grid = {500, 4}, .block = {64},
                                        .shared_size = 1 << 14), NULL));
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    return status;
}

static _Atomic int blocks;

static rnl_status count_blocks(const rnl_native_call *call)
{
    atomic_fetch_add(&blocks, (int)call->block_count);
    return RNL_OK;
}

static rnl_status wide_launches(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_function function = NULL;
    blocks = 0;
    TRY(rnl_function_create_native(t->context, "count_blocks", count_blocks,
                                   NULL, &function));
    for (int i = 0; i < 40; i++)
        TRY(rnl_enqueue_function(i % 2 ? t->stream : t->other, function,
                                 RNL_LAUNCH(.grid = {64}, .block = {1}),
                                 NULL));
    TRY(rnl_context_synchronize(t->context, RNL_FOREVER));
    EXPECT(blocks == 40 * 64);
    RELEASE(rnl_function_release(function));
    return status;
}

// Each stream behind the other, back and forth, in one long chain.
static rnl_status crossed_streams(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    int accepted = 0;
    calls = 0;
    for (int i = 0; i < 30; i++) {
        rnl_stream from = i % 2 ? t->other : t->stream;
        rnl_stream to = i % 2 ? t->stream : t->other;
        TRY(rnl_enqueue_host_function(from, count_call, NULL));
        accepted += status == RNL_OK;
        TRY(rnl_enqueue_event_record(from, t->event));
        TRY(rnl_enqueue_wait_event(to, t->event));
        TRY(rnl_enqueue_wait_stream(to, from));
    }
    TRY(rnl_context_synchronize(t->context, RNL_FOREVER));
    EXPECT(calls == accepted && accepted == 30);
    return status;
}

// A value wait that the host ends, with work of both streams behind it.
static rnl_status held_work(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    void *word = NULL;
    calls = 0;
    TRY(rnl_buffer_host_pointer(t->host, &word));
    TRY(rnl_enqueue_wait_value32(t->stream, t->host, 0, 1, RNL_WAIT_GEQ));
    for (int i = 0; i < 20; i++) {
        TRY(rnl_enqueue_fill(t->stream, t->buffer, 0, 256, (uint64_t)i, 4));
        TRY(rnl_enqueue_host_function(t->stream, count_call, NULL));
    }
    TRY(rnl_enqueue_wait_stream(t->other, t->stream));
    TRY(rnl_enqueue_write_value64(t->other, t->host, 8, 5));
    TRY(rnl_enqueue_wait_value64(t->stream, t->host, 8, 4, RNL_WAIT_GEQ));
    if (word)
        atomic_store((_Atomic uint32_t *)word, 1);
    TRY(rnl_context_synchronize(t->context, RNL_FOREVER));
    EXPECT(calls == 20);
    return status;
}

static rnl_status fail_once(const rnl_native_call *call)
{
    (void)call;
    return RNL_ERROR_LAUNCH_FAILED;
}

// A stream that failed, with everything else behind it, is reset and works.
static rnl_status reset_streams(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_function function = NULL;
    calls = 0;
    TRY(rnl_function_create_native(t->context, "fail_once", fail_once, NULL,
                                   &function));
    for (int i = 0; i < 3; i++) {
        TRY(rnl_enqueue_function(t->stream, function,
                                 RNL_LAUNCH(.grid = {1}, .block = {1},
                                            .label = "fails"), NULL));
        TRY(rnl_enqueue_event_record(t->stream, t->event));
        rnl_status failed = RNL_OK;
        if (status == RNL_OK)
            failed = rnl_stream_synchronize(t->stream, RNL_FOREVER);
        EXPECT(failed == RNL_ERROR_LAUNCH_FAILED);
        TRY(rnl_stream_reset_and_wait(t->stream));
        TRY(rnl_enqueue_host_function(t->stream, count_call, NULL));
        TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    }
    EXPECT(calls == 3);
    RELEASE(rnl_function_release(function));
    return status;
}

// A wait that nobody ends but the cancel; where that fails the host does.
static rnl_status cancelled_waits(struct sweep_set *t)
{
    rnl_status status = RNL_OK, ended[2] = {RNL_OK, RNL_OK};
    void *word = NULL;
    calls = 0;
    TRY(rnl_buffer_host_pointer(t->host, &word));
    for (int round = 1; round <= 3 && status == RNL_OK; round++) {
        TRY(rnl_enqueue_wait_value32(t->stream, t->host, 0, 1, RNL_WAIT_EQ));
        TRY(rnl_enqueue_fill(t->stream, t->buffer, 4, 4, 9, 4));
        TRY(rnl_enqueue_wait_stream(t->other, t->stream));
        TRY(rnl_stream_cancel(t->stream));
        if (status == RNL_OK) {
            ended[0] = rnl_stream_synchronize(t->stream, RNL_FOREVER);
            ended[1] = rnl_stream_synchronize(t->other, RNL_FOREVER);
        }
        EXPECT(ended[0] == RNL_ERROR_CANCELLED);
        EXPECT(ended[1] == RNL_ERROR_DEPENDENCY_FAILED);
        TRY(rnl_stream_reset_and_wait(t->stream));
        TRY(rnl_stream_reset_and_wait(t->other));
        TRY(rnl_enqueue_host_function(t->stream, count_call, NULL));
        TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
        EXPECT(calls == round);
    }
    if (word)
        atomic_store((_Atomic uint32_t *)word, 1);
    rnl_context_synchronize(t->context, RNL_FOREVER);
    return status;
}

static rnl_status add_blocks(const rnl_native_call *call)
{
    atomic_fetch_add((_Atomic int *)call->user_data, (int)call->block_count);
    return RNL_OK;
}

// A context that gives its launches a limit, which none of them reaches.
static rnl_status limited_launches(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_function function = NULL;
    calls = 0;
    TRY(rnl_context_open("cpu", 0,
                         RNL_CONTEXT_OPTIONS(
                             .threads = 2,
                             .kernel_limit_ns = UINT64_C(60000000000)),
                         &context));
    TRY(rnl_stream_create(context, NULL, &stream));
    TRY(rnl_function_create_native(
        context, "counts", add_blocks,
        RNL_NATIVE_OPTIONS(.user_data = (void *)&calls), &function));
    TRY(rnl_enqueue_function(stream, function,
                             RNL_LAUNCH(.grid = {64}, .block = {1}), NULL));
    TRY(rnl_stream_cancel(stream));
    rnl_status ended = RNL_OK;
    if (stream)
        ended = rnl_stream_synchronize(stream, RNL_FOREVER);
    EXPECT(ended == RNL_ERROR_CANCELLED || calls == 64);
    RELEASE(rnl_function_release(function));
    RELEASE(rnl_stream_release(stream));
    RELEASE(rnl_context_release(context));
    return status;
}

const struct scenario work_scenarios[] = {
    {"values", value_life, NULL, {RNL_FEATURE_MEMORY_OPERATIONS}},
    {"host functions", host_function_life, NULL, {0}},
    {"launches", launch_life, NULL, {RNL_FEATURE_NATIVE_FUNCTIONS}},
    {"failures", failure_life, NULL, {RNL_FEATURE_NATIVE_FUNCTIONS}},
    {"occupancy", NULL, query_launch, {RNL_FEATURE_NATIVE_FUNCTIONS}},
    {"launches with attributes", NULL, attributed_launches,
     {RNL_FEATURE_NATIVE_FUNCTIONS, RNL_FEATURE_COOPERATIVE_LAUNCH}},
    {"wide launches", NULL, wide_launches, {RNL_FEATURE_NATIVE_FUNCTIONS}},
    {"crossed streams", NULL, crossed_streams, {0}},
    {"held work", NULL, held_work, {RNL_FEATURE_MEMORY_OPERATIONS}},
    {"reset streams", NULL, reset_streams, {RNL_FEATURE_NATIVE_FUNCTIONS}},
    {"cancelled waits", NULL, cancelled_waits,
     {RNL_FEATURE_CANCEL, RNL_FEATURE_MEMORY_OPERATIONS}},
    {"limited launches", limited_launches, NULL,
     {RNL_FEATURE_KERNEL_LIMIT, RNL_FEATURE_NATIVE_FUNCTIONS}},
    {0},
};
