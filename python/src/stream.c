// Streams.
#include "binding.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *stream_type;

WRAPPER_FUNCTIONS(stream)

static PyObject *stream_new(PyTypeObject *type, PyObject *args,
                            PyObject *kwargs)
{
    static char *names[] = {"context", "priority", "flags", "label", NULL};
    rnl_stream_options options = {.struct_size = sizeof options};
    PyObject *context;
    rnl_stream stream;
    rnl_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$iO&z:Stream", names,
                                     to_context, &context, &options.priority,
                                     to_uint32, &options.flags, &options.label))
        return NULL;
    CALL_UNLOCKED(status,
                  rnl_stream_create(handle_of(context), &options, &stream));
    return status == RNL_OK ? wrap(type, stream, context, stream_drop)
                            : raise_error(status);
}

// The vendor's stream has to live as long as the wrapper, which keeps the object
// that was given.
static PyObject *stream_borrow(PyObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"context", "stream", "label", NULL};
    rnl_stream_options options = {.struct_size = sizeof options};
    PyObject *context, *given;
    void *native;
    rnl_stream stream;
    rnl_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O|$z:borrow", names,
                                     to_context, &context, &given,
                                     &options.label))
        return NULL;
    PyObject *pair = PyObject_HasAttrString(given, "__cuda_stream__")
                         ? PyObject_CallMethod(given, "__cuda_stream__", NULL)
                         : Py_BuildValue("(iO)", 0, given);
    PyObject *number = pair ? PySequence_GetItem(pair, 1) : NULL;
    bool good = number && to_address(number, &native);
    Py_XDECREF(pair);
    Py_XDECREF(number);
    if (!good)
        return NULL;
    CALL_UNLOCKED(status, rnl_stream_borrow(handle_of(context), native,
                                            &options, &stream));
    if (status != RNL_OK)
        return raise_error(status);
    PyObject *self = wrap((PyTypeObject *)type, stream, context, stream_drop);
    if (self) {
        Py_INCREF(given);
        ((struct wrapper *)self)->kept = given;
    }
    return self;
}

// --- Launching ---------------------------------------------------------------

static PyObject *stream_enqueue_function(PyObject *self, PyObject *const *args,
                                         Py_ssize_t count, PyObject *names)
{
    PyObject *function;
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError,
                        "enqueue_function takes a Function, a grid and a "
                        "block");
        return NULL;
    }
    if (!to_function(args[0], &function))
        return NULL;
    return launch(handle_of(self), function, args + 1, count - 1, names);
}

static PyObject *stream_enqueue_graph(PyObject *self, PyObject *args)
{
    rnl_graph_exec exec;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "O&:enqueue_graph", to_exec, &exec))
        return NULL;
    CALL_UNLOCKED(status, rnl_enqueue_graph(handle_of(self), exec));
    return none_or_error(status);
}

static PyObject *stream_enqueue_graph_upload(PyObject *self, PyObject *args)
{
    rnl_graph_exec exec;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "O&:enqueue_graph_upload", to_exec, &exec))
        return NULL;
    CALL_UNLOCKED(status, rnl_enqueue_graph_upload(handle_of(self), exec));
    return none_or_error(status);
}

// --- Waiting -----------------------------------------------------------------

static PyObject *stream_synchronize(PyObject *self, PyObject *args,
                                    PyObject *kwargs)
{
    return synchronize(stream_wait, self, args, kwargs);
}

static PyObject *stream_query(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    rnl_status status;
    CALL_UNLOCKED(status, rnl_stream_query(handle_of(self)));
    return ready_or_error(status);
}

#define PLAIN_CALL(name, call)                               \
    static PyObject *name(PyObject *self, PyObject *ignored) \
    {                                                        \
        rnl_status status;                                   \
        (void)ignored;                                       \
        CALL_UNLOCKED(status, call(handle_of(self)));        \
        return none_or_error(status);                        \
    }

PLAIN_CALL(stream_flush, rnl_stream_flush)
PLAIN_CALL(stream_cancel, rnl_stream_cancel)

static PyObject *stream_reset(PyObject *self, PyObject *ignored)
{
    rnl_status status;
    (void)ignored;
    // A stream that has failed still has to get past its work.
    if (!wait_for(stream_wait, handle_of(self), RNL_FOREVER, &status))
        return NULL;
    CALL_UNLOCKED(status, rnl_stream_reset_and_wait(handle_of(self)));
    return none_or_error(status);
}

#define EVENT_CALL(name, call)                                      \
    static PyObject *name(PyObject *self, PyObject *args)           \
    {                                                               \
        rnl_event event;                                            \
        rnl_status status;                                          \
        if (!PyArg_ParseTuple(args, "O&:" #name, to_event, &event)) \
            return NULL;                                            \
        CALL_UNLOCKED(status, call(handle_of(self), event));        \
        return none_or_error(status);                               \
    }

EVENT_CALL(enqueue_event_record, rnl_enqueue_event_record)
EVENT_CALL(enqueue_wait_event, rnl_enqueue_wait_event)
EVENT_CALL(enqueue_external_record, rnl_enqueue_external_record)
EVENT_CALL(enqueue_external_wait, rnl_enqueue_external_wait)

static PyObject *stream_enqueue_wait_stream(PyObject *self, PyObject *args)
{
    rnl_stream other;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "O&:enqueue_wait_stream", to_stream, &other))
        return NULL;
    CALL_UNLOCKED(status, rnl_enqueue_wait_stream(handle_of(self), other));
    return none_or_error(status);
}

static PyObject *stream_enqueue_wait_context(PyObject *self, PyObject *args)
{
    PyObject *other;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "O&:enqueue_wait_context", to_context, &other))
        return NULL;
    CALL_UNLOCKED(status,
                  rnl_enqueue_wait_context(handle_of(self), handle_of(other)));
    return none_or_error(status);
}

// --- Values ------------------------------------------------------------------

static PyObject *write_value(PyObject *self, PyObject *args, uint32_t bits)
{
    struct buffer_wrapper *buffer;
    size_t offset;
    uint64_t value;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "O&O&O&:enqueue_write_value", to_buffer,
                          &buffer, to_count, &offset, to_uint64, &value) ||
        !writable(buffer, "the value") || !fits_word(value, bits))
        return NULL;
    rnl_buffer handle = handle_of((PyObject *)buffer);
    CALL_UNLOCKED(
        status, bits == 32 ? rnl_enqueue_write_value32(handle_of(self), handle,
                                                       offset, (uint32_t)value)
                           : rnl_enqueue_write_value64(handle_of(self), handle,
                                                       offset, value));
    return none_or_error(status);
}

static PyObject *wait_value(PyObject *self, PyObject *args, uint32_t bits)
{
    struct buffer_wrapper *buffer;
    size_t offset;
    uint64_t value;
    int condition = RNL_WAIT_GEQ;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "O&O&O&|i:enqueue_wait_value", to_buffer,
                          &buffer, to_count, &offset, to_uint64, &value,
                          &condition) ||
        !fits_word(value, bits))
        return NULL;
    rnl_buffer handle = handle_of((PyObject *)buffer);
    rnl_value_action action = (rnl_value_action)condition;
    CALL_UNLOCKED(
        status, bits == 32
                    ? rnl_enqueue_wait_value32(handle_of(self), handle, offset,
                                               (uint32_t)value, action)
                    : rnl_enqueue_wait_value64(handle_of(self), handle, offset,
                                               value, action));
    return none_or_error(status);
}

static PyObject *write_value32(PyObject *self, PyObject *args)
{
    return write_value(self, args, 32);
}

static PyObject *write_value64(PyObject *self, PyObject *args)
{
    return write_value(self, args, 64);
}

static PyObject *wait_value32(PyObject *self, PyObject *args)
{
    return wait_value(self, args, 32);
}

static PyObject *wait_value64(PyObject *self, PyObject *args)
{
    return wait_value(self, args, 64);
}

// --- Memory ------------------------------------------------------------------

static PyObject *stream_prefetch(PyObject *self, PyObject *args)
{
    struct buffer_wrapper *buffer;
    int to_host = 0;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "O&|p:enqueue_prefetch", to_buffer, &buffer,
                          &to_host))
        return NULL;
    CALL_UNLOCKED(status, rnl_enqueue_prefetch(handle_of(self),
                                               handle_of((PyObject *)buffer), 0,
                                               RNL_WHOLE,
                                               to_host ? RNL_MEMORY_TO_HOST
                                                       : RNL_MEMORY_TO_DEVICE));
    return none_or_error(status);
}

// --- Capture -----------------------------------------------------------------

static PyObject *stream_begin_capture(PyObject *self, PyObject *args,
                                      PyObject *kwargs)
{
    static char *names[] = {"mode", "graph", "after", "label", NULL};
    rnl_capture_options options = {.struct_size = sizeof options};
    PyObject *graph = Py_None, *after = NULL;
    int mode = RNL_CAPTURE_THREAD_LOCAL;
    rnl_node *nodes;
    rnl_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|iO$Oz:begin_capture",
                                     names, &mode, &graph, &after,
                                     &options.label) ||
        (graph != Py_None && !to_graph(graph, &graph)) ||
        !nodes_read(after, &nodes, &options.after_count))
        return NULL;
    options.mode = (rnl_capture_mode)mode;
    options.graph = graph == Py_None ? NULL : handle_of(graph);
    options.after = nodes;
    CALL_UNLOCKED(status, rnl_stream_begin_capture(handle_of(self), &options));
    free(nodes);
    return none_or_error(status);
}

static PyObject *stream_end_capture(PyObject *self, PyObject *ignored)
{
    rnl_graph graph;
    rnl_status status;
    (void)ignored;
    CALL_UNLOCKED(status, rnl_stream_end_capture(handle_of(self), &graph));
    return status == RNL_OK ? graph_make(graph, context_of(self))
                            : raise_error(status);
}

static PyObject *stream_capture_status(PyObject *self, void *closure)
{
    rnl_capture_info info = {.struct_size = sizeof info};
    (void)closure;
    rnl_status status = rnl_stream_get_capture_info(handle_of(self), &info);
    return status == RNL_OK ? PyLong_FromLong((long)info.status)
                            : raise_error(status);
}

// --- Properties --------------------------------------------------------------

static bool stream_info(PyObject *self, rnl_stream_info *info)
{
    *info = (rnl_stream_info){.struct_size = sizeof *info};
    rnl_status status = rnl_stream_get_info(handle_of(self), info);
    if (status != RNL_OK)
        raise_error(status);
    return status == RNL_OK;
}

static PyObject *get_number(PyObject *self, void *closure)
{
    rnl_stream_info info;
    if (!stream_info(self, &info))
        return NULL;
    switch (*(const char *)closure) {
    case 'i':
        return PyLong_FromUnsignedLongLong(info.id);
    case 'p':
        return PyLong_FromLong(info.priority);
    case 'f':
        return PyLong_FromUnsignedLong(info.flags);
    default:
        return text_of(info.label);
    }
}

static PyObject *get_native(PyObject *self, void *closure)
{
    void *native;
    rnl_status status;
    (void)closure;
    CALL_UNLOCKED(status, rnl_stream_native(handle_of(self), &native));
    return status == RNL_OK ? PyLong_FromVoidPtr(native) : raise_error(status);
}

// --- __cuda_stream__, version 0 ----------------------------------------------

static PyObject *cuda_stream(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    PyObject *native = get_native(self, NULL);
    return native ? Py_BuildValue("(iN)", 0, native) : NULL;
}

// No attribute at all on streams that are none of CUDA's.
static PyObject *get_cuda_stream(PyObject *self, void *closure)
{
    static PyMethodDef method = {"__cuda_stream__", cuda_stream, METH_NOARGS,
                                 NULL};
    int index;
    (void)closure;
    const char *api = context_api(context_of(self), &index);
    if (!api)
        return NULL;
    if (strcmp(api, "cuda") == 0)
        return PyCFunction_New(&method, self);
    PyErr_Format(PyExc_AttributeError, "a stream of %s does not belong to CUDA",
                 api);
    return NULL;
}

static PyObject *stream_repr(PyObject *self)
{
    rnl_stream_info info;
    if (!handle_of(self))
        return PyUnicode_FromString("<runnel.Stream, released>");
    if (!stream_info(self, &info))
        return NULL;
    return PyUnicode_FromFormat("<runnel.Stream %llu%s%s>",
                                (unsigned long long)info.id,
                                *info.label ? " " : "", info.label);
}

static PyGetSetDef stream_fields[] = {
    {"context", wrapper_context, NULL, NULL, NULL},
    {"id", get_number, NULL, "Unique in this process.", "i"},
    {"priority", get_number, NULL, NULL, "p"},
    {"flags", get_number, NULL, NULL, "f"},
    {"label", get_number, NULL, NULL, "l"},
    {"native", get_native, NULL, "The vendor's stream, an int.", NULL},
    {"capture_status", stream_capture_status, NULL, "As a CaptureStatus.",
     NULL},
    {"__cuda_stream__", get_cuda_stream, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

#define WITH_NAMES(function) \
    (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyMethodDef stream_methods[] = {
    WRAPPER_METHODS(stream),
    {"borrow", (PyCFunction)(void (*)(void))stream_borrow,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "borrow(context, stream): a Stream for the vendor's stream: an int, or an "
     "object with __cuda_stream__, which is kept."},
    {"enqueue_function", (PyCFunction)(void (*)(void))stream_enqueue_function,
     METH_FASTCALL | METH_KEYWORDS,
     "enqueue_function(function, grid, block, *arguments, shared_size=0, "
     "cluster=None, cooperative=False, priority=0, label=None)"},
    {"enqueue_host_function", WITH_NAMES(enqueue_host_function),
     "enqueue_host_function(function, args=(), *, always=False, label=None): "
     "call function(*args) in stream order; with `always` function(status, "
     "*args), also behind a failure."},
    {"enqueue_graph", stream_enqueue_graph, METH_VARARGS,
     "enqueue_graph(exec): launch an executable graph."},
    {"enqueue_graph_upload", stream_enqueue_graph_upload, METH_VARARGS, NULL},
    {"enqueue_copy", WITH_NAMES(stream_enqueue_copy),
     "enqueue_copy(to, source, size=None, *, to_offset=0, source_offset=0): "
     "bytes, between Buffers and memory of the host."},
    {"copy_and_wait", WITH_NAMES(stream_copy_and_wait),
     "The same as enqueue_copy, and wait for the stream."},
    {"enqueue_fill", WITH_NAMES(stream_enqueue_fill),
     "enqueue_fill(buffer, value, size=None, *, offset=0): `value` is an "
     "element, `size` and `offset` are bytes."},
    {"fill_and_wait", WITH_NAMES(stream_fill_and_wait),
     "The same as enqueue_fill, and wait for the stream."},
    {"enqueue_event_record", enqueue_event_record, METH_VARARGS, NULL},
    {"enqueue_wait_event", enqueue_wait_event, METH_VARARGS, NULL},
    {"enqueue_external_record", enqueue_external_record, METH_VARARGS, NULL},
    {"enqueue_external_wait", enqueue_external_wait, METH_VARARGS, NULL},
    {"enqueue_wait_stream", stream_enqueue_wait_stream, METH_VARARGS, NULL},
    {"enqueue_wait_context", stream_enqueue_wait_context, METH_VARARGS, NULL},
    {"enqueue_write_value32", write_value32, METH_VARARGS,
     "enqueue_write_value32(buffer, offset, value)"},
    {"enqueue_write_value64", write_value64, METH_VARARGS,
     "enqueue_write_value64(buffer, offset, value)"},
    {"enqueue_wait_value32", wait_value32, METH_VARARGS,
     "enqueue_wait_value32(buffer, offset, value, condition=WAIT_GEQ)"},
    {"enqueue_wait_value64", wait_value64, METH_VARARGS,
     "enqueue_wait_value64(buffer, offset, value, condition=WAIT_GEQ)"},
    {"enqueue_prefetch", stream_prefetch, METH_VARARGS,
     "enqueue_prefetch(buffer, to_host=False): move managed memory."},
    {"synchronize", WITH_NAMES(stream_synchronize),
     "synchronize(timeout=None): wait for all work submitted so far."},
    {"query", stream_query, METH_NOARGS, "Whether all work is done."},
    {"flush", stream_flush, METH_NOARGS, NULL},
    {"cancel", stream_cancel, METH_NOARGS, "End what is in flight."},
    {"reset_and_wait", stream_reset, METH_NOARGS,
     "Wait, then forget the stream's failure."},
    {"begin_capture", WITH_NAMES(stream_begin_capture),
     "begin_capture(mode=CaptureMode.THREAD_LOCAL, graph=None, *, after=(), "
     "label=None)"},
    {"end_capture", stream_end_capture, METH_NOARGS,
     "End the capture; gives the Graph."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot stream_slots[] = {
    {Py_tp_new, stream_new},
    {Py_tp_dealloc, stream_dealloc},
    {Py_tp_repr, stream_repr},
    {Py_tp_richcompare, wrapper_compare},
    {Py_tp_hash, wrapper_hash},
    {Py_tp_methods, stream_methods},
    {Py_tp_getset, stream_fields},
    {Py_tp_doc, "Stream(context, *, priority=0, flags=0, label=None)\n\n"
                "An ordered queue of work."},
    {0, NULL}};

static PyType_Spec stream_spec = {"runnel._core.Stream", sizeof(struct wrapper),
                                  0, Py_TPFLAGS_DEFAULT, stream_slots};

bool stream_register(PyObject *module)
{
    return add_type(module, &stream_spec, &stream_type);
}
