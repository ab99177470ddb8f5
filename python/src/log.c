// Messages of the library for a function of Python. They come on any thread,
// also one that a thread with the GIL waits for, so they are delivered as soon
// as the interpreter gets to it.
#include "binding.h"

#include <stdlib.h>

struct message {
    rnl_log_level level;
    char text[];
};

static PyObject *log_function;  // the GIL guards it

static void deliver(void *data)
{
    struct message *message = data;
    PyObject *function = log_function;
    if (function) {
        Py_INCREF(function);
        PyObject *text = text_of(message->text);
        PyObject *result = text ? PyObject_CallFunction(
                                      function, "iO", (int)message->level, text)
                                : NULL;
        if (!result)
            PyErr_WriteUnraisable(function);
        Py_XDECREF(text);
        Py_XDECREF(result);
        Py_DECREF(function);
    }
    free(message);
}

// Without memory the message is lost.
static void receive(rnl_log_level level, const char *text, void *user_data)
{
    (void)user_data;
    size_t size = strlen(text) + 1;
    struct keeper *keeper = calloc(1, sizeof *keeper);
    struct message *message = malloc(sizeof *message + size);
    if (!keeper || !message) {
        free(keeper);
        free(message);
        return;
    }
    message->level = level;
    memcpy(message->text, text, size);
    keeper->run = deliver;
    keeper->data = message;
    keeper_retire(keeper);
}

PyObject *set_log(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "level", NULL};
    PyObject *function;
    int level = RNL_LOG_WARNING;
    rnl_status status;
    (void)module;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|i:set_log", names,
                                     &function, &level))
        return NULL;
    if (function != Py_None && !PyCallable_Check(function)) {
        PyErr_Format(PyExc_TypeError, "expected a function or None, not %R",
                     (PyObject *)Py_TYPE(function));
        return NULL;
    }
    CALL_UNLOCKED(status, rnl_log_set(function == Py_None ? NULL : receive,
                                      (rnl_log_level)level, NULL));
    if (status != RNL_OK)
        return raise_error(status);
    PyObject *old = log_function;
    Py_INCREF(function);
    log_function = function;
    if (function == Py_None)
        Py_CLEAR(log_function);
    Py_XDECREF(old);
    Py_RETURN_NONE;
}
