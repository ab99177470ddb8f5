// Devices and contexts.
#include "binding.h"

#include <stdlib.h>
#include <string.h>

PyTypeObject *device_type, *context_type;

// --- Devices -----------------------------------------------------------------

struct field {
    size_t offset;
    char type;  // i: int, u: uint32_t, U: uint64_t, s: text, 3: rnl_dim3
};

static bool info_of(PyObject *self, rnl_device_info *info)
{
    *info = (rnl_device_info){.struct_size = sizeof *info};
    rnl_status status = rnl_device_get_info(handle_of(self), info);
    if (status != RNL_OK)
        raise_error(status);
    return status == RNL_OK;
}

static PyObject *get_field(PyObject *self, void *closure)
{
    const struct field *field = closure;
    rnl_device_info info;
    if (!info_of(self, &info))
        return NULL;
    const char *at = (const char *)&info + field->offset;
    const rnl_dim3 *extents = (const void *)at;
    uint64_t wide = 0;
    uint32_t narrow = 0;
    int number = 0;
    switch (field->type) {
    case 's':
        return text_of(at);
    case '3':
        return Py_BuildValue("(III)", extents->x, extents->y, extents->z);
    case 'U':
        memcpy(&wide, at, sizeof wide);
        return PyLong_FromUnsignedLongLong(wide);
    case 'u':
        memcpy(&narrow, at, sizeof narrow);
        return PyLong_FromUnsignedLong(narrow);
    default:
        memcpy(&number, at, sizeof number);
        return PyLong_FromLong(number);
    }
}

static PyObject *device_uuid(PyObject *self, void *closure)
{
    rnl_device_info info;
    (void)closure;
    if (!info_of(self, &info))
        return NULL;
    return PyBytes_FromStringAndSize((const char *)info.uuid, sizeof info.uuid);
}

static PyObject *device_capability(PyObject *self, void *closure)
{
    rnl_device_info info;
    (void)closure;
    if (!info_of(self, &info))
        return NULL;
    return Py_BuildValue("(ii)", info.compute_major, info.compute_minor);
}

#define FIELD(name, type, text)                       \
    {                                                 \
#name, get_field, NULL, text, &(struct field) \
        {                                             \
            offsetof(rnl_device_info, name), type     \
        }                                             \
    }

static PyGetSetDef device_fields[] = {
    FIELD(name, 's', "Name as the vendor or the processor gives it."),
    FIELD(api, 's', "'cpu', 'cuda' or 'hip'."),
    FIELD(index, 'u', "Index within its api."),
    FIELD(pci, 's', "Address on the bus, '' where there is none."),
    FIELD(driver_version, 'i', "The vendor's own number."),
    FIELD(memory_size, 'U', "Bytes."),
    FIELD(multiprocessors, 'u', "cpu: cores."),
    FIELD(clock_khz, 'u', "Highest core clock."),
    FIELD(warp_size, 'u', NULL),
    FIELD(max_block_threads, 'u', NULL),
    FIELD(max_block, '3', NULL),
    FIELD(max_grid, '3', NULL),
    FIELD(max_cluster_blocks, 'u', NULL),
    FIELD(shared_per_block, 'U', "Bytes, without opt-in."),
    FIELD(shared_per_block_max, 'U', "Bytes that a launch can have."),
    FIELD(constant_size, 'U', "Bytes."),
    FIELD(l1_size, 'U', "Bytes."),
    FIELD(l2_size, 'U', "Bytes."),
    FIELD(l3_size, 'U', "Bytes."),
    {"uuid", device_uuid, NULL, "16 bytes.", NULL},
    {"compute_capability", device_capability, NULL, "(major, minor).", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyObject *device_attribute(PyObject *self, PyObject *args)
{
    int id;
    int64_t value;
    if (!PyArg_ParseTuple(args, "i:attribute", &id))
        return NULL;
    rnl_status status =
        rnl_device_attribute(handle_of(self), (rnl_attribute)id, &value);
    return status == RNL_OK ? PyLong_FromLongLong(value) : raise_error(status);
}

static PyObject *device_repr(PyObject *self)
{
    rnl_device_info info;
    if (!info_of(self, &info))
        return NULL;
    return PyUnicode_FromFormat("<runnel.Device %s:%u %s>", info.api,
                                info.index, info.name);
}

static rnl_status keep_device(void *handle)
{
    (void)handle;
    return RNL_OK;
}

static void device_dealloc(PyObject *self)
{
    wrapper_free(self, keep_device);
}

static PyMethodDef device_methods[] = {
    {"attribute", device_attribute, METH_VARARGS,
     "attribute(id): one attribute by its number, as CUdevice_attribute."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot device_slots[] = {
    {Py_tp_dealloc, device_dealloc},
    {Py_tp_repr, device_repr},
    {Py_tp_richcompare, wrapper_compare},
    {Py_tp_hash, wrapper_hash},
    {Py_tp_methods, device_methods},
    {Py_tp_getset, device_fields},
    {Py_tp_doc, "A device: hardware that is not opened. See devices()."},
    {0, NULL}};

static PyType_Spec device_spec = {
    "runnel._core.Device", sizeof(struct wrapper), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, device_slots};

bool device_register(PyObject *module)
{
    return add_type(module, &device_spec, &device_type);
}

// --- Opening -----------------------------------------------------------------

// "cpu", "cuda:1", a Device, or None for the best one.
static bool find_device(PyObject *given, rnl_device *out)
{
    rnl_status status;
    if (given == Py_None) {
        CALL_UNLOCKED(status, rnl_device_default(out));
    } else if (is_a(given, device_type)) {
        *out = handle_of(given);  // never released
        return true;
    } else if (PyUnicode_Check(given)) {
        const char *text = PyUnicode_AsUTF8AndSize(given, NULL);
        char api[16] = {0};
        char *end = NULL;
        if (!text)
            return false;
        size_t length = strcspn(text, ":");
        unsigned long index =
            text[length] ? strtoul(text + length + 1, &end, 10) : 0;
        if (length >= sizeof api ||
            (end && (*end || end == text + length + 1))) {
            PyErr_Format(PyExc_ValueError,
                         "a device is named as 'cpu' or 'cuda:1', not %R",
                         given);
            return false;
        }
        memcpy(api, text, length);
        CALL_UNLOCKED(status, rnl_device_get(api, index, out));
    } else {
        PyErr_Format(PyExc_TypeError,
                     "expected a Device, a name such as 'cuda:0' or None, not "
                     "%R",
                     (PyObject *)Py_TYPE(given));
        return false;
    }
    if (status != RNL_OK)
        raise_error(status);
    return status == RNL_OK;
}

static rnl_status context_drop(void *handle)
{
    return rnl_context_release(handle);
}

static PyObject *context_new(PyTypeObject *type, PyObject *args,
                             PyObject *kwargs)
{
    static char *names[] = {"device",
                            "label",
                            "threads",
                            "pool_threshold",
                            "buffer_cache_size",
                            "kernel_limit",
                            NULL};
    rnl_context_options options = {.struct_size = sizeof options};
    PyObject *given = Py_None;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "|O$zO&O&O&O&:Context", names, &given, &options.label,
            to_uint32, &options.threads, to_count, &options.pool_threshold,
            to_count, &options.buffer_cache_size, to_limit,
            &options.kernel_limit_ns))
        return NULL;
    rnl_device device;
    rnl_context context;
    rnl_status status;
    if (!find_device(given, &device))
        return NULL;
    CALL_UNLOCKED(status, rnl_context_create(device, &options, &context));
    return status == RNL_OK ? wrap(type, context, NULL, context_drop)
                            : raise_error(status);
}

static void context_dealloc(PyObject *self)
{
    wrapper_free(self, context_drop);
}

static PyObject *context_release(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    return none_or_error(wrapper_release(self, context_drop));
}

// --- Properties --------------------------------------------------------------

static PyObject *context_device(PyObject *self, void *closure)
{
    rnl_device device;
    (void)closure;
    rnl_status status = rnl_context_device(handle_of(self), &device);
    return status == RNL_OK ? wrap_borrowed(device_type, device, NULL)
                            : raise_error(status);
}

const char *context_api(PyObject *context, int *out_index)
{
    static const char *const apis[] = {"cpu", "cuda", "hip"};
    rnl_device device;
    rnl_device_info info = {.struct_size = sizeof info};
    rnl_status status = rnl_context_device(handle_of(context), &device);
    if (status == RNL_OK)
        status = rnl_device_get_info(device, &info);
    if (status != RNL_OK) {
        raise_error(status);
        return NULL;
    }
    *out_index = (int)info.index;
    for (size_t i = 0; i < 3; i++)
        if (strcmp(info.api, apis[i]) == 0)
            return apis[i];
    return "";
}

bool context_is_cpu(PyObject *context)
{
    int index;
    const char *api = context_api(context, &index);
    if (!api)
        PyErr_Clear();
    return api && strcmp(api, "cpu") == 0;
}

static PyObject *context_id(PyObject *self, void *closure)
{
    uint64_t id;
    (void)closure;
    rnl_status status = rnl_context_id(handle_of(self), &id);
    return status == RNL_OK ? PyLong_FromUnsignedLongLong(id)
                            : raise_error(status);
}

static PyObject *context_default_stream(PyObject *self, void *closure)
{
    rnl_stream stream;
    (void)closure;
    rnl_status status = rnl_context_default_stream(handle_of(self), &stream);
    return status == RNL_OK ? wrap_borrowed(stream_type, stream, self)
                            : raise_error(status);
}

static PyObject *context_memory(PyObject *self, void *closure)
{
    size_t available, total;
    (void)closure;
    rnl_status status = rnl_context_memory(handle_of(self), &available, &total);
    return status == RNL_OK ? Py_BuildValue("(nn)", available, total)
                            : raise_error(status);
}

static PyObject *context_priorities(PyObject *self, void *closure)
{
    int least, greatest;
    (void)closure;
    rnl_status status =
        rnl_context_priority_range(handle_of(self), &least, &greatest);
    return status == RNL_OK ? Py_BuildValue("(ii)", least, greatest)
                            : raise_error(status);
}

static PyObject *context_native(PyObject *self, void *closure)
{
    void *native;
    (void)closure;
    rnl_status status = rnl_context_native(handle_of(self), &native);
    return status == RNL_OK ? PyLong_FromVoidPtr(native) : raise_error(status);
}

static PyGetSetDef context_fields[] = {
    {"device", context_device, NULL, "The Device it was opened from.", NULL},
    {"id", context_id, NULL, "Unique in this process.", NULL},
    {"default_stream", context_default_stream, NULL,
     "An ordinary stream that lives as long as the context.", NULL},
    {"memory", context_memory, NULL, "(free, total) bytes, now.", NULL},
    {"priority_range", context_priorities, NULL, "(least, greatest).", NULL},
    {"native", context_native, NULL, "The vendor's context, an int.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

// --- Methods -----------------------------------------------------------------

static PyObject *context_synchronize(PyObject *self, PyObject *args,
                                     PyObject *kwargs)
{
    return synchronize(context_wait, self, args, kwargs);
}

static PyObject *context_reason(PyObject *self, PyObject *args)
{
    int feature;
    const char *reason = "";
    rnl_status status;
    if (!PyArg_ParseTuple(args, "i:reason_against", &feature))
        return NULL;
    CALL_UNLOCKED(status, rnl_context_supports(handle_of(self),
                                               (rnl_feature)feature, &reason));
    if (status == RNL_OK)
        Py_RETURN_NONE;
    if (status != RNL_ERROR_UNSUPPORTED)
        return raise_error(status);
    return PyUnicode_FromString(reason);
}

static PyObject *context_supports(PyObject *self, PyObject *args)
{
    PyObject *reason = context_reason(self, args);
    if (!reason)
        return NULL;
    PyObject *result = PyBool_FromLong(reason == Py_None);
    Py_DECREF(reason);
    return result;
}

static PyObject *context_trim(PyObject *self, PyObject *args)
{
    size_t keep = 0;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "|O&:trim", to_count, &keep))
        return NULL;
    CALL_UNLOCKED(status, rnl_context_trim(handle_of(self), keep));
    return none_or_error(status);
}

static PyObject *context_pool_stats(PyObject *self, PyObject *ignored)
{
    rnl_pool_stats stats = {.struct_size = sizeof stats};
    (void)ignored;
    rnl_status status = rnl_context_pool_stats(handle_of(self), &stats);
    if (status != RNL_OK)
        return raise_error(status);
    return Py_BuildValue("{sn sn sn sn sK sK sK sK}", "live", stats.live,
                         "reserved", stats.reserved, "live_peak",
                         stats.live_peak, "reserved_peak", stats.reserved_peak,
                         "hits", (unsigned long long)stats.hits, "misses",
                         (unsigned long long)stats.misses, "trims",
                         (unsigned long long)stats.trims, "retries",
                         (unsigned long long)stats.retries);
}

static PyObject *peer_call(PyObject *self, PyObject *args,
                           rnl_status (*call)(rnl_context, rnl_context))
{
    PyObject *peer;
    rnl_status status;
    if (!PyArg_ParseTuple(args, "O&", to_context, &peer))
        return NULL;
    CALL_UNLOCKED(status, call(handle_of(self), handle_of(peer)));
    return none_or_error(status);
}

static PyObject *context_enable_peer(PyObject *self, PyObject *args)
{
    return peer_call(self, args, rnl_context_enable_peer);
}

static PyObject *context_disable_peer(PyObject *self, PyObject *args)
{
    return peer_call(self, args, rnl_context_disable_peer);
}

static PyObject *context_can_access_peer(PyObject *self, PyObject *args)
{
    PyObject *peer;
    bool can;
    if (!PyArg_ParseTuple(args, "O&:can_access_peer", to_context, &peer))
        return NULL;
    rnl_status status =
        rnl_context_can_access_peer(handle_of(self), handle_of(peer), &can);
    return status == RNL_OK ? PyBool_FromLong(can) : raise_error(status);
}

static PyObject *context_compiler(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    rnl_compiler_info *info = calloc(1, sizeof *info);
    rnl_status status;
    if (!info)
        return PyErr_NoMemory();
    info->struct_size = sizeof *info;
    CALL_UNLOCKED(status, rnl_compiler_get_info(handle_of(self), info));
    PyObject *result =
        status == RNL_OK
            ? Py_BuildValue("{ssssss}", "path", info->path, "version",
                            info->version, "target", info->target)
            : raise_error(status);
    free(info);
    return result;
}

static PyObject *context_repr(PyObject *self)
{
    int index;
    if (!handle_of(self))
        return PyUnicode_FromString("<runnel.Context, released>");
    const char *api = context_api(self, &index);
    if (api)
        return PyUnicode_FromFormat("<runnel.Context %s:%d>", api, index);
    PyErr_Clear();
    return PyUnicode_FromString("<runnel.Context, of the parent process>");
}

static PyMethodDef context_methods[] = {
    WRAPPER_METHODS(context),
    {"synchronize", (PyCFunction)(void (*)(void))context_synchronize,
     METH_VARARGS | METH_KEYWORDS,
     "synchronize(timeout=None): wait for all work submitted so far."},
    {"supports", context_supports, METH_VARARGS,
     "supports(feature): whether the context can do a Feature."},
    {"reason_against", context_reason, METH_VARARGS,
     "reason_against(feature): why it cannot; None where it can."},
    {"trim", context_trim, METH_VARARGS,
     "trim(keep=0): give memory that is kept back to the device."},
    {"pool_stats", context_pool_stats, METH_NOARGS,
     "Statistics of the pool of buffers, a dict."},
    {"can_access_peer", context_can_access_peer, METH_VARARGS, NULL},
    {"enable_peer", context_enable_peer, METH_VARARGS, NULL},
    {"disable_peer", context_disable_peer, METH_VARARGS, NULL},
    {"compiler", context_compiler, METH_NOARGS,
     "The compiler of this context's modules: path, version, target."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot context_slots[] = {
    {Py_tp_new, context_new},
    {Py_tp_dealloc, context_dealloc},
    {Py_tp_repr, context_repr},
    {Py_tp_methods, context_methods},
    {Py_tp_getset, context_fields},
    {Py_tp_doc, "Context(device=None, *, label=None, threads=0, "
                "pool_threshold=0, buffer_cache_size=0, kernel_limit=None)\n\n"
                "An opened device. `device` is a Device, a name such as "
                "'cuda:0', or None for the best one."},
    {0, NULL}};

static PyType_Spec context_spec = {"runnel._core.Context",
                                   sizeof(struct wrapper), 0,
                                   Py_TPFLAGS_DEFAULT, context_slots};

bool context_register(PyObject *module)
{
    return add_type(module, &context_spec, &context_type);
}
