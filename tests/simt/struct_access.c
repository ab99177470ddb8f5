// Members of structs: which are grouped, and how access groups are loaded and
// stored.
#include "parse.h"

#include <string.h>

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static unsigned count(const char *text, const char *part)
{
    unsigned found = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        found++;
    return found;
}

// %to and %from: two arrays; %i: the thread's number.
#define ARRAYS                                                          \
    "  %first = load ptr, ptr %run\n"                                   \
    "  %second.at = getelementptr ptr, ptr %run, i64 1\n"               \
    "  %second = load ptr, ptr %second.at\n"                            \
    "  %to = load ptr, ptr %first\n  %from = load ptr, ptr %second\n"   \
    "  %x = call i32 @rnl_thread_x()\n  %i = zext i32 %x to i64\n"

// Two members of struct %i of such structs.
#define MEMBERS(type, between)                                          \
    "  %a = getelementptr " type ", ptr %from, i64 %i\n"                \
    "  %b = getelementptr i8, ptr %a, i64 4\n"                          \
    "  %v = load i32, ptr %a\n" between "  %w = load i32, ptr %b\n"     \
    "  %p = getelementptr i32, ptr %to, i64 %i\n"                       \
    "  %s = add i32 %v, %w\n  store i32 %s, ptr %p\n  ret void\n"

// --- Bundles -----------------------------------------------------------------

static const struct access_group *group_of(const struct kernel *kernel,
                                      const char *name)
{
    return map_get(&kernel->access_groups, value_named(kernel, name));
}

static bool are_together(const char *body)
{
    struct kernel *kernel = parse_kernel(body);
    if (kernel->refusal)
        fail_msg("%s", kernel->refusal);
    const struct access_group *one = group_of(kernel, "v");
    assert_non_null(one);
    return one == group_of(kernel, "w");
}

RNL_TEST(loads_beside_each_other_are_bundled)
{
    assert_true(are_together(ARRAYS MEMBERS("{i32, i32}", "")));
    struct kernel *kernel = parse_kernel(ARRAYS MEMBERS("{i32, i32}", ""));
    const struct access_group *group = group_of(kernel, "v");
    assert_int_equal(group->count, 2);
    assert_int_equal(group->high - group->low, 8);
}

RNL_TEST(what_may_write_parts_bundles)
{
    assert_false(are_together(
        ARRAYS MEMBERS("{i32, i32}", "  store i32 1, ptr %to\n")));
    assert_false(are_together(
        ARRAYS MEMBERS("{i32, i32}", "  call void @use(i32 1)\n")));
    assert_false(
        are_together(ARRAYS MEMBERS("{i32, i32}", "  fence acquire\n")));
    assert_true(are_together(
        ARRAYS MEMBERS("{i32, i32}", "  %y = call i32 @rnl_thread_x()\n")));
}

// Numbers n and m of an array.
static bool are_numbers_together(const char *n, const char *m)
{
    return are_together(simt_format(
        "%s%s%s  %%a = getelementptr i32, ptr %%from, i64 %%n\n"
        "  %%b = getelementptr i32, ptr %%from, i64 %%m\n"
        "  %%v = load i32, ptr %%a\n  %%w = load i32, ptr %%b\n"
        "  call void @use(i32 %%v)\n  call void @use(i32 %%w)\n  ret void\n",
        ARRAYS "  %k = mul nsw i32 %x, 3\n", n, m));
}

RNL_TEST(numbers_are_compared_as_far_as_they_cannot_wrap)
{
    static const char first[] = "  %n = sext i32 %k to i64\n";
    assert_true(are_numbers_together(
        first, "  %l = add nsw i32 %k, 1\n  %m = sext i32 %l to i64\n"));
    assert_false(are_numbers_together(
        first, "  %l = add i32 %k, 1\n  %m = sext i32 %l to i64\n"));
    assert_false(are_numbers_together(
        first, "  %l = add nuw i32 %k, 1\n  %m = zext i32 %l to i64\n"));
    assert_true(are_numbers_together(
        first, "  %l = sext i32 %k to i64\n  %m = add i64 %l, -2\n"));
    assert_true(are_numbers_together(
        first, "  %l = or disjoint i32 %k, 1\n  %m = sext i32 %l to i64\n"));
    assert_false(are_numbers_together(
        first, "  %l = or i32 %k, 1\n  %m = sext i32 %l to i64\n"));
    assert_false(are_numbers_together(
        first, "  %l = add nsw i32 %k, 50\n  %m = sext i32 %l to i64\n"));
}

// --- Rows --------------------------------------------------------------------

static char *code(const char *body)
{
    return code_for("x86-64-v4", body);
}

RNL_TEST(structs_in_a_row_are_loaded_whole)
{
    char *text = code(ARRAYS MEMBERS("{i32, i32}", ""));
    assert_true(count(text, "load <32 x i32>") >= 2);
    assert_true(has(text, "shufflevector <32 x i32>"));
}

RNL_TEST(one_of_many_members_is_loaded_lane_by_lane)
{
    char *text = code(
        ARRAYS "  %a = getelementptr [12 x i32], ptr %from, i64 %i\n"
               "  %v = load i32, ptr %a\n"
               "  %p = getelementptr i32, ptr %to, i64 %i\n"
               "  store i32 %v, ptr %p\n  ret void\n");
    assert_true(has(text, ", i64 1488\n"));  // the last lane's
    assert_false(has(text, "load <32 x i32>"));
}

#define STORES(size, more)                                              \
    ARRAYS "  %a = getelementptr [" size " x i32], ptr %to, i64 %i\n"   \
           "  %b = getelementptr i8, ptr %a, i64 4\n"                   \
           "  store i32 %x, ptr %a\n" more                              \
           "  store i32 7, ptr %b\n  ret void\n"

RNL_TEST(structs_in_a_row_are_stored_whole)
{
    assert_false(has(code(STORES("2", "")), "masked.scatter.v32i32"));
    assert_true(has(code(STORES("2", "")), "store <32 x i32>"));
}

RNL_TEST(what_nobody_stores_is_left_alone)
{
    char *text = code(STORES("3", ""));
    assert_false(has(text, "store <32 x i32>"));
    assert_true(has(text, "masked.scatter.v32i64"));
}

RNL_TEST(what_may_read_parts_stores)
{
    char *text = code(STORES("2", "  %v = load i32, ptr %from\n"
                                  "  call void @use(i32 %v)\n"));
    assert_true(has(text, "masked.scatter.v32i32"));
}

// --- Likely rows -------------------------------------------------------------

// Number %i of what may wrap.
#define MAY_WRAP                                                        \
    ARRAYS "  %third.at = getelementptr ptr, ptr %run, i64 2\n"         \
           "  %third = load ptr, ptr %third.at\n"                       \
           "  %n = load i32, ptr %third\n  %m = add i32 %n, %x\n"       \
           "  %k = zext i32 %m to i64\n"

RNL_TEST(structs_that_are_likely_a_row_are_tested_for_it)
{
    char *text = code(MAY_WRAP
        "  %a = getelementptr {i32, i32}, ptr %from, i64 %k\n"
        "  %b = getelementptr i8, ptr %a, i64 4\n"
        "  %v = load i32, ptr %a\n  %w = load i32, ptr %b\n"
        "  %p = getelementptr i32, ptr %to, i64 %i\n"
        "  %s = add i32 %v, %w\n  store i32 %s, ptr %p\n  ret void\n");
    assert_true(has(text, "icmp eq ptr"));
    assert_int_equal(count(text, "load <32 x i32>"), 2);
    assert_true(has(text, "shufflevector <32 x i32>"));
    assert_true(has(text, "masked.gather.v32i64"));
    assert_true(has(text, "phi <32 x i32>"));
}

RNL_TEST(structs_that_are_likely_a_row_are_stored_whole)
{
    char *text = code(MAY_WRAP
        "  %a = getelementptr {i32, i32}, ptr %to, i64 %k\n"
        "  %b = getelementptr i8, ptr %a, i64 4\n"
        "  store i32 %x, ptr %a\n  store i32 7, ptr %b\n  ret void\n");
    assert_true(has(text, "store <32 x i32>"));
    assert_true(has(text, "masked.scatter.v32i64"));
}

RNL_TEST(structs_of_rows_of_a_thread_are_not_tested)
{
    char *text = code(MAY_WRAP
        "  %r = mul i32 %n, %x\n  %q = add i32 %r, %x\n"
        "  %j = zext i32 %q to i64\n"
        "  %a = getelementptr {i32, i32}, ptr %from, i64 %j\n"
        "  %b = getelementptr i8, ptr %a, i64 4\n"
        "  %v = load i32, ptr %a\n  %w = load i32, ptr %b\n"
        "  call void @use(i32 %v)\n  call void @use(i32 %w)\n"
        "  ret void\n");
    assert_false(has(text, "load <32 x i32>"));
    assert_true(has(text, "masked.gather.v32i64"));
}

// --- All over ----------------------------------------------------------------

#define ANYWHERE                                                        \
    ARRAYS "  %c = getelementptr i32, ptr %from, i64 %i\n"              \
           "  %k = load i64, ptr %c, align 4\n"                         \
           "  %a = getelementptr i32, ptr %from, i64 %k\n"              \
           "  %v = load i32, ptr %a\n"

RNL_TEST(two_members_are_one_word)
{
    char *text = code(
        ANYWHERE "  %b = getelementptr i8, ptr %a, i64 4\n"
                 "  %w = load i32, ptr %b\n  call void @use(i32 %v)\n"
                 "  call void @use(i32 %w)\n  ret void\n");
    assert_true(has(text, "masked.gather.v32i64"));
    assert_false(has(text, "masked.gather.v32i32"));
}

RNL_TEST(members_apart_are_no_word)
{
    char *text = code(
        ANYWHERE "  %b = getelementptr i8, ptr %a, i64 8\n"
                 "  %w = load i32, ptr %b\n  call void @use(i32 %v)\n"
                 "  call void @use(i32 %w)\n  ret void\n");
    assert_true(has(text, "masked.gather.v32i32"));
}

// --- At one place ------------------------------------------------------------

#define ATOMIC(operation, type, value, more)                            \
    ARRAYS "  %v = atomicrmw " operation " ptr %to, " type " " value    \
           " monotonic\n" more "  ret void\n"

RNL_TEST(lanes_at_one_place_are_reduced)
{
    static const char *const operations[][2] = {
        {"add", "reduce.add"}, {"sub", "reduce.add"}, {"and", "reduce.and"},
        {"or", "reduce.or"}, {"xor", "reduce.xor"}, {"max", "reduce.smax"},
        {"min", "reduce.smin"}, {"umax", "reduce.umax"},
        {"umin", "reduce.umin"},
    };
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++) {
        char *text = code(simt_format(
            "%s  %%v = atomicrmw %s ptr %%to, i32 %%x monotonic\n"
            "  ret void\n", ARRAYS, operations[i][0]));
        assert_true(has(text, operations[i][1]));
        assert_true(has(text, simt_format("atomicrmw %s", operations[i][0])));
    }
}

RNL_TEST(sums_of_floats_are_made_in_order)
{
    char *text = code(ARRAYS
        "  %f = uitofp i32 %x to float\n"
        "  %v = atomicrmw fadd ptr %to, float %f monotonic\n  ret void\n");
    assert_true(has(text, "reduce.fadd"));
    assert_false(has(text, "reassoc"));
    assert_true(has(text, "cmpxchg"));
}

RNL_TEST(each_lane_gets_what_was_there_before_it)
{
    char *text = code(ATOMIC("add", "i32", "%x", "  call void @use(i32 %v)\n"));
    assert_true(has(text, "reduce.add"));
    text = code(ATOMIC("max", "i32", "%x", "  call void @use(i32 %v)\n"));
    assert_false(has(text, "reduce.smax"));
}

RNL_TEST(lanes_at_places_of_their_own_are_not_reduced)
{
    char *text = code(
        ARRAYS "  %p = getelementptr i32, ptr %to, i64 %i\n"
               "  %v = atomicrmw add ptr %p, i32 %x monotonic\n  ret void\n");
    assert_false(has(text, "reduce.add"));
}
