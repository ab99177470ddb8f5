// The queues of a block's waiting threads, and the failure of a thread.
#include "backends/cpu/kernel/block_threads.h"

#include "backends/cpu/kernel/fiber.h"

#include <stdarg.h>
#include <stdio.h>

void waiter_queue_clear(struct waiter_queue *queue)
{
    *queue = (struct waiter_queue){.end = &queue->first};
}

void waiter_queue_add(struct waiter_queue *queue, struct block_waiter *waiter)
{
    waiter->next = NULL;
    *queue->end = waiter;
    queue->end = &waiter->next;
    queue->count++;
}

struct block_waiter *waiter_queue_take(struct waiter_queue *queue)
{
    struct block_waiter *waiter = queue->first;
    queue->first = waiter->next;
    if (!queue->first)
        queue->end = &queue->first;
    queue->count--;
    return waiter;
}

void waiter_queue_move(struct waiter_queue *from, struct waiter_queue *to)
{
    if (!from->first)
        return;
    *to->end = from->first;
    to->end = from->end;
    to->count += from->count;
    waiter_queue_clear(from);
}

void runner_name_thread(const struct runner *runner, uint32_t thread,
                        char name[48])
{
    const uint32_t *block = runner->block.block;
    uint32_t row = thread / block[0];
    snprintf(name, 48, "(%u, %u, %u)", thread % block[0], row % block[1],
             row / block[1]);
}

void runner_write_failure(const struct runner *runner, uint32_t thread,
                          const char *text)
{
    const uint32_t *index = runner->block.index;
    char name[48] = "";
    if (thread == RUNNER_NO_THREAD && runner->block.thread_count == 1)
        thread = 0;
    if (thread != RUNNER_NO_THREAD)
        runner_name_thread(runner, thread, name);
    if (runner->failure_size)
        snprintf(runner->failure, runner->failure_size,
                 "block (%u, %u, %u)%s%s: %s", index[0], index[1], index[2],
                 name[0] ? ", thread " : "", name, text);
}

_Noreturn void runner_fail(struct runner *runner, rnl_status status,
                           uint32_t thread, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    runner_write_failure(runner, thread, text);
    runner->status = status;
    runner->current->busy = true;  // may end in the middle
    fiber_switch(runner->current, &runner->native);
    __builtin_unreachable();
}
