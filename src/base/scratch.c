#include "base/scratch.h"

#include "base/env.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// A folder has the first name until it is locked, so no process that finds the
// second name can lock the folder before its owner.
#define NAME_NEW "runnel-new-XXXXXX"
#define NAME_OWNED "runnel-own-"

static const char *base_folder(void)
{
    const char *base = env_get("TMPDIR");
    return base && *base ? base : "/tmp";
}

static int remove_entry(const char *path, const struct stat *facts, int type,
                        struct FTW *walk)
{
    (void)facts;
    (void)type;
    (void)walk;
    remove(path);
    return 0;
}

static void remove_tree(const char *path)
{
    nftw(path, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

// --- Those of others ---------------------------------------------------------

// Opens the folder of a dead owner and locks it; -1 if the owner lives.
static int lock_dead(int base, const char *name)
{
    struct stat facts;
    int folder = openat(base, name,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
        return -1;
    if (fstat(folder, &facts) == 0 && facts.st_uid == geteuid() &&
        flock(folder, LOCK_EX | LOCK_NB) == 0)
        return folder;
    close(folder);
    return -1;
}

static void sweep(void)
{
    char *path = malloc(SCRATCH_PATH_SIZE);  // callers may have little stack
    DIR *base = path ? opendir(base_folder()) : NULL;
    struct dirent *entry;
    while (base && (entry = readdir(base))) {
        if (strncmp(entry->d_name, NAME_OWNED, strlen(NAME_OWNED)) != 0)
            continue;
        int folder = lock_dead(dirfd(base), entry->d_name);
        int size = snprintf(path, SCRATCH_PATH_SIZE, "%s/%s", base_folder(),
                            entry->d_name);
        if (folder >= 0 && size > 0 && size < SCRATCH_PATH_SIZE)
            remove_tree(path);
        if (folder >= 0)
            close(folder);
    }
    if (base)
        closedir(base);
    free(path);
}

// --- One's own ---------------------------------------------------------------

// If files cannot be locked, the folder keeps its first name, and no process
// sweeps it.
static void own(struct scratch *scratch)
{
    char *name = strrchr(scratch->path, '/') + 1;
    char *owned = malloc(SCRATCH_PATH_SIZE);
    scratch->lock = open(scratch->path,
                         O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (owned && scratch->lock >= 0 &&
        flock(scratch->lock, LOCK_EX | LOCK_NB) == 0) {
        snprintf(owned, SCRATCH_PATH_SIZE, "%.*s" NAME_OWNED "%s",
                 (int)(name - scratch->path), scratch->path,
                 name + strlen(NAME_NEW) - strlen("XXXXXX"));
        if (rename(scratch->path, owned) == 0)
            strcpy(scratch->path, owned);
    }
    free(owned);
}

int scratch_make(struct scratch *scratch, size_t room)
{
    scratch->lock = -1;
    int length = snprintf(scratch->path, sizeof scratch->path, "%s/" NAME_NEW,
                          base_folder());
    if (length < 0 || (size_t)length + room > sizeof scratch->path) {
        strcpy(scratch->path, "TMPDIR");
        return ENAMETOOLONG;
    }
    sweep();
    if (!mkdtemp(scratch->path))
        return errno;
    own(scratch);
    return 0;
}

void scratch_remove(struct scratch *scratch)
{
    remove_tree(scratch->path);
    if (scratch->lock >= 0)
        close(scratch->lock);
    scratch->lock = -1;
}
