// Functions that a large kernel calls so often that copies of them would take
// long to compile. Where they compute one number from others, without branches
// and memory, they stay functions, for one thread and for the lanes of vectors.
#include "emit.h"

#include <stdio.h>
#include <string.h>

// Copies of a function that there may be in any case, and instructions that
// more of them may have together; instructions that are worth a call.
enum { COPIES_FEW = 32, TOGETHER_MOST = 20000, BODY_LEAST = 16 };

enum { ARGUMENTS_MOST = 16, DEPTH_MOST = 20 };

static const char mark[] = "runnel-callee";

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
    if (LLVMCountBasicBlocks(function) != 1 || arguments > ARGUMENTS_MOST)
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

// Each function is gone over once: those that call others twice would be so
// with the power of how deep they are. While it is, it is not one.
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

// Calls give the same for the same numbers, and do nothing else.
static void set_kept(LLVMValueRef function)
{
    static const char *const flags[] = {"noinline", "memory", "nounwind",
                                        "willreturn"};
    remove_flag(function, "alwaysinline");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        add_flag(function, flags[i]);
    add_attribute(function, mark, "");
}

static bool is_kept(LLVMValueRef function)
{
    return LLVMGetStringAttributeAtIndex(
        function, (unsigned)LLVMAttributeFunctionIndex, mark,
        sizeof mark - 1);
}

// What is one block shows then. Kernels must not be simplified before all is
// inlined.
static char *simplify(LLVMModuleRef module, const struct map *functions)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && !map_get(functions, f))
            add_flag(f, "optnone");
    char *message = prepare_run(
        module, "function(sroa,early-cse,simplifycfg,"
                "instcombine<no-verify-fixpoint>,simplifycfg)");
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        remove_flag(f, "optnone");
    return message;
}

char *callees_keep(LLVMModuleRef module)
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
            set_kept(f);
    return message;
}

// --- In place of libm's ------------------------------------------------------

// What lanes have for llvm.NAME.f32 is rnl_lanes_NAMEf of the prelude, if that
// is there.
static const char ours[] = "rnl_lanes_";

static bool is_ours(LLVMValueRef function)
{
    size_t size;
    const char *name = LLVMGetValueName2(function, &size);
    return strncmp(name, ours, sizeof ours - 1) == 0;
}

static LLVMValueRef find_ours(LLVMValueRef intrinsic)
{
    static const char begin[] = "llvm.", end[] = ".f32";
    size_t size, around = strlen(begin) + strlen(end);
    char wanted[64];
    const char *name = LLVMGetValueName2(intrinsic, &size);
    if (size < around || strcmp(name + size - strlen(end), end) != 0)
        return NULL;
    snprintf(wanted, sizeof wanted, "%s%.*sf", ours, (int)(size - around),
             name + strlen(begin));
    return LLVMGetNamedFunction(LLVMGetGlobalParent(intrinsic), wanted);
}

bool callee_is_awaited(LLVMValueRef function)
{
    LLVMModuleRef module = LLVMGetGlobalParent(function);
    LLVMValueRef f = is_ours(function) ? LLVMGetFirstFunction(module) : NULL;
    while (f && find_ours(f) != function)
        f = LLVMGetNextFunction(f);
    return f != NULL;
}

void callees_choose(LLVMModuleRef module)
{
    struct map simple = {0};
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (is_ours(f) && is_simple(&simple, f))
            set_kept(f);
}

void callees_hide(LLVMModuleRef module)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f;
         f = LLVMGetNextFunction(f))
        if (is_ours(f))
            LLVMSetLinkage(f, LLVMInternalLinkage);
}

// --- Calls to them -----------------------------------------------------------

// The function that is kept for it, or NULL.
static LLVMValueRef kept_for(LLVMValueRef call)
{
    LLVMValueRef function = LLVMGetCalledValue(call);
    if (LLVMIsAFunction(function) && LLVMGetIntrinsicID(function) != 0)
        function = find_ours(function);
    return function && LLVMIsAFunction(function) && is_kept(function)
               ? function : NULL;
}

bool callee_is_kept(LLVMValueRef call)
{
    return kept_for(call) != NULL;
}

bool callees_are_kept(LLVMModuleRef module)
{
    LLVMValueRef function = LLVMGetFirstFunction(module);
    while (function && !is_kept(function))
        function = LLVMGetNextFunction(function);
    return function != NULL;
}

// --- Functions of vectors ----------------------------------------------------

// Lanes are of instructions: one stands for each argument.
static void read_arguments(struct emitter *e, LLVMValueRef function)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(e->context);
    LLVMPositionBuilderBefore(
        b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
    for (unsigned i = 0; i < LLVMCountParams(function); i++) {
        LLVMValueRef argument = LLVMGetParam(function, i);
        LLVMValueRef read = LLVMBuildFreeze(b, argument, "");
        LLVMReplaceAllUsesWith(argument, read);
        LLVMSetOperand(read, 0, argument);
        lanes_set(e, read, NULL, LLVMGetParam(e->function, i));
    }
    LLVMDisposeBuilder(b);
}

static void emit_body(struct emitter *e, LLVMValueRef function)
{
    static struct shape varying = {.kind = SHAPE_VARYING};
    LLVMValueRef at =
        LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));
    for (; at; at = LLVMGetNextInstruction(at)) {
        map_set(&e->shapes.values, at, &varying);
        if (LLVMIsAReturnInst(at))
            LLVMBuildRet(e->builder, lanes_vector(e, LLVMGetOperand(at, 0)));
        else if (!map_get(&e->values, at))
            instruction_emit(e, at);
    }
}

static LLVMValueRef make_function(const struct emitter *caller,
                                  LLVMValueRef function, const char *name)
{
    struct kernel body = {
        .module = caller->module, .context = caller->context,
        .layout = caller->kernel->layout, .function = function};
    struct emitter e = {
        .kernel = &body, .variant = caller->variant, .width = caller->width,
        .context = caller->context, .module = caller->module,
        .shapes = {.kernel = &body, .variant = caller->variant}};
    unsigned count = LLVMCountParams(function);
    LLVMTypeRef *types = simt_allocate((count + 1) * sizeof *types);
    for (unsigned i = 0; i < count; i++)
        types[i] = vector_type(&e, LLVMTypeOf(LLVMGetParam(function, i)));
    LLVMTypeRef scalar =
        LLVMGetReturnType(LLVMGlobalGetValueType(function));
    emitter_types(&e);
    e.function = emitter_function(
        &e, name,
        LLVMFunctionType(vector_type(&e, scalar), types, count, false));
    LLVMSetLinkage(e.function, LLVMInternalLinkage);
    set_kept(e.function);
    e.builder = LLVMCreateBuilderInContext(e.context);
    e.entry = append(&e, "entry");
    position(&e, e.entry);
    read_arguments(&e, function);
    emit_body(&e, function);
    LLVMDisposeBuilder(e.builder);
    return e.function;
}

LLVMValueRef callee_call(struct emitter *e, LLVMValueRef call)
{
    LLVMValueRef function = kept_for(call), arguments[ARGUMENTS_MOST];
    size_t size;
    unsigned count = LLVMGetNumArgOperands(call);
    char *name = simt_format("%s.%u", LLVMGetValueName2(function, &size),
                             e->width);
    LLVMValueRef made = LLVMGetNamedFunction(e->module, name);
    if (!made)
        made = make_function(e, function, name);
    for (unsigned i = 0; i < count; i++)
        arguments[i] = lanes_vector(e, LLVMGetOperand(call, i));
    return LLVMBuildCall2(e->builder, LLVMGlobalGetValueType(made), made,
                          arguments, count, "");
}
