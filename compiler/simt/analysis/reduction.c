// Atomic operations of all lanes at one address that can be reduced to one.
#include "simt/analysis/analysis.h"

struct reduction reduction_of(LLVMAtomicRMWBinOp how)
{
    switch (how) {
    case LLVMAtomicRMWBinOpAdd: case LLVMAtomicRMWBinOpSub:
        return (struct reduction){"llvm.vector.reduce.add", "0"};
    case LLVMAtomicRMWBinOpAnd:
        return (struct reduction){"llvm.vector.reduce.and", "1"};
    case LLVMAtomicRMWBinOpOr:
        return (struct reduction){"llvm.vector.reduce.or", "0"};
    case LLVMAtomicRMWBinOpXor:
        return (struct reduction){"llvm.vector.reduce.xor", "0"};
    case LLVMAtomicRMWBinOpMax:
        return (struct reduction){"llvm.vector.reduce.smax", "-"};
    case LLVMAtomicRMWBinOpMin:
        return (struct reduction){"llvm.vector.reduce.smin", "+"};
    case LLVMAtomicRMWBinOpUMax:
        return (struct reduction){"llvm.vector.reduce.umax", "0"};
    case LLVMAtomicRMWBinOpUMin:
        return (struct reduction){"llvm.vector.reduce.umin", "1"};
    case LLVMAtomicRMWBinOpFAdd:
        return (struct reduction){"llvm.vector.reduce.fadd", NULL};
    default:
        return (struct reduction){NULL, NULL};
    }
}

bool reduction_is_possible(const struct shapes *shapes, LLVMValueRef at)
{
    LLVMAtomicRMWBinOp how = LLVMGetAtomicRMWBinOp(at);
    return shape_of(shapes, LLVMGetOperand(at, 0)).kind <= SHAPE_UNIFORM &&
           reduction_of(how).name &&
           (how == LLVMAtomicRMWBinOpAdd || !LLVMGetFirstUse(at));
}
