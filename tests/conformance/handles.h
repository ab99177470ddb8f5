// What the parts of the handle misuse matrix share.
#pragma once

#include "suite.h"

enum kind {
    DEVICE, CONTEXT, STREAM, EVENT, BUFFER, MODULE, FUNCTION, GRAPH, EXEC,
    NODE, KINDS
};

// Valid handles for the other parameters, and where results would go.
struct handles {
    rnl_device device;
    rnl_context context;
    rnl_stream stream;
    rnl_event event;
    rnl_buffer buffer;
    rnl_module module;
    rnl_function function;
    rnl_graph graph, clone;
    rnl_graph_exec exec;
    rnl_node node, second;
    int host[16];
    union {
        uint64_t bits[64];
        void *pointer;
        const void *constant;
        const char *text;
        rnl_context context;
        rnl_device device;
        rnl_stream stream;
        rnl_event event;
        rnl_buffer buffer;
        rnl_module module;
        rnl_function function;
        rnl_graph graph;
        rnl_graph_exec exec;
        rnl_node node, nodes[2];
        rnl_edge edges[2];
        bool flag;
        int64_t value;
    } out;
};
extern struct handles with;

struct row {
    const char *function, *parameter;
    enum kind kind;
    rnl_status (*call)(void *handle);
    bool null_is_legal;  // release, or a place that has a pointer instead
    bool may_be_dead;    // a removed node may live on in a clone
};

#define ROW_CALL(name, type, call)               \
    static rnl_status name(void *handle)         \
    {                                            \
        rnl_##type h = handle;                   \
        return call;                             \
    }

// All of them.
int row_count(void);
const struct row *row_at(int i);

// Those of graphs and capture.
extern const struct row graph_rows[];
extern const int graph_row_count;

// A handle of one of the kinds GRAPH, EXEC and NODE, and its release.
void *make_of_graph(enum kind kind);
rnl_status release_of_graph(enum kind kind, void *handle);

// A handle of any kind, NULL where the device cannot make one, and its release.
void *make_handle(enum kind kind);
rnl_status release_handle(enum kind kind, void *handle);

// Fills `with`; and releases what is in there, which must be as it was.
void prepare_handles(void);
void finish_handles(void);

// With the kernel `nothing` and the variable `there`; and a native function.
extern const char handle_source[];
rnl_status native_nothing(const rnl_native_call *call);
