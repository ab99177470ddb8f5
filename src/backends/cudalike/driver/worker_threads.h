// Threads of the library that do what others must not be held up by.
#pragma once

#include "base/thread.h"

struct task {
    struct task *next;
    void (*run)(struct task *task);  // may free it, or add it again
};

struct task_queue {
    const char *thread_name;
    unsigned most;         // threads
    uint64_t spin_ns;      // how long one of them looks before it sleeps
    atomic_bool spins;     // one does
    struct lock lock;      // guards the next four
    struct task *first, *last;
    unsigned started;      // threads …
    unsigned idle;         // … of them without a task
    _Atomic unsigned waiting;  // tasks that no thread has taken yet
    _Atomic uint32_t news;
};

// Calls task->run on one of the queue's threads, in the order of the calls.
// False when there is no thread and none can be started.
bool task_add(struct task_queue *queue, struct task *task);
