// Modules and functions.
#include "binding.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *module_type, *function_type;

// --- Compile options ---------------------------------------------------------

struct texts {
    PyObject *list;
    const char **items;
    size_t count;
};

static bool texts_read(struct texts *out, PyObject *given, const char *what)
{
    *out = (struct texts){0};
    if (!given || given == Py_None)
        return true;
    if (PyUnicode_Check(given)) {
        PyErr_Format(PyExc_TypeError, "%s is a sequence of str, not a str",
                     what);
        return false;
    }
    out->list = PySequence_List(given);
    if (!out->list)
        return false;
    out->count = (size_t)PyList_Size(out->list);
    out->items = calloc(out->count + 1, sizeof *out->items);
    if (!out->items) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < out->count; i++) {
        out->items[i] = PyUnicode_AsUTF8AndSize(
            PyList_GetItem(out->list, (Py_ssize_t)i), NULL);
        if (!out->items[i])
            return false;
    }
    return true;
}

static void texts_finish(struct texts *texts)
{
    free(texts->items);
    Py_XDECREF(texts->list);
}

struct compile {
    rnl_module_options options;
    struct texts flags, expressions;
    PyObject *header_items;
    rnl_header *headers;
};

#define HEADERS "headers are a mapping of names to sources, both str"

static bool read_headers(struct compile *compile, PyObject *given)
{
    if (!given || given == Py_None)
        return true;
    if (!PyObject_HasAttrString(given, "items")) {
        PyErr_SetString(PyExc_TypeError, HEADERS);
        return false;
    }
    compile->header_items = PyMapping_Items(given);
    if (!compile->header_items)
        return false;
    Py_ssize_t count = PyList_Size(compile->header_items);
    compile->headers = calloc((size_t)count + 1, sizeof *compile->headers);
    if (!compile->headers) {
        PyErr_NoMemory();
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PyList_GetItem(compile->header_items, i);
        if (!PyTuple_Check(item)) {
            PyErr_SetString(PyExc_TypeError, HEADERS);
            return false;
        }
        if (!PyArg_ParseTuple(item, "ss;" HEADERS, &compile->headers[i].name,
                              &compile->headers[i].source))
            return false;
    }
    compile->options.headers = compile->headers;
    compile->options.header_count = (size_t)count;
    return true;
}

static void compile_finish(struct compile *compile)
{
    texts_finish(&compile->flags);
    texts_finish(&compile->expressions);
    free(compile->headers);
    Py_XDECREF(compile->header_items);
}

// Reads everything behind context and source; `out_name`: of the function, or
// NULL for a module.
static bool compile_read(struct compile *out, PyObject *args, PyObject *kwargs,
                         PyObject **out_context, const char **out_source,
                         const char **out_function)
{
    static char *module_names[] = {
        "context", "source", "options",   "headers", "name_expressions",
        "name",    "label",  "untrusted", "timeout", NULL};
    static char *function_names[] = {
        "context", "source", "function",  "options", "headers",
        "name",    "label",  "untrusted", "timeout", NULL};
    PyObject *options = NULL, *headers = NULL, *expressions = NULL;
    int untrusted = 0;
    *out = (struct compile){.options.struct_size = sizeof out->options};
    bool good =
        out_function
            ? PyArg_ParseTupleAndKeywords(
                  args, kwargs, "O&ss|$OOzzpO&:compile_function",
                  function_names, to_context, out_context, out_source,
                  out_function, &options, &headers, &out->options.name,
                  &out->options.label, &untrusted, to_limit,
                  &out->options.timeout_ns)
            : PyArg_ParseTupleAndKeywords(
                  args, kwargs, "O&s|$OOOzzpO&:Module", module_names,
                  to_context, out_context, out_source, &options, &headers,
                  &expressions, &out->options.name, &out->options.label,
                  &untrusted, to_limit, &out->options.timeout_ns);
    if (!good || !texts_read(&out->flags, options, "options") ||
        !texts_read(&out->expressions, expressions, "name_expressions") ||
        !read_headers(out, headers))
        return false;
    out->options.options = out->flags.items;
    out->options.option_count = out->flags.count;
    out->options.name_expressions = out->expressions.items;
    out->options.name_expression_count = out->expressions.count;
    out->options.untrusted = untrusted;
    return true;
}

// --- Modules -----------------------------------------------------------------

WRAPPER_FUNCTIONS(module)

static PyObject *module_new(PyTypeObject *type, PyObject *args,
                            PyObject *kwargs)
{
    struct compile compile;
    PyObject *context, *result = NULL;
    const char *source;
    rnl_module module;
    rnl_status status;
    if (compile_read(&compile, args, kwargs, &context, &source, NULL)) {
        CALL_UNLOCKED(status, rnl_module_compile(handle_of(context), source,
                                                 &compile.options, &module));
        result = status == RNL_OK ? wrap(type, module, context, module_drop)
                                  : raise_error(status);
    }
    compile_finish(&compile);
    return result;
}

static PyObject *module_load(PyObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"context", "binary", NULL};
    PyObject *context;
    Py_buffer binary;
    rnl_module module;
    rnl_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&y*:load", names,
                                     to_context, &context, &binary))
        return NULL;
    CALL_UNLOCKED(status, rnl_module_load(handle_of(context), binary.buf,
                                          (size_t)binary.len, NULL, &module));
    PyObject *result = status == RNL_OK ? wrap((PyTypeObject *)type, module,
                                               context, module_drop)
                                        : raise_error(status);
    PyBuffer_Release(&binary);
    return result;
}

static PyObject *module_binary(PyObject *self, void *closure)
{
    const void *data;
    size_t size;
    (void)closure;
    rnl_status status = rnl_module_binary(handle_of(self), &data, &size);
    return status == RNL_OK ? PyBytes_FromStringAndSize(data, (Py_ssize_t)size)
                            : raise_error(status);
}

static PyObject *module_log(PyObject *self, void *closure)
{
    const char *log;
    (void)closure;
    rnl_status status = rnl_module_log(handle_of(self), &log);
    return status == RNL_OK ? text_of(log) : raise_error(status);
}

static PyObject *make_function(rnl_function handle, PyObject *context);

static PyObject *module_function(PyObject *self, PyObject *args)
{
    const char *name;
    rnl_function function;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "s:function", &name))
        return NULL;
    CALL_UNLOCKED(status,
                  rnl_module_function(handle_of(self), name, &function));
    return status == RNL_OK ? make_function(function, context_of(self))
                            : raise_error(status);
}

static PyObject *module_functions(PyObject *self, PyObject *ignored)
{
    size_t count = 0;
    (void)ignored;
    rnl_status status =
        rnl_module_get_functions(handle_of(self), NULL, 0, &count);
    if (status != RNL_OK)
        return raise_error(status);
    rnl_function *handles = calloc(count + 1, sizeof(rnl_function));
    PyObject *list = handles ? PyList_New(0) : PyErr_NoMemory();
    size_t found = 0;
    if (list)
        status =
            rnl_module_get_functions(handle_of(self), handles, count, &found);
    if (status != RNL_OK)
        raise_error(status);
    for (size_t i = 0; list && status == RNL_OK && i < count; i++) {
        PyObject *function = make_function(handles[i], context_of(self));
        if (function)
            PyList_Append(list, function);
        Py_XDECREF(function);
    }
    free(handles);
    if (PyErr_Occurred())
        Py_CLEAR(list);
    return list;
}

static PyObject *module_global(PyObject *self, PyObject *args)
{
    const char *name;
    PyObject *dtype = NULL;
    rnl_buffer buffer;
    struct layout layout;
    if (!PyArg_ParseTuple(args, "s|O:variable", &name, &dtype) ||
        !layout_of_dtype(dtype, &layout))
        return NULL;
    rnl_status status = rnl_module_global(handle_of(self), name, &buffer);
    return status == RNL_OK
               ? buffer_make(buffer, context_of(self), &layout, NULL, -1, false)
               : raise_error(status);
}

static PyObject *module_context(PyObject *self, void *closure)
{
    (void)closure;
    PyObject *context = context_of(self);
    Py_INCREF(context);
    return context;
}

static PyGetSetDef module_fields[] = {
    {"context", module_context, NULL, NULL, NULL},
    {"binary", module_binary, NULL, "The binary, for Module.load.", NULL},
    {"log", module_log, NULL, "What the compiler said, with warnings.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef module_methods[] = {
    WRAPPER_METHODS(module),
    {"load", (PyCFunction)(void (*)(void))module_load,
     METH_VARARGS | METH_KEYWORDS | METH_CLASS,
     "load(context, binary): a module of a binary that was compiled before."},
    {"function", module_function, METH_VARARGS,
     "function(name): the kernel of that name."},
    {"functions", module_functions, METH_NOARGS, "All kernels, a list."},
    {"variable", module_global, METH_VARARGS,
     "variable(name, dtype='uint8'): a __device__ or __constant__ variable as "
     "a Buffer."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot module_slots[] = {
    {Py_tp_new, module_new},
    {Py_tp_dealloc, module_dealloc},
    {Py_tp_methods, module_methods},
    {Py_tp_getset, module_fields},
    {Py_tp_doc, "Module(context, source, *, options=(), headers=None, "
                "name_expressions=(), name=None, label=None, untrusted=False, "
                "timeout=None)\n\nKernels compiled from source and loaded."},
    {0, NULL}};

static PyType_Spec module_spec = {"runnel._core.Module", sizeof(struct wrapper),
                                  0, Py_TPFLAGS_DEFAULT, module_slots};

// --- Functions ---------------------------------------------------------------

WRAPPER_FUNCTIONS(function)

static PyObject *make_function(rnl_function handle, PyObject *context)
{
    rnl_function_info info = {.struct_size = sizeof info};
    rnl_status status = rnl_function_get_info(handle, &info);
    if (status != RNL_OK) {
        raise_error(status);
        rnl_function_release(handle);
        return NULL;
    }
    PyObject *self = wrap(function_type, handle, context, function_drop);
    if (self) {
        struct function_wrapper *function = (struct function_wrapper *)self;
        // The wrapper's own reference, below, keeps the parameters.
        function->parameters = info.parameters;
        function->parameter_count = info.parameter_count;
        rnl_function_retain(handle);
        function->kept = handle;
    }
    return self;
}

static void function_end(PyObject *self)
{
    rnl_function kept = ((struct function_wrapper *)self)->kept;
    if (kept)
        rnl_function_release(kept);
    function_dealloc(self);
}

PyObject *compile_function(PyObject *module, PyObject *args, PyObject *kwargs)
{
    struct compile compile;
    PyObject *context, *result = NULL;
    const char *source, *name;
    rnl_function function;
    rnl_status status;
    (void)module;
    if (compile_read(&compile, args, kwargs, &context, &source, &name)) {
        CALL_UNLOCKED(status,
                      rnl_function_compile(handle_of(context), source, name,
                                           &compile.options, &function));
        result = status == RNL_OK ? make_function(function, context)
                                  : raise_error(status);
    }
    compile_finish(&compile);
    return result;
}

// function(grid, block, *arguments, stream=None, ...).
static PyObject *function_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *context = context_of(self), *stream = NULL;
    rnl_stream handle = NULL;
    if (kwargs && (stream = PyDict_GetItemWithError(kwargs, stream_name)) &&
        stream != Py_None && !to_stream(stream, &handle))
        return NULL;
    // A released stream has no handle either, and is refused by the launch.
    if (!stream || stream == Py_None) {
        rnl_status status =
            rnl_context_default_stream(handle_of(context), &handle);
        if (status != RNL_OK)
            return raise_error(status);
    }
    return launch_of_tuple(submit_to_stream, handle, self, args, kwargs,
                           "stream");
}

static bool function_info(PyObject *self, rnl_function_info *info)
{
    *info = (rnl_function_info){.struct_size = sizeof *info};
    rnl_status status = rnl_function_get_info(handle_of(self), info);
    if (status != RNL_OK)
        raise_error(status);
    return status == RNL_OK;
}

static PyObject *function_parameters(const rnl_function_info *info)
{
    PyObject *list = PyTuple_New((Py_ssize_t)info->parameter_count);
    for (size_t i = 0; list && i < info->parameter_count; i++) {
        const rnl_parameter *parameter = &info->parameters[i];
        PyObject *item = Py_BuildValue(
            "(iIsi)", (int)parameter->kind, parameter->size,
            parameter->type ? parameter->type : "", (int)parameter->element);
        if (!item || PyTuple_SetItem(list, (Py_ssize_t)i, item) < 0)
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *function_get_info(PyObject *self, PyObject *ignored)
{
    rnl_function_info info;
    (void)ignored;
    if (!function_info(self, &info))
        return NULL;
    PyObject *parameters = function_parameters(&info);
    if (!parameters)
        return NULL;
    return Py_BuildValue(
        "{ss ss sN sI sI sn sn sn sO sz sz}", "name", info.name, "symbol",
        info.symbol, "parameters", parameters, "max_block_threads",
        info.max_block_threads, "registers", info.registers, "shared_size",
        (Py_ssize_t)info.shared_size, "local_size", (Py_ssize_t)info.local_size,
        "constant_size", (Py_ssize_t)info.constant_size, "uses_barriers",
        info.uses_barriers ? Py_True : Py_False, "tier", info.tier,
        "tier_reason", info.tier_reason);
}

static PyObject *function_name(PyObject *self, void *closure)
{
    rnl_function_info info;
    (void)closure;
    return function_info(self, &info) ? PyUnicode_FromString(info.name) : NULL;
}

static PyObject *function_suggest(PyObject *self, PyObject *args)
{
    size_t shared = 0;
    uint32_t most = 0, threads;
    if (!PyArg_ParseTuple(args, "|O&O&:suggest_block", to_count, &shared,
                          to_uint32, &most))
        return NULL;
    rnl_status status =
        rnl_function_suggest_block(handle_of(self), shared, most, &threads);
    return status == RNL_OK ? PyLong_FromUnsignedLong(threads)
                            : raise_error(status);
}

static PyObject *function_occupancy(PyObject *self, PyObject *args)
{
    uint32_t threads;
    size_t shared = 0;
    rnl_occupancy occupancy = {.struct_size = sizeof occupancy};
    if (!PyArg_ParseTuple(args, "O&|O&:occupancy", to_uint32, &threads,
                          to_count, &shared))
        return NULL;
    rnl_status status = rnl_function_get_occupancy(handle_of(self), threads,
                                                   shared, &occupancy);
    return status == RNL_OK ? PyLong_FromUnsignedLong(occupancy.blocks)
                            : raise_error(status);
}

static PyObject *function_get_attribute(PyObject *self, PyObject *args)
{
    int id;
    int64_t value;
    if (!PyArg_ParseTuple(args, "i:get_attribute", &id))
        return NULL;
    rnl_status status = rnl_function_get_attribute(
        handle_of(self), (rnl_function_attribute_id)id, &value);
    return status == RNL_OK ? PyLong_FromLongLong(value) : raise_error(status);
}

static PyObject *function_set_attribute(PyObject *self, PyObject *args)
{
    int id;
    long long value;
    if (!PyArg_ParseTuple(args, "iL:set_attribute", &id, &value))
        return NULL;
    return none_or_error(rnl_function_set_attribute(
        handle_of(self), (rnl_function_attribute_id)id, value));
}

static PyObject *function_native(PyObject *self, void *closure)
{
    void *native;
    (void)closure;
    rnl_status status = rnl_function_native(handle_of(self), &native);
    return status == RNL_OK ? PyLong_FromVoidPtr(native) : raise_error(status);
}

static PyGetSetDef function_fields[] = {
    {"context", module_context, NULL, NULL, NULL},
    {"name", function_name, NULL, "As it was asked for.", NULL},
    {"native", function_native, NULL, "The vendor's function, an int.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef function_methods[] = {
    WRAPPER_METHODS(function),
    {"info", function_get_info, METH_NOARGS,
     "Parameters, registers, sizes and, on a cpu, the tier: a dict."},
    {"suggest_block", function_suggest, METH_VARARGS,
     "suggest_block(shared_size=0, most_threads=0): threads per block."},
    {"occupancy", function_occupancy, METH_VARARGS,
     "occupancy(block_threads, shared_size=0): blocks that a multiprocessor "
     "has at once."},
    {"get_attribute", function_get_attribute, METH_VARARGS, NULL},
    {"set_attribute", function_set_attribute, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot function_slots[] = {
    {Py_tp_dealloc, function_end},
    {Py_tp_call, function_call},
    {Py_tp_methods, function_methods},
    {Py_tp_getset, function_fields},
    {Py_tp_doc, "A kernel. function(grid, block, *arguments, stream=None, "
                "shared_size=0, cluster=None, cooperative=False, priority=0, "
                "label=None) launches it."},
    {0, NULL}};

static PyType_Spec function_spec = {
    "runnel._core.Function", sizeof(struct function_wrapper), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, function_slots};

bool function_register(PyObject *module)
{
    return add_type(module, &module_spec, &module_type) &&
           add_type(module, &function_spec, &function_type);
}
