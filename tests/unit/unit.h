// What white-box tests include instead of test.h.
#pragma once

#include "test.h"

// cmocka's macro hides the library's function; fail_msg does the same.
#undef fail
