// What the tests of graphs and capture share.
#pragma once

#include "suite.h"

// Skips the test where the device has no graphs.
rnl_graph new_graph(void);

// Begins a capture of a new stream, in the mode THREAD_LOCAL.
rnl_stream new_captured_stream(void);
rnl_graph end_capture(rnl_stream stream);
rnl_capture_info capture_info_of(rnl_stream stream);

rnl_graph_exec instantiate(rnl_graph graph);

// Launches on the suite's stream and waits.
void launch_and_wait(rnl_graph_exec exec);
void launch_once(rnl_graph graph);

void drop_both(rnl_graph graph, rnl_graph_exec exec);

rnl_node empty_node(rnl_graph graph, const rnl_node *after, size_t count);
rnl_node fill_node(rnl_graph graph, const rnl_node *after, size_t count,
                   rnl_buffer buffer, int value);
rnl_node host_node(rnl_graph graph, const rnl_node *after, size_t count,
                   rnl_host_fn host, void *user_data);
rnl_node event_node(rnl_graph graph, rnl_node_kind kind, const rnl_node *after,
                    size_t count, rnl_event event);
rnl_node child_node(rnl_graph graph, const rnl_node *after, size_t count,
                    rnl_graph child);

// The body is new.
rnl_node body_node(rnl_graph graph, rnl_node_kind kind, const rnl_node *after,
                   size_t count, rnl_buffer word, rnl_graph *out_body);

// The nodes and edges that a graph has.
void expect_shape(rnl_graph graph, size_t nodes, size_t edges);

// Whether there is an edge between the nodes of these numbers, oldest first.
bool has_edge(rnl_graph graph, size_t from, size_t to);

rnl_node_info node_info_of(rnl_graph graph, rnl_node node);

// One block of one thread.
const rnl_launch *one_thread(void);

// A function add_to(int *sum, int value) that adds to *sum, and
// count_down(uint32_t *word): native where the device runs C functions.
rnl_function new_adder(void);
rnl_function new_count_down(void);
rnl_node add_node(rnl_graph graph, const rnl_node *after, size_t count,
                  rnl_function adder, rnl_buffer sum, int value);

// --- The order in which host functions were called --------------------------

struct trace {
    _Atomic int next;
    int seen[64];
};
extern struct trace trace;

// Adds its number, or minus one for a failure; user_data is the number.
void note(rnl_status status, void *user_data);
void trace_clear(void);
