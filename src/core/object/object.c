#include "core/object/object.h"

#include "core/object/context_object.h"
#include "core/object/handle.h"
#include "core/object/quarantine.h"
#include "core/object/release.h"

#include <stdio.h>
#include <string.h>

struct object_chunk object_first_chunk;
struct object_chunk *_Atomic object_chunks[OBJECT_CHUNKS] = {
    &object_first_chunk};

_Atomic uint32_t object_generations = OBJECT_GENERATIONS;
static _Atomic uint64_t last_id;

// Guards all below and every class's dead.
static struct lock table_lock = LOCK_RANKED(RANK_TABLE);
static uint32_t slot_count;
static uint32_t live_count;     // without those of static storage
static uint32_t first_generation = 1;  // of slots made from now on
static struct object_class *classes;

static const char *const kind_names[OBJECT_KINDS] = {
    "nothing", "device", "context",  "stream",
    "event",   "buffer", "module", "function",
    "graph",   "graph exec", "node",
};

const char *object_kind_name(enum object_kind kind)
{
    return kind_names[kind];
}

static const char *article(enum object_kind kind)
{
    return kind == OBJECT_EVENT ? "an" : "a";
}

uint64_t object_new_ids(uint64_t count)
{
    return atomic_fetch_add_explicit(&last_id, count, memory_order_relaxed) + 1;
}

uint64_t object_new_id(void)
{
    return object_new_ids(1);
}

void object_set_generations(uint32_t count)
{
    lock_take(&table_lock);
    object_generations = count;
    lock_give(&table_lock);
}

// --- Slots -----------------------------------------------------------------

static bool slot_add_locked(struct object *object)
{
    ASSERT(lock_is_held(&table_lock));
    uint32_t number = slot_count >> OBJECT_CHUNK_BITS;
    if (number >= OBJECT_CHUNKS)
        return false;
    struct object_chunk *chunk = atomic_load(&object_chunks[number]);
    if (!chunk) {
        chunk = mem_allocate(sizeof *chunk);
        if (!chunk)
            return false;
        atomic_store(&object_chunks[number], chunk);
    }
    object->index = slot_count++;
    atomic_init(&object->generation, first_generation);
    atomic_store(&chunk->slots[object->index % OBJECT_CHUNK_SIZE], object);
    return true;
}

static struct object *slot_object(uint32_t index)
{
    if (index >> OBJECT_CHUNK_BITS >= OBJECT_CHUNKS)
        return NULL;
    struct object_chunk *chunk =
        atomic_load(&object_chunks[index >> OBJECT_CHUNK_BITS]);
    return chunk ? atomic_load(&chunk->slots[index % OBJECT_CHUNK_SIZE]) : NULL;
}

struct object_class *object_class_of(struct object_class *class,
                                     const struct object_class *like,
                                     size_t size)
{
    if (atomic_load_explicit(&class->size, memory_order_acquire) == size)
        return class;
    lock_take(&table_lock);  // once, or after library_reopen
    if (atomic_load_explicit(&class->size, memory_order_relaxed) != size) {
        class->kind = like->kind;
        class->finish = like->finish;
        class->park = like->park;
        class->stays = like->stays;
        class->keeps_handle = like->keeps_handle;
        atomic_store_explicit(&class->size, size, memory_order_release);
    }
    lock_give(&table_lock);
    return class;
}

static void class_register_locked(struct object_class *class)
{
    ASSERT(lock_is_held(&table_lock));
    for (struct object_class *at = classes; at; at = at->next)
        if (at == class)
            return;
    class->next = classes;
    classes = class;
}

// --- Life ------------------------------------------------------------------

static struct object *take_memory(struct object_class *class)
{
    lock_take(&table_lock);
    struct object *object = object_quarantine_take(&class->dead, class->kind);
    live_count += object != NULL;
    lock_give(&table_lock);
    if (object) {
        text_release(object->label);
        memset(object + 1, 0, class->size - sizeof *object);
        return object;
    }
    // Backends group their fields by cache lines.
    object = mem_allocate_aligned(class->size, 64);
    if (!object)
        return NULL;
    object->class = class;
    lock_take(&table_lock);
    bool added = slot_add_locked(object);
    if (added) {
        class_register_locked(class);
        live_count++;
    }
    lock_give(&table_lock);
    if (!added) {
        mem_release(object, class->size);
        return NULL;
    }
    return object;
}

struct object *object_create(struct object_class *class,
                             struct context *context, const char *label)
{
    bool labelled = label && label[0];
    if (context && !object_ref_if_alive((struct object *)context)) {
        fail_at(RNL_ERROR_INVALID_HANDLE, "context",
                "the context was released by another thread during the call");
        return NULL;
    }
    char *copy = labelled ? text_copy(label) : NULL;
    struct object *object = labelled && !copy ? NULL : take_memory(class);
    if (!object) {
        text_release(copy);
        if (context)
            object_unref((struct object *)context);
        fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a new %s",
             kind_names[class->kind]);
        return NULL;
    }
    object->label = copy;
    object->context = context;
    object_revive(object, object_new_id());  // nobody else can see it yet
    return object;
}

// The label and pointers stay until the memory is reused, for a thread that
// still reads them; a slot without generations left is retired. The thread that
// gave up the last reference may reach begin_end only now.
static void bury(struct object *object)
{
    atomic_store_explicit(&object->counts, OBJECT_ENDS, memory_order_release);
    lock_take(&table_lock);
    ASSERT(live_count > 0);
    live_count--;
    uint32_t next = atomic_load_explicit(&object->generation,
                                         memory_order_relaxed) + 1;
    atomic_store_explicit(&object->generation, next, memory_order_relaxed);
    if (next < object_generations)
        object_quarantine_put(&object->class->dead, object);
    lock_give(&table_lock);
}

void object_abandon(struct object *object)
{
    struct context *context = object->context;
    bury(object);
    if (context)
        object_unref((struct object *)context);
}

// --- Guards ----------------------------------------------------------------

// Objects that were protected when the last reference went, linked by
// next_free. A thread that clears its hazard pointers ends them. The lock
// guards the list and the bit that tells of it.
static struct lock aside_lock = LOCK_RANKED(RANK_LEAF);
static struct object *aside;

static void end(struct object *object);

struct slot_search {
    const struct object *object;
    bool found;
};

static void look_for(const struct thread_state *thread, void *argument)
{
    struct slot_search *search = argument;
    for (int i = 0; i < HAZARDS; i++)
        search->found |= atomic_load_explicit(&thread->hazards[i],
                                              memory_order_acquire) ==
                         search->object;
}

static bool is_noted(const struct object *object)
{
    struct slot_search search = {.object = object};
    threads_visit(look_for, &search);
    return search.found;
}

// The handle of the object is dead: no further thread will protect the object.
static bool is_guarded(const struct object *object)
{
    asymmetric_fence_heavy();
    return is_noted(object);
}

// Whether this thread is inside a call that protects an object.
static bool call_guards(void)
{
    const void *any = NULL;
    for (int i = 0; i < HAZARDS && !any; i++)
        any = atomic_load_explicit(&thread_state.hazards[i],
                                   memory_order_relaxed);
    return any != NULL;
}

static void put_aside(struct object *object)
{
    lock_take(&aside_lock);
    object->next_free = aside;
    aside = object;
    atomic_fetch_or(&read_mostly.call_ends, CALL_ENDS_OBJECTS);
    lock_give(&aside_lock);
}

static struct object *take_aside(void)
{
    lock_take(&aside_lock);
    struct object *first = aside;
    aside = NULL;
    atomic_fetch_and(&read_mostly.call_ends, ~CALL_ENDS_OBJECTS);
    lock_give(&aside_lock);
    return first;
}

static void end_list(struct object *first)
{
    for (struct object *object = first, *next; object; object = next) {
        next = object->next_free;
        end(object);
    }
}

static void finish_aside(void)
{
    struct object *first = take_aside();
    if (first)
        end_list(first);
}

void object_end_call(void)
{
    while (thread_state.held_count > 0)
        object_unref(thread_state.held[--thread_state.held_count]);
    if (atomic_load(&read_mostly.call_ends) & CALL_ENDS_OBJECTS)
        finish_aside();
}

struct object *object_hold(const void *handle, enum object_kind kind)
{
    struct object *object = NULL;
    if (thread_state.held_count < THREAD_HAZARDS)
        object = object_find_ref(handle, kind);
    if (!object)
        return NULL;
    atomic_fetch_or(&read_mostly.call_ends, CALL_ENDS_HOLDS);
    thread_state.held[thread_state.held_count++] = object;
    return object;
}

void object_await_unprotected(const struct object *object)
{
    asymmetric_fence_heavy();
    while (is_noted(object))
        sched_yield();
}

// A call that protects an object ends nothing: the object to end may own the
// protected one, and would then wait for this very thread.
static bool must_wait(const struct object *object)
{
    return call_guards() || is_guarded(object);
}

// False if a protecting call took a reference again, or gave up the last one:
// then the object may be over by now.
static bool begin_end(struct object *object)
{
    uint64_t counts = atomic_load(&object->counts);
    do {
        if (counts_references(counts) != 0)
            return false;
    } while (!atomic_compare_exchange_weak(&object->counts, &counts,
                                           counts | OBJECT_ENDS));
    return true;
}

// If such references are left, the thread that gives up the last begins again.
static bool is_unused(struct object *object)
{
    uint64_t counts = atomic_load(&object->counts);
    do {
        if (counts_references(counts) == OBJECT_ENDS)
            return true;
    } while (!atomic_compare_exchange_weak(&object->counts, &counts,
                                           counts & ~(uint64_t)OBJECT_ENDS));
    return false;
}

static void finish_beside(void *argument)
{
    struct object *object = argument;
    object->class->finish(object);
}

// No part of the call that drops the last reference, whose failure stays.
static void end_now(struct object *object)
{
    bool (*stays)(struct object *) = object->class->stays;
    fail_beside(finish_beside, object);
    if (stays && stays(object))
        object_unref((struct object *)object->context);
    else
        object_abandon(object);
}

static void end(struct object *object)
{
    if (must_wait(object)) {
        put_aside(object);
        // A protecting thread may have looked before.
        if (!must_wait(object))
            finish_aside();
    } else if (is_unused(object)) {
        end_now(object);
    }
}

static __attribute__((noinline)) void finish(struct object *object)
{
    if (object_kind_is_protected(object->class->kind)) {
        // Also of a class that keeps_handle: from now on nobody finds it.
        atomic_store_explicit(&object->handle, 0, memory_order_release);
        if (begin_end(object))
            end(object);
        return;
    }
    end_now(object);
}

void object_destroy(struct object *object)
{
    if (!object->class->park || !object->class->park(object))
        finish(object);
}

// --- Objects kept aside ----------------------------------------------------

void object_discard(struct object *object)
{
    bury(object);
}

bool object_set_label(struct object *object, const char *label)
{
    label = label && label[0] ? label : NULL;
    text_release(object->label);
    object->label = label ? text_copy(label) : NULL;
    if (label && !object->label)
        fail(RNL_ERROR_OUT_OF_MEMORY, "there is no memory for a label");
    return !label || object->label;
}

void object_adopt(struct object_class *class, struct object *object)
{
    object->class = class;
    lock_take(&table_lock);
    // The first chunk is static, so this cannot fail while it has room.
    slot_add_locked(object);
    object_revive(object, object_new_id());
    lock_give(&table_lock);
    object_publish(object);
}

// --- Handles ---------------------------------------------------------------

rnl_status object_refuse(const void *handle, enum object_kind kind,
                         const char *parameter)
{
    const char *name = kind_names[kind], *a = article(kind);
    uint64_t value = (uint64_t)(uintptr_t)handle;
    if (!handle)
        return fail_at(RNL_ERROR_INVALID_HANDLE, parameter,
                       "'%s' is NULL where %s %s is needed", parameter, a,
                       name);
    struct object *object = slot_object((uint32_t)value);
    enum object_kind is = (enum object_kind)(value >> OBJECT_KIND_SHIFT);
    if (object && object->forked_handle == value)
        return fail_at(RNL_ERROR_FORKED, parameter,
                       "'%s' is %s %s of the parent process, which cannot be "
                       "used after fork",
                       parameter, article(object->class->kind),
                       kind_names[object->class->kind]);
    bool known = object && is == object->class->kind;
    if (known && is != kind)
        return fail_at(RNL_ERROR_INVALID_HANDLE, parameter,
                       "'%s' is %s %s where %s %s is needed", parameter,
                       article(is), kind_names[is], a, name);
    if (known && (uint32_t)(value >> 32) % OBJECT_GENERATIONS <=
                     object->generation)
        return fail_at(RNL_ERROR_INVALID_HANDLE, parameter,
                       "'%s' is %s %s that was released", parameter, a, name);
    return fail_at(RNL_ERROR_INVALID_HANDLE, parameter,
                   "'%s' was never a valid handle of %s %s", parameter, a,
                   name);
}

rnl_status object_ref_for(struct object *object, const char *parameter)
{
    if (object_ref_if_alive(object))
        return RNL_OK;
    return fail_at(RNL_ERROR_INVALID_HANDLE, parameter,
                   "'%s' was released by another thread during the call",
                   parameter);
}

bool object_ref_if_alive(struct object *object)
{
    uint64_t counts =
        atomic_load_explicit(&object->counts, memory_order_acquire);
    do {
        if ((int32_t)counts_references(counts) <= 0)  // none, or OBJECT_ENDS
            return false;
    } while (!atomic_compare_exchange_weak(&object->counts, &counts,
                                           counts + 1));
    return true;
}

bool object_unref_unless_last(struct object *object)
{
    uint64_t counts =
        atomic_load_explicit(&object->counts, memory_order_relaxed);
    do {
        if (counts_references(counts) == 1)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(
        &object->counts, &counts, counts - 1, memory_order_acq_rel,
        memory_order_relaxed));
    return true;
}

struct object *object_find_ref(const void *handle, enum object_kind kind)
{
    struct object *object = object_find(handle, kind);
    if (!object || !object_ref_if_alive(object))
        return NULL;
    if (object_has_handle(object, handle))
        return object;
    object_unref(object);
    return NULL;
}

enum retained { RETAIN_DEAD, RETAIN_FULL, RETAINED };

static enum retained retain(struct object *object, const void *handle)
{
    uint64_t counts =
        atomic_load_explicit(&object->counts, memory_order_relaxed);
    uint64_t more;
    do {
        more = OBJECT_USER;
        if (!object_has_users(counts, handle)) {
            if (!object_may_revive(object, counts, handle))
                return RETAIN_DEAD;
            more = OBJECT_USER + 1;  // the library's one for the caller's
        }
        if (counts_users(counts) == OBJECT_USERS_MOST)
            return RETAIN_FULL;
    } while (!atomic_compare_exchange_weak_explicit(
        &object->counts, &counts, counts + more, memory_order_acq_rel,
        memory_order_relaxed));
    return RETAINED;
}

bool object_retain_if_alive(struct object *object, const void *handle)
{
    return retain(object, handle) == RETAINED;
}

rnl_status object_retain(const void *handle, enum object_kind kind,
                         const char *parameter)
{
    struct object *object = object_find(handle, kind);
    enum retained retained = object ? retain(object, handle) : RETAIN_DEAD;
    if (retained == RETAIN_FULL)
        return fail_at(RNL_ERROR_OUT_OF_RANGE, parameter,
                       "'%s' is retained %u times, and can be no more often",
                       parameter, OBJECT_USERS_MOST);
    return retained == RETAINED ? RNL_OK
                                : object_refuse(handle, kind, parameter);
}

bool object_release_but_last(struct object *object, const void *handle)
{
    return object_take_user(object, handle, 1) != 0;
}

rnl_status object_release_found(struct object *object, const void *handle,
                                enum object_kind kind, const char *parameter,
                                bool *out_last)
{
    *out_last = false;
    uint64_t counts = object ? object_take_user(object, handle, 0) : 0;
    if (counts == 0)
        return object_refuse(handle, kind, parameter);
    if (counts_users(counts) > 1)
        return RNL_OK;
    *out_last = true;
    object_finish_release(object, counts);
    return RNL_OK;
}

// A call that protects an object may ref and unref it until the handle is dead.
// The library's reference stays until then. False if there is no user.
static bool release_guarded(struct object *object, const void *handle,
                            bool *out_last)
{
    uint64_t counts = atomic_load(&object->counts);
    do
        if (!object_has_users(counts, handle))
            return false;
    while (!atomic_compare_exchange_weak(&object->counts, &counts,
                                         counts - OBJECT_USER));
    *out_last = counts_users(counts) == 1;
    if (*out_last) {
        atomic_store_explicit(&object->handle, 0, memory_order_release);
        object_unref(object);
    }
    return true;
}

rnl_status object_release_last(const void *handle, enum object_kind kind,
                               const char *parameter, bool *out_last)
{
    struct object *object = handle ? object_find(handle, kind) : NULL;
    *out_last = false;
    if (!object || !object_kind_is_protected(kind))
        return handle ? object_release_found(object, handle, kind, parameter,
                                             out_last)
                      : RNL_OK;
    return release_guarded(object, handle, out_last)
               ? RNL_OK
               : object_refuse(handle, kind, parameter);
}

rnl_status object_release(const void *handle, enum object_kind kind,
                          const char *parameter)
{
    bool last;
    return object_release_last(handle, kind, parameter, &last);
}

const char *object_describe(const struct object *object, char *text,
                            size_t size)
{
    const char *label = object->label;
    snprintf(text, size, label ? "%s %llu '%s'" : "%s %llu",
             kind_names[object->class->kind], (unsigned long long)object->id,
             label);
    return text;
}

// A label stays, also of a dead object, until the slot is reused.
bool object_copy_label(const void *handle, enum object_kind kind, char *text,
                       size_t size)
{
    struct object *object = object_in_slot(handle, kind);
    if (!object || !thread_is_visited())
        return false;
    atomic_store_explicit(&thread_state.lookups[LOOKUP_LABEL], object,
                          memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    bool lives = object_has_handle(object, handle);
    if (lives)
        snprintf(text, size, "%s", object->label ? object->label : "");
    atomic_store_explicit(&thread_state.lookups[LOOKUP_LABEL], NULL,
                          memory_order_release);
    return lives;
}

// The lock keeps object_trim from giving back what is looked at.
struct object *object_next_ref(enum object_kind kind, uint32_t *index)
{
    struct object *found = NULL;
    for (bool more = true; more && !found;) {
        lock_take(&table_lock);
        more = *index < slot_count;
        void *handle = object_handle(more ? slot_object((*index)++) : NULL);
        lock_give(&table_lock);
        found = object_find_ref(handle, kind);
    }
    return found;
}

// --- Whole table -----------------------------------------------------------

static void release_dead_locked(void)
{
    ASSERT(lock_is_held(&table_lock));
    for (uint32_t i = 0; i < slot_count; i++) {
        struct object *object = slot_object(i);
        // A retired slot stays: its last generation has no successor.
        if (!object || object_references(object) > 0 ||
            object->generation >= object_generations)
            continue;
        text_release(object->label);
        atomic_store(&object_chunks[i >> OBJECT_CHUNK_BITS]
                          ->slots[i % OBJECT_CHUNK_SIZE],
                     NULL);
        if (object->generation >= first_generation)
            first_generation = object->generation + 1;
        mem_release(object, object->class->size);
    }
}

static void release_chunks_locked(void)
{
    ASSERT(lock_is_held(&table_lock));
    while (slot_count > 0 && !slot_object(slot_count - 1))
        slot_count--;
    for (uint32_t i = 1; i < OBJECT_CHUNKS; i++) {
        mem_release(atomic_load(&object_chunks[i]),
                    sizeof(struct object_chunk));
        atomic_store(&object_chunks[i], NULL);
    }
}

// Handles given out before stay dead: later slots start with a generation that
// none of them had.
void object_trim(void)
{
    lock_take(&table_lock);
    if (live_count == 0) {
        release_dead_locked();
        release_chunks_locked();
        for (struct object_class *class = classes; class; class = class->next)
            class->dead = (struct object_quarantine){0};
    }
    lock_give(&table_lock);
}

void object_table_forked(void)
{
    table_lock = (struct lock)LOCK_RANKED(RANK_TABLE);
    aside_lock = (struct lock)LOCK_RANKED(RANK_LEAF);
    aside = NULL;
    atomic_store(&read_mostly.call_ends, 0);
    // Another thread may have been at these.
    for (struct object_class *class = classes; class; class = class->next)
        class->dead = (struct object_quarantine){0};
    for (uint32_t i = 0; i < slot_count; i++) {
        struct object *object = slot_object(i);
        if (!object || object->class->kind == OBJECT_DEVICE)
            continue;
        uint64_t handle = atomic_exchange(&object->handle, 0);
        if (handle)  // else a fork of the grandparent
            object->forked_handle = handle;
    }
}
