// Calls that are made many times over, to see how the time of one grows with
// how many there were. Each function makes `count` of them, and undoes all.
#pragma once

#include <runnel/runnel.h>

#include <stdbool.h>
#include <stddef.h>

// Sorting takes a little more than 1.
#define GROWTH_MOST 1.15

enum {
    GROWTH_FACTOR = 16,
    GROWTH_ITEMS = 16384,  // most of `count`
};

typedef struct growth {
    rnl_context context;
    rnl_stream stream, other;
    rnl_function function;
    rnl_buffer buffer;      // of 16 KiB, zeroed
    rnl_status status;      // the first failure
    void *items[GROWTH_ITEMS], *more[GROWTH_ITEMS];
    char bytes[GROWTH_ITEMS * 64];
} growth;

typedef struct growth_call {
    const char *name;
    void (*run)(growth *with, size_t count);
    size_t count;  // the smaller number; the larger is GROWTH_FACTOR of it
    double most;   // the power of `count` that is allowed; 0: GROWTH_MOST
} growth_call;

typedef struct growth_list {
    const growth_call *calls;
    size_t count;
} growth_list;

extern const growth_list growth_objects, growth_streams, growth_graphs;

#define GROWTH_LIST(array) {(array), sizeof(array) / sizeof *(array)}

// Every list, then one without calls.
extern const growth_list *const growth_lists[];

// Opens the objects that the calls use. False, and the library has a reason.
bool growth_open(growth *with);
void growth_close(growth *with);

// Notes a failure; true when there is none.
bool growth_ok(growth *with, rnl_status status);

// Runs `count` of a call. In a function of its own: guard/growth.sh knows it.
void growth_run(growth *with, const growth_call *call, size_t count);

// --- For the calls ---------------------------------------------------------

void growth_launch(growth *with, rnl_stream stream);
void growth_synchronize(growth *with, rnl_stream stream);

// From here on the stream waits until the gate is opened.
rnl_event growth_gate(growth *with, rnl_stream stream);
void growth_open_gate(growth *with, rnl_event gate);

// `count` streams into items.
void growth_make_streams(growth *with, size_t count);
void growth_drop_streams(growth *with, size_t count);
