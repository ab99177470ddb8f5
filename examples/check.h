// The error handling of all examples: any failure ends the program with the
// sentence that Runnel has for it, and with the compiler's output if there is
// any. A real program would clean up and go on.
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include <runnel/status.h>

static inline void check(rnl_status status)
{
    if (status == RNL_OK)
        return;
    const rnl_error *error = rnl_last_error();
    fprintf(stderr, "error: %s\n", error->message);
    if (error->log)
        fprintf(stderr, "%s\n", error->log);
    exit(EXIT_FAILURE);
}
