// Two copies of the library in one process, as two plug-ins bring them: the
// dynamic loader sees the kernels of both.
#include "copy.h"
#include "test.h"

#include <dlfcn.h>

static int (*function_of(void *library, const char *name))(void)
{
    int (*function)(void);
    *(void **)&function = dlsym(library, name);
    assert_non_null(function);
    return function;
}

RNL_TEST(copies_of_the_library_have_kernels_of_their_own)
{
    void *library = dlopen(SECOND_COPY, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    int (*open)(void) = function_of(library, "copy_open");
    int (*run)(void) = function_of(library, "copy_run");
    int (*close)(void) = function_of(library, "copy_close");
    assert_ptr_not_equal(open, copy_open);
    assert_int_equal(copy_open(), 0);
    assert_int_equal(open(), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(copy_run(), 0);
        assert_int_equal(run(), 0);
    }
    assert_int_equal(copy_close(), 0);
    assert_int_equal(run(), 0);
    assert_int_equal(close(), 0);
}
