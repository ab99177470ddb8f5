// An MPI of one rank, in the program itself: librunnel-comm takes the MPI that
// a program has. It looks like MPICH. Each of its calls can be made to fail.
#include "fake_mpi.h"

#include "comm/mpi.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    DUPLICATE = 0x44000001,
    CLASS = 12,
    NO_REQUEST = 0x2c000000,  // MPI_REQUEST_NULL
    DONE = 0x6c000001,
    HANGS,
};

struct fake_mpi fake_mpi;

// The delete function of the last key, and of MPI_COMM_SELF's attribute.
static int (*end_of_key)(void *comm, int key, void *value, void *state);
static int (*end_of_self)(void *comm, int key, void *value, void *state);

#define SYMBOL(name, vendor, parameters) int vendor parameters;
#include "comm/mpi.def"
#undef SYMBOL

// The result that the test asks of this call, which may follow MPI_Finalize.
static int result_at_any_time_of(const char *name)
{
    if (++fake_mpi.calls != fake_mpi.fail_at)
        return 0;
    fake_mpi.failed = name;
    return CLASS;
}

static int result_of(const char *name)
{
    fake_mpi.late_calls += fake_mpi.finalized;
    return result_at_any_time_of(name);
}

#define result() result_of(__func__)
#define result_at_any_time() result_at_any_time_of(__func__)

static void await(_Atomic int *hangs)
{
    while (*hangs)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static size_t width_of(void *type)
{
    return (uintptr_t)type >> 8 & 0xff;
}

static int request(int code, void **out_request)
{
    *out_request = (void *)(uintptr_t)(code             ? NO_REQUEST
                                       : fake_mpi.hangs ? HANGS
                                                        : DONE);
    return code;
}

static void move(const void *send, void *receive, int count, void *type)
{
    fake_mpi.in_place += send == (const void *)-1;
    if (send != (const void *)-1 && !fake_mpi.hangs && count > 0)
        memcpy(receive, send, (size_t)count * width_of(type));
}

// --- The process -------------------------------------------------------------

int MPI_Initialized(int *out_is)
{
    *out_is = fake_mpi.initialised;
    return result_at_any_time();
}

int MPI_Finalized(int *out_is)
{
    *out_is = fake_mpi.finalized;
    return result_at_any_time();
}

int MPI_Init_thread(int *count, char ***texts, int level, int *out_level)
{
    (void)count;
    (void)texts;
    fake_mpi.inits++;
    await(&fake_mpi.init_hangs);
    int code = result();
    *out_level = level;
    fake_mpi.initialised |= code == 0;
    return code;
}

int MPI_Finalize(void)
{
    if (fake_mpi.at_end)
        fake_mpi.at_end();
    if (end_of_self)
        end_of_self((void *)0x44000001, 1, NULL, NULL);
    await(&fake_mpi.finalize_hangs);
    int code = result();
    fake_mpi.finalized = 1;
    return code;
}

int MPI_Query_thread(int *out_level)
{
    *out_level = 3;
    return result();
}

int MPI_Get_library_version(char *out_text, int *out_length)
{
    const char *version = fake_mpi.version;
    *out_length =
        sprintf(out_text, "%s", version ? version : "MPICH, a fake of it");
    return result();
}

int MPI_Error_class(int code, int *out_class)
{
    *out_class = code;
    return 0;
}

int MPI_Error_string(int code, char *out_text, int *out_length)
{
    *out_length = sprintf(out_text, "the fake was told to fail (%d)", code);
    return 0;
}

// --- Communicators -----------------------------------------------------------

int MPI_Comm_rank(void *comm, int *out_rank)
{
    (void)comm;
    *out_rank = fake_mpi.rank;
    return result();
}

int MPI_Comm_size(void *comm, int *out_size)
{
    (void)comm;
    *out_size = fake_mpi.size ? fake_mpi.size : 1;
    return result();
}

int MPI_Comm_test_inter(void *comm, int *out_is)
{
    (void)comm;
    *out_is = fake_mpi.inter;
    return result();
}

int MPI_Comm_create_keyval(int (*copy)(void *, int, void *, void *, void *,
                                       int *),
                           int (*end)(void *, int, void *, void *),
                           int *out_key, void *state)
{
    (void)copy;
    (void)state;
    *out_key = 1;
    end_of_key = end;
    return result();
}

int MPI_Comm_set_attr(void *comm, int key, void *value)
{
    (void)comm;
    (void)key;
    (void)value;
    int code = result();
    end_of_self = code == 0 ? end_of_key : end_of_self;
    return code;
}

// Done, with a communicator, when MPI_Test has asked.
int MPI_Comm_idup(void *comm, void **out_comm, void **out_request)
{
    (void)comm;
    int code = request(result(), out_request);
    *out_comm = (void *)DUPLICATE;
    fake_mpi.shared = out_comm;
    fake_mpi.duplicating = code == 0;
    return code;
}

int MPI_Comm_create_group(void *comm, void *group, int tag, void **out_comm)
{
    (void)comm;
    (void)group;
    fake_mpi.tag = tag;
    await(&fake_mpi.hangs);
    int code = result();
    fake_mpi.comms += code == 0;
    *out_comm = (void *)DUPLICATE;
    return code;
}

int MPI_Comm_set_errhandler(void *comm, void *handler)
{
    (void)comm;
    (void)handler;
    return result();
}

int MPI_Comm_free(void **comm)
{
    *comm = NULL;
    fake_mpi.comms--;
    return result();
}

int MPI_Comm_group(void *comm, void **out_group)
{
    (void)comm;
    int code = result();
    *out_group = code == 0 ? &fake_mpi.groups : *out_group;
    fake_mpi.groups += code == 0;
    return code;
}

int MPI_Group_incl(void *group, int count, const int *ranks, void **out_group)
{
    (void)group;
    (void)count;
    (void)ranks;
    int code = result();
    *out_group = code == 0 ? &fake_mpi.groups : *out_group;
    fake_mpi.groups += code == 0;
    return code;
}

int MPI_Group_free(void **group)
{
    *group = NULL;
    fake_mpi.groups--;
    return result();
}

// --- Operations --------------------------------------------------------------

int MPI_Test(void **asked, int *out_done, void *out_status)
{
    (void)out_status;
    int code = result();
    *out_done = code == 0 && (*asked == (void *)DONE ||
                              (*asked == (void *)HANGS && !fake_mpi.hangs));
    if (*out_done)
        *asked = (void *)NO_REQUEST;
    if (*out_done && atomic_exchange(&fake_mpi.duplicating, false))
        fake_mpi.comms++;
    return code;
}

// Reduces by MAX: 1 and numbers whose highest bit is set.
int MPI_Reduce_local(const void *from, void *into, int count, void *type,
                     void *operation)
{
    (void)operation;
    if (fake_mpi.misorders)
        memcpy(into, from, (size_t)count * width_of(type));
    return result();
}

int MPI_Get_count(const void *status, void *type, int *out_count)
{
    (void)status;
    (void)type;
    *out_count = fake_mpi.received;
    return result();
}

int MPI_Iallreduce(const void *send, void *receive, int count, void *type,
                   void *operation, void *comm, void **out_request)
{
    (void)operation;
    (void)comm;
    move(send, receive, count, type);
    return request(result(), out_request);
}

int MPI_Ibcast(void *data, int count, void *type, int root, void *comm,
               void **out_request)
{
    (void)count;
    (void)type;
    (void)root;
    (void)comm;
    fake_mpi.shared = data;
    return request(result(), out_request);
}

int MPI_Ireduce_scatter_block(const void *send, void *receive, int count,
                              void *type, void *operation, void *comm,
                              void **out_request)
{
    return MPI_Iallreduce(send, receive, count, type, operation, comm,
                          out_request);
}

int MPI_Iallgather(const void *send, int count, void *type, void *receive,
                   int receive_count, void *receive_type, void *comm,
                   void **out_request)
{
    (void)receive_count;
    (void)receive_type;
    return MPI_Iallreduce(send, receive, count, type, NULL, comm, out_request);
}

int MPI_Isend(const void *send, int count, void *type, int peer, int tag,
              void *comm, void **out_request)
{
    (void)send;
    (void)type;
    (void)peer;
    (void)tag;
    (void)comm;
    fake_mpi.received = count;
    return request(result(), out_request);
}

int MPI_Irecv(void *receive, int count, void *type, int peer, int tag,
              void *comm, void **out_request)
{
    (void)receive;
    (void)count;
    (void)type;
    (void)peer;
    (void)tag;
    (void)comm;
    return request(result(), out_request);
}
