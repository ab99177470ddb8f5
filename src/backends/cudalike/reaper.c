#include "backends/cudalike/reaper.h"

#include "backends/cudalike/graph.h"
#include "backends/cudalike/service.h"

#include "base/clock.h"

// Between two looks at what cannot be freed yet.
#define TRASH_NS UINT64_C(2000000)

static struct lock reaper_lock;  // guards the next three
static bool started;
static struct task *first, *last;
static _Atomic uint32_t news;

static _Thread_local bool is_spared;

// --- The thread --------------------------------------------------------------

static struct task *take_all(void)
{
    lock_take(&reaper_lock);
    struct task *all = first;
    first = NULL;
    lock_give(&reaper_lock);
    return all;
}

static void run_all(struct task *task)
{
    while (task) {
        struct task *next = task->next;
        task->run(task);
        task = next;
    }
}

static void *run(void *unused)
{
    for (;;) {
        uint32_t seen = atomic_load(&news);
        struct task *tasks = take_all();
        if (!driver_use_begin())
            driver_use_never();
        run_all(tasks);
        bool left = trash_empty();
        driver_use_end();
        bool rests = !tasks && !left;
        if (rests)
            op_trim();  // nobody would miss them here
        futex_wait(&news, seen, rests ? RNL_FOREVER : clock_now() + TRASH_NS);
    }
    return unused;
}

bool reaper_start(void)
{
    pthread_t thread;
    driver_use_until_exit();
    lock_take(&reaper_lock);
    if (!started)
        started = thread_start(&thread, "rnl-reaper", run, NULL) &&
                  pthread_detach(thread) == 0;
    bool ok = started;
    lock_give(&reaper_lock);
    return ok;
}

void reaper_wake(void)
{
    atomic_fetch_add(&news, 1);
    futex_wake(&news, 1);
}

void reaper_spare_thread(void)
{
    is_spared = true;
}

static void reap(struct task *task, void (*how)(struct task *))
{
    if (!reaper_start()) {
        how(task);
        return;
    }
    task->run = how;
    task->next = NULL;
    lock_take(&reaper_lock);
    if (first)
        last->next = task;
    else
        first = task;
    last = task;
    lock_give(&reaper_lock);
    reaper_wake();
}

// --- What is over ------------------------------------------------------------

// The task is in the op, behind what graph.c has there.
#define TASK_WORD 2
_Static_assert(sizeof(struct task) <=
                   (OP_BACKEND_WORDS - TASK_WORD) * sizeof(uint64_t),
               "a task fits into its op");

static struct task *task_of(struct op *op)
{
    return (struct task *)(void *)&op->backend[TASK_WORD];
}

static struct op *op_of(struct task *task)
{
    return (struct op *)(void *)((char *)task - offsetof(struct op, backend) -
                                 TASK_WORD * sizeof(uint64_t));
}

static void finish(struct task *task)
{
    op_finish(op_of(task));
}

static void finish_graph(struct task *task)
{
    gpu_graph_over(op_of(task));
    op_finish(op_of(task));
}

// Whether it keeps nothing any more that ends with it.
static bool ends_alone(struct op *op)
{
    while (op->kept_count > 0 &&
           object_drop_unless_last(op->kept[op->kept_count - 1]))
        op->kept_count--;
    return op->kept_count == 0;
}

void op_end(struct op *op)
{
    if (is_spared && !ends_alone(op))
        reap(task_of(op), finish);
    else
        op_finish(op);
}

static void end_graph(struct op *op)
{
    if (is_spared)
        reap(task_of(op), finish_graph);
    else
        finish_graph(task_of(op));
}

void op_end_past(struct op *oldest)
{
    for (struct op *op = oldest, *next; op; op = next) {
        next = op->next;
        if (op->kind == OP_GRAPH)
            end_graph(op);
        else
            op_end(op);
    }
}

static void drop(struct task *task)
{
    struct stream *stream =
        (struct stream *)(void *)((char *)task -
                                  offsetof(struct gpu_stream, drop) -
                                  offsetof(struct stream, native));
    object_drop(&stream->object);
}

void stream_drop(struct stream *stream)
{
    if (!is_spared)
        object_drop(&stream->object);
    else if (!object_drop_unless_last(&stream->object))
        reap(&gpu_stream_of(stream)->drop, drop);
}
