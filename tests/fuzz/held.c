#include "held.h"

#include "fuzz.h"

#include <runnel/runnel.h>

#include <sched.h>
#include <time.h>

void fuzz_wait_for_nothing(void)
{
    size_t held = 1;
    for (time_t end = time(NULL) + 20; held && time(NULL) < end; sched_yield())
        rnl_trim(&held);
    fuzz_require(held == 0, "what has ended holds no memory");
}
