// Does the operations of a stream's host queue.
#include "backends/cudalike/stream/deferred.h"
#include "backends/cudalike/stream/shared_event.h"
#include "backends/cudalike/stream/staging.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/host_queue.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/timeline.h"

static void run_copy(struct stream *stream, struct op *op)
{
    bool failed = stream_leaves_out(stream, op->sequence);
    if (!failed && staging_takes(op) && staging_start(stream, op))
        return;
    host_queue_complete(stream, op,
                        failed ? RNL_OK : staging_copy(stream, op));
}

// False if the operation's turn has not come. `asks`: the driver may be asked.
static bool start_op(struct stream *stream, struct op *op, bool asks)
{
    if (op->kind == OP_WAIT && !(asks && deferred_wait_is_over(stream, op)))
        return false;
    if (op->kind == OP_TIMESTAMP)
        return shared_record_run(stream, op);
    if (op->kind == OP_COPY) {
        run_copy(stream, op);
    } else if (op->kind == OP_WAIT) {
        deferred_marker_over(op, true);
        host_queue_complete(stream, op, RNL_OK);
    } else {
        host_function_start(op);
    }
    return true;
}

bool host_queue_run(struct stream *stream, bool asks)
{
    bool did = false;
    struct op *op;
    while ((op = host_queue_take(stream, false))) {
        if (!start_op(stream, op, asks)) {
            host_queue_put_back(stream, op);
            return did;
        }
        did = true;
    }
    return did;
}

void host_queue_help(struct stream *stream)
{
    if (!atomic_load_explicit(&gpu_stream_of(stream)->defers,
                              memory_order_acquire))
        return;
    struct op *op = NULL;
    if (driver_use_begin()) {
        op = host_queue_take(stream, true);
        driver_use_end();
    }
    if (op)
        host_queue_complete(stream, op,
                            stream_leaves_out(stream, op->sequence)
                                ? RNL_OK
                                : staging_copy_with(stream, op));
}
