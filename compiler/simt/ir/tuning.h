// Tuned constants of room ir, in instructions. "Compared": several values were
// tried on the machine named. "Effect measured": the optimisation was, with
// this value alone. "Not measured": the value is a judgement. Numbers of four
// digits are pages of docs/decisions.
#pragma once

enum {
    // A kernel with more gets fewer variants and less inlined code: run time
    // against compile time. Not measured, 2026-11-21.
    KERNEL_LARGE = 600,
    // A kernel with more skips passes whose time grows with the square of its
    // length. Effect measured: Zen 5, 2026-11-23 (0020).
    KERNEL_HUGE = 2000,
    // A module with such a function is combined once only. Not measured,
    // 2026-11-23.
    HUGE_LEAST = 10000,
};
