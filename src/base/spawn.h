// Running another program with a time limit, keeping its output, and isolated
// from the host in both directions.
#pragma once

#include "base/text.h"

#include <stdatomic.h>

// Output beyond it is read and forgotten.
#define SPAWN_OUTPUT_MAX ((size_t)64 << 20)

enum spawn_end {
    SPAWN_EXITED,     // `code` is the exit code
    SPAWN_SIGNALLED,  // `code` is the signal
    SPAWN_TIMED_OUT,  // killed, with all children; or stopped
    SPAWN_REAPED,     // the host takes the status of every child away
};

struct spawn_result {
    enum spawn_end end;
    int code;
    int read_error;      // errno that cut the output short; 0: it is whole
    struct text output;  // of both streams; freed by the caller
};

// Runs `arguments[0]`, a path, and waits until `deadline` (base/clock.h) or
// until `*stop` is set, if `stop` is not NULL. Temporary files go to `folder`.
// 0, or an errno value if the program could not be started.
int spawn_run(char *const arguments[], const char *folder, uint64_t deadline,
              const atomic_bool *stop, struct spawn_result *out_result);
