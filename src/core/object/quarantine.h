// Dead objects that may not be reused yet, because another thread may look at
// them.
#pragma once

#include "core/object/object.h"

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
