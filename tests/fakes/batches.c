// Batched streams on the driver: what goes together, and what it costs.
#include "loaded.h"

#include <runnel/interop.h>

#include <sched.h>
#include <stdatomic.h>

enum { COUNT = 16 };

static rnl_context context;
static rnl_stream stream;
static rnl_buffer buffer;

static void begin(void)
{
    fake_open(&context, &stream, RNL_STREAM_BATCHED, &buffer, 8 * COUNT);
}

static void end(void)
{
    fake_close(context, stream, buffer);
}

// One batch: fills of a number each, the last one with `last`.
static void fill(size_t count, int value, int last)
{
    for (size_t i = 0; i < count; i++)
        assert_ok(rnl_enqueue_fill(stream, buffer, 4 * i, 4,
                                   (uint32_t)(i + 1 == count ? last : value),
                                   4));
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
}

static void expect(size_t count, int value, int last)
{
    int ints[COUNT] = {0};
    assert_ok(rnl_copy_from_buffer_and_wait(stream, ints, buffer, 0,
                                            4 * count));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ints[i], i + 1 == count ? last : value);
}

struct calls {
    size_t made, launched, set, plain;
};

static struct calls calls(void)
{
    return (struct calls){
        fake_calls("cuGraphInstantiateWithFlags"), fake_calls("cuGraphLaunch"),
        fake_calls("cuGraphExecMemsetNodeSetParams"),
        fake_calls("cuMemsetD32Async")};
}

static void expect_calls(struct calls before, struct calls more)
{
    struct calls now = calls();
    assert_int_equal(now.made - before.made, more.made);
    assert_int_equal(now.launched - before.launched, more.launched);
    assert_int_equal(now.set - before.set, more.set);
    assert_int_equal(now.plain - before.plain, more.plain);
}

RNL_TEST(a_shape_is_worth_a_graph_the_second_time)
{
    begin();
    struct calls before = calls();
    fill(COUNT, 1, 1);
    expect_calls(before, (struct calls){.plain = COUNT});
    fill(COUNT, 2, 2);
    expect_calls(before, (struct calls){.made = 1, .launched = 1,
                                        .plain = COUNT});
    expect(COUNT, 2, 2);
    end();
}

RNL_TEST(only_what_is_different_is_set)
{
    begin();
    fill(COUNT, 1, 1);
    fill(COUNT, 1, 1);
    struct calls before = calls();
    fill(COUNT, 1, 1);
    expect_calls(before, (struct calls){.launched = 1});
    fill(COUNT, 1, 5);
    expect_calls(before, (struct calls){.launched = 2, .set = 1});
    expect(COUNT, 1, 5);
    fill(COUNT, 3, 3);
    expect_calls(before, (struct calls){.launched = 3, .set = 1 + COUNT});
    expect(COUNT, 3, 3);
    end();
}

// Nothing is left to set where batches of one shape take turns.
RNL_TEST(what_comes_again_as_it_was_has_a_graph_of_its_own)
{
    enum { TURNS = 3, ROUNDS = 6, LEARNT = 4 };
    struct calls before = {0};
    begin();
    for (int round = 0; round < ROUNDS; round++) {
        if (round == LEARNT)
            before = calls();
        for (int value = 1; value <= TURNS; value++) {
            fill(COUNT, value, value);
            expect(COUNT, value, value);
        }
    }
    expect_calls(before,
                 (struct calls){.launched = TURNS * (ROUNDS - LEARNT)});
    end();
}

RNL_TEST(a_graph_in_use_does_not_go_for_another)
{
    enum { LEAST = 8, GRAPHS = 16, ROUNDS = 4, LEARNT = 2 };
    struct calls before = {0};
    begin();
    for (int round = 0; round < ROUNDS; round++) {
        if (round == LEARNT)
            before = calls();
        for (size_t i = 0; i <= GRAPHS; i++)
            fill(LEAST + i, 1, 1);
    }
    expect_calls(before, (struct calls){
                             .launched = GRAPHS * (ROUNDS - LEARNT),
                             .plain = (LEAST + GRAPHS) * (ROUNDS - LEARNT)});
    end();
}

static size_t count_sets(void)
{
    return fake_calls("cuGraphExecMemcpyNodeSetParams") +
           fake_calls("cuGraphExecKernelNodeSetParams");
}

RNL_TEST(nor_of_kernels_and_copies)
{
    enum { PAIRS = 7, TURNS = 2, ROUNDS = 6, LEARNT = 4 };
    rnl_module module;
    rnl_function add;
    size_t before = 0;
    begin();
    assert_ok(fake_module(context, &module));
    assert_ok(rnl_module_function(module, "add", &add));
    for (int round = 0; round < ROUNDS; round++) {
        if (round == LEARNT)
            before = count_sets();
        for (int turn = 0; turn < TURNS; turn++) {
            for (size_t i = 0; i < PAIRS; i++) {
                assert_ok(rnl_enqueue_copy_buffer(
                    stream, buffer, 4 * (i + COUNT), buffer, 4 * i, 4));
                assert_ok(rnl_enqueue_function(
                    stream, add, RNL_LAUNCH(.grid = {1}, .block = {4}),
                    RNL_ARGS(buffer, turn, 4)));
            }
            assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
        }
    }
    assert_int_equal(count_sets(), before);
    assert_true(before > 0);
    assert_ok(rnl_function_release(add));
    assert_ok(rnl_module_release(module));
    end();
}

// Those that were in use go once they are no more.
RNL_TEST(other_shapes_have_graphs_in_the_end)
{
    enum { LEAST = 8, GRAPHS = 16, COUNT_NOW = 30, AGE = 64 };
    begin();
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < GRAPHS; i++)
            fill(LEAST + i, 1, 1);
    for (int i = 0; i < AGE; i++)
        fill(COUNT_NOW, 1, 1);
    struct calls before = calls();
    fill(COUNT_NOW, 1, 1);
    expect_calls(before, (struct calls){.launched = 1});
    end();
}

RNL_TEST(a_few_operations_go_one_by_one)
{
    begin();
    struct calls before = calls();
    for (int i = 0; i < 3; i++)
        fill(7, i, i);
    expect_calls(before, (struct calls){.plain = 21});
    expect(7, 2, 2);
    end();
}

// Each is remembered until it comes again, whatever comes meanwhile.
RNL_TEST(shapes_in_turns_are_worth_a_graph_each)
{
    enum { LEAST = 8, SHAPES = 16 };
    begin();
    struct calls before = calls();
    for (int round = 1; round <= 3; round++) {
        for (size_t i = 0; i < SHAPES; i++)
            fill(LEAST + i, round, round);
        assert_int_equal(calls().made - before.made, round > 1 ? SHAPES : 0);
    }
    assert_int_equal(calls().launched - before.launched, 2 * SHAPES);
    end();
}

// What another batch needs is made in its place, while its launches may be
// under way.
RNL_TEST(many_shapes_take_turns)
{
    begin();
    for (int round = 0; round < 4; round++)
        for (size_t count = 8; count <= COUNT; count++)
            for (int again = 0; again < 2; again++) {
                int value = round + again;
                fill(count, value, (int)count);
                expect(count, value, (int)count);
            }
    end();
}

// The driver refuses: the operations are done nevertheless.
RNL_TEST(a_refused_graph_is_no_failure)
{
    static const char *const names[] = {
        "cuGraphCreate", "cuGraphAddMemsetNode", "cuGraphInstantiateWithFlags",
        "cuGraphLaunch", "cuGraphExecMemsetNodeSetParams",
    };
    begin();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        fill(COUNT, 1, 1);
        fill(COUNT, 2, 2);
        fake_fail(names[i], 1, 1, 1);
        int value = (int)i + 10;
        for (int again = 0; again < 3; again++)
            fill(COUNT, value, value);
        fake_fail(names[i], 0, 0, 0);
        expect(COUNT, value, value);
    }
    end();
}

static void note_status(rnl_status status, void *user_data)
{
    atomic_store((_Atomic int *)user_data, status ? (int)status : -1);
}

// The driver takes the first fill only, and not the word that asks for the
// function.
RNL_TEST(a_refused_host_function_is_called_with_the_failure)
{
    _Atomic int called = 0;
    begin();
    fake_fail("cuMemsetD32Async", 2, 1, 0);
    fake_fail("cuStreamWriteValue32", 1, 1, 1);
    for (int i = 0; i < 2; i++)
        assert_ok(rnl_enqueue_fill(stream, buffer, 0, 4, 1, 4));
    assert_ok(rnl_enqueue_host_function(stream, note_status, (void *)&called));
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(called, RNL_ERROR_INVALID_ARGUMENT);
    fake_fail("cuStreamWriteValue32", 0, 0, 0);
    end();
}

// The progress thread has the copy at that time, and calls the function behind
// it.
RNL_TEST(a_host_function_that_is_refused_behind_a_copy_waits_for_it)
{
    enum { BYTES = 4 << 20 };
    static char values[BYTES];
    static struct fake_gate gate;
    _Atomic int called = 0;
    rnl_buffer large;
    void *native;
    begin();
    assert_ok(rnl_stream_native(stream, &native));
    assert_ok(rnl_buffer_create(context, BYTES, NULL, &large));
    fake_meet("cuMemcpyAsync", fake_hold_call, &gate);
    fake_fail("cuStreamWriteValue32", 2, 1, 1);
    assert_ok(rnl_enqueue_copy_to_buffer(stream, large, 0, values, BYTES));
    assert_ok(rnl_enqueue_host_function(stream, note_status, (void *)&called));
    assert_status(rnl_stream_flush(stream), RNL_ERROR_INVALID_ARGUMENT);
    fake_await_entered(&gate);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(called, 0);
        sched_yield();
    }
    atomic_store(&gate.open, 1);
    assert_status(rnl_stream_synchronize(stream, RNL_FOREVER),
                  RNL_ERROR_INVALID_ARGUMENT);
    assert_int_equal(called, RNL_ERROR_INVALID_ARGUMENT);
    fake_fail("cuStreamWriteValue32", 0, 0, 0);
    assert_ok(rnl_buffer_release(large));
    end();
}

static void enqueue_until_submitted(int count)
{
    struct calls before = calls();
    for (int i = 1; i <= count; i++) {
        assert_ok(rnl_enqueue_fill(stream, buffer, 0, 4, 1, 4));
        struct calls now = calls();
        bool submitted = now.plain != before.plain ||
                         now.launched != before.launched;
        assert_int_equal(submitted, i == count);
    }
}

RNL_TEST(batches_grow_until_a_flush)
{
    static const int sizes[] = {32, 64, 128, 128, 128};
    begin();
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            enqueue_until_submitted(sizes[i]);
        assert_ok(rnl_stream_flush(stream));
    }
    enqueue_until_submitted(32);
    assert_ok(rnl_stream_synchronize(stream, RNL_FOREVER));
    end();
}
