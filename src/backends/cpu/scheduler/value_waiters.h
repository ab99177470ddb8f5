// Queues that wait for a value in memory.
#pragma once

#include "backends/cpu/scheduler/queue.h"
#include "backends/cpu/scheduler/tuning.h"
#include "core/memory/memory_ops.h"

struct pool;

#define VALUE_WAITER_BUCKETS 64

// In the op or node that waits.
struct value_waiter {
    struct memory_op value;
    struct queue *queue;  // blocked; unblocked once the value holds
    struct value_waiter *next;
    _Atomic bool listed;
};

_Static_assert(sizeof(struct value_waiter) <= sizeof((struct op *)0)->backend,
               "a watch fits into its op");

struct value_waiters {
    _Alignas(64) _Atomic uint32_t count;
    _Atomic uint64_t looked, cost;  // clock_ticks of the last look at all
    _Alignas(64) struct lock lock;  // guards what follows
    uint64_t occupied;              // bit i: bucket i is not empty
    unsigned next;                  // where the sentinel goes on
    struct value_waiter *buckets[VALUE_WAITER_BUCKETS];  // by address
};

static inline struct value_waiter *op_value_waiter(struct op *op)
{
    return (struct value_waiter *)op->backend;
}

// Makes the pool look at `waiter` until its value holds; then the queue, which
// is the caller's, is unblocked. False when the value holds now: then nothing
// was added.
bool value_waiter_add(struct pool *pool, struct value_waiter *waiter);

// Takes it off again; false when the queue is being unblocked.
bool value_waiter_withdraw(struct pool *pool, struct value_waiter *waiter);

// Looks at the words at this address, after it was written. True when a queue
// was unblocked.
bool value_waiters_check_at(struct pool *pool, const char *address);

// Performs writes and waits from number `*done` on, until a wait is not over:
// then false, and the queue will be unblocked. A wait counts as done when it
// begins: the thread that removes the waiter has seen the value, which may have
// changed since.
bool memory_ops_run(struct queue *queue, const struct op_memory_ops *values,
                  size_t *done, struct value_waiter *waiter);

// "it waits for …". The waiter must be pending.
void value_waiter_describe(const struct value_waiter *waiter, char *text,
                           size_t size);

// The sentinel's behaviour while values are waited for and the pool has been
// idle for `idle` ns: the longest nap, and the number of buckets to poll after
// a nap if a full poll takes `cost` ticks.
uint64_t value_poll_nap_ns(uint64_t idle);
unsigned value_poll_share(uint64_t cost, uint64_t nap, uint64_t idle);

// Its look after a nap.
void value_poll_some(struct pool *pool, uint64_t nap, uint64_t idle);
