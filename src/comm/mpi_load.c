// Finds MPI and initialises it.
#include "mpi.h"
#include "tuning.h"

#include <dlfcn.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION_SIZE 8192  // MPICH tells how it was configured

struct mpi_functions mpi;
struct mpi_constants mpi_constants;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool loaded;  // `lock`
// How far this process has MPI.
static _Atomic enum phase {
    PHASE_NONE,
    PHASE_BEGINS,
    PHASE_FAILED,
    PHASE_USABLE,
    PHASE_OVER,
} phase;
static _Atomic int init_code, level;
static pthread_t main_thread;  // of MPI, if the library initialised MPI
static sem_t exits;            // what that thread waits for
static _Atomic bool given_up, ending;
static _Atomic int users;  // between mpi_enter and mpi_leave
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
    bool hydra =
        !secure_getenv("OMPI_COMM_WORLD_SIZE") && secure_getenv("PMI_SIZE");
    const char *chosen = secure_getenv("RUNNEL_MPI");
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
    {PLACE(self), "ompi_mpi_comm_self", 0x44000001},
    {PLACE(comm_null), "ompi_mpi_comm_null", 0x04000000},
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

// Has the ABI of MPICH.
static bool is_mpich(void)
{
    return strstr(mpi_version, "MPICH") || strstr(mpi_version, "MVAPICH") ||
           strstr(mpi_version, "Intel(R) MPI");
}

// The standard ABI has other constants, whichever MPI is behind it.
static bool has_standard_abi(void)
{
    Dl_info info;
    return dladdr((void *)(uintptr_t)mpi.init, &info) && info.dli_fname &&
           strstr(info.dli_fname, "libmpi_abi");
}

static rnl_status fill_constants(void *library)
{
    bool open_mpi = dlsym(library, "ompi_mpi_comm_world");
    if (has_standard_abi())
        return report(RNL_ERROR_UNSUPPORTED, "rnl_comm_create", "context",
                      "the library of MPI is libmpi_abi, whose standard ABI is "
                      "not supported: name the library of Open MPI or of MPICH "
                      "in RUNNEL_MPI");
    if (!open_mpi && !is_mpich())
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

// --- Use ---------------------------------------------------------------------

void mpi_give_up(void)
{
    given_up = true;
}

static bool is_over(void)
{
    int is = 0;
    return mpi.finalized(&is) != 0 || is;
}

bool mpi_enter(void)
{
    users++;
    if (!ending && !is_over())
        return true;
    users--;
    return false;
}

void mpi_leave(void)
{
    users--;
}

bool mpi_is_ending(void)
{
    return ending;
}

void mpi_free(void **comm)
{
    if (!mpi_enter())
        return;
    mpi.comm_free(comm);
    mpi_leave();
}

// --- End ---------------------------------------------------------------------

// MPI_Finalize waits for communicators that are released, which end behind
// their operations. One that a graph keeps ends at no time that is known.
static void await_releases(void)
{
    uint64_t deadline = clock_after(FINALIZE_NS), quiet = 0;
    int last = 0, left;
    while ((left = mpi_releases) > 0 && !ending && !given_up) {
        if (users > 0 || left != last)
            quiet = clock_after(QUIET_NS);
        last = left;
        if (clock_ns() >= (quiet < deadline ? quiet : deadline))
            return;
        nap();
    }
}

// Ends operations.
static void end_use(void)
{
    uint64_t deadline;
    await_releases();
    ending = true;
    deadline = clock_after(FINALIZE_NS);
    while (users > 0 && clock_ns() < deadline)
        nap();
}

static int copy_nothing(void *comm, int key, void *state, void *value,
                        void *out, int *out_is)
{
    (void)comm;
    (void)key;
    (void)state;
    (void)value;
    (void)out;
    *out_is = 0;
    return 0;
}

static int self_ends(void *comm, int key, void *value, void *state)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)state;
    end_use();
    return 0;
}

// MPI_Finalize deletes the attributes of MPI_COMM_SELF first, while MPI can
// still be used. MPI without attributes is used all the same.
static void watch_end(void)
{
    int key = 0;
    if (mpi.create_key(copy_nothing, self_ends, &key, NULL) == 0)
        mpi.set_attribute(mpi_constants.self, key, NULL);
}

// Several releases of MPI are wrong there, some in vector code alone
// (pmodels/mpich issue 6083, open-mpi/ompi issue 10648).
static bool finds_greatest(rnl_element element)
{
    enum { COUNT = 64, WIDTH_MOST = 8 };
    unsigned char least[COUNT * WIDTH_MOST] = {0}, greatest[sizeof least] = {0};
    size_t width = rnl_element_size(element), size = COUNT * width;
    for (size_t i = 0; i < size; i += width) {
        least[i] = 1;
        greatest[i + width - 1] = 0x80;
    }
    unsigned char both[sizeof least];
    memcpy(both, greatest, size);
    return mpi.reduce_local(least, both, COUNT, mpi_constants.types[element],
                            mpi_constants.operations[RNL_REDUCE_MAX]) == 0 &&
           memcmp(both, greatest, size) == 0;
}

static void find_misordered(void)
{
    static const rnl_element without_sign[] = {
        RNL_ELEMENT_UINT8, RNL_ELEMENT_UINT16, RNL_ELEMENT_UINT32,
        RNL_ELEMENT_UINT64};
    for (size_t i = 0; i < sizeof without_sign / sizeof without_sign[0]; i++)
        mpi_constants.misorders[without_sign[i]] =
            !finds_greatest(without_sign[i]);
}

static _Atomic bool is_flushed;

static void *flush_files(void *unused)
{
    (void)unused;
    fflush(NULL);
    is_flushed = true;
    return NULL;
}

static void flush(FILE *stream)
{
    if (ftrylockfile(stream) != 0)
        return;
    fflush_unlocked(stream);
    funlockfile(stream);
}

// Writes all files, as exit does behind this handler. Another thread may have a
// stream locked for good, by reading from a terminal: then fflush does not
// return.
static void flush_all(void)
{
    pthread_t thread;
    uint64_t deadline = clock_after(FLUSH_NS);
    if (pthread_create(&thread, NULL, flush_files, NULL) == 0) {
        pthread_detach(thread);
        while (!is_flushed && clock_ns() < deadline)
            nap();
    }
    flush(stdout);
    flush(stderr);
}

// Ends the process where MPI waits for ranks that may never come.
static void finalize(int status, void *unused)
{
    (void)unused;
    if (owner != getpid() || phase != PHASE_USABLE || is_over())
        return;
    end_use();
    sem_post(&exits);
    uint64_t deadline = clock_after(FINALIZE_NS);
    while (phase != PHASE_OVER) {
        nap();
        if (!given_up || clock_ns() < deadline)
            continue;
        flush_all();
        _exit(status);
    }
    pthread_join(main_thread, NULL);
}

// --- Beginning ---------------------------------------------------------------

// MPI asks for one thread to initialise and to finalize MPI. That thread is the
// library's: MPI_Init_thread waits for other processes without a limit, and
// creations have limits.
static void *be_main_thread(void *unused)
{
    int got = 0;
    sigset_t signals;
    (void)unused;
    init_code = mpi.init(NULL, NULL, MPI_LEVEL_MULTIPLE, &got);
    level = got;
    if (init_code != 0) {
        pthread_detach(pthread_self());
        phase = PHASE_FAILED;
        return NULL;
    }
    // MPICH 4.0 asks the handler of MPI_COMM_WORLD when a request fails.
    mpi.handler(mpi_constants.world, mpi_constants.errors_return);
    watch_end();
    find_misordered();
    owner = getpid();
    on_exit(finalize, NULL);
    phase = PHASE_USABLE;
    // Signals are for the program's threads.
    sigfillset(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    while (sem_wait(&exits) != 0)
        continue;
    mpi.finalize();
    phase = PHASE_OVER;
    return NULL;
}

static rnl_status start_locked(void)
{
    int is = 0, got = 0;
    if (phase != PHASE_NONE && phase != PHASE_FAILED)
        return RNL_OK;
    if (mpi.initialized(&is) == 0 && is) {
        level = mpi.level(&got) == 0 ? got : 0;
        if (level < MPI_LEVEL_MULTIPLE)
            return RNL_OK;
        watch_end();
        find_misordered();
        phase = PHASE_USABLE;
        return RNL_OK;
    }
    phase = PHASE_BEGINS;
    sem_init(&exits, 0, 0);
    if (pthread_create(&main_thread, NULL, be_main_thread, NULL) != 0) {
        phase = PHASE_NONE;
        return report(RNL_ERROR_OUT_OF_MEMORY, "rnl_comm_create", NULL,
                      "there is no thread to initialise MPI");
    }
    return RNL_OK;
}

rnl_status mpi_begin(const struct membership *members)
{
    pthread_mutex_lock(&lock);
    rnl_status status = start_locked();
    pthread_mutex_unlock(&lock);
    if (status != RNL_OK)
        return status;
    while (phase == PHASE_BEGINS && clock_ns() <= members->deadline)
        nap();
    if (phase == PHASE_BEGINS) {
        mpi_give_up();
        return report(RNL_ERROR_TIMED_OUT, "rnl_comm_create",
                      "options.timeout_ns",
                      "MPI_Init_thread waited for other processes, and the "
                      "time limit passed");
    }
    if (phase == PHASE_FAILED)
        return report(RNL_ERROR_DRIVER, "rnl_comm_create", "context",
                      "MPI_Init_thread failed with code %d", init_code);
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
    if (loaded)
        return RNL_OK;
    if (!open_library(&library))
        return rnl_last_error()->status;
    rnl_status status = fill_functions(library);
    if (status != RNL_OK)
        return status;
    mpi.version(mpi_version, &length);
    status = fill_constants(library);
    loaded = status == RNL_OK;
    return status;
}

rnl_status mpi_load(const struct engine *engine)
{
    (void)engine;
    pthread_mutex_lock(&lock);
    rnl_status status = load_locked();
    pthread_mutex_unlock(&lock);
    if (status == RNL_OK && (ending || is_over()))
        status = report(RNL_ERROR_INVALID_STATE, "rnl_comm_create", "context",
                        "MPI is finalized in this process");
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
