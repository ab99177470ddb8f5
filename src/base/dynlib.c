#include "base/dynlib.h"

#include "base/clock.h"
#include "base/thread.h"

#include <dlfcn.h>

// A fork waits no longer: what is loaded may wait for the thread that forks.
#define FORK_PATIENCE_NS UINT64_C(1000000000)

static struct lock loading = LOCK_RANKED(RANK_LOADING);
static _Thread_local bool may_give;  // of the thread that forks

void *dynlib_open(const char *const *names, struct text *tried)
{
    for (; *names; names++) {
        void *library = dynlib_load(*names);
        if (library)
            return library;
        const char *why = dlerror();
        text_add(tried, "%s%s", tried->length ? "; " : "",
                 why ? why : *names);
    }
    return NULL;
}

void *dynlib_symbol(void *library, const char *name)
{
    lock_take(&loading);
    void *symbol = dlsym(library, name);
    lock_give(&loading);
    return symbol;
}

const void *dynlib_base(const void *address)
{
    Dl_info info;
    lock_take(&loading);
    bool found = address && dladdr(address, &info);
    lock_give(&loading);
    return found ? info.dli_fbase : NULL;
}

void *dynlib_load(const char *path)
{
    lock_take(&loading);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    lock_give(&loading);
    return library;
}

void dynlib_unload(void *library)
{
    lock_take(&loading);
    dlclose(library);
    lock_give(&loading);
}

void dynlib_before_fork(void)
{
    uint64_t end = clock_now() + FORK_PATIENCE_NS;
    unsigned tries = 0;
    if (may_give)  // registered twice
        return;
    while (!(may_give = lock_try(&loading)) && clock_now() < end)
        spin_once(&tries);
}

void dynlib_after_fork_in_parent(void)
{
    if (may_give)
        lock_give(&loading);
    may_give = false;
}

// The thread that holds the lock does not exist in the child.
void dynlib_after_fork_in_child(void)
{
    if (may_give)
        lock_give(&loading);
    else
        loading = (struct lock)LOCK_RANKED(RANK_LOADING);
    may_give = false;
}
