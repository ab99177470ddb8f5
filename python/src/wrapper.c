// Wrappers: Python objects that hold one reference each.
#include "binding.h"

static PyObject *make(PyTypeObject *type, void *handle, PyObject *owner)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    struct wrapper *self = (struct wrapper *)allocate(type, 0);
    if (self) {
        atomic_init(&self->handle, handle);
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
