// Private to librunnel-comm, which uses Runnel by its public
// headers alone.
#pragma once

#include <pthread.h>
#include <runnel/comm.h>
#include <runnel/runnel.h>
#include <stdatomic.h>

// --- Failures (comm_report.c) ------------------------------------------------

// Makes a sentence the failure of public function `function`, and returns
// `status`. `parameter` may be NULL.
rnl_status report(rnl_status status, const char *function,
                  const char *parameter, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// --- Options (comm_report.c) -------------------------------------------------

// Copies a struct that begins with struct_size; missing fields are 0.
rnl_status read_options(void *options, size_t size, const void *given,
                        const char *function, const char *parameter);

// --- Operations --------------------------------------------------------------

enum comm_kind {
    OP_ALL_REDUCE,
    OP_BROADCAST,
    OP_REDUCE_SCATTER,
    OP_ALL_GATHER,
    OP_SEND,
    OP_RECEIVE,
};

// An operation that was checked. Its buffers are the caller's.
struct comm_op {
    enum comm_kind kind;
    int peer;       // of OP_SEND and OP_RECEIVE; the root of OP_BROADCAST
    bool in_place;  // sends and receives a rank's elements at one place
    rnl_element element;
    rnl_reduction reduction;
    size_t count;
    size_t send_offset, receive_offset;
};

// With where it is enqueued.
struct comm_work {
    struct comm_op op;
    struct comm *comm;  // pinned by a group
    uint64_t number;    // by comm_order_locked; 0: captured
    rnl_stream stream;
    rnl_buffer send, receive;              // may be NULL
    void *send_address, *receive_address;  // with the offsets
};

// "all-reduce of rank 0 of 2" or "send of rank 0 of 2 to rank 1".
void op_describe(const struct comm *comm, const struct comm_op *op, char *text,
                 size_t size);
const char *op_name(enum comm_kind kind);  // "all-reduce"
const char *element_name(rnl_element element);  // "INT32"
bool op_reduces(enum comm_kind kind);

// --- Engines -----------------------------------------------------------------

// How the ranks of a new communicator find each other.
struct membership {
    int rank, size;
    const char *file, *address;
    const void *mpi_comm;
    uint64_t deadline;  // of clock_ns
};

struct engine {
    const char *name;
    const char *version;  // the engine's words, once it is loaded
    struct nccl *family;  // of the engines NCCL and RCCL
    // Finds the engine once; reports why there is none.
    rnl_status (*load)(const struct engine *engine);
    // Fills in rank, size and the engine's own fields.
    rnl_status (*create)(struct comm *comm, const struct membership *members);
    // NULL: a process is one rank.
    rnl_status (*create_all)(struct comm *const *comms, size_t count,
                             uint64_t deadline);
    // Reports an operation that the engine cannot do.
    rnl_status (*check)(const struct comm_work *work, const char *function);
    // Gives operations to their streams, which begin together.
    rnl_status (*enqueue)(const struct comm_work *works, size_t count,
                          const char *function);
    void (*abort)(struct comm *comm);  // once
    // The handle is dead: ends with comm_unpin.
    void (*release)(struct comm *comm);
    // Nothing pins it any more: ends with comm_delete. NULL: that at once.
    void (*finish)(struct comm *comm);
};

extern const struct engine mpi_engine, nccl_engine, rccl_engine;

// A library, found at run time: `variable` names one in the environment, "off"
// is none. Names that failed, with the reasons, are reported.
void *engine_open(const char *engine, const char *variable,
                  const char *const *names);

// --- Communicators (registry.c) ----------------------------------------------

struct comm {
    uint64_t number;  // the handle; never reused
    const struct engine *engine;
    rnl_context context;
    int rank, size;
    uint64_t timeout_ns;
    char label[64];
    _Atomic bool aborted;
    bool dead;             // the handle was released; registry's lock
    uint32_t forks;        // of the process that made it
    uint32_t pins;         // registry's lock
    pthread_mutex_t lock;  // the engine's
    // Operations that are not captured have numbers from 1 on. The lock `order`
    // is held while operations are numbered and enqueued. It is taken before
    // `lock`, and for several communicators in the order of their numbers.
    pthread_mutex_t order;
    rnl_stream last_stream;  // of operation `enqueued`
    uint64_t enqueued;       // the last number
    _Atomic uint64_t begun;  // the last number that began; MPI only
    union {
        struct {
            void *comm;           // MPI_Comm
            rnl_function run[2];  // the second one has a thread woken
            rnl_buffer self;      // wraps this struct, for launches to keep
        } mpi;
        struct {
            void *comm;    // ncclComm_t, until `ended`
            void *native;  // the driver's context
            int device;
            bool busy;              // a thread begins operations
            bool ended;             // no call of the engine any more
            _Atomic bool released;  // `ended` will be set
            _Atomic bool gone;      // the engine's last call has returned
        } nccl;
    };
};

// Refuses calls in a child of a process that made communicators.
rnl_status comm_check_process(const char *function);

// A new communicator, pinned, with a handle that is not valid yet; NULL after a
// report of RNL_ERROR_OUT_OF_MEMORY.
struct comm *comm_new(const struct engine *engine, rnl_context context,
                      const rnl_comm_options *options);

// Makes the handle valid.
rnl_comm comm_publish(struct comm *comm);

// The live communicator of a handle, pinned, or NULL after a report.
struct comm *comm_find(rnl_comm handle, const char *function,
                       rnl_status *out_status);

// Pins a communicator that is pinned already once more.
struct comm *comm_pin(struct comm *comm);
void comm_unpin(struct comm *comm);
void comm_delete(struct comm *comm);

// Gives the handle up: true for the first caller.
bool comm_bury(struct comm *comm);

// Sets `aborted` and calls the engine, once.
void comm_abort(struct comm *comm);

bool stream_is_captured(rnl_stream stream);

// Numbers an operation that is not captured, and has its stream wait for the
// stream of the operation before.
rnl_status comm_order_locked(struct comm *comm, struct comm_work *work,
                             const char *function);

// --- Meeting (rendezvous.c) --------------------------------------------------

// All ranks give `size` bytes each and get those of all, in the order of ranks.
rnl_status meet(const struct membership *members, const void *mine, size_t size,
                void *all);

uint64_t clock_ns(void);
uint64_t clock_after(uint64_t timeout_ns);
void nap(void);  // a millisecond
