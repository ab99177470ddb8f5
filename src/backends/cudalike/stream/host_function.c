// Host functions run on threads of their own: one that blocks must hold up its
// stream alone. One thread calls the functions of a stream that are in a row.
#include "backends/cudalike/driver/worker_threads.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/retire.h"

// As many streams may be in a function that blocks. A thread looks for the next
// function for so long before it sleeps.
static struct task_queue host = {.thread_name = "rnl-host",
                                 .lock = LOCK_RANKED(RANK_LEAF),
                                 .most = 256,
                                 .spin_ns = 200000};

static void call(struct stream *stream, const struct op *op)
{
    rnl_status status = host_function_status(stream, op->sequence);
    callback_begin();
    op->host.function(status, op->host.user_data);
    callback_end();
}

static void run(struct task *task)
{
    struct op *op = gpu_op_from(task, offsetof(struct gpu_op, task));
    struct stream *stream = op->stream;
    do {
        call(stream, op);
        host_queue_complete(stream, op, RNL_OK);
    } while ((op = host_queue_next_function(stream)));
    stream_drop(stream);
}

// The stream is kept until its function was called.
void host_function_start(struct op *op)
{
    struct task *task = &gpu_op_of(op)->task;
    object_ref(&op->stream->object);  // which is watched
    task->run = run;
    if (!task_add(&host, task))
        run(task);
}

