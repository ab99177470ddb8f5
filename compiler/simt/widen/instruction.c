// One instruction: cloned for uniform and affine values, widened for varying
// values.
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"

// --- Cloning -----------------------------------------------------------------

// Lane 0 may be one that does not execute this: its overflow must not poison
// the addresses of the others.
static void drop_promises(LLVMValueRef made)
{
    switch (LLVMGetInstructionOpcode(made)) {
    case LLVMAdd: case LLVMSub: case LLVMMul: case LLVMShl: case LLVMTrunc:
        LLVMSetNSW(made, 0);
        LLVMSetNUW(made, 0);
        break;
    case LLVMGetElementPtr:
        LLVMGEPSetNoWrapFlags(made, 0);
        break;
    case LLVMZExt:
        LLVMSetNNeg(made, 0);
        break;
    case LLVMOr:
        LLVMSetIsDisjoint(made, 0);
        break;
    case LLVMLShr: case LLVMAShr: case LLVMUDiv: case LLVMSDiv:
        LLVMSetExact(made, 0);
        break;
    default:
        break;
    }
}

// A value that is affine only by a promise that may not hold in lane 0, in a
// form that is affine without the promise; otherwise NULL.
static LLVMValueRef clone_promised(struct emitter *e, LLVMValueRef at)
{
    if (shape_of(&e->shapes, at).kind != SHAPE_AFFINE)
        return NULL;
    if (LLVMGetInstructionOpcode(at) != LLVMOr || !LLVMGetIsDisjoint(at))
        return NULL;
    return LLVMBuildAdd(e->builder, lanes_scalar(e, LLVMGetOperand(at, 0)),
                        lanes_scalar(e, LLVMGetOperand(at, 1)), "");
}

LLVMValueRef instruction_clone(struct emitter *e, LLVMValueRef at)
{
    LLVMValueRef promised = clone_promised(e, at);
    if (promised)
        return promised;
    LLVMValueRef made = LLVMInstructionClone(at);
    for (int i = 0; i < LLVMGetNumOperands(at); i++) {
        LLVMValueRef operand = LLVMGetOperand(at, (unsigned)i);
        if (LLVMIsAInstruction(operand) || LLVMIsAArgument(operand))
            LLVMSetOperand(made, (unsigned)i, lanes_scalar(e, operand));
    }
    LLVMInsertIntoBuilder(e->builder, made);
    if (!lanes_uniform(e, at))
        drop_promises(made);
    return made;
}

// --- Widening ----------------------------------------------------------------

static LLVMValueRef vector_of(struct emitter *e, LLVMValueRef at, unsigned i)
{
    return lanes_vector(e, LLVMGetOperand(at, i));
}

static void keep_fast_math(LLVMValueRef from, LLVMValueRef made)
{
    if (LLVMCanValueUseFastMathFlags(from) && LLVMIsAInstruction(made) &&
        LLVMCanValueUseFastMathFlags(made))
        LLVMSetFastMathFlags(made, LLVMGetFastMathFlags(from));
}

static LLVMValueRef widen_binary(struct emitter *e, LLVMValueRef at,
                                 LLVMOpcode opcode)
{
    LLVMValueRef made;
    switch (opcode) {
    case LLVMUDiv: case LLVMSDiv: case LLVMURem: case LLVMSRem:
        return division_widen(e, at);
    default:
        made = LLVMBuildBinOp(e->builder, opcode, vector_of(e, at, 0),
                              vector_of(e, at, 1), "");
        keep_fast_math(at, made);
        return made;
    }
}

static LLVMValueRef widen_address(struct emitter *e, LLVMValueRef at)
{
    LLVMValueRef indices[16];
    int count = LLVMGetNumOperands(at) - 1;
    LLVMTypeRef type = LLVMGetGEPSourceElementType(at);
    LLVMValueRef base = LLVMGetOperand(at, 0);
    for (int i = 0; i < count; i++) {
        LLVMValueRef index = LLVMGetOperand(at, (unsigned)i + 1);
        // Fields of structures must be the same constant for all.
        indices[i] = LLVMIsConstant(index) ? index : lanes_vector(e, index);
    }
    base = lanes_uniform(e, base) ? lanes_scalar(e, base)
                                  : lanes_vector(e, base);
    return LLVMBuildGEP2(e->builder, type, base, indices, (unsigned)count, "");
}

static LLVMValueRef widen_select(struct emitter *e, LLVMValueRef at)
{
    LLVMValueRef condition = LLVMGetOperand(at, 0);
    condition = lanes_uniform(e, condition) ? lanes_scalar(e, condition)
                                            : lanes_vector(e, condition);
    LLVMValueRef made =
        LLVMBuildSelect(e->builder, condition, vector_of(e, at, 1),
                        vector_of(e, at, 2), "");
    keep_fast_math(at, made);
    return made;
}

LLVMValueRef instruction_widen(struct emitter *e, LLVMValueRef at)
{
    LLVMOpcode opcode = LLVMGetInstructionOpcode(at);
    LLVMValueRef made;
    switch (opcode) {
    case LLVMGetElementPtr:
        return widen_address(e, at);
    case LLVMSelect:
        return widen_select(e, at);
    case LLVMICmp:
        return LLVMBuildICmp(e->builder, LLVMGetICmpPredicate(at),
                             vector_of(e, at, 0), vector_of(e, at, 1), "");
    case LLVMFCmp:
        made = LLVMBuildFCmp(e->builder, LLVMGetFCmpPredicate(at),
                             vector_of(e, at, 0), vector_of(e, at, 1), "");
        keep_fast_math(at, made);
        return made;
    case LLVMFNeg:
        made = LLVMBuildFNeg(e->builder, vector_of(e, at, 0), "");
        keep_fast_math(at, made);
        return made;
    case LLVMFreeze:
        return LLVMBuildFreeze(e->builder, vector_of(e, at, 0), "");
    default:
        break;
    }
    if (LLVMIsABinaryOperator(at))
        return widen_binary(e, at, opcode);
    if (LLVMIsACastInst(at))
        return LLVMBuildCast(e->builder, opcode, vector_of(e, at, 0),
                             vector_type(e, LLVMTypeOf(at)), "");
    e->kernel->refusal = "it has an instruction that has no vector form";
    return LLVMConstNull(vector_type(e, LLVMTypeOf(at)));
}

// --- Dispatch ----------------------------------------------------------------

void instruction_emit(struct emitter *e, LLVMValueRef at)
{
    switch (LLVMGetInstructionOpcode(at)) {
    case LLVMAlloca:
        return;
    case LLVMLoad:
        access_load(e, at);
        return;
    case LLVMStore:
        access_store(e, at);
        return;
    case LLVMCall:
        call_emit(e, at);
        return;
    case LLVMAtomicRMW: case LLVMAtomicCmpXchg: case LLVMExtractValue:
        atomic_emit(e, at);
        return;
    case LLVMFence:
        instruction_clone(e, at);
        return;
    default:
        break;
    }
    if (shape_of(&e->shapes, at).kind == SHAPE_VARYING)
        lanes_set(e, at, NULL, instruction_widen(e, at));
    else
        lanes_set(e, at, instruction_clone(e, at), NULL);
}
