// The goals of Runnel, and whether they are met.
#pragma once

#include "harness.h"
#include "stats.h"

typedef struct bench_goal {
    const char *what;
    const char *row;   // of the plan
    const char *own;   // our series in it
    const char *peer;  // the other; "*" is the fastest of all that are not
                       // ours; NULL: the goal is a time, not a ratio
    double first;      // peer / own at least, or without a peer own ns at most;
    double beyond;     // 0: there is no such goal
    const char *first_text, *beyond_text;
} bench_goal;

typedef struct goal_result {
    const bench_series *own, *peer;  // NULL: not measured
    stats_ratio ratio;
    double own_ns, peer_ns;          // p50
    double own_q25, own_q75;         // spread of our own rounds, ns
    const char *verdict;             // "beyond", "met", "not met", …
    bool in_noise;  // the nearest goal lies inside the ratio's 95 % interval
} goal_result;

extern const bench_goal goals[];
extern const size_t goal_count;

// False when the run did not ask for the goal's row at all.
bool goal_evaluate(const bench_run *bench, const bench_goal *goal,
                   goal_result *out);
