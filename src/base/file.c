#include "base/file.h"

#include "base/alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Returns the bytes read, fewer than `size` only at the file's end, or -1.
static ssize_t read_all(int fd, char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t got = read(fd, data + done, size - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

int file_read(int fd, size_t limit, void **out_data, size_t *out_size)
{
    struct stat facts;
    if (fstat(fd, &facts) != 0)
        return errno;
    if (!S_ISREG(facts.st_mode))
        return S_ISDIR(facts.st_mode) ? EISDIR : EINVAL;
    if ((uint64_t)facts.st_size > limit)
        return EFBIG;
    size_t size = (size_t)facts.st_size;
    void *data = size ? mem_allocate(size) : NULL;
    if (size && !data)
        return ENOMEM;
    ssize_t got = read_all(fd, data, size);
    if (got != (ssize_t)size) {
        // The file was cut while we read.
        int error = got < 0 ? errno : EIO;
        mem_release(data, size);
        return error;
    }
    *out_data = data;
    *out_size = size;
    return 0;
}

int file_read_path(const char *path, size_t limit, void **out_data,
                   size_t *out_size)
{
    // Not blocking: opening a pipe by mistake must not hang.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno;
    int error = file_read(fd, limit, out_data, out_size);
    close(fd);
    return error;
}

static int write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t put = write(fd, data, size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return put < 0 ? errno : EIO;
        data += put;
        size -= (size_t)put;
    }
    return 0;
}

static void forget_signal(int number, const sigset_t *pending_before)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    if (!sigismember(pending_before, number))
        sigtimedwait(&set, NULL, &(struct timespec){0});
}

// A file beyond the process's limit and a pipe that nobody reads also send the
// thread a signal, which would end the program: the error says it all.
int file_write(int fd, const void *data, size_t size)
{
    sigset_t held, before, pending;
    sigemptyset(&held);
    sigaddset(&held, SIGXFSZ);
    sigaddset(&held, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &held, &before);
    sigpending(&pending);
    int error = write_all(fd, data, size);
    if (error == EFBIG)
        forget_signal(SIGXFSZ, &pending);
    if (error == EPIPE)
        forget_signal(SIGPIPE, &pending);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

int file_write_path(const char *path, const void *data, size_t size)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno;
    int error = file_write(fd, data, size);
    // Some file systems report a full disk only here.
    if (close(fd) != 0 && error == 0)
        error = errno;
    return error;
}
