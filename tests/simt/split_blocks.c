// Long blocks are cut into pieces.
#include "parse.h"

static LLVMValueRef function_of(LLVMModuleRef module)
{
    return LLVMGetNamedFunction(module, "f");
}

// A function with a loop of one block, in which there are that many additions.
static LLVMModuleRef long_function(unsigned count)
{
    LLVMModuleRef module = parse_module(
        "define i32 @f(i32 %from) {\n  br label %loop\n"
        "loop:\n  %n = phi i32 [ %from, %0 ], [ %m, %loop ]\n"
        "  %m = add i32 %n, 1\n  %c = icmp ult i32 %m, 7\n"
        "  br i1 %c, label %loop, label %end\n"
        "end:\n  ret i32 %m\n}\n");
    LLVMBasicBlockRef loop =
        LLVMGetNextBasicBlock(LLVMGetEntryBasicBlock(function_of(module)));
    LLVMValueRef value = LLVMGetFirstInstruction(loop);
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    LLVMPositionBuilderBefore(b, LLVMGetNextInstruction(value));
    for (unsigned i = 0; i < count; i++)
        value = LLVMBuildAdd(b, value, value, "");
    LLVMDisposeBuilder(b);
    return module;
}

static unsigned longest(LLVMModuleRef module)
{
    unsigned most = 0;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function_of(module));
         block; block = LLVMGetNextBasicBlock(block)) {
        unsigned length = 0;
        for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
             at = LLVMGetNextInstruction(at))
            length++;
        most = length > most ? length : most;
    }
    return most;
}

RNL_TEST(blocks_of_usual_length_stay)
{
    LLVMModuleRef module = long_function(1900);
    assert_false(split_long_blocks(module));
    assert_int_equal(LLVMCountBasicBlocks(function_of(module)), 3);
}

RNL_TEST(long_blocks_are_cut)
{
    LLVMModuleRef module = long_function(9000);
    assert_true(split_long_blocks(module));
    verify(module);
    assert_int_equal(LLVMCountBasicBlocks(function_of(module)), 3 + 8);
    assert_in_range(longest(module), 1000, 1100);
}

RNL_TEST(variables_stay_in_the_entry)
{
    LLVMModuleRef module = parse_module("define void @f() {\n  ret void\n}\n");
    LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(function_of(module));
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(entry));
    for (unsigned i = 0; i < 2500; i++)
        LLVMBuildAlloca(b, LLVMInt32TypeInContext(LLVMGetModuleContext(module)),
                        "");
    LLVMDisposeBuilder(b);
    split_long_blocks(module);
    verify(module);
    assert_int_equal(longest(module), 2501);
}
