// core/buffer: what slices of slices keep.
#include "unit.h"

#include "core/object/handle.h"
#include "core/object/object.h"
#include "core/object/release.h"

enum { SLICES = 1000, SIZE = 4096 };

static struct object *object_of(rnl_buffer buffer)
{
    struct object *object = object_find(buffer, OBJECT_BUFFER);
    assert_non_null(object);
    return object;
}

static rnl_buffer parent_of(rnl_buffer buffer)
{
    rnl_buffer_info info = {.struct_size = sizeof info};
    assert_ok(rnl_buffer_get_info(buffer, &info));
    return info.parent;
}

// Gives up `buffer`, a slice, for a slice of it.
static void move_on(rnl_buffer buffer)
{
    rnl_buffer slice = NULL;
    struct object *old = object_of(buffer);
    uint32_t references = object_references(old);
    assert_ok(rnl_buffer_slice(buffer, 1, 8, &slice));
    assert_ptr_equal(parent_of(slice), buffer);
    assert_int_equal(object_references(old), references);
    assert_ok(rnl_buffer_release(buffer));
    assert_int_equal(object_references(old), 0);
    assert_null(parent_of(slice));
    assert_ok(rnl_buffer_release(slice));
}

RNL_TEST(a_slice_of_a_slice_keeps_only_the_whole)
{
    rnl_context context = NULL;
    rnl_buffer whole = NULL, window = NULL;
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_buffer_create(context, SIZE, NULL, &whole));
    struct object *object = object_of(whole);
    assert_ok(rnl_buffer_slice(whole, 0, SIZE, &window));
    for (size_t i = 1; i <= SLICES; i++) {
        rnl_buffer next = NULL;
        struct object *old = object_of(window);
        assert_ok(rnl_buffer_slice(window, 1, SIZE - i, &next));
        assert_ok(rnl_buffer_release(window));
        assert_int_equal(object_references(old), 0);
        // The caller's, and the only slice's.
        assert_int_equal(object_references(object), 2);
        window = next;
    }
    assert_ok(rnl_buffer_release(whole));
    assert_int_equal(object_references(object), 1);
    assert_ok(rnl_buffer_release(window));
    assert_int_equal(object_references(object), 0);
    assert_ok(rnl_context_release(context));
}

RNL_TEST(a_slice_names_its_parent_as_long_as_that_lives)
{
    rnl_context context = NULL;
    rnl_buffer whole = NULL, slice = NULL;
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_buffer_create(context, SIZE, NULL, &whole));
    assert_ok(rnl_buffer_slice(whole, 0, SIZE, &slice));
    move_on(slice);
    assert_int_equal(object_references(object_of(whole)), 1);
    assert_ok(rnl_buffer_slice(whole, 0, SIZE, &slice));
    assert_ok(rnl_buffer_release(whole));
    // The whole buffer's memory lives, but nobody has its handle.
    assert_null(parent_of(slice));
    assert_ok(rnl_buffer_release(slice));
    assert_ok(rnl_context_release(context));
}

static void count_call(void *pointer, size_t size, void *user_data)
{
    (void)pointer, (void)size;
    ++*(int *)user_data;
}

RNL_TEST(a_deleter_waits_for_the_last_slice_of_a_slice)
{
    static char memory[SIZE];
    int calls = 0;
    rnl_context context = NULL;
    rnl_buffer whole = NULL, slice = NULL, inner = NULL;
    assert_ok(rnl_context_open("cpu", 0, NULL, &context));
    assert_ok(rnl_buffer_wrap(context, memory, SIZE,
                              RNL_WRAP_OPTIONS(.deleter = count_call,
                                               .user_data = &calls),
                              &whole));
    assert_ok(rnl_buffer_slice(whole, 64, 64, &slice));
    assert_ok(rnl_buffer_slice(slice, 32, 32, &inner));
    assert_ok(rnl_buffer_release(whole));
    assert_ok(rnl_buffer_release(slice));
    assert_int_equal(calls, 0);
    assert_ok(rnl_buffer_release(inner));
    assert_int_equal(calls, 1);
    assert_ok(rnl_context_release(context));
}
