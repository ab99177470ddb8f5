// Objects and their references.
//
// A handle is 4 bits of kind, 28 bits of generation and 32 bits of index into a
// table of slots. The memory of a slot belongs to one class of object for good
// (type-stable memory): the next generation reuses the memory for the same
// class, and the memory is freed only when no other thread may read it. So a
// stale handle is safe to check, in every build, at the cost of three loads. A
// thread publishes the object that it found last of each kind as a hazard
// pointer, and the object is not reused until the thread finds another.
//
// A call may use an object in two ways only: the call has a reference, or, for
// protected kinds, the thread protects the object by a hazard pointer. A
// protected object ends with the last call that protects it.
#pragma once

#include "base/alloc.h"
#include "base/check.h"
#include "base/fail.h"

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

#define LOOKUP_LABEL OBJECT_KINDS  // whose label is being copied
_Static_assert(LOOKUP_LABEL < THREAD_LOOKUPS, "a thread sees one of each kind");

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

// The counts of an object. The lowest 31 bits count the library's references;
// all references of the caller together count as one. The memory lives while
// this count is above 0. Each reference takes memory, 24 bytes as the argument
// of a launch, so the count overflows at 48 GiB of submitted work with one
// buffer. The next bit says that the last reference went while the object may
// be protected, and that a thread ends the object: references taken by
// protecting calls do not end the object again. Above are the count of the
// caller's references, and the end of their generation.
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

// Whether the caller's only reference is also the library's only one.
static inline bool counts_are_last(uint64_t counts)
{
    return (counts ^ counts_new(0)) << (64 - OBJECT_TAG_SHIFT) == 0;
}

// Dead objects of a class, oldest first, guarded by the owner of the list.
struct object_quarantine {
    struct object *first, *last;
    uint32_t count;
    uint32_t clear_count;  // the first ones, which may be reused
};

// The properties that all objects of one kind and backend share. Static
// storage.
struct object_class {
    enum object_kind kind;
    _Atomic size_t size;              // of the whole object
    void (*finish)(struct object *);  // undoes init
    // optional, before `finish`: true when it keeps the object aside instead,
    // for object_revive or object_discard
    bool (*park)(struct object *);
    // optional, behind `finish`: true when the context's end gives the memory
    // up instead, with object_discard, because it may be read until then
    bool (*stays)(struct object *);
    // The handle lives as long as the object, of which the caller may have no
    // reference any more, or get one again.
    bool keeps_handle;
    struct object_quarantine dead;          // guarded by the table's lock
    struct object_class *next;        // of all classes in use
};

// Fills in a class whose size depends on the backend and which is like `like`
// in all else; returns it.
struct object_class *object_class_of(struct object_class *class,
                                     const struct object_class *like,
                                     size_t size);

// Creates an unpublished object with one reference of the caller;
// object_publish, which cannot fail, makes the handle valid. Zeroed beyond the
// head. NULL after recording the reason (fail_status): OUT_OF_MEMORY, or
// INVALID_HANDLE if the context was released meanwhile.
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

// For a class that parks. object_bump_generation makes the next handle differ;
// false if no generation is left: then object_discard. A revived object is as
// object_create leaves it, except for its fields and its label. A parked object
// has no reference to its context, and discarding gives none up.
extern _Atomic uint32_t object_generations;  // of a slot, before it is retired
static inline bool object_bump_generation(struct object *object)
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

// Gives an object that is not published another label, NULL for none. False
// after recording RNL_ERROR_OUT_OF_MEMORY.
bool object_set_label(struct object *object, const char *label);

// Puts an object of static storage into the table for good.
void object_adopt(struct object_class *class, struct object *object);

// --- The library's references ----------------------------------------------

static inline void object_ref(struct object *object)
{
    atomic_fetch_add_explicit(&object->counts, 1, memory_order_relaxed);
}

// False when the last reference is already gone, also for a protected object.
// What its last owner did before is then visible to the caller, who may have
// waited for that.
bool object_ref_if_alive(struct object *object);

// The same for an object found by a handle, without a reference: another thread
// may have released it since. Records RNL_ERROR_INVALID_HANDLE.
rnl_status object_ref_for(struct object *object, const char *parameter);

// False, and nothing happens, where that would end the object.
bool object_unref_unless_last(struct object *object);

void object_destroy(struct object *object);

static inline void object_unref(struct object *object)
{
    ASSERT(counts_references(atomic_load(&object->counts)) > 0);
    if (counts_references(atomic_fetch_sub_explicit(
            &object->counts, 1, memory_order_acq_rel)) == 1)
        object_destroy(object);
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
