// The features, peers and backends of contexts.
#include "core/backend.h"
#include "core/object/context_object.h"

// Set while the library is opened.
static const struct backend *const *table;

void backend_index_open(const struct backend *const *new_table)
{
    table = new_table;
}

size_t backend_index(const struct backend *backend)
{
    size_t index = 0;
    while (table[index] && table[index] != backend)
        index++;
    return index;
}

rnl_status context_need(struct context *context, rnl_feature feature,
                        const char *parameter, const char *what)
{
    const char *reason = context_lacks(context, feature);
    return reason ? fail_at(RNL_ERROR_UNSUPPORTED, parameter,
                            "%s not supported: %s", what, reason)
                  : RNL_OK;
}

bool context_may_use(struct context *context, struct context *owner)
{
    if (context == owner)
        return true;
    bool found = false;
    lock_take(&context->lock);
    for (struct peer *peer = context->peers; peer; peer = peer->next)
        found = found || peer->id == owner->object.id;
    lock_give(&context->lock);
    return found;
}
