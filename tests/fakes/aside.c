// NVRTC is called on a thread of its own.
#include "loaded.h"

#include "base/clock.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

// Compiles what no cache has.
static rnl_status compile_new(void)
{
    rnl_context context;
    rnl_module module = NULL;
    char source[128];
    const char *reason;
    snprintf(source, sizeof source,
             "extern \"C\" __global__ void k(long long *p) { *p = %llu; }",
             (unsigned long long)clock_now());
    assert_ok(rnl_context_open("cuda", 0, NULL, &context));
    if (rnl_context_supports(context, RNL_FEATURE_COMPILE, &reason) != RNL_OK)
        test_skip("%s", reason);
    rnl_status status = rnl_module_compile(context, source, NULL, &module);
    rnl_module_release(module);
    assert_ok(rnl_context_release(context));
    return status;
}

// The fake takes as much stack as the real one for a small kernel.
RNL_TEST(a_small_default_stack_is_not_nvrtcs)
{
    pthread_attr_t attributes;
    fake_load();
    pthread_attr_init(&attributes);
    assert_int_equal(pthread_attr_setstacksize(&attributes, 80 << 10), 0);
    assert_int_equal(pthread_setattr_default_np(&attributes), 0);
    assert_ok(compile_new());
    pthread_attr_destroy(&attributes);
    fake_expect_empty();
}

static void refuse_thread(void)
{
    thread_fail_next(0, 1);
}

RNL_TEST(a_compile_whose_thread_does_not_start_is_refused)
{
    fake_load();
    thread_hold_next("rnl-nvrtc", refuse_thread);
    assert_status(compile_new(), RNL_ERROR_OUT_OF_MEMORY);
    assert_non_null(strstr(rnl_last_error()->message, "NVRTC"));
    assert_ok(compile_new());
    fake_expect_empty();
}
