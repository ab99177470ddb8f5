// The times of a kernel's units in the last two launches.
//
// A launch mostly takes as long as the launch before, and is shared
// accordingly. The lesser time of two launches counts, so that a single
// interrupted or unusually long launch does not decide.
#pragma once

#include <stdatomic.h>
#include <stdint.h>

// Two numbers of 32 bits in each word, the last launch's in the low half.
struct launch_history {
    _Atomic uint64_t means, longests;
};

// In sixteenths of a tick. `longest`: the mean of the units that took far
// longer than the mean of all; 0 where there were none.
struct unit_times {
    uint64_t mean, longest;
};

// The lesser of both launches: a mean of 0 where one was too short to be
// shared.
struct unit_times launch_history_get(const struct launch_history *history);

// `times` is all 0 for a launch that was too short.
void launch_history_add(struct launch_history *history,
                  const struct unit_times *times);
