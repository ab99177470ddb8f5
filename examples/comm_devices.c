// A process opens several GPUs, and each GPU is a rank of one communicator:
//
//   comm_devices [API]
//
// API is cuda or hip. Each device gives its number plus one; all get the sum.
#include <stdio.h>

#include <runnel/comm.h>
#include <runnel/runnel.h>

#include "check.h"

enum { MOST = 8 };

struct rank {
    rnl_stream stream;
    rnl_buffer buffer;
};

static void open_rank(struct rank *rank, const char *api, size_t device,
                      rnl_context *out_context)
{
    float value = (float)(device + 1);
    check(rnl_context_open(api, device, NULL, out_context));
    check(rnl_stream_create(*out_context, NULL, &rank->stream));
    check(rnl_buffer_create(*out_context, sizeof value, NULL, &rank->buffer));
    check(rnl_copy_to_buffer_and_wait(rank->stream, rank->buffer, 0, &value,
                                      sizeof value));
}

static void enqueue_sum(const struct rank *rank, rnl_comm comm)
{
    check(rnl_enqueue_all_reduce(rank->stream, comm,
                                 RNL_COMM_DATA(.receive = rank->buffer,
                                               .count = 1,
                                               .element = RNL_ELEMENT_FLOAT32),
                                 RNL_REDUCE_SUM));
}

static void close_rank(struct rank *rank, rnl_context context, rnl_comm comm)
{
    check(rnl_buffer_release(rank->buffer));
    check(rnl_comm_release(comm));
    check(rnl_stream_release(rank->stream));
    check(rnl_context_release(context));
}

int main(int count, char **texts)
{
    const char *api = count > 1 ? texts[1] : "cuda";
    rnl_context contexts[MOST];
    rnl_comm comms[MOST];
    struct rank ranks[MOST];
    size_t size;
    check(rnl_device_count(api, &size));
    if (size < 2) {
        printf("this example needs two devices of '%s', and there are %zu\n",
               api, size);
        return 0;
    }
    if (size > MOST)
        size = MOST;
    for (size_t i = 0; i < size; i++)
        open_rank(&ranks[i], api, i, &contexts[i]);
    check(rnl_comm_create_all(contexts, size, NULL, comms));

    // A single thread enqueues for all ranks, so the group is needed.
    check(rnl_comm_group_begin());
    for (size_t i = 0; i < size; i++)
        enqueue_sum(&ranks[i], comms[i]);
    check(rnl_comm_group_end());
    for (size_t i = 0; i < size; i++) {
        float sum;
        check(rnl_copy_from_buffer_and_wait(ranks[i].stream, &sum,
                                            ranks[i].buffer, 0, sizeof sum));
        printf("%s:%zu has %g\n", api, i, (double)sum);
    }
    for (size_t i = 0; i < size; i++)
        close_rank(&ranks[i], contexts[i], comms[i]);
    return 0;
}
