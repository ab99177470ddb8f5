// Instructions as sums of operands times constants.
#include "parse.h"

#include <stdio.h>
#include <string.h>

// A function of which each instruction may be looked at.
static const char body[] =
    "%pair = type { i32, i64 }\n"
    "define void @rnl_thread_0(ptr %p, i32 %a, i32 %b, i64 %w) {\n"
    "  %add = add i32 %a, %b\n  %sub = sub i32 %a, %b\n"
    "  %less = sub i32 %a, 7\n  %from = sub i32 7, %a\n"
    "  %plus = add nsw i32 %a, 3\n  %minus = add nuw i32 %a, -3\n"
    "  %both = or disjoint i32 %a, 4\n  %either = or i32 %a, 4\n"
    "  %times = mul i32 %a, -5\n  %product = mul i32 %a, %b\n"
    "  %shift = shl nsw i32 %a, 31\n  %long = shl i64 %w, 32\n"
    "  %far = shl i32 %a, %b\n  %and = and i32 %a, 4\n"
    "  %wide = sext i32 %a to i64\n  %last = add i64 %w, 1\n"
    "  %huge = mul i64 %w, 9223372036854775807\n"
    "  %known = mul i32 3, 4\n  %sum = add i32 3, 4\n"
    "  %byte = getelementptr i8, ptr %p, i64 -8\n"
    "  %item = getelementptr i32, ptr %p, i64 %w\n"
    "  %field = getelementptr [4 x %pair], ptr %p, i64 %w, i32 %a, i32 1\n"
    "  %second = getelementptr [4 x %pair], ptr %p, i64 2, i32 3, i32 1\n"
    "  %deep = getelementptr "
    "[2 x [2 x [2 x [2 x [2 x [2 x [2 x i8]]]]]]], ptr %p,"
    " i32 %a, i32 %a, i32 %a, i32 %a, i32 %a, i32 %a, i32 %a, i32 %a\n"
    "  ret void\n}\n";

static LLVMModuleRef module;

static LLVMValueRef named(const char *name)
{
    if (!module)
        module = parse_module(body);
    for (LLVMValueRef at = first_instruction(module); at;
         at = next_instruction(at)) {
        size_t length;
        if (strcmp(LLVMGetValueName2(at, &length), name) == 0)
            return at;
    }
    fail_msg("there is no %s", name);
    return NULL;
}

// As "4*%w 16*%a +8", or "none".
static void is(const char *name, const char *expected)
{
    char text[256] = "none";
    int end = 0;
    struct linear_form form;
    size_t length;
    LLVMValueRef value = named(name);
    if (linear_form_of(LLVMGetModuleDataLayout(module), value, &form)) {
        for (unsigned i = 0; i < form.count; i++) {
            LLVMValueRef term = form.terms[i].value;
            end += sprintf(text + end, "%lld*%s ",
                           (long long)form.terms[i].times,
                           LLVMIsAConstantInt(term)
                               ? "constant" : LLVMGetValueName2(term, &length));
        }
        sprintf(text + end, "%+lld", (long long)form.constant);
    }
    if (strcmp(text, expected) != 0)
        fail_msg("%s is %s, not %s", name, text, expected);
}

RNL_TEST(sums_have_two_terms_or_a_constant)
{
    is("add", "1*a 1*b +0");
    is("sub", "1*a -1*b +0");
    is("less", "1*a -7");
    is("from", "-1*a +7");
    is("plus", "1*a +3");
    is("minus", "1*a -3");
    is("sum", "+7");
}

RNL_TEST(only_a_disjoint_union_is_a_sum)
{
    is("both", "1*a +4");
    is("either", "none");
    is("and", "none");
}

RNL_TEST(products_with_constants_have_one_term)
{
    is("times", "-5*a +0");
    is("huge", "9223372036854775807*w +0");
    is("shift", "2147483648*a +0");
    is("known", "4*constant +0");
    is("product", "none");
    is("long", "none");
    is("far", "none");
    is("wide", "none");
}

RNL_TEST(addresses_count_bytes)
{
    is("byte", "1*p -8");
    is("item", "1*p 4*w +0");
    is("field", "1*p 64*w 16*a +8");
    is("second", "1*p +184");
}

RNL_TEST(the_base_of_a_sum_with_a_constant)
{
    static const struct {
        const char *name, *base;
        int64_t added;
    } sums[] = {{"plus", "a", 3},  {"less", "a", -7},    {"both", "a", 4},
                {"byte", "p", -8}, {"second", "p", 184}, {"add", NULL, 0},
                {"from", NULL, 0}, {"times", NULL, 0},   {"item", NULL, 0},
                {"sum", NULL, 0},  {"wide", NULL, 0}};
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        int64_t added = 0;
        size_t length;
        LLVMValueRef value = named(sums[i].name);
        LLVMValueRef base =
            linear_form_base(LLVMGetModuleDataLayout(module), value, &added);
        if (!base != !sums[i].base || added != sums[i].added ||
            (base &&
             strcmp(LLVMGetValueName2(base, &length), sums[i].base) != 0))
            fail_msg("%s adds %lld", sums[i].name, (long long)added);
    }
}

RNL_TEST(too_many_terms_are_no_form)
{
    is("deep", "none");
}

RNL_TEST(a_widened_sum_is_the_sum_if_it_cannot_wrap)
{
    assert_true(linear_form_extends(named("plus"), LLVMSExt));
    assert_false(linear_form_extends(named("plus"), LLVMZExt));
    assert_true(linear_form_extends(named("minus"), LLVMZExt));
    assert_false(linear_form_extends(named("minus"), LLVMSExt));
    assert_true(linear_form_extends(named("both"), LLVMZExt));
    assert_true(linear_form_extends(named("both"), LLVMSExt));
    assert_false(linear_form_extends(named("add"), LLVMSExt));
    assert_true(linear_form_extends(named("shift"), LLVMSExt));
    assert_false(linear_form_extends(named("times"), LLVMZExt));
}

RNL_TEST(an_index_is_widened_unless_it_has_64_bits)
{
    assert_true(linear_form_extends(named("last"), 0));
    assert_false(linear_form_extends(named("plus"), 0));
    assert_false(linear_form_extends(named("both"), 0));
}
