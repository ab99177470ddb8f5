// Memory: what a context keeps for later, and hints about managed memory.
//
// The memory of a released buffer is not given back to the device: the
// context's pool keeps it for the next buffer of about the same size. Buffers
// that are made and released over and over cost next to nothing, and a device
// whose allocator waits for its work is not asked. Sizes are rounded up to one
// of four for each power of two (to whole huge pages from 2 MiB on), and a
// large buffer may get memory that is up to a quarter larger.
//
// Order:    memory goes to another buffer when no work uses it any more and its
//           release stream (rnl_buffer_set_release_stream) has come to the
//           point of the release; a buffer created on that stream gets it
//           before, since its work comes later anyway.
// Threads:  safe; threads that create and release small buffers do not meet.
#ifndef RUNNEL_MEMORY_H
#define RUNNEL_MEMORY_H

#include <runnel/buffer.h>

// Statistics of a context's pool. In bytes, as rounded up, or in times. Memory
// of wrapped and interprocess buffers and of rnl_host_allocate is not in it.
typedef struct rnl_pool_stats {
    size_t struct_size;
    size_t live;           // of buffers that are in use
    size_t reserved;       // of all that the device gave: in use, or kept
    size_t live_peak;      // the most that was live; with several threads the
                           // sum of what each had at most
    size_t reserved_peak;  // the same of `reserved`
    uint64_t hits;         // buffers made of memory that was kept
    uint64_t misses;       // buffers made of memory new or set aside
    uint64_t trims;        // blocks given back to the device
    uint64_t retries;      // times the device had no memory at the first try
} rnl_pool_stats;

// Where managed memory should be.
typedef enum rnl_memory_target {
    RNL_MEMORY_TO_DEVICE = 0,  // the stream's device
    RNL_MEMORY_TO_HOST = 1,
} rnl_memory_target;

// How a range of managed memory will be used. RNL_ADVICE_NONE takes back all
// that was said. Stand for CUmem_advise.
typedef enum rnl_memory_advice {
    RNL_ADVICE_NONE = 0,
    RNL_ADVICE_READ_MOSTLY = 1,    // copies on both sides are welcome
    RNL_ADVICE_PREFER_DEVICE = 2,  // it should stay there
    RNL_ADVICE_PREFER_HOST = 3,
    RNL_ADVICE_USED_BY_DEVICE = 4, // both should reach it without a fault
    RNL_ADVICE_USED_BY_HOST = 5,
} rnl_memory_advice;

// Whose memory an address is.
typedef enum rnl_pointer_kind {
    RNL_POINTER_UNKNOWN = 0,          // Runnel was told nothing of it
    RNL_POINTER_BUFFER = 1,           // of a buffer, wrapped ones included
    RNL_POINTER_HOST_ALLOCATED = 2,   // rnl_host_allocate
    RNL_POINTER_HOST_REGISTERED = 3,  // rnl_host_register
} rnl_pointer_kind;

// Facts about an address. If `kind` is UNKNOWN, all other fields are 0. The
// handles are borrowed: they are valid as long as their owners keep them.
typedef struct rnl_pointer_info {
    size_t struct_size;
    rnl_pointer_kind kind;
    rnl_memory_kind memory_kind;
    rnl_device device;
    rnl_context context;  // NULL when only work or other objects keep it
    rnl_buffer buffer;    // the whole one; NULL when only slices or work keep
                          // it, and for host memory
    void *base;           // where the range begins
    size_t size;          // bytes of the range
    size_t offset;        // from `base` to the address
} rnl_pointer_info;

RNL_BEGIN_DECLS

// --- Addresses -------------------------------------------------------------

// Fills `*out_info`, whose struct_size the caller has set, for any value of
// `pointer`, which is compared and never read. Device and host addresses are
// found. Where ranges overlap, buffers come before host memory, and memory that
// Runnel allocated before wrapped memory. Memory of the vendor's driver that
// Runnel did not allocate is UNKNOWN, and so is ordinary memory: that is no
// error. Looks at all buffers and contexts, so it is for debugging and for
// interfaces, not for each launch. Other threads may release the memory at any
// moment. Does not block. Stands for cuPointerGetAttributes.
RNL_API rnl_status rnl_pointer_get_info(const void *pointer,
                                        rnl_pointer_info *out_info);

// --- The pool --------------------------------------------------------------

// Fills `*out_stats`, whose struct_size the caller has set.
RNL_API rnl_status rnl_context_pool_stats(rnl_context context,
                                          rnl_pool_stats *out_stats);

// Gives memory that is kept back to the device until the pool has no more than
// `keep` bytes in all, or only what is in use or was set aside when the context
// was opened. Stands for cuMemPoolTrimTo.
RNL_API rnl_status rnl_context_trim(rnl_context context, size_t keep);

// --- Managed memory --------------------------------------------------------
//
// Only for buffers of RNL_MEMORY_MANAGED and slices of them, otherwise
// RNL_ERROR_INVALID_ARGUMENT. These are hints: they change what work costs and
// never what it computes. Advice and attachment end with the buffer, the memory
// of which is not kept for others then. Where RNL_FEATURE_MEMORY_HINTS is
// missing (on cpu, as there is one memory) they are checked and have no further
// effect.

// Moves `size` bytes from `offset`, or RNL_WHOLE, to where work wants them, in
// stream order.
// Stands for cuMemPrefetchAsync.
RNL_API rnl_status rnl_enqueue_prefetch(rnl_stream stream, rnl_buffer buffer,
                                        size_t offset, size_t size,
                                        rnl_memory_target target);

// Says how `size` bytes (or RNL_WHOLE) from `offset` will be used, from now
// on. Stands for cuMemAdvise.
RNL_API rnl_status rnl_buffer_advise(rnl_buffer buffer, size_t offset,
                                     size_t size, rnl_memory_advice advice);

// Says who uses the whole buffer, also that of a slice, from here on in stream
// order: every stream, the host alone, or this stream alone. Stands for
// cuStreamAttachMemAsync.
RNL_API rnl_status rnl_enqueue_attach(rnl_stream stream, rnl_buffer buffer,
                                      rnl_attach_mode mode);

RNL_END_DECLS

#endif
