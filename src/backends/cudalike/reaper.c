#include "backends/cudalike/reaper.h"

#include "backends/cudalike/graph.h"
#include "backends/cudalike/service.h"

#include "base/clock.h"

// Between two looks at what cannot be freed yet.
#define TRASH_NS UINT64_C(2000000)

static struct lock reaper_lock;  // guards the next three
static bool started;
static struct task *first, *last;
static _Atomic uint32_t left;    // tasks that are not done
static _Atomic uint32_t news;

static _Thread_local bool is_spared;

// --- The thread --------------------------------------------------------------

static void do_task(struct task *task)
{
    task->run(task);
    if (atomic_fetch_sub(&left, 1) == 1)
        futex_wake(&left, INT32_MAX);
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

// One at a time: others may help with the next. True when there was one.
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
        bool trash = trash_empty();
        driver_use_end();
        bool rests = !did && !trash;
        if (rests)
            op_trim();  // nobody would miss them here
        futex_wait(&news, seen, rests ? RNL_FOREVER : clock_now() + TRASH_NS);
    }
    return unused;
}

static bool start_locked(void)
{
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

void reaper_wake(void)
{
    atomic_fetch_add(&news, 1);
    futex_wake(&news, 1);
}

void reaper_spare_thread(void)
{
    is_spared = true;
}

void reaper_await(uint64_t patience_ns)
{
    uint64_t end = clock_now() + patience_ns;
    for (uint32_t now = atomic_load(&left); now > 0 && clock_now() < end;
         now = atomic_load(&left))
        futex_wait(&left, now, end);
}

static void reap(struct task *task, void (*how)(struct task *))
{
    task->run = how;
    task->next = NULL;
    lock_take(&reaper_lock);
    bool ok = start_locked();
    atomic_fetch_add(&left, 1);
    if (ok && first)
        last->next = task;
    else if (ok)
        first = task;
    last = task;
    lock_give(&reaper_lock);
    if (ok)
        reaper_wake();
    else
        do_task(task);
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

static void finish_graph(struct op *op)
{
    if (gpu_graph_owes(op))
        gpu_graph_call(op);
    gpu_graph_over(op);
    op_finish(op);
}

static void finish_kept_graph(struct task *task)
{
    struct stream *stream = op_of(task)->stream;
    finish_graph(op_of(task));
    object_drop(&stream->object);
}

// Whether it keeps nothing any more that ends with it.
static bool ends_alone(struct op *op)
{
    while (op->kept_count > 0 &&
           object_drop_unless_last(op->kept[op->kept_count - 1]))
        op->kept_count--;
    return op->kept_count == 0;
}

void op_end_aside(struct op *op)
{
    if (!ends_alone(op))
        reap(task_of(op), finish);
    else
        op_finish(op);
}

void op_end(struct op *op)
{
    if (is_spared)
        op_end_aside(op);
    else
        op_finish(op);
}

// Deleters, which the reaper calls, may wait for what these do.
static void call_for_graph(struct task *task)
{
    gpu_graph_call(op_of(task));
    reap(task, finish_kept_graph);
}

// It asks the stream for a failure.
static void end_graph(struct op *op)
{
    struct task *task = task_of(op);
    if (!is_spared) {
        finish_graph(op);
        return;
    }
    object_keep(&op->stream->object);  // which is listed
    task->run = call_for_graph;
    if (!gpu_graph_owes(op) || !host_add(task))
        reap(task, finish_kept_graph);
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

// --- Helping -----------------------------------------------------------------

static struct task *take_of_locked(const struct stream *stream)
{
    struct task *before = NULL;
    struct task **link = &first;
    while (*link && ((*link)->run == drop || op_of(*link)->stream != stream)) {
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

static void help(void *stream)
{
    struct task *task;
    do {
        lock_take(&reaper_lock);
        task = take_of_locked(stream);
        lock_give(&reaper_lock);
        if (task)
            do_task(task);
    } while (task);
}

void reaper_help(struct stream *stream)
{
    if (atomic_load_explicit(&left, memory_order_relaxed) > 0 && !is_spared)
        fail_beside(help, stream);
}
