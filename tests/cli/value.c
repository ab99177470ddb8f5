// Element types: text to bytes and back.
#include "value.h"

#include <string.h>

#include "test.h"

static const struct value_type *type_of(const char *name)
{
    const struct value_type *type = value_type_find(name, strlen(name));
    assert_non_null(type);
    return type;
}

RNL_TEST(types_have_elements)
{
    static const struct {
        const char *name;
        rnl_element element;
    } rows[] = {
        {"float", RNL_ELEMENT_FLOAT32}, {"f64", RNL_ELEMENT_FLOAT64},
        {"char", RNL_ELEMENT_INT8},     {"bool", RNL_ELEMENT_UINT8},
        {"short", RNL_ELEMENT_INT16},   {"u16", RNL_ELEMENT_UINT16},
        {"int", RNL_ELEMENT_INT32},     {"uint", RNL_ELEMENT_UINT32},
        {"i64", RNL_ELEMENT_INT64},     {"size_t", RNL_ELEMENT_UINT64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(value_element(type_of(rows[i].name)),
                         rows[i].element);
}

// Reads `text` as a `name` and prints it again.
static void round_trip(const char *name, const char *text,
                       const char *expected)
{
    unsigned char value[VALUE_MAX_SIZE];
    char printed[VALUE_TEXT_SIZE];
    assert_null(value_parse(type_of(name), text, value));
    value_print(type_of(name), value, printed);
    assert_string_equal(printed, expected);
}

static void refuse(const char *name, const char *text)
{
    unsigned char value[VALUE_MAX_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8}, before[8];
    memcpy(before, value, sizeof before);
    assert_non_null(value_parse(type_of(name), text, value));
    assert_memory_equal(value, before, sizeof before);
}

RNL_TEST(types_have_the_size_they_have_in_c)
{
    assert_int_equal(type_of("char")->size, sizeof(char));
    assert_int_equal(type_of("short")->size, sizeof(short));
    assert_int_equal(type_of("int")->size, sizeof(int));
    assert_int_equal(type_of("long")->size, sizeof(long));
    assert_int_equal(type_of("size_t")->size, sizeof(size_t));
    assert_int_equal(type_of("bool")->size, sizeof(bool));
    assert_int_equal(type_of("float")->size, sizeof(float));
    assert_int_equal(type_of("f64")->size, sizeof(double));
}

RNL_TEST(unknown_types)
{
    assert_null(value_type_find("flaot", 5));
    assert_null(value_type_find("floa", 4));
    assert_null(value_type_find("float ", 6));
    assert_null(value_type_find("", 0));
    assert_null(value_type_find("i128", 4));
}

RNL_TEST(integers_at_their_limits)
{
    round_trip("i8", "-128", "-128");
    round_trip("u8", "255", "255");
    round_trip("i16", "-32768", "-32768");
    round_trip("u16", "65535", "65535");
    round_trip("int", "-2147483648", "-2147483648");
    round_trip("uint", "0xffffffff", "4294967295");
    round_trip("long", "-9223372036854775808", "-9223372036854775808");
    round_trip("ulong", "18446744073709551615", "18446744073709551615");
    round_trip("bool", "1", "1");
}

RNL_TEST(integers_beyond_their_limits)
{
    refuse("i8", "128");
    refuse("i8", "-129");
    refuse("u8", "256");
    refuse("u8", "-1");
    refuse("i16", "32768");
    refuse("u16", "65536");
    refuse("int", "2147483648");
    refuse("uint", "4294967296");
    refuse("long", "9223372036854775808");
    refuse("ulong", "18446744073709551616");
    refuse("bool", "2");
    refuse("bool", "true");
    refuse("int", "1.0");
    refuse("int", "");
}

RNL_TEST(reals_print_as_short_as_they_can)
{
    round_trip("float", "0.1", "0.1");
    round_trip("double", "0.1", "0.1");
    round_trip("float", "16777217", "16777216");
    round_trip("float", "-0", "-0");
    round_trip("double", "0.30000000000000004", "0.30000000000000004");
    round_trip("double", "-1.7976931348623157e308",
               "-1.7976931348623157e+308");
    round_trip("float", "inf", "inf");
    round_trip("double", "nan", "nan");
}

RNL_TEST(reals_that_do_not_fit)
{
    refuse("float", "1e39");
    refuse("double", "1e309");
    refuse("float", "1,5");
    refuse("float", "");
}

RNL_TEST(random_values_depend_on_the_seed_alone)
{
    uint64_t one = 1, again = 1, other = 2;
    double first, second, third;
    value_random(type_of("double"), &one, &first);
    value_random(type_of("double"), &again, &second);
    value_random(type_of("double"), &other, &third);
    assert_true(first == second);
    assert_true(first != third);
}

RNL_TEST(random_reals_are_from_0_to_1)
{
    uint64_t seed = 0;
    for (int i = 0; i < 10000; i++) {
        float value;
        value_random(type_of("float"), &seed, &value);
        assert_true(value >= 0 && value < 1);
    }
}

RNL_TEST(random_bools_are_bools)
{
    uint64_t seed = 0;
    for (int i = 0; i < 1000; i++) {
        uint8_t value;
        value_random(type_of("bool"), &seed, &value);
        assert_true(value <= 1);
    }
}
