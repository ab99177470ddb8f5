// Accesses under masks that hold just the first lanes, and vectors taken apart.
#include "parse.h"

#include <string.h>

static const char *const start =
    "declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, i32, <4 x i1>, "
    "<4 x float>)\n"
    "declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, i32, "
    "<4 x i1>)\n";

#define FIRST_TWO "<4 x i1> <i1 1, i1 1, i1 0, i1 0>"
#define FIRST "<4 x i1> <i1 1, i1 0, i1 0, i1 0>"
#define THREE "<4 x i1> <i1 1, i1 1, i1 1, i1 0>"
#define LAST "<4 x i1> <i1 0, i1 0, i1 1, i1 1>"

// The module's text once `pass` has been through function @f of this body.
static char *changed(const char *parameters, const char *body,
                     void (*pass)(LLVMModuleRef))
{
    LLVMModuleRef module = parse_module(simt_format(
        "%sdefine void @f(%s) {\n%s  ret void\n}\n", start, parameters, body));
    pass(module);
    verify(module);
    return LLVMPrintValueToString(LLVMGetNamedFunction(module, "f"));
}

static char *with_mask(const char *mask)
{
    return changed("ptr %p, ptr %q",
                   simt_format(
                       "  %%a = call <4 x float> @llvm.masked.load.v4f32.p0("
                       "ptr %%p, i32 4, %s, <4 x float> zeroinitializer)\n"
                       "  %%b = load <4 x float>, ptr %%q, align 8\n"
                       "  %%c = fadd nnan <4 x float> %%a, %%b\n"
                       "  call void @llvm.masked.store.v4f32.p0(<4 x float> "
                       "%%c, ptr %%p, i32 4, %s)\n", mask, mask),
                   narrow_accesses);
}

RNL_TEST(first_lanes_are_a_short_vector)
{
    char *text = with_mask(FIRST_TWO);
    assert_null(strstr(text, "masked"));
    assert_non_null(strstr(text, "load <2 x float>, ptr %p, align 4"));
    assert_non_null(strstr(text, "load <2 x float>, ptr %q, align 8"));
    assert_non_null(strstr(text, "fadd nnan <2 x float>"));
    assert_non_null(strstr(text, "store <2 x float>"));
}

RNL_TEST(the_first_lane_is_a_number)
{
    char *text = with_mask(FIRST);
    assert_null(strstr(text, "masked"));
    assert_non_null(strstr(text, "load float, ptr %p, align 4"));
    assert_non_null(strstr(text, "fadd nnan float"));
    assert_non_null(strstr(text, "store float"));
}

RNL_TEST(other_masks_stay)
{
    const char *const masks[] = {THREE, LAST};
    for (size_t i = 0; i < 2; i++) {
        char *text = with_mask(masks[i]);
        assert_non_null(strstr(text, "masked.load"));
        assert_non_null(strstr(text, "masked.store"));
    }
}

RNL_TEST(a_load_with_other_uses_stays_whole)
{
    char *text = changed(
        "ptr %p, ptr %q",
        "  %b = load <4 x float>, ptr %q, align 8\n"
        "  call void @llvm.masked.store.v4f32.p0(<4 x float> %b, ptr %p, "
        "i32 4, " FIRST_TWO ")\n"
        "  store <4 x float> %b, ptr %p\n", narrow_accesses);
    assert_non_null(strstr(text, "load <4 x float>, ptr %q"));
    assert_non_null(strstr(text, "store <2 x float>"));
}

RNL_TEST(a_volatile_load_stays_whole)
{
    char *text = changed(
        "ptr %p, ptr %q",
        "  %b = load volatile <4 x float>, ptr %q, align 8\n"
        "  call void @llvm.masked.store.v4f32.p0(<4 x float> %b, ptr %p, "
        "i32 4, " FIRST_TWO ")\n", narrow_accesses);
    assert_non_null(strstr(text, "load volatile <4 x float>, ptr %q"));
}

RNL_TEST(bits_of_a_vector_are_lanes)
{
    char *text = changed(
        "<4 x float> %v, ptr %p",
        "  %n = bitcast <4 x float> %v to i128\n"
        "  %s = lshr i128 %n, 64\n"
        "  %t = trunc i128 %s to i64\n"
        "  %w = bitcast i64 %t to <2 x float>\n"
        "  store <2 x float> %w, ptr %p\n", narrow_numbers);
    assert_non_null(strstr(text, "<2 x i32> <i32 2, i32 3>"));
    text = changed(
        "<4 x float> %v, ptr %p",
        "  %n = bitcast <4 x float> %v to i128\n"
        "  %t = trunc i128 %n to i32\n"
        "  %w = bitcast i32 %t to float\n"
        "  store float %w, ptr %p\n", narrow_numbers);
    assert_non_null(strstr(text, "extractelement <4 x float> %v"));
}

RNL_TEST(bits_across_lanes_stay)
{
    char *text = changed(
        "<4 x float> %v, ptr %p",
        "  %n = bitcast <4 x float> %v to i128\n"
        "  %s = lshr i128 %n, 16\n"
        "  %t = trunc i128 %s to i64\n"
        "  %w = bitcast i64 %t to <2 x float>\n"
        "  store <2 x float> %w, ptr %p\n", narrow_numbers);
    assert_null(strstr(text, "shufflevector"));
}

