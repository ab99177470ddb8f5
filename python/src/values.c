// What callers give, as what the library takes.
#include "binding.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static bool is_of(PyObject *object, PyTypeObject *type, const char *name)
{
    if (is_a(object, type))
        return is_alive(object);
    PyErr_Format(PyExc_TypeError, "expected a runnel.%s, not %R", name,
                 (PyObject *)Py_TYPE(object));
    return false;
}

#define HANDLE_CONVERTER(name, type, text, handle_type) \
    int to_##name(PyObject *object, void *out)          \
    {                                                   \
        if (!is_of(object, type, text))                 \
            return 0;                                   \
        *(handle_type *)out = handle_of(object);        \
        return 1;                                       \
    }

HANDLE_CONVERTER(stream, stream_type, "Stream", rnl_stream)
HANDLE_CONVERTER(event, event_type, "Event", rnl_event)
HANDLE_CONVERTER(exec, exec_type, "GraphExec", rnl_graph_exec)

#define OBJECT_CONVERTER(name, type, text)     \
    int to_##name(PyObject *object, void *out) \
    {                                          \
        if (!is_of(object, type, text))        \
            return 0;                          \
        *(PyObject **)out = object;            \
        return 1;                              \
    }

OBJECT_CONVERTER(context, context_type, "Context")
OBJECT_CONVERTER(buffer, buffer_type, "Buffer")
OBJECT_CONVERTER(function, function_type, "Function")
OBJECT_CONVERTER(graph, graph_type, "Graph")

// Seconds, as everywhere in Python; the library counts nanoseconds.
int to_timeout(PyObject *object, void *out)
{
    uint64_t *result = out;
    *result = RNL_FOREVER;
    if (object == Py_None)
        return 1;
    double seconds = PyFloat_AsDouble(object);
    if (seconds == -1.0 && PyErr_Occurred())
        return 0;
    if (isnan(seconds) || seconds < 0) {
        PyErr_Format(PyExc_ValueError,
                     "a timeout is None or a number of seconds that is not "
                     "negative, not %R",
                     object);
        return 0;
    }
    if (seconds < 1.8e10)
        *result = (uint64_t)ceil(seconds * 1e9);
    return 1;
}

int to_limit(PyObject *object, void *out)
{
    uint64_t *result = out;
    if (!to_timeout(object, out))
        return 0;
    if (*result == 0) {
        PyErr_Format(PyExc_ValueError,
                     "a limit is None or a number of seconds above 0, not %R",
                     object);
        return 0;
    }
    *result = *result == RNL_FOREVER ? 0 : *result;
    return 1;
}

int to_count(PyObject *object, void *out)
{
    Py_ssize_t count = PyNumber_AsSsize_t(object, PyExc_OverflowError);
    if (count < 0 && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError,
                     "a count, a size or an offset is negative: %R", object);
    *(size_t *)out = (size_t)count;
    return !PyErr_Occurred();
}

int to_size(PyObject *object, void *out)
{
    *(size_t *)out = RNL_WHOLE;
    return object == Py_None || to_count(object, out);
}

int to_int(PyObject *object, void *out)
{
    long value = PyLong_AsLong(object);
    bool good = value >= INT_MIN && value <= INT_MAX;
    if (!good)
        PyErr_Format(PyExc_OverflowError, "%R has more than 32 bits", object);
    *(int *)out = (int)value;
    return good && !PyErr_Occurred();
}

int to_uint32(PyObject *object, void *out)
{
    size_t value;
    if (!to_count(object, &value))
        return 0;
    if (value > UINT32_MAX)
        PyErr_Format(PyExc_OverflowError, "%R has more than 32 bits", object);
    *(uint32_t *)out = (uint32_t)value;
    return value <= UINT32_MAX;
}

int to_uint64(PyObject *object, void *out)
{
    PyObject *number = PyNumber_Index(object);
    if (!number)
        return 0;
    *(uint64_t *)out = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    return !PyErr_Occurred();
}

int to_address(PyObject *object, void *out)
{
    uint64_t address;
    if (!to_uint64(object, &address))
        return 0;
    *(void **)out = (void *)(uintptr_t)address;
    return 1;
}

static bool to_extent(PyObject *object, uint32_t *out)
{
    PyObject *number =
        PyLong_CheckExact(object) ? NULL : PyNumber_Index(object);
    if (!number && PyErr_Occurred())
        return false;
    unsigned long value = PyLong_AsUnsignedLong(number ? number : object);
    Py_XDECREF(number);
    if (PyErr_Occurred() || value > UINT32_MAX) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "an extent is an int of 0 to %u, not %R",
                     UINT32_MAX, object);
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

int to_dim3(PyObject *object, void *out)
{
    rnl_dim3 *result = out;
    *result = (rnl_dim3){0, 1, 1};
    uint32_t *extents[] = {&result->x, &result->y, &result->z};
    if (!PyTuple_Check(object) && !PyList_Check(object))
        return to_extent(object, &result->x);
    Py_ssize_t count = PySequence_Size(object);
    if (count < 1 || count > 3) {
        PyErr_Format(PyExc_ValueError,
                     "expected an int or 1 to 3 of them, not %R", object);
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_GetItem(object, i);
        bool good = item && to_extent(item, extents[i]);
        Py_XDECREF(item);
        if (!good)
            return 0;
    }
    return 1;
}

bool shape_of(PyObject *given, Py_ssize_t shape[MOST_DIMENSIONS],
              int *out_dimensions, Py_ssize_t *out_count)
{
    PyObject *tuple = PySequence_Check(given) ? PySequence_Tuple(given)
                                              : PyTuple_Pack(1, given);
    Py_ssize_t dimensions = tuple ? PyTuple_Size(tuple) : -1;
    if (dimensions > MOST_DIMENSIONS)
        PyErr_Format(PyExc_ValueError,
                     "a shape has at most %d dimensions, not %zd",
                     MOST_DIMENSIONS, dimensions);
    *out_count = 1;
    for (Py_ssize_t i = 0; i < dimensions && !PyErr_Occurred(); i++) {
        shape[i] =
            PyNumber_AsSsize_t(PyTuple_GetItem(tuple, i), PyExc_OverflowError);
        if (PyErr_Occurred())
            break;
        if (shape[i] < 0)
            PyErr_Format(PyExc_ValueError,
                         "an extent of a shape is negative: %R", given);
        else if (shape[i] > 0 && *out_count > PY_SSIZE_T_MAX / 16 / shape[i])
            PyErr_Format(PyExc_OverflowError, "a shape is too large: %R",
                         given);
        else
            *out_count *= shape[i];
    }
    Py_XDECREF(tuple);
    *out_dimensions = (int)dimensions;
    return !PyErr_Occurred();
}

bool fits_word(uint64_t value, uint32_t bits)
{
    bool fits = bits == 64 || value <= UINT32_MAX;
    if (!fits)
        PyErr_SetString(PyExc_OverflowError, "the value has more than 32 bits");
    return fits;
}

bool writable(const struct buffer_wrapper *buffer, const char *what)
{
    if (buffer->readonly)
        PyErr_Format(PyExc_BufferError,
                     "%s would write into a buffer of read-only memory", what);
    return !buffer->readonly;
}
