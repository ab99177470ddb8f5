// Shared variables in registers.
#include "parse.h"

#include <stdio.h>
#include <string.h>

#define V8 "<8 x i32>"

// A function that stores %a and %b to the first sixteen numbers of the shared
// variable, and does more.
static char *changed_by(const char *processor, const char *more,
                        const char *others)
{
    char *message;
    LLVMDisposeTargetMachine(
        target_create("x86_64-unknown-linux-gnu", processor, &message));
    LLVMModuleRef module = parse_module(simt_format(
        "declare void @note(" V8 ") memory(none)\n"
        "declare void @note_one(i32) memory(none)\n"
        "declare void @give(ptr)\n"
        "declare void @llvm.lifetime.end.p0(i64, ptr)\n"
        "declare " V8 " @llvm.masked.load.v8i32.p0(ptr, i32, <8 x i1>, " V8
        ")\n"
        "declare void @llvm.masked.store.v8i32.p0(" V8 ", ptr, i32, <8 x i1>)\n"
        "declare " V8 " @llvm.masked.gather.v8i32.v8p0(<8 x ptr>, i32, "
        "<8 x i1>, " V8 ")\n"
        "declare void @llvm.masked.scatter.v8i32.v8p0(" V8 ", <8 x ptr>, i32, "
        "<8 x i1>)\n"
        "define void @f(" V8 " %%a, " V8 " %%b, i64 %%n, <8 x i1> %%m, "
        "ptr %%p) {\n"
        "begin:\n"
        "  %%t = call ptr @llvm.threadlocal.address.p0(ptr @shared)\n"
        "  %%t4 = getelementptr i32, ptr %%t, i64 4\n"
        "  %%t8 = getelementptr i8, ptr %%t, i64 32\n"
        "  store " V8 " %%a, ptr %%t\n"
        "  store " V8 " %%b, ptr %%t8\n"
        "%s"
        "}\n%s",
        more, others));
    verify(module);
    forward_shared(module);
    verify(module);
    return LLVMPrintValueToString(LLVMGetNamedFunction(module, "f"));
}

#define END "  call void @llvm.lifetime.end.p0(i64 256, ptr %t)\n  ret void\n"

static char *changed(const char *more)
{
    return changed_by("x86-64-v4", simt_format("%s%s", more, END), "");
}

static unsigned count_of(const char *text, const char *word)
{
    unsigned count = 0;
    for (; (text = strstr(text, word)); text++)
        count++;
    return count;
}

// True if the variable is as it was.
static bool stays(const char *more)
{
    return count_of(changed(more), "store " V8) >= 2;
}

static bool goes(const char *more)
{
    const char *text = changed(more);
    return !strstr(text, "store") && !strstr(text, "scatter") &&
           !strstr(text, " load ") && !strstr(text, "gather");
}

#define LOAD "  %x = load " V8 ", ptr "
#define NOTE "\n  call void @note(" V8 " %x)\n"

RNL_TEST(a_load_of_one_stored_vector_is_that_vector)
{
    assert_true(goes(LOAD "%t8" NOTE));
    assert_non_null(strstr(changed(LOAD "%t8" NOTE), "@note(" V8 " %b)"));
}

RNL_TEST(a_load_that_spans_two_stores_is_a_shuffle)
{
    const char *text = changed(LOAD "%t4" NOTE);
    assert_true(goes(LOAD "%t4" NOTE));
    assert_non_null(strstr(text, "shufflevector " V8 " %a, " V8 " %b, <8 x i32> "
                                 "<i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, "
                                 "i32 10, i32 11>"));
}

// A GPU's threads would read the last number that was stored.
RNL_TEST(later_stores_hide_earlier_ones)
{
    const char *text = changed("  store i32 7, ptr %t4\n" LOAD "%t" NOTE);
    assert_non_null(strstr(text, "i32 0, i32 1, i32 2, i32 3, i32 12, i32 5, "
                                 "i32 6, i32 7"));
    assert_null(strstr(text, "store"));
}

#define EVEN "<8 x i1> <i1 1, i1 0, i1 1, i1 0, i1 1, i1 0, i1 1, i1 0>"
#define MASKED_STORE(mask) \
    "  call void @llvm.masked.store.v8i32.p0(" V8 " %b, ptr %t, i32 4, " \
    mask ")\n"
#define MASKED_LOAD(mask) \
    "  %x = call " V8 " @llvm.masked.load.v8i32.p0(ptr %t, i32 4, " mask ", " \
    V8 " %b)"

RNL_TEST(lanes_of_constant_masks_are_known)
{
    const char *text = changed(MASKED_STORE(EVEN) LOAD "%t" NOTE);
    assert_null(strstr(text, "masked.store"));
    assert_int_equal(count_of(text, "shufflevector"), 1);
    text = changed(MASKED_LOAD(EVEN) NOTE);
    assert_null(strstr(text, "masked.load"));
    assert_int_equal(count_of(text, "shufflevector"), 1);
}

// Poison spreads where the bits of an undefined number would be masked.
RNL_TEST(undefined_numbers_stay_undefined)
{
    const char *text = changed("  store i32 undef, ptr %t4\n" LOAD "%t" NOTE);
    assert_null(strstr(text, "store"));
    assert_non_null(strstr(text, "i32 undef"));
    text = changed("  store i32 poison, ptr %t4\n" LOAD "%t" NOTE);
    assert_non_null(strstr(text, "@note(" V8 " %a)"));
}

RNL_TEST(lanes_of_other_masks_are_not_known)
{
    assert_true(stays(MASKED_STORE("<8 x i1> %m") LOAD "%t" NOTE));
    assert_true(stays(MASKED_LOAD("<8 x i1> %m") NOTE));
}

#define BACKWARDS \
    "  %v = getelementptr i32, ptr %t, <8 x i64> <i64 15, i64 14, i64 13, " \
    "i64 12, i64 11, i64 10, i64 9, i64 poison>\n"
#define SEVEN "<8 x i1> <i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 1, i1 0>"
#define SCATTER BACKWARDS \
    "  call void @llvm.masked.scatter.v8i32.v8p0(" V8 " %a, <8 x ptr> %v, " \
    "i32 4, " SEVEN ")\n"

RNL_TEST(gathers_read_what_scatters_stored)
{
    assert_true(goes(
        SCATTER "  %x = call " V8 " @llvm.masked.gather.v8i32.v8p0(<8 x ptr> "
                "%v, i32 4, " SEVEN ", " V8 " %a)" NOTE));
    assert_true(goes(SCATTER LOAD "%t8" NOTE));
}

RNL_TEST(numbers_that_were_never_stored_are_read_from_memory)
{
    assert_true(stays("  %t9 = getelementptr i32, ptr %t, i64 9\n"
                      LOAD "%t9" NOTE));
}

RNL_TEST(addresses_that_are_not_constant_keep_the_variable)
{
    assert_true(stays("  %u = getelementptr i32, ptr %t, i64 %n\n"
                      "  store i32 1, ptr %u\n" LOAD "%t" NOTE));
    assert_true(stays("  %u = getelementptr i32, ptr %t, i64 -1\n"
                      "  store i32 1, ptr %u\n" LOAD "%t" NOTE));
}

RNL_TEST(a_variable_whose_address_goes_elsewhere_stays)
{
    assert_true(stays("  call void @give(ptr %t8)\n" LOAD "%t" NOTE));
    assert_true(stays("  store ptr %t, ptr %p\n" LOAD "%t" NOTE));
    assert_true(stays("  %z = load volatile " V8 ", ptr %t\n" LOAD "%t" NOTE));
    assert_true(stays("  %z = atomicrmw add ptr %t, i32 1 seq_cst\n"
                      LOAD "%t" NOTE));
}

RNL_TEST(a_variable_of_two_functions_stays)
{
    const char *text = changed_by(
        "x86-64-v4", LOAD "%t" NOTE END,
        "define void @g() {\n"
        "  %t = call ptr @llvm.threadlocal.address.p0(ptr @shared)\n"
        "  store i32 1, ptr %t\n"
        "  ret void\n"
        "}\n");
    assert_int_equal(count_of(text, "store " V8), 2);
}

RNL_TEST(a_variable_that_outlives_the_block_stays)
{
    const char *text =
        changed_by("x86-64-v4", LOAD "%t" NOTE "  ret void\n", "");
    assert_int_equal(count_of(text, "store " V8), 2);
}

RNL_TEST(processors_with_few_registers_keep_variables_in_memory)
{
    const char *text = changed_by("x86-64-v3", LOAD "%t" NOTE END, "");
    assert_int_equal(count_of(text, "store " V8), 2);
}

RNL_TEST(parts_of_elements_are_read_from_memory)
{
    assert_true(stays("  %x = load i16, ptr %t\n  store i16 %x, ptr %p\n"));
    assert_true(stays("  %x = load <4 x i64>, ptr %t\n"
                      "  store <4 x i64> %x, ptr %p\n"));
}

RNL_TEST(elements_of_another_type_are_read_as_they_are)
{
    const char *text = changed("  %x = load <8 x float>, ptr %t4\n"
                               "  store <8 x float> %x, ptr %p\n");
    assert_null(strstr(text, "store " V8));
    assert_int_equal(count_of(text, "bitcast"), 2);
}

// --- Ways --------------------------------------------------------------------

#define BRANCH(side) \
    "  %c = icmp eq i64 %n, 0\n" \
    "  br i1 %c, label %one, label %both\n" \
    "one:\n" side \
    "  br label %both\n" \
    "both:\n" LOAD "%t4" NOTE

RNL_TEST(what_all_ways_stored_is_known_where_they_meet)
{
    assert_true(goes(BRANCH("")));
    assert_true(goes(BRANCH("  store " V8 " %a, ptr %t\n")));
    assert_true(stays(BRANCH("  store " V8 " %b, ptr %t\n")));
}

#define LOOP(store) \
    "  br label %next\n" \
    "next:\n" \
    "  %i = phi i64 [ 0, %begin ], [ %j, %next ]\n" store \
    LOAD "%t4" NOTE \
    "  %j = add i64 %i, 1\n" \
    "  %c = icmp ult i64 %j, %n\n" \
    "  br i1 %c, label %next, label %out\n" \
    "out:\n"

RNL_TEST(nothing_is_known_where_a_loop_begins)
{
    assert_true(stays(LOOP("")));
    assert_true(goes(LOOP("  store " V8 " %b, ptr %t\n"
                          "  store " V8 " %a, ptr %t8\n")));
}

// --- Costs -------------------------------------------------------------------

RNL_TEST(a_load_of_many_vectors_stays)
{
    static const char four[] =
        "  store i32 1, ptr %t4\n"
        "  %t5 = getelementptr i32, ptr %t, i64 5\n"
        "  %y = trunc i64 %n to i32\n";
    static const char load[] = LOAD "%t4" NOTE;
    assert_true(goes(
        simt_format("%s  store i32 1, ptr %%t5\n%s", four, load)));
    assert_true(stays(
        simt_format("%s  store i32 %%y, ptr %%t5\n%s", four, load)));
}

RNL_TEST(lanes_that_are_read_one_by_one_are_read_from_memory)
{
    char *text = simt_format("%s", "");
    for (int i = 0; i < 8; i++)
        text = simt_format("%s  %%e%d = getelementptr i32, ptr %%t, i64 %d\n"
                           "  %%l%d = load i32, ptr %%e%d\n"
                           "  call void @note_one(i32 %%l%d)\n",
                           text, i, i, i, i, i);
    assert_true(stays(text));
}

// --- Loops from barrier to barrier -------------------------------------------

static bool is_marked(const char *before, const char *first, const char *limit)
{
    LLVMModuleRef module = parse_module(simt_format(
        "define void @f(ptr %%p, i64 %%n) {\n"
        "begin:\n"
        "  %%t = call ptr @llvm.threadlocal.address.p0(ptr @shared)\n"
        "  br label %%next\n"
        "next:\n"
        "  %%i = phi i64 [ %s, %%begin ], [ %%j, %%next ]\n"
        "  %s\n"
        "  %%j = add i64 %%i, 1\n"
        "  %%c = icmp ult i64 %%j, %s\n"
        "  br i1 %%c, label %%next, label %%out\n"
        "out:\n"
        "  ret void\n"
        "}\n", first, before, limit));
    bool any = mark_phases(module);
    char *text = LLVMPrintModuleToString(module);
    assert_int_equal(count_of(text, "llvm.loop.unroll.full"), any);
    return any;
}

RNL_TEST(loops_of_known_length_that_store_to_shared_memory_are_unrolled)
{
    assert_true(is_marked("store i32 1, ptr %t", "0", "8"));
    assert_false(is_marked("store i32 1, ptr %p", "0", "8"));
    assert_false(is_marked("", "0", "8"));
    assert_false(is_marked("store i32 1, ptr %t", "0", "%n"));
    assert_false(is_marked("store i32 1, ptr %t", "%n", "8"));
}
