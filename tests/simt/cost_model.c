// Where threads one by one are faster than lanes.
#include "parse.h"

static const struct variant rows = {.width = 32, .rows = true, .name = "rows"};

static bool gain_if(const char *body, bool waits)
{
    struct kernel *kernel = parse_kernel(body);
    if (kernel->refusal)
        fail_msg("%s", kernel->refusal);
    struct shapes shapes = {.kernel = kernel, .variant = &rows};
    kernel->waits = waits;
    shapes_find(&shapes);
    return lanes_are_profitable(&shapes);
}

static bool gain(const char *body)
{
    return gain_if(body, false);
}

// %p: the thread's place in an array; %from: another array.
#define PLACES                                                          \
    "  %first = load ptr, ptr %run\n"                                   \
    "  %second.at = getelementptr ptr, ptr %run, i64 1\n"               \
    "  %second = load ptr, ptr %second.at\n"                            \
    "  %to = load ptr, ptr %first\n  %from = load ptr, ptr %second\n"   \
    "  %t = call i32 @rnl_thread_x()\n  %i = zext i32 %t to i64\n"      \
    "  %p = getelementptr i32, ptr %to, i64 %i\n"

// A loop from the round %n to the next one, %m, with a number %old that becomes
// %new, until %c does not hold.
#define LOOP(round, until) LOOP_BEHIND("", round, until)
#define LOOP_BEHIND(before, round, until)                               \
    PLACES before "  br label %loop\nloop:\n"                           \
    "  %n = phi i32 [ 0, %0 ], [ %m, %loop ]\n"                         \
    "  %old = phi i32 [ %t, %0 ], [ %new, %loop ]\n" round              \
    "  %m = add i32 %n, 1\n" until                                      \
    "  br i1 %c, label %loop, label %end\n"                             \
    "end:\n  store i32 %new, ptr %p\n  ret void\n"

#define ALL_AGAIN "  %c = icmp ult i32 %m, 16\n"
#define EACH_AGAIN "  %c = icmp ugt i32 %new, 9\n"
#define WORK                                                            \
    "  %w1 = mul i32 %t, 3\n  %w2 = xor i32 %w1, 9\n"                   \
    "  %w3 = mul i32 %w2, 5\n  %w4 = xor i32 %w3, 7\n"                  \
    "  %w5 = mul i32 %w4, 5\n  %w6 = xor i32 %w5, 7\n"                  \
    "  %w7 = mul i32 %w6, 5\n  %w8 = xor i32 %w7, 7\n"                  \
    "  store i32 %w8, ptr %p\n"
#define BIT_AGAIN "  %bit = and i32 %new, 1\n  %c = icmp ne i32 %bit, 0\n"

// What is at a place in an array of another size.
#define FROM(place)                                                     \
    "  %kk = mul i32 " place ", " place "\n"                             \
    "  %k = and i32 %kk, 255\n"                                         \
    "  %q = getelementptr i32, ptr %from, i32 %k\n"                     \
    "  %new = load i32, ptr %q\n"
#define AT(place) FROM(place) "  store i32 %n, ptr %q\n"

#define FLOATS(operation)                                               \
    "  %f = uitofp i32 %old to float\n"                                 \
    "  %g = " operation " float %f, 3.0\n"                              \
    "  %h = " operation " float %f, %g\n"                               \
    "  %j = " operation " float %h, %g\n"                               \
    "  %o = " operation " float %j, %h\n"

// Quotients of floats are single instructions of vectors.
RNL_TEST(quotients_of_floats_cost_lanes_little)
{
    assert_true(gain(LOOP(AT("%old") FLOATS("fdiv"), EACH_AGAIN)));
    assert_false(gain(LOOP(AT("%old") FLOATS("fadd"), EACH_AGAIN)));
}

RNL_TEST(lanes_do_not_gain_where_each_goes_its_way)
{
    assert_false(gain(LOOP(AT("%old"), EACH_AGAIN)));
    // By the same way, or for as long.
    assert_true(gain(LOOP(FROM("%n"), EACH_AGAIN)));
    assert_true(gain(LOOP(FROM("%old"), ALL_AGAIN)));
}

// A bit that is found anew says nothing about how many rounds there are.
RNL_TEST(bits_of_each_round_do_not_limit_loops)
{
    assert_false(gain(LOOP_BEHIND(WORK, AT("%old"), BIT_AGAIN)));
}

RNL_TEST(lanes_gain_where_they_do_much_else)
{
    assert_true(gain(LOOP(
        "  %a = mul i32 %old, 3\n  %b = xor i32 %a, %n\n"
        "  %d = mul i32 %b, 5\n  %e = xor i32 %d, %n\n"
        "  %f = mul i32 %e, 7\n  %g = xor i32 %f, %n\n"
        "  %h = mul i32 %g, 3\n  %j = xor i32 %h, %n\n"
        "  %l = mul i32 %j, 5\n  %o = xor i32 %l, %n\n"
        "  %r = mul i32 %o, 7\n  %s = xor i32 %r, %n\n"
        "  %u = mul i32 %s, 5\n  %v = xor i32 %u, %n\n"
        "  %w = mul i32 %v, 7\n  %x = xor i32 %w, %n\n" FROM("%x"),
        EACH_AGAIN)));
}

RNL_TEST(lanes_gain_where_threads_wait)
{
    assert_true(gain_if(LOOP(AT("%old"), EACH_AGAIN), true));
}

// Sides with divisions, of which each thread goes through one.
#define SIDE(name, next)                                                \
    name ":\n  %d" name " = udiv i32 100000, %" next                    \
    "\n  %e" name " = udiv i32 200000, %d" name                         \
    "\n  store i32 %e" name ", ptr %p\n  br label %end\n"

#define SIDES(what)                                                     \
    PLACES "  %v = load i32, ptr %p\n  %x = or i32 " what ", 1\n"       \
    "  %c1 = icmp ugt i32 %x, 9\n  %c2 = icmp ugt i32 %x, 5\n"         \
    "  %c3 = icmp ugt i32 %x, 15\n"                                     \
    "  br i1 %c1, label %high, label %low\n"                            \
    "high:\n  br i1 %c3, label %a, label %b\n"                         \
    "low:\n  br i1 %c2, label %c, label %d\n"                          \
    SIDE("a", "x") SIDE("b", "x") SIDE("c", "x") SIDE("d", "x")         \
    "end:\n  ret void\n"

RNL_TEST(lanes_do_not_gain_where_they_part_into_many)
{
    assert_false(gain(SIDES("%v")));
    assert_true(gain(SIDES("1")));
}

RNL_TEST(lanes_do_not_gain_by_calls_for_each)
{
    assert_false(gain(
        PLACES "  %v = load i32, ptr %p\n  %c = icmp ugt i32 %v, 9\n"
        "  br i1 %c, label %then, label %end\n"
        "then:\n  call void @use(i32 %v)\n  call void @use(i32 1)\n"
        "  br label %end\n"
        "end:\n  store i32 1, ptr %p\n  ret void\n"));
}

RNL_TEST(lanes_gain_where_there_is_little_to_do)
{
    assert_true(gain(PLACES "  %v = load i32, ptr %p\n"
                     "  %q = getelementptr i32, ptr %from, i32 %v\n"
                     "  store i32 %v, ptr %q\n  ret void\n"));
    assert_true(gain(PLACES "  store i32 1, ptr %from\n  ret void\n"));
}

// A thread walks along a row of its own, whose length is an argument: each lane
// accesses another line. `%r` is the number of the row.
#define ROWS_OF(row, work)                                              \
    "  %third.at = getelementptr ptr, ptr %run, i64 2\n"                \
    "  %third = load ptr, ptr %third.at\n"                              \
    "  %length = load i32, ptr %third\n" PLACES                         \
    "  %begin = mul i32 " row ", %length\n  br label %loop\nloop:\n"    \
    "  %n = phi i32 [ " row ", %0 ], [ %m, %loop ]\n"                   \
    "  %k = add i32 %begin, %n\n"                                       \
    "  %q = getelementptr i32, ptr %from, i32 %k\n"                     \
    "  %old = load i32, ptr %q\n" work "  store i32 %new, ptr %q\n"    \
    "  %m = add i32 %n, 1\n  %c = icmp ult i32 %m, %length\n"          \
    "  br i1 %c, label %loop, label %end\nend:\n  ret void\n"
#define LITTLE "  %new = xor i32 %old, 5\n"

RNL_TEST(lanes_do_not_gain_where_threads_walk_along_rows)
{
    assert_false(gain(ROWS_OF("%t", LITTLE)));
    // All lanes in one row.
    assert_true(gain(ROWS_OF("9", LITTLE)));
}

// A string of each thread's own, of which a sum is made.
#define SUM_OF(step)                                                    \
    PLACES "  %first.k = load i32, ptr %p\n  br label %loop\nloop:\n"   \
    "  %n = phi i32 [ %first.k, %0 ], [ %m, %loop ]\n"                  \
    "  %old = phi i32 [ 7, %0 ], [ %new, %loop ]\n"                     \
    "  %q = getelementptr i32, ptr %from, i32 %n\n"                     \
    "  %v = load i32, ptr %q\n" step                                    \
    "  %m = add i32 %n, 1\n  %c = icmp ugt i32 %v, 9\n"                \
    "  br i1 %c, label %loop, label %end\nend:\n"                      \
    "  store i32 %new, ptr %p\n  ret void\n"

// Each round of a thread waits for the product of the last one.
RNL_TEST(lanes_gain_where_rounds_wait_for_each_other)
{
    assert_false(gain(SUM_OF("  %new = add i32 %old, %v\n")));
    assert_true(gain(SUM_OF("  %a = xor i32 %old, %v\n"
                            "  %new = mul i32 %a, 16777619\n")));
}
