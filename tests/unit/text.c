// base/text: growth, formats, memory that runs out.
#include "unit.h"

#include "base/alloc.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

RNL_TEST(an_empty_text_is_a_text)
{
    struct text text = {0};
    assert_string_equal(text_get(&text), "");
    text_finish(&text);
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(a_text_grows)
{
    struct text text = {0};
    for (int i = 0; i < 1000; i++)
        text_add(&text, "%03d,", i);
    assert_int_equal(text.length, 4000);
    assert_int_equal(strlen(text_get(&text)), 4000);
    assert_memory_equal(text_get(&text) + 4 * 567, "567,", 4);
    assert_false(text.failed);
    text_finish(&text);
    assert_int_equal(text.length, 0);
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(no_bytes_are_added_as_nothing)
{
    struct text text = {0};
    text_add_bytes(&text, NULL, 0);
    assert_string_equal(text_get(&text), "");
    text_add(&text, "c");
    text_add_bytes(&text, NULL, 0);
    assert_string_equal(text_get(&text), "c");
    text_finish(&text);
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(bytes_may_be_zero)
{
    struct text text = {0};
    text_add_bytes(&text, "a\0b", 3);
    text_add(&text, "c");
    assert_int_equal(text.length, 4);
    assert_memory_equal(text_get(&text), "a\0bc", 5);
    text_finish(&text);
}

RNL_TEST(a_long_addition_to_a_short_text)
{
    static char long_text[10000];
    struct text text = {0};
    memset(long_text, 'x', sizeof long_text - 1);
    text_add(&text, "short ");
    text_add(&text, "%s", long_text);
    assert_int_equal(text.length, 6 + sizeof long_text - 1);
    text_finish(&text);
}

static void *refuse(size_t size, size_t alignment, void *user_data)
{
    (void)size;
    (void)alignment;
    (void)user_data;
    return NULL;
}

static void take(void *memory, size_t size, void *user_data)
{
    (void)size;
    (void)user_data;
    free(memory);
}

RNL_TEST(running_out_of_memory_is_remembered)
{
    struct text text = {0};
    assert_true(mem_set_allocator(
        RNL_ALLOCATOR(.allocate = refuse, .release = take)));
    text_add(&text, "lost");
    assert_true(text.failed);
    assert_string_equal(text_get(&text), "");
    text_add_bytes(&text, "x", 1);
    assert_true(text.failed);
    text_finish(&text);
    assert_true(mem_set_allocator(NULL));
}
