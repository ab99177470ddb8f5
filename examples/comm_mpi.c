// A communicator of the processes that MPI started together:
//
//   mpirun -n 2 comm_mpi [API [DEVICE]]
//
// On GPUs each rank of a machine has a DEVICE of its own.
// Each rank gives its number plus one; all get the sum.
#include <stdio.h>
#include <stdlib.h>

#include <runnel/comm.h>
#include <runnel/runnel.h>

#include "check.h"

int main(int count, char **texts)
{
    size_t device = count > 2 ? strtoul(texts[2], NULL, 10) : 0;
    rnl_context context;
    rnl_stream stream;
    rnl_comm comm;
    rnl_buffer buffer;
    rnl_comm_info info = {.struct_size = sizeof info};
    check(rnl_context_open(count > 1 ? texts[1] : "cpu", device, NULL,
                           &context));
    check(rnl_context_default_stream(context, &stream));
    check(rnl_comm_create(context, NULL, &comm));
    check(rnl_comm_get_info(comm, &info));

    float values[3] = {(float)(info.rank + 1), 0, 10};
    check(rnl_buffer_create(context, sizeof values, NULL, &buffer));
    check(rnl_enqueue_copy_to_buffer(stream, buffer, 0, values, sizeof values));
    check(rnl_enqueue_all_reduce(stream, comm,
                                 RNL_COMM_DATA(.receive = buffer, .count = 3,
                                               .element = RNL_ELEMENT_FLOAT32),
                                 RNL_REDUCE_SUM));
    check(rnl_copy_from_buffer_and_wait(stream, values, buffer, 0,
                                        sizeof values));
    printf("rank %d of %d: %g %g %g\n", info.rank, info.size, (double)values[0],
           (double)values[1], (double)values[2]);

    check(rnl_buffer_release(buffer));
    check(rnl_comm_release(comm));
    check(rnl_context_release(context));
    return 0;
}
