// Events and promises.
#include "binding.h"

PyTypeObject *event_type;

WRAPPER_FUNCTIONS(event)

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {
        "context", "timing", "blocking_sync", "interprocess", "promise",
        "label",   NULL};
    rnl_event_options options = {.struct_size = sizeof options};
    int timing = 0, blocking = 0, shared = 0, promise = 0;
    PyObject *context;
    rnl_event event;
    rnl_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$ppppz:Event", names,
                                     to_context, &context, &timing, &blocking,
                                     &shared, &promise, &options.label))
        return NULL;
    options.timing = timing;
    options.blocking_sync = blocking;
    options.interprocess = shared;
    options.promise = promise;
    CALL_UNLOCKED(status,
                  rnl_event_create(handle_of(context), &options, &event));
    return status == RNL_OK ? wrap(type, event, context, event_drop)
                            : raise_error(status);
}

static PyObject *event_query(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    rnl_status status;
    CALL_UNLOCKED(status, rnl_event_query(handle_of(self)));
    return ready_or_error(status);
}

static PyObject *event_synchronize(PyObject *self, PyObject *args,
                                   PyObject *kwargs)
{
    return synchronize(event_wait, self, args, kwargs);
}

static PyObject *event_elapsed(PyObject *self, PyObject *args)
{
    rnl_event end;
    uint64_t ns;
    if (!PyArg_ParseTuple(args, "O&:elapsed_ns", to_event, &end))
        return NULL;
    rnl_status status = rnl_event_elapsed(handle_of(self), end, &ns);
    return status == RNL_OK ? PyLong_FromUnsignedLongLong(ns)
                            : raise_error(status);
}

static PyObject *event_native(PyObject *self, void *closure)
{
    void *native;
    (void)closure;
    rnl_status status = rnl_event_native(handle_of(self), &native);
    return status == RNL_OK ? PyLong_FromVoidPtr(native) : raise_error(status);
}

static PyObject *event_context(PyObject *self, void *closure)
{
    (void)closure;
    PyObject *context = context_of(self);
    Py_INCREF(context);
    return context;
}

static PyGetSetDef event_fields[] = {
    {"context", event_context, NULL, NULL, NULL},
    {"native", event_native, NULL, "The vendor's event, an int.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef event_methods[] = {
    WRAPPER_METHODS(event),
    {"query", event_query, METH_NOARGS,
     "Whether the event is complete, or was never recorded."},
    {"synchronize", (PyCFunction)(void (*)(void))event_synchronize,
     METH_VARARGS | METH_KEYWORDS,
     "synchronize(timeout=None): wait until it is complete."},
    {"elapsed_ns", event_elapsed, METH_VARARGS,
     "elapsed_ns(end): nanoseconds from this event to `end`."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot event_slots[] = {
    {Py_tp_new, event_new},
    {Py_tp_dealloc, event_dealloc},
    {Py_tp_methods, event_methods},
    {Py_tp_getset, event_fields},
    {Py_tp_doc, "Event(context, *, timing=False, blocking_sync=False, "
                "interprocess=False, promise=False, label=None)\n\n"
                "A point in a stream, to wait for and to measure between."},
    {0, NULL}};

static PyType_Spec event_spec = {"runnel._core.Event", sizeof(struct wrapper),
                                 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                                 event_slots};

bool event_register(PyObject *module)
{
    return add_type(module, &event_spec, &event_type);
}
