// Objects and handles.
//
// A handle is 4 bits of kind, 28 bits of generation and 32 bits of index into a
// table of slots. A slot's memory belongs to one class of object for good: it
// is reused, with the next generation, but never becomes something else and is
// not given back while other threads may look at it. So a stale handle is
// always safe to check, in every build, at the cost of three loads. What a
// thread has found is noted in its state, and not reused before the thread
// finds another of that kind.
//
// A call may use what it found in two ways only: it has a reference, or, for
// the kinds that are guarded, the thread guards the object. An object that is
// guarded ends with the last of the calls that guard it.
#pragma once

#include "base/alloc.h"
#include "base/fail.h"
#include "base/fence.h"
#include "base/thread.h"

enum object_kind {
    OBJECT_NONE,
    OBJECT_DEVICE,
    OBJECT_CONTEXT,
    OBJECT_STREAM,
    OBJECT_EVENT,
    OBJECT_BUFFER,
    OBJECT_MODULE,
    OBJECT_FUNCTION,
    OBJECT_GRAPH,
    OBJECT_GRAPH_EXEC,
    OBJECT_NODE,  // no object: a handle of this kind names a graph and an index
    OBJECT_KINDS,
};

#define SEEN_LABEL OBJECT_KINDS  // whose label is being copied
_Static_assert(SEEN_LABEL < THREAD_SEEN, "a thread sees one of each kind");

struct object {
    _Atomic uint64_t handle;  // 0 while dead
    _Atomic uint64_t counts;  // see below
    uint32_t index;
    _Atomic uint32_t generation;
    struct object_class *class;
    struct context *context;  // referenced; NULL for devices and contexts
    uint64_t id;              // unique in the process, never reused
    char *label;              // NULL when none was given; a function's name
    struct object *next_free;
    uint64_t forked_handle;   // in a child: what the handle was in the parent
};

// Of an object's counts the lowest 31 bits are the library's references, of
// which the caller's together have one: its memory lives while there are any.
// What has them takes memory, 24 bytes each as an argument of a launch: 48 GiB
// of work under way with one and the same buffer before they run over. The next
// bit says that the last one went while the object may be guarded, and that
// somebody is to end it, or has: references that the guarding calls take do not
// end it a second time. Above are the caller's, and the end of the generation
// that these are of.
#define OBJECT_ENDS (UINT32_C(1) << 31)
#define OBJECT_USER_SHIFT 32
#define OBJECT_TAG_SHIFT 52
#define OBJECT_USER (UINT64_C(1) << OBJECT_USER_SHIFT)
#define OBJECT_USERS_MOST \
    ((UINT32_C(1) << (OBJECT_TAG_SHIFT - OBJECT_USER_SHIFT)) - 1)

static inline uint32_t counts_references(uint64_t counts)
{
    return (uint32_t)(counts & (OBJECT_USER - 1));
}

static inline uint32_t counts_users(uint64_t counts)
{
    return (uint32_t)(counts >> OBJECT_USER_SHIFT) & OBJECT_USERS_MOST;
}

// One of each.
static inline uint64_t counts_new(uint64_t generation)
{
    return generation << OBJECT_TAG_SHIFT | OBJECT_USER | 1;
}

// Whether the caller's only one is the library's only one.
static inline bool counts_are_last(uint64_t counts)
{
    return (counts ^ counts_new(0)) << (64 - OBJECT_TAG_SHIFT) == 0;
}

// Dead objects of one class, oldest first. Whoever has it guards it.
struct object_rest {
    struct object *first, *last;
    uint32_t count;
    uint32_t clear_count;  // the first ones, which may be reused
};

// What the objects of one kind and backend have in common. Static storage.
struct object_class {
    enum object_kind kind;
    _Atomic size_t size;              // of the whole object
    void (*finish)(struct object *);  // undoes what its init did
    // optional, before `finish`: true when it keeps the object aside instead,
    // for object_revive or object_discard
    bool (*park)(struct object *);
    // optional, behind `finish`: true when the context's end gives the memory
    // up instead, with object_discard, because it may be read until then
    bool (*stays)(struct object *);
    // The handle lives as long as the object, of which the caller may have no
    // reference any more, or get one again.
    bool keeps_handle;
    struct object_rest dead;          // guarded by the table's lock
    struct object_class *next;        // of all classes in use
};

// Fills in a class whose size depends on the backend and which is like `like`
// in all else; returns it.
struct object_class *object_class_of(struct object_class *class,
                                     const struct object_class *like,
                                     size_t size);

// Creates an object with one reference of the caller, not yet visible: its
// handle is published by object_publish, which cannot fail. Zeroed beyond the
// head. NULL after recording why (fail_status): OUT_OF_MEMORY, or
// INVALID_HANDLE when the context was released meanwhile.
struct object *object_create(struct object_class *class,
                             struct context *context, const char *label);

#define OBJECT_KIND_SHIFT 60
#define OBJECT_GENERATIONS (1u << 28)

// Makes the handle valid and returns it.
static inline void *object_publish(struct object *object)
{
    uint64_t generation = atomic_load_explicit(&object->generation,
                                               memory_order_relaxed);
    uint64_t value = (uint64_t)object->class->kind << OBJECT_KIND_SHIFT |
                     generation << 32 | object->index;
    atomic_store_explicit(&object->handle, value, memory_order_release);
    return (void *)(uintptr_t)value;
}

// Undoes object_create for an object that was never published: its finish is
// not called.
void object_abandon(struct object *object);

// For a class that parks. object_retire makes sure that the next handle will be
// another; false when there is none left: then object_discard. An object that
// is revived is as object_create leaves it, but for its fields and its label. A
// parked object has no reference to its context, and discarding drops none.
extern _Atomic uint32_t object_generations;  // of a slot, before it is retired
static inline bool object_retire(struct object *object)
{
    uint32_t next = atomic_load_explicit(&object->generation,
                                         memory_order_relaxed) + 1;
    if (next >= atomic_load_explicit(&object_generations,
                                     memory_order_relaxed))
        return false;
    atomic_store_explicit(&object->generation, next, memory_order_relaxed);
    return true;
}
static inline void object_revive(struct object *object, uint64_t id)
{
    object->id = id;
    atomic_store_explicit(
        &object->counts,
        counts_new(atomic_load_explicit(&object->generation,
                                        memory_order_relaxed)),
        memory_order_relaxed);
}
void object_discard(struct object *object);

// Keeps dead objects until none of them can be what another thread has found
// last. take: the oldest one, NULL while none may be reused.
static inline void object_rest_put(struct object_rest *rest,
                                   struct object *object)
{
    object->next_free = NULL;
    if (rest->count++ == 0)
        rest->first = object;
    else
        rest->last->next_free = object;
    rest->last = object;
}

// Finds out which of the oldest may be reused; false: none.
bool object_rest_clear(struct object_rest *rest, enum object_kind kind);

static inline struct object *object_rest_take_first(struct object_rest *rest)
{
    struct object *object = rest->first;
    rest->first = object->next_free;
    rest->count--;
    return object;
}

static inline struct object *object_rest_take(struct object_rest *rest,
                                              enum object_kind kind)
{
    if (rest->clear_count == 0 && !object_rest_clear(rest, kind))
        return NULL;
    rest->clear_count--;
    return object_rest_take_first(rest);
}

// Discards all of them.
void object_rest_discard(struct object_rest *rest);

// Gives an object that is not published another label, NULL for none. False
// after recording RNL_ERROR_OUT_OF_MEMORY.
bool object_set_label(struct object *object, const char *label);

// Puts an object of static storage into the table for good.
void object_adopt(struct object_class *class, struct object *object);

// --- The library's references ----------------------------------------------

static inline void object_keep(struct object *object)
{
    atomic_fetch_add_explicit(&object->counts, 1, memory_order_relaxed);
}

// False when the last reference is already gone, even from what is guarded.
bool object_keep_if_alive(struct object *object);

// The same for an object found by a handle, without a reference: another thread
// may have released it since. Records RNL_ERROR_INVALID_HANDLE.
rnl_status object_keep_for(struct object *object, const char *parameter);

// False, and nothing happens, where that would end the object.
bool object_drop_unless_last(struct object *object);

void object_destroy(struct object *object);

static inline void object_drop(struct object *object)
{
    ASSERT(counts_references(atomic_load(&object->counts)) > 0);
    if (counts_references(atomic_fetch_sub_explicit(
            &object->counts, 1, memory_order_acq_rel)) == 1)
        object_destroy(object);
}

// --- Handles ---------------------------------------------------------------

#define OBJECT_CHUNK_BITS 10
#define OBJECT_CHUNK_SIZE (1u << OBJECT_CHUNK_BITS)
#define OBJECT_CHUNKS 4096u

struct object_chunk {
    struct object *_Atomic slots[OBJECT_CHUNK_SIZE];
};

// The first chunk is static, which spares small programs the allocation; most
// handles are in it, and found without a look at the table, where it is, too.
extern struct object_chunk object_first_chunk;
extern struct object_chunk *_Atomic object_chunks[OBJECT_CHUNKS];

// What lies in the slot of a handle of that kind: an object of a kind, live or
// not, or NULL.
static inline struct object *object_in_slot(const void *handle,
                                            enum object_kind kind)
{
    uint64_t value = (uint64_t)(uintptr_t)handle;
    uint32_t index = (uint32_t)value;
    if (value >> OBJECT_KIND_SHIFT != (uint64_t)kind)
        return NULL;
    if (__builtin_expect(index < OBJECT_CHUNK_SIZE, 1))
        return atomic_load_explicit(&object_first_chunk.slots[index],
                                    memory_order_acquire);
    // An index that is too large finds another object, with another handle.
    struct object_chunk *chunk = atomic_load_explicit(
        &object_chunks[index / OBJECT_CHUNK_SIZE % OBJECT_CHUNKS],
        memory_order_acquire);
    return chunk ? atomic_load_explicit(
                       &chunk->slots[index % OBJECT_CHUNK_SIZE],
                       memory_order_acquire)
                 : NULL;
}

static inline bool object_has_handle(const struct object *object,
                                     const void *handle)
{
    return atomic_load_explicit(&object->handle, memory_order_acquire) ==
           (uint64_t)(uintptr_t)handle;
}

// The object of a handle, NULL when it is not a live one of that kind.
static inline struct object *object_find(const void *handle,
                                         enum object_kind kind)
{
    struct object *object = object_in_slot(handle, kind);
    if (!object)
        return NULL;
    // Before the handle is checked: from then on the object is not reused.
    // Others see it late, but not as late as the quarantine is long.
    atomic_store_explicit(&thread_state.seen[kind], object,
                          memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return object_has_handle(object, handle) ? object : NULL;
}

// Records why `handle` is not a live object of `kind`: NULL, dead, of another
// type, never valid, or of the parent process. Names the parameter.
rnl_status object_refuse(const void *handle, enum object_kind kind,
                         const char *parameter);

// --- Guards ----------------------------------------------------------------
//
// A public call guards what it found of these kinds until it ends. (Known as
// hazard pointers.) Each place is for one object; the library's own threads
// guard nothing, and no call guards anything while it calls the caller's code,
// unless that may not call the library.

enum guard {
    GUARD_CONTEXT,
    GUARD_STREAM,
    GUARD_CODE,   // a module or a function
    GUARD_OTHER,  // the second of a kind
    GUARDS,
};

_Static_assert(GUARDS == THREAD_GUARDS, "a thread has a place for each");

static inline bool object_kind_is_guarded(enum object_kind kind)
{
    return kind == OBJECT_CONTEXT || kind == OBJECT_STREAM ||
           kind == OBJECT_MODULE || kind == OBJECT_FUNCTION;
}

// For a thread that thread_guards. Either whoever ends the object sees the
// note, or its handle is dead here. The place has to be cleared in any case.
static inline struct object *object_note(const void *handle,
                                         enum object_kind kind,
                                         enum guard guard)
{
    struct object *object = object_in_slot(handle, kind);
    if (!object)
        return NULL;
    atomic_store_explicit(&thread_state.guarded[guard], object,
                          memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return object_has_handle(object, handle) ? object : NULL;
}

// For any other: a reference until object_end_call.
struct object *object_hold(const void *handle, enum object_kind kind);

// Finds one that does not end before the call does; NULL when it is not live.
static inline struct object *object_guard(const void *handle,
                                          enum object_kind kind,
                                          enum guard guard)
{
    return __builtin_expect(thread_guards(), 1)
               ? object_note(handle, kind, guard)
               : object_hold(handle, kind);
}

static inline void object_clear(enum guard guard)
{
    atomic_store_explicit(&thread_state.guarded[guard], NULL,
                          memory_order_release);
}

// Bits of often.call_ends.
#define CALL_ENDS_OBJECTS 1u  // some were guarded as their last reference went
#define CALL_ENDS_HOLDS 2u    // there are threads that hold instead of guarding

void object_end_call(void);

// Behind object_clear. Either this thread sees what was put aside, or who puts
// it there sees that it is guarded no more.
static inline void object_call_ends(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&often.call_ends,
                                              memory_order_relaxed) != 0, 0))
        object_end_call();
}

static inline void object_unguard(enum guard guard)
{
    object_clear(guard);
    object_call_ends();
}

// Waits until no thread guards it. Only for one whose handle is dead, and where
// the calling thread guards nothing.
void object_await_unguarded(const struct object *object);

// Finds and takes a reference that holds even if another thread releases the
// handle at this moment. NULL when it is not live; nothing is recorded.
struct object *object_find_and_keep(const void *handle,
                                    enum object_kind kind);

// For walks over all live objects of a kind: the first one at `*index` or
// behind, with a reference, and `*index` behind it; NULL at the end.
struct object *object_next_and_keep(enum object_kind kind, uint32_t *index);

// The library's references; 0 for an object that died.
static inline uint32_t object_references(struct object *object)
{
    return counts_references(atomic_load(&object->counts)) & ~OBJECT_ENDS;
}

// The caller's references; 0 for a handle that died.
static inline uint32_t object_users(struct object *object)
{
    return counts_users(atomic_load(&object->counts));
}

// One more, if the handle still lives; records nothing.
bool object_retain_if_alive(struct object *object, const void *handle);

// One caller's reference more or less. NULL is fine for release.
rnl_status object_retain(const void *handle, enum object_kind kind,
                         const char *parameter);
rnl_status object_release(const void *handle, enum object_kind kind,
                          const char *parameter);

// The same, and tells whether it was the caller's last one.
rnl_status object_release_last(const void *handle, enum object_kind kind,
                               const char *parameter, bool *out_last);

// The same for what object_find found; NULL: nothing.
rnl_status object_release_found(struct object *object, const void *handle,
                                enum object_kind kind, const char *parameter,
                                bool *out_last);

// The same, but leaves the caller's last one: false when there is no other.
bool object_release_but_last(struct object *object, const void *handle);

// Whether the caller has references of the handle's generation: the object may
// have become another since it was found.
static inline bool object_has_users(uint64_t counts, const void *handle)
{
    uint64_t generation = (uint64_t)(uintptr_t)handle >> 32;
    return counts_users(counts) > 0 &&
           (counts ^ generation << OBJECT_TAG_SHIFT) >> OBJECT_TAG_SHIFT == 0;
}

// The same where the caller has none any more, for a class that keeps_handle:
// whether there may be one again.
static inline bool object_may_revive(const struct object *object,
                                     uint64_t counts, const void *handle)
{
    return object->class->keeps_handle && counts_users(counts) == 0 &&
           (int32_t)counts_references(counts) > 0 &&
           object_has_users(counts + OBJECT_USER, handle);
}

// The first step of a release, for who does something before the second. Takes
// one of the caller's references away, and with the last one the library's,
// too, where that is the last: then nobody else can end the object. Returns the
// users and references before; 0 when there was none above the `least`. The
// caller sees what those did who gave back theirs.
static inline uint64_t object_take_user(struct object *object,
                                        const void *handle, uint32_t least)
{
    const uint64_t only = counts_new((uint64_t)(uintptr_t)handle >> 32);
    uint64_t counts =
        atomic_load_explicit(&object->counts, memory_order_acquire);
    uint64_t less;
    if (least == 0 && counts == only &&  // nearly always: seen with one look
        atomic_compare_exchange_strong_explicit(
            &object->counts, &counts, only - counts_new(0),
            memory_order_acq_rel, memory_order_acquire))
        return counts_new(0);
    do {
        if (!object_has_users(counts, handle) || counts_users(counts) <= least)
            return 0;
        less = counts_are_last(counts) ? counts_new(0) : OBJECT_USER;
    } while (!atomic_compare_exchange_weak_explicit(
        &object->counts, &counts, counts - less, memory_order_acq_rel,
        memory_order_acquire));
    return counts;
}

// A whole release, for a class that keeps_handle and who has a reference. False
// when the caller has none; `*out_last`: that was the last one.
static inline bool object_release_kept(struct object *object,
                                       const void *handle, bool *out_last)
{
    uint64_t counts = object_take_user(object, handle, 0);
    *out_last = counts_users(counts) == 1;
    if (*out_last)
        object_drop(object);
    return counts != 0;
}

// Undoes it, where the library's reference stayed; `last`: it was the caller's
// last one.
static inline void object_take_back(struct object *object, const void *handle,
                                    bool last)
{
    if (last)
        atomic_fetch_add_explicit(&object->counts, OBJECT_USER,
                                  memory_order_relaxed);
    else
        object_retain_if_alive(object, handle);
}

// The second, behind the caller's last one: with the counts before that.
static inline void object_give_last(struct object *object, uint64_t counts)
{
    atomic_store_explicit(&object->handle, 0, memory_order_release);
    if (counts_references(counts) == 1)
        object_destroy(object);
    else
        object_drop(object);
}

// The handle of an object, for results and infos.
static inline void *object_handle(struct object *object)
{
    return object ? (void *)(uintptr_t)atomic_load_explicit(
                        &object->handle, memory_order_relaxed)
                  : NULL;
}

// "stream 12 'upload'", into `text`.
const char *object_describe(const struct object *object, char *text,
                            size_t size);

// Copies the label of an object that nobody need hold. False when it is not
// live, or cannot be looked at.
bool object_copy_label(const void *handle, enum object_kind kind, char *text,
                       size_t size);

const char *object_kind_name(enum object_kind kind);

// A number never given before, or the first of `count`.
uint64_t object_new_id(void);
uint64_t object_new_ids(uint64_t count);

// Frees the memory of dead objects. The caller promises that no other thread is
// inside the library.
void object_trim(void);

// In the child after fork: every handle becomes a forked one.
void object_table_forked(void);

// For tests: how many generations a slot has before it is retired.
void object_set_generations(uint32_t count);
