// Attributes of streams.
#include "suite.h"

#include <math.h>

static rnl_stream_attribute get(rnl_stream stream, rnl_stream_attribute_id id)
{
    rnl_stream_attribute attribute = {.struct_size = sizeof attribute};
    expect_ok(rnl_stream_get_attribute(stream, id, &attribute));
    assert_int_equal(attribute.struct_size, sizeof attribute);
    assert_int_equal(attribute.id, id);
    assert_non_null(attribute.reason);
    if (attribute.has_effect)
        assert_string_equal(attribute.reason, "");
    else
        assert_true(strlen(attribute.reason) >= 12);
    return attribute;
}

static void set_policy(rnl_stream stream, rnl_sync_policy policy)
{
    expect_ok(rnl_stream_set_attribute(
        stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_SYNC_POLICY,
                                     .value = {.sync_policy = policy})));
}

static char window[256];

// Something else than the default in all of them.
static void set_all(rnl_stream stream)
{
    rnl_access_policy access = {window, sizeof window, 0.5f,
                                RNL_ACCESS_PERSISTING, RNL_ACCESS_STREAMING};
    expect_ok(rnl_stream_set_attribute(
        stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_ACCESS_POLICY,
                                     .value = {.access_policy = access})));
    set_policy(stream, RNL_SYNC_YIELD);
    expect_ok(rnl_stream_set_attribute(
        stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_DOMAIN_MAP,
                                     .value = {.domain_map = {1, 2}})));
    expect_ok(rnl_stream_set_attribute(
        stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_DOMAIN,
                                     .value = {.domain = RNL_DOMAIN_REMOTE})));
}

static void expect_all(rnl_stream stream)
{
    rnl_access_policy access =
        get(stream, RNL_STREAM_ACCESS_POLICY).value.access_policy;
    assert_ptr_equal(access.base, window);
    assert_int_equal(access.size, sizeof window);
    assert_true(access.hit_ratio == 0.5f);
    assert_int_equal(access.hit, RNL_ACCESS_PERSISTING);
    assert_int_equal(access.miss, RNL_ACCESS_STREAMING);
    assert_int_equal(get(stream, RNL_STREAM_SYNC_POLICY).value.sync_policy,
                     RNL_SYNC_YIELD);
    rnl_domain_map map = get(stream, RNL_STREAM_DOMAIN_MAP).value.domain_map;
    assert_int_equal(map.default_domain, 1);
    assert_int_equal(map.remote_domain, 2);
    assert_int_equal(get(stream, RNL_STREAM_DOMAIN).value.domain,
                     RNL_DOMAIN_REMOTE);
}

RNL_TEST(attributes_have_defaults)
{
    rnl_stream stream = suite_new_stream();
    rnl_access_policy access =
        get(stream, RNL_STREAM_ACCESS_POLICY).value.access_policy;
    assert_int_equal(access.size, 0);
    assert_int_equal(access.hit, RNL_ACCESS_NORMAL);
    assert_int_equal(get(stream, RNL_STREAM_SYNC_POLICY).value.sync_policy,
                     RNL_SYNC_AUTO);
    assert_int_equal(get(stream, RNL_STREAM_PRIORITY).value.priority, 0);
    assert_int_equal(get(stream, RNL_STREAM_DOMAIN).value.domain,
                     RNL_DOMAIN_DEFAULT);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(attributes_are_given_back_as_set)
{
    rnl_stream stream = suite_new_stream();
    set_all(stream);
    expect_all(stream);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(attributes_are_copied_but_for_priority_and_flags)
{
    rnl_stream from = NULL, to = suite_new_stream();
    expect_ok(rnl_stream_create(
        suite_context(),
        RNL_STREAM_OPTIONS(.priority = -1, .flags = RNL_STREAM_NON_BLOCKING,
                           .label = "model"), &from));
    set_all(from);
    expect_ok(rnl_stream_copy_attributes(to, from));
    expect_all(to);
    rnl_stream_info info = {.struct_size = sizeof info};
    expect_ok(rnl_stream_get_info(to, &info));
    assert_int_equal(info.priority, 0);
    assert_int_equal(info.flags & RNL_STREAM_NON_BLOCKING, 0);
    assert_string_equal(info.label, "");
    expect_ok(rnl_stream_release(from));
    expect_all(to);
    expect_ok(rnl_stream_copy_attributes(to, to));
    expect_all(to);
    expect_ok(rnl_stream_release(to));
}

RNL_TEST(attributes_stay_in_their_context)
{
    rnl_context other = suite_open(NULL);
    rnl_stream from = NULL, to = suite_new_stream();
    expect_ok(rnl_stream_create(other, NULL, &from));
    set_policy(from, RNL_SYNC_SPIN);
    expect_error(rnl_stream_copy_attributes(to, from),
                 RNL_ERROR_INVALID_HANDLE, "from");
    assert_int_equal(get(to, RNL_STREAM_SYNC_POLICY).value.sync_policy,
                     RNL_SYNC_AUTO);
    expect_ok(rnl_stream_release(from));
    expect_ok(rnl_stream_release(to));
    expect_ok(rnl_context_release(other));
}

RNL_TEST(what_has_no_effect_on_a_cpu_says_so)
{
    if (!suite_is_cpu())
        test_skip("a gpu heeds more");
    rnl_stream stream = suite_stream();
    assert_false(get(stream, RNL_STREAM_ACCESS_POLICY).has_effect);
    assert_false(get(stream, RNL_STREAM_DOMAIN).has_effect);
    assert_false(get(stream, RNL_STREAM_DOMAIN_MAP).has_effect);
    assert_true(get(stream, RNL_STREAM_SYNC_POLICY).has_effect);
    assert_true(get(stream, RNL_STREAM_PRIORITY).has_effect);
}

RNL_TEST(every_synchronization_policy_waits)
{
    rnl_stream stream = suite_new_stream();
    rnl_buffer buffer = suite_ints(4, 0);
    for (rnl_sync_policy policy = RNL_SYNC_AUTO; policy <= RNL_SYNC_BLOCKING;
         policy++) {
        int read = 0;
        struct host_calls calls = {0, -1};
        set_policy(stream, policy);
        struct gate *gate = gate_shut(stream);
        expect_error(rnl_stream_synchronize(stream, 100000),
                     RNL_ERROR_TIMED_OUT, NULL);
        expect_ok(rnl_enqueue_fill(stream, buffer, 0, 16, policy, 4));
        expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
        gate_open(gate);
        expect_ok(rnl_copy_from_buffer_and_wait(stream, &read, buffer, 0, 4));
        assert_int_equal(read, policy);
        assert_int_equal(calls.count, 1);
        expect_ok(rnl_stream_synchronize(stream, 0));
        gate_free(gate);
    }
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(the_priority_is_read_and_not_set)
{
    int least = -77, greatest = 77;
    expect_ok(rnl_context_priority_range(suite_context(), &least, &greatest));
    assert_true(greatest <= least);
    expect_ok(rnl_context_priority_range(suite_context(), NULL, NULL));
    rnl_device_info info = {.struct_size = sizeof info};
    expect_ok(rnl_device_get_info(suite_device(), &info));
    assert_int_equal(least, info.priority_least);
    assert_int_equal(greatest, info.priority_greatest);
    for (int priority = greatest - 1; priority <= least + 1; priority++) {
        rnl_stream stream = NULL;
        expect_ok(rnl_stream_create(
            suite_context(), RNL_STREAM_OPTIONS(.priority = priority),
            &stream));
        int got = get(stream, RNL_STREAM_PRIORITY).value.priority;
        assert_true(got >= greatest && got <= least);
        if (priority >= greatest && priority <= least)
            assert_int_equal(got, priority);
        expect_error(rnl_stream_set_attribute(
                         stream,
                         RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_PRIORITY,
                                              .value = {.priority = 0})),
                     RNL_ERROR_INVALID_ARGUMENT, "attribute");
        expect_ok(rnl_stream_release(stream));
    }
}

// --- Refused ---------------------------------------------------------------

static void refuse(rnl_stream stream, const rnl_stream_attribute *attribute)
{
    expect_error(rnl_stream_set_attribute(stream, attribute),
                 RNL_ERROR_INVALID_ARGUMENT, "attribute");
}

RNL_TEST(unknown_attributes_are_refused)
{
    rnl_stream_attribute out = {.struct_size = sizeof out};
    const int ids[] = {0, 2, 4, 11, -1, 1 << 20};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        rnl_stream_attribute_id id = (rnl_stream_attribute_id)ids[i];
        refuse(suite_stream(), RNL_STREAM_ATTRIBUTE(.id = id));
        expect_error(rnl_stream_get_attribute(suite_stream(), id, &out),
                     RNL_ERROR_INVALID_ARGUMENT, "id");
    }
}

RNL_TEST(attribute_values_are_checked)
{
    rnl_stream stream = suite_new_stream();
    set_all(stream);
    const rnl_access_policy bad[] = {
        {window, 16, -0.1f, RNL_ACCESS_NORMAL, RNL_ACCESS_NORMAL},
        {window, 16, 1.1f, RNL_ACCESS_NORMAL, RNL_ACCESS_NORMAL},
        {window, 16, NAN, RNL_ACCESS_NORMAL, RNL_ACCESS_NORMAL},
        {NULL, 16, 1, RNL_ACCESS_NORMAL, RNL_ACCESS_NORMAL},
        {window, 16, 1, RNL_ACCESS_NORMAL, RNL_ACCESS_PERSISTING},
        {window, 16, 1, (rnl_access_property)3, RNL_ACCESS_NORMAL},
        {window, 16, 1, RNL_ACCESS_NORMAL, (rnl_access_property)77},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        refuse(stream,
               RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_ACCESS_POLICY,
                                    .value = {.access_policy = bad[i]}));
    for (int i = -1; i <= 5; i += 6)
        refuse(stream,
               RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_SYNC_POLICY,
                                    .value = {.sync_policy =
                                                  (rnl_sync_policy)i}));
    refuse(stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_SYNC_POLICY));
    refuse(stream, RNL_STREAM_ATTRIBUTE(.id = RNL_STREAM_DOMAIN,
                                        .value = {.domain =
                                                      (rnl_memory_domain)2}));
    expect_all(stream);
    expect_ok(rnl_stream_release(stream));
}

RNL_TEST(attribute_structs_are_checked)
{
    rnl_stream_attribute attribute = {.id = RNL_STREAM_DOMAIN};
    refuse(suite_stream(), NULL);
    refuse(suite_stream(), &attribute);
    expect_error(rnl_stream_get_attribute(suite_stream(), RNL_STREAM_DOMAIN,
                                          NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_attribute");
    expect_error(rnl_stream_get_attribute(suite_stream(), RNL_STREAM_DOMAIN,
                                          &attribute),
                 RNL_ERROR_INVALID_ARGUMENT, "out_attribute");
}
