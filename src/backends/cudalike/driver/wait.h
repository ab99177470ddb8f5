// The progress of a wait for the driver (wait.c): spinning, or short sleeps.
#pragma once

#include "backends/cudalike/tuning.h"

#include <runnel/base.h>
#include <stdatomic.h>

#include <runnel/stream.h>
#include <runnel/stream_attribute.h>

// The durations of the last waits for a subject; 0: unknown.
struct waits {
    _Atomic uint32_t took_us[WAITS_KEPT];
    _Atomic uint32_t next;
};

// A wait under way. A wait often takes as long as one of the last waits for the
// same subject, so the waiting thread spins around these times.
struct poll_wait {
    rnl_sync_policy policy;
    uint64_t past;                              // ns since the begin
    uint64_t from[WAITS_KEPT], to[WAITS_KEPT];  // expected ends
};

void wait_expect(struct poll_wait *wait, const struct waits *last);
bool wait_spins(const struct poll_wait *wait);
// Length of the next nap in ns. The length grows with the time that has passed,
// but a nap ends before the next expected end.
uint64_t wait_nap(const struct poll_wait *wait);
void waits_learn(struct waits *last, uint64_t took_ns);

// Calls `query` until the result is not RNL_NOT_READY (wait.c). `last`: the
// durations kept with the subject.
rnl_status gpu_poll(rnl_status (*query)(void *), void *subject,
                    rnl_sync_policy policy, uint64_t deadline,
                    struct waits *last);
