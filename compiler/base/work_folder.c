// Files in the private folder.

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
