#include "fault.h"

#include "test.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fault_plan current;
static _Atomic bool armed;
static _Atomic long seen, met, totals[FAULT_ANY + 1];

void fault_arm(const struct fault_plan *plan)
{
    current = *plan;
    atomic_store(&seen, 0);
    atomic_store(&met, 0);
    atomic_store(&armed, true);
}

long fault_disarm(void)
{
    atomic_store(&armed, false);
    return fault_met();
}

long fault_met(void)
{
    return atomic_load(&met);
}

bool fault_is_armed(void)
{
    return atomic_load(&armed);
}

bool fault_ends(void)
{
    return atomic_load(&armed) && !current.for_ever;
}

long fault_total(enum fault_kind kind)
{
    return atomic_load(&totals[kind]);
}

static bool is_due(enum fault_kind kind)
{
    if (kind == FAULT_WAIT && (current.for_ever || current.error != EINTR))
        return false;
    kind = kind == FAULT_WAIT ? FAULT_SYSTEM : kind;
    if (!atomic_load(&armed) || !(current.kinds & kind))
        return false;
    long number = atomic_fetch_add(&seen, 1) - current.first;
    if (number < 0 || (number > 0 && !current.for_ever &&
                       (current.second == 0 || number != current.second)))
        return false;
    atomic_fetch_add(&met, 1);
    atomic_fetch_add(&totals[kind], 1);
    return true;
}

bool fault_of_memory(void)
{
    return is_due(FAULT_MEMORY);
}

// --- Who calls -------------------------------------------------------------

static uintptr_t library_begin, library_end;

static int note_library(struct dl_phdr_info *info, size_t size, void *inside)
{
    (void)size;
    uintptr_t begin = UINTPTR_MAX, end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type != PT_LOAD)
            continue;
        uintptr_t at = info->dlpi_addr + part->p_vaddr;
        begin = at < begin ? at : begin;
        end = at + part->p_memsz > end ? at + part->p_memsz : end;
    }
    if ((uintptr_t)inside < begin || (uintptr_t)inside >= end)
        return 0;
    library_begin = begin;
    library_end = end;
    return 1;
}

__attribute__((constructor)) static void find_library(void)
{
    dl_iterate_phdr(note_library, dlsym(RTLD_DEFAULT, "rnl_version"));
}

// The places whose calls have failed.
enum { MOST_SITES = 512 };
static struct site {
    _Atomic uintptr_t at;
    const char *_Atomic name;
} sites[MOST_SITES];

static void note_site(const char *name, uintptr_t at)
{
    for (size_t i = 0; i < MOST_SITES; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&sites[i].at, &none, at))
            atomic_store(&sites[i].name, name);
        if (none == 0 || none == at)
            return;
    }
}

void fault_print_sites(void)
{
    for (size_t i = 0; i < MOST_SITES && atomic_load(&sites[i].at); i++) {
        char id[80];
        snprintf(id, sizeof id, "%s+%zx", atomic_load(&sites[i].name),
                 (size_t)(sites[i].at - library_begin));
        test_member("failed-sites", id);
    }
}

// Whether the call of `name` that returns to `caller` fails, and how: errno.
static bool fails(enum fault_kind kind, const char *name, const void *caller)
{
    uintptr_t at = (uintptr_t)caller;
    if (at < library_begin || at >= library_end || !is_due(kind))
        return false;
    note_site(name, at);
    if (getenv("RUNNEL_SWEEP_TRACE"))
        fprintf(stderr, "    %s at %zx fails\n", name,
                (size_t)(at - library_begin));
    errno = current.error ? current.error : EIO;
    return true;
}

// --- The functions that stand in -------------------------------------------

// A sanitizer that is linked into the program has functions of its own.
static void *find(const char *name, void *of_sanitizer)
{
    return of_sanitizer ? of_sanitizer : dlsym(RTLD_NEXT, name);
}

// STAND_IN(kind, result, name, parameters, arguments, when it fails)
#define STAND_IN(kind, type, name, parameters, arguments, failed)          \
    extern __typeof__(name) __interceptor_##name __attribute__((weak));    \
    static __typeof__(name) *real_##name(void)                             \
    {                                                                      \
        static void *_Atomic real;                                         \
        if (!atomic_load(&real))                                           \
            atomic_store(&real,                                            \
                         find(#name, (void *)__interceptor_##name));       \
        return (__typeof__(name) *)atomic_load(&real);                     \
    }                                                                      \
    type name parameters                                                   \
    {                                                                      \
        if (fails(kind, #name, __builtin_return_address(0)))               \
            return failed;                                                 \
        return real_##name() arguments;                                    \
    }
#define SYSTEM(type, name, parameters, arguments, failed)                  \
    STAND_IN(FAULT_SYSTEM, type, name, parameters, arguments, failed)

SYSTEM(ssize_t, read, (int fd, void *data, size_t size), (fd, data, size),
       current.error ? -1 : 0)
SYSTEM(ssize_t, write, (int fd, const void *data, size_t size),
       (fd, data, size),
       current.error ? -1 : real_write()(fd, data, size / 2))
SYSTEM(int, fstat, (int fd, struct stat *facts), (fd, facts), -1)
SYSTEM(int, lstat, (const char *path, struct stat *facts), (path, facts), -1)
SYSTEM(int, stat, (const char *path, struct stat *facts), (path, facts), -1)
SYSTEM(int, fstatat,
       (int fd, const char *path, struct stat *facts, int flags),
       (fd, path, facts, flags), -1)
SYSTEM(int, access, (const char *path, int mode), (path, mode), -1)
SYSTEM(int, mkdir, (const char *path, mode_t mode), (path, mode), -1)
SYSTEM(char *, mkdtemp, (char *path), (path), NULL)
SYSTEM(int, unlink, (const char *path), (path), -1)
SYSTEM(int, unlinkat, (int fd, const char *path, int flags),
       (fd, path, flags), -1)
SYSTEM(int, rmdir, (const char *path), (path), -1)
SYSTEM(int, remove, (const char *path), (path), -1)
SYSTEM(int, rename, (const char *from, const char *to), (from, to), -1)
SYSTEM(int, renameat,
       (int at, const char *from, int to_at, const char *to),
       (at, from, to_at, to), -1)
SYSTEM(int, ftruncate, (int fd, off_t size), (fd, size), -1)
SYSTEM(int, futimens, (int fd, const struct timespec times[2]),
       (fd, times), -1)
SYSTEM(char *, realpath, (const char *path, char *resolved),
       (path, resolved), NULL)
SYSTEM(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL)
SYSTEM(DIR *, fdopendir, (int fd), (fd), NULL)
SYSTEM(struct dirent *, readdir, (DIR *folder), (folder), NULL)
SYSTEM(int, memfd_create, (const char *name, unsigned flags), (name, flags),
       -1)
SYSTEM(int, pipe2, (int ends[2], int flags), (ends, flags), -1)
SYSTEM(void *, mmap,
       (void *at, size_t size, int protection, int flags, int fd,
        off_t offset),
       (at, size, protection, flags, fd, offset), MAP_FAILED)
SYSTEM(int, mprotect, (void *at, size_t size, int protection),
       (at, size, protection), -1)
SYSTEM(int, madvise, (void *at, size_t size, int advice), (at, size, advice),
       -1)
SYSTEM(int, posix_spawn,
       (pid_t *child, const char *path,
        const posix_spawn_file_actions_t *actions,
        const posix_spawnattr_t *attributes, char *const *arguments,
        char *const *environment),
       (child, path, actions, attributes, arguments, environment), errno)
SYSTEM(int, pthread_key_create, (pthread_key_t *key, void (*end)(void *)),
       (key, end), EAGAIN)
// A wait that a signal interrupts is made again: not for ever.
STAND_IN(FAULT_WAIT, int, ppoll,
       (struct pollfd *fds, nfds_t count, const struct timespec *limit,
        const sigset_t *mask),
       (fds, count, limit, mask), (errno = EINTR, -1))
STAND_IN(FAULT_WAIT, pid_t, waitpid, (pid_t child, int *status, int options),
       (child, status, options), (errno = EINTR, -1))
// The words of dlerror are there only if a call failed indeed.
SYSTEM(void *, dlopen, (const char *path, int flags), (path, flags),
       real_dlopen()("/injected/fault.so", RTLD_NOW))
// The descriptor is gone nevertheless.
SYSTEM(int, close, (int fd), (fd), (real_close()(fd), errno = EIO, -1))
STAND_IN(FAULT_THREAD, int, pthread_create,
         (pthread_t * thread, const pthread_attr_t *attributes,
          void *(*run)(void *), void *argument),
         (thread, attributes, run, argument), EAGAIN)
STAND_IN(FAULT_MEMORY, int, posix_memalign,
         (void **memory, size_t alignment, size_t size),
         (memory, alignment, size), ENOMEM)

// The mode is there only if a file may be made.
static mode_t mode_of(int flags, va_list rest)
{
    return flags & (O_CREAT | O_TMPFILE) ? (mode_t)va_arg(rest, unsigned) : 0;
}

extern __typeof__(open) __interceptor_open __attribute__((weak));
extern __typeof__(openat) __interceptor_openat __attribute__((weak));

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    if (fails(FAULT_SYSTEM, "open", __builtin_return_address(0)))
        return -1;
    __typeof__(open) *real = NULL;
    *(void **)&real = find("open", (void *)__interceptor_open);
    return real(path, flags, mode);
}

int openat(int fd, const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = mode_of(flags, rest);
    va_end(rest);
    if (fails(FAULT_SYSTEM, "openat", __builtin_return_address(0)))
        return -1;
    __typeof__(openat) *real = NULL;
    *(void **)&real = find("openat", (void *)__interceptor_openat);
    return real(fd, path, flags, mode);
}
