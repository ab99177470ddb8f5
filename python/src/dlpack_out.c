// Buffers given to others: DLPack, and the two array interfaces.
#include "binding.h"
#include "dlpack.h"

#include <stdlib.h>
#include <string.h>

// --- Facts about a buffer ----------------------------------------------------

static bool device_of(PyObject *object, struct dl_device *out)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    int index;
    const char *api = context_api(context_of(object), &index);
    if (!api)
        return false;
    rnl_status status = rnl_buffer_get_info(handle_of(object), &info);
    if (status != RNL_OK) {
        raise_error(status);
        return false;
    }
    bool rocm = strcmp(api, "hip") == 0;
    *out = (struct dl_device){rocm ? DL_ROCM : DL_CUDA, index};
    if (strcmp(api, "cpu") == 0)
        *out = (struct dl_device){DL_CPU, 0};
    else if (info.kind == RNL_MEMORY_HOST)
        out->type = rocm ? DL_ROCM_HOST : DL_CUDA_HOST;
    else if (info.kind == RNL_MEMORY_MANAGED && !rocm)
        out->type = DL_CUDA_MANAGED;
    return true;
}

static bool type_of(const struct layout *layout, struct dl_data_type *out)
{
    static const uint8_t codes[] = {
        [RNL_ELEMENT_INT8] = DL_INT,      [RNL_ELEMENT_UINT8] = DL_UINT,
        [RNL_ELEMENT_INT16] = DL_INT,     [RNL_ELEMENT_UINT16] = DL_UINT,
        [RNL_ELEMENT_INT32] = DL_INT,     [RNL_ELEMENT_UINT32] = DL_UINT,
        [RNL_ELEMENT_INT64] = DL_INT,     [RNL_ELEMENT_UINT64] = DL_UINT,
        [RNL_ELEMENT_FLOAT16] = DL_FLOAT, [RNL_ELEMENT_BFLOAT16] = DL_BFLOAT,
        [RNL_ELEMENT_FLOAT32] = DL_FLOAT, [RNL_ELEMENT_FLOAT64] = DL_FLOAT};
    *out = (struct dl_data_type){codes[layout->element],
                                 (uint8_t)(8 * layout->item_size), 1};
    if (layout->format[0] == '?')
        out->code = DL_BOOL;
    else if (layout->format[0] == 'Z')
        out->code = DL_COMPLEX;
    else if (layout->element == RNL_ELEMENT_UNKNOWN) {
        PyErr_SetString(PyExc_BufferError,
                        "DLPack has no type for elements that are structs");
        return false;
    }
    return true;
}

// --- Export ------------------------------------------------------------------

struct exported {
    rnl_buffer buffer;
    union {
        struct dl_managed plain;
        struct dl_managed_versioned versioned;
    } managed;
    int64_t extents[];
};

static rnl_status drop(void *handle)
{
    return rnl_buffer_release(handle);
}

static void end_exported(struct exported *exported)
{
    release_or_retire(drop, exported->buffer);
    free(exported);
}

static void delete_plain(struct dl_managed *managed)
{
    end_exported(managed->owner);
}

static void delete_versioned(struct dl_managed_versioned *managed)
{
    end_exported(managed->owner);
}

static void end_capsule(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor"))
        delete_plain(PyCapsule_GetPointer(capsule, "dltensor"));
    else if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        delete_versioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
}

static PyObject *export(PyObject *object, bool versioned, bool copied)
{
    const struct buffer_wrapper *self = (struct buffer_wrapper *)object;
    size_t count = (size_t)self->dimensions;
    struct dl_tensor tensor = {.ndim = self->dimensions};
    if (!device_of(object, &tensor.device) ||
        !type_of(&self->layout, &tensor.dtype))
        return NULL;
    struct exported *out = calloc(1, sizeof *out + 2 * count * sizeof(int64_t));
    if (!out)
        return PyErr_NoMemory();
    out->buffer = handle_of(object);
    rnl_status status = rnl_buffer_retain(out->buffer);
    if (status != RNL_OK) {
        free(out);
        return raise_error(status);
    }
    tensor.data = self->size ? self->device_address : NULL;
    for (size_t i = 0; i < count; i++) {
        out->extents[i] = self->shape[i];
        out->extents[count + i] =
            self->shape[count + i] / (Py_ssize_t)self->layout.item_size;
    }
    tensor.shape = count ? out->extents : NULL;
    tensor.strides = count ? out->extents + count : NULL;
    if (versioned)
        out->managed.versioned = (struct dl_managed_versioned){
            1,
            1,
            out,
            delete_versioned,
            (self->readonly ? DL_READ_ONLY : 0) | (copied ? DL_IS_COPIED : 0),
            tensor};
    else
        out->managed.plain = (struct dl_managed){tensor, out, delete_plain};
    PyObject *capsule = PyCapsule_New(
        &out->managed, versioned ? "dltensor_versioned" : "dltensor",
        end_capsule);
    if (!capsule)
        end_exported(out);
    return capsule;
}

// --- Order of work -----------------------------------------------------------

static bool wait_here(PyObject *context)
{
    rnl_status status;
    if (!wait_for(context_wait, handle_of(context), RNL_FOREVER, &status))
        return false;
    if (status != RNL_OK)
        raise_error(status);
    return status == RNL_OK;
}

// The legacy default stream is 1 to CUDA, where 2 is that of each thread, and 0
// to ROCm, where 1 and 2 are nothing.
static bool is_stream(int64_t number, bool rocm)
{
    return number >= -1 && (rocm ? number != 1 && number != 2 : number != 0);
}

// Makes the consumer's stream wait for the context's work. The host waits where
// the stream cannot be borrowed, as that of each thread.
static bool order_stream(PyObject *context, PyObject *given, bool rocm)
{
    int64_t number = given == Py_None ? !rocm : PyLong_AsLongLong(given);
    rnl_stream borrowed;
    rnl_status status;
    if (PyErr_Occurred())
        return false;
    if (!is_stream(number, rocm)) {
        PyErr_Format(PyExc_ValueError,
                     "%R is not a stream: %s, -1 means no order", given,
                     rocm ? "0 is the default stream of ROCm"
                          : "1 is the legacy default stream of CUDA, 2 that of "
                            "each thread");
        return false;
    }
    if (number == -1)
        return true;
    rnl_context handle = handle_of(context);
    CALL_UNLOCKED(status, number == 2 ? RNL_ERROR_UNSUPPORTED
                                      : rnl_stream_borrow(
                                            handle, (void *)(intptr_t)number,
                                            NULL, &borrowed));
    if (status != RNL_OK)
        return wait_here(context);
    CALL_UNLOCKED(status, rnl_enqueue_wait_context(borrowed, handle));
    if (status != RNL_OK)
        raise_error(status);
    rnl_stream_release(borrowed);
    return status == RNL_OK;
}

static bool order(PyObject *object, const struct dl_device *device,
                  PyObject *stream)
{
    if (device->type == DL_CUDA || device->type == DL_ROCM ||
        device->type == DL_CUDA_MANAGED)
        return order_stream(context_of(object), stream,
                            device->type == DL_ROCM);
    if (stream == Py_None)
        return wait_here(context_of(object));
    int overflow = 0;
    if (PyLong_Check(stream) &&
        PyLong_AsLongAndOverflow(stream, &overflow) == -1 && !overflow)
        return true;
    PyErr_Format(PyExc_ValueError,
                 "memory of the host has no streams: 'stream' is None, not %R",
                 stream);
    return false;
}

// A new Buffer with the same bytes.
static PyObject *copy_of(PyObject *object)
{
    struct buffer_wrapper *self = (struct buffer_wrapper *)object;
    PyObject *context = context_of(object);
    rnl_buffer_info info = {.struct_size = sizeof info};
    rnl_buffer_options options = {.struct_size = sizeof options,
                                  .element = self->layout.element};
    rnl_buffer copy;
    rnl_stream stream;
    rnl_status status = rnl_buffer_get_info(handle_of(object), &info);
    options.kind = info.kind;
    if (status == RNL_OK)
        status = rnl_context_default_stream(handle_of(context), &stream);
    if (status == RNL_OK)
        status =
            rnl_buffer_create(handle_of(context), self->size, &options, &copy);
    if (status != RNL_OK)
        return raise_error(status);
    PyObject *result = buffer_make(copy, context, &self->layout, self->shape,
                                   self->dimensions, false);
    bool good = result && wait_here(context);
    if (good) {
        CALL_UNLOCKED(status, rnl_copy_buffer_and_wait(stream, copy, 0,
                                                       handle_of(object), 0,
                                                       self->size));
        if (status != RNL_OK)
            raise_error(status);
    }
    if (PyErr_Occurred())
        Py_CLEAR(result);
    return result;
}

static bool asks_for_version(PyObject *given, bool *out)
{
    int major = 0, minor;
    *out = false;
    if (given != Py_None &&
        (!PyTuple_Check(given) ||
         !PyArg_ParseTuple(given, "ii;max_version is a pair", &major,
                           &minor))) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError, "max_version is a pair of ints");
        return false;
    }
    *out = major >= 1;
    return true;
}

static bool is_device(PyObject *given, const struct dl_device *device)
{
    int type, id;
    if (given == Py_None)
        return true;
    if (!PyTuple_Check(given) || !PyArg_ParseTuple(given, "ii", &type, &id)) {
        PyErr_SetString(PyExc_TypeError, "dl_device is a pair of ints");
        return false;
    }
    if (type == device->type && id == device->id)
        return true;
    PyErr_Format(PyExc_BufferError,
                 "the memory is on DLPack's device (%d, %d), and (%d, %d) was "
                 "asked for: copy it first, for instance with numpy()",
                 (int)device->type, (int)device->id, type, id);
    return false;
}

PyObject *buffer_dlpack(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *stream = Py_None, *version = Py_None, *wanted = Py_None,
             *copy = Py_None;
    struct dl_device device;
    bool versioned;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names,
                                     &stream, &version, &wanted, &copy) ||
        !device_of(self, &device) || !asks_for_version(version, &versioned) ||
        !is_device(wanted, &device))
        return NULL;
    int copies = copy == Py_None ? 0 : PyObject_IsTrue(copy);
    if (copies < 0)
        return NULL;
    if (((struct buffer_wrapper *)self)->readonly && !versioned && !copies) {
        PyErr_SetString(PyExc_BufferError,
                        "read-only memory needs a consumer of DLPack 1: "
                        "max_version=(1, 0)");
        return NULL;
    }
    if (!order(self, &device, stream))
        return NULL;
    PyObject *source = copies ? copy_of(self) : self;
    PyObject *capsule = source ? export(source, versioned, copies) : NULL;
    if (copies)
        Py_XDECREF(source);
    return capsule;
}

PyObject *buffer_dlpack_device(PyObject *self, PyObject *ignored)
{
    struct dl_device device;
    (void)ignored;
    return device_of(self, &device)
               ? Py_BuildValue("(ii)", (int)device.type, (int)device.id)
               : NULL;
}

// --- Array interfaces --------------------------------------------------------

static PyObject *type_string(const struct layout *layout)
{
    char kind = 'V';
    if (layout->format[0] == '?')
        kind = 'b';
    else if (layout->format[0] == 'Z')
        kind = 'c';
    else if (layout->element >= RNL_ELEMENT_INT8 &&
             layout->element <= RNL_ELEMENT_UINT64)
        kind = layout->element % 2 ? 'i' : 'u';
    else if (layout->element && layout->element != RNL_ELEMENT_BFLOAT16)
        kind = 'f';
    return PyUnicode_FromFormat("%c%c%zu", layout->item_size == 1 ? '|' : '<',
                                kind, layout->item_size);
}

static PyObject *interface_of(PyObject *object, void *address)
{
    struct buffer_wrapper *self = (struct buffer_wrapper *)object;
    if (!buffer_expose(object))
        return NULL;
    PyObject *shape = buffer_shape(object, NULL);
    PyObject *type = type_string(&self->layout);
    if (!shape || !type)
        return NULL;
    return Py_BuildValue("{sN sN s(NO) sO si}", "shape", shape, "typestr", type,
                         "data", PyLong_FromVoidPtr(address),
                         self->readonly ? Py_True : Py_False, "strides",
                         Py_None, "version", 3);
}

PyObject *buffer_array_interface(PyObject *self, void *closure)
{
    struct buffer_wrapper *buffer = (struct buffer_wrapper *)self;
    (void)closure;
    if (buffer->host_pointer || buffer->size == 0)
        return interface_of(self, buffer->host_pointer);
    PyErr_SetString(PyExc_AttributeError,
                    "the host cannot reach this memory: copy it with numpy()");
    return NULL;
}

// The consumer waits for the stream that is named: the default stream, which
// waits for all other work of the context.
PyObject *buffer_cuda_interface(PyObject *self, void *closure)
{
    int index;
    rnl_stream stream;
    void *native = NULL;
    rnl_status status;
    (void)closure;
    PyObject *context = context_of(self);
    const char *api = context_api(context, &index);
    if (!api)
        return NULL;
    if (strcmp(api, "cuda") != 0) {
        PyErr_Format(PyExc_AttributeError,
                     "memory of %s does not belong to CUDA", api);
        return NULL;
    }
    rnl_context handle = handle_of(context);
    status = rnl_context_default_stream(handle, &stream);
    if (status == RNL_OK)
        CALL_UNLOCKED(status, rnl_enqueue_wait_context(stream, handle));
    if (status == RNL_OK)
        CALL_UNLOCKED(status, rnl_stream_native(stream, &native));
    if (status != RNL_OK)
        return raise_error(status);
    PyObject *result =
        interface_of(self, ((struct buffer_wrapper *)self)->device_address);
    PyObject *number = PyLong_FromVoidPtr(native);
    if (result && PyDict_SetItemString(result, "stream", number) < 0)
        Py_CLEAR(result);
    Py_XDECREF(number);
    return result;
}
