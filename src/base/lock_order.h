// The order of locks: one list for all of the library. docs/architecture.md
// says what the locks of the GPU backends guard.
//
// A thread that has locks waits only for one whose rank comes after all of
// theirs. lock_try, which does not wait, may take any. Builds with
// RUNNEL_CHECKS keep what is needed to check that, in each lock.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

enum lock_rank {
    RANK_NONE,           // only checked for being taken twice
    RANK_REGISTRY,       // registry_lock (timeline/idle_free.c)
    RANK_BATCH,          // stream->batch_lock
    RANK_EXEC,           // graph_exec->lock
    RANK_SUBMIT,         // submit_lock (stream/deferred.c)
    RANK_STREAM,         // gpu_stream->lock; several under submit_lock
    RANK_GPU_EXEC,
    RANK_GPU_EVENT,
    RANK_CPU_EXEC,
    RANK_CPU_PLAN,
    RANK_CPU_EVENT,
    RANK_QUEUE,          // queue->lock, a stream of the cpu backend
    RANK_TIMELINE,
    RANK_HOST_LISTS,     // lists_lock (graph/host_node.c)
    RANK_GPU_PLAN,
    RANK_CONTEXT,        // context->lock; several under registry_lock
    RANK_SNAPSHOT,       // graph_exec->snapshot_lock
    RANK_CAPTURE,        // capture_lock
    RANK_GRAPH,          // an outer graph's before those of its inner ones
    RANK_OWNED,          // context->owned_lock
    RANK_POOL_DEFERRED,  // memory_pool->deferred_lock
    RANK_POOL_PART,
    RANK_TABLE,          // table_lock (core/object/object.c)
    RANK_HOST_QUEUE,     // host_queue->lock
    RANK_PROGRESS,       // list_lock (timeline/doorbell.c)
    RANK_WATCHDOG,
    RANK_LOADING,        // loading (base/dynlib.c)
    RANK_LEAF,           // no lock is taken under it
};

#ifdef RUNNEL_CHECKS
struct lock_order {
    enum lock_rank rank;
    const void *_Atomic owner;  // an address of the thread's own; NULL: nobody
    struct lock_order *before;  // what the owner had taken before it
};

// Ends the process where the thread may not wait for the lock.
void lock_order_check(const struct lock_order *order);
void lock_order_taken(struct lock_order *order);
void lock_order_given(struct lock_order *order);

#define LOCK_RANKED(its_rank) {.order = {.rank = (its_rank)}}
#define LOCK_CHECK(lock) lock_order_check(&(lock)->order)
#define LOCK_TAKEN(lock) lock_order_taken(&(lock)->order)
#define LOCK_GIVEN(lock) lock_order_given(&(lock)->order)
#define LOCK_SET_RANK(lock, its_rank) ((void)((lock)->order.rank = (its_rank)))
#else
#define LOCK_RANKED(its_rank) {0}
#define LOCK_CHECK(lock) ((void)(lock))
#define LOCK_TAKEN(lock) ((void)(lock))
#define LOCK_GIVEN(lock) ((void)(lock))
#define LOCK_SET_RANK(lock, its_rank) ((void)(lock), (void)(its_rank))
#endif
