// Wrappers: Python objects that hold one reference each.
#include "binding.h"

static PyObject *make(PyTypeObject *type, void *handle, PyObject *owner)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct wrapper *self = (struct wrapper *)allocate(type, 0);
    if (self) {
        atomic_init(&self->handle, handle);
        self->identity = handle;
        Py_XINCREF(owner);
        self->owner = owner;
    }
    return (PyObject *)self;
}

PyObject *wrap(PyTypeObject *type, void *handle, PyObject *owner,
               release_fn release)
{
    PyObject *self = make(type, handle, owner);
    if (!self)
        release(handle);
    return self;
}

PyObject *wrap_borrowed(PyTypeObject *type, void *handle, PyObject *owner)
{
    PyObject *self = make(type, handle, owner);
    if (self)
        ((struct wrapper *)self)->borrowed = true;
    return self;
}

rnl_status wrapper_release(PyObject *object, release_fn release)
{
    struct wrapper *self = (struct wrapper *)object;
    void *handle = atomic_exchange(&self->handle, NULL);
    if (!handle || self->borrowed)
        return RNL_OK;
    return release_or_retire(release, handle);
}

// In the child of a fork, and with a context that is lost, releasing fails;
// there is nothing to be done about it, and nobody to be told.
void wrapper_free(PyObject *object, release_fn release)
{
    PyTypeObject *type = Py_TYPE(object);
    wrapper_release(object, release);
    Py_XDECREF(((struct wrapper *)object)->owner);
    Py_XDECREF(((struct wrapper *)object)->kept);
    freefunc free_memory = (freefunc)PyType_GetSlot(type, Py_tp_free);
    free_memory(object);
    Py_DECREF(type);
}

PyObject *wrapper_enter(PyObject *self, PyObject *ignored)
{
    (void)ignored;
    Py_INCREF(self);
    return self;
}

PyObject *wrapper_compare(PyObject *left, PyObject *right, int operation)
{
    if (Py_TYPE(left) != Py_TYPE(right) ||
        (operation != Py_EQ && operation != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    bool same = ((struct wrapper *)left)->identity ==
                ((struct wrapper *)right)->identity;
    return PyBool_FromLong(same == (operation == Py_EQ));
}

Py_hash_t hash_of_handle(const void *handle)
{
    uintptr_t number = (uintptr_t)handle;
    Py_hash_t hash = (Py_hash_t)(number * 0x9E3779B97F4A7C15u >> 8);
    return hash == -1 ? 1 : hash;
}

Py_hash_t wrapper_hash(PyObject *self)
{
    return hash_of_handle(((struct wrapper *)self)->identity);
}

PyObject *wrapper_context(PyObject *self, void *closure)
{
    (void)closure;
    PyObject *context = context_of(self);
    Py_INCREF(context);
    return context;
}

PyObject *context_of(PyObject *object)
{
    while (!is_a(object, context_type))
        object = ((struct wrapper *)object)->owner;
    return object;
}

bool add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out_type)
{
    *out_type = (PyTypeObject *)PyType_FromSpec(spec);
    return *out_type && PyModule_AddType(module, *out_type) == 0;
}
