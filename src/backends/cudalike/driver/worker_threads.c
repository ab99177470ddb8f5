#include "backends/cudalike/driver/worker_threads.h"

#include "backends/cudalike/driver/driver_use.h"

#include "base/clock.h"
#include "core/stream/op.h"

static struct task *take(struct task_queue *queue, bool was_busy)
{
    lock_take(&queue->lock);
    struct task *task = queue->first;
    queue->idle += was_busy;
    if (task) {
        queue->first = task->next;
        queue->idle--;
        COUNT_DOWN(&queue->waiting);
    }
    lock_give(&queue->lock);
    return task;
}

static bool has_news(struct task_queue *queue, uint32_t seen)
{
    return atomic_load_explicit(&queue->news, memory_order_acquire) != seen;
}

// If a thread spins already, the calling thread sleeps at once.
static void await_news(struct task_queue *queue, uint32_t seen)
{
    if (!atomic_exchange(&queue->spins, true)) {
        uint64_t end = clock_now() + queue->spin_ns;
        while (!has_news(queue, seen) && clock_now() < end)
            cpu_relax();
        atomic_store(&queue->spins, false);
    }
    if (has_news(queue, seen))
        return;
    op_trim();  // an idle thread needs no cached ops
    futex_wait(&queue->news, seen, RNL_FOREVER);
}

static void *run(void *argument)
{
    struct task_queue *queue = argument;
    bool was_busy = false;
    library_thread_begin();
    for (;;) {
        uint32_t seen = atomic_load(&queue->news);
        struct task *task = take(queue, was_busy);
        was_busy = task != NULL;
        if (task)
            task->run(task);
        else
            await_news(queue, seen);
    }
    return NULL;
}

static void start_locked(struct task_queue *queue)
{
    ASSERT(lock_is_held(&queue->lock));
    pthread_t thread;
    if (queue->started < queue->most &&
        thread_start(&thread, queue->thread_name, run, queue)) {
        pthread_detach(thread);
        queue->started++;
        queue->idle++;
    }
}

bool task_add(struct task_queue *queue, struct task *task)
{
    task->next = NULL;
    lock_take(&queue->lock);
    if (atomic_load(&queue->waiting) >= queue->idle)
        start_locked(queue);
    bool ok = queue->started > 0;
    if (ok) {
        if (queue->first)
            queue->last->next = task;
        else
            queue->first = task;
        queue->last = task;
        atomic_fetch_add(&queue->waiting, 1);
    }
    lock_give(&queue->lock);
    if (ok) {
        atomic_fetch_add(&queue->news, 1);
        futex_wake(&queue->news, 1);
    }
    return ok;
}
