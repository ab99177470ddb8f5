// What the threads of a block wait in, and how one of them fails.
#include "worker.h"

#include "fiber.h"

#include <stdarg.h>
#include <stdio.h>

void queue_clear(struct waiter_queue *queue)
{
    *queue = (struct waiter_queue){.end = &queue->first};
}

void queue_add(struct waiter_queue *queue, struct waiter *waiter)
{
    waiter->next = NULL;
    *queue->end = waiter;
    queue->end = &waiter->next;
    queue->count++;
}

struct waiter *queue_take(struct waiter_queue *queue)
{
    struct waiter *waiter = queue->first;
    queue->first = waiter->next;
    if (!queue->first)
        queue->end = &queue->first;
    queue->count--;
    return waiter;
}

void queue_move(struct waiter_queue *from, struct waiter_queue *to)
{
    if (!from->first)
        return;
    *to->end = from->first;
    to->end = from->end;
    to->count += from->count;
    queue_clear(from);
}

void worker_name_thread(const struct worker *worker, uint32_t thread,
                        char name[48])
{
    const uint32_t *block = worker->block.block;
    uint32_t row = thread / block[0];
    snprintf(name, 48, "(%u, %u, %u)", thread % block[0], row % block[1],
             row / block[1]);
}

void worker_write_failure(const struct worker *worker, uint32_t thread,
                          const char *text)
{
    const uint32_t *index = worker->block.index;
    char name[48] = "";
    if (thread == WORKER_NO_THREAD && worker->block.thread_count == 1)
        thread = 0;
    if (thread != WORKER_NO_THREAD)
        worker_name_thread(worker, thread, name);
    if (worker->failure_size)
        snprintf(worker->failure, worker->failure_size,
                 "block (%u, %u, %u)%s%s: %s", index[0], index[1], index[2],
                 name[0] ? ", thread " : "", name, text);
}

_Noreturn void worker_fail(struct worker *worker, rnl_status status,
                           uint32_t thread, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    worker_write_failure(worker, thread, text);
    worker->status = status;
    worker->current->busy = true;  // whatever it was, it ends in the middle
    fiber_switch(worker->current, &worker->native);
    __builtin_unreachable();
}
