// The module runnel._core.
#include "binding.h"

#include <stdlib.h>
#include <string.h>

// --- Functions ---------------------------------------------------------------

static PyObject *list_devices(PyObject *module, PyObject *args)
{
    const char *api = NULL;
    size_t count;
    rnl_status status;
    (void)module;
    if (!PyArg_ParseTuple(args, "|z:devices", &api))
        return NULL;
    CALL_UNLOCKED(status, rnl_device_count(api, &count));
    if (status != RNL_OK)
        return raise_error(status);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < count; i++) {
        rnl_device device;
        status = rnl_device_get(api, i, &device);
        PyObject *item = status == RNL_OK
                             ? wrap_borrowed(device_type, device, NULL)
                             : raise_error(status);
        if (!item || PyList_Append(list, item) < 0)
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

static PyObject *default_device(PyObject *module, PyObject *ignored)
{
    rnl_device device;
    rnl_status status;
    (void)module;
    (void)ignored;
    CALL_UNLOCKED(status, rnl_device_default(&device));
    return status == RNL_OK ? wrap_borrowed(device_type, device, NULL)
                            : raise_error(status);
}

static PyObject *api_names(PyObject *module, PyObject *ignored)
{
    const char *name;
    (void)module;
    (void)ignored;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && rnl_api_name(i, &name) == RNL_OK; i++) {
        PyObject *text = PyUnicode_FromString(name);
        if (!text || PyList_Append(list, text) < 0)
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    rnl_last_error_clear();
    return list;
}

static PyObject *api_reason(PyObject *module, PyObject *args)
{
    const char *api, *reason;
    rnl_status status;
    (void)module;
    if (!PyArg_ParseTuple(args, "s:api_reason", &api))
        return NULL;
    CALL_UNLOCKED(status, rnl_api_reason(api, &reason));
    return status == RNL_OK ? PyUnicode_FromString(reason)
                            : raise_error(status);
}

static PyObject *has_accelerator(PyObject *module, PyObject *ignored)
{
    bool present;
    rnl_status status;
    (void)module;
    (void)ignored;
    CALL_UNLOCKED(status, rnl_has_accelerator(&present));
    return status == RNL_OK ? PyBool_FromLong(present) : raise_error(status);
}

static PyObject *version(PyObject *module, PyObject *ignored)
{
    int number = rnl_version();
    (void)module;
    (void)ignored;
    return Py_BuildValue("(iii)", number / 10000, number / 100 % 100,
                         number % 100);
}

static PyObject *set_error_factory(PyObject *module, PyObject *factory)
{
    (void)module;
    if (error_factory) {
        PyErr_SetString(PyExc_RuntimeError, "there is a factory of errors");
        return NULL;
    }
    Py_INCREF(factory);
    error_factory = factory;
    Py_RETURN_NONE;
}

static PyObject *collect(PyObject *module, PyObject *ignored)
{
    (void)module;
    (void)ignored;
    keepers_collect();
    Py_RETURN_NONE;
}

static PyObject *host_range(PyObject *module, PyObject *object)
{
    Py_buffer view;
    (void)module;
    if (PyObject_GetBuffer(object, &view, PyBUF_CONTIG_RO) != 0)
        return NULL;
    PyObject *range =
        Py_BuildValue("(Nn)", PyLong_FromVoidPtr(view.buf), view.len);
    PyBuffer_Release(&view);
    return range;
}

static PyObject *exchange_mode(PyObject *module, PyObject *args)
{
    int mode;
    (void)module;
    if (!PyArg_ParseTuple(args, "i:capture_exchange_mode", &mode))
        return NULL;
    rnl_capture_mode value = (rnl_capture_mode)mode;
    rnl_status status = rnl_capture_exchange_mode(&value);
    return status == RNL_OK ? PyLong_FromLong((long)value)
                            : raise_error(status);
}

#define WITH_NAMES(function) \
    (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyMethodDef functions[] = {
    {"devices", list_devices, METH_VARARGS,
     "devices(api=None): the devices of 'cpu', 'cuda', 'hip', 'gpu' or all."},
    {"default_device", default_device, METH_NOARGS, "The best device."},
    {"api_names", api_names, METH_NOARGS, "The apis of this library, a list."},
    {"api_reason", api_reason, METH_VARARGS,
     "api_reason(api): why the api has no device, '' where it has one."},
    {"has_accelerator", has_accelerator, METH_NOARGS,
     "Whether a device that is not the cpu is present."},
    {"version", version, METH_NOARGS, "Of the library: three numbers."},
    {"compile_function", WITH_NAMES(compile_function),
     "compile_function(context, source, function, *, options=(), headers=None, "
     "name=None, label=None, untrusted=False, timeout=None): a Function, from "
     "a cache in memory where it was compiled before."},
    {"from_dlpack", WITH_NAMES(from_dlpack),
     "from_dlpack(array, context, stream=None): a Buffer, without a copy."},
    {"from_array", WITH_NAMES(from_array),
     "from_array(array, context, stream=None): a Buffer, without a copy, of "
     "the buffer protocol, DLPack or the CUDA array interface."},
    {"capture_exchange_mode", exchange_mode, METH_VARARGS, NULL},
    {"set_log", WITH_NAMES(set_log),
     "set_log(function, level=LogLevel.WARNING): have function(level, text) "
     "called for messages of the library, soon and on a thread of Python; "
     "None: "
     "as RUNNEL_LOG says."},
    {"collect", collect, METH_NOARGS,
     "Let go of arrays whose work is done; waits do so by themselves."},
    {"_host_range", host_range, METH_O,
     "The address and the bytes of memory of the host."},
    {"_set_error_factory", set_error_factory, METH_O, NULL},
    {NULL, NULL, 0, NULL}};

// --- Numbers that the enums of Python are compared with ----------------------

struct number {
    const char *group, *name;
    long value;
};

#define STATUS_ROW(name, number, sentence) {"Status", #name, number},
#define ROW(group, prefix, name)             \
    {                                        \
#group, #name, RNL_##prefix##_##name \
    }

static const struct number numbers[] = {
    RNL_STATUS_MAP(STATUS_ROW) ROW(MemoryKind, MEMORY, DEVICE),
    ROW(MemoryKind, MEMORY, HOST),
    ROW(MemoryKind, MEMORY, MANAGED),
    ROW(Element, ELEMENT, UNKNOWN),
    ROW(Element, ELEMENT, INT8),
    ROW(Element, ELEMENT, UINT8),
    ROW(Element, ELEMENT, INT16),
    ROW(Element, ELEMENT, UINT16),
    ROW(Element, ELEMENT, INT32),
    ROW(Element, ELEMENT, UINT32),
    ROW(Element, ELEMENT, INT64),
    ROW(Element, ELEMENT, UINT64),
    ROW(Element, ELEMENT, FLOAT16),
    ROW(Element, ELEMENT, BFLOAT16),
    ROW(Element, ELEMENT, FLOAT32),
    ROW(Element, ELEMENT, FLOAT64),
    ROW(ValueKind, VALUE, UNKNOWN),
    ROW(ValueKind, VALUE, POINTER),
    ROW(ValueKind, VALUE, INTEGER),
    ROW(ValueKind, VALUE, FLOAT),
    ROW(ValueKind, VALUE, STRUCT),
    ROW(StreamFlags, STREAM, NON_BLOCKING),
    ROW(StreamFlags, STREAM, BATCHED),
    ROW(WaitCondition, WAIT, GEQ),
    ROW(WaitCondition, WAIT, EQ),
    ROW(WaitCondition, WAIT, AND),
    ROW(WaitCondition, WAIT, NOR),
    ROW(CaptureMode, CAPTURE, THREAD_LOCAL),
    ROW(CaptureMode, CAPTURE, GLOBAL),
    ROW(CaptureMode, CAPTURE, RELAXED),
    ROW(CaptureStatus, CAPTURE, NONE),
    ROW(CaptureStatus, CAPTURE, ACTIVE),
    ROW(CaptureStatus, CAPTURE, INVALIDATED),
    ROW(NodeKind, NODE, EMPTY),
    ROW(NodeKind, NODE, FUNCTION),
    ROW(NodeKind, NODE, COPY),
    ROW(NodeKind, NODE, FILL),
    ROW(NodeKind, NODE, HOST_FUNCTION),
    ROW(NodeKind, NODE, VALUES),
    ROW(NodeKind, NODE, EVENT_RECORD),
    ROW(NodeKind, NODE, EVENT_WAIT),
    ROW(NodeKind, NODE, CHILD),
    ROW(NodeKind, NODE, BUFFER_CREATE),
    ROW(NodeKind, NODE, BUFFER_RELEASE),
    ROW(NodeKind, NODE, IF),
    ROW(NodeKind, NODE, WHILE),
    ROW(NodeKind, NODE, SWITCH),
    ROW(MemoryAdvice, ADVICE, NONE),
    ROW(MemoryAdvice, ADVICE, READ_MOSTLY),
    ROW(MemoryAdvice, ADVICE, PREFER_DEVICE),
    ROW(MemoryAdvice, ADVICE, PREFER_HOST),
    ROW(MemoryAdvice, ADVICE, USED_BY_DEVICE),
    ROW(MemoryAdvice, ADVICE, USED_BY_HOST),
    ROW(LogLevel, LOG, ERROR),
    ROW(LogLevel, LOG, WARNING),
    ROW(LogLevel, LOG, INFO),
    ROW(LogLevel, LOG, DEBUG),
    ROW(FunctionAttribute, FUNCTION, DYNAMIC_SHARED),
    ROW(FunctionAttribute, FUNCTION, CARVEOUT),
    ROW(Feature, FEATURE, COMPILE),
    ROW(Feature, FEATURE, NATIVE_FUNCTIONS),
    ROW(Feature, FEATURE, MANAGED_MEMORY),
    ROW(Feature, FEATURE, ZERO_COPY_MAP),
    ROW(Feature, FEATURE, CLUSTERS),
    ROW(Feature, FEATURE, COOPERATIVE_LAUNCH),
    ROW(Feature, FEATURE, PRIORITIES),
    ROW(Feature, FEATURE, EVENT_TIMING),
    ROW(Feature, FEATURE, PROMISES),
    ROW(Feature, FEATURE, INTERPROCESS),
    ROW(Feature, FEATURE, CAPTURE),
    ROW(Feature, FEATURE, GRAPHS),
    ROW(Feature, FEATURE, GRAPH_SWITCH),
    ROW(Feature, FEATURE, GRAPH_BODIES),
    ROW(Feature, FEATURE, MEMORY_OPERATIONS),
    ROW(Feature, FEATURE, BATCHED_STREAMS),
    ROW(Feature, FEATURE, PEER_ACCESS),
    ROW(Feature, FEATURE, MEMORY_HINTS),
    ROW(Feature, FEATURE, NATIVE_HANDLES),
    ROW(Feature, FEATURE, HOST_FUNCTIONS),
    ROW(Feature, FEATURE, CANCEL),
    ROW(Feature, FEATURE, KERNEL_LIMIT),
    ROW(Feature, FEATURE, INTERPROCESS_MEMORY),
};

static bool add_numbers(PyObject *module)
{
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < sizeof numbers / sizeof numbers[0]; i++) {
        PyObject *row = Py_BuildValue("(ssl)", numbers[i].group,
                                      numbers[i].name, numbers[i].value);
        if (!row || PyList_Append(list, row) < 0)
            Py_CLEAR(list);
        Py_XDECREF(row);
    }
    bool good = list && PyModule_AddObjectRef(module, "_numbers", list) == 0;
    Py_XDECREF(list);
    return good;
}

// --- The module --------------------------------------------------------------

static int execute(PyObject *module)
{
    bool good = interpreter_take(module) && device_register(module) &&
                context_register(module) && stream_register(module) &&
                event_register(module) && buffer_register(module) &&
                function_register(module) && launch_register() &&
                graph_register(module) && add_numbers(module);
    return good ? 0 : -1;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, execute},
#if defined(Py_mod_multiple_interpreters)
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if defined(Py_mod_gil)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "runnel._core", .m_methods = functions,
    .m_slots = slots};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
