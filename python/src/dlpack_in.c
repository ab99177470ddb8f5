// Arrays of others as Buffers, without a copy.
#include "binding.h"
#include "dlpack.h"

#include <stdlib.h>
#include <string.h>

// --- What every protocol ends in ---------------------------------------------

struct array {
    void *data;
    size_t size;
    struct layout layout;
    Py_ssize_t shape[MOST_DIMENSIONS];
    int dimensions;
    bool readonly;
    rnl_memory_kind kind;
};

// Takes over the keeper in any case.
static PyObject *make_buffer(PyObject *context, const struct array *array,
                             struct keeper *keeper)
{
    rnl_wrap_options options = {.struct_size = sizeof options,
                                .kind = array->kind,
                                .deleter = keeper_retire_memory,
                                .user_data = keeper,
                                .element = array->layout.element};
    static char nothing;
    rnl_buffer buffer;
    rnl_status status;
    if (!array->data && array->size > 0) {
        PyErr_Format(PyExc_BufferError,
                     "the array has %zu bytes and no address", array->size);
        keeper_free(keeper);
        return NULL;
    }
    CALL_UNLOCKED(status, rnl_buffer_wrap(handle_of(context),
                                          array->data ? array->data : &nothing,
                                          array->size, &options, &buffer));
    if (status != RNL_OK) {
        raise_error(status);
        keeper_free(keeper);
        return NULL;
    }
    return buffer_make(buffer, context, &array->layout, array->shape,
                       array->dimensions, array->readonly);
}

static bool not_contiguous(void)
{
    PyErr_SetString(PyExc_BufferError,
                    "the array is not in C order without gaps; copy it first, "
                    "for instance with numpy.ascontiguousarray");
    return false;
}

static bool check_strides(const struct array *array, const int64_t *strides,
                          int64_t unit)
{
    uint64_t expected = (uint64_t)unit;  // wraps only where the size is 0
    for (int i = array->dimensions - 1; strides && i >= 0; i--) {
        if (array->shape[i] > 1 && (uint64_t)strides[i] != expected &&
            array->size > 0)
            return not_contiguous();
        expected *= (uint64_t)array->shape[i];
    }
    return true;
}

static bool set_size(struct array *array)
{
    size_t count = 1;
    for (int i = 0; i < array->dimensions; i++)
        if (array->shape[i] < 0 ||
            __builtin_mul_overflow(count, (size_t)array->shape[i], &count)) {
            PyErr_SetString(PyExc_BufferError,
                            "the array's shape is not legal");
            return false;
        }
    if (__builtin_mul_overflow(count, array->layout.item_size, &array->size) ||
        array->size > PY_SSIZE_T_MAX) {
        PyErr_SetString(PyExc_BufferError,
                        "the array has more bytes than there are addresses");
        return false;
    }
    return true;
}

static bool few_dimensions(int dimensions)
{
    if (dimensions >= 0 && dimensions <= MOST_DIMENSIONS)
        return true;
    PyErr_Format(PyExc_BufferError,
                 "the array has %d dimensions; at most %d are possible",
                 dimensions, MOST_DIMENSIONS);
    return false;
}

// --- The buffer protocol -----------------------------------------------------

static bool read_view(const Py_buffer *view, struct array *out)
{
    if (!few_dimensions(view->ndim))
        return false;
    if (!PyBuffer_IsContiguous(view, 'C'))
        return not_contiguous();
    if (view->itemsize <= 0) {
        PyErr_SetString(PyExc_BufferError,
                        "the array's elements have no bytes, so there is "
                        "nothing to share");
        return false;
    }
    if (!is_native(view->format))
        return false;
    *out = (struct array){.data = view->buf,
                          .size = (size_t)view->len,
                          .dimensions = view->ndim,
                          .readonly = view->readonly};
    layout_of_format(view->format, (size_t)view->itemsize, &out->layout);
    for (int i = 0; i < view->ndim; i++)
        out->shape[i] = view->shape[i];
    if (!set_size(out))
        return false;
    if (out->size != (size_t)view->len) {
        PyErr_Format(PyExc_BufferError,
                     "the array says that it has %zd bytes, but its shape and "
                     "elements make %zu",
                     view->len, out->size);
        return false;
    }
    return true;
}

static PyObject *from_view(PyObject *context, PyObject *object)
{
    struct array array;
    struct keeper *keeper = keeper_create();
    if (!keeper)
        return NULL;
    keeper->view_count =
        PyObject_GetBuffer(object, keeper->views, PyBUF_FULL_RO) == 0;
    if (keeper->view_count && read_view(keeper->views, &array))
        return make_buffer(context, &array, keeper);
    keeper_free(keeper);
    return NULL;
}

// --- DLPack ------------------------------------------------------------------

static bool read_type(struct dl_data_type type, struct layout *out)
{
    static const struct {
        uint8_t code, bits;
        const char *name;
    } types[] = {
        {DL_INT, 8, "i"},        {DL_INT, 16, "h"},   {DL_INT, 32, "i"},
        {DL_INT, 64, "q"},       {DL_UINT, 8, "B"},   {DL_UINT, 16, "H"},
        {DL_UINT, 32, "I"},      {DL_UINT, 64, "Q"},  {DL_FLOAT, 16, "e"},
        {DL_FLOAT, 32, "f"},     {DL_FLOAT, 64, "d"}, {DL_COMPLEX, 64, "Zf"},
        {DL_COMPLEX, 128, "Zd"}, {DL_BOOL, 8, "?"}};
    if (type.code == DL_BFLOAT && type.bits == 16 && type.lanes == 1) {
        layout_of_element(RNL_ELEMENT_BFLOAT16, out);
        return true;
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (type.code != types[i].code || type.bits != types[i].bits ||
            type.lanes != 1)
            continue;
        const char *format =
            type.bits == 8 && type.code == DL_INT ? "b" : types[i].name;
        layout_of_format(format, type.bits / 8, out);
        return true;
    }
    PyErr_Format(PyExc_BufferError,
                 "DLPack's type with code %d, %d bits and %d lanes has no "
                 "counterpart here",
                 type.code, type.bits, type.lanes);
    return false;
}

static bool read_place(struct dl_device device, PyObject *context,
                       rnl_memory_kind *out)
{
    int index;
    const char *api = context_api(context, &index);
    if (!api)
        return false;
    bool cpu = strcmp(api, "cpu") == 0, hip = strcmp(api, "hip") == 0;
    bool of_host = device.type == DL_CPU || device.type == DL_CUDA_HOST ||
                   device.type == DL_ROCM_HOST ||
                   device.type == DL_CUDA_MANAGED;
    int own = hip ? DL_ROCM : DL_CUDA;
    *out = RNL_MEMORY_DEVICE;
    if (!cpu && device.type == (hip ? DL_ROCM_HOST : DL_CUDA_HOST))
        *out = RNL_MEMORY_HOST;
    else if (!cpu && !hip && device.type == DL_CUDA_MANAGED)
        *out = RNL_MEMORY_MANAGED;
    else if (cpu ? !of_host : device.type != own || device.id != index) {
        PyErr_Format(PyExc_BufferError,
                     "the tensor is on DLPack's device (%d, %d), which %s:%d "
                     "cannot reach; copy it there first",
                     (int)device.type, (int)device.id, api, index);
        return false;
    }
    return true;
}

static bool read_tensor(const struct dl_tensor *tensor, PyObject *context,
                        struct array *out)
{
    *out = (struct array){.dimensions = tensor->ndim};
    if (!few_dimensions(tensor->ndim) ||
        !read_type(tensor->dtype, &out->layout) ||
        !read_place(tensor->device, context, &out->kind))
        return false;
    for (int i = 0; i < tensor->ndim; i++)
        out->shape[i] = (Py_ssize_t)tensor->shape[i];
    out->data = (char *)tensor->data + tensor->byte_offset;
    return set_size(out) && check_strides(out, tensor->strides, 1);
}

static void end_plain(void *data)
{
    struct dl_managed *managed = data;
    if (managed->deleter)
        managed->deleter(managed);
}

static void end_versioned(void *data)
{
    struct dl_managed_versioned *managed = data;
    if (managed->deleter)
        managed->deleter(managed);
}

// The tensor is ours from the renaming on, and ends with the keeper.
static PyObject *from_capsule(PyObject *context, PyObject *capsule)
{
    struct array array;
    bool versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
    const char *name = versioned ? "dltensor_versioned" : "dltensor";
    void *managed = PyCapsule_GetPointer(capsule, name);
    struct keeper *keeper = managed ? keeper_create() : NULL;
    if (!keeper ||
        PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned"
                                             : "used_dltensor") != 0) {
        keeper_free(keeper);
        return NULL;
    }
    const struct dl_managed_versioned *newer = managed;
    const struct dl_managed *older = managed;
    keeper->run = versioned ? end_versioned : end_plain;
    keeper->data = managed;
    if (versioned && newer->major != 1)
        PyErr_Format(PyExc_BufferError,
                     "the tensor is of DLPack %u.%u; 1.x is understood here",
                     newer->major, newer->minor);
    else if (read_tensor(versioned ? &newer->tensor : &older->tensor, context,
                         &array)) {
        array.readonly = versioned && (newer->flags & DL_READ_ONLY);
        return make_buffer(context, &array, keeper);
    }
    keeper_free(keeper);
    return NULL;
}

// Where the producer says that the tensor is. Producers from before version 1
// may not say it; their tensors tell it later.
static bool ask_for_device(PyObject *object, struct dl_device *out)
{
    int type = 0, id = 0;
    if (!PyObject_HasAttrString(object, "__dlpack_device__"))
        return true;
    PyObject *pair = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    bool good =
        pair && PyTuple_Check(pair) && PyArg_ParseTuple(pair, "ii", &type, &id);
    if (pair && !good) {
        PyErr_Clear();
        PyErr_Format(PyExc_BufferError,
                     "__dlpack_device__ gives %R instead of a type and a "
                     "number",
                     pair);
    }
    Py_XDECREF(pair);
    *out = (struct dl_device){type, id};
    return good;
}

// The stream that the producer makes the tensor safe for. Memory of the host has
// none; the default stream is 1 to CUDA and 0 to ROCm.
static PyObject *consumer_stream(PyObject *context, rnl_stream stream,
                                 struct dl_device device)
{
    void *native = NULL;
    rnl_status status = RNL_OK;
    int index;
    const char *api = context_api(context, &index);
    if (!api)
        return NULL;
    bool hip = strcmp(api, "hip") == 0;
    if (strcmp(api, "cpu") == 0 || device.type == DL_CPU ||
        device.type == DL_CUDA_HOST || device.type == DL_ROCM_HOST)
        Py_RETURN_NONE;
    if (!stream)
        status = rnl_context_default_stream(handle_of(context), &stream);
    if (status == RNL_OK)
        CALL_UNLOCKED(status, rnl_stream_native(stream, &native));
    if (status != RNL_OK)
        return raise_error(status);
    bool legacy = !native || native == RNL_NATIVE_LEGACY;
    return legacy ? PyLong_FromLong(!hip) : PyLong_FromVoidPtr(native);
}

static PyObject *ask_for_capsule(PyObject *context, PyObject *object,
                                 rnl_stream stream)
{
    struct dl_device device = {0};
    rnl_memory_kind kind;
    PyObject *method = PyObject_GetAttrString(object, "__dlpack__");
    bool reachable = method && ask_for_device(object, &device) &&
                     (device.type == 0 || read_place(device, context, &kind));
    PyObject *native =
        reachable ? consumer_stream(context, stream, device) : NULL;
    PyObject *empty = PyTuple_New(0);
    PyObject *options =
        native && empty
            ? Py_BuildValue("{sO s(ii)}", "stream", native, "max_version", 1, 1)
            : NULL;
    PyObject *capsule = options ? PyObject_Call(method, empty, options) : NULL;
    // A producer from before version 1 knows no max_version.
    if (options && !capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
        PyErr_Clear();
        if (PyDict_DelItemString(options, "max_version") == 0)
            capsule = PyObject_Call(method, empty, options);
    }
    Py_XDECREF(method);
    Py_XDECREF(native);
    Py_XDECREF(empty);
    Py_XDECREF(options);
    return capsule;
}

static PyObject *from_producer(PyObject *context, PyObject *object,
                               rnl_stream stream)
{
    PyObject *capsule = PyCapsule_CheckExact(object)
                            ? object
                            : ask_for_capsule(context, object, stream);
    if (!capsule)
        return NULL;
    PyObject *buffer = from_capsule(context, capsule);
    if (capsule != object)
        Py_DECREF(capsule);
    return buffer;
}

// --- The CUDA array interface ------------------------------------------------

static bool is_pair(PyObject *data)
{
    if (PyTuple_Check(data))
        return true;
    PyErr_SetString(PyExc_BufferError,
                    "'data' of __cuda_array_interface__ has to be a tuple of "
                    "an address and a flag");
    return false;
}

// `interface` is the caller's own copy: conversions run code that could change
// the producer's.
static bool read_interface(PyObject *interface, struct array *out)
{
    PyObject *shape = PyDict_GetItemString(interface, "shape");
    PyObject *type = PyDict_GetItemString(interface, "typestr");
    PyObject *data = PyDict_GetItemString(interface, "data");
    PyObject *strides = PyDict_GetItemString(interface, "strides");
    PyObject *mask = PyDict_GetItemString(interface, "mask");
    int64_t steps[MOST_DIMENSIONS];
    Py_ssize_t count;
    PyObject *address;
    int readonly;
    *out = (struct array){0};
    if (!shape || !type || !data || (mask && mask != Py_None)) {
        PyErr_SetString(PyExc_BufferError,
                        "__cuda_array_interface__ lacks shape, typestr or "
                        "data, or has a mask");
        return false;
    }
    if (!shape_of(shape, out->shape, &out->dimensions, &count) ||
        !layout_of_dtype(type, &out->layout) || !is_pair(data) ||
        !PyArg_ParseTuple(data, "Op", &address, &readonly) ||
        !to_address(address, &out->data) || !set_size(out))
        return false;
    out->readonly = readonly;
    if (!strides || strides == Py_None)
        return true;
    for (int i = 0; i < out->dimensions; i++) {
        PyObject *step = PySequence_GetItem(strides, i);
        steps[i] = step ? PyLong_AsLongLong(step) : -1;
        Py_XDECREF(step);
        if (PyErr_Occurred())
            return false;
    }
    return check_strides(out, steps, (int64_t)out->layout.item_size);
}

// The producer's stream: ours waits for it, by the host where that is the only
// way.
static bool wait_for_producer(PyObject *context, PyObject *interface)
{
    PyObject *stream = PyDict_GetItemString(interface, "stream");
    rnl_context handle = handle_of(context);
    rnl_stream own, borrowed;
    void *native;
    rnl_status status;
    if (!stream || stream == Py_None)
        return true;
    if (!to_address(stream, &native))
        return false;
    CALL_UNLOCKED(status, rnl_stream_borrow(handle, native, NULL, &borrowed));
    if (status == RNL_OK) {
        status = rnl_context_default_stream(handle, &own);
        if (status == RNL_OK)
            CALL_UNLOCKED(status, rnl_enqueue_wait_stream(own, borrowed));
        bool waited = status != RNL_OK ||
                      wait_for(stream_wait, borrowed, RNL_FOREVER, &status);
        if (waited && status != RNL_OK)
            raise_error(status);
        rnl_stream_release(borrowed);
    } else {
        raise_error(status);
    }
    return !PyErr_Occurred();
}

static PyObject *from_interface(PyObject *context, PyObject *object)
{
    struct array array;
    PyObject *interface =
        PyObject_GetAttrString(object, "__cuda_array_interface__");
    PyObject *result = NULL;
    struct keeper *keeper = NULL;
    if (!interface)
        return NULL;
    if (!PyDict_Check(interface)) {
        PyErr_SetString(PyExc_BufferError,
                        "__cuda_array_interface__ has to be a dict");
        Py_DECREF(interface);
        return NULL;
    }
    PyObject *own = PyDict_Copy(interface);
    Py_DECREF(interface);
    interface = own;
    if (!interface)
        return NULL;
    if (read_interface(interface, &array) &&
        wait_for_producer(context, interface) && (keeper = keeper_create())) {
        Py_INCREF(object);
        keeper->object = object;
        result = make_buffer(context, &array, keeper);
    }
    Py_DECREF(interface);
    return result;
}

// --- Any of them -------------------------------------------------------------

static bool is_plain_host_array(PyObject *object)
{
    return PyObject_CheckBuffer(object) &&
           !PyObject_HasAttrString(object, "__cuda_array_interface__");
}

PyObject *buffer_from_array(PyObject *context, PyObject *array,
                            rnl_stream stream)
{
    if (is_a(array, buffer_type)) {
        if (!is_alive(array))
            return NULL;
        Py_INCREF(array);
        return array;
    }
    bool cpu = context_is_cpu(context);
    if (cpu && PyObject_CheckBuffer(array))
        return from_view(context, array);
    if (!cpu && is_plain_host_array(array)) {
        PyErr_Format(PyExc_BufferError,
                     "%R is memory of the host, which kernels of %R cannot "
                     "reach: copy it into a Buffer, for instance with "
                     "Context.array",
                     (PyObject *)Py_TYPE(array), context);
        return NULL;
    }
    if (PyObject_HasAttrString(array, "__dlpack__"))
        return from_producer(context, array, stream);
    if (!cpu && PyObject_HasAttrString(array, "__cuda_array_interface__"))
        return from_interface(context, array);
    PyErr_Format(PyExc_TypeError,
                 "%R is not an array: it has neither the buffer protocol nor "
                 "__dlpack__",
                 (PyObject *)Py_TYPE(array));
    return NULL;
}

static PyObject *read_array(PyObject *args, PyObject *kwargs,
                            const char *format, bool dlpack_only)
{
    static char *names[] = {"array", "context", "stream", NULL};
    PyObject *array, *context, *given = Py_None;
    rnl_stream stream = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, format, names, &array,
                                     to_context, &context, &given) ||
        (given != Py_None && !to_stream(given, &stream)))
        return NULL;
    return dlpack_only ? from_producer(context, array, stream)
                       : buffer_from_array(context, array, stream);
}

PyObject *from_dlpack(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    return read_array(args, kwargs, "OO&|O:from_dlpack", true);
}

PyObject *from_array(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    return read_array(args, kwargs, "OO&|O:from_array", false);
}
