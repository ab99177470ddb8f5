#include "core/module/function_cache.h"

#include "core/module/function.h"
#include "core/module/module.h"
#include "core/module/source.h"
#include "core/object/context_object.h"
#include "core/object/object.h"
#include "core/object/release.h"
#include "core/tuning.h"

#include <string.h>

struct named {
    struct named *next;
    char *name;
    struct function *function;  // NULL when it is nobody's
    bool parked;                // nobody but the cache has it
};

// A source with its module.
struct cached_source {
    struct cached_source *next;    // in the bucket
    struct cached_source *newer;
    struct module *module;  // kept; its own reference to the context is not
    struct named *names;
    uint64_t hash;
    size_t key_size;
    char key[];
};

// Where a plain source was when its entry was found last. A program calls again
// with the same text at the same place, most often, and comparing the two is
// faster than making a key.
struct hint {
    const char *text;     // compared only: the text may have changed
    size_t length;
    struct cached_source *entry;  // NULL: none
};

// Everything here is guarded by the context's lock.
struct function_cache {
    struct hint hints[FUNCTION_HINTS];
    struct cached_source *buckets[FUNCTION_BUCKETS];
    struct cached_source *oldest, *newest;
    size_t count;
};

// --- Entries ---------------------------------------------------------------

static struct cached_source *entry_find_locked(const struct context *context,
                                       const struct source_key *key)
{
    ASSERT(lock_is_held(&context->lock));
    if (!context->function_cache)
        return NULL;
    struct cached_source *entry =
        context->function_cache->buckets[key->hash % FUNCTION_BUCKETS];
    while (entry &&
           (entry->hash != key->hash || entry->key_size != key->size ||
            memcmp(entry->key, key->data, key->size) != 0))
        entry = entry->next;
    return entry;
}

static struct named *named_find(const struct cached_source *entry,
                                const char *name)
{
    struct named *named = entry->names;
    while (named && strcmp(named->name, name) != 0)
        named = named->next;
    return named;
}

static struct cached_source *entry_create(const struct source_key *key,
                                  struct module *module)
{
    struct cached_source *entry = mem_allocate(sizeof *entry + key->size);
    if (!entry)
        return NULL;
    entry->hash = key->hash;
    entry->key_size = key->size;
    entry->module = module;
    memcpy(entry->key, key->data, key->size);
    return entry;
}

static void entry_free(struct cached_source *entry)
{
    while (entry->names) {
        struct named *named = entry->names;
        entry->names = named->next;
        if (named->parked)
            function_discard(named->function);
        text_release(named->name);
        mem_release(named, sizeof *named);
    }
    mem_release(entry, sizeof *entry + entry->key_size);
}

// Makes the module an ordinary one again, then gives up the reference.
static void entry_drop(struct context *context, struct cached_source *entry)
{
    struct module *module = entry->module;
    object_ref(&context->object);
    entry_free(entry);
    object_unref(&module->object);
}

// --- The table -------------------------------------------------------------

static void insert_locked(struct function_cache *table,
                          struct cached_source *entry)
{
    struct cached_source **bucket =
        &table->buckets[entry->hash % FUNCTION_BUCKETS];
    entry->next = *bucket;
    *bucket = entry;
    if (table->newest)
        table->newest->newer = entry;
    else
        table->oldest = entry;
    table->newest = entry;
    table->count++;
}

static struct hint *hint_of(struct function_cache *table, const char *text)
{
    return &table->hints[(uintptr_t)text / 16 % FUNCTION_HINTS];
}

static struct cached_source *remove_oldest_locked(struct function_cache *table)
{
    struct cached_source *entry = table->oldest;
    for (size_t i = 0; i < FUNCTION_HINTS; i++)
        if (table->hints[i].entry == entry)
            table->hints[i].entry = NULL;
    struct cached_source **link =
        &table->buckets[entry->hash % FUNCTION_BUCKETS];
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    table->oldest = entry->newer;
    if (!table->oldest)
        table->newest = NULL;
    ASSERT(table->count > 0);
    table->count--;
    for (struct named *named = entry->names; named; named = named->next)
        if (named->function && !named->parked)
            atomic_store(&named->function->named, NULL);
    return entry;
}

// --- Finding ---------------------------------------------------------------

// Another reference for the caller; the first if no caller has any. NULL for a
// function that is about to be parked.
static rnl_function take_function_locked(struct context *context,
                                         struct named *named)
{
    ASSERT(lock_is_held(&context->lock));
    struct function *function = named->function;
    if (!function)
        return NULL;
    if (!named->parked) {
        void *handle = object_handle(&function->object);
        return object_retain_if_alive(&function->object, handle) ? handle
                                                                  : NULL;
    }
    named->parked = false;
    object_ref(&context->object);
    object_revive(&function->object, object_new_id());
    function_reset(function);
    return object_publish(&function->object);
}

static rnl_function find_hinted_locked(struct context *context,
                                       const char *text, const char *name)
{
    ASSERT(lock_is_held(&context->lock));
    if (!context->function_cache)
        return NULL;
    const struct hint *hint = hint_of(context->function_cache, text);
    const struct cached_source *entry = hint->entry;
    if (!entry || hint->text != text || strlen(text) != hint->length ||
        memcmp(entry->key + entry->key_size - hint->length, text,
               hint->length) != 0)
        return NULL;
    struct named *named = named_find(entry, name);
    return named ? take_function_locked(context, named) : NULL;
}

rnl_function function_cache_find_plain(struct context *context,
                                       const char *text, const char *name)
{
    lock_take(&context->lock);
    rnl_function function = find_hinted_locked(context, text, name);
    lock_give(&context->lock);
    return function;
}

void function_cache_find(struct context *context, const struct source_key *key,
                   const char *name, struct function_cache_hit *out_hit)
{
    *out_hit = (struct function_cache_hit){0};
    lock_take(&context->lock);
    struct cached_source *entry = entry_find_locked(context, key);
    struct named *named = entry ? named_find(entry, name) : NULL;
    if (entry && key->plain)
        *hint_of(context->function_cache, key->plain) =
            (struct hint){key->plain, key->text_size, entry};
    if (named)
        out_hit->function = take_function_locked(context, named);
    if (entry && !out_hit->function) {
        out_hit->module = entry->module;
        object_ref(&out_hit->module->object);
    }
    lock_give(&context->lock);
}

// --- Adding ----------------------------------------------------------------

static struct cached_source *add_locked(struct context *context,
                                        struct cached_source *entry,
                                        struct function_cache *table)
{
    ASSERT(lock_is_held(&context->lock));
    if (!context->function_cache)
        context->function_cache = table;
    insert_locked(context->function_cache, entry);
    object_ref(&entry->module->object);
    return context->function_cache->count > CACHED_MODULES_MAX
               ? remove_oldest_locked(context->function_cache)
               : NULL;
}

void function_cache_add(struct context *context, const struct source_key *key,
                  struct module **module)
{
    // Memory for use under the lock is allocated before.
    struct cached_source *entry = entry_create(key, *module);
    struct function_cache *table = entry ? mem_allocate(sizeof *table) : NULL;
    struct cached_source *evicted = NULL;
    struct module *loser = NULL;

    lock_take(&context->lock);
    struct cached_source *first = entry_find_locked(context, key);
    bool add = !first && entry && (table || context->function_cache);
    if (first) {
        loser = *module;
        *module = first->module;
        object_ref(&first->module->object);
    } else if (add) {
        evicted = add_locked(context, entry, table);
    }
    bool table_used = table && context->function_cache == table;
    lock_give(&context->lock);

    if (add)
        object_unref(&context->object);  // the caller keeps it, too
    else if (entry)
        entry_free(entry);
    if (!table_used)
        mem_release(table, sizeof *table);
    if (loser)
        object_unref(&loser->object);
    if (evicted)
        entry_drop(context, evicted);
}

// One that only a graph has any more can be given to nobody.
static void forget_dead_locked(struct named *named)
{
    struct function *function = named ? named->function : NULL;
    if (!function || named->parked || object_handle(&function->object))
        return;
    atomic_store(&function->named, NULL);
    named->function = NULL;
}

void function_cache_name(struct context *context, const struct source_key *key,
                   const char *name, struct function *function)
{
    struct named *fresh = mem_allocate(sizeof *fresh);
    char *copy = text_copy(name);
    lock_take(&context->lock);
    struct cached_source *entry = entry_find_locked(context, key);
    // A function of another module would keep the context for ever, parked.
    if (entry && entry->module != function->module)
        entry = NULL;
    struct named *named = entry ? named_find(entry, name) : NULL;
    forget_dead_locked(named);
    if (entry && !named && fresh && copy) {
        *fresh = (struct named){.next = entry->names, .name = copy};
        entry->names = named = fresh;
        fresh = NULL;
        copy = NULL;
    }
    if (named && !named->function) {  // else another thread was faster
        named->function = function;
        atomic_store(&function->named, named);
    }
    lock_give(&context->lock);
    text_release(copy);
    mem_release(fresh, sizeof *fresh);
}

// --- Parking ---------------------------------------------------------------

static bool park_locked(struct function *function)
{
    ASSERT(lock_is_held(&function->object.context->lock));
    struct named *named = atomic_load(&function->named);
    if (!named)
        return false;
    named->parked = object_bump_generation(&function->object);
    if (!named->parked) {
        named->function = NULL;
        atomic_store(&function->named, NULL);
    }
    return named->parked;
}

bool function_cache_park(struct function *function)
{
    struct context *context = function->object.context;
    if (!atomic_load(&function->named))
        return false;
    lock_take(&context->lock);
    bool parked = park_locked(function);
    lock_give(&context->lock);
    if (parked)
        object_unref(&context->object);
    return parked;
}

// --- The context's end -----------------------------------------------------

// Only the cache refers to the modules now, because every other user kept the
// context. Each ending module gives up the context, whose count must not reach
// zero a second time.
void function_cache_finish(struct context *context)
{
    struct function_cache *table = context->function_cache;
    if (!table)
        return;
    context->function_cache = NULL;
    object_ref(&context->object);
    while (table->oldest)
        entry_drop(context, remove_oldest_locked(table));
    COUNT_DOWN(&context->object.counts);
    mem_release(table, sizeof *table);
}
