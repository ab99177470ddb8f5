#include "backends/cudalike/timeline/host_queue.h"

#include "backends/cudalike/driver/driver.h"
#include "backends/cudalike/driver/gpu_context.h"
#include "backends/cudalike/driver/sync_gate.h"
#include "backends/cudalike/timeline/device_lost.h"
#include "backends/cudalike/timeline/gpu_stream.h"
#include "backends/cudalike/timeline/graph_fence.h"
#include "backends/cudalike/timeline/progress.h"
#include "backends/cudalike/timeline/retire.h"
#include "backends/cudalike/timeline/timeline.h"

#include <string.h>

#define WORDS_PER_PAGE 63

// A page-locked page of word pairs, and their descriptions.
struct host_words_page {
    struct host_words_page *next;
    void *pointer;
    struct host_words words[WORDS_PER_PAGE];
};

// --- Words -----------------------------------------------------------------
//
// The device writes and reads the words themselves, so the words are
// page-locked; the descriptions are ordinary memory.

struct word_pair {
    _Alignas(64) _Atomic uint32_t reached;
    _Atomic uint32_t done;
};

// The address on the device is the same.
static uint64_t word_address(const _Atomic uint32_t *word)
{
    return (uint64_t)(uintptr_t)word;
}

static int page_add(struct gpu_context *gpu)
{
    struct host_words_page *page = mem_allocate(sizeof *page);
    if (!page)
        return gpu->driver->out_of_memory;
    size_t size = WORDS_PER_PAGE * sizeof(struct word_pair);
    int code = call_of(gpu)->host_allocate(
        &page->pointer, size, DRIVER_HOST_PORTABLE | DRIVER_HOST_MAPPED);
    if (code != 0) {
        mem_release(page, sizeof *page);
        return code;
    }
    memset(page->pointer, 0, size);
    lock_take(&gpu->lock);
    struct word_pair *pairs = page->pointer;
    for (size_t i = 0; i < WORDS_PER_PAGE; i++) {
        struct host_words *words = &page->words[i];
        words->reached = &pairs[i].reached;
        words->done = &pairs[i].done;
        words->next = gpu->free_words;
        gpu->free_words = words;
    }
    page->next = gpu->pages;
    gpu->pages = page;
    lock_give(&gpu->lock);
    return 0;
}

// HIP waits for no count that wrapped around: words that went far are left.
#define LAST_MOST (UINT32_C(1) << 30)

// Takes out the first pair that no previous owner's write can still change.
static struct host_words *take_settled_locked(struct gpu_context *gpu)
{
    ASSERT(lock_is_held(&gpu->lock));
    struct host_words **link = &gpu->free_words;
    while (*link && ((*link)->last > LAST_MOST ||
                     atomic_load((*link)->reached) != (*link)->last))
        link = &(*link)->next;
    struct host_words *words = *link;
    if (!words)
        return NULL;
    *link = words->next;
    // The last operations may have been done without an announcement, so `done`
    // may be larger than `reached`.
    atomic_store(words->done, words->last);
    atomic_store(&words->completed, words->last);
    return words;
}

// The context is current. NULL with the driver's code.
static struct host_words *words_take(struct gpu_context *gpu, int *code)
{
    struct host_words *words = NULL;
    *code = driver_use_begin() ? 0 : gpu->driver->out_of_memory;
    if (*code != 0)
        return NULL;  // exiting: the words may be gone
    while (!words && *code == 0) {
        lock_take(&gpu->lock);
        words = take_settled_locked(gpu);
        lock_give(&gpu->lock);
        if (!words)
            *code = page_add(gpu);
    }
    driver_use_end();
    return words;
}

void host_words_drop(struct gpu_context *gpu, struct host_words *words,
                        uint32_t last)
{
    lock_take(&gpu->lock);
    words->last = last;
    words->next = gpu->free_words;
    gpu->free_words = words;
    lock_give(&gpu->lock);
}

void host_words_finish(struct gpu_context *gpu)
{
    while (gpu->pages) {
        struct host_words_page *page = gpu->pages;
        gpu->pages = page->next;
        call_of(gpu)->host_free(page->pointer);
        mem_release(page, sizeof *page);
    }
}

// --- Operations --------------------------------------------------------------

static inline struct host_op *host_op_of(const struct op *op)
{
    return &gpu_op_of(op)->host;
}

rnl_status host_function_status(struct stream *stream, uint64_t sequence)
{
    struct context *context = stream_context(stream);
    struct failure *lost = atomic_load(&context->lost);
    rnl_status status = lost ? lost->status : RNL_OK;
    struct failure *failure = !lost && stream_leaves_out(stream, sequence)
                                  ? stream_get_failure(stream) : NULL;
    if (failure) {
        status = failure_status(failure, stream);
        failure_unref(failure);
    }
    return status;
}

void host_queue_complete(struct stream *stream, struct op *op,
                         rnl_status status)
{
    struct host_words *words = gpu_stream_of(stream)->host.words;
    uint32_t number = host_op_of(op)->number;
    if (status != RNL_OK)
        timeline_fail(stream,
                      failure_create(stream, op->sequence, op, status,
                                     rnl_last_error()->message),
                      op->sequence, false);
    if (op->kind == OP_COPY)
        sync_gate_copy_end(gpu_of(stream_context(stream)));
    bool numbered = words && !host_op_of(op)->due_always;
    op_end_aside(op);  // a deleter may wait for later work
    // On a lost device operations end without waiting for the operations
    // before.
    ASSERT(!numbered || context_is_lost(stream_context(stream)) ||
           (int32_t)(number - atomic_load(&words->completed)) > 0);
    if (numbered)
        atomic_store_explicit(&words->completed, number, memory_order_release);
    if (numbered && driver_use_begin()) {
        atomic_store_explicit(words->done, number, memory_order_release);
        driver_use_end();
    }
    if (!progress_is_here())
        progress_wake();
}

// True if the operations of the host before this one are done. If the stream
// did not announce an operation, the announcement of the one before counts.
static bool is_next(const struct host_queue *queue, const struct op *op)
{
    uint32_t completed = atomic_load_explicit(&queue->words->completed,
                                              memory_order_acquire);
    return (int32_t)(completed + 1 - host_op_of(op)->number) >= 0;
}

// True if the stream got to the operation.
static bool is_due(struct stream *stream, const struct op *op)
{
    const struct gpu_stream *own = gpu_stream_of(stream);
    return host_op_of(op)->due_always ||
           context_is_lost(stream_context(stream)) ||
           ((int32_t)(atomic_load_explicit(own->host.words->reached,
                                           memory_order_acquire) -
                      host_op_of(op)->announced) >= 0 &&
            is_next(&own->host, op));
}

struct op *host_queue_take(struct stream *stream, bool only_copies)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->host.lock);
    struct op *op = own->host.first;
    bool host = op && op->kind == OP_HOST;
    if (op && only_copies && op->kind != OP_COPY)
        op = NULL;
    if (op && ((host && own->host.calls) || !is_due(stream, op)))
        op = NULL;
    if (op && op->kind == OP_COPY && !host_op_of(op)->counted &&
        !sync_gate_copy_begin(gpu_of(stream_context(stream))))
        op = NULL;
    if (op) {
        own->host.first = op->next;
        own->host.calls |= host;
    }
    lock_give(&own->host.lock);
    return op;
}

static struct op *take_function(struct stream *stream, bool *out_left)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->host.lock);
    struct op *op = own->host.first;
    *out_left = op != NULL;
    if (op && op->kind == OP_HOST && is_due(stream, op))
        own->host.first = op->next;
    else
        op = NULL;
    own->host.calls = op != NULL;
    lock_give(&own->host.lock);
    return op;
}

struct op *host_queue_next_function(struct stream *stream)
{
    if (!driver_use_begin())
        return NULL;
    bool left;
    struct op *op = take_function(stream, &left);
    driver_use_end();
    if (!op && left)
        progress_wake();
    return op;
}

void host_queue_put_back(struct stream *stream, struct op *op)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->host.lock);
    op->next = own->host.first;
    if (!own->host.first)
        own->host.last = op;
    own->host.first = op;
    lock_give(&own->host.lock);
}

bool host_queue_has_work(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->host.lock);
    bool has_work = own->host.first != NULL;
    lock_give(&own->host.lock);
    return has_work;
}

// True if no work is between the operation and the previous one of the queue:
// the stream then announces only the previous one.
static bool follows(struct stream *stream, const struct op *op)
{
    const struct gpu_stream *own = gpu_stream_of(stream);
    if (context_is_lost(stream_context(stream)))
        return true;
    return own->last != LAST_WORK &&
           own->host.awaited != own->host.submitted &&
           (!host_queue_is_busy_locked(stream) ||
            (own->last == LAST_HOST && op->kind == OP_HOST));
}

bool host_queue_is_busy_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    const struct gpu_stream *own = gpu_stream_of(stream);
    if (own->host.submitted == own->host.awaited ||
        context_is_lost(stream_context(stream)))
        return false;
    uint32_t completed = atomic_load_explicit(&own->host.words->completed,
                                              memory_order_acquire);
    return (int32_t)(completed - own->host.submitted) < 0;
}

// The device is about to wait for the copies in the queue. Calls that wait for
// the whole device must therefore wait for these copies first (sync_gate.c).
static void count_copies_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    bool all;
    do {
        all = true;
        lock_take(&own->host.lock);
        for (struct op *op = own->host.first; op; op = op->next)
            if (op->kind == OP_COPY && !host_op_of(op)->counted) {
                bool counted = sync_gate_copy_urgent(gpu);
                host_op_of(op)->counted = counted;
                all = all && counted;
            }
        lock_give(&own->host.lock);
        // The progress thread does not wait here, because the call may need its
        // help to end.
        if (!all && !progress_is_here())
            sync_gate_await(gpu);
    } while (!all && !progress_is_here());
}

int host_queue_await_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    if (!host_queue_is_busy_locked(stream))
        return 0;
    count_copies_locked(stream);
    graph_fences_enable();
    stream_leave_fence_locked(stream);
    int code = gpu->points->await(call_of(gpu), own->handle,
                                  word_address(own->host.words->done),
                                  own->host.submitted);
    if (code == 0)
        own->host.awaited = own->host.submitted;
    return code;
}

static void list_op(struct host_queue *queue, struct op *op)
{
    op->next = NULL;
    lock_take(&queue->lock);
    if (queue->first)
        queue->last->next = op;
    else
        queue->first = op;
    queue->last = op;
    lock_give(&queue->lock);
}

// Takes the newest operation back. False if the progress thread already has the
// operation: on a lost device that thread takes all operations.
static bool unlist_op(struct host_queue *queue, const struct op *op)
{
    struct op **link = &queue->first, *last = NULL;
    lock_take(&queue->lock);
    for (; *link && *link != op; link = &(*link)->next)
        last = *link;
    bool found = *link != NULL;
    *link = NULL;
    queue->last = last;
    lock_give(&queue->lock);
    return found;
}

// The queue gets words with its first operation.
static int open_locked(struct stream *stream)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct host_queue *queue = &gpu_stream_of(stream)->host;
    int code = 0;
    if (queue->words)
        return 0;
    queue->words = words_take(gpu_of(stream_context(stream)), &code);
    if (queue->words)
        queue->submitted = queue->words->last;
    queue->announced = queue->awaited = queue->submitted;
    return queue->words || context_is_lost(stream_context(stream)) ? 0 : code;
}

// `announces`: the stream is to announce that it got to the operation.
static int submit_locked(struct stream *stream, struct op *op, bool announces)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    struct host_queue *queue = &own->host;
    int code = open_locked(stream);
    if (code != 0)
        return code;
    // Without words the device was lost after the caller's check.
    announces = announces && queue->words;
    uint32_t number = queue->submitted + 1;
    uint32_t announced = announces ? number : queue->announced;
    uint64_t before = op->sequence - 1;
    struct blame blame = op_blame(op);
    blame.label = NULL;  // ends with the op
    enum last last = op->kind == OP_HOST ? LAST_HOST : LAST_COPY;
    // The op is listed before the announcement, because the device may get to
    // the op at once. From then on the op may have ended and belong to another
    // thread.
    *host_op_of(op) =
        (struct host_op){.number = number, .announced = announced};
    list_op(queue, op);
    if (announces)
        code = gpu->points->announce(call_of(gpu), own->handle,
                                     word_address(queue->words->reached),
                                     announced);
    if (code != 0 && unlist_op(queue, op))
        return code;
    if (own->last == LAST_WORK)
        own->solid = before;
    own->last = last;
    queue->announced = announced;
    queue->submitted = number;
    queue->awaited += !queue->words;
    atomic_store_explicit(&own->defers, true, memory_order_release);
    code = atomic_load_explicit(&own->shared, memory_order_relaxed)
               ? host_queue_await_locked(stream)
               : 0;
    if (code != 0)
        stream_refuse_blamed(stream, &blame, code);
    progress_wake();
    return 0;
}

int host_queue_submit_locked(struct stream *stream, struct op *op)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    return submit_locked(stream, op, !follows(stream, op));
}

void host_queue_submit_refused_locked(struct stream *stream, struct op *op)
{
    ASSERT(lock_is_held(&gpu_stream_of(stream)->lock));
    struct host_queue *queue = &gpu_stream_of(stream)->host;
    if (queue->words && submit_locked(stream, op, false) == 0)
        return;
    *host_op_of(op) = (struct host_op){.due_always = true};
    list_op(queue, op);
    progress_wake();
}

