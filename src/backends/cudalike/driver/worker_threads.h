// Threads of the library for work that must not block the caller.
#pragma once

#include "base/thread.h"

struct task {
    struct task *next;
    void (*run)(struct task *task);  // may free the task, or add the task again
};

struct task_queue {
    const char *thread_name;
    unsigned most;         // limit of threads
    uint64_t spin_ns;      // time for spinning before a sleep
    atomic_bool spins;     // a thread spins
    struct lock lock;      // guards the next four
    struct task *first, *last;
    unsigned started;      // number of threads
    unsigned idle;         // threads without a task
    _Atomic unsigned waiting;  // tasks that no thread has taken yet
    _Atomic uint32_t news;
};

// Calls task->run on one of the queue's threads, in the order of the calls.
// False if the queue has no thread and none can be started.
bool task_add(struct task_queue *queue, struct task *task);
