// core/backend: hooks that go together, one left out or alone; and what calls
// say on a backend that has few.
#include "unit.h"

#include "backends/null/null.h"
#include "core/context/library.h"

#include <stdio.h>
#include <string.h>

static const struct backend *const null_table[] = {&null_backend, NULL};

// Any address will do: a table that is refused is not called.
static void some_hook(void)
{
}

#define PUT(table, name) \
    ((table)->name = (__typeof__((table)->name))some_hook)

#define MODULE_HOOKS(X)                                          \
    X(compiler_identity) X(module_compile) X(module_init)        \
    X(module_finish) X(module_global) X(module_kernel)           \
    X(module_code)                                               \
    X(function_init) X(function_finish)

static struct backend with_modules(void)
{
    struct backend all = null_backend;
#define GIVE(hook) PUT(&all, hook);
    MODULE_HOOKS(GIVE)
#undef GIVE
    return all;
}

RNL_TEST(module_hooks_are_all_or_none)
{
    struct backend all = with_modules();
    assert_null(backend_check(&all));
    all.features |= BACKEND_FEATURE(RNL_FEATURE_COMPILE);
    assert_null(backend_check(&all));
#define TRY(hook)                                                       \
    do {                                                                \
        struct backend without = with_modules(), alone = null_backend;  \
        without.hook = NULL;                                            \
        assert_non_null(strstr(backend_check(&without), "all or none")); \
        without.features |= BACKEND_FEATURE(RNL_FEATURE_COMPILE);       \
        assert_non_null(strstr(backend_check(&without), "every"));      \
        PUT(&alone, hook);                                              \
        assert_non_null(strstr(backend_check(&alone), "all or none"));  \
    } while (0);
    MODULE_HOOKS(TRY)
#undef TRY
}

// Each feature with its hook: both are legal, either one alone is not.
RNL_TEST(a_feature_and_its_hook_go_together)
{
#define PAIR(feature, hook)                                             \
    do {                                                                \
        struct backend table = null_backend;                            \
        table.features &= ~BACKEND_FEATURE(RNL_FEATURE_##feature);      \
        table.hook = NULL;                                              \
        assert_null(backend_check(&table));                             \
        PUT(&table, hook);                                              \
        assert_non_null(strstr(backend_check(&table), #feature));       \
        table.features |= BACKEND_FEATURE(RNL_FEATURE_##feature);       \
        assert_null(backend_check(&table));                             \
        table.hook = NULL;                                              \
        assert_non_null(strstr(backend_check(&table), #feature));       \
    } while (0)
    PAIR(EVENT_TIMING, event_elapsed);
    PAIR(PROMISES, event_break);
    PAIR(CANCEL, stream_cancel);
    PAIR(PEER_ACCESS, peer_access);
    PAIR(MEMORY_HINTS, memory_advise);
    PAIR(NATIVE_HANDLES, native);
#undef PAIR
}

RNL_TEST(graphs_and_cooperative_launches_need_their_hooks)
{
    struct backend table = null_backend;
    table.features &= ~BACKEND_FEATURE(RNL_FEATURE_GRAPHS);
    PUT(&table, exec_init);
    PUT(&table, exec_finish);
    PUT(&table, exec_change);
    assert_non_null(strstr(backend_check(&table), "GRAPHS"));
    table.features |= BACKEND_FEATURE(RNL_FEATURE_GRAPHS);
    assert_null(backend_check(&table));
    struct backend without = table;
    without.exec_finish = NULL;
    assert_non_null(strstr(backend_check(&without), "GRAPHS"));
    without = table;
    without.exec_change = NULL;
    assert_non_null(strstr(backend_check(&without), "GRAPHS"));
    without = table;
    without.exec_init = NULL;
    assert_non_null(strstr(backend_check(&without), "GRAPHS"));
    table.features |= BACKEND_FEATURE(RNL_FEATURE_COOPERATIVE_LAUNCH);
    table.function_occupancy = NULL;
    assert_non_null(strstr(backend_check(&table), "COOPERATIVE"));
    PUT(&table, function_occupancy);
    assert_null(backend_check(&table));
}

RNL_TEST(an_attribute_without_effect_says_why)
{
    static struct backend plain;
    static const struct backend *const plain_table[] = {&plain, NULL};
    rnl_context context = NULL;
    rnl_stream stream = NULL;
    char before[256] = "";
    plain = null_backend;
    plain.stream_attributes = 0;
    assert_ok(library_reopen(plain_table));
    assert_ok(rnl_context_open("null", 0, NULL, &context));
    assert_ok(rnl_stream_create(context, NULL, &stream));
    static const rnl_stream_attribute_id ids[] = {
        RNL_STREAM_ACCESS_POLICY, RNL_STREAM_SYNC_POLICY, RNL_STREAM_PRIORITY,
        RNL_STREAM_DOMAIN};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        rnl_stream_attribute attribute = {.struct_size = sizeof attribute};
        assert_ok(rnl_stream_get_attribute(stream, ids[i], &attribute));
        assert_false(attribute.has_effect);
        assert_true(strlen(attribute.reason) >= 12);
        assert_string_not_equal(attribute.reason, before);
        snprintf(before, sizeof before, "%s", attribute.reason);
    }
    assert_ok(rnl_stream_release(stream));
    assert_ok(rnl_context_release(context));
    assert_ok(library_reopen(null_table));
    assert_ok(rnl_trim(NULL));
}

// --- Devices that are left out ---------------------------------------------

static size_t count_three(const char **out_reason)
{
    (void)out_reason;
    return 3;
}

static rnl_status all_but_the_second(uint32_t index, rnl_device_info *info)
{
    return index == 1 ? fail(RNL_ERROR_NO_DEVICE, "the second is broken")
                      : null_backend.device_info(0, info);
}

RNL_TEST(a_device_that_tells_nothing_is_left_out)
{
    static struct backend broken;
    static const struct backend *const table[] = {&broken, NULL};
    size_t count = 0;
    rnl_device first, second;
    broken = null_backend;
    broken.device_count = count_three;
    broken.device_info = all_but_the_second;
    assert_ok(library_reopen(table));
    assert_ok(rnl_device_count("null", &count));
    assert_int_equal(count, 2);
    assert_ok(rnl_device_get("null", 0, &first));
    assert_ok(rnl_device_get("null", 1, &second));
    assert_ptr_not_equal(first, second);
    // Their handles die with another table.
    rnl_device_info info = {.struct_size = sizeof info};
    assert_ok(library_reopen(null_table));
    assert_status(rnl_device_get_info(second, &info),
                  RNL_ERROR_INVALID_HANDLE);
    assert_ok(rnl_device_count("null", &count));
    assert_int_equal(count, 1);
}

// --- Reasons ---------------------------------------------------------------

static size_t count_none(const char **out_reason)
{
    if (out_reason)
        *out_reason = "the null device was taken out";
    return 0;
}

RNL_TEST(the_reason_for_no_gpu_is_that_of_the_first_accelerator)
{
    static struct backend absent;
    static const struct backend *const table[] = {&absent, NULL};
    const char *reason = NULL;
    rnl_device device = NULL;
    absent = null_backend;
    absent.device_count = count_none;
    assert_ok(library_reopen(table));
    assert_ok(rnl_api_reason("gpu", &reason));
    assert_non_null(strstr(reason, "without a backend for any accelerator"));
    assert_ok(rnl_api_reason("cuda", &reason));
    assert_non_null(strstr(reason, "without a backend for this api"));
    assert_status(rnl_device_default(&device), RNL_ERROR_NO_DEVICE);
    absent.accelerator = true;
    assert_ok(rnl_api_reason("gpu", &reason));
    assert_string_equal(reason, "the null device was taken out");
    assert_null(device);
    assert_ok(library_reopen(null_table));
}
