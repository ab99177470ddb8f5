// Code for blocks of one size: sizes become constants, indices get a range.
#include "simt/transform/transform.h"
#include "simt/ir/ir.h"

static void fix_index(LLVMValueRef call, const unsigned size[3])
{
    int axis = 0;
    enum primitive primitive = primitive_of(call, &axis);
    if (primitive == PRIMITIVE_BLOCK_SIZE)
        LLVMReplaceAllUsesWith(
            call, LLVMConstInt(LLVMTypeOf(call), size[axis], 0));
    else if (primitive == PRIMITIVE_THREAD && size[axis] == 1)
        LLVMReplaceAllUsesWith(call, LLVMConstNull(LLVMTypeOf(call)));
    else if (primitive == PRIMITIVE_THREAD)
        set_range(call, 0, size[axis]);
}

void specialize_block_size(LLVMModuleRef module, const unsigned size[3])
{
    for (LLVMValueRef at = first_instruction(module); at;
         at = next_instruction(at))
        if (LLVMIsACallInst(at))
            fix_index(at, size);
}
