// Arguments of a launch, converted by the signature of the kernel.
#include "binding.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// What one argument is converted for; the message of a refusal names both.
struct place {
    PyObject *function;
    size_t position;  // from 0
    const rnl_parameter *parameter;
};

static const char *const kind_names[] = {"value", "pointer", "integer",
                                         "floating-point number", "struct"};

static bool refuse(const struct place *place, PyObject *given)
{
    const rnl_parameter *parameter = place->parameter;
    const char *kind = parameter->kind <= RNL_VALUE_STRUCT
                           ? kind_names[parameter->kind]
                           : "value";
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError) &&
        !PyErr_ExceptionMatches(PyExc_AttributeError))
        return false;
    PyErr_Clear();
    PyErr_Format(
        PyExc_TypeError,
        "argument %zu is %R, but the kernel takes a %s of %u bytes%s%s",
        place->position + 1, (PyObject *)Py_TYPE(given), kind, parameter->size,
        parameter->type && *parameter->type ? ": " : "",
        parameter->type ? parameter->type : "");
    return false;
}

static bool out_of_range(const struct place *place, PyObject *given)
{
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError,
                 "argument %zu is %R, which does not fit the %u bytes of the "
                 "kernel's parameter",
                 place->position + 1, given, place->parameter->size);
    return false;
}

// From the smallest signed number of `size` bytes to the largest unsigned one:
// the signature does not tell which of them it is.
static bool put_integer(const struct place *place, PyObject *given,
                        rnl_arg *out)
{
    uint32_t size = place->parameter->size;
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(given, &overflow);
    *out = rnl_arg_of_integer((uint64_t)value, size);
    if (overflow > 0 && size == 8)
        out->value.integer = PyLong_AsUnsignedLongLong(given);
    if (size == 8 && overflow >= 0)
        return !PyErr_Occurred() || out_of_range(place, given);
    if (overflow || size > 8 || size == 0)
        return out_of_range(place, given);
    long long most = (1LL << (8 * size % 64)) - 1, least = -(most / 2) - 1;
    if (value < least || value > most)
        return out_of_range(place, given);
    out->value.integer &= (uint64_t)most;
    return true;
}

static bool put_float(const struct place *place, double value, PyObject *given,
                      rnl_arg *out)
{
    if (place->parameter->size == 8) {
        *out = rnl_arg_of_double(value);
        return true;
    }
    if (place->parameter->size != 4)
        return refuse(place, given);
    *out = rnl_arg_of_float((float)value);
    return !isinf(out->value.single) || isinf(value) ||
           out_of_range(place, given);
}

// The bytes of a struct, which have to be as many as the parameter has.
static bool put_bytes(const struct place *place, PyObject *given, rnl_arg *out,
                      struct arguments *all)
{
    PyObject *bytes = PyBytes_FromObject(given);
    if (!bytes)
        return refuse(place, given);
    Py_ssize_t size = PyBytes_Size(bytes);
    if (!all->kept)
        all->kept = PyList_New(0);
    bool kept = all->kept && PyList_Append(all->kept, bytes) == 0;
    Py_DECREF(bytes);
    if (!kept)
        return false;
    if ((size_t)size != place->parameter->size) {
        PyErr_Format(PyExc_TypeError,
                     "argument %zu has %zd bytes, but the kernel takes a "
                     "struct of %u bytes",
                     place->position + 1, size, place->parameter->size);
        return false;
    }
    *out = rnl_arg_of_struct(PyBytes_AsString(bytes), (uint32_t)size);
    return true;
}

// Whether the memory that a pointer leads to is const, or the type unknown. Of
// `const int **` the int is, but not the pointer, which is in the memory.
static bool takes_const(const rnl_parameter *parameter)
{
    const char *type = parameter->type ? parameter->type : "";
    const char *end = strrchr(type, '*'), *begin = type;
    if (!end)
        return true;
    for (const char *at = type; at < end; at++)
        begin = *at == '*' ? at + 1 : begin;
    const char *found = strstr(begin, "const");
    return found && found < end;
}

static bool put_buffer(const struct place *place, PyObject *given, rnl_arg *out)
{
    const struct buffer_wrapper *buffer = (struct buffer_wrapper *)given;
    rnl_buffer handle = handle_of(given);
    if (!handle)
        return refuse_released(given);
    if (buffer->readonly && !takes_const(place->parameter)) {
        PyErr_Format(PyExc_BufferError,
                     "argument %zu is read-only memory, but the kernel takes "
                     "'%s', which it may write to",
                     place->position + 1, place->parameter->type);
        return false;
    }
    *out = rnl_arg_of_buffer(handle);
    return true;
}

// Arrays of others are wrapped for the launch, which keeps them by itself.
static bool put_array(const struct place *place, PyObject *given, rnl_arg *out,
                      struct arguments *all)
{
    PyObject *context = context_of(place->function);
    PyObject *buffer = buffer_from_array(context, given, all->stream);
    if (!buffer) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            refuse(place, given);
        return false;
    }
    if (!all->kept)
        all->kept = PyList_New(0);
    bool kept = all->kept && PyList_Append(all->kept, buffer) == 0;
    Py_DECREF(buffer);
    return kept && put_buffer(place, buffer, out);
}

// numpy's bool, which is no int, but has the buffer protocol.
static bool is_truth(PyObject *given, bool *out)
{
    Py_buffer view;
    bool is_bool = false;
    if (PyObject_CheckBuffer(given) &&
        PyObject_GetBuffer(given, &view, PyBUF_FULL_RO) == 0) {
        is_bool = view.len == 1 && view.ndim == 0 && view.format &&
                  strcmp(view.format, "?") == 0;
        *out = is_bool && *(const char *)view.buf;
        PyBuffer_Release(&view);
    }
    PyErr_Clear();
    return is_bool;
}

static bool put_index(const struct place *place, PyObject *given, rnl_arg *out)
{
    PyObject *number = PyNumber_Index(given);
    bool good = number && put_integer(place, number, out);
    Py_XDECREF(number);
    return good ||
           (PyErr_ExceptionMatches(PyExc_OverflowError) ? false
                                                        : refuse(place, given));
}

// What is none of Python's own numbers: numpy's, bytes, arrays.
static bool put_other(const struct place *place, PyObject *given, rnl_arg *out,
                      struct arguments *all)
{
    rnl_value_kind kind = place->parameter->kind;
    bool unknown = kind == RNL_VALUE_UNKNOWN;
    bool is_real = PyObject_HasAttrString(given, "__float__") &&
                   !PyObject_HasAttrString(given, "__len__");
    uint32_t size = place->parameter->size;
    bool is_number = size == 1 || size == 2 || size == 4 || size == 8;
    if (kind == RNL_VALUE_STRUCT ||
        (unknown && (!is_number || PyBytes_Check(given))))
        return put_bytes(place, given, out, all);
    if (kind == RNL_VALUE_POINTER || (unknown && size == 8 && !is_real))
        return put_array(place, given, out, all);
    bool truth;
    if (size == 1 && is_truth(given, &truth)) {
        *out = rnl_arg_of_integer(truth, 1);
        return true;
    }
    if (kind != RNL_VALUE_FLOAT && PyIndex_Check(given))
        return put_index(place, given, out);
    if (kind == RNL_VALUE_INTEGER || !is_real)
        return refuse(place, given);
    PyObject *number = PyNumber_Float(given);
    bool good =
        number && put_float(place, PyFloat_AsDouble(number), given, out);
    Py_XDECREF(number);
    return good || refuse(place, given);
}

static bool put_number(const struct place *place, PyObject *given, rnl_arg *out)
{
    rnl_value_kind kind = place->parameter->kind;
    if (kind == RNL_VALUE_FLOAT) {
        double value = PyLong_AsDouble(given);
        return (value == -1.0 && PyErr_Occurred())
                   ? out_of_range(place, given)
                   : put_float(place, value, given, out);
    }
    if (kind == RNL_VALUE_STRUCT)
        return refuse(place, given);
    if (!put_integer(place, given, out))
        return false;
    if (kind == RNL_VALUE_POINTER)
        *out = rnl_arg_of_pointer((void *)(uintptr_t)out->value.integer);
    return true;
}

static bool convert(const struct place *place, PyObject *given, rnl_arg *out,
                    struct arguments *all)
{
    rnl_value_kind kind = place->parameter->kind;
    if (Py_TYPE(given) == buffer_type &&
        (kind == RNL_VALUE_POINTER || kind == RNL_VALUE_UNKNOWN))
        return put_buffer(place, given, out);
    if (PyLong_Check(given))
        return put_number(place, given, out);
    if (PyFloat_Check(given) &&
        (kind == RNL_VALUE_FLOAT || kind == RNL_VALUE_UNKNOWN))
        return put_float(place, PyFloat_AsDouble(given), given, out);
    if (given == Py_None && (kind == RNL_VALUE_POINTER ||
                             (kind == RNL_VALUE_UNKNOWN &&
                              place->parameter->size == sizeof(void *)))) {
        *out = rnl_arg_of_pointer(NULL);
        return true;
    }
    if (PyFloat_Check(given) || given == Py_None)
        return refuse(place, given);
    return put_other(place, given, out, all);
}

bool arguments_read(struct arguments *out, rnl_stream stream,
                    PyObject *function, PyObject *const *given,
                    Py_ssize_t count)
{
    const struct function_wrapper *kernel = (struct function_wrapper *)function;
    out->list = out->items;
    out->kept = NULL;
    out->stream = stream;
    if ((size_t)count != kernel->parameter_count) {
        PyErr_Format(PyExc_TypeError,
                     "the kernel takes %zu argument%s, not %zd",
                     kernel->parameter_count,
                     kernel->parameter_count == 1 ? "" : "s", count);
        return false;
    }
    if (count > MOST_ARGUMENTS &&
        !(out->list = calloc((size_t)count, sizeof *out->list))) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        struct place place = {function, (size_t)i, &kernel->parameters[i]};
        if (!convert(&place, given[i], &out->list[i], out)) {
            arguments_finish(out);
            return false;
        }
    }
    out->args = (rnl_args){.struct_size = sizeof out->args,
                           .count = (size_t)count,
                           .items = out->list};
    return true;
}

void arguments_finish(struct arguments *arguments)
{
    Py_XDECREF(arguments->kept);
    if (arguments->list != arguments->items)
        free(arguments->list);
}
