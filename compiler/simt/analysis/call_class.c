// Which calls have a vector form: elementwise intrinsics, functions of the
// vector library, kept functions, and lane functions of the prelude.
#include "simt/analysis/analysis.h"
#include "simt/ir/ir.h"

#include <stdio.h>
#include <string.h>

// --- Intrinsics --------------------------------------------------------------

static const struct elementwise elementwise[] = {
    {"abs", BY_RESULT, 1},         {"bitreverse", BY_RESULT, NONE},
    {"bswap", BY_RESULT, NONE},    {"ceil", BY_RESULT, NONE},
    {"copysign", BY_RESULT, NONE}, {"ctlz", BY_RESULT, 1},
    {"ctpop", BY_RESULT, NONE},    {"cttz", BY_RESULT, 1},
    {"fabs", BY_RESULT, NONE},     {"floor", BY_RESULT, NONE},
    {"fma", BY_RESULT, NONE},      {"fmuladd", BY_RESULT, NONE},
    {"fshl", BY_RESULT, NONE},     {"fshr", BY_RESULT, NONE},
    {"maximum", BY_RESULT, NONE},  {"maxnum", BY_RESULT, NONE},
    {"minimum", BY_RESULT, NONE},  {"minnum", BY_RESULT, NONE},
    {"nearbyint", BY_RESULT, NONE}, {"rint", BY_RESULT, NONE},
    {"round", BY_RESULT, NONE},    {"roundeven", BY_RESULT, NONE},
    {"sadd.sat", BY_RESULT, NONE}, {"smax", BY_RESULT, NONE},
    {"smin", BY_RESULT, NONE},     {"sqrt", BY_RESULT, NONE},
    {"ssub.sat", BY_RESULT, NONE}, {"trunc", BY_RESULT, NONE},
    {"uadd.sat", BY_RESULT, NONE}, {"umax", BY_RESULT, NONE},
    {"umin", BY_RESULT, NONE},     {"usub.sat", BY_RESULT, NONE},
    {"fptosi.sat", BY_RESULT_AND_FIRST, NONE},
    {"fptoui.sat", BY_RESULT_AND_FIRST, NONE},
    {"ldexp", BY_RESULT_AND_SECOND, NONE},
    {"is.fpclass", BY_FIRST, 1},
};

const struct elementwise *find_elementwise(LLVMValueRef call)
{
    for (size_t i = 0; i < sizeof elementwise / sizeof *elementwise; i++)
        if (is_intrinsic(call, elementwise[i].name))
            return &elementwise[i];
    return NULL;
}

// The estimate of rsqrtf for varying lanes, on processors with a good estimate.
bool is_rsqrt_estimate(LLVMValueRef call)
{
    return strcmp(callee_name(call), "rnl_rsqrt_near") == 0;
}

bool is_cold_call(LLVMValueRef call)
{
    static const char stem[] = "rnl_seldom_";
    return strncmp(callee_name(call), stem, sizeof stem - 1) == 0;
}

// --- The vector library ------------------------------------------------------

static const struct library_function library[] = {
    {"acos", 1, ROUGH},         {"acosh", 1, FINE},
    {"asin", 1, ROUGH},         {"asinh", 1, FINE},
    {"atan", 1, ROUGH},         {"atan2", 2, ROUGH},
    {"atanh", 1, ROUGH_DOUBLE}, {"cbrt", 1, ROUGH_FLOAT},
    {"cos", 1, ROUGH},          {"cosh", 1, ROUGH},
    {"erf", 1, ROUGH_DOUBLE | ROUGH_WIDE},
    {"erfc", 1, FINE},
    {"exp", 1, ROUGH},
    {"exp10", 1, ROUGH_DOUBLE | ROUGH_WIDE},
    {"exp2", 1, ROUGH_DOUBLE},  {"expm1", 1, ROUGH},
    {"hypot", 2, FINE},         {"log", 1, ROUGH},
    {"log10", 1, ROUGH},        {"log1p", 1, ROUGH},
    {"log2", 1, ROUGH},         {"pow", 2, FINE},
    {"sin", 1, ROUGH},          {"sinh", 1, ROUGH_DOUBLE},
    {"tan", 1, ROUGH_DOUBLE},   {"tanh", 1, ROUGH_DOUBLE},
};

// By a mathematical function's name, without "llvm." and the type; or NULL.
static const struct library_function *find_library(LLVMValueRef call)
{
    const char *name = callee_name(call);
    bool intrinsic = strncmp(name, "llvm.", 5) == 0;
    name += intrinsic ? 5 : 0;
    size_t size = intrinsic ? strcspn(name, ".") : strlen(name);
    bool single =
        LLVMGetTypeKind(LLVMTypeOf(call)) == LLVMFloatTypeKind;
    if (single && !intrinsic) {
        if (size == 0 || name[size - 1] != 'f')
            return NULL;
        size--;
    }
    for (size_t i = 0; i < sizeof library / sizeof *library; i++)
        if (strlen(library[i].name) == size &&
            strncmp(library[i].name, name, size) == 0 &&
            LLVMGetNumArgOperands(call) == library[i].arity)
            return &library[i];
    return NULL;
}

// The function that a call may be made to, or NULL.
const struct library_function *usable_library(LLVMValueRef call)
{
    LLVMTypeKind type = LLVMGetTypeKind(LLVMTypeOf(call));
    if (target_vector_bytes() == 0 ||
        (type != LLVMFloatTypeKind && type != LLVMDoubleTypeKind))
        return NULL;
    const struct library_function *found = find_library(call);
    bool rough = type == LLVMDoubleTypeKind && found &&
                 (found->rough & ROUGH_DOUBLE);
    return rough ? NULL : found;
}

// --- Kept functions ----------------------------------------------------------

static const char mark[] = "runnel-callee";

// Calls give the same for the same numbers, and do nothing else.
void function_keep(LLVMValueRef function)
{
    static const char *const flags[] = {"noinline", "memory", "nounwind",
                                        "willreturn"};
    remove_flag(function, "alwaysinline");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        add_flag(function, flags[i]);
    add_attribute(function, mark, "");
}

bool function_is_kept(LLVMValueRef function)
{
    return LLVMGetStringAttributeAtIndex(
        function, (unsigned)LLVMAttributeFunctionIndex, mark,
        sizeof mark - 1);
}

// --- Lane functions ----------------------------------------------------------

// Varying lanes use rnl_lanes_NAMEf of the prelude for llvm.NAME.f32, if
// defined.
static const char ours[] = "rnl_lanes_";

bool is_lane_function(LLVMValueRef function)
{
    size_t size;
    const char *name = LLVMGetValueName2(function, &size);
    return strncmp(name, ours, sizeof ours - 1) == 0;
}

LLVMValueRef lane_function_of(LLVMValueRef intrinsic)
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

// The function that is kept for it, or NULL.
LLVMValueRef kept_function_of(LLVMValueRef call)
{
    LLVMValueRef function = LLVMGetCalledValue(call);
    if (LLVMIsAFunction(function) && LLVMGetIntrinsicID(function) != 0)
        function = lane_function_of(function);
    return function && LLVMIsAFunction(function) && function_is_kept(function)
               ? function : NULL;
}

bool module_has_kept_functions(LLVMModuleRef module)
{
    LLVMValueRef function = LLVMGetFirstFunction(module);
    while (function && !function_is_kept(function))
        function = LLVMGetNextFunction(function);
    return function != NULL;
}

// --- Questions ---------------------------------------------------------------

bool call_is_of_library(LLVMValueRef call)
{
    return !find_elementwise(call) && usable_library(call);
}

bool call_has_vectors(LLVMValueRef call)
{
    return find_elementwise(call) || is_rsqrt_estimate(call) ||
           is_cold_call(call) || usable_library(call);
}
