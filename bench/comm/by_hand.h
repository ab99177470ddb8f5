// The engine of a communicator, called by hand: MPI, or NCCL on cuda.
#pragma once

#include <runnel/comm.h>
#include <runnel/runnel.h>

// Finds the engine's calls, and writes the names of its blocking all-reduce and
// of its nonblocking all-reduce; NULL for a call that the engine lacks. All
// ranks call this function, since it creates a communicator of NCCL.
rnl_status by_hand_begin(const rnl_comm_info *info, rnl_stream stream,
                         rnl_comm comm, const char **out_names);

// Adds up `count` floats. True if that is done, false if the stream is to be
// waited for.
bool by_hand_call(bool blocking, const void *from, void *to, size_t count);
