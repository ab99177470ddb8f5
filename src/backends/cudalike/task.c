#include "backends/cudalike/task.h"

#include "base/clock.h"
#include "core/op.h"

static struct task *take(struct task_queue *queue)
{
    lock_take(&queue->lock);
    struct task *task = queue->first;
    if (task)
        queue->first = task->next;
    lock_give(&queue->lock);
    return task;
}

static void *run(void *argument)
{
    struct task_queue *queue = argument;
    uint64_t last = clock_now();
    for (;;) {
        uint32_t seen = atomic_load(&queue->news);
        struct task *task = take(queue);
        if (task) {
            task->run(task);
            last = clock_now();
        } else if (clock_now() - last < queue->spin_ns) {
            cpu_relax();
        } else {
            op_trim();  // nobody would miss them here
            futex_wait(&queue->news, seen, RNL_FOREVER);
            last = clock_now();
        }
    }
    return NULL;
}

static bool start_locked(struct task_queue *queue)
{
    pthread_t thread;
    if (!queue->started && thread_start(&thread, queue->thread_name, run,
                                        queue)) {
        pthread_detach(thread);
        queue->started = true;
    }
    return queue->started;
}

bool task_add(struct task_queue *queue, struct task *task)
{
    task->next = NULL;
    lock_take(&queue->lock);
    bool ok = start_locked(queue);
    if (ok && queue->first)
        queue->last->next = task;
    else if (ok)
        queue->first = task;
    if (ok)
        queue->last = task;
    lock_give(&queue->lock);
    if (ok) {
        atomic_fetch_add(&queue->news, 1);
        futex_wake(&queue->news, 1);
    }
    return ok;
}
