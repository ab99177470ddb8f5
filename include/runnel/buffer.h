// Buffers: memory with an owner.
//
// Lifetime: counted; keeps its context alive. Work in flight keeps the buffers
//           it uses, so a buffer may be released right after the launch that
//           uses it. The memory goes back in the order of the buffer's release
//           stream: the stream it was created on, or the default stream. It is
//           kept for other buffers: <runnel/memory.h>.
// Threads:  safe. The bytes themselves are the caller's to guard.
#ifndef RUNNEL_BUFFER_H
#define RUNNEL_BUFFER_H

#include <runnel/status.h>

// Where a buffer's bytes are and who can reach them.
typedef enum rnl_memory_kind {
    RNL_MEMORY_DEVICE = 0,  // device memory; on cpu, ordinary memory
    RNL_MEMORY_HOST = 1,    // page-locked host memory that the device reaches
    RNL_MEMORY_MANAGED = 2, // one address for both, moved by the driver
} rnl_memory_kind;

// Options of a new buffer. If `element` is known, a launch that passes the
// buffer, or a slice of it, for a pointer to other elements fails with
// RNL_ERROR_ARGUMENT_MISMATCH: a buffer of double for a `float *`. Pointers to
// structs, pointers and void fit every buffer, and so do all pointers of
// kernels on a GPU, where the types of parameters are not known.
typedef struct rnl_buffer_options {
    size_t struct_size;
    rnl_memory_kind kind;
    bool zeroed;        // all bytes 0 before the first use in stream order
    // Other processes can open it: <runnel/interprocess.h>. Memory of its own,
    // outside the pool; only DEVICE, and only by rnl_buffer_create.
    bool interprocess;
    const char *label;  // shown in errors and logs; copied
    rnl_element element;
} rnl_buffer_options;

#define RNL_BUFFER_OPTIONS(...) RNL_LITERAL(rnl_buffer_options, __VA_ARGS__)

// How foreign memory is wrapped. `deleter` is called when the last reference to
// the buffer is gone and all work that uses it is done. Without one the memory
// is borrowed and must outlive the buffer and the work that uses it.
typedef struct rnl_wrap_options {
    size_t struct_size;
    rnl_memory_kind kind;    // what the pointer is
    rnl_deleter_fn deleter;
    void *user_data;
    const char *label;       // copied
    rnl_element element;     // as in rnl_buffer_options
} rnl_wrap_options;

#define RNL_WRAP_OPTIONS(...) RNL_LITERAL(rnl_wrap_options, __VA_ARGS__)

// The users of managed memory, as rnl_enqueue_attach said.
typedef enum rnl_attach_mode {
    RNL_ATTACH_GLOBAL = 0,  // every stream, and the host
    RNL_ATTACH_HOST = 1,    // the host alone
    RNL_ATTACH_SINGLE = 2,  // the stream it was attached on, and the host
} rnl_attach_mode;

// Properties of a buffer. `label` lives as long as the buffer.
typedef struct rnl_buffer_info {
    size_t struct_size;
    uint64_t id;            // unique in this process, never reused
    rnl_context context;    // borrowed, never NULL
    rnl_memory_kind kind;
    size_t size;            // bytes
    void *device_address;   // what kernels see
    void *host_pointer;     // NULL where the host cannot reach the bytes
    bool borrowed;          // wrapped without a deleter, or a module's global
    rnl_buffer parent;      // of a slice, while that one lives; else NULL
    const char *label;
    rnl_attach_mode attach_mode;  // as last asked for
    rnl_element element;    // of a slice: the parent's
} rnl_buffer_info;

// The use of a mapping: a direction that is not asked for is not copied.
typedef enum rnl_map_mode {
    RNL_MAP_READ_WRITE = 0,
    RNL_MAP_READ = 1,
    RNL_MAP_WRITE = 2,  // the old contents are undefined
} rnl_map_mode;

RNL_BEGIN_DECLS

// --- Creation and release --------------------------------------------------

// Creates a buffer whose memory is ready when the call returns. A size of 0
// gives a buffer without memory. RNL_ERROR_OUT_OF_MEMORY after trimming pools
// and trying again. Stands for cuMemAlloc, cuMemHostAlloc, cuMemAllocManaged.
RNL_API rnl_status rnl_buffer_create(rnl_context context, size_t size,
                                     const rnl_buffer_options *options,
                                     rnl_buffer *out_buffer);

// Creates a buffer of `count` elements, which launches compare with what their
// kernels point to, like `element` of the options. RNL_ERROR_OUT_OF_RANGE when
// the size in bytes is beyond SIZE_MAX, RNL_ERROR_INVALID_ARGUMENT for
// RNL_ELEMENT_UNKNOWN, and for options with another element.
RNL_API rnl_status rnl_buffer_create_typed(rnl_context context,
                                           rnl_element element, size_t count,
                                           const rnl_buffer_options *options,
                                           rnl_buffer *out_buffer);

// The bytes of an element; 0 for RNL_ELEMENT_UNKNOWN and for a number that is
// no rnl_element. Never fails; may be called inside callbacks.
RNL_API size_t rnl_element_size(rnl_element element);

// Creates a buffer in stream order: its memory may be used by work enqueued on
// `stream` after this call, and elsewhere once the stream got so far. A failed
// allocation is reported at the call where it can be, else as the stream's
// failure. Stands for cuMemAllocAsync.
RNL_API rnl_status rnl_enqueue_buffer_create(rnl_stream stream, size_t size,
                                             const rnl_buffer_options *options,
                                             rnl_buffer *out_buffer);

// Makes a buffer of memory that Runnel did not allocate.
RNL_API rnl_status rnl_buffer_wrap(rnl_context context, void *pointer,
                                   size_t size,
                                   const rnl_wrap_options *options,
                                   rnl_buffer *out_buffer);

// A buffer that is `size` bytes (or RNL_WHOLE) of `buffer` from `offset`; keeps
// its memory alive. A slice of a slice does not keep the first slice.
RNL_API rnl_status rnl_buffer_slice(rnl_buffer buffer, size_t offset,
                                    size_t size, rnl_buffer *out_slice);

// Adds a reference for the caller.
RNL_API rnl_status rnl_buffer_retain(rnl_buffer buffer);

// Drops one; never blocks.
RNL_API rnl_status rnl_buffer_release(rnl_buffer buffer);

// Drops a reference in stream order: the memory goes back when `stream` got so
// far. If this was the last reference, the handle is dead at once; a failure
// leaves the buffer as it was. Stands for cuMemFreeAsync.
RNL_API rnl_status rnl_enqueue_buffer_release(rnl_stream stream,
                                              rnl_buffer buffer);

// Changes the stream in whose order the memory will go back; of a slice: the
// whole's. Wrapped memory with a deleter has none (RNL_ERROR_INVALID_ARGUMENT):
// rnl_enqueue_buffer_release makes it wait for one.
RNL_API rnl_status rnl_buffer_set_release_stream(rnl_buffer buffer,
                                                 rnl_stream stream);

// Fills `*out_info`, whose struct_size the caller has set.
RNL_API rnl_status rnl_buffer_get_info(rnl_buffer buffer,
                                       rnl_buffer_info *out_info);

// --- Reaching the bytes from the host --------------------------------------

// Host address of a HOST or MANAGED buffer, and of any buffer of a cpu context;
// RNL_ERROR_UNSUPPORTED for others (map them). Work in flight on the buffer is
// the caller's to wait for.
RNL_API rnl_status rnl_buffer_host_pointer(rnl_buffer buffer,
                                           void **out_pointer);

// Waits for `stream`, then gives a host view of the whole buffer in
// `out_pointer`: the bytes themselves where the host can reach them, otherwise
// a copy. One mapping of a buffer at a time (RNL_ERROR_INVALID_STATE).
RNL_API rnl_status rnl_buffer_map_and_wait(rnl_stream stream,
                                           rnl_buffer buffer,
                                           rnl_map_mode mode,
                                           void **out_pointer);

// Ends the mapping: the bytes are in the buffer when the call returns, and the
// pointer is dead.
RNL_API rnl_status rnl_buffer_unmap_and_wait(rnl_stream stream,
                                             rnl_buffer buffer);

// --- Raw page-locked host memory -------------------------------------------

// Allocates `size` bytes of page-locked memory, not tracked by any buffer: no
// work may be enqueued that uses it after rnl_host_free. Stands for
// cuMemHostAlloc.
RNL_API rnl_status rnl_host_allocate(rnl_context context, size_t size,
                                     void **out_pointer);

// Frees it without waiting. What the context has in flight may still use the
// memory, which is kept until that is done. It goes back with a later call of
// rnl_host_allocate, rnl_host_free, rnl_context_synchronize, rnl_context_trim,
// or with the context. Work of other contexts is the caller's to wait for. NULL
// is fine; a pointer that did not come from rnl_host_allocate of this context,
// or was freed, gives RNL_ERROR_INVALID_ARGUMENT. Stands for cuMemFreeHost.
RNL_API rnl_status rnl_host_free(rnl_context context, void *pointer);

// Page-locks ordinary memory so that copies from and to it are fast. Ranges
// must not overlap (RNL_ERROR_INVALID_ARGUMENT). Drivers refuse copies of what
// begins in one and ends outside. cpu: checked and remembered,
// without further effect. Stands for cuMemHostRegister.
RNL_API rnl_status rnl_host_register(rnl_context context, void *pointer,
                                     size_t size);

// Undoes it at once; `pointer` is the start that was registered. Copies in
// flight go on. The memory itself is the caller's to keep until they are done.
RNL_API rnl_status rnl_host_unregister(rnl_context context, void *pointer);

RNL_END_DECLS

#endif
