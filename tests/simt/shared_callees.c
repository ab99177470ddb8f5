// Functions that are called very often stay functions.
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>

enum { OFTEN = 600 };

static const char plain[] = "  %n = xor i32 %a, %b\n";
static const char choosing[] =
    "  %c = icmp slt i32 %a, %b\n  br i1 %c, label %less, label %end\n"
    "less:\n  %l = mul i32 %a, 3\n  br label %end\n"
    "end:\n  %n = phi i32 [ %l, %less ], [ %b, %entry ]\n";
static const char loading[] =
    "  %p = inttoptr i32 %a to ptr\n  %n = load i32, ptr %p\n";
static const char asking[] = "  %n = call i32 @rnl_thread_x()\n";
static const char turning[] =
    "  br label %loop\nloop:\n"
    "  %n = phi i32 [ %a, %entry ], [ %m, %loop ]\n"
    "  %m = lshr i32 %n, 1\n  %c = icmp ugt i32 %m, %b\n"
    "  br i1 %c, label %loop, label %end\nend:\n";

// A kernel that calls @f that often, and @f: what gives %n, then 40 additions.
static LLVMModuleRef calling(const char *body, unsigned times)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    fprintf(file, "define internal i32 @f(i32 %%a, i32 %%b) alwaysinline {\n"
            "entry:\n%s  %%v0 = mul i32 %%n, %%a\n", body);
    for (unsigned i = 1; i < 40; i++)
        fprintf(file, "  %%v%u = %s i32 %%v%u, %%b\n", i,
                i % 2 ? "add" : "mul", i - 1);
    fprintf(file, "  ret i32 %%v39\n}\ndefine i32 @k(i32 %%c0) {\n");
    for (unsigned i = 0; i < times; i++)
        fprintf(file, "  %%c%u = call i32 @f(i32 %%c%u, i32 %%c0)\n", i + 1, i);
    fprintf(file, "  ret i32 %%c%u\n}\n", times);
    assert_int_equal(fclose(file), 0);
    LLVMModuleRef module = parse_module(text);
    free(text);
    return module;
}

static bool is_kept(const char *body, unsigned times)
{
    LLVMModuleRef module = calling(body, times);
    assert_null(shared_callees_keep(module));
    verify(module);
    LLVMValueRef call = LLVMGetFirstInstruction(
        LLVMGetEntryBasicBlock(LLVMGetNamedFunction(module, "k")));
    assert_int_equal(kept_function_of(call) != NULL,
                     module_has_kept_functions(module));
    return kept_function_of(call);
}

RNL_TEST(functions_called_very_often_are_kept)
{
    assert_true(is_kept(plain, OFTEN));
    assert_true(is_kept(choosing, OFTEN));
}

RNL_TEST(functions_called_less_often_are_inlined)
{
    assert_false(is_kept(plain, OFTEN / 4));
}

RNL_TEST(functions_of_memory_loops_and_threads_are_inlined)
{
    assert_false(is_kept(loading, OFTEN));
    assert_false(is_kept(asking, OFTEN));
    assert_false(is_kept(turning, OFTEN));
}

RNL_TEST(what_calls_a_kept_function_is_left_alone)
{
    LLVMModuleRef module = calling(plain, OFTEN);
    char *before = LLVMPrintValueToString(LLVMGetNamedFunction(module, "k"));
    assert_null(shared_callees_keep(module));
    char *after = LLVMPrintValueToString(LLVMGetNamedFunction(module, "k"));
    assert_string_equal(after, before);
    LLVMDisposeMessage(after);
    LLVMDisposeMessage(before);
}
