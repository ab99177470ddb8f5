// Events that several processes share (core/stream/interprocess_event.h), on a
// driver.
#pragma once

#include "backends/cudalike/stream/event.h"
#include "core/stream/op.h"

// The operations of gpu_event_… (event.h), for events that processes share.
rnl_status gpu_shared_init(struct event *event);
rnl_status gpu_shared_record(struct event *event, struct stream *stream);
rnl_status gpu_shared_join(struct stream *stream, struct event *event);
rnl_status gpu_shared_query(struct event *event);
rnl_status gpu_shared_wait(struct event *event, uint64_t deadline);

// Makes a record, which is an OP_TIMESTAMP of the progress thread. False if an
// older record still has its place: the progress thread tries again.
bool shared_record_run(struct stream *stream, struct op *op);
// Completes a record as a failure if the driver refused the record, or work
// before the record.
void shared_record_give_up(struct op *op);

// Ends the waits of streams whose records are complete; called by the progress
// thread. True if a wait ended; `*out_left` tells whether more waits stand.
bool shared_waits_look(bool *out_left);
