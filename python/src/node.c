// Nodes of graphs, and how each kind is added.
#include "binding.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *node_type;

struct node_object {
    PyObject_HEAD PyObject *graph;
    rnl_node node;
};

PyObject *node_make(PyObject *graph, rnl_node node)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(node_type, Py_tp_alloc);
    struct node_object *self = (struct node_object *)allocate(node_type, 0);
    if (self) {
        Py_INCREF(graph);
        self->graph = graph;
        self->node = node;
    }
    return (PyObject *)self;
}

static void node_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((struct node_object *)self)->graph);
    freefunc free_memory = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_memory(self);
    Py_DECREF(type);
}

int to_node(PyObject *object, void *out)
{
    if (!is_a(object, node_type)) {
        PyErr_Format(PyExc_TypeError, "expected a runnel.Node, not %R",
                     (PyObject *)Py_TYPE(object));
        return 0;
    }
    *(rnl_node *)out = ((struct node_object *)object)->node;
    return 1;
}

// NULL and None are no nodes, and a Node is itself alone.
bool nodes_read(PyObject *given, rnl_node **out_nodes, size_t *out_count)
{
    *out_nodes = NULL;
    *out_count = 0;
    if (!given || given == Py_None)
        return true;
    PyObject *list = is_a(given, node_type) ? PyTuple_Pack(1, given)
                                            : PySequence_Tuple(given);
    Py_ssize_t count = list ? PyTuple_Size(list) : 0;
    rnl_node *nodes = list ? calloc((size_t)count + 1, sizeof *nodes) : NULL;
    if (list && !nodes)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; nodes && i < count; i++)
        if (!to_node(PyTuple_GetItem(list, i), &nodes[i]))
            break;
    Py_XDECREF(list);
    if (PyErr_Occurred()) {
        free(nodes);
        return false;
    }
    *out_nodes = nodes;
    *out_count = (size_t)count;
    return true;
}

// --- Adding ------------------------------------------------------------------

static bool add_node(PyObject *graph, PyObject *after,
                     const rnl_node_params *params, rnl_node *out)
{
    rnl_node *nodes;
    size_t count;
    rnl_status status;
    if (!nodes_read(after, &nodes, &count))
        return false;
    CALL_UNLOCKED(status, rnl_graph_add_node(handle_of(graph), nodes, count,
                                             params, out));
    free(nodes);
    if (status != RNL_OK)
        raise_error(status);
    return status == RNL_OK;
}

static PyObject *add(PyObject *graph, PyObject *after,
                     const rnl_node_params *params)
{
    rnl_node node;
    return add_node(graph, after, params, &node) ? node_make(graph, node)
                                                 : NULL;
}

// A node with data of Python's, which ends with the last that has the node.
static PyObject *add_with(PyObject *graph, PyObject *after,
                          rnl_node_params *params, struct keeper *keeper)
{
    rnl_node node;
    params->user_data = keeper;
    params->destroy = keeper_retire;
    if (add_node(graph, after, params, &node))
        return node_make(graph, node);
    keeper_free(keeper);
    return NULL;
}

struct function_node {
    PyObject *graph, *after;
    rnl_graph_exec exec;  // of a change, with …
    rnl_node node;        // … the node
    PyObject *result;
};

static rnl_status submit_node(void *where, rnl_function function,
                              const rnl_launch *launch, const rnl_args *args)
{
    struct function_node *target = where;
    const rnl_node_params params = {.struct_size = sizeof params,
                                    .kind = RNL_NODE_FUNCTION,
                                    .label = launch->label,
                                    .function = function,
                                    .launch = launch,
                                    .args = args};
    // A released executable graph has no handle, and is refused by the call.
    if (!target->graph)
        return rnl_graph_exec_set_node(target->exec, target->node, &params);
    target->result = add(target->graph, target->after, &params);
    return RNL_OK;
}

// The tuple without its first `count` items.
static PyObject *behind(PyObject *args, Py_ssize_t count)
{
    if (PyTuple_Size(args) >= count)
        return PyTuple_GetSlice(args, count, PyTuple_Size(args));
    PyErr_Format(PyExc_TypeError,
                 "the call needs %zd arguments at least, not %zd", count,
                 PyTuple_Size(args));
    return NULL;
}

PyObject *graph_add_function(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct function_node target = {.graph = self};
    PyObject *function, *rest = behind(args, 1);
    if (!rest)
        return NULL;
    target.after = kwargs ? PyDict_GetItemString(kwargs, "after") : NULL;
    PyObject *result = to_function(PyTuple_GetItem(args, 0), &function)
                           ? launch_of_tuple(submit_node, &target, function,
                                             rest, kwargs, "after")
                           : NULL;
    Py_DECREF(rest);
    if (!result) {
        Py_XDECREF(target.result);
        return NULL;
    }
    Py_DECREF(result);
    return target.result;
}

PyObject *exec_set_function(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct function_node target = {.exec = handle_of(self)};
    PyObject *function, *rest = behind(args, 2);
    if (!rest)
        return NULL;
    PyObject *result =
        to_node(PyTuple_GetItem(args, 0), &target.node) &&
                to_function(PyTuple_GetItem(args, 1), &function)
            ? launch_of_tuple(submit_node, &target, function, rest, kwargs, "")
            : NULL;
    Py_DECREF(rest);
    return result;
}

// A Buffer, or memory of the host, which `keeper` then keeps.
static bool read_place(PyObject *object, bool written, size_t offset,
                       rnl_place *out, size_t *out_size, struct keeper *keeper)
{
    *out = (rnl_place){.offset = offset};
    if (is_a(object, buffer_type)) {
        const struct buffer_wrapper *buffer = (struct buffer_wrapper *)object;
        out->buffer = handle_of(object);
        *out_size = buffer->size > offset ? buffer->size - offset : 0;
        return is_alive(object) && (!written || writable(buffer, "the copy"));
    }
    if (keeper->view_count) {
        PyErr_SetString(PyExc_TypeError,
                        "at least one end of a copy in a graph is a Buffer");
        return false;
    }
    if (PyObject_GetBuffer(object, keeper->views,
                           written ? PyBUF_CONTIG : PyBUF_CONTIG_RO) != 0)
        return false;
    keeper->view_count = 1;
    size_t size = (size_t)keeper->views->len;
    out->pointer = keeper->views->buf;
    *out_size = size > offset ? size - offset : 0;
    return true;
}

static bool read_copy(PyObject *to, PyObject *source, size_t size,
                      size_t offsets[2], rnl_copy *out, struct keeper *keeper)
{
    size_t sizes[2];
    *out = (rnl_copy){.struct_size = sizeof *out};
    if (!read_place(to, true, offsets[0], &out->to, &sizes[0], keeper) ||
        !read_place(source, false, offsets[1], &out->from, &sizes[1], keeper))
        return false;
    size_t least = sizes[0] < sizes[1] ? sizes[0] : sizes[1];
    out->width = size == RNL_WHOLE ? sizes[0] : size;
    if (size == RNL_WHOLE ? sizes[0] == sizes[1] : size <= least)
        return true;
    PyErr_Format(PyExc_ValueError,
                 "a copy of %zu bytes does not fit: %zu bytes go to %zu",
                 out->width, sizes[1], sizes[0]);
    return false;
}

PyObject *graph_add_copy(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {
        "to",    "source", "size", "to_offset", "source_offset",
        "after", "label",  NULL};
    rnl_node_params params = {.struct_size = sizeof params,
                              .kind = RNL_NODE_COPY};
    PyObject *to, *source, *after = NULL;
    size_t size = RNL_WHOLE, offsets[2] = {0};
    rnl_copy copy;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|O&$O&O&Oz:add_copy",
                                     names, &to, &source, to_size, &size,
                                     to_count, &offsets[0], to_count,
                                     &offsets[1], &after, &params.label))
        return NULL;
    struct keeper *keeper = keeper_create();
    if (!keeper)
        return NULL;
    if (!read_copy(to, source, size, offsets, &copy, keeper)) {
        keeper_free(keeper);
        return NULL;
    }
    params.copy = &copy;
    return add_with(self, after, &params, keeper);
}

PyObject *graph_add_fill(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"buffer", "value", "size", "offset",
                            "after",  "label", NULL};
    rnl_node_params params = {.struct_size = sizeof params,
                              .kind = RNL_NODE_FILL};
    rnl_fill fill = {.struct_size = sizeof fill};
    struct buffer_wrapper *buffer;
    PyObject *value, *after = NULL;
    size_t size = RNL_WHOLE;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O|O&$O&Oz:add_fill",
                                     names, to_buffer, &buffer, &value, to_size,
                                     &size, to_count, &fill.to.offset, &after,
                                     &params.label) ||
        !writable(buffer, "the fill") ||
        !pattern_of(&buffer->layout, value, &fill.pattern))
        return NULL;
    fill.to.buffer = handle_of((PyObject *)buffer);
    fill.width = size;
    fill.pattern_size = buffer->layout.item_size;
    params.fill = &fill;
    return add(self, after, &params);
}

PyObject *graph_add_host_function(PyObject *self, PyObject *args,
                                  PyObject *kwargs)
{
    static char *names[] = {"function", "args",  "always",
                            "after",    "label", NULL};
    rnl_node_params params = {.struct_size = sizeof params,
                              .kind = RNL_NODE_HOST_FUNCTION};
    PyObject *function, *given = NULL, *after = NULL;
    int always = 0;
    struct keeper *keeper;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O$pOz:add_host_function",
                                     names, &function, &given, &always, &after,
                                     &params.label))
        return NULL;
    PyObject *arguments = given ? PySequence_Tuple(given) : PyTuple_New(0);
    bool good = arguments && host_function_read(function, arguments, always,
                                                &params.host, &keeper);
    Py_XDECREF(arguments);
    return good ? add_with(self, after, &params, keeper) : NULL;
}

PyObject *graph_add_empty(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"after", "label", NULL};
    rnl_node_params params = {.struct_size = sizeof params,
                              .kind = RNL_NODE_EMPTY};
    PyObject *after = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$Oz:add_empty", names,
                                     &after, &params.label))
        return NULL;
    return add(self, after, &params);
}

static PyObject *add_event(PyObject *self, PyObject *args, PyObject *kwargs,
                           rnl_node_kind kind)
{
    static char *names[] = {"event", "after", "label", NULL};
    rnl_node_params params = {.struct_size = sizeof params, .kind = kind};
    PyObject *after = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$Oz:add_event", names,
                                     to_event, &params.event, &after,
                                     &params.label))
        return NULL;
    return add(self, after, &params);
}

PyObject *graph_add_event_record(PyObject *self, PyObject *args,
                                 PyObject *kwargs)
{
    return add_event(self, args, kwargs, RNL_NODE_EVENT_RECORD);
}

PyObject *graph_add_event_wait(PyObject *self, PyObject *args, PyObject *kwargs)
{
    return add_event(self, args, kwargs, RNL_NODE_EVENT_WAIT);
}

static PyObject *add_value(PyObject *self, PyObject *after, const char *label,
                           const rnl_value_op *op)
{
    const rnl_node_params params = {.struct_size = sizeof params,
                                    .kind = RNL_NODE_VALUES,
                                    .label = label,
                                    .values = op,
                                    .value_count = 1};
    return fits_word(op->value, op->width) ? add(self, after, &params) : NULL;
}

static PyObject *add_write(PyObject *self, PyObject *args, PyObject *kwargs,
                           uint32_t bits)
{
    static char *names[] = {"buffer", "offset", "value",
                            "after",  "label",  NULL};
    rnl_value_op op = {
        .struct_size = sizeof op, .action = RNL_WRITE_VALUE, .width = bits};
    struct buffer_wrapper *buffer;
    PyObject *after = NULL;
    const char *label = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O&O&|$Oz:add_write_value",
                                     names, to_buffer, &buffer, to_count,
                                     &op.offset, to_uint64, &op.value, &after,
                                     &label) ||
        !writable(buffer, "the value"))
        return NULL;
    op.buffer = handle_of((PyObject *)buffer);
    return add_value(self, after, label, &op);
}

static PyObject *add_wait(PyObject *self, PyObject *args, PyObject *kwargs,
                          uint32_t bits)
{
    static char *names[] = {"buffer", "offset", "value", "condition",
                            "after",  "label",  NULL};
    rnl_value_op op = {.struct_size = sizeof op, .width = bits};
    struct buffer_wrapper *buffer;
    PyObject *after = NULL;
    const char *label = NULL;
    int condition = RNL_WAIT_GEQ;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&O&O&|i$Oz:add_wait_value",
                                     names, to_buffer, &buffer, to_count,
                                     &op.offset, to_uint64, &op.value,
                                     &condition, &after, &label))
        return NULL;
    if (condition == RNL_WRITE_VALUE) {
        PyErr_Format(PyExc_ValueError, "%d is not a WaitCondition", condition);
        return NULL;
    }
    op.action = (rnl_value_action)condition;
    op.buffer = handle_of((PyObject *)buffer);
    return add_value(self, after, label, &op);
}

#define ADD_VALUE(name, add_it, bits)                                \
    PyObject *name(PyObject *self, PyObject *args, PyObject *kwargs) \
    {                                                                \
        return add_it(self, args, kwargs, bits);                     \
    }

ADD_VALUE(graph_add_write_value32, add_write, 32)
ADD_VALUE(graph_add_write_value64, add_write, 64)
ADD_VALUE(graph_add_wait_value32, add_wait, 32)
ADD_VALUE(graph_add_wait_value64, add_wait, 64)

PyObject *graph_add_child(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"graph", "after", "label", NULL};
    rnl_node_params params = {.struct_size = sizeof params,
                              .kind = RNL_NODE_CHILD};
    PyObject *graph, *after = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$Oz:add_child", names,
                                     to_graph, &graph, &after, &params.label))
        return NULL;
    params.child = handle_of(graph);
    return add(self, after, &params);
}

#define MOST_BODIES 64

PyObject *graph_add_condition(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"kind",  "buffer", "offset", "body_count",
                            "after", "label",  NULL};
    rnl_node_params params = {.struct_size = sizeof params};
    struct buffer_wrapper *buffer;
    PyObject *after = NULL;
    rnl_graph bodies[MOST_BODIES];
    int kind;
    Py_ssize_t count = 1;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "iO&|O&$nOz:add_condition", names, &kind, to_buffer,
            &buffer, to_count, &params.offset, &count, &after, &params.label))
        return NULL;
    if (kind != RNL_NODE_IF && kind != RNL_NODE_WHILE &&
        kind != RNL_NODE_SWITCH) {
        PyErr_Format(PyExc_ValueError,
                     "a condition is a NodeKind.IF, WHILE or SWITCH, not %d",
                     kind);
        return NULL;
    }
    if (count < 1 || count > MOST_BODIES) {
        PyErr_Format(PyExc_ValueError, "1 to %d bodies are possible, not %zd",
                     MOST_BODIES, count);
        return NULL;
    }
    params.kind = (rnl_node_kind)kind;
    params.buffer = handle_of((PyObject *)buffer);
    params.out_body = bodies;
    params.body_count = (size_t)count;
    return add(self, after, &params);
}

// --- Looking at a node -------------------------------------------------------

static bool node_info(PyObject *object, rnl_node_info *info)
{
    struct node_object *self = (struct node_object *)object;
    *info = (rnl_node_info){.struct_size = sizeof *info};
    rnl_status status =
        rnl_graph_get_node_info(handle_of(self->graph), self->node, info);
    if (status != RNL_OK)
        raise_error(status);
    return status == RNL_OK;
}

static PyObject *get_info(PyObject *self, void *closure)
{
    rnl_node_info info;
    if (!node_info(self, &info))
        return NULL;
    switch (*(const char *)closure) {
    case 'k':
        return PyLong_FromLong((long)info.kind);
    case 'p':
        return PyLong_FromLong(info.priority);
    case 'w':
        return PyUnicode_FromString(info.what);
    default:
        return PyUnicode_FromString(info.label);
    }
}

// A body belongs to its node, and the node to its graph, which is kept.
static PyObject *get_bodies(PyObject *object, void *closure)
{
    struct node_object *self = (struct node_object *)object;
    rnl_node_info info;
    (void)closure;
    if (!node_info(object, &info))
        return NULL;
    PyObject *bodies = PyTuple_New((Py_ssize_t)info.body_count);
    for (size_t i = 0; bodies && i < info.body_count; i++) {
        PyObject *body = wrap_borrowed(graph_type, info.bodies[i], self->graph);
        if (!body || PyTuple_SetItem(bodies, (Py_ssize_t)i, body) < 0)
            Py_CLEAR(bodies);
    }
    return bodies;
}

static PyObject *get_graph(PyObject *self, void *closure)
{
    (void)closure;
    PyObject *graph = ((struct node_object *)self)->graph;
    Py_INCREF(graph);
    return graph;
}

static PyObject *node_compare(PyObject *left, PyObject *right, int operation)
{
    if (!is_a(left, node_type) || !is_a(right, node_type) ||
        (operation != Py_EQ && operation != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    bool same = ((struct node_object *)left)->node ==
                ((struct node_object *)right)->node;
    return PyBool_FromLong(same == (operation == Py_EQ));
}

static Py_hash_t node_hash(PyObject *self)
{
    return hash_of_handle(((struct node_object *)self)->node);
}

static PyObject *node_repr(PyObject *self)
{
    rnl_node_info info;
    if (!node_info(self, &info)) {
        PyErr_Clear();
        return PyUnicode_FromString("<runnel.Node, removed>");
    }
    return PyUnicode_FromFormat("<runnel.Node %s%s%s>", info.what,
                                *info.label ? " " : "", info.label);
}

static PyGetSetDef node_fields[] = {
    {"graph", get_graph, NULL, NULL, NULL},
    {"kind", get_info, NULL, "As a NodeKind.", "k"},
    {"priority", get_info, NULL, NULL, "p"},
    {"what", get_info, NULL, "The function's name, 'copy', 'fill', ...", "w"},
    {"label", get_info, NULL, NULL, "l"},
    {"bodies", get_bodies, NULL, "Graphs of an IF, WHILE or SWITCH.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot node_slots[] = {{Py_tp_dealloc, node_dealloc},
                                   {Py_tp_repr, node_repr},
                                   {Py_tp_richcompare, node_compare},
                                   {Py_tp_hash, node_hash},
                                   {Py_tp_getset, node_fields},
                                   {Py_tp_doc, "A node of a Graph."},
                                   {0, NULL}};

static PyType_Spec node_spec = {
    "runnel._core.Node", sizeof(struct node_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

bool node_register(PyObject *module)
{
    return add_type(module, &node_spec, &node_type);
}
