// Host functions run on a thread of their own: one that blocks must hold up
// only its stream and other host functions, no copy. One thread, since those of
// a stream that follow each other are started without a look between.
#include "backends/cudalike/retire.h"
#include "backends/cudalike/service.h"
#include "backends/cudalike/task.h"

// Looks for the next one for so long before it sleeps.
static struct task_queue host = {.thread_name = "rnl-host",
                                 .most = 1,
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
    call(stream, op);
    service_item_done(stream, op, RNL_OK);
    stream_drop(stream);
}

// It never became an item.
static void run_refused(struct task *task)
{
    struct op *op = op_of(task);
    struct stream *stream = op->stream;
    call(stream, op);
    op_end(op);
    stream_drop(stream);
}

// The stream is kept until its function was called.
static void start(struct op *op, void (*how)(struct task *))
{
    struct task *task = task_of(op);
    task->run = how;
    if (!task_add(&host, task))
        how(task);
}

void host_start(struct op *op)
{
    object_keep(&op->stream->object);  // which is listed
    start(op, run);
}

bool host_add(struct task *task)
{
    return task_add(&owed, task);
}

void host_finish_list(struct op *over)
{
    for (struct op *op = over, *next; op; op = next) {
        next = op->next;
        if (op->kind == OP_HOST) {
            start(op, run_refused);
            continue;
        }
        op_give_up(op);  // perhaps before it is done
        op_end(op);
    }
}
