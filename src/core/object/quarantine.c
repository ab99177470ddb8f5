// Dead objects that wait until they may be reused.
#include "core/object/quarantine.h"

#include "core/object/object.h"
#include "core/tuning.h"

// A dead object is reused only after so many deaths in its class, and not while
// a hazard pointer of a lookup names the object: a call that checked a handle
// just before the release still reads the meant object.

struct clearing {
    enum object_kind kind;
    uint32_t seen;  // bits, by index
    struct object *objects[CLEARED_AT_ONCE];
};

static void note_seen(const struct thread_state *thread, void *argument)
{
    struct clearing *clearing = argument;
    const void *seen = atomic_load_explicit(&thread->lookups[clearing->kind],
                                            memory_order_relaxed);
    const void *named = atomic_load_explicit(&thread->lookups[LOOKUP_LABEL],
                                             memory_order_acquire);
    for (int i = 0; i < CLEARED_AT_ONCE; i++)
        if (clearing->objects[i] == seen || clearing->objects[i] == named)
            clearing->seen |= UINT32_C(1) << i;
}

// Clears objects that no hazard pointer names: the handles are dead, so no
// thread can find the objects again. All others wait once more.
static __attribute__((noinline)) void
clear_some(struct object_quarantine *quarantine, enum object_kind kind)
{
    struct clearing clearing;
    struct object **link = &quarantine->first, *object = quarantine->first;
    clearing.kind = kind;
    clearing.seen = 0;
    for (int i = 0; i < CLEARED_AT_ONCE; i++, object = object->next_free)
        clearing.objects[i] = object;
    threads_visit(note_seen, &clearing);
    for (int i = 0; i < CLEARED_AT_ONCE; i++) {
        object = *link;
        if (clearing.seen >> i & 1) {
            *link = object->next_free;
            quarantine->count--;
            object_quarantine_put(quarantine, object);
        } else {
            link = &object->next_free;
            quarantine->clear_count++;
        }
    }
}

bool object_quarantine_clear(struct object_quarantine *quarantine,
                             enum object_kind kind)
{
    if (quarantine->count >= QUARANTINE + CLEARED_AT_ONCE)
        clear_some(quarantine, kind);
    return quarantine->clear_count > 0;
}
