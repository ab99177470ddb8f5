// A communicator of the processes that name the same address, where rank 0
// listens until all have come:
//
//   comm_address HOST:PORT RANK SIZE [API [DEVICE]]
//
// On GPUs each rank of a machine has a DEVICE of its own.
// Each rank sends its number to the next one, in a group, so that all may send
// before they receive.
#include <stdio.h>
#include <stdlib.h>

#include <runnel/comm.h>
#include <runnel/runnel.h>

#include "check.h"

int main(int count, char **texts)
{
    if (count < 4) {
        fprintf(stderr,
                "usage: comm_address HOST:PORT RANK SIZE [API [DEVICE]]\n");
        return 2;
    }
    rnl_context context;
    size_t device = count > 5 ? strtoul(texts[5], NULL, 10) : 0;
    rnl_stream stream;
    rnl_comm comm;
    rnl_buffer mine, theirs;
    int rank = atoi(texts[2]), size = atoi(texts[3]), got = -1;
    check(rnl_context_open(count > 4 ? texts[4] : "cpu", device, NULL,
                           &context));
    check(rnl_context_default_stream(context, &stream));
    check(rnl_comm_create(
        context,
        RNL_COMM_OPTIONS(.rank = rank, .size = size, .address = texts[1]),
        &comm));

    check(rnl_buffer_create(context, sizeof rank, NULL, &mine));
    check(rnl_buffer_create(context, sizeof rank, NULL, &theirs));
    check(rnl_copy_to_buffer_and_wait(stream, mine, 0, &rank, sizeof rank));
    check(rnl_comm_group_begin());
    check(rnl_enqueue_send(
        stream, comm,
        RNL_COMM_DATA(.send = mine, .count = 1, .element = RNL_ELEMENT_INT32),
        (rank + 1) % size));
    check(rnl_enqueue_receive(stream, comm,
                              RNL_COMM_DATA(.receive = theirs, .count = 1,
                                            .element = RNL_ELEMENT_INT32),
                              (rank + size - 1) % size));
    check(rnl_comm_group_end());
    check(rnl_copy_from_buffer_and_wait(stream, &got, theirs, 0, sizeof got));
    printf("rank %d heard of rank %d\n", rank, got);

    check(rnl_buffer_release(mine));
    check(rnl_buffer_release(theirs));
    check(rnl_comm_release(comm));
    check(rnl_context_release(context));
    return 0;
}
