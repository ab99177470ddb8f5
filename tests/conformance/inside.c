// Every public function inside a callback: a host function, a native kernel and
// a deleter. Each call is refused, says its name, and writes no result; but
// host functions and deleters may release.
#include "handles.h"

#include <stdio.h>

// --- Functions without a handle parameter ----------------------------------

static rnl_status visit_nothing(const rnl_cache_entry *entry, void *user_data)
{
    (void)entry, (void)user_data;
    return RNL_OK;
}

static rnl_status cache_info(void *handle)
{
    (void)handle;
    rnl_cache_info info = {.struct_size = sizeof info};
    return rnl_cache_get_info(&info);
}

#define CALL_ALONE(name, call)               \
    static rnl_status name(void *handle)     \
    {                                        \
        (void)handle;                        \
        return call;                         \
    }
CALL_ALONE(device_count, rnl_device_count("cpu", &(size_t){0}))
CALL_ALONE(device_get, rnl_device_get("cpu", 0, &with.out.device))
CALL_ALONE(device_default, rnl_device_default(&with.out.device))
CALL_ALONE(api_name, rnl_api_name(0, &with.out.text))
CALL_ALONE(api_reason, rnl_api_reason("cpu", &with.out.text))
CALL_ALONE(has_accelerator, rnl_has_accelerator(&with.out.flag))
CALL_ALONE(context_open, rnl_context_open("cpu", 0, NULL, &with.out.context))
CALL_ALONE(trim, rnl_trim(&(size_t){0}))
CALL_ALONE(allocator_set, rnl_allocator_set(NULL))
CALL_ALONE(log_set, rnl_log_set(NULL, RNL_LOG_ERROR, NULL))
CALL_ALONE(exchange_mode,
           rnl_capture_exchange_mode(&(rnl_capture_mode){0}))
CALL_ALONE(cache_visit, rnl_cache_visit(visit_nothing, NULL))
CALL_ALONE(cache_prune, rnl_cache_prune(0, NULL, NULL))

static const struct row alone[] = {
    {"rnl_device_count", NULL, KINDS, device_count, 0, 0},
    {"rnl_device_get", NULL, KINDS, device_get, 0, 0},
    {"rnl_device_default", NULL, KINDS, device_default, 0, 0},
    {"rnl_api_name", NULL, KINDS, api_name, 0, 0},
    {"rnl_api_reason", NULL, KINDS, api_reason, 0, 0},
    {"rnl_has_accelerator", NULL, KINDS, has_accelerator, 0, 0},
    {"rnl_context_open", NULL, KINDS, context_open, 0, 0},
    {"rnl_trim", NULL, KINDS, trim, 0, 0},
    {"rnl_allocator_set", NULL, KINDS, allocator_set, 0, 0},
    {"rnl_log_set", NULL, KINDS, log_set, 0, 0},
    {"rnl_capture_exchange_mode", NULL, KINDS, exchange_mode, 0, 0},
    {"rnl_cache_get_info", NULL, KINDS, cache_info, 0, 0},
    {"rnl_cache_visit", NULL, KINDS, cache_visit, 0, 0},
    {"rnl_cache_prune", NULL, KINDS, cache_prune, 0, 0},
};
enum { ALONE = sizeof alone / sizeof alone[0] };

// --- Cells -----------------------------------------------------------------

static struct {
    bool may_release;
    int calls;
    char wrong[256];  // the first call that was not refused as it must be
} told;

static bool is_release(const struct row *row)
{
    const char *last = strrchr(row->function, '_');
    return !strcmp(last, "_release") &&
           strncmp(row->function, "rnl_enqueue_", 12) != 0;
}

// Runs on threads of the library, where no assertion may end the test.
static void try_row(const struct row *row, void *handle)
{
    rnl_last_error_clear();
    bool released = told.may_release && is_release(row);
    rnl_status status = row->call(released ? NULL : handle);
    const rnl_error *error = rnl_last_error();
    told.calls++;
    if (told.wrong[0] || (released && status == RNL_OK))
        return;
    if (status != RNL_ERROR_NOT_PERMITTED || error->status != status)
        snprintf(told.wrong, sizeof told.wrong, "%s gave %s: %s",
                 row->function, rnl_status_name(status), error->message);
    else if (!error->function || strcmp(error->function, row->function) ||
             strncmp(error->message, row->function, strlen(row->function)))
        snprintf(told.wrong, sizeof told.wrong, "%s was called %s: %s",
                 row->function, error->function, error->message);
}

static void try_everything(rnl_status status, void *user_data)
{
    (void)status, (void)user_data;
    void *const handles[KINDS + 1] = {
        with.device, with.context, with.stream, with.event, with.buffer,
        with.module, with.function, with.graph, with.exec, with.node, NULL};
    for (int i = 0; i < row_count(); i++)
        try_row(row_at(i), handles[row_at(i)->kind]);
    for (int i = 0; i < ALONE; i++)
        try_row(&alone[i], NULL);
    rnl_last_error_clear();
}

static void begin(bool may_release)
{
    memset(&told, 0, sizeof told);
    told.may_release = may_release;
    prepare_handles();
}

static void end(void)
{
    if (told.wrong[0])
        fail_msg("inside a callback: %s", told.wrong);
    assert_int_equal(told.calls, row_count() + ALONE);
    for (size_t i = 0; i < 64; i++)
        assert_true(with.out.bits[i] == 0x5a5a5a5a5a5a5a5a);
    finish_handles();
}

RNL_TEST(a_host_function_may_only_release)
{
    begin(true);
    expect_ok(rnl_enqueue_host_function(with.stream, try_everything, NULL));
    expect_ok(rnl_stream_synchronize(with.stream, RNL_FOREVER));
    end();
}

static rnl_status try_natively(const rnl_native_call *call)
{
    (void)call;
    try_everything(RNL_OK, NULL);
    return RNL_OK;
}

RNL_TEST(every_call_is_refused_in_a_native_kernel)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    begin(false);
    rnl_function function = suite_native("nosy", try_natively, NULL);
    expect_ok(rnl_enqueue_function(with.stream, function,
                                   RNL_LAUNCH(.grid = {1}, .block = {1}),
                                   RNL_NO_ARGS));
    expect_ok(rnl_stream_synchronize(with.stream, RNL_FOREVER));
    end();
    expect_ok(rnl_function_release(function));
}

static void try_in_deleter(void *pointer, size_t size, void *user_data)
{
    (void)pointer, (void)size;
    try_everything(RNL_OK, user_data);
}

RNL_TEST(a_deleter_may_only_release)
{
    begin(true);
    rnl_buffer wrapped;
    expect_ok(rnl_buffer_wrap(with.context, with.host, 64,
                              RNL_WRAP_OPTIONS(.deleter = try_in_deleter),
                              &wrapped));
    expect_ok(rnl_buffer_release(wrapped));
    end();
}
