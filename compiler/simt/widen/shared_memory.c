// Addresses of __shared__ variables, which are thread-local to the host.
#include "simt/widen/widen.h"
#include "simt/ir/ir.h"

static LLVMValueRef coarsened_shared(struct emitter *e, LLVMValueRef variable)
{
    const unsigned *offset = map_get(&e->shared, variable);
    return at_offset(e, e->coarse.shared, *offset);
}

// The address of a thread-local, that is shared, variable: found once.
LLVMValueRef shared_address(struct emitter *e, LLVMValueRef variable)
{
    if (e->coarse.used)
        return coarsened_shared(e, variable);
    LLVMValueRef address = map_get(&e->shared, variable);
    if (address)
        return address;
    LLVMBasicBlockRef here = LLVMGetInsertBlock(e->builder);
    LLVMPositionBuilderBefore(e->builder,
                              LLVMGetBasicBlockTerminator(e->begin));
    address = call_intrinsic(e, "llvm.threadlocal.address", &e->pointer, 1,
                             &variable, 1);
    map_set(&e->shared, variable, address);
    position(e, here);
    return address;
}
