// Inspection and eviction of the disk cache.
//
// Several processes may do this at once: a file that is already gone is no
// failure, and a file removed during a read stays whole for the reader.

#include "core/module/disk_cache.h"
#include "core/object/check.h"
#include "core/object/config.h"
#include "core/tuning.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct found {
    char name[DISK_CACHE_NAME_SIZE];
    uint64_t size;
    int64_t used;
};

// --- What is there -----------------------------------------------------------

static bool is_entry_name(const char *name)
{
    return strspn(name, "0123456789abcdef") == DISK_CACHE_NAME_SIZE - 1 &&
           name[DISK_CACHE_NAME_SIZE - 1] == '\0';
}

// ".NAME.PROCESS.NUMBER", as writers call their files.
static bool is_temporary_name(const char *name)
{
    return name[0] == '.' && strlen(name) > DISK_CACHE_NAME_SIZE + 1 &&
           strspn(name + 1, "0123456789abcdef") == DISK_CACHE_NAME_SIZE - 1 &&
           name[DISK_CACHE_NAME_SIZE] == '.';
}

static void look_at(int directory, const char *name, struct text *list)
{
    struct stat facts;
    bool entry = is_entry_name(name);
    if ((!entry && !is_temporary_name(name)) ||
        fstatat(directory, name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(facts.st_mode))
        return;
    if (!entry) {
        if (time(NULL) - facts.st_mtime > LEFT_BEHIND_S)
            unlinkat(directory, name, 0);
        return;
    }
    struct found found = {.size = (uint64_t)facts.st_size,
                          .used = facts.st_mtime};
    memcpy(found.name, name, sizeof found.name);
    text_add_bytes(list, &found, sizeof found);
}

// Lists entries and removes what broken-off writers left. False when memory is
// short.
static bool scan(int directory, struct text *list)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        if (fd >= 0)
            close(fd);
        return false;
    }
    for (struct dirent *item; (item = readdir(folder));)
        look_at(directory, item->d_name, list);
    closedir(folder);
    return !list->failed;
}

static struct found *found_at(const struct text *list, size_t index)
{
    return (struct found *)list->data + index;
}

static size_t found_count(const struct text *list)
{
    return list->length / sizeof(struct found);
}

// --- Making room -------------------------------------------------------------

static int compare_use(const void *a, const void *b)
{
    const struct found *first = a, *second = b;
    if (first->used != second->used)
        return first->used < second->used ? -1 : 1;
    return strcmp(first->name, second->name);
}

static uint64_t total(const struct text *list)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < found_count(list); i++)
        sum += found_at(list, i)->size;
    return sum;
}

void disk_cache_evict(int directory, uint64_t most, uint64_t *out_count,
                uint64_t *out_size)
{
    struct text list = {0};
    *out_count = *out_size = 0;
    uint64_t left = scan(directory, &list) ? total(&list) : 0;
    if (left > most)
        qsort(list.data, found_count(&list), sizeof(struct found),
              compare_use);
    for (size_t i = 0; left > most && i < found_count(&list); i++) {
        const struct found *found = found_at(&list, i);
        left -= found->size;
        if (unlinkat(directory, found->name, 0) != 0)
            continue;
        ++*out_count;
        *out_size += found->size;
    }
    text_finish(&list);
}

static void remove_damaged(int directory, const struct text *list,
                           uint64_t *count, uint64_t *size)
{
    for (size_t i = 0; i < found_count(list); i++) {
        const struct found *found = found_at(list, i);
        struct disk_cache_contents contents;
        if (!disk_cache_read(directory, found->name, &contents))
            continue;
        if (!contents.key && unlinkat(directory, found->name, 0) == 0) {
            ++*count;
            *size += found->size;
        }
        disk_cache_contents_free(&contents);
    }
}

rnl_status rnl_cache_prune(uint64_t most_size, uint64_t *out_count,
                           uint64_t *out_size)
{
    const char *fault;
    uint64_t count = 0, size = 0, more_count = 0, more_size = 0;
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    int directory = disk_cache_open(&fault);
    if (directory >= 0) {
        struct text list = {0};
        if (scan(directory, &list))
            remove_damaged(directory, &list, &count, &size);
        text_finish(&list);
        disk_cache_evict(directory, most_size, &more_count, &more_size);
        close(directory);
    }
    if (out_count)
        *out_count = count + more_count;
    if (out_size)
        *out_size = size + more_size;
    return RNL_OK;
}

// --- Looking -----------------------------------------------------------------

rnl_status rnl_cache_get_info(rnl_cache_info *out_info)
{
    const struct config *config = config_get();
    struct text path = {0};
    const char *fault = "RUNNEL_CACHE_DISABLE is set";
    rnl_status status = ENTER();
    if (status != RNL_OK)
        return status;
    rnl_cache_info *info = mem_allocate(sizeof *info);
    if (!info)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "there is no memory to tell of the cache");
    info->struct_size = sizeof *info;
    info->size_limit = config->cache_size;
    if (disk_cache_path(&path))
        snprintf(info->path, sizeof info->path, "%s", path.data);
    text_finish(&path);
    int directory = config->cache_disabled ? -1 : disk_cache_open(&fault);
    if (directory >= 0)
        close(directory);
    else
        snprintf(info->reason, sizeof info->reason, "%s", fault);
    status = info_write(out_info, info, sizeof *info, "out_info");
    mem_release(info, sizeof *info);
    return status;
}

// Reads a string of a key (source.c) into `text`, and moves behind it.
static void take_string(const char **at, const char *end, char *text,
                        size_t size)
{
    uint64_t length = 0;
    text[0] = '\0';
    if ((size_t)(end - *at) < sizeof length)
        return;
    memcpy(&length, *at, sizeof length);
    *at += sizeof length;
    if (length > (uint64_t)(end - *at)) {
        *at = end;
        return;
    }
    snprintf(text, size, "%.*s", (int)(length < size ? length : size - 1),
             *at);
    *at += length;
}

static rnl_status visit_one(const struct found *found,
                            const struct disk_cache_contents *contents,
                            rnl_cache_visit_fn visit, void *user_data)
{
    char made_by[256] = "", api[16] = "", source[1024] = "";
    const char *at = contents->key;
    if (at) {
        const char *end = at + contents->key_size;
        take_string(&at, end, made_by, sizeof made_by);
        take_string(&at, end, source, sizeof source);
        sscanf(made_by, "runnel %*d %15s", api);
    }
    const rnl_cache_entry entry = {
        .struct_size = sizeof entry,
        .name = found->name,
        .api = api,
        .source = source,
        .size = found->size,
        .used_s = found->used > 0 ? (uint64_t)found->used : 0,
        .damaged = !contents->key,
    };
    callback_begin();
    rnl_status status = visit(&entry, user_data);
    callback_end();
    return status;
}

static rnl_status visit_all(int directory, rnl_cache_visit_fn visit,
                            void *user_data)
{
    struct text list = {0};
    rnl_status status = RNL_OK;
    if (!scan(directory, &list))
        status = fail(RNL_ERROR_OUT_OF_MEMORY,
                      "there is no memory to list the cache");
    for (size_t i = 0; status == RNL_OK && i < found_count(&list); i++) {
        struct disk_cache_contents contents;
        const struct found *found = found_at(&list, i);
        if (!disk_cache_read(directory, found->name, &contents))
            continue;  // gone meanwhile
        status = visit_one(found, &contents, visit, user_data);
        disk_cache_contents_free(&contents);
    }
    text_finish(&list);
    return status;
}

rnl_status rnl_cache_visit(rnl_cache_visit_fn visit, void *user_data)
{
    const char *fault;
    rnl_status status = ENTER();
    if (status == RNL_OK)
        status = check_pointer((const void *)(uintptr_t)visit, "visit");
    if (status != RNL_OK)
        return status;
    int directory = disk_cache_open(&fault);
    if (directory < 0)
        return RNL_OK;
    status = visit_all(directory, visit, user_data);
    close(directory);
    return status;
}
