// rnl_seldom_NAME(rare, x, value) of the prelude is NAME(x) where `rare` holds,
// else `value`. Analyses see one call; codegen adds the branch to the
// cold path for the lanes that need it.
#include "simt/widen/widen.h"
#include "simt/ir/ir.h"

#include <string.h>

// An outlined function that runs the cold path lane by lane.
static LLVMValueRef make_function(struct emitter *e, LLVMValueRef call,
                                  const char *name, LLVMTypeRef type)
{
    struct emitter inside = emitter_outlined(e, name, type);
    LLVMBuilderRef b = inside.builder;
    LLVMTypeRef number = LLVMTypeOf(call);
    LLVMValueRef function = LLVMGetCalledValue(call);
    inside.entry = LLVMGetInsertBlock(b);
    LLVMValueRef x = lanes_spill(&inside, LLVMGetParam(inside.function, 1));
    LLVMValueRef value =
        lanes_spill(&inside, LLVMGetParam(inside.function, 2));
    struct lane_loop loop =
        lane_loop_begin(&inside, LLVMGetParam(inside.function, 0));
    LLVMValueRef arguments[] = {LLVMConstInt(e->i1, 1, 0),
                                lanes_pick(&inside, number, x, loop.lane),
                                LLVMConstNull(number)};
    LLVMValueRef made = LLVMBuildCall2(
        b, LLVMGlobalGetValueType(function), function, arguments, 3, "");
    lanes_put(&inside, made, value, loop.lane);
    lane_loop_end(&inside, &loop);
    LLVMBuildRet(b, LLVMBuildLoad2(b, LLVMGetReturnType(type), value, ""));
    LLVMDisposeBuilder(b);
    return inside.function;
}

static LLVMValueRef call_function(struct emitter *e, LLVMValueRef call,
                                  LLVMValueRef *arguments)
{
    char *name = simt_format("%s.%u", callee_name(call), e->width);
    LLVMTypeRef types[3];
    for (unsigned i = 0; i < 3; i++)
        types[i] = LLVMTypeOf(arguments[i]);
    LLVMTypeRef type = LLVMFunctionType(types[2], types, 3, 0);
    LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
    if (!function)
        function = make_function(e, call, name, type);
    return LLVMBuildCall2(e->builder, type, function, arguments, 3, "");
}

LLVMValueRef cold_call_widen(struct emitter *e, LLVMValueRef call)
{
    LLVMBuilderRef b = e->builder;
    LLVMValueRef arguments[3];
    for (unsigned i = 0; i < 3; i++)
        arguments[i] = lanes_vector(e, LLVMGetOperand(call, i));
    arguments[0] = LLVMBuildFreeze(b, arguments[0], "");
    LLVMValueRef any = mask_any(e, arguments[0]);
    LLVMBasicBlockRef blocks[] = {LLVMGetInsertBlock(b), append(e, "seldom")};
    LLVMBasicBlockRef done = append(e, "often");
    unlikely_hint(LLVMBuildCondBr(b, any, blocks[1], done));
    position(e, blocks[1]);
    LLVMValueRef values[] = {arguments[2], call_function(e, call, arguments)};
    LLVMBuildBr(b, done);
    position(e, done);
    LLVMValueRef made = LLVMBuildPhi(b, LLVMTypeOf(values[0]), "");
    LLVMAddIncoming(made, values, blocks, 2);
    return made;
}
