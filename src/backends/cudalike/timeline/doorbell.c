// The progress thread's interface for all threads: starting, waking, arrivals
// (progress.c).
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/reaper.h"

// Guards the next two.
static struct lock list_lock = LOCK_RANKED(RANK_PROGRESS);
static struct stream *arrivals;      // linked by next_watched
static bool started;
static _Atomic uint32_t signal_word; // changes when there is news
static _Thread_local bool is_progress_thread;

bool progress_is_here(void)
{
    return is_progress_thread;
}

static bool start_locked(const struct gpu_hooks *hooks)
{
    ASSERT(lock_is_held(&list_lock));
    pthread_t thread;
    if (!started && reaper_start())
        started = thread_start(&thread, "rnl-progress", hooks->progress,
                               NULL) &&
                  pthread_detach(thread) == 0;
    return started;
}

rnl_status progress_watch_new_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct gpu_stream *own = gpu_stream_of(stream);
    ASSERT(!own->watched);
    lock_take(&list_lock);
    rnl_status status =
        start_locked(gpu_of(stream_context(stream))->hooks)
            ? object_ref_for(&stream->object, "stream")
            : fail(RNL_ERROR_OUT_OF_MEMORY,
                   "the system starts no thread for the work of the host");
    if (status == RNL_OK) {
        own->watched = true;
        own->next_watched = arrivals;
        arrivals = stream;
    }
    lock_give(&list_lock);
    if (status == RNL_OK)
        progress_wake();
    return status;
}

void progress_wake(void)
{
    atomic_fetch_add(&signal_word, 1);
    futex_wake(&signal_word, 1);
}

void progress_begin(void)
{
    is_progress_thread = true;
}

uint32_t progress_news(void)
{
    return atomic_load(&signal_word);
}

void progress_sleep(uint32_t seen, uint64_t until)
{
    futex_wait(&signal_word, seen, until);
}

struct stream *progress_take_arrivals(struct stream *list)
{
    lock_take(&list_lock);
    while (arrivals) {
        struct stream *stream = arrivals;
        arrivals = gpu_stream_of(stream)->next_watched;
        gpu_stream_of(stream)->next_watched = list;
        list = stream;
    }
    lock_give(&list_lock);
    return list;
}
