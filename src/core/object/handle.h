// Handles: lookup of the object, and protection from its end during a call.
#pragma once

#include "base/asymmetric_fence.h"
#include "base/thread.h"
#include "core/object/object.h"

// --- Handles ---------------------------------------------------------------

#define OBJECT_CHUNK_BITS 10
#define OBJECT_CHUNK_SIZE (1u << OBJECT_CHUNK_BITS)
#define OBJECT_CHUNKS 4096u

struct object_chunk {
    struct object *_Atomic slots[OBJECT_CHUNK_SIZE];
};

// The first chunk is static, which spares small programs the allocation. Most
// handles are in this chunk and are found without the table of chunks.
extern struct object_chunk object_first_chunk;
extern struct object_chunk *_Atomic object_chunks[OBJECT_CHUNKS];

// The content of the slot of a handle of that kind: an object, live or dead, or
// NULL.
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

// The object of a handle; NULL if no live object of that kind has the handle.
static inline struct object *object_find(const void *handle,
                                         enum object_kind kind)
{
    struct object *object = object_in_slot(handle, kind);
    if (!object)
        return NULL;
    // Published before the handle is checked: from then on the object is not
    // reused. Another thread sees the store late, but sooner than the
    // quarantine ends.
    atomic_store_explicit(&thread_state.lookups[kind], object,
                          memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return object_has_handle(object, handle) ? object : NULL;
}

// Records why `handle` is not a live object of `kind`: NULL, dead, of another
// type, never valid, or of the parent process. Names the parameter.
rnl_status object_refuse(const void *handle, enum object_kind kind,
                         const char *parameter);

// --- Protection ------------------------------------------------------------
//
// A public call protects the objects of these kinds that it found, by a hazard
// pointer, until it ends. Each hazard pointer protects one object. The
// library's own threads protect nothing, and no call protects anything while it
// runs the caller's code, unless that code may not call the library. Code that
// may release finds objects in the same lookups: a call goes on behind it with
// references alone.

enum hazard {
    HAZARD_CONTEXT,
    HAZARD_STREAM,
    HAZARD_CODE,   // a module or a function
    HAZARD_OTHER,  // the second of a kind
    HAZARDS,
};

_Static_assert(HAZARDS == THREAD_HAZARDS, "a thread has a place for each");

static inline bool object_kind_is_protected(enum object_kind kind)
{
    return kind == OBJECT_CONTEXT || kind == OBJECT_STREAM ||
           kind == OBJECT_MODULE || kind == OBJECT_FUNCTION;
}

// For a thread with thread_has_hazards. Either the thread that ends the object
// sees the hazard pointer, or this thread sees a dead handle. The caller clears
// the hazard pointer in any case.
static inline struct object *object_set_hazard(const void *handle,
                                         enum object_kind kind,
                                         enum hazard hazard)
{
    struct object *object = object_in_slot(handle, kind);
    if (!object)
        return NULL;
    atomic_store_explicit(&thread_state.hazards[hazard], object,
                          memory_order_relaxed);
    atomic_signal_fence(memory_order_seq_cst);
    return object_has_handle(object, handle) ? object : NULL;
}

// For any other: a reference until object_end_call.
struct object *object_hold(const void *handle, enum object_kind kind);

// Finds an object and protects it until the call ends; NULL if none is live.
static inline struct object *object_protect(const void *handle,
                                          enum object_kind kind,
                                          enum hazard hazard)
{
    return __builtin_expect(thread_has_hazards(), 1)
               ? object_set_hazard(handle, kind, hazard)
               : object_hold(handle, kind);
}

static inline void object_clear_hazard(enum hazard hazard)
{
    atomic_store_explicit(&thread_state.hazards[hazard], NULL,
                          memory_order_release);
}

// Bits of read_mostly.call_ends.
#define CALL_ENDS_OBJECTS 1u  // objects were protected as their last reference
                              // went
#define CALL_ENDS_HOLDS 2u    // some threads hold references instead of hazard
                              // pointers

void object_end_call(void);

// After object_clear_hazard. Either this thread sees the objects that were put
// aside, or the thread that puts them aside sees the cleared hazard pointer.
static inline void object_call_ends(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (__builtin_expect(atomic_load_explicit(&read_mostly.call_ends,
                                              memory_order_relaxed) != 0, 0))
        object_end_call();
}

static inline void object_unprotect(enum hazard hazard)
{
    object_clear_hazard(hazard);
    object_call_ends();
}

// Waits until no thread protects the object. The handle of the object is dead,
// and the calling thread protects nothing.
void object_await_unprotected(const struct object *object);

// Finds and takes a reference that holds even if another thread releases the
// handle at this moment. NULL when it is not live; nothing is recorded.
struct object *object_find_ref(const void *handle,
                                    enum object_kind kind);

// For walks over all live objects of a kind: the first object at `*index` or
// behind, with a reference, and `*index` behind it; NULL at the end.
struct object *object_next_ref(enum object_kind kind, uint32_t *index);
