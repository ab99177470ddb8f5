// The model: tasks and the reasons why one is done before another.
#pragma once

#include "program.h"

// Adds a task with what follows from all of its edges, which come first:
// model_begin, model_edge …, model_end.
struct task *model_begin(struct program *program);
void model_edge(struct program *program, int from, enum edge_kind kind);
int model_end(struct program *program);

// After a promise was recorded or broken: works everything out again.
void model_settle(struct program *program);

// The tasks in an order in which they could run.
void model_order(const struct program *program, int *order);

// Whether `task` is to wait for the promise, or for any that is open (NONE).
bool model_awaits(const struct program *program, int task, int promise);

// What a node, or a whole graph, does.
void node_footprint(const struct program *program, const struct node *node,
                    struct footprint *footprint);
void graph_footprint(const struct program *program, const struct graph *graph,
                     struct footprint *footprint);
