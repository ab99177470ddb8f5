// The cuda backend: libcuda's symbols and numbers, and NVRTC.
#pragma once

#include "backends/cudalike/timeline/gpu_stream.h"

// Fills in the functions and the number of devices, or the reason why no device
// can be used. Called once.
void cuda_load(struct driver *driver);

// NULL: the driver lacks the functions.
const struct driver_points *cuda_points(const struct driver_functions *call);

// The feature that is missing without an optional symbol, by the vendor's name
// of the symbol; "" if the driver has the symbol.
const char *cuda_missing(const struct driver *driver, const char *vendor);
