// backends/cpu/kernel/fiber: fibers in the child of a fork.
#include "unit.h"

#include "backends/cpu/kernel/fiber.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_bool stop;

static void *make_fibers(void *made)
{
    while (!atomic_load(&stop)) {
        struct fiber *fiber = fiber_create(NULL, NULL);
        if (fiber)
            fiber_destroy(fiber);
        atomic_store((atomic_bool *)made, fiber != NULL);
    }
    return NULL;
}

// In the child; a lock that nobody gives back is the alarm's.
static int make_one(void)
{
    alarm(20);
    struct fiber *fiber = fiber_create(NULL, NULL);
    if (!fiber)
        return 1;
    fiber_destroy(fiber);
    return 0;
}

RNL_TEST(a_fork_finds_the_records_of_fibers_whole)
{
    atomic_bool made = false;
    pthread_t thread;
    int result = 0;
    assert_int_equal(pthread_create(&thread, NULL, make_fibers, &made), 0);
    for (int i = 0; i < 400 && result == 0; i++) {
        pid_t pid = test_fork();
        if (pid == 0)
            _exit(make_one());
        result = test_wait(pid);
    }
    atomic_store(&stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(result, 0);
    assert_true(atomic_load(&made));
}
