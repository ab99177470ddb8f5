// One op run by several threads.
#pragma once

#include "backends/cpu/kernel/launch_history.h"
#include "backends/cpu/scheduler/pool.h"

#define FAILURE_MESSAGE_SIZE 512

struct parallel_for {
    struct parallel_for *next, **link;  // guarded by the pool's lock
    struct queue *queue;
    const struct op *op;
    // Runs units `first` … `first + count - 1`; on failure writes a sentence
    // of at most FAILURE_MESSAGE_SIZE bytes.
    rnl_status (*run)(const struct parallel_for *loop, uint64_t first,
                      uint64_t count, char *message);
    uint64_t total;
    uint64_t unit;                   // blocks, of a kernel whose lanes are some
    unsigned most;                   // threads that may take part
    uint64_t share;                  // units taken at once; 0: shrinking parts
    uint64_t share_most;             // the most of those; 0: any
    uint64_t first_most;             // units of the first share of each
    uint64_t limit, share_ticks;     // of any share: units, and about how long
    uint64_t limit_end;              // clock_ticks when little work is left:
                                     // `limit` is over
    unsigned rank;                   // of its stream's priority
    struct stop_scope scope;
    struct launch_history *history;  // of the kernel; NULL: it is not kept
    _Atomic uint64_t spent;          // ticks, by all who have left
    uint64_t mean;                   // of the last launches; 0: not known
    _Atomic uint64_t long_ticks, long_units;  // of shares with long units
    bool in_rows;                    // many units in a row are best run at once
    // Code for the block's size runs all units, or none: each code has an order
    // of blocks of its own.
    bool specialised;
    // For a plan, whose steps are not numbered: runs a step; whether a step is
    // ready.
    struct plan *plan;
    bool waits_outside;              // a thread may wait while it takes part
    bool (*take)(struct parallel_for *loop, bool worker);
    bool (*any)(const struct parallel_for *loop, bool worker);
    _Atomic bool poked;              // what a step waits for may be over
    bool open;                       // listed; guarded by the pool's lock
    // On a cache line of its own, because all threads write it for each share.
    _Alignas(64) _Atomic uint64_t taken;
    _Alignas(64) _Atomic uint32_t participants;  // futex of the owner
    _Atomic uint32_t failed;
    rnl_status status;               // of the first failure
    char message[FAILURE_MESSAGE_SIZE];
};

// Runs the whole loop: alone if short, otherwise with joining threads. Returns
// loop->status. `parallel` skips the try alone.
//
// Each thread sizes its next share in take_part: part_size divides the units
// that are left, and keep_pace limits the result by the time of the thread's
// last share. With `parallel`, shares are equal (equal_shares).
rnl_status parallel_for_run(struct pool *pool, struct parallel_for *loop,
                            bool parallel);

// Opens a plan's loop to further threads, because a step is ready. A pool of a
// single thread opens the loop only if that thread `blocks`.
void parallel_for_offer(struct pool *pool, struct parallel_for *loop,
                        bool blocks);

// The same for what a step waits for. True when the pool is to be notified.
bool parallel_for_poke(struct pool *pool, struct parallel_for *loop);

// For the owner, who found no ready step: closes the loop and waits for all
// joined threads. False as soon as a step is ready again.
bool parallel_for_close(struct pool *pool, struct parallel_for *loop,
                        bool worker);

// Joins some loop of the pool, or of `queue` if not NULL; false when there is
// none to join.
bool parallel_for_join(struct pool *pool, struct queue *queue);
