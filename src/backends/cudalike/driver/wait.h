// How a wait for the driver goes on (wait.c): spinning, or sleeping a little.
#pragma once

#include <runnel/base.h>
#include <stdatomic.h>

#include <runnel/stream.h>
#include <runnel/stream_attribute.h>

#define WAITS_KEPT 4  // a power of 2

// How long the last waits for something took; 0: not known.
struct waits {
    _Atomic uint32_t took_us[WAITS_KEPT];
    _Atomic uint32_t next;
};

// One wait under way. It is often like one of the last ones of its subject:
// around the times when it is likely to end it is looked for all the time.
struct wait {
    rnl_sync_policy policy;
    uint64_t past;                              // ns since it began
    uint64_t from[WAITS_KEPT], to[WAITS_KEPT];  // when its end is expected
};

void wait_expect(struct wait *wait, const struct waits *last);
bool wait_spins(const struct wait *wait);
// In ns; longer the longer it goes on, but not into a time when the end is
// expected.
uint64_t wait_nap(const struct wait *wait);
void waits_learn(struct waits *last, uint64_t took_ns);

// Asks `query` again and again until it does not say RNL_NOT_READY (wait.c).
// `last`: kept with what is waited for.
rnl_status gpu_poll(rnl_status (*query)(void *), void *subject,
                    rnl_sync_policy policy, uint64_t deadline,
                    struct waits *last);
