// Calls that cannot be right. Each must be refused and change nothing, whatever
// else goes on.
#pragma once

#include <runnel/runnel.h>

// Objects of the program that runs; `graph` and `exec` may be NULL.
struct misused {
    rnl_context context;
    rnl_stream stream;
    rnl_event event;
    rnl_buffer buffer;       // of `size` bytes
    size_t size;
    rnl_function function;   // of two pointers and an integer
    rnl_graph graph;
    rnl_graph_exec exec;
};

// Makes the wrong call that `value` stands for. RNL_OK when it was taken, and
// RNL_ERROR_INTERNAL when it was refused without a word.
rnl_status misuse(const struct misused *on, uint64_t value);
