// References of the caller: retain and release by handle.
#pragma once

#include "core/object/object.h"

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

// The same, and reports whether this was the caller's last reference.
rnl_status object_release_last(const void *handle, enum object_kind kind,
                               const char *parameter, bool *out_last);

// The same for what object_find found; NULL: nothing.
rnl_status object_release_found(struct object *object, const void *handle,
                                enum object_kind kind, const char *parameter,
                                bool *out_last);

// The same, but keeps the caller's last reference: false if there is no second.
bool object_release_but_last(struct object *object, const void *handle);

// Whether the caller has references of the handle's generation: the object may
// have become another since it was found.
static inline bool object_has_users(uint64_t counts, const void *handle)
{
    uint64_t generation = (uint64_t)(uintptr_t)handle >> 32;
    return counts_users(counts) > 0 &&
           (counts ^ generation << OBJECT_TAG_SHIFT) >> OBJECT_TAG_SHIFT == 0;
}

// The same without references of the caller, for a class that keeps_handle:
// whether the caller may get a reference again.
static inline bool object_may_revive(const struct object *object,
                                     uint64_t counts, const void *handle)
{
    return object->class->keeps_handle && counts_users(counts) == 0 &&
           (int32_t)counts_references(counts) > 0 &&
           object_has_users(counts + OBJECT_USER, handle);
}

// The first step of a two-step release. Takes a reference of the caller away;
// with the last, also the library's reference if no other is left, so that no
// other thread can end the object. Returns the counts before; 0 if the caller
// had no more than `least`. Acquires the writes of threads that released
// before.
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

// A whole release, for a class that keeps_handle and a calling thread that has
// a reference. False if the caller has none; `*out_last`: this was the last.
static inline bool object_release_kept(struct object *object,
                                       const void *handle, bool *out_last)
{
    uint64_t counts = object_take_user(object, handle, 0);
    *out_last = counts_users(counts) == 1;
    if (*out_last)
        object_unref(object);
    return counts != 0;
}

// Undoes object_take_user if the library's reference stayed; `last`: the caller
// had a single reference.
static inline void object_undo_take_user(struct object *object,
                                         const void *handle, bool last)
{
    if (last)
        atomic_fetch_add_explicit(&object->counts, OBJECT_USER,
                                  memory_order_relaxed);
    else
        object_retain_if_alive(object, handle);
}

// The second, behind the caller's last one: with the counts before that.
static inline void object_finish_release(struct object *object, uint64_t counts)
{
    atomic_store_explicit(&object->handle, 0, memory_order_release);
    if (counts_references(counts) == 1)
        object_destroy(object);
    else
        object_unref(object);
}
