// Launch arguments: number, kind and size are checked by position.
#include "suite.h"

#include <stdio.h>

struct pair {
    int a;
    double b;
};

// What the native kernel below found in its arguments.
static struct {
    int calls;
    bool flag;
    signed char tiny;
    short small;
    int normal;
    long long wide;
    float single;
    double real;
    void *pointer;
    struct pair pair;
} got;

static rnl_status take_all(const rnl_native_call *call)
{
    got.calls++;
    got.flag = *(const bool *)call->arguments[0];
    got.tiny = *(const signed char *)call->arguments[1];
    got.small = *(const short *)call->arguments[2];
    got.normal = *(const int *)call->arguments[3];
    got.wide = *(const long long *)call->arguments[4];
    got.single = *(const float *)call->arguments[5];
    got.real = *(const double *)call->arguments[6];
    got.pointer = *(void *const *)call->arguments[7];
    got.pair = *(const struct pair *)call->arguments[8];
    return RNL_OK;
}

static const rnl_parameter all_parameters[] = {
    {RNL_VALUE_INTEGER, 1, 1, "bool"},
    {RNL_VALUE_INTEGER, 1, 1, "signed char"},
    {RNL_VALUE_INTEGER, 2, 2, "short"},
    {RNL_VALUE_INTEGER, 4, 4, "int"},
    {RNL_VALUE_INTEGER, 8, 8, "long long"},
    {RNL_VALUE_FLOAT, 4, 4, "float"},
    {RNL_VALUE_FLOAT, 8, 8, "double"},
    {RNL_VALUE_POINTER, 8, 8, "void *"},
    {RNL_VALUE_STRUCT, sizeof(struct pair), 8, "pair"},
};

static rnl_function make(const rnl_parameter *parameters, size_t count)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(
        suite_context(), "take_all", take_all,
        RNL_NATIVE_OPTIONS(.parameters = parameters,
                           .parameter_count = count), &function));
    memset(&got, 0, sizeof got);
    return function;
}

static rnl_status launch(rnl_function function, const rnl_args *args)
{
    return rnl_enqueue_function(suite_stream(), function,
                                RNL_LAUNCH(.grid = {1}, .block = {1}), args);
}

// The same call for expect_error, which wants the public function's name.
#define LAUNCH_ERROR(function, args, status)                                  \
    expect_error(rnl_enqueue_function(suite_stream(), function,               \
                                      RNL_LAUNCH(.grid = {1}, .block = {1}),  \
                                      args),                                  \
                 status, "args")

RNL_TEST(every_c_type_arrives)
{
    rnl_function function = make(all_parameters, 9);
    rnl_buffer buffer = suite_new_buffer(16);
    rnl_buffer_info info = {.struct_size = sizeof info};
    struct pair pair = {5, 6.5};
    expect_ok(rnl_buffer_get_info(buffer, &info));
    expect_ok(launch(function,
                     RNL_ARGS((bool)true, (signed char)-3, (short)-300,
                              -70000, -5000000000ll, 1.25f, 2.5, buffer,
                              RNL_ARG_STRUCT(pair))));
    memset(&pair, 0, sizeof pair);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(got.calls, 1);
    assert_true(got.flag);
    assert_int_equal(got.tiny, -3);
    assert_int_equal(got.small, -300);
    assert_int_equal(got.normal, -70000);
    assert_true(got.wide == -5000000000ll);
    assert_true(got.single == 1.25f && got.real == 2.5);
    assert_ptr_equal(got.pointer, info.device_address);
    assert_int_equal(got.pair.a, 5);
    assert_true(got.pair.b == 6.5);
    expect_ok(rnl_buffer_release(buffer));
    expect_ok(rnl_function_release(function));
}

static rnl_status take_three(const rnl_native_call *call)
{
    got.calls++;
    got.normal = *(const int *)call->arguments[0];
    got.wide = *(const long long *)call->arguments[1];
    got.tiny = *(const signed char *)call->arguments[2];
    return RNL_OK;
}

RNL_TEST(signed_and_unsigned_are_one_kind)
{
    const rnl_parameter parameters[] = {
        {RNL_VALUE_INTEGER, 4, 4, "unsigned"},
        {RNL_VALUE_INTEGER, 8, 8, "size_t"},
        {RNL_VALUE_INTEGER, 1, 1, "char"},
    };
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_function function = NULL;
    memset(&got, 0, sizeof got);
    expect_ok(rnl_function_create_native(
        suite_context(), "take_three", take_three,
        RNL_NATIVE_OPTIONS(.parameters = parameters, .parameter_count = 3),
        &function));
    expect_ok(launch(function, RNL_ARGS(7u, (size_t)8, (char)9)));
    expect_ok(launch(function, RNL_ARGS(-7, (long)-8, (unsigned char)200)));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(got.calls, 2);
    assert_int_equal(got.normal, -7);
    assert_true(got.wide == -8);
    assert_int_equal(got.tiny, (signed char)200);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_pointer_parameter_takes_an_address_or_null)
{
    rnl_function function = make(all_parameters, 9);
    struct pair pair = {1, 2};
    int target;
    expect_ok(launch(function, RNL_ARGS((bool)0, (char)0, (short)0, 0, 0ll,
                                        0.0f, 0.0, &target,
                                        RNL_ARG_STRUCT(pair))));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_ptr_equal(got.pointer, &target);
    expect_ok(launch(function, RNL_ARGS((bool)0, (char)0, (short)0, 0, 0ll,
                                        0.0f, 0.0, (void *)NULL,
                                        RNL_ARG_STRUCT(pair))));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_null(got.pointer);
    expect_ok(rnl_function_release(function));
}

static rnl_status sum_bytes(const rnl_native_call *call)
{
    int *sum = call->user_data;
    for (int i = 0; i < 32; i++)
        *sum += *(const int *)call->arguments[i] * (i + 1);
    return RNL_OK;
}

RNL_TEST(thirty_two_arguments_arrive_in_order)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    rnl_parameter parameters[32];
    int sum = 0, expected = 0;
    for (int i = 0; i < 32; i++) {
        parameters[i] = (rnl_parameter){RNL_VALUE_INTEGER, 4, 4, "int"};
        expected += (i + 1) * (i + 1);
    }
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(
        suite_context(), "sum", sum_bytes,
        RNL_NATIVE_OPTIONS(.parameters = parameters, .parameter_count = 32,
                           .user_data = &sum), &function));
    expect_ok(launch(function,
                     RNL_ARGS(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
                              15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
                              27, 28, 29, 30, 31, 32)));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(sum, expected);
    expect_ok(rnl_function_release(function));
}

static rnl_status sum_struct(const rnl_native_call *call)
{
    const unsigned char *bytes = call->arguments[0];
    uint64_t *sum = call->user_data;
    for (size_t i = 0; i < 4000; i++)
        *sum += bytes[i] * (uint64_t)(i + 1);
    return RNL_OK;
}

RNL_TEST(a_struct_of_four_thousand_bytes_arrives)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    struct large {
        unsigned char bytes[4000];
    } large;
    uint64_t sum = 0, expected = 0;
    for (size_t i = 0; i < sizeof large; i++) {
        large.bytes[i] = (unsigned char)(i * 13);
        expected += large.bytes[i] * (uint64_t)(i + 1);
    }
    const rnl_parameter parameter = {RNL_VALUE_STRUCT, sizeof large, 1,
                                     "large"};
    rnl_function function = NULL;
    expect_ok(rnl_function_create_native(
        suite_context(), "sum", sum_struct,
        RNL_NATIVE_OPTIONS(.parameters = &parameter, .parameter_count = 1,
                           .user_data = &sum), &function));
    expect_ok(launch(function, RNL_ARGS(RNL_ARG_STRUCT(large))));
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_true(sum == expected);
    expect_ok(rnl_function_release(function));
}

// Integers, but for one that is something else.
enum { MANY = 11 };

struct many {
    int at;
    struct pair pair;  // as it arrived
    int sum;           // of the others
};

static rnl_status take_many(const rnl_native_call *call)
{
    struct many *many = call->user_data;
    for (int i = 0; i < MANY; i++)
        if (i == many->at)
            many->pair = *(const struct pair *)call->arguments[i];
        else
            many->sum += *(const int *)call->arguments[i];
    return RNL_OK;
}

static rnl_function make_many(struct many *many)
{
    rnl_parameter parameters[MANY];
    rnl_function function = NULL;
    for (int i = 0; i < MANY; i++)
        parameters[i] = (rnl_parameter){RNL_VALUE_INTEGER, 4, 4, "int"};
    if (many->at < MANY)
        parameters[many->at] = (rnl_parameter){
            RNL_VALUE_STRUCT, sizeof(struct pair), 8, "pair"};
    expect_ok(rnl_function_create_native(
        suite_context(), "take_many", take_many,
        RNL_NATIVE_OPTIONS(.parameters = parameters, .parameter_count = MANY,
                           .user_data = many), &function));
    return function;
}

static rnl_args fill_many(rnl_arg *items, int at, rnl_arg other)
{
    for (int i = 0; i < MANY; i++)
        items[i] = i == at ? other : RNL_ARG(1 << i);
    return (rnl_args){sizeof(rnl_args), MANY, items};
}

RNL_TEST(a_struct_among_many_arguments_arrives)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    for (int at = 0; at < MANY; at++) {
        struct many many = {.at = at};
        struct pair pair = {at, 0.5};
        rnl_arg items[MANY];
        rnl_args args = fill_many(items, at, RNL_ARG_STRUCT(pair));
        rnl_function function = make_many(&many);
        expect_ok(launch(function, &args));
        expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
        assert_int_equal(many.pair.a, pair.a);
        assert_true(many.pair.b == pair.b);
        assert_int_equal(many.sum, (1 << MANY) - 1 - (1 << at));
        expect_ok(rnl_function_release(function));
    }
}

RNL_TEST(an_unknown_kind_checks_the_size_alone)
{
    const rnl_parameter parameter = {RNL_VALUE_UNKNOWN, 4, 4, ""};
    rnl_function function = make(&parameter, 1);
    LAUNCH_ERROR(function, RNL_ARGS(2.0), RNL_ERROR_ARGUMENT_MISMATCH);
    LAUNCH_ERROR(function, RNL_ARGS(2ll), RNL_ERROR_ARGUMENT_MISMATCH);
    LAUNCH_ERROR(function, RNL_ARGS((short)2), RNL_ERROR_ARGUMENT_MISMATCH);
    expect_ok(rnl_function_release(function));
}

// --- Refused ---------------------------------------------------------------

RNL_TEST(a_wrong_number_of_arguments_is_refused)
{
    const rnl_parameter parameters[] = {{RNL_VALUE_INTEGER, 4, 4, "int"},
                                        {RNL_VALUE_INTEGER, 4, 4, "int"}};
    rnl_function two = make(parameters, 2), none = make(NULL, 0);
    LAUNCH_ERROR(two, RNL_NO_ARGS, RNL_ERROR_ARGUMENT_MISMATCH);
    LAUNCH_ERROR(two, RNL_ARGS(1), RNL_ERROR_ARGUMENT_MISMATCH);
    LAUNCH_ERROR(two, RNL_ARGS(1, 2, 3), RNL_ERROR_ARGUMENT_MISMATCH);
    LAUNCH_ERROR(none, RNL_ARGS(1), RNL_ERROR_ARGUMENT_MISMATCH);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(got.calls, 0);
    expect_ok(rnl_function_release(two));
    expect_ok(rnl_function_release(none));
}

// One parameter of the given kind and size, and arguments that do not fit.
static void refuse(rnl_value_kind kind, uint32_t size, const rnl_args *args)
{
    const rnl_parameter parameter = {kind, size, size > 8 ? 8 : size, "T"};
    rnl_function function = make(&parameter, 1);
    LAUNCH_ERROR(function, args, RNL_ERROR_ARGUMENT_MISMATCH);
    assert_non_null(strstr(rnl_last_error()->message, "take_all"));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(there_are_no_conversions)
{
    refuse(RNL_VALUE_INTEGER, 8, RNL_ARGS(1));
    refuse(RNL_VALUE_INTEGER, 4, RNL_ARGS(1ll));
    refuse(RNL_VALUE_INTEGER, 4, RNL_ARGS((short)1));
    refuse(RNL_VALUE_INTEGER, 1, RNL_ARGS(1));
    refuse(RNL_VALUE_FLOAT, 4, RNL_ARGS(1.0));
    refuse(RNL_VALUE_FLOAT, 8, RNL_ARGS(1.0f));
}

RNL_TEST(kinds_are_not_mixed)
{
    long long wide = 1;
    int target;
    refuse(RNL_VALUE_INTEGER, 4, RNL_ARGS(1.0f));
    refuse(RNL_VALUE_FLOAT, 4, RNL_ARGS(1));
    refuse(RNL_VALUE_FLOAT, 8, RNL_ARGS(1ll));
    refuse(RNL_VALUE_POINTER, 8, RNL_ARGS(1ll));
    refuse(RNL_VALUE_POINTER, 8, RNL_ARGS(1.0));
    refuse(RNL_VALUE_INTEGER, 8, RNL_ARGS(&target));
    refuse(RNL_VALUE_STRUCT, 8, RNL_ARGS(1ll));
    refuse(RNL_VALUE_STRUCT, 8, RNL_ARGS(&target));
    refuse(RNL_VALUE_INTEGER, 8, RNL_ARGS(RNL_ARG_STRUCT(wide)));
}

RNL_TEST(structs_of_another_size_are_refused)
{
    struct pair pair = {1, 2};
    refuse(RNL_VALUE_STRUCT, 8, RNL_ARGS(RNL_ARG_STRUCT(pair)));
    refuse(RNL_VALUE_STRUCT, 24, RNL_ARGS(RNL_ARG_STRUCT(pair)));
}

RNL_TEST(a_buffer_is_no_integer)
{
    rnl_buffer buffer = suite_new_buffer(16);
    refuse(RNL_VALUE_INTEGER, 8, RNL_ARGS(buffer));
    refuse(RNL_VALUE_FLOAT, 8, RNL_ARGS(buffer));
    refuse(RNL_VALUE_STRUCT, 8, RNL_ARGS(buffer));
    expect_ok(rnl_buffer_release(buffer));
}

RNL_TEST(a_mismatch_names_its_position)
{
    const rnl_parameter parameters[] = {{RNL_VALUE_INTEGER, 4, 4, "int"},
                                        {RNL_VALUE_FLOAT, 4, 4, "float"},
                                        {RNL_VALUE_INTEGER, 8, 8, "size_t"}};
    rnl_function function = make(parameters, 3);
    LAUNCH_ERROR(function, RNL_ARGS(1, 2.0f, 3), RNL_ERROR_ARGUMENT_MISMATCH);
    const char *message = rnl_last_error()->message;
    assert_non_null(strstr(message, "size_t"));
    assert_true(strstr(message, "3") || strstr(message, "2"));
    expect_ok(rnl_function_release(function));
}

RNL_TEST(a_mismatch_is_found_wherever_it_is)
{
    suite_need(RNL_FEATURE_NATIVE_FUNCTIONS);
    struct many many = {.at = MANY};
    rnl_function function = make_many(&many);
    for (int at = 0; at < MANY; at++) {
        char position[32];
        rnl_arg items[MANY];
        rnl_args args = fill_many(items, at, RNL_ARG(0.5f));
        LAUNCH_ERROR(function, &args, RNL_ERROR_ARGUMENT_MISMATCH);
        snprintf(position, sizeof position, "argument %d of take_many", at + 1);
        assert_non_null(strstr(rnl_last_error()->message, position));
    }
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(many.sum, 0);
    expect_ok(rnl_function_release(function));
}

RNL_TEST(damaged_argument_lists_are_refused)
{
    const rnl_parameter parameter = {RNL_VALUE_INTEGER, 4, 4, "int"};
    const rnl_parameter structure = {RNL_VALUE_STRUCT, 16, 8, "pair"};
    rnl_function function = make(&parameter, 1), takes = make(&structure, 1);
    rnl_arg item = rnl_arg_of_integer(1, 4);
    const rnl_args no_size = {0, 1, &item};
    const rnl_args no_items = {sizeof no_items, 1, NULL};
    LAUNCH_ERROR(function, &no_size, RNL_ERROR_INVALID_ARGUMENT);
    LAUNCH_ERROR(function, &no_items, RNL_ERROR_INVALID_ARGUMENT);
    rnl_arg null_struct = rnl_arg_of_struct(NULL, 16);
    const rnl_args null_bytes = {sizeof null_bytes, 1, &null_struct};
    LAUNCH_ERROR(takes, &null_bytes, RNL_ERROR_INVALID_ARGUMENT);
    item.kind = 77;
    const rnl_args strange = {sizeof strange, 1, &item};
    rnl_status status = rnl_enqueue_function(
        suite_stream(), function, RNL_LAUNCH(.grid = {1}, .block = {1}),
        &strange);
    assert_true(status == RNL_ERROR_INVALID_ARGUMENT ||
                status == RNL_ERROR_ARGUMENT_MISMATCH);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(got.calls, 0);
    expect_ok(rnl_function_release(function));
    expect_ok(rnl_function_release(takes));
}

RNL_TEST(buffers_that_are_no_buffers_are_refused)
{
    const rnl_parameter parameter = {RNL_VALUE_POINTER, 8, 8, "void *"};
    rnl_function function = make(&parameter, 1);
    rnl_buffer dead = suite_new_buffer(16);
    expect_ok(rnl_buffer_release(dead));
    LAUNCH_ERROR(function, RNL_ARGS(dead), RNL_ERROR_INVALID_HANDLE);
    LAUNCH_ERROR(function, RNL_ARGS((rnl_buffer)(void *)suite_stream()),
                 RNL_ERROR_INVALID_HANDLE);
    LAUNCH_ERROR(function, RNL_ARGS((rnl_buffer)NULL),
                 RNL_ERROR_INVALID_HANDLE);
    LAUNCH_ERROR(function, RNL_ARGS((rnl_buffer)(uintptr_t)0x1234),
                 RNL_ERROR_INVALID_HANDLE);
    expect_ok(rnl_stream_synchronize(suite_stream(), RNL_FOREVER));
    assert_int_equal(got.calls, 0);
    expect_ok(rnl_function_release(function));
}
