// Threads of the library that do one thing after another for somebody who must
// not be held up.
#pragma once

#include "base/thread.h"

struct task {
    struct task *next;
    void (*run)(struct task *task);  // may free it
};

struct task_queue {
    const char *thread_name;
    uint64_t spin_ns;     // how long it looks before it sleeps
    struct lock lock;     // guards the next two
    struct task *first, *last;
    bool started;
    _Atomic uint32_t news;
};

// Calls task->run on the queue's thread. False when there is no thread and none
// can be started.
bool task_add(struct task_queue *queue, struct task *task);
