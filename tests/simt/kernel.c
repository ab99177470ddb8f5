// Reading a kernel: barriers, blocks, and what is refused.
#include "parse.h"

#include <string.h>

static void refused(const char *body, const char *why)
{
    struct kernel *kernel = parse_kernel(body);
    assert_non_null(kernel->refusal);
    if (!strstr(kernel->refusal, why))
        fail_msg("said: %s", kernel->refusal);
}

RNL_TEST(barriers_begin_blocks)
{
    struct kernel *kernel = parse_kernel(
        "  call void @use(i32 1)\n"
        "  %a = call i32 @rnl_sync(i32 0, i32 0)\n"
        "  %b = call i32 @rnl_sync(i32 1, i32 1)\n"
        "  call void @use(i32 %b)\n"
        "  ret void\n");
    assert_null(kernel->refusal);
    assert_int_equal(kernel->barrier_count, 2);
    for (int b = 0; b < 2; b++) {
        const struct block *block = &kernel->blocks[kernel->barrier_blocks[b]];
        assert_int_equal(block->barrier, b);
        assert_ptr_equal(LLVMGetFirstInstruction(block->ir),
                         block->barrier_call);
    }
    assert_int_equal(kernel->blocks[0].barrier, NONE);
    assert_true(kernel->blocks[0].reaches_barrier);
}

RNL_TEST(blocks_are_in_reverse_post_order)
{
    struct kernel *kernel = parse_kernel(
        "  br i1 poison, label %a, label %b\n"
        "a:\n  br label %join\n"
        "join:\n  call void @use(i32 1)\n  br label %end\n"
        "b:\n  br label %join\n"
        "end:\n  ret void\n");
    assert_int_equal(kernel->block_count, 5);
    for (int i = 0; i < 5; i++)
        for (unsigned s = 0; s < kernel->blocks[i].successor_count; s++)
            assert_true(kernel->blocks[i].successors[s] > i);
    const struct block *join =
        &kernel->blocks[block_named(kernel, "join")];
    assert_int_equal(join->predecessor_count, 2);
    assert_false(join->pure_return);
    assert_true(kernel->blocks[block_named(kernel, "end")].pure_return);
}

RNL_TEST(what_a_kernel_uses_is_noted)
{
    struct kernel *kernel = parse_kernel(
        "  %x = call i32 @rnl_thread_x()\n  ret void\n");
    assert_false(kernel->uses_yz);
    assert_false(kernel->has_warp_ops);
    kernel = parse_kernel(
        "  %y = call i32 @rnl_thread_y()\n"
        "  %v = call i64 @rnl_warp(i32 0, i32 -1, i64 0, i32 0, i32 32)\n"
        "  ret void\n");
    assert_true(kernel->uses_yz);
    assert_true(kernel->has_warp_ops);
}

RNL_TEST(what_lanes_cannot_do_is_refused)
{
    refused("  %k = call i32 @number()\n"
            "  %a = call i32 @rnl_sync(i32 %k, i32 0)\n  ret void\n",
            "a kind of barrier at run time");
    refused("  %k = call i32 @number()\n"
            "  %a = call i64 @rnl_warp(i32 %k, i32 -1, i64 0, i32 0, i32 32)\n"
            "  ret void\n", "a warp function at run time");
    refused("  call void @rnl_yield()\n  ret void\n", "__nanosleep");
    refused("  %f = load ptr, ptr %run\n  call void %f()\n  ret void\n",
            "through a pointer");
    refused("  %v = load <4 x i32>, ptr %run\n  ret void\n", "vector type");
    refused("  store { i32, i32 } zeroinitializer, ptr %run\n  ret void\n",
            "stores values of structure");
    refused("  %n = call i32 @number()\n  %a = alloca i8, i32 %n\n"
            "  store i8 1, ptr %a\n  ret void\n", "size is not constant");
    refused("  indirectbr ptr %run, [label %end]\nend:\n  ret void\n",
            "depends on an address");
    refused("  call void @waits()\n  ret void\n}\n"
            "define void @waits() {\n"
            "  %a = call i32 @rnl_sync(i32 0, i32 0)\n  ret void\n",
            "waits for other threads");
}

RNL_TEST(names_of_the_prelude_are_known)
{
    int axis = NONE;
    struct kernel *kernel = parse_kernel(
        "  %y = call i32 @rnl_thread_y()\n"
        "  %s = call i32 @rnl_block_size_x()\n"
        "  %n = call i32 @number()\n  ret void\n");
    assert_int_equal(primitive_of(value_named(kernel, "y"), &axis),
                     PRIMITIVE_THREAD);
    assert_int_equal(axis, 1);
    assert_int_equal(primitive_of(value_named(kernel, "s"), &axis),
                     PRIMITIVE_BLOCK_SIZE);
    assert_int_equal(axis, 0);
    assert_int_equal(primitive_of(value_named(kernel, "n"), &axis),
                     PRIMITIVE_NONE);
}
