// Events that several processes share. The state is a page that all have
// mapped. Each record has a number and a place in the page; where its stream
// gets there, the number is written. Waits are waits for that word.
//
// Whoever waits looks now and then whether the process that recorded is still
// alive, and otherwise writes the number in its stead, as a failure.

#include "backends/cpu/cpu.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { PLACES = 255, LOOK_NS = 20000000, NAP_NS = 100000 };

enum cause { CAUSE_NONE, CAUSE_STREAM, CAUSE_PROCESS };

// The entry of record n lies at n % PLACES and is reused once that record is
// complete.
struct entry {
    _Atomic uint64_t record;  // what process and start are of
    _Atomic uint64_t done;    // the last complete record
    _Atomic uint64_t failed;  // the last one that failed, and …
    _Atomic uint32_t cause;   // … why
    _Atomic uint32_t process;
    _Atomic uint64_t start;   // of the process, by which it differs from others
};

struct page {
    _Atomic uint64_t records;  // how many there were
    struct entry places[PLACES];
};

struct shared_event {
    struct shared_event *next;
    struct memory memory;
    _Atomic uint32_t waits;  // of streams, under way
    unsigned char key[SHARE_KEY_SIZE];
};

static struct lock list_lock;  // guards the list and the life of its pages
static struct shared_event *list;
static _Atomic uint64_t looked;

static struct page *page_of(const struct shared_event *shared)
{
    return shared->memory.host;
}

static struct entry *place_of(struct page *page, uint64_t record)
{
    return &page->places[record % PLACES];
}

// --- Processes ---------------------------------------------------------------

struct process {
    bool alive;
    uint64_t start;
};

// A process that ended stays as a zombie until its parent has seen it, and so
// does the first thread of one that goes on with others.
static struct process process_of(uint32_t pid)
{
    char path[64], text[1024], state = 0;
    long threads = 0;
    struct process process = {0};
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[size > 0 ? size : 0] = '\0';
    const char *rest = strrchr(text, ')');  // the name may hold anything
    if (rest && sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
                                 "%*u %*u %*d %*d %*d %*d %ld %*d %" SCNu64,
                       &state, &threads, &process.start) == 3)
        process.alive = (state != 'Z' && state != 'X') || threads > 1;
    return process;
}

// The start time of this process, which never changes.
static uint64_t own_start(void)
{
    static _Atomic uint64_t start;
    uint64_t known = atomic_load_explicit(&start, memory_order_relaxed);
    if (known == 0) {
        known = process_of((uint32_t)getpid()).start;
        atomic_store_explicit(&start, known, memory_order_relaxed);
    }
    return known;
}

static void look_at_page(struct page *page)
{
    uint32_t pid = 0;
    struct process process = {0};
    for (size_t i = 0; i < PLACES; i++) {
        struct entry *place = &page->places[i];
        uint64_t record = atomic_load(&place->record);
        uint64_t done = atomic_load(&place->done);
        uint32_t recorder = atomic_load(&place->process);
        if (record <= done)
            continue;
        if (recorder != pid)
            process = process_of(pid = recorder);
        if (process.alive && process.start == atomic_load(&place->start))
            continue;
        atomic_store(&place->cause, CAUSE_PROCESS);
        atomic_store(&place->failed, record);
        atomic_compare_exchange_strong(&place->done, &done, record);
    }
}

static bool is_due(void)
{
    uint64_t last = atomic_load(&looked), now = clock_now();
    return now - last >= LOOK_NS &&
           atomic_compare_exchange_strong(&looked, &last, now);
}

void shared_events_look(void)
{
    if (!is_due())
        return;
    lock_take(&list_lock);
    for (struct shared_event *at = list; at; at = at->next)
        if (atomic_load(&at->waits) > 0)
            look_at_page(page_of(at));
    lock_give(&list_lock);
}

// --- Life --------------------------------------------------------------------

static rnl_status attach(struct event *event, unsigned char *key, bool opens)
{
    struct shared_event *shared = mem_allocate(sizeof *shared);
    if (!shared)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to note an interprocess event");
    *shared = (struct shared_event){0};
    if (opens)
        memcpy(shared->key, key, sizeof shared->key);
    struct context *context = event->object.context;
    rnl_status status =
        cpu_memory_share(context, opens, sizeof(struct page), shared->key,
                         &shared->memory);
    if (status != RNL_OK) {
        mem_release(shared, sizeof *shared);
        return status;
    }
    lock_take(&list_lock);
    shared->next = list;
    list = shared;
    lock_give(&list_lock);
    event_cpu(event)->shared = shared;
    return RNL_OK;
}

rnl_status shared_event_init(struct event *event)
{
    return attach(event, NULL, false);
}

rnl_status cpu_event_share(struct event *event, bool opens, unsigned char *key)
{
    if (opens)
        return attach(event, key, true);
    memcpy(key, event_cpu(event)->shared->key, SHARE_KEY_SIZE);
    return RNL_OK;
}

void shared_event_finish(struct shared_event *shared)
{
    lock_take(&list_lock);
    struct shared_event **link = &list;
    while (*link != shared)
        link = &(*link)->next;
    *link = shared->next;
    lock_give(&list_lock);
    cpu_share_end(shared->memory, sizeof(struct page));
    mem_release(shared, sizeof *shared);
}

// --- Streams -----------------------------------------------------------------

// An op with `size` bytes of its own that keeps the event. NULL after recording
// the failure.
static struct op *make_op(struct event *event, struct stream *stream,
                          enum op_kind kind, size_t size)
{
    struct op *op = op_create(stream, kind, size);
    if (!op)
        return NULL;
    if (object_keep_for(&event->object, "event") != RNL_OK) {
        op_finish(op);
        return NULL;
    }
    op->kept[op->kept_count++] = &event->object;
    return op;
}

// Kinds of STAMP ops of an interprocess event, in backend[1].
enum { STAMP_RECORDS = 1, STAMP_WAITED = 2 };

static struct op *make_stamp(struct event *event, struct stream *stream,
                             uint64_t what)
{
    struct op *op = make_op(event, stream, OP_STAMP, 0);
    if (op) {
        op->backend[0] = (uint64_t)(uintptr_t)event;
        op->backend[1] = what;
    }
    return op;
}

static struct op *make_wait(struct event *event, struct stream *stream)
{
    struct op *op = make_op(event, stream, OP_VALUES, sizeof(struct value));
    if (op)
        op->values = (struct op_values){.items = op->payload, .count = 1};
    return op;
}

static void aim(struct op *wait, struct entry *place, uint64_t record)
{
    *(struct value *)wait->payload =
        (struct value){.action = RNL_WAIT_GEQ, .width = 64,
                       .address = (char *)&place->done, .value = record};
}

static void complete(struct entry *place, uint64_t record, enum cause cause)
{
    if (cause != CAUSE_NONE) {
        atomic_store(&place->cause, cause);
        atomic_store(&place->failed, record);
    }
    atomic_store(&place->done, record);
}

// Takes the next number. A place that an older record still has is waited for
// on the stream.
static uint64_t claim(struct page *page, struct op *wait, bool *out_waits)
{
    uint64_t record = atomic_fetch_add(&page->records, 1) + 1;
    struct entry *place = place_of(page, record);
    uint64_t older = record > PLACES ? record - PLACES : 0;
    *out_waits = atomic_load(&place->done) < older;
    aim(wait, place, older);
    atomic_store(&place->process, (uint32_t)getpid());
    atomic_store(&place->start, own_start());
    atomic_store(&place->record, record);
    return record;
}

static rnl_status record_on(struct event *event, struct shared_event *shared,
                            struct stream *stream)
{
    struct page *page = page_of(shared);
    bool waits;
    struct op *wait = make_wait(event, stream);
    struct op *stamp = wait ? make_stamp(event, stream, STAMP_RECORDS) : NULL;
    if (!stamp) {
        if (wait)
            op_finish(wait);
        return fail_status();
    }
    uint64_t record = claim(page, wait, &waits);
    stamp->backend[2] = record;
    wait->next = stamp;
    rnl_status status =
        queue_submit(stream_queue(stream), waits ? wait : stamp, NULL);
    if (status != RNL_OK) {
        complete(place_of(page, record), record, CAUSE_STREAM);
        op_finish(stamp);
    }
    if (status != RNL_OK || !waits)
        op_finish(wait);
    return status;
}

static rnl_status join(struct event *event, struct shared_event *shared,
                       struct stream *stream)
{
    struct page *page = page_of(shared);
    uint64_t record = atomic_load(&page->records);
    struct entry *place = place_of(page, record);
    if (record == 0 || (atomic_load(&place->done) >= record &&
                        atomic_load(&place->failed) != record))
        return RNL_OK;
    struct op *wait = make_wait(event, stream);
    struct op *stamp = wait ? make_stamp(event, stream, STAMP_WAITED) : NULL;
    if (!stamp) {
        if (wait)
            op_finish(wait);
        return fail_status();
    }
    aim(wait, place, record);
    stamp->backend[2] = record;
    wait->next = stamp;
    atomic_fetch_add(&shared->waits, 1);
    rnl_status status = queue_submit(stream_queue(stream), wait, NULL);
    if (status != RNL_OK) {
        atomic_fetch_sub(&shared->waits, 1);
        op_finish(stamp);
        op_finish(wait);
    }
    return status;
}

typedef rnl_status use_fn(struct event *event, struct shared_event *shared,
                          struct stream *stream);

// Holds the event during `fn`: a caller may release the event, and with it the
// page, meanwhile.
static rnl_status use(struct event *event, struct stream *stream, use_fn *fn)
{
    rnl_status status = object_keep_for(&event->object, "event");
    if (status != RNL_OK)
        return status;
    struct shared_event *shared = event_cpu(event)->shared;
    status = shared ? fn(event, shared, stream)
                    : fail_at(RNL_ERROR_INVALID_HANDLE, "event",
                              "the event was released by another thread "
                              "during the call");
    object_drop(&event->object);
    return status;
}

rnl_status shared_event_record(struct event *event, struct stream *stream)
{
    return use(event, stream, record_on);
}

rnl_status shared_event_join(struct stream *stream, struct event *event)
{
    return use(event, stream, join);
}

static const char *words_for(const struct entry *place)
{
    return atomic_load(&place->cause) == CAUSE_PROCESS
               ? "the process that recorded the interprocess event ended "
                 "before its stream got there"
               : "the stream on which the interprocess event was recorded "
                 "failed";
}

void shared_event_stamp(struct op *op)
{
    struct event *event = (struct event *)(uintptr_t)op->backend[0];
    struct shared_event *shared = event_cpu(event)->shared;
    struct entry *place = place_of(page_of(shared), op->backend[2]);
    bool failed = atomic_load(&op->stream->failure) != NULL;
    if (op->backend[1] == STAMP_RECORDS) {
        complete(place, op->backend[2], failed ? CAUSE_STREAM : CAUSE_NONE);
        watch_look_at(stream_pool(op->stream), (char *)&place->done);
        return;
    }
    if (!failed && atomic_load(&place->failed) == op->backend[2])
        queue_fail(stream_queue(op->stream), op->sequence, op,
                   RNL_ERROR_DEPENDENCY_FAILED, words_for(place));
    atomic_fetch_sub(&shared->waits, 1);
}

// --- The host ----------------------------------------------------------------

static rnl_status look(struct event *event, uint64_t *record)
{
    struct cpu_event *cpu = event_cpu(event);
    rnl_status status = RNL_OK;
    lock_take(&cpu->lock);  // the page may go with the event's last reference
    if (cpu->shared) {
        struct page *page = page_of(cpu->shared);
        if (*record == 0)
            *record = atomic_load(&page->records);
        struct entry *place = place_of(page, *record);
        if (*record > 0 && atomic_load(&place->done) < *record) {
            // With this one, which is kept by the lock, all are looked at.
            atomic_fetch_add(&cpu->shared->waits, 1);
            shared_events_look();
            atomic_fetch_sub(&cpu->shared->waits, 1);
            status = RNL_NOT_READY;
        } else if (*record > 0 && atomic_load(&place->failed) == *record) {
            status = fail_at(RNL_ERROR_DEPENDENCY_FAILED, "event", "%s",
                             words_for(place));
        }
    }
    lock_give(&cpu->lock);
    return status;
}

rnl_status shared_event_query(struct event *event)
{
    uint64_t record = 0;
    return look(event, &record);
}

rnl_status shared_event_wait(struct event *event, uint64_t deadline)
{
    struct cpu_context *context = context_native(event->object.context);
    _Atomic uint32_t nobody = 0;
    uint64_t record = 0;
    rnl_status status;
    while ((status = look(event, &record)) == RNL_NOT_READY) {
        uint64_t now = clock_now(), next = now + NAP_NS;
        if (deadline != RNL_FOREVER && now >= deadline)
            return event_timed_out(event, "complete");
        pool_nudge(context->pool);
        futex_wait(&nobody, 0, next < deadline ? next : deadline);
    }
    return status;
}
