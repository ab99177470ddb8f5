// Messages to the host's callback, or to standard error when asked.
#pragma once

#include <runnel/host.h>

// True when someone listens at this level: test before costly formatting.
bool log_wants(rnl_log_level level);

void log_write(rnl_log_level level, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The level that the environment asks for; used while no callback is set. 0:
// nothing.
void log_set_default(int level);

// In the child after fork: another thread may have held the lock.
void log_forked(void);

void log_set(rnl_log_fn log, rnl_log_level level, void *user_data);
