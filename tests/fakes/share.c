// Memory of the fake that other processes open: a file in memory that takes the
// place of the block. As the real driver, a process does not open its own, and
// a second opening gives the same address.
#include "fake.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UNIT = 2 << 20, MAGIC = 0x46414b45 };

struct key {
    uint32_t magic;
    int pid, fd;
    uint64_t inode, size;  // of the file
    unsigned char rest[32];
};

_Static_assert(sizeof(struct key) == sizeof(struct driver_share),
               "a key is what the driver gives");

struct shared {
    struct shared *next;
    struct key key;
    void *start;
    size_t references;  // of what is opened; 0: exported
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shared *list;

static bool same(const struct key *a, const struct key *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

static struct shared **find_start_locked(const void *start, bool opened)
{
    struct shared **link = &list;
    while (*link && ((*link)->start != start ||
                     ((*link)->references > 0) != opened))
        link = &(*link)->next;
    return link;
}

static bool add_locked(const struct key *key, void *start, size_t references)
{
    struct shared *shared = malloc(sizeof *shared);
    if (shared) {
        *shared = (struct shared){list, *key, start, references};
        list = shared;
    }
    return shared != NULL;
}

// --- Exporting --------------------------------------------------------------

// The block's bytes go on in the file.
static bool replace(const struct fake_block *block, int fd)
{
    return ftruncate(fd, (off_t)block->size) == 0 &&
           pwrite(fd, (void *)block->start, block->size, 0) ==
               (ssize_t)block->size &&
           mmap((void *)block->start, block->size, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
}

static int export_locked(const struct fake_block *block, struct key *out_key)
{
    struct stat stat;
    struct shared *known = *find_start_locked((void *)block->start, false);
    if (known) {
        *out_key = known->key;
        return FAKE_OK;
    }
    int fd = memfd_create("runnel-fake", MFD_CLOEXEC);
    if (fd >= 0 && replace(block, fd) && fstat(fd, &stat) == 0) {
        *out_key = (struct key){MAGIC, (int)getpid(), fd, stat.st_ino,
                                block->size, {0}};
        if (add_locked(out_key, (void *)block->start, 0))
            return FAKE_OK;
    }
    if (fd >= 0)
        close(fd);
    return FAKE_OUT_OF_MEMORY;
}

int fake_memory_export(struct driver_share *out_key, uint64_t address)
{
    struct fake_context *context;
    struct fake_block block;
    struct key key;
    int code = fake_enter(FAKE_memory_export, &context);
    if (code)
        return code;
    if (!out_key || !fake_block_find(address, 1, &block) ||
        block.place != PLACE_DEVICE)
        return FAKE_INVALID_VALUE;
    if (block.start != address || block.size % UNIT != 0) {
        fake_misuse("%zu bytes are shared with all that is in their block",
                    block.size);
        return FAKE_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    code = export_locked(&block, &key);
    pthread_mutex_unlock(&lock);
    if (!code)
        memcpy(out_key, &key, sizeof key);
    return code;
}

void fake_share_end(const struct fake_block *block)
{
    pthread_mutex_lock(&lock);
    struct shared **link = find_start_locked((void *)block->start, false);
    struct shared *shared = *link;
    if (shared) {
        *link = shared->next;
        close(shared->key.fd);
        // What is allocated there next must not be the file's.
        mmap((void *)block->start, block->size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        free(shared);
    }
    pthread_mutex_unlock(&lock);
}

// --- Opening ----------------------------------------------------------------

static void *map(const struct key *key)
{
    char path[64];
    struct stat stat;
    void *start = MAP_FAILED;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", key->pid, key->fd);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &stat) == 0 && stat.st_ino == key->inode &&
        (uint64_t)stat.st_size == key->size)
        start = mmap(NULL, key->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                     0);
    if (fd >= 0)
        close(fd);
    return start;
}

static int open_locked(struct fake_context *context, const struct key *key,
                       uint64_t *out_address)
{
    struct shared *known = list;
    while (known && (!known->references || !same(&known->key, key)))
        known = known->next;
    void *start = known ? known->start : map(key);
    if (start == MAP_FAILED)
        return FAKE_INVALID_VALUE;
    struct fake_block block = {(uintptr_t)start, key->size, PLACE_OPENED,
                               context};
    if (known)
        known->references++;
    else if (!fake_block_add(&block) || !add_locked(key, start, 1))
        return FAKE_OUT_OF_MEMORY;
    *out_address = (uintptr_t)start;
    return FAKE_OK;
}

int fake_memory_open(uint64_t *out_address, struct driver_share given,
                     unsigned flags)
{
    struct fake_context *context;
    struct key key;
    int code = fake_enter(FAKE_memory_open, &context);
    if (code)
        return code;
    memcpy(&key, &given, sizeof key);
    if (!out_address || flags != DRIVER_SHARE_LAZY_PEER || key.magic != MAGIC)
        return FAKE_INVALID_VALUE;
    if (key.pid == (int)getpid())
        return FAKE_INVALID_CONTEXT;
    pthread_mutex_lock(&lock);
    code = open_locked(context, &key, out_address);
    pthread_mutex_unlock(&lock);
    return code;
}

// True when it is gone, or was never there: `*out_known`.
static bool drop_locked(void *start, bool *out_known)
{
    struct shared **link = find_start_locked(start, true), *shared = *link;
    *out_known = shared != NULL;
    if (!shared || --shared->references > 0)
        return false;
    *link = shared->next;
    free(shared);
    return true;
}

int fake_memory_close(uint64_t address)
{
    struct fake_context *context;
    struct fake_block block;
    bool known;
    int code = fake_enter_release(FAKE_memory_close, &context);
    if (!context)
        return code;
    pthread_mutex_lock(&lock);
    bool last = drop_locked((void *)(uintptr_t)address, &known);
    pthread_mutex_unlock(&lock);
    if (!known)
        return FAKE_INVALID_VALUE;
    if (!last || !fake_block_take(address, 1u << PLACE_OPENED, &block))
        return code;
    int waited = fake_wait_device(block.context);
    // Of a broken device what is stuck there may look at it.
    if (waited == FAKE_OK)
        munmap((void *)block.start, block.size);
    return code ? code : waited;
}
