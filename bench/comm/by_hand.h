// The engine of a communicator, called by hand: MPI, or NCCL on cuda.
#pragma once

#include <runnel/comm.h>
#include <runnel/runnel.h>

// Finds the engine's calls, and writes the names of the blocking one and of the
// other one; NULL where there is none. All ranks call it: NCCL gets a
// communicator of its own.
rnl_status by_hand_begin(const rnl_comm_info *info, rnl_stream stream,
                         rnl_comm comm, const char **out_names);

// Adds up `count` floats. True if that is done, false if the stream is to be
// waited for.
bool by_hand_call(bool blocking, const void *from, void *to, size_t count);
