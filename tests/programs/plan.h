// What the plan knows while it goes through the steps.
#pragma once

#include "model.h"

enum { CAPTURES = 2, SLOTS = 3 };

struct plan_stream {
    int tail;      // its last task
    int reset;     // the task count when it was reset last
    int capture;
    uint64_t set;  // captured: what its next node comes after
};

struct plan_event {
    bool recorded;
    int task;      // that it stands for; NONE: nothing that could be awaited
    int capture, serial;
    uint64_t set;
};

struct plan_capture {
    bool active, relaxed;
    int origin;
    struct graph graph;
};

struct plan_exec {
    struct graph graph;
    int source, serial;  // the graph that it was made of
    int id;
    int last;            // end of its last launch
};

struct plan {
    struct program *program;
    struct plan_stream streams[STREAMS_ALL];
    struct plan_event events[EVENTS + 1];
    struct plan_capture captures[CAPTURES];
    struct graph graphs[GRAPHS];
    struct plan_exec execs[EXECS];
    int slots[2 * SLOTS];    // promises, and words
    int promise_count, serial, launches;
    int host;                // all that the host has waited for
};

// A call with nothing but its kind and stream; it may not fail.
struct call *plan_call(struct plan *plan, enum call_kind kind, int stream);

// The same for one that reports a failure of its stream.
struct call *plan_enqueue(struct plan *plan, enum call_kind kind, int stream);

// Begins a task that comes next on the stream; plan_end ends it.
struct task *plan_begin(struct plan *plan, int stream);
int plan_end(struct plan *plan, int stream);

// Adds the waits that work of this kind needs on the stream; false when that
// cannot be.
bool plan_make_room(struct plan *plan, int stream,
                    const struct footprint *footprint, int exec);

bool plan_is_captured(const struct plan *plan, int stream);
bool plan_has_failed(const struct plan *plan, int stream);
bool plan_is_blocked(const struct plan *plan, int stream);

// Whether calls that could disturb a capture are fine.
bool plan_is_calm(const struct plan *plan);

// --- Captures and graphs ---------------------------------------------------

void plan_captured_work(struct plan *plan, const struct step *step);
void plan_captured_record(struct plan *plan, int stream, int event);
void plan_captured_wait(struct plan *plan, int stream, int event);
void plan_captured_join(struct plan *plan, int stream, int other);
void plan_end_capture(struct plan *plan, int capture, int slot);

// Does the steps of graphs and captures; false for all others.
bool plan_graph_step(struct plan *plan, const struct step *step);
