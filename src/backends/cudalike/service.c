#include "backends/cudalike/held.h"
#include "backends/cudalike/retire.h"
#include "backends/cudalike/shared_event.h"
#include "backends/cudalike/staging.h"

#include "base/clock.h"

#include <string.h>

#define WORDS_PER_PAGE 63

// A page of words; the first place is its head.
struct service_page {
    struct service_page *next;
    void *pointer;
    struct service_words words[WORDS_PER_PAGE];
};

// What the service shares with all others.
static struct lock list_lock;        // guards the next three
static struct stream *arrivals;      // linked by next_listed
static bool started;
static _Atomic uint32_t signal_word; // changes when there is news

// --- Words -----------------------------------------------------------------
//
// The device writes and reads the words themselves, so they are page-locked;
// what describes them is ordinary memory.

struct word_pair {
    _Alignas(64) _Atomic uint32_t reached;
    _Atomic uint32_t done;
};

static int page_add(struct gpu_context *gpu)
{
    struct service_page *page = mem_allocate(sizeof *page);
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
        struct service_words *words = &page->words[i];
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

// The first that nobody writes any more, taken out.
static struct service_words *take_settled_locked(struct gpu_context *gpu)
{
    struct service_words **link = &gpu->free_words;
    while (*link && atomic_load((*link)->reached) != (*link)->last)
        link = &(*link)->next;
    struct service_words *words = *link;
    if (!words)
        return NULL;
    *link = words->next;
    // Not every item was told to the device, so more may be done than that.
    atomic_store(words->done, words->last);
    atomic_store(&words->finished, words->last);
    return words;
}

// The context is current. NULL with the driver's code.
static struct service_words *words_take(struct gpu_context *gpu, int *code)
{
    struct service_words *words = NULL;
    *code = driver_use_begin() ? 0 : gpu->driver->out_of_memory;
    if (*code != 0)
        return NULL;  // the process is ending, and with it such memory
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

void service_words_drop(struct gpu_context *gpu, struct service_words *words,
                        uint32_t last)
{
    lock_take(&gpu->lock);
    words->last = last;
    words->next = gpu->free_words;
    gpu->free_words = words;
    lock_give(&gpu->lock);
}

void service_pages_finish(struct gpu_context *gpu)
{
    while (gpu->pages) {
        struct service_page *page = gpu->pages;
        gpu->pages = page->next;
        call_of(gpu)->host_free(page->pointer);
        mem_release(page, sizeof *page);
    }
}

// --- Items -----------------------------------------------------------------

// An item's own words: its number, and which number tells that the stream got
// there. Between them is what host.c needs.
#define NUMBER_WORD 0
#define COUNTED_WORD 1  // of a copy: quiet.c counts it already
#define TOLD_WORD 5
#define DUE_ALWAYS UINT64_MAX  // of an item without a number

static _Thread_local bool is_service;

bool service_is_here(void)
{
    return is_service;
}

rnl_status service_host_status(struct stream *stream, uint64_t sequence)
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

void service_item_done(struct stream *stream, struct op *op,
                       rnl_status status)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    uint32_t number = (uint32_t)op->backend[NUMBER_WORD];
    if (status != RNL_OK)
        timeline_fail(stream,
                      failure_create(stream, op->sequence, op, status,
                                     rnl_last_error()->message),
                      op->sequence, false);
    if (op->kind == OP_COPY)
        quiet_copy_end(gpu_of(stream_context(stream)));
    bool numbered = own->words && op->backend[TOLD_WORD] != DUE_ALWAYS;
    op_end_aside(op);  // what it calls may wait for what comes behind
    if (numbered)
        atomic_store_explicit(&own->words->finished, number,
                              memory_order_release);
    if (numbered && driver_use_begin()) {
        atomic_store_explicit(own->words->done, number, memory_order_release);
        driver_use_end();
    }
    if (!is_service)
        service_wake();
}

static void run_copy(struct stream *stream, struct op *op)
{
    bool failed = stream_leaves_out(stream, op->sequence);
    if (!failed && staging_takes(op) && staging_start(stream, op))
        return;
    service_item_done(stream, op,
                      failed ? RNL_OK : staging_copy(stream, op));
}

// False when it is not time yet. `asks`: the driver, as below.
static bool run_item(struct stream *stream, struct op *op, bool asks)
{
    if (op->kind == OP_WAIT && !(asks && held_wait_is_over(stream, op)))
        return false;
    if (op->kind == OP_TIMESTAMP)
        return shared_record_run(stream, op);
    if (op->kind == OP_COPY) {
        run_copy(stream, op);
    } else if (op->kind == OP_WAIT) {
        held_marker_over(op, true);
        service_item_done(stream, op, RNL_OK);
    } else {
        host_start(op);
    }
    return true;
}

// Whether the stream got to the item.
static bool is_due(struct stream *stream, const struct op *op)
{
    const struct gpu_stream *own = gpu_stream_of(stream);
    return op->backend[TOLD_WORD] == DUE_ALWAYS ||
           context_is_lost(stream_context(stream)) ||
           (int32_t)(atomic_load_explicit(own->words->reached,
                                          memory_order_acquire) -
                     (uint32_t)op->backend[TOLD_WORD]) >= 0;
}

static struct op *next_item(struct stream *stream, bool only_copies)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->list_lock);
    struct op *op = own->items;
    bool host = op && op->kind == OP_HOST;
    if (op && only_copies && op->kind != OP_COPY)
        op = NULL;
    if (op && ((host && own->calls_host) || !is_due(stream, op)))
        op = NULL;
    if (op && op->kind == OP_COPY && !op->backend[COUNTED_WORD] &&
        !quiet_copy_begin(gpu_of(stream_context(stream))))
        op = NULL;
    if (op) {
        own->items = op->next;
        own->calls_host |= host;
    }
    lock_give(&own->list_lock);
    return op;
}

static struct op *next_host(struct stream *stream, bool *out_left)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&own->list_lock);
    struct op *op = own->items;
    *out_left = op != NULL;
    if (op && op->kind == OP_HOST && is_due(stream, op))
        own->items = op->next;
    else
        op = NULL;
    own->calls_host = op != NULL;
    lock_give(&own->list_lock);
    return op;
}

struct op *service_next_host(struct stream *stream)
{
    if (!driver_use_begin())
        return NULL;
    bool left;
    struct op *op = next_host(stream, &left);
    driver_use_end();
    if (!op && left)
        service_wake();
    return op;
}

void service_help(struct stream *stream)
{
    if (!atomic_load_explicit(&gpu_stream_of(stream)->holds,
                              memory_order_acquire))
        return;
    struct op *op = NULL;
    if (driver_use_begin()) {
        op = next_item(stream, true);
        driver_use_end();
    }
    if (op)
        service_item_done(stream, op,
                          stream_leaves_out(stream, op->sequence)
                              ? RNL_OK
                              : staging_copy_with(stream, op));
}

static void put_back(struct gpu_stream *own, struct op *op)
{
    lock_take(&own->list_lock);
    op->next = own->items;
    if (!own->items)
        own->items_last = op;
    own->items = op;
    lock_give(&own->list_lock);
}

// True when there was something to do.
static bool run_items(struct stream *stream, bool asks)
{
    bool did = false;
    struct op *op;
    while ((op = next_item(stream, false))) {
        if (!run_item(stream, op, asks)) {
            put_back(gpu_stream_of(stream), op);
            return did;
        }
        did = true;
    }
    return did;
}

// Where nothing is between, the device need not tell again.
static bool follows(struct stream *stream, const struct op *op)
{
    const struct gpu_stream *own = gpu_stream_of(stream);
    if (context_is_lost(stream_context(stream)))
        return true;
    return own->last != LAST_WORK && own->waited != own->asked &&
           (!stream_waits_for_host_locked(stream) ||
            (own->last == LAST_HOST && op->kind == OP_HOST));
}

void service_await_copies_locked(struct stream *stream)
{
    const struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    bool all;
    do {
        all = true;
        lock_take(&own->list_lock);
        for (struct op *op = own->items; op; op = op->next)
            if (op->kind == OP_COPY && !op->backend[COUNTED_WORD]) {
                bool counted = quiet_copy_urgent(gpu);
                op->backend[COUNTED_WORD] = counted;
                all = all && counted;
            }
        lock_give(&own->list_lock);
        // The service goes without: others may wait for what it does.
        if (!all && !is_service)
            quiet_await(gpu);
    } while (!all && !is_service);
}

static void list_item(struct gpu_stream *own, struct op *op)
{
    op->next = NULL;
    lock_take(&own->list_lock);
    if (own->items)
        own->items_last->next = op;
    else
        own->items = op;
    own->items_last = op;
    lock_give(&own->list_lock);
}

// Takes the newest one back. False when the service has it already, which takes
// all of them once the device is lost.
static bool unlist_item(struct gpu_stream *own, const struct op *op)
{
    struct op **link = &own->items, *last = NULL;
    lock_take(&own->list_lock);
    for (; *link && *link != op; link = &(*link)->next)
        last = *link;
    bool found = *link != NULL;
    *link = NULL;
    own->items_last = last;
    lock_give(&own->list_lock);
    return found;
}

static int ask_locked(struct stream *stream, struct op *op, bool tells)
{
    struct gpu_context *gpu = gpu_of(stream_context(stream));
    struct gpu_stream *own = gpu_stream_of(stream);
    int code = 0;
    if (!own->words) {
        own->words = words_take(gpu, &code);
        own->asked = own->words ? own->words->last : own->asked;
        own->told = own->waited = own->asked;
    }
    if (!own->words && !context_is_lost(stream_context(stream)))
        return code;
    // The device may have been lost after the caller looked.
    tells = tells && own->words;
    uint32_t number = own->asked + 1, told = tells ? number : own->told;
    uint64_t before = op->sequence - 1;
    int last = op->kind == OP_HOST ? LAST_HOST : LAST_COPY;
    // In the list first: the device may get there at once. From then on the op
    // may be over, and somebody else's.
    op->backend[NUMBER_WORD] = number;
    op->backend[TOLD_WORD] = told;
    if (op->kind == OP_COPY)
        op->backend[COUNTED_WORD] = false;
    list_item(own, op);
    code = tells ? call_of(gpu)->stream_write32(
                       own->handle,
                       (uint64_t)(uintptr_t)own->words->reached, told, 0)
                 : 0;
    if (code != 0 && unlist_item(own, op))
        return code;
    if (own->last == LAST_WORK)
        own->solid = before;
    own->last = last;
    own->told = told;
    own->asked = number;
    own->waited += !own->words;
    atomic_store_explicit(&own->holds, true, memory_order_release);
    if (atomic_load_explicit(&own->shared, memory_order_relaxed))
        stream_wait_there_locked(stream);
    service_wake();
    return 0;
}

int service_ask_locked(struct stream *stream, struct op *op)
{
    return ask_locked(stream, op, !follows(stream, op));
}

void service_ask_anyway_locked(struct stream *stream, struct op *op)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    if (own->words && ask_locked(stream, op, false) == 0)
        return;
    op->backend[TOLD_WORD] = DUE_ALWAYS;
    list_item(own, op);
    service_wake();
}

// --- The thread ------------------------------------------------------------

enum look { LOOK_IDLE, LOOK_BUSY, LOOK_MOVED, LOOK_WAITING, LOOK_DID };

static void look_at_marker(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    struct marker *marker = atomic_load(&own->marker);
    rnl_status status =
        marker ? marker_query(stream_context(stream), marker) : RNL_NOT_READY;
    if (status == RNL_NOT_READY)
        return;
    uint64_t point = marker->value;
    atomic_store_explicit(&own->marker, NULL, memory_order_release);
    marker_drop(stream_context(stream), marker);
    if (status == RNL_OK)  // or it was recorded into a capture of others
        timeline_complete(stream_timeline(stream), point);
}

// `asks`: the driver, too.
static enum look look_at(struct stream *stream, bool asks, bool did)
{
    struct context *context = stream_context(stream);
    struct gpu_stream *own = gpu_stream_of(stream);
    did |= stream_hold_less(stream);
    uint64_t before = atomic_load(&timeline_of(own)->completed);
    if (asks)
        look_at_marker(stream);
    if (context_is_lost(context) && !context_still_copies(context))
        timeline_complete(stream_timeline(stream),
                          atomic_load(&stream->enqueued));
    // One that was borrowed may be gone: it is asked no more than needed.
    rnl_status status = RNL_OK;
    if (atomic_load(&timeline_of(own)->completed) <
        atomic_load(&stream->enqueued))
        status = asks ? gpu_stream_query(stream) : RNL_NOT_READY;
    else if (atomic_load(&timeline_of(own)->retired))
        timeline_end_retired(timeline_of(own));
    if (did)
        return LOOK_DID;
    bool moved = atomic_load(&timeline_of(own)->completed) != before;
    if (status == RNL_OK)
        return moved ? LOOK_MOVED : LOOK_IDLE;
    // It may never be idle: whoever submits next tells how far it is.
    atomic_store_explicit(&own->mark_wanted, true, memory_order_relaxed);
    lock_take(&own->list_lock);
    bool items = own->items != NULL ||
                 (atomic_load(&own->holds) && !atomic_load(&own->awaits));
    lock_give(&own->list_lock);
    return items ? LOOK_WAITING : moved ? LOOK_MOVED : LOOK_BUSY;
}

#define IDLE_ROUNDS 32
#define ASK_NS UINT64_C(20000)  // between two questions to the driver

// True when the stream has nothing left to look for, and is listed no more.
static bool may_leave(struct stream *stream, enum look look)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    if (look != LOOK_IDLE) {
        own->idle_rounds = 0;
        return false;
    }
    if (++own->idle_rounds < IDLE_ROUNDS || !lock_try(&own->lock))
        return false;
    lock_take(&own->list_lock);
    bool items = own->items != NULL;
    lock_give(&own->list_lock);
    bool leaves = atomic_load(&timeline_of(own)->completed) >=
                      atomic_load(&stream->enqueued) &&
                  !items && !atomic_load(&timeline_of(own)->retired) &&
                  !atomic_load(&own->holds) &&
                  !atomic_load(&own->marker);
    if (leaves)
        own->listed = false;
    lock_give(&own->lock);
    own->idle_rounds = 0;
    return leaves;
}

static struct stream *take_arrivals(struct stream *list)
{
    lock_take(&list_lock);
    while (arrivals) {
        struct stream *stream = arrivals;
        arrivals = gpu_stream_of(stream)->next_listed;
        gpu_stream_of(stream)->next_listed = list;
        list = stream;
    }
    lock_give(&list_lock);
    return list;
}

static enum look look_at_all(struct stream **list, bool asks)
{
    enum look most = LOOK_IDLE;
    struct stream **link = list;
    while (*link) {
        struct stream *stream = *link;
        struct gpu_stream *own = gpu_stream_of(stream);
        enum look look = run_items(stream, asks) ? LOOK_DID : LOOK_WAITING;
        struct quiet *quiet =
            quiet_look_begin(gpu_of(stream_context(stream)));
        if (quiet)
            look = look_at(stream, asks, look == LOOK_DID);
        else if (stream_write_held(stream))
            look = LOOK_DID;  // what the device waits for
        if (quiet)
            quiet_look_end(quiet);
        most = look > most ? look : most;
        // One that leaves may be listed anew at once.
        struct stream *next = own->next_listed;
        if (may_leave(stream, look)) {
            *link = next;
            stream_drop(stream);
        } else {
            link = &own->next_listed;
        }
    }
    return most;
}

// Short while somebody waits for the host, longer the longer nothing happens.
// Nobody waits for streams to get on: looking at them more often would only be
// in the way of those who give them work.
static uint64_t calm_nap(enum look look, uint64_t quiet_ns)
{
    if (look == LOOK_WAITING)
        return quiet_ns < 1000000    ? 0
               : quiet_ns < 20000000 ? ASK_NS
                                     : 200000;
    return quiet_ns < 10000000 ? 500000 : 2000000;
}

// A round that asked the driver nothing is soon followed by one that does.
static uint64_t nap_length(enum look look, bool asked, uint64_t quiet_ns)
{
    uint64_t nap = look == LOOK_DID ? 0 : calm_nap(look, quiet_ns);
    return asked || nap < ASK_NS ? nap : ASK_NS;
}

// Looks at the waits of streams for shared events.
static enum look look_at_waits(void)
{
    bool left;
    return shared_waits_look(&left) ? LOOK_DID
           : left                   ? LOOK_WAITING
                                    : LOOK_IDLE;
}

static void *run(void *unused)
{
    struct stream *list = NULL;
    uint64_t last = clock_now(), asked = 0;
    uint32_t news = 0;
    is_service = true;
    reaper_spare_thread();
    for (;;) {
        uint32_t seen = atomic_load(&signal_word);
        bool asks = clock_now() - asked >= ASK_NS;
        list = take_arrivals(list);
        if (!driver_use_begin())
            driver_use_never();
        bool idle = list == NULL;
        enum look waits = look_at_waits();  // lets streams on that come next
        enum look look = look_at_all(&list, asks);
        look = waits > look ? waits : look;
        driver_use_end();
        if (idle) {
            op_trim();  // nobody would miss them here
            futex_wait(&signal_word, seen, RNL_FOREVER);
            continue;
        }
        uint64_t now = clock_now();
        asked = asks ? now : asked;
        if (look == LOOK_DID || look == LOOK_MOVED || seen != news)
            last = now;
        news = seen;
        uint64_t nap = nap_length(look, asks, now - last);
        if (nap == 0)
            cpu_relax();
        else
            futex_wait(&signal_word, seen, now + nap);
    }
    return unused;
}

static bool start_locked(void)
{
    pthread_t thread;
    if (!started && reaper_start())
        started = thread_start(&thread, "rnl-service", run, NULL) &&
                  pthread_detach(thread) == 0;
    return started;
}

rnl_status service_list_new_locked(struct stream *stream)
{
    struct gpu_stream *own = gpu_stream_of(stream);
    lock_take(&list_lock);
    rnl_status status =
        start_locked()
            ? object_ref_for(&stream->object, "stream")
            : fail(RNL_ERROR_OUT_OF_MEMORY,
                   "the system starts no thread for the work of the host");
    if (status == RNL_OK) {
        own->listed = true;
        own->next_listed = arrivals;
        arrivals = stream;
    }
    lock_give(&list_lock);
    if (status == RNL_OK)
        service_wake();
    return status;
}

void service_wake(void)
{
    atomic_fetch_add(&signal_word, 1);
    futex_wake(&signal_word, 1);
}
