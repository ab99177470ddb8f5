// What white-box tests include instead of test.h.
#pragma once

#include "test.h"

// cmocka's macro hides the library's function.
#undef fail
#undef fail_msg
#define fail_msg(...)                 \
    do {                              \
        print_error(__VA_ARGS__);     \
        print_error("\n");            \
        _fail(__FILE__, __LINE__);    \
    } while (0)
