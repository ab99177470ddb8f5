// Gives arithmetic and memory accesses the results of a GPU where LLVM's are
// undefined or a processor traps: divisions, shifts, conversions to integers,
// integers of odd sizes, bools in memory.
#include "simt/transform/transform.h"
#include "simt/ir/ir.h"

#include <string.h>

// --- Division ----------------------------------------------------------------

// Dividing by zero, and the least number by -1, give something on a GPU and do
// not end the program.
static void guard_division(LLVMBuilderRef b, LLVMValueRef at, bool is_signed,
                           bool zero_traps)
{
    LLVMValueRef up = LLVMGetOperand(at, 0), down = LLVMGetOperand(at, 1);
    LLVMTypeRef type = LLVMTypeOf(at);
    if (LLVMIsConstant(down) ||
        LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
        return;
    LLVMPositionBuilderBefore(b, at);
    LLVMValueRef bad =
        zero_traps ? LLVMConstNull(LLVMInt1TypeInContext(
                         LLVMGetTypeContext(type)))
                   : LLVMBuildICmp(b, LLVMIntEQ, down, LLVMConstNull(type), "");
    if (is_signed) {
        unsigned top = LLVMGetIntTypeWidth(type) - 1;
        uint64_t words[2] = {top < 64 ? UINT64_C(1) << top : 0,
                             top < 64 ? 0 : UINT64_C(1) << (top - 64)};
        LLVMValueRef least =
            LLVMConstIntOfArbitraryPrecision(type, 2, words);
        LLVMValueRef both = LLVMBuildAnd(
            b, LLVMBuildICmp(b, LLVMIntEQ, down, LLVMConstAllOnes(type), ""),
            LLVMBuildICmp(b, LLVMIntEQ, up, least, ""), "");
        bad = LLVMBuildOr(b, bad, both, "");
    }
    LLVMSetOperand(at, 1, LLVMBuildSelect(b, bad, LLVMConstInt(type, 1, 0),
                                          down, ""));
}

// --- Shifts ------------------------------------------------------------------

static void replace(LLVMValueRef at, LLVMValueRef by)
{
    LLVMReplaceAllUsesWith(at, by);
    LLVMInstructionEraseFromParent(at);
}

// A shift by the width or more gives 0, or the sign, as on a GPU; LLVM's is
// undefined there. Vector units do the same, so LLVM folds the comparison.
static void clamp_shift(LLVMBuilderRef b, LLVMValueRef at, bool is_arithmetic)
{
    LLVMValueRef count = LLVMGetOperand(at, 1);
    LLVMTypeRef type = LLVMTypeOf(at);
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(type) > 64)
        return;
    const unsigned width = LLVMGetIntTypeWidth(type);
    const bool known = LLVMIsAConstantInt(count);
    if (known ? LLVMConstIntGetZExtValue(count) < width
              : LLVMIsConstant(count))
        return;
    LLVMValueRef most = LLVMConstInt(type, width - 1, 0);
    if (known && is_arithmetic) {
        LLVMSetOperand(at, 1, most);
        return;
    }
    if (known) {
        replace(at, LLVMConstNull(type));
        return;
    }
    LLVMPositionBuilderBefore(b, at);
    LLVMValueRef inside = LLVMBuildICmp(b, LLVMIntULT, count,
                                        LLVMConstInt(type, width, 0), "");
    if (is_arithmetic) {
        LLVMSetOperand(at, 1, LLVMBuildSelect(b, inside, count, most, ""));
        return;
    }
    LLVMValueRef copy = LLVMInstructionClone(at);
    LLVMInsertIntoBuilder(b, copy);
    replace(at, LLVMBuildSelect(b, inside, copy, LLVMConstNull(type), ""));
}

// --- Conversions -------------------------------------------------------------

// The highest bit where a side has 64 bits.
static LLVMValueRef of_nan(LLVMTypeRef type, LLVMTypeRef source)
{
    unsigned width = LLVMGetIntTypeWidth(type);
    bool wide = width == 64 || LLVMGetTypeKind(source) == LLVMDoubleTypeKind;
    return LLVMConstInt(type, wide ? UINT64_C(1) << (width - 1) : 0, 0);
}

// Floating point becomes an integer as on a GPU: of at least 32 bits, as near
// as it can be. (The intrinsics that saturate are not made vectors.)
static LLVMValueRef saturate(LLVMBuilderRef b, LLVMValueRef at, bool is_signed)
{
    LLVMValueRef from = LLVMGetOperand(at, 0);
    LLVMTypeRef type = LLVMTypeOf(at), source = LLVMTypeOf(from);
    LLVMTypeRef wide = LLVMGetIntTypeWidth(type) < 32
                           ? LLVMInt32TypeInContext(LLVMGetTypeContext(type))
                           : type;
    unsigned width = LLVMGetIntTypeWidth(wide);
    LLVMValueRef nan = of_nan(wide, source);
    LLVMValueRef least = LLVMConstInt(
        wide, is_signed ? UINT64_C(1) << (width - 1) : 0, 0);
    LLVMValueRef most = LLVMConstNot(least);
    double above = is_signed ? 0x1p31 : 0x1p32;
    above *= width == 64 ? 0x1p32 : 1;
    LLVMPositionBuilderBefore(b, at);
    LLVMValueRef made =
        LLVMBuildCast(b, LLVMGetInstructionOpcode(at), from, wide, "");
    made = LLVMBuildSelect(
        b, LLVMBuildFCmp(b, LLVMRealOGE, from, LLVMConstReal(source, above),
                         ""), most, made, "");
    made = LLVMBuildSelect(
        b, LLVMBuildFCmp(b, LLVMRealULT, from,
                         LLVMConstReal(source, is_signed ? -above : 0.0), ""),
        least, made, "");
    if (nan != least)
        made = LLVMBuildSelect(
            b, LLVMBuildFCmp(b, LLVMRealUNO, from, from, ""), nan, made, "");
    return LLVMBuildTruncOrBitCast(b, made, type, "");
}

// To a type that CUDA has.
static void replace_conversion(LLVMBuilderRef b, LLVMValueRef at,
                               bool is_signed)
{
    LLVMTypeRef type = LLVMTypeOf(at);
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(type) > 64)
        return;
    LLVMReplaceAllUsesWith(at, saturate(b, at, is_signed));
    LLVMInstructionEraseFromParent(at);
}

// --- Odd sizes ---------------------------------------------------------------

// A structure of 3, 5, 6 or 7 bytes, such as uchar3, is passed and returned as
// one integer, which lanes cannot hold. Stores and loads become pieces of plain
// sizes, and the integer disappears once functions are inlined.
static bool is_odd(LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
        return false;
    unsigned width = LLVMGetIntTypeWidth(type);
    return width < 64 && width % 8 == 0 && (width & (width - 1)) != 0;
}

struct access_piece {
    unsigned offset, size;  // bytes
    LLVMTypeRef type;
};

// The next piece of an integer, which begins where `piece` ends. False: there
// is none.
static bool piece_next(struct access_piece *piece, LLVMTypeRef whole)
{
    unsigned size = LLVMGetIntTypeWidth(whole) / 8;
    piece->offset += piece->size;
    for (piece->size = 4; piece->size > size - piece->offset;)
        piece->size /= 2;
    piece->type =
        LLVMIntTypeInContext(LLVMGetTypeContext(whole), piece->size * 8);
    return piece->offset < size;
}

static LLVMValueRef piece_address(LLVMBuilderRef b, LLVMValueRef whole,
                                  const struct access_piece *piece)
{
    LLVMContextRef context = LLVMGetTypeContext(piece->type);
    LLVMValueRef offset =
        LLVMConstInt(LLVMInt64TypeInContext(context), piece->offset, 0);
    return LLVMBuildGEP2(b, LLVMInt8TypeInContext(context), whole, &offset, 1,
                         "");
}

static void store_pieces(LLVMBuilderRef b, LLVMValueRef at)
{
    LLVMValueRef value = LLVMGetOperand(at, 0);
    LLVMTypeRef type = LLVMTypeOf(value);
    LLVMPositionBuilderBefore(b, at);
    for (struct access_piece p = {0}; piece_next(&p, type);) {
        LLVMValueRef bits = LLVMBuildLShr(
            b, value, LLVMConstInt(type, p.offset * 8, 0), "");
        LLVMValueRef store =
            LLVMBuildStore(b, LLVMBuildTrunc(b, bits, p.type, ""),
                           piece_address(b, LLVMGetOperand(at, 1), &p));
        LLVMSetAlignment(store, 1);
    }
    LLVMInstructionEraseFromParent(at);
}

static void load_pieces(LLVMBuilderRef b, LLVMValueRef at)
{
    LLVMTypeRef type = LLVMTypeOf(at);
    LLVMValueRef value = LLVMConstNull(type);
    LLVMPositionBuilderBefore(b, at);
    for (struct access_piece p = {0}; piece_next(&p, type);) {
        LLVMValueRef load = LLVMBuildLoad2(
            b, p.type, piece_address(b, LLVMGetOperand(at, 0), &p), "");
        LLVMSetAlignment(load, 1);
        LLVMValueRef bits =
            LLVMBuildShl(b, LLVMBuildZExt(b, load, type, ""),
                         LLVMConstInt(type, p.offset * 8, 0), "");
        value = LLVMBuildOr(b, value, bits, "");
    }
    LLVMReplaceAllUsesWith(at, value);
    LLVMInstructionEraseFromParent(at);
}

// --- Inline assembly ---------------------------------------------------------

// Without instructions it holds back the compiler: from moving accesses to
// memory, which a fence does as well, or from knowing a value, which is all the
// same to lanes.
static void replace_empty_asm(LLVMBuilderRef b, LLVMValueRef at)
{
    size_t size;
    LLVMValueRef callee = LLVMGetCalledValue(at);
    if (!LLVMIsAInlineAsm(callee) ||
        (LLVMGetInlineAsmAsmString(callee, &size), size > 0))
        return;
    const char *constraints = LLVMGetInlineAsmConstraintString(callee, &size);
    bool has_value = LLVMGetTypeKind(LLVMTypeOf(at)) != LLVMVoidTypeKind;
    if (has_value && (LLVMGetNumArgOperands(at) != 1 ||
                      LLVMTypeOf(LLVMGetOperand(at, 0)) != LLVMTypeOf(at)))
        return;
    LLVMPositionBuilderBefore(b, at);
    if (strstr(constraints, "~{memory}"))
        LLVMBuildFence(b, LLVMAtomicOrderingSequentiallyConsistent, true, "");
    if (has_value)
        LLVMReplaceAllUsesWith(at, LLVMGetOperand(at, 0));
    LLVMInstructionEraseFromParent(at);
}

// --- Bools of memory ---------------------------------------------------------

// C++ allows two values. To CUDA's compiler any byte but 0 is true, and as a
// number the byte keeps its value.
static void take_any_byte(LLVMBuilderRef b, LLVMValueRef at)
{
    LLVMValueRef byte = LLVMGetOperand(at, 0);
    LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(at));
    if (LLVMTypeOf(at) != LLVMInt1TypeInContext(context) ||
        !LLVMIsALoadInst(byte))
        return;
    LLVMSetMetadata(byte, LLVMGetMDKindIDInContext(context, "range", 5), NULL);
    for (LLVMUseRef use = LLVMGetFirstUse(at); use;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        LLVMTypeRef type = LLVMTypeOf(user);
        LLVMPositionBuilderBefore(b, user);
        if (LLVMIsAZExtInst(user))
            LLVMReplaceAllUsesWith(
                user, LLVMBuildIntCast2(b, byte, type, true, ""));
        else if (LLVMIsAUIToFPInst(user))
            LLVMReplaceAllUsesWith(user,
                                   LLVMBuildSIToFP(b, byte, type, ""));
    }
    LLVMPositionBuilderBefore(b, at);
    LLVMReplaceAllUsesWith(at, LLVMBuildIsNotNull(b, byte, ""));
    LLVMInstructionEraseFromParent(at);
}

// --- All of them -------------------------------------------------------------

void lower_arithmetic(LLVMModuleRef module, bool zero_traps)
{
    LLVMBuilderRef b =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef at = first_instruction(module), next; at; at = next) {
        next = next_instruction(at);
        switch (LLVMGetInstructionOpcode(at)) {
        case LLVMUDiv: case LLVMURem:
            guard_division(b, at, false, zero_traps);
            break;
        case LLVMSDiv: case LLVMSRem:
            guard_division(b, at, true, zero_traps);
            break;
        case LLVMShl: case LLVMLShr:
            clamp_shift(b, at, false);
            break;
        case LLVMAShr:
            clamp_shift(b, at, true);
            break;
        case LLVMFPToUI:
            replace_conversion(b, at, false);
            break;
        case LLVMFPToSI:
            replace_conversion(b, at, true);
            break;
        case LLVMStore:
            if (is_odd(LLVMTypeOf(LLVMGetOperand(at, 0))))
                store_pieces(b, at);
            break;
        case LLVMTrunc:
            take_any_byte(b, at);
            break;
        case LLVMLoad:
            if (is_odd(LLVMTypeOf(at)))
                load_pieces(b, at);
            break;
        case LLVMCall:
            replace_empty_asm(b, at);
            break;
        default:
            break;
        }
    }
    LLVMDisposeBuilder(b);
}
