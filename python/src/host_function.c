// Functions of Python that streams call.
#include "binding.h"

#include <stdlib.h>

// `object` of the keeper is a tuple: function, arguments, and whether it is
// also called behind a failure.
static PyObject *call(PyObject *tuple, rnl_status status)
{
    PyObject *function = PyTuple_GetItem(tuple, 0);
    PyObject *arguments = PyTuple_GetItem(tuple, 1);
    if (PyTuple_GetItem(tuple, 2) != Py_True)
        return PyObject_Call(function, arguments, NULL);
    PyObject *first = Py_BuildValue("(i)", (int)status);
    PyObject *all = first ? PySequence_Concat(first, arguments) : NULL;
    PyObject *result = all ? PyObject_Call(function, all, NULL) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(all);
    return result;
}

// Gives the exception to sys.unraisablehook, and its text to the stream.
static void report(PyObject *tuple)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *text = PyUnicode_FromFormat("the host function raised %R",
                                          value ? value : Py_None);
    const char *message = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    PyErr_Clear();
    rnl_host_function_fail(message ? message
                                   : "the host function raised an exception");
    Py_XDECREF(text);
    PyErr_Restore(type, value, traceback);
    PyErr_WriteUnraisable(PyTuple_GetItem(tuple, 0));
}

// A thread of the library waits for the GIL here. That is safe, as every call
// that may wait for such a thread is made without the GIL.
static void run(rnl_status status, void *data)
{
    PyObject *tuple = ((struct keeper *)data)->object;
    struct host_call_scope scope;
    if (!host_call_begin(&scope)) {
        rnl_host_function_fail(
            "the interpreter ended before the host function was called");
        return;
    }
    if (status == RNL_OK || PyTuple_GetItem(tuple, 2) == Py_True) {
        PyObject *result = call(tuple, status);
        host_call_returned(&scope);
        if (!result)
            report(tuple);
        Py_XDECREF(result);
    }
    host_call_end(&scope);
}

static void nothing(rnl_status status, void *data)
{
    (void)status;
    (void)data;
}

bool host_function_read(PyObject *function, PyObject *arguments, bool always,
                        rnl_host_fn *out_function, struct keeper **out_keeper)
{
    if (!PyCallable_Check(function)) {
        PyErr_Format(PyExc_TypeError, "expected a function, not %R",
                     (PyObject *)Py_TYPE(function));
        return false;
    }
    *out_keeper = keeper_create();
    if (!*out_keeper)
        return false;
    (*out_keeper)->object = Py_BuildValue("(OOO)", function, arguments,
                                          always ? Py_True : Py_False);
    if (!(*out_keeper)->object) {
        keeper_free(*out_keeper);
        return false;
    }
    *out_function = run;
    return true;
}

static rnl_status enqueue(rnl_stream stream, rnl_host_fn function,
                          const char *label, struct keeper *keeper)
{
    rnl_host_call host_call = {.struct_size = sizeof host_call,
                               .function = function,
                               .user_data = keeper,
                               .destroy = keeper_retire,
                               .label = label};
    rnl_status status;
    CALL_UNLOCKED(status, rnl_enqueue_host_call(stream, &host_call));
    return status;
}

PyObject *enqueue_host_function(PyObject *self, PyObject *args,
                                PyObject *kwargs)
{
    static char *names[] = {"function", "args", "always", "label", NULL};
    PyObject *function, *given = NULL;
    const char *label = NULL;
    int always = 0;
    rnl_host_fn host;
    struct keeper *keeper;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs,
                                     "O|O$pz:enqueue_host_function", names,
                                     &function, &given, &always, &label))
        return NULL;
    PyObject *arguments = given ? PySequence_Tuple(given) : PyTuple_New(0);
    bool good = arguments &&
                host_function_read(function, arguments, always, &host, &keeper);
    Py_XDECREF(arguments);
    if (!good)
        return NULL;
    rnl_status status = enqueue(handle_of(self), host, label, keeper);
    if (status == RNL_OK)
        Py_RETURN_NONE;
    raise_error(status);
    keeper_free(keeper);
    return NULL;
}

// Where streams call no functions, the caller waits instead. The stream is past
// its work after the wait, or after the failure of an operation. If neither is
// known, the memory is kept for good: the stream may still use it.
bool keep_until_here(rnl_stream stream, struct keeper *keeper)
{
    rnl_status status = enqueue(stream, nothing, NULL, keeper);
    if (status == RNL_OK)
        return true;
    if (!wait_for(stream_wait, stream, RNL_FOREVER, &status))
        return false;
    bool past = status == RNL_OK || rnl_last_error()->operation != 0;
    if (status != RNL_OK)
        raise_error(status);
    if (past)
        keeper_free(keeper);
    return status == RNL_OK;
}
