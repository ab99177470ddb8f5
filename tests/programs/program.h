// Random programs of public calls, and what they may lead to.
//
// A program comes in three forms. Steps are what the seed gives: they mean
// something whatever else is left out, so that a program can be made smaller by
// dropping some. The plan (plan.c) turns them into calls, and adds the waits
// without which two of them would race; what it cannot make legal it drops. At
// the same time it builds the model: tasks, each of which does one piece of
// work, with edges for every reason that one is done before another. The run
// (run.c) makes the calls; the check (check.c) walks the model in order and
// compares memory, host functions and the status of every call.
#pragma once

#include <runnel/runnel.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STREAMS = 5,         // and one more, for promises at the end
    DRAIN = STREAMS,
    STREAMS_ALL,
    EVENTS = 5,
    PROMISES = 24,
    BUFFERS = 4,         // device memory, and behind them …
    REACHED = BUFFERS + 2,   // … memory of the host that kernels reach, and …
    MEMORIES = REACHED + 2,  // … that only copies and host functions do
    BYTES = 64,          // of each: one bit each in a footprint
    GRAPHS = 3,
    EXECS = 2,
    NODES = 40,
    FROZEN = 48,         // graphs that are children of others
    BODY = 3,
    TASKS = 1280,
    EDGES = 12000,
    CALLS = 1600,
    STEPS = 160,
    HOST_CALLS = 4096,
    TEMPORARY = EVENTS,  // the event of waits that the plan adds
    NONE = -1,
};

// --- Work ------------------------------------------------------------------

enum work_kind {
    WORK_NOTHING,
    WORK_FILL,
    WORK_COPY,
    WORK_ADD,        // to cells; atomic, so that order does not matter
    WORK_MULTIPLY,   // cells by 2 * value + 1, and add value
    WORK_MIX,        // cells = 3 * cells + those of `from`
    WORK_COUNT_DOWN, // the low two bits of a cell, nothing else is left
    WORK_FAIL,
    WORK_WRITE,      // a word of a buffer, as a stream memory operation
    WORK_HOST,       // a host function, which multiplies a cell of the host
};

struct work {
    enum work_kind kind;
    uint8_t to, to_offset, from, from_offset;
    uint8_t size;          // bytes
    uint8_t pattern_size;
    uint16_t id;           // of a host function
    uint64_t value;
};

// Which bytes of each memory are used how.
struct footprint {
    uint64_t read[MEMORIES], write[MEMORIES], add[MEMORIES];
};

// --- Steps -----------------------------------------------------------------

enum step_kind {
    STEP_WORK,            // on stream a
    STEP_RECORD,          // event b on stream a
    STEP_WAIT,            // stream a for event b
    STEP_WAIT_STREAM,     // stream a for stream b
    STEP_WAIT_CONTEXT,    // stream a for all
    STEP_QUERY,           // stream a
    STEP_QUERY_EVENT,     // event b
    STEP_SYNCHRONIZE,     // stream a
    STEP_SYNCHRONIZE_EVENT,
    STEP_RESET,           // stream a
    STEP_PROMISE_WAIT,    // stream a for promise b, made if need be
    STEP_PROMISE_RECORD,  // promise b on stream a
    STEP_PROMISE_BREAK,
    STEP_WORD_WAIT,       // stream a for word b, a promise of another kind
    STEP_WORD_WRITE,      // by stream a, or by the host
    STEP_FLUSH,           // stream a
    STEP_BEGIN,           // capture of stream a
    STEP_END,             // of stream a's capture, as graph b
    STEP_ADD_NODE,        // to graph b, after those in `value`
    STEP_ADD_CHILD,       // to graph b: graph c
    STEP_ADD_BODY,        // to graph b: an IF (c even) or WHILE
    STEP_SET_NODE,        // node c of graph b
    STEP_CLONE,           // graph b to c
    STEP_INSTANTIATE,     // graph b as c
    STEP_LAUNCH,          // exec c on stream a
    STEP_UPDATE,          // exec c by graph b
    STEP_SET_EXEC_NODE,   // node b of exec c
    STEP_ENABLE,          // node b of exec c
    STEP_MISUSE,          // a wrong call, with stream a, event b and buffer c
    STEP_KINDS,
};

struct step {
    enum step_kind kind;
    uint8_t a, b, c;
    bool dropped;
    uint64_t value;
    struct work work, body[BODY];
};

// --- Graphs ----------------------------------------------------------------

struct node {
    rnl_node_kind kind;
    struct work work, body[BODY];
    int body_count;
    int child;        // among the frozen
    bool disabled;
    uint64_t after, before_all;  // nodes right before it; all before it
};

struct graph {
    bool exists;
    int count;
    int serial;       // tells two graphs of one slot apart
    struct node nodes[NODES];
};

// --- Tasks -----------------------------------------------------------------

enum edge_kind {
    EDGE_STREAM,  // the stream's order
    EDGE_WAIT,    // an event, or another stream
    EDGE_GRAPH,   // within a launch
    EDGE_HOST,    // the host waited, and then enqueued
    EDGE_SERIAL,  // the executable graph's earlier launch
};

struct edge {
    int16_t from;
    uint8_t kind;
};

struct task {
    struct work work;
    rnl_node_kind kind;       // IF or WHILE, with …
    struct work word, body[BODY];
    int body_count;
    struct footprint footprint;
    int stream, call, launch, exec;
    int first_edge, edge_count;
    int promise;              // that it waits for
    bool failed, maybe;       // will not run; may or may not
    rnl_status status;        // of the failure
    uint64_t before[TASKS / 64];  // all that is surely done before it
};

// --- Calls -----------------------------------------------------------------

enum call_kind {
    CALL_WORK,
    CALL_RECORD,
    CALL_WAIT,
    CALL_WAIT_STREAM,
    CALL_WAIT_CONTEXT,
    CALL_QUERY,
    CALL_QUERY_EVENT,
    CALL_SYNCHRONIZE,
    CALL_SYNCHRONIZE_EVENT,
    CALL_TIME_OUT,          // a wait for a stream that is blocked
    CALL_RESET,
    CALL_PROMISE_NEW,
    CALL_PROMISE_WAIT,
    CALL_PROMISE_RECORD,
    CALL_PROMISE_BREAK,
    CALL_WORD_WAIT,
    CALL_WORD_WRITE,
    CALL_WORD_STORE,
    CALL_FLUSH,
    CALL_BEGIN,
    CALL_END,
    CALL_GRAPH_NEW,
    CALL_ADD_NODE,
    CALL_SET_NODE,
    CALL_CLONE,
    CALL_INSTANTIATE,
    CALL_LAUNCH,
    CALL_UPDATE,
    CALL_SET_EXEC_NODE,
    CALL_ENABLE,
    CALL_MISUSE,
    CALL_KINDS,
};

// What a call may return: what is so for certain, or until that is known.
enum answer {
    ANSWER_OK,       // RNL_OK, nothing else
    ANSWER_ENQUEUE,  // RNL_OK, or the failure of `tail`
    ANSWER_QUERY,    // whether `tail` is done
    ANSWER_WAIT,     // how `tail` ended
    ANSWER_EXACT,    // `expected`
    ANSWER_REFUSED,  // any failure that is told in words
};

struct call {
    enum call_kind kind;
    int stream, other, event, promise, graph, exec, node;
    uint64_t value;
    struct node added;
    enum answer answer;
    int tail;        // the task in question, or NONE
    bool event_looked_at;
    bool known;      // the host has waited for it
    bool blocked;    // it waits for a promise not recorded yet
    rnl_status expected;
};

// --- Programs --------------------------------------------------------------

struct host_call {
    int id;
    rnl_status status;
};

struct program {
    uint64_t seed;
    uint32_t threads;
    bool failures;   // some work fails
    bool broken;     // the model is wrong, which has to be found
    uint32_t batched;  // streams, as bits
    int step_count, call_count, task_count, edge_count, frozen_count;
    struct step steps[STEPS];
    struct call calls[CALLS];
    struct task tasks[TASKS];
    struct edge edges[EDGES];
    struct graph frozen[FROZEN];
    int promise_task[PROMISES];  // what it stands for; see plan.c
    bool promise_is_word[PROMISES];

    // What a run found.
    int *at;  // the call under way
    rnl_status answers[CALLS];
    uint8_t memory[MEMORIES][BYTES];
    struct host_call host_calls[HOST_CALLS];
    _Atomic int host_call_count;
    char problem[512];
};

enum { PROMISE_OPEN = -2, PROMISE_BROKEN = -3 };

void program_generate(struct program *program, uint64_t seed);
// From any bytes instead: what comes first decides what comes first.
void program_decode(struct program *program, const uint8_t *bytes,
                    size_t size);
bool machine_has_bodies(void);  // graphs may have IF and WHILE nodes
bool machine_is_cpu(void);  // where kernels can fail and all else goes on
void program_plan(struct program *program);
void program_print(const struct program *program);

// Both leave the first thing that is wrong in `problem`; false then.
bool program_run(struct program *program);
bool program_check(struct program *program);

bool problem(struct program *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// --- What work does, for the model and the run -----------------------------

void work_footprint(const struct work *work, struct footprint *footprint);
bool footprints_conflict(const struct footprint *one,
                         const struct footprint *other);
uint64_t work_cell(const struct work *work, uint64_t to, uint64_t from);
uint8_t memory_start(int memory, int byte);

static inline bool bit_has(const uint64_t *bits, int index)
{
    return bits[index / 64] >> (index % 64) & 1;
}

static inline bool is_kernel(enum work_kind kind)
{
    return kind >= WORK_ADD && kind <= WORK_FAIL;
}
