// Attributes of launches: what the driver is given, and events that it records.
#include "loaded.h"

#include "backends/cudalike/driver/driver.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static rnl_context context;
static rnl_stream stream;
static rnl_buffer buffer;
static rnl_module module;
static rnl_function function, holding;
static struct fake_gate gate;

static rnl_status nothing(const rnl_native_call *call)
{
    (void)call;
    return RNL_OK;
}

// A kernel that runs until it is let go.
static rnl_status hold(const rnl_native_call *call)
{
    (void)call;
    atomic_store(&gate.entered, 1);
    while (!atomic_load(&gate.open))
        sched_yield();
    return RNL_OK;
}

static const struct fake_kernel kernels[] = {{"nothing", nothing, 0, NULL},
                                             {"hold", hold, 0, NULL}};

static void begin(rnl_stream_flags flags)
{
    size_t size;
    gate = (struct fake_gate){0};
    fake_open(&context, &stream, flags, &buffer, 4096);
    void *image = fake_image(kernels, 2, &size);
    assert_non_null(image);
    assert_ok(rnl_module_load(context, image, size, "kernels", &module));
    assert_ok(rnl_module_function(module, "nothing", &function));
    assert_ok(rnl_module_function(module, "hold", &holding));
    free(image);
}

static void end(void)
{
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_function_release(function));
    assert_ok(rnl_function_release(holding));
    assert_ok(rnl_module_release(module));
    fake_close(context, stream, buffer);
}

static rnl_status launch(rnl_function kernel,
                         const rnl_launch_attribute *attributes, size_t count)
{
    return rnl_enqueue_function(
        stream, kernel,
        RNL_LAUNCH(.grid = {8}, .block = {1}, .attributes = attributes,
                   .attribute_count = count), RNL_NO_ARGS);
}

// Launches with one and gives what the driver was given.
static struct driver_launch_attribute give(rnl_launch_attribute attribute)
{
    struct driver_launch_attribute got[4];
    size_t before = fake_calls("cuLaunchKernelEx");
    assert_ok(launch(function, &attribute, 1));
    assert_int_equal(fake_calls("cuLaunchKernelEx"), before + 1);
    assert_int_equal(fake_attributes(got, 4), 1);
    return got[0];
}

static void expect_number(rnl_launch_attribute attribute, int id, int number)
{
    struct driver_launch_attribute got = give(attribute);
    assert_int_equal(got.id, id);
    assert_int_equal(got.number, number);
}

RNL_TEST(the_driver_is_given_each_attribute)
{
    begin(0);
    expect_number((rnl_launch_attribute){RNL_LAUNCH_COOPERATIVE, {true}},
                  DRIVER_LAUNCH_COOPERATIVE, 1);
    expect_number((rnl_launch_attribute){RNL_LAUNCH_CLUSTER_SCHEDULING,
                                         {.cluster_scheduling =
                                              RNL_CLUSTER_BALANCE}},
                  DRIVER_LAUNCH_CLUSTER_SCHEDULING, 2);
    expect_number((rnl_launch_attribute){RNL_LAUNCH_PROGRAMMATIC_SERIALIZATION,
                                         {.programmatic_serialization = true}},
                  DRIVER_LAUNCH_PROGRAMMATIC_SERIALIZATION, 1);
    expect_number((rnl_launch_attribute){RNL_LAUNCH_PRIORITY,
                                         {.priority = -1}},
                  DRIVER_LAUNCH_PRIORITY, -1);
    expect_number((rnl_launch_attribute){RNL_LAUNCH_DOMAIN,
                                         {.domain = RNL_DOMAIN_REMOTE}},
                  DRIVER_LAUNCH_DOMAIN, 1);
    expect_number((rnl_launch_attribute){RNL_LAUNCH_CARVEOUT,
                                         {.carveout = 35}},
                  DRIVER_LAUNCH_CARVEOUT, 35);
    struct driver_launch_attribute got =
        give((rnl_launch_attribute){RNL_LAUNCH_CLUSTER, {.cluster = {2, 1}}});
    assert_int_equal(got.id, DRIVER_LAUNCH_CLUSTER);
    assert_int_equal(got.cluster.x, 2);
    assert_int_equal(got.cluster.z, 1);
    got = give((rnl_launch_attribute){RNL_LAUNCH_DOMAIN_MAP,
                                      {.domain_map = {1, 3}}});
    assert_int_equal(got.id, DRIVER_LAUNCH_DOMAIN_MAP);
    assert_int_equal(got.domain_map.default_domain, 1);
    assert_int_equal(got.domain_map.remote_domain, 3);
    end();
}

RNL_TEST(a_priority_is_clamped_to_the_device_s)
{
    int least, greatest;
    begin(0);
    assert_ok(rnl_context_priority_range(context, &least, &greatest));
    expect_number((rnl_launch_attribute){RNL_LAUNCH_PRIORITY,
                                         {.priority = -1000}},
                  DRIVER_LAUNCH_PRIORITY, greatest);
    expect_number((rnl_launch_attribute){RNL_LAUNCH_PRIORITY,
                                         {.priority = 1000}},
                  DRIVER_LAUNCH_PRIORITY, least);
    end();
}

RNL_TEST(the_driver_is_given_a_window_s_address)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    begin(0);
    assert_ok(rnl_buffer_get_info(buffer, &info));
    struct driver_launch_attribute got = give((rnl_launch_attribute){
        RNL_LAUNCH_ACCESS_POLICY,
        {.access_policy = {.buffer = buffer, .offset = 96, .size = RNL_WHOLE,
                           .hit_ratio = 0.25f, .hit = RNL_ACCESS_PERSISTING,
                           .miss = RNL_ACCESS_STREAMING}}});
    assert_int_equal(got.id, DRIVER_LAUNCH_ACCESS_POLICY);
    assert_ptr_equal(got.window.base, (char *)info.device_address + 96);
    assert_int_equal(got.window.size, 4000);
    assert_true(got.window.hit_ratio == 0.25f);
    assert_int_equal(got.window.hit, 2);
    assert_int_equal(got.window.miss, 1);
    end();
}

// The fake takes 128 MiB, as devices say.
RNL_TEST(a_window_is_at_most_as_large_as_the_device_allows)
{
    rnl_buffer large;
    begin(0);
    assert_ok(rnl_buffer_create(context, (size_t)256 << 20, NULL, &large));
    rnl_launch_attribute window = {
        RNL_LAUNCH_ACCESS_POLICY,
        {.access_policy = {.buffer = large, .size = (size_t)128 << 20}}};
    give(window);
    window.value.access_policy.size++;
    assert_status(launch(function, &window, 1), RNL_ERROR_OUT_OF_RANGE);
    assert_non_null(strstr(rnl_last_error()->message, "134217728"));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_buffer_release(large));
    end();
}

RNL_TEST(what_has_no_effect_is_not_given)
{
    const rnl_launch_attribute attributes[] = {
        {RNL_LAUNCH_SYNC_POLICY, {.sync_policy = RNL_SYNC_SPIN}},
        {RNL_LAUNCH_IGNORE, {0}},
        {RNL_LAUNCH_PREFERRED_CLUSTER, {.cluster = {4}}},
        {RNL_LAUNCH_CLUSTER, {.cluster = {2}}},
        {RNL_LAUNCH_UPDATABLE_NODE, {.updatable_node = false}},
    };
    struct driver_launch_attribute got[4];
    begin(0);
    assert_ok(launch(function, attributes, 5));
    assert_int_equal(fake_attributes(got, 4), 1);
    assert_int_equal(got[0].id, DRIVER_LAUNCH_CLUSTER);
    end();
}

// --- Events ----------------------------------------------------------------

static rnl_launch_attribute completion(rnl_event event)
{
    return (rnl_launch_attribute){RNL_LAUNCH_COMPLETION_EVENT,
                                  {.event = {event, false}}};
}

static rnl_event new_event(void)
{
    rnl_event event;
    assert_ok(rnl_event_create(context, NULL, &event));
    return event;
}

RNL_TEST(the_driver_records_an_event_of_a_launch)
{
    struct driver_launch_attribute got[4];
    begin(0);
    rnl_event event = new_event();
    rnl_launch_attribute attributes[] = {
        completion(event),
        {RNL_LAUNCH_PROGRAMMATIC_EVENT, {.event = {new_event(), true}}}};
    assert_ok(launch(function, NULL, 0));  // the stream's first is no such
    size_t before = fake_calls("cuEventRecord");
    assert_ok(launch(holding, attributes, 2));
    assert_int_equal(fake_calls("cuEventRecord"), before);
    assert_int_equal(fake_attributes(got, 4), 2);
    assert_int_equal(got[0].id, DRIVER_LAUNCH_COMPLETION_EVENT);
    assert_non_null(got[0].record.event);
    assert_int_equal(got[0].record.flags, 0);
    assert_int_equal(got[1].id, DRIVER_LAUNCH_PROGRAMMATIC_EVENT);
    assert_non_null(got[1].record.event);
    assert_ptr_not_equal(got[1].record.event, got[0].record.event);
    assert_int_equal(got[1].record.at_block_start, 1);
    // All blocks have begun, and none has ended.
    assert_ok(rnl_event_synchronize(event, RNL_FOREVER));
    assert_ok(rnl_event_query(event));
    fake_await_entered(&gate);
    assert_status(rnl_stream_query(stream), RNL_NOT_READY);
    atomic_store(&gate.open, 1);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    assert_ok(rnl_event_release(attributes[1].value.event.event));
    assert_ok(rnl_event_release(event));
    end();
}

RNL_TEST(behind_work_that_is_held_an_event_is_recorded_behind_the_launch)
{
    struct fake_gate shut = {0};
    begin(0);
    rnl_event event = new_event();
    const rnl_launch_attribute attribute = completion(event);
    assert_ok(rnl_enqueue_host_function(stream, fake_hold, &shut));
    fake_await_entered(&shut);
    assert_ok(launch(function, &attribute, 1));
    assert_status(rnl_event_query(event), RNL_NOT_READY);
    atomic_store(&shut.open, 1);
    assert_ok(rnl_event_synchronize(event, RNL_FOREVER));
    assert_ok(rnl_event_release(event));
    end();
}

RNL_TEST(a_batched_stream_records_an_event_behind_the_launch)
{
    begin(RNL_STREAM_BATCHED);
    rnl_event event = new_event();
    const rnl_launch_attribute attribute = completion(event);
    size_t before = fake_calls("cuEventRecord");
    assert_ok(launch(function, &attribute, 1));
    assert_ok(rnl_event_synchronize(event, RNL_FOREVER));
    assert_true(fake_calls("cuEventRecord") > before);
    assert_ok(rnl_event_release(event));
    end();
}

RNL_TEST(a_launch_that_the_driver_refuses_records_nothing)
{
    begin(0);
    rnl_event event = new_event();
    const rnl_launch_attribute attribute = completion(event);
    struct fake_live before, after;
    assert_ok(launch(function, NULL, 0));
    fake_fail("cuLaunchKernelEx", 1, 1, 0);
    assert_status(launch(function, &attribute, 1), RNL_ERROR_INVALID_ARGUMENT);
    fake_fail("cuLaunchKernelEx", 0, 0, 0);
    assert_ok(rnl_event_query(event));
    fake_live(&before);
    for (int i = 0; i < 3; i++) {
        assert_ok(launch(function, &attribute, 1));
        assert_ok(rnl_event_synchronize(event, RNL_FOREVER));
    }
    fake_live(&after);
    assert_true(after.events <= before.events + 1);
    assert_ok(rnl_event_release(event));
    end();
}

// --- Older drivers -----------------------------------------------------------

RNL_TEST(a_driver_without_an_attribute_is_not_given_it)
{
    static const char *const environment[] = {"RUNNEL_FAKE_VERSION=12040",
                                              NULL};
    if (!fake_is_child()) {
        assert_int_equal(
            fake_spawn("a_driver_without_an_attribute_is_not_given_it",
                       environment), 0);
        return;
    }
    bool has = true;
    const char *reason = NULL;
    begin(0);
    assert_ok(rnl_launch_attribute_has_effect(
        context, RNL_LAUNCH_CARVEOUT, &has, &reason));
    assert_false(has);
    assert_non_null(strstr(reason, "12.5"));
    rnl_event event = new_event();
    const rnl_launch_attribute attributes[] = {
        completion(event), {RNL_LAUNCH_CARVEOUT, {.carveout = 5}},
        {RNL_LAUNCH_PRIORITY, {.priority = -1}}};
    struct driver_launch_attribute got[4];
    assert_ok(launch(function, NULL, 0));
    assert_ok(launch(function, attributes, 3));
    assert_int_equal(fake_attributes(got, 4), 2);
    assert_int_equal(got[0].id, DRIVER_LAUNCH_COMPLETION_EVENT);
    assert_int_equal(got[1].id, DRIVER_LAUNCH_PRIORITY);
    assert_ok(rnl_event_synchronize(event, RNL_FOREVER));
    assert_ok(rnl_event_release(event));
    end();
}
