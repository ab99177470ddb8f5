// Host functions run on threads of their own, so that a blocking function holds
// up only its own stream. One thread calls all functions of a stream that are
// in a row.
#include "backends/cudalike/driver/worker_threads.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/retire.h"

// Functions of up to 256 streams may block at a time. An idle thread looks for
// another function for 200 us before it sleeps.
static struct task_queue host = {.thread_name = "rnl-host",
                                 .lock = LOCK_RANKED(RANK_LEAF),
                                 .most = 256,
                                 .spin_ns = 200000};

static rnl_status call(struct stream *stream, const struct op *op)
{
    return host_function_call(&op->host,
                              host_function_status(stream, op->sequence));
}

static void run(struct task *task)
{
    struct op *op = gpu_op_from(task, offsetof(struct gpu_op, task));
    struct stream *stream = op->stream;
    do {
        host_queue_complete(stream, op, call(stream, op));
    } while ((op = host_queue_next_function(stream)));
    stream_drop(stream);
}

// The task references the stream until the function has returned.
void host_function_start(struct op *op)
{
    struct task *task = &gpu_op_of(op)->task;
    object_ref(&op->stream->object);  // kept by the progress thread
    task->run = run;
    if (!task_add(&host, task))
        run(task);
}

