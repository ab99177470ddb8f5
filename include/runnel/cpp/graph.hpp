// Events and graphs.
// Included by <runnel/runnel.hpp>; not for direct use.
#ifndef RUNNEL_CPP_GRAPH_HPP
#define RUNNEL_CPP_GRAPH_HPP

#include <runnel/cpp/object.hpp>

#include <string>
#include <vector>

RUNNEL_CPP_BEGIN

// --- Events ------------------------------------------------------------------

class event_ref
    : public detail::object<rnl_event, rnl_event_retain, rnl_event_release>
{
  public:
    using object::object;

    // Whether it is complete, or was never recorded.
    result<bool> query() const
    {
        rnl_status status = rnl_event_query(handle_);
        bool complete = status == RNL_OK;
        return detail::done(status == RNL_NOT_READY ? RNL_OK : status,
                            std::move(complete));
    }
    // Blocks until the event is complete, or RNL_ERROR_TIMED_OUT.
    result<void> synchronize(timeout limit = {}) const
    {
        return detail::done(rnl_event_synchronize(handle_, limit.ns()));
    }
};

using event = owner<event_ref>;

// The time from one event with `.timing` to another one. Both are complete.
inline result<std::chrono::nanoseconds> elapsed(const event_ref &start,
                                                const event_ref &end)
{
    uint64_t ns = 0;
    rnl_status status = rnl_event_elapsed(start.get(), end.get(), &ns);
    return detail::done(status,
                        std::chrono::nanoseconds(static_cast<int64_t>(ns)));
}

// --- Graphs ------------------------------------------------------------------

class graph_exec_ref
    : public detail::object<rnl_graph_exec, rnl_graph_exec_retain,
                            rnl_graph_exec_release>
{
  public:
    using object::object;

    // Later launches run the node, or pass over it.
    result<void> set_enabled(rnl_node node, bool enabled) const
    {
        return detail::done(rnl_graph_exec_set_enabled(handle_, node, enabled));
    }
    // Changes a node for later launches: rnl_graph_exec_set_node.
    result<void> set_node(rnl_node node, const rnl_node_params *params) const
    {
        return detail::done(rnl_graph_exec_set_node(handle_, node, params));
    }
};

using graph_exec = owner<graph_exec_ref>;

class graph_ref
    : public detail::object<rnl_graph, rnl_graph_retain, rnl_graph_release>
{
  public:
    using object::object;

    // Adds a node, made by RNL_NODE, that runs after those of `after`.
    result<rnl_node> add_node(const rnl_node_params *params,
                              const std::vector<rnl_node> &after = {}) const
    {
        rnl_node node = nullptr;
        rnl_status status = rnl_graph_add_node(handle_, after.data(),
                                               after.size(), params, &node);
        return detail::done(status, std::move(node));
    }
    // Lets `to` run after `from`.
    result<void> add_edge(rnl_node from, rnl_node to) const
    {
        return detail::done(rnl_graph_add_edge(handle_, from, to));
    }
    // Counts, label and context: rnl_graph_get_info.
    result<rnl_graph_info> info() const
    {
        return detail::info_of(rnl_graph_get_info, handle_);
    }
    // Makes what a stream launches; later changes of the graph do not reach it.
    result<graph_exec> instantiate() const
    {
        return detail::make<graph_exec>(rnl_graph_instantiate, handle_);
    }
    // A drawing of the graph, as text for Graphviz.
    result<std::string> dot() const
    {
        std::string text;
        rnl_status status = rnl_graph_write_dot(
            handle_,
            [](const char *part, size_t size, void *all) {
                return detail::try_allocate([=] {
                    static_cast<std::string *>(all)->append(part, size);
                });
            },
            &text);
        return detail::done(status, std::move(text));
    }
};

using graph = owner<graph_ref>;

RUNNEL_CPP_END

#endif
