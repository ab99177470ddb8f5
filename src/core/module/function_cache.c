#include "core/module/function_cache.h"

#include "core/module/function.h"
#include "core/module/module.h"
#include "core/module/source.h"
#include "core/object/context_object.h"
#include "core/object/object.h"
#include "core/object/release.h"

#include <string.h>

#define BUCKETS 64
#define HINTS 64
#define MODULES_MAX 1024  // the oldest goes when one more comes

struct named {
    struct named *next;
    char *name;
    struct function *function;  // NULL when it is nobody's
    bool parked;                // nobody but the cache has it
};

// One source with its module.
struct entry {
    struct entry *next;    // in the bucket
    struct entry *newer;
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
    const char *text;     // only compared: what is there may have changed
    size_t length;
    struct entry *entry;  // NULL: none
};

// Everything here is guarded by the context's lock.
struct compiled {
    struct hint hints[HINTS];
    struct entry *buckets[BUCKETS];
    struct entry *oldest, *newest;
    size_t count;
};

// --- Entries ---------------------------------------------------------------

static struct entry *entry_find_locked(const struct context *context,
                                       const struct source_key *key)
{
    if (!context->compiled)
        return NULL;
    struct entry *entry = context->compiled->buckets[key->hash % BUCKETS];
    while (entry &&
           (entry->hash != key->hash || entry->key_size != key->size ||
            memcmp(entry->key, key->data, key->size) != 0))
        entry = entry->next;
    return entry;
}

static struct named *named_find(const struct entry *entry, const char *name)
{
    struct named *named = entry->names;
    while (named && strcmp(named->name, name) != 0)
        named = named->next;
    return named;
}

static struct entry *entry_create(const struct source_key *key,
                                  struct module *module)
{
    struct entry *entry = mem_allocate(sizeof *entry + key->size);
    if (!entry)
        return NULL;
    entry->hash = key->hash;
    entry->key_size = key->size;
    entry->module = module;
    memcpy(entry->key, key->data, key->size);
    return entry;
}

static void entry_free(struct entry *entry)
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

// Makes the module an ordinary one again, then lets go of it.
static void entry_drop(struct context *context, struct entry *entry)
{
    struct module *module = entry->module;
    object_keep(&context->object);
    entry_free(entry);
    object_drop(&module->object);
}

// --- The table -------------------------------------------------------------

static void insert_locked(struct compiled *table, struct entry *entry)
{
    struct entry **bucket = &table->buckets[entry->hash % BUCKETS];
    entry->next = *bucket;
    *bucket = entry;
    if (table->newest)
        table->newest->newer = entry;
    else
        table->oldest = entry;
    table->newest = entry;
    table->count++;
}

static struct hint *hint_of(struct compiled *table, const char *text)
{
    return &table->hints[(uintptr_t)text / 16 % HINTS];
}

static struct entry *remove_oldest_locked(struct compiled *table)
{
    struct entry *entry = table->oldest;
    for (size_t i = 0; i < HINTS; i++)
        if (table->hints[i].entry == entry)
            table->hints[i].entry = NULL;
    struct entry **link = &table->buckets[entry->hash % BUCKETS];
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    table->oldest = entry->newer;
    if (!table->oldest)
        table->newest = NULL;
    table->count--;
    for (struct named *named = entry->names; named; named = named->next)
        if (named->function && !named->parked)
            atomic_store(&named->function->named, NULL);
    return entry;
}

// --- Finding ---------------------------------------------------------------

// One reference more for the caller, if others have some; or its first. NULL
// for a function that is about to be parked.
static rnl_function take_function_locked(struct context *context,
                                         struct named *named)
{
    struct function *function = named->function;
    if (!function)
        return NULL;
    if (!named->parked) {
        void *handle = object_handle(&function->object);
        return object_retain_if_alive(&function->object, handle) ? handle
                                                                  : NULL;
    }
    named->parked = false;
    object_keep(&context->object);
    object_revive(&function->object, object_new_id());
    function_reset(function);
    return object_publish(&function->object);
}

static rnl_function find_hinted_locked(struct context *context,
                                       const char *text, const char *name)
{
    if (!context->compiled)
        return NULL;
    const struct hint *hint = hint_of(context->compiled, text);
    const struct entry *entry = hint->entry;
    if (!entry || hint->text != text || strlen(text) != hint->length ||
        memcmp(entry->key + entry->key_size - hint->length, text,
               hint->length) != 0)
        return NULL;
    struct named *named = named_find(entry, name);
    return named ? take_function_locked(context, named) : NULL;
}

rnl_function compiled_find_plain(struct context *context, const char *text,
                                 const char *name)
{
    lock_take(&context->lock);
    rnl_function function = find_hinted_locked(context, text, name);
    lock_give(&context->lock);
    return function;
}

void compiled_find(struct context *context, const struct source_key *key,
                   const char *name, struct compiled_hit *out_hit)
{
    *out_hit = (struct compiled_hit){0};
    lock_take(&context->lock);
    struct entry *entry = entry_find_locked(context, key);
    struct named *named = entry ? named_find(entry, name) : NULL;
    if (entry && key->plain)
        *hint_of(context->compiled, key->plain) =
            (struct hint){key->plain, key->text_size, entry};
    if (named)
        out_hit->function = take_function_locked(context, named);
    if (entry && !out_hit->function) {
        out_hit->module = entry->module;
        object_keep(&out_hit->module->object);
    }
    lock_give(&context->lock);
}

// --- Adding ----------------------------------------------------------------

static struct entry *add_locked(struct context *context, struct entry *entry,
                                struct compiled *table)
{
    if (!context->compiled)
        context->compiled = table;
    insert_locked(context->compiled, entry);
    object_keep(&entry->module->object);
    return context->compiled->count > MODULES_MAX
               ? remove_oldest_locked(context->compiled)
               : NULL;
}

void compiled_add(struct context *context, const struct source_key *key,
                  struct module **module)
{
    // What may be needed under the lock is allocated before.
    struct entry *entry = entry_create(key, *module);
    struct compiled *table = entry ? mem_allocate(sizeof *table) : NULL;
    struct entry *evicted = NULL;
    struct module *loser = NULL;

    lock_take(&context->lock);
    struct entry *first = entry_find_locked(context, key);
    bool add = !first && entry && (table || context->compiled);
    if (first) {
        loser = *module;
        *module = first->module;
        object_keep(&first->module->object);
    } else if (add) {
        evicted = add_locked(context, entry, table);
    }
    bool table_used = table && context->compiled == table;
    lock_give(&context->lock);

    if (add)
        object_drop(&context->object);  // the caller keeps it, too
    else if (entry)
        entry_free(entry);
    if (!table_used)
        mem_release(table, sizeof *table);
    if (loser)
        object_drop(&loser->object);
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

void compiled_name(struct context *context, const struct source_key *key,
                   const char *name, struct function *function)
{
    struct named *fresh = mem_allocate(sizeof *fresh);
    char *copy = text_copy(name);
    lock_take(&context->lock);
    struct entry *entry = entry_find_locked(context, key);
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
    struct named *named = atomic_load(&function->named);
    if (!named)
        return false;
    named->parked = object_retire(&function->object);
    if (!named->parked) {
        named->function = NULL;
        atomic_store(&function->named, NULL);
    }
    return named->parked;
}

bool compiled_park(struct function *function)
{
    struct context *context = function->object.context;
    if (!atomic_load(&function->named))
        return false;
    lock_take(&context->lock);
    bool parked = park_locked(function);
    lock_give(&context->lock);
    if (parked)
        object_drop(&context->object);
    return parked;
}

// --- The context's end -----------------------------------------------------

// Nothing but the cache refers to the modules any more: whatever did kept the
// context. Each module drops the context as it goes, whose count therefore must
// not come down to zero a second time.
void compiled_cache_finish(struct context *context)
{
    struct compiled *table = context->compiled;
    if (!table)
        return;
    context->compiled = NULL;
    object_keep(&context->object);
    while (table->oldest)
        entry_drop(context, remove_oldest_locked(table));
    atomic_fetch_sub(&context->object.counts, 1);
    mem_release(table, sizeof *table);
}
