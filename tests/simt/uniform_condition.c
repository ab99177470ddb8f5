// Conditions on which lanes agree, asked of numbers.
#include "parse.h"

#include <string.h>

// A branch on %c. The names of its blocks tell how it is asked.
static bool is_asked_of_numbers(const char *condition)
{
    char *text = code_for("x86-64-v4", simt_format(
        "  %%from = load ptr, ptr %%run\n  %%to = load ptr, ptr %%from\n"
        "  %%n = load i32, ptr %%from\n  %%x = call i32 @rnl_thread_x()\n"
        "  %%y = call i32 @rnl_grid_size_x()\n"
        "  %%b = call i32 @rnl_block_x()\n  %%at = add i32 %%b, %%x\n"
        "  %%i = zext i32 %%x to i64\n"
        "  %%p = getelementptr i32, ptr %%to, i64 %%i\n%s"
        "  br i1 %%c, label %%then, label %%end\n"
        "then:\n  call void @use(i32 %%x)\n  store i32 1, ptr %%p\n"
        "  br label %%end\nend:\n  ret void\n", condition));
    // Only masks of lanes that went apart are made numbers.
    const char *full = strstr(text, "begin.full:");
    assert_non_null(full);
    const char *branch = strstr(full, "  br i1 ");
    const char *bits = strstr(full, "bitcast <32 x i1>");
    return !bits || bits > branch;
}

RNL_TEST(whether_lanes_are_at_a_place_is_asked_of_the_first)
{
    assert_true(is_asked_of_numbers("  %c = icmp eq i32 %at, %n\n"));
    assert_true(is_asked_of_numbers("  %c = icmp ne i32 %at, 0\n"));
    assert_true(is_asked_of_numbers("  %c = icmp slt i32 %at, %n\n"));
    assert_false(is_asked_of_numbers("  %m = mul i32 %at, %at\n"
                                     "  %c = icmp eq i32 %m, %n\n"));
}

#define EITHER "  %d = icmp uge i32 %at, %n\n  %f = icmp eq i32 %y, %n\n"

RNL_TEST(unions_and_intersections_are_asked_of_their_sides)
{
    assert_true(is_asked_of_numbers(EITHER "  %c = or i1 %d, %f\n"));
    assert_true(is_asked_of_numbers(EITHER "  %c = and i1 %d, %f\n"));
    assert_true(is_asked_of_numbers(
        EITHER "  %c = select i1 %f, i1 true, i1 %d\n"));
    assert_true(is_asked_of_numbers(
        EITHER "  %c = select i1 %d, i1 %f, i1 false\n"));
    assert_false(is_asked_of_numbers(EITHER "  %c = xor i1 %d, %f\n"));
}
