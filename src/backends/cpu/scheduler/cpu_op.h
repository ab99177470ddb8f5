// The backend's part of an op.
#pragma once

#include "core/stream/op.h"

struct plan;
struct wait;

struct cpu_op {
    union {
        struct {
            struct plan *plan;
            uint64_t launch;        // its number in the process, from 1 on
            struct wait *targets;   // of the WAIT steps, at the launch
        } graph;
        struct {
            struct event *event;    // NULL: no event is recorded
            uint64_t record;        // number of the record, or 0
        } timestamp;
        struct {
            struct event *event;
            enum { TIMESTAMP_RECORDS = 1, TIMESTAMP_WAITED } what;
            uint64_t record, older; // number of the record, and of the older
                                    // record in the same place
        } interprocess;
    };
};

_Static_assert(sizeof(struct cpu_op) <= sizeof((struct op *)0)->backend,
               "an op has room for the backend's part");

static inline struct cpu_op *cpu_op_of(const struct op *op)
{
    return (struct cpu_op *)(uintptr_t)op->backend;
}
