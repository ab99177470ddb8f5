// The one interpreter that uses the library: its threads, its end, and fork.
#include "binding.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

// Guards `closing` and `busy`, and the interpreter's end against calls that
// only a living interpreter takes.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static bool closing;
static unsigned busy;  // library threads that have or want the GIL

static atomic_ulong main_thread;
static atomic_uint forks;  // that led to this process

bool on_main_thread(void)
{
    return PyThread_get_thread_ident() == atomic_load(&main_thread);
}

bool call_when_possible(int (*function)(void *))
{
    pthread_mutex_lock(&lock);
    bool taken = !closing && Py_AddPendingCall(function, NULL) == 0;
    pthread_mutex_unlock(&lock);
    return taken;
}

// --- Functions of Python on threads of the library ---------------------------

bool host_call_begin(struct host_call_scope *out)
{
    pthread_mutex_lock(&lock);
    bool open = !closing;
    busy += open;
    pthread_mutex_unlock(&lock);
    out->forks = atomic_load(&forks);
    if (open)
        out->state = PyGILState_Ensure();
    return open;
}

// The exit code of a process that ends by the pending exception. PyErr_Print would
// end the interpreter on SystemExit, which works on its own threads alone.
static int exit_code(void)
{
    if (!PyErr_Occurred())
        return 0;
    if (!PyErr_ExceptionMatches(PyExc_SystemExit)) {
        PyErr_Print();
        return 1;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *code = value ? PyObject_GetAttrString(value, "code") : NULL;
    int number = code == Py_None ? 0 : 1;
    if (code && PyLong_Check(code))
        number = (int)PyLong_AsLong(code);
    PyErr_Clear();
    return number;
}

// The library's thread is alone in the child, so the child ends where its
// function does, as that of a thread of Python does.
static void end_child(void)
{
    int code = exit_code();
    static const char *const names[] = {"stdout", "stderr"};
    for (int i = 0; i < 2; i++) {
        PyObject *file = PySys_GetObject(names[i]);
        PyObject *result =
            file ? PyObject_CallMethod(file, "flush", NULL) : NULL;
        Py_XDECREF(result);
        PyErr_Clear();
    }
    _exit(code);
}

void host_call_returned(const struct host_call_scope *scope)
{
    if (atomic_load(&forks) != scope->forks)
        end_child();
}

void host_call_end(const struct host_call_scope *scope)
{
    PyGILState_Release(scope->state);
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

// The library's threads are not in the child, and Python's main thread there is
// the one that forked.
static void in_child(void)
{
    busy = 0;
    atomic_fetch_add(&forks, 1);
    atomic_store(&main_thread, PyThread_get_thread_ident());
    pthread_mutex_unlock(&lock);
}

static bool find_main_thread(void)
{
    PyObject *module = PyImport_ImportModule("threading");
    PyObject *thread =
        module ? PyObject_CallMethod(module, "main_thread", NULL) : NULL;
    PyObject *number = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    if (number)
        atomic_store(&main_thread, PyLong_AsUnsignedLong(number));
    Py_XDECREF(module);
    Py_XDECREF(thread);
    Py_XDECREF(number);
    return !PyErr_Occurred();
}

static bool call_at_exit(PyObject *module)
{
    static PyMethodDef method = {"close_down", close_down, METH_NOARGS, NULL};
    PyObject *function = PyCFunction_New(&method, module);
    PyObject *exit_module = PyImport_ImportModule("atexit");
    PyObject *result =
        function && exit_module
            ? PyObject_CallMethod(exit_module, "register", "O", function)
            : NULL;
    Py_XDECREF(function);
    Py_XDECREF(exit_module);
    Py_XDECREF(result);
    return result;
}

// The types belong to the main interpreter: objects of two interpreters must not
// meet, and a sub-interpreter may end before work that needs its objects.
bool interpreter_take(PyObject *module)
{
    static atomic_flag taken = ATOMIC_FLAG_INIT;
    bool is_main = PyInterpreterState_GetID(PyInterpreterState_Get()) == 0;
    if (!is_main || atomic_flag_test_and_set(&taken)) {
        PyErr_SetString(PyExc_ImportError,
                        "runnel can be imported by the main interpreter of a "
                        "process, and once");
        return false;
    }
    if (pthread_atfork(before_fork, after_fork, in_child) != 0) {
        PyErr_NoMemory();
        return false;
    }
    return find_main_thread() && call_at_exit(module);
}
