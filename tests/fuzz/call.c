// Sequences of public calls: bytes are a program of tests/programs, which is
// run on the cpu and compared with its model. Some of its calls are wrong ones.
#include "fuzz.h"
#include "tests/programs/program.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// All memory comes back, a moment after the last work.
static void wait_for_nothing(void)
{
    size_t held = 1;
    for (time_t end = time(NULL) + 10; held && time(NULL) < end; sched_yield())
        rnl_trim(&held);
    fuzz_require(held == 0, "a program that has ended holds no memory");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct program program;
    static int call;
    program_decode(&program, data, size);
    program_plan(&program);
    program.at = &call;
    if (program_run(&program) && program_check(&program)) {
        wait_for_nothing();
        return 0;
    }
    program_print(&program);
    fprintf(stderr, "%s\n", program.problem);
    abort();
}
