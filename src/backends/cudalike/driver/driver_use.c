// The end of the process: exit handlers run while the library's threads go on.
//
// The driver also has an exit handler. Behind the handler, page-locked memory
// may be gone and functions of the driver fail. Runnel's handler is registered
// later and so runs earlier: from then on no thread of the library uses either.
#include "backends/cudalike/driver/driver_use.h"

#include "backends/cudalike/tuning.h"
#include "base/clock.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static _Atomic uint32_t users;
static _Atomic uint64_t ended;  // time of the end; 0: not yet
static pid_t owner;
static _Thread_local bool is_of_library;

void library_thread_begin(void)
{
    is_of_library = true;
}

bool library_thread_is_here(void)
{
    return is_of_library;
}

bool driver_use_begin(void)
{
    atomic_fetch_add(&users, 1);
    if (!atomic_load(&ended))
        return true;
    driver_use_end();
    return false;
}

void driver_use_end(void)
{
    if (COUNT_DOWN(&users) == 1 && atomic_load(&ended))
        futex_wake(&users, INT32_MAX);
}

_Noreturn void driver_use_never(void)
{
    static _Atomic uint32_t never;
    for (;;)
        futex_wait(&never, 0, RNL_FOREVER);
}

uint64_t driver_use_ended(void)
{
    return atomic_load_explicit(&ended, memory_order_relaxed);
}

rnl_status driver_use_fail(void)
{
    return fail(RNL_ERROR_DEVICE_LOST,
                "the process is ending, and the host does nothing for its "
                "streams any more");
}

// After a fork the child has none of the threads, so the handler does nothing.
static void end_use(void)
{
    if (getpid() != owner)
        return;
    uint64_t now = clock_now();
    atomic_store(&ended, now ? now : 1);
    while (clock_now() - now < EXIT_PATIENCE_NS) {
        uint32_t seen = atomic_load(&users);
        if (seen == 0)
            break;
        futex_wait(&users, seen, now + EXIT_PATIENCE_NS);
    }
}

static void register_end(void)
{
    owner = getpid();
    atexit(end_use);
}

void driver_use_until_exit(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_end);
}
