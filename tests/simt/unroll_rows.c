// Loops in which each lane goes along memory by itself.
#include "parse.h"

// %t: the thread's number; %r: the begin of its row of %n numbers.
#define ROWS                                                            \
    "define void @rnl_thread_0(ptr %a, ptr %b, ptr %out, i32 %n) {\n"   \
    "  %t = call i32 @rnl_thread_x()\n"                                 \
    "  %f = mul nsw i32 %t, %n\n  %r = sext i32 %f to i64\n"            \
    "  %i = sext i32 %t to i64\n  %most = zext i32 %n to i64\n"

// A loop of rounds %k, whose numbers %v are added up, while %c holds.
#define LOOP(round, again)                                              \
    ROWS "  br label %loop\nloop:\n"                                    \
    "  %k = phi i64 [ 0, %0 ], [ %m, %loop ]\n"                         \
    "  %old = phi i32 [ 0, %0 ], [ %new, %loop ]\n" round               \
    "  %new = add i32 %old, %v\n"                                       \
    "  %m = add nuw nsw i64 %k, 1\n" again                              \
    "  br i1 %c, label %loop, label %end\nend:\n"                       \
    "  %p = getelementptr i32, ptr %out, i32 %t\n"                      \
    "  store i32 %new, ptr %p\n  ret void\n}\n"
#define UNTIL "  %c = icmp ne i64 %m, %most\n"

#define ROW "  %j = add nsw i64 %r, %k\n"
#define AT(type, index)                                                 \
    "  %q = getelementptr " type ", ptr %a, i64 " index "\n"
#define LOAD "  %v = load i32, ptr %q\n"

static LLVMModuleRef unrolled(const char *text)
{
    LLVMModuleRef module = parse_module(text);
    char *message = unroll_rows(module);
    if (message)
        fail_msg("%s", message);
    verify(module);
    return module;
}

static unsigned loads_in(LLVMBasicBlockRef block)
{
    unsigned count = 0;
    for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
         at = LLVMGetNextInstruction(at))
        count += LLVMIsALoadInst(at) != NULL;
    return count;
}

// The loads of the block that has most.
static unsigned most_loads(const char *text)
{
    unsigned most = 0;
    LLVMValueRef thread =
        LLVMGetNamedFunction(unrolled(text), "rnl_thread_0");
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(thread); block;
         block = LLVMGetNextBasicBlock(block)) {
        unsigned loads = loads_in(block);
        most = loads > most ? loads : most;
    }
    return most;
}

RNL_TEST(rows_of_lanes_are_gone_through_by_several_numbers)
{
    assert_int_equal(most_loads(LOOP(ROW AT("i32", "%j") LOAD, UNTIL)), 4);
    // Backwards.
    assert_int_equal(
        most_loads(LOOP("  %j = sub nsw i64 %r, %k\n" AT("i32", "%j") LOAD,
                        UNTIL)), 4);
    assert_int_equal(
        most_loads(LOOP(ROW AT("i8", "%j")
                        "  %byte = load i8, ptr %q\n"
                        "  %v = zext i8 %byte to i32\n", UNTIL)), 8);
    assert_int_equal(
        most_loads(LOOP(ROW AT("i64", "%j") "  %long = load i64, ptr %q\n"
                        "  %v = trunc i64 %long to i32\n", UNTIL)), 4);
    // By an address that is counted.
    assert_int_equal(most_loads(
        ROWS AT("i32", "%r") "  %z = getelementptr i32, ptr %q, i64 %most\n"
        "  br label %loop\nloop:\n"
        "  %w = phi ptr [ %q, %0 ], [ %x, %loop ]\n"
        "  %old = phi i32 [ 0, %0 ], [ %new, %loop ]\n"
        "  %k = phi i64 [ 0, %0 ], [ %m, %loop ]\n"
        "  %v = load i32, ptr %w\n  %new = add i32 %old, %v\n"
        "  %x = getelementptr i32, ptr %w, i64 1\n"
        "  %m = add i64 %k, 1\n" UNTIL
        "  br i1 %c, label %loop, label %end\nend:\n"
        "  store i32 %new, ptr %out\n  ret void\n}\n"), 4);
    // Both members of a struct.
    assert_int_equal(
        most_loads(LOOP(ROW AT("{i32, i32}", "%j")
                        "  %x = load i32, ptr %q\n"
                        "  %s = getelementptr {i32, i32}, ptr %q, i64 0, i32 1"
                        "\n  %y = load i32, ptr %s\n  %v = xor i32 %x, %y\n",
                        UNTIL)), 8);
}

RNL_TEST(lanes_beside_each_other_go_by_one_number)
{
    assert_int_equal(
        most_loads(LOOP("  %j = add i64 %i, %k\n" AT("i32", "%j") LOAD,
                        UNTIL)), 1);
    assert_int_equal(
        most_loads(LOOP("  %j = sub i64 %k, %i\n" AT("i32", "%j") LOAD,
                        UNTIL)), 1);
    assert_int_equal(most_loads(LOOP(AT("i32", "%k") LOAD, UNTIL)), 1);
}

RNL_TEST(numbers_apart_are_loaded_one_by_one)
{
    // One of two members, columns, and what may wrap between two rounds.
    assert_int_equal(
        most_loads(LOOP(ROW AT("{i32, i32}", "%j") LOAD, UNTIL)), 1);
    assert_int_equal(
        most_loads(LOOP("  %l = mul i64 %k, %most\n  %j = add i64 %l, %r\n"
                        AT("i32", "%j") LOAD, UNTIL)), 1);
    assert_int_equal(
        most_loads(LOOP("  %h = trunc i64 %k to i32\n  %l = add i32 %f, %h\n"
                        "  %j = zext i32 %l to i64\n" AT("i32", "%j") LOAD,
                        UNTIL)), 1);
}

RNL_TEST(rounds_that_others_may_see_stay_apart)
{
    static const char *const rounds[] = {
        ROW AT("i32", "%j") LOAD "  store i32 %v, ptr %out\n",
        ROW AT("i32", "%j") "  %v = load volatile i32, ptr %q\n",
        ROW AT("i32", "%j")
        "  %v = load atomic i32, ptr %q monotonic, align 4\n",
        ROW AT("i32", "%j") LOAD
        "  %u = atomicrmw add ptr %b, i32 1 monotonic\n",
        ROW AT("i32", "%j") LOAD "  fence seq_cst\n",
        ROW AT("i32", "%j") LOAD "  call void @use(i32 %v)\n",
        ROW AT("i32", "%j") LOAD "  %s = call i32 @rnl_sync(i32 0, i32 0)\n",
    };
    for (size_t i = 0; i < sizeof rounds / sizeof *rounds; i++) {
        const char *head = ROWS "  br label %loop\nloop:\n"
            "  %k = phi i64 [ 0, %0 ], [ %m, %loop ]\n";
        const char *tail = "  %m = add nuw nsw i64 %k, 1\n" UNTIL
            "  br i1 %c, label %loop, label %end\nend:\n  ret void\n}\n";
        assert_int_equal(
            most_loads(simt_format("%s%s%s", head, rounds[i], tail)), 1);
    }
}

RNL_TEST(loops_that_end_by_what_they_find_stay)
{
    assert_int_equal(
        most_loads(LOOP(ROW AT("i32", "%j") LOAD,
                        "  %c = icmp ne i32 %v, 0\n")), 1);
    assert_int_equal(
        most_loads(LOOP(ROW AT("i32", "%j") LOAD,
                        "  %less = icmp ult i64 %m, %most\n"
                        "  %some = icmp ne i32 %v, 0\n"
                        "  %c = and i1 %less, %some\n")), 1);
}

// What a loop of the source asks for is not done to others.
RNL_TEST(other_loops_stay_as_they_are)
{
    LLVMModuleRef module = unrolled(
        LOOP(ROW AT("i32", "%j") LOAD, UNTIL)
        "define void @rnl_thread_1(ptr %a, i64 %most) {\n"
        "  br label %loop\nloop:\n"
        "  %k = phi i64 [ 0, %0 ], [ %m, %loop ]\n" AT("i32", "%k")
        "  store i32 0, ptr %q\n  %m = add i64 %k, 1\n" UNTIL
        "  br i1 %c, label %loop, label %end, !llvm.loop !0\n"
        "end:\n  ret void\n}\n"
        "!0 = distinct !{!0, !1}\n"
        "!1 = !{!\"llvm.loop.unroll.count\", i32 8}\n");
    LLVMValueRef other = LLVMGetNamedFunction(module, "rnl_thread_1");
    assert_true(function_size(other) < 10);
}

static bool is_used_behind(LLVMValueRef at)
{
    for (LLVMUseRef use = LLVMGetFirstUse(at); use; use = LLVMGetNextUse(use))
        if (LLVMGetInstructionParent(LLVMGetUser(use)) !=
            LLVMGetInstructionParent(at))
            return true;
    return false;
}

// Lanes that leave such a loop one after another have not counted alike. The
// sum alone is taken out of it.
RNL_TEST(what_is_left_over_begins_where_the_limit_says)
{
    LLVMModuleRef module = unrolled(LOOP(ROW AT("i32", "%j") LOAD, UNTIL));
    LLVMValueRef thread = LLVMGetNamedFunction(module, "rnl_thread_0");
    unsigned taken = 0;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(thread); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef at = LLVMGetFirstInstruction(block);
             loads_in(block) == 4 && at; at = LLVMGetNextInstruction(at))
            taken += is_used_behind(at);
    assert_int_equal(taken, 1);
}
