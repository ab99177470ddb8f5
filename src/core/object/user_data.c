// User data of nodes and host functions, with the destructor.
#include "core/object/user_data.h"

#include "core/object/context_object.h"
#include "core/object/object.h"

struct user_data {
    struct object object;
    rnl_destroy_fn destroy;  // NULL: it is the program's again
    void *pointer;
};

static void user_data_finish(struct object *object)
{
    struct user_data *user = (struct user_data *)object;
    if (!user->destroy)
        return;
    const char *around = releasing_callback_begin();
    user->destroy(user->pointer);
    releasing_callback_end(around);
}

static struct object_class user_data_class = {
    .kind = OBJECT_NONE,  // it has no handle
    .size = sizeof(struct user_data),
    .finish = user_data_finish,
};

rnl_status user_data_create(struct context *context, void *pointer,
                            rnl_destroy_fn destroy, struct object **out_object)
{
    *out_object = NULL;
    if (!destroy)
        return RNL_OK;
    struct user_data *user = (struct user_data *)object_create(
        &user_data_class, context, NULL);
    if (!user)
        return fail_status();
    user->destroy = destroy;
    user->pointer = pointer;
    *out_object = &user->object;
    return RNL_OK;
}

void user_data_give_back(struct object *object)
{
    if (object)
        ((struct user_data *)object)->destroy = NULL;
}
