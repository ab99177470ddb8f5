// core/backend: the validator refuses every illegal table.
#include "unit.h"

#include "backends/null/null.h"
#include "core/context/library.h"

#include <string.h>
#include <unistd.h>

static const struct backend *const null_table[] = {&null_backend, NULL};

RNL_TEST(the_null_backend_is_legal)
{
    assert_null(backend_check(&null_backend));
}

RNL_TEST(every_built_in_backend_is_legal)
{
    size_t count = 0;
    for (; backends[count]; count++)
        assert_null(backend_check(backends[count]));
    assert_true(count >= 1);
    assert_string_equal(backends[count - 1]->api, "cpu");
}

#define HOOKS(X)                                                             \
    X(device_count) X(device_info) X(context_init)                 \
    X(context_finish) X(context_memory) X(feature_reason) X(stream_init)     \
    X(stream_finish) X(stream_submit) X(stream_wait)                         \
    X(stream_join) X(event_init) X(event_finish) X(event_record)             \
    X(event_join) X(event_query) X(event_wait) X(memory_allocate)            \
    X(memory_free) X(host_register)

RNL_TEST(a_missing_hook_is_named)
{
#define WITHOUT(hook)                                        \
    do {                                                     \
        struct backend broken = null_backend;                \
        broken.hook = NULL;                                  \
        const char *message = backend_check(&broken);        \
        assert_non_null(message);                            \
        assert_non_null(strstr(message, #hook));             \
    } while (0);
    HOOKS(WITHOUT)
#undef WITHOUT
}

// `change` breaks one rule of a legal table.
#define REFUSED(change)                          \
    do {                                         \
        struct backend broken = null_backend;    \
        change;                                  \
        const char *why = backend_check(&broken); \
        assert_non_null(why);                    \
        assert_true(strlen(why) >= 12);          \
    } while (0)

RNL_TEST(another_abi_is_refused)
{
    REFUSED(broken.abi = BACKEND_ABI + 1);
    REFUSED(broken.abi = 0);
}

RNL_TEST(bad_api_names_are_refused)
{
    REFUSED(broken.api = NULL);
    REFUSED(broken.api = "");
    REFUSED(broken.api = "sixteen_letters_");
    REFUSED(broken.api = "gpu");
}

RNL_TEST(a_feature_of_number_zero_is_refused)
{
    REFUSED(broken.features |= 1u);
}

static rnl_status some_event_elapsed(struct event *start, struct event *end,
                                     struct event **out_wrong,
                                     int64_t *out_ns)
{
    (void)start;
    (void)end;
    (void)out_wrong;
    (void)out_ns;
    return RNL_OK;
}

static rnl_status some_peer_access(struct context *context,
                                   struct context *peer,
                                   enum peer_call call)
{
    (void)call;
    return context == peer ? RNL_OK : RNL_ERROR_UNSUPPORTED;
}

static const char *some_module_kernel(struct module *module, size_t index)
{
    (void)module;
    (void)index;
    return NULL;
}

static rnl_status some_module_code(struct module *module, rnl_code_kind kind,
                                   const void **out_data, size_t *out_size)
{
    (void)module;
    (void)kind;
    (void)out_data;
    (void)out_size;
    return RNL_OK;
}

RNL_TEST(features_and_hooks_agree)
{
    REFUSED(broken.features |= BACKEND_FEATURE(RNL_FEATURE_COMPILE));
    REFUSED(broken.module_kernel = some_module_kernel);
    REFUSED(broken.module_code = some_module_code);
    REFUSED((broken.features |= BACKEND_FEATURE(RNL_FEATURE_EVENT_TIMING),
             broken.event_elapsed = NULL));
    REFUSED((broken.features &= ~BACKEND_FEATURE(RNL_FEATURE_EVENT_TIMING),
             broken.event_elapsed = some_event_elapsed));
    REFUSED(broken.peer_access = some_peer_access);
    REFUSED(broken.features |= BACKEND_FEATURE(RNL_FEATURE_NATIVE_HANDLES));
    REFUSED(broken.features |= BACKEND_FEATURE(RNL_FEATURE_PEER_ACCESS));
    REFUSED(broken.features |= BACKEND_FEATURE(RNL_FEATURE_CANCEL));
    REFUSED(broken.features |= BACKEND_FEATURE(RNL_FEATURE_INTERPROCESS));
    REFUSED(broken.features |=
            BACKEND_FEATURE(RNL_FEATURE_INTERPROCESS_MEMORY));
    REFUSED((broken.accelerator = true,
             broken.features |=
             BACKEND_FEATURE(RNL_FEATURE_NATIVE_FUNCTIONS)));
}

RNL_TEST(a_library_with_an_illegal_table_does_not_open)
{
    struct backend broken = null_backend;
    broken.stream_wait = NULL;
    const struct backend *const table[] = {&broken, NULL};
    size_t count = 77;
    assert_int_equal(library_reopen(table), RNL_ERROR_INTERNAL);
    assert_int_equal(rnl_device_count(NULL, &count), RNL_ERROR_INTERNAL);
    assert_int_equal(count, 77);
    assert_non_null(strstr(rnl_last_error()->message, "stream_wait"));
    // And opens again with a legal one.
    assert_ok(library_reopen(null_table));
    assert_ok(rnl_device_count(NULL, &count));
    assert_int_equal(count, 1);
}

RNL_TEST(the_table_has_at_most_46_hooks)
{
    size_t data = offsetof(struct backend, device_count);
    size_t hooks = (sizeof(struct backend) - data) / sizeof(void (*)(void));
    assert_true(hooks <= 46);
}

RNL_TEST(the_core_runs_on_the_null_backend)
{
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    rnl_event event = NULL;
    rnl_buffer buffer = NULL;
    const char *reason = NULL;
    assert_ok(library_reopen(null_table));
    assert_ok(rnl_context_open("null", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    assert_ok(rnl_enqueue_event(stream, NULL, &event));
    assert_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    assert_ok(rnl_enqueue_fill(stream, buffer, 0, 64, 0, 1));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_status(rnl_context_supports(context, RNL_FEATURE_COMPILE, &reason),
                  RNL_ERROR_UNSUPPORTED);
    assert_true(reason && strlen(reason) > 8);
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_event_release(event));
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(context));
    size_t held = 1;
    assert_ok(rnl_trim(&held));
    assert_int_equal(held, 0);
    assert_int_equal(null_live(), 0);
}

RNL_TEST(what_a_backend_lacks_is_unsupported)
{
    rnl_context context = NULL, other = NULL;
    rnl_module module = NULL;
    rnl_function function = NULL;
    rnl_event event = NULL;
    rnl_buffer buffer = NULL;
    bool can = true;
    void *pointer = NULL;
    assert_ok(library_reopen(null_table));
    assert_ok(rnl_context_open("null", 0, NULL, &context));
    assert_ok(rnl_context_open("null", 0, NULL, &other));
    assert_status(rnl_module_compile(context, "", NULL, &module),
                  RNL_ERROR_UNSUPPORTED);
    assert_status(rnl_module_load(context, "x", 1, NULL, &module),
                  RNL_ERROR_UNSUPPORTED);
    assert_status(rnl_function_compile(context, "", "f", NULL, &function),
                  RNL_ERROR_UNSUPPORTED);
    assert_status(rnl_event_create(context, RNL_EVENT_OPTIONS(.timing = true),
                                   &event), RNL_ERROR_UNSUPPORTED);
    assert_status(rnl_event_create(context,
                                   RNL_EVENT_OPTIONS(.promise = true),
                                   &event), RNL_ERROR_UNSUPPORTED);
    assert_status(rnl_buffer_create(
                      context, 64,
                      RNL_BUFFER_OPTIONS(.kind = RNL_MEMORY_MANAGED),
                      &buffer), RNL_ERROR_UNSUPPORTED);
    assert_ok(rnl_context_can_access_peer(context, other, &can));
    assert_false(can);
    assert_status(rnl_context_enable_peer(context, other),
                  RNL_ERROR_UNSUPPORTED);
    assert_ok(rnl_buffer_create(context, 64, NULL, &buffer));
    assert_status(rnl_buffer_host_pointer(buffer, &pointer),
                  RNL_ERROR_UNSUPPORTED);
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_context_release(context));
    assert_ok(rnl_context_release(other));
    assert_true(!module && !function && !event && !pointer);
    assert_ok(rnl_trim(NULL));
}

// In the child another thread would be gone with what it had done so far.
static int child_status = -1;

static size_t count_two(const char **out_reason)
{
    (void)out_reason;
    return 2;
}

static rnl_status fork_at_the_second(uint32_t index, rnl_device_info *info)
{
    static bool forked;
    size_t count;
    if (index == 1 && !forked) {
        forked = true;
        pid_t child = test_fork();
        if (child == 0)
            test_exit(rnl_device_count("null", &count) || count != 2);
        child_status = test_wait(child);
    }
    return null_backend.device_info(index, info);
}

RNL_TEST(a_library_that_a_fork_found_half_open_is_opened_anew)
{
    static struct backend forking;
    static const struct backend *const forking_table[] = {&forking, NULL};
    forking = null_backend;
    forking.device_count = count_two;
    forking.device_info = fork_at_the_second;
    assert_ok(library_reopen(forking_table));
    assert_int_equal(child_status, 0);
}

static void *open_and_fork(void *unused)
{
    rnl_context context;
    size_t bytes;
    assert_ok(rnl_context_open("null", 0, NULL, &context));
    pid_t child = test_fork();
    if (child == 0)
        test_exit(rnl_context_memory(context, &bytes, &bytes) !=
              RNL_ERROR_FORKED);
    child_status = test_wait(child);
    assert_ok(rnl_context_release(context));
    return unused;
}

RNL_TEST(nothing_is_opened_that_would_not_be_told_of_forks)
{
    thread_fail_next(0, 1);
    assert_status(library_reopen(null_table), RNL_ERROR_OUT_OF_MEMORY);
    open_and_fork(NULL);
    assert_int_equal(child_status, 0);
}

static void fork_in_another_thread(void)
{
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, open_and_fork, NULL), 0);
    pthread_join(thread, NULL);
}

// It does not rely on one that has only begun to ask for that.
RNL_TEST(another_thread_is_told_of_its_fork)
{
    thread_hold_next("fork", fork_in_another_thread);
    assert_ok(library_reopen(null_table));
    assert_int_equal(child_status, 0);
}
