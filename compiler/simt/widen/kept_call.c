// Calls of kept functions: each has a function of vectors for each width.
#include "simt/widen/widen.h"
#include "simt/analysis/analysis.h"
#include "simt/kernel/kernel.h"
#include "simt/ir/ir.h"

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
    function_keep(e.function);
    e.builder = LLVMCreateBuilderInContext(e.context);
    e.entry = append(&e, "entry");
    position(&e, e.entry);
    read_arguments(&e, function);
    emit_body(&e, function);
    LLVMDisposeBuilder(e.builder);
    return e.function;
}

LLVMValueRef kept_call_widen(struct emitter *e, LLVMValueRef call)
{
    LLVMValueRef function = kept_function_of(call),
                 arguments[KEPT_ARGUMENTS_MOST];
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
