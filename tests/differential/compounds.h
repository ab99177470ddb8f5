// Statements of random kernels with others inside: see grammar.h.
#pragma once

#include "grammar.h"

enum inner {
    INNER_DIVERGES = 1 << 0,  // which threads come by is unknown
    INNER_MASK = 1 << 1,      // … but known as m$N
    INNER_LABEL = 1 << 2,
    INNER_COUNTER = 1 << 3,   // i$N
    INNER_SWITCH = 1 << 4,
    INNER_STATE = 1 << 5,     // s$N
    INNER_ROW = 1 << 6,       // of$N[i$N]
    INNER_OWN_ROW = 1 << 7,   // to$N[i$N]
    INNER_OPENING = 1 << 8,   // good as the first statement
    INNER_LIMIT = 1 << 9,     // i$N is below `limit`
    INNER_STEP = 1 << 10,     // `continue` would leave out the step
};

enum { BRANCHES_MAX = 5 };

struct compound {
    unsigned features, places;
    unsigned inner;
    unsigned loop;  // PLACE_..._LOOP
    const char *head, *tail;
    const char *branches[BRANCHES_MAX][2];  // instead of what is inside
};

extern const struct compound compounds[];
extern const size_t compound_count;
