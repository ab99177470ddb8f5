// The state of an interprocess event is a page that all its processes map. Each
// record has a number and a slot in the page; a complete record's number is
// written to the slot. A wait is a wait for this word.
//
// A waiting process checks now and then whether the recording process is alive.
// If not, the waiter writes the number as a failure.
#include "core/stream/interprocess_event.h"

#include "base/clock.h"
#include "core/backend.h"
#include "core/object/interprocess_memory.h"
#include "core/object/pool_state.h"
#include "core/tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

enum { PLACES = 255, TURNS = 8 };

enum cause { CAUSE_NONE, CAUSE_STREAM, CAUSE_PROCESS };

// The process that made a record.
struct owner {
    _Atomic uint64_t record;
    _Atomic uint64_t start;    // of the process: numbers are used again
    _Atomic uint32_t process;  // 0: the record was given up
};

// The entry of record n lies at n % PLACES and is reused once that record is
// complete. Those that wait for the place are known, too, the first TURNS - 1.
struct record_slot {
    struct owner owners[TURNS];
    _Atomic uint64_t done;    // the last complete record
    _Atomic uint64_t failed;  // the last one that failed, and …
    _Atomic uint32_t cause;   // … why
};

struct page {
    _Atomic uint64_t records;  // how many there were
    struct record_slot places[PLACES];
};

struct shared_event {
    struct shared_event *next;
    struct memory memory;
    _Atomic uint32_t references;
    _Atomic uint32_t waits;  // under way
    unsigned char key[SHARE_KEY_SIZE];
};

// Guards the list and the life of its pages.
static struct lock list_lock = LOCK_RANKED(RANK_LEAF);
static struct shared_event *list;
static _Atomic uint64_t looked;

static struct page *page_of(const struct shared_event *shared)
{
    return shared->memory.host;
}

static struct record_slot *place_of(const struct shared_event *shared,
                              uint64_t record)
{
    return &page_of(shared)->places[record % PLACES];
}

static struct owner *owner_of(struct record_slot *place, uint64_t record)
{
    return &place->owners[record / PLACES % TURNS];
}

// The record that has the place of another before; 0: none.
static uint64_t before(uint64_t record)
{
    return record > PLACES ? record - PLACES : 0;
}

// --- Processes ---------------------------------------------------------------

// If the state of a process cannot be read, for example because no descriptor
// is free, the process counts as running.
struct peer_process {
    bool ended;
    uint64_t start;  // 0: not known
};

static struct peer_process read_process(int fd)
{
    char text[1024], state = 0;
    long threads = 0;
    struct peer_process process = {0};
    ssize_t size = read(fd, text, sizeof text - 1);
    process.ended = size < 0 && errno == ESRCH;
    text[size > 0 ? size : 0] = '\0';
    const char *rest = strrchr(text, ')');  // the name may hold anything
    // An ended process stays as a zombie until its parent reaps the process;
    // the first thread of a living process does, too.
    if (rest && sscanf(rest + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u "
                                 "%*u %*u %*d %*d %*d %*d %ld %*d %" SCNu64,
                       &state, &threads, &process.start) == 3)
        process.ended = (state == 'Z' || state == 'X') && threads <= 1;
    return process;
}

static struct peer_process process_of(uint32_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return (struct peer_process){.ended = errno == ENOENT};
    struct peer_process process = read_process(fd);
    close(fd);
    return process;
}

// The start time of this process; 0: not known yet.
static _Atomic uint64_t start;

static uint64_t own_start(void)
{
    uint64_t known = atomic_load_explicit(&start, memory_order_relaxed);
    if (known == 0) {
        known = process_of((uint32_t)getpid()).start;
        atomic_store_explicit(&start, known, memory_order_relaxed);
    }
    return known;
}

void shared_events_forked(void)
{
    list_lock = (struct lock)LOCK_RANKED(RANK_LEAF);
    atomic_store(&start, 0);
}

// Whether the process of that number is not the process started at `began`.
static bool has_ended(const struct peer_process *process, uint64_t began)
{
    return process->ended ||
           (process->start != 0 && began != 0 && process->start != began);
}

// The process that was looked at last: records in a row are often of one.
struct looked_at {
    uint32_t pid;
    struct peer_process process;
};

static void look_at(struct record_slot *place, struct owner *owner,
                    struct looked_at *last)
{
    uint64_t record = atomic_load(&owner->record);
    uint64_t done = atomic_load(&place->done);
    uint32_t pid = atomic_load(&owner->process);
    if (record <= done || done < before(record))
        return;
    if (pid != last->pid)
        *last = (struct looked_at){pid, process_of(pid)};
    if (pid != 0 && !has_ended(&last->process, atomic_load(&owner->start)))
        return;
    atomic_store(&place->cause, pid != 0 ? CAUSE_PROCESS : CAUSE_STREAM);
    atomic_store(&place->failed, record);
    atomic_compare_exchange_strong(&place->done, &done, record);
}

static void look_at_page(struct page *page)
{
    struct looked_at last = {0};
    for (size_t i = 0; i < PLACES; i++)
        for (size_t j = 0; j < TURNS; j++)
            look_at(&page->places[i],
                    &page->places[i].owners[j], &last);
}

static bool is_due(void)
{
    uint64_t last = atomic_load(&looked), now = clock_now();
    return now - last >= RECORDER_LOOK_NS &&
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

static rnl_status attach(const unsigned char *key,
                         struct shared_event **out_shared)
{
    struct shared_event *shared = mem_allocate(sizeof *shared);
    if (!shared)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to note an interprocess event");
    *shared = (struct shared_event){.references = 1};
    if (key)
        memcpy(shared->key, key, sizeof shared->key);
    rnl_status status =
        key ? interprocess_memory_open(key, sizeof(struct page),
                                       &shared->memory)
            : interprocess_memory_make(sizeof(struct page), shared->key,
                                       &shared->memory);
    if (status != RNL_OK) {
        mem_release(shared, sizeof *shared);
        return status;
    }
    lock_take(&list_lock);
    shared->next = list;
    list = shared;
    lock_give(&list_lock);
    *out_shared = shared;
    return RNL_OK;
}

rnl_status shared_event_make(struct shared_event **out_shared)
{
    return attach(NULL, out_shared);
}

rnl_status shared_event_open(const unsigned char *key,
                             struct shared_event **out_shared)
{
    return attach(key, out_shared);
}

void shared_event_get_key(const struct shared_event *shared,
                          unsigned char *out_key)
{
    memcpy(out_key, shared->key, sizeof shared->key);
}

struct shared_event *shared_event_keep(struct shared_event *shared)
{
    atomic_fetch_add(&shared->references, 1);
    return shared;
}

void shared_event_drop(struct shared_event *shared)
{
    if (!shared || COUNT_DOWN(&shared->references) != 1)
        return;
    lock_take(&list_lock);
    struct shared_event **link = &list;
    while (*link != shared)
        link = &(*link)->next;
    *link = shared->next;
    lock_give(&list_lock);
    interprocess_memory_end(shared->memory, sizeof(struct page));
    mem_release(shared, sizeof *shared);
}

// --- Records -----------------------------------------------------------------

uint64_t shared_event_last(struct shared_event *shared)
{
    return atomic_load(&page_of(shared)->records);
}

uint64_t shared_event_claim(struct shared_event *shared, uint64_t *out_older)
{
    uint64_t record = atomic_fetch_add(&page_of(shared)->records, 1) + 1;
    struct record_slot *place = place_of(shared, record);
    struct owner *owner = owner_of(place, record);
    uint64_t older = before(record);
    // The table forgets the maker of a record after PLACES * TURNS younger
    // records. If the maker has ended, this is the last chance to notice.
    if (atomic_load(&owner->record) > atomic_load(&place->done))
        look_at_page(page_of(shared));
    *out_older = atomic_load(&place->done) < older ? older : 0;
    atomic_store(&owner->process, (uint32_t)getpid());
    atomic_store(&owner->start, own_start());
    atomic_store(&owner->record, record);
    return record;
}

_Atomic uint64_t *shared_event_word(struct shared_event *shared,
                                    uint64_t record)
{
    return &place_of(shared, record)->done;
}

void shared_event_complete(struct shared_event *shared, uint64_t record,
                           bool failed)
{
    struct record_slot *place = place_of(shared, record);
    if (atomic_load(&place->done) < before(record)) {
        atomic_store(&owner_of(place, record)->process, 0);
        return;
    }
    if (failed) {
        atomic_store(&place->cause, CAUSE_STREAM);
        atomic_store(&place->failed, record);
    }
    atomic_store(&place->done, record);
}

rnl_status shared_event_state(struct shared_event *shared, uint64_t record)
{
    struct record_slot *place = place_of(shared, record);
    if (record == 0)
        return RNL_OK;
    if (atomic_load(&place->done) < record)
        return RNL_NOT_READY;
    return atomic_load(&place->failed) == record ? RNL_ERROR_DEPENDENCY_FAILED
                                                 : RNL_OK;
}

const char *shared_event_why(struct shared_event *shared, uint64_t record)
{
    return atomic_load(&place_of(shared, record)->cause) == CAUSE_PROCESS
               ? "the process that recorded the interprocess event ended "
                 "before its stream got there"
               : "the stream on which the interprocess event was recorded "
                 "failed";
}

// --- Waits -------------------------------------------------------------------

void shared_event_begin_wait(struct shared_event *shared)
{
    atomic_fetch_add(&shared->waits, 1);
}

void shared_event_end_wait(struct shared_event *shared)
{
    COUNT_DOWN(&shared->waits);
}

rnl_status shared_event_query(struct shared_event *shared, uint64_t *record)
{
    if (*record == 0)
        *record = shared_event_last(shared);
    rnl_status status = shared_event_state(shared, *record);
    if (status == RNL_NOT_READY) {
        shared_event_begin_wait(shared);
        shared_events_look();
        shared_event_end_wait(shared);
    } else if (status != RNL_OK) {
        fail_at(status, "event", "%s", shared_event_why(shared, *record));
    }
    return status;
}
