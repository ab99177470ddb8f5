// The types of elements, by the names that Python and its arrays have for them.
#include "binding.h"

#include <string.h>

struct element_name {
    const char *name;
    rnl_element element;
    const char *format;
    size_t size;
};

// The first name of an element and format is the one that is shown.
static const struct element_name elements[] = {
    {"uint8", RNL_ELEMENT_UINT8, "B", 1},
    {"int8", RNL_ELEMENT_INT8, "b", 1},
    {"bool", RNL_ELEMENT_INT8, "?", 1},
    {"int16", RNL_ELEMENT_INT16, "h", 2},
    {"uint16", RNL_ELEMENT_UINT16, "H", 2},
    {"int32", RNL_ELEMENT_INT32, "i", 4},
    {"uint32", RNL_ELEMENT_UINT32, "I", 4},
    {"int64", RNL_ELEMENT_INT64, "q", 8},
    {"uint64", RNL_ELEMENT_UINT64, "Q", 8},
    {"float16", RNL_ELEMENT_FLOAT16, "e", 2},
    {"bfloat16", RNL_ELEMENT_BFLOAT16, "H", 2},
    {"float32", RNL_ELEMENT_FLOAT32, "f", 4},
    {"float64", RNL_ELEMENT_FLOAT64, "d", 8},
    {"complex64", RNL_ELEMENT_UNKNOWN, "Zf", 8},
    {"complex128", RNL_ELEMENT_UNKNOWN, "Zd", 16},
    // --- other names of the same
    {"u1", RNL_ELEMENT_UINT8, "B", 1},
    {"i1", RNL_ELEMENT_INT8, "b", 1},
    {"b1", RNL_ELEMENT_INT8, "?", 1},
    {"bool_", RNL_ELEMENT_INT8, "?", 1},
    {"i2", RNL_ELEMENT_INT16, "h", 2},
    {"u2", RNL_ELEMENT_UINT16, "H", 2},
    {"i4", RNL_ELEMENT_INT32, "i", 4},
    {"u4", RNL_ELEMENT_UINT32, "I", 4},
    {"i8", RNL_ELEMENT_INT64, "q", 8},
    {"int", RNL_ELEMENT_INT64, "q", 8},
    {"u8", RNL_ELEMENT_UINT64, "Q", 8},
    {"f2", RNL_ELEMENT_FLOAT16, "e", 2},
    {"f4", RNL_ELEMENT_FLOAT32, "f", 4},
    {"f8", RNL_ELEMENT_FLOAT64, "d", 8},
    {"float", RNL_ELEMENT_FLOAT64, "d", 8},
    {"c8", RNL_ELEMENT_UNKNOWN, "Zf", 8},
    {"c16", RNL_ELEMENT_UNKNOWN, "Zd", 16},
};

#define ELEMENT_COUNT (sizeof elements / sizeof elements[0])

static void take(const struct element_name *row, struct layout *out)
{
    out->element = row->element;
    out->item_size = row->size;
    strcpy(out->format, row->format);
}

static bool find_name(const char *name, struct layout *out)
{
    const char *dot = strrchr(name, '.');
    name = dot ? dot + 1 : name;
    name += *name && strchr("<=|", *name);
    for (size_t i = 0; i < ELEMENT_COUNT; i++) {
        if (strcmp(name, elements[i].name) == 0) {
            take(&elements[i], out);
            return true;
        }
    }
    // A code of the struct module, as memoryview.format has.
    if (strlen(name) == 1)
        layout_of_format(name, strchr("lL", *name) ? sizeof(long) : 0, out);
    return strlen(name) == 1 && out->format[0];
}

// Whether the bytes of a number, or of a member of a struct, are in another
// order than the processor's. Names of members stand between colons.
static bool is_foreign(const char *format)
{
    bool name = false;
    for (; *format; format++) {
        name ^= *format == ':';
        if (!name && (*format == '>' || *format == '!'))
            return true;
    }
    return false;
}

#define FOREIGN_ORDER                                                    \
    " has big-endian numbers, which kernels do not read; convert them, " \
    "for instance with array.astype(array.dtype.newbyteorder('='))"

bool is_native(const char *format)
{
    if (!format || !is_foreign(format))
        return true;
    PyErr_Format(PyExc_BufferError, "an array of format '%s'" FOREIGN_ORDER,
                 format);
    return false;
}

// A str, a type with a name such as numpy.float32, or a dtype whose str is one.
bool layout_of_dtype(PyObject *dtype, struct layout *out)
{
    take(&elements[0], out);
    if (!dtype || dtype == Py_None)
        return true;
    PyObject *text = PyType_Check(dtype)
                         ? PyObject_GetAttrString(dtype, "__name__")
                         : PyObject_Str(dtype);
    const char *name = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    bool found = name && find_name(name, out);
    if (name && is_foreign(name))
        PyErr_Format(PyExc_TypeError, "%R" FOREIGN_ORDER, dtype);
    else if (!found && !PyErr_Occurred())
        PyErr_Format(
            PyExc_TypeError,
            "%R is not a type of elements; there are bool, int8 to int64, "
            "uint8 to uint64, float16 to float64, bfloat16, complex64 "
            "and complex128",
            dtype);
    Py_XDECREF(text);
    return found;
}

void layout_of_format(const char *format, size_t item_size, struct layout *out)
{
    const char *text = format ? format : "B";
    text += *text && strchr("<=@|", *text);
    *out = (struct layout){RNL_ELEMENT_UNKNOWN, "", item_size};
    for (size_t i = 0; i < ELEMENT_COUNT; i++) {
        // 'l' has 4 or 8 bytes: the size tells.
        const char *own = elements[i].format;
        bool same = strcmp(own, text) == 0 ||
                    (strcmp(text, "l") == 0 && strchr("iq", *own)) ||
                    (strcmp(text, "L") == 0 && strchr("IQ", *own));
        if (same && (elements[i].size == item_size || !item_size)) {
            take(&elements[i], out);
            return;
        }
    }
}

void layout_of_element(rnl_element element, struct layout *out)
{
    take(&elements[0], out);
    for (size_t i = 0; element && i < ELEMENT_COUNT; i++) {
        if (elements[i].element == element) {
            take(&elements[i], out);
            return;
        }
    }
}

const char *layout_name(const struct layout *layout)
{
    for (size_t i = 0; i < ELEMENT_COUNT; i++)
        if (elements[i].element == layout->element &&
            strcmp(elements[i].format, layout->format) == 0)
            return elements[i].name;
    return "struct";
}
