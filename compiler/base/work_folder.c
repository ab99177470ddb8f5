// The private folder, and its files.

#include "base/base.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder_path[4096];

static int remove_entry(const char *path, const struct stat *status, int type,
                        struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

void folder_remove(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void work_folder_remove(void)
{
    if (folder_path[0])
        folder_remove(folder_path);
    folder_path[0] = 0;
}

const char *work_folder(void)
{
    if (folder_path[0])
        return folder_path;
    const char *base = secure_getenv("TMPDIR");
    char path[sizeof folder_path];
    int size = snprintf(path, sizeof path, "%s/runnel-cc-XXXXXX",
                        base && *base ? base : "/tmp");
    if (size < 0 || (size_t)size >= sizeof path) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    if (!mkdtemp(path))
        return NULL;
    // The compiler runs inside it, so the path must be absolute.
    if (!realpath(path, folder_path))
        return NULL;
    return folder_path;
}

void in_folder(char path[4200], const char *name)
{
    snprintf(path, 4200, "%s/%s", work_folder(), name);
}

// Makes the folders that lead to a file.
static bool make_folders(const char *path)
{
    char copy[4200];
    snprintf(copy, sizeof copy, "%s", path);
    for (char *p = copy + 1; (p = strchr(p, '/')); p++) {
        *p = 0;
        if (mkdir(copy, 0700) != 0 && errno != EEXIST)
            return false;
        *p = '/';
    }
    return true;
}

bool write_file(const char *name, const void *data, size_t size)
{
    char path[4200];
    in_folder(path, name);
    return make_folders(path) && text_write_file(path, data, size);
}

bool is_inside(const char *name)
{
    if (name[0] == '/' || name[0] == 0)
        return false;
    for (const char *p = name; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == 0))
            return false;
    }
    return true;
}
