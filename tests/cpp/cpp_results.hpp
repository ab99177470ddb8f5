// Between cpp_results.cpp, which has no exceptions, and results_throwing.cpp,
// which has them.
#pragma once

#include <runnel/status.h>

// Lets every `new` fail, or no longer; false if the program has another one.
bool fill_memory(bool full);

// The status of runnel::devices().
rnl_status devices_status();

// Enqueues a host function that throws.
rnl_status enqueue_throw(rnl_stream stream);
