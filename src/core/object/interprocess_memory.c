// Memory that other processes of the user can open: a file without a name,
// reached through /proc/<pid>/fd of the creating process. The kernel checks
// access, and nothing is left behind when a process is killed.
#include "core/object/interprocess_memory.h"

#include "core/backend.h"
#include "core/object/pool_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

struct key {
    uint32_t pid, fd;
    uint64_t nonce[2];  // part of the file's name: numbers are reused
};

_Static_assert(sizeof(struct key) <= SHARE_KEY_SIZE, "a key has room");

// memory.cookie: these bits, of which one is always set.
#define COOKIE_SHARED UINT64_C(1)
#define COOKIE_FD_SHIFT 1  // the descriptor plus one; 0: none

static void name_of(const struct key *key, char *name, size_t size)
{
    snprintf(name, size, "runnel-%016llx%016llx",
             (unsigned long long)key->nonce[0],
             (unsigned long long)key->nonce[1]);
}

static rnl_status map_file(int fd, size_t size, struct memory *out_memory)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "%zu bytes of shared memory cannot be mapped: %s", size,
                    strerror(errno));
    *out_memory = (struct memory){memory, memory, COOKIE_SHARED};
    return RNL_OK;
}

// --- Making ----------------------------------------------------------------

// The size is sealed: if another process could shorten the file, our next
// access would be a fault.
static int make_file(const struct key *key, size_t size)
{
    char name[64];
    name_of(key, name, sizeof name);
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 &&
        (fchmod(fd, S_IRUSR | S_IWUSR) || ftruncate(fd, (off_t)size) ||
         fcntl(fd, F_ADD_SEALS, SEALS))) {
        int code = errno;
        close(fd);
        errno = code;
        return -1;
    }
    return fd;
}

rnl_status interprocess_memory_make(size_t size, unsigned char *out_key,
                                    struct memory *out_memory)
{
    struct key made = {.pid = (uint32_t)getpid()};
    if (getrandom(made.nonce, sizeof made.nonce, 0) != sizeof made.nonce)
        return fail(RNL_ERROR_IO, "the system gives no random bytes: %s",
                    strerror(errno));
    int fd = make_file(&made, size);
    if (fd < 0)
        return fail(RNL_ERROR_OUT_OF_MEMORY,
                    "a file in memory of %zu bytes cannot be made: %s", size,
                    strerror(errno));
    rnl_status status = map_file(fd, size, out_memory);
    if (status != RNL_OK) {
        close(fd);
        return status;
    }
    out_memory->cookie |= ((uint64_t)fd + 1) << COOKIE_FD_SHIFT;
    out_memory->zeroed = true;
    made.fd = (uint32_t)fd;
    memcpy(out_key, &made, sizeof made);
    return RNL_OK;
}

void interprocess_memory_end(struct memory memory, size_t size)
{
    uint64_t fd = memory.cookie >> COOKIE_FD_SHIFT;
    munmap(memory.host, size);
    if (fd != 0)
        close((int)(fd - 1));
}

// --- Opening ---------------------------------------------------------------

static rnl_status gone(void)
{
    return fail_at(RNL_ERROR_NOT_FOUND, "handle",
                   "the memory is gone: the process that exported it ended, "
                   "released it, or is in another container");
}

static rnl_status cannot_look(int code)
{
    if (code == ENOENT || code == ESRCH || code == ENOTDIR)
        return gone();
    return fail_at(RNL_ERROR_IO, "handle",
                   "the system does not let this process open the memory: %s; "
                   "both must be of the same user",
                   strerror(code));
}

// The name of the file shows that the descriptor is still the exported one.
static bool is_file(int fd, const struct key *key, size_t size)
{
    char link[64], name[64], wanted[96], seen[96];
    struct stat stat;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, seen, sizeof seen - 1);
    if (length < 0)
        return false;
    seen[length] = '\0';
    name_of(key, name, sizeof name);
    snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
    return strcmp(seen, wanted) == 0 && fstat(fd, &stat) == 0 &&
           S_ISREG(stat.st_mode) && (uint64_t)stat.st_size == size;
}

// `place` is only a name for the file (O_PATH): nothing was opened, which could
// block or have effects where the handle lies.
static rnl_status open_file(int place, const struct key *key, size_t size,
                            struct memory *out_memory)
{
    char link[64];
    if (!is_file(place, key, size))
        return gone();
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    int fd = open(link, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return cannot_look(errno);
    int seals = fcntl(fd, F_GET_SEALS);
    rnl_status status = seals < 0 || (seals & SEALS) != SEALS
                            ? gone()
                            : map_file(fd, size, out_memory);
    close(fd);
    return status;
}

rnl_status interprocess_memory_open(const unsigned char *given, size_t size,
                                    struct memory *out_memory)
{
    struct key key;
    char path[64];
    memcpy(&key, given, sizeof key);
    snprintf(path, sizeof path, "/proc/%u/fd/%u", key.pid, key.fd);
    int place = open(path, O_PATH | O_CLOEXEC);
    if (place < 0)
        return cannot_look(errno);
    rnl_status status = open_file(place, &key, size, out_memory);
    close(place);
    return status;
}
