// Divisions of numbers that differ between lanes.
#include "parse.h"

#include <string.h>

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

// %w and %z: numbers of 64 bits that the thread finds in two arrays.
static char *divided(const char *divisions)
{
    return code_for("x86-64-v4", simt_format(
        "  %%first = load ptr, ptr %%run\n"
        "  %%second.at = getelementptr ptr, ptr %%run, i64 1\n"
        "  %%second = load ptr, ptr %%second.at\n"
        "  %%to = load ptr, ptr %%first\n  %%from = load ptr, ptr %%second\n"
        "  %%x = call i32 @rnl_thread_x()\n  %%i = zext i32 %%x to i64\n"
        "  %%p = getelementptr i64, ptr %%to, i64 %%i\n"
        "  %%q = getelementptr i64, ptr %%from, i64 %%i\n"
        "  %%w = load i64, ptr %%p\n  %%z = load i64, ptr %%q\n"
        "%s  ret void\n", divisions));
}

#define BY(opcode, divisor)                         \
    "  %d = " opcode " i64 %w, " divisor "\n"       \
    "  store i64 %d, ptr %p\n"

RNL_TEST(wide_divisions_by_constants_are_products)
{
    char *text = divided(BY("sdiv", "-1000003"));
    assert_false(has(text, "sdiv"));
    assert_true(has(text, "mul <32 x i64>"));
    assert_false(has(divided(BY("urem", "10")), "urem"));
}

RNL_TEST(wide_divisions_by_powers_of_two_stay)
{
    assert_true(has(divided(BY("sdiv", "8")), "sdiv <32 x i64>"));
    assert_true(has(divided(BY("sdiv", "-8")), "sdiv <32 x i64>"));
    assert_true(has(divided(BY("udiv", "-9223372036854775808")),
                    "udiv <32 x i64>"));
}

RNL_TEST(other_wide_divisions_are_a_loop)
{
    char *text = divided(BY("udiv", "%z"));
    assert_false(has(text, "udiv <"));
    assert_true(has(text, "udiv i64"));
}

#define ONCE(n) \
    "  %d" #n " = sdiv i64 %w, 7\n  store volatile i64 %d" #n ", ptr %p\n"
#define EIGHT ONCE(1) ONCE(2) ONCE(3) ONCE(4) ONCE(5) ONCE(6) ONCE(7) ONCE(8)

RNL_TEST(many_wide_divisions_are_calls)
{
    // Gangs with lanes missing have divisions of their own.
    assert_false(has(divided(ONCE(1) ONCE(2) ONCE(3) ONCE(4)),
                     "@rnl_quotient_"));
    assert_true(has(divided(EIGHT), "call <32 x i64> @rnl_quotient_s7_32"));
}
