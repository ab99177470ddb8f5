// Stores under conditions become one, but not over thousands of branches.
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>

// A function that stores at the same place under that many conditions.
static LLVMModuleRef storing(unsigned count)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    fprintf(file, "define void @f(ptr %%to, i32 %%n) {\n  br label %%b0\n");
    for (unsigned i = 0; i < count; i++)
        fprintf(file, "b%u:\n  %%v%u = mul i32 %%n, %u\n"
                "  %%c%u = icmp slt i32 %%v%u, 7\n"
                "  br i1 %%c%u, label %%s%u, label %%b%u\n"
                "s%u:\n  store i32 %%v%u, ptr %%to\n  br label %%b%u\n",
                i, i, 2 * i + 3, i, i, i, i, i + 1, i, i, i + 1);
    fprintf(file, "b%u:\n  ret void\n}\n", count);
    assert_int_equal(fclose(file), 0);
    LLVMModuleRef module = parse_module(text);
    free(text);
    return module;
}

static unsigned stores_left(unsigned count)
{
    LLVMModuleRef module = storing(count);
    store_merge_limit(module);
    verify(module);
    assert_null(run_passes(module, "function(simplifycfg)"));
    store_merge_release(module);
    verify(module);
    assert_null(LLVMGetNamedFunction(module, "llvm.sideeffect"));
    unsigned stores = 0;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(
             LLVMGetNamedFunction(module, "f"));
         block; block = LLVMGetNextBasicBlock(block))
        for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
             at = LLVMGetNextInstruction(at))
            stores += LLVMIsAStoreInst(at) != NULL;
    return stores;
}

RNL_TEST(stores_of_usual_functions_become_one)
{
    assert_int_equal(stores_left(400), 1);
}

RNL_TEST(stores_of_very_large_functions_become_some)
{
    assert_in_range(stores_left(1000), 15, 25);
    assert_in_range(stores_left(8000), 50, 65);
}
