// base/file: whole files, and everything that is no file.
#include "unit.h"

#include "base/alloc.h"
#include "base/file.h"


#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], path[96];

static void begin(void)
{
    strcpy(folder, "/tmp/runnel-file-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
}

static void end(void)
{
    unlink(path);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(what_is_written_is_read)
{
    void *data = NULL;
    size_t size = 0;
    struct stat facts;
    begin();
    assert_int_equal(file_write_path(path, "hello", 5), 0);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_int_equal(file_read_path(path, 5, &data, &size), 0);
    assert_int_equal(size, 5);
    assert_memory_equal(data, "hello", 5);
    mem_release(data, size);
    end();
}

RNL_TEST(an_empty_file_is_read)
{
    void *data = &data;
    size_t size = 77;
    begin();
    assert_int_equal(file_write_path(path, NULL, 0), 0);
    assert_int_equal(file_read_path(path, 100, &data, &size), 0);
    assert_int_equal(size, 0);
    assert_null(data);
    end();
}

RNL_TEST(a_file_is_not_overwritten)
{
    begin();
    assert_int_equal(file_write_path(path, "a", 1), 0);
    assert_int_equal(file_write_path(path, "b", 1), EEXIST);
    end();
}

RNL_TEST(a_file_beyond_the_limit_is_not_read)
{
    void *data = NULL;
    size_t size = 0;
    begin();
    assert_int_equal(file_write_path(path, "hello", 5), 0);
    assert_int_equal(file_read_path(path, 4, &data, &size), EFBIG);
    assert_null(data);
    end();
}

RNL_TEST(what_is_no_regular_file_is_refused)
{
    void *data = NULL;
    size_t size = 0;
    begin();
    assert_int_equal(file_read_path(folder, 1000, &data, &size), EISDIR);
    assert_int_equal(file_read_path("/dev/zero", 1000, &data, &size), EINVAL);
    assert_int_equal(mkfifo(path, 0600), 0);
    // Must not hang until somebody writes.
    assert_int_equal(file_read_path(path, 1000, &data, &size), EINVAL);
    assert_null(data);
    end();
}

RNL_TEST(missing_files_and_folders_are_errors)
{
    void *data = NULL;
    size_t size = 0;
    begin();
    assert_int_equal(file_read_path(path, 1000, &data, &size), ENOENT);
    assert_int_equal(file_read_path("/etc/passwd/x", 1000, &data, &size),
                     ENOTDIR);
    assert_int_equal(file_write_path("/nonexistent/x", "x", 1), ENOENT);
    assert_int_equal(file_write_path("", "x", 1), ENOENT);
    assert_null(data);
    end();
}

RNL_TEST(a_full_disk_is_an_error)
{
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        test_skip("there is no /dev/full");
    assert_int_equal(file_write(fileno(full), "x", 1), ENOSPC);
    fclose(full);
}

RNL_TEST(a_file_beyond_the_limit_is_an_error_and_no_signal)
{
    begin();
    struct rlimit limit, small;
    getrlimit(RLIMIT_FSIZE, &limit);
    small = limit;
    small.rlim_cur = 3;
    setrlimit(RLIMIT_FSIZE, &small);
    int error = file_write_path(path, "hello", 5);
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_int_equal(error, EFBIG);
    end();
}

RNL_TEST(a_pipe_that_nobody_reads_is_an_error_and_no_signal)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    assert_int_equal(file_write(ends[1], "x", 1), EPIPE);
    close(ends[1]);
}

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
    (void)number;
    signals++;
}

RNL_TEST(a_signal_of_the_callers_own_is_left_to_it)
{
    int ends[2];
    sigset_t set, before, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    signal(SIGPIPE, count_signal);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    for (int own = 0; own < 2; own++) {
        if (own)
            raise(SIGPIPE);
        assert_int_equal(file_write(ends[1], "x", 1), EPIPE);
        assert_int_equal(sigpending(&pending), 0);
        assert_int_equal(sigismember(&pending, SIGPIPE), own);
    }
    close(ends[1]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(signals, 1);
}
