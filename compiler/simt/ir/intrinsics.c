// Calls: intrinsics of LLVM, primitives of the prelude; constants and indices.
#include "simt/ir/ir.h"

#include <string.h>

const char *callee_name(LLVMValueRef call)
{
    LLVMValueRef callee = LLVMGetCalledValue(call);
    size_t size;
    return LLVMIsAFunction(callee) ? LLVMGetValueName2(callee, &size) : "";
}

bool is_intrinsic(LLVMValueRef call, const char *name)
{
    const char *callee = callee_name(call);
    size_t size = strlen(name);
    return strncmp(callee, "llvm.", 5) == 0 &&
           strncmp(callee + 5, name, size) == 0 &&
           (callee[5 + size] == '.' || callee[5 + size] == 0);
}

bool is_ignored_call(LLVMValueRef call)
{
    static const char *const names[] = {
        "assume", "lifetime.start", "lifetime.end", "donothing", "sideeffect",
        "experimental.noalias.scope.decl", "invariant.start", "invariant.end",
        "dbg.value", "dbg.declare", "dbg.label", "prefetch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_intrinsic(call, names[i]))
            return true;
    return false;
}

bool is_limit_call(LLVMValueRef call)
{
    static const char *const names[] = {"smin", "smax", "umin", "umax", "abs",
                                        "usub.sat", "uadd.sat"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_intrinsic(call, names[i]))
            return true;
    return false;
}

static bool takes_axis(const char *name, const char *stem, int *axis)
{
    size_t size = strlen(stem);
    if (strncmp(name, stem, size) != 0 || name[size] < 'x' ||
        name[size] > 'z' || name[size + 1])
        return false;
    *axis = name[size] - 'x';
    return true;
}

enum primitive primitive_of(LLVMValueRef instruction, int *axis)
{
    static const struct {
        const char *name;
        enum primitive primitive;
        bool has_axis;
    } primitives[] = {
        {"rnl_thread_", PRIMITIVE_THREAD, true},
        {"rnl_block_", PRIMITIVE_BLOCK, true},
        {"rnl_block_size_", PRIMITIVE_BLOCK_SIZE, true},
        {"rnl_grid_size_", PRIMITIVE_GRID_SIZE, true},
        {"rnl_sync", PRIMITIVE_SYNC, false},
        {"rnl_warp", PRIMITIVE_WARP, false},
        {"rnl_spin", PRIMITIVE_SPIN, false},
        {"rnl_yield", PRIMITIVE_YIELD, false},
        {"rnl_sync_grid", PRIMITIVE_SYNC_GRID, false},
        {"rnl_trap", PRIMITIVE_TRAP, false},
        {"rnl_cluster_size_", PRIMITIVE_CLUSTER_SIZE, true},
        {"rnl_cluster_memory", PRIMITIVE_CLUSTER_MEMORY, false},
        {"rnl_cluster_stride", PRIMITIVE_CLUSTER_STRIDE, false},
        {"rnl_cluster_meet", PRIMITIVE_CLUSTER_MEET, false},
    };
    if (!LLVMIsACallInst(instruction))
        return PRIMITIVE_NONE;
    if (is_intrinsic(instruction, "threadlocal.address"))
        return PRIMITIVE_TLS;
    const char *name = callee_name(instruction);
    for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
        if (primitives[i].has_axis
                ? takes_axis(name, primitives[i].name, axis)
                : strcmp(name, primitives[i].name) == 0)
            return primitives[i].primitive;
    return PRIMITIVE_NONE;
}

bool is_index_call(LLVMValueRef call)
{
    int axis;
    switch (primitive_of(call, &axis)) {
    case PRIMITIVE_THREAD: case PRIMITIVE_BLOCK: case PRIMITIVE_BLOCK_SIZE:
    case PRIMITIVE_GRID_SIZE: case PRIMITIVE_TLS:
        return true;
    default:
        return false;
    }
}

static bool touches_no_memory(LLVMValueRef call)
{
    unsigned kind = LLVMGetEnumAttributeKindForName("memory", 6);
    LLVMAttributeRef found = LLVMGetEnumAttributeAtIndex(
        LLVMGetCalledValue(call), (unsigned)LLVMAttributeFunctionIndex, kind);
    LLVMAttributeRef here = LLVMGetCallSiteEnumAttribute(
        call, (unsigned)LLVMAttributeFunctionIndex, kind);
    return (found && LLVMGetEnumAttributeValue(found) == 0) ||
           (here && LLVMGetEnumAttributeValue(here) == 0);
}

bool is_pure_call(LLVMValueRef call)
{
    return LLVMIsAFunction(LLVMGetCalledValue(call)) &&
           touches_no_memory(call);
}

bool constant_of(LLVMValueRef value, int64_t *number)
{
    if (!LLVMIsAConstantInt(value) ||
        LLVMGetIntTypeWidth(LLVMTypeOf(value)) > 64)
        return false;
    *number = LLVMConstIntGetSExtValue(value);
    return true;
}

struct step address_step(LLVMTargetDataRef layout, LLVMValueRef at, int i,
                         LLVMTypeRef *type)
{
    struct step step = {.index = LLVMGetOperand(at, (unsigned)i)};
    if (i > 1 && LLVMGetTypeKind(*type) == LLVMStructTypeKind) {
        unsigned field = (unsigned)LLVMConstIntGetZExtValue(step.index);
        step.index = NULL;
        step.unit = LLVMOffsetOfElement(layout, *type, field);
        *type = LLVMStructGetTypeAtIndex(*type, field);
        return step;
    }
    if (i > 1)
        *type = LLVMGetElementType(*type);
    step.unit = LLVMABISizeOfType(layout, *type);
    return step;
}
