// A context with work that waits for a word, on memory of its stream.
#pragma once

#include "loaded.h"

struct shut {
    rnl_context context;
    rnl_stream stream, other;
    rnl_buffer word, buffer;
};

// With a pool that keeps nothing, or so much (0: as usual).
void shut_open(struct shut *shut);
void shut_open_with(struct shut *shut, uint64_t pool_threshold);
// Writes the word, and gives back all but the buffer …
void shut_end(struct shut *shut);
// … and looks whether something of Runnel's is left, too.
void shut_close(struct shut *shut);

// Until the driver has nothing left: what has no handle any more is never given
// back by the library inside.
void shut_expect_empty(void);

// To its end: for what this thread may not do inside a call.
void run_in_another_thread(void *(*run)(void *), void *argument);
