// Numbers and names from the command line.
#include "parse.h"

#include <math.h>

#include "test.h"

// A result that must stay as it is when the text is refused.
static const uint64_t untouched = 77;

static void refuse_unsigned(const char *text, uint64_t max)
{
    uint64_t value = untouched;
    assert_non_null(parse_unsigned(text, max, &value));
    assert_int_equal(value, untouched);
}

static void accept_unsigned(const char *text, uint64_t expected)
{
    uint64_t value = untouched;
    assert_null(parse_unsigned(text, UINT64_MAX, &value));
    assert_true(value == expected);
}

static void accept_size(const char *text, size_t expected)
{
    size_t value = untouched;
    assert_null(parse_size(text, &value));
    assert_true(value == expected);
}

static void refuse_size(const char *text)
{
    size_t value = untouched;
    assert_non_null(parse_size(text, &value));
    assert_int_equal(value, untouched);
}

static void refuse_signed(const char *text, int64_t min, int64_t max)
{
    int64_t value = 77;
    assert_non_null(parse_signed(text, min, max, &value));
    assert_int_equal(value, 77);
}

static void refuse_real(const char *text)
{
    double value = 77;
    assert_non_null(parse_real(text, &value));
    assert_true(value == 77);
}

static void refuse_dim3(const char *text)
{
    rnl_dim3 value = {7, 7, 7};
    assert_non_null(parse_dim3(text, &value));
    assert_int_equal(value.x, 7);
}

static void accept_dim3(const char *text, uint32_t x, uint32_t y, uint32_t z)
{
    rnl_dim3 value;
    assert_null(parse_dim3(text, &value));
    assert_int_equal(value.x, x);
    assert_int_equal(value.y, y);
    assert_int_equal(value.z, z);
}

static void refuse_device(const char *text)
{
    char api[DEVICE_API_SIZE] = "none";
    size_t index = 77;
    assert_non_null(parse_device(text, api, &index));
    assert_string_equal(api, "none");
    assert_int_equal(index, 77);
}

static void refuse_range(const char *text)
{
    struct print_range range = {.end = 77};
    assert_non_null(parse_range(text, &range));
    assert_int_equal(range.end, 77);
}

RNL_TEST(whole_numbers)
{
    accept_unsigned("0", 0);
    accept_unsigned("007", 7);
    accept_unsigned("0x1F", 31);
    accept_unsigned("18446744073709551615", UINT64_MAX);
}

RNL_TEST(no_whole_numbers)
{
    refuse_unsigned("", UINT64_MAX);
    refuse_unsigned("-1", UINT64_MAX);
    refuse_unsigned("+1", UINT64_MAX);
    refuse_unsigned(" 1", UINT64_MAX);
    refuse_unsigned("1 ", UINT64_MAX);
    refuse_unsigned("1.0", UINT64_MAX);
    refuse_unsigned("1k", UINT64_MAX);
    refuse_unsigned("0x", UINT64_MAX);
    refuse_unsigned("0xg", UINT64_MAX);
    refuse_unsigned("0x-1", UINT64_MAX);
}

RNL_TEST(whole_numbers_too_large)
{
    refuse_unsigned("18446744073709551616", UINT64_MAX);
    refuse_unsigned("99999999999999999999999", UINT64_MAX);
    refuse_unsigned("256", 255);
    refuse_unsigned("1", 0);
}

RNL_TEST(signed_numbers_at_their_limits)
{
    int64_t value;
    assert_null(parse_signed("-9223372036854775808", INT64_MIN, INT64_MAX,
                             &value));
    assert_true(value == INT64_MIN);
    assert_null(parse_signed("9223372036854775807", INT64_MIN, INT64_MAX,
                             &value));
    assert_true(value == INT64_MAX);
    assert_null(parse_signed("-128", -128, 127, &value));
    assert_int_equal(value, -128);
    assert_null(parse_signed("+5", -128, 127, &value));
    assert_int_equal(value, 5);
}

RNL_TEST(signed_numbers_beyond_their_limits)
{
    refuse_signed("-9223372036854775809", INT64_MIN, INT64_MAX);
    refuse_signed("9223372036854775808", INT64_MIN, INT64_MAX);
    refuse_signed("-99999999999999999999", INT64_MIN, INT64_MAX);
    refuse_signed("-129", -128, 127);
    refuse_signed("128", -128, 127);
    refuse_signed("--1", -128, 127);
    refuse_signed("+-1", -128, 127);
    refuse_signed("-", -128, 127);
    refuse_signed("", -128, 127);
}

RNL_TEST(real_numbers)
{
    double value;
    assert_null(parse_real("-2.5e-3", &value));
    assert_true(value == -2.5e-3);
    assert_null(parse_real("inf", &value));
    assert_true(isinf(value));
    assert_null(parse_real("nan", &value));
    assert_true(isnan(value));
    // Too small to be exact is no error.
    assert_null(parse_real("1e-320", &value));
    assert_true(value > 0 && value < 1e-300);
}

RNL_TEST(no_real_numbers)
{
    refuse_real("");
    refuse_real(" 1");
    refuse_real("1 ");
    refuse_real("1,5");
    refuse_real("one");
    refuse_real("1e400");
    refuse_real("-1e400");
}

RNL_TEST(sizes)
{
    accept_size("0", 0);
    accept_size("17", 17);
    accept_size("16K", 16384);
    accept_size("16Ki", 16384);
    accept_size("3m", (size_t)3 << 20);
    accept_size("2G", (size_t)2 << 30);
}

RNL_TEST(no_sizes)
{
    refuse_size("");
    refuse_size("K");
    refuse_size("-1");
    refuse_size("1 K");
    refuse_size("1KB");
    refuse_size("1T");
    refuse_size("17179869184G");
    refuse_size("18446744073709551616");
}

RNL_TEST(dimensions)
{
    accept_dim3("4", 4, 1, 1);
    accept_dim3("4,2", 4, 2, 1);
    accept_dim3("4x2x3", 4, 2, 3);
    accept_dim3("4294967295,1,1", UINT32_MAX, 1, 1);
}

RNL_TEST(no_dimensions)
{
    refuse_dim3("");
    refuse_dim3("0");
    refuse_dim3("1,0");
    refuse_dim3("0x2");
    refuse_dim3("1,");
    refuse_dim3(",1");
    refuse_dim3("1,,1");
    refuse_dim3("1,2,3,");
    refuse_dim3("1,2,3,4");
    refuse_dim3("1 ,2");
    refuse_dim3("-1");
    refuse_dim3("4294967296");
    refuse_dim3("99999999999999999999");
}

RNL_TEST(devices)
{
    char api[DEVICE_API_SIZE];
    size_t index;
    assert_null(parse_device("cuda:12", api, &index));
    assert_string_equal(api, "cuda");
    assert_int_equal(index, 12);
    assert_null(parse_device("cpu", api, &index));
    assert_string_equal(api, "cpu");
    assert_int_equal(index, 0);
}

RNL_TEST(no_devices)
{
    refuse_device("");
    refuse_device(":1");
    refuse_device("cpu:");
    refuse_device("cpu:x");
    refuse_device("cpu:-1");
    refuse_device("cpu:1:2");
    refuse_device("cpu:4294967296");
    refuse_device("a-name-that-is-too-long-for-an-api:0");
}

RNL_TEST(ranges)
{
    struct print_range range;
    assert_null(parse_range("0:16", &range));
    assert_false(range.one_argument);
    assert_int_equal(range.end, 16);
    assert_null(parse_range("3=5:5", &range));
    assert_true(range.one_argument);
    assert_int_equal(range.argument, 2);
    assert_int_equal(range.first, 5);
}

RNL_TEST(no_ranges)
{
    refuse_range("");
    refuse_range("16");
    refuse_range(":16");
    refuse_range("0:");
    refuse_range("0:1:2");
    refuse_range("0-16");
    refuse_range("4:3");
    refuse_range("=0:1");
    refuse_range("x=0:1");
    refuse_range("0=0:1");
    refuse_range("1=2=0:1");
    refuse_range("-1=0:1");
    refuse_range("0:18446744073709551616");
}
