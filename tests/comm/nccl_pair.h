// Two devices on the fake drivers, with NCCL or RCCL as a fake.
#pragma once

#include "test.h"

#include <runnel/comm.h>

#include "fake_nccl.h"

#define SECOND UINT64_C(1000000000)
#define expect_ok(call) test_status((call), RNL_OK, #call, __FILE__, __LINE__)

enum { COUNT = 64 };

extern struct fake_nccl_control *control;
extern const char *api;  // "cuda" or "hip"
extern rnl_context contexts[2];
extern rnl_stream streams[2];
extern rnl_buffer buffers[2];  // of 2 * COUNT floats
extern rnl_comm comms[2];

void expect_refused(rnl_status got, rnl_status status, const char *words);
const char *library(void);
void find_control(void);
void open_device(int index);
void close_device(int index);

// Both devices with a communicator, and their end without traces.
void begin_all(const rnl_comm_options *options);
void end_all(void);

// Communicators of the engine end on threads: waits until so many are left.
void expect_comms(int count);

void fill(int index, float value);  // value, value + 1, ...
float read_at(int index, int at);
rnl_comm_data data_of(int index);  // COUNT floats in place
rnl_status reduce(int index, rnl_reduction reduction);
void expect_failure(int index, rnl_status status, const char *words);
uint64_t now_ns(void);
