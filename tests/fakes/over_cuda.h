// libcuda's functions, found at the first call.
#pragma once

#include "backends/cudalike/driver/driver.h"

#define FUNCTION(name, parameters)       \
    extern driver_##name##_fn *over_##name \
        __attribute__((visibility("hidden")));
#include "backends/cudalike/driver/functions.def"
#undef FUNCTION
