#include "base/log.h"

#include "base/fail.h"
#include "base/thread.h"

#include <stdio.h>

static struct lock lock = LOCK_RANKED(RANK_LEAF);  // guards the sink below
static struct {
    rnl_log_fn write;
    void *user_data;
} sink;
static _Atomic int sink_level;     // 0: no callback
static _Atomic int default_level;  // of the environment

static int level_now(void)
{
    int level = atomic_load_explicit(&sink_level, memory_order_relaxed);
    return level ? level
                 : atomic_load_explicit(&default_level, memory_order_relaxed);
}

bool log_wants(rnl_log_level level)
{
    return (int)level <= level_now();
}

static void to_standard_error(rnl_log_level level, const char *message)
{
    static const char *const names[] = {"", "error", "warning", "info",
                                        "debug"};
    fprintf(stderr, "runnel: %s: %s\n", names[level], message);
}

void log_write(rnl_log_level level, const char *format, ...)
{
    if (!log_wants(level))
        return;
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);

    lock_take(&lock);
    rnl_log_fn write = sink.write;
    void *user_data = sink.user_data;
    lock_give(&lock);
    if (!write) {
        to_standard_error(level, message);
        return;
    }
    callback_begin();
    write(level, message, user_data);
    callback_end();
}

void log_set_default(int level)
{
    atomic_store(&default_level, level);
}

void log_forked(void)
{
    lock = (struct lock)LOCK_RANKED(RANK_LEAF);
}

void log_set(rnl_log_fn log, rnl_log_level level, void *user_data)
{
    lock_take(&lock);
    sink.write = log;
    sink.user_data = user_data;
    atomic_store(&sink_level, log ? (int)level : 0);
    lock_give(&lock);
}
