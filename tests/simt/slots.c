// Variables: which are whole, which are cheap, and what barriers must keep.
#include "parse.h"

RNL_TEST(variables_that_are_read_as_a_whole_are_simple)
{
    struct kernel *kernel = parse_kernel(
        "  %whole = alloca i32\n  %part = alloca i32\n"
        "  %array = alloca [4 x i32]\n  %seen = alloca i32\n"
        "  %steady = alloca i32\n"
        "  store i32 1, ptr %whole\n  %a = load i32, ptr %whole\n"
        "  store i32 1, ptr %part\n  %b = load i8, ptr %part\n"
        "  %c = getelementptr i32, ptr %array, i64 1\n"
        "  store i32 1, ptr %c\n"
        "  store ptr %seen, ptr %run\n"
        "  store volatile i32 1, ptr %steady\n"
        "  ret void\n");
    assert_int_equal(slot_named(kernel, "whole")->kind, SLOT_SIMPLE);
    assert_int_equal(slot_named(kernel, "whole")->load_count, 1);
    assert_int_equal(slot_named(kernel, "whole")->store_count, 1);
    assert_int_equal(slot_named(kernel, "part")->kind, SLOT_COMPLEX);
    assert_int_equal(slot_named(kernel, "array")->kind, SLOT_COMPLEX);
    assert_int_equal(slot_named(kernel, "seen")->kind, SLOT_COMPLEX);
    assert_int_equal(slot_named(kernel, "steady")->kind, SLOT_COMPLEX);
}

// Computes values before a barrier and reads them after it. Splitting at the
// barrier takes the names of what stands before it in its block.
static const char across[] =
    "  %x = call i32 @rnl_thread_x()\n"
    "  %cheap = mul i32 %x, 12\n"
    "  %from = load ptr, ptr %run\n"
    "  %argument = load i32, ptr %from\n"
    "  %other = getelementptr i8, ptr %from, i64 4\n"
    "  %asked = call i32 @number()\n"
    "  %divided = sdiv i32 %x, 7\n"
    "  %unused = call i32 @number()\n"
    "  call void @use(i32 %unused)\n"
    "  br label %wait\n"
    "wait:\n  %s = call i32 @rnl_sync(i32 0, i32 0)\n"
    "  call void @use(i32 %cheap)\n"
    "  call void @use(i32 %argument)\n"
    "  call void @use(i32 %asked)\n"
    "  call void @use(i32 %divided)\n"
    "  ret void\n";

RNL_TEST(cheap_values_are_computed_anew)
{
    struct kernel *kernel = parse_kernel(across);
    assert_true(slot_named(kernel, "cheap")->remat);
    assert_true(slot_named(kernel, "argument")->remat);
    assert_false(slot_named(kernel, "asked")->remat);
    assert_false(slot_named(kernel, "divided")->remat);
}

RNL_TEST(barriers_keep_what_is_read_later)
{
    struct kernel *kernel = parse_kernel(across);
    static const struct {
        const char *name;
        bool kept;
    } values[] = {{"cheap", false}, {"argument", false}, {"asked", true},
                  {"divided", true}};
    assert_int_equal(kernel->barrier_count, 1);
    for (size_t i = 0; i < 4; i++) {
        const struct slot *slot = slot_named(kernel, values[i].name);
        assert_true(set_has(&kernel->live[0],
                            (unsigned)(slot - kernel->slots)));
        assert_int_equal(slot->kept, values[i].kept);
    }
}

RNL_TEST(what_is_overwritten_is_not_kept)
{
    struct kernel *kernel = parse_kernel(
        "  %v = alloca i32\n  %w = alloca i32\n"
        "  %a = call i32 @number()\n"
        "  store i32 %a, ptr %v\n  store i32 %a, ptr %w\n"
        "  br label %wait\n"
        "wait:\n  %s = call i32 @rnl_sync(i32 0, i32 0)\n"
        "  %b = call i32 @number()\n"
        "  store i32 %b, ptr %v\n"
        "  %c = load i32, ptr %v\n  call void @use(i32 %c)\n"
        "  %d = load i32, ptr %w\n  call void @use(i32 %d)\n"
        "  ret void\n");
    const struct slot *v = slot_named(kernel, "v"),
                      *w = slot_named(kernel, "w");
    assert_false(set_has(&kernel->live[0], (unsigned)(v - kernel->slots)));
    assert_false(v->kept);
    assert_true(set_has(&kernel->live[0], (unsigned)(w - kernel->slots)));
    assert_true(w->kept);
}

// The first barrier is passed again with what the loop makes.
RNL_TEST(loops_carry_values_over_barriers)
{
    struct kernel *kernel = parse_kernel(
        "  %v = alloca i32\n  store i32 0, ptr %v\n  br label %loop\n"
        "loop:\n  %s = call i32 @rnl_sync(i32 0, i32 0)\n"
        "  %t = call i32 @rnl_sync(i32 0, i32 0)\n"
        "  %a = load i32, ptr %v\n  %b = add i32 %a, 1\n"
        "  store i32 %b, ptr %v\n"
        "  %c = call i1 @ask(i32 0)\n"
        "  br i1 %c, label %loop, label %end\n"
        "end:\n  ret void\n");
    const struct slot *v = slot_named(kernel, "v");
    assert_int_equal(kernel->barrier_count, 2);
    for (unsigned b = 0; b < 2; b++)
        assert_true(set_has(&kernel->live[b], (unsigned)(v - kernel->slots)));
    assert_false(v->remat);
}

RNL_TEST(values_of_one_round_need_no_mask)
{
    struct kernel *kernel = parse_kernel(
        "  %many = alloca i32\n  br label %loop\n"
        "loop:\n  %inside = call i32 @number()\n"
        "  %late = call i32 @number()\n"
        "  store i32 1, ptr %many\n"
        "  %c = call i1 @ask(i32 0)\n"
        "  br i1 %c, label %then, label %next\n"
        "then:\n  call void @use(i32 %inside)\n"
        "  store i32 2, ptr %many\n  br label %next\n"
        "next:\n  %m = load i32, ptr %many\n  call void @use(i32 %m)\n"
        "  %d = call i1 @ask(i32 0)\n"
        "  br i1 %d, label %loop, label %end\n"
        "end:\n  call void @use(i32 %late)\n  ret void\n");
    assert_true(slot_named(kernel, "inside")->maskless);
    assert_false(slot_named(kernel, "late")->maskless);
    assert_false(slot_named(kernel, "many")->maskless);
}

RNL_TEST(arguments_are_known)
{
    struct kernel *kernel = parse_kernel(
        "  %from = load ptr, ptr %run\n"
        "  %first = load i32, ptr %from\n"
        "  %place = getelementptr ptr, ptr %run, i64 1\n"
        "  %second = load ptr, ptr %place\n"
        "  %pointer = load ptr, ptr %second\n"
        "  %element = load i32, ptr %pointer\n"
        "  ret void\n");
    assert_true(slots_is_argument_load(kernel, value_named(kernel, "first")));
    assert_true(slots_is_argument_load(kernel, value_named(kernel,
                                                           "pointer")));
    assert_false(slots_is_argument_load(kernel, value_named(kernel,
                                                            "element")));
}
