// What shared.c and slow_library.c tell each other, by an address in the
// environment.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#define SHARED_GATE "RUNNEL_TEST_GATE"

struct shared_gate {
    atomic_bool begun, open, over;
};
