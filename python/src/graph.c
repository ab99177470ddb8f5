// Graphs and executable graphs.
#include "binding.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *graph_type, *exec_type;

WRAPPER_FUNCTIONS(graph)
WRAPPER_FUNCTIONS(graph_exec)

PyObject *graph_make(rnl_graph handle, PyObject *context)
{
    return wrap(graph_type, handle, context, graph_drop);
}

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"context", "label", NULL};
    rnl_graph_options options = {.struct_size = sizeof options};
    PyObject *context;
    rnl_graph graph;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$z:Graph", names,
                                     to_context, &context, &options.label))
        return NULL;
    rnl_status status = rnl_graph_create(handle_of(context), &options, &graph);
    return status == RNL_OK ? wrap(type, graph, context, graph_drop)
                            : raise_error(status);
}

// --- Looking at a graph ------------------------------------------------------

static PyObject *get_info(PyObject *self, void *closure)
{
    rnl_graph_info info = {.struct_size = sizeof info};
    rnl_status status = rnl_graph_get_info(handle_of(self), &info);
    if (status != RNL_OK)
        return raise_error(status);
    switch (*(const char *)closure) {
    case 'n':
        return PyLong_FromSize_t(info.node_count);
    case 'e':
        return PyLong_FromSize_t(info.edge_count);
    case 'i':
        return PyLong_FromUnsignedLongLong(info.id);
    default:
        return text_of(info.label);
    }
}

static PyObject *graph_nodes(PyObject *self, PyObject *ignored)
{
    size_t count = 0;
    (void)ignored;
    rnl_status status = rnl_graph_get_nodes(handle_of(self), NULL, 0, &count);
    if (status != RNL_OK)
        return raise_error(status);
    rnl_node *nodes = calloc(count + 1, sizeof *nodes);
    PyObject *list = nodes ? PyList_New(0) : PyErr_NoMemory();
    size_t all = 0;
    if (list &&
        (status = rnl_graph_get_nodes(handle_of(self), nodes, count, &all)))
        raise_error(status);
    for (size_t i = 0; !PyErr_Occurred() && i < count && i < all; i++) {
        PyObject *node = node_make(self, nodes[i]);
        if (node)
            PyList_Append(list, node);
        Py_XDECREF(node);
    }
    free(nodes);
    if (PyErr_Occurred())
        Py_CLEAR(list);
    return list;
}

static PyObject *graph_edges(PyObject *self, PyObject *ignored)
{
    size_t count = 0;
    (void)ignored;
    rnl_status status = rnl_graph_get_edges(handle_of(self), NULL, 0, &count);
    if (status != RNL_OK)
        return raise_error(status);
    rnl_edge *edges = calloc(count + 1, sizeof *edges);
    PyObject *list = edges ? PyList_New(0) : PyErr_NoMemory();
    size_t all = 0;
    if (list &&
        (status = rnl_graph_get_edges(handle_of(self), edges, count, &all)))
        raise_error(status);
    for (size_t i = 0; !PyErr_Occurred() && i < count && i < all; i++) {
        PyObject *from = node_make(self, edges[i].from);
        PyObject *to = node_make(self, edges[i].to);
        PyObject *pair = from && to ? PyTuple_Pack(2, from, to) : NULL;
        if (pair)
            PyList_Append(list, pair);
        Py_XDECREF(from);
        Py_XDECREF(to);
        Py_XDECREF(pair);
    }
    free(edges);
    if (PyErr_Occurred())
        Py_CLEAR(list);
    return list;
}

struct text {
    char *bytes;
    size_t size, room;
};

static bool append(const char *part, size_t size, void *data)
{
    struct text *text = data;
    if (text->size + size > text->room) {
        size_t room = 2 * (text->size + size) + 256;
        char *bytes = realloc(text->bytes, room);
        if (!bytes)
            return false;
        text->bytes = bytes;
        text->room = room;
    }
    memcpy(text->bytes + text->size, part, size);
    text->size += size;
    return true;
}

static PyObject *graph_dot(PyObject *self, PyObject *ignored)
{
    struct text text = {0};
    rnl_status status;
    (void)ignored;
    CALL_UNLOCKED(status, rnl_graph_write_dot(handle_of(self), append, &text));
    PyObject *result =
        status == RNL_OK
            ? PyUnicode_DecodeUTF8(text.bytes ? text.bytes : "",
                                   (Py_ssize_t)text.size, "replace")
            : raise_error(status);
    free(text.bytes);
    return result;
}

static PyObject *graph_clone(PyObject *self, PyObject *ignored)
{
    rnl_graph clone;
    rnl_status status;
    (void)ignored;
    CALL_UNLOCKED(status, rnl_graph_clone(handle_of(self), &clone));
    return status == RNL_OK ? graph_make(clone, context_of(self))
                            : raise_error(status);
}

static PyObject *graph_find_node(PyObject *self, PyObject *args)
{
    rnl_node node, found;
    if (!PyArg_ParseTuple(args, "O&:find_node", to_node, &node))
        return NULL;
    rnl_status status = rnl_graph_find_node(handle_of(self), node, &found);
    return status == RNL_OK ? node_make(self, found) : raise_error(status);
}

// --- Changing a graph --------------------------------------------------------

static PyObject *edge_call(PyObject *self, PyObject *args,
                           rnl_status (*call)(rnl_graph, rnl_node, rnl_node))
{
    rnl_node from, to;
    if (!PyArg_ParseTuple(args, "O&O&", to_node, &from, to_node, &to))
        return NULL;
    return none_or_error(call(handle_of(self), from, to));
}

static PyObject *graph_add_edge(PyObject *self, PyObject *args)
{
    return edge_call(self, args, rnl_graph_add_edge);
}

static PyObject *graph_remove_edge(PyObject *self, PyObject *args)
{
    return edge_call(self, args, rnl_graph_remove_edge);
}

static PyObject *graph_remove_node(PyObject *self, PyObject *args)
{
    rnl_node node;
    if (!PyArg_ParseTuple(args, "O&:remove_node", to_node, &node))
        return NULL;
    return none_or_error(rnl_graph_remove_node(handle_of(self), node));
}

static PyObject *graph_instantiate(PyObject *self, PyObject *ignored)
{
    rnl_graph_exec exec;
    rnl_status status;
    (void)ignored;
    CALL_UNLOCKED(status, rnl_graph_instantiate(handle_of(self), &exec));
    return status == RNL_OK
               ? wrap(exec_type, exec, context_of(self), graph_exec_drop)
               : raise_error(status);
}

static PyObject *graph_repr(PyObject *self)
{
    rnl_graph_info info = {.struct_size = sizeof info};
    if (rnl_graph_get_info(handle_of(self), &info) != RNL_OK)
        return PyUnicode_FromString("<runnel.Graph, released>");
    return PyUnicode_FromFormat("<runnel.Graph%s%s: %zu nodes, %zu edges>",
                                *info.label ? " " : "", info.label,
                                info.node_count, info.edge_count);
}

static PyGetSetDef graph_fields[] = {
    {"context", wrapper_context, NULL, NULL, NULL},
    {"id", get_info, NULL, "Unique in this process.", "i"},
    {"label", get_info, NULL, NULL, "l"},
    {"node_count", get_info, NULL, NULL, "n"},
    {"edge_count", get_info, NULL, NULL, "e"},
    {NULL, NULL, NULL, NULL, NULL}};

#define WITH_NAMES(function) \
    (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyMethodDef graph_methods[] = {
    WRAPPER_METHODS(graph),
    {"nodes", graph_nodes, METH_NOARGS, "The nodes, oldest first, a list."},
    {"edges", graph_edges, METH_NOARGS, "Pairs of nodes, a list."},
    {"dot", graph_dot, METH_NOARGS, "The graph as text for Graphviz."},
    {"clone", graph_clone, METH_NOARGS, "A copy."},
    {"find_node", graph_find_node, METH_VARARGS,
     "find_node(node): of this clone, the copy of a node."},
    {"add_edge", graph_add_edge, METH_VARARGS, "add_edge(before, after)"},
    {"remove_edge", graph_remove_edge, METH_VARARGS, NULL},
    {"remove_node", graph_remove_node, METH_VARARGS, NULL},
    {"instantiate", graph_instantiate, METH_NOARGS,
     "A GraphExec of the present state."},
    {"add_function", WITH_NAMES(graph_add_function),
     "add_function(function, grid, block, *arguments, after=(), ...)"},
    {"add_copy", WITH_NAMES(graph_add_copy),
     "add_copy(to, source, size=None, *, to_offset=0, source_offset=0, "
     "after=(), label=None)"},
    {"add_fill", WITH_NAMES(graph_add_fill),
     "add_fill(buffer, value, size=None, *, offset=0, after=(), label=None)"},
    {"add_host_function", WITH_NAMES(graph_add_host_function),
     "add_host_function(function, args=(), *, always=False, after=(), "
     "label=None)"},
    {"add_empty", WITH_NAMES(graph_add_empty),
     "add_empty(*, after=(), label=None)"},
    {"add_event_record", WITH_NAMES(graph_add_event_record),
     "add_event_record(event, *, after=(), label=None)"},
    {"add_event_wait", WITH_NAMES(graph_add_event_wait),
     "add_event_wait(event, *, after=(), label=None)"},
    {"add_write_value32", WITH_NAMES(graph_add_write_value32),
     "add_write_value32(buffer, offset, value, *, after=(), label=None)"},
    {"add_write_value64", WITH_NAMES(graph_add_write_value64),
     "add_write_value64(buffer, offset, value, *, after=(), label=None)"},
    {"add_wait_value32", WITH_NAMES(graph_add_wait_value32),
     "add_wait_value32(buffer, offset, value, condition=WaitCondition.GEQ, *, "
     "after=(), label=None)"},
    {"add_wait_value64", WITH_NAMES(graph_add_wait_value64),
     "add_wait_value64(buffer, offset, value, condition=WaitCondition.GEQ, *, "
     "after=(), label=None)"},
    {"add_child", WITH_NAMES(graph_add_child),
     "add_child(graph, *, after=(), label=None)"},
    {"add_condition", WITH_NAMES(graph_add_condition),
     "add_condition(kind, buffer, offset=0, *, body_count=1, after=(), "
     "label=None): an IF, WHILE or SWITCH; its bodies are node.bodies"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot graph_slots[] = {
    {Py_tp_new, graph_new},
    {Py_tp_dealloc, graph_dealloc},
    {Py_tp_repr, graph_repr},
    {Py_tp_richcompare, wrapper_compare},
    {Py_tp_hash, wrapper_hash},
    {Py_tp_methods, graph_methods},
    {Py_tp_getset, graph_fields},
    {Py_tp_doc, "Graph(context, *, label=None)\n\nWork described once."},
    {0, NULL}};

static PyType_Spec graph_spec = {"runnel._core.Graph", sizeof(struct wrapper),
                                 0, Py_TPFLAGS_DEFAULT, graph_slots};

// --- Executable graphs -------------------------------------------------------

static PyObject *exec_update(PyObject *self, PyObject *args)
{
    rnl_update_result result = {.struct_size = sizeof result};
    PyObject *graph;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "O&:update", to_graph, &graph))
        return NULL;
    CALL_UNLOCKED(status, rnl_graph_exec_update(handle_of(self),
                                                handle_of(graph), &result));
    return none_or_error(status);
}

static PyObject *exec_set_enabled(PyObject *self, PyObject *args)
{
    rnl_node node;
    int enabled;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "O&p:set_enabled", to_node, &node, &enabled))
        return NULL;
    CALL_UNLOCKED(status,
                  rnl_graph_exec_set_enabled(handle_of(self), node, enabled));
    return none_or_error(status);
}

static PyObject *exec_is_enabled(PyObject *self, PyObject *args)
{
    rnl_node node;
    bool enabled;
    if (!PyArg_ParseTuple(args, "O&:is_enabled", to_node, &node))
        return NULL;
    rnl_status status =
        rnl_graph_exec_is_enabled(handle_of(self), node, &enabled);
    return status == RNL_OK ? PyBool_FromLong(enabled) : raise_error(status);
}

static PyMethodDef exec_methods[] = {
    WRAPPER_METHODS(graph_exec),
    {"update", exec_update, METH_VARARGS,
     "update(graph): give all nodes the parameters of a graph of that form."},
    {"set_function", WITH_NAMES(exec_set_function),
     "set_function(node, function, grid, block, *arguments, ...): give a "
     "launch other parameters."},
    {"set_enabled", exec_set_enabled, METH_VARARGS,
     "set_enabled(node, enabled)"},
    {"is_enabled", exec_is_enabled, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef exec_fields[] = {
    {"context", wrapper_context, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot exec_slots[] = {
    {Py_tp_dealloc, graph_exec_dealloc},
    {Py_tp_methods, exec_methods},
    {Py_tp_getset, exec_fields},
    {Py_tp_doc, "An executable graph, for Stream.enqueue_graph."},
    {0, NULL}};

static PyType_Spec exec_spec = {
    "runnel._core.GraphExec", sizeof(struct wrapper), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, exec_slots};

bool graph_register(PyObject *module)
{
    return add_type(module, &graph_spec, &graph_type) &&
           add_type(module, &exec_spec, &exec_type) && node_register(module);
}
