// Executable graphs of the shared backend.
#pragma once

#include "backends/cudalike/cudalike.h"
#include "core/graph.h"

// Launches with the stream's lock held and its context current.
int gpu_graph_launch(struct stream *stream, struct op *op);
