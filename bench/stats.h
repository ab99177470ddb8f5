// Order statistics of timings. Timings have long tails to one side, so nothing
// here uses a mean or a standard deviation.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// The `fraction` quantile (0 … 1) of `count` values, in any order; 0 of none.
double stats_quantile(const double *values, size_t count, double fraction);

// How many times longer the peer took than we did.
typedef struct stats_ratio {
    bool known;
    double median;     // of the ratios of each round
    double q25, q75;   // spread of the rounds
    double low, high;  // 95 % bootstrap interval of the median
} stats_ratio;

// Compares two series of one figure a round, measured in the same rounds.
stats_ratio stats_compare(const double *peer, const double *own, size_t rounds);
