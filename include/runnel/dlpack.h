// DLPack: memory exchanged with tensors of other libraries, without a copy.
//
// NumPy, PyTorch, CuPy, JAX and others give tensors as DLPack's struct
// DLManagedTensorVersioned, version 1. This header names that struct and does
// not define it: <dlpack/dlpack.h> has its layout, and Runnel does not need it.
//
// Order:    neither side waits for the other. Before a tensor is given away,
//           synchronize the streams that write its memory; before memory of an
//           imported tensor is used, the producer's work must be done.
// Lifetime: a buffer of a tensor calls the tensor's deleter when the last
//           reference is gone and all work that uses the buffer is done. A
//           tensor of a buffer keeps the buffer's memory until its own deleter
//           is called, which may happen on any thread and inside callbacks,
//           also when the buffer's handle is long dead.
#ifndef RUNNEL_DLPACK_H
#define RUNNEL_DLPACK_H

#include <runnel/buffer.h>

struct DLManagedTensorVersioned;  // of <dlpack/dlpack.h>

// How a tensor becomes a buffer.
typedef struct rnl_dlpack_import {
    size_t struct_size;
    bool read_only;     // nothing will write to the buffer, which Runnel does
                        // not check; tensors of it are read-only. Without it
                        // a read-only tensor is refused
    const char *label;  // shown in errors and logs; copied
} rnl_dlpack_import;

#define RNL_DLPACK_IMPORT(...) RNL_LITERAL(rnl_dlpack_import, __VA_ARGS__)

// How a buffer becomes a tensor: rows packed, the last axis fastest.
typedef struct rnl_dlpack_export {
    size_t struct_size;
    rnl_element element;   // UNKNOWN: the buffer's own, or else bytes
    const int64_t *shape;  // copied; NULL: one axis, all whole elements
    size_t axis_count;     // at most 64; 0 with a shape: a single element
    bool read_only;        // the tensor says that nobody may write to it
} rnl_dlpack_export;

#define RNL_DLPACK_EXPORT(...) RNL_LITERAL(rnl_dlpack_export, __VA_ARGS__)

RNL_BEGIN_DECLS

// Makes a buffer of a tensor's memory, and takes the tensor over; after a
// failure it stays the caller's. The buffer has the tensor's bytes and, where
// Runnel has it, the tensor's element. RNL_ERROR_UNSUPPORTED for another major
// version, for memory that kernels of the context do not reach (such as that of
// another GPU), and for elements that are no whole bytes.
// RNL_ERROR_INVALID_ARGUMENT for strides other than those of packed rows, for
// an address to which the elements are not aligned, and for a read-only tensor
// without `read_only`. RNL_ERROR_OUT_OF_RANGE for more
// bytes than there are addresses. Does not block.
RNL_API rnl_status
rnl_buffer_from_dlpack(rnl_context context,
                       struct DLManagedTensorVersioned *tensor,
                       const rnl_dlpack_import *options,
                       rnl_buffer *out_buffer);

// Makes a tensor of a buffer, or of a slice, from its first byte on. The caller
// passes it on, or calls its deleter. RNL_ERROR_OUT_OF_RANGE for a shape that
// needs more bytes than the buffer has, RNL_ERROR_INVALID_ARGUMENT for one that
// is negative and for an address to which the elements are not aligned. Does
// not block.
RNL_API rnl_status
rnl_buffer_to_dlpack(rnl_buffer buffer, const rnl_dlpack_export *options,
                     struct DLManagedTensorVersioned **out_tensor);

RNL_END_DECLS

#endif
