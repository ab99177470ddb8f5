// Events that several processes share (interprocess_event.c), for backends: the
// numbers of records, and the waits for complete records.
//
// A backend writes that a record is complete when its stream reaches the
// record, and ends waits that find the record complete. No backend ever waits
// for a lock of another process.
#pragma once

#include "core/object/pool_state.h"

struct shared_event;  // counted; one of this process for each event object

// A new event, or the event of another process's key: SHARE_KEY_SIZE untrusted
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

// Takes the next number, for a record of this process. The record reuses the
// slot of record `*out_older`, which must complete first; 0: the slot is free.
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

// `failed`: the stream failed. A record without a slot can only be given up:
// shared_events_look later completes the record as a failure.
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

// For the host: the state of `*record` after shared_events_look, with the
// failure recorded. If `*record` is 0, sets the newest record.
rnl_status shared_event_query(struct shared_event *shared, uint64_t *record);

// In the child after fork, which is another process.
void shared_events_forked(void);
