#include "suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

static rnl_context context;

// In the place of its default stream, when the suite runs batched.
static rnl_stream batched_default;

// What the library held when the test began: more than nothing only when all
// tests run in one process and one before this failed.
static size_t baseline;

// --- The device under test -------------------------------------------------

const char *suite_api(void)
{
    static _Thread_local char api[16];
    const char *name = test_device_name();
    snprintf(api, sizeof api, "%.*s", (int)strcspn(name, ":"), name);
    return api;
}

size_t suite_index(void)
{
    const char *colon = strchr(test_device_name(), ':');
    return colon ? strtoul(colon + 1, NULL, 10) : 0;
}

bool suite_is_cpu(void)
{
    return !strcmp(suite_api(), "cpu");
}

bool suite_is_hip(void)
{
    return !strcmp(suite_api(), "hip");
}

rnl_device suite_device(void)
{
    rnl_device device = NULL;
    expect_ok(rnl_device_get(suite_api(), suite_index(), &device));
    return device;
}

rnl_context suite_open(const rnl_context_options *options)
{
    rnl_context opened = NULL;
    expect_ok(rnl_context_open(suite_api(), suite_index(), options, &opened));
    return opened;
}

rnl_context suite_context(void)
{
    if (!context)
        context = suite_open(NULL);
    return context;
}

rnl_stream suite_stream(void)
{
    rnl_stream stream = NULL;
    if (suite_is_batched() && !batched_default)
        expect_ok(rnl_stream_create(
            suite_context(),
            RNL_STREAM_OPTIONS(.flags = RNL_STREAM_BATCHED,
                               .label = "default"), &batched_default));
    if (batched_default)
        return batched_default;
    expect_ok(rnl_context_default_stream(suite_context(), &stream));
    return stream;
}

bool suite_is_batched(void)
{
    return getenv("RUNNEL_TEST_BATCHED") != NULL;
}

rnl_stream suite_new_stream(void)
{
    rnl_stream stream = NULL;
    rnl_stream_flags flags = suite_is_batched() ? RNL_STREAM_BATCHED : 0;
    expect_ok(rnl_stream_create(suite_context(),
                                RNL_STREAM_OPTIONS(.flags = flags), &stream));
    return stream;
}

rnl_event suite_new_event(void)
{
    rnl_event event = NULL;
    expect_ok(rnl_event_create(suite_context(), NULL, &event));
    return event;
}

rnl_buffer suite_new_buffer(size_t size)
{
    rnl_buffer buffer = NULL;
    expect_ok(rnl_buffer_create(suite_context(), size, NULL, &buffer));
    return buffer;
}

bool suite_driver_is_old(void)
{
    rnl_device device = NULL;
    rnl_device_info info = {.struct_size = sizeof info};
    if (suite_is_cpu())
        return false;
    assert_ok(rnl_context_device(suite_context(), &device));
    assert_ok(rnl_device_get_info(device, &info));
    return info.driver_version < (suite_is_hip() ? 70100000 : 12040);
}

rnl_status suite_unless_old(rnl_status status)
{
    char reason[256];
    if (status != RNL_ERROR_UNSUPPORTED || gettid() != getpid())
        return status;
    snprintf(reason, sizeof reason, "%s", rnl_last_error()->message);
    bool says_so = strstr(reason, "too old") || strstr(reason, "need driver");
    if (strstr(reason, "HIP has no ") || (says_so && suite_driver_is_old()))
        test_skip("%s: %s", test_device_name(), reason);
    return status;
}

void suite_need(rnl_feature feature)
{
    const char *reason = NULL;
    if (rnl_context_supports(suite_context(), feature, &reason) != RNL_OK)
        test_skip("%s: %s", test_device_name(), reason);
}

rnl_function suite_compile(const char *source, const char *name)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_function function = NULL;
    rnl_status status = rnl_function_compile(suite_context(), source, name,
                                             NULL, &function);
    if (status != RNL_OK && rnl_last_error()->log)
        print_error("%s\n", rnl_last_error()->log);
    expect_ok(status);
    return function;
}

rnl_module suite_module(const char *source)
{
    suite_need(RNL_FEATURE_COMPILE);
    rnl_module module = NULL;
    rnl_status status =
        rnl_module_compile(suite_context(), source, NULL, &module);
    if (status != RNL_OK && rnl_last_error()->log)
        print_error("%s\n", rnl_last_error()->log);
    expect_ok(status);
    return module;
}

rnl_function suite_native(const char *name, rnl_native_fn native,
                          void *user_data)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(
        suite_context(), name, native,
        RNL_NATIVE_OPTIONS(.user_data = user_data), &function));
    return function;
}

// --- Begin and end ---------------------------------------------------------

// A test before this one in the same process was skipped or failed.
static void clean_up_after_another(void)
{
    assert_status(rnl_stream_release(batched_default), RNL_OK);
    assert_status(rnl_context_release(context), RNL_OK);
    batched_default = NULL;
    context = NULL;
    baseline = test_held(0);
}

void suite_begin(const char *test)
{
    if (context)
        clean_up_after_another();
    for (size_t i = 0; i < suite_profile_count; i++) {
        const struct profile_entry *entry = &suite_profile[i];
        if (!strcmp(entry->api, suite_api()) && !strcmp(entry->test, test))
            test_skip("%s %s: %s", entry->api,
                      entry->expected_failure ? "is expected to fail this"
                                              : "cannot do this",
                      entry->reason);
    }
}

void suite_end(void)
{
    expect_ok(rnl_stream_release(batched_default));
    if (context)
        expect_ok(rnl_context_release(context));
    batched_default = NULL;
    context = NULL;
    suite_expect_empty();
}

void suite_expect_empty(void)
{
    size_t held = test_held(baseline);
    if (held > baseline)
        fail_msg("%zu bytes are still held after everything was released",
                 held);
}

// --- Buffers ---------------------------------------------------------------

rnl_buffer suite_buffer_on(rnl_stream stream, size_t size)
{
    rnl_buffer buffer;
    expect_ok(rnl_enqueue_buffer_create(stream, size, NULL, &buffer));
    return buffer;
}

void *suite_address(rnl_buffer buffer)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    expect_ok(rnl_buffer_get_info(buffer, &info));
    return info.device_address;
}

rnl_pool_stats suite_pool_stats(rnl_context of)
{
    rnl_pool_stats stats = {.struct_size = sizeof stats};
    expect_ok(rnl_context_pool_stats(of, &stats));
    return stats;
}

// --- Bytes -----------------------------------------------------------------

void suite_upload(rnl_buffer buffer, const void *bytes, size_t size)
{
    expect_ok(
        rnl_copy_to_buffer_and_wait(suite_stream(), buffer, 0, bytes, size));
}

void suite_download(void *bytes, rnl_buffer buffer, size_t size)
{
    expect_ok(
        rnl_copy_from_buffer_and_wait(suite_stream(), bytes, buffer, 0, size));
}

rnl_buffer suite_ints(size_t count, int value)
{
    rnl_buffer buffer = suite_new_buffer(count * sizeof(int));
    expect_ok(rnl_fill_and_wait(suite_stream(), buffer, 0, count * sizeof(int),
                                (uint32_t)value, sizeof(int)));
    return buffer;
}

void suite_expect_ints(rnl_buffer buffer, size_t count, int value)
{
    int *ints = calloc(count, sizeof *ints);
    assert_non_null(ints);
    suite_download(ints, buffer, count * sizeof *ints);
    for (size_t i = 0; i < count; i++)
        if (ints[i] != value)
            fail_msg("element %zu is %d, not %d", i, ints[i], value);
    free(ints);
}

// --- Expectations ----------------------------------------------------------

static bool starts_with(const char *text, const char *start)
{
    return text && !strncmp(text, start, strlen(start));
}

static bool is_sentence(const char *text)
{
    return text && strlen(text) >= 12 && strchr(text, ' ') &&
           text[strlen(text) - 1] != '\n';
}

void suite_expect_error(rnl_status status, rnl_status expected,
                        const char *call, const char *parameter,
                        const char *file, int line)
{
    test_status(status, expected, call, file, line);
    const rnl_error *error = rnl_last_error();
    const char *wrong = NULL;
    size_t name = strcspn(call, "(");
    if (error->status != expected)
        wrong = "rnl_last_error() has another status";
    else if (!is_sentence(error->message))
        wrong = "the message is no sentence";
    else if (!strncmp(call, "rnl_", 4) &&
             (!error->function || strlen(error->function) != name ||
              strncmp(error->function, call, name)))
        wrong = "rnl_last_error() names another function";
    else if (parameter && !starts_with(error->parameter, parameter))
        wrong = "rnl_last_error() names another parameter";
    if (!wrong)
        return;
    print_error("%s\n    %s: %s, function %s, parameter %s (expected %s)\n"
                "    message: %s\n",
                call, wrong, rnl_status_name(error->status),
                error->function ? error->function : "-",
                error->parameter ? error->parameter : "-",
                parameter ? parameter : "any",
                error->message ? error->message : "-");
    _fail(file, line);
}

// --- Gates -----------------------------------------------------------------

// Lives on the heap: a test that fails leaves its gate shut, and used.
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned entered, expected;
    bool open;
    rnl_function function;
};

static void gate_pass(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->entered++;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_host(rnl_status status, void *user_data)
{
    (void)status;
    gate_pass(user_data);
}

static rnl_status gate_native(const rnl_native_call *call)
{
    for (uint64_t i = 0; i < call->block_count; i++)
        gate_pass(call->user_data);
    return RNL_OK;
}

static struct gate *gate_create(unsigned expected)
{
    struct gate *gate = calloc(1, sizeof *gate);
    assert_non_null(gate);
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
    gate->expected = expected;
    return gate;
}

struct gate *gate_shut(rnl_stream stream)
{
    struct gate *gate = gate_create(1);
    expect_ok(rnl_enqueue_host_function(stream, gate_host, gate));
    expect_ok(rnl_stream_flush(stream));
    return gate;
}

struct gate *gate_block_workers(rnl_stream stream, uint32_t blocks)
{
    rnl_stream_info info = {.struct_size = sizeof info};
    expect_ok(rnl_stream_get_info(stream, &info));
    struct gate *gate = gate_create(blocks);
    expect_ok(rnl_function_create_native(
        info.context, "gate", gate_native,
        RNL_NATIVE_OPTIONS(.user_data = gate), &gate->function));
    expect_ok(rnl_enqueue_function(
        stream, gate->function, RNL_LAUNCH(.grid = {blocks}, .block = {1}),
        RNL_NO_ARGS));
    expect_ok(rnl_stream_flush(stream));
    expect_ok(rnl_function_release(gate->function));
    return gate;
}

void gate_wait_entered(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->entered < gate->expected)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

void gate_free(struct gate *gate)
{
    // Its function has signalled, but may still hold the lock.
    pthread_mutex_lock(&gate->lock);
    pthread_mutex_unlock(&gate->lock);
    pthread_mutex_destroy(&gate->lock);
    pthread_cond_destroy(&gate->changed);
    free(gate);
}

void count_host_call(rnl_status status, void *user_data)
{
    struct host_calls *calls = user_data;
    atomic_store(&calls->status, (int)status);
    atomic_fetch_add(&calls->count, 1);
}

// --- Other processes -------------------------------------------------------

bool suite_is_child(void)
{
    return getenv("RUNNEL_TEST_CHILD") != NULL;
}

int suite_spawn(const char *child, const char *const *environment)
{
    pid_t pid = test_fork();
    if (pid == 0) {
        setenv("RUNNEL_TEST_CHILD", "1", 1);
        for (; environment && *environment; environment++)
            putenv((char *)*environment);
        execl("/proc/self/exe", "suite", child, (char *)NULL);
        _exit(127);
    }
    int status = test_wait(pid);
    if (status == TEST_SKIPPED)
        test_skip("%s skips it", child);
    return status;
}

int suite_fork(int (*body)(void))
{
    pid_t pid = test_fork();
    if (pid == 0)
        _exit(body());
    return test_wait(pid);
}
