// User data that is destroyed with its last reference.
#pragma once

#include "core/object/object.h"

#include <runnel/runnel.h>

// An object that ends `pointer` by `destroy` when it ends itself; NULL where
// there is nothing to call.
rnl_status user_data_create(struct context *context, void *pointer,
                            rnl_destroy_fn destroy,
                            struct object **out_object);

// The call that was given it fails: it stays the program's. NULL is fine.
void user_data_give_back(struct object *object);
