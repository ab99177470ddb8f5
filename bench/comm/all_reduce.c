// All-reduce of two or more processes through Runnel, beside MPI called by hand
// in the same run:
//
//   tests/comm/mpirun.sh openmpi 2 build/dev/bin/runnel-bench-comm [BYTES]
//
// Message sizes are 4 KiB to 64 MiB, or to BYTES. The variants take turns, a
// batch each, round after round. Rank 0 prints the median time of an operation,
// and of the rounds' differences and ratios to MPI's blocking call and to its
// nonblocking call with MPI_Test.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <runnel/comm.h>
#include <runnel/runnel.h>

enum { ROUNDS = 41 };

enum variant { ENQUEUED, REPLAYED, BLOCKING, NONBLOCKING, VARIANTS };

static const char *const names[VARIANTS] = {
    "runnel",
    "runnel, graph replayed",
    "MPI_Allreduce",
    "MPI_Iallreduce + MPI_Test",
};

static rnl_context context;
static rnl_stream stream;
static rnl_comm comm;
static rnl_graph_exec exec;
static rnl_buffer send, receive;
static void *from, *to;
static size_t count;
static double times[VARIANTS][ROUNDS];

static void check(rnl_status status)
{
    if (status == RNL_OK)
        return;
    rnl_error_print(NULL);
    exit(EXIT_FAILURE);
}

// --- MPI by hand -------------------------------------------------------------

// A handle is a pointer in Open MPI, and an int in MPICH.
static struct {
    void *world, *type, *sum, *ignore;
    int (*now)(const void *, void *, int, void *, void *, void *);
    int (*start)(const void *, void *, int, void *, void *, void *, void **);
    int (*test)(void **, int *, void *);
} mpi;

static void find_mpi(void)
{
    mpi.world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
    mpi.type = dlsym(RTLD_DEFAULT, "ompi_mpi_float");
    mpi.sum = dlsym(RTLD_DEFAULT, "ompi_mpi_op_sum");
    if (!mpi.world) {
        mpi.world = (void *)0x44000000;
        mpi.type = (void *)0x4c00040a;
        mpi.sum = (void *)0x58000003;
        mpi.ignore = (void *)1;
    }
    *(void **)&mpi.now = dlsym(RTLD_DEFAULT, "MPI_Allreduce");
    *(void **)&mpi.start = dlsym(RTLD_DEFAULT, "MPI_Iallreduce");
    *(void **)&mpi.test = dlsym(RTLD_DEFAULT, "MPI_Test");
}

// --- The variants ------------------------------------------------------------

static void enqueue(void)
{
    check(rnl_enqueue_all_reduce(stream, comm,
                                 RNL_COMM_DATA(.send = send, .receive = receive,
                                               .count = count,
                                               .element = RNL_ELEMENT_FLOAT32),
                                 RNL_REDUCE_SUM));
}

static void run(enum variant variant)
{
    void *request = NULL;
    int done = 0;
    switch (variant) {
    case ENQUEUED:
        enqueue();
        break;
    case REPLAYED:
        check(rnl_enqueue_graph(stream, exec));
        break;
    case BLOCKING:
        mpi.now(from, to, (int)count, mpi.type, mpi.sum, mpi.world);
        return;
    default:
        mpi.start(from, to, (int)count, mpi.type, mpi.sum, mpi.world, &request);
        while (!done)
            mpi.test(&request, &done, mpi.ignore);
        return;
    }
    check(rnl_stream_synchronize(stream, RNL_FOREVER));
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static void check_result(enum variant variant, int size)
{
    float expected = (float)(size * (size + 1)) / 2;
    const float *values = to;
    for (size_t i = 0; i < count; i += count / 16)
        if (values[i] != expected) {
            fprintf(stderr, "WRONG: %s\n", names[variant]);
            exit(EXIT_FAILURE);
        }
}

static void measure(size_t bytes, int size)
{
    int batch = bytes <= 65536 ? 50 : bytes <= 1 << 20 ? 10 : 1;
    for (int round = -1; round < ROUNDS; round++)
        for (int i = 0; i < VARIANTS; i++) {
            enum variant variant = (enum variant)((i + round + 1) % VARIANTS);
            memset(to, 0, bytes);
            run(variant);
            check_result(variant, size);
            double begin = now();
            for (int k = 0; k < batch; k++)
                run(variant);
            if (round >= 0)
                times[variant][round] = (now() - begin) / batch;
        }
}

// --- Figures -----------------------------------------------------------------

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *values)
{
    double sorted[ROUNDS];
    memcpy(sorted, values, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof *sorted, compare);
    return sorted[ROUNDS / 2];
}

static void print(size_t bytes)
{
    printf("%zu bytes\n", bytes);
    for (int i = 0; i < VARIANTS; i++) {
        printf("  %-26s %10.2f us", names[i], median(times[i]));
        for (int peer = BLOCKING; peer < VARIANTS && i < BLOCKING; peer++) {
            double more[ROUNDS], ratio[ROUNDS];
            for (int k = 0; k < ROUNDS; k++) {
                more[k] = times[i][k] - times[peer][k];
                ratio[k] = times[peer][k] / times[i][k];
            }
            printf("  %s %+.2f us, %.2f of its bandwidth",
                   peer == BLOCKING ? "blocking:" : " nonblocking:",
                   median(more), median(ratio));
        }
        printf("\n");
    }
}

static void make_buffers(size_t bytes, int rank)
{
    rnl_graph graph;
    count = bytes / sizeof(float);
    check(rnl_buffer_create(context, bytes, NULL, &send));
    check(rnl_buffer_create(context, bytes, NULL, &receive));
    check(rnl_buffer_host_pointer(send, &from));
    check(rnl_buffer_host_pointer(receive, &to));
    for (size_t i = 0; i < count; i++)
        ((float *)from)[i] = (float)(rank + 1);
    check(rnl_stream_begin_capture(stream, NULL));
    enqueue();
    check(rnl_stream_end_capture(stream, &graph));
    check(rnl_graph_instantiate(graph, &exec));
    check(rnl_graph_release(graph));
}

int main(int argc, char **argv)
{
    size_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : (size_t)64 << 20;
    rnl_comm_info info = {.struct_size = sizeof info};
    check(rnl_context_open("cpu", 0, NULL, &context));
    check(rnl_stream_create(context, NULL, &stream));
    check(rnl_comm_create(context, NULL, &comm));
    check(rnl_comm_get_info(comm, &info));
    find_mpi();
    if (info.rank == 0)
        printf("%d ranks, %.40s\n", info.size, info.engine_version);
    for (size_t bytes = 4096; bytes <= most; bytes *= 16) {
        size_t last = bytes > most / 16 && bytes < most ? most : bytes;
        make_buffers(last, info.rank);
        measure(last, info.size);
        if (info.rank == 0)
            print(last);
        check(rnl_graph_exec_release(exec));
        check(rnl_buffer_release(send));
        check(rnl_buffer_release(receive));
    }
    check(rnl_comm_release(comm));
    check(rnl_stream_release(stream));
    check(rnl_context_release(context));
    return 0;
}
