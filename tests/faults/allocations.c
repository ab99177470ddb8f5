// Every object's life while memory runs out.
#include "sweep.h"

#include <stdatomic.h>

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
    TRY(rnl_stream_synchronize(stream, RNL_FOREVER));
    RELEASE(rnl_context_release(second));
    RELEASE(rnl_context_release(context));
    return status;
}

RNL_TEST(contexts_without_memory)
{
    sweep(context_life);
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

RNL_TEST(streams_without_memory)
{
    sweep(stream_life);
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

RNL_TEST(batched_streams_without_memory)
{
    sweep(batched_life);
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

RNL_TEST(timing_without_memory)
{
    sweep(timing_life);
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

RNL_TEST(events_without_memory)
{
    sweep(event_life);
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

static void need(rnl_feature feature, const char *what)
{
    rnl_context context = NULL;
    assert_ok(sweep_open(&context));
    rnl_status status = rnl_context_supports(context, feature, NULL);
    assert_ok(rnl_context_release(context));
    if (status != RNL_OK)
        test_skip("the device has no %s", what);
}

RNL_TEST(promises_without_memory)
{
    need(RNL_FEATURE_PROMISES, "promises");
    sweep(promise_life);
}

static _Atomic int deletions;

static void count_deletion(void *pointer, size_t size, void *user_data)
{
    (void)pointer;
    (void)size;
    (void)user_data;
    atomic_fetch_add(&deletions, 1);
}

static rnl_status buffer_life(void)
{
    static char memory[256];
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_buffer buffers[6] = {0};
    void *pointer = NULL;
    deletions = 0;
    TRY(sweep_open(&context));
    TRY(rnl_stream_create(context, NULL, &stream));
    // Later ones are made of this one's memory.
    TRY(rnl_buffer_create(context, 256, RNL_BUFFER_OPTIONS(.label = "kept"),
                          &buffers[0]));
    TRY(rnl_buffer_release(buffers[0]));
    buffers[0] = NULL;
    TRY(rnl_buffer_create(context, 256,
                          RNL_BUFFER_OPTIONS(.zeroed = true, .label = "b"),
                          &buffers[0]));
    TRY(rnl_buffer_create(context, 256,
                          RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_HOST),
                          &buffers[1]));
    TRY(rnl_enqueue_buffer_create(stream, 256,
                                  RNL_BUFFER_OPTIONS(.zeroed = true),
                                  &buffers[2]));
    TRY(rnl_buffer_slice(buffers[0], 64, 64, &buffers[3]));
    TRY(rnl_buffer_wrap(context, memory, sizeof memory,
                        RNL_WRAP_OPTIONS(.kind = RNL_MEMORY_HOST,
                                         .deleter = count_deletion,
                                         .label = "wrapped"), &buffers[4]));
    TRY(rnl_buffer_create(context, 0, NULL, &buffers[5]));
    bool wrapped = buffers[4] != NULL;
    TRY(rnl_buffer_set_release_stream(buffers[0], stream));
    TRY(rnl_buffer_map_and_wait(stream, buffers[0], RNL_MAP_READ_WRITE,
                                &pointer));
    EXPECT(pointer && ((char *)pointer)[255] == 0);
    TRY(rnl_buffer_unmap_and_wait(stream, buffers[0]));
    if (status == RNL_OK) {
        TRY(rnl_enqueue_buffer_release(stream, buffers[2]));
        if (status == RNL_OK)
            buffers[2] = NULL;
    }
    for (int i = 0; i < 6; i++)
        RELEASE(rnl_buffer_release(buffers[i]));
    RELEASE(rnl_stream_release(stream));
    RELEASE(rnl_context_release(context));
    sweep_expect_empty();
    if (deletions != (wrapped ? 1 : 0))
        sweep_wrong("the deleter runs once", __FILE__, __LINE__);
    return status;
}

RNL_TEST(buffers_without_memory)
{
    sweep(buffer_life);
}

static rnl_status raw_memory_life(void)
{
    static char memory[4096];
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    void *pointers[3] = {0};
    TRY(sweep_open(&context));
    for (int i = 0; i < 3; i++)
        TRY(rnl_host_allocate(context, 100, &pointers[i]));
    TRY(rnl_host_register(context, memory, sizeof memory));
    TRY(rnl_host_unregister(context, memory));
    for (int i = 0; i < 3; i++)
        if (pointers[i])
            RELEASE(rnl_host_free(context, pointers[i]));
    RELEASE(rnl_context_release(context));
    return status;
}

RNL_TEST(raw_host_memory_without_memory)
{
    sweep(raw_memory_life);
}

static rnl_status copy_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_buffer a = NULL, b = NULL;
    // Static: a copy may still be in flight when the scenario gives up.
    static int from[64], to[64];
    memset(to, 0, sizeof to);
    for (int i = 0; i < 64; i++)
        from[i] = i;
    TRY(sweep_open(&context));
    TRY(rnl_context_default_stream(context, &stream));
    TRY(rnl_buffer_create(context, sizeof from, NULL, &a));
    TRY(rnl_buffer_create(context, sizeof from, NULL, &b));
    rnl_copy copies[40];
    for (size_t i = 0; i < 40; i++)
        copies[i] = *RNL_COPY(.to = {.buffer = b, .offset = i * 4},
                              .from = {.buffer = a, .offset = i * 4},
                              .width = 4);
    TRY(rnl_enqueue_copy_to_buffer(stream, a, 0, from, sizeof from));
    TRY(rnl_enqueue_copy_batch(stream, copies, 40));
    TRY(rnl_enqueue_copy_buffer(stream, b, 160, a, 160, 64));
    TRY(rnl_enqueue_copy_region(
        stream, RNL_COPY(.to = {.buffer = b, .offset = 224},
                         .from = {.buffer = a, .offset = 224}, .width = 8,
                         .height = 4)));
    TRY(rnl_enqueue_fill(stream, b, 0, 8, 7, 4));
    TRY(rnl_enqueue_fill_region(
        stream, RNL_FILL(.to = {.buffer = b, .offset = 8}, .width = 4,
                         .height = 2, .pattern = 8, .pattern_size = 4)));
    TRY(rnl_copy_from_buffer_and_wait(stream, to, b, 0, sizeof to));
    EXPECT(to[0] == 7 && to[1] == 7 && to[2] == 8 && to[3] == 8);
    EXPECT(memcmp(to + 4, from + 4, sizeof from - 16) == 0);
    RELEASE(rnl_buffer_release(a));
    RELEASE(rnl_buffer_release(b));
    RELEASE(rnl_context_release(context));
    return status;
}

RNL_TEST(copies_and_fills_without_memory)
{
    sweep(copy_life);
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

RNL_TEST(values_without_memory)
{
    need(RNL_FEATURE_MEMORY_OPERATIONS, "stream memory operations");
    sweep(value_life);
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
    calls = 0;
    for (int i = 0; i < 100 && status == RNL_OK; i++) {
        TRY(rnl_enqueue_host_function(stream, count_call, NULL));
        accepted += status == RNL_OK;
    }
    rnl_status waited = stream ? rnl_stream_synchronize(stream, RNL_FOREVER)
                               : RNL_OK;
    if (waited == RNL_OK && calls != accepted)
        sweep_wrong("each accepted host function runs once", __FILE__,
                    __LINE__);
    RELEASE(rnl_context_release(context));
    return status == RNL_OK ? waited : status;
}

RNL_TEST(host_functions_without_memory)
{
    sweep(host_function_life);
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

static void need_native(void)
{
    need(RNL_FEATURE_NATIVE_FUNCTIONS, "native functions");
}

RNL_TEST(launches_without_memory)
{
    need_native();
    sweep(launch_life);
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
    rnl_status joined = RNL_OK;
    if (status == RNL_OK)
        joined = rnl_enqueue_wait_stream(second, first);
    if (joined == RNL_ERROR_OUT_OF_MEMORY && sweep_retries())
        joined = rnl_enqueue_wait_stream(second, first);
    if (status == RNL_OK) {
        rnl_status failed = rnl_stream_synchronize(first, RNL_FOREVER);
        if (failed != RNL_ERROR_LAUNCH_FAILED)
            sweep_wrong("the first stream fails", __FILE__, __LINE__);
        if (rnl_last_error()->status != RNL_ERROR_LAUNCH_FAILED)
            sweep_wrong("the failure is recorded", __FILE__, __LINE__);
        failed = rnl_stream_synchronize(second, RNL_FOREVER);
        if (joined == RNL_OK && failed != RNL_ERROR_DEPENDENCY_FAILED)
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

RNL_TEST(failures_without_memory)
{
    need_native();
    sweep(failure_life);
}

// --- Modules ---------------------------------------------------------------

static const char source[] =
    "__constant__ int factor;\n"
    "__device__ int total;\n"
    "extern \"C\" __global__ void scale(int *data, int count) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < count) data[i] *= factor;\n"
    "}\n";

static rnl_status module_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_module module = NULL, again = NULL;
    rnl_function function = NULL;
    rnl_buffer buffer = NULL, total = NULL;
    const void *data = NULL;
    size_t size = 0;
    static int values[4];
    int factor = 6;
    for (int i = 0; i < 4; i++)
        values[i] = i + 1;
    const rnl_constant constant = {"factor", &factor, sizeof factor};
    TRY(sweep_open(&context));
    TRY(rnl_context_default_stream(context, &stream));
    TRY(rnl_module_compile(context, source, NULL, &module));
    TRY(rnl_module_binary(module, &data, &size));
    TRY(rnl_module_load(context, data, size, "again", &again));
    TRY(rnl_module_function(again, "scale", &function));
    TRY(rnl_module_global(again, "total", &total));
    TRY(rnl_buffer_create(context, sizeof values, NULL, &buffer));
    TRY(rnl_copy_to_buffer_and_wait(stream, buffer, 0, values,
                                    sizeof values));
    TRY(rnl_enqueue_function(stream, function,
                             RNL_LAUNCH(.grid = {1}, .block = {4},
                                        .constants = &constant,
                                        .constant_count = 1),
                             RNL_ARGS(buffer, 4)));
    TRY(rnl_copy_from_buffer_and_wait(stream, values, buffer, 0,
                                      sizeof values));
    EXPECT(values[3] == 24);
    RELEASE(rnl_buffer_release(buffer));
    RELEASE(rnl_buffer_release(total));
    RELEASE(rnl_function_release(function));
    RELEASE(rnl_module_release(again));
    RELEASE(rnl_module_release(module));
    RELEASE(rnl_context_release(context));
    return status;
}

static void need_compiler(void)
{
    const char *reason = NULL;
    rnl_context context = NULL;
    assert_ok(sweep_open(&context));
    rnl_status status =
        rnl_context_supports(context, RNL_FEATURE_COMPILE, &reason);
    assert_ok(rnl_context_release(context));
    if (status != RNL_OK)
        test_skip("%s", reason);
}

RNL_TEST(modules_without_memory)
{
    need_compiler();
    sweep(module_life);
}

static rnl_status one_step_life(void)
{
    static const char *const names[] = {"-DX=1"};
    static const char template_source[] =
        "template <int N> __global__ void put(int *p) { *p = N; }\n";
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_function first = NULL, second = NULL;
    rnl_buffer buffer = NULL;
    static int value;
    const rnl_module_options *options =
        RNL_MODULE_OPTIONS(.options = names, .option_count = 1);
    TRY(sweep_open(&context));
    TRY(rnl_context_default_stream(context, &stream));
    TRY(rnl_buffer_create(context, 4, NULL, &buffer));
    TRY(rnl_function_compile(context, template_source, "put<5>", options,
                             &first));
    TRY(rnl_function_compile(context, template_source, "put<5>", options,
                             &second));
    TRY(rnl_enqueue_function(stream, second,
                             RNL_LAUNCH(.grid = {1}, .block = {1}),
                             RNL_ARGS(buffer)));
    TRY(rnl_copy_from_buffer_and_wait(stream, &value, buffer, 0, 4));
    EXPECT(value == 5);
    RELEASE(rnl_buffer_release(buffer));
    RELEASE(rnl_function_release(first));
    RELEASE(rnl_function_release(second));
    RELEASE(rnl_context_release(context));
    return status;
}

RNL_TEST(one_step_compiles_without_memory)
{
    need_compiler();
    sweep(one_step_life);
}

// The compiler's complaint is whole, or the call says that memory was short.
static rnl_status broken_source_life(void)
{
    rnl_status status = RNL_OK;
    rnl_context context = NULL;
    rnl_module module = NULL;
    TRY(sweep_open(&context));
    if (status == RNL_OK) {
        rnl_status compiled =
            rnl_module_compile(context, "int x = ;\n", NULL, &module);
        if (compiled == RNL_ERROR_OUT_OF_MEMORY && sweep_retries())
            compiled =
                rnl_module_compile(context, "int x = ;\n", NULL, &module);
        status = compiled == RNL_ERROR_COMPILE_FAILED ? RNL_OK : compiled;
        EXPECT(!module);
        const char *log = rnl_last_error()->log;
        EXPECT(log && strstr(log, "kernel.cu:1:") && strstr(log, "^"));
    }
    RELEASE(rnl_context_release(context));
    return status;
}

RNL_TEST(compile_errors_without_memory)
{
    need_compiler();
    sweep(broken_source_life);
}
