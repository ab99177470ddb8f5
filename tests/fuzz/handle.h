// Between the files of the target `handle`.
#pragma once

#include <runnel/runnel.h>

// In the order in which the last ones are released, from behind.
enum kind { NOTHING, FUNCTION, EXEC, GRAPH, BUFFER, STREAM, EVENT, KINDS };

enum {
    SLOTS = 32,
    NODES = 32,
    ARENA = 4096,
    STEPS = 400,
};

struct world {
    const uint8_t *at, *end;
    rnl_context contexts[2];
    enum kind kinds[SLOTS];  // what a handle was made as; it may be dead
    void *slots[SLOTS];
    size_t next;             // slot that is taken when all are
    rnl_node nodes[NODES];
    size_t node_count;
    rnl_graph body;
    bool promised;
};

extern struct world world;

// --- Arguments, from the input ----------------------------------------------

unsigned byte(void);
// Mostly small; now and then one that overflows what it is added to.
size_t number(void);
rnl_context context(void);
// Mostly one of that kind, which may be dead; else anything.
void *handle(enum kind kind);
rnl_graph graph_or_body(void);
rnl_node node(void);

struct launch {
    rnl_launch launch;
    rnl_args args;
    rnl_arg items[2];
    rnl_launch_attribute attributes[2];
};

void read_launch(struct launch *to);
rnl_copy read_copy(void);
rnl_fill read_fill(void);
rnl_value_op read_value(void);

// A host function; makes a call that it may not make.
void call_back(rnl_status status, void *user_data);

// --- What was made ----------------------------------------------------------

void keep(enum kind kind, void *handle);
// The same for the handle at `where`, if `status` is RNL_OK; returns that.
rnl_status keep_if(rnl_status status, enum kind kind, const void *where);
void keep_node(rnl_node node);

// --- Calls about graphs (handle_graph.c) ------------------------------------

rnl_status add_node(void);
rnl_status change_graph(unsigned way);
rnl_status look_at_graph(unsigned way);
rnl_status run_graph(unsigned way);
rnl_status capture(unsigned way);
