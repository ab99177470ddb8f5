#include "stats.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { RESAMPLES = 1000 };

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double quantile_of_sorted(const double *sorted, size_t count,
                                 double fraction)
{
    double position = fraction * (double)(count - 1);
    size_t below = (size_t)position;
    size_t above = below + 1 < count ? below + 1 : below;
    double weight = position - (double)below;
    return sorted[below] * (1 - weight) + sorted[above] * weight;
}

double stats_quantile(const double *values, size_t count, double fraction)
{
    double *sorted = count ? malloc(count * sizeof *sorted) : NULL;
    if (!sorted)
        return 0;
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_doubles);
    double result = quantile_of_sorted(sorted, count, fraction);
    free(sorted);
    return result;
}

// A fixed seed: the same measurements give the same interval.
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void bootstrap(const double *ratios, size_t count, stats_ratio *out)
{
    double *medians = malloc(RESAMPLES * sizeof *medians);
    double *draw = malloc(count * sizeof *draw);
    uint64_t seed = 0x9e3779b97f4a7c15u;
    for (size_t i = 0; medians && draw && i < RESAMPLES; i++) {
        for (size_t k = 0; k < count; k++)
            draw[k] = ratios[next_random(&seed) % count];
        medians[i] = stats_quantile(draw, count, 0.5);
    }
    if (medians && draw) {
        out->low = stats_quantile(medians, RESAMPLES, 0.025);
        out->high = stats_quantile(medians, RESAMPLES, 0.975);
    }
    free(draw);
    free(medians);
}

stats_ratio stats_compare(const double *peer, const double *own, size_t rounds)
{
    stats_ratio result = {0};
    double *ratios = rounds ? malloc(rounds * sizeof *ratios) : NULL;
    if (!ratios)
        return result;
    size_t count = 0;
    for (size_t i = 0; i < rounds; i++) {
        if (own[i] > 0 && peer[i] > 0)
            ratios[count++] = peer[i] / own[i];
    }
    if (count) {
        result.known = true;
        result.median = stats_quantile(ratios, count, 0.5);
        result.q25 = stats_quantile(ratios, count, 0.25);
        result.q75 = stats_quantile(ratios, count, 0.75);
        bootstrap(ratios, count, &result);
    }
    free(ratios);
    return result;
}
