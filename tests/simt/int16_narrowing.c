// What is computed in 16 bits.
#include "parse.h"

#include <string.h>

// Function @f once it computes in 16 bits where that is possible.
static char *changed(const char *body)
{
    LLVMModuleRef module = parse_module(simt_format(
        "declare <8 x i32> @llvm.abs.v8i32(<8 x i32>, i1)\n"
        "declare <8 x i32> @llvm.smin.v8i32(<8 x i32>, <8 x i32>)\n"
        "declare <8 x i32> @llvm.umin.v8i32(<8 x i32>, <8 x i32>)\n"
        "define void @f(<8 x i8> %%a, <8 x i8> %%b, <8 x i16> %%s,\n"
        "               <8 x i16> %%t, <8 x i32> %%w, i8 %%n, ptr %%p) {\n"
        "  %%za = zext <8 x i8> %%a to <8 x i32>\n"
        "  %%zb = zext <8 x i8> %%b to <8 x i32>\n"
        "  %%sa = sext <8 x i8> %%a to <8 x i32>\n"
        "  %%ss = sext <8 x i16> %%s to <8 x i32>\n"
        "  %%st = sext <8 x i16> %%t to <8 x i32>\n"
        "  %%zs = zext <8 x i16> %%s to <8 x i32>\n"
        "%s  ret void\n}\n", body));
    narrow_to_int16(module);
    verify(module);
    return LLVMPrintValueToString(LLVMGetNamedFunction(module, "f"));
}

#define STORE_BYTES                          \
    "  %o = trunc <8 x i32> %r to <8 x i8>\n" \
    "  store <8 x i8> %o, ptr %p\n"
#define STORE_WORDS "  store <8 x i32> %r, ptr %p\n"
#define ALL(number)                                                      \
    "<i32 " #number ", i32 " #number ", i32 " #number ", i32 " #number   \
    ", i32 " #number ", i32 " #number ", i32 " #number ", i32 " #number ">"

static void is_short(const char *body, const char *made)
{
    char *text = changed(body);
    if (!strstr(text, made))
        fail_msg("%s is not made: %s", made, text);
}

static void stays(const char *body, const char *what)
{
    char *text = changed(body);
    if (!strstr(text, what) || strstr(text, " trunc <8 x i16>"))
        fail_msg("%s does not stay: %s", what, text);
}

// Scalars of any width are left alone.
RNL_TEST(numbers_that_are_no_vectors_stay)
{
    char *text = changed("  %q = zext i8 %n to i64\n"
                         "  %o = trunc i64 %q to i33\n"
                         "  store i33 %o, ptr %p\n");
    assert_non_null(strstr(text, "trunc i64 %q to i33"));
}

RNL_TEST(sums_of_bytes_are_of_16_bits)
{
    char *text = changed(
        "  %x = shl <8 x i32> %za, " ALL(1) "\n"
        "  %y = sub <8 x i32> %x, %zb\n"
        "  %z = call <8 x i32> @llvm.abs.v8i32(<8 x i32> %y, i1 true)\n"
        "  %r = call <8 x i32> @llvm.umin.v8i32(<8 x i32> %z, <8 x i32> "
        ALL(255) ")\n" STORE_BYTES);
    assert_non_null(strstr(text, "sub <8 x i16>"));
    assert_non_null(strstr(text, "@llvm.abs.v8i16("));
    assert_non_null(strstr(text, "@llvm.umin.v8i16("));
    assert_non_null(strstr(text, "trunc <8 x i16>"));
    assert_null(strstr(text, "= sub <8 x i32>"));
}

RNL_TEST(products_of_bytes_fit_without_a_sign)
{
    is_short("  %m = mul <8 x i32> %za, %zb\n"
             "  %r = lshr <8 x i32> %m, " ALL(8) "\n" STORE_BYTES,
             "lshr <8 x i16>");
    // 255 * 255 + 511 is too much.
    stays("  %m = mul <8 x i32> %za, %zb\n"
          "  %x = add <8 x i32> %m, " ALL(511) "\n"
          "  %r = lshr <8 x i32> %x, " ALL(8) "\n" STORE_BYTES,
          "lshr <8 x i32>");
}

RNL_TEST(what_does_not_fit_stays)
{
    stays("  %x = add <8 x i32> %ss, %st\n"
          "  %r = ashr <8 x i32> %x, " ALL(1) "\n" STORE_BYTES,
          "ashr <8 x i32>");
    stays("  %x = add <8 x i32> %za, %w\n"
          "  %r = lshr <8 x i32> %x, " ALL(1) "\n" STORE_BYTES,
          "lshr <8 x i32>");
    // Without a sign, but the shift keeps it.
    stays("  %x = xor <8 x i32> %zs, %ss\n"
          "  %r = ashr <8 x i32> %x, " ALL(1) "\n" STORE_BYTES,
          "ashr <8 x i32>");
    // No lane would shift by 20.
    stays("  %x = add <8 x i32> %za, %zb\n"
          "  %r = lshr <8 x i32> %x, " ALL(20) "\n" STORE_BYTES,
          "lshr <8 x i32>");
}

RNL_TEST(comparisons_that_need_another_sign_stay)
{
    stays("  %r = call <8 x i32> @llvm.smin.v8i32(<8 x i32> %zs, <8 x i32> "
          ALL(7) ")\n" STORE_BYTES, "@llvm.smin.v8i32(");
    stays("  %c = icmp slt <8 x i32> %zs, %ss\n"
          "  store <8 x i1> %c, ptr %p\n", "icmp slt <8 x i32>");
    is_short("  %x = add <8 x i32> %za, %zb\n"
             "  %c = icmp ugt <8 x i32> %x, %zs\n"
             "  store <8 x i1> %c, ptr %p\n", "icmp ugt <8 x i16>");
}

RNL_TEST(one_number_for_all_lanes_is_of_16_bits)
{
    is_short("  %w1 = sext i8 %n to i32\n"
             "  %i = insertelement <8 x i32> poison, i32 %w1, i64 0\n"
             "  %x = shufflevector <8 x i32> %i, <8 x i32> poison,"
             " <8 x i32> zeroinitializer\n"
             "  %m = mul <8 x i32> %sa, %x\n"
             "  %r = ashr <8 x i32> %m, " ALL(8) "\n" STORE_BYTES,
             "mul <8 x i16>");
}

RNL_TEST(results_in_32_bits_are_made_wider_where_that_pays)
{
    stays("  %r = add <8 x i32> %za, %zb\n" STORE_WORDS, "add <8 x i32>");
    is_short("  %x = add <8 x i32> %za, %zb\n"
             "  %y = sub <8 x i32> %x, %sa\n"
             "  %r = add <8 x i32> %y, " ALL(3) "\n" STORE_WORDS,
             "sext <8 x i16>");
    is_short("  %x = mul <8 x i32> %za, %zb\n"
             "  %y = or <8 x i32> %x, %za\n"
             "  %r = xor <8 x i32> %y, " ALL(3) "\n" STORE_WORDS,
             "zext <8 x i16>");
}
