// Launches: shape, options, and the place in the caller's source.
#include "binding.h"

#include <string.h>

// --- The caller's place ------------------------------------------------------
//
// The library keeps the name of the file for good, so each name is a string that
// is never freed. To find the line, the interpreter decodes a table from the
// beginning of the function; places that were seen before are remembered by
// their instruction.

#define KNOWN_PLACES 1024
#define MOST_ATTRIBUTES 2  // cooperative and priority

struct place_seen {
    PyObject *code;  // a reference, or the address might be another code's
    long instruction;
    const char *file;
    int line;
};

static struct place_seen seen[KNOWN_PLACES];
static PyObject *files;  // name: name, to find the string that is kept
static PyObject *instruction_name;
PyObject *stream_name;

bool launch_register(void)
{
    files = PyDict_New();
    instruction_name = PyUnicode_InternFromString("f_lasti");
    stream_name = PyUnicode_InternFromString("stream");
    return files && instruction_name && stream_name;
}

// By setdefault, because another thread may keep the same name at that time.
static const char *keep_name(PyObject *name)
{
    PyObject *kept = PyObject_CallMethod(files, "setdefault", "OO", name, name);
    const char *text = kept ? PyUnicode_AsUTF8AndSize(kept, NULL) : NULL;
    Py_XDECREF(kept);  // the dict has it
    return text;
}

static const char *keep_file(PyObject *code)
{
    PyObject *name = PyObject_GetAttrString(code, "co_filename");
    const char *text = name ? keep_name(name) : NULL;
    Py_XDECREF(name);
    PyErr_Clear();
    return text;
}

static long instruction_of(PyFrameObject *frame)
{
    PyObject *number = PyObject_GetAttr((PyObject *)frame, instruction_name);
    long result = number ? PyLong_AsLong(number) : -1;
    Py_XDECREF(number);
    PyErr_Clear();
    return result;
}

static void find_place(PyFrameObject *frame, PyObject *code,
                       struct place_seen *out)
{
    PyObject *old = out->code;
    out->file = keep_file(code);
    out->line = PyFrame_GetLineNumber(frame);
    Py_INCREF(code);
    out->code = code;
    Py_XDECREF(old);
}

void site_of_caller(const char **out_file, int *out_line)
{
    PyFrameObject *frame = PyEval_GetFrame();
    *out_file = NULL;
    *out_line = 0;
    if (!frame)
        return;
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
#if defined(Py_GIL_DISABLED)
    *out_file = keep_file(code);
    *out_line = PyFrame_GetLineNumber(frame);
#else
    long instruction = instruction_of(frame);
    uintptr_t mixed = ((uintptr_t)code >> 5) ^ ((uintptr_t)instruction >> 1);
    struct place_seen *place = &seen[mixed % KNOWN_PLACES];
    if (place->code != code || place->instruction != instruction) {
        place->instruction = instruction;
        find_place(frame, code, place);
    }
    *out_file = place->file;
    *out_line = place->line;
#endif
    Py_DECREF(code);
}

// --- Options -----------------------------------------------------------------

static bool read_flag(PyObject *value, bool *out)
{
    int truth = PyObject_IsTrue(value);
    *out = truth > 0;
    return truth >= 0;
}

// The place that a wrapper of launches names for its own caller.
static bool read_site(PyObject *value, rnl_launch *out)
{
    PyObject *name;
    if (!PyTuple_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "a site is a tuple: (file, line)");
        return false;
    }
    if (!PyArg_ParseTuple(value, "Ui;a site is (file, line)", &name,
                          &out->line))
        return false;
    out->file = keep_name(name);
    return out->file;
}

static bool read_option(rnl_launch *out, rnl_launch_attribute *attributes,
                        const char *name, PyObject *value)
{
    if (strcmp(name, "shared_size") == 0)
        return to_uint64(value, &out->shared_size);
    if (strcmp(name, "cluster") == 0)
        return value == Py_None || to_dim3(value, &out->cluster);
    if (strcmp(name, "site") == 0)
        return read_site(value, out);
    if (strcmp(name, "label") == 0) {
        out->label =
            value == Py_None ? NULL : PyUnicode_AsUTF8AndSize(value, NULL);
        return value == Py_None || out->label;
    }
    // Two names that are equal are possible: of a subclass of str.
    if (out->attribute_count == MOST_ATTRIBUTES) {
        PyErr_Format(PyExc_TypeError, "the option '%s' is given twice", name);
        return false;
    }
    rnl_launch_attribute *attribute = &attributes[out->attribute_count];
    if (strcmp(name, "cooperative") == 0) {
        attribute->id = RNL_LAUNCH_COOPERATIVE;
        out->attribute_count++;
        return read_flag(value, &attribute->value.cooperative);
    }
    if (strcmp(name, "priority") == 0) {
        attribute->id = RNL_LAUNCH_PRIORITY;
        out->attribute_count++;
        return to_int(value, &attribute->value.priority);
    }
    PyErr_Format(PyExc_TypeError,
                 "a launch has no option '%s'; there are shared_size, cluster, "
                 "cooperative, priority, label and site",
                 name);
    return false;
}

bool launch_read(rnl_launch *out, rnl_launch_attribute *attributes,
                 PyObject *grid, PyObject *block, PyObject *const *values,
                 PyObject *names)
{
    *out = (rnl_launch){.struct_size = sizeof *out};
    if (!to_dim3(grid, &out->grid) || !to_dim3(block, &out->block))
        return false;
    Py_ssize_t count = names ? PyTuple_Size(names) : 0;
    if (count > 0)
        memset(attributes, 0, 2 * sizeof *attributes);
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *name =
            PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);
        if (!name || !read_option(out, attributes, name, values[i]))
            return false;
    }
    if (out->attribute_count > 0)
        out->attributes = attributes;
    return true;
}

// --- Launching ---------------------------------------------------------------

rnl_status submit_to_stream(void *stream, rnl_function function,
                            const rnl_launch *launch, const rnl_args *args)
{
    rnl_status status;
    CALL_UNLOCKED(status, rnl_enqueue_function(stream, function, launch, args));
    return status;
}

// `given` begins with grid and block; values of `names` are behind it.
static PyObject *prepare_and(submit_fn submit, void *where, PyObject *function,
                             PyObject *const *given, Py_ssize_t count,
                             PyObject *names)
{
    struct arguments arguments;
    rnl_launch_attribute attributes[MOST_ATTRIBUTES];
    rnl_launch shape;
    if (count < 2) {
        PyErr_SetString(PyExc_TypeError,
                        "a launch takes a grid and a block before the kernel's "
                        "arguments");
        return NULL;
    }
    if (!launch_read(&shape, attributes, given[0], given[1], given + count,
                     names) ||
        !arguments_read(&arguments, submit == submit_to_stream ? where : NULL,
                        function, given + 2, count - 2))
        return NULL;
    if (!shape.file)
        site_of_caller(&shape.file, &shape.line);
    rnl_status status =
        submit(where, handle_of(function), &shape, &arguments.args);
    if (status != RNL_OK)
        raise_error(status);  // before destructors of the arguments
    arguments_finish(&arguments);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

PyObject *launch(rnl_stream stream, PyObject *function, PyObject *const *given,
                 Py_ssize_t count, PyObject *names)
{
    return prepare_and(submit_to_stream, stream, function, given, count, names);
}

#define MOST_OPTIONS 8

// The same for a call whose arguments come as a tuple and a dict. The caller
// has read the option `own`.
PyObject *launch_of_tuple(submit_fn submit, void *where, PyObject *function,
                          PyObject *args, PyObject *kwargs, const char *own)
{
    PyObject *values[MOST_ARGUMENTS + 2 + MOST_OPTIONS];
    PyObject *key, *value, *names = NULL, *tuple = NULL;
    Py_ssize_t count = PyTuple_Size(args), named = 0, at = 0;
    bool good = count <= MOST_ARGUMENTS + 2;
    if (!good)
        PyErr_Format(PyExc_TypeError,
                     "a call takes at most %d arguments; enqueue_function "
                     "takes more",
                     MOST_ARGUMENTS);
    for (Py_ssize_t i = 0; good && i < count; i++)
        values[i] = PyTuple_GetItem(args, i);
    while (good && kwargs && PyDict_Next(kwargs, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (name && strcmp(name, own) == 0)
            continue;
        if (named == MOST_OPTIONS)
            PyErr_SetString(PyExc_TypeError,
                            "a launch does not have so many options");
        names = names ? names : PyList_New(0);
        good = name && named < MOST_OPTIONS && names &&
               PyList_Append(names, key) == 0;
        if (good)
            values[count + named++] = value;
    }
    if (names && good)
        good = (tuple = PyList_AsTuple(names));
    PyObject *result =
        good ? prepare_and(submit, where, function, values, count, tuple)
             : NULL;
    Py_XDECREF(names);
    Py_XDECREF(tuple);
    return result;
}
