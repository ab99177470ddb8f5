// Communicators: collective operations and messages between devices, as work of
// streams. A library of its own, librunnel-comm; <runnel/runnel.h> does not
// include this header.
//
// The work is done by an engine that the machine has, found at run time: MPI
// (Open MPI or MPICH) for contexts of api "cpu", NCCL for "cuda", RCCL for
// "hip". There is no transport in this library. docs/concepts/communication.md
// has the model.
//
//   rnl_comm comm;
//   rnl_comm_create(context, NULL, &comm);  // a program started by mpirun
//   rnl_enqueue_all_reduce(stream, comm,
//                          RNL_COMM_DATA(.receive = gradients, .count = n,
//                                        .element = RNL_ELEMENT_FLOAT32),
//                          RNL_REDUCE_SUM);
//
// Ranks      A communicator has `size` members, each with a rank from 0 to
//            size - 1. Every rank enqueues the same collective operations, in
//            the same order, with the same counts, elements, reductions and
//            roots. An engine need not notice when ranks differ: the operation
//            may fail, wait until its time limit, or give wrong bytes.
// Order      An operation begins when earlier work of its stream is done.
//            Operations of a communicator run in the order of the calls, also
//            on several streams: an operation waits for all work that the
//            stream of the one before was given until the call, also for work
//            behind that one. So never have the stream of an operation wait for
//            something that comes behind a later one on another stream.
//            Launches of graphs do not count as "the one before": order them,
//            and the streams of a graph, yourself.
// Threads    Every call may be made from any thread. Calls for one communicator
//            that come from several threads at once have no order, which other
//            ranks cannot know: order those calls. A log function may be called
//            within them, and must not wait for a thread that makes another.
// Memory     Operations take buffers of the communicator's context, and keep
//            each alive until its operation is done.
// Blocking   rnl_enqueue_… does not wait for other ranks, with an exception:
//            cuda and hip: the first operation of a communicator and the first
//            message between two ranks wait until the engine has connected the
//            ranks, by the time limit at most (before NCCL 2.27 up to twice
//            the limit when that fails). cpu: an operation occupies a
//            thread of the pool while it waits, and another thread takes over
//            the pool's work. A thread in rnl_stream_synchronize with
//            RNL_FOREVER runs the operation itself, which is fastest.
//            Messages of less than 4 MiB begin when a thread of the program
//            synchronizes, or when a thread of the pool looks for work, after
//            some milliseconds at most; rnl_stream_query wakes such a thread.
// Failing    An operation that fails, or is not done within the time limit of
//            its communicator, fails its stream, and the message names
//            operation, rank and peer. The communicator is aborted then, since
//            ranks no longer agree on what was done. cpu: the operations of a
//            group that go to one stream fail together. Buffers of an operation
//            that was ended are never freed, since the engine may still write
//            to them; they keep their context and the communicator alive.
// Skipping   Other ranks do what a stream skips because it failed or was
//            cancelled. cpu: the next operation of the communicator that was
//            not captured fails then, with RNL_ERROR_INVALID_STATE. Launches of
//            graphs are not counted: abort the communicator after a launch that
//            failed or was skipped. cuda and hip: abort it after any failure.
// Capture    cpu: captured, and done by each launch of the graph, which keeps
//            the communicator alive. cuda and hip: refused with
//            RNL_ERROR_CAPTURE_UNSUPPORTED, since a capture is Runnel's own and
//            the driver sees none.
// fork       Calls in a child process return RNL_ERROR_FORKED.
#ifndef RUNNEL_COMM_H
#define RUNNEL_COMM_H

#include <runnel/buffer.h>

RNL_BEGIN_DECLS

// A member's end of a communicator.
typedef struct rnl_comm_handle *rnl_comm;

// How values are combined.
typedef enum rnl_reduction {
    RNL_REDUCE_SUM = 0,
    RNL_REDUCE_PRODUCT = 1,
    RNL_REDUCE_MIN = 2,
    RNL_REDUCE_MAX = 3,
    RNL_REDUCE_AVERAGE = 4,  // NCCL and RCCL; MPI: RNL_ERROR_UNSUPPORTED
} rnl_reduction;

// How a communicator is made. Without `file` and `address`: of the processes
// that MPI started together, with their ranks there. With one of the two: of
// the `size` processes that name it, each with another `rank`. MPI itself must
// have started the processes if it is the engine.
typedef struct rnl_comm_options {
    size_t struct_size;
    int rank, size;       // with `file` or `address`; otherwise 0
    const char *file;     // a path that all ranks reach, where no file is yet
                          // but one of earlier ranks; gone once all ranks met
    const char *address;  // "host:port" where rank 0 listens meanwhile, for a
                          // name at all addresses of its host. Whoever reaches
                          // the port can take part: a trusted network
    const void *mpi_comm;  // the address of an MPI_Comm to use a duplicate of,
                           // no intercommunicator; NULL: MPI_COMM_WORLD
    uint64_t timeout_ns;   // of the creation, and of each operation from its
                           // beginning; 0: 10 minutes; RNL_FOREVER: none
    const char *label;     // shown in errors; copied
} rnl_comm_options;

#define RNL_COMM_OPTIONS(...) RNL_LITERAL(rnl_comm_options, __VA_ARGS__)

// Properties of a communicator. Texts live as long as the communicator.
typedef struct rnl_comm_info {
    size_t struct_size;
    rnl_context context;  // borrowed
    int rank, size;
    const char *engine;          // "mpi", "nccl", "rccl"
    const char *engine_version;  // the engine's own words
    const char *label;
    uint64_t timeout_ns;
    bool aborted;
} rnl_comm_info;

// The bytes of an operation: `count` elements from byte `send_offset` of `send`
// and to byte `receive_offset` of `receive`. The comment of each operation says
// how many elements are sent and received for a count.
typedef struct rnl_comm_data {
    size_t struct_size;
    rnl_buffer send;  // NULL: in place, where the operation allows that. The
                      // same bytes of `receive` stand for that; no other bytes
                      // may be both sent and received
    size_t send_offset;
    rnl_buffer receive;
    size_t receive_offset;
    size_t count;
    rnl_element element;
} rnl_comm_data;

#define RNL_COMM_DATA(...) RNL_LITERAL(rnl_comm_data, __VA_ARGS__)

// --- Creation and end ------------------------------------------------------

// Makes the calling process a member; all ranks call it, and it waits until all
// have, `timeout_ns` at most: RNL_ERROR_TIMED_OUT, which names ranks that are
// missing. A look-up of a host's name, which is repeated while the name is not
// known, may take longer. RNL_ERROR_INVALID_ARGUMENT when two processes come as
// one rank or with two sizes, also for the ranks that have come before, when
// one process comes as two ranks of MPI, and for a `file` that exists and that
// no rank wrote; RNL_ERROR_IO when ranks lose their connection;
// RNL_ERROR_NOT_FOUND when the engine is not installed, with the libraries that
// were tried; RNL_ERROR_UNSUPPORTED when it is too old or lacks what is needed;
// RNL_ERROR_DRIVER with the engine's own words; RNL_ERROR_INVALID_STATE when
// MPI was initialised for fewer threads or is finalized.
//
// MPI is initialised with MPI_THREAD_MULTIPLE if the program did not, within
// the time limit of the first creation, and then finalized at exit. A thread of
// the library does both, and so is MPI's main thread. MPI_Finalize, by the
// program or at exit, waits for communicators that were released, 3 s at most,
// and fails operations that are not done then with RNL_ERROR_INVALID_STATE, as
// later ones. With MPICH, wait for your streams before you call MPI_Finalize:
// its locks end before its operations. If the program initialised MPI, errors
// of MPI in a creation go to the program's handlers, which by MPI's default end
// the process.
//
// Environment: RUNNEL_MPI, RUNNEL_NCCL and RUNNEL_RCCL name the library; "off"
// is none. Stands for MPI_Comm_dup, MPI_Comm_create_group and ncclCommInitRank.
RNL_API rnl_status rnl_comm_create(rnl_context context,
                                   const rnl_comm_options *options,
                                   rnl_comm *out_comm);

// Makes all members in one process: `contexts[i]` becomes rank i, and
// `out_comms[i]` its communicator. Options other than `timeout_ns` and `label`
// must be 0. Operations of several members belong into one group.
// RNL_ERROR_UNSUPPORTED for cpu contexts: to MPI a process is one rank. Blocks
// and fails like rnl_comm_create. Stands for ncclCommInitAll.
RNL_API rnl_status rnl_comm_create_all(const rnl_context *contexts,
                                       size_t count,
                                       const rnl_comm_options *options,
                                       rnl_comm *out_comms);

// Fills `*out_info`, whose struct_size the caller has set. Works after an
// abort.
RNL_API rnl_status rnl_comm_get_info(rnl_comm comm, rnl_comm_info *out_info);

// Ends what this member has in flight with RNL_ERROR_CANCELLED, soon after the
// call, and refuses later operations with RNL_ERROR_INVALID_STATE. Other ranks
// notice by their own time limits. Legal more than once and from any thread.
// Does not block. Stands for ncclCommAbort.
RNL_API rnl_status rnl_comm_abort(rnl_comm comm);

// Releases the communicator. The handle is dead at once; operations in flight
// are still done, and those of graphs can still be launched. The engine's
// communicator ends when the last of those graphs is released. NULL is fine.
// Does not block; cuda and hip: a thread ends the engine's communicator, and
// the process waits at its exit for such threads, 5 seconds at most. Stands for
// MPI_Comm_free and ncclCommDestroy.
RNL_API rnl_status rnl_comm_release(rnl_comm comm);

// --- Operations ------------------------------------------------------------
//
// Common to all: RNL_ERROR_INVALID_STATE after an abort; RNL_ERROR_OUT_OF_RANGE
// when bytes leave a buffer or their number does not fit, for a root or peer
// that is no rank, and with MPI for more than INT_MAX elements, of all ranks
// together in reduce-scatter and all-gather; RNL_ERROR_INVALID_ARGUMENT for a
// stream or buffer of another context, for an unknown element, when `send` and
// `receive` overlap other than in place, and on cuda and hip for an address
// that is no multiple of the element's size; RNL_ERROR_ARGUMENT_MISMATCH for a
// buffer of other elements, by the rules of rnl_element;
// RNL_ERROR_CAPTURE_ISOLATION when the operation before is on a stream that is
// being captured; RNL_ERROR_UNSUPPORTED for a reduction that the engine lacks
// or gets wrong (MPI: of FLOAT16 and BFLOAT16; MPICH 4.0: MIN and MAX of
// unsigned integers; NCCL: of INT16 and UINT16). A count of 0 still takes part.

// Combines element i of every rank and gives all ranks the result. Sends and
// receives `count`; `send` NULL: in place. Stands for MPI_Iallreduce and
// ncclAllReduce.
RNL_API rnl_status rnl_enqueue_all_reduce(rnl_stream stream, rnl_comm comm,
                                          const rnl_comm_data *data,
                                          rnl_reduction reduction);

// Gives all ranks the `count` elements that `root` has in `receive`; `send`
// must be NULL. Stands for MPI_Ibcast and ncclBroadcast.
RNL_API rnl_status rnl_enqueue_broadcast(rnl_stream stream, rnl_comm comm,
                                         const rnl_comm_data *data, int root);

// Combines like all-reduce, and gives rank r the elements from r * count on.
// Sends size * count and receives `count`; cuda and hip: may receive in the
// place of the rank's elements. Stands for MPI_Ireduce_scatter_block and
// ncclReduceScatter.
RNL_API rnl_status rnl_enqueue_reduce_scatter(rnl_stream stream, rnl_comm comm,
                                              const rnl_comm_data *data,
                                              rnl_reduction reduction);

// Gives all ranks what each sends, rank r's from r * count on. Sends `count`
// and receives size * count; `send` NULL: rank r's elements are in their place
// in `receive` already. Stands for MPI_Iallgather and ncclAllGather.
RNL_API rnl_status rnl_enqueue_all_gather(rnl_stream stream, rnl_comm comm,
                                          const rnl_comm_data *data);

// Sends `count` elements of `send` to rank `peer`, which receives as many. Two
// ranks that both send before they receive may wait for each other: use a
// group. Stands for MPI_Isend and ncclSend.
RNL_API rnl_status rnl_enqueue_send(rnl_stream stream, rnl_comm comm,
                                    const rnl_comm_data *data, int peer);

// Receives `count` elements in `receive` from rank `peer`. The stream fails
// with RNL_ERROR_ARGUMENT_MISMATCH when the peer sent another number of bytes
// and the engine is MPI. But if the program initialised MPI, MPICH 4.0 ends the
// process over a message that is too long, unless the program gave
// MPI_COMM_WORLD the handler MPI_ERRORS_RETURN. Stands for MPI_Irecv and
// ncclRecv.
RNL_API rnl_status rnl_enqueue_receive(rnl_stream stream, rnl_comm comm,
                                       const rnl_comm_data *data, int peer);

// Begins a group: operations that the calling thread enqueues are checked, and
// begin together once the group ends, so that none waits for another one to be
// done first. The operations of one communicator go to one stream. A thread has
// a single group at a time (RNL_ERROR_INVALID_STATE). cpu: with
// RUNNEL_BLOCKING=1 the part of one stream is done before that of the next one
// begins, and ranks that have the streams in another order wait for each other
// until the time limit. Stands for ncclGroupStart.
RNL_API rnl_status rnl_comm_group_begin(void);

// Enqueues the group's operations, on their streams and in their order. If one
// cannot be enqueued, the communicators of the group are aborted, and the call
// returns that failure. RNL_ERROR_INVALID_STATE without a group, and on cuda
// and hip also when a communicator of the group was aborted or released;
// RNL_ERROR_OUT_OF_RANGE for more than 1023 different buffers and communicators
// of one stream with MPI. Stands for ncclGroupEnd.
RNL_API rnl_status rnl_comm_group_end(void);

RNL_END_DECLS

#endif
