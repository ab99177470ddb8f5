// Kernel arguments as they are written on the command line.
#include "argument.h"

#include <string.h>

#include "test.h"

static void refuse(const char *text)
{
    struct argument argument = {.count = 77};
    assert_non_null(argument_parse(text, &argument));
    assert_int_equal(argument.count, 77);
}

// The four ints of a buffer.
static void expect_ints(const char *text, int a, int b, int c, int d)
{
    struct argument argument;
    int values[4], expected[] = {a, b, c, d};
    assert_null(argument_parse(text, &argument));
    assert_true(argument.is_buffer);
    assert_int_equal(argument_size(&argument), sizeof values);
    assert_true(argument_fill(&argument, values));
    assert_memory_equal(values, expected, sizeof values);
}

RNL_TEST(scalars)
{
    struct argument argument;
    float value;
    assert_null(argument_parse("float:2.5", &argument));
    assert_false(argument.is_buffer);
    assert_int_equal(argument.type->size, sizeof value);
    memcpy(&value, argument.value, sizeof value);
    assert_true(value == 2.5f);
}

RNL_TEST(null_pointers)
{
    struct argument argument;
    assert_null(argument_parse("null", &argument));
    assert_null(argument.type);
    assert_false(argument.is_buffer);
}

RNL_TEST(patterns)
{
    expect_ints("buffer:int:4", 0, 0, 0, 0);
    expect_ints("buffer:int:4:zeros", 0, 0, 0, 0);
    expect_ints("buffer:int:4:ones", 1, 1, 1, 1);
    expect_ints("buffer:int:4:iota", 0, 1, 2, 3);
    expect_ints("buffer:int:4:=7", 7, 7, 7, 7);
    expect_ints("buffer:int:4:=-1,2,3", -1, 2, 3, -1);
}

RNL_TEST(iota_wraps_in_narrow_types)
{
    struct argument argument;
    uint8_t values[1024];
    assert_null(argument_parse("buffer:u8:1K:iota", &argument));
    assert_true(argument_fill(&argument, values));
    assert_int_equal(values[255], 255);
    assert_int_equal(values[256], 0);
}

RNL_TEST(empty_buffers)
{
    struct argument argument;
    char nothing;
    assert_null(argument_parse("buffer:float:0:=1", &argument));
    assert_int_equal(argument_size(&argument), 0);
    assert_true(argument_fill(&argument, &nothing));
}

RNL_TEST(bad_scalars)
{
    refuse("");
    refuse("7");
    refuse("int");
    refuse("int:");
    refuse("int:x");
    refuse("int: 1");
    refuse("INT:1");
    refuse(":1");
    refuse("nul");
    refuse("null:0");
}

RNL_TEST(bad_buffers)
{
    refuse("buffer:");
    refuse("buffer:int");
    refuse("buffer:flaot:4");
    refuse("buffer::4");
    refuse("buffer:int:");
    refuse("buffer:int:-4");
    refuse("buffer:int:4.5");
    refuse("buffer:int:4611686018427387904");
    refuse("buffer:int:111111111111111111111111111111111111111111111111111111"
           "1111111111111111111111111111");
}

RNL_TEST(bad_patterns)
{
    refuse("buffer:int:4:");
    refuse("buffer:int:4:one");
    refuse("buffer:int:4:=");
    refuse("buffer:int:4:=1,");
    refuse("buffer:int:4:=1,,2");
    refuse("buffer:int:4:=1.5");
    refuse("buffer:int:4:random:");
    refuse("buffer:int:4:random:-1");
    refuse("buffer:int:4:file:");
    refuse("buffer:u8:4:=256");
}

RNL_TEST(a_file_that_is_not_there)
{
    struct argument argument;
    int values[4];
    assert_null(argument_parse("buffer:int:4:file:/absent/file", &argument));
    assert_false(argument_fill(&argument, values));
}
