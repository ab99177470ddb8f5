// Dead objects that may not be reused yet, because another thread may look at
// them.
#pragma once

#include "core/object/object.h"

// Keeps dead objects until no lookup of another thread can name them. take: the
// oldest object, or NULL while none may be reused.
static inline void object_quarantine_put(struct object_quarantine *quarantine,
                                   struct object *object)
{
    object->next_free = NULL;
    if (quarantine->count++ == 0)
        quarantine->first = object;
    else
        quarantine->last->next_free = object;
    quarantine->last = object;
}

// Finds out which of the oldest may be reused; false: none.
bool object_quarantine_clear(struct object_quarantine *quarantine,
                             enum object_kind kind);

static inline struct object *
object_quarantine_take_first(struct object_quarantine *quarantine)
{
    struct object *object = quarantine->first;
    quarantine->first = object->next_free;
    quarantine->count--;
    return object;
}

static inline struct object *
object_quarantine_take(struct object_quarantine *quarantine,
                       enum object_kind kind)
{
    if (quarantine->clear_count == 0 &&
        !object_quarantine_clear(quarantine, kind))
        return NULL;
    quarantine->clear_count--;
    return object_quarantine_take_first(quarantine);
}
