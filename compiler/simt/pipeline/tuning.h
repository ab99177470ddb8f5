// Tuned constants of room pipeline. "Compared": several values were tried on
// the machine named. "Effect measured": the optimisation was, with this value
// alone. "Not measured": the value is a judgement. Numbers of four digits are
// pages of docs/decisions.
#pragma once

enum {
    // Cases of a switch above which block placement is left out, whose time
    // grows with their square. Effect measured, machine not noted, 2026-11-28.
    CASES_MOST = 500,
    // Loops of a module above which none is unrolled: the optimiser visits all
    // dependents of a counter for each. Effect measured, machine not noted,
    // 2026-11-23 (0020).
    LOOPS_MOST = 500,
    // Instructions of the smallest partition, which takes 50 ms to compile; a
    // process costs 5 to 10 ms for the memory that it copies. Effect measured
    // on two cores, machine not noted, 2026-11-28 (0050).
    PARTITION_LEAST = 2000,
    // Processes that generate code for one source: wall time against the memory
    // of each. Not measured, 2026-11-28.
    PARTITIONS_MOST = 4,
};
