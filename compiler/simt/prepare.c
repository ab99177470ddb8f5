// Brings a module into the state that the analysis expects: each kernel one
// function, everything inlined but what is recursive, values in registers.
#include "ir.h"

#include <runnel/cpu_object.h>

#include <llvm-c/Comdat.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// --- What is said of functions ----------------------------------------------

static void say(LLVMValueRef function, LLVMAttributeRef attribute)
{
    LLVMAddAttributeAtIndex(function, (unsigned)LLVMAttributeFunctionIndex,
                            attribute);
}

static LLVMContextRef context_of(LLVMValueRef function)
{
    return LLVMGetModuleContext(LLVMGetGlobalParent(function));
}

void add_flag(LLVMValueRef function, const char *name)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    say(function, LLVMCreateEnumAttribute(context_of(function), kind, 0));
}

void remove_flag(LLVMValueRef function, const char *name)
{
    LLVMRemoveEnumAttributeAtIndex(
        function, (unsigned)LLVMAttributeFunctionIndex,
        LLVMGetEnumAttributeKindForName(name, strlen(name)));
}

void add_attribute(LLVMValueRef function, const char *name, const char *value)
{
    say(function, LLVMCreateStringAttribute(
                      context_of(function), name, (unsigned)strlen(name),
                      value, (unsigned)strlen(value)));
}

static const char *name_of(LLVMValueRef value)
{
    size_t size;
    return LLVMGetValueName2(value, &size);
}

// --- All blocks and instructions of a module ---------------------------------

static LLVMBasicBlockRef first_from(LLVMValueRef function)
{
    LLVMBasicBlockRef block = NULL;
    for (; function && !block; function = LLVMGetNextFunction(function))
        block = LLVMGetFirstBasicBlock(function);
    return block;
}

LLVMBasicBlockRef first_block(LLVMModuleRef module)
{
    return first_from(LLVMGetFirstFunction(module));
}

LLVMBasicBlockRef next_block(LLVMBasicBlockRef block)
{
    LLVMBasicBlockRef next = LLVMGetNextBasicBlock(block);
    LLVMValueRef function = LLVMGetBasicBlockParent(block);
    return next ? next : first_from(LLVMGetNextFunction(function));
}

// Blocks that are still made may be empty.
static LLVMValueRef first_of(LLVMBasicBlockRef block)
{
    LLVMValueRef at = NULL;
    for (; block && !at; block = next_block(block))
        at = LLVMGetFirstInstruction(block);
    return at;
}

LLVMValueRef first_instruction(LLVMModuleRef module)
{
    return first_of(first_block(module));
}

LLVMValueRef next_instruction(LLVMValueRef at)
{
    LLVMValueRef next = LLVMGetNextInstruction(at);
    return next ? next : first_of(next_block(LLVMGetInstructionParent(at)));
}

unsigned block_size(LLVMBasicBlockRef block)
{
    unsigned size = 0;
    for (LLVMValueRef at = LLVMGetFirstInstruction(block); at;
         at = LLVMGetNextInstruction(at))
        size++;
    return size;
}

unsigned function_size(LLVMValueRef function)
{
    unsigned size = 0;
    for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
         block = LLVMGetNextBasicBlock(block))
        size += block_size(block);
    return size;
}

LLVMValueRef first_behind_phis(LLVMBasicBlockRef block)
{
    LLVMValueRef at = LLVMGetFirstInstruction(block);
    while (LLVMIsAPHINode(at))
        at = LLVMGetNextInstruction(at);
    return at;
}

bool module_is_huge(LLVMModuleRef module)
{
    enum { HUGE_LEAST = 10000 };
    LLVMValueRef function = LLVMGetFirstFunction(module);
    while (function && function_size(function) <= HUGE_LEAST)
        function = LLVMGetNextFunction(function);
    return function != NULL;
}

void prepare_widest(LLVMValueRef function)
{
    add_attribute(function, "prefer-vector-width", "512");
}

// LLVM takes a millisecond for each other combination of these.
void prepare_targets(LLVMModuleRef module)
{
    static const char *const names[] = {"target-cpu", "target-features",
                                        "tune-cpu", "min-legal-vector-width"};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f)) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            LLVMRemoveStringAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                                             names[i],
                                             (unsigned)strlen(names[i]));
        prepare_widest(f);
    }
}

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

// A shift by the width or more gives 0, or the sign, as on a GPU; LLVM's is
// undefined there. Vector units do the same, so LLVM folds the comparison.
static void clamp_shift(LLVMBuilderRef b, LLVMValueRef at, bool is_arithmetic)
{
    LLVMValueRef count = LLVMGetOperand(at, 1);
    LLVMTypeRef type = LLVMTypeOf(at);
    if (LLVMIsConstant(count) ||
        LLVMGetTypeKind(type) != LLVMIntegerTypeKind ||
        LLVMGetIntTypeWidth(type) > 64)
        return;
    const unsigned width = LLVMGetIntTypeWidth(type);
    LLVMPositionBuilderBefore(b, at);
    LLVMValueRef inside = LLVMBuildICmp(b, LLVMIntULT, count,
                                        LLVMConstInt(type, width, 0), "");
    if (is_arithmetic) {
        LLVMValueRef most = LLVMConstInt(type, width - 1, 0);
        LLVMSetOperand(at, 1, LLVMBuildSelect(b, inside, count, most, ""));
        return;
    }
    LLVMValueRef copy = LLVMInstructionClone(at);
    LLVMInsertIntoBuilder(b, copy);
    LLVMReplaceAllUsesWith(at, LLVMBuildSelect(b, inside, copy,
                                               LLVMConstNull(type), ""));
    LLVMInstructionEraseFromParent(at);
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

// A structure of 3, 5, 6 or 7 bytes, as uchar3, is passed to functions and
// returned as one integer, which lanes could not hold. It is stored and loaded
// in pieces that are numbers, and is gone once the functions are inlined.
static bool is_odd(LLVMTypeRef type)
{
    if (LLVMGetTypeKind(type) != LLVMIntegerTypeKind)
        return false;
    unsigned width = LLVMGetIntTypeWidth(type);
    return width < 64 && width % 8 == 0 && (width & (width - 1)) != 0;
}

struct piece {
    unsigned offset, size;  // bytes
    LLVMTypeRef type;
};

// The next piece of an integer, which begins where `piece` ends. False: there
// is none.
static bool piece_next(struct piece *piece, LLVMTypeRef whole)
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
                                  const struct piece *piece)
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
    for (struct piece p = {0}; piece_next(&p, type);) {
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
    for (struct piece p = {0}; piece_next(&p, type);) {
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

// C++ knows two. To CUDA's compiler any byte but 0 is true, and as a number it
// is what it is.
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

void prepare_arithmetic(LLVMModuleRef module, bool zero_traps)
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

// --- Variables ---------------------------------------------------------------

void prepare_share_variables(LLVMModuleRef module)
{
    // Linking completes it, so its values must not be taken for what they are.
    LLVMValueRef object = LLVMGetNamedGlobal(module, RNL_CPU_OBJECT_SYMBOL);
    if (object)
        LLVMSetExternallyInitialized(object, 1);
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g))
        if (!LLVMIsDeclaration(g) && !LLVMIsGlobalConstant(g) &&
            LLVMGetLinkage(g) != LLVMAppendingLinkage) {
            LLVMSetComdat(g, NULL);
            LLVMSetLinkage(g, LLVMExternalLinkage);
            LLVMSetVisibility(g, LLVMHiddenVisibility);
        }
}

static void drop_global(LLVMModuleRef module, const char *name)
{
    LLVMValueRef global = LLVMGetNamedGlobal(module, name);
    if (global)
        LLVMDeleteGlobal(global);
}

void prepare_drop_used(LLVMModuleRef module)
{
    drop_global(module, "llvm.used");
    drop_global(module, "llvm.compiler.used");
}

// Variables are defined by the other module; what is constant may be twice, but
// for the object's table, of which one is completed after linking.
static void declare_variables(LLVMModuleRef module)
{
    for (LLVMValueRef g = LLVMGetFirstGlobal(module); g;
         g = LLVMGetNextGlobal(g)) {
        if (LLVMIsDeclaration(g))
            continue;
        LLVMSetComdat(g, NULL);
        if (LLVMIsGlobalConstant(g) &&
            strcmp(name_of(g), RNL_CPU_OBJECT_SYMBOL) != 0) {
            LLVMSetLinkage(g, LLVMInternalLinkage);
            LLVMSetVisibility(g, LLVMDefaultVisibility);
        } else {
            LLVMSetInitializer(g, NULL);
            LLVMSetLinkage(g, LLVMExternalLinkage);
        }
    }
}

// --- Functions ---------------------------------------------------------------

static bool is_kernel_thread(LLVMValueRef function, unsigned *number)
{
    char rest;
    return sscanf(name_of(function), "rnl_thread_%u%c", number, &rest) == 1;
}

// Functions that stay calls until vectors have been made.
static bool is_kept(LLVMValueRef function)
{
    static const char *const stems[] = {
        "rnl_thread_", "rnl_block_", "rnl_grid_size_", "rnl_sync", "rnl_warp",
        "rnl_spin", "rnl_yield", "rnl_trap", "rnl_enter", "rnl_scratch",
        "rnl_long_", "rnl_printf", "rnl_dynamic_size", "rnl_rsqrt_near",
        "rnl_seldom_", "rnl_lanes_"};
    const char *name = name_of(function);
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++)
        if (strncmp(name, stems[i], strlen(stems[i])) == 0)
            return true;
    return strstr(name, "rnl_printf") != NULL;
}

// LLVM-C cannot delete an alias, but what nobody outside sees goes by itself.
void prepare_aliases(LLVMModuleRef module)
{
    for (LLVMValueRef alias = LLVMGetFirstGlobalAlias(module); alias;
         alias = LLVMGetNextGlobalAlias(alias)) {
        LLVMReplaceAllUsesWith(alias, LLVMAliasGetAliasee(alias));
        LLVMSetLinkage(alias, LLVMInternalLinkage);
    }
}

static void prepare_function(LLVMValueRef function)
{
    unsigned number;
    remove_flag(function, "optnone");
    if (is_kernel_thread(function, &number)) {
        remove_flag(function, "noinline");
        return;
    }
    // These are called by what is yet to be made.
    bool awaited = strcmp(name_of(function), "rnl_enter") == 0 ||
                   strcmp(name_of(function), "rnl_scratch") == 0 ||
                   callee_is_awaited(function);
    LLVMSetComdat(function, NULL);
    LLVMSetLinkage(function, awaited ? LLVMExternalLinkage
                                     : LLVMInternalLinkage);
    LLVMSetVisibility(function, LLVMDefaultVisibility);
    remove_flag(function, is_kept(function) ? "alwaysinline" : "noinline");
    add_flag(function, is_kept(function) ? "noinline" : "alwaysinline");
    if (strcmp(name_of(function), "rnl_rsqrt_near") == 0)
        add_flag(function, "speculatable");  // as roots and divisions are
}

// Of arguments that __restrict__ tells apart per thread only.
static void drop_scopes(LLVMModuleRef module)
{
    LLVMContextRef context = LLVMGetModuleContext(module);
    unsigned kinds[] = {
        LLVMGetMDKindIDInContext(context, "alias.scope", 11),
        LLVMGetMDKindIDInContext(context, "noalias", 7)};
    for (LLVMValueRef at = first_instruction(module); at;
         at = next_instruction(at))
        for (unsigned k = 0; k < 2; k++)
            if (LLVMHasMetadata(at))
                LLVMSetMetadata(at, kinds[k], NULL);
}

void prepare_hide_functions(LLVMModuleRef module)
{
    static const char *const names[] = {"rnl_enter", "rnl_scratch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        LLVMValueRef function = LLVMGetNamedFunction(module, names[i]);
        if (function && !LLVMIsDeclaration(function))
            LLVMSetLinkage(function, LLVMInternalLinkage);
    }
    callees_hide(module);
}

// --- One block size ----------------------------------------------------------

void tell_range(LLVMValueRef at, unsigned first, unsigned end)
{
    LLVMTypeRef type = LLVMTypeOf(at);
    LLVMContextRef context = LLVMGetTypeContext(type);
    LLVMMetadataRef ends[] = {
        LLVMValueAsMetadata(LLVMConstInt(type, first, 0)),
        LLVMValueAsMetadata(LLVMConstInt(type, end, 0))};
    LLVMMetadataRef range = LLVMMDNodeInContext2(context, ends, 2);
    LLVMSetMetadata(at, LLVMGetMDKindIDInContext(context, "range", 5),
                    LLVMMetadataAsValue(context, range));
}

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
        tell_range(call, 0, size[axis]);
}

void prepare_block_size(LLVMModuleRef module, const unsigned size[3])
{
    for (LLVMValueRef at = first_instruction(module); at;
         at = next_instruction(at))
        if (LLVMIsACallInst(at))
            fix_index(at, size);
}

char *prepare_run(LLVMModuleRef module, const char *passes)
{
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module, passes, NULL, options);
    LLVMDisposePassBuilderOptions(options);
    return error ? LLVMGetErrorMessage(error) : NULL;
}

#define COMBINE "instcombine<no-verify-fixpoint>"

// What is computed on one side of a branch and behind it must not become a
// value of either side: all lanes have the same, and nobody could see that.
#define NUMBER_VALUES "gvn<no-pre>"

// Sums are written as unions where their parts share no bits, which is known
// only at first: cut to fewer bits they would be unions of anything.
static void unions_to_sums(LLVMModuleRef module)
{
    LLVMBuilderRef builder =
        LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
    for (LLVMValueRef at = first_instruction(module), next; at; at = next) {
        next = next_instruction(at);
        if (LLVMGetInstructionOpcode(at) != LLVMOr || !LLVMGetIsDisjoint(at))
            continue;
        LLVMPositionBuilderBefore(builder, at);
        LLVMValueRef sum = LLVMBuildNUWAdd(builder, LLVMGetOperand(at, 0),
                                           LLVMGetOperand(at, 1), "");
        if (LLVMIsAInstruction(sum))
            LLVMSetNSW(sum, 1);
        LLVMReplaceAllUsesWith(at, sum);
        LLVMInstructionEraseFromParent(at);
    }
    LLVMDisposeBuilder(builder);
}

const char *combine_again(LLVMModuleRef module)
{
    return module_is_huge(module) ? "" : "," COMBINE;
}

// Where two numbers of a vector are chosen alike, combining chooses the vector,
// which then is taken apart again.
static char *simplify(LLVMModuleRef module, const char *combine)
{
    char *message = prepare_run(
        module, "globaldce,function(sroa),always-inline,globaldce,"
                "function(sroa,early-cse<memssa>,simplifycfg," COMBINE ")");
    if (message)
        return message;
    unions_to_sums(module);
    return prepare_run(
        module, simt_format(
        "function(loop-simplify,lcssa,loop(loop-rotate),"
        "loop(indvars,loop-unroll-full),sroa,scalarizer,early-cse<memssa>,"
        NUMBER_VALUES "," COMBINE ",scalarizer,simplifycfg,adce,lower-switch,"
        "loop-mssa(licm)%s,early-cse<memssa>,simplifycfg,lower-switch,"
        "fix-irreducible,adce),globaldce", combine));
}

// What rsqrtf(64) asks for, which no optimiser knows.
static void fold_estimates(LLVMModuleRef module)
{
    for (LLVMValueRef at = first_instruction(module), next; at; at = next) {
        next = next_instruction(at);
        if (!LLVMIsACallInst(at) ||
            strcmp(callee_name(at), "rnl_rsqrt_near") != 0 ||
            !LLVMIsAConstantFP(LLVMGetOperand(at, 0)))
            continue;
        LLVMBool loses;
        double x = LLVMConstRealGetDouble(LLVMGetOperand(at, 0), &loses);
        LLVMReplaceAllUsesWith(
            at, LLVMConstReal(LLVMTypeOf(at), 1 / sqrt(x)));
        LLVMInstructionEraseFromParent(at);
    }
}

char *prepare_module(LLVMModuleRef module)
{
    prepare_drop_used(module);
    declare_variables(module);
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            prepare_function(f);
    const char *combine = combine_again(module);
    char *message = callees_keep(module);
    if (message)
        return message;
    merge_within_pieces(module);
    message = simplify(module, combine);
    merge_end(module);
    if (message)
        return message;
    callees_choose(module);
    fold_estimates(module);
    drop_scopes(module);
    return along_unroll(module);
}
