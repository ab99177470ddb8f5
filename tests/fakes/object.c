// Handles: every object of the fake is known by its address.
#include "fake.h"

#include <stdlib.h>

enum { BUCKETS = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_object *buckets[BUCKETS];
static size_t counts[KIND_COUNT];

static struct fake_object **bucket_of(const void *handle)
{
    return &buckets[((uintptr_t)handle >> 4) * 2654435761u % BUCKETS];
}

void *fake_new(enum fake_kind kind, struct fake_context *context, size_t size)
{
    struct fake_object *object = calloc(1, size);
    if (!object)
        return NULL;
    object->kind = kind;
    object->context = context;
    struct fake_object **bucket = bucket_of(object);
    pthread_mutex_lock(&lock);
    object->next = *bucket;
    *bucket = object;
    counts[kind]++;
    pthread_mutex_unlock(&lock);
    return object;
}

void fake_delete(void *handle)
{
    struct fake_object *object = handle;
    pthread_mutex_lock(&lock);
    struct fake_object **link = bucket_of(object);
    while (*link && *link != object)
        link = &(*link)->next;
    if (*link) {
        *link = object->next;
        counts[object->kind]--;
    }
    pthread_mutex_unlock(&lock);
    free(object);
}

void *fake_find(enum fake_kind kind, const void *handle)
{
    pthread_mutex_lock(&lock);
    struct fake_object *object = *bucket_of(handle);
    while (object && object != handle)
        object = object->next;
    if (object && object->kind != kind)
        object = NULL;
    pthread_mutex_unlock(&lock);
    return object;
}

size_t fake_count(enum fake_kind kind)
{
    pthread_mutex_lock(&lock);
    size_t count = counts[kind];
    pthread_mutex_unlock(&lock);
    return count;
}

void *fake_any(struct fake_context *context, enum fake_kind kind)
{
    struct fake_object *found = NULL;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BUCKETS && !found && counts[kind]; i++)
        for (found = buckets[i]; found; found = found->next)
            if (found->kind == kind && found->context == context)
                break;
    pthread_mutex_unlock(&lock);
    return found;
}

void fake_cancel_streams(const struct fake_context *context)
{
    rnl_stream_cancel(context->stream);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < BUCKETS && counts[KIND_STREAM]; i++)
        for (struct fake_object *at = buckets[i]; at; at = at->next)
            if (at->kind == KIND_STREAM && at->context == context)
                rnl_stream_cancel(((struct fake_stream *)at)->inner);
    pthread_mutex_unlock(&lock);
}

// --- What outlives its owner ----------------------------------------------

struct fake_kept {
    struct fake_kept *next;
    _Alignas(16) char bytes[];
};

struct stranded {
    struct stranded *next;
    void *memory;
};

static struct stranded *stranded;

void *fake_keep(struct fake_context *context, size_t size)
{
    struct fake_kept *kept = calloc(1, sizeof *kept + size);
    if (!kept)
        return NULL;
    pthread_mutex_lock(&lock);
    kept->next = context->kept;
    context->kept = kept;
    pthread_mutex_unlock(&lock);
    return kept->bytes;
}

void fake_strand(void *memory)
{
    struct stranded *item = malloc(sizeof *item);
    if (!item)
        return;
    item->memory = memory;
    pthread_mutex_lock(&lock);
    item->next = stranded;
    stranded = item;
    pthread_mutex_unlock(&lock);
}

void fake_kept_free(struct fake_context *context)
{
    bool broken = atomic_load(&context->sticky) != 0;
    while (context->kept) {
        struct fake_kept *kept = context->kept;
        context->kept = kept->next;
        if (broken)
            fake_strand(kept);
        else
            free(kept);
    }
}

// --- The end of a context -------------------------------------------------

static void drop(struct fake_object *object)
{
    switch (object->kind) {
    case KIND_STREAM:
        rnl_stream_release(((struct fake_stream *)object)->inner);
        break;
    case KIND_EVENT:
        rnl_event_release(((struct fake_event *)object)->inner);
        break;
    case KIND_MODULE:
        fake_module_drop((struct fake_module *)object);
        return;
    case KIND_EXEC:
        fake_exec_drop((struct fake_exec *)object);
        return;
    default:
        break;
    }
    fake_delete(object);
}

// Functions go with their modules; graphs belong to no context.
void fake_delete_all(struct fake_context *context)
{
    static const enum fake_kind kinds[] = {KIND_EXEC, KIND_MODULE, KIND_EVENT,
                                           KIND_STREAM};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct fake_object *object;
        while ((object = fake_any(context, kinds[i])))
            drop(object);
    }
}
