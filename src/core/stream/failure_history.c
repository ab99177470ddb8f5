#include "core/stream/failure.h"
#include "core/tuning.h"

struct failure *failure_history_find(const struct failure_history *history,
                                     uint64_t number)
{
    const struct failure_span *span = &history->newest;
    for (; span; span = span->older) {
        if (!span->failure || number < span->from || number > span->to)
            continue;
        atomic_fetch_add(&span->failure->references, 1);
        return span->failure;
    }
    return NULL;
}

// Takes the spans out of the list that are too many.
static struct failure_span *cut(struct failure_history *history)
{
    struct failure_span *last = &history->newest;
    for (int i = 0; last->older && i < FAILURES_OLDER_MOST; i++)
        last = last->older;
    struct failure_span *rest = last->older;
    last->older = NULL;
    return rest;
}

struct failure_span *failure_history_add(struct failure_history *history,
                                         struct failure_span span,
                                         struct failure_span *room)
{
    struct failure_span before = history->newest;
    history->newest = span;
    history->newest.older = room ? room : before.older;
    if (!room) {
        failure_unref(before.failure);
        return NULL;
    }
    *room = before;
    return cut(history);
}

void failure_spans_unref(struct failure_span *span)
{
    for (struct failure_span *older; span; span = older) {
        older = span->older;
        failure_unref(span->failure);
        mem_release(span, sizeof *span);
    }
}

void failure_history_finish(struct failure_history *history)
{
    failure_unref(history->newest.failure);
    failure_spans_unref(history->newest.older);
    history->newest = (struct failure_span){0};
}
