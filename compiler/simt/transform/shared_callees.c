// Keeps functions that a large kernel calls so often that copies would take
// long to compile. A pure function that computes one number from its arguments
// without branches stays a function, in a form for one thread and in a form for
// vectors.
#include "simt/transform/transform.h"
#include "simt/transform/tuning.h"
#include "simt/analysis/analysis.h"
#include "simt/ir/ir.h"

#include <stdio.h>
#include <string.h>

// --- How many copies there would be ------------------------------------------

static uint64_t copies_of(struct map *known, LLVMValueRef function, int depth)
{
    uint64_t *copies = map_get(known, function);
    if (copies)
        return *copies;
    copies = simt_allocate(sizeof *copies);
    for (LLVMUseRef use = LLVMGetFirstUse(function);
         use && depth < DEPTH_MOST && *copies < TOGETHER_MOST;
         use = LLVMGetNextUse(use)) {
        LLVMValueRef user = LLVMGetUser(use);
        if (LLVMIsACallInst(user))
            *copies += copies_of(
                known, LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)),
                depth + 1);
    }
    *copies = *copies ? *copies : 1;  // a kernel's
    map_set(known, function, copies);
    return *copies;
}

static bool has_many_copies(struct map *known, LLVMValueRef function)
{
    uint64_t copies = copies_of(known, function, 0);
    return copies > COPIES_FEW &&
           copies * function_size(function) > TOGETHER_MOST;
}

// --- Which of them vectors can have ------------------------------------------

static bool is_number(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    switch (LLVMGetTypeKind(type)) {
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(type) == 1 ||
               LLVMGetIntTypeWidth(type) == 32 ||
               LLVMGetIntTypeWidth(type) == 64;
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
        return true;
    default:
        return false;
    }
}

static bool is_simple(struct map *known, LLVMValueRef function);

static bool is_simple_instruction(struct map *known, LLVMValueRef at)
{
    if (LLVMIsAReturnInst(at))
        return LLVMGetNumOperands(at) == 1;
    if (!is_number(at))
        return false;
    if (LLVMIsACallInst(at))
        return call_has_vectors(at) ||
               (LLVMIsAFunction(LLVMGetCalledValue(at)) &&
                is_simple(known, LLVMGetCalledValue(at)));
    return LLVMIsABinaryOperator(at) || LLVMIsACmpInst(at) ||
           LLVMIsASelectInst(at) || LLVMIsAFreezeInst(at) ||
           (LLVMIsACastInst(at) && is_number(LLVMGetOperand(at, 0))) ||
           LLVMGetInstructionOpcode(at) == LLVMFNeg;
}

static bool has_simple_body(struct map *known, LLVMValueRef function)
{
    unsigned arguments = LLVMCountParams(function);
    if (LLVMCountBasicBlocks(function) != 1 || arguments > KEPT_ARGUMENTS_MOST)
        return false;
    for (unsigned i = 0; i < arguments; i++)
        if (!is_number(LLVMGetParam(function, i)))
            return false;
    LLVMValueRef at =
        LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));
    while (at && is_simple_instruction(known, at))
        at = LLVMGetNextInstruction(at);
    return at == NULL;
}

// Visits each function once, since calls of calls would take exponential time.
// A function that is being visited counts as not simple.
static bool is_simple(struct map *known, LLVMValueRef function)
{
    static bool no, yes = true;
    bool *simple = map_get(known, function);
    if (simple)
        return *simple;
    map_set(known, function, &no);
    if (!has_simple_body(known, function))
        return false;
    map_set(known, function, &yes);
    return true;
}

// --- Before everything is inlined --------------------------------------------

static bool is_inlined(LLVMValueRef function)
{
    static const char name[] = "alwaysinline";
    return LLVMGetEnumAttributeAtIndex(
        function, (unsigned)LLVMAttributeFunctionIndex,
        LLVMGetEnumAttributeKindForName(name, sizeof name - 1));
}

// Simplified functions show whether they are one block. Kernels must not be
// simplified before everything is inlined.
static char *simplify(LLVMModuleRef module, const struct map *functions)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && !map_get(functions, f))
            add_flag(f, "optnone");
    char *message = run_passes(
        module, "function(sroa,early-cse,simplifycfg,"
                "instcombine<no-verify-fixpoint>,simplifycfg)");
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        remove_flag(f, "optnone");
    return message;
}

char *shared_callees_keep(LLVMModuleRef module)
{
    struct map copies = {0}, often = {0}, simple = {0};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && is_inlined(f) &&
            has_many_copies(&copies, f))
            map_set(&often, f, f);
    char *message = often.count > 0 ? simplify(module, &often) : NULL;
    for (LLVMValueRef f = LLVMGetFirstFunction(module);
         f && often.count > 0 && !message; f = LLVMGetNextFunction(f))
        if (map_get(&often, f) && function_size(f) >= BODY_LEAST &&
            is_simple(&simple, f))
            function_keep(f);
    return message;
}

// --- In place of libm's ------------------------------------------------------

bool lane_function_may_be_called(LLVMValueRef function)
{
    LLVMModuleRef module = LLVMGetGlobalParent(function);
    LLVMValueRef f =
        is_lane_function(function) ? LLVMGetFirstFunction(module) : NULL;
    while (f && lane_function_of(f) != function)
        f = LLVMGetNextFunction(f);
    return f != NULL;
}

void lane_functions_keep(LLVMModuleRef module)
{
    struct map simple = {0};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (is_lane_function(f) && is_simple(&simple, f))
            function_keep(f);
}

void lane_functions_hide(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (is_lane_function(f))
            LLVMSetLinkage(f, LLVMInternalLinkage);
}

