// Contexts: opening, facts, features, synchronizing, peers.
#include "suite.h"

RNL_TEST(a_context_opens_by_device_and_by_name)
{
    rnl_context by_device = NULL, by_name = NULL;
    expect_ok(rnl_context_create(suite_device(), NULL, &by_device));
    expect_ok(rnl_context_open(suite_api(), suite_index(), NULL, &by_name));
    assert_non_null(by_device);
    assert_non_null(by_name);
    assert_ptr_not_equal(by_device, by_name);
    expect_ok(rnl_context_release(by_device));
    expect_ok(rnl_context_release(by_name));
}

RNL_TEST(the_best_device_opens_without_a_name)
{
    rnl_context context = NULL;
    rnl_device device = NULL, best = NULL;
    expect_ok(rnl_context_open(NULL, 0, NULL, &context));
    expect_ok(rnl_context_device(context, &device));
    expect_ok(rnl_device_default(&best));
    assert_ptr_equal(device, best);
    expect_ok(rnl_context_release(context));
}

RNL_TEST(context_ids_are_unique)
{
    uint64_t ids[8];
    for (size_t i = 0; i < 8; i++) {
        rnl_context context = suite_open(NULL);
        expect_ok(rnl_context_id(context, &ids[i]));
        expect_ok(rnl_context_release(context));
        for (size_t j = 0; j < i; j++)
            assert_true(ids[i] != ids[j]);
    }
}

RNL_TEST(context_options_are_accepted)
{
    rnl_context context = suite_open(RNL_CONTEXT_OPTIONS(
            .buffer_cache_size = 1 << 20, .threads = 1, .label = "labelled"));
    expect_ok(rnl_context_synchronize(context, RNL_FOREVER));
    expect_ok(rnl_context_release(context));
}

RNL_TEST(a_retained_context_lives_until_the_last_release)
{
    rnl_context context = suite_open(NULL);
    uint64_t id = 0;
    expect_ok(rnl_context_retain(context));
    expect_ok(rnl_context_release(context));
    expect_ok(rnl_context_id(context, &id));
    expect_ok(rnl_context_release(context));
    expect_error(rnl_context_id(context, &id), RNL_ERROR_INVALID_HANDLE,
                 "context");
}

RNL_TEST(context_memory_is_within_the_device)
{
    size_t free_bytes = 0, total = 0;
    expect_ok(rnl_context_memory(suite_context(), &free_bytes, &total));
    assert_true(total > 0);
    assert_true(free_bytes <= total);
    expect_ok(rnl_context_memory(suite_context(), NULL, &total));
    expect_ok(rnl_context_memory(suite_context(), &free_bytes, NULL));
    expect_ok(rnl_context_memory(suite_context(), NULL, NULL));
}

RNL_TEST(the_context_is_compatible_with_a_reason)
{
    const char *reason = NULL;
    expect_ok(rnl_context_is_compatible(suite_context(), &reason));
    assert_non_null(reason);
    expect_ok(rnl_context_is_compatible(suite_context(), NULL));
}

RNL_TEST(every_feature_has_an_answer_and_a_reason)
{
    for (int f = RNL_FEATURE_COMPILE; f <= RNL_FEATURE_INTERPROCESS_MEMORY;
         f++) {
        const char *reason = NULL;
        rnl_status status = rnl_context_supports(suite_context(),
                                                 (rnl_feature)f, &reason);
        assert_true(status == RNL_OK || status == RNL_ERROR_UNSUPPORTED);
        assert_non_null(reason);
        if (status != RNL_OK)
            assert_true(strlen(reason) >= 8);
        assert_int_equal(rnl_context_supports(suite_context(), (rnl_feature)f,
                                              NULL), status);
    }
}

RNL_TEST(the_cpu_has_the_features_it_promises)
{
    if (!suite_is_cpu())
        test_skip("only for cpu");
    const rnl_feature features[] = {
        RNL_FEATURE_NATIVE_FUNCTIONS, RNL_FEATURE_ZERO_COPY_MAP,
        RNL_FEATURE_PRIORITIES, RNL_FEATURE_EVENT_TIMING,
        RNL_FEATURE_MANAGED_MEMORY};
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
        expect_ok(rnl_context_supports(suite_context(), features[i], NULL));
}

RNL_TEST(the_default_stream_is_always_the_same)
{
    rnl_stream first = NULL, second = NULL;
    expect_ok(rnl_context_default_stream(suite_context(), &first));
    expect_ok(rnl_context_default_stream(suite_context(), &second));
    assert_non_null(first);
    assert_ptr_equal(first, second);
}

RNL_TEST(synchronizing_an_idle_context_returns_at_once)
{
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    expect_ok(rnl_context_synchronize(suite_context(), 0));
    expect_ok(rnl_context_synchronize(suite_context(), 1));
}

RNL_TEST(synchronizing_a_context_waits_for_every_stream)
{
    rnl_stream other = suite_new_stream();
    rnl_buffer buffer = suite_ints(4, 1);
    struct gate *gate = gate_shut(other);
    expect_ok(rnl_enqueue_fill(other, buffer, 0, 16, 2, 4));
    expect_error(rnl_context_synchronize(suite_context(), 1000000),
                 RNL_ERROR_TIMED_OUT, NULL);
    expect_error(rnl_context_synchronize(suite_context(), 0),
                 RNL_ERROR_TIMED_OUT, NULL);
    gate_open(gate);
    expect_ok(rnl_context_synchronize(suite_context(), RNL_FOREVER));
    expect_ok(rnl_stream_query(other));
    suite_expect_ints(buffer, 4, 2);
    gate_free(gate);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_stream_release(other));
}

RNL_TEST(a_context_can_access_itself)
{
    bool can = false;
    expect_ok(rnl_context_can_access_peer(suite_context(), suite_context(),
                                          &can));
    assert_true(can);
    expect_ok(rnl_context_enable_peer(suite_context(), suite_context()));
    expect_ok(rnl_context_enable_peer(suite_context(), suite_context()));
    expect_error(rnl_context_disable_peer(suite_context(), suite_context()),
                 RNL_ERROR_INVALID_STATE, "peer");
}

RNL_TEST(contexts_of_one_device_can_be_peers)
{
    rnl_context other = suite_open(NULL);
    bool can = false;
    expect_ok(rnl_context_can_access_peer(suite_context(), other, &can));
    if (can) {
        expect_ok(rnl_context_enable_peer(suite_context(), other));
        expect_ok(rnl_context_enable_peer(suite_context(), other));
    } else {
        expect_error(rnl_context_enable_peer(suite_context(), other),
                     RNL_ERROR_UNSUPPORTED, NULL);
    }
    expect_ok(rnl_context_release(other));
}

RNL_TEST(releasing_a_context_does_not_wait_for_its_work)
{
    rnl_context context = suite_open(NULL);
    rnl_stream stream = NULL;
    struct host_calls calls = {0, 0};
    expect_ok(rnl_context_default_stream(context, &stream));
    struct gate *gate = gate_shut(stream);
    expect_ok(rnl_enqueue_host_function(stream, count_host_call, &calls));
    expect_ok(rnl_context_release(context));
    assert_int_equal(calls.count, 0);
    gate_open(gate);
    suite_expect_empty();
    assert_int_equal(calls.count, 1);
    assert_int_equal(calls.status, RNL_OK);
    gate_free(gate);
}

// --- Refused ---------------------------------------------------------------

RNL_TEST(contexts_of_devices_that_are_not_there)
{
    rnl_context context = (rnl_context)&context;
    size_t count = 0;
    expect_ok(rnl_device_count(suite_api(), &count));
    expect_error(rnl_context_open("vulcan", 0, NULL, &context),
                 RNL_ERROR_NOT_FOUND, "api");
    expect_error(rnl_context_open(suite_api(), count, NULL, &context),
                 RNL_ERROR_NO_DEVICE, NULL);
    expect_error(rnl_context_open(suite_api(), SIZE_MAX, NULL, &context),
                 RNL_ERROR_NO_DEVICE, NULL);
    assert_ptr_equal(context, (rnl_context)&context);
}

RNL_TEST(context_results_may_not_be_null)
{
    rnl_context context = suite_context();
    expect_error(rnl_context_open(suite_api(), suite_index(), NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_context");
    expect_error(rnl_context_create(suite_device(), NULL, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_context");
    expect_error(rnl_context_device(context, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_device");
    expect_error(rnl_context_id(context, NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "out_id");
    expect_error(rnl_context_default_stream(context, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_stream");
    expect_error(rnl_context_can_access_peer(context, context, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_can");
}

RNL_TEST(context_options_of_no_size_are_refused)
{
    rnl_context context = NULL;
    rnl_context_options options = {.struct_size = 0};
    expect_error(rnl_context_create(suite_device(), &options, &context),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    expect_error(rnl_context_open(suite_api(), suite_index(), &options,
                                  &context),
                 RNL_ERROR_INVALID_ARGUMENT, "options");
    assert_null(context);
}

RNL_TEST(an_unknown_feature_is_refused)
{
    const int features[] = {0, -1, 31, 32, 64, 1000, INT32_MAX};
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        rnl_status status = rnl_context_supports(
            suite_context(), (rnl_feature)features[i], NULL);
        assert_true(status == RNL_ERROR_UNSUPPORTED ||
                    status == RNL_ERROR_INVALID_ARGUMENT);
    }
}

RNL_TEST(the_default_stream_cannot_be_released)
{
    rnl_stream stream = suite_stream();
    expect_error(rnl_stream_release(stream), RNL_ERROR_INVALID_STATE,
                 "stream");
    expect_error(rnl_stream_release(stream), RNL_ERROR_INVALID_STATE,
                 "stream");
    expect_ok(rnl_stream_query(stream));
}

RNL_TEST(a_context_of_absurdly_many_threads_is_refused_or_small)
{
    rnl_context context = NULL;
    rnl_status status = rnl_context_create(
        suite_device(), RNL_CONTEXT_OPTIONS(.threads = UINT32_MAX), &context);
    if (status == RNL_OK)
        expect_ok(rnl_context_release(context));
    else
        assert_true(status == RNL_ERROR_INVALID_ARGUMENT ||
                    status == RNL_ERROR_OUT_OF_MEMORY);
}
