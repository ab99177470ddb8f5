// Stream memory operations: a stream writes a word of memory, or waits until a
// word has a value that somebody else writes: a kernel, another stream or plain
// host code.
//
// A word has 32 or 64 bits and is aligned to its size. It lies in a buffer that
// the stream's context may use, or at an address inside of memory that the
// context knows: the device address of any live buffer that it may use (owned,
// wrapped, a slice, and on a cpu managed: a driver takes no managed memory
// here), or memory of rnl_host_allocate or
// rnl_host_register. A buffer is kept alive until the work is done, named or
// found by its address; other memory is the caller's until then. The buffer
// found last is found at once, others by a look at every live handle.
//
// Waiting  is the device's affair: no call here blocks, a stream that waits
//          occupies no thread, and thousands may wait. cpu: a store by the host
//          is seen within about a microsecond while threads of the library are
//          awake, and within a millisecond once they have gone to sleep; when
//          nothing has happened for long, within a 32nd of that time, up to
//          8 ms, or some ten with thousands of waits. Host code that cannot
//          wait that long calls rnl_stream_query for the waiting stream after
//          its store: it looks at the word and wakes a thread. A thread that
//          synchronizes looks, too.
// Order    a write is seen after everything that the stream did before it
//          (release), and what follows a wait sees all that was written before
//          the word was (acquire). Host code should use atomic stores.
// Passing  a wait ends when its word was seen to hold once; what is written
//          later does not matter. A value that comes and goes may be missed.
// Failing  on a stream that has failed, nothing is written and nothing waited
//          for.
// Ending   a wait that nothing satisfies keeps its stream and context for ever.
//          It does not keep the process from exiting.
//
// RNL_ERROR_UNSUPPORTED without RNL_FEATURE_MEMORY_OPERATIONS. The debugging
// mode RUNNEL_BLOCKING does not wait for operations of this header.
#ifndef RUNNEL_VALUES_H
#define RUNNEL_VALUES_H

#include <runnel/status.h>

// An operation on a word, or a condition for it; `memory`: its present value.
typedef enum rnl_value_action {
    RNL_WRITE_VALUE = 1,  // memory = value
    RNL_WAIT_GEQ = 2,     // (signed)(memory - value) >= 0: cyclic, so that a
                          // counter may wrap around
    RNL_WAIT_EQ = 3,      // memory == value
    RNL_WAIT_AND = 4,     // (memory & value) != 0
    RNL_WAIT_NOR = 5,     // ~(memory | value) != 0
} rnl_value_action;

// RNL_VALUE_FLUSH, or 0.
typedef uint32_t rnl_value_flags;

// For a wait: once the wait is over, later work also sees the writes of other
// devices before the word. cpu: always so.
#define RNL_VALUE_FLUSH 1u

// For a write: the word may be seen before results of earlier work. cpu: never.
#define RNL_VALUE_NO_BARRIER 2u

// One operation of a batch.
typedef struct rnl_value_op {
    size_t struct_size;
    rnl_value_action action;
    uint32_t width;         // bits of the word: 32 or 64
    rnl_value_flags flags;  // RNL_VALUE_…
    rnl_buffer buffer;      // where the word is: here …
    void *pointer;          // … or, with `buffer` NULL, here
    size_t offset;          // bytes from the start of the buffer or pointer
    uint64_t value;         // with 32 bits at most UINT32_MAX
} rnl_value_op;

#define RNL_VALUE_OP(...) RNL_LITERAL(rnl_value_op, __VA_ARGS__)

RNL_BEGIN_DECLS

// Writes `value` to the word at byte `offset` of `buffer`.
// RNL_ERROR_OUT_OF_RANGE when the word leaves the buffer,
// RNL_ERROR_INVALID_ARGUMENT when it is not aligned to its size. Stands for
// cuStreamWriteValue32 and 64.
RNL_API rnl_status rnl_enqueue_write_value32(rnl_stream stream,
                                             rnl_buffer buffer, size_t offset,
                                             uint32_t value);
RNL_API rnl_status rnl_enqueue_write_value64(rnl_stream stream,
                                             rnl_buffer buffer, size_t offset,
                                             uint64_t value);

// Makes later work of `stream` wait until the word at byte `offset` of `buffer`
// and `value` fulfil `condition`, one of RNL_WAIT_…. Errors as above. Does
// not block. Stands for cuStreamWaitValue32 and 64.
RNL_API rnl_status rnl_enqueue_wait_value32(rnl_stream stream,
                                            rnl_buffer buffer, size_t offset,
                                            uint32_t value,
                                            rnl_value_action condition);
RNL_API rnl_status rnl_enqueue_wait_value64(rnl_stream stream,
                                            rnl_buffer buffer, size_t offset,
                                            uint64_t value,
                                            rnl_value_action condition);

// The same for a word at an address, with flags. RNL_ERROR_OUT_OF_RANGE for an
// address outside of any memory that the context knows,
// RNL_ERROR_INVALID_ARGUMENT for NULL and for one that is not aligned. Stands
// for cuStreamWriteValue32 and 64.
RNL_API rnl_status rnl_enqueue_write_address32(rnl_stream stream, void *address,
                                               uint32_t value,
                                               rnl_value_flags flags);
RNL_API rnl_status rnl_enqueue_write_address64(rnl_stream stream, void *address,
                                               uint64_t value,
                                               rnl_value_flags flags);

// Makes later work of `stream` wait for a word at an address. Errors as above.
// Does not block. Stands for cuStreamWaitValue32 and 64.
RNL_API rnl_status rnl_enqueue_wait_address32(rnl_stream stream,
                                              const void *address,
                                              uint32_t value,
                                              rnl_value_action condition,
                                              rnl_value_flags flags);
RNL_API rnl_status rnl_enqueue_wait_address64(rnl_stream stream,
                                              const void *address,
                                              uint64_t value,
                                              rnl_value_action condition,
                                              rnl_value_flags flags);

// `count` operations, submitted together and done in their order as one
// operation of the stream. All are checked before anything is enqueued. A count
// of 0 does nothing. RNL_ERROR_OUT_OF_RANGE for an address outside of any
// memory that the context knows. Stands for cuStreamBatchMemOp.
RNL_API rnl_status rnl_enqueue_values(rnl_stream stream,
                                      const rnl_value_op *ops, size_t count);

RNL_END_DECLS

#endif
