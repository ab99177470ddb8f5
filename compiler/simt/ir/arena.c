#include "simt/ir/ir.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The compiler's process is short; its memory goes with it.
void *simt_allocate(size_t size)
{
    void *memory = calloc(1, size ? size : 1);
    if (!memory)
        exit(4);
    return memory;
}

void *simt_grow(void *items, size_t count, size_t size)
{
    if (count & (count - 1))
        return items;  // grows at powers of two
    items = realloc(items, (count ? 2 * count : 1) * size);
    if (!items)
        exit(4);
    return items;
}

char *simt_format(const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (vasprintf(&text, format, arguments) < 0)
        exit(4);
    va_end(arguments);
    return text;
}

// --- Maps --------------------------------------------------------------------

struct map_entry {
    const void *key;
    void *value;
};

static struct map_entry *map_find(const struct map *map, const void *key)
{
    size_t at = ((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u >> 20;
    for (;; at++) {
        struct map_entry *entry = &map->entries[at & (map->capacity - 1)];
        if (!entry->key || entry->key == key)
            return entry;
    }
}

void *map_get(const struct map *map, const void *key)
{
    return map->capacity ? map_find(map, key)->value : NULL;
}

static void map_grow(struct map *map)
{
    struct map old = *map;
    map->capacity = old.capacity ? 2 * old.capacity : 64;
    map->entries = simt_allocate(map->capacity * sizeof *map->entries);
    for (size_t i = 0; i < old.capacity; i++)
        if (old.entries[i].key)
            *map_find(map, old.entries[i].key) = old.entries[i];
    free(old.entries);
}

void map_set(struct map *map, const void *key, void *value)
{
    if (4 * map->count >= 3 * map->capacity)
        map_grow(map);
    struct map_entry *entry = map_find(map, key);
    map->count += !entry->key;
    *entry = (struct map_entry){key, value};
}

void map_clear(struct map *map)
{
    if (map->count)
        memset(map->entries, 0, map->capacity * sizeof *map->entries);
    map->count = 0;
}

struct map map_copy(const struct map *map, size_t size)
{
    struct map copy = *map;
    if (!map->capacity)
        return copy;
    copy.entries = simt_allocate(map->capacity * sizeof *map->entries);
    for (size_t i = 0; i < map->capacity; i++) {
        if (!map->entries[i].key)
            continue;
        void *value = simt_allocate(size);
        memcpy(value, map->entries[i].value, size);
        copy.entries[i] = (struct map_entry){map->entries[i].key, value};
    }
    return copy;
}

// --- Sets --------------------------------------------------------------------

static unsigned set_words(unsigned size)
{
    return (size + 63) / 64;
}

struct set set_create(unsigned size)
{
    return (struct set){simt_allocate(set_words(size) * 8), size};
}

struct set set_copy(const struct set *from)
{
    struct set copy = set_create(from->size);
    memcpy(copy.words, from->words, set_words(from->size) * 8);
    return copy;
}

bool set_has(const struct set *set, unsigned item)
{
    return set->words[item / 64] >> item % 64 & 1;
}

bool set_add(struct set *set, unsigned item)
{
    bool had = set_has(set, item);
    set->words[item / 64] |= UINT64_C(1) << item % 64;
    return !had;
}

void set_remove(struct set *set, unsigned item)
{
    set->words[item / 64] &= ~(UINT64_C(1) << item % 64);
}

void set_fill(struct set *set)
{
    for (unsigned i = 0; i < set->size; i++)
        set_add(set, i);
}

bool set_unite(struct set *to, const struct set *from)
{
    bool grew = false;
    for (unsigned i = 0; i < set_words(to->size); i++) {
        grew |= (from->words[i] & ~to->words[i]) != 0;
        to->words[i] |= from->words[i];
    }
    return grew;
}

bool set_intersect(struct set *to, const struct set *from)
{
    bool shrank = false;
    for (unsigned i = 0; i < set_words(to->size); i++) {
        shrank |= (to->words[i] & ~from->words[i]) != 0;
        to->words[i] &= from->words[i];
    }
    return shrank;
}

unsigned set_count(const struct set *set)
{
    unsigned count = 0;
    for (unsigned i = 0; i < set_words(set->size); i++)
        count += (unsigned)__builtin_popcountll(set->words[i]);
    return count;
}
