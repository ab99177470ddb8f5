// Timelines of the GPU backends, and the history of failures.
#include "backends/cudalike/timeline/retire.h"
#include "core/stream/failure.h"

#include "test.h"

// --- Retiring ----------------------------------------------------------------

struct counted {
    struct retired entry;
    int number;
};

static int ended[4], ended_count;

static void note_end(struct task *task)
{
    ended[ended_count++] = ((struct counted *)task)->number;
}

RNL_TEST(what_retires_ends_in_the_order_of_values)
{
    struct counted items[] = {{.number = 0}, {.number = 1}, {.number = 2}};
    const uint64_t values[] = {5, 1, 3};
    struct timeline *timeline = timeline_create(1);
    for (int i = 0; i < 3; i++)
        timeline_retire(timeline, values[i], &items[i].entry, note_end);
    timeline_complete(timeline, 4);
    assert_int_equal(ended_count, 2);
    assert_int_equal(ended[0], 1);
    assert_int_equal(ended[1], 2);
    timeline_complete(timeline, 5);
    assert_int_equal(ended_count, 3);
    assert_int_equal(ended[2], 0);
    timeline_release(timeline);
    timelines_trim();
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(what_retires_with_the_same_value_ends_in_the_order_of_calls)
{
    struct counted items[] = {{.number = 0}, {.number = 1}, {.number = 2}};
    struct timeline *timeline = timeline_create(1);
    timeline_retire(timeline, 9, &items[2].entry, note_end);
    timeline_retire(timeline, 4, &items[0].entry, note_end);
    timeline_retire(timeline, 4, &items[1].entry, note_end);
    timeline_complete(timeline, 9);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ended[i], i);
    timeline_release(timeline);
}

RNL_TEST(what_retires_behind_complete_work_ends_at_once)
{
    struct counted item = {.number = 7};
    struct timeline *timeline = timeline_create(1);
    timeline_complete(timeline, 2);
    timeline_retire(timeline, 2, &item.entry, note_end);
    assert_int_equal(ended_count, 1);
    timeline_release(timeline);
}

// --- Points ------------------------------------------------------------------

RNL_TEST(points_of_a_timeline_only_grow)
{
    struct timeline *timeline = timeline_create(1);
    assert_false(point_is_reached((struct point){timeline, 1}));
    timeline_complete(timeline, 3);
    timeline_complete(timeline, 2);
    assert_true(point_is_reached((struct point){timeline, 3}));
    assert_false(point_is_reached((struct point){timeline, 4}));
    assert_true(point_is_reached((struct point){NULL, 9}));
    timeline_release(timeline);
}

RNL_TEST(a_timeline_is_fallible_until_it_is_past_what_may_fail)
{
    struct timeline *timeline = timeline_create(1);
    assert_true(timeline_is_sound(timeline));
    timeline_expect_failure(timeline, 4);
    timeline_expect_failure(timeline, 2);
    timeline_complete(timeline, 3);
    assert_true(timeline_may_fail(timeline));
    timeline_complete(timeline, 4);
    assert_true(timeline_is_sound(timeline));
    timeline_release(timeline);
}

// The memory of one is used again, with nothing left in it.
RNL_TEST(a_timeline_begins_anew)
{
    struct timeline *other = timeline_create(1);
    struct timeline *timeline = timeline_create(2);
    timeline_expect_failure(timeline, 9);
    timeline_complete(timeline, 5);
    timeline_release(timeline);
    struct timeline *again = timeline_create(3);
    assert_ptr_equal(again, timeline);
    assert_true(timeline_is_sound(again));
    assert_false(point_is_reached((struct point){again, 1}));
    timeline_release(again);
    timeline_release(other);
    timelines_trim();
    assert_int_equal(mem_held(), 0);
}

// --- History -----------------------------------------------------------------

static struct failure *new_failure(void)
{
    struct failure *failure = mem_allocate(sizeof *failure);
    atomic_store(&failure->references, 1);
    return failure;
}

static void add(struct failure_history *history, uint64_t from, uint64_t to,
                bool has_room)
{
    struct failure_span *room = has_room ? mem_allocate(sizeof *room) : NULL;
    failure_spans_unref(failure_history_add(
        history, (struct failure_span){new_failure(), from, to, NULL}, room));
}

static bool has_failed(const struct failure_history *history, uint64_t number)
{
    struct failure *failure = failure_history_find(history, number);
    failure_unref(failure);
    return failure != NULL;
}

RNL_TEST(a_history_knows_the_last_failures)
{
    struct failure_history history = {0};
    assert_false(has_failed(&history, 1));
    for (uint64_t i = 1; i <= 20; i++)
        add(&history, 10 * i, 10 * i + 5, true);
    assert_true(has_failed(&history, 200));
    assert_true(has_failed(&history, 205));
    assert_false(has_failed(&history, 206));
    assert_true(has_failed(&history, 120));
    assert_false(has_failed(&history, 110));
    failure_history_finish(&history);
    timelines_trim();
    assert_int_equal(mem_held(), 0);
}

RNL_TEST(without_memory_a_history_knows_the_newest_failure)
{
    struct failure_history history = {0};
    add(&history, 1, 2, true);
    add(&history, 3, 4, true);
    add(&history, 5, 6, false);
    assert_true(has_failed(&history, 5));
    assert_false(has_failed(&history, 3));
    assert_true(has_failed(&history, 1));
    failure_history_finish(&history);
    timelines_trim();
    assert_int_equal(mem_held(), 0);
}
