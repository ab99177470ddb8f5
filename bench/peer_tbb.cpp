#include "peer_tbb.h"

#ifdef BENCH_HAVE_TBB

#include <memory>
#include <oneapi/tbb/flow_graph.h>
#include <vector>

namespace {

using node = tbb::flow::continue_node<tbb::flow::continue_msg>;
using message = tbb::flow::continue_msg;

struct flow {
    tbb::flow::graph graph;
    std::unique_ptr<tbb::flow::broadcast_node<message>> start;
    std::vector<std::unique_ptr<node>> nodes;
};

std::unique_ptr<flow> current;

}  // namespace

const char *tbb_flow_open(int *cells, size_t wide, size_t stride,
                          size_t levels)
{
    current = std::make_unique<flow>();
    tbb::flow::graph &graph = current->graph;
    current->start =
        std::make_unique<tbb::flow::broadcast_node<message>>(graph);
    tbb::flow::sender<message> *before = current->start.get();
    for (size_t level = 0; level < levels; level++) {
        auto join = std::make_unique<node>(graph, [](const message &) {});
        for (size_t i = 0; i < wide; i++) {
            int *cell = cells + i * stride;
            current->nodes.push_back(std::make_unique<node>(
                graph, [cell](const message &) { *cell += 1; }));
            tbb::flow::make_edge(*before, *current->nodes.back());
            tbb::flow::make_edge(*current->nodes.back(), *join);
        }
        before = join.get();
        current->nodes.push_back(std::move(join));
    }
    return nullptr;
}

void tbb_flow_run()
{
    current->start->try_put(message());
    current->graph.wait_for_all();
}

void tbb_flow_close()
{
    current.reset();
}

#else

const char *tbb_flow_open(int *, size_t, size_t, size_t)
{
    return "built without oneTBB";
}

void tbb_flow_run() {}
void tbb_flow_close() {}

#endif
