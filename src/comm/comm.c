// Communicators: creation, properties and end.
#include "comm_internal.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_NS (UINT64_C(600) * 1000000000)

static rnl_status find_engine(rnl_context context,
                              const struct engine **out_engine)
{
    rnl_device device;
    rnl_device_info info = {.struct_size = sizeof info};
    rnl_status status = rnl_context_device(context, &device);
    if (status == RNL_OK)
        status = rnl_device_get_info(device, &info);
    if (status != RNL_OK)
        return status;
    *out_engine = strcmp(info.api, "cpu") == 0   ? &mpi_engine
                  : strcmp(info.api, "hip") == 0 ? &rccl_engine
                                                 : &nccl_engine;
    return (*out_engine)->load(*out_engine);
}

// --- Creation ----------------------------------------------------------------

static rnl_status check_members(const rnl_comm_options *options,
                                const char *function)
{
    bool meets = options->file || options->address;
    if (options->file && options->address)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "options",
                      "'options' has both a file and an address");
    if (!meets && (options->rank || options->size))
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "options.rank",
                      "MPI gives the rank and the size of a communicator that "
                      "has neither file nor address");
    if (meets && options->mpi_comm)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "options.mpi_comm",
                      "'options.mpi_comm' goes with neither file nor address");
    if (meets && options->size < 1)
        return report(RNL_ERROR_OUT_OF_RANGE, function, "options.size",
                      "'options.size' is %d where a communicator has at least "
                      "one rank",
                      options->size);
    if (meets && (options->rank < 0 || options->rank >= options->size))
        return report(RNL_ERROR_OUT_OF_RANGE, function, "options.rank",
                      "'options.rank' is %d in a communicator of %d ranks",
                      options->rank, options->size);
    return RNL_OK;
}

rnl_status rnl_comm_create(rnl_context context, const rnl_comm_options *given,
                           rnl_comm *out_comm)
{
    rnl_comm_options options;
    const struct engine *engine;
    rnl_status status = comm_check_process(__func__);
    if (status == RNL_OK)
        status =
            read_options(&options, sizeof options, given, __func__, "options");
    if (status != RNL_OK || (status = check_members(&options, __func__)))
        return status;
    if (!out_comm)
        return report(RNL_ERROR_INVALID_ARGUMENT, __func__, "out_comm",
                      "'out_comm' is NULL");
    if (options.timeout_ns == 0)
        options.timeout_ns = TIMEOUT_NS;
    const struct membership members = {
        options.rank,    options.size,     options.file,
        options.address, options.mpi_comm, clock_after(options.timeout_ns),
    };
    if ((status = find_engine(context, &engine)))
        return status;
    struct comm *comm = comm_new(engine, context, &options);
    if (!comm)
        return RNL_ERROR_OUT_OF_MEMORY;
    status = engine->create(comm, &members);
    if (status == RNL_OK)
        *out_comm = comm_publish(comm);
    else
        comm_unpin(comm);
    return status;
}

// --- All ranks in one process ------------------------------------------------

static rnl_status make_all(const struct engine *engine,
                           const rnl_context *contexts, size_t count,
                           const rnl_comm_options *options, uint64_t deadline,
                           struct comm **comms)
{
    for (size_t i = 0; i < count; i++) {
        comms[i] = comm_new(engine, contexts[i], options);
        if (!comms[i])
            return RNL_ERROR_OUT_OF_MEMORY;
        comms[i]->rank = (int)i;
        comms[i]->size = (int)count;
    }
    return engine->create_all(comms, count, deadline);
}

static rnl_status check_all(const rnl_context *contexts, size_t count,
                            const rnl_comm_options *options,
                            const struct engine **out_engine)
{
    static const char function[] = "rnl_comm_create_all";
    if (!contexts || count < 1 || count > 1024)
        return report(RNL_ERROR_OUT_OF_RANGE, function, "count",
                      "a communicator of one process has 1 to 1024 contexts");
    if (options->file || options->address || options->mpi_comm ||
        options->rank || options->size)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "options",
                      "the ranks of one process need no place to meet");
    for (size_t i = 0; i < count; i++) {
        const struct engine *first = *out_engine;
        rnl_status status = find_engine(contexts[i], out_engine);
        if (status != RNL_OK)
            return status;
        if (i > 0 && first != *out_engine)
            return report(RNL_ERROR_INVALID_ARGUMENT, function, "contexts",
                          "contexts 0 and %zu are of two backends", i);
    }
    return (*out_engine)->create_all
               ? RNL_OK
               : report(RNL_ERROR_UNSUPPORTED, function, "contexts",
                        "to %s a process is one rank", (*out_engine)->name);
}

rnl_status rnl_comm_create_all(const rnl_context *contexts, size_t count,
                               const rnl_comm_options *given,
                               rnl_comm *out_comms)
{
    rnl_comm_options options;
    const struct engine *engine = NULL;
    rnl_status status = comm_check_process(__func__);
    if (status == RNL_OK)
        status =
            read_options(&options, sizeof options, given, __func__, "options");
    if (status != RNL_OK)
        return status;
    if (options.timeout_ns == 0)
        options.timeout_ns = TIMEOUT_NS;
    uint64_t deadline = clock_after(options.timeout_ns);
    if ((status = check_all(contexts, count, &options, &engine)))
        return status;
    if (!out_comms)
        return report(RNL_ERROR_INVALID_ARGUMENT, __func__, "out_comms",
                      "'out_comms' is NULL");
    struct comm **comms = calloc(count, sizeof *comms);
    if (!comms)
        return report(RNL_ERROR_OUT_OF_MEMORY, __func__, NULL,
                      "there is no memory for %zu communicators", count);
    status = make_all(engine, contexts, count, &options, deadline, comms);
    for (size_t i = 0; i < count && comms[i]; i++)
        if (status == RNL_OK)
            out_comms[i] = comm_publish(comms[i]);
        else
            comm_unpin(comms[i]);
    free(comms);
    return status;
}

// --- Properties and end ------------------------------------------------------

// Copies what the caller has room for; fields that this library does not know
// become 0.
static rnl_status write_info(rnl_comm_info *out_info, const rnl_comm_info *info,
                             const char *function)
{
    size_t room = out_info ? out_info->struct_size : 0, size = sizeof *info;
    if (room < sizeof room || room > 65536)
        return report(RNL_ERROR_INVALID_ARGUMENT, function, "out_info",
                      "'out_info' is NULL or its struct_size is not set");
    size_t filled = room < size ? room : size;
    memset(out_info, 0, room);
    memcpy(out_info, info, filled);
    memcpy(out_info, &filled, sizeof filled);
    return RNL_OK;
}

rnl_status rnl_comm_get_info(rnl_comm handle, rnl_comm_info *out_info)
{
    rnl_status status;
    struct comm *comm = comm_find(handle, __func__, &status);
    if (!comm)
        return status;
    rnl_comm_info info = {
        .struct_size = sizeof info,
        .context = comm->context,
        .rank = comm->rank,
        .size = comm->size,
        .engine = comm->engine->name,
        .engine_version = comm->engine->version,
        .label = comm->label,
        .timeout_ns = comm->timeout_ns,
        .aborted = comm->aborted,
    };
    status = write_info(out_info, &info, __func__);
    comm_unpin(comm);
    return status;
}

rnl_status rnl_comm_abort(rnl_comm handle)
{
    rnl_status status;
    struct comm *comm = comm_find(handle, __func__, &status);
    if (!comm)
        return status;
    comm_abort(comm);
    comm_unpin(comm);
    return RNL_OK;
}

rnl_status rnl_comm_release(rnl_comm handle)
{
    rnl_status status = RNL_OK;
    struct comm *comm = handle ? comm_find(handle, __func__, &status) : NULL;
    if (!comm)
        return status;
    // The engine drops the registry's reference.
    if (comm_bury(comm))
        comm->engine->release(comm);
    comm_unpin(comm);
    return RNL_OK;
}
