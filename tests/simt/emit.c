// What is emitted for a few shapes of kernels is a module.
#include "parse.h"

#include <string.h>

static void check(const char *body)
{
    struct kernel *kernel = parse_kernel(body);
    if (kernel->refusal)
        fail_msg("%s", kernel->refusal);
    bool emitted = plan_and_emit(kernel);
    if (!emitted)
        fail_msg("%s", kernel->refusal);
    verify(kernel->module);
    assert_non_null(LLVMGetNamedFunction(kernel->module, "rnl_blocks_0"));
}

static bool has_variant(const char *body, const char *name)
{
    struct kernel *kernel = parse_kernel(body);
    assert_true(plan_and_emit(kernel));
    verify(kernel->module);
    return LLVMGetNamedFunction(kernel->module, name) != NULL;
}

#define INDEX                                                        \
    "  %from = load ptr, ptr %run\n  %to = load ptr, ptr %from\n"    \
    "  %x = call i32 @rnl_thread_x()\n  %i = zext i32 %x to i64\n"   \
    "  %p = getelementptr i32, ptr %to, i64 %i\n"

RNL_TEST(straight_kernels)
{
    check("  ret void\n");
    check(INDEX "  store i32 %x, ptr %p\n  ret void\n");
    check(INDEX "  %v = load i8, ptr %to\n  %w = sext i8 %v to i32\n"
          "  store i32 %w, ptr %p\n  ret void\n");
    check("  unreachable\n");
}

RNL_TEST(kernels_that_go_apart)
{
    check(INDEX "  %c = icmp ult i32 %x, 5\n"
          "  br i1 %c, label %then, label %else\n"
          "then:\n  call void @use(i32 %x)\n  br label %join\n"
          "else:\n  call void @use(i32 7)\n  br label %join\n"
          "join:\n  %n = phi i32 [ %x, %then ], [ 2, %else ]\n"
          "  store i32 %n, ptr %p\n  ret void\n");
    check(INDEX "  br label %loop\n"
          "loop:\n  %n = phi i32 [ 0, %0 ], [ %m, %loop ]\n"
          "  %m = add i32 %n, 1\n  %c = icmp ult i32 %m, %x\n"
          "  br i1 %c, label %loop, label %end\n"
          "end:\n  store i32 %m, ptr %p\n  ret void\n");
    check(INDEX "  %c = icmp ult i32 %x, 5\n"
          "  br i1 %c, label %end, label %rest\n"
          "rest:\n  store i32 1, ptr %p\n  br label %end\n"
          "end:\n  ret void\n");
}

static const char rounds[] =
    INDEX "  br label %loop\n"
    "loop:\n  %n = phi i32 [ 0, %0 ], [ %m, %loop ]\n"
    "  %v = load i32, ptr %p\n"
    "  %s = call i32 @rnl_sync(i32 0, i32 0)\n"
    "  %m = add i32 %n, %v\n"
    "  %count = call i32 @rnl_sync(i32 1, i32 %v)\n"
    "  %c = icmp ult i32 %count, 3\n"
    "  br i1 %c, label %loop, label %end\n"
    "end:\n  store i32 %m, ptr %p\n  ret void\n";

RNL_TEST(kernels_with_barriers)
{
    check(rounds);
    check(INDEX "  %mine = alloca [64 x i32]\n"
          "  %q = getelementptr i32, ptr %mine, i64 %i\n"
          "  store i32 %x, ptr %q\n"
          "  %s = call i32 @rnl_sync(i32 0, i32 0)\n"
          "  %v = load i32, ptr %q\n  store i32 %v, ptr %p\n  ret void\n");
}

static unsigned count_variables(LLVMModuleRef module)
{
    LLVMValueRef function = LLVMGetNamedFunction(module, "rnl_rows_0");
    unsigned count = 0;
    for (LLVMValueRef at =
             LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));
         at; at = LLVMGetNextInstruction(at))
        count += LLVMIsAAllocaInst(at) != NULL;
    return count;
}

static unsigned variables_of_regions(unsigned count)
{
    char *body = simt_format("%s", INDEX);
    for (unsigned i = 0; i < count; i++)
        body = simt_format("%s  %%v%u = load i32, ptr %%p\n"
                           "  %%s%u = call i32 @rnl_sync(i32 0, i32 0)\n"
                           "  store i32 %%v%u, ptr %%p\n", body, i, i, i);
    struct kernel *kernel = parse_kernel(simt_format("%s  ret void\n", body));
    assert_true(plan_and_emit(kernel));
    verify(kernel->module);
    return count_variables(kernel->module);
}

RNL_TEST(regions_have_variables_for_the_slots_that_they_use)
{
    unsigned few = variables_of_regions(10), more = variables_of_regions(20);
    assert_int_equal(variables_of_regions(30) - more, more - few);
}

RNL_TEST(values_of_all_types)
{
    check(INDEX
          "  %h = load half, ptr %p\n  %f = fpext half %h to float\n"
          "  %d = fpext float %f to double\n  %e = fdiv double %d, 3.0\n"
          "  %n = fneg double %e\n  store double %n, ptr %p\n"
          "  %w = load i128, ptr %to\n  %y = add i128 %w, 1\n"
          "  store i128 %y, ptr %p\n"
          "  %b = load i8, ptr %p\n  %t = trunc i8 %b to i1\n"
          "  %u = select i1 %t, ptr %p, ptr null\n"
          "  store ptr %u, ptr %p\n  ret void\n");
}

RNL_TEST(atomics_of_single_lanes)
{
    check(INDEX
          "  %a = atomicrmw add ptr %to, i32 %x monotonic\n"
          "  %b = cmpxchg ptr %p, i32 %a, i32 2 monotonic monotonic\n"
          "  %c = extractvalue { i32, i1 } %b, 0\n"
          "  %d = extractvalue { i32, i1 } %b, 1\n"
          "  %e = select i1 %d, i32 %c, i32 3\n"
          "  store i32 %e, ptr %p\n  fence seq_cst\n  ret void\n");
}

RNL_TEST(warp_functions_of_every_kind)
{
    for (int kind = 0; kind <= 18; kind++)
        for (int mask = 0; mask < 2; mask++)
            check(simt_format(
                "%s  %%m = load i32, ptr %%p\n"
                "  %%v = call i64 @rnl_warp(i32 %d, i32 %s, i64 %%i, i32 3, "
                "i32 16)\n"
                "  %%w = call i64 @rnl_warp(i32 %d, i32 %s, i64 %%i, i32 %%x, "
                "i32 32)\n"
                "  store i64 %%v, ptr %%p\n  store i64 %%w, ptr %%p\n"
                "  ret void\n", INDEX, kind, mask ? "%m" : "-1", kind,
                mask ? "%m" : "-1"));
}

RNL_TEST(variants_are_made_where_they_gain)
{
    static const char two[] =
        "  %x = call i32 @rnl_thread_x()\n  %y = call i32 @rnl_thread_y()\n"
        "  ret void\n";
    static const char warp[] =
        "  %v = call i64 @rnl_warp(i32 0, i32 -1, i64 0, i32 0, i32 32)\n"
        "  ret void\n";
    assert_true(has_variant("  ret void\n", "rnl_rows_0"));
    assert_false(has_variant("  ret void\n", "rnl_packed_0"));
    assert_false(has_variant("  ret void\n", "rnl_halves_0"));
    assert_true(has_variant(two, "rnl_halves_0"));
    assert_true(has_variant(two, "rnl_quarters_0"));
    assert_true(has_variant(two, "rnl_packed_0"));
    assert_false(has_variant(warp, "rnl_halves_0"));
    assert_false(has_variant(warp, "rnl_quarters_0"));
    assert_true(has_variant(warp, "rnl_packed_0"));
}

static char *text_of(const char *body, const char *name)
{
    struct kernel *kernel = parse_kernel(body);
    assert_true(plan_and_emit(kernel));
    LLVMValueRef function = LLVMGetNamedFunction(kernel->module, name);
    assert_non_null(function);
    return LLVMPrintValueToString(function);
}

RNL_TEST(copies_without_masks_are_made_where_all_lanes_may_meet)
{
    static const char start[] =
        INDEX "  %v = load i32, ptr %p\n  %c = icmp sgt i32 %v, 0\n"
        "  br i1 %c, label %then, label %end\n"
        "then:\n  store i32 1, ptr %p\n  br label %end\n"
        "end:\n  call void @use(i32 2)\n  ret void\n";
    static const char meeting[] =
        INDEX "  %v = load i32, ptr %p\n  %c = icmp sgt i32 %v, 0\n"
        "  br i1 %c, label %then, label %both\n"
        "then:\n  %d = icmp sgt i32 %v, 9\n"
        "  br i1 %d, label %end, label %both\n"
        "both:\n  store i32 1, ptr %p\n  br label %end\n"
        "end:\n  call void @use(i32 2)\n  ret void\n";
    assert_null(strstr(text_of(start, "rnl_rows_0"), "body.all"));
    char *copy = strstr(text_of(meeting, "rnl_rows_0"), "\nbody.all");
    assert_non_null(copy);
    // Not where threads have ended.
    assert_null(strstr(copy + 1, "\nbody.all"));
}

// How many blocks chains enter without a test if a side of a branch is that.
static unsigned entered(const char *side)
{
    const char *text = code_for("x86-64-v4", simt_format(
        "%s  %%v = load i32, ptr %%p\n  %%c = icmp sgt i32 %%v, 0\n"
        "  br i1 %%c, label %%then, label %%end\n"
        "then:\n%s  br label %%end\n"
        "end:\n  %%r = phi i32 [ %%v, %%0 ], [ %%w, %%then ]\n"
        "  store i32 %%r, ptr %%p\n  ret void\n", INDEX, side));
    unsigned count = 0;
    while ((text = strstr(text, "br label %body")) && text++)
        count++;
    return count;
}

// The edge to the end is a block by itself, and short.
RNL_TEST(lanes_go_through_short_sides_without_a_test)
{
    unsigned edge = entered("  %w = load i32, ptr %to\n");
    assert_int_equal(entered("  %w = mul i32 %v, 3\n"), 2 * edge);
    assert_int_equal(entered("  call void @use(i32 1)\n"
                             "  %w = add i32 %v, 0\n"), edge);
    assert_int_equal(entered("  %u = udiv i32 9, %v\n"
                             "  %w = add i32 %u, 1\n"), edge);
}

#define TEN(text) text text text text text text text text text text
#define USE "  call void @use(i32 %y)\n"

// Copies a number in an array of %x by %y.
#define PLACE(factor, added, more)                                      \
    "  %from = load ptr, ptr %run\n  %to = load ptr, ptr %from\n"       \
    "  %x = call i32 @rnl_block_x()\n  %y = call i32 @rnl_thread_y()\n" \
    "  %size = call i32 @rnl_grid_size_x()\n"                           \
    "  %row = mul i32 " factor ", %size\n"                              \
    "  %at = add i32 %row, " added "\n  %i = zext i32 %at to i64\n"     \
    "  %p = getelementptr i32, ptr %to, i64 %i\n" more                  \
    "  store i32 %x, ptr %p\n  ret void\n"

RNL_TEST(blocks_of_one_thread_in_x_have_lanes_where_memory_goes_on)
{
    assert_true(has_variant(PLACE("%y", "%x", ""), "rnl_across_0"));
    assert_false(has_variant(PLACE("%y", "%x", ""), "rnl_columns_0"));
    assert_true(has_variant(PLACE("%x", "%y", ""), "rnl_columns_0"));
    assert_false(has_variant(PLACE("%x", "%y", ""), "rnl_across_0"));
    // Blocks with barriers go one by one.
    static const char waits[] =
        PLACE("%y", "%x", "  %s = call i32 @rnl_sync(i32 0, i32 0)\n");
    assert_true(has_variant(waits, "rnl_columns_0"));
    assert_false(has_variant(waits, "rnl_across_0"));
    // Kernels without y are not launched in such blocks.
    assert_false(has_variant("  ret void\n", "rnl_columns_0"));
}

RNL_TEST(slots_of_a_few_bytes_share_a_line_of_the_record)
{
    char *text = code_for(
        NULL, INDEX "  %v = load i32, ptr %p\n  %a = icmp eq i32 %v, 1\n"
                    "  %b = icmp eq i32 %v, 2\n  %c = icmp eq i32 %v, 3\n"
                    "  %s = call i32 @rnl_sync(i32 0, i32 0)\n"
                    "  %d = select i1 %a, i32 4, i32 5\n"
                    "  %e = select i1 %b, i32 %d, i32 6\n"
                    "  %f = select i1 %c, i32 %e, i32 7\n"
                    "  store i32 %f, ptr %p\n  ret void\n");
    assert_non_null(strstr(text, ", i64 36\n"));
    assert_non_null(strstr(text, ", i64 40\n"));
    assert_null(strstr(text, ", i64 192\n"));
}

// A warp adds; where it stores is counted by %at.
#define WARP(at)                                                             \
    "  %from = load ptr, ptr %run\n  %to = load ptr, ptr %from\n"            \
    "  %x = call i32 @rnl_thread_x()\n  %block = call i32 @rnl_block_x()\n" \
    "  %size = call i32 @rnl_block_size_x()\n"                              \
    "  %first = mul i32 %block, %size\n  %own = add i32 %first, %x\n"       \
    "  %sum = call i64 @rnl_warp(i32 5, i32 -1, i64 1, i32 0, i32 32)\n"    \
    "  %at = " at "\n  %i = zext i32 %at to i64\n"                          \
    "  %p = getelementptr i64, ptr %to, i64 %i\n"                           \
    "  %v = load i64, ptr %p\n  %w = add i64 %v, %sum\n"                    \
    "  store i64 %w, ptr %p\n  ret void\n"

RNL_TEST(kernels_that_count_warps_have_code_for_complete_ones)
{
    assert_true(has_variant(WARP("lshr i32 %own, 5"), "rnl_whole_0"));
    assert_true(has_variant(WARP("lshr i32 %own, 5"), "rnl_rows_0"));
    assert_false(has_variant(WARP("add i32 %own, 5"), "rnl_whole_0"));
}

RNL_TEST(packed_code_of_larger_kernels_masks_at_once)
{
    static const char start[] =
        INDEX "  %y = call i32 @rnl_thread_y()\n"
        "  %v = load i32, ptr %p\n  %c = icmp sgt i32 %v, 0\n";
    static const char end[] =
        "  br i1 %c, label %then, label %end\n"
        "then:\n  store i32 1, ptr %p\n  br label %end\n"
        "end:\n  ret void\n";
    char *small = simt_format("%s%s", start, end);
    char *larger = simt_format("%s%s%s", start, TEN(TEN(USE USE USE)), end);
    assert_non_null(strstr(text_of(small, "rnl_packed_0"), "\nmore:"));
    assert_non_null(strstr(text_of(larger, "rnl_rows_0"), "\nmore:"));
    assert_null(strstr(text_of(larger, "rnl_packed_0"), "\nmore:"));
}

RNL_TEST(barriers_where_lanes_go_apart_are_refused)
{
    struct kernel *kernel = parse_kernel(
        INDEX "  br label %loop\n"
        "loop:\n  %n = phi i32 [ 0, %0 ], [ %m, %next ]\n"
        "  %c = icmp ult i32 %n, %x\n"
        "  br i1 %c, label %then, label %next\n"
        "then:\n  %s = call i32 @rnl_sync(i32 0, i32 0)\n"
        "  store i32 %n, ptr %p\n  br label %next\n"
        "next:\n  %m = add i32 %n, 1\n  %d = icmp ult i32 %m, 9\n"
        "  br i1 %d, label %loop, label %end\n"
        "end:\n  ret void\n");
    assert_null(kernel->refusal);
    assert_false(plan_and_emit(kernel));
    assert_non_null(strstr(kernel->refusal, "a barrier stands where"));
    assert_null(LLVMGetNamedFunction(kernel->module, "rnl_rows_0"));
}
