// The cuda backend: libcuda's symbols and numbers, and NVRTC.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// Fills in the functions and the number of devices, or the reason why there is
// none. Called once.
void cuda_load(struct driver *driver);

// NULL: the driver lacks the functions.
const struct driver_points *cuda_points(const struct driver_functions *call);

// What is missing without an optional symbol, by its vendor's name; "" when it
// is there.
const char *cuda_missing(const struct driver *driver, const char *vendor);
