// What is compiled before there is anything to compile.
#include "parse.h"

RNL_TEST(a_function_comes_through_for_each_processor)
{
    assert_true(warm_up("native"));
#if defined(__x86_64__)
    assert_true(warm_up("x86-64"));
    assert_true(warm_up("haswell"));
    assert_true(warm_up("icelake-server"));
#endif
}
