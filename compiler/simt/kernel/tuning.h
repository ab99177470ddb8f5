// Tuned constants of room kernel. "Compared": several values were tried on the
// machine named. "Effect measured": the optimisation was, with this value
// alone. "Not measured": the value is a judgement. Numbers of four digits are
// pages of docs/decisions.
#pragma once

enum {
    // Blocks of a kernel that may be vectorised: the time of code generation
    // grows with their square. Effect measured, 2026-11-21 (0020).
    BLOCKS_MOST = 600,
    // Bytes of private memory of a thread, which each lane of a gang needs. Not
    // measured, 2026-11-21.
    PRIVATE_MOST = 512 << 10,
    // Instructions that computing a value again may take, against a slot in
    // memory. Not measured, 2026-11-21.
    REMAT_MOST = 12,
    // Bytes from the first to the last access of an access group: wide loads
    // against bytes that no lane uses. Not measured, 2026-11-23 (0031).
    STRUCT_BYTES_MOST = 64,
};
