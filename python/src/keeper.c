// Objects of Python that the library's work needs. A library thread must never
// wait for the GIL where a thread that has the GIL may wait for the library's
// thread; so keepers whose work is done go to a list, which the interpreter
// empties when it gets to it.
#include "binding.h"

#include <pthread.h>
#include <stdlib.h>

static _Atomic(struct keeper *) retired;

// Guards `closing` and `busy`, and the interpreter's end against calls that
// only a living interpreter takes.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static bool closing;
static unsigned busy;  // library threads that have or want the GIL

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
    if (keeper->has_view)
        PyBuffer_Release(&keeper->view);
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
    struct keeper *keeper = atomic_exchange(&retired, NULL);
    while (keeper) {
        struct keeper *next = keeper->next;
        keeper_free(keeper);
        keeper = next;
    }
}

static int collect(void *ignored)
{
    (void)ignored;
    keepers_collect();
    return 0;
}

// The interpreter has room for 32 pending calls; one call empties the whole
// list, and where there is no room, a later one or the next wait does.
void keeper_retire(void *data)
{
    struct keeper *keeper = data;
    struct keeper *first = atomic_load(&retired);
    do {
        keeper->next = first;
    } while (!atomic_compare_exchange_weak(&retired, &first, keeper));
    if (first)
        return;
    pthread_mutex_lock(&lock);
    if (!closing)
        Py_AddPendingCall(collect, NULL);
    pthread_mutex_unlock(&lock);
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

bool host_call_begin(void)
{
    pthread_mutex_lock(&lock);
    bool open = !closing;
    busy += open;
    pthread_mutex_unlock(&lock);
    return open;
}

void host_call_end(void)
{
    pthread_mutex_lock(&lock);
    busy--;
    pthread_cond_broadcast(&idle);
    pthread_mutex_unlock(&lock);
}

// --- The end of the interpreter, and fork ------------------------------------

// Functions of Python that run are waited for, as threads are; those that have
// not begun never will.
static PyObject *close_down(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    Py_BEGIN_ALLOW_THREADS pthread_mutex_lock(&lock);
    closing = true;
    while (busy > 0)
        pthread_cond_wait(&idle, &lock);
    pthread_mutex_unlock(&lock);
    Py_END_ALLOW_THREADS keepers_collect();
    Py_RETURN_NONE;
}

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

// The library's threads are not in the child.
static void in_child(void)
{
    busy = 0;
    pthread_mutex_unlock(&lock);
}

int keepers_start(PyObject *module)
{
    static PyMethodDef at_exit = {"close_down", close_down, METH_NOARGS, NULL};
    static bool started;
    if (!started && pthread_atfork(before_fork, after_fork, in_child) != 0) {
        PyErr_NoMemory();
        return -1;
    }
    started = true;
    PyObject *function = PyCFunction_New(&at_exit, module);
    PyObject *exit_module = PyImport_ImportModule("atexit");
    PyObject *result =
        function && exit_module
            ? PyObject_CallMethod(exit_module, "register", "O", function)
            : NULL;
    Py_XDECREF(function);
    Py_XDECREF(exit_module);
    Py_XDECREF(result);
    return result ? 0 : -1;
}
