// What the fake of libamdhip64 refuses because HIP does not bear it. The calls
// are a program's own: Runnel makes none of them.
#include "loaded.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

enum { COHERENT = 0x40000000 };

static void *the_function(const char *name)
{
    void *library = dlopen(getenv("RUNNEL_HIP"), RTLD_NOW | RTLD_LOCAL);
    void *function = library ? dlsym(library, name) : NULL;
    fake_load();
    assert_non_null(function);
    return function;
}

RNL_TEST(memory_that_may_not_be_coherent_is_refused)
{
    int (*allocate)(void **, size_t, unsigned), (*release)(void *);
    void *pointer = NULL;
    *(void **)&allocate = the_function("hipHostMalloc");
    *(void **)&release = the_function("hipHostFree");
    assert_int_equal(allocate(&pointer, 64, 0), 1);
    assert_null(pointer);
    assert_int_equal(allocate(&pointer, 64, COHERENT), 0);
    assert_int_equal(release(pointer), 0);
    fake_expect_empty();
}

RNL_TEST(a_wait_for_an_event_with_a_flag_is_a_misuse)
{
    int (*create)(void **, unsigned), (*wait)(void *, void *, unsigned);
    int (*destroy)(void *);
    struct fake_live live;
    void *event = NULL;
    *(void **)&create = the_function("hipEventCreateWithFlags");
    *(void **)&wait = the_function("hipStreamWaitEvent");
    *(void **)&destroy = the_function("hipEventDestroy");
    assert_int_equal(create(&event, 0), 0);
    assert_int_equal(wait(NULL, event, 0), 0);
    fake_live(&live);
    assert_int_equal(live.misuses, 0);
    wait(NULL, event, 1);
    fake_live(&live);
    assert_int_equal(live.misuses, 1);
    assert_non_null(strstr(fake_complaint(), "flag 1"));
    assert_int_equal(destroy(event), 0);
}
