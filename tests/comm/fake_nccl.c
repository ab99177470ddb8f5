// A fake of NCCL, and with FAKE_RCCL of RCCL, for the fake drivers: ranks share
// memory of the machine, and an operation is a host function of the native
// stream. Each function that the library needs is here, by its symbol table.
//
//   FAKE_NCCL_VERSION=n  another version
//
// Where NCCL leaves a call undefined, the fake counts a misuse:
//
//   - a call for a communicator that has ended, or before its last call is done
//   - before 2.27 a job of a group lies in the memory of the thread that ended
//     the group, until ncclCommCount joins the job or the communicator ends.
//     The thread begins no other job and does not end before that.
//
// fake_nccl_control makes calls fail, as the comment there says.
#include "comm/nccl.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_nccl.h"

#define SYMBOL(name, vendor, result, parameters) result vendor parameters;
#include "comm/nccl.def"
#undef SYMBOL

enum {
    RANKS = 4,
    ROOM = 1 << 16,
    OPS = 64,
    POLLS = 2,
    THREADS = 4096,
    INVALID = 4,
    VERSION = 22105,
};

struct box {
    _Atomic unsigned posted, taken;
    char data[ROOM];
};

// The memory that the ranks share.
struct world {
    _Atomic int came;
    _Atomic unsigned posted[RANKS], taken[RANKS];
    char data[RANKS][ROOM];
    struct box boxes[RANKS][RANKS];  // from, to
};

// The memory of a thread for the job of a group.
struct memory {
    _Atomic int comms;  // whose job lies here
};

struct fake_comm {
    struct world *world;
    int rank, size;
    unsigned posted;         // collective operations so far
    _Atomic int unfinished;  // polls until the last call is done
    _Atomic bool ended;      // by an abort or by its destruction
    void *context;
    void **out;             // where its creation stores it once more
    struct memory *memory;  // of the thread that began its last job, or NULL
    struct fake_comm *next;
};

// Communicators that have ended stay: host functions look at them, and a later
// call for one of them is counted as a misuse.
static struct fake_comm *graveyard;
static pthread_mutex_t graveyard_lock = PTHREAD_MUTEX_INITIALIZER;

struct fake_op {
    enum comm_kind kind;
    const void *send;
    void *receive;
    size_t count;
    int type, operation, peer;
    unsigned number;
};

// The operations of a host function.
struct job {
    struct fake_comm *comm;
    void *stream;
    int count;
    struct fake_op ops[OPS];
};

// A thread's group: the jobs by device and rank, and new communicators.
static _Thread_local struct job *jobs[RANKS];
static _Thread_local int depth, failed;
static _Thread_local struct fake_comm *inits;
static _Thread_local struct memory *own_memory;
static _Atomic int running;  // jobs that streams have

// --- Control -----------------------------------------------------------------

static struct fake_nccl_control control;

struct fake_nccl_control *fake_nccl_control(void)
{
    return &control;
}

// The result that a test asks of this call; 0: none.
static int injected(const char *name)
{
    bool meant = !control.fail_name[0] || strcmp(control.fail_name, name) == 0;
    if (!meant)
        return 0;
    unsigned long call = ++control.calls;
    return control.fail_at == call ? control.fail_code : 0;
}

static int version(void)
{
    const char *asked = getenv("FAKE_NCCL_VERSION");
    return asked ? atoi(asked) : VERSION;
}

// --- Jobs in the memory of threads -------------------------------------------

static pthread_key_t memory_key;

static void lose_memory(void *memory)
{
    control.misuses += ((struct memory *)memory)->comms > 0;
}

__attribute__((constructor)) static void make_key(void)
{
    pthread_key_create(&memory_key, lose_memory);
}

static struct memory *find_memory(void)
{
    static struct memory memories[THREADS];
    static _Atomic int count;
    if (!own_memory) {
        own_memory = &memories[count++ % THREADS];
        pthread_setspecific(memory_key, own_memory);
    }
    return own_memory;
}

static void leave_memory(struct fake_comm *comm)
{
    if (comm->memory)
        comm->memory->comms--;
    comm->memory = NULL;
}

static void begin_job(struct fake_comm *comm)
{
    leave_memory(comm);
    if (version() < 22700) {
        comm->memory = find_memory();
        comm->memory->comms++;
    }
}

// The thread's memory is free for the next job.
static void check_memory(void)
{
    control.misuses += find_memory()->comms > 0;
}

// --- The driver --------------------------------------------------------------

static void *driver_symbol(const char *name)
{
    static void *driver;
#if defined(FAKE_RCCL)
    const char *path = getenv("RUNNEL_HIP");
#else
    const char *path = getenv("RUNNEL_CUDA");
#endif
    if (!driver)
        driver = dlopen(path, RTLD_NOW);
    return dlsym(driver, name);
}

static bool launch(void *stream, void (*function)(void *), void *argument)
{
    int (*host)(void *, void (*)(void *), void *);
    *(void **)&host = driver_symbol("fake_control_host");
    running++;
    if (host(stream, function, argument) == 0)
        return true;
    running--;
    failed = INVALID;
    return false;
}

static void *current(void)
{
#if defined(FAKE_RCCL)
    int device = -1;
    int (*get)(int *);
    *(void **)&get = driver_symbol("hipGetDevice");
    get(&device);
    return (void *)(intptr_t)device;
#else
    void *context = NULL;
    int (*get)(void **);
    *(void **)&get = driver_symbol("cuCtxGetCurrent");
    get(&context);
    return context;
#endif
}

// Counts a call that NCCL forbids: for a communicator that has ended, with
// another current context, or before the last call is done.
static void check_use(const struct fake_comm *comm)
{
    if (comm->ended || current() != comm->context || comm->unfinished > 0)
        control.misuses++;
}

// --- Doing -------------------------------------------------------------------

static size_t width_of(int type)
{
    static const size_t widths[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return widths[type];
}

static void combine(float *to, const float *from, size_t count, int operation)
{
    for (size_t i = 0; i < count; i++)
        to[i] = operation == 1   ? to[i] * from[i]
                : operation == 2 ? (to[i] > from[i] ? to[i] : from[i])
                : operation == 3 ? (to[i] < from[i] ? to[i] : from[i])
                                 : to[i] + from[i];
}

// Floats only, which tests reduce.
static void reduce(const struct fake_comm *comm, float *to, size_t first,
                   size_t count, int operation)
{
    memcpy(to, comm->world->data[0] + first * sizeof *to, count * sizeof *to);
    for (int i = 1; i < comm->size; i++)
        combine(to, (const float *)(void *)comm->world->data[i] + first, count,
                operation);
    for (size_t i = 0; operation == 4 && i < count; i++)
        to[i] /= (float)comm->size;
}

static bool wait_for(const struct fake_comm *comm, const _Atomic unsigned *word,
                     unsigned least)
{
    while (*word < least) {
        if (comm->ended)
            return false;
        sched_yield();
    }
    return true;
}

static bool wait_for_all(const struct fake_comm *comm,
                         const _Atomic unsigned *words, unsigned least)
{
    for (int i = 0; i < comm->size; i++)
        if (!wait_for(comm, &words[i], least))
            return false;
    return true;
}

static void take(const struct fake_comm *comm, const struct fake_op *op)
{
    size_t bytes = op->count * width_of(op->type);
    struct world *world = comm->world;
    switch (op->kind) {
    case OP_ALL_REDUCE:
        reduce(comm, op->receive, 0, op->count, op->operation);
        break;
    case OP_REDUCE_SCATTER:
        reduce(comm, op->receive, op->count * (size_t)comm->rank, op->count,
               op->operation);
        break;
    case OP_BROADCAST:
        memcpy(op->receive, world->data[op->peer], bytes);
        break;
    default:
        for (int i = 0; i < comm->size; i++)
            memcpy((char *)op->receive + bytes * (size_t)i, world->data[i],
                   bytes);
        break;
    }
}

static void do_collective(struct fake_comm *comm, const struct fake_op *op)
{
    struct world *world = comm->world;
    size_t bytes = op->count * width_of(op->type);
    if (op->kind == OP_REDUCE_SCATTER)
        bytes *= (size_t)comm->size;
    if (!wait_for_all(comm, world->taken, op->number - 1))
        return;
    memcpy(world->data[comm->rank], op->send, bytes);
    world->posted[comm->rank] = op->number;
    if (!wait_for_all(comm, world->posted, op->number))
        return;
    take(comm, op);
    world->taken[comm->rank] = op->number;
}

static void do_send(struct fake_comm *comm, const struct fake_op *op)
{
    struct box *box = &comm->world->boxes[comm->rank][op->peer];
    if (!wait_for(comm, &box->taken, box->posted))
        return;
    memcpy(box->data, op->send, op->count * width_of(op->type));
    box->posted++;
}

static void do_receive(struct fake_comm *comm, const struct fake_op *op)
{
    struct box *box = &comm->world->boxes[op->peer][comm->rank];
    if (!wait_for(comm, &box->posted, box->taken + 1))
        return;
    memcpy(op->receive, box->data, op->count * width_of(op->type));
    box->taken++;
}

static void do_job(void *argument)
{
    struct job *job = argument;
    for (int i = 0; i < job->count; i++)
        if (job->ops[i].kind == OP_SEND)
            do_send(job->comm, &job->ops[i]);
    for (int i = 0; i < job->count; i++)
        if (job->ops[i].kind == OP_RECEIVE)
            do_receive(job->comm, &job->ops[i]);
        else if (job->ops[i].kind != OP_SEND)
            do_collective(job->comm, &job->ops[i]);
    free(job);
    running--;
}

// --- Groups ------------------------------------------------------------------

int ncclGroupStart(void)
{
    int result = injected(__func__);
    if (result == 0)
        depth++;
    return result;
}

// Gives the streams the jobs of the group, or drops them. Whether there were.
static bool give_jobs(int result)
{
    bool began = false;
    for (int i = 0; i < RANKS; i++) {
        struct job *job = jobs[i];
        jobs[i] = NULL;
        if (!job)
            continue;
        began = true;
        control.misuses += job->comm->ended;
        if (result != 0) {
            free(job);
            continue;
        }
        struct fake_comm *comm = job->comm;
        comm->unfinished = control.polls ? control.polls : POLLS;
        if (launch(job->stream, do_job, job))  // the job may be gone
            begin_job(comm);
    }
    return began;
}

static bool give_inits(void)
{
    bool began = inits;
    for (struct fake_comm *comm = inits; comm; comm = comm->next)
        begin_job(comm);
    inits = NULL;
    return began;
}

int ncclGroupEnd(void)
{
    int result = injected(__func__);
    void (*in_group)(void) = atomic_exchange(&control.in_group, NULL);
    if (in_group)
        in_group();
    if (depth == 0)
        return 5;  // ncclInvalidUsage
    if (--depth > 0)
        return result;
    result = result ? result : failed;
    check_memory();
    bool began = give_inits();
    began |= give_jobs(result);
    result = result ? result : failed;
    failed = 0;
    return result == 0 && began ? NCCL_IN_PROGRESS : result;
}

static int add(const char *name, void *handle, void *stream, struct fake_op op)
{
    struct fake_comm *comm = handle;
    int result = injected(name);
    if (result != 0)
        return result;
    check_use(comm);
    if (comm->unfinished > 0)
        return failed = INVALID;
    struct job *job = jobs[comm->rank];
    if (!job) {
        job = jobs[comm->rank] = calloc(1, sizeof *job);
        job->comm = comm;
        job->stream = stream;
    }
    if (op.kind != OP_SEND && op.kind != OP_RECEIVE)
        op.number = ++comm->posted;
    if (op.count * width_of(op.type) > ROOM || job->count == OPS)
        return INVALID;
    job->ops[job->count++] = op;
    return 0;
}

// --- Operations --------------------------------------------------------------

int ncclAllReduce(const void *send, void *receive, size_t count, int type,
                  int operation, void *comm, void *stream)
{
    return add(__func__, comm, stream,
               (struct fake_op){OP_ALL_REDUCE, send, receive, count, type,
                                operation, 0, 0});
}

int ncclBroadcast(const void *send, void *receive, size_t count, int type,
                  int root, void *comm, void *stream)
{
    return add(
        __func__, comm, stream,
        (struct fake_op){OP_BROADCAST, send, receive, count, type, 0, root, 0});
}

int ncclReduceScatter(const void *send, void *receive, size_t count, int type,
                      int operation, void *comm, void *stream)
{
    return add(__func__, comm, stream,
               (struct fake_op){OP_REDUCE_SCATTER, send, receive, count, type,
                                operation, 0, 0});
}

int ncclAllGather(const void *send, void *receive, size_t count, int type,
                  void *comm, void *stream)
{
    return add(
        __func__, comm, stream,
        (struct fake_op){OP_ALL_GATHER, send, receive, count, type, 0, 0, 0});
}

int ncclSend(const void *send, size_t count, int type, int peer, void *comm,
             void *stream)
{
    return add(__func__, comm, stream,
               (struct fake_op){OP_SEND, send, NULL, count, type, 0, peer, 0});
}

int ncclRecv(void *receive, size_t count, int type, int peer, void *comm,
             void *stream)
{
    return add(
        __func__, comm, stream,
        (struct fake_op){OP_RECEIVE, NULL, receive, count, type, 0, peer, 0});
}

// --- Communicators -----------------------------------------------------------

int ncclGetVersion(int *out_version)
{
    *out_version = version();
    return injected(__func__);
}

int ncclGetUniqueId(struct nccl_id *out_id)
{
    static _Atomic int ids;
    int result = injected(__func__);
    memset(out_id, 0, sizeof *out_id);
    snprintf(out_id->bytes, sizeof out_id->bytes, "/fake-nccl-%d-%d",
             (int)getpid(), ids++);
    return result;
}

static struct world *map_world(const char *name)
{
    int file = shm_open(name, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, sizeof(struct world)) != 0)
        return NULL;
    void *world = mmap(NULL, sizeof(struct world), PROT_READ | PROT_WRITE,
                       MAP_SHARED, file, 0);
    close(file);
    return world == MAP_FAILED ? NULL : world;
}

int ncclCommInitRankConfig(void **out_comm, int size, struct nccl_id id,
                           int rank, const struct nccl_config *config)
{
    int result = injected(__func__);
    if (result != 0)
        return result;
    if (size > RANKS || config->magic != 0xcafebeef || config->blocking)
        return INVALID;
    struct fake_comm *comm = calloc(1, sizeof *comm);
    comm->world = map_world(id.bytes);
    comm->rank = rank;
    comm->size = size;
    comm->context = current();
    // The rank that comes last takes the name away.
    if (++comm->world->came == size)
        shm_unlink(id.bytes);
    *out_comm = comm;
    comm->out = out_comm;
    control.comms++;
    if (depth > 0) {
        comm->next = inits;
        inits = comm;
    } else {
        check_memory();
        begin_job(comm);
    }
    return NCCL_IN_PROGRESS;
}

// The thread that makes a communicator stores it a second time at its end.
static void end_init(struct fake_comm *comm)
{
    if (comm->out)
        *comm->out = comm;
    comm->out = NULL;
}

int ncclCommGetAsyncError(void *handle, int *out_result)
{
    struct fake_comm *comm = handle;
    int result = injected(__func__);
    control.misuses += comm->ended;
    bool waits = comm->unfinished > 0 || comm->world->came < comm->size;
    comm->unfinished -= comm->unfinished > 0;
    if (!waits)
        end_init(comm);
    *out_result = control.async_error ? control.async_error
                  : waits             ? NCCL_IN_PROGRESS
                                      : 0;
    return result;
}

int ncclCommCount(void *handle, int *out_count)
{
    struct fake_comm *comm = handle;
    int result = injected(__func__);
    control.misuses += comm->ended || comm->unfinished > 0;
    leave_memory(comm);
    *out_count = comm->size;
    return result;
}

static void end(struct fake_comm *comm)
{
    end_init(comm);
    leave_memory(comm);
    pthread_mutex_lock(&graveyard_lock);
    comm->next = graveyard;
    graveyard = comm;
    pthread_mutex_unlock(&graveyard_lock);
    comm->ended = true;
    control.comms--;
}

// Waits for the device, and so also for jobs of other communicators.
int ncclCommAbort(void *handle)
{
    struct fake_comm *comm = handle;
    int result = injected(__func__);
    control.misuses += comm->ended;
    comm->ended = true;
    while (running > 0)
        sched_yield();
    end(comm);
    return result;
}

// After an error of the communicator, 2.24 to 2.30 leave the thread in a group.
int ncclCommDestroy(void *handle)
{
    struct fake_comm *comm = handle;
    int result = injected(__func__);
    check_use(comm);
    void (*in_destroy)(void) = control.in_destroy;
    if (in_destroy)
        in_destroy();
    if (control.async_error) {
        depth++;
        return control.async_error;
    }
    end(comm);
    munmap(comm->world, sizeof *comm->world);
    return result;
}

const char *ncclGetErrorString(int result)
{
    return result == 0 ? "no error" : "the fake was told to fail";
}

const char *ncclGetLastError(void *comm)
{
    (void)comm;
    return "";
}
