// What is computed of halves.
#include "parse.h"

#include <string.h>

// Function @f once its halves have become floats.
static char *changed(const char *body)
{
    LLVMModuleRef module = parse_module(simt_format(
        "declare <8 x half> @llvm.floor.v8f16(<8 x half>)\n"
        "declare <8 x half> @llvm.fabs.v8f16(<8 x half>)\n"
        "define void @f(<8 x half> %%a, <8 x half> %%b, half %%c, ptr %%p) {\n"
        "%s  ret void\n}\n", body));
    promote_halves(module);
    verify(module);
    return LLVMPrintValueToString(LLVMGetNamedFunction(module, "f"));
}

RNL_TEST(halves_are_compared_as_floats)
{
    char *text = changed("  %r = fcmp uge <8 x half> %a, %b\n"
                         "  store <8 x i1> %r, ptr %p\n");
    assert_non_null(strstr(text, "fcmp uge <8 x float>"));
    assert_null(strstr(text, "fcmp uge <8 x half>"));
}

RNL_TEST(functions_of_halves_are_those_of_floats)
{
    char *text = changed(
        "  %r = call <8 x half> @llvm.floor.v8f16(<8 x half> %a)\n"
        "  store <8 x half> %r, ptr %p\n");
    assert_non_null(strstr(text, "@llvm.floor.v8f32("));
    assert_null(strstr(text, "@llvm.floor.v8f16("));
}

RNL_TEST(what_is_made_of_bits_and_single_halves_stay)
{
    char *text = changed(
        "  %r = call <8 x half> @llvm.fabs.v8f16(<8 x half> %a)\n"
        "  store <8 x half> %r, ptr %p\n"
        "  %s = fcmp olt half %c, 0.0\n  store volatile i1 %s, ptr %p\n");
    assert_null(strstr(text, "float"));
}
