#include "sleeper.h"

#include "harness.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SLEEP, RUN, STOP };

static void futex_wait(sleeper *self)
{
    while (atomic_load(&self->command) == SLEEP)
        syscall(SYS_futex, &self->command, FUTEX_WAIT_PRIVATE, SLEEP, NULL);
}

static void futex_wake(sleeper *self)
{
    syscall(SYS_futex, &self->command, FUTEX_WAKE_PRIVATE, 1);
}

static void condition_wait(sleeper *self)
{
    pthread_mutex_lock(&self->mutex);
    while (atomic_load(&self->command) == SLEEP)
        pthread_cond_wait(&self->condition, &self->mutex);
    pthread_mutex_unlock(&self->mutex);
}

static void condition_wake(sleeper *self)
{
    // The sleeper looks and sleeps in one step only against this lock.
    pthread_mutex_lock(&self->mutex);
    pthread_mutex_unlock(&self->mutex);
    pthread_cond_signal(&self->condition);
}

static void give(sleeper *self, uint32_t command)
{
    atomic_store(&self->command, command);
    if (self->conditional)
        condition_wake(self);
    else
        futex_wake(self);
}

static void *sleep_and_run(void *opaque)
{
    sleeper *self = opaque;
    for (;;) {
        if (self->conditional)
            condition_wait(self);
        else
            futex_wait(self);
        if (atomic_load(&self->command) == STOP)
            return NULL;
        atomic_store(&self->command, SLEEP);
        atomic_store(&self->ran_at, bench_now_ns());
    }
}

void sleeper_start(sleeper *self, bool conditional)
{
    *self = (sleeper){.conditional = conditional};
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->condition, NULL);
    self->started = !pthread_create(&self->thread, NULL, sleep_and_run, self);
}

void sleeper_stop(sleeper *self)
{
    if (self->started) {
        give(self, STOP);
        pthread_join(self->thread, NULL);
    }
    pthread_cond_destroy(&self->condition);
    pthread_mutex_destroy(&self->mutex);
}

double sleeper_sample(void *opaque)
{
    sleeper *self = opaque;
    uint64_t end;
    atomic_store(&self->ran_at, 0);
    uint64_t start = bench_now_ns();
    give(self, RUN);
    while (!(end = atomic_load(&self->ran_at)))
        bench_relax();
    return (double)(end - start);
}
