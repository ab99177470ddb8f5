// A communicator of the processes that name the same file, each with a rank:
//
//   comm_file PATH RANK SIZE [API [DEVICE]]
//
// On GPUs the processes are started in any way, each with a DEVICE of its own;
// on the cpu, by mpirun. Rank 0 gives all ranks a number.
#include <stdio.h>
#include <stdlib.h>

#include <runnel/comm.h>
#include <runnel/runnel.h>

#include "check.h"

int main(int count, char **texts)
{
    if (count < 4) {
        fprintf(stderr, "usage: comm_file PATH RANK SIZE [API [DEVICE]]\n");
        return 2;
    }
    rnl_context context;
    size_t device = count > 5 ? strtoul(texts[5], NULL, 10) : 0;
    rnl_stream stream;
    rnl_comm comm;
    rnl_buffer buffer;
    int rank = atoi(texts[2]), number = rank == 0 ? 42 : 0;
    check(rnl_context_open(count > 4 ? texts[4] : "cpu", device, NULL,
                           &context));
    check(rnl_context_default_stream(context, &stream));
    check(rnl_comm_create(context,
                          RNL_COMM_OPTIONS(.rank = rank, .size = atoi(texts[3]),
                                           .file = texts[1]),
                          &comm));

    check(rnl_buffer_create(context, sizeof number, NULL, &buffer));
    check(
        rnl_copy_to_buffer_and_wait(stream, buffer, 0, &number, sizeof number));
    check(rnl_enqueue_broadcast(stream, comm,
                                RNL_COMM_DATA(.receive = buffer, .count = 1,
                                              .element = RNL_ELEMENT_INT32),
                                0));
    check(rnl_copy_from_buffer_and_wait(stream, &number, buffer, 0,
                                        sizeof number));
    printf("rank %d has %d\n", rank, number);

    check(rnl_buffer_release(buffer));
    check(rnl_comm_release(comm));
    check(rnl_context_release(context));
    return 0;
}
