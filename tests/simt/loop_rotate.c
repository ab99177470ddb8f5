// Conditions of loops stand at the ends of these, in very large functions.
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>

// Loops in a row, each of four blocks, with these instructions in front of the
// condition %c<i>; when that does not hold they are left, or go to `otherwise`.
static LLVMModuleRef looping(unsigned count, const char *header,
                             const char *otherwise)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    fprintf(file, "declare i32 @get()\n"
            "define void @f(ptr %%q) {\n  br label %%h0\n");
    for (unsigned i = 0; i < count; i++) {
        fprintf(file, "h%u:\n  %%n%u = %s\n  %%c%u = icmp ult i32 %%n%u, 7\n"
                "  br i1 %%c%u, label %%b%u, label %%%s%u\n", i, i, header, i,
                i, i, i, otherwise, i);
        fprintf(file, "b%u:\n  %%v%u = load i32, ptr %%q\n"
                "  %%w%u = add i32 %%v%u, 1\n"
                "  store i32 %%w%u, ptr %%q\n"
                "  %%d%u = icmp eq i32 %%w%u, 5\n"
                "  br i1 %%d%u, label %%e%u, label %%l%u\n", i, i, i, i, i, i,
                i, i, i, i);
        fprintf(file, "l%u:\n  br label %%h%u, !llvm.loop !0\n"
                "e%u:\n  br label %%h%u\n", i, i, i, i + 1);
    }
    fprintf(file, "h%u:\n  ret void\n}\n!0 = distinct !{!0}\n", count);
    assert_int_equal(fclose(file), 0);
    LLVMModuleRef module = parse_module(text);
    free(text);
    return module;
}

// How many blocks that lead back do so under a condition, and have the mark.
static unsigned rotated(LLVMModuleRef module)
{
    unsigned count = 0;
    unsigned kind = LLVMGetMDKindIDInContext(LLVMGetModuleContext(module),
                                             "llvm.loop", 9);
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(
             LLVMGetNamedFunction(module, "f"));
         block; block = LLVMGetNextBasicBlock(block)) {
        LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
        count += LLVMGetMetadata(end, kind) && LLVMIsConditional(end);
    }
    return count;
}

static const char load[] = "load i32, ptr %q";

RNL_TEST(loops_of_usual_functions_stay)
{
    LLVMModuleRef module = looping(200, load, "e");
    assert_int_equal(rotate_loops(module), 0);
    assert_int_equal(rotated(module), 0);
}

RNL_TEST(loops_of_very_large_functions_end_with_their_conditions)
{
    LLVMModuleRef module = looping(300, load, "e");
    assert_int_equal(rotate_loops(module), 300);
    verify(module);
    assert_int_equal(rotated(module), 300);
}

RNL_TEST(conditions_that_call_stay)
{
    LLVMModuleRef module = looping(300, "call i32 @get()", "e");
    assert_int_equal(rotate_loops(module), 0);
    assert_int_equal(rotated(module), 0);
}

RNL_TEST(conditions_that_do_not_leave_their_loop_stay)
{
    LLVMModuleRef module = looping(300, load, "l");
    assert_int_equal(rotate_loops(module), 0);
    assert_int_equal(rotated(module), 0);
}
