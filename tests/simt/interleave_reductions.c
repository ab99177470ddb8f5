// Long sums that take turns.
#include "parse.h"

#include <stdlib.h>
#include <string.h>

// A sum of `count` terms: each a number from memory times %v.
static char *sum(char name, int count)
{
    char *text = simt_format("%s", "");
    for (int i = 1; i <= count; i++) {
        char *before = i > 1 ? simt_format("%%%c%d", name, i - 1)
                             : simt_format("%%v");
        char *more = simt_format(
            "%s  %%%cl%d = load <16 x float>, ptr %%p\n"
            "  %%%cm%d = fmul <16 x float> %%%cl%d, %%v\n"
            "  %%%c%d = fadd <16 x float> %s, %%%cm%d\n",
            text, name, i, name, i, name, i, name, i, before, name, i);
        free(before);
        free(text);
        text = more;
    }
    return text;
}

// Function @f once its sums have taken turns.
static char *changed(const char *processor, char *first, const char *between,
                     char *second, const char *end)
{
    char *message = NULL;
    LLVMTargetMachineRef machine =
        target_create("x86_64-unknown-linux-gnu", processor, &message);
    if (!machine)
        skip();
    LLVMDisposeTargetMachine(machine);
    char *text = simt_format("define <16 x float> @f(<16 x float> %%v, ptr %%p)"
                             " {\n%s%s%s%s}\n", first, between, second, end);
    LLVMModuleRef module = parse_module(text);
    interleave_reductions(module);
    verify(module);
    free(first);
    free(second);
    free(text);
    return LLVMPrintValueToString(LLVMGetNamedFunction(module, "f"));
}

// Whether they stand in that order.
static bool follows(const char *text, const char *one, const char *other)
{
    const char *at = strstr(text, one), *then = strstr(text, other);
    assert_non_null(at);
    assert_non_null(then);
    return at < then;
}

#define RETURN_SUM "  %s = fsub <16 x float> %a8, %b8\n" \
    "  ret <16 x float> %s\n"

RNL_TEST(long_sums_take_turns)
{
    char *text = changed("x86-64-v4", sum('a', 8), "", sum('b', 8), RETURN_SUM);
    assert_true(follows(text, "%a1 =", "%b1 ="));
    assert_true(follows(text, "%b1 =", "%a2 ="));
    assert_true(follows(text, "%a8 =", "%b8 ="));
    assert_true(follows(text, "%b8 =", "%s ="));
}

RNL_TEST(short_sums_stay)
{
    char *text = changed("x86-64-v4", sum('a', 7), "", sum('b', 7),
                         "  ret <16 x float> %b7\n");
    assert_true(follows(text, "%a7 =", "%b1 ="));
}

RNL_TEST(sums_in_less_than_a_vector_of_512_bits_stay)
{
    char *text = changed("x86-64-v3", sum('a', 8), "", sum('b', 8), RETURN_SUM);
    assert_true(follows(text, "%a8 =", "%b1 ="));
}

RNL_TEST(nothing_passes_what_writes_or_must_stay)
{
    static const char *const between[] = {
        "  store float 0.0, ptr %p\n", "  fence seq_cst\n",
        "  %n = load volatile float, ptr %p\n", "  call void @use(i32 1)\n"};
    for (unsigned i = 0; i < 4; i++) {
        char *text = changed("x86-64-v4", sum('a', 8), between[i],
                             sum('b', 8), RETURN_SUM);
        assert_true(follows(text, "%a8 =", "%b1 ="));
    }
}

RNL_TEST(sums_of_each_other_stay)
{
    char *text = changed("x86-64-v4", sum('a', 8),
                         "  %v2 = fmul <16 x float> %a8, %v\n"
                         "  %b0 = fadd <16 x float> %v2, %v\n",
                         sum('b', 8), RETURN_SUM);
    assert_true(follows(text, "%a8 =", "%b0 ="));
    text = changed("x86-64-v4", sum('a', 8), "", sum('b', 8),
                   "  %s = fadd <16 x float> %a8, %b8\n"
                   "  ret <16 x float> %s\n");
    assert_true(follows(text, "%a8 =", "%b1 ="));
}

// The first six of seven, and the last one.
static char *seven(const char *processor)
{
    char *first = sum('a', 8);
    for (char name = 'b'; name <= 'f'; name++) {
        char *next = sum(name, 8);
        char *both = simt_format("%s%s", first, next);
        free(first);
        free(next);
        first = both;
    }
    return changed(processor, first, "", sum('g', 8), RETURN_SUM);
}

RNL_TEST(as_many_take_turns_as_the_processor_has_steps_for)
{
    assert_true(follows(seven("x86-64-v4"), "%g1 =", "%a2 ="));
    assert_true(follows(seven("znver5"), "%g1 =", "%a2 ="));
    char *text = seven("znver4");
    assert_true(follows(text, "%f1 =", "%a2 ="));
    assert_true(follows(text, "%f8 =", "%g1 ="));
}
