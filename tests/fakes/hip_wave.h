// The warp functions of runnel-hip-cc's prelude, tried lane by lane.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C"
#endif
// Tries all functions in a wave of 64 lanes of which those are active. Returns
// how many results are not what CUDA says, and prints them.
int wave_check(uint64_t active, unsigned seed);
