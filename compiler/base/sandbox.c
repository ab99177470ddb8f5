// Confines compilers: resource limits for all, and Landlock for those of
// untrusted source.

#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// --- Limits ------------------------------------------------------------------

const struct limits trusted_limits = {
    .memory = (uint64_t)16 << 30, .seconds = 600, .file = (uint64_t)2 << 30,
    .log = (size_t)8 << 20};
const struct limits untrusted_limits = {
    .memory = (uint64_t)1 << 30, .seconds = 30, .file = (uint64_t)64 << 20,
    .log = (size_t)64 << 10};

#define STACK_WANTED ((rlim_t)64 << 20)  // for what nests deeply
#define STACK_LEAST ((rlim_t)1 << 20)

// Never above what holds already.
static void set_limit(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    if (hard < limit.rlim_max)
        limit.rlim_max = hard;
    if (soft > limit.rlim_max)
        soft = limit.rlim_max;
    if (soft < limit.rlim_cur || resource == RLIMIT_STACK)
        limit.rlim_cur = soft;
    setrlimit(resource, &limit);
}

// A sanitizer reserves terabytes.
#if defined(__has_feature)
#define IS_SANITIZED                                                    \
    (__has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
     __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

void sandbox_limit(const struct limits *limits)
{
#if !IS_SANITIZED
    set_limit(RLIMIT_AS, limits->memory, limits->memory);
#endif
    set_limit(RLIMIT_CPU, limits->seconds, limits->seconds + 1);
    set_limit(RLIMIT_FSIZE, limits->file, limits->file);
    set_limit(RLIMIT_CORE, 0, 0);
    set_limit(RLIMIT_STACK, STACK_WANTED, RLIM_INFINITY);
}

bool sandbox_has_stack(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) != 0 ||
           limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= STACK_LEAST;
}

// --- Walls -------------------------------------------------------------------
//
// Landlock's interface, in words of our own: headers of the kernel may be older
// than the kernel.

enum {
    LANDLOCK_CREATE = 444,
    LANDLOCK_ADD = 445,
    LANDLOCK_RESTRICT = 446,
    LANDLOCK_ASK_VERSION = 1,  // flag of the first
    LANDLOCK_BENEATH = 1,      // kind of rule of the second
};

enum {
    MAY_EXECUTE = 1 << 0,
    MAY_WRITE_FILE = 1 << 1,
    MAY_READ_FILE = 1 << 2,
    MAY_READ_FOLDER = 1 << 3,
    MAY_TRUNCATE = 1 << 14,
    MAY_ALL_OF_1 = (1 << 13) - 1,
};

struct ruleset {
    uint64_t files, network, scopes;
};

struct rule {
    uint64_t allowed;
    int32_t folder;
} __attribute__((packed));

static int rules = -1;  // of this job, or -1: there are none

static long landlock_version(void)
{
    return syscall(LANDLOCK_CREATE, NULL, 0, LANDLOCK_ASK_VERSION);
}

// Everything of files that this kernel knows is forbidden at first.
static uint64_t known_rights(long version)
{
    uint64_t rights = MAY_ALL_OF_1;
    for (long v = 2; v <= version && v <= 3; v++)
        rights |= (uint64_t)1 << (11 + v);  // renames, truncation
    return rights | (uint64_t)(version >= 5) << 15;  // devices
}

static int make_rules(long version)
{
    struct ruleset set = {.files = known_rights(version)};
    size_t size = sizeof set.files;
    if (version >= 4) {
        set.network = 3;  // no TCP in either direction
        size += sizeof set.network;
    }
    if (version >= 6) {
        set.scopes = 3;  // no sockets or signals of other processes
        size += sizeof set.scopes;
    }
    return (int)syscall(LANDLOCK_CREATE, &set, size, 0);
}

static void allow(int set, const char *path, uint64_t rights, long version)
{
    struct stat facts;
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0)
        return;  // what is not there need not be allowed
    if (fstat(file, &facts) == 0 && !S_ISDIR(facts.st_mode))
        rights &= MAY_EXECUTE | MAY_WRITE_FILE | MAY_READ_FILE | MAY_TRUNCATE;
    struct rule rule = {rights & known_rights(version), file};
    syscall(LANDLOCK_ADD, set, LANDLOCK_BENEATH, &rule, 0);
    close(file);
}

// The private folder, the folders of headers, and no other file.
static int make_rules_of(const struct list *arguments, long version)
{
    int set = make_rules(version);
    if (set < 0)
        return set;
    allow(set, work_folder(), known_rights(version), version);
    allow(set, "/dev/null", MAY_READ_FILE | MAY_WRITE_FILE, version);
    for (size_t i = 0; i < arguments->count; i++)
        if (strncmp(arguments->items[i], "-I/", 3) == 0)
            allow(set, arguments->items[i] + 2,
                  MAY_READ_FILE | MAY_READ_FOLDER, version);
    return set;
}

bool sandbox_prepare(const struct list *arguments)
{
    long version = landlock_version();
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (version >= 1)
        rules = make_rules_of(arguments, version);
    return rules >= 0;
}

bool sandbox_enter(void)
{
    return rules < 0 || syscall(LANDLOCK_RESTRICT, rules, 0) == 0;
}

// --- Files that were included ------------------------------------------------

static bool lies_in(const char *path, const char *folder)
{
    char real[4096];
    if (!realpath(folder, real))
        return false;
    size_t size = strlen(real);
    return strncmp(path, real, size) == 0 && path[size] == '/';
}

bool sandbox_may_include(void *user, const char *name)
{
    const struct list *arguments = user;
    char path[4200], real[4096];
    if (name[0] == '<')
        return true;  // the compiler's own
    if (name[0] == '/')
        snprintf(path, sizeof path, "%s", name);
    else
        in_folder(path, name);
    if (!realpath(path, real))
        return false;
    bool may = lies_in(real, work_folder());
    for (size_t i = 0; !may && i < arguments->count; i++) {
        const char *word = arguments->items[i];
        may = strncmp(word, "-I/", 3) == 0 && lies_in(real, word + 2);
    }
    return may;
}
