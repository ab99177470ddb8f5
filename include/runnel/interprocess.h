// Memory and events that several processes of one user share, on one machine.
//
// The first process creates a buffer with `.interprocess = true`, exports it,
// and sends the handle's bytes to the second by any means (a pipe, a socket, a
// file). The second imports a buffer of its own, with the same bytes behind.
//
// Runnel orders no work between processes by itself. Synchronize the stream
// that wrote before you tell the other process that the bytes are there, or
// have it wait for an event that was made with `.interprocess = true`.
//
// Lifetime: an imported buffer is counted like any other. On cpu the memory
//           lives until the last process that has it lets go, also when the
//           exporter releases its buffer or is killed. On cuda the exporter
//           must keep its buffer until every importer has released its own:
//           CUDA leaves open what happens to those that are left. A handle
//           can be opened while the exporting process lives and its buffer
//           does; on cuda a stale one may find memory that came later.
// Threads:  safe. The bytes are the callers' to guard, across processes, too.
// Security: a handle is untrusted input, and every byte of it is checked. It
//           is no secret and gives no rights: the system lets in processes of
//           the same user only.
#ifndef RUNNEL_INTERPROCESS_H
#define RUNNEL_INTERPROCESS_H

#include <runnel/buffer.h>
#include <runnel/event.h>

// Names an exported buffer in another process. Plain bytes without pointers;
// copy them as they are. Their layout is Runnel's and may change with each
// version: both processes should use the same one.
typedef struct rnl_ipc_handle {
    unsigned char bytes[128];
} rnl_ipc_handle;

RNL_BEGIN_DECLS

// Writes the handle of a buffer that was created with `.interprocess`;
// RNL_ERROR_INVALID_ARGUMENT for others: of a slice, export the whole; what was
// imported is exported by its first owner only. Any number of calls give the
// same handle, and any number of processes may import it. Does not block.
// Stands for cuIpcGetMemHandle.
RNL_API rnl_status rnl_buffer_export(rnl_buffer buffer,
                                     rnl_ipc_handle *out_handle);

// Makes a buffer of `context` with the memory that `handle` names. Its size is
// the exporter's. Device addresses differ between processes, and on the cpu
// between imports. Kernels, copies, slices and
// host pointers work as on other buffers; rnl_buffer_set_release_stream gives
// RNL_ERROR_INVALID_ARGUMENT. May block for as long as the system takes to map
// the memory. Stands for cuIpcOpenMemHandle, releasing the buffer for
// cuIpcCloseMemHandle.
//
// RNL_ERROR_UNSUPPORTED without RNL_FEATURE_INTERPROCESS_MEMORY.
// RNL_ERROR_INVALID_ARGUMENT: the bytes are damaged, no handle at all, of
// another version, of another api than the context's, on cuda of another device
// or smaller than they say, or of this very process (use the buffer itself).
// RNL_ERROR_IO: the system refuses, as for a process of another user.
// RNL_ERROR_NOT_FOUND: the exporting process ended or released its buffer, or
// cannot be seen from here (another container).
RNL_API rnl_status rnl_buffer_import(rnl_context context,
                                     const rnl_ipc_handle *handle,
                                     rnl_buffer *out_buffer);

// Writes the handle of an event that was created with `.interprocess`, or was
// imported; RNL_ERROR_INVALID_ARGUMENT for others. Does not block. Stands for
// cuIpcGetEventHandle.
RNL_API rnl_status rnl_event_export(rnl_event event,
                                    rnl_ipc_handle *out_handle);

// Makes an event of `context` that stands for the event of `handle`: each
// process can record, query and wait for it, and means the last record that any
// process made. Waits and queries take that record when they are called. When
// it fails, because it is refused, its stream fails or its process ends first,
// streams that wait for it fail with RNL_ERROR_DEPENDENCY_FAILED, and so do
// rnl_event_query and rnl_event_synchronize. Does not block. Stands for
// cuIpcOpenEventHandle.
//
// Errors: as rnl_buffer_import, with RNL_FEATURE_INTERPROCESS. The device may
// be another one than the exporter's.
RNL_API rnl_status rnl_event_import(rnl_context context,
                                    const rnl_ipc_handle *handle,
                                    rnl_event *out_event);

RNL_END_DECLS

#endif
