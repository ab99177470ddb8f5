// How values differ between lanes.
#include "parse.h"

#include <stdio.h>
#include <string.h>

static const struct variant rows = {.width = 32, .rows = true, .name = "rows"};
static const struct variant halves = {
    .width = 16, .rows = true, .row = 16, .name = "halves"};
static const struct variant whole = {
    .width = 32, .rows = true, .whole = true, .name = "whole"};
static const struct variant packed = {.width = 32, .name = "packed"};
static const struct variant columns = {.width = 32, .rows = true,
    .along = LANES_Y, .thin = true, .name = "columns"};
static const struct variant across = {.width = 32, .rows = true, .row = 1,
    .along = LANES_BLOCKS, .thin = true, .name = "across"};

static struct shapes shapes;

// Reads a kernel and finds its shapes in a variant.
static void find(const char *body, const struct variant *variant)
{
    struct kernel *kernel = parse_kernel(body);
    if (kernel->refusal)
        fail_msg("%s", kernel->refusal);
    shapes = (struct shapes){.kernel = kernel, .variant = variant};
    shapes_find(&shapes);
}

// "uniform", "affine 4", "varying", "varying ~4".
static void write_shape(struct shape shape, char text[64])
{
    static const char *const kinds[] = {"unknown", "uniform", "affine",
                                        "varying"};
    strcpy(text, kinds[shape.kind]);
    if (shape.kind == SHAPE_AFFINE)
        sprintf(text + strlen(text), " %lld", (long long)shape.stride);
    if (shape.kind == SHAPE_VARYING && shape.guess)
        sprintf(text + strlen(text), " ~%lld", (long long)shape.guess);
}

static void is(const char *name, const char *expected)
{
    char text[64];
    LLVMValueRef value = value_named(shapes.kernel, name);
    write_shape(shape_of(&shapes, value), text);
    if (strcmp(text, expected) != 0)
        fail_msg("%s is %s, not %s", name, text, expected);
}

static void diverges(const char *block, bool expected)
{
    assert_int_equal(shapes.divergent[block_named(shapes.kernel, block)],
                     expected);
}

// --- Indices and arithmetic --------------------------------------------------

static const char indices[] =
    "  %x = call i32 @rnl_thread_x()\n  %y = call i32 @rnl_thread_y()\n"
    "  %block = call i32 @rnl_block_x()\n"
    "  %size = call i32 @rnl_block_size_x()\n"
    "  ret void\n";

RNL_TEST(indices_depend_on_the_variant)
{
    find(indices, &rows);
    is("x", "affine 1");
    is("y", "uniform");
    is("block", "uniform");
    is("size", "uniform");
    assert_int_equal(
        shape_of(&shapes, value_named(shapes.kernel, "x")).alignment, 5);
    find(indices, &halves);
    is("x", "affine 1");
    assert_int_equal(
        shape_of(&shapes, value_named(shapes.kernel, "x")).alignment, 4);
    find(indices, &packed);
    is("x", "varying ~1");
    is("y", "varying");
    is("block", "uniform");
    find(indices, &columns);
    is("x", "uniform");
    is("y", "affine 1");
    is("block", "uniform");
    find(indices, &across);
    is("x", "uniform");
    is("y", "uniform");
    is("block", "affine 1");
    is("size", "uniform");
}

// The number of a thread in the grid, where blocks have one thread in x.
RNL_TEST(blocks_of_one_thread_in_x_are_counted_by_their_index)
{
    static const char place[] =
        "  %x = call i32 @rnl_thread_x()\n"
        "  %block = call i32 @rnl_block_x()\n"
        "  %size = call i32 @rnl_block_size_x()\n"
        "  %first = mul i32 %size, %block\n  %other = mul i32 %block, %size\n"
        "  %at = add i32 %first, %x\n  ret void\n";
    find(place, &across);
    is("first", "affine 1");
    is("other", "affine 1");
    is("at", "affine 1");
    find(place, &columns);
    is("at", "uniform");
    find(place, &rows);
    is("at", "affine 1");
}

// A warp's number in the grid, and a thread's in its warp.
RNL_TEST(blocks_of_complete_warps_count_warps_alike)
{
    static const char warps[] =
        "  %x = call i32 @rnl_thread_x()\n"
        "  %block = call i32 @rnl_block_x()\n"
        "  %size = call i32 @rnl_block_size_x()\n"
        "  %first = mul i32 %block, %size\n  %at = add i32 %first, %x\n"
        "  %warp = lshr i32 %at, 5\n  %lane = and i32 %at, 31\n"
        "  %y = call i32 @rnl_grid_size_x()\n"
        "  %area = mul i32 %y, %block\n  %sum = add i32 %area, %x\n"
        "  %other = lshr i32 %sum, 5\n  ret void\n";
    find(warps, &rows);
    is("warp", "varying");
    is("lane", "varying ~1");
    find(warps, &whole);
    is("warp", "uniform");
    is("lane", "affine 1");
    is("other", "varying");
}

// A number that may wrap, is made wider and has something added to it; `used`:
// it is an index before that.
static void find_walk(const char *used)
{
    char *body = simt_format(
        "  %%from = load ptr, ptr %%run\n"
        "  %%x = call i32 @rnl_thread_x()\n"
        "  %%block = call i32 @rnl_block_x()\n"
        "  %%size = load i32, ptr %%from\n"
        "  %%row = mul i32 %%block, %%size\n  %%at = add i32 %%row, %%x\n"
        "  %%i = sext i32 %%at to i64\n"
        "  %%p = getelementptr float, ptr %%from, i64 %%i\n%s"
        "  %%step = sext i32 %%size to i64\n"
        "  %%j = add i64 %%i, %%step\n"
        "  %%q = getelementptr float, ptr %%from, i64 %%j\n"
        "  store float 0.0, ptr %%q\n  ret void\n", used);
    find(body, &rows);
}

RNL_TEST(an_index_that_is_used_at_once_has_not_wrapped)
{
    find_walk("");
    is("i", "varying ~1");
    find_walk("  %v = load float, ptr %p\n");
    is("i", "affine 1");
    is("j", "affine 1");
    is("q", "affine 4");
    find_walk("  store float 1.0, ptr %p\n");
    is("q", "affine 4");
    find_walk("  store ptr %p, ptr %from\n");
    is("i", "varying ~1");
}

RNL_TEST(arithmetic_keeps_strides)
{
    find("  %x = call i32 @rnl_thread_x()\n"
         "  %b = call i32 @rnl_block_x()\n"
         "  %s = call i32 @rnl_block_size_x()\n"
         "  %bs = mul i32 %b, %s\n"
         "  %sum = add i32 %bs, %x\n"
         "  %down = sub i32 %b, %x\n"
         "  %zero = sub i32 %sum, %x\n"
         "  %three = mul i32 %x, 3\n"
         "  %eight = shl i32 %x, 3\n"
         "  %square = mul i32 %x, %x\n"
         "  %some = mul i32 %x, %s\n"
         "  %low = trunc i32 %three to i8\n"
         "  %gone = shl i32 %x, 31\n"
         "  %wrapped = shl i32 %gone, 1\n"
         "  %joined = or disjoint i32 %eight, 5\n"
         "  %mixed = or i32 %x, 5\n"
         "  %less = icmp slt i32 %x, %s\n"
         "  %same = icmp slt i32 %b, %s\n"
         "  ret void\n", &rows);
    is("bs", "uniform");
    is("sum", "affine 1");
    is("down", "affine -1");
    is("zero", "uniform");
    is("three", "affine 3");
    is("eight", "affine 8");
    is("square", "varying");
    is("some", "varying");
    is("low", "affine 3");
    is("wrapped", "uniform");
    is("joined", "affine 8");
    is("mixed", "varying");
    is("less", "varying");
    is("same", "uniform");
}

static const char masks[] =
    "  %x = call i32 @rnl_thread_x()\n"
    "  %b = call i32 @rnl_block_x()\n"
    "  %lane = and i32 %x, 31\n"
    "  %warp = lshr i32 %x, 5\n"
    "  %base = and i32 %x, -32\n"
    "  %part = and i32 %x, 15\n"
    "  %half = lshr i32 %x, 4\n"
    "  %moved = add i32 %x, %b\n"
    "  %away = and i32 %moved, 31\n"
    "  %rest = urem i32 %x, 24\n"
    "  ret void\n";

RNL_TEST(lanes_of_aligned_chunks_keep_strides_under_masks)
{
    find(masks, &rows);
    is("lane", "affine 1");
    is("warp", "uniform");
    is("base", "uniform");
    is("part", "varying ~1");
    is("half", "varying");
    is("away", "varying ~1");
    is("rest", "varying ~1");
    find(masks, &halves);
    is("part", "affine 1");
    is("half", "uniform");
    is("lane", "varying ~1");
    is("warp", "varying");
}

RNL_TEST(numbers_of_warps_are_alike_where_blocks_are_whole_warps)
{
    static const char body[] =
        "  %x = call i32 @rnl_thread_x()\n"
        "  %block = call i32 @rnl_block_x()\n"
        "  %whole = shl i32 %block, 7\n  %i = or disjoint i32 %whole, %x\n"
        "  %warp = lshr i32 %i, 5\n"
        "  %product = mul i32 %block, 96\n  %j = add i32 %product, %x\n"
        "  %further = add i32 %j, 64\n  %second = ashr i32 %further, 5\n"
        "  %off = add i32 %further, 8\n  %third = lshr i32 %off, 5\n"
        "  %part = mul i32 %block, 100\n  %k = add i32 %part, %x\n"
        "  %fourth = lshr i32 %k, 5\n  ret void\n";
    find(body, &rows);
    is("warp", "uniform");
    is("second", "uniform");
    is("third", "varying");
    is("fourth", "varying");
    find(body, &packed);
    is("warp", "varying");
}

RNL_TEST(numbers_that_may_wrap_are_only_guessed_when_widened)
{
    find("  %x = call i32 @rnl_thread_x()\n"
         "  %before = sub i32 %x, 1\n"
         "  %after = add i32 %x, 1\n"
         "  %a = zext i32 %x to i64\n"
         "  %b = zext i32 %after to i64\n"
         "  %c = zext i32 %before to i64\n"
         "  %d = sext i32 %before to i64\n"
         "  %large = mul i32 %x, 100000\n"
         "  %f = sext i32 %large to i64\n"
         "  %short = trunc i32 %x to i8\n"
         "  %g = zext i8 %short to i32\n"
         "  ret void\n", &rows);
    is("a", "affine 1");
    is("b", "affine 1");
    is("c", "varying ~1");
    is("d", "affine 1");
    is("f", "varying ~100000");
    is("g", "varying ~1");
}

RNL_TEST(a_block_index_times_a_constant_is_an_index)
{
    find("  %x = call i32 @rnl_thread_x()\n"
         "  %block = call i32 @rnl_block_x()\n"
         "  %shifted = shl i32 %block, 10\n"
         "  %some = mul i32 %block, 100\n"
         "  %far = mul i32 %block, 1025\n"
         "  %a = add i32 %shifted, %x\n"
         "  %b = add i32 %some, %x\n"
         "  %c = add i32 %far, %x\n"
         "  %wide_a = zext i32 %a to i64\n"
         "  %wide_b = zext i32 %b to i64\n"
         "  %wide_c = zext i32 %c to i64\n"
         "  ret void\n", &rows);
    is("wide_a", "affine 1");
    is("wide_b", "affine 1");
    is("wide_c", "varying ~1");
}

// The lanes' indices, as `index` makes them of %x and %n, widened with their
// sign and used as `use` does.
static void widen(const char *index, const char *use)
{
    find(simt_format(
             "  %%from = load ptr, ptr %%run\n"
             "  %%n = load i32, ptr %%from\n"
             "  %%far = load i64, ptr %%from\n"
             "  %%x = call i32 @rnl_thread_x()\n"
             "  %%before = sub i32 %%x, 5\n"
             "%s  %%wide = sext i32 %%i to i64\n"
             "%s  %%p = getelementptr i32, ptr %%from, i64 %%index\n"
             "  ret void\n", index, use), &rows);
}

RNL_TEST(indices_that_may_wrap_stay_in_a_row_without_far_offsets)
{
    static const char any[] = "  %i = add i32 %x, %n\n";
    widen(any, "  %index = add i64 %wide, 16777216\n");
    is("wide", "affine 1");
    is("p", "affine 4");
    widen(any, "  %index = sub i64 %wide, 1\n");
    is("wide", "affine 1");
    widen(any, "  %index = add i64 %wide, 2147483648\n");
    is("wide", "varying ~1");
    widen(any, "  %index = add i64 %wide, %far\n");
    is("wide", "varying ~1");
    widen(any, "  %index = sub i64 1, %wide\n");
    is("wide", "varying ~1");
}

RNL_TEST(sums_that_begin_in_range_stay_in_a_row)
{
    static const char far[] = "  %index = add i64 %wide, %far\n";
    static const char *const stay[] = {
        "  %i = add nsw i32 %x, %n\n",
        "  %i = sub nsw i32 %n, %x\n",
        "  %i = add i32 %x, -5\n",
        "  %s = add nsw i32 %x, %n\n  %i = add nsw i32 %s, 5\n",
        "  %s = sub nsw i32 %n, %x\n  %i = add nsw i32 %s, -5\n",
    };
    static const char *const may_not[] = {
        "  %i = add i32 %x, %n\n",
        "  %i = add i32 %x, 2147483643\n",
        "  %i = add nsw i32 %before, %n\n",
        "  %s = add nsw i32 %x, %n\n  %i = add nsw i32 %s, -5\n",
        "  %s = sub nsw i32 %n, %x\n  %i = add nsw i32 %s, 5\n",
    };
    for (size_t i = 0; i < sizeof stay / sizeof *stay; i++) {
        widen(stay[i], far);
        assert_int_equal(
            shape_of(&shapes, value_named(shapes.kernel, "wide")).kind,
            SHAPE_AFFINE);
    }
    for (size_t i = 0; i < sizeof may_not / sizeof *may_not; i++) {
        widen(may_not[i], far);
        assert_int_equal(
            shape_of(&shapes, value_named(shapes.kernel, "wide")).kind,
            SHAPE_VARYING);
    }
}

// --- Memory ------------------------------------------------------------------

RNL_TEST(addresses_have_strides_in_bytes)
{
    find("  %from = load ptr, ptr %run\n  %to = load ptr, ptr %from\n"
         "  %x = call i32 @rnl_thread_x()\n  %i = zext i32 %x to i64\n"
         "  %p = getelementptr float, ptr %to, i64 %i\n"
         "  %q = getelementptr { i32, [8 x i16] }, ptr %to, i64 %i, i32 1, "
         "i64 3\n"
         "  %v = load float, ptr %p\n"
         "  %u = load float, ptr %to\n"
         "  %w = load volatile float, ptr %to\n"
         "  %k = load i32, ptr %q\n"
         "  %s = getelementptr float, ptr %to, i32 %k\n"
         "  ret void\n", &rows);
    is("to", "uniform");
    is("p", "affine 4");
    is("q", "affine 20");
    is("v", "varying");
    is("u", "uniform");
    is("w", "varying");
    is("s", "varying");
}

RNL_TEST(atomics_vary)
{
    find("  %a = atomicrmw add ptr %run, i32 1 monotonic\n"
         "  %b = cmpxchg ptr %run, i32 1, i32 2 monotonic monotonic\n"
         "  %c = extractvalue { i32, i1 } %b, 0\n"
         "  ret void\n", &rows);
    is("a", "varying");
    is("b", "varying");
    LLVMValueRef half =
        LLVMGetNextInstruction(value_named(shapes.kernel, "b"));
    assert_non_null(LLVMIsAExtractValueInst(half));
    assert_int_equal(shape_of(&shapes, half).kind, SHAPE_VARYING);
}

// --- Control flow ------------------------------------------------------------

// A choice by %c of what `condition` makes, and what comes of it.
static void choose(const char *condition)
{
    find(simt_format(
             "  %%x = call i32 @rnl_thread_x()\n"
             "  %%b = call i32 @rnl_block_x()\n"
             "  %%two = mul i32 %%x, 2\n"
             "  br label %%fork\n"
             "fork:\n  %%c = icmp ult i32 %s, 5\n"
             "  br i1 %%c, label %%then, label %%else\n"
             "then:\n  call void @use(i32 1)\n  br label %%join\n"
             "else:\n  call void @use(i32 2)\n  br label %%join\n"
             "join:\n  %%n = phi i32 [ 3, %%then ], [ 4, %%else ]\n"
             "  %%i = phi i32 [ %%x, %%then ], [ %%two, %%else ]\n"
             "  %%j = phi i32 [ %%x, %%then ], [ %%x, %%else ]\n"
             "  %%nn = add i32 %%n, 0\n  %%ii = add i32 %%i, 0\n"
             "  %%jj = add i32 %%j, 0\n"
             "  ret void\n", condition), &rows);
}

RNL_TEST(values_vary_where_lanes_meet)
{
    choose("%x");
    diverges("fork", true);
    is("nn", "varying");
    is("ii", "varying ~1");
}

RNL_TEST(values_stay_where_lanes_go_together)
{
    choose("%b");
    diverges("fork", false);
    is("nn", "uniform");
    is("ii", "varying ~1");
    is("jj", "affine 1");
}

// A loop that counts to `limit`, and what it has counted.
static void count_to(const char *limit)
{
    find(simt_format(
             "  %%x = call i32 @rnl_thread_x()\n"
             "  %%b = call i32 @rnl_block_x()\n"
             "  br label %%loop\n"
             "loop:\n  %%i = phi i32 [ 0, %%0 ], [ %%next, %%back ]\n"
             "  call void @use(i32 %%i)\n  %%next = add i32 %%i, 1\n"
             "  %%same = mul i32 %%i, 2\n"
             "  %%last = mul i32 %%i, 3\n"
             "  br label %%back\n"
             "back:\n  %%c = icmp ult i32 %%next, %s\n"
             "  br i1 %%c, label %%loop, label %%end\n"
             "end:\n  %%total = add i32 %%last, 0\n"
             "  call void @use(i32 %%total)\n  ret void\n", limit), &rows);
}

RNL_TEST(what_leaves_a_loop_with_single_lanes_varies)
{
    count_to("%x");
    diverges("back", true);
    is("same", "uniform");
    is("total", "varying");
    int loop = shapes.kernel->blocks[block_named(shapes.kernel, "loop")].loop;
    assert_true(shapes.divergent_loop[loop]);
}

RNL_TEST(what_leaves_a_loop_with_all_lanes_stays)
{
    count_to("%b");
    diverges("back", false);
    is("same", "uniform");
    is("total", "uniform");
    int loop = shapes.kernel->blocks[block_named(shapes.kernel, "loop")].loop;
    assert_false(shapes.divergent_loop[loop]);
}

RNL_TEST(lanes_that_end_leave_nothing_behind)
{
    find("  %x = call i32 @rnl_thread_x()\n  br label %fork\n"
         "fork:\n  %c = icmp ult i32 %x, 5\n"
         "  br i1 %c, label %end, label %rest\n"
         "rest:\n  %b = call i32 @rnl_block_x()\n"
         "  %d = icmp ult i32 %b, 5\n"
         "  br i1 %d, label %more, label %end\n"
         "more:\n  call void @use(i32 %b)\n  br label %end\n"
         "end:\n  ret void\n", &rows);
    diverges("fork", true);
    diverges("rest", false);
    is("b", "uniform");
}

RNL_TEST(choices_of_single_lanes_vary)
{
    find("  %x = call i32 @rnl_thread_x()\n  %b = call i32 @rnl_block_x()\n"
         "  %c = icmp ult i32 %x, 5\n  %d = icmp ult i32 %b, 5\n"
         "  %p = select i1 %c, i32 1, i32 2\n"
         "  %q = select i1 %d, i32 1, i32 2\n"
         "  %r = select i1 %d, i32 %x, i32 %x\n"
         "  %s = select i1 %c, i32 %x, i32 %b\n"
         "  %m = call i32 @llvm.smin.i32(i32 %x, i32 %b)\n"
         "  ret void\n}\ndeclare i32 @llvm.smin.i32(i32, i32)\n"
         "define void @nothing() {\n  ret void\n", &rows);
    is("p", "varying");
    is("q", "uniform");
    is("r", "affine 1");
    is("s", "varying ~1");
    is("m", "varying ~1");
}

// --- Calls -------------------------------------------------------------------

RNL_TEST(functions_with_effects_vary)
{
    find("  %x = call i32 @rnl_thread_x()\n"
         "  %a = call i32 @pure(i32 1)\n  %b = call i32 @pure(i32 %x)\n"
         "  %c = call i32 @number()\n  ret void\n}\n"
         "declare i32 @pure(i32) memory(none)\n"
         "define void @nothing() {\n  ret void\n", &rows);
    is("a", "uniform");
    is("b", "varying");
    is("c", "varying");
}

// A warp function of kind, mask, argument and width.
static void warp_is(const char *operands, const char *expected)
{
    int kind;
    char mask[8], argument[8], width[8];
    assert_int_equal(sscanf(operands, "%d %7s %7s %7s", &kind, mask, argument,
                            width), 4);
    find(simt_format("  %%x = call i32 @rnl_thread_x()\n"
                     "  %%v = zext i32 %%x to i64\n"
                     "  %%r = call i64 @rnl_warp(i32 %d, i32 %s, i64 %%v, "
                     "i32 %s, i32 %s)\n  ret void\n",
                     kind, mask, argument, width), &rows);
    is("r", expected);
}

RNL_TEST(warp_functions_give_all_lanes_the_same_or_not)
{
    warp_is("1 -1 3 32", "uniform");  // shuffles
    warp_is("1 -1 3 8", "varying");
    warp_is("1 -1 %x 32", "varying");
    warp_is("2 -1 1 32", "varying");
    warp_is("3 -1 1 32", "varying");
    warp_is("4 -1 1 32", "varying");
    warp_is("5 -1 0 32", "uniform");  // votes
    warp_is("5 %x 0 32", "varying");
    warp_is("7 -1 0 32", "uniform");
    warp_is("8 -1 0 32", "varying");  // matches
    warp_is("9 -1 0 32", "uniform");
    warp_is("10 -1 0 32", "uniform");  // reductions
    warp_is("16 %x 0 32", "varying");
    warp_is("18 -1 0 32", "uniform");
}

// In a gang of many warps each has its own.
RNL_TEST(warp_functions_of_many_warps_vary)
{
    static const struct variant block = {
        .width = 1024, .name = "block"};
    find("  %s = call i32 @rnl_sync(i32 1, i32 1)\n"
         "  ret void\n", &block);
    is("s", "uniform");
    find("  br label %go\n"
         "go:\n  %v = call i64 @rnl_warp(i32 5, i32 -1, i64 1, i32 0, i32 32)"
         "\n  ret void\n", &block);
    is("v", "varying");
}
