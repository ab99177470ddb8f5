// Buffers, with the type and shape that arrays have.
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PyTypeObject *buffer_type;

WRAPPER_FUNCTIONS(buffer)

static struct buffer_wrapper *self_of(PyObject *self)
{
    return (struct buffer_wrapper *)self;
}

// --- Making ------------------------------------------------------------------

static bool set_shape(struct buffer_wrapper *self, const Py_ssize_t *shape,
                      int dimensions)
{
    self->shape = calloc(2 * (size_t)dimensions + 1, sizeof *self->shape);
    if (!self->shape) {
        PyErr_NoMemory();
        return false;
    }
    self->dimensions = dimensions;
    Py_ssize_t step = (Py_ssize_t)self->layout.item_size;
    for (int i = dimensions - 1; i >= 0; i--) {
        self->shape[i] = shape[i];
        self->shape[dimensions + i] = step;
        step *= shape[i] > 0 ? shape[i] : 1;
    }
    return true;
}

PyObject *buffer_make(rnl_buffer handle, PyObject *context,
                      const struct layout *layout, const Py_ssize_t *shape,
                      int dimensions, bool readonly)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    rnl_status status = rnl_buffer_get_info(handle, &info);
    if (status != RNL_OK) {
        raise_error(status);
        rnl_buffer_release(handle);
        return NULL;
    }
    PyObject *object = wrap(buffer_type, handle, context, buffer_drop);
    if (!object)
        return NULL;
    struct buffer_wrapper *self = self_of(object);
    self->layout = *layout;
    // Elements without a code are bytes without a meaning.
    if (*layout->format)
        strcpy(self->format, layout->format);
    else
        snprintf(self->format, sizeof self->format, "%zux", layout->item_size);
    self->readonly = readonly;
    self->size = info.size;
    self->host_pointer = info.host_pointer;
    self->device_address = info.device_address;
    Py_ssize_t count = (Py_ssize_t)(info.size / layout->item_size);
    if (dimensions < 0 && info.size % layout->item_size != 0)
        PyErr_Format(
            PyExc_ValueError,
            "%zu bytes are not a whole number of elements of %zu bytes",
            info.size, layout->item_size);
    else
        set_shape(self, dimensions < 0 ? &count : shape,
                  dimensions < 0 ? 1 : dimensions);
    if (PyErr_Occurred())
        Py_CLEAR(object);
    return object;
}

static PyObject *buffer_new(PyTypeObject *type, PyObject *args,
                            PyObject *kwargs)
{
    static char *names[] = {"context",      "shape", "dtype",  "kind", "zeroed",
                            "interprocess", "label", "stream", NULL};
    rnl_buffer_options options = {.struct_size = sizeof options};
    PyObject *context, *given, *dtype = NULL, *stream = Py_None;
    int kind = 0, zeroed = 0, shared = 0, dimensions;
    Py_ssize_t shape[MOST_DIMENSIONS], count;
    struct layout layout;
    rnl_stream order = NULL;
    rnl_buffer buffer;
    rnl_status status;
    (void)type;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "O&O|O$ippzO:Buffer", names, to_context, &context,
            &given, &dtype, &kind, &zeroed, &shared, &options.label, &stream) ||
        !layout_of_dtype(dtype, &layout) ||
        !shape_of(given, shape, &dimensions, &count) ||
        (stream != Py_None && !to_stream(stream, &order)))
        return NULL;
    options.kind = (rnl_memory_kind)kind;
    options.zeroed = zeroed;
    options.interprocess = shared;
    options.element = layout.element;
    size_t size = (size_t)count * layout.item_size;
    CALL_UNLOCKED(
        status,
        stream != Py_None
            ? rnl_enqueue_buffer_create(order, size, &options, &buffer)
            : rnl_buffer_create(handle_of(context), size, &options, &buffer));
    return status == RNL_OK
               ? buffer_make(buffer, context, &layout, shape, dimensions, false)
               : raise_error(status);
}

static void buffer_end(PyObject *object)
{
    struct buffer_wrapper *self = self_of(object);
    if (self->exposed)
        release_or_retire(buffer_drop, self->exposed);
    free(self->shape);
    buffer_dealloc(object);
}

// An address that was given out as a number, which nobody gives back, keeps the
// memory until the wrapper goes.
bool buffer_expose(PyObject *object)
{
    struct buffer_wrapper *self = self_of(object);
    rnl_buffer handle = handle_of(object);
    if (self->exposed && handle)
        return true;
    rnl_status status = rnl_buffer_retain(handle);
    void *none = NULL;
    if (status == RNL_OK &&
        !atomic_compare_exchange_strong(&self->exposed, &none, handle))
        status = rnl_buffer_release(handle);
    if (status != RNL_OK)
        raise_error(status);
    return status == RNL_OK;
}

// --- The buffer protocol -----------------------------------------------------

static int get_view(PyObject *object, Py_buffer *view, int flags)
{
    static char nothing;
    struct buffer_wrapper *self = self_of(object);
    rnl_buffer handle = handle_of(object);
    view->obj = NULL;
    rnl_status status = rnl_buffer_retain(handle);
    if (status != RNL_OK) {
        raise_error(status);
        return -1;
    }
    bool reachable = self->host_pointer || self->size == 0;
    if (!reachable)
        PyErr_SetString(PyExc_BufferError,
                        "the host cannot reach this memory: copy it, for "
                        "instance with numpy()");
    if (!reachable ||
        ((flags & PyBUF_WRITABLE) && !writable(self, "the view"))) {
        release_or_retire(buffer_drop, handle);
        return -1;
    }
    *view = (Py_buffer){
        .buf = self->size ? self->host_pointer : &nothing,
        .obj = object,
        .len = (Py_ssize_t)self->size,
        .itemsize = (Py_ssize_t)self->layout.item_size,
        .readonly = self->readonly,
        .ndim = self->dimensions,
        .format = (flags & PyBUF_FORMAT) ? self->format : NULL,
        .shape = (flags & PyBUF_ND) && self->dimensions ? self->shape : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES && self->dimensions
                       ? self->shape + self->dimensions
                       : NULL,
        .internal = handle,
    };
    Py_INCREF(object);
    return 0;
}

static void drop_view(PyObject *object, Py_buffer *view)
{
    (void)object;
    release_or_retire(buffer_drop, view->internal);
}

// --- Properties and methods --------------------------------------------------

static PyObject *get_number(PyObject *object, void *closure)
{
    struct buffer_wrapper *self = self_of(object);
    switch (*(const char *)closure) {
    case 's':
        return PyLong_FromSize_t(self->size);
    case 'i':
        return PyLong_FromSize_t(self->layout.item_size);
    case 'd':
        return PyLong_FromLong(self->dimensions);
    case 'e':
        return PyLong_FromLong((long)self->layout.element);
    case 'r':
        return PyBool_FromLong(self->readonly);
    case 'h':
        return PyBool_FromLong(self->host_pointer || self->size == 0);
    default:
        return PyUnicode_FromString(layout_name(&self->layout));
    }
}

static PyObject *get_address(PyObject *object, void *closure)
{
    (void)closure;
    if (!buffer_expose(object))
        return NULL;
    return PyLong_FromVoidPtr(self_of(object)->device_address);
}

PyObject *buffer_shape(PyObject *object, void *closure)
{
    struct buffer_wrapper *self = self_of(object);
    (void)closure;
    PyObject *shape = PyTuple_New(self->dimensions);
    for (int i = 0; shape && i < self->dimensions; i++)
        if (PyTuple_SetItem(shape, i, PyLong_FromSsize_t(self->shape[i])) < 0)
            Py_CLEAR(shape);
    return shape;
}

static PyObject *get_kind(PyObject *object, void *closure)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    (void)closure;
    rnl_status status = rnl_buffer_get_info(handle_of(object), &info);
    return status == RNL_OK ? PyLong_FromLong((long)info.kind)
                            : raise_error(status);
}

static PyGetSetDef buffer_fields[] = {
    {"context", wrapper_context, NULL, NULL, NULL},
    {"shape", buffer_shape, NULL, "Extents, a tuple.", NULL},
    {"nbytes", get_number, NULL, "Bytes.", "s"},
    {"itemsize", get_number, NULL, "Bytes of an element.", "i"},
    {"ndim", get_number, NULL, "Number of dimensions.", "d"},
    {"element", get_number, NULL, "As an Element.", "e"},
    {"dtype", get_number, NULL, "Name of the elements' type.", "n"},
    {"readonly", get_number, NULL, NULL, "r"},
    {"host_accessible", get_number, NULL,
     "Whether the buffer protocol gives the bytes.", "h"},
    {"kind", get_kind, NULL, "As a MemoryKind.", NULL},
    {"address", get_address, NULL, "What kernels see, an int.", NULL},
    {"__array_interface__", buffer_array_interface, NULL, NULL, NULL},
    {"__cuda_array_interface__", buffer_cuda_interface, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

// view(shape, dtype): the same memory, with another wrapper.
static PyObject *buffer_view(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"shape", "dtype", NULL};
    struct buffer_wrapper *self = self_of(object);
    PyObject *given = Py_None, *dtype = Py_None;
    Py_ssize_t shape[MOST_DIMENSIONS], count = 0;
    struct layout layout = self->layout;
    int dimensions = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:view", names, &given,
                                     &dtype) ||
        (dtype != Py_None && !layout_of_dtype(dtype, &layout)) ||
        (given != Py_None && !shape_of(given, shape, &dimensions, &count)))
        return NULL;
    if (given != Py_None && (size_t)count * layout.item_size != self->size) {
        PyErr_Format(PyExc_ValueError,
                     "a view of %zu bytes cannot have the shape %R of elements "
                     "of %zu bytes",
                     self->size, given, layout.item_size);
        return NULL;
    }
    rnl_buffer handle = handle_of(object);
    rnl_status status = rnl_buffer_retain(handle);
    return status == RNL_OK ? buffer_make(handle, context_of(object), &layout,
                                          shape, dimensions, self->readonly)
                            : raise_error(status);
}

// slice(start, stop): elements along the first axis.
static PyObject *buffer_slice(PyObject *object, PyObject *args)
{
    struct buffer_wrapper *self = self_of(object);
    Py_ssize_t shape[MOST_DIMENSIONS] = {0}, start, stop;
    PyObject *end = Py_None;
    rnl_buffer slice;
    if (!PyArg_ParseTuple(args, "n|O:slice", &start, &end))
        return NULL;
    if (self->dimensions == 0) {
        PyErr_SetString(PyExc_ValueError,
                        "a buffer without dimensions has no slices");
        return NULL;
    }
    Py_ssize_t extent = self->shape[0];
    stop =
        end == Py_None ? extent : PyNumber_AsSsize_t(end, PyExc_OverflowError);
    if (PyErr_Occurred())
        return NULL;
    if (start < 0 || start > stop || stop > extent) {
        PyErr_Format(PyExc_IndexError,
                     "elements %zd to %zd leave the first axis, which has %zd",
                     start, stop, extent);
        return NULL;
    }
    memcpy(shape, self->shape, (size_t)self->dimensions * sizeof *shape);
    shape[0] = stop - start;
    size_t row = extent > 0 ? self->size / (size_t)extent : 0;
    rnl_status status = rnl_buffer_slice(handle_of(object), (size_t)start * row,
                                         (size_t)shape[0] * row, &slice);
    return status == RNL_OK
               ? buffer_make(slice, context_of(object), &self->layout, shape,
                             self->dimensions, self->readonly)
               : raise_error(status);
}

static PyObject *buffer_advise(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"advice", "offset", "size", NULL};
    size_t offset = 0, size = RNL_WHOLE;
    int advice;
    rnl_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i|O&O&:advise", names,
                                     &advice, to_count, &offset, to_size,
                                     &size))
        return NULL;
    CALL_UNLOCKED(status, rnl_buffer_advise(handle_of(self), offset, size,
                                            (rnl_memory_advice)advice));
    return none_or_error(status);
}

static PyObject *buffer_repr(PyObject *object)
{
    if (!handle_of(object))
        return PyUnicode_FromString("<runnel.Buffer, released>");
    PyObject *shape = buffer_shape(object, NULL);
    int index;
    const char *api = context_api(context_of(object), &index);
    if (!api)
        PyErr_Clear();
    PyObject *text = shape ? PyUnicode_FromFormat(
                                 "<runnel.Buffer %s%R on %s%s>",
                                 layout_name(&self_of(object)->layout), shape,
                                 api ? api : "a released context",
                                 self_of(object)->readonly ? ", read-only" : "")
                           : NULL;
    Py_XDECREF(shape);
    return text;
}

static Py_ssize_t buffer_length(PyObject *object)
{
    struct buffer_wrapper *self = self_of(object);
    if (self->dimensions > 0)
        return self->shape[0];
    PyErr_SetString(PyExc_TypeError, "a buffer without dimensions has no len");
    return -1;
}

static PyMethodDef buffer_methods[] = {
    WRAPPER_METHODS(buffer),
    {"view", (PyCFunction)(void (*)(void))buffer_view,
     METH_VARARGS | METH_KEYWORDS,
     "view(shape=None, dtype=None): the same memory as another array."},
    {"slice", buffer_slice, METH_VARARGS,
     "slice(start, stop=None): elements along the first axis, as a Buffer."},
    {"advise", (PyCFunction)(void (*)(void))buffer_advise,
     METH_VARARGS | METH_KEYWORDS,
     "advise(advice, offset=0, size=None): how managed memory will be used, a "
     "MemoryAdvice."},
    {"__dlpack__", (PyCFunction)(void (*)(void))buffer_dlpack,
     METH_VARARGS | METH_KEYWORDS, NULL},
    {"__dlpack_device__", buffer_dlpack_device, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot buffer_slots[] = {
    {Py_tp_new, buffer_new},
    {Py_tp_dealloc, buffer_end},
    {Py_tp_repr, buffer_repr},
    {Py_sq_length, buffer_length},
    {Py_bf_getbuffer, get_view},
    {Py_bf_releasebuffer, drop_view},
    {Py_tp_methods, buffer_methods},
    {Py_tp_getset, buffer_fields},
    {Py_tp_doc,
     "Buffer(context, shape, dtype='uint8', *, kind=MemoryKind."
     "DEVICE, zeroed=False, interprocess=False, label=None, "
     "stream=None)\n\nMemory that kernels use, an array in C order."},
    {0, NULL}};

static PyType_Spec buffer_spec = {"runnel._core.Buffer",
                                  sizeof(struct buffer_wrapper), 0,
                                  Py_TPFLAGS_DEFAULT, buffer_slots};

bool buffer_register(PyObject *module)
{
    return add_type(module, &buffer_spec, &buffer_type);
}
