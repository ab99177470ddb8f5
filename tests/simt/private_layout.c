// Arrays of a thread's own whose elements lie beside those of other lanes.
#include "parse.h"

#include <string.h>

static struct kernel *private_lanes(const char *body)
{
    struct kernel *kernel = parse_kernel(body);
    if (kernel->refusal)
        fail_msg("%s", kernel->refusal);
    private_layout(kernel, 32);
    verify(kernel->module);
    return kernel;
}

// Bytes of the elements of %a that lie in rows, or 0.
static unsigned element_of(const char *body)
{
    return slot_named(private_lanes(body), "a")->element;
}

static struct shape shape_in(const struct kernel *kernel, const char *name)
{
    static const struct variant rows = {
        .width = 32, .rows = true, .name = "rows"};
    struct shapes shapes = {.kernel = kernel, .variant = &rows};
    shapes_find(&shapes);
    return shape_of(&shapes, LLVMGetOperand(value_named(kernel, name), 0));
}

#define PLACE(type, name, index)                                        \
    "  %" name " = getelementptr " type ", ptr %a, i64 0, i64 " index "\n"

RNL_TEST(lanes_that_agree_on_an_index_have_a_row)
{
    struct kernel *kernel = private_lanes(
        "  %a = alloca [9 x i32], align 16\n  %n = call i32 @number()\n"
        "  %i = and i32 %n, 7\n"
        "  %p = getelementptr [9 x i32], ptr %a, i64 0, i32 %i\n"
        "  %v = load i32, ptr %p, align 16\n"
        "  %t = call i32 @rnl_thread_x()\n  %j = mul i32 %t, %t\n"
        "  %q = getelementptr [9 x i32], ptr %a, i64 0, i32 %j\n"
        "  store i32 %v, ptr %q\n  %w = load i32, ptr %q\n"
        "  call void @use(i32 %w)\n  ret void\n");
    assert_int_equal(slot_named(kernel, "a")->element, 4);
    assert_int_equal(LLVMGetAlignment(value_named(kernel, "v")), 4);
    assert_int_equal(shape_in(kernel, "w").kind, SHAPE_VARYING);
    assert_int_equal(shape_in(kernel, "w").guess, 0);
}

RNL_TEST(addresses_count_rows)
{
    struct kernel *kernel = private_lanes(
        "  %a = alloca [4 x { i32, [2 x i32] }]\n"
        "  %i = call i32 @number()\n"
        "  %p = getelementptr [4 x { i32, [2 x i32] }], ptr %a, i64 0,"
        " i32 %i, i32 1, i64 1\n"
        "  %q = getelementptr i8, ptr %p, i64 -8\n"
        "  %v = load i32, ptr %p\n  %w = load i32, ptr %q\n"
        "  call void @use(i32 %v)\n  call void @use(i32 %w)\n  ret void\n");
    LLVMValueRef p = LLVMGetOperand(value_named(kernel, "v"), 0);
    LLVMValueRef q = LLVMGetOperand(value_named(kernel, "w"), 0);
    LLVMValueRef sum = LLVMGetOperand(p, 1);
    assert_int_equal(LLVMABISizeOfType(kernel->layout,
                                       LLVMGetGEPSourceElementType(p)), 128);
    assert_int_equal(LLVMConstIntGetSExtValue(LLVMGetOperand(sum, 1)), 2);
    assert_int_equal(LLVMConstIntGetSExtValue(LLVMGetOperand(
                         LLVMGetOperand(sum, 0), 1)), 3);
    assert_int_equal(LLVMConstIntGetSExtValue(LLVMGetOperand(q, 1)), -2);
    assert_ptr_equal(LLVMGetOperand(q, 0), p);
}

RNL_TEST(rows_are_loaded_and_stored_as_vectors)
{
    char *text = code_for(
        "x86-64-v4",
        "  %a = alloca [8 x i32]\n  %from = load ptr, ptr %run\n"
        "  %n = load i32, ptr %from\n"
        "  %p = getelementptr [8 x i32], ptr %a, i64 0, i32 %n\n"
        "  %t = call i32 @rnl_thread_x()\n  %s = mul i32 %t, %t\n"

        "  store i32 %s, ptr %p\n  %v = load i32, ptr %p\n"
        "  call void @use(i32 %v)\n  ret void\n");
    assert_non_null(strstr(text, "masked.store.v32i32"));
    assert_null(strstr(text, "masked.scatter"));
    assert_null(strstr(text, "masked.gather"));
}

RNL_TEST(what_outlives_its_block_is_woven)
{
    assert_int_equal(
        element_of("  %a = alloca [8 x i16]\n  %i = call i32 @number()\n"
                   "  %p = getelementptr i16, ptr %a, i32 %i\n"
                   "  %c = call i1 @ask(i32 0)\n"
                   "  br i1 %c, label %then, label %end\n"
                   "then:\n  store i16 1, ptr %p\n  br label %end\n"
                   "end:\n  %v = load i16, ptr %p\n  %w = zext i16 %v to i32\n"
                   "  call void @use(i32 %w)\n  ret void\n"), 2);
}

RNL_TEST(bytes_that_are_set_are_elements)
{
    static const char body[] =
        "  %%a = alloca [80 x i32]\n  %%i = call i32 @number()\n"
        "  %%p = getelementptr i32, ptr %%a, i32 %%i\n"
        "  call void @llvm.memset.p0.i64(ptr %%a, i8 1, i64 %d, i1 false)\n"
        "  %%v = load i32, ptr %%p\n  call void @use(i32 %%v)\n  ret void\n"
        "}\ndeclare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
        "define void @none() {\n  ret void\n";
    struct kernel *kernel = private_lanes(simt_format(body, 32));
    unsigned stores = 0;
    for (LLVMValueRef at = LLVMGetFirstInstruction(kernel->blocks[0].ir); at;
         at = LLVMGetNextInstruction(at)) {
        if (!LLVMIsAStoreInst(at) || slots_simple(kernel,
                                                  LLVMGetOperand(at, 1)))
            continue;
        assert_int_equal(LLVMConstIntGetZExtValue(LLVMGetOperand(at, 0)),
                         0x01010101);
        stores++;
    }
    assert_int_equal(stores, 8);
    assert_int_equal(element_of(simt_format(body, 320)), 0);
    assert_int_equal(element_of(simt_format(body, 30)), 0);
}

#define USE "  %v = load i32, ptr %p\n  call void @use(i32 %v)\n  ret void\n"
#define FOUR "  %a = alloca [4 x i32]\n" PLACE("[4 x i32]", "p", "1")

RNL_TEST(what_is_accessed_in_parts_is_not)
{
    assert_int_equal(element_of(FOUR USE), 4);
    assert_int_equal(element_of(FOUR "  store i16 1, ptr %p\n" USE), 0);
    assert_int_equal(
        element_of(FOUR "  %q = getelementptr i8, ptr %p, i64 2\n"
                        "  store i32 1, ptr %q\n" USE), 0);
    assert_int_equal(
        element_of(FOUR "  store volatile i32 1, ptr %p\n" USE), 0);
    assert_int_equal(
        element_of(FOUR "  %o = atomicrmw add ptr %p, i32 1 monotonic\n"
                   USE), 0);
}

RNL_TEST(what_is_given_away_is_not)
{
    assert_int_equal(element_of(FOUR "  store ptr %p, ptr %run\n" USE), 0);
    assert_int_equal(
        element_of(FOUR "  %n = ptrtoint ptr %p to i32\n"
                        "  call void @use(i32 %n)\n" USE), 0);
    assert_int_equal(
        element_of(FOUR "  %c = call i1 @ask(i32 0)\n"
                        "  %e = select i1 %c, ptr %p, ptr %a\n"
                        "  store i32 1, ptr %e\n" USE), 0);
}
