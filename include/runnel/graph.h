// Graphs: work described once, instantiated, launched many times.
//
// A graph is a set of nodes and of edges, "this after that". Nodes are added by
// hand, with rnl_graph_add_node, or recorded from streams (<runnel/capture.h>).
// rnl_graph_instantiate makes an executable graph of the present state of a
// graph: later changes of either do not touch the other. A launch is a single
// operation of a stream: the nodes start when earlier work is done, and later
// work waits for all of them.
//
// Lifetime: both are counted and keep their context alive; they keep the
//           functions, buffers, events and graphs that their nodes use. A
//           launch keeps its executable graph until it is done.
// Nodes:    values, not objects: nothing to release. A node is good as long as
//           its graph, and is checked as handles are.
// Threads:  safe.
//
// Memory:   the buffer of a BUFFER_CREATE lives as long as anybody holds a
//           reference. Executable graphs of the same graph share this buffer,
//           also when their launches overlap.
//
// Failure: a node that fails ends its launch. Nodes that did not start are not
// run; host functions among them are called with the status, but not those of
// bodies that were not entered. The failure is the stream's, and names the
// node.
//
// Bodies: of IF, WHILE and SWITCH: graphs, which nodes are added to, or work
// captured into (rnl_stream_begin_capture with .graph). A host function in them
// is called as often as its body runs.
#ifndef RUNNEL_GRAPH_H
#define RUNNEL_GRAPH_H

#include <runnel/buffer.h>
#include <runnel/copy.h>
#include <runnel/launch.h>
#include <runnel/stream.h>
#include <runnel/values.h>

// --- Nodes -----------------------------------------------------------------

// The work of a node.
typedef enum rnl_node_kind {
    RNL_NODE_EMPTY = 1,      // nothing: joins its predecessors
    RNL_NODE_FUNCTION,       // a launch
    RNL_NODE_COPY,
    RNL_NODE_FILL,
    RNL_NODE_HOST_FUNCTION,
    RNL_NODE_VALUES,         // stream memory operations, in their order
    RNL_NODE_EVENT_RECORD,   // records `event` each time it runs
    RNL_NODE_EVENT_WAIT,     // waits for what `event` stood for at the launch
    RNL_NODE_CHILD,          // a copy of another graph, as one node
    RNL_NODE_BUFFER_CREATE,  // its buffer may be used behind it
    RNL_NODE_BUFFER_RELEASE, // … and up to here
    RNL_NODE_IF,             // runs its body if a number in memory is not 0
    RNL_NODE_WHILE,          // … again and again, as long as it is not 0
    RNL_NODE_SWITCH,         // runs the body that the number counts to, from 0
                             // on; none when there are not so many
} rnl_node_kind;

// The work of a node. Only the fields of its kind are read; the structs that
// these point at are copied.
typedef struct rnl_node_params {
    size_t struct_size;
    rnl_node_kind kind;
    const char *label;        // shown in errors and drawings; copied
    int priority;             // smaller runs sooner among nodes that could run
    rnl_function function;    // FUNCTION, with …
    const rnl_launch *launch; // … its shape …
    const rnl_args *args;     // … and arguments, as for rnl_enqueue_function
    const rnl_copy *copy;     // COPY
    const rnl_fill *fill;     // FILL
    rnl_host_fn host;         // HOST_FUNCTION, called in each launch, with …
    void *user_data;          // … this, which must live as long; or, of a node
                              // of any kind, …
    rnl_destroy_fn destroy;   // … is ended by this: when the last of graph,
                              // clones, executable graphs and launches under
                              // way that have it is gone or changed; not where
                              // a call that was given it fails
    const rnl_value_op *values; // VALUES, …
    size_t value_count;       // … so many
    rnl_event event;          // EVENT_RECORD, EVENT_WAIT; no promises
    rnl_graph child;          // CHILD: copied
    size_t size;              // BUFFER_CREATE: bytes, and …
    const rnl_buffer_options *options;  // … how; `zeroed` is not for nodes
    rnl_buffer *out_buffer;   // … gives the caller a reference to the buffer
    rnl_buffer buffer;        // BUFFER_RELEASE: one of a BUFFER_CREATE of this
                              // graph; IF, WHILE, SWITCH: a uint32_t in it, …
    size_t offset;            // … at this offset, a multiple of 4, …
    rnl_graph *out_body;      // … decides on this new graph, or so many, which
                              // belong to the node and are not released
    size_t body_count;        // IF: 2 for an ELSE behind the body; SWITCH: how
                              // many; 0 is 1
    const rnl_graph *bodies;  // copied into the bodies; NULL: they are empty
} rnl_node_params;

#define RNL_NODE(...) RNL_LITERAL(rnl_node_params, __VA_ARGS__)

// The nodes that a new one comes after: RNL_AFTER(a, b), or RNL_AT_START.
#ifdef __cplusplus
#define RNL_AFTER(...) RNL_LIST(rnl_node, __VA_ARGS__)
#else
#define RNL_AFTER(...) \
    (const rnl_node[]){__VA_ARGS__}, RNL_COUNT(__VA_ARGS__)
#endif
#define RNL_AT_START NULL, 0

// Properties of a node. The texts live until the node is removed or changed.
typedef struct rnl_node_info {
    size_t struct_size;
    rnl_node_kind kind;
    int priority;
    const char *label;       // "" when none was given
    const char *what;        // the function's name, "copy", "fill", …
    size_t dependency_count; // nodes it comes after
    size_t dependent_count;  // nodes that come after it
    rnl_graph graph;         // CHILD: the copy; IF, WHILE: the body; borrowed
    const rnl_graph *bodies; // IF, WHILE, SWITCH: all of them, …
    size_t body_count;       // … so many
} rnl_node_info;

// An order of two nodes.
typedef struct rnl_edge {
    rnl_node from, to;  // `to` runs after `from`
} rnl_edge;

// --- Graphs ----------------------------------------------------------------

// How a graph is made.
typedef struct rnl_graph_options {
    size_t struct_size;
    const char *label;  // shown in errors and drawings; copied
} rnl_graph_options;

#define RNL_GRAPH_OPTIONS(...) RNL_LITERAL(rnl_graph_options, __VA_ARGS__)

// Properties of a graph.
typedef struct rnl_graph_info {
    size_t struct_size;
    uint64_t id;  // unique in this process, never reused
    rnl_context context;  // borrowed, never NULL
    size_t node_count, edge_count;
    const char *label;  // lives as long as the graph
} rnl_graph_info;

// Receives a part of a text; false ends the writing. May not call Runnel.
typedef bool (*rnl_write_fn)(const char *text, size_t size, void *user_data);

RNL_BEGIN_DECLS

// Creates an empty graph. Stands for cuGraphCreate.
RNL_API rnl_status rnl_graph_create(rnl_context context,
                                    const rnl_graph_options *options,
                                    rnl_graph *out_graph);

// Adds a reference for the caller.
RNL_API rnl_status rnl_graph_retain(rnl_graph graph);

// Drops one. A body belongs to its node, and the graph of a running capture to
// the capture: RNL_ERROR_INVALID_STATE.
RNL_API rnl_status rnl_graph_release(rnl_graph graph);

// Fills `*out_info`, whose struct_size the caller has set.
RNL_API rnl_status rnl_graph_get_info(rnl_graph graph,
                                      rnl_graph_info *out_info);

// A copy, nodes, bodies and children included. Stands for cuGraphClone.
RNL_API rnl_status rnl_graph_clone(rnl_graph graph, rnl_graph *out_clone);

// The node of `clone` that is the copy of `node`, a node of the graph that it
// was cloned from. RNL_ERROR_NOT_FOUND when the clone has none, or none any
// more. Stands for cuGraphNodeFindInClone.
RNL_API rnl_status rnl_graph_find_node(rnl_graph clone, rnl_node node,
                                       rnl_node *out_node);

// Writes the graph as text for Graphviz, in parts. RNL_ERROR_IO when `write`
// ends it. Stands for cuGraphDebugDotPrint.
RNL_API rnl_status rnl_graph_write_dot(rnl_graph graph, rnl_write_fn write,
                                       void *user_data);

// The same into a file.
RNL_API rnl_status rnl_graph_save_dot(rnl_graph graph, const char *path);

// --- Building --------------------------------------------------------------

// Adds a node after `count` others of the same graph (RNL_AFTER). What it needs
// is checked as for the call that it stands for; functions, recorded events and
// buffers of the last five kinds must be of the graph's context.
// RNL_ERROR_UNSUPPORTED: for an IF with ELSE and a SWITCH without
// RNL_FEATURE_GRAPH_SWITCH; in a body, and in graphs inside of a body, for an
// EVENT_RECORD, and without RNL_FEATURE_GRAPH_BODIES for a HOST_FUNCTION,
// VALUES and an EVENT_WAIT. Graphs may be 64 deep inside of each other, and
// have 2^26 nodes each, removed ones included (RNL_ERROR_OUT_OF_RANGE). Stands
// for cuGraphAddNode.
RNL_API rnl_status rnl_graph_add_node(rnl_graph graph, const rnl_node *after,
                                      size_t count,
                                      const rnl_node_params *params,
                                      rnl_node *out_node);

// Gives a node other parameters of its kind. A buffer's node cannot be changed.
// Stands for cuGraphKernelNodeSetParams and its kin.
RNL_API rnl_status rnl_graph_set_node(rnl_graph graph, rnl_node node,
                                      const rnl_node_params *params);

// Removes a node and its edges. Stands for cuGraphDestroyNode.
RNL_API rnl_status rnl_graph_remove_node(rnl_graph graph, rnl_node node);

// Makes `to` come after `from`. RNL_ERROR_INVALID_ARGUMENT when that is there
// already, or would make a node come after itself. Stands for
// cuGraphAddDependencies.
RNL_API rnl_status rnl_graph_add_edge(rnl_graph graph, rnl_node from,
                                      rnl_node to);

// RNL_ERROR_NOT_FOUND when there is no such edge.
RNL_API rnl_status rnl_graph_remove_edge(rnl_graph graph, rnl_node from,
                                         rnl_node to);

// --- Queries: up to `capacity` items; `*out_count` is how many there are ---

// The nodes, oldest first.
RNL_API rnl_status rnl_graph_get_nodes(rnl_graph graph, rnl_node *out_nodes,
                                       size_t capacity, size_t *out_count);

// The edges, in the order of the nodes that come after.
RNL_API rnl_status rnl_graph_get_edges(rnl_graph graph, rnl_edge *out_edges,
                                       size_t capacity, size_t *out_count);

// The parameters of a node, from which rnl_graph_add_node makes an equal node.
// Values are copies, pitches are filled in, buffers and functions are borrowed:
// a buffer whose handle the program released is given by its address, another
// object as NULL. A BUFFER_CREATE has its buffer in `buffer`, an IF, WHILE or
// SWITCH its bodies in `bodies`; `out_…` and `destroy` are NULL. All is good
// until the node is removed or changed. RNL_ERROR_UNSUPPORTED for a captured
// rnl_enqueue_copy_batch, which no parameters describe. Stands for
// cuGraphKernelNodeGetParams and its kin.
RNL_API rnl_status rnl_graph_get_node_params(rnl_graph graph, rnl_node node,
                                             rnl_node_params *out_params);

// Fills `*out_info`, whose struct_size the caller has set.
RNL_API rnl_status rnl_graph_get_node_info(rnl_graph graph, rnl_node node,
                                           rnl_node_info *out_info);

// --- Executable graphs -----------------------------------------------------

// Why an executable graph could not become like a graph.
typedef enum rnl_update_reason {
    RNL_UPDATE_OK = 0,
    RNL_UPDATE_NODE_COUNT,  // nodes are missing or too many
    RNL_UPDATE_NODE_KIND,   // a node is of another kind, or has not so many
                            // bodies
    RNL_UPDATE_EDGES,       // a node comes after others
    RNL_UPDATE_BUFFER,      // a node's buffer is another
} rnl_update_reason;

// Why an executable graph was not updated.
typedef struct rnl_update_result {
    size_t struct_size;
    rnl_update_reason reason;
    rnl_node node;         // of the new graph, if a node is at fault
    const char *sentence;  // static
} rnl_update_result;

// Makes an executable graph. Stands for cuGraphInstantiate.
RNL_API rnl_status rnl_graph_instantiate(rnl_graph graph,
                                         rnl_graph_exec *out_exec);

// Adds a reference for the caller.
RNL_API rnl_status rnl_graph_exec_retain(rnl_graph_exec exec);

// Drops one; launches under way go on.
RNL_API rnl_status rnl_graph_exec_release(rnl_graph_exec exec);

// Launches `exec` on a stream of its context. Launches of the same graph never
// overlap, on whatever streams: each waits for the launch before.
// Cannot be captured, as in CUDA: add a CHILD node. Stands for cuGraphLaunch.
RNL_API rnl_status rnl_enqueue_graph(rnl_stream stream, rnl_graph_exec exec);

// Prepares the device for the next launch, where that is needed; cpu: nothing
// to do. Stands for cuGraphUpload.
RNL_API rnl_status rnl_enqueue_graph_upload(rnl_stream stream,
                                            rnl_graph_exec exec);

// Gives all nodes the parameters of `graph`, which must have the same nodes and
// edges as the one it was made of, in the same order of creation; launches
// under way are not touched, and nodes that are not enabled stay so.
// RNL_ERROR_GRAPH_UPDATE when that cannot be: then the executable graph is as
// before. `out_result`, if wanted, is filled in both cases (struct_size set).
// Stands for cuGraphExecUpdate.
RNL_API rnl_status rnl_graph_exec_update(rnl_graph_exec exec, rnl_graph graph,
                                         rnl_update_result *out_result);

// Gives a node new parameters of its kind for launches to come. `node` is
// of the graph that was instantiated. A buffer's node cannot be changed. Stands
// for cuGraphExecKernelNodeSetParams and its kin.
RNL_API rnl_status rnl_graph_exec_set_node(rnl_graph_exec exec, rnl_node node,
                                           const rnl_node_params *params);

// A node that is not enabled does nothing in launches to come, but keeps its
// place. FUNCTION, COPY, FILL and HOST_FUNCTION. On a GPU it is another
// rnl_graph_instantiate for a FILL, and for all where the driver cannot do it
// in place: behind some dozens of them that a device which is never idle was
// given, the next one waits for it. Stands for cuGraphNodeSetEnabled.
RNL_API rnl_status rnl_graph_exec_set_enabled(rnl_graph_exec exec,
                                              rnl_node node, bool enabled);
RNL_API rnl_status rnl_graph_exec_is_enabled(rnl_graph_exec exec,
                                             rnl_node node, bool *out_enabled);

RNL_END_DECLS

#endif
