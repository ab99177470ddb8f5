// Devices: counting, naming, and facts that must be true.
#include "suite.h"

RNL_TEST(the_device_under_test_is_counted)
{
    size_t count = 0, all = 0;
    expect_ok(rnl_device_count(suite_api(), &count));
    expect_ok(rnl_device_count(NULL, &all));
    assert_true(count > suite_index());
    assert_true(all >= count);
}

RNL_TEST(the_apis_add_up_to_all_devices)
{
    const char *name = NULL;
    size_t sum = 0, all = 0;
    for (size_t i = 0; rnl_api_name(i, &name) == RNL_OK; i++) {
        size_t count = 0;
        const char *reason = NULL;
        expect_ok(rnl_device_count(name, &count));
        expect_ok(rnl_api_reason(name, &reason));
        assert_non_null(reason);
        assert_int_equal(count == 0, reason[0] != '\0');
        sum += count;
    }
    expect_ok(rnl_device_count(NULL, &all));
    assert_int_equal(sum, all);
}

RNL_TEST(gpu_counts_all_but_cpu)
{
    size_t all = 0, cpu = 0, gpu = 0;
    bool present = true;
    expect_ok(rnl_device_count(NULL, &all));
    expect_ok(rnl_device_count("cpu", &cpu));
    expect_ok(rnl_device_count("gpu", &gpu));
    expect_ok(rnl_has_accelerator(&present));
    assert_int_equal(all, cpu + gpu);
    assert_int_equal(present, gpu > 0);
}

RNL_TEST(the_same_device_has_the_same_handle)
{
    rnl_device first = suite_device(), second = suite_device();
    assert_ptr_equal(first, second);
    rnl_device from_context = NULL;
    expect_ok(rnl_context_device(suite_context(), &from_context));
    assert_ptr_equal(first, from_context);
}

RNL_TEST(the_default_device_is_the_first_of_all)
{
    rnl_device best = NULL, first = NULL;
    expect_ok(rnl_device_default(&best));
    expect_ok(rnl_device_get(NULL, 0, &first));
    assert_ptr_equal(best, first);
}

RNL_TEST(device_facts_are_plausible)
{
    rnl_device_info info = {.struct_size = sizeof info};
    expect_ok(rnl_device_get_info(suite_device(), &info));
    assert_string_equal(info.api, suite_api());
    assert_int_equal(info.index, suite_index());
    assert_true(info.name[0] != '\0');
    assert_true(info.memory_size > 0);
    assert_true(info.multiprocessors > 0);
    assert_true(info.warp_size >= 1);
    assert_true(info.max_block_threads >= 256);
    assert_true(info.max_block.x >= 256);
    assert_true(info.max_block.y >= 1 && info.max_block.z >= 1);
    assert_true(info.max_grid.x >= 65535);
    assert_true(info.max_cluster_blocks >= 1);
    assert_true(info.shared_per_block >= 48 * 1024);
    assert_true(info.shared_per_block_max >= info.shared_per_block);
    assert_true(info.constant_size >= 64 * 1024);
    assert_true(info.priority_greatest <= info.priority_least);
}

RNL_TEST(attributes_agree_with_the_info)
{
    rnl_device_info info = {.struct_size = sizeof info};
    rnl_device device = suite_device();
    expect_ok(rnl_device_get_info(device, &info));
    const struct {
        rnl_attribute id;
        int64_t value;
    } rows[] = {
        {RNL_ATTRIBUTE_MAX_BLOCK_THREADS, info.max_block_threads},
        {RNL_ATTRIBUTE_MAX_BLOCK_X, info.max_block.x},
        {RNL_ATTRIBUTE_MAX_BLOCK_Y, info.max_block.y},
        {RNL_ATTRIBUTE_MAX_BLOCK_Z, info.max_block.z},
        {RNL_ATTRIBUTE_MAX_GRID_X, info.max_grid.x},
        {RNL_ATTRIBUTE_MAX_GRID_Y, info.max_grid.y},
        {RNL_ATTRIBUTE_MAX_GRID_Z, info.max_grid.z},
        {RNL_ATTRIBUTE_SHARED_PER_BLOCK, (int64_t)info.shared_per_block},
        {RNL_ATTRIBUTE_CONSTANT_SIZE, (int64_t)info.constant_size},
        {RNL_ATTRIBUTE_WARP_SIZE, info.warp_size},
        {RNL_ATTRIBUTE_MULTIPROCESSORS, info.multiprocessors},
        {RNL_ATTRIBUTE_SHARED_OPTIN, (int64_t)info.shared_per_block_max},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int64_t value = -1;
        expect_ok(rnl_device_attribute(device, rows[i].id, &value));
        assert_int_equal(value, rows[i].value);
    }
}

static int64_t attribute(int id)
{
    int64_t value = -77;
    expect_ok(rnl_device_attribute(suite_device(), (rnl_attribute)id, &value));
    return value;
}

// As launches are planned: 12, 39, 81, 106, and 109 for windows of caches.
RNL_TEST(what_a_multiprocessor_holds_can_be_asked)
{
    int64_t threads = attribute(RNL_ATTRIBUTE_THREADS_PER_MULTIPROCESSOR);
    assert_true(attribute(RNL_ATTRIBUTE_REGISTERS_PER_BLOCK) >= 1 << 15);
    assert_true(threads >= attribute(RNL_ATTRIBUTE_MAX_BLOCK_THREADS));
    assert_true(attribute(RNL_ATTRIBUTE_SHARED_PER_MULTIPROCESSOR) >=
                attribute(RNL_ATTRIBUTE_SHARED_PER_BLOCK));
    assert_true(attribute(RNL_ATTRIBUTE_BLOCKS_PER_MULTIPROCESSOR) >= 1);
    assert_true(attribute(RNL_ATTRIBUTE_ACCESS_WINDOW_MAX) >= 0);
    assert_int_equal(attribute(RNL_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
    rnl_device_info info = {.struct_size = sizeof info};
    expect_ok(rnl_device_get_info(suite_device(), &info));
    assert_int_equal(attribute(RNL_ATTRIBUTE_CLUSTERS),
                     info.max_cluster_blocks > 1);
}

// Those of CUdevice_attribute up to CUDA 13.0, but for buses and the like.
RNL_TEST(a_cpu_answers_the_numbers_of_the_drivers_list)
{
    int answered = 0;
    if (!suite_is_cpu())
        test_skip("only for cpu");
    for (int id = 1; id <= 147; id++) {
        int64_t value = -77;
        rnl_status status = rnl_device_attribute(
            suite_device(), (rnl_attribute)id, &value);
        answered += status == RNL_OK;
        if (status == RNL_OK)
            assert_true(value >= -1);
        else
            expect_error(rnl_device_attribute(suite_device(),
                                              (rnl_attribute)id, &value),
                         RNL_ERROR_UNSUPPORTED, "id");
    }
    assert_int_equal(answered, 147 - 8);
    assert_int_equal(attribute(122), 1);  // values of 64 bits on streams
    assert_int_equal(attribute(132), 0);  // multicast
    int64_t value;
    expect_error(rnl_device_attribute(suite_device(), (rnl_attribute)33,
                                      &value), RNL_ERROR_UNSUPPORTED, "id");
}

RNL_TEST(a_shorter_info_is_filled_as_far_as_it_goes)
{
    rnl_device_info info;
    memset(&info, 0x5a, sizeof info);
    info.struct_size = offsetof(rnl_device_info, api);
    expect_ok(rnl_device_get_info(suite_device(), &info));
    assert_true(info.name[0] != 0x5a);
    assert_int_equal(info.api[0], 0x5a);
    assert_int_equal(info.priority_least, 0x5a5a5a5a);
}

RNL_TEST(an_unknown_api_is_not_found)
{
    size_t count = 77;
    rnl_device device = (rnl_device)&count;
    const char *reason = "kept";
    expect_error(rnl_device_count("vulcan", &count), RNL_ERROR_NOT_FOUND,
                 "api");
    expect_error(rnl_device_count("", &count), RNL_ERROR_NOT_FOUND, "api");
    expect_error(rnl_device_count("CPU", &count), RNL_ERROR_NOT_FOUND, "api");
    expect_error(rnl_device_count("cpu:0", &count), RNL_ERROR_NOT_FOUND,
                 "api");
    expect_error(rnl_device_get("vulcan", 0, &device), RNL_ERROR_NOT_FOUND,
                 "api");
    expect_error(rnl_api_reason("vulcan", &reason), RNL_ERROR_NOT_FOUND,
                 "api");
    assert_int_equal(count, 77);
    assert_ptr_equal(device, (rnl_device)&count);
    assert_string_equal(reason, "kept");
}

RNL_TEST(an_index_past_the_last_device_is_no_device)
{
    size_t count = 0;
    expect_ok(rnl_device_count(suite_api(), &count));
    rnl_device device = (rnl_device)&count;
    expect_error(rnl_device_get(suite_api(), count, &device),
                 RNL_ERROR_NO_DEVICE, NULL);
    expect_error(rnl_device_get(suite_api(), SIZE_MAX, &device),
                 RNL_ERROR_NO_DEVICE, NULL);
    expect_error(rnl_device_get(NULL, SIZE_MAX, &device), RNL_ERROR_NO_DEVICE,
                 NULL);
    assert_ptr_equal(device, (rnl_device)&count);
}

RNL_TEST(an_api_name_past_the_end_is_not_found)
{
    const char *name = "kept";
    expect_error(rnl_api_name(1000, &name), RNL_ERROR_NOT_FOUND, "index");
    expect_error(rnl_api_name(SIZE_MAX, &name), RNL_ERROR_NOT_FOUND, "index");
    assert_string_equal(name, "kept");
}

RNL_TEST(device_results_may_not_be_null)
{
    rnl_device device = suite_device();
    expect_error(rnl_device_count(suite_api(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_count");
    expect_error(rnl_api_reason(suite_api(), NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_reason");
    expect_error(rnl_api_name(0, NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "out_name");
    expect_error(rnl_has_accelerator(NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "out_present");
    expect_error(rnl_device_get(suite_api(), 0, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_device");
    expect_error(rnl_device_default(NULL), RNL_ERROR_INVALID_ARGUMENT,
                 "out_device");
    expect_error(rnl_device_get_info(device, NULL),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
    expect_error(
        rnl_device_attribute(device, RNL_ATTRIBUTE_WARP_SIZE, NULL),
        RNL_ERROR_INVALID_ARGUMENT, "out_value");
}

RNL_TEST(an_unknown_attribute_is_unsupported)
{
    const int ids[] = {0, -1, 12345, INT32_MAX};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        int64_t value = 77;
        expect_error(rnl_device_attribute(suite_device(),
                                          (rnl_attribute)ids[i], &value),
                     RNL_ERROR_UNSUPPORTED, NULL);
        assert_int_equal(value, 77);
    }
}

RNL_TEST(an_info_without_a_size_is_refused)
{
    rnl_device_info info = {.struct_size = 0, .name = "kept"};
    expect_error(rnl_device_get_info(suite_device(), &info),
                 RNL_ERROR_INVALID_ARGUMENT, "out_info");
    assert_string_equal(info.name, "kept");
}

// --- The environment's choice, each in a process of its own ----------------

SUITE_CHILD(child_sees_three_cpu_devices)
{
    size_t count = 0;
    assert_ok(rnl_device_count("cpu", &count));
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        rnl_device device = NULL;
        rnl_device_info info = {.struct_size = sizeof info};
        assert_ok(rnl_device_get("cpu", i, &device));
        assert_ok(rnl_device_get_info(device, &info));
        assert_int_equal(info.index, i);
        rnl_context context = NULL;
        assert_ok(rnl_context_create(device, NULL, &context));
        assert_ok(rnl_context_release(context));
    }
}

RNL_TEST(the_environment_makes_virtual_cpu_devices)
{
    const char *const environment[] = {"RUNNEL_CPU_DEVICES=3", NULL};
    assert_int_equal(suite_spawn("child_sees_three_cpu_devices", environment),
                     0);
}

SUITE_CHILD(child_sees_only_the_second)
{
    size_t count = 0;
    rnl_device device = NULL;
    rnl_device_info info = {.struct_size = sizeof info};
    assert_ok(rnl_device_count(NULL, &count));
    assert_int_equal(count, 1);
    assert_ok(rnl_device_default(&device));
    assert_ok(rnl_device_get_info(device, &info));
    assert_string_equal(info.api, "cpu");
    assert_int_equal(info.index, 1);
}

RNL_TEST(the_environment_hides_devices)
{
    const char *const environment[] = {"RUNNEL_CPU_DEVICES=2",
                                       "RUNNEL_DEVICES=cpu:1", NULL};
    assert_int_equal(suite_spawn("child_sees_only_the_second", environment),
                     0);
}

SUITE_CHILD(child_sees_the_order_reversed)
{
    rnl_device_info info = {.struct_size = sizeof info};
    for (size_t i = 0; i < 2; i++) {
        rnl_device device = NULL;
        assert_ok(rnl_device_get(NULL, i, &device));
        assert_ok(rnl_device_get_info(device, &info));
        assert_int_equal(info.index, 1 - i);
    }
}

RNL_TEST(the_environment_orders_devices)
{
    const char *const environment[] = {"RUNNEL_CPU_DEVICES=2",
                                       "RUNNEL_DEVICES=cpu:1,cpu:0", NULL};
    assert_int_equal(suite_spawn("child_sees_the_order_reversed", environment),
                     0);
}

SUITE_CHILD(child_sees_no_device)
{
    size_t count = 77;
    const char *reason = NULL;
    rnl_device device = NULL;
    rnl_context context = NULL;
    assert_ok(rnl_device_count(NULL, &count));
    assert_int_equal(count, 0);
    assert_ok(rnl_api_reason("cpu", &reason));
    assert_true(reason[0] != '\0');
    expect_error(rnl_device_default(&device), RNL_ERROR_NO_DEVICE, NULL);
    expect_error(rnl_context_open(NULL, 0, NULL, &context),
                 RNL_ERROR_NO_DEVICE, NULL);
    expect_error(rnl_context_open("cpu", 0, NULL, &context),
                 RNL_ERROR_NO_DEVICE, NULL);
}

RNL_TEST(hiding_every_device_is_no_crash)
{
    const char *const environment[] = {"RUNNEL_DEVICES=cuda:99", NULL};
    assert_int_equal(suite_spawn("child_sees_no_device", environment), 0);
}

SUITE_CHILD(child_lives_with_nonsense)
{
    size_t count = 0;
    assert_ok(rnl_device_count("cpu", &count));
    assert_true(count <= 4096);
}

RNL_TEST(nonsense_in_the_environment_is_no_crash)
{
    const char *const cases[][2] = {
        {"RUNNEL_CPU_DEVICES=-5", NULL},
        {"RUNNEL_CPU_DEVICES=99999999999999999999", NULL},
        {"RUNNEL_CPU_DEVICES=two", NULL},
        {"RUNNEL_THREADS=-1", NULL},
        {"RUNNEL_DEVICES=,,:::,cpu:,cpu:x,:0", NULL},
        {"RUNNEL_SPIN_US=1e9", NULL},
        {"RUNNEL_LOG=shout", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(suite_spawn("child_lives_with_nonsense", cases[i]),
                         0);
}
