// Failures of the library as exceptions: runnel.Error with every field of
// rnl_error.
#include "binding.h"

#include <stdio.h>

PyObject *error_factory;

PyObject *text_of(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *text_or_none(const char *text)
{
    if (!text)
        Py_RETURN_NONE;
    return text_of(text);
}

static bool put(PyObject *fields, const char *name, PyObject *value)
{
    bool good = value && PyDict_SetItemString(fields, name, value) == 0;
    Py_XDECREF(value);
    return good;
}

static PyObject *site_of(const rnl_error *error)
{
    if (!error->site_file)
        Py_RETURN_NONE;
    return Py_BuildValue("(Ni)", text_or_none(error->site_file),
                         error->site_line);
}

// Handles of Python are NULL only where the object was released.
static PyObject *message_of(const rnl_error *error)
{
    char name[32];
    if (error->message &&
        sscanf(error->message, "'%*[^']' is NULL where %*s %31[a-z ]", name) ==
            1) {
        char *end = strstr(name, " is needed");
        if (end)
            *end = 0;
        return PyUnicode_FromFormat("the %s is released", name);
    }
    return text_or_none(error->message);
}

static PyObject *fields_of(const rnl_error *error)
{
    PyObject *fields = PyDict_New();
    if (fields &&
        put(fields, "native_code", PyLong_FromLongLong(error->native_code)) &&
        put(fields, "native_text", text_or_none(error->native_text)) &&
        put(fields, "message", message_of(error)) &&
        put(fields, "function", text_or_none(error->function)) &&
        put(fields, "parameter", text_or_none(error->parameter)) &&
        put(fields, "object", text_or_none(error->object)) &&
        put(fields, "stream", text_or_none(error->stream)) &&
        put(fields, "operation",
            PyLong_FromUnsignedLongLong(error->operation)) &&
        put(fields, "operation_name", text_or_none(error->operation_name)) &&
        put(fields, "operation_label", text_or_none(error->operation_label)) &&
        put(fields, "site", site_of(error)) &&
        put(fields, "log", text_or_none(error->log)))
        return fields;
    Py_XDECREF(fields);
    return NULL;
}

// A collection of garbage might release objects, whose failures would replace
// the one that is being read.
static PyObject *last_fields(void)
{
    int collects = PyGC_Disable();
    PyObject *fields = fields_of(rnl_last_error());
    if (collects)
        PyGC_Enable();
    return fields;
}

static PyObject *raise_fields(rnl_status status, PyObject *fields)
{
    PyObject *error =
        fields && error_factory
            ? PyObject_CallFunction(error_factory, "iO", (int)status, fields)
            : NULL;
    Py_XDECREF(fields);
    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    else if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, rnl_status_text(status));
    Py_XDECREF(error);
    return NULL;
}

PyObject *raise_error(rnl_status status)
{
    return raise_fields(status, last_fields());
}

bool refuse_released(PyObject *object)
{
    const struct {
        PyTypeObject *type;
        const char *name;
    } kinds[] = {{context_type, "context"},   {stream_type, "stream"},
                 {event_type, "event"},       {buffer_type, "buffer"},
                 {module_type, "module"},     {graph_type, "graph"},
                 {function_type, "function"}, {exec_type, "graph exec"}};
    char text[64] = "the object is released";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (is_a(object, kinds[i].type))
            snprintf(text, sizeof text, "the %s is released", kinds[i].name);
    raise_fields(RNL_ERROR_INVALID_HANDLE,
                 fields_of(&(rnl_error){.message = text}));
    return false;
}

PyObject *none_or_error(rnl_status status)
{
    if (status != RNL_OK)
        return raise_error(status);
    Py_RETURN_NONE;
}

PyObject *ready_or_error(rnl_status status)
{
    if (status != RNL_OK && status != RNL_NOT_READY)
        return raise_error(status);
    return PyBool_FromLong(status == RNL_OK);
}
