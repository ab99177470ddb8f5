// Numbers that are used very often lie on the stack.
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>

// A number of a phi is added `count` times in one block, and goes from there
// into a phi of another.
static LLVMValueRef function_with_uses(unsigned count)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    fprintf(file, "define i32 @f(i32 %%from, i1 %%c) {\n"
            "  br i1 %%c, label %%start, label %%other\n"
            "other:\n  br label %%start\n"
            "start:\n  %%n = phi i32 [ %%from, %%0 ], [ 7, %%other ]\n"
            "  %%s0 = add i32 %%n, %%n\n  br label %%uses\n"
            "uses:\n");
    for (unsigned i = 0; i < count; i++)
        fprintf(file, "  %%s%u = add i32 %%s%u, %%n\n", i + 1, i);
    fprintf(file, "  br i1 %%c, label %%end, label %%between\n"
            "between:\n  br label %%end\n"
            "end:\n  %%m = phi i32 [ %%n, %%uses ], [ %%n, %%between ]\n"
            "  %%r = add i32 %%m, %%s%u\n  ret i32 %%r\n}\n", count);
    assert_int_equal(fclose(file), 0);
    LLVMModuleRef module = parse_module(text);
    free(text);
    demote_to_stack(module);
    verify(module);
    return LLVMGetNamedFunction(module, "f");
}

static unsigned count(LLVMValueRef function, LLVMOpcode opcode)
{
    unsigned found = 0;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
             at = LLVMGetNextInstruction(at))
            found += LLVMGetInstructionOpcode(at) == opcode;
    return found;
}

RNL_TEST(what_is_used_often_is_loaded_once_by_each_block)
{
    LLVMValueRef function = function_with_uses(400);
    assert_int_equal(count(function, LLVMAlloca), 1);
    assert_int_equal(count(function, LLVMStore), 1);
    assert_int_equal(count(function, LLVMLoad), 2);
}

RNL_TEST(what_is_used_less_often_stays)
{
    LLVMValueRef function = function_with_uses(200);
    assert_int_equal(count(function, LLVMAlloca), 0);
    assert_int_equal(count(function, LLVMLoad), 0);
}
