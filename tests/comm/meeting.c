#include "meeting.h"

#include <netdb.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// --- Calls of the library ----------------------------------------------------

static _Thread_local struct visitor *self;  // of this thread
static _Atomic int last_card;               // the rank of the last card
static _Atomic int refused_names;           // look-ups that fail from now on
static _Atomic int name_failure;            // how

uint64_t __real_clock_ns(void);
uint64_t __wrap_clock_ns(void);
int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
ssize_t __real_recv(int own, void *bytes, size_t size, int flags);
ssize_t __wrap_recv(int own, void *bytes, size_t size, int flags);
int __real_getaddrinfo(const char *host, const char *port,
                       const struct addrinfo *hints, struct addrinfo **out);
int __wrap_getaddrinfo(const char *host, const char *port,
                       const struct addrinfo *hints, struct addrinfo **out);

uint64_t __wrap_clock_ns(void)
{
    return __real_clock_ns() + (self ? self->ahead : 0);
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
    if (self && time->tv_nsec > self->longest)
        self->longest = time->tv_nsec;
    return __real_nanosleep(time, left);
}

ssize_t __wrap_recv(int own, void *bytes, size_t size, int flags)
{
    ssize_t got = __real_recv(own, bytes, size, flags);
    if (got == sizeof(struct card))
        last_card = ((struct card *)bytes)->rank;
    return got;
}

int __wrap_getaddrinfo(const char *host, const char *port,
                       const struct addrinfo *hints, struct addrinfo **out)
{
    if (refused_names > 0) {
        refused_names--;
        return name_failure;
    }
    return __real_getaddrinfo(host, port, hints, out);
}

void await_card(int rank)
{
    while (last_card != rank)
        sched_yield();
}

void hurry(struct visitor *own)
{
    own->ahead = 2 * LONG;
}

void refuse_names(int how, int n)
{
    name_failure = how;
    refused_names = n;
}

// --- Ranks -------------------------------------------------------------------

char folder[64], path[80];

void begin(void)
{
    snprintf(folder, sizeof folder, "/tmp/runnel-meet-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/meet", folder);
}

void end(void)
{
    assert_int_equal(rmdir(folder), 0);
}

void *go(void *argument)
{
    struct visitor *own = argument;
    self = own;
    own->status = meet(&own->members, &own->value, sizeof own->value, own->all);
    snprintf(own->message, sizeof own->message, "%s",
             own->status ? rnl_last_error()->message : "");
    own->ended = true;
    return NULL;
}

void start(struct visitor *own, struct membership members, uint64_t time)
{
    own->members = members;
    own->members.deadline = clock_after(time);
    own->value = 10 + members.rank;
    own->ahead = 0;
    own->longest = 0;
    own->ended = false;
    assert_int_equal(pthread_create(&own->thread, NULL, go, own), 0);
}

void start_at_file(struct visitor *own, int rank, int size, uint64_t time)
{
    start(own, (struct membership){.rank = rank, .size = size, .file = path},
          time);
}

void start_at(struct visitor *own, int rank, int size, const char *address,
              uint64_t time)
{
    start(own,
          (struct membership){.rank = rank, .size = size, .address = address},
          time);
}

void expect_met(struct visitor *own)
{
    pthread_join(own->thread, NULL);
    if (own->status != RNL_OK)
        fail_msg("rank %d: %s", own->members.rank, own->message);
    for (int i = 0; i < own->members.size; i++)
        assert_int_equal(own->all[i], 10 + i);
}

void expect_end(struct visitor *own, rnl_status status, const char *words)
{
    pthread_join(own->thread, NULL);
    test_status(own->status, status, own->message, __FILE__, __LINE__);
    if (!strstr(own->message, words))
        fail_msg("'%s' lacks '%s'", own->message, words);
}
