// All-reduce of two or more processes through Runnel, beside the engine called
// by hand in the same run:
//
//   tests/comm/mpirun.sh openmpi 2 build/dev/bin/runnel-bench-comm
//       [BYTES [ROUNDS [API [DEVICE]]]]
//
// Message sizes are 2 KiB, and 4 KiB to 64 MiB or to BYTES. Open MPI sends less
// than 4 KiB in another way. The variants take turns in a random order, a batch
// each, round after round. Rank 0 prints the median time of an operation, and
// medians of the rounds' differences and ratios to the engine's calls. On GPUs
// each rank of a host takes device DEVICE plus its number there. That was not
// tried yet.
#include "by_hand.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <runnel/comm.h>
#include <runnel/runnel.h>

enum { MOST_ROUNDS = 201 };

// The last two are the engine's, by hand.
enum variant { ENQUEUED, REPLAYED, BLOCKING, NONBLOCKING, VARIANTS };

static const char *names[VARIANTS] = {"runnel", "runnel, graph replayed"};
static int rounds = 41;

static rnl_context context;
static rnl_stream stream;
static rnl_comm comm;
static rnl_graph_exec exec;
static rnl_buffer send, receive;
static void *from, *to;
static size_t count;
static double times[VARIANTS][MOST_ROUNDS];

static void check(rnl_status status)
{
    if (status == RNL_OK)
        return;
    rnl_error_print(NULL);
    exit(EXIT_FAILURE);
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
    switch (variant) {
    case ENQUEUED:
        enqueue();
        break;
    case REPLAYED:
        check(rnl_enqueue_graph(stream, exec));
        break;
    default:
        if (by_hand_call(variant == BLOCKING, from, to, count))
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
    float expected = (float)(size * (size + 1)) / 2, value;
    size_t step = count < 16 ? 1 : count / 16;
    for (size_t i = 0; i < count; i += step) {
        check(rnl_copy_from_buffer_and_wait(stream, &value, receive,
                                            i * sizeof value, sizeof value));
        if (value != expected) {
            fprintf(stderr, "WRONG: %s\n", names[variant]);
            exit(EXIT_FAILURE);
        }
    }
}

// The same numbers on all ranks, which have to do the same in turn.
static unsigned draw(void)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (unsigned)(state >> 33);
}

static void shuffle(enum variant *order)
{
    for (int i = VARIANTS - 1; i > 0; i--) {
        int other = (int)(draw() % (unsigned)(i + 1));
        enum variant kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

static void measure(size_t bytes, int size)
{
    enum variant order[VARIANTS] = {ENQUEUED, REPLAYED, BLOCKING, NONBLOCKING};
    int batch = bytes <= 65536 ? 50 : bytes <= 1 << 20 ? 10 : 1;
    for (int round = -1; round < rounds; round++) {
        shuffle(order);
        for (int i = 0; i < VARIANTS; i++) {
            if (!names[order[i]])
                continue;
            check(rnl_fill_and_wait(stream, receive, 0, RNL_WHOLE, 0, 1));
            run(order[i]);
            check_result(order[i], size);
            double begin = now();
            for (int k = 0; k < batch; k++)
                run(order[i]);
            if (round >= 0)
                times[order[i]][round] = (now() - begin) / batch;
        }
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
    double sorted[MOST_ROUNDS];
    memcpy(sorted, values, (size_t)rounds * sizeof *sorted);
    qsort(sorted, (size_t)rounds, sizeof *sorted, compare);
    return sorted[rounds / 2];
}

static void print_beside(int variant, int peer)
{
    double more[MOST_ROUNDS], ratio[MOST_ROUNDS];
    for (int k = 0; k < rounds; k++) {
        more[k] = times[variant][k] - times[peer][k];
        ratio[k] = times[peer][k] / times[variant][k];
    }
    printf("  %s: %+.2f us, %.2f of its bandwidth", names[peer], median(more),
           median(ratio));
}

static void print(size_t bytes)
{
    printf("%zu bytes\n", bytes);
    for (int i = 0; i < VARIANTS; i++) {
        if (!names[i])
            continue;
        printf("  %-26s %10.2f us", names[i], median(times[i]));
        for (int peer = BLOCKING; peer < VARIANTS && i < BLOCKING; peer++)
            if (names[peer])
                print_beside(i, peer);
        printf("\n");
    }
    fflush(stdout);
}

// --- All sizes ---------------------------------------------------------------

static void *address_of(rnl_buffer buffer)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    check(rnl_buffer_get_info(buffer, &info));
    return info.device_address;
}

static void make_graph(void)
{
    rnl_graph graph;
    check(rnl_stream_begin_capture(stream, NULL));
    enqueue();
    check(rnl_stream_end_capture(stream, &graph));
    check(rnl_graph_instantiate(graph, &exec));
    check(rnl_graph_release(graph));
}

static void make_buffers(size_t bytes, int rank)
{
    float own = (float)(rank + 1);
    uint32_t bits;
    memcpy(&bits, &own, sizeof bits);
    count = bytes / sizeof(float);
    check(rnl_buffer_create(context, bytes, NULL, &send));
    check(rnl_buffer_create(context, bytes, NULL, &receive));
    check(rnl_fill_and_wait(stream, send, 0, RNL_WHOLE, bits, sizeof bits));
    from = address_of(send);
    to = address_of(receive);
}

static void try_size(size_t bytes, const rnl_comm_info *info)
{
    make_buffers(bytes, info->rank);
    if (names[REPLAYED])
        make_graph();
    measure(bytes, info->size);
    if (info->rank == 0)
        print(bytes);
    if (names[REPLAYED])
        check(rnl_graph_exec_release(exec));
    check(rnl_buffer_release(send));
    check(rnl_buffer_release(receive));
}

// Which device this rank takes, since two ranks have no device of a GPU api in
// common.
static size_t device_of(const char *api, size_t first)
{
    const char *rank = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
    if (!rank)
        rank = getenv("MPI_LOCALRANKID");
    return strcmp(api, "cpu") == 0 || !rank
               ? first
               : first + strtoul(rank, NULL, 10);
}

static void print_machine(const rnl_comm_info *info)
{
    double load = -1;
    getloadavg(&load, 1);
    printf("%d ranks, %.40s, load %.1f\n", info->size, info->engine_version,
           load);
}

int main(int argc, char **argv)
{
    size_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : (size_t)64 << 20;
    const char *api = argc > 3 ? argv[3] : "cpu";
    size_t first = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
    rnl_comm_info info = {.struct_size = sizeof info};
    rounds = argc > 2 ? atoi(argv[2]) : rounds;
    if (rounds < 1 || rounds > MOST_ROUNDS || most < 2048)
        return 2;
    check(rnl_context_open(api, device_of(api, first), NULL, &context));
    check(rnl_stream_create(context, NULL, &stream));
    check(rnl_comm_create(context, NULL, &comm));
    check(rnl_comm_get_info(comm, &info));
    check(by_hand_begin(&info, stream, comm, &names[BLOCKING]));
    if (strcmp(api, "cpu") != 0)
        names[REPLAYED] = NULL;  // no capture with NCCL and RCCL
    if (info.rank == 0)
        print_machine(&info);
    try_size(2048, &info);
    for (size_t bytes = 4096; bytes <= most; bytes *= 16)
        try_size(bytes > most / 16 && bytes < most ? most : bytes, &info);
    check(rnl_comm_release(comm));
    check(rnl_stream_release(stream));
    check(rnl_context_release(context));
    return 0;
}
