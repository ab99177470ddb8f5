// Finds MPI and initialises it.
#include "mpi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// For MPI to be finalized where ranks may be gone. Not measured.
#define FINALIZE_SECONDS 3
#define VERSION_SIZE 8192  // MPICH tells how it was configured

struct mpi_functions mpi;
struct mpi_constants mpi_constants;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded, initialised;
static _Atomic bool given_up, ended;
// Held while MPI ends, or one of its communicators.
static pthread_mutex_t end_lock = PTHREAD_MUTEX_INITIALIZER;
_Atomic int mpi_releases;
static pid_t owner;
char mpi_version[VERSION_SIZE];

// --- The library -------------------------------------------------------------

// The launcher tells which MPI its processes need. False after a report.
static bool open_library(void **out_library)
{
    static const char *const open_mpi[] = {
        "libmpi.so.40", "libmpi.so", "libmpich.so.12", "libmpi.so.12", NULL};
    static const char *const mpich[] = {"libmpich.so.12", "libmpi.so.12",
                                        "libmpi.so.40", "libmpi.so", NULL};
    bool hydra = !getenv("OMPI_COMM_WORLD_SIZE") && getenv("PMI_SIZE");
    const char *chosen = getenv("RUNNEL_MPI");
    // The program's own, if it has one.
    *out_library = RTLD_DEFAULT;
    if (!(chosen && chosen[0]) && dlsym(RTLD_DEFAULT, "MPI_Init_thread"))
        return true;
    *out_library = engine_open("MPI", "RUNNEL_MPI", hydra ? mpich : open_mpi);
    return *out_library != NULL;
}

static rnl_status fill_functions(void *library)
{
    static const struct {
        size_t offset;
        const char *vendor;
    } symbols[] = {
#define SYMBOL(name, vendor, parameters) \
    {offsetof(struct mpi_functions, name), #vendor},
#include "mpi.def"
#undef SYMBOL
    };
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *address = dlsym(library, symbols[i].vendor);
        if (!address)
            return report(RNL_ERROR_UNSUPPORTED, "rnl_comm_create", "context",
                          "the library of MPI has no %s: it is older than MPI "
                          "3.0",
                          symbols[i].vendor);
        memcpy((char *)&mpi + symbols[i].offset, &address, sizeof address);
    }
    return RNL_OK;
}

// --- The two families --------------------------------------------------------

static const struct {
    void **place;
    const char *open_mpi;  // its symbol
    uintptr_t mpich;       // its number
} constants[] = {
#define PLACE(member) &mpi_constants.member
    {PLACE(world), "ompi_mpi_comm_world", 0x44000000},
    {PLACE(request_null), "ompi_request_null", 0x2c000000},
    {PLACE(errors_return), "ompi_mpi_errors_return", 0x54000001},
    {PLACE(types[RNL_ELEMENT_INT8]), "ompi_mpi_int8_t", 0x4c000137},
    {PLACE(types[RNL_ELEMENT_UINT8]), "ompi_mpi_uint8_t", 0x4c00013b},
    {PLACE(types[RNL_ELEMENT_INT16]), "ompi_mpi_int16_t", 0x4c000238},
    {PLACE(types[RNL_ELEMENT_UINT16]), "ompi_mpi_uint16_t", 0x4c00023c},
    {PLACE(types[RNL_ELEMENT_INT32]), "ompi_mpi_int32_t", 0x4c000439},
    {PLACE(types[RNL_ELEMENT_UINT32]), "ompi_mpi_uint32_t", 0x4c00043d},
    {PLACE(types[RNL_ELEMENT_INT64]), "ompi_mpi_int64_t", 0x4c00083a},
    {PLACE(types[RNL_ELEMENT_UINT64]), "ompi_mpi_uint64_t", 0x4c00083e},
    {PLACE(types[RNL_ELEMENT_FLOAT16]), "ompi_mpi_uint16_t", 0x4c00023c},
    {PLACE(types[RNL_ELEMENT_BFLOAT16]), "ompi_mpi_uint16_t", 0x4c00023c},
    {PLACE(types[RNL_ELEMENT_FLOAT32]), "ompi_mpi_float", 0x4c00040a},
    {PLACE(types[RNL_ELEMENT_FLOAT64]), "ompi_mpi_double", 0x4c00080b},
    {PLACE(operations[RNL_REDUCE_SUM]), "ompi_mpi_op_sum", 0x58000003},
    {PLACE(operations[RNL_REDUCE_PRODUCT]), "ompi_mpi_op_prod", 0x58000004},
    {PLACE(operations[RNL_REDUCE_MIN]), "ompi_mpi_op_min", 0x58000002},
    {PLACE(operations[RNL_REDUCE_MAX]), "ompi_mpi_op_max", 0x58000001},
#undef PLACE
};

static rnl_status fill_constants(void *library)
{
    bool open_mpi = dlsym(library, "ompi_mpi_comm_world");
    if (!open_mpi && !strstr(mpi_version, "MPICH"))
        return report(RNL_ERROR_UNSUPPORTED, "rnl_comm_create", "context",
                      "the library of MPI is neither Open MPI nor MPICH: %.80s",
                      mpi_version);
    mpi_constants.handles_are_ints = !open_mpi;
    mpi_constants.error_truncate = open_mpi ? 15 : 14;
    mpi_constants.in_place = (void *)(intptr_t)(open_mpi ? 1 : -1);
    for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++) {
        *constants[i].place = open_mpi ? dlsym(library, constants[i].open_mpi)
                                       : (void *)constants[i].mpich;
        if (!*constants[i].place)
            return report(RNL_ERROR_UNSUPPORTED, "rnl_comm_create", "context",
                          "the library of MPI has no %s",
                          constants[i].open_mpi);
    }
    return RNL_OK;
}

// --- Beginning and end -------------------------------------------------------

void mpi_give_up(void)
{
    given_up = true;
}

bool mpi_is_over(void)
{
    int is = 0;
    return mpi.finalized(&is) != 0 || is;
}

void mpi_free(void **comm)
{
    pthread_mutex_lock(&end_lock);
    if (!mpi_is_over())
        mpi.comm_free(comm);
    pthread_mutex_unlock(&end_lock);
}

// Ends the process where MPI waits for ranks that may never come.
static void *end_process(void *status)
{
    nanosleep(&(struct timespec){.tv_sec = FINALIZE_SECONDS}, NULL);
    if (ended)
        return NULL;
    fflush(NULL);
    _exit((int)(intptr_t)status);
}

// Communicators that are released end on threads of Runnel.
static void await_releases(void)
{
    uint64_t deadline = clock_after(FINALIZE_SECONDS * UINT64_C(1000000000));
    while (mpi_releases > 0 && !given_up && clock_ns() < deadline)
        nap();
}

static void finalize(int status, void *unused)
{
    pthread_t thread;
    (void)unused;
    if (owner != getpid() || mpi_is_over())
        return;
    await_releases();
    if (given_up) {
        if (pthread_create(&thread, NULL, end_process,
                           (void *)(intptr_t)status))
            return;
        pthread_detach(thread);
    }
    pthread_mutex_lock(&end_lock);
    mpi.finalize();
    ended = true;
    pthread_mutex_unlock(&end_lock);
}

static rnl_status initialise(void)
{
    int is = 0, level = 0;
    if (mpi.initialized(&is) != 0)
        is = 0;
    if (!is) {
        int code = mpi.init(NULL, NULL, MPI_LEVEL_MULTIPLE, &level);
        if (code != 0)
            return report(RNL_ERROR_DRIVER, "rnl_comm_create", "context",
                          "MPI_Init_thread failed with code %d", code);
        // MPICH 4.0 asks the handler of MPI_COMM_WORLD when a request fails.
        mpi.handler(mpi_constants.world, mpi_constants.errors_return);
        owner = getpid();
        on_exit(finalize, NULL);
    } else if (mpi.level(&level) != 0) {
        level = 0;
    }
    if (level < MPI_LEVEL_MULTIPLE)
        return report(RNL_ERROR_INVALID_STATE, "rnl_comm_create", "context",
                      "MPI has thread level %d, and operations run on several "
                      "threads: initialise MPI with MPI_Init_thread and "
                      "MPI_THREAD_MULTIPLE",
                      level);
    return RNL_OK;
}

static rnl_status load_locked(void)
{
    int length = 0;
    void *library;
    if (!loaded) {
        if (!open_library(&library))
            return rnl_last_error()->status;
        rnl_status status = fill_functions(library);
        if (status != RNL_OK)
            return status;
        mpi.version(mpi_version, &length);
        if ((status = fill_constants(library)))
            return status;
        loaded = true;
    }
    if (mpi_is_over())
        return report(RNL_ERROR_INVALID_STATE, "rnl_comm_create", "context",
                      "MPI is finalized in this process");
    if (initialised)
        return RNL_OK;
    rnl_status status = initialise();
    initialised = status == RNL_OK;
    return status;
}

rnl_status mpi_load(const struct engine *engine)
{
    (void)engine;
    pthread_mutex_lock(&lock);
    rnl_status status = load_locked();
    pthread_mutex_unlock(&lock);
    return status;
}

void mpi_error(int code, char *text, size_t size)
{
    char words[1024] = "";  // more than both families need
    int length = 0;
    if (mpi.error_text(code, words, &length) != 0)
        snprintf(words, sizeof words, "code %d", code);
    snprintf(text, size, "%s", words);
}
