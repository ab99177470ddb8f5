// Computes comparisons and functions of halves as floats: LLVM would convert
// and compute lane by lane. The pass comes last, since earlier passes shorten
// floats that came from halves. Results are the same: the functions give a half
// for halves, or, for roots, are rounded to more than twice the bits first.
#include "simt/transform/transform.h"
#include "simt/ir/ir.h"

#include <string.h>

static bool is_halves(LLVMTypeRef type)
{
    return LLVMGetTypeKind(type) == LLVMVectorTypeKind &&
           LLVMGetTypeKind(LLVMGetElementType(type)) == LLVMHalfTypeKind;
}

static LLVMTypeRef floats_like(LLVMTypeRef halves)
{
    LLVMContextRef context = LLVMGetTypeContext(halves);
    return LLVMVectorType(LLVMFloatTypeInContext(context),
                          LLVMGetVectorSize(halves));
}

static LLVMValueRef extended(LLVMBuilderRef b, LLVMValueRef halves)
{
    return LLVMBuildFPExt(b, halves, floats_like(LLVMTypeOf(halves)), "");
}

static LLVMValueRef compare(LLVMBuilderRef b, LLVMValueRef at)
{
    if (!is_halves(LLVMTypeOf(LLVMGetOperand(at, 0))))
        return NULL;
    return LLVMBuildFCmp(b, LLVMGetFCmpPredicate(at),
                         extended(b, LLVMGetOperand(at, 0)),
                         extended(b, LLVMGetOperand(at, 1)), "");
}

// The intrinsic of a call that LLVM would expand lane by lane, or 0.
static unsigned taken_apart(LLVMValueRef call)
{
    static const char *const names[] = {
        "llvm.ceil", "llvm.floor", "llvm.maxnum", "llvm.minnum",
        "llvm.nearbyint", "llvm.rint", "llvm.round", "llvm.roundeven",
        "llvm.sqrt", "llvm.trunc"};
    LLVMValueRef function = LLVMGetCalledValue(call);
    unsigned called =
        LLVMIsAFunction(function) ? LLVMGetIntrinsicID(function) : 0;
    for (unsigned i = 0; i < sizeof names / sizeof *names && called; i++)
        if (called == LLVMLookupIntrinsicID(names[i], strlen(names[i])))
            return called;
    return 0;
}

static LLVMValueRef call(LLVMBuilderRef b, LLVMModuleRef module,
                         LLVMValueRef at)
{
    LLVMTypeRef halves = LLVMTypeOf(at);
    unsigned called = is_halves(halves) ? taken_apart(at) : 0;
    if (!called)
        return NULL;
    LLVMTypeRef floats = floats_like(halves);
    LLVMValueRef function =
        LLVMGetIntrinsicDeclaration(module, called, &floats, 1);
    LLVMValueRef arguments[2];
    unsigned count = LLVMGetNumArgOperands(at);
    for (unsigned i = 0; i < count; i++)
        arguments[i] = extended(b, LLVMGetOperand(at, i));
    LLVMValueRef made =
        LLVMBuildCall2(b, LLVMGlobalGetValueType(function), function,
                       arguments, count, "");
    return LLVMBuildFPTrunc(b, made, halves, "");
}

void promote_halves(LLVMModuleRef module)
{
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef at = first_instruction(module), next; at; at = next) {
        next = next_instruction(at);
        LLVMPositionBuilderBefore(b, at);
        LLVMValueRef made = LLVMIsAFCmpInst(at)   ? compare(b, at)
                            : LLVMIsACallInst(at) ? call(b, module, at)
                                                  : NULL;
        if (!made)
            continue;
        LLVMReplaceAllUsesWith(at, made);
        LLVMInstructionEraseFromParent(at);
    }
    LLVMDisposeBuilder(b);
}
