// The reaper, a thread for tasks and polls that may block: in a caller's
// deleter, or in a call of the driver that waits for the device.
#pragma once

#include "backends/cudalike/driver/worker_threads.h"

// Starts the reaper if need be; false if no thread can be started.
bool reaper_start(void);

// Has the reaper call `poll` soon, and again while the result is true. All
// callers give the same function.
void reaper_attend(bool (*poll)(void));

// Has the reaper run the task. Without a reaper the caller runs the task.
void reaper_give(struct task *task, void (*how)(struct task *task));

// How many tasks the reaper has that are not done.
extern _Atomic uint32_t reaper_tasks;

// Runs the wanted tasks that the reaper has not come to yet. `wanted` is called
// with a lock held.
void reaper_run(bool (*wanted)(const struct task *task, const void *subject),
                const void *subject);

// Waits until the reaper has ended all its tasks, or until the time is up.
void reaper_await(uint64_t patience_ns);
