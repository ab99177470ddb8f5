// Shared variables that hold nothing but copies.
#include "parse.h"

#include <stdio.h>
#include <string.h>

// A loop whose rounds copy rows of %p, %n numbers apart, and read them. What
// may differ is what stands in the variable's place, in a round, before it is
// read, and what is read.
struct parts {
    const char *begin, *copies, *first_copies, *before, *reads, *end;
};

#define ARRAY ", !noalias !2\n"
#define SHARED ", !alias.scope !2\n"

#define FIRST "  %f0 = load <8 x i32>, ptr %p, align 8" ARRAY \
    "  store <8 x i32> %f0, ptr %t" SHARED \
    "  %fp = getelementptr i32, ptr %p, i64 %n\n" \
    "  %f1 = load <8 x i32>, ptr %fp, align 4" ARRAY \
    "  store <8 x i32> %f1, ptr %t8" SHARED

#define COPY "  %c0 = load <8 x i32>, ptr %q, align 8" ARRAY \
    "  store <8 x i32> %c0, ptr %t" SHARED

#define COPIES COPY \
    "  %s8 = add i64 %d, %n\n" \
    "  %r = getelementptr i32, ptr %p, i64 %s8\n" \
    "  %c1 = load <8 x i32>, ptr %r, align 4" ARRAY \
    "  store <8 x i32> %c1, ptr %t8" SHARED

#define READ(number, at) \
    "  %a" #number " = getelementptr i32, ptr %t, i64 " #at "\n" \
    "  %l" #number " = load i32, ptr %a" #number SHARED \
    "  call void @note(i32 %l" #number ")\n"

#define READS READ(0, 0) READ(1, 1) READ(2, 2) READ(3, 3) READ(4, 4) \
    READ(5, 5) READ(6, 6) READ(7, 7) READ(8, 8) READ(9, 9) READ(10, 10) \
    READ(11, 11) READ(12, 12) READ(13, 13) READ(14, 14) READ(15, 15)

static char *changed(struct parts parts)
{
    LLVMModuleRef module = parse_module(simt_format(
        "declare void @note(i32) memory(none)\n"
        "define void @f(ptr %%p, i64 %%n) {\n"
        "begin:\n"
        "  %%t = call ptr @llvm.threadlocal.address.p0(ptr @shared)\n"
        "  %%t8 = getelementptr i32, ptr %%t, i64 8\n"
        "%s%s"
        "  br label %%read\n"
        "read:\n"
        "  %%i = phi i64 [ 0, %%begin ], [ %%d, %%round ]\n"
        "%s%s"
        "  %%more = icmp slt i64 %%i, %%n\n"
        "  br i1 %%more, label %%round, label %%end\n"
        "round:\n"
        "  %%d = add i64 %%i, 8\n"
        "  %%q = getelementptr i32, ptr %%p, i64 %%d\n"
        "%s"
        "  br label %%read\n"
        "end:\n"
        "%s"
        "  ret void\n"
        "}\n"
        "!0 = distinct !{!0}\n"
        "!1 = distinct !{!1, !0}\n"
        "!2 = !{!1}\n",
        parts.begin ? parts.begin : "",
        parts.first_copies ? parts.first_copies : FIRST,
        parts.before ? parts.before : "", parts.reads ? parts.reads : READS,
        parts.copies ? parts.copies : COPIES, parts.end ? parts.end : ""));
    forward_tiles(module);
    verify(module);
    return LLVMPrintValueToString(LLVMGetNamedFunction(module, "f"));
}

static unsigned count_of(const char *text, const char *word)
{
    unsigned count = 0;
    for (; (text = strstr(text, word)); text++)
        count++;
    return count;
}

static bool stays(struct parts parts)
{
    char *text = changed(parts);
    return count_of(text, "store") > 0 && count_of(text, "phi") == 1;
}

RNL_TEST(copies_are_read_where_they_came_from)
{
    char *text = changed((struct parts){0});
    assert_int_equal(count_of(text, "store"), 0);
    assert_int_equal(count_of(text, "= load i32, ptr"), 16);
    // Of those of the first row, every other one of 8 bytes.
    assert_int_equal(count_of(text, "align 8, !noalias"), 2 + 4);
}

RNL_TEST(rows_at_one_distance_are_counted_from_each_other)
{
    char *text = changed((struct parts){0});
    assert_int_equal(count_of(text, "phi ptr"), 1);
    assert_non_null(strstr(text, "phi ptr [ %q, %round ], [ %p, %begin ]"));
}

RNL_TEST(factors_of_a_distance_may_stand_in_any_order)
{
    char *text = changed((struct parts){
        .begin = "  %m = load i64, ptr %p\n",
        .first_copies =
            "  %f0 = load <8 x i32>, ptr %p, align 8" ARRAY
            "  store <8 x i32> %f0, ptr %t" SHARED
            "  %nm = mul i64 %n, %m\n"
            "  %fp = getelementptr i32, ptr %p, i64 %nm\n"
            "  %f1 = load <8 x i32>, ptr %fp, align 4" ARRAY
            "  store <8 x i32> %f1, ptr %t8" SHARED,
        .copies = COPY
            "  %mn = mul i64 %m, %n\n"
            "  %r = getelementptr i32, ptr %q, i64 %mn\n"
            "  %c1 = load <8 x i32>, ptr %r, align 4" ARRAY
            "  store <8 x i32> %c1, ptr %t8" SHARED});
    assert_int_equal(count_of(text, "store"), 0);
    assert_int_equal(count_of(text, "phi ptr"), 1);
}

RNL_TEST(rows_at_other_distances_have_an_address_each)
{
    char *text = changed((struct parts){
        .copies = COPY
            "  %r = getelementptr i32, ptr %q, i64 64\n"
            "  %c1 = load <8 x i32>, ptr %r, align 4" ARRAY
            "  store <8 x i32> %c1, ptr %t8" SHARED});
    assert_int_equal(count_of(text, "store"), 0);
    assert_int_equal(count_of(text, "phi ptr"), 2);
    assert_non_null(strstr(text, "phi ptr [ %r, %round ], [ %fp, %begin ]"));
}

RNL_TEST(the_last_store_of_a_row_counts)
{
    char *text = changed((struct parts){
        .copies = "  %g = load <8 x i32>, ptr %p" ARRAY
                  "  store <8 x i32> %g, ptr %t" SHARED COPIES});
    assert_int_equal(count_of(text, "store"), 0);
    assert_non_null(strstr(text, "phi ptr [ %q, %round ], [ %p, %begin ]"));
}

RNL_TEST(arrays_that_may_change_are_copied)
{
    static const char *const changes[] = {
        "  store i32 0, ptr %p\n", ("  store i32 0, ptr %p" ARRAY),
        "  call void @use(i32 1)\n", "  fence seq_cst\n",
        "  %n0 = load volatile i32, ptr %p\n",
        "  %n0 = atomicrmw add ptr %p, i32 1 seq_cst\n",
        "  %n0 = load atomic i32, ptr %p acquire, align 4\n"};
    for (unsigned i = 0; i < 7; i++) {
        assert_true(stays((struct parts){.before = changes[i]}));
        assert_true(stays((struct parts){
            .copies = simt_format("%s%s", COPIES, changes[i])}));
        assert_true(stays((struct parts){
            .first_copies = simt_format("%s%s", FIRST, changes[i])}));
    }
}

RNL_TEST(what_changes_before_a_copy_is_no_matter)
{
    char *text = changed((struct parts){
        .copies = "  call void @use(i32 1)\n" COPIES});
    assert_int_equal(count_of(text, "store"), 0);
}

RNL_TEST(what_is_no_copy_stays)
{
    assert_true(stays((struct parts){
        .copies = COPIES "  store <8 x i32> zeroinitializer, ptr %t" SHARED}));
    assert_true(stays((struct parts){
        .copies = COPIES "  %x = add <8 x i32> %c1, %c0\n"
                         "  store <8 x i32> %x, ptr %t" SHARED}));
    assert_true(stays((struct parts){
        .copies = COPIES "  store i32 1, ptr %t" SHARED}));
    assert_true(stays((struct parts){.copies = COPY}));
    // From memory that is not known to be an array.
    assert_true(stays((struct parts){
        .copies = COPY "  %c1 = load <8 x i32>, ptr %q\n"
                       "  store <8 x i32> %c1, ptr %t8" SHARED}));
    // From elsewhere in the row than before.
    assert_true(stays((struct parts){
        .copies = COPIES "  %t2 = getelementptr i32, ptr %t, i64 2\n"
                         "  store <8 x i32> %c1, ptr %t2" SHARED}));
}

RNL_TEST(what_is_read_elsewhere_or_differently_stays)
{
    assert_true(stays((struct parts){
        .end = "  %e = load i32, ptr %t" SHARED
               "  call void @use(i32 %e)\n"}));
    assert_true(stays((struct parts){
        .reads = READS "  %x = getelementptr i32, ptr %t, i64 %i\n"
                       "  %y = load i32, ptr %x" SHARED}));
    assert_true(stays((struct parts){
        .reads = READS "  %y = load volatile i32, ptr %t" SHARED}));
    assert_true(stays((struct parts){
        .reads = READS "  %a = getelementptr i32, ptr %t, i64 7\n"
                       "  %y = load <2 x i32>, ptr %a" SHARED}));
    assert_true(stays((struct parts){
        .end = "  store ptr %t, ptr %p\n"}));
    assert_true(stays((struct parts){
        .end = "  store i32 1, ptr %t\n"}));
    assert_true(stays((struct parts){
        .end = "  %u = call ptr @llvm.threadlocal.address.p0(ptr @shared)\n"
               "  %e = load i32, ptr %u\n"
               "  call void @use(i32 %e)\n"}));
}

RNL_TEST(columns_are_read_from_the_copy)
{
    assert_true(stays((struct parts){
        .reads = READ(0, 0) READ(8, 8) READ(1, 1) READ(9, 9) READ(2, 2)
                 READ(10, 10) READ(3, 3) READ(11, 11)}));
}

RNL_TEST(whole_rows_may_be_read_in_turn)
{
    char *text = changed((struct parts){
        .reads = "  %x = load <8 x i32>, ptr %t" SHARED
                 "  %y = load <8 x i32>, ptr %t8" SHARED
                 "  %z = load <8 x i32>, ptr %t" SHARED});
    assert_int_equal(count_of(text, "store"), 0);
}

RNL_TEST(variables_that_are_only_written_stay)
{
    assert_true(stays((struct parts){.reads = "  %x = add i32 1, 1\n"}));
}

RNL_TEST(a_block_that_has_two_ways_to_the_reader_stays)
{
    LLVMModuleRef module = parse_module(simt_format(
        "declare void @note(<8 x i32>) memory(none)\n"
        "define void @f(ptr %%p, i64 %%n) {\n"
        "begin:\n"
        "  %%t = call ptr @llvm.threadlocal.address.p0(ptr @shared)\n"
        "  %%c = load <8 x i32>, ptr %%p, align 4" ARRAY
        "  store <8 x i32> %%c, ptr %%t" SHARED
        "  switch i64 %%n, label %%end [ i64 1, label %%read\n"
        "                                i64 5, label %%read ]\n"
        "read:\n"
        "  %%l = load <8 x i32>, ptr %%t" SHARED
        "  call void @note(<8 x i32> %%l)\n"
        "  br label %%end\n"
        "end:\n"
        "  ret void\n"
        "}\n"
        "!0 = distinct !{!0}\n"
        "!1 = distinct !{!1, !0}\n"
        "!2 = !{!1}\n"));
    forward_tiles(module);
    verify(module);
}

// Each number of such a row can be told in as many ways as rabbits can breed.
RNL_TEST(distances_of_deep_sums_are_given_up)
{
    enum { DEPTH = 60 };
    char sums[100 * DEPTH], *end = sums;
    end += sprintf(end, "  %%x0 = add i64 %%d, %%n\n"
                        "  %%x1 = mul i64 %%d, %%n\n");
    for (int i = 2; i <= DEPTH; i++)
        end += sprintf(end, "  %%x%d = add i64 %%x%d, %%x%d\n", i, i - 1,
                       i - 2);
    char *text = changed((struct parts){
        .copies = simt_format(
            "%s%s  %%r = getelementptr i32, ptr %%p, i64 %%x%d\n"
            "  %%c1 = load <8 x i32>, ptr %%r, align 4" ARRAY
            "  store <8 x i32> %%c1, ptr %%t8" SHARED, COPY, sums, DEPTH)});
    assert_int_equal(count_of(text, "store"), 0);
    assert_int_equal(count_of(text, "phi"), 3);
}
