// Copies and fills.
//
// Every form takes its stream first and is asynchronous; the form that ends in
// `_and_wait` also waits for the stream, and is the quicker way to copy memory
// that is not page-locked: the caller copies, and no thread is woken.
// Ranges of buffers are checked (RNL_ERROR_OUT_OF_RANGE); source and
// destination may not overlap (RNL_ERROR_INVALID_ARGUMENT). Buffers may belong
// to other contexts of the same api, which makes a peer copy. Buffers are kept
// alive until the work is done; memory behind a raw pointer is the caller's
// until then.
//
// A size of RNL_WHOLE is the rest of the buffer from its offset on, and may be
// 0. Two buffers must have rests of one size: copying the smaller would hide
// a mistake. Refused (RNL_ERROR_INVALID_ARGUMENT) between raw pointers, and for
// more than one row.
#ifndef RUNNEL_COPY_H
#define RUNNEL_COPY_H

#include <runnel/status.h>

// One end of a copy: a buffer, or a raw pointer (host memory, or a device
// address of the stream's context) with `buffer` NULL.
typedef struct rnl_place {
    rnl_buffer buffer;
    void *pointer;
    size_t offset;       // bytes from the start of the buffer or pointer
    size_t row_pitch;    // bytes from row to row; 0: the rows are packed
    size_t slice_pitch;  // bytes from slice to slice; 0: slices are packed
} rnl_place;

// A copy of `depth` slices of `height` rows of `width` bytes; a height or depth
// of 0 counts as 1, a width of 0 copies nothing. row_pitch must be 0 or at
// least width, slice_pitch 0 or at least height rows. Source memory is only
// read, also behind a raw pointer. Stands for cuMemcpy3D.
typedef struct rnl_copy {
    size_t struct_size;
    rnl_place to, from;
    size_t width, height, depth;
} rnl_copy;

#define RNL_COPY(...) RNL_LITERAL(rnl_copy, __VA_ARGS__)

// A fill of the same shape with one pattern. A GPU refuses to fill memory of
// the host that is not page-locked.
typedef struct rnl_fill {
    size_t struct_size;
    rnl_place to;
    size_t width, height, depth;  // width in bytes, a multiple of the pattern
    uint64_t pattern;             // its low pattern_size bytes
    size_t pattern_size;          // 1, 2, 4 or 8 bytes
} rnl_fill;

#define RNL_FILL(...) RNL_LITERAL(rnl_fill, __VA_ARGS__)

RNL_BEGIN_DECLS

// --- Copies ----------------------------------------------------------------

// Copies `size` bytes between two raw pointers. Stands for cuMemcpyAsync.
RNL_API rnl_status rnl_enqueue_copy(rnl_stream stream, void *to,
                                    const void *from, size_t size);

// Copies `size` bytes of host memory into `to` from byte `offset` on. Stands
// for cuMemcpyHtoDAsync.
RNL_API rnl_status rnl_enqueue_copy_to_buffer(rnl_stream stream, rnl_buffer to,
                                              size_t offset, const void *from,
                                              size_t size);

// Copies `size` bytes of `from`, from byte `offset` on, into host memory.
// Stands for cuMemcpyDtoHAsync.
RNL_API rnl_status rnl_enqueue_copy_from_buffer(rnl_stream stream, void *to,
                                                rnl_buffer from, size_t offset,
                                                size_t size);

// Copies `size` bytes from buffer to buffer. Stands for cuMemcpyDtoDAsync and
// cuMemcpyPeerAsync.
RNL_API rnl_status rnl_enqueue_copy_buffer(rnl_stream stream, rnl_buffer to,
                                           size_t to_offset, rnl_buffer from,
                                           size_t from_offset, size_t size);

// The general form: any two places, up to three dimensions.
RNL_API rnl_status rnl_enqueue_copy_region(rnl_stream stream,
                                           const rnl_copy *copy);

// `count` general copies in one call, done in any order among themselves. All
// are checked before the first is enqueued.
RNL_API rnl_status rnl_enqueue_copy_batch(rnl_stream stream,
                                          const rnl_copy *copies, size_t count);

// The same, and wait for the stream. `rnl_copy_and_wait` is rnl_enqueue_copy.
// Where the driver refuses to wait the copy may still be under way: synchronize
// the stream before the memory goes.
RNL_API rnl_status rnl_copy_and_wait(rnl_stream stream, void *to,
                                     const void *from, size_t size);
RNL_API rnl_status rnl_copy_to_buffer_and_wait(rnl_stream stream,
                                               rnl_buffer to, size_t offset,
                                               const void *from, size_t size);
RNL_API rnl_status rnl_copy_from_buffer_and_wait(rnl_stream stream, void *to,
                                                 rnl_buffer from,
                                                 size_t offset, size_t size);
RNL_API rnl_status rnl_copy_buffer_and_wait(rnl_stream stream, rnl_buffer to,
                                            size_t to_offset, rnl_buffer from,
                                            size_t from_offset, size_t size);
RNL_API rnl_status rnl_copy_region_and_wait(rnl_stream stream,
                                            const rnl_copy *copy);

// --- Fills -----------------------------------------------------------------

// Fills `size` bytes of `to` from byte `offset` on with a pattern of 1, 2, 4 or
// 8 bytes (the low bytes of `pattern`). `offset` and `size` must be multiples
// of `pattern_size`. Stands for cuMemsetD8Async and its kin.
RNL_API rnl_status rnl_enqueue_fill(rnl_stream stream, rnl_buffer to,
                                    size_t offset, size_t size,
                                    uint64_t pattern, size_t pattern_size);

// The general form.
RNL_API rnl_status rnl_enqueue_fill_region(rnl_stream stream,
                                           const rnl_fill *fill);

// The same, and wait for the stream.
RNL_API rnl_status rnl_fill_and_wait(rnl_stream stream, rnl_buffer to,
                                     size_t offset, size_t size,
                                     uint64_t pattern, size_t pattern_size);
RNL_API rnl_status rnl_fill_region_and_wait(rnl_stream stream,
                                            const rnl_fill *fill);

RNL_END_DECLS

#endif
