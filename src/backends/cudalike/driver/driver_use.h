// Threads of the library, and the end of the process (driver_use.c).
#pragma once

#include "base/fail.h"

// Marks the calling thread as a thread of the library: the reaper ends objects
// for the thread if that might block.
void library_thread_begin(void);
bool library_thread_is_here(void);

// Enclose calls of the driver, and uses of its page-locked memory, by threads
// of the library. Also enclose uses of the library's own page-locked
// memory by callers. False: the process is ending, and both are forbidden.
bool driver_use_begin(void);
void driver_use_end(void);
// The time when the process began to end, or 0.
uint64_t driver_use_ended(void);
// Waits for the end of the process, for a thread that has nothing left to do.
_Noreturn void driver_use_never(void);
// The failure of a caller's call after the process began to end.
rnl_status driver_use_fail(void);
// Called after the start of the driver, before its first use.
void driver_use_until_exit(void);
