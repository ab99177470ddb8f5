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

static rnl_status late(const struct membership *members, const char *what)
{
    mpi_give_up();
    return report(RNL_ERROR_TIMED_OUT, "rnl_comm_create", "options.timeout_ns",
                  "rank %d waited for other ranks to make a communicator (%s), "
                  "and the time limit passed",
                  members->rank, what);
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

// Waits for a request, with the result of the call that made the request.
static rnl_status await(const struct membership *members, const char *call,
                        int code, void **request)
{
    _Alignas(16) char status[64];
    int done = 0;
    while (code == 0 && (code = mpi.test(request, &done, status)) == 0 &&
           !done) {
        if (clock_ns() > members->deadline)
            return late(members, call);
        nap();
    }
    return code == 0 ? RNL_OK : refuse(call, code);
}

// MPI may still write the handle when the time limit has passed: its place is
// not freed then.
static rnl_status duplicate(struct comm *comm, void *parent,
                            const struct membership *members)
{
    void *request = NULL, **made = calloc(1, sizeof *made);
    if (!made)
        return report(RNL_ERROR_OUT_OF_MEMORY, "rnl_comm_create", NULL,
                      "there is no memory for a handle");
    int code = mpi.duplicate(parent, made, &request);
    rnl_status status = await(members, "MPI_Comm_idup", code, &request);
    if (status == RNL_OK)
        comm->mpi.comm = *made;
    if (status != RNL_ERROR_TIMED_OUT)
        free(made);
    return status;
}

// The communicator that the caller has, or all processes.
static void *parent_of(const struct membership *members)
{
    if (!members->mpi_comm)
        return mpi_constants.world;
    return mpi_constants.handles_are_ints
               ? (void *)(uintptr_t) * (const unsigned *)members->mpi_comm
               : *(void *const *)members->mpi_comm;
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
    int code, world_size;
    if ((code = mpi.rank(mpi_constants.world, &out_own->rank)) != 0 ||
        (code = mpi.size(mpi_constants.world, &world_size)) != 0)
        return refuse("MPI_Comm_rank", code);
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

static int make_group(struct creation *creation, int size)
{
    void *world = NULL;
    int code = mpi.group(mpi_constants.world, &world);
    if (code != 0)
        return code;
    code = mpi.include(world, size, creation->ranks, &creation->group);
    mpi.group_free(&world);
    return code;
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
        return late(members, "MPI_Comm_create_group");
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
    int code = make_group(creation, members->size);
    rnl_status status = code == 0 ? await_creation(creation, members)
                                  : refuse("MPI_Group_incl", code);
    if (status == RNL_ERROR_TIMED_OUT)
        return status;
    comm->mpi.comm = creation->comm;
    if (code == 0)
        mpi.group_free(&creation->group);
    free(creation);
    return status;
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
        status = create_group(comm, members, seats);
    free(seats);
    return status;
}

static rnl_status create(struct comm *comm, const struct membership *members)
{
    bool meets = members->file || members->address;
    rnl_status status = meets ? create_met(comm, members)
                              : duplicate(comm, parent_of(members), members);
    if (status != RNL_OK)
        return status;
    int code = mpi.handler(comm->mpi.comm, mpi_constants.errors_return);
    if (code != 0 || (code = mpi.rank(comm->mpi.comm, &comm->rank)) != 0 ||
        (code = mpi.size(comm->mpi.comm, &comm->size)) != 0)
        status = refuse("MPI_Comm_rank", code);
    else
        status = wrap(comm);
    if (status != RNL_OK)
        mpi.comm_free(&comm->mpi.comm);
    return status;
}

// --- For other engines -------------------------------------------------------

rnl_status mpi_find_rank(const struct membership *members, int *out_rank,
                         int *out_size)
{
    rnl_status status = mpi_load(&mpi_engine);
    if (status != RNL_OK)
        return status;
    int code = mpi.rank(parent_of(members), out_rank);
    if (code == 0)
        code = mpi.size(parent_of(members), out_size);
    return code == 0 ? RNL_OK : refuse("MPI_Comm_rank", code);
}

// The bytes are copied, since MPI may still write to them when the time limit
// has passed: the copy is not freed then.
rnl_status mpi_share(const struct membership *members, void *bytes, size_t size)
{
    void *request = NULL, *copy = malloc(size);
    if (!copy)
        return report(RNL_ERROR_OUT_OF_MEMORY, "rnl_comm_create", NULL,
                      "there is no memory for %zu bytes", size);
    memcpy(copy, bytes, size);
    int code =
        mpi.broadcast(copy, (int)size, mpi_constants.types[RNL_ELEMENT_UINT8],
                      0, parent_of(members), &request);
    rnl_status status = await(members, "MPI_Ibcast", code, &request);
    if (status == RNL_OK)
        memcpy(bytes, copy, size);
    if (status != RNL_ERROR_TIMED_OUT)
        free(copy);
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
