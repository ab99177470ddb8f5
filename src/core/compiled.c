#include "core/compiled.h"

#include <string.h>

#define BUCKETS 64
#define MODULES_MAX 1024  // the oldest goes when one more comes

struct named {
    struct named *next;
    char *name;
    rnl_function function;  // may be dead
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

// Everything here is guarded by the context's lock.
struct compiled {
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
        text_release(named->name);
        mem_release(named, sizeof *named);
    }
    mem_release(entry, sizeof *entry + entry->key_size);
}

// Makes the module an ordinary one again, then lets go of it.
static void entry_drop(struct context *context, struct entry *entry)
{
    object_keep(&context->object);
    object_drop(&entry->module->object);
    entry_free(entry);
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

static struct entry *remove_oldest_locked(struct compiled *table)
{
    struct entry *entry = table->oldest;
    struct entry **link = &table->buckets[entry->hash % BUCKETS];
    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
    table->oldest = entry->newer;
    if (!table->oldest)
        table->newest = NULL;
    table->count--;
    return entry;
}

// --- Finding ---------------------------------------------------------------

// One reference more for the caller, if the handle lives. Unlike object_retain
// it says nothing when it does not.
static bool retain_if_alive(rnl_function function)
{
    struct object *object = object_find(function, OBJECT_FUNCTION);
    return object && object_retain_if_alive(object, function);
}

void compiled_find(struct context *context, const struct source_key *key,
                   const char *name, struct compiled_hit *out_hit)
{
    *out_hit = (struct compiled_hit){0};
    lock_take(&context->lock);
    const struct entry *entry = entry_find_locked(context, key);
    const struct named *named = entry ? named_find(entry, name) : NULL;
    if (named && retain_if_alive(named->function))
        out_hit->function = named->function;
    else if (entry)
        out_hit->module = entry->module;
    if (out_hit->module)
        object_keep(&out_hit->module->object);
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

void compiled_name(struct context *context, const struct source_key *key,
                   const char *name, rnl_function function)
{
    struct named *fresh = mem_allocate(sizeof *fresh);
    char *copy = text_copy(name);
    lock_take(&context->lock);
    struct entry *entry = entry_find_locked(context, key);
    struct named *named = entry ? named_find(entry, name) : NULL;
    if (named) {
        named->function = function;
    } else if (entry && fresh && copy) {
        *fresh = (struct named){entry->names, copy, function};
        entry->names = fresh;
        fresh = NULL;
        copy = NULL;
    }
    lock_give(&context->lock);
    text_release(copy);
    mem_release(fresh, sizeof *fresh);
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
    atomic_fetch_sub(&context->object.references, 1);
    mem_release(table, sizeof *table);
}
