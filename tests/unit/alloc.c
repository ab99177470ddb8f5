// base/alloc: counting, alignment, replaced allocators, sizes that overflow.
#include "unit.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

RNL_TEST(memory_is_zeroed_and_counted)
{
    size_t before = mem_held();
    unsigned char *memory = mem_allocate(1000);
    assert_non_null(memory);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(memory[i], 0);
    assert_int_equal(mem_held(), before + 1000);
    mem_release(memory, 1000);
    assert_int_equal(mem_held(), before);
}

RNL_TEST(alignment_is_kept)
{
    for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
        void *memory = mem_allocate_aligned(100, alignment);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % alignment, 0);
        mem_release(memory, 100);
    }
}

RNL_TEST(impossible_sizes_give_null)
{
    size_t before = mem_held();
    assert_null(mem_allocate(SIZE_MAX));
    assert_null(mem_allocate_aligned(SIZE_MAX - 10, 64));
    assert_null(mem_allocate((size_t)1 << 62));
    assert_int_equal(mem_held(), before);
}

RNL_TEST(releasing_null_is_fine)
{
    size_t before = mem_held();
    mem_release(NULL, 0);
    mem_release(NULL, 100);
    text_release(NULL);
    assert_int_equal(mem_held(), before);
}

RNL_TEST(array_sizes_are_checked)
{
    size_t size = 77;
    assert_true(mem_array_size(10, 20, &size));
    assert_int_equal(size, 200);
    assert_true(mem_array_size(0, SIZE_MAX, &size));
    assert_int_equal(size, 0);
    assert_false(mem_array_size(SIZE_MAX, 2, &size));
    assert_false(mem_array_size(SIZE_MAX / 2 + 1, 2, &size));
    assert_false(mem_array_size((size_t)1 << 32, (size_t)1 << 32, &size));
}

RNL_TEST(texts_are_copied)
{
    char text[] = "text";
    char *copy = text_copy(text);
    text[0] = 'n';
    assert_string_equal(copy, "text");
    text_release(copy);
    char *empty = text_copy("");
    assert_string_equal(empty, "");
    text_release(empty);
}

static size_t given, taken;

static void *give(size_t size, size_t alignment, void *user_data)
{
    assert_ptr_equal(user_data, &given);
    given += size;
    (void)alignment;
    // Dirty, since zeroing is the library's part.
    void *memory = malloc(size);
    return memory ? memset(memory, 0xdd, size) : NULL;
}

static void take(void *memory, size_t size, void *user_data)
{
    assert_ptr_equal(user_data, &given);
    taken += size;
    free(memory);
}

RNL_TEST(an_allocator_is_used_for_all)
{
    assert_int_equal(mem_held(), 0);
    assert_true(mem_set_allocator(RNL_ALLOCATOR(
        .allocate = give, .release = take, .user_data = &given)));
    unsigned char *memory = mem_allocate(123);
    assert_int_equal(given, 123);
    assert_int_equal(memory[122], 0);
    assert_false(mem_set_allocator(NULL));
    mem_release(memory, 123);
    assert_int_equal(taken, 123);
    assert_true(mem_set_allocator(NULL));
    mem_release(mem_allocate(10), 10);
    assert_int_equal(given, 123);
}
