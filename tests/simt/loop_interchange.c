// Loops that step over the whole grid.
#include "parse.h"

#include <string.h>

// A kernel with such a loop, which adds up values and reads one at %r; after
// the loop, `after`.
#define STRIDES_OVER(value, body, after)                               \
    "  %first = load ptr, ptr %run\n  %from = load ptr, ptr %first\n"  \
    "  %second.at = getelementptr ptr, ptr %run, i64 1\n"              \
    "  %second = load ptr, ptr %second.at\n"                           \
    "  %n = load i32, ptr %second\n"                                   \
    "  %x = call i32 @rnl_thread_x()\n"                                \
    "  %b = call i32 @rnl_block_x()\n"                                 \
    "  %size = call i32 @rnl_block_size_x()\n"                         \
    "  %before = mul i32 %b, %size\n  %own = add i32 %before, %x\n"    \
    "  %some = icmp slt i32 %own, %n\n"                                \
    "  br i1 %some, label %begin, label %end\n"                        \
    "begin:\n  %blocks = call i32 @rnl_grid_size_x()\n"                \
    "  %step = mul i32 %blocks, %size\n  br label %loop\n"             \
    "loop:\n  %i = phi i32 [ %own, %begin ], [ %j, %loop ]\n"          \
    "  %old = phi i32 [ 0, %begin ], [ %sum, %loop ]\n"                \
    "  %k = sext i32 %i to i64\n"                                      \
    "  %r = getelementptr i32, ptr %from, i64 %k\n"                    \
    "  %v = load i32, ptr %r\n  %sum = add i32 %old, " value "\n" body \
    "  %j = add i32 %i, %step\n  %more = icmp slt i32 %j, %n\n"        \
    "  br i1 %more, label %loop, label %left\n"                        \
    "left:\n" after "  br label %end\n"                                \
    "end:\n  ret void\n"

#define STRIDES(body, after) STRIDES_OVER("%v", body, after)

#define USE "  call void @use(i32 %sum)\n"
#define ATOMIC "  %was = atomicrmw add ptr %r, i32 1 monotonic\n"
#define STORE "  store i32 %sum, ptr %r\n"
#define STORE_TO(n)                                        \
    "  %to" #n " = getelementptr i32, ptr %from, i64 %k\n" \
    "  store i32 %sum, ptr %to" #n "\n"
#define LOAD_PART(n)                                       \
    "  %at" #n " = getelementptr i8, ptr %r, i64 " #n "\n" \
    "  %part" #n " = load i32, ptr %at" #n "\n"

static struct kernel *changed(const char *body)
{
    struct kernel *kernel = parse_kernel(body);
    struct kernel unread = {.module = kernel->module,
                            .context = kernel->context,
                            .layout = kernel->layout,
                            .function = kernel->function,
                            .strides = true};
    assert_null(kernel->refusal);
    assert_true(loop_interchange(kernel));
    *kernel = unread;
    assert_true(kernel_read(kernel));
    return kernel;
}

static unsigned rounds_of(const struct kernel *kernel)
{
    return interchanged_iterations(kernel,
                              kernel->blocks[block_named(kernel, "loop")].loop);
}

static char *emitted_for(const char *processor, const char *body)
{
    char *message = NULL;
    unify_targets(parse_module(""));
    if (processor)
        assert_non_null(
            target_create("x86_64-unknown-linux-gnu", processor, &message));
    struct kernel *kernel = changed(body);
    assert_true(plan_and_emit(kernel));
    verify(kernel->module);
    LLVMDeleteFunction(kernel->function);
    return LLVMPrintModuleToString(kernel->module);
}

static char *emitted(const char *body)
{
    return emitted_for(NULL, body);
}

static bool has(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

// What is read after the loop is what the next round would begin with.
RNL_TEST(barriers_keep_a_sum_once)
{
    struct kernel *kernel = changed(STRIDES("", USE));
    assert_int_equal(kernel->barrier_count, 1);
    assert_true(slot_named(kernel, "old")->kept);
    assert_false(slot_named(kernel, "sum")->kept);
    assert_true(slot_named(kernel, "old")->late);
    verify(kernel->module);
}

// What carries a count would else have to be of lanes.
RNL_TEST(counts_are_kept_beside_it)
{
    struct kernel *kernel = changed(STRIDES_OVER("1", "", USE));
    assert_true(slot_named(kernel, "sum")->kept);
    assert_false(slot_named(kernel, "old")->late);
}

RNL_TEST(rounds_share_the_rows_that_processors_follow)
{
    assert_int_equal(rounds_of(changed(STRIDES("", USE))), 4);
    assert_int_equal(rounds_of(changed(STRIDES(STORE, USE))), 2);
    assert_int_equal(
        rounds_of(changed(STRIDES(STORE_TO(1) STORE_TO(2) STORE_TO(3), USE))),
        1);
}

RNL_TEST(parts_of_a_structure_are_one_row)
{
    assert_int_equal(
        rounds_of(changed(STRIDES(LOAD_PART(4) LOAD_PART(8), USE))), 4);
    assert_int_equal(rounds_of(changed(STRIDES(STORE STORE STORE, USE))), 2);
}

static bool is_changed(const char *body)
{
    return loop_interchange(parse_kernel(body));
}

// It would lie in memory from one barrier to the next.
RNL_TEST(loops_with_private_arrays_stay)
{
    assert_true(is_changed(STRIDES("", USE)));
    assert_false(is_changed("  %mine = alloca [8 x i32]\n" STRIDES(
        "  %m = getelementptr i32, ptr %mine, i32 %i\n"
        "  store i32 %sum, ptr %m\n",
        USE)));
}

// 8 KiB of four rows; where the row ends, of the next four.
RNL_TEST(rounds_ask_for_the_next_ones_where_their_row_ends)
{
    char *text = emitted(STRIDES("", USE));
    assert_true(has(text, "@llvm.prefetch"));
    assert_true(has(text, "i32 512)"));
    assert_true(has(text, ", i32 512, i32 %"));
    assert_false(has(text, ", i64 8192\n"));
}

RNL_TEST(single_rounds_ask_ahead_like_several)
{
    const char *single = STRIDES(STORE_TO(1) STORE_TO(2) STORE_TO(3), USE);
    assert_true(has(emitted(STRIDES(STORE, USE)), ", i32 1024, i32 %"));
    assert_true(has(emitted(single), ", i32 2048, i32 %"));
    char *text = emitted_for("znver4", single);
    assert_true(has(text, "@llvm.prefetch"));
    assert_false(has(text, ", i32 2048, i32 %"));
}

RNL_TEST(processors_that_foresee_rows_are_asked_only_where_one_ends)
{
    char *text = emitted_for("znver4", STRIDES("", USE));
    assert_true(has(text, "@llvm.prefetch"));
    assert_false(has(text, ", i32 512, i32 %"));
    text = emitted_for("znver5", STRIDES("", USE));
    assert_true(has(text, ", i32 512, i32 %"));
}

// Once for a structure, whatever is read of it: 2 KiB of each of four rows.
RNL_TEST(rounds_ask_for_structures_ahead)
{
    char *text =
        emitted(STRIDES("  %s = getelementptr [4 x i32], ptr %from, i64 %k\n"
                        "  %part1 = load i32, ptr %s\n"
                        "  %s2 = getelementptr i8, ptr %s, i64 4\n"
                        "  %part2 = load i32, ptr %s2\n",
                        USE));
    assert_true(has(text, ", i32 128, i32 %"));
    assert_true(has(text, ", i32 512, i32 %"));
}

RNL_TEST(rounds_have_loads_of_their_own)
{
    assert_true(has(emitted(STRIDES("", USE)), "llvm.loop.unroll.enable"));
}

RNL_TEST(atomics_have_one_place)
{
    assert_false(has(emitted(STRIDES(ATOMIC, USE)), "llvm.loop.unroll.enable"));
}
