// The grammar of random kernels. In a rule, `$` and a letter stand for
//
//   U unsigned   W unsigned long long   F float   D double   C condition
//   I index into `in`   X unsigned, the same in the whole block   Y condition,
//   likewise   K small constant   M the mask of the lanes here   V a counter
//   0 one of 0…3   1 one of 0…1   2 a power of two up to 32
//   N the number of this statement   E the label behind the loop around
//   L index into the lines, G into `in` as any type: likely clamped
//   S number of the loop over a row around   A number of the machine around
#pragma once

#include <stddef.h>

enum feature {
    FEATURE_SHARED = 1 << 0,
    FEATURE_DYNAMIC = 1 << 1,   // shared memory is dynamic
    FEATURE_WARP = 1 << 2,
    FEATURE_PRIVATE = 1 << 3,   // arrays of the thread
    FEATURE_BINS = 1 << 4,      // shared atomics
    FEATURE_TOTALS = 1 << 5,    // global atomics
    FEATURE_WIDE = 1 << 6,      // 64 bits
    FEATURE_FLOAT = 1 << 7,
    FEATURE_DOUBLE = 1 << 8,
    FEATURE_TABLE = 1 << 9,     // constants
    FEATURE_RETURN = 1 << 10,   // anywhere
    FEATURE_GOTO = 1 << 11,
    FEATURE_SWITCH = 1 << 12,
    FEATURE_LOOP = 1 << 13,
    FEATURE_SLOT = 1 << 14,     // reads and writes of `out` on the way
    FEATURE_RECURSION = 1 << 15,
    FEATURE_CALL = 1 << 16,     // functions out of line
    FEATURE_POINTER = 1 << 17,  // to functions
    FEATURE_EXACT = 1 << 18,    // __fadd_rn and such
    FEATURE_STRUCT = 1 << 19,
    FEATURE_STRIDE = 1 << 20,   // loops over all that is there
    FEATURE_MACHINE = 1 << 21,  // loops that threads leave apart
    FEATURE_LINE = 1 << 22,     // neighbours
    FEATURE_MINE = 1 << 23,     // shared atomics that give the old value
    FEATURE_NARROW = 1 << 24,   // variables of less than 32 bits
    FEATURE_FOUR = 1 << 25,     // int4
    FEATURE_ARRAYS = 1 << 26,   // of the thread, of other types
    FEATURE_AXES = 1 << 27,     // blocks may have more than one axis
};

// Where a statement may stand.
enum place {
    PLACE_UNIFORM = 1 << 0,  // the whole block comes by
    PLACE_MASK = 1 << 1,     // the lanes here are known
    PLACE_ALL = 1 << 2,      // … and are all that live
    PLACE_PLAIN_LOOP = 1 << 3,
    PLACE_UNIFORM_LOOP = 1 << 4,
    PLACE_MASKED_LOOP = 1 << 5,
    PLACE_LABEL = 1 << 6,    // in a loop with a label behind it
    PLACE_AGAIN = 1 << 7,    // `continue` is for a plain loop
    PLACE_STATE = 1 << 8,
    PLACE_ROW = 1 << 9,      // in a loop over a row
    PLACE_OWN_ROW = 1 << 10, // … in which each element is one thread's
    PLACE_NO_ROW = 1 << 11,
    PLACE_LIMIT = 1 << 12,   // in a loop over a row below `limit`
};

struct rule {
    unsigned features;  // that it needs
    unsigned places;    // statements: that it needs
    const char *text;
};

struct rules {
    const struct rule *simple;  // without operands of the same sort
    size_t simple_count;
    const struct rule *all;
    size_t count;
};

extern const struct rules rules_unsigned, rules_wide, rules_float,
    rules_double, rules_condition, rules_index, rules_line, rules_near,
    rules_uniform, rules_uniform_condition, rules_statement;

// Text before all kernels.
extern const char grammar_preamble[];
