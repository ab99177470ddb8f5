// What takes memory only now and then, while faults are injected: the order of
// nodes when it changes, labels of events that are used again, host memory that
// is freed while it is in use.
#include "sweep.h"

#include <stdatomic.h>
#include <stdio.h>

enum { FOLLOWERS = 40, CHAIN = 80, EVENTS = 160 };

static rnl_status add_empty(rnl_graph graph, rnl_node after,
                            rnl_node *out_node)
{
    return rnl_graph_add_node(graph, after ? &after : NULL, after != NULL,
                              RNL_NODE(.kind = RNL_NODE_EMPTY), out_node);
}

// Those behind a node are listed when it goes.
static rnl_status remove_hub(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL;
    rnl_node hub = NULL, node = NULL;
    rnl_graph_info info = {.struct_size = sizeof info};
    TRY(rnl_graph_create(t->context, NULL, &graph));
    TRY(add_empty(graph, NULL, &hub));
    for (int i = 0; i < FOLLOWERS; i++) {
        TRY(add_empty(graph, NULL, &node));
        TRY(add_empty(graph, hub, &node));
    }
    TRY(rnl_graph_remove_node(graph, hub));
    TRY(rnl_graph_get_info(graph, &info));
    EXPECT(info.node_count == 2 * FOLLOWERS && info.edge_count == 0);
    RELEASE(rnl_graph_release(graph));
    return status;
}

// An edge from the end of one chain to the start of another moves all of the
// first.
static rnl_status join_chains(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    rnl_graph graph = NULL;
    rnl_node ends[2][2] = {{NULL}};
    rnl_graph_info info = {.struct_size = sizeof info};
    TRY(rnl_graph_create(t->context, NULL, &graph));
    for (int chain = 0; chain < 2; chain++) {
        TRY(add_empty(graph, NULL, &ends[chain][0]));
        ends[chain][1] = ends[chain][0];
        for (int i = 1; i < CHAIN; i++)
            TRY(add_empty(graph, ends[chain][1], &ends[chain][1]));
    }
    TRY(rnl_graph_add_edge(graph, ends[1][1], ends[0][0]));
    TRY(rnl_graph_get_info(graph, &info));
    EXPECT(info.edge_count == 2 * CHAIN - 1);
    // The other way round it would be a circle.
    if (status == RNL_OK) {
        TRY(rnl_graph_add_edge(graph, ends[0][1], ends[1][0]));
        EXPECT(status != RNL_OK);
        status = status == RNL_ERROR_OUT_OF_MEMORY ? status : RNL_OK;
    }
    RELEASE(rnl_graph_release(graph));
    return status;
}

static const struct scenario order_scenarios[] = {
    {"a hub that is removed", NULL, remove_hub, {RNL_FEATURE_GRAPHS}},
    {"chains that are joined", NULL, join_chains, {RNL_FEATURE_GRAPHS}},
    {0},
};

// So many that dead ones are used again.
static rnl_status label_again(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    char label[32];
    for (int i = 0; i < EVENTS; i++) {
        rnl_event event = NULL;
        snprintf(label, sizeof label, "event %d", i);
        TRY(rnl_event_create(t->context,
                             RNL_EVENT_OPTIONS(.label = i % 3 ? label : NULL),
                             &event));
        RELEASE(rnl_event_release(event));
    }
    return status;
}

// Both streams wait for a word, so the memory is kept until they have passed.
static rnl_status free_in_use(struct sweep_set *t)
{
    rnl_status status = RNL_OK;
    void *words = NULL, *memory = NULL;
    TRY(rnl_host_allocate(t->context, 64, &words));
    TRY(rnl_host_allocate(t->context, 64, &memory));
    if (status == RNL_OK) {
        memset(words, 0, 64);
        const rnl_value_op *wait =
            RNL_VALUE_OP(.action = RNL_WAIT_EQ, .width = 32, .pointer = words,
                         .value = 1);
        TRY(rnl_enqueue_values(t->other, wait, 1));
        TRY(rnl_enqueue_values(t->stream, wait, 1));
        TRY(rnl_enqueue_copy(t->stream, memory, (char *)memory + 32, 16));
        RELEASE(rnl_host_free(t->context, memory));
        memory = NULL;
        atomic_store((_Atomic uint32_t *)words, 1);
    }
    TRY(rnl_stream_synchronize(t->stream, RNL_FOREVER));
    TRY(rnl_stream_synchronize(t->other, RNL_FOREVER));
    if (words)
        RELEASE(rnl_host_free(t->context, words));
    if (memory)
        RELEASE(rnl_host_free(t->context, memory));
    return status;
}

static const struct scenario seldom_scenarios[] = {
    {"labels of events", NULL, label_again, {0}},
    {"memory that is freed in use", NULL, free_in_use,
     {RNL_FEATURE_MEMORY_OPERATIONS}},
    {0},
};

RNL_TEST(orders_survive_failed_allocations)
{
    sweep_memory(order_scenarios);
}

RNL_TEST(what_is_seldom_survives_failed_allocations)
{
    sweep_memory(seldom_scenarios);
}

RNL_TEST(what_is_seldom_survives_pairs_of_faults)
{
    sweep_pairs(seldom_scenarios);
}
