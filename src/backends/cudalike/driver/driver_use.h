// Threads of the library, and the end of the process (driver_use.c).
#pragma once

#include "base/fail.h"

// Marks the calling thread as the library's: the reaper ends for it what might
// hold it up.
void library_thread_begin(void);
bool library_thread_is_here(void);

// Around calls of the driver, and uses of its page-locked memory, by threads of
// the library, and around uses of the library's own page-locked memory by
// callers. False: the process is ending, and neither is allowed.
bool driver_use_begin(void);
void driver_use_end(void);
// When the process began to end, or 0.
uint64_t driver_use_ended(void);
// For a thread that has nothing left to do: waits for the end of the process.
_Noreturn void driver_use_never(void);
// The failure of a caller's call then.
rnl_status driver_use_fail(void);
// With the driver started, before its first use.
void driver_use_until_exit(void);
