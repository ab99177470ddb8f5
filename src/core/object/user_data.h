// User data that is destroyed with its last reference.
#pragma once

#include "core/object/object.h"

#include <runnel/runnel.h>

// An object that calls `destroy` on `pointer` at its end; NULL if `destroy` is
// NULL.
rnl_status user_data_create(struct context *context, void *pointer,
                            rnl_destroy_fn destroy,
                            struct object **out_object);

// The call that got the data fails, so the data stays the program's. NULL is
// fine.
void user_data_give_back(struct object *object);
