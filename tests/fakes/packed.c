// Launches with many arguments: the driver gets their values in one piece.
#include "loaded.h"

#include <stdlib.h>
#include <string.h>

struct pair {
    int a;
    double b;
};

// What the kernel found. Its last parameter ends where nothing is aligned.
static struct got {
    void *pointer;
    char tiny;
    short small;
    int normal;
    long long wide;
    float single;
    double real;
    struct pair pair;
    char last;
} got;

#define GET(field, index) \
    memcpy(&got.field, call->arguments[index], sizeof got.field)

static rnl_status take(const rnl_native_call *call)
{
    GET(pointer, 0);
    GET(tiny, 1);
    GET(small, 2);
    GET(normal, 3);
    GET(wide, 4);
    GET(single, 5);
    GET(real, 6);
    GET(pair, 7);
    GET(last, 8);
    return RNL_OK;
}

static rnl_status take_seven(const rnl_native_call *call)
{
    GET(normal, 6);
    return RNL_OK;
}

// Structs of 3, 6, 12 and 128 bytes.
static unsigned char bytes[4][128];

static rnl_status take_bytes(const rnl_native_call *call)
{
    for (size_t i = 0; i < 4; i++)
        memcpy(bytes[i], call->arguments[i], i == 3 ? 128 : 3 << i);
    GET(normal, 10);
    return RNL_OK;
}

#define INT {RNL_VALUE_INTEGER, 4, 4, ""}
#define STRUCT(size, alignment) {RNL_VALUE_STRUCT, size, alignment, ""}

static const rnl_parameter kinds[] = {
    {RNL_VALUE_POINTER, 8, 8, ""}, {RNL_VALUE_INTEGER, 1, 1, ""},
    {RNL_VALUE_INTEGER, 2, 2, ""}, {RNL_VALUE_INTEGER, 4, 4, ""},
    {RNL_VALUE_INTEGER, 8, 8, ""}, {RNL_VALUE_FLOAT, 4, 4, ""},
    {RNL_VALUE_FLOAT, 8, 8, ""},
    {RNL_VALUE_STRUCT, sizeof(struct pair), 8, ""},
    {RNL_VALUE_INTEGER, 1, 1, ""},
};
static const rnl_parameter ints[] = {INT, INT, INT, INT, INT, INT, INT};
static const rnl_parameter odd[] = {
    STRUCT(3, 1), STRUCT(6, 2), STRUCT(12, 4), STRUCT(128, 64),
    INT, INT, INT, INT, INT, INT, INT};
static const rnl_parameter wide[] = {
    STRUCT(3, 1), STRUCT(6, 2), STRUCT(12, 4), STRUCT(128, 128),
    INT, INT, INT, INT, INT, INT, INT};
static const rnl_parameter hollow[] = {
    {RNL_VALUE_STRUCT, 1, 1, FAKE_NO_BYTES}, INT, INT, INT, INT, INT, INT};
static const struct fake_kernel kernels[] = {{"take", take, 9, kinds},
                                             {"hollow", take_seven, 7, hollow},
                                             {"seven", take_seven, 7, ints},
                                             {"odd", take_bytes, 11, odd},
                                             {"wide", take_bytes, 11, wide}};
enum { KERNELS = sizeof kernels / sizeof *kernels };

static rnl_context context;
static rnl_stream stream;
static rnl_buffer buffer;
static rnl_module module;
static rnl_function function;

static void begin(const char *name)
{
    size_t size;
    fake_open(&context, &stream, 0, &buffer, 64);
    void *image = fake_image(kernels, KERNELS, &size);
    assert_non_null(image);
    assert_ok(rnl_module_load(context, image, size, "taker", &module));
    assert_ok(rnl_module_function(module, name, &function));
    free(image);
    memset(&got, 0, sizeof got);
}

static void end(void)
{
    assert_ok(rnl_function_release(function));
    assert_ok(rnl_module_release(module));
    fake_close(context, stream, buffer);
}

static size_t packed(void)
{
    struct fake_live live;
    fake_live(&live);
    return live.packed;
}

static rnl_status launch(const rnl_args *args)
{
    rnl_status status = rnl_enqueue_function(
        stream, function, RNL_LAUNCH(.grid = {1}, .block = {1}), args);
    return status ? status : rnl_stream_synchronize(stream, RNL_FOREVER);
}

static void launch_all_kinds(void)
{
    struct pair pair = {5, 6.5};
    rnl_buffer_info info = {.struct_size = sizeof info};
    assert_ok(rnl_buffer_get_info(buffer, &info));
    assert_ok(launch(RNL_ARGS(buffer, (char)-1, (short)-300, -70000,
                              -5000000000ll, 1.25f, 2.5,
                              RNL_ARG_STRUCT(pair), (char)9)));
    assert_ptr_equal(got.pointer, info.device_address);
    assert_int_equal(got.tiny, (char)-1);
    assert_int_equal(got.small, -300);
    assert_int_equal(got.normal, -70000);
    assert_true(got.wide == -5000000000ll);
    assert_true(got.single == 1.25f && got.real == 2.5);
    assert_int_equal(got.pair.a, 5);
    assert_true(got.pair.b == 6.5);
    assert_int_equal(got.last, 9);
}

RNL_TEST(values_of_every_kind_are_packed)
{
    begin("take");
    launch_all_kinds();
    assert_int_equal(packed(), 1);
    end();
}

static void launch_structs(void)
{
    unsigned char given[128];
    for (size_t i = 0; i < sizeof given; i++)
        given[i] = (unsigned char)(i + 1);
    assert_ok(launch(RNL_ARGS(rnl_arg_of_struct(given, 3),
                              rnl_arg_of_struct(given + 3, 6),
                              rnl_arg_of_struct(given + 9, 12),
                              rnl_arg_of_struct(given, 128),
                              1, 2, 3, 4, 5, 6, 7)));
    assert_memory_equal(bytes[0], given, 3);
    assert_memory_equal(bytes[1], given + 3, 6);
    assert_memory_equal(bytes[2], given + 9, 12);
    assert_memory_equal(bytes[3], given, 128);
    assert_int_equal(got.normal, 7);
}

RNL_TEST(structs_of_odd_sizes_are_packed)
{
    begin("odd");
    launch_structs();
    assert_int_equal(packed(), 1);
    end();
}

// The library would put it elsewhere than the driver.
RNL_TEST(what_is_aligned_beyond_a_vector_is_not_packed)
{
    begin("wide");
    launch_structs();
    assert_int_equal(packed(), 0);
    end();
}

RNL_TEST(few_values_are_not_packed)
{
    begin("seven");
    assert_ok(launch(RNL_ARGS(1, 2, 3, 4, 5, 6, 7)));
    assert_int_equal(got.normal, 7);
    assert_int_equal(packed(), 0);
    end();
}

// Without kinds, as of any binary: sizes are checked.
RNL_TEST(a_wrong_value_among_many_is_refused)
{
    struct pair pair = {1, 2};
    begin("take");
    size_t before = fake_calls("cuLaunchKernel");
    assert_int_equal(launch(RNL_ARGS(buffer, (char)1, (short)2, 3ll, 4ll,
                                     5.0f, 6.0, RNL_ARG_STRUCT(pair),
                                     (char)7)),
                     RNL_ERROR_ARGUMENT_MISMATCH);
    assert_non_null(strstr(rnl_last_error()->message, "argument 4 of take"));
    assert_int_equal(fake_calls("cuLaunchKernel"), before);
    end();
}

// Then nothing is known of where the driver has them.
RNL_TEST(where_an_offset_is_not_told_addresses_are_given)
{
    begin("seven");  // its module, at the end of which "take" was not asked
    rnl_function take_function;
    fake_fail("cuFuncGetParamInfo", 2 * 9 + 2, 1, 0);
    assert_ok(rnl_module_function(module, "take", &take_function));
    assert_ok(rnl_function_release(function));
    function = take_function;
    launch_all_kinds();
    assert_int_equal(packed(), 0);
    end();
}

// A struct without bytes at the offset 0, of which the driver tells both.
RNL_TEST(a_parameter_without_bytes_has_the_alignment_1)
{
    rnl_function_info info = {.struct_size = sizeof info};
    begin("hollow");
    assert_ok(rnl_function_get_info(function, &info));
    assert_int_equal(info.parameters[0].size, 0);
    assert_int_equal(info.parameters[0].alignment, 1);
    end();
}
