// Loops, where threads meet again, and orders for lockstep.
#include "parse.h"

#include <stdio.h>
#include <string.h>

// --- Meeting again -----------------------------------------------------------

static void joins_at(const struct kernel *kernel, const char *from,
                     const char *to)
{
    int join = kernel->join_after[block_named(kernel, from)];
    const char *found = join == NONE ? "" : name_of_block(kernel, join);
    if (strcmp(found, to) != 0)
        fail_msg("%s joins at '%s', not '%s'", from, found, to);
}

RNL_TEST(sides_meet_where_both_lead)
{
    struct kernel *kernel = parse_kernel(
        "  %c = call i1 @ask(i32 0)\n"
        "  br label %fork\n"
        "fork:\n  br i1 %c, label %a, label %b\n"
        "a:\n  %d = call i1 @ask(i32 1)\n"
        "  br i1 %d, label %inner, label %join\n"
        "inner:\n  call void @use(i32 1)\n  br label %join\n"
        "b:\n  call void @use(i32 2)\n  br label %join\n"
        "join:\n  call void @use(i32 3)\n  br label %end\n"
        "end:\n  ret void\n");
    joins_at(kernel, "fork", "join");
    joins_at(kernel, "a", "join");
    joins_at(kernel, "join", "end");
    joins_at(kernel, "end", "");
}

// Where lanes that part at a block are sent at once, or "".
static const char *meeting_after(const struct kernel *kernel, const char *from)
{
    int meeting = kernel->reconvergence[block_named(kernel, from)];
    return meeting == NONE ? "" : name_of_block(kernel, meeting);
}

static bool was_sent(const struct kernel *kernel, const char *from,
                     const char *to)
{
    return reconvergence_is_done(kernel, block_named(kernel, from),
                            block_named(kernel, to));
}

RNL_TEST(lanes_are_sent_to_where_they_are_sure_to_meet)
{
    struct kernel *kernel = parse_kernel(
        "  br label %loop\n"
        "loop:\n  %c = call i1 @ask(i32 0)\n"
        "  br i1 %c, label %a, label %join\n"
        "a:\n  %d = call i1 @ask(i32 1)\n"
        "  br i1 %d, label %b, label %join\n"
        "b:\n  call void @use(i32 1)\n  br label %join\n"
        "join:\n  %e = call i1 @ask(i32 2)\n"
        "  br i1 %e, label %loop, label %last\n"
        "last:\n  call void @use(i32 3)\n  br label %end\n"
        "end:\n  ret void\n");
    assert_string_equal(meeting_after(kernel, "loop"), "join");
    assert_string_equal(meeting_after(kernel, "a"), "join");
    assert_true(was_sent(kernel, "a", "join"));
    assert_true(was_sent(kernel, "b", "join"));
    assert_false(was_sent(kernel, "loop", "join"));
    // Lanes leave a loop in different rounds.
    assert_string_equal(meeting_after(kernel, "join"), "");
}

RNL_TEST(lanes_that_may_end_or_come_from_elsewhere_are_not_sent)
{
    struct kernel *kernel = parse_kernel(
        "  br label %fork\n"
        "fork:\n  %c = call i1 @ask(i32 0)\n"
        "  br i1 %c, label %a, label %b\n"
        "a:\n  %d = call i1 @ask(i32 1)\n"
        "  br i1 %d, label %end, label %join\n"
        "b:\n  %e = call i1 @ask(i32 2)\n"
        "  br i1 %e, label %x, label %y\n"
        "x:\n  call void @use(i32 1)\n  br label %z\n"
        "y:\n  %f = call i1 @ask(i32 3)\n"
        "  br i1 %f, label %z, label %join\n"
        "z:\n  call void @use(i32 2)\n  br label %join\n"
        "join:\n  call void @use(i32 3)\n  br label %end\n"
        "end:\n  ret void\n");
    assert_string_equal(meeting_after(kernel, "fork"), "");
    assert_string_equal(meeting_after(kernel, "y"), "");
    assert_string_equal(meeting_after(kernel, "b"), "join");
    assert_true(was_sent(kernel, "z", "join"));
}

RNL_TEST(threads_that_end_are_not_waited_for)
{
    struct kernel *kernel = parse_kernel(
        "  br label %fork\n"
        "fork:\n  %c = call i1 @ask(i32 0)\n"
        "  br i1 %c, label %end, label %work\n"
        "work:\n  call void @use(i32 1)\n  br label %more\n"
        "more:\n  call void @use(i32 2)\n  br label %end\n"
        "end:\n  ret void\n");
    joins_at(kernel, "fork", "work");
    joins_at(kernel, "work", "more");
}

RNL_TEST(threads_that_miss_a_barrier_are_not_waited_for)
{
    struct kernel *kernel = parse_kernel(
        "  br label %fork\n"
        "fork:\n  %c = call i1 @ask(i32 0)\n"
        "  br i1 %c, label %last, label %wait\n"
        "last:\n  call void @use(i32 1)\n  br label %end\n"
        "wait:\n  call void @use(i32 2)\n"
        "  %s = call i32 @rnl_sync(i32 0, i32 0)\n"
        "  call void @use(i32 3)\n  br label %end\n"
        "end:\n  call void @use(i32 4)\n  ret void\n");
    int join = kernel->join_after[block_named(kernel, "fork")];
    assert_int_not_equal(join, NONE);
    assert_true(kernel->blocks[join].reaches_barrier);
}

RNL_TEST(loops_without_an_end_are_taken)
{
    struct kernel *kernel = parse_kernel(
        "  br label %loop\n"
        "loop:\n  %c = call i1 @ask(i32 0)\n"
        "  br i1 %c, label %a, label %b\n"
        "a:\n  call void @use(i32 1)\n  br label %next\n"
        "b:\n  call void @use(i32 2)\n  br label %next\n"
        "next:\n  call void @use(i32 3)\n  br label %loop\n");
    joins_at(kernel, "loop", "next");
    assert_int_equal(kernel->loop_count, 1);
}

// --- Loops -------------------------------------------------------------------

static const char nested[] =
    "  br label %outer\n"
    "outer:\n  call void @use(i32 1)\n  br label %inner\n"
    "inner:\n  %c = call i1 @ask(i32 0)\n"
    "  br i1 %c, label %inner, label %latch\n"
    "latch:\n  %d = call i1 @ask(i32 0)\n"
    "  br i1 %d, label %outer, label %done\n"
    "done:\n  call void @use(i32 2)\n  ret void\n";

RNL_TEST(loops_are_nested)
{
    struct kernel *kernel = parse_kernel(nested);
    int outer = block_named(kernel, "outer"),
        inner = block_named(kernel, "inner");
    assert_int_equal(kernel->loop_count, 2);
    int within = kernel->blocks[inner].loop;
    int around = kernel->blocks[outer].loop;
    assert_int_equal(kernel->loops[within].header, inner);
    assert_int_equal(kernel->loops[within].parent, around);
    assert_int_equal(kernel->loops[around].header, outer);
    assert_int_equal(kernel->loops[around].parent, NONE);
    assert_true(set_has(&kernel->loops[around].blocks, (unsigned)inner));
    assert_false(set_has(&kernel->loops[within].blocks, (unsigned)outer));
    assert_int_equal(kernel->blocks[block_named(kernel, "done")].loop, NONE);
}

// --- Orders ------------------------------------------------------------------

// An order as text: loops in brackets, their header first.
static void write_order(const struct kernel *kernel, const struct order *list,
                        char *text)
{
    for (; list; list = list->next) {
        sprintf(text + strlen(text), "%s%s", list->is_loop ? "[" : "",
                name_of_block(kernel, list->block));
        if (list->body)
            strcat(text, " ");
        write_order(kernel, list->body, text);
        strcat(text, list->is_loop ? "]" : "");
        strcat(text, list->next ? " " : "");
    }
}

static struct order *order_of(const struct kernel *kernel)
{
    struct set all = set_create(kernel->block_count);
    int entry = 0;
    set_fill(&all);
    return cfg_order(kernel, &all, &entry, 1);
}

static void order_is(const char *body, const char *expected)
{
    char text[1024] = "";
    struct kernel *kernel = parse_kernel(body);
    write_order(kernel, order_of(kernel), text);
    assert_string_equal(text, expected);
}

RNL_TEST(orders_put_loops_into_loops)
{
    order_is("start:\n  br label %only\nonly:\n  ret void\n", "start only");
    order_is("start:\n  br label %loop\n"
             "loop:\n  %c = call i1 @ask(i32 0)\n"
             "  br i1 %c, label %back, label %end\n"
             "back:\n  call void @use(i32 1)\n  br label %loop\n"
             "end:\n  ret void\n", "start [loop back] end");
    struct kernel *kernel = parse_kernel(nested);
    const struct order *list = order_of(kernel);
    while (!list->is_loop)
        list = list->next;
    assert_string_equal(name_of_block(kernel, list->block), "outer");
    const struct order *inner = list->body;
    while (!inner->is_loop)
        inner = inner->next;
    assert_string_equal(name_of_block(kernel, inner->block), "inner");
}

// Where each block stands, and the loops around it.
struct places {
    int count, place[64];
    struct set around[64];  // headers
};

static void place(const struct kernel *kernel, const struct order *list,
                  const struct set *around, struct places *places)
{
    for (; list; list = list->next) {
        struct set here = set_copy(around);
        assert_int_equal(places->place[list->block], 0);
        if (list->is_loop)
            set_add(&here, (unsigned)list->block);
        places->place[list->block] = ++places->count;
        places->around[list->block] = here;
        place(kernel, list->body, &here, places);
    }
}

// Every edge leads forward, or to the header of a loop that it starts in.
static void check_order(const struct kernel *kernel)
{
    struct places places = {0};
    struct set none = set_create(kernel->block_count);
    assert_true(kernel->block_count <= 64);
    place(kernel, order_of(kernel), &none, &places);
    assert_int_equal(places.count, kernel->block_count);
    for (unsigned i = 0; i < kernel->block_count; i++)
        for (unsigned s = 0; s < kernel->blocks[i].successor_count; s++) {
            int to = kernel->blocks[i].successors[s];
            assert_true(places.place[to] > places.place[i] ||
                        set_has(&places.around[i], (unsigned)to));
        }
}

RNL_TEST(orders_take_loops_with_two_entries)
{
    struct kernel *kernel = parse_kernel(
        "  %c = call i1 @ask(i32 0)\n  br i1 %c, label %a, label %b\n"
        "a:\n  call void @use(i32 1)\n  br label %b\n"
        "b:\n  %d = call i1 @ask(i32 1)\n"
        "  br i1 %d, label %a, label %end\n"
        "end:\n  ret void\n");
    assert_int_equal(kernel->loop_count, 1);
    check_order(kernel);
}

static uint32_t next_random(uint32_t *state)
{
    return (*state = *state * 1664525 + 1013904223) >> 16;
}

// A graph of ten blocks, any to any.
static struct kernel *random_kernel(uint32_t seed)
{
    char text[4096] = "  br label %b0\n";
    for (int i = 0; i < 10; i++) {
        char *end = text + strlen(text);
        unsigned to = next_random(&seed) % 10, other = next_random(&seed) % 11;
        if (other == 10)
            sprintf(end, "b%d:\n  call void @use(i32 1)\n  ret void\n", i);
        else
            sprintf(end, "b%d:\n  %%c%d = call i1 @ask(i32 1)\n"
                    "  br i1 %%c%d, label %%b%u, label %%b%u\n", i, i, i, to,
                    other);
    }
    return parse_kernel(text);
}

RNL_TEST(orders_of_any_graph_lead_forward)
{
    for (uint32_t seed = 0; seed < 300; seed++) {
        struct kernel *kernel = random_kernel(seed * 7919);
        assert_null(kernel->refusal);
        check_order(kernel);
    }
}

// All ways from a block go through where its sides meet, but for threads that
// end.
RNL_TEST(joins_of_any_graph_are_on_all_ways)
{
    for (uint32_t seed = 0; seed < 100; seed++) {
        struct kernel *kernel = random_kernel(seed * 104729);
        for (unsigned i = 0; i < kernel->block_count; i++) {
            int join = kernel->join_after[i];
            const struct block *block = &kernel->blocks[i];
            if (join == NONE || block->successor_count == 0)
                continue;
            struct set between = cfg_between(
                kernel, block->successors, block->successor_count, join);
            assert_false(set_has(&between, (unsigned)join));
        }
    }
}

RNL_TEST(what_lies_between_ends_at_the_join)
{
    struct kernel *kernel = parse_kernel(nested);
    int from = block_named(kernel, "inner");
    struct set found = cfg_between(kernel, &from, 1,
                                     block_named(kernel, "done"));
    assert_true(set_has(&found, (unsigned)block_named(kernel, "outer")));
    assert_false(set_has(&found, (unsigned)block_named(kernel, "done")));
}
