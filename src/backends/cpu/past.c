// What failed on a queue, also before it was reset.
#include "backends/cpu/cpu.h"

#define PASTS_MOST 8  // failures before resets that are known

static struct failure *find_past_locked(struct queue *queue, uint64_t sequence)
{
    for (struct past *at = &queue->past; at; at = at->older) {
        if (!at->failure || sequence < at->from || sequence > at->to)
            continue;
        atomic_fetch_add(&at->failure->references, 1);
        return at->failure;
    }
    return NULL;
}

bool queue_failed(struct queue *queue, uint64_t sequence,
                  struct failure **out)
{
    lock_take(&queue->lock);
    bool failed = queue->failed_at && queue->failed_at <= sequence;
    *out = failed ? stream_get_failure(queue->stream)
                  : find_past_locked(queue, sequence);
    lock_give(&queue->lock);
    return *out != NULL;
}

// What is submitted next, nothing at all included, has not failed: an idle
// queue steps over a number, so that its end is no longer among those that
// did.
static void step_over_locked(struct queue *queue)
{
    _Atomic uint64_t *submitted = &queue->stream->submitted;
    uint64_t last = atomic_load(submitted);
    if (atomic_load(&queue->completed) != last)
        return;
    atomic_store(&queue->completed, last + 1);
    atomic_store(submitted, last + 1);
}

static void free_pasts(struct past *past)
{
    while (past) {
        struct past *older = past->older;
        failure_drop(past->failure);
        mem_release(past, sizeof *past);
        past = older;
    }
}

void queue_forget(struct queue *queue)
{
    failure_drop(queue->past.failure);
    free_pasts(queue->past.older);
}

// Takes what is too old out of the list.
static struct past *cut_pasts_locked(struct queue *queue)
{
    struct past *last = &queue->past;
    for (int i = 0; last->older && i < PASTS_MOST; i++)
        last = last->older;
    struct past *cut = last->older;
    last->older = NULL;
    return cut;
}

// Work that waits for what failed before the reset must still not run. Without
// memory only the newest failure is known.
void queue_reset(struct queue *queue)
{
    struct failure *failure = stream_get_failure(queue->stream);
    if (!failure)
        return;
    struct past *older = mem_allocate(sizeof *older);
    lock_take(&queue->lock);
    struct past old = queue->past;
    queue->past = (struct past){failure, queue->failed_at,
                                atomic_load(&queue->completed),
                                older ? older : old.older};
    if (older)
        *older = old;
    queue->failed_at = 0;
    step_over_locked(queue);
    struct past *cut = cut_pasts_locked(queue);
    lock_give(&queue->lock);
    if (!older)
        failure_drop(old.failure);
    free_pasts(cut);
}
