#include "backends/cudalike/graph.h"

int gpu_graph_launch(struct stream *stream, struct op *op)
{
    (void)stream;
    (void)op;
    return 0;
}
