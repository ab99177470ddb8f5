// Attributes of launches: their values, their effect, and events that a launch
// records. Cooperative launches are in cooperative.c.
#include "graphs.h"

#include <limits.h>
#include <math.h>
#include <stdatomic.h>

static _Atomic int blocks;

static rnl_status count_blocks(const rnl_native_call *call)
{
    atomic_fetch_add((_Atomic int *)call->user_data, (int)call->block_count);
    return RNL_OK;
}

// A kernel without arguments on any device.
static rnl_function make(void)
{
    blocks = 0;
    if (rnl_context_supports(suite_context(), RNL_FEATURE_NATIVE_FUNCTIONS,
                             NULL) == RNL_OK)
        return suite_native("count", count_blocks, &blocks);
    return suite_compile("extern \"C\" __global__ void count() {}", "count");
}

// One that may have a cluster, which C functions cannot.
static rnl_function make_compiled(void)
{
    return rnl_context_supports(suite_context(), RNL_FEATURE_COMPILE, NULL) ==
                   RNL_OK
               ? suite_compile("extern \"C\" __global__ void count() {}",
                               "count")
               : make();
}

static rnl_status launch_on(rnl_stream stream, rnl_function function,
                            const rnl_launch_attribute *attributes,
                            size_t count)
{
    return rnl_enqueue_function(
        stream, function,
        RNL_LAUNCH(.grid = {4}, .block = {1}, .attributes = attributes,
                   .attribute_count = count), RNL_NO_ARGS);
}

static rnl_status launch(rnl_function function, rnl_launch_attribute attribute)
{
    return launch_on(suite_stream(), function, &attribute, 1);
}

static bool has_effect(rnl_launch_attribute_id id)
{
    bool has = false;
    expect_ok(rnl_launch_attribute_has_effect(suite_context(), id, &has, NULL));
    return has;
}

// --- Effect ----------------------------------------------------------------

RNL_TEST(each_launch_attribute_tells_of_its_effect)
{
    for (int id = 0; id <= RNL_LAUNCH_CARVEOUT; id++) {
        bool has = false;
        const char *reason = NULL;
        expect_ok(rnl_launch_attribute_has_effect(
            suite_context(), (rnl_launch_attribute_id)id, &has, &reason));
        assert_non_null(reason);
        if (has)
            assert_string_equal(reason, "");
        else
            assert_true(strlen(reason) >= 12);
    }
    assert_false(has_effect(RNL_LAUNCH_IGNORE));
    assert_false(has_effect(RNL_LAUNCH_SYNC_POLICY));
    assert_false(has_effect(RNL_LAUNCH_UPDATABLE_NODE));
    assert_int_equal(has_effect(RNL_LAUNCH_CLUSTER),
                     rnl_context_supports(suite_context(),
                                          RNL_FEATURE_CLUSTERS,
                                          NULL) == RNL_OK);
    if (suite_is_cpu())
        assert_true(has_effect(RNL_LAUNCH_COMPLETION_EVENT));
}

RNL_TEST(no_launch_attribute_has_no_effect)
{
    const int ids[] = {-1, RNL_LAUNCH_CARVEOUT + 1, 1000, INT_MAX};
    bool has = true;
    for (int i = 0; i < 4; i++)
        expect_error(rnl_launch_attribute_has_effect(
                         suite_context(), (rnl_launch_attribute_id)ids[i],
                         &has, NULL),
                     RNL_ERROR_INVALID_ARGUMENT, "id");
    assert_true(has);
    expect_error(rnl_launch_attribute_has_effect(
                     suite_context(), RNL_LAUNCH_PRIORITY, NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_has_effect");
}

// --- Lists -----------------------------------------------------------------

RNL_TEST(unknown_launch_attributes_are_refused)
{
    rnl_function function = make();
    const int ids[] = {-1, RNL_LAUNCH_CARVEOUT + 1, 1000};
    for (int i = 0; i < 3; i++)
        expect_error(launch(function,
                            (rnl_launch_attribute){
                                .id = (rnl_launch_attribute_id)ids[i]}),
                     RNL_ERROR_INVALID_ARGUMENT, "attributes");
    expect_error(launch_on(suite_stream(), function, NULL, 2),
                 RNL_ERROR_INVALID_ARGUMENT, "attributes");
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(blocks, 0);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(launch_attributes_are_given_once)
{
    rnl_function function = make();
    for (int id = 1; id <= RNL_LAUNCH_CARVEOUT; id++) {
        rnl_launch_attribute twice[3] = {{.id = RNL_LAUNCH_IGNORE}};
        twice[0].id = twice[2].id = (rnl_launch_attribute_id)id;
        if (id == RNL_LAUNCH_CLUSTER || id == RNL_LAUNCH_PREFERRED_CLUSTER)
            twice[0].value.cluster = twice[2].value.cluster = (rnl_dim3){1};
        if (id == RNL_LAUNCH_SYNC_POLICY)
            twice[0].value.sync_policy = RNL_SYNC_AUTO;
        if (id == RNL_LAUNCH_PROGRAMMATIC_EVENT ||
            id == RNL_LAUNCH_COMPLETION_EVENT)
            twice[0].value.event.event = suite_new_event();
        expect_error(launch_on(suite_stream(), function, twice, 3),
                     RNL_ERROR_INVALID_ARGUMENT, "attributes");
        assert_non_null(strstr(rnl_last_error()->message, "twice"));
        if (id == RNL_LAUNCH_PROGRAMMATIC_EVENT ||
            id == RNL_LAUNCH_COMPLETION_EVENT)
            expect_ok(rnl_event_release(twice[0].value.event.event));
    }
    const rnl_launch_attribute nothing[3] = {{.id = RNL_LAUNCH_IGNORE}};
    expect_ok(launch_on(suite_stream(), function, nothing, 3));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_function_release(function));
}

// --- Values ----------------------------------------------------------------

static const rnl_launch_attribute legal[] = {
    {RNL_LAUNCH_ACCESS_POLICY, {.access_policy = {.size = 0}}},
    {RNL_LAUNCH_SYNC_POLICY, {.sync_policy = RNL_SYNC_SPIN}},
    {RNL_LAUNCH_CLUSTER, {.cluster = {1}}},
    {RNL_LAUNCH_CLUSTER_SCHEDULING,
     {.cluster_scheduling = RNL_CLUSTER_BALANCE}},
    {RNL_LAUNCH_PROGRAMMATIC_SERIALIZATION,
     {.programmatic_serialization = true}},
    {RNL_LAUNCH_PRIORITY, {.priority = -1}},
    {RNL_LAUNCH_PRIORITY, {.priority = INT_MIN}},
    {RNL_LAUNCH_PRIORITY, {.priority = INT_MAX}},
    {RNL_LAUNCH_DOMAIN_MAP, {.domain_map = {0, 1}}},
    {RNL_LAUNCH_DOMAIN, {.domain = RNL_DOMAIN_REMOTE}},
    {RNL_LAUNCH_UPDATABLE_NODE, {.updatable_node = false}},
    {RNL_LAUNCH_CARVEOUT, {.carveout = 0}},
    {RNL_LAUNCH_CARVEOUT, {.carveout = 100}},
};
enum { LEGAL = sizeof legal / sizeof *legal };

RNL_TEST(legal_values_are_taken_on_every_device)
{
    rnl_function function = make();
    for (int i = 0; i < LEGAL; i++)
        expect_ok(launch(function, legal[i]));
    const rnl_launch_attribute together[] = {legal[0], legal[1], legal[3],
                                             legal[5], legal[8], legal[9],
                                             legal[11]};
    expect_ok(launch_on(suite_stream(), function, together, 7));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    if (blocks)
        assert_int_equal(blocks, 4 * (LEGAL + 1));
    expect_ok(rnl_function_release(function));
}

static const rnl_launch_attribute illegal[] = {
    {RNL_LAUNCH_SYNC_POLICY, {.sync_policy = (rnl_sync_policy)0}},
    {RNL_LAUNCH_SYNC_POLICY, {.sync_policy = (rnl_sync_policy)5}},
    {RNL_LAUNCH_CLUSTER, {.cluster = {0}}},
    {RNL_LAUNCH_CLUSTER_SCHEDULING,
     {.cluster_scheduling = (rnl_cluster_scheduling)3}},
    {RNL_LAUNCH_CLUSTER_SCHEDULING,
     {.cluster_scheduling = (rnl_cluster_scheduling)-1}},
    {RNL_LAUNCH_DOMAIN, {.domain = (rnl_memory_domain)2}},
    {RNL_LAUNCH_CARVEOUT, {.carveout = -1}},
    {RNL_LAUNCH_CARVEOUT, {.carveout = 101}},
    {RNL_LAUNCH_PREFERRED_CLUSTER, {.cluster = {2}}},  // without a cluster
    {RNL_LAUNCH_ACCESS_POLICY, {.access_policy = {.hit_ratio = -0.1f}}},
    {RNL_LAUNCH_ACCESS_POLICY, {.access_policy = {.hit_ratio = 1.1f}}},
    {RNL_LAUNCH_ACCESS_POLICY, {.access_policy = {.hit_ratio = NAN}}},
    {RNL_LAUNCH_ACCESS_POLICY,
     {.access_policy = {.miss = RNL_ACCESS_PERSISTING}}},
    {RNL_LAUNCH_ACCESS_POLICY,
     {.access_policy = {.hit = (rnl_access_property)3}}},
    {RNL_LAUNCH_ACCESS_POLICY, {.access_policy = {.size = 1}}},
    {RNL_LAUNCH_ACCESS_POLICY, {.access_policy = {.size = RNL_WHOLE}}},
};
enum { ILLEGAL = sizeof illegal / sizeof *illegal };

RNL_TEST(illegal_values_are_refused_on_every_device)
{
    rnl_function function = make();
    for (int i = 0; i < ILLEGAL; i++)
        expect_error(launch(function, illegal[i]), RNL_ERROR_INVALID_ARGUMENT,
                     "attributes");
    expect_error(launch(function,
                        (rnl_launch_attribute){RNL_LAUNCH_UPDATABLE_NODE,
                                               {.updatable_node = true}}),
                 RNL_ERROR_UNSUPPORTED, "attributes");
    if (has_effect(RNL_LAUNCH_DOMAIN_MAP))
        expect_error(launch(function,
                            (rnl_launch_attribute){RNL_LAUNCH_DOMAIN_MAP,
                                                   {.domain_map = {0, 200}}}),
                     RNL_ERROR_INVALID_ARGUMENT, "attributes");
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(blocks, 0);
    expect_ok(rnl_function_release(function));
}

// --- Clusters --------------------------------------------------------------

static rnl_status launch_cluster(rnl_function function, rnl_dim3 own,
                                 rnl_dim3 given)
{
    const rnl_launch_attribute cluster = {RNL_LAUNCH_CLUSTER,
                                          {.cluster = given}};
    return rnl_enqueue_function(
        suite_stream(), function,
        RNL_LAUNCH(.grid = {4}, .block = {1}, .cluster = own,
                   .attributes = &cluster, .attribute_count = 1),
        RNL_NO_ARGS);
}

RNL_TEST(the_attribute_cluster_is_the_launch_s_own)
{
    rnl_function function = make_compiled();
    expect_error(launch_cluster(function, (rnl_dim3){1}, (rnl_dim3){2}),
                 RNL_ERROR_INVALID_ARGUMENT, "attributes");
    expect_error(launch_cluster(function, (rnl_dim3){2}, (rnl_dim3){1}),
                 RNL_ERROR_INVALID_ARGUMENT, "attributes");
    expect_ok(launch_cluster(function, (rnl_dim3){1}, (rnl_dim3){1, 1}));
    expect_ok(launch_cluster(function, (rnl_dim3){0}, (rnl_dim3){1, 0, 1}));
    if (has_effect(RNL_LAUNCH_CLUSTER)) {
        expect_ok(launch_cluster(function, (rnl_dim3){2}, (rnl_dim3){2}));
        expect_ok(launch_cluster(function, (rnl_dim3){0}, (rnl_dim3){2}));
        expect_error(launch_cluster(function, (rnl_dim3){0}, (rnl_dim3){3}),
                     RNL_ERROR_INVALID_ARGUMENT, "cluster");
    }
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_preferred_cluster_is_a_multiple_of_the_cluster)
{
    suite_need(RNL_FEATURE_CLUSTERS);
    rnl_function function = make_compiled();
    const rnl_dim3 wrong[] = {{3}, {1}, {8}, {2, 1, 2}};
    for (int i = 0; i < 4; i++) {
        const rnl_launch_attribute both[] = {
            {RNL_LAUNCH_PREFERRED_CLUSTER, {.cluster = wrong[i]}},
            {RNL_LAUNCH_CLUSTER, {.cluster = {2}}}};
        expect_error(launch_on(suite_stream(), function, both, 2),
                     RNL_ERROR_INVALID_ARGUMENT, "attributes");
    }
    const rnl_launch_attribute right[] = {
        {RNL_LAUNCH_PREFERRED_CLUSTER, {.cluster = {4}}},
        {RNL_LAUNCH_CLUSTER, {.cluster = {2}}}};
    expect_ok(launch_on(suite_stream(), function, right, 2));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_function_release(function));
}

// --- Windows ---------------------------------------------------------------

static rnl_launch_attribute window(rnl_access_policy policy)
{
    policy.hit_ratio = 0.5f;
    policy.hit = RNL_ACCESS_PERSISTING;
    policy.miss = RNL_ACCESS_STREAMING;
    return (rnl_launch_attribute){RNL_LAUNCH_ACCESS_POLICY,
                                  {.access_policy = policy}};
}

RNL_TEST(a_window_lies_in_memory_that_is_known)
{
    rnl_function function = make();
    rnl_buffer buffer = suite_new_buffer(4096), slice;
    char *address = suite_address(buffer);
    void *host = NULL;
    expect_ok(rnl_buffer_slice(buffer, 1024, 1024, &slice));
    expect_ok(rnl_host_allocate(suite_context(), 512, &host));
    const rnl_access_policy known[] = {
        {.buffer = buffer, .size = 4096},
        {.buffer = buffer, .size = RNL_WHOLE, .offset = 1000},
        {.buffer = slice, .size = RNL_WHOLE},
        {.base = address, .size = 4096},
        {.base = address, .size = 96, .offset = 4000},
        {.base = address + 1024, .size = 3072},
        {.base = host, .size = 512},
    };
    const rnl_access_policy unknown[] = {
        {.buffer = buffer, .size = 4097},
        {.buffer = buffer, .size = RNL_WHOLE, .offset = 4097},
        {.buffer = slice, .size = 1025},
        {.base = address, .size = 4097},
        {.base = address - 1, .size = 4},
        {.base = address, .size = 97, .offset = 4000},
        {.base = host, .size = 513},
        {.base = (void *)(uintptr_t)known, .size = 16},
        {.base = address, .size = 8, .offset = SIZE_MAX},
    };
    for (int i = 0; i < 7; i++)
        expect_ok(launch(function, window(known[i])));
    for (int i = 0; i < 9; i++)
        expect_error(launch(function, window(unknown[i])),
                     RNL_ERROR_OUT_OF_RANGE, "attributes");
    expect_error(launch(function, window((rnl_access_policy){
                                      .base = address, .buffer = buffer,
                                      .size = 16})),
                 RNL_ERROR_INVALID_ARGUMENT, "attributes");
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_buffer_release(slice));
    expect_ok(rnl_buffer_release(buffer));
    expect_error(launch(function, window((rnl_access_policy){.buffer = buffer,
                                                             .size = 16})),
                 RNL_ERROR_INVALID_HANDLE, "attributes");
    expect_error(launch(function, window((rnl_access_policy){.base = address,
                                                             .size = 16})),
                 RNL_ERROR_OUT_OF_RANGE, "attributes");
    expect_ok(rnl_host_free(suite_context(), host));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_stream_s_window_may_be_a_buffer_s)
{
    rnl_buffer buffer = suite_new_buffer(256);
    rnl_stream_attribute attribute = {.struct_size = sizeof attribute};
    expect_ok(rnl_stream_set_attribute(
        suite_stream(),
        RNL_STREAM_ATTRIBUTE(
            .id = RNL_STREAM_ACCESS_POLICY,
            .value = {.access_policy = {.buffer = buffer, .offset = 64,
                                        .size = RNL_WHOLE}})));
    expect_ok(rnl_stream_get_attribute(suite_stream(), RNL_STREAM_ACCESS_POLICY,
                                       &attribute));
    const rnl_access_policy *got = &attribute.value.access_policy;
    assert_ptr_equal(got->base, (char *)suite_address(buffer) + 64);
    assert_int_equal(got->size, 192);
    assert_null(got->buffer);
    assert_int_equal(got->offset, 0);
    expect_error(rnl_stream_set_attribute(
                     suite_stream(),
                     RNL_STREAM_ATTRIBUTE(
                         .id = RNL_STREAM_ACCESS_POLICY,
                         .value = {.access_policy = {.buffer = buffer,
                                                     .size = 257}})),
                 RNL_ERROR_OUT_OF_RANGE, "attribute");
    expect_ok(rnl_stream_set_attribute(
        suite_stream(), RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_ACCESS_POLICY)));
    expect_ok(rnl_buffer_release(buffer));
}

// --- Events ----------------------------------------------------------------

static rnl_launch_attribute recorded(rnl_launch_attribute_id id,
                                     rnl_event event)
{
    return (rnl_launch_attribute){
        id, {.event = {event, id == RNL_LAUNCH_PROGRAMMATIC_EVENT}}};
}

static const rnl_launch_attribute_id event_ids[] = {
    RNL_LAUNCH_PROGRAMMATIC_EVENT, RNL_LAUNCH_COMPLETION_EVENT};

RNL_TEST(a_launch_records_its_events)
{
    rnl_function function = make();
    rnl_event events[2] = {suite_new_event(), suite_new_event()};
    for (int round = 0; round < 3; round++) {
        const rnl_launch_attribute both[] = {recorded(event_ids[0], events[0]),
                                             recorded(event_ids[1], events[1])};
        expect_ok(launch_on(suite_stream(), function, both, 2));
        expect_ok(rnl_event_synchronize(events[0], RNL_FOREVER));
        expect_ok(rnl_event_synchronize(events[1], RNL_FOREVER));
    }
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    for (int i = 0; i < 2; i++) {
        assert_status(rnl_event_query(events[i]), RNL_OK);
        expect_ok(rnl_event_release(events[i]));
    }
    expect_ok(rnl_function_release(function));
}

RNL_TEST(an_event_of_a_launch_waits_for_what_is_before_it)
{
    suite_need(RNL_FEATURE_HOST_FUNCTIONS);
    rnl_function function = make();
    for (int i = 0; i < 2; i++) {
        rnl_stream first = suite_new_stream(), second = suite_new_stream();
        rnl_event event = suite_new_event();
        struct host_calls calls = {0, -1};
        struct gate *gate = gate_shut(first);
        const rnl_launch_attribute attribute = recorded(event_ids[i], event);
        expect_ok(launch_on(first, function, &attribute, 1));
        expect_ok(rnl_enqueue_wait_event(second, event));
        expect_ok(rnl_enqueue_host_function(second, count_host_call, &calls));
        gate_wait_entered(gate);
        assert_status(rnl_event_query(event), RNL_NOT_READY);
        expect_error(rnl_stream_synchronize(second, 0), RNL_ERROR_TIMED_OUT,
                     NULL);
        assert_int_equal(calls.count, 0);
        gate_open(gate);
        expect_ok(rnl_stream_synchronize(second, RNL_FOREVER));
        assert_int_equal(calls.count, 1);
        expect_ok(rnl_stream_synchronize(first, RNL_FOREVER));
        gate_free(gate);
        expect_ok(rnl_event_release(event));
        expect_ok(rnl_stream_release(first));
        expect_ok(rnl_stream_release(second));
    }
    expect_ok(rnl_function_release(function));
}

// At the latest: an event that was never recorded is waited for in vain by
// nobody, so one that stands for nothing would be seen.
RNL_TEST(an_event_of_a_launch_may_be_released_at_once)
{
    rnl_function function = make();
    for (int i = 0; i < 100; i++) {
        rnl_event event = suite_new_event();
        const rnl_launch_attribute attribute =
            recorded(event_ids[i % 2], event);
        expect_ok(launch_on(suite_stream(), function, &attribute, 1));
        expect_ok(rnl_event_release(event));
    }
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_function_release(function));
}

static rnl_status launch_with_event(rnl_function function, rnl_event event)
{
    return launch(function, recorded(RNL_LAUNCH_COMPLETION_EVENT, event));
}

RNL_TEST(events_that_a_launch_cannot_record_are_refused)
{
    rnl_function function = make();
    rnl_context other = suite_open(NULL);
    rnl_event event = suite_new_event(), foreign, timed = NULL, promise = NULL;
    expect_ok(rnl_event_create(other, NULL, &foreign));
    expect_error(launch_with_event(function, NULL), RNL_ERROR_INVALID_HANDLE,
                 "attributes");
    expect_error(launch_with_event(function, foreign),
                 RNL_ERROR_INVALID_HANDLE, "attributes");
    expect_error(launch_with_event(function, (rnl_event)suite_stream()),
                 RNL_ERROR_INVALID_HANDLE, "attributes");
    expect_ok(rnl_event_create(suite_context(),
                               RNL_EVENT_OPTIONS(.timing = true), &timed));
    expect_error(launch_with_event(function, timed),
                 RNL_ERROR_INVALID_ARGUMENT, "attributes");
    expect_ok(rnl_event_release(timed));
    if (rnl_event_create(suite_context(), RNL_EVENT_OPTIONS(.promise = true),
                         &promise) == RNL_OK) {
        expect_error(launch_with_event(function, promise),
                     RNL_ERROR_INVALID_ARGUMENT, "attributes");
        expect_ok(rnl_event_release(promise));
    }
    expect_ok(rnl_event_release(event));
    expect_error(launch_with_event(function, event), RNL_ERROR_INVALID_HANDLE,
                 "attributes");
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(blocks, 0);
    expect_ok(rnl_event_release(foreign));
    expect_ok(rnl_context_release(other));
    expect_ok(rnl_function_release(function));
}

// --- Capture and graphs ----------------------------------------------------

RNL_TEST(an_event_of_a_captured_launch_stands_for_its_node)
{
    rnl_function function = make();
    rnl_event event = suite_new_event(), back = suite_new_event();
    rnl_stream first = new_captured_stream(), second = suite_new_stream();
    const rnl_launch_attribute attribute =
        recorded(RNL_LAUNCH_COMPLETION_EVENT, event);
    expect_ok(launch_on(first, function, &attribute, 1));
    expect_ok(rnl_enqueue_wait_event(second, event));
    expect_ok(launch_on(second, function, &legal[5], 1));
    expect_ok(rnl_enqueue_event_record(second, back));
    expect_ok(rnl_enqueue_wait_event(first, back));
    rnl_graph graph = end_capture(first);
    expect_shape(graph, 2, 1);
    launch_once(graph);
    if (blocks)
        assert_int_equal(blocks, 8);
    expect_ok(launch_on(suite_stream(), function, &attribute, 1));
    expect_ok(rnl_event_synchronize(event, RNL_FOREVER));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_stream_release(first));
    expect_ok(rnl_stream_release(second));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_event_release(back));
    expect_ok(rnl_function_release(function));
}

static rnl_status add(rnl_graph graph, rnl_function function,
                      const rnl_launch_attribute *attributes, size_t count,
                      rnl_node *out_node)
{
    return rnl_graph_add_node(
        graph, NULL, 0,
        RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = function,
                        .launch = RNL_LAUNCH(.grid = {4}, .block = {1},
                                             .attributes = attributes,
                                             .attribute_count = count)),
        out_node);
}

RNL_TEST(nodes_have_attributes_but_record_no_events)
{
    rnl_graph graph = new_graph();
    rnl_function function = make();
    rnl_buffer buffer = suite_new_buffer(64);
    rnl_event event = suite_new_event();
    rnl_node node = NULL;
    for (int i = 0; i < LEGAL; i++)
        expect_ok(add(graph, function, &legal[i], 1, &node));
    rnl_launch_attribute on_stack = window(
        (rnl_access_policy){.buffer = buffer, .size = RNL_WHOLE});
    expect_ok(add(graph, function, &on_stack, 1, &node));
    memset(&on_stack, 0xff, sizeof on_stack);  // it was copied
    for (int i = 0; i < 2; i++) {
        const rnl_launch_attribute attribute = recorded(event_ids[i], event);
        expect_error(add(graph, function, &attribute, 1, &node),
                     RNL_ERROR_INVALID_ARGUMENT, "attributes");
    }
    expect_shape(graph, LEGAL + 1, 0);
    expect_ok(rnl_buffer_release(buffer));  // the node has it
    launch_once(graph);
    launch_once(graph);
    if (blocks)
        assert_int_equal(blocks, 2 * 4 * (LEGAL + 1));
    expect_ok(rnl_graph_release(graph));
    expect_ok(rnl_event_release(event));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(an_update_replaces_the_attributes_of_a_launch)
{
    rnl_graph graph = new_graph();
    rnl_function function = make();
    rnl_node node = NULL;
    expect_ok(add(graph, function, &legal[5], 1, &node));
    rnl_graph_exec exec = instantiate(graph);
    launch_and_wait(exec);
    for (int i = 0; i < LEGAL; i++) {
        expect_ok(rnl_graph_exec_set_node(
            exec, node,
            RNL_NODE(.kind = RNL_NODE_FUNCTION, .function = function,
                            .launch = RNL_LAUNCH(.grid = {4}, .block = {1},
                                                 .attributes = &legal[i],
                                                 .attribute_count = 1))));
        launch_and_wait(exec);
    }
    if (blocks)
        assert_int_equal(blocks, 4 * (LEGAL + 1));
    drop_both(graph, exec);
    expect_ok(rnl_function_release(function));
}
