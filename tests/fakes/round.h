// Driver calls that fail: scenarios run again and again with their first,
// second, third … call of the driver failing, until they pass.
#pragma once

#include "loaded.h"

// What a scenario has; released behind it.
struct round {
    rnl_context context, adopted[2];
    rnl_stream stream, other;
    rnl_event event;
    rnl_buffer buffer, host;
    rnl_module module;
    rnl_function function;
    rnl_graph graph;
    rnl_graph_exec exec;
    int calls;  // of the host function
    uint32_t words[2][16];
};

// A step of a scenario: `status` is the variable that ends it.
#define TRY(call)                                 \
    do {                                          \
        if (status == RNL_OK)                     \
            status = (call);                      \
    } while (0)

// A context and a stream.
rnl_status round_open(struct round *round);
rnl_status round_open_with(struct round *round,
                           const rnl_stream_options *options);

// A host function that counts in the int of its user_data.
void round_count(rnl_status status, void *count);

// Ends what may still use what a scenario has, while calls fail.
rnl_status round_settle(struct round *round, rnl_status status);

void round_finish(struct round *round);

// A scenario returns RNL_OK or the first failure.
// With `round_waits_on` a lost device goes on with waits of the scenario.
void round_sweep(rnl_status (*scenario)(struct round *));
extern bool round_waits_on;
