// The engine MPI: communicators.
#include "mpi.h"

#include <stdlib.h>
#include <string.h>

static rnl_status refuse(const char *call, int code)
{
    char text[256];
    mpi_error(code, text, sizeof text);
    return report(RNL_ERROR_DRIVER, "rnl_comm_create", NULL, "%s failed: %s",
                  call, text);
}

static rnl_status late(int rank, const char *what)
{
    mpi_give_up();
    return report(RNL_ERROR_TIMED_OUT, "rnl_comm_create", "options.timeout_ns",
                  "rank %d waited for other ranks to make a communicator (%s), "
                  "and the time limit passed",
                  rank, what);
}

// --- What launches keep ------------------------------------------------------

// No handle, launch or graph has the communicator any more. Requests of an
// aborted one may be under way, so MPI's communicator stays.
static void end(void *pointer, size_t size, void *user_data)
{
    struct comm *comm = pointer;
    (void)size;
    (void)user_data;
    if (!comm->aborted)
        mpi_free(&comm->mpi.comm);
    comm_delete(comm);
    mpi_releases--;
}

static void finish(struct comm *comm)
{
    if (!comm->mpi.self) {  // it was not made
        comm_delete(comm);
        return;
    }
    mpi_releases++;
    for (int i = 0; i < 2; i++)
        rnl_function_release(comm->mpi.run[i]);
    rnl_buffer_release(comm->mpi.self);
}

// Launches have the communicator for an argument. A buffer around it is kept by
// them, by graphs, and for good by an operation that was ended.
static rnl_status wrap(struct comm *comm)
{
    rnl_status status = mpi_create_functions(comm);
    if (status == RNL_OK)
        status =
            rnl_buffer_wrap(comm->context, comm, sizeof *comm,
                            RNL_WRAP_OPTIONS(.deleter = end), &comm->mpi.self);
    for (int i = 0; i < 2 && status != RNL_OK; i++)
        if (comm->mpi.run[i])
            rnl_function_release(comm->mpi.run[i]);
    return status;
}

// --- Creation ----------------------------------------------------------------

// The communicator that the caller has, or all processes.
static void *parent_of(const struct membership *members)
{
    if (!members->mpi_comm)
        return mpi_constants.world;
    return mpi_constants.handles_are_ints
               ? (void *)(uintptr_t) * (const unsigned *)members->mpi_comm
               : *(void *const *)members->mpi_comm;
}

static rnl_status find_place(void *comm, int *out_rank, int *out_size)
{
    int code = mpi.rank(comm, out_rank);
    if (code != 0)
        return refuse("MPI_Comm_rank", code);
    code = mpi.size(comm, out_size);
    return code == 0 ? RNL_OK : refuse("MPI_Comm_size", code);
}

// Asks before MPI does, which may end the program.
static rnl_status check_parent(const struct membership *members, int *out_rank)
{
    static const char parameter[] = "options.mpi_comm";
    void *parent = parent_of(members);
    int inter = 0, size;
    if (!parent || parent == mpi_constants.comm_null)
        return report(RNL_ERROR_INVALID_ARGUMENT, "rnl_comm_create", parameter,
                      "'options.mpi_comm' is MPI_COMM_NULL");
    int code = mpi.test_inter(parent, &inter);
    if (code != 0)
        return refuse("MPI_Comm_test_inter", code);
    if (inter)
        return report(RNL_ERROR_INVALID_ARGUMENT, "rnl_comm_create", parameter,
                      "'options.mpi_comm' is an intercommunicator: give the "
                      "communicator that MPI_Intercomm_merge makes of it");
    return find_place(parent, out_rank, &size);
}

static rnl_status refuse_ending(void)
{
    return report(RNL_ERROR_INVALID_STATE, "rnl_comm_create", "context",
                  "MPI is finalized in this process");
}

// Waits for a request of a rank of the parent, with the result of the call that
// made the request. Until the status is RNL_OK or RNL_ERROR_DRIVER, MPI may
// write where the request does.
static rnl_status await(const struct membership *members, int rank,
                        const char *call, int code, void **request)
{
    _Alignas(16) char status[64];
    int done = 0;
    while (code == 0 && (code = mpi.test(request, &done, status)) == 0 &&
           !done) {
        if (clock_ns() > members->deadline)
            return late(rank, call);
        if (mpi_is_ending()) {
            mpi_give_up();
            return refuse_ending();
        }
        nap();
    }
    return code == 0 ? RNL_OK : refuse(call, code);
}

static bool is_through(rnl_status status)
{
    return status == RNL_OK || status == RNL_ERROR_DRIVER;
}

// MPI may still write the handle when the time limit has passed: its place is
// not freed then.
static rnl_status duplicate(struct comm *comm, const struct membership *members)
{
    int rank;
    void *parent = parent_of(members);
    rnl_status status = check_parent(members, &rank);
    if (status != RNL_OK)
        return status;
    void *request = NULL, **made = calloc(1, sizeof *made);
    if (!made)
        return report(RNL_ERROR_OUT_OF_MEMORY, "rnl_comm_create", NULL,
                      "there is no memory for a handle");
    int code = mpi.duplicate(parent, made, &request);
    status = await(members, rank, "MPI_Comm_idup", code, &request);
    if (status == RNL_OK)
        comm->mpi.comm = *made;
    if (is_through(status))
        free(made);
    return status;
}

// --- Creation by ranks that meet ---------------------------------------------

// The bytes that ranks give each other.
struct seat {
    int rank;  // in MPI_COMM_WORLD
    int tag;   // rank 0's, for MPI_Comm_create_group
};

// MPI tells creations apart by tags if several threads create communicators at
// once. Tags up to 32767 are legal.
static int next_tag(const struct seat *own, int world_size)
{
    static _Atomic unsigned count;
    return (int)((count++ * (unsigned)world_size + (unsigned)own->rank) %
                 32768);
}

static rnl_status find_seat(const struct membership *members,
                            struct seat *out_own)
{
    int world_size;
    rnl_status status =
        find_place(mpi_constants.world, &out_own->rank, &world_size);
    if (status != RNL_OK)
        return status;
    if (world_size < members->size)
        return report(RNL_ERROR_UNSUPPORTED, "rnl_comm_create", "options.size",
                      "MPI started %d processes together, and %d ranks are "
                      "to meet: start the program with mpirun",
                      world_size, members->size);
    out_own->tag = next_tag(out_own, world_size);
    return RNL_OK;
}

// MPI_Comm_create_group waits for the other ranks without a limit. So a thread
// calls it, which stays behind with this struct when the time limit has passed.
// The last of both frees the struct.
struct creation {
    void *group, *comm;
    int tag, code;
    _Atomic bool over;  // done, or left behind
    int ranks[];  // in MPI_COMM_WORLD
};

static rnl_status make_group(struct creation *creation, int size)
{
    void *world = NULL;
    int code = mpi.group(mpi_constants.world, &world);
    if (code != 0)
        return refuse("MPI_Comm_group", code);
    code = mpi.include(world, size, creation->ranks, &creation->group);
    mpi.group_free(&world);
    return code == 0 ? RNL_OK : refuse("MPI_Group_incl", code);
}

static void *run_creation(void *argument)
{
    struct creation *creation = argument;
    creation->code = mpi.create(mpi_constants.world, creation->group,
                                creation->tag, &creation->comm);
    if (atomic_exchange(&creation->over, true))
        free(creation);
    return NULL;
}

static rnl_status await_creation(struct creation *creation,
                                 const struct membership *members)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run_creation, creation) != 0)
        return report(RNL_ERROR_OUT_OF_MEMORY, "rnl_comm_create", NULL,
                      "there is no thread to make a communicator");
    while (!creation->over && clock_ns() <= members->deadline)
        nap();
    if (!atomic_exchange(&creation->over, true)) {
        pthread_detach(thread);
        return late(members->rank, "MPI_Comm_create_group");
    }
    pthread_join(thread, NULL);
    return creation->code == 0
               ? RNL_OK
               : refuse("MPI_Comm_create_group", creation->code);
}

static rnl_status no_memory(const struct membership *members)
{
    return report(RNL_ERROR_OUT_OF_MEMORY, "rnl_comm_create", NULL,
                  "there is no memory for %d ranks", members->size);
}

static rnl_status create_group(struct comm *comm,
                               const struct membership *members,
                               const struct seat *seats)
{
    size_t size = (size_t)members->size;
    struct creation *creation =
        calloc(1, sizeof *creation + size * sizeof creation->ranks[0]);
    if (!creation)
        return no_memory(members);
    for (size_t i = 0; i < size; i++)
        creation->ranks[i] = seats[i].rank;
    creation->tag = seats[0].tag;
    rnl_status made = make_group(creation, members->size);
    rnl_status status = made ? made : await_creation(creation, members);
    if (status == RNL_ERROR_TIMED_OUT)
        return status;
    comm->mpi.comm = creation->comm;
    if (made == RNL_OK)
        mpi.group_free(&creation->group);
    free(creation);
    return status;
}

// MPI ends a program that wants a process twice in a group.
static rnl_status check_seats(const struct seat *seats, int size)
{
    for (int i = 0; i < size; i++)
        for (int j = 0; j < i; j++)
            if (seats[i].rank == seats[j].rank)
                return report(RNL_ERROR_INVALID_ARGUMENT, "rnl_comm_create",
                              "options.rank",
                              "ranks %d and %d come from one process of MPI, "
                              "and to MPI a process is one rank",
                              j, i);
    return RNL_OK;
}

// The ranks meet to learn their ranks in MPI_COMM_WORLD, then make a
// communicator of those.
static rnl_status create_met(struct comm *comm,
                             const struct membership *members)
{
    struct seat own, *seats = calloc((size_t)members->size, sizeof *seats);
    if (!seats)
        return no_memory(members);
    rnl_status status = find_seat(members, &own);
    if (status == RNL_OK)
        status = meet(members, &own, sizeof own, seats);
    if (status == RNL_OK)
        status = check_seats(seats, members->size);
    if (status == RNL_OK)
        status = create_group(comm, members, seats);
    free(seats);
    return status;
}

static rnl_status create_entered(struct comm *comm,
                                 const struct membership *members)
{
    bool meets = members->file || members->address;
    rnl_status status =
        meets ? create_met(comm, members) : duplicate(comm, members);
    if (status != RNL_OK)
        return status;
    int code = mpi.handler(comm->mpi.comm, mpi_constants.errors_return);
    status = code == 0 ? find_place(comm->mpi.comm, &comm->rank, &comm->size)
                       : refuse("MPI_Comm_set_errhandler", code);
    if (status == RNL_OK)
        status = wrap(comm);
    if (status != RNL_OK)
        mpi.comm_free(&comm->mpi.comm);
    return status;
}

static rnl_status create(struct comm *comm, const struct membership *members)
{
    rnl_status status = mpi_begin(members);
    if (status != RNL_OK)
        return status;
    if (!mpi_enter())
        return refuse_ending();
    status = create_entered(comm, members);
    mpi_leave();
    return status;
}

// --- For other engines -------------------------------------------------------

rnl_status mpi_find_rank(const struct membership *members, int *out_rank,
                         int *out_size)
{
    rnl_status status = mpi_load(&mpi_engine);
    if (status == RNL_OK)
        status = mpi_begin(members);
    if (status != RNL_OK)
        return status;
    if (!mpi_enter())
        return refuse_ending();
    status = check_parent(members, out_rank);
    if (status == RNL_OK)
        status = find_place(parent_of(members), out_rank, out_size);
    mpi_leave();
    return status;
}

// The bytes are copied, since MPI may still write to them when the time limit
// has passed: the copy is not freed then.
static rnl_status share(const struct membership *members, void *bytes,
                        size_t size)
{
    int rank, ranks;
    rnl_status status = find_place(parent_of(members), &rank, &ranks);
    void *request = NULL, *copy = status == RNL_OK ? malloc(size) : NULL;
    if (status != RNL_OK)
        return status;
    if (!copy)
        return report(RNL_ERROR_OUT_OF_MEMORY, "rnl_comm_create", NULL,
                      "there is no memory for %zu bytes", size);
    memcpy(copy, bytes, size);
    int code =
        mpi.broadcast(copy, (int)size, mpi_constants.types[RNL_ELEMENT_UINT8],
                      0, parent_of(members), &request);
    status = await(members, rank, "MPI_Ibcast", code, &request);
    if (status == RNL_OK)
        memcpy(bytes, copy, size);
    if (is_through(status))
        free(copy);
    return status;
}

rnl_status mpi_share(const struct membership *members, void *bytes, size_t size)
{
    if (!mpi_enter())
        return refuse_ending();
    rnl_status status = share(members, bytes, size);
    mpi_leave();
    return status;
}

// --- End ---------------------------------------------------------------------

// Operations under way look at `aborted` themselves.
static void abort_comm(struct comm *comm)
{
    (void)comm;
    mpi_give_up();
}

const struct engine mpi_engine = {
    .name = "mpi",
    .version = mpi_version,
    .load = mpi_load,
    .create = create,
    .check = mpi_check,
    .enqueue = mpi_enqueue,
    .abort = abort_comm,
    .release = comm_unpin,
    .finish = finish,
};
