// Sequences of public calls: bytes are a program of tests/programs, which is
// run on the cpu and compared with its model. Some of its calls are wrong ones.
#include "fuzz.h"
#include "held.h"
#include "tests/programs/program.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct program program;
    static int call;
    program_decode(&program, data, size);
    program_plan(&program);
    program.at = &call;
    if (program_run(&program) && program_check(&program)) {
        fuzz_wait_for_nothing();
        return 0;
    }
    program_print(&program);
    fprintf(stderr, "%s\n", program.problem);
    abort();
}
