// Events that several processes share (shared_event.c), for backends: the
// numbers of the records, and who is to be told that one is complete.
//
// A backend writes that a record is complete where its stream gets there, and
// lets waits end when they find it so. It never has to wait for a lock of
// another process.
#pragma once

#include "core/object/pool_state.h"

struct shared_event;  // counted; one of this process for each event object

// A new one, or the one of a key of another process: SHARE_KEY_SIZE untrusted
// bytes.
rnl_status shared_event_make(struct shared_event **out_shared);
rnl_status shared_event_open(const unsigned char *key,
                             struct shared_event **out_shared);
void shared_event_get_key(const struct shared_event *shared,
                          unsigned char *out_key);
struct shared_event *shared_event_keep(struct shared_event *shared);
void shared_event_drop(struct shared_event *shared);  // NULL is fine

// --- Records -----------------------------------------------------------------

// The number of the newest record of all processes; 0: there was none.
uint64_t shared_event_last(struct shared_event *shared);

// Takes the next number, for a record of this process. It gets the place of
// record `*out_older`, which has to be complete before; 0: that it is.
uint64_t shared_event_claim(struct shared_event *shared,
                            uint64_t *out_older);

// The word in which the number of a complete record, or a later one, is found.
_Atomic uint64_t *shared_event_word(struct shared_event *shared,
                                    uint64_t record);
static inline bool shared_event_is_done(struct shared_event *shared,
                                        uint64_t record)
{
    return atomic_load(shared_event_word(shared, record)) >= record;
}

// `failed`: its stream did. A record that still waits for its place can only be
// given up: shared_events_look then completes it, in its turn, as a failure.
void shared_event_complete(struct shared_event *shared, uint64_t record,
                           bool failed);

// RNL_OK, also for record 0, RNL_NOT_READY or RNL_ERROR_DEPENDENCY_FAILED; none
// is recorded.
rnl_status shared_event_state(struct shared_event *shared, uint64_t record);
// Why a record failed.
const char *shared_event_why(struct shared_event *shared, uint64_t record);

// --- Waits -------------------------------------------------------------------

// Around a wait of a stream. Until it ends, shared_events_look looks at the
// event.
void shared_event_begin_wait(struct shared_event *shared);
void shared_event_end_wait(struct shared_event *shared);

// Completes records of processes that ended, as failures. To be called often:
// it looks every 20 ms.
void shared_events_look(void);

// For the host: the state of `*record`, with the failure recorded, after such a
// look. With 0 it is set to the newest.
rnl_status shared_event_query(struct shared_event *shared, uint64_t *record);

// In the child after fork, which is another process.
void shared_events_forked(void);
