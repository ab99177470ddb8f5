// Host functions run on threads of their own: one that blocks must hold up its
// stream alone. One thread calls the functions of a stream that are in a row.
#include "backends/cudalike/retire.h"
#include "backends/cudalike/service.h"
#include "backends/cudalike/task.h"

// As many streams may be in a function that blocks. A thread looks for the next
// function for so long before it sleeps.
static struct task_queue host = {.thread_name = "rnl-host",
                                 .most = 256,
                                 .spin_ns = 200000};

// Those that graphs of a lost device owe: one of them may wait for what a
// stream's own host function does, and that for one of them.
static struct task_queue owed = {.thread_name = "rnl-owed",
                                 .most = 1,
                                 .spin_ns = 0};

// The task is in the op, behind the number of the item.
#define TASK_WORD 1
_Static_assert(sizeof(struct task) <=
                   (OP_BACKEND_WORDS - TASK_WORD) * sizeof(uint64_t),
               "a task fits into its op");

static struct task *task_of(struct op *op)
{
    return (struct task *)(void *)&op->backend[TASK_WORD];
}

static void call(struct stream *stream, const struct op *op)
{
    rnl_status status = service_host_status(stream, op->sequence);
    callback_begin();
    op->host.function(status, op->host.user_data);
    callback_end();
}

static struct op *op_of(struct task *task)
{
    uint64_t *word = (uint64_t *)(void *)task;
    return (struct op *)(void *)((char *)word - offsetof(struct op, backend) -
                                 TASK_WORD * sizeof *word);
}

static void run(struct task *task)
{
    struct op *op = op_of(task);
    struct stream *stream = op->stream;
    do {
        call(stream, op);
        service_item_done(stream, op, RNL_OK);
    } while ((op = service_next_host(stream)));
    stream_drop(stream);
}

// The stream is kept until its function was called.
void host_start(struct op *op)
{
    struct task *task = task_of(op);
    object_ref(&op->stream->object);  // which is listed
    task->run = run;
    if (!task_add(&host, task))
        run(task);
}

bool host_add(struct task *task)
{
    return task_add(&owed, task);
}
