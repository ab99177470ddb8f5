// Copies and fills on streams.
#include "binding.h"

#include <stdlib.h>
#include <string.h>

// One end of a copy: a Buffer, or memory of the host that has the buffer
// protocol.
struct end {
    PyObject *buffer;
    Py_buffer view;
    size_t offset;
};

static bool read_end(PyObject *object, bool written, struct end *out)
{
    out->buffer = NULL;
    if (is_a(object, buffer_type)) {
        out->buffer = object;
        return is_alive(object) &&
               (!written ||
                writable((struct buffer_wrapper *)object, "the copy"));
    }
    if (PyObject_GetBuffer(object, &out->view,
                           written ? PyBUF_CONTIG : PyBUF_CONTIG_RO) != 0)
        return false;
    if (out->offset > (size_t)out->view.len) {
        PyErr_Format(PyExc_IndexError, "offset %zu leaves the host's %zd bytes",
                     out->offset, out->view.len);
        PyBuffer_Release(&out->view);
        return false;
    }
    return true;
}

static size_t bytes_of(const struct end *end)
{
    size_t all = end->buffer ? ((struct buffer_wrapper *)end->buffer)->size
                             : (size_t)end->view.len;
    return end->offset < all ? all - end->offset : 0;
}

static void drop_end(struct end *end)
{
    if (!end->buffer)
        PyBuffer_Release(&end->view);
}

// The size where none was given: both ends have to agree on it.
static bool find_size(const struct end *to, const struct end *from,
                      size_t *size)
{
    size_t ends[] = {bytes_of(to), bytes_of(from)};
    if (*size == RNL_WHOLE && ends[0] != ends[1]) {
        PyErr_Format(PyExc_ValueError,
                     "a copy without a size needs two ends of one size: %zu "
                     "bytes go to %zu",
                     ends[1], ends[0]);
        return false;
    }
    if (*size == RNL_WHOLE)
        *size = ends[0];
    // The library checks the Buffers.
    if ((!to->buffer && *size > ends[0]) ||
        (!from->buffer && *size > ends[1])) {
        PyErr_Format(PyExc_IndexError,
                     "%zu bytes leave the host's memory of %zu bytes", *size,
                     to->buffer ? ends[1] : ends[0]);
        return false;
    }
    return true;
}

static rnl_status copy(rnl_stream stream, const struct end *to,
                       const struct end *from, size_t size, bool wait)
{
    void *target = to->buffer ? NULL : (char *)to->view.buf + to->offset;
    void *source = from->buffer ? NULL : (char *)from->view.buf + from->offset;
    if (to->buffer && from->buffer)
        return (wait ? rnl_copy_buffer_and_wait : rnl_enqueue_copy_buffer)(
            stream, handle_of(to->buffer), to->offset, handle_of(from->buffer),
            from->offset, size);
    if (to->buffer)
        return (wait ? rnl_copy_to_buffer_and_wait
                     : rnl_enqueue_copy_to_buffer)(
            stream, handle_of(to->buffer), to->offset, source, size);
    if (from->buffer)
        return (wait ? rnl_copy_from_buffer_and_wait
                     : rnl_enqueue_copy_from_buffer)(
            stream, target, handle_of(from->buffer), from->offset, size);
    return (wait ? rnl_copy_and_wait : rnl_enqueue_copy)(stream, target, source,
                                                         size);
}

// Moves the memory of the host into a keeper; the library keeps Buffers.
static bool keep_ends(struct end *to, struct end *from, struct keeper **out)
{
    struct end *ends[] = {to, from};
    bool any = !to->buffer || !from->buffer;
    *out = any ? keeper_create() : NULL;
    for (int i = 0; *out && i < 2; i++) {
        if (ends[i]->buffer)
            continue;
        (*out)->views[(*out)->view_count++] = ends[i]->view;
        ends[i]->view.obj = NULL;  // nothing is left to release
    }
    return *out || !any;
}

static PyObject *copy_and_wait(rnl_stream stream, struct end *to,
                               struct end *from, size_t size)
{
    rnl_status status;
    if (!stream_idle(stream))
        return NULL;
    CALL_UNLOCKED(status, copy(stream, to, from, size, true));
    return none_or_error(status);
}

// A single keeper has both ends and is made before the copy: a failure behind the
// copy must not let go of the memory that is copied.
static PyObject *enqueue_copy(rnl_stream stream, struct end *to,
                              struct end *from, size_t size)
{
    rnl_status status;
    struct keeper *keeper = NULL;
    if (!keep_ends(to, from, &keeper))
        return NULL;
    CALL_UNLOCKED(status, copy(stream, to, from, size, false));
    PyObject *result = none_or_error(status);
    if (result && keeper && !keep_until_here(stream, keeper))
        Py_CLEAR(result);
    else if (!result)
        keeper_free(keeper);
    return result;
}

static PyObject *do_copy(PyObject *self, PyObject *args, PyObject *kwargs,
                         bool wait)
{
    static char *names[] = {"to",        "source",        "size",
                            "to_offset", "source_offset", NULL};
    rnl_stream stream = handle_of(self);
    PyObject *target, *source;
    struct end to = {0}, from = {0};
    size_t size = RNL_WHOLE;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O&$O&O&:copy", names,
                                     &target, &source, to_size, &size, to_count,
                                     &to.offset, to_count, &from.offset) ||
        !read_end(target, true, &to))
        return NULL;
    if (!read_end(source, false, &from)) {
        drop_end(&to);
        return NULL;
    }
    PyObject *result =
        find_size(&to, &from, &size)
            ? (wait ? copy_and_wait : enqueue_copy)(stream, &to, &from, size)
            : NULL;
    drop_end(&to);
    drop_end(&from);
    return result;
}

PyObject *stream_enqueue_copy(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return do_copy(self, args, kwargs, false);
}

PyObject *stream_copy_and_wait(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return do_copy(self, args, kwargs, true);
}

// --- Fills -------------------------------------------------------------------

static bool brain_float(PyObject *value, uint64_t *out)
{
    double number = PyFloat_AsDouble(value);
    float narrow = (float)number;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    // To nearest, ties to even; a NaN keeps its upper bits.
    bool is_nan = number != number;
    *out = is_nan ? bits >> 16 | 1 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return !PyErr_Occurred();
}

// The bytes of a value as an element of the buffer.
bool pattern_of(const struct layout *layout, PyObject *value, uint64_t *out)
{
    *out = 0;
    if (layout->item_size > 8 || layout->format[0] == 'Z' ||
        !layout->format[0]) {
        PyErr_Format(PyExc_TypeError, "elements of type %s cannot be filled",
                     layout_name(layout));
        return false;
    }
    if (layout->element == RNL_ELEMENT_BFLOAT16)
        return brain_float(value, out);
    PyObject *module = PyImport_ImportModule("struct");
    PyObject *bytes = module ? PyObject_CallMethod(module, "pack", "sO",
                                                   layout->format, value)
                             : NULL;
    if (bytes)
        memcpy(out, PyBytes_AsString(bytes), layout->item_size);
    Py_XDECREF(module);
    if (!bytes && !PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%R is not a value of type %s", value,
                     layout_name(layout));
    }
    Py_XDECREF(bytes);
    return bytes;
}

static PyObject *do_fill(PyObject *self, PyObject *args, PyObject *kwargs,
                         bool wait)
{
    static char *names[] = {"buffer", "value", "size", "offset", NULL};
    struct buffer_wrapper *buffer;
    PyObject *value;
    size_t size = RNL_WHOLE, offset = 0;
    uint64_t pattern;
    rnl_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O|O&$O&:fill", names,
                                     to_buffer, &buffer, &value, to_size, &size,
                                     to_count, &offset) ||
        !writable(buffer, "the fill") ||
        !pattern_of(&buffer->layout, value, &pattern))
        return NULL;
    if (wait && !stream_idle(handle_of(self)))
        return NULL;
    CALL_UNLOCKED(status, (wait ? rnl_fill_and_wait : rnl_enqueue_fill)(
                              handle_of(self), handle_of((PyObject *)buffer),
                              offset, size, pattern, buffer->layout.item_size));
    return none_or_error(status);
}

PyObject *stream_enqueue_fill(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return do_fill(self, args, kwargs, false);
}

PyObject *stream_fill_and_wait(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return do_fill(self, args, kwargs, true);
}
