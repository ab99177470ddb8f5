// The extension module runnel._core: what its files share. Written on the
// limited API of CPython 3.11, the first with the buffer protocol, so that one
// binary serves that version and every later one.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <runnel/runnel.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

// --- Wrappers ----------------------------------------------------------------

// A Python object that has one reference to an object of the library. Handles
// are checked by the library at every call, so a wrapper whose `handle` was
// released, by any thread, gives an error and no crash.
struct wrapper {
    PyObject_HEAD _Atomic(void *) handle;  // NULL: released
    PyObject *owner;  // the Context; of a Context the default stream
    bool borrowed;    // nothing to release
    void *identity;   // the handle, also behind the release
    PyObject *kept;   // whose object this one stands for, or NULL
};

struct layout {
    rnl_element element;
    char format[4];    // of the struct module; "" for what it has no code for
    size_t item_size;  // bytes
};

struct buffer_wrapper {
    struct wrapper base;
    _Atomic(void *) exposed;  // one more reference: an address was given out
    struct layout layout;
    char format[24];  // of the buffer protocol
    bool readonly;
    size_t size;         // bytes
    void *host_pointer;  // NULL where the host cannot reach the bytes
    void *device_address;
    int dimensions;
    Py_ssize_t *shape;  // and behind them the strides, in bytes
};

struct function_wrapper {
    struct wrapper base;
    const rnl_parameter *parameters;
    size_t parameter_count;
    rnl_function kept;  // keeps the parameters, also behind release()
};

extern PyTypeObject *device_type, *context_type, *stream_type, *event_type,
    *buffer_type, *module_type, *function_type, *graph_type, *exec_type,
    *node_type;

static inline void *handle_of(PyObject *object)
{
    return atomic_load_explicit(&((struct wrapper *)object)->handle,
                                memory_order_relaxed);
}

static inline bool is_a(PyObject *object, PyTypeObject *type)
{
    return Py_TYPE(object) == type || PyType_IsSubtype(Py_TYPE(object), type);
}

typedef rnl_status (*release_fn)(void *handle);

// Makes a wrapper of `type` with a handle whose reference it takes over, also
// where it fails, and with a new reference to `owner`.
PyObject *wrap(PyTypeObject *type, void *handle, PyObject *owner,
               release_fn release);
PyObject *wrap_borrowed(PyTypeObject *type, void *handle, PyObject *owner);
rnl_status wrapper_release(PyObject *self, release_fn release);
void wrapper_free(PyObject *self, release_fn release);
// The methods that every counted wrapper has: release, __enter__, __exit__.
PyObject *wrapper_enter(PyObject *self, PyObject *ignored);

#define WRAPPER_FUNCTIONS(name)                                        \
    static rnl_status name##_drop(void *handle)                        \
    {                                                                  \
        return rnl_##name##_release(handle);                           \
    }                                                                  \
    static void name##_dealloc(PyObject *self)                         \
    {                                                                  \
        wrapper_free(self, name##_drop);                               \
    }                                                                  \
    static PyObject *name##_release(PyObject *self, PyObject *ignored) \
    {                                                                  \
        (void)ignored;                                                 \
        return none_or_error(wrapper_release(self, name##_drop));      \
    }

#define WRAPPER_METHODS(name)                                                 \
    {"release", name##_release, METH_NOARGS,                                  \
     "Drop the reference; using the object later is an error. Never waits."}, \
        {"__enter__", wrapper_enter, METH_NOARGS, NULL},                      \
    {                                                                         \
        "__exit__", name##_release, METH_VARARGS, NULL                        \
    }

// Equality of wrappers that stand for one object: a device, the default stream,
// a body of a node are wrapped anew each time.
PyObject *wrapper_compare(PyObject *left, PyObject *right, int operation);
Py_hash_t wrapper_hash(PyObject *self);
Py_hash_t hash_of_handle(const void *handle);

// The owner that is a Context; borrowed.
PyObject *context_of(PyObject *wrapper);
// The same as an attribute.
PyObject *wrapper_context(PyObject *self, void *closure);

// --- Failures ----------------------------------------------------------------

// Calls of the library, with the GIL released around each. `status` is the
// variable that takes the result.
#define CALL_UNLOCKED(status, call)             \
    do {                                        \
        Py_BEGIN_ALLOW_THREADS status = (call); \
        Py_END_ALLOW_THREADS                    \
    } while (0)

// Says that the object is released; false.
bool refuse_released(PyObject *object);

// False with an Error where the object was released: without a handle it would
// be none at all to calls for which it is optional.
static inline bool is_alive(PyObject *object)
{
    return handle_of(object) || refuse_released(object);
}

// Raises the last failure of this thread as a runnel.Error; NULL.
PyObject *raise_error(rnl_status status);
PyObject *none_or_error(rnl_status status);
// A bool, whether the work is done.
PyObject *ready_or_error(rnl_status status);
// A str; bytes that are not UTF-8 are replaced.
PyObject *text_of(const char *text);
extern PyObject *error_factory;  // runnel._errors.make

// --- Values that callers give ------------------------------------------------

// "O&" converters.
int to_context(PyObject *object, void *out);  // PyObject *, borrowed
int to_stream(PyObject *object, void *out);   // rnl_stream
int to_event(PyObject *object, void *out);
int to_buffer(PyObject *object, void *out);    // struct buffer_wrapper *
int to_function(PyObject *object, void *out);  // PyObject *, borrowed
int to_graph(PyObject *object, void *out);     // PyObject *, borrowed
int to_exec(PyObject *object, void *out);
int to_node(PyObject *object, void *out);     // rnl_node
int to_timeout(PyObject *object, void *out);  // None or seconds: uint64_t ns
int to_limit(PyObject *object, void *out);    // the same above 0; None: 0
int to_size(PyObject *object, void *out);     // None: RNL_WHOLE
int to_count(PyObject *object, void *out);    // size_t, at most a Py_ssize_t
int to_int(PyObject *object, void *out);
int to_uint32(PyObject *object, void *out);
int to_dim3(PyObject *object, void *out);     // int or up to 3 of them
int to_address(PyObject *object, void *out);  // int: void *
int to_uint64(PyObject *object, void *out);
bool writable(const struct buffer_wrapper *buffer, const char *what);
// Whether a value fits a word of 32 or 64 bits.
bool fits_word(uint64_t value, uint32_t bits);

// --- Borrowed memory ---------------------------------------------------------

// What keeps memory of another owner alive while the library uses it: one of
// `views`, `object`, `run` and `release`.
struct keeper {
    struct keeper *next;
    Py_buffer views[2];
    unsigned view_count;
    PyObject *object;
    void (*run)(void *data);
    void *data;
    rnl_status (*release)(void *handle);  // of `data`, a handle
};

struct keeper *keeper_create(void);
// Lets go at once; the GIL is held.
void keeper_free(struct keeper *keeper);
// Lets go when the interpreter gets to it: for any thread, without the GIL.
void keeper_retire(void *keeper);
void keeper_retire_memory(void *pointer, size_t size, void *keeper);
// Drops a reference; where that is not permitted, as in a host function, later.
rnl_status release_or_retire(release_fn release, void *handle);
// Lets go of all that was retired.
void keepers_collect(void);

// --- The interpreter ---------------------------------------------------------

// Makes this interpreter the one that uses the library.
bool interpreter_take(PyObject *module);
bool on_main_thread(void);
// Has the interpreter call a function soon; false where it takes no calls.
bool call_when_possible(int (*function)(void *));

struct host_call_scope {
    PyGILState_STATE state;
    unsigned forks;
};

// Takes the GIL on a thread of the library; false when the interpreter has
// ended. Pairs with host_call_end.
bool host_call_begin(struct host_call_scope *out);
// Does not return in the child of a fork that the function made.
void host_call_returned(const struct host_call_scope *scope);
void host_call_end(const struct host_call_scope *scope);

// --- Waits -------------------------------------------------------------------

typedef rnl_status (*wait_fn)(void *handle, uint64_t timeout_ns);

// Waits without the GIL, and lets signals through meanwhile; false when a
// signal's handler raised. Work that other threads add in between may be waited
// for as well.
bool wait_for(wait_fn wait, void *handle, uint64_t timeout_ns,
              rnl_status *out_status);
rnl_status context_wait(void *context, uint64_t timeout_ns);
rnl_status stream_wait(void *stream, uint64_t timeout_ns);
rnl_status event_wait(void *event, uint64_t timeout_ns);
// The method synchronize(timeout=None); lets go of what was retired.
PyObject *synchronize(wait_fn wait, PyObject *self, PyObject *args,
                      PyObject *kwargs);
// Waits before a call that cannot be ended; false as with wait_for.
bool stream_idle(rnl_stream stream);

// --- Buffers and arrays ------------------------------------------------------

bool layout_of_dtype(PyObject *dtype, struct layout *out);
void layout_of_format(const char *format, size_t item_size, struct layout *out);
// Whether kernels can read the numbers of a format of the buffer protocol.
bool is_native(const char *format);
void layout_of_element(rnl_element element, struct layout *out);
const char *layout_name(const struct layout *layout);
// A Buffer for a handle whose reference it takes over, also where it fails.
PyObject *buffer_make(rnl_buffer handle, PyObject *context,
                      const struct layout *layout, const Py_ssize_t *shape,
                      int dimensions, bool readonly);
// A Buffer of the memory of an array, of whatever protocol it has, safe for
// work on `stream`; NULL: on the default stream.
PyObject *buffer_from_array(PyObject *context, PyObject *array,
                            rnl_stream stream);
bool context_is_cpu(PyObject *context);
const char *context_api(PyObject *context, int *out_index);
bool shape_of(PyObject *given, Py_ssize_t shape[8], int *out_dimensions,
              Py_ssize_t *out_count);

#define MOST_DIMENSIONS 8

// --- Launches ----------------------------------------------------------------

#define MOST_ARGUMENTS 32

struct arguments {
    rnl_arg items[MOST_ARGUMENTS];
    rnl_arg *list;  // items, or memory where there are more
    rnl_args args;
    PyObject *kept;     // list of objects needed until the call; or NULL
    rnl_stream stream;  // that arrays are made safe for; NULL: the default one
};

bool arguments_read(struct arguments *out, rnl_stream stream,
                    PyObject *function, PyObject *const *given,
                    Py_ssize_t count);
void arguments_finish(struct arguments *arguments);
// Reads grid, block and the options by keyword.
bool launch_read(rnl_launch *out, rnl_launch_attribute *attribute,
                 PyObject *grid, PyObject *block, PyObject *const *values,
                 PyObject *names);
void site_of_caller(const char **out_file, int *out_line);

// What is done with a launch whose shape and arguments are read.
typedef rnl_status (*submit_fn)(void *where, rnl_function function,
                                const rnl_launch *launch, const rnl_args *args);

extern PyObject *stream_name;  // "stream"
bool launch_register(void);
PyObject *launch(rnl_stream stream, PyObject *function, PyObject *const *given,
                 Py_ssize_t count, PyObject *names);
PyObject *launch_of_tuple(submit_fn submit, void *where, PyObject *function,
                          PyObject *args, PyObject *kwargs, const char *own);
rnl_status submit_to_stream(void *stream, rnl_function function,
                            const rnl_launch *launch, const rnl_args *args);
PyObject *compile_function(PyObject *module, PyObject *args, PyObject *kwargs);

// A host function of Python.
PyObject *enqueue_host_function(PyObject *self, PyObject *args,
                                PyObject *kwargs);
bool host_function_read(PyObject *function, PyObject *arguments, bool always,
                        rnl_host_fn *out_function, struct keeper **out_keeper);
// Keeps `keeper` until the stream got so far; takes it over in any case.
bool keep_until_here(rnl_stream stream, struct keeper *keeper);

// --- Copies, fills and graphs ------------------------------------------------

PyObject *stream_enqueue_copy(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *stream_copy_and_wait(PyObject *self, PyObject *args,
                               PyObject *kwargs);
PyObject *stream_enqueue_fill(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *stream_fill_and_wait(PyObject *self, PyObject *args,
                               PyObject *kwargs);
// The bytes of `value` as an element.
bool pattern_of(const struct layout *layout, PyObject *value, uint64_t *out);
// A sequence of Nodes, or NULL for none; the caller frees the result.
bool nodes_read(PyObject *given, rnl_node **out_nodes, size_t *out_count);
// A Graph for a handle whose reference it takes over.
PyObject *graph_make(rnl_graph handle, PyObject *context);
PyObject *node_make(PyObject *graph, rnl_node node);
bool node_register(PyObject *module);

PyObject *graph_add_function(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_add_copy(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_add_fill(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_add_host_function(PyObject *self, PyObject *args,
                                  PyObject *kwargs);
PyObject *graph_add_empty(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_add_event_record(PyObject *self, PyObject *args,
                                 PyObject *kwargs);
PyObject *graph_add_event_wait(PyObject *self, PyObject *args,
                               PyObject *kwargs);
PyObject *graph_add_child(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_add_condition(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *graph_add_write_value32(PyObject *self, PyObject *args,
                                  PyObject *kwargs);
PyObject *graph_add_write_value64(PyObject *self, PyObject *args,
                                  PyObject *kwargs);
PyObject *graph_add_wait_value32(PyObject *self, PyObject *args,
                                 PyObject *kwargs);
PyObject *graph_add_wait_value64(PyObject *self, PyObject *args,
                                 PyObject *kwargs);
PyObject *exec_set_function(PyObject *self, PyObject *args, PyObject *kwargs);

// --- Types -------------------------------------------------------------------

bool add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out_type);
bool device_register(PyObject *module);
bool context_register(PyObject *module);
bool stream_register(PyObject *module);
bool event_register(PyObject *module);
bool buffer_register(PyObject *module);
bool function_register(PyObject *module);
bool graph_register(PyObject *module);

PyObject *buffer_dlpack(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *buffer_dlpack_device(PyObject *self, PyObject *ignored);
PyObject *buffer_array_interface(PyObject *self, void *closure);
PyObject *buffer_cuda_interface(PyObject *self, void *closure);
bool buffer_expose(PyObject *object);
PyObject *buffer_shape(PyObject *object, void *closure);
PyObject *from_dlpack(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *from_array(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *set_log(PyObject *module, PyObject *args, PyObject *kwargs);
