// Two devices: access that is refused, pools of both, and one that is lost.
// What real devices do as well is in tests/conformance/peers.c.
#include "loaded.h"

#include <string.h>

enum { COUNT = 1024, SIZE = COUNT * (int)sizeof(int) };

struct side {
    rnl_context context;
    rnl_stream stream;
    rnl_buffer buffer;
};

static struct side sides[2];

static void open_both(void)
{
    fake_load();
    for (size_t i = 0; i < 2; i++) {
        struct side *side = &sides[i];
        assert_ok(rnl_context_open("cuda", i, NULL, &side->context));
        assert_ok(rnl_stream_create(side->context, NULL, &side->stream));
        assert_ok(rnl_buffer_create(side->context, SIZE, NULL,
                                    &side->buffer));
        assert_ok(rnl_fill_and_wait(side->stream, side->buffer, 0, SIZE, i,
                                    4));
    }
}

static void close_both(void)
{
    for (int i = 0; i < 2; i++) {
        assert_ok(rnl_buffer_release(sides[i].buffer));
        assert_ok(rnl_stream_release(sides[i].stream));
        assert_ok(rnl_context_release(sides[i].context));
    }
    fake_expect_empty();
}

static void expect_all(const struct side *side, int value)
{
    int ints[COUNT] = {0};
    assert_ok(rnl_copy_from_buffer_and_wait(side->stream, ints, side->buffer,
                                            0, SIZE));
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(ints[i], value);
}

// Holds a stream until its word is 1.
static rnl_buffer shut(const struct side *side)
{
    rnl_buffer word = NULL;
    assert_ok(rnl_buffer_create(side->context, 64,
                                RNL_BUFFER_OPTIONS(.zeroed = true), &word));
    assert_ok(rnl_enqueue_wait_value32(side->stream, word, 0, 1,
                                       RNL_WAIT_EQ));
    return word;
}

RNL_TEST(peers_reach_each_other_once_it_is_asked_for)
{
    bool can = false;
    open_both();
    for (int i = 0; i < 2; i++) {
        rnl_context one = sides[i].context, other = sides[!i].context;
        assert_ok(rnl_context_can_access_peer(one, other, &can));
        assert_true(can);
        assert_ok(rnl_context_enable_peer(one, other));
        assert_ok(rnl_context_enable_peer(one, other));
    }
    assert_int_equal(fake_calls("cuCtxEnablePeerAccess"), 2);
    close_both();
}

RNL_TEST(access_that_the_driver_refuses_is_an_error)
{
    open_both();
    fake_fail("cuCtxEnablePeerAccess", 1, 217, 0);
    assert_status(
        rnl_context_enable_peer(sides[0].context, sides[1].context),
        RNL_ERROR_DRIVER);
    assert_non_null(strstr(rnl_last_error()->message, "access to a peer"));
    assert_ok(rnl_context_enable_peer(sides[0].context, sides[1].context));
    close_both();
}

// Contexts of one device share the driver's context, and its access.
RNL_TEST(the_driver_is_told_when_the_last_one_gives_access_up)
{
    rnl_context second = NULL;
    open_both();
    assert_ok(rnl_context_open("cuda", 0, NULL, &second));
    assert_ok(rnl_context_enable_peer(sides[0].context, sides[1].context));
    assert_ok(rnl_context_enable_peer(second, sides[1].context));
    assert_int_equal(fake_calls("cuCtxEnablePeerAccess"), 2);
    assert_ok(rnl_context_disable_peer(sides[0].context, sides[1].context));
    assert_int_equal(fake_calls("cuCtxDisablePeerAccess"), 0);
    assert_ok(rnl_context_disable_peer(second, sides[1].context));
    assert_int_equal(fake_calls("cuCtxDisablePeerAccess"), 1);
    assert_ok(rnl_context_enable_peer(second, sides[1].context));
    assert_ok(rnl_context_release(second));  // with which its access goes
    assert_ok(rnl_context_enable_peer(sides[0].context, sides[1].context));
    assert_ok(rnl_context_disable_peer(sides[0].context, sides[1].context));
    close_both();
}

RNL_TEST(access_that_others_enabled_is_left)
{
    open_both();
    fake_fail("cuCtxEnablePeerAccess", 1, 704, 0);
    assert_ok(rnl_context_enable_peer(sides[0].context, sides[1].context));
    assert_ok(rnl_context_disable_peer(sides[0].context, sides[1].context));
    assert_int_equal(fake_calls("cuCtxDisablePeerAccess"), 0);
    close_both();
}

RNL_TEST(access_that_the_driver_does_not_take_back_is_an_error)
{
    open_both();
    assert_ok(rnl_context_enable_peer(sides[0].context, sides[1].context));
    fake_fail("cuCtxDisablePeerAccess", 1, 705, 0);
    assert_status(
        rnl_context_disable_peer(sides[0].context, sides[1].context),
        RNL_ERROR_DRIVER);
    assert_non_null(strstr(rnl_last_error()->message, "access to a peer"));
    close_both();
}

RNL_TEST(each_device_has_a_pool_of_its_own)
{
    rnl_buffer buffer = NULL;
    open_both();
    assert_ok(rnl_buffer_create(sides[1].context, 1 << 20, NULL, &buffer));
    assert_ok(rnl_buffer_release(buffer));
    size_t calls = fake_calls("cuMemAlloc");
    assert_ok(rnl_buffer_create(sides[1].context, 1 << 20, NULL, &buffer));
    assert_int_equal(fake_calls("cuMemAlloc"), calls);
    assert_ok(rnl_buffer_release(buffer));
    assert_ok(rnl_buffer_create(sides[0].context, 1 << 20, NULL, &buffer));
    assert_int_equal(fake_calls("cuMemAlloc"), calls + 1);
    assert_ok(rnl_buffer_release(buffer));
    close_both();
}

RNL_TEST(a_lost_device_leaves_the_other_alone)
{
    open_both();
    rnl_buffer word = shut(&sides[0]);
    fake_break(0, 700);
    assert_status(rnl_stream_synchronize(sides[0].stream, RNL_FOREVER),
                  RNL_ERROR_DEVICE_LOST);
    assert_ok(rnl_fill_and_wait(sides[1].stream, sides[1].buffer, 0, SIZE, 3,
                                4));
    expect_all(&sides[1], 3);
    assert_ok(rnl_buffer_release(word));
    close_both();
}
