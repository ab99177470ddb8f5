// The reaper: one thread for all contexts of all vendors, which does what may
// block.
#include "backends/cudalike/timeline/reaper.h"

#include "backends/cudalike/driver/driver_use.h"
#include "backends/cudalike/tuning.h"

#include "base/clock.h"
#include "core/stream/op.h"

_Atomic uint32_t reaper_tasks;

// Guards the next three.
static struct lock reaper_lock = LOCK_RANKED(RANK_LEAF);
static bool started;
static struct task *first, *last;
static _Atomic uint32_t news;
static bool (*_Atomic attended)(void);

// --- The thread --------------------------------------------------------------

static void do_task(struct task *task)
{
    task->run(task);
    if (COUNT_DOWN(&reaper_tasks) == 1)
        futex_wake(&reaper_tasks, INT32_MAX);
}

static struct task *take(void)
{
    lock_take(&reaper_lock);
    struct task *task = first;
    if (task)
        first = task->next;
    lock_give(&reaper_lock);
    return task;
}

// Does the tasks one at a time, so that waiting threads can help with the next.
// True if a task was done.
static bool do_all(void)
{
    bool did = false;
    for (struct task *task = take(); task; task = take()) {
        do_task(task);
        did = true;
    }
    return did;
}

static void *run(void *unused)
{
    for (;;) {
        uint32_t seen = atomic_load(&news);
        if (!driver_use_begin())
            driver_use_never();
        bool did = do_all();
        bool (*poll)(void) = atomic_load(&attended);
        bool left_over = poll && poll();
        driver_use_end();
        bool rests = !did && !left_over;
        if (rests)
            op_trim();  // an idle thread needs no cached ops
        futex_wait(&news, seen, rests ? RNL_FOREVER : clock_now() + IDLE_FREE_NS);
    }
    return unused;
}

static bool start_locked(void)
{
    ASSERT(lock_is_held(&reaper_lock));
    pthread_t thread;
    if (!started)
        driver_use_until_exit();
    if (!started)
        started = thread_start(&thread, "rnl-reaper", run, NULL) &&
                  pthread_detach(thread) == 0;
    return started;
}

bool reaper_start(void)
{
    lock_take(&reaper_lock);
    bool ok = start_locked();
    lock_give(&reaper_lock);
    return ok;
}

static void wake(void)
{
    atomic_fetch_add(&news, 1);
    futex_wake(&news, 1);
}

void reaper_attend(bool (*poll)(void))
{
    atomic_store(&attended, poll);
    reaper_start();
    wake();
}

void reaper_await(uint64_t patience_ns)
{
    uint64_t end = clock_now() + patience_ns;
    for (uint32_t now = atomic_load(&reaper_tasks);
         now > 0 && clock_now() < end; now = atomic_load(&reaper_tasks))
        futex_wait(&reaper_tasks, now, end);
}

void reaper_give(struct task *task, void (*how)(struct task *))
{
    task->run = how;
    task->next = NULL;
    lock_take(&reaper_lock);
    bool ok = start_locked();
    atomic_fetch_add(&reaper_tasks, 1);
    if (ok && first)
        last->next = task;
    else if (ok)
        first = task;
    last = task;
    lock_give(&reaper_lock);
    if (ok)
        wake();
    else
        do_task(task);
}

// --- Helping -----------------------------------------------------------------

static struct task *take_wanted_locked(bool (*wanted)(const struct task *task,
                                                      const void *subject),
                                       const void *subject)
{
    ASSERT(lock_is_held(&reaper_lock));
    struct task *before = NULL;
    struct task **link = &first;
    while (*link && !wanted(*link, subject)) {
        before = *link;
        link = &before->next;
    }
    struct task *task = *link;
    if (!task)
        return NULL;
    *link = task->next;
    if (!task->next)
        last = before;
    return task;
}

void reaper_run(bool (*wanted)(const struct task *task, const void *subject),
                const void *subject)
{
    struct task *task;
    do {
        lock_take(&reaper_lock);
        task = take_wanted_locked(wanted, subject);
        lock_give(&reaper_lock);
        if (task)
            do_task(task);
    } while (task);
}
