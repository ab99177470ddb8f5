// Forks while another thread is in the system's loader.
#include "test.h"

#include "base/dynlib.h"
#include "base/thread.h"
#include "shared_gate.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct shared_gate gate;
static atomic_bool forks, over_at_fork;

static void *load(void *unused)
{
    void *library = dynlib_load(SLOW_LIBRARY);
    assert_non_null(library);
    dynlib_unload(library);
    return unused;
}

static void see_begin(void)
{
    atomic_store(&forks, true);
}

static void see_end(void)
{
    atomic_store(&over_at_fork, atomic_load(&gate.over));
}

static void *fork_and_load(void *unused)
{
    int status;
    pid_t child = test_fork();
    if (child == 0) {
        load(NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    return unused;
}

static void await(atomic_bool *seen)
{
    while (!atomic_load(seen))
        sched_yield();
}

// Those that are told last were named first.
RNL_TEST(a_fork_waits_for_what_is_being_loaded)
{
    static const struct fork_hooks hooks = {
        dynlib_before_fork, dynlib_after_fork_in_parent,
        dynlib_after_fork_in_child};
    atomic_bool noticed = false, again = false;
    pthread_t loader, forker;
    char address[32];
    assert_int_equal(pthread_atfork(see_end, NULL, NULL), 0);
    assert_true(thread_notice_forks(&noticed, &hooks));
    assert_true(thread_notice_forks(&again, &hooks));
    assert_int_equal(pthread_atfork(see_begin, NULL, NULL), 0);
    snprintf(address, sizeof address, "%p", (void *)&gate);
    setenv(SHARED_GATE, address, 1);
    assert_int_equal(pthread_create(&loader, NULL, load, NULL), 0);
    await(&gate.begun);
    assert_int_equal(pthread_create(&forker, NULL, fork_and_load, NULL), 0);
    await(&forks);
    atomic_store(&gate.open, true);
    pthread_join(loader, NULL);
    pthread_join(forker, NULL);
    assert_true(atomic_load(&over_at_fork));
    load(NULL);
}

// dlsym is wrapped: who looks for HELD has the lock until the gate opens. A
// sanitizer calls dlsym, too, before the sanitizer itself is ready.
#define HELD "held"
static struct shared_gate lookup;
static volatile bool holds;

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

__attribute__((no_sanitize_address, no_sanitize_thread)) void *
__wrap_dlsym(void *library, const char *name)
{
    if (holds && strcmp(name, HELD) == 0) {
        atomic_store(&lookup.begun, true);
        await(&lookup.open);
    }
    return __real_dlsym(library, name);
}

static void *look_for(void *name)
{
    return dynlib_symbol(RTLD_DEFAULT, name);
}

// The fork loses patience. The thread with the lock is not in the child.
RNL_TEST(a_forked_child_loads_while_its_parent_does)
{
    static const struct fork_hooks hooks = {
        dynlib_before_fork, dynlib_after_fork_in_parent,
        dynlib_after_fork_in_child};
    atomic_bool noticed = false;
    pthread_t loader;
    void *found;
    int status;
    assert_true(thread_notice_forks(&noticed, &hooks));
    holds = true;
    assert_int_equal(pthread_create(&loader, NULL, look_for, HELD), 0);
    await(&lookup.begun);
    pid_t child = test_fork();
    if (child == 0) {
        alarm(10);
        _exit(look_for("malloc") == NULL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    atomic_store(&lookup.open, true);
    pthread_join(loader, &found);
    assert_null(found);
    assert_non_null(look_for("malloc"));
}
