#include "base/check.h"

#ifdef RUNNEL_CHECKS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// By one write: another thread may have the locks of stdio.
_Noreturn void check_failed(const char *condition, const char *file, int line,
                            const char *function)
{
    char text[512];
    snprintf(text, sizeof text, "%s:%d: %s: this does not hold: %s\n", file,
             line, function, condition);
    (void)!write(STDERR_FILENO, text, strlen(text));
    abort();
}

#endif
