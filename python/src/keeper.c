// Objects of Python that the library's work needs. A library thread must never
// wait for the GIL where a thread that has the GIL may wait for the library's
// thread; so keepers whose work is done go to a list, which the interpreter
// empties when it gets to it.
#include "binding.h"

#include <stdlib.h>

static _Atomic(struct keeper *) retired;
static atomic_bool scheduled;  // a pending call empties the list

struct keeper *keeper_create(void)
{
    struct keeper *keeper = calloc(1, sizeof *keeper);
    if (!keeper)
        PyErr_NoMemory();
    return keeper;
}

void keeper_free(struct keeper *keeper)
{
    if (!keeper)
        return;
    // Destructors run without the exception that is on its way.
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (unsigned i = 0; i < keeper->view_count; i++)
        PyBuffer_Release(&keeper->views[i]);
    if (keeper->run)
        keeper->run(keeper->data);
    if (keeper->release)
        release_or_retire(keeper->release, keeper->data);
    Py_XDECREF(keeper->object);
    free(keeper);
    PyErr_Restore(type, value, traceback);
}

void keepers_collect(void)
{
    struct keeper *newest = atomic_exchange(&retired, NULL), *keeper = NULL;
    while (newest) {  // the oldest first: messages have an order
        struct keeper *next = newest->next;
        newest->next = keeper;
        keeper = newest;
        newest = next;
    }
    while (keeper) {
        struct keeper *next = keeper->next;
        keeper_free(keeper);
        keeper = next;
    }
}

static int collect(void *ignored)
{
    (void)ignored;
    atomic_store(&scheduled, false);
    keepers_collect();
    return 0;
}

// The interpreter has room for few pending calls, so one call empties the whole
// list. If there is no room, the next keeper tries again, and waits collect in
// any case.
void keeper_retire(void *data)
{
    struct keeper *keeper = data;
    struct keeper *first = atomic_load(&retired);
    do {
        keeper->next = first;
    } while (!atomic_compare_exchange_weak(&retired, &first, keeper));
    if (!atomic_exchange(&scheduled, true) && !call_when_possible(collect))
        atomic_store(&scheduled, false);
}

void keeper_retire_memory(void *pointer, size_t size, void *keeper)
{
    (void)pointer;
    (void)size;
    keeper_retire(keeper);
}

// Without memory the reference is lost, which harms nobody but its owner.
rnl_status release_or_retire(release_fn release, void *handle)
{
    rnl_status status = release(handle);
    if (status != RNL_ERROR_NOT_PERMITTED)
        return status;
    struct keeper *keeper = calloc(1, sizeof *keeper);
    if (!keeper)
        return status;
    keeper->release = release;
    keeper->data = handle;
    keeper_retire(keeper);
    return RNL_OK;
}
